//! The sources on a GPU, what brings them and the sinks there, and the queues of its work: all that
//! methods share.

use std::ops::Range;

use bytemuck::bytes_of;

use crate::DeviceOptions;
use kyoho_core::memory::{Pages, device_key};
use kyoho_core::{Assignment, Block, CHUNK, Error, Nearest, PartialSums, Records, Result, Sources, Sums, Updates};
use kyoho_hal::gpu::{Address, Argument, DeviceMemory, Gpu, Launch, Mapped, Place};

use super::inbox::Inbox;
use super::locks::Locks;
use super::step::{PredictionTarget, Step};
use super::store::Store;

/// The most bytes of sinks and records that are copied before the one kernel of a block; more come
/// by [`GpuSources::bring`].
pub const COPIED: usize = 32 << 10;
/// The number of queues, which take pieces in turn: so many that the sums of further pieces wait
/// for a place on the device while those of the first ones end.
pub const QUEUES: usize = 4;
/// The threads of a thread block that fetches.
pub const FETCH_THREADS: usize = 256;
/// The most thread blocks that fetch. Each goes through many items.
const MOST_BLOCKS: usize = 128;

/// The device's memory for sources.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoreAddresses<A> {
    /// The numbers of sources, in octets.
    pub octets: A,
    /// Their indices.
    pub indices: A,
    /// The lowest and the highest index of each chunk.
    pub ranges: A,
    /// The place of each chunk.
    pub slots: A,
    /// The sources as they were predicted last.
    pub predicted: A,
}

/// Records on their way to their places.
#[derive(Debug, Clone, Copy)]
pub struct FetchedRecords<A> {
    /// Where they lie.
    pub from: A,
    /// How many there are.
    pub count: usize,
    /// The words of each.
    pub words: usize,
}

/// Sinks on their way to the device.
#[derive(Debug, Clone, Copy)]
pub struct FetchedSinks<A> {
    /// Where they lie.
    pub from: A,
    /// Where they are brought.
    pub to: A,
    /// The count of their numbers.
    pub numbers: usize,
}

/// The kernels that put records in their places and predict sources.
pub struct SourceKernels<G: Gpu> {
    fetch: G::Kernel,
    predict: G::Kernel,
}

impl<G: Gpu> SourceKernels<G> {
    /// The names of the kernels.
    pub const NAMES: [&str; 2] = ["fetch", "predict_sources"];

    /// Takes the kernels, in the order of their names.
    pub fn of([fetch, predict]: [G::Kernel; 2]) -> SourceKernels<G> {
        SourceKernels { fetch, predict }
    }

    /// Puts records in their places and copies sinks, from memory of the host or of the
    /// device.
    ///
    /// # Safety
    /// Every address is of memory as long as the counts say, which is neither freed nor touched by
    /// the host until the queue has done the work. This holds for the other launches too.
    pub unsafe fn fetch(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        store: &StoreAddresses<Address<G>>,
        is_dense: bool,
        records: FetchedRecords<Address<G>>,
        sinks: FetchedSinks<Address<G>>,
    ) -> Result<()> {
        let (count, numbers, is_dense) = (records.count as i32, sinks.numbers as i32, i32::from(is_dense));
        let wanted = (records.count * records.words).max(sinks.numbers).div_ceil(FETCH_THREADS);
        let arguments = [
            Argument::Memory(records.from),
            Argument::Bytes(bytes_of(&count)),
            Argument::Memory(store.octets),
            Argument::Memory(store.indices),
            Argument::Memory(store.ranges),
            Argument::Memory(store.slots),
            Argument::Bytes(bytes_of(&is_dense)),
            Argument::Memory(sinks.from),
            Argument::Memory(sinks.to),
            Argument::Bytes(bytes_of(&numbers)),
        ];
        let launch = Launch {
            kernel: &mut self.fetch,
            blocks: wanted.clamp(1, MOST_BLOCKS),
            threads: FETCH_THREADS,
            overlaps: false,
            arguments: &arguments,
        };
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.launch(queue, launch) }
    }

    /// Predicts the sources of the step's slices.
    ///
    /// # Safety
    /// See [`SourceKernels::fetch`].
    #[inline]
    pub unsafe fn predict(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        step: &Step,
        store: &StoreAddresses<Address<G>>,
        overlaps: bool,
    ) -> Result<()> {
        let chunks = step.chunks_of_slices();
        if chunks <= 0 {
            return Ok(());
        }
        let arguments = [
            Argument::Bytes(bytes_of(step)),
            Argument::Memory(store.octets),
            Argument::Memory(store.slots),
            Argument::Memory(store.predicted),
        ];
        let kernel = &mut self.predict;
        let launch = Launch { kernel, blocks: chunks as usize, threads: CHUNK, overlaps, arguments: &arguments };
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.launch(queue, launch) }
    }
}

