//! Lists for machines that know numbers of one limb alone. Operations on `ff` and `dd` become those
//! of their limbs, by the formulas of [`kyoho_laws::double_double`], and the sums of a slice of
//! sources become variables that are updated.

mod sums;
mod traced;

use std::cell::RefCell;

use kyoho_core::{Error, Result, memory};
use kyoho_laws::double_double::{Double, Limb, two_sum};

use super::PairProgram;
use super::fault::WHAT;
use super::list::{Builder, Comparison, Function, Id, Input, LimbInput, Node, Op, Output, Two};
use super::number::Number;
use super::syntax::Side;
use super::types::Scalar;
pub use sums::unnamed;
use sums::{CHUNK_VARIABLES, MOST_VARIABLES, Sums};
use traced::{Known, Step, Traced, doubles};

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
