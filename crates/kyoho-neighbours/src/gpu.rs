//! Neighbour lists, made for thousands of sinks at a time.

use bytemuck::{bytes_of, cast_slice};

use kyoho_core::{Block, CHUNK, Interaction, Result, SinkSlice, Sources, memory, sinks};
use kyoho_hal::fetched::Fetched;
use kyoho_hal::gpu::{Address, Argument, DeviceMemory, Gpu, HostMemory, Launch, Place};
use kyoho_methods::gpu::sources::{GpuSources, StoreAddresses};
use kyoho_methods::gpu::step::Step;

/// The number of sinks that a thread block searches for at a time.
pub const BATCH: usize = 256;
/// The most sinks whose lists are made together.
pub const MOST_SINKS: usize = 4096;
/// The most bytes of lists that are made together, unless those of a batch need more.
const MOST_BYTES: usize = 32 << 20;
/// The most thread blocks that search. Each goes through many items.
const MOST_BLOCKS: usize = 4096;

/// The addresses of neighbour lists that are made.
#[derive(Debug, Clone, Copy)]
struct ListAddresses<A> {
    sinks: A,
    lengths: A,
    lists: A,
    /// Indices that each list has room for.
    room: i32,
}

/// The kernels that find neighbours and sort their lists.
pub struct FinderKernels<G: Gpu> {
    find: G::Kernel,
    sort: G::Kernel,
    /// Whether the lists have the regular neighbours, found among predicted sources.
    finds_regular_neighbours: bool,
}

impl<G: Gpu> FinderKernels<G> {
    /// Returns the names of an interaction's kernels.
    pub fn names(interaction: &Interaction) -> [&'static str; 2] {
        [if interaction.is_regular() { "find_regular_neighbours" } else { "find_neighbours" }, "sort_lists"]
    }

    /// Takes the kernels, in the order of their names.
    pub fn of(interaction: &Interaction, [find, sort]: [G::Kernel; 2]) -> FinderKernels<G> {
        FinderKernels { find, sort, finds_regular_neighbours: interaction.is_regular() }
    }

    /// Finds the neighbours of the step's sinks: counts them, lists as many as there is room for,
    /// and sorts the lists that are complete and not too long.
    ///
    /// # Safety
    /// Every address is of memory as long as the counts say, which is neither freed nor touched by
    /// the host until the queue has done the work.
    unsafe fn neighbours(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        step: &Step,
        store: &StoreAddresses<Address<G>>,
        lists: ListAddresses<Address<G>>,
    ) -> Result<()> {
        let [length, room] = [Argument::Memory(lists.lengths), Argument::Bytes(bytes_of(&lists.room))];
        let batches = (step.ni as usize).div_ceil(BATCH);
        let blocks = (step.chunks as usize).clamp(1, MOST_BLOCKS);
        let step = &Step { blocks: blocks as i32, ..*step };
        let arguments = [
            Argument::Bytes(bytes_of(step)),
            Argument::Memory(if self.finds_regular_neighbours { store.predicted } else { store.octets }),
            Argument::Memory(store.indices),
            Argument::Memory(store.slots),
            Argument::Memory(lists.sinks),
            length,
            Argument::Memory(lists.lists),
            room,
        ];
        let find = &mut self.find;
        let launch =
            Launch { kernel: find, blocks: blocks * batches, threads: CHUNK, overlaps: false, arguments: &arguments };
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.launch(queue, launch)? };
        let arguments = [length, Argument::Memory(lists.lists), room];
        let sort = &mut self.sort;
        let blocks = step.ni as usize;
        let launch = Launch { kernel: sort, blocks, threads: CHUNK, overlaps: false, arguments: &arguments };
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.launch(queue, launch) }
    }
}

/// Memory for the lists of some sinks.
pub struct NeighbourLists<G: Gpu> {
    kernels: FinderKernels<G>,
    bytes_of_sink: usize,
    sinks: G::HostMemory,
    /// The sinks where kernels read them.
    copy: G::Memory,
    lengths: G::Memory,
    lists: G::Memory,
    /// Lengths and lists on the host.
    found: Fetched<G>,
    /// The number of indices that each list has room for.
    room: usize,
}

