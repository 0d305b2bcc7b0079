//! The bodies between meetings, and the step of a block of them.
//!
//! The bodies of a block lie far from each other, in an array that no near cache holds, and to wait
//! for them takes longer than the arithmetic. So all that a step needs of a body stands together,
//! and bodies are read some at a time before they are needed.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::body::{Body, Vector};
use crate::laws::Felt;
use crate::plan::Plan;
use kyoho_core::{Forces, Sink};
use kyoho_hal::threads::Threads;

use super::criterion::Criterion;
use super::grouped::Grouped;
use super::schedule::next_step;
use super::scheme::{EIGHTH, FOURTH, MOST, SIXTH, Scheme, given, motion_after, predicted};

/// A body between meetings. A step of order 4 reads and writes three lines of a cache, one of the
/// other orders four.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, Default)]
pub struct Moving {
    /// The rounding errors of its position and velocity since the last meeting.
    pub lost: [Vector; 2],
    /// The body at the time when it was last advanced.
    pub body: Body,
}

/// The number of bodies that are read before they are needed, which the nearest cache holds.
const NEAR: usize = 1 << 6;

/// The number of members that a thread advances, or of bodies that it copies, at a time.
pub const OF_JOB: usize = 1 << 8;

/// If less than this part of a step is made, because all bodies meet, the derivatives that are
/// interpolated from it are too much rounding for the steps that follow.
const LEAST_PART: f64 = 0.25;

/// A near cache holds fewer bodies than these, and one thread advances them sooner than others are
/// awake.
pub const FAR: usize = 1 << 12;

/// A block that is advanced to one time.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    pub scheme: &'static Scheme,
    pub criterion: Criterion,
    pub plan: &'a Plan,
    pub grouped: &'a Grouped,
    /// The time as a fraction of the interval.
    pub now: f64,
}

