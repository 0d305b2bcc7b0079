//! Which bodies form subsystems, and when these part.

use kyoho_core::error::shown;
use kyoho_core::{Error, Result, memory};
use kyoho_few_body::{MOST_BODIES, kepler};

use super::super::Hermite;
use super::super::block::Moving;
use super::{CLOSE, LEAVE, RESOLVED, Subsystems, WHAT};
use crate::body::{Body, Vector, length, vector};
use crate::subsystems::Subsystem;

/// Returns the axis along which places are farthest apart; of equal ones the first.
pub(super) fn longest_axis(places: impl Iterator<Item = Vector>) -> usize {
    let mut ends = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
    for place in places {
        ends = [vector(|k| ends[0][k].min(place[k])), vector(|k| ends[1][k].max(place[k]))];
    }
    let extent = |axis: usize| ends[1][axis] - ends[0][axis];
    (1..3).fold(0, |longest, axis| if extent(axis) > extent(longest) { axis } else { longest })
}

impl Subsystems {
    /// Forgets all and finds them anew among bodies by their numbers.
    pub fn find(&mut self, count: usize, gravity: f64, body: impl Fn(usize) -> Body) -> Result<()> {
        self.gravity = gravity;
        if self.is_chosen {
            self.radius = usual_radius(count, &body)?;
        }
        let mut parts = Joined::new(count)?;
        // Along the axis on which they are farthest apart, so that only those next to one another are
        // compared.
        let axis = longest_axis((0..count).map(|number| body(number).position));
        let mut order = memory::collected(0..count, WHAT)?;
        order.sort_unstable_by(|one, other| body(*one).position[axis].total_cmp(&body(*other).position[axis]));
        for (place, &one) in order.iter().enumerate() {
            let first = body(one);
            for &other in &order[place + 1..] {
                let second = body(other);
                if second.position[axis] - first.position[axis] >= self.leave() {
                    break;
                }
                if joins(&first, &second, self.radius, gravity) {
                    parts.join([one, other]);
                }
            }
        }
        // Those that were there keep the digits of their motion.
        let mut before = std::mem::take(&mut self.all);
        before.sort_unstable_by_key(|subsystem| subsystem.members[0]);
        for members in parts.sets()?.into_iter().filter(|members| members.len() > 1) {
            self.require_few(members.len())?;
            let same = before.binary_search_by_key(&members[0], |before| before.members[0]);
            let is_kept = |before: &&Subsystem| before.is_of(&members, &body);
            let kept = same.ok().map(|place| &before[place]).filter(is_kept);
            let mut subsystem = match kept {
                Some(before) => before.with_masses(|member| body(member).mass)?,
                None => {
                    let mut alone = memory::room(members.len(), WHAT)?;
                    for &number in &members {
                        alone.push(Subsystem::alone(number, &body(number))?);
                    }
                    Subsystem::joined(&alone)?
                }
            };
            subsystem.require_apart()?;
            subsystem.average(gravity, self.leave());
            if kept.is_none() {
                let near = RESOLVED * subsystem.extent(self.leave());
                let from = |number: usize| vector(|k| body(number).position[k] - subsystem.centre.position[k]);
                let first = order.partition_point(|number| from(*number)[axis] < -near);
                let mut others = order[first..].iter().take_while(|number| from(**number)[axis] < near);
                subsystem.is_close =
                    others.any(|number| length(&from(*number)) < near && members.binary_search(number).is_err());
            }
            memory::push(&mut self.all, subsystem, WHAT)?;
        }
        self.name_roles(count)
    }

    /// Fails if a subsystem has too many bodies.
    fn require_few(&self, bodies: usize) -> Result<()> {
        if bodies <= MOST_BODIES {
            return Ok(());
        }
        Err(Error::BadOption {
            name: "subsystem_radius".into(),
            value: shown(self.radius),
            allowed: format!("less: {bodies} bodies come together within it, at most {MOST_BODIES} can"),
        })
    }

