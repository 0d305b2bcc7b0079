//! The work on the cells of a tree for an order of expansions: tests, moments, far sums, local
//! expansions, compiled for each instruction set.
//!
//! Vectors stay out of closures, which do not have the instruction set of the function around them
//! where the compiler leaves them as functions.
#![allow(clippy::needless_range_loop)]

use std::marker::PhantomData;

use super::portable::{Array, LANES_32, LANES_64};
use super::tile::{Tile, VECTORS_ROW};
use crate::expansion::{
    MAX_COMPONENTS, Tensors, add_products, add_source, derivatives_at, shift_local, shift_moments, values_at,
};
use crate::indices::{components, factorial, powers};
use crate::lanes::{Element, Lanes, MAX_LANES, Wide};
use kyoho_core::CHUNK;
use kyoho_core::Level;

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
    /// The radius of a sphere around the centre that holds the bodies; infinite for a cell whose
    /// expansion is never used.
    pub radius: E,
    /// The radius `rho` of the criterion by error, or `l / theta + |c|` of that by angle.
    pub reach: E,
    /// The radius, or -1 for a leaf, which cannot be opened.
    pub opening: E,
    /// 0; they fill the record.
    pub reserved: [E; 2],
}

/// The numbers of a cell of sinks that a test reads, in the units of the tree.
#[derive(Debug, Clone, Copy)]
pub struct SinkCell<E> {
    /// The centre, rounded to a number.
    pub center: [E; 3],
    /// The rest of the centre.
    pub center_low: [E; 3],
    /// The radius of a sphere around the centre that holds the sinks; infinite for a cell that has
    /// no expansion.
    pub radius: E,
    /// The radius over the most times that the error of a smaller cell of sources counts.
    pub least_part: E,
    /// The tolerance times the least acceleration.
    pub bound: E,
    /// Cells of sources whose `opening` is at least this are opened where they are not accepted.
    pub opens: E,
}

/// What the tests of a call have in common.
#[derive(Debug, Clone, Copy)]
pub struct Tests<E> {
    /// The squared softening.
    pub softening2: E,
    /// The square of the largest sum of two radii over the distance.
    pub cut2: E,
    /// The least squared distance at which derivatives are in the range of the numbers.
    pub least2: E,
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
        local: &mut [E; MAX_COMPONENTS],
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
    /// Makes the moments of bodies at these distances from a centre. Each row has as many numbers,
    /// a multiple of `MAX_LANES`.
    fn moments_of_bodies(&self, masses: &[E], y: [&[E]; 3], moments: &mut [E]);
    /// Makes the moments of a cell from those of its children, `up` to `MAX_CHILDREN` of them, to
    /// whose centres that of the cell has these distances.
    fn moments_of_children(&self, children: &[E], shifts: &[[E; MAX_LANES]; 3], count: usize, moments: &mut [E]);
    /// Shifts a local expansion to the centres of children.
    fn shift(
        &self,
        local: &[E; MAX_COMPONENTS],
        shifts: &[[E; MAX_LANES]; 3],
        count: usize,
        of_children: &mut [[E; MAX_COMPONENTS]],
    );
    /// Makes the potentials, with their sign turned, and accelerations at these distances from the
    /// centre. Each row has as many numbers, a multiple of `MAX_LANES`.
    fn values(&self, local: &[E; MAX_COMPONENTS], x: [&[E]; 3], values: [&mut [E]; 4]);
}

#[inline(always)]
fn number<L: Lanes>(value: f64) -> L {
    L::splat(L::Element::from_f64(value))
}

/// Returns a count as a number.
#[inline(always)]
fn count_of<L: Lanes>(count: usize) -> L::Element {
    L::Element::from_f64(count as f64)
}

/// Returns the sum of the lanes.
#[inline(always)]
fn total<L: Lanes>(lanes: L) -> f64 {
    let mut numbers = [L::Element::from_f64(0.0); MAX_LANES];
    // SAFETY: there are MAX_LANES numbers.
    unsafe { lanes.store(numbers.as_mut_ptr()) };
    let mut sums: [f64; MAX_LANES] = numbers.map(Element::to_f64);
    let mut half = L::COUNT / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}

/// Some cells of a list in lanes. Lanes without a cell repeat the last one.
struct Rows<E> {
    cells: [u32; MAX_LANES],
    records: [*const E; MAX_LANES],
    count: usize,
}

