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

/// The sinks of a block whose sums are there. Devices hand in ranges of them in any order.
pub struct Arrivals {
    /// The places of each piece, and how many of these have no sums yet.
    places: [Range<usize>; MOST_PIECES],
    left: [usize; MOST_PIECES],
    /// The sinks that have sums, and all.
    there: usize,
    total: usize,
}

impl Arrivals {
    /// Waits for the sums on the sinks that each rank has.
    pub fn new(pieces: Pieces, counts: &[usize]) -> Arrivals {
        let places = std::array::from_fn(|piece| pieces.places(counts, piece));
        Arrivals { left: places.each_ref().map(Range::len), places, there: 0, total: counts.iter().sum() }
    }

    /// Notes that the sums on these sinks have come. Returns whether they come anew, all of them, as some
    /// device failed.
    pub fn note(&mut self, sinks: Range<usize>) -> bool {
        let is_anew = self.there + sinks.len() > self.total;
        if is_anew {
            self.note_all();
            return true;
        }
        self.there += sinks.len();
        for (places, left) in self.places.iter().zip(&mut self.left) {
            *left -= places.end.min(sinks.end).saturating_sub(places.start.max(sinks.start));
        }
        false
    }

    /// Waits for no more sums.
    pub fn note_all(&mut self) {
        (self.left, self.there) = ([0; MOST_PIECES], self.total);
    }

    /// Whether the sums on all sinks of a piece are there.
    pub fn has(&self, piece: usize) -> bool {
        self.left[piece] == 0
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
    fn a_piece_is_there_with_the_last_of_its_sinks() {
        let (pieces, counts) = (Pieces { rows: 2, count: 3 }, [3, 0, 5]);
        let mut arrivals = Arrivals::new(pieces, &counts);
        for (sinks, expected) in
            [(6..8, [false, false, true]), (0..3, [false, false, true]), (3..6, [true, true, true])]
        {
            assert!(!arrivals.note(sinks));
            assert_eq!([0, 1, 2].map(|piece| arrivals.has(piece)), expected);
        }
        assert!(arrivals.note(0..8));
    }

    #[test]
    fn a_place_is_that_of_the_piece_s_rank() {
        let (pieces, counts) = (Pieces { rows: 2, count: 3 }, [3, 0, 5]);
        let numbers: Vec<usize> = (0..8).map(|place| pieces.number_of(&counts, place)).collect();
        assert_eq!(numbers, [0, 1, 3, 4, 2, 5, 6, 7]);
    }
}
