//! Subsystems of a run: their option, their lines in snapshots, and the integrator that has them.

use kyoho::System;
use kyoho_core::Order;
use kyoho_core::error::shown;
use kyoho_integrators::Integrator;
use kyoho_integrators::body::{Body, Vector};
use kyoho_integrators::fields::Fields;
use kyoho_integrators::plan::Plan;
use kyoho_integrators::subsystems::Subsystem;

use crate::failure::Result;
use crate::few_body::Bound;
use crate::run::options::{Arguments, wrong};
use crate::run::snapshot::{Header, Snapshot, Value, body, check, vectors};

/// The subsystems of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Subsystems {
    /// The distance at which they form.
    pub radius: f64,
    /// All that there are, of bodies by their places.
    pub all: Vec<Subsystem>,
}

/// The names of the settings in snapshots.
const RADIUS: &str = "subsystem-radius";
const COUNT: &str = "subsystems";

/// Returns the name of the setting of a subsystem.
fn name(place: usize) -> String {
    format!("subsystem-{}", place + 1)
}

impl Subsystems {
    /// Returns those of an integrator, if it has some.
    pub fn of(integrator: &dyn Integrator) -> Option<Subsystems> {
        let (all, radius) = integrator.subsystems();
        integrator.has_subsystems().then(|| Subsystems { radius, all: all.to_vec() })
    }

    /// Returns the settings by which a snapshot keeps them.
    pub fn settings(&self, snapshot: &Snapshot) -> Vec<(String, Value)> {
        let head = [(RADIUS, Value::Number(self.radius)), (COUNT, Value::Count(self.all.len() as u64))];
        let lines = self.all.iter().enumerate();
        let lines = lines.map(|(place, subsystem)| (name(place), Value::Text(line(subsystem, snapshot))));
        head.into_iter().map(|(name, value)| (name.into(), value)).chain(lines).collect()
    }

    /// Reads them from the settings of a snapshot, still without the masses of their bodies.
    pub fn read(header: &Header, order: Order) -> Result<Option<Subsystems>> {
        if ![RADIUS, COUNT].iter().any(|name| header.words.contains_key(*name)) {
            return Ok(None);
        }
        let radius = header.number(RADIUS, |radius| radius > 0.0 && order != Order::Second)?;
        let count: usize = header.value(COUNT, |word| word.parse().ok())?;
        let parsed = |place| header.value(&name(place), |line| parse(line, vectors(order)));
        Ok(Some(Subsystems { radius, all: (0..count).map(parsed).collect::<Result<_>>()? }))
    }

    /// Gives their bodies masses. Fails if bodies are not where subsystems have them.
    pub fn join(&mut self, plan: &Plan, bodies: &[Body]) -> std::result::Result<(), String> {
        let mut is_member = vec![false; bodies.len()];
        for (place, subsystem) in self.all.iter_mut().enumerate() {
            let failed = |reason: String| format!("subsystem {}: {reason}", place + 1);
            check(plan, &subsystem.centre).map_err(|reason| failed(format!("of the centre {reason}")))?;
            for row in 0..subsystem.members.len() {
                let member = subsystem.members[row];
                let Some(body) = bodies.get(member) else {
                    return Err(failed(format!("it has body {}; allowed: 1 to {}", member + 1, bodies.len())));
                };
                if std::mem::replace(&mut is_member[member], true) {
                    return Err(failed(format!("body {} is in it, but also in another place", member + 1)));
                }
                subsystem.inner.masses.push(body.mass);
                let here = subsystem.body(row);
                if (here.position, here.velocity) != (body.position, body.velocity) {
                    return Err(failed(format!("body {} does not move as the body of this number", member + 1)));
                }
            }
            let masses: f64 = subsystem.inner.masses.iter().sum();
            if subsystem.centre.mass <= 0.0 || (subsystem.centre.mass / masses - 1.0).abs() > 1e-10 {
                let centre = shown(subsystem.centre.mass);
                return Err(failed(format!("the mass is {centre}; allowed: that of its bodies, {}", shown(masses))));
            }
        }
        Ok(())
    }

    /// Returns the binaries in them, and pairs of these.
    pub fn binaries(&self, gravity: f64) -> Result<Vec<Bound>> {
        let mut binaries = Vec::new();
        for subsystem in &self.all {
            let found = subsystem.binaries(gravity)?;
            binaries.extend(found.iter().map(|binary| Bound::of(binary, |row| subsystem.members[row])));
        }
        Ok(binaries)
    }
}

