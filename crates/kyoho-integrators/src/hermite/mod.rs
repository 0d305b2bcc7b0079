//! The Hermite schemes with block time steps (Makino & Aarseth 1992, PASJ 44, 141; Nitadori &
//! Makino 2008).
//!
//! Times are fractions of the interval at whose end all bodies meet, and steps are powers of two of
//! it. So sums of them are exact, no step crosses a meeting, and the times that the library sees
//! begin at zero in each interval.

mod block;
mod collisions;
mod criterion;
mod grouped;
mod kept;
mod on_device;
mod passages;
mod schedule;
mod scheme;
mod subsystems;

use kyoho_core::error::shown;
use kyoho_core::{Error, Nearest, Result, memory};
use kyoho_hal::threads::Threads;
use kyoho_methods::block_steps::WATCHED;
use kyoho_ranks::SharedSystem;

use super::body::Body;
use super::encounters::{Encounter, Encounters};
use super::fields::Fields;
use super::groups::Groups;
use super::numbering::Numbering;
use super::plan::Plan;
use super::subsystems::Subsystem;
use super::{Approach, Counts, EnergyJump, GoOn, Integrator, closer};

use block::{Block, FAR, Moving, Steps};
use collisions::{Bodies, Collisions};
use criterion::Criterion;
use grouped::{GroupSystems, Grouped};
use kept::Kept;
use passages::Passages;
use schedule::{Schedule, longest_before};
use scheme::given;
use subsystems::{Changes, Subsystems};

pub use scheme::{MOST, Scheme};

const WHAT: &str = "the bodies of a block";

/// The Hermite integrator.
pub struct Hermite {
    system: SharedSystem,
    plan: Plan,
    scheme: &'static Scheme,
    criterion: Criterion,
    /// The bodies at the last meeting.
    bodies: Vec<Body>,
    /// The bodies between meetings, by their numbers.
    moving: Vec<Moving>,
    numbering: Numbering,
    /// The groups of bodies, and their systems in place of the one of all.
    grouped: Grouped,
    group_systems: GroupSystems,
    schedule: Schedule,
    /// The bodies of the block, ascending.
    members: Vec<usize>,
    /// The times when they are due next.
    due: Vec<f64>,
    /// The steps that they may make next, whatever the times of others.
    wanted: Vec<f64>,
    /// Threads that advance them.
    threads: Threads,
    approach: Option<Approach>,
    passages: Passages,
    energy_jump: Option<EnergyJump>,
    encounters: Option<Encounters>,
    collisions: Collisions,
    fields: Fields,
    /// Close bodies that move together, if they do.
    subsystems: Option<Subsystems>,
    reached: f64,
    counts: Counts,
    /// The block steps that a device made.
    of_device: u64,
}

