//! Numbers of callers by columns: all numbers of a component, and of its limbs, follow one another.

use kyoho_core::{Result, memory};
use kyoho_language::blocks::{self, Bits};
use kyoho_language::number::Number;
use kyoho_language::types::Type;

/// Rows of numbers of a type.
#[derive(Debug, Clone)]
pub struct Columns {
    of: Type,
    count: usize,
    /// The bytes of each limb of each component.
    limbs: Vec<Vec<u8>>,
}

impl Columns {
    /// Makes rows of zeros.
    pub fn new(of: Type, count: usize) -> Result<Columns> {
        let all = of.width * of.scalar.limbs();
        let mut limbs = memory::room(all, "the columns of pairs")?;
        for _ in 0..all {
            limbs.push(memory::filled(count * bytes_of(of), 0u8, "the columns of pairs")?);
        }
        Ok(Columns { of, count, limbs })
    }

    /// The type of the numbers, and how many each row has.
    pub fn of(&self) -> Type {
        self.of
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The bytes of all numbers.
    pub fn bytes(&self) -> usize {
        self.limbs.iter().map(Vec::capacity).sum()
    }

    /// Returns a number.
    pub fn number(&self, row: usize, component: usize) -> Number {
        blocks::number(self.of.scalar, self.bits(row, component))
    }

    /// Returns the bits of a number.
    #[inline]
    pub fn bits(&self, row: usize, component: usize) -> Bits {
        let (limbs, size) = (self.of.scalar.limbs(), bytes_of(self.of));
        let mut bits = [0; 2];
        for (limb, bits) in bits.iter_mut().take(limbs).enumerate() {
            let mut word = [0; 8];
            word[..size].copy_from_slice(&self.limb(component, limb)[row * size..(row + 1) * size]);
            *bits = u64::from_le_bytes(word);
        }
        bits
    }

    /// Sets the bits of a number.
    #[inline]
    pub fn set(&mut self, row: usize, component: usize, bits: Bits) {
        let (limbs, size) = (self.of.scalar.limbs(), bytes_of(self.of));
        for (limb, bits) in bits.iter().take(limbs).enumerate() {
            let to = &mut self.limbs[component * limbs + limb][row * size..(row + 1) * size];
            to.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
    }

    /// Returns the bytes of a limb of a component.
    #[inline]
    pub fn limb(&self, component: usize, limb: usize) -> &[u8] {
        &self.limbs[component * self.of.scalar.limbs() + limb]
    }

    /// Returns the bytes of a limb of a component, to write to.
    pub fn limb_mut(&mut self, component: usize, limb: usize) -> &mut [u8] {
        &mut self.limbs[component * self.of.scalar.limbs() + limb]
    }
}

fn bytes_of(of: Type) -> usize {
    of.scalar.size() / of.scalar.limbs()
}
