//! The device's copy of the sources.

use std::sync::Arc;

use crate::data::{CHUNK, Error, Interaction, Result, Sources, TakeChunk, chunks_below};
use crate::hal::gpu::{Address, DeviceMemory, Gpu, HostMemory, Place};

use super::chunks::Chunks;
use super::launches::StoreAddresses;
use super::pack;

/// The most chunks that are sent in one copy.
const AT_ONCE: usize = 64;

/// Chunks of sources in the memory of a device: octets, indices, ranges of indices, the table of
/// slots, and the sources as they were last predicted.
pub struct Store<G: Gpu> {
    interaction: Arc<Interaction>,
    chunks: Chunks,
    /// The number of chunks that there is room for.
    room: usize,
    octets: G::Memory,
    indices: G::Memory,
    ranges: G::Memory,
    predicted: G::Memory,
    slots: G::Memory,
    staging: G::HostMemory,
    stale: Vec<(usize, usize)>,
}

impl<G: Gpu> Store<G> {
    /// Makes a copy without sources.
    pub fn new(gpu: &G, interaction: Arc<Interaction>) -> Result<Store<G>> {
        let memory = |bytes, what| gpu.allocate(bytes, what);
        let bytes_of_chunk = pack::chunk_numbers(&interaction) * 8 + CHUNK * 4 + 8;
        Ok(Store {
            chunks: Chunks::default(),
            room: 0,
            octets: memory(0, "sources")?,
            indices: memory(0, "indices of sources")?,
            ranges: memory(0, "ranges of indices")?,
            predicted: memory(0, "predicted sources")?,
            slots: memory(0, "the table of slots")?,
            staging: gpu.allocate_host(AT_ONCE * bytes_of_chunk, "chunks on their way")?,
            stale: Vec::new(),
            interaction,
        })
    }

    /// Returns its memory as arguments of kernels.
    pub fn addresses(&self) -> StoreAddresses<Address<G>> {
        StoreAddresses {
            octets: self.octets.address(),
            indices: self.indices.address(),
            ranges: self.ranges.address(),
            slots: self.slots.address(),
            predicted: self.predicted.address(),
        }
    }

    /// Returns the octets, and the number of chunks in them.
    pub fn octets(&self) -> (&G::Memory, usize) {
        (&self.octets, self.chunks.count())
    }

    /// Whether the slot of a chunk is its number.
    pub fn is_dense(&self) -> bool {
        self.chunks.is_dense()
    }

    /// Returns the bytes of host memory in use.
    pub fn bytes(&self) -> usize {
        self.chunks.bytes() + self.staging.bytes() + self.stale.capacity() * size_of::<(usize, usize)>()
    }

    /// Forgets what the device has, so that all of it is sent again.
    pub fn forget(&mut self) {
        self.chunks.forget();
    }

    /// Sends the chunks that the host has changed, as it lists them or as all are compared, and
    /// returns whether there were any.
    pub fn update(&mut self, gpu: &G, queue: &G::Queue, sources: &Sources, all: bool) -> Result<bool> {
        let mut stale = std::mem::take(&mut self.stale);
        let sent = self.chunks.stale(sources, all, &mut stale).and_then(|()| self.send((gpu, queue), sources, &stale));
        let any = !stale.is_empty();
        self.stale = stale;
        if sent.is_err() {
            self.chunks.forget();
        }
        sent.map(|()| any)
    }

    /// Makes room for sources at this many addresses from 0 on, in chunks whose slots are their
    /// numbers. They are yet to be written, and all others are forgotten.
    pub fn take_dense(&mut self, gpu: &G, queue: &G::Queue, addresses: usize) -> Result<()> {
        self.chunks.take_dense(chunks_below(addresses))?;
        if self.chunks.count() > self.room {
            self.grow(gpu, queue)?;
        }
        self.send_table(gpu, queue)
    }

    /// Hands over the sources at this many addresses from 0 on, in chunks whose slots are their
    /// numbers: the number of the chunk, its octets and its indices.
    pub fn fetch(&mut self, gpu: &G, queue: &G::Queue, addresses: usize, take: TakeChunk) -> Result<()> {
        let numbers = pack::chunk_numbers(&self.interaction);
        let chunks = chunks_below(addresses);
        for first in (0..chunks).step_by(AT_ONCE) {
            let count = (chunks - first).min(AT_ONCE);
            let to = self.staging.as_mut_ptr();
            let of_indices = to.wrapping_add(AT_ONCE * numbers * 8);
            // SAFETY: the staging area has room for so many chunks, and the device has them; the
            // copies are waited for.
            unsafe {
                let fetch = |from: &G::Memory, bytes: usize, to: *mut u8| {
                    gpu.copy(queue, Place::Device(from, first * bytes), Place::Host(to), count * bytes)
                };
                fetch(&self.octets, numbers * 8, to)?;
                fetch(&self.indices, CHUNK * 4, of_indices)?;
            }
            gpu.synchronize(queue)?;
            let (octets, rest) = self.staging.as_slice::<u8>().split_at(AT_ONCE * numbers * 8);
            let octets = bytemuck::cast_slice::<u8, f64>(octets).chunks(numbers);
            let indices = bytemuck::cast_slice::<u8, i32>(&rest[..AT_ONCE * CHUNK * 4]).chunks(CHUNK);
            for ((number, octets), indices) in (first..first + count).zip(octets).zip(indices) {
                take(number, octets, indices)?;
            }
        }
        Ok(())
    }

