//! The options of `kyoho run`, and the plan that follows from them and from a snapshot.

use std::path::{Path, PathBuf};

use crate::count::{count, number, order};
use crate::failure::{Failure, Result};
use crate::file;
use crate::machine::{Machine, named};
use crate::precision::precision;
use crate::ranks::Ranks;
use crate::run::input::{self, Input};
use crate::run::snapshot::Snapshot;
use crate::run::text_setting::TextSetting;
use kyoho::Setup;
use kyoho::config::Settings;
use kyoho_core::error::shown;
use kyoho_core::{Error, Order, Precision, TreeAccuracy};
use kyoho_integrators::fields::{Centre, Field};
use kyoho_integrators::laws::{ALL_GROUPS, Law};
use kyoho_integrators::plan::{ETA4, Plan, SHORTEST, SHORTEST_INTERVAL, StepCriterion, usual_eta, whole};
use kyoho_integrators::unit_systems::UnitSystem;
use kyoho_language::field::{BUILT_IN, BuiltIn};

/// The options of `kyoho run`.
#[derive(Debug, Clone, clap::Args)]
#[command(group = clap::ArgGroup::new("bodies").required(true).args(["input", "plummer", "resume"]))]
#[command(allow_negative_numbers = true)]
pub struct Arguments {
    /// A file of bodies, whose format is found out: lines `mass x y z vx vy vz` with comments after a #,
    /// or columns with names, such as a CSV; HDF5 of Kyoho, Gadget, SWIFT, AREPO or AMUSE; or a
    /// snapshot, whose bodies begin a new run; - is the standard input. Several files evolve at the same
    /// time, each by itself
    pub input: Vec<PathBuf>,
    /// A Plummer model of this many bodies, in standard N-body units
    #[arg(long, value_name = "N", value_parser = count::<u32>(2..=1 << 30))]
    pub plummer: Option<u32>,
    /// The seed of the Plummer model's random numbers
    #[arg(long, default_value_t = 1, value_parser = count::<u64>(..))]
    pub seed: u64,
    /// Go on from a snapshot, with its settings unless an option gives others, or from several at the
    /// same time
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub resume: Vec<PathBuf>,
    /// The time at which the run ends [default: 1]
    #[arg(long, value_name = "TIME", value_parser = number)]
    pub t_end: Option<f64>,
    /// The time between two meetings of all bodies, with energies and snapshots [default: a
    /// sixteenth of the run; with --order 2 the nearest part of it that is a whole number of steps]
    #[arg(long, value_name = "TIME", value_parser = number)]
    pub interval: Option<f64>,
    /// 4, 6, 8: Hermite with block time steps; 2: leapfrog with a shared step [default: 4]
    #[arg(long, value_parser = order)]
    pub order: Option<i32>,
    /// Precision of the forces: single, mixed, double, quad [default: KYOHO_PRECISION, else mixed,
    /// or double in order 8]
    #[arg(long)]
    pub precision: Option<String>,
    /// Accuracy parameter of the time steps [default: 0.02 in order 4, 0.2 in order 6 and 0.3
    /// where its criterion is averaged with that of order 4, 0.3 in order 8]
    #[arg(long, value_parser = number)]
    pub eta: Option<f64>,
    /// The criterion of the time steps in orders 6 and 8: order, that of the order; average, its
    /// average with that of order 4; usual, the average in order 6 in precision mixed and that of
    /// the order elsewhere [default: usual]
    #[arg(long, value_name = "NAME")]
    pub criterion: Option<String>,
    /// Accuracy parameter of the fourth-order criterion where it is averaged with that of the order
    /// [default: 0.01]
    #[arg(long, value_parser = number)]
    pub eta4: Option<f64>,
    /// Softening length [default: 0]
    #[arg(long, value_parser = number)]
    pub eps: Option<f64>,
    /// The gravitational constant; masses are multiplied by it before the library gets them
    /// [default: 1]
    #[arg(long = "G", value_name = "G", value_parser = number)]
    pub gravity: Option<f64>,
    /// The units of the run, which give the gravitational constant: SI, or a length, a mass and a time
    /// or a speed, such as "pc Msun Myr" or "kpc 1e10Msun km/s"; bodies of a file that tells other units
    /// are converted [default: those of the file, if it tells some]
    #[arg(long, value_name = "UNITS", conflicts_with = "gravity")]
    pub units: Option<String>,
    /// A field that acts on all bodies: the name of a built-in one or a file with a text, and its
    /// parameters, with commas between them and between the numbers of vectors, such as
    /// plummer,mass=1,radius=0.5; with centre=FILE it moves; several fields add up; none takes away
    /// those of a snapshot
    #[arg(long = "field", value_name = "FIELD")]
    pub fields: Vec<String>,
    /// A law between all bodies beside their gravity: a file with a text, and its parameters as of a
    /// field, such as yukawa.pair,strength=1,length=0.5; several laws add up; none takes away those of a
    /// snapshot
    #[arg(long = "law", value_name = "LAW")]
    pub laws: Vec<String>,
    /// Let close bodies, such as hard binaries, move together by regularised motion, in orders 4, 6
    /// and 8 without softening: those that come within this distance, or without a number within one
    /// that is chosen; 0 for none [default: 0]
    #[arg(long, value_name = "RADIUS", num_args = 0..=1, default_missing_value = "inf", value_parser = radius)]
    pub subsystems: Option<f64>,
    /// The speed of light: bodies of a subsystem have relativistic terms of the orders 1, 2 and 2.5, and
    /// two that come nearer than 6 G M / c^2 become one; needs --subsystems
    #[arg(long, value_name = "C", value_parser = number)]
    pub speed_of_light: Option<f64>,
    /// The shared step of the leapfrog; the interval must be a whole number of them
    #[arg(long, value_name = "TIME", value_parser = number)]
    pub dt: Option<f64>,
    /// Sum the forces of --order 2 by a tree with this error of accelerations, 1e-6 to 1e-2,
    /// relative to them or to half of the sum of the sizes of all pulls, whichever is more: half of
    /// the bodies have at most this, 99 of 100 at most five times as much. Few bodies are summed
    /// directly all the same, and so is everything with 0 [default: 0]
    #[arg(long, value_name = "ERROR", value_parser = number)]
    pub accuracy: Option<f64>,
    /// The opening angle of a tree, 0.1 to 1.5, in the place of --accuracy
    /// [default: 0]
    #[arg(long, value_name = "ANGLE", value_parser = number)]
    pub theta: Option<f64>,
    /// Measure the errors of the tree's accelerations at the start and after each interval, against
    /// direct sums on up to 1000 of the bodies: the median, the 90th and the 99th percentile, and
    /// the worst
    #[arg(long)]
    pub report_error: bool,
    /// The longest step of a body [default: the interval]
    #[arg(long, value_name = "TIME", value_parser = number)]
    pub dt_max: Option<f64>,
    /// The shortest step of a body [default: the interval / 2^50]
    #[arg(long, value_name = "TIME", value_parser = number)]
    pub dt_min: Option<f64>,
    /// The folder into which a snapshot is written at the start and after each interval; of several
    /// files each has a folder there, of its name without the ending
    #[arg(long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Remove the snapshots of other runs that are in the folder of --output; without it they are an
    /// error
    #[arg(long, requires = "output")]
    pub overwrite: bool,
    /// The format of snapshots: text, hdf5 [default: that of --resume, otherwise text]
    #[arg(long, value_name = "NAME", requires = "output")]
    pub format: Option<String>,
    /// Draw the relative energy error against time
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Show the run on a page for browsers of this machine, at this port of 127.0.0.1 or, without one,
    /// at a free port; the page ends with the run
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    #[arg(value_parser = count::<u16>(..))]
    pub watch: Option<u16>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub machine: Machine,
}