impl<E: Element> Rows<E> {
    #[inline(always)]
    fn new(all: &[CellRecord<E>], list: &[u32], lanes: usize) -> Rows<E> {
        let count = list.len().min(lanes);
        let mut cells = [0; MAX_LANES];
        let mut records = [std::ptr::null(); MAX_LANES];
        for lane in 0..lanes {
            let cell = list[lane.min(count - 1)];
            cells[lane] = cell;
            records[lane] = std::ptr::from_ref(&all[cell as usize]).cast::<E>();
        }
        Rows { cells, records, count }
    }

    /// Returns four columns of the records, from the column `first` on.
    #[inline(always)]
    fn columns<L: Lanes<Element = E>>(&self, first: usize) -> [L; 4] {
        debug_assert!(first + 4 <= size_of::<CellRecord<E>>() / size_of::<E>());
        let shifted = self.records.map(|record| record.wrapping_add(first));
        // SAFETY: a record is twelve numbers in a row, and `new` has made a pointer for each lane.
        unsafe { L::load_columns(shifted.as_ptr()) }
    }

    /// Appends the cells in the lanes that have a bit to a list, and returns the list's new length.
    #[inline(always)]
    fn append(&self, lanes: usize, bits: u32, to: &mut [u32], mut count: usize) -> usize {
        let room = &mut to[count..count + lanes];
        let start = count;
        for lane in 0..lanes {
            // SAFETY: at most as many were counted as there are lanes before this one.
            unsafe { *room.get_unchecked_mut(count - start) = self.cells[lane] };
            count += (bits >> lane & 1) as usize;
        }
        count
    }
}

/// Returns the distances of the centres of cells of sources from that of a cell of sinks.
#[inline(always)]
fn distances<L: Lanes>(sink: &SinkCell<L::Element>, high: &[L; 4], low: &[L; 4]) -> [L; 3] {
    let mut distances = [high[0]; 3];
    for k in 0..3 {
        distances[k] = (high[k] - L::splat(sink.center[k])) + (low[k] - L::splat(sink.center_low[k]));
    }
    distances
}

/// Loads the numbers from a place on of three rows.
///
/// # Safety
/// Each row has as many numbers from there on as there are lanes.
#[inline(always)]
unsafe fn load_row<L: Lanes>([x, y, z]: [&[L::Element]; 3], first: usize) -> [L; 3] {
    // SAFETY: the caller's promise.
    unsafe { [L::load(x.as_ptr().add(first)), L::load(y.as_ptr().add(first)), L::load(z.as_ptr().add(first))] }
}

#[inline(always)]
fn squared<L: Lanes>([x, y, z]: [L; 3], first: L) -> L {
    z.mul_add(z, y.mul_add(y, x.mul_add(x, first)))
}

#[inline(always)]
fn test<L: Lanes, const ORDER: usize>(
    records: &[CellRecord<L::Element>],
    list: &[u32],
    sink: &SinkCell<L::Element>,
    tests: &Tests<L::Element>,
    sorted: Sorted,
) -> [usize; 3] {
    let [mut accepted, mut opened, mut kept] = [0; 3];
    let (radius, bound, opens) = (L::splat(sink.radius), L::splat(sink.bound), L::splat(sink.opens));
    let least_part = L::splat(sink.least_part);
    for some in list.chunks(L::COUNT) {
        let rows = Rows::new(records, some, L::COUNT);
        let (high, low, rest) = (rows.columns::<L>(0), rows.columns::<L>(4), rows.columns::<L>(8));
        let (mass, its_radius, [reach, opening, ..]) = (high[3], low[3], rest);
        let s2 = squared(distances(sink, &high, &low), L::splat(tests.softening2));
        let sum = its_radius + radius;
        let is_far = L::both((sum * sum).less(s2 * L::splat(tests.cut2)), L::splat(tests.least2).less(s2));
        let bits = if tests.by_angle {
            let d2 = s2 - L::splat(tests.softening2);
            let least = reach + radius;
            L::bits(L::both(is_far, (least * least).less(d2)))
        } else {
            let ratio = (reach + radius) * s2.inverse_sqrt();
            let squared = ratio * ratio;
            let power = match ORDER {
                2 => squared,
                3 => squared * ratio,
                4 => squared * squared,
                5 => squared * squared * ratio,
                _ => squared * squared * squared,
            };
            let larger = L::select(its_radius.less(radius), radius, its_radius);
            // The error of a cell that is smaller than the sink counts `larger / part` times.
            let part = L::select(its_radius.less(least_part), least_part, its_radius);
            let error = (larger * larger * number(8.0)) * (mass * power);
            // Not greater, so that cells without mass or without extent are accepted.
            L::bits(is_far) & !L::bits((bound * (s2 * sum) * part).less(error))
        };
        let all = (1_u32 << rows.count) - 1;
        let opens = L::bits(opening.less(opens)) ^ all;
        accepted = rows.append(L::COUNT, bits & all, sorted.accepted, accepted);
        opened = rows.append(L::COUNT, !bits & opens & all, sorted.opened, opened);
        kept = rows.append(L::COUNT, !bits & !opens & all, sorted.kept, kept);
    }
    [accepted, opened, kept]
}

