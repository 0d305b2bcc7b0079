//! Sorted bodies, cells and moments on a device.

pub(super) mod sort;

use bytemuck::bytes_of;

use super::clock::Clock;
use super::constants::{
    BodyLayout, CELL_THREADS, CELL_TILE, CELLS_OF_BLOCK, CHILDREN, CUBE_NUMBERS, DIGIT_BITS, FOUND, FOUND_CROWDED,
    FOUND_DEEP, FOUND_LARGE, FOUND_NEGATIVE, FOUND_STARTS, FOUND_UNSORTED, FOUND_WIDE, GENERATIONS, INNER_THREADS,
    KEY_THREADS, LANES, LEAF_THREADS, LINK_THREADS, MOST_BOXES, SORT_THREADS, SORT_TURNS, defines_of_order, record,
    unit_of_order,
};
use super::kernels::{Expansions, Kernels, launch, launch_after_copies, scan};
use crate::cells::Cell;
use crate::criterion::Criterion;
use crate::cube::{Cube, power_of_two};
use kyoho_core::{Error, Result, TreePhase};
use kyoho_hal::gpu::{Address, Argument, DeviceMemory, Event, Gpu, HostMemory, Place};
use kyoho_hal::grow_buffer::GrowBuffer;
use kyoho_laws::expansion::LOWEST_ORDER;
use kyoho_methods::gpu::code::{SOURCE_OF_EXPANSIONS, SOURCE_OF_TREES};

/// Passes of the sort that take all bits of a word.
const ALL_PASSES: usize = 64 / DIGIT_BITS;
/// Keys below which the sort takes the smaller tiles.
const FEW_KEYS: usize = 1 << 19;
/// One body of so many may be crowded before the sort compares more bits.
const CROWDED: usize = 64;
/// Bodies for each cell that there is room for, at first.
const CELLS: usize = 6;
/// Of so many bodies of a rank's domain there is room for one more from another rank.
const SPARE_OF_DOMAINS: usize = 4;
/// The most blocks of a kernel that goes through cells, whose number only the device knows.
const CELL_BLOCKS: usize = 1 << 12;

/// Where the bodies of a tree lie on the device.
#[derive(Clone, Copy)]
pub struct Given<A> {
    /// The memory.
    pub memory: A,
    /// The places in it.
    pub layout: BodyLayout,
    /// The number of places.
    pub places: usize,
    /// The number of bodies; the other places have positions beyond all bodies.
    pub bodies: usize,
    /// The factor of masses.
    pub mass_factor: f64,
    /// The squared softening.
    pub softening2: f64,
    /// The cube of another tree, in whose units these bodies are.
    pub frame: Option<A>,
    /// Memory for all places as [`BodyLayout::PACKED`] has them, to which the bodies are copied
    /// before they are sorted: a position and a mass side by side come in one piece when they are
    /// read in the order of the keys.
    pub to_pack: Option<A>,
}

/// The places, bodies, softening and factor of masses of a tree that was built.
pub type Built = (usize, usize, f64, f64);

impl<A: Copy> Given<A> {
    /// Returns the bodies as they lie where they were packed.
    fn packed(&self) -> Given<A> {
        let packed = |memory| Given { memory, layout: BodyLayout::PACKED, to_pack: None, ..*self };
        self.to_pack.map_or(*self, packed)
    }

    /// Returns what tells a tree of these bodies from another of the same sources.
    pub fn built(&self) -> Built {
        (self.places, self.bodies, self.softening2, self.mass_factor)
    }
}

/// Returns the error that the box of all bodies is so many powers of two as large as that of most.
fn too_wide(exponent: i32) -> Error {
    Error::OutOfRange {
        what: "the extent of the sources of a tree, in that of most of them,".into(),
        value: power_of_two(exponent),
        precision: "single, in which GPUs sum trees",
        allowed: "up to 1e20 on a GPU, any with backend cpu".into(),
    }
}

