//! The errors of the library. Each names the offending value and what is allowed instead.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use thiserror::Error as ThisError;

/// The outcome of a call. The numbers never move, new ones fill the gaps.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultCode {
    /// Success.
    Ok = 0,
    /// An argument that must point somewhere is null.
    NullArgument = 10,
    /// The handle is null, was freed, or never was one.
    BadHandle = 11,
    /// A count is negative or larger than the data it speaks of.
    BadCount = 12,
    /// An address is negative or above 2147483647.
    BadAddress = 13,
    /// A number is NaN or infinite.
    NotFinite = 14,
    /// A finite number is too large for the precision, or a sum overflowed.
    OutOfRange = 15,
    /// Calls came in an order that has no meaning, such as wait without start.
    CallOrder = 16,
    /// An option, an environment variable or a configuration file has a value that is not allowed.
    BadOption = 17,
    /// The caller's buffer is too small; it holds as much as fits.
    BufferTooSmall = 18,
    /// The text of a pair interaction is wrong.
    BadText = 19,
    /// The backend is not there (not built in, no driver, no device).
    NoBackend = 30,
    /// The backend does not compute this order in this precision and scope.
    Unsupported = 31,
    /// Memory could not be had.
    OutOfMemory = 40,
    /// A device failed while it worked.
    DeviceFailed = 41,
    /// The communicator of a system over ranks failed.
    CommunicatorFailed = 42,
    /// A defect of the library. If it ended a call on a system, the system can only be freed.
    Internal = 90,
    /// A defect of the library ended an earlier call on the system, integrator, pair interaction or
    /// board, which can only be freed or closed.
    Poisoned = 91,
}

impl ResultCode {
    /// Every result code.
    pub const ALL: [ResultCode; 18] = [
        ResultCode::Ok,
        ResultCode::NullArgument,
        ResultCode::BadHandle,
        ResultCode::BadCount,
        ResultCode::BadAddress,
        ResultCode::NotFinite,
        ResultCode::OutOfRange,
        ResultCode::CallOrder,
        ResultCode::BadOption,
        ResultCode::BufferTooSmall,
        ResultCode::BadText,
        ResultCode::NoBackend,
        ResultCode::Unsupported,
        ResultCode::OutOfMemory,
        ResultCode::DeviceFailed,
        ResultCode::CommunicatorFailed,
        ResultCode::Internal,
        ResultCode::Poisoned,
    ];

    /// Returns the result code with this number, if there is one.
    pub fn from_number(number: i32) -> Option<ResultCode> {
        ResultCode::ALL.into_iter().find(|code| *code as i32 == number)
    }
}

