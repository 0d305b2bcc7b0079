//! Neighbour lists, made for thousands of sinks at a time.

use kyoho_core::{Interaction, Result, SinkSlice, memory, sinks};
use kyoho_hal::gpu::{Address, DeviceMemory, Gpu, HostMemory, Place};

use super::launches::{Kernels, ListAddresses, StoreAddresses};
use super::step::Step;

/// The number of sinks that a thread block searches for at a time.
pub const BATCH: usize = 256;
/// The most sinks whose lists are made together.
pub const MOST_SINKS: usize = 4096;
/// The most bytes of lists that are made together, unless those of a batch need more.
const MOST_BYTES: usize = 32 << 20;

/// Memory for the lists of some sinks.
pub struct NeighbourLists<G: Gpu> {
    bytes_of_sink: usize,
    sinks: G::HostMemory,
    /// The sinks where kernels read them.
    copy: G::Memory,
    lengths: G::Memory,
    lists: G::Memory,
    found_lengths: G::HostMemory,
    found: G::HostMemory,
    /// The number of indices that each list has room for.
    room: usize,
}

impl<G: Gpu> NeighbourLists<G> {
    /// Makes memory without room, which grows with what is found.
    pub fn new(gpu: &G, interaction: &Interaction) -> Result<NeighbourLists<G>> {
        Ok(NeighbourLists {
            bytes_of_sink: 8 * sinks::width(interaction),
            sinks: gpu.allocate_host(0, "sinks with neighbours")?,
            copy: gpu.allocate(0, "sinks with neighbours")?,
            lengths: gpu.allocate(0, "lengths of lists")?,
            lists: gpu.allocate(0, "neighbour lists")?,
            found_lengths: gpu.allocate_host(0, "lengths of lists")?,
            found: gpu.allocate_host(0, "neighbour lists")?,
            room: 64,
        })
    }

    /// Returns the bytes of host memory.
    pub fn bytes(&self) -> usize {
        self.sinks.bytes() + self.found_lengths.bytes() + self.found.bytes()
    }

    /// Appends the indices of the neighbours of each sink to its list. Those that are found are in
    /// ascending order, unless they are many.
    pub fn find(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        kernels: &mut Kernels<G>,
        mut step: Step,
        store: StoreAddresses<Address<G>>,
        sinks: SinkSlice,
        found: &mut [Vec<i32>],
    ) -> Result<()> {
        if step.chunks == 0 || sinks.iter().all(|sink| sink.radius2 <= 0.0) {
            return Ok(());
        }
        let mut first = 0;
        while first < sinks.len() {
            let most = (MOST_BYTES / (4 * self.room) / BATCH * BATCH).clamp(BATCH, MOST_SINKS);
            let some = sinks.range(first..sinks.len().min(first + most));
            step.ni = some.len() as i32;
            self.make_room(gpu, some.len())?;
            // SAFETY: all memory has room for these sinks and for lists as long as is said, and the
            // work is waited for.
            unsafe { self.begin((gpu, queue), kernels, &step, store, some)? };
            gpu.synchronize(queue)?;
            let lengths = &self.found_lengths.as_slice::<u32>()[..some.len()];
            let longest = lengths.iter().copied().max().unwrap_or(0) as usize;
            if longest > self.room {
                self.room = longest.next_power_of_two();
                continue;
            }
            let lists = self.found.as_slice::<i32>().chunks_exact(self.room);
            for ((length, list), found) in lengths.iter().zip(lists).zip(&mut found[first..]) {
                let list = &list[..*length as usize];
                memory::reserve(found, list.len(), "a neighbour list")?;
                found.extend_from_slice(list);
            }
            first += some.len();
        }
        Ok(())
    }

    /// Begins the lists of some sinks.
    ///
    /// # Safety
    /// There is room for them, and nothing of this is touched before the queue has ended.
    unsafe fn begin(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        kernels: &mut Kernels<G>,
        step: &Step,
        store: StoreAddresses<Address<G>>,
        sinks: SinkSlice,
    ) -> Result<()> {
        let numbers = sinks.numbers();
        self.sinks.as_mut_slice()[..numbers.len()].copy_from_slice(numbers);
        let lists = ListAddresses {
            sinks: self.copy.address(),
            lengths: self.lengths.address(),
            lists: self.lists.address(),
            room: self.room as i32,
        };
        let count = sinks.len();
        let from = Place::Host(self.sinks.as_mut_ptr());
        let [lengths, found] =
            [&mut self.found_lengths, &mut self.found].map(|memory| Place::Host(memory.as_mut_ptr()));
        // SAFETY: the caller's promise.
        unsafe {
            gpu.copy(queue, from, Place::Device(&self.copy, 0), size_of_val(numbers))?;
            gpu.zero(queue, &self.lengths, count * 4)?;
            kernels.neighbours((gpu, queue), step, &store, lists)?;
            gpu.copy(queue, Place::Device(&self.lengths, 0), lengths, count * 4)?;
            gpu.copy(queue, Place::Device(&self.lists, 0), found, count * self.room * 4)
        }
    }

    /// Makes room for this many sinks and their lists.
    fn make_room(&mut self, gpu: &G, sinks: usize) -> Result<()> {
        let sinks = sinks.next_multiple_of(BATCH);
        if self.sinks.bytes() < sinks * self.bytes_of_sink {
            let bytes = sinks * self.bytes_of_sink;
            (self.copy, self.sinks) =
                (gpu.allocate(bytes, "sinks with neighbours")?, gpu.allocate_host(bytes, "sinks with neighbours")?);
        }
        if self.found_lengths.bytes() < sinks * 4 {
            let what = "lengths of lists";
            (self.lengths, self.found_lengths) = (gpu.allocate(sinks * 4, what)?, gpu.allocate_host(sinks * 4, what)?);
        }
        let bytes = sinks * self.room * 4;
        if self.found.bytes() < bytes {
            let what = "neighbour lists";
            (self.lists, self.found) = (gpu.allocate(bytes, what)?, gpu.allocate_host(bytes, what)?);
        }
        Ok(())
    }
}
