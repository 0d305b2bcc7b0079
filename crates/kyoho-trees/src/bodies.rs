//! The sources and sinks of a block as trees take them.

use kyoho_core::{Block, BufferPool, CHUNK, Pooled, Result, SinkSlice, Sources, chunks_below, memory};
use kyoho_hal::threads::Threads;

/// Positions, masses and indices of bodies.
#[derive(Debug, Default)]
pub struct Bodies {
    /// The positions.
    pub positions: Pooled<[f64; 3]>,
    /// The masses; empty for sinks.
    pub masses: Pooled<f64>,
    /// The indices.
    pub indices: Pooled<i32>,
    /// The addresses; empty for sinks.
    pub addresses: Pooled<u32>,
    /// Half of the squared softening of each, where each has its own; else empty.
    pub softenings2: Pooled<f64>,
}

/// The number of chunks that a thread compares at a time, and of the bodies in them.
const CHUNKS_OF_JOB: usize = 16;
const OF_JOB: usize = CHUNKS_OF_JOB * CHUNK;
/// The name of bodies in errors about memory.
const WHAT: &str = "the bodies of a tree";

impl Bodies {
    /// Copies the sources at addresses below an end, as they were written.
    pub fn sources(sources: &Sources, nj: usize, (threads, pool): (&Threads, &BufferPool)) -> Result<Bodies> {
        let count = sources.count();
        let mut bodies = if count <= nj && sources.has_all_below(count) {
            let body = |address: usize| {
                let body = sources.body(address).unwrap_or_default();
                (body.position, body.mass, body.index)
            };
            Bodies::first(count, body, (threads, pool))?
        } else {
            Bodies::some_sources(sources, nj, pool)?
        };
        if sources.has_softenings() {
            let half = |address: &u32| 0.5 * sources.softening2(*address as usize)[0];
            bodies.softenings2 = pool.collected(bodies.addresses.iter().map(half), WHAT)?;
        }
        Ok(bodies)
    }

    /// Copies the sources at addresses below an end, of which some may have none.
    fn some_sources(sources: &Sources, nj: usize, pool: &BufferPool) -> Result<Bodies> {
        let count = sources.count();
        let mut bodies = Bodies {
            positions: pool.room(count, WHAT)?,
            masses: pool.room(count, WHAT)?,
            indices: pool.room(count, WHAT)?,
            addresses: pool.room(count, WHAT)?,
            ..Bodies::default()
        };
        sources.each_below(nj, |address, body| {
            bodies.addresses.push(address as u32);
            bodies.positions.push(body.position);
            bodies.masses.push(body.mass);
            bodies.indices.push(body.index);
        });
        Ok(bodies)
    }

    /// Copies so many sources at the addresses from 0 on, of which `body` returns position, mass and index,
    /// by several threads.
    pub fn first(
        count: usize,
        body: impl Fn(usize) -> ([f64; 3], f64, i32) + Sync,
        (threads, pool): (&Threads, &BufferPool),
    ) -> Result<Bodies> {
        let mut bodies = Bodies {
            positions: pool.unwritten(count, [0.0; 3], WHAT)?,
            masses: pool.unwritten(count, 0.0, WHAT)?,
            indices: pool.unwritten(count, 0, WHAT)?,
            addresses: pool.unwritten(count, 0, WHAT)?,
            ..Bodies::default()
        };
        let jobs = bodies.positions.chunks_mut(OF_JOB).zip(bodies.masses.chunks_mut(OF_JOB));
        let jobs = jobs.zip(bodies.indices.chunks_mut(OF_JOB)).zip(bodies.addresses.chunks_mut(OF_JOB)).enumerate();
        threads.each(jobs, |(job, (((positions, masses), indices), addresses))| {
            for place in 0..positions.len() {
                let address = job * OF_JOB + place;
                (positions[place], masses[place], indices[place]) = body(address);
                addresses[place] = address as u32;
            }
        });
        Ok(bodies)
    }

