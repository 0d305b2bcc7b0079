//! A GPU for tests. Its memory is the host's, it does its work at once or late ([`Schedule`]), a
//! test defines what its kernels do, and its calls fail when the test says so.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kyoho_core::{Error, Result};

use super::gpu::{Argument, Code, DeviceMemory, Event, Gpu, HostMemory, Launch, Mapped, Place, Properties};
use super::late::{Schedule, Spot, Use};
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
    /// The queues, whose work may be late.
    pub schedule: Schedule,
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
        self.schedule.is_clean() && self.live.is_empty() && self.others == 0 && self.callers == 0
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
    schedule: Schedule,
    /// Its number in the schedule.
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
        let schedule = script.get().schedule.clone();
        Fake { script: script.clone(), number: schedule.add_device(), schedule, maps_host, properties }
    }

    /// Begins a copy from an address to another.
    fn begin_copy(&self, queue: &Thing, uses: [Use; 2], (from, to): (u64, u64), bytes: usize) -> Result<()> {
        self.schedule.begin(queue.queue, uses.into(), move || {
            // SAFETY: whoever began the copy promised that the memory is there.
            unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
            Ok(())
        })
    }

    fn memory(&self, call: &'static str, bytes: usize, what: &'static str, is_mapped: bool) -> Result<FakeMemory> {
        let mut script = self.script.get();
        script.begin(call, Some((bytes, what)))?;
        // That of the host is zero, and that of the device what somebody left there.
        let contents = if call == "allocate" { u128::from_ne_bytes([0x5A; 16]) } else { 0 };
        let room = vec![contents; bytes.div_ceil(128).max(1) * 8 + 8].into_boxed_slice();
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
        let (schedule, first) = (self.script.get().schedule.clone(), self.number());
        schedule.free(self.device, &(first..first + self.bytes as u64));
        self.script.get().live.remove(&first);
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
    device: usize,
    name: String,
    /// The number of a queue in the schedule.
    queue: usize,
    /// The place that an event marks.
    place: Option<Spot>,
    address: Option<u64>,
    /// Memory that is page-locked as long as this is there, and whether nobody had locked it before.
    locked: Option<(Range<u64>, bool)>,
    is_caller: bool,
}

impl Thing {
    fn new(fake: &Fake, name: &str) -> Thing {
        let script = fake.script.clone();
        script.get().others += 1;
        let (device, name) = (fake.number, name.into());
        Thing { script, device, name, queue: 0, place: None, address: None, locked: None, is_caller: false }
    }

    fn schedule(&self) -> Schedule {
        self.script.get().schedule.clone()
    }
}

