//! Arrays of the caller, and where they lie on a device.

use std::os::raw::c_void;

/// Real numbers that the library reads: elements, or rows of 3.
///
/// They may be part of your own structures and need no alignment.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_const_reals {
    /// The first one. NULL: there are none.
    pub data: *const f64,
    /// Bytes from one element or row to the next; it may be negative. 0: they follow one another.
    pub stride: i64,
}

/// Real numbers that the library writes: elements, or rows of 3. Otherwise as `kyoho_const_reals`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_reals {
    /// The first one. NULL: they are not wanted.
    pub data: *mut f64,
    /// Bytes from one element or row to the next; it may be negative. 0: they follow one another.
    pub stride: i64,
}

/// Integers that the library reads. Otherwise as `kyoho_const_reals`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_const_integers {
    /// The first one. NULL: there are none.
    pub data: *const i32,
    /// Bytes from one to the next; it may be negative. 0: they follow one another.
    pub stride: i64,
}

/// Integers of 64 bits that the library reads. Otherwise as `kyoho_const_reals`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_const_long_integers {
    /// The first one. NULL: there are none.
    pub data: *const i64,
    /// Bytes from one to the next; it may be negative. 0: they follow one another.
    pub stride: i64,
}

/// Integers that the library writes. Otherwise as `kyoho_const_reals`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_integers {
    /// The first one. NULL: they are not wanted.
    pub data: *mut i32,
    /// Bytes from one to the next; it may be negative. 0: they follow one another.
    pub stride: i64,
}

/// Integers of 64 bits that the library writes. Otherwise as `kyoho_const_reals`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_long_integers {
    /// The first one. NULL: they are not wanted.
    pub data: *mut i64,
    /// Bytes from one to the next; it may be negative. 0: they follow one another.
    pub stride: i64,
}

/// The CUDA device and the stream of arrays in KYOHO_MEMORY_CUDA.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_cuda {
    /// The number of the device, as the options of the system have it.
    pub device: i32,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
    /// Your stream on that device, a CUstream or cudaStream_t. NULL: its default stream.
    pub stream: *mut c_void,
}
