//! The quantities that sources and sinks come with, a column each, wherever the columns are.

use super::{MAX_COEFFICIENTS, Result};

/// The columns that bodies come with; a quantity without a column is zero, an index the number of
/// its body.
///
/// `R` is a column of numbers, `I` one of indices, `V` one of vectors: a place in memory of the
/// host, an array on a device, or what reads an array of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyColumns<R, I = R, V = R> {
    /// The positions and their derivatives, not divided.
    pub derivatives: [Option<V>; MAX_COEFFICIENTS],
    /// The masses.
    pub masses: Option<R>,
    /// The squared softening of each body; that of a sink is in place of that of the call.
    pub softening2: Option<R>,
    /// The squared radius of each sink's neighbour list.
    pub radii2: Option<R>,
    /// The step of each sink.
    pub steps: Option<R>,
    /// The times.
    pub times: Option<R>,
    /// The indices.
    pub indices: Option<I>,
}

impl<R, I, V> Default for BodyColumns<R, I, V> {
    fn default() -> BodyColumns<R, I, V> {
        BodyColumns::NONE
    }
}

impl<R, I, V> BodyColumns<R, I, V> {
    /// No column.
    pub const NONE: BodyColumns<R, I, V> = BodyColumns {
        derivatives: [const { None }; MAX_COEFFICIENTS],
        masses: None,
        softening2: None,
        radii2: None,
        steps: None,
        times: None,
        indices: None,
    };

    /// Returns these columns at other places.
    #[inline]
    pub fn map<A, B, C>(
        self,
        mut number: impl FnMut(R) -> A,
        mut index: impl FnMut(I) -> B,
        mut vector: impl FnMut(V) -> C,
    ) -> BodyColumns<A, B, C> {
        BodyColumns {
            derivatives: self.derivatives.map(|column| column.map(&mut vector)),
            masses: self.masses.map(&mut number),
            softening2: self.softening2.map(&mut number),
            radii2: self.radii2.map(&mut number),
            steps: self.steps.map(&mut number),
            times: self.times.map(&mut number),
            indices: self.indices.map(&mut index),
        }
    }

    /// Returns these columns at other places, or the first error.
    #[inline]
    pub fn try_map<A, B, C>(
        self,
        mut number: impl FnMut(R) -> Result<A>,
        mut index: impl FnMut(I) -> Result<B>,
        mut vector: impl FnMut(V) -> Result<C>,
    ) -> Result<BodyColumns<A, B, C>> {
        let mut derivatives = [const { None }; MAX_COEFFICIENTS];
        for (to, column) in derivatives.iter_mut().zip(self.derivatives) {
            *to = column.map(&mut vector).transpose()?;
        }
        Ok(BodyColumns {
            derivatives,
            masses: self.masses.map(&mut number).transpose()?,
            softening2: self.softening2.map(&mut number).transpose()?,
            radii2: self.radii2.map(&mut number).transpose()?,
            steps: self.steps.map(&mut number).transpose()?,
            times: self.times.map(&mut number).transpose()?,
            indices: self.indices.map(&mut index).transpose()?,
        })
    }

    /// Returns the columns that both have, in pairs.
    #[inline]
    pub fn zip<A, B, C>(self, other: BodyColumns<A, B, C>) -> BodyColumns<(R, A), (I, B), (V, C)> {
        let mut vectors = other.derivatives.into_iter();
        BodyColumns {
            derivatives: self.derivatives.map(|column| column.zip(vectors.next().flatten())),
            masses: self.masses.zip(other.masses),
            softening2: self.softening2.zip(other.softening2),
            radii2: self.radii2.zip(other.radii2),
            steps: self.steps.zip(other.steps),
            times: self.times.zip(other.times),
            indices: self.indices.zip(other.indices),
        }
    }

    /// Returns the same columns by reference.
    #[inline]
    pub fn as_ref(&self) -> BodyColumns<&R, &I, &V> {
        BodyColumns {
            derivatives: self.derivatives.each_ref().map(Option::as_ref),
            masses: self.masses.as_ref(),
            softening2: self.softening2.as_ref(),
            radii2: self.radii2.as_ref(),
            steps: self.steps.as_ref(),
            times: self.times.as_ref(),
            indices: self.indices.as_ref(),
        }
    }

    /// Returns each column with the bytes that a body has in it.
    #[inline]
    pub fn with_widths(self) -> BodyColumns<(R, usize), (I, usize), (V, usize)> {
        self.map(|column| (column, 8), |column| (column, 4), |column| (column, 24))
    }

    /// Returns the place of each column, in bytes, in memory that has one after another for this
    /// many bodies, and the bytes of all.
    pub fn lay_out(self, count: usize) -> (BodyColumns<usize>, usize) {
        // No two columns share one.
        const LINE: usize = 128;
        let end = std::cell::Cell::new(0);
        let next = |width: usize| end.replace(end.get() + (width * count).next_multiple_of(LINE));
        (self.map(|_| next(8), |_| next(4), |_| next(24)), end.get())
    }
}

impl<C> BodyColumns<C> {
    /// Returns the columns that are there, in the order of [`BodyColumns::lay_out`].
    #[inline]
    pub fn given(self) -> impl Iterator<Item = C> {
        let numbers = [self.masses, self.softening2, self.radii2, self.steps, self.times];
        self.derivatives.into_iter().chain(numbers).chain([self.indices]).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_lie_one_after_another_in_the_order_in_which_they_are_given() {
        let mut columns = BodyColumns { masses: Some(()), indices: Some(()), steps: Some(()), ..BodyColumns::NONE };
        columns.derivatives[1] = Some(());
        let (places, bytes) = columns.lay_out(10);
        assert_eq!(places.given().collect::<Vec<_>>(), [0, 256, 384, 512]);
        assert_eq!((places.derivatives[1], places.masses, places.steps), (Some(0), Some(256), Some(384)));
        assert_eq!((places.indices, bytes), (Some(512), 640));
        assert_eq!(places.with_widths().given().map(|(_, width)| width).sum::<usize>(), 24 + 8 + 8 + 4);
    }
}
