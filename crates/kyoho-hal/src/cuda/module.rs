//! Code for the device: modules and their functions.

use std::collections::HashMap;
use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{CUjit_option_enum as JitOption, CUresult};

use kyoho_core::{Error, Result, memory};

use super::{Context, Driver, Handle, SUCCESS, linker, text};

/// A loaded module of code.
pub struct Module {
    context: Arc<Context>,
    handle: Handle,
    /// Its kernels that were asked for, by name.
    functions: Mutex<HashMap<String, Handle>>,
}

/// Codes with which a driver refuses PTX that another compiler may take: no image for the device, no
/// compiler, a version that is too new, and compiling switched off.
const REFUSALS: [i32; 4] = [
    CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU as i32,
    CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND as i32,
    CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION as i32,
    CUresult::CUDA_ERROR_JIT_COMPILATION_DISABLED as i32,
];

impl Module {
    /// Loads a cubin, or PTX with a zero at its end, which the driver compiles, or else NVIDIA's
    /// linker where there is one.
    pub fn new(context: &Arc<Context>, image: &[u8]) -> Result<Module> {
        context.bind()?;
        let is_cubin = image.starts_with(b"\x7fELF");
        if !is_cubin && image.last() != Some(&0) {
            return Err(Error::Internal { what: "the code for the device has no end".into() });
        }
        let loaded = Module::loaded(context, image).or_else(|(code, reason)| {
            if is_cubin || !REFUSALS.contains(&code) {
                return Err(reason);
            }
            let compiled = linker::compiled(image, context.properties().compute);
            let cubin = compiled.map_err(|linker| format!("{reason}; {linker}"))?;
            Module::loaded(context, &cubin).map_err(|(_, reason)| reason)
        });
        loaded.map_err(|reason| context.driver.device_failed(context.number, reason))
    }

    /// Gives an image to the driver, which is bound. Where it refuses, its code and its reason are
    /// returned.
    fn loaded(context: &Arc<Context>, image: &[u8]) -> std::result::Result<Module, (i32, String)> {
        let mut log: [c_char; 2048] = [0; 2048];
        let mut options =
            [JitOption::CU_JIT_ERROR_LOG_BUFFER, JitOption::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES].map(|o| o as i32);
        // The driver takes this size by value where other options take a pointer.
        let mut values = [log.as_mut_ptr().cast(), (log.len() - 1) as *mut c_void];
        let mut handle = Handle::NONE;
        // SAFETY: the image contains its own length; the options and their values are as many as
        // the call says.
        let code = unsafe {
            let (image, options, values) = (image.as_ptr().cast(), options.as_mut_ptr(), values.as_mut_ptr());
            (context.driver.table.cuModuleLoadDataEx)(&mut handle.0, image, 2, options, values)
        };
        if code != SUCCESS {
            let (reason, log) = (context.driver.reason(code, "cuModuleLoadDataEx"), text(&log));
            let reason = if log.trim().is_empty() { reason } else { format!("{reason}; {}", log.trim()) };
            return Err((code, reason));
        }
        Ok(Module { context: context.clone(), handle, functions: Mutex::default() })
    }

    /// Returns the kernel of this name. It is valid for as long as the module is loaded.
    pub fn function(&self, name: &str) -> Result<Function> {
        self.context.bind()?;
        let Context { driver, number, .. } = *self.context;
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&handle) = functions.get(name) {
            return Ok(Function { driver, number, handle });
        }
        let symbol =
            CString::new(name).map_err(|_| Error::Internal { what: format!("no kernel is named {name:?}") })?;
        let mut handle = Handle::NONE;
        // SAFETY: the pointer is to a local variable, the name ends with a zero.
        let code = unsafe { (driver.table.cuModuleGetFunction)(&mut handle.0, self.handle.0, symbol.as_ptr()) };
        if code != SUCCESS {
            let reason = format!("{} (kernel {name})", driver.reason(code, "cuModuleGetFunction"));
            return Err(driver.device_failed(number, reason));
        }
        memory::insert(&mut functions, (name.to_owned(), handle), "the table of kernels")?;
        Ok(Function { driver, number, handle })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: it is loaded. A failure means that it was lost before.
            unsafe { (self.context.driver.table.cuModuleUnload)(self.handle.0) };
        }
    }
}

/// A kernel of a module. It may be called only for as long as the module is loaded.
#[derive(Clone, Copy)]
pub struct Function {
    driver: &'static Driver,
    number: i32,
    pub(super) handle: Handle,
}

impl Function {
    /// How many blocks of so many threads and bytes of dynamic shared memory a multiprocessor
    /// holds.
    pub fn occupancy(&self, threads: u32, dynamic_shared: usize) -> Result<usize> {
        let mut blocks = 0;
        // SAFETY: the pointer is to a local variable, the function is loaded.
        let code = unsafe {
            let occupancy = self.driver.table.cuOccupancyMaxActiveBlocksPerMultiprocessor;
            occupancy(&mut blocks, self.handle.0, threads as i32, dynamic_shared)
        };
        self.driver.check(self.number, code, "cuOccupancyMaxActiveBlocksPerMultiprocessor")?;
        Ok(blocks.max(0) as usize)
    }
}
