//! The bodies of a block, and what subsystems give them beyond the masses at their centres.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use kyoho_core::{Error, Precision, Result, memory};
use kyoho_hal::threads::Threads;

use super::acting::{Acting, Sink, add_tides};
use super::lanes::{LANES, Lanes};
use super::moved::{Together, moved};
use super::reaction::Quadrupoles;
use super::surroundings::{NEAR, square};
use super::{CAUTION, Role, Subsystems, WHAT};
use crate::body::{Vector, vector};
use crate::hermite::block::{Block, Moving};
use crate::hermite::scheme::MOST;
use crate::subsystems::Subsystem;

/// A subsystem acts on a body as its centre alone where the rest is below this part of the body's
/// acceleration.
const LEAST_PART: f64 = 1e-12;
/// The same part where forces have errors of single precision, some 5e-8.
const LEAST_PART_OF_SINGLE: f64 = 1e-8;

/// Room of a thread for the reaction of a body.
#[derive(Debug, Default)]
pub struct Selected {
    /// The numbers of those that may act on it, or on which it may act.
    numbers: Vec<usize>,
    /// The last reaction in which the thread took part.
    reaction: u64,
    quadrupoles: Quadrupoles,
}

impl Subsystems {
    /// Returns the derivatives of the block's velocities with what subsystems add; none where there are
    /// no subsystems. `given` has those by the other forces. The bodies that are `stepping` are due at the
    /// time of the block; others have been there or will be later.
    pub fn react(
        &mut self,
        block: &Block,
        (moving, members, stepping): (&[Moving], &[usize], &[usize]),
        given: impl Fn(usize) -> [Vector; MOST] + Sync,
        threads: &Threads,
    ) -> Result<&[[Vector; MOST]]> {
        if self.all.is_empty() {
            return Ok(&[]);
        }
        self.acting.iter_mut().for_each(|acting| drop(acting.take()));
        memory::lengthen(&mut self.acting, self.all.len(), WHAT, OnceLock::new)?;
        memory::lengthen(&mut self.found, members.len(), WHAT, || [[0.0; 3]; MOST])?;
        let mut found = std::mem::take(&mut self.found);
        self.reactions += 1;
        let (failed, begun) = (OnceLock::new(), AtomicUsize::new(0));
        let reacting = Reacting { subsystems: self, block, moving, stepping, failed: &failed };
        let sinks = members.iter().zip(&mut found).enumerate();
        threads.run(sinks, &self.reacted, Selected::default, |(place, (&number, found)), selected| {
            let Selected { numbers, reaction, quadrupoles } = selected;
            let of_sink = (block.scheme.given(), moving[number].body.step);
            let mut sink = Sink::new(of_sink, given(place), quadrupoles);
            let is_first = std::mem::replace(reaction, self.reactions) != self.reactions;
            // Threads find out how subsystems act, each some of them, and wait for none of the others.
            let share = is_first.then(|| begun.fetch_add(1, Ordering::Relaxed)..threads.count());
            if let Err(error) = reacting.add(number, &mut sink, (numbers, share)) {
                reacting.fail(error);
            }
            *found = sink.sums();
        });
        self.found = found;
        failed.into_inner().map_or(Ok(()), Err)?;
        Ok(&self.found[..members.len()])
    }
}

/// A block of bodies on which subsystems act.
struct Reacting<'a> {
    subsystems: &'a Subsystems,
    block: &'a Block<'a>,
    moving: &'a [Moving],
    stepping: &'a [usize],
    /// The first error.
    failed: &'a OnceLock<Error>,
}

