//! Device memory, and host memory that the device reaches.

use std::ffi::c_void;
use std::sync::Arc;

use crate::gpu::{HostMemory, Mapped};
use kyoho_core::{Error, Result};

use super::pools::{PORTABLE_AND_MAPPED, Piece};
use super::{Context, Handle, SUCCESS};

/// The driver's code for memory that is registered already.
const ALREADY_REGISTERED: i32 = 712;

/// Attributes of memory for `cuPointerGetAttribute`: its kind, whether the driver moves it between
/// host and devices, and its device.
const KIND: i32 = 2;
/// See [`KIND`].
const IS_MANAGED: i32 = 8;
/// See [`KIND`].
const ORDINAL: i32 = 9;
/// Where memory begins to which an address belongs, and how many bytes it has.
const RANGE_START: i32 = 11;
/// See [`RANGE_START`].
const RANGE_SIZE: i32 = 12;
/// The kind of memory of a device.
const ON_DEVICE: i32 = 2;

/// Device memory. Its contents are undefined at first.
pub struct Memory {
    context: Arc<Context>,
    address: u64,
    bytes: usize,
}

impl Memory {
    /// Allocates memory for `what`. That of no bytes has no address: the driver refuses it.
    pub fn new(context: &Arc<Context>, bytes: usize, what: &'static str) -> Result<Memory> {
        let mut address = 0;
        if bytes > 0 {
            context.bind()?;
            address = context.take_memory(bytes, what).inspect_err(|_| context.settle())?;
        }
        Ok(Memory { context: context.clone(), address, bytes })
    }

    /// Returns its address on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns its size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.bytes > 0 && self.context.bind().is_ok() {
            // SAFETY: the driver gave it out, and no work uses it, as `Gpu` asks for: for memory of a
            // pool the driver waits for none. A failure means that it was lost before.
            unsafe { (self.context.driver.table.cuMemFree_v2)(self.address) };
        }
    }
}

/// Page-locked host memory that the device reaches too. It is filled with zeros at first.
pub struct Pinned {
    context: Arc<Context>,
    piece: Piece,
    bytes: usize,
}

impl Pinned {
    /// Takes memory for `what` that somebody had before, or else allocates it.
    pub fn new(context: &Arc<Context>, bytes: usize, what: &'static str) -> Result<Pinned> {
        context.bind()?;
        let piece = context.take_piece(bytes, what).inspect_err(|_| context.settle())?;
        // SAFETY: the memory exists and nothing else uses it.
        unsafe { std::ptr::write_bytes(piece.pointer.0.cast::<u8>(), 0, bytes) };
        Ok(Pinned { context: context.clone(), piece, bytes })
    }
}

impl Mapped for Pinned {
    type Address = u64;

    fn device_address(&self, offset: usize) -> Option<u64> {
        Some(self.piece.address + offset as u64)
    }
}

// SAFETY: a piece begins with a page, stays where it is, and was filled with zeros.
unsafe impl HostMemory for Pinned {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn as_ptr(&self) -> *const u8 {
        self.piece.pointer.0.cast_const().cast()
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.piece.pointer.0.cast()
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // No work uses it, as `Gpu` asks for.
            self.context.keep_piece(self.piece);
        }
    }
}

/// Host memory of another owner that is page-locked and in the device's addresses until this is
/// dropped, which waits for all work of the context.
pub struct Registered {
    context: Arc<Context>,
    pointer: Handle,
    address: u64,
    /// Whether this value registered it and therefore has to unregister it.
    is_owner: bool,
}

impl Registered {
    /// Locks `bytes` from `pointer` on.
    ///
    /// # Safety
    /// They are memory of this process and stay so until this value is dropped.
    pub unsafe fn new(context: &Arc<Context>, pointer: *const u8, bytes: usize) -> Result<Registered> {
        context.bind()?;
        let (driver, pointer) = (context.driver, Handle(pointer.cast_mut().cast::<c_void>()));
        // SAFETY: the caller's promise.
        let code = unsafe { (driver.table.cuMemHostRegister_v2)(pointer.0, bytes, PORTABLE_AND_MAPPED) };
        // Another device of the same system may have registered it, which holds for all contexts.
        let is_owner = code != ALREADY_REGISTERED;
        if is_owner {
            driver.check_memory(context.number, code, "cuMemHostRegister", "page-locked memory", bytes)?;
        }
        // From here on dropping unlocks it.
        let mut registered = Registered { context: context.clone(), pointer, address: 0, is_owner };
        registered.address = context.device_address(pointer)?;
        Ok(registered)
    }

    /// Returns its address on the device.
    pub fn device_address(&self) -> u64 {
        self.address
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // It may go with its memory, outside of calls of the device.
        let Ok(_caller) = self.context.enter() else { return };
        // SAFETY: the context is current. A failure means that it was lost before.
        unsafe { (self.context.driver.table.cuCtxSynchronize)() };
        if self.is_owner {
            // SAFETY: it was registered by this value.
            unsafe { (self.context.driver.table.cuMemHostUnregister)(self.pointer.0) };
        }
    }
}

/// Returns the number of bytes from an address on that the driver knows as one memory.
pub fn room_of_callers(context: &Context, address: u64) -> usize {
    let attribute = |which: i32| {
        let mut value = 0u64;
        // SAFETY: the pointer is to a local variable of 64 bits, as these attributes have.
        let code =
            unsafe { (context.driver.table.cuPointerGetAttribute)((&raw mut value).cast::<c_void>(), which, address) };
        (code == SUCCESS).then_some(value)
    };
    match (attribute(RANGE_START), attribute(RANGE_SIZE)) {
        (Some(start), Some(size)) => start.saturating_add(size).saturating_sub(address) as usize,
        _ => 0,
    }
}

/// Fails unless some bytes that the caller gives by a name are memory of a context's device. The
/// first and the last of them are looked at, since memory that a program maps piece by piece is
/// several to the driver.
pub fn check_callers(context: &Context, name: &str, address: u64, bytes: usize) -> Result<()> {
    let attribute = |address: u64, which: i32| {
        // Kinds and numbers of devices have 32 bits.
        let mut value = 0i32;
        // SAFETY: the pointer is to a local variable; the driver takes any address.
        let code =
            unsafe { (context.driver.table.cuPointerGetAttribute)((&raw mut value).cast::<c_void>(), which, address) };
        (code == SUCCESS).then_some(value)
    };
    let refused = |address: u64, found: &str| Error::BadOption {
        name: name.into(),
        value: format!("{address:#x}, {found}"),
        allowed: format!("memory of CUDA device {}", context.number),
    };
    for address in [address, address.saturating_add(bytes.saturating_sub(1) as u64)] {
        let kind = attribute(address, KIND).ok_or_else(|| refused(address, "memory that CUDA does not know"))?;
        if attribute(address, IS_MANAGED) == Some(1) {
            continue;
        }
        if kind != ON_DEVICE {
            return Err(refused(address, "memory of the host"));
        }
        match attribute(address, ORDINAL) {
            Some(device) if device != context.device() => {
                return Err(refused(address, &format!("memory of CUDA device {device}")));
            }
            _ => (),
        }
    }
    Ok(())
}
