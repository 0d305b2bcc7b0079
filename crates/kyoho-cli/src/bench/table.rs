//! The ordinary table with every kind of work for each number of sources, and printing for the
//! other modes.

use std::sync::Arc;

use crate::bench::Arguments;
use crate::bench::measure::{self, Bench};
use crate::bench::row::{self, Row, Work};
use crate::failure::{Failure, Result};
use kyoho::Setup;
use kyoho::config::Settings;
use kyoho_core::Interaction;
use kyoho_hal::Backend;

/// Measures and prints.
pub fn run(arguments: &Arguments, settings: &Settings, interactions: &[Arc<Interaction>]) -> Result<()> {
    let mut rows = Vec::new();
    for interaction in interactions {
        let setup = arguments.setup(settings, interaction)?;
        for threads in threads(arguments, &setup) {
            let setup = Setup { threads, ..setup.clone() };
            for n in arguments.n() {
                of_sources(arguments, Bench::new(arguments.seconds, &setup, &measure::bodies(n)?)?, &mut rows)?;
            }
        }
    }
    if arguments.json { print_json(&rows) } else { Ok(()) }
}

/// Measures every kind of work with one number of sources. Rows of a table are printed as they are
/// measured.
fn of_sources(arguments: &Arguments, mut bench: Bench, rows: &mut Vec<Row>) -> Result<()> {
    let mut keep = |row: Row| {
        if !arguments.json {
            row::print(rows.last(), &row)?;
        }
        rows.push(row);
        Ok::<_, Failure>(())
    };
    let nj = bench.nj();
    keep(bench.forces(Work::NTimesN, nj)?)?;
    for ni in arguments.ni(nj) {
        keep(bench.forces(Work::BlockStep, ni)?)?;
        if bench.makes_lists() {
            keep(bench.forces(Work::BlockStepLists, ni)?)?;
        }
    }
    let same = bench.forces(Work::OneSink, 1)?;
    let mut new = bench.forces(Work::OneSinkPredicted, 1)?;
    let prediction = (new.seconds - same.seconds) / nj as f64;
    new.prediction_seconds_per_source = Some(prediction);
    keep(same)?;
    keep(new)?;
    keep(bench.set_source()?)?;
    if arguments.json { Ok(()) } else { out!("prediction: {:.2} ns a source\n", prediction * 1e9) }
}

/// Returns the numbers of threads to measure.
fn threads(arguments: &Arguments, setup: &Setup) -> Vec<usize> {
    if arguments.all && setup.backend == Backend::Cpu && setup.threads > 1 {
        vec![1, setup.threads]
    } else {
        vec![setup.threads]
    }
}

/// Prints rows as a JSON array.
pub fn print_json(rows: &[Row]) -> Result<()> {
    out!("{}", serde_json::to_string_pretty(rows).expect("rows have only strings as keys"))
}
