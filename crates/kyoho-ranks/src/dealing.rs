//! Bodies that are dealt to the ranks in whose domains they are, and forces that come back, by several
//! threads.

use kyoho_core::{BufferPool, Error, Pooled, Result, memory};
use kyoho_hal::threads::Threads;
use kyoho_trees::bodies::Bodies;
use kyoho_trees::cpu::domain::RankWords;

use crate::domains::Own;

/// The bodies that a thread looks at or deals at a time.
pub const PIECE: usize = 1 << 15;
/// The words of a source that goes to its domain: coordinates, mass, index.
const OF_SOURCE: usize = 5;
/// The words of a sink: coordinates, index.
const OF_SINK: usize = 4;
/// The numbers of a force.
const OF_FORCE: usize = 4;
/// Rows of counts have at least so many places, of which each counts for one rank, so that threads that
/// count write to other lines of the caches.
const LEAST_ROW: usize = 16;
/// The name of bodies in errors about memory.
const WHAT: &str = "bodies for other ranks";

/// The threads and the memory of a call.
pub type With<'a> = (&'a Threads, &'a BufferPool);

/// The rank in whose domain each of some bodies is.
pub struct Owners {
    ranks: Pooled<u32>,
    /// How many bodies of each piece are of each rank, a row of at least [`LEAST_ROW`] for each piece.
    counts: Vec<usize>,
    size: usize,
}

/// Returns the length of a row of counts of so many ranks.
fn row_of(size: usize) -> usize {
    size.max(LEAST_ROW)
}

/// Takes so many items from the begin of a slice.
fn split_off<'a, T>(rest: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    rest.split_off_mut(..count).unwrap_or_default()
}

impl Owners {
    /// Finds the owners of bodies at some positions among so many ranks.
    pub fn new(
        positions: &[[f64; 3]],
        size: usize,
        owner: impl Fn(&[f64; 3]) -> usize + Sync,
        (threads, pool): With,
    ) -> Result<Owners> {
        let mut ranks = pool.unwritten(positions.len(), 0, WHAT)?;
        let mut counts = memory::filled(positions.len().div_ceil(PIECE) * row_of(size), 0, WHAT)?;
        let pieces = positions.chunks(PIECE).zip(ranks.chunks_mut(PIECE)).zip(counts.chunks_exact_mut(row_of(size)));
        threads.each(pieces, |((positions, ranks), counts)| {
            for (position, rank) in positions.iter().zip(ranks) {
                let owner = owner(position);
                counts[owner] += 1;
                *rank = owner as u32;
            }
        });
        Ok(Owners { ranks, counts, size })
    }

    /// Returns how many bodies are of a rank.
    fn of(&self, rank: usize) -> usize {
        self.rows().map(|counts| counts[rank]).sum()
    }

    /// Returns how many bodies of each piece are of each rank.
    fn rows(&self) -> impl Iterator<Item = &[usize]> {
        self.counts.chunks_exact(row_of(self.size)).map(|row| &row[..self.size])
    }

    /// Returns the numbers of the bodies of a piece, each with its rank.
    fn piece(&self, piece: usize) -> impl Iterator<Item = (usize, usize)> {
        let first = piece * PIECE;
        self.ranks[first..self.ranks.len().min(first + PIECE)]
            .iter()
            .zip(first..)
            .map(|(rank, body)| (body, *rank as usize))
    }

    fn pieces(&self) -> usize {
        self.ranks.len().div_ceil(PIECE)
    }

    /// Writes rows of words of all bodies but those of `rank`. `rest` are the words for each rank, of which
    /// the rows of this kind are taken.
    fn write<const WIDTH: usize>(
        &self,
        rank: usize,
        rest: &mut [&mut [u64]],
        threads: &Threads,
        row: impl Fn(usize) -> [u64; WIDTH] + Sync,
    ) -> Result<()> {
        let mut rooms: Vec<Vec<&mut [u64]>> = memory::room(self.pieces(), WHAT)?;
        for counts in self.rows() {
            let mut rooms_of_piece = memory::room(row_of(self.size), WHAT)?;
            for (of, (count, rest)) in counts.iter().zip(&mut *rest).enumerate() {
                rooms_of_piece.push(split_off(rest, if of == rank { 0 } else { count * WIDTH }));
            }
            rooms.push(rooms_of_piece);
        }
        threads.each(rooms.into_iter().enumerate(), |(piece, mut rooms)| {
            for (body, owner) in self.piece(piece).filter(|(_, owner)| *owner != rank) {
                split_off(&mut rooms[owner], WIDTH).copy_from_slice(&row(body));
            }
        });
        Ok(())
    }
}

