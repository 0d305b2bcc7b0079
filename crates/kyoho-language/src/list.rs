//! The middle of the compiler: a list of operations on single numbers, each of which is computed
//! once and named by its place. Methods and printers of kernels read it from the first to the last.

use std::collections::HashMap;

use kyoho_core::{Error, Result, memory};
use kyoho_laws::double_double::{Double, DoubleDouble};

use super::fault::WHAT;
use super::number::{Number, compute};
use super::syntax::{Field, Parameter, Reduction, ResultField, Side};
use super::types::Scalar;

/// The place of an operation in the list.
pub type Id = usize;

/// How often a value has to be computed. A later stage depends on more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Never, as it is known.
    Constant,
    /// Once a run: it depends on parameters alone.
    Run,
    /// Once a sink.
    Sink,
    /// Once a source.
    Source,
    /// Once a pair.
    Pair,
}

impl Stage {
    /// Every stage.
    pub const ALL: [Stage; 5] = [Stage::Constant, Stage::Run, Stage::Sink, Stage::Source, Stage::Pair];

    /// Returns the stage of what depends on values of two stages.
    pub fn joined(self, other: Stage) -> Stage {
        match (self, other) {
            (Stage::Sink, Stage::Source) | (Stage::Source, Stage::Sink) => Stage::Pair,
            _ => self.max(other),
        }
    }
}

/// A comparison; the others are these with their operands exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Whether the first is less.
    Less,
    /// Whether the first is not greater.
    LessEqual,
    /// Whether they are equal.
    Equal,
    /// Whether they differ.
    NotEqual,
}

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    /// The number with the other sign.
    Negative,
    /// The magnitude.
    Abs,
    /// The greatest integer that is not greater.
    Floor,
    /// The square root.
    Sqrt,
    /// One over the square root.
    Rsqrt,
    /// The exponential.
    Exp,
    /// The natural logarithm.
    Log,
    /// The sine.
    Sin,
    /// The cosine.
    Cos,
    /// The error function.
    Erf,
}

impl Function {
    /// The name in lists.
    pub fn name(self) -> &'static str {
        match self {
            Function::Negative => "-",
            Function::Abs => "abs",
            Function::Floor => "floor",
            Function::Sqrt => "sqrt",
            Function::Rsqrt => "rsqrt",
            Function::Exp => "exp",
            Function::Log => "log",
            Function::Sin => "sin",
            Function::Cos => "cos",
            Function::Erf => "erf",
        }
    }
}

/// A function of two numbers. Of a type of two limbs, the second operand of a sum, a difference or
/// a product may be of one limb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Two {
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// The product.
    Mul,
    /// The quotient.
    Div,
    /// The lesser one.
    Min,
    /// The greater one.
    Max,
    /// The first to the power of the second.
    Pow,
}

impl Two {
    /// The name in lists.
    pub fn name(self) -> &'static str {
        match self {
            Two::Add => "+",
            Two::Sub => "-",
            Two::Mul => "*",
            Two::Div => "/",
            Two::Min => "min",
            Two::Max => "max",
            Two::Pow => "pow",
        }
    }
}

/// A quantity that comes from the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Input {
    /// A component of a field of the sink or the source.
    Field(Side, usize, usize),
    /// A component of a parameter.
    Parameter(usize, usize),
    /// A number of one limb, in lists of limbs alone.
    Limb(LimbInput),
}

/// A number of one limb that a list of limbs begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LimbInput {
    /// A column of the data of sinks or sources.
    Column(Side, usize),
    /// A limb of a parameter.
    Value(usize),
    /// The address of the source.
    Address,
    /// A variable, before it is updated.
    Variable(usize),
    /// The variable of another slice of sources.
    Other(usize),
}

/// An operation.
#[derive(Debug, Clone, Copy)]
pub enum Op {
    /// A number.
    Constant(Number),
    /// A number of the caller.
    Input(Input),
    /// An element of the table that is this parameter; the operand is its place, of type `u32`.
    Element(usize, Id),
    /// The nearest number of the type of the result.
    Convert(Id),
    /// A function of one number.
    One(Function, Id),
    /// A function of two numbers.
    Two(Two, Id, Id),
    /// `factor * factor + term`, rounded once, in `f32` or `f64`; the product and the term may be
    /// negated.
    MulAdd {
        /// The factors.
        factors: [Id; 2],
        /// The term.
        term: Id,
        /// Whether the product and the term have the other sign.
        negated: [bool; 2],
    },
    /// A comparison of two numbers of one type.
    Compare(Comparison, Id, Id),
    /// Whether both conditions hold.
    And(Id, Id),
    /// Whether one of two conditions holds.
    Or(Id, Id),
    /// Whether a condition does not hold.
    Not(Id),
    /// The second operand where the first one, a condition, holds, and the third one elsewhere.
    Select(Id, Id, Id),
}

