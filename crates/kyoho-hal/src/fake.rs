//! A GPU for tests. Its memory is the host's, it does its work at once or when it is waited for, a
//! test defines what its kernels do, and its calls fail when the test says so.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use kyoho_core::{Error, Result};

use super::gpu::{Argument, Code, DeviceMemory, Event, Gpu, HostMemory, Launch, Mapped, Place, Properties};
use super::{Backend, DeviceDescription, DeviceKind};

/// The work of a kernel in a test. It gets the kernel's name and its arguments as bytes; for memory
/// these are the address.
pub type KernelOfTest = Box<dyn Fn(&Script, &str, &[Vec<u8>]) + Send>;

/// A record of what fakes did, and instructions for what they have to do.
#[derive(Default)]
pub struct Script {
    /// Every call, in order.
    pub calls: Vec<&'static str>,
    /// The places in `calls` of calls that fail.
    pub failing: Option<Range<usize>>,
    /// Whether every call for memory fails.
    pub has_no_memory: bool,
    /// Whether the driver says that work is under way.
    pub is_busy: bool,
    /// The work of every kernel.
    pub kernel: Option<KernelOfTest>,
    /// Whether the work of a device is done when it is waited for, and not before.
    pub is_late: bool,
    /// The work that is to be done, in the order in which it was begun.
    pending: Vec<Pending>,
    /// What was done to memory that such work uses: it was changed, unregistered, or freed while
    /// another device uses it.
    pub faults: Vec<String>,
    /// The number of devices that were made.
    devices: usize,
    /// Memory that was given out and not given back: its address and its size in bytes.
    live: BTreeMap<u64, usize>,
    /// The addresses of page-locked memory. Who locks it first is who unlocks it.
    locked: Vec<u64>,
    /// The number of other objects that were given out and not given back.
    others: usize,
    /// The number of callers that have entered.
    callers: usize,
}

impl Script {
    /// Whether this many bytes from an address on were given out.
    pub fn has(&self, address: u64, bytes: usize) -> bool {
        let before = self.live.range(..=address).next_back();
        before.is_some_and(|(first, room)| address + bytes as u64 <= first + *room as u64)
    }

    /// Whether everything was given back and no caller is inside.
    pub fn is_clean(&self) -> bool {
        let is_idle = self.pending.is_empty() && self.faults.is_empty();
        is_idle && self.live.is_empty() && self.others == 0 && self.callers == 0
    }

    /// Begins some work of a device, which uses some bytes from each of these addresses on. A copy from
    /// the host must find its bytes as they are now.
    fn work(&mut self, device: usize, job: Job, uses: Vec<(u64, usize)>) {
        let is_late = self.is_late;
        let seen = match job {
            Job::Copy { is_of_host: true, .. } if is_late => digest(uses[0]),
            _ => Vec::new(),
        };
        self.pending.push(Pending { device, job, uses, seen });
        if !is_late {
            self.end(device);
        }
    }

    /// Does what a device has to do.
    fn end(&mut self, device: usize) {
        for Pending { job, uses, seen, .. } in
            self.pending.extract_if(.., |job| job.device == device).collect::<Vec<_>>()
        {
            if !seen.is_empty() && seen != digest(uses[0]) {
                self.faults.push(format!("{} bytes were changed before they were copied", uses[0].1));
            }
            match job {
                // SAFETY: whoever began the copy promised that the memory is there.
                Job::Copy { from, to, bytes, .. } => unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) },
                // SAFETY: the memory has this length.
                Job::Zero { to, bytes } => unsafe { std::ptr::write_bytes(to as *mut u8, 0, bytes) },
                Job::Kernel { name, arguments } => {
                    if let Some(kernel) = &self.kernel {
                        kernel(self, &name, &arguments);
                    }
                }
            }
        }
    }

    /// Notes that memory goes, and forgets the work that uses it.
    fn gone(&mut self, what: &str, first: u64, bytes: usize) {
        let overlaps =
            |(address, length): &(u64, usize)| *address < first + bytes as u64 && first < address + *length as u64;
        for job in self.pending.extract_if(.., |job| job.uses.iter().any(overlaps)) {
            self.faults.push(format!("{what} that work of device {} uses", job.device));
        }
    }

    fn begin(&mut self, call: &'static str, bytes: Option<(usize, &'static str)>) -> Result<()> {
        assert!(self.callers > 0, "{call}: the driver is called by nobody who has entered");
        self.calls.push(call);
        let fails = self.failing.as_ref().is_some_and(|failing| failing.contains(&(self.calls.len() - 1)));
        match bytes {
            Some((bytes, what)) if fails || self.has_no_memory => Err(Error::OutOfMemory { what, bytes }),
            _ if fails => Err(Error::DeviceFailed { device: "0 (Fake)".into(), reason: call.into() }),
            _ => Ok(()),
        }
    }
}

