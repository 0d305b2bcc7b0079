//! Results of a block, which are copied to the host's memory.

use std::ops::Range;

use crate::data::{Error, Result, memory};
use crate::hal::opencl::{Address, Event, Memory, Queue, Staging};
use crate::method::direct::gpu::{self, Staging as _};

use super::device::OpenCl;

/// Results on the device and on the host.
pub struct Outbox {
    device: Memory,
    host: Staging,
    /// What kernels write for hosts that look into their memory; nobody reads it here.
    flag: Memory,
    sent: Vec<Option<Sent>>,
}

/// What tells how the work on a piece ended.
struct Sent {
    /// Of the copy of its results.
    copied: Event,
    /// Of the kernel that made them: where one failed, drivers are free to copy what was there before.
    ended: Option<Event>,
}

impl gpu::Outbox<OpenCl> for Outbox {
    fn new(gpu: &OpenCl) -> Result<Outbox> {
        let context = gpu.context();
        Ok(Outbox {
            device: Memory::new(context, 0, "results")?,
            host: Staging::new(context, 0, "results")?,
            flag: Memory::new(context, 4, "flags")?,
            sent: Vec::new(),
        })
    }

    fn make_room(&mut self, gpu: &OpenCl, bytes: usize, pieces: usize) -> Result<()> {
        if self.host.bytes() < bytes {
            let (context, room) = (gpu.context(), bytes.next_power_of_two().max(4096));
            // Both or none, or the next block would find room in one and not in the other.
            let device = Memory::new(context, room, "results")?;
            (self.host, self.device) = (Staging::new(context, room, "results")?, device);
        }
        self.sent.clear();
        memory::lengthen(&mut self.sent, pieces, "the table of pieces", || None)
    }

    fn addresses(&self, _: usize) -> [Address; 2] {
        [self.device.address(), self.flag.address()]
    }

    unsafe fn send(&mut self, gpu: &OpenCl, queue: &Queue, piece: usize, results: Range<usize>) -> Result<()> {
        assert!(results.end <= self.host.bytes());
        let to = self.host.as_mut_ptr().wrapping_add(results.start);
        // SAFETY: both memories are that long; the rest is the caller's promise.
        let copied = unsafe { queue.read(&self.device, results.start, to, results.len())? };
        queue.flush()?;
        self.sent[piece] = Some(Sent { copied, ended: gpu.take_ended() });
        Ok(())
    }

    fn wait(&self, _: &OpenCl, _: &Queue, piece: usize, _: u32) -> Result<()> {
        let sent = self.sent.get(piece).and_then(Option::as_ref);
        let sent = sent.ok_or_else(|| Error::Internal { what: format!("piece {piece} of a block was not sent") })?;
        sent.copied.wait()?;
        sent.ended.as_ref().map_or(Ok(()), |event| event.is_done().map(drop))
    }

    fn results(&self, results: Range<usize>) -> &[u8] {
        &self.host.as_slice::<u8>()[results]
    }

    fn bytes(&self) -> usize {
        self.host.bytes()
    }
}
