//! Centres of fields that move, on cubic splines in time.

use kyoho_core::error::shown;
use kyoho_core::{Error, Result, memory};
use kyoho_language::field::MOST;

use crate::body::{Vector, vector};

/// A position and as many of its derivatives by time as the motion of a body has.
pub type Motion = [Vector; 2 + MOST];

const WHAT: &str = "the nodes of a field's centre";

/// A curve in time through nodes: a cubic polynomial between two of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Centre {
    times: Vec<f64>,
    positions: Vec<Vector>,
    velocities: Vec<Vector>,
    /// Whether the velocities are the caller's.
    has_velocities: bool,
}

impl Centre {
    /// Returns the curve through positions at rising times. With velocities it has these at the nodes.
    /// Without them it is the natural spline: its acceleration is continuous, and zero at both ends.
    pub fn new(times: &[f64], positions: &[Vector], velocities: Option<&[Vector]>) -> Result<Centre> {
        let wrong =
            |value: String, allowed: &str| Err(Error::BadOption { name: WHAT.into(), value, allowed: allowed.into() });
        if times.len() < 2 {
            return wrong(format!("{} times", times.len()), "two times or more");
        }
        for (what, count) in [("positions", Some(positions.len())), ("velocities", velocities.map(<[Vector]>::len))] {
            if let Some(count) = count.filter(|count| *count != times.len()) {
                return wrong(format!("{count} {what}"), &format!("{}, one for each time", times.len()));
            }
        }
        let numbers = times.iter().chain(positions.as_flattened()).chain(velocities.unwrap_or_default().as_flattened());
        if let Some(value) = numbers.copied().find(|number| !number.is_finite()) {
            return Err(Error::NotFinite { what: WHAT.into(), value });
        }
        if let Some(pair) = times.windows(2).find(|pair| pair[0] >= pair[1]) {
            return wrong(format!("{} after {}", shown(pair[1]), shown(pair[0])), "times that rise");
        }
        let slopes = match velocities {
            Some(velocities) => memory::collected(velocities.iter().copied(), WHAT)?,
            None => natural(times, positions)?,
        };
        Ok(Centre {
            times: memory::collected(times.iter().copied(), WHAT)?,
            positions: memory::collected(positions.iter().copied(), WHAT)?,
            velocities: slopes,
            has_velocities: velocities.is_some(),
        })
    }

    /// Returns a curve from the numbers of its nodes, as [`Centre::numbers`] returns them.
    pub fn from_numbers(numbers: &[f64], nodes: usize) -> Result<Centre> {
        let (times, rest) = numbers.split_at(nodes.min(numbers.len()));
        let (vectors, _) = rest.as_chunks::<3>();
        let (positions, velocities) = vectors.split_at(nodes.min(vectors.len()));
        Centre::new(times, positions, Some(velocities).filter(|velocities| !velocities.is_empty()))
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.times.len()
    }

    /// Returns all times, positions, and velocities if the caller gave some.
    pub fn numbers(&self) -> impl Iterator<Item = f64> {
        let velocities = if self.has_velocities { &self.velocities[..] } else { &[] };
        let vectors = self.positions.as_flattened().iter().chain(velocities.as_flattened());
        self.times.iter().chain(vectors).copied()
    }

    /// Returns the first and the last time.
    fn ends(&self) -> [f64; 2] {
        [self.times[0], self.times[self.times.len() - 1]]
    }

    /// Fails if a time is outside the nodes by more than the rounding of sums of times.
    pub fn check(&self, time: f64, field: &str) -> Result<()> {
        let [first, last] = self.ends();
        let slack = 4.0 * f64::EPSILON * (first.abs() + last.abs());
        if (first - slack..=last + slack).contains(&time) {
            return Ok(());
        }
        Err(Error::BadOption {
            name: format!("the time of the centre of the field '{field}'"),
            value: shown(time),
            allowed: format!("{} to {}, the times of its nodes", shown(first), shown(last)),
        })
    }

    /// Returns the position and its derivatives at a time.
    pub fn at(&self, time: f64) -> Motion {
        let [first, last] = self.ends();
        let time = time.clamp(first, last);
        let node = self.times.partition_point(|node| *node <= time).clamp(1, self.times.len() - 1) - 1;
        let (h, u) = (self.times[node + 1] - self.times[node], time - self.times[node]);
        let (positions, velocities) = (&self.positions[node..], &self.velocities[node..]);
        let slope = vector(|k| (positions[1][k] - positions[0][k]) / h);
        let second = vector(|k| (3.0 * slope[k] - 2.0 * velocities[0][k] - velocities[1][k]) / h);
        let third = vector(|k| (velocities[0][k] + velocities[1][k] - 2.0 * slope[k]) / (h * h));
        let mut motion = [[0.0; 3]; 2 + MOST];
        motion[0] = vector(|k| positions[0][k] + u * (velocities[0][k] + u * (second[k] + u * third[k])));
        motion[1] = vector(|k| velocities[0][k] + u * (2.0 * second[k] + u * 3.0 * third[k]));
        motion[2] = vector(|k| 2.0 * second[k] + 6.0 * u * third[k]);
        motion[3] = third.map(|third| 6.0 * third);
        motion
    }
}

