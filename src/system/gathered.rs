//! Records of sources, at most one for each address, one after another in memory that devices may read.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Result};

use super::slices::CHUNK;
use super::sources::Record;

pub(super) const PAGE: usize = 4096;
const RECORDS_OF_PAGE: usize = PAGE / size_of::<Record>();

/// Devices make memory fast to read by the page.
#[repr(C, align(4096))]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Page([Record; RECORDS_OF_PAGE]);

/// Whole pages for so many records.
pub(super) fn pages(records: usize) -> Result<Box<[Page]>> {
    let pages = records.div_ceil(RECORDS_OF_PAGE);
    let no_memory = |()| Error::OutOfMemory { what: "records of sources", bytes: pages.saturating_mul(PAGE) };
    let mut buffer: Box<[Page]> = bytemuck::try_zeroed_slice_box(pages).map_err(no_memory)?;
    // A page that was never written is not there yet.
    buffer.iter_mut().for_each(|page| page.0[0].address = u32::MAX);
    Ok(buffer)
}

/// The records of pages.
pub(super) fn records(pages: &[Page]) -> &[Record] {
    bytemuck::cast_slice(pages)
}

/// What is known of `CHUNKS` chunks. The bits are few enough to be near whatever is written.
#[derive(Clone, Copy, Zeroable)]
#[repr(C)]
pub(super) struct Group {
    /// A bit for each chunk, for whoever gathers.
    pub known: u64,
    /// Whether there is a record of an address.
    gathered: [u64; CHUNKS * CHUNK / 64],
    /// Where it is, for those that were numbered.
    places: [u32; CHUNKS * CHUNK],
}

impl Group {
    /// Notes that there is a record of an address; whether there was one.
    #[inline]
    pub fn note(&mut self, address: usize) -> bool {
        let word = &mut self.gathered[address % ADDRESSES / 64];
        let bit = 1 << (address % 64);
        let was_there = *word & bit != 0;
        *word |= bit;
        was_there
    }

    /// Whether there is a record of an address.
    #[inline]
    pub fn has(&self, address: usize) -> bool {
        self.gathered[address % ADDRESSES / 64] >> (address % 64) & 1 == 1
    }
}

/// Chunks of a group.
pub(super) const CHUNKS: usize = 64;
/// Addresses of a group.
pub(super) const ADDRESSES: usize = CHUNKS * CHUNK;

/// Records, and where each address has its own.
pub(super) struct Gathered {
    pages: Box<[Page]>,
    /// Records in use.
    length: usize,
    /// So many of the first are numbered: it is done when an address comes again, which most never do.
    numbered: usize,
    groups: Vec<Option<Box<Group>>>,
}

impl Gathered {
    /// Room for so many records.
    pub fn new(capacity: usize) -> Result<Gathered> {
        Ok(Gathered { pages: pages(capacity)?, length: 0, numbered: 0, groups: Vec::new() })
    }

    /// All of the memory.
    pub fn memory(&self) -> &[Record] {
        records(&self.pages)
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.pages.len() * PAGE
            + self.groups.capacity() * size_of::<Option<Box<Group>>>()
            + self.groups.iter().flatten().count() * size_of::<Group>()
    }

