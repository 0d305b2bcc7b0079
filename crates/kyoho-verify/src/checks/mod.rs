//! The checks, grouped by subject.

mod addresses;
mod block_steps;
mod degenerate;
mod errors;
mod few_bodies;
mod forces;
mod lists;
mod neighbours;
mod pairs;
mod prediction;
mod quad;
mod regular;
mod repeat;
mod softenings;
mod trees;
mod units;
mod written_pairs;

use crate::Check;

pub use repeat::shapes_without_a_block;

/// Every check of the suite.
pub static CHECKS: &[Check] = &[
    forces::PLUMMER,
    forces::TOLERANCE,
    forces::UNIFORM_SPHERE,
    forces::NUMBERS_OF_SINKS,
    forces::NUMBERS_OF_SOURCES,
    forces::CLOSE_PAIRS,
    forces::RANGE,
    pairs::SELF_EXCLUSION,
    pairs::EQUAL_INDICES,
    pairs::EXTREME_INDICES,
    pairs::OWN_INDEX_COUNTS,
    pairs::SINKS_THAT_ARE_NO_SOURCES,
    pairs::COINCIDENT,
    pairs::MASSLESS,
    pairs::SOFTENING,
    addresses::SPARSE,
    addresses::REWRITTEN,
    addresses::UNSET,
    addresses::NONE_AT_ALL,
    addresses::SHRINKING_AND_GROWING,
    addresses::GROWTH,
    prediction::POLYNOMIAL,
    prediction::TIMES,
    prediction::ORDER_OF_CALLS,
    prediction::UNPREDICTED,
    prediction::UNPREDICTED_LISTS,
    neighbours::LENGTHS,
    neighbours::RADII,
    neighbours::LATER_WRITES,
    neighbours::MANY_LATER_WRITES,
    neighbours::INDICES,
    neighbours::NEAREST_DISTANCES,
    neighbours::NO_NEAREST,
    regular::BORDER,
    regular::CLOSE,
    regular::STEPS,
    regular::MASSES,
    regular::REACHES,
    regular::SELF,
    regular::UNITS,
    units::MASS_RATIOS,
    units::DISTANCES,
    units::ALONE,
    repeat::REPEATED,
    repeat::ON_ONE_ANOTHER,
    repeat::THREADS_AND_DEVICES,
    repeat::TURNS_OF_DEVICES,
    repeat::LAUNCH_SHAPES,
    repeat::SEVERAL_SYSTEMS,
    repeat::MOVED,
    repeat::SMALL_BLOCKS,
    repeat::CLOSE_BLOCKS,
    lists::LENGTHS,
    lists::FORMS,
    lists::COINCIDENT,
    lists::INDEPENDENCE,
    lists::THREADS_AND_DEVICES,
    lists::REPEATED,
    lists::LATER_WRITES,
    lists::BATCH,
    lists::LARGE_BATCH,
    lists::UNITS_OF_SYSTEMS,
    lists::REJECTED,
    lists::REJECTED_BATCHES,
    lists::OVERFLOW,
    lists::CALL_ORDER,
    lists::REGULAR,
    block_steps::SAME_BITS,
    quad::FORCES,
    quad::WRITES,
    quad::NEIGHBOURS,
    softenings::FORCES,
    softenings::DEVICES,
    softenings::TREES,
    trees::ACCURACIES,
    trees::ANGLES,
    trees::STACKLESS,
    trees::PHASES,
    trees::SOFTENING,
    trees::OWN_INDEX,
    trees::OTHER_SINKS,
    trees::REPEATED_INDICES,
    trees::PARTS,
    trees::AMONG_OTHERS,
    trees::MASSLESS,
    trees::NEGATIVE,
    trees::REPEATED,
    trees::AT_ONCE,
    trees::DEVICES,
    trees::MOVING,
    trees::NEIGHBOURS,
    degenerate::FORCES,
    degenerate::PAIRS_OF_POINTS,
    written_pairs::OPERATIONS,
    written_pairs::GRAVITY,
    written_pairs::REDUCTIONS,
    written_pairs::LISTS,
    written_pairs::SAME_BITS,
    few_bodies::SAME_BITS,
    errors::OVERFLOW,
    errors::REJECTED_SOURCES,
    errors::REJECTED_SINKS,
    errors::CALL_ORDER,
];
