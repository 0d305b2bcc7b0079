//! Numbers of about 106 bits, which are unevaluated sums of two doubles (Dekker 1971, Numerische
//! Mathematik 18, 224).

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::reference::real::Real;

/// The sum of two numbers, the second at most half a unit in the last place of the first.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct DoubleDouble {
    high: f64,
    low: f64,
}

/// Returns a sum and its rounding error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// Returns a product and its rounding error.
fn two_prod(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// Returns a sum as [`two_sum`] does, for `|a| >= |b|` or a zero.
fn join(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    DoubleDouble { high, low: b - (high - a) }
}

impl DoubleDouble {
    /// Returns the high and the low limb.
    pub fn parts(self) -> (f64, f64) {
        (self.high, self.low)
    }
}

impl Add for DoubleDouble {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (high, error) = two_sum(self.high, other.high);
        let (low, rest) = two_sum(self.low, other.low);
        let sum = join(high, error + low);
        join(sum.high, sum.low + rest)
    }
}

impl Neg for DoubleDouble {
    type Output = Self;

    fn neg(self) -> Self {
        DoubleDouble { high: -self.high, low: -self.low }
    }
}

impl Sub for DoubleDouble {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for DoubleDouble {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let (product, error) = two_prod(self.high, other.high);
        join(product, error + (self.high * other.low + self.low * other.high))
    }
}

impl Div for DoubleDouble {
    type Output = Self;

    /// Divides by long division with three digits of 53 bits.
    fn div(self, other: Self) -> Self {
        let digit = |rest: DoubleDouble| DoubleDouble::from_f64(rest.high / other.high);
        let first = digit(self);
        let rest = self - other * first;
        let second = digit(rest);
        let third = digit(rest - other * second);
        first + second + third
    }
}

impl Real for DoubleDouble {
    fn from_f64(value: f64) -> Self {
        DoubleDouble { high: value, low: 0.0 }
    }

    fn to_f64(self) -> f64 {
        self.high + self.low
    }

    /// Takes one step of Newton's method from the root of the high limb.
    fn sqrt(self) -> Self {
        if self.high <= 0.0 {
            return DoubleDouble::from_f64(self.high.sqrt());
        }
        let root = DoubleDouble::from_f64(self.high.sqrt());
        let rest = self - root * root;
        root + rest / (root + root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: f64) -> DoubleDouble {
        DoubleDouble::from_f64(value)
    }

    fn assert_close(a: DoubleDouble, b: DoubleDouble) {
        let error = ((a - b) / b).to_f64().abs();
        assert!(error < 1e-31, "{a:?} and {b:?} differ by {error:e}");
    }

    #[test]
    fn sums_keep_what_64_bits_lose() {
        let sum = number(1.0) + number(1e-25);
        assert_eq!(sum.parts(), (1.0, 1e-25));
        assert_eq!((sum - number(1.0)).to_f64(), 1e-25);
        assert_eq!((number(1e16) + number(1.0) - number(1e16)).to_f64(), 1.0);
    }

    #[test]
    fn products_are_exact_where_they_fit() {
        let number = number(1.0 + f64::EPSILON);
        let square = number * number;
        assert_eq!(square.parts(), (1.0 + 2.0 * f64::EPSILON, f64::EPSILON * f64::EPSILON));
    }

    #[test]
    fn quotients_and_roots_undo_products() {
        for (a, b) in [(1.0, 3.0), (2.0, 7e-20), (1e100, 1.0 / 3.0), (-5.0, 1e-100)] {
            assert_close(number(a) / number(b) * number(b), number(a));
        }
        for a in [2.0, 3e-30, 1e200, 1.0 / 3.0] {
            assert_close(number(a).sqrt() * number(a).sqrt(), number(a));
        }
        assert_eq!(number(0.0).sqrt(), number(0.0));
    }

    #[test]
    fn the_root_of_two_has_32_digits() {
        let digits = number(std::f64::consts::SQRT_2) + number(-9.667293313452913e-17);
        assert_close(number(2.0).sqrt(), digits);
    }

    #[test]
    fn order_is_that_of_the_sums() {
        assert!(number(1.0) + number(1e-20) > number(1.0));
        assert!(number(1.0) - number(1e-20) < number(1.0));
        assert!(-number(1.0) < number(0.0));
    }
}
