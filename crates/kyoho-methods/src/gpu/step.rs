//! A block step as kernels see it, byte for byte: `kernels/generated/constants.h` has the same
//! structures.

use kyoho_core::Block;

use crate::shared_structure;

/// The structures that kernels have too: their names, and the types and names of their fields.
pub const STRUCTURES: [(&str, &[(&str, &str)]); 11] = [
    ("PredictionTarget", TARGET_FIELDS),
    ("Step", STEP_FIELDS),
    ("Column", COLUMN_FIELDS),
    ("Columns", COLUMNS_FIELDS),
    ("ForceColumns", FORCE_COLUMNS_FIELDS),
    ("BodyBounds", BOUNDS_FIELDS),
    ("UnitBounds", UNIT_BOUNDS_FIELDS),
    ("ListItem", ITEM_FIELDS),
    ("ListPart", PART_FIELDS),
    ("ListGroup", GROUP_FIELDS),
    ("GroupOffsets", OFFSETS_FIELDS),
];

/// The structures that only kernels of block steps have.
pub const STRUCTURES_OF_STEPS: [(&str, &[(&str, &str)]); 4] = [
    ("BlockRules", BLOCK_RULES_FIELDS),
    ("BlockState", BLOCK_STATE_FIELDS),
    ("BlockPiece", BLOCK_PIECE_FIELDS),
    ("PlannedSums", PLANNED_SUMS_FIELDS),
];

shared_structure! {
    /// The target of a prediction: the time, the units, and the addresses that take part.
    PredictionTarget, TARGET_FIELDS {
        /// The time of the block.
        time: f64,
        /// The power of two that masses are multiplied with, to be in the units of pairs.
        mass_factor: f64,
        /// The power of two that positions are multiplied with.
        position_factor: f64,
        /// See [`PredictionTarget::position_factor`].
        velocity_factor: f64,
        /// See [`PredictionTarget::position_factor`].
        acceleration_factor: f64,
        /// See [`PredictionTarget::position_factor`].
        jerk_factor: f64,
        /// Only addresses below this take part.
        nj: i32,
        /// Whether sources are predicted to the time; otherwise they are as they were written.
        predicts: i32,
    }
}

