//! What a subsystem does to bodies around it beyond the mass at its centre, with the derivatives that
//! forces have: a hard binary by its quadrupole, averaged over the orbit, others by each member.
//!
//! The potential of two bodies at `-m2 x / m` and `m1 x / m` from their centre, of a reduced mass `u`, is
//! at a place `d` from it `-G u (3 (d.x)^2 / |d|^5 - x^2 / |d|^3) / 2` beyond that of their mass.

use kyoho_core::{Result, memory};
use kyoho_few_body::System as FewBodies;
use kyoho_few_body::averaged::Tensor;

use crate::body::{Vector, vector};
use crate::hermite::scheme::MOST;

/// The derivatives of a number by the time, divided by their factorials.
#[derive(Debug, Clone, Copy)]
struct Series<const TERMS: usize>([f64; TERMS]);

impl<const TERMS: usize> Series<TERMS> {
    fn times(self, other: Self) -> Self {
        let mut product = [0.0; TERMS];
        for one in 0..TERMS {
            for two in 0..TERMS - one {
                product[one + two] += self.0[one] * other.0[two];
            }
        }
        Series(product)
    }

    fn plus(self, other: Self) -> Self {
        Series(std::array::from_fn(|term| self.0[term] + other.0[term]))
    }

    fn scaled(self, factor: f64) -> Self {
        Series(self.0.map(|term| factor * term))
    }

    fn plus_number(mut self, number: f64) -> Self {
        self.0[0] += number;
        self
    }

    /// Returns a power of a number, whose own power and inverse are given.
    fn power(self, exponent: f64, (value, inverse): (f64, f64)) -> Self {
        let x = self.0;
        let mut power = [0.0; TERMS];
        power[0] = value;
        for term in 1..TERMS {
            // x y' = p x' y, term by term.
            let sum: f64 = (1..=term).map(|k| (exponent * k as f64 - (term - k) as f64) * x[k] * power[term - k]).sum();
            power[term] = sum * inverse / term as f64;
        }
        Series(power)
    }
}

const FACTORIALS: [f64; MOST] = [1.0, 1.0, 2.0, 6.0];

/// The separation of two bodies.
struct Separation<const TERMS: usize>([Series<TERMS>; 3]);

impl<const TERMS: usize> Separation<TERMS> {
    fn of(from: &[Vector; MOST]) -> Self {
        let component = |k: usize| Series(std::array::from_fn(|term| from[term][k] / FACTORIALS[term]));
        Separation(std::array::from_fn(component))
    }

    fn dot(&self, other: &Self) -> Series<TERMS> {
        let [x, y, z] = std::array::from_fn(|k| self.0[k].times(other.0[k]));
        x.plus(y).plus(z)
    }

    /// Returns the derivatives that these components stand for, and zeros behind them.
    fn derivatives(components: [Series<TERMS>; 3]) -> [Vector; MOST] {
        let of =
            |term: usize| if term < TERMS { vector(|k| FACTORIALS[term] * components[k].0[term]) } else { [0.0; 3] };
        std::array::from_fn(of)
    }
}

/// Returns the derivatives of the velocity that a binary's quadrupole gives a body, the first ones of so
/// many terms. `products` are the mean products of the components of the separation, `mass` the reduced
/// mass times the gravitational constant, and `from` has position, velocity, acceleration and jerk from
/// the centre.
pub fn quadrupole(terms: usize, products: &Tensor, mass: f64, from: &[Vector; MOST]) -> [Vector; MOST] {
    match terms {
        2 => quadrupole_of::<2>(products, mass, from),
        3 => quadrupole_of::<3>(products, mass, from),
        _ => quadrupole_of::<4>(products, mass, from),
    }
}

fn quadrupole_of<const TERMS: usize>(products: &Tensor, mass: f64, from: &[Vector; MOST]) -> [Vector; MOST] {
    let d = Separation::<TERMS>::of(from);
    let [xx, yy, zz, xy, xz, yz] = *products;
    let row = |x: f64, y: f64, z: f64| d.0[0].scaled(x).plus(d.0[1].scaled(y)).plus(d.0[2].scaled(z));
    let applied = Separation([row(xx, xy, xz), row(xy, yy, yz), row(xz, yz, zz)]);
    let square = d.dot(&d);
    let inverse = 1.0 / square.0[0];
    let fifth = square.power(-2.5, (inverse * inverse * inverse.sqrt(), inverse)).scaled(0.5 * mass);
    let along = d.dot(&applied).times(square.power(-1.0, (inverse, inverse))).scaled(-15.0);
    let radial = along.plus_number(3.0 * (xx + yy + zz));
    let component = |k: usize| applied.0[k].scaled(6.0).plus(radial.times(d.0[k])).times(fifth);
    Separation::derivatives(std::array::from_fn(component))
}

