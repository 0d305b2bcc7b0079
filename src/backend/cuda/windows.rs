//! Neighbour lists of a window of sinks.

use std::sync::Arc;

use crate::backend::gpu::step::Step;
use crate::error::Result;
use crate::system::Sink;

use super::driver::{Context, Memory, Pinned, Stream};
use super::kernels::{Addresses, Kernels};

/// Sinks of a window, `WINDOW` in `kernels/sources.h`.
pub(super) const WINDOW: usize = 256;
/// Numbers of a sink, `WINDOW_ROWS` there: the squared radius and the position.
pub(super) const ROWS: usize = 4;

/// Memory for the lists of a window.
pub struct Windows {
    sinks: Pinned,
    /// The sinks where kernels read them.
    copy: Memory,
    lengths: Memory,
    lists: Memory,
    found: Pinned,
    room: usize,
}

impl Windows {
    /// With room for short lists.
    pub fn new(context: &Arc<Context>) -> Result<Windows> {
        Ok(Windows {
            sinks: Pinned::new(context, WINDOW * (8 * ROWS + 4), "sinks with neighbours")?,
            copy: Memory::new(context, WINDOW * (8 * ROWS + 4), "sinks with neighbours")?,
            lengths: Memory::new(context, WINDOW * 4, "lengths of lists")?,
            lists: Memory::new(context, 0, "neighbour lists")?,
            found: Pinned::new(context, WINDOW * 4, "lengths of lists")?,
            room: 0,
        })
    }

    /// Bytes of host memory.
    pub fn bytes(&self) -> usize {
        self.sinks.bytes() + self.found.bytes()
    }

    /// Appends the indices of the neighbours of each sink to its list.
    pub fn find(
        &mut self,
        (context, stream, kernels): (&Arc<Context>, &Stream, &Kernels),
        mut step: Step,
        mut memory: Addresses,
        window: &[Sink],
        found: &mut [Vec<i32>],
    ) -> Result<()> {
        if step.chunks == 0 || window.iter().all(|sink| sink.radius2 <= 0.0) {
            return Ok(());
        }
        for (part, found) in window.chunks(WINDOW).zip(found.chunks_mut(WINDOW)) {
            step.ni = part.len() as i32;
            self.pack(part);
            memory.sinks = self.copy.address();
            memory.sink_indices = memory.sinks + (WINDOW * ROWS * 8) as u64;
            // SAFETY: both have that length, and the work is waited for before the sinks are packed again.
            unsafe { stream.to_device(self.sinks.as_ptr(), self.copy.address(), self.copy.bytes())? };
            let longest = loop {
                let lists = (self.lengths.address(), self.lists.address(), self.room as i32);
                // SAFETY: the lists have the room that is said, for each sink of a window; the work is waited for.
                unsafe {
                    stream.zero(self.lengths.address(), WINDOW * 4)?;
                    kernels.neighbours(stream, &step, &memory, lists)?;
                    stream.from_device(self.lengths.address(), self.found.as_mut_ptr(), part.len() * 4)?;
                }
                stream.synchronize()?;
                let longest = self.found.as_slice::<u32>()[..part.len()].iter().copied().max().unwrap_or(0) as usize;
                if longest <= self.room {
                    break longest;
                }
                self.make_room(context, longest)?;
            };
            if longest == 0 {
                continue;
            }
            let lengths: Vec<usize> =
                self.found.as_slice::<u32>()[..part.len()].iter().map(|length| *length as usize).collect();
            // SAFETY: both memories have `room` numbers for each sink of a window; the copy is waited for.
            unsafe { stream.from_device(self.lists.address(), self.found.as_mut_ptr(), part.len() * self.room * 4)? };
            stream.synchronize()?;
            let lists = self.found.as_slice::<i32>();
            for (sink, (length, found)) in lengths.into_iter().zip(found).enumerate() {
                found.extend_from_slice(&lists[sink * self.room..][..length]);
            }
        }
        Ok(())
    }

    fn pack(&mut self, window: &[Sink]) {
        let (rows, indices) = self.sinks.as_mut_slice::<u8>().split_at_mut(WINDOW * ROWS * 8);
        let rows: &mut [f64] = bytemuck::cast_slice_mut(rows);
        let indices: &mut [i32] = bytemuck::cast_slice_mut(indices);
        for (place, sink) in window.iter().enumerate() {
            let [x, y, z] = sink.derivatives[0];
            for (row, number) in [sink.radius2, x, y, z].into_iter().enumerate() {
                rows[row * window.len() + place] = number;
            }
            indices[place] = sink.index;
        }
    }

    fn make_room(&mut self, context: &Arc<Context>, longest: usize) -> Result<()> {
        let room = longest.next_power_of_two().max(64);
        self.lists = Memory::new(context, WINDOW * room * 4, "neighbour lists")?;
        self.found = Pinned::new(context, WINDOW * room * 4, "neighbour lists")?;
        self.room = room;
        Ok(())
    }
}
