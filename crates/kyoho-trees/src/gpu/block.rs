//! Blocks whose forces are summed by a tree.

use std::ops::Range;
use std::time::Instant;

use crate::accuracy::Method;
use crate::bodies::are_sources;
use kyoho_core::{
    Block, FoundNeighbours, Interaction, Neighbourhoods, OCTET, Result, SinkOrder, Sources, TAYLOR, TreeBlock,
    TreeProfile, Units, memory, sinks,
};
use kyoho_hal::gpu::{Address, Argument, DeviceMemory, Event, Gpu, Place};
use kyoho_hal::grow_buffer::GrowBuffer;
use kyoho_hal::threads::Threads;
use kyoho_methods::CompanionDevices;
use kyoho_methods::gpu::columns::PieceResults;
use kyoho_methods::gpu::sources::StoreAddresses;

use crate::cube::{Cube, LOWEST_EXPONENT};

use super::builder::{Built, Given, Tree};
use super::clock::Clock;
use super::companions::Companions;
use super::constants::{BodyLayout, PACKED_BYTES};
use super::forces::{Asked, Forces, ForcesOn};
use super::neighbours::{NeighbourSearch, SearchedSinks};
use super::own::{Indices, Located, Own, OwnSources};
use super::shares::Times;
use super::stackless::{Walk, WalkedSinks, Walks};

/// The bytes of a row of an octet.
const ROW: i64 = 8 * OCTET as i64;
/// The number of sinks whose forces are handed in at a time, while further ones come.
const SINKS_OF_PIECE: usize = 1 << 18;
/// The cube around the sources is made wider for sinks by at most so many powers of two. Positions have 48
/// bits of it; to sinks farther out than that large cells act body by body.
const MOST_WIDER: i32 = 14;
/// The numbers of the force on a sink: a potential and an acceleration.
const NUMBERS: usize = 4;

/// Returns the fewest bodies whose forces companions have a share in, for an order of expansions.
fn least_for_peers(order: usize) -> usize {
    if order > 4 { 1 << 18 } else { 1 << 19 }
}

/// The companions of a device.
enum PeerDevices<G: Gpu> {
    /// Those that are not opened yet.
    Closed(CompanionDevices),
    /// Those that are opened.
    Open(Companions<G>),
    /// None.
    None,
}

/// Trees of a device, and the forces that they gave.
pub struct TreeSums<G: Gpu> {
    sources: Tree<G>,
    /// The tree of sinks that are not the sources.
    sinks: Option<Tree<G>>,
    forces: Forces<G>,
    own: OwnSources<G>,
    neighbours: NeighbourSearch<G>,
    walks: Walks<G>,
    peers: PeerDevices<G>,
    /// Whether they have a share in the forces of however few bodies.
    peers_for_all: bool,
    of_sinks: G::Memory,
    results: GrowBuffer<G>,
    /// The ends of the copies of pieces of them to the host; none where they are on the device alone.
    fetched: Vec<G::Event>,
    /// The number of sinks of the last block.
    count: usize,
    /// The bodies of the tree of sources, as long as the sources are those that it was built from.
    built: Option<Built>,
    threads: Threads,
}

/// Returns where the positions of sinks are as a device takes them from a caller. They have no
/// masses, for which other numbers stand, times 0.
fn layout_of_sinks(interaction: &Interaction) -> BodyLayout {
    let width = 8 * sinks::width(interaction) as i64;
    let position = 8 * sinks::HEAD as i64;
    BodyLayout {
        position,
        position_octet: OCTET as i64 * width,
        position_body: width,
        position_component: 8,
        mass: position,
        mass_octet: OCTET as i64 * width,
        mass_body: width,
    }
}

/// Returns where the positions and masses of sources are in the octets of a device.
fn layout_of_octets(interaction: &Interaction) -> BodyLayout {
    let rows = (TAYLOR + 3 * interaction.n_coefficients) as i64;
    BodyLayout {
        position: TAYLOR as i64 * ROW,
        position_octet: rows * ROW,
        position_body: 8,
        position_component: ROW,
        mass: ROW,
        mass_octet: rows * ROW,
        mass_body: 8,
    }
}

