//! One number of any type, and the operations on it.

use kyoho_laws::double_double::{Double, DoubleDouble, DoubleSingle};

use super::list::{Comparison, Function, Op, Two};
use super::real::{Convert, Real};
use super::types::Scalar;

/// A number of any type.
#[derive(Debug, Clone, Copy)]
pub enum Number {
    /// A condition.
    Bool(bool),
    /// An integer.
    I32(i32),
    /// An integer that is not negative.
    U32(u32),
    /// A number of single precision.
    F32(f32),
    /// Two numbers of single precision.
    Ff(DoubleSingle),
    /// A double.
    F64(f64),
    /// Two doubles.
    Dd(DoubleDouble),
}

/// Calls a macro with each type: its case, and the type of Rust.
macro_rules! with_reals {
    ($scalar:expr, $work:ident) => {
        match $scalar {
            Scalar::F32 => $work!(F32, f32),
            Scalar::Ff => $work!(Ff, DoubleSingle),
            Scalar::F64 => $work!(F64, f64),
            _ => $work!(Dd, DoubleDouble),
        }
    };
}

impl Number {
    /// Returns the nearest number of a type.
    pub fn of(scalar: Scalar, number: DoubleDouble) -> Number {
        match scalar {
            Scalar::Bool => Number::Bool(number.high != 0.0),
            Scalar::I32 => Number::I32(Convert::nearest(number)),
            Scalar::U32 => Number::U32(Convert::nearest(number)),
            Scalar::F32 => Number::F32(Convert::nearest(number)),
            Scalar::Ff => Number::Ff(Convert::nearest(number)),
            Scalar::F64 => Number::F64(Convert::nearest(number)),
            Scalar::Dd => Number::Dd(number),
        }
    }

    /// Returns this number, exactly.
    pub fn widened(self) -> DoubleDouble {
        match self {
            Number::Bool(value) => Double::from_limb(f64::from(u8::from(value))),
            Number::I32(value) => value.widened(),
            Number::U32(value) => value.widened(),
            Number::F32(value) => value.widened(),
            Number::Ff(value) => value.widened(),
            Number::F64(value) => value.widened(),
            Number::Dd(value) => value,
        }
    }

    /// The type.
    pub fn scalar(self) -> Scalar {
        match self {
            Number::Bool(_) => Scalar::Bool,
            Number::I32(_) => Scalar::I32,
            Number::U32(_) => Scalar::U32,
            Number::F32(_) => Scalar::F32,
            Number::Ff(_) => Scalar::Ff,
            Number::F64(_) => Scalar::F64,
            Number::Dd(_) => Scalar::Dd,
        }
    }

    /// Returns the bits, which tell numbers apart.
    pub fn bits(self) -> (Scalar, u64, u64) {
        let (high, low) = match self {
            Number::Bool(value) => (u64::from(value), 0),
            Number::I32(value) => (value as u32 as u64, 0),
            Number::U32(value) => (u64::from(value), 0),
            Number::F32(value) => (u64::from(value.to_bits()), 0),
            Number::Ff(value) => (u64::from(value.high.to_bits()), u64::from(value.low.to_bits())),
            Number::F64(value) => (value.to_bits(), 0),
            Number::Dd(value) => (value.high.to_bits(), value.low.to_bits()),
        };
        (self.scalar(), high, low)
    }

    /// Whether a condition holds.
    pub fn holds(self) -> bool {
        matches!(self, Number::Bool(true))
    }
}

/// Computes an operation of the list, given its operands.
pub fn compute(op: Op, scalar: Scalar, value: impl Fn(usize) -> Number) -> Number {
    match op {
        Op::Constant(number) => number,
        Op::Input(..) | Op::Element(..) => Number::of(scalar, Double::from_limb(f64::NAN)),
        Op::Convert(a) => Number::of(scalar, value(a).widened()),
        Op::Not(a) => Number::Bool(!value(a).holds()),
        Op::And(a, b) => Number::Bool(value(a).holds() && value(b).holds()),
        Op::Or(a, b) => Number::Bool(value(a).holds() || value(b).holds()),
        Op::Select(condition, yes, no) => value(if value(condition).holds() { yes } else { no }),
        Op::Compare(comparison, a, b) => Number::Bool(compared(comparison, value(a), value(b))),
        Op::One(function, a) => one(function, value(a)),
        Op::Two(two, a, b) => of_two(two, scalar, value(a), value(b)),
        Op::MulAdd { factors: [a, b], term, negated } => {
            let (a, b, c) = (value(a), value(b), value(term));
            match (a, b, c) {
                (Number::F32(a), Number::F32(b), Number::F32(c)) => Number::F32(fused(a, b, c, negated)),
                (Number::F64(a), Number::F64(b), Number::F64(c)) => Number::F64(fused(a, b, c, negated)),
                _ => mismatch(scalar),
            }
        }
    }
}

