//! Ranks that do the same work with the same numbers, and share what is long of it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kyoho_core::{Error, Result, memory};
use kyoho_engine::System;

use crate::Communicator;
use crate::agreement::{self, Agreement, Call, Complaint, Told, complaint};
use crate::exchange::Messages;

/// Ranks that do the same work. All call the same functions in the same order.
#[derive(Clone)]
pub struct Team {
    state: Arc<Mutex<State>>,
    rank: usize,
    size: usize,
}

/// How this rank speaks with the others.
pub struct State {
    pub communicator: Box<dyn Communicator>,
    pub agreement: Agreement,
    pub messages: Messages,
    /// The failure of the communicator, after which nothing can be exchanged any more.
    lost: Option<Error>,
    /// Whether all ranks know of an error, since the work began.
    is_over: bool,
}

impl State {
    /// Tells all ranks that this one can go on, or why not, and returns on all the error of the first
    /// that cannot. Where all have the same error, each gets its own.
    pub fn agree(&mut self, call: Call, own: Result<Told>) -> Result<()> {
        let error = own.as_ref().err().cloned();
        match self.exchange(call, own.map_err(|error| complaint(&error))) {
            Err(Error::OfRank { .. }) if self.agreement.is_error_of_all() => error.map_or(Ok(()), Err),
            other => other,
        }
    }

    fn exchange(&mut self, call: Call, own: std::result::Result<Told, Complaint>) -> Result<()> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let outcome = self.agreement.exchange(&mut *self.communicator, call, own);
        self.note(outcome)
    }

    /// Fails on all ranks unless all told the same number at a place in the last agreement. `name` says
    /// what it is.
    pub fn require_same(&mut self, place: usize, name: &str) -> Result<()> {
        let shown = |number: u64| format!("{number:x}");
        let outcome = self.agreement.require_same(place, name, shown);
        self.note(outcome)
    }

    /// Notes an error that all ranks have, and the failure of a communicator.
    pub fn note<T>(&mut self, outcome: Result<T>) -> Result<T> {
        outcome.inspect_err(|error| {
            self.is_over = true;
            if matches!(error, Error::CommunicatorFailed { .. }) {
                self.lost = Some(error.clone());
            }
        })
    }
}

impl Team {
    /// Makes the team of the ranks of a communicator.
    pub fn new(communicator: Box<dyn Communicator>) -> Result<Team> {
        let (rank, size) = (communicator.rank(), communicator.size());
        let room = Agreement::new(size).and_then(|agreement| Ok((agreement, Messages::new(size)?)));
        let (agreement, messages) = room.inspect_err(|_| communicator.abort())?;
        let state = State { communicator, agreement, messages, lost: None, is_over: false };
        Ok(Team { state: Arc::new(Mutex::new(state)), rank, size })
    }

