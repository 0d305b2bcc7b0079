//! Interaction lists on CPU threads: a group, or a part of its sinks, is one thread's.
//!
//! The sources of a group are gathered into tiles in their order, and each sink adds the tiles one
//! after another.

use std::ops::Range;
use std::sync::Mutex;

use kyoho_core::memory;
use kyoho_core::{
    Assignment, Block, Bodies, CHUNK, Chunk, Interaction, InteractionLists, ListedSources, Result, Sink, SinkGroup,
    Sinks, Sources, Sums,
};
use kyoho_hal::threads::Threads;
use kyoho_laws::lanes::Element;
use kyoho_laws::simd::kernel::Kernel;
use kyoho_laws::simd::predict;
use kyoho_laws::simd::tile::{LaneSums, PredictionTarget, Tile};
use kyoho_methods::cpu::lanes::{SinkLanes, Summation, in_groups};
use kyoho_methods::cpu::tiles::Tiles;

/// The number of sinks of a task where a group has more. It is a multiple of the lanes of every
/// vector, so that it changes no sum.
const SINKS_OF_TASK: usize = 256;
/// The number of pairs of a task that has several groups.
const PAIRS_OF_TASK: u64 = 1 << 18;

/// A task, which one thread does at a time: some groups, or some of the sinks of one.
struct Task {
    groups: Range<usize>,
    /// The sinks of its only group, counted from the group's first; `None` for all sinks of all
    /// its groups.
    part: Option<Range<usize>>,
    sums: Sums,
    outcome: Result<()>,
}

/// The memory that a thread works in.
struct Scratch<E> {
    /// The sinks of a part of a group.
    sinks: Sinks,
    lanes: SinkLanes<E>,
    lane_sums: Vec<LaneSums<E>>,
    tile: Option<Tile<E>>,
    /// Sources that came with the call.
    chunk: Option<Chunk>,
}

/// The sums of a device over interaction lists.
pub struct ListSums<E> {
    tasks: Vec<Task>,
    scratch: Mutex<Vec<Scratch<E>>>,
    /// In a box of their own, so that a device is small enough for memory that must be had.
    result: Box<Sums>,
    /// The number of sinks whose sums it has.
    done: usize,
}

impl<E> Default for ListSums<E> {
    fn default() -> ListSums<E> {
        ListSums { tasks: Vec::new(), scratch: Mutex::new(Vec::new()), result: Box::default(), done: 0 }
    }
}

impl<E: Element> ListSums<E> {
    /// Makes room for the sums of an assignment, and predicts the sources of the system where lists
    /// are of these.
    pub fn start(
        &mut self,
        (kernel, interaction): (&dyn Kernel<E>, &Interaction),
        tiles: &mut Tiles<E>,
        threads: &Threads,
        (sources, block): (&Sources, &Block),
        (lists, assignment): (&InteractionLists, &Assignment),
    ) -> Result<()> {
        if !matches!(lists.sources, ListedSources::Own(_)) {
            tiles.predict(kernel, (sources, block), threads, |_| true)?;
        }
        let Interaction { n_outputs, nearest, .. } = *interaction;
        let sinks = assignment.sinks.len();
        self.result.reserve(sinks, n_outputs, nearest)?;
        self.result.resize(sinks, n_outputs, nearest);
        self.done = 0;
        Ok(())
    }

    /// Makes the sums of some groups, after those of the groups before them.
    pub fn sum(
        &mut self,
        (kernel, interaction): (&dyn Kernel<E>, &Interaction),
        tiles: &Tiles<E>,
        threads: &Threads,
        block: &Block,
        (lists, groups): (&InteractionLists, Range<usize>),
    ) -> Result<()> {
        let groups = &lists.groups[groups];
        self.plan(groups)?;
        let shared = Shared { kernel, interaction, tiles, block, groups, lists };
        let new = || Scratch {
            sinks: Sinks::default(),
            lanes: SinkLanes::default(),
            lane_sums: Vec::new(),
            tile: None,
            chunk: None,
        };
        threads.run(self.tasks.iter_mut(), &self.scratch, new, |task, scratch| {
            task.outcome = shared.run(task, scratch);
        });
        if let Some(Err(error)) = self.tasks.iter().map(|task| &task.outcome).find(|outcome| outcome.is_err()) {
            return Err(error.clone());
        }
        let Sums { values, nearest } = &mut *self.result;
        for Task { sums, .. } in &self.tasks {
            let (value, sink) = (self.done * interaction.n_outputs, self.done);
            values[value..][..sums.values.len()].copy_from_slice(&sums.values);
            nearest.iter_mut().skip(sink).zip(&*sums.nearest).for_each(|(to, from)| *to = *from);
            self.done += sums.values.len() / interaction.n_outputs;
        }
        Ok(())
    }

