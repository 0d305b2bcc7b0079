//! Bodies in the order of their keys, and the cells of their tree.

use std::hint::select_unpredictable;
use std::ops::Range;

use crate::LEAF;
use crate::cells::Cell;
use crate::cube::{Cube, Key};
use kyoho_core::{BufferPool, Pooled, Result, memory};
use kyoho_hal::threads::Threads;

/// The number of bodies that a thread takes at a time.
const PIECE: usize = 1 << 14;
/// The number of cells that a thread takes at a time.
const CELLS_OF_TASK: usize = 256;
/// The most buckets that bodies are dealt to before they are sorted, and the least number of bodies
/// for which there are more.
const MOST_BUCKETS: usize = 1 << 9;
const OF_BUCKET: usize = 1 << 11;
/// The keys that are looked at for each bucket, so that most get no more than twice the bodies of
/// others.
const SAMPLES_OF_BUCKET: usize = 8;
/// The keys whose buckets are looked for at a time, so that one need not wait for the other.
const AT_ONCE: usize = 8;

/// Behind the last cell of a walk.
pub const NO_CELL: u32 = u32::MAX;

/// A body with its high word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Place {
    high: u64,
    body: u32,
}

/// Bodies in the order of their keys, and the cells of their tree.
#[derive(Debug)]
pub struct Octree {
    /// The cube of the tree.
    pub cube: Cube,
    /// The number of each body, in sorted order.
    pub order: Pooled<u32>,
    /// The cells.
    pub cells: Pooled<Cell>,
    /// The cells of each generation.
    pub generations: Vec<Range<usize>>,
}

impl Octree {
    /// Returns a value of each cell, which follows from those of its children, by several threads.
    pub fn upward<T: Copy + Default + Send + Sync>(
        &self,
        threads: &Threads,
        what: &'static str,
        value: impl Fn(usize, &[T]) -> T + Sync,
    ) -> Result<Vec<T>> {
        let mut all = memory::filled(self.cells.len(), T::default(), what)?;
        for generation in self.generations.iter().rev() {
            // Children stand behind their parents' generation.
            let (above, below) = all.split_at_mut(generation.end);
            let tasks =
                above[generation.start..].chunks_mut(CELLS_OF_TASK).zip(generation.clone().step_by(CELLS_OF_TASK));
            threads.each(tasks, |(values, first)| {
                for (of_cell, number) in values.iter_mut().zip(first..) {
                    let Range { start, end } = self.cells[number].child_range();
                    let children = if start < end { start - generation.end..end - generation.end } else { 0..0 };
                    *of_cell = value(number, &below[children]);
                }
            });
        }
        Ok(all)
    }

    /// Makes the tree of some positions. A leaf of more than [`LEAF`] bodies has them in one point.
    pub fn new(positions: &[[f64; 3]], threads: &Threads, pool: &BufferPool) -> Result<Octree> {
        let (mut tree, is_deep) = Octree::by_keys(positions, threads, pool)?;
        if is_deep {
            tree.divide_last_leaves(positions, threads)?;
        }
        Ok(tree)
    }

    /// Makes the tree that keys in the cube of all bodies tell apart, and says whether they needed
    /// their low words.
    fn by_keys(positions: &[[f64; 3]], threads: &Threads, pool: &BufferPool) -> Result<(Octree, bool)> {
        let cube = cube(positions, threads)?;
        let mut places = sorted(positions, &cube, threads, pool)?;
        let lows = low_words(positions, &cube, &mut places, threads)?;
        let key = |place: usize| Key { high: places[place].high, low: lows.get(place).copied().unwrap_or(0) };
        let (cells, generations) = cells(places.len(), key, (threads, pool))?;
        let mut order = pool.unwritten(places.len(), 0, "the order of bodies")?;
        threads.each(places.chunks(PIECE).zip(order.chunks_mut(PIECE)), |(places, order)| {
            places.iter().zip(order).for_each(|(place, body)| *body = place.body);
        });
        Ok((Octree { cube, order, cells, generations }, !lows.is_empty()))
    }