impl Block<'_> {
    /// Returns the member at a place as a sink, predicted to the time of the block.
    #[inline]
    pub fn sink(&self, moving: &[Moving], members: &[usize], place: usize) -> Sink {
        if place.is_multiple_of(NEAR) {
            let near = &members[place..members.len().min(place + NEAR)];
            self.fetch(near.iter().map(|number| &moving[*number]));
        }
        let (number, body) = (members[place], &moving[members[place]].body);
        self.scheme.predict(body, number, body.step, self.plan.softening)
    }

    /// Returns any body at the time of the block, to which its members were advanced.
    pub fn at_time(&self, moving: &[Moving], members: &[usize], number: usize) -> Body {
        let body = &moving[number].body;
        if members.binary_search(&number).is_ok() { *body } else { self.predicted(body) }
    }

    /// Returns a body, after its last step, at the time of the block.
    pub fn predicted(&self, body: &Body) -> Body {
        predicted(body, self.since_last_step(body))
    }

    /// Returns the member with a number, predicted to the time of the block, as laws read it. `place` is
    /// its place among all bodies.
    pub fn felt(&self, moving: &[Moving], number: usize, place: usize) -> Felt {
        let body = &moving[number].body;
        Felt { place, mass: body.mass, motion: motion_after(body, body.step) }
    }

    /// Returns the time of the last step of a body that is due later, as a fraction of the interval.
    /// It was at a multiple of its next step.
    pub fn last_step(&self, body: &Body) -> f64 {
        let fraction = body.step / self.plan.interval;
        (self.now / fraction).floor() * fraction
    }

    /// Returns the time that has gone since the last step of a body that is due later.
    pub fn since_last_step(&self, body: &Body) -> f64 {
        (self.now - self.last_step(body)) * self.plan.interval
    }

    /// Returns twice the largest error that the rounding of positions makes in the acceleration of a
    /// sink: what the last digits of two bodies, as they are kept and as they are predicted, change
    /// of the pull of all on one at the distance of the nearest.
    #[inline(always)]
    fn rounding(&self, position: &Vector, forces: &Forces, (sink, number): (usize, usize)) -> f64 {
        let softening = self.grouped.softening_of_nearest(self.plan, number, forces.nearest(sink));
        let size = position.iter().fold(0.0f64, |size, component| size.max(component.abs()));
        let distance2 = forces.nearest(sink).map_or(f64::INFINITY, |nearest| nearest.distance2);
        let distance2 = distance2 + softening * softening;
        if distance2 > 0.0 { 8.0 * f64::EPSILON * size * forces.potential(sink).abs() / distance2 } else { 0.0 }
    }

    /// Reads some members into the nearest cache. They come sooner than one by one when they are
    /// needed, because the reads do not wait for each other.
    #[inline(always)]
    fn fetch<'a>(&self, members: impl Iterator<Item = &'a Moving>) {
        let last = self.scheme.kept() - 1;
        let bits = members.fold(0, |bits, Moving { lost, body }| {
            // There is one number of each line.
            let numbers = [lost[0][0], body.position[0], body.derivatives[1][0], body.derivatives[last][2]];
            numbers.iter().fold(bits, |bits, number| bits | number.to_bits())
        });
        std::hint::black_box(bits);
    }

    /// Advances the members, which are the sinks, by several threads if they are many. `fields` has the
    /// derivatives of velocities with the parts of fields, or nothing. Returns how many wanted steps
    /// were too short.
    pub fn advance(
        &self,
        (forces, fields): (&Forces, &[[Vector; MOST]]),
        moving: &mut [Moving],
        members: &[usize],
        Steps { due, wanted, cut }: Steps,
        threads: &Threads,
    ) -> u64 {
        let limited = AtomicU64::new(0);
        let (mut rest, mut first) = (moving, 0);
        let steps = due.chunks_mut(OF_JOB).zip(wanted.chunks_mut(OF_JOB));
        let jobs = members.chunks(OF_JOB).zip(steps).enumerate().map(|(job, (members, (due, wanted)))| {
            // Members ascend, so that bodies of one job stand together.
            let end = members.last().map_or(first, |last| last + 1);
            let moving = rest.split_off_mut(..end - first).unwrap_or_default();
            let cut = cut.get(job * OF_JOB..).unwrap_or_default();
            let steps = Steps { due, wanted, cut };
            let job = Job { sink: job * OF_JOB, first, moving, members, steps };
            first = end;
            job
        });
        threads.each(jobs, |job| {
            // Each order is compiled for itself.
            let of_job = match self.scheme.order() {
                4 => self.advance_with(&FOURTH, (forces, fields), job),
                6 => self.advance_with(&SIXTH, (forces, fields), job),
                _ => self.advance_with(&EIGHTH, (forces, fields), job),
            };
            limited.fetch_add(of_job, Ordering::Relaxed);
        });
        limited.into_inner()
    }

    #[inline(always)]
    fn advance_with(&self, scheme: &Scheme, (forces, fields): (&Forces, &[[Vector; MOST]]), job: Job) -> u64 {
        let (kept, interval) = (scheme.kept(), self.plan.interval);
        let Job { sink, first, moving, members, steps } = job;
        let mut limited = 0;
        for (place, number) in members.iter().enumerate() {
            if place.is_multiple_of(NEAR) {
                let near = &members[place..members.len().min(place + NEAR)];
                self.fetch(near.iter().map(|number| &moving[*number - first]));
            }
            let Moving { lost, body } = &mut moving[*number - first];
            let force = fields.get(sink + place).copied().unwrap_or_else(|| given(forces, sink + place));
            let mut corrected = scheme.correct(body, lost, body.step, &force);
            let rounding = self.rounding(&corrected.body.position, forces, (sink + place, *number));
            let wanted = self.criterion.wanted(scheme, body, body.step, &corrected, rounding);
            limited += u64::from(self.plan.is_limited(wanted));
            let allowed = self.plan.allowed(wanted);
            *lost = corrected.lost;
            steps.wanted[place] = allowed;
            body.step = match steps.cut.get(place) {
                // It goes on to where the whole step was to end, by the derivatives known before.
                Some(whole) if body.step < LEAST_PART * whole => {
                    scheme.carry(body, body.step, &mut corrected.body.derivatives);
                    whole - body.step
                }
                Some(whole) => allowed.min(whole.max(2.0 * body.step)),
                // The step was made by the multiplication here, which the division undoes exactly.
                None => {
                    let fraction = next_step(self.now, body.step / interval, allowed / interval);
                    steps.due[place] = self.now + fraction;
                    fraction * interval
                }
            };
            (body.position, body.velocity) = (corrected.body.position, corrected.body.velocity);
            // The others stay zero and are not touched.
            body.derivatives[..kept].copy_from_slice(&corrected.body.derivatives[..kept]);
        }
        limited
    }
}

/// Some members of a block, which one thread advances.
struct Job<'a> {
    /// The first one's place among the sinks.
    sink: usize,
    /// The number of the first of `moving`.
    first: usize,
    /// The bodies from there to the last member.
    moving: &'a mut [Moving],
    members: &'a [usize],
    steps: Steps<'a>,
}

/// The steps of the members of a block.
pub struct Steps<'a> {
    /// Gets the time when each is due next, as a fraction of the interval.
    pub due: &'a mut [f64],
    /// Gets the step that each may make next, whatever the times of others.
    pub wanted: &'a mut [f64],
    /// The steps that they were to make, where all meet before the end of the interval; else nothing.
    pub cut: &'a [f64],
}
