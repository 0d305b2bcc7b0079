//! Arrays of callers of pair interactions, of rows of numbers of any type.

use std::os::raw::c_void;
use std::ptr;

use kyoho_core::{Error, Result};
use kyoho_language::blocks;
use kyoho_language::number::Number;
use kyoho_language::types::{Scalar, Type};
use kyoho_pairs::{DeviceRows, MAX_BODIES, Rows};

use super::kyoho_number_type;
use super::structures::{bad_field, kyoho_cuda, require_unused};

/// The types in the order of their numbers, which begin with 1.
const TYPES: [Scalar; 6] = [Scalar::F32, Scalar::F64, Scalar::Ff, Scalar::Dd, Scalar::I32, Scalar::U32];

/// Returns the type with a number of `kyoho_number_type`.
fn scalar(argument: &'static str, number: kyoho_number_type) -> Result<Scalar> {
    let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    let found = place.and_then(|place| TYPES.get(place)).copied();
    found.ok_or_else(|| bad_field(argument, number, "1 (F32), 2 (F64), 3 (FF), 4 (DD), 5 (I32), 6 (U32)"))
}

/// Returns the number of `kyoho_number_type` of a type; 0 of conditions, which no array has.
pub fn number_of_type(scalar: Scalar) -> kyoho_number_type {
    TYPES.iter().position(|known| *known == scalar).map_or(0, |place| place as i32 + 1)
}

/// Rows of numbers of a caller.
pub struct CallersRows {
    data: *mut u8,
    stride: isize,
    scalar: Scalar,
    of: Type,
    count: usize,
}

impl CallersRows {
    /// Takes an array, whose `name` is for errors.
    ///
    /// # Safety
    /// The array has so many rows of a width, each of numbers of a type.
    pub unsafe fn new(
        name: &str,
        number_type: kyoho_number_type,
        data: *const c_void,
        stride: i64,
        count: i64,
        of: Type,
    ) -> Result<CallersRows> {
        let scalar = scalar("type", number_type)?;
        let rows = usize::try_from(count).ok().filter(|rows| *rows <= MAX_BODIES).ok_or_else(|| Error::BadList {
            what: format!("the length of {name}"),
            value: count,
            allowed: format!("0 to {MAX_BODIES}"),
        })?;
        if data.is_null() && rows > 0 {
            return Err(Error::NullArgument { argument: "data" });
        }
        let packed = (scalar.size() * of.width) as i64;
        let stride = match stride {
            0 => packed,
            stride if stride.unsigned_abs() < packed as u64 => {
                return Err(Error::BadOption {
                    name: format!("the stride of {name}"),
                    value: stride.to_string(),
                    allowed: format!("0 for packed rows, or a distance of at least {packed} bytes"),
                });
            }
            stride => stride,
        };
        Ok(CallersRows { data: data.cast_mut().cast(), stride: stride as isize, scalar, of, count: rows })
    }

    fn place(&self, row: usize, component: usize) -> *mut u8 {
        let row = self.data.wrapping_offset(self.stride.wrapping_mul(row as isize));
        row.wrapping_add(component * self.scalar.size())
    }

    /// Writes a number in the type of the array.
    ///
    /// # Safety
    /// The array can be written at this place.
    pub unsafe fn write(&self, row: usize, component: usize, number: Number) {
        let (_, high, low) = Number::of(self.scalar, number.widened()).bits();
        let limbs = self.scalar.limbs();
        let size = self.scalar.size() / limbs;
        for (limb, bits) in [high, low].into_iter().take(limbs).enumerate() {
            let to = self.place(row, component).wrapping_add(limb * size);
            // SAFETY: the caller's promise; bytes need no alignment.
            unsafe { ptr::copy_nonoverlapping(bits.to_ne_bytes().as_ptr(), to, size) };
        }
    }
}

impl Rows for CallersRows {
    fn scalar(&self) -> Scalar {
        self.scalar
    }

    fn count(&self) -> usize {
        self.count
    }

    fn number(&self, row: usize, component: usize) -> Number {
        debug_assert!(row < self.count && component < self.of.width);
        let limbs = self.scalar.limbs();
        let size = self.scalar.size() / limbs;
        let mut bits = [0; 2];
        for (limb, bits) in bits.iter_mut().take(limbs).enumerate() {
            let mut bytes = [0; 8];
            let from = self.place(row, component).wrapping_add(limb * size);
            // SAFETY: `new` was promised so many rows; bytes need no alignment.
            unsafe { ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), size) };
            *bits = u64::from_ne_bytes(bytes);
        }
        blocks::number(self.scalar, bits)
    }
}

/// Returns an array of the caller on a device, and the type of its numbers.
///
/// # Safety
/// `cuda` is null or points to a structure.
pub unsafe fn device_rows(
    name: &str,
    (number_type, of): (kyoho_number_type, Type),
    (data, stride, count): (*const c_void, i64, i64),
    cuda: *const kyoho_cuda,
) -> Result<(Scalar, DeviceRows)> {
    if cuda.is_null() {
        return Err(Error::NullArgument { argument: "cuda" });
    }
    // SAFETY: not null, hence a structure; it may have any alignment.
    let cuda = unsafe { cuda.read_unaligned() };
    require_unused("cuda", cuda.reserved)?;
    if stride < 0 {
        return Err(Error::BadOption {
            name: format!("the stride of {name}"),
            value: stride.to_string(),
            allowed: "0 for packed rows, or a positive distance on a device".into(),
        });
    }
    // SAFETY: nothing is read through it here.
    let rows = unsafe { CallersRows::new(name, number_type, data, stride, count, of) }?;
    let (address, stride) = (data.addr() as u64, rows.stride as u64);
    let stream = cuda.stream.addr() as u64;
    Ok((rows.scalar, DeviceRows { address, stride, count: rows.count, device: cuda.device, stream }))
}
