//! Code for the device: programs, built from their source or from a binary that the driver made
//! before, and their kernels.

use std::ffi::{CStr, CString};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use opencl3::program::{CL_PROGRAM_BINARIES, CL_PROGRAM_BINARY_SIZES, CL_PROGRAM_BUILD_LOG};

use crate::environment;
use crate::gpu::Argument;
use kyoho_core::{Error, Result};

use super::cache::{Folder, Key};
use super::table::{Object, Table, text, told};
use super::{Address, Context, Handle, Kind, SUCCESS, reason};

/// The number of lines of the compiler's output that an error shows.
const LINES: usize = 8;

/// A built program.
pub struct Program {
    context: Arc<Context>,
    handle: Handle,
    name: String,
    /// The folder and key that it was loaded from, if it was.
    loaded: Option<(Folder, Key)>,
}

impl Program {
    /// Returns the program of this source. It comes from the user's folder of programs if it is
    /// there. Otherwise it is built, and kept there unless the device is a CPU.
    pub fn new(context: &Arc<Context>, name: &str, text: &str, options: &str) -> Result<Program> {
        let folder = match context.properties().kind {
            // PoCL compiles a kernel when it first runs, and keeps the result itself.
            Kind::Cpu => Folder::none(),
            _ => Folder::from(&environment::variable),
        };
        Program::kept_in(&folder, context, name, text, options)
    }

    /// Returns a program as [`Program::new`] does, with the folder given.
    pub(crate) fn kept_in(
        folder: &Folder,
        context: &Arc<Context>,
        name: &str,
        text: &str,
        options: &str,
    ) -> Result<Program> {
        let began = Instant::now();
        let told = |how: &str| {
            let milliseconds = began.elapsed().as_secs_f64() * 1e3;
            log::debug!("OpenCL program {name} for {}: {how} in {milliseconds:.0} ms", context.properties().name);
        };
        let option_text = CString::new(options)
            .map_err(|_| Error::Internal { what: format!("the options of {name} have a zero byte: {options:?}") })?;
        let key = Program::key(context, text, options);
        if let Some(binary) = folder.load(&key) {
            match Program::of_binary(context, name, &binary, &option_text) {
                Ok(mut program) => {
                    told("loaded");
                    program.loaded = Some((folder.clone(), key));
                    return Ok(program);
                }
                Err(error) => {
                    log::debug!("OpenCL program {name}: the driver refuses the kept program: {error}");
                    folder.remove(&key);
                }
            }
        }
        let program = Program::of_text(context, name, text, &option_text)?;
        told("built");
        program.keep(folder, &key);
        Ok(program)
    }

    /// Whether it was loaded from a folder.
    pub fn is_loaded(&self) -> bool {
        self.loaded.is_some()
    }

    /// Removes it from the user's folder if it came from there, so that the next one is built.
    pub fn distrust(&self) {
        if let Some((folder, key)) = &self.loaded {
            log::debug!("OpenCL program {}: the kept program is of no use", self.name);
            folder.remove(key);
        }
    }

    /// Keeps the program in the user's folder, if there is one. PoCL compiles every kernel for
    /// every size when it is asked for the binary, so it is not asked in vain.
    fn keep(&self, folder: &Folder, key: &Key) {
        if !folder.is_there() {
            return;
        }
        match self.binary_alone() {
            Ok(binary) => folder.store(key, &binary),
            Err(error) => log::debug!("OpenCL program {} cannot be kept: {error}", self.name),
        }
    }

    /// Returns the key of a program, made from its source and everything else that may change its
    /// code.
    pub(super) fn key(context: &Context, text: &str, options: &str) -> Key {
        let properties = context.properties();
        Key::of(&[
            env!("CARGO_PKG_VERSION"),
            &properties.platform,
            &properties.platform_version,
            &properties.vendor,
            &properties.name,
            &properties.driver_version,
            &properties.address_bits.to_string(),
            options,
            text,
        ])
    }

