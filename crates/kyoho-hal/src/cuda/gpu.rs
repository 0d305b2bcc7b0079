//! An NVIDIA GPU for methods: [`Gpu`] over the driver.

use std::ffi::c_void;
use std::sync::Arc;

use crate::gpu::{self, Argument, Code, Gpu, Images, Launch, Place, Properties};
use kyoho_core::{Error, Result};

use super::context::Loaded;
use super::{
    Caller, Context, Event, Function, Memory, Module, Pinned, Registered, Stream, description, driver, image, memory,
};

/// The most threads of a thread block on every GPU.
const MOST_THREADS: usize = 1024;
/// The most parameters of a kernel.
const MOST_ARGUMENTS: usize = 32;

/// An NVIDIA GPU.
pub struct Cuda {
    context: Arc<Context>,
    properties: Properties,
}

/// A kernel and the module that it belongs to.
pub struct Kernel {
    function: Function,
    /// Whether it may be started before the kernel ahead of it has ended.
    may_overlap: bool,
    _module: Arc<Module>,
}

impl Cuda {
    /// Opens the device of this number. Afterwards the caller's context is current again.
    pub fn open(number: usize) -> Result<Cuda> {
        let _caller = Caller::of(driver()?);
        Ok(Cuda::on(Context::new(number)?))
    }

    /// Makes memory of the device with a copy of some bytes, as a caller has it.
    pub fn copy_of(&self, bytes: &[u8]) -> Result<Memory> {
        let _caller = self.enter()?;
        let (memory, queue) = (self.allocate(bytes.len(), "a copy on the device")?, self.queue()?);
        let from = Place::Host(bytes.as_ptr().cast_mut());
        // SAFETY: both memories are that long; the copy is waited for.
        unsafe { self.copy(&queue, from, Place::Device(&memory, 0), bytes.len())? };
        self.synchronize(&queue)?;
        Ok(memory)
    }

    /// Returns the module of some code, and whether its kernels themselves wait for those before them.
    /// A unit is unpacked and loaded once for all that use it at a time, as that takes milliseconds.
    fn module(&self, code: &Code) -> Result<(Arc<Module>, bool)> {
        let load = || -> Result<(Arc<Module>, bool)> {
            let image = image::of(code, self.context.properties().compute)?;
            Ok((Arc::new(Module::new(&self.context, image.bytes())?), image.waits()))
        };
        let Images::Packed { unit, .. } = code.images else { return load() };
        let mut modules = self.context.modules();
        modules.retain(|loaded| loaded.module.strong_count() > 0);
        let found = modules.iter().find(|loaded| loaded.unit == unit);
        if let Some((module, waits)) = found.and_then(|loaded| Some((loaded.module.upgrade()?, loaded.waits))) {
            return Ok((module, waits));
        }
        let (module, waits) = load()?;
        let loaded = Loaded { unit: unit.to_owned(), module: Arc::downgrade(&module), waits };
        kyoho_core::memory::push(&mut modules, loaded, "the table of modules")?;
        Ok((module, waits))
    }

    /// Makes the device of a context.
    pub fn on(context: Arc<Context>) -> Cuda {
        let properties = Properties {
            description: description(context.properties()),
            identity: context.properties().bus.clone(),
            multiprocessors: context.properties().multiprocessors,
            most_threads: MOST_THREADS,
            has_fences: true,
            // From there on CUDA says what thread blocks see of one another's writes.
            can_wait: context.properties().compute >= (7, 0),
        };
        Cuda { context, properties }
    }
}

/// One end of a copy, by its address.
enum End {
    Host(*mut u8),
    Device(u64),
}

impl End {
    #[inline]
    fn of(place: Place<Memory>) -> End {
        match place {
            Place::Host(address) => End::Host(address),
            Place::Device(memory, offset) => End::Device(memory.address() + offset as u64),
            Place::Caller(address) => End::Device(address),
        }
    }
}

impl gpu::DeviceMemory for Memory {
    type Address = u64;

    fn bytes(&self) -> usize {
        Memory::bytes(self)
    }

    fn address(&self) -> u64 {
        Memory::address(self)
    }
}

impl gpu::Mapped for Registered {
    type Address = u64;

    fn device_address(&self, offset: usize) -> Option<u64> {
        Some(Registered::device_address(self) + offset as u64)
    }
}

impl gpu::Event for Event {
    fn wait(&self) -> Result<()> {
        self.synchronize()
    }
}

/// Returns the pointers to the values of arguments, which the driver reads.
#[inline]
fn parameters_of(arguments: &[Argument<u64>]) -> [*mut c_void; MOST_ARGUMENTS] {
    let mut parameters: [*mut c_void; MOST_ARGUMENTS] = [std::ptr::null_mut(); MOST_ARGUMENTS];
    for (parameter, argument) in parameters.iter_mut().zip(arguments) {
        *parameter = match argument {
            Argument::Memory(address) => (&raw const *address).cast_mut().cast(),
            Argument::Bytes(bytes) => bytes.as_ptr().cast_mut().cast(),
        };
    }
    parameters
}

impl Gpu for Cuda {
    type Memory = Memory;
    type HostMemory = Pinned;
    type Registration = Registered;
    type Queue = Stream;
    type Event = Event;
    type Kernel = Kernel;
    type Caller = Caller;

    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn open_other(&self, number: usize) -> Result<Cuda> {
        Cuda::open(number)
    }

