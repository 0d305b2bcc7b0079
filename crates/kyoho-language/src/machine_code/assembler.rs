//! Instructions of AVX2 and FMA as bytes: those that the translation of steps needs, in the forms of
//! the Intel 64 manual, volume 2 (the VEX prefix of three bytes, displacements of four).

/// A vector register: `xmm` or `ymm` of this number.
pub type Vector = u8;

/// The general registers that are used, by their numbers in instructions.
pub const RAX: u8 = 0;
pub const RDX: u8 = 2;
pub const RSI: u8 = 6;
pub const RDI: u8 = 7;
pub const R8: u8 = 8;
pub const R9: u8 = 9;
pub const R11: u8 = 11;

/// An address: a base, an index with the logarithm of its factor, and a displacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    pub base: u8,
    pub index: Option<(u8, u8)>,
    pub displacement: i32,
}

impl Address {
    /// The address of a byte of the block.
    pub fn fixed(place: usize) -> Address {
        Address { base: RDI, index: None, displacement: place as i32 }
    }

    /// The address of what follows a byte of the block by the offset for a type in a register, which
    /// counts four bytes for a number.
    pub fn behind(place: usize, offset: u8, is_double: bool) -> Address {
        Address { base: RDI, index: Some((offset, u8::from(is_double))), displacement: place as i32 }
    }
}

/// The last operand of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    Register(Vector),
    Memory(Address),
}

/// An instruction on vectors: the mandatory prefix (0: none, 1: 66, 2: F3), the map of opcodes
/// (1: 0F, 2: 0F38, 3: 0F3A), the bit W and the opcode.
#[derive(Debug, Clone, Copy)]
pub struct Instruction {
    prefix: u8,
    map: u8,
    wide: bool,
    opcode: u8,
}

const fn instruction(prefix: u8, map: u8, wide: bool, opcode: u8) -> Instruction {
    Instruction { prefix, map, wide, opcode }
}

/// Instructions on numbers of single precision; [`Instruction::double`] makes those on doubles.
pub const ADD: Instruction = instruction(0, 1, false, 0x58);
pub const SUB: Instruction = instruction(0, 1, false, 0x5C);
pub const MUL: Instruction = instruction(0, 1, false, 0x59);
pub const DIV: Instruction = instruction(0, 1, false, 0x5E);
pub const MIN: Instruction = instruction(0, 1, false, 0x5D);
pub const MAX: Instruction = instruction(0, 1, false, 0x5F);
pub const SQRT: Instruction = instruction(0, 1, false, 0x51);
pub const COMPARE: Instruction = instruction(0, 1, false, 0xC2);

/// Instructions on bits, of any type.
pub const AND: Instruction = instruction(0, 1, false, 0x54);
pub const OR: Instruction = instruction(0, 1, false, 0x56);
pub const XOR: Instruction = instruction(0, 1, false, 0x57);
pub const SHUFFLE: Instruction = instruction(0, 1, false, 0xC6);
pub const UNPACK_HIGH: Instruction = instruction(1, 1, false, 0x15);
pub const SHUFFLE_WORDS: Instruction = instruction(1, 1, false, 0x70);
pub const EXTRACT_HALF: Instruction = instruction(1, 3, false, 0x19);
pub const BROADCAST: Instruction = instruction(1, 2, false, 0x18);
pub const BROADCAST_DOUBLE: Instruction = instruction(1, 2, false, 0x19);
const LOAD: Instruction = instruction(0, 1, false, 0x10);
const STORE: Instruction = instruction(0, 1, false, 0x11);
const MOVE: Instruction = instruction(0, 1, false, 0x28);

/// Instructions on integers of 32 bits.
pub const ADD_WHOLE: Instruction = instruction(1, 1, false, 0xFE);
pub const SUB_WHOLE: Instruction = instruction(1, 1, false, 0xFA);
pub const MUL_WHOLE: Instruction = instruction(1, 2, false, 0x40);
pub const MIN_SIGNED: Instruction = instruction(1, 2, false, 0x39);
pub const MIN_UNSIGNED: Instruction = instruction(1, 2, false, 0x3B);
pub const MAX_SIGNED: Instruction = instruction(1, 2, false, 0x3D);
pub const MAX_UNSIGNED: Instruction = instruction(1, 2, false, 0x3F);
pub const ABS_WHOLE: Instruction = instruction(1, 2, false, 0x1E);
pub const EQUAL_WHOLE: Instruction = instruction(1, 1, false, 0x76);
pub const GREATER_SIGNED: Instruction = instruction(1, 1, false, 0x66);