/// The sources on a GPU, with what brings them and the sinks there.
pub struct GpuSources<G: Gpu> {
    /// The queues of sums.
    pub queues: Vec<G::Queue>,
    /// The queue that adds up the partial sums of pieces where a block has several. Its kernels go
    /// before the sums of later pieces, so that results come while these are made.
    pub ending: G::Queue,
    /// The queue of copies of results to the host: in another one they would wait for the sums of
    /// later pieces.
    pub fetching: G::Queue,
    /// The options of the device.
    pub options: DeviceOptions,
    /// The sources.
    pub store: Store<G>,
    /// The sinks of a block, and few records.
    pub inbox: Inbox<G>,
    /// The sinks that were taken from arrays of the caller.
    pub taken: G::Memory,
    /// Results that stay on the device until they are asked for.
    kept: G::Memory,
    kernels: SourceKernels<G>,
    /// Memory of records, sinks and sums that is page-locked, which kernels may reach.
    locks: Locks<G::Registration>,
    /// The key by which memory knows this device.
    key: u64,
    /// Records on the device, where kernels do not reach memory of the host.
    records: G::Memory,
    /// The target to which sources on the device are predicted, and the assignment whose sources
    /// these are.
    predicted: Option<(PredictionTarget, Assignment)>,
    /// How often the sources have changed.
    changes: u64,
    /// The GPU.
    pub gpu: G,
}

impl<G: Gpu> GpuSources<G> {
    /// Makes it without sources.
    pub fn new(gpu: G, options: DeviceOptions, kernels: SourceKernels<G>) -> Result<GpuSources<G>> {
        let interaction = options.interaction.clone();
        Ok(GpuSources {
            queues: (0..QUEUES).map(|_| gpu.queue()).collect::<Result<Vec<_>>>()?,
            ending: gpu.urgent_queue()?,
            fetching: gpu.queue()?,
            store: Store::new(&gpu, interaction.clone(), options.threads)?,
            inbox: Inbox::new(&gpu, &interaction)?,
            taken: gpu.allocate(0, "sinks")?,
            kept: gpu.allocate(0, "results")?,
            kernels,
            locks: Locks::none(),
            key: device_key(),
            records: gpu.allocate(0, "records")?,
            predicted: None,
            changes: 0,
            options,
            gpu,
        })
    }

    /// Brings what was written to the host's copy, or everything.
    pub fn update(&mut self, sources: &Sources, everything: bool) -> Result<()> {
        if self.store.update(&self.gpu, &self.queues[0], sources, everything)? {
            self.have_changed();
        }
        Ok(())
    }

    /// Does so for a tree, whose bits depend on the order of its bodies: places are in the order of
    /// addresses afterwards.
    pub fn update_in_order(&mut self, sources: &Sources, everything: bool) -> Result<()> {
        if self.store.update_in_order(&self.gpu, &self.queues[0], sources, everything)? {
            self.have_changed();
        }
        Ok(())
    }

    /// Brings what was written to the host's copy before a block, and notes that its records, which are
    /// brought later, change the sources too.
    pub fn update_before(&mut self, updates: &Updates) -> Result<()> {
        self.update(updates.sources, updates.everything)?;
        if !updates.missed.is_empty() || !updates.fresh.is_empty() {
            self.have_changed();
        }
        Ok(())
    }

    /// Forgets what was made of the sources.
    pub fn have_changed(&mut self) {
        self.predicted = None;
        self.changes += 1;
    }

