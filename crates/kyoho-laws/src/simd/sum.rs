//! The loops of a group of sinks over a tile of sources.
//!
//! A pair is a long chain of operations each of which waits for the one before, 50 to 100 cycles in
//! all, so several pairs must be under way at a time. Where there are 32 registers, one loop makes
//! whole pairs, and the CPU begins the next ones meanwhile (`step`). With 16 registers its sums and
//! constants would be in memory, and fewer pairs fit into the older CPUs that have no more. There
//! the work is divided (`block`): for some steps of the loop first all squared distances are made,
//! then all roots, all factors, all sums. Each of these short loops has a short chain and few
//! numbers. The operations are the same, in the same order of addition.

use std::mem::MaybeUninit;

use crate::lanes::{Element, Lanes, MAX_LANES};
use crate::pair::{MAX_FACTORS, PairLaw};
use crate::regular::{Criterion, squared};
use kyoho_core::{CHUNK, MAX_DERIVATIVES};

use super::tile::{Group, LaneSums, Tile, VECTORS_ROW, rows_behind_vectors};

/// The guards of a loop: the pairs that it must test for.
pub mod guard {
    /// No guard: every pair is softened and no source has the index of a sink.
    pub const NONE: u8 = 0;
    /// A guard against pairs at no distance, which do not count.
    pub const DISTANCE: u8 = 1;
    /// A guard also against sources that have the index of a sink, which do not count for it.
    pub const INDEX: u8 = 2;
}

/// Sums in single precision are added to doubles after this many steps of the loop.
const STEPS_32: usize = 32;

/// The most steps of a block, which divide `STEPS_32`.
const BLOCK: usize = 16;

/// The numbers of the sinks in its lanes that a loop needs.
pub struct LaneSinks<L, const LIMBS: usize> {
    softening2: L,
    position: [[L; 3]; LIMBS],
    higher: [[L; 3]; MAX_DERIVATIVES],
    /// The neighbour criterion, where neighbours are left out.
    pub criterion: Criterion<L>,
}

impl<L: Lanes, const LIMBS: usize> LaneSinks<L, LIMBS> {
    /// Loads the sinks of an interaction, from the lanes of each row of a group.
    #[inline(always)]
    pub fn new<I: PairLaw>(lanes: impl Fn(usize) -> L) -> LaneSinks<L, LIMBS> {
        let zero = L::splat(L::Element::from_f64(0.0));
        let mut higher = [[zero; 3]; MAX_DERIVATIVES];
        for (vector, components) in higher.iter_mut().enumerate().take(I::N_DERIVATIVES).skip(1) {
            *components = std::array::from_fn(|k| lanes(VECTORS_ROW + 3 * (LIMBS - 1 + vector) + k));
        }
        let [by_mass, plain, step] = if I::REGULAR {
            std::array::from_fn(|k| lanes(rows_behind_vectors(LIMBS, I::N_DERIVATIVES) + k))
        } else {
            [zero; 3]
        };
        LaneSinks {
            softening2: lanes(0),
            position: std::array::from_fn(|limb| std::array::from_fn(|k| lanes(VECTORS_ROW + 3 * limb + k))),
            higher,
            criterion: Criterion { by_mass, plain, step },
        }
    }

