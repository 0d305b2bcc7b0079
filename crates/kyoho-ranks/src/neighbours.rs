//! Neighbour lists of the sinks of all ranks. They are made when forces are waited for, as all ranks
//! are there then.

use kyoho_core::memory::Paged;
use kyoho_core::{Error, Interaction, Result, memory};
use kyoho_engine::System;

use crate::Ranks;
use crate::agreement::Call;

/// The neighbour lists of the sinks of this rank.
#[derive(Default)]
pub struct RankLists {
    /// The number of sinks of the last block, if its forces were waited for.
    sinks: Option<usize>,
    /// Whether there are lists of it.
    are_made: bool,
    /// The first place of each list in the indices of all, and their end.
    first: Vec<usize>,
    indices: Vec<i32>,
    messages: ListMessages,
}

/// Memory for lists that go from rank to rank.
#[derive(Default)]
struct ListMessages {
    /// The lengths of this rank's lists of all sinks, and the lists one after another.
    lengths: Vec<u32>,
    sent: Vec<i32>,
    sent_rows: Vec<usize>,
    /// The lengths of all ranks' lists of this rank's sinks, and the lists.
    received_lengths: Paged<u32>,
    received: Paged<i32>,
    received_rows: Vec<usize>,
}

impl RankLists {
    /// Forgets the lists of the last block.
    pub fn forget(&mut self) {
        (self.sinks, self.are_made) = (None, false);
    }

    /// Notes that the forces of a block were waited for, which has this many sinks here.
    pub fn follow(&mut self, sinks: usize) {
        self.sinks = Some(sinks);
    }

    /// Returns the list of a sink of the last block.
    pub fn list(&self, sink: usize, interaction: &Interaction) -> Result<&[i32]> {
        let Some(sinks) = self.sinks else {
            let when = "before the forces of a block were waited for";
            return Err(Error::CallOrder { call: "neighbours", when });
        };
        if !interaction.has_lists() {
            let when = "in a system of order 2, which finds none; allowed: orders 4, 6, 8";
            return Err(Error::CallOrder { call: "neighbours", when });
        }
        if sink >= sinks {
            return Err(Error::BadCount {
                what: "the number of the sink",
                value: sink as i64,
                allowed: format!("0 to {} (the last block's sinks on this rank)", sinks as i64 - 1),
            });
        }
        Ok(if self.are_made { &self.indices[self.first[sink]..self.first[sink + 1]] } else { &[] })
    }
}

impl ListMessages {
    /// Makes the lists of the sinks of all ranks among this rank's sources, and returns the most
    /// indices of those for one rank.
    fn make(&mut self, system: &mut System, counts: &[usize], own: usize) -> Result<usize> {
        self.lengths.clear();
        self.sent.clear();
        self.sent_rows.clear();
        memory::reserve(&mut self.lengths, counts.iter().sum(), "lengths of neighbour lists")?;
        memory::reserve(&mut self.sent_rows, counts.len(), "counts of ranks")?;
        memory::lengthen(&mut self.received_rows, counts.len(), "counts of ranks", || 0)?;
        self.received_lengths.make_room(counts.len() * own, "lengths of neighbour lists")?;
        let mut first = 0;
        for count in counts {
            let before = self.sent.len();
            for sink in first..first + count {
                let list = system.neighbours(sink)?;
                memory::reserve(&mut self.sent, list.len(), "neighbour lists for other ranks")?;
                self.sent.extend_from_slice(list);
                self.lengths.push(list.len() as u32);
            }
            self.sent_rows.push(self.sent.len() - before);
            first += count;
        }
        Ok(self.sent_rows.iter().copied().max().unwrap_or(0))
    }
}

impl Ranks {
    /// Makes the lists of all sinks on all ranks, and gives each rank those of its own.
    pub fn make_lists(&mut self, system: &mut System) -> Result<()> {
        let (own, index) = (self.own.len(), size_of::<i32>());
        let made = self.lists.messages.make(system, &self.buffers.counts, own);
        let told = made.and_then(|most| {
            self.buffers.messages.make_room(&*self.communicator, index, self.buffers.most())?;
            Ok([most as u64, 0, 0, 0, 0])
        });
        self.agree(Call::Lists, told)?;
        let most = self.agreement.told().map(|told| told[0] as usize).max().unwrap_or(0);
        let lengths = self.exchange_lengths();
        self.note(lengths)?;
        let room = self.room_for_lists(most, index);
        self.agree(Call::Room, room.map(|()| [0; 5]))?;
        let lists = self.exchange_lists(most, index);
        self.note(lists)?;
        self.lists.merge(own);
        Ok(())
    }

    fn exchange_lengths(&mut self) -> Result<()> {
        let Ranks { communicator, buffers, lists, own, .. } = self;
        let most = buffers.most();
        let ListMessages { lengths, received_lengths, .. } = &mut lists.messages;
        received_lengths.set_length(buffers.counts.len() * own.len());
        let sent = (bytemuck::cast_slice(lengths), &buffers.counts[..]);
        let received = (bytemuck::cast_slice_mut(received_lengths), &buffers.own_counts[..]);
        buffers.messages.all_to_all(&mut **communicator, sent, received, size_of::<u32>(), most)
    }

    fn room_for_lists(&mut self, most: usize, index: usize) -> Result<()> {
        let (own, lists) = (self.own.len(), &mut self.lists);
        let ListMessages { received_lengths, received, received_rows, .. } = &mut lists.messages;
        for (rank, rows) in received_rows.iter_mut().enumerate() {
            *rows = received_lengths[rank * own..][..own].iter().map(|length| *length as usize).sum();
        }
        let all = received_rows.iter().sum();
        received.make_room(all, "neighbour lists of other ranks")?;
        lists.first.clear();
        lists.indices.clear();
        memory::reserve(&mut lists.first, own + 1, "places of neighbour lists")?;
        memory::reserve(&mut lists.indices, all, "neighbour lists")?;
        self.buffers.messages.make_room(&*self.communicator, index, most)
    }

    fn exchange_lists(&mut self, most: usize, index: usize) -> Result<()> {
        let Ranks { communicator, buffers, lists, .. } = self;
        let ListMessages { sent, sent_rows, received, received_rows, .. } = &mut lists.messages;
        received.set_length(received_rows.iter().sum());
        let sent = (bytemuck::cast_slice(sent), &sent_rows[..]);
        let received = (bytemuck::cast_slice_mut(received), &received_rows[..]);
        buffers.messages.all_to_all(&mut **communicator, sent, received, index, most)
    }
}

impl RankLists {
    /// Puts the lists of all ranks together: ascending, each index once.
    fn merge(&mut self, own: usize) {
        let ListMessages { received_lengths, received, received_rows, .. } = &mut self.messages;
        // From here on these are the places of the next list of each rank.
        let mut begin = 0;
        for rows in received_rows.iter_mut() {
            begin += std::mem::replace(rows, begin);
        }
        self.first.push(0);
        for sink in 0..own {
            let first = self.indices.len();
            for (rank, place) in received_rows.iter_mut().enumerate() {
                let length = received_lengths[rank * own + sink] as usize;
                self.indices.extend_from_slice(&received[*place..*place + length]);
                *place += length;
            }
            self.indices[first..].sort_unstable();
            let mut kept = first;
            for place in first..self.indices.len() {
                if place == first || self.indices[place] != self.indices[kept - 1] {
                    self.indices[kept] = self.indices[place];
                    kept += 1;
                }
            }
            self.indices.truncate(kept);
            self.first.push(kept);
        }
        self.are_made = true;
    }
}
