//! The C programs for machines with a GPU: the behaviour of a program whose GPU fails, and small
//! blocks of every kind.

mod common;

use std::path::PathBuf;
use std::process::{Command, Output};

use common::pocl::keep_below_target;
use common::{folder, root};

/// The exit code of the programs if there is no GPU.
const NO_GPU: i32 = 77;

/// Builds a program of `c_tests` with every warning an error, as its first lines say.
fn build(name: &str) -> PathBuf {
    let folder = folder(name);
    let program = folder.join(name);
    let warnings = ["-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-function"];
    let mut compiler = common::compiler("gcc", &folder);
    compiler.args(warnings).arg("-o").arg(&program).arg(root().join("c_tests").join(name).with_extension("c"));
    common::succeed(compiler.args(["-ldl", "-lm"]));
    program
}

/// Runs a program with the library and these arguments, in its own folder.
fn run(program: &PathBuf, arguments: &[&str]) -> Output {
    let library = std::env::current_exe().unwrap().with_file_name("libkyoho.so");
    let mut command = Command::new(program);
    command.current_dir(program.parent().unwrap()).arg(library).args(arguments);
    keep_below_target(&mut command).output().unwrap()
}

/// Checks that every line of a program says "ok" or that two GPUs are needed, or that the program
/// gives a reason why there is no GPU.
fn all_is_well(output: &Output, may_lack_gpu: bool) {
    let said = String::from_utf8_lossy(&output.stdout);
    if may_lack_gpu && output.status.code() == Some(NO_GPU) {
        assert!(said.starts_with("no GPU: "), "{output:?}");
        print!("not run, {said}");
        return;
    }
    assert!(output.status.success() && output.stderr.is_empty(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let is_well = |line: &str| line.ends_with(": ok") || line.starts_with("not run, as there is one GPU: ");
    assert!(!said.is_empty() && said.lines().all(is_well), "{said}");
}

#[test]
fn a_gpu_that_fails() {
    all_is_well(&run(&build("gpu_failure"), &[]), true);
}

#[test]
fn small_blocks() {
    let program = build("gpu_small");
    // If there is no GPU, the program is tested for saying so.
    all_is_well(&run(&program, &["cpu", "4", "2"]), false);
    all_is_well(&run(&program, &["cpu", "8", "3"]), false);
    all_is_well(&run(&program, &["cuda"]), true);
    // A CPU that is programmed by OpenCL is slow; the conformance suite has all orders.
    all_is_well(&run(&program, &["opencl", "4", "2"]), true);
    all_is_well(&run(&program, &["opencl", "8", "3"]), true);
}

#[test]
fn arrays_on_the_device() {
    all_is_well(&run(&build("gpu_arrays"), &[]), true);
}

#[test]
fn pairs_on_the_device() {
    all_is_well(&run(&build("gpu_pairs"), &[]), true);
}
