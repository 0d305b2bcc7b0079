//! All pairs on GPUs, and on devices that are programmed like them: written once against
//! [`kyoho_hal::gpu::Gpu`].
//!
//! `device` is the device of the engine. The reduction plan of a block (`reduction`) fixes the
//! order of addition; the block is computed in the launch shape (`shapes`) that the cost model
//! (`model`) finds the fastest. `launches` has the kernels.

mod arrays;
mod calibration;
pub mod chunks;
pub(crate) mod code;
pub(crate) mod constants;
mod device;
#[cfg(any(test, feature = "testing"))]
pub mod fake;
mod inbox;
pub(crate) mod launches;
mod locks;
pub mod model;
mod neighbour_lists;
#[cfg(test)]
mod opencl_tests;
mod outbox;
pub mod pack;
pub mod reduction;
pub mod shapes;
pub mod step;
pub(crate) mod store;
#[cfg(test)]
mod tests;
pub(crate) mod tuning;
mod waiting;

pub use calibration::costs;
pub use device::GpuDevice;
