//! A device with the kernels of a pair interaction, and its memory.

use std::ops::Range;

use kyoho_core::{CHUNK, Error, Result, SLICES, chunks_below, memory};
use kyoho_hal::gpu::{Address, Argument, Code, Event, Gpu, HostMemory, Launch, Place};
use kyoho_hal::grow_buffer::GrowBuffer;
use kyoho_language::blocks;
use kyoho_language::limbs::Component;
use kyoho_language::number::Number;
use kyoho_language::types::Type;

use super::kernel::{Layout, MEMORIES, NAMES, PIECE, THREADS};
use super::run::{Limb, Results, Run};
use crate::{Columns, DeviceRows, PairLists};

/// The threads below which the sums of slices are made by way of those of blocks.
const FEW: usize = 1 << 15;
/// The bytes of the sums of blocks, as far as single slices allow.
const BYTES_OF_BLOCKS: usize = 1 << 24;

/// The fields of sinks or sources on a device.
pub struct Side<G: Gpu> {
    columns: GrowBuffer<G>,
    /// The bodies for which there is room.
    room: usize,
    /// The version that is there.
    pub version: Option<u64>,
}

/// A device with its kernels and its memory.
pub struct OnDevice<G: Gpu> {
    // Memory and kernels go before the device.
    kernels: Vec<G::Kernel>,
    pub sides: [Side<G>; 2],
    /// The rows of each side that changed.
    changed: [GrowBuffer<G>; 2],
    tables: GrowBuffer<G>,
    records: GrowBuffer<G>,
    /// The first place and the number of sources of each sink's list, and the addresses of lists.
    lists: [GrowBuffer<G>; 2],
    /// The sums of slices, of variables of 8 and of 4 bytes.
    partials: [GrowBuffer<G>; 2],
    results: [GrowBuffer<G>; 2],
    /// Page-locked memory for the results, as the device has them.
    staging: G::HostMemory,
    /// The ends of the copies of each piece of sinks.
    pub copied: Vec<G::Event>,
    queue: G::Queue,
    pub gpu: G,
}

/// Units of sources whose sums are made: chunks or blocks of so many sources.
struct Units {
    first: usize,
    end: usize,
    /// The units up to which a row goes on, a slice's number after each.
    span: usize,
    width: usize,
}

impl<G: Gpu> OnDevice<G> {
    pub fn new(gpu: G, code: &Code) -> Result<OnDevice<G>> {
        let caller = gpu.enter()?;
        let room = || GrowBuffer::new(&gpu, "pairs");
        let side = || Ok(Side { columns: room()?, room: 0, version: None });
        let device = OnDevice {
            kernels: gpu.load(code, &NAMES)?,
            sides: [side()?, side()?],
            changed: [room()?, room()?],
            tables: room()?,
            records: room()?,
            lists: [room()?, room()?],
            partials: [room()?, room()?],
            results: [room()?, room()?],
            staging: gpu.allocate_host(0, "results of pairs")?,
            copied: Vec::new(),
            queue: gpu.queue()?,
            gpu,
        };
        drop(caller);
        Ok(device)
    }

    pub fn synchronize(&self) -> Result<()> {
        let _caller = self.gpu.enter()?;
        self.gpu.synchronize(&self.queue)
    }