impl Op {
    /// Returns the operands, in their order.
    pub fn operands(self) -> impl Iterator<Item = Id> {
        let three = match self {
            Op::Constant(_) | Op::Input(_) => [None; 3],
            Op::Element(_, a) | Op::Convert(a) | Op::One(_, a) | Op::Not(a) => [Some(a), None, None],
            Op::Two(_, a, b) | Op::Compare(_, a, b) | Op::And(a, b) | Op::Or(a, b) => [Some(a), Some(b), None],
            Op::MulAdd { factors: [a, b], term, .. } => [Some(a), Some(b), Some(term)],
            Op::Select(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        three.into_iter().flatten()
    }

    /// Returns the operation with other operands.
    pub(super) fn renamed(self, new: impl Fn(Id) -> Id) -> Op {
        match self {
            Op::Constant(_) | Op::Input(_) => self,
            Op::Element(table, a) => Op::Element(table, new(a)),
            Op::Convert(a) => Op::Convert(new(a)),
            Op::One(function, a) => Op::One(function, new(a)),
            Op::Two(two, a, b) => Op::Two(two, new(a), new(b)),
            Op::MulAdd { factors, term, negated } => {
                Op::MulAdd { factors: factors.map(&new), term: new(term), negated }
            }
            Op::Compare(comparison, a, b) => Op::Compare(comparison, new(a), new(b)),
            Op::And(a, b) => Op::And(new(a), new(b)),
            Op::Or(a, b) => Op::Or(new(a), new(b)),
            Op::Not(a) => Op::Not(new(a)),
            Op::Select(a, b, c) => Op::Select(new(a), new(b), new(c)),
        }
    }

    /// Returns the operation with operands that may be exchanged in their order. Products of two
    /// limbs depend on it in the last bits, and so the smaller place always comes first.
    fn ordered(self, nodes: &[Node]) -> Op {
        let alike = |a: Id, b: Id| nodes[a].scalar == nodes[b].scalar && a > b;
        match self {
            Op::Two(two @ (Two::Add | Two::Mul), a, b) if alike(a, b) => Op::Two(two, b, a),
            Op::Compare(comparison @ (Comparison::Equal | Comparison::NotEqual), a, b) if alike(a, b) => {
                Op::Compare(comparison, b, a)
            }
            Op::And(a, b) if a > b => Op::And(b, a),
            Op::Or(a, b) if a > b => Op::Or(b, a),
            Op::MulAdd { factors: [a, b], term, negated } if a > b => Op::MulAdd { factors: [b, a], term, negated },
            other => other,
        }
    }
}

/// An operation of the list.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    /// The operation.
    pub op: Op,
    /// The type of its value.
    pub scalar: Scalar,
    /// How often it has to be computed.
    pub stage: Stage,
}

/// One number of a result, and the terms that sources add to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Output {
    /// The result.
    pub result: usize,
    /// The component of the result.
    pub component: usize,
    /// How terms are joined.
    pub reduction: Reduction,
    /// The condition under which the pair counts; none: always.
    pub condition: Option<Id>,
    /// The term of a sum, the candidate of `min` and `max`, the condition of `count` and `any`, or
    /// the key of `argmin` and `argmax`.
    pub term: Id,
    /// A second factor of the term of a sum in `f32` or `f64`, which is added by a multiply-add; or
    /// the value that `argmin` and `argmax` name.
    pub second: Option<Id>,
    /// Whether the term of a sum is subtracted.
    pub negative: bool,
}

impl Output {
    /// Returns the operations that it needs.
    pub fn needs(&mut self) -> impl Iterator<Item = &mut Id> {
        std::iter::once(&mut self.term).chain(&mut self.second).chain(&mut self.condition)
    }
}

/// An index of a table that has to be below its extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexCheck {
    /// The side that has the field.
    pub side: Side,
    /// The field, which has the index.
    pub field: usize,
    /// The parameter that is the table.
    pub table: usize,
    /// The end of the indices.
    pub extent: u32,
}

