//! `kyoho info`: the devices that the library finds here, those that it would use, and the reason.

use crate::failure::Result;
use crate::machine::Machine;
use kyoho::config::{Selection, Settings};
use kyoho::data::{Error, Precision};
use kyoho::hal::Backend;
use kyoho::law::catalogue::CATALOGUE;
use kyoho::method::direct::gpu::model::CROSSOVER;
use kyoho::simd::Level;

/// The options of `kyoho info`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    machine: Machine,
}

/// Prints the page.
pub fn run(arguments: &Arguments) -> Result<()> {
    let settings = arguments.machine.settings()?;
    // An error is printed alone and not below half a page.
    let selection = settings.select()?;
    out!("kyoho {}", env!("CARGO_PKG_VERSION"))?;
    backends(&settings, &selection)?;
    out!()?;
    out!("CPU level  {} (available: {})", settings.level.name(), names(Level::available().map(Level::name)))?;
    out!("threads    {} (from {})", settings.threads, settings.threads_because)?;
    let of_old = |own: Precision| match settings.precision {
        Some(precision) => format!("{} (from KYOHO_PRECISION)", precision.name()),
        None => format!("{} (default)", own.name()),
    };
    out!("precision  g6_*: {}; g5_*: {}", of_old(Precision::Mixed), of_old(Precision::Single))?;
    out!("block      g6_npipes gives {}", settings.npipes)?;
    match settings.crossover {
        None => out!("crossover  with a GPU, the CPU computes blocks of fewer than {CROSSOVER} pairs (default)")?,
        Some(0) => out!("crossover  with a GPU, the CPU computes no block (from KYOHO_CROSSOVER)")?,
        Some(pairs) => {
            out!("crossover  with a GPU, the CPU computes blocks of fewer than {pairs} pairs (from KYOHO_CROSSOVER)")?
        }
    }
    out!()?;
    out!("order  precision  scope    flops a pair  results")?;
    for entry in CATALOGUE.iter() {
        let (order, precision, scope) = (entry.order as i32, entry.precision.name(), entry.scope.name());
        out!("{order:>5}  {precision:<9}  {scope:<7}  {:>12}  {}", entry.flops_per_pair, entry.documentation)?;
    }
    Ok(())
}

/// Prints the backends, their devices, and which would be used.
fn backends(settings: &Settings, selection: &Selection) -> Result<()> {
    for backend in Backend::ALL {
        out!()?;
        match backend.devices() {
            Ok(devices) => {
                out!(
                    "backend {}: {} device{}",
                    backend.name(),
                    devices.len(),
                    if devices.len() == 1 { "" } else { "s" }
                )?;
                for (number, device) in devices.iter().enumerate() {
                    out!("  {number}: {}, {}", device.name, device.details)?;
                    out!("     {}", device.abilities)?;
                }
                for (device, reason) in backend.unusable() {
                    out!("  cannot: {device}: {reason}")?;
                }
            }
            Err(Error::NoBackend { reason, .. }) => out!("backend {}: none, {reason}", backend.name())?,
            Err(error) => out!("backend {}: none, {error}", backend.name())?,
        }
    }
    let because = match settings.backend {
        Some(_) => "as was asked for",
        None => "the first of cuda, opencl, cpu that has devices; CPUs and PoCL of opencl do not count",
    };
    out!()?;
    out!("in use     backend {} ({because})", selection.backend.name())?;
    out!("devices    {}", selection.because)
}

fn names<S: Into<String>>(names: impl Iterator<Item = S>) -> String {
    names.map(Into::into).collect::<Vec<String>>().join(", ")
}
