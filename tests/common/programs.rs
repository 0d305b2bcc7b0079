//! C and C++ programs of `c_tests`: each states on stderr what was not as promised, and prints nothing else.

use std::path::PathBuf;
use std::process::Command;

use kyoho::simd::Level;

use super::{compiler, folder, link_forward, link_library, root, succeed};

/// The C of programs that use the native interface.
pub const NATIVE: &[&str] = &["-std=c99", "-pedantic"];
/// The C of programs that use the old interfaces, as their clients have it.
pub const OLD: &[&str] = &["-std=gnu99"];

/// A compiler, how its sources are called, and the standard that they keep to.
pub type Language = (&'static str, &'static str, &'static str);
/// C, with what programs of an operating system need.
pub const C: Language = ("gcc", "c", "-std=gnu11");
/// C++.
pub const CPP: Language = ("g++", "cc", "-std=gnu++11");

/// A program of `c_tests`, built in a folder of its own.
pub struct Program {
    pub folder: PathBuf,
    name: &'static str,
}

impl Program {
    /// Builds a program in a folder of this name; its warnings are errors.
    pub fn build(name: &'static str, language: &[&str], folder_name: &str) -> Program {
        let folder = folder(folder_name);
        link_library(&folder);
        Program { folder, name }.compile("gcc", "c", language, "-lkyoho")
    }

    /// Builds a program that links a library of `forwards/`, which alone knows of the shared one.
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

    /// The program, in its folder.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.folder.join(self.name));
        command.current_dir(&self.folder);
        command
    }

    /// Runs the program in an environment of which only these variables speak to the library; what it says on stderr.
    pub fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> String {
        keeps_promises(alone(self.command()).args(arguments).envs(variables.iter().copied()))
    }

    /// Runs the program on three threads of the CPU, at each instruction set and in these precisions; it says nothing.
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

/// Lets only what is set after this speak to the library.
pub fn alone(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("KYOHO_") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a program, which must keep its promises; as only the library could have written to stdout, nothing may be
/// there. What is on stderr is given back.
pub fn keeps_promises(command: &mut Command) -> String {
    let output = succeed(command);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "the library writes nothing to stdout");
    String::from_utf8(output.stderr).unwrap()
}
