//! The sources that have the index of a sink, which it leaves out, or which it is.
//!
//! They are found on the device. Where the index of each source is its place nothing is made of
//! them; else places are sorted by index, once for the same sources.

use bytemuck::bytes_of;

use super::builder::sort::{SortRooms, sort_keys};
use super::builder::{Given, Tree};
use super::constants::{BodyLayout, KEY_THREADS, OWN_ITSELF, OWN_LISTED, OWN_NONE, OWN_REPEATED};
use super::kernels::{Kernels, OwnKernels, launch, launch_after_copies};
use kyoho_core::{Error, Result};
use kyoho_hal::gpu::{Address, Argument, DeviceMemory, Event, Gpu, HostMemory, Place};
use kyoho_hal::grow_buffer::GrowBuffer;

/// The passes of the sort that take an index, and whether there is a source.
const PASSES: usize = 5;
/// The most thread blocks that look at the indices of sources.
const MOST_LOOKING: usize = 1 << 10;
/// The numbers that kernels find: whether indices are not places, whether some are repeated, and
/// whether a sink is no source.
const FOUND: usize = 3;

/// The sources that sinks leave out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Own<A> {
    /// None.
    None,
    /// Each sink, which is a source, leaves out itself.
    Itself,
    /// The source of each sink, in the order of the sorted sinks.
    Listed(A),
    /// All sources that have the index of the source of each sink: of those the first and the next
    /// one of each source.
    Repeated {
        /// The source of each sink, in the order of the sorted sinks.
        owns: A,
        /// The first source with the index of each source.
        firsts: A,
        /// The next source with the index of each source.
        nexts: A,
    },
}

impl<A: Copy> Own<A> {
    /// Returns the arguments of kernels: three memories, of which those that are not there are some
    /// other, and the kind.
    pub(super) fn arguments(&self, other: A) -> ([A; 3], i32) {
        match *self {
            Own::None => ([other; 3], OWN_NONE),
            Own::Itself => ([other; 3], OWN_ITSELF),
            Own::Listed(owns) => ([owns, other, other], OWN_LISTED),
            Own::Repeated { owns, firsts, nexts } => ([owns, firsts, nexts], OWN_REPEATED),
        }
    }
}

/// The sources that are the sinks.
pub struct Chosen<'a, G: Gpu> {
    /// Of each sorted source the number of a sink that it is, or that it is none.
    pub(super) numbers: &'a GrowBuffer<G>,
    /// Of each cell whether one of them is in it.
    pub(super) cells: &'a GrowBuffer<G>,
    /// The most that there are.
    pub(super) most: usize,
}

/// The indices that sources have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indices {
    /// Each has its place.
    Places,
    /// Each has another one.
    Unlike,
    /// Several have the same.
    Repeated,
}

/// Where sinks lie on the device.
#[derive(Debug, Clone, Copy)]
pub struct Located<A> {
    /// The memory.
    pub memory: A,
    /// The places of their positions.
    pub layout: BodyLayout,
    /// The memory of their indices, and the bytes from one to the next.
    pub indices: (A, i64),
    /// The number of sinks.
    pub count: usize,
}

/// What is known of the indices of the sources, as long as those are the same.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    Nothing,
    /// The device looks whether they are places.
    Looking,
    Kind(Indices),
}

/// Memory for the sources that sinks leave out.
pub struct OwnSources<G: Gpu> {
    kernels: Option<OwnKernels<G>>,
    known: Known,
    /// The places and the sources of which this is known.
    of: (usize, usize),
    looked: Option<G::Event>,
    found: GrowBuffer<G>,
    report: G::HostMemory,
    keys: [GrowBuffer<G>; 2],
    numbers: [GrowBuffer<G>; 2],
    /// Which of the keys are sorted.
    sorted: usize,
    counts: GrowBuffer<G>,
    totals: GrowBuffer<G>,
    /// Where the body of each place is in the tree, and whether that is so of the tree that is there.
    ranks: GrowBuffer<G>,
    has_ranks: bool,
    firsts: GrowBuffer<G>,
    nexts: GrowBuffer<G>,
    owns: GrowBuffer<G>,
    sink_numbers: GrowBuffer<G>,
    chosen_cells: GrowBuffer<G>,
}

impl<G: Gpu> OwnSources<G> {
    /// Makes memory without room.
    pub fn new(gpu: &G) -> Result<OwnSources<G>> {
        let room = || GrowBuffer::new(gpu, "trees");
        Ok(OwnSources {
            kernels: None,
            known: Known::Nothing,
            of: (0, 0),
            looked: None,
            found: room()?,
            report: gpu.allocate_host(4 * FOUND, "trees")?,
            keys: [room()?, room()?],
            numbers: [room()?, room()?],
            sorted: 0,
            counts: room()?,
            totals: room()?,
            ranks: room()?,
            has_ranks: false,
            firsts: room()?,
            nexts: room()?,
            owns: room()?,
            sink_numbers: room()?,
            chosen_cells: room()?,
        })
    }