    /// Returns how often the sources have changed.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Forgets all sources, which are brought anew for the next block.
    pub fn forget(&mut self) {
        self.have_changed();
        self.store.forget();
    }

    /// Whether the sources of an assignment are predicted to a target.
    #[inline]
    pub fn is_predicted(&self, target: &PredictionTarget, assignment: &Assignment) -> bool {
        self.predicted.as_ref().is_some_and(|(of, whose)| of == target && whose.covers(assignment))
    }

    /// Begins to predict the sources of the step's slices, which are those of an assignment.
    ///
    /// # Safety
    /// See [`SourceKernels::fetch`].
    #[inline]
    pub unsafe fn predict(&mut self, queue: usize, step: &Step, of: Assignment, overlaps: bool) -> Result<()> {
        let on = (&self.gpu, &self.queues[queue]);
        // SAFETY: the caller's promise.
        unsafe { self.kernels.predict(on, step, &self.store.addresses(), overlaps)? };
        self.predicted = Some((step.target, of));
        Ok(())
    }

    /// Begins to predict all sources below `nj` of a block in the first queue, unless they are.
    pub fn predict_all(&mut self, sources: &Sources, block: &Block) -> Result<()> {
        self.store.make_room_for_predicted(&self.gpu)?;
        let (target, all) = (PredictionTarget::of(block), Assignment::whole(block.sinks.len()));
        if self.is_predicted(&target, &all) {
            return Ok(());
        }
        let (chunks, is_dense) = (sources.chunks_below(block.nj) as i32, i32::from(self.store.is_dense()));
        let step = Step { chunks, slice_step: 1, is_dense, ..Step::of(block) };
        // SAFETY: the store has room for all chunks, and is neither dropped nor grown before the queue
        // has ended.
        unsafe { self.predict(0, &step, all, false) }
    }

    /// Begins to put records in their places, for which the inbox has room.
    pub fn bring_records(&mut self, records: [Records; 2]) -> Result<()> {
        for records in records.into_iter().filter(|records| !records.is_empty()) {
            // SAFETY: the records and the inbox stay there until the block was waited for.
            unsafe { self.bring(0, (0..0, None), records)? };
        }
        Ok(())
    }

    /// Puts records in their places and brings sinks, which were packed into this range of the
    /// inbox, to the device.
    ///
    /// # Safety
    /// The records and the inbox stay as they are until the queue has done the work.
    pub unsafe fn bring(
        &mut self,
        queue: usize,
        (sinks, in_place): (Range<usize>, Option<Address<G>>),
        records: Records,
    ) -> Result<()> {
        let (on, words) = ((&self.gpu, &self.queues[queue]), records.words());
        let (store, is_dense) = (self.store.addresses(), self.store.is_dense());
        let to = self.inbox.address();
        debug_assert!(sinks.start == 0, "sinks that are fetched are those of the first piece");
        if let Some(from) = in_place.or_else(|| self.inbox.host_address(sinks.start)) {
            // A kernel that reads the host's memory begins sooner than a large copy.
            let records_in_place = self.address_of(bytemuck::cast_slice(records.lines()));
            let records_from = records_in_place.or_else(|| {
                // SAFETY: the caller's promise; no copy of records of this block is under way.
                let packed = unsafe { self.inbox.put_records(records) }.start;
                self.inbox.host_address(packed)
            });
            let lost = || Error::Internal { what: "memory of the host that was mapped is no longer mapped".into() };
            let records = FetchedRecords { from: records_from.ok_or_else(lost)?, count: records.len(), words };
            let sinks = FetchedSinks { from, to, numbers: sinks.len() / size_of::<f64>() };
            // SAFETY: the caller's promise; records and sinks lie in memory that kernels reach.
            return unsafe { self.kernels.fetch(on, &store, is_dense, records, sinks) };
        }
        let bytes = size_of_val(records.lines());
        if self.records.bytes() < bytes {
            // Kernels that read the old ones may be under way.
            self.gpu.synchronize(on.1)?;
            self.records = self.gpu.allocate(bytes.next_power_of_two(), "records")?;
        }
        // SAFETY: the caller's promise; the memory has room for the records, and a queue keeps the
        // order of what is begun.
        unsafe {
            if !records.is_empty() {
                let from = Place::Host(records.lines().as_ptr().cast_mut().cast());
                self.gpu.copy(on.1, from, Place::Device(&self.records, 0), bytes)?;
                let records = FetchedRecords { from: self.records.address(), count: records.len(), words };
                // The sinks come by a copy: none are fetched.
                let sinks = FetchedSinks { from: to, to, numbers: 0 };
                self.kernels.fetch(on, &store, is_dense, records, sinks)?;
            }
            if !sinks.is_empty() {
                self.inbox.copy(&self.gpu, on.1, sinks)?;
            }
        }
        Ok(())
    }

