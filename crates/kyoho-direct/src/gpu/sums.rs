//! The method of all pairs: a block in as few launches as it needs.

use std::ops::Range;

use kyoho_core::sinks::width;
use kyoho_core::{
    Assignment, Block, Interaction, PartialSums, Partition, Records, Result, SLICES, Updates, chunks_below, memory,
};
use kyoho_hal::gpu::{Address, DeviceMemory, Gpu};

use kyoho_methods::DeviceOptions;
use kyoho_methods::gpu::columns::PieceResults;
use kyoho_methods::gpu::method::GpuMethod;
use kyoho_methods::gpu::outbox::Outbox;
use kyoho_methods::gpu::shapes::SHAPES;
use kyoho_methods::gpu::sources::{COPIED, GpuSources, QUEUES};
use kyoho_methods::gpu::step::{PredictionTarget, Step};

use super::calibration::costs;
use super::launches::{BlockAddresses, Kernels};
use super::model::{self, Costs, Work};
use super::pieces::{self, PartialSumsMemory, Piece};
use super::reduction::{self, ReductionPlan};
use super::waiting::WaitingKernel;

/// The most records that the force kernel puts in their places itself.
const RECORDS_OF_FORCE: usize = 64;
/// The number of choices that are remembered.
const CHOICES: usize = 64;

/// A block of which some pieces may still have to be begun.
struct Begun<G: Gpu> {
    /// What is the same for all pieces.
    step: Step,
    /// The place of the launch shape.
    shape: usize,
    /// Where sinks that are on the device lie, and where their results go.
    on_device: Option<[Address<G>; 2]>,
    /// The number of pieces that were begun.
    pieces: usize,
    /// The end of the work that brings the sources and the first sinks, for which pieces in other
    /// queues wait.
    fetched: Option<G::Event>,
    /// The ends of the last pieces, before which their partial sums are still needed.
    ended: [Option<G::Event>; QUEUES],
}

/// The key of a choice of plan and shape: rounded sinks of the block and of the assignment, sets of
/// slices, chunks, and whether the sources are predicted.
type Choice = (usize, usize, usize, usize, bool);

/// The sums over all pairs of one order and precision.
pub struct DirectSums<G: Gpu> {
    /// The kernels.
    pub kernels: Kernels<G>,
    costs: Costs,
    partial_sums: Vec<PartialSumsMemory<G>>,
    outbox: Outbox<G>,
    /// Whether the results of the last block stay on the device until they are asked for.
    keeps_results: bool,
    /// Whether others use the device at the same time. A kernel that waits would keep them from it.
    is_shared: bool,
    /// Whether a block is under way that went to the kernel that waits for blocks.
    is_by_letter: bool,
    pieces: Vec<Piece>,
    begun: Option<Begun<G>>,
    /// The assignment of the device in the block under way.
    assignment: Assignment,
    sequence: u32,
    /// The choices for blocks like the last ones.
    choices: Vec<(Choice, ReductionPlan, usize)>,
}

/// The sinks of a piece and the records of its block on their way to the device.
struct Arrival<'a, G: Gpu> {
    /// The place of the sinks in the inbox.
    at: Range<usize>,
    numbers: &'a [u8],
    /// Where kernels read the sinks in memory of the host, if they do.
    in_place: Option<Address<G>>,
    fresh: Records<'a>,
    is_first: bool,
    /// Whether one copy brings sinks and records, which the force kernel puts in their places.
    is_one_copy: bool,
    is_on_device: bool,
}

impl<G: Gpu> Arrival<'_, G> {
    /// Begins it in a queue, and returns whether the kernel behind it may start before it has
    /// ended.
    ///
    /// # Safety
    /// The sinks, the records and the inbox stay as they are until the queue has done the work.
    unsafe fn begin(self, on: &mut GpuSources<G>, place: usize) -> Result<bool> {
        let Arrival { at, numbers, in_place, fresh, .. } = self;
        // SAFETY: the caller's promise; the place in the inbox is that of this piece alone.
        unsafe {
            if in_place.is_none() {
                on.inbox.put(&at, numbers);
            }
            if self.is_one_copy {
                let records = on.inbox.put_records(fresh);
                on.inbox.copy(&on.gpu, &on.queues[place], at.start..records.end)?;
            } else if self.is_first && (!fresh.is_empty() || at.len() > COPIED) {
                on.bring(place, (at, in_place), fresh)?;
                return Ok(true);
            } else if self.is_on_device {
                // They are there.
            } else if in_place.is_some() {
                on.inbox.copy_from(numbers, &on.gpu, &on.queues[place], at)?;
            } else {
                on.inbox.copy(&on.gpu, &on.queues[place], at)?;
            }
        }
        Ok(false)
    }
}

