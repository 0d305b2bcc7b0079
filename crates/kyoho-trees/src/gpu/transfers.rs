//! Copies of large arrays between the host and a device, by way of page-locked memory: a driver takes
//! several times as long for other memory, as one thread copies it.

use bytemuck::{NoUninit, Pod};

use kyoho_core::{Pooled, Result};
use kyoho_hal::gpu::{DeviceMemory, Event, Gpu, HostMemory, Place};
use kyoho_hal::grow_buffer::GrowBuffer;

use crate::cpu::on_device::Host;

/// The bytes of each of the two halves of the page-locked memory.
const HALF: usize = 8 << 20;
/// The bytes that a thread copies at a time.
const OF_JOB: usize = 1 << 18;
/// The items that a thread makes at a time.
const PIECE: usize = 1 << 12;
/// The name of the memory in errors.
const WHAT: &str = "arrays on their way";

/// Page-locked memory: one half is on its way while threads write or read the other one.
pub struct Staging<G: Gpu> {
    memory: G::HostMemory,
    half: usize,
}

impl<G: Gpu> Staging<G> {
    /// Makes it without memory, which comes with the first large array.
    pub fn new(gpu: &G) -> Result<Staging<G>> {
        Ok(Staging { memory: gpu.allocate_host(0, WHAT)?, half: HALF })
    }

    /// Makes one whose halves have so many bytes.
    #[cfg(test)]
    pub fn with_halves_of(gpu: &G, half: usize) -> Result<Staging<G>> {
        Ok(Staging { half, ..Staging::new(gpu)? })
    }
}

/// A device and the host's side of it.
pub struct Transfers<'a, G: Gpu> {
    /// The device.
    pub gpu: &'a G,
    /// The queue of the copies.
    pub queue: &'a G::Queue,
    /// The page-locked memory.
    pub staging: &'a mut Staging<G>,
    /// The threads that copy, and memory for what comes.
    pub host: Host<'a>,
}

impl<'a, G: Gpu> Transfers<'a, G> {
    /// Returns the device with its queue.
    pub fn on(&self) -> (&'a G, &'a G::Queue) {
        (self.gpu, self.queue)
    }

    /// Sees to it that there is page-locked memory.
    fn make_room(&mut self) -> Result<()> {
        if self.staging.memory.bytes() < 2 * self.staging.half {
            self.staging.memory = self.gpu.allocate_host(2 * self.staging.half, WHAT)?;
        }
        Ok(())
    }

    /// Copies items of the host to a byte of memory of the device and the bytes behind it.
    pub fn send<T: NoUninit>(&mut self, to: &G::Memory, byte: usize, items: &[T]) -> Result<()> {
        let (bytes, half): (&[u8], usize) = (bytemuck::cast_slice(items), self.staging.half);
        if bytes.len() <= half {
            return send(self.on(), to, byte, bytes);
        }
        assert!(byte + bytes.len() <= to.bytes());
        self.make_room()?;
        let mut ended: [Option<G::Event>; 2] = [None, None];
        let begun = bytes.chunks(half).enumerate().try_for_each(|(number, piece)| {
            let place = number % 2 * half..number % 2 * half + piece.len();
            ended[number % 2].take().map_or(Ok(()), |ended| ended.wait())?;
            // SAFETY: the copy from this half has ended.
            let room: &mut [u8] = unsafe { self.staging.memory.part_mut(place.clone()) };
            let jobs = room.chunks_mut(OF_JOB).zip(piece.chunks(OF_JOB));
            self.host.0.each(jobs, |(to, from)| to.copy_from_slice(from));
            let from = Place::Host(self.staging.memory.as_mut_ptr().wrapping_add(place.start));
            // SAFETY: both are that long, and nobody writes to this half before the copy has ended.
            unsafe { self.gpu.copy(self.queue, from, Place::Device(to, byte + number * half), piece.len())? };
            ended[number % 2] = Some(self.gpu.record(self.queue)?);
            Ok(())
        });
        // What was begun before an error is waited for too.
        self.gpu.synchronize(self.queue).and(begun)
    }

