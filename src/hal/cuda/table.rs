//! The functions of the driver that are used, found by name, with signatures that return plain numbers.

use std::ffi::{CStr, c_char, c_void};

use cudarc::driver::sys::CUlaunchConfig;

use crate::data::{Error, Result};

use super::{SUCCESS, none};

/// A function of a signature not yet known.
pub type Symbol = unsafe extern "C" fn();

macro_rules! table {
    ($($name:ident($($argument:ty),*);)*) => {
        /// One pointer for each function, named as the library's symbol.
        #[allow(non_snake_case)]
        pub struct Table {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> i32,)*
        }

        impl Table {
            /// The functions that `find` has, which must be all of them.
            pub fn from(find: &impl Fn(&CStr) -> Option<Symbol>) -> Result<Table> {
                Ok(Table {
                    $($name: {
                        let name = concat!(stringify!($name), "\0");
                        let name = CStr::from_bytes_with_nul(name.as_bytes()).map_err(|_| missing(stringify!($name)))?;
                        let symbol = find(name).ok_or_else(|| missing(stringify!($name)))?;
                        // SAFETY: the driver documents this signature for this name.
                        unsafe {
                            std::mem::transmute::<Symbol, unsafe extern "C" fn($($argument),*) -> i32>(symbol)
                        }
                    },)*
                })
            }
        }
    };
}

table! {
    cuInit(u32);
    cuGetErrorName(i32, *mut *const c_char);
    cuGetErrorString(i32, *mut *const c_char);
    cuDeviceGetCount(*mut i32);
    cuDeviceGet(*mut i32, i32);
    cuDeviceGetName(*mut c_char, i32, i32);
    cuDeviceGetAttribute(*mut i32, i32, i32);
    cuDeviceGetPCIBusId(*mut c_char, i32, i32);
    cuDeviceTotalMem_v2(*mut usize, i32);
    cuDevicePrimaryCtxRetain(*mut *mut c_void, i32);
    cuDevicePrimaryCtxRelease_v2(i32);
    cuCtxGetCurrent(*mut *mut c_void);
    cuCtxSetCurrent(*mut c_void);
    cuCtxSynchronize();
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAlloc_v2(*mut u64, usize);
    cuMemFree_v2(u64);
    cuMemHostAlloc(*mut *mut c_void, usize, u32);
    cuMemFreeHost(*mut c_void);
    cuMemHostRegister_v2(*mut c_void, usize, u32);
    cuMemHostUnregister(*mut c_void);
    cuMemHostGetDevicePointer_v2(*mut u64, *mut c_void, u32);
    cuMemcpyHtoDAsync_v2(u64, *const c_void, usize, *mut c_void);
    cuMemcpyDtoHAsync_v2(*mut c_void, u64, usize, *mut c_void);
    cuMemcpyDtoDAsync_v2(u64, u64, usize, *mut c_void);
    cuMemsetD8Async(u64, u8, usize, *mut c_void);
    cuStreamCreate(*mut *mut c_void, u32);
    cuStreamDestroy_v2(*mut c_void);
    cuStreamSynchronize(*mut c_void);
    cuStreamQuery(*mut c_void);
    cuStreamWaitEvent(*mut c_void, *mut c_void, u32);
    cuEventCreate(*mut *mut c_void, u32);
    cuEventDestroy_v2(*mut c_void);
    cuEventRecord(*mut c_void, *mut c_void);
    cuEventQuery(*mut c_void);
    cuEventSynchronize(*mut c_void);
    cuEventElapsedTime(*mut f32, *mut c_void, *mut c_void);
    cuModuleLoadDataEx(*mut *mut c_void, *const c_void, u32, *mut i32, *mut *mut c_void);
    cuModuleUnload(*mut c_void);
    cuModuleGetFunction(*mut *mut c_void, *mut c_void, *const c_char);
    cuFuncGetAttribute(*mut i32, i32, *mut c_void);
    cuFuncSetAttribute(*mut c_void, i32, i32);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(*mut i32, *mut c_void, i32, usize);
    cuLaunchKernel(*mut c_void, u32, u32, u32, u32, u32, u32, u32, *mut c_void, *mut *mut c_void, *mut *mut c_void);
    cuLaunchKernelEx(*const CUlaunchConfig, *mut c_void, *mut *mut c_void, *mut *mut c_void);
}

/// The version of the driver's interface: 12040 is 12.4.
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

fn missing(name: &str) -> Error {
    none(format!("the driver is too old: its library has no {name}"))
}