impl<G: Gpu> TreeSums<G> {
    /// Loads the kernels. At most this many threads compare sinks and copy results.
    pub fn new(gpu: &G, threads: usize, companions: &CompanionDevices) -> Result<TreeSums<G>> {
        Ok(TreeSums {
            sources: Tree::new(gpu)?,
            sinks: None,
            forces: Forces::new(gpu)?,
            own: OwnSources::new(gpu)?,
            neighbours: NeighbourSearch::new(gpu)?,
            walks: Walks::new(gpu)?,
            peers: PeerDevices::Closed(companions.clone()),
            peers_for_all: companions.always,
            of_sinks: gpu.allocate(0, "sinks")?,
            results: GrowBuffer::new(gpu, "forces")?,
            fetched: Vec::new(),
            count: 0,
            built: None,
            threads: Threads::for_copies(threads),
        })
    }

    /// Measures phases from now on, or no longer, and returns those of the last block.
    pub fn profile(&mut self, wanted: bool) -> TreeProfile {
        let mut all = TreeProfile::default();
        for clock in self.clocks() {
            all.add(&clock.profile);
            clock.set(wanted);
        }
        all
    }

    /// Returns the clocks of all that a block does.
    fn clocks(&mut self) -> impl Iterator<Item = &mut Clock> {
        let of_sinks = self.sinks.as_mut().map(|sinks| &mut sinks.clock);
        [&mut self.sources.clock, &mut self.forces.clock, &mut self.walks.clock].into_iter().chain(of_sinks)
    }

    /// Forgets the tree of sources that have changed.
    pub fn forget(&mut self) {
        self.built = None;
        self.own.forget();
        if let PeerDevices::Open(companions) = &mut self.peers {
            companions.forget();
        }
    }

    /// Returns the forces of the last block where they are on the device alone, and complete.
    pub fn results_on_device(&self) -> Option<PieceResults<Address<G>>> {
        let (results, sinks) = (self.results.0.address(), self.count);
        self.fetched.is_empty().then_some(PieceResults { results, from: 0, first_sink: 0, sinks, stride: sinks })
    }

    /// Brings the forces of the last block on more sinks to their places, where those of the first
    /// `done` are there, and returns how many are there now.
    pub fn wait_more(&mut self, on: (&G, &G::Queue), into: &mut [f64], done: usize) -> Result<usize> {
        if self.fetched.is_empty() {
            self.fetch(on, into)?;
        }
        if let Some(fetched) = self.fetched.get(done / SINKS_OF_PIECE) {
            fetched.wait()?;
        }
        Ok(self.count.min(done + SINKS_OF_PIECE))
    }

    /// Begins to bring the forces of the last block to the host, a piece after the other.
    fn fetch(&mut self, (gpu, queue): (&G, &G::Queue), into: &mut [f64]) -> Result<()> {
        memory::reserve(&mut self.fetched, self.count.div_ceil(SINKS_OF_PIECE), "the table of pieces")?;
        let forces = &mut into[..NUMBERS * self.count];
        for (number, piece) in forces.chunks_mut(NUMBERS * SINKS_OF_PIECE).enumerate() {
            let from = Place::Device(&self.results.0, number * 8 * NUMBERS * SINKS_OF_PIECE);
            let to = Place::Host(piece.as_mut_ptr().cast());
            // SAFETY: the results have so many bytes, and nobody reads or frees the piece before the
            // copy was waited for.
            unsafe { gpu.copy(queue, from, to, size_of_val(piece))? };
            self.fetched.push(gpu.record(queue)?);
        }
        Ok(())
    }