    /// Sends what changed, and begins what depends on sources alone.
    pub fn begin(&mut self, run: &Run, sinks: usize) -> Result<()> {
        let _caller = self.gpu.enter()?;
        let layout = run.layout;
        self.send_columns(run)?;
        self.tables.ensure_capacity(&self.gpu, run.tables.len())?;
        self.records.ensure_capacity(&self.gpu, chunks_below(run.sources) * CHUNK * layout.record_bytes)?;
        for (place, size) in [8, 4].into_iter().enumerate() {
            let row = layout.counts[place] * size * PIECE;
            self.results[place].ensure_capacity(&self.gpu, sinks.div_ceil(PIECE) * row)?;
        }
        if !run.is_left {
            self.see_to_staging(&run.results, sinks)?;
        }
        // SAFETY: there is room for the tables, whose bytes stay until `shared` has synchronized.
        unsafe { send(&self.gpu, &self.queue, &run.tables, &self.tables, 0)? };
        if run.sources == 0 {
            return Ok(());
        }
        let counts = [run.sources as u32, self.sides[1].room as u32];
        let memories = [&self.sides[1].columns, &self.tables, &self.records];
        let blocks = run.sources.div_ceil(THREADS);
        let kernel = &mut self.kernels[0];
        // SAFETY: there are records for all sources, and columns of so many.
        unsafe { launch((&self.gpu, &self.queue), (kernel, 0), blocks, &memories, &counts, &run.values) }
    }

    /// Sees to it that there is room for the results of some sinks on the host.
    pub fn see_to_staging(&mut self, results: &Results, sinks: usize) -> Result<()> {
        let _caller = self.gpu.enter()?;
        let bytes = sinks * results.bytes_of_sink()?;
        if self.staging.bytes() < bytes {
            self.staging = self.gpu.allocate_host(0, "results of pairs")?;
            self.staging = self.gpu.allocate_host(bytes, "results of pairs")?;
        }
        Ok(())
    }

    /// Begins the sums of all sources for some sinks.
    pub fn begin_pairs(&mut self, run: &Run, sinks: Range<usize>) -> Result<()> {
        let _caller = self.gpu.enter()?;
        let slices = chunks_below(run.sources).min(SLICES);
        for (piece, first) in sinks.clone().step_by(PIECE).enumerate() {
            let count = PIECE.min(sinks.end - first);
            let blocks = run.sources.div_ceil(run.layout.block);
            if count * slices < FEW && blocks > slices {
                if piece > 0 {
                    // Memory that is too small goes, and the piece before may still read it.
                    self.gpu.synchronize(&self.queue)?;
                }
                self.begin_blocks(run, first, count)?;
            } else if slices > 0 {
                self.see_to_partials(run.layout, slices * count)?;
                let (chunks, width) = (chunks_below(run.sources), CHUNK);
                self.begin_units(run, (first, count), slices, Units { first: 0, end: chunks, span: chunks, width }, 0)?;
            }
            let counts = [count as u32, slices as u32, piece as u32];
            let memories = [&self.partials[0], &self.partials[1], &self.results[0], &self.results[1]];
            let on = (&self.gpu, &self.queue);
            // SAFETY: there is room for the results of all pieces.
            unsafe { launch(on, (&mut self.kernels[2], 2), count.div_ceil(THREADS), &memories, &counts, &[])? };
            if !run.is_left {
                self.copy(&run.results, piece, sinks.len())?;
            }
        }
        Ok(())
    }

    /// Begins the sums of slices for few sinks, by way of those of blocks.
    fn begin_blocks(&mut self, run: &Run, first: usize, count: usize) -> Result<()> {
        let layout = run.layout;
        let (width, blocks) = (layout.block, run.sources.div_ceil(layout.block));
        // Windows begin with the first slice.
        let period = SLICES * CHUNK / width;
        let bytes = (8 * layout.counts[0] + 4 * layout.counts[1]) * count;
        let window = period * (BYTES_OF_BLOCKS / (bytes * period).max(1)).clamp(1, blocks.div_ceil(period));
        self.see_to_partials(layout, (SLICES + window.min(blocks)) * count)?;
        for begin in (0..blocks).step_by(window) {
            let rows = window.min(blocks - begin);
            let units = Units { first: begin, end: blocks, span: 1, width };
            self.begin_units(run, (first, count), rows, units, SLICES)?;
            let counts = [count as u32, rows as u32, u32::from(begin > 0)];
            let memories = [&self.partials[0], &self.partials[1]];
            let on = (&self.gpu, &self.queue);
            let threads = (count * SLICES).div_ceil(THREADS);
            // SAFETY: there is room for the rows of slices and of blocks.
            unsafe { launch(on, (&mut self.kernels[6], 6), threads, &memories, &counts, &[])? };
        }
        Ok(())
    }

