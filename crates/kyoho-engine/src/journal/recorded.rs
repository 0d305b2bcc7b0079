//! The latest writes as records, for devices that have a copy of all sources: the host's copy
//! follows when it is needed.
//!
//! One buffer takes what is written; the other holds what the devices of the block under way may
//! still read. A record waits until it is sent to the devices, and until it is *applied* to the
//! host's copy: as a rule while the devices work on the block that they were sent for. Where they are
//! of half of all sources and more, they wait for the next ones, and those whose address is among
//! these are not applied: sources that are written for every block never are.

use kyoho_core::memory::{self, Pages};
use kyoho_core::records::{self, lines_of_record};
use kyoho_core::{RecordLine, Records, Result, Source, Sources, chunk_of};
use kyoho_hal::threads::Threads;

use super::update_buffer::{self, UpdateBuffer};
use super::write_back::write_back;

/// The writes since the last block as records, at most one for each address, and the records that
/// were sent for that block.
pub struct Recorded {
    current: UpdateBuffer,
    /// The records of the last block, and their addresses until they are applied.
    sent: Pages,
    addresses_sent: Vec<u32>,
    lines_of_record: usize,
    capacity: usize,
    /// The number of records that the current buffer takes: none while sources are written to the
    /// host's copy.
    room: usize,
    /// Whether there was no room for some write since the last block.
    overflowed: bool,
    /// The number of blocks, one after another, for which there was not enough room.
    crowded: u32,
    /// The number of current records that are applied, which are the first ones.
    applied: usize,
}

impl Recorded {
    /// Makes empty buffers for this many records of sources with this many Taylor coefficients.
    pub fn new(capacity: usize, n_coefficients: usize) -> Result<Recorded> {
        let lines_of_record = lines_of_record(n_coefficients);
        let mut addresses_sent = Vec::new();
        let current = UpdateBuffer::new(capacity, lines_of_record)?;
        memory::reserve(&mut addresses_sent, current.capacity(), "addresses of records")?;
        Ok(Recorded {
            current,
            sent: update_buffer::pages(capacity, lines_of_record)?,
            addresses_sent,
            lines_of_record,
            capacity,
            room: capacity,
            overflowed: false,
            crowded: 0,
            applied: 0,
        })
    }

    /// Returns the memory that records are sent from.
    pub fn buffers(&self) -> [&Pages; 2] {
        [self.current.pages(), &self.sent]
    }

    /// Returns the number of records that a block can have.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the bytes in use.
    pub fn bytes(&self) -> usize {
        self.current.bytes() + self.sent.bytes() + self.addresses_sent.capacity() * 4
    }

