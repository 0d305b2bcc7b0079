//! The inbox of a block: its sinks, and few records, in memory of the host and from there on the
//! device.

use std::ops::Range;

use crate::data::{Interaction, RecordLine, Records, Result, SinkSlice, SinkUnits};
use crate::hal::gpu::{Address, DeviceMemory, Gpu, HostMemory, Mapped, Place};

use super::pack::{self, Vector};

/// Sinks and records of a block, piece after piece.
pub struct Inbox<G: Gpu> {
    /// On the host.
    host: G::HostMemory,
    /// On the device.
    device: G::Memory,
    /// Bytes in use.
    filled: usize,
    bytes_of_sink: usize,
}

impl<G: Gpu> Inbox<G> {
    /// Makes an inbox with room for small blocks.
    pub fn new(gpu: &G, interaction: &Interaction) -> Result<Inbox<G>> {
        let bytes = 64 << 10;
        Ok(Inbox {
            host: gpu.allocate_host(bytes, "sinks")?,
            device: gpu.allocate(bytes, "sinks")?,
            filled: 0,
            bytes_of_sink: pack::sink_rows(interaction) * pack::ROW + 4,
        })
    }

    /// Returns the bytes of host memory.
    pub fn bytes(&self) -> usize {
        self.host.bytes()
    }

    /// Forgets the last block and makes room for pieces with these strides, and for this many lines
    /// of records.
    pub fn make_room(&mut self, gpu: &G, strides: impl Iterator<Item = usize>, lines: usize) -> Result<()> {
        let wanted =
            strides.map(|stride| self.bytes_of_sink * stride).sum::<usize>() + lines * size_of::<RecordLine>() + 128;
        self.filled = 0;
        if self.host.bytes() < wanted {
            let bytes = wanted.next_power_of_two();
            // Both grow or none, or the next block would find room in one and not in the other.
            (self.host, self.device) = (gpu.allocate_host(bytes, "sinks")?, gpu.allocate(bytes, "sinks")?);
        }
        Ok(())
    }

    /// Packs the sinks of a piece, and returns where they are.
    pub fn pack(&mut self, interaction: &Interaction, sinks: (SinkSlice, SinkUnits), stride: usize) -> Range<usize> {
        let start = self.filled;
        let rows = pack::sink_rows(interaction) * stride;
        let vectors = &mut self.host.as_mut_slice::<Vector>()[start / pack::ROW..];
        let (vectors, indices) = vectors.split_at_mut(rows);
        pack::sinks(interaction, sinks, stride, vectors, bytemuck::cast_slice_mut(&mut indices[..stride / 4]));
        self.filled = start + rows * pack::ROW + stride * 4;
        start..self.filled
    }

    /// Packs records behind the sinks, and returns where they are.
    pub fn pack_records(&mut self, records: Records) -> Range<usize> {
        let start = self.filled;
        let bytes: &[u8] = bytemuck::cast_slice(records.lines());
        self.host.as_mut_slice::<u8>()[start..start + bytes.len()].copy_from_slice(bytes);
        self.filled = start + bytes.len();
        start..self.filled
    }

    /// Returns the device's memory.
    pub fn address(&self) -> Address<G> {
        self.device.address()
    }

    /// Returns the address by which kernels reach a byte of the host's memory, if they can.
    pub fn host_address(&self, offset: usize) -> Option<Address<G>> {
        self.host.device_address(offset)
    }

    /// Copies a range to the device.
    ///
    /// # Safety
    /// The inbox is neither packed nor dropped until the queue has done the copy.
    pub unsafe fn copy(&self, gpu: &G, queue: &G::Queue, range: Range<usize>) -> Result<()> {
        assert!(range.end <= self.host.bytes());
        let from = Place::Host(self.host.as_ptr().wrapping_add(range.start).cast_mut());
        // SAFETY: the caller's promise; both memories are that long.
        unsafe { gpu.copy(queue, from, Place::Device(&self.device, range.start), range.len()) }
    }
}