    /// Returns the sums that were made last.
    pub fn last(&mut self) -> &mut Sums {
        &mut self.result
    }

    /// Divides groups into tasks.
    fn plan(&mut self, groups: &[SinkGroup]) -> Result<()> {
        self.tasks.clear();
        let mut first = 0;
        while first < groups.len() {
            let (mut end, mut pairs) = (first + 1, groups[first].pairs());
            while end < groups.len() && pairs + groups[end].pairs() <= PAIRS_OF_TASK {
                pairs += groups[end].pairs();
                end += 1;
            }
            let sinks = groups[first].sinks as usize;
            let parts = if end == first + 1 { sinks.div_ceil(SINKS_OF_TASK).max(1) } else { 1 };
            for part in 0..parts {
                let part = (parts > 1).then(|| part * SINKS_OF_TASK..sinks.min((part + 1) * SINKS_OF_TASK));
                let task = Task { groups: first..end, part, sums: Sums::default(), outcome: Ok(()) };
                memory::push(&mut self.tasks, task, "tasks")?;
            }
            first = end;
        }
        Ok(())
    }
}

/// The data that all tasks of a call share.
struct Shared<'a, E> {
    kernel: &'a dyn Kernel<E>,
    interaction: &'a Interaction,
    tiles: &'a Tiles<E>,
    block: &'a Block,
    groups: &'a [SinkGroup],
    lists: &'a InteractionLists,
}