#[inline(always)]
fn add_coarse<L: Lanes>(
    records: &[CellRecord<L::Element>],
    list: &[u32],
    sink: &SinkCell<L::Element>,
    tests: &Tests<L::Element>,
    [opened_list, kept_list]: [&mut [u32]; 2],
    field: &mut Field,
) -> [usize; 2] {
    let [mut opened, mut kept] = [0; 2];
    let zero = number::<L>(0.0);
    let (radius, opens) = (L::splat(sink.radius), L::splat(sink.opens));
    let takes_leaves = sink.opens.to_f64() <= 0.0;
    let nearest2 = L::Element::from_f64(tests.least2.to_f64() / 1024.0);
    let (mut acceleration, mut tide) = ([zero; 3], [zero; 6]);
    let numbers: [L::Element; MAX_LANES] = std::array::from_fn(count_of::<L>);
    // SAFETY: there are MAX_LANES numbers.
    let lanes = unsafe { L::load(numbers.as_ptr()) };
    for some in list.chunks(L::COUNT) {
        let rows = Rows::new(records, some, L::COUNT);
        let (high, low, rest) = (rows.columns::<L>(0), rows.columns::<L>(4), rows.columns::<L>(8));
        let (mass, its_radius, opening) = (high[3], low[3], rest[1]);
        let r = distances(sink, &high, &low);
        let s2 = squared(r, L::splat(tests.softening2));
        let sum = its_radius + radius;
        let is_far = L::both((sum * sum).less(s2 * L::splat(tests.cut2)), L::splat(tests.least2).less(s2));
        let all = (1_u32 << rows.count) - 1;
        let far = L::bits(is_far);
        let opens = L::bits(opening.less(opens)) ^ all;
        // A leaf that is near is as soft as both cells are large. Sources at almost no distance are
        // left out, that of the sink itself among them.
        let is_apart = L::splat(nearest2).less(s2);
        let s2 = L::select(is_far, s2, squared([its_radius, radius, zero], s2));
        // Radii may be infinite, and the root of infinity is no number.
        let s2 = L::select(is_apart, s2, number(1.0)).min(number(1e30));
        let is_leaf = opening.less(zero);
        let near_leaves = if takes_leaves { mass.keep(is_leaf) } else { zero };
        let counted = L::select(is_far, mass, near_leaves).keep(lanes.less(L::splat(count_of::<L>(rows.count))));
        let inverse = s2.inverse_sqrt();
        let inverse2 = inverse * inverse;
        let weight = (counted * (inverse * inverse2)).keep(is_apart);
        // Near leaves as large as the cell of sinks are noise in the tide.
        let half = radius * number(0.5);
        let counted_in_tide = L::select(is_far, weight, weight.keep(its_radius.less(half)));
        let weight3 = counted_in_tide * (inverse2 * number(3.0));
        for k in 0..3 {
            acceleration[k] = weight.mul_add(r[k], acceleration[k]);
        }
        let scaled = [r[0] * weight3, r[1] * weight3, r[2] * weight3];
        let diagonal = [0, 3, 5];
        let mut place = 0;
        for i in 0..3 {
            for k in i..3 {
                tide[place] = scaled[i].mul_add(r[k], tide[place]);
                if place == diagonal[i] {
                    tide[place] = tide[place] - counted_in_tide;
                }
                place += 1;
            }
        }
        let far = if takes_leaves { far | L::bits(is_leaf) } else { far };
        opened = rows.append(L::COUNT, !far & opens & all, opened_list, opened);
        kept = rows.append(L::COUNT, !far & !opens & all, kept_list, kept);
    }
    for (sum, lanes) in field.acceleration.iter_mut().zip(acceleration) {
        *sum += total(lanes);
    }
    for (sum, lanes) in field.tide.iter_mut().zip(tide) {
        *sum += total(lanes);
    }
    [opened, kept]
}

