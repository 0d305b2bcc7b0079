//! How a block of the sinks of all ranks is divided, so that ranks exchange some sinks and sums while
//! their devices are at work on others.

use std::ops::Range;

/// A piece has at least about so many sinks: devices sum fewer before their messages have come.
const SINKS_OF_PIECE: usize = 1 << 15;
/// The most pieces. Each takes as many messages as a block.
pub const MOST_PIECES: usize = 16;

/// The pieces of a block: each has as many rows of every rank, as far as they go. The sinks of the block
/// are those of the first piece, in the order of ranks, then those of the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pieces {
    /// The sinks of each rank in a piece.
    rows: usize,
    /// The number of pieces, at least one.
    pub count: usize,
}

impl Pieces {
    /// One piece with all sinks, of which no rank has more than `most`.
    pub fn one(most: usize) -> Pieces {
        Pieces { rows: most.max(1), count: 1 }
    }

    /// Divides the sinks that each rank has.
    pub fn of(counts: &[usize]) -> Pieces {
        let (total, most) = (counts.iter().sum::<usize>(), counts.iter().copied().max().unwrap_or(0));
        let rows = most.div_ceil((total / SINKS_OF_PIECE).clamp(1, MOST_PIECES)).max(1);
        Pieces { rows, count: most.div_ceil(rows).max(1) }
    }

    /// Returns the sinks of a rank that has so many which are in a piece.
    pub fn part(&self, count: usize, piece: usize) -> Range<usize> {
        (piece * self.rows).min(count)..((piece + 1) * self.rows).min(count)
    }

    /// Sets `of_piece` to the number of sinks of each rank in a piece.
    pub fn counts_of(&self, counts: &[usize], piece: usize, of_piece: &mut [usize]) {
        of_piece.iter_mut().zip(counts).for_each(|(of, count)| *of = self.part(*count, piece).len());
    }

    /// Returns the places of a piece among the sinks of the block.
    pub fn places(&self, counts: &[usize], piece: usize) -> Range<usize> {
        let before = |piece: usize| counts.iter().map(|count| (piece * self.rows).min(*count)).sum();
        before(piece)..before(piece + 1)
    }

    /// Returns the number of the sink at a place of the block among those of the first rank, the second
    /// and so on.
    pub fn number_of(&self, counts: &[usize], place: usize) -> usize {
        let piece = (0..self.count).find(|piece| place < self.places(counts, *piece).end).unwrap_or(0);
        let (mut left, mut first) = (place - self.places(counts, piece).start, 0);
        for count in counts {
            let part = self.part(*count, piece);
            if left < part.len() {
                return first + part.start + left;
            }
            (left, first) = (left - part.len(), first + count);
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sink_of_each_rank_has_a_place() {
        let shares: [&[usize]; 6] = [&[0], &[5], &[0, 7, 3], &[40_000, 40_000], &[0, 100_000, 1], &[600_000; 3]];
        for counts in shares {
            let total: usize = counts.iter().sum();
            for pieces in [Pieces::of(counts), Pieces::one(counts.iter().copied().max().unwrap_or(0))] {
                let mut times = vec![0; total];
                for piece in 0..pieces.count {
                    let places = pieces.places(counts, piece);
                    let sinks: usize = counts.iter().map(|count| pieces.part(*count, piece).len()).sum();
                    assert_eq!(places.len(), sinks);
                    places.for_each(|place| times[pieces.number_of(counts, place)] += 1);
                }
                assert!(times.iter().all(|times| *times == 1));
                assert_eq!(Pieces::of(counts).count > 1, total >= 2 * SINKS_OF_PIECE);
            }
        }
    }

    #[test]
    fn a_place_is_that_of_the_piece_s_rank() {
        let (pieces, counts) = (Pieces { rows: 2, count: 3 }, [3, 0, 5]);
        let numbers: Vec<usize> = (0..8).map(|place| pieces.number_of(&counts, place)).collect();
        assert_eq!(numbers, [0, 1, 3, 4, 2, 5, 6, 7]);
    }
}
