//! A GPU as a device of the engine: a block in as few launches as it needs.

use std::ops::Range;

use crate::arrays::DeviceArrays;
use crate::arrays::work::ArrayWork;
use crate::lists::gpu::sums::ListSums;
use crate::tree::gpu::block::TreeSums;
use crate::{Device, DeviceOptions, FIRST_PART};
use kyoho_core::sinks::width;
use kyoho_core::{
    Assignment, Block, CHUNK, Error, FoundNeighbours, Interaction, InteractionLists, ListedSources, MAX_DERIVATIVES,
    Nearest, Neighbourhoods, PartialSums, Partition, Records, Result, SLICES, Sources, Sums, TreeBlock, TreeProfile,
    Updates, chunks_below, memory,
};
use kyoho_hal::DeviceDescription;
use kyoho_hal::gpu::{Address, DeviceMemory, Gpu, Mapped, Place};

use super::arrays;
use super::calibration::costs;
use super::inbox::Inbox;
use super::launches::{BlockAddresses, FetchedRecords, FetchedSinks, Kernels, StoreAddresses};
use super::locks::Locks;
use super::model::{self, CROSSOVER, Costs, Work};
use super::neighbour_lists::{MOST_SINKS, NeighbourLists};
use super::outbox::Outbox;
use super::reduction::{self, ReductionPlan};
use super::shapes::SHAPES;
use super::step::{PredictionTarget, Step};
use super::store::Store;
use super::waiting::WaitingKernel;

/// The most bytes of sinks and records that are copied before the one kernel of a block; more come
/// by [`GpuDevice::bring`].
const COPIED: usize = 32 << 10;
/// The most records that the force kernel puts in their places itself.
const RECORDS_OF_FORCE: usize = 64;
/// The most bytes that the partial sums of a piece may take.
const PARTIAL_SUMS_BYTES: usize = 128 << 20;
/// The least and the most sinks of a piece. Large blocks are computed in pieces, so that the host
/// hands over the sums of one while the device sums others.
const PIECE: [usize; 2] = [FIRST_PART, 2 * FIRST_PART];
/// The pairs of a piece, as far as the number of its sinks allows: enough that the device takes
/// longer than the host, which begins a piece in some 10 us.
const PAIRS_OF_PIECE: usize = 1 << 26;
/// The last pieces of a block have fewer sinks, down to one of so many parts of a piece.
const PARTS_OF_PIECE: usize = 4;
/// The pairs from which on a tree is faster.
const TREE_CROSSOVER: u64 = 1 << 31;
/// The number of queues, which take pieces in turn: so many that the sums of further pieces wait
/// for a place on the device while those of the first ones end.
const QUEUES: usize = 4;
/// Rows of partial sums are a multiple of this many sinks apart.
pub const STRIDE: usize = 16;

/// The sinks of the assignment that are computed together.
#[derive(Clone)]
pub(super) struct Piece {
    pub(super) sinks: Range<usize>,
    pub(super) stride: usize,
    pub(super) sequence: u32,
    /// The bytes of its results in the outbox.
    pub(super) results: Range<usize>,
}

/// Memory for the partial sums of pieces on one queue, and the counter of thread blocks that have
/// ended.
struct PartialSumsMemory<G: Gpu> {
    sums: G::Memory,
    distances: G::Memory,
    accumulators: G::Memory,
    ticket: G::Memory,
}

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

/// A GPU that sums forces in one order and precision.
pub struct GpuDevice<G: Gpu> {
    pub(super) queues: Vec<G::Queue>,
    /// The queue that adds up the partial sums of pieces where a block has several. Its kernels go
    /// before the sums of later pieces, so that results come while these are made.
    ending: G::Queue,
    pub(super) kernels: Kernels<G>,
    costs: Costs,
    pub(super) options: DeviceOptions,
    pub(super) store: Store<G>,
    inbox: Inbox<G>,
    partial_sums: Vec<PartialSumsMemory<G>>,
    pub(super) outbox: Outbox<G>,
    /// Memory of records and sinks that kernels may reach, and where it lies. There is no
    /// registration where it failed, which only costs time.
    registered: Vec<(Range<usize>, Option<G::Registration>)>,
    /// Sums of the engine that are registered.
    locks: Locks<G::Registration>,
    /// Records on the device, where kernels do not reach memory of the host.
    records: G::Memory,
    neighbour_lists: NeighbourLists<G>,
    /// The sums of interaction lists.
    pub(super) lists: ListSums<G>,
    /// Whether the last block has interaction lists.
    pub(super) has_lists: bool,
    /// Trees, once they were needed.
    pub(super) trees: Option<TreeSums<G>>,
    /// Whether the forces of the last block are a tree's.
    pub(super) has_tree: bool,
    /// Work on arrays of callers, once it was needed.
    pub(super) arrays: Option<ArrayWork<G>>,
    /// Whether the results of the last block stay on the device until they are asked for.
    pub(super) keeps_results: bool,
    /// Whether a block is under way that went to the kernel that waits for blocks.
    is_by_letter: bool,
    pub(super) pieces: Vec<Piece>,
    begun: Option<Begun<G>>,
    /// The assignment of the device in the block under way.
    pub(super) assignment: Assignment,
    sequence: u32,
    /// The target to which sources on the device are predicted, and the assignment whose sources
    /// these are.
    pub(super) predicted: Option<(PredictionTarget, Assignment)>,
    /// The choices for blocks like the last ones.
    choices: Vec<(Choice, ReductionPlan, usize)>,
    pub(super) gpu: G,
    /// Dropped last, so that the driver may be called while the rest is given back.
    caller: Option<G::Caller>,
}