    /// Forgets what is known of sources that have changed.
    pub fn forget(&mut self) {
        (self.known, self.has_ranks, self.looked) = (Known::Nothing, false, None);
    }

    /// Forgets where bodies are in a tree that is built anew.
    pub fn forget_tree(&mut self) {
        self.has_ranks = false;
    }

    /// Begins to find out what indices the sources have, unless that is known.
    ///
    /// # Safety
    /// The memory has all that the layout says, and an index for each place. It is neither freed nor
    /// written to until `finish` returns.
    pub unsafe fn begin(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        given: &Given<Address<G>>,
        indices: Address<G>,
    ) -> Result<()> {
        let of = (given.places, given.bodies);
        if self.known != Known::Nothing && self.of == of {
            return Ok(());
        }
        self.forget();
        let mut kernels = self.kernels.take().map_or_else(|| OwnKernels::new(gpu), Ok)?;
        self.found.ensure_capacity(gpu, 4 * FOUND)?;
        let count = given.places as u32;
        let blocks = given.places.div_ceil(KEY_THREADS).min(MOST_LOOKING);
        let arguments = [
            Argument::Bytes(bytes_of(&given.layout)),
            Argument::Memory(given.memory),
            Argument::Memory(indices),
            self.found.at(),
            Argument::Bytes(bytes_of(&count)),
        ];
        // SAFETY: the caller's promise.
        unsafe {
            gpu.zero(queue, &self.found.0, 4 * FOUND)?;
            launch_after_copies((gpu, queue), &mut kernels.look_for_indices, (blocks, KEY_THREADS), &arguments)?;
            self.fetch_found((gpu, queue))?;
        }
        self.kernels = Some(kernels);
        (self.known, self.of) = (Known::Looking, of);
        Ok(())
    }

    /// Begins to copy what was found to the host.
    ///
    /// # Safety
    /// The host does not read it before the copy was waited for.
    unsafe fn fetch_found(&mut self, (gpu, queue): (&G, &G::Queue)) -> Result<()> {
        let to = Place::Host(self.report.as_mut_ptr());
        // SAFETY: both memories have so many bytes.
        unsafe { gpu.copy(queue, Place::Device(&self.found.0, 0), to, 4 * FOUND)? };
        self.looked = Some(gpu.record(queue)?);
        Ok(())
    }

    /// Waits for what was found.
    fn was_found(&mut self, what: usize) -> Result<bool> {
        if let Some(looked) = self.looked.take() {
            looked.wait()?;
        }
        // SAFETY: the copy has ended.
        Ok(unsafe { self.report.part::<u32>(0..FOUND) }[what] != 0)
    }

    /// Returns what indices the sources have; they are sorted by them unless these are places.
    ///
    /// # Safety
    /// As for [`OwnSources::begin`], with the same sources.
    pub(super) unsafe fn finish(
        &mut self,
        on: (&G, &G::Queue),
        sort: &mut Kernels<G>,
        given: &Given<Address<G>>,
        indices: Address<G>,
    ) -> Result<Indices> {
        if let Known::Kind(kind) = self.known {
            return Ok(kind);
        }
        // Should anything fail, nothing is known.
        self.known = Known::Nothing;
        let kind = if self.was_found(0)? {
            // SAFETY: the caller's promise.
            unsafe { self.sort(on, sort, given, indices)? };
            if self.was_found(1)? { Indices::Repeated } else { Indices::Unlike }
        } else {
            Indices::Places
        };
        self.known = Known::Kind(kind);
        Ok(kind)
    }

    /// Begins to sort the sources by index, and to look for indices that are repeated.
    unsafe fn sort(
        &mut self,
        on: (&G, &G::Queue),
        sort: &mut Kernels<G>,
        given: &Given<Address<G>>,
        indices: Address<G>,
    ) -> Result<()> {
        let (gpu, places) = (on.0, given.places);
        for k in 0..2 {
            self.keys[k].ensure_capacity(gpu, 8 * places)?;
            self.numbers[k].ensure_capacity(gpu, 4 * places)?;
        }
        let rooms =
            SortRooms { keys: &self.keys, numbers: &self.numbers, counts: &mut self.counts, totals: &mut self.totals };
        let kernels = self.kernels.as_mut().ok_or_else(missing)?;
        let (all, count) = (places as u32, given.bodies as u32);
        let arguments = [
            Argument::Bytes(bytes_of(&given.layout)),
            Argument::Memory(given.memory),
            Argument::Memory(indices),
            rooms.keys[0].at(),
            Argument::Bytes(bytes_of(&all)),
        ];
        // SAFETY: the caller's promise; there is room for all places.
        unsafe {
            launch_after_copies(on, &mut kernels.write_index_keys, shape(places), &arguments)?;
            self.sorted = sort_keys(on, sort, rooms, (places, PASSES), (0, false))?;
            let arguments = [self.keys[self.sorted].at(), self.found.at(), Argument::Bytes(bytes_of(&count))];
            launch_after_copies(on, &mut kernels.look_for_repeats, shape(given.bodies), &arguments)?;
            self.fetch_found(on)
        }
    }

