//! Devices are opened, given back, and replaced by others where they fail.

use kyoho_core::{Error, Result};
use kyoho_hal::Backend;
use kyoho_hal::threads::Threads;
use kyoho_methods::{CompanionDevices, Device, DeviceOptions};

use super::Devices;
use crate::Setup;
use crate::journal::UpdateJournal;

impl Devices {
    /// Gives the devices back and opens those of another setup, or the former ones again if the
    /// others cannot be had.
    pub fn change(&mut self, setup: &Setup, journal: &mut UpdateJournal) -> Result<()> {
        let before = self.setup.clone();
        // A device that failed may be had again only after all devices were given back.
        self.close();
        journal.forget_devices();
        let Err(error) = self.open_or_fall_back(setup.clone(), setup.fall_back, journal) else { return Ok(()) };
        if let Err(worse) = self.open_or_fall_back(before, true, journal) {
            log::warn!("devices that were given back could not be opened again: {worse}");
        }
        Err(error)
    }

    /// Gives the devices back and opens them for sources with softenings, or without, which another
    /// journal will have. If they cannot be had, the former ones are opened again.
    pub fn soften(&mut self, softened: bool, from: &mut UpdateJournal, to: &mut UpdateJournal) -> Result<()> {
        let setup = self.setup.clone();
        self.close();
        from.forget_devices();
        let before = std::mem::replace(&mut self.softened, softened);
        let Err(error) = self.open_or_fall_back(setup.clone(), setup.fall_back, to) else { return Ok(()) };
        self.softened = before;
        if let Err(worse) = self.open_or_fall_back(setup, true, from) {
            log::warn!("devices that were given back could not be opened again: {worse}");
        }
        Err(error)
    }

    /// Goes on after a failure with the devices that did not fail, and where there are none, with
    /// those of the next backend. An error that no device caused is given back, and so is every
    /// error of the last device where the caller chose the backend.
    pub fn fall_back(&mut self, error: Error, journal: &mut UpdateJournal) -> Result<()> {
        // The host may have no memory either.
        if self.on_host || self.failed.is_empty() || !error.is_of_device() {
            return Err(error);
        }
        let next = match without(&self.setup, &self.failed, &error) {
            Some(fewer) => fewer,
            None => self.next(&self.setup, error)?,
        };
        self.close();
        journal.forget_devices();
        self.open_or_fall_back(next, true, journal).inspect_err(|error| self.lost = Some(error.clone()))
    }

    pub(super) fn close(&mut self) {
        // Memory that several read is page-locked once, by any of them. So none goes before all have
        // ended what they began.
        self.all.iter_mut().chain(&mut self.host).for_each(|device| device.drain());
        self.all.clear();
        self.host.clear();
        (self.take_records, self.on_host, self.knows_block) = (false, false, false);
        self.failed.clear();
        self.partitions.reset();
    }

    /// Opens the devices of a setup. If they may be fewer, those that cannot be had are left out;
    /// where none is left, the next backend is tried, if the setup allows it.
    pub(super) fn open_or_fall_back(
        &mut self,
        mut setup: Setup,
        may_be_fewer: bool,
        journal: &mut UpdateJournal,
    ) -> Result<()> {
        loop {
            match self.open_all(&setup, journal) {
                Ok(()) => {
                    (self.setup, self.lost) = (setup, None);
                    return Ok(());
                }
                Err((number, error)) => {
                    self.close();
                    journal.forget_devices();
                    let fewer = number.filter(|_| may_be_fewer && error.is_of_device());
                    setup = match fewer.and_then(|number| without(&setup, &[number], &error)) {
                        Some(fewer) => fewer,
                        None => self.next(&setup, error)?,
                    };
                }
            }
        }
    }

    /// Returns the setup to try after one that failed, if there is any.
    fn next(&self, failed: &Setup, error: Error) -> Result<Setup> {
        let others = Backend::ALL.into_iter().skip_while(|backend| *backend != failed.backend).skip(1);
        for backend in others.filter(|_| failed.fall_back) {
            let count = self.machine.devices(backend).unwrap_or(0);
            if count > 0 {
                log::warn!("backend {} failed: {error}; backend {} goes on", failed.backend.name(), backend.name());
                let devices = match backend {
                    Backend::Cpu => vec![0],
                    _ => once(failed.devices.iter().map(|number| number % count)),
                };
                return Ok(Setup { backend, devices, ..failed.clone() });
            }
        }
        Err(error)
    }

    /// Opens all devices of a setup and has them register the memory of records. An error comes
    /// with the number of the device that caused it, if one did.
    fn open_all(
        &mut self,
        setup: &Setup,
        journal: &mut UpdateJournal,
    ) -> std::result::Result<(), (Option<usize>, Error)> {
        let count = setup.devices.len();
        let threads = Threads::new(self.machine.threads(count));
        let mut opened: Vec<Option<Result<Box<dyn Device>>>> = (0..count).map(|_| None).collect();
        let machine = &*self.machine;
        let options = self.options(setup, &[]);
        let of_first = self.options(setup, setup.devices.get(1..).unwrap_or_default());
        threads.each(opened.iter_mut().zip(&setup.devices).enumerate(), |(place, (device, number))| {
            let options = if place == 0 { &of_first } else { &options };
            *device = Some(machine.open(setup.backend, *number, options.clone()));
        });
        for (device, number) in opened.into_iter().flatten().zip(&setup.devices) {
            self.all.push(device.map_err(|error| (Some(*number), error))?);
        }
        self.all.iter_mut().for_each(|device| device.share(self.sharers));
        self.threads = threads;
        self.take_records = self.all.iter().all(|device| device.takes_records());
        if !self.take_records {
            return Ok(());
        }
        journal.make_room(self.machine.records(), count).map_err(|error| (None, error))?;
        for (device, number) in self.all.iter_mut().zip(&setup.devices) {
            journal.memory().try_for_each(|memory| device.lock(memory)).map_err(|error| (Some(*number), error))?;
        }
        Ok(())
    }

    /// Returns the options of a device, which others of these numbers help with trees.
    pub(super) fn options(&self, setup: &Setup, companions: &[usize]) -> DeviceOptions {
        DeviceOptions {
            // Where a partition is asked for, all devices have a part, also in small blocks.
            companions: CompanionDevices { numbers: companions.to_vec(), always: setup.partition.is_some() },
            interaction: self.interaction.clone(),
            softenings: self.softened,
            threads: setup.threads,
            level: setup.level,
            shape: setup.shape,
        }
    }
}

/// Returns each number once, in the order in which they come.
fn once(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    numbers.fold(Vec::new(), |mut found, number| {
        if !found.contains(&number) {
            found.push(number);
        }
        found
    })
}

/// Returns the setup without the devices that failed, if others are left.
fn without(setup: &Setup, failed: &[usize], error: &Error) -> Option<Setup> {
    let (gone, left): (Vec<usize>, Vec<usize>) = setup.devices.iter().partition(|number| failed.contains(number));
    if left.is_empty() || gone.is_empty() {
        return None;
    }
    log::warn!("device {} of backend {} failed: {error}; devices {left:?} go on", gone[0], setup.backend.name());
    Some(Setup { devices: left, ..setup.clone() })
}
