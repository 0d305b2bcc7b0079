//! `kyoho model`: makes models of bodies.

pub mod cartwheel;
pub mod cosmological_sphere;
pub mod cosmology;
pub mod figure_eight;
pub mod fourier;
pub mod hernquist;
pub mod isolated;
pub mod king;
pub mod plummer;
pub mod random;
pub mod random_sphere;
pub mod uniform_sphere;

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use rayon::prelude::*;

use crate::count::count;
use crate::failure::{Failure, Result};
use crate::machine::{Machine, named};
use crate::run::snapshot::Format;
use crate::run::snapshot_hdf5 as hdf5;
use crate::{file, progress};
use isolated::Isolated;
use kyoho_core::{Order, Precision, memory};
use kyoho_integrators::body::{Body, Vector, vector};
use kyoho_integrators::energy::Energies;

/// The options of `kyoho model`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    model: Name,
}

/// The models.
#[derive(Debug, clap::Subcommand)]
enum Name {
    /// A Plummer model in standard N-body units
    Plummer(IsolatedArguments),
    /// A Hernquist model in standard N-body units, whose density grows as 1 / r to the centre
    Hernquist(IsolatedArguments),
    /// A King model in standard N-body units, whose density ends at a tidal radius
    King(KingArguments),
    /// A uniform sphere in standard N-body units, with velocities uniform in a sphere
    UniformSphere(IsolatedArguments),
    /// A uniform sphere at rest in standard N-body units, of radius 2.4 and energy -1/4
    ColdCollapse(IsolatedArguments),
    /// A sphere cut from the early universe, in Mpc, Gyr and 1e10 solar masses, displaced by
    /// Zel'dovich's approximation from a spectrum of cold dark matter; its first lines have the
    /// options with which `kyoho run` takes it to redshift 0
    CosmologicalSphere(cosmological_sphere::Arguments),
    /// Three or four small galaxies that follow each other on a closed path
    FigureEight(figure_eight::Arguments),
    /// A disk galaxy in a halo, and an intruder that falls through its centre
    Cartwheel(cartwheel::Arguments),
    /// Bodies at rest at random places in a sphere of radius 1
    Random(random_sphere::Arguments),
}

/// The options of models in standard N-body units.
#[derive(Debug, clap::Args)]
pub struct IsolatedArguments {
    /// The number of bodies
    #[arg(value_parser = count::<u32>(2..=1 << 30))]
    n: u32,
    /// The seed of the random numbers
    #[arg(long, default_value_t = 1, value_parser = count::<u64>(..))]
    seed: u64,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    machine: Machine,
}

/// The options of King models.
#[derive(Debug, clap::Args)]
pub struct KingArguments {
    /// The central potential in squares of the velocity dispersion, 0.1 to 12
    #[arg(long, default_value_t = 6.0)]
    w0: f64,
    #[command(flatten)]
    of_all: IsolatedArguments,
}

/// The place and the format of a model.
#[derive(Debug, clap::Args)]
pub struct Destination {
    /// The file into which the model is written [default: the standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The format: text, or hdf5 with --output [default: text]
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
}

/// A body of a model in which all bodies have the same mass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Star {
    /// The position.
    pub position: Vector,
    /// The velocity.
    pub velocity: Vector,
}

impl Star {
    /// Moves a body of a model in the origin to the place and the velocity of another.
    fn shift(&mut self, origin: &Star) {
        self.position = vector(|k| self.position[k] + origin.position[k]);
        self.velocity = vector(|k| self.velocity[k] + origin.velocity[k]);
    }
}

/// A model.
pub struct Model {
    /// A description in a few lines.
    pub description: Vec<String>,
    /// The mass of each body.
    pub mass: f64,
    /// The bodies.
    pub stars: Vec<Star>,
}

impl Model {
    /// Returns the bodies as an integrator takes them.
    pub fn bodies(&self) -> Result<Vec<Body>> {
        let body = |star: &Star| Body::new(self.mass, star.position, star.velocity);
        Ok(memory::collected(self.stars.iter().map(body), "the bodies of the model")?)
    }
}

/// A run by a leapfrog that a model is made for, with `G = 1`.
#[derive(Debug, Clone, Copy)]
pub struct Course {
    /// The step.
    pub step: f64,
    /// The softening length.
    pub softening: f64,
    /// The time of the end.
    pub end: f64,
    /// The time between two snapshots.
    pub interval: f64,
}

impl Course {
    /// Returns the line of a description that has the options of the run.
    fn line(&self, file: &str) -> String {
        let Course { step, softening, end, interval } = *self;
        format!(
            "By direct sums: kyoho run {file} --order 2 --precision single --eps {softening} --t-end {end} --interval \
             {interval} --dt {step}"
        )
    }
}

/// The number of bodies that are drawn or written between two ticks of a progress bar.
const TICK: usize = 1 << 16;

