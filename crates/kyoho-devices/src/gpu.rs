//! A GPU as a device of the engine.

use std::ops::Range;

use kyoho_core::memory::Pages;
use kyoho_core::{
    Assignment, Block, FoundNeighbours, Interaction, Neighbourhoods, Order, PartialSums, Partition, Result, Scope,
    Sources, TreeProfile, Updates,
};
use kyoho_hal::DeviceDescription;
use kyoho_hal::gpu::Gpu;

use crate::arrays::work::ArrayWork;
use crate::block_steps::StepWork;
use kyoho_direct::gpu::launches::{self, Kernels};
use kyoho_direct::gpu::model::CROSSOVER;
use kyoho_direct::gpu::sums::DirectSums;
use kyoho_lists::gpu::method::Lists;
use kyoho_methods::block_steps::BlockSteps;
use kyoho_methods::device_arrays::DeviceArrays;
use kyoho_methods::device_trees::DeviceTrees;
use kyoho_methods::gpu::code;
use kyoho_methods::gpu::method::GpuMethod;
use kyoho_methods::gpu::sources::{GpuSources, SourceKernels};
use kyoho_methods::{Device, DeviceOptions};
use kyoho_neighbours::gpu::{FinderKernels, MOST_SINKS, NeighbourLists};
use kyoho_trees::gpu::method::Trees;

/// The pairs from which on a tree is faster.
pub const TREE_CROSSOVER: u64 = 1 << 31;

/// Returns the names of the kernels of an interaction, in the order in which methods take them.
fn names<G: Gpu>(interaction: &Interaction, can_wait: bool) -> Vec<&'static str> {
    let mut names = [SourceKernels::<G>::NAMES, FinderKernels::<G>::names(interaction)].concat();
    names.extend(launches::names(interaction, can_wait));
    names
}

/// A GPU that sums forces in one order and precision.
pub struct GpuDevice<G: Gpu> {
    pub(super) lists: Lists<G>,
    trees: Trees<G>,
    pub(super) direct: DirectSums<G>,
    neighbours: NeighbourLists<G>,
    /// Work on arrays of callers, once it was needed.
    pub(super) arrays: Option<ArrayWork<G>>,
    /// Block steps, once some were begun.
    pub(super) steps: Option<Box<StepWork<G>>>,
    /// The place among the methods of that which sums the last block.
    chosen: usize,
    /// How many callers use the GPU at a time.
    pub(super) sharers: usize,
    /// The number of sinks of the assignment in the block under way.
    pub(super) assigned: usize,
    pub(super) on: GpuSources<G>,
    /// Dropped last, so that the driver may be called while the rest is given back.
    caller: Option<G::Caller>,
}

impl<G: Gpu> GpuDevice<G> {
    /// Opens the device on a GPU.
    pub fn open(gpu: G, options: DeviceOptions) -> Result<GpuDevice<G>> {
        let _caller = gpu.enter()?;
        GpuDevice::new(gpu, options)
    }

    /// Makes the device on a GPU whose driver this thread may call.
    fn new(gpu: G, options: DeviceOptions) -> Result<GpuDevice<G>> {
        let interaction = options.interaction.clone();
        let names = names::<G>(&interaction, gpu.properties().can_wait);
        let mut kernels = code::load(&gpu, &interaction, &names)?.into_iter();
        let mut two = || -> [G::Kernel; 2] { std::array::from_fn(|_| kernels.next().expect("a kernel for each name")) };
        let (of_sources, finders) = (SourceKernels::of(two()), FinderKernels::of(&interaction, two()));
        let kernels = Kernels::of(&gpu, &interaction, kernels.collect())?;
        let on = GpuSources::new(gpu, options, of_sources)?;
        Ok(GpuDevice {
            lists: Lists::new(&on.gpu, on.options.threads)?,
            trees: Trees::default(),
            direct: DirectSums::new(&on.gpu, &on.queues[0], &on.options, kernels)?,
            neighbours: NeighbourLists::new(&on.gpu, &interaction, finders)?,
            arrays: None,
            steps: None,
            chosen: 0,
            sharers: 1,
            assigned: 0,
            on,
            caller: None,
        })
    }

    /// Returns the options with which it was opened.
    pub fn options(&self) -> &DeviceOptions {
        &self.on.options
    }

    /// Returns the methods, of which the first that takes a block sums its forces, and the sources.
    fn methods(&mut self) -> ([&mut dyn GpuMethod<G>; 3], &mut GpuSources<G>) {
        ([&mut self.lists, &mut self.trees, &mut self.direct], &mut self.on)
    }

    /// Returns the method that sums the last block, and the sources.
    pub(super) fn method(&mut self) -> (&mut dyn GpuMethod<G>, &mut GpuSources<G>) {
        let chosen = self.chosen;
        let (methods, on) = self.methods();
        (methods.into_iter().nth(chosen).expect("a method was chosen"), on)
    }

    /// Lets work that is none of the method's of the last block begin.
    pub(super) fn make_way(&mut self) {
        self.methods().0.into_iter().for_each(|method| method.make_way());
    }

    /// Waits for all that was begun, whatever errors come.
    pub(super) fn wait_for_all(&mut self) {
        self.make_way();
        self.on.synchronize_all();
    }

    /// Waits for all that was begun, after which no method has a block under way.
    pub(super) fn end_all(&mut self) {
        self.methods().0.into_iter().for_each(|method| method.forget());
        self.wait_for_all();
    }

