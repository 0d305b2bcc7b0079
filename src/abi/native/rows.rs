//! The caller's arrays: rows of numbers a fixed number of bytes apart, at any alignment, which may
//! overlap.

use std::marker::PhantomData;
use std::ops::Range;

use crate::abi::arrays::CallerPtr;
use kyoho_core::{BodyColumns, DeviceArray, DeviceBodies, DevicePlace, Error, Interaction, Result};
use kyoho_laws::double_double::DoubleDouble;

use super::structures::{
    kyoho_const_integers, kyoho_const_long_integers, kyoho_const_reals, kyoho_integers, kyoho_long_integers,
    kyoho_reals,
};

/// An array of the interface.
pub trait Array: Copy {
    /// The type of its numbers.
    type Number: Copy;

    /// Returns its first number, and the number of bytes from one row to the next.
    fn place(self) -> (*const Self::Number, i64);
}

macro_rules! arrays {
    ($($array:ident of $number:ty,)*) => {$(
        impl Array for $array {
            type Number = $number;

            fn place(self) -> (*const $number, i64) {
                (self.data.cast(), self.stride)
            }
        }
    )*};
}

arrays! {
    kyoho_const_reals of f64,
    kyoho_reals of f64,
    kyoho_const_integers of i32,
    kyoho_const_long_integers of i64,
    kyoho_integers of i32,
    kyoho_long_integers of i64,
}

/// Real numbers of arrays.
pub trait Real: Copy + Default {
    /// Whether they are two doubles each.
    const IN_LIMBS: bool;
    /// Returns the number as one of two doubles.
    fn in_limbs(self) -> DoubleDouble;
}

impl Real for f64 {
    const IN_LIMBS: bool = false;
    fn in_limbs(self) -> DoubleDouble {
        DoubleDouble::from_limb(self)
    }
}

impl Real for DoubleDouble {
    const IN_LIMBS: bool = true;
    fn in_limbs(self) -> DoubleDouble {
        self
    }
}

/// An array of doubles that is read as numbers of another type: numbers of two doubles.
#[derive(Clone, Copy)]
pub struct Read<A, T>(A, PhantomData<T>);

/// Returns an array of doubles as one of numbers of another type, which doubles make.
pub fn read_as<T: Copy, A: Array<Number = f64>>(array: A) -> Read<A, T> {
    Read(array, PhantomData)
}

impl<A: Array, T: Copy> Array for Read<A, T> {
    type Number = T;

    fn place(self) -> (*const T, i64) {
        let (first, stride) = self.0.place();
        (first.cast(), stride)
    }
}

/// The place of the first row of an array, and the distance of the rows.
///
/// Arrays that are written may be the same memory, so there are no references to them.
#[derive(Clone, Copy)]
pub struct Rows<T, const N: usize> {
    name: &'static str,
    first: CallerPtr<T>,
    stride: isize,
}

/// The bytes of the rows of an array.
#[derive(Debug, Clone, Copy)]
pub struct Lane {
    first: usize,
    stride: isize,
    width: usize,
}

impl Lane {
    /// Whether two arrays of so many rows have no byte in common: one ends before the other begins,
    /// or their rows are as far apart and lie beside one another.
    pub fn is_apart_from(&self, other: &Lane, rows: usize) -> bool {
        let (own, others) = (self.extent(rows), other.extent(rows));
        if own.end <= others.start || others.end <= own.start {
            return true;
        }
        let stride = self.stride.unsigned_abs();
        let (low, high) = if self.first < other.first { (self, other) } else { (other, self) };
        let place = (high.first - low.first) % stride;
        self.stride == other.stride && place >= low.width && place + high.width <= stride
    }

    /// Returns the addresses from the first byte to behind the last one.
    fn extent(&self, rows: usize) -> Range<usize> {
        let reach = self.stride.saturating_mul(rows.saturating_sub(1) as isize);
        let last = self.first.saturating_add_signed(reach);
        self.first.min(last)..self.first.max(last).saturating_add(self.width)
    }
}

