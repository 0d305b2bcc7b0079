//! What the GPU backends share: the device of the engine over a driver ([`Gpu`]), launch shapes, how a block is cut,
//! what that costs, and how numbers travel.

mod calibration;
pub mod chunks;
pub mod cuda;
pub mod cut;
mod device;
mod driver;
mod inbox;
pub mod kept;
pub mod model;
pub mod opencl;
pub mod pack;
pub mod shapes;
pub mod step;
mod store;
mod windows;

pub use calibration::costs;
pub use device::GpuDevice;
pub use driver::{Address, Addresses, Gpu, Memory, Outbox, Staging};
pub use inbox::Inbox;
pub use windows::{ROWS as WINDOW_ROWS, WINDOW, finder};
