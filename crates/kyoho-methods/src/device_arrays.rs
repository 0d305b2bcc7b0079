//! Arrays of callers that lie in the memory of a device: they are checked and read there, and
//! forces are written there.

use std::ops::Range;

use kyoho_core::memory::Pages;
use kyoho_core::sinks::SinkScan;
use kyoho_core::units::Census;
use kyoho_core::{DeviceArray, DeviceBodies, DeviceForces, DeviceGroups, DevicePlace, Result, Sums, TakeChunk};

/// A motion of bodies: two kicks by their accelerations, then a drift by their velocities, each for
/// a time; 0 for none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    /// The times of the kicks.
    pub kicks: [f64; 2],
    /// The time of the drift.
    pub drift: f64,
    /// Whether it is the first of several: what rounding takes off positions and velocities is added
    /// again by the motions after it.
    pub begins: bool,
}

/// The bytes of the staging area from which on it has quantities of bodies that move.
#[derive(Debug, Clone, Copy)]
pub struct MovingPlaces {
    /// The positions.
    pub positions: usize,
    /// The velocities.
    pub velocities: usize,
    /// The accelerations.
    pub accelerations: usize,
    /// What rounding took off positions and velocities.
    pub lost: [usize; 2],
}

/// Arrays of a caller to be checked.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::large_enum_variant, reason = "a call has three at most")]
pub enum Check {
    /// This many sources or sinks, whose numbers have to be within the bounds of the interaction.
    Bodies(DeviceBodies, usize),
    /// Addresses, which have to be below an end.
    Addresses(ListedAddresses),
    /// Groups, which are made, and of which each number has to be as its neighbours and the sinks and
    /// sources allow; the addresses of their ranges have to be below an end.
    Groups(DeviceGroups, usize),
    /// Sources of the groups that were made last, as bodies are checked. The units of the groups are
    /// chosen with that.
    Sources(GroupBodies),
}

/// The sources and sinks of groups, on a device.
#[derive(Debug, Clone, Copy)]
pub struct GroupBodies {
    /// The number of groups.
    pub groups: usize,
    /// The sources, and how many there are.
    pub sources: (DeviceBodies, usize),
    /// The sinks, and how many there are, if the sources are not the sinks.
    pub sinks: Option<(DeviceBodies, usize)>,
}

/// Addresses in lists on a device.
#[derive(Debug, Clone, Copy)]
pub struct ListedAddresses {
    /// The array.
    pub addresses: DeviceArray,
    /// The addresses that memory is known to have room for. If there are more, none is looked at.
    pub room: usize,
    /// The place of the first address of each group, and behind them the number of all.
    pub places: DeviceArray,
    /// The number of groups.
    pub groups: usize,
    /// The end of the addresses of the system's sources.
    pub end: usize,
}

/// What there is of groups that a device has made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MadeGroups {
    /// The pairs of a sink and a source of its group.
    pub pairs: u64,
    /// The sources of all groups.
    pub sources: usize,
}

/// What became of sources that a device was to take.
pub enum Taken {
    /// It has taken all, and counted their sizes.
    All(Census),
    /// It has taken none, as the source of this number, the first such, is wrong.
    None(usize),
}

/// The most checks that are under way at a time.
pub const MOST_CHECKS: usize = 3;

/// The work of a device on arrays of callers in its memory. Every call but
/// [`DeviceArrays::begin_check`] returns when its work is done.
pub trait DeviceArrays {
    /// Lets the device's work begin after all that the caller has begun in the stream of a place.
    fn wait_for_caller(&mut self, place: &DevicePlace) -> Result<()>;

    /// Fails unless an array of this many rows is memory of the device, aligned to its numbers.
    fn check(&mut self, array: &DeviceArray, rows: usize) -> Result<()>;

    /// Returns the number of rows of a packed array that its memory is known to have.
    fn room(&mut self, array: &DeviceArray) -> Result<usize>;

    /// Copies rows of a packed array, from a row on, or one row of any.
    fn read(&mut self, array: &DeviceArray, row: usize, to: &mut [u8]) -> Result<()>;

    /// Begins to copy a part of the host's memory to the same bytes of the staging area, which has
    /// room for all of this memory. This part is not
    /// written until what is staged was taken.
    fn stage(&mut self, memory: &Pages, part: Range<usize>) -> Result<()>;

    /// Waits for what is on its way to the staging area, if nothing takes it.
    fn finish_staging(&mut self) -> Result<()>;

    /// Moves bodies in the staging area, which has this many components of each of their quantities.
    fn move_bodies(&mut self, places: MovingPlaces, components: usize, motion: &Motion) -> Result<()>;

    /// Copies a part of the staging area to the same bytes of the host's memory.
    fn fetch_staged(&mut self, memory: &mut [u8], part: Range<usize>) -> Result<()>;

    /// Begins to check arrays that [`DeviceArrays::check`] has found to be there. At most
    /// [`MOST_CHECKS`] are under way.
    fn begin_check(&mut self, check: &Check) -> Result<()>;

    /// Waits for the checks that were begun, and returns the number of the first wrong body or group
    /// or the place of the first wrong address of each, in the order in which they were begun.
    fn finish_checks(&mut self) -> Result<Vec<Option<usize>>>;

    /// Returns what there is of the groups that were made last, which the device keeps for the next
    /// block.
    fn made_groups(&self) -> MadeGroups;

    /// Takes the sinks of the next block; those that have no softening of their own have this. It
    /// returns their summary, and the first that is wrong.
    fn take_sinks(&mut self, sinks: &DeviceBodies, count: usize, softening2: f64) -> Result<(SinkScan, Option<usize>)>;

    /// Whether this many sinks are the sources at their numbers, of which it has all; their indices
    /// too, if those are compared.
    fn sinks_are_sources(&mut self, sinks: &DeviceBodies, count: usize, with_indices: bool) -> Result<bool>;

    /// Copies the numbers of the sinks that it took last.
    fn fetch_sinks(&mut self, to: &mut [f64]) -> Result<()>;

    /// Takes sources in the place of all others, at addresses from 0 on, and counts their sizes. If
    /// `checks`, it looks for wrong ones, and takes none if there are any; otherwise all are good.
    /// No block is under way. After an error it has none of them.
    fn take_sources(&mut self, sources: &DeviceBodies, count: usize, checks: bool) -> Result<Taken>;

    /// Hands over the sources that it has, chunk by chunk: the number of the chunk, its rows in
    /// octets, and its indices.
    fn fetch_sources(&mut self, count: usize, take: TakeChunk) -> Result<()>;

    /// Waits for the forces of the block, writes them to the arrays of the caller if they are not
    /// there yet, and returns true. Then nothing is at work any more. If the device does not have all
    /// forces it writes none and returns false, and if a sum is not finite it returns false too; the
    /// block is still to be waited for, or to be started again if its lists name these arrays.
    fn write_forces(&mut self, forces: &DeviceForces) -> Result<bool>;

    /// Writes forces that the host has to the arrays of the caller.
    fn write_forces_of_host(&mut self, sums: &Sums, forces: &DeviceForces) -> Result<()>;
}
