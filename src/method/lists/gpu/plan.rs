//! The division of groups among thread blocks.

use crate::data::{Result, SinkGroup, memory};
use crate::hal::threads::Threads;

/// The threads of a thread block.
pub const LIST_THREADS: usize = 32;
/// The strands of a tile. The sources of a strand are summed one after another by one thread.
pub const LIST_STRANDS: usize = 8;
/// The number of sources whose tiles are added to one another before those of other segments.
pub const LIST_SEGMENT: usize = 1024;
/// The forms of the sources of lists, for kernels: ranges, addresses, sources of the call.
pub const LISTED_RANGES: i32 = 0;
/// See [`LISTED_RANGES`].
pub const LISTED_ADDRESSES: i32 = 1;
/// See [`LISTED_RANGES`].
pub const LISTED_OWN: i32 = 2;

/// What a pair costs where 1, 2, 4, ... threads share a sink, in that of one thread for a sink: more
/// threads read sources that fewer sinks use, and add their sums.
pub const LIST_COSTS: [f64; 4] = [1.0, 1.03, 1.08, 1.2];
/// The number of sizes of items: the sources of one, to a power of two.
const SIZES: usize = 32;
/// The numbers by which kernels know where a job begins: the first item of each size, or all of
/// size 0 where they are not sorted; the first part; the first row.
pub const LIST_JOB: usize = SIZES + 2;
/// The place of the first part among these.
pub const LIST_PART: usize = SIZES;
/// The place of the first row.
pub const LIST_ROW: usize = SIZES + 1;

/// The most jobs into which groups are divided, and the fewest groups of a job.
const JOBS: usize = 1 << 10;
/// See [`JOBS`].
const GROUPS_OF_JOB: usize = 1 << 8;
/// The jobs that a thread counts at a time.
const JOBS_OF_THREAD: usize = 16;

/// The division of the groups of a piece, which a kernel makes: how many items there are, and how
/// many parts, whose segments are added after them.
#[derive(Debug, Default)]
pub struct Plan {
    /// The number of items.
    pub items: usize,
    /// The number of parts.
    pub parts: usize,
    /// The rows of partial sums.
    pub rows: usize,
    /// Whether long lists are divided into segments.
    pub divides: bool,
    /// Whether the largest items come first.
    pub sorts: bool,
    /// The number of groups of a job.
    pub groups_of_job: usize,
    /// The counts of each job.
    counts: Vec<Counts>,
}

/// What there is of some groups: items by their sizes, parts, rows of partial sums, and sources.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    items: [usize; SIZES],
    parts: usize,
    rows: usize,
    sources: u64,
}

impl Counts {
    /// Counts the items of some groups, whose lists are divided into segments or not.
    fn of(groups: &[SinkGroup], sinks_of_thread: usize, divides: bool) -> Counts {
        let mut counts = Counts::default();
        let mut shape = Shape::of(0, sinks_of_thread);
        for group in groups {
            shape = shape.again(group.sinks as usize, sinks_of_thread);
            let sources = group.sources as usize;
            counts.sources += u64::from(group.sources);
            if divides && sources > LIST_SEGMENT {
                counts.items[size(LIST_SEGMENT as u32)] += shape.blocks * (sources / LIST_SEGMENT);
                let rest = sources % LIST_SEGMENT;
                counts.items[size(rest as u32)] += if rest > 0 { shape.blocks } else { 0 };
                counts.parts += shape.blocks;
                counts.rows += group.sinks as usize * sources.div_ceil(LIST_SEGMENT);
            } else {
                counts.items[size(group.sources)] += shape.blocks;
            }
        }
        counts
    }

    fn all(&self) -> usize {
        self.items.iter().sum()
    }

    fn and(self, other: &Counts) -> Counts {
        Counts {
            items: std::array::from_fn(|size| self.items[size] + other.items[size]),
            parts: self.parts + other.parts,
            rows: self.rows + other.rows,
            sources: self.sources + other.sources,
        }
    }
}

/// Returns the size of an item with this many sources.
fn size(sources: u32) -> usize {
    sources.max(1).ilog2() as usize
}

