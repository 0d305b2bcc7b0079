//! Places with weights, for searches of those that count. Places that are near one another are looked at
//! together, and left out together by the box around them.

use kyoho_core::{Result, memory};

use super::WHAT;
use crate::body::Vector;

/// The places that are looked at together.
const TOGETHER: usize = 32;
/// Places are arranged anew when this many times their number were put.
const STALE: usize = 4;

/// Places, each with a weight: bodies with their masses, where they were written last, or subsystems. Those
/// of no weight are never found.
#[derive(Debug, Default)]
pub struct Seen {
    /// The components of the places, and at last the weights, by slots; zeros fill the last ones up.
    columns: [Vec<f64>; 4],
    /// The slot of each number, and the number in each slot.
    slots: Vec<usize>,
    numbers: Vec<usize>,
    /// For each piece of slots the least and the largest components, and the largest size of a weight.
    bounds: Vec<Bounds>,
    /// The places that were put since they were arranged; many where they never were.
    moved: usize,
}

/// The ends of a piece's places along each axis, and the largest size of their weights.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    ends: [[f64; 2]; 3],
    weight: f64,
}

impl Bounds {
    const EMPTY: Bounds = Bounds { ends: [[f64::INFINITY, f64::NEG_INFINITY]; 3], weight: 0.0 };

    /// Returns it with a place in it.
    fn with(self, place: &Vector, weight: f64) -> Bounds {
        if weight == 0.0 {
            return self;
        }
        let ends = std::array::from_fn(|k| [self.ends[k][0].min(place[k]), self.ends[k][1].max(place[k])]);
        Bounds { ends, weight: self.weight.max(weight.abs()) }
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
}

impl Seen {
    /// Forgets all and makes room for this many places.
    pub fn begin(&mut self, count: usize) -> Result<()> {
        let room = count.next_multiple_of(TOGETHER);
        for column in &mut self.columns {
            column.clear();
            memory::lengthen(column, room, WHAT, || 0.0)?;
        }
        for numbers in [&mut self.slots, &mut self.numbers] {
            let mut next = 0..;
            numbers.clear();
            memory::lengthen(numbers, count, WHAT, || next.next().unwrap_or_default())?;
        }
        self.bounds.clear();
        memory::lengthen(&mut self.bounds, room / TOGETHER, WHAT, || Bounds::EMPTY)?;
        self.moved = STALE * count;
        Ok(())
    }

    /// Puts a place under a number.
    pub fn put(&mut self, number: usize, place: &Vector, weight: f64) {
        let ([x, y, z], slot) = (*place, self.slots[number]);
        for (column, value) in self.columns.iter_mut().zip([x, y, z, weight]) {
            column[slot] = value;
        }
        let piece = &mut self.bounds[slot / TOGETHER];
        *piece = piece.with(place, weight);
        self.moved += 1;
    }

    /// Puts places that are near one another into one piece, if many have been put since this was done.
    /// What is found does not depend on it.
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
        self.numbers.sort_unstable_by_key(|number| all[*number].1 == 0.0);
        let weighing = all.iter().filter(|(_, weight)| *weight != 0.0).count();
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

    /// Returns the place under a number, and its weight.
    pub fn at(&self, number: usize) -> (Vector, f64) {
        let [x, y, z, weight] = self.columns.each_ref().map(|column| column[self.slots[number]]);
        ([x, y, z], weight)
    }

    /// Appends the numbers, ascending, of the places that have a score of 0 and more, by their squared
    /// distance from one and their weight. Scores do not grow with the distance, nor fall with the size of
    /// a weight.
    pub fn select(&self, from: &Vector, numbers: &mut Vec<usize>, score: impl Fn(f64, f64) -> f64) -> Result<()> {
        let first = numbers.len();
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has it.
            unsafe { self.select_by_avx2(from, numbers, score)? };
            numbers[first..].sort_unstable();
            return Ok(());
        }
        self.select_by_all(from, numbers, score)?;
        numbers[first..].sort_unstable();
        Ok(())
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn select_by_avx2(&self, from: &Vector, numbers: &mut Vec<usize>, score: impl Fn(f64, f64) -> f64) -> Result<()> {
        self.select_by_all(from, numbers, score)
    }

    #[inline(always)]
    fn select_by_all(&self, from: &Vector, numbers: &mut Vec<usize>, score: impl Fn(f64, f64) -> f64) -> Result<()> {
        let [x, y, z, weights] = self.columns.each_ref().map(|column| column.as_chunks::<TOGETHER>().0);
        for (piece, ends) in self.bounds.iter().enumerate() {
            if score(ends.distance2(from), ends.weight) < 0.0 {
                continue;
            }
            let (x, y, z, weights) = (&x[piece], &y[piece], &z[piece], &weights[piece]);
            let scores: [f64; TOGETHER] = std::array::from_fn(|k| {
                let apart = [x[k] - from[0], y[k] - from[1], z[k] - from[2]];
                score(apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2], weights[k])
            });
            // Without branches, which would be taken at random.
            let (mut found, mut count) = ([0; TOGETHER], 0);
            for k in 0..TOGETHER {
                found[count] = piece * TOGETHER + k;
                count += usize::from((scores[k] >= 0.0) & (weights[k] != 0.0));
            }
            memory::reserve(numbers, count, WHAT)?;
            numbers.extend(found[..count].iter().map(|slot| self.numbers[*slot]));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::random;

    #[test]
    fn those_that_count_are_found_in_order() {
        let mut random = random();
        for count in [0, 1, 31, 32, 33, 200, 3000] {
            let mut seen = Seen::default();
            for _ in 0..2 {
                seen.begin(count).unwrap();
                let places: Vec<(Vector, f64)> = (0..count)
                    .map(|number| ([random(), random(), random()], if number % 5 == 3 { 0.0 } else { random() }))
                    .collect();
                let put = |seen: &mut Seen, number: usize| seen.put(number, &places[number].0, places[number].1);
                // Some are elsewhere at first, and some have no weight.
                (0..count).for_each(|number| seen.put(number, &[random(), 7.0, 7.0], (number % 2) as f64));
                (0..count / 2).for_each(|number| put(&mut seen, number));
                seen.arrange().unwrap();
                (count / 2..count).for_each(|number| put(&mut seen, number));
                let from = [random(), random(), random()];
                let score = |distance2: f64, weight: f64| weight - distance2;
                let mut found = vec![7777];
                seen.select(&from, &mut found, score).unwrap();
                let distance2 = |place: &Vector| (0..3).map(|k| (place[k] - from[k]).powi(2)).sum::<f64>();
                let expected = places
                    .iter()
                    .enumerate()
                    .filter(|(_, (place, weight))| *weight != 0.0 && distance2(place) <= *weight);
                let expected: Vec<usize> = [7777].into_iter().chain(expected.map(|(number, _)| number)).collect();
                assert_eq!(found, expected, "{count}");
            }
        }
    }
}
