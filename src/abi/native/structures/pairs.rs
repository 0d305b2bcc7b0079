//! The structures of pair interactions.

use std::os::raw::c_char;

use super::super::kyoho_number_type;

/// How a pair interaction is compiled. Begin with KYOHO_PAIR_OPTIONS_INIT, which leaves everything
/// open, and set what you decide.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_pair_options {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// 1: every `f64` of the text is read as `dd`, two doubles. 0: as it was written.
    pub f64_as_dd: i32,
    /// Threads that compute, the caller's own included. 0: what the environment says, as for
    /// systems.
    pub threads: i32,
    /// 1 (CPU), 2 (CUDA), 3 (OpenCL). 0: what the environment says, as for systems; the CPU then
    /// also computes what a GPU cannot.
    pub backend: i32,
    /// The numbers of the backend's devices, such as "0,1", or "all". NULL: what the environment
    /// says, as for systems.
    pub devices: *const c_char,
}

/// A field, a parameter or a result that the text of a pair interaction declares. Begin with
/// KYOHO_PAIR_VARIABLE_INIT.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_pair_variable {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The type of its numbers; of a result, the one in which it is handed over.
    pub number_type: kyoho_number_type,
    /// The numbers of a row: 1, or the components of a vector.
    pub width: i32,
    /// The numbers of a table in all; 0: it is none.
    pub table_size: i32,
    /// The name; it stays until the interaction is freed.
    pub name: *const c_char,
}
