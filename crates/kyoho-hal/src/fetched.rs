//! Memory of the host into which bytes of a device are copied, and read only after the copy has
//! ended.

use std::ops::Range;

use kyoho_core::Result;

use super::gpu::{DeviceMemory, Gpu, HostMemory, Place};

/// Memory of the host for bytes of a device.
pub struct Fetched<G: Gpu>(G::HostMemory);

impl<G: Gpu> Fetched<G> {
    /// Allocates memory of the host for `what`.
    pub fn new(gpu: &G, bytes: usize, what: &'static str) -> Result<Fetched<G>> {
        Ok(Fetched(gpu.allocate_host(bytes, what)?))
    }

    /// Returns its size in bytes.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// Copies bytes of memory of the device, one range behind the other, after the work that was
    /// begun in a queue. Waits for the queue and returns the copies.
    pub fn fetch(&mut self, (gpu, queue): (&G, &G::Queue), from: &[(&G::Memory, Range<usize>)]) -> Result<&[u8]> {
        let mut end = 0;
        let begun = from.iter().try_for_each(|(memory, bytes)| {
            let to = Place::Host(self.0.as_mut_ptr().wrapping_add(end));
            end += bytes.len();
            assert!(bytes.end <= memory.bytes() && end <= self.0.bytes());
            // SAFETY: both memories are that long, and are borrowed until the queue was waited for.
            unsafe { gpu.copy(queue, Place::Device(memory, bytes.start), to, bytes.len()) }
        });
        // What was begun before an error is waited for too.
        gpu.synchronize(queue).and(begun)?;
        // SAFETY: nothing but the copies writes to it, and they have ended.
        Ok(unsafe { self.0.part(0..end) })
    }
}