/// The number of choices that are remembered.
const CHOICES: usize = 64;

/// Returns the queue in which a piece ends: that of its sums, if it is alone, or that of all ends.
fn queue_of_end<'a, Q>(of_sums: &'a Q, ending: &'a Q, is_alone: bool) -> &'a Q {
    if is_alone { of_sums } else { ending }
}

/// Returns the trees of a device, which are made when they are first needed.
fn ready<'a, G: Gpu>(
    trees: &'a mut Option<TreeSums<G>>,
    gpu: &G,
    options: &DeviceOptions,
) -> Result<&'a mut TreeSums<G>> {
    match trees {
        Some(trees) => Ok(trees),
        none => Ok(none.insert(TreeSums::new(gpu, options.threads, &options.companions)?)),
    }
}

impl<G: Gpu> GpuDevice<G> {
    /// Opens the device on a GPU.
    pub fn open(gpu: G, options: DeviceOptions) -> Result<GpuDevice<G>> {
        let _caller = gpu.enter()?;
        GpuDevice::new(gpu, options)
    }

    /// Makes the device on a GPU whose driver this thread may call.
    fn new(gpu: G, options: DeviceOptions) -> Result<GpuDevice<G>> {
        let interaction = options.interaction.clone();
        let queues = (0..QUEUES).map(|_| gpu.queue()).collect::<Result<Vec<_>>>()?;
        let partial_sums = || -> Result<PartialSumsMemory<G>> {
            let memory = |bytes, what| gpu.allocate(bytes, what);
            let ticket = memory(4, "tickets")?;
            // SAFETY: the memory is that long, and nobody else has it.
            unsafe { gpu.zero(&queues[0], &ticket, 4)? };
            Ok(PartialSumsMemory {
                sums: memory(0, "partial sums")?,
                distances: memory(0, "partial sums")?,
                accumulators: memory(0, "partial sums")?,
                ticket,
            })
        };
        let partial_sums = queues.iter().map(|_| partial_sums()).collect::<Result<Vec<_>>>()?;
        gpu.synchronize(&queues[0])?;
        let mut kernels = Kernels::new(&gpu, &interaction)?;
        let costs = costs(&gpu, &mut kernels, &interaction);
        let mut device = GpuDevice {
            ending: gpu.urgent_queue()?,
            kernels,
            costs,
            store: Store::new(&gpu, interaction.clone(), options.threads)?,
            inbox: Inbox::new(&gpu, &interaction)?,
            partial_sums,
            outbox: Outbox::new(&gpu)?,
            registered: Vec::new(),
            locks: Locks::none(),
            records: gpu.allocate(0, "records")?,
            neighbour_lists: NeighbourLists::new(&gpu, &interaction)?,
            lists: ListSums::new(&gpu, options.threads)?,
            has_lists: false,
            trees: None,
            has_tree: false,
            arrays: None,
            keeps_results: false,
            is_by_letter: false,
            pieces: Vec::new(),
            begun: None,
            assignment: Assignment::whole(0),
            sequence: 0,
            predicted: None,
            choices: Vec::new(),
            queues,
            options,
            gpu,
            caller: None,
        };
        device.outbox.make_room(&device.gpu, 1, 1)?;
        Ok(device)
    }

    /// Returns the options with which it was opened.
    pub fn options(&self) -> &DeviceOptions {
        &self.options
    }

    /// Returns the reduction plan of a block, and the shape that computes an assignment of it.
    fn choose(&mut self, ni: usize, assignment: &Assignment, chunks: usize, predicted: bool) -> (ReductionPlan, usize) {
        let own = assignment.sinks.len().max(1);
        let choice = (reduction::rounded(ni), reduction::rounded(own), assignment.sets, chunks, predicted);
        if let Some((_, plan, shape)) = self.choices.iter().find(|known| known.0 == choice) {
            return (*plan, *shape);
        }
        let plan = self.plan(ni, chunks);
        let shape = self.shape(plan, choice.1, chunks, assignment.sets, predicted).1;
        if self.choices.len() == CHOICES {
            self.choices.remove(0);
        }
        self.choices.push((choice, plan, shape));
        (plan, shape)
    }

    /// Returns the reduction plan of a block.
    fn plan(&self, ni: usize, chunks: usize) -> ReductionPlan {
        match self.options.shape.filter(|shape| shape.everywhere) {
            Some(shape) => reduction::plan_of_shape(&self.options.interaction, shape.place, ni, chunks),
            None => reduction::plan(&self.options.interaction, ni, chunks),
        }
    }

    /// Returns the seconds by the model, and the shape, for some sinks and one of this many sets of
    /// slices.
    fn shape(&self, plan: ReductionPlan, ni: usize, chunks: usize, sets: usize, predicted: bool) -> (f64, usize) {
        let interaction = &self.options.interaction;
        let work = Work { interaction, plan, ni, chunks: chunks.div_ceil(sets), slices: SLICES / sets, predicted };
        reduction::shape(&self.costs, work, self.options.shape.map(|shape| shape.place))
    }

