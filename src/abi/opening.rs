//! The old interfaces open a system here, from the environment and from the devices that an
//! `open_special` names.

use std::ffi::c_int;

use crate::config::{self, DeviceChoice, Selection, Settings, Wanted};
use kyoho_core::{Error, Order, Precision, Result, Scope};
use kyoho_engine::{Setup, System};

use super::arrays::Input;
use super::diagnostics::{self, Failure, Outcome};
use super::process::{self, Owned};

/// Returns the setup of a system, and the reason for its devices. `devices` overrules the
/// environment.
pub fn setup(order: Order, precision: Precision, devices: Option<&DeviceChoice>) -> Result<(Setup, String)> {
    let mut settings = Settings::from_environment()?;
    diagnostics::start_log(&settings)?;
    if let Some(devices) = devices {
        settings.devices = devices.clone();
    }
    setup_of(&settings, order, settings.precision_for(order)?.unwrap_or(precision))
}

/// Returns the setup of a system from these settings, and the reason for its devices.
pub fn setup_of(settings: &Settings, order: Order, precision: Precision) -> Result<(Setup, String)> {
    let Selection { backend, devices, because } = settings.select()?;
    Ok((settings.setup_on(order, precision, backend, devices), because))
}

/// The constants of an interface that has one board in a process.
pub struct Interface {
    /// The name of the interface in the log.
    pub name: &'static str,
    /// The order of the forces.
    pub order: Order,
    /// Whether the forces are full or regular ones.
    pub scope: Scope,
    /// The precision of the forces if the environment names none.
    pub precision: Precision,
    /// The function that opens the board.
    pub opener: &'static str,
    /// The complaint when a call opens a board that is open with other devices.
    pub with_others: &'static str,
}

/// The system of the one board of an interface.
pub struct Opened {
    interface: Interface,
    held: Option<Owned<(Setup, System)>>,
    broken: bool,
    is_poisoned: bool,
}

impl Opened {
    /// Makes a board that was not opened yet.
    pub const fn new(interface: Interface) -> Opened {
        Opened { interface, held: None, broken: false, is_poisoned: false }
    }

    /// Opens the board if it is not open yet. `devices` overrules the environment.
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

    /// Makes a board that is open with a system.
    #[cfg(test)]
    pub fn with(interface: Interface, system: (Setup, System)) -> Opened {
        Opened { held: Some(Owned::new(system)), ..Opened::new(interface) }
    }

    /// Notes that a panic ended a call. The system may be half changed, and is not touched any more
    /// but to free it.
    pub fn poison(&mut self) {
        self.is_poisoned = true;
    }

    /// Whether a panic ended a call. Opening the board again begins anew.
    pub fn is_poisoned(&self) -> bool {
        self.is_poisoned
    }

    /// Fails after a panic ended a call.
    pub fn check(&self) -> Result<()> {
        if self.is_poisoned { Err(poisoned()) } else { Ok(()) }
    }

    /// Returns the system, and opens the board if it was never opened.
    pub fn system(&mut self) -> Outcome<&mut System> {
        self.check()?;
        if self.held.is_none() {
            if self.broken {
                return Err(Failure::AlreadyReported);
            }
            self.open(self.interface.opener, None)?;
        }
        let held = self.held.as_mut().ok_or(Failure::AlreadyReported)?;
        Ok(&mut held.get(self.interface.opener)?.1)
    }

    /// Returns the system if this process has opened it.
    pub fn if_open(&mut self) -> Option<&mut System> {
        if self.is_poisoned {
            return None;
        }
        Some(&mut self.held.as_mut()?.get(self.interface.opener).ok()?.1)
    }

    /// Whether the process that this one was forked from opened the board. It can only be forgotten
    /// here.
    pub fn is_in_forked_child(&self) -> bool {
        self.held.as_ref().is_some_and(Owned::is_in_forked_child)
    }

    /// Whether opening failed, which its line reported. All calls fail until the board is opened
    /// again.
    pub fn is_broken(&self) -> bool {
        self.broken
    }
}

/// The error of a board that a panic ended a call of.
pub fn poisoned() -> Error {
    Error::Poisoned { thing: "the board", allowed: "to open it again, which forgets all sources" }
}

/// Makes a system of this setup, and logs who opened it and the reason for its devices.
pub fn system(interface: &'static str, setup: &Setup, because: &str) -> Result<System> {
    // Opening may take long, or hang in a driver.
    log::debug!("{interface} opens backend {}, {because}", setup.backend.name());
    let system = System::new(setup)?;
    opened(interface, &system, because);
    Ok(system)
}

/// Logs in one line who opened a system, and the devices it computes on.
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

/// Logs how much work a system did, before it is freed.
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

/// Returns the devices that an `open_special` names. The numbers mean the same as in
/// `sapporo2.config`.
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
