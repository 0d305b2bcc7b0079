//! Diagnostics: one line on stderr for each failed call of an old interface, and a log if the
//! environment asks for one.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};

use thiserror::Error as ThisError;

use crate::config::{self, OnFailure, Settings};
use kyoho_core::{Error, Result};
use kyoho_hal::forks;

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

/// The log of the process. The lines that the environment asks for go to a file or to stderr, and
/// those that the caller asks for go to its listener.
struct Log {
    written: OnceLock<Written>,
    listener: RwLock<Option<Listener>>,
}

/// The log that `KYOHO_LOG` and `KYOHO_LOG_FILE` ask for.
struct Written {
    level: log::LevelFilter,
    /// The file. Without one, the log goes to stderr.
    file: Option<Mutex<File>>,
}

/// A function of the caller that receives the lines of the log.
pub struct Listener {
    /// The level up to which it receives lines.
    pub level: log::LevelFilter,
    /// The function.
    pub tell: Box<Tell>,
}

/// A function that receives the level and the text of a line.
type Tell = dyn Fn(log::Level, &str) + Send + Sync;

static LOG: Log = Log { written: OnceLock::new(), listener: RwLock::new(None) };

thread_local! {
    /// Whether this thread is in the listener. The listener receives no lines about its own calls.
    static IN_LISTENER: Cell<bool> = const { Cell::new(false) };
}

impl log::Log for Log {
    fn enabled(&self, metadata: &log::Metadata) -> bool {
        metadata.target().starts_with("kyoho")
    }

    fn log(&self, record: &log::Record) {
        if !self.enabled(record.metadata()) {
            return;
        }
        if let Some(written) = self.written.get().filter(|written| record.level() <= written.level) {
            written.write(record);
        }
        // A thread that is being torn down logs nothing more.
        if IN_LISTENER.try_with(|inside| inside.replace(true)) != Ok(false) {
            return;
        }
        let listener = self.listener.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = listener.as_ref().filter(|listener| record.level() <= listener.level) {
            (listener.tell)(record.level(), &record.args().to_string());
        }
        drop(listener);
        IN_LISTENER.set(false);
    }

    fn flush(&self) {}
}

impl Written {
    fn write(&self, record: &log::Record) {
        let line = format!("kyoho {}: {}\n", record.level().as_str().to_lowercase(), record.args());
        // A fork that found the file locked would wait for it for ever.
        let _ = forks::hold_off(|| match &self.file {
            Some(file) => file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes()),
            // A failed call has written its own line already.
            None if record.target() == module_path!() => Ok(()),
            None => std::io::stderr().write_all(line.as_bytes()),
        });
    }
}

/// Makes this the log of the process, and returns whether it is. A Rust program that has its own
/// logger keeps it.
fn is_log_of_process() -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    *IS.get_or_init(|| log::set_logger(&LOG).is_ok())
}

/// Sets the level of the log to the one that the environment or the listener wants.
fn choose_level(listener: Option<&Listener>) {
    let written = LOG.written.get().map_or(log::LevelFilter::Off, |written| written.level);
    log::set_max_level(listener.map_or(written, |listener| listener.level.max(written)));
}

/// Starts the log that `KYOHO_LOG` and `KYOHO_LOG_FILE` ask for, once in a process and only if they
/// ask for one.
///
/// A Rust program that has its own logger keeps it. Fails if the file cannot be written.
pub fn start_log(settings: &Settings) -> Result<()> {
    open_log(settings)?;
    config::tell_of_unknown_variables();
    Ok(())
}

fn open_log(settings: &Settings) -> Result<()> {
    static STARTED: Mutex<bool> = Mutex::new(false);
    if settings.log == log::LevelFilter::Off || LOG.written.get().is_some() {
        return Ok(());
    }
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if *started {
        return Ok(());
    }
    let open = |path: &PathBuf| {
        // A FIFO that nobody reads is an error, and one that is read too slowly loses lines: no
        // call waits for its log.
        let file = OpenOptions::new().create(true).append(true).custom_flags(libc::O_NONBLOCK).open(path);
        file.map_err(|error| {
            Error::no_descriptor(path, &error).unwrap_or_else(|| Error::BadOption {
                name: "KYOHO_LOG_FILE".into(),
                value: path.display().to_string(),
                allowed: match error.raw_os_error() {
                    Some(libc::ENXIO) => "a file that can be written (it is a FIFO that nobody reads)".into(),
                    _ => format!("a file that can be written ({error})"),
                },
            })
        })
    };
    let file = settings.log_file.as_ref().map(open).transpose()?;
    if is_log_of_process() {
        LOG.written.get_or_init(|| Written { level: settings.log, file: file.map(Mutex::new) });
        choose_level(LOG.listener.read().unwrap_or_else(PoisonError::into_inner).as_ref());
    }
    *started = true;
    Ok(())
}

/// Sets the listener or removes it. When this returns, the previous listener has returned too and
/// is not called any more.
pub fn set_listener(listener: Option<Listener>) -> Result<()> {
    let misplaced = |when| Err(Error::CallOrder { call: "kyoho_set_log", when });
    if IN_LISTENER.get() {
        return misplaced("by the function that receives the log");
    }
    if listener.is_some() && !is_log_of_process() {
        return misplaced("in a Rust program that has its own logger");
    }
    let mut current = LOG.listener.write().unwrap_or_else(PoisonError::into_inner);
    choose_level(listener.as_ref());
    *current = listener;
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
