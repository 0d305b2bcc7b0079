//! What is made of the columns of a block: sums, extremes and counts.

use kyoho_core::join_in_pairs;

use super::interpreter::Memory;
use super::numbers::{Cell, ToBits, Whole, bits};
use super::{Bits, Join, Joining, LANES, SIDE, SUMS};
use crate::real::Real;

/// A condition of a join as its loop reads it.
#[inline(always)]
fn live<'a>(memory: Memory<'a>, join: &Join) -> Option<&'a [u32; LANES]> {
    // SAFETY: `Steps::new` has checked the place; nothing is written any more.
    join.condition.map(|column| unsafe { memory.read::<u32>(column) })
}

#[inline(always)]
pub(super) fn counted(memory: Memory, join: &Join, count: usize) -> Bits {
    // SAFETY: as in `live`.
    let term = unsafe { memory.read::<u32>(join.term) };
    let number: u32 = match live(memory, join) {
        None => (0..count).map(|lane| term[lane] & 1).sum(),
        Some(live) => (0..count).map(|lane| term[lane] & live[lane] & 1).sum(),
    };
    [u64::from(number), 0]
}

/// Joins the lanes of a block: 32 rows of every 32nd lane, and then rows with those half of them
/// behind.
#[inline(always)]
fn folded<T: Cell>(
    live: Option<&[u32; LANES]>,
    count: usize,
    start: T,
    add: impl Fn(T, usize) -> T,
    join: impl Fn(T, T) -> T,
) -> T {
    let mut sums = [start; SUMS];
    if count == LANES {
        // Some sums at a time stay in registers.
        for side in (0..SUMS).step_by(SIDE) {
            let mut some = [start; SIDE];
            for first in (side..LANES).step_by(SUMS) {
                for k in 0..SIDE {
                    let next = add(some[k], first + k);
                    some[k] = if live.is_none_or(|live| live[first + k] != 0) { next } else { some[k] };
                }
            }
            sums[side..side + SIDE].copy_from_slice(&some);
        }
    } else {
        for lane in (0..count).filter(|lane| live.is_none_or(|live| live[*lane] != 0)) {
            sums[lane % SUMS] = add(sums[lane % SUMS], lane);
        }
    }
    join_in_pairs(&mut sums, |sum, term| *sum = join(*sum, *term));
    sums[0]
}

#[inline(always)]
pub(super) fn whole_sum<T: Cell + Whole + ToBits>(memory: Memory, join: &Join, count: usize) -> Bits {
    // SAFETY: as in `live`.
    let term = unsafe { memory.read::<T>(join.term) };
    let sum = folded(live(memory, join), count, T::default(), |sum, lane| sum.add(T::get(term, lane)), T::add);
    let negative = matches!(join.joining, Joining::Sum { negative: true, .. });
    bits(if negative { sum.neg() } else { sum }.to_number())
}

#[inline(always)]
pub(super) fn real_sum<T: Cell + Real + ToBits>(memory: Memory, join: &Join, count: usize) -> Bits {
    let (second, negative) = match join.joining {
        Joining::Sum { second, negative } => (second, negative),
        _ => (None, false),
    };
    // SAFETY: as in `live`.
    let term = unsafe { memory.read::<T>(join.term) };
    let live = live(memory, join);
    let sum = match second {
        None => folded(live, count, T::ZERO, |sum, lane| sum.add(T::get(term, lane)), T::add),
        Some(second) => {
            // SAFETY: as in `live`.
            let second = unsafe { memory.read::<T>(second) };
            let add = |sum: T, lane| T::get(term, lane).mul_add(T::get(second, lane), sum);
            folded(live, count, T::ZERO, add, T::add)
        }
    };
    // Rounding is the same for both signs.
    bits(if negative { sum.neg() } else { sum }.to_number())
}

#[inline(always)]
pub(super) fn extreme<T: Cell + PartialOrd + ToBits>(memory: Memory, join: &Join, count: usize) -> Bits {
    let greatest = matches!(join.joining, Joining::Extreme { greatest: true });
    // SAFETY: as in `live`.
    let term = unsafe { memory.read::<T>(join.term) };
    let start = T::of(bits(crate::extreme(join.scalar, !greatest)));
    let live = live(memory, join);
    let found = if greatest {
        let join = |a: T, b: T| if b > a { b } else { a };
        folded(live, count, start, |a, lane| join(a, T::get(term, lane)), join)
    } else {
        let join = |a: T, b: T| if b < a { b } else { a };
        folded(live, count, start, |a, lane| join(a, T::get(term, lane)), join)
    };
    bits(found.to_number())
}
