//! Lists for machines that know numbers of one limb alone. Operations on `ff` and `dd` become those
//! of their limbs, by the formulas of [`kyoho_laws::double_double`], and the sums of a slice of
//! sources become variables that are updated.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use kyoho_core::{Error, Result, memory};
use kyoho_laws::double_double::{Double, Limb, two_sum};

use super::PairProgram;
use super::fault::WHAT;
use super::list::{Builder, Comparison, Function, Id, Input, LimbInput, Node, Op, Output, Two};
use super::lower::extreme;
use super::number::Number;
use super::syntax::{Reduction, Side};
use super::types::Scalar;

/// The most operations on limbs of a list. Compilers of GPUs take minutes for fewer already.
const MOST_OPERATIONS: usize = 1 << 18;

/// A limb of a component of a field or a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component {
    /// The place of the field or the parameter.
    pub of: usize,
    /// The component.
    pub component: usize,
    /// The limb: 0 for the high one.
    pub limb: usize,
    /// The type of the limb.
    pub scalar: Scalar,
}

/// A number that changes while sources are summed.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// The type.
    pub scalar: Scalar,
    /// Its value before the first source.
    pub start: Number,
}

/// The new value of a variable.
#[derive(Debug, Clone, Copy)]
pub struct Update {
    /// The variable.
    pub variable: usize,
    /// Its value from then on.
    pub value: Id,
    /// The condition under which it changes; none: always.
    pub condition: Option<Id>,
}

/// Operations, and the variables that change after all of them.
#[derive(Debug, Clone, Default)]
pub struct Statements {
    /// The operations.
    pub nodes: Vec<Node>,
    /// The changes.
    pub updates: Vec<Update>,
}

/// The variables in which an output ends.
#[derive(Debug, Clone, Copy)]
pub struct Ending {
    /// The output.
    pub output: Output,
    /// The variables of the limbs of its number.
    pub limbs: [usize; 2],
    /// The type of the number.
    pub scalar: Scalar,
}

/// A pair interaction in limbs.
#[derive(Debug, Clone)]
pub struct LimbProgram {
    /// The columns of sinks and of sources that are needed.
    pub columns: [Vec<Component>; 2],
    /// The limbs of parameters that are needed.
    pub values: Vec<Component>,
    /// The variables. Those of a slice come before those of a chunk.
    pub variables: Vec<Variable>,
    /// How many of them are of a slice.
    pub of_slice: usize,
    /// The operations of a pair.
    pub pair: Statements,
    /// The operations after each chunk of sources.
    pub chunk: Statements,
    /// The operations that join the variables of a slice with those of another.
    pub join: Statements,
    /// The variables of each output.
    pub endings: Vec<Ending>,
}

/// An operation on limbs, or a number.
#[derive(Clone, Copy)]
enum Traced<'a> {
    Known(f64),
    Step(&'a RefCell<Builder>, Scalar, Id),
}

use Traced::{Known, Step};

impl<'a> Traced<'a> {
    /// The list of the first operand that is an operation.
    fn list(operands: &[Self]) -> Option<(&'a RefCell<Builder>, Scalar)> {
        operands.iter().find_map(|operand| match operand {
            Step(list, scalar, _) => Some((*list, *scalar)),
            Known(_) => None,
        })
    }

    fn id(self, list: &RefCell<Builder>, scalar: Scalar) -> Id {
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

    fn one(self, function: Function, known: impl Fn(f64) -> f64) -> Self {
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

/// The way from a list to one of limbs.
struct Lowering<'a> {
    program: &'a PairProgram,
    list: &'a RefCell<Builder>,
    /// The limbs of each operation of the program.
    limbs: Vec<[Id; 2]>,
    columns: [Vec<Component>; 2],
    values: Vec<Component>,
}

impl<'a> Lowering<'a> {
    fn add(&self, op: Op, scalar: Scalar) -> Id {
        self.list.borrow_mut().add(op, scalar)
    }

    fn number(&self, scalar: Scalar, number: f64) -> Id {
        self.list.borrow_mut().number(scalar, Double::from_limb(number))
    }

    fn step(&self, scalar: Scalar, id: Id) -> Traced<'a> {
        Step(self.list, scalar, id)
    }

    /// Returns the limbs of a number of two.
    fn double(&self, id: Id) -> Double<Traced<'a>> {
        let [high, low] = self.limbs[id];
        let limb = self.program.nodes[id].scalar.limb().unwrap_or(Scalar::F64);
        Double { high: self.step(limb, high), low: self.step(limb, low) }
    }

