//! From steps to instructions.

use std::collections::HashMap;

use super::assembler::*;
use super::list::{Item, List, WHAT, Work};
use super::operations::is_translated;
use super::registers::{Home, MOST, Registers};
use super::{LANES, SUMS};
use crate::blocks::{self, Bits, Column, Join, Joining, Step};
use crate::types::Scalar;
use kyoho_core::memory;

/// Registers for the moment, which no value keeps.
pub const MOMENT: [Vector; 2] = [14, 15];
/// The most sums that stay in registers.
const PINNED: usize = 6;
/// The bytes of what a join leaves, and of a number of the row.
const SLOT: usize = 32;
const ROW: usize = size_of::<Bits>();

/// The code, and what its caller has to know.
pub struct Translated {
    pub code: Vec<u8>,
    pub entries: [usize; 2],
    pub has_doubles: bool,
    pub bytes: usize,
    pub joined: Vec<usize>,
}

/// Translates steps; see [`super::MachineCode::new`].
pub fn translate(steps: &[Step], joins: &[Join], kept: &[(Scalar, Column)], bytes: usize) -> Option<Translated> {
    let is_known = steps.iter().all(|step| is_translated(step.action))
        && joins.iter().all(|join| join.scalar.limb().is_none())
        && kept.iter().all(|(scalar, _)| scalar.limb().is_none());
    if !is_known {
        return None;
    }
    let types = steps.iter().flat_map(|step| {
        let (to, operands) = blocks::types(step.action);
        std::iter::once(to).chain(operands.into_iter().flatten())
    });
    let has_doubles = types.chain(joins.iter().map(|join| join.scalar)).any(|scalar| scalar == Scalar::F64);
    let sums = bytes.next_multiple_of(64);
    let results = sums + joins.len() * SUMS * 8;
    let mut end = results + joins.len() * SLOT;
    let mut code = Vec::new();
    let mut add = |is_whole: bool| -> Option<usize> {
        let entry = code.len();
        let list = List::new(steps, joins, kept, is_whole, has_doubles).ok()?;
        let pinned = joins.len().min(PINNED);
        let count = MOST - pinned as Vector;
        let registers = Registers::new(Assembler::default(), list.values, count, has_doubles, end);
        let mut translation = Translation { registers, constants: Vec::new(), joins, sums, results, pinned };
        let begin = translation.rows(&list.rows);
        translation.loops(&list.items);
        translation.reduce();
        end = end.max(translation.registers.end());
        let constants = translation.constants();
        for part in [begin, constants, translation.registers.assembler] {
            if part.is_lost {
                return None;
            }
            memory::reserve(&mut code, part.code.len(), WHAT).ok()?;
            code.extend(part.code);
        }
        Some(entry)
    };
    let entries = [add(false)?, add(true)?];
    let joined = memory::collected((0..joins.len()).map(|join| results + join * SLOT), WHAT).ok()?;
    Some(Translated { code, entries, has_doubles, bytes: end, joined })
}

/// The type of the numbers in which a join ends.
fn summed(join: &Join) -> Scalar {
    if join.joining == Joining::Count { Scalar::U32 } else { join.scalar }
}

pub struct Translation<'a> {
    pub registers: Registers,
    /// Numbers that instructions read from memory, with their places: doubles or words.
    constants: Vec<(bool, u64, Address)>,
    joins: &'a [Join],
    /// The places of the sums of rows, and of the numbers that joins leave.
    sums: usize,
    results: usize,
    pinned: usize,
}

