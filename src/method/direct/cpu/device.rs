//! The CPU as a device: predicted tiles, tasks over sinks and slices, and sums in a fixed order.
//!
//! Whatever the tasks and threads, a sink's sums are made in one order: sources within a chunk by
//! the kernel, chunks within a slice by address, slices within a slice group by number, slice
//! groups in pairs. Tasks decide only which thread adds what.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::data::memory::{self, Boxed};
use crate::data::{
    Assignment, Block, CHUNK, Chunk, Nearest, PartialSums, Result, SLICE_GROUPS, SLICES, Sources, Sums, Units, Updates,
    add_in_pairs, chunks_of_slice,
};
use crate::hal::DeviceDescription;
use crate::hal::threads::Threads;
use crate::law::lanes::{Element, MAX_LANES};
use crate::law::pair::MAX_OUTPUTS;
use crate::method::{Device, DeviceOptions};
use crate::simd::kernel::{self, Finder, Kernel};
use crate::simd::sum::guard;
use crate::simd::tile::{Group, LaneSums, PredictionTarget, Tile};

use super::lists;

/// The number of sinks that share a tile while it is in the nearest cache. More sinks are several
/// tasks, which share the tiles that are kept.
const SINKS_OF_TASK: usize = 64;
/// The number of tasks for each thread, so that none waits long for another.
const TASKS_OF_THREAD: usize = 8;
/// Tiles of this many bytes together are read from a near cache each time.
const NEAR: usize = 4 << 20;
/// Below this many pairs, waking other threads costs more than it gains.
const ALONE: usize = 1 << 15;
/// The number of chunks that a thread predicts at a time.
const TILES_OF_TASK: usize = 8;
/// The number of rows of a tile of positions: masses and coordinates.
const FINDER_ROWS: usize = 4;

/// The layout of the lanes of a loop.
#[derive(Clone, Copy)]
enum LaneLayout {
    /// Each lane has a sink of a group.
    Sinks,
    /// Each lane has a source, for this sink of a group.
    Sources(usize),
}

/// The sinks that one loop over the sources serves: a group, or one sink of a group.
#[derive(Clone, Copy)]
struct Unit {
    group: usize,
    layout: LaneLayout,
    first_sink: usize,
    sinks: usize,
}

/// A task, which one thread does at a time: some units over one slice of the assignment, or over
/// all.
struct Task<E> {
    units: Range<usize>,
    slices: Range<usize>,
    lane_sums: Vec<LaneSums<E>>,
    /// The sums of its slice groups; when the task has ended, the first holds all.
    slice_groups: Vec<Sums>,
    outcome: Result<()>,
}

impl<E> Default for Task<E> {
    fn default() -> Task<E> {
        Task { units: 0..0, slices: 0..0, lane_sums: Vec::new(), slice_groups: Vec::new(), outcome: Ok(()) }
    }
}

/// The tile into which the sources of a chunk are predicted when it is not kept.
type Scratch<E> = Option<Tile<E>>;

/// The CPU as a device of the engine.
pub struct CpuDevice<E> {
    kernel: Box<dyn Kernel<E>>,
    finder: Box<dyn Finder>,
    options: DeviceOptions,
    /// The assignment of the device in the last block.
    assignment: Assignment,
    threads: Arc<Threads>,
    alone: Arc<Threads>,
    /// Predicted chunks that are kept.
    tiles: Vec<Option<Boxed<Tile<E>>>>,
    last_time: Option<f64>,
    groups: Vec<Group<E>>,
    units: Vec<Unit>,
    tasks: Vec<Task<E>>,
    /// The number of tasks of the last block; those behind keep their memory.
    wanted: usize,
    scratch: Mutex<Vec<Scratch<E>>>,
    /// The sums of the slice groups of the last block; the first holds all.
    results: Vec<Sums>,
}

impl<E: Element> CpuDevice<E> {
    /// Makes a device that runs a kernel on some threads.
    pub fn new(kernel: Box<dyn Kernel<E>>, threads: Arc<Threads>, options: DeviceOptions) -> CpuDevice<E> {
        CpuDevice {
            kernel,
            finder: kernel::finder(options.level),
            threads,
            alone: Arc::new(Threads::alone()),
            assignment: Assignment::whole(0),
            tiles: Vec::new(),
            last_time: None,
            groups: Vec::new(),
            units: Vec::new(),
            tasks: Vec::new(),
            wanted: 0,
            scratch: Mutex::new(Vec::new()),
            results: vec![Sums::default(); SLICE_GROUPS],
            options,
        }
    }