    /// Begins to find where the bodies of places are in a tree of the sources, and, where indices are
    /// repeated, to link those in it that have the same.
    unsafe fn rank(&mut self, on: (&G, &G::Queue), tree: &Tree<G>, kind: Indices) -> Result<()> {
        if self.has_ranks {
            return Ok(());
        }
        let (gpu, count) = (on.0, tree.bodies as u32);
        self.ranks.ensure_capacity(gpu, 4 * self.of.0)?;
        let kernels = self.kernels.as_mut().ok_or_else(missing)?;
        let count_ = Argument::Bytes(bytes_of(&count));
        let shape = shape(tree.bodies);
        // SAFETY: the caller's promise; there is room for all places.
        unsafe {
            gpu.zero(on.1, &self.ranks.0, 4 * self.of.0)?;
            let arguments = [Argument::Memory(tree.sorted_numbers()), self.ranks.at(), count_];
            launch_after_copies(on, &mut kernels.invert_order, shape, &arguments)?;
            if kind == Indices::Repeated {
                self.firsts.ensure_capacity(gpu, 4 * tree.bodies)?;
                self.nexts.ensure_capacity(gpu, 4 * tree.bodies)?;
                let keys = self.keys[self.sorted].at();
                let arguments = [keys, self.ranks.at(), self.firsts.at(), self.nexts.at(), count_];
                launch_after_copies(on, &mut kernels.link_indices, shape, &arguments)?;
            }
        }
        self.has_ranks = true;
        Ok(())
    }

    /// Begins to find the sources that sinks leave out, in the order of a tree of them or in their
    /// own.
    ///
    /// # Safety
    /// The sinks have an index each, and the tree of sources is that of those of which the indices are
    /// known. No memory is freed or used otherwise until the queue has done the work.
    pub unsafe fn find(
        &mut self,
        on: (&G, &G::Queue),
        tree: &Tree<G>,
        sinks: &Located<Address<G>>,
        order: Option<Address<G>>,
    ) -> Result<Own<Address<G>>> {
        let Known::Kind(kind) = self.known else { return Err(missing()) };
        // SAFETY: the caller's promise.
        unsafe { self.rank(on, tree, kind)? };
        self.owns.ensure_capacity(on.0, 4 * sinks.count)?;
        let keyed = if kind == Indices::Places { 0 } else { tree.bodies };
        let keys = if keyed == 0 { &self.ranks } else { &self.keys[self.sorted] };
        let numbers = [sinks.count, keyed, self.of.0].map(|number| number as u32);
        let [count, keyed, places] = numbers.each_ref().map(|number| Argument::Bytes(bytes_of(number)));
        let is_ordered = i32::from(order.is_some());
        let arguments = [
            Argument::Memory(sinks.indices.0),
            Argument::Bytes(bytes_of(&sinks.indices.1)),
            order.map_or(self.ranks.at(), Argument::Memory),
            keys.at(),
            self.ranks.at(),
            self.owns.at(),
            count,
            keyed,
            places,
            Argument::Bytes(bytes_of(&is_ordered)),
        ];
        let kernels = self.kernels.as_mut().ok_or_else(missing)?;
        // SAFETY: the caller's promise; there is room for all sinks.
        unsafe { launch_after_copies(on, &mut kernels.find_own, shape(sinks.count), &arguments)? };
        let owns = self.owns.0.address();
        Ok(match kind {
            Indices::Repeated => Own::Repeated { owns, firsts: self.firsts.0.address(), nexts: self.nexts.0.address() },
            _ => Own::Listed(owns),
        })
    }

