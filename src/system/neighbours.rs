//! Neighbour lists, made when they are first asked for and a window of sinks at a time.

use crate::backend::Device;
use crate::error::Result;

use super::block::Block;
use super::sources::Sources;

/// Sinks whose lists are made together: enough to share the prediction of the sources, few enough to bound the memory.
const WINDOW: usize = 256;

/// The lists of a window of sinks of the last block.
#[derive(Debug, Default)]
pub struct Lists {
    window: Option<usize>,
    found: Vec<Vec<i32>>,
}

impl Lists {
    /// Forgets the lists of the last block.
    pub fn reset(&mut self) {
        self.window = None;
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.found.iter().map(|list| size_of::<Vec<i32>>() + list.capacity() * 4).sum()
    }

    /// The list of one sink.
    pub fn get(
        &mut self,
        sink: usize,
        devices: &mut [Box<dyn Device>],
        sources: &Sources,
        block: &Block,
    ) -> Result<&[i32]> {
        let window = sink / WINDOW;
        if self.window != Some(window) {
            self.window = None;
            let sinks = window * WINDOW..block.sinks.len().min((window + 1) * WINDOW);
            self.found.resize_with(WINDOW, Vec::new);
            self.found.iter_mut().for_each(Vec::clear);
            for device in devices {
                device.neighbours(sources, block, sinks.clone(), &mut self.found[..sinks.len()])?;
            }
            for list in &mut self.found {
                list.sort_unstable();
                list.dedup();
            }
            self.window = Some(window);
        }
        Ok(&self.found[sink % WINDOW])
    }
}
