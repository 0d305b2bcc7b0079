//! Sources that replace all others, written by several threads.

use kyoho_core::units::{Census, SIZES};
use kyoho_core::{CHUNK, Error, Result, Source, Sources, memory};
use kyoho_hal::threads::Threads;

use super::checks::{check_numbers, is_good_source};
use super::{Stage, System};

/// The fewest sources that several threads write. Fewer are sent to devices as records.
const MANY: usize = 1 << 16;
/// Fewer records are written sooner than other threads are awake.
const MANY_RECORDS: usize = 1 << 9;
/// The chunks that a thread writes at a time.
const CHUNKS_OF_JOB: usize = 64;

impl System {
    /// Writes sources to the addresses from 0 on, each as `source_at` returns it for its address,
    /// replacing what was there; the next block is the first to see them. Everything is checked
    /// first: after an error in a source nothing is written. Many that replace all others are
    /// written by several threads.
    pub fn set_sources(&mut self, count: usize, source_at: impl Fn(usize) -> Source + Sync) -> Result<()> {
        if count > i32::MAX as usize {
            return Err(Error::BadAddress { address: i64::from(i32::MAX) + 1 });
        }
        let replaces_all = count >= self.end && self.stage != Stage::Started;
        if replaces_all && !self.last_block_is_needed() && self.stage_sources(count, &source_at)? {
            return Ok(());
        }
        let are_few = !replaces_all || count < MANY;
        if are_few && self.record_sources(count, |address| address, &source_at)? {
            return Ok(());
        }
        self.check_sources(count, &source_at)?;
        if are_few {
            return (0..count).try_for_each(|address| self.set_source(address, &source_at(address)));
        }
        if self.last_block_is_needed() {
            self.make_lists(None)?;
        }
        self.journal.flush_to_host()?;
        self.journal.write_back_sent()?;
        let threads = &self.threads;
        self.staged_sources.is_current = false;
        self.journal.replace_all(|sources| replace_all(sources, count, &source_at, threads))?;
        self.end = count;
        self.statistics.writes += count as u64;
        Ok(())
    }

    /// Writes many sources as [`System::set_source`] does for one after another, by several
    /// threads, if devices take all as records. `address_at` and `source_at` return those at a
    /// place. It writes all or none, and then returns false: also where there are few, and where
    /// one of them is not good or has an address that was written before since the last block.
    pub fn record_sources(
        &mut self,
        count: usize,
        address_at: impl Fn(usize) -> usize,
        source_at: impl Fn(usize) -> Source + Sync,
    ) -> Result<bool> {
        if count < MANY_RECORDS {
            return Ok(false);
        }
        let highest = (0..count).map(&address_at).max().unwrap_or(0);
        if highest > i32::MAX as usize {
            return Ok(false);
        }
        let interaction = &*self.interaction;
        let good_source_at = |place| Some(source_at(place)).filter(|source| is_good_source(interaction, source));
        let are_recorded = self.journal.record_all((0..count).map(address_at), &good_source_at)?;
        if are_recorded {
            self.end = self.end.max(highest + 1);
            self.statistics.writes += count as u64;
        }
        Ok(are_recorded)
    }

    /// Fails unless all of these sources are good, and names the first that is not.
    fn check_sources(&self, count: usize, source_at: &(impl Fn(usize) -> Source + Sync)) -> Result<()> {
        let of_job = CHUNKS_OF_JOB * CHUNK;
        let mut outcomes: Vec<Result<()>> = memory::filled(count.div_ceil(of_job), Ok(()), "checks of sources")?;
        let interaction = &*self.interaction;
        self.threads.each(outcomes.iter_mut().enumerate(), |(job, outcome)| {
            let first = job * of_job;
            *outcome = (first..count.min(first + of_job)).try_for_each(|address| {
                check_numbers(interaction, &source_at(address), |what| {
                    format!("{what} of the source at address {address}")
                })
            });
        });
        outcomes.into_iter().collect()
    }
}

