//! Block steps that a device makes, from a state of the host to a later one.
//!
//! The device has the bodies meanwhile; the host follows what it is told of each block: how many are
//! due next, which pair was the nearest, and whether bodies may have had an encounter. After some
//! blocks all bodies come back. If something fails before, the host has what came back last.

use std::ops::Range;
use std::sync::Arc;

use kyoho_core::{Error, Result, memory};
use kyoho_methods::block_steps::{
    AddedForces, AdvancedBlock, BODY_HEAD, BlockOutcome, BlockSteps, DueBlock, STEP, StepGroups, StepRules, WANTED,
    WATCHED, body_numbers,
};

use super::Hermite;
use super::advance::nearer;
use super::block::{Block, Moving, OF_JOB};
use super::criterion::Criterion;
use super::grouped::Grouped;
use super::passages::Passages;
use super::schedule::{TICKS, ticks, time_of};
use super::scheme::Scheme;
use super::sources::{index, write, write_grouped};
use super::subsystems::{Changes, Subsystems};
use crate::body::{Body, Vector};
use crate::encounters::Encounters;
use crate::fields::Fields;
use crate::plan::Plan;
use crate::{Approach, Counts, EnergyJump, GoOn};

/// The most blocks before all bodies come back, with which the units of pairs are chosen anew.
const MOST_BLOCKS: u64 = 1 << 14;

/// The first blocks are begun one by one, so that callers who end an interval soon find the bodies no
/// further than they asked.
const FIRST_BLOCKS: u64 = 8;

/// It takes a device as long to begin and to come back as it gains in about so many blocks.
const WORTHWHILE: u64 = 64;

/// The least blocks of the host before a device goes on.
const PAUSE: u64 = 16;

/// The device gets another chain when it has this many blocks left.
const LEAST_AHEAD: usize = 16;

const WHAT: &str = "bodies on their way to a device";

/// What the host knows of blocks that a device makes.
struct Followed {
    approach: Option<Approach>,
    energy_jump: Option<EnergyJump>,
    passages: Passages,
    counts: Counts,
    /// The number of limited steps that the device has counted.
    limited: u32,
}

/// Who makes the block steps of an interval in which a device comes back wherever subsystems may form.
#[derive(Default)]
pub(super) struct Turns {
    /// The host makes those before this one.
    of_host: u64,
    /// How many it makes in its turn, before a device goes on.
    pause: u64,
}

impl Turns {
    /// Begins a turn of the host, as a device has come back after some blocks because of near bodies. It
    /// is longer each time the device has had too few.
    fn pass_to_host(&mut self, blocks: Range<u64>) {
        let is_short = blocks.end - blocks.start < WORTHWHILE;
        self.pause = if is_short { (2 * self.pause).clamp(PAUSE, MOST_BLOCKS) } else { PAUSE };
        self.of_host = blocks.end + self.pause;
    }
}

impl Hermite {
    /// Lets a device make block steps from a time on, if it is its turn: where there are no subsystems.
    pub(super) fn turn_of_device(&mut self, from: f64, turns: &mut Turns, go_on: &mut GoOn) -> Result<Option<Reached>> {
        let made = self.counts.block_steps;
        let has_subsystems = self.subsystems.as_ref().is_some_and(|subsystems| !subsystems.all().0.is_empty());
        if made < turns.of_host || has_subsystems {
            return Ok(None);
        }
        let reached = self.steps_on_device(from, go_on)?;
        match &reached {
            Some(Reached { near, .. }) if near.is_empty() => (),
            Some(_) => turns.pass_to_host(made..self.counts.block_steps),
            None => turns.of_host = u64::MAX,
        }
        Ok(reached)
    }

    /// Whether a device makes block steps where there are no subsystems, unless it does not compute the
    /// fields. Devices know no laws, no collisions and few groups.
    pub(super) fn is_for_device(&mut self) -> Result<bool> {
        let collides = self.encounters.as_ref().is_some_and(Encounters::has_radii);
        let is_of_host = collides || !self.laws.is_empty() || !self.grouped.is_for_device();
        let (bodies, sources) = (self.moving.len(), self.numbering.sources());
        if is_of_host || sources == 0 || self.system.team().is_some() {
            return Ok(false);
        }
        Ok(self.system.alone(WHAT)?.makes_block_steps(bodies, sources))
    }

