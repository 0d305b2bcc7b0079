//! Systems on a device: those that are under way there together, in memory of both sides.

use kyoho_core::Result;
use kyoho_hal::gpu::{Argument, Event, Gpu, HostMemory, Launch, Place};
use kyoho_hal::grow_buffer::GrowBuffer;
use kyoho_hal::threads::Threads;

use bytemuck::bytes_of;

use super::rules::{FewBodyRules, IS_UNDER_WAY, THREADS};

/// What memory is for.
const WHAT: &str = "systems of few bodies";

/// Systems of one number of bodies. Number `k` of the system in slot `s` stands at `k slots + s`, and
/// so do words.
pub struct Pool<G: Gpu> {
    slots: usize,
    /// How many numbers and words a system has.
    lengths: [usize; 2],
    numbers: G::HostMemory,
    words: G::HostMemory,
    on_device: [GrowBuffer<G>; 2],
    under_way: Option<G::Event>,
}

impl<G: Gpu> Pool<G> {
    /// Makes room for so many systems.
    pub fn new(gpu: &G, slots: usize, lengths: [usize; 2]) -> Result<Pool<G>> {
        let [numbers, words] = [8 * slots * lengths[0], 4 * slots * lengths[1]];
        let mut on_device = [GrowBuffer::new(gpu, WHAT)?, GrowBuffer::new(gpu, WHAT)?];
        on_device[0].ensure_capacity(gpu, numbers)?;
        on_device[1].ensure_capacity(gpu, words)?;
        Ok(Pool {
            slots,
            lengths,
            numbers: gpu.allocate_host(numbers, WHAT)?,
            words: gpu.allocate_host(words, WHAT)?,
            on_device,
            under_way: None,
        })
    }

    /// The number of systems for which there is room.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Begins to advance the first `systems` systems.
    pub fn begin(&mut self, (gpu, queue): (&G, &G::Queue), kernel: &mut G::Kernel, rules: &FewBodyRules) -> Result<()> {
        let systems = rules.systems as usize;
        let copied = [8 * self.slots * self.lengths[0], 4 * self.slots * self.lengths[1]];
        let hosts = [self.numbers.as_mut_ptr(), self.words.as_mut_ptr()];
        let ends = || hosts.into_iter().zip(&self.on_device).zip(copied);
        for ((host, device), bytes) in ends() {
            // SAFETY: both memories have so many bytes, and the host waits before it touches its own.
            unsafe { gpu.copy(queue, Place::Host(host), Place::Device(&device.0, 0), bytes)? };
        }
        let arguments = [Argument::Bytes(bytes_of(rules)), self.on_device[0].at(), self.on_device[1].at()];
        let blocks = systems.div_ceil(THREADS);
        // SAFETY: the kernel's arguments; the memories have a place for each number of each system.
        unsafe {
            gpu.launch(queue, Launch { kernel, blocks, threads: THREADS, overlaps: false, arguments: &arguments })?
        };
        for ((host, device), bytes) in ends() {
            // SAFETY: as above.
            unsafe { gpu.copy(queue, Place::Device(&device.0, 0), Place::Host(host), bytes)? };
        }
        self.under_way = Some(gpu.record(queue)?);
        Ok(())
    }

    /// Waits for what was begun last.
    pub fn wait(&mut self) -> Result<()> {
        self.under_way.take().map_or(Ok(()), |event| event.wait())
    }

    /// What the device has said of the systems in the first so many slots.
    pub fn records(&self, systems: usize) -> Records<'_> {
        // SAFETY: nothing is under way on the device when the host reads.
        let numbers = unsafe { self.numbers.part(0..self.slots * self.lengths[0]) };
        // SAFETY: as above.
        let words = unsafe { self.words.part(0..self.slots * self.lengths[1]) };
        Records { slots: self.slots, systems, numbers, words }
    }

    /// Writes rows of numbers and words to slots: each pair is a row and its slot.
    pub fn write(&mut self, threads: &Threads, places: &[(usize, usize)], numbers: &[f64], words: &[i32]) {
        let [of_numbers, of_words] = self.lengths;
        self.each_column(
            threads,
            |place, column| places.iter().for_each(|&(row, slot)| column[slot] = numbers[row * of_numbers + place]),
            |place, column| places.iter().for_each(|&(row, slot)| column[slot] = words[row * of_words + place]),
        );
    }

    /// Moves systems to other slots: each pair is the old one and the new one.
    pub fn shift(&mut self, threads: &Threads, places: &[(usize, usize)]) {
        self.each_column(
            threads,
            |_, column| places.iter().for_each(|&(from, to)| column[to] = column[from]),
            |_, column| places.iter().for_each(|&(from, to)| column[to] = column[from]),
        );
    }

    /// Lets threads write to each column of numbers and of words, by its place.
    fn each_column(
        &mut self,
        threads: &Threads,
        of_numbers: impl Fn(usize, &mut [f64]) + Sync,
        of_words: impl Fn(usize, &mut [i32]) + Sync,
    ) {
        let slots = self.slots;
        // SAFETY: nothing is under way on the device when the host writes.
        let numbers = unsafe { self.numbers.part_mut(0..slots * self.lengths[0]) };
        threads.each(numbers.chunks_exact_mut(slots).enumerate(), |(place, column)| of_numbers(place, column));
        // SAFETY: as above.
        let words = unsafe { self.words.part_mut(0..slots * self.lengths[1]) };
        threads.each(words.chunks_exact_mut(slots).enumerate(), |(place, column)| of_words(place, column));
    }
}

/// The records of a pool.
pub struct Records<'a> {
    slots: usize,
    systems: usize,
    numbers: &'a [f64],
    words: &'a [i32],
}

impl Records<'_> {
    /// The slots whose systems have ended, or wait for the host.
    pub fn stopped(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.systems).filter(|&slot| self.words[slot] != IS_UNDER_WAY)
    }

    /// Copies the record of a system to a row of numbers and one of words, if there is one.
    pub fn read(&self, slot: usize, numbers: &mut [f64], words: &mut [i32]) {
        if slot < self.systems {
            let of_numbers = self.numbers[slot..].iter().step_by(self.slots);
            let of_words = self.words[slot..].iter().step_by(self.slots);
            numbers.iter_mut().zip(of_numbers).for_each(|(to, from)| *to = *from);
            words.iter_mut().zip(of_words).for_each(|(to, from)| *to = *from);
        }
    }
}
