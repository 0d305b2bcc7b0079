//! What all methods share on GPUs, and on devices that are programmed like them: written once against
//! [`kyoho_hal::gpu::Gpu`].
//!
//! [`sources`] has the sources on a device and brings what a block needs; [`method`] is what a method
//! does there. [`step`] and [`columns`] are the arguments of kernels, [`code`] loads these, and
//! [`constants`] and [`tuning`] are the numbers with which they are compiled.

pub mod chunks;
pub mod code;
pub mod columns;
pub mod constants;
pub mod inbox;
mod locks;
pub mod method;
pub mod outbox;
pub mod pack;
pub mod shapes;
pub mod sources;
pub mod step;
pub mod store;
pub mod structures;
pub mod tuning;
