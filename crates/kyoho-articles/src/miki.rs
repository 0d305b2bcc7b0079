//! The figure of Miki, Takahashi & Mori 2012, Procedia Computer Science 9, 96: the speed of forces N
//! x N against N, by the number of threads that share a sink.

use serde::Serialize;

use crate::{Common, Figures, is_on_cpu, numbers, on_one, powers, settings};
use kyoho::Setup;
use kyoho_cli::bench::measure::{self, Bench};
use kyoho_cli::bench::plot::{Axis, Curve, DECADES, OCTAVES, Picture};
use kyoho_cli::bench::row::{Row, Work};
use kyoho_cli::count::count;
use kyoho_cli::failure::Result;
use kyoho_cli::out;
use kyoho_cli::progress;
use kyoho_core::{Order, Precision, chunks_below};
use kyoho_direct::gpu::reduction;
use kyoho_hal::Backend;
use kyoho_laws::catalogue;
use kyoho_methods::gpu::shapes::{ForcedShape, SHAPES, Shape};

/// The options of `kyoho-figures miki`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Numbers of bodies [default: 256 to 1048576 on GPUs, to 65536 on CPUs]
    #[arg(long, value_delimiter = ',', value_parser = count::<u32>(2..=1 << 24))]
    n: Vec<u32>,
    #[command(flatten)]
    common: Common,
}

const ARTICLE: &str = "Miki, Takahashi & Mori 2012, Procedia Computer Science 9, 96";
/// The operations of a pair by the article's count.
const OPERATIONS: f64 = 26.0;
/// The speed of the article, in GFLOPS.
const THEIRS: f64 = 767.0;

/// A measurement.
#[derive(Debug, Clone, Serialize)]
struct Measured {
    /// The kernel that was forced; none where the library chose.
    kernel: Option<&'static str>,
    threads_per_sink: Option<usize>,
    /// The speed at [`OPERATIONS`] a pair.
    gflops: f64,
    #[serde(flatten)]
    row: Row,
}

/// Measures, prints the table and draws the picture.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut figures = Figures::new(ARTICLE, &arguments.common)?;
    let setup = on_one(&settings(&arguments.common, false)?, Order::Second, Precision::Single)?;
    let default = if is_on_cpu(&setup)? { powers(1 << 8, 1 << 16) } else { powers(1 << 8, 1 << 20) };
    let numbers = numbers(&arguments.n, &default);
    figures.begin(
        "speed against N",
        format!("forces N x N of order 2 in single, at {OPERATIONS} operations a pair"),
        "up to 767 GFLOPS, 74 per cent of the peak of their GPU",
    )?;
    let all = measure_all(&figures, &setup, &numbers)?;
    figures.keep(&all);
    figures.draw("miki", &picture(&all))?;
    figures.end()
}

/// Returns the choices to measure: the library's, and each shape of GPUs.
fn choices(setup: &Setup) -> Vec<Option<Shape>> {
    let shapes = if setup.backend == Backend::Cpu { &[][..] } else { &SHAPES };
    [None].into_iter().chain(shapes.iter().copied().map(Some)).collect()
}

/// Whether a shape may be forced on forces N x N. One that also ends a block is made for few sinks.
fn may_force(shape: &Shape, n: usize) -> bool {
    let interaction = catalogue::interaction(Order::Second, Precision::Single);
    !shape.ends
        || interaction.is_some_and(|interaction| {
            let plan = reduction::plan(&interaction, n, chunks_below(n));
            plan.accumulators == shape.accumulators(&interaction)
        })
}

