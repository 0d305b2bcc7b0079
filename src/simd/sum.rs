//! The loop of a group of sinks over a tile of sources.

use crate::data::{CHUNK, MAX_DERIVATIVES};
use crate::law::lanes::{Element, Lanes, MAX_LANES};
use crate::law::pair::{MAX_OUTPUTS, PairLaw};
use crate::law::regular::{Criterion, squared};

use super::tile::{Group, LaneSums, Tile, VECTORS_ROW, criterion_row};

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
            std::array::from_fn(|k| lanes(criterion_row(LIMBS, I::N_DERIVATIVES) + k))
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
        for k in 0..3 {
            let mut r = source(VECTORS_ROW + k) - self.position[0][k];
            if LIMBS == 2 {
                r = r + (source(VECTORS_ROW + 3 + k) - self.position[1][k]);
            }
            differences[0][k] = r;
        }
        for vector in 1..I::N_DERIVATIVES {
            for k in 0..3 {
                differences[vector][k] = source(VECTORS_ROW + 3 * (LIMBS - 1 + vector) + k) - self.higher[vector][k];
            }
        }
        differences
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
    let sources = tile.rows();
    let rows = VECTORS_ROW + 3 * (LIMBS - 1 + I::N_DERIVATIVES);
    assert!(sources.len() >= rows * CHUNK && tile.count <= CHUNK && sink < MAX_LANES);
    let source = |row: usize, place: usize| -> L {
        // SAFETY: rows have CHUNK numbers each, `place` is below `count` and, where lanes are
        // loaded, a multiple of COUNT, which divides CHUNK; the assertion above covers the rows.
        unsafe {
            let from = sources.as_ptr().add(row * CHUNK + place);
            if SOURCES_IN_LANES { L::load(from) } else { L::splat(*from) }
        }
    };
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
    let zero = L::splat(L::Element::from_f64(0.0));
    let sinks = LaneSinks::<L, LIMBS>::new::<I>(lanes);
    let softening2 = sinks.softening2;

    // SAFETY: LaneSums has MAX_LANES numbers a row.
    let mut distance2 = unsafe { L::load(sums.distance2.as_ptr()) };
    // SAFETY: as above.
    let mut nearest = unsafe { L::index_load(sums.nearest.as_ptr()) };

    let stride = if SOURCES_IN_LANES { L::COUNT } else { 1 };
    let steps = if size_of::<L::Element>() == 4 { STEPS_32 } else { CHUNK };
    let mut place = 0;
    while place < tile.count {
        let end = tile.count.min(place + steps * stride);
        let mut partial_sums = [zero; MAX_OUTPUTS];
        while place < end {
            let differences = sinks.differences::<I>(|row| source(row, place));
            let [x, y, z] = differences[0];
            let (s2, r2) = if I::NEAREST {
                let xy2 = y.mul_add(y, x * x);
                (xy2 + z.mul_add(z, softening2), z.mul_add(z, xy2))
            } else if I::REGULAR {
                let r2 = squared(differences[0]);
                (r2 + softening2, r2)
            } else {
                (z.mul_add(z, y.mul_add(y, x.mul_add(x, softening2))), zero)
            };
            let mut inverse = s2.inverse_sqrt();
            // SAFETY: a tile has CHUNK indices; places as above.
            let index = unsafe {
                let from = tile.indices().as_ptr().add(place);
                if SOURCES_IN_LANES { L::index_load(from) } else { L::index_splat(*from) }
            };
            let differ = (GUARD == guard::INDEX).then(|| L::differ(index, own_index));
            if GUARD >= guard::DISTANCE {
                let counts = match differ {
                    Some(differ) => L::both(differ, s2.positive()),
                    None => s2.positive(),
                };
                inverse = inverse.keep(counts);
            }
            let mass = source(0, place);
            if I::REGULAR {
                let is_neighbour = sinks.criterion.is_neighbour(differences[0], r2, differences[1], mass);
                inverse = L::select(is_neighbour, zero, inverse);
            }
            I::add(&differences, inverse, mass, &mut partial_sums);
            if I::NEAREST {
                let mut nearer = r2.less(distance2);
                if let Some(differ) = differ {
                    nearer = L::both(nearer, differ);
                }
                distance2 = L::select(nearer, r2, distance2);
                nearest = L::index_select(nearer, index, nearest);
            }
            place += stride;
        }
        for (sum, partial) in sums.values.iter_mut().zip(partial_sums).take(I::N_OUTPUTS) {
            // SAFETY: LaneSums has MAX_LANES numbers a row.
            unsafe { partial.add_to(sum.as_mut_ptr()) };
        }
    }

    if I::NEAREST {
        // SAFETY: both have MAX_LANES numbers.
        unsafe {
            distance2.store(sums.distance2.as_mut_ptr());
            L::index_store(nearest, sums.nearest.as_mut_ptr());
        }
    }
}
