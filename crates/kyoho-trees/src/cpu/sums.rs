//! Forces by a tree.

use std::time::Instant;

use crate::criterion::{self, CUT, Criterion, FIRST_CUT};
use kyoho_core::Level;
use kyoho_core::{BufferPool, Interaction, Pooled, Result, memory};
use kyoho_hal::threads::Threads;
use kyoho_laws::lanes::MAX_LANES;
use kyoho_laws::simd::expansions::{Number, Tests};
use kyoho_laws::simd::kernel::Kernel;

use super::first_pass::Coarse;
use super::octree::Octree;
use super::second_pass::Walk;
use super::sinks;
use super::sources::Sources;
use super::walk;

/// The number of bodies that a thread takes at a time.
const PIECE: usize = 1 << 14;
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

impl Settings {
    /// Returns the cut of distances, the tolerance of errors, and how much accelerations of a group
    /// may vary.
    fn limits(&self) -> (f64, f64, f64) {
        match self.criterion {
            Criterion::Error { tolerance } => (CUT, tolerance, criterion::variation(tolerance, self.order)),
            Criterion::Angle { theta } => (CUT * theta.min(1.0), 0.0, theta / 2.0),
        }
    }
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

impl Counts {
    /// Adds what a thread or a cell has counted in the second pass.
    pub fn add(&mut self, others: &Counts) {
        self.near += others.near;
        self.far += others.far;
        self.far_of_sinks += others.far_of_sinks;
        self.tests += others.tests;
        self.groups += others.groups;
    }
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
        let own_positions =
            own_tree.as_ref().map(|tree| self.own_positions(tree, sinks.positions, units.length)).transpose()?;
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
        let (cut, tolerance, variation) = settings.limits();
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
            counts.add(&scratch.counts);
        }
        put_back(&sink_tree.order, &sorted, forces, threads);
        counts.seconds[3] = begin.elapsed().as_secs_f64();
        Ok(counts)
    }

    /// Returns the coordinates of sinks in the order of their own tree, in units of this length.
    fn own_positions(&self, tree: &Octree, positions: &[[f64; 3]], length: f64) -> Result<[Pooled<f64>; 3]> {
        let scaled = |body: usize| {
            let [x, y, z] = positions[body].map(|coordinate| coordinate * length);
            [x, y, z, 0.0]
        };
        let [x, y, z, _] = gathered(&tree.order, (self.threads, self.pool), scaled)?;
        Ok([x, y, z])
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
pub struct Alike {
    /// The first source with the index of each.
    pub firsts: Vec<i32>,
    /// The next source with the index of each, or -1.
    pub nexts: Vec<i32>,
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
