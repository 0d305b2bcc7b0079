//! Two clusters, which files have, on an orbit round each other.

use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::model::{Destination, Masses, Model, NOT_GIVEN, Star};
use crate::run::snapshot;
use kyoho_core::error::shown;
use kyoho_core::{Error, memory};
use kyoho_integrators::body::Body;
use kyoho_integrators::unit_systems::UnitSystem;
use kyoho_models::two_clusters::Orbit;

/// The options of `kyoho model two-clusters`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The file of the first cluster, as `kyoho run` takes them
    first: PathBuf,
    /// The file of the second one
    second: PathBuf,
    /// The distance of their centres of mass at the start
    #[arg(long, value_name = "NUMBER")]
    separation: String,
    /// Their relative speed at the start
    #[arg(long, value_name = "NUMBER")]
    speed: Option<String>,
    /// The distance at which the straight line of the second one passes the first, with --speed
    /// [default: 0]
    #[arg(long, value_name = "NUMBER")]
    impact: Option<String>,
    /// In the place of --speed, the eccentricity of the orbit of two points: 1 is a parabola
    #[arg(long, value_name = "NUMBER")]
    eccentricity: Option<String>,
    /// The smallest distance on that orbit
    #[arg(long, value_name = "NUMBER")]
    pericentre: Option<String>,
    /// The units of the files, as in "pc Msun Myr" [default: those in which G is 1]
    #[arg(long)]
    units: Option<String>,
    #[command(flatten)]
    destination: Destination,
}

const WHAT: &str = "the bodies of two clusters";

/// Makes a model.
pub fn run(arguments: &Arguments) -> Result<()> {
    let format = arguments.destination.checked()?;
    let units = arguments.units.as_deref().map(UnitSystem::parse).transpose().map_err(of_option)?;
    let given = [
        ("separation", Some(&arguments.separation)),
        ("speed", arguments.speed.as_ref()),
        ("impact", arguments.impact.as_ref()),
        ("eccentricity", arguments.eccentricity.as_ref()),
        ("pericentre", arguments.pericentre.as_ref()),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
    if let Some((name, value)) = given.clone().find(|(_, value)| value.contains(',')) {
        let (name, value) = (format!("the parameter '{name}' of the orbit"), value.clone());
        return Err(of_option(Error::BadOption { name, value, allowed: "a number".into() }));
    }
    let parameters: Vec<String> = given.clone().map(|(name, value)| format!("{name}={value}")).collect();
    let orbit = Orbit::parse(&parameters.join(","), units.as_ref()).map_err(of_option)?;
    let mut first = bodies(&arguments.first, units)?;
    let second = bodies(&arguments.second, units)?;
    let count = first.len();
    memory::reserve(&mut first, second.len(), WHAT)?;
    first.extend(second);
    let mut stars =
        memory::collected(first.iter().map(|body| Star { position: body.position, velocity: body.velocity }), WHAT)?;
    let masses = memory::collected(first.iter().map(|body| body.mass), WHAT)?;
    let gravity = units.map_or(1.0, |units| units.gravitational_constant());
    orbit.place(gravity, &masses, &mut stars, count)?;
    let options: Vec<String> = given.map(|(name, value)| format!(" --{name} {value}")).collect();
    let description = vec![
        format!(
            "Two clusters of {count} and {} bodies, made by `kyoho model two-clusters {} {}{}`.",
            stars.len() - count,
            arguments.first.display(),
            arguments.second.display(),
            options.concat()
        ),
        format!("G = {}.", shown(gravity)),
    ];
    arguments
        .destination
        .write(&Model { description, units: arguments.units.clone(), masses: Masses::Each(masses), stars }, format)
}

/// Reads bodies, which are converted to the units of the model if their file tells its own.
fn bodies(path: &Path, units: Option<UnitSystem>) -> Result<Vec<Body>> {
    let mut input = snapshot::bodies(path)?;
    match (units, &input.units) {
        (Some(units), _) => input.convert(units),
        (None, None) => (),
        (None, Some((text, _))) => {
            let allowed = format!("units, as {} has '{text}'", path.display());
            return Err(Failure::Argument { option: "--units", value: NOT_GIVEN.into(), allowed });
        }
    }
    Ok(input.bodies)
}

/// The parameters of an orbit, and their options.
const NAMED: [(&str, &str); 6] = [
    ("'separation' of the orbit", "--separation"),
    ("'speed' of the orbit", "--speed"),
    ("'impact' of the orbit", "--impact"),
    ("'eccentricity' of the orbit", "--eccentricity"),
    ("'pericentre' of the orbit", "--pericentre"),
    ("units", "--units"),
];

/// Returns the failure of the option that gives what an error is about.
fn of_option(error: Error) -> Failure {
    let Error::BadOption { name, value, allowed } = &error else { return error.into() };
    let Some((_, option)) = NAMED.into_iter().find(|(named, _)| name.contains(named)) else { return error.into() };
    let value = if value == NOT_GIVEN { value.clone() } else { format!("'{value}'") };
    Failure::Argument { option, value, allowed: allowed.clone() }
}
