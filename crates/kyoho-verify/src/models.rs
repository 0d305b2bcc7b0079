//! Models of bodies, which are the same in every run.

use std::f64::consts::PI;

use crate::reference::real::dot;
use kyoho_core::{MAX_DERIVATIVES, Sink, Source, padded};

/// Numbers that look random (Steele, Lea & Flood 2014, OOPSLA '14, 453: SplitMix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Makes a sequence, which is different for each seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * 2f64.powi(-53)
    }

    /// Returns a whole number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.unit() * limit as f64) as usize
    }

    /// Returns a multiple of 1/1024 between -`limit` and `limit`. Single precision holds it, and
    /// differences of such numbers, exactly.
    pub fn on_grid(&mut self, limit: f64) -> f64 {
        ((self.unit() * 2.0 - 1.0) * limit * 1024.0).round() / 1024.0
    }

    /// Returns a vector of such numbers.
    pub fn grid_vector(&mut self, limit: f64) -> [f64; 3] {
        std::array::from_fn(|_| self.on_grid(limit))
    }

    /// Returns a vector of unit length. All directions are equally likely.
    pub fn direction(&mut self) -> [f64; 3] {
        let z = 2.0 * self.unit() - 1.0;
        let (sine, cosine) = (2.0 * PI * self.unit()).sin_cos();
        let across = (1.0 - z * z).sqrt();
        [across * cosine, across * sine, z]
    }
}

/// Returns a Plummer model of equal masses in standard units (Aarseth, Henon & Wielen 1974,
/// Astronomy and Astrophysics 37, 183), at time 0, with index = address.
pub fn plummer(bodies: usize) -> Vec<Source> {
    let mut random = Random::new(1974);
    let length = 3.0 * PI / 16.0;
    let body = |index: usize| {
        let radius = loop {
            let radius = ((1.0 - random.unit()).powf(-2.0 / 3.0) - 1.0).powf(-0.5);
            if radius < 20.0 {
                break radius;
            }
        };
        let fraction = loop {
            let (fraction, height) = (random.unit(), 0.1 * random.unit());
            if height < fraction * fraction * (1.0 - fraction * fraction).powf(3.5) {
                break fraction;
            }
        };
        let speed = fraction * 2f64.sqrt() * (1.0 + radius * radius).powf(-0.25) / length.sqrt();
        let position = random.direction().map(|component| component * radius * length);
        let velocity = random.direction().map(|component| component * speed);
        // The derivatives are those in the smooth model: a = -x f with f = (x^2 + l^2)^(-3/2).
        let [x2, xv] = [dot(position, position), dot(position, velocity)];
        let f = (x2 + length * length).powf(-1.5);
        let change = -3.0 * f * xv / (x2 + length * length);
        let acceleration = position.map(|x| -x * f);
        let jerk = std::array::from_fn(|k| -velocity[k] * f - position[k] * change);
        source(index as i32, 1.0 / bodies as f64, [position, velocity, acceleration, jerk])
    };
    (0..bodies).map(body).collect()
}

/// Returns a sphere of unit radius and equal masses at time 0, with index = address.
pub fn uniform_sphere(bodies: usize) -> Vec<Source> {
    let mut random = Random::new(1687);
    let body = |index: usize| {
        let radius = random.unit().cbrt();
        let position = random.direction().map(|component| component * radius);
        let velocity = random.direction();
        let acceleration = position.map(|x| -x);
        let jerk = velocity.map(|v| -v);
        source(index as i32, 1.0 / bodies as f64, [position, velocity, acceleration, jerk])
    };
    (0..bodies).map(body).collect()
}

/// Returns bodies of several masses on a grid. Single precision holds their coordinates,
/// derivatives, differences and masses exactly.
pub fn grid(seed: u64, bodies: usize) -> Vec<Source> {
    let mut random = Random::new(seed);
    let body = |index: usize| {
        let mass = (1.0 + random.below(15) as f64) / 16.0;
        let [position, velocity] = [4.0, 1.0].map(|limit| random.grid_vector(limit));
        let acceleration = random.grid_vector(1.0);
        // A sixth of it is on the grid too.
        let jerk = random.grid_vector(0.25).map(|component| 6.0 * component);
        source(index as i32, mass, [position, velocity, acceleration, jerk])
    };
    (0..bodies).map(body).collect()
}

/// Makes a source at time 0. Derivatives that are not given are zero.
pub fn source<const N: usize>(index: i32, mass: f64, derivatives: [[f64; 3]; N]) -> Source {
    Source::from_derivatives(index, mass, 0.0, derivatives)
}

/// Makes a source of mass 1 that rests at a place.
pub fn at(index: i32, position: [f64; 3]) -> Source {
    source(index, 1.0, [position])
}

/// Makes a sink that rests at a place.
pub fn sink_at(index: i32, position: [f64; 3], softening2: f64) -> Sink {
    Sink { index, softening2, radius2: 0.0, step: 0.0, derivatives: padded([position]) }
}

/// Returns the bodies themselves as sinks, at the time of their coefficients.
pub fn sinks_of(sources: &[Source], softening2: f64) -> Vec<Sink> {
    const FACTORIALS: [f64; MAX_DERIVATIVES] = [1.0, 1.0, 2.0, 6.0];
    let sink = |source: &Source| Sink {
        index: source.index,
        softening2,
        radius2: 0.0,
        step: 0.0,
        derivatives: std::array::from_fn(|q| source.coefficients[q].map(|component| FACTORIALS[q] * component)),
    };
    sources.iter().map(sink).collect()
}
