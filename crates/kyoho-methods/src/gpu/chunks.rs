//! The chunks that a device has, their slots, and which of them the host has changed.

use kyoho_core::{CHUNK, Result, Sources, Written, chunk_of, memory};

/// The slot of a chunk that the device does not have.
pub const NOWHERE: i32 = -1;

/// The chunks that a device has and their slots in its memory.
#[derive(Debug, Default)]
pub struct Chunks {
    slots: Vec<i32>,
    /// The stamp of the host's chunk when it was last sent, by slot.
    stamps: Vec<u64>,
    /// The number of chunks that have their number as their slot.
    in_place: usize,
    changed: bool,
}

impl Chunks {
    /// Returns the number of slots in use.
    pub fn count(&self) -> usize {
        self.stamps.len()
    }

    /// Whether every chunk has its number as its slot, so that kernels need no table.
    pub fn is_dense(&self) -> bool {
        self.in_place == self.slots.len()
    }

    /// Whether chunks have slots in the order of their numbers.
    pub fn is_in_order(&self) -> bool {
        self.is_dense() || self.slots.iter().filter(|slot| **slot != NOWHERE).is_sorted()
    }

    /// Gives chunks slots in the order of their numbers. All are stale afterwards.
    pub fn put_in_order(&mut self) {
        self.in_place = 0;
        let there = self.slots.iter_mut().enumerate().filter(|(_, slot)| **slot != NOWHERE);
        for (new, (number, slot)) in there.enumerate() {
            *slot = new as i32;
            self.in_place += usize::from(new == number);
        }
        self.forget();
    }

    /// Returns the number of places below an address, where the chunks are in order.
    pub fn places_below(&self, address: usize) -> usize {
        let (chunk, place) = (chunk_of(address), address % CHUNK);
        if chunk >= self.slots.len() {
            return self.count() * CHUNK;
        }
        let before = self.slots[..chunk].iter().filter(|slot| **slot != NOWHERE).count();
        before * CHUNK + if self.slots[chunk] == NOWHERE { 0 } else { place }
    }

    /// Returns the slots of all chunks, and whether they changed since the last call.
    pub fn table(&mut self) -> (&[i32], bool) {
        (&self.slots, std::mem::take(&mut self.changed))
    }

    /// Returns the bytes in use.
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * 4 + self.stamps.capacity() * 8
    }

    /// Finds the chunks that have to be sent whole, as (chunk, slot), with slots given to new ones:
    /// among what was written since the last block, or among all.
    pub fn stale(&mut self, sources: &Sources, all: bool, found: &mut Vec<(usize, usize)>) -> Result<()> {
        found.clear();
        // Kernels look up every chunk that may take part, whether it is there or not.
        let chunks = sources.chunks_below(usize::MAX);
        if chunks > self.slots.len() {
            memory::lengthen(&mut self.slots, chunks, "the table of slots", || NOWHERE)?;
            self.changed = true;
        }
        match sources.written() {
            Written::Addresses(addresses) if !all => {
                addresses.iter().try_for_each(|address| self.check(chunk_of(*address as usize), sources, found))?;
            }
            _ => {
                (0..chunks).try_for_each(|chunk| self.check(chunk, sources, found))?;
            }
        }
        found.sort_unstable();
        Ok(())
    }

    /// Takes this many chunks, whose slots are their numbers, in the place of all.
    pub fn take_dense(&mut self, chunks: usize) -> Result<()> {
        let table = chunks.max(self.slots.len());
        memory::lengthen(&mut self.stamps, chunks, "the stamps of chunks", || 0)?;
        self.changed |= table > self.slots.len();
        memory::lengthen(&mut self.slots, table, "the table of slots", || NOWHERE)?;
        for (number, slot) in self.slots.iter_mut().enumerate() {
            let new = if number < chunks { number as i32 } else { NOWHERE };
            self.changed |= *slot != new;
            *slot = new;
        }
        self.stamps.truncate(chunks);
        self.stamps.fill(0);
        self.in_place = chunks;
        Ok(())
    }

    fn check(&mut self, number: usize, sources: &Sources, found: &mut Vec<(usize, usize)>) -> Result<()> {
        let Some(chunk) = sources.chunk(number) else { return Ok(()) };
        if self.slots[number] == NOWHERE {
            memory::reserve(&mut self.stamps, 1, "the stamps of chunks")?;
            self.in_place += usize::from(number == self.stamps.len());
            self.slots[number] = self.stamps.len() as i32;
            self.stamps.push(0);
            self.changed = true;
        }
        let slot = self.slots[number] as usize;
        if self.stamps[slot] != chunk.stamp() {
            memory::push(found, (number, slot), "the table of chunks to be sent")?;
            self.stamps[slot] = chunk.stamp();
        }
        Ok(())
    }

    /// Counts all chunks and the table as stale, after some could not be sent.
    pub fn forget(&mut self) {
        self.stamps.fill(0);
        self.changed = true;
    }
}

#[cfg(test)]
mod tests {
    use kyoho_core::{CHUNK, Source};

    use super::*;

