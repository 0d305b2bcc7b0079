//! Vectors of numbers: the operations that laws need, whatever the width, precision and instruction
//! set.

use std::ops::{Add, Mul, Sub};

/// The largest number of lanes of a vector.
pub const MAX_LANES: usize = 16;

/// The number in a lane.
pub trait Element: Copy + Send + Sync + bytemuck::Pod + PartialOrd + 'static {
    /// Infinity.
    const INFINITY: Self;
    /// Returns the nearest number to this one.
    fn from_f64(value: f64) -> Self;
    /// Returns this number, exactly.
    fn to_f64(self) -> f64;
    /// Stores the nearest numbers to some lanes and returns what rounding lost.
    ///
    /// # Safety
    /// `to` points to as many numbers as there are lanes.
    unsafe fn store_nearest<L: Wide>(lanes: L, to: *mut Self) -> L;
}

macro_rules! element {
    ($type:ty, $store_nearest:ident) => {
        impl Element for $type {
            const INFINITY: Self = <$type>::INFINITY;
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $type
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            unsafe fn store_nearest<L: Wide>(lanes: L, to: *mut Self) -> L {
                // SAFETY: the caller's promise.
                unsafe { lanes.$store_nearest(to) }
            }
        }
    };
}

element!(f32, store_32);
element!(f64, store_64);

/// A vector of numbers.
///
/// # Safety of the implementations
///
/// A vector of an instruction set is only made inside a function that runs on CPUs which have it,
/// since kernels are handed out for detected instruction sets alone. The arithmetic may therefore
/// use the intrinsics.
pub trait Lanes: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// The number in a lane.
    type Element: Element;
    /// A truth value for each lane.
    type Mask: Copy;
    /// An index for each lane.
    type Index: Copy;
    /// The number of lanes.
    const COUNT: usize;
    /// Whether the registers are so few that the loop over a tile works in blocks.
    const IN_BLOCKS: bool;
    /// Whether the steps of an expansion are unrolled into straight-line code.
    const UNROLLS: bool;

    /// Returns a vector with this number in every lane.
    fn splat(value: Self::Element) -> Self;
    /// Loads lanes from memory.
    ///
    /// # Safety
    /// `from` points to `COUNT` numbers and is a multiple of the size of one in bytes.
    unsafe fn load(from: *const Self::Element) -> Self;
    /// Loads four neighbouring numbers of each of some rows, a row in each lane, and returns the
    /// first ones, the second ones and so on.
    ///
    /// # Safety
    /// `rows` points to `COUNT` pointers to four numbers each.
    unsafe fn load_columns(rows: *const *const Self::Element) -> [Self; 4];
    /// Stores lanes to memory.
    ///
    /// # Safety
    /// As for [`Lanes::load`].
    unsafe fn store(self, to: *mut Self::Element);
    /// Adds each lane to a sum in doubles.
    ///
    /// # Safety
    /// `sums` points to `COUNT` numbers.
    unsafe fn add_to(self, sums: *mut f64);

    /// Returns `self * factor + term`.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    /// Returns `term - self * factor`.
    fn neg_mul_add(self, factor: Self, term: Self) -> Self;
    /// Returns `1 / sqrt(self)` to the last bits, for normal numbers above zero.
    fn inverse_sqrt(self) -> Self;

    /// Returns a mask that is true where this is a normal number above zero.
    fn positive(self) -> Self::Mask;
    /// Returns a mask that is true where this is less than the other.
    fn less(self, other: Self) -> Self::Mask;
    /// Returns the smaller number, and the other one where this is none.
    fn min(self, other: Self) -> Self;
    /// Returns a mask that is true where both are true.
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Returns a bit for each lane, the lowest for the first, which is one where the mask is true.
    fn bits(mask: Self::Mask) -> u32;
    /// Returns `yes` where the mask is true, and `no` elsewhere.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Returns this where the mask is true, and zero elsewhere.
    fn keep(self, mask: Self::Mask) -> Self;

    /// Returns indices with this one in every lane.
    fn index_splat(index: i32) -> Self::Index;
    /// Loads indices from memory.
    ///
    /// # Safety
    /// `from` points to `COUNT` indices.
    unsafe fn index_load(from: *const i32) -> Self::Index;
    /// Stores indices to memory.
    ///
    /// # Safety
    /// `to` points to `COUNT` indices.
    unsafe fn index_store(index: Self::Index, to: *mut i32);
    /// Returns `yes` where the mask is true, and `no` elsewhere.
    fn index_select(mask: Self::Mask, yes: Self::Index, no: Self::Index) -> Self::Index;
    /// Returns a mask that is true where two indices differ.
    fn differ(a: Self::Index, b: Self::Index) -> Self::Mask;
}

/// A vector of doubles, which may be stored in single precision.
pub trait Wide: Lanes<Element = f64> {
    /// Stores the nearest numbers of single precision and returns what rounding lost.
    ///
    /// # Safety
    /// `to` points to `COUNT` numbers.
    unsafe fn store_32(self, to: *mut f32) -> Self;
    /// Stores the doubles and returns zeros, since nothing is lost.
    ///
    /// # Safety
    /// `to` points to `COUNT` numbers.
    unsafe fn store_64(self, to: *mut f64) -> Self {
        // SAFETY: the caller's promise.
        unsafe { self.store(to) };
        Self::splat(0.0)
    }
}
