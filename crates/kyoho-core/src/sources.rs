//! The host's copy of the sources: the truth that every device copies from.

mod chunk;
mod supplement;

use super::memory::{self, Boxed};
use super::units::{Census, Sizes};
use super::{CHUNK, Interaction, MAX_DERIVATIVES, Result, Units, chunk_of, chunks_below};

pub use chunk::{Chunk, MASS, OCTET, Row, TAYLOR, TIME};
use supplement::Softenings;
pub use supplement::Supplement;

/// The number of Taylor coefficients that a source can have: position, velocity, acceleration / 2,
/// jerk / 6, snap / 24, crackle / 120, and the next two derivatives of the position over 720 and
/// 5040.
pub const MAX_COEFFICIENTS: usize = 8;

/// A source (j-particle): a mass whose position is a Taylor series in time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Source {
    /// The caller's name for it; sinks with the same index do not feel it.
    pub index: i32,
    /// The mass.
    pub mass: f64,
    /// The time to which the coefficients belong.
    pub time: f64,
    /// `coefficients[k]` is the k-th derivative of the position divided by k!: position, velocity,
    /// acceleration / 2, jerk / 6, ...
    pub coefficients: [[f64; 3]; MAX_COEFFICIENTS],
}

/// What a tree reads of a source, which is much faster to read than all of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Body {
    /// The caller's name for it.
    pub index: i32,
    /// The mass.
    pub mass: f64,
    /// The position at the time of the source.
    pub position: [f64; 3],
}

/// The factorials of the numbers of the coefficients.
const FACTORIALS: [f64; MAX_COEFFICIENTS] = [1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0];

impl Source {
    /// Makes a source from its plain derivatives, none of them divided: position, velocity,
    /// acceleration, jerk, ... Those that are not given are zero.
    #[inline]
    pub fn from_derivatives<const N: usize>(index: i32, mass: f64, time: f64, derivatives: [[f64; 3]; N]) -> Source {
        let mut coefficients = padded(derivatives);
        // The divisors are known when this is compiled, and the divisions are few and independent.
        for k in 2..N {
            coefficients[k] = coefficients[k].map(|component| component / FACTORIALS[k]);
        }
        Source { index, mass, time, coefficients }
    }
}

/// Returns the vectors with zeros behind them.
#[inline]
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

    /// Returns the range, widened to hold one more index.
    #[inline]
    pub fn with(self, index: i32) -> IndexRange {
        IndexRange { lowest: self.lowest.min(index), highest: self.highest.max(index) }
    }

    /// Returns the lowest and the highest index; the lowest is above the highest where there is
    /// none.
    #[inline]
    pub fn bounds(&self) -> [i32; 2] {
        [self.lowest, self.highest]
    }

    /// Whether some index may be in both.
    #[inline]
    pub fn meets(&self, other: &IndexRange) -> bool {
        self.lowest <= other.highest && other.lowest <= self.highest
    }
}
/// Takes a chunk of a device: its number, its rows in octets, and its indices.
pub type TakeChunk<'a> = &'a mut dyn FnMut(usize, &[f64], &[i32]) -> Result<()>;

/// The addresses written since the last block began, which a device with a copy of its own has to
/// fetch.
pub enum Written<'a> {
    /// The addresses in the order of writing; an address written twice is named twice.
    Addresses(&'a [u32]),
    /// More addresses than it pays to list; devices have to compare the chunks' stamps.
    Many,
}

/// Beyond this many written sources, whole chunks are cheaper to send than single sources.
const MANY: usize = 1 << 16;

/// All sources of a system, in chunks; a chunk that no source was written to takes no memory.
pub struct Sources {
    n_coefficients: usize,
    /// The low limbs of the sources' numbers, at the same addresses, where numbers have them. Those
    /// of an address that is not there are zero.
    low: Option<Boxed<Sources>>,
    /// The softenings of sources, where they have some.
    softenings: Option<Softenings>,
    chunks: Vec<Option<Boxed<Chunk>>>,
    stamp: u64,
    count: usize,
    written: Vec<u32>,
    everything: bool,
    /// The stamp since which all addresses are listed.
    forgotten: u64,
    census: Census,
    /// The number of addresses, from 0 on, whose sources are on a device alone; then none are here.
    on_device: usize,
}

impl Sources {
    /// Makes an empty set of sources, each of which will have this many Taylor coefficients.
    #[inline]
    pub fn new(n_coefficients: usize) -> Sources {
        Sources {
            n_coefficients,
            low: None,
            softenings: None,
            chunks: Vec::new(),
            stamp: 0,
            count: 0,
            written: Vec::new(),
            everything: false,
            forgotten: 0,
            census: Census::default(),
            on_device: 0,
        }
    }

