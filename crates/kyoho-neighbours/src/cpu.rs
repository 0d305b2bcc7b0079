//! Neighbour lists: a search over the slices, each by one thread at a time.

use std::sync::Mutex;

use kyoho_core::{Block, Chunk, Result, SLICES, SinkSlice, Sources, chunks_of_slice, memory};
use kyoho_hal::threads::Threads;
use kyoho_laws::lanes::Element;
use kyoho_laws::simd::tile::{PredictionTarget, Tile};

use kyoho_methods::cpu::tiles::key;

/// The search of one slice, and the lists that it found.
struct Search {
    slice: usize,
    found: Vec<Vec<i32>>,
    outcome: Result<()>,
}

/// Appends to `found` the neighbours of each of some sinks that has a radius. `predict` makes a
/// tile of this many rows of a chunk, and `find` appends the neighbours of one of the sinks among
/// its sources.
pub fn make<E: Element>(
    (sources, block): (&Sources, &Block),
    sinks: SinkSlice,
    threads: &Threads,
    rows: usize,
    predict: impl Fn(&Chunk, PredictionTarget, &mut Tile<E>) + Sync,
    find: impl Fn(usize, &Tile<E>, &mut Vec<i32>) + Sync,
    found: &mut [Vec<i32>],
) -> Result<()> {
    let has_radius: Vec<bool> = sinks.iter().map(|sink| sink.radius2 > 0.0).collect();
    let mut searches = Vec::new();
    for slice in 0..SLICES {
        let found = memory::collected((0..sinks.len()).map(|_| Vec::new()), "tables of neighbour lists")?;
        memory::push(&mut searches, Search { slice, found, outcome: Ok(()) }, "tables of neighbour lists")?;
    }
    let search_slice = |search: &mut Search, scratch: &mut Option<Tile<E>>| -> Result<()> {
        let tile = match scratch {
            Some(tile) => tile,
            none => none.insert(Tile::new(rows)?),
        };
        for number in chunks_of_slice(search.slice, sources.chunks_below(block.nj)) {
            let Some(chunk) = sources.chunk(number) else { continue };
            predict(chunk, key(chunk, block, number).1, tile);
            let wanted = search.found.iter_mut().enumerate().filter(|(sink, _)| has_radius[*sink]);
            for (sink, list) in wanted {
                memory::reserve(list, tile.count, "a neighbour list")?;
                find(sink, tile, list);
            }
        }
        Ok(())
    };
    threads.run(
        searches.iter_mut(),
        &Mutex::new(Vec::new()),
        || None,
        |search, scratch| search.outcome = search_slice(search, scratch),
    );
    for search in searches {
        search.outcome?;
        for (list, of_slice) in found.iter_mut().zip(&search.found) {
            memory::reserve(list, of_slice.len(), "a neighbour list")?;
            list.extend_from_slice(of_slice);
        }
    }
    Ok(())
}