/// Returns the queue in which a piece ends: that of its sums, if it is alone, or that of all ends.
fn queue_of_end<'a, Q>(of_sums: &'a Q, ending: &'a Q, is_alone: bool) -> &'a Q {
    if is_alone { of_sums } else { ending }
}

impl<G: Gpu> DirectSums<G> {
    /// Makes sums with these kernels, after the constants of the device were measured.
    pub fn new(gpu: &G, queue: &G::Queue, options: &DeviceOptions, mut kernels: Kernels<G>) -> Result<DirectSums<G>> {
        let partial_sums = (0..QUEUES).map(|_| PartialSumsMemory::new(gpu, queue)).collect::<Result<Vec<_>>>()?;
        gpu.synchronize(queue)?;
        let costs = costs(gpu, &mut kernels, &options.interaction);
        let mut outbox = Outbox::new(gpu)?;
        outbox.make_room(gpu, 1, 1)?;
        Ok(DirectSums {
            kernels,
            costs,
            partial_sums,
            outbox,
            keeps_results: false,
            is_shared: false,
            is_by_letter: false,
            pieces: Vec::new(),
            begun: None,
            assignment: Assignment::whole(0),
            sequence: 0,
            choices: Vec::new(),
        })
    }

    /// Notes whether others use the device at the same time.
    pub fn share(&mut self, is_shared: bool) {
        self.is_shared = is_shared;
    }

    /// Returns the reduction plan of a block, and the shape that computes an assignment of it.
    fn choose(
        &mut self,
        options: &DeviceOptions,
        ni: usize,
        assignment: &Assignment,
        chunks: usize,
        predicted: bool,
    ) -> (ReductionPlan, usize) {
        let own = assignment.sinks.len().max(1);
        let choice = (reduction::rounded(ni), reduction::rounded(own), assignment.sets, chunks, predicted);
        if let Some((_, plan, shape)) = self.choices.iter().find(|known| known.0 == choice) {
            return (*plan, *shape);
        }
        let plan = reduction::plan_of(options, ni, chunks);
        let shape = self.shape(options, plan, choice.1, chunks, assignment.sets, predicted).1;
        if self.choices.len() == CHOICES {
            self.choices.remove(0);
        }
        self.choices.push((choice, plan, shape));
        (plan, shape)
    }

    /// Returns the seconds by the model, and the shape, for some sinks and one of this many sets of
    /// slices.
    fn shape(
        &self,
        options: &DeviceOptions,
        plan: ReductionPlan,
        ni: usize,
        chunks: usize,
        sets: usize,
        predicted: bool,
    ) -> (f64, usize) {
        let interaction = &options.interaction;
        let chunks = chunks.div_ceil(sets);
        let slices = (SLICES / sets).min(chunks).max(1);
        let work = Work { interaction, plan, ni, chunks, slices, predicted };
        reduction::shape(&self.costs, work, options.shape.map(|shape| shape.place))
    }

    fn divide(&mut self, interaction: &Interaction, (chunks, segments): (usize, usize), stays: bool) -> Result<()> {
        let of = (&self.assignment, chunks, segments);
        pieces::divide(&mut self.pieces, &mut self.sequence, interaction, of, stays)
    }

    fn make_room_for_partial_sums(&mut self, on: &GpuSources<G>, chunks: usize, segments: usize) -> Result<()> {
        let rows_of_sink = segments * pieces::filled_slices(&self.assignment, chunks);
        let of_sink = (rows_of_sink, on.options.interaction.n_outputs);
        pieces::make_room(&mut self.partial_sums, &on.gpu, &self.pieces, of_sink)
    }

