//! Memory of a device that is made larger when it is needed.

use kyoho_core::Result;

use super::gpu::{Address, Argument, DeviceMemory, Gpu, Place};

/// Memory for some purpose.
pub struct GrowBuffer<G: Gpu>(pub G::Memory, &'static str);

impl<G: Gpu> GrowBuffer<G> {
    /// Makes memory without a byte.
    pub fn new(gpu: &G, what: &'static str) -> Result<GrowBuffer<G>> {
        Ok(GrowBuffer(gpu.allocate(0, what)?, what))
    }

    /// Makes it larger if it has fewer bytes than this. What was there is lost then.
    pub fn ensure_capacity(&mut self, gpu: &G, bytes: usize) -> Result<()> {
        if self.0.bytes() < bytes {
            // What is too small goes first, so that both need not fit.
            self.0 = gpu.allocate(0, self.1)?;
            self.0 = gpu.allocate(bytes, self.1)?;
        }
        Ok(())
    }

    /// Makes it larger if it has fewer bytes than this, with room for some more, and keeps the first ones.
    pub fn extend(&mut self, (gpu, queue): (&G, &G::Queue), kept: usize, bytes: usize) -> Result<()> {
        if self.0.bytes() < bytes {
            let larger = gpu.allocate(bytes + bytes / 8, self.1)?;
            if kept > 0 {
                assert!(kept <= self.0.bytes());
                // SAFETY: both have so many bytes, and the copy is waited for.
                unsafe { gpu.copy(queue, Place::Device(&self.0, 0), Place::Device(&larger, 0), kept)? };
            }
            gpu.synchronize(queue)?;
            self.0 = larger;
        }
        Ok(())
    }

    /// The argument by which kernels get it.
    pub fn at<'a>(&self) -> Argument<'a, Address<G>> {
        Argument::Memory(self.0.address())
    }
}
