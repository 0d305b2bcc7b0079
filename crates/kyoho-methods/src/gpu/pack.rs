//! The layout in which kernels read sources: chunks, and rows of the predicted sources.

use kyoho_core::{CHUNK, Chunk, Interaction, OCTET, Precision, TAYLOR};

/// The bytes of a row of a predicted source: four numbers of single precision or two doubles.
pub const ROW: usize = 16;

/// Returns the number of rows of a predicted source, `ROWS` in the kernels.
pub fn rows(interaction: &Interaction) -> usize {
    match interaction.precision {
        Precision::Double => (1 + 3 * interaction.n_derivatives).div_ceil(2),
        Precision::Mixed => 1 + interaction.n_derivatives,
        _ => interaction.n_derivatives,
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
    use kyoho_core::{MASS, SLICES, Source, Sources, TIME};
    use kyoho_laws::catalogue::with_kernels;

    use super::*;

    #[test]
    fn a_chunk_is_the_host_s_with_far_away_places_where_nothing_was_written() {
        for interaction in with_kernels() {
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
