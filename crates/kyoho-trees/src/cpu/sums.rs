//! Forces by a tree.

use std::time::Instant;

use crate::criterion::{self, CUT, Criterion, FIRST_CUT, MOST_NEAR};
use kyoho_core::Level;
use kyoho_core::{BufferPool, CHUNK, IndexRange, Interaction, Pooled, Result, Sums, memory};
use kyoho_hal::threads::Threads;
use kyoho_laws::expansion::MAX_COMPONENTS;
use kyoho_laws::lanes::MAX_LANES;
use kyoho_laws::simd::expansions::{Expansions, Field, MAX_CHILDREN, Number, Sorted, Tests};
use kyoho_laws::simd::kernel::Kernel;
use kyoho_laws::simd::tile::{Group, LaneSums, Tile};
use kyoho_methods::cpu::lanes::{SinkLanes, Summation, in_groups};

use super::cell_list::CellList;
use super::octree::Octree;
use super::sinks::{self, Extent};
use super::sources::Sources;
use super::walk::{self, Handed, Pass, Sorting, sink_cell};

/// The number of bodies that a thread takes at a time.
const PIECE: usize = 1 << 14;
/// The sources of a tile; the places behind them are overwritten.
const SOURCES_OF_TILE: usize = CHUNK - MAX_LANES;
/// The index of a source that is all bodies in a point. No sink has it.
const OF_POINT: i32 = -2;
/// The most sinks whose near sums are made at a time.
const SINKS_AT_ONCE: usize = 256;

/// Points, and their masses where they are sources.
#[derive(Clone, Copy, Default)]
pub struct Points<'a> {
    /// The positions.
    pub positions: &'a [[f64; 3]],
    /// The masses.
    pub masses: &'a [f64],
    /// The indices. No two sources have the same.
    pub indices: &'a [i32],
}

/// How forces are computed.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The order of expansions.
    pub order: usize,
    /// The criterion of acceptance.
    pub criterion: Criterion,
    /// The squared softening.
    pub softening2: f64,
    /// Whether a source exerts no force on the sink that has its index.
    pub skip_own_index: bool,
    /// The instruction set.
    pub level: Level,
}

/// Counts of a call, and the seconds of its phases.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// The pairs of a sink and a source.
    pub near: u64,
    /// The pairs of cells whose expansions were used.
    pub far: u64,
    /// The pairs of a sink and such an expansion of a cell of sources.
    pub far_of_sinks: u64,
    /// The tests of pairs of cells.
    pub tests: u64,
    /// The tests of the first pass.
    pub coarse: u64,
    /// The cells of sources.
    pub cells: u64,
    /// The groups of sinks.
    pub groups: u64,
    /// The seconds that sorting and cells, moments, the first pass and the walk took.
    pub seconds: [f64; 4],
}

/// Calls `numbers` for each body of an order, and returns the columns of what it returns.
pub fn gathered(
    order: &[u32],
    (threads, pool): (&Threads, &BufferPool),
    numbers: impl Fn(usize) -> [f64; 4] + Sync,
) -> Result<[Pooled<f64>; 4]> {
    // Loops over bodies read vectors, also of the last ones.
    let column = || -> Result<Pooled<f64>> {
        let mut column = pool.unwritten(order.len() + MAX_LANES, 0.0, "the bodies of a tree")?;
        column[order.len()..].fill(0.0);
        Ok(column)
    };
    let [mut a, mut b, mut c, mut d] = [column()?, column()?, column()?, column()?];
    let rows = a.chunks_mut(PIECE).zip(b.chunks_mut(PIECE)).zip(c.chunks_mut(PIECE)).zip(d.chunks_mut(PIECE));
    threads.each(order.chunks(PIECE).zip(rows).take(order.len().div_ceil(PIECE)), |(order, (((a, b), c), d))| {
        for (place, body) in order.iter().enumerate() {
            [a[place], b[place], c[place], d[place]] = numbers(*body as usize);
        }
    });
    Ok([a, b, c, d])
}

