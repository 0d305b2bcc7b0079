//! How the old interfaces come to a system: from the environment, and the devices that an `open_special` names.

use std::ffi::c_int;

use crate::catalogue::{Order, Precision};
use crate::config::{DeviceChoice, Selection, Settings, Wanted};
use crate::error::{Error, Result};
use crate::system::{Setup, System};

use super::arrays::Input;
use super::speech;

/// What to make a system of, and why on these devices; `devices` overrules the environment.
pub fn setup(order: Order, precision: Precision, devices: Option<&DeviceChoice>) -> Result<(Setup, String)> {
    let mut settings = Settings::from_environment()?;
    speech::start_log(&settings)?;
    if let Some(devices) = devices {
        settings.devices = devices.clone();
    }
    setup_of(&settings, order, settings.precision.unwrap_or(precision))
}

/// What these settings make a system of, and why on these devices.
pub fn setup_of(settings: &Settings, order: Order, precision: Precision) -> Result<(Setup, String)> {
    let Selection { backend, devices, because } = settings.select()?;
    Ok((settings.setup_on(order, precision, backend, devices), because))
}

/// A system of this setup; the log says why on these devices, and what it is.
pub fn system(interface: &'static str, setup: &Setup, because: &str) -> Result<System> {
    opening(interface, setup, because);
    let system = System::new(setup)?;
    opened(interface, &system);
    Ok(system)
}

/// Says in the log what devices will be opened, and why these.
pub fn opening(interface: &'static str, setup: &Setup, because: &str) {
    log::info!("{interface} opens backend {}, {because}", setup.backend.name());
}

/// Says in the log what a system computes on.
pub fn opened(interface: &'static str, system: &System) {
    let setup = system.setup();
    let devices: Vec<String> = system.devices().into_iter().map(|device| device.name).collect();
    log::info!(
        "{interface} opened: backend {}, devices {}, precision {}, threads {}, instruction set {}",
        setup.backend.name(),
        devices.join(", "),
        setup.precision.name(),
        setup.threads,
        setup.level.name(),
    );
}

/// Says in the log what a system did before it goes.
pub fn closed(interface: &'static str, system: &System) {
    let counts = system.statistics();
    log::info!(
        "{interface} closed: {} sources, {} written, {} blocks, {} sinks, {} interactions",
        counts.sources,
        counts.writes,
        counts.blocks,
        counts.sinks,
        counts.interactions,
    );
}

/// The devices that an `open_special` names, with the meaning that the numbers have in `sapporo2.config`.
///
/// # Safety
/// For a positive `count`, `list` is null or has that many numbers.
pub unsafe fn device_choice(function: &'static str, count: c_int, list: *const c_int) -> Result<DeviceChoice> {
    let wanted = match count {
        0 => Wanted::All,
        ..0 => Wanted::Count(count.unsigned_abs() as usize),
        _ => {
            // SAFETY: the caller's promise.
            let list = unsafe { Input::new("the list of devices", list, count as usize)? };
            let numbers: Result<Vec<usize>> = list
                .items()
                .map(|device| {
                    usize::try_from(device).map_err(|_| Error::BadOption {
                        name: format!("a device of {function}"),
                        value: device.to_string(),
                        allowed: "numbers of devices, 0 or more".into(),
                    })
                })
                .collect();
            Wanted::List(numbers?)
        }
    };
    Ok(DeviceChoice { wanted, because: function.into(), of_gpus: true })
}
