//! What the environment asks for: variables, `sapporo2.config`, the launcher's local rank.

use std::path::{Path, PathBuf};

use crate::backend::Backend;
use crate::backend::cpu::Level;
use crate::catalogue::{self, Order, Precision};
use crate::error::{Error, Result};
use crate::system::Setup;

/// The block size that `g6_npipes` gives unless the environment says otherwise: the most that phiGRAPE can bear.
pub const NPIPES: usize = 16384;

/// Which devices of a backend to use, and who said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceChoice {
    /// Which.
    pub wanted: Wanted,
    /// The variable, file or rule that decided.
    pub because: String,
    /// Whether it speaks of GPUs alone and says nothing of the CPU.
    pub of_gpus: bool,
}

/// Which devices of a backend to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// All that are visible.
    All,
    /// The first so many.
    Count(usize),
    /// These; one that is named twice takes twice the share.
    List(Vec<usize>),
    /// One, which this process of several on the host takes by its local rank modulo the number of devices.
    LocalRank(usize),
}

impl DeviceChoice {
    /// Parses `all`, a count, or a list such as `0,2`.
    pub fn parse(name: &str, value: &str) -> Result<DeviceChoice> {
        let bad = || Error::BadOption {
            name: name.into(),
            value: value.into(),
            allowed: "all, a count such as 2, or a list such as 0,2".into(),
        };
        let trimmed = value.trim();
        let numbers = || -> Option<Vec<usize>> { trimmed.split(',').map(|part| part.trim().parse().ok()).collect() };
        let wanted = match trimmed {
            "all" => Wanted::All,
            _ => match (trimmed.contains(','), numbers().ok_or_else(bad)?) {
                (true, list) => Wanted::List(list),
                (false, count) if count[0] > 0 => Wanted::Count(count[0]),
                _ => return Err(bad()),
            },
        };
        Ok(DeviceChoice { wanted, because: name.into(), of_gpus: false })
    }

    /// The numbers of the devices among `visible` ones.
    pub fn resolve(&self, backend: Backend, visible: usize) -> Result<Vec<usize>> {
        let numbers: Vec<usize> = match &self.wanted {
            Wanted::All => (0..visible).collect(),
            // One beyond the last is enough to be found wrong.
            Wanted::Count(count) => (0..(*count).min(visible + 1)).collect(),
            Wanted::List(list) => list.clone(),
            Wanted::LocalRank(rank) => vec![rank % visible.max(1)],
        };
        match numbers.iter().find(|number| **number >= visible) {
            None => Ok(numbers),
            Some(number) => Err(Error::BadOption {
                name: self.because.clone(),
                value: format!("device {number} of backend {}", backend.name()),
                allowed: format!("devices 0 to {}", visible as i64 - 1),
            }),
        }
    }
}

/// Everything that the environment of a process says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `KYOHO_BACKEND`; without it the first backend that has devices.
    pub backend: Option<Backend>,
    /// `KYOHO_DEVICES`, `sapporo2.config`, `GPU_LIST`, the local rank, or the first device.
    pub devices: DeviceChoice,
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
    /// `KYOHO_CROSSOVER`: pairs below which the CPU computes a block in the place of a GPU, 0 where it is `off`; without
    /// it the GPU's model decides.
    pub crossover: Option<u64>,
    /// `KYOHO_LOG`: how much is told.
    pub log: log::LevelFilter,
    /// `KYOHO_LOG_FILE`: where it is told, `%p` being the process; without it stderr.
    pub log_file: Option<PathBuf>,
}

impl Settings {
    /// The settings of this process.
    pub fn from_environment() -> Result<Settings> {
        Settings::from(&|name| Some(std::env::var_os(name)?.to_string_lossy().into_owned()), Path::new("."))
    }

    /// The settings that variables and the files of a directory make.
    pub fn from(variable: &dyn Fn(&str) -> Option<String>, directory: &Path) -> Result<Settings> {
        let named = |name: &'static str| variable(name).filter(|value| !value.trim().is_empty());
        let (threads, threads_because) = threads(&named)?;
        let precisions: Vec<&str> = catalogue::precisions().into_iter().map(Precision::name).collect();
        Ok(Settings {
            backend: choice(&named, "KYOHO_BACKEND", &["cpu", "cuda", "opencl"], Backend::from_name)?,
            devices: devices(&named, directory)?,
            precision: choice(&named, "KYOHO_PRECISION", &precisions, Precision::from_name)?,
            npipes: npipes(&named)?,
            threads,
            threads_because,
            level: level(&named)?,
            crossover: crossover(&named)?,
            log: choice(&named, "KYOHO_LOG", &["off", "error", "warn", "info", "debug"], |name| name.parse().ok())?
                .unwrap_or(log::LevelFilter::Off),
            log_file: named("KYOHO_LOG_FILE")
                .map(|path| PathBuf::from(path.replace("%p", &std::process::id().to_string()))),
        })
    }