    /// Lets a device make block steps from a time on, at which the bodies between meetings and their
    /// sources are. Returns where they are then. Returns `None`, and changes nothing, where no device makes
    /// such steps or one fails; of fields devices know those that they compute as CPUs do. They come back
    /// where subsystems may form.
    fn steps_on_device(&mut self, from: f64, go_on: &mut GoOn) -> Result<Option<Reached>> {
        if !self.is_for_device()? {
            return Ok(None);
        }
        let added = self.fields.kernel(self.system.alone(WHAT)?.interaction())?;
        if added.is_none() && !self.fields.is_empty() {
            return Ok(None);
        }
        match self.try_steps(from, added.as_ref(), go_on) {
            Ok(reached) => {
                if reached.time < 1.0 || !reached.near.is_empty() {
                    self.go_on_from(reached.time, &reached.near)?;
                }
                Ok(Some(reached))
            }
            Err(error) => {
                log::debug!("the host makes block steps in place of a device: {error}");
                self.encounters.iter_mut().for_each(Encounters::clear);
                self.go_on_from(from, &[])?;
                Ok(None)
            }
        }
    }

    /// Makes block steps; after an error the bodies between meetings are as they were.
    fn try_steps(&mut self, from: f64, added: Option<&Arc<AddedForces>>, go_on: &mut GoOn) -> Result<Reached> {
        // A chain goes on without the host, which computes the values of added forces.
        match self.make_steps((from, added.is_none()), added, go_on)? {
            Made::Reached(reached) => Ok(reached),
            Made::Further(blocks) => {
                self.encounters.iter_mut().for_each(Encounters::clear);
                let before = self.counts.block_steps;
                match self.make_steps((from, false), added, &mut |_, made| Ok(made - before < blocks))? {
                    Made::Reached(reached) => Ok(Reached { ends: true, ..reached }),
                    Made::Further(_) => Err(Error::Internal { what: "a device went further than it was asked".into() }),
                }
            }
        }
    }

    /// Makes block steps, in chains too if so wished. Where bodies are further than asked, nothing is
    /// changed.
    fn make_steps(
        &mut self,
        (from, chains): (f64, bool),
        added: Option<&Arc<AddedForces>>,
        go_on: &mut GoOn,
    ) -> Result<Made> {
        let given = self.scheme.given();
        let bodies = self.moving.len();
        let numbers = body_numbers(given);
        let mut rows = std::mem::take(&mut self.rows);
        memory::lengthen(&mut rows, bodies * numbers, WHAT, || 0.0)?;
        rows.truncate(bodies * numbers);
        self.threads.each(self.moving.chunks(OF_JOB).zip(rows.chunks_mut(OF_JOB * numbers)), |(moving, rows)| {
            moving.iter().zip(rows.chunks_exact_mut(numbers)).for_each(|(moving, row)| pack(moving, row));
        });
        let rules = self.rules(from);
        let groups = self.grouped.on_device(&self.plan, self.numbering.sources())?;
        if !self.grouped.is_one() {
            self.write_groups(from, &groups)?;
        }
        let device = self.system.alone(WHAT)?.begin_block_steps(&rules, (&groups, added), &rows)?;
        let mut run = Run {
            scheme: self.scheme,
            criterion: self.criterion,
            plan: &self.plan,
            grouped: &self.grouped,
            fields: &mut self.fields,
            encounters: self.encounters.as_mut(),
            subsystems: self.subsystems.as_ref(),
            near: Vec::new(),
            followed: Followed {
                approach: self.approach,
                energy_jump: self.energy_jump,
                passages: self.passages.clone(),
                counts: self.counts,
                limited: 0,
            },
            first: self.counts,
            rows,
            moving: &self.moving,
            chains,
            ahead: 0,
        };
        let outcome = run.make(device, from, go_on);
        let Run { followed, rows, first, .. } = run;
        let is_kept = matches!(outcome, Ok(Made::Reached(..)));
        let made = if is_kept { followed.counts } else { first };
        let (blocks, sinks) = (made.block_steps - first.block_steps, made.steps - first.steps);
        self.system.alone(WHAT)?.end_block_steps(blocks, sinks, self.numbering.sources());
        let outcome = outcome?;
        if is_kept {
            self.threads.each(self.moving.chunks_mut(OF_JOB).zip(rows.chunks(OF_JOB * numbers)), |(moving, rows)| {
                moving.iter_mut().zip(rows.chunks_exact(numbers)).for_each(|(moving, row)| unpack(row, moving));
            });
            if let Made::Reached(Reached { time, .. }) = outcome {
                self.name_last_block(time, rows.chunks_exact(numbers).map(|row| row[WANTED]))?;
            }
            (self.approach, self.energy_jump) = (followed.approach, followed.energy_jump);
            (self.counts, self.passages) = (followed.counts, followed.passages);
            self.of_device += blocks;
        }
        self.rows = rows;
        Ok(outcome)
    }

