//! The host's copy of the sources: the truth that every device copies from.

use crate::catalogue::Bounds;
use crate::error::{Error, Result};

use super::slices::{CHUNK, chunk_of, chunks_below};

/// Taylor coefficients that a source can have: position, velocity, acceleration / 2, jerk / 6, snap / 24, crackle / 120, and
/// the next two derivatives of the position over 720 and 5040.
pub const MAX_TAYLOR: usize = 8;

/// A source (j-particle): a mass on a Taylor series in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Source {
    /// The caller's name for it; sinks with the same index do not feel it.
    pub index: i32,
    /// The mass.
    pub mass: f64,
    /// The time to which the coefficients belong.
    pub time: f64,
    /// `taylor[k]` is the k-th derivative of the position divided by k!: position, velocity, acceleration / 2, jerk / 6, ...
    pub taylor: [[f64; 3]; MAX_TAYLOR],
}

/// The factorials of the numbers of the coefficients.
const FACTORIALS: [f64; MAX_TAYLOR] = [1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0];

impl Source {
    /// A source from its plain derivatives, none of them divided: position, velocity, acceleration, jerk, ... Those that are
    /// not given are zero.
    pub fn from_derivatives<const N: usize>(index: i32, mass: f64, time: f64, derivatives: [[f64; 3]; N]) -> Source {
        let mut taylor = padded(derivatives);
        // Numbers that are known beforehand: the divisions are few and side by side.
        for k in 2..N {
            taylor[k] = taylor[k].map(|component| component / FACTORIALS[k]);
        }
        Source { index, mass, time, taylor }
    }
}

/// Vectors, and zeros behind them.
pub fn padded<const N: usize, const M: usize>(given: [[f64; 3]; N]) -> [[f64; 3]; M] {
    const { assert!(N <= M) };
    let mut all = [[0.0; 3]; M];
    all[..N].copy_from_slice(&given);
    all
}

/// A range that holds some indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexRange {
    lowest: i32,
    highest: i32,
}

impl IndexRange {
    /// The range of no index.
    pub const EMPTY: IndexRange = IndexRange { lowest: i32::MAX, highest: i32::MIN };

    /// The range, widened to hold one more index.
    pub fn with(self, index: i32) -> IndexRange {
        IndexRange { lowest: self.lowest.min(index), highest: self.highest.max(index) }
    }

    /// The lowest and the highest index; the lowest is above the highest where there is none.
    pub fn bounds(&self) -> [i32; 2] {
        [self.lowest, self.highest]
    }

    /// Whether some index may be in both.
    pub fn meets(&self, other: &IndexRange) -> bool {
        self.lowest <= other.highest && other.lowest <= self.highest
    }
}

/// Consecutive sources of which each quantity stands together, as wide as the widest vector of 64-bit numbers.
pub const OCTET: usize = 8;

/// A row of an octet.
pub type Row = [f64; OCTET];

/// Rows of an octet: the times, the masses, then the components of the Taylor coefficients.
pub const TIME: usize = 0;
/// See [`TIME`].
pub const MASS: usize = 1;
/// See [`TIME`]: component `c` of coefficient `k` is row `TAYLOR + 3 k + c`.
pub const TAYLOR: usize = 2;

/// `CHUNK` consecutive addresses in octets: near enough to write one source in few pages, and to read all in one stream.
pub struct Chunk {
    rows: Box<[Row]>,
    index: [i32; CHUNK],
    range: IndexRange,
    set: [u64; CHUNK / 64],
    stamp: u64,
}

impl Chunk {
    fn new(taylor: usize) -> Result<Chunk> {
        let length = (TAYLOR + 3 * taylor) * (CHUNK / OCTET);
        let rows = bytemuck::try_zeroed_slice_box(length)
            .map_err(|()| Error::OutOfMemory { what: "sources", bytes: length * size_of::<Row>() })?;
        Ok(Chunk { rows, index: [0; CHUNK], range: IndexRange::EMPTY, set: [0; CHUNK / 64], stamp: 0 })
    }