    /// Puts all work of a block in the queues of the device; if its sinks come in parts, that of its
    /// records alone.
    fn enqueue(&mut self, on: &mut GpuSources<G>, updates: &Updates, block: &Block) -> Result<()> {
        let Updates { sources, missed, fresh, .. } = *updates;
        let (assignment, interaction) = (self.assignment.clone(), on.options.interaction.clone());
        let chunks = sources.chunks_below(block.nj);
        on.update_before(updates)?;
        let is_predicted = on.is_predicted(&PredictionTarget::of(block), &assignment);
        let ni = block.sinks.len().max(1);
        let (plan, number) = self.choose(&on.options, ni, &assignment, chunks.max(1), is_predicted);
        self.divide(&interaction, (chunks, plan.segments), false)?;
        let bytes_of_results = self.pieces.last().map_or(0, |piece| piece.results.end);
        self.outbox.make_room(&on.gpu, bytes_of_results, self.pieces.len())?;
        self.make_room_for_partial_sums(on, chunks, plan.segments)?;
        let lines = missed.lines().len() + fresh.lines().len();
        let on_device = match block.sinks_on_device {
            true => Some([on.taken.address(), on.kept(bytes_of_results)?.address()]),
            false => None,
        };
        if on_device.is_none() {
            on.lock_used(block.sinks.pages(), size_of_val(block.sinks.all().numbers()));
        }
        on.inbox.make_room(&on.gpu, if on_device.is_some() { 0 } else { assignment.sinks.len() }, lines)?;
        let step = Step {
            chunks: chunks as i32,
            first_slice: assignment.set as i32,
            slice_step: assignment.sets as i32,
            slices: pieces::filled_slices(&assignment, chunks) as i32,
            segments: plan.segments as i32,
            skip_own_index: i32::from(block.skip_own_index),
            is_dense: i32::from(on.store.is_dense()),
            is_predicted: i32::from(is_predicted),
            accumulators: plan.accumulators as i32,
            ..Step::of(block)
        };
        on.store.make_room_for_predicted(&on.gpu)?;
        // Fresh records come with the first sinks, if there are some already.
        let waits = self.pieces.is_empty() || block.in_parts;
        let (at_once, later) = if waits { ([missed, fresh], Records::NONE) } else { ([missed, Records::NONE], fresh) };
        on.bring_records(at_once)?;
        let (fetched, ended) = (None, Default::default());
        self.begun = Some(Begun { step, shape: number, on_device, pieces: 0, fetched, ended });
        if block.in_parts { Ok(()) } else { self.sum_pieces(on, Some(block), later, assignment.sinks.len()) }
    }

    /// Divides a block of so many sinks that are on the device into pieces, for so many chunks of sources
    /// there, and makes room for its sums. Returns its plan and its launch shape. Nothing that was begun
    /// may be under way.
    pub fn divide_on_device(
        &mut self,
        on: &mut GpuSources<G>,
        chunks: usize,
        count: usize,
    ) -> Result<(ReductionPlan, usize)> {
        let interaction = on.options.interaction.clone();
        self.assignment = Assignment::whole(count);
        let (plan, shape) = self.choose(&on.options, count, &self.assignment.clone(), chunks, false);
        self.divide(&interaction, (chunks, plan.segments), true)?;
        self.outbox.make_room(&on.gpu, 0, self.pieces.len())?;
        self.make_room_for_partial_sums(on, chunks, plan.segments)?;
        on.inbox.make_room(&on.gpu, 0, 0)?;
        on.store.make_room_for_predicted(&on.gpu)?;
        on.kept(self.pieces.last().map_or(0, |piece| piece.results.end))?;
        Ok((plan, shape))
    }

    /// Begins the sums of sinks that are on the device, of the sources there. `of_block` has all that
    /// is the same for every launch of the block. Sums of other sources may be under way, if
    /// [`DirectSums::divide_on_device`] has made room for these before. What is begun next in the first queue comes after
    /// them, and finds the results where the pieces say. The device hands none in.
    pub fn sum_on_device(
        &mut self,
        on: &mut GpuSources<G>,
        of_block: &Step,
        (sinks, count): (Address<G>, usize),
    ) -> Result<Vec<PieceResults<Address<G>>>> {
        let (plan, shape) = self.divide_on_device(on, of_block.chunks as usize, count)?;
        (self.keeps_results, self.is_by_letter) = (true, false);
        let results = on.kept_results().address();
        let (segments, accumulators) = (plan.segments as i32, plan.accumulators as i32);
        let step = Step { segments, accumulators, ..*of_block };
        let (fetched, ended) = (None, Default::default());
        self.begun = Some(Begun { step, shape, on_device: Some([sinks, results]), pieces: 0, fetched, ended });
        self.sum_pieces(on, None, Records::NONE, count)?;
        if self.pieces.len() > 1 {
            on.gpu.wait_for(&on.queues[0], &on.gpu.record(&on.ending)?)?;
        }
        let mut all = memory::room(self.pieces.len(), "the table of pieces")?;
        all.extend(self.pieces.drain(..).map(|Piece { sinks, stride, results: place, .. }| PieceResults {
            results,
            from: place.start / 8,
            first_sink: sinks.start,
            sinks: sinks.len(),
            stride,
        }));
        self.begun = None;
        Ok(all)
    }

