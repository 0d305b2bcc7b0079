//! The devices of a system: who computes a block, and who goes on when they fail.

use crate::backend::{Backend, Device, DeviceDescription, DeviceOptions, Machine};
use crate::catalogue::Descriptor;
use crate::error::{Error, Result, ResultCode};

use super::block::{Block, Parts, Sums};
use super::log::Log;
use super::sources::{Record, Sources};
use super::{Setup, slices};

/// The devices that sum the forces of a system's sources, and the CPU where it takes over small blocks.
pub struct Devices {
    machine: Box<dyn Machine>,
    descriptor: &'static Descriptor,
    /// What they are made of now.
    setup: Setup,
    /// None where the last change failed.
    all: Vec<Box<dyn Device>>,
    take_records: bool,
    /// The CPU, once it was needed.
    host: Vec<Box<dyn Device>>,
    /// Whether the last block is the CPU's.
    on_host: bool,
    parts: Parts,
}

impl Devices {
    /// Opens the devices of a setup, and makes the log if they take records.
    pub fn open(
        machine: Box<dyn Machine>,
        descriptor: &'static Descriptor,
        setup: &Setup,
        log: &mut Option<Log>,
    ) -> Result<Devices> {
        let mut devices = Devices {
            machine,
            descriptor,
            setup: setup.clone(),
            all: Vec::new(),
            take_records: false,
            host: Vec::new(),
            on_host: false,
            parts: Parts::new(descriptor.outputs, descriptor.nearest),
        };
        devices.open_or_fall_back(setup.clone(), log)?;
        Ok(devices)
    }

    /// What they are made of now.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Sets the pairs below which the CPU takes over.
    pub fn set_crossover(&mut self, pairs: u64) {
        self.setup.crossover = Some(pairs);
    }

    /// Whether they take records.
    pub fn take_records(&self) -> bool {
        self.take_records
    }

    /// What they are.
    pub fn describe(&self) -> Vec<DeviceDescription> {
        self.all.iter().map(|device| device.describe()).collect()
    }

    /// The seconds that a block takes on the slowest by their models, if all have one.
    pub fn estimate(&self, ni: usize, nj: usize) -> Option<f64> {
        let estimates = self.all.iter().map(|device| device.estimate(ni, nj));
        estimates.reduce(|longest, next| Some(longest?.max(next?))).flatten()
    }

    /// Bytes of host memory in use.
    pub fn bytes(&self) -> usize {
        self.all.iter().chain(&self.host).map(|device| device.bytes()).sum()
    }

    /// Gives the devices back and opens those of another setup; if they cannot be had, those of before.
    pub fn change(&mut self, setup: &Setup, log: &mut Option<Log>) -> Result<()> {
        let before = self.setup.clone();
        // What failed may be had again only after all of it was given back.
        self.close();
        let Err(error) = self.open_or_fall_back(setup.clone(), log) else { return Ok(()) };
        if let Err(worse) = self.open_or_fall_back(before, log) {
            log::warn!("devices that were given back could not be opened again: {worse}");
        }
        Err(error)
    }

    /// Opens the devices of the next backend after these have failed. An error that is none of theirs is given back, and
    /// so is every error where the caller chose the backend.
    pub fn fall_back(&mut self, error: Error, log: &mut Option<Log>) -> Result<()> {
        if self.on_host || !matches!(error.code(), ResultCode::DeviceFailed | ResultCode::OutOfMemory) {
            return Err(error);
        }
        let next = self.next(&self.setup, error)?;
        self.close();
        self.open_or_fall_back(next, log)
    }

    fn close(&mut self) {
        // Records that several read are registered once, by the first of them, which goes when none is at work any more.
        while self.all.pop().is_some() {}
        self.host.clear();
        (self.take_records, self.on_host) = (false, false);
    }

    fn open_or_fall_back(&mut self, mut setup: Setup, log: &mut Option<Log>) -> Result<()> {
        loop {
            match self.opened(&setup, log) {
                Ok(all) => {
                    self.take_records = all.iter().all(|device| device.takes_records());
                    (self.all, self.setup) = (all, setup);
                    return Ok(());
                }
                Err(error) => setup = self.next(&setup, error)?,
            }
        }
    }

    /// The setup to try after one that failed, if there is any.
    fn next(&self, failed: &Setup, error: Error) -> Result<Setup> {
        let others = Backend::ALL.into_iter().skip_while(|backend| *backend != failed.backend).skip(1);
        for backend in others.filter(|_| failed.fall_back) {
            let count = self.machine.devices(backend).unwrap_or(0);
            if count > 0 {
                log::warn!("backend {} failed: {error}; backend {} goes on", failed.backend.name(), backend.name());
                let devices = match backend {
                    Backend::Cpu => vec![0],
                    _ => failed.devices.iter().map(|number| number % count).collect(),
                };
                return Ok(Setup { backend, devices, ..failed.clone() });
            }
        }
        Err(error)
    }

