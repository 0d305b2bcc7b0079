//! The division of groups among thread blocks.

use crate::data::{Result, SinkGroup, memory};
use crate::hal::threads::Threads;
use crate::method::direct::gpu::step::{ListItem, ListPart};

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

/// The threads that may share a sink, and what a pair costs then, in that of one thread for a sink:
/// more threads read sources that fewer sinks use, and add their sums.
const LANES: [(usize, f64); 4] = [(1, 1.0), (2, 1.03), (4, 1.08), (8, 1.2)];

/// The division of the groups of a piece: how many items there are, and the parts whose segments
/// are added after them.
#[derive(Debug, Default)]
pub struct Plan {
    /// The number of items.
    pub items: usize,
    /// The parts.
    pub parts: Vec<ListPart>,
    /// The rows of partial sums.
    pub rows: usize,
    sinks_of_thread: usize,
    /// Whether long lists are divided into segments.
    divides: bool,
    /// Whether the largest items come first.
    sorts: bool,
    groups_of_job: usize,
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
                counts.items[size(LIST_SEGMENT as u32)] += shape.parts * (sources / LIST_SEGMENT);
                let rest = sources % LIST_SEGMENT;
                counts.items[size(rest as u32)] += if rest > 0 { shape.parts } else { 0 };
                counts.parts += shape.parts;
                counts.rows += group.sinks as usize * sources.div_ceil(LIST_SEGMENT);
            } else {
                counts.items[size(group.sources)] += shape.parts;
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

/// The jobs into which groups are divided, and the fewest groups of a job.
const JOBS: usize = 64;
/// See [`JOBS`].
const GROUPS_OF_JOB: usize = 1 << 10;
/// The number of sizes of items: the sources of one, to a power of two.
const SIZES: usize = 32;

/// Returns the size of an item with this many sources.
fn size(sources: u32) -> usize {
    sources.max(1).ilog2() as usize
}

/// The threads that share a sink of a group of this many, how many sinks of it a thread block has
/// at most, and how many thread blocks have it.
#[derive(Debug, Clone, Copy)]
struct Shape {
    sinks: usize,
    lanes: usize,
    parts: usize,
}

impl Shape {
    /// Returns the shape of a group, which follows from the group alone, since sums depend on it.
    fn of(sinks: usize, sinks_of_thread: usize) -> Shape {
        let block = |lanes: usize| LIST_THREADS / lanes * sinks_of_thread;
        let cost = |lanes: usize, factor: f64| sinks.div_ceil(block(lanes)) as f64 / lanes as f64 * factor;
        let mut best = (f64::INFINITY, 1);
        for (lanes, factor) in LANES {
            let cost = cost(lanes, factor);
            if cost < best.0 {
                best = (cost, lanes);
            }
        }
        Shape { sinks, lanes: best.1, parts: sinks.div_ceil(block(best.1)) }
    }

    /// Returns the shape of another group.
    #[inline]
    fn again(self, sinks: usize, sinks_of_thread: usize) -> Shape {
        if self.sinks == sinks { self } else { Shape::of(sinks, sinks_of_thread) }
    }
}

/// Some groups, from a number on, and the places for what there is of them. Items have places by
/// their sizes, or all those of size 0 where they are not sorted.
struct Job<'a> {
    groups: &'a [SinkGroup],
    first: usize,
    items: [&'a mut [ListItem]; SIZES],
    parts: &'a mut [ListPart],
    /// The first of their rows.
    row: usize,
}

/// Takes the first of some places away.
fn first<'a, T>(rest: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    rest.split_off_mut(..count).unwrap_or_default()
}