    /// Returns the differences of position, velocity, ..., source minus sink, from the lanes of
    /// each row of a tile.
    // Iterators in the place of these loops leave the differences in memory.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    pub fn differences<I: PairLaw>(&self, source: impl Fn(usize) -> L) -> [[L; 3]; MAX_DERIVATIVES] {
        let mut differences = [[L::splat(L::Element::from_f64(0.0)); 3]; MAX_DERIVATIVES];
        for vector in 0..I::N_DERIVATIVES {
            for k in 0..3 {
                differences[vector][k] = self.difference(vector, k, &source);
            }
        }
        differences
    }

    /// Returns a component of the difference of position, velocity, ...
    #[inline(always)]
    fn difference(&self, vector: usize, k: usize, source: impl Fn(usize) -> L) -> L {
        if vector > 0 {
            return source(VECTORS_ROW + 3 * (LIMBS - 1 + vector) + k) - self.higher[vector][k];
        }
        let r = source(VECTORS_ROW + k) - self.position[0][k];
        if LIMBS == 2 { r + (source(VECTORS_ROW + 3 + k) - self.position[1][k]) } else { r }
    }

    /// Returns the squared distance with softening, and the one without if an interaction needs it.
    #[inline(always)]
    fn squares<I: PairLaw>(&self, [x, y, z]: [L; 3], source: impl Fn(usize) -> L) -> (L, L) {
        if I::SOFTENED {
            let softening2 = self.softening2 + source(rows_behind_vectors(LIMBS, I::N_DERIVATIVES));
            let s2 = z.mul_add(z, y.mul_add(y, x.mul_add(x, softening2)));
            (s2, s2)
        } else if I::NEAREST {
            let xy2 = y.mul_add(y, x * x);
            (xy2 + z.mul_add(z, self.softening2), z.mul_add(z, xy2))
        } else if I::REGULAR {
            let r2 = squared([x, y, z]);
            (r2 + self.softening2, r2)
        } else {
            let s2 = z.mul_add(z, y.mul_add(y, x.mul_add(x, self.softening2)));
            (s2, s2)
        }
    }
}

/// The pairs of a loop: a tile, and the sinks that meet it.
struct Pairs<'a, L: Lanes, const LIMBS: usize, const SOURCES_IN_LANES: bool> {
    tile: &'a Tile<L::Element>,
    sinks: LaneSinks<L, LIMBS>,
    own_index: L::Index,
}

impl<'a, L: Lanes, const LIMBS: usize, const SOURCES_IN_LANES: bool> Pairs<'a, L, LIMBS, SOURCES_IN_LANES> {
    #[inline(always)]
    fn new<I: PairLaw>(tile: &'a Tile<L::Element>, group: &Group<L::Element>, sink: usize) -> Self {
        let rows = rows_behind_vectors(LIMBS, I::N_DERIVATIVES) + usize::from(I::SOFTENED);
        assert!(tile.rows().len() >= rows * CHUNK && tile.count <= CHUNK && sink < MAX_LANES);
        let lanes = |row: usize| -> L {
            if SOURCES_IN_LANES {
                L::splat(group.row(row)[sink])
            } else {
                // SAFETY: a row of a group has MAX_LANES numbers.
                unsafe { L::load(group.row(row).as_ptr()) }
            }
        };
        let own_index = if SOURCES_IN_LANES {
            L::index_splat(group.indices[sink])
        } else {
            // SAFETY: a group has MAX_LANES indices.
            unsafe { L::index_load(group.indices.as_ptr()) }
        };
        Pairs { tile, sinks: LaneSinks::new::<I>(lanes), own_index }
    }

    /// Returns the number of places of a tile that a step takes.
    #[inline(always)]
    fn stride(&self) -> usize {
        if SOURCES_IN_LANES { L::COUNT } else { 1 }
    }

    /// Returns numbers of the sources of a step.
    ///
    /// # Safety
    /// The interaction has the row, and the place is a multiple of `stride` below `tile.count`.
    #[inline(always)]
    unsafe fn source(&self, row: usize, place: usize) -> L {
        // SAFETY: rows have CHUNK numbers each, COUNT divides CHUNK, and `new` asserts the rows.
        unsafe {
            let from = self.tile.rows().as_ptr().add(row * CHUNK + place);
            if SOURCES_IN_LANES { L::load(from) } else { L::splat(*from) }
        }
    }

    /// Returns the indices of the sources of a step.
    ///
    /// # Safety
    /// As for `source`.
    #[inline(always)]
    unsafe fn index(&self, place: usize) -> L::Index {
        // SAFETY: a tile has CHUNK indices; places as for `source`.
        unsafe {
            let from = self.tile.indices().as_ptr().add(place);
            if SOURCES_IN_LANES { L::index_load(from) } else { L::index_splat(*from) }
        }
    }
}

/// The sums of a loop in the numbers of a pair: the potential, and the derivatives of each
/// component.
#[derive(Clone, Copy)]
struct PairSums<L> {
    potential: L,
    components: [[L; MAX_DERIVATIVES]; 3],
}

