//! The CPU as a device of the engine.

use std::ops::Range;
use std::sync::Arc;

use kyoho_core::{
    Assignment, Block, BufferPool, Chunk, Interaction, Level, Order, PartialSums, Precision, Result, Sources, Sums,
    TreeBlock, TreeProfile, Units, Updates, memory,
};
use kyoho_direct::cpu::DirectSums;
use kyoho_hal::threads::Threads;
use kyoho_hal::{Backend, DeviceDescription};
use kyoho_laws::catalogue::{self, unsupported};
use kyoho_laws::lanes::MAX_LANES;
use kyoho_laws::simd::expansions::Number;
use kyoho_laws::simd::kernel::{self, Finder, Kernel};
use kyoho_laws::simd::tile::{Group, PredictionTarget, Tile};
use kyoho_lists::cpu::ListSums;
use kyoho_methods::cpu::tiles::Tiles;
use kyoho_methods::device_trees::DeviceTrees;
use kyoho_methods::{Device, DeviceOptions};

/// Below this many pairs, waking other threads costs more than it gains.
const ALONE: usize = 1 << 15;
/// The pairs from which on a tree is faster, with one thread or many.
pub const TREE_CROSSOVER: u64 = 1 << 24;
/// The number of rows of a tile of positions: masses and coordinates.
const FINDER_ROWS: usize = 4;

/// The loops over pairs of an interaction, and those over near pairs of trees if they are others.
pub(super) enum Kernels {
    Short(Box<dyn Kernel<f32>>, Option<Box<dyn Kernel<f32>>>),
    Long(Box<dyn Kernel<f64>>),
}

impl Kernels {
    pub(super) fn of(level: Level, interaction: &Interaction) -> Result<Kernels> {
        if let Some(kernel) = kernel::kernel_32(level, interaction) {
            // A group of sinks is many times as large as the separation of its closest pairs, so that one
            // limb of the distance from its middle does not do for them.
            let has_one_limb = interaction.order == Order::Second && interaction.precision == Precision::Single;
            let of_trees = if has_one_limb {
                let mixed = catalogue::interaction(Order::Second, Precision::Mixed);
                mixed.and_then(|mixed| kernel::kernel_32(level, &mixed))
            } else {
                None
            };
            return Ok(Kernels::Short(kernel, of_trees));
        }
        let long = kernel::kernel_64(level, interaction).map(Kernels::Long);
        let kind = (interaction.order, interaction.precision, interaction.scope);
        long.ok_or_else(|| unsupported(Backend::Cpu.name(), kind))
    }
}

/// Opens the CPU.
pub fn open(options: DeviceOptions) -> Result<Box<dyn Device>> {
    match Kernels::of(options.level, &options.interaction)? {
        Kernels::Short(kernel, of_trees) => device(kernel, of_trees, options),
        Kernels::Long(kernel) => device(kernel, None, options),
    }
}

fn device<E: Number>(
    kernel: Box<dyn kernel::Kernel<E>>,
    of_trees: Option<Box<dyn kernel::Kernel<E>>>,
    options: DeviceOptions,
) -> Result<Box<dyn Device>> {
    let threads = Arc::new(Threads::new(options.threads));
    Ok(kyoho_hal::boxed(CpuDevice::new(kernel, of_trees, threads, options), "a device")?)
}

/// The CPU as a device of the engine.
pub struct CpuDevice<E> {
    kernel: Box<dyn Kernel<E>>,
    /// The loops over near pairs of trees, if they are not those of direct sums.
    kernel_of_trees: Option<Box<dyn Kernel<E>>>,
    finder: Box<dyn Finder>,
    options: DeviceOptions,
    /// The assignment of the device in the last block.
    assignment: Assignment,
    threads: Arc<Threads>,
    alone: Arc<Threads>,
    tiles: Tiles<E>,
    direct: DirectSums<E>,
    lists: ListSums<E>,
    /// Whether the last block has interaction lists.
    has_lists: bool,
    /// The forces of the last block, if they were made by a tree, in a box of their own, so that a
    /// device is small enough for memory that must be had.
    of_tree: Option<Box<TreeForces>>,
}

/// The forces of a block by a tree, and its phases.
#[derive(Default)]
pub struct TreeForces {
    pub sums: Sums,
    pub profile: TreeProfile,
    pool: BufferPool,
}

