//! The forces on the sinks of a block, as callers get them.

use std::ops::Range;

use super::{Error, Interaction, Nearest, Precision, Result, Sums};

/// The forces on sinks of a block.
#[derive(Clone, Copy)]
pub struct Forces<'a> {
    /// What was summed.
    pub interaction: &'a Interaction,
    /// [`Interaction::n_sums`] numbers of each sink.
    pub values: &'a [f64],
    /// The nearest source of each sink, where the order finds one; else empty.
    pub nearest: &'a [Nearest],
}

impl<'a> Forces<'a> {
    /// Returns the forces on some sinks of these sums.
    #[inline]
    pub fn of(sums: &'a Sums, sinks: Range<usize>, interaction: &'a Interaction) -> Forces<'a> {
        let n_sums = interaction.n_sums();
        let values = &sums.values[sinks.start * n_sums..sinks.end * n_sums];
        let nearest = if interaction.nearest { &sums.nearest[sinks] } else { &[] };
        Forces { interaction, values, nearest }
    }
}

impl Forces<'_> {
    /// The number of sinks.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len() / self.interaction.n_sums()
    }

    /// Whether the block had no sinks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Iterates over all that was summed for each sink: potential, acceleration and, where the
    /// order has them, jerk, snap and crackle, without low limbs. There are no rows unless these are
    /// `N` numbers.
    #[inline]
    pub fn rows<const N: usize>(&self) -> impl ExactSizeIterator<Item = &[f64; N]> {
        let Interaction { n_outputs, .. } = *self.interaction;
        let values = if N == n_outputs { self.values } else { &[] };
        // A row is longer than its first numbers.
        values.chunks_exact(self.interaction.n_sums()).map(|row| row.first_chunk().unwrap_or(const { &[0.0; N] }))
    }

    /// The potential `-sum m / sqrt(|r|^2 + eps^2)` on a sink.
    #[inline]
    pub fn potential(&self, sink: usize) -> f64 {
        self.row(sink)[0]
    }

    /// The acceleration of a sink.
    #[inline]
    pub fn acceleration(&self, sink: usize) -> [f64; 3] {
        self.derivative(sink, 0)
    }

    /// The jerk of a sink; zero for orders that do not compute it.
    #[inline]
    pub fn jerk(&self, sink: usize) -> [f64; 3] {
        self.derivative(sink, 1)
    }

    /// The snap of a sink; zero for orders that do not compute it.
    #[inline]
    pub fn snap(&self, sink: usize) -> [f64; 3] {
        self.derivative(sink, 2)
    }

    /// The crackle of a sink; zero for orders that do not compute it.
    #[inline]
    pub fn crackle(&self, sink: usize) -> [f64; 3] {
        self.derivative(sink, 3)
    }

    /// The nearest source of a sink, if there is one and the order finds it.
    #[inline]
    pub fn nearest(&self, sink: usize) -> Option<Nearest> {
        let nearest = self.nearest.get(sink)?;
        nearest.distance2.is_finite().then_some(*nearest)
    }

    /// The nearest source of each sink, where the order finds one; at an infinite distance where
    /// there is none.
    #[inline]
    pub fn nearest_sources(&self) -> &[Nearest] {
        self.nearest
    }

    /// Returns all numbers of a sink, the potential and the vectors, without their low limbs.
    fn row(&self, sink: usize) -> &[f64] {
        &self.values[sink * self.interaction.n_sums()..][..self.interaction.n_outputs]
    }

    /// Returns the low limbs of the numbers of a sink, and of the squared distance of its nearest
    /// source; none where numbers have no low limbs.
    #[inline]
    pub fn low_row(&self, sink: usize) -> &[f64] {
        let n_sums = self.interaction.n_sums();
        &self.values[sink * n_sums..][self.interaction.n_outputs..n_sums]
    }

    fn derivative(&self, sink: usize, k: usize) -> [f64; 3] {
        match self.row(sink).get(1 + 3 * k..4 + 3 * k) {
            Some(vector) => [vector[0], vector[1], vector[2]],
            None => [0.0; 3],
        }
    }
}

/// Whether all numbers are finite, in one pass over their bits without a branch.
#[inline]
pub fn are_finite(values: &[f64]) -> bool {
    const EXPONENT: u64 = 0x7ff << 52;
    // The highest exponent carries into the sign's bit when one is added to it.
    let carry = |value: &f64| (value.to_bits() & EXPONENT) + (1 << 52);
    values.iter().fold(0, |all, value| all | carry(value)) >> 63 == 0
}

/// Fails if some sums of these sinks are not finite; the error names the first such sink.
pub fn check_finite(sums: &Sums, sinks: Range<usize>, interaction: &Interaction) -> Result<()> {
    let n_sums = interaction.n_sums();
    let values = &sums.values[sinks.start * n_sums..sinks.end * n_sums];
    if are_finite(values) {
        return Ok(());
    }
    let allowed = match interaction.precision {
        Precision::Double | Precision::Quad => "units in which no sum overflows",
        _ => "units in which no sum overflows, or precision double",
    };
    values.iter().position(|value| !value.is_finite()).map_or(Ok(()), |place| {
        Err(Error::OutOfRange {
            what: format!("the force on sink {}", sinks.start + place / n_sums),
            value: values[place],
            precision: interaction.precision.name(),
            allowed: allowed.into(),
        })
    })
}