/// A tree on a device.
pub struct Tree<G: Gpu> {
    pub(super) kernels: Kernels<G>,
    pub(super) expansions: Option<(usize, Expansions<G>)>,
    boxes: GrowBuffer<G>,
    pub(super) cube: GrowBuffer<G>,
    pub(super) found: GrowBuffer<G>,
    report: G::HostMemory,
    /// Keys and numbers of bodies, between which the sort goes to and fro; the ordered ones are in
    /// the second.
    keys: [GrowBuffer<G>; 2],
    pub(super) numbers: [GrowBuffer<G>; 2],
    /// Which of them have the sorted ones.
    pub(super) sorted: usize,
    lows: GrowBuffer<G>,
    counts: GrowBuffer<G>,
    totals: GrowBuffer<G>,
    pub(super) high: GrowBuffer<G>,
    pub(super) low: GrowBuffer<G>,
    paths: GrowBuffer<G>,
    pub(super) cells: GrowBuffer<G>,
    children: GrowBuffer<G>,
    pub(super) nexts: GrowBuffer<G>,
    pub(super) parents: GrowBuffer<G>,
    pub(super) leaves: GrowBuffer<G>,
    pub(super) places: GrowBuffer<G>,
    pub(super) reaches: GrowBuffer<G>,
    pub(super) moments: GrowBuffer<G>,
    /// Cells that there is room for.
    room: usize,
    /// Cells whose moments there is room for.
    room_of_summed: usize,
    /// Passes of the sort, once known. They decide how long it takes and nothing else.
    passes: Option<usize>,
    words: i32,
    pub(super) bodies: usize,
    pub(super) starts: Vec<u32>,
    /// The end of the cells whose moments are summed from their children.
    end_of_large: u32,
    has_negative: bool,
    /// The order and the opening angle, if there is one, of the moments that were summed.
    summed: Option<(usize, f32)>,
    /// The cell with which walks begin.
    pub(super) root: u32,
    /// The numbers of the cube, if it was given and is not to be found.
    pub(super) given_cube: Option<[f64; CUBE_NUMBERS]>,
    /// There is room for one more of so many bodies and cells, for those that are joined.
    spare: usize,
    pub(super) clock: Clock,
}

impl<G: Gpu> Tree<G> {
    /// Makes a tree without bodies.
    pub fn new(gpu: &G) -> Result<Tree<G>> {
        let room = || GrowBuffer::new(gpu, "trees");
        Ok(Tree {
            kernels: Kernels::load(gpu, "tree", (SOURCE_OF_TREES, &[]))?,
            expansions: None,
            boxes: room()?,
            cube: room()?,
            found: room()?,
            report: gpu.allocate_host(4 * FOUND, "trees")?,
            keys: [room()?, room()?],
            numbers: [room()?, room()?],
            sorted: 0,
            lows: room()?,
            counts: room()?,
            totals: room()?,
            high: room()?,
            low: room()?,
            paths: room()?,
            cells: room()?,
            children: room()?,
            nexts: room()?,
            parents: room()?,
            leaves: room()?,
            places: room()?,
            reaches: room()?,
            moments: room()?,
            room: 0,
            room_of_summed: 0,
            passes: None,
            words: 1,
            bodies: 0,
            starts: Vec::new(),
            end_of_large: 0,
            has_negative: false,
            summed: None,
            root: 0,
            given_cube: None,
            spare: usize::MAX,
            clock: Clock::default(),
        })
    }

    /// Whether some mass is negative. The tree's sources are then those of positive mass, until
    /// [`Tree::turn_masses`].
    pub fn has_negative(&self) -> bool {
        self.has_negative
    }

    /// Begins to put the masses of some sign in the place of the others: those that are positive
    /// when they are multiplied by `given.mass_factor`. Moments have to be summed again.
    ///
    /// # Safety
    /// As for [`Tree::build`], with the same bodies, until the queue has done the work.
    pub unsafe fn turn_masses(&mut self, on: (&G, &G::Queue), given: &Given<Address<G>>) -> Result<()> {
        let count = self.bodies as u32;
        self.summed = None;
        let arguments = [
            Argument::Bytes(bytes_of(&given.layout)),
            Argument::Memory(given.memory),
            self.numbers[self.sorted].at(),
            self.high.at(),
            Argument::Bytes(bytes_of(&count)),
            Argument::Bytes(bytes_of(&given.mass_factor)),
        ];
        let shape = (self.bodies.div_ceil(KEY_THREADS), KEY_THREADS);
        // SAFETY: the caller's promise.
        unsafe { launch(on, &mut self.kernels.turn_masses, shape, &arguments) }
    }

    /// Returns the cube, in whose units other bodies can be given.
    pub fn frame(&self) -> Address<G> {
        self.cube.0.address()
    }

