//! Numbers that are unevaluated sums of two, of about 106 bits (`dd`, of two doubles) or 48 bits
//! (`ff`, of two numbers of single precision).
//!
//! Sums, products and quotients are those of Joldes, Muller and Popescu (2017, ACM TOMS 44, 15),
//! whose bounds are given with `u = 2^-53` (`2^-24` for `ff`). Products need fused multiply-adds.

use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::LazyLock;

/// A number of which two make one of twice the digits.
///
/// Nothing here asks for the value of one, so that it may also stand for an operation of a kernel.
pub trait Limb:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// A half.
    const HALF: Self;
    /// Returns a number that is known.
    fn known(number: f64) -> Self;
    /// Returns `self * factor + term`, rounded once.
    fn fused(self, factor: Self, term: Self) -> Self;
    /// Returns the square root.
    fn root(self) -> Self;
    /// Returns about one over the square root.
    fn inverse_root(self) -> Self;
    /// Returns the greatest integer that is not greater.
    fn below(self) -> Self;
    /// Returns about the natural logarithm.
    fn logarithm(self) -> Self;
    /// Returns about a power.
    fn power(self, exponent: Self) -> Self;
    /// Returns `yes` if it is less than another one, else `no`.
    fn if_less(self, other: Self, yes: Self, no: Self) -> Self;
    /// Returns `yes` if it is equal to another one, else `no`.
    fn if_equal(self, other: Self, yes: Self, no: Self) -> Self;
}

macro_rules! limb {
    ($type:ty) => {
        impl Limb for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const HALF: Self = 0.5;
            #[inline(always)]
            fn known(number: f64) -> Self {
                number as $type
            }
            #[inline(always)]
            fn fused(self, factor: Self, term: Self) -> Self {
                self.mul_add(factor, term)
            }
            #[inline(always)]
            fn root(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn inverse_root(self) -> Self {
                1.0 / self.sqrt()
            }
            #[inline(always)]
            fn below(self) -> Self {
                self.floor()
            }
            #[inline(always)]
            fn logarithm(self) -> Self {
                self.ln()
            }
            #[inline(always)]
            fn power(self, exponent: Self) -> Self {
                self.powf(exponent)
            }
            #[inline(always)]
            fn if_less(self, other: Self, yes: Self, no: Self) -> Self {
                if self < other { yes } else { no }
            }
            #[inline(always)]
            fn if_equal(self, other: Self, yes: Self, no: Self) -> Self {
                if self == other { yes } else { no }
            }
        }
    };
}

limb!(f32);
limb!(f64);

/// The sum of two numbers, the second at most half a unit in the last place of the first.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
#[repr(C)]
pub struct Double<T> {
    /// The nearest number to the sum.
    pub high: T,
    /// The rest.
    pub low: T,
}

/// Two doubles: the type `dd`.
pub type DoubleDouble = Double<f64>;
/// Two numbers of single precision: the type `ff`.
pub type DoubleSingle = Double<f32>;

/// Returns a sum and its rounding error.
#[inline(always)]
pub fn two_sum<T: Limb>(a: T, b: T) -> Double<T> {
    let high = a + b;
    let of_b = high - a;
    Double { high, low: (a - (high - of_b)) + (b - of_b) }
}

/// Returns a product and its rounding error.
#[inline(always)]
pub fn two_prod<T: Limb>(a: T, b: T) -> Double<T> {
    let high = a * b;
    Double { high, low: a.fused(b, -high) }
}

/// Returns a sum as [`two_sum`] does, for `|a| >= |b|` or a zero.
#[inline(always)]
fn join<T: Limb>(a: T, b: T) -> Double<T> {
    let high = a + b;
    Double { high, low: b - (high - a) }
}

/// Returns a root and its rest, as far as there is one: zero and infinity have none.
#[inline(always)]
fn join_root<T: Limb>(root: T, rest: T) -> Double<T> {
    let sum = join(root, or_zero(rest));
    Double { high: sum.high, low: or_zero(sum.low) }
}

