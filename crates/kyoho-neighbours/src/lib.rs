//! The neighbours of sinks of a block: the sources within their radii.

pub mod cpu;
pub mod gpu;
