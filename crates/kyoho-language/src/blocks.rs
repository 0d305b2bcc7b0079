//! Blocks of numbers: a list of operations, each of which is done for all sources of a chunk before
//! the next one begins. The compiler makes vectors of the loops, for each instruction set.
//!
//! The order of addition and each operation are the same on every instruction set, so that results
//! are too.

mod interpreter;
mod joins;
mod numbers;
mod search;

use kyoho_core::{Error, Level, Result, memory};

use crate::list::{Comparison, Function, Two};
#[cfg(target_arch = "x86_64")]
use crate::machine_code::MachineCode;
use crate::types::Scalar;
use interpreter::{Memory, portable};
#[cfg(target_arch = "x86_64")]
use interpreter::{avx2, avx512};
pub use numbers::{bits, number};

/// The number of sources of a block.
pub const LANES: usize = kyoho_core::CHUNK;
/// The number of sums of a block that are made side by side.
pub(super) const SUMS: usize = 32;
/// The number of them that a loop makes at once.
const SIDE: usize = 16;

/// A number as memory holds it, whatever its type.
pub type Bits = [u64; 2];

/// The place of a column in a block's memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column(pub usize);

/// An operand of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A number for each source.
    Lanes(Column),
    /// One number for all sources: its place in the row of the sink.
    Uniform(usize),
}

/// An operation on blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// Writes one number to every lane.
    Broadcast(Scalar),
    /// The nearest number of another type.
    Convert(Scalar, Scalar),
    /// A function of one number.
    One(Function, Scalar),
    /// A function of two numbers.
    Two(Two, Scalar),
    /// A function of a number of two limbs and one of one limb.
    Limb(Two, Scalar),
    /// A multiply-add, with the product or the term negated.
    MulAdd(Scalar, [bool; 2]),
    /// A comparison.
    Compare(Comparison, Scalar),
    /// Both conditions.
    And,
    /// One of two conditions.
    Or,
    /// Not the condition.
    Not,
    /// One of two numbers, as a condition says.
    Select(Scalar),
    /// An element of a table.
    Element(Scalar, usize),
}

/// A step of a program. Operands that the action does not have repeat the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The operation.
    pub action: Action,
    /// The column that is written, which is none of the operands.
    pub to: Column,
    /// The operands.
    pub operands: [Operand; 3],
}

/// How the terms of a block are joined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Joining {
    /// The sum of the terms, or of their products with the second column.
    Sum {
        /// A second factor.
        second: Option<Column>,
        /// Whether the sum is negated.
        negative: bool,
    },
    /// The least or the greatest term.
    Extreme {
        /// Whether it is the greatest.
        greatest: bool,
    },
    /// The number of sources for which the condition holds.
    Count,
}

/// What is made of a column of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Join {
    /// The way.
    pub joining: Joining,
    /// The type of the terms; of counts, that of conditions.
    pub scalar: Scalar,
    /// The column.
    pub term: Column,
    /// The condition under which a source counts.
    pub condition: Option<Column>,
}

/// The bytes of a column.
pub fn column_bytes(scalar: Scalar) -> usize {
    LANES * scalar.size()
}

/// Memory of a block, a line of a cache at a time.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// The columns of a block.
pub struct Block {
    lines: Vec<Line>,
}

impl Block {
    /// Makes a block with this many bytes.
    pub fn new(bytes: usize) -> Result<Block> {
        Ok(Block { lines: memory::filled(bytes.div_ceil(64), Line([0; 64]), "the columns of a block")? })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: lines are bytes without gaps.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * 64) }
    }

    /// The bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * 64) }
    }

    /// Writes a number to a lane of a column.
    pub fn set(&mut self, scalar: Scalar, column: Column, lane: usize, value: Bits) {
        let mut put = |place: usize, size: usize, bits: u64| {
            let from = column.0 + place;
            self.bytes_mut()[from..from + size].copy_from_slice(&bits.to_ne_bytes()[..size]);
        };
        match scalar {
            Scalar::Ff => (0..2).for_each(|limb| put((limb * LANES + lane) * 4, 4, value[limb])),
            Scalar::Dd => (0..2).for_each(|limb| put((limb * LANES + lane) * 8, 8, value[limb])),
            Scalar::F64 => put(lane * 8, 8, value[0]),
            _ => put(lane * 4, 4, value[0]),
        }
    }

    /// Writes doubles to the first lanes of a column.
    pub fn write(&mut self, column: Column, numbers: impl Iterator<Item = f64>) {
        let bytes = self.bytes_mut()[column.0..].as_chunks_mut().0.iter_mut().take(LANES);
        bytes.zip(numbers).for_each(|(to, number)| *to = number.to_ne_bytes());
    }

    /// Reads a number from a lane of a column.
    pub fn get(&self, scalar: Scalar, column: Column, lane: usize) -> Bits {
        let take = |place: usize, size: usize| {
            let from = column.0 + place;
            let mut bytes = [0; 8];
            bytes[..size].copy_from_slice(&self.bytes()[from..from + size]);
            u64::from_ne_bytes(bytes)
        };
        match scalar {
            Scalar::Ff => [0, 1].map(|limb| take((limb * LANES + lane) * 4, 4)),
            Scalar::Dd => [0, 1].map(|limb| take((limb * LANES + lane) * 8, 8)),
            Scalar::F64 => [take(lane * 8, 8), 0],
            _ => [take(lane * 4, 4), 0],
        }
    }
}

/// A list of steps that stay within a block, for one instruction set.
#[derive(Debug, Clone)]
pub struct Steps {
    steps: Vec<Step>,
    joins: Vec<Join>,
    level: Level,
    /// The steps as machine code, where they could be translated.
    #[cfg(target_arch = "x86_64")]
    machine_code: Option<MachineCode>,
    /// The bytes of the block, and the numbers of the row, that it needs.
    bytes: usize,
    row: usize,
}

