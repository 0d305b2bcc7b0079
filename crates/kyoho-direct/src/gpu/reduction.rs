//! Reduction plans: how the sums of a block are divided into accumulators and segments. A plan
//! fixes the order of addition, so it may depend on nothing but the numbers of sinks and sources,
//! the order and the precision: never on a device, its constants, or a time that was measured.

use kyoho_core::{Interaction, Partition, Result, SLICES, memory, rounded_up};

use super::model::{self, Costs, Work, seconds};
use kyoho_methods::DeviceOptions;
use kyoho_methods::gpu::shapes::{ForcedShape, SHAPES};

/// The reduction plan of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReductionPlan {
    /// The number of accumulators of a chunk. The sources of an accumulator are summed one after
    /// another in the precision of a pair.
    pub accumulators: usize,
    /// The number of segments of a slice. The chunks of a segment are added one after another in
    /// doubles.
    pub segments: usize,
}

/// Rounds the size of a block up, so that blocks of about the same size have one plan, which is
/// found once and not in each block step.
pub fn rounded(count: usize) -> usize {
    rounded_up(count, 2)
}

/// The most numbers of segments that are tried.
const MOST_SEGMENTS: usize = 16;

/// Iterates over the numbers of segments that are tried.
pub fn choices_of_segments(chunks_of_slice: usize) -> impl Iterator<Item = usize> {
    const LENGTHS: [usize; MOST_SEGMENTS - 4] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128];
    let by_length = LENGTHS.into_iter().map(move |length| chunks_of_slice.div_ceil(length));
    by_length.chain([11, 22, 33, 44]).filter(move |segments| (1..=chunks_of_slice.max(1)).contains(segments))
}

/// The ratio of a plan's seconds on one device to those of the fastest plan that is borne so that
/// several devices gain.
const BEARABLE: f64 = 1.1;
/// A loss of one per cent on one device has to gain this many per cent on eight.
const WEIGHT: i32 = 16;
/// The partitions among eight devices that are tried.
const PARTITIONS: [Partition; 6] = [
    partition_of(8, 1),
    partition_of(4, 2),
    partition_of(2, 4),
    partition_of(1, 8),
    partition_of(4, 1),
    partition_of(1, 4),
];

const fn partition_of(ranges: usize, sets: usize) -> Partition {
    Partition { ranges, sets }
}

/// Returns the plan of a block of `ni` sinks and this many chunks of sources: nearly the one that
/// would be the fastest on one device with the constants of [`Costs::nominal`], but with segments
/// enough for eight devices.
pub fn plan(interaction: &Interaction, ni: usize, chunks: usize) -> ReductionPlan {
    let nominal = Costs::nominal(interaction);
    let (ni, chunks) = (rounded(ni), chunks.max(1));
    // The plans are few, so they need no memory that could be refused.
    let mut plans = [(f64::INFINITY, ReductionPlan { accumulators: SHAPES[0].accumulators(interaction), segments: 1 });
        3 * MOST_SEGMENTS];
    let mut places = plans.iter_mut();
    for (number, shape) in SHAPES.iter().enumerate() {
        let accumulators = shape.accumulators(interaction);
        if SHAPES[..number].iter().all(|before| before.accumulators(interaction) != accumulators) {
            let with_segments =
                choices_of_segments(chunks.div_ceil(SLICES)).map(|segments| ReductionPlan { accumulators, segments });
            for (plan, place) in with_segments.zip(places.by_ref()) {
                *place = (partitioned(interaction, &nominal, plan, (ni, chunks), Partition::WHOLE), plan);
            }
        }
    }
    let least = plans.iter().map(|(seconds, _)| *seconds).fold(f64::INFINITY, f64::min);
    let on_eight = |plan| {
        PARTITIONS
            .map(|partition| partitioned(interaction, &nominal, plan, (ni, chunks), partition))
            .into_iter()
            .fold(f64::INFINITY, f64::min)
    };
    let bearable = plans.iter().filter(|(seconds, _)| *seconds <= least * BEARABLE);
    let best = bearable.map(|(seconds, plan)| (seconds.powi(WEIGHT) * seconds.min(on_eight(*plan)), *plan));
    let best = best.min_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or(ReductionPlan { accumulators: SHAPES[0].accumulators(interaction), segments: 1 }, |(_, plan)| plan)
}