impl Arguments {
    /// Returns the files of bodies or snapshots, and what they are called in messages.
    pub fn files(&self) -> (&'static str, &[PathBuf]) {
        if self.resume.is_empty() { ("the input", &self.input) } else { ("--resume", &self.resume) }
    }
}

/// Parses the radius of subsystems, which a file may stand in the place of.
fn radius(word: &str) -> std::result::Result<f64, String> {
    number(word).map_err(|allowed| format!("{allowed}; a file stands before --subsystems"))
}

/// Returns the plan of a run and the number of its intervals.
pub fn plan(arguments: &Arguments, settings: &Settings, resumed: Option<&Snapshot>) -> Result<(Plan, u64)> {
    let before = resumed.map(|snapshot| &snapshot.plan);
    let time = resumed.map_or(0.0, Snapshot::time);
    let t_end = arguments.t_end.unwrap_or(1.0);
    if !(t_end.is_finite() && t_end > time) {
        return Err(wrong("--t-end", shown(t_end), format!("times after {}, where the run begins", shown(time))));
    }
    let number = |option, given: Option<f64>, from: fn(&Plan) -> f64, otherwise: f64, zero: bool| {
        let value = given.or(before.map(from)).unwrap_or(otherwise);
        if value.is_finite() && (value > 0.0 || zero && value == 0.0) {
            return Ok(value);
        }
        Err(wrong(option, shown(value), format!("finite numbers {} zero", if zero { "from" } else { "above" })))
    };
    let order = match arguments.order {
        Some(number) => {
            Order::from_number(number).ok_or_else(|| wrong("--order", number.to_string(), "2, 4, 6, 8".into()))?
        }
        None => before.map_or(Order::Fourth, |plan| plan.order),
    };
    check_suits(arguments, order)?;
    let resumed = before.map(|plan| plan.precision);
    let precision = precision(order, arguments.precision.as_deref(), resumed, settings)?;
    // The meaning of eta depends on the order.
    let eta_before = before.filter(|plan| plan.order == order).map(|plan| plan.eta);
    let usual = (t_end - time) / usual_intervals(order, t_end - time, arguments.dt) as f64;
    let interval = number("--interval", arguments.interval, |plan| plan.interval, usual, false)?;
    let intervals = whole(t_end - time, interval).ok_or_else(|| {
        let all = shown(t_end - time);
        wrong("--interval", shown(interval), format!("times of which {all} (to the end) is a whole number"))
    })?;
    if interval < SHORTEST_INTERVAL {
        return Err(wrong("--interval", shown(interval), format!("times from {SHORTEST_INTERVAL:e}")));
    }
    let floor = interval * SHORTEST;
    let criterion = criterion(arguments, order, before)?;
    let of_order = usual_eta(order, criterion.averages(order, precision));
    let plan = Plan {
        order,
        precision,
        gravity: number("--G", gravity(arguments)?, |plan| plan.gravity, 1.0, false)?,
        softening: number("--eps", arguments.eps, |plan| plan.softening, 0.0, true)?,
        criterion,
        eta: number("--eta", arguments.eta.or(eta_before).or(Some(of_order)), |plan| plan.eta, 0.0, false)?,
        eta4: number("--eta4", arguments.eta4, |plan| plan.eta4, ETA4, false)?,
        step: number("--dt", arguments.dt, |plan| plan.step, 0.0, true)?,
        longest: number("--dt-max", arguments.dt_max, |plan| plan.longest, interval, false)?.min(interval),
        shortest: number("--dt-min", arguments.dt_min, |plan| plan.shortest, floor, false)?.max(floor),
        interval,
        tree: tree(arguments, order, before)?,
    };
    if arguments.report_error && plan.tree.is_none() {
        return Err(wrong("--report-error", "given without a tree".into(), "with --accuracy or --theta".into()));
    }
    if plan.shortest > plan.longest {
        let allowed = format!("up to --dt-max, which is {}", shown(plan.longest));
        return Err(wrong("--dt-min", shown(plan.shortest), allowed));
    }
    if plan.order == Order::Second && (plan.step == 0.0 || whole(interval, plan.step).is_none()) {
        let is_missing = plan.step == 0.0 && arguments.dt.is_none();
        let value = if is_missing { "not given".into() } else { shown(plan.step) };
        let allowed =
            format!("with --order 2, steps above zero of which the interval {} is a whole number", shown(interval));
        return Err(wrong("--dt", value, allowed));
    }
    Ok((plan, intervals))
}