    /// Names the bodies of the last block, which ended at a time, with the steps that they may make next.
    fn name_last_block(&mut self, now: f64, wanted: impl Iterator<Item = f64>) -> Result<()> {
        let (plan, grouped) = (&self.plan, &self.grouped);
        let block = Block { scheme: self.scheme, criterion: self.criterion, plan, grouped, now };
        self.members.clear();
        self.wanted.clear();
        for (number, (Moving { body, .. }, wanted)) in self.moving.iter().zip(wanted).enumerate() {
            if block.since_last_step(body) == 0.0 {
                memory::push(&mut self.members, number, WHAT)?;
                memory::push(&mut self.wanted, wanted, WHAT)?;
            }
        }
        Ok(())
    }

    fn rules(&self, from: f64) -> StepRules {
        let Plan { interval, eta, shortest, longest, .. } = self.plan;
        let near = self.subsystems.as_ref().map_or(0.0, Subsystems::leave);
        StepRules {
            interval,
            now: (from, ticks(from)),
            ticks: TICKS,
            eta,
            eta_of_fourth: self.criterion.eta_of_fourth(),
            averages: self.plan.averages(),
            limits: [shortest, longest],
            approach: self.encounters.as_ref().map_or(0.0, Encounters::approach).max(near),
        }
    }

    /// Writes the sources of all groups to the system of the device, each at its address and at the time of
    /// its last step.
    fn write_groups(&mut self, now: f64, groups: &StepGroups) -> Result<()> {
        let (plan, grouped, moving) = (&self.plan, &self.grouped, &self.moving);
        let block = Block { scheme: self.scheme, criterion: self.criterion, plan, grouped, now };
        let source_at = |number: usize| {
            let body = &moving[number].body;
            (groups.places[number][1] as usize, number, body, block.last_step(body) * plan.interval)
        };
        self.system.keep_sources_below(0)?;
        write(&mut self.system, plan, self.numbering.sources(), source_at)
    }

    /// Goes on by the host from a time, at which the bodies between meetings are: pairs of the last block
    /// that are near may be subsystems from then on. It schedules the bodies and writes them as sources,
    /// each at the time of its last step.
    fn go_on_from(&mut self, now: f64, near: &[[usize; 2]]) -> Result<()> {
        let Changes { fresh, .. } = self.regroup(now * self.plan.interval, near)?;
        self.forget_wanted(&fresh);
        self.schedule_all(now)?;
        let grouped = &self.grouped;
        let block = Block { scheme: self.scheme, criterion: self.criterion, plan: &self.plan, grouped, now };
        // Those that are new have no step yet.
        let last_step = |body: &Body| if body.step > 0.0 { block.last_step(body) } else { now };
        let (moving, subsystems) = (&self.moving, self.subsystems.as_ref());
        let source_at = |number: usize| {
            let body = &moving[number].body;
            (number, index(subsystems, number), body, last_step(body) * self.plan.interval)
        };
        let systems = (&mut self.system, &mut self.group_systems);
        write_grouped(systems, (grouped, &self.plan), self.numbering.sources(), source_at)?;
        self.begin_fresh(now, &fresh)
    }
}

