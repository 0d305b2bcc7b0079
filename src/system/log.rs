//! The latest sources as records, for devices that have a copy of all sources: the host's copy follows while they work.
//!
//! One buffer takes what is written, the other is what the devices of the block under way may still read. A record waits
//! until it is sent to the devices, and until it is *settled* in the host's copy; some are settled before they are sent.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Result};

use super::slices::{CHUNK, chunk_of};
use super::sources::{Record, Source, Sources};

const PAGE: usize = 4096;
const RECORDS_OF_PAGE: usize = PAGE / size_of::<Record>();

/// Devices make memory fast to read by the page.
#[repr(C, align(4096))]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Page([Record; RECORDS_OF_PAGE]);

/// What the log knows of `CHUNKS` chunks. The bits are few enough to be near whatever is written.
#[derive(Clone, Copy, Zeroable)]
#[repr(C)]
struct Group {
    /// Whether the host's copy has a chunk.
    known: u64,
    /// Whether there is a record of an address.
    logged: [u64; CHUNKS * CHUNK / 64],
    /// Where it is, for those that were numbered.
    places: [u32; CHUNKS * CHUNK],
}

/// Chunks of a group.
const CHUNKS: usize = 64;
/// Addresses of a group.
const ADDRESSES: usize = CHUNKS * CHUNK;

/// What was written since the last block, at most once for each address, and what was sent for that block.
pub struct Log {
    current: Box<[Page]>,
    sent: Box<[Page]>,
    capacity: usize,
    /// Records that the current buffer takes: none while sources are written to the host's copy.
    room: usize,
    /// Records in the current buffer.
    length: usize,
    /// So many of the first are settled.
    settled: usize,
    /// So many of the first are numbered: it is done when an address is written again, which most never are.
    numbered: usize,
    groups: Vec<Option<Box<Group>>>,
}

fn buffer(capacity: usize) -> Result<Box<[Page]>> {
    let pages = capacity.div_ceil(RECORDS_OF_PAGE);
    let no_memory = |()| Error::OutOfMemory { what: "records of sources", bytes: pages.saturating_mul(PAGE) };
    let mut buffer: Box<[Page]> = bytemuck::try_zeroed_slice_box(pages).map_err(no_memory)?;
    // A page that was never written is not there yet.
    buffer.iter_mut().for_each(|page| page.0[0].address = u32::MAX);
    Ok(buffer)
}

fn records(buffer: &[Page]) -> &[Record] {
    bytemuck::cast_slice(buffer)
}

fn records_mut(buffer: &mut [Page]) -> &mut [Record] {
    bytemuck::cast_slice_mut(buffer)
}

impl Log {
    /// An empty log that takes so many records.
    pub fn new(capacity: usize) -> Result<Log> {
        Ok(Log {
            current: buffer(capacity)?,
            sent: buffer(capacity)?,
            capacity,
            room: capacity,
            length: 0,
            settled: 0,
            numbered: 0,
            groups: Vec::new(),
        })
    }

    /// The memory that records are sent from.
    pub fn buffers(&self) -> [&[Record]; 2] {
        [records(&self.current), records(&self.sent)]
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        (self.current.len() + self.sent.len()) * PAGE
            + self.groups.capacity() * size_of::<Option<Box<Group>>>()
            + self.groups.iter().flatten().count() * size_of::<Group>()
    }

    /// What was written since the last block, each address once.
    pub fn fresh(&self) -> &[Record] {
        &records(&self.current)[..self.length]
    }

    /// Those of [`Log::fresh`] that the host's copy has not.
    pub fn unsettled(&self) -> &[Record] {
        &self.fresh()[self.settled..]
    }

    /// The source at an address, if it was written since the last block.
    pub fn read(&mut self, address: usize) -> Option<Source> {
        let logged = self.groups.get(address / ADDRESSES)?.as_ref()?.logged[address % ADDRESSES / 64];
        (logged >> (address % 64) & 1 == 1).then(|| {
            let place = self.place(address);
            self.fresh()[place].source()
        })
    }