    /// Returns the records that were written since the last block, each address once.
    pub fn fresh(&self) -> Records<'_> {
        self.current.records()
    }

    /// Returns the addresses of records that are not applied; some are named twice.
    pub fn unapplied(&self) -> impl Iterator<Item = u32> + Clone {
        self.addresses_sent.iter().chain(&self.current.addresses()[self.applied..]).copied()
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
        self.place(address, sources).map(|lines| records::write(lines, address as u32, source)).is_some()
    }

    /// Returns the memory for the record of an address, which has to be written; none where
    /// [`Recorded::take`] takes nothing.
    #[inline(always)]
    pub fn place(&mut self, address: usize, sources: &Sources) -> Option<&mut [RecordLine]> {
        let is_full = self.current.len() >= self.room;
        let bit = chunk_of(address) % update_buffer::CHUNKS;
        let group = self.current.group_mut(address).filter(|group| group.known >> bit & 1 == 1);
        let is_new = group.is_some_and(|group| !is_full && !group.note(address));
        let place =
            if is_new { self.current.one_more(address as u32) } else { self.place_of_another(address, sources)? };
        Some(self.current.record_mut(place))
    }

    /// Returns these addresses and the memory for their records, which have to be written; none
    /// where one of them would not be the first record of its address since the last block, or
    /// [`Recorded::take`] would not take all.
    pub fn places(
        &mut self,
        addresses: impl ExactSizeIterator<Item = usize>,
        sources: &Sources,
    ) -> Option<(&[u32], &mut [RecordLine])> {
        if self.current.len() + addresses.len() > self.room {
            self.overflowed |= self.room > 0;
            return None;
        }
        let first = self.current.len();
        for address in addresses {
            let bit = chunk_of(address) % update_buffer::CHUNKS;
            let is_known = self.current.group_mut(address).is_some_and(|group| group.known >> bit & 1 == 1);
            let is_new = (is_known || self.learn(address, sources))
                && self.current.group_mut(address).is_some_and(|group| !group.note(address));
            if !is_new {
                self.current.truncate(first);
                return None;
            }
            self.current.one_more(address as u32);
        }
        Some(self.current.last_mut(first))
    }

    /// Takes back the last records, which [`Recorded::places`] has made room for.
    pub fn withdraw(&mut self, count: usize) {
        self.current.truncate(self.current.len() - count);
    }

    /// Returns the place of the record of an address that was noted already, or whose chunk was
    /// not met, or for which there is no room.
    #[cold]
    fn place_of_another(&mut self, address: usize, sources: &Sources) -> Option<usize> {
        let is_full = self.current.len() >= self.room;
        if !self.learn(address, sources) {
            return None;
        }
        let group = self.current.group_mut(address)?;
        if group.has(address) {
            return Some(self.place_of_unapplied(address));
        }
        if is_full {
            self.overflowed = true;
            return None;
        }
        group.note(address);
        Some(self.current.one_more(address as u32))
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

    /// Brings the host's copy to the sources of the last block.
    pub fn write_back_sent(&mut self, sources: &mut Sources, threads: &Threads) -> Result<()> {
        self.write_back_unless(sources, |_, _| false, threads)
    }

    /// Applies the records that were sent but for those that need not be.
    fn write_back_unless(
        &mut self,
        sources: &mut Sources,
        is_needless: impl Fn(&UpdateBuffer, usize) -> bool + Sync,
        threads: &Threads,
    ) -> Result<()> {
        let sent = Records::new(self.sent.as_slice(), self.lines_of_record);
        let current = &self.current;
        write_back(sources, sent, &self.addresses_sent, |address| is_needless(current, address), threads)?;
        self.addresses_sent.clear();
        Ok(())
    }

    /// Brings the host's copy up to date; the current records are still to be sent.
    pub fn write_back_current(&mut self, sources: &mut Sources, threads: &Threads) -> Result<()> {
        self.write_back_sent(sources, threads)?;
        let [_, unapplied] = self.current.records().split_at(self.applied);
        write_back(sources, unapplied, &self.current.addresses()[self.applied..], |_| false, threads)?;
        self.applied = self.current.len();
        Ok(())
    }

    /// Takes the next records elsewhere, after the current ones were sent, or kept for devices that
    /// had no part in the block.
    pub fn rotate_buffers(&mut self, sources: &mut Sources, threads: &Threads) -> Result<()> {
        self.write_back_unless(sources, UpdateBuffer::has, threads)?;
        self.current.exchange(&mut self.sent, &mut self.addresses_sent);
        if 2 * self.addresses_sent.len() < sources.count() {
            // The devices are at work on the block meanwhile.
            self.write_back_sent(sources, threads)?;
        }
        (self.applied, self.room) = (0, self.capacity);
        Ok(())
    }

    /// Leaves all records to the host's copy, where devices will fetch them, and takes no more
    /// before [`Recorded::rotate_buffers`] or [`Recorded::resume`].
    pub fn flush_to_host(&mut self, sources: &mut Sources, threads: &Threads) -> Result<()> {
        self.write_back_current(sources, threads)?;
        self.current.addresses().iter().for_each(|address| sources.note_written(*address as usize));
        self.current.clear();
        (self.applied, self.room) = (0, 0);
        Ok(())
    }

    /// Whether there was not enough room for this block and for the one before. It is asked once
    /// for each block.
    pub fn is_crowded(&mut self) -> bool {
        self.crowded = if std::mem::take(&mut self.overflowed) { self.crowded + 1 } else { 0 };
        self.crowded > 1
    }

    /// Whether it may hold records. After [`Recorded::flush_to_host`] it holds none until it takes them
    /// again.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.room > 0
    }

    /// Forgets which chunks the host's copy has, after all records were flushed.
    pub fn forget_chunks(&mut self) {
        self.current.forget_chunks();
    }

    /// Takes records again.
    pub fn resume(&mut self) {
        self.room = self.capacity;
    }
}

