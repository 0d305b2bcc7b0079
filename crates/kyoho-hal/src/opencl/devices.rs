//! The devices of all platforms: those that can compute, in the order of the library, and the
//! reasons why the others cannot.

use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;
use opencl3::device::*;
use opencl3::error_codes::{CL_DEVICE_NOT_FOUND, CL_PLATFORM_NOT_FOUND_KHR};
use opencl3::platform::platform::{CL_PLATFORM_NAME, CL_PLATFORM_VERSION};

use crate::{ALL_OF_THE_CATALOGUE, Backend, DeviceDescription, environment};
use kyoho_core::{Error, Result};

use super::table::{Object, Table, text, told};
use super::{Driver, Handle, SUCCESS, none, reason};

pub use crate::DeviceKind as Kind;

/// The name of the platform of NVIDIA's own driver.
const NVIDIA: &str = "NVIDIA CUDA";
/// The name of PoCL's platform.
const POCL: &str = "Portable Computing Language";
/// The threads of a thread block of some kernels: `MOST_THREADS` in `kernels/prelude_opencl.h`.
const THREADS: usize = 256;
/// The bytes of local memory that no thread block of any kernel exceeds.
pub(super) const LOCAL: u64 = 48 << 10;

/// The properties of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Properties {
    /// The name.
    pub name: String,
    /// The maker.
    pub vendor: String,
    /// Whether NVIDIA's own driver runs it. The compiler of that driver accepts the instructions of
    /// NVIDIA's GPUs.
    pub is_nvidia: bool,
    /// The kind of hardware.
    pub kind: Kind,
    /// The name of the platform.
    pub platform: String,
    /// The version of its platform, such as `OpenCL 3.0 CUDA 12.4.131`.
    pub platform_version: String,
    /// The version of OpenCL that it supports, major and minor.
    pub version: (u32, u32),
    /// The version of the driver.
    pub driver_version: String,
    /// The number of compute units.
    pub compute_units: usize,
    /// The bytes of device memory.
    pub memory: u64,
    /// The largest size of one allocation that the device promises, in bytes.
    pub max_allocation: u64,
    /// The bytes of local memory of a thread block.
    pub local_memory: u64,
    /// The largest number of threads of a thread block.
    pub max_threads: usize,
    /// The number of bits of an address.
    pub address_bits: u32,
}

impl Properties {
    /// Describes the device for people.
    pub fn description(&self) -> DeviceDescription {
        let (major, minor) = self.version;
        let units = if self.compute_units == 1 { "compute unit" } else { "compute units" };
        DeviceDescription {
            backend: Backend::OpenCl,
            kind: self.kind,
            platform: self.platform.clone(),
            name: self.name.clone(),
            details: format!(
                "{} {units}, {} GiB, OpenCL {major}.{minor}, {}",
                self.compute_units,
                (self.memory as f64 / (1u64 << 30) as f64).round(),
                self.platform
            ),
            abilities: match self.kind {
                Kind::Cpu => {
                    format!("a CPU, only where it is asked for: {ALL_OF_THE_CATALOGUE}; driver {}", self.driver_version)
                }
                _ => format!("{ALL_OF_THE_CATALOGUE}; driver {}", self.driver_version),
            },
        }
    }
}

/// A device that cannot compute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// Its name, or that of its platform if the platform does not list its devices.
    pub name: String,
    /// The reason.
    pub reason: String,
}

/// The devices of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Those that can compute, of which there is at least one: GPUs, accelerators, CPUs, and within
    /// a kind in the order of platforms.
    pub usable: Vec<Properties>,
    /// The others.
    pub unusable: Vec<Unusable>,
}

/// A device that can compute, and the driver's handle of it.
pub(super) struct Usable {
    pub handle: Handle,
    pub properties: Properties,
}

impl Driver {
    /// Returns every device that the platforms show.
    pub(super) fn devices(&self) -> Result<Found> {
        let (usable, unusable) = self.list()?;
        Ok(Found { usable: usable.into_iter().map(|device| device.properties).collect(), unusable })
    }

    /// Whether a platform other than PoCL has a device that can compute and is no CPU.
    pub(super) fn has_card(&self) -> Result<bool> {
        let is_asked =
            |platform: &Object| !self.of_platform(*platform, CL_PLATFORM_NAME).is_ok_and(|name| name == POCL);
        let is_card = |platform: Object, device| {
            self.properties(platform, device).is_ok_and(|properties| properties.kind != Kind::Cpu)
        };
        let has_card = |platform| {
            self.handles(platform).is_ok_and(|devices| devices.into_iter().any(|device| is_card(platform, device)))
        };
        Ok(self.platforms()?.into_iter().filter(is_asked).any(has_card))
    }

