//! `kyoho bench`: how fast forces are, N x N, in block steps, on one sink; and what writing sources costs.

use std::time::{Duration, Instant};

use kyoho::catalogue::{self, CATALOGUE, Descriptor};
use kyoho::config::Settings;
use kyoho::{Order, Precision, System};
use serde::Serialize;

use crate::body::Body;
use crate::failure::{Failure, Result};
use crate::machine::{Machine, named};
use crate::plummer;

/// The options of `kyoho bench`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Order of the forces: 2 or 4 [default: 4]
    #[arg(long, conflicts_with = "sweep")]
    order: Option<i32>,
    /// Precision of the forces: single, mixed, double [default: KYOHO_PRECISION, else mixed]
    #[arg(long, conflicts_with = "sweep")]
    precision: Option<String>,
    /// Numbers of sources
    #[arg(long, value_delimiter = ',', default_value = "1024,16384", value_parser = clap::value_parser!(u32).range(1..=1 << 28))]
    n: Vec<u32>,
    /// Numbers of sinks of the block steps; those above the number of sources are left out
    #[arg(long, value_delimiter = ',', default_value = "1,16,64,256,1024", value_parser = clap::value_parser!(u32).range(1..))]
    ni: Vec<u32>,
    /// Every order and precision, on one thread and on all
    #[arg(long)]
    sweep: bool,
    /// Seconds for each row of the table; at least three calls are timed however long they take
    #[arg(long, default_value_t = 0.3)]
    seconds: f64,
    /// Prints a JSON array instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    machine: Machine,
}

/// What one row measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Work {
    /// Every source is a sink; nothing was written or predicted since the last call.
    NTimesN,
    /// Writes `ni` sources, sets a new time, computes the forces on `ni` sinks.
    BlockStep,
    /// One sink at the time of the call before.
    OneSink,
    /// One sink at a new time: all sources are predicted.
    OneSinkPredicted,
    /// Writes one source.
    SetSource,
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Work::NTimesN => "N x N",
            Work::BlockStep => "block step",
            Work::OneSink => "one sink, same time",
            Work::OneSinkPredicted => "one sink, new time",
            Work::SetSource => "set_source",
        }
    }
}

/// A measured row.
#[derive(Debug, Serialize)]
struct Row {
    work: Work,
    backend: &'static str,
    device: String,
    order: i32,
    precision: &'static str,
    threads: usize,
    level: &'static str,
    ni: usize,
    nj: usize,
    /// The median, in seconds.
    seconds: f64,
    /// Calls that the median is of.
    calls: usize,
    interactions_per_second: Option<f64>,
    flops_per_second: Option<f64>,
    /// What predicting adds to a force on one sink, for each source.
    prediction_seconds_per_source: Option<f64>,
}

/// Measures and prints.
pub fn run(arguments: &Arguments) -> Result<()> {
    if !(arguments.seconds > 0.0 && arguments.seconds.is_finite()) {
        return Err(Failure::Argument {
            option: "--seconds",
            value: arguments.seconds.to_string(),
            allowed: "finite numbers above zero".into(),
        });
    }
    let settings = arguments.machine.settings()?;
    let descriptors = descriptors(arguments, &settings)?;
    let mut rows = Vec::new();
    if !arguments.json {
        out!(
            "order  precision  threads  level     work                       ni        nj     microseconds    Gint/s   TFLOPS"
        )?;
    }
    for descriptor in descriptors {
        for threads in threads(arguments, &settings) {
            let settings = Settings { threads, ..settings.clone() };
            for n in &arguments.n {
                Bench::new(arguments, &settings, descriptor, *n as usize)?.measure(&mut rows)?;
            }
        }
    }
    if arguments.json {
        out!("{}", serde_json::to_string_pretty(&rows).expect("rows have only strings as keys"))?;
    }
    Ok(())
}

/// The orders and precisions to measure.
fn descriptors(arguments: &Arguments, settings: &Settings) -> Result<Vec<&'static Descriptor>> {
    if arguments.sweep {
        return Ok(CATALOGUE.iter().collect());
    }
    let wrong =
        |option, value: String, allowed: &[String]| Failure::Argument { option, value, allowed: allowed.join(", ") };
    let number = arguments.order.unwrap_or(4);
    let orders = Order::ALL.map(|order| (order as i32).to_string());
    let order = Order::from_number(number).ok_or_else(|| wrong("--order", number.to_string(), &orders))?;
    let precision = match &arguments.precision {
        Some(name) => named("--precision", name, &catalogue::precisions(), Precision::name)?,
        None => settings.precision.unwrap_or(Precision::Mixed),
    };
    let of_order: Vec<String> = CATALOGUE
        .iter()
        .filter(|entry| entry.order == order)
        .map(|entry| format!("{} for order {number}", entry.precision.name()))
        .collect();
    catalogue::descriptor(order, precision)
        .map(|descriptor| vec![descriptor])
        .ok_or_else(|| wrong("--precision", precision.name().into(), &of_order))
}

