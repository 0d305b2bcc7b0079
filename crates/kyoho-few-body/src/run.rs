//! A system under way: step after step until something ends it.

use kyoho_core::{Result, memory};

use crate::crossing::{self, crossing};
use crate::evolve::{End, Outcome, centre, put};
use crate::extrapolation::{Attempt, Extrapolation};
use crate::hierarchy::{Binary, Hierarchy};
use crate::kepler;
use crate::motion::{Clock, Motion};
use crate::options::Options;
use crate::perturbation::Perturbation;
use crate::post_newtonian::Relativity;
use crate::system::System;
use crate::vector::{Vector, difference, dot, norm, scaled, sum};

/// The part of the last step below which the rest of the interval is made in time itself.
const SHORT_REST: f64 = 1e-2;
/// The first step, in parts of the shortest time in which two bodies would fall together.
const FIRST_STEP: f64 = 0.1;
/// A passage is looked at closely where the orbit's pericentre is below this many times the distance at
/// which the bodies touch.
const NEAR: f64 = 2.0;

/// How near two bodies end a system, and whether as a merger.
struct Contact {
    distance: f64,
    is_merger: bool,
}

/// Returns the place of two bodies among the contacts.
fn place_of([one, other]: [usize; 2]) -> usize {
    let (low, high) = (one.min(other), one.max(other));
    high * (high - 1) / 2 + low
}

/// Returns the contacts of all pairs of bodies, none if no pair has one.
fn contacts(masses: &[f64], radii: &[f64], options: &Options) -> Result<Vec<Contact>> {
    let count = masses.len();
    let mut contacts = memory::room(count * count.saturating_sub(1) / 2, "pairs that may touch")?;
    for other in 1..count {
        for one in 0..other {
            let radius = |body: usize| radii.get(body).copied().unwrap_or(0.0);
            let touch = if options.stop_at_collision { radius(one) + radius(other) } else { 0.0 };
            // The innermost stable orbit of a small body around one without spin.
            let innermost =
                options.speed_of_light.map_or(0.0, |(speed, _)| 6.0 * (masses[one] + masses[other]) / (speed * speed));
            contacts.push(Contact { distance: touch.max(innermost), is_merger: innermost > touch });
        }
    }
    if contacts.iter().all(|contact| contact.distance == 0.0) {
        contacts.clear();
    }
    Ok(contacts)
}

/// A system under way.
pub struct Run<'a> {
    options: &'a Options,
    pub motion: Motion<'a>,
    pub extrapolation: Extrapolation,
    pub state: Vec<Vector>,
    /// The centre of mass at the start, where no perturbation moves it.
    centre: [Vector; 2],
    /// The contacts of pairs of bodies; empty where none can be.
    contacts: Vec<Contact>,
    /// Separations and velocities of pairs at the beginning and at the end of a step.
    pairs: [Vec<[Vector; 2]>; 2],
    /// The time so far, and what rounding took off it.
    pub time: [f64; 2],
    pub clock: Clock,
    /// The length of the next step in units of the clock.
    pub step: f64,
    /// How long the last step of the regular clock was in time.
    pub usual: f64,
    pub steps: u64,
    companions: Vec<[usize; 2]>,
}

