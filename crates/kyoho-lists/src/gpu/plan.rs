//! The division of groups among thread blocks.

use kyoho_core::{Error, Result, SinkGroup, memory};
use kyoho_hal::threads::Threads;

use kyoho_methods::gpu::tuning::LIST_THREADS;

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
/// The place of the number of parts among the counts of groups, which are those of items by their
/// sizes, of parts and of rows.
pub const LIST_PART: usize = SIZES;
/// The place of the number of rows.
pub const LIST_ROW: usize = SIZES + 1;
/// The number of these counts.
pub const LIST_COUNTS: usize = SIZES + 2;
/// The threads of a thread block that divides groups.
pub const GROUP_THREADS: usize = 256;

/// The groups that a thread counts at a time.
const GROUPS_OF_JOB: usize = 1 << 12;

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
    counts: Counts,
}

/// What there is of some groups: items by their sizes, parts, rows of partial sums, and sources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// The items of each size.
    pub items: [usize; SIZES],
    /// The parts.
    pub parts: usize,
    /// The rows of partial sums.
    pub rows: usize,
    /// The sources of all lists.
    pub sources: u64,
}

impl Counts {
    /// Counts what there is of groups, whose lists are divided into segments or not.
    pub fn of_all(groups: &[SinkGroup], sinks_of_thread: usize, divides: bool, threads: &Threads) -> Result<Counts> {
        let jobs = groups.len().div_ceil(GROUPS_OF_JOB);
        let mut of_jobs = memory::filled(jobs, Counts::default(), "pieces of lists")?;
        threads.each(groups.chunks(GROUPS_OF_JOB).zip(&mut of_jobs), |(groups, counts)| {
            *counts = Counts::of(groups, sinks_of_thread, divides);
        });
        Ok(of_jobs.iter().fold(Counts::default(), |all, some| all.and(some)))
    }

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
    /// Divides groups for a device that holds this many thread blocks at a time. `count` counts what
    /// there is of them, where long lists are divided into segments or not.
    pub fn new(resident: usize, count: impl Fn(bool) -> Result<Counts>) -> Result<Plan> {
        let mut counts = count(false)?;
        // Long lists are divided where there are few thread blocks, or one would be long at work
        // when the others have ended. That changes no sum.
        let divides = counts.all() < 6 * resident;
        if divides {
            counts = count(true)?;
        }
        // The largest items come first, by the sizes of their lists to a power of two, if a device
        // could end with one of them alone at work.
        let most = counts.items.iter().rposition(|count| *count > 0).unwrap_or(0);
        let sorts = (2u64 << most) * resident as u64 * 4 >= counts.sources && counts.items[most] < counts.all();
        let (items, parts, rows) = (counts.all(), counts.parts, counts.rows);
        // Kernels count by 32 bits.
        for (what, count) in [("thread blocks", items), ("partial sums", rows)] {
            if count > i32::MAX as usize {
                let what = format!("the number of {what} of interaction lists");
                return Err(Error::BadList { what, value: count as i64, allowed: format!("0 to {}", i32::MAX) });
            }
        }
        Ok(Plan { items, parts, rows, divides, sorts, counts })
    }

    /// Returns where the first item of each size is, the first part and the first row; where items
    /// are not sorted, all of them follow the first place.
    pub fn firsts(&self) -> [i32; LIST_COUNTS] {
        let (mut firsts, mut next) = ([0; LIST_COUNTS], 0);
        if self.sorts {
            for (first, count) in firsts.iter_mut().zip(self.counts.items).rev() {
                (*first, next) = (next as i32, next + count);
            }
        }
        firsts
    }
}