    /// Begins the sums of units of sources for some sinks. Each row of them has sums of its own, from
    /// the row `to` on.
    fn begin_units(
        &mut self,
        run: &Run,
        (first, count): (usize, usize),
        rows: usize,
        units: Units,
        to: usize,
    ) -> Result<()> {
        let blocks = count.div_ceil(THREADS * run.layout.sinks);
        let room = self.sides[0].room;
        let Units { first: first_unit, end, span, width } = units;
        let counts = [count, first, room, run.sources, blocks, first_unit, end, span, width, to];
        let counts = counts.map(|count| count as u32);
        let memories = [&self.sides[0].columns, &self.tables, &self.records, &self.partials[0], &self.partials[1]];
        let on = (&self.gpu, &self.queue);
        // SAFETY: the caller has seen to room for the rows; columns and records have all sinks and
        // sources.
        unsafe { launch(on, (&mut self.kernels[1], 1), blocks * rows, &memories, &counts, &run.values) }
    }

    /// Sees to it that there is room for so many sums of each variable.
    fn see_to_partials(&mut self, layout: &Layout, sums: usize) -> Result<()> {
        for (place, size) in [8, 4].into_iter().enumerate() {
            self.partials[place].ensure_capacity(&self.gpu, sums * layout.counts[place] * size)?;
        }
        Ok(())
    }

    /// Begins the sums of the sources of lists for some sinks. `of_sinks` has the first place and
    /// the number of sources of each sink.
    pub fn begin_lists(
        &mut self,
        run: &Run,
        sinks: Range<usize>,
        of_sinks: &[(u64, u32)],
        lists: &PairLists,
    ) -> Result<()> {
        let _caller = self.gpu.enter()?;
        for (piece, first) in sinks.clone().step_by(PIECE).enumerate() {
            let on = (&self.gpu, &self.queue);
            let piece_of_sinks = &of_sinks[first..sinks.end.min(first + PIECE)];
            // Places are counted from the first of the piece, so that they fit into 32 bits.
            let begin = piece_of_sinks.iter().map(|(place, _)| *place).min().unwrap_or(0) as usize;
            let end = piece_of_sinks.iter().map(|(place, count)| place + u64::from(*count)).max().unwrap_or(0) as usize;
            let addresses = lists.addresses(begin..end);
            let origin = if addresses.is_some() { begin as u64 } else { 0 };
            if end as u64 - origin > u64::from(u32::MAX) - CHUNK as u64 {
                let what = format!("the places of the lists of sinks {first} to {}", first + piece_of_sinks.len() - 1);
                let allowed = format!("below {} on a GPU", u32::MAX);
                return Err(Error::BadList { what, value: end as i64 - origin as i64, allowed });
            }
            let relative = piece_of_sinks.iter().map(|(place, count)| [(*place - origin) as u32, *count]);
            let relative = memory::collected(relative, "the lists of pairs")?;
            let addresses = addresses.unwrap_or(&[]);
            let bytes: [&[u8]; 2] = [bytemuck::cast_slice(&relative), bytemuck::cast_slice(addresses)];
            // Memory that is too small goes, and the piece before may still read it.
            self.gpu.synchronize(&self.queue)?;
            for (room, bytes) in self.lists.iter_mut().zip(bytes) {
                room.ensure_capacity(&self.gpu, bytes.len())?;
                // SAFETY: there is room; the queue is waited for before the lists go.
                let sent = unsafe { send(&self.gpu, &self.queue, bytes, room, 0) };
                sent.and(self.gpu.synchronize(&self.queue))?;
            }
            let has_addresses = u32::from(!addresses.is_empty());
            let counts = [relative.len() as u32, first as u32, self.sides[0].room as u32, piece as u32, has_addresses];
            let memories = [
                &self.sides[0].columns,
                &self.tables,
                &self.records,
                &self.lists[0],
                &self.lists[1],
                &self.results[0],
                &self.results[1],
            ];
            let blocks = relative.len().div_ceil(THREADS);
            // SAFETY: the addresses are below the number of sources; there is room for the results of
            // all pieces.
            unsafe { launch(on, (&mut self.kernels[3], 3), blocks, &memories, &counts, &run.values)? };
            if !run.is_left {
                self.copy(&run.results, piece, sinks.len())?;
            }
        }
        Ok(())
    }