/// Puts sorted items where their order says.
fn put_back<T: Copy + Send + Sync>(order: &[u32], sorted: &[T], into: &mut [T], threads: &Threads) {
    // Each thread looks at all and takes those of its part, to which no other one writes.
    let of_thread = into.len().div_ceil(threads.count()).max(PIECE);
    threads.each(into.chunks_mut(of_thread).enumerate(), |(part, into)| {
        for (number, item) in order.iter().zip(sorted) {
            if let Some(place) = into.get_mut((*number as usize).wrapping_sub(part * of_thread)) {
                *place = *item;
            }
        }
    });
}

/// Sums forces by a tree, in numbers of a precision.
pub struct TreeSums<'a, E> {
    /// The loops over near pairs.
    pub kernel: &'a dyn Kernel<E>,
    /// The interaction.
    pub interaction: &'a Interaction,
    /// The threads.
    pub threads: &'a Threads,
    /// Memory of the call before.
    pub pool: &'a BufferPool,
}

impl<E: Number> TreeSums<'_, E> {
    /// Writes the potential and the acceleration of each sink.
    pub fn sum(&self, sources: Points, sinks: Points, settings: &Settings, forces: &mut [[f64; 4]]) -> Result<Counts> {
        let mut counts = Counts::default();
        if sources.positions.is_empty() || sinks.positions.is_empty() {
            forces.fill([0.0; 4]);
            return Ok(counts);
        }
        let begin = Instant::now();
        let (threads, pool) = (self.threads, self.pool);
        let tree = Octree::new(sources.positions, threads, pool)?;
        // Those that are one array need not be compared.
        let is_one = std::ptr::eq(sinks.positions, sources.positions);
        let is_same = is_one || sinks.positions == sources.positions;
        let own_tree = if is_same { None } else { Some(Octree::new(sinks.positions, threads, pool)?) };
        let mut of_sources =
            Sources::<E>::new(tree, (sources.positions, sources.masses), settings.softening2, (threads, pool))?;
        counts.seconds[0] = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        let has_dipoles = of_sources.has_negative || of_sources.units.has_tiny_cells;
        let expansions = E::expansions(settings.level, settings.order, has_dipoles);
        of_sources.expand(&*expansions, settings.criterion, sources.positions, (threads, pool))?;
        let units = of_sources.units;
        let sink_tree = own_tree.as_ref().unwrap_or(&of_sources.tree);
        let own_positions = match &own_tree {
            None => None,
            Some(tree) => {
                let scaled = |body: usize| {
                    let [x, y, z] = sinks.positions[body].map(|coordinate| coordinate * units.length);
                    [x, y, z, 0.0]
                };
                let [x, y, z, _] = gathered(&tree.order, (threads, pool), scaled)?;
                Some([x, y, z])
            }
        };
        let positions = own_positions.as_ref().unwrap_or(&of_sources.positions);
        let (places, alike) = self.places(&of_sources.tree, sink_tree, (sources, sinks), settings.skip_own_index)?;
        let mut extents = sinks::extents::<E>(sink_tree, positions, &units, (threads, pool))?;
        counts.seconds[1] = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        counts.cells = of_sources.tree.cells.len() as u64;
        let first = &[0];
        let softening2 = settings.softening2 * units.length * units.length;
        let tests = |cut: f64, least2: f64| Tests {
            softening2: E::from_f64(softening2),
            cut2: E::from_f64(cut * cut),
            least2: E::from_f64(least2),
            by_angle: matches!(settings.criterion, Criterion::Angle { .. }),
        };
        let (cut, tolerance, variation) = match settings.criterion {
            Criterion::Error { tolerance } => (CUT, tolerance, criterion::variation(tolerance, settings.order)),
            Criterion::Angle { theta } => (CUT * theta.min(1.0), 0.0, theta / 2.0),
        };
        let of_order = if size_of::<E>() == 4 { criterion::least_s2(settings.order) } else { 0.0 };
        let least2 = units.least2.max(of_order);
        let mut accelerations = pool.unwritten(sinks.positions.len(), [0.0; 2], "accelerations of sinks")?;
        let coarse = Coarse {
            sources: &of_sources,
            expansions: &*expansions,
            tree: sink_tree,
            extents: &extents,
            positions,
            tests: tests(FIRST_CUT, units.least2),
            variation,
        };
        let walked = walk::walk(&coarse, sink_tree, first, &mut accelerations, threads)?;
        counts.coarse = walked.iter().map(|(_, counted)| counted).sum();
        sinks::set_accelerations(sink_tree, &mut extents, &accelerations, variation, threads);
        counts.seconds[2] = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        let walk = Walk {
            with: self,
            sources: &of_sources,
            expansions: &*expansions,
            tree: sink_tree,
            extents: &extents,
            positions,
            places: &places,
            alike: alike.as_ref(),
            tests: tests(cut, least2),
            accelerations: &accelerations,
            tolerance,
            softening2,
        };
        let mut sorted = pool.unwritten(sinks.positions.len(), [0.0; 4], "forces")?;
        for scratch in walk::walk(&walk, sink_tree, first, &mut sorted, threads)? {
            counts.near += scratch.counts.near;
            counts.far += scratch.counts.far;
            counts.far_of_sinks += scratch.counts.far_of_sinks;
            counts.tests += scratch.counts.tests;
            counts.groups += scratch.counts.groups;
        }
        put_back(&sink_tree.order, &sorted, forces, threads);
        counts.seconds[3] = begin.elapsed().as_secs_f64();
        Ok(counts)
    }

    /// Returns for each sink, in sorted order, the sorted place of the first source that exerts no
    /// force on it, or -1, and the sources that have the same index, if any have.
    fn places(
        &self,
        tree: &Octree,
        sink_tree: &Octree,
        (sources, sinks): (Points, Points),
        skip_own_index: bool,
    ) -> Result<(Pooled<i32>, Option<Alike>)> {
        let what = "places of sinks";
        let count = sinks.positions.len();
        if !skip_own_index {
            return Ok((self.pool.filled(count, -1, what)?, None));
        }
        let is_ascending = sources.indices.is_sorted_by(|one, next| one < next);
        let are_sources = std::ptr::eq(tree, sink_tree) && sources.indices == sinks.indices;
        if is_ascending && are_sources {
            return Ok((self.pool.collected(0..count as i32, what)?, None));
        }
        let mut table: Vec<(i32, i32)> = memory::filled(tree.order.len(), (0, 0), what)?;
        for (body, place) in tree.order.iter().zip(0..) {
            table[*body as usize] = (sources.indices[*body as usize], place);
        }
        if !is_ascending {
            table.sort_unstable();
        }
        let is_repeated = !is_ascending && table.windows(2).any(|pair| pair[0].0 == pair[1].0);
        let alike = if is_repeated { Some(Alike::of(&table)?) } else { None };
        let of_sink = |sink: &u32| {
            let index = sinks.indices[*sink as usize];
            let place = table.partition_point(|(of_source, _)| *of_source < index);
            table.get(place).filter(|(of_source, _)| *of_source == index).map_or(-1, |(_, place)| *place)
        };
        Ok((self.pool.collected(sink_tree.order.iter().map(of_sink), what)?, alike))
    }
}

