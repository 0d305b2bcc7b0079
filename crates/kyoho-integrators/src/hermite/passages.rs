//! Close passages of two bodies, and the energy that errors of steps give them.
//!
//! The two bodies that are nearest to each other in a small block are watched while hardly anything
//! else moves them. Their energy hardly changes then, and the least that it could be at their closest
//! is much larger than what they have. So what it has changed by when they are apart again, but for
//! the work of others on the way, is an error of the integration.

use crate::EnergyJump;
use crate::body::{Body, Vector, length, vector};

/// The passages that are under way.
#[derive(Debug, Default, Clone)]
pub struct Passages {
    open: [Option<Passage>; OPEN],
    /// The place of the next one, whose former passage is forgotten.
    next: usize,
}

/// The most passages that are watched at a time.
const OPEN: usize = 8;

/// The bodies are apart again at this multiple of their least distance. Nearer, the errors of their
/// steps still come and go.
const APART: f64 = 64.0;

/// Two bodies that were not seen together for this many of their steps have been apart.
const UNSEEN: f64 = 4.0;

/// Others work on the pair beyond this part of its distance at the start. Nearer, their part in the
/// accelerations is less than the errors of these, and they have no way to work on.
const NEAR: f64 = 0.125;

/// The largest part of the pair's relative acceleration that others may have.
const OF_OTHERS: f64 = 0.01;

/// The least change of energy that is told, as a part of the pair's kinetic and potential energy at
/// the start.
const TOLD: f64 = 0.01;

/// A passage. Energies are those of a unit of the reduced mass.
#[derive(Debug, Clone, Copy)]
struct Passage {
    bodies: [usize; 2],
    energy: f64,
    scale: f64,
    /// The work of others since the start, and their power when the bodies were seen last.
    work: f64,
    power: f64,
    started_at: f64,
    distance: f64,
    time: f64,
    step: f64,
    limited_steps: u64,
    /// The time when the bodies were seen last, and their step then.
    seen: (f64, f64),
}

/// Two bodies at one time.
struct Pair {
    bodies: [usize; 2],
    reduced_mass: f64,
    distance: f64,
    energy: f64,
    scale: f64,
    /// The power of others.
    power: f64,
    step: f64,
    is_alone: bool,
}

impl Pair {
    fn of((gravity, softening): (f64, f64), [(one, first), (other, second)]: &[(usize, Body); 2]) -> Pair {
        let between = |of: fn(&Body) -> Vector| vector(|k| of(first)[k] - of(second)[k]);
        let (apart, speed) = (between(|body| body.position), between(|body| body.velocity));
        let acceleration = between(|body| body.derivatives[0]);
        let mass = gravity * (first.mass + second.mass);
        let distance = length(&apart);
        let softened = (distance * distance + softening * softening).sqrt();
        let own = vector(|k| -mass * apart[k] / (softened * softened * softened));
        let of_others = vector(|k| acceleration[k] - own[k]);
        let (kinetic, potential) = (0.5 * length(&speed).powi(2), -mass / softened);
        Pair {
            bodies: [*one, *other],
            reduced_mass: first.mass / (first.mass + second.mass) * second.mass,
            distance,
            energy: kinetic + potential,
            scale: kinetic - potential,
            power: (0..3).map(|k| of_others[k] * speed[k]).sum(),
            step: first.step.min(second.step),
            is_alone: length(&of_others) < OF_OTHERS * length(&own),
        }
    }
}

impl Passages {
    /// Forgets the passages that are under way.
    pub fn clear(&mut self) {
        self.open = Default::default();
    }

    /// Counts times from one that has been reached since the start of the interval.
    pub fn count_from(&mut self, time: f64) {
        self.open.iter_mut().flatten().for_each(|passage| {
            passage.time -= time;
            passage.seen.0 -= time;
        });
    }

    /// Follows two bodies that are nearest to each other, with their numbers, after a step of both
    /// to a time since the start of the interval. `limited_steps` of their block should have been
    /// shorter. Returns what has gone wrong in a passage that has ended.
    pub fn follow(
        &mut self,
        (gravity, softening): (f64, f64),
        bodies: &[(usize, Body); 2],
        time: f64,
        limited_steps: u64,
    ) -> Option<EnergyJump> {
        let pair = Pair::of((gravity, softening), bodies);
        let new = Passage {
            bodies: pair.bodies,
            energy: pair.energy,
            scale: pair.scale,
            work: 0.0,
            power: pair.power,
            started_at: pair.distance,
            distance: pair.distance,
            time,
            step: pair.step,
            limited_steps,
            seen: (time, pair.step),
        };
        let place = self.open.iter().position(|open| open.is_some_and(|passage| passage.bodies == pair.bodies));
        let Some(passage) = place.and_then(|place| self.open[place].as_mut()) else {
            if pair.is_alone {
                self.open[self.next] = Some(new);
                self.next = (self.next + 1) % OPEN;
            }
            return None;
        };
        if time - passage.seen.0 > UNSEEN * passage.seen.1 {
            *passage = new;
            return None;
        }
        if pair.distance < passage.distance {
            (passage.distance, passage.time) = (pair.distance, time);
        }
        passage.step = passage.step.min(pair.step);
        passage.limited_steps += limited_steps;
        if pair.distance > NEAR * passage.started_at {
            passage.work += 0.5 * (passage.power + pair.power) * (time - passage.seen.0);
        }
        (passage.power, passage.seen) = (pair.power, new.seen);
        let has_come_back = passage.distance < 0.5 * passage.started_at && pair.distance >= passage.started_at;
        if !has_come_back && pair.distance < APART * passage.distance {
            return None;
        }
        // Large errors of steps hide for a while that the bodies are alone. Others have not changed
        // all of the energy by the time when the bodies are as far apart as they were.
        if !pair.is_alone && pair.distance <= passage.started_at {
            return None;
        }
        let told = if pair.is_alone { TOLD } else { 1.0 };
        let Passage { energy, scale, work, distance, time, step, limited_steps, .. } = *passage;
        let change = pair.energy - energy - work;
        let next = pair.is_alone.then_some(Passage { limited_steps: 0, ..new });
        place.into_iter().for_each(|place| self.open[place] = next);
        (limited_steps > 0 || change.abs() > told * scale).then_some(EnergyJump {
            bodies: pair.bodies,
            time,
            distance,
            step,
            limited_steps,
            energy: pair.reduced_mass * change,
        })
    }
}