impl Hermite {
    /// Makes an integrator of these bodies. Those without a step get their first forces and steps.
    pub fn new(
        system: impl Into<SharedSystem>,
        plan: Plan,
        scheme: &'static Scheme,
        (bodies, fields): (Vec<Body>, Fields),
    ) -> Result<Hermite> {
        let mut hermite = Hermite {
            threads: Threads::alone(),
            criterion: Criterion::new(&plan),
            system: system.into(),
            plan,
            scheme,
            bodies,
            moving: Vec::new(),
            numbering: Numbering::default(),
            grouped: Grouped::default(),
            group_systems: GroupSystems::default(),
            schedule: Schedule::default(),
            members: Vec::new(),
            due: Vec::new(),
            wanted: Vec::new(),
            approach: None,
            passages: Passages::default(),
            energy_jump: None,
            encounters: None,
            collisions: Collisions::default(),
            fields,
            subsystems: None,
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
        memory::reserve(&mut self.members, n, WHAT)
    }

    /// Numbers the bodies anew. Who looks for approaches finds bodies without mass too.
    fn number(&mut self) -> Result<()> {
        let new = Numbering::of(
            &self.bodies,
            self.encounters.as_ref().is_some_and(|encounters| encounters.approach() > 0.0),
        )?;
        if new != self.numbering {
            self.passages.clear();
            self.numbering = new;
        }
        self.grouped.number(&self.numbering, self.bodies.len())
    }

    /// Puts all bodies, where they are, between meetings. Steps are those of the bodies, or 0.
    fn set_out(&mut self) {
        self.moving.clear();
        for number in 0..self.bodies.len() {
            let body = self.bodies[self.numbering.place(number)];
            self.moving.push(Moving { lost: [[0.0; 3]; 2], body });
        }
        let Some(subsystems) = &self.subsystems else { return };
        for subsystem in subsystems.all().0 {
            for &member in &subsystem.members {
                self.moving[member].body = Body { mass: 0.0, ..subsystem.centre };
            }
            self.moving[subsystem.members[0]].body = subsystem.centre;
        }
    }

    /// Whether a number is that of a body that the centre of its subsystem stands for.
    fn is_hidden(&self, number: usize) -> bool {
        hidden(self.subsystems.as_ref(), number)
    }

    /// Brings bodies back from between meetings, at one time.
    fn come_back(&mut self) {
        for (number, moving) in self.moving.iter().enumerate() {
            self.bodies[self.numbering.place(number)] = moving.body;
        }
        let Some(subsystems) = &mut self.subsystems else { return };
        subsystems.follow_all(&self.moving);
        for subsystem in subsystems.all().0 {
            for (row, &member) in subsystem.members.iter().enumerate() {
                self.bodies[self.numbering.place(member)] = subsystem.body(row);
            }
        }
        self.name_members(|numbering, number| numbering.place(number));
    }

    /// Gives members of subsystems their numbers in place of places, or the other way.
    fn name_members(&mut self, name: impl Fn(&Numbering, usize) -> usize) {
        if let Some(subsystems) = &mut self.subsystems {
            subsystems.rename(|member| name(&self.numbering, member));
        }
    }

    /// Gives bodies that are at a time their forces and the first steps that they want.
    fn first_forces(&mut self, now: f64, numbers: &[usize]) -> Result<()> {
        let mut known = 0;
        while known < self.scheme.given() {
            // Snap and crackle need the accelerations and jerks of all bodies, which a first pass finds.
            known = if known == 0 { 2 } else { self.scheme.given() };
            self.pass(now, numbers, known)?;
        }
        Ok(())
    }

    /// Computes this many derivatives of the velocities of bodies at a time, whose sources have been
    /// written, and writes their sources with them. At the last pass they get the first steps that they
    /// want.
    fn pass(&mut self, now: f64, numbers: &[usize], known: usize) -> Result<()> {
        let time = now * self.plan.interval;
        let (moving, numbering, grouped) = (&mut self.moving, &self.numbering, &self.grouped);
        let (of_all, softening) = (&*moving, self.plan.softening);
        let sink = |place: usize| of_all[numbers[place]].body.sink(numbers[place], softening);
        self.system.set_time(time)?;
        let forces = if grouped.is_one() {
            self.system.force(numbering.sources(), true, numbers.len(), sink)?
        } else {
            self.group_systems.sum(grouped, time, numbers, sink)?
        };
        let body = |sink: usize| {
            let body = &moving[numbers[sink]].body;
            (numbering.place(numbers[sink]), [body.position, body.velocity])
        };
        let counts = (numbers.len(), known);
        let with_fields = self.fields.derivatives(time, counts, body, |sink| given(&forces, sink))?;
        let of_all = |sink: usize| with_fields.get(sink).copied().unwrap_or_else(|| given(&forces, sink));
        let block = Block { scheme: self.scheme, criterion: self.criterion, plan: &self.plan, grouped, now };
        let reacting = match &mut self.subsystems {
            Some(subsystems) => subsystems.react(&block, (moving, numbers, &[]), of_all)?,
            None => &[],
        };
        for (sink, &number) in numbers.iter().enumerate() {
            let body = &mut moving[number].body;
            let found = reacting.get(sink).copied().unwrap_or_else(|| of_all(sink));
            body.derivatives[..known].copy_from_slice(&found[..known]);
            let softening = grouped.softening_of_nearest(&self.plan, number, forces.nearest(sink));
            let nearest = forces.nearest(sink).unwrap_or(Nearest::NONE);
            let distance = nearest.distance2.sqrt().hypot(softening);
            if distance == 0.0 {
                let places = [number, nearest.index as usize].map(|number| numbering.place(number) as i64);
                return Err(Error::SamePlace { bodies: places });
            }
            if known == self.scheme.given() {
                body.step = self.criterion.first(self.scheme, body, distance);
            }
        }
        self.write_sources(numbers, time)
    }

    /// Writes the bodies that are sources, all at the start of the interval.
    fn send_all(&mut self) -> Result<()> {
        let sources = self.numbering.sources();
        let (moving, subsystems) = (&self.moving, self.subsystems.as_ref());
        let source_at = |number: usize| (number, index(subsystems, number), &moving[number].body, 0.0);
        if !self.grouped.is_one() {
            self.group_systems.write(&self.grouped, &self.plan, sources, source_at)?;
            return self.group_systems.keep_sources(&self.grouped);
        }
        write(&mut self.system, &self.plan, sources, source_at)?;
        self.system.keep_sources_below(sources)
    }

    /// Writes those of ascending numbers that are sources, at a time.
    fn write_sources(&mut self, numbers: &[usize], time: f64) -> Result<()> {
        let (moving, subsystems) = (&self.moving, self.subsystems.as_ref());
        let source_at = |place: usize| {
            let number = numbers[place];
            (number, index(subsystems, number), &moving[number].body, time)
        };
        // Sources come first.
        let written = numbers.partition_point(|number| *number < self.numbering.sources());
        if !self.grouped.is_one() {
            return self.group_systems.write(&self.grouped, &self.plan, written, source_at);
        }
        write(&mut self.system, &self.plan, written, source_at)
    }

    /// Advances the bodies that are due next, and returns the fraction of the interval that is
    /// done.
    fn block_step(&mut self) -> Result<f64> {
        let now = self.schedule.take(&mut self.members);
        self.advance_members(now, None)?;
        Ok(now)
    }

    /// Advances all bodies to a time at which some were advanced last, so that they meet there.
    fn meet(&mut self, now: f64) -> Result<()> {
        let (plan, grouped) = (&self.plan, &self.grouped);
        let block = Block { scheme: self.scheme, criterion: self.criterion, plan, grouped, now };
        let stepped = self.members.iter().copied().zip(self.wanted.iter().copied());
        let stepped = memory::collected(stepped, WHAT)?;
        let mut cut = Vec::new();
        self.members.clear();
        let subsystems = self.subsystems.as_ref();
        for (number, moving) in self.moving.iter_mut().enumerate().filter(|(number, _)| !hidden(subsystems, *number)) {
            let step = block.since_last_step(&moving.body);
            if step > 0.0 {
                memory::push(&mut cut, std::mem::replace(&mut moving.body.step, step), WHAT)?;
                self.members.push(number);
            }
        }
        if !self.members.is_empty() {
            self.advance_members(now, Some(&cut))?;
        }
        // The next interval has steps of its own. If each body took the longest of these below its last
        // one, those who make a block in a call would never come to an end.
        for (number, wanted) in stepped {
            let step = &mut self.moving[number].body.step;
            *step = step.max(wanted.min(2.0 * *step));
        }
        Ok(())
    }

    /// Whether an interval ends with the block step to a time, as the caller wants, bodies encounter
    /// each other, or all meet.
    fn ends(&mut self, now: f64, go_on: &mut GoOn) -> bool {
        let goes_on = go_on(now, self.counts.block_steps);
        self.encounters.as_mut().is_some_and(Encounters::is_met) || !goes_on || now == 1.0
    }

    /// Advances the members of the block to a time. If they go on from there, they are scheduled
    /// for their next steps, and approaches are looked for; collisions are in any case. If all meet
    /// there, `cut` has the steps that they were to make.
    fn advance_members(&mut self, now: f64, cut: Option<&[f64]>) -> Result<()> {
        let go_on = cut.is_none();
        let (members, moving, plan) = (&self.members, &mut self.moving, &self.plan);
        let (numbering, grouped) = (&self.numbering, &self.grouped);
        let block = Block { scheme: self.scheme, criterion: self.criterion, plan, grouped, now };
        let (time, sources) = (now * plan.interval, numbering.sources());
        self.system.set_time(time)?;
        let sink = |place: usize| block.sink(moving, members, place);
        let forces = if grouped.is_one() {
            self.system.start_from_fn(sources, true, members.len(), sink)?;
            self.system.wait()?
        } else {
            self.group_systems.sum(grouped, time, members, sink)?
        };
        let is_watched = members.len() <= WATCHED;
        let nearest = closer(self.approach.filter(|_| !is_watched), time, members, &forces);
        self.approach = nearer(self.approach, nearest);
        if let Some(encounters) = self.encounters.as_mut().filter(|_| go_on) {
            encounters.look(members, forces.nearest_sources(), time)?;
        }
        let colliding = self.encounters.as_mut().filter(|encounters| encounters.has_radii());
        if colliding.is_some() {
            self.collisions.remember(moving, members)?;
        }
        memory::lengthen(&mut self.due, members.len(), WHAT, || 0.0)?;
        memory::lengthen(&mut self.wanted, members.len(), WHAT, || 0.0)?;
        let due = &mut self.due[..members.len()];
        let forces = if grouped.is_one() { self.system.forces() } else { self.group_systems.forces() }?;
        let body = |place: usize| {
            let [position, velocity, ..] = block.sink(moving, members, place).derivatives;
            (numbering.place(members[place]), [position, velocity])
        };
        let counts = (members.len(), self.scheme.given());
        let mut found = self.fields.derivatives(time, counts, body, |place| given(&forces, place))?;
        let (mut pairs, mut inside) = (Vec::new(), Vec::new());
        if let Some(subsystems) = &mut self.subsystems {
            pairs = subsystems.near_pairs(members, &forces)?;
            let encounters = colliding.as_deref();
            let radius =
                |number: usize| encounters.map_or(0.0, |encounters| encounters.radii()[numbering.place(number)]);
            inside = subsystems.evolve(&block, (moving, members), radius, &self.threads)?;
            let of_all = |place: usize| found.get(place).copied().unwrap_or_else(|| given(&forces, place));
            let reacting = subsystems.react(&block, (moving, members, members), of_all)?;
            found = if reacting.is_empty() { found } else { reacting };
        }
        let wanted = &mut self.wanted[..members.len()];
        let steps = Steps { due, wanted, cut: cut.unwrap_or_default() };
        let limited = block.advance((&forces, found), moving, members, steps, &self.threads);
        self.counts.limited_steps += limited;
        if let Some(encounters) = colliding {
            let bodies = Bodies { moving, numbering, encounters, subsystems: self.subsystems.as_ref() };
            let between = self.collisions.look(&block, bodies, members, go_on)?;
            for (numbers, distance, time) in between.into_iter().chain(inside) {
                encounters.collide(numbering.pair(numbers), distance, time)?;
            }
        }
        if let Some(Approach { bodies, .. }) = nearest.filter(|_| is_watched) {
            let pair = bodies.map(|number| (number, block.at_time(moving, members, number)));
            let softening = grouped.softening(plan, bodies);
            let is_followed = grouped.feel_both(bodies);
            let mut of_pair = || self.passages.follow((plan.gravity, softening), &pair, time, limited);
            let jump = if is_followed { of_pair() } else { None };
            self.counts.energy_jumps += u64::from(jump.is_some());
            self.energy_jump = jump.or(self.energy_jump);
        }
        self.counts.steps += members.len() as u64;
        self.counts.block_steps += 1;
        if self.subsystems.is_some() {
            let changes = if go_on { self.regroup(time, &pairs)? } else { Changes::default() };
            let has_others = !changes.fresh.is_empty() || !changes.others.is_empty();
            self.go_on_with(now, go_on, changes)?;
            return if has_others { self.begin_paths() } else { Ok(()) };
        }
        if go_on {
            members.iter().zip(&self.due).try_for_each(|(number, due)| self.schedule.put(*number, *due))?;
            let members = std::mem::take(&mut self.members);
            let outcome = self.write_sources(&members, time);
            self.members = members;
            outcome?;
        }
        Ok(())
    }

    /// Advances all bodies to the end of the interval, or to where it ends before.
    fn advance_all(&mut self, go_on: &mut GoOn) -> Result<Option<Approach>> {
        (self.approach, self.energy_jump, self.reached) = (None, None, 0.0);
        self.encounters.iter_mut().for_each(Encounters::clear);
        self.number()?;
        self.name_members(|numbering, place| numbering.number(place));
        if let Some(subsystems) = &mut self.subsystems {
            subsystems.begin(self.bodies.len(), self.plan.gravity)?;
        }
        self.schedule.begin(0.0);
        self.set_out();
        for number in (0..self.bodies.len()).filter(|number| !hidden(self.subsystems.as_ref(), *number)) {
            let fraction = self.plan.fraction(self.moving[number].body.step);
            self.schedule.put(number, fraction)?;
            // Snapshots do not have the rounding errors, and a resumed run has to give the same
            // bits.
            self.moving[number].body.step = fraction * self.plan.interval;
        }
        self.send_all()?;
        self.begin_paths()?;
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
            // Others may have collided on their way there.
            self.encounters.as_mut().map(Encounters::is_met);
        }
        self.come_back();
        self.passages.count_from(done * self.plan.interval);
        self.reached = done;
        Ok(self.approach.map(|approach| Approach { bodies: self.numbering.pair(approach.bodies), ..approach }))
    }

