//! Rows of bytes that go from rank to rank, in as many messages as the communicator needs.

use std::ops::Range;

use kyoho_core::memory::Paged;
use kyoho_core::{Result, memory};

use crate::Communicator;

/// Memory for rows that go in several messages, and the counts of each.
pub struct Messages {
    sent: Paged<u8>,
    received: Paged<u8>,
    sent_counts: Vec<usize>,
    received_counts: Vec<usize>,
}

/// The part of a rank's rows that a message has: those from `first` on, at most `rows`.
fn part(count: usize, first: usize, rows: usize) -> Range<usize> {
    first.min(count)..(first + rows).min(count)
}

/// Copies between the rows of all ranks, which follow one another, and the parts of a message.
fn each_part(
    counts: &[usize],
    width: usize,
    (first, rows): (usize, usize),
    mut copy: impl FnMut(Range<usize>, Range<usize>),
) {
    let (mut begin, mut filled) = (0, 0);
    for count in counts {
        let part = part(*count, first, rows);
        let bytes = part.len() * width;
        copy((begin + part.start) * width..(begin + part.end) * width, filled..filled + bytes);
        (begin, filled) = (begin + count, filled + bytes);
    }
}

impl Messages {
    /// Makes them for this many ranks, without room for rows.
    pub fn new(size: usize) -> Result<Messages> {
        let counts = || memory::filled(size, 0, "counts of ranks");
        let (sent, received) = Default::default();
        Ok(Messages { sent, received, sent_counts: counts()?, received_counts: counts()? })
    }

    /// Returns the rows of each rank in a message: all `most` where they are few.
    fn rows_at_once(communicator: &dyn Communicator, width: usize, most: usize) -> usize {
        let rows = communicator.most_bytes() / (communicator.size() * width.max(1));
        rows.clamp(1, most.max(1))
    }

    /// Makes room for rows of `width` bytes, at most `most` from one rank to another.
    pub fn make_room(&mut self, communicator: &dyn Communicator, width: usize, most: usize) -> Result<()> {
        let size = communicator.size();
        let rows = Messages::rows_at_once(communicator, width, most);
        if rows < most {
            self.sent.make_room(rows * width * size, "messages to ranks")?;
            self.received.make_room(rows * width * size, "messages of ranks")?;
        }
        Ok(())
    }

    /// Gives all ranks the rows of each. `counts` has the rows of each rank.
    pub fn all_gather(
        &mut self,
        communicator: &mut dyn Communicator,
        (own, all): (&[u8], &mut [u8]),
        counts: &[usize],
        width: usize,
    ) -> Result<()> {
        let most = counts.iter().copied().max().unwrap_or(0);
        let rows = Messages::rows_at_once(communicator, width, most);
        if rows >= most {
            set_bytes(&mut self.sent_counts, counts, width, (0, most));
            return communicator.all_gather(own, all, &self.sent_counts);
        }
        let rank = communicator.rank();
        for first in (0..most).step_by(rows) {
            let bytes = set_bytes(&mut self.sent_counts, counts, width, (first, rows));
            self.received.set_length(bytes);
            let own_part = part(counts[rank], first, rows);
            let own = &own[own_part.start * width..own_part.end * width];
            communicator.all_gather(own, &mut self.received, &self.sent_counts)?;
            let received = &self.received;
            each_part(counts, width, (first, rows), |to, from| all[to].copy_from_slice(&received[from]));
        }
        Ok(())
    }

    /// Gives each rank the rows that every other has for it. `sent` has `sent_rows` for each rank,
    /// and `received` gets `received_rows` from each. No rank has more than `most` for another.
    pub fn all_to_all(
        &mut self,
        communicator: &mut dyn Communicator,
        (sent, sent_rows): (&[u8], &[usize]),
        (received, received_rows): (&mut [u8], &[usize]),
        width: usize,
        most: usize,
    ) -> Result<()> {
        let rows = Messages::rows_at_once(communicator, width, most);
        if rows >= most {
            set_bytes(&mut self.sent_counts, sent_rows, width, (0, most));
            set_bytes(&mut self.received_counts, received_rows, width, (0, most));
            return communicator.all_to_all(sent, &self.sent_counts, received, &self.received_counts);
        }
        for first in (0..most).step_by(rows) {
            let bytes = set_bytes(&mut self.sent_counts, sent_rows, width, (first, rows));
            self.sent.set_length(bytes);
            let bytes = set_bytes(&mut self.received_counts, received_rows, width, (first, rows));
            self.received.set_length(bytes);
            let packed = &mut self.sent;
            each_part(sent_rows, width, (first, rows), |from, to| packed[to].copy_from_slice(&sent[from]));
            communicator.all_to_all(packed, &self.sent_counts, &mut self.received, &self.received_counts)?;
            let unpacked = &self.received;
            each_part(received_rows, width, (first, rows), |to, from| received[to].copy_from_slice(&unpacked[from]));
        }
        Ok(())
    }
}

/// Sets the bytes of each rank in a message, and returns those of all.
fn set_bytes(bytes: &mut [usize], counts: &[usize], width: usize, (first, rows): (usize, usize)) -> usize {
    bytes.iter_mut().zip(counts).for_each(|(bytes, count)| *bytes = part(*count, first, rows).len() * width);
    bytes.iter().sum()
}
