//! `kyoho info`: the devices that the library finds here, those that it would use, and the reason.

use crate::failure::Result;
use crate::machine::Machine;
use kyoho::config::{Selection, Settings};
use kyoho_core::Level;
use kyoho_core::{Error, Precision};
use kyoho_direct::gpu::model::CROSSOVER;
use kyoho_hal::Backend;
use kyoho_laws::catalogue::CATALOGUE;

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
    let levels = names(Level::available().map(Level::name));
    line("CPU level", &format!("{} (available: {levels})", settings.level.name()))?;
    line("threads", &format!("{} (from {})", settings.threads, settings.threads_because))?;
    let of_old = |own: Precision| match settings.precision {
        Some(precision) => format!("{} (from KYOHO_PRECISION)", precision.name()),
        None => format!("{} (default)", own.name()),
    };
    let [g6, g5] = [Precision::Mixed, Precision::Single].map(of_old);
    line("precision", &format!("g6_*: {g6}; g5_*: {g5}"))?;
    line("block", &format!("g6_npipes gives {}", settings.npipes))?;
    let with_gpu = "with a GPU, the CPU computes";
    match settings.crossover {
        None => line("crossover", &format!("{with_gpu} blocks of fewer than {CROSSOVER} pairs (default)"))?,
        Some(0) => line("crossover", &format!("{with_gpu} no block (from KYOHO_CROSSOVER)"))?,
        Some(pairs) => {
            line("crossover", &format!("{with_gpu} blocks of fewer than {pairs} pairs (from KYOHO_CROSSOVER)"))?
        }
    }
    for sentence in kyoho::config::unknown_variables() {
        out!("unknown    {sentence}")?;
    }
    out!()?;
    out!("order  precision  scope    flops a pair  results")?;
    for entry in CATALOGUE.iter() {
        let (order, precision, scope) = (entry.order as i32, entry.precision.name(), entry.scope.name());
        let (flops, results) = (entry.flops_per_pair, &entry.documentation);
        out_wrapped!(41, "{order:>5}  {precision:<9}  {scope:<7}  {flops:>12}  {results}")?;
    }
    Ok(())
}

/// Prints a name and what it stands for.
fn line(name: &str, text: &str) -> Result<()> {
    out_wrapped!(11, "{name:<11}{text}")
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
                    out_wrapped!(5, "  {number}: {}, {}", device.name, device.details)?;
                    out_wrapped!(5, "     {}", device.abilities)?;
                }
                for (device, reason) in backend.unusable() {
                    out_wrapped!(4, "  cannot: {device}: {reason}")?;
                }
            }
            Err(Error::NoBackend { reason, .. }) => out_wrapped!(2, "backend {}: none, {reason}", backend.name())?,
            Err(error) => out_wrapped!(2, "backend {}: none, {error}", backend.name())?,
        }
    }
    let because = match settings.backend {
        Some(_) => "as was asked for",
        None => "the first of cuda, opencl, cpu that has devices; CPUs and PoCL of opencl do not count",
    };
    out!()?;
    line("in use", &format!("backend {} ({because})", selection.backend.name()))?;
    line("devices", &selection.because)
}

fn names<S: Into<String>>(names: impl Iterator<Item = S>) -> String {
    names.map(Into::into).collect::<Vec<String>>().join(", ")
}
