//! The motion of members around their centre during a step, and what happens on their ways.

use kyoho_core::{Error, Result, memory};
use kyoho_few_body::averaged::{self, Relativity};
use kyoho_few_body::kepler::Orbit;
use kyoho_few_body::{End, LEAST, Options, Perturbation, System as FewBodies, Terms, evolve, perturbed};

use super::WHAT;
use super::surroundings::Surroundings;
use crate::body::{Vector, length, vector};
use crate::encounters::{Encounter, EncounterKind};
use crate::subsystems::Subsystem;

/// The largest error of a step of the inner motion.
const TOLERANCE: f64 = 1e-13;
/// A binary moves by its averaged orbit where a step is longer than its period and the tide is weaker
/// than this part of its pull.
const WEAK: f64 = 1e-6;

/// Collisions and mergers of two bodies by their numbers, at times since the start of the interval.
pub type Contacts = Vec<Encounter>;

/// A step of the members of a subsystem.
pub struct Step<'a> {
    pub gravity: f64,
    /// The distance at which members have left one another.
    pub leave: f64,
    pub speed_of_light: Option<f64>,
    /// Its length.
    pub step: f64,
    pub surroundings: &'a Surroundings,
}

impl Step<'_> {
    /// Moves the members of a subsystem over the step.
    pub fn advance(&self, subsystem: &mut Subsystem) -> Result<Contacts> {
        if self.step <= 0.0 {
            return Ok(Vec::new());
        }
        subsystem.require_apart()?;
        let mut contacts = Step::overlaps(subsystem)?;
        let orbit = subsystem.orbit(self.gravity, self.leave);
        let mut passed = 0.0;
        if let Some(orbit) = orbit.filter(|orbit| orbit.eccentricity < 1.0 && orbit.semi_major_axis > LEAST) {
            passed = self.advance_averaged(subsystem, &orbit, &mut contacts)?;
            if passed == 0.0 && self.speed_of_light.is_none() {
                passed = self.advance_perturbed(subsystem);
            }
        }
        if passed < self.step {
            let mut way = Way { step: self, began: subsystem.time, at: passed, stops: true, contacts: &mut contacts };
            way.follow(&mut subsystem.inner, &subsystem.members)?;
            centred(subsystem);
        }
        Ok(contacts)
    }

    /// Returns the members that are nearer than the sum of their radii at the start of a step. Those
    /// that move apart do not end a system of few bodies.
    fn overlaps(subsystem: &Subsystem) -> Result<Contacts> {
        let Subsystem { inner, members, time, .. } = subsystem;
        let mut contacts = Vec::new();
        if inner.radii.iter().all(|radius| *radius == 0.0) {
            return Ok(contacts);
        }
        for other in 0..members.len() {
            for one in 0..other {
                let distance = length(&vector(|k| inner.positions[other][k] - inner.positions[one][k]));
                if distance < touch(inner, [one, other]) {
                    let (kind, bodies) = (EncounterKind::Collision, [members[one], members[other]]);
                    memory::push(&mut contacts, Encounter { kind, bodies, distance, time: *time }, WHAT)?;
                }
            }
        }
        Ok(contacts)
    }

    /// Moves a binary by its averaged orbit, where that is near enough to its motion. Returns how much of
    /// the step has passed.
    fn advance_averaged(&self, subsystem: &mut Subsystem, orbit: &Orbit, contacts: &mut Contacts) -> Result<f64> {
        let (step, tide) = (self.step, |part: f64| self.surroundings.tide(part));
        if orbit.period >= step {
            return Ok(0.0);
        }
        let mass = self.gravity * subsystem.centre.mass;
        let (separation, velocity) = subsystem.pair();
        let strength = |part: f64| averaged::strength(mass, separation, velocity, &tide(part));
        let masses = [0, 1].map(|row| self.gravity * subsystem.inner.masses[row]);
        let relativity = self.speed_of_light.map(|speed| Relativity::new(masses, speed));
        let semi_latus_rectum = orbit.pericentre * (1.0 + orbit.eccentricity);
        let is_strong = relativity.is_some_and(|relativity| relativity.is_strong(semi_latus_rectum));
        if is_strong || strength(0.0).max(strength(1.0)) >= WEAK {
            return Ok(0.0);
        }
        if contacts.is_empty() && orbit.pericentre < touch(&subsystem.inner, [0, 1]) {
            let (bodies, time) = ([subsystem.members[0], subsystem.members[1]], subsystem.time + step);
            let found = Encounter { kind: EncounterKind::Collision, bodies, distance: orbit.pericentre, time };
            memory::push(contacts, found, WHAT)?;
        }
        let (pair, passed) = averaged::advance(mass, (separation, velocity), step, tide, relativity.as_ref());
        subsystem.set_pair(pair);
        Ok(passed)
    }

    /// Moves a binary that others pull little along its orbit, unless its members may touch. Returns how
    /// much of the step has passed.
    fn advance_perturbed(&self, subsystem: &mut Subsystem) -> f64 {
        let (step, mass) = (self.step, subsystem.centre.mass);
        let pull = |time: f64, separation: Vector| {
            let mut pulls = [[0.0; 3]; 2];
            self.surroundings.add(time, &subsystem.around_centre(separation), &[], &mut pulls);
            vector(|k| pulls[1][k] - pulls[0][k])
        };
        let limits = (TOLERANCE, touch(&subsystem.inner, [0, 1]));
        let (pair, passed) = perturbed::advance(self.gravity * mass, subsystem.pair(), step, limits, pull);
        if passed > 0.0 {
            subsystem.set_pair(pair);
        }
        passed
    }
}

