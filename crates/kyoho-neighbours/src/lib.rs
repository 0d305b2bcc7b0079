//! The neighbours of sinks of a block: the sources within their radii, of all slices.
//!
//! In regular forces they are found in the numbers by which the sums decided, so that a source is in a
//! list if and only if it is in no sum.

pub mod cpu;
pub mod gpu;
