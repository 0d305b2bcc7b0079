//! The sinks of a block: many are copied, and looked at, by several threads.

use std::ops::Deref;
use std::sync::Mutex;

use crate::catalogue::Descriptor;
use crate::error::{Error, Result};
use crate::threads::Threads;

use super::block::{MAX_VECTORS, Sink};
use super::sum_of_components;

/// The sinks of a block.
///
/// Memory of larger blocks is kept as it is: what was written once is only written over.
#[derive(Debug, Clone, Default)]
pub struct Sinks {
    all: Vec<Sink>,
    /// So many of the first are the block's.
    count: usize,
}

/// What is seen of sinks as they are copied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// All of them are good at first sight.
    pub good: bool,
    /// Some of them wants neighbours.
    pub radius: bool,
}

/// What good sinks keep to.
#[derive(Debug, Clone, Copy)]
struct Limits {
    position: f64,
    vectors: usize,
}

/// Fewer sinks are copied sooner than other threads are awake.
const MANY: usize = 1 << 15;

/// Sinks that a thread copies at a time.
const PIECE: usize = 1 << 11;

/// Place for a sink to come.
const BLANK: Sink = Sink { index: 0, softening2: 0.0, radius2: 0.0, derivatives: [[0.0; 3]; MAX_VECTORS] };

impl Sinks {
    /// Copies all that come.
    #[allow(clippy::manual_inspect, reason = "vectors grow at once by as many items as `map` is known to have")]
    pub(super) fn collect(&mut self, sinks: impl Iterator<Item = Sink>, descriptor: &Descriptor) -> Result<Look> {
        self.count = 0;
        self.all.clear();
        self.reserve(sinks.size_hint().0)?;
        let (mut look, limits) = (Look::NOTHING, Limits::of(descriptor));
        self.all.extend(sinks.map(|sink| {
            look.take(&sink, limits);
            sink
        }));
        self.count = self.all.len();
        Ok(look)
    }

    /// Makes so many, each from its number, on some of the threads.
    pub(super) fn make(
        &mut self,
        count: usize,
        sink: impl Fn(usize) -> Sink + Sync,
        descriptor: &Descriptor,
        threads: &Threads,
    ) -> Result<Look> {
        self.count = 0;
        if self.all.len() < count {
            self.reserve(count - self.all.len())?;
            self.all.resize(count, BLANK);
        }
        self.count = count;
        let limits = Limits::of(descriptor);
        let places = &mut self.all[..count];
        if count < MANY || threads.count() == 1 {
            return Ok(fill(places, 0, &sink, limits));
        }
        let looks = Mutex::new(Vec::new());
        let pieces = places.chunks_mut(PIECE).enumerate();
        let work = |(number, places): (usize, &mut [Sink]), look: &mut Look| {
            *look = look.and(fill(places, number * PIECE, &sink, limits));
        };
        threads.run(pieces, &looks, || Look::NOTHING, work);
        let looks = looks.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        Ok(looks.into_iter().fold(Look::NOTHING, Look::and))
    }

    fn reserve(&mut self, more: usize) -> Result<()> {
        self.all.try_reserve(more).map_err(|_| Error::OutOfMemory {
            what: "sinks",
            bytes: self.all.len().saturating_add(more).saturating_mul(size_of::<Sink>()),
        })
    }
}

/// Makes sinks, from the one of this number on.
fn fill(places: &mut [Sink], first: usize, sink: &impl Fn(usize) -> Sink, limits: Limits) -> Look {
    let mut look = Look::NOTHING;
    for (place, number) in places.iter_mut().zip(first..) {
        let sink = sink(number);
        look.take(&sink, limits);
        *place = sink;
    }
    look
}

impl Limits {
    fn of(descriptor: &Descriptor) -> Limits {
        Limits { position: descriptor.bounds.position, vectors: descriptor.vectors }
    }
}

impl Look {
    /// What is seen of no sinks.
    const NOTHING: Look = Look { good: true, radius: false };

    /// Looks at one of many, without a branch; which of them is wrong is looked for when one is.
    #[inline(always)]
    fn take(&mut self, sink: &Sink, limits: Limits) {
        let position = &sink.derivatives[0];
        let largest = limits.position;
        let higher = sum_of_components(&sink.derivatives[1..limits.vectors]);
        let near = |value: &f64| value.abs() <= largest;
        self.good &= near(&position[0]) & near(&position[1]) & near(&position[2]);
        self.good &= (sink.softening2 >= 0.0) & (sink.softening2 <= largest * largest);
        self.good &= (higher + sink.radius2).abs() < f64::INFINITY;
        self.radius |= sink.radius2 > 0.0;
    }

    fn and(self, other: Look) -> Look {
        Look { good: self.good & other.good, radius: self.radius | other.radius }
    }
}

impl Deref for Sinks {
    type Target = [Sink];

    fn deref(&self) -> &[Sink] {
        &self.all[..self.count]
    }
}

impl FromIterator<Sink> for Sinks {
    fn from_iter<I: IntoIterator<Item = Sink>>(sinks: I) -> Sinks {
        let all: Vec<Sink> = sinks.into_iter().collect();
        Sinks { count: all.len(), all }
    }
}
