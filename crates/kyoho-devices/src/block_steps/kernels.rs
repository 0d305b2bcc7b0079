//! The kernels of block steps, and how they are launched.

use bytemuck::bytes_of;

use kyoho_core::{Error, Interaction, Precision, Result};
use kyoho_hal::gpu::{Address, Argument, Gpu, Launch};
use kyoho_methods::block_steps::{MOST_GROUPS, body_numbers};
use kyoho_methods::gpu::code;
use kyoho_methods::gpu::sources::StoreAddresses;
use kyoho_methods::gpu::step::BlockPiece;

/// The threads of a thread block.
pub const STEP_THREADS: usize = 128;
/// The words of a set that a thread block takes.
pub const WORDS_OF_BLOCK: usize = 64;
/// The bits of a word of a set.
const BITS_OF_WORD: usize = 32;
/// The sets of bodies, one for each bit of a time in ticks: two intervals have 2^51 of them at most.
pub const SETS: usize = 52;
/// The numbers of a note before the nearest pair.
pub const NOTE_HEAD: usize = 10;
/// The numbers of a note, with two bodies of any order.
pub const NOTE_NUMBERS: usize = (NOTE_HEAD + 2 * body_numbers(4)).next_multiple_of(16);
/// The notes that there are room for, more than a device is ahead of the host.
pub const NOTES: usize = 256;
/// The numbers of what came of blocks.
pub const OUTCOME: usize = 4;
/// The numbers of the nearest pair of a part of a block.
pub const NEAREST_NUMBERS: usize = 2;
/// The places of the launch shapes that sum in a chain: one for each number of accumulators.
pub const CHAINED: [usize; 3] = [1, 3, 6];
/// The most thread blocks of a chain on a multiprocessor, which bound the registers of a thread.
pub const CHAIN_RESIDENT: usize = 2;
/// The most plans of sums of a chain for the sources of a group.
pub const MOST_PLANS: usize = 48;
/// The sinks that a thread block of a chain ends at a time.
#[cfg(test)]
pub const CHAIN_END_SINKS: usize = 16;
/// The bodies that a thread block advances.
pub const BODIES_OF_BLOCK: usize = 32;
/// The most thread blocks that put bodies into sets.
const MOST_BLOCKS: usize = 512;

const NAMES: [&str; 3] = ["schedule_bodies", "take_block", "advance_block"];
/// That of several groups.
const NAME_OF_GROUPS: &str = "add_group";
/// That of chains.
const NAME_OF_CHAINS: &str = "run_chain";

/// Memory of bodies that step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepAddresses<A> {
    /// The rules.
    pub rules: A,
    /// The groups: the squared softenings, and the group of each body with the address of its source.
    pub groups: A,
    /// The bodies.
    pub bodies: A,
    /// The sets.
    pub sets: A,
    /// The number of bodies of each set.
    pub counts: A,
    /// What came of all blocks.
    pub outcome: A,
    /// The nearest pairs of the block.
    pub nearest: A,
    /// The plans of sums in chains, those of each group of sources.
    pub plans: A,
    /// What the forces of all blocks by each group of sources have in common.
    pub forces: A,
    /// The notes to the host.
    pub notes: A,
    /// The sources.
    pub store: StoreAddresses<A>,
    /// Partial sums in chains, their nearest distances, and the accumulators of these.
    pub partial_sums: [A; 3],
    /// The results in chains.
    pub results: A,
    /// A count of the thread blocks that have come where those of a chain meet.
    pub have_come: A,
}

/// A block: what it is, its bodies, and these as sinks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TakenAddresses<A> {
    /// What it is.
    pub state: A,
    /// The bodies.
    pub members: A,
    /// The sinks.
    pub sinks: A,
}

/// The kernels of an interaction, of bodies in one group or in several.
pub struct Kernels<G: Gpu> {
    schedule: G::Kernel,
    take: G::Kernel,
    advance: G::Kernel,
    /// That which adds the forces of several groups.
    add: Option<G::Kernel>,
    /// That of chains, with the thread blocks that the device holds at once.
    chain: Option<(G::Kernel, usize)>,
}

