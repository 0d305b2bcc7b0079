//! Loops over bodies and children: moments, shifts, and the values of local expansions.
#![allow(clippy::needless_range_loop)]

use super::super::tile::{Tile, VECTORS_ROW};
use super::MAX_CHILDREN;
use super::cells::{number, total};
use crate::expansion::{MAX_COMPONENTS, add_source, shift_local, shift_moments, values_at};
use crate::indices::{factorial, powers};
use crate::lanes::{Element, Lanes, MAX_LANES, Wide};
use crate::softened_expansion::{
    MAX_TERMS, Powers, add_source_by_powers, divided, place_of_term, shift_local_by_powers, shift_moments_by_powers,
    terms, values_by_powers,
};
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
pub(super) fn moments_of_bodies<L: Lanes, const ORDER: usize, const P: usize>(
    masses: &[L::Element],
    [x, y, z, softenings2]: [&[L::Element]; 4],
    moments: &mut [L::Element],
) {
    let mut sums: Powers<L, P> = [[number(0.0); MAX_COMPONENTS]; P];
    let count = masses.len();
    assert!(count.is_multiple_of(MAX_LANES) && [x, y, z].iter().all(|row| row.len() == count));
    assert!(P == 1 || softenings2.len() == count);
    for first in (0..count).step_by(L::COUNT) {
        // SAFETY: COUNT divides MAX_LANES and so the length of each row.
        let (mass, [x, y, z]) = unsafe { (L::load(masses.as_ptr().add(first)), load_row([x, y, z], first)) };
        if P > 1 {
            // SAFETY: as above.
            let softening2 = unsafe { L::load(softenings2.as_ptr().add(first)) };
            add_source_by_powers::<L, ORDER>(mass, [x, y, z, softening2], &mut sums);
        } else {
            add_source::<L, ORDER>(mass, [x, y, z], &mut sums[0]);
        }
    }
    for term in 0..terms(ORDER, P > 1) {
        let (power, place) = place_of_term(ORDER, P > 1, term);
        let factorial = factorial(powers(place)) * factorial([power, 0, 0]);
        moments[term] = L::Element::from_f64(total(sums[power][place]) / factorial);
    }
}

#[inline(always)]
pub(super) fn moments_of_children<L: Lanes, const ORDER: usize, const P: usize>(
    children: &[L::Element],
    shifts: &[[L::Element; MAX_LANES]; 4],
    count: usize,
    moments: &mut [L::Element],
) {
    let zero = number::<L>(0.0);
    let stride = terms(ORDER, P > 1).next_multiple_of(4);
    assert!(count <= MAX_CHILDREN && children.len() >= count * stride && moments.len() >= stride);
    let zeros = [L::Element::from_f64(0.0); MAX_TERMS];
    let mut sums: Powers<L, P> = [[zero; MAX_COMPONENTS]; P];
    for first in (0..count).step_by(L::COUNT) {
        let mut row = [std::ptr::null(); MAX_LANES];
        for lane in 0..L::COUNT {
            let child = first + lane;
            row[lane] = if child < count { children[child * stride..].as_ptr() } else { zeros.as_ptr() };
        }
        let load = |terms: &mut [L]| {
            for place in (0..stride).step_by(4) {
                // SAFETY: each row has `stride` numbers.
                let columns = unsafe { L::load_columns(row.map(|row| row.wrapping_add(place)).as_ptr()) };
                terms[place..place + 4].copy_from_slice(&columns);
            }
        };
        // SAFETY: there are MAX_LANES numbers, of which COUNT divides the number.
        let shift = unsafe { load_row([&shifts[0], &shifts[1], &shifts[2]], first) };
        let mut of_children: Powers<L, P> = if P > 1 {
            let mut terms = [zero; MAX_TERMS];
            load(&mut terms);
            divided::<L, ORDER, P>(&terms)
        } else {
            let mut powers = [[zero; MAX_COMPONENTS]; P];
            load(&mut powers[0]);
            powers
        };
        if P > 1 {
            // SAFETY: as above.
            let softening2 = unsafe { L::load(shifts[3].as_ptr().add(first)) };
            let [x, y, z] = shift;
            shift_moments_by_powers::<L, ORDER>([x, y, z, softening2], &mut of_children);
        } else {
            shift_moments::<L, ORDER>(shift, &mut of_children[0]);
        }
        for term in 0..terms(ORDER, P > 1) {
            let (power, place) = place_of_term(ORDER, P > 1, term);
            sums[power][place] = sums[power][place] + of_children[power][place];
        }
    }
    for term in 0..terms(ORDER, P > 1) {
        let (power, place) = place_of_term(ORDER, P > 1, term);
        moments[term] = L::Element::from_f64(total(sums[power][place]));
    }
}

