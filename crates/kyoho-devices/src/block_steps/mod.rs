//! The work of GPUs on block steps, for [`kyoho_methods::block_steps::BlockSteps`].
//!
//! All work is begun in the first queue. A block is three kinds of kernels: those of its forces, one
//! that advances its bodies, and one that takes the bodies of the next block and writes the host a
//! note. The host begins them for a block that it knows, in the launches that suit its size; or it
//! begins a chain, one kernel that makes many blocks, and follows it by its notes.

mod added;
mod begin;
pub mod kernels;

use kyoho_core::sinks::width;
use kyoho_core::{Error, Interaction, Nearest, Result, memory};
use kyoho_hal::gpu::{Address, DeviceMemory, Event, Gpu, HostMemory, Mapped, Place};
use kyoho_hal::grow_buffer::GrowBuffer;
use kyoho_methods::block_steps::{AdvancedBlock, Beginning, BlockOutcome, BlockSteps, DueBlock, body_numbers};
use kyoho_methods::gpu::columns::PieceResults;
use kyoho_methods::gpu::outbox::wait_for_flag;
use kyoho_methods::gpu::step::{BlockPiece, BlockRules, BlockState, PredictionTarget, Step};

use super::gpu::GpuDevice;
use added::Added;
use begin::ChainedPlans;
use kernels::{BODIES_OF_BLOCK, Kernels, NOTE_HEAD, NOTE_NUMBERS, NOTES, OUTCOME, SETS, StepAddresses, TakenAddresses};

const WHAT: &str = "bodies that step";

/// The blocks of a chain.
const CHAIN: u32 = 64;

/// The places of numbers in a note, in 32 bits: `kernels/steps/schedule.h`.
const NOTE_DUE: usize = 0;
const NOTE_SINKS: usize = 1;
const NOTE_SET: usize = 2;
const NOTE_IS_BAD: usize = 3;
const NOTE_LOOKS: usize = 4;
const NOTE_DONE: usize = 5;
const NOTE_LIMITED: usize = 6;
/// In 64 bits.
const NOTE_DISTANCE: usize = 8;
const NOTE_PAIR: usize = 9;

/// Memory of a block that was taken. There are two in turns, as a block is taken while the host may
/// look at the one before.
struct Taken<G: Gpu> {
    state: G::Memory,
    members: GrowBuffer<G>,
    sinks: GrowBuffer<G>,
}

/// The memory and the state of block steps.
pub struct StepWork<G: Gpu> {
    kernels: Kernels<G>,
    /// Those for bodies in several groups, or in one, whichever are not in use.
    other_kernels: Option<Kernels<G>>,
    given: G::Memory,
    groups: GrowBuffer<G>,
    bodies: GrowBuffer<G>,
    sets: GrowBuffer<G>,
    counts: G::Memory,
    outcome: G::Memory,
    have_come: G::Memory,
    nearest: GrowBuffer<G>,
    plans: GrowBuffer<G>,
    planned: ChainedPlans,
    forces_on_device: GrowBuffer<G>,
    partial_sums: [GrowBuffer<G>; 3],
    results: GrowBuffer<G>,
    taken: [Taken<G>; 2],
    notes: G::HostMemory,
    /// The device's memory for notes, where kernels do not reach the host's.
    notes_on_device: Option<G::Memory>,
    /// The ends of the copies of notes, where they are copied.
    copied: Vec<Option<G::Event>>,
    rules: BlockRules,
    /// All that is the same for the forces of every block, by the sources of each group.
    forces: Vec<Step>,
    /// The results of a block by all groups, where there are several.
    of_all: GrowBuffer<G>,
    /// Whether more integrators share the device than the host has processors.
    is_crowded: bool,
    /// The thread blocks of a chain.
    blocks_of_chain: usize,
    /// The number of the note that was asked for last, and that of the last one that will come.
    due: u32,
    last: u32,
    /// The pieces of the block that was advanced last, unless that was in a chain.
    pieces: Vec<PieceResults<Address<G>>>,
    /// The number of sinks of the block that was due before.
    sinks: [usize; 2],
    /// The kernel of forces beside those of pairs, as long as these are there.
    added: Option<Added<G>>,
}