/// Conversions: single to double, double to single, integer to either, and of masks of 32 bits to
/// 64 bits.
pub const TO_DOUBLE: Instruction = instruction(0, 1, false, 0x5A);
pub const TO_SINGLE: Instruction = instruction(1, 1, false, 0x5A);
pub const WHOLE_TO_SINGLE: Instruction = instruction(0, 1, false, 0x5B);
pub const WHOLE_TO_DOUBLE: Instruction = instruction(2, 1, false, 0xE6);
pub const WIDEN: Instruction = instruction(1, 2, false, 0x25);

const BLEND: Instruction = instruction(1, 3, false, 0x4A);
const ROUND: [Instruction; 2] = [instruction(1, 3, false, 0x08), instruction(1, 3, false, 0x09)];
const SHIFT_BY_NUMBER: Instruction = instruction(1, 1, false, 0x72);

impl Instruction {
    /// The instruction on doubles, where `is_double`.
    pub const fn double(self, is_double: bool) -> Instruction {
        Instruction { prefix: if is_double { 1 } else { self.prefix }, ..self }
    }
}

/// A condition of jumps: not zero, or not equal.
const JUMP_IF_NOT: [u8; 2] = [0x0F, 0x85];

/// Code that grows.
#[derive(Debug, Default)]
pub struct Assembler {
    pub code: Vec<u8>,
    /// Whether there was no memory for some of it.
    pub is_lost: bool,
}

impl Assembler {
    /// Writes bytes, if there is memory for them.
    fn write(&mut self, bytes: &[u8]) {
        match self.code.try_reserve(bytes.len()) {
            Ok(()) => self.code.extend_from_slice(bytes),
            Err(_) => self.is_lost = true,
        }
    }

    /// Writes an instruction. `first` is the register in the place of the result, `second` the other
    /// source, 0 where there is none.
    fn vector(&mut self, of: Instruction, is_long: bool, first: u8, second: u8, last: Operand) {
        let bit = |number: u8| u8::from(number < 8);
        let (index, base) = match last {
            Operand::Register(register) => (0, register),
            Operand::Memory(address) => (address.index.map_or(0, |(index, _)| index), address.base),
        };
        self.write(&[0xC4]);
        self.write(&[bit(first) << 7 | bit(index) << 6 | bit(base) << 5 | of.map]);
        self.write(&[u8::from(of.wide) << 7 | (!second & 15) << 3 | u8::from(is_long) << 2 | of.prefix]);
        self.write(&[of.opcode]);
        let first = (first & 7) << 3;
        match last {
            Operand::Register(register) => self.write(&[0xC0 | first | register & 7]),
            Operand::Memory(Address { base, index, displacement }) => {
                // Index 4 of the second byte is none.
                let (index, scale) = index.unwrap_or((4, 0));
                self.write(&[0x80 | first | 4]);
                self.write(&[scale << 6 | (index & 7) << 3 | base & 7]);
                self.write(&displacement.to_le_bytes());
            }
        }
    }

    /// `to = first ? last`
    pub fn three(&mut self, of: Instruction, is_long: bool, to: Vector, first: Vector, last: Operand) {
        self.vector(of, is_long, to, first, last);
    }

    /// `to = ?(from)`
    pub fn two(&mut self, of: Instruction, is_long: bool, to: Vector, from: Operand) {
        self.vector(of, is_long, to, 0, from);
    }

    /// An instruction of three operands with a number behind it.
    pub fn numbered(&mut self, of: Instruction, is_long: bool, to: Vector, first: Vector, last: Operand, number: u8) {
        self.vector(of, is_long, to, first, last);
        self.write(&[number]);
    }

    pub fn load(&mut self, is_long: bool, to: Vector, from: Address) {
        self.vector(LOAD, is_long, to, 0, Operand::Memory(from));
    }

    pub fn store(&mut self, is_long: bool, to: Address, from: Vector) {
        self.vector(STORE, is_long, from, 0, Operand::Memory(to));
    }

    pub fn copy(&mut self, to: Vector, from: Vector) {
        if to != from {
            self.vector(MOVE, true, to, 0, Operand::Register(from));
        }
    }

