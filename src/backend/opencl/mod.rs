//! The OpenCL backend: GPUs, accelerators and CPUs through the loader that is found at run time.

pub mod cache;
mod device;
pub mod driver;
mod kernels;
mod outbox;
mod programs;
#[cfg(test)]
mod tests;
mod text;

use crate::error::Result;

use super::{Device, DeviceDescription, DeviceOptions};

/// The devices that can compute, without a context on any of them.
pub fn describe() -> Result<Vec<DeviceDescription>> {
    Ok(driver::devices()?.usable.iter().map(driver::Properties::description).collect())
}

/// Whether there is a device that can compute and is no CPU. PoCL is not asked, since it starts threads for its CPU to
/// answer that: its devices have to be asked for.
pub fn has_card() -> bool {
    driver::has_card()
}

/// Devices that cannot compute, and why, where the driver can be asked.
pub fn unusable() -> Vec<(String, String)> {
    let found = driver::devices().map(|found| found.unusable).unwrap_or_default();
    found.into_iter().map(|device| (device.name, device.reason)).collect()
}

/// Opens a device; `number` is its place among those that can compute.
pub fn open(number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
    Ok(Box::new(device::open(number, options)?))
}