    /// Returns the hard binaries among the members of a subsystem, and members alone.
    fn atoms(&self, subsystem: &Subsystem, gravity: f64) -> Result<Vec<Atom>> {
        let inner = &subsystem.inner;
        let count = inner.masses.len();
        let mut atoms = memory::room(count, WHAT)?;
        let mut is_bound = memory::filled(count, false, WHAT)?;
        for binary in subsystem.binaries(gravity)? {
            let &[&[one], &[other]] = &binary.members.each_ref().map(Vec::as_slice) else { continue };
            let extent = binary.orbit.apocentre();
            if extent < self.leave() {
                let mass = inner.masses[one] + inner.masses[other];
                let [first, second] = [one, other].map(|row| inner.positions[row]);
                let centre = vector(|k| first[k] + inner.masses[other] / mass * (second[k] - first[k]));
                atoms.push(Atom { rows: [one, other], centre, extent, mass });
                (is_bound[one], is_bound[other]) = (true, true);
            }
        }
        let alone = (0..count).filter(|row| !is_bound[*row]);
        atoms.extend(alone.map(|row| Atom {
            rows: [row; 2],
            centre: inner.positions[row],
            extent: 0.0,
            mass: inner.masses[row],
        }));
        Ok(atoms)
    }

    /// Returns the parts of a subsystem that have left one another, each by its rows; one if none has.
    fn parts(&self, subsystem: &Subsystem, gravity: f64) -> Result<Vec<Vec<usize>>> {
        let count = subsystem.members.len();
        let alone = if count > 2 { LEAVE * self.leave() } else { self.leave() };
        let mut parts = Joined::new(count)?;
        let atoms = self.atoms(subsystem, gravity)?;
        for (place, one) in atoms.iter().enumerate() {
            parts.join(one.rows);
            for other in &atoms[..place] {
                let distance = length(&vector(|k| other.centre[k] - one.centre[k]));
                let extents = one.extent + other.extent;
                let apart = if extents > 0.0 { LEAVE * CLOSE * extents } else { alone };
                if one.mass + other.mass > 0.0 && distance < apart {
                    parts.join([one.rows[0], other.rows[0]]);
                }
            }
        }
        parts.sets()
    }
}

/// A hard binary in a subsystem, or a member alone, whose two rows are the same.
struct Atom {
    rows: [usize; 2],
    /// The place of its centre of mass, from that of the subsystem.
    centre: Vector,
    /// The apocentre of the binary; 0 for a member alone.
    extent: f64,
    mass: f64,
}

/// Of so few bodies the radius of all counts: half of them may be one binary.
const FEW: usize = 9;

/// Up to so many bodies the radius falls with their number, of more with the distance between neighbours.
const MANY: f64 = 1024.0;

/// Returns the distance at which subsystems form where the caller names none: the radius of half the
/// bodies with mass around their median place, over twice their number, or 0.0049 of it over the cube root
/// of their number, whichever is more. Two bodies of a cluster in equilibrium that are so near pull one
/// another more than all others do by far. Where fewer than two have mass, it is by all bodies.
fn usual_radius(count: usize, body: impl Fn(usize) -> Body) -> Result<f64> {
    let mut counted = memory::collected((0..count).filter(|number| body(*number).mass != 0.0), WHAT)?;
    if counted.len() < 2 {
        counted = memory::collected(0..count, WHAT)?;
    }
    let count = counted.len();
    if count < 2 {
        return Ok(f64::MIN_POSITIVE);
    }
    let mut numbers = memory::filled(count, 0.0, WHAT)?;
    let mut ranked = |rank: usize, of: &dyn Fn(usize) -> f64| {
        numbers.iter_mut().zip(&counted).for_each(|(value, number)| *value = of(*number));
        *numbers.select_nth_unstable_by(rank, f64::total_cmp).1
    };
    let centre = [0, 1, 2].map(|k| ranked(count / 2, &|number| body(number).position[k]));
    let half = (count / 2).max(count.min(FEW) - 1);
    let radius = ranked(half, &|number| length(&vector(|k| body(number).position[k] - centre[k])));
    let count = count as f64;
    Ok(0.5 * radius / count.min(MANY * (count / MANY).cbrt()))
}

/// Whether two bodies form a subsystem: one has a mass, and they come nearer within the radius, or are
/// bound and stay near.
fn joins(one: &Body, other: &Body, radius: f64, gravity: f64) -> bool {
    let between = |of: fn(&Body) -> Vector| vector(|k| of(other)[k] - of(one)[k]);
    let (separation, velocity) = (between(|body| body.position), between(|body| body.velocity));
    let mass = gravity * (one.mass + other.mass);
    let distance = length(&separation);
    if mass <= 0.0 || one.mass < 0.0 || other.mass < 0.0 || distance >= LEAVE * radius || distance == 0.0 {
        return false;
    }
    let approach: f64 = (0..3).map(|k| separation[k] * velocity[k]).sum();
    if approach < 0.0 && distance < radius {
        return true;
    }
    let is_bound = kepler::energy(mass, separation, velocity) < 0.0;
    is_bound && kepler::orbit(mass, separation, velocity).apocentre() < LEAVE * radius
}