    /// Finds whether all sinks are sources: each has the index and the place of one, and no two sources
    /// have the same index. If so, the sources that are sinks are chosen.
    ///
    /// # Safety
    /// As for [`OwnSources::find`] and [`OwnSources::begin`].
    pub unsafe fn choose(
        &mut self,
        on: (&G, &G::Queue),
        (tree, given): (&Tree<G>, &Given<Address<G>>),
        sinks: &Located<Address<G>>,
    ) -> Result<bool> {
        let Known::Kind(kind) = self.known else { return Err(missing()) };
        if kind == Indices::Repeated {
            return Ok(false);
        }
        // SAFETY: the caller's promise.
        unsafe { self.rank(on, tree, kind)? };
        let cells = tree.cells();
        self.owns.ensure_capacity(on.0, 4 * sinks.count)?;
        self.sink_numbers.ensure_capacity(on.0, 4 * tree.bodies)?;
        self.chosen_cells.ensure_capacity(on.0, 4 * cells)?;
        let keyed = if kind == Indices::Places { 0 } else { tree.bodies };
        let keys = if keyed == 0 { &self.ranks } else { &self.keys[self.sorted] };
        let numbers = [tree.bodies, cells, sinks.count, keyed, self.of.0].map(|number| number as u32);
        let [bodies, cells_, count, keyed, places] = numbers.each_ref().map(|number| Argument::Bytes(bytes_of(number)));
        let (numbers, chosen, found) = (self.sink_numbers.at(), self.chosen_cells.at(), self.found.at());
        let kernels = self.kernels.as_mut().ok_or_else(missing)?;
        let arguments = [
            Argument::Bytes(bytes_of(&given.layout)),
            Argument::Memory(given.memory),
            Argument::Bytes(bytes_of(&sinks.layout)),
            Argument::Memory(sinks.memory),
            Argument::Memory(sinks.indices.0),
            Argument::Bytes(bytes_of(&sinks.indices.1)),
            keys.at(),
            self.ranks.at(),
            tree.leaves.at(),
            tree.parents.at(),
            self.owns.at(),
            numbers,
            chosen,
            found,
            count,
            keyed,
            places,
        ];
        // SAFETY: the caller's promise; there is room for all bodies, cells and sinks.
        unsafe {
            let of_none = [numbers, chosen, found, bodies, cells_];
            launch_after_copies(on, &mut kernels.choose_none, shape(tree.bodies.max(cells)), &of_none)?;
            launch(on, &mut kernels.choose_sources, shape(sinks.count), &arguments)?;
            self.fetch_found(on)?;
        }
        Ok(!self.was_found(2)?)
    }

    /// Returns the sources that were chosen last, for so many sinks.
    pub fn chosen(&self, sinks: usize) -> Chosen<'_, G> {
        Chosen { numbers: &self.sink_numbers, cells: &self.chosen_cells, most: sinks }
    }

    /// Begins to copy the forces on chosen sources to the further sinks that these are.
    ///
    /// # Safety
    /// There is a force for each of so many sinks, for which sources were chosen last.
    pub unsafe fn repeat_forces(&mut self, on: (&G, &G::Queue), sinks: usize, forces: Address<G>) -> Result<()> {
        let count = sinks as u32;
        let arguments =
            [self.owns.at(), self.sink_numbers.at(), Argument::Memory(forces), Argument::Bytes(bytes_of(&count))];
        let kernels = self.kernels.as_mut().ok_or_else(missing)?;
        // SAFETY: the caller's promise.
        unsafe { launch_after_copies(on, &mut kernels.repeat_forces, shape(sinks), &arguments) }
    }

    /// Begins to take the pairs of sinks with the sources that they leave out, which were found in the
    /// sinks' own order, from forces.
    ///
    /// # Safety
    /// As for [`OwnSources::find`]; there is a force for each sink.
    pub unsafe fn take_away(
        &mut self,
        on: (&G, &G::Queue),
        (tree, given): (&Tree<G>, &Given<Address<G>>),
        sinks: &Located<Address<G>>,
        (own, forces): (Own<Address<G>>, Address<G>),
    ) -> Result<()> {
        let ([owns, _, nexts], kind) = own.arguments(self.owns.0.address());
        let (count, is_repeated) = (sinks.count as u32, i32::from(kind == OWN_REPEATED));
        let arguments = [
            Argument::Bytes(bytes_of(&given.layout)),
            Argument::Memory(given.memory),
            Argument::Memory(tree.sorted_numbers()),
            Argument::Bytes(bytes_of(&sinks.layout)),
            Argument::Memory(sinks.memory),
            Argument::Memory(owns),
            Argument::Memory(nexts),
            Argument::Memory(forces),
            Argument::Bytes(bytes_of(&given.softening2)),
            Argument::Bytes(bytes_of(&count)),
            Argument::Bytes(bytes_of(&is_repeated)),
        ];
        let kernels = self.kernels.as_mut().ok_or_else(missing)?;
        // SAFETY: the caller's promise.
        unsafe { launch_after_copies(on, &mut kernels.take_away_own, shape(sinks.count), &arguments) }
    }
}

/// Returns the thread blocks that have a thread for each of some bodies.
fn shape(bodies: usize) -> (usize, usize) {
    (bodies.div_ceil(KEY_THREADS), KEY_THREADS)
}

fn missing() -> Error {
    Error::Internal { what: "the indices of sources were not looked at".into() }
}
