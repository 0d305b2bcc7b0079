//! An OpenCL device for methods: [`Gpu`] over the driver.

use std::cell::RefCell;
use std::sync::Arc;

use crate::gpu::{self, Argument, Code, Gpu, Launch, Place, Properties};
use kyoho_core::{Error, Result};

use super::{Address, Context, Event, Kernel, Kind, Memory, Queue, Staging, programs};

/// The most threads of a thread block on every device: `MOST_THREADS` in
/// `kernels/prelude_opencl.h`.
pub(super) const MOST_THREADS: usize = 256;

/// The bytes that are copied at a time from one device to another.
const BETWEEN: usize = 16 << 20;

/// An OpenCL device.
pub struct OpenCl {
    context: Arc<Context>,
    properties: Properties,
}

/// A queue, and those of its events that show whether its work failed.
pub struct Work {
    queue: Queue,
    /// The end of the last copy to the host, if nothing was begun since.
    copied: RefCell<Option<Event>>,
    /// The end of the last kernel, if it was not recorded since.
    ended: RefCell<Option<Event>>,
}

/// A place in a queue.
pub struct Recorded {
    event: Event,
    /// The end of the last kernel. After one that failed, drivers may still do the work that
    /// follows.
    ended: Option<Event>,
}

/// Memory of another owner. It is not mapped, because kernels do not reach host memory.
pub struct Unmapped;

impl OpenCl {
    /// Opens the device of this number.
    pub fn open(number: usize) -> Result<OpenCl> {
        // A driver may recover only when everything on the failed device was given back.
        programs::give_back_failed();
        Ok(OpenCl::on(Context::new(number)?))
    }

    /// Makes the device of a context.
    pub fn on(context: Arc<Context>) -> OpenCl {
        let properties = context.properties();
        let properties = Properties {
            description: properties.description(),
            identity: context.name(),
            multiprocessors: properties.compute_units,
            most_threads: MOST_THREADS,
            // OpenCL 1.2 does not promise them, but NVIDIA's compiler accepts those of CUDA.
            has_fences: properties.is_nvidia,
            can_wait: false,
        };
        OpenCl { context, properties }
    }

    /// Whether the host checks the end of each kernel. After a kernel that failed, NVIDIA's driver
    /// refuses all further work, so it is not asked there: the check takes 9 us.
    fn asks_kernels(&self) -> bool {
        !self.context.properties().is_nvidia
    }
}

impl gpu::DeviceMemory for Memory {
    type Address = Address;

    fn bytes(&self) -> usize {
        Memory::bytes(self)
    }

    fn address(&self) -> Address {
        Memory::address(self)
    }
}

impl gpu::Mapped for Staging {
    type Address = Address;

    fn device_address(&self, _: usize) -> Option<Address> {
        None
    }
}

impl gpu::Mapped for Unmapped {
    type Address = Address;

    fn device_address(&self, _: usize) -> Option<Address> {
        None
    }
}

impl gpu::Event for Recorded {
    fn wait(&self) -> Result<()> {
        self.event.wait()?;
        self.ended.as_ref().map_or(Ok(()), |event| event.is_done().map(drop))
    }
}

/// Sets the arguments of a kernel.
fn set(kernel: &mut Kernel, arguments: &[Argument<Address>]) -> Result<()> {
    arguments.iter().enumerate().try_for_each(|(place, argument)| kernel.set(place, *argument))
}

impl Gpu for OpenCl {
    type Memory = Memory;
    type HostMemory = Staging;
    type Registration = Unmapped;
    type Queue = Work;
    type Event = Recorded;
    type Kernel = Kernel;
    type Caller = ();

    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn open_other(&self, number: usize) -> Result<OpenCl> {
        OpenCl::open(number)
    }

    /// A fork has no page-locked memory, so that the error must come before it touches any.
    fn enter(&self) -> Result<()> {
        self.context.check_process()
    }

    fn allocate(&self, bytes: usize, what: &'static str) -> Result<Memory> {
        Memory::new(&self.context, bytes, what)
    }

    fn allocate_host(&self, bytes: usize, what: &'static str) -> Result<Staging> {
        Staging::new(&self.context, bytes, what)
    }

    unsafe fn register(&self, _: *const [u8]) -> Result<Unmapped> {
        Ok(Unmapped)
    }

