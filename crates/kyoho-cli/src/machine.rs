//! The options that choose the place where forces are computed. Each overrules a variable of the
//! environment.

use crate::count::count;
use crate::failure::{Failure, Result};
use kyoho::config::{DeviceChoice, Settings};
use kyoho_core::Level;
use kyoho_hal::Backend;

/// The devices and threads that compute.
#[derive(Debug, Clone, clap::Args)]
pub struct Devices {
    /// Backend: cpu, cuda, opencl [default: KYOHO_BACKEND, else the first that has devices]
    #[arg(long)]
    pub backend: Option<String>,
    /// Devices of the backend: all, a count, or a list such as 0,2 or 3, [default: KYOHO_DEVICES
    /// and others]
    #[arg(long)]
    pub devices: Option<String>,
    /// CPU threads [default: KYOHO_THREADS and others]
    #[arg(long, value_parser = count::<u16>(1..=4096))]
    pub threads: Option<u16>,
}

/// The place where forces are computed.
#[derive(Debug, Clone, clap::Args)]
pub struct Machine {
    #[command(flatten)]
    pub place: Devices,
    /// Instruction set of the CPU backend [default: KYOHO_CPU_LEVEL, else the best]
    #[arg(long)]
    pub level: Option<String>,
}

impl Devices {
    /// Returns the settings of the environment, overruled by the options, and starts the log that the
    /// environment asks for.
    pub fn settings(&self) -> Result<Settings> {
        let mut settings = Settings::from_environment()?;
        kyoho::abi::diagnostics::start_log(&settings)?;
        if let Some(name) = &self.backend {
            settings.backend = Some(named("--backend", name, &Backend::ALL, Backend::name)?);
        }
        if let Some(devices) = &self.devices {
            settings.devices = DeviceChoice::parse("--devices", devices).map_err(|_| Failure::Argument {
                option: "--devices",
                value: devices.clone(),
                allowed: DeviceChoice::ALLOWED.into(),
            })?;
        }
        if let Some(threads) = self.threads {
            settings.threads = threads.into();
            settings.threads_because = "--threads";
        }
        Ok(settings)
    }
}

impl Machine {
    /// Returns the settings of the environment, overruled by the options.
    pub fn settings(&self) -> Result<Settings> {
        let mut settings = self.place.settings()?;
        if let Some(name) = &self.level {
            let levels: Vec<Level> = Level::available().collect();
            settings.level = named("--level", name, &levels, Level::name)?;
        }
        Ok(settings)
    }
}

/// Returns the one among `all` that has this name.
pub fn named<T: Copy>(option: &'static str, value: &str, all: &[T], name: impl Fn(T) -> &'static str) -> Result<T> {
    all.iter().copied().find(|candidate| name(*candidate) == value).ok_or_else(|| Failure::Argument {
        option,
        value: format!("'{value}'"),
        allowed: all.iter().map(|candidate| name(*candidate)).collect::<Vec<_>>().join(", "),
    })
}