    fn ids(&self, scalar: Scalar, number: Double<Traced<'a>>) -> [Id; 2] {
        let limb = scalar.limb().unwrap_or(scalar);
        [number.high, number.low].map(|traced| traced.id(self.list, limb))
    }

    /// Returns the limbs of an input, as many as its type has.
    fn input(&mut self, scalar: Scalar, (of, component): (usize, usize), side: Option<Side>) -> [Id; 2] {
        let limb_scalar = scalar.limb().unwrap_or(scalar);
        let limbs = scalar.limbs();
        let mut ids = [0; 2];
        for (limb, id) in ids.iter_mut().enumerate().take(limbs) {
            let wanted = Component { of, component, limb, scalar: limb_scalar };
            let known = match side {
                Some(side) => &mut self.columns[side as usize],
                None => &mut self.values,
            };
            let place = known.iter().position(|known| *known == wanted).unwrap_or_else(|| {
                known.push(wanted);
                known.len() - 1
            });
            let input = match side {
                Some(side) => LimbInput::Column(side, place),
                None => LimbInput::Value(place),
            };
            *id = self.add(Op::Input(Input::Limb(input)), limb_scalar);
        }
        if limbs == 1 { [ids[0]; 2] } else { ids }
    }

    fn node(&mut self, node: &Node) -> [Id; 2] {
        let Node { op, scalar, .. } = *node;
        let two_limbs = scalar.limb();
        let of = |id: Id| self.limbs[id][0];
        let single = |id: Id| [id; 2];
        let between = |a: Id| self.program.nodes[a].scalar;
        match op {
            Op::Constant(Number::Dd(number)) => [number.high, number.low].map(|limb| self.number(Scalar::F64, limb)),
            Op::Constant(Number::Ff(number)) => {
                [number.high, number.low].map(|limb| self.number(Scalar::F32, f64::from(limb)))
            }
            Op::Constant(_) => single(self.add(op, scalar)),
            Op::Input(Input::Field(side, field, component)) => self.input(scalar, (field, component), Some(side)),
            Op::Input(Input::Parameter(parameter, component)) => self.input(scalar, (parameter, component), None),
            Op::Input(Input::Limb(_)) => single(self.add(op, scalar)),
            Op::Element(table, index) => match two_limbs {
                None => single(self.add(Op::Element(table, of(index)), scalar)),
                Some(limb) => {
                    let [one, two] = [1.0, 2.0].map(|number| self.number(Scalar::U32, number));
                    let high = self.add(Op::Two(Two::Mul, of(index), two), Scalar::U32);
                    let low = self.add(Op::Two(Two::Add, high, one), Scalar::U32);
                    [high, low].map(|place| self.add(Op::Element(table, place), limb))
                }
            },
            Op::Convert(a) => self.converted(self.limbs[a], between(a), scalar),
            Op::One(function, a) => match two_limbs {
                None => single(self.add(Op::One(function, of(a)), scalar)),
                Some(_) => self.function(function, a, scalar),
            },
            Op::Two(Two::Pow, a, b) if scalar == Scalar::Ff => {
                let [a, b] = [a, b].map(|a| self.converted(self.limbs[a], Scalar::Ff, Scalar::F64)[0]);
                let power = self.add(Op::Two(Two::Pow, a, b), Scalar::F64);
                self.converted([power; 2], Scalar::F64, scalar)
            }
            Op::Two(two, a, b) => match two_limbs {
                None if matches!(two, Two::Min | Two::Max) && scalar.is_real() => {
                    let (a, b) = (self.step(scalar, of(a)), self.step(scalar, of(b)));
                    let chosen = if two == Two::Min { b.if_less(a, b, a) } else { a.if_less(b, b, a) };
                    single(chosen.id(self.list, scalar))
                }
                None => single(self.add(Op::Two(two, of(a), of(b)), scalar)),
                Some(limb) => {
                    let result = if between(a) == between(b) {
                        doubles(two, self.double(a), self.double(b))
                    } else {
                        let other = self.step(limb, of(b));
                        match two {
                            Two::Add => self.double(a).add_limb(other),
                            Two::Sub => self.double(a).add_limb(-other),
                            _ => self.double(a).mul_limb(other),
                        }
                    };
                    self.ids(scalar, result)
                }
            },
            Op::MulAdd { factors: [a, b], term, negated } => {
                single(self.add(Op::MulAdd { factors: [of(a), of(b)], term: of(term), negated }, scalar))
            }
            Op::Compare(comparison, a, b) => {
                single(compared(&mut self.list.borrow_mut(), comparison, self.limbs[a], self.limbs[b], between(a)))
            }
            Op::And(a, b) => single(self.add(Op::And(of(a), of(b)), scalar)),
            Op::Or(a, b) => single(self.add(Op::Or(of(a), of(b)), scalar)),
            Op::Not(a) => single(self.add(Op::Not(of(a)), scalar)),
            Op::Select(condition, yes, no) => {
                let limb = two_limbs.unwrap_or(scalar);
                let chosen =
                    |k: usize| self.add(Op::Select(of(condition), self.limbs[yes][k], self.limbs[no][k]), limb);
                if two_limbs.is_some() { [0, 1].map(chosen) } else { [chosen(0); 2] }
            }
        }
    }