impl<G: Gpu> NeighbourLists<G> {
    /// Makes memory without room, which grows with what is found.
    pub fn new(gpu: &G, interaction: &Interaction, kernels: FinderKernels<G>) -> Result<NeighbourLists<G>> {
        Ok(NeighbourLists {
            kernels,
            bytes_of_sink: 8 * sinks::width(interaction),
            sinks: gpu.allocate_host(0, "sinks with neighbours")?,
            copy: gpu.allocate(0, "sinks with neighbours")?,
            lengths: gpu.allocate(0, "lengths of lists")?,
            lists: gpu.allocate(0, "neighbour lists")?,
            found: Fetched::new(gpu, 0, "neighbour lists")?,
            room: 64,
        })
    }

    /// Returns the bytes of host memory.
    pub fn bytes(&self) -> usize {
        self.sinks.bytes() + self.found.bytes()
    }

    /// Appends the indices of the neighbours of some sinks of the last block, of all slices. Those
    /// that are found are in ascending order, unless they are many.
    pub fn make(
        &mut self,
        on: &mut GpuSources<G>,
        sources: &Sources,
        (block, sinks): (&Block, SinkSlice),
        found: &mut [Vec<i32>],
    ) -> Result<()> {
        on.store.make_room_for_predicted(&on.gpu)?;
        if self.kernels.finds_regular_neighbours {
            // The lists are of sources as the sums saw them.
            on.predict_all(sources, block)?;
        }
        let step = Step {
            ni: sinks.len() as i32,
            chunks: sources.chunks_below(block.nj) as i32,
            slice_step: 1,
            skip_own_index: i32::from(block.skip_own_index),
            is_dense: i32::from(on.store.is_dense()),
            ..Step::of(block)
        };
        self.find((&on.gpu, &on.queues[0]), step, on.store.addresses(), sinks, found)
    }

    fn find(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
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
            unsafe { self.begin((gpu, queue), &step, store, some)? };
            let (bytes_of_lengths, bytes_of_lists) = (some.len() * 4, some.len() * self.room * 4);
            let from = [(&self.lengths, 0..bytes_of_lengths), (&self.lists, 0..bytes_of_lists)];
            let (lengths, lists) = self.found.fetch((gpu, queue), &from)?.split_at(bytes_of_lengths);
            let lengths: &[u32] = cast_slice(lengths);
            let longest = lengths.iter().copied().max().unwrap_or(0) as usize;
            if longest > self.room {
                self.room = longest.next_power_of_two();
                continue;
            }
            let lists = cast_slice::<u8, i32>(lists).chunks_exact(self.room);
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
        step: &Step,
        store: StoreAddresses<Address<G>>,
        sinks: SinkSlice,
    ) -> Result<()> {
        let numbers = sinks.numbers();
        // SAFETY: the last work that used them was waited for.
        unsafe { self.sinks.part_mut(0..numbers.len()) }.copy_from_slice(numbers);
        let lists = ListAddresses {
            sinks: self.copy.address(),
            lengths: self.lengths.address(),
            lists: self.lists.address(),
            room: self.room as i32,
        };
        let count = sinks.len();
        let from = Place::Host(self.sinks.as_mut_ptr());
        // SAFETY: the caller's promise.
        unsafe {
            gpu.copy(queue, from, Place::Device(&self.copy, 0), size_of_val(numbers))?;
            gpu.zero(queue, &self.lengths, count * 4)?;
            self.kernels.neighbours((gpu, queue), step, &store, lists)
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
        if self.lengths.bytes() < sinks * 4 {
            self.lengths = gpu.allocate(sinks * 4, "lengths of lists")?;
        }
        let bytes = sinks * self.room * 4;
        if self.lists.bytes() < bytes {
            self.lists = gpu.allocate(bytes, "neighbour lists")?;
        }
        if self.found.bytes() < sinks * 4 + bytes {
            self.found = Fetched::new(gpu, sinks * 4 + bytes, "neighbour lists")?;
        }
        Ok(())
    }
}
