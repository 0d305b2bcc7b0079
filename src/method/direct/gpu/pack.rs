//! The layout in which kernels read sinks, as rows, and sources, as chunks.

use bytemuck::{Pod, Zeroable};

use crate::data::{
    CHUNK, Chunk, Interaction, MAX_DERIVATIVES, OCTET, Precision, Sink, SinkSlice, SinkUnits, TAYLOR, by_kind,
};

/// The bytes of a row of a body.
pub const ROW: usize = 16;

/// A row of a body: four numbers of single precision or two doubles.
#[repr(C, align(16))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
pub struct Vector(pub [u64; 2]);

impl Vector {
    #[inline(always)]
    fn of_32(numbers: [f32; 4]) -> Vector {
        Vector(bytemuck::cast(numbers))
    }

    #[inline(always)]
    fn of_64(numbers: [f64; 2]) -> Vector {
        Vector(bytemuck::cast(numbers))
    }
}

/// The most rows of a body in doubles.
const ROWS_64: usize = (1 + 3 * MAX_DERIVATIVES).div_ceil(2);

/// Returns the number of rows of a body, `ROWS` in the kernels.
pub fn rows(interaction: &Interaction) -> usize {
    match interaction.precision {
        Precision::Double => (1 + 3 * interaction.n_derivatives).div_ceil(2),
        Precision::Mixed => 1 + interaction.n_derivatives,
        _ => interaction.n_derivatives,
    }
}

/// Returns the number of rows of a sink, `SINK_ROWS` in the kernels.
pub fn sink_rows(interaction: &Interaction) -> usize {
    match (interaction.is_regular(), interaction.precision) {
        (false, _) => rows(interaction),
        (true, Precision::Double) => criterion_number(interaction.n_derivatives).div_ceil(2) + 1,
        (true, _) => rows(interaction) + 1,
    }
}

/// Returns the place of the neighbour criterion among the doubles of a sink: behind the squared
/// softening and the vectors.
const fn criterion_number(vectors: usize) -> usize {
    1 + 3 * vectors
}

/// Writes sinks as rows, `stride` sinks apart, and their indices.
pub fn sinks(
    interaction: &Interaction,
    (sinks, units): (SinkSlice, SinkUnits),
    stride: usize,
    to: &mut [Vector],
    indices: &mut [i32],
) {
    let kind = (sinks.vectors(), sinks.have_steps());
    by_kind!(kind, VECTORS, STEPS => {
        sinks_with::<VECTORS, STEPS>(interaction, (sinks, units), stride, to, indices)
    })
}

/// Writes sinks as [`sinks`] does, with `VECTORS` vectors, and steps if `STEPS` is set.
fn sinks_with<const VECTORS: usize, const STEPS: bool>(
    interaction: &Interaction,
    (sinks, units): (SinkSlice, SinkUnits),
    stride: usize,
    to: &mut [Vector],
    indices: &mut [i32],
) {
    let rows = sink_rows(interaction);
    match (interaction.precision, interaction.is_regular()) {
        (Precision::Double, false) => fill::<VECTORS, STEPS, ROWS_64>(rows, sinks, stride, to, indices, |sink| {
            let sink = units.scaled(sink);
            let number = |place: usize| number_64(&sink, place);
            std::array::from_fn(|row| Vector::of_64([number(2 * row), number(2 * row + 1)]))
        }),
        (Precision::Double, true) => fill::<VECTORS, STEPS, ROWS_64>(rows, sinks, stride, to, indices, |sink| {
            let (sink, criterion) = (units.scaled(sink), units.criterion(sink));
            let first = criterion_number(interaction.n_derivatives);
            let number = |place: usize| match place.checked_sub(first) {
                Some(place) => criterion.get(place).copied().unwrap_or(0.0),
                None => number_64(&sink, place),
            };
            std::array::from_fn(|row| Vector::of_64([number(2 * row), number(2 * row + 1)]))
        }),
        (Precision::Mixed, false) => {
            fill::<VECTORS, STEPS, { 1 + MAX_DERIVATIVES }>(rows, sinks, stride, to, indices, |sink| {
                let sink = units.scaled(sink);
                std::array::from_fn(|row| row_mixed(&sink, row))
            })
        }
        (Precision::Mixed, true) => {
            fill::<VECTORS, STEPS, { 1 + MAX_DERIVATIVES }>(rows, sinks, stride, to, indices, |sink| {
                let (sink, criterion) = (units.scaled(sink), units.criterion(sink));
                std::array::from_fn(|row| {
                    if row + 1 == rows {
                        row_32(criterion.map(|number| number as f32), 0.0)
                    } else {
                        row_mixed(&sink, row)
                    }
                })
            })
        }
        _ => fill::<VECTORS, STEPS, MAX_DERIVATIVES>(rows, sinks, stride, to, indices, |sink| {
            let sink = units.scaled(sink);
            std::array::from_fn(|row| {
                let weight = if row == 0 { sink.softening2 as f32 } else { 0.0 };
                row_32(sink.derivatives[row].map(|component| component as f32), weight)
            })
        }),
    }
}

