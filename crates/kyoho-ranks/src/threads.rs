//! Ranks that are threads of one process, for tests: late, failing, and with short messages.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kyoho_core::{Error, Result};

use crate::Communicator;

/// One of several ranks, for a thread of its own.
pub struct ThreadRank {
    rank: usize,
    shared: Arc<Shared>,
    /// The number of exchanges so far.
    exchanges: usize,
    /// How it behaves.
    pub manners: Manners,
}

/// How a rank behaves.
#[derive(Debug, Clone, Copy)]
pub struct Manners {
    /// The most bytes of an exchange.
    pub most_bytes: usize,
    /// Whether it comes late to exchanges, to each by another time.
    pub is_late: bool,
    /// The number of the exchange that fails, from 0 on.
    pub fails_at: Option<usize>,
}

impl Default for Manners {
    fn default() -> Manners {
        Manners { most_bytes: 1 << 30, is_late: false, fails_at: None }
    }
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// What each rank has for each, while an exchange is under way.
    sent: Vec<Option<Vec<Vec<u8>>>>,
    /// The number of ranks that have taken what is for them.
    taken: usize,
    /// Whether some rank left, failed or was aborted, so that no exchange ends any more.
    is_over: bool,
    /// Whether that was by [`Communicator::abort`].
    is_aborted: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, is_aborted: bool) {
        let mut state = self.lock();
        state.is_over = true;
        state.is_aborted |= is_aborted;
        self.changed.notify_all();
    }
}

impl ThreadRank {
    /// Makes as many ranks.
    pub fn all(size: usize) -> Vec<ThreadRank> {
        let state = State { sent: vec![None; size], ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let rank = |rank| ThreadRank { rank, shared: shared.clone(), exchanges: 0, manners: Manners::default() };
        (0..size).map(rank).collect()
    }

    fn failed(function: &'static str) -> Error {
        Error::CommunicatorFailed { function, result: 1, allowed: "to free the system" }
    }

    /// Gives each rank what is for it, and returns what each has for this one.
    fn exchange(&mut self, function: &'static str, sent: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        let number = self.exchanges;
        self.exchanges += 1;
        if self.manners.fails_at == Some(number) {
            self.shared.end(false);
        }
        if self.manners.is_late {
            std::thread::sleep(Duration::from_micros(((number * 7 + self.rank * 5) % 11 * 40) as u64));
        }
        let mut state = self.shared.lock();
        state.sent[self.rank] = Some(sent);
        self.shared.changed.notify_all();
        let mut state = self.wait(state, function, |state| state.sent.iter().all(Option::is_some))?;
        let received = state.sent.iter().flatten().map(|sent| sent[self.rank].clone()).collect();
        state.taken += 1;
        if state.taken == state.sent.len() {
            state.taken = 0;
            state.sent.iter_mut().for_each(|sent| *sent = None);
            self.shared.changed.notify_all();
        }
        // The next exchange begins when all have taken what is for them.
        drop(self.wait(state, function, |state| state.taken == 0)?);
        Ok(received)
    }

    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        function: &'static str,
        until: impl Fn(&State) -> bool,
    ) -> Result<MutexGuard<'a, State>> {
        while !until(&state) {
            if state.is_over {
                return Err(ThreadRank::failed(function));
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(state)
    }

    /// Returns a function that says whether some rank was aborted.
    pub fn aborts(&self) -> impl Fn() -> bool + Send + use<> {
        let shared = self.shared.clone();
        move || shared.lock().is_aborted
    }
}

impl Drop for ThreadRank {
    fn drop(&mut self) {
        self.shared.end(false);
    }
}

impl Communicator for ThreadRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.shared.lock().sent.len()
    }

    fn most_bytes(&self) -> usize {
        self.manners.most_bytes
    }

    fn all_gather(&mut self, sent: &[u8], received: &mut [u8], counts: &[usize]) -> Result<()> {
        assert_eq!((sent.len(), received.len()), (counts[self.rank], counts.iter().sum()));
        let all = self.exchange("all_gather", vec![sent.to_vec(); counts.len()])?;
        assert!(all.iter().map(Vec::len).eq(counts.iter().copied()), "all ranks know all counts");
        received.copy_from_slice(&all.concat());
        Ok(())
    }

    fn all_to_all(
        &mut self,
        sent: &[u8],
        sent_counts: &[usize],
        received: &mut [u8],
        received_counts: &[usize],
    ) -> Result<()> {
        assert_eq!((sent.len(), received.len()), (sent_counts.iter().sum(), received_counts.iter().sum()));
        let mut rest = sent;
        let parts = sent_counts.iter().map(|count| {
            let (part, others) = rest.split_at(*count);
            rest = others;
            part.to_vec()
        });
        let all = self.exchange("all_to_all", parts.collect())?;
        assert!(all.iter().map(Vec::len).eq(received_counts.iter().copied()), "both sides know the counts");
        received.copy_from_slice(&all.concat());
        Ok(())
    }

    fn abort(&self) {
        self.shared.end(true);
    }
}

/// Runs the same work on all ranks, each with a thread of its own, and returns what each finds.
pub fn on_ranks<T: Send>(size: usize, manners: Manners, work: impl Fn(usize, ThreadRank) -> T + Sync) -> Vec<T> {
    let found: Mutex<Vec<(usize, T)>> = Mutex::default();
    std::thread::scope(|scope| {
        for (rank, mut communicator) in ThreadRank::all(size).into_iter().enumerate() {
            communicator.manners = manners;
            let (work, found) = (&work, &found);
            scope.spawn(move || {
                let result = work(rank, communicator);
                found.lock().unwrap_or_else(PoisonError::into_inner).push((rank, result));
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, result)| result).collect()
}
