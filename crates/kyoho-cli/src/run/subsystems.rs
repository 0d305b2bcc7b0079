//! Subsystems of a run: their option, and their lines in snapshots.

use kyoho_core::error::shown;
use kyoho_core::{Error, Order};
use kyoho_few_body::LARGEST;
use kyoho_integrators::Integrator;
use kyoho_integrators::body::{Body, Vector};
use kyoho_integrators::groups::Groups;
use kyoho_integrators::plan::Plan;
use kyoho_integrators::subsystems::{Subsystem, SubsystemRules};

use crate::failure::{Failure, Result};
use crate::few_body::Bound;
use crate::run::options::{Arguments, wrong};
use crate::run::snapshot::{Snapshot, Value, body, check, vectors};
use crate::run::snapshot_header::Header;

/// The subsystems of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Subsystems {
    /// The distance at which they form.
    pub radius: f64,
    /// Whether it is chosen anew wherever all begin anew.
    pub is_chosen: bool,
    /// The speed of light, if their bodies have relativistic terms.
    pub speed_of_light: Option<f64>,
    /// All that there are, of bodies by their places.
    pub all: Vec<Subsystem>,
}

const OPTION: &str = "--subsystems";
const SPEED_OPTION: &str = "--speed-of-light";

/// The names of the settings in snapshots.
const RADIUS: &str = "subsystem-radius";
const IS_CHOSEN: &str = "subsystem-radius-is-chosen";
const SPEED_OF_LIGHT: &str = "speed-of-light";
const COUNT: &str = "subsystems";

/// Returns the name of the setting of a subsystem.
fn name(place: usize) -> String {
    format!("subsystem-{}", place + 1)
}

impl Subsystems {
    /// Returns those of an integrator that was made with some rules, if it has some.
    pub fn of(integrator: &dyn Integrator, rules: Option<SubsystemRules>) -> Option<Subsystems> {
        let (all, radius) = integrator.subsystems();
        rules.map(|rules| Subsystems {
            radius,
            is_chosen: rules.radius == 0.0,
            speed_of_light: rules.speed_of_light,
            all: all.to_vec(),
        })
    }

    /// Returns their settings in a snapshot.
    pub fn settings(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let speed = self.speed_of_light.map(|speed| (SPEED_OF_LIGHT, Value::Number(speed)));
        let [radius, count] = [(RADIUS, Value::Number(self.radius)), (COUNT, Value::Count(self.all.len() as u64))];
        let is_chosen = self.is_chosen.then_some((IS_CHOSEN, Value::Count(1)));
        [radius].into_iter().chain(is_chosen).chain(speed).chain([count])
    }

    /// Returns the lines by which a text keeps them, each with its name.
    pub fn lines(&self, snapshot: &Snapshot) -> impl Iterator<Item = (String, String)> {
        self.all.iter().enumerate().map(|(place, subsystem)| (name(place), line(subsystem, snapshot)))
    }

    /// Reads the settings of a snapshot, which has none yet.
    pub fn read(header: &Header, order: Order) -> Result<Option<Subsystems>> {
        if ![RADIUS, COUNT].iter().any(|name| header.words.contains_key(*name)) {
            return Ok(None);
        }
        let radius = header.number(RADIUS, |radius| radius > 0.0 && order != Order::Second)?;
        let has_speed = header.words.contains_key(SPEED_OF_LIGHT);
        let speed = || header.number(SPEED_OF_LIGHT, |speed| speed > 0.0 && speed <= LARGEST);
        let speed_of_light = has_speed.then(speed).transpose()?;
        let has_choice = header.words.contains_key(IS_CHOSEN);
        let choice = || header.value(IS_CHOSEN, |word| ["0", "1"].iter().position(|choice| *choice == word));
        let is_chosen = has_choice.then(choice).transpose()? == Some(1);
        Ok(Some(Subsystems { radius, is_chosen, speed_of_light, all: Vec::new() }))
    }

    /// Returns how many a snapshot has.
    pub fn count(header: &Header) -> Result<usize> {
        header.value(COUNT, |word| word.parse().ok())
    }

