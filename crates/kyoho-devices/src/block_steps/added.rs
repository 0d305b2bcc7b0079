//! Forces beside those of pairs, which a kernel adds that the caller has written.

use std::sync::Arc;

use bytemuck::{bytes_of, cast_slice};

use kyoho_core::Result;
use kyoho_hal::gpu::{Address, Argument, Code, Gpu, Images, Launch};
use kyoho_methods::block_steps::AddedForces;
use kyoho_methods::gpu::step::BlockPiece;

/// The kernel, with its text.
pub struct Added<G: Gpu> {
    forces: Arc<AddedForces>,
    kernel: G::Kernel,
}

impl<G: Gpu> Added<G> {
    /// Returns the kernel of these forces: the one that is there already, if it is of the same text.
    pub fn kept(known: Option<Added<G>>, gpu: &G, forces: Option<&Arc<AddedForces>>) -> Result<Option<Added<G>>> {
        let Some(forces) = forces else { return Ok(None) };
        if let Some(known) = known.filter(|known| known.forces == *forces) {
            return Ok(Some(known));
        }
        let AddedForces { name, ptx, opencl, .. } = &**forces;
        let code = Code { name, images: Images::Ptx(ptx), source: opencl, defines: &[] };
        let mut kernels = gpu.load(&code, &[name])?;
        Ok(kernels.pop().map(|kernel| Added { forces: Arc::clone(forces), kernel }))
    }

    /// Adds the forces of the bodies of a piece to the results of the others.
    ///
    /// # Safety
    /// There are the sinks and the results of the piece, and the values that the kernel reads. None is
    /// freed or touched by the host until the queue has done the work.
    pub unsafe fn add(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        (piece, results): (&BlockPiece, Address<G>),
        sinks: Address<G>,
        values: &[u64],
    ) -> Result<()> {
        let [of_sinks, of_results] = [sinks, results].map(Argument::Memory);
        let [count, first, from] =
            [&piece.sinks, &piece.first, &piece.results_from].map(|count| Argument::Bytes(bytes_of(count)));
        let arguments = [of_sinks, of_results, count, first, from, Argument::Bytes(cast_slice(values))];
        let arguments = &arguments[..if values.is_empty() { 5 } else { 6 }];
        let threads = self.forces.threads;
        let blocks = (piece.sinks as usize).div_ceil(threads);
        let kernel = &mut self.kernel;
        // SAFETY: the caller's promise; the arguments are those that the forces' documentation names.
        unsafe { gpu.launch(queue, Launch { kernel, blocks, threads, overlaps: false, arguments }) }
    }
}