impl<E: Element> Shared<'_, E> {
    fn run(&self, task: &mut Task, scratch: &mut Scratch<E>) -> Result<()> {
        let Interaction { n_outputs, nearest, .. } = *self.interaction;
        let groups = &self.groups[task.groups.clone()];
        let part = |group: &SinkGroup| task.part.clone().unwrap_or(0..group.sinks as usize);
        let sinks = groups.iter().map(|group| part(group).len()).sum();
        task.sums.reserve(sinks, n_outputs, nearest)?;
        task.sums.reset(sinks, n_outputs, nearest);
        let mut first = 0;
        for group in groups {
            let part = part(group);
            self.add_group(group, part.clone(), (&mut task.sums, first), scratch)?;
            first += part.len();
        }
        Ok(())
    }

    /// Adds the sums of some sinks of a group to rows of sums, from the row `first` on.
    fn add_group(
        &self,
        group: &SinkGroup,
        part: Range<usize>,
        (sums, first): (&mut Sums, usize),
        scratch: &mut Scratch<E>,
    ) -> Result<()> {
        // Nobody wants the sums of its sources.
        if part.is_empty() {
            return Ok(());
        }
        let Scratch { sinks, lanes, lane_sums, tile, chunk } = scratch;
        let together = in_groups(group.sinks as usize, self.kernel.lanes()).clamp(part.start, part.end) - part.start;
        let units = match &self.lists.sources {
            ListedSources::Own(_) => self.lists.units(group, self.interaction),
            _ => self.block.units,
        };
        let first_sink = group.first_sink as usize;
        sinks.collect(part.map(|sink| self.sink(first_sink + sink)), self.interaction)?;
        lanes.pack(sinks.all(), together, self.kernel, &self.block.units_of_sinks(units), false)?;
        let summation = Summation::new(self.kernel, lanes, self.interaction, units, self.block.skip_own_index);
        let packed = summation.units(0..lanes.units.len());
        lane_sums.clear();
        memory::lengthen(lane_sums, packed.len(), "sums by lane", LaneSums::new)?;
        let tile = match tile {
            Some(tile) => tile,
            none => none.insert(Tile::new(self.kernel.rows())?),
        };
        let all = group.source_range();
        for start in all.clone().step_by(CHUNK) {
            let places = start..all.end.min(start + CHUNK);
            match &self.lists.sources {
                ListedSources::Ranges => self.gather(places, tile),
                ListedSources::Addresses(table) => {
                    self.gather(table.addresses()[places].iter().map(|address| *address as usize), tile);
                }
                ListedSources::Own(own) => {
                    let chunk = match &mut *chunk {
                        Some(chunk) => chunk,
                        none => none.insert(Chunk::new(self.interaction.n_coefficients)?),
                    };
                    let limit = places.len();
                    put(own, places, chunk);
                    let Block { time, predicts, .. } = *self.block;
                    self.kernel.predict(chunk, PredictionTarget { time, predicts, limit, units }, tile);
                }
            }
            if tile.count > 0 {
                packed.iter().zip(&mut *lane_sums).for_each(|(unit, sums)| summation.sum(unit, tile, sums));
            }
        }
        summation.add(packed, lane_sums, (sums, first));
        Ok(())
    }

    /// Returns the sink of a number.
    fn sink(&self, number: usize) -> Sink {
        match &self.lists.sources {
            ListedSources::Own(own) if self.lists.is_batch => {
                let body = own.source(number);
                let step = if self.block.predicts { self.block.time - body.time } else { 0.0 };
                let softening2 = self.lists.sinks.softening2(number);
                let derivatives = predict::derivatives(&body, self.interaction, step);
                Sink { index: body.index, softening2, radius2: 0.0, step: 0.0, derivatives }
            }
            _ => self.lists.sinks.sink(number),
        }
    }

    /// Gathers predicted sources at some addresses, at most a tile of them, leaving out those that
    /// were never written.
    fn gather(&self, addresses: impl Iterator<Item = usize>, tile: &mut Tile<E>) {
        let rows = self.kernel.rows();
        let mut count = 0;
        tile.range = kyoho_core::IndexRange::EMPTY;
        for address in addresses {
            let number = address / CHUNK;
            let Some(from) = self.tiles.get(number) else { continue };
            let Some(place) = from.place_of(address % CHUNK) else { continue };
            let index = from.indices()[place];
            let from = from.rows();
            let to = tile.rows_mut();
            for row in 0..rows {
                to[row * CHUNK + count] = from[row * CHUNK + place];
            }
            tile.indices_mut()[count] = index;
            tile.range = tile.range.with(index);
            count += 1;
        }
        tile.close(count, |_| true, true);
    }
}

/// Puts some sources that came with a call into a chunk.
fn put(own: &Bodies, places: Range<usize>, chunk: &mut Chunk) {
    chunk.clear();
    places.enumerate().for_each(|(place, number)| chunk.write(place, &own.source(number), 0));
}

#[cfg(test)]
mod tests {
    use kyoho_core::Level;
    use kyoho_core::memory::Pages;
    use kyoho_core::{AddressTable, GroupTable, Order, Precision};
    use kyoho_laws::catalogue;
    use kyoho_laws::simd::kernel;

    use super::*;

    #[test]
    fn sources_of_a_group_without_sinks_are_not_read() {
        let interaction = catalogue::interaction(Order::Second, Precision::Double).unwrap();
        let kernel = kernel::kernel_64(Level::Portable, &interaction).unwrap();
        // The table has none of the addresses, so that whoever reads them panics.
        let group = SinkGroup { first_source: 0, sources: 1000, sinks: 0, first_sink: 0, reserved: 0 };
        let mut pages = Pages::new(size_of::<SinkGroup>(), "a test").unwrap();
        pages.as_mut_slice::<u8>()[..size_of::<SinkGroup>()].copy_from_slice(bytemuck::bytes_of(&group));
        let lists = InteractionLists {
            groups: GroupTable { pages, count: 1, pairs: 0, on_device: None },
            sources: ListedSources::Addresses(AddressTable::default()),
            ..InteractionLists::default()
        };
        let of = (&*kernel, &*interaction);
        let mut sums = ListSums::default();
        let tiles = Tiles::default();
        sums.sum(of, &tiles, &Threads::alone(), &Block::default(), (&lists, 0..1)).unwrap();
        assert_eq!(sums.done, 0);
    }
}
