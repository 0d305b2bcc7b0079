//! The choice of the partition of blocks among several devices: the one that is fastest by their
//! models. No partition changes a bit of a force.

use kyoho_core::{Partition, SLICE_GROUPS, chunks_below, rounded_up};
use kyoho_methods::Device;

/// The number of partitions that are remembered.
const KNOWN: usize = 64;

/// The partitions that were chosen for blocks like the last ones.
#[derive(Debug, Default)]
pub struct Partitions {
    /// Rounded numbers of sinks and of chunks, and the partition.
    known: Vec<(usize, usize, Partition)>,
}

/// Rounds the size of a block up, so that blocks of about the same size are partitioned alike.
fn rounded(count: usize) -> usize {
    rounded_up(count, 3)
}

/// Returns the partition of all slices among as many devices as can have sets of them, for devices
/// without a model.
fn by_slices(devices: usize) -> Partition {
    Partition { ranges: 1, sets: 1 << devices.clamp(1, SLICE_GROUPS).ilog2() }
}

impl Partitions {
    /// Forgets the choices for other devices.
    pub fn reset(&mut self) {
        self.known.clear();
    }

    /// Returns the partition of a block.
    pub fn choose(&mut self, devices: &[Box<dyn Device>], ni: usize, nj: usize) -> Partition {
        if devices.len() < 2 {
            return Partition::WHOLE;
        }
        let key = (rounded(ni), rounded(chunks_below(nj)));
        if let Some((.., partition)) = self.known.iter().find(|known| (known.0, known.1) == key) {
            return *partition;
        }
        let partition =
            fastest(devices, key.0, nj).map_or_else(|| by_slices(devices.len()), |(_, partition)| partition);
        if self.known.len() == KNOWN {
            self.known.remove(0);
        }
        self.known.push((key.0, key.1, partition));
        partition
    }
}

/// Returns the partition that takes the fewest seconds by the models, and these; `None` if some
/// device has no model. The slowest device counts.
pub fn fastest(devices: &[Box<dyn Device>], ni: usize, nj: usize) -> Option<(f64, Partition)> {
    let seconds = |partition: Partition| {
        let estimates =
            devices[..partition.devices()].iter().map(|device| device.estimate(ni, nj, partition, devices.len()));
        estimates.reduce(|longest, next| Some(longest?.max(next?))).flatten()
    };
    let mut best: Option<(f64, Partition)> = None;
    for partition in Partition::among(devices.len()) {
        let seconds = seconds(partition)?;
        if best.is_none_or(|(least, _)| seconds < least) {
            best = Some((seconds, partition));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_about_the_same_size_are_partitioned_alike() {
        assert_eq!([1, 2, 7, 8, 9, 17, 1000, 1024, 1025].map(rounded), [1, 2, 7, 8, 10, 20, 1024, 1024, 1280]);
    }

    #[test]
    fn devices_without_a_model_get_slices() {
        assert_eq!([1, 2, 3, 4, 7, 8, 24].map(|devices| by_slices(devices).sets), [1, 2, 2, 4, 4, 8, 8]);
    }
}