/// Returns a subsystem in a line: the numbers of its bodies from 1, whether others are close, the columns
/// of its centre of mass, and positions and velocities around it.
fn line(subsystem: &Subsystem, snapshot: &Snapshot) -> String {
    let Subsystem { members, centre, inner, is_close, .. } = subsystem;
    let numbers = |numbers: &mut dyn Iterator<Item = f64>| {
        numbers.map(|number| format!("{number:e}")).collect::<Vec<_>>().join(" ")
    };
    let members: Vec<String> = members.iter().map(|member| (member + 1).to_string()).collect();
    let motions = inner.positions.iter().zip(&inner.velocities);
    let motions = numbers(&mut motions.flat_map(|(position, velocity)| [*position, *velocity]).flatten());
    let centre = numbers(&mut snapshot.numbers(centre));
    format!("bodies {} close {} centre {centre} inside {motions}", members.join(" "), u8::from(*is_close))
}

/// Reads what [`line`] returns, where bodies have this many vectors.
fn parse(line: &str, vectors: usize) -> Option<Subsystem> {
    let (members, rest) = line.strip_prefix("bodies ")?.split_once(" close ")?;
    let (is_close, rest) = rest.split_once(" centre ")?;
    let (centre, motions) = rest.split_once(" inside ")?;
    let finite = |word: &str| word.parse().ok().filter(|number: &f64| number.is_finite());
    let numbers = |words: &str| words.split_whitespace().map(finite).collect::<Option<Vec<f64>>>();
    let member = |word: &str| word.parse::<usize>().ok()?.checked_sub(1);
    let members: Vec<usize> = members.split_whitespace().map(member).collect::<Option<_>>()?;
    let (centre, motions) = (numbers(centre)?, numbers(motions)?);
    if members.len() < 2 || centre.len() != 2 + 3 * vectors || motions.len() != 6 * members.len() {
        return None;
    }
    let rows: &[[Vector; 2]] = motions.as_chunks().0.as_chunks().0;
    let mut subsystem = Subsystem::default();
    subsystem.is_close = ["0", "1"].iter().position(|word| *word == is_close)? == 1;
    subsystem.members = members;
    subsystem.centre = body(&centre);
    subsystem.inner.positions = rows.iter().map(|row| row[0]).collect();
    subsystem.inner.velocities = rows.iter().map(|row| row[1]).collect();
    Some(subsystem)
}

/// Returns the distance at which subsystems form in a run, 0 for one that is chosen, `None` without them.
pub fn radius(arguments: &Arguments, plan: &Plan, resumed: Option<&Snapshot>) -> Result<Option<f64>> {
    const OPTION: &str = "--subsystems";
    let before = resumed.and_then(|snapshot| snapshot.subsystems.as_ref()).map(|subsystems| subsystems.radius);
    let radius = match arguments.subsystems {
        None => before,
        Some(0.0) => None,
        Some(f64::INFINITY) => Some(before.unwrap_or(0.0)),
        Some(radius) if radius > 0.0 => Some(radius),
        Some(radius) => {
            return Err(wrong(OPTION, shown(radius), "numbers from zero, or none for a radius that is chosen".into()));
        }
    };
    let Some(radius) = radius else { return Ok(None) };
    let found = match plan.order {
        Order::Second => "order 2".into(),
        _ if plan.softening > 0.0 => format!("--eps {}", shown(plan.softening)),
        _ => return Ok(Some(radius)),
    };
    let value = if arguments.subsystems.is_none() { "in the snapshot" } else { "given" };
    let allowed = "with --order 4, 6 or 8 and --eps 0; in other runs --subsystems 0";
    Err(wrong(OPTION, format!("{value} with {found}"), allowed.into()))
}

/// Makes the integrator of the bodies of a meeting, which it takes. A radius is that of subsystems. Where
/// those of the meeting form at another one, all begin anew.
pub fn integrator(
    system: System,
    meeting: &mut Snapshot,
    fields: Fields,
    radius: Option<f64>,
) -> Result<Box<dyn Integrator + Send>> {
    let bodies = std::mem::take(&mut meeting.bodies).into_owned();
    let before = meeting.subsystems.take();
    let Some(radius) = radius else {
        return Ok(kyoho_integrators::in_fields(system, &meeting.plan, bodies, fields)?);
    };
    let mut integrator = kyoho_integrators::in_fields(system, &meeting.plan, Vec::new(), fields)?;
    integrator.set_subsystems(Some(radius))?;
    let goes_on = before.as_ref().is_some_and(|before| before.radius == radius);
    let is_known = goes_on && bodies.iter().all(|body| body.step > 0.0);
    integrator.resume(bodies, before.map_or_else(Vec::new, |before| before.all), radius)?;
    if !is_known {
        integrator.start()?;
    }
    Ok(integrator)
}
