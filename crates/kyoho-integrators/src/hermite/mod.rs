//! The Hermite schemes with block time steps (Makino & Aarseth 1992, PASJ 44, 141; Nitadori &
//! Makino 2008).
//!
//! Times are fractions of the interval at whose end all bodies meet, and steps are powers of two of
//! it. So sums of them are exact, no step crosses a meeting, and the times that the library sees
//! begin at zero in each interval.

mod block;
mod criterion;
mod on_device;
mod passages;
mod schedule;
mod scheme;

use kyoho_core::{Error, Nearest, Result, memory};
use kyoho_engine::System;
use kyoho_hal::threads::Threads;
use kyoho_methods::block_steps::WATCHED;

use super::body::Body;
use super::encounters::{Encounter, Encounters};
use super::fields::Fields;
use super::numbering::Numbering;
use super::plan::Plan;
use super::{Approach, Counts, EnergyJump, GoOn, Integrator, closer};

use block::{Block, FAR, Moving};
use criterion::Criterion;
use passages::Passages;
use schedule::Schedule;
use scheme::given;

pub use scheme::Scheme;

/// The Hermite integrator.
pub struct Hermite {
    system: System,
    plan: Plan,
    scheme: &'static Scheme,
    criterion: Criterion,
    /// The bodies at the last meeting.
    bodies: Vec<Body>,
    /// The bodies between meetings, by their numbers.
    moving: Vec<Moving>,
    numbering: Numbering,
    schedule: Schedule,
    /// The bodies of the block, ascending.
    members: Vec<usize>,
    /// The times when they are due next.
    due: Vec<f64>,
    /// Threads that advance them.
    threads: Threads,
    approach: Option<Approach>,
    passages: Passages,
    energy_jump: Option<EnergyJump>,
    encounters: Option<Encounters>,
    fields: Fields,
    reached: f64,
    counts: Counts,
    /// The block steps that a device made.
    of_device: u64,
}

impl Hermite {
    /// Makes an integrator of these bodies. Those without a step get their first forces and steps.
    pub fn new(
        system: System,
        plan: Plan,
        scheme: &'static Scheme,
        (bodies, fields): (Vec<Body>, Fields),
    ) -> Result<Hermite> {
        let mut hermite = Hermite {
            threads: Threads::alone(),
            criterion: Criterion::new(&plan),
            system,
            plan,
            scheme,
            bodies,
            moving: Vec::new(),
            numbering: Numbering::default(),
            schedule: Schedule::default(),
            members: Vec::new(),
            due: Vec::new(),
            approach: None,
            passages: Passages::default(),
            energy_jump: None,
            encounters: None,
            fields,
            reached: 0.0,
            counts: Counts::default(),
            of_device: 0,
        };
        hermite.make_room()?;
        if hermite.bodies.iter().any(|body| body.step <= 0.0) {
            hermite.start()?;
        }
        Ok(hermite)
    }

    /// Makes room for all bodies between meetings.
    fn make_room(&mut self) -> Result<()> {
        let n = self.bodies.len();
        self.threads = if n < FAR { Threads::alone() } else { Threads::for_copies(self.system.setup().threads) };
        self.moving.clear();
        self.members.clear();
        // Other bodies may be at their places.
        self.passages.clear();
        memory::reserve(&mut self.moving, n, "bodies between meetings")?;
        memory::reserve(&mut self.members, n, "the bodies of a block")
    }

    /// Numbers the bodies anew. Who looks for encounters finds bodies without mass too.
    fn number(&mut self) -> Result<()> {
        let new = Numbering::of(&self.bodies, self.encounters.is_some())?;
        if new != self.numbering {
            self.passages.clear();
            self.numbering = new;
        }
        Ok(())
    }

    /// Computes this many derivatives of each body's velocity at the bodies' places, and the first
    /// steps that they want.
    fn pass(&mut self, known: usize) -> Result<()> {
        self.send_all()?;
        let (bodies, numbering) = (&mut self.bodies, &self.numbering);
        let sinks = (0..bodies.len()).map(|number| bodies[numbering.place(number)].sink(number, self.plan.softening));
        self.system.set_time(0.0)?;
        let forces = self.system.force(numbering.sources(), true, sinks)?;
        let body = |number: usize| {
            let place = numbering.place(number);
            (place, [bodies[place].position, bodies[place].velocity])
        };
        let with_fields = self.fields.derivatives(0.0, (bodies.len(), known), body, |number| given(&forces, number))?;
        for number in 0..bodies.len() {
            let body = &mut bodies[numbering.place(number)];
            let found = with_fields.get(number).copied().unwrap_or_else(|| given(&forces, number));
            body.derivatives[..known].copy_from_slice(&found[..known]);
            let nearest = forces.nearest(number).unwrap_or(Nearest::NONE);
            let distance = nearest.distance2.sqrt().hypot(self.plan.softening);
            if distance == 0.0 {
                let places = [number, nearest.index as usize].map(|number| numbering.place(number) as i64);
                return Err(Error::SamePlace { bodies: places });
            }
            body.step = self.criterion.first(self.scheme, body, distance);
        }
        Ok(())
    }

