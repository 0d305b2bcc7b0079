//! One NVIDIA GPU as a device of the engine: a block in as few launches as it needs, and a flag that the host waits for.

use std::ops::Range;
use std::sync::Arc;

use crate::backend::gpu::cut::{self, Cut};
use crate::backend::gpu::model::{self, CROSSOVER, Costs, PIECE, Work};
use crate::backend::gpu::pack::{self, Vector};
use crate::backend::gpu::shapes::SHAPES;
use crate::backend::gpu::step::{Moment, Step};
use crate::backend::{Device, DeviceDescription, DeviceOptions, Updates};
use crate::error::{Error, Result};
use crate::system::slices::{Deal, SLICES, Share, chunks_below};
use crate::system::{Block, Nearest, Parts, Record, Sink, Sources};

use super::calibration;
use super::driver::{Caller, Context, Event, Memory, Pinned, Registered, Stream, driver};
use super::inbox::Inbox;
use super::kernels::{Addresses, Kernels};
use super::store::Store;
use super::windows::Windows;

/// Bytes of sinks and records that are copied before the one kernel of a block; more are fetched by a kernel, which
/// reads the host's memory faster than a copy begins.
const COPIED: usize = 32 << 10;
/// Records that the force kernel puts in their places itself.
const RECORDS_OF_FORCE: usize = 64;
/// Bytes that the parts of a piece may take.
const PARTS: usize = 256 << 20;
/// Streams that take pieces in turn.
const STREAMS: usize = 2;
/// Looks at the flag between questions to the driver whether the device still works.
const LOOKS: u32 = 1 << 16;

/// Sinks of the share that are computed together.
struct Piece {
    sinks: Range<usize>,
    stride: usize,
    sequence: u32,
}

/// Memory for the parts of pieces on one stream.
struct PartsMemory {
    sums: Memory,
    distances: Memory,
    strands: Memory,
}

/// What a choice of cut and shape depends on: rounded sinks of the block and of the share, sets of slices, chunks, and
/// whether the sources are predicted.
type Choice = (usize, usize, usize, usize, bool);

/// A GPU that sums forces in one order and precision.
pub struct CudaDevice {
    streams: [Stream; STREAMS],
    /// The sources and first sinks are there.
    fetched: Event,
    kernels: Kernels,
    costs: Costs,
    options: DeviceOptions,
    store: Store,
    inbox: Inbox,
    parts: [PartsMemory; STREAMS],
    tickets: Memory,
    sums: Pinned,
    distances: Pinned,
    indices: Pinned,
    flags: Pinned,
    logs: Vec<(Range<usize>, Registered)>,
    windows: Windows,
    pieces: Vec<Piece>,
    /// What the device does of the block under way.
    share: Share,
    sequence: u32,
    /// The moment to which sources on the device are predicted, and whose share.
    predicted: Option<(Moment, Share)>,
    /// What was chosen for blocks like the last ones.
    choices: Vec<(Choice, Cut, usize)>,
    context: Arc<Context>,
    /// Goes last: while the rest is given back, the device's context is current.
    caller: Option<Caller>,
}

/// Choices that are remembered.
const CHOICES: usize = 64;

impl CudaDevice {
    /// Opens a device.
    pub fn new(number: usize, options: DeviceOptions) -> Result<CudaDevice> {
        let _caller = Caller::of(driver()?);
        CudaDevice::on(Context::new(number)?, options)
    }

