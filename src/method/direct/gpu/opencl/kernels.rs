//! The kernels of an order and a precision on a device, and how they are launched.

use bytemuck::bytes_of;

use crate::data::{CHUNK, Descriptor, Result};
use crate::hal::opencl::{Address, Argument, Event, Kernel, Program, Queue};
use crate::method::direct::gpu::model::END_SINKS;
use crate::method::direct::gpu::shapes::{SHAPES, end_threads};
use crate::method::direct::gpu::step::Step;
use crate::method::direct::gpu::{Addresses, finder};

/// `FETCH_THREADS` in `kernels/fetch.h`.
pub(super) const FETCH_THREADS: usize = 256;
/// `MOST_THREADS` in `kernels/prelude_opencl.h`.
pub(super) const MOST_THREADS: usize = 256;
/// Groups of threads that look for neighbours at most; each goes through many chunks.
const MOST_GROUPS: i32 = 4096;
/// The kernels of a program. Arguments are those of the kernels in `kernels/`, in their order.
pub struct Kernels {
    fetch: Kernel,
    predict: Kernel,
    force: Vec<(Kernel, usize)>,
    end: Kernel,
    neighbours: Kernel,
    /// Whether that finds what the sums left out, among predicted sources.
    finds_left_out: bool,
    /// Threads of a group that ends a block.
    end_threads: usize,
}

/// Sets all arguments of a kernel.
macro_rules! set {
    ($kernel:expr, $($argument:expr),* $(,)?) => {{
        for (place, argument) in [$(Argument::from($argument)),*].into_iter().enumerate() {
            $kernel.set(place, argument)?;
        }
    }};
}

impl<'a> From<&'a Step> for Argument<'a> {
    fn from(step: &'a Step) -> Argument<'a> {
        Argument::Bytes(bytes_of(step))
    }
}

impl<'a> From<&'a i32> for Argument<'a> {
    fn from(number: &'a i32) -> Argument<'a> {
        Argument::Bytes(bytes_of(number))
    }
}

impl From<Address> for Argument<'_> {
    fn from(address: Address) -> Self {
        Argument::Memory(address)
    }
}

impl Kernels {
    /// The kernels of a program, of which the process may have others.
    pub fn new(program: &Program, descriptor: &Descriptor) -> Result<Kernels> {
        let mut force = Vec::with_capacity(SHAPES.len());
        for shape in SHAPES {
            force.push((program.kernel(shape.name)?, shape.threads));
        }
        Ok(Kernels {
            fetch: program.kernel("fetch")?,
            predict: program.kernel("predict_sources")?,
            force,
            end: program.kernel("end_block")?,
            neighbours: program.kernel(finder(descriptor))?,
            finds_left_out: descriptor.is_regular(),
            end_threads: end_threads(descriptor, MOST_THREADS),
        })
    }

    /// Puts `count` records, each of so many words, in their places.
    ///
    /// # Safety
    /// Every address is that of memory of the length that the counts say until the queue has done the work. So for the
    /// other launches.
    pub unsafe fn fetch(
        &mut self,
        queue: &Queue,
        store: &[Address; 5],
        is_dense: bool,
        (records, count, words): (Address, usize, usize),
    ) -> Result<()> {
        let [octets, indices, ranges, slots, predicted] = *store;
        let (count, is_dense, vectors) = (count as i32, i32::from(is_dense), 0);
        // The sinks come by a copy: none are fetched.
        let (from, to) = (predicted, predicted);
        set!(self.fetch, records, &count, octets, indices, ranges, slots, &is_dense, from, to, &vectors);
        let groups = (count as usize * words).div_ceil(FETCH_THREADS).clamp(1, 128);
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { queue.launch(&mut self.fetch, groups, FETCH_THREADS) }
    }

    /// Predicts the sources of the step's slices.
    ///
    /// # Safety
    /// See [`Kernels::fetch`].
    pub unsafe fn predict(&mut self, queue: &Queue, step: &Step, store: &[Address; 5]) -> Result<()> {
        let [octets, _, _, slots, predicted] = *store;
        let chunks = step.chunks_of_slices();
        if chunks <= 0 {
            return Ok(());
        }
        set!(self.predict, step, octets, slots, predicted);
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { queue.launch(&mut self.predict, chunks as usize, CHUNK) }
    }

    /// Sets the arguments of the sums of a block in a shape: the kernel, its groups and their threads.
    fn force_with(
        &mut self,
        shape: usize,
        step: &Step,
        memory: &Addresses<Address>,
    ) -> Result<(&mut Kernel, usize, usize)> {
        let [octets, indices, ranges, slots, predicted] = memory.store;
        let [sums, distances, strands] = memory.parts;
        let (sinks, ticket, results, flag) = (memory.sinks, memory.ticket, memory.results, memory.flag);
        let (kernel, threads) = &mut self.force[shape];
        set!(
            kernel, step, octets, indices, ranges, slots, predicted, sinks, sums, distances, strands, ticket, results,
            flag,
        );
        Ok((kernel, (step.groups * step.parts * step.slices) as usize, *threads))
    }

    /// Sums the parts of a block in a shape, and tells how that ends if it is `marked`.
    ///
    /// # Safety
    /// See [`Kernels::fetch`].
    pub unsafe fn force(
        &mut self,
        queue: &Queue,
        shape: usize,
        step: &Step,
        memory: &Addresses<Address>,
        marked: bool,
    ) -> Result<Option<Event>> {
        let (kernel, groups, threads) = self.force_with(shape, step, memory)?;
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { begin(queue, kernel, (groups, threads), marked) }
    }

    /// Adds the parts of a block, and tells how that ends if it is `marked`.
    ///
    /// # Safety
    /// See [`Kernels::fetch`].
    pub unsafe fn end(
        &mut self,
        queue: &Queue,
        step: &Step,
        memory: &Addresses<Address>,
        marked: bool,
    ) -> Result<Option<Event>> {
        let [octets, indices, _, slots, predicted] = memory.store;
        let [sums, distances, strands] = memory.parts;
        let (sinks, ticket, results, flag) = (memory.sinks, memory.ticket, memory.results, memory.flag);
        set!(self.end, step, octets, indices, slots, predicted, sinks, sums, distances, strands, ticket, results, flag);
        let groups = (step.ni as usize).div_ceil(END_SINKS);
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { begin(queue, &mut self.end, (groups, self.end_threads), marked) }
    }

    /// Finds the neighbours of a window of sinks.
    ///
    /// # Safety
    /// See [`Kernels::fetch`].
    pub unsafe fn neighbours(
        &mut self,
        queue: &Queue,
        step: &Step,
        store: &[Address; 5],
        sinks: Address,
        (lengths, lists, room): (Address, Address, i32),
    ) -> Result<()> {
        let [octets, indices, _, slots, predicted] = *store;
        let sources = if self.finds_left_out { predicted } else { octets };
        set!(self.neighbours, step, sources, indices, slots, sinks, lengths, lists, &room);
        let groups = step.chunks.clamp(1, MOST_GROUPS) as usize;
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { queue.launch(&mut self.neighbours, groups, CHUNK) }
    }
}

/// Begins a kernel, and tells how it ends if it is marked.
///
/// # Safety
/// See [`Kernels::fetch`].
unsafe fn begin(
    queue: &Queue,
    kernel: &mut Kernel,
    (groups, threads): (usize, usize),
    marked: bool,
) -> Result<Option<Event>> {
    // SAFETY: the caller's promise.
    unsafe {
        match marked {
            true => queue.launch_marked(kernel, groups, threads).map(Some),
            false => queue.launch(kernel, groups, threads).map(|()| None),
        }
    }
}