    /// Returns a function of a number of two limbs.
    fn function(&self, function: Function, a: Id, scalar: Scalar) -> [Id; 2] {
        let number = self.double(a);
        let result = match function {
            Function::Negative => -number,
            Function::Abs => number.abs(),
            Function::Floor => number.floor(),
            Function::Sqrt => number.sqrt(),
            Function::Rsqrt => number.rsqrt(),
            Function::Exp if scalar == Scalar::Dd => number.exp(),
            Function::Log if scalar == Scalar::Dd => number.log(),
            Function::Sin if scalar == Scalar::Dd => number.sin(),
            Function::Cos if scalar == Scalar::Dd => number.cos(),
            Function::Erf if scalar == Scalar::Dd => number.erf(),
            // Doubles have the digits of `ff`.
            _ => {
                let double = self.converted(self.limbs[a], scalar, Scalar::F64)[0];
                let result = self.add(Op::One(function, double), Scalar::F64);
                return self.converted([result; 2], Scalar::F64, scalar);
            }
        };
        self.ids(scalar, result)
    }

    /// Returns the nearest number of another type.
    fn converted(&self, limbs: [Id; 2], from: Scalar, to: Scalar) -> [Id; 2] {
        use Scalar::{Dd, F32, F64, Ff, I32, U32};
        let convert = |id: Id, to: Scalar| self.add(Op::Convert(id), to);
        let zero = |scalar: Scalar| self.number(scalar, 0.0);
        let [high, low] = limbs;
        // The doubles of both limbs, as far as there are two.
        let wide = |id: Id| self.step(F64, convert(id, F64));
        match (from, to) {
            _ if from == to => limbs,
            (Dd | Ff, I32 | U32) => {
                let number = match from {
                    Dd => Double { high: self.step(F64, high), low: self.step(F64, low) },
                    _ => two_sum(wide(high), wide(low)),
                };
                let below = number.abs().floor();
                let below = below.high + below.low;
                let whole = number.high.if_less(Known(0.0), -below, below);
                [convert(whole.id(self.list, F64), to); 2]
            }
            (Dd, F64) => [high; 2],
            (Dd, F32) => {
                let sum = self.step(F64, high) + self.step(F64, low);
                [convert(sum.id(self.list, F64), F32); 2]
            }
            (Ff, F64 | F32) => {
                let sum = (wide(high) + wide(low)).id(self.list, F64);
                [if to == F64 { sum } else { convert(sum, F32) }; 2]
            }
            (Ff, Dd) => self.ids(Dd, two_sum(wide(high), wide(low))),
            (F32, Ff) => [high, zero(F32)],
            (Dd | F64 | I32 | U32, Ff) => {
                let double = if matches!(from, Dd | F64) { self.step(F64, high) } else { wide(high) };
                let first = convert(double.id(self.list, F64), F32);
                let mut rest = double - wide(first);
                if from == Dd {
                    rest = rest + self.step(F64, low);
                }
                let rest = self.step(F32, convert(rest.id(self.list, F64), F32));
                let size = rest.one(Function::Abs, f64::abs);
                let rest = size.if_less(Known(f64::INFINITY), rest, Known(0.0));
                [first, rest.id(self.list, F32)]
            }
            (F64, Dd) => [high, zero(F64)],
            (_, Dd) => [convert(high, F64), zero(F64)],
            _ => [convert(high, to); 2],
        }
    }
}

