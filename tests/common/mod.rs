//! Functions that build and run programs which use the library as its users do: from C and Fortran,
//! through the linker.

#![allow(dead_code, reason = "each test uses some of it")]

pub mod mpi;
pub mod pocl;
pub mod programs;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the folder of the repository, for tests of any package.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().find(|folder| folder.join("c_tests").exists()).unwrap()
}

/// Returns a folder that belongs to one test and is empty when it begins.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Links the shared library into a folder under the names that linker and loader look for.
pub fn link_library(folder: &Path) {
    // One build makes the tests and the shared library, in one folder.
    let library = std::env::current_exe().unwrap().with_file_name("libkyoho.so");
    assert!(library.exists(), "{} was not built", library.display());
    for name in ["libkyoho.so".into(), format!("libkyoho.so.{}", interface_number())] {
        std::os::unix::fs::symlink(&library, folder.join(name)).unwrap();
    }
}

/// Returns the number of the binary interface, which names the shared library for the loader.
pub fn interface_number() -> String {
    let mut numbers = env!("CARGO_PKG_VERSION").split('.');
    match (numbers.next(), numbers.next()) {
        (Some("0"), Some(minor)) => format!("0.{minor}"),
        (major, _) => major.unwrap().into(),
    }
}

/// Makes a library of `forwards/` in a folder that has the shared library, and links it under its
/// own names.
pub fn link_forward(folder: &Path, name: &str) {
    succeed(Command::new(root().join("forwards/build")).arg(name).arg(folder));
    let library = format!("libkyoho_{name}.so");
    std::os::unix::fs::symlink(folder.join(&library), folder.join(format!("{library}.{}", interface_number())))
        .unwrap();
}

/// Returns a compiler that finds the headers and the library, and whose programs find the library
/// when they run.
pub fn compiler(command: &str, folder: &Path) -> Command {
    let mut compiler = Command::new(command);
    compiler.current_dir(folder).arg("-I").arg(root().join("include")).arg("-L").arg(folder);
    compiler.arg(format!("-Wl,-rpath,{}", folder.display()));
    compiler
}

/// Runs a command. If it fails, the test fails with its output.
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Returns the content of a file of the repository.
pub fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Builds the CUDA driver of `c_tests` into a folder of its own, for `LD_LIBRARY_PATH`.
pub fn fake_driver(name: &str, options: &[&str]) -> PathBuf {
    let folder = folder(name);
    let source = root().join("c_tests/fake_cuda.c");
    let build = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"];
    // The loader is asked for both names. The first may belong to a toolkit, the second comes with
    // a driver.
    for library in ["libcuda.so", "libcuda.so.1"] {
        succeed(Command::new("gcc").args(build).args(options).arg("-o").arg(folder.join(library)).arg(&source));
    }
    folder
}