/// Something that a device does.
enum Job {
    Copy { from: u64, to: u64, bytes: usize, is_of_host: bool },
    Zero { to: u64, bytes: usize },
    Kernel { name: String, arguments: Vec<Vec<u8>> },
}

/// Work that was begun: the bytes that it uses, by their addresses and numbers, and a digest of the
/// first ones.
struct Pending {
    device: usize,
    job: Job,
    uses: Vec<(u64, usize)>,
    seen: Vec<u8>,
}

/// Returns a digest of bytes that are there.
fn digest((address, bytes): (u64, usize)) -> Vec<u8> {
    // SAFETY: whoever began work on them promised that they are there; if they went since, the work
    // was forgotten.
    Sha256::digest(unsafe { std::slice::from_raw_parts(address as *const u8, bytes) }).to_vec()
}

/// The script that a test shares with its fakes.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Script>>);

impl Shared {
    /// Gives access to the script.
    pub fn get(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A GPU.
pub struct Fake {
    script: Shared,
    /// Its number among the devices of the script.
    number: usize,
    /// Whether its kernels reach memory of the host.
    maps_host: bool,
    properties: Properties,
}

impl Fake {
    /// Makes a GPU that follows the script. `maps_host` is whether its kernels reach memory of the
    /// host.
    pub fn new(script: &Shared, maps_host: bool) -> Fake {
        let properties = Properties {
            description: DeviceDescription {
                backend: Backend::Cuda,
                kind: DeviceKind::Gpu,
                platform: String::new(),
                name: "Fake".into(),
                details: String::new(),
                abilities: String::new(),
            },
            identity: format!("fake {:p}", Arc::as_ptr(&script.0)),
            multiprocessors: 132,
            most_threads: 1024,
            has_fences: maps_host,
            can_wait: maps_host,
        };
        let number = script.get().devices;
        script.get().devices += 1;
        Fake { script: script.clone(), number, maps_host, properties }
    }

    fn memory(&self, call: &'static str, bytes: usize, what: &'static str, is_mapped: bool) -> Result<FakeMemory> {
        let mut script = self.script.get();
        script.begin(call, Some((bytes, what)))?;
        let room = vec![0u128; bytes.div_ceil(128).max(1) * 8 + 8].into_boxed_slice();
        let first = room.as_ptr().addr().next_multiple_of(128) - room.as_ptr().addr();
        let (script_of, device) = (self.script.clone(), self.number);
        let memory = FakeMemory { room, first, bytes, is_mapped, script: script_of, device };
        script.live.insert(memory.number(), bytes.max(1));
        Ok(memory)
    }
}

/// Memory of the device or of the host.
pub struct FakeMemory {
    room: Box<[u128]>,
    first: usize,
    bytes: usize,
    is_mapped: bool,
    script: Shared,
    device: usize,
}

impl FakeMemory {
    fn number(&self) -> u64 {
        (self.room.as_ptr().addr() + self.first) as u64
    }
}

impl Drop for FakeMemory {
    fn drop(&mut self) {
        let mut script = self.script.get();
        // As drivers do, it waits for the work of its own device.
        script.end(self.device);
        script.gone("memory was freed", self.number(), self.bytes);
        script.live.remove(&self.number());
    }
}

/// The address of memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FakeAddress(u64);

impl DeviceMemory for FakeMemory {
    type Address = FakeAddress;

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn address(&self) -> FakeAddress {
        FakeAddress(self.number())
    }
}

impl Mapped for FakeMemory {
    type Address = FakeAddress;

    fn device_address(&self, offset: usize) -> Option<FakeAddress> {
        self.is_mapped.then(|| FakeAddress(self.number() + offset as u64))
    }
}

// SAFETY: the memory was filled with zeros, keeps its address, and begins at a multiple of 128.
unsafe impl HostMemory for FakeMemory {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn as_ptr(&self) -> *const u8 {
        self.room.as_ptr().cast::<u8>().wrapping_add(self.first)
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.room.as_mut_ptr().cast::<u8>().wrapping_add(self.first)
    }
}

/// The name of registered memory.
const REGISTRATION: &str = "registration";

/// An object that was given out: a queue, a place in one, a kernel of this name, registered memory
/// from this address on, or a caller.
pub struct Thing {
    script: Shared,
    device: usize,
    name: String,
    address: Option<u64>,
    /// Memory that is page-locked as long as this is there.
    locked: Option<(u64, usize)>,
    is_caller: bool,
}

impl Thing {
    fn new(fake: &Fake, name: &str) -> Thing {
        let script = fake.script.clone();
        script.get().others += 1;
        Thing { script, device: fake.number, name: name.into(), address: None, locked: None, is_caller: false }
    }

    /// Waits for the device, unless the call fails.
    fn ends(&self, call: &'static str) -> Result<()> {
        let mut script = self.script.get();
        script.begin(call, None)?;
        script.end(self.device);
        Ok(())
    }
}

impl Drop for Thing {
    fn drop(&mut self) {
        let mut script = self.script.get();
        if self.name == REGISTRATION {
            script.end(self.device);
        }
        if let Some((first, bytes)) = self.locked {
            script.gone("memory was unregistered", first, bytes);
            script.locked.retain(|locked| *locked != first);
        }
        if let Some(address) = self.address {
            script.calls.push("unregister");
            script.live.remove(&address);
        }
        if self.is_caller {
            script.callers -= 1;
        } else {
            script.others -= 1;
        }
    }
}

impl Event for Thing {
    fn wait(&self) -> Result<()> {
        self.ends("wait")
    }
}

impl Mapped for Thing {
    type Address = FakeAddress;

    fn device_address(&self, offset: usize) -> Option<FakeAddress> {
        self.address.map(|address| FakeAddress(address + offset as u64))
    }
}

impl Gpu for Fake {
    type Memory = FakeMemory;
    type HostMemory = FakeMemory;
    type Registration = Thing;
    type Queue = Thing;
    type Event = Thing;
    type Kernel = Thing;
    type Graph = std::convert::Infallible;
    type Caller = Thing;

    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn open_other(&self, _: usize) -> Result<Fake> {
        self.script.get().begin("open_other", None)?;
        Ok(Fake::new(&self.script, self.maps_host))
    }

    fn enter(&self) -> Result<Thing> {
        let mut caller = Thing::new(self, "");
        caller.is_caller = true;
        let mut script = self.script.get();
        (script.callers, script.others) = (script.callers + 1, script.others - 1);
        drop(script);
        Ok(caller)
    }

    fn allocate(&self, bytes: usize, what: &'static str) -> Result<FakeMemory> {
        self.memory("allocate", bytes, what, false)
    }

    fn allocate_host(&self, bytes: usize, what: &'static str) -> Result<FakeMemory> {
        self.memory("allocate_host", bytes, what, self.maps_host)
    }

    unsafe fn register(&self, memory: &[u8]) -> Result<Thing> {
        let address = memory.as_ptr().addr() as u64;
        {
            let mut script = self.script.get();
            script.begin("register", Some((memory.len(), "page-locked memory")))?;
            if self.maps_host {
                script.live.insert(address, memory.len());
            }
        }
        let mut registration = Thing::new(self, REGISTRATION);
        registration.address = self.maps_host.then_some(address);
        let mut script = self.script.get();
        if !script.locked.contains(&address) {
            script.locked.push(address);
            registration.locked = Some((address, memory.len()));
        }
        drop(script);
        Ok(registration)
    }

    fn queue(&self) -> Result<Thing> {
        self.script.get().begin("queue", None)?;
        Ok(Thing::new(self, "queue"))
    }

    fn load(&self, _: &Code, kernels: &[&str]) -> Result<Vec<Thing>> {
        self.script.get().begin("load", None)?;
        Ok(kernels.iter().map(|name| Thing::new(self, name)).collect())
    }

    fn resident_blocks(&self, _: &Thing, threads: usize) -> Result<Option<usize>> {
        self.script.get().begin("resident_blocks", None)?;
        Ok(Some(2048 / threads))
    }

    unsafe fn copy(&self, _: &Thing, from: Place<FakeMemory>, to: Place<FakeMemory>, bytes: usize) -> Result<()> {
        let mut script = self.script.get();
        script.begin("copy", None)?;
        let of = |place: &Place<FakeMemory>| match place {
            Place::Host(address) => address.addr() as u64,
            Place::Device(memory, offset) => {
                assert!(offset + bytes <= memory.bytes, "a copy goes beyond its memory");
                memory.number() + *offset as u64
            }
            Place::Caller(address) => *address,
        };
        let is_of_host = matches!(from, Place::Host(_));
        let (from, to) = (of(&from), of(&to));
        script.work(self.number, Job::Copy { from, to, bytes, is_of_host }, vec![(from, bytes), (to, bytes)]);
        Ok(())
    }

    fn reaches(&self, _: &Fake) -> bool {
        true
    }

    unsafe fn copy_from_other(
        &self,
        _: &Thing,
        (_, from): (&Fake, &FakeMemory),
        to: &FakeMemory,
        bytes: usize,
    ) -> Result<()> {
        let mut script = self.script.get();
        script.begin("copy_from_other", None)?;
        assert!(bytes <= from.bytes.min(to.bytes), "a copy goes beyond its memory");
        let (from, to) = (from.number(), to.number());
        let job = Job::Copy { from, to, bytes, is_of_host: false };
        script.work(self.number, job, vec![(from, bytes), (to, bytes)]);
        Ok(())
    }

    unsafe fn zero(&self, _: &Thing, memory: &FakeMemory, bytes: usize) -> Result<()> {
        let mut script = self.script.get();
        script.begin("zero", None)?;
        assert!(bytes <= memory.bytes);
        let to = memory.number();
        script.work(self.number, Job::Zero { to, bytes }, vec![(to, bytes)]);
        Ok(())
    }

    unsafe fn launch(&self, _: &Thing, launch: Launch<Fake>) -> Result<()> {
        let mut script = self.script.get();
        script.begin("launch", None)?;
        assert!(launch.blocks > 0 && (1..=1024).contains(&launch.threads));
        let bytes = |argument: &Argument<FakeAddress>| match argument {
            Argument::Memory(FakeAddress(address)) => address.to_ne_bytes().to_vec(),
            Argument::Bytes(bytes) => bytes.to_vec(),
        };
        let uses = launch.arguments.iter().filter_map(|argument| match argument {
            Argument::Memory(FakeAddress(address)) => Some((*address, 1)),
            Argument::Bytes(_) => None,
        });
        let (uses, arguments) = (uses.collect(), launch.arguments.iter().map(bytes).collect());
        script.work(self.number, Job::Kernel { name: launch.kernel.name.clone(), arguments }, uses);
        Ok(())
    }

    unsafe fn seconds(&self, _: &Thing, _: Launch<Fake>) -> Result<f64> {
        self.script.get().begin("seconds", None)?;
        Ok(1.5e-3)
    }

    fn record(&self, _: &Thing) -> Result<Thing> {
        self.script.get().begin("record", None)?;
        Ok(Thing::new(self, "event"))
    }

    fn wait_for(&self, _: &Thing, _: &Thing) -> Result<()> {
        self.script.get().begin("wait_for", None)
    }

    fn is_done(&self, queue: &Thing) -> Result<bool> {
        queue.ends("is_done").map(|()| !self.script.get().is_busy)
    }

    fn synchronize(&self, queue: &Thing) -> Result<()> {
        queue.ends("synchronize")
    }
}
