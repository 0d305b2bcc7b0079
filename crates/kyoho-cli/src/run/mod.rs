//! `kyoho run`: integrates N-body systems.

mod beginning;
mod course;
mod ensemble;
mod given;
pub mod input;
mod mergers;
mod options;
mod output;
mod plot;
mod report;
mod shares;
pub mod snapshot;
pub mod snapshot_hdf5;
mod snapshot_header;
mod softenings;
mod subsystems;
mod text_setting;
mod watch;

use indicatif::ProgressBar;

use course::{Evolving, Prepared};
use report::Row;
use watch::Watch;

use crate::failure::Result;
use crate::out::makes_files;
use crate::progress;
use crate::ranks::Ranks;

pub use options::Arguments;

/// Integrates and prints a report. Ranks do it together.
pub fn run(arguments: &Arguments, ranks: Ranks) -> Result<()> {
    makes_files(arguments.output.is_some() || arguments.plot.is_some());
    match arguments.files().1 {
        [_, _, ..] => ensemble::run(arguments, ranks),
        _ => alone(arguments, ranks),
    }
}

/// Does a run of one cluster.
fn alone(arguments: &Arguments, ranks: Ranks) -> Result<()> {
    let prepared = Prepared::new(arguments, ranks, None)?;
    let report = &prepared.course.report;
    let watch = arguments.watch.filter(|_| ranks.is_first());
    let watch = watch.map(|port| Watch::new(port, report.title(), prepared.times())).transpose()?;
    report.begin(arguments.json)?;
    let (mut evolving, row) = prepared.begin()?;
    evolving.course.report.row(row, arguments.json)?;
    show(watch.as_ref(), arguments, row, &evolving)?;
    evolving.write()?;

    let intervals = evolving.course.intervals;
    let bar = if ranks.is_first() { progress::bar(intervals * PROGRESS as u64) } else { ProgressBar::hidden() };
    for done in 0..intervals {
        let row = evolving.advance(&mut |fraction, blocks, time| {
            // Showing progress for each of a million blocks would cost more than the blocks.
            if blocks % 256 == 0 {
                watch.iter().for_each(|watch| watch.pass(time));
                bar.set_position(((done as f64 + fraction) * PROGRESS) as u64);
            }
        })?;
        bar.suspend(|| evolving.course.report.row(row, arguments.json))?;
        show(watch.as_ref(), arguments, row, &evolving)?;
        bar.set_position(((done + 1) as f64 * PROGRESS) as u64);
        evolving.write()?;
    }
    bar.finish_and_clear();
    let report = evolving.end()?;
    report.print_end(arguments.json)?;
    match arguments.plot.as_ref().filter(|_| ranks.is_first()) {
        Some(path) => plot::draw(path, &report.title(), &report.errors()),
        None => Ok(()),
    }
}

/// Shows the bodies on the page, if there is one. Ranks that have shares of them bring them together.
fn show(watch: Option<&Watch>, arguments: &Arguments, row: Row, evolving: &Evolving) -> Result<()> {
    let Evolving { course, integrator } = evolving;
    let all = course.shares.as_ref().filter(|_| arguments.watch.is_some());
    let all = all.map(|shares| shares.shown(&course.meeting, integrator.bodies())).transpose()?;
    if let Some(watch) = watch {
        let bodies = all.as_deref().unwrap_or(integrator.bodies());
        // Of those that merge one is there no more.
        let count = if course.shares.is_some() { course.count } else { bodies.len() };
        watch.show(row.error(), integrator.counts(), (count, bodies));
    }
    Ok(())
}

/// The number of ticks of the progress bar in an interval.
const PROGRESS: f64 = 1000.0;
