//! The failures of subcommands.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::file::is_standard_input;

use kyoho_core::error::{shortened, shown};

/// A failure of a subcommand, as one line for the user.
#[derive(Debug, Error)]
pub enum Failure {
    /// An error of the library.
    #[error(transparent)]
    Library(kyoho_core::Error),
    /// An option whose value has no meaning, alone or with the other options.
    #[error("{option} is {}; allowed: {allowed}", shortened(value))]
    Argument {
        /// The option.
        option: &'static str,
        /// Its value.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// A line of a file that cannot be understood.
    #[error("{}, line {line}: {reason}", name(path))]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// The defect.
        reason: String,
    },
    /// A file that has the wrong content as a whole.
    #[error("{}: {reason}", name(path))]
    File {
        /// The file.
        path: PathBuf,
        /// The defect.
        reason: String,
    },
    /// A failure with one of several files, which does not name it itself.
    #[error("{}: {failure}", name(path))]
    OfFile {
        /// The file.
        path: PathBuf,
        /// The failure.
        failure: Box<Failure>,
    },
    /// Some of several files failed, each of which was told of.
    #[error("{failed} of {all} files failed")]
    Files {
        /// How many failed.
        failed: usize,
        /// How many there are.
        all: usize,
    },
    /// Two bodies start from the same position, where the force between them has no value.
    #[error("bodies {} and {} have the same position; allowed: different positions, or softening (--eps)", bodies[0], bodies[1])]
    SamePlace {
        /// Their numbers, from 1.
        bodies: [i64; 2],
    },
    /// A block that has other results on several devices than on one.
    #[error(
        "{block}: on {devices} devices, {quantity} of sink {sink} is {}; allowed: {}, the bits that it has on one",
        shown(*found), shown(*expected)
    )]
    OtherBits {
        /// A description of the block.
        block: String,
        /// The number of devices.
        devices: usize,
        /// The first sink that differs, from 0.
        sink: usize,
        /// The quantity that differs.
        quantity: &'static str,
        /// Its value on this many devices.
        found: f64,
        /// Its value on one device.
        expected: f64,
    },
    /// The output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
}

/// Returns the name of a file in messages.
fn name(path: &Path) -> String {
    if is_standard_input(path) { "the standard input".into() } else { path.display().to_string() }
}

impl From<kyoho_core::Error> for Failure {
    fn from(error: kyoho_core::Error) -> Failure {
        match error.with_bodies(|place| place + 1) {
            kyoho_core::Error::SamePlace { bodies } => Failure::SamePlace { bodies },
            other => Failure::Library(other),
        }
    }
}

impl Failure {
    /// Returns the failure to read or write a file.
    pub fn file(path: &Path, error: impl std::fmt::Display) -> Failure {
        Failure::File { path: path.to_path_buf(), reason: error.to_string() }
    }

    /// Returns the failure to use the text of a file, which errors in the text do not name themselves.
    pub fn in_text(path: &Path, error: kyoho_core::Error) -> Failure {
        match error {
            kyoho_core::Error::BadText { .. } => Failure::file(path, error),
            other => other.into(),
        }
    }

    /// Returns the failure to read the bodies of a file.
    pub fn in_file(path: &Path, error: kyoho_files::Error) -> Failure {
        match error {
            kyoho_files::Error::Line { line, reason } => Failure::Line { path: path.into(), line, reason },
            kyoho_files::Error::File { reason } => Failure::file(path, reason),
            kyoho_files::Error::Library(error) => error.into(),
        }
    }

    /// Whether it names this file as that which has the wrong content or cannot be read.
    pub fn is_about(&self, file: &Path) -> bool {
        matches!(self, Failure::Line { path, .. } | Failure::File { path, .. } if path == file)
    }

    /// Makes it the failure with one of several files.
    pub fn of_file(self, file: &Path) -> Failure {
        if self.is_about(file) || self.is_closed_output() {
            return self;
        }
        Failure::OfFile { path: file.into(), failure: Box::new(self) }
    }

    /// Returns 2 for wrong arguments, else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Argument { .. } => 2,
            Failure::OfFile { failure, .. } => failure.exit_code(),
            _ => 1,
        }
    }

    /// Whether the reader of the output has closed it.
    pub fn is_closed_output(&self) -> bool {
        matches!(self, Failure::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

/// The result of a subcommand.
pub type Result<T> = std::result::Result<T, Failure>;