/// Returns a local expansion in each lane.
#[inline(always)]
fn spread<L: Lanes, const ORDER: usize, const P: usize>(local: &[L::Element]) -> Powers<L, P> {
    let mut all = [[number(0.0); MAX_COMPONENTS]; P];
    for term in 0..terms(ORDER, P > 1) {
        let (power, place) = place_of_term(ORDER, P > 1, term);
        all[power][place] = L::splat(local[term]);
    }
    all
}

#[inline(always)]
pub(super) fn shift<L: Lanes, const ORDER: usize, const P: usize>(
    local: &[L::Element],
    shifts: &[[L::Element; MAX_LANES]; 4],
    count: usize,
    of_children: &mut [L::Element],
) {
    let stride = local.len();
    assert!(count <= MAX_CHILDREN && of_children.len() >= count * stride && stride >= terms(ORDER, P > 1));
    for first in (0..count).step_by(L::COUNT) {
        let mut shifted = spread::<L, ORDER, P>(local);
        // SAFETY: there are MAX_LANES numbers, of which COUNT divides the number.
        let by = unsafe { load_row([&shifts[0], &shifts[1], &shifts[2]], first) };
        if P > 1 {
            // SAFETY: as above.
            let softening2 = unsafe { L::load(shifts[3].as_ptr().add(first)) };
            let [x, y, z] = by;
            shift_local_by_powers::<L, ORDER>([x, y, z, softening2], &mut shifted);
        } else {
            shift_local::<L, ORDER>(by, &mut shifted[0]);
        }
        for term in 0..terms(ORDER, P > 1) {
            let (power, place) = place_of_term(ORDER, P > 1, term);
            let mut numbers = [L::Element::from_f64(0.0); MAX_LANES];
            // SAFETY: there are MAX_LANES numbers.
            unsafe { shifted[power][place].store(numbers.as_mut_ptr()) };
            for lane in 0..L::COUNT.min(count - first) {
                of_children[(first + lane) * stride + term] = numbers[lane];
            }
        }
    }
}

#[inline(always)]
pub(super) fn values<L: Lanes, const ORDER: usize, const P: usize>(
    local: &[L::Element],
    [x, y, z, softenings2]: [&[L::Element]; 4],
    values: [&mut [L::Element]; 4],
) {
    let count = x.len();
    assert!(count.is_multiple_of(MAX_LANES) && y.len() == count && z.len() == count);
    assert!(values.iter().all(|row| row.len() == count) && (P == 1 || softenings2.len() == count));
    assert!(local.len() >= terms(ORDER, P > 1));
    for first in (0..count).step_by(L::COUNT) {
        // SAFETY: COUNT divides MAX_LANES and so the length of each row.
        let place = unsafe { load_row([x, y, z], first) };
        let mut all = spread::<L, ORDER, P>(local);
        let found = if P > 1 {
            // SAFETY: as above.
            let softening2 = unsafe { L::load(softenings2.as_ptr().add(first)) };
            let [x, y, z] = place;
            values_by_powers::<L, ORDER>([x, y, z, softening2], &mut all)
        } else {
            values_at::<L, ORDER>(place, all[0])
        };
        for k in 0..4 {
            // SAFETY: as above.
            unsafe { found[k].store(values[k].as_mut_ptr().add(first)) };
        }
    }
}
