//! A GPU whose work is late: it gives another one the work that a [`Schedule`] draws.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use kyoho_core::{Error, Result};

use super::{Schedule, Spot, Use};
use crate::gpu::{Address, Argument, Code, DeviceMemory, Event, Gpu, HostMemory, Launch, Mapped, Place, Properties};

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a copy begins or ends at, for as long as the copy needs it.
enum End<G: Gpu> {
    Host(usize),
    Device(Arc<G::Memory>, usize),
}

impl<G: Gpu> End<G> {
    fn place(&self) -> Place<'_, G::Memory> {
        match self {
            End::Host(address) => Place::Host(*address as *mut u8),
            End::Device(memory, offset) => Place::Device(memory, *offset),
        }
    }
}

/// An argument of a kernel, for as long as the kernel needs it.
enum Given<G: Gpu> {
    Memory(Arc<G::Memory>),
    Bytes(Vec<u8>),
}

/// The memory of callers on a device. Addresses are counted from its start.
pub struct MemoryOfCallers<G: Gpu> {
    memory: Arc<G::Memory>,
    gpu: G,
    queue: Mutex<G::Queue>,
}

impl<G: Gpu> MemoryOfCallers<G> {
    /// Allocates this many bytes.
    pub fn new(gpu: G, bytes: usize) -> Result<MemoryOfCallers<G>> {
        let caller = gpu.enter()?;
        let (memory, queue) = (Arc::new(gpu.allocate(bytes, "memory of callers")?), Mutex::new(gpu.queue()?));
        drop(caller);
        Ok(MemoryOfCallers { memory, gpu, queue })
    }

    /// Copies bytes of the host to the memory, from an address on.
    pub fn put(&self, address: u64, from: &[u8]) -> Result<()> {
        let queue = locked(&self.queue);
        let place = Place::Device(&*self.memory, address as usize);
        // SAFETY: the memory is that long; the copy is waited for.
        unsafe { self.gpu.copy(&queue, Place::Host(from.as_ptr().cast_mut()), place, from.len())? };
        self.gpu.synchronize(&queue)
    }

    /// Copies bytes of the memory, from an address on, to the host.
    pub fn get(&self, address: u64, to: &mut [u8]) -> Result<()> {
        let queue = locked(&self.queue);
        let place = Place::Device(&*self.memory, address as usize);
        // SAFETY: as in `put`.
        unsafe { self.gpu.copy(&queue, place, Place::Host(to.as_mut_ptr()), to.len())? };
        self.gpu.synchronize(&queue)
    }
}

/// Memory that kernels may be given, by the argument that names it.
type Known<G> = Mutex<Vec<(Address<G>, Weak<<G as Gpu>::Memory>, Range<u64>)>>;

/// A GPU whose work is late.
pub struct Late<G: Gpu + 'static> {
    gpu: Arc<G>,
    schedule: Schedule,
    /// Its number in the schedule.
    device: usize,
    known: Arc<Known<G>>,
    callers: Option<Arc<MemoryOfCallers<G>>>,
}

impl<G: Gpu> Late<G> {
    /// Makes a GPU that gives its work to another one when it is waited for.
    pub fn new(gpu: G, schedule: &Schedule) -> Late<G> {
        let device = schedule.add_device();
        Late { gpu: Arc::new(gpu), schedule: schedule.clone(), device, known: Arc::default(), callers: None }
    }

    /// Gives callers this memory on the device, which may be that of another one in its context.
    pub fn with_callers(mut self, callers: &Arc<MemoryOfCallers<G>>) -> Late<G> {
        let memory = &callers.memory;
        locked(&self.known).push((memory.address(), Arc::downgrade(memory), new_range(memory.bytes())));
        self.callers = Some(callers.clone());
        self
    }

    /// Begins work of the GPU in a queue.
    fn begin(
        &self,
        queue: &LateQueue<G>,
        uses: Vec<Use>,
        work: impl FnOnce(&G, &G::Queue) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let (gpu, queue_of_gpu) = (self.gpu.clone(), queue.queue.clone());
        self.schedule.begin(queue.number, uses, move || {
            let _caller = gpu.enter()?;
            let queue = locked(&queue_of_gpu);
            work(&gpu, &queue)?;
            // Work of other queues comes after it.
            gpu.synchronize(&queue)
        })
    }

