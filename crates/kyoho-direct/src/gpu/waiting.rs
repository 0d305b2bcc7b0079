//! A kernel that stays on the device and waits for small blocks, where these follow one another
//! closely: it has begun a block sooner than a launch would (`docs/notes/waiting-kernel.md` says
//! how much).
//!
//! The host writes a block into a letter in its own memory, which the kernel looks at:
//! `kernels/direct/waiting.h` has the other end. The kernel ends without a letter for [`PATIENCE`],
//! and in any case after `LIFETIME`, so that others come to the device. Whatever is begun in its
//! queue meanwhile begins after its end, which [`WaitingKernel::stop`] brings about at once.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytemuck::bytes_of;

use kyoho_core::{Interaction, Result};
use kyoho_hal::gpu::{Address, Argument, DeviceMemory, Gpu, HostMemory, Launch, Mapped};

use super::launches::{BlockAddresses, force_arguments};
use kyoho_methods::gpu::outbox::Outbox;
use kyoho_methods::gpu::shapes::SHAPES;
use kyoho_methods::gpu::step::Step;

/// The words of 64 bits at the start of a letter: the bell, the turn in which the kernel ended, and
/// room that keeps both apart from the rest.
pub const LETTER_HEAD: usize = 8;
/// How long a kernel waits for a letter.
pub const PATIENCE: Duration = Duration::from_micros(200);
/// The most bytes of sinks and records of a letter.
const MOST_BYTES: usize = 16 << 10;
/// The most chunks of an item on average, times the derivatives of a body: the loop over sources is
/// slower than that of a launch, which has the step in memory for constants and more registers.
const CHUNKS_OF_ITEM: usize = 8;
/// The least and the most small blocks in a row that have to come closely after the one before until
/// a kernel waits for them: more after each kernel that got few letters.
const STREAK: [u32; 2] = [4, 4096];
/// The number of letters of a kernel that was worth its launch.
const WORTHWHILE: u32 = 32;

/// The kernel, and the memory through which it gets its blocks.
pub struct WaitingKernel<G: Gpu> {
    kernel: G::Kernel,
    /// Its thread blocks: as many as the device has room for.
    blocks: usize,
    letter: G::HostMemory,
    /// The letter on the device.
    copy: G::Memory,
    /// The most chunks of an item on average.
    chunks_of_item: usize,
    /// The number of the last letter.
    turn: u32,
    /// The words of the last letter behind its head, and its items.
    contents: [u16; 2],
    /// What a kernel on the device reads and writes besides its letters.
    running: Option<BlockAddresses<Address<G>>>,
    /// The longest time from one small block to the next that counts as close.
    pub closeness: Duration,
    /// The number of small blocks that have followed one another closely, and the last one's time.
    streak: u32,
    last: Option<Instant>,
    /// The streak after which the next kernel is launched, and the letters since the last launch.
    wanted: u32,
    letters: u32,
}

impl<G: Gpu> WaitingKernel<G> {
    /// Returns the kernel of a device, if host and kernel see each other's memory.
    pub fn new(gpu: &G, interaction: &Interaction, kernel: G::Kernel) -> Result<Option<WaitingKernel<G>>> {
        let letter = gpu.allocate_host(8 * LETTER_HEAD + size_of::<Step>() + MOST_BYTES, "letters")?;
        let resident = gpu.resident_blocks(&kernel, SHAPES[0].threads)?.unwrap_or(0);
        let blocks = resident * gpu.properties().multiprocessors;
        if letter.device_address(0).is_none() || blocks == 0 {
            return Ok(None);
        }
        let (copy, queue) = (gpu.allocate(letter.bytes(), "letters")?, gpu.queue()?);
        // Thread blocks that come before the first letter must not find one there.
        // SAFETY: the memory is that long, and the work is waited for.
        unsafe { gpu.zero(&queue, &copy, copy.bytes())? };
        gpu.synchronize(&queue)?;
        Ok(Some(WaitingKernel {
            kernel,
            blocks,
            letter,
            copy,
            chunks_of_item: CHUNKS_OF_ITEM / interaction.n_derivatives,
            turn: 0,
            contents: [0; 2],
            running: None,
            closeness: PATIENCE,
            streak: 0,
            last: None,
            wanted: STREAK[0],
            letters: 0,
        }))
    }