    /// Sums the forces of a block by a tree of the sources that a device has in octets at so many places,
    /// which are the addresses if they are `dense`. The forces stay there. The device may have taken the
    /// sinks from the caller.
    pub fn sum(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        interaction: &Interaction,
        (sources, store, (places, is_dense)): (&Sources, &StoreAddresses<Address<G>>, (usize, bool)),
        (block, asked, taken): (&Block, TreeBlock, Option<&G::Memory>),
    ) -> Result<()> {
        let on = (gpu, queue);
        let TreeBlock { accuracy, softening2, .. } = asked;
        self.clocks().for_each(|clock| clock.profile = TreeProfile::default());
        self.count = block.sinks.len();
        let (count, bytes) = (self.count, 8 * NUMBERS * self.count);
        self.fetched.clear();
        // The sources are packed there while they are sorted.
        self.results.ensure_capacity(gpu, bytes.max(PACKED_BYTES * places))?;
        let compare = || is_dense && are_sources(sources, block, &self.threads);
        let are_sources = asked.are_sources.unwrap_or_else(compare);
        let bodies = match sources.on_device() {
            0 if are_sources => count,
            0 => sources.count_below(block.nj),
            on_device => on_device.min(block.nj),
        };
        if bodies == 0 || count == 0 {
            // SAFETY: there are so many bytes.
            return unsafe { gpu.zero(queue, &self.results.0, bytes) };
        }
        let mass_factor = block.units.mass_factor();
        let given = Given {
            memory: store.octets,
            layout: layout_of_octets(interaction),
            places,
            bodies,
            mass_factor,
            softening2,
            frame: None,
            to_pack: Some(self.results.0.address()),
        };
        let skips = block.skip_own_index;
        let method = Method::of(accuracy);
        let by_cells = |order, criterion| Asked::new((order, criterion), (softening2, mass_factor), skips);
        // SAFETY: the octets have as many chunks, sinks and results have room for all, and all work
        // is waited for.
        unsafe {
            if skips {
                self.own.begin(on, &given, store.indices)?;
            }
            if let (Method::Cells { order, criterion }, true) = (method, are_sources)
                && self.may_share(&given, order)
                && !(skips && self.repeats(on, &given, store.indices)?)
                && self.sum_with_companions(on, &given, &by_cells(order, criterion))?
            {
                return gpu.synchronize(queue);
            }
            let located = match are_sources {
                true => None,
                false => Some(self.locate_sinks(on, interaction, (block, taken))?),
            };
            self.build_for(on, &given, located.as_ref())?;
            // Sources that leave out others are sinks like any.
            let are_sources = are_sources && !(skips && self.repeats(on, &given, store.indices)?);
            if skips && !are_sources {
                self.own.finish(on, &mut self.sources.kernels, &given, store.indices)?;
            }
            let sinks = if are_sources || located.is_some() {
                located
            } else if asked.are_sources == Some(true) {
                let Given { memory, layout, .. } = given;
                Some(Located { memory, layout, indices: (store.indices, 4), count })
            } else {
                Some(self.locate_sinks(on, interaction, (block, taken))?)
            };
            match method {
                Method::Cells { order, criterion } => {
                    let sinks = sinks.as_ref().map(|sinks| (sinks, skips));
                    self.sum_by_expansions(on, &given, sinks, &by_cells(order, criterion))
                }
                Method::Stackless { theta, sinks: order } => {
                    let walk = Walk { theta, softening2, mass_factor, skip_own: skips && sinks.is_none(), adds: false };
                    self.sum_by_walks(on, &given, (sinks, count, order), (&walk, skips))
                }
            }
        }
    }

    /// Whether several sources have the same index, which the device has begun to look at.
    ///
    /// # Safety
    /// As for [`OwnSources::begin`].
    unsafe fn repeats(&mut self, on: (&G, &G::Queue), given: &Given<Address<G>>, indices: Address<G>) -> Result<bool> {
        // SAFETY: the caller's promise.
        let found = unsafe { self.own.finish(on, &mut self.sources.kernels, given, indices)? };
        Ok(found == Indices::Repeated)
    }