    /// Returns an end of a copy of some bytes, and its use.
    fn end(&self, place: Place<LateMemory<G>>, bytes: usize, is_written: bool) -> Result<(End<G>, Use)> {
        Ok(match place {
            Place::Host(address) => {
                let first = address.addr() as u64;
                let range = first..first + bytes as u64;
                (End::Host(address.addr()), if is_written { Use::Writes(range) } else { Use::Reads(range) })
            }
            Place::Device(memory, offset) => {
                assert!(offset + bytes <= memory.inner.bytes(), "a copy goes beyond its memory");
                (End::Device(memory.inner.clone(), offset), Use::Of(memory.range.clone()))
            }
            Place::Caller(address) => {
                let callers = self.callers.as_ref().ok_or_else(|| no_memory("callers have none"))?;
                (End::Device(callers.memory.clone(), address as usize), Use::Of(0..0))
            }
        })
    }
}

fn no_memory(why: &str) -> Error {
    Error::Internal { what: format!("memory of callers: {why}") }
}

/// Returns numbers for bytes of a device that are no addresses of the host.
fn new_range(bytes: usize) -> Range<u64> {
    static NEXT: AtomicU64 = AtomicU64::new(1 << 62);
    let room = bytes.max(1) as u64;
    let first = NEXT.fetch_add(room, Ordering::Relaxed);
    first..first + room
}

/// Memory of a device.
pub struct LateMemory<G: Gpu + 'static> {
    inner: Arc<G::Memory>,
    range: Range<u64>,
    known: Arc<Known<G>>,
    schedule: Schedule,
    device: usize,
}

impl<G: Gpu> DeviceMemory for LateMemory<G> {
    type Address = Address<G>;

    fn bytes(&self) -> usize {
        self.inner.bytes()
    }

    fn address(&self) -> Address<G> {
        self.inner.address()
    }
}

impl<G: Gpu> Drop for LateMemory<G> {
    fn drop(&mut self) {
        self.schedule.free(self.device, &self.range);
        locked(&self.known).retain(|known| known.0 != self.inner.address());
    }
}

/// Memory of the host.
pub struct LateHostMemory<G: Gpu + 'static> {
    inner: G::HostMemory,
    schedule: Schedule,
    device: usize,
}

impl<G: Gpu> Mapped for LateHostMemory<G> {
    type Address = Address<G>;

    /// Kernels that are late are not seen from the host.
    fn device_address(&self, _: usize) -> Option<Address<G>> {
        None
    }
}

// SAFETY: the memory of the other GPU is as it has to be.
unsafe impl<G: Gpu> HostMemory for LateHostMemory<G> {
    fn bytes(&self) -> usize {
        self.inner.bytes()
    }

    fn as_ptr(&self) -> *const u8 {
        self.inner.as_ptr()
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.inner.as_mut_ptr()
    }
}

impl<G: Gpu> Drop for LateHostMemory<G> {
    fn drop(&mut self) {
        let first = self.inner.as_ptr().addr() as u64;
        self.schedule.free(self.device, &(first..first + self.inner.bytes() as u64));
    }
}

/// Memory of another owner.
pub struct LateRegistration<G: Gpu + 'static> {
    /// Given back last.
    _inner: G::Registration,
    schedule: Schedule,
    device: usize,
    range: Range<u64>,
    is_first: bool,
}

impl<G: Gpu> Mapped for LateRegistration<G> {
    type Address = Address<G>;

    fn device_address(&self, _: usize) -> Option<Address<G>> {
        None
    }
}

impl<G: Gpu> Drop for LateRegistration<G> {
    fn drop(&mut self) {
        self.schedule.unlock(self.device, &self.range, self.is_first);
    }
}

/// A queue.
pub struct LateQueue<G: Gpu> {
    number: usize,
    queue: Arc<Mutex<G::Queue>>,
}

/// A place in a queue.
pub struct LateEvent {
    schedule: Schedule,
    place: Spot,
}