/// A pair interaction: what the caller gives and gets, and the operations of a pair.
#[derive(Debug)]
pub struct PairProgram {
    /// The name of the interaction.
    pub name: String,
    /// The fields of sinks and of sources.
    pub fields: [Vec<Field>; 2],
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// The results.
    pub results: Vec<ResultField>,
    /// The operations; each has its operands before it.
    pub nodes: Vec<Node>,
    /// The numbers of the results, by result and component.
    pub outputs: Vec<Output>,
    /// The indices that have to be checked before a run.
    pub checks: Vec<IndexCheck>,
}

impl PairProgram {
    /// Returns a copy.
    pub fn copied(&self) -> Result<PairProgram> {
        fn copied<T: Clone>(items: &[T]) -> Result<Vec<T>> {
            memory::collected(items.iter().cloned(), WHAT)
        }
        let [of_sinks, of_sources] = &self.fields;
        Ok(PairProgram {
            name: self.name.clone(),
            fields: [copied(of_sinks)?, copied(of_sources)?],
            parameters: copied(&self.parameters)?,
            results: copied(&self.results)?,
            nodes: copied(&self.nodes)?,
            outputs: copied(&self.outputs)?,
            checks: copied(&self.checks)?,
        })
    }
}

/// The most operations of a list.
pub const MAX_NODES: usize = 1 << 15;

/// A list that grows. Each operation is in it once.
pub struct Builder {
    nodes: Vec<Node>,
    known: HashMap<Key, Id>,
    /// Whether equal operations are kept apart, to compare with.
    plain: bool,
    /// The first error where an operation found no memory. What was added since means nothing.
    lost: Option<Error>,
}

/// The operations for which a list has memory from the beginning.
const ROOM: usize = 16;

/// An operation with its type, such that equal operations have equal keys.
type Key = (u32, [u64; 3], Scalar, (Scalar, u64, u64));

fn key(op: Op, scalar: Scalar) -> Key {
    let nothing = (Scalar::Bool, 0, 0);
    let operands = op.operands().map(|id| id as u64 + 1);
    let mut three = [0; 3];
    three.iter_mut().zip(operands).for_each(|(to, operand)| *to = operand);
    let (number, rest) = match op {
        Op::Constant(number) => (0, number.bits()),
        Op::Input(Input::Field(side, field, component)) => {
            (1 + side as u32, (Scalar::Bool, field as u64, component as u64))
        }
        Op::Input(Input::Parameter(parameter, component)) => (3, (Scalar::Bool, parameter as u64, component as u64)),
        Op::Input(Input::Limb(limb)) => match limb {
            LimbInput::Column(side, column) => (14 + side as u32, (Scalar::Bool, column as u64, 0)),
            LimbInput::Value(value) => (16, (Scalar::Bool, value as u64, 0)),
            LimbInput::Address => (17, nothing),
            LimbInput::Variable(variable) => (18, (Scalar::Bool, variable as u64, 0)),
            LimbInput::Other(variable) => (19, (Scalar::Bool, variable as u64, 0)),
        },
        Op::Element(table, _) => (4, (Scalar::Bool, table as u64, 0)),
        Op::Convert(_) => (5, nothing),
        Op::One(function, _) => (6, (Scalar::Bool, function as u64, 0)),
        Op::Two(two, ..) => (7, (Scalar::Bool, two as u64, 0)),
        Op::MulAdd { negated: [product, term], .. } => (8, (Scalar::Bool, u64::from(product), u64::from(term))),
        Op::Compare(comparison, ..) => (9, (Scalar::Bool, comparison as u64, 0)),
        Op::And(..) => (10, nothing),
        Op::Or(..) => (11, nothing),
        Op::Not(_) => (12, nothing),
        Op::Select(..) => (13, nothing),
    };
    (number, three, scalar, rest)
}

impl Builder {
    /// Begins a list.
    pub fn new(plain: bool) -> Result<Builder> {
        Ok(Builder { nodes: memory::room(ROOM, WHAT)?, known: HashMap::new(), plain, lost: None })
    }

    /// Fails if there was no memory for some operation.
    pub fn check_memory(&self) -> Result<()> {
        self.lost.clone().map_or(Ok(()), Err)
    }

    /// Sees to it that there is memory for one more operation.
    fn has_room(&mut self) -> bool {
        let room = memory::reserve(&mut self.nodes, 1, WHAT).and_then(|()| match self.plain {
            true => Ok(()),
            false => memory::reserve_entry(&mut self.known, WHAT),
        });
        if let Err(error) = room {
            self.lost.get_or_insert(error);
        }
        self.lost.is_none()
    }