    /// Divides the sinks of the assignment into pieces, whose partial sums fit in the memory for
    /// them. Without chunks of sources there are none.
    fn divide_into_pieces(&mut self, chunks: usize, segments: usize) -> Result<()> {
        let ni = if chunks == 0 { 0 } else { self.assignment.sinks.len() };
        let bytes = segments * self.assignment.slices().len() * (8 * self.options.interaction.n_outputs + 12);
        let piece = (PAIRS_OF_PIECE / (CHUNK * chunks.max(1)) / 64 * 64).clamp(PIECE[0], PIECE[1]);
        let most = (PARTIAL_SUMS_BYTES / bytes.max(1) / 64 * 64).clamp(64, piece);
        let length = if ni <= most + most / 2 && most == piece { ni } else { most };
        let Interaction { n_outputs, nearest, .. } = *self.options.interaction;
        self.pieces.clear();
        let (mut first, mut start) = (0, 0);
        while first < ni {
            let left = ni - first;
            // What the host does with the first piece and with the last ones nothing hides, so they
            // are smaller.
            let length = if first == 0 && length < ni { length.min(PIECE[0]) } else { length };
            let halves = first > 0 && left <= length && left > piece / PARTS_OF_PIECE;
            let length = if halves { (left / 2).next_multiple_of(64) } else { length };
            let sinks = first..ni.min(first + length);
            let stride = sinks.len().next_multiple_of(STRIDE);
            let results = start..start + stride * (8 * n_outputs + if nearest { size_of::<Nearest>() } else { 0 });
            start = results.end;
            self.sequence = self.sequence.wrapping_add(1).max(1);
            let piece = Piece { sinks, stride, sequence: self.sequence, results };
            memory::push(&mut self.pieces, piece, "the table of pieces")?;
            first += length;
        }
        Ok(())
    }

    /// Registers memory of which this many bytes are used, once, if they are many.
    pub(super) fn register_used(&mut self, memory: &[u8], used: usize) {
        let is_known = self.registered.iter().any(|(range, _)| *range == addresses(memory));
        if used > COPIED && !is_known && self.registered.try_reserve(1).is_ok() {
            // SAFETY: the engine keeps the memory until it is unregistered, or this device is
            // dropped.
            let registration = unsafe { self.gpu.register(memory) };
            self.registered.push((addresses(memory), registration.ok()));
        }
    }

    /// Page-locks the memory of sums to which this device copies, if they are many.
    fn lock(&mut self, sums: &mut Sums) {
        let (gpu, locks) = (&self.gpu, &mut self.locks);
        // SAFETY: the memory keeps its place until the lock is dropped.
        let mut lock = |memory: &[u8]| unsafe { gpu.register(memory) }.ok().and_then(|locked| locks.add(locked));
        if size_of_val(&sums.values[..]) > COPIED {
            sums.values.lock(&mut lock);
            sums.nearest.lock(&mut lock);
        }
    }

    fn room_for_partial_sums(&mut self, segments: usize) -> Result<()> {
        let stride = self.pieces.iter().map(|piece| piece.stride).max().unwrap_or(0);
        let rows = segments * self.assignment.slices().len() * stride;
        let n_outputs = self.options.interaction.n_outputs;
        let queues = self.pieces.len().min(QUEUES);
        for memory in &mut self.partial_sums[..queues] {
            if memory.accumulators.bytes() < rows * 4 {
                let rows = rows + rows / 4;
                memory.sums = self.gpu.allocate(rows * n_outputs * 8, "partial sums")?;
                memory.distances = self.gpu.allocate(rows * 8, "partial sums")?;
                memory.accumulators = self.gpu.allocate(rows * 4, "partial sums")?;
            }
        }
        Ok(())
    }

    /// Puts all work of a block in the queues of the device; if its sinks come in parts, that of its
    /// records alone.
    fn enqueue(&mut self, updates: &Updates, block: &Block) -> Result<()> {
        let Updates { sources, everything, missed, fresh } = *updates;
        let assignment = self.assignment.clone();
        let chunks = sources.chunks_below(block.nj);
        let target = PredictionTarget::of(block);
        let changed = self.store.update(&self.gpu, &self.queues[0], sources, everything)?;
        if changed || !missed.is_empty() || !fresh.is_empty() {
            self.sources_have_changed();
        }
        let is_predicted =
            self.predicted.as_ref().is_some_and(|(of, whose)| *of == target && whose.covers(&assignment));
        let (plan, number) = self.choose(block.sinks.len().max(1), &assignment, chunks.max(1), is_predicted);
        self.divide_into_pieces(chunks, plan.segments)?;
        let bytes_of_results = self.pieces.last().map_or(0, |piece| piece.results.end);
        self.outbox.make_room(&self.gpu, bytes_of_results, self.pieces.len())?;
        self.room_for_partial_sums(plan.segments)?;
        let lines = missed.lines().len() + fresh.lines().len();
        let on_device = match &mut self.arrays {
            Some(arrays) if block.sinks_on_device => {
                let results = arrays.results(&self.gpu, bytes_of_results)?.address();
                Some([arrays.sinks().address(), results])
            }
            _ => None,
        };
        if on_device.is_none() {
            self.register_used(block.sinks.memory(), size_of_val(block.sinks.all().numbers()));
        }
        self.inbox.make_room(&self.gpu, if on_device.is_some() { 0 } else { assignment.sinks.len() }, lines)?;

        let step = Step {
            chunks: chunks as i32,
            first_slice: assignment.set as i32,
            slice_step: assignment.sets as i32,
            slices: assignment.slices().len() as i32,
            segments: plan.segments as i32,
            skip_own_index: i32::from(block.skip_own_index),
            is_dense: i32::from(self.store.is_dense()),
            is_predicted: i32::from(is_predicted),
            accumulators: plan.accumulators as i32,
            ..Step::of(block)
        };
        self.store.make_room_for_predicted(&self.gpu)?;
        // Fresh records come with the first sinks, if there are some already.
        let waits = self.pieces.is_empty() || block.in_parts;
        let (at_once, later) = if waits { ([missed, fresh], Records::NONE) } else { ([missed, Records::NONE], fresh) };
        let (store, is_dense) = (self.store.addresses(), self.store.is_dense());
        for records in at_once.into_iter().filter(|records| !records.is_empty()) {
            // SAFETY: the records and the inbox stay there until the block was waited for.
            unsafe { self.bring(0, &store, is_dense, (0..0, None), records)? };
        }
        let (fetched, ended) = (None, Default::default());
        self.begun = Some(Begun { step, shape: number, on_device, pieces: 0, fetched, ended });
        if block.in_parts { Ok(()) } else { self.sum_pieces(block, later, assignment.sinks.len()) }
    }

