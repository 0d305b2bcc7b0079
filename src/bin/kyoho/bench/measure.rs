//! A system of a Plummer model's bodies, and how long its work takes.

use std::time::{Duration, Instant};

use kyoho::{Backend, Setup, System};

use crate::body::Body;
use crate::failure::Result;
use crate::plummer;

use super::row::{Row, Work};

/// Softening does not change the work; it keeps the model's closest pairs ordinary.
const SOFTENING: f64 = 1.0 / 256.0;
/// Calls that a median is of at least, and at most.
const CALLS: std::ops::RangeInclusive<usize> = 3..=100_000;
/// Sources written in one timed batch: a single one is shorter than the clock's own time.
const BATCH: usize = 1000;

/// What is measured.
pub struct Bench {
    system: System,
    bodies: Vec<Body>,
    /// For each row.
    seconds: f64,
    time: f64,
}

impl Bench {
    /// A system of `n` sources, whose rows take so many seconds each.
    pub fn new(seconds: f64, setup: &Setup, n: usize) -> Result<Bench> {
        let mut system = System::new(setup)?;
        let bodies = plummer::model(n, 1);
        for (number, body) in bodies.iter().enumerate() {
            system.set_source(number, &body.source(number, 1.0, 0.0))?;
        }
        Ok(Bench { system, bodies, seconds, time: 0.0 })
    }

    /// The number of sources.
    pub fn nj(&self) -> usize {
        self.bodies.len()
    }

    /// Every source is a sink.
    pub fn n_times_n(&mut self) -> Result<Row> {
        let n = self.nj();
        let median = self.median(1, |bench| bench.force(n))?;
        Ok(self.row(Work::NTimesN, n, median))
    }

    /// A block step of `ni` sinks.
    pub fn block_step(&mut self, ni: usize) -> Result<Row> {
        let (n, mut begin) = (self.nj(), 0);
        let median = self.median(1, |bench| {
            // Blocks go through the sources, as those of an integrator do.
            for number in (begin..begin + ni).map(|number| number % n) {
                bench.set(number)?;
            }
            begin = (begin + ni) % n;
            bench.later()?;
            bench.force(ni)
        })?;
        let model_seconds = self.system.estimate(ni, n);
        Ok(Row { model_seconds, ..self.row(Work::BlockStep, ni, median) })
    }

    /// The seconds that measuring a block step of `ni` sinks will take at least, if a call takes as long for each sink
    /// as one that was measured.
    pub fn foreseen(&self, ni: usize, measured: &Row) -> f64 {
        let call = measured.seconds * ni as f64 / measured.ni as f64;
        (CALLS.start() + 1) as f64 * call
    }

    /// One sink at the time of the call before.
    pub fn one_sink(&mut self) -> Result<Row> {
        let median = self.median(1, |bench| bench.force(1))?;
        Ok(self.row(Work::OneSink, 1, median))
    }

    /// One sink at a new time.
    pub fn one_sink_predicted(&mut self) -> Result<Row> {
        let median = self.median(1, |bench| {
            bench.later()?;
            bench.force(1)
        })?;
        Ok(self.row(Work::OneSinkPredicted, 1, median))
    }

    /// The writing of one source.
    pub fn set_source(&mut self) -> Result<Row> {
        let (n, mut next) = (self.nj(), 0);
        let median = self.median(BATCH, |bench| {
            for _ in 0..BATCH {
                bench.set(next)?;
                next = (next + 1) % n;
            }
            Ok(())
        })?;
        Ok(self.row(Work::SetSource, 1, median))
    }

    fn set(&mut self, number: usize) -> Result<()> {
        let source = self.bodies[number].source(number, 1.0, self.time);
        Ok(self.system.set_source(number, &source)?)
    }

    fn later(&mut self) -> Result<()> {
        self.time += 1.0 / (1u64 << 30) as f64;
        Ok(self.system.set_time(self.time)?)
    }

    fn force(&mut self, ni: usize) -> Result<()> {
        let sinks = self.bodies[..ni].iter().enumerate().map(|(number, body)| body.sink(number, SOFTENING));
        self.system.force(self.bodies.len(), true, sinks)?;
        Ok(())
    }

    /// The median time of one of `parts` equal parts of a call, and how many calls were timed, after one to warm up.
    fn median(&mut self, parts: usize, mut call: impl FnMut(&mut Self) -> Result<()>) -> Result<(f64, usize)> {
        call(self)?;
        let until = Instant::now() + Duration::from_secs_f64(self.seconds);
        let mut times = Vec::new();
        while times.len() < *CALLS.start() || (times.len() < *CALLS.end() && Instant::now() < until) {
            let began = Instant::now();
            call(self)?;
            times.push(began.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        Ok((times[times.len() / 2] / parts as f64, times.len()))
    }

    fn row(&self, work: Work, ni: usize, (seconds, calls): (f64, usize)) -> Row {
        let (nj, setup, descriptor) = (self.nj(), self.system.setup(), self.system.descriptor());
        let interactions = (work != Work::SetSource).then_some(ni as f64 * nj as f64 / seconds);
        let on_cpu = setup.backend == Backend::Cpu;
        Row {
            work,
            backend: setup.backend.name(),
            device: self.system.devices().into_iter().map(|device| device.name).collect::<Vec<_>>().join(", "),
            order: descriptor.order as i32,
            precision: descriptor.precision.name(),
            threads: on_cpu.then_some(setup.threads),
            level: on_cpu.then_some(setup.level.name()),
            ni,
            nj,
            seconds,
            calls,
            model_seconds: None,
            interactions_per_second: interactions,
            flops_per_second: interactions.map(|rate| rate * f64::from(descriptor.flops_per_pair)),
            prediction_seconds_per_source: None,
        }
    }
}
