//! Results of a block, which kernels write into the host's memory.

use std::ops::Range;

use crate::data::{Error, Result};
use crate::hal::cuda::{Pinned, Stream};
use crate::method::direct::gpu::{self, Staging as _};

use super::device::Cuda;

/// Looks at the flag between questions to the driver whether the device still works.
const LOOKS: u32 = 1 << 16;

/// Mapped memory for results, and for a flag of each piece.
pub struct Outbox {
    results: Pinned,
    flags: Pinned,
}

impl gpu::Outbox<Cuda> for Outbox {
    fn new(gpu: &Cuda) -> Result<Outbox> {
        Ok(Outbox {
            results: Pinned::new(gpu.context(), 0, "results")?,
            flags: Pinned::new(gpu.context(), 4, "flags")?,
        })
    }

    fn make_room(&mut self, gpu: &Cuda, bytes: usize, pieces: usize) -> Result<()> {
        if self.results.bytes() < bytes {
            self.results = Pinned::new(gpu.context(), bytes.next_power_of_two().max(1024), "results")?;
        }
        if self.flags.bytes() < 4 * pieces {
            self.flags = Pinned::new(gpu.context(), 8 * pieces, "flags")?;
        }
        Ok(())
    }

    fn addresses(&self, piece: usize) -> [u64; 2] {
        [self.results.device_address(), self.flags.device_address() + 4 * piece as u64]
    }

    unsafe fn send(&mut self, _: &Cuda, _: &Stream, _: usize, _: Range<usize>) -> Result<()> {
        Ok(())
    }

    fn wait(&self, _: &Cuda, queue: &Stream, piece: usize, sequence: u32) -> Result<()> {
        assert!(4 * piece < self.flags.bytes());
        // SAFETY: the flag lies in pinned memory that has one for each piece; the device writes it while it is read.
        let flag = || unsafe { self.flags.as_ptr().cast::<u32>().add(piece).read_volatile() };
        let mut looks = 0u32;
        loop {
            if flag() == sequence {
                std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
                return Ok(());
            }
            looks += 1;
            if looks.is_multiple_of(LOOKS) {
                if queue.is_done()? && flag() != sequence {
                    return Err(Error::Internal { what: "a device ended a block without saying so".into() });
                }
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }

    fn results(&self, results: Range<usize>) -> &[u8] {
        &self.results.as_slice::<u8>()[results]
    }

    fn bytes(&self) -> usize {
        self.results.bytes() + self.flags.bytes()
    }
}