    /// Begins the pieces that have none but the first `sinks` sinks of the assignment, after those
    /// that were begun, and brings records with the first one.
    fn sum_pieces(&mut self, block: &Block, fresh: Records, sinks: usize) -> Result<()> {
        let Some(mut begun) = self.begun.take() else { return Ok(()) };
        while self.pieces.get(begun.pieces).is_some_and(|piece| piece.sinks.end <= sinks) {
            self.sum_piece(&mut begun, block, fresh)?;
            begun.pieces += 1;
        }
        self.begun = Some(begun);
        Ok(())
    }

    /// Begins the next piece of a block.
    fn sum_piece(&mut self, begun: &mut Begun<G>, block: &Block, fresh: Records) -> Result<()> {
        let interaction = &self.options.interaction.clone();
        let shape = SHAPES[begun.shape];
        let (number, on_device) = (begun.pieces, begun.on_device);
        let (is_first, place, is_alone) = (number == 0, number % QUEUES, self.pieces.len() == 1);
        let (store, is_dense) = (self.store.addresses(), self.store.is_dense());
        let is_predicted = begun.step.is_predicted != 0;
        let piece = self.pieces[number].clone();
        let sinks = block.sinks.range(self.assignment.sinks.clone()).range(piece.sinks.clone());
        let numbers: &[u8] = if on_device.is_some() { &[] } else { bytemuck::cast_slice(sinks.numbers()) };
        let at = self.inbox.place(numbers.len());
        let by_force = shape.fused && fresh.len() <= RECORDS_OF_FORCE && is_alone;
        let is_small = numbers.len() + size_of_val(fresh.lines()) <= COPIED;
        let is_one_copy = is_first && by_force && is_small && on_device.is_none();
        let in_place = registered(&self.registered, numbers).filter(|_| !is_small);
        let sinks_from = match on_device {
            Some(_) => piece.sinks.start * width(interaction),
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
            Some(waiting) if is_one_copy && shape.ends && !self.keeps_results => {
                waiting.takes(&step, numbers.len() + size_of_val(fresh.lines()))
            }
            _ => false,
        };
        if !self.is_by_letter {
            self.end_waiting();
            if in_place.is_none() {
                self.inbox.put(&at, numbers);
            }
        }
        let [results, flag] = self.outbox.addresses(number);
        let [sinks, results] = on_device.unwrap_or([self.inbox.address(), results]);
        let partial_sums = &self.partial_sums[place];
        let memory = BlockAddresses {
            store,
            sinks,
            partial_sums: [&partial_sums.sums, &partial_sums.distances, &partial_sums.accumulators]
                .map(DeviceMemory::address),
            ticket: partial_sums.ticket.address(),
            results,
            flag,
        };
        if let Some(waiting) = self.kernels.waiting.as_mut().filter(|_| self.is_by_letter) {
            let parts = [numbers, bytemuck::cast_slice(fresh.lines())];
            // SAFETY: as below.
            return unsafe { waiting.send((&self.gpu, &self.queues[place]), &step, parts, memory) };
        }
        let mut overlaps = false;
        // SAFETY: the store, the inbox, the partial sums and the results have room for what the
        // step says, the records and the inbox are not written until the block was waited for,
        // and memory is freed only when no block is under way.
        unsafe {
            if is_one_copy {
                let records = self.inbox.put_records(fresh);
                self.inbox.copy(&self.gpu, &self.queues[place], at.start..records.end)?;
            } else if is_first && (!fresh.is_empty() || at.len() > COPIED) {
                self.bring(place, &store, is_dense, (at, in_place), fresh)?;
                overlaps = true;
            } else if on_device.is_some() {
                // They are there.
            } else if in_place.is_some() {
                self.inbox.copy_from(numbers, &self.gpu, &self.queues[place], at)?;
            } else {
                self.inbox.copy(&self.gpu, &self.queues[place], at)?;
            }
            let on = (&self.gpu, &self.queues[place]);
            if is_first && !shape.fused && !is_predicted {
                self.kernels.predict(on, &step, &store, overlaps)?;
                self.predicted = Some((step.target, self.assignment.clone()));
                overlaps = true;
            }
            if is_first {
                step.is_predicted = i32::from(is_predicted || !shape.fused);
                begun.step.is_predicted = step.is_predicted;
                if !is_alone {
                    begun.fetched = Some(self.gpu.record(on.1)?);
                }
            } else if let Some(fetched) = begun.fetched.as_ref().filter(|_| number < QUEUES) {
                self.gpu.wait_for(on.1, fetched)?;
            }
            if let Some(ended) = begun.ended[place].take() {
                self.gpu.wait_for(on.1, &ended)?;
            }
            self.kernels.force(on, begun.shape, &step, &memory, overlaps)?;
            let queue_of_end = queue_of_end(on.1, &self.ending, is_alone);
            if !is_alone {
                self.gpu.wait_for(queue_of_end, &self.gpu.record(on.1)?)?;
            }
            if !(shape.ends && self.gpu.properties().has_fences) {
                self.kernels.end((&self.gpu, queue_of_end), &step, &memory, is_alone)?;
            }
            if on_device.is_none() {
                self.outbox.send(&self.gpu, queue_of_end, number, piece.results)?;
            }
            if number + QUEUES < self.pieces.len() {
                begun.ended[place] = Some(self.gpu.record(queue_of_end)?);
            }
        }
        Ok(())
    }

