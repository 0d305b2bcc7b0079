//! Many systems at once; results depend neither on the machine nor on how it shares them.

use kyoho_core::{Error, Result, memory};
use kyoho_hal::Backend;
use kyoho_hal::threads::Threads;

use crate::evolve::{Outcome, evolve, is_kepler_problem};
use crate::gpu::rules::LARGEST;
use crate::gpu::{self, Job};
use crate::options::Options;
use crate::system::System;

/// The fewest systems with one number of bodies for which a machine that was not asked for its devices
/// opens them.
pub const FEWEST_ON_DEVICES: usize = 16384;

/// The machine on which systems are evolved.
#[derive(Clone)]
pub struct Machine {
    /// Threads of the CPU. With devices, they begin and end systems.
    pub threads: Threads,
    /// The backend.
    pub backend: Backend,
    /// The numbers of its devices.
    pub devices: Vec<usize>,
    /// Whether the caller left the choice open: then the CPU takes ensembles for which a device does
    /// not pay, and those of devices that fail.
    pub is_automatic: bool,
}

impl Machine {
    /// Threads of this CPU.
    pub fn cpu(threads: Threads) -> Machine {
        Machine { threads, backend: Backend::Cpu, devices: Vec::new(), is_automatic: false }
    }

    /// Evolves on devices what is for them. After an error those without an outcome are as before.
    fn evolve_on_devices(
        &self,
        systems: &mut [System],
        outcomes: &mut [Option<Result<Outcome>>],
        options: &Options,
    ) -> Result<()> {
        // By the number of bodies.
        let mut groups = [const { Vec::new() }; LARGEST + 1];
        for (system, outcome) in systems.iter_mut().zip(outcomes) {
            let bodies = system.masses.len();
            if (2..=LARGEST).contains(&bodies) && !is_kepler_problem(system, options) {
                memory::push(&mut groups[bodies], Job { system, outcome }, "systems")?;
            }
        }
        let fewest = if self.is_automatic { FEWEST_ON_DEVICES } else { 1 };
        let pays = |jobs: &Vec<Job>| jobs.len() >= fewest;
        if !groups.iter().any(pays) {
            return Ok(());
        }
        let mut devices = gpu::open(self.backend, &self.devices)?;
        groups.into_iter().filter(pays).try_for_each(|jobs| devices.evolve(jobs, options, &self.threads))
    }
}

/// Evolves systems, each of which has the state at its end afterwards. A system that ends early, or
/// makes all its steps, does not end the others.
///
/// # Errors
/// Options or numbers of a system that are not allowed, after which no system has moved; a device that
/// the caller chose and that fails.
pub fn evolve_all(systems: &mut [System], options: &Options, machine: &Machine) -> Result<Vec<Outcome>> {
    options.check()?;
    for (place, system) in systems.iter().enumerate() {
        system.check(options, 0).map_err(|error| in_system(place, error))?;
    }
    let mut outcomes: Vec<Option<Result<Outcome>>> = memory::room(systems.len(), "the outcomes of systems")?;
    outcomes.resize_with(systems.len(), || None);
    if machine.backend != Backend::Cpu {
        let evolved = machine.evolve_on_devices(systems, &mut outcomes, options);
        match evolved {
            Err(error) if !machine.is_automatic => return Err(error),
            Err(error) => log::warn!("the CPU evolves systems of few bodies: {error}"),
            Ok(()) => (),
        }
    }
    let without = systems.iter_mut().zip(&mut outcomes).filter(|(_, outcome)| outcome.is_none());
    let left = memory::collected(without, "systems")?;
    let moved = |(system, outcome): (&mut System, &mut Option<_>)| *outcome = Some(evolve(system, options, None));
    machine.threads.each(left.into_iter(), moved);
    let mut made = memory::room(systems.len(), "the outcomes of systems")?;
    for (place, outcome) in outcomes.into_iter().enumerate() {
        let outcome = outcome.unwrap_or_else(|| Err(Error::Internal { what: "a system was left out".into() }));
        made.push(outcome.map_err(|error| in_system(place, error))?);
    }
    Ok(made)
}

/// Names the system of an error.
fn in_system(place: usize, error: Error) -> Error {
    match error {
        Error::NotFinite { what, value } => Error::NotFinite { what: format!("{what} of system {place}"), value },
        Error::BadOption { name, value, allowed } => {
            Error::BadOption { name: format!("{name} of system {place}"), value, allowed }
        }
        other => other,
    }
}
