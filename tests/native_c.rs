//! C programs that use the native interface as a caller does; each says on stderr what was not as promised.

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::{compiler, folder, link_library, root, succeed};

/// Builds a program of `c_tests`, with every warning an error, in a folder of its own.
fn build(name: &str, folder_name: &str) -> PathBuf {
    let folder = folder(folder_name);
    link_library(&folder);
    let source = root().join("c_tests").join(name).with_extension("c");
    let warnings = ["-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-function"];
    let program = folder.join(name);
    let libraries = ["-lkyoho", "-lm", "-lpthread"];
    succeed(compiler("gcc", &folder).args(warnings).arg("-o").arg(&program).arg(source).args(libraries));
    program
}

/// Runs a program of `c_tests`, which keeps its promises, and the library says nothing.
fn run(name: &str) {
    let output = succeed(&mut Command::new(build(name, name)));
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "the library prints nothing: {output:?}");
}

#[test]
fn forces() {
    run("native_forces");
}

#[test]
fn neighbours_and_predictions() {
    run("native_neighbours");
}

#[test]
fn bad_input() {
    run("native_errors");
}

#[test]
fn threads() {
    run("native_threads");
}

/// A caller that asks for it is told what happens, in a file or on stderr; stdout stays the caller's.
#[test]
fn the_log_is_told_where_it_was_asked_for() {
    let program = build("native_errors", "native_log");
    let folder = program.parent().unwrap();
    let output =
        succeed(Command::new(&program).current_dir(folder).env("KYOHO_LOG", "debug").env("KYOHO_LOG_FILE", "log"));
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    let log = std::fs::read_to_string(folder.join("log")).unwrap();
    assert!(log.contains("kyoho_system_create") && log.contains("the time is NaN"), "{log}");
}

/// What a system is made of comes from the environment where the caller leaves it open; what is wrong there is named.
#[test]
fn the_environment() {
    let program = build("native_environment", "native_environment");
    let folder = program.parent().unwrap();
    let made = |variables: &[(&str, &str)], arguments: &[&str]| {
        succeed(Command::new(&program).current_dir(folder).args(arguments).envs(variables.iter().copied()));
    };
    let cpu = ("KYOHO_BACKEND", "cpu");
    made(&[cpu], &["KYOHO_OK", "order 4 precision 3 backend 1"]);
    made(&[cpu, ("KYOHO_PRECISION", "mixed")], &["KYOHO_OK", "order 4 precision 2 backend 1"]);
    made(&[("KYOHO_PRECISION", "float")], &["KYOHO_BAD_OPTION", "KYOHO_PRECISION is 'float'; allowed: single"]);
    made(&[("KYOHO_BACKEND", "gpu")], &["KYOHO_BAD_OPTION", "KYOHO_BACKEND is 'gpu'; allowed: cpu"]);
    made(&[cpu, ("KYOHO_DEVICES", "0,3")], &["KYOHO_BAD_OPTION", "KYOHO_DEVICES"]);
    made(&[("KYOHO_THREADS", "many")], &["KYOHO_BAD_OPTION", "KYOHO_THREADS is 'many'"]);
    made(&[("KYOHO_LOG", "info"), ("KYOHO_LOG_FILE", "no/such/folder")], &["KYOHO_BAD_OPTION", "KYOHO_LOG_FILE"]);
    std::fs::write(folder.join("sapporo2.config"), "two\n").unwrap();
    made(&[], &["KYOHO_BAD_OPTION", "sapporo2.config line 1 is 'two'"]);
}
