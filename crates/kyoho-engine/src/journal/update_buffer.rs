//! Records of sources, at most one for each address, one after another in memory that devices may
//! read.

use bytemuck::Zeroable;

use kyoho_core::memory::{self, Pages};
use kyoho_core::{CHUNK, Record, RecordLine, Records, Result, Source, records};

/// Allocates memory for this many records, each of this many lines.
pub(super) fn pages(records: usize, lines_of_record: usize) -> Result<Pages> {
    let bytes = records.saturating_mul(lines_of_record * size_of::<RecordLine>());
    let mut pages = Pages::new(bytes, "records of sources")?;
    // The system provides a page only when it is first written.
    let source = Source::from_derivatives::<0>(0, 0.0, 0.0, []);
    let page = memory::PAGE / size_of::<RecordLine>();
    for lines in pages.as_mut_slice::<RecordLine>().chunks_mut(page) {
        records::write(&mut lines[..lines_of_record], u32::MAX, &source);
    }
    Ok(pages)
}

/// The table of the records of `CHUNKS` chunks. Its bits are few enough to stay in a near cache.
#[derive(Clone, Copy, Zeroable)]
#[repr(C)]
pub(super) struct Group {
    /// A bit for each chunk, for [`super::recorded::Recorded`]: whether the host's copy has the
    /// chunk.
    pub known: u64,
    /// A bit for each address: whether it has a record.
    present: [u64; CHUNKS * CHUNK / 64],
    /// The place of the record of each address, for records that were numbered.
    places: [u32; CHUNKS * CHUNK],
}

impl Group {
    /// Notes that there is a record of an address, and returns whether there was one.
    #[inline]
    pub fn note(&mut self, address: usize) -> bool {
        let word = &mut self.present[address % ADDRESSES / 64];
        let bit = 1 << (address % 64);
        let was_there = *word & bit != 0;
        *word |= bit;
        was_there
    }

    /// Notes that there is no record of an address any more.
    fn forget(&mut self, address: usize) {
        self.present[address % ADDRESSES / 64] &= !(1 << (address % 64));
    }

    /// Whether there is a record of an address.
    #[inline]
    pub fn has(&self, address: usize) -> bool {
        self.present[address % ADDRESSES / 64] >> (address % 64) & 1 == 1
    }
}

/// The number of chunks of a group.
pub(super) const CHUNKS: usize = 64;
/// The number of addresses of a group.
pub(super) const ADDRESSES: usize = CHUNKS * CHUNK;

/// The number of addresses whose bits are cleared one by one sooner than those of a group.
const FEW: usize = 32;

/// Records, and a table of the place of each address's record.
pub(super) struct UpdateBuffer {
    pages: Pages,
    lines_of_record: usize,
    /// The addresses of the records, which are read sooner here than in the records.
    addresses: Vec<u32>,
    /// The number of records that are numbered, which are the first ones. Records are numbered when
    /// an address comes again, which most never do.
    numbered: usize,
    groups: Vec<Option<Box<Group>>>,
}

impl UpdateBuffer {
    /// Makes room for this many records, each of this many lines.
    pub fn new(capacity: usize, lines_of_record: usize) -> Result<UpdateBuffer> {
        let pages = pages(capacity, lines_of_record)?;
        let mut addresses = Vec::new();
        let room = pages.as_slice::<RecordLine>().len() / lines_of_record;
        memory::reserve(&mut addresses, room, "addresses of records")?;
        Ok(UpdateBuffer { pages, lines_of_record, addresses, numbered: 0, groups: Vec::new() })
    }

    /// Returns all of the memory.
    pub fn pages(&self) -> &Pages {
        &self.pages
    }

    fn memory(&self) -> &[RecordLine] {
        self.pages.as_slice()
    }

    /// Returns the number of records that there is room for.
    pub fn capacity(&self) -> usize {
        self.memory().len() / self.lines_of_record
    }

