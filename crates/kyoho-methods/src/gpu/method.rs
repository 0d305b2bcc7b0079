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