/// Sources that have the same index, by their sorted places.
struct Alike {
    /// The first source with the index of each.
    firsts: Vec<i32>,
    /// The next source with the index of each, or -1.
    nexts: Vec<i32>,
}

impl Alike {
    /// Makes it from the index and the place of each source, in their order.
    fn of(table: &[(i32, i32)]) -> Result<Alike> {
        let filled = || memory::filled(table.len(), -1, "sources of an index");
        let mut alike = Alike { firsts: filled()?, nexts: filled()? };
        for of_index in table.chunk_by(|one, next| one.0 == next.0) {
            for (number, (_, place)) in of_index.iter().enumerate() {
                alike.firsts[*place as usize] = of_index[0].1;
                alike.nexts[*place as usize] = of_index.get(number + 1).map_or(-1, |(_, next)| *next);
            }
        }
        Ok(alike)
    }
}

/// The first pass: accelerations to about a tenth, at the middles of the leaves of sinks.
struct Coarse<'a, E: Number> {
    sources: &'a Sources<E>,
    expansions: &'a dyn Expansions<E>,
    tree: &'a Octree,
    extents: &'a [Extent],
    /// The coordinates of sinks, in the units of the tree of sources.
    positions: &'a [Pooled<f64>; 3],
    tests: Tests<E>,
    variation: f64,
}