    /// Sends the table of slots if it has changed.
    fn send_table(&mut self, gpu: &G, queue: &G::Queue) -> Result<()> {
        let (slots, changed) = self.chunks.table();
        if changed {
            if self.slots.bytes() < size_of_val(slots) {
                gpu.synchronize(queue)?;
                self.slots = gpu.allocate(2 * size_of_val(slots), "the table of slots")?;
            }
            // SAFETY: the table is in memory of this process, and the device's is at least as long;
            // the copy is waited for.
            unsafe {
                let from = Place::Host(slots.as_ptr().cast_mut().cast());
                gpu.copy(queue, from, Place::Device(&self.slots, 0), size_of_val(slots))?;
            }
            gpu.synchronize(queue)?;
        }
        Ok(())
    }

    fn send(&mut self, (gpu, queue): (&G, &G::Queue), sources: &Sources, stale: &[(usize, usize)]) -> Result<()> {
        if self.chunks.count() > self.room {
            self.grow(gpu, queue)?;
        }
        self.send_table(gpu, queue)?;
        let mut rest = stale;
        while !rest.is_empty() {
            let (_, slot) = rest[0];
            let count =
                (1..rest.len().min(AT_ONCE)).find(|k| rest[*k].1 != slot + k).unwrap_or(rest.len().min(AT_ONCE));
            self.send_run((gpu, queue), sources, &rest[..count], slot)?;
            rest = &rest[count..];
        }
        Ok(())
    }

    /// Sends chunks that have consecutive slots.
    fn send_run(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        sources: &Sources,
        run: &[(usize, usize)],
        slot: usize,
    ) -> Result<()> {
        let numbers = pack::chunk_numbers(&self.interaction);
        let (octets, rest) = self.staging.as_mut_slice::<u8>().split_at_mut(AT_ONCE * numbers * 8);
        let (indices, ranges) = rest.split_at_mut(AT_ONCE * CHUNK * 4);
        let octets: &mut [f64] = bytemuck::cast_slice_mut(octets);
        let indices: &mut [i32] = bytemuck::cast_slice_mut(indices);
        let ranges: &mut [i32] = bytemuck::cast_slice_mut(&mut ranges[..AT_ONCE * 8]);
        for (place, (number, _)) in run.iter().enumerate() {
            let chunk = sources
                .chunk(*number)
                .ok_or_else(|| Error::Internal { what: format!("chunk {number} was found and is not there") })?;
            let octets = &mut octets[place * numbers..][..numbers];
            pack::chunk(&self.interaction, chunk, octets, &mut indices[place * CHUNK..][..CHUNK]);
            ranges[2 * place..][..2].copy_from_slice(&chunk.index_range().bounds());
        }
        let count = run.len();
        // SAFETY: the staging area holds `count` chunks and so does the device's memory from the
        // slot on, which `grow` saw to; the copies are waited for before the area is used again.
        unsafe {
            let send = |from: *const u8, to: &G::Memory, bytes_of_chunk: usize| {
                let to = Place::Device(to, slot * bytes_of_chunk);
                gpu.copy(queue, Place::Host(from.cast_mut()), to, count * bytes_of_chunk)
            };
            send(octets.as_ptr().cast(), &self.octets, numbers * 8)?;
            send(indices.as_ptr().cast(), &self.indices, CHUNK * 4)?;
            send(ranges.as_ptr().cast(), &self.ranges, 8)?;
        }
        gpu.synchronize(queue)
    }

    /// Makes room for all chunks, and half as many to come.
    fn grow(&mut self, gpu: &G, queue: &G::Queue) -> Result<()> {
        let room = self.chunks.count() + self.room / 2;
        let numbers = pack::chunk_numbers(&self.interaction);
        let body = pack::rows(&self.interaction) * pack::ROW * CHUNK;
        let larger = |old: &G::Memory, bytes: usize, what| -> Result<G::Memory> {
            let new = gpu.allocate(room * bytes, what)?;
            // SAFETY: the new memory is longer than the old one; the copy is waited for.
            unsafe {
                gpu.copy(queue, Place::Device(old, 0), Place::Device(&new, 0), old.bytes().min(self.room * bytes))?
            };
            Ok(new)
        };
        let octets = larger(&self.octets, numbers * 8, "sources")?;
        let indices = larger(&self.indices, CHUNK * 4, "indices of sources")?;
        let ranges = larger(&self.ranges, 8, "ranges of indices")?;
        let predicted = gpu.allocate(room * body, "predicted sources")?;
        gpu.synchronize(queue)?;
        (self.octets, self.indices, self.ranges, self.predicted, self.room) =
            (octets, indices, ranges, predicted, room);
        Ok(())
    }
}