impl<T: Copy, const N: usize> Rows<T, N> {
    /// Takes an array that may be null.
    pub fn optional(name: &'static str, array: impl Array<Number = T>) -> Result<Option<Rows<T, N>>> {
        let (first, stride) = array.place();
        let packed = size_of::<[T; N]>() as i64;
        if first.is_null() {
            return Ok(None);
        }
        let first = CallerPtr(first.cast_mut());
        match stride {
            0 => Ok(Some(Rows { name, first, stride: packed as isize })),
            // The caller has probably counted elements instead of bytes if rows overlap.
            stride if stride.unsigned_abs() < packed as u64 => Err(Error::BadOption {
                name: format!("{name}.stride"),
                value: stride.to_string(),
                allowed: format!("0 for packed rows, or a distance of at least {packed} bytes"),
            }),
            stride => Ok(Some(Rows { name, first, stride: stride as isize })),
        }
    }

    /// Takes an array that may be null only if it has no rows.
    pub fn required(name: &'static str, array: impl Array<Number = T>, rows: usize) -> Result<Option<Rows<T, N>>> {
        if array.place().0.is_null() && rows > 0 {
            return Err(Error::NullArgument { argument: name });
        }
        Rows::optional(name, array)
    }

    /// # Safety
    /// The array has more than `row` rows that can be read, and no thread writes them.
    pub unsafe fn read(&self, row: usize) -> [T; N] {
        // SAFETY: the caller's promise; rows need no alignment.
        unsafe { self.row(row).read_unaligned() }
    }

    /// # Safety
    /// The array has more than `row` rows that can be written, and no other thread reads or writes
    /// them.
    pub unsafe fn write(&self, row: usize, values: [T; N]) {
        // SAFETY: the caller's promise; rows need no alignment.
        unsafe { self.row(row).write_unaligned(values) }
    }

    /// Returns the array as one on a device, where its numbers have to be aligned.
    pub fn on_device(&self) -> Result<DeviceArray> {
        let (address, number) = (self.first.0.addr(), size_of::<T>());
        if !address.is_multiple_of(number) || !self.stride.unsigned_abs().is_multiple_of(number) {
            return Err(Error::BadOption {
                name: self.name.into(),
                value: format!("{address:#x}, stride {}", self.stride),
                allowed: format!("multiples of {number} in device memory"),
            });
        }
        let (address, stride) = (address as u64, self.stride as i64);
        Ok(DeviceArray { name: self.name, address, stride, width: size_of::<[T; N]>() })
    }

    /// Returns the same rows in a copy of their memory, in which the first row is at this place.
    pub fn copied(&self, copy: &[u8], first: usize) -> Rows<T, N> {
        Rows { first: CallerPtr(copy.as_ptr().wrapping_add(first).cast_mut().cast()), ..*self }
    }

    /// Returns the bytes that the rows have.
    pub fn lane(&self) -> Lane {
        Lane { first: self.first.0.addr(), stride: self.stride, width: size_of::<[T; N]>() }
    }

    /// Copies the rows from `first` on.
    ///
    /// # Safety
    /// The array has as many rows from there on, and no thread writes them.
    pub unsafe fn copy(&self, first: usize, to: &mut [[T; N]]) {
        if self.stride == size_of::<[T; N]>() as isize {
            let from = self.row(first).cast::<u8>();
            // SAFETY: the caller's promise; bytes need no alignment, and nobody else has `to`.
            unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr().cast(), size_of_val(to)) };
        } else {
            // SAFETY: the caller's promise.
            to.iter_mut().enumerate().for_each(|(row, to)| *to = unsafe { self.read(first + row) });
        }
    }

    /// Returns a function that copies the numbers of the rows from a row on.
    ///
    /// # Safety
    /// Whoever calls it asks for rows of the array, and no thread writes them then.
    pub unsafe fn copier(self) -> impl Fn(usize, &mut [T]) + Sync {
        // SAFETY: the caller's promise.
        move |first, to| unsafe { self.copy(first, to.as_chunks_mut().0) }
    }

    fn row(&self, row: usize) -> *mut [T; N] {
        self.first.0.wrapping_byte_offset(self.stride.wrapping_mul(row as isize)).cast()
    }
}

/// The arrays of sources or sinks of a caller, of doubles or of two doubles for each number.
pub type BodyRows<T = f64> = BodyColumns<Rows<T, 1>, Rows<i32, 1>, Rows<T, 3>>;

/// Returns arrays of bodies as arrays on a device, if they lie on one.
pub fn bodies_on_device(place: Option<DevicePlace>, rows: &BodyRows) -> Result<Option<DeviceBodies>> {
    let Some(place) = place else { return Ok(None) };
    let columns = rows.try_map(|rows| rows.on_device(), |rows| rows.on_device(), |rows| rows.on_device())?;
    Ok(Some(DeviceBodies { place, columns }))
}

