//! The shape of the data that the loops run over: tiles of predicted sources, groups of sinks, sums
//! by lane.

use bytemuck::{Pod, Zeroable};

use crate::lanes::{Element, MAX_LANES};
use crate::pair::MAX_OUTPUTS;
use kyoho_core::{CHUNK, Error, IndexRange, Nearest, Result, SinkSlice, SinkUnits, Units, memory};

#[derive(Clone, Copy, Zeroable, Pod)]
#[repr(C, align(64))]
struct CacheLine([u8; 64]);

/// Numbers in memory that begins at a multiple of 64 bytes.
pub struct Aligned {
    lines: Box<[CacheLine]>,
}

impl Aligned {
    /// Allocates this many zeros.
    pub fn zeros<E: Element>(length: usize) -> Result<Aligned> {
        let count = (length * size_of::<E>()).div_ceil(64);
        let lines = bytemuck::try_zeroed_slice_box(count)
            .map_err(|()| Error::OutOfMemory { what: "predicted sources", bytes: count * size_of::<CacheLine>() })?;
        Ok(Aligned { lines })
    }

    /// Returns the numbers.
    pub fn as_slice<E: Element>(&self) -> &[E] {
        bytemuck::cast_slice(&self.lines)
    }

    /// Returns the numbers, to be written.
    pub fn as_mut_slice<E: Element>(&mut self) -> &mut [E] {
        bytemuck::cast_slice_mut(&mut self.lines)
    }

    /// Returns the bytes in use.
    pub fn bytes(&self) -> usize {
        self.lines.len() * size_of::<CacheLine>()
    }
}

/// The first row of a tile is the mass, of a group the squared softening; positions, velocities,
/// ... follow, as far as the order needs them.
pub const VECTORS_ROW: usize = 1;

/// The target of a prediction: a time, and the units and the number of the sources of a tile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictionTarget {
    /// The time.
    pub time: f64,
    /// Whether sources are predicted to the time; otherwise they are as they were written.
    pub predicts: bool,
    /// The number of addresses of the chunk that take part.
    pub limit: usize,
    /// The units of the predicted numbers.
    pub units: Units,
}

/// The sources of a chunk, predicted, in rows of `CHUNK` numbers: mass, position (the high limbs
/// and, where a coordinate has two, the low ones), velocity, ...
///
/// Beyond `count`, up to a multiple of `MAX_LANES`, stand copies of the last source with no mass.
pub struct Tile<E> {
    rows: Aligned,
    indices: Box<Indices>,
    /// The number of sources in it.
    pub count: usize,
    /// A range that holds all their indices.
    pub range: IndexRange,
    /// The stamp of the chunk that it was made of, and the target of the prediction.
    pub made_of: Option<(u64, PredictionTarget)>,
    /// The places of the chunk whose sources are here, where some are not; else empty.
    with_gaps: [u64; CHUNK / 64],
    has_gaps: bool,
    elements: std::marker::PhantomData<E>,
}

#[derive(Clone, Copy, Zeroable)]
#[repr(align(64))]
struct Indices([i32; CHUNK]);

impl<E: Element> Tile<E> {
    /// Makes an empty tile of this many rows.
    pub fn new(rows: usize) -> Result<Tile<E>> {
        Ok(Tile {
            rows: Aligned::zeros::<E>(rows * CHUNK)?,
            indices: bytemuck::try_zeroed_box().map_err(|()| memory::none::<Indices>(1, "indices of sources"))?,
            count: 0,
            range: IndexRange::EMPTY,
            made_of: None,
            with_gaps: [0; CHUNK / 64],
            has_gaps: false,
            elements: std::marker::PhantomData,
        })
    }

