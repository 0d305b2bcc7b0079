//! A sphere cut from the early universe, in physical coordinates: initial conditions for structure
//! formation by self-gravity alone.
//!
//! Shells of a sphere with vacuum outside obey `R'' = -G M / R^2`, which is Friedmann's equation of
//! a universe of matter alone, with any curvature. A cosmological constant would need a force
//! beside gravity, so there is none.

use rustfft::FftDirection;

use crate::count::{count, number};
use crate::failure::{Failure, Result};
use crate::model::cosmology::{Cosmology, GRAVITY, SPEED, Spectrum};
use crate::model::fourier::{Number, transform};
use crate::model::isolated::centre;
use crate::model::random::Random;
use crate::model::{Destination, Masses, Model, Star};
use kyoho_core::error::shown;
use kyoho_core::memory::{filled, push};
use kyoho_integrators::body::{Vector, sum, vector};

/// The options of `kyoho model cosmological-sphere`.
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Arguments {
    /// Cells a side of the cube round the sphere; the sphere has pi / 6 of them, with a body in
    /// each
    #[arg(long, default_value_t = 176, value_parser = count::<u32>(4..=1024))]
    grid: u32,
    /// The comoving radius of the sphere in Mpc
    #[arg(long, default_value_t = 45.0, value_parser = number)]
    radius: f64,
    /// The redshift
    #[arg(long, default_value_t = 49.0, value_parser = number)]
    redshift: f64,
    /// The density of all matter in units of the critical one; there is no cosmological constant
    #[arg(long, default_value_t = 1.0, value_parser = number)]
    omega_m: f64,
    /// The density of baryons in units of the critical one, which shapes the spectrum
    #[arg(long, default_value_t = 0.05, value_parser = number)]
    omega_b: f64,
    /// Hubble's constant in units of 100 km/s/Mpc
    #[arg(long = "hubble", value_name = "H", default_value_t = 0.5, value_parser = number)]
    h: f64,
    /// The index of the primordial spectrum
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = number)]
    spectral_index: f64,
    /// The linear fluctuations at redshift 0 in spheres of 8 / H Mpc, root mean square
    #[arg(long, default_value_t = 0.51, value_parser = number)]
    sigma8: f64,
    /// The seed of the random numbers
    #[arg(long, default_value_t = 1, value_parser = count::<u64>(..))]
    seed: u64,
    #[command(flatten)]
    destination: Destination,
}

/// The redshifts of the pictures in the article whose run this model repeats (Nakasato 2009,
/// Oct-tree Method on GPU).
const PICTURES: [f64; 4] = [8.9, 2.5, 0.93, 0.0];

/// The number of snapshots of that run after its start, and of steps between two of them.
const SNAPSHOTS: u32 = 28;
const STEPS: u32 = 128;

/// The softening length of that run, 4 kpc, as a part of the comoving side of a cell.
const SOFTENING: f64 = 0.004 / (90.0 / 176.0);

/// Makes a model.
pub fn run(arguments: &Arguments) -> Result<()> {
    let sphere = Sphere::new(arguments)?;
    let format = arguments.destination.checked()?;
    let stars = sphere.stars(arguments.seed)?;
    let description = sphere.description(stars.len(), arguments.seed, &arguments.destination.name());
    arguments
        .destination
        .write(&Model { description, units: None, masses: Masses::Equal(sphere.mass()), stars }, format)
}

/// A sphere that can be made.
struct Sphere {
    cosmology: Cosmology,
    /// Cells a side of the cube round the sphere.
    grid: usize,
    /// The comoving radius.
    radius: f64,
    redshift: f64,
}

