//! The settings of a process, from its environment variables, `sapporo2.config` and the launcher's
//! local rank.

mod devices;
mod launcher;
mod sapporo2;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use kyoho_core::Level;
use kyoho_core::{Error, Order, Precision, Result, Scope, TreeAccuracy};
use kyoho_engine::{Setup, Stepper};
use kyoho_few_body::{FEWEST_ON_DEVICES, Machine};
use kyoho_hal::threads::Threads;
use kyoho_hal::{Backend, environment};
use kyoho_laws::catalogue;
use kyoho_pairs::PairMachine;

pub use devices::{DeviceChoice, Selection, Wanted};
pub use launcher::{LocalRank, rank};

/// The block size that `g6_npipes` gives unless the environment says otherwise: the most that
/// phiGRAPE can bear.
pub const NPIPES: usize = 16384;

/// All settings that the environment of a process makes.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `KYOHO_BACKEND`. Without it, the first backend that has devices and may be chosen unasked.
    pub backend: Option<Backend>,
    /// `KYOHO_DEVICES`, `sapporo2.config`, `GPU_LIST`, the local rank, or the first device.
    pub devices: DeviceChoice,
    /// The local rank that the launcher sets, whether or not it decides the devices.
    pub local_rank: Option<LocalRank>,
    /// `CUDA_VISIBLE_DEVICES`, which belongs to the driver and may show other devices to each
    /// process.
    pub cuda_visible_devices: Option<String>,
    /// `KYOHO_PRECISION`. Without it, each old interface has its own default.
    pub precision: Option<Precision>,
    /// `KYOHO_NPIPES`.
    pub npipes: usize,
    /// `KYOHO_THREADS`, `OMP_NUM_THREADS`, `SLURM_CPUS_PER_TASK`, or the affinity mask.
    pub threads: usize,
    /// The one of these that decided the threads.
    pub threads_because: &'static str,
    /// `KYOHO_CPU_LEVEL`, or the best that the CPU has.
    pub level: Level,
    /// `KYOHO_CROSSOVER`: the number of pairs below which the CPU computes a block in the place of
    /// a GPU, or 0 if it is `off`. Without it, the GPU's cost model decides.
    pub crossover: Option<u64>,
    /// `KYOHO_BLOCK_STEPS`: who makes the block steps of integrators.
    pub block_steps: Option<Stepper>,
    /// `KYOHO_ACCURACY` or `KYOHO_THETA`: the accuracy of forces by a tree, for the GRAPE-5
    /// interface.
    pub tree: Option<TreeAccuracy>,
    /// `KYOHO_ON_FAILURE`: the reaction to a failed call of an old interface.
    pub on_failure: OnFailure,
    /// `KYOHO_LOG`: the level of the log. Without it, nothing is logged, or `info` if
    /// `KYOHO_LOG_FILE` is set.
    pub log: log::LevelFilter,
    /// `KYOHO_LOG_FILE`: the file of the log, in which `%p` is the process. Without it, the log
    /// goes to stderr.
    pub log_file: Option<PathBuf>,
}

/// The reaction to a failed call of an old interface, whose caller may have no way to know of the
/// failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// The call returns, and forces are NaN.
    #[default]
    Nan,
    /// The call ends the process.
    Stop,
}

impl OnFailure {
    /// Returns the reaction that this process asks for, also if something else in its environment
    /// is wrong.
    pub fn of_process() -> OnFailure {
        on_failure(&|name| environment::text(name)).unwrap_or_default()
    }
}

impl Settings {
    /// Returns the settings of this process. Those of one that has the rights of another user than
    /// its caller are made by nothing that the caller chose.
    pub fn from_environment() -> Result<Settings> {
        Settings::from(&environment::text, environment::is_trusted().then_some(Path::new(".")))
    }

