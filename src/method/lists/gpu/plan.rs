//! The division of groups among thread blocks.

use crate::data::{Result, SinkGroup, memory};
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

/// The items of a piece, and the parts whose segments are added after them.
#[derive(Debug, Default)]
pub struct Plan {
    /// The items, the largest first where that matters.
    pub items: Vec<ListItem>,
    /// The parts.
    pub parts: Vec<ListPart>,
    /// The rows of partial sums.
    pub rows: usize,
    sorted: Vec<ListItem>,
}

/// The threads that share a sink of a group of this many, and how many sinks of it a thread block
/// has at most.
#[derive(Debug, Clone, Copy)]
struct Shape {
    sinks: usize,
    lanes: usize,
    most: usize,
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
        Shape { sinks, lanes: best.1, most: block(best.1) }
    }

    /// Returns the shape of another group.
    fn again(self, sinks: usize, sinks_of_thread: usize) -> Shape {
        if self.sinks == sinks { self } else { Shape::of(sinks, sinks_of_thread) }
    }
}

impl Plan {
    /// Divides groups for a device that holds this many thread blocks at a time.
    pub fn divide(&mut self, groups: &[SinkGroup], (sinks_of_thread, resident): (usize, usize)) -> Result<()> {
        self.items.clear();
        self.parts.clear();
        self.rows = 0;
        let mut shape = Shape::of(0, sinks_of_thread);
        let mut blocks = 0;
        for group in groups {
            shape = shape.again(group.sinks as usize, sinks_of_thread);
            blocks += (group.sinks as usize).div_ceil(shape.most);
        }
        // Long lists are divided where there are few thread blocks, or one would be long at work
        // when the others have ended. That changes no sum.
        let divides = blocks < 6 * resident;
        memory::reserve(&mut self.items, blocks, "items of lists")?;
        for (number, group) in groups.iter().enumerate().filter(|(_, group)| group.sinks > 0) {
            let sinks = group.sinks as usize;
            shape = shape.again(sinks, sinks_of_thread);
            let parts = sinks.div_ceil(shape.most);
            let segments = (group.sources as usize).div_ceil(LIST_SEGMENT);
            let mut done = 0;
            for part in 1..=parts {
                let end = sinks * part / parts;
                let item = ListItem {
                    first_source: group.first_source as i64,
                    sources: group.sources as i32,
                    first_sink: (group.first_sink as usize + done) as i32,
                    sinks: (end - done) as i32,
                    lane_bits: shape.lanes.ilog2() as i32,
                    partial: -1,
                    group: number as i32,
                };
                if divides && segments > 1 {
                    self.divide_item(item, segments)?;
                } else {
                    memory::push(&mut self.items, item, "items of lists")?;
                }
                done = end;
            }
        }
        self.largest_first(resident)
    }

    /// Divides the sources of an item into segments.
    fn divide_item(&mut self, item: ListItem, segments: usize) -> Result<()> {
        let partial = self.rows as i32;
        let part = ListPart { first_sink: item.first_sink, sinks: item.sinks, partial, segments: segments as i32 };
        memory::push(&mut self.parts, part, "parts of lists")?;
        memory::reserve(&mut self.items, segments, "items of lists")?;
        for segment in 0..segments {
            let first = segment * LIST_SEGMENT;
            self.items.push(ListItem {
                first_source: item.first_source + first as i64,
                sources: (item.sources as usize - first).min(LIST_SEGMENT) as i32,
                partial: partial + segment as i32 * item.sinks,
                ..item
            });
        }
        self.rows += segments * item.sinks as usize;
        Ok(())
    }

    /// Brings the largest items to the front, by the sizes of their lists to a power of two, if a
    /// device with this many thread blocks at a time could end with one of them alone at work.
    fn largest_first(&mut self, resident: usize) -> Result<()> {
        let size = |item: &ListItem| item.sources.max(1).ilog2() as usize;
        let mut counts = [0; 32];
        let mut all = 0u64;
        for item in &self.items {
            counts[size(item)] += 1;
            all += item.sources as u64;
        }
        let most = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
        if (2u64 << most) * resident as u64 * 4 < all || counts[most] == self.items.len() {
            return Ok(());
        }
        let mut ends = [0; 32];
        let mut end = 0;
        for size in (0..32).rev() {
            ends[size] = end;
            end += counts[size];
        }
        self.sorted.clear();
        memory::reserve(&mut self.sorted, self.items.len(), "items of lists")?;
        self.sorted.resize(self.items.len(), ListItem::default());
        for item in &self.items {
            let place = &mut ends[size(item)];
            self.sorted[*place] = *item;
            *place += 1;
        }
        std::mem::swap(&mut self.items, &mut self.sorted);
        Ok(())
    }
}