    /// The number of operations so far.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// The operation at a place.
    pub fn node(&self, id: Id) -> Node {
        self.nodes[id]
    }

    /// Whether the list is longer than any list may be.
    pub fn is_full(&self) -> bool {
        self.nodes.len() > MAX_NODES
    }

    /// Returns the value of an operation that is known already.
    pub fn constant(&self, id: Id) -> Option<Number> {
        match self.nodes[id].op {
            Op::Constant(number) => Some(number),
            _ => None,
        }
    }

    /// Adds a number.
    pub fn number(&mut self, scalar: Scalar, number: DoubleDouble) -> Id {
        self.add(Op::Constant(Number::of(scalar, number)), scalar)
    }

    /// Adds a condition that always or never holds.
    pub fn truth(&mut self, value: bool) -> Id {
        self.number(Scalar::Bool, if value { Double::ONE } else { Double::ZERO })
    }

    /// Adds an operation, or finds it.
    pub fn add(&mut self, op: Op, scalar: Scalar) -> Id {
        let op = op.ordered(&self.nodes);
        let stage = match op {
            Op::Constant(_) => Stage::Constant,
            Op::Input(Input::Field(Side::I, ..)) => Stage::Sink,
            Op::Input(Input::Field(Side::J, ..)) => Stage::Source,
            Op::Input(Input::Parameter(..)) => Stage::Run,
            Op::Input(Input::Limb(limb)) => match limb {
                LimbInput::Column(Side::I, _) => Stage::Sink,
                LimbInput::Column(Side::J, _) | LimbInput::Address => Stage::Source,
                LimbInput::Value(_) => Stage::Run,
                LimbInput::Variable(_) | LimbInput::Other(_) => Stage::Pair,
            },
            _ => {
                let operands = op.operands().map(|id| self.nodes[id].stage).fold(Stage::Constant, Stage::joined);
                if matches!(op, Op::Element(..)) { operands.joined(Stage::Run) } else { operands }
            }
        };
        if stage == Stage::Constant && !matches!(op, Op::Constant(_)) {
            let number = compute(op, scalar, |id| self.constant(id).unwrap_or(Number::Bool(false)));
            return self.add(Op::Constant(number), scalar);
        }
        // A condition that is known decides.
        let known = |id: Id| self.constant(id).map(Number::holds);
        let decided = match op {
            Op::Select(condition, yes, no) => known(condition).map(|holds| if holds { yes } else { no }),
            Op::And(a, b) if known(a) == Some(true) => Some(b),
            Op::And(a, b) if known(b) == Some(true) => Some(a),
            Op::Or(a, b) if known(a) == Some(false) => Some(b),
            Op::Or(a, b) if known(b) == Some(false) => Some(a),
            _ => None,
        };
        if let Some(id) = decided {
            return id;
        }
        // The first operation stands for all that are lost.
        if !self.has_room() && !self.nodes.is_empty() {
            return 0;
        }
        let nodes = &mut self.nodes;
        if self.plain {
            nodes.push(Node { op, scalar, stage });
            return nodes.len() - 1;
        }
        *self.known.entry(key(op, scalar)).or_insert_with(|| {
            nodes.push(Node { op, scalar, stage });
            nodes.len() - 1
        })
    }

    /// Returns the list without the operations that none of these needs, which are renamed.
    pub fn finish<'a>(self, roots: impl Iterator<Item = &'a mut Id>) -> Result<Vec<Node>> {
        self.check_memory()?;
        let roots = memory::collected(roots, WHAT)?;
        let mut needed = memory::filled(self.nodes.len(), false, WHAT)?;
        roots.iter().for_each(|root| needed[**root] = true);
        for id in (0..self.nodes.len()).rev() {
            if needed[id] {
                self.nodes[id].op.operands().for_each(|operand| needed[operand] = true);
            }
        }
        let mut places = memory::filled(self.nodes.len(), 0, WHAT)?;
        let mut kept = Vec::new();
        for (id, node) in self.nodes.iter().enumerate().filter(|(id, _)| needed[*id]) {
            places[id] = kept.len();
            memory::push(&mut kept, Node { op: node.op.renamed(|operand| places[operand]), ..*node }, WHAT)?;
        }
        roots.into_iter().for_each(|root| *root = places[*root]);
        Ok(kept)
    }
}
