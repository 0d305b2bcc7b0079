//! Figure 6: integrations of Plummer models over one time unit.

use std::time::Instant;

use serde::Serialize;

use crate::{Figures, is_on_cpu, powers, settings, setup};
use kyoho::{Setup, System};
use kyoho_cli::bench::doubled;
use kyoho_cli::bench::effort::Effort;
use kyoho_cli::bench::plot::{Axis, Curve, DECADES, OCTAVES, Picture, Point, Scale};
use kyoho_cli::failure::{Failure, Result};
use kyoho_cli::model::plummer;
use kyoho_cli::out;
use kyoho_cli::progress;
use kyoho_core::{Order, Precision};
use kyoho_integrators::Integrator;
use kyoho_integrators::body::Body;
use kyoho_integrators::energy::Energies;
use kyoho_integrators::plan::{ETA4, Plan, SHORTEST, StepCriterion};

use super::Arguments;

/// The accuracy parameter of the article.
const ETA: f64 = 0.1;

/// The softening length times the number of bodies. The article does not state its softening.
const SOFTENING: f64 = 4.0;

/// An integration.
#[derive(Debug, Clone, Serialize)]
struct Run {
    n: usize,
    precision: &'static str,
    backend: &'static str,
    device: String,
    devices: Vec<usize>,
    eps: f64,
    eta: f64,
    eta4: f64,
    /// The wall time of the integration without the energies.
    seconds: f64,
    /// The time on one device divided by this one.
    speedup: Option<f64>,
    steps: u64,
    block_steps: u64,
    /// The mean number of bodies of a block step.
    mean_active: f64,
    interactions: u64,
    interactions_per_second: f64,
    relative_error: f64,
}

/// Integrates, prints the table and draws the four panels.
pub fn run(arguments: &Arguments, precisions: &[Precision], figures: &mut Figures) -> Result<()> {
    let settings = settings(&arguments.common, true)?;
    let effort = figures.effort([0.3, 600.0]);
    let first = setup(&settings, Order::Sixth, precisions[0])?;
    let numbers = arguments.n(is_on_cpu(&first)?, [&powers(1 << 14, 1 << 19), &powers(1 << 9, 1 << 13)]);
    if let Some(few) = numbers.iter().find(|n| **n < 2) {
        let allowed = "2 or more in figure 6".into();
        return Err(Failure::Argument { option: "--n", value: few.to_string(), allowed });
    }
    figures.begin(
        "figure 6",
        format!(
            "Plummer models over one time unit, order 6, eta {}, eta4 {ETA4}, the average of both criteria, \
             eps {SOFTENING} / N",
            ETA
        ),
        "16k to 512k bodies on one and four K20m; energy errors near 1e-10 in double-single, 1e-12 in double; eps not stated",
    )?;
    let mut runs: Vec<Run> = Vec::new();
    for n in numbers {
        let start = plummer::standard(n, 1, &mut Energies::new(&first, 1.0, 0.0)?)?;
        for precision in precisions {
            let all = setup(&settings, Order::Sixth, *precision)?;
            let mut on_one = None;
            for count in doubled(all.devices.len()) {
                let setup = Setup { devices: all.devices[..count].to_vec(), ..all.clone() };
                let Some(mut run) = integrate(&effort, &setup, &start)? else { continue };
                if count == 1 {
                    on_one = Some(run.seconds);
                }
                run.speedup = on_one.map(|seconds| seconds / run.seconds);
                print(&effort, runs.last(), &run)?;
                runs.push(run);
            }
        }
    }
    figures.keep(&runs);
    figures.draw("sapporo2-6", &panels(&runs))
}

/// Integrates a model over one time unit, or returns `None` if that would take longer than the
/// limit, as foreseen from its beginning.
fn integrate(effort: &Effort, setup: &Setup, start: &[Body]) -> Result<Option<Run>> {
    let n = start.len();
    let plan = plan(setup.precision, n);
    let mut energies = Energies::new(setup, plan.gravity, plan.softening)?;
    let before = energies.of(start)?.total();
    let system = System::new(setup)?;
    let device = system.devices().first().map_or(String::new(), |device| device.name.clone());
    let bar = progress::bar(1000).with_message(format!("N = {n}, {} ", plan.precision.name()));
    let began = Instant::now();
    let mut integrator = kyoho_integrators::of(system, &plan, start.to_vec())?;
    let foreseen = advance(&mut *integrator, effort.limit, began, &mut |fraction| {
        bar.set_position((1000.0 * fraction) as u64);
    })?;
    bar.finish_and_clear();
    let seconds = began.elapsed().as_secs_f64();
    if let Some(foreseen) = foreseen {
        let (devices, name) = (setup.devices.len(), plan.precision.name());
        let run = format_args!("N = {n}, {name}, {devices} of the devices");
        effort.is_left_out(foreseen, run)?;
        return Ok(None);
    }
    let counts = integrator.counts();
    Ok(Some(Run {
        n,
        precision: plan.precision.name(),
        backend: setup.backend.name(),
        device,
        devices: setup.devices.clone(),
        eps: plan.softening,
        eta: plan.eta,
        eta4: plan.eta4,
        seconds,
        speedup: None,
        steps: counts.steps,
        block_steps: counts.block_steps,
        mean_active: counts.steps as f64 / counts.block_steps as f64,
        interactions: counts.interactions,
        interactions_per_second: counts.interactions as f64 / seconds,
        relative_error: (energies.of(integrator.bodies())?.total() - before) / before.abs(),
    }))
}

