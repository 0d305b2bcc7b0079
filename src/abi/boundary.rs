//! What every entry point stands behind: no panic leaves it, and null pointers become errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

/// Runs the body of an entry point; a panic, which is a defect of this library, becomes an error.
pub fn protect<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    // A panic may leave a system half way through a block; every later call on it starts from its sources again.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Error::Internal { what: text.unwrap_or("a panic without words").to_string() })
    })
}
