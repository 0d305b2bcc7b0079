//! Bodies in the order of their keys, and the cells of their tree.

use std::ops::Range;

use crate::data::{Kept, Result, Spare, memory};
use crate::hal::threads::Threads;
use crate::method::tree::LEAF;
use crate::method::tree::cells::Cell;
use crate::method::tree::cube::{Cube, Key, LEVELS_OF_WORD};

/// The number of bodies that a thread takes at a time.
const PIECE: usize = 1 << 14;
/// The bits of a key by which bodies are dealt at a time, before the sorts of single threads.
const DEALT_BITS: u32 = 11;

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
    pub order: Kept<u32>,
    /// The cells.
    pub cells: Kept<Cell>,
    /// The cells of each generation.
    pub generations: Vec<Range<usize>>,
}

impl Octree {
    /// Makes the tree of some positions.
    pub fn new(positions: &[[f64; 3]], threads: &Threads, spare: &Spare) -> Result<Octree> {
        let cube = cube(positions, threads)?;
        let mut places = sorted(positions, &cube, threads, spare)?;
        let lows = low_words(positions, &cube, &mut places)?;
        let key = |place: usize| Key { high: places[place].high, low: lows.get(place).copied().unwrap_or(0) };
        let (cells, generations) = cells(places.len(), key, spare)?;
        let order = spare.collected(places.iter().map(|place| place.body), "the order of bodies")?;
        Ok(Octree { cube, order, cells, generations })
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
fn sorted(positions: &[[f64; 3]], cube: &Cube, threads: &Threads, spare: &Spare) -> Result<Kept<Place>> {
    let count = positions.len();
    let mut places = spare.unwritten(count, Place::default(), "the keys of bodies")?;
    threads.each(positions.chunks(PIECE).zip(places.chunks_mut(PIECE)).enumerate(), |(piece, (positions, places))| {
        for (number, (position, place)) in positions.iter().zip(places).enumerate() {
            *place = Place { high: cube.key(*position).high, body: (piece * PIECE + number) as u32 };
        }
    });
    if count <= PIECE {
        places.sort_unstable();
        return Ok(places);
    }
    // One thread deals bodies to buckets, those of large ones again, and all threads sort buckets.
    let mut dealt = spare.unwritten(count, Place::default(), "the keys of bodies")?;
    let mut large = vec![(0..count, 3 * LEVELS_OF_WORD)];
    let mut buckets: Vec<Range<usize>> = Vec::new();
    while let Some((range, bits)) = large.pop() {
        let shift = bits.saturating_sub(DEALT_BITS);
        let digit = |place: &Place| (place.high >> shift) as usize & ((1 << DEALT_BITS) - 1);
        let mut ends = [0_usize; 1 << DEALT_BITS];
        places[range.clone()].iter().for_each(|place| ends[digit(place)] += 1);
        let mut end = range.start;
        for bucket in &mut ends {
            let start = end;
            end += *bucket;
            *bucket = start;
        }
        for place in &places[range.clone()] {
            let to = &mut ends[digit(place)];
            dealt[*to] = *place;
            *to += 1;
        }
        places[range.clone()].copy_from_slice(&dealt[range.clone()]);
        let mut start = range.start;
        for end in ends {
            if end - start > 4 * PIECE && shift > 0 {
                large.push((start..end, shift));
            } else if end - start > 1 {
                memory::push(&mut buckets, start..end, "the buckets of a sort")?;
            }
            start = end;
        }
    }
    buckets.sort_unstable_by_key(|bucket| bucket.start);
    let mut slices = memory::room(buckets.len(), "the buckets of a sort")?;
    let (mut rest, mut start) = (&mut places[..], 0);
    for bucket in buckets {
        let (slice, after) = std::mem::take(&mut rest)[bucket.start - start..].split_at_mut(bucket.len());
        slices.push(slice);
        (rest, start) = (after, bucket.end);
    }
    threads.each(slices.into_iter(), |slice| slice.sort_unstable());
    Ok(places)
}

/// Sorts bodies by their low words too, if more of them than a leaf may have share a high word, and
/// returns these; else returns none.
fn low_words(positions: &[[f64; 3]], cube: &Cube, places: &mut [Place]) -> Result<Vec<u64>> {
    let is_deep = places.len() > LEAF && (LEAF..places.len()).any(|last| places[last].high == places[last - LEAF].high);
    if !is_deep {
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

/// Returns the cells of bodies whose keys are sorted, and those of each generation.
fn cells(count: usize, key: impl Fn(usize) -> Key, spare: &Spare) -> Result<(Kept<Cell>, Vec<Range<usize>>)> {
    let (mut cells, mut generations) = (spare.room(count / LEAF, "cells")?, Vec::new());
    if count == 0 {
        return Ok((cells, generations));
    }
    let new = |bodies: Range<usize>| {
        let (first, last) = (key(bodies.start), key(bodies.end - 1));
        Cell::new(bodies.start as u32, bodies.len() as u32, first, last)
    };
    memory::push(&mut cells, new(0..count), "cells")?;
    let mut generation = 0..1;
    while !generation.is_empty() {
        for parent in generation.clone() {
            if !cells[parent].is_divided() {
                continue;
            }
            let (bodies, depth) = (cells[parent].body_range(), u32::from(cells[parent].depth));
            let (first_child, mut start) = (cells.len(), bodies.start);
            while start < bodies.end {
                let octant = key(start).octant(depth);
                let end = end_of(start..bodies.end, |place| key(place).octant(depth) == octant);
                memory::push(&mut cells, new(start..end), "cells")?;
                start = end;
            }
            cells[parent].first_child = first_child as u32;
            cells[parent].children = (cells.len() - first_child) as u16;
        }
        let next = generation.end..cells.len();
        memory::push(&mut generations, std::mem::replace(&mut generation, next), "cells")?;
    }
    Ok((cells, generations))
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
