//! Fourier transforms of cubes.

use rustfft::num_complex::Complex;
use rustfft::{FftDirection, FftPlannerScalar};

use crate::failure::Result;
use kyoho_core::memory::filled;

/// A complex number.
pub type Number = Complex<f64>;

/// Transforms a cube of `m` numbers a side, in which the last coordinate changes fastest, without
/// any factor.
///
/// The plan uses no vector instructions of the machine, so that results have the same bits on all.
pub fn transform(cube: &mut [Number], m: usize, direction: FftDirection) -> Result<()> {
    let line = FftPlannerScalar::new().plan_fft(m, direction);
    let mut scratch = filled(line.get_inplace_scratch_len(), Number::default(), "a Fourier transform")?;
    line.process_with_scratch(cube, &mut scratch);
    // The lines along another coordinate are copied by planes, because their numbers lie apart.
    let mut plane = filled(m * m, Number::default(), "a Fourier transform")?;
    for (stride, next_plane) in [(m, m * m), (m * m, m)] {
        for first in (0..m).map(|number| number * next_plane) {
            for (across, line) in plane.chunks_exact_mut(m).enumerate() {
                line.iter_mut().enumerate().for_each(|(along, number)| *number = cube[first + along * stride + across]);
            }
            line.process_with_scratch(&mut plane, &mut scratch);
            for (across, line) in plane.chunks_exact(m).enumerate() {
                line.iter().enumerate().for_each(|(along, number)| cube[first + along * stride + across] = *number);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    #[test]
    fn a_plane_wave_is_one_number_and_comes_back() {
        for m in [4usize, 6, 11] {
            let wave = [1, 2, 3];
            let place = |index: usize| [index / (m * m), index / m % m, index % m];
            let phase = |index: usize| (0..3).map(|k| wave[k] * place(index)[k]).sum::<usize>() as f64 / m as f64;
            let start: Vec<Number> = (0..m.pow(3)).map(|index| Number::cis(TAU * phase(index))).collect();
            let mut cube = start.clone();
            transform(&mut cube, m, FftDirection::Forward).unwrap();
            let whole = m.pow(3) as f64;
            for (index, number) in cube.iter().enumerate() {
                let expected = if place(index) == wave { whole } else { 0.0 };
                assert!((number - expected).norm() < 1e-12 * whole, "{m} {:?}: {number}", place(index));
            }
            transform(&mut cube, m, FftDirection::Inverse).unwrap();
            assert!(cube.iter().zip(&start).all(|(found, start)| (found / whole - start).norm() < 1e-13));
        }
    }
}
