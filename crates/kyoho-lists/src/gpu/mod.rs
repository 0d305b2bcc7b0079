//! Interaction lists on GPUs.
//!
//! [`method`] is what a device calls. [`plan`] divides groups among thread blocks; `copies`
//! brings sinks and sources to the device. [`sums`] launches the [`kernels`], in pieces, and brings
//! results back. A device may have made the [`groups`] itself.

mod copies;
pub mod groups;
pub mod kernels;
pub mod method;
pub mod plan;
pub mod sums;
#[cfg(test)]
mod tests;
pub mod units;
