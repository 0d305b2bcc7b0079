//! The devices of the engine: each puts the methods together for a kind of machine.
//!
//! [`GpuDevice`] is any GPU: it asks the first method that takes a block. `arrays` has its work on
//! arrays of callers, `block_steps` that on bodies that step there. `cpu` are the processors of the
//! host; `texts` sums in numbers of two doubles and with softenings of sources, on either.

mod arrays;
mod block_steps;
mod cpu;
mod device_arrays;
mod domain;
#[cfg(any(test, feature = "testing"))]
pub mod fake;
#[cfg(test)]
mod generated;
mod gpu;
#[cfg(test)]
mod gpu_tests;
#[cfg(test)]
mod opencl_tests;
mod texts;

use kyoho_core::{Error, Result};
use kyoho_hal::Backend;
use kyoho_hal::cuda::Cuda;
use kyoho_hal::opencl::OpenCl;

use kyoho_methods::{Device, DeviceOptions, Machine};

pub use domain::{DomainOn, domain};
pub use gpu::GpuDevice;

/// The machine that the library runs on.
#[derive(Debug, Clone, Copy)]
pub struct ThisMachine;

impl Machine for ThisMachine {
    fn devices(&self, backend: Backend) -> Result<usize> {
        // The devices of OpenCL are then the GPUs that failed, with the same driver.
        let is_the_same = backend == Backend::OpenCl && Backend::Cuda.is_auto_selectable();
        if backend.is_auto_selectable() && !is_the_same { Ok(backend.visible()?.alike) } else { Ok(0) }
    }

    fn open(&self, backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
        open(backend, number, options)
    }
}

/// Opens a device; `number` is its place in the backend's list of devices.
pub fn open(backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
    let devices = backend.devices()?.len();
    if number >= devices {
        return Err(Error::BadCount {
            what: "the number of the device",
            value: number as i64,
            allowed: format!("0 to {}", devices as i64 - 1),
        });
    }
    if options.softenings || options.interaction.has_low_limbs() {
        return texts::TextDevice::open(backend, number, options);
    }
    match backend {
        Backend::Cpu => cpu::open(options),
        Backend::Cuda => Ok(kyoho_hal::boxed(GpuDevice::open(Cuda::open(number)?, options)?, "a device")?),
        Backend::OpenCl => Ok(kyoho_hal::boxed(GpuDevice::open(OpenCl::open(number)?, options)?, "a device")?),
    }
}
