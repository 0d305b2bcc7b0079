//! Results of a block on their way to the host.
//!
//! Where kernels reach memory of the host they write results there, and a flag that the host looks
//! at. Elsewhere results are copied to the host, which waits for the copy.

use std::ops::Range;

use kyoho_core::{Error, Result, memory};
use kyoho_hal::gpu::{Address, DeviceMemory, Event, Gpu, HostMemory, Mapped, Place};

/// How often the flag is read before the driver is asked whether the device still works.
const LOOKS: u32 = 1 << 16;
/// How often it is read by one of many threads before those that wait for a processor go on.
const LOOKS_OF_MANY: u32 = 1 << 8;

/// Waits until a flag that the device writes has a number, or until something holds after which it will
/// not come, and returns whether it has come. `is_done` tells whether the device has done all its work.
/// Where more threads wait than there are processors, `is_crowded` says so.
#[inline]
pub fn wait_for_flag(
    flag: impl Fn() -> u32,
    sequence: u32,
    in_vain: impl Fn() -> bool,
    is_done: impl Fn() -> Result<bool>,
    is_crowded: bool,
) -> Result<bool> {
    let looks_of_turn = if is_crowded { LOOKS_OF_MANY } else { LOOKS };
    let mut looks = 0u32;
    loop {
        if flag() == sequence {
            std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
            return Ok(true);
        }
        if in_vain() {
            return Ok(false);
        }
        looks += 1;
        if looks.is_multiple_of(LOOKS) && is_done()? && flag() != sequence && !in_vain() {
            return Err(Error::Internal { what: "a device ended a block without saying so".into() });
        }
        if looks.is_multiple_of(looks_of_turn) {
            std::thread::yield_now();
        }
        std::hint::spin_loop();
    }
}

/// Memory for the results of a block, and for a flag of each piece.
pub struct Outbox<G: Gpu> {
    results: G::HostMemory,
    flags: G::HostMemory,
    /// The device's memory for results, and for a flag that is not read, where kernels do not reach
    /// the host's memory.
    copied: Option<[G::Memory; 2]>,
    /// The ends of copies, by piece.
    sent: Vec<Option<G::Event>>,
}

impl<G: Gpu> Outbox<G> {
    /// Makes an outbox without room.
    pub fn new(gpu: &G) -> Result<Outbox<G>> {
        let (results, flags) = (gpu.allocate_host(0, "results")?, gpu.allocate_host(4, "flags")?);
        let copied = match flags.device_address(0) {
            Some(_) => None,
            None => Some([gpu.allocate(0, "results")?, gpu.allocate(4, "flags")?]),
        };
        Ok(Outbox { results, flags, copied, sent: Vec::new() })
    }

    /// Makes room for this many bytes of results, of this many pieces of a block.
    pub fn make_room(&mut self, gpu: &G, bytes: usize, pieces: usize) -> Result<()> {
        if self.results.bytes() < bytes {
            let room = bytes.next_power_of_two().max(1024);
            // Both grow or none, or the next block would find room in one and not in the other.
            let device = self.copied.is_some().then(|| gpu.allocate(room, "results")).transpose()?;
            self.results = gpu.allocate_host(room, "results")?;
            if let (Some([results, _]), Some(device)) = (&mut self.copied, device) {
                *results = device;
            }
        }
        if self.copied.is_none() {
            if self.flags.bytes() < 4 * pieces {
                self.flags = gpu.allocate_host(8 * pieces, "flags")?;
            }
            return Ok(());
        }
        self.sent.clear();
        memory::lengthen(&mut self.sent, pieces, "the table of pieces", || None)
    }

    /// Returns where kernels write results, and the flag of a piece.
    pub fn addresses(&self, piece: usize) -> [Address<G>; 2] {
        match (&self.copied, self.results.device_address(0), self.flags.device_address(4 * piece)) {
            (None, Some(results), Some(flag)) => [results, flag],
            (Some([results, flag]), ..) => [results.address(), flag.address()],
            (None, ..) => unreachable!("memory of the host is mapped, or results are copied"),
        }
    }

    /// Begins the copy of a piece's results, which lie in this range of bytes, after the kernels
    /// that were begun. Where kernels write to the host's memory there is none.
    ///
    /// # Safety
    /// The outbox is neither dropped nor given more room until the piece was waited for.
    pub unsafe fn send(&mut self, gpu: &G, queue: &G::Queue, piece: usize, results: Range<usize>) -> Result<()> {
        let Some([device, _]) = &self.copied else { return Ok(()) };
        assert!(results.end <= self.results.bytes());
        let to = Place::Host(self.results.as_mut_ptr().wrapping_add(results.start));
        if !results.is_empty() {
            // SAFETY: both memories are that long; the rest is the caller's promise.
            unsafe { gpu.copy(queue, Place::Device(device, results.start), to, results.len())? };
        }
        self.sent[piece] = Some(gpu.record(queue)?);
        Ok(())
    }

    /// Copies results of a piece that stayed on the device to the host, and waits for them.
    ///
    /// # Safety
    /// The piece has ended.
    pub unsafe fn fetch(&mut self, gpu: &G, queue: &G::Queue, from: &G::Memory, results: Range<usize>) -> Result<()> {
        assert!(results.end <= self.results.bytes());
        let to = Place::Host(self.results.as_mut_ptr().wrapping_add(results.start));
        // SAFETY: both memories are that long; the rest is the caller's promise.
        unsafe { gpu.copy(queue, Place::Device(from, results.start), to, results.len())? };
        gpu.synchronize(queue)
    }

    /// Waits for the results of a piece of this sequence number.
    pub fn wait(&self, gpu: &G, queue: &G::Queue, piece: usize, sequence: u32) -> Result<()> {
        self.wait_unless(gpu, queue, (piece, sequence), || false).map(|_| ())
    }

    /// Waits for the results of a piece of this sequence number, or until something holds after
    /// which they will not come, and returns whether they have come.
    pub fn wait_unless(
        &self,
        gpu: &G,
        queue: &G::Queue,
        (piece, sequence): (usize, u32),
        in_vain: impl Fn() -> bool,
    ) -> Result<bool> {
        if self.copied.is_some() {
            let sent = self.sent.get(piece).and_then(Option::as_ref);
            let sent =
                sent.ok_or_else(|| Error::Internal { what: format!("piece {piece} of a block was not sent") })?;
            return sent.wait().map(|()| true);
        }
        assert!(4 * piece < self.flags.bytes());
        // SAFETY: the flag lies in host memory that has one for each piece; the device writes it
        // while it is read.
        let flag = || unsafe { self.flags.as_ptr().cast::<u32>().add(piece).read_volatile() };
        wait_for_flag(flag, sequence, in_vain, || gpu.is_done(queue), false)
    }

    /// Returns the results of a piece.
    ///
    /// # Safety
    /// They were waited for. Those of other pieces may still come.
    pub unsafe fn results(&self, results: Range<usize>) -> &[u8] {
        // SAFETY: the caller's promise.
        unsafe { self.results.part(results) }
    }

    /// Returns the bytes of host memory.
    pub fn bytes(&self) -> usize {
        self.results.bytes() + self.flags.bytes()
    }
}
