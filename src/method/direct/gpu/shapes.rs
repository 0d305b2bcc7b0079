//! The launch shapes of the force kernel; `kernels/unit.h` makes a kernel of each.

use crate::data::{Interaction, Order, Precision, SLICES};

use super::model::END_SINKS;

/// Sinks of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sinks {
    /// One.
    Few,
    /// As many as registers hold.
    Many,
}

/// Accumulators of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accumulators {
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
    /// Accumulators of a chunk. Blocks with other accumulators cannot take the shape.
    pub accumulators: Accumulators,
    /// Whether sources are predicted by the groups that need them; else before.
    pub fused: bool,
    /// Whether the last group to end also adds the parts, where the device lets it; else a kernel of its own does.
    pub ends: bool,
}

impl Shape {
    /// Sinks of a group of threads; where these are in the lanes of vectors, the vectors.
    pub fn group_sinks(&self, interaction: &Interaction) -> usize {
        let sinks = match (self.sinks, self.lanes, interaction.order, interaction.precision) {
            (Sinks::Few, ..) => 1,
            (Sinks::Many, 32, ..) => 2,
            (Sinks::Many, _, Order::Eighth, _) => 1,
            (Sinks::Many, _, _, Precision::Double) | (Sinks::Many, _, Order::Sixth, _) => 2,
            (Sinks::Many, 1, Order::Fourth, _) => 2,
            (Sinks::Many, ..) => 4,
        };
        self.threads / self.lanes * sinks
    }

    /// Accumulators of a chunk: sources that are summed one after another.
    pub fn accumulators(&self, interaction: &Interaction) -> usize {
        match (self.accumulators, interaction.precision) {
            (Accumulators::Short, _) => 32,
            (Accumulators::Medium, _) => 8,
            (Accumulators::Long, Precision::Double) => 1,
            (Accumulators::Long, _) => 4,
        }
    }
}

const fn shape(name: &'static str, lanes: usize, sinks: Sinks, accumulators: Accumulators, fused: bool) -> Shape {
    Shape { name, threads: 128, lanes, sinks, accumulators, fused, ends: false }
}

/// Every shape of groups of threads; `Setup::shape` counts in this order.
pub const SHAPES: [Shape; 8] = [
    Shape { threads: 256, ends: true, ..shape("force_32_few_fe", 32, Sinks::Few, Accumulators::Short, true) },
    shape("force_32_many_f", 32, Sinks::Many, Accumulators::Short, true),
    shape("force_8_few_f", 8, Sinks::Few, Accumulators::Medium, true),
    shape("force_8_many_f", 8, Sinks::Many, Accumulators::Medium, true),
    shape("force_8_many_p", 8, Sinks::Many, Accumulators::Medium, false),
    shape("force_1_few_f", 1, Sinks::Few, Accumulators::Long, true),
    shape("force_1_many_f", 1, Sinks::Many, Accumulators::Long, true),
    shape("force_1_many_p", 1, Sinks::Many, Accumulators::Long, false),
];

/// Threads of a group that ends some sinks, of which a group has so many at most: `END_THREADS` in `kernels/parts.h`, a
/// thread for two columns of a sink in a slice or for several such items.
pub fn end_threads(interaction: &Interaction, most: usize) -> usize {
    let items = SLICES * END_SINKS * (interaction.n_outputs + usize::from(interaction.nearest)).div_ceil(2);
    items / items.div_ceil(most)
}
