//! Results of a block, which are copied to the host's memory.

use std::ops::Range;

use crate::backend::gpu;
use crate::error::{Error, Result};

use super::device::OpenCl;
use super::driver::{Address, Event, Memory, Queue, Staging};

/// Results on the device and on the host, and for each piece the end of its copy.
pub struct Outbox {
    device: Memory,
    host: Staging,
    /// What kernels write for hosts that look into their memory; nobody reads it here.
    flag: Memory,
    copied: Vec<Option<Event>>,
}

impl gpu::Outbox<OpenCl> for Outbox {
    fn new(gpu: &OpenCl) -> Result<Outbox> {
        let context = gpu.context();
        Ok(Outbox {
            device: Memory::new(context, 0, "results")?,
            host: Staging::new(context, 0, "results")?,
            flag: Memory::new(context, 4, "flags")?,
            copied: Vec::new(),
        })
    }

    fn make_room(&mut self, gpu: &OpenCl, bytes: usize, pieces: usize) -> Result<()> {
        if self.host.bytes() < bytes {
            let (context, room) = (gpu.context(), bytes.next_power_of_two().max(4096));
            // Both or none, or the next block would find room in one and not in the other.
            let device = Memory::new(context, room, "results")?;
            (self.host, self.device) = (Staging::new(context, room, "results")?, device);
        }
        self.copied.clear();
        self.copied.resize_with(pieces, || None);
        Ok(())
    }

    fn addresses(&self, _: usize) -> [Address; 2] {
        [self.device.address(), self.flag.address()]
    }

    unsafe fn send(&mut self, _: &OpenCl, queue: &Queue, piece: usize, results: Range<usize>) -> Result<()> {
        assert!(results.end <= self.host.bytes());
        let to = self.host.as_mut_ptr().wrapping_add(results.start);
        // SAFETY: both memories are that long; the rest is the caller's promise.
        let copied = unsafe { queue.read(&self.device, results.start, to, results.len())? };
        queue.flush()?;
        self.copied[piece] = Some(copied);
        Ok(())
    }

    fn wait(&self, _: &OpenCl, _: &Queue, piece: usize, _: u32) -> Result<()> {
        let copied = self.copied.get(piece).and_then(Option::as_ref);
        copied.ok_or_else(|| Error::Internal { what: format!("piece {piece} of a block was not sent") })?.wait()
    }

    fn results(&self, results: Range<usize>) -> &[u8] {
        &self.host.as_slice::<u8>()[results]
    }

    fn bytes(&self) -> usize {
        self.host.bytes()
    }
}
