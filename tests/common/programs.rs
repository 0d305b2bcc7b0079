//! C and C++ programs of `c_tests`. Each writes broken promises to stderr, and nothing else.

use std::path::PathBuf;
use std::process::Command;

use kyoho_core::Level;

use super::{compiler, folder, link_forward, link_library, root, succeed};

/// The standard of C of programs that use the native interface.
pub const NATIVE: &[&str] = &["-std=c99", "-pedantic"];
/// The standard of C of programs that use the old interfaces, which is that of their clients.
pub const OLD: &[&str] = &["-std=gnu99"];

/// A compiler, the extension of its sources, and the standard that they keep to.
pub type Language = (&'static str, &'static str, &'static str);
/// C with the functions of an operating system.
pub const C: Language = ("gcc", "c", "-std=gnu11");
/// C++.
pub const CPP: Language = ("g++", "cc", "-std=gnu++11");

/// A program of `c_tests`, built in a folder of its own.
pub struct Program {
    pub folder: PathBuf,
    name: &'static str,
}

impl Program {
    /// Builds a program in a folder of this name. Its warnings are errors.
    pub fn build(name: &'static str, language: &[&str], folder_name: &str) -> Program {
        let folder = folder(folder_name);
        link_library(&folder);
        Program { folder, name }.compile("gcc", "c", language, "-lkyoho")
    }

    /// Builds a program in a language, with options of its own.
    pub fn build_in(name: &'static str, language: Language, options: &[&str], folder_name: &str) -> Program {
        let folder = folder(folder_name);
        link_library(&folder);
        let (command, extension, standard) = language;
        Program { folder, name }.compile(command, extension, &[&[standard], options].concat(), "-lkyoho")
    }

    /// Builds a program that links only a library of `forwards/`, which itself links the shared
    /// library.
    pub fn build_with_forward(name: &'static str, forward: &str, language: Language, folder_name: &str) -> Program {
        let folder = folder(folder_name);
        link_library(&folder);
        link_forward(&folder, forward);
        let (command, extension, standard) = language;
        Program { folder, name }.compile(command, extension, &[standard], &format!("-lkyoho_{forward}"))
    }

    fn compile(self, command: &str, extension: &str, language: &[&str], library: &str) -> Program {
        let warnings = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"];
        let source = root().join("c_tests").join(format!("{}.{extension}", self.name));
        let mut command = compiler(command, &self.folder);
        command.args(language).args(warnings).arg("-o").arg(self.name).arg(source);
        succeed(command.args([library, "-lm", "-lpthread", "-ldl"]));
        self
    }

    /// Returns the program, to be run in its folder.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.folder.join(self.name));
        command.current_dir(&self.folder);
        command
    }

    /// Runs the program in an environment with only these variables of the library, and returns
    /// what it writes to stderr.
    pub fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> String {
        keeps_promises(alone(self.command()).args(arguments).envs(variables.iter().copied()))
    }

    /// Runs the program on three threads of the CPU, at each instruction set and in these
    /// precisions. It must write nothing.
    pub fn run_at_every_level(&self, precisions: &[&str]) {
        for level in Level::available().map(Level::name) {
            for precision in precisions {
                let variables = [
                    ("KYOHO_BACKEND", "cpu"),
                    ("KYOHO_THREADS", "3"),
                    ("KYOHO_CPU_LEVEL", level),
                    ("KYOHO_PRECISION", precision),
                ];
                assert_eq!(self.run(&[], &variables), "", "level {level}, precision {precision}");
            }
        }
    }
}

/// Removes all variables that the library reads, except those that are set afterwards.
pub fn alone(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("KYOHO_") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a program, which must keep its promises, and returns what it writes to stderr. Its stdout
/// must be empty, because only the library could have written there.
pub fn keeps_promises(command: &mut Command) -> String {
    let output = succeed(command);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "the library writes nothing to stdout");
    String::from_utf8(output.stderr).unwrap()
}
