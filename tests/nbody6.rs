//! The interfaces of NBODY6 and NBODY6++GPU to a GPU, as programs in Fortran and C use them.

mod common;

use std::process::Command;

use common::pocl::by_opencl;
use common::programs::{C, Program, alone, keeps_promises};
use common::{compiler, fake_driver, folder, link_forward, link_library, root, succeed};

const LIBRARIES: [&str; 2] = ["nbody6", "nbody6pp"];

/// Builds the Fortran program, which has the name of a library of `forwards/`, and links that
/// library.
fn caller_of(forward: &str, folder_name: &str) -> Command {
    let folder = folder(folder_name);
    link_library(&folder);
    link_forward(&folder, forward);
    let sources = ["caller", forward].map(|name| root().join(format!("fortran_tests/{name}.f90")));
    let program = folder.join(forward);
    // Bodies at one place have exactly equal coordinates.
    let options = ["-std=f2018", "-O2", "-g", "-fcheck=all", "-Wall", "-Wextra", "-Werror", "-Wno-compare-reals"];
    let traps = "-ffpe-trap=invalid,zero,overflow";
    let mut compiler = compiler("gfortran", &folder);
    succeed(compiler.args(options).arg(traps).arg("-o").arg(&program).args(sources).arg(format!("-lkyoho_{forward}")));
    let mut command = Command::new(program);
    command.current_dir(folder);
    command
}

#[test]
fn fortran_callers_on_the_cpu() {
    for forward in LIBRARIES {
        let program = caller_of(forward, &format!("{forward}_caller"));
        for precision in [None, Some("double")] {
            let mut command = alone(Command::new(program.get_program()));
            command.env("KYOHO_BACKEND", "cpu").envs(precision.map(|precision| ("KYOHO_PRECISION", precision)));
            assert_eq!(keeps_promises(&mut command), "", "{forward}, precision {precision:?}");
        }
    }
}

#[test]
fn fortran_callers_by_opencl() {
    for forward in LIBRARIES {
        let program = caller_of(forward, &format!("{forward}_caller_by_opencl"));
        for precision in ["mixed", "double"] {
            let command = Command::new(program.get_program());
            let mut command = by_opencl(command, &[("KYOHO_PRECISION", precision)]);
            assert_eq!(keeps_promises(&mut command), "", "{forward}, precision {precision}");
        }
    }
}

/// Runs a program in the default precision and in double. It must write nothing.
fn keeps_its_promises(name: &'static str, forward: &str) {
    let program = Program::build_with_forward(name, forward, C, name);
    assert_eq!(program.run(&[], &[("KYOHO_BACKEND", "cpu")]), "", "no precision");
    assert_eq!(program.run(&[], &[("KYOHO_BACKEND", "cpu"), ("KYOHO_PRECISION", "double")]), "", "double");
}

#[test]
fn nbody6_in_a_program_that_forks() {
    keeps_its_promises("nbody6_fork", "nbody6");
}

#[test]
fn nbody6_for_callers_with_other_floating_point_environments() {
    let program = Program::build_with_forward("nbody6_environments", "nbody6", C, "nbody6_environments");
    program.run_at_every_level(&["mixed", "double"]);
}

#[test]
fn wrong_calls_of_nbody6() {
    keeps_its_promises("nbody6_errors", "nbody6");
}

#[test]
fn wrong_calls_of_nbody6pp() {
    keeps_its_promises("nbody6pp_errors", "nbody6pp");
}

#[test]
fn an_environment_that_cannot_be_had_is_said() {
    let program = Program::build_with_forward("nbody6_broken", "nbody6", C, "nbody6_broken");
    let run = |what, variable| program.run(&[what], &[("KYOHO_BACKEND", "cpu"), variable]);
    assert_eq!(run("single", ("KYOHO_PRECISION", "single")), "");
    assert_eq!(run("many", ("KYOHO_THREADS", "many")), "");
}

/// NBODY6 calls the functions as subroutines, and its loops never end on numbers that are NaN.
#[test]
fn a_failure_ends_the_process_where_the_environment_asks_for_it() {
    let program = Program::build_with_forward("nbody6_stop", "nbody6", C, "nbody6_stop");
    let driver = fake_driver("nbody6_stop_driver", &[]);
    // Returns the outcome of a call if the backend that was asked for is missing: status, stdout,
    // stderr.
    let run = |call: &str, on_failure: Option<&str>| {
        let mut command = alone(program.command());
        command.arg(call).env("KYOHO_BACKEND", "cuda").env("LD_LIBRARY_PATH", &driver).env("FAKE_CUDA_DEVICES", "0");
        let output = command.envs(on_failure.map(|value| ("KYOHO_ON_FAILURE", value))).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    for call in ["gpunb_devinit", "gpunb_open", "gpupot", "gpunb_send", "gpunb_regf"] {
        for goes_on in [None, Some("nan"), Some("")] {
            let (status, written, said) = run(call, goes_on);
            assert_eq!((status, written.as_str()), (Some(7), "before\nafter\n"), "{call}, {goes_on:?}: {said}");
            assert!(said.starts_with(&format!("kyoho: {call}")) && said.contains("cuda"), "{call}: {said}");
        }
        // The program writes to a buffer, which is not lost, and calls the library once more at its
        // end.
        let (status, written, said) = run(call, Some("stop"));
        assert_eq!((status, written.as_str()), (Some(1), "before\nat the end\n"), "{call}: {said}");
        let last = format!("kyoho: {call} failed, and KYOHO_ON_FAILURE is stop: the process ends with status 1");
        let lines: Vec<&str> = said.lines().take(2).collect();
        assert!(lines[0].contains("cuda") && lines[1] == last, "{call}: {said}");
    }
    let (status, written, said) = run("gpupot", Some("halt"));
    assert_eq!((status, written.as_str()), (Some(7), "before\nafter\n"), "{said}");
    assert!(said.contains("KYOHO_ON_FAILURE is 'halt'; allowed: nan, stop"), "{said}");
}
