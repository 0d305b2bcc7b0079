//! How the sums of a block are cut. This fixes the order of addition, so it may depend on nothing but the numbers of
//! sinks and sources, the order and the precision: never on a device, its constants, or a time that was measured.

use crate::catalogue::Descriptor;
use crate::system::slices::SLICES;

use super::model::{Costs, Work, seconds};
use super::shapes::SHAPES;

/// The cut of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Strands of a chunk: sources that are summed one after another in the numbers of a pair.
    pub strands: usize,
    /// Parts of a slice: chunks that are added one after another in 64 bits.
    pub parts: usize,
}

/// Rounds up to a number with two leading bits: blocks of about the same size are cut alike, so that a cut is found
/// once and not in each block step.
pub fn rounded(count: usize) -> usize {
    let unit = (count.max(1).ilog2()).saturating_sub(1);
    count.max(1).div_ceil(1 << unit) << unit
}

/// The numbers of parts that are tried.
pub fn choices_of_parts(chunks_of_slice: usize) -> impl Iterator<Item = usize> {
    const LENGTHS: [usize; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128];
    let by_length = LENGTHS.into_iter().map(move |length| chunks_of_slice.div_ceil(length));
    by_length.chain([11, 22, 33, 44]).filter(move |parts| (1..=chunks_of_slice.max(1)).contains(parts))
}

/// The cut of a block of `ni` sinks and so many chunks of sources: the one that would be fastest on a device with the
/// constants of [`Costs::nominal`].
pub fn cut(descriptor: &'static Descriptor, ni: usize, chunks: usize) -> Cut {
    let nominal = Costs::nominal(descriptor);
    let chunks = chunks.max(1);
    let ni = rounded(ni);
    let mut best = (f64::INFINITY, Cut { strands: SHAPES[0].strands(descriptor), parts: 1 });
    for (number, shape) in SHAPES.iter().enumerate() {
        for parts in choices_of_parts(chunks.div_ceil(SLICES)) {
            let cut = Cut { strands: shape.strands(descriptor), parts };
            let seconds =
                seconds(&nominal, number, Work { descriptor, cut, ni, chunks, slices: SLICES, predicted: false });
            if seconds < best.0 {
                best = (seconds, cut);
            }
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{CATALOGUE, Order, Precision, descriptor};
    use crate::system::slices::chunks_below;

    #[test]
    fn blocks_of_about_the_same_size_are_cut_alike() {
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 1000, 16384].map(rounded),
            [1, 2, 3, 4, 6, 6, 8, 8, 12, 16, 1024, 16384]
        );
    }

    #[test]
    fn a_slice_has_no_more_parts_than_chunks() {
        for entry in CATALOGUE {
            for nj in [0, 1, 256, 257, 10_000, 131_072, 1 << 20] {
                for ni in [1, 7, 64, 1000, 16_384, 1 << 18] {
                    let cut = cut(entry, ni, chunks_below(nj));
                    let chunks = chunks_below(nj).div_ceil(SLICES).max(1);
                    assert!((1..=chunks).contains(&cut.parts), "{:?} {ni} {nj}: {cut:?}", entry.precision);
                }
            }
        }
    }

    #[test]
    fn few_sinks_have_short_strands_and_many_have_long_ones() {
        let entry = descriptor(Order::Fourth, Precision::Mixed).unwrap();
        for nj in [10_000, 131_072, 1 << 20] {
            assert_eq!([1, 16_384].map(|ni| cut(entry, ni, chunks_below(nj)).strands), [32, 4], "{nj} sources");
        }
    }

    #[test]
    fn more_work_takes_longer_by_the_model() {
        for descriptor in CATALOGUE {
            let costs = Costs::nominal(descriptor);
            let least = |ni: usize, nj: usize| {
                let cut = cut(descriptor, ni, chunks_below(nj));
                let work = Work { descriptor, cut, ni, chunks: chunks_below(nj), slices: SLICES, predicted: false };
                let fitting = (0..SHAPES.len()).filter(|shape| SHAPES[*shape].strands(descriptor) == cut.strands);
                fitting.map(|shape| seconds(&costs, shape, work)).fold(f64::INFINITY, f64::min)
            };
            for [small, large] in
                [[(1, 1 << 14), (1, 1 << 20)], [(1, 1 << 17), (1024, 1 << 17)], [(1024, 1 << 17), (16_384, 1 << 17)]]
            {
                assert!(least(small.0, small.1) < least(large.0, large.1), "{:?}", descriptor.precision);
            }
        }
    }
}
