//! Direct sums on CPU threads: tasks over sinks and slices, added in a fixed order.
//!
//! Whatever the tasks and threads, a sink's sums are made in one order: sources within a chunk by
//! the kernel, chunks within a slice by address, slices within a slice group by number, slice
//! groups in pairs. Tasks decide only which thread adds what.

use std::ops::Range;
use std::sync::Mutex;

use kyoho_core::memory;
use kyoho_core::{
    Assignment, Block, Interaction, Result, SLICE_GROUPS, SLICES, Sources, Sums, add_in_pairs, chunks_of_slice,
};
use kyoho_hal::threads::Threads;
use kyoho_laws::lanes::Element;
use kyoho_laws::simd::kernel::Kernel;
use kyoho_laws::simd::tile::{LaneSums, Tile};
use kyoho_methods::cpu::lanes::{SinkLanes, Summation, in_groups};
use kyoho_methods::cpu::tiles::{self, Tiles};

/// The number of sinks that share a tile while it is in the nearest cache. More sinks are several
/// tasks, which share the tiles that are kept.
const SINKS_OF_TASK: usize = 64;
/// The number of tasks for each thread, so that none waits long for another.
const TASKS_OF_THREAD: usize = 8;
/// Tiles of this many bytes together are read from a near cache each time.
const NEAR: usize = 4 << 20;
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

/// The direct sums of a device.
pub struct DirectSums<E> {
    /// The assignment of the device in the last block.
    assignment: Assignment,
    last_time: Option<f64>,
    lanes: SinkLanes<E>,
    tasks: Vec<Task<E>>,
    /// The number of tasks of the last block; those behind keep their memory.
    wanted: usize,
    scratch: Mutex<Vec<Scratch<E>>>,
    /// The sums of the slice groups of the last block; the first holds all.
    results: Vec<Sums>,
}

impl<E> Default for DirectSums<E> {
    fn default() -> DirectSums<E> {
        DirectSums {
            assignment: Assignment::whole(0),
            last_time: None,
            lanes: SinkLanes::default(),
            tasks: Vec::new(),
            wanted: 0,
            scratch: Mutex::new(Vec::new()),
            results: vec![Sums::default()],
        }
    }
}

impl<E: Element> DirectSums<E> {
    /// Makes the sums of an assignment of a block, and returns them.
    pub fn sum(
        &mut self,
        (kernel, interaction): (&dyn Kernel<E>, &Interaction),
        tiles: &mut Tiles<E>,
        threads: &Threads,
        (sources, block): (&Sources, &Block),
        assignment: &Assignment,
    ) -> Result<&mut Sums> {
        self.assignment = assignment.clone();
        let sinks = block.sinks.range(assignment.sinks.clone());
        let keeps_tiles = self.keeps_tiles(interaction, block, threads.count());
        let together = in_groups(block.sinks.len(), kernel.lanes());
        let together = together.clamp(assignment.sinks.start, assignment.sinks.end) - assignment.sinks.start;
        self.lanes.pack(sinks, together, kernel, &block.sink_units(), interaction.is_regular())?;
        if keeps_tiles {
            tiles.predict(kernel, (sources, block), threads, |chunk| assignment.has(chunk % SLICES))?;
        }
        self.last_time = Some(block.time);
        self.plan(threads.count(), keeps_tiles, (block.nj, kernel))?;
        let shared = Shared {
            summation: Summation::new(kernel, &self.lanes, interaction, block.units, block.skip_own_index),
            kernel,
            assignment: &self.assignment,
            tiles,
            keeps_tiles,
            sources,
            chunks: sources.chunks_below(block.nj),
            block,
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
        self.merge(sinks.len(), interaction)?;
        Ok(&mut self.results[0])
    }

    /// Returns the sums that were made last.
    pub fn last(&mut self) -> &mut Sums {
        &mut self.results[0]
    }

    /// Returns the number of tasks of the last block.
    pub fn tasks(&self) -> usize {
        self.wanted
    }

    /// Returns the number of slice groups of the assignment.
    fn slice_groups(&self) -> usize {
        SLICE_GROUPS / self.assignment.sets
    }

    /// Returns how many sinks a task over one slice may serve while its tiles come and go. Few
    /// threads need no more tasks than slices.
    fn sinks_at_once(&self, threads: usize) -> usize {
        let slices_suffice = self.assignment.slices().len() >= TASKS_OF_THREAD * threads;
        if slices_suffice { 8 * SINKS_OF_TASK } else { SINKS_OF_TASK }
    }

    /// Whether tiles are kept, so that a call on many sinks, or many calls at one time, predict
    /// only once.
    fn keeps_tiles(&self, interaction: &Interaction, block: &Block, threads: usize) -> bool {
        interaction.n_coefficients == 1
            || block.sinks.len() > self.sinks_at_once(threads)
            || self.last_time == Some(block.time)
    }

    /// Divides the block into tasks: over sinks alone where that makes enough of them, otherwise
    /// over slices too.
    fn plan(&mut self, threads: usize, keeps_tiles: bool, (nj, kernel): (usize, &dyn Kernel<E>)) -> Result<()> {
        let units = self.lanes.units.len().max(1);
        let together = (SINKS_OF_TASK / kernel.lanes()).max(1);
        // Tiles that come from far off should serve many sinks at a time.
        let are_near = nj * kernel.rows() * size_of::<E>() <= NEAR;
        let evenly = (units / (TASKS_OF_THREAD * threads)).clamp(if are_near { 1 } else { together }, together);
        let over_sinks = threads == 1 || keeps_tiles && units >= TASKS_OF_THREAD * threads * evenly;
        let units_of_task = if !keeps_tiles {
            units
        } else if over_sinks {
            evenly
        } else {
            together.min(units.div_ceil(threads))
        };
        let ranges = self.lanes.units.len().div_ceil(units_of_task);
        let all = self.assignment.slices().len();
        let slices = if over_sinks { 1 } else { all };
        self.wanted = ranges * slices;
        memory::lengthen(&mut self.tasks, self.wanted, "tasks", Task::default)?;
        for (number, task) in self.tasks[..self.wanted].iter_mut().enumerate() {
            let first = number / slices * units_of_task;
            task.units = first..self.lanes.units.len().min(first + units_of_task);
            task.slices = if over_sinks { 0..all } else { number % slices..number % slices + 1 };
        }
        Ok(())
    }

    /// Adds the tasks' sums in the order of slices.
    fn merge(&mut self, sinks: usize, interaction: &Interaction) -> Result<()> {
        let over_sinks = self.tasks[..self.wanted].iter().all(|task| task.slices.len() > 1);
        let slice_groups = if over_sinks { 1 } else { self.slice_groups() };
        memory::lengthen(&mut self.results, slice_groups, "sums of slice groups", Sums::default)?;
        for result in &mut self.results[..slice_groups] {
            result.reserve(sinks, interaction.n_outputs, interaction.nearest)?;
            result.reset(sinks, interaction.n_outputs, interaction.nearest);
        }
        for task in &self.tasks[..self.wanted] {
            let first_sink = self.lanes.units[task.units.start].first_sink;
            let (sums, result) = (&task.slice_groups[0], &mut self.results[task.slices.start % slice_groups]);
            result.add(first_sink, sums, 0..sums.values.len() / interaction.n_outputs, interaction.n_outputs);
        }
        add_in_pairs(&mut self.results[..slice_groups], 0..sinks, interaction.n_outputs);
        Ok(())
    }
}

/// The data that all tasks of a block share.
struct Shared<'a, E> {
    summation: Summation<'a, E>,
    kernel: &'a dyn Kernel<E>,
    assignment: &'a Assignment,
    tiles: &'a Tiles<E>,
    keeps_tiles: bool,
    sources: &'a Sources,
    chunks: usize,
    block: &'a Block,
}

