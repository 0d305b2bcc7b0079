//! Trees on CPU threads.
//!
//! `octree` sorts bodies and makes cells, `sources` their moments, `sinks` what the walk needs
//! of cells of sinks, and `walk` the sums. `neighbours` and `stackless` have trees of their own kind.

pub mod block;
mod cell_list;
mod neighbours;
mod octree;
mod sinks;
mod sources;
pub mod stackless;
mod sums;
mod walk;

pub use neighbours::NeighbourTree;
pub use octree::Octree;
pub use sums::{Counts, Points, Settings, TreeSums};
