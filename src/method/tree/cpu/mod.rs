//! Trees on CPU threads.
//!
//! `octree` sorts bodies and makes cells, `sources` their moments, `sinks` what the walk needs
//! of cells of sinks, and `walk` the sums. `neighbours` has a tree of its own kind.

pub mod block;
mod neighbours;
mod octree;
mod sinks;
mod sources;
mod sums;
mod walk;

pub use neighbours::NeighbourTree;
pub use octree::Octree;
pub use sums::{Counts, Points, Settings, TreeSums};
