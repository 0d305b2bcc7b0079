//! The work on the cells of a tree for an order of expansions: tests, moments, far sums, local
//! expansions, compiled for each instruction set.
//!
//! Vectors stay out of closures, which do not have the instruction set of the function around them
//! where the compiler leaves them as functions.
#![allow(clippy::needless_range_loop)]

mod cells;
mod tensors;

use std::marker::PhantomData;

use super::baseline;
use super::tile::Tile;
use crate::lanes::{Element, Lanes, MAX_LANES};
use crate::softened_expansion::{POWERS, terms};
use cells::{add_coarse, add_far, test};
use kyoho_core::Level;
use tensors::{gather, moments_of_bodies, moments_of_children, shift, values};

/// The most children of a cell.
pub const MAX_CHILDREN: usize = 8;

/// The numbers of a cell of sources that a test reads, in the units of the tree.
#[repr(C, align(16))]
#[derive(Debug, Clone, Copy, Default)]
pub struct CellRecord<E> {
    /// The centre, rounded to a number.
    pub center: [E; 3],
    /// The sum of the masses' magnitudes.
    pub mass: E,
    /// The rest of the centre.
    pub center_low: [E; 3],
    /// The radius of a sphere around the centre that holds the bodies, and the root of `spread`;
    /// infinite for a cell whose expansion is never used.
    pub radius: E,
    /// The radius `rho` of the criterion by error, or `l / theta + |c|` of that by angle.
    pub reach: E,
    /// The radius, or -1 for a leaf, which cannot be opened.
    pub opening: E,
    /// Half of the mean squared softening of its bodies, weighted by `|m|`, where each has its own;
    /// otherwise 0.
    pub softening2: E,
    /// The largest difference of half of a squared softening from that.
    pub spread: E,
}

/// The numbers of a cell of sinks that a test reads, in the units of the tree.
#[derive(Debug, Clone, Copy)]
pub struct SinkCell<E> {
    /// The centre, rounded to a number.
    pub center: [E; 3],
    /// The rest of the centre.
    pub center_low: [E; 3],
    /// The radius of a sphere around the centre that holds the sinks, and the root of `spread`;
    /// infinite for a cell that has no expansion.
    pub radius: E,
    /// The radius over the most times that the error of a smaller cell of sources counts.
    pub least_part: E,
    /// The tolerance times the least acceleration.
    pub bound: E,
    /// Cells of sources whose `opening` is at least this are opened where they are not accepted.
    pub opens: E,
    /// The half of a squared softening around which those of its bodies are, where each has its own;
    /// otherwise 0.
    pub softening2: E,
    /// The largest difference of half of a squared softening from that.
    pub spread: E,
}

/// What the tests of a call have in common.
#[derive(Debug, Clone, Copy)]
pub struct Tests<E> {
    /// The squared softening of all pairs; 0 where each body has its own.
    pub softening2: E,
    /// The largest sum of the spreads of two cells over their squared distance, where each body has its
    /// own softening.
    pub most_spread: E,
    /// The square of the largest sum of two radii over the distance.
    pub cut2: E,
    /// The least squared distance at which derivatives are in the range of the numbers.
    pub least2: E,
    /// The largest one, but for cells the fourth power of whose sum of radii is below `far_sum4` times
    /// the squared distance.
    pub most2: E,
    /// See `most2`.
    pub far_sum4: E,
    /// Whether the criterion is that by angle.
    pub by_angle: bool,
}

/// The cells that a test has sorted out. Each list has room for all that are tested and
/// `MAX_LANES` more.
pub struct Sorted<'a> {
    /// Cells whose expansions are accepted.
    pub accepted: &'a mut [u32],
    /// Cells to be opened.
    pub opened: &'a mut [u32],
    /// Cells that are left to the children of the cell of sinks, or to direct sums.
    pub kept: &'a mut [u32],
}

/// A coarse field: the acceleration and its derivatives (xx, xy, xz, yy, yz, zz).
#[derive(Debug, Clone, Copy, Default)]
pub struct Field {
    /// The acceleration.
    pub acceleration: [f64; 3],
    /// Its derivatives.
    pub tide: [f64; 6],
}

impl Field {
    /// Returns the sizes of the acceleration and of its derivatives.
    pub fn sizes(&self) -> [f64; 2] {
        let [x, y, z] = self.acceleration;
        let [xx, xy, xz, yy, yz, zz] = self.tide;
        let tide2 = xx * xx + yy * yy + zz * zz + 2.0 * (xy * xy + xz * xz + yz * yz);
        [(x * x + y * y + z * z).sqrt(), tide2.sqrt()]
    }

