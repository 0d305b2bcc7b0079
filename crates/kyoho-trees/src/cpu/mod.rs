//! Trees on CPU threads.
//!
//! `octree` sorts bodies and makes cells, `sources` their moments, `sinks` what passes need of
//! cells of sinks. `sums` makes the two `passes`, each a `walk` through the cells of sinks:
//! `first_pass` and `second_pass`, which leaves `near` sums. A `domain` is a rank's part of a tree of
//! several: it tells `regions` of its sinks, chooses `essential` cells for those of others, and walks
//! through the own ones `joined` with those that it gets, or lets a device walk (`on_device`).
//! `neighbours` and `stackless` have trees of their own kind.

pub mod block;
mod cell_list;
pub mod domain;
pub mod essential;
mod first_pass;
mod joined;
mod near;
mod neighbours;
mod octree;
pub mod on_device;
mod passes;
mod regions;
mod second_pass;
mod sinks;
mod sources;
pub mod stackless;
mod sums;
mod walk;

pub use joined::Joined;
pub use neighbours::NeighbourTree;
pub use octree::Octree;
pub use passes::{Passes, Trees};
pub use sinks::Extent;
pub use sources::{Spread, TreeUnits};
pub use sums::{Alike, Counts, Points, Settings, TreeSums};
