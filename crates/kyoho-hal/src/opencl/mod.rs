//! OpenCL behind the names and errors of this library.
//!
//! The loader's library is opened when it is first asked for, and its functions are called with
//! signatures of our own, as the standard has them. Only types, constants and the names of errors
//! come from the crate `opencl3`. Its owning types end the process if giving back fails, and its
//! calls remember for ever that there was no library.

pub mod cache;
mod context;
mod devices;
mod gpu;
#[cfg(any(test, feature = "testing"))]
pub mod hooks;
mod memory;
mod program;
mod programs;
mod queue;
mod staging;
mod table;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use opencl3::error_codes;
use table::{Object, Table};

use kyoho_core::{Error, Result};

use super::{DeviceDescription, loader};

pub use context::Context;
pub use devices::{Found, Kind, Properties, Unusable};
pub use gpu::OpenCl;
pub use memory::{Address, Memory};
pub use program::{Kernel, Program};
#[cfg(any(test, feature = "testing"))]
pub use programs::forget;
pub use queue::{Event, Queue};
pub use staging::Staging;

/// The library of the loader, which finds the drivers.
const LIBRARY: &str = "libOpenCL.so.1";

const SUCCESS: i32 = error_codes::CL_SUCCESS;

/// The reason why a fork is refused: it inherits the drivers' memory without their threads and
/// files, so that calls may hang or crash.
const FORKED: &str = "this process was forked from one that uses OpenCL";

/// The loader of this process.
pub struct Driver {
    table: Table,
    /// The process that opened it.
    process: u32,
}

/// An object that the driver gave out and that any thread may give back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Handle(Object);

// SAFETY: all functions but `clSetKernelArg` may be called from every thread with every object;
// nothing here dereferences the pointer.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// Returns the loader, opened at the first call that succeeds. A failure is tried again at the next
/// call.
fn driver() -> Result<&'static Driver> {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    static OPENING: Mutex<()> = Mutex::new(());
    /// The process that opens the loader or has opened it.
    static PROCESS: AtomicU32 = AtomicU32::new(0);
    let process = std::process::id();
    // This comes first, because a fork must not wait for a lock that no thread of it holds.
    if PROCESS.compare_exchange(0, process, Relaxed, Relaxed).is_err_and(|other| other != process) {
        return Err(none(FORKED));
    }
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    // One thread at a time opens it, because drivers start when they are first asked.
    let _alone = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    PROCESS.store(process, Relaxed);
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    match Driver::opened() {
        Ok(driver) => Ok(DRIVER.get_or_init(|| driver)),
        Err(error) => {
            PROCESS.store(0, Relaxed);
            Err(error)
        }
    }
}

/// Returns the devices of this machine without making a context on any of them.
pub fn devices() -> Result<Found> {
    let found = driver()?.devices()?;
    for device in &found.unusable {
        log::debug!("OpenCL device {} is not used: {}", device.name, device.reason);
    }
    Ok(found)
}

/// Whether a platform other than PoCL has a device that can compute and is no CPU.
pub fn has_card() -> bool {
    driver().and_then(Driver::has_card).unwrap_or(false)
}

/// Returns the error that this backend is not available, for this reason.
fn none(reason: impl Into<String>) -> Error {
    Error::NoBackend { backend: "opencl", reason: reason.into() }
}

/// Describes a code in words.
#[cold]
fn reason(code: i32, call: &str) -> String {
    match error_codes::error_text(code) {
        "UNKNOWN_ERROR" => format!("{call}: error {code}, which OpenCL has no name for"),
        name => format!("{call}: {name} ({code})"),
    }
}

impl Driver {
    /// Opens the loader that the system finds.
    fn opened() -> Result<Driver> {
        let find = loader::open(&[LIBRARY])
            .map_err(|reason| none(format!("the loader's library cannot be opened: {reason}")))?;
        let missing = |name| none(format!("the loader is too old: its library has no {name}"));
        Ok(Driver { table: Table::from(&find).map_err(missing)?, process: std::process::id() })
    }

    /// Returns an error unless this is the process that opened the loader.
    fn check_process(&self) -> std::result::Result<(), &'static str> {
        if self.process == std::process::id() { Ok(()) } else { Err(FORKED) }
    }
}

/// The devices that can compute, without a context on any of them.
pub fn describe() -> Result<Vec<DeviceDescription>> {
    Ok(devices()?.usable.iter().map(Properties::description).collect())
}

/// Returns the devices that cannot compute with their reasons, if the driver can be asked.
pub fn unusable() -> Vec<(String, String)> {
    let found = devices().map(|found| found.unusable).unwrap_or_default();
    found.into_iter().map(|device| (device.name, device.reason)).collect()
}
