//! Numbers of all types as columns, rows and loops have them.

use super::{Bits, LANES};
use crate::number::Number;
use crate::types::Scalar;
use kyoho_laws::double_double::{Double, DoubleDouble, DoubleSingle, Limb};

/// Returns the bits of a number.
pub fn bits(number: Number) -> Bits {
    match number {
        // A condition is a word of ones.
        Number::Bool(value) => [u64::from(mask(value)), 0],
        other => {
            let (_, high, low) = other.bits();
            [high, low]
        }
    }
}

/// Returns the number of a type with these bits.
pub fn number(scalar: Scalar, bits: Bits) -> Number {
    match scalar {
        Scalar::Bool => Number::Bool(bits[0] != 0),
        Scalar::I32 => Number::I32(i32::of(bits)),
        Scalar::U32 => Number::U32(u32::of(bits)),
        Scalar::F32 => Number::F32(f32::of(bits)),
        Scalar::Ff => Number::Ff(DoubleSingle::of(bits)),
        Scalar::F64 => Number::F64(f64::of(bits)),
        Scalar::Dd => Number::Dd(DoubleDouble::of(bits)),
    }
}

#[inline(always)]
pub(super) fn mask(value: bool) -> u32 {
    0u32.wrapping_sub(u32::from(value))
}

/// A number that columns have.
pub(super) trait Cell: Copy {
    /// The numbers of a block.
    type Lanes;
    fn get(lanes: &Self::Lanes, lane: usize) -> Self;
    fn set(lanes: &mut Self::Lanes, lane: usize, value: Self);
    fn of(bits: Bits) -> Self;
}

macro_rules! cell {
    ($type:ty, $of:expr) => {
        impl Cell for $type {
            type Lanes = [$type; LANES];
            #[inline(always)]
            fn get(lanes: &[$type; LANES], lane: usize) -> $type {
                lanes[lane]
            }
            #[inline(always)]
            fn set(lanes: &mut [$type; LANES], lane: usize, value: $type) {
                lanes[lane] = value;
            }
            #[inline(always)]
            fn of(bits: Bits) -> $type {
                $of(bits)
            }
        }
    };
    ($type:ty, two $limb:ty, $of:expr) => {
        impl Cell for $type {
            type Lanes = [[$limb; LANES]; 2];
            #[inline(always)]
            fn get([high, low]: &Self::Lanes, lane: usize) -> $type {
                Double { high: high[lane], low: low[lane] }
            }
            #[inline(always)]
            fn set([high, low]: &mut Self::Lanes, lane: usize, value: $type) {
                high[lane] = value.high;
                low[lane] = value.low;
            }
            #[inline(always)]
            fn of(bits: Bits) -> $type {
                $of(bits)
            }
        }
    };
}

cell!(u32, |bits: Bits| bits[0] as u32);
cell!(i32, |bits: Bits| bits[0] as u32 as i32);
cell!(f32, |bits: Bits| f32::from_bits(bits[0] as u32));
cell!(f64, |bits: Bits| f64::from_bits(bits[0]));
cell!(DoubleSingle, two f32, |bits: Bits| {
    let [high, low] = bits.map(|bits| f32::from_bits(bits as u32));
    Double { high, low }
});
cell!(DoubleDouble, two f64, |bits: Bits| {
    let [high, low] = bits.map(f64::from_bits);
    Double { high, low }
});

/// Integers, which begin again behind their ends.
pub(super) trait Whole: Ord + Default {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
}

macro_rules! whole {
    ($type:ty, $abs:expr) => {
        impl Whole for $type {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $abs(self)
            }
        }
    };
}

whole!(i32, i32::wrapping_abs);
whole!(u32, |number| number);

/// Numbers of two limbs.
pub(super) trait Limbs {
    type Limb: Cell + std::ops::Neg<Output = Self::Limb>;
    fn add_limb(self, other: Self::Limb) -> Self;
    fn mul_limb(self, other: Self::Limb) -> Self;
}

impl<T: Limb + Cell> Limbs for Double<T> {
    type Limb = T;
    #[inline(always)]
    fn add_limb(self, other: T) -> Self {
        Double::add_limb(self, other)
    }
    #[inline(always)]
    fn mul_limb(self, other: T) -> Self {
        Double::mul_limb(self, other)
    }
}

/// Numbers as memory holds them.
pub(super) trait ToBits {
    fn to_number(self) -> Number;
}

macro_rules! to_bits {
    ($($type:ty, $case:ident;)*) => {$(
        impl ToBits for $type {
            #[inline(always)]
            fn to_number(self) -> Number {
                Number::$case(self)
            }
        }
    )*};
}

to_bits! {
    i32, I32;
    u32, U32;
    f32, F32;
    f64, F64;
    DoubleSingle, Ff;
    DoubleDouble, Dd;
}
