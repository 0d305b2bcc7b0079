//! Diagnostics: one line on stderr for each failed call of an old interface, and a log if the
//! environment asks for one.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use thiserror::Error as ThisError;

use crate::config::{OnFailure, Settings};
use crate::data::{Error, Result};

use super::boundary;
use super::floating_point::in_the_usual_environment;

/// The reason why a call of an old interface failed.
#[derive(Debug, ThisError)]
pub enum Failure {
    /// The engine or the boundary refused the call.
    #[error(transparent)]
    Library(#[from] Error),
    /// The force depends on something that was refused.
    #[error("{0} was refused when it was last set; set it again")]
    Refused(String),
    /// An earlier call failed, and its line gave the reason.
    #[error("an earlier call failed")]
    AlreadyReported,
}

/// The result of a call of an old interface.
pub type Outcome<T> = std::result::Result<T, Failure>;

/// The value that a failed call of an old interface returns.
pub const FAILED: i32 = -1;

/// Runs the body of an entry point of an old interface; a failure becomes a line on stderr and the
/// value `failed`.
pub fn answer<T>(function: &'static str, body: impl FnOnce() -> Outcome<T>, failed: T) -> T {
    answer_or(function, body, failed, || ())
}

/// Does as [`answer`] does, and calls `after_failure` after a failure.
pub fn answer_or<T>(
    function: &'static str,
    body: impl FnOnce() -> Outcome<T>,
    failed: T,
    after_failure: impl FnOnce(),
) -> T {
    in_the_usual_environment(|| {
        let failure = match boundary::protect(|| Ok(body())) {
            Ok(Ok(value)) => return value,
            Ok(Err(failure)) => failure,
            Err(error) => Failure::Library(error),
        };
        // The caller's own logger may panic too.
        protect(|| report(function, &failure));
        protect(after_failure);
        if OnFailure::of_process() == OnFailure::Stop {
            stop(function);
        }
        failed
    })
}

/// Ends the process as a program ends itself, so that all it has written reaches its files.
fn stop(function: &'static str) {
    // A program may call the library at its end and fail again, and two threads may fail at a time.
    // The first ends it.
    static STOPPING: AtomicBool = AtomicBool::new(false);
    if !STOPPING.swap(true, Ordering::Relaxed) {
        let line = format!("kyoho: {function} failed, and KYOHO_ON_FAILURE is stop: the process ends with status 1\n");
        // The process ends even if stderr is closed.
        let _ = std::io::stderr().write_all(line.as_bytes());
        std::process::exit(1);
    }
}

/// Runs a function that may panic, at the end of a call that has failed already.
fn protect(last: impl FnOnce()) {
    let _ = boundary::protect(|| {
        last();
        Ok(())
    });
}

/// The most lines that one function writes in a process, because a caller that ignores failures may
/// repeat them for ever.
const LINES: u32 = 100;

/// The number of lines that each function has written.
static WRITTEN: Mutex<Vec<(&'static str, u32)>> = Mutex::new(Vec::new());

/// Writes one line to stderr that names the function and the reason of its failure.
pub fn report(function: &'static str, failure: &Failure) {
    if matches!(failure, Failure::AlreadyReported) {
        return;
    }
    if write_line(function, failure) {
        log::error!("{function}: {failure}");
    }
}

/// Writes the line unless the function has written enough of them; returns whether it did.
fn write_line(function: &'static str, failure: &Failure) -> bool {
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    let place = written.iter().position(|(name, _)| *name == function).unwrap_or(written.len());
    if place == written.len() {
        written.push((function, 0));
    }
    let lines = &mut written[place].1;
    if *lines == LINES {
        return false;
    }
    *lines += 1;
    let line = format!("kyoho: {function}: {failure}\n");
    let more = format!("kyoho: {function}: {LINES} failures were shown; more are not shown\n");
    // The call goes on even if stderr is closed.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if *lines == LINES {
        let _ = std::io::stderr().write_all(more.as_bytes());
    }
    true
}

/// The logger of the library, which writes to a file or to stderr.
struct Log {
    file: Option<Mutex<File>>,
}

impl log::Log for Log {
    fn enabled(&self, metadata: &log::Metadata) -> bool {
        metadata.target().starts_with("kyoho")
    }

    fn log(&self, record: &log::Record) {
        // The line of a failed call is on stderr already.
        if !self.enabled(record.metadata()) || self.file.is_none() && record.target() == module_path!() {
            return;
        }
        let line = format!("kyoho {}: {}\n", record.level().as_str().to_lowercase(), record.args());
        let _ = match &self.file {
            Some(file) => file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes()),
            None => std::io::stderr().write_all(line.as_bytes()),
        };
    }

    fn flush(&self) {}
}

static LOG: OnceLock<Log> = OnceLock::new();
static STARTED: Mutex<bool> = Mutex::new(false);

/// Starts the log that `KYOHO_LOG` and `KYOHO_LOG_FILE` ask for, once in a process and only if they
/// ask for one.
///
/// A Rust program that has its own logger keeps it. Returns an error if the file cannot be written.
pub fn start_log(settings: &Settings) -> Result<()> {
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if *started || settings.log == log::LevelFilter::Off {
        return Ok(());
    }
    let open = |path: &PathBuf| {
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.map_err(|error| {
            Error::no_descriptor(path, &error).unwrap_or_else(|| Error::BadOption {
                name: "KYOHO_LOG_FILE".into(),
                value: path.display().to_string(),
                allowed: format!("a file that can be written ({error})"),
            })
        })
    };
    let file = settings.log_file.as_ref().map(open).transpose()?;
    if log::set_logger(LOG.get_or_init(|| Log { file: file.map(Mutex::new) })).is_ok() {
        log::set_max_level(settings.log);
    }
    *started = true;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_becomes_the_value_of_a_failure_and_never_leaves_the_call() {
        assert_eq!(answer("a_function", || -> Outcome<i32> { panic!("a defect") }, FAILED), FAILED);
        assert_eq!(answer("a_function", || Ok(3), FAILED), 3);
    }

    #[test]
    fn what_is_done_after_a_failure_may_fail_too() {
        let (mut done, refused) = (false, || Failure::Refused("a number".into()));
        assert_eq!(answer_or("a_function", || Err(refused()), FAILED, || done = true), FAILED);
        assert!(done);
        assert_eq!(answer_or("a_function", || Err(refused()), FAILED, || panic!("another")), FAILED);
        assert_eq!(answer_or("a_function", || Ok(3), FAILED, || panic!("nothing failed")), 3);
    }
}