    /// Takes them from the lines of a text, still without the masses of their bodies.
    pub fn read_lines(&mut self, header: &Header, order: Order) -> Result<()> {
        let parsed = |place| header.value(&name(place), |line| parse(line, vectors(order)));
        self.all = (0..Subsystems::count(header)?).map(parsed).collect::<Result<_>>()?;
        Ok(())
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

    /// Returns the binaries in them, and pairs of these, of bodies with names by their places.
    pub fn binaries(&self, gravity: f64, names: &[usize]) -> Result<Vec<Bound>> {
        let mut binaries = Vec::new();
        for subsystem in &self.all {
            let found = subsystem.binaries(gravity)?;
            binaries.extend(found.iter().map(|binary| Bound::of(binary, |row| names[subsystem.members[row]])));
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
    let is_close = ["0", "1"].iter().position(|word| *word == is_close)? == 1;
    let rows: &[[Vector; 2]] = motions.as_chunks().0.as_chunks().0;
    Some(subsystem(members, body(&centre), is_close, rows.iter().copied()))
}

/// Makes a subsystem of bodies with positions and velocities around its centre, still without masses.
pub fn subsystem(
    members: Vec<usize>,
    centre: Body,
    is_close: bool,
    motions: impl Iterator<Item = [Vector; 2]>,
) -> Subsystem {
    let mut subsystem = Subsystem::default();
    (subsystem.members, subsystem.centre, subsystem.is_close) = (members, centre, is_close);
    (subsystem.inner.positions, subsystem.inner.velocities) = motions.map(|[place, speed]| (place, speed)).unzip();
    subsystem
}

/// Returns how subsystems form and move in a run, `None` without them.
pub fn rules(
    arguments: &Arguments,
    (plan, groups): (&Plan, Option<&Groups>),
    resumed: Option<&Snapshot>,
) -> Result<Option<SubsystemRules>> {
    let before = resumed.and_then(|snapshot| snapshot.subsystems.as_ref());
    let speed_of_light = arguments.speed_of_light.or(before.and_then(|before| before.speed_of_light));
    if let Some(speed) = arguments.speed_of_light.filter(|speed| !(*speed > 0.0 && *speed <= LARGEST)) {
        return Err(wrong(SPEED_OPTION, shown(speed), format!("above 0, at most {LARGEST:e}")));
    }
    let Some(radius) = radius(arguments, (plan, groups), resumed)? else {
        return match arguments.speed_of_light {
            None => Ok(None),
            Some(_) => Err(wrong(
                SPEED_OPTION,
                "given without --subsystems".into(),
                "with these, whose bodies alone have relativistic terms".into(),
            )),
        };
    };
    Ok(Some(SubsystemRules { radius, speed_of_light }))
}

/// Returns the distance at which subsystems form in a run, 0 for one that is chosen, `None` without them.
fn radius(
    arguments: &Arguments,
    (plan, groups): (&Plan, Option<&Groups>),
    resumed: Option<&Snapshot>,
) -> Result<Option<f64>> {
    let before = resumed.and_then(|snapshot| snapshot.subsystems.as_ref());
    let before = before.map(|before| if before.is_chosen { 0.0 } else { before.radius });
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
        _ if groups.is_some() => "several softenings".into(),
        _ if plan.softening > 0.0 => format!("--eps {}", shown(plan.softening)),
        _ => return Ok(Some(radius)),
    };
    let value = if arguments.subsystems.is_none() { "in the snapshot" } else { "given" };
    let allowed = "with --order 4, 6 or 8 and --eps 0; in other runs --subsystems 0";
    Err(wrong(OPTION, format!("{value} with {found}"), allowed.into()))
}

/// Returns an error of an integrator with the name that the radius has here.
pub fn failure(error: Error) -> Failure {
    match error {
        Error::BadOption { name, value, allowed } if name == "subsystem_radius" => wrong(OPTION, value, allowed),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::run::snapshot::tests::{sealed, snapshot};
    use crate::run::snapshot_hdf5 as hdf5;

    const ORDERS: [Order; 3] = [Order::Fourth, Order::Sixth, Order::Eighth];

    /// Returns two bodies, copied this often, each time as one subsystem.
    fn in_subsystems(order: Order, count: usize) -> Snapshot<'static> {
        let mut found = snapshot(order);
        let centre = Body { mass: 4.0 / 3.0, ..found.bodies[0] };
        let inside = [[[0.1, 1e-300, -0.0], [1e-9, 1.0 / 3.0, 0.0]], [[-0.3, 0.0, 5e-324], [0.0, -0.1, 0.2]]];
        let mut bodies = Vec::new();
        let subsystem = |place: usize| {
            let mut subsystem = subsystem(vec![2 * place, 2 * place + 1], centre, place == 0, inside.into_iter());
            subsystem.inner.masses = vec![1.0 / 3.0, 1.0];
            bodies.extend([0, 1].map(|row| subsystem.body(row)));
            subsystem
        };
        let all = (0..count).map(subsystem).collect();
        let speed_of_light = (count > 1).then_some(1e3 / 3.0);
        found.subsystems = Some(Subsystems { radius: 0.125 / 3.0, is_chosen: count == 2, speed_of_light, all });
        if count > 0 {
            found.bodies = bodies.into();
        }
        found
    }

    fn parsed(text: &str) -> Result<Snapshot<'static>> {
        Snapshot::parse(text.as_bytes(), Path::new("snap"))
    }

    #[test]
    fn subsystems_come_back_with_the_same_bits() {
        for order in ORDERS {
            for count in [0, 1, 2, 300] {
                let snapshot = in_subsystems(order, count);
                assert_eq!(parsed(&snapshot.text()).unwrap(), snapshot);
                assert_eq!(hdf5::parse(hdf5::bytes(&snapshot).unwrap(), Path::new("snap")).unwrap(), snapshot);
            }
            let without = snapshot(order);
            assert!(!without.text().contains("subsystem"));
            assert!(hdf5::bytes(&without).unwrap().windows(9).all(|bytes| bytes != b"subsystem"));
        }
    }

    #[test]
    fn damaged_lines_are_refused() {
        let text = in_subsystems(Order::Fourth, 1).text();
        let lines = &text[..text.find("# end ").unwrap()];
        assert!(parsed(&sealed(lines)).is_ok());
        let error = |from: &str, to: &str| {
            assert!(lines.contains(from), "{lines}");
            parsed(&sealed(&lines.replacen(from, to, 1))).unwrap_err().to_string()
        };
        for (from, to) in [
            ("bodies 1 2 close", "bodies 1 close"),
            ("bodies 1 2 close", "bodies 0 2 close"),
            ("close 1", "close 2"),
            (" inside 1e-1 ", " inside nan "),
            (" inside 1e-1 ", " inside "),
            (" centre 1.3", " centre 0 1.3"),
        ] {
            let error = error(from, to);
            assert!(error.contains("cannot be the value of subsystem-1") && error.contains("line 2"), "{error}");
        }
        assert!(error("bodies 1 2 close", "bodies 1 3 close").contains("subsystem 1: it has body 3; allowed: 1 to 2"));
        assert!(error("bodies 1 2 close", "bodies 1 1 close").contains("body 1 is in it, but also in another place"));
        assert!(error("bodies 1 2 close", "bodies 2 1 close").contains("body 2 does not move as"));
        assert!(error(" inside 1e-1 ", " inside 2e-1 ").contains("subsystem 1: body 1 does not move as"));
        assert!(error(" centre 1.3", " centre 1.4").contains("allowed: that of its bodies, 1.33333"));
        assert!(error("# subsystem-1 ", "# another ").contains("the line '# subsystem-1 ...' is missing"));
        assert!(error("# subsystems 1\n", "# subsystems 2\n").contains("the line '# subsystem-2 ...' is missing"));
        assert!(error("# subsystems 1\n", "").contains("the line '# subsystems ...' is missing"));
        let radius = error("# subsystem-radius 0.04", "# subsystem-radius -0.04");
        assert!(radius.contains("cannot be the value of subsystem-radius"), "{radius}");
    }

    #[test]
    fn damaged_datasets_are_refused() {
        let error = |change: fn(&mut Subsystem)| {
            let mut snapshot = in_subsystems(Order::Sixth, 2);
            change(&mut snapshot.subsystems.as_mut().unwrap().all[1]);
            hdf5::parse(hdf5::bytes(&snapshot).unwrap(), Path::new("snap")).unwrap_err().to_string()
        };
        let number = error(|subsystem| subsystem.members[1] = 4);
        assert_eq!(number, "snap: the dataset 'subsystem_members': 5 in row 4; allowed: whole numbers from 1 to 4");
        let size = error(|subsystem| subsystem.members.truncate(1));
        assert_eq!(size, "snap: the dataset 'subsystem_sizes': 1 in row 2; allowed: whole numbers from 2 to 4");
        let rows = error(|subsystem| subsystem.inner.positions.truncate(1));
        assert_eq!(rows, "snap: the dataset 'subsystem_member_positions': its shape is [3, 3]; allowed: [4, 3]");
        assert!(error(|subsystem| subsystem.members[1] = 0).contains("subsystem 2: body 1 is in it, but also in"));
        assert!(
            error(|subsystem| subsystem.centre.mass = 5.0).contains("subsystem 2: the mass is 5; allowed: that of")
        );
    }
}
