//! Interaction lists as a method of a GPU.

use std::ops::Range;

use kyoho_core::{
    Assignment, Block, DeviceForces, Error, InteractionLists, ListedSources, PartialSums, Result, Updates,
};
use kyoho_hal::fetched::Fetched;
use kyoho_hal::gpu::{Address, DeviceMemory, Gpu};

use kyoho_methods::gpu::columns::{PieceResults, columns_of_forces};
use kyoho_methods::gpu::method::GpuMethod;
use kyoho_methods::gpu::sources::GpuSources;

use super::groups::Groups;
use super::kernels::Receiver;
use super::sums::ListSums;

/// The bytes of what kernels find in forces: the number of a sink, and a place that is not used.
const FOUND: usize = 8;

/// The sums of interaction lists of a device.
pub struct Lists<G: Gpu> {
    sums: ListSums<G>,
    /// Groups that were made from arrays of the caller.
    pub groups: Groups<G>,
    /// The first sink with a force that is not finite, among those that go to arrays of the caller.
    found: G::Memory,
    /// Its copy on the host.
    found_on_host: Fetched<G>,
    /// The assignment of the block under way.
    assignment: Assignment,
}

impl<G: Gpu> Lists<G> {
    /// Makes sums without room.
    pub fn new(gpu: &G, threads: usize) -> Result<Lists<G>> {
        Ok(Lists {
            sums: ListSums::new(gpu, threads)?,
            groups: Groups::new(gpu)?,
            found: gpu.allocate(FOUND, "interaction lists")?,
            found_on_host: Fetched::new(gpu, FOUND, "interaction lists")?,
            assignment: Assignment::whole(0),
        })
    }

    /// Returns what receives forces as they are summed.
    ///
    /// # Safety
    /// The arrays have a row for each sink, also until the work of the first queue has ended.
    unsafe fn receiver(&self, on: &GpuSources<G>, forces: &DeviceForces) -> Result<Receiver<Address<G>>> {
        let none = || Error::Internal { what: "callers have no memory on this device".into() };
        let origin = on.gpu.address_of_caller(0).ok_or_else(none)?;
        // SAFETY: the memory is that long; kernels that come after this in the queue write to it.
        unsafe { on.gpu.zero(&on.queues[0], &self.found, FOUND)? };
        Ok(Receiver { forces: columns_of_forces(forces), origin, found: self.found.address() })
    }
}

/// Page-locks the memory of lists that comes from the host.
fn lock<G: Gpu>(on: &mut GpuSources<G>, lists: &InteractionLists) {
    if !lists.groups.is_on_device() {
        on.lock_used(&lists.groups.pages, size_of_val(&lists.groups[..]));
    }
    if lists.sinks.on_device().is_none() {
        on.lock_used(&lists.sinks.pages, lists.sinks.pages.bytes());
    }
    if let Some(memory) = lists.sources.pages() {
        on.lock_used(memory, memory.bytes());
    }
}

impl<G: Gpu> GpuMethod<G> for Lists<G> {
    fn takes(&self, block: &Block) -> bool {
        block.lists.is_some()
    }

    fn begin(
        &mut self,
        on: &mut GpuSources<G>,
        updates: &Updates,
        block: &Block,
        assignment: &Assignment,
    ) -> Result<()> {
        let Some(lists) = &block.lists else { return Ok(()) };
        let Updates { sources, missed, fresh, .. } = *updates;
        self.assignment = assignment.clone();
        on.update_before(updates)?;
        on.inbox.make_room(&on.gpu, 0, missed.lines().len() + fresh.lines().len())?;
        on.store.make_room_for_predicted(&on.gpu)?;
        on.bring_records([missed, fresh])?;
        if !matches!(lists.sources, ListedSources::Own(_)) {
            on.predict_all(sources, block)?;
        }
        lock(on, lists);
        let of = (lists, assignment.sinks.clone());
        self.sums.start((&on.gpu, &on.queues[0]), &on.options.interaction, of)
    }

    fn sum_part(&mut self, on: &mut GpuSources<G>, block: &Block, groups: Range<usize>) -> Result<()> {
        let Some(lists) = &block.lists else { return Ok(()) };
        let store = (on.store.addresses(), on.store.is_dense());
        // SAFETY: the engine keeps the block until it was waited for, and has checked arrays of the
        // caller; the store grows only when no block is under way.
        unsafe {
            let made = if lists.groups.is_on_device() {
                let receiver = lists.forces.as_ref().map(|forces| self.receiver(on, forces)).transpose()?;
                Some(self.groups.on_device(receiver))
            } else {
                None
            };
            let work = (block, lists, made);
            self.sums.sum((&on.gpu, &on.queues[..]), &on.options.interaction, store, work, groups)
        }
    }

    fn wait_more(
        &mut self,
        on: &mut GpuSources<G>,
        partial_sums: &mut PartialSums,
        done: usize,
    ) -> Result<Option<usize>> {
        let all = self.assignment.sinks.len();
        let into = partial_sums.set(0);
        on.lock_sums(into);
        let fetching = (&on.gpu, &on.fetching);
        let Some(now) = self.sums.wait_more(fetching, &on.options.interaction, into, done)? else {
            on.end_without_sums(&self.assignment, partial_sums)?;
            return Ok(Some(all));
        };
        if now >= all {
            self.sums.forget();
        }
        Ok(Some(now.min(all)))
    }

    fn results(&mut self, _on: &mut GpuSources<G>) -> Result<Vec<PieceResults<Address<G>>>> {
        self.sums.results()
    }

    fn finish_given(&mut self, on: &mut GpuSources<G>) -> Result<Option<bool>> {
        if !self.sums.writes_to_caller() {
            return Ok(None);
        }
        self.sums.forget();
        let found = self.found_on_host.fetch((&on.gpu, &on.queues[0]), &[(&self.found, 0..FOUND)])?;
        Ok(Some(found[..4] == [0; 4]))
    }

    fn is_busy(&self) -> bool {
        self.sums.is_busy()
    }

    fn forget(&mut self) {
        self.sums.forget();
    }

    fn bytes(&self) -> usize {
        self.sums.bytes() + self.found_on_host.bytes()
    }
}