    /// Returns the settings that these variables and the files of a directory make.
    pub fn from(variable: &dyn Fn(&str) -> Option<String>, directory: Option<&Path>) -> Result<Settings> {
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
            block_steps: block_steps(&named)?,
            tree: tree(&named)?,
            on_failure: on_failure(&named)?,
            log: choice(&named, "KYOHO_LOG", &["off", "error", "warn", "info", "debug"], |name| name.parse().ok())?
                .unwrap_or(if log_file.is_some() { log::LevelFilter::Info } else { log::LevelFilter::Off }),
            log_file,
        })
    }

    /// Returns the backend that `KYOHO_BACKEND` names, or else the first that has devices and may
    /// be chosen unasked.
    pub fn chosen_backend(&self) -> Result<Backend> {
        match self.backend {
            Some(backend) => backend.devices().map(|_| backend),
            None => Ok(Backend::ALL.into_iter().find(|backend| backend.is_auto_selectable()).unwrap_or(Backend::Cpu)),
        }
    }

    /// Returns the precision that `KYOHO_PRECISION` names. It must be one in which forces of this
    /// order are computed.
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

    /// Returns the setup of a system for the full forces of an order in a precision.
    pub fn setup(&self, order: Order, precision: Precision) -> Result<Setup> {
        let Selection { backend, devices, .. } = self.select()?;
        Ok(self.setup_on(order, precision, backend, devices))
    }

    /// Returns the machine for pair interactions that users write.
    pub fn pair_machine(&self) -> Result<PairMachine> {
        let Selection { backend, devices, .. } = self.select()?;
        let falls_back = self.backend.is_none();
        Ok(PairMachine { backend, devices, threads: self.threads, level: self.level, falls_back })
    }

    /// Returns the machine for this many systems of few bodies.
    pub fn ensemble_machine(&self, systems: usize) -> Result<Machine> {
        let threads = Threads::new(self.threads);
        let is_automatic = self.backend.is_none();
        // Drivers need not wake for few systems.
        if is_automatic && systems < FEWEST_ON_DEVICES {
            return Ok(Machine::cpu(threads));
        }
        let Selection { backend, devices, .. } = self.select()?;
        Ok(Machine { threads, backend, devices, is_automatic })
    }

    /// Returns the setup of a system for full forces on these devices of a backend.
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
            block_steps: self.block_steps,
            fall_back: self.backend.is_none(),
        }
    }
}

/// Returns a sentence for each variable of this process that has a name like those of this library
/// and is none of them.
pub fn unknown_variables() -> Vec<String> {
    let sentence = |(name, nearest)| format!("{name} is set, which nothing reads; the nearest name is {nearest}");
    environment::unknown().into_iter().map(sentence).collect()
}

/// Tells the log of these, once in a process that has a log.
pub fn tell_of_unknown_variables() {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if log::log_enabled!(log::Level::Warn) && !TOLD.swap(true, Ordering::Relaxed) {
        unknown_variables().into_iter().for_each(|sentence| log::warn!("{sentence}"));
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

fn block_steps(named: &Named) -> Result<Option<Stepper>> {
    let all = [Stepper::Host, Stepper::Device];
    let parse = |name: &str| all.into_iter().find(|stepper| stepper.name() == name);
    choice(named, "KYOHO_BLOCK_STEPS", &all.map(Stepper::name), parse)
}

fn tree(named: &Named) -> Result<Option<TreeAccuracy>> {
    let number = |name: &'static str| match named(name) {
        None => Ok(0.0),
        Some(value) => value.trim().parse::<f64>().map_err(|_| Error::BadOption {
            name: name.into(),
            value,
            allowed: "a number".into(),
        }),
    };
    let [accuracy, theta] = ["KYOHO_ACCURACY", "KYOHO_THETA"];
    TreeAccuracy::of((accuracy, number(accuracy)?), (theta, number(theta)?))
}

fn on_failure(named: &Named) -> Result<OnFailure> {
    let parse = |name: &str| Some(if name == "stop" { OnFailure::Stop } else { OnFailure::Nan });
    Ok(choice(named, "KYOHO_ON_FAILURE", &["nan", "stop"], parse)?.unwrap_or_default())
}

/// The most threads, which is more than any machine has.
pub const MAX_THREADS: usize = 4096;

fn threads(named: &Named) -> Result<(usize, &'static str)> {
    if let Some(count) = number(named, "KYOHO_THREADS", MAX_THREADS)? {
        return Ok((count, "KYOHO_THREADS"));
    }
    // These variables belong to other programs, so that a value that is no count is no error here.
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