    /// Takes the source at an address. Where it cannot, as the log is full or the host's copy has no such chunk yet, it
    /// says no, and the source has to be written there.
    #[inline]
    pub fn take(&mut self, address: usize, source: &Source, sources: &Sources) -> bool {
        let known = |group: &&mut Box<Group>| group.known >> (chunk_of(address) % CHUNKS) & 1 == 1;
        let group = self.groups.get_mut(address / ADDRESSES).and_then(Option::as_mut);
        let Some(group) = group.filter(known) else {
            return self.learn(chunk_of(address), sources) && self.take(address, source, sources);
        };
        let word = &mut group.logged[address % ADDRESSES / 64];
        let bit = 1 << (address % 64);
        let place = match *word & bit {
            0 if self.length < self.room => {
                *word |= bit;
                self.length += 1;
                self.length - 1
            }
            0 => return false,
            _ => self.place_of_unsettled(address),
        };
        records_mut(&mut self.current)[place] = Record::new(address as u32, source);
        true
    }

    /// Takes records of a chunk from now on, if the host's copy has it.
    #[cold]
    fn learn(&mut self, chunk: usize, sources: &Sources) -> bool {
        let number = chunk / CHUNKS;
        if sources.chunk(chunk).is_none() {
            return false;
        }
        if number >= self.groups.len() {
            if self.groups.try_reserve(number + 1 - self.groups.len()).is_err() {
                return false;
            }
            self.groups.resize_with(number + 1, || None);
        }
        let group = &mut self.groups[number];
        if group.is_none() {
            *group = bytemuck::try_zeroed_box().ok();
        }
        group.as_mut().is_some_and(|group| {
            group.known |= 1 << (chunk % CHUNKS);
            true
        })
    }

    fn group(&mut self, address: usize) -> &mut Group {
        self.groups[address / ADDRESSES].as_mut().expect("an address that has a record has a group")
    }

    /// Where the record of an address is that has one.
    #[cold]
    fn place(&mut self, address: usize) -> usize {
        for place in self.numbered..self.length {
            let address = self.fresh()[place].address as usize;
            self.group(address).places[address % ADDRESSES] = place as u32;
        }
        self.numbered = self.length;
        self.group(address).places[address % ADDRESSES] as usize
    }

    /// The same, behind those that are settled: a record that is written again is settled no more.
    #[cold]
    fn place_of_unsettled(&mut self, address: usize) -> usize {
        let place = self.place(address);
        if place >= self.settled {
            return place;
        }
        self.settled -= 1;
        let last = self.settled;
        records_mut(&mut self.current).swap(place, last);
        let moved = self.fresh()[place].address as usize;
        self.group(moved).places[moved % ADDRESSES] = place as u32;
        self.group(address).places[address % ADDRESSES] = last as u32;
        last
    }

    /// Brings the host's copy up to date; the records are still to be sent.
    pub fn settle(&mut self, sources: &mut Sources) -> Result<()> {
        self.unsettled().iter().try_for_each(|record| sources.put(record.address as usize, &record.source()))?;
        self.settled = self.length;
        Ok(())
    }

    /// Every device was sent the records: takes the next ones elsewhere, and brings the host's copy up to date.
    pub fn sent(&mut self, sources: &mut Sources) -> Result<()> {
        self.settle(sources)?;
        self.clear(self.capacity);
        std::mem::swap(&mut self.current, &mut self.sent);
        Ok(())
    }

    /// Leaves all to the host's copy, where devices will fetch it, and takes no more before [`Log::sent`] or [`Log::reopen`].
    pub fn dissolve(&mut self, sources: &mut Sources) -> Result<()> {
        self.settle(sources)?;
        self.fresh().iter().for_each(|record| sources.note_written(record.address as usize));
        self.clear(0);
        Ok(())
    }

    /// Takes records again.
    pub fn reopen(&mut self) {
        self.room = self.capacity;
    }

