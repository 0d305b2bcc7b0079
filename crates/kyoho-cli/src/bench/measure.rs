//! A system of a Plummer model's bodies, and the time that its work takes.

use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::bench::row::{Row, Work};
use crate::failure::Result;
use crate::model::plummer;
use kyoho::{Setup, System};
use kyoho_core::{Forces, Order, Sink, Source, memory, padded};
use kyoho_hal::Backend;
use kyoho_integrators::body::{self, Body, Vector};

/// The softening length. It does not change the work, and it keeps the forces of the model's
/// closest pairs ordinary.
pub const SOFTENING: f64 = 1.0 / 256.0;
/// The number of turns in which the time of a row is spent, each with at least one call. Systems
/// that are compared take turns, so that a disturbance of the machine affects all of them.
const TURNS: usize = 3;
/// The most calls of one turn.
const CALLS: usize = 30_000;
/// The number of sources that are written in one timed batch. A single write is shorter than the
/// clock's own time.
const BATCH: usize = 1000;

/// A body with the data that callers have at hand. The further data of an integrator would only
/// fill caches.
#[derive(Clone, Copy)]
pub struct Particle {
    /// The mass.
    pub mass: f64,
    /// Position, velocity, acceleration, jerk.
    pub motion: [Vector; 4],
}

impl Particle {
    /// Returns it as a source for forces of an order, with the derivatives from which that order
    /// predicts.
    pub fn source(&self, order: Order, number: usize, time: f64) -> Source {
        let (index, mass, motion) = (number as i32, self.mass, self.motion);
        match order {
            Order::Second | Order::Fourth => Source::from_derivatives(index, mass, time, motion),
            Order::Sixth => Source::from_derivatives::<6>(index, mass, time, padded(motion)),
            Order::Eighth => Source::from_derivatives::<8>(index, mass, time, padded(motion)),
        }
    }

    /// Returns it as a sink. If neighbours are left out, `radius2` is their squared radius for each
    /// unit of the sink's mass.
    pub fn sink(&self, number: usize, radius2: f64) -> Sink {
        Sink { radius2, ..body::sink(number, SOFTENING, self.motion) }
    }
}

/// A system that is measured.
pub struct Bench {
    system: System,
    bodies: Rc<Vec<Particle>>,
    /// The number of sources, which are the first bodies.
    nj: usize,
    /// The seconds for each row.
    seconds: f64,
    time: f64,
    /// The squared radius of each sink.
    radius2: f64,
    /// The source that is written next.
    next: usize,
}

/// The number of neighbours of a body near the half-mass radius, similar to the choice of
/// integrators.
const NEIGHBOURS: f64 = 64.0;

/// Returns the squared radius for each unit of mass within which this many of `n` bodies are. The
/// bodies have equal masses with the sum 1.
fn radius2_of_regular(n: usize) -> f64 {
    // Half of them are within about 0.8 of the centre.
    let radius = 0.8 * (2.0 * NEIGHBOURS / n as f64).cbrt().min(1.0);
    radius * radius * n as f64
}

/// Returns the bodies of a system of `n` sources. Several systems may share them.
pub fn bodies(n: usize) -> Result<Rc<Vec<Particle>>> {
    let bodies = plummer::model(n, 1)?;
    let particle = |body: &Body| Particle { mass: body.mass, motion: padded([body.position, body.velocity]) };
    Ok(Rc::new(memory::collected(bodies.iter().map(particle), "bodies")?))
}

/// Returns the seconds that measuring a row takes at least if each call takes this long.
pub fn least_seconds(call: f64) -> f64 {
    (TURNS + 1) as f64 * call
}

impl Bench {
    /// Makes a system of these sources, each of whose rows takes this many seconds.
    pub fn new(seconds: f64, setup: &Setup, bodies: &Rc<Vec<Particle>>) -> Result<Bench> {
        Bench::of_first(bodies.len(), seconds, setup, bodies)
    }

    /// Makes a system whose sources are the first `nj` of these bodies, all of which may be sinks.
    pub fn of_first(nj: usize, seconds: f64, setup: &Setup, bodies: &Rc<Vec<Particle>>) -> Result<Bench> {
        let mut system = System::new(setup)?;
        for (number, body) in bodies[..nj].iter().enumerate() {
            system.set_source(number, &body.source(setup.order, number, 0.0))?;
        }
        let radius2 = if system.interaction().is_regular() { radius2_of_regular(nj) } else { 0.0 };
        Ok(Bench { system, bodies: bodies.clone(), nj, seconds, time: 0.0, radius2, next: 0 })
    }

    /// Returns the system.
    pub fn system(&mut self) -> &mut System {
        &mut self.system
    }

    /// Returns the number of sources.
    pub fn nj(&self) -> usize {
        self.nj
    }

    /// Whether lists of neighbours belong to the forces.
    pub fn makes_lists(&self) -> bool {
        self.system.interaction().is_regular()
    }

    /// Returns the number of devices.
    pub fn devices(&self) -> usize {
        self.system.setup().devices.len()
    }

    /// Measures a row of forces on `ni` sinks.
    pub fn forces(&mut self, work: Work, ni: usize) -> Result<Row> {
        Ok(forces(std::slice::from_mut(self), work, ni)?.remove(0))
    }

