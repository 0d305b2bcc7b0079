//! A context on one device.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

use opencl3::command_queue::CL_QUEUE_PROFILING_ENABLE;
use opencl3::error_codes::{
    CL_INVALID_BUFFER_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES,
};

use crate::contexts::{self, Contexts};
use kyoho_core::{Error, Result};

use super::devices::Usable;
use super::table::Table;
use super::{Driver, Handle, Kind, Properties, SUCCESS, driver, reason};

/// A context on one device, which everything in the library that uses the device shares. It is held
/// until this is dropped.
pub struct Context {
    driver: &'static Driver,
    number: usize,
    pub(super) device: Handle,
    pub(super) handle: Handle,
    /// The queue for work that has no queue of its own. On a CPU it does all work.
    pub(super) queue: Handle,
    properties: Properties,
    /// Many threads may begin kernels at the same time, but a thread that asks for a program must
    /// be alone.
    pub(super) launches: RwLock<()>,
    /// Whether a call on it failed.
    failed: AtomicBool,
}

static KEPT: Contexts<Context> = Contexts::none();

impl contexts::Context for Context {
    fn number(&self) -> usize {
        self.number
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

impl Context {
    /// Returns the context on the device of this number, which counts the devices that can compute.
    pub fn new(number: usize) -> Result<Arc<Context>> {
        let driver = driver()?;
        match KEPT.get(number) {
            Some(context) => Ok(context),
            None => Ok(KEPT.keep(Context::of(driver, number)?)),
        }
    }

    /// Makes a context as [`Context::new`] does, with the driver given, and does not keep it.
    pub(super) fn of(driver: &'static Driver, number: usize) -> Result<Arc<Context>> {
        let Usable { handle: device, properties } = driver.device(number)?;
        let mut code = SUCCESS;
        // SAFETY: the device exists; the pointers are to local variables or null.
        let handle = unsafe {
            let (properties, data) = (std::ptr::null(), std::ptr::null_mut());
            (driver.table.clCreateContext)(properties, 1, &device.0, None, data, &mut code)
        };
        let fail = |code, call| Error::DeviceFailed {
            device: format!("{number} ({})", properties.name),
            reason: reason(code, call),
        };
        if code != SUCCESS {
            return Err(fail(code, "clCreateContext"));
        }
        let flags = if properties.kind == Kind::Cpu { CL_QUEUE_PROFILING_ENABLE } else { 0 };
        // SAFETY: context and device exist; the pointer is to a local variable.
        let queue = unsafe { (driver.table.clCreateCommandQueue)(handle, device.0, flags, &mut code) };
        if code != SUCCESS {
            // SAFETY: it was made above. A failure means that it was lost before.
            unsafe { (driver.table.clReleaseContext)(handle) };
            return Err(fail(code, "clCreateCommandQueue"));
        }
        Ok(Arc::new(Context {
            driver,
            number,
            device,
            handle: Handle(handle),
            queue: Handle(queue),
            properties,
            launches: RwLock::new(()),
            failed: AtomicBool::new(false),
        }))
    }

    /// Returns its number and name, for people.
    pub fn name(&self) -> String {
        format!("{} ({})", self.number, self.properties.name)
    }

    /// Returns the properties of the device.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Returns an error unless this is the process that opened the driver.
    #[inline]
    pub fn check_process(&self) -> Result<()> {
        self.driver.check_process().map_err(|reason| self.device_failed(reason.into()))
    }

    /// Returns the functions of the driver, which only the process that opened it may call.
    #[inline]
    pub(super) fn table(&self) -> Result<&'static Table> {
        self.check_process()?;
        Ok(&self.driver.table)
    }

    /// Returns an error unless `code`, which `call` returned, is success.
    #[inline]
    pub fn check(&self, code: i32, call: &str) -> Result<()> {
        match code {
            SUCCESS => Ok(()),
            code => {
                self.failed.store(true, Ordering::Relaxed);
                Err(self.device_failed(reason(code, call)))
            }
        }
    }

    /// Checks a code as [`Context::check`] does, for a call that needs memory for `what`.
    #[inline]
    pub(super) fn check_memory(&self, code: i32, call: &str, what: &'static str, bytes: usize) -> Result<()> {
        match code {
            CL_MEM_OBJECT_ALLOCATION_FAILURE | CL_OUT_OF_HOST_MEMORY | CL_INVALID_BUFFER_SIZE => {
                Err(Error::OutOfMemory { what, bytes })
            }
            CL_OUT_OF_RESOURCES => {
                // Drivers return this code for a lost device, too.
                self.failed.store(true, Ordering::Relaxed);
                Err(Error::OutOfMemory { what, bytes })
            }
            code => self.check(code, call),
        }
    }

    /// Returns the error that the device failed, for this reason.
    #[cold]
    pub(super) fn device_failed(&self, reason: String) -> Error {
        Error::DeviceFailed { device: format!("{} ({})", self.number, self.properties.name), reason }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if let Ok(table) = self.table() {
            // SAFETY: both were made with it and nothing uses them any more. A failure means that
            // it was lost before.
            unsafe {
                (table.clReleaseCommandQueue)(self.queue.0);
                (table.clReleaseContext)(self.handle.0);
            }
        }
    }
}