/// Computes a function of two numbers of two limbs.
fn doubles<'a>(two: Two, a: Double<Traced<'a>>, b: Double<Traced<'a>>) -> Double<Traced<'a>> {
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

/// Adds a comparison of numbers of a type. Numbers of two limbs are compared by the high ones and
/// then by the low ones.
fn compared(list: &mut Builder, comparison: Comparison, a: [Id; 2], b: [Id; 2], scalar: Scalar) -> Id {
    let mut compare =
        |comparison: Comparison, limb: usize| list.add(Op::Compare(comparison, a[limb], b[limb]), Scalar::Bool);
    if scalar.limb().is_none() {
        return compare(comparison, 0);
    }
    let equal = compare(Comparison::Equal, 0);
    match comparison {
        Comparison::Less | Comparison::LessEqual => {
            let (less, low) = (compare(Comparison::Less, 0), compare(comparison, 1));
            let by_low = list.add(Op::And(equal, low), Scalar::Bool);
            list.add(Op::Or(less, by_low), Scalar::Bool)
        }
        Comparison::Equal | Comparison::NotEqual => {
            let low = compare(Comparison::Equal, 1);
            let both = list.add(Op::And(equal, low), Scalar::Bool);
            if comparison == Comparison::Equal { both } else { list.add(Op::Not(both), Scalar::Bool) }
        }
    }
}

/// The variables of a program, and what is done with them.
struct Sums<'a> {
    lowering: Lowering<'a>,
    chunk: &'a RefCell<Builder>,
    join: &'a RefCell<Builder>,
    of_slice: Vec<Variable>,
    of_chunk: Vec<Variable>,
    /// The updates of a pair, after a chunk and of a join. Variables of a chunk are counted from the
    /// first of them until all variables are known.
    updates: [Vec<Update>; 3],
}

/// The most variables of a slice or of a chunk that an output has, and updates in a list: two limbs of
/// a key and of a value, and an address.
const MOST_VARIABLES: usize = 5;

/// The place of the first variable of a chunk until those of slices are counted.
const CHUNK_VARIABLES: usize = 1 << 20;

fn variable(list: &RefCell<Builder>, number: usize, scalar: Scalar) -> Id {
    list.borrow_mut().add(Op::Input(Input::Limb(LimbInput::Variable(number))), scalar)
}

impl<'a> Sums<'a> {
    /// Makes variables of a slice for the limbs of a number.
    fn kept(&mut self, scalar: Scalar, start: Number) -> [usize; 2] {
        let first = self.of_slice.len();
        match start {
            Number::Dd(Double { high, low }) => {
                self.of_slice
                    .extend([high, low].map(|limb| Variable { scalar: Scalar::F64, start: Number::F64(limb) }));
                [first, first + 1]
            }
            Number::Ff(Double { high, low }) => {
                self.of_slice
                    .extend([high, low].map(|limb| Variable { scalar: Scalar::F32, start: Number::F32(limb) }));
                [first, first + 1]
            }
            start => {
                self.of_slice.push(Variable { scalar, start });
                [first; 2]
            }
        }
    }

