//! The shape of the data that the loops run over: tiles of predicted sources, groups of sinks, sums by lane.

use bytemuck::{Pod, Zeroable};

use crate::data::{CHUNK, Error, IndexRange, Nearest, Result, SinkSlice, SinkUnits, Units, memory};
use crate::law::lanes::{Element, MAX_LANES};
use crate::law::pair::MAX_OUTPUTS;

#[derive(Clone, Copy, Zeroable, Pod)]
#[repr(C, align(64))]
struct RecordLine([u8; 64]);

/// Numbers from a multiple of 64 bytes on.
pub struct Aligned {
    lines: Box<[RecordLine]>,
}

impl Aligned {
    /// This many zeros.
    pub fn zeros<E: Element>(length: usize) -> Result<Aligned> {
        let count = (length * size_of::<E>()).div_ceil(64);
        let lines = bytemuck::try_zeroed_slice_box(count)
            .map_err(|()| Error::OutOfMemory { what: "predicted sources", bytes: count * size_of::<RecordLine>() })?;
        Ok(Aligned { lines })
    }

    /// The numbers.
    pub fn as_slice<E: Element>(&self) -> &[E] {
        bytemuck::cast_slice(&self.lines)
    }

    /// The numbers.
    pub fn as_mut_slice<E: Element>(&mut self) -> &mut [E] {
        bytemuck::cast_slice_mut(&mut self.lines)
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.lines.len() * size_of::<RecordLine>()
    }
}

/// The first row of a tile is the mass, of a group the squared softening; positions, velocities, ... follow, as far as
/// the order needs them.
pub const VECTORS_ROW: usize = 1;

/// What a tile is predicted for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictionTarget {
    /// The time.
    pub time: f64,
    /// Whether sources are predicted to it; else they are as they were written.
    pub predicts: bool,
    /// The addresses of the chunk that take part.
    pub limit: usize,
    /// The units of its numbers.
    pub units: Units,
}

/// The sources of a chunk, predicted, in rows of `CHUNK` numbers: mass, position (the leading and, if `parts` is two,
/// the trailing halves), velocity, ...
///
/// Beyond `count`, up to a multiple of `MAX_LANES`, stand copies of the last source with no mass.
pub struct Tile<E> {
    rows: Aligned,
    indices: Box<Indices>,
    /// Sources in it.
    pub count: usize,
    /// A range that holds all their indices.
    pub range: IndexRange,
    /// The stamp of the chunk that it was made of, and what for.
    pub made_of: Option<(u64, PredictionTarget)>,
    elements: std::marker::PhantomData<E>,
}

#[derive(Clone, Copy, Zeroable)]
#[repr(align(64))]
struct Indices([i32; CHUNK]);

impl<E: Element> Tile<E> {
    /// An empty tile of this many rows.
    pub fn new(rows: usize) -> Result<Tile<E>> {
        Ok(Tile {
            rows: Aligned::zeros::<E>(rows * CHUNK)?,
            indices: bytemuck::try_zeroed_box().map_err(|()| memory::none::<Indices>(1, "indices of sources"))?,
            count: 0,
            range: IndexRange::EMPTY,
            made_of: None,
            elements: std::marker::PhantomData,
        })
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + size_of::<Indices>() + self.rows.bytes()
    }

    /// All rows, one behind the other.
    pub fn rows(&self) -> &[E] {
        self.rows.as_slice()
    }

    /// All rows, to be written.
    pub fn rows_mut(&mut self) -> &mut [E] {
        self.rows.as_mut_slice()
    }

    /// The indices of the sources.
    pub fn indices(&self) -> &[i32; CHUNK] {
        &self.indices.0
    }

    /// The indices, to be written.
    pub fn indices_mut(&mut self) -> &mut [i32; CHUNK] {
        &mut self.indices.0
    }

    /// Closes the gaps that sources never written leave, then fills the last lanes.
    pub fn close(&mut self, limit: usize, is_set: impl Fn(usize) -> bool, all_set: bool) {
        let rows: &mut [E] = self.rows.as_mut_slice();
        let indices = &mut self.indices.0;
        let mut count = limit;
        if !all_set {
            count = 0;
            for place in (0..limit).filter(|place| is_set(*place)) {
                rows.chunks_exact_mut(CHUNK).for_each(|row| row[count] = row[place]);
                indices[count] = indices[place];
                count += 1;
            }
        }
        if count > 0 {
            for lane in count..count.next_multiple_of(MAX_LANES) {
                rows.chunks_exact_mut(CHUNK).for_each(|row| row[lane] = row[count - 1]);
                rows[lane] = E::from_f64(0.0);
                indices[lane] = indices[count - 1];
            }
        }
        self.count = count;
    }
}

