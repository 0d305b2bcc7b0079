//! The partition of sources into slices, and of sinks and slices among devices.
//!
//! The slice of a source depends on its address alone, and slices are added in one order, so that a
//! force has the same bits on any number of devices.

use std::ops::Range;

/// The number of consecutive addresses that are stored, predicted and summed together.
pub const CHUNK: usize = 256;

/// The number of slices.
pub const SLICES: usize = 24;

/// The number of slice groups. Slices with the same number modulo `SLICE_GROUPS` make a group. The
/// slices of a group are added one after another; then group `k + 4` is added to group `k`, of
/// these sums `k + 2` to `k`, and at last `1` to `0`. So a device that has every second, fourth or
/// eighth slice adds all of them by itself.
pub const SLICE_GROUPS: usize = 8;

/// Returns the chunk that holds an address.
#[inline]
pub fn chunk_of(address: usize) -> usize {
    address / CHUNK
}

/// Iterates over the chunks of a slice among the first `chunks`, in the order in which they are
/// summed.
#[inline]
pub fn chunks_of_slice(slice: usize, chunks: usize) -> impl Iterator<Item = usize> {
    (slice..chunks).step_by(SLICES)
}

/// Returns the number of chunks that hold the addresses below `nj`.
#[inline]
pub fn chunks_below(nj: usize) -> usize {
    nj.div_ceil(CHUNK)
}

/// Rounds a count, at least 1, up to a number in which only this many leading bits are not zero.
#[inline]
pub fn rounded_up(count: usize, leading_bits: u32) -> usize {
    let unit = (count.max(1).ilog2() + 1).saturating_sub(leading_bits);
    count.max(1).div_ceil(1 << unit) << unit
}

/// The partition of a block among devices: its sinks are divided into ranges, and for each range
/// the slices into sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// The number of ranges of sinks.
    pub ranges: usize,
    /// The number of sets of slices: 1, 2, 4 or 8.
    pub sets: usize,
}

impl Partition {
    /// The partition that gives a whole block to one device.
    pub const WHOLE: Partition = Partition { ranges: 1, sets: 1 };

    /// Iterates over every partition that occupies at most this many devices.
    #[inline]
    pub fn among(devices: usize) -> impl Iterator<Item = Partition> {
        let numbers_of_sets = (0..=SLICE_GROUPS.ilog2()).map(|bits| 1 << bits).filter(move |sets| *sets <= devices);
        numbers_of_sets.flat_map(move |sets| (1..=devices / sets).map(move |ranges| Partition { ranges, sets }))
    }

    /// Returns the number of devices that it occupies.
    #[inline]
    pub fn devices(&self) -> usize {
        self.ranges * self.sets
    }

    /// Returns the assignment of the device at a place for a block of `ni` sinks. It has no sinks
    /// beyond the devices that the partition occupies.
    #[inline]
    pub fn assignment(&self, place: usize, ni: usize) -> Assignment {
        let range = place / self.sets;
        let border = |range: usize| match range {
            range if range >= self.ranges => ni,
            // Ranges are whole thread blocks where there are enough sinks.
            range => (ni * range / self.ranges).next_multiple_of(if ni >= 512 * self.ranges { 256 } else { 8 }).min(ni),
        };
        Assignment { sinks: border(range)..border(range + 1), set: place % self.sets, sets: self.sets }
    }
}

/// The assignment of one device in a block: some of the sinks, with the slices `set`, `set + sets`,
/// ...
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The sinks.
    pub sinks: Range<usize>,
    /// Its first slice.
    pub set: usize,
    /// The distance between its slices: 1, 2, 4 or 8.
    pub sets: usize,
}

impl Assignment {
    /// Returns the assignment that has a whole block of `ni` sinks.
    #[inline]
    pub fn whole(ni: usize) -> Assignment {
        Partition::WHOLE.assignment(0, ni)
    }

    /// Iterates over the slices, in ascending order.
    #[inline]
    pub fn slices(&self) -> impl ExactSizeIterator<Item = usize> + use<> {
        (self.set..SLICES).step_by(self.sets)
    }

    /// Whether it has all slices of another.
    #[inline]
    pub fn covers(&self, other: &Assignment) -> bool {
        other.sets.is_multiple_of(self.sets) && self.has(other.set)
    }

    /// Whether a slice is among them.
    #[inline]
    pub fn has(&self, slice: usize) -> bool {
        slice % self.sets == self.set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_belongs_to_one_slice() {
        for chunks in [0, 1, 23, 24, 25, 1000] {
            let mut seen = vec![0; chunks];
            (0..SLICES).for_each(|slice| chunks_of_slice(slice, chunks).for_each(|chunk| seen[chunk] += 1));
            assert!(seen.iter().all(|count| *count == 1));
        }
    }

    #[test]
    fn every_sink_meets_every_slice_on_one_device() {
        for devices in 1..=24 {
            for partition in Partition::among(devices) {
                assert!((1..=devices).contains(&partition.devices()), "{partition:?}");
                for ni in [0, 1, 5, 8, 100, 511, 5000] {
                    let mut met = vec![[0; SLICES]; ni];
                    for assignment in (0..devices).map(|place| partition.assignment(place, ni)) {
                        for slice in assignment.slices() {
                            assert!(assignment.has(slice));
                            assignment.sinks.clone().for_each(|sink| met[sink][slice] += 1);
                        }
                    }
                    assert!(met.iter().flatten().all(|count| *count == 1), "{partition:?} {ni}");
                }
            }
        }
    }

    #[test]
    fn partitions_of_one_device_up_to_all() {
        let partitions =
            |devices| Partition::among(devices).map(|partition| (partition.ranges, partition.sets)).collect::<Vec<_>>();
        assert_eq!(partitions(1), [(1, 1)]);
        assert_eq!(partitions(3), [(1, 1), (2, 1), (3, 1), (1, 2)]);
        assert_eq!(partitions(4), [(1, 1), (2, 1), (3, 1), (4, 1), (1, 2), (2, 2), (1, 4)]);
        assert!(partitions(8).contains(&(1, 8)) && partitions(24).contains(&(3, 8)));
    }
}