    /// Returns the bytes in use.
    pub fn bytes(&self) -> usize {
        self.pages.bytes()
            + self.addresses.capacity() * 4
            + self.groups.capacity() * size_of::<Option<Box<Group>>>()
            + self.groups.iter().flatten().count() * size_of::<Group>()
    }

    /// Returns the records, each address once.
    #[inline]
    pub fn records(&self) -> Records<'_> {
        Records::new(&self.memory()[..self.len() * self.lines_of_record], self.lines_of_record)
    }

    /// Returns the number of records.
    #[inline]
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Returns the addresses of the records.
    pub fn addresses(&self) -> &[u32] {
        &self.addresses
    }

    /// Whether there is room for this many more.
    pub fn has_room(&self, count: usize) -> bool {
        self.len() + count <= self.capacity()
    }

    /// Returns the group of chunks that an address belongs to, if it is there.
    #[inline]
    pub fn group_mut(&mut self, address: usize) -> Option<&mut Group> {
        self.groups.get_mut(address / ADDRESSES)?.as_deref_mut()
    }

    /// Returns the group of chunks that an address belongs to, made if it is not there; `None`
    /// where there is no memory.
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

    /// Forgets which chunks the host's copy has.
    pub fn forget_chunks(&mut self) {
        self.groups.iter_mut().flatten().for_each(|group| group.known = 0);
    }

    /// Whether there is a record of an address.
    pub fn has(&self, address: usize) -> bool {
        self.groups.get(address / ADDRESSES).and_then(Option::as_ref).is_some_and(|group| group.has(address))
    }

    /// Returns the memory of the record at a place.
    #[inline]
    pub fn record_mut(&mut self, place: usize) -> &mut [RecordLine] {
        let lines: &mut [RecordLine] = self.pages.as_mut_slice();
        &mut lines[place * self.lines_of_record..][..self.lines_of_record]
    }

    /// Returns the addresses from a place on, and the memory of their records.
    pub fn last_mut(&mut self, first: usize) -> (&[u32], &mut [RecordLine]) {
        let records = first * self.lines_of_record..self.len() * self.lines_of_record;
        (&self.addresses[first..], &mut self.pages.as_mut_slice()[records])
    }

    /// Forgets the records from a place on.
    pub fn truncate(&mut self, count: usize) {
        for place in count..self.len() {
            let address = self.addresses[place] as usize;
            self.noted(address).forget(address);
        }
        self.addresses.truncate(count);
        self.numbered = self.numbered.min(count);
    }

    /// Returns the place of one more record, of an address that was noted. There is room for it.
    #[inline]
    pub fn one_more(&mut self, address: u32) -> usize {
        self.addresses.push(address);
        self.addresses.len() - 1
    }

    /// Returns the place of the record of an address that has one.
    #[cold]
    pub fn place(&mut self, address: usize) -> usize {
        for place in self.numbered..self.len() {
            self.number(place);
        }
        self.numbered = self.len();
        self.noted(address).places[address % ADDRESSES] as usize
    }

    /// Exchanges two records that are numbered.
    pub fn swap(&mut self, one: usize, other: usize) {
        let lines: &mut [RecordLine] = self.pages.as_mut_slice();
        for line in 0..self.lines_of_record {
            lines.swap(one * self.lines_of_record + line, other * self.lines_of_record + line);
        }
        self.addresses.swap(one, other);
        self.number(one);
        self.number(other);
    }

    fn number(&mut self, place: usize) {
        let address = self.addresses[place] as usize;
        self.noted(address).places[address % ADDRESSES] = place as u32;
    }

    fn noted(&mut self, address: usize) -> &mut Group {
        self.group_mut(address).expect("an address that has a record has a group")
    }

    /// Takes a record, in the place of one of the same address if there is one, and returns whether
    /// there was room.
    pub fn take(&mut self, record: Record) -> bool {
        let address = record.address() as usize;
        if self.group_mut(address).is_none() && self.make_group(address).is_none() {
            return false;
        }
        let is_full = self.len() == self.capacity();
        let group = self.noted(address);
        let place = if group.has(address) {
            self.place(address)
        } else if is_full {
            return false;
        } else {
            group.note(address);
            self.one_more(record.address())
        };
        self.record_mut(place).copy_from_slice(record.lines());
        true
    }

    /// Forgets all records.
    pub fn clear(&mut self) {
        self.clear_table();
        self.addresses.clear();
    }

    fn clear_table(&mut self) {
        if self.addresses.len() / FEW < self.groups.len() {
            for address in self.addresses.iter().map(|address| *address as usize) {
                if let Some(group) = &mut self.groups[address / ADDRESSES] {
                    group.present[address % ADDRESSES / 64] = 0;
                }
            }
        } else {
            self.groups.iter_mut().flatten().for_each(|group| group.present.fill(0));
        }
        self.numbered = 0;
    }

    /// Exchanges the pages and the addresses for others of the same length, and forgets all
    /// records.
    pub fn exchange(&mut self, pages: &mut Pages, addresses: &mut Vec<u32>) {
        debug_assert!(pages.bytes() == self.pages.bytes());
        self.clear_table();
        std::mem::swap(&mut self.pages, pages);
        std::mem::swap(&mut self.addresses, addresses);
        self.addresses.clear();
    }
}

