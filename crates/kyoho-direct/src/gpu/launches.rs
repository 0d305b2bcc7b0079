//! The kernels of an order and a precision on a device, and how they are launched.

use bytemuck::bytes_of;

use kyoho_core::{Interaction, Result, SLICES};
use kyoho_hal::gpu::{Address, Argument, Gpu, Launch};

use kyoho_methods::gpu::shapes::{END_SINKS, SHAPES, end_threads};
use kyoho_methods::gpu::sources::StoreAddresses;
use kyoho_methods::gpu::step::Step;
use kyoho_methods::gpu::tuning;

use super::waiting::WaitingKernel;

/// Memory that the kernels of a block read and write.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockAddresses<A> {
    /// The sources.
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

/// The kernels of an entry of the catalogue.
pub struct Kernels<G: Gpu> {
    force: Vec<G::Kernel>,
    end: G::Kernel,
    /// Waits for small blocks, if kernels can.
    pub waiting: Option<WaitingKernel<G>>,
    /// The threads of a thread block that ends sinks.
    end_threads: usize,
    /// The thread blocks that end sinks at the same time.
    end_blocks: usize,
}

/// Returns how many sinks a thread block ends of a launch in which so many slices have sums: the fewer
/// these, the more, as long as all multiprocessors have work. As a multiple of `END_SINKS` it reads and
/// writes whole sectors of memory.
fn end_sinks((ni, slices): (usize, usize), blocks_at_once: usize) -> usize {
    let most = ni / blocks_at_once / END_SINKS;
    END_SINKS * most.clamp(1, SLICES / slices)
}

/// Returns the names of an interaction's kernels: that which ends blocks, those of the shapes, and the
/// one that waits for blocks, if kernels can.
pub fn names(interaction: &Interaction, can_wait: bool) -> Vec<&'static str> {
    let mut names = vec!["end_block"];
    names.extend(SHAPES.map(|shape| shape.name));
    names.extend((can_wait && tuning::has_waiting_kernel(interaction)).then_some("wait_for_blocks"));
    names
}

impl<G: Gpu> Kernels<G> {
    /// Takes the kernels, in the order of their [`names`].
    pub fn of(gpu: &G, interaction: &Interaction, kernels: Vec<G::Kernel>) -> Result<Kernels<G>> {
        let mut kernels = kernels.into_iter();
        let end = kernels.next().expect("a kernel for each name");
        let force = kernels.by_ref().take(SHAPES.len()).collect();
        let waiting = kernels.next().map(|kernel| WaitingKernel::new(gpu, interaction, kernel));
        Ok(Kernels {
            force,
            end,
            waiting: waiting.transpose()?.flatten(),
            end_threads: end_threads(interaction, gpu.properties().most_threads),
            end_blocks: gpu.properties().multiprocessors.max(1) * tuning::of(interaction).end_resident,
        })
    }

    /// Returns the thread blocks of a shape that a multiprocessor holds, where the driver knows.
    pub fn resident_blocks(&self, gpu: &G, shape: usize) -> Result<Option<usize>> {
        gpu.resident_blocks(&self.force[shape], SHAPES[shape].threads)
    }

    /// Sums the pairs of a block in a shape, segment by segment.
    ///
    /// # Safety
    /// Every address is of memory as long as the counts say, which is neither freed nor touched by
    /// the host until the queue has done the work. This holds for the other launches too.
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
    /// See [`Kernels::force`].
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
    /// See [`Kernels::force`].
    pub unsafe fn end(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        step: &Step,
        memory: &BlockAddresses<Address<G>>,
        overlaps: bool,
    ) -> Result<()> {
        let [sums, distances, accumulators] = memory.partial_sums;
        let ni = step.ni as usize;
        let end_sinks = end_sinks((ni, step.slices as usize), self.end_blocks);
        let step = Step { end_sinks: end_sinks as i32, ..*step };
        let arguments = [
            Argument::Bytes(bytes_of(&step)),
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
            blocks: ni.div_ceil(end_sinks),
            threads: self.end_threads,
            overlaps,
            arguments: &arguments,
        };
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
    use super::*;

    #[test]
    fn thread_blocks_end_more_sinks_of_fewer_slices_where_all_multiprocessors_have_work() {
        for slices in 1..=SLICES {
            for ni in [1, 4, 1023, 1 << 16, 1 << 20] {
                let sinks = end_sinks((ni, slices), 396);
                assert!(sinks == END_SINKS || ni >= 396 * sinks, "{ni} sinks, {slices} slices: {sinks}");
                assert!(sinks * slices <= SLICES * END_SINKS, "{ni} sinks, {slices} slices: {sinks}");
                assert_eq!(sinks % END_SINKS, 0, "{ni} sinks, {slices} slices");
            }
        }
        assert_eq!(
            [(1000, 1), (1 << 18, 1), (1 << 18, 10), (1 << 18, SLICES)].map(|of| end_sinks(of, 396)),
            [4, 96, 8, 4]
        );
    }
}
