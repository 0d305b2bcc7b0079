//! The caller's arrays: any of them may overlap any other, and Fortran may align doubles to four
//! bytes.

use std::ffi::c_int;
use std::ops::Range;

use kyoho_core::{Error, Result};

/// The beginning of an array of the caller, for all threads that serve a call.
#[derive(Clone, Copy)]
pub struct CallerPtr<T>(pub *mut T);

// SAFETY: the pointer alone reads nothing. Other threads only read through it, and only arrays that
// the caller neither changes nor frees until the call returns. Arrays that may be the same memory
// are written by the caller's own thread, once no other thread reads any more.
unsafe impl<T> Sync for CallerPtr<T> {}

/// An array that the caller gives.
#[derive(Clone, Copy)]
pub struct Input<T> {
    first: CallerPtr<T>,
    count: usize,
}

impl<T: Copy> Input<T> {
    /// Takes an array of `count` items. Null is an error unless the array is empty.
    ///
    /// # Safety
    /// Unless null, `count` items can be read from `first`, by any thread, and stay the same as
    /// long as the value lives.
    pub unsafe fn new(argument: &'static str, first: *const T, count: usize) -> Result<Input<T>> {
        if first.is_null() && count > 0 {
            return Err(Error::NullArgument { argument });
        }
        Ok(Input { first: CallerPtr(first.cast_mut()), count })
    }

    /// The number of items.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The addresses of the bytes of the array.
    pub fn bytes(&self) -> Range<usize> {
        let start = self.first.0.addr();
        start..start.saturating_add(self.count.saturating_mul(size_of::<T>()))
    }

    /// The item at a place.
    #[inline]
    pub fn get(&self, place: usize) -> T {
        assert!(place < self.count, "place {place} of an array of {}", self.count);
        // SAFETY: the place is inside the array that the caller of `new` promised.
        unsafe { self.first.0.add(place).read_unaligned() }
    }

    /// All items.
    pub fn items(&self) -> impl ExactSizeIterator<Item = T> {
        (0..self.count).map(|place| self.get(place))
    }
}

/// An array that the caller wants filled. Nothing is written to a null array.
#[derive(Clone, Copy)]
pub struct Output<T> {
    argument: &'static str,
    first: *mut T,
    count: usize,
}

impl<T: Copy> Output<T> {
    /// Takes an array of `count` items.
    ///
    /// # Safety
    /// Unless null, `count` items can be written from `first` on as long as the value lives.
    pub unsafe fn new(argument: &'static str, first: *mut T, count: usize) -> Output<T> {
        Output { argument, first, count }
    }

    /// Returns an error if the array is null and has items.
    pub fn require(&self) -> Result<()> {
        if self.first.is_null() && self.count > 0 {
            return Err(Error::NullArgument { argument: self.argument });
        }
        Ok(())
    }

    /// Writes one item.
    pub fn set(&self, place: usize, item: T) {
        assert!(place < self.count, "place {place} of an array of {}", self.count);
        if !self.first.is_null() {
            // SAFETY: the place is inside the array that the caller of `new` promised, and nothing
            // else refers to it here.
            unsafe { self.first.add(place).write_unaligned(item) }
        }
    }

    /// Writes items one after another from a place on, as many as the array has room for: a caller
    /// may want the results of fewer sinks than devices hand over.
    pub fn set_from(&self, place: usize, items: impl Iterator<Item = T>) {
        let room = self.count.saturating_sub(place);
        if !self.first.is_null() && room > 0 {
            // SAFETY: these places are inside the array that the caller of `new` promised, and
            // nothing else refers to it here.
            let first = unsafe { self.first.add(place) };
            for (place, item) in items.take(room).enumerate() {
                // SAFETY: see above.
                unsafe { first.add(place).write_unaligned(item) }
            }
        }
    }

    /// Writes one value to all items.
    pub fn fill(&self, item: T) {
        (0..self.count).for_each(|place| self.set(place, item));
    }
}

/// Reads a scalar that Fortran passes by reference, or a structure that C does.
///
/// # Safety
/// Unless null, the pointer can be read.
pub unsafe fn scalar<T: Copy>(argument: &'static str, pointer: *const T) -> Result<T> {
    if pointer.is_null() {
        return Err(Error::NullArgument { argument });
    }
    // SAFETY: the pointer is not null, so the caller promises that it can be read.
    Ok(unsafe { pointer.read_unaligned() })
}

/// Checks a count of the caller, which must not be negative.
pub fn count(what: &'static str, value: c_int) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::BadCount {
        what,
        value: i64::from(value),
        allowed: format!("0 to {}", c_int::MAX),
    })
}

/// Checks an address of the caller, which must not be negative.
pub fn address(value: c_int) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::BadAddress { address: i64::from(value) })
}