impl Event for LateEvent {
    fn wait(&self) -> Result<()> {
        self.schedule.run_to(self.place)
    }
}

/// A kernel.
pub struct LateKernel<G: Gpu>(Arc<Mutex<G::Kernel>>);

impl<G: Gpu> Gpu for Late<G> {
    type Memory = LateMemory<G>;
    type HostMemory = LateHostMemory<G>;
    type Registration = LateRegistration<G>;
    type Queue = LateQueue<G>;
    type Event = LateEvent;
    type Kernel = LateKernel<G>;
    type Caller = G::Caller;

    fn properties(&self) -> &Properties {
        self.gpu.properties()
    }

    fn open_other(&self, number: usize) -> Result<Late<G>> {
        Ok(Late::new(self.gpu.open_other(number)?, &self.schedule))
    }

    fn enter(&self) -> Result<G::Caller> {
        self.gpu.enter()
    }

    fn allocate(&self, bytes: usize, what: &'static str) -> Result<LateMemory<G>> {
        let (inner, range) = (Arc::new(self.gpu.allocate(bytes, what)?), new_range(bytes));
        locked(&self.known).push((inner.address(), Arc::downgrade(&inner), range.clone()));
        let (known, schedule) = (self.known.clone(), self.schedule.clone());
        Ok(LateMemory { inner, range, known, schedule, device: self.device })
    }

    fn allocate_host(&self, bytes: usize, what: &'static str) -> Result<LateHostMemory<G>> {
        let inner = self.gpu.allocate_host(bytes, what)?;
        Ok(LateHostMemory { inner, schedule: self.schedule.clone(), device: self.device })
    }

    unsafe fn register(&self, memory: *const [u8]) -> Result<LateRegistration<G>> {
        // SAFETY: the caller's promise.
        let _inner = unsafe { self.gpu.register(memory)? };
        let first = memory.cast::<u8>().addr() as u64;
        let range = first..first + memory.len() as u64;
        let (schedule, is_first) = (self.schedule.clone(), self.schedule.lock(&range));
        Ok(LateRegistration { _inner, schedule, device: self.device, range, is_first })
    }

    fn queue(&self) -> Result<LateQueue<G>> {
        let queue = Arc::new(Mutex::new(self.gpu.queue()?));
        Ok(LateQueue { number: self.schedule.add_queue(self.device), queue })
    }

    fn load(&self, code: &Code, kernels: &[&str]) -> Result<Vec<LateKernel<G>>> {
        let kernels = self.gpu.load(code, kernels)?;
        Ok(kernels.into_iter().map(|kernel| LateKernel(Arc::new(Mutex::new(kernel)))).collect())
    }

    fn resident_blocks(&self, kernel: &LateKernel<G>, threads: usize) -> Result<Option<usize>> {
        self.gpu.resident_blocks(&locked(&kernel.0), threads)
    }

    unsafe fn copy(
        &self,
        queue: &LateQueue<G>,
        from: Place<LateMemory<G>>,
        to: Place<LateMemory<G>>,
        bytes: usize,
    ) -> Result<()> {
        let ((from, reads), (to, writes)) = (self.end(from, bytes, false)?, self.end(to, bytes, true)?);
        self.begin(queue, vec![reads, writes], move |gpu, queue| {
            // SAFETY: the caller's promise, or the work was forgotten.
            unsafe { gpu.copy(queue, from.place(), to.place(), bytes) }
        })
    }

    fn reaches(&self, other: &Late<G>) -> bool {
        self.gpu.reaches(&other.gpu)
    }

    unsafe fn copy_from_other(
        &self,
        queue: &LateQueue<G>,
        (other, from): (&Late<G>, &LateMemory<G>),
        to: &LateMemory<G>,
        bytes: usize,
    ) -> Result<()> {
        let uses = vec![Use::Of(from.range.clone()), Use::Of(to.range.clone())];
        let (other, from, to) = (other.gpu.clone(), from.inner.clone(), to.inner.clone());
        self.begin(queue, uses, move |gpu, queue| {
            // SAFETY: the caller's promise.
            unsafe { gpu.copy_from_other(queue, (&other, &from), &to, bytes) }
        })
    }

