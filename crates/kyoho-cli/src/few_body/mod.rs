//! `kyoho few-body`: systems of few bodies, whose close encounters need regularisation.

mod input;

use std::fmt::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use serde::Serialize;

use crate::count::{count, number};
use crate::failure::{Failure, Result};
use crate::file;
use crate::machine::Devices;
use kyoho_core::error::shown;
use kyoho_few_body::{
    Binary, End, LARGEST, LARGEST_TOLERANCE, LEAST_TOLERANCE, Options, Outcome, System, Terms, evolve_all,
};

/// The options of `kyoho few-body`.
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Arguments {
    /// Text with lines `mass x y z vx vy vz [radius]`, and a blank line between systems; or one system in
    /// HDF5, as `kyoho run` reads it; `-` reads the standard input
    file: PathBuf,
    /// How long the systems evolve
    #[arg(short, long, value_parser = number)]
    time: f64,
    /// The largest relative error of each step, 1e-14 to 1e-3
    #[arg(long, default_value_t = 1e-14, value_parser = number)]
    tolerance: f64,
    /// The gravitational constant [default: that in the units of the file if it tells some, else 1]
    #[arg(long = "G", value_parser = number)]
    gravity: Option<f64>,
    /// The speed of light; with it pairs have relativistic terms
    #[arg(long, value_parser = number)]
    speed_of_light: Option<f64>,
    /// The relativistic terms, with commas between them: 1, 2, 2.5, 3.5
    #[arg(long, value_delimiter = ',', default_value = "1,2,2.5", requires = "speed_of_light")]
    terms: Vec<String>,
    /// What ends a system before its time
    #[arg(long, value_delimiter = ',')]
    stop: Vec<Stop>,
    /// How far a part has to be that escapes, in its own extents and those of the rest
    #[arg(long, default_value_t = 20.0, value_parser = number)]
    escape_distance: f64,
    /// The most steps of a system; one that needs more ends where it is
    #[arg(long, default_value_t = 100_000_000, value_parser = count::<u64>(..))]
    max_steps: u64,
    #[command(flatten)]
    place: Devices,
    /// Write the bodies at the end as a text, in the units of the file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print a JSON array instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Stop {
    /// Two bodies are nearer than the sum of their radii, unless they move apart from the start on
    Collision,
    /// A part is unbound and far from the rest
    Escape,
}

/// How a system ended, in the words of the report.
#[derive(Debug, Serialize)]
struct Row {
    /// Its number, from 1.
    system: usize,
    end: &'static str,
    /// The numbers of the bodies that touch, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    touching: Option<[usize; 2]>,
    time: f64,
    steps: u64,
    leapfrog_steps: u64,
    /// The relative error of the energy; none where forces change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    energy_error: Option<f64>,
    binaries: Vec<Bound>,
}

/// A bound pair, or pair of pairs.
#[derive(Debug, Serialize)]
pub struct Bound {
    /// The numbers of the bodies of both parts, from 1.
    members: [Vec<usize>; 2],
    semi_major_axis: f64,
    eccentricity: f64,
    period: f64,
}

impl Bound {
    /// Makes that of a binary whose bodies have places among all.
    pub fn of(binary: &Binary, place: impl Fn(usize) -> usize) -> Bound {
        Bound {
            members: binary.members.each_ref().map(|part| part.iter().map(|row| place(*row) + 1).collect()),
            semi_major_axis: binary.orbit.semi_major_axis,
            eccentricity: binary.orbit.eccentricity,
            period: binary.orbit.period,
        }
    }

    /// Returns the names of both parts.
    pub fn names(&self) -> [String; 2] {
        self.members.each_ref().map(|part| part.iter().map(usize::to_string).collect::<Vec<_>>().join("+"))
    }

    /// Returns semi-major axis, eccentricity and period.
    pub fn orbit(&self) -> [f64; 3] {
        [self.semi_major_axis, self.eccentricity, self.period]
    }
}

/// Evolves the systems of a file and reports.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut options = options(arguments)?;
    let (mut systems, units) = input::read(&arguments.file)?;
    let of_units = units.as_ref().map(|(_, system)| system.gravitational_constant());
    options.gravity = arguments.gravity.or(of_units).unwrap_or(options.gravity);
    for (place, system) in systems.iter().enumerate() {
        let in_file = |reason| Failure::file(&arguments.file, format!("system {}: {reason}", place + 1));
        system.check(&options, 1).map_err(in_file)?;
    }
    let energies: Vec<f64> = systems.iter().map(|system| system.energy(options.gravity)).collect();
    let machine = arguments.place.settings()?.ensemble_machine(systems.len())?;
    let outcomes = evolve_all(&mut systems, &options, &machine)?;
    if let Some(path) = &arguments.output {
        file::replace(path, written(&systems, units.map(|(text, _)| text)).as_bytes())
            .map_err(|error| Failure::file(path, error))?;
    }
    let rows = systems.iter().zip(&outcomes).zip(energies).enumerate().map(|(place, ((system, outcome), before))| {
        let error = system.energy(options.gravity) / before - 1.0;
        // Relativistic terms change it.
        row(place, outcome, (options.speed_of_light.is_none() && before != 0.0).then_some(error))
    });
    let rows: Vec<Row> = rows.collect();
    if arguments.json {
        return out!("{}", serde_json::to_string_pretty(&rows).expect("rows have only strings as keys"));
    }
    out!("{:>6}  {:<9}  {:>14}  {:>9}  {:>12}", "system", "end", "time", "steps", "energy error")?;
    for row in &rows {
        print(row)?;
    }
    Ok(())
}

