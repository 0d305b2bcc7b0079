//! Vectors as plain arrays, for CPUs that have no others here. The compiler turns them into the
//! vectors that the target has.

use std::ops::{Add, Mul, Sub};

use crate::lanes::{Element, Lanes, Wide};

const LANES_32: usize = 8;
const LANES_64: usize = 4;

/// Numbers of 32 bits.
pub type F32 = Array<f32, LANES_32>;
/// Numbers of 64 bits.
pub type F64 = Array<f64, LANES_64>;

/// An array of numbers as a vector.
#[derive(Clone, Copy)]
pub struct Array<E, const N: usize>([E; N]);

/// Whether multiply-adds are fused. Without hardware for it, a fused one is a slow library call.
const FUSED: bool = cfg!(target_feature = "fma");

macro_rules! portable {
    ($element:ty, $count:expr) => {
        impl Array<$element, $count> {
            #[inline(always)]
            fn zip(self, other: Self, f: impl Fn($element, $element) -> $element) -> Self {
                Array(std::array::from_fn(|lane| f(self.0[lane], other.0[lane])))
            }
        }
        impl Add for Array<$element, $count> {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.zip(other, |a, b| a + b)
            }
        }
        impl Sub for Array<$element, $count> {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.zip(other, |a, b| a - b)
            }
        }
        impl Mul for Array<$element, $count> {
            type Output = Self;
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.zip(other, |a, b| a * b)
            }
        }
        impl Lanes for Array<$element, $count> {
            type Element = $element;
            type Mask = [bool; $count];
            type Index = [i32; $count];
            const COUNT: usize = $count;
            const IN_BLOCKS: bool = false;
            // A vector is several operations.
            const UNROLLS: bool = false;

            #[inline(always)]
            fn splat(value: $element) -> Self {
                Array([value; $count])
            }
            #[inline(always)]
            unsafe fn load(from: *const $element) -> Self {
                // SAFETY: the caller's promise; an array has the alignment of its element.
                unsafe { *from.cast() }
            }
            #[inline(always)]
            unsafe fn load_columns(rows: *const *const $element) -> [Self; 4] {
                // SAFETY: the caller's promise.
                let number = |lane: usize, column: usize| unsafe { *(*rows.add(lane)).add(column) };
                std::array::from_fn(|column| Array(std::array::from_fn(|lane| number(lane, column))))
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $element) {
                // SAFETY: as in `load`.
                unsafe { *to.cast() = self }
            }
            #[inline(always)]
            unsafe fn add_to(self, sums: *mut f64) {
                // SAFETY: as in `load`.
                let sums = unsafe { &mut *sums.cast::<[f64; $count]>() };
                for lane in 0..$count {
                    sums[lane] += self.0[lane].to_f64();
                }
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                Array(std::array::from_fn(|lane| {
                    if FUSED {
                        self.0[lane].mul_add(factor.0[lane], term.0[lane])
                    } else {
                        self.0[lane] * factor.0[lane] + term.0[lane]
                    }
                }))
            }
            #[inline(always)]
            fn neg_mul_add(self, factor: Self, term: Self) -> Self {
                Array(std::array::from_fn(|lane| {
                    if FUSED {
                        (-self.0[lane]).mul_add(factor.0[lane], term.0[lane])
                    } else {
                        term.0[lane] - self.0[lane] * factor.0[lane]
                    }
                }))
            }
            #[inline(always)]
            fn inverse_sqrt(self) -> Self {
                Array(self.0.map(|value| 1.0 / value.sqrt()))
            }
            #[inline(always)]
            fn positive(self) -> Self::Mask {
                self.0.map(|value| value >= <$element>::MIN_POSITIVE)
            }
            #[inline(always)]
            fn less(self, other: Self) -> Self::Mask {
                std::array::from_fn(|lane| self.0[lane] < other.0[lane])
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                self.zip(other, |a, b| if a < b { a } else { b })
            }
            #[inline(always)]
            fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
                std::array::from_fn(|lane| a[lane] & b[lane])
            }
            #[inline(always)]
            fn bits(mask: Self::Mask) -> u32 {
                mask.iter().rev().fold(0, |bits, is_true| bits << 1 | u32::from(*is_true))
            }
            #[inline(always)]
            fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
                Array(std::array::from_fn(|lane| if mask[lane] { yes.0[lane] } else { no.0[lane] }))
            }
            #[inline(always)]
            fn keep(self, mask: Self::Mask) -> Self {
                Self::select(mask, self, Self::splat(0.0))
            }
            #[inline(always)]
            fn index_splat(index: i32) -> Self::Index {
                [index; $count]
            }
            #[inline(always)]
            unsafe fn index_load(from: *const i32) -> Self::Index {
                // SAFETY: as in `load`.
                unsafe { *from.cast() }
            }
            #[inline(always)]
            unsafe fn index_store(index: Self::Index, to: *mut i32) {
                // SAFETY: as in `load`.
                unsafe { *to.cast() = index }
            }
            #[inline(always)]
            fn index_select(mask: Self::Mask, yes: Self::Index, no: Self::Index) -> Self::Index {
                std::array::from_fn(|lane| if mask[lane] { yes[lane] } else { no[lane] })
            }
            #[inline(always)]
            fn differ(a: Self::Index, b: Self::Index) -> Self::Mask {
                std::array::from_fn(|lane| a[lane] != b[lane])
            }
        }
    };
}

portable!(f32, LANES_32);
portable!(f64, LANES_64);

impl Wide for F64 {
    #[inline(always)]
    unsafe fn store_32(self, to: *mut f32) -> Self {
        let nearest = self.0.map(|value| value as f32);
        // SAFETY: the caller's promise; an array has the alignment of its element.
        unsafe { *to.cast() = nearest };
        self - Array(nearest.map(f64::from))
    }
}