/// Writes a body between meetings as a device has it.
fn pack(Moving { lost, body }: &Moving, row: &mut [f64]) {
    let (head, derivatives) = row.split_at_mut(BODY_HEAD + 6);
    let [position, velocity] = [body.position, body.velocity];
    let vectors = [lost[0], lost[1], [body.step, body.step, position[0]], [position[1], position[2], velocity[0]]];
    head[..12].copy_from_slice(vectors.as_flattened());
    head[12..].copy_from_slice(&velocity[1..]);
    let given = derivatives.len();
    derivatives.copy_from_slice(&body.derivatives.as_flattened()[..given]);
}

/// Reads what [`pack`] has written.
fn unpack(row: &[f64], Moving { lost, body }: &mut Moving) {
    let vector = |place: usize| -> Vector { std::array::from_fn(|k| row[place + k]) };
    *lost = [vector(0), vector(3)];
    body.step = row[STEP];
    (body.position, body.velocity) = (vector(BODY_HEAD), vector(BODY_HEAD + 3));
    let derivatives = &row[BODY_HEAD + 6..];
    body.derivatives.as_flattened_mut()[..derivatives.len()].copy_from_slice(derivatives);
}

/// Returns a body of some mass that a device has.
fn unpacked(mass: f64, row: &[f64]) -> Body {
    let mut moving = Moving { lost: [[0.0; 3]; 2], body: Body { mass, ..Body::default() } };
    unpack(row, &mut moving);
    moving.body
}

/// Where bodies are that have come back from a device.
pub(super) struct Reached {
    /// The time of the last block, as a fraction of the interval.
    pub time: f64,
    /// Whether the interval ends with it.
    pub ends: bool,
    /// The pairs of that block that may be subsystems from then on.
    pub near: Vec<[usize; 2]>,
}

/// What became of block steps.
enum Made {
    /// The bodies have come back.
    Reached(Reached),
    /// The interval ends after this many blocks, and the device went further.
    Further(u64),
}

/// Block steps of a device while they are made.
struct Run<'a> {
    scheme: &'static Scheme,
    criterion: Criterion,
    plan: &'a Plan,
    grouped: &'a Grouped,
    fields: &'a mut Fields,
    encounters: Option<&'a mut Encounters>,
    subsystems: Option<&'a Subsystems>,
    /// The pairs of the last block that may be subsystems.
    near: Vec<[usize; 2]>,
    followed: Followed,
    /// The counts before.
    first: Counts,
    /// The bodies, as they came last.
    rows: Vec<f64>,
    /// The bodies as they were on the host, with their masses.
    moving: &'a [Moving],
    /// Whether the device makes chains of blocks.
    chains: bool,
    /// The blocks behind the one that is due that the device makes by itself, unless it halts.
    ahead: usize,
}

