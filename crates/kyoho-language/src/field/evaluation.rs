//! The evaluation of a field: for one body after another, or for the bodies of a block at a time.
//! Both give the same bits.

use kyoho_core::{Level, Result, memory};

use super::{FieldProgram, is_uniform};
use crate::blocks::{Bits, Block, Column, LANES, Operand, Steps, bits, number};
use crate::fault::WHAT;
use crate::list::{Id, Input, Node, Op};
use crate::motion::factorial;
use crate::number::{Number, compute};
use crate::parameters::Origin;
use crate::places::Places;
use crate::syntax::Side;
use crate::types::Scalar;

/// What is equal for all bodies.
#[derive(Debug, Clone, Copy)]
pub struct Constants<'a> {
    /// The numbers of all parameters, in their order.
    pub parameters: &'a [f64],
    /// The gravitational constant.
    pub gravity: f64,
    /// The time.
    pub time: f64,
}

/// A component of a vector of bodies, and its column.
#[derive(Debug, Clone, Copy)]
struct InputColumn {
    vector: usize,
    component: usize,
    column: Column,
}

/// The steps by which blocks of bodies get their derivatives.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    inputs: Vec<InputColumn>,
    /// The steps of each derivative, beside those before it.
    steps: Vec<Steps>,
    /// Where each derivative is.
    results: Vec<[Operand; 3]>,
    /// The values that are uniform, in the order of the row.
    row: Vec<Id>,
    bytes: usize,
}

impl Columns {
    pub(super) fn new(nodes: &[Node], levels: &[Vec<Id>], derivatives: &[[Id; 3]], level: Level) -> Result<Columns> {
        let mut places = Places::new(nodes)?;
        let mut inputs = Vec::new();
        for (id, node) in nodes.iter().enumerate() {
            if let Op::Input(Input::Field(Side::I, vector, component)) = node.op {
                let column = places.give_column(id);
                memory::push(&mut inputs, InputColumn { vector, component, column }, WHAT)?;
            }
        }
        // The operation that reads each value last, in the order of the levels.
        let mut last = memory::filled(nodes.len(), 0, WHAT)?;
        for id in levels.iter().flatten() {
            nodes[*id].op.operands().for_each(|operand| last[operand] = *id);
        }
        derivatives.iter().flatten().for_each(|root| last[*root] = nodes.len());
        let (mut all, mut results) = (Vec::new(), Vec::new());
        for (of_level, roots) in levels.iter().zip(derivatives) {
            let mut steps = Vec::new();
            for id in of_level.iter().copied().filter(|id| !matches!(nodes[*id].op, Op::Input(_))) {
                memory::push(&mut steps, places.step(id)?, WHAT)?;
                for operand in nodes[id].op.operands().filter(|operand| last[*operand] == id) {
                    if !is_uniform(&nodes[operand]) && !matches!(nodes[operand].op, Op::Input(_)) {
                        places.release(operand)?;
                    }
                }
            }
            let [x, y, z] = *roots;
            memory::push(&mut results, [places.operand(x)?, places.operand(y)?, places.operand(z)?], WHAT)?;
            memory::push(&mut all, Steps::new(steps, Vec::new(), &[], level)?, WHAT)?;
        }
        let bytes = places.bytes();
        Ok(Columns { inputs, steps: all, results, row: places.into_row(), bytes })
    }
}

/// The memory in which a thread evaluates a field.
pub struct FieldWork {
    values: Vec<Number>,
    row: Vec<Bits>,
    block: Block,
}

impl FieldWork {
    /// Returns the value of an operation that is equal for all bodies.
    pub(super) fn value(&self, id: Id) -> Number {
        self.values[id]
    }
}

impl FieldProgram {
    /// Returns memory for evaluations.
    pub fn work(&self) -> Result<FieldWork> {
        Ok(FieldWork {
            values: memory::filled(self.nodes.len(), Number::F64(0.0), WHAT)?,
            row: memory::filled(self.columns.row.len(), [0; 2], WHAT)?,
            block: Block::new(self.columns.bytes)?,
        })
    }

    /// Begins evaluations: computes what is equal for all bodies.
    pub fn begin(&self, work: &mut FieldWork, constants: &Constants) {
        for id in &self.uniform {
            work.values[*id] = match self.nodes[*id].op {
                Op::Input(Input::Parameter(number, component)) => {
                    Number::F64(match self.parameters.origins()[number] {
                        Origin::Time => constants.time,
                        Origin::Gravity => constants.gravity,
                        Origin::Number(place) => constants.parameters[place + component],
                    })
                }
                op => compute(op, self.nodes[*id].scalar, |operand| work.values[operand]),
            };
        }
        for (to, id) in work.row.iter_mut().zip(&self.columns.row) {
            *to = bits(work.values[*id]);
        }
    }

    /// Returns a derivative of a body's velocity, the acceleration with the number 0; those before it
    /// were computed for this body. `motion` has the position, the velocity and as many derivatives
    /// of it as the number says, of all forces.
    pub fn one(&self, work: &mut FieldWork, number: usize, motion: &[[f64; 3]]) -> [f64; 3] {
        self.levels[number].iter().for_each(|id| self.find(work, *id, motion));
        let factorial = factorial(number);
        self.derivatives[number].map(|id| factorial * work.values[id].widened().to_f64())
    }

    /// Returns the potential at a body's place; 0 for a field that has none.
    pub fn potential(&self, work: &mut FieldWork, motion: &[[f64; 3]]) -> f64 {
        let Some((potential, needed)) = &self.potential else { return 0.0 };
        needed.iter().for_each(|id| self.find(work, *id, motion));
        work.values[*potential].widened().to_f64()
    }

    fn find(&self, work: &mut FieldWork, id: Id, motion: &[[f64; 3]]) {
        let Node { op, scalar, .. } = self.nodes[id];
        work.values[id] = match op {
            Op::Input(Input::Field(_, vector, component)) => {
                Number::F64(motion.get(vector).map_or(0.0, |vector| vector[component]))
            }
            op => compute(op, scalar, |operand| work.values[operand]),
        };
    }

    /// Gives a vector of each body of a block, at most [`LANES`]: with the number 0 the position,
    /// with 1 the velocity, and then its derivatives. The same vector of the field's centre is taken
    /// off.
    pub fn put(&self, work: &mut FieldWork, number: usize, vectors: &[[f64; 3]], centre: &[f64; 3]) {
        for input in self.columns.inputs.iter().filter(|input| input.vector == number) {
            work.block
                .write(input.column, vectors.iter().map(|vector| vector[input.component] - centre[input.component]));
        }
    }

    /// Calls a function with each body's derivative of the velocity, as [`FieldProgram::one`] returns
    /// it, for the bodies of a block.
    pub fn many(&self, work: &mut FieldWork, number: usize, count: usize, mut to: impl FnMut(usize, [f64; 3])) {
        self.columns.steps[number].run(&mut work.block, &work.row, &[], LANES, &mut []);
        let factorial = factorial(number);
        let places = self.columns.results[number];
        for lane in 0..count.min(LANES) {
            to(lane, places.map(|place| factorial * lane_of(work, place, lane)));
        }
    }
}

fn lane_of(work: &FieldWork, place: Operand, lane: usize) -> f64 {
    let bits = match place {
        Operand::Lanes(column) => work.block.get(Scalar::F64, column, lane),
        Operand::Uniform(place) => work.row[place],
    };
    number(Scalar::F64, bits).widened().to_f64()
}
