//! A disk galaxy and an intruder that falls through its centre along the axis, which makes the disk
//! a growing ring.
//!
//! Units are such that the disk has mass 1 and scale length 1, with `G = 1`. The disk is
//! exponential, as Hernquist (1993, Astrophysical Journal Supplement 86, 389) draws it: with
//! Toomre's parameter the same everywhere, and with the height of an isothermal sheet. The halo has
//! Hernquist's profile (1990), and dispersions that balance it in the sphere of halo and disk.

use std::f64::consts::PI;

use crate::count::count;
use crate::failure::{Failure, Result};
use crate::model::isolated::centre;
use crate::model::plummer;
use crate::model::random::Random;
use crate::model::{Course, Destination, Masses, Model, Star};
use kyoho_core::memory::room;
use kyoho_integrators::body::{Vector, length};

/// The options of `kyoho model cartwheel`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The number of bodies, a multiple of 18: 5 parts are the disk, 10 the halo, 3 the intruder
    #[arg(default_value_t = BODIES, value_parser = count::<u32>(18..=1 << 30))]
    n: u32,
    /// Leave the bodies of the intruder out
    #[arg(long)]
    without_intruder: bool,
    /// The seed of the random numbers
    #[arg(long, default_value_t = 1, value_parser = count::<u64>(..))]
    seed: u64,
    #[command(flatten)]
    destination: Destination,
}

/// The number of bodies of Fujiwara & Nakasato.
const BODIES: u32 = 18_000;

/// The parts of the bodies that are disk, halo and intruder, and their sum.
const DISK: usize = 5;
const HALO: usize = 10;
const INTRUDER: usize = 3;
pub const PARTS: usize = DISK + HALO + INTRUDER;

/// The masses of the halo and the intruder.
const HALO_MASS: f64 = HALO as f64 / DISK as f64;
const INTRUDER_MASS: f64 = INTRUDER as f64 / DISK as f64;

/// The scale radius of the halo, and the radius at which it ends.
const HALO_SCALE: f64 = 1.0;
const HALO_END: f64 = 15.0;

/// The radius at which the disk ends, beyond which it would have 1.7 per cent of its mass.
const DISK_END: f64 = 6.0;

/// The scale height of the disk.
const HEIGHT: f64 = 0.1;

/// Toomre's parameter, which is 1 where a disk begins to fall into pieces.
const TOOMRE: f64 = 1.5;

/// The Plummer radius of the intruder, its end in Plummer radii, and its height over the disk at
/// the start, from where it falls as if from infinity.
const INTRUDER_RADIUS: f64 = 0.25;
const INTRUDER_END: f64 = 8.0;
const INTRUDER_START: f64 = 5.0;

/// Fujiwara & Nakasato's step and softening, until the ring is over the half of the disk.
pub const COURSE: Course = Course { step: 1.0 / 128.0, softening: 0.01, end: 8.0, interval: 1.0 };

/// Makes a model.
pub fn run(arguments: &Arguments) -> Result<()> {
    let format = arguments.destination.checked()?;
    let n = arguments.n as usize;
    if !n.is_multiple_of(PARTS) {
        return Err(Failure::Argument { option: "N", value: n.to_string(), allowed: format!("multiples of {PARTS}") });
    }
    let model = model(n, !arguments.without_intruder, arguments.seed, &arguments.destination.name())?;
    arguments.destination.write(&model, format)
}

/// Returns the number of the first bodies that are the disk, in a model of `n` with the intruder.
pub fn disk(n: usize) -> usize {
    n / PARTS * DISK
}

