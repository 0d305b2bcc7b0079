//! Two bodies whose orbit others change slowly: the motion averaged over the orbit.
//!
//! The tide of others is a tensor `T`: it adds the relative acceleration `T x`. Averaged over an orbit
//! it leaves the semi-major axis `a` as it is, and turns and stretches the orbit as S. Tremaine,
//! J. Touma and F. Namouni, AJ 137 (2009) 3706, write it with the vectors of the eccentricity, `e`, and
//! of the angular momentum, `j`, whose length is that of a circular orbit divided out. The energy that
//! a tide adds and takes within an orbit is kept to first order: the energy of an orbit and that in the
//! tide have a constant sum. Relativity turns the orbit in its plane and makes it narrow
//! ([`Relativity`]).

mod relativity;

use crate::vector::{Vector, ZERO, add_scaled, cross, difference, dot, norm, scaled, sum};

/// A symmetric tensor: xx, yy, zz, xy, xz, yz.
pub type Tensor = [f64; 6];

pub use relativity::Relativity;

/// Returns the product of a tensor and a vector.
pub fn applied(tensor: &Tensor, [x, y, z]: Vector) -> Vector {
    let [xx, yy, zz, xy, xz, yz] = *tensor;
    [xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z]
}

/// The largest turn of an orbit in one step of the averaged motion, in radians.
const LARGEST_TURN: f64 = 0.02;
/// The most steps of the averaged motion.
const MOST_STEPS: f64 = 1e5;
/// Turns after which the semi-major axis and the energy in the tide agree to second order and more.
const CORRECTIONS: usize = 3;
/// Turns of Newton's method and bisection for Kepler's equation.
const TURNS: usize = 100;

/// The shape and the place of a bound orbit.
#[derive(Debug, Clone, Copy)]
struct Ellipse {
    eccentricity: Vector,
    momentum: Vector,
    semi_major_axis: f64,
    /// The mean anomaly.
    anomaly: f64,
}

/// Returns how large a tide is beside the pull of two bound bodies at their apocentre.
pub fn strength(mass: f64, separation: Vector, velocity: Vector, tide: &Tensor) -> f64 {
    let apocentre = crate::kepler::orbit(mass, separation, velocity).apocentre();
    let largest = tide.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    largest * apocentre * apocentre * apocentre / mass
}

/// Returns the mean over an orbit of the products of the separation's components, for the tide of the
/// two bodies on others.
pub fn mean_products(mass: f64, separation: Vector, velocity: Vector) -> Tensor {
    let Ellipse { eccentricity, momentum, semi_major_axis, .. } = Ellipse::of(mass, separation, velocity);
    let rest = 1.0 - dot(eccentricity, eccentricity);
    let product = |one: usize, other: usize| {
        let diagonal = if one == other { rest } else { 0.0 };
        let turned = 5.0 * eccentricity[one] * eccentricity[other] - momentum[one] * momentum[other];
        0.5 * semi_major_axis * semi_major_axis * (turned + diagonal)
    };
    [product(0, 0), product(1, 1), product(2, 2), product(0, 1), product(0, 2), product(1, 2)]
}

