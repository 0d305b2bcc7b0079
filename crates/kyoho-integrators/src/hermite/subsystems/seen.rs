//! Places with weights, for searches of those that count. Places that are near one another are looked at
//! together, and left out together by the box around them.

use kyoho_core::{Result, memory};
use kyoho_few_body::averaged::Tensor;
use kyoho_laws::simd::in_longest_vectors;

use super::WHAT;
use crate::body::Vector;

/// The places that are looked at together, and the sums that are made at a time.
const TOGETHER: usize = 32;
const LANES: usize = 8;
/// Places are arranged anew when this many times their number were put.
const STALE: usize = 4;

/// Places, each with a weight: bodies with their masses, where they were written last, or subsystems. Those
/// of no weight are never found. Who may have gone far since has a reach, within which it always counts.
#[derive(Debug, Default)]
pub struct Seen {
    /// The places in pieces of slots; zeros fill the last one up.
    pieces: Vec<Piece>,
    /// The slot of each number, and the number in each slot.
    slots: Vec<usize>,
    numbers: Vec<usize>,
    /// For each piece of slots the least and the largest components, and the largest size of a weight.
    bounds: Vec<Bounds>,
    /// The places that were put since they were arranged; many where they never were.
    moved: usize,
}

/// The three components of places, their weights, and the squares of their reaches.
type Piece = [[f64; TOGETHER]; 5];

/// The ends of a piece's places along each axis, the largest size of their weights, and the square of their
/// largest reach.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    ends: [[f64; 2]; 3],
    weight: f64,
    reach2: f64,
}

impl Bounds {
    const EMPTY: Bounds = Bounds { ends: [[f64::INFINITY, f64::NEG_INFINITY]; 3], weight: 0.0, reach2: 0.0 };

    /// Returns it with a place in it.
    fn with(self, place: &Vector, weight: f64, reach2: f64) -> Bounds {
        if weight == 0.0 {
            return self;
        }
        let ends = std::array::from_fn(|k| [self.ends[k][0].min(place[k]), self.ends[k][1].max(place[k])]);
        Bounds { ends, weight: self.weight.max(weight.abs()), reach2: self.reach2.max(reach2) }
    }

    /// Returns the squared distance of a place from it, which is never above that of a place in it.
    fn distance2(&self, from: &Vector) -> f64 {
        let apart = |k: usize| {
            let [least, largest] = self.ends[k];
            let [below, above] = [least - from[k], from[k] - largest];
            let outside = if below > above { below } else { above };
            if outside > 0.0 { outside } else { 0.0 }
        };
        let [x, y, z] = [apart(0), apart(1), apart(2)];
        x * x + y * y + z * z
    }

    /// Whether a place in it may have a score of 0 and more, or reach so far.
    #[inline(always)]
    fn may_have(&self, from: &Vector, score: impl Fn(f64, f64) -> f64) -> bool {
        let distance2 = self.distance2(from);
        let best = score(distance2, self.weight);
        // Numbers beyond doubles tell nothing apart.
        best >= 0.0 || best.is_nan() || distance2 < self.reach2
    }
}

impl Seen {
    /// Forgets all and makes room for this many places.
    pub fn begin(&mut self, count: usize) -> Result<()> {
        let pieces = count.div_ceil(TOGETHER);
        self.pieces.clear();
        memory::lengthen(&mut self.pieces, pieces, WHAT, || [[0.0; TOGETHER]; 5])?;
        for numbers in [&mut self.slots, &mut self.numbers] {
            let mut next = 0..;
            numbers.clear();
            memory::lengthen(numbers, count, WHAT, || next.next().unwrap_or_default())?;
        }
        self.bounds.clear();
        memory::lengthen(&mut self.bounds, pieces, WHAT, || Bounds::EMPTY)?;
        self.moved = STALE * count;
        Ok(())
    }

    /// Puts a place under a number, with a weight and the square of a reach.
    pub fn put(&mut self, number: usize, place: &Vector, [weight, reach2]: [f64; 2]) {
        let ([x, y, z], slot) = (*place, self.slots[number]);
        for (column, value) in self.pieces[slot / TOGETHER].iter_mut().zip([x, y, z, weight, reach2]) {
            column[slot % TOGETHER] = value;
        }
        let piece = &mut self.bounds[slot / TOGETHER];
        *piece = piece.with(place, weight, reach2);
        self.moved += 1;
    }