#[cfg(test)]
mod tests {
    use kyoho_core::Source;

    use super::*;

    /// Takes the record of a source of this mass at an address.
    fn take(update_buffer: &mut UpdateBuffer, address: u32, mass: f64) -> bool {
        let source = Source::from_derivatives(1, mass, 0.0, [[0.0; 3]; 4]);
        let lines = records::lines(4 * update_buffer.lines_of_record, [(address, source)]);
        update_buffer.take(Records::new(&lines, update_buffer.lines_of_record).get(0))
    }

    fn found(update_buffer: &UpdateBuffer) -> Vec<(u32, f64)> {
        update_buffer.records().iter().map(|record| (record.address(), record.source().mass)).collect()
    }

    #[test]
    fn the_last_record_of_an_address_is_kept() {
        for lines_of_record in [1, 2] {
            let mut update_buffer = UpdateBuffer::new(32, lines_of_record).unwrap();
            for (address, mass) in [(7, 1.0), (90_000, 2.0), (7, 3.0), (8, 4.0), (90_000, 5.0)] {
                assert!(take(&mut update_buffer, address, mass));
            }
            assert_eq!(found(&update_buffer), [(7, 3.0), (90_000, 5.0), (8, 4.0)]);
            assert!(update_buffer.has(8) && !update_buffer.has(9));
            update_buffer.swap(0, 2);
            assert_eq!(found(&update_buffer), [(8, 4.0), (90_000, 5.0), (7, 3.0)]);
            update_buffer.clear();
            assert!(update_buffer.records().is_empty() && !update_buffer.has(8));
            assert!(take(&mut update_buffer, 8, 6.0));
            assert_eq!(found(&update_buffer), [(8, 6.0)]);
        }
    }

    #[test]
    fn a_full_one_takes_only_addresses_that_it_has() {
        let mut update_buffer = UpdateBuffer::new(1, 1).unwrap();
        let room = update_buffer.capacity() as u32;
        assert!((0..room).all(|address| take(&mut update_buffer, 3 * address, 0.0)));
        assert!(!take(&mut update_buffer, 1, 0.0) && take(&mut update_buffer, 3, 8.0));
        assert_eq!((update_buffer.len(), found(&update_buffer)[1]), (room as usize, (3, 8.0)));
    }

    #[test]
    fn memory_begins_at_a_page() {
        let update_buffer = UpdateBuffer::new(100, 1).unwrap();
        assert!(update_buffer.capacity() >= 100 && update_buffer.memory().as_ptr().addr().is_multiple_of(memory::PAGE));
    }
}