#[inline(always)]
fn add_far<L: Lanes, const ORDER: usize, const DIPOLE: bool>(
    records: &[CellRecord<L::Element>],
    moments: &[L::Element],
    list: &[u32],
    sink: &SinkCell<L::Element>,
    softening2: L::Element,
    local: &mut [L::Element; MAX_COMPONENTS],
) {
    let zero = number::<L>(0.0);
    let stride = components(ORDER).next_multiple_of(4);
    assert!(moments.len() >= (records.len() + 1) * stride);
    let mut sums: Tensors<L> = [zero; MAX_COMPONENTS];
    for some in list.chunks(L::COUNT) {
        let rows = Rows::new(records, some, L::COUNT);
        let to_source = distances(sink, &rows.columns::<L>(0), &rows.columns::<L>(4));
        let r = [zero - to_source[0], zero - to_source[1], zero - to_source[2]];
        let s2 = squared(r, L::splat(softening2));
        let derivatives = derivatives_at::<L, ORDER>(r, s2.inverse_sqrt());
        let mut row = [std::ptr::null(); MAX_LANES];
        for lane in 0..L::COUNT {
            // Lanes without a cell read the zeros.
            let cell = if lane < rows.count { rows.cells[lane] as usize } else { records.len() };
            row[lane] = moments[cell * stride..].as_ptr();
        }
        let mut of_cells = [zero; MAX_COMPONENTS];
        for first in (0..stride).step_by(4) {
            // SAFETY: each row has `stride` numbers.
            let columns = unsafe { L::load_columns(row.map(|row| row.wrapping_add(first)).as_ptr()) };
            of_cells[first..first + 4].copy_from_slice(&columns);
        }
        add_products::<L, ORDER, DIPOLE>(&of_cells, &derivatives, &mut sums);
    }
    for place in 0..components(ORDER) {
        local[place] = L::Element::from_f64(local[place].to_f64() + total(sums[place]));
    }
}

#[inline(always)]
fn gather<W: Wide, E: Element>(
    bodies: [&[f64]; 4],
    (first, count): (usize, usize),
    center: [f64; 3],
    limbs: usize,
    (tile, filled): (&mut Tile<E>, usize),
) {
    assert!(bodies.iter().all(|column| column.len() >= first + count + MAX_LANES));
    assert!(filled + count + MAX_LANES <= CHUNK);
    let rows = tile.rows_mut();
    assert!(rows.len() >= (VECTORS_ROW + 3 * limbs) * CHUNK);
    let rows = rows.as_mut_ptr();
    let mut place = 0;
    while place < count {
        // SAFETY: the columns and the rows have at least as many numbers behind `count` as there
        // are lanes, as asserted above.
        unsafe {
            let to = rows.add(filled + place);
            E::store_nearest(W::load(bodies[3].as_ptr().add(first + place)), to);
            for k in 0..3 {
                let distance = W::load(bodies[k].as_ptr().add(first + place)) - W::splat(center[k]);
                let rest = E::store_nearest(distance, to.add((VECTORS_ROW + k) * CHUNK));
                if limbs == 2 {
                    E::store_nearest(rest, to.add((VECTORS_ROW + 3 + k) * CHUNK));
                }
            }
        }
        place += W::COUNT;
    }
    for (place, index) in tile.indices_mut()[filled..filled + count].iter_mut().enumerate() {
        *index = (first + place) as i32;
    }
    tile.range = tile.range.with(first as i32).with((first + count) as i32 - 1);
}

