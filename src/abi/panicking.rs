//! A machine for tests whose devices panic when they are told to.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use kyoho_core::Level;
use kyoho_core::{Assignment, Block, Order, PartialSums, Partition, Precision, Result, Scope, Sources, Updates};
use kyoho_engine::{Setup, System};
use kyoho_hal::{Backend, DeviceDescription};
use kyoho_methods::{Device, DeviceOptions, Machine};

/// The call in which the device panics.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum At {
    /// None.
    Nowhere,
    /// `start`.
    Start,
    /// `wait_more`.
    Wait,
    /// `neighbours`.
    Neighbours,
}

/// What a test tells a device, and learns of it.
#[derive(Debug, Default, Clone)]
pub struct Told {
    at: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
}

impl Told {
    /// Lets the device panic in a call.
    pub fn panic_at(&self, at: At) {
        self.at.store(at as usize, Relaxed);
    }

    /// Returns the number of devices that are open.
    pub fn open(&self) -> usize {
        self.open.load(Relaxed)
    }

    /// Returns the number of calls that the devices had.
    pub fn calls(&self) -> usize {
        self.calls.load(Relaxed)
    }

    /// Makes a system with a device that is told by this.
    pub fn system(&self, order: Order, precision: Precision, scope: Scope) -> (Setup, System) {
        self.system_on(1, (order, precision, scope))
    }

    /// Makes a system with some such devices, each of which has a range of the sinks.
    pub fn system_on(&self, devices: usize, kind: (Order, Precision, Scope)) -> (Setup, System) {
        let (order, precision, scope) = kind;
        let setup = Setup {
            order,
            precision,
            scope,
            backend: Backend::Cpu,
            devices: vec![0; devices],
            threads: 1,
            level: Level::Portable,
            shape: None,
            partition: Some(Partition { ranges: devices, sets: 1 }),
            crossover: None,
            block_steps: None,
            fall_back: false,
        };
        let system = System::on(Box::new(self.clone()), &setup).unwrap();
        (setup, system)
    }
}

impl Machine for Told {
    fn devices(&self, _: Backend) -> Result<usize> {
        Ok(1)
    }

    fn open(&self, backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
        self.open.fetch_add(1, Relaxed);
        Ok(Box::new(Panicking { told: self.clone(), cpu: kyoho_devices::open(backend, number, options)? }))
    }
}

struct Panicking {
    told: Told,
    cpu: Box<dyn Device>,
}

impl Panicking {
    fn call(&self, at: At) {
        self.told.calls.fetch_add(1, Relaxed);
        assert!(self.told.at.load(Relaxed) != at as usize, "{at:?} was told to panic");
    }
}

impl Drop for Panicking {
    fn drop(&mut self) {
        self.told.open.fetch_sub(1, Relaxed);
    }
}

impl Device for Panicking {
    fn describe(&self) -> DeviceDescription {
        self.cpu.describe()
    }

    fn start(&mut self, updates: &Updates, block: &Block, assignment: &Assignment) -> Result<()> {
        self.call(At::Start);
        self.cpu.start(updates, block, assignment)
    }

    fn wait_more(&mut self, parts: &mut PartialSums, done: usize) -> Result<usize> {
        self.call(At::Wait);
        self.cpu.wait_more(parts, done)
    }

    fn neighbours(&mut self, of: &Sources, block: &Block, sinks: Range<usize>, found: &mut [Vec<i32>]) -> Result<()> {
        self.call(At::Neighbours);
        self.cpu.neighbours(of, block, sinks, found)
    }

    fn bytes(&self) -> usize {
        self.cpu.bytes()
    }
}
