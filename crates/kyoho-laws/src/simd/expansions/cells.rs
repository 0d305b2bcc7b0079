//! Loops over the cells of a list: tests, the coarse field, and far sums.
#![allow(clippy::needless_range_loop)]

use super::{CellRecord, Field, SinkCell, Sorted, Tests};
use crate::expansion::{MAX_COMPONENTS, add_products, derivatives_at};
use crate::lanes::{Element, Lanes, MAX_LANES};
use crate::softened_expansion::{
    MAX_TERMS, Powers, add_products_by_powers, derivatives_by_powers, divided, place_of_term, terms,
};

#[inline(always)]
pub(super) fn number<L: Lanes>(value: f64) -> L {
    L::splat(L::Element::from_f64(value))
}

/// Returns a count as a number.
#[inline(always)]
pub(super) fn count_of<L: Lanes>(count: usize) -> L::Element {
    L::Element::from_f64(count as f64)
}

/// Returns the sum of the lanes.
#[inline(always)]
pub(super) fn total<L: Lanes>(lanes: L) -> f64 {
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

#[inline(always)]
pub(super) fn squared<L: Lanes>([x, y, z]: [L; 3], first: L) -> L {
    z.mul_add(z, y.mul_add(y, x.mul_add(x, first)))
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

/// Returns the squared softening of cells of sources and a cell of sinks.
#[inline(always)]
fn softening<L: Lanes>(
    are_own: bool,
    sink: &SinkCell<L::Element>,
    softening2: L::Element,
    of_cells: impl FnOnce() -> L,
) -> L {
    if are_own { L::splat(sink.softening2) + of_cells() } else { L::splat(softening2) }
}

#[inline(always)]
pub(super) fn test<L: Lanes, const ORDER: usize, const SOFTENED: bool>(
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
        let softening2 = softening::<L>(SOFTENED, sink, tests.softening2, || rest[2]);
        let s2 = squared(distances(sink, &high, &low), softening2);
        let sum = its_radius + radius;
        let mut is_far = L::both((sum * sum).less(s2 * L::splat(tests.cut2)), L::splat(tests.least2).less(s2));
        if SOFTENED {
            let spread = rest[3] + L::splat(sink.spread);
            is_far = L::both(is_far, spread.less(s2 * L::splat(tests.most_spread)));
        }
        // Beyond the range of some derivatives cells have to be so small that these do not count.
        let sum4 = (sum * sum) * (sum * sum);
        let is_small = L::bits(sum4.less(s2 * L::splat(tests.far_sum4)));
        let in_range = L::bits(s2.less(L::splat(tests.most2))) | is_small;
        let bits = if tests.by_angle {
            let d2 = s2 - softening2;
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
        let bits = bits & in_range;
        accepted = rows.append(L::COUNT, bits & all, sorted.accepted, accepted);
        opened = rows.append(L::COUNT, !bits & opens & all, sorted.opened, opened);
        kept = rows.append(L::COUNT, !bits & !opens & all, sorted.kept, kept);
    }
    [accepted, opened, kept]
}

#[inline(always)]
pub(super) fn add_coarse<L: Lanes, const SOFTENED: bool>(
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
        let softening2 = softening::<L>(SOFTENED, sink, tests.softening2, || rest[2]);
        let s2 = squared(r, softening2);
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
        let largest = L::Element::from_f64(if size_of::<L::Element>() == 4 { 1e30 } else { 1e150 });
        let s2 = L::select(is_apart, s2, number(1.0)).min(L::splat(largest));
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
pub(super) fn add_far<L: Lanes, const ORDER: usize, const DIPOLE: bool, const P: usize>(
    records: &[CellRecord<L::Element>],
    moments: &[L::Element],
    list: &[u32],
    sink: &SinkCell<L::Element>,
    softening2: L::Element,
    local: &mut [L::Element],
) {
    let zero = number::<L>(0.0);
    let stride = terms(ORDER, P > 1).next_multiple_of(4);
    assert!(moments.len() >= (records.len() + 1) * stride && local.len() >= terms(ORDER, P > 1));
    let mut sums: Powers<L, P> = [[zero; MAX_COMPONENTS]; P];
    for some in list.chunks(L::COUNT) {
        let rows = Rows::new(records, some, L::COUNT);
        let to_source = distances(sink, &rows.columns::<L>(0), &rows.columns::<L>(4));
        let r = [zero - to_source[0], zero - to_source[1], zero - to_source[2]];
        let s2 = squared(r, softening::<L>(P > 1, sink, softening2, || rows.columns::<L>(8)[2]));
        let mut row = [std::ptr::null(); MAX_LANES];
        for lane in 0..L::COUNT {
            // Lanes without a cell read the zeros.
            let cell = if lane < rows.count { rows.cells[lane] as usize } else { records.len() };
            row[lane] = moments[cell * stride..].as_ptr();
        }
        let load = |terms: &mut [L]| {
            for first in (0..stride).step_by(4) {
                // SAFETY: each row has `stride` numbers.
                let columns = unsafe { L::load_columns(row.map(|row| row.wrapping_add(first)).as_ptr()) };
                terms[first..first + 4].copy_from_slice(&columns);
            }
        };
        if P > 1 {
            let mut of_cells = [zero; MAX_TERMS];
            load(&mut of_cells);
            let derivatives = derivatives_by_powers::<L, ORDER>(r, s2.inverse_sqrt());
            add_products_by_powers::<L, ORDER>(&divided::<L, ORDER, P>(&of_cells), &derivatives, &mut sums);
        } else {
            let mut moments = [zero; MAX_COMPONENTS];
            load(&mut moments);
            let derivatives = derivatives_at::<L, ORDER>(r, s2.inverse_sqrt());
            add_products::<L, ORDER, DIPOLE>(&moments, &derivatives, &mut sums[0]);
        }
    }
    for term in 0..terms(ORDER, P > 1) {
        let (power, place) = place_of_term(ORDER, P > 1, term);
        local[term] = L::Element::from_f64(local[term].to_f64() + total(sums[power][place]));
    }
}