#[inline(always)]
fn moments_of_bodies<L: Lanes, const ORDER: usize>(
    masses: &[L::Element],
    [x, y, z]: [&[L::Element]; 3],
    moments: &mut [L::Element],
) {
    let mut sums: Tensors<L> = [number(0.0); MAX_COMPONENTS];
    let count = masses.len();
    assert!(count.is_multiple_of(MAX_LANES) && [x, y, z].iter().all(|row| row.len() == count));
    for first in (0..count).step_by(L::COUNT) {
        // SAFETY: COUNT divides MAX_LANES and so the length of each row.
        let (mass, place) = unsafe { (L::load(masses.as_ptr().add(first)), load_row([x, y, z], first)) };
        add_source::<L, ORDER>(mass, place, &mut sums);
    }
    for place in 0..components(ORDER) {
        moments[place] = L::Element::from_f64(total(sums[place]) / factorial(powers(place)));
    }
}

#[inline(always)]
fn moments_of_children<L: Lanes, const ORDER: usize>(
    children: &[L::Element],
    shifts: &[[L::Element; MAX_LANES]; 3],
    count: usize,
    moments: &mut [L::Element],
) {
    let zero = number::<L>(0.0);
    let stride = components(ORDER).next_multiple_of(4);
    assert!(count <= MAX_CHILDREN && children.len() >= count * stride && moments.len() >= stride);
    let zeros = [L::Element::from_f64(0.0); MAX_COMPONENTS];
    let mut sums: Tensors<L> = [zero; MAX_COMPONENTS];
    for first in (0..count).step_by(L::COUNT) {
        let mut row = [std::ptr::null(); MAX_LANES];
        for lane in 0..L::COUNT {
            let child = first + lane;
            row[lane] = if child < count { children[child * stride..].as_ptr() } else { zeros.as_ptr() };
        }
        let mut of_children = [zero; MAX_COMPONENTS];
        for place in (0..stride).step_by(4) {
            // SAFETY: each row has `stride` numbers.
            let columns = unsafe { L::load_columns(row.map(|row| row.wrapping_add(place)).as_ptr()) };
            of_children[place..place + 4].copy_from_slice(&columns);
        }
        // SAFETY: there are MAX_LANES numbers, of which COUNT divides the number.
        let shift = unsafe { load_row([&shifts[0], &shifts[1], &shifts[2]], first) };
        shift_moments::<L, ORDER>(shift, &mut of_children);
        for place in 0..components(ORDER) {
            sums[place] = sums[place] + of_children[place];
        }
    }
    for place in 0..components(ORDER) {
        moments[place] = L::Element::from_f64(total(sums[place]));
    }
}

#[inline(always)]
fn shift<L: Lanes, const ORDER: usize>(
    local: &[L::Element; MAX_COMPONENTS],
    shifts: &[[L::Element; MAX_LANES]; 3],
    count: usize,
    of_children: &mut [[L::Element; MAX_COMPONENTS]],
) {
    assert!(count <= MAX_CHILDREN && of_children.len() >= count);
    for first in (0..count).step_by(L::COUNT) {
        let mut shifted: Tensors<L> = [number(0.0); MAX_COMPONENTS];
        for place in 0..components(ORDER) {
            shifted[place] = L::splat(local[place]);
        }
        // SAFETY: there are MAX_LANES numbers, of which COUNT divides the number.
        let by = unsafe { load_row([&shifts[0], &shifts[1], &shifts[2]], first) };
        shift_local::<L, ORDER>(by, &mut shifted);
        for place in 0..components(ORDER) {
            let mut numbers = [L::Element::from_f64(0.0); MAX_LANES];
            // SAFETY: there are MAX_LANES numbers.
            unsafe { shifted[place].store(numbers.as_mut_ptr()) };
            for lane in 0..L::COUNT.min(count - first) {
                of_children[first + lane][place] = numbers[lane];
            }
        }
    }
}

#[inline(always)]
fn values<L: Lanes, const ORDER: usize>(
    local: &[L::Element; MAX_COMPONENTS],
    [x, y, z]: [&[L::Element]; 3],
    values: [&mut [L::Element]; 4],
) {
    let count = x.len();
    assert!(count.is_multiple_of(MAX_LANES) && y.len() == count && z.len() == count);
    assert!(values.iter().all(|row| row.len() == count));
    for first in (0..count).step_by(L::COUNT) {
        // SAFETY: COUNT divides MAX_LANES and so the length of each row.
        let place = unsafe { load_row([x, y, z], first) };
        let mut all: Tensors<L> = [number(0.0); MAX_COMPONENTS];
        for place in 0..components(ORDER) {
            all[place] = L::splat(local[place]);
        }
        let found = values_at::<L, ORDER>(place, all);
        for k in 0..4 {
            // SAFETY: as above.
            unsafe { found[k].store(values[k].as_mut_ptr().add(first)) };
        }
    }
}

