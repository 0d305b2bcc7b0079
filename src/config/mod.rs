//! What the environment asks for: variables, `sapporo2.config`, the launcher's local rank.

mod devices;
mod launcher;
mod sapporo2;

use std::path::{Path, PathBuf};

use crate::data::{Error, Order, Precision, Result, Scope};
use crate::engine::Setup;
use crate::hal::Backend;
use crate::law::catalogue;
use crate::simd::Level;

pub use devices::{DeviceChoice, Selection, Wanted};
pub use launcher::{LocalRank, rank};

/// The block size that `g6_npipes` gives unless the environment says otherwise: the most that phiGRAPE can bear.
pub const NPIPES: usize = 16384;

/// Everything that the environment of a process says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `KYOHO_BACKEND`; without it the first backend that has devices and need not be asked for.
    pub backend: Option<Backend>,
    /// `KYOHO_DEVICES`, `sapporo2.config`, `GPU_LIST`, the local rank, or the first device.
    pub devices: DeviceChoice,
    /// The local rank that the launcher says, whether or not it decides the devices.
    pub local_rank: Option<LocalRank>,
    /// `CUDA_VISIBLE_DEVICES`, which belongs to the driver: it may show other devices to each process.
    pub cuda_visible_devices: Option<String>,
    /// `KYOHO_PRECISION`; without it each old interface has its own.
    pub precision: Option<Precision>,
    /// `KYOHO_NPIPES`.
    pub npipes: usize,
    /// `KYOHO_THREADS`, `OMP_NUM_THREADS`, `SLURM_CPUS_PER_TASK`, or the affinity mask.
    pub threads: usize,
    /// Which of these decided the threads.
    pub threads_because: &'static str,
    /// `KYOHO_CPU_LEVEL`, or the best that the CPU has.
    pub level: Level,
    /// `KYOHO_CROSSOVER`: pairs below which the CPU computes a block in the place of a GPU, 0 where it is `off`;
    /// without it the GPU's model decides.
    pub crossover: Option<u64>,
    /// `KYOHO_ON_FAILURE`: what a failed call of an old interface does.
    pub on_failure: OnFailure,
    /// `KYOHO_LOG`: how much is told; without it nothing, or `info` where there is a file for it.
    pub log: log::LevelFilter,
    /// `KYOHO_LOG_FILE`: where it is told, `%p` being the process; without it stderr.
    pub log_file: Option<PathBuf>,
}

/// What a call of an old interface does when it fails, whose caller may have no way to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// It returns, and forces are NaN.
    #[default]
    Nan,
    /// It ends the process.
    Stop,
}

impl OnFailure {
    /// What this process is asked for, whatever else in its environment is wrong.
    pub fn of_process() -> OnFailure {
        on_failure(&|name| of_process(name)).unwrap_or_default()
    }
}

/// The value of a variable of this process.
fn of_process(name: &str) -> Option<String> {
    Some(std::env::var_os(name)?.to_string_lossy().into_owned())
}

impl Settings {
    /// The settings of this process.
    pub fn from_environment() -> Result<Settings> {
        Settings::from(&of_process, Path::new("."))
    }

    /// The settings that variables and the files of a directory make.
    pub fn from(variable: &dyn Fn(&str) -> Option<String>, directory: &Path) -> Result<Settings> {
        let named = |name: &'static str| variable(name).filter(|value| !value.trim().is_empty());
        let (threads, threads_because) = threads(&named)?;
        let local_rank = launcher::local_rank(&named);
        let log_file =
            named("KYOHO_LOG_FILE").map(|path| PathBuf::from(path.replace("%p", &std::process::id().to_string())));
        let precisions: Vec<&str> = catalogue::precisions().into_iter().map(Precision::name).collect();
        Ok(Settings {
            backend: choice(&named, "KYOHO_BACKEND", &["cpu", "cuda", "opencl"], Backend::from_name)?,
            devices: devices::choice(&named, directory, local_rank.clone())?,
            local_rank: local_rank.unwrap_or_default(),
            cuda_visible_devices: named("CUDA_VISIBLE_DEVICES"),
            precision: choice(&named, "KYOHO_PRECISION", &precisions, Precision::from_name)?,
            npipes: npipes(&named)?,
            threads,
            threads_because,
            level: level(&named)?,
            crossover: crossover(&named)?,
            on_failure: on_failure(&named)?,
            log: choice(&named, "KYOHO_LOG", &["off", "error", "warn", "info", "debug"], |name| name.parse().ok())?
                .unwrap_or(if log_file.is_some() { log::LevelFilter::Info } else { log::LevelFilter::Off }),
            log_file,
        })
    }

