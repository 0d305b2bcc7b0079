//! The device's copy of the sources.

use std::sync::Arc;

use kyoho_core::{CHUNK, Error, Interaction, Result, Sources, TakeChunk, chunks_below};
use kyoho_hal::gpu::{Address, DeviceMemory, Gpu, HostMemory, Place};
use kyoho_hal::grow_buffer::GrowBuffer;
use kyoho_hal::threads::Threads;

use super::chunks::Chunks;
use super::pack;
use super::sources::StoreAddresses;

/// The chunks that are sent in one copy where few have changed, and where many have.
const AT_ONCE: [usize; 2] = [64, 512];
/// The chunks that a thread packs at a time.
const CHUNKS_OF_JOB: usize = 16;

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
    predicted: GrowBuffer<G>,
    slots: G::Memory,
    staging: G::HostMemory,
    /// The chunks that the staging area has room for.
    at_once: usize,
    threads: Threads,
    stale: Vec<(usize, usize)>,
}

impl<G: Gpu> Store<G> {
    /// Makes a copy without sources. At most this many threads pack them.
    pub fn new(gpu: &G, interaction: Arc<Interaction>, threads: usize) -> Result<Store<G>> {
        let memory = |bytes, what| gpu.allocate(bytes, what);
        Ok(Store {
            chunks: Chunks::default(),
            room: 0,
            octets: memory(0, "sources")?,
            indices: memory(0, "indices of sources")?,
            ranges: memory(0, "ranges of indices")?,
            predicted: GrowBuffer::new(gpu, "predicted sources")?,
            slots: memory(0, "the table of slots")?,
            staging: staging(gpu, &interaction, AT_ONCE[0])?,
            at_once: AT_ONCE[0],
            threads: Threads::for_copies(threads),
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
            predicted: self.predicted.0.address(),
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

    /// Returns the number of places below an address, which a tree has the bodies of, where
    /// [`Store::update_in_order`] brought them.
    pub fn places_below(&self, address: usize) -> usize {
        self.chunks.places_below(address)
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

    /// Does so, and sees to it that places follow one another as their addresses do, whatever the order
    /// in which the caller wrote them first.
    pub fn update_in_order(&mut self, gpu: &G, queue: &G::Queue, sources: &Sources, all: bool) -> Result<bool> {
        let any = self.update(gpu, queue, sources, all)?;
        if self.chunks.is_in_order() {
            return Ok(any);
        }
        self.chunks.put_in_order();
        self.update(gpu, queue, sources, true)
    }

    /// Whether it has places for sources at this many addresses from 0 on and for no others, in
    /// chunks whose slots are their numbers.
    pub fn has_places(&self, addresses: usize) -> bool {
        self.is_dense() && self.chunks.count() == chunks_below(addresses)
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
        let at_once = self.at_once;
        for first in (0..chunks).step_by(at_once) {
            let count = (chunks - first).min(at_once);
            let to = self.staging.as_mut_ptr();
            let of_indices = to.wrapping_add(at_once * numbers * 8);
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
            // SAFETY: the copies have ended, and no other work uses the staging area.
            let staging: &[u8] = unsafe { self.staging.part(0..self.staging.bytes()) };
            let (octets, rest) = staging.split_at(at_once * numbers * 8);
            let octets = bytemuck::cast_slice::<u8, f64>(octets).chunks(numbers);
            let indices = bytemuck::cast_slice::<u8, i32>(&rest[..at_once * CHUNK * 4]).chunks(CHUNK);
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
        if stale.len() > self.at_once {
            self.staging = staging(gpu, &self.interaction, AT_ONCE[1])?;
            self.at_once = AT_ONCE[1];
        }
        let mut rest = stale;
        while !rest.is_empty() {
            let (_, slot) = rest[0];
            let most = rest.len().min(self.at_once);
            let count = (1..most).find(|k| rest[*k].1 != slot + k).unwrap_or(most);
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
        let missing = run.iter().find(|(number, _)| sources.chunk(*number).is_none());
        if let Some((number, _)) = missing {
            return Err(Error::Internal { what: format!("chunk {number} was found and is not there") });
        }
        let all = 0..self.staging.bytes();
        // SAFETY: whoever begins a copy that uses the staging area waits for it.
        let staging: &mut [u8] = unsafe { self.staging.part_mut(all) };
        let (octets, rest) = staging.split_at_mut(self.at_once * numbers * 8);
        let (indices, ranges) = rest.split_at_mut(self.at_once * CHUNK * 4);
        let octets: &mut [f64] = bytemuck::cast_slice_mut(octets);
        let indices: &mut [i32] = bytemuck::cast_slice_mut(indices);
        let ranges: &mut [i32] = bytemuck::cast_slice_mut(&mut ranges[..self.at_once * 8]);
        let jobs = run
            .chunks(CHUNKS_OF_JOB)
            .zip(octets.chunks_mut(CHUNKS_OF_JOB * numbers))
            .zip(indices.chunks_mut(CHUNKS_OF_JOB * CHUNK))
            .zip(ranges.chunks_mut(CHUNKS_OF_JOB * 2));
        self.threads.each(jobs, |(((run, octets), indices), ranges)| {
            let places = octets.chunks_mut(numbers).zip(indices.chunks_mut(CHUNK)).zip(ranges.chunks_mut(2));
            for ((number, _), ((octets, indices), range)) in run.iter().zip(places) {
                if let Some(chunk) = sources.chunk(*number) {
                    pack::chunk(&self.interaction, chunk, octets, indices);
                    range.copy_from_slice(&chunk.index_range().bounds());
                }
            }
        });
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

    /// Makes room for predicted sources, of which trees have none.
    pub fn make_room_for_predicted(&mut self, gpu: &G) -> Result<()> {
        self.predicted.ensure_capacity(gpu, self.room * pack::rows(&self.interaction) * pack::ROW * CHUNK)
    }

    /// Makes room for all chunks, and half as many to come.
    fn grow(&mut self, gpu: &G, queue: &G::Queue) -> Result<()> {
        let room = self.chunks.count() + self.room / 2;
        let numbers = pack::chunk_numbers(&self.interaction);
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
        gpu.synchronize(queue)?;
        (self.octets, self.indices, self.ranges, self.room) = (octets, indices, ranges, room);
        Ok(())
    }
}

/// Makes a staging area for this many chunks.
fn staging<G: Gpu>(gpu: &G, interaction: &Interaction, chunks: usize) -> Result<G::HostMemory> {
    let bytes_of_chunk = pack::chunk_numbers(interaction) * 8 + CHUNK * 4 + 8;
    gpu.allocate_host(chunks * bytes_of_chunk, "chunks on their way")
}