/// Returns the fields of the command line, or else those of a snapshot.
pub fn fields(
    arguments: &Arguments,
    setup: &Setup,
    resumed: Option<&Snapshot>,
    ranks: Ranks,
) -> Result<(Vec<TextSetting>, Vec<Field>)> {
    let (order, level) = (setup.order, setup.level);
    let mut fields = Vec::new();
    if arguments.fields.is_empty() {
        for TextSetting { given, numbers, centre } in resumed.map_or(&[][..], |snapshot| &snapshot.fields) {
            fields.push(Field::with_numbers(given, numbers, order, level)?.with_centre(centre.clone()));
        }
    }
    for argument in arguments.fields.iter().filter(|argument| *argument != "none") {
        fields.push(field(argument, setup, ranks)?);
    }
    let setting = |field: &Field| TextSetting {
        given: field.given().into(),
        numbers: field.numbers().into(),
        centre: field.centre().cloned(),
    };
    Ok((fields.iter().map(setting).collect(), fields))
}

/// Reads the centre of a field: a line for each node with the time, the position, and the velocity if
/// there are velocities.
fn centre(path: &Path, ranks: Ranks) -> Result<Centre> {
    let text = file::text(ranks.read(path)?, path)?;
    let (mut times, mut positions, mut velocities) = (Vec::new(), Vec::new(), Vec::new());
    let mut width = None;
    for (line, row) in input::rows(&text) {
        let has_velocities = *width.get_or_insert_with(|| input::words(row).len() > 4);
        let [time, position @ .., vx, vy, vz] = if has_velocities {
            input::numbers::<7>(row, "time x y z vx vy vz")
        } else {
            let names = "time x y z; or 7, with vx vy vz, in all lines";
            input::numbers::<4>(row, names).map(|[time, x, y, z]| [time, x, y, z, 0.0, 0.0, 0.0])
        }
        .map_err(|reason| Failure::Line { path: path.into(), line, reason })?;
        times.push(time);
        positions.push(position);
        velocities.push([vx, vy, vz]);
    }
    let given = Some(&velocities[..]).filter(|_| width == Some(true));
    Centre::new(&times, &positions, given).map_err(|error| Failure::file(path, error))
}