impl<'a> Run<'a> {
    /// Takes a system whose numbers are allowed.
    pub fn new(system: &System, options: &'a Options, perturbation: Option<&'a dyn Perturbation>) -> Result<Run<'a>> {
        let relativity = options.speed_of_light.map(|(speed, terms)| Relativity::new(speed, terms));
        let mut motion = Motion::new(system.masses_by(options.gravity)?, relativity, perturbation)?;
        let centre = centre(&motion.masses, system);
        let relative = |rows: &[Vector], origin: Vector| {
            memory::collected(rows.iter().map(|&row| difference(row, origin)), "the bodies of a system")
        };
        let positions = relative(&system.positions, centre[0])?;
        let velocities = relative(&system.velocities, centre[1])?;
        let binaries = Hierarchy::of(&motion.masses, &positions, &velocities)?.binaries;
        let contacts = contacts(&motion.masses, &system.radii, options)?;
        let room = || memory::room(positions.len() * positions.len().saturating_sub(1) / 2, "pairs");
        let pairs = [room()?, room()?];
        let state = motion.state(&positions, &velocities, centre)?;
        Ok(Run {
            options,
            motion,
            extrapolation: Extrapolation::new(options.tolerance, state.len())?,
            state,
            centre,
            contacts,
            pairs,
            time: [0.0; 2],
            clock: Clock::Regular,
            step: 0.0,
            usual: 0.0,
            steps: 0,
            companions: innermost(&binaries)?,
        })
    }

    /// Chooses the first step, unless two bodies touch already.
    pub fn begin(&mut self) -> Option<End> {
        self.motion.find_pairs(&self.state, &mut self.pairs[0]);
        if let Some(end) = self.touching() {
            return Some(end);
        }
        let rate = self.motion.rate(Clock::Regular, &self.state);
        self.clock = if rate > 0.0 { Clock::Regular } else { Clock::Time };
        self.step = self.shortest_time() * FIRST_STEP * if self.clock == Clock::Regular { rate } else { 1.0 };
        None
    }

    /// Makes steps until something ends them.
    pub fn advance_to_end(&mut self) -> Result<End> {
        loop {
            if let Some(end) = self.advance()? {
                return Ok(end);
            }
        }
    }

    /// Makes a step, or tries it and chooses a shorter one; returns what ends the system, if anything
    /// does.
    pub fn advance(&mut self) -> Result<Option<End>> {
        let rest = (self.options.time - self.time[0]) - self.time[1];
        if rest <= 0.0 {
            return Ok(Some(End::Time));
        }
        if self.steps >= self.options.max_steps {
            return Ok(Some(End::Steps));
        }
        if self.clock == Clock::Regular && rest < SHORT_REST * self.usual {
            (self.clock, self.step) = (Clock::Time, rest);
        }
        if self.clock == Clock::Time {
            self.step = self.step.min(rest);
        }
        let (clock, step) = (self.clock, self.step);
        let attempt = self.extrapolation.attempt(&mut self.motion, clock, &self.state, step);
        let passed = self.extrapolation.end[self.motion.layout.scalars()][0];
        let next = match attempt {
            Attempt::Done { next } if passed > 0.0 => next,
            Attempt::Done { .. } => 0.1 * step,
            Attempt::Again { shorter } => shorter,
        };
        if !(next > 0.0 && next.is_finite()) || self.time[0] + 1e6 * passed.abs() == self.time[0] {
            return Ok(Some(End::NoStep));
        }
        if !matches!(attempt, Attempt::Done { .. }) || passed <= 0.0 {
            self.step = next;
            return Ok(None);
        }
        if passed > rest && clock == Clock::Regular {
            // A little less, so that the search ends.
            self.step *= (0.999 * rest / passed).max(1e-3);
            return Ok(None);
        }
        if !self.contacts.is_empty() {
            self.motion.find_pairs(&self.state, &mut self.pairs[0]);
            self.motion.find_pairs(&self.extrapolation.end, &mut self.pairs[1]);
            if (0..self.contacts.len()).any(|place| self.hides_passage(place, passed)) {
                self.step *= 0.5;
                return Ok(None);
            }
        }
        if clock == Clock::Regular {
            self.usual = passed;
        }
        if let Some(end) = self.find_touch(clock, step)? {
            return Ok(Some(end));
        }
        let is_last = clock == Clock::Time && step == rest;
        self.take_step(if is_last { rest } else { passed })?;
        self.step = next;
        let has_left = match self.options.stop_at_escape {
            Some(distance) => self.motion.hierarchy(&self.state)?.has_escaper(distance),
            None => false,
        };
        if has_left { self.end_by_escape().map(Some) } else { Ok(None) }
    }

    /// Returns the end that a part makes that has left.
    pub fn end_by_escape(&mut self) -> Result<End> {
        let binaries = innermost(&self.motion.hierarchy(&self.state)?.binaries)?;
        let is_exchange = binaries.iter().any(|pair| !self.companions.contains(pair));
        Ok(if is_exchange { End::Exchange } else { End::Escape })
    }

    /// Makes the end of the last attempt the state.
    fn take_step(&mut self, passed: f64) -> Result<()> {
        self.state.copy_from_slice(&self.extrapolation.end);
        let scalars = self.motion.layout.scalars();
        self.state[scalars][0] = 0.0;
        let [time, lost] = self.time;
        let added = passed + lost;
        let reached = time + added;
        self.time = [reached, added - (reached - time)];
        self.motion.epoch = reached;
        self.motion.restore_energy(&mut self.state);
        self.motion.restart_second(&mut self.state);
        self.motion.renew_links(&mut self.state)?;
        self.steps += 1;
        Ok(())
    }

    /// Returns the shortest of the times in which two bodies would fall together or pass one another.
    fn shortest_time(&self) -> f64 {
        let mut shortest = f64::INFINITY;
        for (pair, vectors) in self.motion.links.pairs().iter().zip(&self.pairs[0]) {
            let [distance, speed] = vectors.map(norm);
            let fall = distance * (distance / self.motion.mass_of(pair)).sqrt();
            shortest = shortest.min(fall).min(if speed > 0.0 { distance / speed } else { f64::INFINITY });
        }
        if shortest.is_finite() && shortest > 0.0 { shortest } else { self.options.time }
    }

    /// Returns the end that two bodies make that touch and do not move apart.
    fn touching(&self) -> Option<End> {
        let touches = |&place: &usize| {
            let [separation, velocity] = self.pairs[0][place];
            norm(separation) < self.contact(place).distance && dot(separation, velocity) <= 0.0
        };
        (0..self.contacts.len()).find(touches).map(|place| self.end_by(place))
    }

    /// Returns the contact of a pair, by its place among all.
    fn contact(&self, place: usize) -> &Contact {
        &self.contacts[place_of(self.motion.links.pairs()[place].bodies)]
    }

    /// Returns the end that the contact of a pair makes.
    fn end_by(&self, place: usize) -> End {
        let mut bodies = self.motion.links.pairs()[place].bodies;
        bodies.sort_unstable();
        if self.contact(place).is_merger { End::Merger(bodies) } else { End::Collision(bodies) }
    }

    /// Looks for the first touch within the step that was tried last; makes its moment the end.
    fn find_touch(&mut self, clock: Clock, step: f64) -> Result<Option<End>> {
        let mut first: Option<(f64, usize)> = None;
        let mut is_changed = false;
        for place in 0..self.contacts.len() {
            if !self.may_touch(place) {
                continue;
            }
            is_changed = true;
            if let Some(part) = self.moment_of_touch(place, clock, step)
                && first.is_none_or(|(earliest, _)| part < earliest)
            {
                first = Some((part, place));
            }
        }
        // The attempts above have changed the end of the step.
        if is_changed {
            let part = first.map_or(1.0, |(part, _)| part);
            self.extrapolation.repeat(&mut self.motion, clock, &self.state, part * step);
        }
        let Some((_, place)) = first else { return Ok(None) };
        let end = self.end_by(place);
        self.take_step(self.extrapolation.end[self.motion.layout.scalars()][0])?;
        Ok(Some(end))
    }

    /// Whether a pair may pass one another unseen in the step that was tried last: the step takes more
    /// than half the period of an orbit on which they may touch. In half of one they either come to the
    /// pericentre or to the apocentre.
    fn hides_passage(&self, place: usize, passed: f64) -> bool {
        let touch = self.contact(place).distance;
        let mass = self.motion.mass_of(&self.motion.links.pairs()[place]);
        mass > 0.0
            && self.pairs.iter().any(|pairs| {
                let [separation, velocity] = pairs[place];
                let orbit = kepler::orbit(mass, separation, velocity);
                orbit.pericentre < NEAR * touch && passed > 0.5 * orbit.period
            })
    }

    /// Whether a pair may touch during the step that was tried last.
    fn may_touch(&self, place: usize) -> bool {
        let touch = self.contact(place).distance;
        let mass = self.motion.mass_of(&self.motion.links.pairs()[place]);
        let [[before, speed], [after, speed_after]] = [self.pairs[0][place], self.pairs[1][place]];
        // Bodies that overlap from the start may part, and touch where they turn round or come back.
        if norm(before) < touch && dot(before, speed) > 0.0 {
            return norm(after) < touch && dot(after, speed_after) <= 0.0;
        }
        if norm(after) < touch {
            return true;
        }
        let passes = dot(before, speed) < 0.0 && dot(after, speed_after) >= 0.0;
        let near =
            |separation, velocity| mass == 0.0 || kepler::orbit(mass, separation, velocity).pericentre < NEAR * touch;
        passes && (near(before, speed) || near(after, speed_after))
    }

    /// Returns the part of a step after which a pair touches, if it does.
    fn moment_of_touch(&mut self, place: usize, clock: Clock, step: f64) -> Option<f64> {
        let touch = self.contact(place).distance;
        let at = |run: &mut Self, part: f64| {
            run.extrapolation.repeat(&mut run.motion, clock, &run.state, part * step);
            run.motion.pair(&run.extrapolation.end, place)
        };
        let depth = |separation: Vector| touch * touch - dot(separation, separation);
        let [before, speed] = self.pairs[0][place];
        if depth(before) > 0.0 && dot(before, speed) > 0.0 {
            // They part: the apocentre, if they overlap there too, or where they come back.
            let approach = |[separation, velocity]: [Vector; 2]| -dot(separation, velocity);
            let [after, speed_after] = at(self, 1.0);
            let at_ends = [[before, speed], [after, speed_after]].map(approach);
            let turn = crossing([0.0, 1.0], at_ends, |part| Some(approach(at(self, part))));
            let at_turn = depth(at(self, turn)[0]);
            if at_turn > 0.0 {
                return Some(turn);
            }
            return Some(crossing([turn, 1.0], [at_turn, depth(after)], |part| Some(depth(at(self, part)[0]))));
        }
        // The pericentre, or the end of the step if the bodies still approach then; earlier if they touch.
        let mut high = 1.0;
        let ahead = |run: &mut Self, part: f64| {
            let [separation, velocity] = at(run, part);
            (norm(separation) >= touch).then(|| dot(separation, velocity))
        };
        if let Some(value) = ahead(self, 1.0).filter(|&value| value > 0.0) {
            high = crossing([0.0, 1.0], [dot(before, speed), value], |part| ahead(self, part));
        }
        let [separation, _] = at(self, high);
        let at_high = depth(separation);
        if at_high <= 0.0 {
            return None;
        }
        let at_low = depth(before);
        if at_low >= 0.0 {
            return Some(crossing::WIDTH);
        }
        Some(crossing([0.0, high], [at_low, at_high], |part| Some(depth(at(self, part)[0]))))
    }

    /// Writes the bodies back.
    pub fn give_back(mut self, system: &mut System, end: End) -> Result<Outcome> {
        // The sum of the steps may be the next double.
        let time = if end == End::Time { self.options.time } else { self.time[0] };
        let [start, velocity] = self.centre;
        let moved = [sum(start, scaled(time, velocity)), velocity];
        let [place, speed] = self.motion.centre(&self.state).unwrap_or(moved);
        let binaries = self.motion.hierarchy(&self.state)?.binaries;
        put(system, [place, speed], self.motion.bodies(&self.state))?;
        Ok(Outcome { end, time, steps: self.steps, leapfrog_steps: self.extrapolation.leapfrog_steps, binaries })
    }
}

/// The members of the binaries of single bodies, in order.
fn innermost(binaries: &[Binary]) -> Result<Vec<[usize; 2]>> {
    let members = binaries.iter().filter_map(|binary| match binary.members.each_ref().map(Vec::as_slice) {
        [&[one], &[other]] => Some([one, other]),
        _ => None,
    });
    let mut members = memory::collected(members, "the binaries of a system")?;
    members.sort_unstable();
    Ok(members)
}
