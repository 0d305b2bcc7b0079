//! The machines: memory, queues of work, programs and launches on CUDA and OpenCL devices, threads
//! on CPUs. Nothing here knows about gravity.
//!
//! [`gpu::Gpu`] is what methods ask of a GPU. [`cuda`] and [`opencl`] fulfil it, and so does a fake
//! that tests let fail, and one whose work is late. [`threads`] shares work among the processors of the host.

mod boxed;
mod contexts;
pub mod cpu;
pub mod cuda;
pub mod environment;
#[cfg(any(test, feature = "testing"))]
pub mod fake;
pub mod fetched;
pub mod forks;
pub mod gpu;
pub mod grow_buffer;
#[cfg(any(test, feature = "testing"))]
pub mod late;
mod loader;
pub mod lock;
pub mod opencl;
mod sync;
pub mod threads;

use kyoho_core::{Error, Result};

pub use boxed::boxed;

/// The kinds of machine that compute forces.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// SIMD and threads.
    Cpu = 1,
    /// NVIDIA GPUs.
    Cuda = 2,
    /// OpenCL devices.
    OpenCl = 3,
}

impl Backend {
    /// Every backend, in the order in which an automatic choice tries them.
    pub const ALL: [Backend; 3] = [Backend::Cuda, Backend::OpenCl, Backend::Cpu];

    /// Returns the name, which is the same in every interface.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Cpu => "cpu",
            Backend::Cuda => "cuda",
            Backend::OpenCl => "opencl",
        }
    }

    /// Returns the backend of this name.
    pub fn from_name(name: &str) -> Option<Backend> {
        Backend::ALL.into_iter().find(|backend| backend.name() == name)
    }

    /// Returns the backend with this number.
    pub fn from_number(number: i32) -> Option<Backend> {
        Backend::ALL.into_iter().find(|backend| *backend as i32 == number)
    }

    /// Describes the backend's devices, or returns an error with the reason why there are none.
    pub fn devices(self) -> Result<Vec<DeviceDescription>> {
        match self {
            Backend::Cpu => Ok(vec![cpu::describe()]),
            Backend::Cuda => cuda::describe(),
            // Drivers of OpenCL may be those of CUDA under another interface.
            Backend::OpenCl if cuda::is_in_forked_child() => {
                let reason = "this process was forked from one that uses CUDA".into();
                Err(Error::NoBackend { backend: self.name(), reason })
            }
            Backend::OpenCl => opencl::describe(),
        }
    }

    /// Returns the devices that the backend sees and cannot use, with the reason for each.
    pub fn unusable(self) -> Vec<(String, String)> {
        match self {
            Backend::Cpu | Backend::Cuda => Vec::new(),
            Backend::OpenCl => opencl::unusable(),
        }
    }

    /// Returns how many devices the backend has, or an error with the reason why there are none.
    pub fn visible(self) -> Result<Visible> {
        let devices = self.devices()?;
        Ok(Visible { all: devices.len(), alike: alike(&devices) })
    }

    /// Whether an automatic choice may take the backend. The CPU backend is faster on the CPU than
    /// OpenCL, so OpenCL devices that are CPUs have to be asked for.
    pub fn is_auto_selectable(self) -> bool {
        match self {
            Backend::Cpu => true,
            Backend::Cuda => self.devices().is_ok_and(|devices| !devices.is_empty()),
            // A fork of a process that uses CUDA must not call any driver.
            Backend::OpenCl => !cuda::is_in_forked_child() && opencl::has_card(),
        }
    }
}

/// Returns how many of the first devices are of one kind and one platform. Devices of other kinds
/// give other bits, and one piece of hardware may be a device of several platforms.
pub fn alike(devices: &[DeviceDescription]) -> usize {
    let of_first =
        |device: &&DeviceDescription| (device.kind, &device.platform) == (devices[0].kind, &devices[0].platform);
    devices.iter().take_while(of_first).count()
}

/// The number of devices of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visible {
    /// The number of all devices, which are counted from 0.
    pub all: usize,
    /// The number of those that are taken if none is named: the first ones, which are of one kind
    /// and one platform.
    pub alike: usize,
}

impl Visible {
    /// Returns this many devices of one kind.
    pub fn alike(count: usize) -> Visible {
        Visible { all: count, alike: count }
    }
}

/// The kind of hardware of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceKind {
    /// A graphics card, or a card of that kind that only computes.
    Gpu,
    /// Another kind of card.
    Accelerator,
    /// The processors of the host.
    Cpu,
}

/// The abilities of devices that lack nothing.
pub const ALL_OF_THE_CATALOGUE: &str = "every order and precision";

/// A description of one device for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceDescription {
    /// The backend that drives it.
    pub backend: Backend,
    /// The kind of hardware.
    pub kind: DeviceKind,
    /// The platform that the driver belongs to if a backend has several, else empty.
    pub platform: String,
    /// The name.
    pub name: String,
    /// Its resources in words, such as its memory.
    pub details: String,
    /// The orders and precisions that it computes, and how, in words.
    pub abilities: String,
}