/// A text by its name with the numbers of its parameters.
struct Named<'a> {
    name: &'a str,
    parameters: Vec<(&'a str, Vec<f64>)>,
    centre: Option<&'a Path>,
}

impl<'a> Named<'a> {
    /// Reads the argument of an option: a name, `,NAME=NUMBERS` for each parameter, and `,centre=FILE` for
    /// a centre that moves. `allowed` says so.
    fn parse(option: &'static str, argument: &'a str, allowed: &str) -> Result<Named<'a>> {
        let end = argument.split(',').take_while(|word| !word.contains('=')).map(|word| word.len() + 1).sum::<usize>();
        let mut named = Named { name: &argument[..end.saturating_sub(1)], parameters: Vec::new(), centre: None };
        for word in argument.get(end..).into_iter().flat_map(|rest| rest.split(',')) {
            if let Some(path) = word.strip_prefix("centre=") {
                named.centre = Some(Path::new(path));
                continue;
            }
            let (before, number) = word.split_once('=').map_or((None, word), |(name, number)| (Some(name), number));
            named.parameters.extend(before.map(|name| (name, Vec::new())));
            let number = number.parse().map_err(|_| wrong(option, format!("'{argument}'"), allowed.into()))?;
            named.parameters.iter_mut().next_back().into_iter().for_each(|(_, numbers)| numbers.push(number));
        }
        Ok(named)
    }

    fn parameters(&self) -> Vec<(&str, &[f64])> {
        self.parameters.iter().map(|(name, given)| (*name, &given[..])).collect()
    }
}

/// Returns the field of an argument.
fn field(argument: &str, setup: &Setup, ranks: Ranks) -> Result<Field> {
    const ALLOWED: &str = "a name or a file, and ,NAME=NUMBERS, such as plummer,mass=1,radius=0.5";
    let named = Named::parse("--field", argument, ALLOWED)?;
    let path = Path::new(named.name);
    let text = match BuiltIn::from_name(named.name) {
        Some(_) => named.name.to_string(),
        None if ranks.has_file(path)? => file::text(ranks.read(path)?, path)?,
        None => {
            let names: Vec<&str> = BUILT_IN.iter().map(|field| field.name).collect();
            return Err(wrong("--field", format!("'{}'", named.name), format!("a file, or {}", names.join(", "))));
        }
    };
    let make = |text: &str| Field::new(text, &named.parameters(), setup.order, setup.level);
    let field = file::of_text(&text, path, make)?;
    Ok(field.with_centre(named.centre.map(|path| centre(path, ranks)).transpose()?))
}

