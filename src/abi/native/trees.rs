//! The errors of forces by a tree.

use crate::abi::arrays;
use crate::data::{Error, ResultCode, memory};

use super::block::SinkRows;
use super::call_on;
use super::structures::{self, kyoho_sinks, kyoho_tree_errors, read};
use super::system::kyoho_system;

/// Computes the forces on some sinks by the tree that the system's options ask for, and the errors
/// of the accelerations of `samples` of them, evenly chosen, against direct sums. The sinks are as
/// in `kyoho_system_force`, in memory of the host.
///
/// Where the block has so few pairs that it is summed directly anyhow, the errors are 0.
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
    call_on(system, |system| {
        let nj = arrays::count("nj", nj)?;
        let samples = arrays::count("samples", samples)?;
        if errors.is_null() {
            return Err(Error::NullArgument { argument: "errors" });
        }
        // SAFETY: null or a structure.
        let sinks = unsafe { read("sinks", sinks) }?;
        structures::require_host("kyoho_sinks.memory", sinks.memory)?;
        let rows = SinkRows::new(system.interaction(), &sinks)?;
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