/// Makes a model of `n` bodies, less the intruder's where it is left out. They are those of the
/// disk, of the halo, and of the intruder.
pub fn model(n: usize, with_intruder: bool, seed: u64, file: &str) -> Result<Model> {
    let part = n / PARTS;
    let mut stars = room(n, "the bodies of the cartwheel")?;
    let mut random = Random(seed);
    stars.extend((0..DISK * part).map(|_| draw_disk(&mut random)));
    let halo = Halo::new();
    stars.extend((0..HALO * part).map(|_| halo.draw(&mut random)));
    centre(&mut stars, &[]);
    let mut parts = format!("a disk of {} and a halo of {} bodies", DISK * part, HALO * part);
    if with_intruder {
        let first = stars.len();
        stars.extend(
            (0..INTRUDER * part).map(|_| plummer::drawn(&mut random, INTRUDER_RADIUS, INTRUDER_MASS, INTRUDER_END)),
        );
        centre(&mut stars[first..], &[]);
        let all = 1.0 + HALO_MASS + INTRUDER_MASS;
        let fall =
            Star { position: [0.0, 0.0, INTRUDER_START], velocity: [0.0, 0.0, -(2.0 * all / INTRUDER_START).sqrt()] };
        stars[first..].iter_mut().for_each(|star| star.shift(&fall));
        centre(&mut stars, &[]);
        parts = format!(
            "a disk of {}, a halo of {} and an intruder of {} bodies",
            DISK * part,
            HALO * part,
            INTRUDER * part
        );
    }
    let description = vec![
        format!(
            "Cartwheel of {} bodies, seed {seed}, made by `kyoho model cartwheel`: {parts}, in this order.",
            stars.len()
        ),
        format!("G = 1; the disk has mass 1, scale length 1 and scale height {HEIGHT}; all bodies have the same mass."),
        COURSE.line(file),
    ];
    Ok(Model { description, units: None, masses: Masses::Equal(1.0 / (DISK * part) as f64), stars })
}

/// Draws a body of the disk.
fn draw_disk(random: &mut Random) -> Star {
    let radius = disk_radius(random);
    let (sine, cosine) = (2.0 * PI * random.uniform()).sin_cos();
    let height = HEIGHT * (2.0 * random.uniform() - 1.0).atanh();
    let [radial, tangential] = random.normal();
    let [vertical, _] = random.normal();
    let motion = Motion::at(radius);
    let outward = motion.radial * radial;
    let around = motion.mean + motion.tangential * tangential;
    Star {
        position: [radius * cosine, radius * sine, height],
        velocity: [outward * cosine - around * sine, outward * sine + around * cosine, motion.vertical * vertical],
    }
}