    /// Sums the forces of the tree of sources by expansions, on the sources or on sinks, with whether
    /// these leave out sources by their indices.
    ///
    /// # Safety
    /// As for [`sum_by_cells`] and [`OwnSources::find`].
    unsafe fn sum_by_expansions(
        &mut self,
        on: (&G, &G::Queue),
        given: &Given<Address<G>>,
        sinks: Option<(&Located<Address<G>>, bool)>,
        asked: &Asked,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            let on_sinks = match sinks {
                Some((sinks, true)) if self.own.choose(on, (&self.sources, given), sinks)? => {
                    ForcesOn::Some(self.own.chosen(sinks.count))
                }
                Some((sinks, skips)) => {
                    let tree = built_of_sinks(on, &mut self.sinks, sinks, &self.sources)?;
                    tree.sum_moments(on, asked.order, asked.criterion)?;
                    let order = Some(tree.sorted_numbers());
                    let own = if skips { self.own.find(on, &self.sources, sinks, order)? } else { Own::None };
                    ForcesOn::SeparateSinks { tree, own }
                }
                None => ForcesOn::All,
            };
            let (are_some, to) = (matches!(on_sinks, ForcesOn::Some(_)), self.results.0.address());
            sum_by_cells(on, (&mut self.sources, &mut self.forces), &on_sinks, (given, asked), to)?;
            if are_some {
                self.own.repeat_forces(on, self.count, to)?;
                on.0.synchronize(on.1)?;
            }
        }
        Ok(())
    }

    /// Whether companions may have a share in the forces of these sources on one another.
    fn may_share(&self, given: &Given<Address<G>>, order: usize) -> bool {
        let is_large = self.peers_for_all || given.bodies >= least_for_peers(order);
        let may = is_large && given.places == given.bodies && !self.forces.clock.is_wanted();
        may && match &self.peers {
            PeerDevices::Closed(devices) => !devices.numbers.is_empty(),
            PeerDevices::Open(_) => true,
            PeerDevices::None => false,
        }
    }

    /// Sums the forces of sources on themselves together with companions. Returns false where there
    /// are none, or one has failed; there will be none any more.
    ///
    /// # Safety
    /// As for [`sum_by_cells`].
    unsafe fn sum_with_companions(
        &mut self,
        on: (&G, &G::Queue),
        given: &Given<Address<G>>,
        asked: &Asked,
    ) -> Result<bool> {
        let mut companions = match std::mem::replace(&mut self.peers, PeerDevices::None) {
            PeerDevices::None => return Ok(false),
            PeerDevices::Open(companions) => companions,
            PeerDevices::Closed(devices) => match Companions::open(on.0, &devices.numbers) {
                Ok(Some(companions)) => companions,
                Ok(None) => return Ok(false),
                Err(error) => {
                    log::warn!("forces by a tree are left to the first device of a system: {error}");
                    return Ok(false);
                }
            },
        };
        let to = self.results.0.address();
        // SAFETY: the caller's promise.
        let outcome = unsafe {
            companions.sum(on, (given, asked), to, |given, asked, tell| {
                let begun = Instant::now();
                self.build_sources(on, given)?;
                tell(self.sources.sorted_numbers());
                let ready = begun.elapsed().as_secs_f64();
                sum_by_cells(on, (&mut self.sources, &mut self.forces), &ForcesOn::All, (given, asked), to)?;
                let seconds = begun.elapsed().as_secs_f64() - ready;
                Ok(Times { ready, seconds })
            })
        };
        if !matches!(outcome, Ok(false)) {
            self.peers = PeerDevices::Open(companions);
        }
        outcome
    }

    /// Sums the forces of the tree of sources by a walk for each sink, of the sources or of sinks of so
    /// many places, and takes away those of the sources that such sinks leave out, if they do.
    ///
    /// # Safety
    /// As for [`Walks::sum`], [`Tree::build`] and [`OwnSources::take_away`].
    unsafe fn sum_by_walks(
        &mut self,
        on: (&G, &G::Queue),
        given: &Given<Address<G>>,
        (sinks, count, order): (Option<Located<Address<G>>>, usize, SinkOrder),
        (walk, skips): (&Walk, bool),
    ) -> Result<()> {
        let located = sinks.as_ref();
        let (memory, layout) = located.map_or((given.memory, given.layout), |sinks| (sinks.memory, sinks.layout));
        let forces = self.results.0.address();
        // SAFETY: the caller's promise.
        unsafe {
            let order = match (order, located) {
                (SinkOrder::Given, _) => None,
                (SinkOrder::Morton, None) => Some(Argument::Memory(self.sources.sorted_numbers())),
                (SinkOrder::Morton, Some(sinks)) => {
                    let tree = built_of_sinks(on, &mut self.sinks, sinks, &self.sources)?;
                    Some(Argument::Memory(tree.sorted_numbers()))
                }
            };
            let walked = WalkedSinks { memory, layout, count, order };
            self.sources.sum_cells(on)?;
            self.sources.link_next(on)?;
            self.walks.sum(on, &mut self.sources, &walked, walk, forces)?;
            if self.sources.has_negative() {
                let mass_factor = -walk.mass_factor;
                self.sources.turn_masses(on, &Given { mass_factor, ..*given })?;
                self.sources.sum_cells(on)?;
                let walk = Walk { mass_factor, adds: true, ..*walk };
                self.walks.sum(on, &mut self.sources, &walked, &walk, forces)?;
            }
            if let Some(sinks) = sinks.filter(|_| skips) {
                let own = self.own.find(on, &self.sources, &sinks, None)?;
                self.own.take_away(on, (&self.sources, given), &sinks, (own, forces))?;
            }
        }
        on.0.synchronize(on.1)
    }

    /// Finds the sources within the radius of each of some points. All sources that the device has
    /// are at addresses from 0 on.
    pub fn find_neighbours(
        &mut self,
        on: (&G, &G::Queue),
        interaction: &Interaction,
        (octets, places, bodies): (&G::Memory, usize, usize),
        (asked, units): (Neighbourhoods, Units),
    ) -> Result<FoundNeighbours> {
        let count = asked.positions.len();
        if count == 0 || bodies == 0 {
            let starts = memory::filled(count + 1, 0, "lists of neighbours")?;
            return Ok(FoundNeighbours { starts, addresses: Vec::new() });
        }
        let (memory, layout) = (octets.address(), layout_of_octets(interaction));
        let (mass_factor, softening2) = (units.mass_factor(), 0.0);
        let given = Given { memory, layout, places, bodies, mass_factor, softening2, frame: None, to_pack: None };
        let memory = self.send_sinks(on, bytemuck::cast_slice(asked.positions))?;
        let layout = BodyLayout::columns(0, 0);
        let sinks = Located { memory, layout, indices: (memory, 0), count };
        // SAFETY: the octets have as many places, and all work is waited for.
        unsafe {
            self.build_sources(on, &given)?;
            self.sources.sum_cells(on)?;
            let tree = built_of_sinks(on, &mut self.sinks, &sinks, &self.sources)?;
            let sinks = SearchedSinks { tree, memory, layout, radii2: asked.radii2 };
            self.neighbours.find(on, (&mut self.sources, &given), &sinks)
        }
    }

    /// Builds the tree of sources, if it is not that of these.
    ///
    /// # Safety
    /// As for [`Tree::build`].
    unsafe fn build_sources(&mut self, on: (&G, &G::Queue), given: &Given<Address<G>>) -> Result<()> {
        if self.built != Some(given.built()) {
            self.built = None;
            self.own.forget_tree();
            // SAFETY: the caller's promise.
            unsafe { self.sources.build(on, given)? };
            // The forces of negative masses need other masses in the tree.
            self.built = Some(given.built()).filter(|_| !self.sources.has_negative());
        }
        Ok(())
    }

    /// Builds the tree of sources for some sinks, if they are not the sources: in a cube around both where
    /// the sinks are spread wider.
    ///
    /// # Safety
    /// As for [`Tree::build`].
    unsafe fn build_for(
        &mut self,
        on: (&G, &G::Queue),
        given: &Given<Address<G>>,
        sinks: Option<&Located<Address<G>>>,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            let joint = match sinks {
                Some(sinks) => self.joint_cube(on, given, sinks)?,
                None => None,
            };
            let Some(cube) = joint else { return self.build_sources(on, given) };
            // Other sinks have another cube, and the sources themselves their own.
            self.built = None;
            self.own.forget_tree();
            self.sources.build_in(on, given, &cube)
        }
    }

    /// Returns the cube around sources and sinks, if that around the sources is smaller and not by too
    /// much, or if these are in one point, which is no unit of lengths.
    ///
    /// # Safety
    /// As for [`Tree::build`].
    unsafe fn joint_cube(
        &mut self,
        on: (&G, &G::Queue),
        given: &Given<Address<G>>,
        sinks: &Located<Address<G>>,
    ) -> Result<Option<Cube>> {
        // SAFETY: the caller's promise.
        let [of_sources, of_sinks] = unsafe {
            let of_sources = self.sources.corners(on, (given.memory, &given.layout), given.places)?;
            [of_sources, self.sources.corners(on, (sinks.memory, &sinks.layout), sinks.count)?]
        };
        let own = Cube::around(of_sources);
        let joint = Cube::around(of_sources.into_iter().chain(of_sinks));
        let is_wider = (1..=MOST_WIDER).contains(&(joint.exponent - own.exponent));
        let are_in_one_point = own.exponent == LOWEST_EXPONENT;
        Ok((is_wider || are_in_one_point).then_some(joint))
    }

    /// Returns where the sinks of a block are, which the device has taken from the caller or gets
    /// now.
    fn locate_sinks(
        &mut self,
        on: (&G, &G::Queue),
        interaction: &Interaction,
        (block, taken): (&Block, Option<&G::Memory>),
    ) -> Result<Located<Address<G>>> {
        let memory = match taken {
            Some(sinks) => sinks.address(),
            None => self.send_sinks(on, bytemuck::cast_slice(block.sinks.all().numbers()))?,
        };
        let layout = layout_of_sinks(interaction);
        Ok(Located { memory, layout, indices: (memory, layout.position_body), count: block.sinks.len() })
    }

    /// Sends numbers of sinks, and returns where they are.
    fn send_sinks(&mut self, (gpu, queue): (&G, &G::Queue), numbers: &[u8]) -> Result<Address<G>> {
        let bytes = numbers.len();
        if self.of_sinks.bytes() < bytes {
            self.of_sinks = gpu.allocate(bytes + bytes / 4, "sinks")?;
        }
        let from = Place::Host(numbers.as_ptr().cast_mut());
        // SAFETY: the memory has room for them, and the copy is waited for.
        unsafe { gpu.copy(queue, from, Place::Device(&self.of_sinks, 0), bytes)? };
        gpu.synchronize(queue)?;
        Ok(self.of_sinks.address())
    }
}

