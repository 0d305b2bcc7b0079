//! Tiles of predicted sources that CPU devices keep from block to block.

use std::sync::{Mutex, PoisonError};

use kyoho_core::memory::{self, Boxed};
use kyoho_core::{Block, CHUNK, Chunk, Result, Sources};
use kyoho_hal::threads::Threads;
use kyoho_laws::lanes::Element;
use kyoho_laws::simd::kernel::Kernel;
use kyoho_laws::simd::tile::{PredictionTarget, Tile};

/// The number of chunks that a thread predicts at a time.
const TILES_OF_TASK: usize = 8;

/// Predicted chunks, by their numbers.
pub struct Tiles<E> {
    tiles: Vec<Option<Boxed<Tile<E>>>>,
}

impl<E> Default for Tiles<E> {
    fn default() -> Tiles<E> {
        Tiles { tiles: Vec::new() }
    }
}

impl<E: Element> Tiles<E> {
    /// Brings the tiles of all chunks below nj that are wanted up to date.
    pub fn predict(
        &mut self,
        kernel: &dyn Kernel<E>,
        (sources, block): (&Sources, &Block),
        threads: &Threads,
        is_wanted: impl Fn(usize) -> bool + Sync,
    ) -> Result<()> {
        let chunks = sources.chunks_below(block.nj);
        memory::lengthen(&mut self.tiles, chunks, "the table of predicted sources", || None)?;
        // Returns the chunk if it has to be predicted anew.
        let stale = |number: usize, tile: &Option<Boxed<Tile<E>>>| {
            let chunk = sources.chunk(number).filter(|_| is_wanted(number))?;
            let fresh = tile.as_ref().is_some_and(|tile| tile.made_of == Some(key(chunk, block, number)));
            (!fresh).then_some(chunk)
        };
        let tiles = &mut self.tiles[..chunks];
        if !tiles.iter().enumerate().any(|(number, tile)| stale(number, tile).is_some()) {
            return Ok(());
        }
        let outcome = Mutex::new(Ok(()));
        let work = |(run, tiles): (usize, &mut [Option<Boxed<Tile<E>>>])| {
            for (place, tile) in tiles.iter_mut().enumerate() {
                let number = run * TILES_OF_TASK + place;
                let Some(chunk) = stale(number, tile) else { continue };
                let tile = match tile {
                    Some(tile) => tile,
                    none => match Tile::new(kernel.rows()).and_then(|tile| Boxed::new(tile, "predicted sources")) {
                        Ok(new) => none.insert(new),
                        Err(error) => {
                            *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
                            return;
                        }
                    },
                };
                predict(kernel, chunk, block, number, tile);
            }
        };
        threads.each(tiles.chunks_mut(TILES_OF_TASK).enumerate(), work);
        outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the tile of a chunk, as it was last predicted.
    pub fn get(&self, number: usize) -> Option<&Tile<E>> {
        self.tiles.get(number).and_then(Option::as_deref)
    }

    /// Returns the bytes in use.
    pub fn bytes(&self) -> usize {
        let table = self.tiles.capacity() * size_of::<Option<Boxed<Tile<E>>>>();
        table + self.tiles.iter().flatten().map(|tile| tile.bytes()).sum::<usize>()
    }
}

/// Returns the stamp and the target that a tile of a chunk is made of.
pub fn key(chunk: &Chunk, block: &Block, number: usize) -> (u64, PredictionTarget) {
    let limit = (block.nj - number * CHUNK).min(CHUNK);
    (chunk.stamp(), PredictionTarget { time: block.time, predicts: block.predicts, limit, units: block.units })
}

/// Predicts a chunk into a tile.
pub fn predict<E: Element>(kernel: &dyn Kernel<E>, chunk: &Chunk, block: &Block, number: usize, tile: &mut Tile<E>) {
    let key = key(chunk, block, number);
    kernel.predict(chunk, key.1, tile);
    tile.made_of = Some(key);
}
