//! Structures of programs that were made with another version of the header, and know fewer fields
//! or more.

use std::mem::MaybeUninit;
use std::ptr;

use kyoho_core::{Error, Result};

use super::bad_field;

/// A structure of the interface. It begins with its own size, so that fields can be added at its
/// end.
///
/// # Safety
/// It is `repr(C)`, an `i32` comes first, there is no padding, and any bytes are a valid value.
pub unsafe trait Structure: Copy {
    /// Its name in C.
    const NAME: &'static str;
    /// Its size in the first version. No program has a smaller one.
    const FIRST_SIZE: usize;
}

macro_rules! structures {
    ($($structure:ident, $last_of_first:ident: $last:ty;)*) => {$(
        // SAFETY: numbers, pointers and structures of them, all aligned to 8 bytes but pairs of
        // `i32`.
        unsafe impl Structure for $structure {
            const NAME: &'static str = stringify!($structure);
            const FIRST_SIZE: usize = std::mem::offset_of!($structure, $last_of_first) + size_of::<$last>();
        }
    )*};
}

pub(super) use structures;

/// Returns a structure with nothing set, as KYOHO_..._INIT makes it.
pub fn empty<S: Structure>() -> S {
    let mut structure = MaybeUninit::<S>::zeroed();
    // SAFETY: the size comes first, and any bytes are a value.
    unsafe {
        structure.as_mut_ptr().cast::<i32>().write(size_of::<S>() as i32);
        structure.assume_init()
    }
}

/// A larger size means an uninitialised structure.
const LARGEST: usize = 4096;

/// Returns the size that a structure of the caller has.
///
/// # Safety
/// The pointer points to the size, and to as many bytes as it says.
unsafe fn size_of_callers<S: Structure>(pointer: *const S) -> Result<usize> {
    let known = size_of::<S>();
    let bad = |size: i32, allowed: String| bad_field(&format!("{}.structure_size", S::NAME), size, allowed);
    // SAFETY: a structure begins with its size.
    let given = unsafe { pointer.cast::<i32>().read_unaligned() };
    let size =
        usize::try_from(given).ok().filter(|size| (S::FIRST_SIZE..=LARGEST).contains(size)).ok_or_else(|| {
            let init = S::NAME.to_uppercase();
            bad(given, format!("sizeof({}), {known} here, as {init}_INIT has it", S::NAME))
        })?;
    // SAFETY: the structure has so many bytes.
    let mut unknown = (known..size).map(|byte| unsafe { pointer.cast::<u8>().add(byte).read() });
    if unknown.any(|byte| byte != 0) {
        let version = env!("CARGO_PKG_VERSION");
        return Err(bad(
            given,
            format!("{known} in version {version}, or zeros in all fields of newer versions, which it does not know"),
        ));
    }
    Ok(size)
}

/// Reads the caller's structure. Fields that its program does not know are zero.
///
/// # Safety
/// The pointer is null or points to the structure's size, and to as many bytes as it says.
#[inline]
pub unsafe fn read<S: Structure>(argument: &'static str, pointer: *const S) -> Result<S> {
    if pointer.is_null() {
        return Err(Error::NullArgument { argument });
    }
    // Nearly every program knows the same fields as the library. This path is fast for callers that
    // write each source alone.
    // SAFETY: the caller's promise; any bytes are a value.
    unsafe {
        if pointer.cast::<i32>().read_unaligned() == size_of::<S>() as i32 {
            return Ok(pointer.read_unaligned());
        }
        read_other(pointer)
    }
}

/// Reads the structure of a program that knows fewer fields, or more.
///
/// # Safety
/// As for [`read`], and the pointer is not null.
#[cold]
unsafe fn read_other<S: Structure>(pointer: *const S) -> Result<S> {
    // SAFETY: the caller's promise.
    let size = unsafe { size_of_callers(pointer) }?;
    let mut structure = MaybeUninit::<S>::zeroed();
    // SAFETY: there are so many bytes at both ends, and any bytes are a value.
    unsafe {
        ptr::copy_nonoverlapping(pointer.cast::<u8>(), structure.as_mut_ptr().cast(), size.min(size_of::<S>()));
        Ok(structure.assume_init())
    }
}

/// Writes the fields that the caller's program knows. The size stays.
///
/// # Safety
/// As for [`read`], and the bytes can be written.
pub unsafe fn write<S: Structure>(argument: &'static str, pointer: *mut S, structure: S) -> Result<()> {
    if pointer.is_null() {
        return Err(Error::NullArgument { argument });
    }
    const SIZE: usize = size_of::<i32>();
    // SAFETY: the caller's promise.
    let size = unsafe { size_of_callers(pointer) }?.min(size_of::<S>());
    let from = (&raw const structure).cast::<u8>();
    // SAFETY: there are so many bytes at both ends.
    unsafe { ptr::copy_nonoverlapping(from.add(SIZE), pointer.cast::<u8>().add(SIZE), size - SIZE) };
    Ok(())
}

/// An array of structures of the caller, all as long as the first one, into which a call writes what it
/// has done.
#[derive(Clone, Copy)]
pub struct Structures<S> {
    argument: &'static str,
    first: *mut S,
    length: usize,
}

impl<S: Structure> Structures<S> {
    /// Takes the array; nothing is written to a null one. Fails where the size of one is wrong, so that a
    /// call finds that out before it does anything.
    ///
    /// # Safety
    /// The pointer is null, or as for [`write()`], of as many structures as will be written.
    pub unsafe fn new(argument: &'static str, first: *mut S, count: usize) -> Result<Structures<S>> {
        if first.is_null() || count == 0 {
            return Ok(Structures { argument, first, length: 0 });
        }
        // SAFETY: the caller's promise.
        let length = unsafe { size_of_callers(first) }?;
        for place in 1..count {
            // SAFETY: the caller's promise.
            let size = unsafe { size_of_callers(first.byte_add(place * length)) }?;
            if size != length {
                let allowed = format!("{length}, that of {argument}[0]");
                return Err(bad_field(&format!("{argument}[{place}].structure_size"), size, allowed));
            }
        }
        Ok(Structures { argument, first, length })
    }

    /// Writes the fields that the caller's program knows to one of them.
    ///
    /// # Safety
    /// As for [`Structures::new`].
    pub unsafe fn write(&self, place: usize, structure: S) -> Result<()> {
        if self.length == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { write(self.argument, self.first.byte_add(place * self.length), structure) }
    }
}

#[cfg(test)]
mod tests;
