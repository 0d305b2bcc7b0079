//! C and C++ programs that use the native interface as a caller does. Each writes broken promises
//! to stderr.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::LazyLock;

use common::programs::{CPP, NATIVE, Program, alone, keeps_promises};
use common::{root, succeed};

/// Runs a program of `c_tests`, which keeps its promises. The library must write nothing.
fn run(name: &'static str) {
    assert_eq!(keeps_promises(&mut Program::build(name, NATIVE, name).command()), "");
}

#[test]
fn ensembles() {
    run("native_ensembles");
}

#[test]
fn forces() {
    run("native_forces");
}

#[test]
fn interaction_lists_and_batches() {
    run("native_lists");
}

#[test]
fn neighbours_and_predictions() {
    run("native_neighbours");
}

#[test]
fn numbers_of_two_doubles() {
    run("native_quad");
}

#[test]
fn orders_6_and_8() {
    run("native_hermite");
}

#[test]
fn regular_forces() {
    run("native_regular");
}

#[test]
fn softenings_of_sources() {
    run("native_softenings");
}

#[test]
fn trees() {
    run("native_trees");
}

#[test]
fn pair_interactions() {
    run("native_pairs");
}

#[test]
fn integrators() {
    run("native_integrators");
}

#[test]
fn systems_of_few_bodies() {
    run("native_few_body");
}

#[test]
fn models_of_star_clusters() {
    run("native_models");
}

#[test]
fn bad_input() {
    run("native_errors");
}

#[test]
fn bad_lists_and_batches() {
    run("native_lists_errors");
}

#[test]
fn threads() {
    run("native_threads");
}

/// A caller that asks for a log gets it in a file or on stderr. Stdout belongs to the caller.
#[test]
fn the_log_is_told_where_it_was_asked_for() {
    let program = Program::build("native_errors", NATIVE, "native_log");
    let said = keeps_promises(program.command().env("KYOHO_LOG", "debug").env("KYOHO_LOG_FILE", "log"));
    assert_eq!(said, "");
    let log = std::fs::read_to_string(program.folder.join("log")).unwrap();
    assert!(log.contains("kyoho_system_create") && log.contains("the time is NaN"), "{log}");
}

/// A function of the caller receives the log too, whatever the environment asks for.
#[test]
fn the_log_is_told_to_a_function() {
    let program = Program::build("native_log", NATIVE, "native_log_function");
    assert_eq!(keeps_promises(&mut program.command()), "");
    let said = keeps_promises(program.command().env("KYOHO_LOG", "warn").env("KYOHO_LOG_FILE", "log"));
    assert_eq!(said, "");
    assert_eq!(std::fs::read_to_string(program.folder.join("log")).unwrap(), "", "nothing was a warning");
    let said = keeps_promises(program.command().env("KYOHO_LOG", "debug").env("KYOHO_LOG_FILE", "log"));
    assert_eq!(said, "");
    let log = std::fs::read_to_string(program.folder.join("log")).unwrap();
    // The lines appear as often as the program computes.
    assert_eq!(log.matches("kyoho_system_create opened").count(), 167, "{log}");
}

/// The environment decides the options that the caller leaves open, and errors name its variables.
#[test]
fn the_environment() {
    let program = Program::build("native_environment", NATIVE, "native_environment");
    let made = |variables: &[(&str, &str)], arguments: &[&str]| {
        keeps_promises(program.command().args(arguments).envs(variables.iter().copied()));
    };
    let cpu = ("KYOHO_BACKEND", "cpu");
    made(&[cpu], &["KYOHO_OK", "order 4 precision 3 backend 1"]);
    made(&[cpu, ("KYOHO_PRECISION", "mixed")], &["KYOHO_OK", "order 4 precision 2 backend 1"]);
    made(&[cpu, ("KYOHO_PRECISION", "mixed")], &["KYOHO_OK", "order 6 precision 2 backend 1", "6"]);
    let not_in_order_8 = "KYOHO_PRECISION is 'mixed'; allowed: double, quad for a system of order 8";
    made(&[cpu, ("KYOHO_PRECISION", "mixed")], &["KYOHO_BAD_OPTION", not_in_order_8, "8"]);
    made(&[("KYOHO_PRECISION", "float")], &["KYOHO_BAD_OPTION", "KYOHO_PRECISION is 'float'; allowed: single"]);
    made(&[("KYOHO_BACKEND", "gpu")], &["KYOHO_BAD_OPTION", "KYOHO_BACKEND is 'gpu'; allowed: cpu"]);
    made(&[cpu, ("KYOHO_DEVICES", "0,3")], &["KYOHO_BAD_OPTION", "KYOHO_DEVICES"]);
    made(&[("KYOHO_THREADS", "many")], &["KYOHO_BAD_OPTION", "KYOHO_THREADS is 'many'"]);
    made(&[("KYOHO_LOG", "info"), ("KYOHO_LOG_FILE", "no/such/folder")], &["KYOHO_BAD_OPTION", "KYOHO_LOG_FILE"]);
    std::fs::write(program.folder.join("sapporo2.config"), "two\n").unwrap();
    made(&[], &["KYOHO_BAD_OPTION", "sapporo2.config line 1 is 'two'"]);
}

