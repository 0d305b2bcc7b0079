//! Derivatives of lists: a list becomes a longer one, which has the Taylor coefficients of its
//! values along a curve on which its inputs move.
//!
//! The `k`-th coefficient is the `k`-th derivative by the curve's variable over `k!`. With one
//! coefficient and a unit vector as the motion of a position it is a component of a gradient.

use kyoho_core::memory;
use kyoho_laws::double_double::Double;

use super::fault::{Checked, Fault, Place, WHAT};
use super::list::{Builder, Comparison, Function, Id, Input, MAX_NODES, Op, Two};
use super::types::Scalar;

/// The coefficients of a value from the 0th on; none is zero for sure.
type Coefficients = Vec<Option<Id>>;

/// Adds the Taylor coefficients of some values to their list, up to the `order`-th of each.
///
/// `motion` returns the first and further coefficients of an input, as places in the list. It may
/// return fewer, and then the others are zero.
pub fn series(
    list: &mut Builder,
    roots: &[Id],
    order: usize,
    mut motion: impl FnMut(&mut Builder, Input) -> Vec<Id>,
) -> Checked<Vec<Vec<Id>>> {
    let count = list.count();
    let mut needed = memory::filled(count, false, WHAT)?;
    roots.iter().for_each(|root| needed[*root] = true);
    for id in (0..count).rev() {
        if needed[id] {
            list.node(id).op.operands().for_each(|operand| needed[operand] = true);
        }
    }
    let mut known: Vec<Coefficients> = memory::filled(count, Vec::new(), WHAT)?;
    for id in (0..count).filter(|id| needed[*id]) {
        let scalar = list.node(id).scalar;
        let mut rule = Rule { list, known: &known, scalar, order };
        let mut found = match rule.list.node(id).op {
            Op::Input(input) if scalar.is_real() => {
                let moved = motion(rule.list, input);
                std::iter::once(Some(id)).chain(moved.into_iter().take(order).map(Some)).collect()
            }
            op if scalar.is_real() => rule.of(id, op),
            _ => vec![Some(id)],
        };
        found.resize(order + 1, None);
        known[id] = found;
        if list.is_full() {
            let found = format!("the list of derivatives is longer than {MAX_NODES} operations");
            return Err(Fault::new(Place::default(), found, "a shorter text, or a lower order"));
        }
    }
    list.check_memory()?;
    let all = roots.iter().map(|root| {
        let scalar = list.node(*root).scalar;
        known[*root].iter().map(|id| id.unwrap_or_else(|| list.number(scalar, Double::ZERO))).collect()
    });
    Ok(all.collect())
}

/// What finds the coefficients of one operation.
struct Rule<'a> {
    list: &'a mut Builder,
    known: &'a [Coefficients],
    scalar: Scalar,
    order: usize,
}