impl Steps {
    /// Takes steps and what is made of their columns, once it is known that they are sound. Only the
    /// columns `kept` are read after the joins.
    pub fn new(steps: Vec<Step>, joins: Vec<Join>, kept: &[(Scalar, Column)], level: Level) -> Result<Steps> {
        let defect = || Error::Internal { what: "a step of a pair program is not sound".into() };
        if !level.is_available() {
            return Err(Error::Internal { what: format!("this CPU has no {}", level.name()) });
        }
        let (mut bytes, mut row) = (0, 0);
        for step in &steps {
            let (to, operands) = types(step.action);
            if !step.to.0.is_multiple_of(64) {
                return Err(defect());
            }
            let end = step.to.0 + column_bytes(to);
            bytes = bytes.max(end);
            for (operand, scalar) in step.operands.iter().zip(operands) {
                match (operand, scalar) {
                    (_, None) => (),
                    (Operand::Uniform(place), _) => row = row.max(place + 1),
                    (Operand::Lanes(from), Some(scalar)) => {
                        let last = from.0 + column_bytes(scalar);
                        if !from.0.is_multiple_of(64) || (from.0 < end && step.to.0 < last) {
                            return Err(defect());
                        }
                        bytes = bytes.max(last);
                    }
                }
            }
        }
        for join in &joins {
            let second = match join.joining {
                Joining::Sum { second, .. } => second,
                _ => None,
            };
            let columns = [(Some(join.term), join.scalar), (second, join.scalar), (join.condition, Scalar::Bool)];
            for (column, scalar) in columns.into_iter().filter_map(|(column, scalar)| Some((column?, scalar))) {
                if !column.0.is_multiple_of(64) {
                    return Err(defect());
                }
                bytes = bytes.max(column.0 + column_bytes(scalar));
            }
        }
        for (scalar, column) in kept {
            bytes = bytes.max(column.0 + column_bytes(*scalar));
        }
        let mut all = Steps {
            steps,
            joins,
            level,
            #[cfg(target_arch = "x86_64")]
            machine_code: None,
            bytes,
            row,
        };
        #[cfg(target_arch = "x86_64")]
        if level >= Level::Avx2 && !all.joins.is_empty() {
            all.machine_code = MachineCode::new(&all.steps, &all.joins, kept, bytes);
            all.bytes = all.machine_code.as_ref().map_or(bytes, MachineCode::bytes);
        }
        Ok(all)
    }

    /// The bytes of a block that they need.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes the steps for a block with a row of uniform numbers, and joins the first `count` terms.
    /// `joined` gets a number for each join.
    pub fn run(&self, block: &mut Block, row: &[Bits], tables: &[Vec<Bits>], count: usize, joined: &mut [Bits]) {
        assert!(block.lines.len() * 64 >= self.bytes && row.len() >= self.row && joined.len() >= self.joins.len());
        let memory = Memory::of(block);
        let count = count.min(LANES);
        #[cfg(target_arch = "x86_64")]
        if let Some(code) = &self.machine_code {
            // SAFETY: `new` has seen that the CPU has the instructions, and the block and the row are
            // large enough.
            unsafe { code.run(memory.base(), row, tables, count) };
            for (number, (join, joined)) in self.joins.iter().zip(joined).enumerate() {
                *joined = joined_number(block, join, code.joined(number));
            }
            return;
        }
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `new` has seen that the CPU has the instructions.
            Level::Avx512 => unsafe { avx512::run(self, memory, row, tables, count, joined) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `new` has seen that the CPU has the instructions.
            Level::Avx2 => unsafe { avx2::run(self, memory, row, tables, count, joined) },
            _ => portable::run(self, memory, row, tables, count, joined),
        }
    }
}

/// Returns the number of a join that machine code left at a place.
#[cfg(target_arch = "x86_64")]
fn joined_number(block: &Block, join: &Join, place: usize) -> Bits {
    let word = u64::from_le_bytes(std::array::from_fn(|byte| block.bytes()[place + byte]));
    let is_negative = matches!(join.joining, Joining::Sum { negative: true, .. });
    match join.scalar {
        Scalar::F64 if is_negative => [word ^ 1 << 63, 0],
        Scalar::F64 => [word, 0],
        Scalar::F32 if is_negative => [u64::from(word as u32 ^ 1 << 31), 0],
        _ if is_negative => [u64::from((word as u32).wrapping_neg()), 0],
        _ => [u64::from(word as u32), 0],
    }
}

/// The types of the result and of the operands of an action.
pub(super) fn types(action: Action) -> (Scalar, [Option<Scalar>; 3]) {
    use Scalar::{Bool, U32};
    match action {
        Action::Broadcast(scalar) => (scalar, [Some(scalar), None, None]),
        Action::Convert(from, to) => (to, [Some(from), None, None]),
        Action::One(_, scalar) => (scalar, [Some(scalar), None, None]),
        Action::Two(_, scalar) => (scalar, [Some(scalar), Some(scalar), None]),
        Action::Limb(_, scalar) => (scalar, [Some(scalar), scalar.limb(), None]),
        Action::MulAdd(scalar, _) => (scalar, [Some(scalar); 3]),
        Action::Compare(_, scalar) => (Bool, [Some(scalar), Some(scalar), None]),
        Action::And | Action::Or => (Bool, [Some(Bool), Some(Bool), None]),
        Action::Not => (Bool, [Some(Bool), None, None]),
        Action::Select(scalar) => (scalar, [Some(Bool), Some(scalar), Some(scalar)]),
        Action::Element(scalar, _) => (scalar, [Some(U32), None, None]),
    }
}
