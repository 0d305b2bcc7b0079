//! A cluster evolves to a time, or until something ends that earlier.

use kyoho_core::error::shown;
use kyoho_core::{Error, Result, memory};

use crate::encounters::{Encounter, Encounters};
use crate::plan::SHORTEST_INTERVAL;
use crate::subsystems::check_masses;
use crate::{Approach, Counts, EnergyJump, GoOn};

use super::{BODIES, Cluster};

/// The reason why an evolution ended.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvolutionEnd {
    /// The bodies have reached the time.
    Time = 0,
    /// Some bodies encounter each other, and this ends an evolution.
    Encounter = 1,
    /// As many block steps were made as were allowed.
    BlockSteps = 2,
    /// The caller refused to go on.
    Caller = 3,
}

/// An evolution that has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evolution {
    /// The reason.
    pub end: EvolutionEnd,
    /// The number of block steps.
    pub block_steps: u64,
    /// The closest approach of two bodies, by their identifiers, with its time. Order 2 finds none.
    pub approach: Option<Approach<i64>>,
}

impl Cluster {
    /// Advances all bodies to a time, or until bodies encounter each other, `block_steps` block
    /// steps were made, or `go_on` refuses, which is given the time and the number of block steps.
    /// Whatever the reason, all bodies are at one time then. After an error they are where they
    /// were, or at the last merger, or at the end of a shared step.
    pub fn evolve(
        &mut self,
        to: f64,
        block_steps: Option<u64>,
        go_on: &mut dyn FnMut(f64, u64) -> bool,
    ) -> Result<Evolution> {
        self.evolve_if(to, block_steps, Some(go_on))
    }

    pub(super) fn evolve_here(&mut self, to: f64, block_steps: Option<u64>, go_on: &mut GoOn) -> Result<Evolution> {
        if !to.is_finite() {
            return Err(Error::NotFinite { what: "the time to evolve to".into(), value: to });
        }
        let (start, interval) = (self.time, to - self.time);
        self.encounters.clear();
        if interval < 0.0 || interval > 0.0 && interval < SHORTEST_INTERVAL {
            let soon = if interval > 0.0 { format!(", and {SHORTEST_INTERVAL:e} later") } else { String::new() };
            return Err(Error::BadOption {
                name: "the time to evolve to".into(),
                value: shown(to),
                allowed: format!("from {} on, the time of the bodies{soon}", shown(start)),
            });
        }
        let mut all = Evolution { end: EvolutionEnd::Time, block_steps: 0, approach: None };
        loop {
            let before = all.block_steps;
            let left = block_steps.map(|most| most.saturating_sub(before));
            let (part, found) = self.evolve_once(to, left, &mut |time, made| go_on(time, before + made))?;
            let nearer =
                |approach: &Approach<i64>| all.approach.is_none_or(|so_far| approach.distance < so_far.distance);
            all.approach = part.approach.filter(nearer).or(all.approach);
            (all.end, all.block_steps) = (part.end, before + part.block_steps);
            if !self.meet(&found)? {
                all.end = EvolutionEnd::Encounter;
            }
            if all.end != EvolutionEnd::Time {
                return Ok(all);
            }
            // No integrator makes shorter intervals.
            if to - self.time < SHORTEST_INTERVAL {
                self.time = to;
                return Ok(all);
            }
        }
    }

    /// Fails if a mass is so small or so large that a subsystem could not have it.
    fn require_masses(&self) -> Result<()> {
        if self.choices.subsystems().is_none() {
            return Ok(());
        }
        let masses = self.identifiers.iter().zip(self.bodies()).map(|(identifier, body)| (*identifier, body.mass));
        check_masses(self.choices.gravity(), masses)
    }

