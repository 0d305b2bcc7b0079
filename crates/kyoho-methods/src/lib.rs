//! Methods, which organise sums over pairs, and the interface of the devices that make the sums.
//!
//! A method is a crate: `kyoho-direct` sums all pairs, `kyoho-lists` those of groups, `kyoho-trees`
//! those near and expansions of those far, `kyoho-neighbours` finds the sources within radii,
//! `kyoho-pairs` runs what users wrote. No method knows another one. They stand on what [`gpu`] and
//! [`cpu`] share among them; on a GPU each that sums forces is a [`gpu::method::GpuMethod`].
//! `kyoho-devices` puts them together.

pub mod block_steps;
pub mod cpu;
pub mod device_arrays;
pub mod device_trees;
pub mod gpu;

use std::sync::Arc;

use block_steps::BlockSteps;
use device_arrays::DeviceArrays;
use device_trees::DeviceTrees;
use gpu::shapes::ForcedShape;

use kyoho_core::Level;
use kyoho_core::memory::Pages;
use kyoho_core::{Assignment, Block, Error, Interaction, PartialSums, Partition, Result, Sources, Updates};
use kyoho_hal::{Backend, DeviceDescription};

/// The options with which a device is opened.
#[derive(Debug, Clone)]
pub struct DeviceOptions {
    /// The interaction that it will compute.
    pub interaction: Arc<Interaction>,
    /// Whether sources have softenings, which a pair has beside that of its sink.
    pub softenings: bool,
    /// The number of CPU threads.
    pub threads: usize,
    /// The CPU's instruction set.
    pub level: Level,
    /// The launch shape that a GPU takes; otherwise its model chooses.
    pub shape: Option<ForcedShape>,
    /// Further devices of the system, which help this one with trees.
    pub companions: CompanionDevices,
}

/// The devices that help another one with the forces of a tree.
#[derive(Debug, Clone, Default)]
pub struct CompanionDevices {
    /// Their numbers.
    pub numbers: Vec<usize>,
    /// Whether they help however few the bodies are.
    pub always: bool,
}

/// The number of sinks of the first part of a block whose sinks come in parts.
pub const FIRST_PART: usize = 1 << 11;

/// One device, opened for one order and precision.
///
/// For each block that a device has a part in the engine calls `start`, then `wait_more` until it
/// has handed in all of its sinks, at least once; then, perhaps, `neighbours`. As long as it may
/// call them for a block, it changes no source but by putting records where they belong, so that a
/// device, or another in its place, may compute the block again. A device that failed may be
/// started again; then all sources count as written.
pub trait Device: Send {
    /// Returns a description of the device.
    fn describe(&self) -> DeviceDescription;

    /// Takes one of this many shares of the device from now on, as so many callers use it at a time. No
    /// bits depend on it. One caller takes 0 or 1.
    fn share(&mut self, _sharers: usize) {}

    /// Whether `start` takes the latest sources as records, before they are in the host's copy.
    fn takes_records(&self) -> bool {
        false
    }

    /// Page-locks memory of records, so that the device may read it fast, as it may do with memory of
    /// sinks and sums by itself. The lock goes with the memory or with the device.
    fn lock(&mut self, _memory: &Pages) -> Result<()> {
        Ok(())
    }

    /// Fetches what was written, predicts the sources of its assignment to the block's time and
    /// begins the sums, unless `sum_part` is to begin them.
    ///
    /// Records are given only to a device that takes them, and name only addresses of chunks that
    /// the host's copy has. Until all was handed in, the device may read them.
    fn start(&mut self, updates: &Updates, block: &Block, assignment: &Assignment) -> Result<()>;

    /// Begins the sums of some groups of its assignment, after `start` of a block with interaction
    /// lists, or of some sinks of a block whose sinks come in parts: of those that follow the last
    /// call's. Sinks and sources of the part are copied. A block that is given up before the last
    /// part is waited for as others are, and its sums mean nothing.
    fn sum_part(&mut self, _block: &Block, _part: std::ops::Range<usize>) -> Result<()> {
        Err(Error::Internal { what: "a device that takes no parts of a block was given one".into() })
    }

    /// Returns the device's work on arrays of callers in its memory, if callers can have such.
    fn arrays(&mut self) -> Option<&mut dyn DeviceArrays> {
        None
    }

    /// Returns the device's work on trees beside the forces of blocks, if it has some.
    fn trees(&mut self) -> Option<&mut dyn DeviceTrees> {
        None
    }

    /// Returns the device's block steps, if it makes some.
    fn block_steps(&mut self) -> Option<&mut dyn BlockSteps> {
        None
    }

    /// Waits for the sums of more sinks of its assignment, where those of the first `done` were
    /// handed in, hands them in, and returns how many were handed in now. When it returns that all
    /// were, or fails, nothing is at work any more.
    fn wait_more(&mut self, partial_sums: &mut PartialSums, done: usize) -> Result<usize>;

    /// Waits for all work that is under way, whatever errors come, so that memory of the host and of
    /// other devices may be freed that the work uses.
    fn drain(&mut self) {}

    /// Appends to `found` the indices of all sources that are neighbours of each sink in `sinks`,
    /// in any order: `|r|^2 < radius2`, without softening and, where the block says so, without the
    /// sink's own index. In the regular scope they are exactly those that the sums leave out.
    fn neighbours(
        &mut self,
        sources: &Sources,
        block: &Block,
        sinks: std::ops::Range<usize>,
        found: &mut [Vec<i32>],
    ) -> Result<()>;

    /// Returns the number of sinks whose lists are made together: enough to share the prediction of
    /// the sources, few enough to bound the memory, and the time where only one list is asked for.
    fn lists_at_once(&self) -> usize {
        256
    }

    /// Returns the seconds that a block of `ni` sinks and `nj` sources takes by the device's model,
    /// where it has one, when it is partitioned so among `devices` like this one.
    fn estimate(&self, _ni: usize, _nj: usize, _partition: Partition, _devices: usize) -> Option<f64> {
        None
    }

    /// Returns the number of pairs below which a block is better computed by the CPU: a constant of
    /// the device's model, not a measurement.
    fn crossover(&self) -> u64 {
        0
    }

    /// Returns the number of pairs from which on forces by a tree are faster than the sums of all
    /// pairs, which is a constant: bits must not depend on timing.
    fn tree_crossover(&self) -> u64 {
        u64::MAX
    }

    /// Returns the bytes of host memory in use beyond the engine's copy of the sources.
    fn bytes(&self) -> usize;
}

/// The machine that the devices of a system belong to: this one, or one that a test puts in its
/// place.
pub trait Machine: Send + Sync {
    /// Returns how many devices a backend has that may take over from another's, or why there are
    /// none.
    fn devices(&self, backend: Backend) -> Result<usize>;

    /// Opens a device; `number` is its place in the backend's list of devices.
    fn open(&self, backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>>;

    /// Returns how many threads open this many devices, and begin blocks on them, at a time.
    fn threads(&self, devices: usize) -> usize {
        devices
    }

    /// Returns how many records are gathered at most before a block.
    fn records(&self) -> usize {
        1 << 15
    }
}
