//! The interfaces of order 6, Sapporo2's and Yebisu's, used by programs that link their libraries.

mod common;

use common::pocl::by_opencl;
use common::programs::{C, CPP, Language, Program, keeps_promises};

/// Runs a program in some precisions, with the default precision first. It must write nothing.
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
    keeps_its_promises("sapporo6_forces", "sapporo6", C, &["mixed", "double", "quad"]);
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
    keeps_its_promises("yebisu_softening", "yebisu", C, &["mixed", "double", "quad"]);
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
    assert_eq!(program.run(&["KYOHO_PRECISION is 'single'; allowed: mixed, double, quad"], &variables), "");
    assert_eq!(program.run(&["many"], &[("KYOHO_BACKEND", "cpu"), ("KYOHO_THREADS", "many")]), "");
}
