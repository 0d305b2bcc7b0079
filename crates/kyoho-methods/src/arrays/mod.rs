//! The work of GPUs on arrays of callers, for [`crate::device_arrays::DeviceArrays`].

pub mod kernels;
#[cfg(test)]
mod tests;
pub mod work;