/// Whether there is a kernel of chains for an interaction: `kernels/steps/unit.h`.
pub fn has_chains(interaction: &Interaction) -> bool {
    interaction.precision == Precision::Mixed
}

/// Returns the words of a set of this many bodies.
pub fn words_of_set(bodies: usize) -> usize {
    bodies.div_ceil(BITS_OF_WORD)
}

impl<G: Gpu> Kernels<G> {
    /// Loads the kernels of bodies in so many groups.
    pub fn new(gpu: &G, interaction: &Interaction, groups: usize) -> Result<Kernels<G>> {
        let has_chains = gpu.properties().can_wait && has_chains(interaction);
        let mut names = NAMES.to_vec();
        names.extend((groups > 1).then_some(NAME_OF_GROUPS));
        names.extend(has_chains.then_some(NAME_OF_CHAINS));
        let most = if groups > 1 { MOST_GROUPS } else { 1 };
        let mut kernels = code::load_steps(gpu, (interaction, most), &names)?.into_iter();
        let mut next = || kernels.next().expect("a kernel for each name");
        let (schedule, take, advance) = (next(), next(), next());
        let add = (groups > 1).then(&mut next);
        let mut chain = None;
        if has_chains {
            let kernel = next();
            let resident = gpu.resident_blocks(&kernel, STEP_THREADS)?.unwrap_or(0);
            // The first thread block sums nothing.
            let blocks = gpu.properties().multiprocessors * resident.min(CHAIN_RESIDENT);
            chain = (blocks > 1).then_some((kernel, blocks));
        }
        Ok(Kernels { schedule, take, advance, add, chain })
    }

    /// Whether they are for bodies in so many groups.
    pub fn are_for(&self, groups: usize) -> bool {
        self.add.is_some() == (groups > 1)
    }

    /// Returns the number of thread blocks of a chain, if there are chains.
    pub fn blocks_of_chain(&self) -> Option<usize> {
        self.chain.as_ref().map(|(_, blocks)| *blocks)
    }