/// Returns one of the doubles of a sink: its position, the squared softening, and its other
/// vectors.
#[inline(always)]
fn number_64(sink: &Sink, place: usize) -> f64 {
    let components = sink.derivatives.as_flattened();
    match place {
        0..3 => components[place],
        3 => sink.softening2,
        _ => components.get(place - 1).copied().unwrap_or(0.0),
    }
}

/// Returns a row of a sink in [`Precision::Mixed`].
#[inline(always)]
fn row_mixed(sink: &Sink, row: usize) -> Vector {
    let x = sink.derivatives[0];
    let high = x.map(|component| component as f32);
    match row {
        0 => row_32(high, sink.softening2 as f32),
        1 => row_32(std::array::from_fn(|k| (x[k] - f64::from(high[k])) as f32), 0.0),
        _ => row_32(sink.derivatives[row - 1].map(|component| component as f32), 0.0),
    }
}

#[inline(always)]
fn row_32([x, y, z]: [f32; 3], w: f32) -> Vector {
    Vector::of_32([x, y, z, w])
}

#[inline(always)]
fn fill<const VECTORS: usize, const STEPS: bool, const MOST: usize>(
    rows: usize,
    sinks: SinkSlice,
    stride: usize,
    to: &mut [Vector],
    indices: &mut [i32],
    rows_of: impl Fn(&Sink) -> [Vector; MOST],
) {
    let mut lines: [&mut [Vector]; MOST] = std::array::from_fn(|_| Default::default());
    for (line, row) in lines.iter_mut().zip(to.chunks_mut(stride)).take(rows) {
        *line = &mut row[..sinks.len()];
    }
    let indices = &mut indices[..sinks.len()];
    for place in 0..sinks.len() {
        let sink = sinks.with::<VECTORS, STEPS>(place);
        let made = rows_of(&sink);
        for row in 0..MOST {
            if row < rows {
                lines[row][place] = made[row];
            }
        }
        indices[place] = sink.index;
    }
}

/// The coordinates of a place of a chunk that no source was written to, farther out than any source
/// in any precision.
pub const FAR_AWAY: f64 = 4e150;

/// Returns the number of doubles of a chunk on a device.
pub fn chunk_numbers(interaction: &Interaction) -> usize {
    CHUNK * (TAYLOR + 3 * interaction.n_coefficients)
}

/// Writes a chunk as kernels read it: the octets of the host's copy, with places that were never
/// written far away.
pub fn chunk(interaction: &Interaction, chunk: &Chunk, to: &mut [f64], indices: &mut [i32]) {
    let rows = TAYLOR + 3 * interaction.n_coefficients;
    for (octet, to) in chunk.octets().zip(to.chunks_exact_mut(rows * OCTET)) {
        to.copy_from_slice(bytemuck::cast_slice(octet));
    }
    if !chunk.all_set(CHUNK) {
        for place in (0..CHUNK).filter(|place| !chunk.is_set(*place)) {
            let octet = &mut to[place / OCTET * rows * OCTET..][..rows * OCTET];
            for component in 0..3 {
                octet[(TAYLOR + component) * OCTET + place % OCTET] = FAR_AWAY;
            }
        }
    }
    indices.copy_from_slice(chunk.indices());
}

#[cfg(test)]
mod tests {
    use crate::data::{Block, MASS, NeighbourCriterion, SLICES, Sinks, Source, Sources, TIME, Units};
    use crate::law::catalogue::CATALOGUE;

    use super::*;

    fn sink(number: usize) -> Sink {
        let place = |k: usize| (number as f64 + 1.0) * std::f64::consts::PI * 10f64.powi(k as i32 - 1);
        Sink {
            index: 7 - number as i32,
            softening2: 0.25 + number as f64,
            radius2: 2.0 + number as f64,
            step: 0.125 * number as f64,
            derivatives: [0, 3, 6, 9].map(|first| std::array::from_fn(|k| place(first + k))),
        }
    }

