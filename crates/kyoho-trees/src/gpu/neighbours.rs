//! The sources of a tree within a radius of sinks.

use bytemuck::{bytes_of, cast_slice};

use super::builder::{Given, Tree};
use super::constants::{BodyLayout, NEIGHBOUR_THREADS};
use super::kernels::launch_after_copies;
use crate::neighbours::WHAT;
use kyoho_core::{FoundNeighbours, Result, memory};
use kyoho_hal::gpu::{Address, Argument, Gpu, Place};
use kyoho_hal::grow_buffer::GrowBuffer;

/// Memory for the search.
pub struct NeighbourSearch<G: Gpu> {
    radii2: GrowBuffer<G>,
    counts: GrowBuffer<G>,
    starts: GrowBuffer<G>,
    found: GrowBuffer<G>,
}

/// Sinks on the device: their tree, in the units of that of the sources, where their positions are,
/// and their squared radii.
pub struct SearchedSinks<'a, G: Gpu> {
    /// The tree.
    pub tree: &'a Tree<G>,
    /// The memory of positions.
    pub memory: Address<G>,
    /// The places in it.
    pub layout: BodyLayout,
    /// The squared radii.
    pub radii2: &'a [f64],
}

impl<G: Gpu> NeighbourSearch<G> {
    /// Makes memory without room.
    pub fn new(gpu: &G) -> Result<NeighbourSearch<G>> {
        let room = || GrowBuffer::new(gpu, "trees");
        Ok(NeighbourSearch { radii2: room()?, counts: room()?, starts: room()?, found: room()? })
    }

    /// Finds the places of the sources within the radius of each sink. The sums over the cells of
    /// the sources' tree, which have their centres, were made.
    ///
    /// # Safety
    /// The memory of the sources and of the sinks has all that the layouts say, and is neither
    /// freed nor written to until this returns.
    pub unsafe fn find(
        &mut self,
        on: (&G, &G::Queue),
        (sources, given): (&mut Tree<G>, &Given<Address<G>>),
        sinks: &SearchedSinks<G>,
    ) -> Result<FoundNeighbours> {
        let (gpu, count) = (on.0, sinks.tree.bodies);
        self.radii2.ensure_capacity(gpu, 8 * count)?;
        self.counts.ensure_capacity(gpu, 4 * count)?;
        self.starts.ensure_capacity(gpu, 8 * count)?;
        let mut counts = memory::filled(count, 0u32, WHAT)?;
        // SAFETY: the caller's promise; there is room for all sinks; what is sent stays until it was
        // waited for, as in what follows.
        let counted = unsafe {
            send(on, cast_slice(sinks.radii2), &self.radii2)
                .and_then(|()| sources.link_next(on))
                .and_then(|()| self.walk(on, (sources, given), sinks, false))
                .and_then(|()| copy_to_host(on, &self.counts, &mut counts))
        };
        ended(on, counted)?;
        let mut starts = memory::room(count + 1, WHAT)?;
        let mut all = 0u64;
        starts.push(0);
        starts.extend(counts.iter().map(|count| {
            all += u64::from(*count);
            all
        }));
        let mut addresses = memory::filled(all as usize, 0u32, WHAT)?;
        self.found.ensure_capacity(gpu, 4 * addresses.len())?;
        // SAFETY: as above.
        let filled = unsafe {
            send(on, cast_slice(&starts[..count]), &self.starts)
                .and_then(|()| self.walk(on, (sources, given), sinks, true))
                .and_then(|()| copy_to_host(on, &self.found, &mut addresses))
        };
        ended(on, filled)?;
        Ok(FoundNeighbours { starts, addresses })
    }

    /// Begins to count the sources of each sink or, with `fills`, to write their places too.
    unsafe fn walk(
        &mut self,
        on: (&G, &G::Queue),
        (sources, given): (&mut Tree<G>, &Given<Address<G>>),
        sinks: &SearchedSinks<G>,
        fills: bool,
    ) -> Result<()> {
        let (count, fills) = (sinks.tree.bodies as u32, i32::from(fills));
        let arguments = [
            Argument::Bytes(bytes_of(&given.layout)),
            Argument::Memory(given.memory),
            sources.cells.at(),
            sources.places.at(),
            sources.nexts.at(),
            sources.high.at(),
            sources.low.at(),
            Argument::Memory(sources.sorted_numbers()),
            Argument::Bytes(bytes_of(&sinks.layout)),
            Argument::Memory(sinks.memory),
            sinks.tree.high.at(),
            sinks.tree.low.at(),
            Argument::Memory(sinks.tree.sorted_numbers()),
            self.radii2.at(),
            Argument::Memory(sources.frame()),
            self.starts.at(),
            self.counts.at(),
            self.found.at(),
            Argument::Bytes(bytes_of(&count)),
            Argument::Bytes(bytes_of(&fills)),
        ];
        let shape = ((count as usize).div_ceil(NEIGHBOUR_THREADS), NEIGHBOUR_THREADS);
        // SAFETY: the caller's promise.
        unsafe { launch_after_copies(on, &mut sources.kernels.find_neighbours, shape, &arguments) }
    }
}

/// Waits for what was begun before an error, as nobody else does, and returns the outcome.
fn ended<G: Gpu>((gpu, queue): (&G, &G::Queue), outcome: Result<()>) -> Result<()> {
    outcome.inspect_err(|_| {
        let _ = gpu.synchronize(queue);
    })
}

/// Begins to copy bytes to the start of memory of the device.
///
/// # Safety
/// The memory has as many bytes, and those of the host stay until the queue has copied them.
unsafe fn send<G: Gpu>((gpu, queue): (&G, &G::Queue), bytes: &[u8], to: &GrowBuffer<G>) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { gpu.copy(queue, Place::Host(bytes.as_ptr().cast_mut()), Place::Device(&to.0, 0), bytes.len()) }
}

/// Copies numbers from the start of memory of the device, and waits for them.
///
/// # Safety
/// The memory has as many bytes.
unsafe fn copy_to_host<G: Gpu>((gpu, queue): (&G, &G::Queue), from: &GrowBuffer<G>, to: &mut [u32]) -> Result<()> {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(to);
    if !bytes.is_empty() {
        // SAFETY: the caller's promise; the copy is waited for.
        unsafe { gpu.copy(queue, Place::Device(&from.0, 0), Place::Host(bytes.as_mut_ptr()), bytes.len())? };
    }
    gpu.synchronize(queue)
}