impl Rule<'_> {
    /// Returns the coefficients of an operand in the type of the result.
    fn operand(&mut self, id: Id) -> Coefficients {
        let mut all = self.known[id].clone();
        all.resize(self.order + 1, None);
        all.into_iter().map(|id| id.map(|id| self.widened(id))).collect()
    }

    fn widened(&mut self, id: Id) -> Id {
        if self.list.node(id).scalar == self.scalar { id } else { self.list.add(Op::Convert(id), self.scalar) }
    }

    fn number(&mut self, number: f64) -> Id {
        self.list.number(self.scalar, Double::from_limb(number))
    }

    fn two(&mut self, two: Two, a: Id, b: Id) -> Id {
        self.list.add(Op::Two(two, a, b), self.scalar)
    }

    fn negative(&mut self, a: Option<Id>) -> Option<Id> {
        a.map(|a| self.list.add(Op::One(Function::Negative, a), self.scalar))
    }

    fn sum(&mut self, a: Option<Id>, b: Option<Id>) -> Option<Id> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.two(Two::Add, a, b)),
            (one, None) | (None, one) => one,
        }
    }

    fn difference(&mut self, a: Option<Id>, b: Option<Id>) -> Option<Id> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.two(Two::Sub, a, b)),
            (a, None) => a,
            (None, b) => self.negative(b),
        }
    }

    fn product(&mut self, a: Option<Id>, b: Option<Id>) -> Option<Id> {
        Some((a?, b?)).map(|(a, b)| self.two(Two::Mul, a, b))
    }

    fn scaled(&mut self, factor: f64, a: Option<Id>) -> Option<Id> {
        let a = a?;
        if factor == 1.0 {
            return Some(a);
        }
        let factor = self.number(factor);
        Some(self.two(Two::Mul, factor, a))
    }

    /// Returns the sum of `weight(j) a_j b_(k - j)` over some `j`.
    fn folded(
        &mut self,
        k: usize,
        range: std::ops::RangeInclusive<usize>,
        (a, b): (&[Option<Id>], &[Option<Id>]),
        weight: impl Fn(usize) -> f64,
    ) -> Option<Id> {
        range.fold(None, |sum, j| {
            let product = self.product(a[j], b[k - j]);
            let term = if weight(j) == 0.0 { None } else { self.scaled(weight(j), product) };
            self.sum(sum, term)
        })
    }

    /// Returns the product of two series, whose first coefficient is `first` if it is known.
    fn multiplied(&mut self, first: Option<Id>, a: &[Option<Id>], b: &[Option<Id>]) -> Coefficients {
        let mut all: Coefficients = (0..=self.order).map(|k| self.folded(k, 0..=k, (a, b), |_| 1.0)).collect();
        all[0] = first.or(all[0]);
        all
    }

    /// Returns the coefficients of what has the derivative `factor * outer * inner'`.
    fn chained(
        &mut self,
        first: Id,
        factor: f64,
        inner: &[Option<Id>],
        outer: &mut dyn FnMut(&mut Self, &[Option<Id>]) -> Coefficients,
    ) -> Coefficients {
        let mut all = vec![Some(first)];
        for k in 1..=self.order {
            let outer = outer(self, &all);
            let sum = self.folded(k, 1..=k, (inner, &outer), |j| factor * j as f64 / k as f64);
            all.push(sum);
        }
        all
    }

    /// Returns `a` to a power that is constant; `inverse` is `1 / a_0`.
    fn raised(&mut self, first: Id, inverse: Id, power: f64, a: &[Option<Id>]) -> Coefficients {
        let mut all = vec![Some(first)];
        for k in 1..=self.order {
            let weight = |j: usize| (power * j as f64 - (k - j) as f64) / k as f64;
            let sum = self.folded(k, 1..=k, (a, &all), weight);
            let term = self.product(sum, Some(inverse));
            all.push(term);
        }
        all
    }

    fn inverse(&mut self, a: Option<Id>) -> Id {
        let one = self.number(1.0);
        self.two(Two::Div, one, a.unwrap_or(one))
    }

    fn logarithm(&mut self, first: Id, a: &[Option<Id>]) -> Coefficients {
        let inverse = self.inverse(a[0]);
        let mut all = vec![Some(first)];
        for k in 1..=self.order {
            let sum = self.folded(k, 1..=k - 1, (&all, a), |j| j as f64 / k as f64);
            let rest = self.difference(a[k], sum);
            let term = self.product(rest, Some(inverse));
            all.push(term);
        }
        all
    }

    fn chosen(&mut self, condition: Id, yes: &[Option<Id>], no: &[Option<Id>], first: Id) -> Coefficients {
        let zero = self.number(0.0);
        let mut all = vec![Some(first)];
        for (yes, no) in yes.iter().zip(no).skip(1) {
            all.push((yes.is_some() || no.is_some()).then(|| {
                let op = Op::Select(condition, yes.unwrap_or(zero), no.unwrap_or(zero));
                self.list.add(op, self.scalar)
            }));
        }
        all
    }

    fn less(&mut self, a: Option<Id>, b: Option<Id>) -> Id {
        let zero = self.number(0.0);
        self.list.add(Op::Compare(Comparison::Less, a.unwrap_or(zero), b.unwrap_or(zero)), Scalar::Bool)
    }

    /// Returns the coefficients of a real operation.
    fn of(&mut self, id: Id, op: Op) -> Coefficients {
        match op {
            Op::Convert(a) if self.list.node(a).scalar.is_real() => {
                let mut all = self.operand(a);
                all[0] = Some(id);
                all
            }
            Op::One(function, a) => {
                let a = self.operand(a);
                self.of_one(id, function, &a)
            }
            Op::Two(two, a, b) => {
                let (a, b) = (self.operand(a), self.operand(b));
                self.of_two(id, two, &a, &b)
            }
            Op::MulAdd { factors: [a, b], term, negated } => {
                let (a, b, term) = (self.operand(a), self.operand(b), self.operand(term));
                let products = self.multiplied(None, &a, &b);
                let mut all = vec![Some(id)];
                for k in 1..=self.order {
                    let product = if negated[0] { self.negative(products[k]) } else { products[k] };
                    all.push(if negated[1] { self.difference(product, term[k]) } else { self.sum(product, term[k]) });
                }
                all
            }
            Op::Select(condition, a, b) => {
                let (a, b) = (self.operand(a), self.operand(b));
                self.chosen(condition, &a, &b, id)
            }
            _ => vec![Some(id)],
        }
    }

    fn of_one(&mut self, id: Id, function: Function, a: &[Option<Id>]) -> Coefficients {
        match function {
            Function::Negative => {
                let rest: Coefficients = a[1..].iter().map(|a| self.negative(*a)).collect();
                std::iter::once(Some(id)).chain(rest).collect()
            }
            Function::Abs => {
                let is_negative = self.less(a[0], None);
                let negative: Coefficients = a.iter().map(|a| self.negative(*a)).collect();
                self.chosen(is_negative, &negative, a, id)
            }
            Function::Floor => vec![Some(id)],
            Function::Sqrt => {
                let inverse = self.inverse(a[0]);
                self.raised(id, inverse, 0.5, a)
            }
            Function::Rsqrt => {
                let inverse = self.two(Two::Mul, id, id);
                self.raised(id, inverse, -0.5, a)
            }
            Function::Exp => self.chained(id, 1.0, a, &mut |_, all| all.to_vec()),
            Function::Log => self.logarithm(id, a),
            Function::Sin | Function::Cos => self.circular(id, function, a),
            Function::Erf => {
                let square = self.multiplied(None, a, a);
                let square: Coefficients = square.into_iter().map(|term| self.negative(term)).collect();
                let zero = self.number(0.0);
                let first = self.list.add(Op::One(Function::Exp, square[0].unwrap_or(zero)), self.scalar);
                let bell = self.chained(first, 1.0, &square, &mut |_, all| all.to_vec());
                self.chained(id, std::f64::consts::FRAC_2_SQRT_PI, a, &mut |_, _| bell.clone())
            }
        }
    }

    fn circular(&mut self, id: Id, function: Function, a: &[Option<Id>]) -> Coefficients {
        let (other, signs) =
            if function == Function::Sin { (Function::Cos, [1.0, -1.0]) } else { (Function::Sin, [-1.0, 1.0]) };
        let zero = self.number(0.0);
        let other = self.list.add(Op::One(other, a[0].unwrap_or(zero)), self.scalar);
        let (mut all, mut others) = (vec![Some(id)], vec![Some(other)]);
        for k in 1..=self.order {
            let weight = |j: usize| j as f64 / k as f64;
            let next = self.folded(k, 1..=k, (a, &others), |j| signs[0] * weight(j));
            let other = self.folded(k, 1..=k, (a, &all), |j| signs[1] * weight(j));
            all.push(next);
            others.push(other);
        }
        all
    }

    fn of_two(&mut self, id: Id, two: Two, a: &[Option<Id>], b: &[Option<Id>]) -> Coefficients {
        match two {
            Two::Add | Two::Sub => {
                let mut all = vec![Some(id)];
                for (a, b) in a.iter().zip(b).skip(1) {
                    all.push(if two == Two::Add { self.sum(*a, *b) } else { self.difference(*a, *b) });
                }
                all
            }
            Two::Mul => self.multiplied(Some(id), a, b),
            Two::Div => {
                let inverse = self.inverse(b[0]);
                let mut all = vec![Some(id)];
                for (k, a) in a.iter().enumerate().skip(1) {
                    let sum = self.folded(k, 1..=k, (b, &all), |_| 1.0);
                    let rest = self.difference(*a, sum);
                    let term = self.product(rest, Some(inverse));
                    all.push(term);
                }
                all
            }
            Two::Min | Two::Max => {
                let is_first = if two == Two::Min { self.less(a[0], b[0]) } else { self.less(b[0], a[0]) };
                self.chosen(is_first, a, b, id)
            }
            Two::Pow => {
                let zero = self.number(0.0);
                let logarithm = self.list.add(Op::One(Function::Log, a[0].unwrap_or(zero)), self.scalar);
                let logarithm = self.logarithm(logarithm, a);
                let exponent = self.multiplied(None, &logarithm, b);
                self.chained(id, 1.0, &exponent, &mut |_, all| all.to_vec())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::{Number, compute};

    /// Returns the coefficients of a function of one number at a place, by constants of the list.
    fn coefficients(place: f64, function: impl Fn(&mut Builder, Id) -> Id) -> Vec<f64> {
        let mut list = Builder::new(false).unwrap();
        let input = list.add(Op::Input(Input::Parameter(0, 0)), Scalar::F64);
        let root = function(&mut list, input);
        let found = series(&mut list, &[root], 4, |list, _| vec![list.number(Scalar::F64, Double::ONE)]).unwrap();
        found[0].iter().map(|id| value(&list, *id, place)).collect()
    }

    /// Returns the value of a place of the list.
    fn value(list: &Builder, id: Id, input: f64) -> f64 {
        let node = list.node(id);
        if let Op::Input(_) = node.op {
            return input;
        }
        let mut operands: Vec<Id> = node.op.operands().collect();
        operands.dedup();
        let number = compute(node.op, node.scalar, |id| {
            let operand = Double::from_limb(value(list, id, input));
            Number::of(list.node(id).scalar, operand)
        });
        if node.scalar == Scalar::Bool { f64::from(u8::from(number.holds())) } else { number.widened().to_f64() }
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-13 * expected.abs().max(1.0), "{found} in place of {expected}");
        }
    }

    #[test]
    fn functions_have_the_coefficients_of_their_taylor_series() {
        let x: f64 = 0.7;
        let one = |function: Function| move |list: &mut Builder, a: Id| list.add(Op::One(function, a), Scalar::F64);
        let e = x.exp();
        assert_near(&coefficients(x, one(Function::Exp)), &[e, e, e / 2.0, e / 6.0, e / 24.0]);
        let (s, c) = x.sin_cos();
        assert_near(&coefficients(x, one(Function::Sin)), &[s, c, -s / 2.0, -c / 6.0, s / 24.0]);
        assert_near(&coefficients(x, one(Function::Cos)), &[c, -s, -c / 2.0, s / 6.0, c / 24.0]);
        let log = [x.ln(), 1.0 / x, -0.5 / x.powi(2), 1.0 / (3.0 * x.powi(3)), -0.25 / x.powi(4)];
        assert_near(&coefficients(x, one(Function::Log)), &log);
        let power = |p: f64| {
            let mut factor = 1.0;
            let terms = (0..5).map(|k| {
                let term = factor * x.powf(p - f64::from(k));
                factor *= (p - f64::from(k)) / f64::from(k + 1);
                term
            });
            terms.collect::<Vec<f64>>()
        };
        assert_near(&coefficients(x, one(Function::Sqrt)), &power(0.5));
        assert_near(&coefficients(x, one(Function::Rsqrt)), &power(-0.5));
        let raised = |list: &mut Builder, a: Id| {
            let exponent = list.number(Scalar::F64, Double::from_limb(2.3));
            list.add(Op::Two(Two::Pow, a, exponent), Scalar::F64)
        };
        assert_near(&coefficients(x, raised), &power(2.3));
        let inverse = |list: &mut Builder, a: Id| {
            let one = list.number(Scalar::F64, Double::ONE);
            list.add(Op::Two(Two::Div, one, a), Scalar::F64)
        };
        assert_near(&coefficients(x, inverse), &power(-1.0));
        // erf' = g, erf'' = -2 x g, erf''' = (4 x^2 - 2) g, erf'''' = (12 x - 8 x^3) g.
        let g = std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp();
        let erf = [g, -x * g, (4.0 * x * x - 2.0) * g / 6.0, (12.0 * x - 8.0 * x.powi(3)) * g / 24.0];
        assert_near(&coefficients(x, one(Function::Erf))[1..], &erf);
        assert_near(&coefficients(-x, one(Function::Abs)), &[x, -1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_multiply_add_and_its_signs_have_the_coefficients_of_the_polynomial() {
        for negated in [[false; 2], [true, false], [false, true], [true; 2]] {
            let cubic = |list: &mut Builder, a: Id| {
                let square = list.add(Op::Two(Two::Mul, a, a), Scalar::F64);
                list.add(Op::MulAdd { factors: [square, a], term: a, negated }, Scalar::F64)
            };
            let [product, term] = negated.map(|is| if is { -1.0 } else { 1.0 });
            let x = 1.5f64;
            let expected =
                [product * x.powi(3) + term * x, product * 3.0 * x * x + term, product * 3.0 * x, product, 0.0];
            assert_near(&coefficients(x, cubic), &expected);
        }
    }
}
