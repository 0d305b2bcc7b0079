//! How the old interfaces come to a system: from the environment, and the devices that an `open_special` names.

use std::ffi::c_int;

use crate::config::{self, DeviceChoice, Selection, Settings, Wanted};
use crate::data::{Error, Order, Precision, Result, Scope};
use crate::engine::{Setup, System};

use super::arrays::Input;
use super::process::{self, Owned};
use super::speech::{self, Failure, Outcome};

/// What to make a system of, and why on these devices; `devices` overrules the environment.
pub fn setup(order: Order, precision: Precision, devices: Option<&DeviceChoice>) -> Result<(Setup, String)> {
    let mut settings = Settings::from_environment()?;
    speech::start_log(&settings)?;
    if let Some(devices) = devices {
        settings.devices = devices.clone();
    }
    setup_of(&settings, order, settings.precision_for(order)?.unwrap_or(precision))
}

/// What these settings make a system of, and why on these devices.
pub fn setup_of(settings: &Settings, order: Order, precision: Precision) -> Result<(Setup, String)> {
    let Selection { backend, devices, because } = settings.select()?;
    Ok((settings.setup_on(order, precision, backend, devices), because))
}

/// What an interface opens that has one board in a process.
pub struct Interface {
    /// Its name in the log.
    pub name: &'static str,
    /// The order of its forces.
    pub order: Order,
    /// Which sources they are of.
    pub scope: Scope,
    /// Their precision where the environment names none.
    pub precision: Precision,
    /// The function that opens the board.
    pub opener: &'static str,
    /// What is wrong where an open board is opened with other devices.
    pub with_others: &'static str,
}

/// The system of the one board of an interface.
pub struct Opened {
    interface: Interface,
    held: Option<Owned<(Setup, System)>>,
    broken: bool,
}

impl Opened {
    /// A board that was not opened yet.
    pub const fn new(interface: Interface) -> Opened {
        Opened { interface, held: None, broken: false }
    }

    /// Opens the board, if it is not open yet; `devices` overrules the environment.
    pub fn open(&mut self, function: &'static str, devices: Option<&DeviceChoice>) -> Outcome<()> {
        let Interface { name, order, scope, precision, with_others, .. } = self.interface;
        if let Some(held) = &mut self.held {
            let (held, _) = held.get(self.interface.opener)?;
            if devices.is_some() && setup(order, precision, devices)?.0.devices != held.devices {
                return Err(Error::CallOrder { call: function, when: with_others }.into());
            }
            return Ok(());
        }
        self.broken = true;
        let (setup, because) = setup(order, precision, devices)?;
        let setup = Setup { scope, ..setup };
        let system = system(name, &setup, &because)?;
        self.held = Some(Owned::new((setup, system)));
        self.broken = false;
        Ok(())
    }

    /// The open system; a board that was never opened opens here.
    pub fn system(&mut self) -> Outcome<&mut System> {
        if self.held.is_none() {
            if self.broken {
                return Err(Failure::Told);
            }
            self.open(self.interface.opener, None)?;
        }
        let held = self.held.as_mut().ok_or(Failure::Told)?;
        Ok(&mut held.get(self.interface.opener)?.1)
    }

    /// The system, if this process has opened it.
    pub fn if_open(&mut self) -> Option<&mut System> {
        Some(&mut self.held.as_mut()?.get(self.interface.opener).ok()?.1)
    }

    /// Whether the board is one of the process that this one was forked from: only to be forgotten.
    pub fn is_in_forked_child(&self) -> bool {
        self.held.as_ref().is_some_and(Owned::is_in_forked_child)
    }

    /// Whether opening failed, and its line was written: all calls fail until the board is opened again.
    pub fn is_broken(&self) -> bool {
        self.broken
    }
}

/// A system of this setup; the log says who opened it, and why on these devices.
pub fn system(interface: &'static str, setup: &Setup, because: &str) -> Result<System> {
    // Opening may take long, or hang in a driver.
    log::debug!("{interface} opens backend {}, {because}", setup.backend.name());
    let system = System::new(setup)?;
    opened(interface, &system, because);
    Ok(system)
}

/// Says in one line of the log who opened a system, and what it computes on.
pub fn opened(interface: &'static str, system: &System, because: &str) {
    let setup = system.setup();
    let devices: Vec<String> = system.devices().into_iter().map(|device| device.name).collect();
    log::info!(
        "{interface} opened by process {}, {}, on {}: backend {}, devices {}, order {}, precision {}, threads {}, \
         instruction set {}; {because}",
        std::process::id(),
        config::rank(),
        process::host(),
        setup.backend.name(),
        devices.join(", "),
        setup.order as i32,
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
