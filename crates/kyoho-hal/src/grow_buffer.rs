//! Memory of a device that is made larger when it is needed.

use kyoho_core::Result;

use super::gpu::{Address, Argument, DeviceMemory, Gpu};

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

    /// The argument by which kernels get it.
    pub fn at<'a>(&self) -> Argument<'a, Address<G>> {
        Argument::Memory(self.0.address())
    }
}