    /// Makes an empty set of sources whose numbers have low limbs or not, and which have softenings
    /// or not.
    #[inline]
    pub fn with_supplements(n_coefficients: usize, low_limbs: bool, softenings: bool) -> Result<Sources> {
        let low = low_limbs.then(|| Boxed::new(Sources::new(n_coefficients), "sources")).transpose()?;
        Ok(Sources { low, softenings: softenings.then(Softenings::default), ..Sources::new(n_coefficients) })
    }

    /// Whether sources have a [`Supplement`].
    #[inline]
    pub fn has_supplements(&self) -> bool {
        self.low.is_some() || self.softenings.is_some()
    }

    /// Whether sources have softenings.
    #[inline]
    pub fn has_softenings(&self) -> bool {
        self.softenings.is_some()
    }

    /// Forgets all sources, after a device took others in their place, at this many addresses from
    /// 0 on, and counted their sizes.
    #[inline]
    pub fn leave_to_device(&mut self, addresses: usize, census: Census) {
        self.chunks.clear();
        self.written.clear();
        self.everything = false;
        (self.count, self.on_device, self.census) = (addresses, addresses, census);
    }

    /// Returns the number of addresses, from 0 on, whose sources are on a device alone; then none
    /// are here.
    #[inline]
    pub fn on_device(&self) -> usize {
        self.on_device
    }

    /// Makes an empty set of sources whose chunks will have other stamps than those of this one.
    #[inline]
    pub fn successor(&self) -> Result<Sources> {
        let low = self.low.as_ref().map(|low| Boxed::new(Sources::new(low.n_coefficients), "sources"));
        let low = low.transpose()?;
        let softenings = self.softenings.as_ref().map(|_| Softenings::default());
        // Its list has no address of a source that was here before.
        let (stamp, forgotten) = (self.stamp, self.stamp + 1);
        Ok(Sources { stamp, forgotten, low, softenings, ..Sources::new(self.n_coefficients) })
    }