/// Returns the laws of the command line, or else those of a snapshot.
pub fn laws(
    arguments: &Arguments,
    setup: &Setup,
    resumed: Option<&Snapshot>,
    ranks: Ranks,
) -> Result<(Vec<TextSetting>, Vec<Law>)> {
    let mut laws = Vec::new();
    if arguments.laws.is_empty() {
        for TextSetting { given, numbers, .. } in resumed.map_or(&[][..], |snapshot| &snapshot.laws) {
            laws.push(Law::with_numbers(given, numbers, ALL_GROUPS, setup.order)?);
        }
    }
    for argument in arguments.laws.iter().filter(|argument| *argument != "none") {
        let named = Named::parse("--law", argument, "a file, and ,NAME=NUMBERS, such as yukawa.pair,length=0.5")?;
        if named.centre.is_some() {
            return Err(wrong("--law", format!("'{argument}'"), "no centre, which fields have".into()));
        }
        let path = Path::new(named.name);
        let text = file::text(ranks.read(path)?, path)?;
        let make = |text: &str| Law::new(text, &named.parameters(), ALL_GROUPS, setup.order);
        laws.push(file::of_text(&text, path, make)?);
    }
    let setting = |law: &Law| TextSetting { given: law.text().into(), numbers: law.numbers().into(), centre: None };
    Ok((laws.iter().map(setting).collect(), laws))
}

/// Fails if ranks cannot do a run together.
pub fn check_suits_ranks(arguments: &Arguments, plan: &Plan) -> Result<()> {
    if arguments.report_error {
        return Err(wrong("--report-error", "given with ranks".into(), "in a run of one process".into()));
    }
    match plan.precision {
        Precision::Quad => Err(wrong("--precision", "'quad'".into(), "single, mixed, double over ranks".into())),
        _ => Ok(()),
    }
}

/// Fails for laws where each rank knows its share of the bodies alone.
pub fn check_suits_shares(arguments: &Arguments, laws: &[Law]) -> Result<()> {
    if laws.is_empty() {
        return Ok(());
    }
    let value = if arguments.laws.is_empty() { "in the snapshot" } else { "given" };
    let allowed = "none with a tree over ranks, each of which knows some of the bodies; or a run of one process";
    Err(wrong("--law", format!("{value} with a tree"), allowed.into()))
}

/// Fails if an option is given that means nothing in an order.
fn check_suits(arguments: &Arguments, order: Order) -> Result<()> {
    let is_leapfrog = order == Order::Second;
    let of_steps = [
        ("--eta", arguments.eta),
        ("--eta4", arguments.eta4),
        ("--dt-max", arguments.dt_max),
        ("--dt-min", arguments.dt_min),
    ];
    match (is_leapfrog, arguments.dt, of_steps.iter().find_map(|(option, value)| Some((*option, (*value)?)))) {
        (false, Some(step), _) if step != 0.0 => {
            let allowed = "with --order 2; in other orders bodies have steps of their own, up to --dt-max";
            Err(wrong("--dt", shown(step), allowed.into()))
        }
        (true, _, Some((option, value))) => {
            let allowed = "with --order 4, 6 or 8; in order 2 all bodies have the step --dt";
            Err(wrong(option, shown(value), allowed.into()))
        }
        _ => Ok(()),
    }
}

/// Returns into how many intervals a run is divided where nothing else is said: sixteen, or as near
/// to that as intervals of whole steps of a leapfrog can be.
fn usual_intervals(order: Order, run: f64, step: Option<f64>) -> u64 {
    const USUAL: u64 = 16;
    let steps = step.filter(|step| order == Order::Second && *step > 0.0).and_then(|step| whole(run, step));
    let Some(steps) = steps else { return USUAL };
    let divides = |intervals: &u64| steps.is_multiple_of(*intervals);
    let below = (1..=USUAL).rev().find(divides).unwrap_or(1);
    // The one above is nearer if its ratio to sixteen is smaller.
    (USUAL..USUAL * USUAL / below).find(divides).unwrap_or(below)
}