    fn write(sources: &mut Sources, chunk: usize) {
        let source = Source { index: 1, mass: 1.0, time: 0.0, coefficients: [[0.0; 3]; 8] };
        sources.write(chunk * CHUNK + 3, &source).unwrap();
    }

    fn stale(chunks: &mut Chunks, sources: &mut Sources) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        chunks.stale(sources, false, &mut found).unwrap();
        sources.forget_written();
        found
    }

    #[test]
    fn a_chunk_is_stale_until_it_was_found_and_after_each_write() {
        let (mut chunks, mut sources) = (Chunks::default(), Sources::new(4));
        (0..3).for_each(|chunk| write(&mut sources, chunk));
        assert_eq!(stale(&mut chunks, &mut sources), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(stale(&mut chunks, &mut sources), []);
        write(&mut sources, 1);
        assert_eq!(stale(&mut chunks, &mut sources), [(1, 1)]);
        sources.all_is_written();
        assert_eq!(stale(&mut chunks, &mut sources), []);
        assert!(chunks.is_dense());
        assert_eq!(chunks.table(), (&[0, 1, 2][..], true));
        assert!(!chunks.table().1);
    }

    #[test]
    fn what_could_not_be_sent_is_stale_still_with_the_table() {
        let (mut chunks, mut sources) = (Chunks::default(), Sources::new(4));
        (0..2).for_each(|chunk| write(&mut sources, chunk));
        stale(&mut chunks, &mut sources);
        chunks.table();
        chunks.forget();
        sources.all_is_written();
        assert_eq!(stale(&mut chunks, &mut sources), [(0, 0), (1, 1)]);
        assert!(chunks.table().1);
    }

    #[test]
    fn the_table_has_changed_where_other_chunks_than_before_are_dense() {
        let (mut chunks, mut sources) = (Chunks::default(), Sources::new(1));
        for (count, expected) in [(3, true), (3, false), (5, true), (5, false)] {
            chunks.take_dense(count).unwrap();
            assert_eq!((chunks.table().1, chunks.count(), chunks.is_dense()), (expected, count, true), "{count}");
        }
        [9, 7].into_iter().for_each(|chunk| write(&mut sources, chunk));
        stale(&mut chunks, &mut sources);
        assert!(chunks.table().1);
        chunks.take_dense(10).unwrap();
        assert!(chunks.table().1 && chunks.is_dense());
    }

    #[test]
    fn chunks_come_in_any_order_and_those_that_are_not_there_are_nowhere() {
        let (mut chunks, mut sources) = (Chunks::default(), Sources::new(1));
        write(&mut sources, 40);
        assert_eq!(stale(&mut chunks, &mut sources), [(40, 0)]);
        [1, 73].into_iter().for_each(|chunk| write(&mut sources, chunk));
        assert_eq!(stale(&mut chunks, &mut sources), [(1, 1), (73, 2)]);
        let (table, _) = chunks.table();
        assert_eq!(table.len(), 74);
        for (chunk, slot) in table.iter().enumerate() {
            let expected = [40, 1, 73].iter().position(|there| *there == chunk).map_or(NOWHERE, |slot| slot as i32);
            assert_eq!(*slot, expected, "chunk {chunk}");
        }
        assert!(!chunks.is_dense());
        assert_eq!(chunks.count(), 3);
    }

    #[test]
    fn a_device_that_had_no_part_in_some_blocks_checks_all_chunks() {
        let (mut chunks, mut sources) = (Chunks::default(), Sources::new(4));
        (0..4).for_each(|chunk| write(&mut sources, chunk));
        stale(&mut chunks, &mut sources);
        [1, 2].into_iter().for_each(|chunk| write(&mut sources, chunk));
        sources.forget_written();
        write(&mut sources, 3);
        let mut found = Vec::new();
        chunks.stale(&sources, true, &mut found).unwrap();
        assert_eq!(found, [(1, 1), (2, 2), (3, 3)]);
    }

    #[test]
    fn chunks_put_in_order_are_sent_again_and_have_places_below_an_address() {
        let (mut chunks, mut sources) = (Chunks::default(), Sources::new(1));
        for chunk in [5, 0, 2] {
            write(&mut sources, chunk);
            stale(&mut chunks, &mut sources);
        }
        assert!(!chunks.is_in_order());
        chunks.table();
        chunks.put_in_order();
        assert!(chunks.is_in_order() && !chunks.is_dense());
        sources.all_is_written();
        assert_eq!(stale(&mut chunks, &mut sources), [(0, 0), (2, 1), (5, 2)]);
        assert_eq!(chunks.table(), (&[0, NOWHERE, 1, NOWHERE, NOWHERE, 2][..], true));
        let places = |address: usize| chunks.places_below(address) as f64 / CHUNK as f64;
        for (address, expected) in
            [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (1.5, 1.0), (2.25, 1.25), (5.0, 2.0), (9.0, 3.0)]
        {
            assert_eq!(places((address * CHUNK as f64) as usize), expected, "{address} chunks");
        }
        for chunk in [1, 3, 4] {
            write(&mut sources, chunk);
            stale(&mut chunks, &mut sources);
        }
        assert!(!chunks.is_in_order());
        chunks.put_in_order();
        assert!(chunks.is_dense());
    }
}
