//! Neighbour lists of a window of sinks.

use crate::data::{Descriptor, Result, SinkUnits, SomeSinks, memory};

use super::driver::{Address, Gpu, Memory, Staging};
use super::pack::{self, ROW, Vector};
use super::step::Step;

/// Sinks of a window, `WINDOW` in `kernels/step.h`.
pub const WINDOW: usize = 256;
/// Numbers of a sink, `WINDOW_ROWS` there: the squared radius and the position.
pub const ROWS: usize = 4;

/// The kernel that finds neighbours.
pub fn finder(descriptor: &Descriptor) -> &'static str {
    if descriptor.is_regular() { "find_left_out" } else { "find_neighbours" }
}

/// Memory for the lists of a window.
pub struct Windows<G: Gpu> {
    descriptor: &'static Descriptor,
    sinks: G::Staging,
    /// The sinks where kernels read them.
    copy: G::Memory,
    lengths: G::Memory,
    lists: G::Memory,
    found: G::Staging,
    room: usize,
}

impl<G: Gpu> Windows<G> {
    /// With room for short lists.
    pub fn new(gpu: &G, descriptor: &'static Descriptor) -> Result<Windows<G>> {
        let bytes = WINDOW * (bytes_of_sink(descriptor) + 4);
        Ok(Windows {
            descriptor,
            sinks: gpu.staging(bytes, "sinks with neighbours")?,
            copy: gpu.memory(bytes, "sinks with neighbours")?,
            lengths: gpu.memory(WINDOW * 4, "lengths of lists")?,
            lists: gpu.memory(0, "neighbour lists")?,
            found: gpu.staging(WINDOW * 4, "lengths of lists")?,
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
        (gpu, queue): (&mut G, &G::Queue),
        mut step: Step,
        store: [Address<G>; 5],
        (window, units): (SomeSinks, SinkUnits),
        found: &mut [Vec<i32>],
    ) -> Result<()> {
        if step.chunks == 0 || window.iter().all(|sink| sink.radius2 <= 0.0) {
            return Ok(());
        }
        for (part, found) in window.chunks(WINDOW).zip(found.chunks_mut(WINDOW)) {
            step.ni = part.len() as i32;
            self.pack(part, units);
            // SAFETY: both have that length, and the work is waited for before the sinks are packed again.
            unsafe { gpu.write(queue, self.sinks.as_ptr(), (&self.copy, 0), self.copy.bytes())? };
            let longest = loop {
                let lists = (self.lengths.address(), self.lists.address(), self.room as i32);
                // SAFETY: the lists have the room that is said, for each sink of a window; the work is waited for.
                unsafe {
                    gpu.zero(queue, &self.lengths, WINDOW * 4)?;
                    gpu.neighbours(queue, &step, &store, self.copy.address(), lists)?;
                    gpu.read(queue, &self.lengths, self.found.as_mut_ptr(), part.len() * 4)?;
                }
                gpu.synchronize(queue)?;
                let longest = self.found.as_slice::<u32>()[..part.len()].iter().copied().max().unwrap_or(0) as usize;
                if longest <= self.room {
                    break longest;
                }
                self.make_room(gpu, longest)?;
            };
            if longest == 0 {
                continue;
            }
            let lengths = self.found.as_slice::<u32>()[..part.len()].iter().map(|length| *length as usize);
            let lengths = memory::collected(lengths, "lengths of lists")?;
            // SAFETY: both memories have `room` numbers for each sink of a window; the copy is waited for.
            unsafe { gpu.read(queue, &self.lists, self.found.as_mut_ptr(), part.len() * self.room * 4)? };
            gpu.synchronize(queue)?;
            let lists = self.found.as_slice::<i32>();
            for (sink, (length, found)) in lengths.into_iter().zip(found).enumerate() {
                memory::reserve(found, length, "a neighbour list")?;
                found.extend_from_slice(&lists[sink * self.room..][..length]);
            }
        }
        Ok(())
    }

    fn pack(&mut self, window: SomeSinks, units: SinkUnits) {
        let behind = WINDOW * bytes_of_sink(self.descriptor);
        let (rows, indices) = self.sinks.as_mut_slice::<u8>().split_at_mut(behind);
        let indices: &mut [i32] = bytemuck::cast_slice_mut(indices);
        if self.descriptor.is_regular() {
            let rows: &mut [Vector] = bytemuck::cast_slice_mut(rows);
            pack::sinks(self.descriptor, (window, units), window.len(), rows, indices);
            return;
        }
        let rows: &mut [f64] = bytemuck::cast_slice_mut(rows);
        for (place, sink) in window.iter().enumerate() {
            let [x, y, z] = sink.derivatives[0];
            for (row, number) in [sink.radius2, x, y, z].into_iter().enumerate() {
                rows[row * window.len() + place] = number;
            }
            indices[place] = sink.index;
        }
    }

    fn make_room(&mut self, gpu: &G, longest: usize) -> Result<()> {
        let room = longest.next_power_of_two().max(64);
        self.lists = gpu.memory(WINDOW * room * 4, "neighbour lists")?;
        self.found = gpu.staging(WINDOW * room * 4, "neighbour lists")?;
        self.room = room;
        Ok(())
    }
}

/// Bytes of a sink without its index: what the force needs of it where the list is of what that leaves out.
fn bytes_of_sink(descriptor: &Descriptor) -> usize {
    if descriptor.is_regular() { pack::sink_rows(descriptor) * ROW } else { ROWS * size_of::<f64>() }
}