    /// As [`CudaDevice::new`], in a certain context.
    pub(super) fn on(context: Arc<Context>, options: DeviceOptions) -> Result<CudaDevice> {
        let descriptor = options.descriptor;
        let kernels = Kernels::new(&context, descriptor)?;
        let streams = [Stream::new(&context)?, Stream::new(&context)?];
        let memory = |what| Memory::new(&context, 0, what);
        let parts = || -> Result<PartsMemory> {
            Ok(PartsMemory { sums: memory("parts")?, distances: memory("parts")?, strands: memory("parts")? })
        };
        let tickets = Memory::new(&context, 4 * STREAMS, "tickets")?;
        // SAFETY: the memory is that long; the streams' first kernels come after.
        unsafe { streams[0].zero(tickets.address(), 4 * STREAMS)? };
        streams[0].synchronize()?;
        let costs = calibration::costs(&context, &kernels, descriptor);
        let mut device = CudaDevice {
            fetched: Event::new(&context, false)?,
            store: Store::new(&context, descriptor)?,
            inbox: Inbox::new(&context, descriptor)?,
            parts: [parts()?, parts()?],
            tickets,
            sums: Pinned::new(&context, 0, "results")?,
            distances: Pinned::new(&context, 0, "results")?,
            indices: Pinned::new(&context, 0, "results")?,
            flags: Pinned::new(&context, 4, "flags")?,
            logs: Vec::new(),
            windows: Windows::new(&context)?,
            pieces: Vec::new(),
            share: Share::whole(0),
            sequence: 0,
            predicted: None,
            choices: Vec::new(),
            streams,
            kernels,
            costs,
            options,
            context,
            caller: None,
        };
        device.room_for_results(1)?;
        Ok(device)
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

    /// The fastest shape by the device's constants for some sinks and one of so many sets of slices, and its seconds.
    fn shape(&self, cut: Cut, ni: usize, chunks: usize, sets: usize, predicted: bool) -> (f64, usize) {
        let descriptor = self.options.descriptor;
        let work = Work { descriptor, cut, ni, chunks: chunks.div_ceil(sets), slices: SLICES / sets, predicted };
        let fits = |shape: &usize| SHAPES.get(*shape).is_some_and(|s| s.strands(descriptor) == cut.strands);
        match self.options.shape.filter(fits) {
            Some(shape) => (model::seconds(&self.costs, shape, work), shape),
            None => cut::fastest(&self.costs, work).unwrap_or((f64::INFINITY, 0)),
        }
    }

    /// Cuts the sinks of the share into pieces.
    fn cut_pieces(&mut self, ni: usize, parts: usize) {
        let bytes = parts * self.share.slices().len() * (8 * self.options.descriptor.outputs + 12);
        let most = (PARTS / bytes.max(1) / 64 * 64).clamp(64, PIECE);
        let length = if ni <= most + most / 2 && most == PIECE { ni } else { most };
        self.pieces.clear();
        let mut first = 0;
        while first < ni {
            let sinks = first..ni.min(first + length);
            self.sequence = self.sequence.wrapping_add(1).max(1);
            self.pieces.push(Piece { stride: sinks.len().next_multiple_of(8), sequence: self.sequence, sinks });
            first += length;
        }
    }

    fn room_for_results(&mut self, sinks: usize) -> Result<()> {
        let descriptor = self.options.descriptor;
        let wanted = sinks.max(8) * descriptor.outputs * 8;
        if self.sums.bytes() < wanted {
            let rows = sinks.max(8).next_power_of_two();
            let results = |bytes| Pinned::new(&self.context, rows * bytes, "results");
            // All or none, or the next block would find room in one and not in the others.
            (self.sums, self.distances, self.indices) = (results(descriptor.outputs * 8)?, results(8)?, results(4)?);
        }
        if self.flags.bytes() < 4 * self.pieces.len() {
            self.flags = Pinned::new(&self.context, 8 * self.pieces.len(), "flags")?;
        }
        Ok(())
    }

    fn room_for_parts(&mut self, parts: usize) -> Result<()> {
        let stride = self.pieces.iter().map(|piece| piece.stride).max().unwrap_or(0);
        let rows = parts * self.share.slices().len() * stride;
        let outputs = self.options.descriptor.outputs;
        let streams = self.pieces.len().min(STREAMS);
        for parts in &mut self.parts[..streams] {
            if parts.strands.bytes() < rows * 4 {
                let rows = rows + rows / 4;
                parts.sums = Memory::new(&self.context, rows * outputs * 8, "parts")?;
                parts.distances = Memory::new(&self.context, rows * 8, "parts")?;
                parts.strands = Memory::new(&self.context, rows * 4, "parts")?;
            }
        }
        Ok(())
    }

    /// The device's address of records in memory that was registered.
    fn registered(&self, fresh: &[Record]) -> Option<u64> {
        let first = fresh.as_ptr().addr();
        let log = self.logs.iter().find(|(range, _)| range.contains(&first))?;
        Some(log.1.device_address() + (first - log.0.start) as u64)
    }

    /// Puts everything in the queues of the device.
    fn enqueue(&mut self, updates: &Updates, block: &Block) -> Result<()> {
        let descriptor = self.options.descriptor;
        let Updates { sources, everything, missed, fresh } = *updates;
        let share = self.share.clone();
        let chunks = sources.chunks_below(block.nj);
        let moment = Moment::of(block);
        let changed = self.store.update(sources, everything, &self.streams[0])?;
        if changed || !missed.is_empty() || !fresh.is_empty() {
            self.predicted = None;
        }
        let is_predicted = self.predicted.as_ref().is_some_and(|(of, whose)| *of == moment && whose.covers(&share));
        let (cut, shape) = self.choose(block.sinks.len().max(1), &share, chunks.max(1), is_predicted);
        self.cut_pieces(if chunks == 0 { 0 } else { share.sinks.len() }, cut.parts);
        self.room_for_results(share.sinks.len())?;
        self.room_for_parts(cut.parts)?;
        let records = missed.len() + fresh.len();
        self.inbox.make_room(&self.context, self.pieces.iter().map(|piece| piece.stride), records)?;

        let mut step = Step {
            moment,
            chunks: chunks as i32,
            first_slice: share.set as i32,
            slice_step: share.sets as i32,
            slices: share.slices().len() as i32,
            parts: cut.parts as i32,
            skip_own_index: i32::from(block.skip_own_index),
            is_dense: i32::from(self.store.is_dense()),
            is_predicted: i32::from(is_predicted),
            strands: cut.strands as i32,
            ..Step::default()
        };
        let mut memory = Addresses { store: self.store.addresses(), ..Addresses::default() };
        let fused = SHAPES[shape].fused;
        let by_force = fused && fresh.len() <= RECORDS_OF_FORCE && self.pieces.len() == 1;
        // Without sinks, all that was written is put in its place.
        let at_once = if self.pieces.is_empty() { [missed, fresh] } else { [missed, &[]] };
        for records in at_once.into_iter().filter(|records| !records.is_empty()) {
            memory.records = self.inbox.keep_records(records, self.registered(records));
            // SAFETY: the records lie in memory that is mapped, and stay there until the block was waited for.
            unsafe { self.kernels.fetch(&self.streams[0], &step, &memory, records.len(), (0, 0))? };
        }
        for number in 0..self.pieces.len() {
            let Piece { sinks, stride, sequence } = &self.pieces[number];
            let (stride, stream) = (*stride, number % STREAMS);
            step.ni = sinks.len() as i32;
            step.stride = stride as i32;
            step.sequence = *sequence;
            step.groups = sinks.len().div_ceil(SHAPES[shape].group_sinks(descriptor)) as i32;
            step.records = 0;
            let at = self.inbox.pack(descriptor, &block.sinks[share.sinks.clone()][sinks.clone()], stride);
            memory.sinks = self.inbox.device() + at.start as u64;
            memory.sink_indices = memory.sinks + (pack::rows(descriptor) * stride * pack::ROW) as u64;
            let row = sinks.start as u64;
            memory.results = [
                self.sums.device_address() + row * descriptor.outputs as u64 * 8,
                self.distances.device_address() + row * 8,
                self.indices.device_address() + row * 4,
            ];
            memory.flag = self.flags.device_address() + 4 * number as u64;
            memory.ticket = self.tickets.address() + 4 * stream as u64;
            let parts = &self.parts[stream];
            memory.parts = [&parts.sums, &parts.distances, &parts.strands].map(Memory::address);
            let stream = &self.streams[stream];
            let mut overlaps = false;
            // SAFETY: the store, the inbox, the parts and the results have room for what the step says, the registered
            // records and the inbox are not written until the block was waited for, and memory is freed only when no
            // block is under way.
            unsafe {
                let record_bytes = size_of_val(fresh);
                if number == 0 && by_force && at.len() + record_bytes <= COPIED {
                    let records = self.inbox.pack_records(fresh);
                    memory.records = self.inbox.device() + records.start as u64;
                    step.records = fresh.len() as i32;
                    self.inbox.copy(stream, at.start..records.end)?;
                } else if number == 0 && (!fresh.is_empty() || at.len() > COPIED) {
                    memory.records = self.inbox.keep_records(fresh, self.registered(fresh));
                    let from = self.inbox.mapped() + at.start as u64;
                    self.kernels.fetch(stream, &step, &memory, fresh.len(), (from, at.len() / pack::ROW))?;
                    overlaps = true;
                } else {
                    self.inbox.copy(stream, at)?;
                }
                if number == 0 && !fused && !is_predicted {
                    self.kernels.predict(stream, &step, &memory, overlaps)?;
                    self.predicted = Some((moment, share.clone()));
                    overlaps = true;
                }
                if number == 0 {
                    step.is_predicted = i32::from(is_predicted || !fused);
                    if self.pieces.len() > 1 {
                        self.fetched.record(stream)?;
                    }
                } else if number < STREAMS {
                    stream.wait_for(&self.fetched)?;
                }
                self.kernels.force(stream, shape, &step, &memory, overlaps)?;
                if !SHAPES[shape].ends {
                    self.kernels.end(stream, &step, &memory, true)?;
                }
            }
        }
        Ok(())
    }

    /// Waits until the device has written a flag.
    fn wait_for(&self, piece: usize) -> Result<()> {
        let wanted = self.pieces[piece].sequence;
        // SAFETY: the flag lies in pinned memory that has one for each piece; the device writes it while it is read.
        let flag = || unsafe { self.flags.as_ptr().cast::<u32>().add(piece).read_volatile() };
        let mut looks = 0u32;
        loop {
            if flag() == wanted {
                std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
                return Ok(());
            }
            looks += 1;
            if looks.is_multiple_of(LOOKS) {
                if self.streams[piece % STREAMS].is_done()? && flag() != wanted {
                    return Err(Error::Internal { what: "a device ended a block without saying so".into() });
                }
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }

    /// Hands in the sums of a piece.
    fn take(&mut self, piece: usize, parts: &mut Parts) -> Result<()> {
        if let Err(error) = self.wait_for(piece) {
            self.give_up();
            return Err(error);
        }
        let descriptor = self.options.descriptor;
        let outputs = descriptor.outputs;
        let sinks = self.pieces[piece].sinks.clone();
        let first = self.share.sinks.start;
        let (from, to) = (sinks.clone(), first + sinks.start..first + sinks.end);
        let into = parts.set(self.share.set);
        into.values[to.start * outputs..to.end * outputs]
            .copy_from_slice(&self.sums.as_slice::<f64>()[from.start * outputs..from.end * outputs]);
        if descriptor.nearest {
            let distances = &self.distances.as_slice::<f64>()[from.clone()];
            let indices = &self.indices.as_slice::<i32>()[from];
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
        self.streams[0].synchronize().inspect_err(|_| self.give_up())
    }

    /// Forgets a block that failed; nothing of the device is believed to be as it was.
    fn give_up(&mut self) {
        for stream in &self.streams {
            let _ = stream.synchronize();
        }
        self.pieces.clear();
        self.predicted = None;
        self.store.forget();
    }
}

impl Device for CudaDevice {
    fn describe(&self) -> DeviceDescription {
        super::description(self.context.properties())
    }

    fn takes_records(&self) -> bool {
        true
    }

    fn register(&mut self, records: &[Record]) -> Result<()> {
        let _caller = self.context.enter()?;
        let first = records.as_ptr().addr();
        // SAFETY: the engine keeps the memory until this device is dropped.
        let log = unsafe { Registered::new(&self.context, records.as_ptr().cast(), size_of_val(records))? };
        self.logs.push((first..first + size_of_val(records), log));
        Ok(())
    }

    fn start(&mut self, updates: &Updates, block: &Block, share: &Share) -> Result<()> {
        let _caller = self.context.enter()?;
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
        let _caller = self.context.enter()?;
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
        let _caller = self.context.enter()?;
        let window: &[Sink] = &block.sinks[sinks];
        let step = Step {
            moment: Moment::of(block),
            ni: window.len() as i32,
            chunks: sources.chunks_below(block.nj) as i32,
            skip_own_index: i32::from(block.skip_own_index),
            is_dense: i32::from(self.store.is_dense()),
            ..Step::default()
        };
        let memory = Addresses { store: self.store.addresses(), ..Addresses::default() };
        self.windows.find((&self.context, &self.streams[0], &self.kernels), step, memory, window, found)
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
        let pinned = [&self.sums, &self.distances, &self.indices, &self.flags];
        self.store.bytes()
            + self.inbox.bytes()
            + self.windows.bytes()
            + pinned.iter().map(|memory| memory.bytes()).sum::<usize>()
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        self.caller = self.context.enter().ok();
        // Memory must outlast the work that is under way in it.
        if self.caller.is_some() {
            for stream in &self.streams {
                let _ = stream.synchronize();
            }
        }
    }
}

/// Rows of a body and its index must fill whole vectors.
const _: () = assert!(size_of::<Vector>() == pack::ROW);
