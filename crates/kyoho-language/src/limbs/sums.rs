//! The variables in which sums, extremes and names of sources are kept while sources are summed.

use std::cell::RefCell;

use kyoho_laws::double_double::Double;

use super::traced::Step;
use super::{Ending, Lowering, Update, Variable, compared};
use crate::list::{Builder, Comparison, Function, Id, Input, LimbInput, Op, Output, Two};
use crate::lower::extreme;
use crate::number::Number;
use crate::syntax::Reduction;
use crate::types::Scalar;

/// The variables of a program, and what is done with them.
pub(super) struct Sums<'a> {
    pub lowering: Lowering<'a>,
    pub chunk: &'a RefCell<Builder>,
    pub join: &'a RefCell<Builder>,
    pub of_slice: Vec<Variable>,
    pub of_chunk: Vec<Variable>,
    /// The updates of a pair, after a chunk and of a join. Variables of a chunk are counted from the
    /// first of them until all variables are known.
    pub updates: [Vec<Update>; 3],
}

/// The most variables of a slice or of a chunk that an output has, and updates in a list: two limbs of
/// a key and of a value, and an address.
pub(super) const MOST_VARIABLES: usize = 5;

/// The place of the first variable of a chunk until those of slices are counted.
pub(super) const CHUNK_VARIABLES: usize = 1 << 20;

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

    pub fn output(&mut self, output: Output) -> Ending {
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
        let address = list.borrow_mut().add(Op::Input(Input::Limb(LimbInput::Address)), Scalar::U32);
        // The first source is named also where its key is the one that variables begin with.
        let place_before = variable(list, place, Scalar::U32);
        let nobody = list.borrow_mut().number(Scalar::U32, Double::from_limb(f64::from(u32::MAX)));
        let is_first = list.borrow_mut().add(Op::Compare(Comparison::Equal, place_before, nobody), Scalar::Bool);
        let taken = self.comes_before(list, is_min, (keys, scalar, key), is_first);
        let both = both(list, condition, taken);
        let mut changes = [pairs(keys, key, scalar), pairs(values, value, of)].concat();
        changes.push((place, address));
        self.update(0, changes, Some(both));

        let join = self.join;
        let others = |numbers: [usize; 2], scalar: Scalar| {
            numbers.map(|number| other(join, number, scalar.limb().unwrap_or(scalar)))
        };
        let (other_key, other_value) = (others(keys, scalar), others(values, of));
        let other_place = other(join, place, Scalar::U32);
        let place_before = variable(join, place, Scalar::U32);
        let is_earlier = Op::Compare(Comparison::Less, other_place, place_before);
        let is_earlier = join.borrow_mut().add(is_earlier, Scalar::Bool);
        let taken = self.comes_before(join, is_min, (keys, scalar, other_key), is_earlier);
        let mut changes = [pairs(keys, other_key, scalar), pairs(values, other_value, of)].concat();
        changes.push((place, other_place));
        self.update(2, changes, Some(taken));
        (values, of)
    }

    /// Whether a key is better than that of the variables, or as good where it is preferred.
    fn comes_before(
        &self,
        list: &RefCell<Builder>,
        is_min: bool,
        (keys, scalar, key): ([usize; 2], Scalar, [Id; 2]),
        is_preferred: Id,
    ) -> Id {
        let better = self.better(list, is_min, keys, scalar, key);
        let mine = keys.map(|number| variable(list, number, scalar.limb().unwrap_or(scalar)));
        let mut builder = list.borrow_mut();
        let equal = compared(&mut builder, Comparison::Equal, mine, key, scalar);
        let preferred = builder.add(Op::And(equal, is_preferred), Scalar::Bool);
        builder.add(Op::Or(better, preferred), Scalar::Bool)
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
