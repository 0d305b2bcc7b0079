//! The CPU backend: the kernels of [`crate::simd`] on every core.

mod device;
mod lists;

use std::sync::Arc;

use crate::data::Result;
use crate::hal::Backend;
use crate::hal::threads::Threads;
use crate::law::catalogue::unsupported;
use crate::law::lanes::Element;
use crate::method::{Device, DeviceOptions};
use crate::simd::kernel;

/// Opens the CPU.
pub fn open(options: DeviceOptions) -> Result<Box<dyn Device>> {
    let descriptor = options.descriptor;
    if let Some(kernel) = kernel::kernel_32(options.level, descriptor) {
        return device(kernel, options);
    }
    if let Some(kernel) = kernel::kernel_64(options.level, descriptor) {
        return device(kernel, options);
    }
    Err(unsupported(Backend::Cpu.name(), (descriptor.order, descriptor.precision, descriptor.scope)))
}

fn device<E: Element>(kernel: Box<dyn kernel::Kernel<E>>, options: DeviceOptions) -> Result<Box<dyn Device>> {
    let threads = Arc::new(Threads::new(options.threads));
    Ok(Box::new(device::CpuDevice::new(kernel, threads, options)))
}
