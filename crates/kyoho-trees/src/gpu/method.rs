//! Trees as a method of a GPU.

use std::ops::Range;

use kyoho_core::{
    Assignment, Block, Error, FoundNeighbours, MAX_DERIVATIVES, Neighbourhoods, PartialSums, Result, Sources,
    TreeProfile, Updates,
};
use kyoho_hal::gpu::{Address, Gpu};

use kyoho_methods::gpu::columns::PieceResults;
use kyoho_methods::gpu::method::GpuMethod;
use kyoho_methods::gpu::sources::GpuSources;

use super::block::TreeSums;

/// Forces by a tree, whose kernels are loaded when they are first needed.
pub struct Trees<G: Gpu> {
    sums: Option<TreeSums<G>>,
    /// The changes of the sources when the tree was built.
    changes: u64,
    /// The assignment of the block under way.
    assignment: Assignment,
}

impl<G: Gpu> Default for Trees<G> {
    fn default() -> Trees<G> {
        Trees { sums: None, changes: 0, assignment: Assignment::whole(0) }
    }
}

impl<G: Gpu> Trees<G> {
    /// Returns the sums, which know no tree of other sources than there are now.
    fn ready(&mut self, on: &GpuSources<G>) -> Result<&mut TreeSums<G>> {
        let sums = match &mut self.sums {
            Some(sums) => sums,
            none => none.insert(TreeSums::new(&on.gpu, on.options.threads, &on.options.companions)?),
        };
        if self.changes != on.changes() {
            sums.forget();
            self.changes = on.changes();
        }
        Ok(sums)
    }

    /// Finds the sources within the radii of some points; `None` if there are gaps among them.
    pub fn find_neighbours(
        &mut self,
        on: &mut GpuSources<G>,
        (sources, nj): (&Sources, usize),
        asked: Neighbourhoods,
    ) -> Result<Option<FoundNeighbours>> {
        on.update_in_order(sources, true)?;
        let bodies = nj.min(sources.count());
        // Places are addresses, and those below the end have a source each.
        if !on.store.is_dense() || !sources.has_all_below(bodies) {
            return Ok(None);
        }
        let units = sources.units(&[0.0; MAX_DERIVATIVES], &on.options.interaction);
        let sums = self.ready(on)?;
        let kept = (on.store.octets().0, on.store.places_below(nj), bodies);
        let queue = (&on.gpu, &on.queues[0]);
        sums.find_neighbours(queue, &on.options.interaction, kept, (asked, units)).map(Some)
    }

    /// Measures phases from now on, or no longer, and returns those of the last block.
    pub fn profile(&mut self, wanted: bool) -> TreeProfile {
        self.sums.as_mut().map_or_else(TreeProfile::default, |sums| sums.profile(wanted))
    }
}

impl<G: Gpu> GpuMethod<G> for Trees<G> {
    fn takes(&self, block: &Block) -> bool {
        block.tree.is_some()
    }

    fn begin(
        &mut self,
        on: &mut GpuSources<G>,
        updates: &Updates,
        block: &Block,
        assignment: &Assignment,
    ) -> Result<()> {
        self.assignment = assignment.clone();
        // The engine has brought all that was written to the host's copy.
        on.update_in_order(updates.sources, updates.everything)?;
        let Some(asked) = block.tree.filter(|_| !assignment.sinks.is_empty()) else { return Ok(()) };
        if !block.sinks_on_device {
            on.lock_used(block.sinks.pages(), size_of_val(block.sinks.all().numbers()));
        }
        let sums = self.ready(on)?;
        let store = on.store.addresses();
        let kept = (updates.sources, &store, (on.store.places_below(block.nj), on.store.is_dense()));
        let taken = block.sinks_on_device.then_some(&on.taken);
        sums.sum((&on.gpu, &on.queues[0]), &on.options.interaction, kept, (block, asked, taken))
    }

    fn sum_part(&mut self, _on: &mut GpuSources<G>, _block: &Block, _part: Range<usize>) -> Result<()> {
        Err(Error::Internal { what: "the sinks of a tree came in parts".into() })
    }

    fn wait_more(
        &mut self,
        on: &mut GpuSources<G>,
        partial_sums: &mut PartialSums,
        done: usize,
    ) -> Result<Option<usize>> {
        let Some(sums) = self.sums.as_mut().filter(|_| !self.assignment.sinks.is_empty()) else {
            on.end_without_sums(&self.assignment, partial_sums)?;
            return Ok(Some(self.assignment.sinks.len()));
        };
        let into = partial_sums.set(0);
        on.lock_sums(into);
        sums.wait_more((&on.gpu, &on.queues[0]), &mut into.values, done).map(Some)
    }

    fn results(&mut self, _on: &mut GpuSources<G>) -> Result<Vec<PieceResults<Address<G>>>> {
        Ok(self.sums.as_ref().and_then(TreeSums::results_on_device).into_iter().collect())
    }

    fn is_busy(&self) -> bool {
        // All work of a block is waited for when it begins.
        false
    }

    fn forget(&mut self) {}

    fn bytes(&self) -> usize {
        0
    }
}
