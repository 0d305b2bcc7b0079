//! Places with weights, for loops over all of them of which few count.

use kyoho_core::{Result, memory};

use super::WHAT;
use crate::body::Vector;

/// The places that are looked at together, and the numbers of a vector or two.
const TOGETHER: usize = 32;
const LANES: usize = 4;

/// Places, each with a weight: bodies with their masses, where they were written last, or subsystems. Those
/// of no weight are never found.
#[derive(Debug, Default)]
pub struct Seen {
    /// The components of the places, and at last the weights; zeros fill the last ones up.
    columns: [Vec<f64>; 4],
}

impl Seen {
    /// Forgets all and makes room for this many places.
    pub fn begin(&mut self, count: usize) -> Result<()> {
        for column in &mut self.columns {
            column.clear();
            memory::lengthen(column, count.next_multiple_of(TOGETHER), WHAT, || 0.0)?;
        }
        Ok(())
    }

    /// Puts a place under a number.
    pub fn put(&mut self, number: usize, place: &Vector, weight: f64) {
        let [x, y, z] = *place;
        for (column, value) in self.columns.iter_mut().zip([x, y, z, weight]) {
            column[number] = value;
        }
    }

    /// Returns the place under a number, and its weight.
    pub fn at(&self, number: usize) -> (Vector, f64) {
        let [x, y, z, weight] = self.columns.each_ref().map(|column| column[number]);
        ([x, y, z], weight)
    }

    /// Appends the numbers, ascending, of the places that have a score of 0 and more, by their squared
    /// distance from one and their weight.
    pub fn select(&self, from: &Vector, numbers: &mut Vec<usize>, score: impl Fn(f64, f64) -> f64) -> Result<()> {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has it.
            return unsafe { self.select_by_avx2(from, numbers, score) };
        }
        self.select_by_all(from, numbers, score)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn select_by_avx2(&self, from: &Vector, numbers: &mut Vec<usize>, score: impl Fn(f64, f64) -> f64) -> Result<()> {
        self.select_by_all(from, numbers, score)
    }

    #[inline(always)]
    fn select_by_all(&self, from: &Vector, numbers: &mut Vec<usize>, score: impl Fn(f64, f64) -> f64) -> Result<()> {
        let [x, y, z, weights] = self.columns.each_ref().map(|column| column.as_chunks::<TOGETHER>().0);
        for (piece, (((x, y), z), weights)) in x.iter().zip(y).zip(z).zip(weights).enumerate() {
            let scores: [f64; TOGETHER] = std::array::from_fn(|k| {
                let apart = [x[k] - from[0], y[k] - from[1], z[k] - from[2]];
                score(apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2], weights[k])
            });
            // Compilers make vectors of the largest scores.
            let mut largest = [f64::NEG_INFINITY; LANES];
            for some in scores.as_chunks::<LANES>().0 {
                largest =
                    std::array::from_fn(|lane| if some[lane] > largest[lane] { some[lane] } else { largest[lane] });
            }
            if largest.iter().all(|largest| *largest < 0.0) {
                continue;
            }
            // Without branches, which would be taken at random.
            let (mut found, mut count) = ([0; TOGETHER], 0);
            for k in 0..TOGETHER {
                found[count] = piece * TOGETHER + k;
                count += usize::from((scores[k] >= 0.0) & (weights[k] != 0.0));
            }
            memory::reserve(numbers, count, WHAT)?;
            numbers.extend_from_slice(&found[..count]);
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
        for count in [0, 1, 31, 32, 33, 200] {
            let mut seen = Seen::default();
            for _ in 0..2 {
                seen.begin(count).unwrap();
                let places: Vec<(Vector, f64)> = (0..count)
                    .map(|number| ([random(), random(), random()], if number % 5 == 3 { 0.0 } else { random() }))
                    .collect();
                places.iter().enumerate().for_each(|(number, (place, weight))| seen.put(number, place, *weight));
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
