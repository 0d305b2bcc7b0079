//! `kyoho model`: makes models of bodies.

pub mod cartwheel;
pub mod cosmological_sphere;
pub mod cosmology;
pub mod figure_eight;
pub mod fourier;
pub mod random_sphere;
mod two_clusters;

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
use kyoho_core::error::shown;
use kyoho_core::{Error, Order, Precision, memory};
use kyoho_integrators::body::Body;
use kyoho_models::{NOT_GIVEN, Recipe};

pub use kyoho_models::{Star, isolated, plummer, random};

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
    /// Two clusters, which files have, on an orbit round each other
    TwoClusters(two_clusters::Arguments),
    /// Three or four small galaxies that follow each other on a closed path
    FigureEight(figure_eight::Arguments),
    /// A disk galaxy in a halo, and an intruder that falls through its centre
    Cartwheel(cartwheel::Arguments),
    /// Bodies at rest at random places in a sphere of radius 1
    Random(random_sphere::Arguments),
}

/// The options of models of isolated systems.
#[derive(Debug, clap::Args)]
pub struct IsolatedArguments {
    /// The number of bodies
    #[arg(value_parser = count::<u32>(2..=1 << 30))]
    n: u32,
    /// The seed of the random numbers
    #[arg(long, default_value_t = 1, value_parser = count::<u64>(..))]
    seed: u64,
    /// The masses: kroupa, or with limits in solar masses kroupa,least=0.08,most=100 [default: equal
    /// masses]
    #[arg(long, value_name = "NAME")]
    masses: Option<String>,
    /// Primordial binaries: fraction=0.3,least=1AU,most=100AU, which are their share among binaries and
    /// single stars and the limits of their semi-major axes
    #[arg(long, value_name = "NUMBERS")]
    binaries: Option<String>,
    /// The mass of all bodies [default: 1, with --masses kroupa and --units the sum of masses]
    #[arg(long, value_name = "NUMBER")]
    mass: Option<String>,
    /// The virial radius [default: 1]
    #[arg(long, value_name = "NUMBER")]
    radius: Option<String>,
    /// The units of the model, as in "pc Msun Myr" [default: those in which G is 1]
    #[arg(long)]
    units: Option<String>,
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

/// A model.
pub struct Model {
    /// A description in a few lines.
    pub description: Vec<String>,
    /// The units, if they are not those in which G is 1.
    pub units: Option<String>,
    /// The masses of the bodies.
    pub masses: Masses,
    /// The bodies.
    pub stars: Vec<Star>,
}

/// The masses of bodies.
pub enum Masses {
    /// All have the same.
    Equal(f64),
    /// Each has its own.
    Each(Vec<f64>),
}

impl Masses {
    /// Returns the mass of a body.
    fn of(&self, place: usize) -> f64 {
        match self {
            Masses::Equal(mass) => *mass,
            Masses::Each(masses) => masses[place],
        }
    }
}

impl Model {
    /// Returns the bodies as an integrator takes them.
    pub fn bodies(&self) -> Result<Vec<Body>> {
        let bodies = self.motions().map(|(mass, star)| Body::new(mass, star.position, star.velocity));
        Ok(memory::collected(bodies, "the bodies of the model")?)
    }

