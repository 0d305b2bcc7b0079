//! What the host does for systems on devices: it begins them, makes the steps in which bodies may
//! touch, and ends them.

use kyoho_core::{Result, memory};
use kyoho_hal::gpu::Gpu;
use kyoho_hal::threads::Threads;

use super::pool::{Pool, Records};
use super::rules::{ENDED_BY_ESCAPE, ENDED_BY_STEPS, ENDED_BY_TIME, ENDED_WITHOUT_STEP, IS_UNDER_WAY, MAY_TOUCH};
use crate::evolve::{End, Outcome};
use crate::options::Options;
use crate::run::Run;
use crate::system::System;

/// The first word of a system that has an outcome.
const IS_OVER: i32 = -1;
/// The first word of a system that was not begun.
const IS_NEW: i32 = -2;

/// What memory is for.
const WHAT: &str = "systems of few bodies";

/// A system, and the place for its outcome.
pub struct Job<'a> {
    /// The system, which changes when it has an outcome.
    pub system: &'a mut System,
    /// How it ended.
    pub outcome: &'a mut Option<Result<Outcome>>,
}

impl Job<'_> {
    /// Takes up the system where its record stands, does what is the host's, and writes the record
    /// anew, or the outcome. With `to_end` it makes all steps that are left.
    fn advance(&mut self, options: &Options, (numbers, words): (&mut [f64], &mut [i32]), to_end: bool) -> Result<()> {
        let mut run = Run::new(self.system, options, None)?;
        let status = words[0];
        if status != IS_NEW {
            run.read(numbers, words)?;
        }
        let mut end = match status {
            IS_NEW => run.begin(),
            ENDED_BY_TIME => Some(End::Time),
            ENDED_BY_STEPS => Some(End::Steps),
            ENDED_WITHOUT_STEP => Some(End::NoStep),
            ENDED_BY_ESCAPE => Some(run.end_by_escape()?),
            MAY_TOUCH => run.advance()?,
            _ => None,
        };
        if end.is_none() && to_end {
            end = Some(run.advance_to_end()?);
        }
        match end {
            Some(end) => {
                *self.outcome = Some(run.give_back(self.system, end));
                words[0] = IS_OVER;
            }
            None => {
                run.write(&self.system.radii, numbers, words);
                words[0] = IS_UNDER_WAY;
            }
        }
        Ok(())
    }
}

/// Room for the records of systems that the host has in hand, one row for each.
pub struct Rows<'a> {
    options: &'a Options,
    lengths: [usize; 2],
    numbers: Vec<f64>,
    words: Vec<i32>,
}

impl<'a> Rows<'a> {
    /// Makes it for systems with so many numbers and words.
    pub fn new(options: &'a Options, lengths: [usize; 2]) -> Rows<'a> {
        Rows { options, lengths, numbers: Vec::new(), words: Vec::new() }
    }

    /// Does for the systems of a pool what is the host's, and fills the slots of those that have ended.
    /// Systems are in the first slots, in the order of the jobs.
    pub fn look_after<'b, G: Gpu>(
        &mut self,
        pool: &mut Pool<G>,
        jobs: &mut Vec<Job<'b>>,
        waiting: &mut impl Iterator<Item = Job<'b>>,
        threads: &Threads,
    ) -> Result<()> {
        let mut stopped: Vec<usize> = memory::room(jobs.len(), WHAT)?;
        stopped.extend(pool.records(jobs.len()).stopped());
        self.work(&pool.records(jobs.len()), jobs, &stopped, threads, false)?;
        let mut places: Vec<(usize, usize)> = memory::room(pool.slots(), WHAT)?;
        places.extend(stopped.iter().copied().enumerate().filter(|&(row, _)| !self.is_over(row)));
        pool.write(threads, &places, &self.numbers, &self.words);
        // The last system takes the slot of one that has ended.
        places.clear();
        for (row, &slot) in stopped.iter().enumerate().rev() {
            if self.is_over(row) {
                jobs.swap_remove(slot);
                places.push((jobs.len(), slot));
            }
        }
        pool.shift(threads, &places);
        let first = jobs.len();
        jobs.extend(waiting.take(pool.slots() - first));
        stopped.clear();
        stopped.extend(first..jobs.len());
        self.work(&pool.records(first), jobs, &stopped, threads, false)?;
        // Some may have ended before their first step.
        for row in (0..stopped.len()).rev() {
            if self.is_over(row) {
                jobs.swap_remove(first + row);
                stopped.swap_remove(row);
            }
        }
        places.clear();
        places.extend(stopped.iter().enumerate().map(|(place, &slot)| (slot - first, first + place)));
        pool.write(threads, &places, &self.numbers, &self.words);
        Ok(())
    }

    /// Makes all steps that are left of the systems of a pool.
    pub fn end_all<G: Gpu>(&mut self, pool: &Pool<G>, jobs: &mut Vec<Job>, threads: &Threads) -> Result<()> {
        let mut slots = memory::room(jobs.len(), WHAT)?;
        slots.extend(0..jobs.len());
        self.work(&pool.records(jobs.len()), jobs, &slots, threads, true)?;
        jobs.clear();
        Ok(())
    }

    fn is_over(&self, row: usize) -> bool {
        self.words[row * self.lengths[1]] == IS_OVER
    }

    /// Advances the jobs in some slots, each in its row. Those that the pool has no record of are new.
    fn work(
        &mut self,
        records: &Records,
        jobs: &mut [Job],
        slots: &[usize],
        threads: &Threads,
        to_end: bool,
    ) -> Result<()> {
        let [of_numbers, of_words] = self.lengths;
        self.numbers.clear();
        memory::lengthen(&mut self.numbers, slots.len() * of_numbers, WHAT, || 0.0)?;
        self.words.clear();
        memory::lengthen(&mut self.words, slots.len() * of_words, WHAT, || IS_NEW)?;
        let mut chosen = memory::room(slots.len(), WHAT)?;
        let mut wanted = slots.iter().copied().peekable();
        chosen.extend(jobs.iter_mut().enumerate().filter(|&(slot, _)| wanted.next_if_eq(&slot).is_some()));
        let rows = self.numbers.chunks_exact_mut(of_numbers).zip(self.words.chunks_exact_mut(of_words));
        threads.each(chosen.into_iter().zip(rows), |((slot, job), (numbers, words))| {
            records.read(slot, numbers, words);
            if let Err(error) = job.advance(self.options, (numbers, words), to_end) {
                *job.outcome = Some(Err(error));
                words[0] = IS_OVER;
            }
        });
        Ok(())
    }
}
