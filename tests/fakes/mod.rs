//! Devices that behave as GPUs do, on the CPU: they have a copy of the sources, read records late, and fail when told.

#![allow(dead_code, reason = "each test uses some of it")]

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use kyoho::backend::{self, Device, DeviceDescription, DeviceOptions, Machine};
use kyoho::system::slices::CHUNK;
use kyoho::system::{Block, Parts, Record, Sources, Written};
use kyoho::{Backend, Error, Result};

/// Where a device can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    Open,
    Register,
    Start,
    Wait,
    Neighbours,
}

/// How a device fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Breaks,
    RunsOutOfMemory,
}

impl How {
    fn error(self, at: At) -> Error {
        match self {
            How::Breaks => Error::DeviceFailed { device: "fake".into(), reason: format!("{at:?} was told to fail") },
            How::RunsOutOfMemory => Error::OutOfMemory { what: "a fake's copy", bytes: 1 },
        }
    }
}

/// What the devices of a machine are told to do, and what they did.
#[derive(Debug, Default)]
pub struct Notes {
    /// Failures to come: after so many more calls of a kind.
    failures: Vec<(At, usize, How)>,
    /// The backend, sinks and nj of each block that was started, once for each device.
    pub started: Vec<(Backend, usize, usize)>,
    /// Records that devices were sent.
    pub records: usize,
    /// Addresses of single sources, and whole chunks, that devices fetched.
    pub fetched: (usize, usize),
    /// Devices that are open.
    pub open: usize,
}

impl Notes {
    fn call(&mut self, at: At) -> Result<()> {
        for failure in self.failures.iter_mut().filter(|failure| failure.0 == at) {
            match failure.1 {
                0 => (),
                count => failure.1 = count - 1,
            }
        }
        let due = self.failures.iter().position(|(place, left, _)| *place == at && *left == 0);
        due.map_or(Ok(()), |due| Err(self.failures.swap_remove(due).2.error(at)))
    }
}

/// A machine with two CUDA devices and one for OpenCL, none of them real.
#[derive(Debug, Clone)]
pub struct Fakes {
    notes: Arc<Mutex<Notes>>,
    /// Records that are gathered before a block.
    records: usize,
    /// Chunks that a device has memory for.
    chunks: usize,
    /// Blocks of fewer pairs than this are better computed by the CPU.
    crossover: u64,
    /// Sinks that a device hands in at a time.
    piece: usize,
}

impl Fakes {
    pub fn new(records: usize) -> Fakes {
        Fakes { notes: Arc::default(), records, chunks: usize::MAX, crossover: 0, piece: usize::MAX }
    }

    pub fn with_memory_for(self, chunks: usize) -> Fakes {
        Fakes { chunks, ..self }
    }

    pub fn with_crossover(self, crossover: u64) -> Fakes {
        Fakes { crossover, ..self }
    }

    pub fn with_pieces_of(self, piece: usize) -> Fakes {
        Fakes { piece, ..self }
    }

    /// The `count`-th call of this kind from now on fails.
    pub fn fail(&self, at: At, count: usize, how: How) {
        self.notes().failures.push((at, count, how));
    }

    pub fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap()
    }

    /// For [`kyoho::System::on`].
    pub fn machine(&self) -> Box<dyn Machine> {
        Box::new(self.clone())
    }
}

impl Machine for Fakes {
    fn devices(&self, backend: Backend) -> Result<usize> {
        Ok(if backend == Backend::Cuda { 2 } else { 1 })
    }

    fn open(&self, backend: Backend, _: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
        let copy = Sources::new(options.descriptor.taylor);
        let slices = options.slices.len();
        let cpu = backend::open(Backend::Cpu, 0, options)?;
        if backend != Backend::Cpu {
            self.notes().call(At::Open)?;
        }
        self.notes().open += 1;
        let fakes = self.clone();
        Ok(match backend {
            Backend::Cpu => Box::new(Observed { cpu, fakes }),
            _ => Box::new(Gpu {
                backend,
                cpu,
                slices,
                fakes,
                copy,
                stamps: HashMap::new(),
                memory: Vec::new(),
                work: None,
                left: 0,
            }),
        })
    }

    fn records(&self) -> usize {
        self.records
    }
}

/// The CPU, observed.
struct Observed {
    cpu: Box<dyn Device>,
    fakes: Fakes,
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.fakes.notes().open -= 1;
    }
}

impl Device for Observed {
    fn describe(&self) -> DeviceDescription {
        self.cpu.describe()
    }

    fn start(&mut self, sources: &Sources, fresh: &[Record], block: &Block) -> Result<()> {
        assert!(fresh.is_empty(), "the CPU takes no records");
        self.fakes.notes().started.push((Backend::Cpu, block.sinks.len(), block.nj));
        self.cpu.start(sources, fresh, block)
    }

    fn wait(&mut self, parts: &mut Parts) -> Result<()> {
        self.cpu.wait(parts)
    }

    fn neighbours(&mut self, of: &Sources, block: &Block, sinks: Range<usize>, found: &mut [Vec<i32>]) -> Result<()> {
        self.cpu.neighbours(of, block, sinks, found)
    }

    fn bytes(&self) -> usize {
        self.cpu.bytes()
    }
}

/// What a device is at work on.
struct Work {
    block: Block,
    /// Where the records are.
    fresh: (usize, usize),
}

