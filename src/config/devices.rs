//! The choice of devices of a process, and the sentence that gives the reason.

use std::path::Path;

use kyoho_core::{Error, Result};
use kyoho_hal::{Backend, Visible};

use super::launcher::LocalRank;
use super::{Named, Settings, sapporo2};

/// A choice of devices of a backend, and who made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceChoice {
    /// The devices.
    pub wanted: Wanted,
    /// The argument, variable or file that made the choice.
    pub because: String,
    /// Whether the choice is among GPUs alone, and means nothing to the CPU.
    pub of_gpus: bool,
}

/// The wanted devices of a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// All visible devices of the kind and the platform of the first, which are GPUs if there are
    /// any.
    All,
    /// The first devices, this many.
    Count(usize),
    /// The devices with these numbers. A device that is named twice takes twice the share.
    List(Vec<usize>),
    /// One device, whose number is this local rank modulo the number of devices. Without a launcher
    /// it is the first.
    LocalRank(usize),
}

/// The devices that are taken of a backend, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The backend.
    pub backend: Backend,
    /// The numbers of its devices.
    pub devices: Vec<usize>,
    /// A sentence for people, which is also in `kyoho info` and in the log. It says who decided,
    /// among how many devices, which devices were taken, and which other processes take the same.
    pub because: String,
}

impl DeviceChoice {
    /// The values that [`DeviceChoice::parse`] allows.
    pub const ALLOWED: &str = "all, a count such as 2, or a list such as 0,2 or, for the first device, 0,";

    /// Parses `all`, a count, or a list such as `0,2`. A list of one number ends in a comma.
    /// Anything else is an error, which names `name` as the origin of the value.
    pub fn parse(name: &str, value: &str) -> Result<DeviceChoice> {
        let bad = || Error::BadOption { name: name.into(), value: value.into(), allowed: DeviceChoice::ALLOWED.into() };
        let trimmed = value.trim();
        let list = || numbers(trimmed.strip_suffix(',').unwrap_or(trimmed).split(','));
        let wanted = match trimmed {
            "all" => Some(Wanted::All),
            _ if trimmed.contains(',') => list().map(Wanted::List),
            count => count.parse().ok().filter(|count| *count > 0).map(Wanted::Count),
        };
        Ok(DeviceChoice { wanted: wanted.ok_or_else(bad)?, because: name.into(), of_gpus: false })
    }

    /// Returns the numbers of the devices among those of a backend, or an error if some are not
    /// there.
    pub fn resolve(&self, backend: Backend, Visible { all, alike }: Visible) -> Result<Vec<usize>> {
        let bad = |value: String, allowed: String| {
            let value = format!("{value} of backend {}", backend.name());
            Err(Error::BadOption { name: self.because.clone(), value, allowed })
        };
        let Some(last) = all.checked_sub(1) else { return bad("a device".into(), "none, as it has none".into()) };
        match &self.wanted {
            Wanted::All => Ok((0..alike).collect()),
            Wanted::Count(count) if *count > alike => {
                bad(format!("{count} devices"), format!("1 to {alike} of devices 0 to {}", alike - 1))
            }
            Wanted::Count(count) => Ok((0..*count).collect()),
            Wanted::List(list) => match list.iter().find(|number| **number > last) {
                Some(number) => bad(format!("device {number}"), format!("devices 0 to {last}")),
                None => Ok(list.clone()),
            },
            Wanted::LocalRank(rank) => Ok(vec![rank % alike]),
        }
    }
}

/// Returns the choice that the variables and the file make. The first that is set decides. An error
/// in the local rank counts only if the local rank decides.
pub fn choice(named: &Named, directory: Option<&Path>, local_rank: Result<Option<LocalRank>>) -> Result<DeviceChoice> {
    // An error in the file is reported even if a variable overrules the file.
    let file = match directory {
        Some(directory) => sapporo2::read(&directory.join("sapporo2.config"))?,
        None => None,
    };
    if let Some(value) = named("KYOHO_DEVICES") {
        return DeviceChoice::parse("KYOHO_DEVICES", &value);
    }
    if let Some(wanted) = file {
        return Ok(of_gpus(wanted, "sapporo2.config"));
    }
    if let Some(value) = named("GPU_LIST") {
        let list = numbers(value.split_whitespace()).ok_or_else(|| Error::BadOption {
            name: "GPU_LIST".into(),
            value: value.clone(),
            allowed: "numbers of devices with spaces between, such as 0 1".into(),
        })?;
        return Ok(of_gpus(Wanted::List(list), "GPU_LIST"));
    }
    Ok(match local_rank? {
        Some(local) => of_gpus(Wanted::LocalRank(local.rank), local.variable),
        None => of_gpus(Wanted::LocalRank(0), "the default"),
    })
}