    /// Puts places that are near one another into one piece, if many have been put since this was done.
    /// What is found does not depend on it, but its order does.
    pub fn arrange(&mut self) -> Result<()> {
        let count = self.numbers.len();
        if self.moved < STALE * count {
            return Ok(());
        }
        let all = memory::collected((0..count).map(|number| self.at(number)), WHAT)?;
        let along = |axis: usize| {
            let all = &all;
            move |one: &usize, other: &usize| all[*one].0[axis].total_cmp(&all[*other].0[axis]).then(one.cmp(other))
        };
        // Slabs along the first axis, of these columns along the second, of these pieces along the third
        // (Leutenegger, Lopez and Edgington 1997). Those of no weight are the last ones.
        self.numbers.sort_unstable_by_key(|number| all[*number].1[0] == 0.0);
        let weighing = all.iter().filter(|(_, [weight, _])| *weight != 0.0).count();
        let edge = (weighing.div_ceil(TOGETHER) as f64).cbrt().ceil().max(1.0) as usize;
        let pieces = |numbers: usize, parts: usize| numbers.div_ceil(parts).next_multiple_of(TOGETHER).max(1);
        let weighing = &mut self.numbers[..weighing];
        weighing.sort_unstable_by(along(0));
        for slab in weighing.chunks_mut(pieces(weighing.len(), edge)) {
            slab.sort_unstable_by(along(1));
            for column in slab.chunks_mut(pieces(slab.len(), edge)) {
                column.sort_unstable_by(along(2));
            }
        }
        self.bounds.fill(Bounds::EMPTY);
        for slot in 0..count {
            let number = self.numbers[slot];
            self.slots[number] = slot;
            self.put(number, &all[number].0, all[number].1);
        }
        self.moved = 0;
        Ok(())
    }

    /// Returns the place under a number, its weight and the square of its reach.
    pub fn at(&self, number: usize) -> (Vector, [f64; 2]) {
        let slot = self.slots[number];
        let [x, y, z, weight, reach2] = self.pieces[slot / TOGETHER].map(|column| column[slot % TOGETHER]);
        ([x, y, z], [weight, reach2])
    }

    /// Appends the numbers of the places that have a score of 0 and more, by their squared distance from
    /// one and their weight, and of those within whose reach it is. Scores do not grow with the distance,
    /// nor fall with the size of a weight. The order follows from what was put since the beginning.
    pub fn select(&self, from: &Vector, numbers: &mut Vec<usize>, score: impl Fn(f64, f64) -> f64) -> Result<()> {
        in_longest_vectors(
            #[inline(always)]
            || self.select_in(from, numbers, score),
        )
    }

    #[inline(always)]
    fn select_in(&self, from: &Vector, numbers: &mut Vec<usize>, score: impl Fn(f64, f64) -> f64) -> Result<()> {
        for piece in self.within(from, &score) {
            let weights = &self.pieces[piece][3];
            let scores = self.scores(piece, from, &score);
            self.append(piece, numbers, |k| (scores[k] >= 0.0) & (weights[k] != 0.0))?;
        }
        Ok(())
    }

    /// Appends the numbers of the masses that have a first score of 0 and more or reach so far. Returns the
    /// tide of those that have such a second score alone, as if they stayed where they are. The mass with
    /// the number `but` has no part in it.
    pub fn tides(
        &self,
        from: &Vector,
        but: usize,
        numbers: &mut Vec<usize>,
        scores: [impl Fn(f64, f64) -> f64; 2],
    ) -> Result<Tensor> {
        in_longest_vectors(
            #[inline(always)]
            || self.tides_in(from, but, numbers, scores),
        )
    }

    #[inline(always)]
    fn tides_in(
        &self,
        from: &Vector,
        but: usize,
        numbers: &mut Vec<usize>,
        [first, second]: [impl Fn(f64, f64) -> f64; 2],
    ) -> Result<Tensor> {
        let mut sums = [[0.0; LANES]; 6];
        for piece in self.within(from, &second) {
            let [x, y, z, masses, _] = &self.pieces[piece];
            // Where the box is too far for the first score, so is all that is in it.
            let mut are_first = [false; TOGETHER];
            if self.bounds[piece].may_have(from, &first) {
                let scores = self.scores(piece, from, &first);
                are_first = std::array::from_fn(|k| scores[k] >= 0.0);
                self.append(piece, numbers, |k| are_first[k] & (masses[k] != 0.0))?;
            }
            let scores = self.scores(piece, from, &second);
            let own = self.slots[but].wrapping_sub(piece * TOGETHER);
            // One operation on all places after another, which the compiler makes in vectors.
            let masses: [f64; TOGETHER] =
                std::array::from_fn(|k| if (scores[k] >= 0.0) & !are_first[k] & (k != own) { masses[k] } else { 0.0 });
            sum_tides(&mut sums, &masses, [*x, *y, *z], from);
        }
        numbers.retain(|number| *number != but);
        Ok(sums.map(|lanes| lanes.iter().sum()))
    }

    /// Returns the pieces that may have places with a score of 0 and more.
    #[inline(always)]
    fn within(&self, from: &Vector, score: impl Fn(f64, f64) -> f64) -> impl Iterator<Item = usize> {
        self.bounds.iter().enumerate().filter(move |(_, bounds)| bounds.may_have(from, &score)).map(|(piece, _)| piece)
    }

