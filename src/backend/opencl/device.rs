//! An OpenCL device as what the device of the engine needs.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use crate::backend::gpu::model::Costs;
use crate::backend::gpu::plan::Plan;
use crate::backend::gpu::shapes::{SHAPES, WIDE_SHAPES};
use crate::backend::gpu::step::Step;
use crate::backend::gpu::{self, Addresses, Gpu, GpuDevice, Inbox};
use crate::backend::{Device, DeviceDescription, DeviceOptions, Updates};
use crate::catalogue::{Descriptor, Precision};
use crate::error::Result;
use crate::system::slices::Share;
use crate::system::{Block, Line, MAX_VECTORS, Parts, Reach, Records, Sink, Source, Sources, Units, records};

use super::driver::{Address, Context, Event, Kind, Memory, Program, Properties, Queue, Staging};
use super::kernels::Kernels;
use super::outbox::Outbox;
use super::programs;
use super::text::Unit;

/// A device with the kernels of one order and precision.
pub struct OpenCl {
    kernels: Kernels,
    unit: Unit,
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
    let unit = unit(context.properties(), &options);
    let program = programs::program(&context, options.descriptor, unit)?;
    with_program(context, &program, unit, options)
}

/// The device of a context with a program, which is kept when all its kernels have run.
pub(super) fn with_program(
    context: Arc<Context>,
    program: &Program,
    unit: Unit,
    options: DeviceOptions,
) -> Result<GpuDevice<OpenCl>> {
    if program.is_new() && matches!(unit, Unit::Wide(_)) {
        for shape in SHAPES.len()..SHAPES.len() + WIDE_SHAPES.len() {
            let options = DeviceOptions { shape: Some(shape), ..options.clone() };
            try_all(on(context.clone(), program, unit, options)?)?;
        }
        program.keep();
    }
    on(context, program, unit, options)
}

/// The device of a context with a program.
fn on(context: Arc<Context>, program: &Program, unit: Unit, options: DeviceOptions) -> Result<GpuDevice<OpenCl>> {
    let kernels = Kernels::new(program, options.descriptor, unit)?;
    let records = Memory::new(&context, 0, "records")?;
    GpuDevice::new(OpenCl { kernels, unit, records, ended: Cell::new(None), context }, options)
}

/// Lets a device run each of its kernels once, with two bodies: PoCL compiles a kernel when it first runs, and what is
/// kept for other processes should be compiled.
fn try_all(mut device: GpuDevice<OpenCl>) -> Result<()> {
    let Descriptor { taylor, outputs, nearest, .. } = *device.options().descriptor;
    let mut sources = Sources::new(taylor);
    let source = |index| Source::from_derivatives(index, 1.0, 0.0, [[f64::from(index), 0.0, 0.0]]);
    sources.write(0, &source(0))?;
    sources.write(1, &source(1))?;
    let sink = Sink { index: 0, softening2: 1.0, radius2: 4.0, step: 0.0, derivatives: [[0.0; 3]; MAX_VECTORS] };
    let block = Block {
        sinks: [sink].into_iter().collect(),
        skip_own_index: true,
        time: 0.0,
        predicts: true,
        nj: 2,
        units: Units::CALLERS,
        reach: Reach::ByMass,
    };
    let lines = records::lines(taylor, [(1, source(1))]);
    let updates = Updates { fresh: Records::new(&lines, lines.len()), ..Updates::of(&sources) };
    device.start(&updates, &block, &Share::whole(1))?;
    let mut parts = Parts::new(outputs, nearest);
    parts.reset(1, 1)?;
    device.wait_more(&mut parts, 0)?;
    device.neighbours(&sources, &block, 0..1, &mut [Vec::new()])
}

/// Which kernels a device runs: a CPU those with vectors, unless a launch shape of the others is asked for.
pub(super) fn unit(properties: &Properties, options: &DeviceOptions) -> Unit {
    let width = match options.descriptor.precision {
        Precision::Double | Precision::Quad => properties.double_width,
        _ => properties.float_width,
    };
    match properties.kind {
        Kind::Cpu if options.shape.is_none_or(|shape| shape >= SHAPES.len()) => Unit::Wide(properties.lanes(width)),
        _ => Unit::Groups { is_nvidia: properties.is_nvidia },
    }
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

    fn plan(&mut self, options: &DeviceOptions) -> Plan {
        match (self.unit, self.context.properties().kind) {
            (Unit::Wide(width), _) => Plan::Wide { width },
            // There for tests, and not worth a measurement.
            (Unit::Groups { .. }, Kind::Cpu) => Plan::Groups(Costs::nominal(options.descriptor)),
            (Unit::Groups { .. }, _) => Plan::Groups(gpu::costs(self, options.descriptor)),
        }
    }

    fn multiprocessors(&self) -> usize {
        self.context.properties().compute_units
    }

    fn resident(&self, _: usize) -> Result<Option<usize>> {
        Ok(None)
    }

    /// OpenCL 1.2 does not promise it, and NVIDIA's compiler takes CUDA's fences.
    fn can_end(&self) -> bool {
        self.unit == Unit::Groups { is_nvidia: true }
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