    /// Finds the subsystems, forces and first steps of all bodies.
    fn start_all(&mut self) -> Result<()> {
        self.make_room()?;
        self.number()?;
        if let Some(subsystems) = &mut self.subsystems {
            let (bodies, numbering) = (&self.bodies, &self.numbering);
            subsystems.rename(|place| numbering.number(place));
            subsystems.find(bodies.len(), self.plan.gravity, |number| bodies[numbering.place(number)])?;
        }
        self.set_out();
        let before = Kept::of(self.moving.iter().map(|moving| &moving.body))?;
        self.moving.iter_mut().for_each(|moving| moving.body.step = 0.0);
        self.send_all()?;
        let shown = (0..self.bodies.len()).filter(|number| !self.is_hidden(*number));
        let numbers = memory::collected(shown, WHAT)?;
        self.first_forces(0.0, &numbers)?;
        for &number in &numbers {
            let body = &mut self.moving[number].body;
            let is_limited = before.choose(number, body, self.scheme, &self.plan);
            self.counts.limited_steps += u64::from(is_limited);
        }
        self.come_back();
        Ok(())
    }

    /// Begins to look at the paths of bodies, if they may collide.
    fn begin_paths(&mut self) -> Result<()> {
        let Some(encounters) = self.encounters.as_ref().filter(|encounters| encounters.has_radii()) else {
            return Ok(());
        };
        let (moving, numbering, subsystems) = (&self.moving[..], &self.numbering, self.subsystems.as_ref());
        self.collisions.begin(Bodies { moving, numbering, encounters, subsystems })
    }