/// Draws the radius inside which a random part of the disk lies.
fn disk_radius(random: &mut Random) -> f64 {
    let part = random.uniform() * disk_mass(DISK_END);
    let (mut low, mut high) = (0.0, DISK_END);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if disk_mass(middle) < part { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Returns the mass of an exponential disk inside a radius.
fn disk_mass(radius: f64) -> f64 {
    1.0 - (1.0 + radius) * (-radius).exp()
}

/// Returns the mass of the halo inside a radius.
fn halo_mass(radius: f64) -> f64 {
    let part = |radius: f64| (radius / (radius + HALO_SCALE)).powi(2);
    HALO_MASS * part(radius.min(HALO_END)) / part(HALO_END)
}

/// Returns the surface density of the disk.
fn surface_density(radius: f64) -> f64 {
    (-radius).exp() / (2.0 * PI)
}

/// Returns the square of the circular velocity in disk and halo. The disk's part is Freeman's
/// (1970, Astrophysical Journal 160, 811).
fn circular2(radius: f64) -> f64 {
    let y = 0.5 * radius;
    let products = bessel_i(0, y) * bessel_k(0, y) - bessel_i(1, y) * bessel_k(1, y);
    2.0 * y * y * products + halo_mass(radius) / radius
}

/// Returns the modified Bessel function of the first kind as the mean of `exp(x cos t) cos(n t)`
/// over half a turn, whose error by midpoints is that of rounding.
fn bessel_i(n: u32, x: f64) -> f64 {
    const POINTS: u32 = 32;
    let terms = (0..POINTS).map(|point| {
        let angle = PI * (f64::from(point) + 0.5) / f64::from(POINTS);
        (x * angle.cos()).exp() * (f64::from(n) * angle).cos()
    });
    terms.sum::<f64>() / f64::from(POINTS)
}

/// Returns the modified Bessel function of the second kind as the integral of
/// `exp(-x cosh t) cosh(n t)` over positive `t`.
fn bessel_k(n: u32, x: f64) -> f64 {
    const STEP: f64 = 0.1;
    // Beyond, the exponential is smaller than rounding.
    let end = (750.0 / x).acosh();
    let terms = (1..(end / STEP) as u32).map(|point| {
        let t = STEP * f64::from(point);
        (-x * t.cosh()).exp() * (f64::from(n) * t).cosh()
    });
    STEP * (0.5 * (-x).exp() + terms.sum::<f64>())
}

/// The velocities of the disk at a radius.
#[derive(Debug)]
struct Motion {
    /// The mean velocity round the axis.
    mean: f64,
    /// The dispersions outward, round the axis and along it.
    radial: f64,
    tangential: f64,
    vertical: f64,
}

impl Motion {
    fn at(radius: f64) -> Motion {
        // Nearer to the centre, the halo's cusp would be steeper than the disk is high.
        let radius = radius.max(HEIGHT);
        let circular2 = circular2(radius);
        // The square of the epicyclic frequency over that of the angular velocity.
        let kappa2 = |radius: f64| 2.0 + slope(&self::circular2, radius);
        // Toomre's parameter is the radial dispersion over 3.36 G times density over epicyclic
        // frequency.
        let radial2 = |radius: f64| {
            let epicyclic2 = kappa2(radius) * self::circular2(radius) / (radius * radius);
            (TOOMRE * 3.36 * surface_density(radius)).powi(2) / epicyclic2
        };
        let pressure = |radius: f64| surface_density(radius) * radial2(radius);
        let (own, ratio2) = (radial2(radius), 0.25 * kappa2(radius));
        // The disk holds itself as an isothermal sheet; the halo's pull grows with the height,
        // whose mean square is pi^2 / 12 of the scale height squared.
        let sheet = PI * surface_density(radius) * HEIGHT;
        let halo = halo_mass(radius) / radius.powi(3) * (PI * HEIGHT).powi(2) / 12.0;
        Motion {
            mean: (circular2 + own * (1.0 - ratio2 + slope(&pressure, radius))).max(0.0).sqrt(),
            radial: own.sqrt(),
            tangential: (own * ratio2).sqrt(),
            vertical: (sheet + halo).sqrt(),
        }
    }
}

/// Returns the logarithmic slope of a positive function.
fn slope(function: &dyn Fn(f64) -> f64, radius: f64) -> f64 {
    const STEP: f64 = 1e-3;
    (function(radius * STEP.exp()) / function(radius * (-STEP).exp())).ln() / (2.0 * STEP)
}

/// The dispersions and the escape speeds of the halo by radius.
struct Halo {
    /// For each radius of [`Halo::radius`], the dispersion in one direction and the escape speed.
    speeds: Vec<[f64; 2]>,
}

impl Halo {
    /// The number of radii for each factor `e`.
    const PER_FOLD: f64 = 50.0;
    /// The smallest radius.
    const FIRST: f64 = 1e-3;

    fn radius(place: usize) -> f64 {
        Self::FIRST * (place as f64 / Self::PER_FOLD).exp()
    }

    /// Integrates Jeans' equation for dispersions that are the same in all directions, from
    /// outside.
    fn new() -> Halo {
        let count = ((HALO_END / Self::FIRST).ln() * Self::PER_FOLD) as usize;
        let density = |r: f64| 1.0 / (r * (r + HALO_SCALE).powi(3));
        let pull = |r: f64| (halo_mass(r) + disk_mass(r)) / (r * r);
        let mut speeds = vec![[0.0; 2]; count];
        let (mut pressure, mut depth) = (0.0, (HALO_MASS + 1.0) / HALO_END);
        for place in (0..count).rev() {
            let [inner, outer] = [place, place + 1].map(Self::radius);
            let mean = |function: &dyn Fn(f64) -> f64| 0.5 * (outer - inner) * (function(inner) + function(outer));
            pressure += mean(&|r| density(r) * pull(r));
            depth += mean(&pull);
            speeds[place] = [(pressure / density(inner)).sqrt(), (2.0 * depth).sqrt()];
        }
        Halo { speeds }
    }

    /// Draws a body of the halo.
    fn draw(&self, random: &mut Random) -> Star {
        let root = random.uniform().sqrt() * HALO_END / (HALO_END + HALO_SCALE);
        let radius = HALO_SCALE * root / (1.0 - root);
        let place = ((radius / Self::FIRST).ln() * Self::PER_FOLD).clamp(0.0, (self.speeds.len() - 1) as f64);
        let [dispersion, escape] = self.speeds[place.round() as usize];
        let direction = random.direction();
        Star { position: direction.map(|component| radius * component), velocity: velocity(random, dispersion, escape) }
    }
}

/// Draws a velocity of a dispersion, slower than escape.
fn velocity(random: &mut Random, dispersion: f64, escape: f64) -> Vector {
    loop {
        let ([x, y], [z, _]) = (random.normal(), random.normal());
        let velocity = [x, y, z].map(|component| dispersion * component);
        if length(&velocity) < 0.95 * escape {
            return velocity;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of Abramowitz & Stegun (1964), tables 9.8.
    #[test]
    fn bessel_functions_have_their_values() {
        for (x, expected) in [
            (0.1, [1.002_501_562_9, 0.050_062_526_0, 2.427_069_024_7, 9.853_844_780_9]),
            (1.0, [1.266_065_877_8, 0.565_159_104_0, 0.421_024_438_2, 0.601_907_230_2]),
            (3.0, [4.880_792_585_9, 3.953_370_217_4, 0.034_739_504_4, 0.040_156_431_1]),
        ] {
            let found = [bessel_i(0, x), bessel_i(1, x), bessel_k(0, x), bessel_k(1, x)];
            for (found, expected) in found.into_iter().zip(expected) {
                assert!((found / expected - 1.0).abs() < 1e-8, "{x}: {found} {expected}");
            }
        }
    }

    /// Its largest value, at 2.15 scale lengths, is 0.88 `(pi G Sigma_0 R)^(1/2)` (Freeman 1970).
    #[test]
    fn the_circular_velocity_of_the_disk_is_freemans() {
        let disk = |radius: f64| circular2(radius) - halo_mass(radius) / radius;
        assert!((disk(2.15) / (0.88f64.powi(2) * PI * surface_density(0.0)) - 1.0).abs() < 2e-3);
        assert!(disk(2.0) < disk(2.15) && disk(2.3) < disk(2.15));
    }

    /// Returns how many of these bodies are within a radius, along so many axes.
    fn within(stars: &[Star], radius: f64, axes: usize) -> usize {
        let distance = |star: &Star| star.position[..axes].iter().map(|place| place * place).sum::<f64>().sqrt();
        stars.iter().filter(|star| distance(star) < radius).count()
    }

    #[test]
    fn disk_halo_and_intruder_follow_each_other_and_have_their_masses() {
        let n = 200 * PARTS;
        let model = model(n, true, 3, "").unwrap();
        assert_eq!((model.stars.len(), disk(n)), (n, 1000));
        assert!((model.masses.of(0) * 1000.0 - 1.0).abs() < 1e-15);
        let (target, intruder) = model.stars.split_at(3000);
        let height = |stars: &[Star]| stars.iter().map(|star| star.position[2]).sum::<f64>() / stars.len() as f64;
        assert!((height(intruder) - height(target) - INTRUDER_START).abs() < 1e-12);
        let alone = super::model(n, false, 3, "").unwrap();
        assert_eq!(alone.stars.len(), target.len());
        let (disk, halo) = alone.stars.split_at(1000);
        for radius in [0.5, 1.0, 2.0, 4.0] {
            let parts = [
                (within(disk, radius, 2) as f64 / 1000.0, disk_mass(radius) / disk_mass(DISK_END), 1000),
                (within(halo, radius, 3) as f64 / 2000.0, halo_mass(radius) / HALO_MASS, 2000),
            ];
            for (found, expected, count) in parts {
                // The limit is four standard deviations of a binomial count.
                let deviation = 4.0 * (expected * (1.0 - expected) / f64::from(count)).sqrt();
                assert!((found - expected).abs() < deviation, "{radius}: {found} {expected}");
            }
        }
    }

    #[test]
    fn slopes_are_logarithmic() {
        assert!((slope(&|radius| 3.0 / radius, 2.0) + 1.0).abs() < 1e-10);
        assert!((slope(&|radius| radius * radius, 0.1) - 2.0).abs() < 1e-10);
    }

    #[test]
    fn a_warm_disk_goes_round_slower_than_its_circular_velocity() {
        for radius in [1.0, 2.0, 4.0] {
            let Motion { mean, radial, tangential, vertical } = Motion::at(radius);
            let circular = circular2(radius).sqrt();
            assert!(mean < circular && mean > 0.8 * circular, "{radius}: {mean} {circular}");
            assert!(tangential < radial && radial < 0.3 * circular && vertical < radial, "{radius}");
        }
    }
}
