//! What relativity does to an orbit, averaged over it.
//!
//! The pericentre advances by the first order. Gravitational waves take energy and angular momentum: P. C.
//! Peters, Physical Review 136 (1964) B1224, equations 5.6 and 5.7. The energy that the first order keeps is
//! that of L. E. Kidder, Physical Review D 52 (1995) 821.

use super::{Ellipse, LARGEST_TURN, MOST_STEPS, Tensor};
use crate::vector::{Vector, cross, dot, norm, scaled, sum};

/// Orbits are averaged where the first relativistic order is below this part of Newton's pull. There the
/// next orders change the decay by some per cent, and a hundred thousand orbits are left at most.
const STRONG: f64 = 5e-3;
/// The error of the orbit's vectors by taking turns with the tide.
const SPLITTING: f64 = 1e-10;

/// The relativistic terms of two bodies.
#[derive(Debug, Clone, Copy)]
pub struct Relativity {
    /// The gravitational constant times the sum of the masses.
    mass: f64,
    /// The product of the masses over the square of their sum.
    eta: f64,
    speed_of_light: f64,
}

impl Relativity {
    /// Makes those of two masses, times the gravitational constant.
    pub fn new([one, other]: [f64; 2], speed_of_light: f64) -> Relativity {
        let mass = one + other;
        Relativity { mass, eta: one / mass * (other / mass), speed_of_light }
    }

    /// Whether an orbit with this semi-latus rectum cannot be averaged.
    pub fn is_strong(&self, semi_latus_rectum: f64) -> bool {
        let weakest = STRONG * semi_latus_rectum * self.speed_of_light * self.speed_of_light;
        weakest.is_nan() || self.mass >= weakest
    }

    /// Returns what the kinetic energy for a reduced mass of 1 is multiplied with and its square too, and
    /// what is added to both, so that the sum less Newton's potential is the energy of the first order.
    fn terms(&self, separation: Vector, velocity: Vector) -> [f64; 3] {
        let Relativity { mass, eta, speed_of_light } = *self;
        let (distance, speed2) = (norm(separation), dot(velocity, velocity));
        let potential = mass / distance;
        let radial = dot(separation, velocity) / distance;
        let radial = if speed2 > 0.0 { eta * radial * radial / speed2 } else { 0.0 };
        let inverse = 1.0 / (speed_of_light * speed_of_light);
        [
            1.0 + inverse * potential * (3.0 + eta + radial),
            1.5 * inverse * (1.0 - 3.0 * eta),
            0.5 * inverse * potential * potential,
        ]
    }

    /// Returns the velocity with which Newton's energy is that of the first order, which varies along an
    /// orbit less by a power of the speed of light.
    pub(super) fn newtonian(&self, separation: Vector, velocity: Vector) -> Vector {
        let [linear, square, constant] = self.terms(separation, velocity);
        let kinetic = 0.5 * dot(velocity, velocity);
        let factor = linear + square * kinetic + if kinetic > 0.0 { constant / kinetic } else { 0.0 };
        scaled(factor.sqrt(), velocity)
    }

    /// Returns the velocity whose Newtonian one this is.
    pub(super) fn relativistic(&self, separation: Vector, velocity: Vector) -> Vector {
        let [linear, square, constant] = self.terms(separation, velocity);
        let kinetic = 0.5 * dot(velocity, velocity);
        let rest = (kinetic - constant).max(0.0);
        let found = 2.0 * rest / (linear + (linear * linear + 4.0 * square * rest).sqrt());
        scaled((found / kinetic).sqrt(), velocity)
    }

    /// Returns the angle by which the pericentre advances in a unit of time.
    fn advance(&self, orbit: &Ellipse) -> f64 {
        let axis = orbit.semi_major_axis;
        let potential = self.mass / (axis * dot(orbit.momentum, orbit.momentum));
        let motion = (self.mass / axis).sqrt() / axis;
        3.0 * potential * motion / (self.speed_of_light * self.speed_of_light)
    }

