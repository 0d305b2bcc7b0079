//! Forces by a tree.

use std::time::Instant;

use crate::criterion::{self, CUT, Criterion};
use kyoho_core::{BufferPool, Error, Interaction, Level, Order, Pooled, Precision, Result, memory};
use kyoho_hal::threads::Threads;
use kyoho_laws::catalogue::interaction;
use kyoho_laws::lanes::MAX_LANES;
use kyoho_laws::simd::expansions::Number;
use kyoho_laws::simd::kernel::{Kernel, kernel_64, softened_64};

use super::joined::Joined;
use super::passes::{Passes, Trees};
use super::sources::{Spread, TreeUnits};

/// The number of bodies that a thread takes at a time.
const PIECE: usize = 1 << 14;
/// The index in a tile of a source that no sink leaves out. No sink has it.
pub const OF_NO_SINK: i32 = -2;

/// Points, and their masses where they are sources.
#[derive(Clone, Copy, Default)]
pub struct Points<'a> {
    /// The positions.
    pub positions: &'a [[f64; 3]],
    /// The masses.
    pub masses: &'a [f64],
    /// The indices. No two sources have the same.
    pub indices: &'a [i32],
    /// Half of the squared softening of each, where all points have their own; else empty.
    pub softenings2: &'a [f64],
}

/// How forces are computed.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The order of expansions.
    pub order: usize,
    /// The criterion of acceptance.
    pub criterion: Criterion,
    /// The squared softening of all pairs, unless each body has its own.
    pub softening2: f64,
    /// Whether a source exerts no force on the sink that has its index.
    pub skip_own_index: bool,
    /// The instruction set.
    pub level: Level,
}

impl Settings {
    /// Returns the largest sum of two radii over the distance.
    pub fn cut(&self) -> f64 {
        match self.criterion {
            Criterion::Error { .. } => CUT,
            Criterion::Angle { theta } => CUT * theta.min(1.0),
        }
    }

    /// Returns the tolerance of errors.
    pub fn tolerance(&self) -> f64 {
        match self.criterion {
            Criterion::Error { tolerance } => tolerance,
            Criterion::Angle { .. } => 0.0,
        }
    }

    /// Returns how much the accelerations of a group may vary.
    pub fn variation(&self) -> f64 {
        match self.criterion {
            Criterion::Error { tolerance } => criterion::variation(tolerance, self.order),
            Criterion::Angle { theta } => theta / 2.0,
        }
    }

    /// Returns the squared softening that the units of a tree follow from: that of all pairs, or where
    /// each body has its own the largest of a pair, but for those that are far too large for the tree.
    fn softening_of_units(&self, (sources, sinks): (Points, Points), spread: &Spread) -> f64 {
        if sources.softenings2.is_empty() {
            return self.softening2;
        }
        let most = |points: Points| points.softenings2.iter().fold(0.0_f64, |most, one| most.max(*one));
        let least = |points: Points| points.softenings2.iter().fold(f64::INFINITY, |least, one| least.min(*one));
        let largest = most(sources) + most(sinks);
        largest.min(spread.largest_softening2()).max(least(sources) + least(sinks))
    }

    /// Returns the largest spread of softenings over the squared distance.
    pub fn most_spread(&self) -> f64 {
        match self.criterion {
            Criterion::Error { tolerance } => criterion::most_spread(tolerance, self.order),
            Criterion::Angle { .. } => 0.5 * self.cut() * self.cut(),
        }
    }

    /// Whether the criterion is that by angle.
    pub fn is_by_angle(&self) -> bool {
        matches!(self.criterion, Criterion::Angle { .. })
    }
}

/// Counts of a call, and the seconds of its phases.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// The pairs of a sink and a source.
    pub near: u64,
    /// The pairs of a sink and a cell of sources whose expansion was used.
    pub far: u64,
    /// The seconds that sorting and cells, moments, the first pass and the walk took.
    pub seconds: [f64; 4],
}

impl Counts {
    /// Adds what a thread or a cell has counted in the second pass.
    pub fn add(&mut self, others: &Counts) {
        self.near += others.near;
        self.far += others.far;
    }
}

/// Returns a column for the numbers of bodies. Loops over bodies read vectors, also of the last ones.
fn column(bodies: usize, pool: &BufferPool) -> Result<Pooled<f64>> {
    let mut column = pool.unwritten(bodies + MAX_LANES, 0.0, "the bodies of a tree")?;
    column[bodies..].fill(0.0);
    Ok(column)
}

/// Returns the numbers of bodies, times a factor, in an order.
pub fn sorted(
    order: &[u32],
    (threads, pool): (&Threads, &BufferPool),
    (numbers, factor): (&[f64], f64),
) -> Result<Pooled<f64>> {
    let mut sorted = column(order.len(), pool)?;
    threads.each(order.chunks(PIECE).zip(sorted.chunks_mut(PIECE)), |(order, sorted)| {
        order.iter().zip(sorted).for_each(|(body, to)| *to = numbers[*body as usize] * factor);
    });
    Ok(sorted)
}