impl Reacting<'_> {
    /// Adds to the derivatives of a number's velocity what subsystems give it. Where threads begin, each has
    /// a share of so many.
    fn add(
        &self,
        number: usize,
        sink: &mut Sink,
        (selected, share): (&mut Vec<usize>, Option<Range<usize>>),
    ) -> Result<()> {
        let Reacting { subsystems, block, moving, .. } = *self;
        let there = &moving[number].body.position;
        let least = least_part(block.plan.precision) * sink.acceleration();
        selected.clear();
        subsystems
            .centres
            .select(there, selected, |distance2, strength| strength.abs() - least * distance2 * distance2)?;
        if let Some(Range { start: share, end: shares }) = share {
            let first = selected.len() * share.min(shares) / shares;
            selected[first..].iter().chain(&selected[..first]).for_each(|other| {
                self.acting(*other);
            });
        }
        let mut here = None;
        for &other in selected.iter().filter(|other| **other != number) {
            let Some(acting) = self.acting(other) else { continue };
            let here = here.get_or_insert_with(|| self.at(number));
            let own = subsystems.of_centre(number).and_then(|_| self.acting(number));
            let Some(own) = own.filter(|own| !own.members.is_empty()) else {
                acting.add(sink, 1.0, here);
                continue;
            };
            // The centre moves as the mean of its members.
            let total = own.mass();
            let distance2 = square(&vector(|k| here[0][k] - acting.at()[k]));
            for (mass, motion) in own.members_for(moving[number].body.step, distance2) {
                let there = std::array::from_fn(|term| vector(|k| here[term][k] + motion[term][k]));
                acting.add(sink, mass / total, &there);
            }
        }
        let Some(subsystem) = subsystems.of_centre(number) else { return Ok(()) };
        let strength = CAUTION * subsystems.strength(subsystem) / subsystem.centre.mass;
        selected.clear();
        let counts = |distance2: f64, mass: f64| (strength * mass).abs() - least * distance2 * distance2;
        subsystems.bodies.select(there, selected, counts)?;
        let Some(own) = self.acting(number).filter(|_| !selected.is_empty()) else { return Ok(()) };
        for others in selected.chunks(LANES) {
            let mut parts = Lanes::ZERO;
            for (lane, &other) in others.iter().enumerate().filter(|(_, other)| **other != number) {
                parts.0[lane] = -moving[other].body.mass / subsystem.centre.mass;
            }
            let bodies = others.iter().map(|other| (&moving[*other].body, self.since(*other)));
            own.add_all(sink, parts, &Together::of(bodies).after(block.scheme, 0.0));
        }
        Ok(())
    }

    fn fail(&self, error: Error) {
        self.failed.set(error).unwrap_or_default();
    }

    /// Returns how the subsystem whose centre has a number acts at the time of the block. Without memory to
    /// find it out there is none, and an error.
    fn acting(&self, number: usize) -> Option<&Acting> {
        let &Role::Centre(place) = self.subsystems.roles.get(number)? else { return None };
        let find = || {
            let found = self.found(&self.subsystems.all[place]);
            found.map_err(|error| self.fail(error)).ok()
        };
        self.subsystems.acting[place].get_or_init(find).as_ref()
    }

    fn found(&self, subsystem: &Subsystem) -> Result<Acting> {
        let Reacting { subsystems, block, moving, .. } = *self;
        let (at, gravity) = (self.at(subsystem.members[0]), block.plan.gravity);
        let (time, extent) = (block.now * block.plan.interval, subsystem.extent(subsystems.leave()));
        let least = least_part(block.plan.precision);
        let mut one = Acting::new(subsystem, (gravity, extent), (time, least), at)?;
        if !one.members.is_empty() {
            let near2 = (NEAR * extent).powi(2);
            let mut others = Vec::new();
            // Bodies move while they are looked at where they were.
            subsystems.bodies.select(&at[0], &mut others, |distance2, _| 4.0 * near2 - distance2)?;
            let acts = |other: &usize| *other != subsystem.members[0] && moving[*other].body.mass != 0.0;
            let others = others.into_iter().filter(acts).filter_map(|other| {
                let there = self.at(other);
                let from = [0, 1].map(|term| vector(|k| at[term][k] - there[term][k]));
                (square(&from[0]) < near2).then_some((gravity * moving[other].body.mass, from))
            });
            add_tides(&mut one.members, others);
            one.level()?;
        }
        Ok(one)
    }

    /// Returns position, velocity and what else is predicted of a number at the time of the block.
    fn at(&self, number: usize) -> [Vector; MOST] {
        moved(self.block.scheme, &self.moving[number].body, self.since(number))
    }

    /// Returns the time since the last step of a number.
    fn since(&self, number: usize) -> f64 {
        let body = &self.moving[number].body;
        let is_stepping = self.stepping.binary_search(&number).is_ok();
        if is_stepping || body.step == 0.0 { body.step } else { self.block.since_last_step(body) }
    }
}

/// Returns the part of a body's acceleration below which a subsystem acts as its centre alone, of forces
/// of a precision.
fn least_part(precision: Precision) -> f64 {
    if precision < Precision::Double { LEAST_PART_OF_SINGLE } else { LEAST_PART }
}
