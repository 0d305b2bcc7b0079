//! The measurement of errors, and their limits.

use std::thread::available_parallelism;

use crate::findings::Findings;
use crate::models;
use crate::reference::real::norm;
use crate::reference::{DoubleDouble, Force, Predicted, Real, force, predict_all};
use crate::target::Target;
use kyoho_core::{Forces, Order, Precision, Result, Sink, Source};
use kyoho_engine::{QuadForce, System};
use kyoho_hal::threads::Threads;

/// The worst and the mean of several errors.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spread {
    /// The largest error. It is NaN if any error is.
    pub worst: f64,
    /// The mean error.
    pub mean: f64,
}

impl Spread {
    fn of(errors: &[f64]) -> Spread {
        let worst = errors.iter().fold(0.0, |worst, error| if error <= &worst { worst } else { *error });
        let mean = errors.iter().fold(0.0, |sum, error| sum + error) / errors.len().max(1) as f64;
        Spread { worst: if mean.is_nan() { mean } else { worst }, mean }
    }
}

/// The errors of the forces on some sinks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Errors {
    /// The error of the potential.
    pub potential: Spread,
    /// The error of the acceleration.
    pub acceleration: Spread,
    /// The error of the jerk. It is zero if the order has no jerk, and so are the errors of higher
    /// derivatives.
    pub jerk: Spread,
    /// The error of the snap.
    pub snap: Spread,
    /// The error of the crackle.
    pub crackle: Spread,
    /// The number of sinks whose nearest source is wrong.
    pub wrong_nearest: usize,
}

impl Errors {
    /// Notes errors that are in units of the possible rounding of their terms.
    pub(crate) fn note_in_units_of_rounding(&self, findings: &mut Findings, what: &str) {
        for (quantity, error) in self.quantities() {
            findings.measure(&format!("{what}: units of rounding of the {quantity}"), error.worst, UNITS);
        }
        findings.expect(self.wrong_nearest == 0, || {
            format!("{what}: expected the nearest source of each sink, found {} wrong", self.wrong_nearest)
        });
    }

    /// Returns the errors of each quantity by name.
    pub fn quantities(&self) -> [(&'static str, Spread); 5] {
        [
            ("potential", self.potential),
            ("acceleration", self.acceleration),
            ("jerk", self.jerk),
            ("snap", self.snap),
            ("crackle", self.crackle),
        ]
    }
}

/// The allowed error of a sum in units of rounding of its terms' absolute values. A pair has about
/// a dozen steps, and a tile sums up to 64 of them in a lane.
const UNITS: f64 = 16.0;

/// The largest allowed relative errors of any body of a Plummer model of 1024 bodies, softened by
/// 1/64.
///
/// Near the centre a force is a few hundredths of the sum of the absolute values of its terms, so
/// that the worst error of all bodies is about ten times the rounding of one term. The terms of the
/// jerk cancel more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The worst error of the potential.
    pub potential: f64,
    /// The worst error of the acceleration.
    pub acceleration: f64,
    /// The mean error of the acceleration.
    pub acceleration_mean: f64,
    /// The worst error of the jerk.
    pub jerk: f64,
    /// The worst error of the snap.
    pub snap: f64,
    /// The worst error of the crackle.
    pub crackle: f64,
}

impl Limits {
    /// Returns the limits of a precision.
    pub fn of(precision: Precision) -> Limits {
        let (potential, acceleration, acceleration_mean, [jerk, snap, crackle]) = match precision {
            Precision::Single => (2e-7, 4e-6, 2e-7, [3e-5; 3]),
            Precision::Mixed => (2e-7, 2e-6, 1e-7, [2e-5; 3]),
            Precision::Double => (2e-15, 5e-15, 5e-16, [5e-14; 3]),
            Precision::Quad => (1e-28, 1e-28, 1e-28, [1e-28; 3]),
        };
        Limits { potential, acceleration, acceleration_mean, jerk, snap, crackle }
    }
}

/// The rounding of a precision.
pub struct Rounding {
    /// Half a unit in the last place of the numbers in which pairs are computed.
    pub pair: f64,
    /// The relative error of a coordinate in a pair.
    pub coordinate: f64,
    /// The smallest distance whose square is a normal number.
    pub smallest_distance: f64,
}

impl Rounding {
    /// Returns the rounding of a precision.
    pub fn of(precision: Precision) -> Rounding {
        let (pair, coordinate, smallest) = match precision {
            Precision::Single => {
                (f64::from(f32::EPSILON) / 2.0, f64::from(f32::EPSILON) / 2.0, f32::MIN_POSITIVE.into())
            }
            Precision::Mixed => (f64::from(f32::EPSILON) / 2.0, 2f64.powi(-48), f32::MIN_POSITIVE.into()),
            Precision::Double | Precision::Quad => (f64::EPSILON / 2.0, f64::EPSILON / 2.0, f64::MIN_POSITIVE),
        };
        Rounding { pair, coordinate, smallest_distance: smallest.sqrt() }
    }
}

/// Sources at time 0, sinks, and the forces on them in double-double.
pub struct Problem {
    /// The sources, at the addresses 0, 1, ...
    pub sources: Vec<Source>,
    /// The sinks.
    pub sinks: Vec<Sink>,
    predicted: Vec<Predicted<DoubleDouble>>,
    /// The expected force on each sink, up to the highest order.
    pub expected: Vec<Force<DoubleDouble>>,
}

