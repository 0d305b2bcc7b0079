//! Plummer models in standard N-body units (Aarseth, Henon & Wielen 1974, Astronomy & Astrophysics
//! 37, 183).

use std::f64::consts::PI;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};

use indicatif::ProgressBar;
use rayon::prelude::*;

use crate::body::{Body, Vector, length, sum, vector};
use crate::failure::Result;
use crate::machine::Machine;
use crate::progress;
use crate::run::energy::{Energies, Energy};
use kyoho::data::memory::{self, room};
use kyoho::data::{Order, Precision};

/// The options of `kyoho plummer`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The number of bodies
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1 << 30))]
    n: u32,
    /// The seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    machine: Machine,
}

/// The largest number of bodies for which the potential energy of a standard model is the sum over
/// all pairs. With more bodies it is that of shells.
const PAIRS: usize = 1 << 16;

/// A body of a model in which all bodies have the same mass.
struct Star {
    position: Vector,
    velocity: Vector,
}

/// The number of bodies that are drawn or written between two ticks of a progress bar.
const TICK: usize = 1 << 16;

/// Prints a model.
pub fn run(arguments: &Arguments) -> Result<()> {
    let setup = arguments.machine.settings()?.setup(Order::Second, Precision::Double)?;
    let n = arguments.n as usize;
    let stars = standard_stars(n, arguments.seed, &mut Energies::new(&setup, 1.0, 0.0)?)?;
    let mut output = std::io::stdout().lock();
    writeln!(output, "# Plummer model of {n} bodies, seed {}, made by `kyoho plummer`.", arguments.seed)?;
    writeln!(output, "# Standard N-body units: G = 1, total mass 1, energy -1/4, virial equilibrium; eps = 0.")?;
    writeln!(output, "# mass x y z vx vy vz")?;
    let bar = if output.is_terminal() { ProgressBar::hidden() } else { bar("writing  ", n) };
    for part in stars.chunks(TICK) {
        let texts: Vec<String> = part.par_chunks(TICK / 64).map(|stars| lines(stars, n)).collect();
        texts.iter().try_for_each(|text| output.write_all(text.as_bytes()))?;
        bar.inc(part.len() as u64);
    }
    bar.finish_and_clear();
    output.flush()?;
    Ok(())
}

/// Formats some bodies of a model of `n` as lines.
fn lines(stars: &[Star], n: usize) -> String {
    let mut lines = String::new();
    for Star { position: [x, y, z], velocity: [vx, vy, vz] } in stars {
        writeln!(lines, "{} {x} {y} {z} {vx} {vy} {vz}", 1.0 / n as f64).expect("a string takes everything");
    }
    lines
}

/// Makes a progress bar, which is visible for models that take longer than a moment.
fn bar(message: &'static str, n: usize) -> ProgressBar {
    if n < TICK { ProgressBar::hidden() } else { progress::bar(n as u64).with_message(message) }
}

/// Returns a model in standard N-body units, with total mass 1 and centre of mass at rest in the
/// origin. Without softening, its kinetic energy is 1/4 and its potential energy -1/2 up to
/// rounding, not only on average. With more than [`PAIRS`] bodies the potential energy is exact to
/// about one part in the number of bodies, see [`of_shells`].
pub fn standard(n: usize, seed: u64, energies: &mut Energies) -> Result<Vec<Body>> {
    // The memory is allocated first, because an error after the work would waste it.
    let mut bodies = room(n, BODIES)?;
    bodies.extend(standard_stars(n, seed, energies)?.iter().map(|star| body(star, n)));
    Ok(bodies)
}

/// The name of the bodies of a model in errors about memory.
const BODIES: &str = "the bodies of the Plummer model";

fn body(star: &Star, n: usize) -> Body {
    Body::new(1.0 / n as f64, star.position, star.velocity)
}

fn standard_stars(n: usize, seed: u64, energies: &mut Energies) -> Result<Vec<Star>> {
    let mut stars = stars(n, seed)?;
    let energy = if n <= PAIRS {
        centre(&mut stars);
        energies.of(&memory::collected(stars.iter().map(|star| body(star, n)), BODIES)?)?
    } else {
        let potential = of_shells(&stars)?;
        centre(&mut stars);
        let twice = sum(stars.iter().map(|star| 1.0 / n as f64 * length(&star.velocity).powi(2)));
        Energy { kinetic: 0.5 * twice, potential }
    };
    let wider = energy.potential / -0.5;
    let faster = (0.25 / energy.kinetic).sqrt();
    for star in &mut stars {
        star.position.iter_mut().for_each(|component| *component *= wider);
        star.velocity.iter_mut().for_each(|component| *component *= faster);
    }
    Ok(stars)
}

/// Returns the potential energy as if the mass of each body were a shell round the centre.
/// Directions are drawn independently of radii, so this is the mean over all directions. One model
/// differs from it by about one part in `n`.
fn of_shells(stars: &[Star]) -> Result<f64> {
    let mut radii = room(stars.len(), "the radii of the Plummer model")?;
    radii.extend(stars.iter().map(|star| length(&star.position)));
    radii.par_sort_unstable_by(f64::total_cmp);
    let inside = radii.iter().enumerate().map(|(inside, radius)| inside as f64 / radius);
    Ok(-sum(inside) / (stars.len() as f64).powi(2))
}

