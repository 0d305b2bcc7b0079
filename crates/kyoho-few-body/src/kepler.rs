//! Two bodies alone: Kepler's problem in universal variables, for every kind of orbit.

use crate::vector::{Vector, cross, difference, dot, norm, scaled, sum};

/// The most turns of the search for the anomaly; bisection alone needs about a thousand.
const MOST_TURNS: usize = 1200;

/// The shape of an orbit of two bodies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Orbit {
    /// The semi-major axis, negative for a hyperbola and infinite for a parabola.
    pub semi_major_axis: f64,
    /// The eccentricity.
    pub eccentricity: f64,
    /// The period, infinite where the bodies are not bound.
    pub period: f64,
    /// The distance at the closest approach.
    pub pericentre: f64,
}

impl Orbit {
    /// Returns the largest distance of two bodies that are bound.
    pub fn apocentre(&self) -> f64 {
        self.semi_major_axis * (1.0 + self.eccentricity)
    }
}

/// Returns the energy of the relative motion for a reduced mass of 1: half the square of the speed less
/// the potential. `mass` is the gravitational constant times the sum of the masses.
pub fn energy(mass: f64, separation: Vector, velocity: Vector) -> f64 {
    0.5 * dot(velocity, velocity) - mass / norm(separation)
}

/// Returns the orbit of a separation and a relative velocity.
pub fn orbit(mass: f64, separation: Vector, velocity: Vector) -> Orbit {
    let distance = norm(separation);
    let energy = energy(mass, separation, velocity);
    let momentum = cross(separation, velocity);
    // e = v x h / mu - r / |r|
    let eccentricity =
        norm(difference(scaled(1.0 / mass, cross(velocity, momentum)), scaled(1.0 / distance, separation)));
    let semi_major_axis = if energy == 0.0 { f64::INFINITY } else { -0.5 * mass / energy };
    let period = if semi_major_axis > 0.0 {
        std::f64::consts::TAU * semi_major_axis * (semi_major_axis / mass).sqrt()
    } else {
        f64::INFINITY
    };
    let pericentre = dot(momentum, momentum) / (mass * (1.0 + eccentricity));
    Orbit { semi_major_axis, eccentricity, period, pericentre }
}

/// Returns Stumpff's functions c0 to c3 of `x`: c_k(x) is the sum of (-x)^i / (k + 2 i)!.
fn stumpff(x: f64) -> [f64; 4] {
    // Quartered until the series converges, and doubled back: c0(4x) = 2 c0^2 - 1, c1(4x) = c0 c1,
    // c2(4x) = c1^2 / 2, c3(4x) = (c2 + c0 c3) / 4 (J. M. A. Danby, Fundamentals of Celestial
    // Mechanics, 1988, section 6.9).
    if !x.is_finite() {
        return [f64::NAN; 4];
    }
    let mut small = x;
    let mut quarterings = 0;
    while small.abs() > 0.1 {
        small *= 0.25;
        quarterings += 1;
    }
    let (mut c2, mut c3) = (0.0, 0.0);
    for term in (0..8).rev() {
        let k = f64::from(2 * term);
        c2 = (1.0 - small * c2) / ((k + 1.0) * (k + 2.0));
        c3 = (1.0 - small * c3) / ((k + 2.0) * (k + 3.0));
    }
    let (mut c1, mut c0) = (1.0 - small * c3, 1.0 - small * c2);
    for _ in 0..quarterings {
        c3 = (c2 + c0 * c3) / 4.0;
        c2 = c1 * c1 / 2.0;
        c1 *= c0;
        c0 = 2.0 * c0 * c0 - 1.0;
    }
    [c0, c1, c2, c3]
}

/// Returns the separation and the relative velocity after `time`, which may be negative; `None` if the
/// bodies fall on one another, or where numbers go beyond doubles.
pub fn advance(mass: f64, separation: Vector, velocity: Vector, time: f64) -> Option<(Vector, Vector)> {
    if mass == 0.0 {
        return Some((sum(separation, scaled(time, velocity)), velocity));
    }
    let distance = norm(separation);
    let radial = dot(separation, velocity);
    // beta = 2 mu / r - v^2 is positive for ellipses.
    let beta = -2.0 * energy(mass, separation, velocity);
    let mut time = time;
    if beta > 0.0 {
        let period = std::f64::consts::TAU * mass / (beta * beta.sqrt());
        // The rest of the division is exact, and lies between half a period before and after.
        time = libm::remainder(time, period);
    }
    if time == 0.0 {
        return Some((separation, velocity));
    }
    // t(s) = r0 s c1 + (r0 . v0) s^2 c2 + mu s^3 c3, which grows with s: dt/ds = r > 0.
    let at = |s: f64| {
        let [c0, c1, c2, c3] = stumpff(beta * s * s);
        let (g1, g2, g3) = (s * c1, s * s * c2, s * s * s * c3);
        let reached = distance * g1 + radial * g2 + mass * g3;
        let now = distance * c0 + radial * g1 + mass * g2;
        (reached - time, now, g1, g2, g3)
    };
    let sign = time.signum();
    let (mut low, mut high) = (0.0, time.abs() / distance);
    while at(sign * high).0 * sign < 0.0 {
        low = high;
        high *= 2.0;
        if !high.is_finite() {
            return None;
        }
    }
    let mut s = 0.5 * (low + high);
    let mut solution = at(sign * s);
    for _ in 0..MOST_TURNS {
        let excess = solution.0 * sign;
        if excess == 0.0 {
            break;
        }
        if excess > 0.0 {
            high = s;
        } else {
            low = s;
        }
        let newton = s - excess / solution.1;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if next == s || next <= low || next >= high {
            break;
        }
        s = next;
        solution = at(sign * s);
    }
    let (excess, now, g1, g2, g3) = solution;
    // The time that is left is below the rounding of the anomaly.
    let time = time + excess;
    let f = 1.0 - mass * g2 / distance;
    let g = time - mass * g3;
    let f_rate = -mass * g1 / (now * distance);
    let g_rate = 1.0 - mass * g2 / now;
    let place = sum(scaled(f, separation), scaled(g, velocity));
    let speed = sum(scaled(f_rate, separation), scaled(g_rate, velocity));
    (place.iter().chain(&speed).all(|value| value.is_finite())).then_some((place, speed))
}
