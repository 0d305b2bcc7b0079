//! The domains of ranks: ranges of the curve through all octants of the cube around all bodies.

use kyoho_core::{BufferPool, Pooled, Result, memory};
use kyoho_trees::bodies::Bodies;
use kyoho_trees::cpu::domain::{DomainForces, RankWords};
use kyoho_trees::cube::{Cube, Key};

use crate::Ranks;
use crate::agreement::Call;

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

/// The ranks of a rank's bodies.
pub struct Owners {
    /// The rank in whose domain each source is.
    sources: Pooled<u32>,
    /// That of each sink; empty where these are the sources.
    sinks: Pooled<u32>,
}

/// What ranks tell of their bodies: the lowest and the highest coordinates, the count, and of the
/// indices of sources whether they ascend, the lowest and the highest one.
struct Told<'a>(&'a [u64]);

impl Told<'_> {
    fn words(own: &Own) -> Result<Vec<u64>> {
        let sinks = own.sinks.iter().flat_map(|sinks| sinks.positions.iter());
        let start = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        let (low, high) = own.sources.positions.iter().chain(sinks).fold(start, |(low, high), position| {
            (std::array::from_fn(|k| low[k].min(position[k])), std::array::from_fn(|k| high[k].max(position[k])))
        });
        let indices = &own.sources.indices;
        let is_ascending = indices.is_sorted_by(|one, next| one < next);
        let [first, last] = [indices.first(), indices.last()].map(|index| index.map_or(0, |index| *index as u32));
        let count = own.sources.positions.len() + own.sinks.as_ref().map_or(0, |sinks| sinks.positions.len());
        let numbers = [count, indices.len(), usize::from(own.sinks.is_none()), usize::from(is_ascending)];
        let words = low.into_iter().chain(high).map(f64::to_bits).chain(numbers.map(|number| number as u64));
        memory::collected(words.chain([u64::from(first), u64::from(last)]), WHAT)
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

    /// Returns the lowest and the highest index, if they ascend.
    fn indices(&self) -> Option<[i32; 2]> {
        (self.0[9] != 0).then(|| [self.0[10] as u32 as i32, self.0[11] as u32 as i32])
    }
}

impl Domains {
    /// Divides the bodies of all ranks into domains of about as many sources and sinks. All ranks call
    /// this, with what each has or why it has it not.
    pub fn of_ranks(ranks: &mut Ranks, own: Result<Own>) -> Result<(Domains, Own)> {
        let told = own.as_ref().map_err(Clone::clone).and_then(Told::words);
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
        let found = firsts(&sample, size).and_then(|firsts| {
            let with_sources = all().filter(|told| told.sources() > 0);
            let mut ranges = memory::collected(with_sources.map(|told| told.indices()), WHAT)?;
            ranges.sort_unstable();
            let are_apart =
                |pair: &[Option<[i32; 2]>]| matches!(pair, [Some([_, end]), Some([begin, _])] if end < begin);
            let has_distinct_indices = ranges.iter().all(Option::is_some) && ranges.windows(2).all(are_apart);
            let sinks_are_sources = all().all(|told| told.0[8] != 0);
            Ok(Domains { cube, firsts, sinks_are_sources, has_distinct_indices })
        });
        ranks.agree(Call::Room, found.as_ref().map(|_| [0; 5]).map_err(Clone::clone))?;
        Ok((found?, own))
    }

    /// Returns the rank in whose domain each body is.
    fn of_bodies(&self, bodies: &Bodies, pool: &BufferPool) -> Result<Pooled<u32>> {
        let owner = |position: &[f64; 3]| {
            let key = self.cube.key(*position);
            self.firsts.partition_point(|first| *first <= key) as u32
        };
        pool.collected(bodies.positions.iter().map(owner), WHAT)
    }

    /// Returns the ranks of a rank's bodies.
    pub fn owners(&self, own: &mut Own, pool: &BufferPool) -> Result<Owners> {
        if !self.sinks_are_sources && own.sinks.is_none() {
            let positions = pool.collected(own.sources.positions.iter().copied(), WHAT)?;
            let indices = pool.collected(own.sources.indices.iter().copied(), WHAT)?;
            own.sinks = Some(Bodies { positions, indices, ..Bodies::default() });
        }
        let sinks = own.sinks.as_ref().map_or(Ok(Pooled::default()), |sinks| self.of_bodies(sinks, pool))?;
        Ok(Owners { sources: self.of_bodies(&own.sources, pool)?, sinks })
    }
}

impl Owners {
    /// Returns the rank in whose domain each sink is.
    pub fn of_sinks(&self, domains: &Domains) -> &[u32] {
        if domains.sinks_are_sources { &self.sources } else { &self.sinks }
    }