    fn of_text(context: &Arc<Context>, name: &str, text: &str, options: &CStr) -> Result<Program> {
        let (table, mut code) = (context.table()?, SUCCESS);
        // SAFETY: the context exists; there is one source, of the length that the call says; the
        // pointers are to local variables.
        let handle = unsafe {
            let (text, length) = (text.as_ptr().cast(), text.len());
            (table.clCreateProgramWithSource)(context.handle.0, 1, &text, &length, &mut code)
        };
        context.check(code, "clCreateProgramWithSource")?;
        Program::of(context, handle, name).built(table, options)
    }

    fn of_binary(context: &Arc<Context>, name: &str, binary: &[u8], options: &CStr) -> Result<Program> {
        let (table, mut code, mut status) = (context.table()?, SUCCESS, SUCCESS);
        // SAFETY: context and device exist; there is one binary, of the length that the call says;
        // the pointers are to local variables.
        let handle = unsafe {
            let (device, length, bytes) = (&context.device.0, binary.len(), binary.as_ptr());
            let create = table.clCreateProgramWithBinary;
            create(context.handle.0, 1, device, &length, &bytes, &mut status, &mut code)
        };
        let refused = |code| context.device_failed(reason(code, "clCreateProgramWithBinary"));
        if code != SUCCESS {
            return Err(refused(code));
        }
        let program = Program::of(context, handle, name);
        if status != SUCCESS {
            return Err(refused(status));
        }
        program.built(table, options)
    }

    fn of(context: &Arc<Context>, handle: Object, name: &str) -> Program {
        Program { context: context.clone(), handle: Handle(handle), name: name.into(), loaded: None }
    }

    /// Builds the program.
    fn built(self, table: &Table, options: &CStr) -> Result<Program> {
        let device = self.context.device.0;
        // SAFETY: program and device exist; the options end with a zero. Without a callback the
        // call returns when it is done.
        let code =
            unsafe { (table.clBuildProgram)(self.handle.0, 1, &device, options.as_ptr(), None, std::ptr::null_mut()) };
        if code == SUCCESS {
            return Ok(self);
        }
        // SAFETY: program and device exist; `told` has the room that it says.
        let log = told(|room, value, bytes| unsafe {
            (table.clGetProgramBuildInfo)(self.handle.0, device, CL_PROGRAM_BUILD_LOG, room, value, bytes)
        });
        let log = log.map(|bytes| text(&bytes)).unwrap_or_default();
        let lines: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).take(LINES).collect();
        let reason = format!("{} of {}; {}", reason(code, "clBuildProgram"), self.name, lines.join("; "));
        Err(self.context.device_failed(reason.trim_end_matches("; ").into()))
    }

    /// Returns the binary while no kernel runs. PoCL 3.1 ends the process when a kernel of a
    /// program ends while the binary is asked for.
    fn binary_alone(&self) -> Result<Vec<u8>> {
        let context = &self.context;
        let table = context.table()?;
        let _alone = context.launches.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the queue exists.
        context.check(unsafe { (table.clFinish)(context.queue.0) }, "clFinish")?;
        self.binary()
    }

    /// Returns the binary that the driver made of the source.
    fn binary(&self) -> Result<Vec<u8>> {
        let call = self.context.table()?.clGetProgramInfo;
        // A device whose programs cannot be kept can still compute.
        let check = |code| match code {
            SUCCESS => Ok(()),
            code => Err(self.context.device_failed(reason(code, "clGetProgramInfo"))),
        };
        let (mut length, none) = (0usize, std::ptr::null_mut());
        // SAFETY: the program exists and is of one device; there is room for one length.
        check(unsafe {
            let room = (&raw mut length).cast();
            call(self.handle.0, CL_PROGRAM_BINARY_SIZES, size_of::<usize>(), room, none)
        })?;
        let mut binary = Vec::new();
        binary.try_reserve_exact(length).map_err(|_| Error::OutOfMemory { what: "a program", bytes: length })?;
        binary.resize(length, 0u8);
        let mut place = binary.as_mut_ptr();
        // SAFETY: the program exists and is of one device; there is one place, with room for this
        // many bytes.
        check(unsafe {
            let places = (&raw mut place).cast();
            call(self.handle.0, CL_PROGRAM_BINARIES, size_of::<*mut u8>(), places, none)
        })?;
        if binary.is_empty() {
            Err(self.context.device_failed("it does not hand out programs".into()))
        } else {
            Ok(binary)
        }
    }

    /// Returns the kernel of this name.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let context = &self.context;
        let symbol =
            CString::new(name).map_err(|_| Error::Internal { what: format!("no kernel is named {name:?}") })?;
        let mut code = SUCCESS;
        // SAFETY: the program is built; the name ends with a zero; the pointer is to a local
        // variable.
        let handle = unsafe { (context.table()?.clCreateKernel)(self.handle.0, symbol.as_ptr(), &mut code) };
        if code != SUCCESS {
            let reason = format!("{} (kernel {name} of {})", reason(code, "clCreateKernel"), self.name);
            return Err(context.device_failed(reason));
        }
        Ok(Kernel { context: context.clone(), handle: Handle(handle), set: Vec::new() })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Ok(table) = self.context.table() {
            // SAFETY: the program exists; its kernels keep what they need. A failure means that it
            // was lost before.
            unsafe { (table.clReleaseProgram)(self.handle.0) };
        }
    }
}

