//! C programs that use the native interface as a caller does; each says on stderr what was not as promised.

mod common;

use common::{compiler, folder, link_library, root, succeed};

/// Builds a program of `c_tests` with every warning an error, and runs it.
fn run(name: &str) {
    let folder = folder(name);
    link_library(&folder);
    let source = root().join("c_tests").join(name).with_extension("c");
    let warnings = ["-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-function"];
    let program = folder.join(name);
    let libraries = ["-lkyoho", "-lm", "-lpthread"];
    succeed(compiler("gcc", &folder).args(warnings).arg("-o").arg(&program).arg(source).args(libraries));
    let output = succeed(std::process::Command::new(&program).current_dir(&folder));
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
