//! The results of the texts of gravity, in rows as devices hand in sums.

use kyoho_core::{Interaction, MAX_DERIVATIVES, Nearest, Result};

use super::PairKernel;

/// The names of the vectors that the texts sum.
const VECTORS: [&str; MAX_DERIVATIVES] = ["acc", "jerk", "snap", "crackle"];

/// Takes the results of the last run of a text of gravity, of sinks as many as there are rows, and their
/// nearest sources where the order finds these.
pub fn take_gravity(
    kernel: &PairKernel,
    interaction: &Interaction,
    (values, nearest): (&mut [f64], &mut [Nearest]),
) -> Result<()> {
    let (width, n_outputs) = (interaction.n_sums(), interaction.n_outputs);
    let with_low = interaction.has_low_limbs();
    // High and low limbs have places of their own in the row of a sink.
    let mut take = |result: &str, high_place: Option<usize>, low_place: usize| -> Result<()> {
        let columns = kernel.result(result)?;
        for (row, sums) in values.chunks_exact_mut(width).enumerate() {
            for component in 0..columns.of().width {
                let [high, low] = columns.bits(row, component).map(f64::from_bits);
                if let Some(first) = high_place {
                    sums[first + component] = high;
                }
                if with_low {
                    sums[low_place + component] = low;
                }
            }
        }
        Ok(())
    };
    take("pot", Some(0), n_outputs)?;
    for (k, name) in VECTORS.into_iter().enumerate().take(interaction.n_derivatives) {
        take(name, Some(1 + 3 * k), n_outputs + 1 + 3 * k)?;
    }
    if interaction.nearest {
        take("distance2", None, 2 * n_outputs)?;
        let (index, distance2) = (kernel.result("nearest")?, kernel.result("distance2")?);
        for (row, nearest) in nearest.iter_mut().enumerate() {
            let distance2 = f64::from_bits(distance2.bits(row, 0)[0]);
            let index = index.bits(row, 0)[0] as u32;
            *nearest = if distance2.is_finite() { Nearest::new(distance2, index.cast_signed()) } else { Nearest::NONE };
        }
    }
    Ok(())
}
