//! What the seeds of calls stand for: sources, sinks and lists.

use kyoho::{QuadSink, QuadSource};
use kyoho_core::{MAX_COEFFICIENTS, NeighbourCriterion, Sink, Source};
use kyoho_laws::double_double::{Double, DoubleDouble};
use kyoho_verify::PlainLists;
use kyoho_verify::models::Random;

use crate::calls::Form;
use crate::late::Vectors;

/// The powers of ten of the sizes of sources and sinks, which are far apart.
const POWERS: [i32; 4] = [0, 0, -12, 10];

/// The length of a tick.
pub const TICK: f64 = 1.0 / 16.0;

/// Draws the sources of one call, mostly of one size.
pub fn sources(seed: u64, count: usize) -> Vec<Source> {
    let mut random = Random::new(seed);
    let (length, mass) = (POWERS[random.below(4)], [0, 0, -10, 20][random.below(4)]);
    let source = |_| {
        let odd = random.below(40) == 0;
        let length = 10f64.powi(if odd { POWERS[random.below(4)] } else { length });
        let mut coefficients = [[0.0; 3]; MAX_COEFFICIENTS];
        for coefficient in coefficients.iter_mut().take(1 + random.below(MAX_COEFFICIENTS)) {
            *coefficient = random.direction().map(|component| component * length);
        }
        let index = random.below(60) as i32;
        Source { index, mass: random.unit() * 10f64.powi(mass), time: random.below(8) as f64 * TICK, coefficients }
    };
    (0..count).map(source).collect()
}

/// Draws sources with their derivatives, as arrays have them.
pub fn derived(seed: u64, count: usize) -> Vec<(Source, Vectors)> {
    let of = |source: Source| {
        let vectors = source.coefficients;
        (Source::from_derivatives::<MAX_COEFFICIENTS>(source.index, source.mass, source.time, vectors), vectors)
    };
    sources(seed, count).into_iter().map(of).collect()
}

/// Draws sinks for arrays on a device: each with its softening, which is returned as `true`, or with
/// one for all.
pub fn sinks_in_arrays(seed: u64, count: usize, has_tree: bool) -> (Vec<Sink>, bool) {
    let is_each = seed.is_multiple_of(2);
    (sinks(seed, count, has_tree || !is_each), is_each)
}

/// Returns a number of which the low limb is not zero.
fn in_limbs(high: f64) -> DoubleDouble {
    Double { high, low: high * 1.7e-17 }
}

pub fn quad_source(source: &Source) -> QuadSource {
    QuadSource {
        index: source.index,
        mass: in_limbs(source.mass),
        time: Double::from_limb(source.time),
        softening2: Double::ZERO,
        derivatives: source.coefficients.map(|vector| vector.map(in_limbs)),
    }
}

/// Draws sinks of one size, with one softening if a tree needs that.
pub fn sinks(seed: u64, count: usize, is_uniform: bool) -> Vec<Sink> {
    let mut random = Random::new(seed);
    let length = 10f64.powi(POWERS[random.below(4)]);
    let softening2 = [0.0, length * length][random.below(2)];
    let sink = |_| Sink {
        index: random.below(60) as i32,
        softening2: if is_uniform { softening2 } else { [0.0, 1.0, length * length][random.below(3)] },
        radius2: [0.0, 1.0, length * length][random.below(3)],
        step: [0.0, 0.25][random.below(2)],
        derivatives: std::array::from_fn(|_| random.direction().map(|component| component * length)),
    };
    (0..count).map(sink).collect()
}

pub fn quad_sink(sink: &Sink) -> QuadSink {
    QuadSink {
        index: sink.index,
        softening2: in_limbs(sink.softening2),
        radius2: in_limbs(sink.radius2),
        derivatives: sink.derivatives.map(|vector| vector.map(in_limbs)),
    }
}

/// Draws which sources are neighbours.
pub fn criterion(seed: u64) -> NeighbourCriterion {
    if seed.is_multiple_of(3) { NeighbourCriterion::Plain } else { NeighbourCriterion::ByMass }
}

/// Draws lists for groups of as many sinks and sources, for a system that has sources below this
/// address.
pub fn lists_of(form: Form, sizes: &[(usize, usize)], seed: u64, end: usize) -> PlainLists {
    let (mut random, sizes) = (Random::new(seed), sizes.iter().copied());
    match form {
        Form::Ranges => {
            let mut range = |length: usize| {
                let first = random.below(end);
                first..end.min(first + length)
            };
            PlainLists::of_ranges(&sizes.map(|(ni, length)| (ni, range(length))).collect::<Vec<_>>())
        }
        Form::Addresses => {
            let mut list = |length: usize| (0..length.min(2 * end)).map(|_| random.below(end)).collect::<Vec<_>>();
            PlainLists::of_addresses(&sizes.map(|(ni, length)| (ni, list(length))).collect::<Vec<_>>())
        }
        Form::Own => {
            let mut list = |length: usize| sources(random.bits(), length);
            PlainLists::of_sources(&sizes.map(|(ni, length)| (ni, list(length))).collect::<Vec<_>>())
        }
    }
}
