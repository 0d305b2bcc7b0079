//! Neighbour lists, which are made when they are first asked for, for a batch of sinks at a time.

use std::ops::Range;

use kyoho_core::{Block, Result, Sources, memory};

use super::devices::Devices;

/// The most lists whose memory is kept for the next block.
const MOST_KEPT: usize = 4096;

/// The lists of some sinks of the last block.
#[derive(Debug, Default)]
pub struct Lists {
    /// The sinks whose lists are there.
    sinks: Range<usize>,
    found: Vec<Vec<i32>>,
}

impl Lists {
    /// Forgets the lists of the last block.
    pub fn reset(&mut self) {
        self.sinks = 0..0;
        self.found.truncate(MOST_KEPT);
    }

    /// Returns the bytes in use.
    pub fn bytes(&self) -> usize {
        self.found.iter().map(|list| size_of::<Vec<i32>>() + list.capacity() * 4).sum()
    }

    /// Whether the lists of all sinks are there, so that nothing else is needed of the block.
    pub fn are_complete(&self, block: &Block) -> bool {
        self.sinks == (0..block.sinks.len())
    }

    /// Makes the lists of all sinks.
    pub fn complete(&mut self, devices: &mut Devices, sources: &Sources, block: &Block) -> Result<()> {
        self.make(0..block.sinks.len(), devices, sources, block)
    }

    /// Makes the list of one sink, and those of its batch, if it is not there.
    pub fn prepare(&mut self, sink: usize, devices: &mut Devices, sources: &Sources, block: &Block) -> Result<()> {
        if self.sinks.contains(&sink) {
            return Ok(());
        }
        let batch = devices.lists_at_once();
        let first = sink / batch * batch;
        self.make(first..block.sinks.len().min(first + batch), devices, sources, block)
    }

    /// Returns the list of one sink that was prepared.
    pub fn list(&self, sink: usize) -> &[i32] {
        &self.found[sink - self.sinks.start]
    }

    fn make(&mut self, sinks: Range<usize>, devices: &mut Devices, sources: &Sources, block: &Block) -> Result<()> {
        self.sinks = 0..0;
        memory::lengthen(&mut self.found, sinks.len(), "the table of neighbour lists", Vec::new)?;
        self.found.iter_mut().for_each(Vec::clear);
        let at_once = devices.lists_at_once();
        for first in sinks.clone().step_by(at_once) {
            let batch = first..sinks.end.min(first + at_once);
            let found = &mut self.found[first - sinks.start..][..batch.len()];
            devices.neighbours(sources, block, batch, found)?;
        }
        for list in &mut self.found {
            list.sort_unstable();
            list.dedup();
        }
        self.sinks = sinks;
        Ok(())
    }
}
