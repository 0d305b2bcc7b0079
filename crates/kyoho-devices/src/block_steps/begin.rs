//! The beginning of block steps: bodies, rules and plans are brought to the device.

use bytemuck::Pod;

use kyoho_core::sinks::width;
use kyoho_core::{Assignment, Block, CHUNK, Error, Interaction, Result, chunks_below, memory};
use kyoho_direct::gpu::pieces::{STRIDE, filled_slices};
use kyoho_direct::gpu::reduction::{ReductionPlan, plans};
use kyoho_hal::gpu::{Gpu, Place};
use kyoho_methods::DeviceOptions;
use kyoho_methods::block_steps::{Beginning, SINK_HEAD, StepGroups, body_numbers};
use kyoho_methods::gpu::shapes::SHAPES;
use kyoho_methods::gpu::step::{BlockRules, BlockState, PlannedSums, Step};

use super::super::gpu::GpuDevice;
use super::kernels::{BODIES_OF_BLOCK, CHAINED, MOST_PLANS, NEAREST_NUMBERS, OUTCOME, SETS, words_of_set};
use super::{StepWork, WHAT};

/// The most bodies that step in chains. Of more, most of the time goes into large blocks, which the
/// host begins in the launch shapes that suit each best.
const MOST_BODIES: usize = 1 << 15;

/// The most bytes of the partial sums of a block in a chain; larger blocks are begun by the host.
const PARTIAL_SUMS_BYTES: usize = 128 << 20;

/// The plans of blocks in chains.
#[derive(Debug, Default)]
pub(super) struct ChainedPlans {
    /// The number of bodies, and the chunks and slices of sources of each group, that they are for.
    given: (usize, Vec<[i32; 2]>),
    /// Those of each group of sources, as many for each, one group after another.
    plans: Vec<PlannedSums>,
    /// The rows of their partial sums.
    rows: usize,
}

impl ChainedPlans {
    /// Makes them anew, unless they are for this many bodies and these forces by each group: to choose
    /// them takes as long as some block steps of few bodies.
    fn suit(&mut self, options: &DeviceOptions, bodies: usize, forces: &[Step]) -> Result<()> {
        let given = forces.iter().map(|forces| [forces.chunks, forces.slices]);
        let given = (bodies, memory::collected(given, WHAT)?);
        if given != self.given {
            (self.plans, self.rows) = chained_plans(options, bodies, forces)?;
            self.given = given;
        }
        Ok(())
    }
}

/// Returns the plans of blocks in chains of this many bodies, as many for each group of sources, one
/// group after another, and the rows of their partial sums. `forces` has the forces by each group.
fn chained_plans(options: &DeviceOptions, bodies: usize, forces: &[Step]) -> Result<(Vec<PlannedSums>, usize)> {
    let interaction = &*options.interaction;
    let bytes_of_row = 8 * interaction.n_outputs + 12;
    let most_sinks = if bodies <= MOST_BODIES { bodies.next_power_of_two() } else { 0 };
    // All groups have plans for the same numbers of sinks.
    let of_groups = forces.iter().map(|forces| plans(options, most_sinks, forces.chunks as usize));
    let of_groups = of_groups.collect::<Result<Vec<_>>>()?;
    let (mut count, mut most) = (0, 0);
    while count < MOST_PLANS && of_groups.iter().all(|plans| count < plans.len()) {
        let planned = || of_groups.iter().map(|plans| plans[count]).zip(forces);
        let of_group = |((sinks, plan), forces): ((usize, ReductionPlan), &Step)| {
            plan.segments * forces.slices as usize * sinks.next_multiple_of(STRIDE)
        };
        let rows: usize = planned().map(of_group).sum();
        let is_summed = planned().all(|((_, plan), _)| {
            CHAINED.iter().any(|shape| SHAPES[*shape].accumulators(interaction) == plan.accumulators)
        });
        if !is_summed || rows * bytes_of_row > PARTIAL_SUMS_BYTES {
            break;
        }
        most = rows.max(most);
        count += 1;
    }
    let planned = |&(sinks, plan): &(usize, ReductionPlan)| PlannedSums {
        sinks: sinks as i32,
        accumulators: plan.accumulators as i32,
        segments: plan.segments as i32,
        reserved: 0,
    };
    Ok((memory::collected(of_groups.iter().flat_map(|plans| &plans[..count]).map(planned), "plans of sums")?, most))
}

/// Returns the groups as kernels see them: `kernels/steps/schedule.h`.
fn on_device(groups: &StepGroups) -> Result<Vec<f64>> {
    let softenings2 = groups.softenings2.as_flattened().iter().copied();
    memory::collected(softenings2.chain(groups.places.iter().map(|place| bytemuck::cast(*place))), WHAT)
}