/// Returns the place of what belongs to a block among the two that there are.
fn turn(sequence: u32) -> usize {
    (sequence % 2) as usize
}

impl<G: Gpu> StepWork<G> {
    /// Makes them for bodies in so many groups.
    fn new(device: &GpuDevice<G>, groups: usize) -> Result<StepWork<G>> {
        let gpu = &device.on.gpu;
        let buffer = || GrowBuffer::new(gpu, WHAT);
        let taken = || -> Result<Taken<G>> {
            Ok(Taken { state: gpu.allocate(size_of::<BlockState>(), WHAT)?, members: buffer()?, sinks: buffer()? })
        };
        let bytes_of_notes = 8 * NOTE_NUMBERS * NOTES;
        let notes = gpu.allocate_host(bytes_of_notes, WHAT)?;
        let is_mapped = notes.device_address(0).is_some();
        let mut copied = Vec::new();
        memory::lengthen(&mut copied, if is_mapped { 0 } else { NOTES }, WHAT, || None)?;
        Ok(StepWork {
            kernels: Kernels::new(gpu, &device.on.options.interaction, groups)?,
            other_kernels: None,
            given: gpu.allocate(size_of::<BlockRules>(), WHAT)?,
            groups: buffer()?,
            bodies: buffer()?,
            sets: buffer()?,
            counts: gpu.allocate(4 * SETS, WHAT)?,
            outcome: gpu.allocate(4 * OUTCOME, WHAT)?,
            have_come: gpu.allocate(size_of::<u64>(), WHAT)?,
            nearest: buffer()?,
            plans: buffer()?,
            planned: ChainedPlans::default(),
            forces_on_device: buffer()?,
            partial_sums: [buffer()?, buffer()?, buffer()?],
            results: buffer()?,
            taken: [taken()?, taken()?],
            notes,
            notes_on_device: if is_mapped { None } else { Some(gpu.allocate(bytes_of_notes, WHAT)?) },
            copied,
            rules: BlockRules::default(),
            forces: Vec::new(),
            of_all: buffer()?,
            is_crowded: false,
            blocks_of_chain: 0,
            due: 0,
            last: 0,
            pieces: Vec::new(),
            sinks: [0; 2],
            added: None,
        })
    }

    /// Uses the kernels for bodies in so many groups from now on.
    fn use_kernels(&mut self, gpu: &G, interaction: &Interaction, groups: usize) -> Result<()> {
        if !self.kernels.are_for(groups) {
            let others = match self.other_kernels.take() {
                Some(others) => others,
                None => Kernels::new(gpu, interaction, groups)?,
            };
            self.other_kernels = Some(std::mem::replace(&mut self.kernels, others));
        }
        Ok(())
    }

    /// Returns the bytes of host memory.
    pub fn bytes(&self) -> usize {
        self.notes.bytes()
    }

    fn addresses(&self, device: &GpuDevice<G>) -> StepAddresses<Address<G>> {
        let notes = match (&self.notes_on_device, self.notes.device_address(0)) {
            (None, Some(notes)) => notes,
            (Some(notes), _) => notes.address(),
            (None, None) => unreachable!("memory of the host is mapped, or notes are copied"),
        };
        StepAddresses {
            rules: self.given.address(),
            groups: self.groups.0.address(),
            bodies: self.bodies.0.address(),
            sets: self.sets.0.address(),
            counts: self.counts.address(),
            outcome: self.outcome.address(),
            nearest: self.nearest.0.address(),
            plans: self.plans.0.address(),
            forces: self.forces_on_device.0.address(),
            notes,
            store: device.on.store.addresses(),
            partial_sums: [0, 1, 2].map(|column: usize| self.partial_sums[column].0.address()),
            results: self.results.0.address(),
            have_come: self.have_come.address(),
        }
    }

    fn taken(&self, sequence: u32) -> TakenAddresses<Address<G>> {
        let Taken { state, members, sinks } = &self.taken[turn(sequence)];
        TakenAddresses { state: state.address(), members: members.0.address(), sinks: sinks.0.address() }
    }