impl PredictionTarget {
    /// Returns the target of a block; no address is beyond the largest number that `nj` holds.
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

shared_structure! {
    /// A launch of kernels for a block or a piece of one.
    Step, STEP_FIELDS {
        /// The target to which the sources are predicted.
        target: PredictionTarget,
        /// The power of two that sums of potentials are multiplied with, to be in the caller's
        /// units.
        potential_unit: f64,
        /// The power of two that sums of accelerations are multiplied with.
        acceleration_unit: f64,
        /// See [`Step::acceleration_unit`].
        jerk_unit: f64,
        /// See [`Step::acceleration_unit`].
        snap_unit: f64,
        /// See [`Step::acceleration_unit`].
        crackle_unit: f64,
        /// The power of two that squared distances are multiplied with.
        distance2_unit: f64,
        /// The power of two that the squared softening of a sink is multiplied with, to be in the
        /// units of pairs.
        distance2_factor: f64,
        /// The factor of a sink's squared radius that multiplies the masses of sources in the
        /// neighbour criterion.
        by_mass_factor: f64,
        /// The factor of a sink's squared radius that stands alone in the neighbour criterion.
        plain_factor: f64,
        /// The power of two that the step of a sink is multiplied with.
        time_factor: f64,
        /// The number of sinks of this launch.
        ni: i32,
        /// The distance between rows of partial sums.
        stride: i32,
        /// The number of chunks that hold addresses below nj.
        chunks: i32,
        /// The number of the first chunk among all that there are: chunks and addresses are counted from it.
        first_chunk: i32,
        /// The first slice of the launch.
        first_slice: i32,
        /// The distance between its slices.
        slice_step: i32,
        /// The number of its slices that have chunks, at least one: those behind are empty.
        slices: i32,
        /// The number of segments of each slice.
        segments: i32,
        /// The number of thread blocks for each segment, or for each batch of neighbour lists.
        blocks: i32,
        /// Whether sources with the index of a sink are left out for it.
        skip_own_index: i32,
        /// Whether the slot of a chunk is its number.
        is_dense: i32,
        /// Whether the sources are predicted already.
        is_predicted: i32,
        /// The number of accumulators of a chunk.
        accumulators: i32,
        /// The number of records that the force kernel puts in their places itself.
        records: i32,
        /// The number that the host waits for.
        sequence: u32,
        /// The place where the sinks begin, in doubles.
        sinks_from: i32,
        /// The place where the results begin, in doubles.
        results_from: i32,
        /// The form of the sources of interaction lists.
        form: i32,
        /// Whether the sources that came with the call are the sinks too.
        is_batch: i32,
        /// The first sink of a piece of interaction lists.
        first_sink: i32,
        /// The number of sinks that a thread block ends.
        end_sinks: i32,
        /// 0; it fills the structure.
        reserved: i32,
        /// The squared softening of sinks of interaction lists that have not one each.
        softening2: f64,
    }
}

shared_structure! {
    /// A quantity of sources that came with a call.
    Column, COLUMN_FIELDS {
        /// The place of the first, in bytes.
        offset: i64,
        /// The distance of the next, in bytes; 0 where the quantity was not given.
        stride: i64,
    }
}

shared_structure! {
    /// The quantities of bodies that came with a call.
    Columns, COLUMNS_FIELDS {
        /// The masses.
        masses: Column,
        /// The times.
        times: Column,
        /// The indices.
        indices: Column,
        /// The squared softening.
        softening2: Column,
        /// The positions.
        positions: Column,
        /// The velocities.
        velocities: Column,
        /// The accelerations.
        accelerations: Column,
        /// The jerks.
        jerks: Column,
        /// The snaps.
        snaps: Column,
        /// The crackles.
        crackles: Column,
        /// The sixth derivatives.
        sixth_derivatives: Column,
        /// The seventh derivatives.
        seventh_derivatives: Column,
    }
}

shared_structure! {
    /// The places of forces in arrays of a caller.
    ForceColumns, FORCE_COLUMNS_FIELDS {
        /// The potentials.
        potentials: Column,
        /// The accelerations.
        accelerations: Column,
        /// The jerks.
        jerks: Column,
        /// The snaps.
        snaps: Column,
        /// The crackles.
        crackles: Column,
        /// The indices of the nearest sources.
        nearest: Column,
        /// The squared distances of the nearest sources.
        nearest_distance2: Column,
    }
}

shared_structure! {
    /// The largest magnitudes of the numbers of a body.
    BodyBounds, BOUNDS_FIELDS {
        /// Of the components of its position.
        position: f64,
        /// Of its mass.
        mass: f64,
        /// Of its squared softening.
        softening2: f64,
    }
}

shared_structure! {
    /// How the units of a group are chosen: [`kyoho_core::interaction::Bounds`] says it.
    UnitBounds, UNIT_BOUNDS_FIELDS {
        /// Whether lengths and speeds have units too.
        scales_lengths: i32,
        /// The lowest exponent of the largest mass over the cube of the model's size.
        lowest_weight: i32,
        /// The highest one.
        highest_weight: i32,
        /// The lowest exponent of the largest mass.
        lowest_mass: i32,
        /// The highest one.
        highest_mass: i32,
        /// The number of vectors whose sizes count.
        vectors: i32,
    }
}

shared_structure! {
    /// Some sinks of a group, and all of its sources or a segment of them, which one thread block
    /// has.
    ListItem, ITEM_FIELDS {
        /// The place of the first source.
        first_source: i64,
        /// The number of sources.
        sources: i32,
        /// The first sink.
        first_sink: i32,
        /// The number of sinks.
        sinks: i32,
        /// The binary logarithm of the number of threads that share a sink.
        lane_bits: i32,
        /// The first row of its partial sums; -1 where it has all sources.
        partial: i32,
        /// The number of the group in the piece.
        group: i32,
    }
}

shared_structure! {
    /// Some sinks of a group whose sources are divided into segments.
    ListPart, PART_FIELDS {
        /// The first sink.
        first_sink: i32,
        /// The number of sinks.
        sinks: i32,
        /// The first row of the partial sums: segment after segment, in each a row for each sink.
        partial: i32,
        /// The number of segments.
        segments: i32,
    }
}

shared_structure! {
    /// The rules of block steps; see [`crate::block_steps::StepRules`].
    BlockRules, BLOCK_RULES_FIELDS {
        /// The length of the interval.
        interval: f64,
        /// The accuracy parameter of the criterion.
        eta: f64,
        /// That of the criterion of order 4 beside it.
        eta_of_fourth: f64,
        /// The shortest step.
        shortest: f64,
        /// The longest step.
        longest: f64,
        /// The largest component of a position.
        largest_position: f64,
        /// The distance below which two bodies have an encounter; 0 if nobody asks for these.
        approach: f64,
        /// The number of ticks of the interval.
        all_ticks: f64,
        /// The number of bodies.
        bodies: i32,
        /// How many of them, the first ones, are sources.
        sources: i32,
        /// Whether the slot of a chunk is its number.
        is_dense: i32,
        /// Whether the two criteria are averaged.
        averages: i32,
        /// The most sinks of a block in a chain.
        most_chained: i32,
        /// The number of plans of sums in chains for each group of sources.
        plans: i32,
        /// The number of groups of bodies.
        groups: i32,
        /// How many of them, the first ones, have sources.
        source_groups: i32,
        /// The number of chunks of sources of all groups.
        chunks: i32,
        /// 0; it fills the structure.
        reserved: i32,
    }
}

shared_structure! {
    /// A block that was taken.
    BlockState, BLOCK_STATE_FIELDS {
        /// Its time, as a fraction of the interval.
        now: f64,
        /// Its time in ticks.
        ticks: i64,
        /// The number of its sinks.
        sinks: i32,
        /// The set that its bodies were in.
        set: i32,
        /// Its number.
        sequence: u32,
        /// Whether a chain halts before it, since the host has to do something first.
        halts: i32,
    }
}

shared_structure! {
    /// A piece of a block.
    BlockPiece, BLOCK_PIECE_FIELDS {
        /// The number of its sinks.
        sinks: i32,
        /// The first of them.
        first: i32,
        /// The distance between rows of the results, in sinks.
        stride: i32,
        /// The place where the results begin, in doubles.
        results_from: i32,
        /// The first part of the block that is of the piece; each has a nearest pair.
        first_part: i32,
        /// 0; it fills the structure.
        reserved: i32,
    }
}

shared_structure! {
    /// The reduction plan of blocks of up to so many sinks.
    PlannedSums, PLANNED_SUMS_FIELDS {
        /// The most sinks.
        sinks: i32,
        /// The number of accumulators of a chunk.
        accumulators: i32,
        /// The number of segments of a slice.
        segments: i32,
        /// 0; it fills the structure.
        reserved: i32,
    }
}

impl Step {
    /// Returns a step with all that is the same for every launch of a block, and nothing else.
    pub fn of(block: &Block) -> Step {
        let unit = |derivative: usize| block.units.acceleration_unit(derivative);
        let of_sinks = block.sink_units();
        Step {
            target: PredictionTarget::of(block),
            potential_unit: block.units.potential_unit(),
            acceleration_unit: unit(0),
            jerk_unit: unit(1),
            snap_unit: unit(2),
            crackle_unit: unit(3),
            distance2_unit: block.units.distance2_unit(),
            distance2_factor: of_sinks.distance2,
            by_mass_factor: of_sinks.by_mass,
            plain_factor: of_sinks.plain,
            time_factor: of_sinks.time,
            ..Step::default()
        }
    }

