//! Devices on the CPU that behave as GPUs do: they have a copy of the sources, read records late,
//! and fail when a test says so.

#![allow(dead_code, reason = "each test uses some of it")]

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use kyoho::Setup;
use kyoho_core::memory::{PageLock, Pages, device_key};
use kyoho_core::records::RECORD_WORDS;
use kyoho_core::{
    Assignment, Block, CHUNK, Error, Order, PartialSums, Partition, Precision, RecordLine, Records, Result, Sources,
    Updates, Written,
};
use kyoho_hal::{Backend, DeviceDescription, DeviceKind};
use kyoho_methods::{Device, DeviceOptions, Machine};
use kyoho_verify::{Selection, targets};

/// The call in which a device fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    Open,
    Register,
    Start,
    Part,
    Wait,
    Neighbours,
}

/// The way in which a device fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Breaks,
    RunsOutOfMemory,
    /// An error that is not the device's fault, so that the system keeps the device.
    HasADefect,
}

impl How {
    fn error(self, at: At) -> Error {
        match self {
            How::Breaks => Error::DeviceFailed { device: "fake".into(), reason: format!("{at:?} was told to fail") },
            How::HasADefect => Error::Internal { what: format!("{at:?} was told to fail") },
            How::RunsOutOfMemory => Error::OutOfMemory { what: "a fake's copy", bytes: 1 },
        }
    }
}

/// Returns the setup of a plain system of order 4 in double on the CPU.
pub fn order_4_double() -> Setup {
    let selection = Selection {
        backend: Some(Backend::Cpu),
        order: Some(Order::Fourth),
        precision: Some(Precision::Double),
        ..Selection::default()
    };
    targets(&selection).remove(0).setup
}

/// The seconds that each further device costs. Then 12 sinks are computed by one device and 40 by
/// several.
pub const START: usize = 200;

/// The instructions for the devices of a machine, and the record of their calls.
#[derive(Debug, Default)]
pub struct Notes {
    /// The failures to come: the kind of call, the number of calls before it, and the way.
    failures: Vec<(At, usize, How)>,
    /// The CUDA devices that fail at every call of a kind.
    broken: Vec<(At, usize)>,
    /// The backend, sinks and nj of each block that was started, once for each device that has an
    /// assignment.
    pub started: Vec<(Backend, usize, usize)>,
    /// The device and the assignment of each such start on a device that is not the CPU.
    pub assignments: Vec<(usize, Assignment)>,
    /// The device and the sinks of each call for neighbours on such a device.
    pub lists: Vec<(usize, Range<usize>)>,
    /// The number of records that devices received, and of those among them that they had missed.
    pub records: usize,
    pub missed: usize,
    /// The numbers of single sources and of whole chunks that devices fetched.
    pub fetched: (usize, usize),
    /// The number of devices that are open.
    pub open: usize,
    /// The largest number of memories of records, sinks and lists that a device had page-locked
    /// at once.
    pub locked: usize,
}