    /// Begins to take the block that is due after the last one, which had this many parts, and whose
    /// number is `before`.
    ///
    /// # Safety
    /// There is room for all bodies, and none of the memory is dropped before the queue has ended.
    unsafe fn take(&mut self, device: &GpuDevice<G>, before: u32, parts: usize) -> Result<()> {
        let (gpu, queue) = (&device.on.gpu, &device.on.queues[0]);
        let of = (self.rules.bodies as usize, parts);
        let next = before.wrapping_add(1);
        let (addresses, taken) = (self.addresses(device), [before, next].map(|number| self.taken(number)));
        // SAFETY: the caller's promise.
        unsafe {
            self.kernels.take((gpu, queue), of, &addresses, [&taken[0], &taken[1]])?;
            self.copy_note(device, next)
        }
    }

    /// Begins to copy a note, where the host does not see it.
    ///
    /// # Safety
    /// See [`StepWork::take`].
    unsafe fn copy_note(&mut self, device: &GpuDevice<G>, sequence: u32) -> Result<()> {
        let Some(notes) = &self.notes_on_device else { return Ok(()) };
        let (gpu, queue) = (&device.on.gpu, &device.on.queues[0]);
        let number = sequence as usize % NOTES;
        let at = 8 * NOTE_NUMBERS * number;
        let to = Place::Host(self.notes.as_mut_ptr().wrapping_add(at));
        // SAFETY: both have room for all notes; the rest is the caller's promise.
        unsafe { gpu.copy(queue, Place::Device(notes, at), to, 8 * NOTE_NUMBERS)? };
        self.copied[number] = Some(gpu.record(queue)?);
        Ok(())
    }

    /// Reads a number of a note, which the device may be writing.
    fn read(&self, sequence: u32, word: usize) -> u32 {
        assert!(word < 2 * NOTE_HEAD);
        let note = 2 * NOTE_NUMBERS * (sequence as usize % NOTES);
        // SAFETY: there is memory for all notes.
        unsafe { self.notes.as_ptr().cast::<u32>().add(note + word).read_volatile() }
    }

    /// Waits until a number of a note is that of its block.
    fn wait_for(&self, device: &GpuDevice<G>, sequence: u32, word: usize) -> Result<()> {
        let copied = self.copied.get(sequence as usize % NOTES);
        let (gpu, queue) = (&device.on.gpu, &device.on.queues[0]);
        if let Some(copied) = copied.and_then(Option::as_ref) {
            let _caller = gpu.enter()?;
            copied.wait()?;
        }
        let is_done = || {
            let _caller = gpu.enter()?;
            gpu.is_done(queue)
        };
        wait_for_flag(|| self.read(sequence, word), sequence, || false, is_done, self.is_crowded).map(|_| ())
    }
}

impl<G: Gpu> GpuDevice<G> {
    /// Does something with block steps. After an error all that was begun has ended, and the device
    /// has no sources.
    fn on_steps<T>(&mut self, act: impl FnOnce(&mut GpuDevice<G>, &mut StepWork<G>) -> Result<T>) -> Result<T> {
        let _caller = self.on.gpu.enter()?;
        let mut steps = self.steps.take().ok_or_else(none_begun)?;
        let done = act(self, &mut steps);
        self.steps = Some(steps);
        done.inspect_err(|_| self.give_up())
    }

    /// Waits for a number of the note of a block, if possible without the driver, which serves one thread
    /// at a time. After an error all is as after one of [`GpuDevice::on_steps`].
    fn wait_for_note(&mut self, after_last: u32, word: usize) -> Result<&mut StepWork<G>> {
        let steps = self.steps.as_ref().ok_or_else(none_begun)?;
        let waited = steps.wait_for(self, steps.due.wrapping_add(after_last), word);
        if waited.is_err() {
            self.on_steps(|_, _| waited)?;
        }
        self.steps.as_deref_mut().ok_or_else(none_begun)
    }