    #[inline(always)]
    fn scores(&self, piece: usize, from: &Vector, score: impl Fn(f64, f64) -> f64) -> [f64; TOGETHER] {
        let [x, y, z, weights, reaches2] = &self.pieces[piece];
        std::array::from_fn(|k| {
            let apart = [x[k] - from[0], y[k] - from[1], z[k] - from[2]];
            let distance2 = apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2];
            if distance2 < reaches2[k] { 0.0 } else { score(distance2, weights[k]) }
        })
    }

    /// Appends the numbers of some places of a piece, without branches, which would be taken at random.
    #[inline(always)]
    fn append(&self, piece: usize, numbers: &mut Vec<usize>, is_one: impl Fn(usize) -> bool) -> Result<()> {
        let (mut found, mut count) = ([0; TOGETHER], 0);
        for k in 0..TOGETHER {
            found[count] = piece * TOGETHER + k;
            count += usize::from(is_one(k));
        }
        memory::reserve(numbers, count, WHAT)?;
        numbers.extend(found[..count].iter().map(|slot| self.numbers[*slot]));
        Ok(())
    }
}

/// Adds the tides of masses at some places, as they are from another one, to sums.
#[inline(always)]
fn sum_tides(sums: &mut [[f64; LANES]; 6], masses: &[f64; TOGETHER], at: [[f64; TOGETHER]; 3], from: &Vector) {
    let at: [[f64; TOGETHER]; 3] = std::array::from_fn(|axis| at[axis].map(|place| place - from[axis]));
    // No mass is no reason to divide by 0.
    let squares: [f64; TOGETHER] = std::array::from_fn(|k| {
        let square = at[0][k] * at[0][k] + at[1][k] * at[1][k] + at[2][k] * at[2][k];
        if masses[k] == 0.0 { 1.0 } else { square }
    });
    let inverses = squares.map(|square| 1.0 / square);
    let factors: [f64; TOGETHER] = std::array::from_fn(|k| masses[k] * inverses[k] * inverses[k].sqrt());
    let along: [[f64; TOGETHER]; 3] =
        std::array::from_fn(|axis| std::array::from_fn(|k| 3.0 * factors[k] * inverses[k] * at[axis][k]));
    let pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
    for (sum, (one, other)) in sums.iter_mut().zip(pairs) {
        let diagonal = if one == other { 1.0 } else { 0.0 };
        for start in (0..TOGETHER).step_by(LANES) {
            for (lane, sum) in sum.iter_mut().enumerate() {
                let k = start + lane;
                *sum += along[one][k] * at[other][k] - diagonal * factors[k];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::random;

    #[test]
    fn those_that_count_are_found() {
        let mut random = random();
        for count in [0, 1, 31, 32, 33, 200, 3000] {
            let mut seen = Seen::default();
            for _ in 0..2 {
                seen.begin(count).unwrap();
                let places: Vec<(Vector, f64)> = (0..count)
                    .map(|number| ([random(), random(), random()], if number % 5 == 3 { 0.0 } else { random() }))
                    .collect();
                let reaches2: Vec<f64> = (0..count).map(|number| if number % 7 == 0 { 0.5 } else { 0.0 }).collect();
                let put = |seen: &mut Seen, number: usize| {
                    seen.put(number, &places[number].0, [places[number].1, reaches2[number]]);
                };
                // Some are elsewhere at first, and some have no weight.
                (0..count).for_each(|number| seen.put(number, &[random(), 7.0, 7.0], [(number % 2) as f64, 0.0]));
                (0..count / 2).for_each(|number| put(&mut seen, number));
                seen.arrange().unwrap();
                (count / 2..count).for_each(|number| put(&mut seen, number));
                let from = [random(), random(), random()];
                let score = |distance2: f64, weight: f64| weight - distance2;
                let mut found = vec![7777];
                seen.select(&from, &mut found, score).unwrap();
                found[1..].sort_unstable();
                let mut plain = Vec::new();
                seen.select_in(&from, &mut plain, score).unwrap();
                plain.sort_unstable();
                assert_eq!(found[1..], plain);
                if count > 0 {
                    let scores = [0.1, 0.5].map(|part| move |distance2: f64, weight: f64| part * weight - distance2);
                    let (mut one, mut other) = (Vec::new(), Vec::new());
                    let tides = seen.tides(&from, 0, &mut one, scores).unwrap();
                    assert_eq!((tides, &one), (seen.tides_in(&from, 0, &mut other, scores).unwrap(), &other));
                }
                let distance2 = |place: &Vector| (0..3).map(|k| (place[k] - from[k]).powi(2)).sum::<f64>();
                let expected = places.iter().enumerate().filter(|(number, (place, weight))| {
                    *weight != 0.0 && (distance2(place) <= *weight || distance2(place) < reaches2[*number])
                });
                let expected: Vec<usize> = [7777].into_iter().chain(expected.map(|(number, _)| number)).collect();
                assert_eq!(found, expected, "{count}");
            }
        }
    }
}
