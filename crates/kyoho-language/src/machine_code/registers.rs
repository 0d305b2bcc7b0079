//! Which value lies in which register, and where it is while none holds it.

use super::assembler::{Address, Assembler, BROADCAST, Operand, Vector, WIDEN};
use crate::types::Scalar;

/// The registers that steps may use between those that hold sums and two for the moment.
pub const MOST: Vector = 14;

/// Where a value can be read when no register holds it.
#[derive(Debug, Clone, Copy)]
pub enum Home {
    /// As registers hold it.
    Alike(Address),
    /// A column of conditions of 32 bits, where registers have 64.
    Narrow(Address),
}

/// A value of the steps.
#[derive(Debug)]
pub struct Value {
    pub scalar: Scalar,
    pub home: Option<Home>,
    pub register: Option<Vector>,
    /// The places of the steps that read it, the last one first.
    pub uses: Vec<usize>,
}

/// The state of registers while steps are written, one after another.
#[derive(Debug)]
pub struct Registers {
    pub values: Vec<Value>,
    pub assembler: Assembler,
    /// Whether vectors have four lanes.
    pub has_doubles: bool,
    /// The value that each register holds.
    held: Vec<Option<usize>>,
    /// Those that the step at hand must not lose.
    locked: Vec<Vector>,
    /// The next free byte of the block, for values that find no register.
    end: usize,
}

impl Registers {
    pub fn new(assembler: Assembler, values: Vec<Value>, count: Vector, has_doubles: bool, end: usize) -> Registers {
        let held = vec![None; usize::from(count)];
        Registers { values, assembler, has_doubles, held, locked: Vec::new(), end }
    }

    /// The end of the bytes that are in use.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Whether a register has 32 bytes of this type.
    pub fn is_long(&self, scalar: Scalar) -> bool {
        !self.has_doubles || matches!(scalar, Scalar::F64 | Scalar::Bool)
    }

    /// Returns a place for a register in the block.
    pub fn slot(&mut self) -> Address {
        let place = self.end;
        self.end += 32;
        Address::fixed(place)
    }

    /// Returns a register for the moment. It stays until the end of the step.
    pub fn free(&mut self) -> Vector {
        let is_free =
            |register: &usize| self.held[*register].is_none() && !self.locked.contains(&(*register as Vector));
        let register = (0..self.held.len()).find(is_free).unwrap_or_else(|| self.emptied());
        self.locked.push(register as Vector);
        register as Vector
    }

    /// Empties the register whose value is needed last.
    fn emptied(&mut self) -> usize {
        let candidates = (0..self.held.len()).filter(|register| !self.locked.contains(&(*register as Vector)));
        let next = |register: &usize| match self.held[*register] {
            Some(value) => self.values[value].uses.last().map_or(usize::MAX, |place| *place),
            None => usize::MAX,
        };
        // A step locks fewer registers than there are.
        let register = candidates.max_by_key(next).unwrap_or(0);
        if let Some(value) = self.held[register].take() {
            self.values[value].register = None;
            if self.values[value].home.is_none() && !self.values[value].uses.is_empty() {
                let slot = self.slot();
                let is_long = self.is_long(self.values[value].scalar);
                self.assembler.store(is_long, slot, register as Vector);
                self.values[value].home = Some(Home::Alike(slot));
            }
        }
        register
    }

    /// Returns a register that holds a value, which it keeps during the step.
    pub fn register(&mut self, value: usize) -> Vector {
        if let Some(register) = self.values[value].register {
            self.locked.push(register);
            return register;
        }
        let register = self.free();
        let is_long = self.is_long(self.values[value].scalar);
        match self.values[value].home {
            Some(Home::Alike(from)) => self.assembler.load(is_long, register, from),
            Some(Home::Narrow(from)) => self.assembler.two(WIDEN, true, register, Operand::Memory(from)),
            // Each value was computed before, or has a home.
            None => (),
        }
        self.hold(register, value);
        register
    }

    /// Returns a value as the last operand of an instruction: from memory if it is not needed again.
    pub fn operand(&mut self, value: usize) -> Operand {
        let it = &self.values[value];
        match (it.register, it.home) {
            (None, Some(Home::Alike(address))) if it.uses.len() <= 1 => Operand::Memory(address),
            _ => Operand::Register(self.register(value)),
        }
    }

    /// Says that a register holds a value from now on.
    pub fn hold(&mut self, register: Vector, value: usize) {
        self.held[usize::from(register)] = Some(value);
        self.values[value].register = Some(register);
    }

    /// Gives up what a value has for a step, so that its result may take the place.
    pub fn used(&mut self, place: usize, operands: &[usize]) {
        for value in operands {
            let it = &mut self.values[*value];
            while it.uses.last().is_some_and(|next| *next <= place) {
                it.uses.pop();
            }
            if it.uses.is_empty()
                && let Some(register) = it.register.take()
            {
                self.held[usize::from(register)] = None;
                self.locked.retain(|locked| *locked != register);
            }
        }
    }

    /// Ends a step.
    pub fn end_step(&mut self) {
        self.locked.clear();
    }

    /// Writes a number of the row to a slot, for every lane.
    pub fn spread(&mut self, scalar: Scalar, from: Address, through: Vector) -> Address {
        let slot = self.slot();
        let from = Operand::Memory(from);
        match scalar {
            Scalar::F64 => self.assembler.two(super::assembler::BROADCAST_DOUBLE, true, through, from),
            Scalar::Bool if self.has_doubles => {
                self.assembler.two(BROADCAST, false, through, from);
                self.assembler.two(WIDEN, true, through, Operand::Register(through));
            }
            _ => self.assembler.two(BROADCAST, true, through, from),
        }
        self.assembler.store(true, slot, through);
        slot
    }
}
