//! The kernels of an order and a precision on a device, and how they are launched.

use bytemuck::bytes_of;

use kyoho_core::{CHUNK, Interaction, Result};
use kyoho_hal::gpu::{Address, Argument, Gpu, Launch};

use super::code;
use super::model::END_SINKS;
use super::neighbour_lists::BATCH;
use super::shapes::{SHAPES, end_threads};
use super::step::Step;
use super::waiting::{self, WaitingKernel};

/// The threads of a thread block that fetches.
pub const FETCH_THREADS: usize = 256;
/// The most thread blocks that fetch, and the most that search for neighbours. Each goes through
/// many items.
const MOST_BLOCKS: [usize; 2] = [128, 4096];

/// The device's memory for sources.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoreAddresses<A> {
    pub octets: A,
    pub indices: A,
    pub ranges: A,
    pub slots: A,
    pub predicted: A,
}

/// Memory that the kernels of a block read and write.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockAddresses<A> {
    pub store: StoreAddresses<A>,
    /// Sinks, and behind these the records that the force kernel puts in their places.
    pub sinks: A,
    /// Partial sums, their nearest distances, and the accumulators of these.
    pub partial_sums: [A; 3],
    /// A counter of thread blocks that have ended.
    pub ticket: A,
    /// Sums, nearest distances and nearest indices.
    pub results: A,
    /// The place where the last thread block writes the sequence number of the step.
    pub flag: A,
}

/// Records on their way to their places: where they lie, how many, and the words of each.
#[derive(Debug, Clone, Copy)]
pub struct FetchedRecords<A> {
    pub from: A,
    pub count: usize,
    pub words: usize,
}

/// Sinks on their way to the device.
#[derive(Debug, Clone, Copy)]
pub struct FetchedSinks<A> {
    pub from: A,
    pub to: A,
    /// The count of their numbers.
    pub numbers: usize,
}

/// The addresses of neighbour lists that are made.
#[derive(Debug, Clone, Copy)]
pub struct ListAddresses<A> {
    pub sinks: A,
    pub lengths: A,
    pub lists: A,
    /// Indices that each list has room for.
    pub room: i32,
}

/// The kernels of an entry of the catalogue.
pub struct Kernels<G: Gpu> {
    fetch: G::Kernel,
    predict: G::Kernel,
    force: Vec<G::Kernel>,
    end: G::Kernel,
    find: G::Kernel,
    sort: G::Kernel,
    /// Whether the lists have the regular neighbours, found among predicted sources.
    finds_regular_neighbours: bool,
    /// Waits for small blocks, if kernels can.
    pub waiting: Option<WaitingKernel<G>>,
    /// The threads of a thread block that ends sinks.
    end_threads: usize,
}

/// Returns the names of an interaction's kernels: those of the shapes stand last but the one that
/// waits for blocks, if kernels can.
fn names(interaction: &Interaction, can_wait: bool) -> Vec<&'static str> {
    let finder = if interaction.is_regular() { "find_regular_neighbours" } else { "find_neighbours" };
    let mut names = vec!["fetch", "predict_sources", "end_block", finder, "sort_lists"];
    names.extend(SHAPES.map(|shape| shape.name));
    names.extend((can_wait && waiting::is_worthwhile(interaction)).then_some("wait_for_blocks"));
    names
}

impl<G: Gpu> Kernels<G> {
    /// Loads the kernels for a device.
    pub fn new(gpu: &G, interaction: &Interaction) -> Result<Kernels<G>> {
        let mut kernels = code::load(gpu, interaction, &names(interaction, gpu.properties().can_wait))?;
        let mut force = kernels.split_off(5);
        let waiting = force.drain(SHAPES.len()..).next();
        let mut others = kernels.into_iter();
        let mut next = || others.next().expect("a kernel for each name");
        Ok(Kernels {
            fetch: next(),
            predict: next(),
            end: next(),
            find: next(),
            sort: next(),
            force,
            waiting: waiting.map(|kernel| WaitingKernel::new(gpu, interaction, kernel)).transpose()?.flatten(),
            finds_regular_neighbours: interaction.is_regular(),
            end_threads: end_threads(interaction, gpu.properties().most_threads),
        })
    }

    /// Returns the thread blocks of a shape that a multiprocessor holds, where the driver knows.
    pub fn resident_blocks(&self, gpu: &G, shape: usize) -> Result<Option<usize>> {
        gpu.resident_blocks(&self.force[shape], SHAPES[shape].threads)
    }