    /// Returns the number of thread blocks that sum forces.
    pub fn thread_blocks(&self) -> usize {
        (self.blocks * self.segments * self.slices) as usize
    }

    /// Returns the number of chunks below nj of the slices of the launch.
    pub fn chunks_of_slices(&self) -> i32 {
        (self.chunks - self.first_slice + self.slice_step - 1) / self.slice_step
    }
}

shared_structure! {
    /// A group of sinks, byte for byte as the library has it.
    ListGroup, GROUP_FIELDS {
        /// The place of the first source.
        first_source: i64,
        /// The number of sources.
        sources: i32,
        /// The number of sinks.
        sinks: i32,
        /// The first sink.
        first_sink: i32,
        /// 0; it fills the structure.
        reserved: i32,
    }
}

shared_structure! {
    /// Where groups of interaction lists begin, in arrays of a caller.
    GroupOffsets, OFFSETS_FIELDS {
        /// The first sink of each group, and behind them the number of sinks, in 32 bits.
        sinks: Column,
        /// The place of the first source of each group, and behind them the number of all, in 64
        /// bits.
        sources: Column,
        /// The first address of each group, in 32 bits.
        first_addresses: Column,
        /// The number of sources of each group, in 32 bits.
        source_counts: Column,
        /// The number of sinks.
        sink_count: i64,
        /// The number of sources that came with the call.
        source_count: i64,
        /// The end of the addresses of the system's sources.
        end: i64,
        /// The number of groups.
        count: i32,
        /// The form of the sources.
        form: i32,
        /// Whether the sources are the sinks.
        is_batch: i32,
        /// 0; it fills the structure.
        reserved: i32,
    }
}

const _: () = assert!(size_of::<ListGroup>() == size_of::<kyoho_core::SinkGroup>());