    /// Returns the number of this rank, from 0 on.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns how this rank speaks with the others.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does work that all ranks do. An error on one rank is that of all: others learn of it where they
    /// would wait for this rank next. If this one panics, the others are told to end.
    pub fn together<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.together_with(complaint, work)
    }

    /// Does work as [`Team::together`] does, with errors of another kind, which `tell` describes.
    pub fn together_with<T, E: From<Error>>(
        &self,
        tell: impl Fn(&E) -> Complaint,
        work: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.state().is_over = false;
        let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            self.state().communicator.abort();
            resume_unwind(panic)
        });
        let mut state = self.state();
        match done {
            Ok(found) => Ok(state.exchange(Call::End, Ok([0; 5])).map(|()| found)?),
            Err(error) if state.is_over => Err(error),
            Err(error) => match state.exchange(Call::Failed, Err(tell(&error))) {
                Err(Error::OfRank { .. }) if state.agreement.is_error_of_all() => Err(error),
                Err(of_rank) => Err(of_rank.into()),
                Ok(()) => Err(error),
            },
        }
    }

    /// Fails on all ranks unless all tell the same numbers, up to five, which have names.
    pub fn require_same(&self, told: &[(&str, u64)]) -> Result<()> {
        let mut numbers = Told::default();
        numbers.iter_mut().zip(told).for_each(|(number, (_, told))| *number = *told);
        let mut state = self.state();
        state.agree(Call::Begin, Ok(numbers))?;
        told.iter().enumerate().try_for_each(|(place, (name, _))| state.require_same(place, name))
    }

    /// Fails on all ranks unless the systems of all are of one kind, and of the same version of the
    /// library.
    pub fn require_kind(&self, system: &System) -> Result<()> {
        let mut state = self.state();
        let told = agreement::of_system(system, &*state.communicator);
        state.agree(Call::Create, Ok(told))?;
        let outcome = state.agreement.require_equal_systems();
        state.note(outcome)
    }

    /// Returns whether something is so on any rank.
    pub fn is_on_any(&self, is_here: bool) -> Result<bool> {
        let mut state = self.state();
        state.agree(Call::Ask, Ok([u64::from(is_here), 0, 0, 0, 0]))?;
        Ok(state.agreement.told().any(|told| told[0] != 0))
    }

    /// Returns the numbers that each rank tells, up to five, in the order of ranks.
    pub fn numbers<const N: usize>(&self, own: [u64; N]) -> Result<Vec<[u64; N]>> {
        let mut numbers = Told::default();
        numbers.iter_mut().zip(own).for_each(|(number, own)| *number = own);
        let room = memory::room(self.size, "numbers of ranks");
        let mut state = self.state();
        state.agree(Call::Tell, room.as_ref().map(|_| numbers).map_err(Clone::clone))?;
        let mut all = room?;
        all.extend(state.agreement.told().map(|told| std::array::from_fn(|place| told[place])));
        Ok(all)
    }

    /// Gives one rank bytes that another one has, and returns them there; elsewhere there are none.
    pub fn send(&self, (from, to): (usize, usize), bytes: &[u8]) -> Result<Vec<u8>> {
        let mut state = self.state();
        let own = if self.rank == from { bytes } else { &[] };
        state.agree(Call::Share, Ok([own.len() as u64, 0, 0, 0, 0]))?;
        let length = state.agreement.told().nth(from).map_or(0, |told| told[0] as usize);
        let State { communicator, messages, .. } = &mut *state;
        let room = memory::filled(if self.rank == to { length } else { 0 }, 0, "the bytes of a rank");
        let room = room.and_then(|received| {
            let counts = || memory::filled(self.size, 0, "counts of ranks");
            messages.make_room(&**communicator, 1, length)?;
            Ok((received, counts()?, counts()?))
        });
        state.agree(Call::Room, room.as_ref().map(|_| [0; 5]).map_err(Clone::clone))?;
        let (mut received, mut sent_counts, mut received_counts) = room?;
        (sent_counts[to], received_counts[from]) = (own.len(), received.len());
        let State { communicator, messages, .. } = &mut *state;
        let sent = (own, &sent_counts[..]);
        let given = messages.all_to_all(&mut **communicator, sent, (&mut received, &received_counts), 1, length);
        state.note(given)?;
        Ok(received)
    }

    /// Returns the bytes that rank 0 has.
    pub fn of_first(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let mut state = self.state();
        let own = if self.rank == 0 { bytes } else { Vec::new() };
        state.agree(Call::Share, Ok([own.len() as u64, 0, 0, 0, 0]))?;
        let length = state.agreement.told().next().map_or(0, |told| told[0] as usize);
        let State { communicator, messages, .. } = &mut *state;
        let room = memory::filled(length, 0, "the bytes of rank 0").and_then(|received| {
            let mut counts = memory::filled(self.size, 0, "counts of ranks")?;
            counts[0] = length;
            messages.make_room(&**communicator, 1, length)?;
            Ok((received, counts))
        });
        state.agree(Call::Room, room.as_ref().map(|_| [0; 5]).map_err(Clone::clone))?;
        let (mut received, counts) = room?;
        let State { communicator, messages, .. } = &mut *state;
        let gathered = messages.all_gather(&mut **communicator, (&own, &mut received), &counts, 1);
        state.note(gathered)?;
        Ok(received)
    }
}
