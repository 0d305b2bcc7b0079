//! Running the command, and folders for it.

#![allow(dead_code, reason = "each test uses some of these")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the command, which will run in the folder of the repository, and whose sentences have a
/// line each.
pub fn kyoho() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kyoho"));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).env("COLUMNS", "1000");
    command
}

/// Runs the command with arguments that are divided at spaces.
pub fn run(arguments: &str) -> Output {
    kyoho().args(arguments.split_whitespace()).output().expect("the command starts")
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
