//! `kyoho run`: integrates an N-body system.

pub mod energy;
mod hermite;
mod input;
pub mod integrator;
mod leapfrog;
mod options;
pub mod plan;
mod plot;
mod report;
mod snapshot;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use kyoho::System;

use crate::body::Body;
use crate::failure::{Failure, Result};
use crate::{picture, plummer};
use energy::Energies;
use plan::Plan;
use report::{Report, Row};
use snapshot::Snapshot;

pub use options::Arguments;

/// Integrates and reports.
pub fn run(arguments: &Arguments) -> Result<()> {
    if let Some(path) = &arguments.plot {
        picture::check(path)?;
    }
    let mut settings = arguments.machine.settings()?;
    let resumed = arguments.resume.as_deref().map(Snapshot::read).transpose()?;
    let (plan, intervals) = options::plan(arguments, &settings, resumed.as_ref())?;
    settings.precision = Some(plan.precision);
    let setup = settings.setup(plan.order, plan.precision)?;
    let mut energies = Energies::new(&setup, plan.gravity, plan.softening)?;

    let start = match (resumed, &arguments.input, arguments.plummer) {
        (Some(snapshot), _, _) => going_on(&plan, snapshot),
        (None, Some(path), _) => fresh(&plan, input::read(path)?),
        (None, None, n) => {
            let mut unsoftened = Energies::new(&setup, 1.0, 0.0)?;
            fresh(&plan, plummer::standard(n.unwrap_or(2) as usize, arguments.seed, &mut unsoftened)?)
        }
    };
    let system = System::new(&setup)?;
    let mut report = Report::new(&plan, &settings, &setup, &system, start.bodies.len());
    report.begin(arguments.json)?;

    let mut integrator = integrator::of(system, &plan, start.bodies.clone())?;
    let first = energies.of(integrator.bodies())?;
    let initial_energy = if start.initial_energy.is_nan() { first.total() } else { start.initial_energy };
    report.initial_energy = initial_energy;
    report.row(Row::new(start.time, first, initial_energy), arguments.json)?;
    let mut output = Output::new(arguments.output.as_deref())?;
    output.write(&Snapshot { initial_energy, bodies: integrator.bodies().to_vec(), ..start.clone() })?;

    let bar = progress_bar(intervals);
    for done in 0..intervals {
        let began = Instant::now();
        let interval_start = start.time + done as f64 * plan.interval;
        let approach = integrator.advance(&mut |fraction, blocks| {
            // Telling it for each of a million blocks would cost more than the blocks.
            if blocks % 256 == 0 {
                bar.set_position(((done as f64 + fraction) * PROGRESS) as u64);
            }
        })?;
        report.seconds += began.elapsed().as_secs_f64();
        report.approach(approach, interval_start);
        let time = start.time + (done + 1) as f64 * plan.interval;
        let row = Row::new(time, energies.of(integrator.bodies())?, initial_energy);
        bar.suspend(|| report.row(row, arguments.json))?;
        bar.set_position(((done + 1) as f64 * PROGRESS) as u64);
        output.write(&Snapshot {
            plan: plan.clone(),
            number: start.number + done + 1,
            time,
            initial_energy,
            bodies: integrator.bodies().to_vec(),
        })?;
    }
    bar.finish_and_clear();
    report.end(integrator.counts(), output.written, arguments.json)?;
    if let Some(path) = &arguments.plot {
        plot::draw(path, &report.title(), &report.errors())?;
    }
    Ok(())
}

/// A run that goes on. With another order the integrator begins anew, as its state is that of the old one; with other
/// forces the energy begins anew too.
fn going_on(plan: &Plan, snapshot: Snapshot) -> Snapshot {
    let Snapshot { plan: before, number, time, mut initial_energy, mut bodies } = snapshot;
    let other_forces = (plan.gravity, plan.softening) != (before.gravity, before.softening);
    if other_forces || plan.order != before.order {
        bodies.iter_mut().for_each(|body| *body = Body::new(body.mass, body.position, body.velocity));
    }
    if other_forces {
        initial_energy = f64::NAN;
    }
    Snapshot { plan: plan.clone(), number, time, initial_energy, bodies }
}

/// A run that begins; its initial energy is not known yet.
fn fresh(plan: &Plan, bodies: Vec<Body>) -> Snapshot {
    Snapshot { plan: plan.clone(), number: 0, time: 0.0, initial_energy: f64::NAN, bodies }
}

/// The folder that snapshots go to, if any.
struct Output {
    folder: Option<PathBuf>,
    written: Vec<PathBuf>,
}

impl Output {
    fn new(folder: Option<&std::path::Path>) -> Result<Output> {
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
        }
        Ok(Output { folder: folder.map(PathBuf::from), written: Vec::new() })
    }

    fn write(&mut self, snapshot: &Snapshot) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.join(format!("snapshot-{:06}.txt", snapshot.number));
        snapshot.write(&path)?;
        self.written.push(path);
        Ok(())
    }
}

/// Ticks of the progress bar in an interval.
const PROGRESS: f64 = 1000.0;

/// A bar on stderr, drawn only where that is a terminal.
fn progress_bar(intervals: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {percent}% {elapsed} (left {eta})");
    let bar = ProgressBar::new(intervals * PROGRESS as u64);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