    /// Copies sinks by several threads, with their softenings where each body has its own.
    pub fn sinks(sinks: SinkSlice, with_softenings: bool, (threads, pool): (&Threads, &BufferPool)) -> Result<Bodies> {
        let count = sinks.len();
        let of_softenings = if with_softenings { count } else { 0 };
        let mut bodies = Bodies {
            positions: pool.unwritten(count, [0.0; 3], WHAT)?,
            indices: pool.unwritten(count, 0, WHAT)?,
            softenings2: pool.unwritten(of_softenings, 0.0, WHAT)?,
            ..Bodies::default()
        };
        let jobs = bodies.positions.chunks_mut(OF_JOB).zip(bodies.indices.chunks_mut(OF_JOB)).enumerate();
        threads.each(jobs, |(job, (positions, indices))| {
            for (place, (position, index)) in positions.iter_mut().zip(indices).enumerate() {
                let sink = sinks.with::<1, false>(job * OF_JOB + place);
                (*position, *index) = (sink.derivatives[0], sink.index);
            }
        });
        threads.each(bodies.softenings2.chunks_mut(OF_JOB).enumerate(), |(job, softenings2)| {
            let numbers = job * OF_JOB..;
            softenings2
                .iter_mut()
                .zip(numbers)
                .for_each(|(half, sink)| *half = 0.5 * sinks.with::<1, false>(sink).softening2);
        });
        Ok(bodies)
    }

    /// Whether sinks are at the places of these bodies, in their order, and have their indices if these
    /// are compared.
    pub fn are_sinks(&self, sinks: SinkSlice, with_indices: bool, threads: &Threads) -> bool {
        if sinks.len() != self.positions.len() {
            return false;
        }
        let jobs = self.positions.chunks(OF_JOB).zip(self.indices.chunks(OF_JOB)).enumerate();
        threads.all(jobs, |(job, (positions, indices))| {
            (0..positions.len()).all(|place| {
                let sink = sinks.with::<1, false>(job * OF_JOB + place);
                sink.derivatives[0] == positions[place] && (!with_indices || sink.index == indices[place])
            })
        })
    }

    /// Takes from the forces on sinks those of the sources that have their indices, which a tree
    /// has summed with the others. The forces are a potential and an acceleration each.
    pub fn leave_out_own(&self, sinks: &Bodies, softening2: f64, forces: &mut [f64]) -> Result<()> {
        let mut sorted = memory::collected(0..self.indices.len() as u32, WHAT)?;
        sorted.sort_unstable_by_key(|body| self.indices[*body as usize]);
        let index_of = |place: usize| self.indices[sorted[place] as usize];
        for (sink, force) in forces.chunks_exact_mut(4).enumerate() {
            let index = sinks.indices[sink];
            let first = sorted.partition_point(|body| self.indices[*body as usize] < index);
            for place in (first..sorted.len()).take_while(|place| index_of(*place) == index) {
                let own = sorted[place] as usize;
                let r: [f64; 3] = std::array::from_fn(|k| self.positions[own][k] - sinks.positions[sink][k]);
                let s2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + softening2;
                if s2 > 0.0 {
                    let depth = self.masses[own] / s2.sqrt();
                    force[0] += depth;
                    (0..3).for_each(|k| force[1 + k] -= depth / s2 * r[k]);
                }
            }
        }
        Ok(())
    }
}

/// Whether the sinks of a block are the sources at addresses from 0 to below nj, in their order, with
/// their softenings; with their indices, if these say which sources are left out.
pub fn are_sources(sources: &Sources, block: &Block, threads: &Threads) -> bool {
    let sinks = block.sinks.all();
    if sinks.len() != block.nj.min(sources.count()) {
        return false;
    }
    let has_own = |sink: usize| sources.softening2(sink)[0] == sinks.with::<1, false>(sink).softening2;
    if sources.has_softenings() && !(0..sinks.len()).all(has_own) {
        return false;
    }
    let chunks = chunks_below(sinks.len());
    threads.all((0..chunks).step_by(CHUNKS_OF_JOB), |first| {
        (first..chunks.min(first + CHUNKS_OF_JOB)).all(|chunk| {
            let some = sinks.range(chunk * CHUNK..sinks.len().min((chunk + 1) * CHUNK));
            let bodies = (0..some.len()).map(|place| {
                let sink = some.with::<1, false>(place);
                (sink.derivatives[0], sink.index)
            });
            sources.chunk_has(chunk, block.skip_own_index, bodies)
        })
    })
}