    /// Schedules the members of a block, which has been advanced to a time, if they go on from there,
    /// as far as they are not hidden in subsystems, and begins those that are fresh.
    fn go_on_with(&mut self, now: f64, go_on: bool, changes: Changes) -> Result<()> {
        if !go_on {
            return Ok(());
        }
        let time = now * self.plan.interval;
        let Changes { fresh, others } = changes;
        for (place, &number) in self.members.iter().enumerate() {
            if !self.is_hidden(number) && fresh.binary_search(&number).is_err() {
                self.schedule.put(number, self.due[place])?;
            } else {
                // Others stand under the number now.
                self.wanted[place] = 0.0;
            }
        }
        let members = std::mem::take(&mut self.members);
        let outcome = self.write_sources(&members, time).and_then(|()| self.write_sources(&others, time));
        self.members = members;
        outcome?;
        if fresh.is_empty() {
            return Ok(());
        }
        self.first_forces(now, &fresh)?;
        for &number in &fresh {
            let body = &mut self.moving[number].body;
            self.counts.limited_steps += u64::from(self.plan.is_limited(body.step));
            let fraction = self.plan.fraction(self.plan.allowed(body.step)).min(longest_before(now));
            body.step = fraction * self.plan.interval;
            self.schedule.put(number, now + fraction)?;
        }
        Ok(())
    }
}

