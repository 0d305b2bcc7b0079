//! The launch shapes of the force kernel; `kernels/direct/unit.h` makes a kernel of each.

use kyoho_core::{Interaction, Precision, SLICES};

use super::tuning;

/// The number of sinks that a thread block ends at a time.
pub const END_SINKS: usize = 4;

/// The number of accumulators of a chunk for few sinks, where the nearest source is kept by
/// address.
pub const SHORT: usize = 32;

/// The accumulators of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accumulators {
    /// As many as there are threads that run in step, for few sinks, each of which many threads
    /// share.
    Short,
    /// Eight.
    Medium,
    /// As few as the precision of a pair bears: sums in single precision run over 64 sources, those
    /// in doubles over a chunk.
    Long,
}

/// A launch shape: which threads compute which pairs of a block. It never changes the order of
/// addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Its place among [`SHAPES`].
    pub place: usize,
    /// The kernel.
    pub name: &'static str,
    /// The number of threads of a thread block.
    pub threads: usize,
    /// The number of threads that share a sink.
    pub lanes: usize,
    /// The accumulators of a chunk. Blocks whose plan has others cannot take the shape.
    pub accumulators: Accumulators,
    /// Whether sources are predicted by the thread blocks that need them; otherwise they are
    /// predicted before.
    pub fused: bool,
    /// Whether the last thread block to end also adds the partial sums, where the device lets it;
    /// otherwise a kernel of its own does.
    pub ends: bool,
}

/// A shape that a device is told to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForcedShape {
    /// Its place among [`SHAPES`].
    pub place: usize,
    /// Whether every block gets a plan that the shape fits, and so other bits than the library's.
    /// Otherwise blocks that it does not fit take another shape.
    pub everywhere: bool,
}

impl Shape {
    /// Returns the number of sinks of a thread block.
    pub fn block_sinks(&self, interaction: &Interaction) -> usize {
        self.threads / self.lanes * tuning::of(interaction).sinks[self.place]
    }

    /// Returns the number of accumulators of a chunk. The sources of each are summed one after
    /// another.
    pub fn accumulators(&self, interaction: &Interaction) -> usize {
        match (self.accumulators, interaction.precision) {
            (Accumulators::Short, _) => SHORT,
            (Accumulators::Medium, _) => 8,
            (Accumulators::Long, Precision::Double) => 1,
            (Accumulators::Long, _) => 4,
        }
    }
}

const fn shape(place: usize, name: &'static str, lanes: usize, accumulators: Accumulators, fused: bool) -> Shape {
    Shape { place, name, threads: 128, lanes, accumulators, fused, ends: false }
}

/// Every launch shape; [`ForcedShape::place`] counts in this order.
pub const SHAPES: [Shape; 8] = [
    Shape { threads: 256, ends: true, ..shape(0, "force_32_few_fe", 32, Accumulators::Short, true) },
    shape(1, "force_32_many_f", 32, Accumulators::Short, true),
    shape(2, "force_8_few_f", 8, Accumulators::Medium, true),
    shape(3, "force_8_many_f", 8, Accumulators::Medium, true),
    shape(4, "force_8_many_p", 8, Accumulators::Medium, false),
    shape(5, "force_1_few_f", 1, Accumulators::Long, true),
    shape(6, "force_1_many_f", 1, Accumulators::Long, true),
    shape(7, "force_1_many_p", 1, Accumulators::Long, false),
];

/// Returns the number of threads of a thread block that ends some sinks, which has at most `most`:
/// `END_THREADS` in `kernels/direct/partial_sums.h`. A thread has two columns of a sink in a slice,
/// or several such items.
pub fn end_threads(interaction: &Interaction, most: usize) -> usize {
    let items = SLICES * END_SINKS * (interaction.n_outputs + usize::from(interaction.nearest)).div_ceil(2);
    items / items.div_ceil(most)
}
