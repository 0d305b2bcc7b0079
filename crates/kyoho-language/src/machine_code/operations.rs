//! Instructions for the operations of a pair.

use super::assembler::*;
use super::registers::{Home, Registers};
use super::translation::{MOMENT, Translation};
use crate::blocks::{self, Action};
use crate::list::{Comparison, Function, Two};
use crate::types::Scalar;

/// Whether there are instructions for an action.
pub fn is_translated(action: Action) -> bool {
    use Scalar::{Bool, F32, F64, I32};
    let (to, operands) = blocks::types(action);
    let is_single = std::iter::once(to).chain(operands.into_iter().flatten()).all(|scalar| scalar.limb().is_none());
    is_single
        && match action {
            Action::One(function, scalar) => {
                use Function::{Abs, Floor, Negative, Rsqrt, Sqrt};
                matches!(function, Negative | Abs) || (scalar.is_real() && matches!(function, Floor | Sqrt | Rsqrt))
            }
            Action::Two(two, scalar) => two != Two::Pow && (scalar.is_real() || two != Two::Div),
            Action::Convert(from, to) => from == to || matches!((from, to), (F32, F64) | (F64, F32) | (I32, F32 | F64)),
            Action::Compare(_, scalar) => scalar != Bool,
            Action::Element(scalar, _) => scalar != Bool,
            Action::Limb(..) => false,
            _ => true,
        }
}