/// Calls `numbers` for each body of an order, and returns the columns of what it returns.
pub fn gathered(
    order: &[u32],
    (threads, pool): (&Threads, &BufferPool),
    numbers: impl Fn(usize) -> [f64; 4] + Sync,
) -> Result<[Pooled<f64>; 4]> {
    let column = || column(order.len(), pool);
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
pub fn put_back<T: Copy + Send + Sync>(order: &[u32], sorted: &[T], into: &mut [T], threads: &Threads) {
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
        let trees = Trees::new(self, sources, sinks)?;
        counts.seconds[0] = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        let spread = trees.spread(sources.masses, self.threads)?;
        let farthest_sink = trees.of_sinks.as_ref().map_or(0.0, |tree| tree.cube.farthest());
        let settings = &Settings { softening2: settings.softening_of_units((sources, sinks), &spread), ..*settings };
        if !TreeUnits::hold::<E>(&spread, settings.softening2, farthest_sink) {
            return self.sum_in_doubles((sources, sinks), settings, forces);
        }
        let units = TreeUnits::new::<E>(&spread, settings.softening2);
        let mut passes = Passes::new(self, trees, (sources, sinks), settings, (&spread, units), None)?;
        let (places, alike) = self.places(&passes, (sources, sinks), &Joined::default(), false)?;
        counts.seconds[1] = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        passes.first(self)?;
        counts.seconds[2] = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        counts.add(&passes.second(self, (&places, alike.as_ref()), forces)?);
        counts.seconds[3] = begin.elapsed().as_secs_f64();
        Ok(counts)
    }

    /// Sums forces in numbers of 64 bits, which hold all distances of bodies.
    fn sum_in_doubles(
        &self,
        (sources, sinks): (Points, Points),
        settings: &Settings,
        forces: &mut [[f64; 4]],
    ) -> Result<Counts> {
        let of_doubles = interaction(Order::Second, Precision::Double);
        let kernel = of_doubles.as_ref().and_then(|interaction| kernel_64(settings.level, interaction));
        let (Some(interaction), Some(plain)) = (&of_doubles, kernel) else {
            return Err(Error::Internal { what: "there are no forces of order 2 in doubles".into() });
        };
        let kernel = if sources.softenings2.is_empty() { plain } else { softened_64(settings.level) };
        let sums = TreeSums { kernel: &*kernel, interaction, threads: self.threads, pool: self.pool };
        sums.sum(sources, sinks, settings, forces)
    }

    /// Returns for each sink, in sorted order, the sorted place of the first source that exerts no
    /// force on it, or -1, and the sources that have the same index, if any have.
    /// `joined` are the bodies of other ranks. Indices may be known to be distinct.
    pub fn places(
        &self,
        passes: &Passes<E>,
        (sources, sinks): (Points, Points),
        joined: &Joined,
        is_distinct: bool,
    ) -> Result<(Pooled<i32>, Option<Alike>)> {
        let what = "places of sinks";
        let count = sinks.positions.len();
        if !passes.settings.skip_own_index {
            return Ok((self.pool.filled(count, -1, what)?, None));
        }
        let (tree, sink_tree) = (&passes.sources.tree, passes.sinks().0);
        // Those that are one array need not be compared.
        let are_equal = || std::ptr::eq(sources.indices, sinks.indices) || sources.indices == sinks.indices;
        let foreign = &joined.indices[..];
        let are_sources = foreign.is_empty() && passes.is_one_tree() && are_equal();
        let is_ascending = || foreign.is_empty() && sources.indices.is_sorted_by(|one, next| one < next);
        if are_sources && (is_distinct || is_ascending()) {
            let mut places = self.pool.unwritten(count, 0, what)?;
            self.threads.each(places.chunks_mut(PIECE).enumerate(), |(piece, places)| {
                places.iter_mut().zip(piece * PIECE..).for_each(|(own, place)| *own = place as i32);
            });
            return Ok((places, None));
        }
        let is_ascending = is_ascending();
        let mut table: Vec<(i32, i32)> = memory::filled(tree.order.len(), (0, 0), what)?;
        for (body, place) in tree.order.iter().zip(0..) {
            table[*body as usize] = (sources.indices[*body as usize], place);
        }
        memory::reserve(&mut table, foreign.len(), what)?;
        table.extend_from_slice(foreign);
        if !is_ascending {
            table.sort_unstable();
        }
        let is_repeated = !is_ascending && table.windows(2).any(|pair| pair[0].0 == pair[1].0);
        let alike = if is_repeated { Some(Alike::of(&table, tree.order.len() + joined.count())?) } else { None };
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
    /// Makes it from the index and the place of each source, in their order. Among the places of
    /// `bodies` are some that no sink leaves out.
    fn of(table: &[(i32, i32)], bodies: usize) -> Result<Alike> {
        let filled = |place| memory::filled(bodies, place, "sources of an index");
        let mut alike = Alike { firsts: filled(OF_NO_SINK)?, nexts: filled(-1)? };
        for of_index in table.chunk_by(|one, next| one.0 == next.0) {
            for (number, (_, place)) in of_index.iter().enumerate() {
                alike.firsts[*place as usize] = of_index[0].1;
                alike.nexts[*place as usize] = of_index.get(number + 1).map_or(-1, |(_, next)| *next);
            }
        }
        Ok(alike)
    }
}