/// The numbers of threads to measure.
fn threads(arguments: &Arguments, settings: &Settings) -> Vec<usize> {
    match arguments.sweep && settings.threads > 1 {
        true => vec![1, settings.threads],
        false => vec![settings.threads],
    }
}

/// Softening does not change the work; it keeps the model's closest pairs ordinary.
const SOFTENING: f64 = 1.0 / 256.0;
/// Calls that a median is of at least, and at most.
const CALLS: std::ops::RangeInclusive<usize> = 3..=100_000;
/// Sources written in one timed batch: a single one is shorter than the clock's own time.
const BATCH: usize = 1000;

struct Bench<'a> {
    system: System,
    bodies: Vec<Body>,
    descriptor: &'static Descriptor,
    settings: &'a Settings,
    arguments: &'a Arguments,
    time: f64,
}

impl Bench<'_> {
    fn new<'a>(
        arguments: &'a Arguments,
        settings: &'a Settings,
        descriptor: &'static Descriptor,
        n: usize,
    ) -> Result<Bench<'a>> {
        let mut system = System::new(&settings.setup(descriptor.order, descriptor.precision)?)?;
        let bodies = plummer::model(n, 1);
        for (number, body) in bodies.iter().enumerate() {
            system.set_source(number, &body.source(number, 1.0, 0.0))?;
        }
        Ok(Bench { system, bodies, descriptor, settings, arguments, time: 0.0 })
    }

    /// Measures every kind of work and prints or keeps the rows.
    fn measure(&mut self, rows: &mut Vec<Row>) -> Result<()> {
        let n = self.bodies.len();
        let first = rows.len();
        let median = self.median(1, |bench| bench.force(n))?;
        self.row(Work::NTimesN, n, median, rows)?;
        for ni in self.arguments.ni.iter().map(|ni| *ni as usize).filter(|ni| *ni <= n) {
            let mut begin = 0;
            let median = self.median(1, |bench| {
                // Blocks go through the sources, as those of an integrator do.
                for number in (begin..begin + ni).map(|number| number % n) {
                    bench.set(number)?;
                }
                begin = (begin + ni) % n;
                bench.later()?;
                bench.force(ni)
            })?;
            self.row(Work::BlockStep, ni, median, rows)?;
        }
        let same = self.median(1, |bench| bench.force(1))?;
        self.row(Work::OneSink, 1, same, rows)?;
        let new = self.median(1, |bench| {
            bench.later()?;
            bench.force(1)
        })?;
        self.row(Work::OneSinkPredicted, 1, new, rows)?;
        let prediction = (new.0 - same.0) / n as f64;
        rows[first..].iter_mut().filter(|row| row.work == Work::OneSinkPredicted).for_each(|row| {
            row.prediction_seconds_per_source = Some(prediction);
        });
        let mut next = 0;
        let written = self.median(BATCH, |bench| {
            for _ in 0..BATCH {
                bench.set(next)?;
                next = (next + 1) % n;
            }
            Ok(())
        })?;
        self.row(Work::SetSource, 1, written, rows)?;
        match self.arguments.json {
            true => Ok(()),
            false => out!("prediction: {:.2} ns a source\n", prediction * 1e9),
        }
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
        let until = Instant::now() + Duration::from_secs_f64(self.arguments.seconds);
        let mut times = Vec::new();
        while times.len() < *CALLS.start() || (times.len() < *CALLS.end() && Instant::now() < until) {
            let began = Instant::now();
            call(self)?;
            times.push(began.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        Ok((times[times.len() / 2] / parts as f64, times.len()))
    }

    fn row(&self, work: Work, ni: usize, (seconds, calls): (f64, usize), rows: &mut Vec<Row>) -> Result<()> {
        let nj = self.bodies.len();
        let interactions = (work != Work::SetSource).then_some(ni as f64 * nj as f64 / seconds);
        let row = Row {
            work,
            backend: self.settings.chosen_backend()?.name(),
            device: self.system.devices().into_iter().map(|device| device.name).collect::<Vec<_>>().join(", "),
            order: self.descriptor.order as i32,
            precision: self.descriptor.precision.name(),
            threads: self.settings.threads,
            level: self.settings.level.name(),
            ni,
            nj,
            seconds,
            calls,
            interactions_per_second: interactions,
            flops_per_second: interactions.map(|rate| rate * f64::from(self.descriptor.flops_per_pair)),
            prediction_seconds_per_source: None,
        };
        if !self.arguments.json {
            let Row { order, precision, threads, level, .. } = row;
            let rate = |rate: Option<f64>, unit: f64| rate.map_or("-".into(), |rate| format!("{:.4}", rate / unit));
            out!(
                "{order:>5}  {precision:<9}  {threads:>7}  {level:<8}  {:<20}  {ni:>7}  {nj:>8}  {:>15.3}  {:>8}  {:>7}",
                work.name(),
                seconds * 1e6,
                rate(row.interactions_per_second, 1e9),
                rate(row.flops_per_second, 1e12),
            )?;
        }
        rows.push(row);
        Ok(())
    }
}