/// Returns a number, and zero for what is none.
#[inline(always)]
fn or_zero<T: Limb>(limb: T) -> T {
    limb.if_equal(limb, limb, T::ZERO)
}

impl<T: Limb> Double<T> {
    /// Zero.
    pub const ZERO: Self = Double { high: T::ZERO, low: T::ZERO };
    /// One.
    pub const ONE: Self = Double { high: T::ONE, low: T::ZERO };

    /// Returns a number of one limb.
    #[inline(always)]
    pub fn from_limb(high: T) -> Self {
        Double { high, low: T::ZERO }
    }

    /// Returns the high and the low limb.
    #[inline(always)]
    pub fn parts(self) -> (T, T) {
        (self.high, self.low)
    }

    /// Adds a number of one limb; the error is at most `2 u^2` (algorithm 4).
    #[inline(always)]
    pub fn add_limb(self, other: T) -> Self {
        let sum = two_sum(self.high, other);
        join(sum.high, self.low + sum.low)
    }

    /// Multiplies by a number of one limb; the error is at most `2 u^2` (algorithm 9).
    #[inline(always)]
    pub fn mul_limb(self, other: T) -> Self {
        let product = two_prod(self.high, other);
        join(product.high, self.low.fused(other, product.low))
    }

    /// Returns the absolute value.
    #[inline(always)]
    pub fn abs(self) -> Self {
        let signed = |limb: T| self.high.if_less(T::ZERO, -limb, limb);
        Double { high: signed(self.high), low: signed(self.low) }
    }

    /// Returns the greatest integer that is not greater.
    #[inline(always)]
    pub fn floor(self) -> Self {
        let high = self.high.below();
        join(high, high.if_equal(self.high, self.low.below(), T::ZERO))
    }

    /// Returns the square root; the error is at most `25/8 u^2` (Lefevre and others 2023).
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        let root = self.high.root();
        let rest = (-root).fused(root, self.high) + self.low;
        let low = rest / (root + root);
        join_root(root, T::ZERO.if_less(self.high, low, T::ZERO))
    }

    /// Returns the inverse of the square root, by a step of Newton's method from that of one limb.
    #[inline(always)]
    pub fn rsqrt(self) -> Self {
        let first = self.high.inverse_root();
        let rest = -(self * two_prod(first, first)).add_limb(-T::ONE).high;
        join_root(first, first * T::HALF * rest)
    }
}

impl<T: Limb> Add for Double<T> {
    type Output = Self;

    /// Adds; the error is at most `3 u^2` (algorithm 6).
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let high = two_sum(self.high, other.high);
        let low = two_sum(self.low, other.low);
        let sum = join(high.high, high.low + low.high);
        join(sum.high, sum.low + low.low)
    }
}

impl<T: Limb> Neg for Double<T> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Double { high: -self.high, low: -self.low }
    }
}

impl<T: Limb> Sub for Double<T> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl<T: Limb> Mul for Double<T> {
    type Output = Self;

    /// Multiplies; the error is at most `4 u^2` (algorithm 12).
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let product = two_prod(self.high, other.high);
        let cross = self.high.fused(other.low, self.low * other.low);
        let cross = self.low.fused(other.high, cross);
        join(product.high, product.low + cross)
    }
}

impl<T: Limb> Div for Double<T> {
    type Output = Self;

    /// Divides; the error is at most `9.8 u^2` (algorithm 18).
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let first = T::ONE / other.high;
        let rest = join((-other.high).fused(first, T::ONE), -(other.low * first));
        let inverse = rest.mul_limb(first).add_limb(first);
        self * inverse
    }
}

const LN_2: DoubleDouble = Double { high: std::f64::consts::LN_2, low: 2.319_046_813_846_299_6e-17 };
const PI: DoubleDouble = Double { high: std::f64::consts::PI, low: 1.224_646_799_147_353_2e-16 };
const TWO_BY_ROOT_OF_PI: DoubleDouble =
    Double { high: std::f64::consts::FRAC_2_SQRT_PI, low: 1.533_545_961_316_588e-17 };