    /// Divides leaves whose bodies agree in all levels but are at several places, by keys in the
    /// cubes around these, until there are none. The new cells are further generations.
    fn divide_last_leaves(&mut self, positions: &[[f64; 3]], threads: &Threads) -> Result<()> {
        const WHAT: &str = "cells";
        let mut looked_at = 0..self.cells.len();
        while !looked_at.is_empty() {
            let mut parts: Vec<(usize, Octree)> = Vec::new();
            for number in looked_at.clone() {
                let cell = self.cells[number];
                let place_of = |body: &u32| positions[*body as usize];
                let bodies = &mut self.order[cell.body_range()];
                if cell.is_divided_by_places(|body| place_of(&bodies[body])) {
                    let places = memory::collected(bodies.iter().map(place_of), WHAT)?;
                    let (part, _) = Octree::by_keys(&places, threads, &BufferPool::default())?;
                    let sorted = memory::collected(part.order.iter().map(|body| bodies[*body as usize]), WHAT)?;
                    bodies.copy_from_slice(&sorted);
                    // One cell has bodies whose differences are too small for any cube.
                    if part.cells.len() > 1 {
                        memory::push(&mut parts, (number, part), WHAT)?;
                    }
                }
            }
            looked_at.start = self.cells.len();
            self.join(&parts)?;
            looked_at.end = self.cells.len();
        }
        Ok(())
    }

    /// Puts trees in the place of the leaves of these numbers, of whose bodies they are.
    fn join(&mut self, parts: &[(usize, Octree)]) -> Result<()> {
        const WHAT: &str = "cells";
        let generations = parts.iter().map(|(_, part)| part.generations.len()).max().unwrap_or(0);
        for generation in 0..generations {
            let start = self.cells.len();
            let mut end = start;
            if generation > 0 {
                let of_part = |part: &Octree| part.generations.get(generation).map_or(0, |cells| cells.len());
                end += parts.iter().map(|(_, part)| of_part(part)).sum::<usize>();
                memory::lengthen(&mut self.cells, end, WHAT, Cell::default)?;
                memory::push(&mut self.generations, start..end, WHAT)?;
            }
            // Where the children of this generation begin.
            let mut next = end;
            let mut first = start;
            for (leaf, part) in parts {
                let Some(cells) = part.generations.get(generation) else { continue };
                let first_body = self.cells[*leaf].first_body;
                let deeper = (self.cube.exponent - part.cube.exponent).max(0) as u16;
                let children = part.generations.get(generation + 1).cloned().unwrap_or_default();
                for number in cells.clone() {
                    let mut cell = part.cells[number];
                    cell.depth += deeper;
                    if !cell.is_leaf() {
                        cell.first_child = (cell.first_child as usize - children.start + next) as u32;
                    }
                    if generation == 0 {
                        self.cells[*leaf] = Cell { first_body, ..cell };
                    } else {
                        cell.first_body += first_body;
                        self.cells[first] = cell;
                        first += 1;
                    }
                }
                next += children.len();
            }
        }
        Ok(())
    }

    /// Returns the cell that follows all that is below each cell, by which a walk needs no stack.
    pub fn nexts(&self) -> Result<Vec<u32>> {
        let mut nexts = memory::filled(self.cells.len(), NO_CELL, "cells")?;
        // Children stand behind their parents.
        for (number, cell) in self.cells.iter().enumerate() {
            let children = cell.child_range();
            for child in children.clone() {
                nexts[child] = if child + 1 < children.end { child as u32 + 1 } else { nexts[number] };
            }
        }
        Ok(nexts)
    }
}

/// The lowest and the highest coordinates of some bodies.
type Bounds = ([f64; 3], [f64; 3]);

/// Returns the cube of some positions.
fn cube(positions: &[[f64; 3]], threads: &Threads) -> Result<Cube> {
    let pieces = positions.len().div_ceil(PIECE);
    let mut cubes = memory::filled(pieces, ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]), "the box of bodies")?;
    let work = |(positions, (low, high)): (&[[f64; 3]], &mut Bounds)| {
        for position in positions {
            for k in 0..3 {
                low[k] = if position[k] < low[k] { position[k] } else { low[k] };
                high[k] = if position[k] > high[k] { position[k] } else { high[k] };
            }
        }
    };
    threads.each(positions.chunks(PIECE).zip(&mut cubes), work);
    Ok(Cube::around(cubes.into_iter().flat_map(|(low, high)| [low, high])))
}

