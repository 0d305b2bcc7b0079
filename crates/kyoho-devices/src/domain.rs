//! A rank's part of forces that ranks sum by a tree together.

use std::sync::Arc;

use kyoho_core::{Interaction, Level, Result};
use kyoho_hal::Backend;
use kyoho_hal::cuda::Cuda;
use kyoho_hal::opencl::OpenCl;
use kyoho_laws::simd::expansions::Number;
use kyoho_laws::simd::kernel::Kernel;
use kyoho_trees::cpu::domain::{Domain, DomainForces};
use kyoho_trees::cpu::on_device::{DomainDevice, or_cpu};
use kyoho_trees::gpu::domain::DomainOnGpu;

use super::cpu::Kernels;

/// The name of memory in errors.
const WHAT: &str = "a domain of a tree";

/// Where a rank sums such forces: by so many threads and an instruction set, or a device of a backend,
/// after whose failure by the threads or not.
pub type DomainOn = ((usize, Level), (Backend, usize), bool);

/// Returns what a rank does of such forces.
pub fn domain(interaction: &Arc<Interaction>, on: DomainOn) -> Result<Box<dyn DomainForces>> {
    let ((_, level), ..) = on;
    match Kernels::of(level, interaction)? {
        Kernels::Short(kernel, of_trees) => opened(of_trees.unwrap_or(kernel), interaction, on),
        Kernels::Long(kernel) => opened(kernel, interaction, on),
    }
}

fn opened<E: Number>(
    kernel: Box<dyn Kernel<E>>,
    interaction: &Arc<Interaction>,
    (threads, (backend, number), falls_back): DomainOn,
) -> Result<Box<dyn DomainForces>> {
    let device = or_cpu(device(backend, number), falls_back)?.flatten();
    Ok(kyoho_hal::boxed(Domain::new(kernel, interaction.clone(), threads, (device, falls_back)), WHAT)?)
}

/// Opens the device of a backend, if that is not the CPU.
fn device<E: Number>(backend: Backend, number: usize) -> Result<Option<Box<dyn DomainDevice<E>>>> {
    Ok(match backend {
        Backend::Cpu => None,
        Backend::Cuda => Some(kyoho_hal::boxed(DomainOnGpu::open(Cuda::open(number)?)?, WHAT)?),
        Backend::OpenCl => Some(kyoho_hal::boxed(DomainOnGpu::open(OpenCl::open(number)?)?, WHAT)?),
    })
}