impl<E: Number> Pass for Coarse<'_, E> {
    type State = Field;
    type Out = [f64; 2];
    type Scratch = (Sorting, u64);

    fn first(&self) -> Field {
        Field::default()
    }

    fn visit(
        &self,
        cell: usize,
        state: &Field,
        list: &[u32],
        (kept, states): &mut Handed<Field>,
        (sorting, counted): &mut (Sorting, u64),
        out: &mut [[f64; 2]],
    ) -> Result<bool> {
        let (extent, of_cell) = (&self.extents[cell], &self.tree.cells[cell]);
        let sink = sink_cell(extent.center, extent.radius, 0.0, of_cell.is_leaf());
        let mut field = *state;
        let test = |list: &[u32], sorted: Sorted| {
            let lists = [sorted.opened, sorted.kept];
            let [opened, kept] =
                self.expansions.add_coarse(&self.sources.records, list, &sink, &self.tests, lists, &mut field);
            [0, opened, kept]
        };
        *counted += sorting.sort(&self.sources.tree.cells, (list, u32::MAX), kept, test)?;
        if of_cell.is_leaf() {
            let [acceleration, tide] = field.sizes();
            out.fill([acceleration, tide]);
            if of_cell.bodies > 1 && !criterion::is_even(extent.radius, tide, acceleration, self.variation) {
                // The accelerations of its sinks differ.
                for (out, sink) in out.iter_mut().zip(of_cell.body_range()) {
                    let position = std::array::from_fn(|k| self.positions[k][sink]);
                    let of_sink = sink_cell(position, 0.0, 0.0, true);
                    let mut field = state.shifted(extent.center, position);
                    let test = |list: &[u32], sorted: Sorted| {
                        let lists = [sorted.opened, sorted.kept];
                        let records = &self.sources.records;
                        let [opened, kept] =
                            self.expansions.add_coarse(records, list, &of_sink, &self.tests, lists, &mut field);
                        [0, opened, kept]
                    };
                    *counted += sorting.sort(&self.sources.tree.cells, (list, u32::MAX), kept, test)?;
                    out[0] = field.sizes()[0];
                }
            }
            return Ok(false);
        }
        memory::lengthen(states, MAX_CHILDREN, "fields", Field::default)?;
        for (child, state) in of_cell.child_range().zip(states) {
            *state = field.shifted(extent.center, self.extents[child].center);
        }
        Ok(true)
    }
}

/// The memory that a thread sums in.
struct Scratch<E> {
    counts: Counts,
    sorting: Sorting,
    lanes: SinkLanes<E>,
    lane_sums: Vec<LaneSums<E>>,
    tile: Option<Tile<E>>,
    sums: Sums,
    /// The cells that are left to direct sums of one sink.
    kept: CellList,
    /// The bodies of near cells.
    ranges: Vec<std::ops::Range<usize>>,
    /// Near cells whose bodies are in one point.
    points: Vec<u32>,
    /// Positions of sinks, and the values of the local expansion.
    rows: [Vec<E>; 7],
    positions: [Vec<f64>; 3],
}

impl<E: Number> Default for Scratch<E> {
    fn default() -> Scratch<E> {
        Scratch {
            counts: Counts::default(),
            sorting: Sorting::default(),
            lanes: SinkLanes::default(),
            lane_sums: Vec::new(),
            tile: None,
            sums: Sums::default(),
            kept: CellList::default(),
            ranges: Vec::new(),
            points: Vec::new(),
            rows: Default::default(),
            positions: Default::default(),
        }
    }
}

/// The sums over near sources and accepted expansions.
struct Walk<'a, 'b, E: Number> {
    with: &'a TreeSums<'b, E>,
    sources: &'a Sources<E>,
    expansions: &'a dyn Expansions<E>,
    tree: &'a Octree,
    extents: &'a [Extent],
    /// The coordinates of sinks, in the units of the tree of sources.
    positions: &'a [Pooled<f64>; 3],
    /// For each sink the place of the source that is left out.
    places: &'a [i32],
    alike: Option<&'a Alike>,
    tests: Tests<E>,
    /// The acceleration of each sink by the first pass, or of its leaf.
    accelerations: &'a [[f64; 2]],
    tolerance: f64,
    softening2: f64,
}