/// Returns the bodies in the order of their high words; those that have the same are in their own
/// order.
fn sorted(positions: &[[f64; 3]], cube: &Cube, threads: &Threads, pool: &BufferPool) -> Result<Pooled<Place>> {
    let count = positions.len();
    let high_of = |body: usize| cube.key(positions[body]).high;
    let mut places = pool.unwritten(count, Place::default(), "the keys of bodies")?;
    if count <= PIECE {
        places.iter_mut().zip(0..).for_each(|(place, body)| *place = Place { high: high_of(body as usize), body });
        places.sort_unstable();
        return Ok(places);
    }
    let splitters = splitters(count, high_of)?;
    let buckets = splitters.len() + 1;
    let mut bucket_of = pool.unwritten(count, 0_u16, "the buckets of a sort")?;
    let mut counts = pool.filled(count.div_ceil(PIECE) * buckets, 0_u32, "the buckets of a sort")?;
    let pieces = places.chunks_mut(PIECE).zip(bucket_of.chunks_mut(PIECE)).zip(counts.chunks_mut(buckets)).enumerate();
    threads.each(pieces, |(piece, ((places, bucket_of), counts))| {
        let mut body = piece * PIECE;
        for (places, bucket_of) in places.chunks_mut(AT_ONCE).zip(bucket_of.chunks_mut(AT_ONCE)) {
            let mut highs = [0; AT_ONCE];
            for (place, high) in places.iter_mut().zip(&mut highs) {
                *high = high_of(body);
                *place = Place { high: *high, body: body as u32 };
                body += 1;
            }
            for (number, bucket) in buckets_among(&splitters, highs).into_iter().zip(bucket_of) {
                *bucket = number as u16;
                counts[number] += 1;
            }
        }
    });
    let mut sizes = memory::filled(buckets, 0, "the buckets of a sort")?;
    for counts in counts.chunks(buckets) {
        sizes.iter_mut().zip(counts).for_each(|(size, count)| *size += *count as usize);
    }
    // Each thread deals bodies to some of the buckets, and sorts these.
    let mut dealt = pool.unwritten(count, Place::default(), "the keys of bodies")?;
    let of_thread = buckets.div_ceil(threads.count());
    let mut rest = &mut dealt[..];
    let parts = sizes.chunks(of_thread).enumerate().map(|(part, sizes)| {
        let bodies = rest.split_off_mut(..sizes.iter().sum()).unwrap_or_default();
        (part * of_thread, sizes, bodies)
    });
    threads.each(parts, |(first, sizes, bodies)| {
        let mut ends = [0; MOST_BUCKETS];
        let mut end = 0;
        for (bucket, size) in sizes.iter().enumerate() {
            ends[bucket] = end;
            end += size;
        }
        for (place, bucket) in places.iter().zip(bucket_of.iter()) {
            if let Some(end) = ends[..sizes.len()].get_mut(usize::from(*bucket).wrapping_sub(first)) {
                bodies[*end] = *place;
                *end += 1;
            }
        }
        let mut rest = bodies;
        for size in sizes {
            rest.split_off_mut(..*size).unwrap_or_default().sort_unstable();
        }
    });
    Ok(dealt)
}

/// Returns the high words that divide many bodies into buckets of about as many, in their order:
/// one less than a power of two.
fn splitters(count: usize, high_of: impl Fn(usize) -> u64) -> Result<Vec<u64>> {
    let buckets = (count / OF_BUCKET).next_power_of_two().min(MOST_BUCKETS);
    let samples = buckets * SAMPLES_OF_BUCKET;
    let sample_at = |sample: usize| high_of((sample as u64 * count as u64 / samples as u64) as usize);
    let mut sample = memory::collected((0..samples).map(sample_at), "a sample of the keys of bodies")?;
    sample.sort_unstable();
    let lowest = sample.into_iter().step_by(SAMPLES_OF_BUCKET).skip(1);
    memory::collected(lowest, "a sample of the keys of bodies")
}

/// Returns for each high word how many of the splitters, which are one less than a power of two,
/// are not above it.
#[inline(always)]
fn buckets_among(splitters: &[u64], highs: [u64; AT_ONCE]) -> [usize; AT_ONCE] {
    let (mut buckets, mut half) = ([0; AT_ONCE], splitters.len().div_ceil(2));
    while half > 0 {
        for (bucket, high) in buckets.iter_mut().zip(highs) {
            // A branch here, which nothing can predict, takes four times as long.
            *bucket += select_unpredictable(splitters[*bucket + half - 1] <= high, half, 0);
        }
        half /= 2;
    }
    buckets
}