impl Translation<'_> {
    /// Writes a step, whose place in the list says which values are needed again.
    pub fn step(&mut self, place: usize, action: Action, operands: &[usize], result: usize) {
        let (to_scalar, scalars) = blocks::types(action);
        let of = scalars[0].unwrap_or(to_scalar);
        let is_double = of == Scalar::F64;
        let is_long = self.registers.is_long(of);
        match action {
            Action::MulAdd(_, negated) => self.multiply_add(place, negated, is_double, operands, result),
            Action::Two(two, _) => self.two(place, two, of, operands, result),
            Action::And => self.simple(place, AND, true, operands[0], operands[1], result),
            Action::Or => self.simple(place, OR, true, operands[0], operands[1], result),
            Action::Not => {
                let from = self.registers.register(operands[0]);
                let to = self.result(place, operands, result);
                self.inverted(true, to, from);
            }
            Action::Compare(comparison, _) => self.compare(place, comparison, of, operands, result),
            Action::Select(scalar) => {
                let mask = self.registers.register(operands[0]);
                let mask = self.mask_of(mask, scalar);
                let no = self.registers.register(operands[2]);
                let yes = self.registers.operand(operands[1]);
                let to = self.result(place, operands, result);
                self.registers.assembler.blend(self.registers.is_long(scalar), to, no, yes, mask);
            }
            Action::One(function, _) => self.one(place, function, of, operands, result),
            Action::Convert(from, to) => {
                let instruction = match (from, to) {
                    (Scalar::F32, Scalar::F64) => Some(TO_DOUBLE),
                    (Scalar::F64, Scalar::F32) => Some(TO_SINGLE),
                    (Scalar::I32, Scalar::F32) => Some(WHOLE_TO_SINGLE),
                    (Scalar::I32, Scalar::F64) => Some(WHOLE_TO_DOUBLE),
                    _ => None,
                };
                let is_long = is_long || to == Scalar::F64;
                match instruction {
                    Some(instruction) => {
                        let from = self.registers.operand(operands[0]);
                        let to = self.result(place, operands, result);
                        self.registers.assembler.two(instruction, is_long, to, from);
                    }
                    None => self.copied(place, operands, result),
                }
            }
            Action::Element(scalar, table) => {
                let index = self.registers.register(operands[0]);
                let to = self.result(place, operands, result);
                let (is_double, is_long) = (scalar == Scalar::F64, self.registers.is_long(scalar));
                let words = self.registers.is_long(Scalar::U32);
                let [mask, places] = MOMENT;
                let entry = (table * size_of::<super::Table>()) as i32;
                let last = Address { base: R8, index: None, displacement: entry + 8 };
                let assembler = &mut self.registers.assembler;
                assembler.two(BROADCAST, words, mask, Operand::Memory(last));
                // Lanes that do not count may have any index.
                assembler.three(MIN_UNSIGNED, words, places, index, Operand::Register(mask));
                assembler.twice(words, places, places);
                assembler.load_r11(entry);
                assembler.three(EQUAL_WHOLE, true, mask, mask, Operand::Register(mask));
                assembler.gather(is_double, is_long, to, R11, places, mask);
            }
            Action::Broadcast(_) | Action::Limb(..) => (),
        }
    }

    /// Returns the register of the result, which may be one of an operand that is not needed again.
    fn result(&mut self, place: usize, operands: &[usize], result: usize) -> Vector {
        self.registers.used(place, operands);
        let to = self.registers.free();
        self.registers.hold(to, result);
        to
    }

    /// Returns a register for the result that is none of the operands'.
    fn other_result(&mut self, result: usize) -> Vector {
        let to = self.registers.free();
        self.registers.hold(to, result);
        to
    }

    fn simple(&mut self, place: usize, of: Instruction, is_long: bool, first: usize, last: usize, result: usize) {
        let from = self.registers.register(first);
        let last_operand = self.registers.operand(last);
        let to = self.result(place, &[first, last], result);
        self.registers.assembler.three(of, is_long, to, from, last_operand);
    }

    fn copied(&mut self, place: usize, operands: &[usize], result: usize) {
        let from = self.registers.register(operands[0]);
        let to = self.result(place, operands, result);
        self.registers.assembler.copy(to, from);
    }

    /// Writes the other conditions.
    fn inverted(&mut self, is_long: bool, to: Vector, from: Vector) {
        let ones = MOMENT[0];
        let assembler = &mut self.registers.assembler;
        assembler.three(EQUAL_WHOLE, is_long, ones, ones, Operand::Register(ones));
        assembler.three(XOR, is_long, to, from, Operand::Register(ones));
    }

    fn two(&mut self, place: usize, two: Two, of: Scalar, operands: &[usize], result: usize) {
        let [a, b] = [operands[0], operands[1]];
        let is_long = self.registers.is_long(of);
        if of.is_real() {
            let instruction = match two {
                Two::Add => ADD,
                Two::Sub => SUB,
                Two::Mul => MUL,
                Two::Div => DIV,
                Two::Min => MIN,
                _ => MAX,
            };
            let instruction = instruction.double(of == Scalar::F64);
            // Where neither is better the machine gives the last operand, and the language the first.
            let is_turned = match two {
                Two::Min | Two::Max => true,
                Two::Add | Two::Mul => self.registers.values[a].register.is_none(),
                _ => false,
            };
            let (first, last) = if is_turned { (b, a) } else { (a, b) };
            return self.simple(place, instruction, is_long, first, last, result);
        }
        let is_signed = of == Scalar::I32;
        let instruction = match two {
            Two::Add => ADD_WHOLE,
            Two::Sub => SUB_WHOLE,
            Two::Mul => MUL_WHOLE,
            Two::Min if is_signed => MIN_SIGNED,
            Two::Min => MIN_UNSIGNED,
            _ if is_signed => MAX_SIGNED,
            _ => MAX_UNSIGNED,
        };
        self.simple(place, instruction, is_long, a, b, result);
    }

    fn multiply_add(&mut self, place: usize, negated: [bool; 2], is_double: bool, operands: &[usize], result: usize) {
        let is_long = self.registers.is_long(if is_double { Scalar::F64 } else { Scalar::F32 });
        let [a, b, c] = [operands[0], operands[1], operands[2]];
        let registers = &mut self.registers;
        // The instruction writes to one of its operands.
        let is_lost = |registers: &Registers, value: usize| {
            registers.values[value].uses.len() <= 1 && registers.values[value].register.is_some()
        };
        let lost = [c, a, b].into_iter().find(|value| is_lost(registers, *value));
        let (adds_to_result, to, factor, last) = match lost {
            Some(value) if value == c => {
                let to = registers.register(c);
                (true, to, registers.register(a), registers.operand(b))
            }
            Some(value) => {
                let other = if value == a { b } else { a };
                let to = registers.register(value);
                (false, to, registers.register(other), registers.operand(c))
            }
            None => {
                let (factor, last) = (registers.register(a), registers.operand(b));
                let to = registers.free();
                match (registers.values[c].register, registers.values[c].home) {
                    (None, Some(Home::Alike(from))) => registers.assembler.load(is_long, to, from),
                    _ => {
                        let from = registers.register(c);
                        registers.assembler.copy(to, from);
                    }
                }
                (true, to, factor, last)
            }
        };
        registers.assembler.multiply_add(adds_to_result, negated, is_double, is_long, to, factor, last);
        registers.used(place, operands);
        registers.hold(to, result);
    }

    fn one(&mut self, place: usize, function: Function, of: Scalar, operands: &[usize], result: usize) {
        let (is_double, is_long) = (of == Scalar::F64, self.registers.is_long(of));
        let sign = if is_double { 1 << 63 } else { 1 << 31 };
        let ones = if is_double { u64::MAX } else { u64::from(u32::MAX) };
        let number = operands[0];
        match function {
            Function::Negative | Function::Abs if of.is_real() => {
                let is_negative = function == Function::Negative;
                let (instruction, bits) = if is_negative { (XOR, sign) } else { (AND, ones ^ sign) };
                let mask = self.constant(is_double, bits);
                let from = self.registers.register(number);
                let to = self.result(place, operands, result);
                self.registers.assembler.three(instruction, is_long, to, from, mask);
            }
            Function::Negative => {
                let from = self.registers.operand(number);
                let to = self.result(place, operands, result);
                let zero = MOMENT[0];
                self.registers.assembler.three(XOR, is_long, zero, zero, Operand::Register(zero));
                self.registers.assembler.three(SUB_WHOLE, is_long, to, zero, from);
            }
            Function::Abs if of == Scalar::I32 => {
                let from = self.registers.operand(number);
                let to = self.result(place, operands, result);
                self.registers.assembler.two(ABS_WHOLE, is_long, to, from);
            }
            Function::Abs => self.copied(place, operands, result),
            Function::Floor => {
                let from = self.registers.operand(number);
                let to = self.result(place, operands, result);
                self.registers.assembler.floor(is_double, is_long, to, from);
            }
            _ => {
                let one = if is_double { 1f64.to_bits() } else { u64::from(1f32.to_bits()) };
                let from = self.registers.operand(number);
                let to = self.result(place, operands, result);
                self.registers.assembler.two(SQRT.double(is_double), is_long, to, from);
                if function == Function::Rsqrt
                    && let Operand::Memory(one) = self.constant(is_double, one)
                {
                    self.registers.assembler.load(is_long, MOMENT[0], one);
                    let divide = DIV.double(is_double);
                    self.registers.assembler.three(divide, is_long, to, MOMENT[0], Operand::Register(to));
                }
            }
        }
    }

    fn compare(&mut self, place: usize, comparison: Comparison, of: Scalar, operands: &[usize], result: usize) {
        let is_long = self.registers.is_long(of);
        let a = self.registers.register(operands[0]);
        let b = self.registers.register(operands[1]);
        let to = self.other_result(result);
        let assembler = &mut self.registers.assembler;
        if of.is_real() {
            // Ordered but for the last one, and quiet.
            let kind = match comparison {
                Comparison::Less => 17,
                Comparison::LessEqual => 18,
                Comparison::Equal => 0,
                Comparison::NotEqual => 4,
            };
            assembler.numbered(COMPARE.double(of == Scalar::F64), is_long, to, a, Operand::Register(b), kind);
        } else {
            let is_signed = of == Scalar::I32;
            let is_inverted = match comparison {
                Comparison::Equal | Comparison::NotEqual => {
                    assembler.three(EQUAL_WHOLE, is_long, to, a, Operand::Register(b));
                    comparison == Comparison::NotEqual
                }
                Comparison::Less if is_signed => {
                    assembler.three(GREATER_SIGNED, is_long, to, b, Operand::Register(a));
                    false
                }
                Comparison::LessEqual if is_signed => {
                    assembler.three(GREATER_SIGNED, is_long, to, a, Operand::Register(b));
                    true
                }
                // Of integers without sign: whether the greater one is the other one.
                _ => {
                    let other = if comparison == Comparison::Less { a } else { b };
                    assembler.three(MAX_UNSIGNED, is_long, to, a, Operand::Register(b));
                    assembler.three(EQUAL_WHOLE, is_long, to, to, Operand::Register(other));
                    comparison == Comparison::Less
                }
            };
            if is_inverted {
                self.inverted(is_long, to, to);
            }
        }
        if !is_long {
            self.registers.assembler.two(WIDEN, true, to, Operand::Register(to));
        }
        self.registers.used(place, operands);
    }
}
