//! A GPU for tests. Its memory is the host's, it does its work at once, a test defines what its
//! kernels do, and its calls fail when the test says so.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::data::{Error, Result};

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
    /// Memory that was given out and not given back: its address and its size in bytes.
    live: BTreeMap<u64, usize>,
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
        self.live.is_empty() && self.others == 0 && self.callers == 0
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
        Fake { script: script.clone(), maps_host, properties }
    }

    fn memory(&self, call: &'static str, bytes: usize, what: &'static str, is_mapped: bool) -> Result<FakeMemory> {
        let mut script = self.script.get();
        script.begin(call, Some((bytes, what)))?;
        let room = vec![0u128; bytes.div_ceil(128).max(1) * 8 + 8].into_boxed_slice();
        let first = room.as_ptr().addr().next_multiple_of(128) - room.as_ptr().addr();
        let memory = FakeMemory { room, first, bytes, is_mapped, script: self.script.clone() };
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
}

impl FakeMemory {
    fn number(&self) -> u64 {
        (self.room.as_ptr().addr() + self.first) as u64
    }
}

impl Drop for FakeMemory {
    fn drop(&mut self) {
        self.script.get().live.remove(&self.number());
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

/// An object that was given out: a queue, a place in one, a kernel of this name, registered memory
/// from this address on, or a caller.
pub struct Thing {
    script: Shared,
    name: String,
    address: Option<u64>,
    is_caller: bool,
}

impl Thing {
    fn new(script: &Shared, name: &str) -> Thing {
        script.get().others += 1;
        Thing { script: script.clone(), name: name.into(), address: None, is_caller: false }
    }
}

impl Drop for Thing {
    fn drop(&mut self) {
        let mut script = self.script.get();
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
        self.script.get().begin("wait", None)
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
    type Caller = Thing;

    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn open_other(&self, _: usize) -> Result<Fake> {
        self.script.get().begin("open_other", None)?;
        Ok(Fake::new(&self.script, self.maps_host))
    }

    fn enter(&self) -> Result<Thing> {
        self.script.get().callers += 1;
        Ok(Thing { script: self.script.clone(), name: String::new(), address: None, is_caller: true })
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
        let mut registration = Thing::new(&self.script, "registration");
        registration.address = self.maps_host.then_some(address);
        Ok(registration)
    }

    fn queue(&self) -> Result<Thing> {
        self.script.get().begin("queue", None)?;
        Ok(Thing::new(&self.script, "queue"))
    }

    fn load(&self, _: &Code, kernels: &[&str]) -> Result<Vec<Thing>> {
        self.script.get().begin("load", None)?;
        Ok(kernels.iter().map(|name| Thing::new(&self.script, name)).collect())
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
        let (from, to) = (of(&from), of(&to));
        // SAFETY: the caller's promise; memory of the device is at least as long.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
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
        self.script.get().begin("copy_from_other", None)?;
        assert!(bytes <= from.bytes.min(to.bytes), "a copy goes beyond its memory");
        // SAFETY: both memories have this length.
        unsafe { std::ptr::copy(from.number() as *const u8, to.number() as *mut u8, bytes) };
        Ok(())
    }

    unsafe fn zero(&self, _: &Thing, memory: &FakeMemory, bytes: usize) -> Result<()> {
        let mut script = self.script.get();
        script.begin("zero", None)?;
        assert!(bytes <= memory.bytes);
        // SAFETY: the memory has this length.
        unsafe { std::ptr::write_bytes(memory.number() as *mut u8, 0, bytes) };
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
        if let Some(kernel) = &script.kernel {
            kernel(&script, &launch.kernel.name, &launch.arguments.iter().map(bytes).collect::<Vec<_>>());
        }
        Ok(())
    }

    unsafe fn seconds(&self, _: &Thing, _: Launch<Fake>) -> Result<f64> {
        self.script.get().begin("seconds", None)?;
        Ok(1.5e-3)
    }

    fn record(&self, _: &Thing) -> Result<Thing> {
        self.script.get().begin("record", None)?;
        Ok(Thing::new(&self.script, "event"))
    }

    fn wait_for(&self, _: &Thing, _: &Thing) -> Result<()> {
        self.script.get().begin("wait_for", None)
    }

    fn is_done(&self, _: &Thing) -> Result<bool> {
        let mut script = self.script.get();
        script.begin("is_done", None).map(|()| !script.is_busy)
    }

    fn synchronize(&self, _: &Thing) -> Result<()> {
        self.script.get().begin("synchronize", None)
    }
}