/// An error of the library; [`Error::code`] is its number in the C interface.
#[derive(Debug, Clone, PartialEq, ThisError)]
pub enum Error {
    /// An argument that must point somewhere is null.
    #[error("{argument} is null")]
    NullArgument {
        /// The argument's name.
        argument: &'static str,
    },
    /// The handle is null, was freed, or never was one.
    #[error("the handle {handle:#x} is not a system: it is null, was freed, or never was one")]
    BadHandle {
        /// The handle's value.
        handle: usize,
    },
    /// The handle is no pair interaction.
    #[error("the handle {handle:#x} is not a pair interaction: it is null, was freed, or never was one")]
    BadPairHandle {
        /// The handle's value.
        handle: usize,
    },
    /// The handle is no integrator.
    #[error("the handle {handle:#x} is not an integrator: it is null, was freed, or never was one")]
    BadIntegratorHandle {
        /// The handle's value.
        handle: usize,
    },
    /// A count is negative or larger than the data it speaks of.
    #[error("{what} is {value}; allowed: {allowed}")]
    BadCount {
        /// The count's name.
        what: &'static str,
        /// Its value.
        value: i64,
        /// The values that are allowed.
        allowed: String,
    },
    /// An address is negative or above 2147483647.
    #[error("the address of a source is {address}; allowed: 0 to 2147483647")]
    BadAddress {
        /// The address.
        address: i64,
    },
    /// An offset or a count of interaction lists is not allowed.
    #[error("{what} is {value}; allowed: {allowed}")]
    BadList {
        /// The number's name, and whose it is.
        what: String,
        /// Its value.
        value: i64,
        /// The values that are allowed.
        allowed: String,
    },
    /// An interaction list names an address beyond the sources.
    #[error("{what} is {address}; allowed: {}", addresses_below(*.end))]
    BadListedAddress {
        /// The place of the address in the lists.
        what: String,
        /// The address.
        address: i64,
        /// The end of the addresses that were written.
        end: usize,
    },
    /// A number is NaN or infinite.
    #[error("{what} is {value}; allowed: finite numbers")]
    NotFinite {
        /// The quantity, and whose it is.
        what: String,
        /// Its value.
        value: f64,
    },
    /// A field gives a body a number that is not finite.
    #[error("the {what} of body {body} in the field '{field}' is {value}; allowed: finite numbers")]
    FieldNotFinite {
        /// The quantity.
        what: &'static str,
        /// The body's identifier, or else its place among all, from 0.
        body: i64,
        /// The name of the field.
        field: String,
        /// The quantity's value.
        value: f64,
    },
    /// A law between bodies gives a body a number that is not finite.
    #[error("the {what} of body {body} by the law '{law}' is {value}; allowed: finite numbers")]
    LawNotFinite {
        /// The quantity.
        what: &'static str,
        /// The body's identifier, or else its place among all, from 0.
        body: i64,
        /// The name of the law.
        law: String,
        /// The quantity's value.
        value: f64,
    },
    /// Two bodies have the same position, where the force between them has no value.
    #[error(
        "bodies {} and {} have the same position; allowed: different positions, or a softening length above 0",
        bodies[0], bodies[1]
    )]
    SamePlace {
        /// Their identifiers, or else their places among all, from 0.
        bodies: [i64; 2],
    },
    /// A finite number is too large for the precision, or a sum overflowed.
    #[error("{what} is {}, too large for precision {precision}; allowed: {allowed}", shown(*value))]
    OutOfRange {
        /// The quantity, and whose it is.
        what: String,
        /// Its value.
        value: f64,
        /// The precision's name.
        precision: &'static str,
        /// The values that are allowed.
        allowed: String,
    },
    /// Calls came in an order that has no meaning.
    #[error("{call} was called {when}")]
    CallOrder {
        /// The call.
        call: &'static str,
        /// When it was called, and why that is wrong.
        when: &'static str,
    },
    /// This process is a fork of the one that opened what was to be used.
    #[error(
        "process {process} is a fork of process {parent}, which opened the board; open one in this process with \
         {opener}, and write the sources again"
    )]
    Forked {
        /// This process.
        process: u32,
        /// The one that opened.
        parent: u32,
        /// The call that opens here.
        opener: &'static str,
    },
    /// The thing of a handle was in use by another call when the process forked.
    #[error(
        "process {process} is a fork that was made while a call used the handle {handle:#x}, which never ends here; \
         make another one in this process"
    )]
    LostInFork {
        /// The handle's value.
        handle: usize,
        /// This process.
        process: u32,
    },
    /// An option, an environment variable or a configuration file has a value that is not allowed.
    #[error("{name} is '{}'; allowed: {allowed}", shortened(value))]
    BadOption {
        /// The option, variable, or file and line.
        name: String,
        /// Its value.
        value: String,
        /// The values that are allowed.
        allowed: String,
    },
    /// The process has as many files open as it may.
    #[error("no file descriptor is free for {file} ({reason}); close files, or raise the limit with 'ulimit -n'")]
    NoDescriptor {
        /// The file that was to be opened, if it is there.
        file: String,
        /// The reason that the system gives.
        reason: String,
    },
    /// The caller's buffer is too small; it holds as much as fits.
    #[error("{what} needs room for {needed} elements, but the buffer has room for {room}")]
    BufferTooSmall {
        /// The data that was to be written.
        what: &'static str,
        /// The number of elements that there are.
        needed: usize,
        /// The number of elements that the buffer takes.
        room: usize,
    },
    /// The text of a pair interaction is wrong.
    #[error("line {line}, column {column}: {found}; allowed: {allowed}")]
    BadText {
        /// The line, from 1 on.
        line: u32,
        /// The character in the line, from 1 on.
        column: u32,
        /// The thing that stands there, and why it is wrong.
        found: String,
        /// The things that may stand there.
        allowed: String,
    },
    /// An array, a parameter or a result of a pair interaction was not given.
    #[error("{what} is not there; {how}")]
    NotGiven {
        /// The name of what is missing.
        what: String,
        /// How it is given.
        how: &'static str,
    },
    /// The backend is not there.
    #[error("there is no backend '{backend}' here: {reason}")]
    NoBackend {
        /// The backend's name.
        backend: &'static str,
        /// The reason why it is not there.
        reason: String,
    },
    /// The backend does not compute this order in this precision and scope.
    #[error("backend '{backend}' does not compute {forces}; it computes: {allowed}")]
    Unsupported {
        /// The backend's name.
        backend: &'static str,
        /// The order, precision and scope that were asked for, in words.
        forces: String,
        /// The orders and precisions that it computes.
        allowed: String,
    },
    /// Memory could not be had.
    #[error("no memory for {what}: {bytes} bytes")]
    OutOfMemory {
        /// The purpose of the memory.
        what: &'static str,
        /// The number of bytes that were asked for.
        bytes: usize,
    },
    /// A device failed while it worked.
    #[error("device {device} failed: {reason}")]
    DeviceFailed {
        /// The device's name.
        device: String,
        /// The reason that its driver gives.
        reason: String,
    },
    /// The communicator of a system over ranks failed.
    #[error("the communicator's function '{function}' returned {result}; allowed: 0. {allowed}")]
    CommunicatorFailed {
        /// The function.
        function: &'static str,
        /// The number that it returned.
        result: i32,
        /// What can still be done.
        allowed: &'static str,
    },
    /// A call failed on one rank of a system over ranks, and so on all.
    #[error("rank {rank}: {text}")]
    OfRank {
        /// The rank, the lowest of those on which it failed.
        rank: usize,
        /// The number of the error there.
        code: ResultCode,
        /// The text of the error there.
        text: String,
    },
    /// A defect of the library.
    #[error("a defect of kyoho: {what}")]
    Internal {
        /// The defect that was found.
        what: String,
    },
    /// A defect of the library ended an earlier call, which may have left what it was on half
    /// changed.
    #[error("a defect of kyoho ended an earlier call on {thing}; allowed: {allowed}")]
    Poisoned {
        /// The thing that the call was on.
        thing: &'static str,
        /// What can still be done with it.
        allowed: &'static str,
    },
}