    /// The records, each address once.
    #[inline]
    pub fn records(&self) -> &[Record] {
        &self.memory()[..self.length]
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is room for so many more.
    pub fn has_room(&self, count: usize) -> bool {
        self.length + count <= self.memory().len()
    }

    /// What is known of the chunks that an address is among.
    #[inline]
    pub fn group_mut(&mut self, address: usize) -> Option<&mut Group> {
        self.groups.get_mut(address / ADDRESSES)?.as_deref_mut()
    }

    /// The same, made if it is not there and there is memory.
    #[cold]
    pub fn make_group(&mut self, address: usize) -> Option<&mut Group> {
        let number = address / ADDRESSES;
        if number >= self.groups.len() {
            self.groups.try_reserve(number + 1 - self.groups.len()).ok()?;
            self.groups.resize_with(number + 1, || None);
        }
        let group = &mut self.groups[number];
        if group.is_none() {
            *group = bytemuck::try_zeroed_box().ok();
        }
        group.as_deref_mut()
    }

    /// Whether there is a record of an address.
    pub fn has(&self, address: usize) -> bool {
        self.groups.get(address / ADDRESSES).and_then(Option::as_ref).is_some_and(|group| group.has(address))
    }

    /// Puts a record at a place.
    #[inline]
    pub fn put(&mut self, place: usize, record: Record) {
        bytemuck::cast_slice_mut(&mut self.pages)[place] = record;
    }

    /// The place of one more record, of an address that was noted.
    #[inline]
    pub fn one_more(&mut self) -> usize {
        self.length += 1;
        self.length - 1
    }

    /// Where the record of an address is that has one.
    #[cold]
    pub fn place(&mut self, address: usize) -> usize {
        for place in self.numbered..self.length {
            self.number(place);
        }
        self.numbered = self.length;
        self.noted(address).places[address % ADDRESSES] as usize
    }

    /// Exchanges two records that are numbered.
    pub fn swap(&mut self, one: usize, other: usize) {
        bytemuck::cast_slice_mut::<Page, Record>(&mut self.pages).swap(one, other);
        self.number(one);
        self.number(other);
    }

    fn number(&mut self, place: usize) {
        let address = self.records()[place].address as usize;
        self.noted(address).places[address % ADDRESSES] = place as u32;
    }

    fn noted(&mut self, address: usize) -> &mut Group {
        self.group_mut(address).expect("an address that has a record has a group")
    }

    /// Takes a record, in the place of one of the same address if there is one; whether there was room.
    pub fn take(&mut self, record: Record) -> bool {
        let address = record.address as usize;
        if self.group_mut(address).is_none() && self.make_group(address).is_none() {
            return false;
        }
        let is_full = self.length == self.memory().len();
        let group = self.noted(address);
        let place = match group.has(address) {
            true => self.place(address),
            false if is_full => return false,
            false => {
                group.note(address);
                self.one_more()
            }
        };
        self.put(place, record);
        true
    }

    /// Forgets all records.
    pub fn clear(&mut self) {
        for place in 0..self.length {
            let address = self.records()[place].address as usize;
            self.noted(address).gathered[address % ADDRESSES / 64] = 0;
        }
        (self.length, self.numbered) = (0, 0);
    }

    /// Goes on in other pages, of the same length; they take the place of those of before. There are no records.
    pub fn exchange(&mut self, other: &mut Box<[Page]>) {
        debug_assert!(self.length == 0 && other.len() == self.pages.len());
        std::mem::swap(&mut self.pages, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Source;

    fn record(address: u32, mass: f64) -> Record {
        Record::new(address, &Source::from_derivatives(1, mass, 0.0, [[0.0; 3]; 4]))
    }

    #[test]
    fn the_last_record_of_an_address_is_kept() {
        let mut gathered = Gathered::new(32).unwrap();
        for (address, mass) in [(7, 1.0), (90_000, 2.0), (7, 3.0), (8, 4.0), (90_000, 5.0)] {
            assert!(gathered.take(record(address, mass)));
        }
        let found: Vec<_> = gathered.records().iter().map(|record| (record.address, record.mass)).collect();
        assert_eq!(found, [(7, 3.0), (90_000, 5.0), (8, 4.0)]);
        assert!(gathered.has(8) && !gathered.has(9));
        gathered.clear();
        assert!(gathered.records().is_empty() && !gathered.has(8));
        assert!(gathered.take(record(8, 6.0)) && gathered.records()[0].mass == 6.0);
    }

    #[test]
    fn a_full_one_takes_only_addresses_that_it_has() {
        let mut gathered = Gathered::new(1).unwrap();
        let room = gathered.memory().len() as u32;
        assert!((0..room).all(|address| gathered.take(record(3 * address, 0.0))));
        assert!(!gathered.take(record(1, 0.0)) && gathered.take(record(3, 8.0)));
        assert_eq!((gathered.len(), gathered.records()[1].mass), (room as usize, 8.0));
    }

    #[test]
    fn memory_begins_at_a_page() {
        let gathered = Gathered::new(100).unwrap();
        assert!(gathered.memory().len() >= 100 && gathered.memory().as_ptr().addr().is_multiple_of(PAGE));
    }
}
