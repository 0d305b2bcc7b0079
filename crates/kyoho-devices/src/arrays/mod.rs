//! The work of GPUs on arrays of callers, for [`kyoho_methods::device_arrays::DeviceArrays`].

pub mod kernels;
#[cfg(test)]
mod tests;
pub mod work;