    /// Begins the pieces that have none but the first `sinks` sinks of the assignment, after those
    /// that were begun, and brings records with the first one.
    fn sum_pieces(
        &mut self,
        on: &mut GpuSources<G>,
        block: Option<&Block>,
        fresh: Records,
        sinks: usize,
    ) -> Result<()> {
        let Some(mut begun) = self.begun.take() else { return Ok(()) };
        while self.pieces.get(begun.pieces).is_some_and(|piece| piece.sinks.end <= sinks) {
            self.sum_piece(on, &mut begun, block, fresh)?;
            begun.pieces += 1;
        }
        self.begun = Some(begun);
        Ok(())
    }

    /// Begins the next piece of a block.
    fn sum_piece(
        &mut self,
        on: &mut GpuSources<G>,
        begun: &mut Begun<G>,
        block: Option<&Block>,
        fresh: Records,
    ) -> Result<()> {
        let interaction = &on.options.interaction.clone();
        let shape = SHAPES[begun.shape];
        let (number, on_device) = (begun.pieces, begun.on_device);
        let (is_first, place, is_alone) = (number == 0, number % QUEUES, self.pieces.len() == 1);
        let piece = self.pieces[number].clone();
        let sinks = block.filter(|_| on_device.is_none());
        let sinks = sinks.map(|block| block.sinks.range(self.assignment.sinks.clone()).range(piece.sinks.clone()));
        let numbers: &[u8] = sinks.map_or(&[], |sinks| bytemuck::cast_slice(sinks.numbers()));
        let at = on.inbox.place(numbers.len());
        let by_force = shape.fused && fresh.len() <= RECORDS_OF_FORCE && is_alone;
        let is_small = numbers.len() + size_of_val(fresh.lines()) <= COPIED;
        let is_one_copy = is_first && by_force && is_small && on_device.is_none();
        let sinks_from = match on_device {
            Some(_) => begun.step.sinks_from as usize + piece.sinks.start * width(interaction),
            None => at.start / size_of::<f64>(),
        };
        let mut step = Step {
            ni: piece.sinks.len() as i32,
            stride: piece.stride as i32,
            sequence: piece.sequence,
            blocks: piece.sinks.len().div_ceil(shape.block_sinks(interaction)) as i32,
            records: if is_one_copy { fresh.len() as i32 } else { 0 },
            sinks_from: sinks_from as i32,
            results_from: (piece.results.start / 8) as i32,
            ..begun.step
        };
        self.is_by_letter = match &mut self.kernels.waiting {
            Some(waiting) if is_one_copy && shape.ends && !self.keeps_results && !self.is_shared => {
                waiting.takes(&step, numbers.len() + size_of_val(fresh.lines()))
            }
            _ => false,
        };
        let [results, flag] = self.outbox.addresses(number);
        let [sinks, results] = on_device.unwrap_or([on.inbox.address(), results]);
        let (partial_sums, ticket) = self.partial_sums[place].addresses();
        let memory = BlockAddresses { store: on.store.addresses(), sinks, partial_sums, ticket, results, flag };
        if let Some(waiting) = self.kernels.waiting.as_mut().filter(|_| self.is_by_letter) {
            let parts = [numbers, bytemuck::cast_slice(fresh.lines())];
            // SAFETY: as below.
            return unsafe { waiting.send((&on.gpu, &on.queues[place]), &step, parts, memory) };
        }
        self.make_way();
        let in_place = if is_small { None } else { on.address_of(numbers) };
        let arrival =
            Arrival { at, numbers, in_place, fresh, is_first, is_one_copy, is_on_device: on_device.is_some() };
        // SAFETY: the store, the inbox, the partial sums and the results have room for what the
        // step says, the records and the inbox are not written until the block was waited for,
        // and memory is freed only when no block is under way.
        unsafe {
            let overlaps = arrival.begin(on, place)?;
            self.launch(on, begun, &mut step, (&memory, overlaps))?;
            self.end_piece(on, begun, &piece, (&step, &memory), is_alone)
        }
    }