fn of_gpus(wanted: Wanted, because: &str) -> DeviceChoice {
    DeviceChoice { wanted, because: because.into(), of_gpus: true }
}

fn numbers<'a>(words: impl Iterator<Item = &'a str>) -> Option<Vec<usize>> {
    words.map(|word| word.trim().parse().ok()).collect()
}

impl Settings {
    /// Returns the backend and the devices of these settings on this machine, or an error if they
    /// are not there.
    pub fn select(&self) -> Result<Selection> {
        let backend = self.chosen_backend()?;
        self.select_of(backend, backend.visible()?)
    }

    /// Returns the devices of these settings on a backend that has these visible devices.
    pub fn select_of(&self, backend: Backend, visible: Visible) -> Result<Selection> {
        let DeviceChoice { wanted, because, of_gpus } = &self.devices;
        if backend == Backend::Cpu && *of_gpus && !matches!(wanted, Wanted::LocalRank(_)) {
            let because = format!("{because} is about GPUs only: device 0, the CPU");
            return Ok(Selection { backend, devices: vec![0], because });
        }
        let devices = self.devices.resolve(backend, visible)?;
        let because = self.sentence(backend, visible, &devices);
        Ok(Selection { backend, devices, because })
    }

    fn sentence(&self, backend: Backend, visible: Visible, devices: &[usize]) -> String {
        let DeviceChoice { wanted, because, .. } = &self.devices;
        let visible = if matches!(wanted, Wanted::List(_)) { visible.all } else { visible.alike };
        let shares = shares(devices);
        let reason = match (wanted, &self.local_rank) {
            (Wanted::All, _) => format!("{because} asks for all of"),
            (Wanted::Count(count), _) => format!("{because} asks for {count} of"),
            (Wanted::List(_), _) => format!("{because} names {} of", shares.len()),
            (Wanted::LocalRank(_), Some(local)) => format!("{local} on"),
            (Wanted::LocalRank(_), None) => "by default the first of".into(),
        };
        // If this is set, each process may see other devices.
        let (hidden, condition) = match &self.cuda_visible_devices {
            Some(value) if backend == Backend::Cuda => {
                (format!(" (CUDA_VISIBLE_DEVICES is '{value}')"), " if CUDA_VISIBLE_DEVICES is the same there")
            }
            _ => (String::new(), ""),
        };
        let others = match (wanted, &self.local_rank) {
            (Wanted::LocalRank(_), Some(local)) => ranks_with_the_same(local, visible)
                .map_or(String::new(), |who_has| format!(", which {who_has} too{condition}")),
            (_, Some(local)) if local.size != Some(1) => {
                format!("; {local} has no effect: ranks with the same setting share them{condition}")
            }
            _ => String::new(),
        };
        let taken = in_words("device", &shares);
        let of_how_many = if visible == 1 { "device" } else { "devices" };
        format!("{reason} {visible} {of_how_many}{hidden}: {taken}{others}")
    }
}

/// Returns the devices, each once and in their order, with their shares if they have several.
fn shares(devices: &[usize]) -> Vec<String> {
    let mut shares: Vec<(usize, usize)> = Vec::new();
    for device in devices {
        match shares.iter_mut().find(|(known, _)| known == device) {
            Some((_, times)) => *times += 1,
            None => shares.push((*device, 1)),
        }
    }
    let words = shares.into_iter().map(|(device, times)| match times {
        1 => device.to_string(),
        _ => format!("{device} ({times} shares)"),
    });
    words.collect()
}

/// Names the other local ranks that take the same device. If the number of ranks is unknown, the
/// lower ones are known to exist.
fn ranks_with_the_same(local: &LocalRank, visible: usize) -> Option<String> {
    let ranks = (local.rank % visible..local.size.unwrap_or(local.rank + 1)).step_by(visible);
    let count = ranks.len() - 1;
    let others = ranks.filter(|rank| *rank != local.rank).map(|rank| rank.to_string());
    match count {
        0 => None,
        1 => Some(format!("{} has", in_words("rank", &others.collect::<Vec<_>>()))),
        2 | 3 => Some(format!("{} have", in_words("rank", &others.collect::<Vec<_>>()))),
        _ => Some(format!("{count} other ranks have")),
    }
}

/// Returns words such as `device 1` or `devices 0, 2`.
fn in_words(noun: &str, all: &[String]) -> String {
    format!("{noun}{} {}", if all.len() == 1 { "" } else { "s" }, all.join(", "))
}
