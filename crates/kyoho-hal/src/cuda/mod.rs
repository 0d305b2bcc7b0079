//! The driver's interface (libcuda) behind the names and errors of this library.
//!
//! The library is opened when it is first asked for. Its functions are called with signatures of
//! our own that return plain integers, because drivers return codes that no enum of an older header
//! has.

mod context;
#[cfg(test)]
pub mod fake;
mod gpu;
mod image;
mod linker;
mod memory;
mod module;
#[cfg(test)]
mod pool_tests;
mod pools;
mod stream;
mod table;
#[cfg(test)]
mod tests;

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

use cudarc::driver::sys;
use table::Table;

use kyoho_core::{Error, Result};

use super::environment;
use super::loader::{self, Symbol};
use super::{ALL_OF_THE_CATALOGUE, Backend, DeviceDescription, DeviceKind};

pub use context::{Caller, Context};
pub use gpu::{Cuda, Kernel};
#[cfg(any(test, feature = "testing"))]
pub use image::units;
pub use memory::{Memory, Pinned, Registered};
pub use module::{Function, Module};
pub use stream::{Event, Stream};

/// The driver's library: the name that a driver installs, and that of a toolkit.
const LIBRARIES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

/// The oldest driver interface that is served: 12.0.
const OLDEST: i32 = 12000;

const SUCCESS: i32 = 0;
const OUT_OF_MEMORY: i32 = 2;
const NO_DEVICE: i32 = 100;
const NOT_READY: i32 = 600;

/// The initialised driver of this process.
pub struct Driver {
    table: Table,
    /// The process that initialised it. A fork of that process must not call it.
    process: u32,
}

/// The properties of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Properties {
    /// Its name.
    pub name: String,
    /// The compute capability, major and minor.
    pub compute: (i32, i32),
    /// The number of multiprocessors.
    pub multiprocessors: usize,
    /// The bytes of device memory.
    pub memory: u64,
    /// The clock in kHz.
    pub clock_khz: i32,
    /// The bytes of the level-2 cache.
    pub l2: usize,
    /// Whether the driver has pools of its memory.
    pub has_pools: bool,
    /// Its place on the PCI bus.
    pub bus: String,
}

/// A pointer that the driver gave out and that any thread may give back.
#[derive(Debug, Clone, Copy)]
struct Handle(*mut c_void);

// SAFETY: the driver may be called from every thread with every handle; nothing here dereferences
// the pointer.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    const NONE: Handle = Handle(std::ptr::null_mut());
}

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// Whether this process was forked from one that initialised the driver.
pub fn is_in_forked_child() -> bool {
    DRIVER.get().is_some_and(|driver| driver.check_process().is_err())
}

/// Returns the driver, opened and initialised at the first call that succeeds. A failure is tried
/// again at the next call.
pub fn driver() -> Result<&'static Driver> {
    // Two threads may both initialise it, which does no harm. A lock would hang a fork that is made
    // while it is held.
    let driver = match DRIVER.get() {
        Some(driver) => driver,
        None => {
            let driver = Driver::initialised(
                loader::open(&LIBRARIES)
                    .map_err(|reason| none(format!("the driver's library, libcuda, cannot be opened: {reason}")))?,
            )?;
            DRIVER.get_or_init(|| driver)
        }
    };
    driver.check_process().map_err(none)?;
    Ok(driver)
}

/// Returns the devices of this machine without making a context on any of them.
pub fn devices() -> Result<Vec<Properties>> {
    driver()?.devices()
}

/// The error that there is no such backend, for this reason.
fn none(reason: impl Into<String>) -> Error {
    Error::NoBackend { backend: "cuda", reason: reason.into() }
}

impl Driver {
    /// Returns the driver with these symbols, initialised.
    fn initialised(find: impl Fn(&CStr) -> Option<Symbol>) -> Result<Driver> {
        // The version is checked first: an older driver lacks symbols too, and its version tells
        // the user more than their names.
        let version = table::version(&find)?;
        if version < OLDEST {
            let (major, minor) = (version / 1000, version % 1000 / 10);
            return Err(none(format!("the driver is too old: it supports CUDA {major}.{minor}; needed: 12.0")));
        }
        let driver = Driver { table: Table::from(&find).map_err(table::missing)?, process: std::process::id() };
        // SAFETY: it takes no pointer.
        match unsafe { (driver.table.cuInit)(0) } {
            SUCCESS => Ok(driver),
            NO_DEVICE => Err(no_device()),
            code => Err(none(driver.reason(code, "cuInit"))),
        }
    }