/// Returns the closer of two approaches; of equal ones the first.
fn nearer(closest: Option<Approach>, other: Option<Approach>) -> Option<Approach> {
    let other = other.filter(|other| closest.is_none_or(|closest| other.distance < closest.distance));
    other.or(closest)
}

/// Whether a number is that of a body that the centre of its subsystem stands for.
fn hidden(subsystems: Option<&Subsystems>, number: usize) -> bool {
    subsystems.is_some_and(|subsystems| subsystems.is_hidden(number))
}

/// Returns the index of a source, which is that of its subsystem's centre for hidden members.
fn index(subsystems: Option<&Subsystems>, number: usize) -> usize {
    subsystems.map_or(number, |subsystems| subsystems.index(number))
}

/// Writes bodies at their times as sources, each to the address of its number and with an index, by
/// several threads if they are many.
fn write<'a>(
    system: &mut SharedSystem,
    plan: &Plan,
    count: usize,
    source_at: impl Fn(usize) -> (usize, usize, &'a Body, f64) + Sync,
) -> Result<()> {
    let Plan { order, gravity, .. } = *plan;
    if system.interaction().has_low_limbs() {
        return (0..count).try_for_each(|place| {
            let (number, index, body, time) = source_at(place);
            system.set_quad_source(number, &body.quad_source(index, gravity, time))
        });
    }
    let source = |place: usize| {
        let (_, index, body, time) = source_at(place);
        body.source(order, index, gravity, time)
    };
    system.write(count, |place| source_at(place).0, source)
}