impl<L: Lanes> PairSums<L> {
    #[inline(always)]
    fn zero() -> PairSums<L> {
        let zero = L::splat(L::Element::from_f64(0.0));
        PairSums { potential: zero, components: [[zero; MAX_DERIVATIVES]; 3] }
    }

    /// Adds them to sums in doubles.
    #[inline(always)]
    fn add_to<I: PairLaw>(self, sums: &mut LaneSums<L::Element>) {
        // SAFETY: LaneSums has MAX_LANES numbers a row.
        let mut add = |output: usize, sum: L| unsafe { sum.add_to(sums.values[output].as_mut_ptr()) };
        add(0, self.potential);
        for vector in 0..I::N_DERIVATIVES {
            for k in 0..3 {
                add(1 + 3 * vector + k, self.components[k][vector]);
            }
        }
    }
}

/// The nearest source of each lane: its squared distance and its index.
struct NearestLanes<L: Lanes> {
    distance2: L,
    bound2: L,
    index: L::Index,
}

impl<L: Lanes> NearestLanes<L> {
    #[inline(always)]
    fn load(sums: &LaneSums<L::Element>) -> NearestLanes<L> {
        // SAFETY: each has MAX_LANES numbers.
        unsafe {
            NearestLanes {
                distance2: L::load(sums.distance2.as_ptr()),
                bound2: L::load(sums.bound2.as_ptr()),
                index: L::index_load(sums.nearest.as_ptr()),
            }
        }
    }

    #[inline(always)]
    fn store(self, sums: &mut LaneSums<L::Element>) {
        // SAFETY: as in `load`.
        unsafe {
            self.distance2.store(sums.distance2.as_mut_ptr());
            L::index_store(self.index, sums.nearest.as_mut_ptr());
        }
    }

    /// Whether in some lane a source at this distance may be the nearest of all. A source at the
    /// bound is as near as one before, which need not be the one that is taken in the end.
    #[inline(always)]
    fn may_be_at(&self, r2: L) -> bool {
        L::bits(r2.less(self.distance2)) & !L::bits(self.bound2.less(r2)) != 0
    }

    /// Takes a source that is nearer, unless its index is the sink's.
    #[inline(always)]
    fn update(&mut self, r2: L, index: L::Index, differ: Option<L::Mask>) {
        let mut nearer = r2.less(self.distance2);
        if let Some(differ) = differ {
            nearer = L::both(nearer, differ);
        }
        self.distance2 = L::select(nearer, r2, self.distance2);
        self.index = L::index_select(nearer, index, self.index);
    }
}

/// Adds a tile of sources to the sums of a group.
///
/// With `SOURCES_IN_LANES` the lanes are sources and the only sink is the group's lane `sink`;
/// without it the lanes are sinks, and the sources come one by one.
#[inline(always)]
pub fn tile<I: PairLaw, L: Lanes, const LIMBS: usize, const SOURCES_IN_LANES: bool, const GUARD: u8>(
    tile: &Tile<L::Element>,
    group: &Group<L::Element>,
    sink: usize,
    sums: &mut LaneSums<L::Element>,
) {
    let pairs = Pairs::<L, LIMBS, SOURCES_IN_LANES>::new::<I>(tile, group, sink);
    let steps = if size_of::<L::Element>() == 4 { STEPS_32 } else { CHUNK };
    let mut nearest = NearestLanes::load(sums);
    let mut scratch = Scratch::new(NearestLanes::load(sums));
    let mut place = 0;
    while place < tile.count {
        let end = tile.count.min(place + steps * pairs.stride());
        if L::IN_BLOCKS {
            scratch.sums = PairSums::zero();
            while place < end {
                let block_end = end.min(place + BLOCK * pairs.stride());
                block::<I, L, LIMBS, SOURCES_IN_LANES, GUARD>(&pairs, place, block_end, &mut scratch);
                place = block_end;
            }
            scratch.sums.add_to::<I>(sums);
        } else {
            let mut partial_sums = PairSums::zero();
            while place < end {
                step::<I, L, LIMBS, SOURCES_IN_LANES, GUARD>(&pairs, place, &mut nearest, &mut partial_sums);
                place += pairs.stride();
            }
            partial_sums.add_to::<I>(sums);
        }
    }
    if I::NEAREST {
        if L::IN_BLOCKS { scratch.nearest.store(sums) } else { nearest.store(sums) }
    }
}

