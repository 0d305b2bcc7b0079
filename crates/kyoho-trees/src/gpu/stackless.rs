//! The forces of a tree by a walk for each sink, in which cells are points.

use bytemuck::bytes_of;

use super::builder::Tree;
use super::clock::Clock;
use super::constants::{BodyLayout, NEIGHBOUR_THREADS};
use super::kernels::launch_after_copies;
use kyoho_core::{Result, TreePhase};
use kyoho_hal::gpu::{Address, Argument, Gpu};
use kyoho_hal::grow_buffer::GrowBuffer;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Walk {
    /// The opening angle.
    pub theta: f64,
    /// The squared softening.
    pub softening2: f64,
    /// The factor of masses that the tree has.
    pub mass_factor: f64,
    /// Whether a source exerts no force on the sink of its number.
    pub skip_own: bool,
    /// Whether the forces are added to what is there.
    pub adds: bool,
}

/// Sinks on the device.
pub struct WalkedSinks<'a, G: Gpu> {
    /// The memory of positions.
    pub memory: Address<G>,
    /// The places in it.
    pub layout: BodyLayout,
    /// The number of sinks.
    pub count: usize,
    /// The numbers of the sinks in Morton order, if threads take them so.
    pub order: Option<Argument<'a, Address<G>>>,
}

/// Memory for walks.
pub struct Walks<G: Gpu> {
    /// How many points were summed for each sink.
    pub(super) counts: GrowBuffer<G>,
    pub(super) clock: Clock,
}

impl<G: Gpu> Walks<G> {
    /// Makes memory without room.
    pub fn new(gpu: &G) -> Result<Walks<G>> {
        Ok(Walks { counts: GrowBuffer::new(gpu, "trees")?, clock: Clock::default() })
    }

    /// Begins to sum the forces of the sources of a tree, whose cells were summed and linked. The
    /// potential and the acceleration of each sink come to the place of its number in `to`, as
    /// doubles.
    ///
    /// # Safety
    /// `to` has four doubles for each sink, and the memory of sinks all that the layout says. No
    /// memory is freed or used otherwise until the queue has done the work.
    pub unsafe fn sum(
        &mut self,
        on: (&G, &G::Queue),
        tree: &mut Tree<G>,
        sinks: &WalkedSinks<G>,
        walk: &Walk,
        to: Address<G>,
    ) -> Result<()> {
        self.counts.ensure_capacity(on.0, 4 * sinks.count)?;
        self.clock.begin(on)?;
        let (count, theta) = (sinks.count as u32, walk.theta as f32);
        let [in_order, skips_own, adds] = [sinks.order.is_some(), walk.skip_own, walk.adds].map(i32::from);
        let numbers = Argument::Memory(tree.sorted_numbers());
        let arguments = [
            Argument::Bytes(bytes_of(&sinks.layout)),
            Argument::Memory(sinks.memory),
            sinks.order.unwrap_or(numbers),
            tree.cells.at(),
            tree.places.at(),
            tree.nexts.at(),
            tree.high.at(),
            tree.low.at(),
            numbers,
            Argument::Memory(tree.frame()),
            Argument::Memory(to),
            self.counts.at(),
            Argument::Bytes(bytes_of(&walk.softening2)),
            Argument::Bytes(bytes_of(&walk.mass_factor)),
            Argument::Bytes(bytes_of(&theta)),
            Argument::Bytes(bytes_of(&count)),
            Argument::Bytes(bytes_of(&in_order)),
            Argument::Bytes(bytes_of(&skips_own)),
            Argument::Bytes(bytes_of(&adds)),
        ];
        let shape = (sinks.count.div_ceil(NEIGHBOUR_THREADS), NEIGHBOUR_THREADS);
        // SAFETY: the caller's promise; there is room for the counts.
        unsafe { launch_after_copies(on, &mut tree.kernels.add_points, shape, &arguments)? };
        self.clock.end(on, TreePhase::Walk)?;
        if self.clock.is_wanted() {
            let counts: Vec<u32> = tree.copied(on, &self.counts, sinks.count)?;
            self.clock.profile.far = counts.into_iter().map(u64::from).sum();
        }
        Ok(())
    }
}
