//! How a block ends: forces are waited for and handed over.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use kyoho_core::forces::check_finite;
use kyoho_core::{Error, Forces, Result, Sink, Sums};

use crate::devices::NotStarted;
use crate::{Stage, System};

/// Fewer forces are handed over sooner than other threads are awake.
const MANY_FORCES: usize = 1 << 13;
/// The number of sinks whose forces a thread hands over at a time.
const FORCES_OF_PIECE: usize = 1 << 11;

/// Divides sinks among threads.
fn pieces(sinks: Range<usize>) -> impl ExactSizeIterator<Item = Range<usize>> + Send {
    let (count, end) = (sinks.len().div_ceil(FORCES_OF_PIECE), sinks.end);
    (0..count).map(move |piece| {
        let first = sinks.start + piece * FORCES_OF_PIECE;
        first..end.min(first + FORCES_OF_PIECE)
    })
}

impl System {
    /// Waits for the forces of the block that was started.
    pub fn wait(&mut self) -> Result<Forces<'_>> {
        self.wait_each(|_, _| ())?;
        self.forces()
    }

    /// Returns the forces of the last block once more, until another is started.
    pub fn forces(&self) -> Result<Forces<'_>> {
        match self.stage {
            Stage::Done if self.has_sums => {
                Ok(Forces { interaction: &self.interaction, values: &self.sums.values, nearest: &self.sums.nearest })
            }
            Stage::Done => Err(Error::CallOrder { call: "forces", when: "after they were written to a device alone" }),
            _ => Err(Error::CallOrder { call: "forces", when: "before those of a block were waited for" }),
        }
    }

    /// Waits for the forces and hands them over as they come, with the number of the first sink: a
    /// device may still be at work on others. Those of several devices come by turns, in no order of
    /// sinks. If a device fails, all are handed over again, and none of them holds if an error is
    /// returned.
    pub fn wait_each(&mut self, mut take: impl FnMut(usize, Forces)) -> Result<()> {
        self.wait_for_all(|system, sums, sinks| {
            system.hand_over_if_finite(sums, sinks.clone(), |_, _| ())?;
            take(sinks.start, Forces::of(sums, sinks, &system.interaction));
            Ok(())
        })
    }

    /// Waits for the forces as [`System::wait_each`] does, and hands over also sums that are infinite or
    /// no number: the caller has to look for them.
    pub fn wait_each_unchecked(&mut self, mut take: impl FnMut(usize, Forces)) -> Result<()> {
        self.wait_for_all(|system, sums, sinks| {
            take(sinks.start, Forces::of(sums, sinks, &system.interaction));
            Ok(())
        })
    }

    /// Waits for the forces as [`System::wait_each`] does. Where they are many, several threads
    /// take some each, up to twelve of [`Setup::threads`](crate::Setup::threads).
    pub fn wait_each_on_threads(&mut self, take: impl Fn(usize, Forces) + Sync) -> Result<()> {
        self.wait_for_all(|system, sums, sinks| system.hand_over_if_finite(sums, sinks, &take))
    }

    /// Returns the number of sinks of the last block.
    pub fn sinks(&self) -> usize {
        self.block.count()
    }

    /// Waits for the forces and calls `take` with the sums of further sinks, of which none may be
    /// infinite or no number.
    pub(super) fn wait_for_all(
        &mut self,
        mut take: impl FnMut(&System, &Sums, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        if self.stage != Stage::Started {
            return Err(Error::CallOrder { call: "wait", when: "without start" });
        }
        self.stage = Stage::Idle;
        if self.block.lists.as_mut().is_some_and(|lists| lists.forces.take().is_some()) {
            // The device has given the forces to arrays of the caller, and kept none.
            self.devices.start(&mut self.journal, false, &mut self.block, None).map_err(NotStarted::into_error)?;
            self.journal.fetched();
        }
        let count = self.block.count();
        let mut finite = Ok(());
        let handed_over = loop {
            match self.devices.wait_more() {
                // Whatever came of the first sinks, the devices are waited for to their end.
                Ok(Some(sinks)) => {
                    let sums = self.devices.so_far();
                    finite = finite.and_then(|()| take(self, sums, sinks));
                }
                Ok(None) => {
                    self.devices.take_all(&mut self.sums);
                    break Ok(());
                }
                Err(error) => break Err(error),
            }
        };
        match handed_over {
            Ok(()) => finite?,
            Err(error) => {
                self.compute_elsewhere(error)?;
                take(self, &self.sums, 0..count)?;
            }
        }
        (self.stage, self.has_sums) = (Stage::Done, true);
        self.count_block();
        Ok(())
    }

    /// Counts the block whose forces were waited for.
    pub(super) fn count_block(&mut self) {
        self.statistics.blocks += 1;
        self.statistics.sinks += self.block.count() as u64;
        self.statistics.interactions += self.block.pairs();
    }

    /// Hands over the forces on these sinks if all sums are finite, else it fails and names the first
    /// sink with one that is not. Of many sinks several threads hand over those that they have found
    /// to be finite, while the numbers are in their caches.
    pub(super) fn hand_over_if_finite(
        &self,
        sums: &Sums,
        sinks: Range<usize>,
        take: impl Fn(usize, Forces) + Sync,
    ) -> Result<()> {
        let interaction = &*self.interaction;
        let hand_over = |piece: Range<usize>| {
            check_finite(sums, piece.clone(), interaction)?;
            take(piece.start, Forces::of(sums, piece, interaction));
            Ok(())
        };
        if sinks.len() < MANY_FORCES {
            return hand_over(sinks);
        }
        let good = AtomicBool::new(true);
        self.threads.each(pieces(sinks.clone()), |piece| {
            if hand_over(piece).is_err() {
                good.store(false, Ordering::Relaxed);
            }
        });
        if good.into_inner() { Ok(()) } else { check_finite(sums, sinks, interaction) }
    }

    /// Waits for a block that was started, if any, and forgets it.
    pub fn abandon(&mut self) {
        if self.stage == Stage::Started {
            let _ = self.wait();
            self.stage = Stage::Idle;
        }
    }

    /// Abandons a block that was started, and forgets the last one: its lists cannot be had any
    /// more, and sources are not kept for them.
    pub fn forget_block(&mut self) {
        self.abandon();
        self.stage = Stage::Idle;
    }

    /// Starts a block and waits for its forces.
    pub fn force(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        sinks: impl IntoIterator<Item = Sink>,
    ) -> Result<Forces<'_>> {
        self.start(nj, skip_own_index, sinks)?;
        self.wait()
    }
}