/// Advances bodies by an interval. If that would take longer than the limit, it stops early and
/// returns the time that was foreseen.
fn advance(
    integrator: &mut dyn Integrator,
    limit: f64,
    began: Instant,
    tell: &mut dyn FnMut(f64),
) -> Result<Option<f64>> {
    let mut foreseen = None;
    integrator.advance(&mut |fraction, blocks| {
        if blocks % 64 != 0 || fraction == 1.0 {
            return Ok(true);
        }
        tell(fraction);
        let elapsed = began.elapsed().as_secs_f64();
        // The first steps are shorter than those that follow.
        let all = if fraction < 1.0 / 64.0 { elapsed } else { elapsed / fraction };
        foreseen = (all > limit).then_some(all);
        Ok(foreseen.is_none())
    })?;
    Ok(foreseen)
}

/// Returns the plan of a run of `n` bodies.
fn plan(precision: Precision, n: usize) -> Plan {
    Plan {
        order: Order::Sixth,
        precision,
        gravity: 1.0,
        softening: SOFTENING / n as f64,
        criterion: StepCriterion::Average,
        eta: ETA,
        eta4: ETA4,
        step: 0.0,
        longest: 1.0,
        shortest: SHORTEST,
        interval: 1.0,
        tree: None,
    }
}

fn print(effort: &Effort, before: Option<&Run>, run: &Run) -> Result<()> {
    if effort.json {
        return Ok(());
    }
    if before.is_none() {
        out!("{}: {}", run.backend, run.device)?;
        let numbers = "      seconds  speed-up       steps  block steps  mean active    Gint/s  energy error";
        out!("{:>8}  {:<9}  {:>7}{numbers}", "N", "precision", "devices")?;
    }
    let Run { n, precision, seconds, steps, block_steps, mean_active, .. } = run;
    out!(
        "{n:>8}  {precision:<9}  {:>7}  {seconds:>11.3}  {:>8}  {steps:>10}  {block_steps:>11}  {mean_active:>11.1}  \
         {:>8.4}  {:>12.2e}",
        run.devices.len(),
        run.speedup.map_or("-".into(), |speedup| format!("{speedup:.3}")),
        run.interactions_per_second / 1e9,
        run.relative_error,
    )
}

/// Returns the panels that have a point.
fn panels(runs: &[Run]) -> Vec<Picture> {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for kind in runs.iter().map(|run| (run.precision, run.devices.len())) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let panel = |what: &'static str, scale: &'static Scale, value: &dyn Fn(&Run) -> Option<f64>| {
        let curve = |(precision, devices): &(&str, usize)| {
            let of_kind = runs.iter().filter(|run| run.precision == *precision && run.devices.len() == *devices);
            let points: Vec<Point> = of_kind.filter_map(|run| Some((run.n as f64, value(run)?))).collect();
            let devices = if *devices == 1 { "1 device".into() } else { format!("{devices} devices") };
            let label = format!("{precision}, {devices}");
            (!points.is_empty()).then_some(Curve { label, points, dashes: Vec::new(), level: None })
        };
        let curves: Vec<Curve> = kinds.iter().filter_map(curve).collect();
        let title = runs.first().map_or(String::new(), |run| run.device.clone());
        let axes = [Axis { what: "N", scale: &OCTAVES }, Axis { what, scale }];
        (!curves.is_empty()).then_some(Picture { title, axes, dashes: None, curves })
    };
    // Neither a device alone nor an error of exactly zero has a place there.
    let speedup = |run: &Run| run.speedup.filter(|_| run.devices.len() > 1);
    let error = |run: &Run| Some(run.relative_error.abs()).filter(|error| error.is_normal());
    let panels = [
        panel("seconds", &DECADES, &|run| Some(run.seconds)),
        panel("speed-up over one device", &OCTAVES, &speedup),
        panel("mean number of active bodies", &DECADES, &|run| Some(run.mean_active)),
        panel("|E - E0| / |E0|", &DECADES, &error),
    ];
    panels.into_iter().flatten().collect()
}
