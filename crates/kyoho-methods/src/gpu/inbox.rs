//! The inbox of a block: its sinks, and few records, in memory of the host and from there on the
//! device.

use std::ops::Range;

use kyoho_core::{Interaction, RecordLine, Records, Result, sinks};
use kyoho_hal::gpu::{Address, DeviceMemory, Gpu, HostMemory, Mapped, Place};

/// Sinks and records of a block, piece after piece.
pub struct Inbox<G: Gpu> {
    /// On the host.
    host: G::HostMemory,
    /// On the device.
    device: G::Memory,
    /// The end of the sinks that have a place.
    filled: usize,
    /// The end of the records, which lie behind the places of all sinks.
    end: usize,
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
            end: 0,
            bytes_of_sink: 8 * sinks::width(interaction),
        })
    }

    /// Returns the bytes of host memory.
    pub fn bytes(&self) -> usize {
        self.host.bytes()
    }

    /// Forgets the last block and makes room for this many sinks and lines of records.
    pub fn make_room(&mut self, gpu: &G, sinks: usize, lines: usize) -> Result<()> {
        (self.filled, self.end) = (0, self.bytes_of_sink * sinks);
        let wanted = self.end + lines * size_of::<RecordLine>();
        if self.host.bytes() < wanted {
            let bytes = wanted.next_power_of_two();
            // Both grow or none, or the next block would find room in one and not in the other.
            (self.host, self.device) = (gpu.allocate_host(bytes, "sinks")?, gpu.allocate(bytes, "sinks")?);
        }
        Ok(())
    }

    /// Returns where the sinks of a piece, of this many bytes, will be.
    pub fn place(&mut self, bytes: usize) -> Range<usize> {
        let start = self.filled;
        self.filled += bytes;
        start..self.filled
    }

    /// Copies the sinks of a piece to their place on the host.
    ///
    /// # Safety
    /// The device does not read that place yet. It may read those of other pieces.
    pub unsafe fn put(&mut self, at: &Range<usize>, sinks: &[u8]) {
        // SAFETY: the caller's promise.
        unsafe { self.host.part_mut(at.clone()) }.copy_from_slice(sinks);
    }

    /// Copies records behind the places of all sinks and of other records, and returns where they
    /// are.
    ///
    /// # Safety
    /// The last block that had records here was waited for.
    pub unsafe fn put_records(&mut self, records: Records) -> Range<usize> {
        let bytes: &[u8] = bytemuck::cast_slice(records.lines());
        let start = self.end;
        self.end += bytes.len();
        // SAFETY: the caller's promise; records of this block have other places.
        unsafe { self.host.part_mut(start..self.end) }.copy_from_slice(bytes);
        start..self.end
    }

    /// Returns the device's memory.
    pub fn address(&self) -> Address<G> {
        self.device.address()
    }

    /// Returns the address by which kernels reach a byte of the host's memory, if they can.
    pub fn host_address(&self, offset: usize) -> Option<Address<G>> {
        self.host.device_address(offset)
    }

    /// Copies the sinks of a piece to their place on the device.
    ///
    /// # Safety
    /// They are neither changed nor freed until the queue has done the copy.
    pub unsafe fn copy_from(&self, sinks: &[u8], gpu: &G, queue: &G::Queue, at: Range<usize>) -> Result<()> {
        assert!(at.end <= self.device.bytes() && at.len() == sinks.len());
        let from = Place::Host(sinks.as_ptr().cast_mut());
        // SAFETY: the caller's promise; both memories are that long.
        unsafe { gpu.copy(queue, from, Place::Device(&self.device, at.start), at.len()) }
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