    fn opened(&self, setup: &Setup, log: &mut Option<Log>) -> Result<Vec<Box<dyn Device>>> {
        let count = setup.devices.len();
        let devices = setup.devices.iter().enumerate();
        let opened = devices.map(|(place, number)| self.open_one(setup, setup.backend, *number, (place, count)));
        let mut opened: Vec<_> = opened.collect::<Result<_>>()?;
        if opened.iter().all(|device| device.takes_records()) {
            let log = match log {
                Some(log) => log,
                none => none.insert(Log::new(self.machine.records())?),
            };
            for device in &mut opened {
                log.buffers().into_iter().try_for_each(|buffer| device.register(buffer))?;
            }
        }
        Ok(opened)
    }

    /// Opens a device for its share of the slices: the first of two numbers among so many devices as the second says.
    fn open_one(
        &self,
        setup: &Setup,
        backend: Backend,
        number: usize,
        (place, count): (usize, usize),
    ) -> Result<Box<dyn Device>> {
        let options = DeviceOptions {
            descriptor: self.descriptor,
            slices: slices::slices_of_device(place, count),
            threads: setup.threads,
            level: setup.level,
            shape: setup.shape,
        };
        self.machine.open(backend, number, options)
    }

    /// Chooses who computes the next block, by the number of its pairs alone; whether it is the CPU in place of others.
    pub fn choose(&mut self, ni: usize, nj: usize) -> Result<bool> {
        let own = self.all.first().map_or(0, |device| device.crossover());
        let crossover = self.setup.crossover.unwrap_or(own);
        let on_host = self.setup.backend != Backend::Cpu && ((ni as u64).saturating_mul(nj as u64)) < crossover;
        if on_host && self.host.is_empty() {
            self.host.push(self.open_one(&self.setup, Backend::Cpu, 0, (0, 1))?);
        }
        self.on_host = on_host;
        Ok(on_host)
    }

    /// Whether the last block is the CPU's, in place of other devices.
    pub fn on_host(&self) -> bool {
        self.on_host
    }

    /// Begins a block on each; if one cannot, none is at work afterwards.
    pub fn start(&mut self, sources: &Sources, fresh: &[Record], block: &Block) -> Result<()> {
        if self.of_last_block().is_empty() {
            return Err(Error::CallOrder {
                call: "start",
                when: "on a system without devices, as none could be opened when they were last changed; move it to some",
            });
        }
        let begun = self.of_last_block().iter_mut().try_for_each(|device| device.start(sources, fresh, block));
        if begun.is_err() {
            let _ = self.wait_for_all(block.sinks.len());
        }
        begun
    }

    /// Waits for the block on each, and adds what they hand in.
    pub fn wait(&mut self, sinks: usize, into: &mut Sums) -> Result<()> {
        self.wait_for_all(sinks)?;
        self.parts.merge(into)
    }

    /// Whether one device alone computes the block.
    pub fn is_one(&self) -> bool {
        (if self.on_host { &self.host } else { &self.all }).len() == 1
    }

    /// Waits for the sums of more sinks on the one device; how many are there now.
    pub fn wait_more(&mut self, sinks: usize, done: usize) -> Result<usize> {
        if done == 0 {
            self.parts.reset(sinks, false)?;
        }
        let parts = &mut self.parts;
        let at_work = if self.on_host { &mut self.host } else { &mut self.all };
        at_work.iter_mut().try_fold(done, |done, device| device.wait_more(parts, done))
    }

    /// The sums that the one device has handed in so far.
    pub fn so_far(&mut self) -> &Sums {
        self.parts.whole_again()
    }

    /// Takes the sums that the one device has handed in.
    pub fn take_all(&mut self, into: &mut Sums) -> Result<()> {
        self.parts.merge(into)
    }

    fn wait_for_all(&mut self, sinks: usize) -> Result<()> {
        let at_work = if self.on_host { &mut self.host } else { &mut self.all };
        let reserved = self.parts.reset(sinks, at_work.len() > 1);
        // One that failed leaves the others at work.
        let each = at_work.iter_mut().map(|device| device.wait(&mut self.parts));
        each.fold(reserved, |outcome, waited| outcome.and(waited))
    }

    /// Those that compute the last block.
    pub fn of_last_block(&mut self) -> &mut [Box<dyn Device>] {
        if self.on_host { &mut self.host } else { &mut self.all }
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        self.close();
    }
}