    /// Lets a kernel that waits for blocks end, so that other work may begin; unless it has one,
    /// which it would miss.
    pub(super) fn end_waiting(&mut self) {
        if let Some(waiting) = self.kernels.waiting.as_mut().filter(|_| !self.is_by_letter) {
            waiting.stop();
        }
    }

    /// Forgets what was made of the sources that the device had.
    pub(super) fn sources_have_changed(&mut self) {
        self.predicted = None;
        if let Some(trees) = &mut self.trees {
            trees.forget();
        }
    }

    /// Sums the forces of a block by a tree.
    fn sum_by_tree(&mut self, updates: &Updates, block: &Block, asked: TreeBlock) -> Result<()> {
        // The engine has brought all that was written to the host's copy.
        let changed = self.store.update(&self.gpu, &self.queues[0], updates.sources, updates.everything)?;
        if changed {
            self.sources_have_changed();
        }
        if self.assignment.sinks.is_empty() {
            return Ok(());
        }
        if !block.sinks_on_device {
            self.register_used(block.sinks.memory(), size_of_val(block.sinks.all().numbers()));
        }
        let trees = ready(&mut self.trees, &self.gpu, &self.options)?;
        let (_, chunks) = self.store.octets();
        let store = self.store.addresses();
        let kept = (updates.sources, &store, (chunks, self.store.is_dense()));
        let taken = self.arrays.as_ref().filter(|_| block.sinks_on_device).map(ArrayWork::sinks);
        trees.sum((&self.gpu, &self.queues[0]), &self.options.interaction, kept, (block, asked, taken))
    }

    /// Puts all work of a block with interaction lists in the queues of the device.
    fn enqueue_lists(&mut self, updates: &Updates, block: &Block, lists: &InteractionLists) -> Result<()> {
        let interaction = &self.options.interaction.clone();
        let Updates { sources, everything, missed, fresh } = *updates;
        let target = PredictionTarget::of(block);
        let changed = self.store.update(&self.gpu, &self.queues[0], sources, everything)?;
        if changed || !missed.is_empty() || !fresh.is_empty() {
            self.sources_have_changed();
        }
        self.inbox.make_room(&self.gpu, 0, missed.lines().len() + fresh.lines().len())?;
        self.store.make_room_for_predicted(&self.gpu)?;
        let (store, is_dense) = (self.store.addresses(), self.store.is_dense());
        for records in [missed, fresh].into_iter().filter(|records| !records.is_empty()) {
            // SAFETY: the records and the inbox stay there until the block was waited for.
            unsafe { self.bring(0, &store, is_dense, (0..0, None), records)? };
        }
        let whole = Assignment::whole(0);
        let is_own = matches!(lists.sources, ListedSources::Own(_));
        let is_predicted = self.predicted.as_ref().is_some_and(|(of, whose)| *of == target && whose.covers(&whole));
        if !is_own && !is_predicted {
            let chunks = sources.chunks_below(block.nj) as i32;
            let step = Step { chunks, slice_step: 1, is_dense: i32::from(is_dense), ..Step::of(block) };
            // SAFETY: the store has room for all chunks, and is neither dropped nor grown before
            // the queue has ended.
            unsafe { self.kernels.predict((&self.gpu, &self.queues[0]), &step, &store, false)? };
            self.predicted = Some((target, whole));
        }
        if !lists.groups.is_on_device() {
            self.register_used(lists.groups.memory(), size_of_val(&lists.groups[..]));
        }
        if lists.sinks.on_device().is_none() {
            self.register_used(lists.sinks.memory(), lists.sinks.memory().len());
        }
        if let Some(memory) = lists.sources.memory() {
            self.register_used(memory, memory.len());
        }
        let of = (lists, self.assignment.sinks.clone());
        self.lists.start((&self.gpu, &self.queues[0]), interaction, of)
    }