    /// The octets, each of them `TAYLOR + 3 * taylor` rows.
    pub fn octets(&self) -> impl ExactSizeIterator<Item = &[Row]> {
        self.rows.chunks_exact(self.rows.len() / (CHUNK / OCTET))
    }

    /// The sources' indices.
    pub fn indices(&self) -> &[i32; CHUNK] {
        &self.index
    }

    /// A range that holds the indices of all sources that were ever written here.
    pub fn index_range(&self) -> IndexRange {
        self.range
    }

    /// Whether the caller has ever written this place.
    pub fn is_set(&self, place: usize) -> bool {
        self.set[place / 64] >> (place % 64) & 1 == 1
    }

    /// Whether the caller has written each of the first `count` places.
    pub fn all_set(&self, count: usize) -> bool {
        (0..count.div_ceil(64)).all(|word| {
            let wanted = match count - 64 * word {
                64.. => u64::MAX,
                bits => (1 << bits) - 1,
            };
            self.set[word] & wanted == wanted
        })
    }

    /// A number that changes whenever a source of this chunk is written, and that no other state of it ever had.
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    fn write(&mut self, place: usize, source: &Source, stamp: u64) {
        let rows = self.rows.len() / (CHUNK / OCTET);
        let octet = &mut self.rows[place / OCTET * rows..][..rows];
        let lane = place % OCTET;
        octet[TIME][lane] = source.time;
        octet[MASS][lane] = source.mass;
        for (row, component) in octet[TAYLOR..].iter_mut().zip(source.taylor.iter().flatten()) {
            row[lane] = *component;
        }
        self.index[place] = source.index;
        self.range = self.range.with(source.index);
        self.set[place / 64] |= 1 << (place % 64);
        self.stamp = stamp;
    }

    /// Those of the source at a place.
    fn magnitudes(&self, place: usize) -> Magnitudes {
        let rows = self.rows.len() / (CHUNK / OCTET);
        let octet = &self.rows[place / OCTET * rows..][..rows];
        let lane = place % OCTET;
        let position = octet[TAYLOR..TAYLOR + 3].iter().fold(0.0f64, |largest, row| largest.max(row[lane].abs()));
        Magnitudes { position, mass: octet[MASS][lane].abs() }
    }

    fn read(&self, place: usize) -> Source {
        let rows = self.rows.len() / (CHUNK / OCTET);
        let octet = &self.rows[place / OCTET * rows..][..rows];
        let lane = place % OCTET;
        let mut taylor = [[0.0; 3]; MAX_TAYLOR];
        for (component, row) in taylor.iter_mut().flatten().zip(&octet[TAYLOR..]) {
            *component = row[lane];
        }
        Source { index: self.index[place], mass: octet[MASS][lane], time: octet[TIME][lane], taylor }
    }
}

/// The addresses written since the last block began: what a device with a copy of its own has to fetch.
pub enum Written<'a> {
    /// These, in the order of writing; an address written twice is named twice.
    Addresses(&'a [u32]),
    /// More than it pays to list: compare the chunks' stamps.
    Many,
}

/// Beyond this many written sources, whole chunks are cheaper to send than single sources.
const MANY: usize = 1 << 16;

/// All sources of a system, in chunks; a chunk that no source was written to takes no memory.
pub struct Sources {
    taylor: usize,
    chunks: Vec<Option<Box<Chunk>>>,
    stamp: u64,
    count: usize,
    written: Vec<u32>,
    everything: bool,
    /// Those of the sources, or larger ones where a source that had them was replaced.
    magnitudes: Magnitudes,
    may_be_less: bool,
}

/// The largest magnitudes of some sources.
#[derive(Debug, Clone, Copy, Default)]
struct Magnitudes {
    position: f64,
    mass: f64,
}

impl Magnitudes {
    fn with(self, source: &Source) -> Magnitudes {
        let position = source.taylor[0].iter().fold(self.position, |largest, value| largest.max(value.abs()));
        Magnitudes { position, mass: self.mass.max(source.mass.abs()) }
    }

    /// Whether they may become less where a source with some magnitudes is replaced by one with others.
    fn may_lose(self, before: Magnitudes, now: Magnitudes) -> bool {
        let loses = |largest: f64, before: f64, now: f64| before >= largest && now < before;
        loses(self.position, before.position, now.position) || loses(self.mass, before.mass, now.mass)
    }