    /// Returns an error unless this is the process that initialised the driver.
    fn check_process(&self) -> std::result::Result<(), &'static str> {
        // A child inherits the driver's memory without its threads and files, so that calls may
        // hang or crash.
        if self.process == std::process::id() {
            Ok(())
        } else {
            Err("this process was forked from one that uses the device")
        }
    }

    /// Returns every device that it shows.
    fn devices(&self) -> Result<Vec<Properties>> {
        let mut count = 0;
        // SAFETY: the pointer is to a local variable.
        match unsafe { (self.table.cuDeviceGetCount)(&mut count) } {
            NO_DEVICE => return Err(no_device()),
            SUCCESS if count < 1 => return Err(no_device()),
            SUCCESS => {}
            code => return Err(none(self.reason(code, "cuDeviceGetCount"))),
        }
        (0..count).map(|number| self.properties(number)).collect()
    }

    /// Returns the driver's handle of a device.
    fn device(&self, number: i32) -> Result<i32> {
        let mut device = 0;
        // SAFETY: the pointer is to a local variable.
        self.check(number, unsafe { (self.table.cuDeviceGet)(&mut device, number) }, "cuDeviceGet")?;
        Ok(device)
    }

    /// Returns the properties of the device of this number.
    fn properties(&self, number: i32) -> Result<Properties> {
        use sys::CUdevice_attribute_enum as Attribute;
        let device = self.device(number)?;
        let attribute = |attribute: Attribute| -> Result<i32> {
            let mut value = 0;
            // SAFETY: the pointer is to a local variable.
            let code = unsafe { (self.table.cuDeviceGetAttribute)(&mut value, attribute as i32, device) };
            self.check(number, code, "cuDeviceGetAttribute")?;
            Ok(value)
        };
        let mut memory = 0;
        // SAFETY: the pointer is to a local variable.
        let code = unsafe { (self.table.cuDeviceTotalMem_v2)(&mut memory, device) };
        self.check(number, code, "cuDeviceTotalMem")?;
        let mut bus: [c_char; 32] = [0; 32];
        // SAFETY: the driver writes at most the length that it is given, with a zero at the end.
        let code = unsafe { (self.table.cuDeviceGetPCIBusId)(bus.as_mut_ptr(), bus.len() as i32, device) };
        self.check(number, code, "cuDeviceGetPCIBusId")?;
        Ok(Properties {
            name: self.name(number).map_err(|(code, call)| self.failure(number, code, call))?,
            compute: (
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?.max(0) as usize,
            memory: memory as u64,
            clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
            l2: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.max(0) as usize,
            has_pools: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0,
            bus: text(&bus),
        })
    }

    /// Returns the name of the device of this number, or the code and the call that failed.
    fn name(&self, number: i32) -> std::result::Result<String, (i32, &'static str)> {
        let mut device = 0;
        let mut name: [c_char; 256] = [0; 256];
        // SAFETY: the pointer is to a local variable.
        match unsafe { (self.table.cuDeviceGet)(&mut device, number) } {
            SUCCESS => {}
            code => return Err((code, "cuDeviceGet")),
        }
        // SAFETY: the driver writes at most the length that it is given, with a zero at the end.
        match unsafe { (self.table.cuDeviceGetName)(name.as_mut_ptr(), name.len() as i32, device) } {
            SUCCESS => Ok(text(&name)),
            code => Err((code, "cuDeviceGetName")),
        }
    }

    /// Returns an error unless `code` is success.
    #[inline]
    fn check(&self, number: i32, code: i32, call: &'static str) -> Result<()> {
        match code {
            SUCCESS => Ok(()),
            code => Err(self.failure(number, code, call)),
        }
    }

    /// Checks a code as [`Driver::check`] does, for a call that asks for memory.
    fn check_memory(&self, number: i32, code: i32, call: &'static str, what: &'static str, bytes: usize) -> Result<()> {
        match code {
            OUT_OF_MEMORY => Err(Error::OutOfMemory { what, bytes }),
            code => self.check(number, code, call),
        }
    }

    /// Returns the error for a code that a call on the device of this number returned.
    #[cold]
    fn failure(&self, number: i32, code: i32, call: &'static str) -> Error {
        self.device_failed(number, self.reason(code, call))
    }

    /// Returns the error that the device of this number failed, for this reason.
    #[cold]
    fn device_failed(&self, number: i32, reason: impl Into<String>) -> Error {
        let device = match self.name(number) {
            Ok(name) => format!("{number} ({name})"),
            Err(_) => number.to_string(),
        };
        Error::DeviceFailed { device, reason: reason.into() }
    }

    /// Describes a code in words.
    #[cold]
    fn reason(&self, code: i32, call: &'static str) -> String {
        let ask = |function: unsafe extern "C" fn(i32, *mut *const c_char) -> i32| {
            let mut words: *const c_char = std::ptr::null();
            // SAFETY: the driver sets the pointer to a constant string of its own, or to null for a
            // code it does not know.
            unsafe {
                let known = function(code, &mut words) == SUCCESS && !words.is_null();
                known.then(|| CStr::from_ptr(words).to_string_lossy().into_owned())
            }
        };
        match (ask(self.table.cuGetErrorName), ask(self.table.cuGetErrorString)) {
            (Some(name), Some(text)) => format!("{call}: {name} ({code}): {text}"),
            (Some(name), None) => format!("{call}: {name} ({code})"),
            _ => format!("{call}: error {code}, which the driver has no name for"),
        }
    }
}

/// Returns the error that there is no device, and names the variable that may hide it.
fn no_device() -> Error {
    match environment::text("CUDA_VISIBLE_DEVICES") {
        Some(visible) => none(format!("the driver finds no device (CUDA_VISIBLE_DEVICES is '{visible}')")),
        None => none("the driver finds no device"),
    }
}

/// Returns the string in a buffer up to its first zero.
fn text(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> = buffer.iter().map(|letter| *letter as u8).take_while(|letter| *letter != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Describes the devices that the driver shows, without making a context on any of them.
pub fn describe() -> Result<Vec<DeviceDescription>> {
    Ok(devices()?.iter().map(description).collect())
}

/// Describes a device with these properties for people.
pub fn description(properties: &Properties) -> DeviceDescription {
    let (major, minor) = properties.compute;
    DeviceDescription {
        backend: Backend::Cuda,
        kind: DeviceKind::Gpu,
        platform: String::new(),
        name: properties.name.clone(),
        details: format!(
            "{} multiprocessors, {} GiB, compute {major}.{minor}, bus {}",
            properties.multiprocessors,
            (properties.memory as f64 / (1u64 << 30) as f64).round(),
            properties.bus
        ),
        abilities: ALL_OF_THE_CATALOGUE.into(),
    }
}