    /// Whether a step with this many bytes of sinks and records is to come by a letter. This has to
    /// be asked once for each small block.
    pub fn takes(&mut self, step: &Step, bytes: usize) -> bool {
        let now = Instant::now();
        let is_close = self.last.replace(now).is_some_and(|last| now.duration_since(last) < self.closeness);
        let (items, chunks) = (step.thread_blocks(), step.chunks as usize * step.blocks as usize);
        let fits = bytes <= MOST_BYTES && items <= usize::from(u16::MAX) && chunks <= self.chunks_of_item * items;
        self.streak = if fits && is_close { self.streak.saturating_add(1) } else { 0 };
        self.streak >= self.wanted
    }

    /// Sends a step with its sinks and its records, and launches the kernel if it does not wait.
    ///
    /// # Safety
    /// The addresses are of memory that has room for what the step says, and that is neither freed
    /// nor touched by the host until the block was waited for.
    pub unsafe fn send(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        step: &Step,
        parts: [&[u8]; 2],
        memory: BlockAddresses<Address<G>>,
    ) -> Result<()> {
        if self.running.as_ref().is_some_and(|running| *running != memory) {
            self.stop();
            // The old kernel has to see the bell before it rings again.
            gpu.synchronize(queue)?;
        }
        let mut place = 8 * LETTER_HEAD;
        for part in [bytes_of(step)].into_iter().chain(parts) {
            assert!(place + part.len() <= self.letter.bytes());
            // SAFETY: the letter has room, and the kernel reads it only after the bell.
            unsafe { part.as_ptr().copy_to_nonoverlapping(self.letter.as_mut_ptr().add(place), part.len()) };
            place += part.len();
        }
        // Both are bounded by `takes`.
        self.contents = [place.div_ceil(8) - LETTER_HEAD, step.thread_blocks()].map(|count| count as u16);
        self.ring(self.contents);
        self.letters = self.letters.saturating_add(1);
        if self.running.is_none() {
            self.running = Some(memory);
            return self.launch(gpu, queue);
        }
        Ok(())
    }

    /// Waits for the sums of the last letter, and launches the kernel again if it ended before it
    /// came.
    pub fn wait(&mut self, gpu: &G, queue: &G::Queue, outbox: &Outbox<G>, sequence: u32) -> Result<()> {
        while !outbox.wait_unless(gpu, queue, (0, sequence), || self.ended() == self.turn)? {
            // It will not see this turn, so the letter goes with another.
            self.ring(self.contents);
            self.launch(gpu, queue)?;
        }
        Ok(())
    }

    /// Lets the kernel end.
    pub fn stop(&mut self) {
        if self.running.take().is_some() {
            self.wanted = if self.letters < WORTHWHILE { STREAK[1].min(4 * self.wanted) } else { STREAK[0] };
            (self.streak, self.letters) = (0, 0);
            self.ring([0; 2]);
        }
    }

    /// Returns the bytes of host memory.
    pub fn bytes(&self) -> usize {
        self.letter.bytes()
    }

    /// Rings with the next turn, and says how many words and items the letter has.
    fn ring(&mut self, [words, items]: [u16; 2]) {
        self.turn = self.turn.wrapping_add(1);
        let bell = u64::from(self.turn) | u64::from(words) << 32 | u64::from(items) << 48;
        // SAFETY: the letter begins with its bell, aligned and in memory that lives as long; only
        // the host writes to it.
        let place = unsafe { AtomicU64::from_ptr(self.letter.as_mut_ptr().cast()) };
        place.store(bell, Ordering::Release);
    }

    /// Returns the turn in which the last kernel ended.
    fn ended(&self) -> u32 {
        // SAFETY: the second word of the head; the device writes it while it is read.
        let place = unsafe { AtomicU32::from_ptr(self.letter.as_ptr().cast_mut().cast::<u32>().add(2)) };
        place.load(Ordering::Acquire)
    }

    /// Launches the kernel, which begins with the letter that is there.
    fn launch(&mut self, gpu: &G, queue: &G::Queue) -> Result<()> {
        let (Some(memory), Some(letter)) = (&self.running, self.letter.device_address(0)) else { return Ok(()) };
        let first =
            [Argument::Memory(letter), Argument::Memory(self.copy.address()), Argument::Bytes(bytes_of(&self.turn))];
        let arguments: [_; 15] = force_arguments(first, memory);
        let launch = Launch {
            kernel: &mut self.kernel,
            blocks: self.blocks,
            threads: SHAPES[0].threads,
            overlaps: false,
            arguments: &arguments,
        };
        // SAFETY: the promise of `send`; the arguments are those of the kernel.
        unsafe { gpu.launch(queue, launch) }
    }
}
