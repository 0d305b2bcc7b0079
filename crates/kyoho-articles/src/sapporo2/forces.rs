//! Figures 2 and 3: the time of block steps of few sinks, and the speed of forces N x N.

use crate::{Figures, is_on_cpu, on_one, powers, print, settings};
use kyoho::config::Settings;
use kyoho_cli::bench::measure::{self, Bench};
use kyoho_cli::bench::plot::{Axis, Curve, DECADES, OCTAVES, Picture};
use kyoho_cli::bench::row::{Row, Work};
use kyoho_cli::failure::Result;
use kyoho_cli::progress;
use kyoho_core::{Order, Precision};
use kyoho_hal::{Backend, DeviceKind};

use super::Arguments;

/// The most sinks of figure 2.
const MOST_SINKS: usize = 256;

/// Figure 2: the time of a block step against the number of sinks.
pub fn block_steps(arguments: &Arguments, precisions: &[Precision], figures: &mut Figures) -> Result<()> {
    let settings = settings(&arguments.common, false)?;
    let effort = figures.effort([0.3, 20.0]);
    let numbers = arguments.n(is_on_cpu(&on_one(&settings, Order::Fourth, precisions[0])?)?, [&[1 << 17], &[1 << 17]]);
    let shows = "time of block steps of 1 to 256 sinks, orders 4 and 6";
    figures.begin("figure 2", shows, "1 to 256 sinks, 131072 sources")?;
    let kinds: Vec<(Order, Precision)> =
        [Order::Fourth, Order::Sixth].iter().flat_map(|order| precisions.iter().map(|one| (*order, *one))).collect();
    let sinks = |nj: usize| powers(1, MOST_SINKS.min(nj)).into_iter().map(|ni| ni as usize);
    let bar = progress::bar((numbers.iter().map(|nj| sinks(*nj).count()).sum::<usize>() * kinds.len()) as u64);
    let mut rows: Vec<Row> = Vec::new();
    for nj in numbers {
        let bodies = measure::bodies(nj)?;
        for (order, precision) in &kinds {
            let mut bench = Bench::new(effort.seconds, &on_one(&settings, *order, *precision)?, &bodies)?;
            let mut call = bench.trial(Work::BlockStep, 1)?;
            for ni in sinks(nj) {
                // A block of twice the sinks takes at most twice as long.
                let row = format_args!("order {}, {}, {nj} sources with {ni} sinks", *order as i32, precision.name());
                if bar.suspend(|| effort.is_left_out(measure::least_seconds(2.0 * call), row))? {
                    break;
                }
                let row = bench.forces(Work::BlockStep, ni)?;
                call = row.seconds;
                bar.suspend(|| print(&effort, rows.last(), &row))?;
                bar.inc(1);
                rows.push(row);
            }
        }
    }
    bar.finish_and_clear();
    let curves = rows.chunk_by(|one, next| kind(one) == kind(next)).map(|rows| Curve {
        label: format!("order {}, {}, nj = {}", rows[0].order, rows[0].precision, rows[0].nj),
        points: rows.iter().map(|row| (row.ni as f64, row.seconds * 1e6)).collect(),
        dashes: rows.iter().filter_map(|row| Some((row.ni as f64, row.model_seconds? * 1e6))).collect(),
        level: None,
    });
    let picture = picture(rows.first(), ("sinks", "microseconds of a block step"), curves.collect());
    figures.keep(&rows);
    figures.draw("sapporo2-2", &picture)
}

fn kind(row: &Row) -> (&'static str, i32, &'static str, usize) {
    (row.backend, row.order, row.precision, row.nj)
}

/// Returns a picture of curves, or none if nothing was measured.
fn picture(first: Option<&Row>, (across, upwards): (&'static str, &'static str), curves: Vec<Curve>) -> Vec<Picture> {
    let Some(first) = first else { return Vec::new() };
    let has_model = curves.iter().any(|curve| !curve.dashes.is_empty());
    let axes = [Axis { what: across, scale: &OCTAVES }, Axis { what: upwards, scale: &DECADES }];
    vec![Picture { title: first.device.clone(), axes, dashes: has_model.then_some("model"), curves }]
}

/// Figure 3: the speed of forces N x N on every backend.
pub fn n_times_n(arguments: &Arguments, precisions: &[Precision], figures: &mut Figures) -> Result<()> {
    let settings = settings(&arguments.common, false)?;
    let effort = figures.effort([0.3, 20.0]);
    let backends = backends(&settings)?;
    let is_on_cpu = is_on_cpu(&on_one(&backends[0], Order::Fourth, precisions[0])?)?;
    let numbers = arguments.n(is_on_cpu, [&powers(1 << 10, 1 << 19), &powers(1 << 8, 1 << 16)]);
    let shows = "speed of forces N x N of order 4 against N, on every backend";
    figures.begin("figure 3", shows, "both precisions, CUDA and OpenCL")?;
    let bar = progress::bar((numbers.len() * backends.len() * precisions.len()) as u64);
    let mut rows: Vec<Row> = Vec::new();
    for settings in &backends {
        for precision in precisions {
            let mut pair = 0.0;
            for n in &numbers {
                let row = format_args!("{}, {} bodies and more", precision.name(), n);
                if bar.suspend(|| effort.is_left_out(measure::least_seconds(pair * (*n as f64).powi(2)), row))? {
                    break;
                }
                let setup = on_one(settings, Order::Fourth, *precision)?;
                let row = Bench::new(effort.seconds, &setup, &measure::bodies(*n)?)?.forces(Work::NTimesN, *n)?;
                pair = row.seconds / (*n as f64).powi(2);
                bar.suspend(|| print(&effort, rows.last(), &row))?;
                bar.inc(1);
                rows.push(row);
            }
        }
    }
    bar.finish_and_clear();
    let curves = rows.chunk_by(|one, next| (one.backend, one.precision) == (next.backend, next.precision));
    let curves = curves.map(|rows| Curve {
        label: format!("{}, {}", rows[0].backend, rows[0].precision),
        points: rows.iter().map(|row| (row.nj as f64, (row.nj as f64).powi(2) / row.seconds / 1e9)).collect(),
        dashes: Vec::new(),
        level: None,
    });
    let picture = picture(rows.first(), ("N", "Gint/s, N x N, order 4"), curves.collect());
    figures.keep(&rows);
    figures.draw("sapporo2-3", &picture)
}

/// Returns the settings for each backend of this machine: the one that was asked for, or all that
/// have GPUs, or all that there are.
fn backends(settings: &Settings) -> Result<Vec<Settings>> {
    if settings.backend.is_some() {
        return Ok(vec![settings.clone()]);
    }
    let devices = |backend: &Backend| backend.devices().unwrap_or_default();
    let has_gpu = |backend: &Backend| devices(backend).first().is_some_and(|device| device.kind != DeviceKind::Cpu);
    let any_gpu = Backend::ALL.iter().any(has_gpu);
    let chosen = Backend::ALL
        .into_iter()
        .filter(|backend| if any_gpu { has_gpu(backend) } else { !devices(backend).is_empty() });
    Ok(chosen.map(|backend| Settings { backend: Some(backend), ..settings.clone() }).collect())
}