    /// Copies items from the begin of memory of the device.
    pub fn fetch<T: Pod>(&mut self, from: &G::Memory, into: &mut [T]) -> Result<()> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(into);
        assert!(bytes.len() <= from.bytes());
        if bytes.is_empty() {
            return Ok(());
        }
        let half = self.staging.half;
        if bytes.len() <= half {
            let to = Place::Host(bytes.as_mut_ptr());
            // SAFETY: both are that long, and the copy is waited for.
            let begun = unsafe { self.gpu.copy(self.queue, Place::Device(from, 0), to, bytes.len()) };
            return self.gpu.synchronize(self.queue).and(begun);
        }
        self.make_room()?;
        let count = bytes.len();
        let begin = |staging: &mut Staging<G>, number: usize| -> Result<Option<G::Event>> {
            let first = number * half;
            if first >= count {
                return Ok(None);
            }
            let to = Place::Host(staging.memory.as_mut_ptr().wrapping_add(number % 2 * half));
            // SAFETY: both are that long, and nobody reads this half before the copy has ended.
            unsafe { self.gpu.copy(self.queue, Place::Device(from, first), to, half.min(count - first))? };
            self.gpu.record(self.queue).map(Some)
        };
        let mut fetch = || {
            let mut ended = [begin(self.staging, 0)?, begin(self.staging, 1)?];
            bytes.chunks_mut(half).enumerate().try_for_each(|(number, piece)| {
                ended[number % 2].take().map_or(Ok(()), |ended| ended.wait())?;
                let place = number % 2 * half..number % 2 * half + piece.len();
                // SAFETY: the copy to this half has ended.
                let came: &[u8] = unsafe { self.staging.memory.part(place) };
                let jobs = piece.chunks_mut(OF_JOB).zip(came.chunks(OF_JOB));
                self.host.0.each(jobs, |(to, from)| to.copy_from_slice(from));
                ended[number % 2] = begin(self.staging, number + 2)?;
                Ok(())
            })
        };
        let fetched = fetch();
        // What was begun before an error is waited for too.
        self.gpu.synchronize(self.queue).and(fetched)
    }

    /// Copies so many items from the begin of memory of the device.
    pub fn fetched<T: Pod + Send>(&mut self, from: &GrowBuffer<G>, count: usize) -> Result<Pooled<T>> {
        let mut items = self.host.1.unwritten(count, T::zeroed(), WHAT)?;
        self.fetch(&from.0, &mut items[..])?;
        Ok(items)
    }
}

/// Copies a few items of the host to a byte of memory of the device and the bytes behind it.
pub fn send<G: Gpu, T: NoUninit>(
    (gpu, queue): (&G, &G::Queue),
    to: &G::Memory,
    byte: usize,
    items: &[T],
) -> Result<()> {
    assert!(byte + size_of_val(items) <= to.bytes());
    if items.is_empty() {
        return Ok(());
    }
    let from = Place::Host(items.as_ptr().cast_mut().cast());
    // SAFETY: both are that long, and the copy is waited for.
    let begun = unsafe { gpu.copy(queue, from, Place::Device(to, byte), size_of_val(items)) };
    gpu.synchronize(queue).and(begun)
}

/// Makes so many items by several threads.
pub fn made<T: Copy + Send + 'static>(
    (threads, pool): Host,
    count: usize,
    empty: T,
    make: impl Fn(usize) -> T + Sync,
) -> Result<Pooled<T>> {
    let mut items = pool.unwritten(count, empty, WHAT)?;
    threads.each(items.chunks_mut(PIECE).enumerate(), |(piece, items)| {
        items.iter_mut().zip(piece * PIECE..).for_each(|(item, number)| *item = make(number));
    });
    Ok(items)
}

/// Makes the numbers of so many rows of a length by several threads.
pub fn made_rows<T: Copy + Send + 'static>(
    (threads, pool): Host,
    (rows, length): (std::ops::Range<usize>, usize),
    empty: T,
    make: impl Fn(usize, &mut [T]) + Sync,
) -> Result<Pooled<T>> {
    let mut numbers = pool.unwritten(rows.len() * length, empty, WHAT)?;
    threads.each(numbers.chunks_mut(PIECE * length).enumerate(), |(piece, numbers)| {
        let of_piece = numbers.chunks_exact_mut(length).zip(rows.start + piece * PIECE..);
        of_piece.for_each(|(row, number)| make(number, row));
    });
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use kyoho_core::BufferPool;
    use kyoho_hal::gpu::Gpu;
    use kyoho_hal::opencl::OpenCl;
    use kyoho_hal::opencl::hooks;
    use kyoho_hal::threads::Threads;

    use super::*;

    #[test]
    fn arrays_of_any_length_arrive_as_they_were() {
        let Some(context) = hooks::patched_context(|_| ()) else { return };
        let gpu = OpenCl::on((*context).clone());
        gpu.enter().unwrap();
        let (threads, pool) = (Threads::new(2), BufferPool::default());
        let queue = gpu.queue().unwrap();
        let mut staging = Staging::with_halves_of(&gpu, 1 << 10).unwrap();
        let mut transfers = Transfers { gpu: &gpu, queue: &queue, staging: &mut staging, host: (&threads, &pool) };
        for count in [0, 1, 255, 256, 257, 511, 512, 513, 1000, 5000] {
            let items: Vec<u32> = (0..count).map(|number: u32| number.wrapping_mul(2_654_435_761)).collect();
            let memory = gpu.allocate(4 * items.len() + 12, "a test").unwrap();
            transfers.send(&memory, 8, &items).unwrap();
            let mut back = vec![0_u32; items.len() + 2];
            transfers.fetch(&memory, &mut back).unwrap();
            assert_eq!(back[2..], items, "{count}");
        }
    }
}
