//! The domains of ranks: ranges of the curve through all octants of the cube around all bodies.

use kyoho_core::{Pooled, Result, memory};
use kyoho_trees::bodies::Bodies;
use kyoho_trees::cpu::domain::{DomainForces, RankWords};
use kyoho_trees::cube::{Cube, Key};

use crate::Ranks;

/// The keys of a rank, on average, of which domains are made.
const SAMPLES: usize = 512;
/// A domain may have this part of its bodies more or fewer than others at either end.
const UNEQUAL: usize = 12;
/// The words of a source that goes to its domain: coordinates, mass, index.
const OF_SOURCE: usize = 5;
/// The words of a sink: coordinates, index.
const OF_SINK: usize = 4;
/// The name of domains in errors about memory.
const WHAT: &str = "bodies for other ranks";

/// What a rank has of a block: its part of the work, its sources and its sinks.
type Own = (Box<dyn DomainForces>, Bodies, Bodies);

/// Which rank a position is of.
pub struct Domains {
    cube: Cube,
    /// The first key of each rank but the first.
    firsts: Vec<Key>,
}

impl Domains {
    /// Divides the bodies of all ranks into domains of about as many sources and sinks. All ranks call
    /// this, with what each has or why it has it not.
    pub fn of_ranks(ranks: &mut Ranks, own: Result<Own>) -> Result<(Domains, Own)> {
        let told = own.as_ref().map_err(Clone::clone).and_then(|(_, sources, sinks)| {
            let (low, high) = bounds(sources.positions.iter().chain(sinks.positions.iter()));
            let count = (sources.positions.len() + sinks.positions.len()) as u64;
            memory::collected(low.into_iter().chain(high).map(f64::to_bits).chain([count]), WHAT)
        });
        let told = ranks.gather(told)?;
        let (domain, sources, sinks) = own?;
        let corner = |words: &[u64], first: usize| std::array::from_fn(|k| f64::from_bits(words[first + k]));
        let with_bodies = || told.each().filter(|words| words[6] > 0);
        let cube = Cube::around(with_bodies().flat_map(|words| [corner(words, 0), corner(words, 3)]));
        let all: u64 = told.each().map(|words| words[6]).sum();
        let step = (all / (told.counts.len() * SAMPLES) as u64).max(1) as usize;
        let positions = sources.positions.iter().chain(sinks.positions.iter());
        let keys = positions.step_by(step).map(|position| cube.key(*position)).flat_map(|key| [key.high, key.low]);
        let sample = ranks.gather(memory::collected(keys, WHAT))?;
        let firsts = firsts(&sample, told.counts.len());
        // All ranks have room for as much, or all learn here that one has not.
        ranks.agree(crate::Call::Room, firsts.as_ref().map(|_| [0; 5]).map_err(Clone::clone))?;
        Ok((Domains { cube, firsts: firsts? }, (domain, sources, sinks)))
    }

    /// Returns the rank in whose domain a position is.
    fn owner(&self, position: [f64; 3]) -> usize {
        let key = self.cube.key(position);
        self.firsts.partition_point(|first| *first <= key)
    }

    /// Returns the rank in whose domain each body is.
    pub fn owners(&self, bodies: &Bodies) -> Result<Vec<u32>> {
        memory::collected(bodies.positions.iter().map(|position| self.owner(*position) as u32), WHAT)
    }

    /// Packs copies of sources and of sinks, whose owners are known, for their domains.
    pub fn packed(&self, sources: &Bodies, sinks: &Bodies, owners_of_sinks: &[u32]) -> Result<RankWords> {
        let owners = self.owners(sources)?;
        let size = self.firsts.len() + 1;
        let mut numbers = memory::filled(size, [0_usize; 2], WHAT)?;
        owners.iter().for_each(|owner| numbers[*owner as usize][0] += 1);
        owners_of_sinks.iter().for_each(|owner| numbers[*owner as usize][1] += 1);
        let count = |numbers: &[usize; 2]| 1 + OF_SOURCE * numbers[0] + OF_SINK * numbers[1];
        let counts = memory::collected(numbers.iter().map(count), WHAT)?;
        let mut words = memory::filled(counts.iter().sum(), 0, WHAT)?;
        let mut ends = memory::room(size, WHAT)?;
        let mut begin = 0;
        for (count, numbers) in counts.iter().zip(&numbers) {
            words[begin] = numbers[0] as u64;
            ends.push(begin + 1);
            begin += count;
        }
        for (body, owner) in owners.iter().enumerate() {
            let end = &mut ends[*owner as usize];
            let [x, y, z] = sources.positions[body].map(f64::to_bits);
            let mass = sources.masses[body].to_bits();
            words[*end..*end + OF_SOURCE].copy_from_slice(&[x, y, z, mass, word_of(sources.indices[body])]);
            *end += OF_SOURCE;
        }
        for (body, owner) in owners_of_sinks.iter().enumerate() {
            let end = &mut ends[*owner as usize];
            let [x, y, z] = sinks.positions[body].map(f64::to_bits);
            words[*end..*end + OF_SINK].copy_from_slice(&[x, y, z, word_of(sinks.indices[body])]);
            *end += OF_SINK;
        }
        Ok(RankWords { words, counts })
    }

    /// Returns the sources and sinks that came from all ranks, and how many sinks came from each.
    pub fn unpacked(words: &RankWords) -> Result<([Bodies; 2], Vec<usize>)> {
        let parts = || words.each().map(|words| words.split_first().unwrap_or((&0, &[])));
        let cut = |(sources, rest): (&u64, &'_ [u64])| (*sources as usize * OF_SOURCE).min(rest.len());
        let sources: usize = parts().map(|part| cut(part) / OF_SOURCE).sum();
        let sinks_of = memory::collected(parts().map(|part| (part.1.len() - cut(part)) / OF_SINK), WHAT)?;
        let sinks: usize = sinks_of.iter().sum();
        let mut of_sources = Bodies {
            positions: room(sources)?,
            masses: room(sources)?,
            indices: room(sources)?,
            addresses: Pooled::default(),
        };
        let mut of_sinks = Bodies { positions: room(sinks)?, indices: room(sinks)?, ..Bodies::default() };
        for part in parts() {
            let (sources, sinks) = part.1.split_at(cut(part));
            for row in sources.as_chunks::<OF_SOURCE>().0 {
                of_sources.positions.push([row[0], row[1], row[2]].map(f64::from_bits));
                of_sources.masses.push(f64::from_bits(row[3]));
                of_sources.indices.push(row[4] as u32 as i32);
            }
            for row in sinks.as_chunks::<OF_SINK>().0 {
                of_sinks.positions.push([row[0], row[1], row[2]].map(f64::from_bits));
                of_sinks.indices.push(row[3] as u32 as i32);
            }
        }
        Ok(([of_sources, of_sinks], sinks_of))
    }
}

fn room<T: Copy + Send + 'static>(count: usize) -> Result<Pooled<T>> {
    Ok(memory::room(count, WHAT)?.into())
}

fn word_of(index: i32) -> u64 {
    u64::from(index as u32)
}

/// Returns the lowest and the highest coordinates.
fn bounds<'a>(positions: impl Iterator<Item = &'a [f64; 3]>) -> ([f64; 3], [f64; 3]) {
    let start = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    positions.fold(start, |(low, high), position| {
        (std::array::from_fn(|k| low[k].min(position[k])), std::array::from_fn(|k| high[k].max(position[k])))
    })
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