    /// Writes the bodies that are sources at the start of the interval.
    fn send_all(&mut self) -> Result<()> {
        let (bodies, numbering) = (&self.bodies, &self.numbering);
        let body_at = |number: usize| (number, &bodies[numbering.place(number)], 0.0);
        write(&mut self.system, &self.plan, numbering.sources(), body_at)?;
        self.system.keep_sources_below(numbering.sources())
    }

    /// Advances the bodies that are due next, and returns the fraction of the interval that is
    /// done.
    fn block_step(&mut self) -> Result<f64> {
        let now = self.schedule.take(&mut self.members);
        self.advance_members(now, true)?;
        Ok(now)
    }

    /// Advances all bodies to a time at which some were advanced last, so that they meet there.
    fn meet(&mut self, now: f64) -> Result<()> {
        let block = Block { scheme: self.scheme, criterion: self.criterion, plan: &self.plan, now };
        self.members.clear();
        for (number, moving) in self.moving.iter_mut().enumerate() {
            let step = block.since_last_step(&moving.body);
            if step > 0.0 {
                moving.body.step = step;
                self.members.push(number);
            }
        }
        if self.members.is_empty() { Ok(()) } else { self.advance_members(now, false) }
    }

    /// Whether an interval ends with the block step to a time, as the caller wants, bodies encounter
    /// each other, or all meet.
    fn ends(&mut self, now: f64, go_on: &mut GoOn) -> bool {
        let goes_on = go_on(now, self.counts.block_steps);
        self.encounters.as_mut().is_some_and(Encounters::is_met) || !goes_on || now == 1.0
    }

    /// Advances the members of the block to a time. If they go on from there, they are scheduled
    /// for their next steps, and encounters are looked for.
    fn advance_members(&mut self, now: f64, go_on: bool) -> Result<()> {
        let (members, moving, plan) = (&self.members, &mut self.moving, &self.plan);
        let numbering = &self.numbering;
        let block = Block { scheme: self.scheme, criterion: self.criterion, plan, now };
        let (time, sources) = (now * plan.interval, numbering.sources());
        self.system.set_time(time)?;
        self.system.start_from_fn(sources, true, members.len(), |place| block.sink(moving, members, place))?;
        let forces = self.system.wait()?;
        let is_watched = members.len() <= WATCHED;
        let nearest = closer(self.approach.filter(|_| !is_watched), time, members, &forces);
        self.approach = nearer(self.approach, nearest);
        if let Some(encounters) = self.encounters.as_mut().filter(|_| go_on) {
            encounters.look(members, forces.nearest_sources(), |number| block.position(moving, members, number))?;
        }
        memory::lengthen(&mut self.due, members.len(), "the bodies of a block", || 0.0)?;
        let due = &mut self.due[..members.len()];
        let forces = self.system.forces()?;
        let body = |place: usize| {
            let [position, velocity, ..] = block.sink(moving, members, place).derivatives;
            (numbering.place(members[place]), [position, velocity])
        };
        let counts = (members.len(), self.scheme.given());
        let with_fields = self.fields.derivatives(time, counts, body, |place| given(&forces, place))?;
        let limited = block.advance((&forces, with_fields), moving, members, due, &self.threads);
        self.counts.limited_steps += limited;
        if let Some(Approach { bodies, .. }) = nearest.filter(|_| is_watched) {
            let pair = bodies.map(|number| (number, block.at_time(moving, members, number)));
            let jump = self.passages.follow(plan, &pair, time, limited);
            self.counts.energy_jumps += u64::from(jump.is_some());
            self.energy_jump = jump.or(self.energy_jump);
        }
        if go_on {
            members.iter().zip(due).try_for_each(|(number, due)| self.schedule.put(*number, *due))?;
            let body_at = |place: usize| (members[place], &moving[members[place]].body, time);
            // They ascend, and sources come first.
            let written = members.partition_point(|number| *number < sources);
            write(&mut self.system, plan, written, body_at)?;
        }
        self.counts.steps += members.len() as u64;
        self.counts.block_steps += 1;
        Ok(())
    }
}

