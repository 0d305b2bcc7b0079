//! Trees beside the forces of blocks: the interface of devices that have some.

use kyoho_core::{FoundNeighbours, Neighbourhoods, Result, Sources, TreeProfile};

/// A device that sums forces by trees.
pub trait DeviceTrees {
    /// Measures the phases of forces by a tree from now on, or no longer, and returns those of the
    /// last block. They are waited for one by one, so that the whole takes longer. A device begins
    /// to measure after its first block by a tree.
    fn profile(&mut self, wanted: bool) -> TreeProfile;

    /// Finds the sources at addresses below `nj` within the radii of some points, softening not
    /// included; returns `None` if this device cannot. No block is under way.
    fn find_neighbours(
        &mut self,
        _sources: &Sources,
        _nj: usize,
        _asked: Neighbourhoods,
    ) -> Result<Option<FoundNeighbours>> {
        Ok(None)
    }
}
