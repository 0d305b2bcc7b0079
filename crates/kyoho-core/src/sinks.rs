//! The sinks of a block. Where they are many, several threads copy and check them.

use std::ops::Range;

use super::memory::Pages;
use super::{Interaction, MAX_DERIVATIVES, Result, Sink};

/// The count of numbers of a sink before its vectors: its index, the squared softening and the
/// squared radius.
pub const HEAD: usize = 3;

/// Returns the count of numbers of a sink; behind the vectors it has its step, if any.
const fn width_of(vectors: usize, steps: bool) -> usize {
    HEAD + 3 * vectors + steps as usize
}

/// Returns the count of numbers of a sink of an interaction.
#[inline]
pub fn width(interaction: &Interaction) -> usize {
    width_of(interaction.n_derivatives, interaction.is_regular())
}

/// Makes a call that is compiled for each number of vectors of a sink, with and without steps.
macro_rules! by_kind {
    ($kind:expr, $vectors:ident, $steps:ident => $call:expr) => {
        by_kind!(@each $kind, $vectors, $steps, $call, (1, false) (1, true) (2, false) (2, true) (3, false) (3, true))
    };
    (@each $kind:expr, $vectors:ident, $steps:ident, $call:expr, $(($count:literal, $with:literal))*) => {
        match $kind {
            $(($count, $with) => by_kind!(@one $vectors, $steps, $call, $count, $with),)*
            (_, false) => by_kind!(@one $vectors, $steps, $call, $crate::MAX_DERIVATIVES, false),
            (_, true) => by_kind!(@one $vectors, $steps, $call, $crate::MAX_DERIVATIVES, true),
        }
    };
    (@one $vectors:ident, $steps:ident, $call:expr, $count:expr, $with:literal) => {{
        const $vectors: usize = $count;
        const $steps: bool = $with;
        $call
    }};
}
/// The sinks of a block, with the vectors that the order needs and no others, and with steps where
/// the scope needs them.
///
/// The memory of larger blocks is kept, and only overwritten.
#[derive(Debug, Clone)]
pub struct Sinks {
    pages: Pages,
    /// The number of sinks of the block; the memory may hold more.
    count: usize,
    vectors: usize,
    steps: bool,
}

impl Default for Sinks {
    fn default() -> Sinks {
        Sinks { pages: Pages::default(), count: 0, vectors: MAX_DERIVATIVES, steps: true }
    }
}

/// Consecutive sinks of a block.
#[derive(Debug, Clone, Copy)]
pub struct SinkSlice<'a> {
    numbers: &'a [f64],
    vectors: usize,
    steps: bool,
}

impl<'a> SinkSlice<'a> {
    /// Makes sinks of an interaction from their [numbers](SinkSlice::numbers).
    pub fn of(numbers: &'a [f64], interaction: &Interaction) -> SinkSlice<'a> {
        SinkSlice { numbers, vectors: interaction.n_derivatives, steps: interaction.is_regular() }
    }

    fn width(&self) -> usize {
        width_of(self.vectors, self.steps)
    }

    /// Returns the numbers of the sinks, one sink after another: the index in the lower half of 64
    /// bits, the squared softening, the squared radius, the vectors and, in regular forces, the
    /// step.
    #[inline]
    pub fn numbers(&self) -> &'a [f64] {
        self.numbers
    }

    /// Returns the number of sinks.
    #[inline]
    pub fn len(&self) -> usize {
        self.numbers.len() / self.width()
    }

    /// Whether there are no sinks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Returns the sink at a place; vectors that the order does not need are zero.
    #[inline]
    pub fn get(&self, place: usize) -> Sink {
        by_kind!((self.vectors, self.steps), VECTORS, STEPS => self.with::<VECTORS, STEPS>(place))
    }

    /// Returns the sink at a place of sinks that have `VECTORS` vectors, and steps if `STEPS` is
    /// set.
    #[inline(always)]
    pub fn with<const VECTORS: usize, const STEPS: bool>(&self, place: usize) -> Sink {
        let width = width_of(VECTORS, STEPS);
        let row = &self.numbers[place * width..][..width];
        let mut derivatives = [[0.0; 3]; MAX_DERIVATIVES];
        for (vector, numbers) in derivatives[..VECTORS].iter_mut().zip(row[HEAD..].chunks_exact(3)) {
            vector.copy_from_slice(numbers);
        }
        let step = if STEPS { row[width - 1] } else { 0.0 };
        Sink { index: row[0].to_bits() as i32, softening2: row[1], radius2: row[2], step, derivatives }
    }