/// Fails unless the places of all sinks, in doubles, are numbers of kernels.
fn check_room(interaction: &Interaction, bodies: usize, groups: &StepGroups) -> Result<()> {
    let numbers = groups.sources.len().saturating_mul(bodies).saturating_mul(width(interaction));
    if groups.sources.len() > 1 && numbers > i32::MAX as usize {
        return Err(Error::Internal { what: format!("{bodies} bodies in groups are too many for a device") });
    }
    Ok(())
}

impl<G: Gpu> StepWork<G> {
    fn make_room(
        &mut self,
        gpu: &G,
        bodies: usize,
        interaction: &Interaction,
        (plans, most_rows, blocks_of_chain): (&[PlannedSums], usize, usize),
    ) -> Result<()> {
        let (given, n_outputs) = (interaction.n_derivatives, interaction.n_outputs);
        // Pieces of a block begin at multiples of 64 sinks, so that each may add a part.
        let parts = (2 * bodies.div_ceil(BODIES_OF_BLOCK) + 1).max(blocks_of_chain);
        let most_sinks = plans.last().map_or(0, |plan| plan.sinks as usize).next_multiple_of(STRIDE);
        self.bodies.ensure_capacity(gpu, 8 * body_numbers(given) * bodies)?;
        self.sets.ensure_capacity(gpu, 4 * SETS * words_of_set(bodies))?;
        self.nearest.ensure_capacity(gpu, 8 * NEAREST_NUMBERS * parts)?;
        self.plans.ensure_capacity(gpu, size_of_val(plans))?;
        self.forces_on_device.ensure_capacity(gpu, size_of_val(&self.forces[..]))?;
        let source_groups = self.forces.len();
        let of_all = if source_groups > 1 { 8 * (n_outputs + 2) * bodies } else { 0 };
        self.of_all.ensure_capacity(gpu, of_all)?;
        for (column, bytes) in self.partial_sums.iter_mut().zip([8 * n_outputs, 8, 4]) {
            column.ensure_capacity(gpu, bytes * most_rows)?;
        }
        self.results.ensure_capacity(gpu, 8 * (n_outputs + 2) * most_sinks)?;
        for taken in &mut self.taken {
            taken.members.ensure_capacity(gpu, 4 * bodies)?;
            taken.sinks.ensure_capacity(gpu, 8 * (SINK_HEAD + 3 * given) * bodies * source_groups)?;
        }
        Ok(())
    }
}

impl<G: Gpu> GpuDevice<G> {
    /// Begins block steps; see [`kyoho_methods::block_steps::BlockSteps::begin`].
    pub(super) fn begin_steps(
        &mut self,
        steps: &mut StepWork<G>,
        &Beginning { sources, rules, units, added, groups }: &Beginning,
        bodies: &[f64],
    ) -> Result<()> {
        let interaction = self.on.options.interaction.clone();
        let count = bodies.len() / body_numbers(interaction.n_derivatives);
        check_room(&interaction, count, groups)?;
        steps.use_kernels(&self.on.gpu, &interaction, groups.count)?;
        self.on.update(sources, true)?;
        self.on.store.make_room_for_predicted(&self.on.gpu)?;
        let forces = |(&nj, first): (&usize, usize)| {
            let chunks = chunks_below(nj);
            Step {
                chunks: chunks as i32,
                first_chunk: (first / CHUNK) as i32,
                skip_own_index: 1,
                is_dense: i32::from(self.on.store.is_dense()),
                slice_step: 1,
                slices: filled_slices(&Assignment::whole(count), chunks) as i32,
                ..Step::of(&Block { skip_own_index: true, predicts: true, nj, units, ..Block::default() })
            }
        };
        steps.forces = memory::collected(groups.sources.iter().zip(groups.first_addresses()).map(forces), WHAT)?;
        let most_blocks = steps.kernels.blocks_of_chain().unwrap_or(0);
        let mut planned = std::mem::take(&mut steps.planned);
        if most_blocks > 0 && added.is_none() {
            planned.suit(&self.on.options, count, &steps.forces)?;
        } else {
            planned = ChainedPlans::default();
        }
        let (plans, most_rows) = (&planned.plans[..], planned.rows);
        // Chains that share the device are on it at once. One thread block does not sum.
        let processors = || std::thread::available_parallelism().map_or(1, |processors| processors.get());
        steps.is_crowded = self.sharers > 1 && self.sharers > processors();
        steps.blocks_of_chain = (most_blocks / self.sharers).clamp(2.min(most_blocks), most_blocks);
        steps.make_room(&self.on.gpu, count, &interaction, (plans, most_rows, most_blocks))?;
        let [shortest, longest] = rules.limits;
        steps.rules = BlockRules {
            interval: rules.interval,
            eta: rules.eta,
            eta_of_fourth: rules.eta_of_fourth,
            shortest,
            longest,
            largest_position: interaction.bounds.position,
            approach: rules.approach,
            all_ticks: rules.ticks,
            bodies: count as i32,
            sources: groups.sources.iter().sum::<usize>() as i32,
            is_dense: i32::from(self.on.store.is_dense()),
            averages: i32::from(rules.averages),
            most_chained: plans.last().map_or(0, |plan| plan.sinks),
            plans: (plans.len() / steps.forces.len().max(1)) as i32,
            groups: groups.count as i32,
            source_groups: steps.forces.len() as i32,
            chunks: steps.forces.last().map_or(0, |last| last.first_chunk + last.chunks),
            reserved: 0,
        };
        // Notes of other bodies are not mistaken for these.
        let sequence = steps.last;
        let (now, ticks) = (rules.now.0, rules.now.1 as i64);
        // They stay where they are until the copies are done.
        let state = [BlockState { now, ticks, sinks: 0, set: 0, sequence, halts: 0 }];
        let of_all = [steps.rules];
        let of_groups = on_device(groups)?;
        // A chain predicts the sources before it sums their forces.
        let of_chains = steps.forces.iter().map(|forces| Step { is_predicted: 1, ..*forces });
        let of_chains = memory::collected(of_chains, WHAT)?;
        steps.groups.ensure_capacity(&self.on.gpu, size_of_val(&of_groups[..]))?;
        steps.pieces.clear();
        steps.sinks = [0; 2];
        let (gpu, queue) = (&self.on.gpu, &self.on.queues[0]);
        // SAFETY: there is room for all, and the copies are waited for.
        unsafe {
            send((gpu, queue), bodies, &steps.bodies.0)?;
            send((gpu, queue), plans, &steps.plans.0)?;
            send((gpu, queue), &of_all, &steps.given)?;
            send((gpu, queue), &of_groups, &steps.groups.0)?;
            send((gpu, queue), &of_chains, &steps.forces_on_device.0)?;
            for taken in &steps.taken {
                send((gpu, queue), &state, &taken.state)?;
            }
            gpu.zero(queue, &steps.sets.0, 4 * SETS * words_of_set(count))?;
            gpu.zero(queue, &steps.counts, 4 * SETS)?;
            gpu.zero(queue, &steps.outcome, 4 * OUTCOME)?;
            gpu.zero(queue, &steps.have_come, size_of::<u64>())?;
            let addresses = steps.addresses(self);
            steps.kernels.schedule((gpu, queue), (now, ticks), count, &addresses)?;
            gpu.synchronize(queue)?;
            steps.take(self, sequence, 0)?;
        }
        (steps.due, steps.last) = (sequence, sequence.wrapping_add(1));
        steps.planned = planned;
        log::debug!("{count} {WHAT} on a device, in chains of blocks of up to {} sinks", steps.rules.most_chained);
        Ok(())
    }
}