/// Adds the sources of one step.
#[inline(always)]
fn step<I: PairLaw, L: Lanes, const LIMBS: usize, const SOURCES_IN_LANES: bool, const GUARD: u8>(
    pairs: &Pairs<'_, L, LIMBS, SOURCES_IN_LANES>,
    place: usize,
    nearest: &mut NearestLanes<L>,
    sums: &mut PairSums<L>,
) {
    let zero = L::splat(L::Element::from_f64(0.0));
    // SAFETY: `tile` takes places below `count` in steps of the stride.
    let source = |row: usize| unsafe { pairs.source(row, place) };
    let differences = pairs.sinks.differences::<I>(source);
    let (s2, r2) = pairs.sinks.squares::<I>(differences[0], source);
    let mut inverse = s2.inverse_sqrt();
    // SAFETY: as above.
    let index = unsafe { pairs.index(place) };
    let differ = (GUARD == guard::INDEX).then(|| L::differ(index, pairs.own_index));
    if GUARD >= guard::DISTANCE {
        let counts = match differ {
            Some(differ) => L::both(differ, s2.positive()),
            None => s2.positive(),
        };
        inverse = inverse.keep(counts);
    }
    let mass = source(0);
    if I::REGULAR {
        let is_neighbour = pairs.sinks.criterion.is_neighbour(differences[0], r2, differences[1], mass);
        inverse = L::select(is_neighbour, zero, inverse);
    }
    let factors = I::factors(&differences, inverse, mass);
    sums.potential = sums.potential - factors[0];
    for k in 0..3 {
        I::add(differences.map(|difference| difference[k]), factors, &mut sums.components[k]);
    }
    if I::NEAREST {
        nearest.update(r2, index, differ);
    }
}

/// The rows of [`Scratch`]: distances; squared distances, and later their roots; factors, and
/// before them squared distances without softening.
const ROOT: usize = 3;
const FACTORS: usize = ROOT + 1;

/// The numbers that the loops over the steps of a block hand on.
///
/// The sums and the nearest sources are here, and not in variables, so that only the loops that
/// change them hold them in registers.
struct Scratch<L: Lanes> {
    rows: [[MaybeUninit<L>; BLOCK]; FACTORS + MAX_FACTORS - 1],
    sums: PairSums<L>,
    nearest: NearestLanes<L>,
}

impl<L: Lanes> Scratch<L> {
    #[inline(always)]
    fn new(nearest: NearestLanes<L>) -> Scratch<L> {
        Scratch {
            rows: [const { [const { MaybeUninit::uninit() }; BLOCK] }; FACTORS + MAX_FACTORS - 1],
            sums: PairSums::zero(),
            nearest,
        }
    }

    #[inline(always)]
    fn write(&mut self, row: usize, step: usize, value: L) {
        self.rows[row][step].write(value);
    }

    /// Returns what was written.
    ///
    /// # Safety
    /// Something was written to this row for this step.
    #[inline(always)]
    unsafe fn read(&self, row: usize, step: usize) -> L {
        // SAFETY: the caller's promise.
        unsafe { self.rows[row][step].assume_init() }
    }
}

/// A block of up to [`BLOCK`] steps, with what the loops over them share.
struct Steps<'a, L: Lanes, const LIMBS: usize, const SOURCES_IN_LANES: bool, const GUARD: u8> {
    pairs: &'a Pairs<'a, L, LIMBS, SOURCES_IN_LANES>,
    place: usize,
    count: usize,
}

