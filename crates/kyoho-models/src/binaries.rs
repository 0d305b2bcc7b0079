//! Primordial binaries: semi-major axes uniform in their logarithm (Opik 1924, Publications of the
//! Tartu Observatory 25, 1), thermal eccentricities (Jeans 1919, MNRAS 79, 408), and orbits in any
//! direction at any phase.

use std::f64::consts::TAU;

use kyoho_core::Result;
use kyoho_core::error::shown;
use kyoho_integrators::body::{Vector, vector};
use kyoho_integrators::unit_systems::{Kind, UnitSystem};

use crate::Star;
use crate::random::Random;
use crate::text::Word;

/// The binaries of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Binaries {
    /// The share of binaries among binaries and single stars.
    pub fraction: f64,
    /// The smallest semi-major axis.
    pub least: f64,
    /// The largest one.
    pub most: f64,
}

impl Binaries {
    pub(crate) fn parse(word: &Word, units: Option<&UnitSystem>) -> Result<Binaries> {
        let length = Some(Kind::Length);
        let [fraction, least, most] = word.numbers([("fraction", None), ("least", length), ("most", length)], units)?;
        let fraction = word.given("fraction", fraction, "0 to 1")?;
        if !(0.0..=1.0).contains(&fraction) {
            return Err(word.wrong("fraction", shown(fraction), "0 to 1".into()));
        }
        let least = word.given("least", least, "the smallest semi-major axis")?;
        let most = word.given("most", most, "the largest semi-major axis")?;
        if least <= 0.0 {
            return Err(word.wrong("least", shown(least), "lengths above 0".into()));
        }
        if most < least {
            return Err(word.wrong("most", shown(most), format!("lengths from least on, which is {}", shown(least))));
        }
        Ok(Binaries { fraction, least, most })
    }

    /// Returns how many binaries there are among so many stars.
    pub fn count(&self, stars: usize) -> usize {
        let binaries = stars as f64 * self.fraction / (1.0 + self.fraction);
        (binaries.round() as usize).min(stars / 2)
    }

    /// Returns the two stars of a binary. `masses` are theirs times the gravitational constant.
    pub fn draw(&self, masses: [f64; 2], centre: &Star, random: &mut Random) -> [Star; 2] {
        let axis = self.least * (random.uniform() * (self.most / self.least).ln()).exp();
        let orbit = Orbit { axis: axis.min(self.most), eccentricity: random.uniform().sqrt() };
        let pericentre = random.direction();
        let (sine, cosine) = (TAU * random.uniform()).sin_cos();
        let [one, other] = across(pericentre);
        let along = vector(|k| cosine * one[k] + sine * other[k]);
        let [across, speeds] = orbit.at(TAU * random.uniform(), masses[0] + masses[1]);
        let separation = Star {
            position: vector(|k| across[0] * pericentre[k] + across[1] * along[k]),
            velocity: vector(|k| speeds[0] * pericentre[k] + speeds[1] * along[k]),
        };
        apart(masses, centre, &separation)
    }
}

/// Returns two bodies around their centre of mass, of which the second has this separation from the
/// first.
pub(crate) fn apart(masses: [f64; 2], centre: &Star, separation: &Star) -> [Star; 2] {
    let sum = masses[0] + masses[1];
    [-masses[1] / sum, masses[0] / sum].map(|part| Star {
        position: vector(|k| centre.position[k] + part * separation.position[k]),
        velocity: vector(|k| centre.velocity[k] + part * separation.velocity[k]),
    })
}

/// Returns two unit vectors at right angles to one and to each other.
fn across(axis: Vector) -> [Vector; 2] {
    let cross =
        |a: Vector, b: Vector| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    // The coordinate axis that is farthest from the vector.
    let least = (0..3).min_by(|a, b| axis[*a].abs().total_cmp(&axis[*b].abs())).unwrap_or_default();
    let first = cross(axis, vector(|k| f64::from(u8::from(k == least))));
    let length = first.iter().map(|component| component * component).sum::<f64>().sqrt();
    let first = first.map(|component| component / length);
    [first, cross(axis, first)]
}

/// An ellipse.
struct Orbit {
    axis: f64,
    eccentricity: f64,
}

impl Orbit {
    /// Returns the place and the velocity at a mean anomaly, along the direction to the pericentre and
    /// along that of the motion there. `mass` is that of both times the gravitational constant.
    fn at(&self, anomaly: f64, mass: f64) -> [[f64; 2]; 2] {
        let Orbit { axis, eccentricity } = *self;
        let (sine, cosine) = eccentric(anomaly, eccentricity).sin_cos();
        let minor = ((1.0 - eccentricity) * (1.0 + eccentricity)).sqrt();
        let speed = (mass / axis).sqrt() / (1.0 - eccentricity * cosine);
        [[axis * (cosine - eccentricity), axis * minor * sine], [-speed * sine, speed * minor * cosine]]
    }
}