    /// Advances all bodies to a time, or until something ends that earlier, and returns the encounters of
    /// bodies by their places. The end does not tell of these.
    fn evolve_once(
        &mut self,
        to: f64,
        block_steps: Option<u64>,
        go_on: &mut GoOn,
    ) -> Result<(Evolution, Vec<Encounter>)> {
        let (start, interval) = (self.time, to - self.time);
        if interval == 0.0 || self.identifiers.is_empty() {
            self.time = to;
            return Ok((Evolution { end: EvolutionEnd::Time, block_steps: 0, approach: None }, Vec::new()));
        }
        for time in [start, to] {
            self.fields().iter().try_for_each(|field| field.check_time(time))?;
        }
        self.integrator.fields_mut().start = start;
        self.integrator.laws_mut().start = start;
        self.integrator.laws_mut().group(&self.groups, self.identifiers.len())?;
        let softening = self.groups.as_one();
        let of_plan = softening.unwrap_or(self.choices.softening);
        self.integrator.set_plan(self.choices.plan(&self.setup, self.tree, (interval, of_plan))?);
        if self.has_other_groups {
            self.integrator.set_groups(if softening.is_some() { None } else { Some(self.groups.copied()?) })?;
            self.has_other_groups = false;
        }
        if self.has_other_radii {
            let radii = memory::collected(self.radii.iter().copied(), BODIES)?;
            self.integrator.watch(Encounters::new(self.choices.approach_distance, radii));
            self.has_other_radii = false;
        }
        if self.is_changed {
            self.require_masses()?;
            self.integrator.start().map_err(|error| self.named(error))?;
            self.is_changed = false;
        }
        let Counts { block_steps: before, energy_jumps, .. } = self.integrator.counts();
        let mut end = EvolutionEnd::Time;
        let mut goes_on = |fraction: f64, all: u64| {
            let made = all - before;
            let refuses = !go_on(start + fraction * interval, made)?;
            if refuses && fraction < 1.0 {
                end = EvolutionEnd::Caller;
            } else if block_steps.is_some_and(|most| made >= most) && fraction < 1.0 {
                end = EvolutionEnd::BlockSteps;
            }
            Ok(end == EvolutionEnd::Time)
        };
        let outcome = self.integrator.advance(&mut goes_on);
        let reached = self.integrator.reached();
        self.time = if reached == 1.0 { to } else { start + reached * interval };
        self.note_energy_jump(start, energy_jumps);
        let approach = outcome.map_err(|error| self.named(error))?.map(|Approach { distance, time, bodies }| {
            Approach { distance, time: start + time, bodies: bodies.map(|place| self.identifiers[place]) }
        });
        let found = self.integrator.encounters().iter();
        let found = found.map(|encounter| Encounter { time: start + encounter.time, ..*encounter });
        let block_steps = self.integrator.counts().block_steps - before;
        Ok((Evolution { end, block_steps, approach }, memory::collected(found, "encounters")?))
    }

    /// Keeps the last energy jump of an evolution that began at a time, and says so in the log: after
    /// the first one and whenever their number has doubled.
    fn note_energy_jump(&mut self, start: f64, before: u64) {
        let all = self.integrator.counts().energy_jumps;
        let Some(jump) = self.integrator.energy_jump().filter(|_| all > before) else { return };
        let jump = EnergyJump { time: start + jump.time, ..jump };
        let identifiers = jump.bodies.map(|place| self.identifiers[place]);
        self.energy_jump = Some((identifiers, jump));
        if all.ilog2() > before.checked_ilog2().unwrap_or(0) || before == 0 {
            log::warn!("{}", jump.text(all, identifiers));
        }
    }

    /// Returns the last close passage of two bodies that changed an energy, with the identifiers that
    /// they had then. [`Counts::energy_jumps`] counts them.
    pub fn energy_jump(&self) -> Option<([i64; 2], EnergyJump)> {
        self.energy_jump
    }

    /// Returns the encounters of the last evolution, of bodies by their identifiers: those that ended it,
    /// and those after which two bodies were one. There are none any more once bodies were added, changed or
    /// removed.
    pub fn encounters(&self) -> &[Encounter<i64>] {
        &self.encounters
    }
}