/// A quarter of a turn in three limbs.
const QUARTER: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];

/// One over each integer, and over each product of an integer and the next one: a division takes
/// longer than a term of a series.
static OF_INTEGERS: LazyLock<[DoubleDouble; 10]> = LazyLock::new(|| inverses(|k| k));
/// See [`OF_INTEGERS`].
static OF_PRODUCTS: LazyLock<[DoubleDouble; 31]> = LazyLock::new(|| inverses(|k| k * (k + 1)));

/// The step of the sum for the error function, and twice `exp(-x^2)` at its multiples from the first.
const STEP: f64 = 0.375;
/// See [`STEP`].
static AT_STEPS: LazyLock<[DoubleDouble; 22]> =
    LazyLock::new(|| std::array::from_fn(|k| Double::from_limb(-(STEP * (k + 1) as f64).powi(2)).exp().mul_limb(2.0)));
/// The coefficients of the series of `erf(x) / x` in powers of the square.
static OF_SQUARES: LazyLock<[DoubleDouble; 31]> = LazyLock::new(|| {
    let mut factorial = Double::ONE;
    std::array::from_fn(|k| {
        factorial = if k == 0 { factorial } else { -factorial.mul_limb(k as f64) };
        TWO_BY_ROOT_OF_PI / factorial.mul_limb(2.0 * k as f64 + 1.0)
    })
});

fn inverses<const COUNT: usize>(of: fn(usize) -> usize) -> [DoubleDouble; COUNT] {
    std::array::from_fn(|k| Double::ONE / Double::from_limb(of(k) as f64))
}

/// The functions have the digits of numbers of two doubles. They choose among values and never
/// branch, so that kernels have them too.
impl<T: Limb> Double<T> {
    /// Returns a number that is known.
    fn known(number: DoubleDouble) -> Self {
        Double { high: T::known(number.high), low: T::known(number.low) }
    }

    /// Returns `yes` if one limb is less than another one, else `no`.
    fn if_less(a: T, b: T, yes: Self, no: Self) -> Self {
        Double { high: a.if_less(b, yes.high, no.high), low: a.if_less(b, yes.low, no.low) }
    }

    /// Returns the exponential function, to about `2^-100` of itself.
    pub fn exp(self) -> Self {
        let [least, most] = [-745.2, 709.79].map(T::known);
        let high = self.high.if_less(least, least, most.if_less(self.high, most, self.high));
        // exp(x) = 2^n exp(r)^512, where the series of exp(r) - 1 needs nine terms.
        let n = (high * T::known(std::f64::consts::LOG2_E) + T::HALF).below();
        let r = (self - Self::known(LN_2).mul_limb(n)).mul_limb(T::known(1.0 / 512.0));
        let mut term = r;
        let mut sum = r;
        for inverse in &OF_INTEGERS[2..] {
            term = term * r * Self::known(*inverse);
            sum = sum + term;
        }
        for _ in 0..9 {
            sum = sum.mul_limb(T::known(2.0)) + sum * sum;
        }
        // Half of the power at a time, as all of it may be infinite or zero.
        let half = (n * T::HALF).below();
        let power = sum.add_limb(T::ONE).mul_limb(power_of_two(half)).mul_limb(power_of_two(n - half));
        let infinity = Self::from_limb(T::known(f64::INFINITY));
        Self::if_less(self.high, least, Self::ZERO, Self::if_less(most, self.high, infinity, power))
    }

    /// Returns the natural logarithm, to about `2^-100`.
    #[inline]
    pub fn log(self) -> Self {
        let first = self.high.logarithm();
        // A step of Newton's method; the two halves keep the exponential finite.
        let half = Self::from_limb(-(T::HALF * first)).exp();
        let number = (self * half * half).add_limb(-T::ONE).add_limb(first);
        let [least, most] = [f64::NEG_INFINITY, f64::INFINITY].map(T::known);
        let infinite = Self::from_limb(first);
        Self::if_less(least, first, Self::if_less(first, most, number, infinite), infinite)
    }