impl<E: Number> Pass for Walk<'_, '_, E> {
    type State = [E; MAX_COMPONENTS];
    type Out = [f64; 4];
    type Scratch = Scratch<E>;

    fn first(&self) -> [E; MAX_COMPONENTS] {
        [E::from_f64(0.0); MAX_COMPONENTS]
    }

    fn visit(
        &self,
        cell: usize,
        state: &[E; MAX_COMPONENTS],
        list: &[u32],
        (kept, states): &mut Handed<[E; MAX_COMPONENTS]>,
        scratch: &mut Scratch<E>,
        out: &mut [[f64; 4]],
    ) -> Result<bool> {
        let (extent, of_cell) = (&self.extents[cell], &self.tree.cells[cell]);
        let opens_all = extent.is_group && self.tests.by_angle;
        let sink = sink_cell(extent.center, extent.radius, self.tolerance * extent.least, opens_all);
        let test = walk::test(self.expansions, &self.sources.records, &self.tests, &sink);
        let most = if extent.is_group && !opens_all { MOST_NEAR } else { u32::MAX };
        let tests = scratch.sorting.sort(&self.sources.tree.cells, (list, most), kept, test)?;
        let accepted = &scratch.sorting.accepted;
        let mut local = *state;
        let Sources { records, moments, .. } = self.sources;
        if !accepted.is_empty() {
            self.expansions.add_far(records, moments, accepted, &sink, self.tests.softening2, &mut local);
        }
        let far = accepted.len() as u64;
        let far_of_sinks = far * u64::from(of_cell.bodies);
        let mut counts = Counts { far, far_of_sinks, tests, ..Counts::default() };
        let sinks = of_cell.body_range();
        if extent.is_group {
            counts.near = self.near(sinks, (extent.center, extent.radius), &local, kept, scratch, out)?;
            counts.groups = 1;
        } else if extent.is_split {
            self.split(cell, &local, kept, scratch, out, &mut counts)?;
        } else {
            memory::lengthen(states, MAX_CHILDREN, "local expansions", || self.first())?;
            self.hand_down(&local, extent, of_cell.child_range().map(|child| self.extents[child].center), states);
        }
        let all = &mut scratch.counts;
        all.near += counts.near;
        all.far += counts.far;
        all.far_of_sinks += counts.far_of_sinks;
        all.tests += counts.tests;
        all.groups += counts.groups;
        Ok(!extent.is_group && !extent.is_split)
    }
}

impl<E: Number> Walk<'_, '_, E> {
    /// Shifts a local expansion to other centres. A cell that is too large for one hands none down.
    fn hand_down(
        &self,
        local: &[E; MAX_COMPONENTS],
        extent: &Extent,
        centers: impl ExactSizeIterator<Item = [f64; 3]>,
        shifted: &mut [[E; MAX_COMPONENTS]],
    ) {
        if extent.radius < f64::INFINITY {
            let count = centers.len();
            let mut shifts = [[E::from_f64(0.0); MAX_LANES]; 3];
            for (place, to) in centers.enumerate() {
                (0..3).for_each(|k| shifts[k][place] = E::from_f64(to[k] - extent.center[k]));
            }
            self.expansions.shift(local, &shifts, count, shifted);
        } else {
            shifted.fill(self.first());
        }
    }