/// How many thread blocks have a group of this many sinks.
#[derive(Debug, Clone, Copy)]
struct Shape {
    sinks: usize,
    blocks: usize,
}

impl Shape {
    /// Returns the shape of a group, which follows from the group alone, since sums depend on it.
    fn of(sinks: usize, sinks_of_thread: usize) -> Shape {
        let blocks = |lanes: usize| sinks.div_ceil(LIST_THREADS / lanes * sinks_of_thread);
        let mut best = (f64::INFINITY, 0);
        for (lanes, factor) in LIST_COSTS.iter().enumerate().map(|(bits, factor)| (1 << bits, factor)) {
            let cost = blocks(lanes) as f64 / lanes as f64 * factor;
            if cost < best.0 {
                best = (cost, blocks(lanes));
            }
        }
        Shape { sinks, blocks: best.1 }
    }

    /// Returns the shape of another group.
    #[inline]
    fn again(self, sinks: usize, sinks_of_thread: usize) -> Shape {
        if self.sinks == sinks { self } else { Shape::of(sinks, sinks_of_thread) }
    }
}

impl Plan {
    /// Divides groups for a device that holds this many thread blocks at a time.
    pub fn new(groups: &[SinkGroup], (sinks_of_thread, resident): (usize, usize), threads: &Threads) -> Result<Plan> {
        let groups_of_job = groups.len().div_ceil(JOBS).max(GROUPS_OF_JOB);
        let mut plan = Plan { groups_of_job, ..Plan::default() };
        let mut all = plan.count(groups, sinks_of_thread, threads)?;
        // Long lists are divided where there are few thread blocks, or one would be long at work
        // when the others have ended. That changes no sum.
        plan.divides = all.all() < 6 * resident;
        if plan.divides {
            all = plan.count(groups, sinks_of_thread, threads)?;
        }
        // The largest items come first, by the sizes of their lists to a power of two, if a device
        // could end with one of them alone at work.
        let most = all.items.iter().rposition(|count| *count > 0).unwrap_or(0);
        plan.sorts = (2u64 << most) * resident as u64 * 4 >= all.sources && all.items[most] < all.all();
        (plan.items, plan.parts, plan.rows) = (all.all(), all.parts, all.rows);
        Ok(plan)
    }

    /// Counts what there is of the groups of each job, and returns the sum.
    fn count(&mut self, groups: &[SinkGroup], sinks_of_thread: usize, threads: &Threads) -> Result<Counts> {
        let jobs = groups.len().div_ceil(self.groups_of_job);
        self.counts = memory::filled(jobs, Counts::default(), "pieces of lists")?;
        let (divides, of_job) = (self.divides, self.groups_of_job);
        let of_thread = groups.chunks(of_job * JOBS_OF_THREAD).zip(self.counts.chunks_mut(JOBS_OF_THREAD));
        threads.each(of_thread, |(groups, counts)| {
            for (some, counts) in groups.chunks(of_job).zip(counts) {
                *counts = Counts::of(some, sinks_of_thread, divides);
            }
        });
        Ok(self.counts.iter().fold(Counts::default(), |all, some| all.and(some)))
    }

    /// Returns the number of jobs.
    pub fn jobs(&self) -> usize {
        self.counts.len()
    }

    /// Writes where each job begins, `LIST_JOB` numbers for each.
    pub fn write_firsts(&self, firsts: &mut [i32]) {
        let jobs = || self.counts.iter().zip(0..);
        let mut put = |job: usize, place: usize, next: &mut usize, count: usize| {
            firsts[LIST_JOB * job + place] = *next as i32;
            *next += count;
        };
        let (mut item, mut part, mut row) = (0, 0, 0);
        for size in (0..SIZES).rev() {
            for (counts, job) in jobs() {
                let count = match (self.sorts, size) {
                    (true, _) => counts.items[size],
                    (false, 0) => counts.all(),
                    _ => 0,
                };
                put(job, size, &mut item, count);
            }
        }
        for (counts, job) in jobs() {
            put(job, LIST_PART, &mut part, counts.parts);
            put(job, LIST_ROW, &mut row, counts.rows);
        }
    }
}