/// Returns the addresses below an end in words.
fn addresses_below(end: usize) -> String {
    match end {
        0 => "none, as no source was written".into(),
        end => format!("0 to {} (the highest that was written)", end - 1),
    }
}

impl Error {
    /// Returns the error with other names of the bodies that it names.
    pub fn with_bodies(self, name: impl Fn(i64) -> i64) -> Error {
        match self {
            Error::SamePlace { bodies } => Error::SamePlace { bodies: bodies.map(name) },
            Error::FieldNotFinite { what, body, field, value } => {
                Error::FieldNotFinite { what, body: name(body), field, value }
            }
            Error::LawNotFinite { what, body, law, value } => {
                Error::LawNotFinite { what, body: name(body), law, value }
            }
            other => other,
        }
    }

    /// Returns the error that no file descriptor is free for this file, if that is why it could not
    /// be opened.
    pub fn no_descriptor(file: &Path, error: &io::Error) -> Option<Error> {
        let is_full = matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE));
        is_full.then(|| Error::NoDescriptor { file: file.display().to_string(), reason: error.to_string() })
    }

    /// Whether it is a device's own, so that another one may succeed.
    pub fn is_of_device(&self) -> bool {
        matches!(self.code(), ResultCode::DeviceFailed | ResultCode::OutOfMemory)
    }

    /// The error's number in the C interface.
    pub fn code(&self) -> ResultCode {
        match self {
            Error::NullArgument { .. } => ResultCode::NullArgument,
            Error::BadHandle { .. } | Error::BadPairHandle { .. } | Error::BadIntegratorHandle { .. } => {
                ResultCode::BadHandle
            }
            Error::BadCount { .. } | Error::BadList { .. } => ResultCode::BadCount,
            Error::BadAddress { .. } | Error::BadListedAddress { .. } => ResultCode::BadAddress,
            Error::NotFinite { .. }
            | Error::FieldNotFinite { .. }
            | Error::LawNotFinite { .. }
            | Error::SamePlace { .. } => ResultCode::NotFinite,
            Error::OutOfRange { .. } => ResultCode::OutOfRange,
            Error::CallOrder { .. } | Error::Forked { .. } | Error::LostInFork { .. } | Error::NotGiven { .. } => {
                ResultCode::CallOrder
            }
            Error::BadOption { .. } | Error::NoDescriptor { .. } => ResultCode::BadOption,
            Error::BufferTooSmall { .. } => ResultCode::BufferTooSmall,
            Error::BadText { .. } => ResultCode::BadText,
            Error::NoBackend { .. } => ResultCode::NoBackend,
            Error::Unsupported { .. } => ResultCode::Unsupported,
            Error::OutOfMemory { .. } => ResultCode::OutOfMemory,
            Error::DeviceFailed { .. } => ResultCode::DeviceFailed,
            Error::CommunicatorFailed { .. } => ResultCode::CommunicatorFailed,
            Error::OfRank { code, .. } => *code,
            Error::Internal { .. } => ResultCode::Internal,
            Error::Poisoned { .. } => ResultCode::Poisoned,
        }
    }
}

/// Returns a number as messages show it, with an exponent where it would otherwise have dozens of
/// digits.
pub fn shown(number: f64) -> String {
    match number.abs() {
        0.0 | 1e-5..1e16 => number.to_string(),
        _ => format!("{number:e}"),
    }
}

/// Returns a text of the user as messages show it: a long one is cut off, and its length is named.
pub fn shortened(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        None => text.into(),
        Some((end, _)) => format!("{}... ({} bytes in all)", &text[..end], text.len()).into(),
    }
}

/// Shorthand for results of this library.
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_few_digits() {
        let shown = [0.0, 1.5, -1e-5, 1e-300, -2.5e300, 1e15, 1e16, f64::NAN, f64::INFINITY].map(shown);
        assert_eq!(shown, ["0", "1.5", "-0.00001", "1e-300", "-2.5e300", "1000000000000000", "1e16", "NaN", "inf"]);
    }

    #[test]
    fn of_a_long_value_the_beginning_is_shown() {
        let error = |value: String| {
            Error::BadOption { name: "KYOHO_THREADS".into(), value, allowed: "1 to 4096".into() }.to_string()
        };
        assert_eq!(error("x".repeat(200)), format!("KYOHO_THREADS is '{}'; allowed: 1 to 4096", "x".repeat(200)));
        let long = error("\u{fc}".repeat(60_000));
        assert!(long.contains("... (120000 bytes in all)'; allowed: 1 to 4096") && long.len() < 500, "{long}");
    }
}