impl Notes {
    fn call(&mut self, at: At, backend: Backend, number: usize) -> Result<()> {
        if backend == Backend::Cuda && self.broken.contains(&(at, number)) {
            return Err(How::Breaks.error(at));
        }
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

/// A machine with two or another number of CUDA devices and one for OpenCL. None of them is real.
#[derive(Debug, Clone)]
pub struct Fakes {
    notes: Arc<Mutex<Notes>>,
    /// The number of CUDA devices.
    devices: usize,
    /// The number of records that are gathered before a block.
    records: usize,
    /// The number of chunks that fit into a device's memory.
    chunks: usize,
    /// The number of pairs below which the CPU computes a block.
    crossover: u64,
    /// The number of sinks that a device hands in at a time.
    piece: usize,
}

impl Fakes {
    pub fn new(records: usize) -> Fakes {
        Fakes { notes: Arc::default(), devices: 2, records, chunks: usize::MAX, crossover: 0, piece: usize::MAX }
    }

    pub fn with_devices(self, devices: usize) -> Fakes {
        Fakes { devices, ..self }
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

    /// Makes the `count`-th call of this kind from now on fail.
    pub fn fail(&self, at: At, count: usize, how: How) {
        self.notes().failures.push((at, count, how));
    }

    /// Makes every call of this kind on the CUDA device of this number fail from now on.
    pub fn break_device(&self, at: At, number: usize) {
        self.notes().broken.push((at, number));
    }

    pub fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap()
    }

    /// Returns the machine for [`kyoho::System::on`].
    pub fn machine(&self) -> Box<dyn Machine> {
        Box::new(self.clone())
    }
}

impl Machine for Fakes {
    fn devices(&self, backend: Backend) -> Result<usize> {
        Ok(if backend == Backend::Cuda { self.devices } else { 1 })
    }

    fn open(&self, backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
        let copy = Sources::new(options.interaction.n_coefficients);
        let cpu = kyoho_devices::open(Backend::Cpu, 0, options.clone())?;
        if backend != Backend::Cpu {
            self.notes().call(At::Open, backend, number)?;
        }
        self.notes().open += 1;
        let fakes = self.clone();
        Ok(match backend {
            Backend::Cpu => Box::new(Observed { cpu, fakes, has_part: false }),
            _ => Box::new(Gpu {
                backend,
                number,
                options,
                cpu,
                fakes,
                copy,
                stamps: HashMap::new(),
                key: device_key(),
                locked: Arc::default(),
                work: None,
                has_part: false,
                left: 0,
                handed_in: 0,
            }),
        })
    }

    fn records(&self) -> usize {
        self.records
    }
}

/// What the engine did wrong if a device without a part of a block is asked for its sums.
const ASKED_AGAIN: &str = "a device was asked for a part of a block that it has ended, or never had";

/// The CPU, whose calls are recorded.
struct Observed {
    cpu: Box<dyn Device>,
    fakes: Fakes,
    /// Whether it was given a part of a block, with sinks or without, whose end it has not told.
    has_part: bool,
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

    fn start(&mut self, updates: &Updates, block: &Block, assignment: &Assignment) -> Result<()> {
        assert!(updates.fresh.is_empty() && updates.missed.is_empty(), "the CPU takes no records");
        self.fakes.notes().started.push((Backend::Cpu, block.count(), block.nj));
        self.has_part = true;
        self.cpu.start(updates, block, assignment)
    }

    fn sum_part(&mut self, block: &Block, part: Range<usize>) -> Result<()> {
        self.cpu.sum_part(block, part)
    }

    fn wait_more(&mut self, parts: &mut PartialSums, done: usize) -> Result<usize> {
        assert!(std::mem::take(&mut self.has_part), "{ASKED_AGAIN}");
        self.cpu.wait_more(parts, done)
    }

    fn neighbours(&mut self, of: &Sources, block: &Block, sinks: Range<usize>, found: &mut [Vec<i32>]) -> Result<()> {
        self.cpu.neighbours(of, block, sinks, found)
    }

    fn bytes(&self) -> usize {
        self.cpu.bytes()
    }
}

/// The work that a device has started.
struct Work {
    block: Block,
    /// The groups of the block that were begun.
    part: Range<usize>,
    assignment: Assignment,
    /// For each part of the journal, the address of the records, their lines, and the lines of one
    /// record.
    records: [(usize, usize, usize); 2],
}

/// Memory that a device has page-locked, and whether a block is under way that uses it.
#[derive(Default)]
struct Locked {
    ranges: Mutex<Vec<Range<usize>>>,
    is_in_use: AtomicBool,
}

/// The lock of memory, which the engine may free when no block is under way.
struct Lock {
    of: Arc<Locked>,
    first: usize,
}

impl PageLock for Lock {
    fn has_ended(&self) -> bool {
        false
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let is_in_use = self.of.is_in_use.load(Ordering::Relaxed);
        assert!(!is_in_use || std::thread::panicking(), "memory of a block that is under way");
        self.of.ranges.lock().unwrap().retain(|range| range.start != self.first);
    }
}

/// A device with a copy of its own, made only of the data that it receives.
struct Gpu {
    backend: Backend,
    number: usize,
    options: DeviceOptions,
    cpu: Box<dyn Device>,
    fakes: Fakes,
    copy: Sources,
    /// The stamps of the chunks as they were fetched.
    stamps: HashMap<usize, u64>,
    /// The key by which memory knows this device.
    key: u64,
    /// The memory that it has page-locked.
    locked: Arc<Locked>,
    work: Option<Work>,
    /// Whether it was given a part of a block, with sinks or without, whose end it has not told.
    has_part: bool,
    /// The number of sinks that have to be handed in.
    left: usize,
    handed_in: usize,
}

impl Drop for Gpu {
    fn drop(&mut self) {
        self.read_records();
        self.locked.is_in_use.store(false, Ordering::Relaxed);
        self.fakes.notes().open -= 1;
    }
}

impl Gpu {
    fn fetch(&mut self, sources: &Sources, everything: bool) -> Result<()> {
        match sources.written() {
            Written::Addresses(addresses) if !everything => {
                for address in addresses {
                    self.copy
                        .write_back(*address as usize, &sources.read(*address as usize).expect("it was written"))?;
                    let chunk = *address as usize / CHUNK;
                    self.stamps.insert(chunk, sources.chunk(chunk).expect("it was written").stamp());
                }
                self.fakes.notes().fetched.0 += addresses.len();
            }
            _ => {
                for number in 0..sources.chunks_below(usize::MAX) {
                    let Some(chunk) = sources.chunk(number) else { continue };
                    if self.stamps.insert(number, chunk.stamp()) == Some(chunk.stamp()) {
                        continue;
                    }
                    for address in number * CHUNK..(number + 1) * CHUNK {
                        sources.read(address).map_or(Ok(()), |source| self.copy.write_back(address, &source))?;
                    }
                    self.fakes.notes().fetched.1 += 1;
                }
            }
        }
        if self.stamps.len() > self.fakes.chunks {
            return Err(How::RunsOutOfMemory.error(At::Start));
        }
        Ok(())
    }

    /// Forgets all sources, as a device does after a failure.
    fn lose_all(&mut self) {
        (self.work, self.left, self.handed_in) = (None, 0, 0);
        self.locked.is_in_use.store(false, Ordering::Relaxed);
        self.copy = Sources::new(self.copy.n_coefficients());
        // Predictions of the old copy must not be used for the new one.
        self.cpu = kyoho_devices::open(Backend::Cpu, 0, self.options.clone()).expect("it was opened before");
        self.stamps.clear();
    }

    /// Reads the records, as a GPU does some time between start and wait.
    fn read_records(&mut self) {
        let Some(Work { records, .. }) = &self.work else { return };
        for (first, lines, lines_of_record) in *records {
            let first = std::ptr::with_exposed_provenance::<RecordLine>(first);
            // SAFETY: the engine does not change the records from start to the end, and until the
            // device is dropped.
            let lines: Vec<RecordLine> = (0..lines).map(|line| unsafe { first.wrapping_add(line).read() }).collect();
            for record in Records::new(&lines, lines_of_record).iter() {
                self.copy.write_back(record.address() as usize, &record.source()).expect("its chunk is there");
            }
        }
    }

    /// Notes where records are, and checks the engine's promises about them.
    fn look_at(&self, records: Records) -> (usize, usize, usize) {
        let addresses: HashSet<u32> = records.iter().map(|record| record.address()).collect();
        assert_eq!(addresses.len(), records.len(), "an address twice");
        let known = |address: &u32| self.copy.chunk(*address as usize / CHUNK).is_some();
        assert!(addresses.iter().all(known), "a record of an unknown chunk");
        let lines = records.lines();
        let first = lines.as_ptr().expose_provenance();
        let inside = |memory: &Range<usize>| memory.start <= first && first + size_of_val(lines) <= memory.end;
        assert!(
            records.is_empty() || self.locked.ranges.lock().unwrap().iter().any(inside),
            "records outside of page-locked memory"
        );
        (first, lines.len(), records.words() / RECORD_WORDS)
    }

    /// Page-locks memory, from which records may be read then.
    fn lock_pages(&self, memory: &Pages) {
        if memory.bytes() > 0 && !memory.is_locked_for(self.key) {
            let first = memory.as_ptr().cast::<u8>().expose_provenance();
            self.locked.ranges.lock().unwrap().push(first..first + memory.bytes());
            memory.keep_lock(self.key, Box::new(Lock { of: self.locked.clone(), first }));
        }
    }

    /// Page-locks the memory of a block, as GPUs do where it is large.
    fn lock_memory_of(&mut self, block: &Block) {
        match &block.lists {
            Some(lists) => {
                self.lock_pages(&lists.sinks.pages);
                lists.sources.pages().into_iter().for_each(|pages| self.lock_pages(pages));
            }
            None => self.lock_pages(block.sinks.pages()),
        }
        let count = self.locked.ranges.lock().unwrap().len();
        let mut notes = self.fakes.notes();
        notes.locked = notes.locked.max(count);
    }

    /// Computes the block that was started.
    fn finish(&mut self, parts: &mut PartialSums) -> Result<()> {
        self.read_records();
        let Some(Work { block, part, assignment, .. }) = self.work.take() else { return Ok(()) };
        let called = self.fakes.notes().call(At::Wait, self.backend, self.number);
        called.inspect_err(|_| self.lose_all())?;
        self.cpu.start(&Updates::of(&self.copy), &block, &assignment)?;
        if !part.is_empty() {
            self.cpu.sum_part(&block, part)?;
        }
        self.cpu.wait_more(parts, 0)?;
        (self.left, self.handed_in) = (assignment.sinks.len(), 0);
        Ok(())
    }
}

impl Device for Gpu {
    fn describe(&self) -> DeviceDescription {
        DeviceDescription {
            backend: self.backend,
            kind: DeviceKind::Gpu,
            platform: String::new(),
            name: format!("a fake for {}", self.backend.name()),
            details: String::new(),
            abilities: String::new(),
        }
    }

    fn takes_records(&self) -> bool {
        true
    }

    fn lock(&mut self, memory: &Pages) -> Result<()> {
        self.fakes.notes().call(At::Register, self.backend, self.number)?;
        self.lock_pages(memory);
        Ok(())
    }

    fn start(&mut self, updates: &Updates, block: &Block, assignment: &Assignment) -> Result<()> {
        assert!(self.work.is_none() && self.left == 0, "a second start before the end of the first");
        self.has_part = true;
        {
            let mut notes = self.fakes.notes();
            notes.started.push((self.backend, block.count(), block.nj));
            notes.assignments.push((self.number, assignment.clone()));
            notes.records += updates.fresh.len() + updates.missed.len();
            notes.missed += updates.missed.len();
        }
        self.fetch(updates.sources, updates.everything).inspect_err(|_| self.lose_all())?;
        self.lock_memory_of(block);
        let records = [self.look_at(updates.missed), self.look_at(updates.fresh)];
        let Block { skip_own_index, time, predicts, nj, units, neighbour_criterion, in_parts, .. } = *block;
        let (sinks, lists) = (block.sinks.clone(), block.lists.clone());
        let (sinks_on_device, tree) = (false, None);
        let block = Block {
            sinks,
            skip_own_index,
            time,
            low_time: 0.0,
            low_sinks: kyoho_core::Sinks::default(),
            predicts,
            nj,
            units,
            neighbour_criterion,
            in_parts,
            sinks_on_device,
            tree,
            lists,
        };
        self.locked.is_in_use.store(true, Ordering::Relaxed);
        self.work = Some(Work { block, part: 0..0, assignment: assignment.clone(), records });
        let called = self.fakes.notes().call(At::Start, self.backend, self.number);
        called.inspect_err(|_| self.lose_all())
    }

    fn sum_part(&mut self, block: &Block, part: Range<usize>) -> Result<()> {
        let work = self.work.as_mut().expect("a part of a block that was started");
        if work.part.is_empty() {
            work.part = part.start..part.start;
        }
        assert_eq!(work.part.end, part.start, "parts follow one another");
        work.part.end = part.end;
        // The lists or sinks of this part were copied meanwhile.
        match &block.lists {
            Some(lists) => work.block.lists = Some(lists.clone()),
            None => {
                assert!(work.block.in_parts, "a part of a block that was there as a whole");
                assert!(work.assignment.sinks.start <= part.start && part.end <= work.assignment.sinks.end);
                work.block.sinks = block.sinks.clone();
            }
        }
        let called = self.fakes.notes().call(At::Part, self.backend, self.number);
        called.inspect_err(|_| self.lose_all())
    }

    fn wait_more(&mut self, parts: &mut PartialSums, done: usize) -> Result<usize> {
        // The sums may be another block's, or the caller's.
        assert!(std::mem::take(&mut self.has_part), "{ASKED_AGAIN}");
        if done == 0 {
            self.finish(parts)?;
        }
        assert_eq!(done, self.handed_in, "sinks that were not handed in yet, or twice");
        let more = self.left.min(self.fakes.piece);
        (self.left, self.handed_in) = (self.left - more, done + more);
        if self.left == 0 {
            self.locked.is_in_use.store(false, Ordering::Relaxed);
            return Ok(std::mem::take(&mut self.handed_in));
        }
        self.has_part = true;
        Ok(self.handed_in)
    }

    fn neighbours(&mut self, _: &Sources, block: &Block, sinks: Range<usize>, found: &mut [Vec<i32>]) -> Result<()> {
        self.fakes.notes().lists.push((self.number, sinks.clone()));
        self.fakes.notes().call(At::Neighbours, self.backend, self.number)?;
        self.cpu.neighbours(&self.copy, block, sinks, found)
    }

    /// Returns a second for each pair of a sink and a slice, and `START` for each further device.
    fn estimate(&self, ni: usize, _: usize, partition: Partition, _: usize) -> Option<f64> {
        let assignment = partition.assignment(0, ni);
        Some((assignment.sinks.len() * assignment.slices().len() + START * (partition.devices() - 1)) as f64)
    }

    fn crossover(&self) -> u64 {
        self.fakes.crossover
    }

    fn bytes(&self) -> usize {
        self.cpu.bytes() + self.copy.bytes()
    }
}