impl TreeForces {
    /// Sums the forces of a block, with the loops over near pairs of an interaction.
    pub fn sum<E: Number>(
        &mut self,
        with: (&dyn Kernel<E>, &Interaction),
        on: (&Threads, Level),
        of: (&Sources, &Block),
        asked: TreeBlock,
    ) -> Result<()> {
        self.profile = kyoho_trees::cpu::block::sum(with, on, of, asked, (&mut self.sums, &self.pool))?;
        Ok(())
    }

    /// Returns the bytes in use.
    pub fn bytes(&self) -> usize {
        self.pool.bytes()
    }
}

impl<E: Number> CpuDevice<E> {
    /// Makes a device that runs a kernel on some threads, and in trees the other one, if there is one.
    pub fn new(
        kernel: Box<dyn Kernel<E>>,
        kernel_of_trees: Option<Box<dyn Kernel<E>>>,
        threads: Arc<Threads>,
        options: DeviceOptions,
    ) -> CpuDevice<E> {
        CpuDevice {
            kernel,
            kernel_of_trees,
            finder: kernel::finder(options.level),
            threads,
            alone: Arc::new(Threads::alone()),
            assignment: Assignment::whole(0),
            tiles: Tiles::default(),
            direct: DirectSums::default(),
            lists: ListSums::default(),
            has_lists: false,
            of_tree: None,
            options,
        }
    }

    /// Returns the sums of the last block.
    fn sums(&mut self) -> &mut Sums {
        match &mut self.of_tree {
            Some(forces) => &mut forces.sums,
            None if self.has_lists => self.lists.last(),
            None => self.direct.last(),
        }
    }
}

impl<E: Number> Device for CpuDevice<E> {
    fn describe(&self) -> DeviceDescription {
        kyoho_hal::cpu::describe()
    }

    fn start(&mut self, updates: &Updates, block: &Block, assignment: &Assignment) -> Result<()> {
        let of = (updates.sources, block);
        self.assignment = assignment.clone();
        self.has_lists = block.lists.is_some();
        let with = (&*self.kernel, &*self.options.interaction);
        let before = self.of_tree.take();
        if let Some(asked) = block.tree {
            let with = (self.kernel_of_trees.as_deref().unwrap_or(with.0), with.1);
            let on = (&*self.threads, self.options.level);
            let forces = self.of_tree.insert(before.unwrap_or_default());
            return forces.sum(with, on, of, asked).inspect_err(|_| self.assignment = Assignment::whole(0));
        }
        let begun = match &block.lists {
            Some(lists) => self.lists.start(with, &mut self.tiles, &self.threads, of, (lists, assignment)),
            None => {
                let is_small = assignment.sinks.len().saturating_mul(block.nj) < ALONE;
                let threads = if is_small { &self.alone } else { &self.threads };
                self.direct.sum(with, &mut self.tiles, threads, of, assignment).map(|_| ())
            }
        };
        // There are no sums of a block that failed to be handed in.
        begun.inspect_err(|_| self.assignment = Assignment::whole(0))
    }

    fn sum_part(&mut self, block: &Block, groups: Range<usize>) -> Result<()> {
        let Some(lists) = &block.lists else { return Ok(()) };
        let threads = if lists.pairs() < ALONE as u64 { &self.alone } else { &self.threads };
        let with = (&*self.kernel, &*self.options.interaction);
        let summed = self.lists.sum(with, &self.tiles, threads, block, (lists, groups));
        summed.inspect_err(|_| self.assignment = Assignment::whole(0))
    }

    fn wait_more(&mut self, partial_sums: &mut PartialSums, _: usize) -> Result<usize> {
        let Assignment { sinks, set, .. } = self.assignment.clone();
        if sinks.is_empty() {
            return Ok(0);
        }
        let (all, n_outputs) = (partial_sums.sinks(), self.options.interaction.n_outputs);
        let (into, result) = (partial_sums.set(set), self.sums());
        if sinks.len() == all {
            std::mem::swap(into, result);
        } else {
            let values = &mut into.values[sinks.start * n_outputs..sinks.end * n_outputs];
            values.iter_mut().zip(&*result.values).for_each(|(into, value)| *into = *value);
            let nearest = into.nearest.get_mut(sinks.clone()).unwrap_or_default();
            nearest.iter_mut().zip(&*result.nearest).for_each(|(into, found)| *into = *found);
        }
        Ok(sinks.len())
    }

