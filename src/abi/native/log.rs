//! The caller's log.

use std::ffi::CString;
use std::os::raw::c_void;

use crate::abi::diagnostics::{self, Listener};
use kyoho_core::{Result, ResultCode};

use super::structures::{LogLevel, bad_field, kyoho_log_callback};
use super::{call, kyoho_log_level};

fn level_of(number: i32) -> Result<log::LevelFilter> {
    const LEVELS: [(LogLevel, log::LevelFilter); 5] = [
        (LogLevel::Off, log::LevelFilter::Off),
        (LogLevel::Error, log::LevelFilter::Error),
        (LogLevel::Warn, log::LevelFilter::Warn),
        (LogLevel::Info, log::LevelFilter::Info),
        (LogLevel::Debug, log::LevelFilter::Debug),
    ];
    let level = LEVELS.into_iter().find(|(level, _)| *level as i32 == number).map(|(_, level)| level);
    level.ok_or_else(|| bad_field("level", number, "0 (off), 1 (error), 2 (warn), 3 (info), 4 (debug)"))
}

fn number_of(level: log::Level) -> LogLevel {
    match level {
        log::Level::Error => LogLevel::Error,
        log::Level::Warn => LogLevel::Warn,
        log::Level::Info => LogLevel::Info,
        log::Level::Debug | log::Level::Trace => LogLevel::Debug,
    }
}

/// The listener passes the caller's context to the caller's function.
struct Context(*mut c_void);

// SAFETY: the library does nothing with it but hand it to the caller's function, which takes calls
// of any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// Sends the process's log to a function of yours, line by line; it takes the place of one that
/// was set before. NULL: to none. What KYOHO_LOG and KYOHO_LOG_FILE ask for is written as well.
///
/// `callback` receives `context`, the level of a line, and its text without a line end, which it
/// may read until it returns. It receives lines up to `level`. It may be called by any thread and
/// by several at a time, also within calls of yours. It must return, so that it may neither throw
/// an exception nor jump, and it must not call the library. When this function has returned, the
/// callback that was set before has returned too and is not called any more.
///
/// Errors: KYOHO_BAD_OPTION (no such level), KYOHO_CALL_ORDER (the callback calls this, or the
/// process is a Rust program with a logger of its own).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_set_log(
    callback: kyoho_log_callback,
    context: *mut c_void,
    level: kyoho_log_level,
) -> ResultCode {
    call(|| {
        let level = level_of(level)?;
        let context = Context(context);
        let listener = callback.map(|callback| {
            let tell = move |level, line: &str| {
                let context = &context;
                let mut bytes = line.as_bytes().to_vec();
                bytes.retain(|byte| *byte != 0);
                let line = CString::new(bytes).unwrap_or_default();
                // SAFETY: a function of the caller for these arguments, by its promise.
                unsafe { callback(context.0, number_of(level) as i32, line.as_ptr()) }
            };
            Listener { level, tell: Box::new(tell) }
        });
        diagnostics::set_listener(listener)
    })
}