/// Returns the plan of a block that would be the fastest in a shape, on one device with the
/// constants of [`Costs::nominal`].
pub fn plan_of_shape(interaction: &Interaction, shape: usize, ni: usize, chunks: usize) -> ReductionPlan {
    let nominal = Costs::nominal(interaction);
    let (ni, chunks) = (rounded(ni), chunks.max(1));
    let accumulators = SHAPES[shape].accumulators(interaction);
    let plans = choices_of_segments(chunks.div_ceil(SLICES)).map(|segments| ReductionPlan { accumulators, segments });
    let of = |plan| seconds(&nominal, shape, Work { interaction, plan, ni, chunks, slices: SLICES, predicted: false });
    let best = plans.min_by(|one, other| of(*one).total_cmp(&of(*other)));
    best.unwrap_or(ReductionPlan { accumulators, segments: 1 })
}

/// Returns the seconds of a block of this plan and partition, in the fastest shape.
fn partitioned(
    interaction: &Interaction,
    costs: &Costs,
    plan: ReductionPlan,
    (ni, chunks): (usize, usize),
    partition: Partition,
) -> f64 {
    let own = partition.assignment(0, ni).sinks.len().max(1);
    let (chunks, slices) = (chunks.div_ceil(partition.sets), SLICES / partition.sets);
    let work = Work { interaction, plan, ni: own, chunks, slices, predicted: false };
    fastest(costs, work).map_or(f64::INFINITY, |(seconds, _)| seconds)
        + model::partitioned(partition, partition.devices(), ni)
}

/// Returns the seconds and the shape of some work: the shape that is `wanted` if it fits, otherwise
/// the fastest.
pub fn shape(costs: &Costs, work: Work, wanted: Option<usize>) -> (f64, usize) {
    let fits = |shape: &usize| {
        SHAPES.get(*shape).is_some_and(|shape| shape.accumulators(work.interaction) == work.plan.accumulators)
    };
    match wanted.filter(fits) {
        Some(shape) => (seconds(costs, shape, work), shape),
        None => fastest(costs, work).unwrap_or((f64::INFINITY, 0)),
    }
}

