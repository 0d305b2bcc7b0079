//! The Taylor series of the sources: `x + v dt + (a/2) dt^2 + (j/6) dt^3` and its derivatives.

use crate::catalogue::Descriptor;
use crate::system::slices::CHUNK;
use crate::system::{Chunk, MAX_TAYLOR, MAX_VECTORS, Source};

use super::lanes::Element;
use super::tile::{Tile, VECTORS_ROW};

/// `FACTORS[q][k]`: the q-th derivative of `dt^k` is `FACTORS[q][k] dt^(k - q)`.
const FACTORS: [[f64; MAX_TAYLOR]; MAX_VECTORS] = [[1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 2.0, 3.0]];

/// The `derivative`-th derivative of a series with these coefficients, after `dt`, by Horner's rule.
#[inline(always)]
fn evaluate<const FUSED: bool>(derivative: usize, taylor: usize, dt: f64, coefficient: impl Fn(usize) -> f64) -> f64 {
    let mut value = FACTORS[derivative][taylor - 1] * coefficient(taylor - 1);
    for k in (derivative..taylor - 1).rev() {
        let term = FACTORS[derivative][k] * coefficient(k);
        value = if FUSED { value.mul_add(dt, term) } else { value * dt + term };
    }
    value
}

/// Position, velocity, ... of one source at a time, in 64 bits.
pub fn derivatives(source: &Source, descriptor: &Descriptor, time: f64) -> [[f64; 3]; MAX_VECTORS] {
    let mut predicted = [[0.0; 3]; MAX_VECTORS];
    for (derivative, vector) in predicted.iter_mut().enumerate().take(descriptor.vectors) {
        *vector = std::array::from_fn(|component| {
            evaluate::<false>(derivative, descriptor.taylor, time - source.time, |k| source.taylor[k][component])
        });
    }
    predicted
}

/// Predicts the sources of a chunk at addresses below `limit` into a tile.
#[inline(always)]
pub fn chunk<E: Element, const FUSED: bool>(
    chunk: &Chunk,
    taylor: usize,
    vectors: usize,
    parts: usize,
    time: f64,
    limit: usize,
    tile: &mut Tile<E>,
) {
    let rows = tile.rows_mut();
    row(rows, 0, |place| E::from_f64(chunk.masses()[place]));
    let times = chunk.times();
    for derivative in 0..vectors {
        for component in 0..3 {
            let coefficients: [&[f64; CHUNK]; MAX_TAYLOR] =
                std::array::from_fn(|k| chunk.taylor(k.min(taylor - 1), component));
            let value =
                |place: usize| evaluate::<FUSED>(derivative, taylor, time - times[place], |k| coefficients[k][place]);
            if derivative == 0 && parts == 2 {
                let (leading, trailing) = rows[(VECTORS_ROW + component) * CHUNK..].split_at_mut(3 * CHUNK);
                let (leading, trailing) = (&mut leading[..CHUNK], &mut trailing[..CHUNK]);
                for place in 0..CHUNK {
                    let value = value(place);
                    leading[place] = E::from_f64(value);
                    trailing[place] = E::from_f64(value - leading[place].to_f64());
                }
            } else {
                let first = if derivative == 0 { 0 } else { parts - 1 + derivative };
                row(rows, VECTORS_ROW + 3 * first + component, value_as(value));
            }
        }
    }
    tile.indices_mut().copy_from_slice(chunk.indices());
    tile.close(limit, |place| chunk.is_set(place), chunk.all_set(limit));
}

#[inline(always)]
fn value_as<E: Element>(value: impl Fn(usize) -> f64) -> impl Fn(usize) -> E {
    move |place| E::from_f64(value(place))
}

#[inline(always)]
fn row<E: Element>(rows: &mut [E], number: usize, value: impl Fn(usize) -> E) {
    for (place, element) in rows[number * CHUNK..][..CHUNK].iter_mut().enumerate() {
        *element = value(place);
    }
}
