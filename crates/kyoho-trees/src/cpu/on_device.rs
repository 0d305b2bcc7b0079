//! What a device does for a domain in the place of CPU threads: it makes the trees of the bodies, and
//! walks through them. The host has copies of the cells, by which it chooses those for other ranks.

use kyoho_core::{BufferPool, Pooled, Result};
use kyoho_hal::threads::Threads;
use kyoho_laws::simd::expansions::{CellRecord, Number};

use super::joined::Joined;
use super::passes::{Passes, Trees};
use super::sinks::Extent;
use super::sources::TreeUnits;
use super::sums::{Alike, Points, Settings};
use crate::cube::Cube;

/// The cells of trees that a device has made, as a CPU has them.
pub struct DeviceCells<E: Number> {
    /// The record of each cell of sources.
    pub records: Pooled<CellRecord<E>>,
    /// The moments of each, and a row of zeros.
    pub moments: Pooled<E>,
    /// The cells of sinks, without accelerations.
    pub extents: Pooled<Extent>,
}

/// The threads and the memory by which the host converts what a device has.
pub type Host<'a> = (&'a Threads, &'a BufferPool);

/// A device that does the work of a domain, in the order of the functions.
pub trait DomainDevice<E: Number>: Send {
    /// Makes the trees of sources and sinks, which are the sources where they are none, in a cube that
    /// holds the bodies of all ranks. Returns `None` if they are left to the CPU.
    fn trees(
        &mut self,
        host: Host,
        cube: &Cube,
        bodies: (Points, Option<Points>),
        softening2: f64,
    ) -> Result<Option<Trees>>;

    /// Makes the moments of the trees, in units that all ranks have.
    fn cells(&mut self, host: Host, units: &TreeUnits, settings: &Settings) -> Result<DeviceCells<E>>;

    /// Makes the first pass, with the cells of other ranks that were joined.
    fn first(&mut self, host: Host, passes: &mut Passes<E>) -> Result<()>;

    /// Makes the second pass, with the cells of other ranks that were joined and their bodies, and writes
    /// the force on each sink. Sinks leave out the sources at these places, and those of the same index.
    fn second(
        &mut self,
        host: Host,
        passes: &Passes<E>,
        joined: &Joined,
        left_out: (&[i32], Option<&Alike>),
        forces: &mut [[f64; 4]],
    ) -> Result<()>;

    /// Waits for all that was begun, whatever errors come: copies may be on their way to the host.
    fn wait(&self);
}

/// Returns what a device has done, or `None` if it failed and the CPU may do its work, as `falls_back`
/// says.
pub fn or_cpu<T>(done: Result<T>, falls_back: bool) -> Result<Option<T>> {
    match done {
        Err(error) if falls_back => {
            log::warn!("the CPU sums forces by a tree over ranks in place of a GPU: {error}");
            Ok(None)
        }
        done => done.map(Some),
    }
}