    /// Returns the bytes in use.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + size_of::<Indices>() + self.rows.bytes()
    }

    /// Returns all rows, one behind the other.
    pub fn rows(&self) -> &[E] {
        self.rows.as_slice()
    }

    /// Returns all rows, to be written.
    pub fn rows_mut(&mut self) -> &mut [E] {
        self.rows.as_mut_slice()
    }

    /// Returns the indices of the sources.
    pub fn indices(&self) -> &[i32; CHUNK] {
        &self.indices.0
    }

    /// Returns the indices, to be written.
    pub fn indices_mut(&mut self) -> &mut [i32; CHUNK] {
        &mut self.indices.0
    }

    /// Returns the place here of the source at a place of the chunk, if there is one.
    #[inline(always)]
    pub fn place_of(&self, place: usize) -> Option<usize> {
        if self.has_gaps { self.place_with_gaps(place) } else { (place < self.count).then_some(place) }
    }

    #[cold]
    fn place_with_gaps(&self, place: usize) -> Option<usize> {
        let (word, bit) = (place / 64, 1u64 << (place % 64));
        let before = self.with_gaps[..word].iter().map(|word| word.count_ones()).sum::<u32>();
        let rank = before + (self.with_gaps[word] & (bit - 1)).count_ones();
        (self.with_gaps[word] & bit != 0).then_some(rank as usize)
    }

    /// Closes the gaps of addresses that were never written, then fills the last lanes.
    pub fn close(&mut self, limit: usize, is_set: impl Fn(usize) -> bool, all_set: bool) {
        let rows: &mut [E] = self.rows.as_mut_slice();
        let indices = &mut self.indices.0;
        let mut count = limit;
        self.has_gaps = !all_set;
        if !all_set {
            count = 0;
            self.with_gaps = [0; CHUNK / 64];
            for place in (0..limit).filter(|place| is_set(*place)) {
                self.with_gaps[place / 64] |= 1 << (place % 64);
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

/// Up to `MAX_LANES` sinks in rows: squared softening, position (in as many limbs as a tile's),
/// velocity, ..., and the three numbers of [`SinkUnits::criterion`]. Lanes without a sink repeat
/// the last one.
pub struct Group<E> {
    rows: [[E; MAX_LANES]; MAX_ROWS],
    /// The sinks' indices.
    pub indices: [i32; MAX_LANES],
    /// The range of the indices.
    pub range: IndexRange,
    /// Whether some pair may have no softening.
    pub unsoftened: bool,
}

/// Below this squared softening, `|r|^2 + eps2` may be no normal number.
const SMALLEST_SOFTENING2: f64 = f32::MIN_POSITIVE as f64 * 2.0;

/// The number of rows of a group at the highest order: one, three for each vector with the position
/// in two limbs, and three of the neighbour criterion.
const MAX_ROWS: usize = rows_behind_vectors(2, kyoho_core::MAX_DERIVATIVES) + 3;

/// Returns the first row behind the vectors: of a group that of the neighbour criterion, of a tile
/// that of squared softenings, where sources have some.
pub const fn rows_behind_vectors(limbs: usize, n_derivatives: usize) -> usize {
    VECTORS_ROW + 3 * (limbs - 1 + n_derivatives)
}

impl<E: Element> Group<E> {
    /// Packs sinks, each of which has `n_derivatives` vectors and coordinates of this many limbs.
    /// The neighbour criterion is only there if `regular` is set.
    pub fn new(sinks: SinkSlice, n_derivatives: usize, limbs: usize, units: &SinkUnits, regular: bool) -> Group<E> {
        let mut rows = [[E::from_f64(0.0); MAX_LANES]; MAX_ROWS];
        let mut indices = [0; MAX_LANES];
        let mut softening2 = f64::INFINITY;
        for lane in 0..MAX_LANES {
            let sink = sinks.get(lane.min(sinks.len() - 1));
            indices[lane] = sink.index;
            softening2 = softening2.min(units.softening2(&sink));
            rows[0][lane] = E::from_f64(units.softening2(&sink));
            for (k, mut rest) in units.derivative(&sink, 0).into_iter().enumerate() {
                for limb in 0..limbs {
                    let high = E::from_f64(rest);
                    rows[VECTORS_ROW + 3 * limb + k][lane] = high;
                    rest -= high.to_f64();
                }
            }
            for vector in 1..n_derivatives {
                let first = VECTORS_ROW + 3 * (limbs - 1 + vector);
                for (row, component) in rows[first..].iter_mut().zip(units.derivative(&sink, vector)) {
                    row[lane] = E::from_f64(component);
                }
            }
            if regular {
                for (row, number) in
                    rows[rows_behind_vectors(limbs, n_derivatives)..].iter_mut().zip(units.criterion(&sink))
                {
                    row[lane] = E::from_f64(number);
                }
            }
        }
        Group {
            rows,
            indices,
            range: indices.into_iter().fold(IndexRange::EMPTY, IndexRange::with),
            unsoftened: softening2 < SMALLEST_SOFTENING2,
        }
    }

    /// Packs sinks without velocities at these coordinates, in the units of pairs, in as many limbs
    /// as `limbs` says. `softening2` returns the squared softening of each.
    #[inline(always)]
    pub fn at_rest(
        positions: [&[f64]; 3],
        indices: &[i32],
        softening2: impl Fn(usize) -> f64,
        limbs: usize,
    ) -> Group<E> {
        let last = indices.len() - 1;
        let least = (0..=last).map(&softening2).fold(f64::INFINITY, f64::min);
        let mut group = Group {
            rows: [[E::from_f64(0.0); MAX_LANES]; MAX_ROWS],
            indices: [indices[last]; MAX_LANES],
            range: indices.iter().fold(IndexRange::EMPTY, |range, index| range.with(*index)),
            unsoftened: least < SMALLEST_SOFTENING2,
        };
        group.rows[0] = std::array::from_fn(|lane| E::from_f64(softening2(lane.min(last))));
        group.indices[..=last].copy_from_slice(indices);
        for (k, coordinates) in positions.into_iter().enumerate() {
            for lane in 0..MAX_LANES {
                let coordinate = coordinates[lane.min(last)];
                let high = E::from_f64(coordinate);
                group.rows[VECTORS_ROW + k][lane] = high;
                if limbs == 2 {
                    group.rows[VECTORS_ROW + 3 + k][lane] = E::from_f64(coordinate - high.to_f64());
                }
            }
        }
        group
    }

    /// Returns the lanes of a row.
    pub fn row(&self, row: usize) -> &[E; MAX_LANES] {
        &self.rows[row]
    }
}

/// The sums of a loop by lane: those of a sink in each lane, or partial sums of one sink.
#[repr(align(64))]
#[derive(Clone, Copy)]
pub struct LaneSums<E> {
    /// Potential, acceleration, jerk, ... by lane.
    pub values: [[f64; MAX_LANES]; MAX_OUTPUTS],
    /// The smallest squared distance by lane.
    pub distance2: [E; MAX_LANES],
    /// Beyond this distance a source in the lane cannot be the nearest of all, so that `distance2`
    /// may leave it out.
    pub bound2: [E; MAX_LANES],
    /// The index of the source at that distance.
    pub nearest: [i32; MAX_LANES],
}

impl<E: Element> LaneSums<E> {
    /// Makes sums over no source.
    pub fn new() -> LaneSums<E> {
        LaneSums {
            values: [[0.0; MAX_LANES]; MAX_OUTPUTS],
            distance2: [E::INFINITY; MAX_LANES],
            bound2: [E::INFINITY; MAX_LANES],
            nearest: [0; MAX_LANES],
        }
    }

    /// Clears the first `n_outputs` sums, and the nearest sources. Their distances are the bounds
    /// of further sums of the same sinks.
    pub fn clear(&mut self, n_outputs: usize) {
        self.values[..n_outputs].fill([0.0; MAX_LANES]);
        for (bound2, distance2) in self.bound2.iter_mut().zip(&mut self.distance2) {
            *bound2 = if *distance2 < *bound2 { *distance2 } else { *bound2 };
            *distance2 = E::INFINITY;
        }
    }

    /// Clears the bounds and the nearest sources, for other sinks.
    pub fn forget_nearest(&mut self) {
        self.distance2 = [E::INFINITY; MAX_LANES];
        self.bound2 = [E::INFINITY; MAX_LANES];
    }

    /// Returns the nearest source of a lane.
    pub fn nearest(&self, lane: usize) -> Nearest {
        Nearest::new(self.distance2[lane].to_f64(), self.nearest[lane])
    }
}

impl<E: Element> Default for LaneSums<E> {
    fn default() -> Self {
        Self::new()
    }
}