/// Returns a model whose energies are those of [`standard`] on average.
pub fn model(n: usize, seed: u64) -> Result<Vec<Body>> {
    let mut stars = stars(n, seed)?;
    centre(&mut stars);
    Ok(stars.iter().map(|star| body(star, n)).collect())
}

/// Draws the bodies of a model. Their centre of mass is in the origin only on average.
fn stars(n: usize, seed: u64) -> Result<Vec<Star>> {
    let mut stars = room(n, BODIES)?;
    let mut random = Random(seed);
    // This Plummer radius makes the mean energy -1/4.
    let scale = 3.0 * PI / 16.0;
    let bar = bar("Plummer model  ", n);
    while stars.len() < n {
        let part = TICK.min(n - stars.len());
        stars.extend((0..part).map(|_| {
            let radius = radius(&mut random);
            let position = random.direction();
            let speed = speed(&mut random, radius);
            let velocity = random.direction();
            Star {
                position: position.map(|component| scale * radius * component),
                velocity: velocity.map(|component| speed / scale.sqrt() * component),
            }
        }));
        bar.inc(part as u64);
    }
    bar.finish_and_clear();
    Ok(stars)
}

/// Moves the centre of mass to the origin and puts it to rest.
fn centre(stars: &mut [Star]) {
    let n = stars.len() as f64;
    let mean = |of: fn(&Star) -> &Vector| vector(|k| sum(stars.iter().map(|star| of(star)[k])) / n);
    let (centre, drift) = (mean(|star| &star.position), mean(|star| &star.velocity));
    for star in stars {
        star.position = vector(|k| star.position[k] - centre[k]);
        star.velocity = vector(|k| star.velocity[k] - drift[k]);
    }
}

/// The largest radius in Plummer radii. A larger one, which one body in 600 has, is drawn again,
/// because a few far bodies would dominate the scale.
const FARTHEST: f64 = 30.0;

/// Draws the radius inside which a random fraction of the mass lies, in Plummer radii.
fn radius(random: &mut Random) -> f64 {
    loop {
        let radius = (random.uniform().powf(-2.0 / 3.0) - 1.0).sqrt().recip();
        if radius < FARTHEST {
            return radius;
        }
    }
}

/// Draws a speed at a radius: a fraction q of the escape speed with density q^2 (1 - q^2)^(7/2), by
/// rejection.
fn speed(random: &mut Random, radius: f64) -> f64 {
    let escape = 2f64.sqrt() * (1.0 + radius * radius).powf(-0.25);
    loop {
        let (fraction, height) = (random.uniform(), 0.1 * random.uniform());
        if height < fraction.powi(2) * (1.0 - fraction.powi(2)).powf(3.5) {
            return fraction * escape;
        }
    }
}

/// The generator SplitMix64 (Steele, Lea & Flood 2014, OOPSLA, 453). It gives the same numbers on
/// every machine.
pub struct Random(pub u64);

impl Random {
    /// Returns a number between 0 and 1, excluding both.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        ((bits >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Returns a point of the unit sphere.
    fn direction(&mut self) -> Vector {
        let z = 2.0 * self.uniform() - 1.0;
        let (sine, cosine) = (2.0 * PI * self.uniform()).sin_cos();
        let equator = (1.0 - z * z).sqrt();
        [equator * cosine, equator * sine, z]
    }
}

#[cfg(test)]
mod tests {
    use kyoho::config::Settings;

    use super::*;

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
        // The half-mass radius of an untruncated model is (2^(2/3) - 1)^(-1/2) Plummer radii of 3
        // pi / 16.
        let half = (2f64.powf(2.0 / 3.0) - 1.0).powf(-0.5) * 3.0 * PI / 16.0;
        let inside = model(n, 5).unwrap().iter().filter(|body| length(&body.position) < half).count();
        // The limit is three standard deviations of a binomial count.
        assert!((inside as f64 / n as f64 - 0.5).abs() < 3.0 * (0.25 / n as f64).sqrt(), "{inside}");
    }

    #[test]
    fn a_seed_names_a_model() {
        let model = |seed| model(10, seed).unwrap();
        assert_eq!(model(1), model(1));
        assert_ne!(model(1), model(2));
    }

    #[test]
    fn shells_have_the_potential_energy_of_the_pairs_to_one_part_in_their_number() {
        let mut energies = energies();
        for seed in 1..10 {
            let n = 4096;
            let mut stars = stars(n, seed).unwrap();
            let shells = of_shells(&stars).unwrap();
            centre(&mut stars);
            let pairs = energies.of(&stars.iter().map(|star| body(star, n)).collect::<Vec<_>>()).unwrap().potential;
            assert!((shells / pairs - 1.0).abs() < 5.0 / n as f64, "{seed}: {shells} {pairs}");
        }
    }

    #[test]
    fn a_large_model_has_the_energies_too() {
        let n = PAIRS + 1;
        let stars = standard_stars(n, 2, &mut energies()).unwrap();
        let kinetic = 0.5 * sum(stars.iter().map(|star| length(&star.velocity).powi(2))) / n as f64;
        assert!((kinetic - 0.25).abs() < 1e-14, "{kinetic}");
        // The centre of mass was moved to the origin. It is that of the shells except for one part
        // in the number of bodies.
        assert!((of_shells(&stars).unwrap() + 0.5).abs() < 1e-3);
        assert!(length(&vector(|k| sum(stars.iter().map(|star| star.position[k])) / n as f64)) < 1e-15);
    }
}
