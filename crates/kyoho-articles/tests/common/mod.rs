//! Running the program, and folders for it.

#![allow(dead_code, reason = "each test uses some of these")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the program with arguments that are divided at spaces, in the folder of the repository.
/// Sentences have a line each.
pub fn run(arguments: &str) -> Output {
    output_of(Path::new(env!("CARGO_BIN_EXE_kyoho-figures")), arguments)
}

/// Runs the command `kyoho` in the same way, which the tests of its crate have built.
pub fn run_kyoho(arguments: &str) -> Output {
    let command = Path::new(env!("CARGO_BIN_EXE_kyoho-figures")).with_file_name("kyoho");
    assert!(command.exists(), "{} is built by 'cargo test --package kyoho-cli --no-run'", command.display());
    output_of(&command, arguments)
}

fn output_of(program: &Path, arguments: &str) -> Output {
    let mut command = Command::new(program);
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).env("COLUMNS", "1000");
    command.args(arguments.split_whitespace()).output().expect("the program starts")
}

/// Returns an empty folder of this name for a test.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the old folder goes");
    }
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}