    /// Puts records in their places and brings sinks, which were packed into this range of the
    /// inbox, to the device.
    ///
    /// # Safety
    /// The records and the inbox stay as they are until the queue has done the work.
    unsafe fn bring(
        &mut self,
        queue: usize,
        store: &StoreAddresses<Address<G>>,
        is_dense: bool,
        (sinks, in_place): (Range<usize>, Option<Address<G>>),
        records: Records,
    ) -> Result<()> {
        let (on, words) = ((&self.gpu, &self.queues[queue]), records.words());
        let to = self.inbox.address();
        debug_assert!(sinks.start == 0, "sinks that are fetched are those of the first piece");
        if let Some(from) = in_place.or_else(|| self.inbox.host_address(sinks.start)) {
            // A kernel that reads the host's memory begins sooner than a large copy.
            let records_in_place = registered(&self.registered, bytemuck::cast_slice(records.lines()));
            let records_from = records_in_place.or_else(|| {
                let packed = self.inbox.put_records(records).start;
                self.inbox.host_address(packed)
            });
            let lost = || Error::Internal { what: "memory of the host that was mapped is no longer mapped".into() };
            let records = FetchedRecords { from: records_from.ok_or_else(lost)?, count: records.len(), words };
            let sinks = FetchedSinks { from, to, numbers: sinks.len() / size_of::<f64>() };
            // SAFETY: the caller's promise; records and sinks lie in memory that kernels reach.
            return unsafe { self.kernels.fetch(on, store, is_dense, records, sinks) };
        }
        let bytes = size_of_val(records.lines());
        if self.records.bytes() < bytes {
            // Kernels that read the old ones may be under way.
            self.gpu.synchronize(on.1)?;
            self.records = self.gpu.allocate(bytes.next_power_of_two(), "records")?;
        }
        // SAFETY: the caller's promise; the memory has room for the records, and a queue keeps the
        // order of what is begun.
        unsafe {
            if !records.is_empty() {
                let from = Place::Host(records.lines().as_ptr().cast_mut().cast());
                self.gpu.copy(on.1, from, Place::Device(&self.records, 0), bytes)?;
                let records = FetchedRecords { from: self.records.address(), count: records.len(), words };
                // The sinks come by a copy: none are fetched.
                let sinks = FetchedSinks { from: to, to, numbers: 0 };
                self.kernels.fetch(on, store, is_dense, records, sinks)?;
            }
            if !sinks.is_empty() {
                self.inbox.copy(&self.gpu, on.1, sinks)?;
            }
        }
        Ok(())
    }

    /// Waits for a piece of the block under way.
    pub(super) fn wait_for_piece(&mut self, number: usize) -> Result<()> {
        let sequence = self.pieces[number].sequence;
        let queue = queue_of_end(&self.queues[number % QUEUES], &self.ending, self.pieces.len() == 1);
        if let Some(waiting) = self.kernels.waiting.as_mut().filter(|_| self.is_by_letter) {
            waiting.wait(&self.gpu, queue, &self.outbox, sequence)?;
            self.is_by_letter = false;
            return Ok(());
        }
        self.outbox.wait(&self.gpu, queue, number, sequence)
    }

    /// Iterates over all queues.
    fn all_queues(&self) -> impl Iterator<Item = &G::Queue> {
        self.queues.iter().chain([&self.ending, self.lists.fetching()])
    }

    /// Hands in the sums of a piece.
    fn take(&mut self, number: usize, partial_sums: &mut PartialSums) -> Result<()> {
        self.wait_for_piece(number).inspect_err(|_| self.give_up())?;
        let Piece { sinks, stride, results, .. } = &self.pieces[number];
        if self.keeps_results
            && let Some(arrays) = &mut self.arrays
        {
            let all = arrays.results(&self.gpu, results.end)?;
            // SAFETY: the piece has ended, and the copy is waited for.
            unsafe { self.outbox.fetch(&self.gpu, &self.queues[0], all, results.clone())? };
        }
        let Interaction { n_outputs, nearest, .. } = *self.options.interaction;
        let (first, count) = (self.assignment.sinks.start, sinks.len());
        let to = first + sinks.start..first + sinks.end;
        let (sums, rest) = self.outbox.results(results.clone()).split_at(stride * n_outputs * 8);
        let into = partial_sums.set(self.assignment.set);
        into.values[to.start * n_outputs..to.end * n_outputs]
            .copy_from_slice(&bytemuck::cast_slice(sums)[..count * n_outputs]);
        if nearest {
            into.nearest[to].copy_from_slice(&bytemuck::cast_slice(rest)[..count]);
        }
        Ok(())
    }

    /// Ends a block without pieces: its sums are zero, and its records are in their places.
    fn take_nothing(&mut self, partial_sums: &mut PartialSums) -> Result<()> {
        let n_outputs = self.options.interaction.n_outputs;
        let (sinks, into) = (self.assignment.sinks.clone(), partial_sums.set(self.assignment.set));
        into.values[sinks.start * n_outputs..sinks.end * n_outputs].fill(0.0);
        if let Some(nearest) = into.nearest.get_mut(sinks) {
            nearest.fill(Nearest::NONE);
        }
        // The memory of the records may be written again once this has ended.
        self.gpu.synchronize(&self.queues[0]).inspect_err(|_| self.give_up())
    }

