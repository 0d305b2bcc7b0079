//! What sources of some systems have beside their records, in columns of its own.

use super::Source;
use crate::memory::{self, Boxed};
use crate::{CHUNK, Result, chunk_of};

/// What a source has beside its record.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Supplement {
    /// The low limbs of its numbers, where numbers have them.
    pub low: Source,
    /// The squared softening length in two limbs, where sources have softenings.
    pub softening2: [f64; 2],
}

/// The squared softenings of sources, by chunks. They are zero where none was written.
#[derive(Default)]
pub(super) struct Softenings {
    chunks: Vec<Option<Boxed<[[f64; 2]; CHUNK]>>>,
}

impl Softenings {
    /// Writes that of an address.
    pub fn set(&mut self, address: usize, softening2: [f64; 2]) -> Result<()> {
        let number = chunk_of(address);
        if !matches!(self.chunks.get(number), Some(Some(_))) {
            if softening2 == [0.0; 2] {
                return Ok(());
            }
            let chunk = Boxed::new([[0.0; 2]; CHUNK], "softenings")?;
            memory::lengthen(&mut self.chunks, number + 1, "the table of softenings", || None)?;
            self.chunks[number] = Some(chunk);
        }
        if let Some(chunk) = &mut self.chunks[number] {
            chunk[address % CHUNK] = softening2;
        }
        Ok(())
    }

    /// Returns that of an address.
    pub fn get(&self, address: usize) -> [f64; 2] {
        let chunk = self.chunks.get(chunk_of(address)).and_then(Option::as_ref);
        chunk.map_or([0.0; 2], |chunk| chunk[address % CHUNK])
    }

    /// Returns the bytes in use.
    pub fn bytes(&self) -> usize {
        let table = self.chunks.capacity() * size_of::<Option<Boxed<[[f64; 2]; CHUNK]>>>();
        table + self.chunks.iter().flatten().count() * size_of::<[[f64; 2]; CHUNK]>()
    }
}
