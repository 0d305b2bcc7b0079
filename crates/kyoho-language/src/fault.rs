//! The errors in a text: where, what was found, and what is allowed.

use std::fmt;

use kyoho_core::Error;

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// The line, from 1 on.
    pub line: u32,
    /// The character in the line, from 1 on.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}", self.line, self.column)
    }
}

/// An error in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The place.
    pub place: Place,
    /// The thing that stands there, and why it is wrong.
    pub found: String,
    /// The things that may stand there.
    pub allowed: String,
    /// The memory that there was not, where the text is not at fault: its purpose and its bytes.
    pub no_memory: Option<(&'static str, usize)>,
}

/// The purpose of the memory of the compiler.
pub const WHAT: &str = "the operations of a pair interaction";

/// The outcome of a step of the compiler.
pub type Checked<T> = std::result::Result<T, Fault>;

impl Fault {
    /// Returns an error.
    pub fn new(place: Place, found: impl Into<String>, allowed: impl Into<String>) -> Fault {
        Fault { place, found: found.into(), allowed: allowed.into(), no_memory: None }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}; allowed: {}", self.place, self.found, self.allowed)
    }
}

impl Fault {
    /// Returns the error of the library.
    pub fn into_error(self) -> Error {
        let Fault { place, found, allowed, no_memory } = self;
        match no_memory {
            Some((what, bytes)) => Error::OutOfMemory { what, bytes },
            None => Error::BadText { line: place.line, column: place.column, found, allowed },
        }
    }
}

/// The errors of the functions that ask for memory.
impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        let no_memory = match error {
            Error::OutOfMemory { what, bytes } => Some((what, bytes)),
            _ => None,
        };
        Fault { no_memory, ..Fault::new(Place::default(), error.to_string(), "a text for which there is memory") }
    }
}

/// Returns names with commas between them, and a word if there are none.
pub fn listed<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let mut list = String::new();
    for name in names {
        if !list.is_empty() {
            list.push_str(", ");
        }
        list.push_str(name.as_ref());
    }
    if list.is_empty() { "none, as none is declared".into() } else { list }
}
