//! The CUDA backend: NVIDIA GPUs through the driver that is found at run time.

mod device;
mod images;
mod kernels;
mod outbox;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod text;

use crate::data::Result;
use crate::method::{Device, DeviceOptions};

/// Opens a device; `number` is its place among those that the driver shows.
pub fn open(number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
    Ok(Box::new(device::open(number, options)?))
}