    /// Page-locks memory, if that was not tried before.
    pub fn lock(&mut self, memory: &Pages) -> Result<()> {
        if !memory.is_locked_for(self.key) {
            // SAFETY: the lock goes before the memory does.
            let registration = unsafe { self.gpu.register(memory.as_ptr())? };
            self.keep_lock(memory, Some(registration));
        }
        Ok(())
    }

    /// Page-locks memory of which this many bytes are used, if they are many and that was not tried
    /// before. Where it fails, the memory is only slower.
    #[inline]
    pub fn lock_used(&mut self, memory: &Pages, used: usize) {
        if used > COPIED && !memory.is_locked_for(self.key) {
            // SAFETY: the lock goes before the memory does.
            let registration = unsafe { self.gpu.register(memory.as_ptr()) };
            self.keep_lock(memory, registration.ok());
        }
    }

    fn keep_lock(&mut self, memory: &Pages, registration: Option<G::Registration>) {
        let first = memory.as_ptr().cast::<u8>().addr();
        if let Some(lock) = self.locks.add(first..first + memory.bytes(), registration) {
            memory.keep_lock(self.key, Box::new(lock));
        }
    }

    /// Page-locks the memory of sums to which this device copies, if they are many.
    #[inline]
    pub fn lock_sums(&mut self, sums: &Sums) {
        let used = size_of_val(&sums.values[..]);
        self.lock_used(sums.values.pages(), used);
        self.lock_used(sums.nearest.pages(), if sums.nearest.is_empty() { 0 } else { used });
    }

    /// Returns the device's address of page-locked memory, if kernels reach it.
    #[inline]
    pub fn address_of(&self, memory: &[u8]) -> Option<Address<G>> {
        self.locks.of(memory.as_ptr().addr(), |registration, before| registration.device_address(before))?
    }

    /// Returns memory of the device for this many bytes of results, which stay there.
    pub fn kept(&mut self, bytes: usize) -> Result<&G::Memory> {
        if self.kept.bytes() < bytes {
            self.kept = self.gpu.allocate(bytes + bytes / 4, "results")?;
        }
        Ok(&self.kept)
    }

    /// Returns the memory of results that stay on the device.
    #[inline]
    pub fn kept_results(&self) -> &G::Memory {
        &self.kept
    }

    /// Hands in the sums of an assignment of no sinks or no sources, which are zero, and waits for its
    /// records.
    pub fn end_without_sums(&self, assignment: &Assignment, partial_sums: &mut PartialSums) -> Result<()> {
        let n_outputs = self.options.interaction.n_outputs;
        let (sinks, into) = (assignment.sinks.clone(), partial_sums.set(assignment.set));
        into.values[sinks.start * n_outputs..sinks.end * n_outputs].fill(0.0);
        if let Some(nearest) = into.nearest.get_mut(sinks) {
            nearest.fill(Nearest::NONE);
        }
        // The memory of the records may be written again once this has ended.
        self.gpu.synchronize(&self.queues[0])
    }

    /// Waits for all queues, whatever errors come.
    pub fn synchronize_all(&self) {
        for queue in self.queues.iter().chain([&self.ending, &self.fetching]) {
            let _ = self.gpu.synchronize(queue);
        }
    }

    /// Returns the bytes of host memory.
    pub fn bytes(&self) -> usize {
        self.store.bytes() + self.inbox.bytes()
    }
}
