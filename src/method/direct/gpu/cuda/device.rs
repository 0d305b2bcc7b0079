//! An NVIDIA GPU as what the device of the engine needs.

use std::ops::Range;
use std::sync::Arc;

use crate::data::{Line, Records, Result};
use crate::hal::DeviceDescription;
use crate::hal::cuda::{Caller, Context, Event, Memory, Pinned, Registered, Stream, driver};
use crate::method::DeviceOptions;
use crate::method::direct::gpu::step::Step;
use crate::method::direct::gpu::{self, Addresses, Gpu, GpuDevice, Inbox, pack};

use super::kernels::Kernels;
use super::outbox::Outbox;

/// A device with the kernels of one order and precision.
pub struct Cuda {
    kernels: Kernels,
    /// Memory that kernels may read where it is.
    logs: Vec<(Range<usize>, Registered)>,
    context: Arc<Context>,
}

/// The device of this number, opened for the engine.
pub fn open(number: usize, options: DeviceOptions) -> Result<GpuDevice<Cuda>> {
    let _caller = Caller::of(driver()?);
    on(Context::new(number)?, options)
}

/// As [`open`], in a certain context.
pub(super) fn on(context: Arc<Context>, options: DeviceOptions) -> Result<GpuDevice<Cuda>> {
    let kernels = Kernels::new(&context, options.descriptor)?;
    GpuDevice::new(Cuda { kernels, logs: Vec::new(), context }, options)
}

impl Cuda {
    /// The context that everything of the device belongs to.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The device's address of records in memory that was registered.
    fn registered(&self, records: Records) -> Option<u64> {
        let first = records.lines().as_ptr().addr();
        let log = self.logs.iter().find(|(range, _)| range.contains(&first))?;
        Some(log.1.device_address() + (first - log.0.start) as u64)
    }
}

impl gpu::Memory for Memory {
    type Address = u64;

    fn bytes(&self) -> usize {
        Memory::bytes(self)
    }

    fn address(&self) -> u64 {
        Memory::address(self)
    }
}

// What the functions promise and ask for is said where the trait is.
impl Gpu for Cuda {
    type Memory = Memory;
    type Staging = Pinned;
    type Queue = Stream;
    type Mark = Event;
    type Outbox = Outbox;
    type Caller = Caller;

    fn enter(&self) -> Result<Caller> {
        self.context.enter()
    }

    fn describe(&self) -> DeviceDescription {
        crate::hal::cuda::description(self.context.properties())
    }

    fn identity(&self) -> String {
        self.context.properties().bus.clone()
    }

    fn is_measured(&self) -> bool {
        true
    }

    fn multiprocessors(&self) -> usize {
        self.context.properties().multiprocessors
    }

    fn resident(&self, shape: usize) -> Result<Option<usize>> {
        self.kernels.resident(shape).map(Some)
    }

    fn can_end(&self) -> bool {
        true
    }

    fn memory(&self, bytes: usize, what: &'static str) -> Result<Memory> {
        Memory::new(&self.context, bytes, what)
    }

    fn staging(&self, bytes: usize, what: &'static str) -> Result<Pinned> {
        Pinned::new(&self.context, bytes, what)
    }

    unsafe fn register(&mut self, memory: &[Line]) -> Result<()> {
        let first = memory.as_ptr().addr();
        // SAFETY: the caller's promise.
        let log = unsafe { Registered::new(&self.context, memory.as_ptr().cast(), size_of_val(memory))? };
        self.logs.push((first..first + size_of_val(memory), log));
        Ok(())
    }

    fn queue(&self) -> Result<Stream> {
        Stream::new(&self.context)
    }

    fn synchronize(&self, queue: &Stream) -> Result<()> {
        queue.synchronize()
    }

    fn mark(&self) -> Result<Event> {
        Event::new(&self.context, false)
    }

    fn record(&self, queue: &Stream, mark: &mut Event) -> Result<()> {
        mark.record(queue)
    }

    fn wait_for(&self, queue: &Stream, mark: &Event) -> Result<()> {
        queue.wait_for(mark)
    }

    unsafe fn write(&self, queue: &Stream, from: *const u8, to: (&Memory, usize), bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { queue.to_device(from, to.0.address() + to.1 as u64, bytes) }
    }

    unsafe fn read(&self, queue: &Stream, from: &Memory, to: *mut u8, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { queue.from_device(from.address(), to, bytes) }
    }

    unsafe fn copy(&self, queue: &Stream, from: &Memory, to: &Memory, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { queue.device_to_device(from.address(), to.address(), bytes) }
    }

    unsafe fn zero(&self, queue: &Stream, memory: &Memory, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { queue.zero(memory.address(), bytes) }
    }

    /// A kernel that reads the host's memory, which begins sooner than a large copy.
    unsafe fn bring(
        &mut self,
        queue: &Stream,
        store: &[u64; 5],
        is_dense: bool,
        inbox: &mut Inbox<Cuda>,
        sinks: Range<usize>,
        records: Records,
    ) -> Result<()> {
        let host = inbox.host.device_address();
        let from = match self.registered(records) {
            Some(address) => address,
            None => host + inbox.pack_records(records).start as u64,
        };
        let (vectors, to) = (sinks.len() / pack::ROW, inbox.device.address() + sinks.start as u64);
        let sinks = (host + sinks.start as u64, to, vectors);
        // SAFETY: the caller's promise; records and sinks lie in memory that is mapped.
        unsafe { self.kernels.fetch(queue, store, is_dense, (from, records.len(), records.words()), sinks) }
    }

    unsafe fn predict(&mut self, queue: &Stream, step: &Step, store: &[u64; 5], overlaps: bool) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.kernels.predict(queue, step, store, overlaps) }
    }

    unsafe fn force(
        &mut self,
        queue: &Stream,
        shape: usize,
        step: &Step,
        memory: &Addresses<u64>,
        overlaps: bool,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.kernels.force(queue, shape, step, memory, overlaps) }
    }

    unsafe fn end(&mut self, queue: &Stream, step: &Step, memory: &Addresses<u64>, overlaps: bool) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.kernels.end(queue, step, memory, overlaps) }
    }

    unsafe fn neighbours(
        &mut self,
        queue: &Stream,
        step: &Step,
        store: &[u64; 5],
        sinks: u64,
        lists: (u64, u64, i32),
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.kernels.neighbours(queue, step, store, sinks, lists) }
    }

    unsafe fn seconds_of_force(
        &mut self,
        queue: &Stream,
        shape: usize,
        step: &Step,
        memory: &Addresses<u64>,
    ) -> Result<f64> {
        let events = [Event::new(&self.context, true)?, Event::new(&self.context, true)?];
        events[0].record(queue)?;
        // SAFETY: the caller's promise.
        unsafe { self.kernels.force(queue, shape, step, memory, false)? };
        events[1].record(queue)?;
        events[1].synchronize()?;
        Ok(f64::from(events[1].milliseconds_since(&events[0])?) * 1e-3)
    }
}