/// Up to `MAX_LANES` sinks in rows: squared softening, position (in as many parts as a tile's), velocity, ..., and the
/// three numbers of [`SinkUnits::criterion`]; lanes without a sink repeat the last one.
pub struct Group<E> {
    rows: [[E; MAX_LANES]; MAX_ROWS],
    /// The indices.
    pub indices: [i32; MAX_LANES],
    /// The range of the indices.
    pub range: IndexRange,
    /// Whether some pair may have no softening.
    pub unsoftened: bool,
}

/// Rows of a group at the highest order: one, three for each vector with the position in two parts, and three.
const MAX_ROWS: usize = criterion_row(2, crate::data::MAX_DERIVATIVES) + 3;

/// The first row of a group behind its vectors.
pub const fn criterion_row(limbs: usize, vectors: usize) -> usize {
    VECTORS_ROW + 3 * (limbs - 1 + vectors)
}

impl<E: Element> Group<E> {
    /// Packs sinks; `vectors` are those of each, `parts` the numbers that hold a coordinate. What decides who is a neighbour
    /// is only there if it is said so.
    pub fn new(sinks: SinkSlice, vectors: usize, limbs: usize, units: &SinkUnits, regular: bool) -> Group<E> {
        let mut rows = [[E::from_f64(0.0); MAX_LANES]; MAX_ROWS];
        let mut indices = [0; MAX_LANES];
        let mut softening2 = f64::INFINITY;
        for lane in 0..MAX_LANES {
            let sink = sinks.get(lane.min(sinks.len() - 1));
            indices[lane] = sink.index;
            softening2 = softening2.min(units.softening2(&sink));
            rows[0][lane] = E::from_f64(units.softening2(&sink));
            for (k, mut rest) in units.derivative(&sink, 0).into_iter().enumerate() {
                for part in 0..limbs {
                    let leading = E::from_f64(rest);
                    rows[VECTORS_ROW + 3 * part + k][lane] = leading;
                    rest -= leading.to_f64();
                }
            }
            for vector in 1..vectors {
                let first = VECTORS_ROW + 3 * (limbs - 1 + vector);
                for (row, component) in rows[first..].iter_mut().zip(units.derivative(&sink, vector)) {
                    row[lane] = E::from_f64(component);
                }
            }
            if regular {
                for (row, number) in rows[criterion_row(limbs, vectors)..].iter_mut().zip(units.criterion(&sink)) {
                    row[lane] = E::from_f64(number);
                }
            }
        }
        // Below this, |r|^2 + eps2 may be no normal number.
        let smallest = f64::from(f32::MIN_POSITIVE) * 2.0;
        Group {
            rows,
            indices,
            range: indices.into_iter().fold(IndexRange::EMPTY, IndexRange::with),
            unsoftened: softening2 < smallest,
        }
    }

    /// The lanes of a row.
    pub fn row(&self, row: usize) -> &[E; MAX_LANES] {
        &self.rows[row]
    }
}

/// The sums of a loop, a lane a sink, or a lane a part of the sum of one sink.
#[repr(align(64))]
#[derive(Clone, Copy)]
pub struct LaneSums<E> {
    /// Potential, acceleration, jerk, ... by lane.
    pub values: [[f64; MAX_LANES]; MAX_OUTPUTS],
    /// The smallest squared distance by lane.
    pub distance2: [E; MAX_LANES],
    /// Whose it is.
    pub nearest: [i32; MAX_LANES],
}

impl<E: Element> LaneSums<E> {
    /// Nothing summed.
    pub fn new() -> LaneSums<E> {
        LaneSums {
            values: [[0.0; MAX_LANES]; MAX_OUTPUTS],
            distance2: [E::INFINITY; MAX_LANES],
            nearest: [0; MAX_LANES],
        }
    }

    /// Forgets what was summed for so many numbers of a sink.
    pub fn clear(&mut self, n_outputs: usize) {
        self.values[..n_outputs].fill([0.0; MAX_LANES]);
        self.distance2 = [E::INFINITY; MAX_LANES];
    }

    /// The nearest source of a lane.
    pub fn nearest(&self, lane: usize) -> Nearest {
        Nearest { distance2: self.distance2[lane].to_f64(), index: self.nearest[lane] }
    }
}

impl<E: Element> Default for LaneSums<E> {
    fn default() -> Self {
        Self::new()
    }
}