/// Moves two bound bodies over a time much longer than their period, in a tide much weaker than their
/// pull, which `tide` returns for each part of the time from 0 to 1. `mass` is the gravitational
/// constant times the sum of the masses. Returns separation and velocity, and how much of the time has
/// passed: less than all where relativity has become strong.
pub fn advance(
    mass: f64,
    (separation, velocity): (Vector, Vector),
    time: f64,
    tide: impl Fn(f64) -> Tensor,
    relativity: Option<&Relativity>,
) -> ((Vector, Vector), f64) {
    let velocity = relativity.map_or(velocity, |terms| terms.newtonian(separation, velocity));
    let mut ellipse = Ellipse::of(mass, separation, velocity);
    let before = tide(0.0);
    // The energy without what the tide adds and takes within an orbit.
    let osculating = -0.5 * mass / ellipse.semi_major_axis;
    for _ in 0..CORRECTIONS {
        let mean = osculating + ellipse.tidal_energy(&before, separation);
        ellipse.semi_major_axis = -0.5 * mass / mean;
    }
    let passed = match relativity {
        Some(terms) => terms.pass(&mut ellipse, time, &tide),
        None => {
            ellipse.turn(mass, time, &tide);
            time
        }
    };
    let motion = (mass / ellipse.semi_major_axis.powi(3)).sqrt();
    ellipse.anomaly += std::f64::consts::TAU * (motion * passed / std::f64::consts::TAU).fract();
    let (axis, after) = (ellipse.semi_major_axis, tide(passed / time));
    let mean = -0.5 * mass / axis;
    for _ in 0..CORRECTIONS {
        let (there, _) = ellipse.state(mass);
        let in_tide = Ellipse { semi_major_axis: axis, ..ellipse }.tidal_energy(&after, there);
        ellipse.semi_major_axis = -0.5 * mass / (mean - in_tide);
    }
    let (separation, velocity) = ellipse.state(mass);
    ((separation, relativity.map_or(velocity, |terms| terms.relativistic(separation, velocity))), passed)
}

impl Ellipse {
    fn of(mass: f64, separation: Vector, velocity: Vector) -> Ellipse {
        let distance = norm(separation);
        let semi_major_axis = -0.5 * mass / crate::kepler::energy(mass, separation, velocity);
        let circular = (mass * semi_major_axis).sqrt();
        let momentum = scaled(1.0 / circular, cross(separation, velocity));
        // e sin E and e cos E.
        let sine = dot(separation, velocity) / circular;
        let cosine = 1.0 - distance / semi_major_axis;
        let e = sine.hypot(cosine);
        // The angle of a circular orbit is counted from where the bodies are.
        let (e, [sine, cosine]) = if e < CIRCULAR { (CIRCULAR, [0.0, 1.0]) } else { (e, [sine / e, cosine / e]) };
        let towards = scaled(cosine / distance, separation);
        let along = difference(towards, scaled(sine * (semi_major_axis / mass).sqrt(), velocity));
        let eccentricity = scaled(e / norm(along), along);
        let anomaly = sine.atan2(cosine) - e * sine;
        let mut ellipse = Ellipse { eccentricity, momentum, semi_major_axis, anomaly };
        ellipse.tidy();
        ellipse
    }

    /// Makes the two vectors normal to one another, and the sum of their squares 1.
    fn tidy(&mut self) {
        let along = dot(self.eccentricity, self.momentum) / dot(self.momentum, self.momentum).max(f64::MIN_POSITIVE);
        add_scaled(&mut self.eccentricity, -along, self.momentum);
        let size = (dot(self.eccentricity, self.eccentricity) + dot(self.momentum, self.momentum)).sqrt();
        self.eccentricity = scaled(1.0 / size, self.eccentricity);
        self.momentum = scaled(1.0 / size, self.momentum);
    }

    /// Returns the energy of a separation in a tide without its mean over the orbit, for a reduced mass
    /// of 1.
    fn tidal_energy(&self, tide: &Tensor, separation: Vector) -> f64 {
        let Ellipse { eccentricity, momentum, semi_major_axis, .. } = *self;
        let of = |vector: Vector| dot(vector, applied(tide, vector));
        let trace = tide[0] + tide[1] + tide[2];
        let mean = 5.0 * of(eccentricity) - of(momentum) + (1.0 - dot(eccentricity, eccentricity)) * trace;
        -0.5 * of(separation) + 0.25 * semi_major_axis * semi_major_axis * mean
    }

    /// Returns how fast a tide turns the two vectors, in a time.
    fn rates(&self, mass: f64, time: f64, tensor: &Tensor, [e, j]: [Vector; 2]) -> [Vector; 2] {
        let factor = 0.5 * self.semi_major_axis * (self.semi_major_axis / mass).sqrt() * time;
        let trace = tensor[0] + tensor[1] + tensor[2];
        let (of_e, of_j) = (applied(tensor, e), applied(tensor, j));
        let by_e = difference(scaled(5.0, of_e), scaled(trace, e));
        let of = |plus: [Vector; 2], minus: [Vector; 2]| {
            scaled(factor, difference(cross(plus[0], plus[1]), cross(minus[0], minus[1])))
        };
        [of([j, by_e], [e, of_j]), of([e, by_e], [j, of_j])]
    }