impl Problem {
    /// Computes the expected forces.
    pub fn new(sources: Vec<Source>, sinks: Vec<Sink>) -> Problem {
        let predicted = predict_all::<DoubleDouble>(Order::Eighth, &sources, 0.0);
        let mut expected = vec![None; sinks.len()];
        let threads = Threads::new(available_parallelism().map_or(1, |count| count.get()));
        threads.each(expected.iter_mut().zip(&sinks), |(expected, sink)| {
            *expected = Some(force(Order::Eighth, &predicted, true, sink));
        });
        Problem { sources, sinks, predicted, expected: expected.into_iter().flatten().collect() }
    }

    /// Returns the relative errors of a target.
    pub fn errors(&self, target: &Target) -> Result<Errors> {
        let mut system = System::new(&target.setup)?;
        for (address, source) in self.sources.iter().enumerate() {
            system.set_source(address, source)?;
        }
        let computed = system.force(self.sources.len(), true, self.sinks.iter().copied())?;
        Ok(measure(
            target,
            computed,
            self.expected.iter().enumerate(),
            |_| &self.predicted,
            &self.sinks,
            |force, quantity| {
                let vectors = [force.acceleration, force.jerk, force.snap, force.crackle];
                if quantity == 0 { force.potential.to_f64().abs() } else { norm(vectors[quantity - 1]) }
            },
        ))
    }
}

/// Returns a Plummer model, softened by 1/64, with every `stride`-th body a sink.
pub fn plummer_problem(bodies: usize, stride: usize) -> Problem {
    let sources = models::plummer(bodies);
    let sinks = models::sinks_of(&sources, 1.0 / 4096.0).into_iter().step_by(stride).collect();
    Problem::new(sources, sinks)
}

/// Returns a body at a distance of 1 from the origin and 64 sinks around it at one separation,
/// without softening. The errors show how exact the differences of coordinates are.
pub fn pair_problem(separation: f64) -> Problem {
    let place = [0.48, -0.6, 0.64];
    let mut random = models::Random::new(1801);
    let around = |index: i32| {
        let direction = random.direction();
        models::sink_at(-1 - index, std::array::from_fn(|k| place[k] + separation * direction[k]), 0.0)
    };
    let sinks = (0..64).map(around).collect();
    Problem::new(vec![models::at(0, place)], sinks)
}

/// Measures the errors of computed forces on the sinks with these numbers, each divided by a size:
/// that of the expected potential (0), acceleration (1), jerk (2), snap (3) or crackle (4), or the
/// possible error of a sum in rounded numbers. `predicted` returns the sources that act on a sink.
pub fn measure<'a>(
    target: &Target,
    computed: Forces,
    expected: impl Iterator<Item = (usize, &'a Force<DoubleDouble>)>,
    predicted: impl Fn(usize) -> &'a [Predicted<DoubleDouble>],
    sinks: &[Sink],
    size: impl Fn(&Force<DoubleDouble>, usize) -> f64,
) -> Errors {
    let off = |computed: [DoubleDouble; 3], expected: [DoubleDouble; 3]| -> f64 {
        norm::<DoubleDouble>(std::array::from_fn(|k| computed[k] - expected[k]))
    };
    // A quantity that is expected to be zero must be zero.
    let relative = |error: f64, size: f64| if error == 0.0 { 0.0 } else { error / size };
    let vectors = target.interaction().n_derivatives;
    let mut errors = [(); 5].map(|_| Vec::with_capacity(expected.size_hint().0));
    let mut wrong_nearest = 0;
    for (number, force) in expected {
        let found = QuadForce::of(&computed, number);
        let potential = off([found.potential, zero(), zero()], [force.potential, zero(), zero()]);
        errors[0].push(relative(potential, size(force, 0)));
        let expected = [force.acceleration, force.jerk, force.snap, force.crackle];
        for (quantity, (computed, expected)) in (1..=vectors).zip(found.derivatives.into_iter().zip(expected)) {
            errors[quantity].push(relative(off(computed, expected), size(force, quantity)));
        }
        if target.interaction().nearest {
            let found = computed.nearest(number).map(|nearest| (nearest.distance2, nearest.index));
            let right = is_nearest(target, found, force.nearest, predicted(number), &sinks[number]);
            wrong_nearest += usize::from(!right);
        }
    }
    let [potential, acceleration, jerk, snap, crackle] = errors.map(|errors| Spread::of(&errors));
    Errors { potential, acceleration, jerk, snap, crackle, wrong_nearest }
}

fn zero() -> DoubleDouble {
    DoubleDouble::from_f64(0.0)
}

/// Whether a source is a nearest one, up to the rounding of distances.
fn is_nearest(
    target: &Target,
    found: Option<(f64, i32)>,
    expected: Option<(DoubleDouble, i32)>,
    predicted: &[Predicted<DoubleDouble>],
    sink: &Sink,
) -> bool {
    let (found, expected) = match (found, expected) {
        (Some(found), Some(expected)) => (found, expected),
        (found, expected) => return found.is_none() && expected.is_none(),
    };
    let place = sink.derivatives[0].map(DoubleDouble::from_f64);
    let named = predicted
        .iter()
        .filter(|source| source.index == found.1)
        .map(|source| {
            let r = std::array::from_fn(|k| source.derivatives[0][k] - place[k]);
            (norm::<DoubleDouble>(r), norm(source.derivatives[0]))
        })
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((named, size)) = named else { return false };
    let nearest = expected.0.sqrt().to_f64();
    let blur = 16.0 * target.rounding() * nearest + 4.0 * target.coordinate_rounding() * (norm(place) + size);
    (named - nearest).abs() <= blur
        && (found.0.sqrt() - nearest).abs() <= blur.max(Rounding::of(target.setup.precision).smallest_distance)
}