    /// Returns the number of slice groups of the assignment.
    fn slice_groups(&self) -> usize {
        SLICE_GROUPS / self.assignment.sets
    }

    /// Packs the sinks of the assignment into groups, and decides which of these run with sinks in
    /// the lanes. That depends on the places of the sinks in the block alone, so that every device
    /// sums in the same order.
    fn pack(&mut self, block: &Block) -> Result<()> {
        let lanes = self.kernel.lanes();
        let Range { start, end } = self.assignment.sinks;
        self.groups.clear();
        self.units.clear();
        let sinks = block.sinks.range(start..end);
        let groups = sinks.len().div_ceil(lanes) + 1;
        memory::reserve(&mut self.groups, groups, "groups of sinks")?;
        memory::reserve(&mut self.units, groups + lanes, "the table of groups")?;
        let rest = block.sinks.len() % lanes;
        let in_groups = block.sinks.len() - if rest * 4 > lanes * 3 { 0 } else { rest };
        let (together, alone) = sinks.split_at(in_groups.clamp(start, end) - start);
        let (units, is_regular) = (block.sink_units(), self.options.interaction.is_regular());
        for (group, members) in together.chunks(lanes).chain(alone.chunks(lanes)).enumerate() {
            self.groups.push(Group::new(members, self.kernel.n_derivatives(), self.kernel.limbs(), &units, is_regular));
            let first_sink = self.units.last().map_or(0, |unit| unit.first_sink + unit.sinks);
            if first_sink < together.len() {
                self.units.push(Unit { group, layout: LaneLayout::Sinks, first_sink, sinks: members.len() });
            } else {
                self.units.extend((0..members.len()).map(|lane| Unit {
                    group,
                    layout: LaneLayout::Sources(lane),
                    first_sink: first_sink + lane,
                    sinks: 1,
                }));
            }
        }
        Ok(())
    }

