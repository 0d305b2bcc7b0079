//! The kernels of interaction lists on a device, and how they are launched.

use bytemuck::bytes_of;

use kyoho_core::{Interaction, Result};
use kyoho_hal::gpu::{Address, Argument, Gpu, Launch};
use kyoho_methods::gpu::code;
use kyoho_methods::gpu::sources::StoreAddresses;
use kyoho_methods::gpu::step::{Columns, ForceColumns, Step};
use kyoho_methods::gpu::tuning::{self, LIST_THREADS};

use super::plan::{GROUP_THREADS, Plan};
use super::units::UnitChooser;

/// The names of the kernels.
pub const NAMES: [&str; 2] = ["sum_lists", "add_segments"];

/// The kernels of an interaction.
pub struct Kernels<G: Gpu> {
    sinks_of_thread: usize,
    sum: G::Kernel,
    add: G::Kernel,
    divide: G::Kernel,
    /// Chooses the units of groups.
    pub chooser: UnitChooser<G>,
}

/// Memory that the kernels of a piece read and write.
pub struct PieceAddresses<A> {
    /// The sources of the system.
    pub store: StoreAddresses<A>,
    /// The items.
    pub items: A,
    /// The parts.
    pub parts: A,
    /// The groups.
    pub groups: A,
    /// The units of those whose sources came with the call.
    pub units: A,
    /// The places of the next item of each size, of the next part and of the next row.
    pub next: A,
    /// The table of addresses.
    pub addresses: A,
    /// The sources that came with the call.
    pub own: A,
    /// The sinks.
    pub sinks: A,
    /// Partial sums and their nearest sources.
    pub partial_sums: A,
    /// Sums and nearest sources.
    pub results: A,
}

/// Arrays of the caller that receive the sums.
pub struct Receiver<A> {
    /// The arrays.
    pub forces: ForceColumns,
    /// The address that they are counted from.
    pub origin: A,
    /// Receives the number of the first sink with a sum that is not finite, as `write_forces` writes
    /// it.
    pub found: A,
}

impl<G: Gpu> Kernels<G> {
    /// Loads the kernels for a device.
    pub fn new(gpu: &G, interaction: &Interaction) -> Result<Kernels<G>> {
        let of_groups = code::load_arrays(gpu, &["divide_groups", "choose_units"])?;
        let mut kernels = code::load_lists(gpu, interaction, &NAMES)?.into_iter().chain(of_groups);
        let mut next = || kernels.next().expect("a kernel for each name");
        let sinks_of_thread = tuning::of(interaction).list(interaction).sinks;
        let [sum, add, divide] = [next(), next(), next()];
        Ok(Kernels { sinks_of_thread, sum, add, divide, chooser: UnitChooser::of(next()) })
    }

    /// Divides some groups into the items and parts of a plan.
    ///
    /// # Safety
    /// Every address is of memory as long as the groups, items and parts say, which is neither
    /// freed nor touched by the host until the queue has done the work. This holds for the other
    /// launches too.
    pub unsafe fn divide(
        &mut self,
        on: (&G, &G::Queue),
        (plan, groups): (&Plan, usize),
        memory: &PieceAddresses<Address<G>>,
    ) -> Result<()> {
        let (blocks, [groups, sinks]) =
            (groups.div_ceil(GROUP_THREADS), [groups, self.sinks_of_thread].map(|count| count as i32));
        let [divides, sorts] = [plan.divides, plan.sorts].map(i32::from);
        let arguments = [
            Argument::Memory(memory.groups),
            Argument::Bytes(bytes_of(&groups)),
            Argument::Bytes(bytes_of(&sinks)),
            Argument::Bytes(bytes_of(&divides)),
            Argument::Bytes(bytes_of(&sorts)),
            Argument::Memory(memory.next),
            Argument::Memory(memory.items),
            Argument::Memory(memory.parts),
        ];
        let (kernel, arguments) = (&mut self.divide, &arguments);
        let launch = Launch { kernel, blocks, threads: GROUP_THREADS, overlaps: false, arguments };
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { on.0.launch(on.1, launch) }
    }

    /// Sums the pairs of some items, and leaves the sums among the results or in arrays of the caller.
    ///
    /// # Safety
    /// See [`Kernels::divide`].
    pub unsafe fn sum(
        &mut self,
        on: (&G, &G::Queue),
        (step, columns): (&Step, &[Columns; 2]),
        (items, receiver): (usize, Option<&Receiver<Address<G>>>),
        memory: &PieceAddresses<Address<G>>,
    ) -> Result<()> {
        let gives = i32::from(receiver.is_some());
        let forces = receiver.map_or(ForceColumns::default(), |receiver| receiver.forces);
        let arguments = [
            Argument::Bytes(bytes_of(step)),
            Argument::Bytes(bytes_of(&columns[0])),
            Argument::Bytes(bytes_of(&columns[1])),
            Argument::Memory(memory.items),
            Argument::Memory(memory.units),
            Argument::Memory(memory.addresses),
            Argument::Memory(memory.store.indices),
            Argument::Memory(memory.store.slots),
            Argument::Memory(memory.store.predicted),
            Argument::Memory(memory.own),
            Argument::Memory(memory.sinks),
            Argument::Memory(memory.partial_sums),
            Argument::Memory(memory.results),
            Argument::Bytes(bytes_of(&gives)),
            Argument::Bytes(bytes_of(&forces)),
            Argument::Memory(receiver.map_or(memory.results, |receiver| receiver.origin)),
            Argument::Memory(receiver.map_or(memory.results, |receiver| receiver.found)),
        ];
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { launch(on, &mut self.sum, items, &arguments) }
    }

    /// Adds the segments of some parts.
    ///
    /// # Safety
    /// See [`Kernels::divide`].
    pub unsafe fn add(
        &mut self,
        on: (&G, &G::Queue),
        step: &Step,
        parts: usize,
        memory: &PieceAddresses<Address<G>>,
    ) -> Result<()> {
        let arguments = [
            Argument::Bytes(bytes_of(step)),
            Argument::Memory(memory.parts),
            Argument::Memory(memory.partial_sums),
            Argument::Memory(memory.results),
        ];
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { launch(on, &mut self.add, parts, &arguments) }
    }
}

/// Launches a kernel in this many thread blocks.
///
/// # Safety
/// As for [`Gpu::launch`].
unsafe fn launch<G: Gpu>(
    (gpu, queue): (&G, &G::Queue),
    kernel: &mut G::Kernel,
    blocks: usize,
    arguments: &[Argument<Address<G>>],
) -> Result<()> {
    let launch = Launch { kernel, blocks, threads: LIST_THREADS, overlaps: false, arguments };
    // SAFETY: the caller's promise.
    unsafe { gpu.launch(queue, launch) }
}