impl<E: Element> Shared<'_, E> {
    fn run(&self, task: &mut Task<E>, scratch: &mut Scratch<E>) -> Result<()> {
        let units = self.summation.units(task.units.clone());
        let (n_outputs, nearest) = (self.summation.n_outputs, self.summation.nearest);
        let sinks = units.iter().map(|unit| unit.sinks).sum();
        let slice_groups = task.slices.len().min(SLICE_GROUPS / self.assignment.sets);
        memory::lengthen(&mut task.slice_groups, slice_groups, "sums of slice groups", Sums::default)?;
        for sums in &mut task.slice_groups[..slice_groups] {
            sums.reserve(sinks, n_outputs, nearest)?;
            sums.reset(sinks, n_outputs, nearest);
        }
        task.lane_sums.truncate(units.len());
        memory::lengthen(&mut task.lane_sums, units.len(), "sums by lane", LaneSums::new)?;
        task.lane_sums.iter_mut().for_each(LaneSums::forget_nearest);
        for place in task.slices.clone() {
            let slice = self.assignment.set + self.assignment.sets * place;
            // Few sources leave most slices empty, which add nothing.
            if chunks_of_slice(slice, self.chunks).next().is_none() {
                continue;
            }
            task.lane_sums.iter_mut().for_each(|sums| sums.clear(n_outputs));
            for number in chunks_of_slice(slice, self.chunks) {
                if let Some(tile) = self.tile(number, scratch)? {
                    for (unit, sums) in units.iter().zip(&mut task.lane_sums) {
                        self.summation.sum(unit, tile, sums);
                    }
                }
            }
            self.summation.add(units, &task.lane_sums, (&mut task.slice_groups[place % slice_groups], 0));
        }
        add_in_pairs(&mut task.slice_groups[..slice_groups], 0..sinks, n_outputs);
        Ok(())
    }

    fn tile<'a>(&'a self, number: usize, scratch: &'a mut Scratch<E>) -> Result<Option<&'a Tile<E>>> {
        if self.keeps_tiles {
            return Ok(self.tiles.get(number));
        }
        let Some(chunk) = self.sources.chunk(number) else {
            return Ok(None);
        };
        if let Some(kept) = self.tiles.get(number)
            && kept.made_of == Some(tiles::key(chunk, self.block, number))
        {
            return Ok(Some(kept));
        }
        let tile = match scratch {
            Some(tile) => tile,
            none => none.insert(Tile::new(self.kernel.rows())?),
        };
        tiles::predict(self.kernel, chunk, self.block, number, tile);
        Ok(Some(tile))
    }
}
