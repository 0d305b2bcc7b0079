//! The cost model: a few constants of a device, and from them the seconds that a block takes in a
//! launch shape.

use kyoho_core::{CHUNK, Interaction, Partition, Scope};

use super::reduction::ReductionPlan;
use kyoho_methods::gpu::shapes::{Accumulators, END_SINKS, SHAPES, Shape};
use kyoho_methods::gpu::tuning::{self, Tuning};

/// The constants of a device for an entry of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// The number of multiprocessors.
    pub multiprocessors: usize,
    /// The number of thread blocks that are on a multiprocessor at a time, by shape.
    pub resident: [usize; SHAPES.len()],
    /// Pairs per second of a multiprocessor that is full, by shape.
    pub pairs: [f64; SHAPES.len()],
    /// Seconds from the launch of one kernel to the host's seeing what it wrote.
    pub launch: f64,
    /// Seconds that each further kernel of a block adds.
    pub kernel: f64,
    /// Seconds from the start of a thread block to its first chunk, and from its last one to its
    /// end.
    pub group: f64,
    /// Seconds that a thread block waits for a chunk before its pairs begin.
    pub chunk: f64,
    /// Seconds that a multiprocessor needs to predict a chunk.
    pub predict: f64,
    /// Seconds that the last thread block takes to add the partial sums of a few sinks, where it
    /// does.
    pub sinks_ended: f64,
    /// Seconds that the host spends on a sink, to pack it and to hand over its force, while the
    /// device waits for it or has ended. They are the same in every shape.
    pub sink: f64,
    /// Bytes of partial sums that are read back in a second.
    pub bandwidth: f64,
}

/// A block to be estimated.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    /// The interaction.
    pub interaction: &'a Interaction,
    /// The reduction plan of the block.
    pub plan: ReductionPlan,
    /// The number of sinks.
    pub ni: usize,
    /// The number of chunks of sources in the slices.
    pub chunks: usize,
    /// The number of slices that one device sums.
    pub slices: usize,
    /// Whether the sources are predicted already.
    pub predicted: bool,
}

/// The number of pairs below which one thread of a CPU has computed a block, prediction included,
/// while a GPU is still being told of it.
pub const CROSSOVER: u64 = 8192;
/// The most sinks of a block whose partial sums are added while nothing else is summed. Plans depend
/// on it, so it is not the number of sinks of a piece.
const ENDED_ALONE: usize = 4096;
/// The fraction of a multiprocessor's thread blocks that keeps it busy.
const BUSY: f64 = 0.85;
/// How much longer the slowest multiprocessor takes than the mean where all thread blocks begin at
/// once, so that none can take over from another.
const UNEVEN: f64 = 1.1;
/// Seconds that a block takes longer when it is partitioned among several devices, since threads
/// have to wake.
const PARTITION: f64 = 1.0e-6;
/// Seconds that each device of the system adds to that, since all are told what is new.
const TELL: f64 = 2.0e-6;
/// Seconds that it takes to add the sums of a sink of one set of slices to those of another.
const MERGE: f64 = 12e-9;
/// Seconds that it takes to hand over the force on a sink.
const HAND_OVER: f64 = 10e-9;

/// Returns the bytes of the partial sums of a sink: sums and the nearest source.
fn partial_sum_bytes(interaction: &Interaction) -> f64 {
    (8 * interaction.n_outputs + if interaction.nearest { 12 } else { 0 }) as f64
}

impl Costs {
    /// Returns the constants by which reduction plans are made, near those of an NVIDIA H200. They
    /// are part of the order of addition: changing one changes the bits of results.
    pub fn nominal(interaction: &Interaction) -> Costs {
        let Tuning { pairs, resident, .. } = *tuning::of(interaction);
        // The test for neighbours adds 10 instructions to the 35 of a pair of order 4, less one for
        // the nearest source.
        let pairs = match interaction.scope {
            Scope::Full => pairs,
            Scope::Regular => pairs * 0.8,
        };
        Costs {
            multiprocessors: 132,
            resident,
            pairs: [0.35, 0.35, 0.6, 0.85, 0.88, 0.93, 1.0, 0.95].map(|fraction| fraction * pairs),
            launch: 9.0e-6,
            kernel: 2.3e-6,
            group: 4.0e-6,
            chunk: 0.4e-6,
            predict: 0.05e-6,
            sinks_ended: 4.0e-6,
            sink: 35e-9,
            bandwidth: 1.5e12,
        }
    }

