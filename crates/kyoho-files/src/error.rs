//! What is wrong with a file.

use thiserror::Error;

/// A file that cannot be read. Its name is not in the text: who has it puts it before.
#[derive(Debug, Error)]
pub enum Error {
    /// A line of a text.
    #[error("line {line}: {reason}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The defect.
        reason: String,
    },
    /// The file as a whole.
    #[error("{reason}")]
    File {
        /// The defect.
        reason: String,
    },
    /// There was no memory.
    #[error(transparent)]
    Library(#[from] kyoho_core::Error),
}

impl Error {
    /// Returns an error about a file as a whole.
    pub fn file(reason: impl std::fmt::Display) -> Error {
        Error::File { reason: reason.to_string() }
    }
}

/// The result of reading a file.
pub type Result<T> = std::result::Result<T, Error>;