    /// Iterates over the sinks.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = Sink> + use<'a> {
        (0..self.len()).map(move |place| self.get(place))
    }

    /// Returns the sinks at some places.
    #[inline]
    pub fn range(&self, places: Range<usize>) -> SinkSlice<'a> {
        let width = self.width();
        SinkSlice { numbers: &self.numbers[places.start * width..places.end * width], ..*self }
    }

    /// Iterates over slices of `count` sinks; the last one may have fewer.
    #[inline]
    pub fn chunks(self, count: usize) -> impl Iterator<Item = SinkSlice<'a>> {
        self.numbers.chunks(count * self.width()).map(move |numbers| SinkSlice { numbers, ..self })
    }

    /// Returns the sinks before a place, and those from it on.
    #[inline]
    pub fn split_at(&self, place: usize) -> (SinkSlice<'a>, SinkSlice<'a>) {
        (self.range(0..place), self.range(place..self.len()))
    }
}

/// Writes a sink that has `VECTORS` vectors, and a step if `STEPS` is set.
#[inline(always)]
fn put<const VECTORS: usize, const STEPS: bool>(row: &mut [f64], sink: &Sink) {
    let row = &mut row[..width_of(VECTORS, STEPS)];
    row[0] = f64::from_bits(u64::from(sink.index.cast_unsigned()));
    (row[1], row[2]) = (sink.softening2, sink.radius2);
    for (numbers, vector) in row[HEAD..].chunks_exact_mut(3).zip(&sink.derivatives) {
        numbers.copy_from_slice(vector);
    }
    if STEPS {
        row[width_of(VECTORS, STEPS) - 1] = sink.step;
    }
}

/// A summary of sinks, made while they are copied.
#[derive(Debug, Clone, Copy)]
pub struct SinkScan {
    /// Whether all of them are good at first sight.
    pub good: bool,
    /// Whether some of them want neighbours.
    pub radius: bool,
    /// The largest magnitudes of components of their positions, velocities, ..., where units depend
    /// on them.
    pub largest: [f64; MAX_DERIVATIVES],
    /// The least and the largest squared softening, for sinks with positions alone.
    pub softening2: [f64; 2],
}

/// The limits that good sinks keep to.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    position: f64,
    vectors: usize,
    steps: bool,
    scales_lengths: bool,
}

impl Sinks {
    /// Makes sinks of an interaction.
    #[inline]
    pub fn of(interaction: &Interaction, sinks: impl IntoIterator<Item = Sink>) -> Result<Sinks> {
        let mut all = Sinks::default();
        all.collect(sinks.into_iter(), interaction)?;
        Ok(all)
    }

    /// Returns the number of sinks.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no sinks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns all sinks.
    #[inline]
    pub fn all(&self) -> SinkSlice<'_> {
        let Sinks { vectors, steps, .. } = *self;
        SinkSlice { numbers: &self.pages.as_slice()[..self.count * width_of(vectors, steps)], vectors, steps }
    }

    /// Returns the sinks at some places.
    #[inline]
    pub fn range(&self, places: Range<usize>) -> SinkSlice<'_> {
        self.all().range(places)
    }

    /// Copies the sinks of an iterator, and returns their summary.
    #[inline]
    pub fn collect(&mut self, sinks: impl Iterator<Item = Sink>, interaction: &Interaction) -> Result<SinkScan> {
        let width = self.empty(interaction);
        self.reserve(sinks.size_hint().0, width)?;
        let (mut scan, limits) = (SinkScan::NOTHING, Limits::of(interaction));
        for sink in sinks {
            let first = self.count * width;
            self.reserve(1, width)?;
            let row = &mut self.pages.as_mut_slice()[first..first + width];
            scan = scan.and(fill(row, self.count, &FromFn(|_| sink), limits));
            self.count += 1;
        }
        Ok(scan)
    }

    /// Makes room for `count` sinks, which are to be written.
    #[inline]
    pub fn make_room(&mut self, count: usize, interaction: &Interaction) -> Result<()> {
        let width = self.empty(interaction);
        self.reserve(count, width)?;
        self.count = count;
        Ok(())
    }

    /// Forgets the sinks; returns how many numbers a sink to come has.
    fn empty(&mut self, interaction: &Interaction) -> usize {
        (self.count, self.vectors, self.steps) = (0, interaction.n_derivatives, interaction.is_regular());
        width_of(self.vectors, self.steps)
    }

    /// Reserves memory for this many more sinks.
    fn reserve(&mut self, more: usize, width: usize) -> Result<()> {
        let wanted = self.count.saturating_add(more).saturating_mul(width * size_of::<f64>());
        let had = self.pages.bytes();
        if wanted > had {
            let mut larger = Pages::new(wanted.max(2 * had), "sinks")?;
            let filled = self.count * width;
            larger.as_mut_slice::<f64>()[..filled].copy_from_slice(&self.pages.as_slice()[..filled]);
            self.pages = larger;
        }
        Ok(())
    }

    /// Returns the numbers of all sinks, to be written.
    #[inline]
    pub fn numbers_mut(&mut self) -> &mut [f64] {
        &mut self.pages.as_mut_slice()[..self.count * width_of(self.vectors, self.steps)]
    }

    /// Returns the memory of the sinks.
    #[inline]
    pub fn pages(&self) -> &Pages {
        &self.pages
    }
}

