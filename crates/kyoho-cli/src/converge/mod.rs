//! `kyoho converge`: checks that half the step gives the error that an integrator's order promises.

mod plot;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::count::{count, number, order};
use crate::failure::{Failure, Result};
use crate::machine::Machine;
use crate::model::plummer;
use crate::out::makes_files;
use crate::picture;
use kyoho::System;
use kyoho_core::error::shown;
use kyoho_core::{Order, Precision};
use kyoho_integrators::body::Body;
use kyoho_integrators::energy::Energies;
use kyoho_integrators::plan::{Plan, StepCriterion};

/// The options of `kyoho converge`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Bodies of the Plummer model
    #[arg(long, default_value_t = 256, value_parser = count::<u32>(2..=1 << 20))]
    n: u32,
    /// The seed of the Plummer model's random numbers
    #[arg(long, default_value_t = 1, value_parser = count::<u64>(..))]
    seed: u64,
    /// Softening length; a larger one allows longer steps
    #[arg(long, default_value_t = 0.25, value_parser = number)]
    eps: f64,
    /// Orders: 4, 6, 8, each at most once
    #[arg(long, value_delimiter = ',', default_values_t = [4, 6, 8], value_parser = order)]
    order: Vec<i32>,
    /// Number of steps in the time unit at first, a power of two
    #[arg(long, default_value_t = 8, value_parser = count::<u32>(1..))]
    steps: u32,
    /// Number of times that the step is halved
    #[arg(long, default_value_t = 6, value_parser = count::<u32>(1..=16))]
    halvings: u32,
    /// Draw the errors against the number of steps, with lines of the slopes of the orders
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Print a JSON array instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    machine: Machine,
}

/// An integration.
#[derive(Debug, Clone, Copy, Serialize)]
struct Row {
    order: i32,
    /// The shared step.
    step: f64,
    /// The relative error of the energy; see [`error`].
    relative_error: f64,
    /// The logarithm to base two of the gain by half the step. It is `None` for the longest step,
    /// and if rounding dominates the error.
    slope: Option<f64>,
}

/// Errors below this come from rounding as much as from steps.
const ROUNDING: f64 = 1e-14;

/// An accuracy parameter with which every body wants a longer step than the longest.
const ETA: f64 = 1e6;

/// Integrates and prints.
pub fn run(arguments: &Arguments) -> Result<()> {
    let orders = check(arguments)?;
    makes_files(arguments.plot.is_some());
    let settings = arguments.machine.settings()?;
    let setup = settings.setup(Order::Second, Precision::Double)?;
    let model = plummer::standard(arguments.n as usize, arguments.seed, &mut Energies::new(&setup, 1.0, 0.0)?)?;
    let mut energies = Energies::new(&setup, 1.0, arguments.eps)?;
    let mut rows: Vec<Row> = Vec::new();
    if !arguments.json {
        out!("{}\n{:>5}  {:>14}  {:>14}  {:>7}", title(arguments), "order", "step", "relative error", "slope")?;
    }
    for order in orders {
        for halving in 0..=arguments.halvings {
            let interval = 1.0 / f64::from(arguments.steps);
            let step = interval / 2f64.powi(halving as i32);
            let setup = settings.setup(order, Precision::Double)?;
            let relative_error =
                error(System::new(&setup)?, plan(order, arguments.eps, step, interval), &model, &mut energies)?;
            let longer = rows.last().filter(|row| row.order == order as i32).map(|row| row.relative_error);
            let slope = longer.filter(|_| relative_error > ROUNDING);
            let slope = slope.map(|longer| (longer / relative_error).log2());
            let row = Row { order: order as i32, step, relative_error, slope };
            if !arguments.json {
                let slope = slope.map_or("-".into(), |slope| format!("{slope:.2}"));
                out!("{:>5}  {step:>14}  {relative_error:>14.3e}  {slope:>7}", row.order)?;
            }
            rows.push(row);
        }
    }
    if arguments.json {
        out!("{}", serde_json::to_string_pretty(&rows).expect("rows have only strings as keys"))?;
    }
    match &arguments.plot {
        Some(path) => draw(path, arguments, &rows),
        None => Ok(()),
    }
}

/// Checks the options and returns the orders.
fn check(arguments: &Arguments) -> Result<Vec<Order>> {
    let wrong = |option, value: String, allowed: &str| Failure::Argument { option, value, allowed: allowed.into() };
    if let Some(path) = &arguments.plot {
        picture::try_path(path)?;
    }
    let Arguments { eps, steps, .. } = arguments;
    if !(eps.is_finite() && *eps > 0.0) {
        return Err(wrong("--eps", shown(*eps), "finite numbers above zero"));
    }
    if !steps.is_power_of_two() || *steps > 1 << 20 {
        return Err(wrong("--steps", steps.to_string(), "powers of two up to 2^20"));
    }
    let order = |number: &i32| {
        let order = Order::from_number(*number).filter(|order| *order > Order::Second);
        order.ok_or_else(|| wrong("--order", number.to_string(), "4, 6, 8"))
    };
    let orders = arguments.order.iter().map(order).collect::<Result<Vec<Order>>>()?;
    match (1..orders.len()).find(|place| orders[..*place].contains(&orders[*place])) {
        Some(repeated) => {
            Err(wrong("--order", format!("{} more than once", orders[repeated] as i32), "4, 6, 8, each once"))
        }
        None => Ok(orders),
    }
}

/// Returns the plan of intervals in steps of one length. The first steps are shorter, because
/// derivatives are not known yet, and double up to it.
fn plan(order: Order, softening: f64, step: f64, interval: f64) -> Plan {
    Plan {
        order,
        precision: Precision::Double,
        gravity: 1.0,
        softening,
        criterion: StepCriterion::Usual,
        eta: ETA,
        eta4: ETA,
        step: 0.0,
        longest: step,
        shortest: step / 2f64.powi(30),
        interval,
        tree: None,
    }
}

/// Returns the relative error of the energy as the root mean square over the meetings of a time
/// unit. At a single time it may be small by chance because it changes its sign.
fn error(system: System, plan: Plan, model: &[Body], energies: &mut Energies) -> Result<f64> {
    let meetings = (1.0 / plan.interval) as u32;
    let before = energies.of(model)?.total();
    let mut integrator = kyoho_integrators::of(system, &plan, model.to_vec())?;
    let mut squares = 0.0;
    for _ in 0..meetings {
        integrator.advance(&mut |_, _| Ok(true))?;
        squares += (energies.of(integrator.bodies())?.total() / before - 1.0).powi(2);
    }
    Ok((squares / f64::from(meetings)).sqrt())
}

fn title(arguments: &Arguments) -> String {
    let Arguments { n, seed, eps, .. } = arguments;
    format!("Plummer, {n} bodies, seed {seed}, eps {eps}, double: a time unit by a shared step")
}

/// Draws a curve for each order.
fn draw(path: &Path, arguments: &Arguments, rows: &[Row]) -> Result<()> {
    let curve = |rows: &[Row]| plot::Curve {
        order: rows[0].order,
        points: rows.iter().map(|row| (1.0 / row.step, row.relative_error)).collect(),
    };
    let curves: Vec<plot::Curve> = rows.chunk_by(|row, next| row.order == next.order).map(curve).collect();
    plot::draw(path, &title(arguments), &curves).map_err(|error| Failure::file(path, error))
}