impl Plan {
    /// Divides groups for a device that holds this many thread blocks at a time.
    pub fn new(groups: &[SinkGroup], (sinks_of_thread, resident): (usize, usize), threads: &Threads) -> Result<Plan> {
        let groups_of_job = groups.len().div_ceil(JOBS).max(GROUPS_OF_JOB);
        let mut plan = Plan { sinks_of_thread, groups_of_job, ..Plan::default() };
        let mut all = plan.count(groups, threads)?;
        // Long lists are divided where there are few thread blocks, or one would be long at work
        // when the others have ended. That changes no sum.
        plan.divides = all.all() < 6 * resident;
        if plan.divides {
            all = plan.count(groups, threads)?;
        }
        plan.items = all.all();
        // The largest items come first, by the sizes of their lists to a power of two, if a device
        // could end with one of them alone at work.
        let most = all.items.iter().rposition(|count| *count > 0).unwrap_or(0);
        plan.sorts = (2u64 << most) * resident as u64 * 4 >= all.sources && all.items[most] < plan.items;
        plan.rows = all.rows;
        plan.parts = memory::filled(all.parts, ListPart::default(), "parts of lists")?;
        Ok(plan)
    }

    /// Counts what there is of the groups of each job, and returns the sum.
    fn count(&mut self, groups: &[SinkGroup], threads: &Threads) -> Result<Counts> {
        let jobs = groups.chunks(self.groups_of_job);
        self.counts = memory::filled(jobs.len(), Counts::default(), "pieces of lists")?;
        let (sinks_of_thread, divides) = (self.sinks_of_thread, self.divides);
        threads.each(jobs.zip(&mut self.counts), |(some, counts)| *counts = Counts::of(some, sinks_of_thread, divides));
        Ok(self.counts.iter().fold(Counts::default(), |all, some| all.and(some)))
    }

    /// Writes the items, for which there is room, and the parts. Where they are many, several
    /// threads write them.
    pub fn fill(&mut self, groups: &[SinkGroup], mut items: &mut [ListItem], threads: &Threads) -> Result<()> {
        let mut rest = std::mem::take(&mut self.parts);
        let mut jobs = memory::room(self.counts.len(), "pieces of lists")?;
        let firsts = (0..groups.len()).step_by(self.groups_of_job);
        let (mut parts, mut row) = (&mut rest[..], 0);
        for ((groups, number), counts) in groups.chunks(self.groups_of_job).zip(firsts).zip(&self.counts) {
            let parts = first(&mut parts, counts.parts);
            jobs.push(Job { groups, first: number, items: Default::default(), parts, row });
            row += counts.rows;
        }
        if self.sorts {
            for size in (0..SIZES).rev() {
                for (job, counts) in jobs.iter_mut().zip(&self.counts) {
                    job.items[size] = first(&mut items, counts.items[size]);
                }
            }
        } else {
            for (job, counts) in jobs.iter_mut().zip(&self.counts) {
                job.items[0] = first(&mut items, counts.all());
            }
        }
        threads.each(jobs.into_iter(), |job| self.write(job));
        self.parts = rest;
        Ok(())
    }