    fn clear(&mut self, room: usize) {
        for place in 0..self.length {
            let address = self.fresh()[place].address as usize;
            self.group(address).logged[address % ADDRESSES / 64] = 0;
        }
        (self.length, self.settled, self.numbered, self.room) = (0, 0, 0, room);
    }
}

#[cfg(test)]
mod tests {
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

    fn addresses(records: &[Record]) -> Vec<u32> {
        let mut addresses: Vec<u32> = records.iter().map(|record| record.address).collect();
        addresses.sort_unstable();
        addresses
    }

    #[test]
    fn an_address_written_again_keeps_one_record() {
        let (mut log, mut sources) = (Log::new(40).unwrap(), sources(2));
        for mass in [1.0, 2.0, 3.0] {
            for address in [300, 5, 299] {
                assert!(log.take(address, &source(mass), &sources));
            }
        }
        assert_eq!(addresses(log.fresh()), [5, 299, 300]);
        assert_eq!(log.read(299), Some(source(3.0)));
        assert_eq!(log.read(6), None);
        log.sent(&mut sources).unwrap();
        assert_eq!((log.fresh().len(), log.read(299)), (0, None));
        assert_eq!(sources.read(299), Some(source(3.0)));
        assert!(log.take(5, &source(4.0), &sources));
        assert!(log.take(300, &source(5.0), &sources) && log.take(5, &source(6.0), &sources));
        assert_eq!(addresses(log.fresh()), [5, 300]);
        assert_eq!((log.read(5), log.read(300)), (Some(source(6.0)), Some(source(5.0))));
        assert_eq!(sources.read(5), Some(source(3.0)), "what is sent is not what is written now");
    }

    #[test]
    fn it_takes_no_more_than_it_has_room_for_and_nothing_of_unknown_chunks() {
        let (mut log, mut sources) = (Log::new(3).unwrap(), sources(1));
        assert!(!log.take(CHUNK, &source(1.0), &sources) && !log.take(ADDRESSES, &source(1.0), &sources));
        let taken: Vec<bool> = [9, 8, 7, 6, 8].map(|address| log.take(address, &source(2.0), &sources)).to_vec();
        assert_eq!(taken, [true, true, true, false, true]);
        log.dissolve(&mut sources).unwrap();
        assert_eq!(sources.read(8), Some(source(2.0)));
        assert!(matches!(sources.written(), super::super::Written::Addresses([9, 8, 7])));
        assert!(!log.take(9, &source(3.0), &sources), "it is closed until the next block");
        log.sent(&mut sources).unwrap();
        assert!(log.take(9, &source(3.0), &sources));
    }

    #[test]
    fn what_is_written_after_it_was_settled_is_settled_again() {
        let (mut log, mut sources) = (Log::new(40).unwrap(), sources(1));
        (0..6).for_each(|address| assert!(log.take(address, &source(1.0), &sources)));
        log.settle(&mut sources).unwrap();
        assert_eq!(log.unsettled().len(), 0);
        [0, 3, 5, 3, 9].into_iter().for_each(|address| assert!(log.take(address, &source(2.0), &sources)));
        assert_eq!(addresses(log.unsettled()), [0, 3, 5, 9]);
        assert_eq!(addresses(log.fresh()), [0, 1, 2, 3, 4, 5, 9]);
        log.settle(&mut sources).unwrap();
        let masses: Vec<f64> = [0, 1, 2, 3, 4, 5, 9].map(|address| sources.read(address).unwrap().mass).to_vec();
        assert_eq!(masses, [2.0, 1.0, 1.0, 2.0, 1.0, 2.0, 2.0]);
        assert_eq!(log.fresh().iter().map(|record| record.mass).sum::<f64>(), 11.0);
    }

    #[test]
    fn buffers_begin_at_pages() {
        let log = Log::new(100).unwrap();
        for buffer in log.buffers() {
            assert!(buffer.len() >= 100 && buffer.as_ptr().addr().is_multiple_of(PAGE));
        }
    }
}