    /// Returns those constants for a device that takes the first shape alone of each number of
    /// accumulators: a CPU, whose OpenCL compiles each kernel when it first runs, for a second or
    /// more. The first shapes are the smallest, with one sink of a thread.
    pub fn of_few_shapes(interaction: &Interaction) -> Costs {
        let mut costs = Costs::nominal(interaction);
        for (number, shape) in SHAPES.iter().enumerate() {
            if SHAPES[..number].iter().any(|before| before.accumulators == shape.accumulators) {
                costs.pairs[number] = 0.0;
            }
        }
        costs
    }
}

/// Returns the seconds that a partition of `ni` sinks adds to those of the first device's
/// assignment, where there are this many devices.
pub fn partitioned(partition: Partition, devices: usize, ni: usize) -> f64 {
    if partition.devices() == 1 {
        return 0.0;
    }
    let merged = (ni * (partition.sets - 1)) as f64;
    let others = ni - ni / partition.ranges;
    PARTITION + TELL * devices as f64 + merged * MERGE + others as f64 * HAND_OVER
}

/// Returns the seconds that a block takes in a shape, by the model: those of the multiprocessor
/// that works longest, its waits included, and those of the ends of the block.
pub fn seconds(costs: &Costs, shape: usize, work: Work) -> f64 {
    let Work { interaction, plan, ni, chunks, slices, predicted } = work;
    let Shape { fused, ends, accumulators, .. } = SHAPES[shape];
    let sinks = SHAPES[shape].block_sinks(interaction);
    let segments = slices * plan.segments;
    let blocks = ni.div_ceil(sinks) * segments;
    let resident = costs.resident[shape].max(1);
    let pairs = (sinks * CHUNK) as f64 / costs.pairs[shape];
    let each = pairs + if fused { costs.predict } else { 0.0 };
    let mean = chunks as f64 / segments as f64;
    let sums = if blocks <= costs.multiprocessors * resident {
        let together = (blocks.div_ceil(costs.multiprocessors) as f64).max(BUSY * resident as f64);
        costs.group + chunks.div_ceil(segments) as f64 * (costs.chunk + UNEVEN * each * together)
    } else {
        // Thread blocks begin as others end, at first all together and later in between; the last
        // ones leave multiprocessors half empty.
        let turns = blocks.div_ceil(costs.multiprocessors);
        let (waves, rest) = (turns / resident, turns % resident);
        let empty = if rest == 0 { 0.0 } else { (BUSY * resident as f64 - rest as f64).max(0.0) };
        let turns = turns as f64 + empty / waves.max(1) as f64 + 0.7;
        // The waits of a thread block at its ends are partly hidden behind the pairs of others,
        // where these are many.
        let seen = if accumulators == Accumulators::Long { 0.5 } else { 1.0 };
        costs.group + turns * (mean * (costs.chunk / resident as f64 + each) + seen * costs.group / resident as f64)
    };
    let predicting = if fused || predicted {
        0.0
    } else {
        costs.kernel + costs.chunk + chunks as f64 * 4.0 * costs.predict / costs.multiprocessors as f64
    };
    let bytes = (segments * ni) as f64 * partial_sum_bytes(interaction);
    let ending = if ends {
        costs.sinks_ended * ni.div_ceil(END_SINKS) as f64 + 8.0 * bytes / costs.bandwidth
    } else {
        // Of a block in pieces, only the last one is ended while nothing is summed.
        costs.kernel + 2.5e-6 + bytes / costs.bandwidth * (ENDED_ALONE as f64 / ni as f64).min(1.0)
    };
    costs.launch + ni as f64 * costs.sink + predicting + sums + ending
}