    /// Puts all bodies into empty sets at a time and its ticks.
    ///
    /// # Safety
    /// Every address is of memory as long as the rules say, which is neither freed nor touched by the
    /// host until the queue has done the work. This holds for the other launches too.
    pub unsafe fn schedule(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        (now, ticks): (f64, i64),
        bodies: usize,
        memory: &StepAddresses<Address<G>>,
    ) -> Result<()> {
        let arguments = [
            Argument::Memory(memory.rules),
            Argument::Bytes(bytes_of(&now)),
            Argument::Bytes(bytes_of(&ticks)),
            Argument::Memory(memory.bodies),
            Argument::Memory(memory.sets),
            Argument::Memory(memory.counts),
            Argument::Memory(memory.outcome),
        ];
        let blocks = bodies.div_ceil(STEP_THREADS).min(MOST_BLOCKS);
        let kernel = &mut self.schedule;
        let launch = Launch { kernel, blocks, threads: STEP_THREADS, overlaps: false, arguments: &arguments };
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.launch(queue, launch) }
    }

    /// Takes the bodies that are due next of this many, and tells the host of them and of the block
    /// before, which had so many parts.
    ///
    /// # Safety
    /// See [`Kernels::schedule`].
    pub unsafe fn take(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        (bodies, parts): (usize, usize),
        memory: &StepAddresses<Address<G>>,
        [before, taken]: [&TakenAddresses<Address<G>>; 2],
    ) -> Result<()> {
        let parts = parts as i32;
        let arguments = [
            Argument::Memory(memory.rules),
            Argument::Memory(memory.groups),
            Argument::Bytes(bytes_of(&parts)),
            Argument::Memory(before.state),
            Argument::Memory(taken.state),
            Argument::Memory(memory.bodies),
            Argument::Memory(memory.sets),
            Argument::Memory(memory.counts),
            Argument::Memory(memory.outcome),
            Argument::Memory(memory.nearest),
            Argument::Memory(taken.members),
            Argument::Memory(taken.sinks),
            Argument::Memory(memory.notes),
        ];
        // One writes notes.
        let blocks = 1 + words_of_set(bodies).div_ceil(WORDS_OF_BLOCK);
        let kernel = &mut self.take;
        let launch = Launch { kernel, blocks, threads: STEP_THREADS, overlaps: true, arguments: &arguments };
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.launch(queue, launch) }
    }

    /// Adds the results of a piece of a block, by the sources of the first group or of another one, to
    /// those of all, which have room for `stride` sinks.
    ///
    /// # Safety
    /// See [`Kernels::schedule`].
    pub unsafe fn add(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        (piece, results): (&BlockPiece, Address<G>),
        (is_first, stride): (bool, usize),
        all: Address<G>,
    ) -> Result<()> {
        let numbers = [i32::from(is_first), stride as i32];
        let [is_first, stride] = [&numbers[0], &numbers[1]].map(|number| Argument::Bytes(bytes_of(number)));
        let arguments =
            [Argument::Bytes(bytes_of(piece)), is_first, stride, Argument::Memory(results), Argument::Memory(all)];
        let blocks = (piece.sinks as usize).div_ceil(STEP_THREADS);
        let none = || Error::Internal { what: "these block steps are of one group".into() };
        let kernel = self.add.as_mut().ok_or_else(none)?;
        let launch = Launch { kernel, blocks, threads: STEP_THREADS, overlaps: true, arguments: &arguments };
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.launch(queue, launch) }
    }

    /// Advances the bodies of a piece of a block, whose results are there.
    ///
    /// # Safety
    /// See [`Kernels::schedule`].
    pub unsafe fn advance(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        (piece, results): (&BlockPiece, Address<G>),
        memory: &StepAddresses<Address<G>>,
        taken: &TakenAddresses<Address<G>>,
    ) -> Result<()> {
        let arguments = [
            Argument::Memory(memory.rules),
            Argument::Memory(memory.groups),
            Argument::Bytes(bytes_of(piece)),
            Argument::Memory(taken.state),
            Argument::Memory(taken.members),
            Argument::Memory(results),
            Argument::Memory(memory.bodies),
            Argument::Memory(memory.store.octets),
            Argument::Memory(memory.store.slots),
            Argument::Memory(memory.sets),
            Argument::Memory(memory.counts),
            Argument::Memory(memory.outcome),
            Argument::Memory(memory.nearest),
        ];
        let blocks = (piece.sinks as usize).div_ceil(BODIES_OF_BLOCK);
        let kernel = &mut self.advance;
        let launch = Launch { kernel, blocks, threads: STEP_THREADS, overlaps: true, arguments: &arguments };
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.launch(queue, launch) }
    }

    /// Makes some block steps, whatever their sizes, by so many thread blocks. The first block is the one
    /// that was taken in this turn of the two.
    ///
    /// # Safety
    /// See [`Kernels::schedule`].
    pub unsafe fn run_chain(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        (turn, steps, blocks): (i32, i32, usize),
        memory: &StepAddresses<Address<G>>,
        taken: &[TakenAddresses<Address<G>>; 2],
    ) -> Result<()> {
        let StoreAddresses { octets, indices, ranges, slots, predicted } = memory.store;
        let [sums, distances, accumulators] = memory.partial_sums;
        let [even, odd] = taken;
        let none = || Error::Internal { what: "the device makes no chains of block steps".into() };
        let (kernel, _) = self.chain.as_mut().ok_or_else(none)?;
        let head = [memory.rules, memory.groups, memory.forces].map(Argument::Memory);
        let values = [bytes_of(&turn), bytes_of(&steps)].map(Argument::Bytes);
        let memory = [
            memory.plans,
            even.state,
            even.members,
            even.sinks,
            odd.state,
            odd.members,
            odd.sinks,
            octets,
            indices,
            ranges,
            slots,
            predicted,
            sums,
            distances,
            accumulators,
            memory.results,
            memory.bodies,
            memory.sets,
            memory.counts,
            memory.outcome,
            memory.nearest,
            memory.notes,
            memory.have_come,
        ]
        .map(Argument::Memory);
        let arguments = [&head[..], &values, &memory].concat();
        let launch = Launch { kernel, blocks, threads: STEP_THREADS, overlaps: false, arguments: &arguments };
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.launch_together(queue, launch) }
    }
}