    #[test]
    fn sinks_are_rows_of_position_and_softening_then_of_what_else_a_pair_needs_and_at_last_of_the_criterion() {
        for interaction in CATALOGUE.iter() {
            let (count, stride) = (5, 8);
            let units = Units { mass: 2, length: 3, speed: -1 };
            let given: Vec<Sink> = (0..count).map(sink).collect();
            let mut vectors = vec![Vector([!0; 2]); sink_rows(interaction) * stride];
            let mut indices = vec![-1; stride];
            let given_sinks: Sinks = given.iter().copied().collect();
            let block = Block { neighbour_criterion: NeighbourCriterion::ByMass, units, ..Block::default() };
            sinks(interaction, (given_sinks.all(), block.sink_units()), stride, &mut vectors, &mut indices);
            let halves = |row: usize, place: usize| -> [f32; 4] { bytemuck::cast(vectors[row * stride + place].0) };
            let wholes = |row: usize, place: usize| -> [f64; 2] { bytemuck::cast(vectors[row * stride + place].0) };
            for (place, callers) in given.iter().enumerate() {
                let sink = &block.sink_units().scaled(callers);
                let x = sink.derivatives[0];
                assert_eq!(indices[place], sink.index);
                // The square of 2^3 over 2^2; a time is a length over a speed.
                let criterion = [callers.radius2 * 16.0, 0.0, callers.step * 16.0];
                assert_eq!(sink.softening2, callers.softening2 * 64.0);
                let factors = [8.0, 0.5, 1.0 / 32.0, 1.0 / 512.0];
                for (q, factor) in factors.into_iter().enumerate() {
                    assert_eq!(sink.derivatives[q], callers.derivatives[q].map(|component| component * factor));
                }
                if interaction.precision == Precision::Double {
                    let found: Vec<f64> = (0..sink_rows(interaction)).flat_map(|row| wholes(row, place)).collect();
                    let mut expected = [&x[..], &[sink.softening2]].concat();
                    expected.extend(sink.derivatives[1..interaction.n_derivatives].as_flattened());
                    expected.extend(criterion.iter().filter(|_| interaction.is_regular()));
                    assert_eq!(found[..expected.len()], expected);
                    continue;
                }
                assert_eq!(halves(0, place), [x[0] as f32, x[1] as f32, x[2] as f32, sink.softening2 as f32]);
                if interaction.precision == Precision::Mixed {
                    for (k, x) in x.into_iter().enumerate() {
                        let both = f64::from(halves(0, place)[k]) + f64::from(halves(1, place)[k]);
                        assert!((both - x).abs() <= x * 2f64.powi(-48), "{both} {x}");
                        assert_ne!(halves(1, place)[k], 0.0);
                    }
                }
                for vector in 1..interaction.n_derivatives {
                    let row = rows(interaction) - interaction.n_derivatives + vector;
                    assert_eq!(halves(row, place)[..3], sink.derivatives[vector].map(|component| component as f32));
                }
                if interaction.is_regular() {
                    assert_eq!(halves(rows(interaction), place)[..3], criterion.map(|number| number as f32));
                }
            }
            // The memory between the sinks and the next row is left alone.
            assert!((0..sink_rows(interaction)).all(|row| vectors[row * stride + count] == Vector([!0; 2])));
            assert_eq!(indices[count], -1);
        }
    }

    #[test]
    fn a_chunk_is_the_host_s_with_far_away_places_where_nothing_was_written() {
        for interaction in CATALOGUE.iter() {
            let mut all = Sources::new(interaction.n_coefficients);
            let number = SLICES + 3;
            let source = |place: usize| {
                let term = |k: usize| std::array::from_fn(|c| (100 * place + 10 * k + c) as f64);
                Source { index: place as i32 - 5, mass: 2.0, time: 3.0, coefficients: std::array::from_fn(term) }
            };
            let written = [0, 9, 10, 255];
            written.iter().for_each(|place| all.write(number * CHUNK + place, &source(*place)).unwrap());
            let (mut numbers, mut indices) = (vec![-1.0; chunk_numbers(interaction)], vec![-1; CHUNK]);
            chunk(interaction, all.chunk(number).unwrap(), &mut numbers, &mut indices);
            let rows = chunk_numbers(interaction) / CHUNK;
            let at = |place: usize, row: usize| numbers[(place / OCTET * rows + row) * OCTET + place % OCTET];
            for (place, index) in indices.into_iter().enumerate() {
                let is_written = written.contains(&place);
                for c in 0..3 {
                    let expected = if is_written { source(place).coefficients[0][c] } else { FAR_AWAY };
                    assert_eq!(at(place, TAYLOR + c), expected, "place {place}");
                }
                if is_written {
                    let source = source(place);
                    assert_eq!([at(place, TIME), at(place, MASS)], [source.time, source.mass]);
                    assert_eq!(index, source.index);
                    for k in 0..interaction.n_coefficients {
                        for c in 0..3 {
                            assert_eq!(at(place, TAYLOR + 3 * k + c), source.coefficients[k][c]);
                        }
                    }
                } else {
                    assert_eq!(at(place, MASS), 0.0);
                }
            }
        }
    }
}
