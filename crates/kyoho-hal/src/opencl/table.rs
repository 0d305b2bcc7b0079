//! The functions of OpenCL 1.2 that are used, found by name, with signatures that return plain
//! numbers.

use std::ffi::{CStr, c_char, c_void};

use opencl3::types::{cl_bitfield, cl_bool, cl_int, cl_uint};

use crate::loader::functions;

/// A platform, device, context, queue, memory, program, kernel or event.
pub type Object = *mut c_void;

/// A function that tells something of an object: what to tell, the room for it, and how much it is.
pub type Tell = unsafe extern "C" fn(Object, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;

/// A callback at the end of an asynchronous call, which is not used.
type Callback = Option<unsafe extern "C" fn()>;

functions! {
    clGetPlatformIDs(cl_uint, *mut Object, *mut cl_uint) -> cl_int;
    clGetPlatformInfo(Object, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;
    clGetDeviceIDs(Object, cl_bitfield, cl_uint, *mut Object, *mut cl_uint) -> cl_int;
    clGetDeviceInfo(Object, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;
    clCreateContext(*const isize, cl_uint, *const Object, Callback, *mut c_void, *mut cl_int) -> Object;
    clReleaseContext(Object) -> cl_int;
    clCreateCommandQueue(Object, Object, cl_bitfield, *mut cl_int) -> Object;
    clReleaseCommandQueue(Object) -> cl_int;
    clFlush(Object) -> cl_int;
    clFinish(Object) -> cl_int;
    clCreateBuffer(Object, cl_bitfield, usize, *mut c_void, *mut cl_int) -> Object;
    clReleaseMemObject(Object) -> cl_int;
    clEnqueueWriteBuffer(
        Object, Object, cl_bool, usize, usize, *const c_void, cl_uint, *const Object, *mut Object
    ) -> cl_int;
    clEnqueueReadBuffer(
        Object, Object, cl_bool, usize, usize, *mut c_void, cl_uint, *const Object, *mut Object
    ) -> cl_int;
    clEnqueueCopyBuffer(
        Object, Object, Object, usize, usize, usize, cl_uint, *const Object, *mut Object
    ) -> cl_int;
    clEnqueueFillBuffer(
        Object, Object, *const c_void, usize, usize, usize, cl_uint, *const Object, *mut Object
    ) -> cl_int;
    clEnqueueMapBuffer(
        Object, Object, cl_bool, cl_bitfield, usize, usize, cl_uint, *const Object, *mut Object, *mut cl_int
    ) -> *mut c_void;
    clEnqueueUnmapMemObject(Object, Object, *mut c_void, cl_uint, *const Object, *mut Object) -> cl_int;
    clEnqueueNDRangeKernel(
        Object, Object, cl_uint, *const usize, *const usize, *const usize, cl_uint, *const Object, *mut Object
    ) -> cl_int;
    clEnqueueMarkerWithWaitList(Object, cl_uint, *const Object, *mut Object) -> cl_int;
    clEnqueueBarrierWithWaitList(Object, cl_uint, *const Object, *mut Object) -> cl_int;
    clWaitForEvents(cl_uint, *const Object) -> cl_int;
    clGetEventInfo(Object, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;
    clGetEventProfilingInfo(Object, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;
    clReleaseEvent(Object) -> cl_int;
    clCreateProgramWithSource(Object, cl_uint, *const *const c_char, *const usize, *mut cl_int) -> Object;
    clCreateProgramWithBinary(
        Object, cl_uint, *const Object, *const usize, *const *const u8, *mut cl_int, *mut cl_int
    ) -> Object;
    clBuildProgram(Object, cl_uint, *const Object, *const c_char, Callback, *mut c_void) -> cl_int;
    clGetProgramInfo(Object, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;
    clGetProgramBuildInfo(Object, Object, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;
    clReleaseProgram(Object) -> cl_int;
    clCreateKernel(Object, *const c_char, *mut cl_int) -> Object;
    clReleaseKernel(Object) -> cl_int;
    clSetKernelArg(Object, cl_uint, usize, *const c_void) -> cl_int;
}

/// Returns the bytes of a function's answer, or the code that it returned.
pub fn told(tell: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> std::result::Result<Vec<u8>, cl_int> {
    let mut bytes = 0;
    match tell(0, std::ptr::null_mut(), &mut bytes) {
        0 => {}
        code => return Err(code),
    }
    let mut value = vec![0; bytes];
    match tell(bytes, value.as_mut_ptr().cast(), std::ptr::null_mut()) {
        0 => Ok(value),
        code => Err(code),
    }
}

/// Returns the string in a buffer up to its first zero.
pub fn text(bytes: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(bytes).map_or(bytes, CStr::to_bytes);
    String::from_utf8_lossy(text).trim().to_owned()
}
