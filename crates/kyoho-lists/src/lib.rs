//! Interaction lists: the sums of groups of sinks, each over sources of its own.
//!
//! The sums of a group depend on its own sinks and sources alone, never on the other groups of a
//! call or on the device that has it. [`cpu`] gathers the sources of a list into a tile, [`gpu`]
//! divides groups among thread blocks.

pub mod cpu;
pub mod gpu;
