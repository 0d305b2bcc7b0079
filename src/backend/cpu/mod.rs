//! The CPU backend: the kernels of [`crate::pair`] on every core.

mod device;
mod lists;

use std::sync::{Arc, OnceLock};

use crate::catalogue::unsupported;
use crate::error::Result;
use crate::pair::kernel;
use crate::pair::lanes::Element;
use crate::threads::Threads;

pub use crate::pair::kernel::Level;

use super::{ALL_OF_THE_CATALOGUE, Backend, Device, DeviceDescription, DeviceKind, DeviceOptions};

/// The CPU as a device.
pub fn describe() -> DeviceDescription {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let details = format!("{threads} hardware thread{}, {}", if threads == 1 { "" } else { "s" }, Level::best().name());
    DeviceDescription {
        backend: Backend::Cpu,
        kind: DeviceKind::Cpu,
        platform: String::new(),
        name: processor_name(),
        details,
        abilities: ALL_OF_THE_CATALOGUE.into(),
    }
}

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

/// The processor's name, as the system gives it.
fn processor_name() -> String {
    static NAME: OnceLock<String> = OnceLock::new();
    let read = || {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        name.map_or(std::env::consts::ARCH, |(_, name)| name.trim()).to_string()
    };
    NAME.get_or_init(read).clone()
}
