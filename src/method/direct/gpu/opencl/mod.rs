//! The OpenCL backend: GPUs, accelerators and CPUs through the loader that is found at run time.

mod device;
mod kernels;
mod outbox;
mod programs;
#[cfg(test)]
mod tests;
mod text;

use crate::data::Result;
use crate::method::{Device, DeviceOptions};

/// Opens a device; `number` is its place among those that can compute.
pub fn open(number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
    Ok(Box::new(device::open(number, options)?))
}