    /// The backend to use: the one asked for, else the first that has devices and need not be asked for.
    pub fn chosen_backend(&self) -> Result<Backend> {
        match self.backend {
            Some(backend) => backend.devices().map(|_| backend),
            None => Ok(Backend::ALL.into_iter().find(|backend| backend.is_auto_selectable()).unwrap_or(Backend::Cpu)),
        }
    }

    /// The precision that `KYOHO_PRECISION` says, which must be one that an order is computed in.
    pub fn precision_for(&self, order: Order) -> Result<Option<Precision>> {
        let computed = catalogue::precisions_of(order);
        match self.precision {
            Some(precision) if !computed.contains(&precision) => {
                let allowed: Vec<&str> = computed.into_iter().map(Precision::name).collect();
                Err(Error::BadOption {
                    name: "KYOHO_PRECISION".into(),
                    value: precision.name().into(),
                    allowed: format!("{} for a system of order {}", allowed.join(", "), order as i32),
                })
            }
            wanted => Ok(wanted),
        }
    }

    /// What to make a system of, for the whole forces of an order in a precision.
    pub fn setup(&self, order: Order, precision: Precision) -> Result<Setup> {
        let Selection { backend, devices, .. } = self.select()?;
        Ok(self.setup_on(order, precision, backend, devices))
    }

    /// The same on these devices of a backend.
    pub fn setup_on(&self, order: Order, precision: Precision, backend: Backend, devices: Vec<usize>) -> Setup {
        Setup {
            order,
            precision,
            scope: Scope::Full,
            backend,
            devices,
            threads: self.threads,
            level: self.level,
            shape: None,
            partition: None,
            crossover: self.crossover,
            fall_back: self.backend.is_none(),
        }
    }
}

type Named<'a> = dyn Fn(&'static str) -> Option<String> + 'a;

fn choice<T>(
    named: &Named,
    name: &'static str,
    allowed: &[&str],
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>> {
    let Some(value) = named(name) else { return Ok(None) };
    let parsed = allowed.contains(&value.trim()).then(|| parse(value.trim())).flatten();
    parsed.map(Some).ok_or_else(|| Error::BadOption { name: name.into(), value, allowed: allowed.join(", ") })
}

fn number(named: &Named, name: &'static str, largest: usize) -> Result<Option<usize>> {
    let Some(value) = named(name) else { return Ok(None) };
    match value.trim().parse() {
        Ok(number) if (1..=largest).contains(&number) => Ok(Some(number)),
        _ => Err(Error::BadOption { name: name.into(), value, allowed: format!("1 to {largest}") }),
    }
}

fn npipes(named: &Named) -> Result<usize> {
    Ok(number(named, "KYOHO_NPIPES", NPIPES)?.unwrap_or(NPIPES))
}

fn crossover(named: &Named) -> Result<Option<u64>> {
    let Some(value) = named("KYOHO_CROSSOVER") else { return Ok(None) };
    let pairs = match value.trim() {
        "off" => Some(0),
        number => number.parse().ok(),
    };
    let allowed = "off, or a number of pairs, 0 or more".into();
    pairs.map(Some).ok_or_else(|| Error::BadOption { name: "KYOHO_CROSSOVER".into(), value, allowed })
}

fn on_failure(named: &Named) -> Result<OnFailure> {
    let parse = |name: &str| Some(if name == "stop" { OnFailure::Stop } else { OnFailure::Nan });
    Ok(choice(named, "KYOHO_ON_FAILURE", &["nan", "stop"], parse)?.unwrap_or_default())
}

/// More threads than any machine has.
pub const MAX_THREADS: usize = 4096;

fn threads(named: &Named) -> Result<(usize, &'static str)> {
    if let Some(count) = number(named, "KYOHO_THREADS", MAX_THREADS)? {
        return Ok((count, "KYOHO_THREADS"));
    }
    // These belong to others: a value that is no count is theirs to complain about.
    for name in ["OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"] {
        let first = named(name).and_then(|value| value.split(',').next()?.trim().parse().ok());
        if let Some(count) = first.filter(|count| (1..=MAX_THREADS).contains(count)) {
            return Ok((count, name));
        }
    }
    let count = std::thread::available_parallelism().map_or(1, |count| count.get());
    Ok((count, "the affinity mask"))
}

fn level(named: &Named) -> Result<Level> {
    let names: Vec<&str> = Level::available().map(Level::name).collect();
    Ok(choice(named, "KYOHO_CPU_LEVEL", &names, Level::from_name)?.unwrap_or_else(Level::best))
}

#[cfg(test)]
mod tests;
