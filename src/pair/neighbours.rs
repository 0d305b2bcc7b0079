//! Who is within a radius: a pass over predicted positions in 64 bits.

use crate::system::Sink;
use crate::system::slices::CHUNK;

use super::tile::{Tile, VECTORS_ROW};

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
        distance2[place] = match FUSED {
            true => dz.mul_add(dz, dy.mul_add(dy, dx * dx)),
            false => dx * dx + dy * dy + dz * dz,
        };
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