impl Sphere {
    /// Checks the options.
    fn new(arguments: &Arguments) -> Result<Sphere> {
        let number = |option: &'static str, value: f64, is_allowed: bool, allowed: &str| {
            let wrong = || Failure::Argument { option, value: shown(value), allowed: allowed.into() };
            if is_allowed { Ok(value) } else { Err(wrong()) }
        };
        let between = |option, value: f64, least: f64, most: f64| {
            let allowed = format!("{} to {}", shown(least), shown(most));
            number(option, value, (least..=most).contains(&value), &allowed)
        };
        let omega_m = between("--omega-m", arguments.omega_m, 0.05, 1.0)?;
        let is_part = arguments.omega_b >= 0.0 && arguments.omega_b < omega_m;
        let allowed = format!("from zero to below --omega-m, which is {}", shown(omega_m));
        let cosmology = Cosmology {
            omega_m,
            omega_b: number("--omega-b", arguments.omega_b, is_part, &allowed)?,
            h: between("--hubble", arguments.h, 0.2, 1.5)?,
            index: between("--spectral-index", arguments.spectral_index, 0.5, 1.5)?,
            sigma8: between("--sigma8", arguments.sigma8, 0.0, 5.0)?,
        };
        Ok(Sphere {
            cosmology,
            grid: arguments.grid as usize,
            radius: between("--radius", arguments.radius, 1.0, 10_000.0)?,
            redshift: between("--redshift", arguments.redshift, 0.01, 1000.0)?,
        })
    }

    /// Returns the comoving side of a cell.
    fn cell(&self) -> f64 {
        2.0 * self.radius / self.grid as f64
    }

    /// Returns the mass of a body, which is that of a cell. So the density in the sphere is the
    /// mean density of the universe, however many centres of cells its surface cuts off.
    fn mass(&self) -> f64 {
        self.cosmology.density() * self.cell().powi(3)
    }

    fn scale_factor(&self) -> f64 {
        1.0 / (1.0 + self.redshift)
    }

    /// Returns the bodies, whose centre of mass rests in the origin.
    ///
    /// A body whose undisplaced place is `q` is at `a (q + D psi)` (Zel'dovich 1970, Astronomy &
    /// Astrophysics 5, 84), with the scale factor `a` and the growth `D`. Its velocity is the
    /// derivative of that, `H a (q + (1 + f) D psi)`.
    fn stars(&self, seed: u64) -> Result<Vec<Star>> {
        // Until the last loop, a star has `q` as its position and `psi` as its velocity.
        let mut stars = self.displaced(seed)?;
        centre(&mut stars, &[]);
        let dilation = dilation(&stars);
        let a = self.scale_factor();
        let (growth, rate) = (self.cosmology.growth(a), self.cosmology.growth_rate(a));
        let hubble = self.cosmology.hubble(a);
        for star in &mut stars {
            let (place, displacement) = (star.position, star.velocity);
            let moved = |k: usize, factor: f64| a * (place[k] + factor * (displacement[k] - dilation * place[k]));
            star.position = vector(|k| moved(k, growth));
            star.velocity = vector(|k| hubble * moved(k, (1.0 + rate) * growth));
        }
        Ok(stars)
    }

    /// Returns the comoving places of the cells in the sphere, and as velocities their
    /// displacements today.
    fn displaced(&self, seed: u64) -> Result<Vec<Star>> {
        let spectrum = Spectrum::new(self.cosmology);
        let displacements = Displacements::new(&spectrum, self.grid, 2.0 * self.radius, seed)?;
        let mut stars = Vec::new();
        for (index, velocity) in displacements.iter().enumerate() {
            // In halves of a cell, from the centre of the cube.
            let place = place(index, self.grid).map(|number| 2 * number as i64 + 1 - self.grid as i64);
            if place.iter().map(|number| number * number).sum::<i64>() < (self.grid * self.grid) as i64 {
                let position = place.map(|number| 0.5 * self.cell() * number as f64);
                push(&mut stars, Star { position, velocity }, "the bodies of the cosmological sphere")?;
            }
        }
        Ok(stars)
    }

    /// Returns the time from the model's redshift to another.
    fn time_to(&self, redshift: f64) -> f64 {
        self.cosmology.age(1.0 / (1.0 + redshift)) - self.cosmology.age(self.scale_factor())
    }

    fn description(&self, n: usize, seed: u64, file: &str) -> Vec<String> {
        let Cosmology { omega_m, omega_b, h, index, sigma8 } = self.cosmology;
        let (grid, redshift) = (self.grid, self.redshift);
        let end = self.time_to(0.0);
        let interval = end / f64::from(SNAPSHOTS);
        let mut lines = vec![
            format!(
                "Cosmological sphere of {n} bodies, seed {seed}, made by `kyoho model cosmological-sphere`: {grid} \
                 cells a side of the cube round it, comoving radius {} Mpc, redshift {redshift}.",
                self.radius
            ),
            "Physical coordinates with Hubble flow, displacements by Zel'dovich's approximation, vacuum outside."
                .into(),
            format!(
                "Matter alone, no cosmological constant: Omega_m = {omega_m}, Omega_b = {omega_b}, h = {h}, spectral \
                 index {index}, sigma8 = {sigma8} (linear, z = 0), spectrum of Eisenstein & Hu (1998) without wiggles."
            ),
            format!(
                "Units: Mpc, Gyr, 1e10 solar masses; a velocity of 1 Mpc/Gyr is {SPEED:.3} km/s. G = {}.",
                shown(GRAVITY)
            ),
            format!(
                "A body has the mass {:.6e}, all have {:.6e}. Times count from z = {redshift}, {:.6} Gyr after the \
                 beginning.",
                self.mass(),
                n as f64 * self.mass(),
                self.cosmology.age(self.scale_factor())
            ),
        ];
        for z in PICTURES.into_iter().filter(|z| *z < redshift) {
            let time = self.time_to(z);
            lines.push(format!(
                "z = {z} is at time {time:.6}; of the {SNAPSHOTS} snapshots of the run below, number {} is nearest.",
                (time / interval).round()
            ));
        }
        let softening = SOFTENING * self.cell();
        lines.push(format!(
            "To z = 0 in {} steps, with a softening of {:.3} kpc: kyoho run {file} --order 2 --accuracy 1e-3 --G {} --eps {} \
             --t-end {} --interval {} --dt {}",
            SNAPSHOTS * STEPS,
            1e3 * softening,
            shown(GRAVITY),
            shown(softening),
            shown(end),
            shown(interval),
            shown(interval / f64::from(STEPS))
        ));
        lines
    }
}

