//! Bodies advance block by block to the end of an interval, or to where it ends before.

use kyoho_core::{Result, memory};
use kyoho_methods::block_steps::WATCHED;

use crate::encounters::{Encounter, EncounterKind, Encounters};
use crate::{Approach, GoOn, closer};

use super::block::{Block, Moving, Steps};
use super::collisions::Bodies;
use super::on_device::Turns;
use super::schedule::longest_before;
use super::scheme::given;
use super::subsystems::Changes;
use super::{Hermite, WHAT, hidden};

impl Hermite {
    /// Advances all bodies to the end of the interval, or to where it ends before.
    pub(super) fn advance_all(&mut self, go_on: &mut GoOn) -> Result<Option<Approach>> {
        (self.approach, self.energy_jump) = (None, None);
        self.encounters.iter_mut().for_each(Encounters::clear);
        self.number()?;
        self.name_members(|numbering, place| numbering.number(place));
        if let Some(subsystems) = &mut self.subsystems {
            subsystems.begin(self.bodies.len(), self.plan.gravity)?;
        }
        self.set_out();
        for Moving { body, .. } in &mut self.moving {
            // Snapshots do not have the rounding errors, and a resumed run has to give the same bits.
            body.step = self.plan.fraction(body.step) * self.plan.interval;
        }
        self.send_all()?;
        self.begin_paths()?;
        let (mut done, mut ends, mut turns) = (0.0, false, Turns::default());
        while !ends {
            (done, ends) = match self.turn_of_device(done, &mut turns, go_on)? {
                Some(reached) => (reached.time, reached.ends),
                None => {
                    if done == 0.0 {
                        self.schedule_all(0.0)?;
                    }
                    done = self.block_step()?;
                    (done, self.ends(done, go_on)?)
                }
            };
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

    /// Schedules all bodies that have steps, at a time.
    pub(super) fn schedule_all(&mut self, now: f64) -> Result<()> {
        let grouped = &self.grouped;
        let block = Block { scheme: self.scheme, criterion: self.criterion, plan: &self.plan, grouped, now };
        self.schedule.begin(now);
        for (number, Moving { body, .. }) in self.moving.iter().enumerate() {
            if body.step > 0.0 && !hidden(self.subsystems.as_ref(), number) {
                self.schedule.put(number, block.last_step(body) + body.step / self.plan.interval)?;
            }
        }
        Ok(())
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
    fn ends(&mut self, now: f64, go_on: &mut GoOn) -> Result<bool> {
        let goes_on = go_on(now, self.counts.block_steps)?;
        Ok(self.encounters.as_mut().is_some_and(Encounters::is_met) || !goes_on || now == 1.0)
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
        if grouped.is_one() {
            self.system.start_from_fn(sources, true, members.len(), sink)?;
        }
        // What happens inside of subsystems needs no forces, which a GPU sums meanwhile.
        let inside = self.subsystems.as_mut().map(|subsystems| {
            let radii = self.encounters.as_ref().filter(|encounters| encounters.has_radii());
            let radius = |number: usize| radii.map_or(0.0, |encounters| encounters.radii()[numbering.place(number)]);
            subsystems.evolve(&block, (moving, members), radius, &self.threads)
        });
        // The block is waited for after an error, too.
        let forces = if grouped.is_one() {
            self.system.wait()?
        } else {
            self.group_systems.sum(grouped, time, members, sink)?
        };
        let inside = inside.transpose().map_err(|error| numbering.named(error))?.unwrap_or_default();
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
        let felt = |place: usize| block.felt(moving, members[place], numbering.place(members[place]));
        let by_laws = self.laws.derivatives(time, counts.1, (counts.0, felt), |place| given(&forces, place))?;
        let of_all = |place: usize| by_laws.get(place).copied().unwrap_or_else(|| given(&forces, place));
        let in_fields = self.fields.derivatives(time, counts, body, of_all)?;
        let mut found = if in_fields.is_empty() { by_laws } else { in_fields };
        let mut pairs = Vec::new();
        if let Some(subsystems) = &mut self.subsystems {
            pairs = subsystems.near_pairs(members, forces.nearest_sources())?;
            let of_all = |place: usize| found.get(place).copied().unwrap_or_else(|| given(&forces, place));
            let reacting = subsystems.react(&block, (moving, members, members), of_all, &self.threads)?;
            found = if reacting.is_empty() { found } else { reacting };
        }
        let steps = Steps { due, wanted: &mut self.wanted[..members.len()], cut: cut.unwrap_or_default() };
        let limited = block.advance((&forces, found), moving, members, steps, &self.threads);
        self.counts.limited_steps += limited;
        if let Some(encounters) = colliding {
            let bodies = Bodies { moving, numbering, encounters, subsystems: self.subsystems.as_ref() };
            let between = self.collisions.look(&block, bodies, members, go_on)?;
            for (numbers, distance, time) in between {
                encounters.put(EncounterKind::Collision, numbering.pair(numbers), distance, time)?;
            }
        }
        if let Some(Approach { bodies, .. }) = nearest.filter(|_| is_watched) {
            let pair = bodies.map(|number| (number, block.at_time(moving, members, number)));
            let softening = grouped.softening(plan, bodies);
            let mut of_pair = || self.passages.follow((plan.gravity, softening), &pair, time, limited);
            let jump = if grouped.feel_both(bodies) { of_pair() } else { None };
            self.counts.energy_jumps += u64::from(jump.is_some());
            self.energy_jump = jump.or(self.energy_jump);
        }
        for Encounter { kind, bodies, distance, time } in inside {
            // Bodies without radii merge too.
            let encounters = self.encounters.get_or_insert_default();
            encounters.put(kind, numbering.pair(bodies), distance, time)?;
        }
        self.end_block((now, time), go_on, &pairs)
    }

    /// Ends a block step to a time. If its members go on, they are scheduled for their next steps. `near`
    /// are pairs that may be a subsystem.
    fn end_block(&mut self, (now, time): (f64, f64), go_on: bool, near: &[[usize; 2]]) -> Result<()> {
        self.counts.steps += self.members.len() as u64;
        self.counts.block_steps += 1;
        if self.subsystems.is_some() {
            let changes = if go_on { self.regroup(time, near)? } else { Changes::default() };
            let has_others = !changes.fresh.is_empty() || !changes.others.is_empty();
            self.go_on_with(now, go_on, changes)?;
            return if has_others { self.begin_paths() } else { Ok(()) };
        }
        if go_on {
            for (number, due) in self.members.iter().zip(&self.due) {
                self.schedule.put(*number, *due)?;
            }
            let members = std::mem::take(&mut self.members);
            let outcome = self.write_sources(&members, time);
            self.members = members;
            outcome?;
        }
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
        self.forget_wanted(&fresh);
        for (place, &number) in self.members.iter().enumerate() {
            if self.is_as_before(number, &fresh) {
                self.schedule.put(number, self.due[place])?;
            }
        }
        let members = std::mem::take(&mut self.members);
        let outcome = self.write_sources(&members, time).and_then(|()| self.write_sources(&others, time));
        self.members = members;
        outcome?;
        self.begin_fresh(now, &fresh)
    }

    /// Forgets the steps that members of a block want where others stand under their numbers now.
    pub(super) fn forget_wanted(&mut self, fresh: &[usize]) {
        for (place, &number) in self.members.iter().enumerate() {
            if !self.is_as_before(number, fresh) {
                self.wanted[place] = 0.0;
            }
        }
    }

    /// Whether the same body stands under a number as before subsystems formed and parted, of which some
    /// bodies are fresh.
    fn is_as_before(&self, number: usize, fresh: &[usize]) -> bool {
        !self.is_hidden(number) && fresh.binary_search(&number).is_err()
    }

    /// Finds the forces and first steps of bodies that are new at a time, and schedules them.
    pub(super) fn begin_fresh(&mut self, now: f64, fresh: &[usize]) -> Result<()> {
        if fresh.is_empty() {
            return Ok(());
        }
        self.subsystems.as_mut().map_or(Ok(()), |subsystems| subsystems.see_first(&self.moving))?;
        self.first_forces(now, fresh)?;
        for &number in fresh {
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
pub(super) fn nearer(closest: Option<Approach>, other: Option<Approach>) -> Option<Approach> {
    let other = other.filter(|other| closest.is_none_or(|closest| other.distance < closest.distance));
    other.or(closest)
}