    /// Returns the device of this number.
    pub(super) fn device(&self, number: usize) -> Result<Usable> {
        let (mut usable, _) = self.list()?;
        if number < usable.len() {
            Ok(usable.swap_remove(number))
        } else {
            Err(Error::DeviceFailed {
                device: number.to_string(),
                reason: format!("there are {} devices of backend 'opencl'", usable.len()),
            })
        }
    }

    /// Returns the devices that can compute, of which there is at least one, and the others.
    fn list(&self) -> Result<(Vec<Usable>, Vec<Unusable>)> {
        // PoCL 3.1 ends the process if two threads are the first to ask for its devices.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut usable, mut unusable) = (Vec::new(), Vec::new());
        for platform in self.platforms()? {
            let name = self.of_platform(platform, CL_PLATFORM_NAME).unwrap_or_else(|_| "a platform".into());
            match self.handles(platform) {
                Err(reason) => unusable.push(Unusable { name, reason }),
                Ok(handles) => {
                    for handle in handles {
                        match self.properties(platform, handle) {
                            Ok(properties) => usable.push(Usable { handle: Handle(handle), properties }),
                            Err(device) => unusable.push(device),
                        }
                    }
                }
            }
        }
        if usable.is_empty() {
            let why: Vec<String> =
                unusable.iter().map(|device| format!("{}: {}", device.name, device.reason)).collect();
            return Err(none(if why.is_empty() {
                "OpenCL finds no device".into()
            } else {
                format!("no OpenCL device can compute ({})", why.join("; "))
            }));
        }
        usable.sort_by_key(|device| device.properties.kind);
        Ok((usable, unusable))
    }

    fn platforms(&self) -> Result<Vec<Object>> {
        let mut count = 0;
        // SAFETY: the pointer is to a local variable.
        let code = unsafe { (self.table.clGetPlatformIDs)(0, std::ptr::null_mut(), &mut count) };
        match code {
            CL_PLATFORM_NOT_FOUND_KHR => return Err(no_platform()),
            SUCCESS if count == 0 => return Err(no_platform()),
            SUCCESS => {}
            code => return Err(none(reason(code, "clGetPlatformIDs"))),
        }
        let mut platforms = vec![std::ptr::null_mut(); count as usize];
        // SAFETY: there is room for as many as the call says.
        match unsafe { (self.table.clGetPlatformIDs)(count, platforms.as_mut_ptr(), std::ptr::null_mut()) } {
            SUCCESS => Ok(platforms),
            code => Err(none(reason(code, "clGetPlatformIDs"))),
        }
    }

    /// Returns the driver's handles of the devices of a platform.
    fn handles(&self, platform: Object) -> std::result::Result<Vec<Object>, String> {
        let mut count = 0;
        let call = self.table.clGetDeviceIDs;
        // SAFETY: the platform exists; the pointer is to a local variable.
        match unsafe { call(platform, CL_DEVICE_TYPE_ALL, 0, std::ptr::null_mut(), &mut count) } {
            CL_DEVICE_NOT_FOUND => return Ok(Vec::new()),
            SUCCESS => {}
            code => return Err(reason(code, "clGetDeviceIDs")),
        }
        let mut handles = vec![std::ptr::null_mut(); count as usize];
        // SAFETY: the platform exists; there is room for as many as the call says.
        match unsafe { call(platform, CL_DEVICE_TYPE_ALL, count, handles.as_mut_ptr(), std::ptr::null_mut()) } {
            SUCCESS => Ok(handles),
            code => Err(reason(code, "clGetDeviceIDs")),
        }
    }

    /// Returns a string of a platform.
    fn of_platform(&self, platform: Object, what: u32) -> std::result::Result<String, String> {
        // SAFETY: the platform exists; `told` has the room that it says.
        let told =
            told(|room, value, bytes| unsafe { (self.table.clGetPlatformInfo)(platform, what, room, value, bytes) });
        told.map(|bytes| text(&bytes)).map_err(|code| reason(code, "clGetPlatformInfo"))
    }

    /// Returns the properties of a device if it can compute.
    fn properties(&self, platform: Object, handle: Object) -> std::result::Result<Properties, Unusable> {
        let device = Asked { table: &self.table, handle };
        let name = device.text(CL_DEVICE_NAME);
        let properties = || -> std::result::Result<Properties, String> {
            let name = name.clone()?;
            let version = device.usable_version()?;
            let platform_name = self.of_platform(platform, CL_PLATFORM_NAME)?;
            Ok(Properties {
                name,
                vendor: device.text(CL_DEVICE_VENDOR)?,
                is_nvidia: platform_name == NVIDIA,
                kind: device.kind()?,
                platform: platform_name,
                platform_version: self.of_platform(platform, CL_PLATFORM_VERSION)?,
                version,
                driver_version: device.text(CL_DRIVER_VERSION)?,
                compute_units: device.number::<u32>(CL_DEVICE_MAX_COMPUTE_UNITS)? as usize,
                memory: device.number(CL_DEVICE_GLOBAL_MEM_SIZE)?,
                max_allocation: device.number(CL_DEVICE_MAX_MEM_ALLOC_SIZE)?,
                local_memory: device.number(CL_DEVICE_LOCAL_MEM_SIZE)?,
                max_threads: device.number(CL_DEVICE_MAX_WORK_GROUP_SIZE)?,
                address_bits: device.number(CL_DEVICE_ADDRESS_BITS)?,
            })
        };
        properties().map_err(|reason| Unusable { name: name.unwrap_or_else(|_| "a device".into()), reason })
    }
}