    /// Returns the addresses that were written since [`Sources::forget_written`].
    #[inline]
    pub fn written(&self) -> Written<'_> {
        if self.everything || self.written.len() >= MANY { Written::Many } else { Written::Addresses(&self.written) }
    }

    /// Returns the addresses that were written since these sources, or those before them, had a stamp.
    #[inline]
    pub fn written_since(&self, stamp: u64) -> Written<'_> {
        if stamp < self.forgotten { Written::Many } else { self.written() }
    }

    /// The number of writes so far, which stamps are.
    #[inline]
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Forgets which addresses were written, after the devices of a block have fetched them; the
    /// others will compare stamps.
    #[inline]
    pub fn forget_written(&mut self) {
        self.written.clear();
        (self.everything, self.forgotten) = (false, self.stamp);
    }

    /// Returns the chunks of the addresses from 0 on below `count`, each with a new stamp, for
    /// sources that will replace all others.
    #[inline]
    pub fn room_for_all(&mut self, count: usize) -> Result<&mut [Option<Boxed<Chunk>>]> {
        memory::lengthen(&mut self.chunks, chunks_below(count), "the table of sources", || None)?;
        self.stamp += 1;
        for chunk in &mut self.chunks {
            let chunk = match chunk {
                Some(chunk) => chunk,
                empty => empty.insert(Boxed::new(Chunk::new(self.n_coefficients)?, "sources")?),
            };
            chunk.stamp = self.stamp;
        }
        Ok(&mut self.chunks)
    }

    /// Notes that all sources were replaced by others at this many addresses from 0 on.
    #[inline]
    pub fn all_are_replaced(&mut self, count: usize, census: Census) {
        self.written.clear();
        self.everything = true;
        (self.count, self.on_device, self.census) = (count, 0, census);
        self.low.iter_mut().for_each(|low| **low = Sources::new(low.n_coefficients));
        self.softenings.iter_mut().for_each(|softenings| *softenings = Softenings::default());
    }

    /// Counts all sources as written, for devices that have fetched nothing yet.
    #[inline]
    pub fn all_is_written(&mut self) {
        self.everything = true;
    }

    /// Notes that devices have to fetch the source at an address.
    #[inline]
    pub fn note_written(&mut self, address: usize) {
        if self.written.len() < MANY {
            match self.written.try_reserve(1) {
                Ok(()) => self.written.push(address as u32),
                // Devices that compare stamps find it too.
                Err(_) => self.everything = true,
            }
        }
    }

    /// Counts a source of these sizes among those that units are chosen for. Its address has a
    /// chunk, and it will be put there.
    #[inline]
    pub fn count_sizes(&mut self, address: usize, sizes: Sizes) {
        if let Some(Some(chunk)) = self.chunks.get_mut(chunk_of(address)) {
            self.census.count(&mut chunk.sizes[address % CHUNK], sizes);
        }
    }

    /// Returns the sizes that were counted last for an address.
    #[inline]
    pub fn sizes(&self, address: usize) -> Option<Sizes> {
        self.chunk(chunk_of(address)).map(|chunk| chunk.sizes[address % CHUNK])
    }

    /// Returns the number of Taylor coefficients that are kept of a source.
    #[inline]
    pub fn n_coefficients(&self) -> usize {
        self.n_coefficients
    }

    /// Returns the number of addresses that were ever written.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the bytes in use.
    #[inline]
    pub fn bytes(&self) -> usize {
        let chunk = size_of::<Chunk>() + (TAYLOR + 3 * self.n_coefficients) * CHUNK * 8;
        let tables = self.chunks.capacity() * size_of::<Option<Boxed<Chunk>>>() + self.written.capacity() * 4;
        let low = self.low.as_ref().map_or(0, |low| low.bytes());
        let softenings = self.softenings.as_ref().map_or(0, Softenings::bytes);
        low + softenings + tables + self.census.bytes() + self.chunks.iter().flatten().count() * chunk
    }

    /// Returns the number of chunks that hold the written addresses below `nj`, gaps included.
    #[inline]
    pub fn chunks_below(&self, nj: usize) -> usize {
        chunks_below(nj).min(self.chunks.len().max(chunks_below(self.on_device)))
    }

    /// Returns the chunk with this number, if any of its addresses was written.
    #[inline]
    pub fn chunk(&self, chunk: usize) -> Option<&Chunk> {
        self.chunks.get(chunk)?.as_deref()
    }

    /// Writes the source at an address, and what it has beside its record.
    #[inline]
    pub fn write_with(&mut self, address: usize, source: &Source, supplement: &Supplement) -> Result<()> {
        if let Some(low) = &mut self.low {
            low.put(address, &supplement.low)?;
        }
        if let Some(softenings) = &mut self.softenings {
            softenings.set(address, supplement.softening2)?;
        }
        self.write_record(address, source)
    }

    /// Writes the source at an address, which devices have to fetch. What it has beside its record is
    /// zero.
    #[inline]
    pub fn write(&mut self, address: usize, source: &Source) -> Result<()> {
        if self.has_supplements() {
            return self.write_with(address, source, &Supplement::default());
        }
        self.write_record(address, source)
    }

    #[inline]
    fn write_record(&mut self, address: usize, source: &Source) -> Result<()> {
        self.put(address, source)?;
        self.count_sizes(address, Census::sizes_of(source.mass, &source.coefficients[..self.n_coefficients]));
        self.note_written(address);
        Ok(())
    }

    /// Writes the source at an address whose sizes were counted, for devices that have it or get it
    /// in another way.
    #[inline]
    pub fn write_back(&mut self, address: usize, source: &Source) -> Result<()> {
        self.put(address, source)?;
        // No list has the address.
        self.forgotten = self.stamp;
        Ok(())
    }

    /// Returns all chunks, and a new stamp for those that sources are written to as
    /// [`Sources::write_back`] does.
    #[inline]
    pub fn chunks_to_write_back(&mut self) -> (&mut [Option<Boxed<Chunk>>], u64) {
        self.stamp += 1;
        self.forgotten = self.stamp;
        (&mut self.chunks, self.stamp)
    }

    /// Counts sources that were written to [`Sources::chunks_to_write_back`] where there were none.
    #[inline]
    pub fn count_written_back(&mut self, new: usize) {
        self.count += new;
    }

    #[inline]
    fn put(&mut self, address: usize, source: &Source) -> Result<()> {
        let number = chunk_of(address);
        if !matches!(self.chunks.get(number), Some(Some(_))) {
            // Where there is no memory the table stays as long as it was: sums are divided by its
            // length.
            let chunk = Boxed::new(Chunk::new(self.n_coefficients)?, "sources")?;
            self.census.make_room()?;
            memory::lengthen(&mut self.chunks, number + 1, "the table of sources", || None)?;
            self.chunks[number] = Some(chunk);
        }
        let Some(chunk) = &mut self.chunks[number] else { return Ok(()) };
        let place = address % CHUNK;
        self.count += usize::from(!chunk.is_set(place));
        self.stamp += 1;
        chunk.write(place, source, self.stamp);
        Ok(())
    }

    /// Returns the units for pairs of all written sources and of sinks whose vectors have these
    /// largest components.
    #[inline]
    pub fn units(&self, sinks: &[f64; MAX_DERIVATIVES], interaction: &Interaction) -> Units {
        self.census.units(sinks, &interaction.bounds, interaction.n_derivatives)
    }

    /// Returns a number of the size of the largest component of all positions, of which units depend
    /// on nothing else.
    #[inline]
    pub fn size_of_positions(&self) -> f64 {
        self.census.size_of_positions()
    }

    /// Whether the sources of a chunk have these positions, and these indices if they are compared,
    /// in their order. Only places that were written are compared.
    #[inline]
    pub fn chunk_has(
        &self,
        number: usize,
        with_indices: bool,
        bodies: impl ExactSizeIterator<Item = ([f64; 3], i32)>,
    ) -> bool {
        let Some(chunk) = self.chunk(number) else { return false };
        let mut is_same = chunk.all_set(bodies.len());
        for (place, ([x, y, z], index)) in bodies.enumerate() {
            let own = chunk.body(place);
            is_same &= (own.position[0] == x) & (own.position[1] == y) & (own.position[2] == z);
            is_same &= (own.index == index) | !with_indices;
        }
        is_same
    }

    /// Calls `take` with the bodies at addresses below an end, in the order of their addresses.
    #[inline]
    pub fn each_below(&self, nj: usize, mut take: impl FnMut(usize, Body)) {
        for (number, chunk) in self.chunks.iter().take(chunks_below(nj)).enumerate() {
            let Some(chunk) = chunk else { continue };
            let places = (nj - number * CHUNK).min(CHUNK);
            for place in (0..places).filter(|place| chunk.is_set(*place)) {
                take(number * CHUNK + place, chunk.body(place));
            }
        }
    }

    /// Returns the number of addresses below an end to which a source was written.
    #[inline]
    pub fn count_below(&self, end: usize) -> usize {
        let whole = end / CHUNK;
        if whole >= self.chunks.len() {
            return self.count;
        }
        let chunks = self.chunks[..whole].iter().flatten();
        let of_last =
            self.chunk(whole).map_or(0, |chunk| (0..end % CHUNK).filter(|place| chunk.is_set(*place)).count());
        chunks.map(|chunk| chunk.count()).sum::<usize>() + of_last
    }

    /// Returns the index of the source at an address.
    #[inline]
    pub fn index_of(&self, address: usize) -> Option<i32> {
        let chunk = self.chunk(chunk_of(address)).filter(|chunk| chunk.is_set(address % CHUNK))?;
        Some(chunk.indices()[address % CHUNK])
    }

    /// Whether a source was written to each address below an end.
    #[inline]
    pub fn has_all_below(&self, end: usize) -> bool {
        (0..chunks_below(end))
            .all(|number| self.chunk(number).is_some_and(|chunk| chunk.all_set(CHUNK.min(end - number * CHUNK))))
    }

    /// Whether a source was written to an address.
    #[inline]
    pub fn is_set(&self, address: usize) -> bool {
        self.place_of(address).is_some()
    }

    /// Returns the body at an address, where a source was written.
    #[inline]
    pub fn body(&self, address: usize) -> Option<Body> {
        self.place_of(address).map(|(chunk, place)| chunk.body(place))
    }

    /// Returns what the source at an address has beside its record.
    #[inline]
    pub fn supplement(&self, address: usize) -> Supplement {
        let low = self.low.as_ref().and_then(|low| low.read(address)).unwrap_or_default();
        Supplement { low, softening2: self.softening2(address) }
    }

    /// Returns the squared softening of the source at an address, in two limbs.
    #[inline]
    pub fn softening2(&self, address: usize) -> [f64; 2] {
        self.softenings.as_ref().map_or([0.0; 2], |softenings| softenings.get(address))
    }

    /// Returns the source at an address, if it was written; coefficients that are not kept read as
    /// zero.
    #[inline]
    pub fn read(&self, address: usize) -> Option<Source> {
        self.place_of(address).map(|(chunk, place)| chunk.read(place))
    }

    /// Returns the chunk of an address and the place in it, where a source was written.
    #[inline]
    fn place_of(&self, address: usize) -> Option<(&Chunk, usize)> {
        let place = address % CHUNK;
        Some((self.chunk(chunk_of(address)).filter(|chunk| chunk.is_set(place))?, place))
    }
}

#[cfg(test)]
mod tests;
