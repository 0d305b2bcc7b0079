//! Parts of a block, which devices begin one after another.

use std::ops::Range;

use kyoho_core::{Assignment, InteractionLists, Partition};
use kyoho_hal::Backend;
use kyoho_methods::FIRST_PART;

use super::Devices;

/// The bytes of a sink of interaction lists on the bus, there and back.
const BYTES_OF_SINK: u64 = 64;
/// The bytes that go over the bus in the time that the host takes for a group of interaction lists.
const BYTES_OF_GROUP: u64 = 128;
/// Interaction lists with fewer pairs for each byte of them are one device's: the host's copies
/// take longer than the sums, and are longer for several devices.
const PAIRS_OF_BYTE: u64 = 5;
/// The bytes of interaction lists that are copied, or the time of as many, before a piece is begun.
const BYTES_OF_PIECE: u64 = 8 << 20;
/// The most pieces of the interaction lists of a device.
const MOST_PIECES: u64 = 6;
/// The number of sinks of a part of a block for each one of the part before.
const GROWTH_OF_PARTS: usize = 4;

/// A part of a block, and the places of the devices that sum it.
pub(super) type Part = (Range<usize>, Range<usize>);
/// Parts that are begun together, at most one for a device.
pub(super) type Round = Vec<Part>;

impl Devices {
    /// Gives each device groups of a block with interaction lists, and returns the pieces of these
    /// in the order in which they are begun.
    pub(super) fn divide_lists(&mut self, lists: &InteractionLists, devices: usize) -> Vec<Round> {
        let of_devices = lists.divided(0..lists.groups.len(), devices);
        for (assignment, groups) in self.progress.assignments.iter_mut().zip(&of_devices) {
            *assignment = Assignment { sinks: lists.sinks_of(groups), set: 0, sets: 1 };
        }
        let is_cpu = self.on_host || self.setup.backend == Backend::Cpu;
        let pieces = |groups: &Range<usize>| match is_cpu {
            true => 1,
            false => (bytes_of(lists, groups) / BYTES_OF_PIECE).clamp(1, MOST_PIECES) as usize,
        };
        let mut rounds: Vec<Round> = Vec::new();
        for (device, groups) in of_devices.into_iter().enumerate() {
            for (number, groups) in lists.in_pieces(groups.clone(), pieces(&groups)).enumerate() {
                rounds.resize(rounds.len().max(number + 1), Round::new());
                rounds[number].push((groups, device..device + 1));
            }
        }
        rounds
    }

    /// Returns the parts of the sinks of each range in the order in which they are begun. Each has
    /// [`GROWTH_OF_PARTS`] times as many as the one before, so that the devices begin soon, and parts
    /// are few.
    pub(super) fn divide_sinks(&self, partition: Partition) -> Vec<Round> {
        let range = |number: usize| {
            let places = number * partition.sets..(number + 1) * partition.sets;
            (self.progress.assignments[places.start].sinks.clone(), places)
        };
        let ranges: Round = (0..partition.ranges).map(range).collect();
        let longest = ranges.iter().map(|(sinks, _)| sinks.len()).max().unwrap_or(0);
        let (mut rounds, mut done, mut next) = (Vec::new(), 0, FIRST_PART);
        while done < longest {
            let of_ranges = ranges.iter().map(|(sinks, places)| {
                let at = |number: usize| sinks.end.min(sinks.start + number);
                (at(done)..at(done + next), places.clone())
            });
            rounds.push(of_ranges.collect());
            (done, next) = (done + next, GROWTH_OF_PARTS * next);
        }
        rounds
    }
}

/// Whether the host takes longer to copy interaction lists than a device to sum their pairs.
pub(super) fn is_copied_longer(lists: &InteractionLists) -> bool {
    lists.pairs() < PAIRS_OF_BYTE.saturating_mul(bytes_of(lists, &(0..lists.groups.len())))
}

/// Returns the bytes of some groups of interaction lists that the host copies, or that are copied
/// in as much time.
fn bytes_of(lists: &InteractionLists, groups: &Range<usize>) -> u64 {
    let of_sink = if lists.sinks.on_device().is_some() { 0 } else { BYTES_OF_SINK };
    let of_sinks = lists.sinks_of(groups).len() as u64 * of_sink;
    groups.len() as u64 * BYTES_OF_GROUP + of_sinks + lists.bytes_of_sources(groups)
}