    /// Sends the fields that changed since the last run.
    fn send_columns(&mut self, run: &Run) -> Result<()> {
        for (place, side) in self.sides.iter_mut().enumerate() {
            let wanted = &run.program.columns[place];
            let version = run.given.changes[place].version;
            let is_same = side.version == Some(version);
            let rows_of = |column: &Component| run.given.on_device[place][column.of].as_ref();
            let count = wanted.first().map_or(0, |column| {
                let on_host = run.given.fields[place][column.of].as_ref().map(Columns::count);
                on_host.or_else(|| rows_of(column).map(|rows| rows.count)).unwrap_or(0)
            });
            let [eights, fours] = run.layout.column_counts[place];
            if let Some(changed) = &run.changed[place]
                && side.version == Some(version - 1)
                && side.room == count.next_multiple_of(16)
                && (2 * eights + fours) * side.room <= u32::MAX as usize
            {
                let from = &mut self.changed[place];
                side.version = None;
                from.ensure_capacity(&self.gpu, changed.bytes.len())?;
                // SAFETY: there is room for the rows, whose bytes stay until `shared` has
                // synchronized.
                unsafe { send(&self.gpu, &self.queue, &changed.bytes, from, 0)? };
                let kinds = [(7, 8, eights, 0), (8, 4, fours, 2 * eights * side.room)];
                for ((kernel, size, columns, before), begin) in kinds.into_iter().zip(changed.begins) {
                    let counts = [changed.count, columns, side.room, before, begin / size].map(|count| count as u32);
                    let blocks = (changed.count * columns).div_ceil(THREADS);
                    let of_kernel = (&mut self.kernels[kernel], kernel);
                    if blocks > 0 {
                        let on = (&self.gpu, &self.queue);
                        // SAFETY: the columns have these rows.
                        unsafe { launch(on, of_kernel, blocks, &[&side.columns, from], &counts, &[])? };
                    }
                }
                side.version = Some(version);
                continue;
            }
            if !is_same {
                // Columns begin at addresses that suit every number.
                side.room = count.next_multiple_of(16);
                let bytes: usize = wanted.iter().map(|column| column.scalar.size() * side.room).sum();
                side.version = None;
                side.columns.ensure_capacity(&self.gpu, bytes)?;
            }
            for (column, before) in wanted.iter().zip(&run.layout.columns[place]) {
                if let Some(rows) = rows_of(column) {
                    // The caller may have written other numbers there.
                    let of = run.given.pairs.fields[place][column.of].of;
                    self.gpu.wait_for_caller(&self.queue, rows.stream)?;
                    let (to, size) = (side.columns.at(), column.scalar.size());
                    let Some(from) = self.gpu.address_of_caller(rows.address) else { continue };
                    let place = (column.component * of.scalar.limbs() + column.limb) as u32;
                    let ends = [
                        ((to, before * side.room / size), 1),
                        ((Argument::Memory(from), place as usize), rows.stride as usize / size),
                    ];
                    let kernel = &mut self.kernels[if size == 8 { 4 } else { 5 }];
                    // SAFETY: there is room for the column, and the rows were checked.
                    unsafe { move_numbers((&self.gpu, &self.queue), kernel, count, ends)? };
                    continue;
                }
                let Some(numbers) = run.given.fields[place][column.of].as_ref().filter(|_| !is_same) else { continue };
                let bytes = numbers.limb(column.component, column.limb);
                // SAFETY: there is room for the column; the caller's numbers stay until `run` has
                // synchronized.
                unsafe { send(&self.gpu, &self.queue, bytes, &side.columns, before * side.room)? };
            }
            side.version = Some(version);
        }
        Ok(())
    }

