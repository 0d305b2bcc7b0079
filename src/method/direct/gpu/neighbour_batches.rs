//! Neighbour lists, made for a batch of sinks at a time.

use std::sync::Arc;

use crate::data::{Interaction, Result, SinkSlice, SinkUnits, memory};
use crate::hal::gpu::{Address, DeviceMemory, Gpu, HostMemory, Place};

use super::launches::{Kernels, ListAddresses, StoreAddresses};
use super::pack::{self, ROW, Vector};
use super::step::Step;

/// The most sinks of a batch.
pub const BATCH: usize = 256;
/// The count of numbers of a sink in a search by radius, which the kernels call `BATCH_ROWS`: the
/// squared radius and the position.
pub const ROWS: usize = 4;

/// Memory for the lists of a batch.
pub struct NeighbourBatches<G: Gpu> {
    interaction: Arc<Interaction>,
    sinks: G::HostMemory,
    /// The sinks where kernels read them.
    copy: G::Memory,
    lengths: G::Memory,
    lists: G::Memory,
    found: G::HostMemory,
    room: usize,
}

impl<G: Gpu> NeighbourBatches<G> {
    /// Makes memory without lists, which get room when they are found.
    pub fn new(gpu: &G, interaction: Arc<Interaction>) -> Result<NeighbourBatches<G>> {
        let bytes = BATCH * (bytes_of_sink(&interaction) + 4);
        Ok(NeighbourBatches {
            interaction,
            sinks: gpu.allocate_host(bytes, "sinks with neighbours")?,
            copy: gpu.allocate(bytes, "sinks with neighbours")?,
            lengths: gpu.allocate(BATCH * 4, "lengths of lists")?,
            lists: gpu.allocate(0, "neighbour lists")?,
            found: gpu.allocate_host(BATCH * 4, "lengths of lists")?,
            room: 0,
        })
    }

    /// Returns the bytes of host memory.
    pub fn bytes(&self) -> usize {
        self.sinks.bytes() + self.found.bytes()
    }

    /// Appends the indices of the neighbours of each sink to its list.
    pub fn find(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        kernels: &mut Kernels<G>,
        mut step: Step,
        store: StoreAddresses<Address<G>>,
        (sinks, units): (SinkSlice, SinkUnits),
        found: &mut [Vec<i32>],
    ) -> Result<()> {
        if step.chunks == 0 || sinks.iter().all(|sink| sink.radius2 <= 0.0) {
            return Ok(());
        }
        for (batch, found) in sinks.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
            step.ni = batch.len() as i32;
            self.pack(batch, units);
            // SAFETY: both have that length, and the work is waited for before the sinks are packed
            // again.
            unsafe {
                let from = Place::Host(self.sinks.as_mut_ptr());
                gpu.copy(queue, from, Place::Device(&self.copy, 0), self.copy.bytes())?;
            }
            let longest = loop {
                let lists = ListAddresses {
                    sinks: self.copy.address(),
                    lengths: self.lengths.address(),
                    lists: self.lists.address(),
                    room: self.room as i32,
                };
                let to = Place::Host(self.found.as_mut_ptr());
                // SAFETY: the lists have the room that is said, for each sink of a batch; the work
                // is waited for.
                unsafe {
                    gpu.zero(queue, &self.lengths, BATCH * 4)?;
                    kernels.neighbours((gpu, queue), &step, &store, lists)?;
                    gpu.copy(queue, Place::Device(&self.lengths, 0), to, batch.len() * 4)?;
                }
                gpu.synchronize(queue)?;
                let longest = self.found.as_slice::<u32>()[..batch.len()].iter().copied().max().unwrap_or(0) as usize;
                if longest <= self.room {
                    break longest;
                }
                self.make_room(gpu, longest)?;
            };
            if longest == 0 {
                continue;
            }
            let lengths = self.found.as_slice::<u32>()[..batch.len()].iter().map(|length| *length as usize);
            let lengths = memory::collected(lengths, "lengths of lists")?;
            // SAFETY: both memories have `room` numbers for each sink of a batch; the copy is
            // waited for.
            unsafe {
                let to = Place::Host(self.found.as_mut_ptr());
                gpu.copy(queue, Place::Device(&self.lists, 0), to, batch.len() * self.room * 4)?;
            }
            gpu.synchronize(queue)?;
            let lists = self.found.as_slice::<i32>();
            for (sink, (length, found)) in lengths.into_iter().zip(found).enumerate() {
                memory::reserve(found, length, "a neighbour list")?;
                found.extend_from_slice(&lists[sink * self.room..][..length]);
            }
        }
        Ok(())
    }

    fn pack(&mut self, batch: SinkSlice, units: SinkUnits) {
        let behind = BATCH * bytes_of_sink(&self.interaction);
        let (rows, indices) = self.sinks.as_mut_slice::<u8>().split_at_mut(behind);
        let indices: &mut [i32] = bytemuck::cast_slice_mut(indices);
        if self.interaction.is_regular() {
            let rows: &mut [Vector] = bytemuck::cast_slice_mut(rows);
            pack::sinks(&self.interaction, (batch, units), batch.len(), rows, indices);
            return;
        }
        let rows: &mut [f64] = bytemuck::cast_slice_mut(rows);
        for (place, sink) in batch.iter().enumerate() {
            let [x, y, z] = sink.derivatives[0];
            for (row, number) in [sink.radius2, x, y, z].into_iter().enumerate() {
                rows[row * batch.len() + place] = number;
            }
            indices[place] = sink.index;
        }
    }

    fn make_room(&mut self, gpu: &G, longest: usize) -> Result<()> {
        let room = longest.next_power_of_two().max(64);
        self.lists = gpu.allocate(BATCH * room * 4, "neighbour lists")?;
        self.found = gpu.allocate_host(BATCH * room * 4, "neighbour lists")?;
        self.room = room;
        Ok(())
    }
}

/// Returns the bytes of a sink without its index. A list of regular neighbours needs all numbers
/// that the force needs.
fn bytes_of_sink(interaction: &Interaction) -> usize {
    if interaction.is_regular() { pack::sink_rows(interaction) * ROW } else { ROWS * size_of::<f64>() }
}
