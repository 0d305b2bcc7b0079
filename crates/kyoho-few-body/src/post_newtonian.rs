//! Relativistic terms of a pair's relative acceleration, in harmonic coordinates, without spins.
//!
//! L. Blanchet, Living Reviews in Relativity 17 (2014) 2, equations 219 and 220; the first three
//! also in L. E. Kidder, Physical Review D 52 (1995) 821, equation 2.2 (the third in another
//! gauge). Several bodies feel the sum of their pairs' terms; terms of three bodies are left out.

use crate::vector::{Vector, dot};

/// Which terms of the expansion in the inverse square of the speed of light are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The first: precession.
    pub first: bool,
    /// The second.
    pub second: bool,
    /// That of order 2.5: decay by gravitational waves.
    pub decay: bool,
    /// That of order 3.5, the correction of the decay.
    pub decay_correction: bool,
}

impl Terms {
    /// The terms 1, 2 and 2.5.
    pub const USUAL: Terms = Terms { first: true, second: true, decay: true, decay_correction: false };
}

/// What pairs need for their relativistic terms.
#[derive(Debug, Clone, Copy)]
pub struct Relativity {
    /// The inverse of the square of the speed of light.
    inverse_square: f64,
    inverse_speed: f64,
    terms: Terms,
}

impl Relativity {
    pub fn new(speed_of_light: f64, terms: Terms) -> Relativity {
        let inverse_speed = 1.0 / speed_of_light;
        Relativity { inverse_square: inverse_speed * inverse_speed, inverse_speed, terms }
    }

    /// Returns what is added to the relative acceleration of a pair, as factors of its separation
    /// and of its relative velocity. `mass` is the gravitational constant times the sum of the
    /// masses, `eta` the product of the masses over the square of their sum.
    pub fn factors(&self, mass: f64, eta: f64, separation: Vector, velocity: Vector) -> [f64; 2] {
        let distance = dot(separation, separation).sqrt();
        let inverse = 1.0 / distance;
        let potential = mass * inverse;
        let speed2 = dot(velocity, velocity);
        let radial = dot(separation, velocity) * inverse;
        let radial2 = radial * radial;
        let (mut along_separation, mut along_velocity) = (0.0, 0.0);
        let mut add = |factor: f64, terms: [f64; 2]| {
            along_separation += factor * terms[0];
            along_velocity += factor * terms[1];
        };
        let square = self.inverse_square;
        if self.terms.first {
            add(square, first(eta, potential, speed2, radial, radial2));
        }
        if self.terms.second {
            add(square * square, second(eta, potential, speed2, radial, radial2));
        }
        if self.terms.decay {
            add(square * square * self.inverse_speed, decay(eta, potential, speed2, radial));
        }
        if self.terms.decay_correction {
            let factor = square * square * square * self.inverse_speed;
            add(factor, decay_correction(eta, potential, speed2, radial, radial2));
        }
        let newton = -potential * inverse;
        [newton * along_separation * inverse, newton * along_velocity]
    }
}

fn first(eta: f64, potential: f64, speed2: f64, radial: f64, radial2: f64) -> [f64; 2] {
    [(1.0 + 3.0 * eta) * speed2 - 2.0 * (2.0 + eta) * potential - 1.5 * eta * radial2, -2.0 * (2.0 - eta) * radial]
}

fn second(eta: f64, potential: f64, speed2: f64, radial: f64, radial2: f64) -> [f64; 2] {
    let eta2 = eta * eta;
    let along_separation = 0.75 * (12.0 + 29.0 * eta) * potential * potential
        + eta * (3.0 - 4.0 * eta) * speed2 * speed2
        + 1.875 * eta * (1.0 - 3.0 * eta) * radial2 * radial2
        - 1.5 * eta * (3.0 - 4.0 * eta) * speed2 * radial2
        - 0.5 * eta * (13.0 - 4.0 * eta) * potential * speed2
        - (2.0 + 25.0 * eta + 2.0 * eta2) * potential * radial2;
    let along_velocity = eta * (15.0 + 4.0 * eta) * speed2
        - (4.0 + 41.0 * eta + 8.0 * eta2) * potential
        - 3.0 * eta * (3.0 + 2.0 * eta) * radial2;
    [along_separation, -0.5 * radial * along_velocity]
}

fn decay(eta: f64, potential: f64, speed2: f64, radial: f64) -> [f64; 2] {
    let factor = 1.6 * eta * potential;
    [-factor * radial * (3.0 * speed2 + 17.0 / 3.0 * potential), factor * (speed2 + 3.0 * potential)]
}

fn decay_correction(eta: f64, potential: f64, speed2: f64, radial: f64, radial2: f64) -> [f64; 2] {
    let along_separation = potential * potential * (3956.0 / 35.0 + 184.0 / 5.0 * eta)
        + potential * speed2 * (692.0 / 35.0 - 724.0 / 15.0 * eta)
        + speed2 * speed2 * (366.0 / 35.0 + 12.0 * eta)
        + potential * radial2 * (294.0 / 5.0 + 376.0 / 5.0 * eta)
        - speed2 * radial2 * (114.0 + 12.0 * eta)
        + 112.0 * radial2 * radial2;
    let along_velocity = -potential * potential * (1060.0 / 21.0 + 104.0 / 5.0 * eta)
        + potential * speed2 * (164.0 / 21.0 + 148.0 / 5.0 * eta)
        - speed2 * speed2 * (626.0 / 35.0 + 12.0 / 5.0 * eta)
        - potential * radial2 * (82.0 / 3.0 + 848.0 / 15.0 * eta)
        + speed2 * radial2 * (678.0 / 5.0 + 12.0 / 5.0 * eta)
        - 120.0 * radial2 * radial2;
    let factor = eta * potential;
    [factor * radial * along_separation, factor * along_velocity]
}