    /// Returns a power of a number above zero; zero and negative numbers have those of doubles.
    #[inline]
    pub fn pow(self, exponent: Self) -> Self {
        let power = (exponent * self.log()).exp();
        let of_high = self.high.power(exponent.high);
        let chosen =
            |power: T, of_high: T| T::ZERO.if_less(self.high, exponent.high.if_equal(T::ZERO, of_high, power), of_high);
        Double { high: chosen(power.high, of_high), low: chosen(power.low, T::ZERO) }
    }

    /// Returns the sine.
    #[inline]
    pub fn sin(self) -> Self {
        self.sine(T::ZERO)
    }

    /// Returns the cosine.
    #[inline]
    pub fn cos(self) -> Self {
        self.sine(T::ONE)
    }

    /// Returns the error function: of numbers up to 1 by its series, of others as one less a sum
    /// over steps, as Hunter and Regan make it (Mathematics of Computation 26, 539, 1972). The terms
    /// that are left out are below `2^-108`.
    pub fn erf(self) -> Self {
        // Above 8.5 nothing is left but 1.
        let end = T::known(8.5);
        let size = self.abs();
        let size = Self::if_less(end, size.high, Self::from_limb(end), size);
        let square = size * size;
        let series = OF_SQUARES.iter().rev().fold(Self::ZERO, |sum, known| sum * square + Self::known(*known)) * size;

        let mut sum = Self::ONE / square;
        for (k, known) in AT_STEPS.iter().enumerate() {
            let place = STEP * (k + 1) as f64;
            sum = sum + Self::known(*known) / square.add_limb(T::known(place * place));
        }
        let weight = (-square).exp() * size * Self::known(Double::from_limb(STEP) / PI);
        let turns = (size * Self::known(PI.mul_limb(2.0) / Double::from_limb(STEP))).exp().add_limb(-T::ONE);
        let rest = weight * sum - Self::from_limb(T::known(2.0)) / turns;
        let value = Self::if_less(size.high, T::ONE, series, (-rest).add_limb(T::ONE));
        Self::if_less(self.high, T::ZERO, -value, value)
    }

    /// Returns the sine of this and some quarters of a turn. Arguments above 1e15 have none, as
    /// they have lost all digits.
    fn sine(self, quarters: T) -> Self {
        let n = (self.high * T::known(std::f64::consts::FRAC_2_PI) + T::HALF).below();
        let r = QUARTER.into_iter().fold(self, |rest, part| rest - two_prod(T::known(part), n));
        let square = r * r;
        let quarters = n + quarters;
        let halves = (quarters * T::HALF).below();
        let is_odd = quarters - (halves + halves);
        let is_negative = halves - T::known(2.0) * (halves * T::HALF).below();
        // 1 - r^2/2 + ... or r - r^3/6 + ..., to the term of r^30 or r^31.
        let chosen = |even: Self, odd: Self| Self::if_less(T::HALF, is_odd, odd, even);
        let mut term = chosen(r, Self::ONE);
        let mut sum = term;
        for k in (2..=30).step_by(2) {
            let inverse = chosen(Self::known(OF_PRODUCTS[k]), Self::known(OF_PRODUCTS[k - 1]));
            term = -(term * square * inverse);
            sum = sum + term;
        }
        let sum = Self::if_less(T::HALF, is_negative, -sum, sum);
        let [none, end] = [f64::NAN, 1e15].map(T::known);
        let none = Self::from_limb(none);
        Self::if_less(self.high, end, Self::if_less(-end, self.high, sum, none), none)
    }
}

/// Returns `2^n` for an integer from -1023 to 1023, by squares.
fn power_of_two<T: Limb>(n: T) -> T {
    let mut square = n.if_less(T::ZERO, T::HALF, T::known(2.0));
    let mut rest = n.if_less(T::ZERO, -n, n);
    let mut power = T::ONE;
    for bit in 0..10 {
        if bit > 0 {
            square = square * square;
        }
        let half = (rest * T::HALF).below();
        power = power * rest.if_equal(half + half, T::ONE, square);
        rest = half;
    }
    power
}

