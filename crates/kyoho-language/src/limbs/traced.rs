//! Numbers of one limb that note the operations by which they are made.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use kyoho_laws::double_double::{Double, Limb};

use crate::list::{Builder, Comparison, Function, Id, Op, Two};
use crate::types::Scalar;

/// An operation on limbs, or a number.
#[derive(Clone, Copy)]
pub(super) enum Traced<'a> {
    Known(f64),
    Step(&'a RefCell<Builder>, Scalar, Id),
}

pub(super) use Traced::{Known, Step};

impl<'a> Traced<'a> {
    /// The list of the first operand that is an operation.
    fn list(operands: &[Self]) -> Option<(&'a RefCell<Builder>, Scalar)> {
        operands.iter().find_map(|operand| match operand {
            Step(list, scalar, _) => Some((*list, *scalar)),
            Known(_) => None,
        })
    }

    pub fn id(self, list: &RefCell<Builder>, scalar: Scalar) -> Id {
        match self {
            Step(_, _, id) => id,
            Known(number) => list.borrow_mut().number(scalar, Double::from_limb(number)),
        }
    }

    fn two(self, two: Two, other: Self, known: impl Fn(f64, f64) -> f64) -> Self {
        match (self, other) {
            (Known(a), Known(b)) => Known(known(a, b)),
            _ => operation(&[self, other], |ids| Op::Two(two, ids[0], ids[1])),
        }
    }

    pub fn one(self, function: Function, known: impl Fn(f64) -> f64) -> Self {
        match self {
            Known(a) => Known(known(a)),
            step => operation(&[step], |ids| Op::One(function, ids[0])),
        }
    }

    /// `yes` or `no`, as a comparison says.
    fn chosen(self, comparison: Comparison, other: Self, yes: Self, no: Self) -> Self {
        if let (Known(a), Known(b)) = (self, other) {
            let holds = if comparison == Comparison::Less { a < b } else { a == b };
            return if holds { yes } else { no };
        }
        let Some((list, scalar)) = Traced::list(&[self, other, yes, no]) else { return no };
        let [a, b, yes, no] = [self, other, yes, no].map(|operand| operand.id(list, scalar));
        let mut builder = list.borrow_mut();
        let condition = builder.add(Op::Compare(comparison, a, b), Scalar::Bool);
        Step(list, scalar, builder.add(Op::Select(condition, yes, no), scalar))
    }
}

/// Adds an operation whose result has the type of its operands.
fn operation<'a>(operands: &[Traced<'a>], op: impl Fn(&[Id]) -> Op) -> Traced<'a> {
    let Some((list, scalar)) = Traced::list(operands) else { return Known(f64::NAN) };
    let ids: Vec<Id> = operands.iter().map(|operand| operand.id(list, scalar)).collect();
    Step(list, scalar, list.borrow_mut().add(op(&ids), scalar))
}

impl Add for Traced<'_> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.two(Two::Add, other, |a, b| a + b)
    }
}

impl Sub for Traced<'_> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.two(Two::Sub, other, |a, b| a - b)
    }
}

impl Mul for Traced<'_> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        self.two(Two::Mul, other, |a, b| a * b)
    }
}

impl Div for Traced<'_> {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        self.two(Two::Div, other, |a, b| a / b)
    }
}

impl Neg for Traced<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.one(Function::Negative, |a| -a)
    }
}

impl Limb for Traced<'_> {
    const ZERO: Self = Known(0.0);
    const ONE: Self = Known(1.0);
    const HALF: Self = Known(0.5);

    fn known(number: f64) -> Self {
        Known(number)
    }

    fn fused(self, factor: Self, term: Self) -> Self {
        match (self, factor, term) {
            (Known(a), Known(b), Known(c)) => Known(a.mul_add(b, c)),
            _ => operation(&[self, factor, term], |ids| Op::MulAdd {
                factors: [ids[0], ids[1]],
                term: ids[2],
                negated: [false; 2],
            }),
        }
    }

    fn root(self) -> Self {
        self.one(Function::Sqrt, f64::sqrt)
    }

    fn inverse_root(self) -> Self {
        self.one(Function::Rsqrt, |a| 1.0 / a.sqrt())
    }

    fn below(self) -> Self {
        self.one(Function::Floor, f64::floor)
    }

    fn logarithm(self) -> Self {
        self.one(Function::Log, f64::ln)
    }

    fn power(self, exponent: Self) -> Self {
        self.two(Two::Pow, exponent, f64::powf)
    }

    fn if_less(self, other: Self, yes: Self, no: Self) -> Self {
        self.chosen(Comparison::Less, other, yes, no)
    }

    fn if_equal(self, other: Self, yes: Self, no: Self) -> Self {
        self.chosen(Comparison::Equal, other, yes, no)
    }
}

/// Computes a function of two numbers of two limbs.
pub(super) fn doubles<'a>(two: Two, a: Double<Traced<'a>>, b: Double<Traced<'a>>) -> Double<Traced<'a>> {
    let chosen = |first: Double<Traced<'a>>, second: Double<Traced<'a>>| {
        // The second operand where `first < second` holds.
        let by_low = |yes: Traced<'a>, no: Traced<'a>| {
            let of_equal = first.low.if_less(second.low, yes, no);
            first.high.if_less(second.high, yes, first.high.if_equal(second.high, of_equal, no))
        };
        Double { high: by_low(b.high, a.high), low: by_low(b.low, a.low) }
    };
    match two {
        Two::Add => a + b,
        Two::Sub => a - b,
        Two::Mul => a * b,
        Two::Div => a / b,
        Two::Min => chosen(b, a),
        Two::Max => chosen(a, b),
        Two::Pow => a.pow(b),
    }
}
