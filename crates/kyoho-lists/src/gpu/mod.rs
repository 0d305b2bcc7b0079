//! Interaction lists on GPUs.
//!
//! [`method`] is what a device calls. [`plan`] divides groups among thread blocks; [`sums`] brings
//! sinks and sources to the device and results back, in pieces, and launches the [`kernels`]. A device
//! may have made the [`groups`] itself.

pub mod groups;
pub mod kernels;
pub mod method;
pub mod plan;
pub mod sums;
#[cfg(test)]
mod tests;
pub mod units;
