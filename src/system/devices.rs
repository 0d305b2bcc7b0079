//! The devices of a system.

use crate::backend::{Device, DeviceDescription, DeviceOptions, Machine};
use crate::catalogue::Descriptor;
use crate::error::Result;

use super::block::{Block, Parts, Sums};
use super::log::Log;
use super::sources::{Record, Sources};
use super::{Setup, slices};

/// The devices that sum the forces of a system's sources.
pub struct Devices {
    machine: Box<dyn Machine>,
    descriptor: &'static Descriptor,
    all: Vec<Box<dyn Device>>,
    parts: Parts,
}

impl Devices {
    /// Opens the devices of a setup, and makes the log if they take records.
    pub fn open(
        machine: Box<dyn Machine>,
        descriptor: &'static Descriptor,
        setup: &Setup,
    ) -> Result<(Devices, Option<Log>)> {
        let parts = Parts::new(descriptor.outputs, descriptor.nearest);
        let mut devices = Devices { machine, descriptor, all: Vec::new(), parts };
        let mut log = None;
        devices.all = devices.opened(setup, &mut log)?;
        Ok((devices, log))
    }

    fn opened(&self, setup: &Setup, log: &mut Option<Log>) -> Result<Vec<Box<dyn Device>>> {
        let count = setup.devices.len();
        let open = |(place, number): (usize, &usize)| {
            let options = DeviceOptions {
                descriptor: self.descriptor,
                slices: slices::slices_of_device(place, count),
                threads: setup.threads,
                level: setup.level,
                shape: setup.shape,
            };
            self.machine.open(setup.backend, *number, options)
        };
        let mut opened: Vec<_> = setup.devices.iter().enumerate().map(open).collect::<Result<_>>()?;
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

    /// What they are.
    pub fn describe(&self) -> Vec<DeviceDescription> {
        self.all.iter().map(|device| device.describe()).collect()
    }

    /// Bytes of host memory in use.
    pub fn bytes(&self) -> usize {
        self.all.iter().map(|device| device.bytes()).sum()
    }

    /// Begins a block on each; if one cannot, none is at work afterwards.
    pub fn start(&mut self, sources: &Sources, fresh: &[Record], block: &Block) -> Result<()> {
        let begun = self.all.iter_mut().try_for_each(|device| device.start(sources, fresh, block));
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

    fn wait_for_all(&mut self, sinks: usize) -> Result<()> {
        let reserved = self.parts.reset(sinks, self.all.len() > 1);
        // One that failed leaves the others at work.
        let each = self.all.iter_mut().map(|device| device.wait(&mut self.parts));
        each.fold(reserved, |outcome, waited| outcome.and(waited))
    }

    /// Those that hold the sources of the last block.
    pub fn of_last_block(&mut self) -> &mut [Box<dyn Device>] {
        &mut self.all
    }
}