    /// Adds numbers of a type to variables, in a list.
    fn added(list: &'a RefCell<Builder>, limbs: [usize; 2], scalar: Scalar, term: [Id; 2]) -> Vec<(usize, Id)> {
        let Some(limb) = scalar.limb() else {
            let before = variable(list, limbs[0], scalar);
            return vec![(limbs[0], list.borrow_mut().add(Op::Two(Two::Add, before, term[0]), scalar))];
        };
        let of = |id: Id| Step(list, limb, id);
        let before = limbs.map(|number| of(variable(list, number, limb)));
        let sum = Double { high: before[0], low: before[1] } + Double { high: of(term[0]), low: of(term[1]) };
        vec![(limbs[0], sum.high.id(list, limb)), (limbs[1], sum.low.id(list, limb))]
    }

    fn update(&mut self, list: usize, changes: Vec<(usize, Id)>, condition: Option<Id>) {
        self.updates[list].extend(changes.into_iter().map(|(variable, value)| Update { variable, value, condition }));
    }

    /// Joins the variables of two slices by a sum.
    fn join_sums(&mut self, limbs: [usize; 2], scalar: Scalar) {
        let limb = scalar.limb().unwrap_or(scalar);
        let join = self.join;
        let term = limbs.map(|number| other(join, number, limb));
        self.update(2, Sums::added(join, limbs, scalar, term), None);
    }

    fn output(&mut self, output: Output) -> Ending {
        let program = self.lowering.program;
        let scalar = program.nodes[output.term].scalar;
        let term = self.lowering.limbs[output.term];
        let condition = output.condition.map(|id| self.lowering.limbs[id][0]);
        let list = self.lowering.list;
        let (limbs, scalar) = match output.reduction {
            Reduction::Sum => (self.sum(output, term, scalar, condition), program.results[output.result].accumulated),
            Reduction::Count | Reduction::Any => {
                let limbs = self.kept(Scalar::U32, Number::U32(0));
                let is_count = output.reduction == Reduction::Count;
                let holds = both(list, condition, term[0]);
                let one = list.borrow_mut().number(Scalar::U32, Double::ONE);
                let changes =
                    if is_count { Sums::added(list, limbs, Scalar::U32, [one; 2]) } else { vec![(limbs[0], one)] };
                self.update(0, changes, Some(holds));
                if is_count {
                    self.join_sums(limbs, Scalar::U32);
                } else {
                    let join = self.join;
                    let (mine, others) = (variable(join, limbs[0], Scalar::U32), other(join, limbs[0], Scalar::U32));
                    let any = join.borrow_mut().add(Op::Two(Two::Max, mine, others), Scalar::U32);
                    self.update(2, vec![(limbs[0], any)], None);
                }
                (limbs, Scalar::U32)
            }
            Reduction::Min | Reduction::Max => {
                let is_min = output.reduction == Reduction::Min;
                let limbs = self.kept(scalar, extreme(scalar, is_min));
                let better = self.better(list, is_min, limbs, scalar, term);
                let both = both(list, condition, better);
                self.update(0, pairs(limbs, term, scalar), Some(both));
                let limb = scalar.limb().unwrap_or(scalar);
                let others = limbs.map(|number| other(self.join, number, limb));
                let better = self.better(self.join, is_min, limbs, scalar, others);
                self.update(2, pairs(limbs, others, scalar), Some(better));
                (limbs, scalar)
            }
            Reduction::ArgMin | Reduction::ArgMax => self.named(output, term, scalar, condition),
        };
        Ending { output, limbs, scalar }
    }