/// Returns the closer of two approaches; of equal ones the first.
fn nearer(closest: Option<Approach>, other: Option<Approach>) -> Option<Approach> {
    let other = other.filter(|other| closest.is_none_or(|closest| other.distance < closest.distance));
    other.or(closest)
}

/// Writes bodies at their times as sources to the addresses of their numbers, by several threads if
/// they are many.
fn write<'a>(
    system: &mut System,
    plan: &Plan,
    count: usize,
    body_at: impl Fn(usize) -> (usize, &'a Body, f64) + Sync,
) -> Result<()> {
    let Plan { order, gravity, .. } = *plan;
    if system.interaction().has_low_limbs() {
        return (0..count).try_for_each(|place| {
            let (number, body, time) = body_at(place);
            system.set_quad_source(number, &body.quad_source(number, gravity, time))
        });
    }
    let source_at = |place: usize| {
        let (number, body, time) = body_at(place);
        body.source(order, number, gravity, time)
    };
    if system.record_sources(count, |place| body_at(place).0, source_at)? {
        return Ok(());
    }
    (0..count).try_for_each(|place| system.set_source(body_at(place).0, &source_at(place)))
}

impl Integrator for Hermite {
    fn advance(&mut self, go_on: &mut GoOn) -> Result<Option<Approach>> {
        (self.approach, self.energy_jump, self.reached) = (None, None, 0.0);
        self.encounters.iter_mut().for_each(Encounters::clear);
        self.number()?;
        self.send_all()?;
        self.schedule.begin(0.0);
        self.moving.clear();
        for number in 0..self.bodies.len() {
            let body = &self.bodies[self.numbering.place(number)];
            let fraction = self.plan.fraction(body.step);
            self.schedule.put(number, fraction)?;
            // Snapshots do not have the rounding errors, and a resumed run has to give the same
            // bits.
            let body = Body { step: fraction * self.plan.interval, ..*body };
            self.moving.push(Moving { lost: [[0.0; 3]; 2], body });
        }
        let mut done = 0.0;
        let mut ends = false;
        while let Some(reached) = if ends { None } else { self.steps_on_device(done, go_on)? } {
            (done, ends) = reached;
        }
        while !ends {
            done = self.block_step()?;
            ends = self.ends(done, go_on);
        }
        if done < 1.0 {
            self.meet(done)?;
        }
        for (number, moving) in self.moving.iter().enumerate() {
            self.bodies[self.numbering.place(number)] = moving.body;
        }
        self.passages.count_from(done * self.plan.interval);
        self.reached = done;
        Ok(self.approach.map(|approach| Approach { bodies: self.numbering.pair(approach.bodies), ..approach }))
    }

    fn reached(&self) -> f64 {
        self.reached
    }

    fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    fn bodies_mut(&mut self) -> &mut Vec<Body> {
        &mut self.bodies
    }

    /// Snap and crackle need the accelerations and jerks of all bodies, which a first pass finds.
    fn start(&mut self) -> Result<()> {
        self.make_room()?;
        self.number()?;
        let mut known = 0;
        while known < self.scheme.given() {
            known = if known == 0 { 2 } else { self.scheme.given() };
            self.pass(known)?;
        }
        for body in &mut self.bodies {
            self.counts.limited_steps += u64::from(self.plan.is_limited(body.step));
            body.step = self.plan.allowed(body.step);
        }
        Ok(())
    }

    fn resume(&mut self, bodies: Vec<Body>) -> Result<()> {
        let before = std::mem::replace(&mut self.bodies, bodies);
        self.make_room().inspect_err(|_| self.bodies = before)
    }

    fn set_plan(&mut self, plan: Plan) {
        self.criterion = Criterion::new(&plan);
        self.plan = plan;
    }

    fn watch(&mut self, encounters: Option<Encounters>) {
        self.encounters = encounters;
    }

    fn fields(&self) -> &Fields {
        &self.fields
    }

    fn fields_mut(&mut self) -> &mut Fields {
        &mut self.fields
    }

    fn field_energy(&mut self, time: f64) -> Result<f64> {
        self.fields.energy(&self.bodies, time)
    }

    fn encounters(&self) -> &[Encounter] {
        self.encounters.as_ref().map_or(&[], Encounters::found)
    }

    fn energy_jump(&self) -> Option<EnergyJump> {
        self.energy_jump.map(|jump| EnergyJump { bodies: self.numbering.pair(jump.bodies), ..jump })
    }

    fn block_steps_of_device(&self) -> u64 {
        self.of_device
    }

    fn counts(&self) -> Counts {
        Counts { interactions: self.system.statistics().interactions, ..self.counts }
    }
}

#[cfg(test)]
mod tests;