/// Returns what the options ask for.
fn options(arguments: &Arguments) -> Result<Options> {
    let gravity = arguments.gravity.unwrap_or(1.0);
    let Arguments { time, tolerance, speed_of_light, escape_distance, max_steps, .. } = *arguments;
    let allowed = |option, value: f64, is_allowed: bool, allowed: &str| {
        if is_allowed {
            Ok(())
        } else {
            Err(Failure::Argument { option, value: shown(value), allowed: allowed.into() })
        }
    };
    let most = format!("numbers above zero, at most {LARGEST:e}");
    let positive = |option, value: f64| allowed(option, value, value > 0.0 && value <= LARGEST, &most);
    let tolerances = format!("{LEAST_TOLERANCE:e} to {LARGEST_TOLERANCE:e}");
    allowed("--time", time, (0.0..=LARGEST).contains(&time), &format!("0 to {LARGEST:e}"))?;
    allowed("--tolerance", tolerance, (LEAST_TOLERANCE..=LARGEST_TOLERANCE).contains(&tolerance), &tolerances)?;
    positive("--G", gravity)?;
    positive("--escape-distance", escape_distance)?;
    let mut terms = Terms { first: false, second: false, decay: false, decay_correction: false };
    for term in &arguments.terms {
        match term.as_str() {
            "1" => terms.first = true,
            "2" => terms.second = true,
            "2.5" => terms.decay = true,
            "3.5" => terms.decay_correction = true,
            other => {
                let value = other.to_owned();
                return Err(Failure::Argument { option: "--terms", value, allowed: "1, 2, 2.5, 3.5".into() });
            }
        }
    }
    if let Some(speed) = speed_of_light {
        positive("--speed-of-light", speed)?;
    }
    let stops = |stop| arguments.stop.contains(&stop);
    Ok(Options {
        gravity,
        time,
        tolerance,
        max_steps,
        speed_of_light: speed_of_light.map(|speed| (speed, terms)),
        stop_at_collision: stops(Stop::Collision),
        stop_at_escape: stops(Stop::Escape).then_some(escape_distance),
    })
}

fn row(place: usize, outcome: &Outcome, energy_error: Option<f64>) -> Row {
    let (end, touching) = match outcome.end {
        End::Time => ("time", None),
        End::Escape => ("escape", None),
        End::Exchange => ("exchange", None),
        End::Collision(bodies) => ("collision", Some(bodies.map(|body| body + 1))),
        End::Merger(bodies) => ("merger", Some(bodies.map(|body| body + 1))),
        End::Steps => ("steps", None),
        End::NoStep => ("no step", None),
    };
    Row {
        system: place + 1,
        end,
        touching,
        time: outcome.time,
        steps: outcome.steps,
        leapfrog_steps: outcome.leapfrog_steps,
        energy_error,
        binaries: outcome.binaries.iter().map(|binary| Bound::of(binary, |body| body)).collect(),
    }
}

fn print(row: &Row) -> Result<()> {
    let error = row.energy_error.map_or("-".into(), |error| format!("{error:.1e}"));
    out!("{:>6}  {:<9}  {:>14.8}  {:>9}  {error:>12}", row.system, row.end, row.time, row.steps)?;
    if let Some([one, other]) = row.touching {
        out!("        bodies {one} and {other} touch")?;
    }
    for bound in &row.binaries {
        let ([one, other], [semi_major_axis, eccentricity, period]) = (bound.names(), bound.orbit());
        out!("        {one} and {other}: a = {semi_major_axis:.6}, e = {eccentricity:.6}, period {period:.6}")?;
    }
    Ok(())
}

/// Returns the text of systems in some units, if these are known, with digits that give the same bits back.
fn written(systems: &[System], units: Option<String>) -> String {
    let mut text = units.map(|units| format!("# units {units}\n")).unwrap_or_default();
    for (place, system) in systems.iter().enumerate() {
        if place > 0 {
            text.push('\n');
        }
        for body in 0..system.masses.len() {
            let ([x, y, z], [vx, vy, vz]) = (system.positions[body], system.velocities[body]);
            let (mass, radius) = (system.masses[body], system.radii[body]);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{mass:e} {x:e} {y:e} {z:e} {vx:e} {vy:e} {vz:e} {radius:e}");
        }
    }
    text
}
