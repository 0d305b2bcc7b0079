//! The functions of the language on one number of each type. Blocks of numbers are computed by
//! these too, so that a value has the same bits wherever it is computed.

use kyoho_laws::double_double::{Double, DoubleDouble, DoubleSingle};

/// A number of one of the types of texts.
pub trait Real: Copy + PartialOrd {
    /// Zero.
    const ZERO: Self;
    /// Returns a sum.
    fn add(self, other: Self) -> Self;
    /// Returns a difference.
    fn sub(self, other: Self) -> Self;
    /// Returns a product.
    fn mul(self, other: Self) -> Self;
    /// Returns a quotient.
    fn div(self, other: Self) -> Self;
    /// Returns the negative number.
    fn neg(self) -> Self;
    /// Returns the absolute value.
    fn abs(self) -> Self;
    /// Returns the greatest integer that is not greater.
    fn floor(self) -> Self;
    /// Returns the square root.
    fn sqrt(self) -> Self;
    /// Returns the inverse of the square root.
    fn rsqrt(self) -> Self;
    /// Returns the exponential function.
    fn exp(self) -> Self;
    /// Returns the natural logarithm.
    fn log(self) -> Self;
    /// Returns a power.
    fn pow(self, exponent: Self) -> Self;
    /// Returns the sine.
    fn sin(self) -> Self;
    /// Returns the cosine.
    fn cos(self) -> Self;
    /// Returns the error function.
    fn erf(self) -> Self;
    /// Returns the smaller number, and this one where the other is none.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if other < self { other } else { self }
    }
    /// Returns the greater number, and this one where the other is none.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
    /// Returns `self * factor + term`, rounded once where the type has one limb.
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        self.mul(factor).add(term)
    }
}

macro_rules! single_limb {
    ($type:ty, $erf:path) => {
        impl Real for $type {
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn neg(self) -> Self {
                -self
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$type>::abs(self)
            }
            #[inline(always)]
            fn floor(self) -> Self {
                <$type>::floor(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$type>::sqrt(self)
            }
            #[inline(always)]
            fn rsqrt(self) -> Self {
                1.0 / <$type>::sqrt(self)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                <$type>::exp(self)
            }
            #[inline(always)]
            fn log(self) -> Self {
                <$type>::ln(self)
            }
            #[inline(always)]
            fn pow(self, exponent: Self) -> Self {
                <$type>::powf(self, exponent)
            }
            #[inline(always)]
            fn sin(self) -> Self {
                <$type>::sin(self)
            }
            #[inline(always)]
            fn cos(self) -> Self {
                <$type>::cos(self)
            }
            #[inline(always)]
            fn erf(self) -> Self {
                $erf(self)
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                <$type>::mul_add(self, factor, term)
            }
        }
    };
}

single_limb!(f32, libm::erff);
single_limb!(f64, libm::erf);

/// Defines the functions of numbers of two limbs; `through` computes the long ones.
macro_rules! two_limbs {
    ($type:ty, $exp:expr, $log:expr, $pow:expr, $sin:expr, $cos:expr, $erf:expr) => {
        impl Real for $type {
            const ZERO: Self = Double::ZERO;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn neg(self) -> Self {
                -self
            }
            #[inline(always)]
            fn abs(self) -> Self {
                Double::abs(self)
            }
            #[inline(always)]
            fn floor(self) -> Self {
                Double::floor(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Double::sqrt(self)
            }
            #[inline(always)]
            fn rsqrt(self) -> Self {
                Double::rsqrt(self)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                $exp(self)
            }
            #[inline(always)]
            fn log(self) -> Self {
                $log(self)
            }
            #[inline(always)]
            fn pow(self, exponent: Self) -> Self {
                $pow(self, exponent)
            }
            #[inline(always)]
            fn sin(self) -> Self {
                $sin(self)
            }
            #[inline(always)]
            fn cos(self) -> Self {
                $cos(self)
            }
            #[inline(always)]
            fn erf(self) -> Self {
                $erf(self)
            }
        }
    };
}

two_limbs!(
    DoubleDouble,
    DoubleDouble::exp,
    DoubleDouble::log,
    DoubleDouble::pow,
    DoubleDouble::sin,
    DoubleDouble::cos,
    DoubleDouble::erf
);

/// Computes a function of two numbers of single precision in doubles, which have more digits.
macro_rules! in_doubles {
    ($function:expr) => {
        |number: DoubleSingle| single(($function)(double(number)))
    };
}

two_limbs!(
    DoubleSingle,
    in_doubles!(f64::exp),
    in_doubles!(f64::ln),
    |number: DoubleSingle, exponent: DoubleSingle| single(double(number).powf(double(exponent))),
    in_doubles!(f64::sin),
    in_doubles!(f64::cos),
    in_doubles!(libm::erf)
);

#[inline(always)]
fn double(number: DoubleSingle) -> f64 {
    f64::from(number.high) + f64::from(number.low)
}

#[inline(always)]
fn single(number: f64) -> DoubleSingle {
    let high = number as f32;
    let low = if high.is_finite() { (number - f64::from(high)) as f32 } else { 0.0 };
    Double { high, low }
}

/// A number that can be one of any other type.
pub trait Convert: Copy {
    /// Returns this number, exactly.
    fn widened(self) -> DoubleDouble;
    /// Returns the nearest number; integers are cut off at the point and at the ends of the range.
    fn nearest(number: DoubleDouble) -> Self;
}

macro_rules! convert {
    ($type:ty, $to:expr, $from:expr) => {
        impl Convert for $type {
            #[inline(always)]
            fn widened(self) -> DoubleDouble {
                $to(self)
            }
            #[inline(always)]
            fn nearest(number: DoubleDouble) -> Self {
                $from(number)
            }
        }
    };
}

convert!(f32, |number| Double::from_limb(f64::from(number)), |number: DoubleDouble| number.to_f64() as f32);
convert!(f64, Double::from_limb, |number: DoubleDouble| number.high);
convert!(DoubleDouble, |number| number, |number| number);
convert!(
    DoubleSingle,
    |number: DoubleSingle| match number.high.is_finite() {
        true => kyoho_laws::double_double::two_sum(f64::from(number.high), f64::from(number.low)),
        false => Double::from_limb(f64::from(number.high)),
    },
    |number: DoubleDouble| {
        let high = number.high as f32;
        let low = ((number.high - f64::from(high)) + number.low) as f32;
        Double { high, low: if low.is_finite() { low } else { 0.0 } }
    }
);
convert!(i32, |number| Double::from_limb(f64::from(number)), |number: DoubleDouble| whole(number) as i32);
convert!(u32, |number| Double::from_limb(f64::from(number)), |number: DoubleDouble| whole(number) as u32);

/// Returns a number without the digits behind the point.
#[inline(always)]
fn whole(number: DoubleDouble) -> f64 {
    if !number.high.is_finite() {
        return number.high;
    }
    let below = Double::floor(number.abs()).to_f64();
    if number.high < 0.0 { -below } else { below }
}
