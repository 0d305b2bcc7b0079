//! Records: sources on their way to devices, with the addresses to which they were written.

use bytemuck::{Pod, Zeroable};

use super::{MAX_COEFFICIENTS, Source};

/// A line of the memory of records. A record has one line, or two where there are more than four
/// Taylor coefficients: words with the time, the mass and the Taylor coefficients, and in the last
/// word but one the index and the address.
#[repr(C, align(128))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct RecordLine([u64; RECORD_WORDS]);

/// The number of words of Taylor coefficients that a line has room for.
const LINE_OF_COEFFICIENTS: usize = 12;

/// The number of words of 64 bits in a line.
pub const RECORD_WORDS: usize = 16;

/// The bits of the numbers of a source with at most four Taylor coefficients, as its record has
/// them: time, mass, and the components of the coefficients.
pub type Numbers = [u64; LINE_OF_COEFFICIENTS + 2];

/// Returns the bits of the numbers of a source.
#[inline(always)]
pub fn numbers(mass: f64, time: f64, coefficients: [[f64; 3]; 4]) -> Numbers {
    let [[x, y, z], [vx, vy, vz], [ax, ay, az], [jx, jy, jz]] = coefficients;
    // Written out, so that the numbers stay in registers.
    [time, mass, x, y, z, vx, vy, vz, ax, ay, az, jx, jy, jz].map(f64::to_bits)
}

impl RecordLine {
    /// Becomes the record of a source at an address.
    #[inline(always)]
    pub fn set(&mut self, address: u32, index: i32, numbers: Numbers) {
        let RecordLine(words) = self;
        for (place, number) in numbers.into_iter().enumerate() {
            words[place] = number;
        }
        words[index_word(RECORD_WORDS)] = u64::from(address) << 32 | u64::from(index.cast_unsigned());
    }
}

/// Returns the number of lines of the record of a source with this many Taylor coefficients.
#[inline]
pub const fn lines_of_record(n_coefficients: usize) -> usize {
    (2 + 3 * n_coefficients + 2).div_ceil(RECORD_WORDS)
}

/// Returns the place of the word that holds the index and, in its upper half, the address.
#[inline]
pub const fn index_word(words: usize) -> usize {
    words - 2
}

/// Writes the record of a source at an address to its lines.
#[inline]
pub fn write(lines: &mut [RecordLine], address: u32, source: &Source) {
    match lines {
        [RecordLine(words)] => put(words, address, source),
        lines => {
            let words: &mut [u64] = bytemuck::cast_slice_mut(lines);
            let words: &mut [u64; 2 * RECORD_WORDS] = words.try_into().expect("a record has one line or two");
            put(words, address, source);
        }
    }
}

#[inline(always)]
fn put<const WORDS: usize>(words: &mut [u64; WORDS], address: u32, source: &Source) {
    words[0] = source.time.to_bits();
    words[1] = source.mass.to_bits();
    // As many at a time as a compiler copies without a call.
    let coefficients: &[[u64; LINE_OF_COEFFICIENTS]] = bytemuck::cast_slice(&source.coefficients);
    for (words, coefficients) in words[2..].chunks_exact_mut(LINE_OF_COEFFICIENTS).zip(coefficients) {
        words.copy_from_slice(coefficients);
    }
    words[index_word(WORDS)] = u64::from(address) << 32 | u64::from(source.index.cast_unsigned());
}

/// The record of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a>(&'a [RecordLine]);

impl Record<'_> {
    /// Returns the address to which the source was written.
    #[inline]
    pub fn address(&self) -> u32 {
        let words: &[u64] = bytemuck::cast_slice(self.0);
        (words[index_word(words.len())] >> 32) as u32
    }

    /// Returns the source.
    #[inline]
    pub fn source(&self) -> Source {
        let words: &[u64] = bytemuck::cast_slice(self.0);
        let mut coefficients = [[0.0; 3]; MAX_COEFFICIENTS];
        let given = &words[2..index_word(words.len())];
        for (component, word) in coefficients.as_flattened_mut().iter_mut().zip(given) {
            *component = f64::from_bits(*word);
        }
        let index = (words[index_word(words.len())] as u32).cast_signed();
        Source { index, mass: f64::from_bits(words[1]), time: f64::from_bits(words[0]), coefficients }
    }
}

/// Records, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Records<'a> {
    lines: &'a [RecordLine],
    lines_of_record: usize,
}

impl<'a> Records<'a> {
    /// No records.
    pub const NONE: Records<'static> = Records { lines: &[], lines_of_record: 1 };

    /// Returns all records in some memory, each of this many lines.
    #[inline]
    pub fn new(lines: &'a [RecordLine], lines_of_record: usize) -> Records<'a> {
        debug_assert!(lines.len().is_multiple_of(lines_of_record));
        Records { lines, lines_of_record }
    }

    /// Returns the number of records.
    #[inline]
    pub fn len(&self) -> usize {
        self.lines.len() / self.lines_of_record
    }

    /// Whether there are no records.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the record at a place.
    #[inline]
    pub fn get(&self, place: usize) -> Record<'a> {
        Record(&self.lines[place * self.lines_of_record..][..self.lines_of_record])
    }

    /// Iterates over the records.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Record<'a>> + Clone + use<'a> {
        self.lines.chunks_exact(self.lines_of_record).map(Record)
    }

    /// Returns the records before a place, and those from it on.
    #[inline]
    pub fn split_at(&self, place: usize) -> [Records<'a>; 2] {
        let (first, rest) = self.lines.split_at(place * self.lines_of_record);
        [first, rest].map(|lines| Records { lines, ..*self })
    }

    /// Returns the memory of the records.
    #[inline]
    pub fn lines(&self) -> &'a [RecordLine] {
        self.lines
    }

    /// Returns the number of words of 64 bits in each record.
    #[inline]
    pub fn words(&self) -> usize {
        self.lines_of_record * RECORD_WORDS
    }
}

impl<'a> Record<'a> {
    /// Returns the memory of the record.
    #[inline]
    pub fn lines(&self) -> &'a [RecordLine] {
        self.0
    }
}

/// Returns the lines of the records of some sources, given with their addresses, that have this
/// many Taylor coefficients.
#[inline]
pub fn lines(n_coefficients: usize, sources: impl IntoIterator<Item = (u32, Source)>) -> Vec<RecordLine> {
    let mut lines = Vec::new();
    for (address, source) in sources {
        let first = lines.len();
        lines.resize(first + lines_of_record(n_coefficients), RecordLine::zeroed());
        write(&mut lines[first..], address, &source);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_gives_back_the_source_and_the_address_of_every_order() {
        for count in [1, 4, 6, 8] {
            let place = |number: u32| std::array::from_fn(|k| f64::from(number) + 0.5 * k as f64);
            let source = |number: u32| {
                let mut coefficients = [[0.0; 3]; MAX_COEFFICIENTS];
                coefficients[..count].iter_mut().zip(1..).for_each(|(vector, k)| *vector = place(10 * k + number));
                Source { index: i32::MIN + number as i32, mass: -2.0, time: 0.25, coefficients }
            };
            let addresses = [7, u32::MAX, 0];
            let lines = lines(count, addresses.map(|address| (address, source(address % 5))));
            let records = Records::new(&lines, lines_of_record(count));
            assert_eq!(records.len(), 3);
            for (record, address) in records.iter().zip(addresses) {
                assert_eq!((record.address(), record.source()), (address, source(address % 5)));
            }
            let [first, rest] = records.split_at(1);
            assert_eq!([first.len(), rest.len()], [1, 2]);
            assert_eq!(rest.get(0), records.get(1));
        }
    }
}
