//! Loops over bodies and children: moments, shifts, and the values of local expansions.
#![allow(clippy::needless_range_loop)]

use super::super::tile::{Tile, VECTORS_ROW};
use super::MAX_CHILDREN;
use super::cells::{number, total};
use crate::expansion::{MAX_COMPONENTS, Tensors, add_source, shift_local, shift_moments, values_at};
use crate::indices::{components, factorial, powers};
use crate::lanes::{Element, Lanes, MAX_LANES, Wide};
use kyoho_core::CHUNK;

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
pub(super) fn gather<W: Wide, E: Element>(
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
pub(super) fn moments_of_bodies<L: Lanes, const ORDER: usize>(
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
pub(super) fn moments_of_children<L: Lanes, const ORDER: usize>(
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
pub(super) fn shift<L: Lanes, const ORDER: usize>(
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
pub(super) fn values<L: Lanes, const ORDER: usize>(
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