    fn advance_block(&mut self, steps: &mut StepWork<G>, (due, now): (&DueBlock, f64), values: &[u64]) -> Result<()> {
        let taken = steps.taken(steps.due);
        steps.pieces = self.sum_block(steps, (taken.sinks, due.sinks), now)?;
        let addresses = steps.addresses(self);
        let on = (&self.on.gpu, &self.on.queues[0]);
        let mut parts = 0;
        for piece in &steps.pieces {
            let of_kernel = block_piece(piece, parts);
            if let Some(added) = &mut steps.added {
                // SAFETY: there are so many sinks and results.
                unsafe { added.add(on, (&of_kernel, piece.results), taken.sinks, values)? };
            }
            // SAFETY: there is room for all bodies; the sinks are some of them, each once.
            unsafe { steps.kernels.advance(on, (&of_kernel, piece.results), &addresses, &taken)? };
            parts += piece.sinks.div_ceil(BODIES_OF_BLOCK);
        }
        // SAFETY: there is room for all bodies; memory is dropped after the queue has ended.
        unsafe { steps.take(self, steps.due, parts)? };
        steps.last = steps.due.wrapping_add(1);
        Ok(())
    }

    /// Begins to sum the forces of a block of so many sinks at a time, and returns where they will be.
    fn sum_block(
        &mut self,
        steps: &mut StepWork<G>,
        (sinks, count): (Address<G>, usize),
        now: f64,
    ) -> Result<Vec<PieceResults<Address<G>>>> {
        let interaction = self.on.options.interaction.clone();
        let (time, bodies) = (now * steps.rules.interval, steps.rules.bodies as usize);
        let is_one = steps.forces.len() == 1;
        if !is_one {
            for forces in &steps.forces {
                self.direct.divide_on_device(&mut self.on, forces.chunks as usize, count)?;
            }
        }
        for (group, &forces) in steps.forces.iter().enumerate() {
            let sinks_from = (group * bodies * width(&interaction)) as i32;
            let target = PredictionTarget { time, ..forces.target };
            self.on.have_changed();
            let of_group = Step { target, sinks_from, ..forces };
            let pieces = self.direct.sum_on_device(&mut self.on, &of_group, (sinks, count))?;
            if is_one {
                return Ok(pieces);
            }
            for piece in &pieces {
                let (of_kernel, of) = (block_piece(piece, 0), (group == 0, count));
                let on = (&self.on.gpu, &self.on.queues[0]);
                // SAFETY: there is room for the results of all bodies.
                unsafe { steps.kernels.add(on, (&of_kernel, piece.results), of, steps.of_all.0.address())? };
            }
        }
        let mut all = memory::room(1, WHAT)?;
        all.push(PieceResults {
            results: steps.of_all.0.address(),
            from: 0,
            first_sink: 0,
            sinks: count,
            stride: count,
        });
        Ok(all)
    }

    fn begin_chain(&mut self, steps: &mut StepWork<G>) -> Result<usize> {
        let first = steps.last;
        self.on.have_changed();
        steps.pieces.clear();
        let (memory, taken) = (steps.addresses(self), [0, 1].map(|place| steps.taken(place)));
        let on = (&self.on.gpu, &self.on.queues[0]);
        let steps_of = (turn(first) as i32, CHAIN as i32, steps.blocks_of_chain);
        // SAFETY: there is room for all bodies; memory is dropped after the queue has ended.
        unsafe { steps.kernels.run_chain(on, steps_of, &memory, &taken)? };
        steps.last = first.wrapping_add(CHAIN);
        Ok(CHAIN as usize)
    }

    /// Copies items from memory of the device, from a byte on.
    fn fetch<T: bytemuck::Pod>(&self, from: &G::Memory, byte: usize, to: &mut [T]) -> Result<()> {
        let (gpu, queue) = (&self.on.gpu, &self.on.queues[0]);
        assert!(byte + size_of_val(to) <= from.bytes());
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: both are that long, and the copy is waited for.
        unsafe {
            let to_host = Place::Host(to.as_mut_ptr().cast());
            gpu.copy(queue, Place::Device(from, byte), to_host, size_of_val(to))?;
        }
        gpu.synchronize(queue)
    }

