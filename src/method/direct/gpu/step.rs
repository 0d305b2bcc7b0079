//! A block step as kernels see it: `Step` in `kernels/step.h`, byte for byte.

use bytemuck::{Pod, Zeroable};

use crate::data::Block;

/// Where and how the sources are predicted, and which addresses take part.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
pub struct PredictionTarget {
    /// The time of the block.
    pub time: f64,
    /// The power of two that masses are multiplied with, to be in the units of pairs.
    pub mass_factor: f64,
    /// The same for positions, and so on.
    pub position_factor: f64,
    /// See [`PredictionTarget::position_factor`].
    pub velocity_factor: f64,
    /// See [`PredictionTarget::position_factor`].
    pub acceleration_factor: f64,
    /// See [`PredictionTarget::position_factor`].
    pub jerk_factor: f64,
    /// Only addresses below this take part.
    pub nj: i32,
    /// Whether sources are predicted to the time; else they are as they were written.
    pub predicts: i32,
}

impl PredictionTarget {
    /// The moment of a block; no address is beyond the largest number that `nj` holds.
    pub fn of(block: &Block) -> PredictionTarget {
        let nj = block.nj.min(i32::MAX as usize) as i32;
        let factor = |derivative: usize| block.units.derivative_factor(derivative);
        PredictionTarget {
            time: block.time,
            mass_factor: block.units.mass_factor(),
            position_factor: factor(0),
            velocity_factor: factor(1),
            acceleration_factor: factor(2),
            jerk_factor: factor(3),
            nj,
            predicts: i32::from(block.predicts),
        }
    }
}

/// A launch of kernels for a block or a piece of one.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
pub struct Step {
    /// Where and how the sources are predicted.
    pub target: PredictionTarget,
    /// The power of two that sums of potentials are multiplied with, to be in the caller's units.
    pub potential_unit: f64,
    /// The same for accelerations, and so on.
    pub acceleration_unit: f64,
    /// See [`Step::acceleration_unit`].
    pub jerk_unit: f64,
    /// See [`Step::acceleration_unit`].
    pub snap_unit: f64,
    /// See [`Step::acceleration_unit`].
    pub crackle_unit: f64,
    /// The same for squared distances.
    pub distance2_unit: f64,
    /// Sinks of this launch.
    pub ni: i32,
    /// The distance between rows of sinks and of parts of sums.
    pub stride: i32,
    /// Chunks that hold addresses below nj.
    pub chunks: i32,
    /// The first slice of the launch.
    pub first_slice: i32,
    /// The distance between its slices.
    pub slice_step: i32,
    /// Their number.
    pub slices: i32,
    /// Parts into which each slice is cut.
    pub parts: i32,
    /// Groups of threads for each part.
    pub groups: i32,
    /// Whether sources with the index of a sink are left out for it.
    pub skip_own_index: i32,
    /// Whether the slot of a chunk is its number.
    pub is_dense: i32,
    /// Whether the predicted sources are there.
    pub is_predicted: i32,
    /// Accumulators of a chunk.
    pub accumulators: i32,
    /// Records that the force kernel puts in their places itself.
    pub records: i32,
    /// What the host waits for.
    pub sequence: u32,
    /// Where the rows of sinks begin, in vectors.
    pub sinks_from: i32,
    /// Where the results begin, in numbers of 64 bits.
    pub results_from: i32,
}

impl Step {
    /// A launch that says all that is the same for every launch of a block, and nothing else.
    pub fn of(block: &Block) -> Step {
        let unit = |derivative: usize| block.units.acceleration_unit(derivative);
        Step {
            target: PredictionTarget::of(block),
            potential_unit: block.units.potential_unit(),
            acceleration_unit: unit(0),
            jerk_unit: unit(1),
            snap_unit: unit(2),
            crackle_unit: unit(3),
            distance2_unit: block.units.distance2_unit(),
            ..Step::default()
        }
    }

    /// Chunks below nj of the slices of the launch.
    pub fn chunks_of_slices(&self) -> i32 {
        (self.chunks - self.first_slice + self.slice_step - 1) / self.slice_step
    }
}