    /// Returns how fast the logarithm of the semi-major axis, and the eccentricity, change.
    fn decay(&self, axis: f64, e: f64) -> [f64; 2] {
        let (square, rest) = (e * e, (1.0 - e) * (1.0 + e));
        let speed = (self.mass / axis).sqrt() / self.speed_of_light;
        // (G M / (a c^2))^(5/2) times the mean motion.
        let motion = (self.mass / axis).sqrt() / axis;
        let factor = self.eta * speed.powi(5) * motion / (rest * rest * rest.sqrt());
        let of_axis = (1.0 + square * (73.0 / 24.0 + square * (37.0 / 96.0))) / rest;
        [-64.0 / 5.0 * factor * of_axis, -304.0 / 15.0 * factor * e * (1.0 + 121.0 / 304.0 * square)]
    }

    /// Moves an orbit over a time in a tide, as long as it is not strong. Returns how much of it has passed.
    pub(super) fn pass(&self, orbit: &mut Ellipse, time: f64, tide: &impl Fn(f64) -> Tensor) -> f64 {
        let mut passed = 0.0;
        while passed < time {
            if self.is_strong(orbit.semi_major_axis * dot(orbit.momentum, orbit.momentum)) {
                return passed;
            }
            let step = self.step(orbit, time, &|part| tide((passed + part * (time - passed)) / time));
            let is_last = step >= time - passed;
            let step = if is_last { time - passed } else { step };
            self.act(orbit, 0.5 * step);
            orbit.turn(self.mass, step, &|part| tide((passed + part * step) / time));
            self.act(orbit, 0.5 * step);
            passed = if is_last { time } else { passed + step };
        }
        time
    }

    /// Returns how long relativity and the tide may act by turns.
    fn step(&self, orbit: &Ellipse, time: f64, tide: &impl Fn(f64) -> Tensor) -> f64 {
        let e = norm(orbit.eccentricity);
        let [of_axis, of_e] = self.decay(orbit.semi_major_axis, e);
        let fastest = of_axis.abs().max(of_e.abs() / (1.0 - e));
        // The error of such turns is a twenty-fourth of the product of the tide's turn and the square of
        // the advance, and adds up.
        let (advance, turn) = (self.advance(orbit) * time, orbit.largest_turn(self.mass, time, tide));
        let count = (advance * (turn / (24.0 * SPLITTING)).sqrt()).min(MOST_STEPS);
        (0.5 * LARGEST_TURN / fastest).min(time / count)
    }

    /// Lets relativity act alone for a time.
    fn act(&self, orbit: &mut Ellipse, time: f64) {
        let (axis, e) = (orbit.semi_major_axis, norm(orbit.eccentricity));
        let rates = |by: [f64; 2]| self.decay(axis * by[0].exp(), e + by[1]).map(|rate| time * rate);
        let part = |rate: [f64; 2], part: f64| rate.map(|rate| part * rate);
        let first = rates([0.0; 2]);
        let second = rates(part(first, 0.5));
        let third = rates(part(second, 0.5));
        let fourth = rates(third);
        let [of_axis, of_e] =
            [0, 1].map(|place| (first[place] + 2.0 * (second[place] + third[place]) + fourth[place]) / 6.0);
        let angle = self.advance(orbit) * time;
        let (sine, cosine) = angle.sin_cos();
        let (new, rest) = (e + of_e, (1.0 - (e + of_e)) * (1.0 + (e + of_e)));
        let momentum = norm(orbit.momentum);
        let across = scaled(sine / momentum, cross(orbit.momentum, orbit.eccentricity));
        let turned = sum(scaled(cosine, orbit.eccentricity), across);
        orbit.eccentricity = scaled(new / e, turned);
        orbit.momentum = scaled(rest.sqrt() / momentum, orbit.momentum);
        orbit.semi_major_axis = axis * of_axis.exp();
        orbit.tidy();
    }
}
