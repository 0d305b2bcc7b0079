//! The CPU backend: the kernels of [`crate::pair`] on every core.

mod device;
mod threads;

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::pair::kernel;
use crate::pair::lanes::Element;

pub use crate::pair::kernel::Level;

use super::{Backend, Device, DeviceDescription, DeviceOptions};

/// The CPU as a device.
pub fn describe() -> DeviceDescription {
    DeviceDescription { backend: Backend::Cpu, name: processor_name() }
}

/// Opens the CPU for some slices.
pub fn open(options: DeviceOptions) -> Result<Box<dyn Device>> {
    let (order, precision) = (options.descriptor.order, options.descriptor.precision);
    if let Some(kernel) = kernel::kernel_32(options.level, order, precision) {
        return device(kernel, options);
    }
    if let Some(kernel) = kernel::kernel_64(options.level, order, precision) {
        return device(kernel, options);
    }
    Err(Error::Unsupported {
        backend: Backend::Cpu.name(),
        order: order as i32,
        precision: precision.name(),
        allowed: "single, mixed, double".into(),
    })
}

fn device<E: Element>(kernel: Box<dyn kernel::Kernel<E>>, options: DeviceOptions) -> Result<Box<dyn Device>> {
    let threads = threads::Threads::new(options.threads)?;
    Ok(Box::new(device::CpuDevice::new(kernel, Arc::new(threads), options)))
}

/// The processor's name, as the system gives it.
pub fn processor_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name"));
    match name.and_then(|rest| rest.split_once(':')) {
        Some((_, name)) => name.trim().to_string(),
        None => std::env::consts::ARCH.to_string(),
    }
}