    /// Begins the prediction of the sources with the first piece, and the sums of a piece, after
    /// the work in other queues for which they have to wait.
    ///
    /// # Safety
    /// See [`Kernels::force`].
    unsafe fn launch(
        &mut self,
        on: &mut GpuSources<G>,
        begun: &mut Begun<G>,
        step: &mut Step,
        (memory, mut overlaps): (&BlockAddresses<Address<G>>, bool),
    ) -> Result<()> {
        let (number, place) = (begun.pieces, begun.pieces % QUEUES);
        let fused = SHAPES[begun.shape].fused;
        let is_predicted = begun.step.is_predicted != 0;
        if number == 0 && !fused && !is_predicted {
            // SAFETY: the caller's promise.
            unsafe { on.predict(place, step, self.assignment.clone(), overlaps)? };
            overlaps = true;
        }
        let (gpu, queue) = (&on.gpu, &on.queues[place]);
        if number == 0 {
            step.is_predicted = i32::from(is_predicted || !fused);
            begun.step.is_predicted = step.is_predicted;
            if self.pieces.len() > 1 {
                begun.fetched = Some(gpu.record(queue)?);
            }
        } else if let Some(fetched) = begun.fetched.as_ref().filter(|_| number < QUEUES) {
            gpu.wait_for(queue, fetched)?;
        }
        if let Some(ended) = begun.ended[place].take() {
            gpu.wait_for(queue, &ended)?;
        }
        // SAFETY: the caller's promise.
        unsafe { self.kernels.force((gpu, queue), begun.shape, step, memory, overlaps) }
    }

    /// Begins what comes after the sums of a piece: the last kernel, if its shape has one, and the
    /// way of the results to the host.
    ///
    /// # Safety
    /// See [`Kernels::force`].
    unsafe fn end_piece(
        &mut self,
        on: &GpuSources<G>,
        begun: &mut Begun<G>,
        piece: &Piece,
        (step, memory): (&Step, &BlockAddresses<Address<G>>),
        is_alone: bool,
    ) -> Result<()> {
        let (number, place) = (begun.pieces, begun.pieces % QUEUES);
        let (gpu, queue) = (&on.gpu, &on.queues[place]);
        let queue_of_end = queue_of_end(queue, &on.ending, is_alone);
        if !is_alone {
            gpu.wait_for(queue_of_end, &gpu.record(queue)?)?;
        }
        // SAFETY: the caller's promise.
        unsafe {
            if !(SHAPES[begun.shape].ends && gpu.properties().has_fences) {
                self.kernels.end((gpu, queue_of_end), step, memory, is_alone)?;
            }
            // Results that stay on the device are waited for too.
            let results = if begun.on_device.is_none() { piece.results.clone() } else { 0..0 };
            self.outbox.send(gpu, queue_of_end, number, results)?;
        }
        if number + QUEUES < self.pieces.len() {
            begun.ended[place] = Some(gpu.record(queue_of_end)?);
        }
        Ok(())
    }

    /// Waits for a piece of the block under way.
    fn wait_for_piece(&mut self, on: &GpuSources<G>, number: usize) -> Result<()> {
        let sequence = self.pieces[number].sequence;
        let queue = queue_of_end(&on.queues[number % QUEUES], &on.ending, self.pieces.len() == 1);
        if let Some(waiting) = self.kernels.waiting.as_mut().filter(|_| self.is_by_letter) {
            waiting.wait(&on.gpu, queue, &self.outbox, sequence)?;
            self.is_by_letter = false;
            return Ok(());
        }
        self.outbox.wait(&on.gpu, queue, number, sequence)
    }

