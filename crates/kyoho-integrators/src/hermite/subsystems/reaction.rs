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
#[derive(Debug, Clone, Copy, Default)]
struct Series([f64; MOST]);

impl Series {
    fn times(self, other: Series) -> Series {
        let mut product = [0.0; MOST];
        for one in 0..MOST {
            for two in 0..MOST - one {
                product[one + two] += self.0[one] * other.0[two];
            }
        }
        Series(product)
    }

    fn plus(self, other: Series) -> Series {
        Series(std::array::from_fn(|term| self.0[term] + other.0[term]))
    }

    fn scaled(self, factor: f64) -> Series {
        Series(self.0.map(|term| factor * term))
    }

    /// Returns a power of a positive number.
    fn power(self, exponent: f64) -> Series {
        let x = self.0;
        let mut power = [0.0; MOST];
        power[0] = x[0].powf(exponent);
        for term in 1..MOST {
            // x y' = p x' y, term by term.
            let sum: f64 = (1..=term).map(|k| (exponent * k as f64 - (term - k) as f64) * x[k] * power[term - k]).sum();
            power[term] = sum / (term as f64 * x[0]);
        }
        Series(power)
    }
}

const FACTORIALS: [f64; MOST] = [1.0, 1.0, 2.0, 6.0];

/// Returns the derivatives of the velocity that a binary's quadrupole gives a body. `products` are the
/// mean products of the components of the separation, `mass` the reduced mass times the gravitational
/// constant, and `from` has position, velocity, acceleration and jerk from the centre.
pub fn quadrupole(products: &Tensor, mass: f64, from: [Vector; MOST]) -> [Vector; MOST] {
    let d: [Series; 3] = std::array::from_fn(|k| Series(std::array::from_fn(|term| from[term][k] / FACTORIALS[term])));
    let dot = |one: &[Series; 3], two: &[Series; 3]| {
        one[0].times(two[0]).plus(one[1].times(two[1])).plus(one[2].times(two[2]))
    };
    let [xx, yy, zz, xy, xz, yz] = *products;
    let row = |x: f64, y: f64, z: f64| d[0].scaled(x).plus(d[1].scaled(y)).plus(d[2].scaled(z));
    let applied = [row(xx, xy, xz), row(xy, yy, yz), row(xz, yz, zz)];
    let square = dot(&d, &d);
    let fifth = square.power(-2.5).scaled(0.5 * mass);
    let along = dot(&d, &applied).times(square.power(-1.0)).scaled(-15.0);
    let radial = along.plus(Series([3.0 * (xx + yy + zz), 0.0, 0.0, 0.0]));
    let found: [Series; 3] = std::array::from_fn(|k| applied[k].scaled(6.0).plus(radial.times(d[k])).times(fifth));
    std::array::from_fn(|term| std::array::from_fn(|k| FACTORIALS[term] * found[k].0[term]))
}

/// Returns the derivatives of the velocity that a mass, times the gravitational constant, gives a body.
/// `from` has position, velocity, acceleration and jerk of the body from it.
pub fn pull(mass: f64, from: [Vector; MOST]) -> [Vector; MOST] {
    let d: [Series; 3] = std::array::from_fn(|k| Series(std::array::from_fn(|term| from[term][k] / FACTORIALS[term])));
    let square = d[0].times(d[0]).plus(d[1].times(d[1])).plus(d[2].times(d[2]));
    let factor = square.power(-1.5).scaled(-mass);
    let found = d.map(|component| component.times(factor));
    std::array::from_fn(|term| std::array::from_fn(|k| FACTORIALS[term] * found[k].0[term]))
}

/// Returns the motion of members around their centre: their positions and velocities, and the
/// accelerations and jerks that they give each other.
pub fn inner_motion(gravity: f64, inner: &FewBodies) -> Result<Vec<[Vector; MOST]>> {
    let count = inner.masses.len();
    let mut motion = memory::room(count, "the members of a subsystem")?;
    for one in 0..count {
        let mut all = [inner.positions[one], inner.velocities[one], [0.0; 3], [0.0; 3]];
        for other in (0..count).filter(|other| *other != one) {
            let from = |rows: &[Vector]| vector(|k| rows[one][k] - rows[other][k]);
            let between = [from(&inner.positions), from(&inner.velocities), [0.0; 3], [0.0; 3]];
            let pulls = pull(gravity * inner.masses[other], between);
            for term in 0..2 {
                all[2 + term] = vector(|k| all[2 + term][k] + pulls[term][k]);
            }
        }
        motion.push(all);
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
        let found = quadrupole(&products, 0.25, from);
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
