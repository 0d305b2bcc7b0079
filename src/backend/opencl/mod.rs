//! The OpenCL backend: GPUs, accelerators and CPUs through the loader that is found at run time.

pub mod cache;
pub mod driver;

use crate::error::Result;

use super::DeviceDescription;

/// The devices that can compute, without a context on any of them.
pub fn describe() -> Result<Vec<DeviceDescription>> {
    Ok(driver::devices()?.usable.iter().map(driver::Properties::description).collect())
}