// Iterators and copies of slices in the place of these loops leave numbers in memory.
#[allow(clippy::manual_memcpy, clippy::needless_range_loop)]
impl<L: Lanes, const LIMBS: usize, const SOURCES_IN_LANES: bool, const GUARD: u8>
    Steps<'_, L, LIMBS, SOURCES_IN_LANES, GUARD>
{
    /// The steps and their first sources.
    #[inline(always)]
    fn each(&self) -> impl Iterator<Item = (usize, usize)> + use<L, LIMBS, SOURCES_IN_LANES, GUARD> {
        let (first, stride) = (self.place, self.pairs.stride());
        (0..self.count).map(move |step| (step, first + step * stride))
    }

    #[inline(always)]
    fn source(&self, row: usize, place: usize) -> L {
        // SAFETY: `tile` takes places below `count` in steps of the stride.
        unsafe { self.pairs.source(row, place) }
    }

    #[inline(always)]
    fn difference(&self, vector: usize, k: usize, place: usize) -> L {
        self.pairs.sinks.difference(vector, k, |row| self.source(row, place))
    }

    #[inline(always)]
    fn differ(&self, place: usize) -> Option<L::Mask> {
        // SAFETY: as in `source`.
        (GUARD == guard::INDEX).then(|| L::differ(unsafe { self.pairs.index(place) }, self.pairs.own_index))
    }

    /// Whether distances are stored. Only in order 2, and with one limb, is a distance made anew
    /// sooner than it is stored.
    #[inline(always)]
    fn keeps_distance<I: PairLaw>(&self) -> bool {
        LIMBS == 2 || I::N_DERIVATIVES > 1
    }

    #[inline(always)]
    fn distance<I: PairLaw>(&self, scratch: &Scratch<L>, k: usize, step: usize, place: usize) -> L {
        if self.keeps_distance::<I>() {
            // SAFETY: the loop over squares has written it.
            unsafe { scratch.read(k, step) }
        } else {
            self.difference(0, k, place)
        }
    }

    /// Stores squared distances, and returns the least of them.
    #[inline(always)]
    fn squares<I: PairLaw>(&self, scratch: &mut Scratch<L>) -> L {
        let infinity = L::splat(L::Element::INFINITY);
        let mut least = infinity;
        for (step, place) in self.each() {
            let r = [0, 1, 2].map(|k| self.difference(0, k, place));
            let (mut s2, mut r2) = self.pairs.sinks.squares::<I>(r, |row| self.source(row, place));
            if I::REGULAR {
                scratch.write(FACTORS, step, r2);
            }
            if let Some(differ) = self.differ(place) {
                s2 = s2.keep(differ);
                r2 = L::select(differ, r2, infinity);
            }
            if I::NEAREST {
                least = r2.min(least);
            }
            if self.keeps_distance::<I>() {
                for k in 0..3 {
                    scratch.write(k, step, r[k]);
                }
            }
            scratch.write(ROOT, step, s2);
        }
        least
    }

    /// Looks for the nearest source.
    #[inline(always)]
    fn find_nearest<I: PairLaw>(&self, scratch: &mut Scratch<L>) {
        for (step, place) in self.each() {
            let r = [0, 1, 2].map(|k| self.distance::<I>(scratch, k, step, place));
            let (_, r2) = self.pairs.sinks.squares::<I>(r, |row| self.source(row, place));
            // SAFETY: as in `source`.
            scratch.nearest.update(r2, unsafe { self.pairs.index(place) }, self.differ(place));
        }
    }

    /// Replaces squared distances by their inverse roots.
    #[inline(always)]
    fn roots(&self, scratch: &mut Scratch<L>) {
        for step in 0..self.count {
            // SAFETY: the loop over squares has written it.
            let s2 = unsafe { scratch.read(ROOT, step) };
            let mut inverse = s2.inverse_sqrt();
            if GUARD >= guard::DISTANCE {
                inverse = inverse.keep(s2.positive());
            }
            scratch.write(ROOT, step, inverse);
        }
    }

    /// Adds a pair to the sums of a component.
    #[inline(always)]
    fn add<I: PairLaw>(
        &self,
        k: usize,
        r: L,
        factors: [L; MAX_FACTORS],
        place: usize,
        sums: &mut [L; MAX_DERIVATIVES],
    ) {
        let mut difference = [r; MAX_DERIVATIVES];
        for vector in 1..I::N_DERIVATIVES {
            difference[vector] = self.difference(vector, k, place);
        }
        I::add(difference, factors, sums);
    }

    /// Stores factors, and sums the potential. In order 2 they are so few that the same loop makes
    /// the other sums.
    #[inline(always)]
    fn factors<I: PairLaw>(&self, scratch: &mut Scratch<L>) {
        let zero = L::splat(L::Element::from_f64(0.0));
        let at_once = I::N_DERIVATIVES == 1;
        let mut potential = scratch.sums.potential;
        let mut components = if at_once { scratch.sums.components } else { [[zero; MAX_DERIVATIVES]; 3] };
        for (step, place) in self.each() {
            let r = [0, 1, 2].map(|k| self.distance::<I>(scratch, k, step, place));
            let mut differences = [r; MAX_DERIVATIVES];
            for vector in 1..I::N_DERIVATIVES {
                differences[vector] = [0, 1, 2].map(|k| self.difference(vector, k, place));
            }
            // SAFETY: `roots` has written it.
            let mut inverse = unsafe { scratch.read(ROOT, step) };
            let mass = self.source(0, place);
            if I::REGULAR {
                // SAFETY: `squares` has written it.
                let r2 = unsafe { scratch.read(FACTORS, step) };
                let is_neighbour = self.pairs.sinks.criterion.is_neighbour(r, r2, differences[1], mass);
                inverse = L::select(is_neighbour, zero, inverse);
            }
            let factors = I::factors(&differences, inverse, mass);
            potential = potential - factors[0];
            if at_once {
                for k in 0..3 {
                    self.add::<I>(k, r[k], factors, place, &mut components[k]);
                }
            } else {
                for factor in 1..I::N_FACTORS {
                    scratch.write(FACTORS + factor - 1, step, factors[factor]);
                }
            }
        }
        scratch.sums.potential = potential;
        if at_once {
            scratch.sums.components = components;
        }
    }

    /// Makes the sums of components by the factors. In order 8 those of one component and its
    /// factors fill the registers.
    #[inline(always)]
    fn sums<I: PairLaw>(&self, scratch: &mut Scratch<L>) {
        let zero = L::splat(L::Element::from_f64(0.0));
        let together = if I::N_DERIVATIVES > 3 { 1 } else { 3 };
        for first in (0..3).step_by(together) {
            let mut components = [[zero; MAX_DERIVATIVES]; 3];
            for k in first..first + together {
                components[k] = scratch.sums.components[k];
            }
            for (step, place) in self.each() {
                let mut factors = [zero; MAX_FACTORS];
                for factor in 1..I::N_FACTORS {
                    // SAFETY: the loop over factors has written it.
                    factors[factor] = unsafe { scratch.read(FACTORS + factor - 1, step) };
                }
                let r = [0, 1, 2].map(|k| self.distance::<I>(scratch, k, step, place));
                for k in first..first + together {
                    self.add::<I>(k, r[k], factors, place, &mut components[k]);
                }
            }
            for k in first..first + together {
                scratch.sums.components[k] = components[k];
            }
        }
    }
}

/// Adds the sources of up to [`BLOCK`] steps, in one loop over the steps for each part of the work.
#[inline(always)]
fn block<I: PairLaw, L: Lanes, const LIMBS: usize, const SOURCES_IN_LANES: bool, const GUARD: u8>(
    pairs: &Pairs<'_, L, LIMBS, SOURCES_IN_LANES>,
    place: usize,
    end: usize,
    scratch: &mut Scratch<L>,
) {
    let count = (end - place).div_ceil(pairs.stride()).min(BLOCK);
    let steps = Steps::<L, LIMBS, SOURCES_IN_LANES, GUARD> { pairs, place, count };
    let least = steps.squares::<I>(scratch);
    // The nearest source is looked for in the few blocks that may have it.
    if I::NEAREST && scratch.nearest.may_be_at(least) {
        steps.find_nearest::<I>(scratch);
    }
    steps.roots(scratch);
    steps.factors::<I>(scratch);
    if I::N_DERIVATIVES > 1 {
        steps.sums::<I>(scratch);
    }
}
