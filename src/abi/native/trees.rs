//! The errors of forces by a tree, and neighbours that a tree finds.

use crate::abi::arrays::{self, Output};
use kyoho_core::{Error, ResultCode, memory};

use super::block::SinkRows;
use super::call_on_one;
use super::structures::{self, kyoho_sinks, kyoho_tree_errors, read};
use super::system::kyoho_system;

/// Computes the forces on some sinks by the tree that the system's options ask for, and the errors
/// of the accelerations of `samples` of them, evenly chosen, against direct sums in double precision
/// by the CPU. The sinks are as in `kyoho_system_force`, in memory of the host.
///
/// Where the block has so few pairs that it is summed directly anyhow, the errors are those of the
/// system's precision.
///
/// Errors: as `kyoho_system_force`, and KYOHO_BAD_COUNT (no sample, or no sink).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_tree_error(
    system: *mut kyoho_system,
    nj: i32,
    sinks: *const kyoho_sinks,
    samples: i32,
    errors: *mut kyoho_tree_errors,
) -> ResultCode {
    call_on_one(system, "trees", |system| {
        let nj = arrays::count("nj", nj)?;
        let samples = arrays::count("samples", samples)?;
        if errors.is_null() {
            return Err(Error::NullArgument { argument: "errors" });
        }
        // SAFETY: null or a structure.
        let sinks = unsafe { read("sinks", sinks) }?;
        structures::require_host("kyoho_sinks.memory", sinks.memory)?;
        let rows = SinkRows::<f64>::new(system.interaction(), &sinks)?;
        // SAFETY: every row is below `count`.
        let all = memory::collected((0..rows.count).map(|row| unsafe { rows.read(row) }), "sinks")?;
        let found = system.tree_errors(nj, rows.skips_own_index, &all, samples)?;
        let empty: kyoho_tree_errors = structures::empty();
        let (median, worst) = (found.median, found.worst);
        let found = kyoho_tree_errors {
            median,
            percentile_90: found.percentile_90,
            percentile_99: found.percentile_99,
            worst,
            ..empty
        };
        // SAFETY: not null, hence a structure.
        unsafe { structures::write("errors", errors, found) }
    })
}

/// Finds by a tree the sources at addresses below `nj` that are within the radius of each sink:
/// `|r|^2 < radii2[sink]`, softening not included, and with KYOHO_EXCLUDE_BY_INDEX no source that
/// has the sink's index. Positions are those that were written. The system is of order 2, with or
/// without an `accuracy`; the sinks have `positions` and `radii2`, in memory of the host.
///
/// `offsets` receives `count + 1` numbers: the addresses of sink `i` are those from `offsets[i]` to
/// below `offsets[i + 1]` in the array that `kyoho_system_copy_found_neighbours` writes, and the
/// last one is the number of all. They are offsets and addresses as `kyoho_lists` takes them, and
/// the same on every machine: distances are compared in double precision.
///
/// Errors: as `kyoho_system_force`, KYOHO_UNSUPPORTED (an order other than 2), and
/// KYOHO_NULL_ARGUMENT (no `radii2`, no `offsets`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_find_neighbours(
    system: *mut kyoho_system,
    nj: i32,
    sinks: *const kyoho_sinks,
    offsets: *mut i64,
) -> ResultCode {
    call_on_one(system, "neighbours by a tree", |system| {
        system.require_order_of_trees()?;
        let nj = arrays::count("nj", nj)?;
        // SAFETY: null or a structure.
        let sinks = unsafe { read("sinks", sinks) }?;
        structures::require_host("kyoho_sinks.memory", sinks.memory)?;
        let rows = SinkRows::<f64>::new(system.interaction(), &sinks)?;
        if sinks.radii2.data.is_null() && rows.count > 0 {
            return Err(Error::NullArgument { argument: "kyoho_sinks.radii2" });
        }
        // SAFETY: the array has an element more than there are sinks, by the caller's promise.
        let to = unsafe { Output::new("offsets", offsets, rows.count + 1) };
        to.require()?;
        // SAFETY: every row is below `count`.
        let all = (0..rows.count).map(|row| unsafe { rows.read(row) });
        let found = system.find_neighbours(nj, rows.skips_own_index, all)?;
        to.set_from(0, found.offsets.iter().copied());
        Ok(())
    })
}

/// Writes the addresses that the last `kyoho_system_find_neighbours` found, those of a sink next to
/// each other and ascending. `addresses` has room for `capacity` of them, at least as many as the
/// last of the offsets says, and may be NULL where that is 0.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BUFFER_TOO_SMALL, after which nothing is
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_copy_found_neighbours(
    system: *mut kyoho_system,
    capacity: i64,
    addresses: *mut i32,
) -> ResultCode {
    call_on_one(system, "neighbours by a tree", |system| {
        let found = &system.found_neighbours().addresses;
        let room = usize::try_from(capacity).unwrap_or(0);
        if room < found.len() {
            return Err(Error::BufferTooSmall { what: "the array of addresses", needed: found.len(), room });
        }
        // SAFETY: the array has room for `capacity`, by the caller's promise.
        let to = unsafe { Output::new("addresses", addresses, found.len()) };
        to.require()?;
        to.set_from(0, found.iter().copied());
        Ok(())
    })
}