/// Returns the error that there is no platform, and names the variable that may hide it.
fn no_platform() -> Error {
    let hidden = ["OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH"].into_iter().find_map(|name| {
        let value = environment::text(name)?;
        Some(format!(" ({name} is '{value}')"))
    });
    none(format!("no OpenCL driver is installed: the loader finds no platform{}", hidden.unwrap_or_default()))
}

/// A device whose properties are asked for.
struct Asked<'a> {
    table: &'a Table,
    handle: Object,
}

impl Asked<'_> {
    fn bytes(&self, what: u32) -> std::result::Result<Vec<u8>, String> {
        // SAFETY: the device exists; `told` has the room that it says.
        told(|room, value, bytes| unsafe { (self.table.clGetDeviceInfo)(self.handle, what, room, value, bytes) })
            .map_err(|code| reason(code, "clGetDeviceInfo"))
    }

    fn text(&self, what: u32) -> std::result::Result<String, String> {
        Ok(text(&self.bytes(what)?))
    }

    fn number<T: Pod>(&self, what: u32) -> std::result::Result<T, String> {
        let bytes = self.bytes(what)?;
        bytemuck::try_pod_read_unaligned(&bytes)
            .map_err(|_| format!("clGetDeviceInfo: {} bytes in answer to {what:#x}", bytes.len()))
    }

    fn kind(&self) -> std::result::Result<Kind, String> {
        let kind: u64 = self.number(CL_DEVICE_TYPE)?;
        [
            (CL_DEVICE_TYPE_GPU, Kind::Gpu),
            (CL_DEVICE_TYPE_ACCELERATOR, Kind::Accelerator),
            (CL_DEVICE_TYPE_CPU, Kind::Cpu),
        ]
        .into_iter()
        .find_map(|(bit, found)| (kind & bit != 0).then_some(found))
        .ok_or_else(|| format!("it is neither GPU, accelerator nor CPU (type {kind:#x})"))
    }

    /// Returns the version of OpenCL that it supports, or the reason why it cannot compute.
    fn usable_version(&self) -> std::result::Result<(u32, u32), String> {
        let text = self.text(CL_DEVICE_VERSION)?;
        let version = parsed_version(&text).ok_or_else(|| format!("its version is '{text}'"))?;
        let has = |what: u32| -> std::result::Result<bool, String> { Ok(self.number::<u32>(what)? != 0) };
        let bits: u32 = self.number(CL_DEVICE_ADDRESS_BITS)?;
        let (threads, local): (usize, u64) =
            (self.number(CL_DEVICE_MAX_WORK_GROUP_SIZE)?, self.number(CL_DEVICE_LOCAL_MEM_SIZE)?);
        let extensions = self.text(CL_DEVICE_EXTENSIONS)?;
        // Devices without double precision may not know the question for it.
        let has_double = extensions.split_whitespace().any(|name| name == "cl_khr_fp64")
            && self.number::<u64>(CL_DEVICE_DOUBLE_FP_CONFIG).unwrap_or(0) != 0;
        // Atomic operations on 32 bits, global and local, belong to the language since 1.1. None on
        // 64 bits are used.
        let lacks = [
            (!has(CL_DEVICE_AVAILABLE)?, "it is not available".to_owned()),
            (version < (1, 2), format!("it has OpenCL {}.{}; needed: 1.2", version.0, version.1)),
            (!has(CL_DEVICE_COMPILER_AVAILABLE)?, "it has no compiler".to_owned()),
            (!has_double, "it has no 64-bit floating point (cl_khr_fp64)".to_owned()),
            (!has(CL_DEVICE_ENDIAN_LITTLE)?, "it is big-endian".to_owned()),
            (bits != 64, format!("its addresses have {bits} bits; needed: 64")),
            (threads < THREADS, format!("its groups have at most {threads} threads; needed: {THREADS}")),
            (local < LOCAL, format!("its groups have {local} bytes of local memory; needed: {LOCAL}")),
        ];
        match lacks.into_iter().find(|(lacks, _)| *lacks) {
            Some((_, reason)) => Err(reason),
            None => Ok(version),
        }
    }
}

/// Returns major and minor number of a version such as `OpenCL 3.0 CUDA`.
fn parsed_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.strip_prefix("OpenCL ")?.split_whitespace().next()?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
