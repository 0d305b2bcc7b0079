//! The choice of the units of groups whose sources came with the call.

use bytemuck::bytes_of;

use kyoho_core::{Interaction, Result};
use kyoho_hal::gpu::{Address, Argument, Gpu, Launch};
use kyoho_methods::gpu::columns::bounds;
use kyoho_methods::gpu::step::{Columns, UnitBounds};

/// The threads of a thread block.
pub const UNIT_THREADS: usize = 128;
/// The number of vectors whose sizes count.
const VECTORS: usize = 3;

/// The kernel that chooses units.
pub struct UnitChooser<G: Gpu> {
    kernel: G::Kernel,
}

/// Groups, their bodies, and the memory for their units.
pub struct UnitsOfGroups<'a, A> {
    /// The groups.
    pub groups: A,
    /// The number of groups.
    pub count: usize,
    /// The places of the quantities of sources and of sinks.
    pub columns: &'a [Columns; 2],
    /// The sources, and the number of all.
    pub own: (A, usize),
    /// The sinks, and the number of all.
    pub sinks: (A, usize),
    /// Whether the sources are the sinks.
    pub is_batch: bool,
    /// The units: three exponents of each group.
    pub units: A,
}

impl<G: Gpu> UnitChooser<G> {
    /// Takes the kernel, whose name is `choose_units`, among those for arrays of callers.
    pub fn of(kernel: G::Kernel) -> UnitChooser<G> {
        UnitChooser { kernel }
    }

    /// Chooses the units of groups. If there is a place for what it finds, it looks for sources that
    /// are not good too, as a check of this number.
    ///
    /// # Safety
    /// Every address is of memory as long as the numbers say, which is neither freed nor touched by
    /// the host until the queue has done the work.
    pub unsafe fn choose(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        interaction: &Interaction,
        given: &UnitsOfGroups<Address<G>>,
        check: Option<(usize, Address<G>)>,
    ) -> Result<()> {
        let of = interaction.bounds;
        let rules = UnitBounds {
            scales_lengths: i32::from(of.scales_lengths),
            lowest_weight: of.weights.0,
            highest_weight: of.weights.1,
            lowest_mass: of.masses.0,
            highest_mass: of.masses.1,
            vectors: interaction.n_derivatives.min(VECTORS) as i32,
        };
        // As many threads as most groups have bodies.
        let bodies = given.own.1.max(given.sinks.1);
        let lanes = bodies.div_ceil(given.count.max(1)).next_power_of_two().min(UNIT_THREADS);
        let [count, of_group] = [given.count, lanes].map(|count| count as i32);
        let [is_batch, checks] = [given.is_batch, check.is_some()].map(i32::from);
        let (number, bounds) = (check.map_or(0, |(number, _)| number as i32), bounds(interaction));
        let arguments = [
            Argument::Bytes(bytes_of(&given.columns[0])),
            Argument::Bytes(bytes_of(&given.columns[1])),
            Argument::Memory(given.groups),
            Argument::Bytes(bytes_of(&count)),
            Argument::Bytes(bytes_of(&of_group)),
            Argument::Bytes(bytes_of(&is_batch)),
            Argument::Bytes(bytes_of(&rules)),
            Argument::Bytes(bytes_of(&checks)),
            Argument::Bytes(bytes_of(&bounds)),
            Argument::Bytes(bytes_of(&number)),
            Argument::Memory(given.own.0),
            Argument::Memory(given.sinks.0),
            Argument::Memory(given.units),
            Argument::Memory(check.map_or(given.units, |(_, found)| found)),
        ];
        let (kernel, blocks) = (&mut self.kernel, (given.count * lanes).div_ceil(UNIT_THREADS));
        let launch = Launch { kernel, blocks, threads: UNIT_THREADS, overlaps: false, arguments: &arguments };
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.launch(queue, launch) }
    }
}