/// Sets that are joined: each item has a lower one of its set, or itself.
struct Joined(Vec<usize>);

impl Joined {
    fn new(count: usize) -> Result<Joined> {
        Ok(Joined(memory::collected(0..count, WHAT)?))
    }

    fn lowest(&self, mut item: usize) -> usize {
        while self.0[item] != item {
            item = self.0[item];
        }
        item
    }

    fn join(&mut self, items: [usize; 2]) {
        let [one, other] = items.map(|item| self.lowest(item));
        self.0[one.max(other)] = one.min(other);
    }

    /// Returns the sets, by their lowest items, each ascending.
    fn sets(&self) -> Result<Vec<Vec<usize>>> {
        let mut places = memory::filled(self.0.len(), usize::MAX, WHAT)?;
        let mut sets: Vec<Vec<usize>> = Vec::new();
        for item in 0..self.0.len() {
            let lowest = self.lowest(item);
            if lowest == item {
                places[item] = sets.len();
                memory::push(&mut sets, Vec::new(), WHAT)?;
            }
            memory::push(&mut sets[places[lowest]], item, WHAT)?;
        }
        Ok(sets)
    }
}

/// What becomes of a block's subsystems.
#[derive(Debug, Default)]
pub struct Changes {
    /// Numbers of bodies that need new forces and first steps.
    pub fresh: Vec<usize>,
    /// Numbers of sources to be written that are no members of the block.
    pub others: Vec<usize>,
}

impl Hermite {
    /// Forms subsystems of near pairs whose bodies are all in the block, which has been advanced to
    /// a time, and parts those whose members have left one another.
    pub(in crate::hermite) fn regroup(&mut self, time: f64, pairs: &[[usize; 2]]) -> Result<Changes> {
        let mut changes = Changes::default();
        let Some(subsystems) = &mut self.subsystems else { return Ok(changes) };
        let (moving, members) = (&mut self.moving, &self.members);
        subsystems.follow(moving, members);
        let (broken, mut made) = subsystems.broken(members, self.plan.gravity)?;
        let is_here = |number: usize| members.binary_search(&number).is_ok() && !broken.contains(&number);
        let mut joined = memory::room(2 * pairs.len(), WHAT)?;
        let mut near = memory::room(pairs.len(), WHAT)?;
        for &pair in pairs {
            let are_here = pair[0] != pair[1] && pair.into_iter().all(is_here);
            if are_here && subsystems.join(pair.map(|number| (number, &moving[number].body)), self.plan.gravity)? {
                near.push(pair);
                joined.extend(pair);
            }
        }
        joined.sort_unstable();
        joined.dedup();
        let mut sets = Joined::new(joined.len())?;
        for pair in near {
            sets.join(pair.map(|number| joined.binary_search(&number).unwrap_or_default()));
        }
        for set in sets.sets()? {
            let mut parts = memory::room(set.len(), WHAT)?;
            for number in set.into_iter().map(|item| joined[item]) {
                parts.push(match subsystems.of_centre(number) {
                    Some(subsystem) => subsystem.copied()?,
                    None => Subsystem::alone(number, &moving[number].body)?,
                });
            }
            let joined = Subsystem::joined(&parts)?;
            subsystems.require_few(joined.members.len())?;
            joined.require_apart().map_err(|error| self.numbering.named(error))?;
            memory::push(&mut made, joined, WHAT)?;
        }
        if !made.is_empty() {
            subsystems.all.retain(|subsystem| {
                let number = subsystem.members[0];
                !broken.contains(&number) && joined.binary_search(&number).is_err()
            });
        }
        for mut part in made {
            (part.time, part.is_close) = (time, true);
            part.average(self.plan.gravity, subsystems.leave());
            for &member in &part.members {
                let is_centre = member == part.members[0];
                let Body { mass, position, velocity, .. } = part.centre;
                let body = Body::new(if is_centre { mass } else { 0.0 }, position, velocity);
                moving[member] = Moving { lost: [[0.0; 3]; 2], body };
                if members.binary_search(&member).is_err() {
                    memory::push(&mut changes.others, member, WHAT)?;
                }
            }
            memory::push(&mut changes.fresh, part.members[0], WHAT)?;
            if part.members.len() > 1 {
                memory::push(&mut subsystems.all, part, WHAT)?;
            }
        }
        subsystems.is_seen &= !subsystems.all.is_empty();
        changes.fresh.sort_unstable();
        if !changes.fresh.is_empty() {
            subsystems.name_roles(moving.len())?;
        }
        // Hidden members are where their centre is.
        for subsystem in members.iter().filter_map(|number| subsystems.of_centre(*number)) {
            let centre = moving[subsystem.members[0]].body;
            for &hidden in &subsystem.members[1..] {
                moving[hidden].body = Body { mass: 0.0, ..centre };
                if members.binary_search(&hidden).is_err() && !changes.others.contains(&hidden) {
                    memory::push(&mut changes.others, hidden, WHAT)?;
                }
            }
        }
        changes.others.retain(|number| *number < self.numbering.sources());
        Ok(changes)
    }
}