    /// Returns the largest turn by a tide in a time.
    fn largest_turn(&self, mass: f64, time: f64, tide: &impl Fn(f64) -> Tensor) -> f64 {
        let here = [self.eccentricity, self.momentum];
        let largest = [0.0, 0.5, 1.0].map(|part| self.rates(mass, time, &tide(part), here).map(norm));
        largest.as_flattened().iter().fold(0.0f64, |turn, rate| turn.max(*rate))
    }

    /// Turns the orbit as a tide does over a time.
    fn turn(&mut self, mass: f64, time: f64, tide: &impl Fn(f64) -> Tensor) {
        let orbit = *self;
        let rates = |vectors: [Vector; 2], part: f64| orbit.rates(mass, time, &tide(part), vectors);
        let turn = self.largest_turn(mass, time, tide);
        let steps = (turn / LARGEST_TURN).ceil().clamp(1.0, MOST_STEPS);
        for step in 0..steps as usize {
            let at = |part: f64| (step as f64 + part) / steps;
            let start = [self.eccentricity, self.momentum];
            let moved =
                |rate: [Vector; 2], part: f64| [0, 1].map(|which| sum(start[which], scaled(part / steps, rate[which])));
            let first = rates(start, at(0.0));
            let second = rates(moved(first, 0.5), at(0.5));
            let third = rates(moved(second, 0.5), at(0.5));
            let fourth = rates(moved(third, 1.0), at(1.0));
            let change = |which: usize| {
                let mut change = ZERO;
                for (weight, rate) in [1.0, 2.0, 2.0, 1.0].into_iter().zip([&first, &second, &third, &fourth]) {
                    add_scaled(&mut change, weight / (6.0 * steps), rate[which]);
                }
                change
            };
            let changes = [change(0), change(1)];
            self.eccentricity = sum(self.eccentricity, changes[0]);
            self.momentum = sum(self.momentum, changes[1]);
            self.tidy();
        }
    }

    /// Returns separation and velocity.
    fn state(&self, mass: f64) -> (Vector, Vector) {
        let Ellipse { eccentricity: vector, momentum, semi_major_axis, anomaly } = *self;
        let e = norm(vector);
        let along = scaled(1.0 / e, vector);
        let j = norm(momentum);
        let across = if j > 0.0 { scaled(1.0 / j, cross(momentum, along)) } else { ZERO };
        let eccentric = kepler_equation(e, anomaly);
        let (sine, cosine) = eccentric.sin_cos();
        let place = [semi_major_axis * (cosine - e), semi_major_axis * j * sine];
        let rate = (mass / semi_major_axis).sqrt() / (1.0 - e * cosine);
        let speed = [-rate * sine, rate * j * cosine];
        let combined = |[one, other]: [f64; 2]| sum(scaled(one, along), scaled(other, across));
        (combined(place), combined(speed))
    }
}

/// An orbit whose eccentricity is below this counts as circular, with this eccentricity.
const CIRCULAR: f64 = 1e-12;

/// Solves Kepler's equation, E - e sin E = M.
fn kepler_equation(e: f64, anomaly: f64) -> f64 {
    let mean = libm::remainder(anomaly, std::f64::consts::TAU);
    // The solution lies within e of the mean anomaly.
    let (mut low, mut high) = (mean - e, mean + e);
    let mut eccentric = mean + 0.85 * e * mean.signum();
    for _ in 0..TURNS {
        let excess = eccentric - e * eccentric.sin() - mean;
        if excess > 0.0 {
            high = eccentric
        } else {
            low = eccentric
        }
        let newton = eccentric - excess / (1.0 - e * eccentric.cos());
        let next = if newton >= low && newton <= high { newton } else { 0.5 * (low + high) };
        if excess == 0.0 || next == eccentric {
            break;
        }
        eccentric = next;
    }
    eccentric
}

#[cfg(test)]
mod tests;