/// The sinks of a block as the caller has them, each of which can be made from its number.
pub trait NumberedSinks: Sync {
    /// Makes a sink. It should be inlined wherever it is called, since a sink is larger than the
    /// numbers that most orders need of it.
    fn sink(&self, number: usize) -> Sink;

    /// Gets ready to make these, of which the last ones need not be there. One thread calls it before
    /// any makes them.
    fn prepare(&self, _numbers: Range<usize>) {}
}

/// A function that makes sinks.
pub struct FromFn<F>(pub F);

impl<F: Fn(usize) -> Sink + Sync> NumberedSinks for FromFn<F> {
    #[inline(always)]
    fn sink(&self, number: usize) -> Sink {
        self.0(number)
    }
}

/// Makes sinks, from the one of the number `first` on, and returns their summary.
#[inline]
pub fn fill(places: &mut [f64], first: usize, sinks: &impl NumberedSinks, limits: Limits) -> SinkScan {
    by_kind!((limits.vectors, limits.steps), VECTORS, STEPS => fill_with::<VECTORS, STEPS>(places, first, sinks, limits))
}

/// Makes sinks as [`fill`] does, with `VECTORS` vectors, and steps if `STEPS` is set.
fn fill_with<const VECTORS: usize, const STEPS: bool>(
    places: &mut [f64],
    first: usize,
    sinks: &impl NumberedSinks,
    limits: Limits,
) -> SinkScan {
    let limits = Limits { vectors: VECTORS, steps: STEPS, ..limits };
    let mut scan = SinkScan::NOTHING;
    for (row, number) in places.chunks_exact_mut(width_of(VECTORS, STEPS)).zip(first..) {
        let sink = sinks.sink(number);
        scan.take(&sink, limits);
        put::<VECTORS, STEPS>(row, &sink);
    }
    scan
}

impl Limits {
    /// Returns those of an interaction.
    #[inline]
    pub fn of(interaction: &Interaction) -> Limits {
        Limits {
            position: interaction.bounds.position,
            vectors: interaction.n_derivatives,
            steps: interaction.is_regular(),
            scales_lengths: interaction.bounds.scales_lengths,
        }
    }
}

/// Returns the range from the least to the largest number, with another number in it.
#[inline(always)]
pub fn widened([least, largest]: [f64; 2], number: f64) -> [f64; 2] {
    [if number < least { number } else { least }, if number > largest { number } else { largest }]
}

impl SinkScan {
    /// The summary of no sinks.
    pub const NOTHING: SinkScan = SinkScan {
        good: true,
        radius: false,
        largest: [0.0; MAX_DERIVATIVES],
        softening2: [f64::INFINITY, f64::NEG_INFINITY],
    };

    /// Adds a sink to the summary, without a branch; a wrong one is looked for only where there is
    /// one.
    #[inline(always)]
    pub fn take(&mut self, sink: &Sink, limits: Limits) {
        let position = &sink.derivatives[0];
        let largest = limits.position;
        let higher = sum_of_components(&sink.derivatives[1..limits.vectors]);
        let near = |value: &f64| value.abs() <= largest;
        self.good &= near(&position[0]) & near(&position[1]) & near(&position[2]);
        self.good &= (sink.softening2 >= 0.0) & (sink.softening2 <= largest * largest);
        self.good &= (higher + sink.radius2).abs() < f64::INFINITY;
        if limits.steps {
            self.good &= sink.step.abs() < f64::INFINITY;
        }
        self.radius |= sink.radius2 > 0.0;
        if limits.vectors == 1 {
            self.softening2 = widened(self.softening2, sink.softening2);
        }
        if limits.scales_lengths {
            for (largest, vector) in self.largest[..limits.vectors].iter_mut().zip(&sink.derivatives) {
                let [x, y, z] = vector.map(f64::abs);
                // Each of these comparisons is one instruction; `f64::max` takes four.
                let of_two = if x > y { x } else { y };
                let of_vector = if z > of_two { z } else { of_two };
                *largest = if of_vector > *largest { of_vector } else { *largest };
            }
        }
    }

    /// Returns the summary of the sinks of both.
    #[inline]
    pub fn and(self, other: SinkScan) -> SinkScan {
        let largest = std::array::from_fn(|vector| self.largest[vector].max(other.largest[vector]));
        let softening2 = [self.softening2[0].min(other.softening2[0]), self.softening2[1].max(other.softening2[1])];
        SinkScan { good: self.good & other.good, radius: self.radius | other.radius, largest, softening2 }
    }
}

/// Returns the sum of all components of some vectors, which is finite only if each is. Three sums
/// side by side take a third of the time.
#[inline(always)]
pub(crate) fn sum_of_components(vectors: &[[f64; 3]]) -> f64 {
    let mut sums = [0.0; 3];
    for vector in vectors {
        sums.iter_mut().zip(vector).for_each(|(sum, component)| *sum += component);
    }
    sums[0] + sums[1] + sums[2]
}