    /// Brings the kept tiles of all chunks below nj up to date.
    fn predict_tiles(&mut self, sources: &Sources, block: &Block, threads: &Threads) -> Result<()> {
        let chunks = sources.chunks_below(block.nj);
        memory::lengthen(&mut self.tiles, chunks, "the table of predicted sources", || None)?;
        let (kernel, assignment) = (&*self.kernel, &self.assignment);
        // Returns the chunk if it has to be predicted anew.
        let stale = |number: usize, tile: &Option<Boxed<Tile<E>>>| {
            let chunk = sources.chunk(number).filter(|_| assignment.has(number % SLICES))?;
            let fresh = tile.as_ref().is_some_and(|tile| tile.made_of == Some(key(chunk, block, number)));
            (!fresh).then_some(chunk)
        };
        let tiles = &mut self.tiles[..chunks];
        if !tiles.iter().enumerate().any(|(number, tile)| stale(number, tile).is_some()) {
            return Ok(());
        }
        let outcome = Mutex::new(Ok(()));
        let work = |(run, tiles): (usize, &mut [Option<Boxed<Tile<E>>>])| {
            for (place, tile) in tiles.iter_mut().enumerate() {
                let number = run * TILES_OF_TASK + place;
                let Some(chunk) = stale(number, tile) else { continue };
                let tile = match tile {
                    Some(tile) => tile,
                    none => match Tile::new(kernel.rows()).and_then(|tile| Boxed::new(tile, "predicted sources")) {
                        Ok(new) => none.insert(new),
                        Err(error) => {
                            *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
                            return;
                        }
                    },
                };
                predict(kernel, chunk, block, number, tile);
            }
        };
        threads.each(tiles.chunks_mut(TILES_OF_TASK).enumerate(), work);
        outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many sinks a task over one slice may serve while its tiles come and go. Few
    /// threads need no more tasks than slices.
    fn sinks_at_once(&self) -> usize {
        let slices_suffice = self.assignment.slices().len() >= TASKS_OF_THREAD * self.threads.count();
        if slices_suffice { 8 * SINKS_OF_TASK } else { SINKS_OF_TASK }
    }

    /// Whether tiles are kept, so that a call on many sinks, or many calls at one time, predict
    /// only once.
    fn keeps_tiles(&self, block: &Block) -> bool {
        self.options.interaction.n_coefficients == 1
            || block.sinks.len() > self.sinks_at_once()
            || self.last_time == Some(block.time)
    }

    /// Divides the block into tasks: over sinks alone where that makes enough of them, otherwise
    /// over slices too.
    fn plan(&mut self, threads: usize, keeps_tiles: bool, nj: usize) -> Result<()> {
        let units = self.units.len().max(1);
        let together = (SINKS_OF_TASK / self.kernel.lanes()).max(1);
        // Tiles that come from far off should serve many sinks at a time.
        let are_near = nj * self.kernel.rows() * size_of::<E>() <= NEAR;
        let evenly = (units / (TASKS_OF_THREAD * threads)).clamp(if are_near { 1 } else { together }, together);
        let over_sinks = threads == 1 || keeps_tiles && units >= TASKS_OF_THREAD * threads * evenly;
        let units_of_task = if !keeps_tiles {
            units
        } else if over_sinks {
            evenly
        } else {
            together.min(units.div_ceil(threads))
        };
        let ranges = self.units.len().div_ceil(units_of_task);
        let all = self.assignment.slices().len();
        let slices = if over_sinks { 1 } else { all };
        self.wanted = ranges * slices;
        memory::lengthen(&mut self.tasks, self.wanted, "tasks", Task::default)?;
        for (number, task) in self.tasks[..self.wanted].iter_mut().enumerate() {
            let first = number / slices * units_of_task;
            task.units = first..self.units.len().min(first + units_of_task);
            task.slices = if over_sinks { 0..all } else { number % slices..number % slices + 1 };
        }
        Ok(())
    }

    /// Adds the tasks' sums in the order of slices.
    fn merge(&mut self, sinks: usize) -> Result<()> {
        let interaction = &self.options.interaction.clone();
        let over_sinks = self.tasks[..self.wanted].iter().all(|task| task.slices.len() > 1);
        let slice_groups = if over_sinks { 1 } else { self.slice_groups() };
        for result in &mut self.results[..slice_groups] {
            result.reserve(sinks, interaction.n_outputs, interaction.nearest)?;
            result.reset(sinks, interaction.n_outputs, interaction.nearest);
        }
        for task in &self.tasks[..self.wanted] {
            let first_sink = self.units[task.units.start].first_sink;
            let (sums, result) = (&task.slice_groups[0], &mut self.results[task.slices.start % slice_groups]);
            result.add(first_sink, sums, 0..sums.values.len() / interaction.n_outputs, interaction.n_outputs);
        }
        add_in_pairs(&mut self.results[..slice_groups], 0..sinks, interaction.n_outputs);
        Ok(())
    }
}

/// Returns the stamp and the target that a tile of a chunk is made of.
pub(super) fn key(chunk: &Chunk, block: &Block, number: usize) -> (u64, PredictionTarget) {
    let limit = (block.nj - number * CHUNK).min(CHUNK);
    (chunk.stamp(), PredictionTarget { time: block.time, predicts: block.predicts, limit, units: block.units })
}

fn predict<E: Element>(kernel: &dyn Kernel<E>, chunk: &Chunk, block: &Block, number: usize, tile: &mut Tile<E>) {
    let key = key(chunk, block, number);
    kernel.predict(chunk, key.1, tile);
    tile.made_of = Some(key);
}

/// The data that all tasks of a block share.
struct Shared<'a, E> {
    kernel: &'a dyn Kernel<E>,
    n_outputs: usize,
    nearest: bool,
    assignment: &'a Assignment,
    tiles: &'a [Option<Boxed<Tile<E>>>],
    keeps_tiles: bool,
    groups: &'a [Group<E>],
    units: &'a [Unit],
    sources: &'a Sources,
    chunks: usize,
    block: &'a Block,
    /// The factors that bring sums back to the caller's units.
    sum_units: [f64; MAX_OUTPUTS],
    /// The factor that brings squared distances back to the caller's units.
    distance2_unit: f64,
}