    fn address_of_caller(&self, address: u64) -> Option<Address<G>> {
        // Kernels add the rest.
        self.callers.as_ref().filter(|_| address == 0).map(|callers| callers.memory.address())
    }

    fn check_memory_of_caller(&self, name: &str, address: u64, bytes: usize) -> Result<()> {
        if bytes <= self.room_of_caller(address) {
            return Ok(());
        }
        Err(Error::BadOption {
            name: name.into(),
            value: format!("{bytes} bytes from {address:#x} on"),
            allowed: "memory of the device".into(),
        })
    }

    fn room_of_caller(&self, address: u64) -> usize {
        let all = self.callers.as_ref().map_or(0, |callers| callers.memory.bytes());
        all.saturating_sub(address as usize)
    }

    fn wait_for_caller(&self, _: &LateQueue<G>, _: u64) -> Result<()> {
        // Callers wait for their copies.
        self.callers.as_ref().map(|_| ()).ok_or_else(|| no_memory("callers have none"))
    }

    unsafe fn zero(&self, queue: &LateQueue<G>, memory: &LateMemory<G>, bytes: usize) -> Result<()> {
        let to = memory.inner.clone();
        self.begin(queue, vec![Use::Of(memory.range.clone())], move |gpu, queue| {
            // SAFETY: the caller's promise.
            unsafe { gpu.zero(queue, &to, bytes) }
        })
    }

    unsafe fn launch(&self, queue: &LateQueue<G>, launch: Launch<Late<G>>) -> Result<()> {
        let Launch { kernel, blocks, threads, overlaps, arguments } = launch;
        let mut uses = Vec::new();
        let mut given: Vec<Given<G>> = Vec::new();
        for argument in arguments {
            given.push(match argument {
                Argument::Bytes(bytes) => Given::Bytes(bytes.to_vec()),
                Argument::Memory(address) => {
                    let known = locked(&self.known);
                    let found = known.iter().find(|known| known.0 == *address);
                    let Some((memory, range)) = found.and_then(|known| Some((known.1.upgrade()?, known.2.clone())))
                    else {
                        self.schedule.fault("a kernel was given memory that is gone".into());
                        return Ok(());
                    };
                    uses.push(Use::Of(range));
                    Given::Memory(memory)
                }
            });
        }
        let kernel = kernel.0.clone();
        self.begin(queue, uses, move |gpu, queue| {
            let arguments: Vec<_> = given.iter().map(argument::<G>).collect();
            let mut kernel = locked(&kernel);
            // SAFETY: the caller's promise.
            unsafe {
                gpu.launch(queue, Launch { kernel: &mut kernel, blocks, threads, overlaps, arguments: &arguments })
            }
        })
    }

    unsafe fn seconds(&self, queue: &LateQueue<G>, launch: Launch<Late<G>>) -> Result<f64> {
        self.synchronize(queue)?;
        let Launch { kernel, blocks, threads, overlaps, arguments } = launch;
        let (queue, mut kernel) = (locked(&queue.queue), locked(&kernel.0));
        // SAFETY: the caller's promise.
        unsafe { self.gpu.seconds(&queue, Launch { kernel: &mut kernel, blocks, threads, overlaps, arguments }) }
    }

    fn record(&self, queue: &LateQueue<G>) -> Result<LateEvent> {
        Ok(LateEvent { schedule: self.schedule.clone(), place: self.schedule.end(queue.number) })
    }

    fn wait_for(&self, queue: &LateQueue<G>, event: &LateEvent) -> Result<()> {
        self.schedule.wait_for(queue.number, event.place);
        Ok(())
    }

    fn is_done(&self, queue: &LateQueue<G>) -> Result<bool> {
        Ok(self.schedule.has_ended(queue.number))
    }

    fn synchronize(&self, queue: &LateQueue<G>) -> Result<()> {
        self.schedule.run_to(self.schedule.end(queue.number))
    }
}

fn argument<G: Gpu>(given: &Given<G>) -> Argument<'_, Address<G>> {
    match given {
        Given::Memory(memory) => Argument::Memory(memory.address()),
        Given::Bytes(bytes) => Argument::Bytes(bytes),
    }
}