impl Run<'_> {
    /// Makes block steps until the interval ends or all bodies are to come back.
    fn make(&mut self, device: &mut dyn BlockSteps, from: f64, go_on: &mut GoOn) -> Result<Made> {
        let mut now = (from, ticks(from));
        // The block before the one that is due: its time, and the number of its sinks.
        let mut before: Option<(f64, usize)> = None;
        loop {
            let due = device.due()?;
            if due.is_bad {
                return Err(Error::Internal { what: "a body or a force on a device is not finite".into() });
            }
            let stop = match before {
                Some((time, sinks)) => self.end_block(device, &due, (time, sinks), go_on)?,
                None => None,
            };
            if let Some(further @ Made::Further(_)) = stop {
                return Ok(further);
            }
            now = time_of(due.bit, now.1);
            if stop.is_none() {
                self.begin_block(device, &due, now.0)?;
            }
            if let Some((time, sinks)) = before {
                self.follow(&device.outcome()?, time, sinks);
            }
            if let Some(stop) = stop {
                device.bodies(&mut self.rows)?;
                return Ok(stop);
            }
            before = Some((now.0, due.sinks));
        }
    }

    /// Ends a block to a time with so many sinks, after which another one is due. Returns what is made
    /// if nothing follows.
    fn end_block(
        &mut self,
        device: &mut dyn BlockSteps,
        due: &DueBlock,
        (time, sinks): (f64, usize),
        go_on: &mut GoOn,
    ) -> Result<Option<Made>> {
        self.followed.counts.steps += sinks as u64;
        self.followed.counts.block_steps += 1;
        if due.looks || !due.fits_chain || time == 1.0 {
            // The device has halted.
            self.ahead = 0;
        }
        if due.looks {
            self.look(device, time)?;
        }
        let goes_on = go_on(time, self.followed.counts.block_steps)?;
        let is_met = self.encounters.as_mut().is_some_and(|encounters| encounters.is_met());
        let ends = is_met || !goes_on || time == 1.0;
        if ends && self.ahead > 0 {
            return Ok(Some(Made::Further(self.made())));
        }
        let comes_back = ends || !self.near.is_empty() || self.ahead == 0 && self.made() >= MOST_BLOCKS;
        Ok(comes_back.then(|| Made::Reached(Reached { time, ends, near: std::mem::take(&mut self.near) })))
    }

    /// Begins the block that is due, unless the device does it by itself.
    fn begin_block(&mut self, device: &mut dyn BlockSteps, due: &DueBlock, now: f64) -> Result<()> {
        let begins_chain = self.chains && self.made() >= FIRST_BLOCKS && self.made() < MOST_BLOCKS;
        if self.ahead > 0 {
            self.ahead -= 1;
            if begins_chain && self.ahead <= LEAST_AHEAD {
                self.ahead += device.chain()?;
            }
            return Ok(());
        }
        // After a block that the host has looked at, the device halts all chains.
        if begins_chain && due.fits_chain && !due.looks {
            self.ahead = device.chain()? - 1;
            return Ok(());
        }
        device.advance(due, now, self.fields.values(now * self.plan.interval)?)
    }

    fn made(&self) -> u64 {
        self.followed.counts.block_steps - self.first.block_steps
    }

    /// Follows what came of a block.
    fn follow(&mut self, outcome: &BlockOutcome, now: f64, sinks: usize) {
        let limited = u64::from(outcome.limited.wrapping_sub(self.followed.limited));
        self.followed.limited = outcome.limited;
        self.followed.counts.limited_steps += limited;
        let Some((distance, [one, other])) = outcome.nearest else { return };
        let time = now * self.plan.interval;
        let nearest = Approach { distance, time, bodies: [one.min(other), one.max(other)] };
        self.followed.approach = nearer(self.followed.approach, Some(nearest));
        if sinks > WATCHED {
            return;
        }
        let (first, second) = outcome.pair.split_at(outcome.pair.len() / 2);
        let mut pair = [(one, first), (other, second)];
        pair.sort_by_key(|(number, _)| *number);
        let (plan, grouped) = (self.plan, self.grouped);
        let block = Block { scheme: self.scheme, criterion: self.criterion, plan, grouped, now };
        let pair = pair.map(|(number, row)| (number, block.predicted(&unpacked(self.moving[number].body.mass, row))));
        let softening = grouped.softening(plan, [one, other]);
        let jump = self.followed.passages.follow((plan.gravity, softening), &pair, time, limited);
        self.followed.counts.energy_jumps += u64::from(jump.is_some());
        self.followed.energy_jump = jump.or(self.followed.energy_jump);
    }

    /// Looks for approaches of the bodies of a block, and for pairs of them that may be subsystems.
    fn look(&mut self, device: &mut dyn BlockSteps, now: f64) -> Result<()> {
        let AdvancedBlock { members, nearest } = device.last_block()?;
        let members = memory::collected(members.iter().map(|member| *member as usize), WHAT)?;
        if let Some(subsystems) = self.subsystems {
            self.near = subsystems.near_pairs(&members, &nearest)?;
            self.near.retain(|pair| pair.iter().all(|number| members.binary_search(number).is_ok()));
        }
        let time = now * self.plan.interval;
        self.encounters.as_mut().map_or(Ok(()), |encounters| encounters.look(&members, &nearest, time))
    }
}

#[cfg(test)]
mod tests;
