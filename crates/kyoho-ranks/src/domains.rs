//! The domains of ranks: ranges of the curve through all octants of the cube around all bodies.

use std::sync::atomic::{AtomicU64, Ordering};

use kyoho_core::{Result, memory};
use kyoho_hal::threads::Threads;
use kyoho_trees::bodies::Bodies;
use kyoho_trees::cpu::domain::{DomainForces, RankWords};
use kyoho_trees::cube::{Cube, Key};

use crate::Ranks;
use crate::agreement::Call;
use crate::dealing::{Owners, OwnersOfAll, PIECE, With};

/// The keys of a rank, on average, of which domains are made.
const SAMPLES: usize = 512;
/// A domain may have this part of its bodies more or fewer than others at either end.
const UNEQUAL: usize = 12;
/// A table of indices has at most this many bits a source.
const MOST_BITS: u64 = 4;
/// The name of domains in errors about memory.
const WHAT: &str = "bodies for other ranks";

/// What a rank has of a block.
pub struct Own {
    /// Its part of the work.
    pub domain: Box<dyn DomainForces>,
    /// Its sources.
    pub sources: Bodies,
    /// Its sinks; none where they are the sources, in their order and with their indices.
    pub sinks: Option<Bodies>,
}

/// Which rank a position is of.
pub struct Domains {
    /// The cube around the bodies of all ranks.
    pub cube: Cube,
    /// The first key of each rank but the first.
    firsts: Vec<Key>,
    /// Whether on each rank the sinks are the sources.
    pub sinks_are_sources: bool,
    /// Whether all sources of all ranks are known to have indices of their own.
    pub has_distinct_indices: bool,
}

/// What ranks tell of their bodies: the lowest and the highest coordinates, the count, and of the
/// indices of sources whether they ascend, the lowest and the highest one.
struct Told<'a>(&'a [u64]);

impl Told<'_> {
    fn words(own: &Own, threads: &Threads) -> Result<Vec<u64>> {
        let Bodies { positions, indices, .. } = &own.sources;
        let sinks = own.sinks.as_ref().map_or(&[][..], |sinks| &sinks.positions);
        let [of_sources, of_sinks] = [corners(positions, threads)?, corners(sinks, threads)?];
        let (low, high) = joined(of_sources, of_sinks);
        let (is_ascending, ends) = ends(indices, threads)?;
        let numbers =
            [positions.len() + sinks.len(), indices.len(), usize::from(own.sinks.is_none()), usize::from(is_ascending)];
        let words = low.into_iter().chain(high).map(f64::to_bits).chain(numbers.map(|number| number as u64));
        memory::collected(words.chain(ends.map(|index| u64::from(index as u32))), WHAT)
    }

    fn corners(&self) -> [[f64; 3]; 2] {
        [0, 3].map(|first| std::array::from_fn(|k| f64::from_bits(self.0[first + k])))
    }

    fn count(&self) -> u64 {
        self.0[6]
    }

    fn sources(&self) -> u64 {
        self.0[7]
    }

    /// Returns the lowest and the highest index.
    fn indices(&self) -> [i32; 2] {
        [self.0[10] as u32 as i32, self.0[11] as u32 as i32]
    }

    fn is_ascending(&self) -> bool {
        self.0[9] != 0
    }
}

/// The lowest and the highest coordinates of bodies.
type Corners = ([f64; 3], [f64; 3]);

fn joined((low, high): Corners, (other_low, other_high): Corners) -> Corners {
    (std::array::from_fn(|k| low[k].min(other_low[k])), std::array::from_fn(|k| high[k].max(other_high[k])))
}

fn corners(positions: &[[f64; 3]], threads: &Threads) -> Result<Corners> {
    const NONE: Corners = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    let mut of_pieces = memory::filled(positions.len().div_ceil(PIECE), NONE, WHAT)?;
    threads.each(positions.chunks(PIECE).zip(&mut of_pieces), |(positions, corners)| {
        *corners = positions.iter().fold(NONE, |all, position| joined(all, (*position, *position)));
    });
    Ok(of_pieces.into_iter().fold(NONE, joined))
}

/// Whether indices ascend, and the lowest and the highest one.
fn ends(indices: &[i32], threads: &Threads) -> Result<(bool, [i32; 2])> {
    const NONE: (bool, [i32; 2]) = (true, [i32::MAX, i32::MIN]);
    let mut of_pieces = memory::filled(indices.len().div_ceil(PIECE), NONE, WHAT)?;
    threads.each(indices.chunks(PIECE).zip(&mut of_pieces), |(indices, (is_ascending, ends))| {
        *is_ascending = indices.is_sorted_by(|one, next| one < next);
        *ends = indices.iter().fold(NONE.1, |[least, largest], index| [least.min(*index), largest.max(*index)]);
    });
    // Of pieces that ascend each one goes on behind the one before.
    Ok(of_pieces.into_iter().fold(NONE, |(all_ascend, [least, largest]), (is_ascending, [low, high])| {
        let goes_on = least > largest || largest < low;
        (all_ascend && is_ascending && goes_on, [least.min(low), largest.max(high)])
    }))
}