impl Translation<'_> {
    /// Returns instructions that spread the numbers of the row.
    fn rows(&mut self, rows: &HashMap<usize, usize>) -> Assembler {
        let rows = memory::collected(rows.iter().map(|(place, value)| (*place, *value)), WHAT);
        self.registers.assembler.is_lost |= rows.is_err();
        let mut rows = rows.unwrap_or_default();
        rows.sort_unstable();
        for (place, value) in rows {
            let from = Address { base: RSI, index: None, displacement: (place * ROW) as i32 };
            let scalar = self.registers.values[value].scalar;
            let slot = self.registers.spread(scalar, from, MOMENT[0]);
            self.registers.values[value].home = Some(Home::Alike(slot));
        }
        std::mem::take(&mut self.registers.assembler)
    }

    /// Returns instructions that write the constants.
    fn constants(&self) -> Assembler {
        let mut assembler = Assembler::default();
        for (is_double, bits, place) in &self.constants {
            assembler.constant(*is_double, MOMENT[0], *bits);
            assembler.store(true, *place, MOMENT[0]);
        }
        assembler
    }

    /// Returns the place of a number that is in every lane.
    pub fn constant(&mut self, is_double: bool, bits: u64) -> Operand {
        let known = self.constants.iter().find(|(double, known, _)| (*double, *known) == (is_double, bits));
        Operand::Memory(match known {
            Some((_, _, place)) => *place,
            None => {
                let place = self.registers.slot();
                if memory::push(&mut self.constants, (is_double, bits, place), WHAT).is_err() {
                    self.registers.assembler.is_lost = true;
                }
                place
            }
        })
    }

    /// Writes the loops over sums and lanes.
    fn loops(&mut self, items: &[Item]) {
        let lanes = if self.registers.has_doubles { 4 } else { 8 };
        self.registers.assembler.clear_r9();
        let begin_rows = self.registers.assembler.here();
        for number in 0..self.joins.len() {
            self.start(number);
        }
        self.registers.assembler.begin_lanes();
        let begin_lanes = self.registers.assembler.here();
        for (place, item) in items.iter().enumerate() {
            match item.work {
                Work::Step(action) => {
                    if let Some(result) = item.result {
                        self.step(place, action, &item.operands, result);
                    }
                }
                Work::Keep(column) => self.keep(column, item.operands[0]),
                Work::Join { number, is_conditional } => self.join(number, is_conditional, &item.operands),
            }
            self.registers.used(place, &item.operands);
            self.registers.end_step();
        }
        self.registers.assembler.end_lanes(4 * SUMS as i32, begin_lanes);
        for number in 0..self.pinned {
            let (is_long, sum) = (self.registers.is_long(summed(&self.joins[number])), self.sum(number));
            self.registers.assembler.store(is_long, sum, MOST - 1 - number as Vector);
        }
        self.registers.assembler.end_rows(4 * lanes, 4 * SUMS as i32, begin_rows);
    }

    /// The place of a sum of the rows at hand.
    fn sum(&self, number: usize) -> Address {
        Address::behind(self.sums + number * SUMS * 8, R9, summed(&self.joins[number]) == Scalar::F64)
    }

    /// Gives a sum its value before the first source.
    fn start(&mut self, number: usize) {
        let join = &self.joins[number];
        let to = if number < self.pinned { MOST - 1 - number as Vector } else { MOMENT[0] };
        match join.joining {
            Joining::Extreme { greatest } => {
                let [bits, _] = blocks::bits(crate::extreme(join.scalar, !greatest));
                let Operand::Memory(from) = self.constant(join.scalar == Scalar::F64, bits) else { return };
                self.registers.assembler.load(true, to, from);
            }
            _ => self.registers.assembler.three(XOR, true, to, to, Operand::Register(to)),
        }
        if number >= self.pinned {
            let (is_long, sum) = (self.registers.is_long(summed(join)), self.sum(number));
            self.registers.assembler.store(is_long, sum, to);
        }
    }

    fn keep(&mut self, column: Column, value: usize) {
        let scalar = self.registers.values[value].scalar;
        let to = Address::behind(column.0, RAX, scalar == Scalar::F64);
        let register = self.registers.register(value);
        let (register, is_long) = match scalar {
            Scalar::Bool if self.registers.has_doubles => (self.narrowed(register), false),
            _ => (register, self.registers.is_long(scalar)),
        };
        self.registers.assembler.store(is_long, to, register);
    }

    /// Returns a register with conditions of 32 bits.
    fn narrowed(&mut self, mask: Vector) -> Vector {
        const EVEN: u8 = 0x88;
        let to = self.registers.free();
        let assembler = &mut self.registers.assembler;
        assembler.numbered(EXTRACT_HALF, true, mask, 0, Operand::Register(to), 1);
        assembler.numbered(SHUFFLE, false, to, mask, Operand::Register(to), EVEN);
        to
    }

    /// Returns a register with conditions as numbers of a type need them.
    pub fn mask_of(&mut self, mask: Vector, scalar: Scalar) -> Vector {
        if self.registers.is_long(scalar) { mask } else { self.narrowed(mask) }
    }

    fn join(&mut self, number: usize, is_conditional: bool, operands: &[usize]) {
        let join = self.joins[number];
        let scalar = summed(&join);
        let (is_double, is_long) = (scalar == Scalar::F64, self.registers.is_long(scalar));
        let place = self.sum(number);
        let sum = match number < self.pinned {
            true => MOST - 1 - number as Vector,
            false => {
                self.registers.assembler.load(is_long, MOMENT[1], place);
                MOMENT[1]
            }
        };
        let next = if is_conditional { MOMENT[0] } else { sum };
        let term = self.registers.register(operands[0]);
        match join.joining {
            Joining::Sum { second: Some(_), .. } => {
                let second = self.registers.operand(operands[1]);
                self.registers.assembler.copy(next, sum);
                self.registers.assembler.multiply_add(true, [false; 2], is_double, is_long, next, term, second);
            }
            Joining::Count => {
                let term = self.mask_of(term, Scalar::U32);
                self.registers.assembler.three(SUB_WHOLE, is_long, next, sum, Operand::Register(term));
            }
            _ => self.combine(&join, is_long, next, sum, term),
        }
        if is_conditional {
            let condition = self.registers.register(operands[operands.len() - 1]);
            let mask = self.mask_of(condition, scalar);
            self.registers.assembler.blend(is_long, sum, sum, Operand::Register(next), mask);
        }
        if number >= self.pinned {
            self.registers.assembler.store(is_long, place, sum);
        }
    }

    /// Joins two numbers of a join.
    fn combine(&mut self, join: &Join, is_long: bool, to: Vector, a: Vector, b: Vector) {
        let scalar = summed(join);
        let assembler = &mut self.registers.assembler;
        match join.joining {
            Joining::Extreme { greatest } => {
                let instruction = match (scalar, greatest) {
                    (Scalar::F32 | Scalar::F64, true) => MAX.double(scalar == Scalar::F64),
                    (Scalar::F32 | Scalar::F64, false) => MIN.double(scalar == Scalar::F64),
                    (Scalar::I32, true) => MAX_SIGNED,
                    (Scalar::I32, false) => MIN_SIGNED,
                    (_, true) => MAX_UNSIGNED,
                    (_, false) => MIN_UNSIGNED,
                };
                // Where neither is better these give the last operand, which is the sum.
                assembler.three(instruction, is_long, to, b, Operand::Register(a));
            }
            _ if scalar.is_real() => {
                assembler.three(ADD.double(scalar == Scalar::F64), is_long, to, a, Operand::Register(b));
            }
            _ => assembler.three(ADD_WHOLE, is_long, to, a, Operand::Register(b)),
        }
    }

    /// Writes the end: the sums of the rows are joined with those half of them behind.
    fn reduce(&mut self) {
        const SECOND: u8 = 0x55;
        for (number, join) in self.joins.iter().enumerate() {
            let is_double = summed(join) == Scalar::F64;
            let mut count: Vector = if is_double { 8 } else { 4 };
            for register in 0..count {
                let from = Address::fixed(self.sums + number * SUMS * 8 + usize::from(register) * 32);
                self.registers.assembler.load(true, register, from);
            }
            while count > 1 {
                count /= 2;
                (0..count).for_each(|register| self.combine(join, true, register, register, register + count));
            }
            self.registers.assembler.numbered(EXTRACT_HALF, true, 0, 0, Operand::Register(1), 1);
            self.combine(join, false, 0, 0, 1);
            self.registers.assembler.three(UNPACK_HIGH, false, 1, 0, Operand::Register(0));
            self.combine(join, false, 0, 0, 1);
            if !is_double {
                self.registers.assembler.numbered(SHUFFLE_WORDS, false, 1, 0, Operand::Register(0), SECOND);
                self.combine(join, false, 0, 0, 1);
            }
            self.registers.assembler.store(false, Address::fixed(self.results + number * SLOT), 0);
        }
        self.registers.assembler.end();
    }
}

const _: () = assert!(LANES.is_multiple_of(SUMS));