    /// Hands in the sums of more sinks of interaction lists.
    fn wait_more_of_lists(&mut self, partial_sums: &mut PartialSums, done: usize) -> Result<usize> {
        let interaction = self.options.interaction.clone();
        let into = partial_sums.set(0);
        self.lock(into);
        let now = self.lists.wait_more(&self.gpu, &interaction, into, done).inspect_err(|_| self.give_up())?;
        match now {
            Some(now) if now < self.assignment.sinks.len() => Ok(now),
            Some(_) => {
                self.lists.forget();
                Ok(self.assignment.sinks.len())
            }
            None => {
                self.take_nothing(partial_sums)?;
                Ok(self.assignment.sinks.len())
            }
        }
    }

    /// Makes the neighbour lists of some sinks of the last block.
    fn make_lists(
        &mut self,
        sources: &Sources,
        block: &Block,
        sinks: Range<usize>,
        found: &mut [Vec<i32>],
    ) -> Result<()> {
        self.end_waiting();
        let batch = block.sinks.range(sinks);
        self.store.make_room_for_predicted(&self.gpu)?;
        let (target, store) = (PredictionTarget::of(block), self.store.addresses());
        let step = Step {
            ni: batch.len() as i32,
            chunks: sources.chunks_below(block.nj) as i32,
            slice_step: 1,
            skip_own_index: i32::from(block.skip_own_index),
            is_dense: i32::from(self.store.is_dense()),
            ..Step::of(block)
        };
        if self.options.interaction.is_regular() {
            // The lists are of sources as the sums saw them, of all slices.
            let assignment = Assignment::whole(block.sinks.len());
            if !self.predicted.as_ref().is_some_and(|(of, whose)| *of == target && whose.covers(&assignment)) {
                // SAFETY: the store has room for all chunks, and is neither dropped nor grown
                // before the queue has ended.
                unsafe { self.kernels.predict((&self.gpu, &self.queues[0]), &step, &store, false)? };
                self.predicted = Some((target, assignment));
            }
        }
        self.neighbour_lists.find((&self.gpu, &self.queues[0]), &mut self.kernels, step, store, batch, found)
    }

    /// Finds the sources within the radii of some points.
    fn search(&mut self, sources: &Sources, nj: usize, asked: Neighbourhoods) -> Result<Option<FoundNeighbours>> {
        self.end_waiting();
        if self.store.update(&self.gpu, &self.queues[0], sources, true)? {
            self.sources_have_changed();
        }
        let (octets, chunks) = self.store.octets();
        let bodies = nj.min(sources.count());
        // Places are addresses, and those below the end have a source each.
        if !self.store.is_dense() || !sources.has_all_below(bodies) {
            return Ok(None);
        }
        let units = sources.units(&[0.0; MAX_DERIVATIVES], &self.options.interaction);
        let trees = ready(&mut self.trees, &self.gpu, &self.options)?;
        let kept = (octets, nj.min(chunks * CHUNK), bodies);
        let on = (&self.gpu, &self.queues[0]);
        trees.find_neighbours(on, &self.options.interaction, kept, (asked, units)).map(Some)
    }

    /// Waits for all that was begun, whatever errors come.
    pub(super) fn wait_for_all(&mut self) {
        self.is_by_letter = false;
        self.end_waiting();
        for queue in self.all_queues() {
            let _ = self.gpu.synchronize(queue);
        }
    }

    /// Forgets a block that failed. Nothing in the device's memory counts as known afterwards.
    pub(super) fn give_up(&mut self) {
        self.wait_for_all();
        self.pieces.clear();
        self.begun = None;
        self.lists.forget();
        self.sources_have_changed();
        self.store.forget();
    }
}

impl<G: Gpu> Device for GpuDevice<G> {
    fn describe(&self) -> DeviceDescription {
        self.gpu.properties().description.clone()
    }

    fn takes_records(&self) -> bool {
        true
    }

    fn register(&mut self, memory: &[u8]) -> Result<()> {
        let _caller = self.gpu.enter()?;
        // SAFETY: the engine keeps the memory until it is unregistered, or this device is dropped.
        let registration = unsafe { self.gpu.register(memory)? };
        memory::push(&mut self.registered, (addresses(memory), Some(registration)), "registered memory")
    }

    fn unregister(&mut self, memory: &[u8]) -> Result<()> {
        let _caller = self.gpu.enter()?;
        self.registered.retain(|(range, _)| *range != addresses(memory));
        Ok(())
    }

    fn start(&mut self, updates: &Updates, block: &Block, assignment: &Assignment) -> Result<()> {
        let _caller = self.gpu.enter()?;
        if !self.pieces.is_empty() || self.lists.is_busy() {
            // A block that was not waited for to its end still writes where this one will.
            self.give_up();
        }
        self.assignment = assignment.clone();
        self.is_by_letter = false;
        self.has_lists = block.lists.is_some();
        self.keeps_results = block.is_on_device();
        self.has_tree = block.tree.is_some();
        let is_plain = block.lists.is_none() && block.tree.is_none() && !block.in_parts && !assignment.sinks.is_empty();
        if !is_plain || updates.everything || !updates.missed.is_empty() {
            self.end_waiting();
        }
        let begun = match (&block.lists, block.tree) {
            (Some(lists), _) => self.enqueue_lists(updates, block, lists),
            (None, Some(asked)) => self.sum_by_tree(updates, block, asked),
            (None, None) => self.enqueue(updates, block),
        };
        if begun.is_err() {
            self.give_up();
        }
        begun
    }