/// A kernel of a program, with its arguments.
///
/// It is the only object of OpenCL that two threads must not use at the same time, so every
/// function borrows it mutably.
pub struct Kernel {
    context: Arc<Context>,
    handle: Handle,
    set: Vec<Set>,
}

/// The value that an argument was set to.
enum Set {
    Nothing,
    Memory(Address),
    Bytes(Vec<u8>),
}

impl Kernel {
    /// Sets the argument at a place, counted from 0, for all further launches. An argument that has
    /// this value already is not set again.
    #[inline]
    pub fn set(&mut self, place: usize, argument: Argument<Address>) -> Result<()> {
        if self.set.len() <= place {
            self.set.resize_with(place + 1, || Set::Nothing);
        }
        let set = &mut self.set[place];
        let (value, bytes) = match (&argument, &*set) {
            (Argument::Memory(address), Set::Memory(old)) if address == old => return Ok(()),
            (Argument::Bytes(bytes), Set::Bytes(old)) if bytes == old => return Ok(()),
            (Argument::Memory(address), _) => ((&raw const address.handle.0).cast(), size_of::<*mut u8>()),
            (Argument::Bytes(bytes), _) => (bytes.as_ptr().cast(), bytes.len()),
        };
        let call = self.context.table()?.clSetKernelArg;
        // SAFETY: the kernel exists and is borrowed for this call alone; the driver copies the
        // value, and refuses one whose size differs from the argument's.
        let code = unsafe { call(self.handle.0, place as u32, bytes, value) };
        if code != SUCCESS {
            *set = Set::Nothing;
            return Err(self.context.device_failed(format!("{} (argument {place})", reason(code, "clSetKernelArg"))));
        }
        match (argument, &mut *set) {
            (Argument::Memory(address), _) => *set = Set::Memory(address),
            (Argument::Bytes(bytes), Set::Bytes(old)) => {
                old.clear();
                old.extend_from_slice(bytes);
            }
            (Argument::Bytes(bytes), _) => *set = Set::Bytes(bytes.to_vec()),
        }
        Ok(())
    }

    pub(super) fn handle(&self) -> Handle {
        self.handle
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        if let Ok(table) = self.context.table() {
            // SAFETY: the kernel exists and is used no more. A failure means that it was lost
            // before.
            unsafe { (table.clReleaseKernel)(self.handle.0) };
        }
    }
}
