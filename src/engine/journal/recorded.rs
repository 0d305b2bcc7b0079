//! The latest writes as records, for devices that have a copy of all sources: the host's copy
//! follows while they work.
//!
//! One buffer takes what is written; the other holds what the devices of the block under way may
//! still read. A record waits until it is sent to the devices, and until it is *applied* in the
//! host's copy; some are applied before they are sent.

use crate::data::records::{self, lines_of_record};
use crate::data::{RecordLine, Records, Result, Source, Sources, chunk_of};

use super::update_buffer::{self, PAGE, Page, UpdateBuffer};

/// The writes since the last block as records, at most one for each address, and the records that
/// were sent for that block.
pub struct Recorded {
    current: UpdateBuffer,
    sent: Box<[Page]>,
    capacity: usize,
    /// The number of records that the current buffer takes: none while sources are written to the
    /// host's copy.
    room: usize,
    /// The number of records that are applied, which are the first ones.
    applied: usize,
}

impl Recorded {
    /// Makes empty buffers for this many records of sources with this many Taylor coefficients.
    pub fn new(capacity: usize, n_coefficients: usize) -> Result<Recorded> {
        let lines = lines_of_record(n_coefficients);
        Ok(Recorded {
            current: UpdateBuffer::new(capacity, lines)?,
            sent: update_buffer::pages(capacity, lines)?,
            capacity,
            room: capacity,
            applied: 0,
        })
    }

    /// Returns the memory that records are sent from.
    pub fn buffers(&self) -> [&[RecordLine]; 2] {
        [self.current.memory(), bytemuck::cast_slice(&self.sent)]
    }

    /// Returns the bytes in use.
    pub fn bytes(&self) -> usize {
        self.current.bytes() + self.sent.len() * PAGE
    }

    /// Returns the records that were written since the last block, each address once.
    pub fn fresh(&self) -> Records<'_> {
        self.current.records()
    }

    /// Returns those of [`Recorded::fresh`] that the host's copy has not.
    pub fn unapplied(&self) -> Records<'_> {
        let [_, unapplied] = self.fresh().split_at(self.applied);
        unapplied
    }

    /// Returns the source at an address, if it was written since the last block.
    pub fn read(&mut self, address: usize) -> Option<Source> {
        self.current.has(address).then(|| {
            let place = self.current.place(address);
            self.fresh().get(place).source()
        })
    }

    /// Takes the source at an address. Where the buffer is full or the host's copy has no such
    /// chunk yet, it returns false, and the source has to be written to the host's copy.
    #[inline]
    pub fn take(&mut self, address: usize, source: &Source, sources: &Sources) -> bool {
        let is_full = self.current.len() >= self.room;
        let bit = chunk_of(address) % update_buffer::CHUNKS;
        let Some(group) = self.current.group_mut(address).filter(|group| group.known >> bit & 1 == 1) else {
            return self.learn(address, sources) && self.take(address, source, sources);
        };
        if is_full && !group.has(address) {
            return false;
        }
        let was_there = group.note(address);
        let place = if was_there { self.place_of_unapplied(address) } else { self.current.one_more() };
        records::write(self.current.record_mut(place), address as u32, source);
        true
    }

    /// Takes records of the chunk of an address from now on, if the host's copy has it.
    #[cold]
    fn learn(&mut self, address: usize, sources: &Sources) -> bool {
        let chunk = chunk_of(address);
        sources.chunk(chunk).is_some()
            && self.current.make_group(address).is_some_and(|group| {
                group.known |= 1 << (chunk % update_buffer::CHUNKS);
                true
            })
    }

    /// Returns the place of the record of an address, behind those that are applied: one that is
    /// written again has to be applied again.
    #[cold]
    fn place_of_unapplied(&mut self, address: usize) -> usize {
        let place = self.current.place(address);
        if place >= self.applied {
            return place;
        }
        self.applied -= 1;
        self.current.swap(place, self.applied);
        self.applied
    }

    /// Brings the host's copy up to date; the records are still to be sent.
    pub fn apply(&mut self, sources: &mut Sources) -> Result<()> {
        self.unapplied().iter().try_for_each(|record| sources.put(record.address() as usize, &record.source()))?;
        self.applied = self.current.len();
        Ok(())
    }

    /// Takes the next records elsewhere and brings the host's copy up to date, after the records
    /// were sent, or kept for devices that had no part in the block.
    pub fn sent(&mut self, sources: &mut Sources) -> Result<()> {
        self.apply(sources)?;
        self.clear(self.capacity);
        self.current.exchange(&mut self.sent);
        Ok(())
    }

    /// Leaves all records to the host's copy, where devices will fetch them, and takes no more
    /// before [`Recorded::sent`] or [`Recorded::reopen`].
    pub fn spill(&mut self, sources: &mut Sources) -> Result<()> {
        self.apply(sources)?;
        self.fresh().iter().for_each(|record| sources.note_written(record.address() as usize));
        self.clear(0);
        Ok(())
    }

    /// Whether it may hold records. After [`Recorded::spill`] it holds none until it takes them
    /// again.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.room > 0
    }

    /// Takes records again.
    pub fn reopen(&mut self) {
        self.room = self.capacity;
    }

    fn clear(&mut self, room: usize) {
        self.current.clear();
        (self.applied, self.room) = (0, room);
    }
}

