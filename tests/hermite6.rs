//! The interfaces of order 6, Sapporo2's and Yebisu's, as programs that link their libraries use them.

mod common;

use std::collections::BTreeSet;
use std::process::Command;

use common::pocl::by_opencl;
use common::programs::{C, CPP, Language, Program, keeps_promises};
use common::{folder, link_forward, link_library, succeed, text};

/// Runs a program in some precisions, the first time in the one that is taken without a word; nothing may be said.
fn keeps_its_promises(name: &'static str, forward: &str, language: Language, precisions: &[&str]) {
    let program = Program::build_with_forward(name, forward, language, name);
    assert_eq!(program.run(&[], &[("KYOHO_BACKEND", "cpu")]), "", "no precision");
    for precision in precisions {
        let variables = [("KYOHO_BACKEND", "cpu"), ("KYOHO_PRECISION", precision)];
        assert_eq!(program.run(&[], &variables), "", "precision {precision}");
    }
}

#[test]
fn sapporo6_forces() {
    keeps_its_promises("sapporo6_forces", "sapporo6", C, &["mixed", "double"]);
}

#[test]
fn sapporo6_wrong_calls() {
    keeps_its_promises("sapporo6_errors", "sapporo6", C, &["mixed"]);
}

#[test]
fn sapporo6_in_a_program_that_has_functions_of_these_names() {
    keeps_its_promises("sapporo6_own_names", "sapporo6", C, &[]);
}

#[test]
fn sapporo6_in_a_program_that_forks() {
    keeps_its_promises("sapporo6_fork", "sapporo6", C, &[]);
}

#[test]
fn sapporo6_in_a_hermite_integrator() {
    keeps_its_promises("sapporo6_integration", "sapporo6", C, &[]);
}

#[test]
fn yebisu_forces() {
    keeps_its_promises("yebisu_forces", "yebisu", C, &["mixed", "double"]);
}

#[test]
fn yebisu_forces_that_are_softened_by_the_sources() {
    keeps_its_promises("yebisu_softening", "yebisu", C, &["mixed", "double"]);
}

#[test]
fn yebisu_wrong_calls() {
    keeps_its_promises("yebisu_errors", "yebisu", C, &["mixed"]);
}

#[test]
fn yebisu_in_a_cpp_client_with_declarations_of_its_own() {
    keeps_its_promises("yebisu_client", "yebisu", CPP, &[]);
}

#[test]
fn forces_by_opencl() {
    let programs = [("sapporo6_forces", "sapporo6"), ("yebisu_forces", "yebisu"), ("yebisu_softening", "yebisu")];
    for (name, forward) in programs {
        let program = Program::build_with_forward(name, forward, C, &format!("{name}_by_opencl"));
        let mut command = by_opencl(program.command(), &[("KYOHO_PRECISION", "mixed")]);
        assert_eq!(keeps_promises(&mut command), "", "{name}");
    }
}

#[test]
fn single_precision_is_not_computed_in_order_6_and_that_is_said() {
    let program = Program::build_with_forward("sapporo6_broken", "sapporo6", C, "sapporo6_broken");
    let variables = [("KYOHO_BACKEND", "cpu"), ("KYOHO_PRECISION", "single")];
    assert_eq!(program.run(&["KYOHO_PRECISION is 'single'; allowed: mixed, double"], &variables), "");
    assert_eq!(program.run(&["many"], &[("KYOHO_BACKEND", "cpu"), ("KYOHO_THREADS", "many")]), "");
}

/// The functions that a header declares.
fn declared(header: &str) -> BTreeSet<String> {
    let lines = text(header);
    lines.lines().filter_map(|line| Some(line.strip_prefix("int ")?.split_once('(')?.0.to_string())).collect()
}

#[test]
fn a_library_has_the_names_of_its_header_and_no_other() {
    let folder = folder("forward_symbols");
    link_library(&folder);
    for (forward, functions) in [("sapporo6", 7), ("yebisu", 10)] {
        link_forward(&folder, forward);
        let library = folder.join(format!("libkyoho_{forward}.so"));
        let said = |command: &str, arguments: &[&str]| {
            String::from_utf8(succeed(Command::new(command).args(arguments).arg(&library)).stdout).unwrap()
        };
        let names = |arguments: &[&str]| -> BTreeSet<String> {
            let table = said("nm", arguments);
            table.lines().filter_map(|line| Some(line.split_whitespace().last()?.to_string())).collect()
        };
        let declared = declared(&format!("include/{forward}.h"));
        assert_eq!(declared.len(), functions);
        assert_eq!(names(&["-D", "--defined-only"]), declared);
        let prefixed: BTreeSet<String> = declared.iter().map(|name| format!("kyoho_{forward}_{name}")).collect();
        let called = names(&["-D", "--undefined-only"]);
        let called: BTreeSet<String> = called.into_iter().filter(|name| !name.starts_with("_")).collect();
        assert_eq!(called.iter().filter(|name| !name.contains('@')).cloned().collect::<BTreeSet<_>>(), prefixed);
        let dynamic = said("readelf", &["-d"]);
        for part in [format!("[libkyoho_{forward}.so.0]"), "[libkyoho.so.0]".into(), "[$ORIGIN]".into()] {
            assert!(dynamic.contains(&part), "{part} is not in\n{dynamic}");
        }
    }
}
