//! All pairs on GPUs.
//!
//! [`sums`] is the method, which computes large blocks in [`pieces`]. The reduction plan of a block
//! ([`reduction`]) fixes the order of addition; the block is computed in the launch shape
//! ([`kyoho_methods::gpu::shapes`]) that the cost model ([`model`]) finds the fastest, with
//! constants that [`calibration`] measures. [`launches`] has the kernels, of which one may stay on
//! the device and wait for blocks ([`waiting`]).

pub mod calibration;
pub mod launches;
pub mod model;
pub mod pieces;
pub mod reduction;
pub mod sums;
pub mod waiting;