    fn queue(&self) -> Result<Work> {
        Ok(Work { queue: Queue::new(&self.context)?, copied: RefCell::default(), ended: RefCell::default() })
    }

    fn load(&self, code: &Code, kernels: &[&str]) -> Result<Vec<Kernel>> {
        programs::kernels(&self.context, code, kernels)
    }

    fn resident_blocks(&self, _: &Kernel, _: usize) -> Result<Option<usize>> {
        Ok(None)
    }

    unsafe fn copy(&self, work: &Work, from: Place<Memory>, to: Place<Memory>, bytes: usize) -> Result<()> {
        work.copied.take();
        // SAFETY: the caller's promise.
        unsafe {
            match (from, to) {
                (Place::Host(from), Place::Device(to, at)) => work.queue.write(from, to, at, bytes),
                (Place::Device(from, at), Place::Host(to)) => {
                    work.copied.replace(Some(work.queue.read(from, at, to, bytes)?));
                    Ok(())
                }
                (Place::Device(from, 0), Place::Device(to, 0)) => work.queue.copy(from, to, bytes),
                (Place::Caller(_), _) | (_, Place::Caller(_)) => {
                    Err(Error::Internal { what: "callers have no memory on a device of OpenCL".into() })
                }
                _ => Err(Error::Internal { what: "copies between memories begin at their first bytes".into() }),
            }
        }
    }

    /// Only where the devices are the host itself.
    fn reaches(&self, other: &OpenCl) -> bool {
        [self, other].iter().all(|device| device.context.properties().kind == Kind::Cpu)
    }

    /// Devices have contexts of their own, which share no memory, so that copies go by the host.
    unsafe fn copy_from_other(
        &self,
        work: &Work,
        (other, from): (&OpenCl, &Memory),
        to: &Memory,
        bytes: usize,
    ) -> Result<()> {
        work.copied.take();
        let queue = Queue::new(&other.context)?;
        let mut between = Staging::new(&self.context, bytes.min(BETWEEN), "copies between devices")?;
        for first in (0..bytes).step_by(BETWEEN) {
            let length = (bytes - first).min(BETWEEN);
            let place = gpu::HostMemory::as_mut_ptr(&mut between);
            // SAFETY: the caller's promise; each copy is waited for before the next one begins.
            unsafe {
                queue.read(from, first, place, length)?.wait()?;
                work.queue.write(place, to, first, length)?;
            }
            work.queue.synchronize()?;
        }
        Ok(())
    }

    unsafe fn zero(&self, work: &Work, memory: &Memory, bytes: usize) -> Result<()> {
        work.copied.take();
        // SAFETY: the caller's promise.
        unsafe { work.queue.zero(memory, bytes) }
    }

    unsafe fn launch(&self, work: &Work, launch: Launch<OpenCl>) -> Result<()> {
        let Launch { kernel, blocks, threads, arguments, .. } = launch;
        work.copied.take();
        set(kernel, arguments)?;
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe {
            if self.asks_kernels() {
                work.ended.replace(Some(work.queue.launch_marked(kernel, blocks, threads)?));
                Ok(())
            } else {
                work.queue.launch(kernel, blocks, threads)
            }
        }
    }

    unsafe fn seconds(&self, work: &Work, launch: Launch<OpenCl>) -> Result<f64> {
        let Launch { kernel, blocks, threads, arguments, .. } = launch;
        work.queue.synchronize()?;
        let timed = Queue::timed(&self.context)?;
        set(kernel, arguments)?;
        // SAFETY: the caller's promise; the work that was begun before has ended.
        let event = unsafe { timed.launch_marked(kernel, blocks, threads)? };
        timed.synchronize()?;
        event.seconds()
    }

    fn record(&self, work: &Work) -> Result<Recorded> {
        let copied = work.copied.take();
        let event = copied.map_or_else(|| work.queue.mark(), Ok)?;
        // The device may otherwise get another queue first that waits for this one.
        work.queue.flush()?;
        Ok(Recorded { event, ended: work.ended.take() })
    }

    fn wait_for(&self, work: &Work, event: &Recorded) -> Result<()> {
        work.copied.take();
        work.queue.wait_for(&event.event)
    }

    fn is_done(&self, work: &Work) -> Result<bool> {
        work.queue.mark()?.is_done()
    }

    fn synchronize(&self, work: &Work) -> Result<()> {
        work.queue.synchronize()
    }
}