/// Returns the derivatives of the velocity that a mass, times the gravitational constant, gives a body.
/// `from` has position, velocity, acceleration and jerk of the body from it.
pub fn pull(terms: usize, mass: f64, from: &[Vector; MOST]) -> [Vector; MOST] {
    match terms {
        2 => pull_of::<2>(mass, from),
        3 => pull_of::<3>(mass, from),
        _ => pull_of::<4>(mass, from),
    }
}

fn pull_of<const TERMS: usize>(mass: f64, from: &[Vector; MOST]) -> [Vector; MOST] {
    let d = Separation::<TERMS>::of(from);
    let square = d.dot(&d);
    let inverse = 1.0 / square.0[0];
    let factor = square.power(-1.5, (inverse * inverse.sqrt(), inverse)).scaled(-mass);
    Separation::derivatives(d.0.map(|component| component.times(factor)))
}

/// Returns the masses of members times the gravitational constant, and their motion around their centre:
/// their positions and velocities, and the accelerations and jerks that they give each other.
pub fn inner_motion(gravity: f64, inner: &FewBodies) -> Result<Vec<(f64, [Vector; MOST])>> {
    let count = inner.masses.len();
    let mut motion = memory::room(count, "the members of a subsystem")?;
    for one in 0..count {
        let mut all = [inner.positions[one], inner.velocities[one], [0.0; 3], [0.0; 3]];
        for other in (0..count).filter(|other| *other != one) {
            let from = |rows: &[Vector]| vector(|k| rows[one][k] - rows[other][k]);
            let between = [from(&inner.positions), from(&inner.velocities), [0.0; 3], [0.0; 3]];
            let pulls = pull(2, gravity * inner.masses[other], &between);
            for term in 0..2 {
                all[2 + term] = vector(|k| all[2 + term][k] + pulls[term][k]);
            }
        }
        motion.push((gravity * inner.masses[one], all));
    }
    Ok(motion)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bodies_far_away_pull_as_their_mass_and_quadrupole() {
        let x = [0.02, -0.01, 0.03];
        let products = [x[0] * x[0], x[1] * x[1], x[2] * x[2], x[0] * x[1], x[0] * x[2], x[1] * x[2]];
        // Equal masses have no octupole.
        let (masses, parts) = ([0.5, 0.5], [-0.5, 0.5]);
        let path = |t: f64| [1.0 + 0.3 * t, -0.7 + 0.2 * t * t, 0.5 - 0.1 * t + 0.4 * t * t * t];
        let pull = |d: [f64; 3], mass: f64, at: f64| -> [f64; 3] {
            let from: [f64; 3] = std::array::from_fn(|k| at * x[k] - d[k]);
            let distance = from.iter().map(|v| v * v).sum::<f64>().sqrt();
            from.map(|v| mass * v / distance.powi(3))
        };
        let beyond = |t: f64| -> [f64; 3] {
            let d = path(t);
            let [one, other, all] = [pull(d, masses[0], parts[0]), pull(d, masses[1], parts[1]), pull(d, 1.0, 0.0)];
            std::array::from_fn(|k| one[k] + other[k] - all[k])
        };
        let from = [path(0.0), [0.3, 0.0, -0.1], [0.0, 0.4, 0.0], [0.0, 0.0, 2.4]];
        let found = quadrupole(MOST, &products, 0.25, &from);
        let h = 1e-2;
        for k in 0..3 {
            let [before, now, after] = [-h, 0.0, h].map(|t| beyond(t)[k]);
            let size = found[0].iter().map(|v| v * v).sum::<f64>().sqrt();
            assert!((found[0][k] - now).abs() < 3e-3 * size, "{k}: {:?} {now:e}", found[0]);
            assert!((found[1][k] - (after - before) / (2.0 * h)).abs() < 1e-2 * size);
            assert!((found[2][k] - (after - 2.0 * now + before) / (h * h)).abs() < 3e-2 * size);
        }
    }
}