impl Domains {
    /// Divides the bodies of all ranks into domains of about as many sources and sinks. All ranks call
    /// this, with what each has or why it has it not.
    pub fn of_ranks(ranks: &mut Ranks, own: Result<Own>) -> Result<(Domains, Own)> {
        let told = own.as_ref().map_err(Clone::clone).and_then(|own| Told::words(own, &ranks.buffers.threads));
        let told = ranks.gather(told)?;
        let own = own?;
        let all = || told.each().map(Told);
        let with_bodies = all().filter(|told| told.count() > 0);
        let cube = Cube::around(with_bodies.flat_map(|told| told.corners()));
        let size = told.counts.len();
        let count: u64 = all().map(|told| told.count()).sum();
        let step = (count / (size * SAMPLES) as u64).max(1) as usize;
        let sinks = own.sinks.iter().flat_map(|sinks| sinks.positions.iter());
        let keys = own.sources.positions.iter().chain(sinks).step_by(step).map(|position| cube.key(*position));
        let sample = ranks.gather(memory::collected(keys.flat_map(|key| [key.high, key.low]), WHAT))?;
        let has_distinct_indices = ranks.has_distinct_indices(&told, &own.sources.indices)?;
        let sinks_are_sources = all().all(|told| told.0[8] != 0);
        let found =
            firsts(&sample, size).map(|firsts| Domains { cube, firsts, sinks_are_sources, has_distinct_indices });
        ranks.agree(Call::Room, found.as_ref().map(|_| [0; 5]).map_err(Clone::clone))?;
        Ok((found?, own))
    }

    /// Returns the ranks of a rank's bodies.
    pub fn owners(&self, own: &mut Own, with: With) -> Result<OwnersOfAll> {
        let (size, pool) = (self.firsts.len() + 1, with.1);
        if !self.sinks_are_sources && own.sinks.is_none() {
            let positions = pool.collected(own.sources.positions.iter().copied(), WHAT)?;
            let indices = pool.collected(own.sources.indices.iter().copied(), WHAT)?;
            own.sinks = Some(Bodies { positions, indices, ..Bodies::default() });
        }
        // Most domains begin with an octant that the upper words of keys tell.
        let are_high = self.firsts.iter().all(|first| first.low == 0);
        let owner = |position: &[f64; 3]| {
            if are_high {
                let high = self.cube.high_word(*position);
                return self.firsts.partition_point(|first| first.high <= high);
            }
            let key = self.cube.key(*position);
            self.firsts.partition_point(|first| *first <= key)
        };
        let owners = |bodies: &Bodies| Owners::new(&bodies.positions, size, owner, with);
        let sources = owners(&own.sources)?;
        Ok(OwnersOfAll { sources, sinks: own.sinks.as_ref().map(owners).transpose()? })
    }
}

impl Ranks {
    /// Whether all sources of all ranks have an index of their own, as far as a table of bits can tell
    /// that has not many more than there are sources. All ranks call this.
    fn has_distinct_indices(&mut self, told: &RankWords, indices: &[i32]) -> Result<bool> {
        let with_sources = || told.each().map(Told).filter(|told| told.sources() > 0);
        let ranges = || with_sources().map(|told| told.indices());
        let are_apart = ranges().zip(ranges().skip(1)).all(|([_, end], [begin, _])| end < begin);
        if are_apart && with_sources().all(|told| told.is_ascending()) {
            return Ok(true);
        }
        let (sources, size) = (with_sources().map(|told| told.sources()).sum::<u64>(), told.counts.len());
        let least = ranges().map(|[least, _]| least).min().unwrap_or(0);
        let largest = ranges().map(|[_, largest]| largest).max().unwrap_or(0);
        let span = (i64::from(largest) - i64::from(least) + 1) as u64;
        if span > MOST_BITS * sources {
            return Ok(false);
        }
        // Each rank gets a part of the table of every other one.
        let words = span.div_ceil(64) as usize;
        let of_rank = words.div_ceil(size);
        let mut is_repeated = false;
        let bits = memory::collected((0..words).map(|_| AtomicU64::new(0)), WHAT);
        let table = bits.and_then(|bits| {
            let is_first = |index: &i32| {
                let place = (i64::from(*index) - i64::from(least)) as usize;
                let bit = 1 << (place % 64);
                bits[place / 64].fetch_or(bit, Ordering::Relaxed) & bit == 0
            };
            // Where one is repeated, the others do not matter.
            is_repeated = !self.buffers.threads.all(indices.chunks(PIECE), |indices| indices.iter().all(is_first));
            let count = |rank: usize| words.saturating_sub(rank * of_rank).min(of_rank);
            let words = self.pool.collected(bits.into_iter().map(AtomicU64::into_inner), WHAT)?;
            Ok(RankWords { words, counts: memory::collected((0..size).map(count), WHAT)? })
        });
        let tables = self.swap(table)?;
        let mut seen = self.pool.filled(of_rank, 0_u64, WHAT);
        if let Ok(seen) = &mut seen {
            for table in tables.each() {
                for (seen, word) in seen.iter_mut().zip(table) {
                    is_repeated |= *seen & word != 0;
                    *seen |= word;
                }
            }
        }
        self.agree(Call::Tree, seen.map(|_| [u64::from(is_repeated), 0, 0, 0, 0]))?;
        Ok(self.agreement.told().all(|told| told[0] == 0))
    }
}

/// Returns the first key of each domain but the first one, by a sample of keys. Near the key at which
/// domains would be equal that one is taken at which the largest octant begins.
fn firsts(sample: &RankWords, size: usize) -> Result<Vec<Key>> {
    let keys = sample.words.as_chunks::<2>().0.iter().map(|[high, low]| Key { high: *high, low: *low });
    let mut keys = memory::collected(keys, WHAT)?;
    keys.sort_unstable();
    let last = keys.len().saturating_sub(1);
    let first = |rank: usize| {
        let (place, some) = (keys.len() * rank / size, keys.len() / size / UNEQUAL);
        let at = |place: usize| keys.get(place).copied().unwrap_or_default();
        let (low, high) = (at(place.saturating_sub(some)), at((place + some).min(last)));
        high.octant_begin(low.common_depth(high) + 1)
    };
    memory::collected((1..size).map(first), WHAT)
}
