//! A GPU as a device of the engine: a block in as few launches as it needs.

use std::ops::Range;

use crate::data::{
    Block, Deal, Descriptor, Line, Nearest, Parts, Records, Result, SLICES, Share, Sources, Updates, chunks_below,
    memory,
};
use crate::hal::DeviceDescription;
use crate::method::{Device, DeviceOptions};

use super::calibration::costs;
use super::cut::{self, Cut};
use super::driver::{Addresses, Gpu, Memory, Outbox};
use super::inbox::Inbox;
use super::model::{self, CROSSOVER, Costs, PIECE, Work};
use super::pack::{self, Vector};
use super::shapes::SHAPES;
use super::step::{Moment, Step};
use super::store::Store;
use super::windows::Windows;

/// Bytes of sinks and records that are copied before the one kernel of a block; for more the driver has a way of its
/// own ([`Gpu::bring`]).
const COPIED: usize = 32 << 10;
/// Records that the force kernel puts in their places itself.
const RECORDS_OF_FORCE: usize = 64;
/// Bytes that the parts of a piece may take.
const PARTS: usize = 256 << 20;
/// Queues that take pieces in turn.
const QUEUES: usize = 2;
/// Rows of sinks are so many sinks apart, or a multiple: as many as a vector has lanes.
pub const STRIDE: usize = 16;

/// Sinks of the share that are computed together.
struct Piece {
    sinks: Range<usize>,
    stride: usize,
    sequence: u32,
    /// Where its results lie in the outbox.
    results: Range<usize>,
}

/// Memory for the parts of pieces on one queue, and the counter of groups that have ended.
struct PartsMemory<G: Gpu> {
    sums: G::Memory,
    distances: G::Memory,
    strands: G::Memory,
    ticket: G::Memory,
}

/// What a choice of cut and shape depends on: rounded sinks of the block and of the share, sets of slices, chunks, and
/// whether the sources are predicted.
type Choice = (usize, usize, usize, usize, bool);

/// A GPU that sums forces in one order and precision.
pub struct GpuDevice<G: Gpu> {
    queues: [G::Queue; QUEUES],
    /// The sources and first sinks are there.
    fetched: G::Mark,
    costs: Costs,
    options: DeviceOptions,
    store: Store<G>,
    inbox: Inbox<G>,
    parts: [PartsMemory<G>; QUEUES],
    outbox: G::Outbox,
    windows: Windows<G>,
    pieces: Vec<Piece>,
    /// What the device does of the block under way.
    share: Share,
    sequence: u32,
    /// The moment to which sources on the device are predicted, and whose share.
    predicted: Option<(Moment, Share)>,
    /// What was chosen for blocks like the last ones.
    choices: Vec<(Choice, Cut, usize)>,
    gpu: G,
    /// Goes last: while the rest is given back, the driver may be called.
    caller: Option<G::Caller>,
}

/// Choices that are remembered.
const CHOICES: usize = 64;