impl Subsystems {
    /// Returns the centres among some numbers whose members have left one another, and their parts.
    fn broken(&self, members: &[usize], gravity: f64) -> Result<(Vec<usize>, Vec<Subsystem>)> {
        let (mut broken, mut parts) = (Vec::new(), Vec::new());
        for subsystem in members.iter().filter_map(|number| self.of_centre(*number)) {
            if let [one, other] = subsystem.inner.positions[..]
                && subsystem.centre.mass > 0.0
                && length(&vector(|k| other[k] - one[k])) < self.leave()
            {
                continue;
            }
            let rows_of_parts = self.parts(subsystem, gravity)?;
            if rows_of_parts.len() == 1 {
                continue;
            }
            memory::push(&mut broken, subsystem.members[0], WHAT)?;
            for rows in rows_of_parts {
                let mass: f64 = rows.iter().map(|&row| subsystem.inner.masses[row]).sum();
                if mass > 0.0 {
                    memory::push(&mut parts, subsystem.part(&rows)?, WHAT)?;
                    continue;
                }
                for row in rows {
                    let alone = Subsystem::alone(subsystem.members[row], &subsystem.body(row))?;
                    memory::push(&mut parts, alone, WHAT)?;
                }
            }
        }
        Ok((broken, parts))
    }

    /// Whether two numbers, of bodies or of centres, become one subsystem.
    fn join(&self, pair: [(usize, &Body); 2], gravity: f64) -> Result<bool> {
        let whole = |(number, body): (usize, &Body)| match self.of_centre(number) {
            Some(subsystem) => subsystem.copied(),
            None => Subsystem::alone(number, body),
        };
        let [one, other] = [whole(pair[0])?, whole(pair[1])?];
        let is_loose = one.members.len() + other.members.len() > 2;
        let between = vector(|k| other.centre.position[k] - one.centre.position[k]);
        let others = self.atoms(&other, gravity)?;
        for first in self.atoms(&one, gravity)? {
            for second in &others {
                let distance = length(&vector(|k| between[k] + (second.centre[k] - first.centre[k])));
                let extents = first.extent + second.extent;
                let is_near = if extents > 0.0 {
                    distance < CLOSE * extents
                } else {
                    let bodies = [one.body(first.rows[0]), other.body(second.rows[0])];
                    is_loose && distance < self.leave() || joins(&bodies[0], &bodies[1], self.radius, gravity)
                };
                if is_near && first.mass + second.mass > 0.0 {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_radius_follows_the_distance_between_neighbours_of_many_bodies() {
        let radius = |count: usize| {
            // Half of them are within 1 of the middle one.
            let place = |number: usize| 4.0 * (number as f64 + 0.5) / count as f64 - 2.0;
            // Others without mass change nothing.
            let body = |number: usize| match number % 2 {
                0 => Body::new(1.0, [place(number / 2), 0.0, 0.0], [0.0; 3]),
                _ => Body::new(0.0, [100.0, 0.0, 0.0], [0.0; 3]),
            };
            usual_radius(2 * count, body).unwrap()
        };
        for (count, expected) in [(64, 0.5 / 64.0), (1024, 0.5 / 1024.0), (8192, 0.5 / 2048.0), (65536, 0.5 / 4096.0)] {
            let found = radius(count);
            assert!((found / expected - 1.0).abs() < 0.05, "{count}: {found} {expected}");
        }
    }
}
