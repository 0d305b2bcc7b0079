//! An OpenCL device as what the device of the engine needs.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use crate::data::{Line, Records, Result};
use crate::hal::DeviceDescription;
use crate::hal::opencl::{Address, Context, Event, Kind, Memory, Program, Queue, Staging};
use crate::method::DeviceOptions;
use crate::method::direct::gpu::step::Step;
use crate::method::direct::gpu::{self, Addresses, Gpu, GpuDevice, Inbox};

use super::kernels::Kernels;
use super::outbox::Outbox;
use super::programs;

/// A device with the kernels of one order and precision.
pub struct OpenCl {
    kernels: Kernels,
    /// Where kernels read records: they cannot read the host's memory.
    records: Memory,
    /// The end of the kernel that was begun last of those that make results.
    ended: Cell<Option<Event>>,
    context: Arc<Context>,
}

/// The device of this number, opened for the engine.
pub fn open(number: usize, options: DeviceOptions) -> Result<GpuDevice<OpenCl>> {
    // A driver may recover only when all of what failed was given back.
    programs::give_back_failed();
    let context = Context::new(number)?;
    let program = programs::program(&context, options.descriptor)?;
    with_program(context, &program, options)
}

/// The device of a context with a program.
pub(super) fn with_program(
    context: Arc<Context>,
    program: &Program,
    options: DeviceOptions,
) -> Result<GpuDevice<OpenCl>> {
    let kernels = Kernels::new(program, options.descriptor)?;
    let records = Memory::new(&context, 0, "records")?;
    GpuDevice::new(OpenCl { kernels, records, ended: Cell::new(None), context }, options)
}

impl OpenCl {
    /// The context that everything of the device belongs to.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Whether kernels that make results are asked how they ended. After one that failed NVIDIA's driver refuses all that
    /// follows, and asking it takes 9 us.
    fn is_marked(&self) -> bool {
        !self.context.properties().is_nvidia
    }

    /// The end of the kernel that was begun last of those that make results, once.
    pub fn take_ended(&self) -> Option<Event> {
        self.ended.take()
    }
}

impl gpu::Memory for Memory {
    type Address = Address;

    fn bytes(&self) -> usize {
        Memory::bytes(self)
    }

    fn address(&self) -> Address {
        Memory::address(self)
    }
}

// What the functions promise and ask for is said where the trait is.
impl Gpu for OpenCl {
    type Memory = Memory;
    type Staging = Staging;
    type Queue = Queue;
    type Mark = Option<Event>;
    type Outbox = Outbox;
    type Caller = ();

    /// A fork has no page-locked memory: it must be told before it touches any.
    fn enter(&self) -> Result<()> {
        self.context.check_process()
    }

    fn describe(&self) -> DeviceDescription {
        self.context.properties().description()
    }

    fn identity(&self) -> String {
        self.context.name()
    }

    /// CPUs are there for tests, and not worth a measurement.
    fn is_measured(&self) -> bool {
        self.context.properties().kind != Kind::Cpu
    }

    fn multiprocessors(&self) -> usize {
        self.context.properties().compute_units
    }

    fn resident(&self, _: usize) -> Result<Option<usize>> {
        Ok(None)
    }

    /// OpenCL 1.2 does not promise it, and NVIDIA's compiler takes CUDA's fences.
    fn can_end(&self) -> bool {
        self.context.properties().is_nvidia
    }

    fn memory(&self, bytes: usize, what: &'static str) -> Result<Memory> {
        Memory::new(&self.context, bytes, what)
    }

    fn staging(&self, bytes: usize, what: &'static str) -> Result<Staging> {
        Staging::new(&self.context, bytes, what)
    }

    unsafe fn register(&mut self, _: &[Line]) -> Result<()> {
        Ok(())
    }

    fn queue(&self) -> Result<Queue> {
        Queue::new(&self.context)
    }

    fn synchronize(&self, queue: &Queue) -> Result<()> {
        queue.synchronize()
    }

    fn mark(&self) -> Result<Option<Event>> {
        Ok(None)
    }

    fn record(&self, queue: &Queue, mark: &mut Option<Event>) -> Result<()> {
        *mark = Some(queue.mark()?);
        // Another queue that waits for it may come first to the device.
        queue.flush()
    }

    fn wait_for(&self, queue: &Queue, mark: &Option<Event>) -> Result<()> {
        mark.as_ref().map_or(Ok(()), |event| queue.wait_for(event))
    }

    unsafe fn write(&self, queue: &Queue, from: *const u8, to: (&Memory, usize), bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { queue.write(from, to.0, to.1, bytes) }
    }

    unsafe fn read(&self, queue: &Queue, from: &Memory, to: *mut u8, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { queue.read(from, 0, to, bytes) }.map(drop)
    }

    unsafe fn copy(&self, queue: &Queue, from: &Memory, to: &Memory, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { queue.copy(from, to, bytes) }
    }

    unsafe fn zero(&self, queue: &Queue, memory: &Memory, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { queue.zero(memory, bytes) }
    }

    unsafe fn bring(
        &mut self,
        queue: &Queue,
        store: &[Address; 5],
        is_dense: bool,
        inbox: &mut Inbox<OpenCl>,
        sinks: Range<usize>,
        records: Records,
    ) -> Result<()> {
        let bytes = size_of_val(records.lines());
        if self.records.bytes() < bytes {
            // What reads the old ones may be under way.
            queue.synchronize()?;
            self.records = Memory::new(&self.context, bytes.next_power_of_two(), "records")?;
        }
        // SAFETY: the caller's promise; the memory has room for the records, and a queue keeps the order of what is
        // begun.
        unsafe {
            if !records.is_empty() {
                queue.write(records.lines().as_ptr().cast(), &self.records, 0, bytes)?;
                self.kernels.fetch(queue, store, is_dense, (self.records.address(), records.len(), records.words()))?;
            }
            if !sinks.is_empty() {
                inbox.copy(self, queue, sinks)?;
            }
        }
        Ok(())
    }

    unsafe fn predict(&mut self, queue: &Queue, step: &Step, store: &[Address; 5], _: bool) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.kernels.predict(queue, step, store) }
    }

    unsafe fn force(
        &mut self,
        queue: &Queue,
        shape: usize,
        step: &Step,
        memory: &Addresses<Address>,
        _: bool,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        self.ended = Cell::new(unsafe { self.kernels.force(queue, shape, step, memory, self.is_marked())? });
        Ok(())
    }

    unsafe fn end(&mut self, queue: &Queue, step: &Step, memory: &Addresses<Address>, _: bool) -> Result<()> {
        // SAFETY: the caller's promise.
        self.ended = Cell::new(unsafe { self.kernels.end(queue, step, memory, self.is_marked())? });
        Ok(())
    }

    unsafe fn neighbours(
        &mut self,
        queue: &Queue,
        step: &Step,
        store: &[Address; 5],
        sinks: Address,
        lists: (Address, Address, i32),
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.kernels.neighbours(queue, step, store, sinks, lists) }
    }

    unsafe fn seconds_of_force(
        &mut self,
        queue: &Queue,
        shape: usize,
        step: &Step,
        memory: &Addresses<Address>,
    ) -> Result<f64> {
        queue.synchronize()?;
        let timed = Queue::timed(&self.context)?;
        // SAFETY: the caller's promise; what was begun before has ended.
        let event = unsafe { self.kernels.force(&timed, shape, step, memory, true)? };
        timed.synchronize()?;
        event.map_or(Ok(0.0), |event| event.seconds())
    }
}
