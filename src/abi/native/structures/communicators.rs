//! How the ranks of a system speak with one another.

use std::os::raw::c_void;

/// Gives all ranks the bytes of each, in the order of ranks, as MPI_Allgatherv does: `sent` has
/// `count` bytes, and `received` room for `counts[rank]` bytes of each rank from byte
/// `offsets[rank]` on. It returns 0, or another number where it failed.
pub type kyoho_all_gather_callback = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        sent: *const c_void,
        count: i32,
        received: *mut c_void,
        counts: *const i32,
        offsets: *const i32,
    ) -> i32,
>;

/// Gives each rank some bytes of every other, as MPI_Alltoallv does: `sent` has
/// `sent_counts[rank]` bytes for each rank from byte `sent_offsets[rank]` on, and `received` room
/// for those of each. It returns 0, or another number where it failed.
pub type kyoho_all_to_all_callback = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        sent: *const c_void,
        sent_counts: *const i32,
        sent_offsets: *const i32,
        received: *mut c_void,
        received_counts: *const i32,
        received_offsets: *const i32,
    ) -> i32,
>;

/// Ends all ranks, as MPI_Abort does.
pub type kyoho_abort_callback = Option<unsafe extern "C" fn(context: *mut c_void)>;

/// How the ranks of one system speak with one another; `kyoho_mpi.h` makes one of your MPI_Comm.
/// Begin with KYOHO_COMMUNICATOR_INIT.
///
/// The library calls these functions within its own, in the caller's thread, on all ranks in the
/// same order, and at most 2^30 bytes at once.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_communicator {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The number of this rank, from 0 on.
    pub rank: i32,
    /// The number of ranks, 1 or more.
    pub size: i32,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
    /// What the functions get as their first argument.
    pub context: *mut c_void,
    /// Gathers bytes of all ranks.
    pub all_gather: kyoho_all_gather_callback,
    /// Exchanges bytes among all ranks.
    pub all_to_all: kyoho_all_to_all_callback,
    /// Ends all ranks. The library calls it only where a defect of its own ended a call on this
    /// rank, so that others would wait for ever. NULL: they wait.
    pub abort: kyoho_abort_callback,
}