impl Drop for Thing {
    fn drop(&mut self) {
        if let Some((memory, is_first)) = &self.locked {
            self.schedule().unlock(self.device, memory, *is_first);
        }
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
        self.script.get().begin("wait", None)?;
        self.place.map_or(Ok(()), |place| self.schedule().run_to(place))
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

    unsafe fn register(&self, memory: *const [u8]) -> Result<Thing> {
        let address = memory.cast::<u8>().addr() as u64;
        {
            let mut script = self.script.get();
            script.begin("register", Some((memory.len(), "page-locked memory")))?;
            if self.maps_host {
                script.live.insert(address, memory.len());
            }
        }
        let mut registration = Thing::new(self, "registration");
        registration.address = self.maps_host.then_some(address);
        let range = address..address + memory.len() as u64;
        let is_first = self.schedule.lock(&range);
        registration.locked = Some((range, is_first));
        Ok(registration)
    }

    fn queue(&self) -> Result<Thing> {
        self.script.get().begin("queue", None)?;
        let mut queue = Thing::new(self, "queue");
        queue.queue = self.schedule.add_queue(self.number);
        Ok(queue)
    }

    fn load(&self, _: &Code, kernels: &[&str]) -> Result<Vec<Thing>> {
        self.script.get().begin("load", None)?;
        Ok(kernels.iter().map(|name| Thing::new(self, name)).collect())
    }

    fn resident_blocks(&self, _: &Thing, threads: usize) -> Result<Option<usize>> {
        self.script.get().begin("resident_blocks", None)?;
        Ok(Some(2048 / threads))
    }

    unsafe fn copy(&self, queue: &Thing, from: Place<FakeMemory>, to: Place<FakeMemory>, bytes: usize) -> Result<()> {
        self.script.get().begin("copy", None)?;
        let of = |place: &Place<FakeMemory>| match place {
            Place::Host(address) => address.addr() as u64,
            Place::Device(memory, offset) => {
                assert!(offset + bytes <= memory.bytes, "a copy goes beyond its memory");
                memory.number() + *offset as u64
            }
            Place::Caller(address) => *address,
        };
        let uses = [(&from, Use::Reads as fn(_) -> _), (&to, Use::Writes as fn(_) -> _)].map(|(place, of_host)| {
            let range = of(place)..of(place) + bytes as u64;
            if matches!(place, Place::Host(_)) { of_host(range) } else { Use::Of(range) }
        });
        self.begin_copy(queue, uses, (of(&from), of(&to)), bytes)
    }

    fn reaches(&self, _: &Fake) -> bool {
        true
    }

    unsafe fn copy_from_other(
        &self,
        queue: &Thing,
        (_, from): (&Fake, &FakeMemory),
        to: &FakeMemory,
        bytes: usize,
    ) -> Result<()> {
        self.script.get().begin("copy_from_other", None)?;
        assert!(bytes <= from.bytes.min(to.bytes), "a copy goes beyond its memory");
        let (from, to) = (from.number(), to.number());
        let uses = [from, to].map(|first| Use::Of(first..first + bytes as u64));
        self.begin_copy(queue, uses, (from, to), bytes)
    }

    unsafe fn zero(&self, queue: &Thing, memory: &FakeMemory, bytes: usize) -> Result<()> {
        self.script.get().begin("zero", None)?;
        assert!(bytes <= memory.bytes);
        let to = memory.number();
        self.schedule.begin(queue.queue, vec![Use::Of(to..to + bytes as u64)], move || {
            // SAFETY: the memory has this length.
            unsafe { std::ptr::write_bytes(to as *mut u8, 0, bytes) };
            Ok(())
        })
    }

    unsafe fn launch(&self, queue: &Thing, launch: Launch<Fake>) -> Result<()> {
        self.script.get().begin("launch", None)?;
        assert!(launch.blocks > 0 && (1..=1024).contains(&launch.threads));
        let bytes = |argument: &Argument<FakeAddress>| match argument {
            Argument::Memory(FakeAddress(address)) => address.to_ne_bytes().to_vec(),
            Argument::Bytes(bytes) => bytes.to_vec(),
        };
        let uses = launch.arguments.iter().filter_map(|argument| match argument {
            Argument::Memory(FakeAddress(address)) => Some(Use::Of(*address..*address + 1)),
            Argument::Bytes(_) => None,
        });
        let (uses, arguments): (_, Vec<_>) = (uses.collect(), launch.arguments.iter().map(bytes).collect());
        let (script, name) = (self.script.clone(), launch.kernel.name.clone());
        self.schedule.begin(queue.queue, uses, move || {
            let script = script.get();
            if let Some(kernel) = &script.kernel {
                kernel(&script, &name, &arguments);
            }
            Ok(())
        })
    }

    unsafe fn seconds(&self, _: &Thing, _: Launch<Fake>) -> Result<f64> {
        self.script.get().begin("seconds", None)?;
        Ok(1.5e-3)
    }

    fn record(&self, queue: &Thing) -> Result<Thing> {
        self.script.get().begin("record", None)?;
        let mut event = Thing::new(self, "event");
        event.place = Some(self.schedule.end(queue.queue));
        Ok(event)
    }

    fn wait_for(&self, queue: &Thing, event: &Thing) -> Result<()> {
        self.script.get().begin("wait_for", None)?;
        event.place.into_iter().for_each(|place| self.schedule.wait_for(queue.queue, place));
        Ok(())
    }

    fn is_done(&self, queue: &Thing) -> Result<bool> {
        self.script.get().begin("is_done", None)?;
        Ok(self.schedule.has_ended(queue.queue) && !self.script.get().is_busy)
    }

    fn synchronize(&self, queue: &Thing) -> Result<()> {
        self.script.get().begin("synchronize", None)?;
        self.schedule.run_to(self.schedule.end(queue.queue))
    }
}