    /// The greatest integers that are not greater.
    pub fn floor(&mut self, is_double: bool, is_long: bool, to: Vector, from: Operand) {
        const DOWN: u8 = 9;
        self.vector(ROUND[usize::from(is_double)], is_long, to, 0, from);
        self.write(&[DOWN]);
    }

    /// `yes` where the words of `mask` are ones, else `no`.
    pub fn blend(&mut self, is_long: bool, to: Vector, no: Vector, yes: Operand, mask: Vector) {
        self.vector(BLEND, is_long, to, no, yes);
        self.write(&[mask << 4]);
    }

    /// `to = factor * last + to` where `adds_to_result`, else `to = factor * to + last`, with the
    /// product and the term negated.
    #[expect(clippy::too_many_arguments)]
    pub fn multiply_add(
        &mut self,
        adds_to_result: bool,
        negated: [bool; 2],
        is_double: bool,
        is_long: bool,
        to: Vector,
        factor: Vector,
        last: Operand,
    ) {
        let kind = match negated {
            [false, false] => 0x8,
            [false, true] => 0xA,
            [true, false] => 0xC,
            [true, true] => 0xE,
        };
        let opcode = if adds_to_result { 0xB0 } else { 0xA0 } | kind;
        self.vector(instruction(1, 2, is_double, opcode), is_long, to, factor, last);
    }

    /// Gathers numbers from `base + 8 * index`; the mask is lost. The three registers differ.
    pub fn gather(&mut self, is_double: bool, is_long: bool, to: Vector, base: u8, index: Vector, mask: Vector) {
        let address = Address { base, index: Some((index, 3)), displacement: 0 };
        self.vector(instruction(1, 2, is_double, 0x92), is_long, to, mask, Operand::Memory(address));
    }

    /// Twice each integer.
    pub fn twice(&mut self, is_long: bool, to: Vector, from: Vector) {
        // Six in the place of the result is a shift to the left.
        self.vector(SHIFT_BY_NUMBER, is_long, 6, to, Operand::Register(from));
        self.write(&[1]);
    }

    /// Writes a number to every lane.
    pub fn constant(&mut self, is_double: bool, to: Vector, bits: u64) {
        if is_double {
            self.write(&[0x48, 0xB8]);
            self.write(&bits.to_le_bytes());
        } else {
            self.write(&[0xB8]);
            self.write(&(bits as u32).to_le_bytes());
        }
        self.vector(instruction(1, 1, is_double, 0x6E), false, to, 0, Operand::Register(RAX));
        let broadcast = if is_double { BROADCAST_DOUBLE } else { BROADCAST };
        self.two(broadcast, true, to, Operand::Register(to));
    }

    /// `r11 = [r8 + displacement]`
    pub fn load_r11(&mut self, displacement: i32) {
        self.write(&[0x4D, 0x8B, 0x98]);
        self.write(&displacement.to_le_bytes());
    }

    /// `r9 = 0`
    pub fn clear_r9(&mut self) {
        self.write(&[0x45, 0x31, 0xC9]);
    }

    /// `rax = r9; r10 = rcx`
    pub fn begin_lanes(&mut self) {
        self.write(&[0x4C, 0x89, 0xC8, 0x49, 0x89, 0xCA]);
    }

    /// The place to which a jump may go back.
    pub fn here(&self) -> usize {
        self.code.len()
    }

    fn jump_back(&mut self, to: usize) {
        self.write(&JUMP_IF_NOT);
        let distance = to as i64 - (self.code.len() as i64 + 4);
        self.write(&(distance as i32).to_le_bytes());
    }

    /// `rax += bytes; r10 -= 1`, and back unless it is zero.
    pub fn end_lanes(&mut self, bytes: i32, begin: usize) {
        self.write(&[0x48, 0x05]);
        self.write(&bytes.to_le_bytes());
        self.write(&[0x49, 0xFF, 0xCA]);
        self.jump_back(begin);
    }

    /// `r9 += bytes`, and back unless it is `end`.
    pub fn end_rows(&mut self, bytes: i32, end: i32, begin: usize) {
        self.write(&[0x49, 0x81, 0xC1]);
        self.write(&bytes.to_le_bytes());
        self.write(&[0x49, 0x81, 0xF9]);
        self.write(&end.to_le_bytes());
        self.jump_back(begin);
    }

    /// Leaves the upper halves of registers clean, and returns.
    pub fn end(&mut self) {
        self.write(&[0xC5, 0xF8, 0x77, 0xC3]);
    }
}