/// Sorts bodies by their low words too, if more of them than a leaf may have share a high word, and
/// returns these; else returns none.
fn low_words(positions: &[[f64; 3]], cube: &Cube, places: &mut [Place], threads: &Threads) -> Result<Vec<u64>> {
    let is_shallow = threads.all((LEAF..places.len()).step_by(PIECE), |first| {
        let mut lasts = first..places.len().min(first + PIECE);
        lasts.all(|last| places[last].high != places[last - LEAF].high)
    });
    if is_shallow {
        return Ok(Vec::new());
    }
    let low_of = |place: &Place| cube.key(positions[place.body as usize]).low;
    let mut start = 0;
    while start < places.len() {
        let high = places[start].high;
        let count = places[start..].iter().take_while(|place| place.high == high).count();
        if count > 1 {
            places[start..start + count].sort_unstable_by_key(|place| (low_of(place), place.body));
        }
        start += count;
    }
    memory::collected(places.iter().map(low_of), "the keys of bodies")
}

/// The children of a cell: their number, and where the bodies of each end.
#[derive(Clone, Copy, Default)]
struct Division {
    children: usize,
    ends: [u32; 8],
}

/// Returns the cells of bodies whose keys are sorted, and those of each generation.
fn cells(
    count: usize,
    key: impl Fn(usize) -> Key + Sync,
    (threads, pool): (&Threads, &BufferPool),
) -> Result<(Pooled<Cell>, Vec<Range<usize>>)> {
    const WHAT: &str = "cells";
    let (mut cells, mut generations) = (pool.room(count / LEAF, WHAT)?, Vec::new());
    if count == 0 {
        return Ok((cells, generations));
    }
    let new = |bodies: Range<usize>| {
        let (first, last) = (key(bodies.start), key(bodies.end - 1));
        Cell::new(bodies.start as u32, bodies.len() as u32, first, last)
    };
    memory::push(&mut cells, new(0..count), WHAT)?;
    let mut generation = 0..1;
    while !generation.is_empty() {
        let mut divisions = pool.unwritten(generation.len(), Division::default(), WHAT)?;
        let parents = cells[generation.clone()].chunks(CELLS_OF_TASK);
        threads.each(parents.zip(divisions.chunks_mut(CELLS_OF_TASK)), |(parents, divisions)| {
            parents.iter().zip(divisions).for_each(|(parent, division)| *division = divided(parent, &key));
        });
        let next = generation.end..generation.end + divisions.iter().map(|division| division.children).sum::<usize>();
        memory::lengthen(&mut cells, next.end, WHAT, Cell::default)?;
        let (parents, mut rest) = cells[generation.start..].split_at_mut(generation.len());
        let mut first_child = next.start;
        let parents = parents.chunks_mut(CELLS_OF_TASK).zip(divisions.chunks(CELLS_OF_TASK));
        let tasks = parents.map(|(parents, divisions)| {
            let first = first_child;
            let children = divisions.iter().map(|division| division.children).sum::<usize>();
            first_child += children;
            (first, parents, divisions, rest.split_off_mut(..children).unwrap_or_default())
        });
        threads.each(tasks, |(mut first_child, parents, divisions, mut children)| {
            for (parent, Division { children: count, ends }) in parents.iter_mut().zip(divisions) {
                let of_parent = children.split_off_mut(..*count).unwrap_or_default();
                let mut start = parent.first_body as usize;
                for (child, end) in of_parent.iter_mut().zip(ends) {
                    *child = new(start..*end as usize);
                    start = *end as usize;
                }
                if *count > 0 {
                    (parent.first_child, parent.children) = (first_child as u32, *count as u16);
                    first_child += count;
                }
            }
        });
        memory::push(&mut generations, std::mem::replace(&mut generation, next), WHAT)?;
    }
    Ok((cells, generations))
}

/// Returns the children of a cell.
fn divided(parent: &Cell, key: impl Fn(usize) -> Key) -> Division {
    let mut division = Division::default();
    if !parent.is_divided() {
        return division;
    }
    let (bodies, depth) = (parent.body_range(), u32::from(parent.depth));
    let mut start = bodies.start;
    while start < bodies.end {
        let octant = key(start).octant(depth);
        start = end_of(start..bodies.end, |place| key(place).octant(depth) == octant);
        division.ends[division.children] = start as u32;
        division.children += 1;
    }
    division
}

/// Returns the end of the first of some places, for which something is so.
fn end_of(places: Range<usize>, is_so: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (places.start + 1, places.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_so(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