    /// The binary exponent of the factor that brings masses and weights into bounds.
    fn wanted_exponent(self, bounds: &Bounds) -> i32 {
        if self.position == 0.0 || self.mass == 0.0 {
            return 0;
        }
        let exponent = |value: f64| (value.to_bits() >> 52) as i32 - 1023;
        let mass = exponent(self.mass);
        let weight = mass - 3 * exponent(self.position);
        let wanted = (bounds.weights.0 - weight).max(0) + (bounds.weights.1 - weight).min(0);
        wanted.clamp(bounds.masses.0 - mass, bounds.masses.1 - mass).clamp(-1000, 1000)
    }
}

impl Sources {
    /// No sources, each of which will have this many Taylor coefficients.
    pub fn new(taylor: usize) -> Sources {
        Sources {
            taylor,
            chunks: Vec::new(),
            stamp: 0,
            count: 0,
            written: Vec::new(),
            everything: false,
            magnitudes: Magnitudes::default(),
            may_be_less: false,
        }
    }

    /// What was written since [`Sources::forget_written`].
    pub fn written(&self) -> Written<'_> {
        match self.everything || self.written.len() >= MANY {
            false => Written::Addresses(&self.written),
            true => Written::Many,
        }
    }

    /// The devices of a block have fetched what was written; the others will compare stamps.
    pub fn forget_written(&mut self) {
        self.written.clear();
        self.everything = false;
    }

    /// There are devices that have fetched nothing yet.
    pub fn all_is_written(&mut self) {
        self.everything = true;
    }

    /// Devices have to fetch the source at an address.
    pub fn note_written(&mut self, address: usize) {
        if self.written.len() < MANY {
            self.written.push(address as u32);
        }
    }

    /// Devices may have to bear this source before it is put here.
    #[inline]
    pub fn note_magnitudes(&mut self, source: &Source) {
        self.magnitudes = self.magnitudes.with(source);
    }

    /// Something that was noted is there no more.
    pub fn forget_magnitudes(&mut self) {
        self.may_be_less = true;
    }

    /// The Taylor coefficients that are kept of a source.
    pub fn taylor(&self) -> usize {
        self.taylor
    }

    /// How many addresses were ever written.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        let chunk = size_of::<Chunk>() + (TAYLOR + 3 * self.taylor) * CHUNK * 8;
        let tables = self.chunks.capacity() * size_of::<Option<Box<Chunk>>>() + self.written.capacity() * 4;
        tables + self.chunks.iter().flatten().count() * chunk
    }

    /// The number of chunks that hold the written addresses below `nj`, gaps included.
    pub fn chunks_below(&self, nj: usize) -> usize {
        chunks_below(nj).min(self.chunks.len())
    }

    /// The chunk with this number, if any of its addresses was written.
    pub fn chunk(&self, chunk: usize) -> Option<&Chunk> {
        self.chunks.get(chunk)?.as_deref()
    }

    /// Writes the source at an address, which devices have to fetch.
    #[inline]
    pub fn write(&mut self, address: usize, source: &Source) -> Result<()> {
        self.put(address, source)?;
        self.note_written(address);
        Ok(())
    }

    /// Writes the source at an address, which devices have or will have by other ways.
    #[inline]
    pub fn put(&mut self, address: usize, source: &Source) -> Result<()> {
        let number = chunk_of(address);
        if number >= self.chunks.len() {
            let more = number + 1 - self.chunks.len();
            self.chunks.try_reserve(more).map_err(|_| Error::OutOfMemory {
                what: "the table of sources",
                bytes: (number + 1) * size_of::<Option<Box<Chunk>>>(),
            })?;
            self.chunks.resize_with(number + 1, || None);
        }
        let chunk = match &mut self.chunks[number] {
            Some(chunk) => chunk,
            empty => empty.insert(Box::new(Chunk::new(self.taylor)?)),
        };
        let place = address % CHUNK;
        let is_set = chunk.is_set(place);
        self.may_be_less |=
            is_set && self.magnitudes.may_lose(chunk.magnitudes(place), Magnitudes::default().with(source));
        self.count += usize::from(!is_set);
        self.stamp += 1;
        chunk.write(place, source, self.stamp);
        self.note_magnitudes(source);
        Ok(())
    }

    /// Whether what was written, here or elsewhere, may call for a factor other than 1. If so, all has to be here when
    /// the factor is asked for.
    pub fn may_need_mass_factor(&self, bounds: &Bounds) -> bool {
        self.magnitudes.wanted_exponent(bounds) != 0
    }

    /// The power of two with which masses are multiplied so that products with them stay in bounds.
    pub fn mass_factor(&mut self, bounds: &Bounds) -> f64 {
        if self.may_be_less && self.may_need_mass_factor(bounds) {
            let chunks = self.chunks.iter().flatten();
            self.magnitudes = chunks.fold(Magnitudes::default(), |largest, chunk| {
                (0..CHUNK).filter(|place| chunk.is_set(*place)).fold(largest, |largest, place| {
                    let Magnitudes { position, mass } = chunk.magnitudes(place);
                    Magnitudes { position: largest.position.max(position), mass: largest.mass.max(mass) }
                })
            });
            self.may_be_less = false;
        }
        match self.magnitudes.wanted_exponent(bounds) {
            0 => 1.0,
            exponent => f64::from(exponent).exp2(),
        }
    }

    /// Whether a source was written to an address.
    pub fn is_set(&self, address: usize) -> bool {
        self.chunk(chunk_of(address)).is_some_and(|chunk| chunk.is_set(address % CHUNK))
    }

    /// The source at an address, if it was written; coefficients that are not kept read as zero.
    pub fn read(&self, address: usize) -> Option<Source> {
        let place = address % CHUNK;
        let chunk = self.chunk(chunk_of(address)).filter(|chunk| chunk.is_set(place))?;
        Some(chunk.read(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Order, Precision, descriptor};

    fn source(mass: f64, x: f64) -> Source {
        Source::from_derivatives(1, mass, 0.0, [[x, 0.0, 0.0]])
    }

    #[test]
    fn the_factor_of_the_masses_is_that_of_the_sources_that_are_there() {
        let bounds = &descriptor(Order::Fourth, Precision::Mixed).unwrap().bounds;
        let factor_of = |all: &[(f64, f64)]| {
            let mut sources = Sources::new(4);
            for (address, (mass, x)) in all.iter().enumerate() {
                sources.write(address, &source(*mass, *x)).unwrap();
            }
            sources.mass_factor(bounds)
        };
        let mut sources = Sources::new(4);
        let mut all = vec![(1.0, 1.0); 300];
        all.iter().enumerate().for_each(|(address, (mass, x))| sources.write(address, &source(*mass, *x)).unwrap());
        for (address, mass, x) in
            [(7, 1e30, 1.0), (8, 1.0, 1e-3), (7, 1e20, 1.0), (7, 1.0, 1.0), (9, 1.0, 1e15), (9, 1.0, 2.0)]
        {
            all[address] = (mass, x);
            sources.write(address, &source(mass, x)).unwrap();
            assert_eq!(sources.mass_factor(bounds), factor_of(&all), "a mass of {mass} at {x}");
        }
    }

    #[test]
    fn all_sources_are_looked_at_only_where_the_largest_may_have_become_less() {
        let bounds = &descriptor(Order::Sixth, Precision::Mixed).unwrap().bounds;
        let mut sources = Sources::new(6);
        (0..300).for_each(|address| sources.write(address, &source(1.0, 0.25 + address as f64 / 1024.0)).unwrap());
        assert!(sources.mass_factor(bounds) < 1.0);
        sources.write(5, &source(1.0, 0.125)).unwrap();
        sources.write(299, &source(1.0, 0.75)).unwrap();
        assert!(!sources.may_be_less, "masses are as they were, and the outermost one went out");
        sources.write(299, &source(1.0, 0.5)).unwrap();
        assert!(sources.may_be_less);
        assert!(sources.mass_factor(bounds) < 1.0 && !sources.may_be_less);
    }
}