    /// Puts records in their places and copies sinks, from memory of the host or of the
    /// device.
    ///
    /// # Safety
    /// Every address is of memory as long as the counts say, which is neither freed nor touched by
    /// the host until the queue has done the work. This holds for the other launches too.
    pub unsafe fn fetch(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        store: &StoreAddresses<Address<G>>,
        is_dense: bool,
        records: FetchedRecords<Address<G>>,
        sinks: FetchedSinks<Address<G>>,
    ) -> Result<()> {
        let (count, numbers, is_dense) = (records.count as i32, sinks.numbers as i32, i32::from(is_dense));
        let wanted = (records.count * records.words).max(sinks.numbers).div_ceil(FETCH_THREADS);
        let arguments = [
            Argument::Memory(records.from),
            Argument::Bytes(bytes_of(&count)),
            Argument::Memory(store.octets),
            Argument::Memory(store.indices),
            Argument::Memory(store.ranges),
            Argument::Memory(store.slots),
            Argument::Bytes(bytes_of(&is_dense)),
            Argument::Memory(sinks.from),
            Argument::Memory(sinks.to),
            Argument::Bytes(bytes_of(&numbers)),
        ];
        let launch = Launch {
            kernel: &mut self.fetch,
            blocks: wanted.clamp(1, MOST_BLOCKS[0]),
            threads: FETCH_THREADS,
            overlaps: false,
            arguments: &arguments,
        };
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.launch(queue, launch) }
    }

    /// Predicts the sources of the step's slices.
    ///
    /// # Safety
    /// See [`Kernels::fetch`].
    pub unsafe fn predict(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        step: &Step,
        store: &StoreAddresses<Address<G>>,
        overlaps: bool,
    ) -> Result<()> {
        let chunks = step.chunks_of_slices();
        if chunks <= 0 {
            return Ok(());
        }
        let arguments = [
            Argument::Bytes(bytes_of(step)),
            Argument::Memory(store.octets),
            Argument::Memory(store.slots),
            Argument::Memory(store.predicted),
        ];
        let kernel = &mut self.predict;
        let launch = Launch { kernel, blocks: chunks as usize, threads: CHUNK, overlaps, arguments: &arguments };
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.launch(queue, launch) }
    }

    /// Sums the pairs of a block in a shape, segment by segment.
    ///
    /// # Safety
    /// See [`Kernels::fetch`].
    #[inline]
    pub unsafe fn force(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        shape: usize,
        step: &Step,
        memory: &BlockAddresses<Address<G>>,
        overlaps: bool,
    ) -> Result<()> {
        let arguments: [_; 13] = force_arguments([Argument::Bytes(bytes_of(step))], memory);
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.launch(queue, force_launch(&mut self.force[shape], shape, step, overlaps, &arguments)) }
    }

    /// Returns the seconds that the kernel of a shape takes for a step.
    ///
    /// # Safety
    /// See [`Kernels::fetch`].
    pub unsafe fn seconds_of_force(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        shape: usize,
        step: &Step,
        memory: &BlockAddresses<Address<G>>,
    ) -> Result<f64> {
        let arguments: [_; 13] = force_arguments([Argument::Bytes(bytes_of(step))], memory);
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.seconds(queue, force_launch(&mut self.force[shape], shape, step, false, &arguments)) }
    }

    /// Adds the partial sums of a block and tells the host.
    ///
    /// # Safety
    /// See [`Kernels::fetch`].
    pub unsafe fn end(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        step: &Step,
        memory: &BlockAddresses<Address<G>>,
        overlaps: bool,
    ) -> Result<()> {
        let [sums, distances, accumulators] = memory.partial_sums;
        let arguments = [
            Argument::Bytes(bytes_of(step)),
            Argument::Memory(memory.store.octets),
            Argument::Memory(memory.store.indices),
            Argument::Memory(memory.store.slots),
            Argument::Memory(memory.store.predicted),
            Argument::Memory(memory.sinks),
            Argument::Memory(sums),
            Argument::Memory(distances),
            Argument::Memory(accumulators),
            Argument::Memory(memory.ticket),
            Argument::Memory(memory.results),
            Argument::Memory(memory.flag),
        ];
        let launch = Launch {
            kernel: &mut self.end,
            blocks: (step.ni as usize).div_ceil(END_SINKS),
            threads: self.end_threads,
            overlaps,
            arguments: &arguments,
        };
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.launch(queue, launch) }
    }

    /// Finds the neighbours of the step's sinks: counts them, lists as many as there is room for,
    /// and sorts the lists that are complete and not too long.
    ///
    /// # Safety
    /// See [`Kernels::fetch`].
    pub unsafe fn neighbours(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        step: &Step,
        store: &StoreAddresses<Address<G>>,
        lists: ListAddresses<Address<G>>,
    ) -> Result<()> {
        let [length, room] = [Argument::Memory(lists.lengths), Argument::Bytes(bytes_of(&lists.room))];
        let batches = (step.ni as usize).div_ceil(BATCH);
        let blocks = (step.chunks as usize).clamp(1, MOST_BLOCKS[1]);
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

/// Returns the arguments of a force kernel: the first ones, and the memory of a block.
#[inline(always)]
pub fn force_arguments<'a, A: Copy, const FIRST: usize, const ALL: usize>(
    first: [Argument<'a, A>; FIRST],
    memory: &BlockAddresses<A>,
) -> [Argument<'a, A>; ALL] {
    let StoreAddresses { octets, indices, ranges, slots, predicted } = memory.store;
    let [sums, distances, accumulators] = memory.partial_sums;
    let BlockAddresses { sinks, ticket, results, flag, .. } = *memory;
    let of_block =
        [octets, indices, ranges, slots, predicted, sinks, sums, distances, accumulators, ticket, results, flag];
    const { assert!(ALL == FIRST + 12) };
    std::array::from_fn(|place| if place < FIRST { first[place] } else { Argument::Memory(of_block[place - FIRST]) })
}

#[inline(always)]
fn force_launch<'a, G: Gpu>(
    kernel: &'a mut G::Kernel,
    shape: usize,
    step: &Step,
    overlaps: bool,
    arguments: &'a [Argument<'a, Address<G>>],
) -> Launch<'a, G> {
    let blocks = step.thread_blocks();
    Launch { kernel, blocks, threads: SHAPES[shape].threads, overlaps, arguments }
}

#[cfg(test)]
mod tests {
    use super::super::constants::unit;
    use super::*;
    use kyoho_laws::catalogue::with_kernels;

    #[test]
    fn every_kernel_that_is_asked_for_is_in_the_packs() {
        let resources = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/generated/resources.txt"));
        for entry in with_kernels() {
            for name in names(entry, true) {
                let start = format!("{} sm_90 {name} ", unit(entry));
                assert!(resources.lines().any(|line| line.starts_with(&start)), "{start}");
            }
        }
    }
}