    #[inline]
    fn enter(&self) -> Result<Caller> {
        self.context.enter()
    }

    fn allocate(&self, bytes: usize, what: &'static str) -> Result<Memory> {
        Memory::new(&self.context, bytes, what)
    }

    fn allocate_host(&self, bytes: usize, what: &'static str) -> Result<Pinned> {
        Pinned::new(&self.context, bytes, what)
    }

    unsafe fn register(&self, memory: *const [u8]) -> Result<Registered> {
        // SAFETY: the caller's promise.
        unsafe { Registered::new(&self.context, memory.cast(), memory.len()) }
    }

    fn queue(&self) -> Result<Stream> {
        Stream::new(&self.context)
    }

    fn urgent_queue(&self) -> Result<Stream> {
        Stream::urgent(&self.context)
    }

    fn load(&self, code: &Code, kernels: &[&str]) -> Result<Vec<Kernel>> {
        let (module, waits) = self.module(code)?;
        let kernel =
            |name: &&str| Ok(Kernel { function: module.function(name)?, may_overlap: waits, _module: module.clone() });
        kernels.iter().map(kernel).collect()
    }

    fn resident_blocks(&self, kernel: &Kernel, threads: usize) -> Result<Option<usize>> {
        kernel.function.occupancy(threads as u32, 0).map(Some)
    }

    #[inline]
    unsafe fn copy(&self, queue: &Stream, from: Place<Memory>, to: Place<Memory>, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match (End::of(from), End::of(to)) {
                (End::Host(from), End::Device(to)) => queue.to_device(from, to, bytes),
                (End::Device(from), End::Host(to)) => queue.from_device(from, to, bytes),
                (End::Device(from), End::Device(to)) => queue.device_to_device(from, to, bytes),
                (End::Host(_), End::Host(_)) => {
                    Err(Error::Internal { what: "a copy from the host to the host is not work of a device".into() })
                }
            }
        }
    }

    fn reaches(&self, other: &Cuda) -> bool {
        self.context.can_reach(&other.context)
    }

    unsafe fn copy_from_other(
        &self,
        queue: &Stream,
        (other, from): (&Cuda, &Memory),
        to: &Memory,
        bytes: usize,
    ) -> Result<()> {
        if self.context.can_reach(&other.context) {
            self.context.reach(&other.context);
        }
        // SAFETY: the caller's promise.
        unsafe { queue.from_other_device((&other.context, from.address()), to.address(), bytes) }
    }

    fn address_of_caller(&self, address: u64) -> Option<u64> {
        Some(address)
    }

    fn check_memory_of_caller(&self, name: &str, address: u64, bytes: usize) -> Result<()> {
        memory::check_callers(&self.context, name, address, bytes)
    }

    fn room_of_caller(&self, address: u64) -> usize {
        memory::room_of_callers(&self.context, address)
    }

    fn wait_for_caller(&self, queue: &Stream, stream: u64) -> Result<()> {
        let event = Event::new(&self.context, false)?;
        event.record_in_callers(stream)?;
        queue.wait_for(&event)
    }

    unsafe fn zero(&self, queue: &Stream, memory: &Memory, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { queue.zero(memory.address(), bytes) }
    }

    #[inline]
    unsafe fn launch(&self, queue: &Stream, launch: Launch<Cuda>) -> Result<()> {
        let Launch { kernel, blocks, threads, overlaps, arguments } = launch;
        let overlaps = overlaps && kernel.may_overlap;
        let mut parameters = parameters_of(arguments);
        let parameters = &mut parameters[..arguments.len()];
        // SAFETY: the caller's promise; the parameters point to the arguments, which are there
        // until the call returns.
        unsafe { queue.launch(kernel.function, (blocks as u32, 1), threads as u32, 0, overlaps, parameters) }
    }

    unsafe fn launch_together(&self, queue: &Stream, launch: Launch<Cuda>) -> Result<()> {
        let Launch { kernel, blocks, threads, arguments, .. } = launch;
        let mut parameters = parameters_of(arguments);
        // SAFETY: as for `launch`.
        unsafe {
            queue.launch_together(kernel.function, blocks as u32, threads as u32, &mut parameters[..arguments.len()])
        }
    }

    unsafe fn seconds(&self, queue: &Stream, launch: Launch<Cuda>) -> Result<f64> {
        let events = [Event::new(&self.context, true)?, Event::new(&self.context, true)?];
        events[0].record(queue)?;
        // SAFETY: the caller's promise.
        unsafe { self.launch(queue, launch)? };
        events[1].record(queue)?;
        events[1].synchronize()?;
        Ok(f64::from(events[1].milliseconds_since(&events[0])?) * 1e-3)
    }

    fn record(&self, queue: &Stream) -> Result<Event> {
        let event = Event::new(&self.context, false)?;
        event.record(queue)?;
        Ok(event)
    }

    fn wait_for(&self, queue: &Stream, event: &Event) -> Result<()> {
        queue.wait_for(event)
    }

    #[inline]
    fn is_done(&self, queue: &Stream) -> Result<bool> {
        queue.is_done()
    }

    fn synchronize(&self, queue: &Stream) -> Result<()> {
        queue.synchronize()
    }
}