/// Returns the mean rate, over the sphere, at which displacements grow with the distance from the
/// centre. With it, the sphere would be denser or thinner than the universe, and expand by another
/// law.
fn dilation(stars: &[Star]) -> f64 {
    let product = |of: fn(&Star) -> &Vector| {
        let terms = stars.iter().map(|star| (0..3).map(|k| star.position[k] * of(star)[k]).sum::<f64>());
        sum(terms)
    };
    product(|star| &star.velocity) / product(|star| &star.position)
}

/// Returns the coordinates of a number of a cube in cells.
fn place(index: usize, grid: usize) -> [usize; 3] {
    [index / (grid * grid), index / grid % grid, index % grid]
}

/// The displacements today in a periodic cube, whose divergence is the linear density contrast with
/// opposite sign.
struct Displacements {
    /// The first two components, as real and imaginary parts.
    xy: Vec<Number>,
    /// The third component, as real parts.
    z: Vec<Number>,
}

impl Displacements {
    /// Draws a cube with as many cells a side as `grid` says.
    fn new(spectrum: &Spectrum, grid: usize, side: f64, seed: u64) -> Result<Displacements> {
        let cells = grid.pow(3);
        let memory = || filled(cells, Number::default(), "the displacements of the cosmological sphere");
        // White noise of variance 1 becomes a field with the spectrum.
        let (mut xy, mut z) = (memory()?, memory()?);
        let mut random = Random(seed);
        for pair in z.chunks_mut(2) {
            pair.iter_mut().zip(random.normal()).for_each(|(cell, number)| cell.re = number);
        }
        transform(&mut z, grid, FftDirection::Forward)?;
        let (unit, volume) = (std::f64::consts::TAU / side, side.powi(3));
        // The shortest wave along an axis has no phase, and so no derivative.
        let signed = |number: usize| match 2 * number {
            twice if twice < grid => number as f64,
            twice if twice == grid => 0.0,
            _ => number as f64 - grid as f64,
        };
        for (index, (xy, z)) in xy.iter_mut().zip(&mut z).enumerate().skip(1) {
            let place = place(index, grid);
            let k2 = place.map(|number| (number.min(grid - number) as f64 * unit).powi(2)).iter().sum::<f64>();
            let contrast = *z * (spectrum.power(k2.sqrt()) / (volume * cells as f64)).sqrt();
            let [x_part, y_part, z_part] = place.map(|number| signed(number) * unit / k2);
            // Each component is `i k / k^2` of the contrast, and the second is multiplied by `i`.
            *xy = contrast * Number::new(-y_part, x_part);
            *z = contrast * Number::new(0.0, z_part);
        }
        // The mean, of which nothing is known in a periodic cube.
        (xy[0], z[0]) = Default::default();
        transform(&mut xy, grid, FftDirection::Inverse)?;
        transform(&mut z, grid, FftDirection::Inverse)?;
        Ok(Displacements { xy, z })
    }