impl DoubleDouble {
    /// Returns the nearest double.
    #[inline(always)]
    pub fn to_f64(self) -> f64 {
        self.high + self.low
    }

    /// Returns `10^exponent`.
    fn power_of_ten(exponent: u32) -> Self {
        let (mut power, mut square, mut rest) = (Double::ONE, Double::from_limb(10.0), exponent);
        while rest > 0 {
            if rest & 1 == 1 {
                power = power * square;
            }
            square = square * square;
            rest >>= 1;
        }
        power
    }

    /// Reads a decimal number such as `-1.5e-3`, to its last bits. Returns none if it is no number
    /// or is too large.
    pub fn parse(text: &str) -> Option<Self> {
        let nearest: f64 = text.parse().ok().filter(|number: &f64| number.is_finite())?;
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (digits, negative) = match digits.strip_prefix('-') {
            Some(rest) => (rest, true),
            None => (digits.strip_prefix('+').unwrap_or(digits), false),
        };
        let mut exponent: i64 = exponent.parse().ok()?;
        let mut sum = Double::ZERO;
        let (mut taken, mut after_point) = (0, false);
        for digit in digits.chars() {
            match digit.to_digit(10) {
                // More digits than 40 change nothing.
                Some(_) if taken >= 40 => exponent += i64::from(!after_point),
                Some(digit) => {
                    sum = sum.mul_limb(10.0).add_limb(f64::from(digit));
                    taken += i32::from(taken > 0 || digit > 0);
                    exponent -= i64::from(after_point);
                }
                None if digit == '.' => after_point = true,
                None => return None,
            }
        }
        let number = match exponent {
            0 => sum,
            1..=308 => sum * Self::power_of_ten(exponent as u32),
            -300..=-1 => sum / Self::power_of_ten(-exponent as u32),
            _ => Double::from_limb(nearest.abs()),
        };
        // At the edges of the range the double is right and its rest may not exist.
        let number = if number.low.is_finite() && number.high.is_finite() && nearest.abs() > 1e-280 {
            number
        } else {
            Double::from_limb(nearest.abs())
        };
        // The quotient or product has an error, by which its higher part may be a neighbour.
        let high = nearest.abs();
        let number = Double { high, low: (number.high - high) + number.low };
        Some(if negative { -number } else { number })
    }
}

/// Writes 31 digits.
impl std::fmt::Display for DoubleDouble {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.high.is_finite() || self.high == 0.0 || self.high.abs() < 1e-250 {
            return write!(formatter, "{:e}", self.high);
        }
        let mut exponent = self.high.abs().log10().floor() as i32;
        let scale = |exponent: i32| {
            let ten = DoubleDouble::power_of_ten(exponent.unsigned_abs());
            if exponent < 0 { self.abs() * ten } else { self.abs() / ten }
        };
        let mut rest = scale(exponent);
        if rest.high >= 10.0 {
            exponent += 1;
            rest = scale(exponent);
        } else if rest < Double::ONE {
            exponent -= 1;
            rest = scale(exponent);
        }
        let mut digits = [0u8; 32];
        for digit in &mut digits {
            let next = rest.floor().high.clamp(0.0, 9.0);
            *digit = next as u8;
            rest = rest.add_limb(-next).mul_limb(10.0);
        }
        // The last digit rounds the others.
        let mut carry = digits[31] >= 5;
        for digit in digits[..31].iter_mut().rev() {
            *digit += u8::from(carry);
            carry = *digit == 10;
            *digit %= 10;
        }
        if carry {
            digits[0] = 1;
            exponent += 1;
        }
        let sign = if self.high < 0.0 { "-" } else { "" };
        write!(formatter, "{sign}{}.", digits[0])?;
        digits[1..31].iter().try_for_each(|digit| write!(formatter, "{digit}"))?;
        write!(formatter, "e{exponent}")
    }
}