    /// Returns the numbers of the bodies in Morton order.
    pub fn sorted_numbers(&self) -> Address<G> {
        self.numbers[self.sorted].0.address()
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> usize {
        self.starts.last().map_or(0, |count| *count as usize)
    }

    /// Sorts bodies and makes the cells. The bodies may be more than none.
    ///
    /// # Safety
    /// The memory has all that the layout says, and the one to pack into has room for all places.
    /// Neither is freed or written to by others until this returns.
    pub unsafe fn build(&mut self, (gpu, queue): (&G, &G::Queue), given: &Given<Address<G>>) -> Result<()> {
        let on = (gpu, queue);
        let (places, bodies) = (given.places, given.bodies);
        if places > i32::MAX as usize {
            let (what, value) = ("the number of bodies of a tree on one GPU", places as i64);
            return Err(Error::BadCount { what, value, allowed: format!("0 to {}", i32::MAX) });
        }
        (self.bodies, self.root) = (bodies, 0);
        self.summed = None;
        self.starts.clear();
        if bodies == 0 {
            return Ok(());
        }
        self.make_room(gpu, given)?;
        self.clock.begin(on)?;
        // SAFETY: the caller's promise; `make_room` saw to memory for so many bodies.
        unsafe {
            let mut passes = self.passes.unwrap_or(if bodies < FEW_KEYS { 5 } else { 6 });
            self.find_cube(on, given)?;
            self.sort(on, given, passes)?;
            self.clock.end(on, TreePhase::Sort)?;
            self.make_cells(on)?;
            loop {
                let report = self.report(on)?;
                if report[FOUND_WIDE] != 0 && given.frame.is_none() {
                    return Err(too_wide(report[FOUND_WIDE] as i32));
                } else if report[FOUND_DEEP] != 0 && self.words == 1 {
                    self.lows.ensure_capacity(gpu, 8 * places)?;
                    self.find_cube(on, given)?;
                    self.sort_deep(on, given)?;
                } else if report[FOUND_UNSORTED] != 0 {
                    passes = ALL_PASSES;
                    self.find_cube(on, given)?;
                    self.sort(on, given, passes)?;
                } else if report[FOUND_STARTS + GENERATIONS] as usize >= self.room {
                    self.make_room_for_cells(gpu, report[FOUND_STARTS + GENERATIONS] as usize + 1)?;
                } else {
                    let is_few = |place: usize| report[FOUND_CROWDED + place] as usize <= bodies / CROWDED;
                    if self.words == 1 {
                        let fewer = usize::from(is_few(1) && passes > 1);
                        self.passes = Some(if is_few(0) { passes - fewer } else { (passes + 1).min(ALL_PASSES) });
                    }
                    self.starts.extend_from_slice(&report[FOUND_STARTS..]);
                    self.has_negative = report[FOUND_NEGATIVE] != 0;
                    self.end_of_large = report[FOUND_LARGE];
                    return self.clock.end(on, TreePhase::Cells);
                }
                self.make_cells(on)?;
            }
        }
    }

    /// Does as [`Tree::build`] does, in a cube that holds all bodies.
    ///
    /// # Safety
    /// As for [`Tree::build`].
    pub unsafe fn build_in(&mut self, on: (&G, &G::Queue), given: &Given<Address<G>>, cube: &Cube) -> Result<()> {
        let [x, y, z] = cube.low;
        self.given_cube = Some([x, y, z, cube.key_factor(), cube.gpu_factor(given.softening2)]);
        // SAFETY: the caller's promise.
        let built = unsafe { self.build(on, given) };
        self.given_cube = None;
        built
    }

    /// Lets the tree have room for the bodies and cells of other ranks.
    pub fn make_room_for_others(&mut self) {
        self.spare = SPARE_OF_DOMAINS;
    }

    fn make_room(&mut self, gpu: &G, given: &Given<Address<G>>) -> Result<()> {
        let Given { places, bodies, .. } = *given;
        let tile = SORT_THREADS * SORT_TURNS[usize::from(places >= FEW_KEYS)];
        let (sort_tiles, cell_tiles) = (places.div_ceil(tile), bodies.div_ceil(CELL_TILE));
        self.boxes.ensure_capacity(gpu, MOST_BOXES * 6 * 8)?;
        self.cube.ensure_capacity(gpu, CUBE_NUMBERS * 8)?;
        self.found.ensure_capacity(gpu, FOUND * 4)?;
        for k in 0..2 {
            self.keys[k].ensure_capacity(gpu, 8 * places)?;
            self.numbers[k].ensure_capacity(gpu, 4 * places)?;
        }
        self.counts.ensure_capacity(gpu, 4 * ((1 << DIGIT_BITS) * sort_tiles).max(GENERATIONS * cell_tiles))?;
        self.totals.ensure_capacity(gpu, 4 << DIGIT_BITS)?;
        self.high.ensure_capacity(gpu, 16 * (bodies + bodies / self.spare))?;
        self.low.ensure_capacity(gpu, 16 * (bodies + bodies / self.spare))?;
        self.paths.ensure_capacity(gpu, 16 * cell_tiles)?;
        self.leaves.ensure_capacity(gpu, 4 * bodies)?;
        if self.room < bodies / CELLS + 64 {
            self.make_room_for_cells(gpu, bodies / CELLS + 64)?;
        }
        Ok(())
    }

    fn make_room_for_cells(&mut self, gpu: &G, room: usize) -> Result<()> {
        self.room = 0;
        self.cells.ensure_capacity(gpu, room * size_of::<Cell>())?;
        self.children.ensure_capacity(gpu, room * 4)?;
        self.parents.ensure_capacity(gpu, room * 4)?;
        self.room = room;
        Ok(())
    }

    /// Begins to make the cells of ordered bodies.
    unsafe fn make_cells(&mut self, on: (&G, &G::Queue)) -> Result<()> {
        let tiles = self.bodies.div_ceil(CELL_TILE);
        let (count, number, room) = (self.bodies as u32, tiles as i32, self.room as u32);
        let (keys, lows, paths) = (self.keys[self.sorted].at(), self.lows.at(), self.paths.at());
        // The sort needs its other keys no more, so that the depths may lie there.
        let depths = self.keys[1 - self.sorted].at();
        let (found, counts, totals) = (self.found.at(), self.counts.at(), self.totals.at());
        let (cells, children, parents, leaves) =
            (self.cells.at(), self.children.at(), self.parents.at(), self.leaves.at());
        let [count, words, tiles_, room] =
            [bytes_of(&count), bytes_of(&self.words), bytes_of(&number), bytes_of(&room)].map(Argument::Bytes);
        let (kernels, shape) = (&mut self.kernels, (tiles, CELL_THREADS));
        // SAFETY: the caller's promise.
        unsafe {
            launch(on, &mut kernels.find_paths, shape, &[keys, lows, depths, paths, found, count, words])?;
            launch(on, &mut kernels.join_tiles, (2, CELL_THREADS), &[paths, tiles_])?;
            launch(on, &mut kernels.count_cells, shape, &[depths, paths, counts, count])?;
            scan(on, &mut kernels.scan_rows, (self.counts.at(), self.totals.at()), GENERATIONS, tiles)?;
            let arguments = [depths, paths, counts, totals, cells, children, parents, leaves, found, count, room];
            launch(on, &mut kernels.write_cells, shape, &arguments)?;
            let arguments = [keys, lows, cells, children, found, count, room, words];
            let blocks = self.room.div_ceil(LINK_THREADS).min(CELL_BLOCKS);
            launch(on, &mut kernels.link_cells, (blocks, LINK_THREADS), &arguments)
        }
    }

    /// Waits for what the device found.
    fn report(&mut self, (gpu, queue): (&G, &G::Queue)) -> Result<[u32; FOUND]> {
        let to = Place::Host(self.report.as_mut_ptr());
        // SAFETY: both memories have so many bytes, and the copy is waited for.
        unsafe { gpu.copy(queue, Place::Device(&self.found.0, 0), to, 4 * FOUND)? };
        gpu.record(queue)?.wait()?;
        // SAFETY: it was waited for.
        let report = unsafe { self.report.part::<u32>(0..FOUND) };
        Ok(std::array::from_fn(|k| report[k]))
    }

    /// Begins to sum the moments of all cells, for an order of expansions, unless that was done.
    ///
    /// # Safety
    /// The tree is neither built again nor dropped until the queue has done the work.
    pub unsafe fn sum_moments(&mut self, on: (&G, &G::Queue), order: usize, criterion: Criterion) -> Result<()> {
        let theta = match criterion {
            Criterion::Error { .. } => 0.0,
            Criterion::Angle { theta } => theta as f32,
        };
        let wanted = Some((order, theta));
        if self.starts.is_empty() || self.summed == wanted {
            return Ok(());
        }
        self.summed = None;
        if self.expansions.as_ref().is_none_or(|(loaded, _)| *loaded != order) {
            let source = (SOURCE_OF_EXPANSIONS, &defines_of_order(order)[..]);
            self.expansions = Some((order, Expansions::load(on.0, &unit_of_order(order), source)?));
        }
        let all = *self.starts.last().expect("there are starts") as usize;
        if self.room_of_summed < all {
            self.room_of_summed = all + all / self.spare.min(32);
        }
        self.places.ensure_capacity(on.0, 32 * self.room_of_summed)?;
        self.reaches.ensure_capacity(on.0, 16 * self.room_of_summed)?;
        self.moments.ensure_capacity(on.0, 4 * record(order) * self.room_of_summed)?;
        self.clock.begin(on)?;
        let (_, kernels) = self.expansions.as_mut().expect("they were loaded");
        let [cells, high, low] = [self.cells.at(), self.high.at(), self.low.at()];
        let [places, reaches, moments] = [self.places.at(), self.reaches.at(), self.moments.at()];
        let theta = Argument::Bytes(bytes_of(&theta));
        // SAFETY: the caller's promise.
        unsafe {
            let arguments = [cells, high, low, places, reaches, moments, self.found.at(), theta];
            launch_after_copies(on, &mut kernels.sum_leaves, (all.div_ceil(LEAF_THREADS), LEAF_THREADS), &arguments)?;
            launch(on, &mut kernels.sum_bodies, (all.div_ceil(CELLS_OF_BLOCK), LANES), &arguments)?;
            for generation in (0..GENERATIONS).rev() {
                let (first, end) = (self.starts[generation], self.starts[generation + 1].min(self.end_of_large));
                if end <= first {
                    continue;
                }
                let blocks = ((end - first) as usize).div_ceil(INNER_THREADS / CHILDREN);
                let [first, end] = [bytes_of(&first), bytes_of(&end)].map(Argument::Bytes);
                let arguments = [cells, places, reaches, moments, first, end, theta];
                launch(on, &mut kernels.sum_children, (blocks, INNER_THREADS), &arguments)?;
            }
        }
        self.summed = wanted;
        self.clock.end(on, TreePhase::Moments)
    }

    /// Begins to sum what walks need of cells, with moments of whichever order is loaded.
    ///
    /// # Safety
    /// As for [`Tree::sum_moments`].
    pub unsafe fn sum_cells(&mut self, on: (&G, &G::Queue)) -> Result<()> {
        let order = self.expansions.as_ref().map_or(LOWEST_ORDER, |(order, _)| *order);
        // SAFETY: the caller's promise.
        unsafe { self.sum_moments(on, order, Criterion::Error { tolerance: 0.0 }) }
    }

    /// Begins to find the cell that follows all that is below each cell, by which walks need no
    /// stack.
    ///
    /// # Safety
    /// As for [`Tree::sum_moments`].
    pub unsafe fn link_next(&mut self, on: (&G, &G::Queue)) -> Result<()> {
        self.nexts.ensure_capacity(on.0, 4 * self.cells())?;
        self.clock.begin(on)?;
        let arguments = [self.cells.at(), self.parents.at(), self.nexts.at(), self.found.at()];
        let shape = (self.cells().div_ceil(LINK_THREADS), LINK_THREADS);
        // SAFETY: the caller's promise.
        unsafe { launch_after_copies(on, &mut self.kernels.link_next, shape, &arguments)? };
        self.clock.end(on, TreePhase::Cells)
    }

    /// Copies what the device has.
    pub(super) fn copied<T: bytemuck::Pod>(
        &self,
        (gpu, queue): (&G, &G::Queue),
        memory: &GrowBuffer<G>,
        count: usize,
    ) -> Result<Vec<T>> {
        let mut host = gpu.allocate_host(count * size_of::<T>(), "trees")?;
        let to = Place::Host(host.as_mut_ptr());
        // SAFETY: both memories have so many bytes, and the copy is waited for.
        unsafe { gpu.copy(queue, Place::Device(&memory.0, 0), to, count * size_of::<T>())? };
        gpu.synchronize(queue)?;
        // SAFETY: the copy has ended.
        Ok(unsafe { host.part::<T>(0..count) }.to_vec())
    }

    /// Copies the cells.
    pub fn copy_cells(&self, on: (&G, &G::Queue)) -> Result<Vec<Cell>> {
        self.copied(on, &self.cells, self.cells())
    }

    /// Copies the numbers of the bodies in the order of their keys.
    pub fn copy_numbers(&self, on: (&G, &G::Queue)) -> Result<Vec<u32>> {
        self.copied(on, &self.numbers[self.sorted], self.bodies)
    }
}
