//! The beginning of block steps: bodies, rules and plans are brought to the device.

use bytemuck::Pod;

use kyoho_core::{Assignment, Block, Interaction, Result, memory};
use kyoho_direct::gpu::pieces::{STRIDE, filled_slices};
use kyoho_direct::gpu::sums::plans;
use kyoho_hal::gpu::{Gpu, Place};
use kyoho_methods::DeviceOptions;
use kyoho_methods::block_steps::{Beginning, SINK_HEAD, body_numbers};
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

/// Returns the plans of blocks in chains of this many bodies, and the rows of their partial sums, for
/// so many chunks of sources, which fill some slices.
fn chained_plans(
    options: &DeviceOptions,
    bodies: usize,
    (chunks, slices): (usize, usize),
) -> Result<(Vec<PlannedSums>, usize)> {
    let interaction = &*options.interaction;
    let bytes_of_row = 8 * interaction.n_outputs + 12;
    let (mut chosen, mut most) = (Vec::new(), 0);
    let most_sinks = if bodies <= MOST_BODIES { bodies.next_power_of_two() } else { 0 };
    for (sinks, plan) in plans(options, most_sinks, chunks)? {
        let rows = plan.segments * slices * sinks.next_multiple_of(STRIDE);
        let is_summed = CHAINED.iter().any(|shape| SHAPES[*shape].accumulators(interaction) == plan.accumulators);
        if !is_summed || rows * bytes_of_row > PARTIAL_SUMS_BYTES || chosen.len() == MOST_PLANS {
            break;
        }
        most = rows.max(most);
        let (accumulators, segments) = (plan.accumulators as i32, plan.segments as i32);
        let plan = PlannedSums { sinks: sinks as i32, accumulators, segments, reserved: 0 };
        memory::push(&mut chosen, plan, "plans of sums")?;
    }
    Ok((chosen, most))
}

impl<G: Gpu> StepWork<G> {
    fn make_room(
        &mut self,
        gpu: &G,
        bodies: usize,
        interaction: &Interaction,
        (plans, most_rows): (&[PlannedSums], usize),
    ) -> Result<()> {
        let (given, n_outputs) = (interaction.n_derivatives, interaction.n_outputs);
        // Pieces of a block begin at multiples of 64 sinks, so that each may add a part.
        let parts = (2 * bodies.div_ceil(BODIES_OF_BLOCK) + 1).max(self.kernels.blocks_of_chain().unwrap_or(0));
        let most_sinks = plans.last().map_or(0, |plan| plan.sinks as usize).next_multiple_of(STRIDE);
        self.bodies.ensure_capacity(gpu, 8 * body_numbers(given) * bodies)?;
        self.sets.ensure_capacity(gpu, 4 * SETS * words_of_set(bodies))?;
        self.nearest.ensure_capacity(gpu, 8 * NEAREST_NUMBERS * parts)?;
        self.plans.ensure_capacity(gpu, size_of_val(plans))?;
        for (column, bytes) in self.partial_sums.iter_mut().zip([8 * n_outputs, 8, 4]) {
            column.ensure_capacity(gpu, bytes * most_rows)?;
        }
        self.results.ensure_capacity(gpu, 8 * (n_outputs + 2) * most_sinks)?;
        for taken in &mut self.taken {
            taken.members.ensure_capacity(gpu, 4 * bodies)?;
            taken.sinks.ensure_capacity(gpu, 8 * (SINK_HEAD + 3 * given) * bodies)?;
        }
        Ok(())
    }
}

impl<G: Gpu> GpuDevice<G> {
    /// Begins block steps; see [`kyoho_methods::block_steps::BlockSteps::begin`].
    pub(super) fn begin_steps(
        &mut self,
        steps: &mut StepWork<G>,
        &Beginning { sources, rules, units, added }: &Beginning,
        bodies: &[f64],
    ) -> Result<()> {
        let interaction = self.on.options.interaction.clone();
        let count = bodies.len() / body_numbers(interaction.n_derivatives);
        let chunks = sources.chunks_below(rules.sources);
        let slices = filled_slices(&Assignment::whole(count), chunks);
        self.on.update(sources, true)?;
        self.on.store.make_room_for_predicted(&self.on.gpu)?;
        let (plans, most_rows) = if steps.kernels.blocks_of_chain().is_some() && added.is_none() {
            chained_plans(&self.on.options, count, (chunks, slices))?
        } else {
            (Vec::new(), 0)
        };
        let most_blocks = steps.kernels.blocks_of_chain().unwrap_or(0);
        // Chains that share the device are on it at once. One thread block does not sum.
        let processors = || std::thread::available_parallelism().map_or(1, |processors| processors.get());
        steps.is_crowded = self.sharers > 1 && self.sharers > processors();
        steps.blocks_of_chain = (most_blocks / self.sharers).clamp(2.min(most_blocks), most_blocks);
        steps.make_room(&self.on.gpu, count, &interaction, (&plans, most_rows))?;
        let block = Block { skip_own_index: true, predicts: true, nj: rules.sources, units, ..Block::default() };
        steps.forces = Step {
            chunks: chunks as i32,
            skip_own_index: 1,
            is_dense: i32::from(self.on.store.is_dense()),
            slice_step: 1,
            slices: slices as i32,
            ..Step::of(&block)
        };
        let [shortest, longest] = rules.limits;
        steps.rules = BlockRules {
            interval: rules.interval,
            softening2: rules.softening2,
            eta: rules.eta,
            eta_of_fourth: rules.eta_of_fourth,
            shortest,
            longest,
            largest_position: interaction.bounds.position,
            approach: rules.approach,
            all_ticks: rules.ticks,
            bodies: count as i32,
            sources: rules.sources as i32,
            is_dense: steps.forces.is_dense,
            averages: i32::from(rules.averages),
            most_chained: plans.last().map_or(0, |plan| plan.sinks),
            plans: plans.len() as i32,
        };
        // Notes of other bodies are not mistaken for these.
        let sequence = steps.last;
        let (now, ticks) = (rules.now.0, rules.now.1 as i64);
        // They stay where they are until the copies are done.
        let state = [BlockState { now, ticks, sinks: 0, set: 0, sequence, halts: 0 }];
        let of_all = [steps.rules];
        steps.pieces.clear();
        steps.sinks = [0; 2];
        let (gpu, queue) = (&self.on.gpu, &self.on.queues[0]);
        // SAFETY: there is room for all, and the copies are waited for.
        unsafe {
            send((gpu, queue), bodies, &steps.bodies.0)?;
            send((gpu, queue), &plans, &steps.plans.0)?;
            send((gpu, queue), &of_all, &steps.given)?;
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