#[cfg(test)]
mod tests {
    use kyoho_core::CHUNK;

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
        recorded.rotate_buffers(&mut sources, &Threads::alone()).unwrap();
        assert_eq!((recorded.fresh().len(), recorded.read(299)), (0, None));
        assert!(recorded.take(5, &source(4.0), &sources));
        assert!(recorded.take(300, &source(5.0), &sources) && recorded.take(5, &source(6.0), &sources));
        assert_eq!(addresses(recorded.fresh()), [5, 300]);
        assert_eq!((recorded.read(5), recorded.read(300)), (Some(source(6.0)), Some(source(5.0))));
        recorded.write_back_sent(&mut sources, &Threads::alone()).unwrap();
        let masses = [5, 299, 300].map(|address| sources.read(address).unwrap().mass);
        assert_eq!(masses, [3.0; 3], "what is sent is not what is written now");
    }

    #[test]
    fn a_record_that_was_sent_is_applied_with_the_next_ones_unless_its_address_is_among_them() {
        let (mut recorded, mut sources) = (Recorded::new(40, 4).unwrap(), sources(1));
        let mass = |sources: &Sources, address: usize| sources.read(address).map(|source| source.mass);
        for block in [1.0, 2.0, 3.0] {
            assert!(recorded.take(1, &source(block), &sources));
            assert!(recorded.take(10 + block as usize, &source(block), &sources));
            recorded.rotate_buffers(&mut sources, &Threads::alone()).unwrap();
        }
        assert_eq!([1, 11, 12, 13].map(|address| mass(&sources, address)), [None, Some(1.0), Some(2.0), None]);
        let mut unapplied: Vec<u32> = recorded.unapplied().collect();
        unapplied.sort_unstable();
        assert_eq!(unapplied, [1, 13]);
        recorded.write_back_sent(&mut sources, &Threads::alone()).unwrap();
        assert_eq!([1, 13].map(|address| mass(&sources, address)), [Some(3.0), Some(3.0)]);
        assert_eq!(recorded.unapplied().count(), 0);
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
        recorded.flush_to_host(&mut sources, &Threads::alone()).unwrap();
        assert_eq!(sources.read(8), Some(source(2.0)));
        assert!(matches!(sources.written(), kyoho_core::Written::Addresses([9, 8, 7])));
        assert!(!recorded.take(9, &source(3.0), &sources), "it is closed until the next block");
        recorded.rotate_buffers(&mut sources, &Threads::alone()).unwrap();
        assert!(recorded.take(9, &source(3.0), &sources));
    }

    #[test]
    fn many_addresses_get_places_together_or_none() {
        let (mut recorded, sources) = (Recorded::new(40, 4).unwrap(), sources(2));
        assert!(recorded.take(9, &source(1.0), &sources));
        for refused in [&[5, 300, 5][..], &[5, 9], &[5, 2 * CHUNK]] {
            assert!(recorded.places(refused.iter().copied(), &sources).is_none(), "{refused:?}");
            assert_eq!(addresses(recorded.fresh()), [9], "{refused:?}");
        }
        for mass in [2.0, 3.0] {
            let (addresses, lines) = recorded.places([300, 5].into_iter(), &sources).unwrap();
            assert_eq!(addresses, [300, 5]);
            lines.iter_mut().zip([300, 5]).for_each(|(line, address)| {
                records::write(std::slice::from_mut(line), address, &source(mass));
            });
            assert_eq!(recorded.read(5), Some(source(mass)));
            recorded.withdraw(2);
            assert_eq!((recorded.read(5), recorded.read(9)), (None, Some(source(1.0))));
        }
    }

    #[test]
    fn an_address_written_after_it_was_applied_is_applied_again() {
        let (mut recorded, mut sources) = (Recorded::new(40, 4).unwrap(), sources(1));
        (0..6).for_each(|address| assert!(recorded.take(address, &source(1.0), &sources)));
        recorded.write_back_current(&mut sources, &Threads::alone()).unwrap();
        assert_eq!(recorded.unapplied().count(), 0);
        [0, 3, 5, 3, 9].into_iter().for_each(|address| assert!(recorded.take(address, &source(2.0), &sources)));
        let mut unapplied: Vec<u32> = recorded.unapplied().collect();
        unapplied.sort_unstable();
        assert_eq!(unapplied, [0, 3, 5, 9]);
        assert_eq!(addresses(recorded.fresh()), [0, 1, 2, 3, 4, 5, 9]);
        recorded.write_back_current(&mut sources, &Threads::alone()).unwrap();
        let masses: Vec<f64> = [0, 1, 2, 3, 4, 5, 9].map(|address| sources.read(address).unwrap().mass).to_vec();
        assert_eq!(masses, [2.0, 1.0, 1.0, 2.0, 1.0, 2.0, 2.0]);
        assert_eq!(recorded.fresh().iter().map(|record| record.source().mass).sum::<f64>(), 11.0);
    }
}
