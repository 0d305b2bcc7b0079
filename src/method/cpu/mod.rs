//! The CPU backend, which runs the kernels of [`crate::simd`] on every core.

mod device;
mod neighbours;

use std::sync::Arc;

use crate::data::Result;
use crate::hal::threads::Threads;
use crate::hal::{self, Backend};
use crate::law::catalogue::unsupported;
use crate::method::{Device, DeviceOptions};
use crate::simd::expansions::Number;
use crate::simd::kernel;

/// Opens the CPU.
pub fn open(options: DeviceOptions) -> Result<Box<dyn Device>> {
    let interaction = options.interaction.clone();
    if let Some(kernel) = kernel::kernel_32(options.level, &interaction) {
        return device(kernel, options);
    }
    if let Some(kernel) = kernel::kernel_64(options.level, &interaction) {
        return device(kernel, options);
    }
    Err(unsupported(Backend::Cpu.name(), (interaction.order, interaction.precision, interaction.scope)))
}

fn device<E: Number>(kernel: Box<dyn kernel::Kernel<E>>, options: DeviceOptions) -> Result<Box<dyn Device>> {
    let threads = Arc::new(Threads::new(options.threads));
    Ok(hal::boxed(device::CpuDevice::new(kernel, threads, options), "a device")?)
}