impl<E: Element> Shared<'_, E> {
    fn run(&self, task: &mut Task<E>, scratch: &mut Scratch<E>) -> Result<()> {
        let units = &self.units[task.units.clone()];
        let sinks = units.iter().map(|unit| unit.sinks).sum();
        let slice_groups = task.slices.len().min(SLICE_GROUPS / self.assignment.sets);
        memory::lengthen(&mut task.slice_groups, slice_groups, "sums of slice groups", Sums::default)?;
        for sums in &mut task.slice_groups[..slice_groups] {
            sums.reserve(sinks, self.n_outputs, self.nearest)?;
            sums.reset(sinks, self.n_outputs, self.nearest);
        }
        task.lane_sums.truncate(units.len());
        memory::lengthen(&mut task.lane_sums, units.len(), "sums by lane", LaneSums::new)?;
        task.lane_sums.iter_mut().for_each(LaneSums::forget_nearest);
        for place in task.slices.clone() {
            task.lane_sums.iter_mut().for_each(|sums| sums.clear(self.n_outputs));
            let slice = self.assignment.set + self.assignment.sets * place;
            for number in chunks_of_slice(slice, self.chunks) {
                if let Some(tile) = self.tile(number, scratch)? {
                    for (unit, sums) in units.iter().zip(&mut task.lane_sums) {
                        self.sum(unit, tile, sums);
                    }
                }
            }
            self.add_slice(units, &task.lane_sums, &mut task.slice_groups[place % slice_groups]);
        }
        add_in_pairs(&mut task.slice_groups[..slice_groups], 0..sinks, self.n_outputs);
        Ok(())
    }

    fn tile<'a>(&'a self, number: usize, scratch: &'a mut Scratch<E>) -> Result<Option<&'a Tile<E>>> {
        if self.keeps_tiles {
            return Ok(self.tiles[number].as_deref());
        }
        let Some(chunk) = self.sources.chunk(number) else {
            return Ok(None);
        };
        if let Some(kept) = self.tiles.get(number).and_then(Option::as_deref)
            && kept.made_of == Some(key(chunk, self.block, number))
        {
            return Ok(Some(kept));
        }
        let tile = match scratch {
            Some(tile) => tile,
            none => none.insert(Tile::new(self.kernel.rows())?),
        };
        predict(self.kernel, chunk, self.block, number, tile);
        Ok(Some(tile))
    }

    fn sum(&self, unit: &Unit, tile: &Tile<E>, sums: &mut LaneSums<E>) {
        let group = &self.groups[unit.group];
        let guard = if self.block.skip_own_index && tile.range.meets(&group.range) {
            guard::INDEX
        } else if group.unsoftened {
            guard::DISTANCE
        } else {
            guard::NONE
        };
        match unit.layout {
            LaneLayout::Sinks => self.kernel.sum_sinks_in_lanes(guard, tile, group, sums),
            LaneLayout::Sources(lane) => self.kernel.sum_sources_in_lanes(guard, tile, group, lane, sums),
        }
    }

    /// Adds a slice's lanes to the sums of their sinks.
    fn add_slice(&self, units: &[Unit], lane_sums: &[LaneSums<E>], sums: &mut Sums) {
        let add = |row: &mut [f64], sum_of: &dyn Fn(&[f64; MAX_LANES]) -> f64, lanes: &LaneSums<E>| {
            let terms = lanes.values.iter().zip(&self.sum_units);
            row.iter_mut().zip(terms).for_each(|(sum, (values, unit))| *sum += sum_of(values) * unit);
        };
        let nearest = |lanes: &LaneSums<E>, lane: usize| {
            let Nearest { distance2, index } = lanes.nearest(lane);
            Nearest { distance2: distance2 * self.distance2_unit, index }
        };
        let mut sink = 0;
        for (unit, lanes) in units.iter().zip(lane_sums) {
            match unit.layout {
                LaneLayout::Sinks => {
                    for lane in 0..unit.sinks {
                        let row = &mut sums.values[(sink + lane) * self.n_outputs..][..self.n_outputs];
                        add(row, &|values| values[lane], lanes);
                        if self.nearest {
                            sums.nearest[sink + lane].update(nearest(lanes, lane));
                        }
                    }
                }
                LaneLayout::Sources(_) => {
                    let row = &mut sums.values[sink * self.n_outputs..][..self.n_outputs];
                    add(row, &|values| across(*values), lanes);
                    if self.nearest {
                        (0..self.kernel.lanes()).for_each(|lane| sums.nearest[sink].update(nearest(lanes, lane)));
                    }
                }
            }
            sink += unit.sinks;
        }
    }
}