/// Returns the criterion of the time steps. That of a snapshot belongs to its order.
fn criterion(arguments: &Arguments, order: Order, before: Option<&Plan>) -> Result<StepCriterion> {
    let Some(name) = &arguments.criterion else {
        return Ok(before.filter(|plan| plan.order == order).map(|plan| plan.criterion).unwrap_or_default());
    };
    let found = named("--criterion", name, &StepCriterion::ALL, StepCriterion::name)?;
    if found.suits(order) {
        return Ok(found);
    }
    let allowed = format!("usual and order with --order {}, average with --order 6 or 8", order as i32);
    Err(wrong("--criterion", format!("'{name}'"), allowed))
}

/// Returns the gravitational constant, where it or units are given.
fn gravity(arguments: &Arguments) -> Result<Option<f64>> {
    let Some(units) = &arguments.units else { return Ok(arguments.gravity) };
    unit_system(units).map(|system| Some(system.gravitational_constant()))
}

fn unit_system(units: &str) -> Result<UnitSystem> {
    UnitSystem::parse(units).map_err(|error| match error {
        Error::BadOption { value, allowed, .. } => wrong("--units", format!("'{value}'"), allowed),
        other => other.into(),
    })
}

/// Brings bodies to the units of the run, and returns those. Without --units and --G they are those
/// that the file tells, and the gravitational constant is the one in them.
pub fn units(arguments: &Arguments, input: &mut Input, plan: &mut Plan) -> Result<Option<String>> {
    let Some((text, of_file)) = input.units.clone() else { return Ok(arguments.units.clone()) };
    if let Some(units) = &arguments.units {
        input.convert(unit_system(units)?);
        return Ok(Some(units.clone()));
    }
    if arguments.gravity.is_none() {
        plan.gravity = of_file.gravitational_constant();
    }
    Ok(Some(text))
}

/// Returns the accuracy of forces by a tree. An option takes the place of both in the snapshot.
fn tree(arguments: &Arguments, order: Order, before: Option<&Plan>) -> Result<Option<TreeAccuracy>> {
    let given = [("--accuracy", arguments.accuracy), ("--theta", arguments.theta)];
    if given.iter().all(|(_, value)| value.is_none()) {
        return Ok(before.filter(|plan| plan.order == order).and_then(|plan| plan.tree));
    }
    let [accuracy, theta] = given.map(|(option, value)| (option, value.unwrap_or(0.0)));
    let name_of = |name: &str| if name == theta.0 { theta.0 } else { accuracy.0 };
    let tree = TreeAccuracy::of(accuracy, theta).map_err(|error| match error {
        Error::BadOption { name, value, allowed } => wrong(name_of(&name), value, allowed),
        other => other.into(),
    })?;
    match given.iter().find(|(_, value)| value.is_some_and(|value| value != 0.0)) {
        Some((option, Some(value))) if order != Order::Second => {
            let allowed = format!("0 with --order {}, other values with --order 2", order as i32);
            Err(wrong(option, shown(*value), allowed))
        }
        _ => Ok(tree),
    }
}

pub fn wrong(option: &'static str, value: String, allowed: String) -> Failure {
    Failure::Argument { option, value, allowed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_a_leapfrog_are_whole_numbers_of_steps() {
        for (run, step, intervals) in [(1.0, 0.01, 20), (1.0, 0.0625, 16), (10.0, 0.01, 20), (1.0, 0.25, 4)] {
            assert_eq!(usual_intervals(Order::Second, run, Some(step)), intervals, "{run} {step}");
        }
        for (run, step, intervals) in [(1.01, 0.01, 101), (0.15, 0.01, 15), (0.17, 0.01, 17), (1.0, 0.3, 16)] {
            assert_eq!(usual_intervals(Order::Second, run, Some(step)), intervals, "{run} {step}");
        }
        assert_eq!(usual_intervals(Order::Fourth, 1.0, Some(0.01)), 16);
        assert_eq!(usual_intervals(Order::Second, 1.0, None), 16);
    }
}
