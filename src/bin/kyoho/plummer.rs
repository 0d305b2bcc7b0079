//! Plummer models in standard N-body units (Aarseth, Henon & Wielen 1974, Astronomy & Astrophysics 37, 183).

use std::f64::consts::PI;
use std::io::{BufWriter, Write};

use kyoho::{Order, Precision};

use crate::body::{Body, Vector, sum, vector};
use crate::failure::Result;
use crate::machine::Machine;
use crate::run::energy::Energies;

/// The options of `kyoho plummer`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The number of bodies
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1 << 30))]
    n: u32,
    /// Where the sequence of random numbers begins
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    machine: Machine,
}

/// Prints a model.
pub fn run(arguments: &Arguments) -> Result<()> {
    let setup = arguments.machine.settings()?.setup(Order::Second, Precision::Double)?;
    let bodies = standard(arguments.n as usize, arguments.seed, &mut Energies::new(&setup, 1.0, 0.0)?)?;
    let mut output = BufWriter::new(std::io::stdout().lock());
    writeln!(output, "# Plummer model of {} bodies, seed {}, made by `kyoho plummer`.", arguments.n, arguments.seed)?;
    writeln!(output, "# Standard N-body units: G = 1, total mass 1, energy -1/4, virial equilibrium; eps = 0.")?;
    writeln!(output, "# mass x y z vx vy vz")?;
    for body in &bodies {
        let columns: Vec<String> =
            [body.mass].iter().chain(&body.position).chain(&body.velocity).map(f64::to_string).collect();
        writeln!(output, "{}", columns.join(" "))?;
    }
    output.flush()?;
    Ok(())
}

/// A model in standard N-body units: total mass 1, centre of mass at rest in the origin, and, without softening,
/// kinetic energy 1/4 and potential energy -1/2 to rounding, not only on average.
pub fn standard(n: usize, seed: u64, energies: &mut Energies) -> Result<Vec<Body>> {
    let mut bodies = model(n, seed);
    let energy = energies.of(&bodies)?;
    let wider = energy.potential / -0.5;
    let faster = (0.25 / energy.kinetic).sqrt();
    for body in &mut bodies {
        body.position.iter_mut().for_each(|component| *component *= wider);
        body.velocity.iter_mut().for_each(|component| *component *= faster);
    }
    Ok(bodies)
}

/// A model whose energies are those of [`standard`] on average; it takes time of order `n` only.
pub fn model(n: usize, seed: u64) -> Vec<Body> {
    let mut random = Random(seed);
    // The Plummer radius for which the mean energy is -1/4.
    let scale = 3.0 * PI / 16.0;
    let mut bodies: Vec<Body> = (0..n)
        .map(|_| {
            let radius = radius(&mut random);
            let position = random.direction();
            let speed = speed(&mut random, radius);
            let velocity = random.direction();
            Body::new(
                1.0 / n as f64,
                position.map(|component| scale * radius * component),
                velocity.map(|component| speed / scale.sqrt() * component),
            )
        })
        .collect();
    let mean = |of: fn(&Body) -> &Vector| vector(|k| sum(bodies.iter().map(|body| of(body)[k])) / n as f64);
    let (centre, drift) = (mean(|body| &body.position), mean(|body| &body.velocity));
    for body in &mut bodies {
        body.position = vector(|k| body.position[k] - centre[k]);
        body.velocity = vector(|k| body.velocity[k] - drift[k]);
    }
    bodies
}

/// Beyond this many Plummer radii, which one body in 600 is, a radius is drawn again: a few far ones would rule the scale.
const FARTHEST: f64 = 30.0;

/// The radius inside which a random fraction of the mass lies, in Plummer radii.
fn radius(random: &mut Random) -> f64 {
    loop {
        let radius = (random.uniform().powf(-2.0 / 3.0) - 1.0).sqrt().recip();
        if radius < FARTHEST {
            return radius;
        }
    }
}

/// A speed at a radius: a fraction q of the escape speed with density q^2 (1 - q^2)^(7/2), by rejection.
fn speed(random: &mut Random, radius: f64) -> f64 {
    let escape = 2f64.sqrt() * (1.0 + radius * radius).powf(-0.25);
    loop {
        let (fraction, height) = (random.uniform(), 0.1 * random.uniform());
        if height < fraction.powi(2) * (1.0 - fraction.powi(2)).powf(3.5) {
            return fraction * escape;
        }
    }
}

/// The generator SplitMix64 (Steele, Lea & Flood 2014, OOPSLA, 453): the same numbers on every machine.
pub struct Random(pub u64);

impl Random {
    /// A number between 0 and 1, neither of them.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        ((bits >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// A point of the unit sphere.
    fn direction(&mut self) -> Vector {
        let z = 2.0 * self.uniform() - 1.0;
        let (sine, cosine) = (2.0 * PI * self.uniform()).sin_cos();
        let equator = (1.0 - z * z).sqrt();
        [equator * cosine, equator * sine, z]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::length;
    use kyoho::config::Settings;

    fn energies() -> Energies {
        let setup = Settings::from_environment().unwrap().setup(Order::Second, Precision::Double).unwrap();
        Energies::new(&setup, 1.0, 0.0).unwrap()
    }

    #[test]
    fn a_standard_model_is_in_virial_equilibrium_at_rest() {
        let mut energies = energies();
        let bodies = standard(1000, 3, &mut energies).unwrap();
        let energy = energies.of(&bodies).unwrap();
        assert!((energy.kinetic - 0.25).abs() < 1e-14 && (energy.potential + 0.5).abs() < 1e-14, "{energy:?}");
        for k in 0..3 {
            assert!(sum(bodies.iter().map(|body| body.mass * body.position[k])).abs() < 1e-15);
            assert!(sum(bodies.iter().map(|body| body.mass * body.velocity[k])).abs() < 1e-15);
        }
    }

    #[test]
    fn half_of_the_mass_lies_within_the_half_mass_radius() {
        let n = 20_000;
        // Of an untruncated model: (2^(2/3) - 1)^(-1/2) Plummer radii of 3 pi / 16.
        let half = (2f64.powf(2.0 / 3.0) - 1.0).powf(-0.5) * 3.0 * PI / 16.0;
        let inside = model(n, 5).iter().filter(|body| length(&body.position) < half).count();
        // Three standard deviations of a binomial count.
        assert!((inside as f64 / n as f64 - 0.5).abs() < 3.0 * (0.25 / n as f64).sqrt(), "{inside}");
    }

    #[test]
    fn a_seed_names_a_model() {
        assert_eq!(model(10, 1), model(10, 1));
        assert_ne!(model(10, 1), model(10, 2));
    }
}