    /// Copies what is known of a block of so many sinks that was advanced.
    fn fetch_block(&self, steps: &StepWork<G>, sequence: u32, count: usize) -> Result<AdvancedBlock> {
        let interaction = &*self.on.options.interaction;
        let mut block = AdvancedBlock {
            members: memory::filled(count, 0, WHAT)?,
            nearest: memory::filled(count, Nearest::NONE, WHAT)?,
        };
        let taken = &steps.taken[turn(sequence)];
        self.fetch(&taken.members.0, 0, &mut block.members)?;
        if steps.pieces.is_empty() {
            let stride = count.next_multiple_of(kyoho_direct::gpu::pieces::STRIDE);
            self.fetch(&steps.results.0, 8 * stride * interaction.n_outputs, &mut block.nearest)?;
        }
        for piece in &steps.pieces {
            let from = 8 * (piece.from + piece.stride * interaction.n_outputs);
            let to = &mut block.nearest[piece.first_sink..][..piece.sinks];
            let results = if steps.forces.len() > 1 { &steps.of_all.0 } else { self.on.kept_results() };
            self.fetch(results, from, to)?;
        }
        Ok(block)
    }
}

/// Returns a piece of a block as kernels see it, whose bodies make parts of the block from this one on.
fn block_piece<A>(piece: &PieceResults<A>, first_part: usize) -> BlockPiece {
    BlockPiece {
        sinks: piece.sinks as i32,
        first: piece.first_sink as i32,
        stride: piece.stride as i32,
        results_from: piece.from as i32,
        first_part: first_part as i32,
        reserved: 0,
    }
}

fn none_begun() -> Error {
    Error::Internal { what: "no block steps were begun".into() }
}

impl<G: Gpu> BlockSteps for GpuDevice<G> {
    fn begin(&mut self, begin: &Beginning, bodies: &[f64]) -> Result<()> {
        if self.steps.is_none() {
            let _caller = self.on.gpu.enter()?;
            self.steps = Some(kyoho_hal::boxed(StepWork::new(self, begin.groups.count)?, WHAT)?);
        }
        self.on_steps(|device, steps| {
            device.end_all();
            steps.added = Added::kept(steps.added.take(), &device.on.gpu, begin.added)?;
            device.begin_steps(steps, begin, bodies)
        })
    }

    fn due(&mut self) -> Result<DueBlock> {
        let steps = self.wait_for_note(1, NOTE_DUE)?;
        let sequence = steps.due.wrapping_add(1);
        steps.due = sequence;
        let sinks = steps.read(sequence, NOTE_SINKS) as usize;
        steps.sinks = [steps.sinks[1], sinks];
        Ok(DueBlock {
            sinks,
            bit: steps.read(sequence, NOTE_SET),
            is_bad: steps.read(sequence, NOTE_IS_BAD) != 0,
            looks: steps.read(sequence, NOTE_LOOKS) != 0,
            fits_chain: sinks <= steps.rules.most_chained as usize,
        })
    }

    fn advance(&mut self, due: &DueBlock, now: f64, values: &[u64]) -> Result<()> {
        self.on_steps(|device, steps| device.advance_block(steps, (due, now), values))
    }

    fn chain(&mut self) -> Result<usize> {
        self.on_steps(|device, steps| device.begin_chain(steps))
    }

    fn outcome(&mut self) -> Result<BlockOutcome<'_>> {
        let given = self.on.options.interaction.n_derivatives;
        let steps = self.wait_for_note(0, NOTE_DONE)?;
        let first = NOTE_NUMBERS * (steps.due as usize % NOTES);
        // SAFETY: the kernel that writes this note has ended it; kernels may be writing others.
        let note: &[f64] = unsafe { steps.notes.part(first..first + NOTE_NUMBERS) };
        let [one, other] = bytemuck::cast::<f64, [u32; 2]>(note[NOTE_PAIR]).map(|body| body as usize);
        let distance = note[NOTE_DISTANCE];
        Ok(BlockOutcome {
            limited: steps.read(steps.due, NOTE_LIMITED),
            nearest: distance.is_finite().then_some((distance, [one, other])),
            pair: &note[NOTE_HEAD..][..2 * body_numbers(given)],
        })
    }

    fn last_block(&mut self) -> Result<AdvancedBlock> {
        self.on_steps(|device, steps| device.fetch_block(steps, steps.due.wrapping_sub(1), steps.sinks[0]))
    }

    fn bodies(&mut self, to: &mut [f64]) -> Result<()> {
        self.on_steps(|device, steps| device.fetch(&steps.bodies.0, 0, to))
    }

    fn end(&mut self) {
        if let Ok(_caller) = self.on.gpu.enter() {
            self.give_up();
        }
    }
}