#[cfg(test)]
mod tests {
    use crate::data::CHUNK;

    use super::*;

    fn source(mass: f64) -> Source {
        Source::from_derivatives(7, mass, 0.5, [[1.0; 3]; 4])
    }

    /// Sources in the first `chunks` chunks, at their first addresses.
    fn sources(chunks: usize) -> Sources {
        let mut sources = Sources::new(4);
        (0..chunks).for_each(|chunk| sources.write(chunk * CHUNK, &source(0.0)).unwrap());
        sources.forget_written();
        sources
    }

    fn addresses(records: Records) -> Vec<u32> {
        let mut addresses: Vec<u32> = records.iter().map(|record| record.address()).collect();
        addresses.sort_unstable();
        addresses
    }

    #[test]
    fn an_address_written_again_keeps_one_record() {
        let (mut recorded, mut sources) = (Recorded::new(40, 4).unwrap(), sources(2));
        for mass in [1.0, 2.0, 3.0] {
            for address in [300, 5, 299] {
                assert!(recorded.take(address, &source(mass), &sources));
            }
        }
        assert_eq!(addresses(recorded.fresh()), [5, 299, 300]);
        assert_eq!(recorded.read(299), Some(source(3.0)));
        assert_eq!(recorded.read(6), None);
        recorded.sent(&mut sources).unwrap();
        assert_eq!((recorded.fresh().len(), recorded.read(299)), (0, None));
        assert_eq!(sources.read(299), Some(source(3.0)));
        assert!(recorded.take(5, &source(4.0), &sources));
        assert!(recorded.take(300, &source(5.0), &sources) && recorded.take(5, &source(6.0), &sources));
        assert_eq!(addresses(recorded.fresh()), [5, 300]);
        assert_eq!((recorded.read(5), recorded.read(300)), (Some(source(6.0)), Some(source(5.0))));
        assert_eq!(sources.read(5), Some(source(3.0)), "what is sent is not what is written now");
    }

    #[test]
    fn it_takes_no_more_than_it_has_room_for_and_nothing_of_unknown_chunks() {
        let (mut recorded, mut sources) = (Recorded::new(3, 4).unwrap(), sources(1));
        assert!(
            !recorded.take(CHUNK, &source(1.0), &sources)
                && !recorded.take(update_buffer::ADDRESSES, &source(1.0), &sources)
        );
        let taken: Vec<bool> = [9, 8, 7, 6, 8].map(|address| recorded.take(address, &source(2.0), &sources)).to_vec();
        assert_eq!(taken, [true, true, true, false, true]);
        recorded.spill(&mut sources).unwrap();
        assert_eq!(sources.read(8), Some(source(2.0)));
        assert!(matches!(sources.written(), crate::data::Written::Addresses([9, 8, 7])));
        assert!(!recorded.take(9, &source(3.0), &sources), "it is closed until the next block");
        recorded.sent(&mut sources).unwrap();
        assert!(recorded.take(9, &source(3.0), &sources));
    }

    #[test]
    fn an_address_written_after_it_was_applied_is_applied_again() {
        let (mut recorded, mut sources) = (Recorded::new(40, 4).unwrap(), sources(1));
        (0..6).for_each(|address| assert!(recorded.take(address, &source(1.0), &sources)));
        recorded.apply(&mut sources).unwrap();
        assert_eq!(recorded.unapplied().len(), 0);
        [0, 3, 5, 3, 9].into_iter().for_each(|address| assert!(recorded.take(address, &source(2.0), &sources)));
        assert_eq!(addresses(recorded.unapplied()), [0, 3, 5, 9]);
        assert_eq!(addresses(recorded.fresh()), [0, 1, 2, 3, 4, 5, 9]);
        recorded.apply(&mut sources).unwrap();
        let masses: Vec<f64> = [0, 1, 2, 3, 4, 5, 9].map(|address| sources.read(address).unwrap().mass).to_vec();
        assert_eq!(masses, [2.0, 1.0, 1.0, 2.0, 1.0, 2.0, 2.0]);
        assert_eq!(recorded.fresh().iter().map(|record| record.source().mass).sum::<f64>(), 11.0);
    }
}