    /// Packs copies of bodies for the domains of other ranks.
    pub fn packed(&self, own: &Own, (rank, size): (usize, usize), pool: &BufferPool) -> Result<RankWords> {
        let mut numbers = memory::filled(size, [0_usize; 2], WHAT)?;
        self.sources.iter().for_each(|owner| numbers[*owner as usize][0] += 1);
        self.sinks.iter().for_each(|owner| numbers[*owner as usize][1] += 1);
        let count = |(of, numbers): (usize, &[usize; 2])| match of == rank {
            true => 0,
            false => 1 + OF_SOURCE * numbers[0] + OF_SINK * numbers[1],
        };
        let counts = memory::collected(numbers.iter().enumerate().map(count), WHAT)?;
        let mut words = pool.unwritten(counts.iter().sum(), 0, WHAT)?;
        let mut ends = memory::room(size, WHAT)?;
        let mut begin = 0;
        for (count, numbers) in counts.iter().zip(&numbers) {
            if *count > 0 {
                words[begin] = numbers[0] as u64;
            }
            ends.push(begin + 1);
            begin += count;
        }
        for (body, owner) in self.sources.iter().enumerate().filter(|(_, owner)| **owner as usize != rank) {
            let end = &mut ends[*owner as usize];
            let [x, y, z] = own.sources.positions[body].map(f64::to_bits);
            let (mass, index) = (own.sources.masses[body].to_bits(), word_of(own.sources.indices[body]));
            words[*end..*end + OF_SOURCE].copy_from_slice(&[x, y, z, mass, index]);
            *end += OF_SOURCE;
        }
        let Some(sinks) = &own.sinks else { return Ok(RankWords { words, counts }) };
        for (body, owner) in self.sinks.iter().enumerate().filter(|(_, owner)| **owner as usize != rank) {
            let end = &mut ends[*owner as usize];
            let [x, y, z] = sinks.positions[body].map(f64::to_bits);
            words[*end..*end + OF_SINK].copy_from_slice(&[x, y, z, word_of(sinks.indices[body])]);
            *end += OF_SINK;
        }
        Ok(RankWords { words, counts })
    }

    /// Returns the sources and the sinks of a rank's domain: its own that are there, and those that came
    /// from others, in the order of ranks; and how many sinks are of each.
    pub fn domain(&self, own: &Own, (rank, words): (usize, &RankWords), pool: &BufferPool) -> Result<InDomain> {
        let here = |owners: &[u32]| owners.iter().filter(|owner| **owner as usize == rank).count();
        let cut = |words: &[u64]| words.first().map_or(0, |sources| *sources as usize * OF_SOURCE);
        let came = words.each().map(|words| cut(words) / OF_SOURCE).sum::<usize>();
        let sources = here(&self.sources) + came;
        let of_rank = |(number, words): (usize, &[u64])| match own.sinks.is_some() {
            _ if number == rank => here(if own.sinks.is_some() { &self.sinks } else { &self.sources }),
            true => words.len().saturating_sub(1 + cut(words)) / OF_SINK,
            false => cut(words) / OF_SOURCE,
        };
        let sinks_of = memory::collected(words.each().enumerate().map(of_rank), WHAT)?;
        let mut of_sources = Bodies {
            positions: pool.room(sources, WHAT)?,
            masses: pool.room(sources, WHAT)?,
            indices: pool.room(sources, WHAT)?,
            addresses: Pooled::default(),
            ..Bodies::default()
        };
        let sinks = if own.sinks.is_some() { sinks_of.iter().sum() } else { 0 };
        let mut of_sinks =
            Bodies { positions: pool.room(sinks, WHAT)?, indices: pool.room(sinks, WHAT)?, ..Bodies::default() };
        for (number, words) in words.each().enumerate() {
            if number == rank {
                self.put_own(own, rank, (&mut of_sources, &mut of_sinks));
                continue;
            }
            let rows = words.get(1..).unwrap_or_default();
            let (sources, sinks) = rows.split_at(cut(words).min(rows.len()));
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
        Ok(InDomain { sources: of_sources, sinks: own.sinks.is_some().then_some(of_sinks), sinks_of })
    }

    /// Puts the own bodies of a rank that are in its domain.
    fn put_own(&self, own: &Own, rank: usize, (sources, sinks): (&mut Bodies, &mut Bodies)) {
        for (body, _) in self.sources.iter().enumerate().filter(|(_, owner)| **owner as usize == rank) {
            sources.positions.push(own.sources.positions[body]);
            sources.masses.push(own.sources.masses[body]);
            sources.indices.push(own.sources.indices[body]);
        }
        let Some(of_sinks) = &own.sinks else { return };
        for (body, _) in self.sinks.iter().enumerate().filter(|(_, owner)| **owner as usize == rank) {
            sinks.positions.push(of_sinks.positions[body]);
            sinks.indices.push(of_sinks.indices[body]);
        }
    }
}

/// The bodies of a domain.
pub struct InDomain {
    /// The sources.
    pub sources: Bodies,
    /// The sinks, if they are not the sources.
    pub sinks: Option<Bodies>,
    /// The number of sinks of each rank, which stand in the order of ranks.
    pub sinks_of: Vec<usize>,
}

fn word_of(index: i32) -> u64 {
    u64::from(index as u32)
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