/// Sums the forces of a tree of sources by expansions, on itself, on some of its bodies, or on a tree of
/// sinks whose moments were summed, and returns which of the sorted sinks have them.
///
/// # Safety
/// As for [`Forces::sum`] and [`Tree::build`].
pub(super) unsafe fn sum_by_cells<G: Gpu>(
    on: (&G, &G::Queue),
    (sources, forces): (&mut Tree<G>, &mut Forces<G>),
    sinks: &ForcesOn<G>,
    (given, asked): (&Given<Address<G>>, &Asked),
    to: Address<G>,
) -> Result<Range<usize>> {
    let Asked { order, criterion, mass_factor, .. } = *asked;
    // SAFETY: the caller's promise.
    unsafe {
        sources.sum_moments(on, order, criterion)?;
        let summed = forces.sum(on, sources, sinks, asked, to)?;
        if sources.has_negative() {
            sources.turn_masses(on, &Given { mass_factor: -mass_factor, ..*given })?;
            sources.sum_moments(on, order, criterion)?;
            forces.sum(on, sources, sinks, &Asked { mass_factor: -mass_factor, adds: true, ..*asked }, to)?;
        }
        Ok(summed)
    }
}

/// Builds the tree of sinks in the units of that of sources.
///
/// # Safety
/// As for [`Tree::build`].
unsafe fn built_of_sinks<'a, G: Gpu>(
    on: (&G, &G::Queue),
    tree: &'a mut Option<Tree<G>>,
    &Located { memory, layout, count, .. }: &Located<Address<G>>,
    sources: &Tree<G>,
) -> Result<&'a mut Tree<G>> {
    let tree = match tree {
        Some(tree) => tree,
        none => none.insert(Tree::new(on.0)?),
    };
    let (frame, mass_factor, softening2) = (Some(sources.frame()), 0.0, 0.0);
    let given = Given { memory, layout, places: count, bodies: count, mass_factor, softening2, frame, to_pack: None };
    // SAFETY: the caller's promise.
    unsafe { tree.build(on, &given)? };
    Ok(tree)
}
