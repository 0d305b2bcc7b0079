//! The C programs for machines with a GPU. Their texts are in the command, which builds them where
//! there is a C compiler, so that an installed one needs no source tree.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::failure::{Failure, Result};

/// The texts of the programs, and of what they include.
const TEXTS: [(&str, &str); 8] = [
    ("kyoho.h", include_str!("../../../../include/kyoho.h")),
    ("native_check.h", include_str!("../../../../c_tests/native_check.h")),
    ("gpu_library.h", include_str!("../../../../c_tests/gpu_library.h")),
    ("gpu_driver.h", include_str!("../../../../c_tests/gpu_driver.h")),
    ("gpu_small.c", include_str!("../../../../c_tests/gpu_small.c")),
    ("gpu_arrays.c", include_str!("../../../../c_tests/gpu_arrays.c")),
    ("gpu_pairs.c", include_str!("../../../../c_tests/gpu_pairs.c")),
    ("gpu_failure.c", include_str!("../../../../c_tests/gpu_failure.c")),
];

/// The exit code of a program that finds no GPU.
const NO_GPU: i32 = 77;

/// The exit code of `compute-sanitizer` where it found something.
const FOUND: &str = "9";

/// Where `compute-sanitizer` is if it is not in `PATH`.
const IN_TOOLKIT: &str = "/usr/local/cuda/bin/compute-sanitizer";

/// What became of a part of the page.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// It kept as many promises.
    Passed(usize),
    /// It did not, and this is what it said.
    Failed(String),
    /// It was not run, for this reason.
    NotRun(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Outcome::Passed(lines) => write!(formatter, "passed {lines}"),
            Outcome::Failed(_) => write!(formatter, "FAILED"),
            Outcome::NotRun(reason) => write!(formatter, "not run: {reason}"),
        }
    }
}

/// A folder in which programs are built, which goes when this is dropped.
pub struct Folder {
    place: PathBuf,
    library: PathBuf,
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.place);
    }
}

impl Folder {
    /// Makes a folder with the texts of the programs, which will load this library.
    pub fn new(library: PathBuf) -> Result<Folder> {
        let place = std::env::temp_dir().join(format!("kyoho-verify-{}", std::process::id()));
        std::fs::create_dir(&place).map_err(|error| Failure::file(&place, error))?;
        let folder = Folder { place, library };
        for (name, text) in TEXTS {
            let path = folder.place.join(name);
            std::fs::write(&path, text).map_err(|error| Failure::file(&path, error))?;
        }
        Ok(folder)
    }

    /// Builds a program with one of the usual compilers, and returns why it cannot, if so.
    pub fn build(&self, name: &str) -> std::result::Result<(), Outcome> {
        let options = ["-std=c99", "-O2", "-I.", "-o", name, &format!("{name}.c"), "-ldl", "-lm"];
        for compiler in ["cc", "gcc", "clang"] {
            match Command::new(compiler).current_dir(&self.place).args(options).output() {
                Ok(output) if output.status.success() => return Ok(()),
                Ok(output) => return Err(Outcome::Failed(text(&output.stderr))),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(Outcome::NotRun(format!("{compiler}: {error}"))),
            }
        }
        Err(Outcome::NotRun("there is no C compiler (cc, gcc or clang)".into()))
    }

    /// Runs a program that was built, below another one if that is named.
    pub fn run(&self, name: &str, arguments: &[&str], below: &[&str]) -> Outcome {
        let mut words: Vec<&str> = below.to_vec();
        let program = self.place.join(name);
        words.push(program.to_str().unwrap_or(name));
        let mut command = Command::new(words[0]);
        command.current_dir(&self.place).args(&words[1..]).arg(&self.library).args(arguments);
        match command.output() {
            Ok(output) => judged(&output),
            Err(error) => Outcome::Failed(format!("{}: {error}", words[0])),
        }
    }
}

/// Returns what the output of a program says: a line for each promise that ends in "ok", or that
/// there is no GPU. Lines of `compute-sanitizer` begin with "=========".
fn judged(output: &Output) -> Outcome {
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    let lines = || said.lines().filter(|line| !line.starts_with("=========") && !line.is_empty());
    if output.status.code() == Some(NO_GPU) {
        return Outcome::NotRun(lines().next().unwrap_or("no GPU").into());
    }
    let kept = lines().filter(|line| line.ends_with(": ok")).count();
    let is_well = |line: &str| line.ends_with(": ok") || line.starts_with("not run, ");
    if output.status.success() && errors.is_empty() && kept > 0 && lines().all(is_well) {
        return Outcome::Passed(kept);
    }
    Outcome::Failed(format!("{}\n{said}{errors}", output.status))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the shared library that was built or installed with this command, or that is named.
pub fn library(named: Option<&Path>) -> std::result::Result<PathBuf, String> {
    if let Some(path) = named {
        return std::path::absolute(path).map_err(|error| error.to_string());
    }
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let places = ["deps", "../deps", "", "../lib"].map(|place| folder.join(place).join("libkyoho.so"));
    places
        .into_iter()
        .find(|place| place.exists())
        .ok_or_else(|| format!("no libkyoho.so beside {}; --library names one", program.display()))
}

/// Returns `compute-sanitizer` with one of its tools, if it is there.
pub fn sanitizer(tool: &'static str) -> Option<Vec<&'static str>> {
    let starts = |name: &str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    let name = ["compute-sanitizer", IN_TOOLKIT].into_iter().find(|name| starts(name))?;
    let mut command = vec![name, "--tool", tool, "--error-exitcode", FOUND];
    // The library asks the driver about memory that may not be the device's, and takes its refusals.
    command.extend(["--report-api-errors", "no"].into_iter().filter(|_| tool == "memcheck"));
    Some(command)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    /// Returns what is said of a program that ends with a code after it wrote these texts.
    fn after(code: i32, said: &str, errors: &str) -> Outcome {
        let status = ExitStatus::from_raw(code << 8);
        judged(&Output { status, stdout: said.into(), stderr: errors.into() })
    }

    #[test]
    fn a_program_passes_only_where_each_of_its_lines_does() {
        assert_eq!(
            after(0, "cuda order 2 precision 1: ok\nnot run, as there is one GPU: a fork\n", ""),
            Outcome::Passed(1)
        );
        assert_eq!(
            after(0, "========= COMPUTE-SANITIZER\nf64: ok\n========= ERROR SUMMARY: 0 errors\n", ""),
            Outcome::Passed(1)
        );
        assert_eq!(
            after(77, "no GPU: the driver finds none\n", ""),
            Outcome::NotRun("no GPU: the driver finds none".into())
        );
        for (code, said, errors) in [
            (1, "f64: ok\n", ""),
            (9, "========= Invalid __global__ read\nf64: ok\n", ""),
            (0, "f32: ok\nf64: FAILED\n", ""),
            (0, "f64: ok\n", "gpu_pairs.c:1: not so"),
            (0, "========= ERROR SUMMARY: 0 errors\n", ""),
            (0, "not run, as there is one GPU: a fork\n", ""),
        ] {
            let outcome = after(code, said, errors);
            assert!(matches!(&outcome, Outcome::Failed(why) if why.contains(said.trim())), "{said}: {outcome}");
        }
    }
}
