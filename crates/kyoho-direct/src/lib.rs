//! All pairs: the sums of every sink over every source.

pub mod cpu;
pub mod gpu;
