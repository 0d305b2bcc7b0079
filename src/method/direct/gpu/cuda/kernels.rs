//! The kernels of an order and a precision on a device, and how they are launched.

use std::ffi::c_void;
use std::sync::Arc;

use crate::data::{CHUNK, Descriptor, Result};
use crate::hal::cuda::{Context, Function, Module, Stream};
use crate::method::direct::gpu::model::END_SINKS;
use crate::method::direct::gpu::shapes::{SHAPES, end_threads};
use crate::method::direct::gpu::step::Step;
use crate::method::direct::gpu::{Addresses, finder};

use super::images;

/// `FETCH_THREADS` in `kernels/fetch.h`.
pub(super) const FETCH_THREADS: usize = 256;
/// `MOST_THREADS` in `kernels/prelude_cuda.h`.
const MOST_THREADS: usize = 1024;

/// The kernels of a module.
pub struct Kernels {
    fetch: Function,
    predict: Function,
    force: [Function; SHAPES.len()],
    end: Function,
    neighbours: Function,
    /// Whether that finds what the sums left out, among predicted sources.
    finds_left_out: bool,
    /// `END_THREADS` in `kernels/parts.h`.
    pub(super) end_threads: usize,
    /// Whether kernels may be started before those ahead have ended.
    may_overlap: bool,
    /// Functions live as long as their module.
    _module: Module,
}

/// Launches a function with arguments of the types that its kernel has.
///
/// # Safety
/// The arguments are those of the kernel, and addresses among them are valid until the stream has done the work.
macro_rules! launch {
    ($stream:expr, $function:expr, $groups:expr, $threads:expr, $overlaps:expr, $($argument:expr),* $(,)?) => {{
        let mut parameters = [$((&raw const $argument).cast::<c_void>().cast_mut()),*];
        $stream.launch($function, ($groups as u32, 1), $threads as u32, 0, $overlaps, &mut parameters)
    }};
}

impl Kernels {
    /// Loads the code for a device.
    pub fn new(context: &Arc<Context>, descriptor: &Descriptor) -> Result<Kernels> {
        let image =
            images::image((descriptor.order, descriptor.precision, descriptor.scope), context.properties().compute)?;
        let module = Module::new(context, image.bytes())?;
        let mut force = Vec::with_capacity(SHAPES.len());
        for shape in SHAPES {
            force.push(module.function(shape.name)?);
        }
        Ok(Kernels {
            fetch: module.function("fetch")?,
            predict: module.function("predict_sources")?,
            force: std::array::from_fn(|shape| force[shape]),
            end: module.function("end_block")?,
            neighbours: module.function(finder(descriptor))?,
            finds_left_out: descriptor.is_regular(),
            end_threads: end_threads(descriptor, MOST_THREADS),
            may_overlap: image.waits(),
            _module: module,
        })
    }

    /// Groups of a shape that are on a multiprocessor at a time.
    pub fn resident(&self, shape: usize) -> Result<usize> {
        self.force[shape].occupancy(SHAPES[shape].threads as u32, 0)
    }

    /// Puts `count` records, each of so many words, in their places and copies `vectors` rows of sinks.
    ///
    /// # Safety
    /// Every address is that of memory of the length that the counts say, on the device or mapped from the host, until
    /// the stream has done the work. So for the other launches.
    pub unsafe fn fetch(
        &self,
        stream: &Stream,
        store: &[u64; 5],
        is_dense: bool,
        (records, count, words): (u64, usize, usize),
        (from, to, vectors): (u64, u64, usize),
    ) -> Result<()> {
        let [octets, indices, ranges, slots, _] = *store;
        let (count, vectors, is_dense) = (count as i32, vectors as i32, i32::from(is_dense));
        let wanted = (count as usize * words).max(vectors as usize).div_ceil(FETCH_THREADS).clamp(1, 128);
        // SAFETY: the caller's promise; the types are those of the kernel.
        unsafe {
            launch!(
                stream,
                self.fetch,
                wanted,
                FETCH_THREADS,
                false,
                records,
                count,
                octets,
                indices,
                ranges,
                slots,
                is_dense,
                from,
                to,
                vectors,
            )
        }
    }

    /// Predicts the sources of the step's slices.
    ///
    /// # Safety
    /// See [`Kernels::fetch`].
    pub unsafe fn predict(&self, stream: &Stream, step: &Step, store: &[u64; 5], overlaps: bool) -> Result<()> {
        let [octets, _, _, slots, predicted] = *store;
        let chunks = step.chunks_of_slices();
        if chunks <= 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise; the types are those of the kernel.
        unsafe {
            launch!(stream, self.predict, chunks, CHUNK, overlaps && self.may_overlap, *step, octets, slots, predicted)
        }
    }

    /// Sums the parts of a block in a shape.
    ///
    /// # Safety
    /// See [`Kernels::fetch`].
    pub unsafe fn force(
        &self,
        stream: &Stream,
        shape: usize,
        step: &Step,
        memory: &Addresses<u64>,
        overlaps: bool,
    ) -> Result<()> {
        let [octets, indices, ranges, slots, predicted] = memory.store;
        let [parts, distances, strands] = memory.parts;
        let groups = step.groups * step.parts * step.slices;
        // SAFETY: the caller's promise; the types are those of the kernel.
        unsafe {
            launch!(
                stream,
                self.force[shape],
                groups,
                SHAPES[shape].threads,
                overlaps && self.may_overlap,
                *step,
                octets,
                indices,
                ranges,
                slots,
                predicted,
                memory.sinks,
                parts,
                distances,
                strands,
                memory.ticket,
                memory.results,
                memory.flag,
            )
        }
    }

    /// Adds the parts of a block and tells the host.
    ///
    /// # Safety
    /// See [`Kernels::fetch`].
    pub unsafe fn end(&self, stream: &Stream, step: &Step, memory: &Addresses<u64>, overlaps: bool) -> Result<()> {
        let [octets, indices, _, slots, predicted] = memory.store;
        let [parts, distances, strands] = memory.parts;
        let groups = (step.ni as usize).div_ceil(END_SINKS);
        // SAFETY: the caller's promise; the types are those of the kernel.
        unsafe {
            launch!(
                stream,
                self.end,
                groups,
                self.end_threads,
                overlaps && self.may_overlap,
                *step,
                octets,
                indices,
                slots,
                predicted,
                memory.sinks,
                parts,
                distances,
                strands,
                memory.ticket,
                memory.results,
                memory.flag,
            )
        }
    }

    /// Finds the neighbours of a window of sinks.
    ///
    /// # Safety
    /// See [`Kernels::fetch`].
    pub unsafe fn neighbours(
        &self,
        stream: &Stream,
        step: &Step,
        store: &[u64; 5],
        sinks: u64,
        (lengths, lists, room): (u64, u64, i32),
    ) -> Result<()> {
        let [octets, indices, _, slots, predicted] = *store;
        let sources = if self.finds_left_out { predicted } else { octets };
        let groups = step.chunks.min(4096);
        // SAFETY: the caller's promise; the types are those of the kernel.
        unsafe {
            launch!(
                stream,
                self.neighbours,
                groups,
                CHUNK,
                false,
                *step,
                sources,
                indices,
                slots,
                sinks,
                lengths,
                lists,
                room,
            )
        }
    }
}
