//! Plain data: sources, sinks, blocks, sums, records of writes, errors. Nothing here knows the
//! crates above.
//!
//! [`sources`] has the host's copy in chunks, [`sinks`] and [`lists`] have what a block asks for, and
//! [`block`] is what devices get of it. Bodies that come quantity by quantity, from callers to
//! kernels, are [`columns`]. [`partition`] says which part a device has, [`units`] in which units a
//! pair is computed, [`interaction`] what is computed at all. Whatever grows with the caller's data
//! asks for [`memory`] here, where it may be refused.

pub mod block;
pub mod buffer_pool;
pub mod columns;
pub mod device_arrays;
pub mod error;
pub mod forces;
pub mod interaction;
pub mod level;
pub mod lists;
pub mod memory;
pub mod neighbours;
pub mod partition;
pub mod records;
pub mod sinks;
pub mod sources;
pub mod trees;
pub mod units;
pub mod updates;

pub use block::{
    Block, MAX_DERIVATIVES, Nearest, NeighbourCriterion, PartialSums, Sink, SinkUnits, Sums, add_in_pairs,
    join_in_pairs, joins_in_pairs,
};
pub use buffer_pool::{BufferPool, Pooled};
pub use columns::BodyColumns;
pub use device_arrays::{DeviceArray, DeviceBodies, DeviceForces, DeviceGroups, DevicePlace, DeviceSources};
pub use error::{Error, Result, ResultCode};
pub use forces::Forces;
pub use interaction::{Bounds, Interaction, Order, Precision, Scope, name_of};
pub use level::Level;
pub use lists::{AddressTable, Bodies, GroupTable, InteractionLists, ListedSources, SinkGroup};
pub use neighbours::{FoundNeighbours, NeighbourTable, Neighbourhoods};
pub use partition::{
    Assignment, CHUNK, Partition, SLICE_GROUPS, SLICES, chunk_of, chunks_below, chunks_of_slice, rounded_up,
};
pub use records::{Record, RecordLine, Records};
pub use sinks::{SinkSlice, Sinks};
pub use sources::{
    Chunk, IndexRange, MASS, MAX_COEFFICIENTS, OCTET, Row, Source, Sources, Supplement, TAYLOR, TIME, TakeChunk,
    Written, padded,
};
pub use trees::{SinkOrder, TreeAccuracy, TreeBlock, TreePhase, TreeProfile};
pub use units::Units;
pub use updates::Updates;