/// Returns how near two bodies are that touch.
fn touch(inner: &FewBodies, pair: [usize; 2]) -> f64 {
    inner.radii[pair[0]] + inner.radii[pair[1]]
}

/// The way of bodies through the rest of a step.
struct Way<'a> {
    step: &'a Step<'a>,
    /// The time at which the step began, since the start of the interval.
    began: f64,
    /// How much of it has passed.
    at: f64,
    /// Whether bodies that touch are looked for.
    stops: bool,
    contacts: &'a mut Contacts,
}

impl Way<'_> {
    /// Moves bodies with these numbers to the end of the step.
    fn follow(&mut self, inner: &mut FewBodies, numbers: &[usize]) -> Result<()> {
        loop {
            let &Step { gravity, speed_of_light, step, surroundings, .. } = self.step;
            let options = Options {
                gravity,
                time: step - self.at,
                tolerance: TOLERANCE,
                speed_of_light: speed_of_light.map(|speed| (speed, Terms::USUAL)),
                stop_at_collision: self.stops,
                ..Options::default()
            };
            let rest = Shifted { surroundings, start: self.at };
            let outcome = evolve(inner, &options, Some(&rest))?;
            self.at += outcome.time;
            let (kind, pair) = match outcome.end {
                End::Time => return Ok(()),
                End::Collision(pair) => (EncounterKind::Collision, pair),
                End::Merger(pair) => (EncounterKind::Merger, pair),
                _ => {
                    let pair = closest(&inner.positions);
                    return Err(Error::SamePlace { bodies: pair.map(|row| numbers[row] as i64) });
                }
            };
            let bodies = pair.map(|row| numbers[row]);
            let apart = length(&vector(|k| inner.positions[pair[1]][k] - inner.positions[pair[0]][k]));
            // Bodies that touch where they are may be nearer.
            let distance = if kind == EncounterKind::Merger { apart } else { apart.min(touch(inner, pair)) };
            let found = Encounter { kind, bodies, distance, time: self.began + self.at };
            let is_known = self.contacts.iter().any(|known| (known.kind, known.bodies) == (kind, bodies));
            if !is_known {
                memory::push(self.contacts, found, WHAT)?;
            }
            if kind == EncounterKind::Merger {
                return self.follow_merged(inner, numbers, pair);
            }
            // They go on through one another to the end of the step.
            self.stops = false;
        }
    }

    /// Moves bodies of which two merge: the heavier one has their mass and momentum from then on. The
    /// other one, without mass, is as far from it as they were, so that no two are in one place.
    fn follow_merged(&mut self, inner: &mut FewBodies, numbers: &[usize], pair: [usize; 2]) -> Result<()> {
        let [kept, lost] = if inner.masses[pair[1]] > inner.masses[pair[0]] { [pair[1], pair[0]] } else { pair };
        let mass = inner.masses[kept] + inner.masses[lost];
        let part = inner.masses[lost] / mass;
        let apart = |rows: &[Vector]| vector(|k| rows[lost][k] - rows[kept][k]);
        let (between, relative) = (apart(&inner.positions), apart(&inner.velocities));
        inner.positions[kept] = vector(|k| inner.positions[kept][k] + part * between[k]);
        inner.velocities[kept] = vector(|k| inner.velocities[kept][k] + part * relative[k]);
        (inner.masses[kept], inner.masses[lost]) = (mass, 0.0);
        let stay = || (0..numbers.len()).filter(|row| *row != lost);
        let rows = |rows: &[Vector]| memory::collected(stay().map(|row| rows[row]), WHAT);
        let mut others = FewBodies {
            masses: memory::collected(stay().map(|row| inner.masses[row]), WHAT)?,
            positions: rows(&inner.positions)?,
            velocities: rows(&inner.velocities)?,
            radii: memory::collected(stay().map(|row| inner.radii[row]), WHAT)?,
        };
        self.follow(&mut others, &memory::collected(stay().map(|row| numbers[row]), WHAT)?)?;
        for (place, row) in stay().enumerate() {
            inner.masses[row] = others.masses[place];
            (inner.positions[row], inner.velocities[row]) = (others.positions[place], others.velocities[place]);
        }
        inner.positions[lost] = vector(|k| inner.positions[kept][k] + between[k]);
        inner.velocities[lost] = inner.velocities[kept];
        Ok(())
    }
}

/// Surroundings from a later time of the step on.
struct Shifted<'a> {
    surroundings: &'a Surroundings,
    start: f64,
}

impl Perturbation for Shifted<'_> {
    fn add(&self, time: f64, positions: &[Vector], velocities: &[Vector], accelerations: &mut [Vector]) {
        self.surroundings.add(self.start + time, positions, velocities, accelerations);
    }
}

/// Puts the centre of mass where it is again, from which rounding and near bodies take it.
fn centred(subsystem: &mut Subsystem) {
    let inner = &mut subsystem.inner;
    let total: f64 = inner.masses.iter().sum();
    for rows in [&mut inner.positions, &mut inner.velocities] {
        let mut mean = [0.0; 3];
        for (row, mass) in rows.iter().zip(&inner.masses) {
            mean = vector(|k| mean[k] + mass / total * row[k]);
        }
        rows.iter_mut().for_each(|row| *row = vector(|k| row[k] - mean[k]));
    }
}

/// Returns the two bodies that are nearest to one another.
fn closest(positions: &[Vector]) -> [usize; 2] {
    let mut found = ([0, 0], f64::INFINITY);
    for one in 0..positions.len() {
        for other in 0..one {
            let distance = (0..3).map(|k| (positions[one][k] - positions[other][k]).powi(2)).sum();
            if distance < found.1 {
                found = ([other, one], distance);
            }
        }
    }
    found.0
}
