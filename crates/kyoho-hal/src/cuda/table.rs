//! The functions of the driver that are used, found by name, with signatures that return plain
//! numbers.

use std::ffi::{CStr, c_char, c_void};

use cudarc::driver::sys::{CUlaunchConfig, CUmemAccessDesc, CUmemPoolProps};

use crate::loader::{Symbol, functions};
use kyoho_core::{Error, Result};

use super::{SUCCESS, none};

functions! {
    cuInit(u32) -> i32;
    cuGetErrorName(i32, *mut *const c_char) -> i32;
    cuGetErrorString(i32, *mut *const c_char) -> i32;
    cuDeviceGetCount(*mut i32) -> i32;
    cuDeviceGet(*mut i32, i32) -> i32;
    cuDeviceGetName(*mut c_char, i32, i32) -> i32;
    cuDeviceGetAttribute(*mut i32, i32, i32) -> i32;
    cuDeviceCanAccessPeer(*mut i32, i32, i32) -> i32;
    cuDeviceGetPCIBusId(*mut c_char, i32, i32) -> i32;
    cuDeviceTotalMem_v2(*mut usize, i32) -> i32;
    cuDevicePrimaryCtxRetain(*mut *mut c_void, i32) -> i32;
    cuDevicePrimaryCtxRelease_v2(i32) -> i32;
    cuCtxGetCurrent(*mut *mut c_void) -> i32;
    cuCtxSetCurrent(*mut c_void) -> i32;
    cuCtxEnablePeerAccess(*mut c_void, u32) -> i32;
    cuMemAlloc_v2(*mut u64, usize) -> i32;
    cuMemFree_v2(u64) -> i32;
    cuMemPoolCreate(*mut *mut c_void, *const CUmemPoolProps) -> i32;
    cuMemPoolDestroy(*mut c_void) -> i32;
    cuMemPoolSetAttribute(*mut c_void, i32, *mut c_void) -> i32;
    cuMemPoolSetAccess(*mut c_void, *const CUmemAccessDesc, usize) -> i32;
    cuMemAllocFromPoolAsync(*mut u64, usize, *mut c_void, *mut c_void) -> i32;
    cuMemHostAlloc(*mut *mut c_void, usize, u32) -> i32;
    cuMemFreeHost(*mut c_void) -> i32;
    cuMemHostRegister_v2(*mut c_void, usize, u32) -> i32;
    cuMemHostUnregister(*mut c_void) -> i32;
    cuMemHostGetDevicePointer_v2(*mut u64, *mut c_void, u32) -> i32;
    cuPointerGetAttribute(*mut c_void, i32, u64) -> i32;
    cuMemcpyHtoDAsync_v2(u64, *const c_void, usize, *mut c_void) -> i32;
    cuMemcpyDtoHAsync_v2(*mut c_void, u64, usize, *mut c_void) -> i32;
    cuMemcpyDtoDAsync_v2(u64, u64, usize, *mut c_void) -> i32;
    cuMemcpyPeerAsync(u64, *mut c_void, u64, *mut c_void, usize, *mut c_void) -> i32;
    cuMemsetD8Async(u64, u8, usize, *mut c_void) -> i32;
    cuStreamCreateWithPriority(*mut *mut c_void, u32, i32) -> i32;
    cuStreamDestroy_v2(*mut c_void) -> i32;
    cuStreamSynchronize(*mut c_void) -> i32;
    cuCtxSynchronize() -> i32;
    cuStreamQuery(*mut c_void) -> i32;
    cuStreamWaitEvent(*mut c_void, *mut c_void, u32) -> i32;
    cuEventCreate(*mut *mut c_void, u32) -> i32;
    cuEventDestroy_v2(*mut c_void) -> i32;
    cuEventRecord(*mut c_void, *mut c_void) -> i32;
    cuEventSynchronize(*mut c_void) -> i32;
    cuEventElapsedTime(*mut f32, *mut c_void, *mut c_void) -> i32;
    cuModuleLoadDataEx(*mut *mut c_void, *const c_void, u32, *mut i32, *mut *mut c_void) -> i32;
    cuModuleUnload(*mut c_void) -> i32;
    cuModuleGetFunction(*mut *mut c_void, *mut c_void, *const c_char) -> i32;
    cuOccupancyMaxActiveBlocksPerMultiprocessor(*mut i32, *mut c_void, i32, usize) -> i32;
    cuLaunchKernel(*mut c_void, u32, u32, u32, u32, u32, u32, u32, *mut c_void, *mut *mut c_void, *mut *mut c_void) -> i32;
    cuLaunchCooperativeKernel(*mut c_void, u32, u32, u32, u32, u32, u32, u32, *mut c_void, *mut *mut c_void) -> i32;
    cuLaunchKernelEx(*const CUlaunchConfig, *mut c_void, *mut *mut c_void, *mut *mut c_void) -> i32;
}

/// Returns the version of the driver's interface: 12040 is 12.4.
pub fn version(find: &impl Fn(&CStr) -> Option<Symbol>) -> Result<i32> {
    let symbol = find(c"cuDriverGetVersion").ok_or_else(|| missing("cuDriverGetVersion"))?;
    // SAFETY: the driver documents this signature for this name.
    let function = unsafe { std::mem::transmute::<Symbol, unsafe extern "C" fn(*mut i32) -> i32>(symbol) };
    let mut version = 0;
    // SAFETY: the pointer is to a local variable.
    match unsafe { function(&mut version) } {
        SUCCESS => Ok(version),
        code => Err(none(format!("cuDriverGetVersion: error {code}"))),
    }
}

/// The error that the library lacks a function.
pub fn missing(name: &str) -> Error {
    none(format!("the driver is too old: its library has no {name}"))
}