/// The owners of a rank's sources and sinks.
pub struct OwnersOfAll {
    /// Those of the sources.
    pub sources: Owners,
    /// Those of the sinks, if these are not the sources.
    pub sinks: Option<Owners>,
}

impl OwnersOfAll {
    /// Returns the owners of the bodies that get forces.
    pub fn of_sinks(&self) -> &Owners {
        self.sinks.as_ref().unwrap_or(&self.sources)
    }

    /// Packs copies of bodies for the domains of other ranks.
    pub fn packed(&self, own: &Own, (rank, size): (usize, usize), (threads, pool): With) -> Result<RankWords> {
        let count = |of: usize| match &self.sinks {
            _ if of == rank => 0,
            sinks => 1 + OF_SOURCE * self.sources.of(of) + OF_SINK * sinks.as_ref().map_or(0, |sinks| sinks.of(of)),
        };
        let counts = memory::collected((0..size).map(count), WHAT)?;
        let mut words = pool.unwritten(counts.iter().sum(), 0, WHAT)?;
        let (mut rest, mut of_ranks) = (&mut words[..], memory::room(size, WHAT)?);
        for (of, count) in counts.iter().enumerate() {
            let mut of_rank = split_off(&mut rest, *count);
            if *count > 0 {
                split_off(&mut of_rank, 1)[0] = self.sources.of(of) as u64;
            }
            of_ranks.push(of_rank);
        }
        let Bodies { positions, masses, indices, .. } = &own.sources;
        self.sources.write(rank, &mut of_ranks, threads, |body| {
            let [x, y, z] = positions[body].map(f64::to_bits);
            [x, y, z, masses[body].to_bits(), word_of(indices[body])]
        })?;
        if let (Some(Bodies { positions, indices, .. }), Some(owners)) = (&own.sinks, &self.sinks) {
            owners.write(rank, &mut of_ranks, threads, |body| {
                let [x, y, z] = positions[body].map(f64::to_bits);
                [x, y, z, word_of(indices[body])]
            })?;
        }
        Ok(RankWords { words, counts })
    }

    /// Returns the sources and the sinks of a rank's domain: its own that are there, and those that came
    /// from others, in the order of ranks; and how many sinks are of each.
    pub fn domain(&self, own: &Own, (rank, words): (usize, &RankWords), with: With) -> Result<InDomain> {
        let (mut of_sources, mut of_sinks) =
            (memory::room(words.counts.len(), WHAT)?, memory::room(words.counts.len(), WHAT)?);
        for words in words.each() {
            let rows = words.get(1..).unwrap_or_default();
            let end = words.first().map_or(0, |sources| *sources as usize * OF_SOURCE).min(rows.len());
            of_sources.push(rows[..end].as_chunks::<OF_SOURCE>().0);
            of_sinks.push(rows[end..].as_chunks::<OF_SINK>().0);
        }
        let sources = bodies(&of_sources, (&own.sources, &self.sources), rank, with)?;
        let own_sinks = own.sinks.as_ref().zip(self.sinks.as_ref());
        let sinks = own_sinks.map(|own| bodies(&of_sinks, own, rank, with)).transpose()?;
        let of_rank = |of: usize| match sinks {
            _ if of == rank => self.of_sinks().of(rank),
            Some(_) => of_sinks[of].len(),
            None => of_sources[of].len(),
        };
        let sinks_of = memory::collected((0..words.counts.len()).map(of_rank), WHAT)?;
        Ok(InDomain { sources, sinks, sinks_of })
    }
}

/// Where the bodies of a part of a domain are.
enum Part<'a, const WIDTH: usize> {
    /// A piece of the own ones.
    Own(usize),
    /// Rows that came.
    Rows(&'a [[u64; WIDTH]]),
}