/// Returns the sum over lanes, whose second half is added to the first until one is left.
fn across<const N: usize>(mut lanes: [f64; N]) -> f64 {
    let mut half = N / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

impl<E: Element> Device for CpuDevice<E> {
    fn describe(&self) -> DeviceDescription {
        crate::hal::cpu::describe()
    }

    fn start(&mut self, updates: &Updates, block: &Block, assignment: &Assignment) -> Result<()> {
        let sources = updates.sources;
        self.assignment = assignment.clone();
        let sinks = block.sinks.range(assignment.sinks.clone());
        let is_small = sinks.len().saturating_mul(block.nj) < ALONE;
        let threads = Arc::clone(if is_small { &self.alone } else { &self.threads });
        let keeps_tiles = self.keeps_tiles(block);
        self.pack(block)?;
        if keeps_tiles {
            self.predict_tiles(sources, block, &threads)?;
        }
        self.last_time = Some(block.time);
        self.plan(threads.count(), keeps_tiles, block.nj)?;
        let shared = Shared {
            kernel: &*self.kernel,
            n_outputs: self.options.interaction.n_outputs,
            nearest: self.options.interaction.nearest,
            assignment: &self.assignment,
            tiles: &self.tiles,
            keeps_tiles,
            groups: &self.groups,
            units: &self.units,
            sources,
            chunks: sources.chunks_below(block.nj),
            block,
            sum_units: std::array::from_fn(|output| block.units.sum_unit(output)),
            distance2_unit: block.units.distance2_unit(),
        };
        let tasks = &mut self.tasks[..self.wanted];
        threads.run(
            tasks.iter_mut(),
            &self.scratch,
            || None,
            |task, scratch| {
                task.outcome = shared.run(task, scratch);
            },
        );
        if let Some(Err(error)) = tasks.iter().map(|task| &task.outcome).find(|outcome| outcome.is_err()) {
            return Err(error.clone());
        }
        self.merge(sinks.len())
    }

    fn wait_more(&mut self, partial_sums: &mut PartialSums, _: usize) -> Result<usize> {
        let Assignment { sinks, set, .. } = self.assignment.clone();
        let (all, n_outputs) = (partial_sums.sinks(), self.options.interaction.n_outputs);
        let (into, result) = (partial_sums.set(set), &mut self.results[0]);
        if sinks.len() == all {
            std::mem::swap(into, result);
        } else {
            let values = &mut into.values[sinks.start * n_outputs..sinks.end * n_outputs];
            values.iter_mut().zip(&result.values).for_each(|(into, value)| *into = *value);
            let nearest = into.nearest.get_mut(sinks.clone()).unwrap_or_default();
            nearest.iter_mut().zip(&result.nearest).for_each(|(into, found)| *into = *found);
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
            return lists::make((sources, block), members, threads, kernel.rows(), predict, find, found);
        }
        let (finder, n_coefficients) = (&*self.finder, self.options.interaction.n_coefficients);
        let all = memory::collected(members.iter(), "sinks with neighbours")?;
        let predict = |chunk: &Chunk, target: PredictionTarget, tile: &mut Tile<f64>| {
            finder.predict(chunk, n_coefficients, PredictionTarget { units: Units::CALLERS, ..target }, tile);
        };
        let find = |sink: usize, tile: &Tile<f64>, list: &mut Vec<i32>| {
            finder.find(tile, &all[sink], block.skip_own_index, list);
        };
        lists::make((sources, block), members, threads, FINDER_ROWS, predict, find, found)
    }

    fn bytes(&self) -> usize {
        let table = self.tiles.capacity() * size_of::<Option<Boxed<Tile<E>>>>();
        table + self.tiles.iter().flatten().map(|tile| tile.bytes()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use crate::data::{MAX_DERIVATIVES, NeighbourCriterion, Order, Precision, Sink, Sinks, Source};
    use crate::law::catalogue::interaction;
    use crate::simd::Level;

    use super::*;

    fn device(threads: usize) -> CpuDevice<f64> {
        let interaction = interaction(Order::Fourth, Precision::Double).unwrap();
        let level = Level::Portable;
        let kernel = kernel::kernel_64(level, &interaction).unwrap();
        let options = DeviceOptions { interaction, threads, level, shape: None };
        CpuDevice::new(kernel, Arc::new(Threads::new(threads)), options)
    }

    #[test]
    fn a_device_whose_first_block_could_not_be_started_can_be_waited_for() {
        let mut partial_sums = PartialSums::new(7, true);
        partial_sums.reset(1, 1).unwrap();
        assert_eq!(device(1).wait_more(&mut partial_sums, 0), Ok(0));
    }

    #[test]
    fn a_block_that_threads_are_woken_for_has_tasks_for_all_of_them() {
        for sinks in [40, SINKS_OF_TASK, 2 * SINKS_OF_TASK] {
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
                nj: sources.count(),
                units: Units::CALLERS,
                neighbour_criterion: NeighbourCriterion::ByMass,
                predicts: true,
            };
            device.start(&Updates::of(&sources), &block, &Assignment::whole(sinks)).unwrap();
            assert!(device.wanted >= 2, "{sinks} sinks are {} task", device.wanted);
        }
    }
}