    fn sum_part(&mut self, block: &Block, part: Range<usize>) -> Result<()> {
        let _caller = self.gpu.enter()?;
        let Some(lists) = &block.lists else {
            let sinks = part.end - self.assignment.sinks.start;
            return self.sum_pieces(block, Records::NONE, sinks).inspect_err(|_| self.give_up());
        };
        let (interaction, on) = (&*self.options.interaction, (&self.gpu, &self.queues[..]));
        let store = (self.store.addresses(), self.store.is_dense());
        // SAFETY: the engine keeps the block until it was waited for, and has checked arrays of the
        // caller; the store grows only when no block is under way.
        let begun = unsafe {
            arrays::made_groups(on, &self.arrays, lists)
                .and_then(|made| self.lists.sum(on, interaction, store, (block, lists, made), part))
        };
        begun.inspect_err(|_| self.give_up())
    }

    fn arrays(&mut self) -> Option<&mut dyn DeviceArrays> {
        self.end_waiting();
        Some(self)
    }

    fn wait_more(&mut self, partial_sums: &mut PartialSums, done: usize) -> Result<usize> {
        let _caller = self.gpu.enter()?;
        let all = self.assignment.sinks.len();
        if self.has_lists {
            return self.wait_more_of_lists(partial_sums, done);
        }
        if self.has_tree && all > 0 {
            let into = partial_sums.set(0);
            self.lock(into);
            if let Some(trees) = &mut self.trees {
                let more = trees.wait_more((&self.gpu, &self.queues[0]), &mut into.values, done);
                return more.inspect_err(|_| self.give_up());
            }
        }
        match self.pieces.iter().position(|piece| piece.sinks.start == done) {
            // The engine gave the block up before all sinks were there.
            Some(piece) if self.begun.as_ref().is_none_or(|begun| begun.pieces <= piece) => self.give_up(),
            Some(piece) => {
                self.take(piece, partial_sums)?;
                let now = self.pieces[piece].sinks.end;
                if now < all {
                    return Ok(now);
                }
                self.pieces.clear();
            }
            None => self.take_nothing(partial_sums)?,
        }
        Ok(all)
    }

    fn drain(&mut self) {
        if let Ok(_caller) = self.gpu.enter() {
            self.wait_for_all();
        }
    }

    fn neighbours(
        &mut self,
        sources: &Sources,
        block: &Block,
        sinks: Range<usize>,
        found: &mut [Vec<i32>],
    ) -> Result<()> {
        let _caller = self.gpu.enter()?;
        self.make_lists(sources, block, sinks, found).inspect_err(|_| self.wait_for_all())
    }

    fn find_neighbours(
        &mut self,
        sources: &Sources,
        nj: usize,
        asked: Neighbourhoods,
    ) -> Result<Option<FoundNeighbours>> {
        let _caller = self.gpu.enter()?;
        self.search(sources, nj, asked).inspect_err(|_| self.wait_for_all())
    }

    fn lists_at_once(&self) -> usize {
        MOST_SINKS
    }

    fn estimate(&self, ni: usize, nj: usize, partition: Partition, devices: usize) -> Option<f64> {
        let chunks = chunks_below(nj).max(1);
        let plan = self.plan(ni, chunks);
        let own = partition.assignment(0, ni).sinks.len().max(1);
        Some(self.shape(plan, own, chunks, partition.sets, false).0 + model::partitioned(partition, devices, ni))
    }

    fn tree_crossover(&self) -> u64 {
        TREE_CROSSOVER
    }

    fn profile_trees(&mut self, wanted: bool) -> TreeProfile {
        self.trees.as_mut().map_or_else(TreeProfile::default, |trees| trees.profile(wanted))
    }

    fn crossover(&self) -> u64 {
        CROSSOVER
    }

    fn bytes(&self) -> usize {
        self.store.bytes()
            + self.inbox.bytes()
            + self.neighbour_lists.bytes()
            + self.lists.bytes()
            + self.arrays.as_ref().map_or(0, ArrayWork::bytes)
            + self.outbox.bytes()
            + self.kernels.waiting.as_ref().map_or(0, WaitingKernel::bytes)
    }
}

impl<G: Gpu> Drop for GpuDevice<G> {
    fn drop(&mut self) {
        // Memory must outlast the work that is under way in it.
        self.caller = self.gpu.enter().ok();
        if self.caller.is_some() {
            self.wait_for_all();
        }
    }
}

/// Returns the device's address of memory that was registered, if kernels reach it.
fn registered<R: Mapped>(all: &[(Range<usize>, Option<R>)], memory: &[u8]) -> Option<R::Address> {
    let first = memory.as_ptr().addr();
    let (range, registration) = all.iter().find(|(range, _)| range.contains(&first))?;
    registration.as_ref()?.device_address(first - range.start)
}

/// Returns where memory lies.
fn addresses(memory: &[u8]) -> Range<usize> {
    let first = memory.as_ptr().addr();
    first..first + memory.len()
}