    /// Writes the items and parts of some groups.
    fn write(&self, job: Job) {
        let Job { groups, first, mut items, mut parts, mut row } = job;
        let mut shape = Shape::of(0, self.sinks_of_thread);
        let mut put = |item: ListItem| {
            let size = if self.sorts { size(item.sources as u32) } else { 0 };
            if let Some(place) = items[size].split_off_first_mut() {
                *place = item;
            }
        };
        for (number, group) in (first..).zip(groups).filter(|(_, group)| group.sinks > 0) {
            let sinks = group.sinks as usize;
            shape = shape.again(sinks, self.sinks_of_thread);
            let whole = ListItem {
                first_source: group.first_source as i64,
                sources: group.sources as i32,
                first_sink: group.first_sink as i32,
                sinks: sinks as i32,
                lane_bits: shape.lanes.trailing_zeros() as i32,
                partial: -1,
                group: number as i32,
            };
            let is_divided = self.divides && group.sources as usize > LIST_SEGMENT;
            if shape.parts == 1 && !is_divided {
                put(whole);
                continue;
            }
            let mut done = 0;
            for part in 1..=shape.parts {
                let end = sinks * part / shape.parts;
                let (first_sink, sinks) = (whole.first_sink + done as i32, (end - done) as i32);
                let item = ListItem { first_sink, sinks, ..whole };
                if !is_divided {
                    put(item);
                } else {
                    let segments = (item.sources as usize).div_ceil(LIST_SEGMENT);
                    let partial = row as i32;
                    if let Some(place) = parts.split_off_first_mut() {
                        *place = ListPart { first_sink, sinks, partial, segments: segments as i32 };
                    }
                    for segment in 0..segments {
                        let first = segment * LIST_SEGMENT;
                        put(ListItem {
                            first_source: item.first_source + first as i64,
                            sources: (item.sources as usize - first).min(LIST_SEGMENT) as i32,
                            partial: partial + segment as i32 * sinks,
                            ..item
                        });
                    }
                    row += segments * sinks as usize;
                }
                done = end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of these many sinks and sources, one after another.
    fn groups(sizes: &[(u32, u32)]) -> Vec<SinkGroup> {
        let (mut first_sink, mut first_source) = (0, 0);
        let group = |(sinks, sources): &(u32, u32)| {
            let group = SinkGroup { first_source, sources: *sources, sinks: *sinks, first_sink, reserved: 0 };
            (first_sink, first_source) = (first_sink + sinks, first_source + u64::from(*sources));
            group
        };
        sizes.iter().map(group).collect()
    }

    #[test]
    fn items_have_each_sink_with_each_source_of_its_group_once() {
        let threads = Threads::new(2);
        let few = [(300, 5000), (1, 2500), (7, 0), (0, 90), (64, 1024), (64, 1025)];
        let many: Vec<(u32, u32)> = (0..20000).map(|k| (k % 70, k * 37 % 5000)).collect();
        for sizes in [&few[..], &many, &[], &[(0, 5)]] {
            for sinks_of_thread in [1, 2, 4] {
                let groups = groups(sizes);
                let mut plan = Plan::new(&groups, (sinks_of_thread, 132 * 16), &threads).unwrap();
                let mut items = vec![ListItem::default(); plan.items];
                plan.fill(&groups, &mut items, &threads).unwrap();
                let mut pairs = vec![0u64; groups.len()];
                for item in &items {
                    let group = &groups[item.group as usize];
                    let sinks = item.first_sink as usize..(item.first_sink + item.sinks) as usize;
                    assert!(!sinks.is_empty() && group.sink_range().start <= sinks.start);
                    assert!(sinks.end <= group.sink_range().end, "{item:?} of {group:?}");
                    let sources = item.first_source as usize..item.first_source as usize + item.sources as usize;
                    assert!(group.source_range().start <= sources.start && sources.end <= group.source_range().end);
                    pairs[item.group as usize] += sinks.len() as u64 * sources.len() as u64;
                }
                assert!(groups.iter().map(SinkGroup::pairs).eq(pairs));
                let rows: usize = plan.parts.iter().map(|part| (part.sinks * part.segments) as usize).sum();
                assert_eq!(plan.rows, rows);
                assert_eq!(
                    items.iter().filter(|item| item.partial >= 0).map(|item| item.sinks as usize).sum::<usize>(),
                    rows
                );
            }
        }
    }

    #[test]
    fn the_largest_items_come_first_where_one_could_be_left_alone_at_work() {
        let threads = Threads::alone();
        let groups = groups(&[(4, 20), (4, 1000), (4, 30), (4, 600)]);
        let mut plan = Plan::new(&groups, (1, 132 * 16), &threads).unwrap();
        let mut items = vec![ListItem::default(); plan.items];
        plan.fill(&groups, &mut items, &threads).unwrap();
        assert_eq!(items.iter().map(|item| item.sources).collect::<Vec<_>>(), [1000, 600, 20, 30]);
    }
}
