//! All pairs: the sums of every sink over every source, in an order of addition that no number of
//! threads or devices changes.
//!
//! [`cpu`] shares slices of sources among threads. [`gpu`] computes a block in few launches.

pub mod cpu;
pub mod gpu;