    /// Makes the forces of the sinks of a leaf one by one.
    fn split(
        &self,
        cell: usize,
        local: &[E; MAX_COMPONENTS],
        list: &[u32],
        scratch: &mut Scratch<E>,
        out: &mut [[f64; 4]],
        counts: &mut Counts,
    ) -> Result<()> {
        let extent = &self.extents[cell];
        let all = self.tree.cells[cell].body_range();
        let mut kept = std::mem::take(&mut scratch.kept);
        let mut first = all.start;
        while first < all.end {
            let some = first..all.end.min(first + MAX_CHILDREN);
            let center = |sink: usize| [self.positions[0][sink], self.positions[1][sink], self.positions[2][sink]];
            let mut locals = [[E::from_f64(0.0); MAX_COMPONENTS]; MAX_CHILDREN];
            self.hand_down(local, extent, some.clone().map(center), &mut locals);
            for (sink, local) in some.clone().zip(&mut locals) {
                let least = self.accelerations[sink][0].max(extent.floor);
                let of_sink = sink_cell(center(sink), 0.0, self.tolerance * least, true);
                let test = walk::test(self.expansions, &self.sources.records, &self.tests, &of_sink);
                counts.tests += scratch.sorting.sort(&self.sources.tree.cells, (list, u32::MAX), &mut kept, test)?;
                let accepted = &scratch.sorting.accepted;
                counts.far += accepted.len() as u64;
                counts.far_of_sinks += accepted.len() as u64;
                if !accepted.is_empty() {
                    let Sources { records, moments, .. } = self.sources;
                    self.expansions.add_far(records, moments, accepted, &of_sink, self.tests.softening2, local);
                }
                let out = &mut out[sink - all.start..][..1];
                counts.near += self.near(sink..sink + 1, (center(sink), 0.0), local, &kept, scratch, out)?;
                counts.groups += 1;
            }
            first = some.end;
        }
        scratch.kept = kept;
        Ok(())
    }

