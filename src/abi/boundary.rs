//! The guard of every entry point: no panic leaves the library, and null pointers become errors.

use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::os::raw::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kyoho_core::{Error, Result, memory};

/// Runs the body of an entry point; a panic, which is a defect of this library, becomes an error.
/// What the call was on is poisoned then: by [`Handles`](super::handles::Handles), or when the guard
/// of a board is dropped.
pub fn protect<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    caught(body).unwrap_or_else(Err)
}

/// Runs a function and returns what it returns, or the error for its panic.
pub fn caught<T>(body: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Error::Internal { what: text.unwrap_or("a panic without words").to_string() }
    })
}

/// Returns the text of an error for C.
pub fn c_text(error: &Error) -> CString {
    let mut bytes = error.to_string().into_bytes();
    bytes.retain(|byte| *byte != 0);
    CString::new(bytes).unwrap_or_default()
}

/// Returns the pointer, or an error if it is null.
pub fn required<T>(argument: &'static str, pointer: *mut T) -> Result<*mut T> {
    if pointer.is_null() { Err(Error::NullArgument { argument }) } else { Ok(pointer) }
}

/// Writes a value where a pointer points to, unless it is null.
///
/// # Safety
/// The pointer is null, or points to room for a `T` at any alignment.
pub unsafe fn write<T>(pointer: *mut T, value: T) {
    if !pointer.is_null() {
        // SAFETY: the pointer is not null, so that the caller promises room there.
        unsafe { pointer.write_unaligned(value) };
    }
}

/// Returns the text at a pointer unless it is null. Bytes that are no UTF-8 are replaced.
///
/// # Safety
/// The pointer is null, or points to bytes that end with a zero.
pub unsafe fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: the pointer is not null, so that the caller promises a text there.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

/// Returns a text that may be long, without a copy where it is UTF-8.
///
/// # Safety
/// The pointer is null or points to a text, which stays as long as the result.
pub unsafe fn long_text<'a>(pointer: *const c_char, what: &'static str) -> Result<Option<Cow<'a, str>>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the pointer is not null, so that the caller promises a text there.
    let text = unsafe { CStr::from_ptr(pointer) };
    if let Ok(text) = text.to_str() {
        return Ok(Some(text.into()));
    }
    let mut copy = String::new();
    for chunk in text.to_bytes().utf8_chunks() {
        memory::append(&mut copy, chunk.valid(), what)?;
        if !chunk.invalid().is_empty() {
            memory::append(&mut copy, "\u{fffd}", what)?;
        }
    }
    Ok(Some(copy.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_its_words() {
        for (body, words) in [
            ((|| panic!("plain")) as fn() -> Result<()>, "plain"),
            (|| panic!("{} of {}", 3, 4), "3 of 4"),
            (|| std::panic::panic_any(7), "a panic without words"),
        ] {
            assert_eq!(protect(body), Err(Error::Internal { what: words.into() }));
        }
    }

    #[test]
    fn null_is_an_error_where_something_is_required() {
        assert_eq!(required::<i32>("count", std::ptr::null_mut()), Err(Error::NullArgument { argument: "count" }));
    }
}