    fn neighbours(
        &mut self,
        sources: &Sources,
        block: &Block,
        sinks: Range<usize>,
        found: &mut [Vec<i32>],
    ) -> Result<()> {
        let members = block.sinks.range(sinks);
        let threads = if members.len() * block.nj < ALONE { &self.alone } else { &*self.threads };
        if self.options.interaction.is_regular() {
            // The sources that the sums left out are found in the numbers by which the sums
            // decided.
            let kernel = &*self.kernel;
            let units = block.sink_units();
            let group = |sinks| Group::new(sinks, kernel.n_derivatives(), kernel.limbs(), &units, true);
            let groups = memory::collected(members.chunks(MAX_LANES).map(group), "groups of sinks")?;
            let predict = |chunk: &Chunk, target, tile: &mut Tile<E>| kernel.predict(chunk, target, tile);
            let find = |sink: usize, tile: &Tile<E>, list: &mut Vec<i32>| {
                kernel.find(tile, &groups[sink / MAX_LANES], sink % MAX_LANES, block.skip_own_index, list);
            };
            return kyoho_neighbours::cpu::make(
                (sources, block),
                members,
                threads,
                kernel.rows(),
                predict,
                find,
                found,
            );
        }
        let (finder, n_coefficients) = (&*self.finder, self.options.interaction.n_coefficients);
        let all = memory::collected(members.iter(), "sinks with neighbours")?;
        let predict = |chunk: &Chunk, target: PredictionTarget, tile: &mut Tile<f64>| {
            finder.predict(chunk, n_coefficients, PredictionTarget { units: Units::CALLERS, ..target }, tile);
        };
        let find = |sink: usize, tile: &Tile<f64>, list: &mut Vec<i32>| {
            finder.find(tile, &all[sink], block.skip_own_index, list);
        };
        kyoho_neighbours::cpu::make((sources, block), members, threads, FINDER_ROWS, predict, find, found)
    }

    fn trees(&mut self) -> Option<&mut dyn DeviceTrees> {
        Some(self)
    }

    fn tree_crossover(&self) -> u64 {
        TREE_CROSSOVER
    }

    fn bytes(&self) -> usize {
        self.tiles.bytes() + self.of_tree.as_ref().map_or(0, |forces| forces.bytes())
    }
}

impl<E: Number> DeviceTrees for CpuDevice<E> {
    fn profile(&mut self, _wanted: bool) -> TreeProfile {
        self.of_tree.as_ref().map_or_else(TreeProfile::default, |forces| forces.profile)
    }
}

#[cfg(test)]
mod tests {
    use kyoho_core::{MAX_DERIVATIVES, NeighbourCriterion, Order, Precision, Sink, Sinks, Source};
    use kyoho_laws::catalogue::interaction;
    use kyoho_methods::CompanionDevices;

    use super::*;

    fn device(threads: usize) -> CpuDevice<f64> {
        let interaction = interaction(Order::Fourth, Precision::Double).unwrap();
        let level = Level::Portable;
        let kernel = kernel::kernel_64(level, &interaction).unwrap();
        let companions = CompanionDevices::default();
        let options = DeviceOptions { interaction, softenings: false, threads, level, shape: None, companions };
        CpuDevice::new(kernel, None, Arc::new(Threads::new(threads)), options)
    }

    #[test]
    fn a_device_whose_first_block_could_not_be_started_can_be_waited_for() {
        let mut partial_sums = PartialSums::new(7, true);
        partial_sums.reset(1, 1).unwrap();
        assert_eq!(device(1).wait_more(&mut partial_sums, 0), Ok(0));
    }

    #[test]
    fn a_block_that_threads_are_woken_for_has_tasks_for_all_of_them() {
        for sinks in [40, 64, 128] {
            let mut device = device(2);
            let mut sources = Sources::new(4);
            for address in 0..ALONE / 8 {
                let source = Source::from_derivatives(address as i32, 1.0, 0.0, [[address as f64; 3]; 4]);
                sources.write(address, &source).unwrap();
            }
            let sink =
                Sink { index: -1, softening2: 1.0, radius2: 0.0, step: 0.0, derivatives: [[0.0; 3]; MAX_DERIVATIVES] };
            let block = Block {
                sinks: Sinks::of(&device.options.interaction, std::iter::repeat_n(sink, sinks)).unwrap(),
                skip_own_index: true,
                time: 1.0,
                low_time: 0.0,
                low_sinks: Sinks::default(),
                nj: sources.count(),
                units: Units::CALLERS,
                neighbour_criterion: NeighbourCriterion::ByMass,
                predicts: true,
                lists: None,
                in_parts: false,
                sinks_on_device: false,
                tree: None,
            };
            device.start(&Updates::of(&sources), &block, &Assignment::whole(sinks)).unwrap();
            assert!(device.direct.tasks() >= 2, "{sinks} sinks are {} task", device.direct.tasks());
        }
    }
}