    /// The backend to use: the one asked for, else the first that has devices.
    pub fn chosen_backend(&self) -> Result<Backend> {
        match self.backend {
            Some(backend) => backend.devices().map(|_| backend),
            None => Ok(Backend::ALL
                .into_iter()
                .find(|backend| backend.devices().is_ok_and(|devices| !devices.is_empty()))
                .unwrap_or(Backend::Cpu)),
        }
    }

    /// What to make a system of, for an order and a precision.
    pub fn setup(&self, order: Order, precision: Precision) -> Result<Setup> {
        let backend = self.chosen_backend()?;
        let devices = match backend {
            Backend::Cpu if self.devices.of_gpus => vec![0],
            _ => self.devices.resolve(backend, backend.devices()?.len())?,
        };
        Ok(self.setup_on(order, precision, backend, devices))
    }

    /// The same on these devices of a backend.
    pub fn setup_on(&self, order: Order, precision: Precision, backend: Backend, devices: Vec<usize>) -> Setup {
        Setup {
            order,
            precision,
            backend,
            devices,
            threads: self.threads,
            level: self.level,
            shape: None,
            deal: None,
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

/// What launchers tell each process of its place on the host: Open MPI, Hydra (MPICH, Intel MPI), MVAPICH, Slurm, PALS.
const LOCAL_RANKS: [&str; 5] = [
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "SLURM_LOCALID",
    "PALS_LOCAL_RANKID",
];

fn devices(named: &Named, directory: &Path) -> Result<DeviceChoice> {
    // A broken file is reported even where a variable overrules it.
    let file = sapporo2_config(&directory.join("sapporo2.config"))?;
    if let Some(value) = named("KYOHO_DEVICES") {
        return DeviceChoice::parse("KYOHO_DEVICES", &value);
    }
    if let Some(wanted) = file {
        return Ok(of_gpus(wanted, "sapporo2.config"));
    }
    if let Some(value) = named("GPU_LIST") {
        let list: Option<Vec<usize>> = value.split_whitespace().map(|part| part.parse().ok()).collect();
        let list = list.filter(|list| !list.is_empty()).ok_or_else(|| Error::BadOption {
            name: "GPU_LIST".into(),
            value: value.clone(),
            allowed: "numbers of devices with spaces between, such as 0 1".into(),
        })?;
        return Ok(of_gpus(Wanted::List(list), "GPU_LIST"));
    }
    for name in LOCAL_RANKS {
        if let Some(rank) = named(name).and_then(|value| value.trim().parse().ok()) {
            return Ok(of_gpus(Wanted::LocalRank(rank), name));
        }
    }
    Ok(of_gpus(Wanted::LocalRank(0), "the first device, as nothing else was asked for"))
}

fn of_gpus(wanted: Wanted, because: &str) -> DeviceChoice {
    DeviceChoice { wanted, because: because.into(), of_gpus: true }
}

/// Reads Sapporo2's file: a number of devices (0: all; -n: any n of them; n: those with the numbers on the next n
/// lines). What follows a number on its line is a comment; an empty file means 0.
fn sapporo2_config(path: &Path) -> Result<Option<Wanted>> {
    let text = match std::fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Error::BadOption {
                name: path.display().to_string(),
                value: error.to_string(),
                allowed: "a file that can be read, or none".into(),
            });
        }
    };
    let mut lines = text.lines().enumerate();
    let mut next = |allowed: &str| -> Result<i64> {
        let (number, line) = lines.next().unwrap_or((text.lines().count(), ""));
        let word: String = line
            .trim_start()
            .char_indices()
            .take_while(|(place, letter)| letter.is_ascii_digit() || (*place == 0 && matches!(letter, '-' | '+')))
            .map(|(_, letter)| letter)
            .collect();
        word.parse().map_err(|_| Error::BadOption {
            name: format!("{} line {}", path.display(), number + 1),
            value: line.into(),
            allowed: allowed.into(),
        })
    };
    if text.trim().is_empty() {
        return Ok(Some(Wanted::All));
    }
    let count = next("the number of devices: 0 for all, -n for any n, n for the n that the next lines name")?;
    match count {
        0 => Ok(Some(Wanted::All)),
        ..0 => Ok(Some(Wanted::Count(count.unsigned_abs() as usize))),
        _ => {
            let list: Result<Vec<usize>> = (0..count)
                .map(|_| {
                    let device = next("the number of a device, 0 or more")?;
                    usize::try_from(device).map_err(|_| Error::BadOption {
                        name: path.display().to_string(),
                        value: device.to_string(),
                        allowed: "numbers of devices, 0 or more".into(),
                    })
                })
                .collect();
            Ok(Some(Wanted::List(list?)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)], file: Option<&str>) -> Result<Settings> {
        let directory = std::env::temp_dir().join(format!("kyoho-config-{:?}", std::thread::current().id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("sapporo2.config");
        match file {
            Some(text) => std::fs::write(&path, text).unwrap(),
            None => drop(std::fs::remove_file(&path)),
        }
        let variable = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| value.to_string())
        };
        let settings = Settings::from(&variable, &directory);
        std::fs::remove_dir_all(&directory).unwrap();
        settings
    }

    fn wanted(variables: &[(&str, &str)], file: Option<&str>) -> Wanted {
        settings(variables, file).unwrap().devices.wanted
    }

    #[test]
    fn sapporo2_config_has_two_meanings_of_the_number_of_devices() {
        assert_eq!(wanted(&[], Some("1\n0\n")), Wanted::List(vec![0]));
        assert_eq!(wanted(&[], Some("2 devices\n3 third\n 1\n")), Wanted::List(vec![3, 1]));
        assert_eq!(wanted(&[], Some("-2\n")), Wanted::Count(2));
        assert_eq!(wanted(&[], Some("0\n0\n")), Wanted::All);
        assert_eq!(wanted(&[], Some("")), Wanted::All);
        assert_eq!(wanted(&[], None), Wanted::LocalRank(0));
    }

    #[test]
    fn a_broken_file_is_an_error_that_names_the_line() {
        for (text, line) in [("two\n", "line 1"), ("2\n0\n", "line 3"), ("1\nx\n", "line 2")] {
            let error = settings(&[], Some(text)).unwrap_err().to_string();
            assert!(error.contains(line) && error.contains("sapporo2.config"), "{error}");
        }
        assert!(settings(&[("KYOHO_DEVICES", "all")], Some("two")).is_err());
    }

    #[test]
    fn the_first_that_speaks_decides_the_devices() {
        let rank = ("OMPI_COMM_WORLD_LOCAL_RANK", "3");
        let list = ("GPU_LIST", "0 1");
        assert_eq!(wanted(&[rank], None), Wanted::LocalRank(3));
        assert_eq!(wanted(&[rank, list], None), Wanted::List(vec![0, 1]));
        assert_eq!(wanted(&[rank, list], Some("-1")), Wanted::Count(1));
        assert_eq!(wanted(&[rank, list, ("KYOHO_DEVICES", "0,2")], Some("-1")), Wanted::List(vec![0, 2]));
        assert_eq!(wanted(&[("KYOHO_DEVICES", "2")], None), Wanted::Count(2));
        assert_eq!(wanted(&[("KYOHO_DEVICES", "all")], None), Wanted::All);
    }

    #[test]
    fn ranks_beyond_the_devices_share_them() {
        let choice = settings(&[("SLURM_LOCALID", "5")], None).unwrap().devices;
        assert_eq!(choice.resolve(Backend::Cuda, 4), Ok(vec![1]));
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let choice = DeviceChoice::parse("KYOHO_DEVICES", "0,2").unwrap();
        let error = choice.resolve(Backend::Cuda, 2).unwrap_err().to_string();
        assert!(error.contains("device 2") && error.contains("0 to 1"), "{error}");
    }

    #[test]
    fn unknown_values_are_errors_that_name_the_allowed_ones() {
        let cases = [
            ("KYOHO_BACKEND", "gpu", "cuda"),
            ("KYOHO_PRECISION", "float", "mixed"),
            ("KYOHO_PRECISION", "quad", "allowed: single, mixed, double"),
            ("KYOHO_NPIPES", "0", "16384"),
            ("KYOHO_NPIPES", "20000", "16384"),
            ("KYOHO_THREADS", "many", "1 to"),
            ("KYOHO_CPU_LEVEL", "sse", "portable"),
            ("KYOHO_DEVICES", "-1", "all"),
            ("KYOHO_DEVICES", "0", "all"),
            ("KYOHO_LOG", "loud", "info"),
            ("KYOHO_CROSSOVER", "-1", "off"),
            ("KYOHO_CROSSOVER", "on", "0 or more"),
        ];
        for (name, value, allowed) in cases {
            let error = settings(&[(name, value)], None).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(value) && error.contains(allowed), "{error}");
        }
    }