/// Begins to copy items to the start of memory of the device.
///
/// # Safety
/// There is room for them, and they stay where they are until the queue has done the copy.
unsafe fn send<G: Gpu, T: Pod>((gpu, queue): (&G, &G::Queue), items: &[T], to: &G::Memory) -> Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    let from = Place::Host(items.as_ptr().cast_mut().cast());
    // SAFETY: the caller's promise.
    unsafe { gpu.copy(queue, from, Place::Device(to, 0), size_of_val(items)) }
}

#[cfg(test)]
mod tests {
    use kyoho_core::{Level, Order, Precision};
    use kyoho_laws::catalogue::interaction;
    use kyoho_methods::CompanionDevices;

    use super::*;

    #[test]
    fn plans_are_those_of_the_bodies_and_the_sources_that_are_there() {
        let options = DeviceOptions {
            interaction: interaction(Order::Fourth, Precision::Mixed).unwrap(),
            softenings: false,
            threads: 1,
            level: Level::Portable,
            shape: None,
            companions: CompanionDevices::default(),
        };
        let mut planned = ChainedPlans::default();
        let groups = |sources: &[usize], bodies: usize| -> Vec<Step> {
            let of = |nj: &usize| {
                let chunks = chunks_below(*nj);
                let slices = filled_slices(&Assignment::whole(bodies), chunks) as i32;
                Step { chunks: chunks as i32, slices, ..Step::of(&Block { nj: *nj, ..Block::default() }) }
            };
            sources.iter().map(of).collect()
        };
        let mut different = 0;
        for (bodies, sources) in [
            (1024, &[1024][..]),
            (1024, &[1024]),
            (1030, &[1024]),
            (1030, &[300]),
            (16384, &[16384]),
            (16384, &[8192, 8192]),
            (40_000, &[40_000]),
            (1024, &[1024]),
        ] {
            let forces = groups(sources, bodies);
            planned.suit(&options, bodies, &forces).unwrap();
            let (plans, rows) = chained_plans(&options, bodies, &forces).unwrap();
            let numbers = |plans: &[PlannedSums]| bytemuck::cast_slice::<_, i32>(plans).to_vec();
            assert_eq!((numbers(&planned.plans), planned.rows), (numbers(&plans), rows), "{bodies} {sources:?}");
            different += usize::from(!plans.is_empty());
        }
        assert_eq!(different, 7, "too many bodies have no chains");
    }
}