    /// Returns the masses and the motions of bodies.
    fn motions(&self) -> impl Iterator<Item = (f64, &Star)> + Clone {
        self.stars.iter().enumerate().map(|(place, star)| (self.masses.of(place), star))
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
const TICK: usize = isolated::PART;

/// Makes a model.
pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.model {
        Name::Plummer(arguments) => run_plummer(arguments),
        Name::Hernquist(arguments) => run_isolated("hernquist", None, arguments),
        Name::King(KingArguments { w0, of_all }) => run_isolated("king", Some(*w0), of_all),
        Name::UniformSphere(arguments) => run_isolated("uniform_sphere", None, arguments),
        Name::ColdCollapse(arguments) => run_isolated("cold_collapse", None, arguments),
        Name::TwoClusters(arguments) => two_clusters::run(arguments),
        Name::CosmologicalSphere(arguments) => cosmological_sphere::run(arguments),
        Name::FigureEight(arguments) => figure_eight::run(arguments),
        Name::Cartwheel(arguments) => cartwheel::run(arguments),
        Name::Random(arguments) => random_sphere::run(arguments),
    }
}

/// Makes a Plummer model: `kyoho plummer` is short for `kyoho model plummer`.
pub fn run_plummer(arguments: &IsolatedArguments) -> Result<()> {
    run_isolated("plummer", None, arguments)
}

/// Makes a model of an isolated system; that of King has `w0`.
fn run_isolated(profile: &str, w0: Option<f64>, arguments: &IsolatedArguments) -> Result<()> {
    let format = arguments.destination.checked()?;
    let setup = arguments.machine.settings()?.setup(Order::Second, Precision::Double)?;
    let (n, seed) = (arguments.n as usize, arguments.seed);
    let recipe = Recipe::parse(&arguments.text(profile, w0)?, arguments.units.as_deref()).map_err(of_option)?;
    let bar = bar("drawing  ", n);
    let made = recipe.make(n, seed, &setup, &mut |drawn| bar.inc(drawn as u64)).map_err(of_option)?;
    bar.finish_and_clear();
    let description = arguments.description(&recipe, w0);
    let (units, masses) = (arguments.units.clone(), Masses::Each(made.masses));
    let model = Model { description, units, masses, stars: made.stars };
    arguments.destination.write(&model, format)
}

impl IsolatedArguments {
    /// Returns the options that say more of the model than its profile.
    fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("--masses", &self.masses),
            ("--binaries", &self.binaries),
            ("--mass", &self.mass),
            ("--radius", &self.radius),
            ("--units", &self.units),
        ];
        all.into_iter().filter_map(|(option, value)| Some((option, value.as_deref()?)))
    }

    /// Returns the text of the model.
    fn text(&self, profile: &str, w0: Option<f64>) -> Result<String> {
        let wrong = |option, value: &str, allowed: &str| {
            Err(Failure::Argument { option, value: format!("'{value}'"), allowed: allowed.into() })
        };
        let mut text = profile.to_string() + &w0.map_or(String::new(), |w0| format!(",w0={w0}"));
        let mut parts = String::new();
        for (option, value) in self.given().filter(|(option, _)| *option != "--units") {
            if value.is_empty() || value.contains(char::is_whitespace) {
                return wrong(option, value, "a word without spaces");
            }
            match option {
                "--masses" if value.split(',').next() != Some("kroupa") => return wrong(option, value, "kroupa"),
                "--masses" => parts += &format!(" {value}"),
                "--binaries" => parts += &format!(" binaries,{value}"),
                _ if value.contains(',') => return wrong(option, value, "a number"),
                _ => text += &format!(",{}={value}", option.trim_start_matches('-')),
            }
        }
        Ok(text + &parts)
    }

    /// Describes the model in the first lines of its file.
    fn description(&self, recipe: &Recipe, w0: Option<f64>) -> Vec<String> {
        let (title, name, state) = recipe.with_profile(|profile| (profile.title, profile.name, profile.state));
        let title = title.to_string() + &w0.map_or(String::new(), |w0| format!(" of w0 {w0}"));
        let mut command = name.to_string() + &w0.map_or(String::new(), |w0| format!(" --w0 {w0}"));
        for (option, value) in self.given() {
            let quote = if value.contains(' ') { "\"" } else { "" };
            command += &format!(" {option} {quote}{value}{quote}");
        }
        let Self { n, seed, .. } = self;
        let first = format!("{title} of {n} bodies, seed {seed}, made by `kyoho model {command}`.");
        let of = match recipe.binaries(*n as usize) {
            0 => String::new(),
            pairs => format!(" of single stars and the centres of {pairs} binaries, the first {} bodies", 2 * pairs),
        };
        let second = match &self.units {
            None if recipe.is_standard() => {
                format!("Standard N-body units: G = 1, total mass 1, energy -1/4, {state}{of}; eps = 0.")
            }
            None => format!("G = 1; {state}{of}; eps = 0."),
            Some(_) => format!("G = {}, {state}{of}.", shown(recipe.gravity())),
        };
        vec![first, second]
    }
}

