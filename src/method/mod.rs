//! How sums over pairs are organised, and what a device that makes them must do for the engine.

pub mod direct;

use std::sync::Arc;

use direct::cpu;
use direct::gpu::GpuDevice;

use crate::data::{
    Assignment, Block, Error, Interaction, PartialSums, Partition, RecordLine, Result, Sources, Updates,
};
use crate::hal::cuda::Cuda;
use crate::hal::opencl::OpenCl;
use crate::hal::{Backend, DeviceDescription};
use crate::simd::Level;

/// How a device is opened.
#[derive(Debug, Clone)]
pub struct DeviceOptions {
    /// What it will compute.
    pub interaction: Arc<Interaction>,
    /// CPU threads.
    pub threads: usize,
    /// The CPU's instruction set.
    pub level: Level,
    /// The launch shape that a GPU takes wherever it fits a block; else its model chooses.
    pub shape: Option<usize>,
}

/// One device, opened for one order and precision.
///
/// For each block that a device has a part in the engine calls `start`, then `wait_more` until it has handed in all of
/// its sinks, at least once; then, perhaps, `neighbours`. As long as it may call them for a block, it changes no source
/// but by putting records where they belong, so that a device, or another in its place, may compute the block again. A
/// device that failed may be started again; then all sources count as written.
pub trait Device: Send {
    /// What it is.
    fn describe(&self) -> DeviceDescription;

    /// Whether `start` takes the latest sources as records, before they are in the host's copy.
    fn takes_records(&self) -> bool {
        false
    }

    /// Memory from which records will be sent until the device is dropped; it may be made fast to read.
    fn register(&mut self, _memory: &[RecordLine]) -> Result<()> {
        Ok(())
    }

    /// Fetches what was written, predicts the sources of its assignment to the block's time and begins the sums.
    ///
    /// Records are given only to a device that takes them, and name only addresses of chunks that the host's copy has.
    /// Until all was handed in, the device may read them.
    fn start(&mut self, updates: &Updates, block: &Block, assignment: &Assignment) -> Result<()>;

    /// Waits for the sums of more sinks of its assignment, where those of the first `done` were handed in, hands them in,
    /// and says how many there are now. When it says that all are there, or fails, nothing is at work any more.
    fn wait_more(&mut self, parts: &mut PartialSums, done: usize) -> Result<usize>;

    /// Appends to `found` the indices of all sources that are neighbours of each sink in `sinks`, in any
    /// order: `|r|^2 < radius2`, without softening and, where the block says so, without the sink's own index. In the
    /// regular scope they are exactly those that the sums leave out.
    fn neighbours(
        &mut self,
        sources: &Sources,
        block: &Block,
        sinks: std::ops::Range<usize>,
        found: &mut [Vec<i32>],
    ) -> Result<()>;

    /// The seconds that a block of `ni` sinks and `nj` sources takes by the device's model, where it has one, when it
    /// is partitioned so among `devices` like this one.
    fn estimate(&self, _ni: usize, _nj: usize, _deal: Partition, _devices: usize) -> Option<f64> {
        None
    }

    /// Blocks of fewer pairs than this are better computed by the CPU: a constant of the device's model, not a
    /// measurement.
    fn crossover(&self) -> u64 {
        0
    }

    /// Bytes of host memory in use beyond the engine's copy of the sources.
    fn bytes(&self) -> usize;
}

/// Where the devices of a system come from: this machine, or what stands for it in a test.
pub trait Machine: Send + Sync {
    /// How many devices a backend has that may take over from another's, or why none.
    fn devices(&self, backend: Backend) -> Result<usize>;

    /// Opens a device; `number` is its place in the backend's list of devices.
    fn open(&self, backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>>;

    /// How many threads open so many devices, and begin blocks on them, at a time.
    fn threads(&self, devices: usize) -> usize {
        devices
    }

    /// How many records are gathered at most before a block.
    fn records(&self) -> usize {
        1 << 15
    }
}

/// The machine that the library runs on.
#[derive(Debug, Clone, Copy)]
pub struct ThisMachine;

impl Machine for ThisMachine {
    fn devices(&self, backend: Backend) -> Result<usize> {
        // Behind OpenCL are the GPUs that failed, and their driver.
        let is_the_same = backend == Backend::OpenCl && Backend::Cuda.is_auto_selectable();
        match backend.is_auto_selectable() && !is_the_same {
            true => Ok(backend.visible()?.alike),
            false => Ok(0),
        }
    }

    fn open(&self, backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
        open(backend, number, options)
    }
}

/// Opens a device; `number` is its place in the backend's list of devices.
pub fn open(backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
    let devices = backend.devices()?.len();
    if number >= devices {
        return Err(Error::BadCount {
            what: "the number of the device",
            value: number as i64,
            allowed: format!("0 to {}", devices as i64 - 1),
        });
    }
    match backend {
        Backend::Cpu => cpu::open(options),
        Backend::Cuda => Ok(Box::new(GpuDevice::open(Cuda::open(number)?, options)?)),
        Backend::OpenCl => Ok(Box::new(GpuDevice::open(OpenCl::open(number)?, options)?)),
    }
}