/// The expansions of an order at a level.
struct Bound<L, const ORDER: usize, const DIPOLE: bool, V> {
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
            unsafe fn test_cells<L: Lanes, const ORDER: usize>(
                records: &[CellRecord<L::Element>], list: &[u32], sink: &SinkCell<L::Element>, tests: &Tests<L::Element>, sorted: Sorted,
            ) -> [usize; 3] {
                test::<L, ORDER>(records, list, sink, tests, sorted)
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn add_coarse_cells<L: Lanes>(
                records: &[CellRecord<L::Element>], list: &[u32], sink: &SinkCell<L::Element>, tests: &Tests<L::Element>,
                lists: [&mut [u32]; 2], field: &mut Field,
            ) -> [usize; 2] {
                add_coarse::<L>(records, list, sink, tests, lists, field)
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn add_far_cells<L: Lanes, const ORDER: usize, const DIPOLE: bool>(
                records: &[CellRecord<L::Element>], moments: &[L::Element], list: &[u32], sink: &SinkCell<L::Element>,
                softening2: L::Element, local: &mut [L::Element; MAX_COMPONENTS],
            ) {
                add_far::<L, ORDER, DIPOLE>(records, moments, list, sink, softening2, local);
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn gather_bodies<E: Element>(
                bodies: [&[f64]; 4], some: (usize, usize), center: [f64; 3], limbs: usize, tile: (&mut Tile<E>, usize),
            ) {
                gather::<$f64, E>(bodies, some, center, limbs, tile);
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn make_moments_of_bodies<L: Lanes, const ORDER: usize>(masses: &[L::Element], y: [&[L::Element]; 3], moments: &mut [L::Element]) {
                moments_of_bodies::<L, ORDER>(masses, y, moments);
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn make_moments_of_children<L: Lanes, const ORDER: usize>(
                children: &[L::Element], shifts: &[[L::Element; MAX_LANES]; 3], count: usize, moments: &mut [L::Element],
            ) {
                moments_of_children::<L, ORDER>(children, shifts, count, moments);
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn shift_to_children<L: Lanes, const ORDER: usize>(
                local: &[L::Element; MAX_COMPONENTS], shifts: &[[L::Element; MAX_LANES]; 3], count: usize,
                of_children: &mut [[L::Element; MAX_COMPONENTS]],
            ) {
                shift::<L, ORDER>(local, shifts, count, of_children);
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn make_values<L: Lanes, const ORDER: usize>(
                local: &[L::Element; MAX_COMPONENTS], x: [&[L::Element]; 3], to: [&mut [L::Element]; 4],
            ) {
                values::<L, ORDER>(local, x, to);
            }

            // SAFETY of all calls below: `expansions_32` and `expansions_64` hand out this object
            // only where the CPU has the level.
            impl<L: Lanes, const ORDER: usize, const DIPOLE: bool> Expansions<L::Element> for Bound<L, ORDER, DIPOLE, This> {
                fn stride(&self) -> usize {
                    components(ORDER).next_multiple_of(4)
                }
                fn order(&self) -> usize {
                    ORDER
                }
                fn test(
                    &self, records: &[CellRecord<L::Element>], list: &[u32], sink: &SinkCell<L::Element>,
                    tests: &Tests<L::Element>, sorted: Sorted,
                ) -> [usize; 3] {
                    // SAFETY: the CPU has the level.
                    unsafe { test_cells::<L, ORDER>(records, list, sink, tests, sorted) }
                }
                fn add_coarse(
                    &self, records: &[CellRecord<L::Element>], list: &[u32], sink: &SinkCell<L::Element>,
                    tests: &Tests<L::Element>, lists: [&mut [u32]; 2], field: &mut Field,
                ) -> [usize; 2] {
                    // SAFETY: the CPU has the level.
                    unsafe { add_coarse_cells::<L>(records, list, sink, tests, lists, field) }
                }
                fn add_far(
                    &self, records: &[CellRecord<L::Element>], moments: &[L::Element], list: &[u32],
                    sink: &SinkCell<L::Element>, softening2: L::Element, local: &mut [L::Element; MAX_COMPONENTS],
                ) {
                    // SAFETY: the CPU has the level.
                    unsafe { add_far_cells::<L, ORDER, DIPOLE>(records, moments, list, sink, softening2, local) }
                }
                fn gather(
                    &self, bodies: [&[f64]; 4], some: (usize, usize), center: [f64; 3], limbs: usize,
                    tile: (&mut Tile<L::Element>, usize),
                ) {
                    // SAFETY: the CPU has the level.
                    unsafe { gather_bodies::<L::Element>(bodies, some, center, limbs, tile) }
                }
                fn moments_of_bodies(&self, masses: &[L::Element], y: [&[L::Element]; 3], moments: &mut [L::Element]) {
                    // SAFETY: the CPU has the level.
                    unsafe { make_moments_of_bodies::<L, ORDER>(masses, y, moments) }
                }
                fn moments_of_children(
                    &self, children: &[L::Element], shifts: &[[L::Element; MAX_LANES]; 3], count: usize, moments: &mut [L::Element],
                ) {
                    // SAFETY: the CPU has the level.
                    unsafe { make_moments_of_children::<L, ORDER>(children, shifts, count, moments) }
                }
                fn shift(
                    &self, local: &[L::Element; MAX_COMPONENTS], shifts: &[[L::Element; MAX_LANES]; 3], count: usize,
                    of_children: &mut [[L::Element; MAX_COMPONENTS]],
                ) {
                    // SAFETY: the CPU has the level.
                    unsafe { shift_to_children::<L, ORDER>(local, shifts, count, of_children) }
                }
                fn values(&self, local: &[L::Element; MAX_COMPONENTS], x: [&[L::Element]; 3], values: [&mut [L::Element]; 4]) {
                    // SAFETY: the CPU has the level.
                    unsafe { make_values::<L, ORDER>(local, x, values) }
                }
            }

            fn bind<L: Lanes + 'static, const DIPOLE: bool>(order: usize) -> Box<dyn Expansions<L::Element>> {
                macro_rules! of_order {
                    ($order:literal) => {
                        Box::new(Bound::<L, $order, DIPOLE, This> { vectors: PhantomData, level: PhantomData })
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

            pub fn expansions_32(order: usize, dipole: bool) -> Box<dyn Expansions<f32>> {
                if dipole { bind::<$f32, true>(order) } else { bind::<$f32, false>(order) }
            }

            pub fn expansions_64(order: usize, dipole: bool) -> Box<dyn Expansions<f64>> {
                if dipole { bind::<$f64, true>(order) } else { bind::<$f64, false>(order) }
            }
        }
    };
}

level!(portable, Array<f32, LANES_32>, Array<f64, LANES_64>);
// As in `kernel`, unit tests have the portable level alone.
#[cfg(all(target_arch = "x86_64", not(test)))]
level!(avx2, super::super::avx2::F32, super::super::avx2::F64, "avx2,fma");
#[cfg(all(target_arch = "x86_64", not(test)))]
level!(avx512, super::super::avx512::F32, super::super::avx512::F64, "avx2,fma,avx512f,avx512dq,avx512vl");

/// The numbers that far sums are made in.
pub trait Number: Element + Default {
    /// Returns the expansions of an order, up to the highest. In the place of a level that the CPU
    /// lacks the portable one is taken. Without `dipole`, moments of the first order count as zero.
    fn expansions(level: Level, order: usize, dipole: bool) -> Box<dyn Expansions<Self>>;
}

macro_rules! numbers {
    ($element:ty, $function:ident) => {
        impl Number for $element {
            fn expansions(level: Level, order: usize, dipole: bool) -> Box<dyn Expansions<Self>> {
                match level {
                    #[cfg(all(target_arch = "x86_64", not(test)))]
                    Level::Avx512 if Level::Avx512.is_available() => avx512::$function(order, dipole),
                    #[cfg(all(target_arch = "x86_64", not(test)))]
                    Level::Avx2 if Level::Avx2.is_available() => avx2::$function(order, dipole),
                    _ => portable::$function(order, dipole),
                }
            }
        }
    };
}

numbers!(f32, expansions_32);
numbers!(f64, expansions_64);
