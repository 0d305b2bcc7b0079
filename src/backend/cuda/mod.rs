//! The CUDA backend: NVIDIA GPUs through the driver that is found at run time.

mod device;
pub mod driver;
mod images;
mod kernels;
mod outbox;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod text;

use crate::error::Result;

use super::{ALL_OF_THE_CATALOGUE, Backend, Device, DeviceDescription, DeviceKind, DeviceOptions};

/// The devices that the driver shows, without a context on any of them.
pub fn describe() -> Result<Vec<DeviceDescription>> {
    Ok(driver::devices()?.iter().map(description).collect())
}

/// Opens a device; `number` is its place among those that the driver shows.
pub fn open(number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
    Ok(Box::new(device::open(number, options)?))
}

/// What a device with these properties is, for people.
pub fn description(properties: &driver::Properties) -> DeviceDescription {
    let (major, minor) = properties.compute;
    DeviceDescription {
        backend: Backend::Cuda,
        kind: DeviceKind::Gpu,
        platform: String::new(),
        name: properties.name.clone(),
        details: format!(
            "{} multiprocessors, {} GiB, compute {major}.{minor}, bus {}",
            properties.multiprocessors,
            (properties.memory as f64 / (1u64 << 30) as f64).round(),
            properties.bus
        ),
        abilities: ALL_OF_THE_CATALOGUE.into(),
    }
}
