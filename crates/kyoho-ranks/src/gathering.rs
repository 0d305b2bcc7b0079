//! The sinks of all ranks, which come piece by piece while devices are at work on the first.

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use kyoho_core::sinks::{NumberedSinks, SinkSlice};
use kyoho_core::{Interaction, Result, Sink};

use crate::Communicator;
use crate::exchange::Messages;
use crate::pieces::{MOST_PIECES, Pieces};

/// The sinks of all ranks. A piece comes when the block asks for it.
pub struct Gathering<'a> {
    pieces: Pieces,
    counts: &'a [usize],
    interaction: &'a Interaction,
    /// The end of the places of each piece.
    ends: [usize; MOST_PIECES],
    there: [OnceLock<SinkSlice<'a>>; MOST_PIECES],
    incoming: Mutex<Incoming<'a>>,
}

/// What is still to come, and how.
pub struct Incoming<'a> {
    /// The sinks of this rank.
    pub own: SinkSlice<'a>,
    pub communicator: &'a mut dyn Communicator,
    pub messages: &'a mut Messages,
    /// Room for the sinks of each rank in a piece.
    pub counts_of_piece: &'a mut [usize],
    /// Room for the numbers of the sinks that are still to come.
    pub rest: &'a mut [f64],
    /// The number of pieces that came.
    pub came: usize,
    /// An error of the communicator, after which nothing comes any more.
    pub outcome: Result<()>,
}

impl<'a> Gathering<'a> {
    /// Gathers the pieces of sinks, of which each rank has so many.
    pub fn new(
        pieces: Pieces,
        counts: &'a [usize],
        interaction: &'a Interaction,
        incoming: Incoming<'a>,
    ) -> Gathering<'a> {
        let ends = std::array::from_fn(|piece| pieces.places(counts, piece).end);
        let there = std::array::from_fn(|_| OnceLock::new());
        Gathering { pieces, counts, interaction, ends, there, incoming: Mutex::new(incoming) }
    }

    /// Gathers all that is left, for which the other ranks wait.
    pub fn finish(self) -> Result<()> {
        self.prepare(0..usize::MAX);
        self.incoming.into_inner().unwrap_or_else(PoisonError::into_inner).outcome
    }

    /// Gathers the next piece.
    fn take(&self, incoming: &mut Incoming<'a>) {
        let piece = incoming.came;
        let places = self.pieces.places(self.counts, piece);
        let width = kyoho_core::sinks::width(self.interaction);
        let Incoming { own, communicator, messages, counts_of_piece, rest, came, outcome } = incoming;
        self.pieces.counts_of(self.counts, piece, counts_of_piece);
        let (all, later) = std::mem::take(rest).split_at_mut(places.len() * width);
        (*rest, *came) = (later, piece + 1);
        let own = own.range(self.pieces.part(own.len(), piece));
        let rows = (bytemuck::cast_slice(own.numbers()), bytemuck::cast_slice_mut(&mut *all));
        *outcome = messages.all_gather(&mut **communicator, rows, counts_of_piece, width * size_of::<f64>());
        if outcome.is_ok() {
            let _ = self.there[piece].set(SinkSlice::of(all, self.interaction));
        }
    }
}

impl NumberedSinks for Gathering<'_> {
    #[inline]
    fn sink(&self, number: usize) -> Sink {
        let piece = self.ends[..self.pieces.count].partition_point(|end| *end <= number);
        let first = if piece == 0 { 0 } else { self.ends[piece - 1] };
        // After an error of the communicator no force is used.
        const NONE: Sink = Sink { index: 0, softening2: 0.0, radius2: 0.0, step: 0.0, derivatives: [[0.0; 3]; 4] };
        self.there[piece].get().map_or(NONE, |sinks| sinks.get(number - first))
    }

    fn prepare(&self, numbers: Range<usize>) {
        let mut incoming = self.incoming.lock().unwrap_or_else(PoisonError::into_inner);
        while incoming.outcome.is_ok()
            && incoming.came < self.pieces.count
            && self.pieces.places(self.counts, incoming.came).start < numbers.end
        {
            self.take(&mut incoming);
        }
    }
}