/// Gathers the own bodies of a rank's domain and those that came from each rank, which have masses if
/// they are sources.
fn bodies<'r, const WIDTH: usize>(
    rows: &[&'r [[u64; WIDTH]]],
    (own, owners): (&Bodies, &Owners),
    rank: usize,
    (threads, pool): With,
) -> Result<Bodies> {
    let has_masses = WIDTH == OF_SOURCE;
    let count = owners.of(rank) + rows.iter().map(|rows| rows.len()).sum::<usize>();
    let mut all = Bodies {
        positions: pool.unwritten(count, [0.0; 3], WHAT)?,
        masses: pool.unwritten(if has_masses { count } else { 0 }, 0.0, WHAT)?,
        indices: pool.unwritten(count, 0, WHAT)?,
        ..Bodies::default()
    };
    let (mut positions, mut masses, mut indices) = (&mut all.positions[..], &mut all.masses[..], &mut all.indices[..]);
    let mut parts = Vec::new();
    let mut add = |part: Part<'r, WIDTH>, count: usize| {
        let of_masses = if has_masses { count } else { 0 };
        let columns =
            (split_off(&mut positions, count), split_off(&mut masses, of_masses), split_off(&mut indices, count));
        memory::push(&mut parts, (part, columns), WHAT)
    };
    for (of, rows) in rows.iter().enumerate() {
        if of == rank {
            for (piece, counts) in owners.rows().enumerate() {
                add(Part::Own(piece), counts[rank])?;
            }
        }
        rows.chunks(PIECE).try_for_each(|rows| add(Part::Rows(rows), rows.len()))?;
    }
    threads.each(parts.into_iter(), |(part, (positions, masses, indices))| {
        let mut put = |place: usize, position: [f64; 3], mass: Option<f64>, index: i32| {
            (positions[place], indices[place]) = (position, index);
            if let Some(mass) = mass {
                masses[place] = mass;
            }
        };
        match part {
            Part::Own(piece) => {
                let here = owners.piece(piece).filter(|(_, owner)| *owner == rank);
                for (place, (body, _)) in here.enumerate() {
                    put(place, own.positions[body], own.masses.get(body).copied(), own.indices[body]);
                }
            }
            Part::Rows(rows) => {
                for (place, row) in rows.iter().enumerate() {
                    let position = std::array::from_fn(|k| f64::from_bits(row[k]));
                    let mass = has_masses.then(|| f64::from_bits(row[3]));
                    put(place, position, mass, row[WIDTH - 1] as u32 as i32);
                }
            }
        }
    });
    Ok(all)
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

/// Packs the forces on sinks of other ranks, of which each has so many in this domain.
pub fn packed_forces(
    forces: &[[f64; OF_FORCE]],
    (rank, sinks_of): (usize, &[usize]),
    own: std::ops::Range<usize>,
    (threads, pool): With,
) -> Result<RankWords> {
    let mut words = pool.unwritten((forces.len() - own.len()) * OF_FORCE, 0, WHAT)?;
    let (before, behind) = words.split_at_mut(own.start * OF_FORCE);
    for (words, forces) in [(before, &forces[..own.start]), (behind, &forces[own.end..])] {
        let pieces = words.chunks_mut(PIECE * OF_FORCE).zip(forces.chunks(PIECE));
        threads.each(pieces, |(words, forces)| words.copy_from_slice(bytemuck::cast_slice(forces)));
    }
    let count = |(of, sinks): (usize, &usize)| if of == rank { 0 } else { sinks * OF_FORCE };
    Ok(RankWords { words, counts: memory::collected(sinks_of.iter().enumerate().map(count), WHAT)? })
}

/// Puts the forces of the own domain and those that came back where the sinks are that have these owners.
pub fn put_forces(
    owners: &Owners,
    (rank, own, came): (usize, &[[f64; OF_FORCE]], &RankWords),
    values: &mut [f64],
    threads: &Threads,
) -> Result<()> {
    let of_rank = |(of, words): (usize, &'_ [u64])| if of == rank { own.len() } else { words.len() / OF_FORCE };
    if came.each().enumerate().any(|part| of_rank(part) != owners.of(part.0)) {
        return Err(Error::Internal { what: "a rank lost forces".into() });
    }
    let mut parts: Vec<&[[f64; OF_FORCE]]> = memory::room(owners.size, WHAT)?;
    parts.extend(came.each().enumerate().map(|(of, words)| if of == rank { own } else { bytemuck::cast_slice(words) }));
    // The place of the next force of each rank where a piece begins.
    let (mut next, row) = (memory::collected(owners.counts.iter().copied(), WHAT)?, row_of(owners.size));
    for of in 0..owners.size {
        let mut before = 0;
        for count in next.iter_mut().skip(of).step_by(row) {
            before += std::mem::replace(count, before);
        }
    }
    let pieces = values.chunks_mut(PIECE * OF_FORCE).zip(next.chunks_exact_mut(row)).enumerate();
    threads.each(pieces, |(piece, (values, next))| {
        for ((_, owner), to) in owners.piece(piece).zip(values.chunks_exact_mut(OF_FORCE)) {
            to.copy_from_slice(&parts[owner][next[owner]]);
            next[owner] += 1;
        }
    });
    Ok(())
}
