//! Trees on CPU threads.
//!
//! `octree` sorts bodies and makes cells, `sources` their moments, `sinks` what the walk needs
//! of cells of sinks, and `walk` the sums.

pub mod block;
mod octree;
mod sinks;
mod sources;
mod sums;
mod walk;

pub use octree::Octree;
pub use sums::{Counts, Points, Settings, TreeSums};