    /// Returns the field at another point.
    pub fn shifted(&self, from: [f64; 3], to: [f64; 3]) -> Field {
        let [x, y, z] = std::array::from_fn(|k| to[k] - from[k]);
        let [xx, xy, xz, yy, yz, zz] = self.tide;
        let by_tide = [xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z];
        Field { acceleration: std::array::from_fn(|k| self.acceleration[k] + by_tide[k]), tide: self.tide }
    }
}

/// What expansions carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Moments of the first order count as zero.
    Plain,
    /// All moments.
    WithDipoles,
    /// All moments; each cell has a softening of its own.
    Softened,
}

/// The work on cells at an order of expansions, in numbers of one precision.
pub trait Expansions<E: Element>: Send + Sync {
    /// Returns the number of moments of a cell, filled up to a multiple of four.
    fn stride(&self) -> usize;
    /// Returns the order.
    fn order(&self) -> usize;
    /// Sorts out cells of sources for a cell of sinks. Returns how many are in each list.
    fn test(
        &self,
        records: &[CellRecord<E>],
        list: &[u32],
        sink: &SinkCell<E>,
        tests: &Tests<E>,
        sorted: Sorted,
    ) -> [usize; 3];
    /// Sorts out cells of sources for a cell of sinks by `cut2` alone, and adds those that are
    /// accepted to a coarse field as points. Where the cell of sinks has no children (`opens` is
    /// zero or less), leaves are added as points too. Returns how many are opened and kept.
    fn add_coarse(
        &self,
        records: &[CellRecord<E>],
        list: &[u32],
        sink: &SinkCell<E>,
        tests: &Tests<E>,
        lists: [&mut [u32]; 2],
        field: &mut Field,
    ) -> [usize; 2];
    /// Adds the moments of some cells to the local expansion of a cell of sinks. `moments` has a
    /// row of zeros behind those of all cells.
    fn add_far(
        &self,
        records: &[CellRecord<E>],
        moments: &[E],
        list: &[u32],
        sink: &SinkCell<E>,
        softening2: E,
        local: &mut [E],
    );
    /// Puts `some` bodies, from a place on so many of them, at their distances from a centre, into
    /// a tile that has `filled` sources. Coordinates and masses have `MAX_LANES` numbers behind
    /// those of the bodies, and the tile has as many places.
    fn gather(
        &self,
        bodies: [&[f64]; 4],
        some: (usize, usize),
        center: [f64; 3],
        limbs: usize,
        tile: (&mut Tile<E>, usize),
    );
    /// Makes the moments of bodies at these distances from a centre, the last of which are those of
    /// half of the squared softening, where each body has its own. Each row has as many numbers, a
    /// multiple of `MAX_LANES`.
    fn moments_of_bodies(&self, masses: &[E], y: [&[E]; 4], moments: &mut [E]);
    /// Makes the moments of a cell from those of its children, `up` to `MAX_CHILDREN` of them, to
    /// whose centres that of the cell has these distances.
    fn moments_of_children(&self, children: &[E], shifts: &[[E; MAX_LANES]; 4], count: usize, moments: &mut [E]);
    /// Shifts a local expansion to the centres of children, which get as many numbers each.
    fn shift(&self, local: &[E], shifts: &[[E; MAX_LANES]; 4], count: usize, of_children: &mut [E]);
    /// Makes the potentials, with their sign turned, and accelerations at these distances from the
    /// centre, the last of which are those of half of the squared softening, where each body has its
    /// own. Each row has as many numbers, a multiple of `MAX_LANES`.
    fn values(&self, local: &[E], x: [&[E]; 4], values: [&mut [E]; 4]);
}

/// The expansions of an order at a level: with moments of the first order, and with softenings of
/// bodies.
struct Bound<L, const ORDER: usize, const DIPOLE: bool, const SOFTENED: bool, V> {
    vectors: PhantomData<fn() -> L>,
    level: PhantomData<V>,
}

