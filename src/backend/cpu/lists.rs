//! Neighbour lists: a search over the slices, each by one thread at a time.

use std::sync::Mutex;

use crate::error::{Error, Result};
use crate::pair::lanes::Element;
use crate::pair::tile::{Moment, Tile};
use crate::system::slices::{SLICES, chunks_of_slice};
use crate::system::{Block, Chunk, SomeSinks, Sources};
use crate::threads::Threads;

use super::device::key;

/// What was found in one slice.
struct Search {
    slice: usize,
    found: Vec<Vec<i32>>,
    full: bool,
}

/// Appends to `found` the neighbours of each of some sinks that has a radius. `predict` makes a tile of so many rows of a
/// chunk, and `find` appends the neighbours of one of the sinks among its sources.
pub fn make<E: Element>(
    (sources, block): (&Sources, &Block),
    sinks: SomeSinks,
    threads: &Threads,
    rows: usize,
    predict: impl Fn(&Chunk, Moment, &mut Tile<E>) + Sync,
    find: impl Fn(usize, &Tile<E>, &mut Vec<i32>) + Sync,
    found: &mut [Vec<i32>],
) -> Result<()> {
    let has_radius: Vec<bool> = sinks.iter().map(|sink| sink.radius2 > 0.0).collect();
    let empty = |slice: usize| Search { slice, found: vec![Vec::new(); sinks.len()], full: false };
    let mut searches: Vec<Search> = (0..SLICES).map(empty).collect();
    threads.run(
        searches.iter_mut(),
        &Mutex::new(Vec::new()),
        || Tile::new(rows).ok(),
        |search, tile| {
            let Some(tile) = tile else {
                search.full = true;
                return;
            };
            for number in chunks_of_slice(search.slice, sources.chunks_below(block.nj)) {
                let Some(chunk) = sources.chunk(number) else { continue };
                predict(chunk, key(chunk, block, number).1, tile);
                let wanted = search.found.iter_mut().enumerate().filter(|(sink, _)| has_radius[*sink]);
                for (sink, list) in wanted {
                    search.full |= list.try_reserve(tile.count).is_err();
                    if !search.full {
                        find(sink, tile, list);
                    }
                }
            }
        },
    );
    let total: usize = searches.iter().flat_map(|search| &search.found).map(Vec::len).sum();
    let no_memory = Error::OutOfMemory { what: "neighbour lists", bytes: total * size_of::<i32>() };
    if searches.iter().any(|search| search.full) {
        return Err(no_memory);
    }
    for search in &searches {
        for (list, part) in found.iter_mut().zip(&search.found) {
            list.try_reserve(part.len()).map_err(|_| no_memory.clone())?;
            list.extend_from_slice(part);
        }
    }
    Ok(())
}
