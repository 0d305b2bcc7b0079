//! What a method does on a GPU.

use std::ops::Range;

use kyoho_core::{Assignment, Block, PartialSums, Result, Updates};
use kyoho_hal::gpu::{Address, Gpu};

use super::columns::PieceResults;
use super::sources::GpuSources;

/// A method that sums forces on a GPU. Its device calls `begin`, perhaps `sum_part`, and then
/// `wait_more` until all sinks were handed in, as the engine calls the device. After an error of any
/// call, and where a block is given up, the device waits for all queues and calls `forget`.
pub trait GpuMethod<G: Gpu>: Send {
    /// Whether it sums the forces of this block. Of several methods the first one does.
    fn takes(&self, block: &Block) -> bool;

    /// Brings what was written, and begins the sums unless `sum_part` is to begin them.
    fn begin(
        &mut self,
        on: &mut GpuSources<G>,
        updates: &Updates,
        block: &Block,
        assignment: &Assignment,
    ) -> Result<()>;

    /// Begins the sums of a part, which follows that of the last call.
    fn sum_part(&mut self, on: &mut GpuSources<G>, block: &Block, part: Range<usize>) -> Result<()>;

    /// Waits for the sums of more sinks, hands them in, and returns how many were handed in then;
    /// `None` if some were never begun, so that the block has to be given up.
    fn wait_more(
        &mut self,
        on: &mut GpuSources<G>,
        partial_sums: &mut PartialSums,
        done: usize,
    ) -> Result<Option<usize>>;

    /// Waits for the results of all that was begun, and returns where they are on the device.
    fn results(&mut self, on: &mut GpuSources<G>) -> Result<Vec<PieceResults<Address<G>>>>;

    /// Waits for forces that go to arrays of the caller as they are summed, and returns whether all
    /// are finite; `None` if they do not go there.
    fn finish_given(&mut self, _on: &mut GpuSources<G>) -> Result<Option<bool>> {
        Ok(None)
    }

    /// Whether a block is under way.
    fn is_busy(&self) -> bool;

    /// Forgets the block under way.
    fn forget(&mut self);

    /// Lets other methods' work begin in its queues.
    fn make_way(&mut self) {}

    /// Returns the bytes of host memory in use.
    fn bytes(&self) -> usize;
}

#[cfg(test)]
mod tests {
    use kyoho_core::{
        Error, NeighbourCriterion, Order, Precision, Records, Sink, Sinks, Source, Sources, Units, padded,
    };
    use kyoho_hal::fake::{Fake, Shared};
    use kyoho_laws::catalogue;

    use super::super::sources::SourceKernels;
    use super::*;
    use crate::{CompanionDevices, DeviceOptions};

    /// The smallest method: the first output of each sink is the number of sources that the GPU has.
    #[derive(Default)]
    struct Counts {
        sinks: Range<usize>,
        sources: usize,
    }

    impl GpuMethod<Fake> for Counts {
        fn takes(&self, _block: &Block) -> bool {
            true
        }

        fn begin(
            &mut self,
            on: &mut GpuSources<Fake>,
            updates: &Updates,
            block: &Block,
            assignment: &Assignment,
        ) -> Result<()> {
            on.update(updates.sources, updates.everything)?;
            on.lock_used(block.sinks.pages(), block.sinks.pages().bytes());
            (self.sinks, self.sources) = (assignment.sinks.clone(), updates.sources.count());
            Ok(())
        }

        fn sum_part(&mut self, _: &mut GpuSources<Fake>, _: &Block, _: Range<usize>) -> Result<()> {
            Err(Error::Internal { what: "it takes no parts".into() })
        }

        fn wait_more(
            &mut self,
            on: &mut GpuSources<Fake>,
            partial_sums: &mut PartialSums,
            _done: usize,
        ) -> Result<Option<usize>> {
            let (sinks, n_outputs) = (std::mem::take(&mut self.sinks), on.options.interaction.n_outputs);
            on.synchronize_all();
            let values = &mut partial_sums.set(0).values;
            sinks.clone().for_each(|sink| values[sink * n_outputs] = self.sources as f64);
            Ok(Some(sinks.len()))
        }

        fn results(&mut self, _: &mut GpuSources<Fake>) -> Result<Vec<PieceResults<Address<Fake>>>> {
            Ok(Vec::new())
        }

        fn is_busy(&self) -> bool {
            !self.sinks.is_empty()
        }

        fn forget(&mut self) {
            self.sinks = 0..0;
        }

        fn bytes(&self) -> usize {
            0
        }
    }

    /// Returns a block of sinks, so many that devices page-lock their memory.
    fn block(ni: usize, interaction: &kyoho_core::Interaction) -> Block {
        let sink = |index: usize| Sink {
            index: index as i32,
            softening2: 0.0,
            radius2: 0.0,
            step: 0.0,
            derivatives: padded([[index as f64; 3]]),
        };
        Block {
            sinks: Sinks::of(interaction, (0..ni).map(sink)).unwrap(),
            skip_own_index: true,
            time: 1.0,
            low_time: 0.0,
            low_sinks: Sinks::default(),
            predicts: true,
            nj: usize::MAX,
            units: Units::CALLERS,
            neighbour_criterion: NeighbourCriterion::ByMass,
            lists: None,
            in_parts: false,
            sinks_on_device: false,
            tree: None,
        }
    }

    #[test]
    fn a_method_needs_the_trait_and_the_sources_alone() {
        let interaction = catalogue::interaction(Order::Fourth, Precision::Double).unwrap();
        let script = Shared::default();
        let options = DeviceOptions {
            interaction: interaction.clone(),
            softenings: false,
            threads: 1,
            level: kyoho_core::Level::Portable,
            shape: None,
            companions: CompanionDevices::default(),
        };
        let gpu = Fake::new(&script, true);
        let caller = gpu.enter().unwrap();
        let kernels = super::super::code::load(&gpu, &interaction, &SourceKernels::<Fake>::NAMES).unwrap();
        let mut on = GpuSources::new(gpu, options, SourceKernels::of(kernels.try_into().ok().unwrap())).unwrap();
        let mut sources = Sources::new(interaction.n_coefficients);
        (0..300).for_each(|address| sources.write(address, &Source::default()).unwrap());
        let block = block(2000, &interaction);
        let mut method: Box<dyn GpuMethod<Fake>> = Box::new(Counts::default());
        let mut partial_sums = PartialSums::new(interaction.n_outputs, interaction.nearest);
        partial_sums.reset(2000, 1).unwrap();
        let updates = Updates { fresh: Records::NONE, ..Updates::of(&sources) };
        method.begin(&mut on, &updates, &block, &Assignment::whole(2000)).unwrap();
        assert!(method.is_busy() && on.store.octets().1 == 2);
        assert_eq!(method.wait_more(&mut on, &mut partial_sums, 0).unwrap(), Some(2000));
        assert!(!method.is_busy() && partial_sums.set(0).values[1999 * interaction.n_outputs] == 300.0);
        // Memory and device may go in any order.
        assert!(on.address_of(bytemuck::cast_slice(block.sinks.all().numbers())).is_some());
        drop(block);
        drop(on);
        drop(caller);
        assert!(script.get().is_clean());
    }
}