/// A device with a copy of its own, which it makes of what it is sent and of nothing else.
struct Gpu {
    backend: Backend,
    cpu: Box<dyn Device>,
    /// How many slices are its own.
    slices: usize,
    fakes: Fakes,
    copy: Sources,
    /// Of the chunks as they were fetched.
    stamps: HashMap<usize, u64>,
    /// What records may be read from.
    memory: Vec<Range<usize>>,
    work: Option<Work>,
    /// Sinks that are still to be handed in.
    left: usize,
}

impl Drop for Gpu {
    fn drop(&mut self) {
        self.read_records();
        self.fakes.notes().open -= 1;
    }
}

impl Gpu {
    fn fetch(&mut self, sources: &Sources) -> Result<()> {
        match sources.written() {
            Written::Addresses(addresses) => {
                for address in addresses {
                    self.copy.put(*address as usize, &sources.read(*address as usize).expect("it was written"))?;
                    let chunk = *address as usize / CHUNK;
                    self.stamps.insert(chunk, sources.chunk(chunk).expect("it was written").stamp());
                }
                self.fakes.notes().fetched.0 += addresses.len();
            }
            Written::Many => {
                for number in 0..sources.chunks_below(usize::MAX) {
                    let Some(chunk) = sources.chunk(number) else { continue };
                    if self.stamps.insert(number, chunk.stamp()) == Some(chunk.stamp()) {
                        continue;
                    }
                    for address in number * CHUNK..(number + 1) * CHUNK {
                        sources.read(address).map_or(Ok(()), |source| self.copy.put(address, &source))?;
                    }
                    self.fakes.notes().fetched.1 += 1;
                }
            }
        }
        match self.stamps.len() > self.fakes.chunks {
            true => Err(How::RunsOutOfMemory.error(At::Start)),
            false => Ok(()),
        }
    }

    /// Nothing is left of the sources after a failure.
    fn lose_all(&mut self) {
        (self.work, self.left) = (None, 0);
        self.copy = Sources::new(self.copy.taylor());
        self.stamps.clear();
    }

    /// What a GPU does some time between start and wait.
    fn read_records(&mut self) {
        let Some(Work { fresh: (first, count), .. }) = &self.work else { return };
        for place in 0..*count {
            let record = std::ptr::with_exposed_provenance::<Record>(*first).wrapping_add(place);
            // SAFETY: the engine leaves the records alone from start to wait, and until the device is dropped.
            let record = unsafe { record.read() };
            self.copy.put(record.address as usize, &record.source()).expect("its chunk is there");
        }
    }
}

impl Device for Gpu {
    fn describe(&self) -> DeviceDescription {
        DeviceDescription {
            backend: self.backend,
            name: format!("a fake for {}", self.backend.name()),
            details: String::new(),
        }
    }

    fn takes_records(&self) -> bool {
        true
    }

    fn register(&mut self, records: &[Record]) -> Result<()> {
        self.fakes.notes().call(At::Register)?;
        let first = records.as_ptr().expose_provenance();
        self.memory.push(first..first + size_of_val(records));
        Ok(())
    }

    fn start(&mut self, sources: &Sources, fresh: &[Record], block: &Block) -> Result<()> {
        assert!(self.work.is_none() && self.left == 0, "a second start before wait has come to its end");
        self.fakes.notes().started.push((self.backend, block.sinks.len(), block.nj));
        self.fakes.notes().records += fresh.len();
        self.fetch(sources).inspect_err(|_| self.lose_all())?;
        let addresses: HashSet<u32> = fresh.iter().map(|record| record.address).collect();
        assert_eq!(addresses.len(), fresh.len(), "an address twice");
        let known = |address: &u32| self.copy.chunk(*address as usize / CHUNK).is_some();
        assert!(addresses.iter().all(known), "a record of an unknown chunk");
        let first = fresh.as_ptr().expose_provenance();
        let inside = |memory: &Range<usize>| memory.start <= first && first + size_of_val(fresh) <= memory.end;
        assert!(fresh.is_empty() || self.memory.iter().any(inside), "records outside of the registered memory");
        let Block { skip_own_index, time, nj, mass_factor, .. } = *block;
        let block = Block { sinks: block.sinks.clone(), skip_own_index, time, nj, mass_factor };
        self.work = Some(Work { block, fresh: (first, fresh.len()) });
        let called = self.fakes.notes().call(At::Start);
        called.inspect_err(|_| self.lose_all())
    }

    fn wait(&mut self, parts: &mut Parts) -> Result<()> {
        self.read_records();
        let Some(Work { block, .. }) = self.work.take() else { return Ok(()) };
        let called = self.fakes.notes().call(At::Wait);
        called.inspect_err(|_| self.lose_all())?;
        self.cpu.start(&self.copy, &[], &block)?;
        self.cpu.wait(parts)
    }

    fn wait_more(&mut self, parts: &mut Parts, done: usize) -> Result<usize> {
        if done == 0 {
            self.wait(parts)?;
        }
        let now = parts.sinks().min(done.saturating_add(self.fakes.piece));
        self.left = parts.sinks() - now;
        Ok(now)
    }

    fn neighbours(&mut self, _: &Sources, block: &Block, sinks: Range<usize>, found: &mut [Vec<i32>]) -> Result<()> {
        self.fakes.notes().call(At::Neighbours)?;
        self.cpu.neighbours(&self.copy, block, sinks, found)
    }

    /// A second for each pair of a sink and a slice.
    fn estimate(&self, ni: usize, _: usize) -> Option<f64> {
        Some((ni * self.slices) as f64)
    }

    fn crossover(&self) -> u64 {
        self.fakes.crossover
    }

    fn bytes(&self) -> usize {
        self.cpu.bytes() + self.copy.bytes()
    }
}