    /// Makes one call of such a row and returns its forces.
    pub fn call(&mut self, work: Work, ni: usize) -> Result<Forces<'_>> {
        if matches!(work, Work::BlockStep | Work::BlockStepLists) {
            // Blocks go through all sources, as those of an integrator do.
            for _ in 0..ni.min(self.nj) {
                self.set_next()?;
            }
        }
        if matches!(work, Work::BlockStep | Work::BlockStepLists | Work::OneSinkPredicted) {
            self.time += 1.0 / (1u64 << 30) as f64;
            self.system.set_time(self.time)?;
        }
        let (bodies, radius2) = (&self.bodies[..], self.radius2);
        self.system.start_from_fn(self.nj, true, ni, |number| bodies[number].sink(number, radius2))?;
        self.system.wait()?;
        if work == Work::BlockStepLists {
            (0..ni).try_for_each(|sink| self.system.neighbours(sink).map(|_| ()))?;
        }
        Ok(self.system.forces()?)
    }

    /// Returns the seconds of one call after the first.
    pub fn trial(&mut self, work: Work, ni: usize) -> Result<f64> {
        self.call(work, ni)?;
        let began = Instant::now();
        self.call(work, ni)?;
        Ok(began.elapsed().as_secs_f64())
    }

    /// Measures the writing of one source.
    pub fn set_source(&mut self) -> Result<Row> {
        let seconds = self.seconds;
        let (seconds, calls) = in_turns(seconds, &mut [|| (0..BATCH).try_for_each(|_| self.set_next())])?.remove(0);
        Ok(self.row(Work::SetSource, [1, self.nj()], (seconds / BATCH as f64, calls)))
    }

    fn set_next(&mut self) -> Result<()> {
        let source = self.bodies[self.next].source(self.system.interaction().order, self.next, self.time);
        self.system.set_source(self.next, &source)?;
        self.next = (self.next + 1) % self.nj;
        Ok(())
    }

    /// Makes the row of some work from the median time of its calls and their number.
    pub fn row(&self, work: Work, [ni, nj]: [usize; 2], (seconds, calls): (f64, usize)) -> Row {
        let (setup, interaction) = (self.system.setup(), self.system.interaction());
        // A tree does not sum pairs one by one.
        let sums_pairs = !matches!(work, Work::SetSource | Work::Tree | Work::TreeSourcesStay);
        let interactions = sums_pairs.then_some(ni as f64 * nj as f64 / seconds);
        let on_cpu = setup.backend == Backend::Cpu;
        Row {
            work,
            backend: setup.backend.name(),
            device: names(self.system.devices().into_iter().map(|device| device.name).collect()),
            devices: setup.devices.clone(),
            order: interaction.order as i32,
            precision: interaction.precision.name(),
            scope: interaction.scope.name(),
            threads: on_cpu.then_some(setup.threads),
            level: on_cpu.then_some(setup.level.name()),
            ni,
            nj,
            seconds,
            speedup: None,
            calls,
            model_seconds: if work == Work::BlockStep { self.system.estimate(ni, nj) } else { None },
            interactions_per_second: interactions,
            flops_per_second: interactions.map(|rate| rate * f64::from(interaction.flops_per_pair)),
            prediction_seconds_per_source: None,
            groups: None,
            groups_per_second: None,
            of_n_times_n: None,
            on_device: None,
            accuracy: None,
            theta: None,
            walk: None,
            phase_seconds: None,
            interactions_per_sink: None,
            error_median: None,
            error_percentile_99: None,
            of_direct: None,
        }
    }
}

/// Measures a row of forces on `ni` sinks for each of some systems.
pub fn forces(benches: &mut [Bench], work: Work, ni: usize) -> Result<Vec<Row>> {
    let seconds = benches.first().map_or(0.0, |bench| bench.seconds);
    let mut calls: Vec<_> = benches.iter_mut().map(|bench| move || bench.call(work, ni).map(|_| ())).collect();
    let medians = in_turns(seconds, &mut calls)?;
    drop(calls);
    Ok(benches.iter().zip(medians).map(|(bench, median)| bench.row(work, [ni, bench.nj()], median)).collect())
}

/// Times calls that take turns, each for this many seconds in all, after one of each to warm up.
/// Returns for each the median and the number of calls.
pub fn in_turns(seconds: f64, calls: &mut [impl FnMut() -> Result<()>]) -> Result<Vec<(f64, usize)>> {
    calls.iter_mut().try_for_each(|call| call())?;
    let mut times: Vec<Times> = calls.iter().map(|_| Times::default()).collect();
    for _ in 0..TURNS {
        for (call, times) in calls.iter_mut().zip(&mut times) {
            times.take_turn(seconds, call)?;
        }
    }
    Ok(times.into_iter().map(Times::median).collect())
}

/// The seconds of the calls of a row.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    /// Times as many calls as fit into one turn of the row, at least one.
    fn take_turn(&mut self, seconds: f64, mut call: impl FnMut() -> Result<()>) -> Result<()> {
        let until = Instant::now() + Duration::from_secs_f64(seconds / TURNS as f64);
        for _ in 0..CALLS {
            let began = Instant::now();
            call()?;
            self.0.push(began.elapsed().as_secs_f64());
            if Instant::now() >= until {
                break;
            }
        }
        Ok(())
    }

    /// Returns the median and the number of calls.
    fn median(mut self) -> (f64, usize) {
        self.0.sort_by(f64::total_cmp);
        (self.0[self.0.len() / 2], self.0.len())
    }
}

/// Returns the names of devices. Equal names that follow each other become one with a count.
fn names(all: Vec<String>) -> String {
    let told = all.chunk_by(|one, next| one == next).map(|equal| match equal.len() {
        1 => equal[0].clone(),
        count => format!("{count} x {}", equal[0]),
    });
    told.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_devices_are_told_once() {
        let told = |all: &[&str]| names(all.iter().map(|name| name.to_string()).collect());
        assert_eq!(told(&["A"]), "A");
        assert_eq!(told(&["A", "A", "A", "B"]), "3 x A, B");
    }
}
