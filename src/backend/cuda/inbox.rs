//! What a block brings: sinks, and few records, in pinned memory and from there on the device.

use std::ops::Range;
use std::sync::Arc;

use crate::backend::gpu::pack::{self, Vector};
use crate::catalogue::Descriptor;
use crate::error::Result;
use crate::system::{Record, Sink};

use super::driver::{Context, Memory, Pinned, Stream};

/// Sinks and records of a block, piece after piece.
pub struct Inbox {
    host: Pinned,
    device: Memory,
    /// Bytes in use.
    filled: usize,
    bytes_of_sink: usize,
}

impl Inbox {
    /// With room for small blocks.
    pub fn new(context: &Arc<Context>, descriptor: &Descriptor) -> Result<Inbox> {
        let bytes = 64 << 10;
        Ok(Inbox {
            host: Pinned::new(context, bytes, "sinks")?,
            device: Memory::new(context, bytes, "sinks")?,
            filled: 0,
            bytes_of_sink: pack::rows(descriptor) * pack::ROW + 4,
        })
    }

    /// Bytes of host memory.
    pub fn bytes(&self) -> usize {
        self.host.bytes()
    }

    /// Forgets the last block and makes room for pieces with these strides, and for records.
    pub fn make_room(
        &mut self,
        context: &Arc<Context>,
        strides: impl Iterator<Item = usize>,
        records: usize,
    ) -> Result<()> {
        let wanted =
            strides.map(|stride| self.bytes_of_sink * stride).sum::<usize>() + records * size_of::<Record>() + 128;
        self.filled = 0;
        if self.host.bytes() < wanted {
            let bytes = wanted.next_power_of_two();
            // Both or none, or the next block would find room in one and not in the other.
            (self.host, self.device) = (Pinned::new(context, bytes, "sinks")?, Memory::new(context, bytes, "sinks")?);
        }
        Ok(())
    }

    /// Packs the sinks of a piece; where they are.
    pub fn pack(&mut self, descriptor: &Descriptor, sinks: &[Sink], stride: usize) -> Range<usize> {
        let start = self.filled;
        let rows = pack::rows(descriptor) * stride;
        let vectors = &mut self.host.as_mut_slice::<Vector>()[start / pack::ROW..];
        let (vectors, indices) = vectors.split_at_mut(rows);
        pack::sinks(descriptor, sinks, stride, vectors, bytemuck::cast_slice_mut(&mut indices[..stride / 4]));
        self.filled = start + rows * pack::ROW + stride * 4;
        start..self.filled
    }

    /// Packs records behind the sinks; where they are.
    pub fn pack_records(&mut self, records: &[Record]) -> Range<usize> {
        let start = self.filled;
        let bytes: &[u8] = bytemuck::cast_slice(records);
        self.host.as_mut_slice::<u8>()[start..start + bytes.len()].copy_from_slice(bytes);
        self.filled = start + bytes.len();
        start..self.filled
    }

    /// Where a kernel reads records: where they are, if the device can, else packed here.
    pub fn keep_records(&mut self, records: &[Record], registered: Option<u64>) -> u64 {
        match registered {
            Some(address) => address,
            None => self.host.device_address() + self.pack_records(records).start as u64,
        }
    }

    /// The address of the copy on the device.
    pub fn device(&self) -> u64 {
        self.device.address()
    }

    /// The address at which the device sees the host's memory.
    pub fn mapped(&self) -> u64 {
        self.host.device_address()
    }

    /// Copies a range to the device.
    ///
    /// # Safety
    /// The inbox is neither packed nor dropped until the stream has done the copy.
    pub unsafe fn copy(&self, stream: &Stream, range: Range<usize>) -> Result<()> {
        assert!(range.end <= self.host.bytes());
        let from = self.host.as_ptr().wrapping_add(range.start);
        // SAFETY: the caller's promise; both memories are that long.
        unsafe { stream.to_device(from, self.device.address() + range.start as u64, range.len()) }
    }
}
