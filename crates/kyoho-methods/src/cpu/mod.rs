//! The CPU backend, which runs the kernels of [`kyoho_laws::simd`] on every core.

mod device;
mod neighbours;

use std::sync::Arc;

use crate::{Device, DeviceOptions};
use kyoho_core::{Order, Precision, Result};
use kyoho_hal::Backend;
use kyoho_hal::threads::Threads;
use kyoho_laws::catalogue::{self, unsupported};
use kyoho_laws::simd::expansions::Number;
use kyoho_laws::simd::kernel;

/// Opens the CPU.
pub fn open(options: DeviceOptions) -> Result<Box<dyn Device>> {
    let interaction = options.interaction.clone();
    if let Some(kernel) = kernel::kernel_32(options.level, &interaction) {
        // A group of sinks is many times as large as the separation of its closest pairs, so that one
        // limb of the distance from its middle does not do for them.
        let has_one_limb = interaction.order == Order::Second && interaction.precision == Precision::Single;
        let of_trees = if has_one_limb {
            let mixed = catalogue::interaction(Order::Second, Precision::Mixed);
            mixed.and_then(|mixed| kernel::kernel_32(options.level, &mixed))
        } else {
            None
        };
        return device(kernel, of_trees, options);
    }
    if let Some(kernel) = kernel::kernel_64(options.level, &interaction) {
        return device(kernel, None, options);
    }
    Err(unsupported(Backend::Cpu.name(), (interaction.order, interaction.precision, interaction.scope)))
}

fn device<E: Number>(
    kernel: Box<dyn kernel::Kernel<E>>,
    of_trees: Option<Box<dyn kernel::Kernel<E>>>,
    options: DeviceOptions,
) -> Result<Box<dyn Device>> {
    let threads = Arc::new(Threads::new(options.threads));
    Ok(kyoho_hal::boxed(device::CpuDevice::new(kernel, of_trees, threads, options), "a device")?)
}