/// A FIFO that nobody reads is refused, and not waited for.
#[test]
fn the_log_goes_to_no_fifo_that_nobody_reads() {
    let program = Program::build("native_environment", NATIVE, "native_fifo");
    succeed(Command::new("mkfifo").arg(program.folder.join("log")));
    let expected = ["KYOHO_BAD_OPTION", "KYOHO_LOG_FILE is 'log'; allowed: a file that can be written (it is a FIFO"];
    // Should it be waited for, the test ends too.
    let mut command = Command::new("timeout");
    command.arg("60").arg(program.folder.join("native_environment")).current_dir(&program.folder);
    keeps_promises(alone(command).args(expected).env("KYOHO_LOG_FILE", "log"));
}

/// The log names variables that nothing reads, once.
#[test]
fn the_log_tells_of_unknown_variables() {
    let program = Program::build("native_log", NATIVE, "native_unknown");
    let variables = [("KYOHO_LOG", "warn"), ("KYOHO_LOG_FILE", "log"), ("KYOHO_THREAD", "1")];
    keeps_promises(alone(program.command()).envs(variables));
    let log = std::fs::read_to_string(program.folder.join("log")).unwrap();
    let line = "KYOHO_THREAD is set, which nothing reads; the nearest name is KYOHO_THREADS\n";
    assert_eq!(log, format!("kyoho warn: {line}"));
}

/// A program that has the rights of another user than its caller obeys nothing of the caller's.
#[test]
fn a_set_user_id_program_reads_no_environment() {
    let program = Program::build("native_environment", NATIVE, "native_set_user_id");
    std::fs::write(program.folder.join("sapporo2.config"), "two\n").unwrap();
    let wrong = [("KYOHO_BACKEND", "gpu"), ("KYOHO_LOG", "info"), ("KYOHO_LOG_FILE", "log")];
    let path = program.folder.join("native_environment");
    if std::os::unix::fs::chown(&path, Some(65534), None).is_err() {
        return eprintln!("not tested, as only root gives files to others: a set-user-id program");
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4755)).unwrap();
    let arguments = ["KYOHO_OK", "order 4 precision 3 ", "4", "as another user"];
    let output = alone(program.command()).args(arguments).envs(wrong).output().unwrap();
    if output.status.code() == Some(77) {
        return eprintln!("not tested, as this file system or container has none: a set-user-id program");
    }
    assert!(output.status.success(), "{output:?}");
    assert!(!program.folder.join("log").exists());
}

/// The header of `examples/fdps/` in a program that calls it as FDPS does, built as the README
/// there says. FDPS itself is not needed: `c_tests/fdps/` has stand-ins for its types.
static FDPS_CLIENT: LazyLock<Program> = LazyLock::new(|| {
    let header = root().join("examples/fdps/force_kyoho.hpp").display().to_string();
    let stand_ins = format!("-I{}", root().join("c_tests/fdps").display());
    let threads = ["-DPARTICLE_SIMULATOR_THREAD_PARALLEL", "-fopenmp"];
    Program::build_in("fdps_client", CPP, &["-include", &header, &stand_ins, threads[0], threads[1]], "fdps_client")
});

#[test]
fn interaction_lists_of_fdps() {
    for precision in ["single", "mixed", "double"] {
        let variables = [("KYOHO_BACKEND", "cpu"), ("KYOHO_PRECISION", precision)];
        assert_eq!(FDPS_CLIENT.run(&[], &variables), "", "precision {precision}");
    }
}

/// FDPS does not tell its caller of errors, so that the program ends and says what was wrong.
#[test]
fn errors_end_a_program_on_fdps() {
    let said = |how: &str, threads: &str| {
        let mut command = alone(FDPS_CLIENT.command());
        let variables = [("KYOHO_BACKEND", "cpu"), ("KYOHO_THREADS", threads)];
        let output = command.arg(how).envs(variables).output().unwrap();
        assert_eq!(output.status.code(), Some(255), "the exit status of FDPS's Abort");
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(said("not a number", "1"), "force_kyoho: the position of sink 7 is NaN; allowed: finite numbers\n");
    assert_eq!(
        said("not dispatched", "1"),
        "force_kyoho: RetrieveKernel was called for walks that were not dispatched\n"
    );
    assert_eq!(said("no system", "many"), "force_kyoho: KYOHO_THREADS is 'many'; allowed: 1 to 4096\n");
}
