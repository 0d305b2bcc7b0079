//! King models (King 1966, Astronomical Journal 71, 64).

use crate::Star;
use crate::isolated::{Isolated, VIRIAL};
use crate::random::Random;
use kyoho_core::{Error, Result};
use kyoho_language::field::king::King;

/// A model in standard N-body units.
pub struct Standard {
    king: King,
    /// King's radius, which makes the mean potential energy -1/2.
    scale: f64,
}

/// The parts of the mass by which the potential energy is added up.
const PARTS: u32 = 4096;

impl Standard {
    /// Returns the model of a central potential in squares of the dispersion.
    pub fn new(w0: f64) -> Result<Standard> {
        let king = King::new(w0).map_err(|error| match error {
            Error::BadOption { value, allowed, .. } => {
                Error::BadOption { name: "the parameter 'w0' of the model 'king'".into(), value, allowed }
            }
            other => other,
        })?;
        // The potential energy is minus the integral of m / r over the mass m.
        let middles = (0..PARTS).map(|part| (f64::from(part) + 0.5) / f64::from(PARTS));
        let sum = middles.map(|within| within / radius(&king, within)).sum::<f64>();
        Ok(Standard { king, scale: 2.0 * sum / f64::from(PARTS) })
    }

    /// Draws a body.
    pub fn draw(&self, random: &mut Random) -> Star {
        let radius = radius(&self.king, random.uniform());
        let position = random.direction();
        let speed = speed(self.king.depth(radius).max(0.0), random);
        let velocity = random.direction();
        // The square of the dispersion is the mass over that of the model and over King's radius.
        let dispersion = (self.king.mass * self.scale).sqrt().recip();
        Star {
            position: position.map(|component| self.scale * radius * component),
            velocity: velocity.map(|component| dispersion * speed * component),
        }
    }

    /// Returns the model whose bodies are drawn by a function that calls [`Standard::draw`].
    pub fn isolated(draw: &(dyn Fn(&mut Random) -> Star + Sync)) -> Isolated<'_> {
        Isolated {
            title: "King model",
            name: "king",
            bodies: "the bodies of the King model",
            state: "virial equilibrium",
            draw,
            energy: VIRIAL,
        }
    }
}

/// Returns the radius within which there is a part of the mass.
fn radius(king: &King, within: f64) -> f64 {
    let (mut low, mut high) = (0.0, king.edge);
    for _ in 0..48 {
        let middle = 0.5 * (low + high);
        if king.within(middle) < within { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Draws a speed in dispersions at a depth: its square over twice the depth is `s`, of which the density
/// is `sqrt(s) (e^(depth (1 - s)) - 1)`, so that of its root `t` is `t^2` times that.
fn speed(depth: f64, random: &mut Random) -> f64 {
    let density = |t: f64| t * t * (depth * (1.0 - t * t)).exp_m1();
    // The density is largest where 1 - e^-y = depth - y, with y = depth (1 - t^2).
    let (mut low, mut high) = (0.0, depth);
    for _ in 0..48 {
        let y = 0.5 * (low + high);
        if -(-y).exp_m1() + y < depth { low = y } else { high = y }
    }
    let highest = density((1.0 - low / depth).max(0.0).sqrt()) * (1.0 + 1e-12);
    loop {
        let t = random.uniform();
        if random.uniform() * highest <= density(t) {
            return t * (2.0 * depth).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use kyoho_core::{Order, Precision};
    use kyoho_engine::{Setup, System};
    use kyoho_integrators::body::length;
    use kyoho_integrators::cluster::{Change, Choices, Cluster};

    use super::*;

    fn stars(standard: &Standard, n: usize) -> Vec<Star> {
        let draw = |random: &mut Random| standard.draw(random);
        Standard::isolated(&draw).stars(n, &mut Random(5), &mut |_| ()).unwrap()
    }

    /// Returns the radii that hold a quarter, a half and three quarters of some bodies.
    fn radii(positions: impl Iterator<Item = [f64; 3]>) -> [f64; 3] {
        let mut all: Vec<f64> = positions.map(|position| length(&position)).collect();
        all.sort_by(f64::total_cmp);
        [1, 2, 3].map(|quarter| all[all.len() * quarter / 4])
    }

    #[test]
    fn masses_and_speeds_are_those_of_the_formulas() {
        for w0 in [1.0, 6.0, 11.0] {
            let standard = Standard::new(w0).unwrap();
            let n = 10_000;
            let stars = stars(&standard, n);
            for within in [0.1, 0.5, 0.9] {
                let edge = radius(&standard.king, within) * standard.scale;
                let count = stars.iter().filter(|star| length(&star.position) < edge).count();
                let deviation = 3.5 * (within * (1.0 - within) * n as f64).sqrt();
                assert!((count as f64 - within * n as f64).abs() < deviation, "{w0} {within}: {count}");
                // The mean square of speeds, by integrals over t.
                let depth = standard.king.depth(edge / standard.scale);
                let integral = |power: i32| -> f64 {
                    let parts = (0..4000).map(|part| (f64::from(part) + 0.5) / 4000.0);
                    parts.map(|t: f64| t.powi(power) * (depth * (1.0 - t * t)).exp_m1()).sum()
                };
                let expected = 2.0 * depth * integral(4) / integral(2) / (standard.king.mass * standard.scale);
                let near = stars.iter().filter(|star| (length(&star.position) / edge - 1.0).abs() < 0.03);
                let shell: Vec<f64> = near.map(|star| length(&star.velocity).powi(2)).collect();
                let mean = shell.iter().sum::<f64>() / shell.len() as f64;
                let deviation = 4.0 / (shell.len() as f64).sqrt();
                assert!((mean / expected - 1.0).abs() < deviation, "{w0} {within}: {mean} {expected} {}", shell.len());
            }
        }
        let error = Standard::new(20.0).err().unwrap().to_string();
        assert!(error.contains("the parameter 'w0' of the model 'king' is '20'; allowed: 0.1 to 12"), "{error}");
    }

    #[test]
    fn radii_stay_for_two_crossing_times_in_the_models_own_field() {
        for w0 in [3.0, 8.0] {
            let standard = Standard::new(w0).unwrap();
            let stars = stars(&standard, 2000);
            let system = System::new(&Setup::on_cpu(Order::Second, Precision::Double)).unwrap();
            let mut cluster = Cluster::new(system, Choices { dt_max: 1.0 / 32.0, ..Choices::default() }).unwrap();
            let bodies: Vec<(i64, Change)> = (0..)
                .zip(&stars)
                .map(|(number, star)| {
                    let (position, velocity) = (Some(star.position), Some(star.velocity));
                    (number, Change { mass: Some(0.0), position, velocity, ..Change::default() })
                })
                .collect();
            cluster.add(&bodies).unwrap();
            let field = [("w0", &[w0][..]), ("mass", &[1.0]), ("radius", &[standard.scale])];
            cluster.add_field("king", &field).unwrap();
            let before = radii(stars.iter().map(|star| star.position));
            cluster.evolve(4.0 * 2f64.sqrt(), None, &mut |_, _| true).unwrap();
            let after = radii(cluster.bodies().iter().map(|body| body.position));
            for (before, after) in before.iter().zip(after) {
                assert!((after / before - 1.0).abs() < 0.08, "{w0}: {before} {after}");
            }
        }
    }
}