impl Integrator for Hermite {
    fn advance(&mut self, go_on: &mut GoOn) -> Result<Option<Approach>> {
        let Some(subsystems) = &self.subsystems else { return self.advance_all(go_on) };
        let (before, radius) = (subsystems.copied()?, subsystems.all().1);
        let outcome = self.advance_all(go_on);
        if let (Err(_), Some(subsystems)) = (&outcome, &mut self.subsystems) {
            subsystems.set(before, radius);
        }
        outcome
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

    fn start(&mut self) -> Result<()> {
        let outcome = self.start_all();
        if let (Err(_), Some(subsystems)) = (&outcome, &mut self.subsystems) {
            // They are found again by the next start.
            subsystems.set(Vec::new(), subsystems.all().1);
        }
        outcome
    }

    fn set_subsystems(&mut self, radius: Option<f64>) -> Result<()> {
        if radius.is_some() && self.plan.softening > 0.0 {
            return Err(Error::BadOption {
                name: "softening".into(),
                value: shown(self.plan.softening),
                allowed: "0 with subsystems, whose bodies pull one another without".into(),
            });
        }
        self.subsystems = radius.map(Subsystems::new);
        Ok(())
    }

    fn has_subsystems(&self) -> bool {
        self.subsystems.is_some()
    }

    fn subsystems(&self) -> (&[Subsystem], f64) {
        self.subsystems.as_ref().map_or((&[], 0.0), Subsystems::all)
    }

    fn keep_subsystems(&mut self, stay: &[bool]) {
        if let Some(subsystems) = &mut self.subsystems {
            subsystems.keep(stay);
        }
    }

    fn resume(&mut self, bodies: Vec<Body>, subsystems: Vec<Subsystem>, radius: f64) -> Result<()> {
        let before = std::mem::replace(&mut self.bodies, bodies);
        self.make_room().inspect_err(|_| self.bodies = before)?;
        if let Some(own) = &mut self.subsystems {
            own.set(subsystems, radius);
        }
        Ok(())
    }

    fn set_groups(&mut self, groups: Option<Groups>) -> Result<()> {
        if let Some(groups) = &groups {
            self.group_systems.make(groups.count(), &self.system)?;
        }
        self.grouped.set(groups);
        self.passages.clear();
        Ok(())
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
        let interactions = self.system.statistics().interactions + self.group_systems.interactions();
        Counts { interactions, ..self.counts }
    }
}

#[cfg(test)]
mod tests;