    /// Adds the terms of a sum: by chunks, unless chunks of the type gain nothing.
    fn sum(&mut self, output: Output, term: [Id; 2], scalar: Scalar, condition: Option<Id>) -> [usize; 2] {
        let list = self.lowering.list;
        let accumulated = self.lowering.program.results[output.result].accumulated;
        let limbs = self.kept(accumulated, Number::of(accumulated, Double::ZERO));
        self.join_sums(limbs, accumulated);
        let negative = |list: &RefCell<Builder>, id: Id, scalar: Scalar| {
            list.borrow_mut().add(Op::One(Function::Negative, id), scalar)
        };
        let limb = scalar.limb().unwrap_or(scalar);
        if scalar == accumulated && !matches!(scalar, Scalar::F32 | Scalar::F64) {
            let term = if output.negative { term.map(|id| negative(list, id, limb)) } else { term };
            self.update(0, Sums::added(list, limbs, scalar, term), condition);
            return limbs;
        }
        // The sums of the chunk; they begin anew after each.
        let first = CHUNK_VARIABLES + self.of_chunk.len();
        let count = scalar.limbs();
        let start = Number::of(limb, Double::ZERO);
        self.of_chunk.extend(std::iter::repeat_n(Variable { scalar: limb, start }, count));
        let of_chunk = [first, first + count - 1];
        let changes = match output.second {
            Some(second) => {
                let before = variable(list, first, scalar);
                let factors = [term[0], self.lowering.limbs[second][0]];
                let op = Op::MulAdd { factors, term: before, negated: [false; 2] };
                vec![(first, list.borrow_mut().add(op, scalar))]
            }
            None => Sums::added(list, of_chunk, scalar, term),
        };
        self.update(0, changes, condition);
        let chunk = self.chunk;
        let found = of_chunk.map(|number| variable(chunk, number, limb));
        let program = self.lowering.program;
        let at_end =
            Lowering { program, list: chunk, limbs: Vec::new(), columns: Default::default(), values: Vec::new() };
        let mut found = at_end.converted(found, scalar, accumulated);
        if output.negative {
            found = found.map(|id| negative(chunk, id, accumulated.limb().unwrap_or(accumulated)));
        }
        self.update(1, Sums::added(chunk, limbs, accumulated, found), None);
        let zero = chunk.borrow_mut().number(limb, Double::ZERO);
        self.update(1, pairs(of_chunk, [zero; 2], scalar), None);
        limbs
    }

    /// Keeps the value and the address of the source with the best key.
    fn named(&mut self, output: Output, key: [Id; 2], scalar: Scalar, condition: Option<Id>) -> ([usize; 2], Scalar) {
        let list = self.lowering.list;
        let is_min = output.reduction == Reduction::ArgMin;
        let keys = self.kept(scalar, extreme(scalar, is_min));
        let named = output.second.unwrap_or(output.term);
        let value = self.lowering.limbs[named];
        let of = self.lowering.program.nodes[named].scalar;
        let values = self.kept(of, unnamed(of));
        let [place, _] = self.kept(Scalar::U32, Number::U32(u32::MAX));
        let better = self.better(list, is_min, keys, scalar, key);
        let both = both(list, condition, better);
        let address = list.borrow_mut().add(Op::Input(Input::Limb(LimbInput::Address)), Scalar::U32);
        let mut changes = [pairs(keys, key, scalar), pairs(values, value, of)].concat();
        changes.push((place, address));
        self.update(0, changes, Some(both));

        let join = self.join;
        let others = |numbers: [usize; 2], scalar: Scalar| {
            numbers.map(|number| other(join, number, scalar.limb().unwrap_or(scalar)))
        };
        let (other_key, other_value) = (others(keys, scalar), others(values, of));
        let other_place = other(join, place, Scalar::U32);
        let better = self.better(join, is_min, keys, scalar, other_key);
        let mine = keys.map(|number| variable(join, number, scalar.limb().unwrap_or(scalar)));
        let place_before = variable(join, place, Scalar::U32);
        let mut builder = join.borrow_mut();
        let equal = compared(&mut builder, Comparison::Equal, mine, other_key, scalar);
        let earlier = builder.add(Op::Compare(Comparison::Less, other_place, place_before), Scalar::Bool);
        let earlier = builder.add(Op::And(equal, earlier), Scalar::Bool);
        let taken = builder.add(Op::Or(better, earlier), Scalar::Bool);
        drop(builder);
        let mut changes = [pairs(keys, other_key, scalar), pairs(values, other_value, of)].concat();
        changes.push((place, other_place));
        self.update(2, changes, Some(taken));
        (values, of)
    }

    /// Whether a number is better than that of the variables.
    fn better(&self, list: &RefCell<Builder>, is_min: bool, limbs: [usize; 2], scalar: Scalar, number: [Id; 2]) -> Id {
        let before = limbs.map(|number| variable(list, number, scalar.limb().unwrap_or(scalar)));
        let (a, b) = if is_min { (number, before) } else { (before, number) };
        compared(&mut list.borrow_mut(), Comparison::Less, a, b, scalar)
    }
}