    /// Hands in the sums of a piece.
    fn take(&mut self, on: &mut GpuSources<G>, number: usize, partial_sums: &mut PartialSums) -> Result<()> {
        self.wait_for_piece(on, number)?;
        let Piece { sinks, stride, results, .. } = self.pieces[number].clone();
        if self.keeps_results {
            on.kept(results.end)?;
            // SAFETY: the piece has ended, and the copy is waited for.
            unsafe { self.outbox.fetch(&on.gpu, &on.queues[0], on.kept_results(), results.clone())? };
        }
        let Interaction { n_outputs, nearest, .. } = *on.options.interaction;
        let (first, count) = (self.assignment.sinks.start, sinks.len());
        let to = first + sinks.start..first + sinks.end;
        // SAFETY: they were waited for.
        let (sums, rest) = unsafe { self.outbox.results(results) }.split_at(stride * n_outputs * 8);
        let into = partial_sums.set(self.assignment.set);
        into.values[to.start * n_outputs..to.end * n_outputs]
            .copy_from_slice(&bytemuck::cast_slice(sums)[..count * n_outputs]);
        if nearest {
            into.nearest[to].copy_from_slice(&bytemuck::cast_slice(rest)[..count]);
        }
        Ok(())
    }

    /// Returns the seconds that a block of `ni` sinks and `nj` sources takes by the device's model, when
    /// it is partitioned so among `devices` like this one.
    pub fn estimate(&self, options: &DeviceOptions, (ni, nj): (usize, usize), of: (Partition, usize)) -> f64 {
        let (partition, devices) = of;
        let chunks = chunks_below(nj).max(1);
        let own = partition.assignment(0, ni).sinks.len().max(1);
        let seconds =
            self.shape(options, reduction::plan_of(options, ni, chunks), own, chunks, partition.sets, false).0;
        seconds + model::partitioned(partition, devices, ni)
    }
}

impl<G: Gpu> GpuMethod<G> for DirectSums<G> {
    fn takes(&self, _block: &Block) -> bool {
        true
    }

    fn begin(
        &mut self,
        on: &mut GpuSources<G>,
        updates: &Updates,
        block: &Block,
        assignment: &Assignment,
    ) -> Result<()> {
        self.assignment = assignment.clone();
        self.is_by_letter = false;
        self.keeps_results = block.is_on_device();
        let comes_at_once = !block.in_parts && !assignment.sinks.is_empty();
        if !comes_at_once || updates.everything || !updates.missed.is_empty() {
            self.make_way();
        }
        self.enqueue(on, updates, block)
    }

    fn sum_part(&mut self, on: &mut GpuSources<G>, block: &Block, part: Range<usize>) -> Result<()> {
        self.sum_pieces(on, Some(block), Records::NONE, part.end - self.assignment.sinks.start)
    }

    fn wait_more(
        &mut self,
        on: &mut GpuSources<G>,
        partial_sums: &mut PartialSums,
        done: usize,
    ) -> Result<Option<usize>> {
        let all = self.assignment.sinks.len();
        let Some(piece) = self.pieces.iter().position(|piece| piece.sinks.start == done) else {
            on.end_without_sums(&self.assignment, partial_sums)?;
            return Ok(Some(all));
        };
        if self.begun.as_ref().is_none_or(|begun| begun.pieces <= piece) {
            return Ok(None);
        }
        self.take(on, piece, partial_sums)?;
        let now = self.pieces[piece].sinks.end;
        if now == all {
            self.pieces.clear();
        }
        Ok(Some(now))
    }

    fn results(&mut self, on: &mut GpuSources<G>) -> Result<Vec<PieceResults<Address<G>>>> {
        let mut all = memory::room(self.pieces.len(), "the table of pieces")?;
        for number in 0..self.pieces.len() {
            self.wait_for_piece(on, number)?;
            let Piece { sinks, stride, results, .. } = &self.pieces[number];
            all.push(PieceResults {
                results: if self.keeps_results {
                    on.kept(results.end)?.address()
                } else {
                    self.outbox.addresses(number)[0]
                },
                from: results.start / 8,
                first_sink: sinks.start,
                sinks: sinks.len(),
                stride: *stride,
            });
        }
        Ok(all)
    }

    fn is_busy(&self) -> bool {
        !self.pieces.is_empty()
    }

    fn forget(&mut self) {
        self.pieces.clear();
        self.begun = None;
        self.is_by_letter = false;
    }

    /// Lets a kernel that waits for blocks end, unless it has one, which it would miss.
    fn make_way(&mut self) {
        if let Some(waiting) = self.kernels.waiting.as_mut().filter(|_| !self.is_by_letter) {
            waiting.stop();
        }
    }

    fn bytes(&self) -> usize {
        self.outbox.bytes() + self.kernels.waiting.as_ref().map_or(0, WaitingKernel::bytes)
    }
}