fn measure_all(figures: &Figures, setup: &Setup, numbers: &[usize]) -> Result<Vec<Measured>> {
    let effort = figures.effort([0.3, 20.0]);
    let choices = choices(setup);
    let bar = progress::bar((numbers.len() * choices.len()) as u64);
    let mut all: Vec<Measured> = Vec::new();
    // The seconds for a pair, as the last number of bodies took them.
    let mut pair = vec![0.0; choices.len()];
    for n in numbers {
        let (n, bodies) = (*n, measure::bodies(*n)?);
        for (choice, pair) in choices.iter().zip(&mut pair) {
            bar.inc(1);
            if choice.is_some_and(|shape| !may_force(&shape, n)) {
                continue;
            }
            let name = choice.map_or("chosen", |shape| shape.name);
            let foreseen = measure::least_seconds(*pair * (n as f64).powi(2));
            if bar.suspend(|| effort.is_left_out(foreseen, format_args!("{n} bodies, {name}")))? {
                continue;
            }
            let shape = choice.map(|shape| ForcedShape { place: shape.place, everywhere: true });
            let mut bench = Bench::new(effort.seconds, &Setup { shape, ..setup.clone() }, &bodies)?;
            let row = bench.forces(Work::NTimesN, n)?;
            let row = Row { model_seconds: bench.system().estimate(n, n), ..row };
            *pair = row.seconds / (n as f64).powi(2);
            let measured = Measured {
                kernel: choice.map(|shape| shape.name),
                threads_per_sink: choice.map(|shape| shape.lanes),
                gflops: gflops(n, row.seconds),
                row,
            };
            if !effort.json {
                bar.suspend(|| print(all.is_empty(), &measured))?;
            }
            all.push(measured);
        }
    }
    bar.finish_and_clear();
    Ok(all)
}

fn gflops(n: usize, seconds: f64) -> f64 {
    OPERATIONS * (n as f64).powi(2) / seconds / 1e9
}

fn print(is_first: bool, measured: &Measured) -> Result<()> {
    let Measured { kernel, threads_per_sink, gflops, row } = measured;
    if is_first {
        out!("{}: {}", row.backend, row.title())?;
        let columns = "  threads a sink  microseconds    Gint/s     GFLOPS  of theirs    model's us";
        out!("{:>8}  {:<16}{columns}", "N", "kernel")?;
    }
    let threads = threads_per_sink.map_or("-".into(), |threads| threads.to_string());
    let model = row.model_seconds.map_or("-".into(), |seconds| format!("{:.3}", seconds * 1e6));
    out!(
        "{:>8}  {:<16}  {threads:>14}  {:>12.3}  {:>8.2}  {gflops:>9.1}  {:>9.3}  {model:>12}",
        row.nj,
        kernel.unwrap_or("chosen"),
        row.seconds * 1e6,
        gflops / OPERATIONS,
        gflops / THEIRS,
    )
}

/// Returns the picture: a curve for each shape and one of the library's choice, with the model's
/// and the article's speed.
fn picture(all: &[Measured]) -> Vec<Picture> {
    let Some(first) = all.first() else { return Vec::new() };
    let mut kernels: Vec<Option<&'static str>> = Vec::new();
    for measured in all {
        if !kernels.contains(&measured.kernel) {
            kernels.push(measured.kernel);
        }
    }
    let curve = |kernel: &Option<&'static str>| {
        let rows: Vec<&Measured> = all.iter().filter(|measured| measured.kernel == *kernel).collect();
        let threads = rows[0].threads_per_sink.map(|threads| match threads {
            1 => "1 thread a sink".into(),
            _ => format!("{threads} threads a sink"),
        });
        let label = match (kernel, threads) {
            (Some(kernel), Some(threads)) => format!("{threads}, {kernel}"),
            _ => "chosen".into(),
        };
        let modelled = |measured: &&Measured| {
            let n = measured.row.nj;
            Some((n as f64, gflops(n, measured.row.model_seconds?)))
        };
        Curve {
            label,
            points: rows.iter().map(|measured| (measured.row.nj as f64, measured.gflops)).collect(),
            // The model's curves of all shapes would hide one another.
            dashes: if kernel.is_none() { rows.iter().filter_map(modelled).collect() } else { Vec::new() },
            level: kernel.is_none().then(|| (THEIRS, format!("theirs: {THEIRS}"))),
        }
    };
    let curves: Vec<Curve> = kernels.iter().map(curve).collect();
    let has_model = curves.iter().any(|curve| !curve.dashes.is_empty());
    let axes = [Axis { what: "N", scale: &OCTAVES }, Axis { what: "GFLOPS at 26 operations a pair", scale: &DECADES }];
    vec![Picture { title: first.row.title(), axes, dashes: has_model.then_some("model of the chosen"), curves }]
}