macro_rules! level {
    ($module:ident, $f32:ty, $f64:ty $(, $features:literal)?) => {
        mod $module {
            use super::*;

            /// The level as a type.
            pub struct This;

            $(#[target_feature(enable = $features)])?
            unsafe fn test_cells<L: Lanes, const ORDER: usize, const SOFTENED: bool>(
                records: &[CellRecord<L::Element>], list: &[u32], sink: &SinkCell<L::Element>, tests: &Tests<L::Element>, sorted: Sorted,
            ) -> [usize; 3] {
                test::<L, ORDER, SOFTENED>(records, list, sink, tests, sorted)
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn add_coarse_cells<L: Lanes, const SOFTENED: bool>(
                records: &[CellRecord<L::Element>], list: &[u32], sink: &SinkCell<L::Element>, tests: &Tests<L::Element>,
                lists: [&mut [u32]; 2], field: &mut Field,
            ) -> [usize; 2] {
                add_coarse::<L, SOFTENED>(records, list, sink, tests, lists, field)
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn add_far_cells<L: Lanes, const ORDER: usize, const DIPOLE: bool, const SOFTENED: bool>(
                records: &[CellRecord<L::Element>], moments: &[L::Element], list: &[u32], sink: &SinkCell<L::Element>,
                softening2: L::Element, local: &mut [L::Element],
            ) {
                if SOFTENED {
                    add_far::<L, ORDER, DIPOLE, POWERS>(records, moments, list, sink, softening2, local);
                } else {
                    add_far::<L, ORDER, DIPOLE, 1>(records, moments, list, sink, softening2, local);
                }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn gather_bodies<E: Element>(
                bodies: [&[f64]; 4], some: (usize, usize), center: [f64; 3], limbs: usize, tile: (&mut Tile<E>, usize),
            ) {
                gather::<$f64, E>(bodies, some, center, limbs, tile);
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn make_moments_of_bodies<L: Lanes, const ORDER: usize, const SOFTENED: bool>(
                masses: &[L::Element], y: [&[L::Element]; 4], moments: &mut [L::Element],
            ) {
                if SOFTENED {
                    moments_of_bodies::<L, ORDER, POWERS>(masses, y, moments);
                } else {
                    moments_of_bodies::<L, ORDER, 1>(masses, y, moments);
                }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn make_moments_of_children<L: Lanes, const ORDER: usize, const SOFTENED: bool>(
                children: &[L::Element], shifts: &[[L::Element; MAX_LANES]; 4], count: usize, moments: &mut [L::Element],
            ) {
                if SOFTENED {
                    moments_of_children::<L, ORDER, POWERS>(children, shifts, count, moments);
                } else {
                    moments_of_children::<L, ORDER, 1>(children, shifts, count, moments);
                }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn shift_to_children<L: Lanes, const ORDER: usize, const SOFTENED: bool>(
                local: &[L::Element], shifts: &[[L::Element; MAX_LANES]; 4], count: usize, of_children: &mut [L::Element],
            ) {
                if SOFTENED {
                    shift::<L, ORDER, POWERS>(local, shifts, count, of_children);
                } else {
                    shift::<L, ORDER, 1>(local, shifts, count, of_children);
                }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn make_values<L: Lanes, const ORDER: usize, const SOFTENED: bool>(
                local: &[L::Element], x: [&[L::Element]; 4], to: [&mut [L::Element]; 4],
            ) {
                if SOFTENED {
                    values::<L, ORDER, POWERS>(local, x, to);
                } else {
                    values::<L, ORDER, 1>(local, x, to);
                }
            }

            // SAFETY of all calls below: `expansions_32` and `expansions_64` hand out this object
            // only where the CPU has the level.
            impl<L: Lanes, const ORDER: usize, const DIPOLE: bool, const SOFTENED: bool> Expansions<L::Element>
                for Bound<L, ORDER, DIPOLE, SOFTENED, This>
            {
                fn stride(&self) -> usize {
                    terms(ORDER, SOFTENED).next_multiple_of(4)
                }
                fn order(&self) -> usize {
                    ORDER
                }
                fn test(
                    &self, records: &[CellRecord<L::Element>], list: &[u32], sink: &SinkCell<L::Element>,
                    tests: &Tests<L::Element>, sorted: Sorted,
                ) -> [usize; 3] {
                    // SAFETY: the CPU has the level.
                    unsafe { test_cells::<L, ORDER, SOFTENED>(records, list, sink, tests, sorted) }
                }
                fn add_coarse(
                    &self, records: &[CellRecord<L::Element>], list: &[u32], sink: &SinkCell<L::Element>,
                    tests: &Tests<L::Element>, lists: [&mut [u32]; 2], field: &mut Field,
                ) -> [usize; 2] {
                    // SAFETY: the CPU has the level.
                    unsafe { add_coarse_cells::<L, SOFTENED>(records, list, sink, tests, lists, field) }
                }
                fn add_far(
                    &self, records: &[CellRecord<L::Element>], moments: &[L::Element], list: &[u32],
                    sink: &SinkCell<L::Element>, softening2: L::Element, local: &mut [L::Element],
                ) {
                    // SAFETY: the CPU has the level.
                    unsafe { add_far_cells::<L, ORDER, DIPOLE, SOFTENED>(records, moments, list, sink, softening2, local) }
                }
                fn gather(
                    &self, bodies: [&[f64]; 4], some: (usize, usize), center: [f64; 3], limbs: usize,
                    tile: (&mut Tile<L::Element>, usize),
                ) {
                    // SAFETY: the CPU has the level.
                    unsafe { gather_bodies::<L::Element>(bodies, some, center, limbs, tile) }
                }
                fn moments_of_bodies(&self, masses: &[L::Element], y: [&[L::Element]; 4], moments: &mut [L::Element]) {
                    // SAFETY: the CPU has the level.
                    unsafe { make_moments_of_bodies::<L, ORDER, SOFTENED>(masses, y, moments) }
                }
                fn moments_of_children(
                    &self, children: &[L::Element], shifts: &[[L::Element; MAX_LANES]; 4], count: usize, moments: &mut [L::Element],
                ) {
                    // SAFETY: the CPU has the level.
                    unsafe { make_moments_of_children::<L, ORDER, SOFTENED>(children, shifts, count, moments) }
                }
                fn shift(
                    &self, local: &[L::Element], shifts: &[[L::Element; MAX_LANES]; 4], count: usize, of_children: &mut [L::Element],
                ) {
                    // SAFETY: the CPU has the level.
                    unsafe { shift_to_children::<L, ORDER, SOFTENED>(local, shifts, count, of_children) }
                }
                fn values(&self, local: &[L::Element], x: [&[L::Element]; 4], values: [&mut [L::Element]; 4]) {
                    // SAFETY: the CPU has the level.
                    unsafe { make_values::<L, ORDER, SOFTENED>(local, x, values) }
                }
            }

            fn bind<L: Lanes + 'static, const DIPOLE: bool, const SOFTENED: bool>(order: usize) -> Box<dyn Expansions<L::Element>> {
                macro_rules! of_order {
                    ($order:literal) => {
                        Box::new(Bound::<L, $order, DIPOLE, SOFTENED, This> { vectors: PhantomData, level: PhantomData })
                    };
                }
                match order {
                    2 => of_order!(2),
                    3 => of_order!(3),
                    4 => of_order!(4),
                    5 => of_order!(5),
                    _ => of_order!(6),
                }
            }

            pub fn expansions_32(order: usize, kind: Kind) -> Box<dyn Expansions<f32>> {
                match kind {
                    Kind::Plain => bind::<$f32, false, false>(order),
                    Kind::WithDipoles => bind::<$f32, true, false>(order),
                    Kind::Softened => bind::<$f32, true, true>(order),
                }
            }

            pub fn expansions_64(order: usize, kind: Kind) -> Box<dyn Expansions<f64>> {
                match kind {
                    Kind::Plain => bind::<$f64, false, false>(order),
                    Kind::WithDipoles => bind::<$f64, true, false>(order),
                    Kind::Softened => bind::<$f64, true, true>(order),
                }
            }
        }
    };
}

level!(portable, baseline::F32, baseline::F64);
#[cfg(target_arch = "x86_64")]
level!(avx2, super::super::avx2::F32, super::super::avx2::F64, "avx2,fma");
#[cfg(target_arch = "x86_64")]
level!(avx512, super::super::avx512::F32, super::super::avx512::F64, "avx2,fma,avx512f,avx512dq,avx512vl");

/// The numbers that far sums are made in.
pub trait Number: Element + Default {
    /// Returns the expansions of an order, up to the highest. In the place of a level that the CPU
    /// lacks the portable one is taken.
    fn expansions(level: Level, order: usize, kind: Kind) -> Box<dyn Expansions<Self>>;
}

macro_rules! numbers {
    ($element:ty, $function:ident) => {
        impl Number for $element {
            fn expansions(level: Level, order: usize, kind: Kind) -> Box<dyn Expansions<Self>> {
                match level {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 if Level::Avx512.is_available() => avx512::$function(order, kind),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 if Level::Avx2.is_available() => avx2::$function(order, kind),
                    _ => portable::$function(order, kind),
                }
            }
        }
    };
}

numbers!(f32, expansions_32);
numbers!(f64, expansions_64);