    /// Makes the forces of a group: its local expansion, and the sums over the cells of a list.
    /// Returns the number of pairs.
    fn near(
        &self,
        sinks: std::ops::Range<usize>,
        (center, radius): ([f64; 3], f64),
        local: &[E; MAX_COMPONENTS],
        cells: &[u32],
        scratch: &mut Scratch<E>,
        out: &mut [[f64; 4]],
    ) -> Result<u64> {
        let Scratch { lanes, lane_sums, tile, sums, ranges, points, rows, positions, .. } = scratch;
        let (kernel, interaction) = (self.with.kernel, self.with.interaction);
        let tile = match tile {
            Some(tile) => tile,
            none => none.insert(Tile::new(kernel.rows())?),
        };
        // Cells that follow one another are one range. Bodies in one point are one source.
        ranges.clear();
        points.clear();
        for number in cells {
            let cell = &self.sources.tree.cells[*number as usize];
            if cell.is_point() {
                memory::push(points, *number, "near cells")?;
                continue;
            }
            let range = cell.body_range();
            match ranges.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => memory::push(ranges, range, "near cells")?,
            }
        }
        let sources: usize = ranges.iter().map(|range| range.len()).sum::<usize>() + points.len();
        let units = self.sources.units.units;
        let Sources { positions: [x, y, z], masses, .. } = self.sources;
        let bodies = [&x[..], &y[..], &z[..], &masses[..]];
        let mut first = sinks.start;
        while first < sinks.end {
            let end = sinks.end.min(first + SINKS_AT_ONCE);
            let count = end - first;
            for k in 0..3 {
                positions[k].clear();
                memory::reserve(&mut positions[k], count, "sinks")?;
                positions[k].extend(self.positions[k][first..end].iter().map(|x| x - center[k]));
            }
            let places = &self.places[first..end];
            let group = |members: std::ops::Range<usize>| {
                let positions = std::array::from_fn(|k| &positions[k][members.clone()]);
                Group::at_rest(positions, &places[members.clone()], self.softening2, kernel.limbs())
            };
            lanes.pack_groups(count, in_groups(count, kernel.lanes()), kernel.lanes(), group)?;
            let summation = Summation::new(kernel, lanes, interaction, units, true);
            let packed = summation.units(0..lanes.units.len());
            memory::lengthen(lane_sums, packed.len(), "sums by lane", LaneSums::new)?;
            lane_sums[..packed.len()].iter_mut().for_each(|sums| sums.clear(interaction.n_outputs));
            let mut flush = |tile: &mut Tile<E>, count: usize| {
                tile.close(count, |_| true, true);
                packed.iter().zip(&mut *lane_sums).for_each(|(unit, sums)| summation.sum(unit, tile, sums));
                tile.range = IndexRange::EMPTY;
            };
            let mut filled = 0;
            tile.range = IndexRange::EMPTY;
            for range in &*ranges {
                let mut range = range.clone();
                while !range.is_empty() {
                    let count = range.len().min(SOURCES_OF_TILE - filled);
                    let some = (range.start, count);
                    self.expansions.gather(bodies, some, center, kernel.limbs(), (tile, filled));
                    if let Some(alike) = self.alike {
                        let firsts = &alike.firsts[range.start..range.start + count];
                        tile.indices_mut()[filled..filled + count].copy_from_slice(firsts);
                        tile.range = firsts.iter().fold(tile.range, |range, first| range.with(*first));
                    }
                    filled += count;
                    range.start += count;
                    if filled == SOURCES_OF_TILE {
                        flush(tile, filled);
                        filled = 0;
                    }
                }
            }
            for number in &*points {
                if filled == SOURCES_OF_TILE {
                    flush(tile, filled);
                    filled = 0;
                }
                self.gather_point(*number, center, (tile, filled));
                filled += 1;
            }
            if filled > 0 {
                flush(tile, filled);
            }
            sums.reserve(count, interaction.n_outputs, false)?;
            sums.reset(count, interaction.n_outputs, false);
            summation.add(packed, &lane_sums[..packed.len()], (sums, 0));
            self.add_values(local, positions, rows, radius)?;
            for sink in 0..count {
                let row = &mut out[first - sinks.start + sink];
                for k in 0..4 {
                    let far = rows[3 + k][sink].to_f64() * units.sum_unit(k);
                    row[k] = sums.values[sink * 4 + k] + if k == 0 { -far } else { far };
                }
                self.leave_out(first + sink, ranges, row);
            }
            first = end;
        }
        Ok((sources * sinks.len()) as u64)
    }

    /// Puts all bodies of a cell, which are in one point, into a tile as one source, which no sink
    /// leaves out: its own one is taken out of the sums.
    fn gather_point(&self, number: u32, center: [f64; 3], (tile, place): (&mut Tile<E>, usize)) {
        let Sources { positions: [x, y, z], masses, moments, tree, .. } = self.sources;
        let first = tree.cells[number as usize].first_body as usize;
        let (bodies, limbs) = ([&x[..], &y[..], &z[..], &masses[..]], self.with.kernel.limbs());
        self.expansions.gather(bodies, (first, 1), center, limbs, (tile, place));
        tile.rows_mut()[place] = moments[number as usize * self.expansions.stride()];
        tile.indices_mut()[place] = OF_POINT;
    }

    /// Makes the values of a local expansion at positions relative to its centre.
    fn add_values(
        &self,
        local: &[E; MAX_COMPONENTS],
        positions: &[Vec<f64>; 3],
        rows: &mut [Vec<E>; 7],
        radius: f64,
    ) -> Result<()> {
        let count = positions[0].len();
        let padded = count.next_multiple_of(MAX_LANES);
        let zero = E::from_f64(0.0);
        for row in rows.iter_mut() {
            row.clear();
            memory::lengthen(row, padded, "sinks", || zero)?;
        }
        if radius < f64::INFINITY {
            for (row, positions) in rows.iter_mut().zip(positions) {
                row.iter_mut().zip(positions).for_each(|(to, position)| *to = E::from_f64(*position));
            }
            let [x, y, z, values @ ..] = rows;
            let [a, b, c, d] = values;
            self.expansions.values(local, [&x[..], &y[..], &z[..]], [&mut a[..], &mut b[..], &mut c[..], &mut d[..]]);
        }
        Ok(())
    }

    /// Takes the sources that exert no force on a sink out of the sums, where they were part of
    /// expansions.
    fn leave_out(&self, sink: usize, ranges: &[std::ops::Range<usize>], row: &mut [f64; 4]) {
        let units = self.sources.units.units;
        let mut place = self.places[sink];
        while let Ok(source) = usize::try_from(place) {
            place = self.alike.map_or(-1, |alike| alike.nexts[source]);
            if ranges.iter().any(|range| range.contains(&source)) {
                continue;
            }
            let r: [f64; 3] = std::array::from_fn(|k| self.sources.positions[k][source] - self.positions[k][sink]);
            let s2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + self.softening2;
            if s2 > 0.0 {
                let inverse = 1.0 / s2.sqrt();
                let potential = self.sources.masses[source] * inverse;
                row[0] += potential * units.sum_unit(0);
                for k in 0..3 {
                    row[1 + k] -= potential * inverse * inverse * r[k] * units.sum_unit(1 + k);
                }
            }
        }
    }
}
