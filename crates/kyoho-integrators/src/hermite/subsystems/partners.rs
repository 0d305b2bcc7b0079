//! Subsystems near one another: the members of one as those of the other feel them.
//!
//! Without this two loose pairs would each see the other's centre of mass, and their energy would change
//! by what their quadrupoles do to one another.

use kyoho_core::Result;
use kyoho_few_body::kepler;

use super::RESOLVED;
use super::reaction::inner_motion;
use crate::body::{Vector, length, vector};
use crate::hermite::scheme::MOST;
use crate::subsystems::Subsystem;

/// Members are felt during steps that are below this part of the time in which two of them fall together.
/// The motion between the ends of longer ones is no polynomial.
const SHORT: f64 = 0.5;

/// The members of a subsystem before a block moves them.
#[derive(Debug)]
pub struct Members {
    /// Their time since the start of the interval.
    time: f64,
    /// Where their subsystem is nearer than this, each of them is felt; the square of the distance.
    within2: f64,
    /// The mass of all times the gravitational constant.
    total: f64,
    /// The time in which the fastest two of them fall together.
    fall: f64,
    /// Of each its mass times the gravitational constant and its motion around the centre: position,
    /// velocity, acceleration and jerk.
    motion: Vec<(f64, [Vector; MOST])>,
}

impl Members {
    /// Returns those of a subsystem of some extent.
    pub fn of(gravity: f64, subsystem: &Subsystem, extent: f64) -> Result<Members> {
        let motion = inner_motion(gravity, &subsystem.inner)?;
        let mut fall = f64::INFINITY;
        for (place, (mass, one)) in motion.iter().enumerate() {
            for (other_mass, other) in &motion[..place] {
                let distance = length(&vector(|k| one[0][k] - other[0][k]));
                fall = fall.min((distance * distance * distance / (mass + other_mass)).sqrt());
            }
        }
        let total = gravity * subsystem.centre.mass;
        Ok(Members { time: subsystem.time, within2: (RESOLVED * extent).powi(2), total, fall, motion })
    }

    /// Whether each is felt at a distance, whose square is given, during a step.
    pub fn are_felt(&self, distance2: f64, step: f64) -> bool {
        distance2 < self.within2 && step < SHORT * self.fall
    }

    /// Returns mass, position, velocity and acceleration of each around the centre at a time, to which two
    /// go on as if they were alone, and more by their derivatives.
    pub fn at(&self, time: f64) -> impl Iterator<Item = (f64, [Vector; 3])> {
        let step = time - self.time;
        let pair = self.pair_at(step);
        self.motion.iter().enumerate().map(move |(row, (mass, [x, v, a, j]))| {
            let moved = || {
                let sum = |terms: &[(f64, &Vector)]| vector(|k| terms.iter().map(|(by, term)| by * term[k]).sum());
                let (half, sixth) = (0.5 * step * step, step * step * step / 6.0);
                [
                    sum(&[(1.0, x), (step, v), (half, a), (sixth, j)]),
                    sum(&[(1.0, v), (step, a), (half, j)]),
                    sum(&[(1.0, a), (step, j)]),
                ]
            };
            (*mass, pair.map_or_else(moved, |pair| pair[row]))
        })
    }

    /// Returns position, velocity and acceleration of two members around their centre after a time.
    fn pair_at(&self, step: f64) -> Option<[[Vector; 3]; 2]> {
        let [(first, one), (second, other)] = self.motion.as_slice() else { return None };
        let of = |term: usize| vector(|k| other[term][k] - one[term][k]);
        let (x, v) = kepler::advance(self.total, of(0), of(1), step)?;
        let distance = length(&x);
        let a = x.map(|x| -self.total * x / (distance * distance * distance));
        Some(
            [-second / self.total, first / self.total].map(|part| [x, v, a].map(|term| term.map(|value| part * value))),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;

    fn members(bodies: &[Body]) -> Members {
        let parts: Vec<Subsystem> =
            bodies.iter().enumerate().map(|(number, body)| Subsystem::alone(number, body).unwrap()).collect();
        Members::of(2.0, &Subsystem::joined(&parts).unwrap(), 1.0).unwrap()
    }

    #[test]
    fn members_move_around_their_centre_of_mass() {
        let two =
            [Body::new(0.3, [0.5, 0.0, 0.1], [0.0, 0.9, 0.0]), Body::new(0.1, [-0.4, 0.2, 0.0], [0.2, -1.0, 0.1])];
        let three = [two[0], two[1], Body::new(0.2, [0.0, 0.7, 0.0], [-0.8, 0.0, 0.3])];
        for (bodies, time, least) in [(&two[..], 0.7, 1e-9), (&three[..], 1e-3, 1e-5)] {
            let (members, h) = (members(bodies), 1e-4);
            let at = |time: f64| members.at(time).collect::<Vec<_>>();
            let (before, now, after) = (at(time - h), at(time), at(time + h));
            for k in 0..3 {
                for term in 0..3 {
                    let mean: f64 = now.iter().map(|(mass, motion)| mass * motion[term][k]).sum();
                    assert!(mean.abs() < 1e-14, "{mean:e}");
                }
                for row in 0..bodies.len() {
                    let rate = |term: usize| (after[row].1[term][k] - before[row].1[term][k]) / (2.0 * h);
                    for term in 0..2 {
                        let error = (rate(term) - now[row].1[term + 1][k]).abs();
                        assert!(error < 1e-6, "{row} {term}: {error:e}");
                    }
                    // Newton's law holds there.
                    let (mass, [x, _, a]) = now[row];
                    let pull = |other: &(f64, [Vector; 3])| {
                        let from = vector(|k| other.1[0][k] - x[k]);
                        let distance = length(&from);
                        if distance > 0.0 { other.0 * from[k] / distance.powi(3) } else { 0.0 }
                    };
                    let expected: f64 = now.iter().map(pull).sum();
                    assert!(mass > 0.0 && (a[k] - expected).abs() < least, "{row}: {} {expected}", a[k]);
                }
            }
        }
    }

    #[test]
    fn members_are_felt_near_by_and_in_steps_that_follow_their_motion() {
        let two = [0.5, -0.5].map(|x| Body::new(0.25, [x, 0.0, 0.0], [0.0; 3]));
        let members = members(&two);
        let near = 0.99 * RESOLVED * RESOLVED;
        // They fall together in some unit of time: the distance is 1, and so is the mass.
        assert!(members.are_felt(near, 0.4) && !members.are_felt(near, 0.6));
        assert!(!members.are_felt(1.1 * RESOLVED * RESOLVED, 0.4));
    }
}