    /// Returns the displacements of the cells.
    fn iter(&self) -> impl Iterator<Item = [f64; 3]> {
        self.xy.iter().zip(&self.z).map(|(xy, z)| [xy.re, xy.im, z.re])
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use clap::Parser;
    use kyoho::System;
    use kyoho::config::Settings;
    use kyoho_core::{Order, Precision};

    use super::*;
    use kyoho_integrators::body::{Body, length};
    use kyoho_integrators::plan::{Plan, StepCriterion};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn sphere(options: &str) -> Sphere {
        Sphere::new(&Line::parse_from(format!("sphere {options}").split_whitespace()).arguments).unwrap()
    }

    fn mean(numbers: impl ExactSizeIterator<Item = f64>) -> f64 {
        let count = numbers.len() as f64;
        sum(numbers) / count
    }

    #[test]
    fn the_displacements_have_the_spectrum_that_they_were_made_from() {
        let sphere = sphere("--grid 32");
        let (grid, side) = (sphere.grid, 2.0 * sphere.radius);
        let spectrum = Spectrum::new(sphere.cosmology);
        let displacements = Displacements::new(&spectrum, grid, side, 3).unwrap();
        let [x, y, z]: [Vec<Number>; 3] = std::array::from_fn(|k| {
            let mut cube: Vec<Number> = displacements.iter().map(|vector| vector[k].into()).collect();
            transform(&mut cube, grid, FftDirection::Forward).unwrap();
            cube
        });
        // In shells of wave numbers: waves, the power in units of the expected one, and the part of
        // it that is in the waves' direction.
        let mut shells = [[0.0; 3]; 4];
        let mut expected_variance = 0.0;
        for (index, ((x, y), z)) in x.iter().zip(&y).zip(&z).enumerate().skip(1) {
            let wave = [x, y, z];
            let place = place(index, grid);
            if place.contains(&(grid / 2)) {
                continue;
            }
            let number = place.map(|number| number as f64 - if 2 * number > grid { grid as f64 } else { 0.0 });
            let k = number.map(|number| number * 2.0 * PI / side);
            let power = spectrum.power(length(&k));
            expected_variance += power / side.powi(3) / length(&k).powi(2);
            let contrast: Number = (0..3).map(|axis| wave[axis] * k[axis]).sum();
            let all: f64 = (0..3).map(|axis| wave[axis].norm_sqr()).sum::<f64>() * length(&k).powi(2);
            let shell = &mut shells[(length(&number).log2() as usize).min(3)];
            let unit = side.powi(3) / (grid as f64).powi(6) / power;
            let terms = [1.0, all * unit, contrast.norm_sqr() * unit];
            shell.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
        for [waves, all, along] in shells {
            assert!((all / along - 1.0).abs() < 1e-12, "{shells:?}");
            // Half of the waves are independent, and the power of one varies by its mean. The limit
            // is four standard deviations.
            assert!((all / waves - 1.0).abs() < 4.0 * (2.0 / waves).sqrt(), "{shells:?}");
        }
        // Few long waves have much of the variance, so it is compared for several seeds.
        let variance = |seed| {
            let displacements = Displacements::new(&spectrum, grid, side, seed).unwrap();
            let numbers: Vec<f64> = displacements.iter().map(|vector| length(&vector).powi(2)).collect();
            mean(numbers.into_iter())
        };
        let found = mean((1..=12u64).map(variance).collect::<Vec<f64>>().into_iter());
        assert!((found / expected_variance - 1.0).abs() < 0.25, "{found} {expected_variance}");
    }

    #[test]
    fn the_sphere_has_the_mean_density_and_rests() {
        for options in ["--grid 24", "--grid 25 --omega-m 0.3 --hubble 0.7 --radius 20", "--grid 24 --sigma8 2"] {
            let sphere = sphere(options);
            let stars = sphere.stars(1).unwrap();
            let volume = 4.0 / 3.0 * PI * sphere.radius.powi(3);
            let mass = sphere.mass() * stars.len() as f64;
            assert!((mass / (sphere.cosmology.density() * volume) - 1.0).abs() < 0.01, "{options}: {mass}");
            for of in [|star: &Star| star.position, |star: &Star| star.velocity] {
                let centre: Vector = vector(|k| mean(stars.iter().map(|star| of(star)[k])));
                let size = mean(stars.iter().map(|star| length(&of(star))));
                assert!(length(&centre) < 1e-14 * size, "{options}: {centre:?}");
            }
        }
    }

    /// The displacements have no part that would make the sphere expand otherwise.
    #[test]
    fn bodies_move_with_the_hubble_flow_on_average() {
        for (seed, fluctuations) in [(1, 0.51), (2, 2.0), (3, 0.0)] {
            let sphere = sphere(&format!("--grid 24 --sigma8 {fluctuations}"));
            let stars = sphere.stars(seed).unwrap();
            let a = sphere.scale_factor();
            let hubble = sphere.cosmology.hubble(a);
            let places = sphere.displaced(seed).unwrap();
            let dot = |a: &Vector, b: &Vector| (0..3).map(|k| a[k] * b[k]).sum::<f64>();
            // The means along the undisplaced places are exact.
            let mean = |of: fn(&Star) -> &Vector| {
                sum(stars.iter().zip(&places).map(|(star, place)| dot(of(star), &place.position)))
            };
            let all = a * sum(places.iter().map(|place| dot(&place.position, &place.position)));
            let (position, velocity) = (mean(|star| &star.position) / all, mean(|star| &star.velocity) / all);
            assert!((position - 1.0).abs() < 1e-12 && (velocity / hubble - 1.0).abs() < 1e-12, "{position} {velocity}");
            let along = sum(stars.iter().map(|star| dot(&star.velocity, &star.position)));
            let rate = along / sum(stars.iter().map(|star| dot(&star.position, &star.position)));
            assert!((rate / hubble - 1.0).abs() < 0.002, "{rate} {hubble}");
        }
    }

    /// The places at two redshifts differ by the velocity times the time between them.
    #[test]
    fn velocities_are_the_changes_of_positions() {
        for options in ["", "--omega-m 0.3 --hubble 0.7"] {
            let at = |redshift: f64| sphere(&format!("--grid 8 --sigma8 1 {options} --redshift {redshift}"));
            let [before, now, after] = [9.01, 9.0, 8.99].map(at);
            let time = before.time_to(8.99);
            let [first, star, last] = [before, now, after].map(|sphere| sphere.stars(2).unwrap());
            for ((first, star), last) in first.iter().zip(&star).zip(&last) {
                let change = vector(|k| (last.position[k] - first.position[k]) / time - star.velocity[k]);
                assert!(length(&change) < 1e-5 * length(&star.velocity), "{change:?} {star:?}");
            }
        }
    }

    #[test]
    fn displacements_grow_as_the_scale_factor_in_the_universe_of_critical_density() {
        let comoving = |redshift: f64, sigma8: f64| -> Vec<Vector> {
            let sphere = sphere(&format!("--grid 8 --redshift {redshift} --sigma8 {sigma8}"));
            let stars = sphere.stars(5).unwrap();
            stars.iter().map(|star| star.position.map(|component| component * (1.0 + redshift))).collect()
        };
        let places = comoving(49.0, 0.0);
        for ((early, late), place) in comoving(49.0, 1.0).iter().zip(comoving(9.0, 1.0)).zip(places) {
            let error = vector(|k| (late[k] - place[k]) - 5.0 * (early[k] - place[k]));
            assert!(length(&error) < 1e-11, "{error:?}");
        }
    }

    #[test]
    fn a_seed_names_a_sphere() {
        let stars = |seed| sphere("--grid 6").stars(seed).unwrap();
        assert_eq!(stars(1), stars(1));
        assert_ne!(stars(1), stars(2));
    }

    /// Gravity alone takes a sphere from redshift 49 to 4 as Friedmann's equation says.
    #[test]
    fn a_sphere_expands_as_the_scale_factor() {
        for (seed, options) in [(2, "--sigma8 0.85"), (3, "--omega-m 0.3 --hubble 0.7 --sigma8 0.85")] {
            let sphere = sphere(&format!("--grid 16 {options}"));
            let stars = sphere.stars(seed).unwrap();
            let radius = |positions: &mut dyn ExactSizeIterator<Item = Vector>| mean(positions.map(|x| length(&x)));
            let time = sphere.time_to(4.0);
            let plan = Plan {
                order: Order::Second,
                precision: Precision::Double,
                gravity: GRAVITY,
                softening: 0.1 * sphere.cell() * sphere.scale_factor(),
                eta: 0.0,
                criterion: StepCriterion::Usual,
                eta4: 0.0,
                step: time / 160.0,
                longest: time,
                shortest: time,
                interval: time,
                tree: None,
            };
            let bodies = stars.iter().map(|star| Body::new(sphere.mass(), star.position, star.velocity)).collect();
            let setup = Settings::from_environment().unwrap().setup(plan.order, plan.precision).unwrap();
            let mut leapfrog = kyoho_integrators::of(System::new(&setup).unwrap(), &plan, bodies).unwrap();
            leapfrog.advance(&mut |_, _| Ok(true)).unwrap();
            let before = radius(&mut stars.iter().map(|star| star.position));
            let after = radius(&mut leapfrog.bodies().iter().map(|body| body.position));
            // A body at the surface lacks the pull of its own cell, which makes the sphere larger
            // by a per cent on this grid. It falls with the square of the cells a side.
            assert!((after / before / 10.0 - 1.0).abs() < 0.02, "{options}: {before} {after}");
        }
    }

    /// The run to which a file's first lines lead is that of the article: steps of 3.6 million
    /// years, a softening of 4 kpc.
    #[test]
    fn the_description_has_the_options_of_a_run() {
        let lines = sphere("").description(5, 1, "stars.h5");
        let command = lines.last().unwrap().split("kyoho run ").nth(1).unwrap();
        let words: Vec<&str> = command.split(' ').collect();
        let option = |name: &str| {
            let place = words.iter().position(|word| *word == name).unwrap();
            words[place + 1].parse::<f64>().unwrap()
        };
        assert!(words[0] == "stars.h5" && option("--order") == 2.0 && option("--accuracy") == 1e-3);
        assert!((option("--G") - 4.4985e-5).abs() < 1e-9 && (option("--eps") - 0.004).abs() < 1e-15);
        // 2 / 3 of the Hubble time, less 1 / 50^(3/2) of that.
        assert!((option("--t-end") - 13.0372 * (1.0 - 0.002_828)).abs() < 1e-3, "{command}");
        assert!((option("--interval") * 28.0 / option("--t-end") - 1.0).abs() < 1e-14);
        assert!((option("--dt") * 3584.0 / option("--t-end") - 1.0).abs() < 1e-14);
        for (z, snapshot) in [("8.9", 1), ("2.5", 4), ("0.93", 10), ("0", 28)] {
            let start = format!("z = {z} is at time ");
            let line = lines.iter().find(|line| line.starts_with(&start)).unwrap();
            assert!(line.ends_with(&format!("number {snapshot} is nearest.")), "{line}");
        }
    }
}