/// Solves Kepler's equation by bisection: the mean anomaly grows with the eccentric one.
fn eccentric(anomaly: f64, eccentricity: f64) -> f64 {
    let (mut low, mut high) = (0.0, TAU);
    for _ in 0..56 {
        let middle = 0.5 * (low + high);
        if middle - eccentricity * middle.sin() < anomaly { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use kyoho_integrators::body::length;

    use super::*;

    /// The elements of an orbit, with its direction of rotation, that to its pericentre, and its mean
    /// anomaly over a full turn.
    fn elements([one, other]: &[Star; 2], mass: f64) -> (f64, f64, Vector, Vector, f64) {
        let x = vector(|k| other.position[k] - one.position[k]);
        let v = vector(|k| other.velocity[k] - one.velocity[k]);
        let cross =
            |a: Vector, b: Vector| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
        let dot = |a: Vector, b: Vector| (0..3).map(|k| a[k] * b[k]).sum::<f64>();
        let h = cross(x, v);
        let to = cross(v, h);
        let vector_of_e = vector(|k| to[k] / mass - x[k] / length(&x));
        let e = length(&vector_of_e);
        let axis = 1.0 / (2.0 / length(&x) - dot(v, v) / mass);
        let sine = dot(x, v) / (mass * axis).sqrt();
        let cosine = 1.0 - length(&x) / axis;
        let anomaly = sine.atan2(cosine) - sine;
        let h = h.map(|component| component / length(&h));
        (axis, e, h, vector_of_e.map(|component| component / e), (anomaly / TAU).rem_euclid(1.0))
    }

    /// The largest difference between the distribution of numbers and that of a function, times the root
    /// of their number (Kolmogorov 1933): above 1.95 it is in one of 1000 samples.
    fn kolmogorov(mut numbers: Vec<f64>, distribution: impl Fn(f64) -> f64) -> f64 {
        numbers.sort_by(f64::total_cmp);
        let n = numbers.len() as f64;
        let difference = |(place, number): (usize, &f64)| {
            let expected = distribution(*number);
            (place as f64 / n - expected).abs().max(((place + 1) as f64 / n - expected).abs())
        };
        n.sqrt() * numbers.iter().enumerate().map(difference).fold(0.0, f64::max)
    }

    #[test]
    fn orbits_have_the_distributions() {
        let binaries = Binaries { fraction: 1.0, least: 1e-3, most: 10.0 };
        let centre = Star { position: [1.0, -2.0, 0.5], velocity: [0.1, 0.2, -0.3] };
        let mut random = Random(8);
        let masses = [0.7, 0.2];
        let pairs: Vec<_> = (0..4000).map(|_| binaries.draw(masses, &centre, &mut random)).collect();
        for pair in &pairs {
            for k in 0..3 {
                let mean = |of: fn(&Star) -> Vector| (0.7 * of(&pair[0])[k] + 0.2 * of(&pair[1])[k]) / 0.9;
                let size = length(&pair[0].velocity) + length(&pair[1].velocity);
                assert!((mean(|star| star.position) - centre.position[k]).abs() < 1e-14);
                assert!((mean(|star| star.velocity) - centre.velocity[k]).abs() < 1e-15 * size + 1e-15);
            }
        }
        let found: Vec<_> = pairs.iter().map(|pair| elements(pair, 0.9)).collect();
        let axes = found.iter().map(|orbit| orbit.0).collect();
        assert!(kolmogorov(axes, |axis| (axis / 1e-3).ln() / 1e4f64.ln()) < 1.95);
        assert!(kolmogorov(found.iter().map(|orbit| orbit.1).collect(), |e| e * e) < 1.95);
        assert!(kolmogorov(found.iter().map(|orbit| orbit.4).collect(), |turn| turn) < 1.95);
        for k in 0..3 {
            let uniform = |cosine: f64| 0.5 * (1.0 + cosine);
            assert!(kolmogorov(found.iter().map(|orbit| orbit.2[k]).collect(), uniform) < 1.95);
            assert!(kolmogorov(found.iter().map(|orbit| orbit.3[k]).collect(), uniform) < 1.95);
        }
    }

    #[test]
    fn keplers_equation_is_solved_at_any_eccentricity() {
        for eccentricity in [0.0, 0.5, 0.99, 1.0 - 1e-12] {
            for anomaly in [1e-9, 0.1, 3.0, 6.2] {
                let found = eccentric(anomaly, eccentricity);
                assert!((found - eccentricity * found.sin() - anomaly).abs() < 1e-14, "{eccentricity} {anomaly}");
            }
        }
    }

    #[test]
    fn a_fraction_is_that_of_systems() {
        let count = |fraction: f64, stars: usize| Binaries { fraction, least: 1.0, most: 1.0 }.count(stars);
        assert_eq!(
            [count(0.0, 9), count(1.0, 8), count(1.0, 9), count(0.5, 300), count(0.25, 1000)],
            [0, 4, 4, 100, 200]
        );
    }
}
