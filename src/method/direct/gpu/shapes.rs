//! The launch shapes of the force kernel; `kernels/unit.h` makes a kernel of each.

use crate::data::{Descriptor, Order, Precision, SLICES};

use super::model::END_SINKS;

/// Sinks of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sinks {
    /// One.
    Few,
    /// As many as registers hold.
    Many,
}

/// Strands of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strands {
    /// As many as a group has threads that run in step: for few sinks, each shared by many threads.
    Short,
    /// Eight.
    Medium,
    /// As few as the numbers of a pair bear: sums of 32 bits run over 64 sources, those of 64 bits over a chunk.
    Long,
}

/// Who computes which pairs of a block. A shape never changes the order of addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The kernel.
    pub name: &'static str,
    /// Threads of a group.
    pub threads: usize,
    /// Threads that share a sink.
    pub lanes: usize,
    /// Sinks of a thread.
    pub sinks: Sinks,
    /// Strands of a chunk. Blocks with other strands cannot take the shape.
    pub strands: Strands,
    /// Whether sources are predicted by the groups that need them; else before.
    pub fused: bool,
    /// Whether the last group to end also adds the parts, where the device lets it; else a kernel of its own does.
    pub ends: bool,
}

impl Shape {
    /// Sinks of a group of threads; where these are in the lanes of vectors, the vectors.
    pub fn group_sinks(&self, descriptor: &Descriptor) -> usize {
        let sinks = match (self.sinks, self.lanes, descriptor.order, descriptor.precision) {
            (Sinks::Few, ..) => 1,
            (Sinks::Many, 32, ..) => 2,
            (Sinks::Many, _, Order::Eighth, _) => 1,
            (Sinks::Many, _, _, Precision::Double) | (Sinks::Many, _, Order::Sixth, _) => 2,
            (Sinks::Many, 1, Order::Fourth, _) => 2,
            (Sinks::Many, ..) => 4,
        };
        self.threads / self.lanes * sinks
    }

    /// Strands of a chunk: sources that are summed one after another.
    pub fn strands(&self, descriptor: &Descriptor) -> usize {
        match (self.strands, descriptor.precision) {
            (Strands::Short, _) => 32,
            (Strands::Medium, _) => 8,
            (Strands::Long, Precision::Double) => 1,
            (Strands::Long, _) => 4,
        }
    }
}

const fn shape(name: &'static str, lanes: usize, sinks: Sinks, strands: Strands, fused: bool) -> Shape {
    Shape { name, threads: 128, lanes, sinks, strands, fused, ends: false }
}

/// Every shape of groups of threads; `Setup::shape` counts in this order.
pub const SHAPES: [Shape; 8] = [
    Shape { threads: 256, ends: true, ..shape("force_32_few_fe", 32, Sinks::Few, Strands::Short, true) },
    shape("force_32_many_f", 32, Sinks::Many, Strands::Short, true),
    shape("force_8_few_f", 8, Sinks::Few, Strands::Medium, true),
    shape("force_8_many_f", 8, Sinks::Many, Strands::Medium, true),
    shape("force_8_many_p", 8, Sinks::Many, Strands::Medium, false),
    shape("force_1_few_f", 1, Sinks::Few, Strands::Long, true),
    shape("force_1_many_f", 1, Sinks::Many, Strands::Long, true),
    shape("force_1_many_p", 1, Sinks::Many, Strands::Long, false),
];

/// Threads of a group that ends some sinks, of which a group has so many at most: `END_THREADS` in `kernels/parts.h`, a
/// thread for two columns of a sink in a slice or for several such items.
pub fn end_threads(descriptor: &Descriptor, most: usize) -> usize {
    let items = SLICES * END_SINKS * (descriptor.outputs + usize::from(descriptor.nearest)).div_ceil(2);
    items / items.div_ceil(most)
}
