//! Boxes whose allocation can fail.

use kyoho_core::Result;
use kyoho_core::memory::Boxed;

/// Moves a value to memory of its own for `what`, as `Box::new` does.
pub fn boxed<T>(value: T, what: &'static str) -> Result<Box<T>> {
    let one = Boxed::new(value, what)?.into_array();
    // SAFETY: an array of one value lies in memory as the value does, and the new box alone owns it.
    Ok(unsafe { Box::from_raw(Box::into_raw(one).cast::<T>()) })
}