    #[test]
    fn the_crossover_is_a_number_or_off_or_left_to_the_device() {
        let crossover = |value| settings(&[("KYOHO_CROSSOVER", value)], None).unwrap().crossover;
        assert_eq!([crossover("off"), crossover("0"), crossover(" 100000 ")], [Some(0), Some(0), Some(100_000)]);
        assert_eq!(settings(&[], None).unwrap().crossover, None);
    }

    #[test]
    fn a_backend_that_nobody_asked_for_may_be_left() {
        let setup =
            |variables: &[_]| settings(variables, None).unwrap().setup(Order::Fourth, Precision::Double).unwrap();
        assert!(setup(&[]).fall_back);
        assert!(!setup(&[("KYOHO_BACKEND", "cpu")]).fall_back);
    }

    #[test]
    fn threads_follow_the_first_variable_that_speaks() {
        let all = [("SLURM_CPUS_PER_TASK", "7"), ("OMP_NUM_THREADS", "5,2"), ("KYOHO_THREADS", "3")];
        assert_eq!(settings(&all, None).unwrap().threads, 3);
        assert_eq!(settings(&all[..2], None).unwrap().threads, 5);
        assert_eq!(settings(&all[..1], None).unwrap().threads, 7);
        assert_eq!(settings(&[("KYOHO_NPIPES", "48")], None).unwrap().npipes, 48);
    }
}