/// Returns the seconds of some work in its fastest shape, and that shape.
pub fn fastest(costs: &Costs, work: Work) -> Option<(f64, usize)> {
    let fitting =
        (0..SHAPES.len()).filter(|shape| SHAPES[*shape].accumulators(work.interaction) == work.plan.accumulators);
    fitting.map(|shape| (seconds(costs, shape, work), shape)).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Returns the reduction plan of a block on devices with these options.
pub fn plan_of(options: &DeviceOptions, ni: usize, chunks: usize) -> ReductionPlan {
    match options.shape.filter(|shape| shape.everywhere) {
        Some(ForcedShape { place, .. }) => plan_of_shape(&options.interaction, place, ni, chunks),
        None => plan(&options.interaction, ni, chunks),
    }
}

/// Returns the reduction plans of blocks of up to `most` sinks, each with the most sinks that have it,
/// ascending.
pub fn plans(options: &DeviceOptions, most: usize, chunks: usize) -> Result<Vec<(usize, ReductionPlan)>> {
    let mut all = Vec::new();
    let mut sinks = 1;
    while sinks <= most {
        memory::push(&mut all, (sinks, plan_of(options, sinks, chunks)), "plans of sums")?;
        sinks = rounded(sinks + 1);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use kyoho_core::{Order, Precision, chunks_below};
    use kyoho_laws::catalogue::{interaction, with_kernels};

    use super::*;

    #[test]
    fn a_device_of_few_shapes_takes_three_kernels_for_blocks_of_any_size() {
        for entry in with_kernels() {
            let costs = Costs::of_few_shapes(entry);
            let mut taken = [false; SHAPES.len()];
            for (ni, nj) in
                [1, 6, 40, 300, 2500, 20_000].into_iter().flat_map(|ni| [700, 6500, 40_000].map(|nj| (ni, nj)))
            {
                let chunks = chunks_below(nj);
                let plan = plan(entry, ni, chunks);
                for predicted in [false, true] {
                    let work = Work { interaction: entry, plan, ni, chunks, slices: SLICES, predicted };
                    let (seconds, shape) = shape(&costs, work, None);
                    assert!(seconds.is_finite(), "{}: {ni} sinks of {nj} sources", entry.name());
                    taken[shape] = true;
                }
            }
            assert_eq!(taken.into_iter().filter(|taken| *taken).count(), 3, "{}", entry.name());
        }
    }

    #[test]
    fn blocks_of_about_the_same_size_have_one_plan() {
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 1000, 16384].map(rounded),
            [1, 2, 3, 4, 6, 6, 8, 8, 12, 16, 1024, 16384]
        );
    }

    #[test]
    fn a_slice_has_no_more_segments_than_chunks() {
        for entry in with_kernels() {
            for nj in [0, 1, 256, 257, 10_000, 131_072, 1 << 20] {
                for ni in [1, 7, 64, 1000, 16_384, 1 << 18] {
                    let plan = plan(entry, ni, chunks_below(nj));
                    let chunks = chunks_below(nj).div_ceil(SLICES).max(1);
                    assert!((1..=chunks).contains(&plan.segments), "{:?} {ni} {nj}: {plan:?}", entry.precision);
                }
            }
        }
    }

    #[test]
    fn few_sinks_have_many_accumulators_and_many_sinks_have_few() {
        let entry = interaction(Order::Fourth, Precision::Mixed).unwrap();
        for nj in [10_000, 131_072, 1 << 20] {
            assert_eq!([1, 16_384].map(|ni| plan(&entry, ni, chunks_below(nj)).accumulators), [32, 4], "{nj} sources");
        }
    }

    #[test]
    fn a_shape_that_is_wanted_is_taken_where_it_fits() {
        let interaction = interaction(Order::Fourth, Precision::Mixed).unwrap();
        let costs = Costs::nominal(&interaction);
        let wanted = |accumulators: usize| {
            let plan = ReductionPlan { accumulators, segments: 1 };
            shape(
                &costs,
                Work { interaction: &interaction, plan, ni: 9, chunks: 64, slices: SLICES, predicted: true },
                Some(1),
            )
            .1
        };
        assert_eq!(wanted(32), 1);
        assert_ne!(wanted(4), 1);
    }

    #[test]
    fn a_shape_that_is_forced_everywhere_fits_every_block() {
        let interaction = interaction(Order::Second, Precision::Single).unwrap();
        let costs = Costs::nominal(&interaction);
        for (ni, nj) in [(1, 256), (256, 256), (1 << 20, 1 << 20)] {
            let (chunks, slices) = (chunks_below(nj), SLICES);
            let work = |plan| Work { interaction: &interaction, plan, ni, chunks, slices, predicted: false };
            let of_shape =
                |place: usize| shape(&costs, work(plan_of_shape(&interaction, place, ni, chunks)), Some(place));
            (0..SHAPES.len()).for_each(|place| assert_eq!(of_shape(place).1, place, "{ni} sinks"));
            // No shape is much faster than the plan that the library makes.
            let least = (0..SHAPES.len()).map(|place| of_shape(place).0).fold(f64::INFINITY, f64::min);
            assert!(shape(&costs, work(plan(&interaction, ni, chunks)), None).0 <= 1.15 * least, "{ni} sinks");
        }
    }

    #[test]
    fn more_work_takes_longer_by_the_model() {
        for interaction in with_kernels() {
            let costs = Costs::nominal(interaction);
            let least = |ni: usize, nj: usize| {
                let plan = plan(interaction, ni, chunks_below(nj));
                let work = Work { interaction, plan, ni, chunks: chunks_below(nj), slices: SLICES, predicted: false };
                let fitting =
                    (0..SHAPES.len()).filter(|shape| SHAPES[*shape].accumulators(interaction) == plan.accumulators);
                fitting.map(|shape| seconds(&costs, shape, work)).fold(f64::INFINITY, f64::min)
            };
            for [small, large] in
                [[(1, 1 << 14), (1, 1 << 20)], [(1, 1 << 17), (1024, 1 << 17)], [(1024, 1 << 17), (16_384, 1 << 17)]]
            {
                assert!(least(small.0, small.1) < least(large.0, large.1), "{:?}", interaction.precision);
            }
        }
    }
}
