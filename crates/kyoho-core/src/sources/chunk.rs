//! Sources at consecutive addresses, in octets.

use super::{Body, IndexRange, MAX_COEFFICIENTS, Source};
use crate::units::{Census, Sizes};
use crate::{CHUNK, Error, Result};

/// The number of consecutive sources whose values of a quantity stand together: as many as the
/// widest vector holds doubles.
pub const OCTET: usize = 8;

/// A row of an octet: the values of one quantity.
pub type Row = [f64; OCTET];

/// The rows of an octet: the times, the masses, then the components of the Taylor coefficients.
pub const TIME: usize = 0;
/// See [`TIME`].
pub const MASS: usize = 1;
/// See [`TIME`]: component `c` of coefficient `k` is row `TAYLOR + 3 k + c`.
pub const TAYLOR: usize = 2;

/// `CHUNK` consecutive addresses in octets. One source is written to few pages, and all are read in
/// one stream.
pub struct Chunk {
    rows: Box<[Row]>,
    index: [i32; CHUNK],
    range: IndexRange,
    set: [u64; CHUNK / 64],
    /// The sizes, by which units are chosen, of each source that is here or will be put here.
    pub(super) sizes: [Sizes; CHUNK],
    pub(super) stamp: u64,
}

impl Chunk {
    /// Makes a chunk of places without sources.
    #[inline]
    pub fn new(n_coefficients: usize) -> Result<Chunk> {
        let length = (TAYLOR + 3 * n_coefficients) * (CHUNK / OCTET);
        let rows = bytemuck::try_zeroed_slice_box(length)
            .map_err(|()| Error::OutOfMemory { what: "sources", bytes: length * size_of::<Row>() })?;
        Ok(Chunk {
            rows,
            index: [0; CHUNK],
            range: IndexRange::EMPTY,
            set: [0; CHUNK / 64],
            sizes: [Sizes::default(); CHUNK],
            stamp: 0,
        })
    }

    /// Iterates over the octets, each of `TAYLOR + 3 * n_coefficients` rows.
    #[inline]
    pub fn octets(&self) -> impl ExactSizeIterator<Item = &[Row]> {
        self.rows.chunks_exact(self.rows.len() / (CHUNK / OCTET))
    }

    /// Returns the sources' indices.
    #[inline]
    pub fn indices(&self) -> &[i32; CHUNK] {
        &self.index
    }

    /// Returns a range that holds the indices of all sources that were ever written here.
    #[inline]
    pub fn index_range(&self) -> IndexRange {
        self.range
    }

    /// Whether the caller has ever written this place.
    #[inline]
    pub fn is_set(&self, place: usize) -> bool {
        self.set[place / 64] >> (place % 64) & 1 == 1
    }

    /// Returns the number of places that the caller has ever written.
    #[inline]
    pub fn count(&self) -> usize {
        self.set.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the caller has written each of the first `count` places.
    #[inline]
    pub fn all_set(&self, count: usize) -> bool {
        (0..count.div_ceil(64)).all(|word| {
            let wanted = match count - 64 * word {
                64.. => u64::MAX,
                bits => (1 << bits) - 1,
            };
            self.set[word] & wanted == wanted
        })
    }

    /// Returns a number that changes whenever a source of this chunk is written, and that no other
    /// state of it ever had.
    #[inline]
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Forgets all sources.
    #[inline]
    pub fn clear(&mut self) {
        (self.range, self.set) = (IndexRange::EMPTY, [0; CHUNK / 64]);
    }

    /// Writes the source at a place, and the stamp of the chunk with it.
    #[inline]
    pub fn write(&mut self, place: usize, source: &Source, stamp: u64) {
        let rows = self.rows.len() / (CHUNK / OCTET);
        let octet = &mut self.rows[place / OCTET * rows..][..rows];
        let lane = place % OCTET;
        octet[TIME][lane] = source.time;
        octet[MASS][lane] = source.mass;
        for (row, component) in octet[TAYLOR..].iter_mut().zip(source.coefficients.iter().flatten()) {
            row[lane] = *component;
        }
        self.index[place] = source.index;
        self.range = self.range.with(source.index);
        self.set[place / 64] |= 1 << (place % 64);
        self.stamp = stamp;
    }

    /// Writes the sources of the first places, of which so many coefficients are kept, in the place
    /// of all that are here, and adds their sizes to counts.
    #[inline]
    pub fn replace_all(
        &mut self,
        sources: impl ExactSizeIterator<Item = Source>,
        n_coefficients: usize,
        counts: &mut [[u32; 4]],
    ) {
        let stamp = self.stamp;
        self.clear();
        for (place, source) in sources.enumerate() {
            self.write(place, &source, stamp);
            let sizes = Census::sizes_of(source.mass, &source.coefficients[..n_coefficients]);
            self.sizes[place] = sizes;
            (0..4).for_each(|quantity| counts[usize::from(sizes[quantity])][quantity] += 1);
        }
    }

    /// Returns the body at a place as it was written.
    #[inline]
    pub(super) fn body(&self, place: usize) -> Body {
        let rows = self.rows.len() / (CHUNK / OCTET);
        let octet = &self.rows[place / OCTET * rows..][..TAYLOR + 3];
        let at = |row: usize| octet[row][place % OCTET];
        Body { index: self.index[place], mass: at(MASS), position: std::array::from_fn(|k| at(TAYLOR + k)) }
    }

    pub(super) fn read(&self, place: usize) -> Source {
        let rows = self.rows.len() / (CHUNK / OCTET);
        let octet = &self.rows[place / OCTET * rows..][..rows];
        let lane = place % OCTET;
        let mut coefficients = [[0.0; 3]; MAX_COEFFICIENTS];
        for (component, row) in coefficients.iter_mut().flatten().zip(&octet[TAYLOR..]) {
            *component = row[lane];
        }
        Source { index: self.index[place], mass: octet[MASS][lane], time: octet[TIME][lane], coefficients }
    }
}