    /// Begins to copy the results of a piece of `sinks` sinks to the host.
    pub fn copy(&mut self, run: &Results, piece: usize, sinks: usize) -> Result<()> {
        let _caller = self.gpu.enter()?;
        let first = piece * PIECE;
        let count = PIECE.min(sinks - first);
        let staging = self.staging.as_mut_ptr();
        run.each_limb(|limb| {
            let kind = usize::from(limb.size == 4);
            let row = piece * run.layout.counts[kind] + run.layout.variables[limb.variable];
            let from = Place::Device(&self.results[kind].0, row * PIECE * limb.size);
            let to = staging.wrapping_add(sinks * limb.before + first * limb.size);
            // SAFETY: both memories have so many bytes there, and nobody reads the host's before the
            // end of the copy.
            unsafe { self.gpu.copy(&self.queue, from, Place::Host(to), count * limb.size) }
        })?;
        self.copied.push(self.gpu.record(&self.queue)?);
        Ok(())
    }

    /// Hands over the results of some sinks, piece after piece, as they come to the host.
    pub fn fetch(&mut self, run: &Results, sinks: Range<usize>, found: &mut [Columns]) -> Result<()> {
        let _caller = self.gpu.enter()?;
        for (piece, copied) in self.copied.iter().enumerate() {
            copied.wait()?;
            let place = piece * PIECE..sinks.len().min((piece + 1) * PIECE);
            let first = sinks.start + place.start;
            run.each_limb(|Limb { ending, limb, size, before, .. }| {
                let from = sinks.len() * before;
                // SAFETY: the copies of this piece have ended; those of later ones end elsewhere.
                let bytes: &[u8] = unsafe { self.staging.part(from + place.start * size..from + place.end * size) };
                let to = &mut found[ending.output.result];
                let component = ending.output.component;
                if to.of().scalar == ending.scalar {
                    to.limb_mut(component, limb)[first * size..first * size + bytes.len()].copy_from_slice(bytes);
                    return Ok(());
                }
                // What `argmin` names may have another type than the result.
                for (sink, bytes) in bytes.chunks_exact(size).enumerate() {
                    let mut word = [0; 8];
                    word[..size].copy_from_slice(bytes);
                    let number = blocks::number(ending.scalar, [u64::from_le_bytes(word), 0]);
                    let number = Number::of(to.of().scalar, number.widened());
                    to.set(first + sink, component, blocks::bits(number));
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Writes a result of all sinks of the last run to rows of the caller.
    pub fn write_result(
        &mut self,
        results: &Results,
        sinks: usize,
        (result, of): (usize, Type),
        rows: &DeviceRows,
    ) -> Result<()> {
        let _caller = self.gpu.enter()?;
        self.gpu.wait_for_caller(&self.queue, rows.stream)?;
        let Some(to) = self.gpu.address_of_caller(rows.address) else { return Ok(()) };
        let begun = results.each_limb(|Limb { ending, limb, variable, size, .. }| {
            if ending.output.result != result {
                return Ok(());
            }
            if ending.scalar != of.scalar {
                return Err(Error::BadOption {
                    name: "the memory of a result that names what has another type".into(),
                    value: "a device's".into(),
                    allowed: "that of the host".into(),
                });
            }
            let kind = usize::from(size == 4);
            let place = ending.output.component * of.scalar.limbs() + limb;
            for first in (0..sinks).step_by(PIECE) {
                let row = first / PIECE * results.layout.counts[kind] + results.layout.variables[variable];
                let stride = rows.stride as usize / size;
                let from = ((self.results[kind].at(), row * PIECE), 1);
                let ends = [((Argument::Memory(to), first * stride + place), stride), from];
                let kernel = &mut self.kernels[4 + kind];
                // SAFETY: the results of all sinks are there, and the rows were checked.
                unsafe { move_numbers((&self.gpu, &self.queue), kernel, PIECE.min(sinks - first), ends)? };
            }
            Ok(())
        });
        // After an error too nothing is written to the caller's rows any more.
        begun.and(self.gpu.synchronize(&self.queue))
    }
}

/// Begins to copy bytes to memory of the device.
///
/// # Safety
/// The memory has as many bytes from there on, and those of the host stay until the queue has
/// copied them.
unsafe fn send<G: Gpu>(gpu: &G, queue: &G::Queue, bytes: &[u8], to: &GrowBuffer<G>, at: usize) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { gpu.copy(queue, Place::Host(bytes.as_ptr().cast_mut()), Place::Device(&to.0, at), bytes.len()) }
}

/// A memory with the place of the first number and the distance of one to the next, in numbers.
type Moved<'a, G> = ((Argument<'a, Address<G>>, usize), usize);

/// Begins to copy a number of each row: to the first of two memories, from the second.
///
/// # Safety
/// As for [`Gpu::launch`].
unsafe fn move_numbers<G: Gpu>(
    (gpu, queue): (&G, &G::Queue),
    kernel: &mut G::Kernel,
    rows: usize,
    [((to, to_first), to_stride), ((from, from_first), from_stride)]: [Moved<'_, G>; 2],
) -> Result<()> {
    if rows == 0 {
        return Ok(());
    }
    // The kernel counts in 32 bits.
    for (first, stride) in [(to_first, to_stride), (from_first, from_stride)] {
        let last = first.saturating_add((rows - 1).saturating_mul(stride));
        if last > u32::MAX as usize {
            let what = "the place of a number of pairs in memory of the device".into();
            return Err(Error::BadList { what, value: last as i64, allowed: format!("up to {}", u32::MAX) });
        }
    }
    let counts = [rows, to_first, to_stride, from_first, from_stride].map(|count| count as u32);
    let counts = counts.each_ref().map(|count| Argument::Bytes(bytemuck::bytes_of(count)));
    let arguments: Vec<Argument<_>> = [to, from].into_iter().chain(counts).collect();
    let (blocks, threads) = (rows.div_ceil(THREADS), THREADS);
    // SAFETY: the caller's promise.
    unsafe { gpu.launch(queue, Launch { kernel, blocks, threads, overlaps: false, arguments: &arguments }) }
}

/// Begins a kernel, which gets memories, numbers and, where it has them, parameters.
///
/// # Safety
/// As for [`Gpu::launch`].
unsafe fn launch<G: Gpu>(
    (gpu, queue): (&G, &G::Queue),
    (kernel, number): (&mut G::Kernel, usize),
    blocks: usize,
    memories: &[&GrowBuffer<G>],
    counts: &[u32],
    values: &[u8],
) -> Result<()> {
    debug_assert_eq!(memories.len(), MEMORIES[number].len());
    let memories = memories.iter().map(|memory| memory.at());
    let counts = counts.iter().map(|count| Argument::Bytes(bytemuck::bytes_of(count)));
    let values = (!values.is_empty()).then_some(Argument::Bytes(values));
    let arguments: Vec<Argument<_>> = memories.chain(counts).chain(values).collect();
    // SAFETY: the caller's promise.
    unsafe { gpu.launch(queue, Launch { kernel, blocks, threads: THREADS, overlaps: false, arguments: &arguments }) }
}
