//! How sources are dealt to slices and slices to devices.
//!
//! The deal depends on the address alone, so that each slice's sum has the same terms in the same order wherever it is
//! computed; adding the slices in their order then gives the same bits on any number of devices.

/// Consecutive addresses that are stored, predicted and summed together.
pub const CHUNK: usize = 256;

/// The number of slices: it divides well over 1, 2, 3, 4, 6, 8 and 12 devices.
pub const SLICES: usize = 24;

/// The chunk that holds an address.
pub fn chunk_of(address: usize) -> usize {
    address / CHUNK
}

/// The chunks of a slice among the first `chunks`, in the order in which they are summed.
pub fn chunks_of_slice(slice: usize, chunks: usize) -> impl Iterator<Item = usize> {
    (slice..chunks).step_by(SLICES)
}

/// The chunks that hold the addresses below `nj`.
pub fn chunks_below(nj: usize) -> usize {
    nj.div_ceil(CHUNK)
}

/// The slices of one of `devices` devices, ascending.
pub fn slices_of_device(device: usize, devices: usize) -> Vec<usize> {
    (device..SLICES).step_by(devices).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_belongs_to_one_slice_and_every_slice_to_one_device() {
        for chunks in [0, 1, 23, 24, 25, 1000] {
            let mut seen = vec![0; chunks];
            (0..SLICES).for_each(|slice| chunks_of_slice(slice, chunks).for_each(|chunk| seen[chunk] += 1));
            assert!(seen.iter().all(|count| *count == 1));
        }
        for devices in 1..=SLICES {
            let mut slices: Vec<usize> = (0..devices).flat_map(|device| slices_of_device(device, devices)).collect();
            slices.sort_unstable();
            assert_eq!(slices, (0..SLICES).collect::<Vec<_>>());
        }
    }
}