    /// Forgets a block that failed. Nothing in the device's memory counts as known afterwards.
    pub(super) fn give_up(&mut self) {
        self.end_all();
        self.on.forget();
    }
}

impl<G: Gpu> Device for GpuDevice<G> {
    fn describe(&self) -> DeviceDescription {
        self.on.gpu.properties().description.clone()
    }

    fn share(&mut self, sharers: usize) {
        self.sharers = sharers.max(1);
        self.direct.share(sharers > 1);
    }

    fn takes_records(&self) -> bool {
        true
    }

    fn lock(&mut self, memory: &Pages) -> Result<()> {
        let _caller = self.on.gpu.enter()?;
        self.on.lock(memory)
    }

    fn start(&mut self, updates: &Updates, block: &Block, assignment: &Assignment) -> Result<()> {
        let _caller = self.on.gpu.enter()?;
        if self.methods().0.iter().any(|method| method.is_busy()) {
            // A block that was not waited for to its end still writes where this one will.
            self.give_up();
        }
        self.assigned = assignment.sinks.len();
        let mut methods = self.methods().0;
        let chosen = methods.iter().position(|method| method.takes(block)).unwrap_or(0);
        let others = methods.iter_mut().enumerate().filter(|(place, _)| *place != chosen);
        others.for_each(|(_, method)| method.make_way());
        self.chosen = chosen;
        let (method, on) = self.method();
        method.begin(on, updates, block, assignment).inspect_err(|_| self.give_up())
    }

    fn sum_part(&mut self, block: &Block, part: Range<usize>) -> Result<()> {
        let _caller = self.on.gpu.enter()?;
        let (method, on) = self.method();
        method.sum_part(on, block, part).inspect_err(|_| self.give_up())
    }

    fn arrays(&mut self) -> Option<&mut dyn DeviceArrays> {
        self.make_way();
        Some(self)
    }

    fn trees(&mut self) -> Option<&mut dyn DeviceTrees> {
        Some(self)
    }

    fn block_steps(&mut self) -> Option<&mut dyn BlockSteps> {
        let Interaction { order, scope, .. } = *self.on.options.interaction;
        if order > Order::Second && scope == Scope::Full { Some(self) } else { None }
    }

    fn wait_more(&mut self, partial_sums: &mut PartialSums, done: usize) -> Result<usize> {
        let _caller = self.on.gpu.enter()?;
        let (method, on) = self.method();
        let more = method.wait_more(on, partial_sums, done);
        if !matches!(more, Ok(Some(_))) {
            // The block failed, or the engine gave it up before all sinks were there.
            self.give_up();
        }
        Ok(more?.unwrap_or(self.assigned))
    }

    fn drain(&mut self) {
        if let Ok(_caller) = self.on.gpu.enter() {
            self.wait_for_all();
        }
    }

    fn neighbours(
        &mut self,
        sources: &Sources,
        block: &Block,
        sinks: Range<usize>,
        found: &mut [Vec<i32>],
    ) -> Result<()> {
        let _caller = self.on.gpu.enter()?;
        self.make_way();
        let of = (block, block.sinks.range(sinks));
        self.neighbours.make(&mut self.on, sources, of, found).inspect_err(|_| self.wait_for_all())
    }

    fn lists_at_once(&self) -> usize {
        MOST_SINKS
    }

    fn estimate(&self, ni: usize, nj: usize, partition: Partition, devices: usize) -> Option<f64> {
        Some(self.direct.estimate(&self.on.options, (ni, nj), (partition, devices)))
    }

    fn tree_crossover(&self) -> u64 {
        TREE_CROSSOVER
    }

    fn crossover(&self) -> u64 {
        CROSSOVER
    }

    fn bytes(&self) -> usize {
        let of_methods = self.lists.bytes() + self.trees.bytes() + self.direct.bytes();
        of_methods
            + self.neighbours.bytes()
            + self.arrays.as_ref().map_or(0, ArrayWork::bytes)
            + self.steps.as_ref().map_or(0, |steps| steps.bytes())
            + self.on.bytes()
    }
}

impl<G: Gpu> DeviceTrees for GpuDevice<G> {
    fn profile(&mut self, wanted: bool) -> TreeProfile {
        self.trees.profile(wanted)
    }

    fn find_neighbours(
        &mut self,
        sources: &Sources,
        nj: usize,
        asked: Neighbourhoods,
    ) -> Result<Option<FoundNeighbours>> {
        let _caller = self.on.gpu.enter()?;
        self.make_way();
        self.trees.find_neighbours(&mut self.on, (sources, nj), asked).inspect_err(|_| self.wait_for_all())
    }
}

impl<G: Gpu> Drop for GpuDevice<G> {
    fn drop(&mut self) {
        // Memory must outlast the work that is under way in it.
        self.caller = self.on.gpu.enter().ok();
        if self.caller.is_some() {
            self.end_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use kyoho_hal::fake::Fake;

    use super::*;
    use kyoho_laws::catalogue::with_kernels;
    use kyoho_methods::gpu::constants::unit;

    #[test]
    fn every_kernel_that_is_asked_for_is_in_the_packs() {
        let resources = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/generated/resources.txt"));
        for entry in with_kernels() {
            for name in names::<Fake>(entry, true) {
                let start = format!("{} sm_90 {name} ", unit(entry));
                assert!(resources.lines().any(|line| line.starts_with(&start)), "{start}");
            }
        }
    }
}
