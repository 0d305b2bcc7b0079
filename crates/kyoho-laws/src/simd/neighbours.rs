//! The searches for neighbours: for sources within a radius, over predicted positions in double
//! precision, and for the regular neighbours, in the numbers of a pair.

use crate::lanes::{Lanes, MAX_LANES};
use crate::pair::PairLaw;
use crate::regular::squared;
use kyoho_core::{CHUNK, Sink};

use super::sum::LaneSinks;
use super::tile::{Group, Tile, VECTORS_ROW, rows_behind_vectors};

/// Appends the indices of a tile's sources with `|r|^2 < radius2` to a list.
#[inline(always)]
pub fn tile<const FUSED: bool>(tile: &Tile<f64>, sink: &Sink, skip_own_index: bool, found: &mut Vec<i32>) {
    let rows: [&[f64; CHUNK]; 3] = std::array::from_fn(|k| {
        let row = &tile.rows()[(VECTORS_ROW + k) * CHUNK..][..CHUNK];
        row.try_into().expect("a row has CHUNK numbers")
    });
    let [x, y, z] = sink.derivatives[0];
    let mut distance2 = [0.0; CHUNK];
    let mut least = [f64::INFINITY; 8];
    for place in 0..CHUNK {
        let (dx, dy, dz) = (rows[0][place] - x, rows[1][place] - y, rows[2][place] - z);
        distance2[place] = if FUSED { dz.mul_add(dz, dy.mul_add(dy, dx * dx)) } else { dx * dx + dy * dy + dz * dz };
    }
    for places in distance2.chunks_exact(8) {
        for (least, distance2) in least.iter_mut().zip(places) {
            *least = if distance2 < least { *distance2 } else { *least };
        }
    }
    if least.iter().all(|least| *least >= sink.radius2) {
        return;
    }
    let sources = distance2.iter().zip(tile.indices()).take(tile.count);
    found.extend(
        sources
            .filter(|(distance2, index)| **distance2 < sink.radius2 && !(skip_own_index && **index == sink.index))
            .map(|(_, index)| *index),
    );
}

/// Appends the indices of a tile's sources that [`super::sum::tile`] leaves out of the sums of one
/// sink of a group as its neighbours.
#[inline(always)]
pub fn regular_neighbours<I: PairLaw, L: Lanes, const LIMBS: usize>(
    tile: &Tile<L::Element>,
    group: &Group<L::Element>,
    sink: usize,
    skip_own_index: bool,
    found: &mut Vec<i32>,
) {
    let sources = tile.rows();
    assert!(
        sources.len() >= rows_behind_vectors(LIMBS, I::N_DERIVATIVES) * CHUNK
            && tile.count <= CHUNK
            && sink < MAX_LANES
    );
    let sinks = LaneSinks::<L, LIMBS>::new::<I>(|row| L::splat(group.row(row)[sink]));
    let own_index = group.indices[sink];
    for place in (0..tile.count).step_by(L::COUNT) {
        // SAFETY: rows have CHUNK numbers each, `place` is below `count` and a multiple of COUNT,
        // which divides CHUNK; the assertion above covers the rows.
        let source = |row: usize| unsafe { L::load(sources.as_ptr().add(row * CHUNK + place)) };
        let [r, v, ..] = sinks.differences::<I>(source);
        let mut bits = L::bits(sinks.criterion.is_neighbour(r, squared(r), v, source(0)));
        while bits != 0 {
            let place = place + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let index = tile.indices()[place];
            // The copies that fill the last lanes are no sources.
            if place < tile.count && !(skip_own_index && index == own_index) {
                found.push(index);
            }
        }
    }
}