fn other(list: &RefCell<Builder>, number: usize, scalar: Scalar) -> Id {
    list.borrow_mut().add(Op::Input(Input::Limb(LimbInput::Other(number))), scalar)
}

fn both(list: &RefCell<Builder>, condition: Option<Id>, other: Id) -> Id {
    match condition {
        Some(condition) => list.borrow_mut().add(Op::And(condition, other), Scalar::Bool),
        None => other,
    }
}

/// Variables with their new values, as many as a type has limbs.
fn pairs(limbs: [usize; 2], ids: [Id; 2], scalar: Scalar) -> Vec<(usize, Id)> {
    let count = scalar.limbs();
    limbs.into_iter().zip(ids).take(count).collect()
}

/// Returns what `argmin` and `argmax` name where there is no source: no number, or an integer that
/// is no address.
pub fn unnamed(scalar: Scalar) -> Number {
    match scalar {
        Scalar::U32 => Number::U32(u32::MAX),
        Scalar::I32 => Number::I32(-1),
        scalar => Number::of(scalar, Double::from_limb(f64::NAN)),
    }
}

impl LimbProgram {
    /// Makes the lists of a program. It is an error if they get too long.
    pub fn new(program: &PairProgram) -> Result<LimbProgram> {
        let list = || Builder::new(false).map(RefCell::new);
        let [pair, chunk, join] = [list()?, list()?, list()?];
        // There is room for the most that each of these can have.
        let inputs = 2 * program.nodes.iter().filter(|node| matches!(node.op, Op::Input(_))).count();
        let mut lowering = Lowering {
            program,
            list: &pair,
            limbs: memory::room(program.nodes.len(), WHAT)?,
            columns: [memory::room(inputs, WHAT)?, memory::room(inputs, WHAT)?],
            values: memory::room(inputs, WHAT)?,
        };
        for node in &program.nodes {
            let limbs = lowering.node(node);
            lowering.limbs.push(limbs);
            if pair.borrow().count() > MOST_OPERATIONS {
                return Err(Error::BadOption {
                    name: format!("the number of operations of {} on single numbers", program.name),
                    value: format!("more than {MOST_OPERATIONS}"),
                    allowed: format!("up to {MOST_OPERATIONS} on GPUs, of which a function in dd takes thousands"),
                });
            }
        }
        let most = MOST_VARIABLES * program.outputs.len();
        let mut sums = Sums {
            lowering,
            chunk: &chunk,
            join: &join,
            of_slice: memory::room(2 * most, WHAT)?,
            of_chunk: memory::room(most, WHAT)?,
            updates: [memory::room(most, WHAT)?, memory::room(most, WHAT)?, memory::room(most, WHAT)?],
        };
        let endings = memory::collected(program.outputs.iter().map(|output| sums.output(*output)), WHAT)?;
        let Sums { lowering: Lowering { columns, values, .. }, mut of_slice, of_chunk, mut updates, .. } = sums;
        let kept = of_slice.len();
        let place = |number: usize| if number >= CHUNK_VARIABLES { number - CHUNK_VARIABLES + kept } else { number };
        let mut statements = |list: RefCell<Builder>, number: usize| -> Result<Statements> {
            let mut updates = std::mem::take(&mut updates[number]);
            let roots =
                updates.iter_mut().flat_map(|update| std::iter::once(&mut update.value).chain(&mut update.condition));
            let mut nodes = list.into_inner().finish(roots)?;
            for node in &mut nodes {
                if let Op::Input(Input::Limb(LimbInput::Variable(number))) = &mut node.op {
                    *number = place(*number);
                }
            }
            updates.iter_mut().for_each(|update| update.variable = place(update.variable));
            Ok(Statements { nodes, updates })
        };
        let (pair, chunk, join) = (statements(pair, 0)?, statements(chunk, 1)?, statements(join, 2)?);
        // There is room for these, too.
        of_slice.extend(of_chunk);
        Ok(LimbProgram { columns, values, variables: of_slice, of_slice: kept, pair, chunk, join, endings })
    }
}