/// Replaces all sources by others at the addresses from 0 on, by several threads.
pub(super) fn replace_all(
    sources: &mut Sources,
    count: usize,
    source_at: &(impl Fn(usize) -> Source + Sync),
    threads: &Threads,
) -> Result<()> {
    // All memory is there before the first source is replaced.
    let mut all_counts = memory::filled(SIZES, [0; 4], "the sizes of sources")?;
    let jobs = count.div_ceil(CHUNKS_OF_JOB * CHUNK);
    let mut counts = memory::filled(jobs, [[0u32; 4]; SIZES], "the sizes of sources")?;
    let n_coefficients = sources.n_coefficients();
    let chunks = sources.room_for_all(count)?;
    let work = chunks.chunks_mut(CHUNKS_OF_JOB).zip(&mut counts).enumerate();
    threads.each(work, |(job, (chunks, counts))| {
        for (number, chunk) in (job * CHUNKS_OF_JOB..).zip(chunks.iter_mut().flatten()) {
            let first = number * CHUNK;
            let sources = (first..count.min(first + CHUNK)).map(source_at);
            chunk.replace_all(sources, n_coefficients, counts);
        }
    });
    for (sum, some) in counts.iter().flat_map(|counts| (0..SIZES).zip(counts)) {
        (0..4).for_each(|quantity| all_counts[sum][quantity] += some[quantity]);
    }
    sources.all_are_replaced(count, Census::of_counts(all_counts));
    Ok(())
}

#[cfg(test)]
mod tests {
    use kyoho_core::{Precision, Sink};

    use super::super::Setup;
    use super::super::tests::setup;
    use super::*;

    fn system() -> System {
        let setup = Setup { precision: Precision::Mixed, threads: 2, ..setup() };
        System::new(&setup).unwrap()
    }

    /// A source whose numbers have many sizes.
    fn source(address: usize) -> Source {
        let x = (address as f64 * 0.37).sin() * 10f64.powi((address % 11) as i32 - 5);
        let derivatives = [[x, -x, 0.5], [0.1, x * 0.01, 0.0], [0.0, 1.0, x], [0.3, 0.2, 0.1]];
        Source::from_derivatives(address as i32 + 7, 1.0 / (1.0 + address as f64), 0.0, derivatives)
    }

    #[test]
    fn many_sources_at_once_are_those_that_are_written_one_by_one() {
        let count = MANY + 100;
        let (mut at_once, mut one_by_one) = (system(), system());
        // What was there before is replaced.
        at_once.set_source(3, &source(999)).unwrap();
        at_once.set_source(MANY + 99, &source(5)).unwrap();
        at_once.set_sources(count, source).unwrap();
        (0..count).for_each(|address| one_by_one.set_source(address, &source(address)).unwrap());
        let sinks = || (0..3).map(|number| Sink { index: number + 7, ..Sink::NOTHING });
        for change in 0..2 {
            for system in [&mut at_once, &mut one_by_one] {
                if change == 1 {
                    // Single sources can be written after that.
                    system.set_source(17, &source(4321)).unwrap();
                }
            }
            let forces = |system: &mut System| {
                let forces = system.force(count, true, sinks()).unwrap();
                (0..3).map(|sink| (forces.potential(sink), forces.acceleration(sink))).collect::<Vec<_>>()
            };
            assert_eq!(forces(&mut at_once), forces(&mut one_by_one));
            let sources = |system: &mut System| system.sources([0, 17, count - 1]).unwrap();
            assert_eq!(sources(&mut at_once), sources(&mut one_by_one));
        }
        assert_eq!(at_once.statistics().sources, count as u64);
        // Fewer sources leave the others where they are.
        at_once.set_sources(MANY, |address| source(address + 1)).unwrap();
        assert_eq!(at_once.sources([1, count - 1]).unwrap(), [Some(source(2)), Some(source(count - 1))]);
    }

    #[test]
    fn a_wrong_source_is_named_and_nothing_is_written() {
        let mut system = system();
        system.set_sources(MANY, source).unwrap();
        let wrong = |address: usize| match address {
            70_000 | 65_001 => Source { mass: f64::NAN, ..source(address) },
            _ => source(address + 1),
        };
        let message = system.set_sources(MANY + 10_000, wrong).unwrap_err().to_string();
        assert!(message.contains("the mass of the source at address 65001"), "{message}");
        assert_eq!(system.sources([5]).unwrap(), [Some(source(5))]);
        assert_eq!(system.statistics().sources, MANY as u64);
    }
}