/// Returns the velocities at the nodes of the natural spline, by elimination in the tridiagonal system
/// that makes accelerations continuous.
fn natural(times: &[f64], positions: &[Vector]) -> Result<Vec<Vector>> {
    let last = times.len() - 1;
    // The inverse length of the piece after a node, and three times its slope over its length.
    let inverse = |node: usize| 1.0 / (times[node + 1] - times[node]);
    let pull = |node: usize, k: usize| 3.0 * (positions[node + 1][k] - positions[node][k]) * inverse(node).powi(2);
    let mut velocities: Vec<Vector> = memory::room(times.len(), WHAT)?;
    let mut above: Vec<f64> = memory::room(times.len(), WHAT)?;
    for node in 0..=last {
        let before = if node == 0 { 0.0 } else { inverse(node - 1) };
        let after = if node == last { 0.0 } else { inverse(node) };
        let (eliminated, known) = match node {
            0 => (0.0, [0.0; 3]),
            _ => (above[node - 1], velocities[node - 1]),
        };
        let pivot = 2.0 * (before + after) - before * eliminated;
        let sum = |k: usize| {
            let left = if node == 0 { 0.0 } else { pull(node - 1, k) };
            left + if node == last { 0.0 } else { pull(node, k) }
        };
        velocities.push(vector(|k| (sum(k) - before * known[k]) / pivot));
        above.push(after / pivot);
    }
    for node in (0..last).rev() {
        let next = velocities[node + 1];
        velocities[node] = vector(|k| velocities[node][k] - above[node] * next[k]);
    }
    Ok(velocities)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: Vector, expected: Vector, error: f64) {
        for k in 0..3 {
            assert!((found[k] - expected[k]).abs() <= error, "{found:?} in place of {expected:?}");
        }
    }

    #[test]
    fn a_natural_spline_is_smooth_and_ends_without_acceleration() {
        let times = [0.0, 0.7, 1.0, 2.5, 4.0];
        let positions = times.map(|time: f64| [time.sin(), time.cos(), 3.0 - 2.0 * time]);
        let centre = Centre::new(&times, &positions, None).unwrap();
        for (time, position) in times.iter().zip(positions) {
            assert_near(centre.at(*time)[0], position, 1e-14);
            assert_near(centre.at(*time)[1], centre.at(time - 1e-13)[1], 1e-11);
            assert_near(centre.at(*time)[2], centre.at(time - 1e-13)[2], 1e-11);
        }
        for end in [0.0, 4.0] {
            assert_near(centre.at(end)[2], [0.0; 3], 1e-13);
        }
        // A straight line stays one, and each derivative is that of the one before.
        for time in [0.3, 0.9, 1.7, 3.9] {
            let motion = centre.at(time);
            assert_near([motion[0][2], motion[1][2], motion[2][2]], [3.0 - 2.0 * time, -2.0, 0.0], 1e-14);
            let (before, after) = (centre.at(time - 1e-4), centre.at(time + 1e-4));
            for number in 0..4 {
                let slope = vector(|k| (after[number][k] - before[number][k]) / 2e-4);
                assert_near(motion[number + 1], slope, 1e-7);
            }
        }
    }

    #[test]
    fn given_velocities_are_those_at_the_nodes() {
        let times = [1.0, 1.5, 3.0];
        let curve = |t: f64| [[t, t * t, t.powi(3)], [1.0, 2.0 * t, 3.0 * t * t]];
        let [positions, velocities] = [0, 1].map(|number| times.map(|time| curve(time)[number]));
        let centre = Centre::new(&times, &positions, Some(&velocities)).unwrap();
        for time in [1.0, 1.2, 1.5, 2.9, 3.0] {
            let motion = centre.at(time);
            assert_near(motion[0], curve(time)[0], 1e-13);
            assert_near(motion[1], curve(time)[1], 1e-13);
            assert_near(motion[2], [0.0, 2.0, 6.0 * time], 1e-12);
            assert_near(motion[3], [0.0, 0.0, 6.0], 1e-11);
        }
        let numbers: Vec<f64> = centre.numbers().collect();
        assert_eq!(Centre::from_numbers(&numbers, 3).unwrap(), centre);
        let natural = Centre::new(&times, &positions, None).unwrap();
        let numbers: Vec<f64> = natural.numbers().collect();
        assert_eq!(Centre::from_numbers(&numbers, 3).unwrap(), natural);
    }

    #[test]
    fn nodes_that_are_wrong_are_refused_with_what_is_allowed() {
        let refused = |times: &[f64], positions: &[Vector], velocities: Option<&[Vector]>| {
            Centre::new(times, positions, velocities).unwrap_err().to_string()
        };
        let two = [[0.0; 3]; 2];
        assert!(refused(&[0.0], &two[..1], None).contains("'1 times'; allowed: two times or more"));
        assert!(refused(&[1.0, 1.0], &two, None).contains("'1 after 1'; allowed: times that rise"));
        assert!(refused(&[1.0, 2.0], &two[..1], None).contains("'1 positions'; allowed: 2"));
        assert!(refused(&[1.0, 2.0], &two, Some(&two[..1])).contains("'1 velocities'; allowed: 2"));
        assert!(refused(&[1.0, f64::INFINITY], &two, None).contains("finite"));
        let centre = Centre::new(&[1.0, 2.0], &two, None).unwrap();
        let outside = centre.check(2.5, "nfw").unwrap_err().to_string();
        assert!(outside.contains("of the field 'nfw' is '2.5'; allowed: 1 to 2, the times of its nodes"), "{outside}");
        centre.check(2.0f64.next_up(), "nfw").unwrap();
    }
}