#[inline(always)]
fn fused<T: Real>(a: T, b: T, c: T, negated: [bool; 2]) -> T {
    let a = if negated[0] { a.neg() } else { a };
    let c = if negated[1] { c.neg() } else { c };
    a.mul_add(b, c)
}

/// The value of operands that do not have the types that they should have, which no list has.
fn mismatch(scalar: Scalar) -> Number {
    debug_assert!(false, "operands of {scalar:?} have other types");
    Number::of(scalar, Double::from_limb(f64::NAN))
}

fn compared(comparison: Comparison, a: Number, b: Number) -> bool {
    let (a, b) = (a.widened(), b.widened());
    match comparison {
        Comparison::Less => a < b,
        Comparison::LessEqual => a <= b,
        Comparison::Equal => a == b,
        Comparison::NotEqual => a != b,
    }
}

fn one(function: Function, a: Number) -> Number {
    macro_rules! real {
        ($case:ident, $value:expr) => {
            Number::$case(match function {
                Function::Negative => $value.neg(),
                Function::Abs => Real::abs($value),
                Function::Floor => Real::floor($value),
                Function::Sqrt => Real::sqrt($value),
                Function::Rsqrt => Real::rsqrt($value),
                Function::Exp => Real::exp($value),
                Function::Log => Real::log($value),
                Function::Sin => Real::sin($value),
                Function::Cos => Real::cos($value),
                Function::Erf => Real::erf($value),
            })
        };
    }
    match (a, function) {
        (Number::F32(a), _) => real!(F32, a),
        (Number::Ff(a), _) => real!(Ff, a),
        (Number::F64(a), _) => real!(F64, a),
        (Number::Dd(a), _) => real!(Dd, a),
        (Number::I32(a), Function::Negative) => Number::I32(a.wrapping_neg()),
        (Number::U32(a), Function::Negative) => Number::U32(a.wrapping_neg()),
        (Number::I32(a), Function::Abs) => Number::I32(a.wrapping_abs()),
        (other, _) => other,
    }
}

fn of_two(two: Two, scalar: Scalar, a: Number, b: Number) -> Number {
    macro_rules! real {
        ($case:ident, $type:ty) => {
            match (a, b) {
                (Number::$case(a), Number::$case(b)) => Number::$case(match two {
                    Two::Add => Real::add(a, b),
                    Two::Sub => Real::sub(a, b),
                    Two::Mul => Real::mul(a, b),
                    Two::Div => Real::div(a, b),
                    Two::Min => Real::min(a, b),
                    Two::Max => Real::max(a, b),
                    Two::Pow => Real::pow(a, b),
                }),
                _ => limbs(two, scalar, a, b),
            }
        };
    }
    match (a, b) {
        (Number::I32(a), Number::I32(b)) => Number::I32(match two {
            Two::Add => a.wrapping_add(b),
            Two::Sub => a.wrapping_sub(b),
            Two::Mul => a.wrapping_mul(b),
            Two::Min => a.min(b),
            Two::Max => a.max(b),
            Two::Div | Two::Pow => 0,
        }),
        (Number::U32(a), Number::U32(b)) => Number::U32(match two {
            Two::Add => a.wrapping_add(b),
            Two::Sub => a.wrapping_sub(b),
            Two::Mul => a.wrapping_mul(b),
            Two::Min => a.min(b),
            Two::Max => a.max(b),
            Two::Div | Two::Pow => 0,
        }),
        _ => with_reals!(scalar, real),
    }
}

/// Computes an operation of a number of two limbs and one of one limb.
fn limbs(two: Two, scalar: Scalar, a: Number, b: Number) -> Number {
    match (two, a, b) {
        (Two::Add, Number::Dd(a), Number::F64(b)) => Number::Dd(a.add_limb(b)),
        (Two::Sub, Number::Dd(a), Number::F64(b)) => Number::Dd(a.add_limb(-b)),
        (Two::Mul, Number::Dd(a), Number::F64(b)) => Number::Dd(a.mul_limb(b)),
        (Two::Add, Number::Ff(a), Number::F32(b)) => Number::Ff(a.add_limb(b)),
        (Two::Sub, Number::Ff(a), Number::F32(b)) => Number::Ff(a.add_limb(-b)),
        (Two::Mul, Number::Ff(a), Number::F32(b)) => Number::Ff(a.mul_limb(b)),
        _ => mismatch(scalar),
    }
}
