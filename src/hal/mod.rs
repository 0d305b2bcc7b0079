//! What a machine can do: memory, queues of work, programs and launches on CUDA and OpenCL devices, threads on CPUs.
//! Nothing here knows of gravity.

mod contexts;
pub mod cpu;
pub mod cuda;
#[cfg(test)]
pub(crate) mod fake;
pub mod gpu;
mod loader;
pub mod opencl;
pub mod threads;

use crate::data::{Error, Result};

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

    /// The name, the same in every interface.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Cpu => "cpu",
            Backend::Cuda => "cuda",
            Backend::OpenCl => "opencl",
        }
    }

    /// The backend of this name.
    pub fn from_name(name: &str) -> Option<Backend> {
        Backend::ALL.into_iter().find(|backend| backend.name() == name)
    }

    /// The backend with this number.
    pub fn from_number(number: i32) -> Option<Backend> {
        Backend::ALL.into_iter().find(|backend| *backend as i32 == number)
    }

    /// The backend's devices, or why there are none.
    pub fn devices(self) -> Result<Vec<DeviceDescription>> {
        match self {
            Backend::Cpu => Ok(vec![cpu::describe()]),
            Backend::Cuda => cuda::describe(),
            // Drivers of OpenCL are those of CUDA in another dress.
            Backend::OpenCl if cuda::is_in_forked_child() => {
                let reason = "this process was forked from one that uses CUDA".into();
                Err(Error::NoBackend { backend: self.name(), reason })
            }
            Backend::OpenCl => opencl::describe(),
        }
    }

    /// Devices that the backend sees and cannot use, with the reason of each.
    pub fn unusable(self) -> Vec<(String, String)> {
        match self {
            Backend::Cpu | Backend::Cuda => Vec::new(),
            Backend::OpenCl => opencl::unusable(),
        }
    }

    /// How many devices the backend has, or why none.
    pub fn visible(self) -> Result<Visible> {
        let devices = self.devices()?;
        Ok(Visible { all: devices.len(), alike: alike(&devices) })
    }

    /// Whether a choice that nobody made may come to the backend. The CPU is the CPU backend's, which is faster there:
    /// devices of OpenCL that are CPUs have to be asked for.
    pub fn is_auto_selectable(self) -> bool {
        match self {
            Backend::Cpu => true,
            Backend::Cuda => self.devices().is_ok_and(|devices| !devices.is_empty()),
            // A fork of a process that uses CUDA asks no driver anything.
            Backend::OpenCl => !cuda::is_in_forked_child() && opencl::has_card(),
        }
    }
}

/// How many of the first devices are of one kind and one platform: those of others give other bits, and one piece of
/// hardware may be a device of several platforms.
pub fn alike(devices: &[DeviceDescription]) -> usize {
    let of_first =
        |device: &&DeviceDescription| (device.kind, &device.platform) == (devices[0].kind, &devices[0].platform);
    devices.iter().take_while(of_first).count()
}

/// How many devices a backend has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visible {
    /// All of them, from 0 on.
    pub all: usize,
    /// Those that are taken where none is named: the first ones, which are of one kind and one platform.
    pub alike: usize,
}

impl Visible {
    /// So many of one kind.
    pub fn alike(count: usize) -> Visible {
        Visible { all: count, alike: count }
    }
}

/// What a device is built as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceKind {
    /// A graphics card, or what is left of one that only computes.
    Gpu,
    /// Another card.
    Accelerator,
    /// The processors of the host.
    Cpu,
}

/// What devices compute that lack nothing.
pub const ALL_OF_THE_CATALOGUE: &str = "every order and precision";

/// What one device is, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceDescription {
    /// The backend that drives it.
    pub backend: Backend,
    /// What it is built as.
    pub kind: DeviceKind,
    /// Whose driver it is, where a backend has several; else empty.
    pub platform: String,
    /// Its name.
    pub name: String,
    /// What it has, in words, such as its memory.
    pub details: String,
    /// What it computes and how, in words.
    pub abilities: String,
}