/// What errors of models name, and the options that give it.
const NAMED: [(&str, &str); 7] = [
    ("'w0' of the model", "--w0"),
    ("'mass' of the model", "--mass"),
    ("'radius' of the model", "--radius"),
    ("'kroupa'", "--masses"),
    ("'binaries'", "--binaries"),
    ("units", "--units"),
    ("the number of bodies", "N"),
];

/// Returns the failure of the option that gives what an error is about.
fn of_option(error: Error) -> Failure {
    let Error::BadOption { name, value, allowed } = &error else { return error.into() };
    let Some((_, option)) = NAMED.into_iter().find(|(named, _)| name.contains(named)) else { return error.into() };
    let allowed = allowed.clone();
    // Of the parameters of an option its value says which one it is.
    let parameter = name.strip_prefix("the parameter '").and_then(|rest| rest.split('\'').next());
    let value = match parameter.filter(|_| name.contains(" of the part ")) {
        Some(parameter) if value == NOT_GIVEN => format!("{parameter} {value}"),
        Some(parameter) => format!("{parameter}={value}"),
        None => value.clone(),
    };
    Failure::Argument { option, value, allowed }
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
            let motions = model.motions().map(|(mass, star)| (mass, star.position, star.velocity));
            let head = (&model.description.join("\n")[..], model.units.as_deref());
            let content = hdf5::model(head, motions).map_err(|error| failed(&error))?;
            file::replace(path, &content).map_err(|error| failed(&error))
        }
    }
}

/// Writes a model as lines, with a progress bar unless the lines themselves are seen.
fn write_text(model: &Model, output: &mut impl Write, is_seen: bool) -> std::io::Result<()> {
    // The name of a file may have line ends.
    model.description.iter().try_for_each(|line| writeln!(output, "# {}", line.replace(['\n', '\r'], " ")))?;
    model.units.iter().try_for_each(|units| writeln!(output, "# units {units}"))?;
    writeln!(output, "# mass x y z vx vy vz")?;
    let bar = if is_seen { ProgressBar::hidden() } else { bar("writing  ", model.stars.len()) };
    for first in (0..model.stars.len()).step_by(TICK) {
        let part = &model.stars[first..model.stars.len().min(first + TICK)];
        let texts = part.par_chunks(LINES).enumerate().map(|(chunk, stars)| {
            let first = first + chunk * LINES;
            lines(stars.iter().enumerate().map(|(place, star)| (model.masses.of(first + place), star)))
        });
        let texts: Vec<String> = texts.collect();
        texts.iter().try_for_each(|text| output.write_all(text.as_bytes()))?;
        bar.inc(part.len() as u64);
    }
    bar.finish_and_clear();
    output.flush()
}

/// The number of lines that a thread formats at once.
const LINES: usize = TICK / 64;

/// Formats some bodies as lines.
fn lines<'a>(bodies: impl Iterator<Item = (f64, &'a Star)>) -> String {
    let mut lines = String::new();
    for (mass, Star { position: [x, y, z], velocity: [vx, vy, vz] }) in bodies {
        writeln!(lines, "{mass} {x} {y} {z} {vx} {vy} {vz}").expect("a string takes everything");
    }
    lines
}

/// Makes a progress bar, which is visible for models that take longer than a moment.
fn bar(message: &'static str, n: usize) -> ProgressBar {
    if n < TICK { ProgressBar::hidden() } else { progress::bar(n as u64).with_message(message) }
}