/// Returns an array as one on a device.
pub fn on_device<T: Copy, const N: usize>(array: Option<Rows<T, N>>) -> Result<Option<DeviceArray>> {
    array.map(|rows| rows.on_device()).transpose()
}

/// Takes arrays of vectors to be written, each with its name. Those of vectors that the order does
/// not have must be null.
pub fn filled<T: Copy, const N: usize>(
    interaction: &Interaction,
    arrays: [(&'static str, kyoho_reals); N],
) -> Result<[Option<Rows<T, 3>>; N]> {
    let mut filled = [None; N];
    for (place, (name, array)) in arrays.into_iter().enumerate() {
        require_null_unless(place < interaction.n_derivatives, interaction, name, array)?;
        filled[place] = Rows::optional(name, read_as(array))?;
    }
    Ok(filled)
}

/// Returns an error if the caller gives an array for which the interaction has no results.
pub fn require_null_unless(has: bool, interaction: &Interaction, name: &str, array: impl Array) -> Result<()> {
    if has || array.place().0.is_null() {
        return Ok(());
    }
    let scope = if interaction.is_regular() { "regular forces of " } else { "" };
    Err(Error::BadOption {
        name: name.into(),
        value: "an array".into(),
        allowed: format!("NULL in a system of {scope}order {}, which has none", interaction.order as i32),
    })
}

/// Returns an element of an array, or the given value if the array is null.
///
/// # Safety
/// The array is null or has more than `row` elements that can be read.
pub unsafe fn element<T: Copy>(array: Option<Rows<T, 1>>, row: usize, otherwise: T) -> T {
    // SAFETY: the caller's promise.
    array.map_or(otherwise, |rows| unsafe { rows.read(row) }[0])
}

/// Returns a row of an array, or zero if the array is null.
///
/// # Safety
/// The array is null or has more than `row` rows that can be read.
pub unsafe fn vector<T: Copy + Default>(array: Option<Rows<T, 3>>, row: usize) -> [T; 3] {
    // SAFETY: the caller's promise.
    array.map_or([T::default(); 3], |rows| unsafe { rows.read(row) })
}

/// Copies the numbers of the rows from `first` on.
///
/// # Safety
/// The array is null or has as many rows from there on.
pub unsafe fn copy_into<T: Copy, const N: usize>(array: Option<Rows<T, N>>, first: usize, to: &mut [T]) {
    if let Some(rows) = array {
        // SAFETY: the caller's promise.
        unsafe { rows.copy(first, to.as_chunks_mut().0) }
    }
}

/// Writes a row of an array unless the array is null.
///
/// # Safety
/// The array is null or has more than `row` rows that can be written.
pub unsafe fn put<T: Copy, const N: usize>(array: Option<Rows<T, N>>, row: usize, values: [T; N]) {
    if let Some(rows) = array {
        // SAFETY: the caller's promise.
        unsafe { rows.write(row, values) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_apart_if_no_row_of_one_shares_a_byte_with_one_of_the_other() {
        let lane = |first, stride, width| Lane { first, stride, width };
        let apart = |a: Lane, b: Lane| {
            assert_eq!(a.is_apart_from(&b, 10), b.is_apart_from(&a, 10));
            a.is_apart_from(&b, 10)
        };
        assert!(apart(lane(1000, 24, 24), lane(1240, 8, 8)), "one behind the other");
        assert!(!apart(lane(1000, 24, 24), lane(1232, 8, 8)), "the last row begins there");
        assert!(apart(lane(1000, 80, 24), lane(1024, 80, 24)), "fields of a structure");
        assert!(apart(lane(1000, 80, 24), lane(1800 - 56, 80, 24)), "fields of a structure, rows later");
        assert!(!apart(lane(1000, 80, 24), lane(1016, 80, 24)));
        assert!(!apart(lane(1000, 80, 24), lane(1064, 80, 24)), "the next row");
        assert!(!apart(lane(1000, 24, 24), lane(1000, 24, 24)), "one array twice");
        assert!(apart(lane(1000, -24, 24), lane(1024, 24, 24)), "one runs down");
        assert!(!apart(lane(1000, -24, 24), lane(1000, 24, 24)));
    }
}