impl<G: Gpu> GpuDevice<G> {
    /// The device over a driver, which may be called.
    pub fn new(mut gpu: G, options: DeviceOptions) -> Result<GpuDevice<G>> {
        let descriptor = options.descriptor;
        let queues = [gpu.queue()?, gpu.queue()?];
        let parts = || -> Result<PartsMemory<G>> {
            let memory = |bytes, what| gpu.memory(bytes, what);
            let ticket = memory(4, "tickets")?;
            // SAFETY: the memory is that long, and nobody else has it.
            unsafe { gpu.zero(&queues[0], &ticket, 4)? };
            Ok(PartsMemory {
                sums: memory(0, "parts")?,
                distances: memory(0, "parts")?,
                strands: memory(0, "parts")?,
                ticket,
            })
        };
        let parts = [parts()?, parts()?];
        gpu.synchronize(&queues[0])?;
        let costs = costs(&mut gpu, descriptor);
        let mut device = GpuDevice {
            fetched: gpu.mark()?,
            costs,
            store: Store::new(&gpu, descriptor)?,
            inbox: Inbox::new(&gpu, descriptor)?,
            parts,
            outbox: G::Outbox::new(&gpu)?,
            windows: Windows::new(&gpu, descriptor)?,
            pieces: Vec::new(),
            share: Share::whole(0),
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

    /// How it was opened.
    pub fn options(&self) -> &DeviceOptions {
        &self.options
    }

    /// The cut of a block and the shape that computes a share of it.
    fn choose(&mut self, ni: usize, share: &Share, chunks: usize, predicted: bool) -> (Cut, usize) {
        let own = share.sinks.len().max(1);
        let choice = (cut::rounded(ni), cut::rounded(own), share.sets, chunks, predicted);
        if let Some((_, cut, shape)) = self.choices.iter().find(|known| known.0 == choice) {
            return (*cut, *shape);
        }
        let cut = cut::cut(self.options.descriptor, ni, chunks);
        let shape = self.shape(cut, choice.1, chunks, share.sets, predicted).1;
        if self.choices.len() == CHOICES {
            self.choices.remove(0);
        }
        self.choices.push((choice, cut, shape));
        (cut, shape)
    }

    /// The shape for some sinks and one of so many sets of slices, and its seconds by the model.
    fn shape(&self, cut: Cut, ni: usize, chunks: usize, sets: usize, predicted: bool) -> (f64, usize) {
        let descriptor = self.options.descriptor;
        let work = Work { descriptor, cut, ni, chunks: chunks.div_ceil(sets), slices: SLICES / sets, predicted };
        cut::shape(&self.costs, work, self.options.shape)
    }

    /// Cuts the sinks of the share into pieces.
    fn cut_pieces(&mut self, ni: usize, parts: usize) -> Result<()> {
        let bytes = parts * self.share.slices().len() * (8 * self.options.descriptor.outputs + 12);
        let most = (PARTS / bytes.max(1) / 64 * 64).clamp(64, PIECE);
        let length = if ni <= most + most / 2 && most == PIECE { ni } else { most };
        let Descriptor { outputs, nearest, .. } = *self.options.descriptor;
        self.pieces.clear();
        let (mut first, mut start) = (0, 0);
        while first < ni {
            let sinks = first..ni.min(first + length);
            let stride = sinks.len().next_multiple_of(STRIDE);
            let results = start..start + stride * (8 * outputs + if nearest { 12 } else { 0 });
            // A stride is even, so the numbers of 64 bits of the next piece are in their places.
            start = results.end;
            self.sequence = self.sequence.wrapping_add(1).max(1);
            let piece = Piece { sinks, stride, sequence: self.sequence, results };
            memory::push(&mut self.pieces, piece, "the table of pieces")?;
            first += length;
        }
        Ok(())
    }

    fn room_for_parts(&mut self, parts: usize) -> Result<()> {
        let stride = self.pieces.iter().map(|piece| piece.stride).max().unwrap_or(0);
        let rows = parts * self.share.slices().len() * stride;
        let outputs = self.options.descriptor.outputs;
        let queues = self.pieces.len().min(QUEUES);
        for parts in &mut self.parts[..queues] {
            if parts.strands.bytes() < rows * 4 {
                let rows = rows + rows / 4;
                parts.sums = self.gpu.memory(rows * outputs * 8, "parts")?;
                parts.distances = self.gpu.memory(rows * 8, "parts")?;
                parts.strands = self.gpu.memory(rows * 4, "parts")?;
            }
        }
        Ok(())
    }

    /// Puts everything in the queues of the device.
    fn enqueue(&mut self, updates: &Updates, block: &Block) -> Result<()> {
        let descriptor = self.options.descriptor;
        let Updates { sources, everything, missed, fresh } = *updates;
        let share = self.share.clone();
        let chunks = sources.chunks_below(block.nj);
        let moment = Moment::of(block);
        let changed = self.store.update(&self.gpu, &self.queues[0], sources, everything)?;
        if changed || !missed.is_empty() || !fresh.is_empty() {
            self.predicted = None;
        }
        let is_predicted = self.predicted.as_ref().is_some_and(|(of, whose)| *of == moment && whose.covers(&share));
        let (cut, number) = self.choose(block.sinks.len().max(1), &share, chunks.max(1), is_predicted);
        let shape = SHAPES[number];
        self.cut_pieces(if chunks == 0 { 0 } else { share.sinks.len() }, cut.parts)?;
        self.outbox.make_room(&self.gpu, self.pieces.last().map_or(0, |piece| piece.results.end), self.pieces.len())?;
        self.room_for_parts(cut.parts)?;
        let lines = missed.lines().len() + fresh.lines().len();
        self.inbox.make_room(&self.gpu, self.pieces.iter().map(|piece| piece.stride), lines)?;

        let mut step = Step {
            chunks: chunks as i32,
            first_slice: share.set as i32,
            slice_step: share.sets as i32,
            slices: share.slices().len() as i32,
            parts: cut.parts as i32,
            skip_own_index: i32::from(block.skip_own_index),
            is_dense: i32::from(self.store.is_dense()),
            is_predicted: i32::from(is_predicted),
            strands: cut.strands as i32,
            ..Step::of(block)
        };
        let (store, is_dense) = (self.store.addresses(), self.store.is_dense());
        let by_force = shape.fused && fresh.len() <= RECORDS_OF_FORCE && self.pieces.len() == 1;
        // Without sinks, all that was written is put in its place.
        let at_once = if self.pieces.is_empty() { [missed, fresh] } else { [missed, Records::NONE] };
        for records in at_once.into_iter().filter(|records| !records.is_empty()) {
            // SAFETY: the records and the inbox stay there until the block was waited for.
            unsafe { self.gpu.bring(&self.queues[0], &store, is_dense, &mut self.inbox, 0..0, records)? };
        }
        for (number_of_piece, piece) in self.pieces.iter().enumerate() {
            let (is_first, place) = (number_of_piece == 0, number_of_piece % QUEUES);
            step.ni = piece.sinks.len() as i32;
            step.stride = piece.stride as i32;
            step.sequence = piece.sequence;
            step.groups = piece.sinks.len().div_ceil(shape.group_sinks(descriptor)) as i32;
            step.records = 0;
            let sinks = block.sinks.range(share.sinks.clone()).range(piece.sinks.clone());
            let at = self.inbox.pack(descriptor, (sinks, block.sink_units()), piece.stride);
            step.sinks_from = (at.start / pack::ROW) as i32;
            step.results_from = (piece.results.start / 8) as i32;
            let [results, flag] = self.outbox.addresses(number_of_piece);
            let parts = &self.parts[place];
            let memory = Addresses {
                store,
                sinks: self.inbox.device.address(),
                parts: [&parts.sums, &parts.distances, &parts.strands].map(G::Memory::address),
                ticket: parts.ticket.address(),
                results,
                flag,
            };
            let queue = &self.queues[place];
            let mut overlaps = false;
            // SAFETY: the store, the inbox, the parts and the results have room for what the step says, the records and
            // the inbox are not written until the block was waited for, and memory is freed only when no block is
            // under way.
            unsafe {
                if is_first && by_force && at.len() + size_of_val(fresh.lines()) <= COPIED {
                    let records = self.inbox.pack_records(fresh);
                    step.records = fresh.len() as i32;
                    self.inbox.copy(&self.gpu, queue, at.start..records.end)?;
                } else if is_first && (!fresh.is_empty() || at.len() > COPIED) {
                    self.gpu.bring(queue, &store, is_dense, &mut self.inbox, at, fresh)?;
                    overlaps = true;
                } else {
                    self.inbox.copy(&self.gpu, queue, at)?;
                }
                if is_first && !shape.fused && !is_predicted {
                    self.gpu.predict(queue, &step, &store, overlaps)?;
                    self.predicted = Some((moment, share.clone()));
                    overlaps = true;
                }
                if is_first {
                    step.is_predicted = i32::from(is_predicted || !shape.fused);
                    if self.pieces.len() > 1 {
                        self.gpu.record(queue, &mut self.fetched)?;
                    }
                } else if number_of_piece < QUEUES {
                    self.gpu.wait_for(queue, &self.fetched)?;
                }
                self.gpu.force(queue, number, &step, &memory, overlaps)?;
                if !(shape.ends && self.gpu.can_end()) {
                    self.gpu.end(queue, &step, &memory, true)?;
                }
                self.outbox.send(&self.gpu, queue, number_of_piece, piece.results.clone())?;
            }
        }
        Ok(())
    }

    /// Hands in the sums of a piece.
    fn take(&mut self, number: usize, parts: &mut Parts) -> Result<()> {
        let Piece { sinks, stride, sequence, results } = &self.pieces[number];
        if let Err(error) = self.outbox.wait(&self.gpu, &self.queues[number % QUEUES], number, *sequence) {
            self.give_up();
            return Err(error);
        }
        let Descriptor { outputs, nearest, .. } = *self.options.descriptor;
        let (first, count) = (self.share.sinks.start, sinks.len());
        let to = first + sinks.start..first + sinks.end;
        let (sums, rest) = self.outbox.results(results.clone()).split_at(stride * outputs * 8);
        let into = parts.set(self.share.set);
        into.values[to.start * outputs..to.end * outputs]
            .copy_from_slice(&bytemuck::cast_slice(sums)[..count * outputs]);
        if nearest {
            let (distances, indices) = rest.split_at(stride * 8);
            let distances: &[f64] = &bytemuck::cast_slice(distances)[..count];
            let indices: &[i32] = bytemuck::cast_slice(indices);
            let found = distances.iter().zip(indices);
            let nearest = found.map(|(distance2, index)| Nearest { distance2: *distance2, index: *index });
            into.nearest[to].iter_mut().zip(nearest).for_each(|(into, nearest)| *into = nearest);
        }
        Ok(())
    }

    /// The end of a block without pieces: its sums are zero, and what was written is in its place.
    fn take_nothing(&mut self, parts: &mut Parts) -> Result<()> {
        let outputs = self.options.descriptor.outputs;
        let (sinks, into) = (self.share.sinks.clone(), parts.set(self.share.set));
        into.values[sinks.start * outputs..sinks.end * outputs].fill(0.0);
        if let Some(nearest) = into.nearest.get_mut(sinks) {
            nearest.fill(Nearest::NONE);
        }
        // The records may be written again once this has ended.
        self.gpu.synchronize(&self.queues[0]).inspect_err(|_| self.give_up())
    }

    /// Forgets a block that failed; nothing of the device is believed to be as it was.
    fn give_up(&mut self) {
        for queue in &self.queues {
            let _ = self.gpu.synchronize(queue);
        }
        self.pieces.clear();
        self.predicted = None;
        self.store.forget();
    }
}

impl<G: Gpu> Device for GpuDevice<G> {
    fn describe(&self) -> DeviceDescription {
        self.gpu.describe()
    }

    fn takes_records(&self) -> bool {
        true
    }

    fn register(&mut self, memory: &[Line]) -> Result<()> {
        let _caller = self.gpu.enter()?;
        // SAFETY: the engine keeps the memory until this device is dropped.
        unsafe { self.gpu.register(memory) }
    }

    fn start(&mut self, updates: &Updates, block: &Block, share: &Share) -> Result<()> {
        let _caller = self.gpu.enter()?;
        if !self.pieces.is_empty() {
            // A block that was not waited for to its end still writes where this one will.
            self.give_up();
        }
        self.share = share.clone();
        let begun = self.enqueue(updates, block);
        if begun.is_err() {
            self.give_up();
        }
        begun
    }

    fn wait_more(&mut self, parts: &mut Parts, done: usize) -> Result<usize> {
        let _caller = self.gpu.enter()?;
        let all = self.share.sinks.len();
        match self.pieces.iter().position(|piece| piece.sinks.start == done) {
            Some(piece) => {
                self.take(piece, parts)?;
                let now = self.pieces[piece].sinks.end;
                if now < all {
                    return Ok(now);
                }
                self.pieces.clear();
            }
            None => self.take_nothing(parts)?,
        }
        Ok(all)
    }

    fn neighbours(
        &mut self,
        sources: &Sources,
        block: &Block,
        sinks: Range<usize>,
        found: &mut [Vec<i32>],
    ) -> Result<()> {
        let _caller = self.gpu.enter()?;
        let window = block.sinks.range(sinks);
        let (moment, store) = (Moment::of(block), self.store.addresses());
        let step = Step {
            ni: window.len() as i32,
            chunks: sources.chunks_below(block.nj) as i32,
            slice_step: 1,
            skip_own_index: i32::from(block.skip_own_index),
            is_dense: i32::from(self.store.is_dense()),
            ..Step::of(block)
        };
        if self.options.descriptor.is_regular() {
            // The lists are of sources as the sums saw them, of all slices.
            let share = Share::whole(block.sinks.len());
            if !self.predicted.as_ref().is_some_and(|(of, whose)| *of == moment && whose.covers(&share)) {
                // SAFETY: the store has room for all chunks, and is neither dropped nor grown before the queue has ended.
                unsafe { self.gpu.predict(&self.queues[0], &step, &store, false)? };
                self.predicted = Some((moment, share));
            }
        }
        let window = (window, block.sink_units());
        self.windows.find((&mut self.gpu, &self.queues[0]), step, store, window, found)
    }

    fn estimate(&self, ni: usize, nj: usize, deal: Deal, devices: usize) -> Option<f64> {
        let chunks = chunks_below(nj).max(1);
        let cut = cut::cut(self.options.descriptor, ni, chunks);
        let own = deal.share(0, ni).sinks.len().max(1);
        Some(self.shape(cut, own, chunks, deal.sets, false).0 + model::dealt(deal, devices, ni))
    }

    fn crossover(&self) -> u64 {
        CROSSOVER
    }

    fn bytes(&self) -> usize {
        self.store.bytes() + self.inbox.bytes() + self.windows.bytes() + self.outbox.bytes()
    }
}

impl<G: Gpu> Drop for GpuDevice<G> {
    fn drop(&mut self) {
        self.caller = self.gpu.enter().ok();
        // Memory must outlast the work that is under way in it.
        if self.caller.is_some() {
            for queue in &self.queues {
                let _ = self.gpu.synchronize(queue);
            }
        }
    }
}

/// Rows of a body and its index must fill whole vectors.
const _: () = assert!(size_of::<Vector>() == pack::ROW);
