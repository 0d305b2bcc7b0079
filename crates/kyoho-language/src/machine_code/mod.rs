//! Steps on blocks as machine code for CPUs with AVX2: what a step leaves stays in registers, where
//! [`super::blocks`] writes whole columns. Each operation and the order of addition are those of
//! the interpreter, so that results have the same bits.
//!
//! A vector has eight lanes, or four where doubles occur; the registers of a four-lane vector of 32
//! bits are halves, and conditions have the width of doubles. An outer loop goes over the 32 sums
//! of a block that are made side by side, as many as a vector has lanes, and an inner one adds to
//! them every 32nd source.

mod assembler;
mod list;
mod memory;
mod operations;
mod registers;
mod translation;

use std::sync::Arc;

use super::blocks::{Action, Bits, Column, Join, Step};
use crate::MAX_DECLARED;
use crate::types::Scalar;
use memory::Executable;

/// The sums of a block that are made side by side.
const SUMS: usize = super::blocks::SUMS;
const LANES: usize = super::blocks::LANES;

/// The numbers of a table, and its last index.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Table {
    numbers: *const Bits,
    last: u64,
}

/// The signature of the code: the block, the row, the lanes that count, how often 32 lanes are
/// added, and the tables.
type Entry = unsafe extern "sysv64" fn(*mut u8, *const Bits, *const u8, usize, *const Table);

/// Masks for the lanes before a number and behind it. The code reads them from `LANES` minus the
/// number of lanes that count.
const fn live<const N: usize>(word: [u8; N]) -> [[u8; N]; 2 * LANES] {
    let mut masks = [[0; N]; 2 * LANES];
    let mut lane = 0;
    while lane < LANES {
        masks[lane] = word;
        lane += 1;
    }
    masks
}

static LIVE_WORDS: [[u8; 4]; 2 * LANES] = live([0xFF; 4]);
static LIVE_DOUBLES: [[u8; 8]; 2 * LANES] = live([0xFF; 8]);

/// Steps that were translated.
#[derive(Debug, Clone)]
pub struct MachineCode {
    memory: Arc<Executable>,
    /// The places of the code for some sources of a block, and for all.
    entries: [usize; 2],
    /// Whether vectors have four lanes.
    has_doubles: bool,
    /// The bytes of the block, with the room that the code needs.
    bytes: usize,
    /// Where the code leaves the number of each join, in the block.
    joined: Vec<usize>,
    /// Whether it reads tables.
    has_tables: bool,
}

impl MachineCode {
    /// Translates steps for a block of so many bytes, in which they leave the columns `kept`. There is
    /// none for steps that have functions or numbers of two limbs, nor where the system does not let
    /// the process execute what it writes.
    pub fn new(steps: &[Step], joins: &[Join], kept: &[(Scalar, Column)], bytes: usize) -> Option<MachineCode> {
        let translated = translation::translate(steps, joins, kept, bytes)?;
        let memory = Executable::new(&translated.code);
        let memory = memory.inspect_err(|error| {
            log::debug!("pair interactions are interpreted, as machine code cannot be executed: {error}");
        });
        let has_tables = steps.iter().any(|step| matches!(step.action, Action::Element(..)));
        Some(MachineCode {
            has_tables,
            memory: Arc::new(memory.ok()?),
            entries: translated.entries,
            has_doubles: translated.has_doubles,
            bytes: translated.bytes,
            joined: translated.joined,
        })
    }

    /// The bytes of a block that it needs.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The place of the number of a join in the block.
    pub fn joined(&self, join: usize) -> usize {
        self.joined[join]
    }

    /// Takes the steps, and joins the first `count` terms.
    ///
    /// # Safety
    /// `block` has the bytes that are needed, `row` and `tables` the numbers that steps name, and the
    /// CPU has AVX2 and FMA.
    pub unsafe fn run(&self, block: *mut u8, row: &[Bits], tables: &[Vec<Bits>], count: usize) {
        const NOTHING: Bits = [0; 2];
        // Tables are parameters.
        let table = |numbers: &Vec<Bits>| match numbers.len() {
            0 => Table { numbers: &NOTHING, last: 0 },
            length => Table { numbers: numbers.as_ptr(), last: length as u64 - 1 },
        };
        let mut all = [Table { numbers: &NOTHING, last: 0 }; MAX_DECLARED];
        if self.has_tables {
            all.iter_mut().zip(tables).for_each(|(to, numbers)| *to = table(numbers));
        }
        let live = match self.has_doubles {
            true => LIVE_DOUBLES[LANES - count..].as_ptr().cast(),
            false => LIVE_WORDS[LANES - count..].as_ptr().cast::<u8>(),
        };
        let whole = usize::from(count == LANES);
        // SAFETY: code was written at this place for this signature, and stays as it is.
        let entry = unsafe {
            std::mem::transmute::<*const u8, Entry>(self.memory.base().cast::<u8>().add(self.entries[whole]))
        };
        // SAFETY: the caller's promise; the code writes to the block alone, within its bytes.
        unsafe { entry(block, row.as_ptr(), live, count.div_ceil(SUMS).max(1), all.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::{Joining, Operand, column_bytes};
    use crate::list::{Function, Two};

    fn translated(action: Action, scalar: Scalar) -> bool {
        let bytes = column_bytes(scalar);
        let [from, to] = [0, bytes].map(Column);
        let step = Step { action, to, operands: [Operand::Lanes(from); 3] };
        let joining = Joining::Sum { second: None, negative: false };
        let join = Join { joining, scalar, term: to, condition: None };
        translation::translate(&[step], &[join], &[], 2 * bytes).is_some()
    }

    #[test]
    fn arithmetic_is_translated_and_functions_are_not() {
        for scalar in [Scalar::F32, Scalar::F64] {
            assert!(translated(Action::MulAdd(scalar, [false; 2]), scalar));
            assert!(translated(Action::Two(Two::Div, scalar), scalar));
            assert!(translated(Action::One(Function::Rsqrt, scalar), scalar));
            assert!(!translated(Action::One(Function::Exp, scalar), scalar));
        }
        assert!(translated(Action::Two(Two::Mul, Scalar::I32), Scalar::I32));
        assert!(!translated(Action::Two(Two::Add, Scalar::Dd), Scalar::Dd));
    }
}
