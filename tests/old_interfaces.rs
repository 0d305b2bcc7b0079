//! C programs that use the old interfaces as their clients do.

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::{compiler, folder, link_library, root, succeed};

/// A C program of `c_tests`, built in a folder of its own.
struct Program {
    folder: PathBuf,
    name: &'static str,
}

impl Program {
    fn build(name: &'static str, arguments: &[&str]) -> Program {
        let folder = folder(name);
        link_library(&folder);
        let warnings = ["-std=gnu99", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"];
        let source = root().join("c_tests").join(format!("{name}.c"));
        let mut command = compiler("gcc", &folder);
        command.args(warnings).arg("-o").arg(name).arg(source).args(arguments).args(["-lkyoho", "-lm", "-lpthread"]);
        succeed(&mut command);
        Program { folder, name }
    }

    /// A run in an environment of which only these variables speak to the library.
    fn command(&self, variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(self.folder.join(self.name));
        command.current_dir(&self.folder);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("KYOHO_") {
                command.env_remove(name);
            }
        }
        command.envs(variables.iter().copied());
        command
    }

    /// A run that must succeed, and in which nothing but the library could have written to stdout.
    fn run(&self, variables: &[(&str, &str)]) -> String {
        let output = succeed(&mut self.command(variables));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "the library writes nothing to stdout");
        String::from_utf8(output.stderr).unwrap()
    }
}

/// Runs a program in each precision; it must be silent.
fn keeps_its_promises(name: &'static str, arguments: &[&str]) {
    let program = Program::build(name, arguments);
    for precision in ["mixed", "double", "single"] {
        assert_eq!(program.run(&[("KYOHO_PRECISION", precision)]), "", "precision {precision}");
    }
}

#[test]
fn forces() {
    keeps_its_promises("g6_forces", &[]);
}