/// Makes a model.
pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.model {
        Name::Plummer(arguments) => run_isolated(&plummer::PLUMMER, arguments),
        Name::Hernquist(arguments) => run_isolated(&hernquist::HERNQUIST, arguments),
        Name::King(arguments) => run_king(arguments),
        Name::UniformSphere(arguments) => run_isolated(&uniform_sphere::UNIFORM_SPHERE, arguments),
        Name::ColdCollapse(arguments) => run_isolated(&uniform_sphere::COLD_COLLAPSE, arguments),
        Name::CosmologicalSphere(arguments) => cosmological_sphere::run(arguments),
        Name::FigureEight(arguments) => figure_eight::run(arguments),
        Name::Cartwheel(arguments) => cartwheel::run(arguments),
        Name::Random(arguments) => random_sphere::run(arguments),
    }
}

/// Makes a Plummer model: `kyoho plummer` is short for `kyoho model plummer`.
pub fn run_plummer(arguments: &IsolatedArguments) -> Result<()> {
    run_isolated(&plummer::PLUMMER, arguments)
}

fn run_king(arguments: &KingArguments) -> Result<()> {
    let w0 = arguments.w0;
    let standard = king::Standard::new(w0)?;
    let (title, name) = (format!("King model of w0 {w0}"), format!("king --w0 {w0}"));
    let draw = |random: &mut random::Random| standard.draw(random);
    run_isolated(&king::Standard::isolated(&title, &name, &draw), &arguments.of_all)
}

fn run_isolated(model: &Isolated, arguments: &IsolatedArguments) -> Result<()> {
    let format = arguments.destination.checked()?;
    let setup = arguments.machine.settings()?.setup(Order::Second, Precision::Double)?;
    let (n, seed) = (arguments.n as usize, arguments.seed);
    let stars = model.standard(n, seed, &mut Energies::new(&setup, 1.0, 0.0)?)?;
    let description = vec![
        format!("{} of {n} bodies, seed {seed}, made by `kyoho model {}`.", model.title, model.name),
        format!("Standard N-body units: G = 1, total mass 1, energy -1/4, {}; eps = 0.", model.state),
    ];
    arguments.destination.write(&Model { description, mass: 1.0 / n as f64, stars }, format)
}

impl Destination {
    /// Returns the format, and tests whether the file can be written, before any work is done.
    fn checked(&self) -> Result<Format> {
        let format = self.format.as_deref().map(|name| named("--format", name, &Format::ALL, Format::name));
        let format = format.transpose()?.unwrap_or(Format::Text);
        match &self.output {
            Some(path) => file::try_writing(path).map_err(|error| Failure::file(path, error))?,
            None if format == Format::Text => (),
            None => {
                let allowed = "text on the standard output, and any with --output FILE".into();
                return Err(Failure::Argument { option: "--format", value: format!("'{}'", format.name()), allowed });
            }
        }
        Ok(format)
    }

    /// Returns the name of the file for a description.
    fn name(&self) -> String {
        self.output.as_ref().map_or("FILE".into(), |path| path.display().to_string())
    }

    /// Writes a model. The description of one that goes to a file is printed too.
    fn write(&self, model: &Model, format: Format) -> Result<()> {
        let Some(path) = &self.output else {
            let mut output = std::io::stdout().lock();
            let is_seen = output.is_terminal();
            return Ok(write_text(model, &mut output, is_seen)?);
        };
        write_file(model, path, format)?;
        model.description.iter().try_for_each(|line| out!("{line}"))
    }
}

fn write_file(model: &Model, path: &Path, format: Format) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| Failure::file(path, error);
    match format {
        Format::Text => file::replace_by(path, |file| write_text(model, file, false)).map_err(|error| failed(&error)),
        Format::Hdf5 => {
            let motions = model.stars.iter().map(|star| (model.mass, star.position, star.velocity));
            let content = hdf5::model(&model.description.join("\n"), motions).map_err(|error| failed(&error))?;
            file::replace(path, &content).map_err(|error| failed(&error))
        }
    }
}

/// Writes a model as lines, with a progress bar unless the lines themselves are seen.
fn write_text(model: &Model, output: &mut impl Write, is_seen: bool) -> std::io::Result<()> {
    model.description.iter().try_for_each(|line| writeln!(output, "# {line}"))?;
    writeln!(output, "# mass x y z vx vy vz")?;
    let bar = if is_seen { ProgressBar::hidden() } else { bar("writing  ", model.stars.len()) };
    for part in model.stars.chunks(TICK) {
        let texts: Vec<String> = part.par_chunks(TICK / 64).map(|stars| lines(stars, model.mass)).collect();
        texts.iter().try_for_each(|text| output.write_all(text.as_bytes()))?;
        bar.inc(part.len() as u64);
    }
    bar.finish_and_clear();
    output.flush()
}

/// Formats some bodies of the same mass as lines.
fn lines(stars: &[Star], mass: f64) -> String {
    let mut lines = String::new();
    for Star { position: [x, y, z], velocity: [vx, vy, vz] } in stars {
        writeln!(lines, "{mass} {x} {y} {z} {vx} {vy} {vz}").expect("a string takes everything");
    }
    lines
}

/// Makes a progress bar, which is visible for models that take longer than a moment.
fn bar(message: &'static str, n: usize) -> ProgressBar {
    if n < TICK { ProgressBar::hidden() } else { progress::bar(n as u64).with_message(message) }
}
