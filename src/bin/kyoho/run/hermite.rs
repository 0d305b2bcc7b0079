//! The fourth-order Hermite scheme with block time steps (Makino & Aarseth 1992, PASJ 44, 141).
//!
//! Times are fractions of the interval at whose end all bodies meet, steps are powers of two of it: sums of them are
//! exact, no step crosses a meeting, and the times that the library sees begin at zero in each interval.

use kyoho::{Nearest, System};

use super::integrator::{Approach, Counts, Integrator, closest};
use super::plan::Plan;
use crate::body::{Body, Vector, length, sink, vector};
use crate::failure::{Failure, Result};

/// The Hermite integrator.
pub struct Hermite {
    system: System,
    plan: Plan,
    bodies: Vec<Body>,
    /// What rounding took from each body's position and velocity since the last meeting.
    lost: Vec<[Vector; 2]>,
    /// When each body was last advanced, and when it will be next, as fractions of the interval.
    last: Vec<f64>,
    next: Vec<f64>,
    members: Vec<usize>,
    predicted: Vec<[Vector; 2]>,
    forces: Vec<[Vector; 2]>,
    approach: Option<Approach>,
    counts: Counts,
}

impl Hermite {
    /// An integrator of these bodies; those without a step get their first forces and steps.
    pub fn new(system: System, plan: Plan, bodies: Vec<Body>) -> Result<Hermite> {
        let n = bodies.len();
        let mut hermite = Hermite {
            system,
            plan,
            bodies,
            lost: vec![[[0.0; 3]; 2]; n],
            last: vec![0.0; n],
            next: vec![0.0; n],
            members: Vec::new(),
            predicted: Vec::new(),
            forces: Vec::new(),
            approach: None,
            counts: Counts::default(),
        };
        if hermite.bodies.iter().any(|body| body.step <= 0.0) {
            hermite.start()?;
        }
        Ok(hermite)
    }

    /// The forces and first steps of bodies that have none.
    fn start(&mut self) -> Result<()> {
        self.send_all()?;
        let sinks = self.bodies.iter().enumerate().map(|(number, body)| body.sink(number, self.plan.softening));
        self.system.set_time(0.0)?;
        let forces = self.system.force(self.bodies.len(), true, sinks)?;
        for (number, body) in self.bodies.iter_mut().enumerate() {
            body.acceleration = forces.acceleration(number);
            body.jerk = forces.jerk(number);
            let nearest = forces.nearest(number).unwrap_or(Nearest::NONE);
            let distance = nearest.distance2.sqrt().hypot(self.plan.softening);
            if distance == 0.0 {
                return Err(Failure::SamePlace { bodies: [number + 1, nearest.index as usize + 1] });
            }
            body.step = first_step(body, distance, self.plan.eta);
        }
        for number in 0..self.bodies.len() {
            self.bodies[number].step = self.allowed(self.bodies[number].step);
        }
        Ok(())
    }

    /// Writes every body as a source at the start of the interval.
    fn send_all(&mut self) -> Result<()> {
        for (number, body) in self.bodies.iter().enumerate() {
            self.system.set_source(number, &body.source(number, self.plan.gravity, 0.0))?;
        }
        Ok(())
    }

    /// The wanted step within the limits.
    fn allowed(&mut self, wanted: f64) -> f64 {
        self.counts.limited_steps += u64::from(wanted < self.plan.shortest);
        wanted.clamp(self.plan.shortest, self.plan.longest)
    }

    /// Advances the bodies that are due next; gives the fraction of the interval that is done.
    fn block_step(&mut self) -> Result<f64> {
        let now = self.next.iter().copied().fold(f64::INFINITY, f64::min);
        let time = now * self.plan.interval;
        self.members.clear();
        self.members.extend((0..self.bodies.len()).filter(|number| self.next[*number] == now));
        self.predicted.clear();
        for number in &self.members {
            let step = (now - self.last[*number]) * self.plan.interval;
            self.predicted.push(predict(&self.bodies[*number], step));
        }

        self.system.set_time(time)?;
        let softening = self.plan.softening;
        let sinks = self.members.iter().zip(&self.predicted).map(|(number, at)| sink(*number, softening, *at));
        let forces = self.system.force(self.bodies.len(), true, sinks)?;
        self.approach = closest(self.approach, time, &self.members, &forces);
        self.forces.clear();
        self.forces.extend((0..forces.len()).map(|k| [forces.acceleration(k), forces.jerk(k)]));

        for place in 0..self.members.len() {
            let number = self.members[place];
            let taken = now - self.last[number];
            let step = taken * self.plan.interval;
            let (body, lost) = (&mut self.bodies[number], &mut self.lost[number]);
            let wanted = correct(body, lost, step, self.forces[place], self.plan.eta);
            let wanted = self.allowed(wanted) / self.plan.interval;
            let fraction = next_step(now, taken, wanted);
            self.bodies[number].step = fraction * self.plan.interval;
            self.last[number] = now;
            self.next[number] = now + fraction;
            self.system.set_source(number, &self.bodies[number].source(number, self.plan.gravity, time))?;
        }
        self.counts.steps += self.members.len() as u64;
        self.counts.block_steps += 1;
        Ok(now)
    }
}

impl Integrator for Hermite {
    fn advance(&mut self, progress: &mut dyn FnMut(f64, u64)) -> Result<Option<Approach>> {
        self.approach = None;
        self.send_all()?;
        self.last.fill(0.0);
        // Snapshots do not have them, and a resumed run shall have the same bits.
        self.lost.fill([[0.0; 3]; 2]);
        for (next, body) in self.next.iter_mut().zip(&self.bodies) {
            *next = power_of_two(body.step / self.plan.interval).min(1.0);
        }
        loop {
            let done = self.block_step()?;
            progress(done, self.counts.block_steps);
            if done == 1.0 {
                return Ok(self.approach);
            }
        }
    }

    fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    fn counts(&self) -> Counts {
        Counts { interactions: self.system.statistics().interactions, ..self.counts }
    }
}

/// Position and velocity after a time: Taylor series up to the jerk.
fn predict(body: &Body, step: f64) -> [Vector; 2] {
    let Body { position: x, velocity: v, acceleration: a, jerk: j, .. } = body;
    [
        vector(|k| x[k] + step * (v[k] + step * (a[k] / 2.0 + step * (j[k] / 6.0)))),
        vector(|k| v[k] + step * (a[k] + step * (j[k] / 2.0))),
    ]
}

/// Advances a body by a step at whose end the forces are known, which become the body's; gives the step that the body
/// wants next. What rounding takes from position and velocity is `lost`, and comes back in the next step: in a close
/// encounter it would be the largest error.
fn correct(body: &mut Body, lost: &mut [Vector; 2], step: f64, forces: [Vector; 2], eta: f64) -> f64 {
    let (v, [a0, j0], [a1, j1]) = (body.velocity, [body.acceleration, body.jerk], forces);
    // Second and third derivative of the acceleration at the start of the step, from both ends' forces.
    let a2 = vector(|k| (-6.0 * (a0[k] - a1[k]) - step * (4.0 * j0[k] + 2.0 * j1[k])) / step.powi(2));
    let a3 = vector(|k| (12.0 * (a0[k] - a1[k]) + 6.0 * step * (j0[k] + j1[k])) / step.powi(3));
    let moved = vector(|k| {
        let correction = step.powi(4) / 24.0 * a2[k] + step.powi(5) / 120.0 * a3[k];
        correction + step * (v[k] + step * (a0[k] / 2.0 + step * (j0[k] / 6.0)))
    });
    let sped = vector(|k| {
        let correction = step.powi(3) / 6.0 * a2[k] + step.powi(4) / 24.0 * a3[k];
        correction + step * (a0[k] + step * (j0[k] / 2.0))
    });
    let [lost_position, lost_velocity] = lost;
    add(&mut body.position, lost_position, moved);
    add(&mut body.velocity, lost_velocity, sped);
    body.acceleration = a1;
    body.jerk = j1;
    aarseth_step(body, &vector(|k| a2[k] + step * a3[k]), &a3, eta)
}

/// Adds to sums, and keeps what rounding takes from them for the next time (Kahan 1965, Communications of the ACM 8, 40).
fn add(sums: &mut Vector, lost: &mut Vector, terms: Vector) {
    for ((sum, lost), term) in sums.iter_mut().zip(lost).zip(terms) {
        let term = term + *lost;
        let next = *sum + term;
        *lost = term - (next - *sum);
        *sum = next;
    }
}

/// Aarseth's criterion, with the acceleration's second and third derivative; infinite where no force changes.
fn aarseth_step(body: &Body, second: &Vector, third: &Vector, eta: f64) -> f64 {
    let [a, j, s, c] = [&body.acceleration, &body.jerk, second, third].map(length);
    let slowness = j * c + s * s;
    if slowness == 0.0 { f64::INFINITY } else { (eta * (a * s + j * j) / slowness).sqrt() }
}

/// The first step, where no higher derivatives are known: `eta / 2` of the time in which the acceleration changes, or
/// of the time of free fall over the softened distance to the nearest body, which also tells where bodies start at rest.
fn first_step(body: &Body, distance: f64, eta: f64) -> f64 {
    let (a, j) = (length(&body.acceleration), length(&body.jerk));
    let change = if j > 0.0 { a / j } else { f64::INFINITY };
    let fall = if a > 0.0 { (distance / a).sqrt() } else { f64::INFINITY };
    0.5 * eta * change.min(fall)
}

/// The next step as a fraction of the interval: it can become shorter at any time, but only twice as long, and only
/// where the longer steps of others end too, so that blocks stay few.
fn next_step(now: f64, taken: f64, wanted: f64) -> f64 {
    if wanted >= 2.0 * taken && taken < 1.0 && now % (2.0 * taken) == 0.0 {
        2.0 * taken
    } else {
        power_of_two(wanted).min(taken)
    }
}

/// The largest power of two that is not above a positive number.
fn power_of_two(number: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    f64::from_bits(number.to_bits() & EXPONENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kyoho::config::Settings;
    use kyoho::{Order, Precision};

    fn plan(eta: f64, step: f64) -> Plan {
        Plan {
            order: Order::Fourth,
            precision: Precision::Double,
            gravity: 1.0,
            softening: 0.0,
            eta,
            step: 0.0,
            longest: step,
            shortest: 1e-12,
            interval: 1.0,
        }
    }

    /// Two bodies of mass 1/2 at distance 1 from each other, on circles: the period is 2 pi.
    fn circle() -> Vec<Body> {
        let body = |side: f64| Body::new(0.5, [0.5 * side, 0.0, 0.0], [0.0, 0.5 * side, 0.0]);
        vec![body(1.0), body(-1.0)]
    }

    fn integrator(plan: Plan, bodies: Vec<Body>) -> Hermite {
        let setup = Settings::from_environment().unwrap().setup(plan.order, plan.precision).unwrap();
        Hermite::new(System::new(&setup).unwrap(), plan, bodies).unwrap()
    }

    /// The distance from where the first body should be after three time units.
    fn error(step: f64) -> f64 {
        let mut bodies = circle();
        bodies.iter_mut().for_each(|body| {
            body.acceleration = body.position.map(|x| -x);
            body.jerk = body.velocity.map(|v| -v);
            body.step = step;
        });
        // With a large eta every body takes the longest step.
        let mut hermite = integrator(plan(1e6, step), bodies);
        for _ in 0..3 {
            hermite.advance(&mut |_, _| ()).unwrap();
        }
        let (x, y) = (0.5 * 3f64.cos(), 0.5 * 3f64.sin());
        let position = hermite.bodies()[0].position;
        length(&[position[0] - x, position[1] - y, position[2]])
    }

    #[test]
    fn half_the_step_has_a_sixteenth_of_the_error() {
        let errors = [1.0 / 16.0, 1.0 / 32.0, 1.0 / 64.0].map(error);
        for pair in errors.windows(2) {
            assert!((pair[0] / pair[1]).log2() > 3.8 && (pair[0] / pair[1]).log2() < 4.3, "{errors:?}");
        }
    }

    #[test]
    fn the_corrector_is_exact_for_forces_that_are_cubic_in_time() {
        // One component each: a = 1, a = t, a = t^2, a = t^3.
        let acceleration = |t: f64| [1.0 + t, t * t, t * t * t];
        let jerk = |t: f64| [1.0, 2.0 * t, 3.0 * t * t];
        let (start, step): (f64, f64) = (0.5, 0.25);
        let position = |t: f64| [t.powi(2) / 2.0 + t.powi(3) / 6.0, t.powi(4) / 12.0, t.powi(5) / 20.0];
        let velocity = |t: f64| [t + t.powi(2) / 2.0, t.powi(3) / 3.0, t.powi(4) / 4.0];
        let mut body = Body { acceleration: acceleration(start), jerk: jerk(start), ..Body::default() };
        (body.position, body.velocity) = (position(start), velocity(start));
        let end = start + step;
        correct(&mut body, &mut [[0.0; 3]; 2], step, [acceleration(end), jerk(end)], 0.02);
        for k in 0..3 {
            assert!((body.position[k] - position(end)[k]).abs() < 1e-15, "{k}");
            assert!((body.velocity[k] - velocity(end)[k]).abs() < 1e-15, "{k}");
        }
    }

    #[test]
    fn steps_are_powers_of_two_and_double_only_where_longer_ones_end() {
        assert_eq!([1.0, 0.99, 0.3, 1e-3].map(power_of_two), [1.0, 0.5, 0.25, 1.0 / 1024.0]);
        assert_eq!(next_step(0.25, 0.125, 0.9), 0.25);
        assert_eq!(next_step(0.375, 0.125, 0.9), 0.125);
        assert_eq!(next_step(0.375, 0.125, 0.03), 1.0 / 64.0);
        assert_eq!(next_step(1.0, 1.0, f64::INFINITY), 1.0);
    }

    #[test]
    fn bodies_meet_at_the_end_of_each_interval() {
        let mut hermite = integrator(plan(0.02, 0.25), circle());
        let mut fractions = Vec::new();
        hermite.advance(&mut |fraction, _| fractions.push(fraction)).unwrap();
        assert!(fractions.is_sorted() && fractions.last() == Some(&1.0));
        assert_eq!(hermite.last, [1.0, 1.0]);
        assert_eq!(hermite.counts().steps, 2 * hermite.counts().block_steps);
    }

    #[test]
    fn bodies_at_rest_start_with_a_step_of_their_free_fall() {
        let at_rest = vec![Body::new(1.0, [0.0; 3], [0.0; 3]), Body::new(1.0, [4.0, 0.0, 0.0], [0.0; 3])];
        let hermite = integrator(plan(0.02, 1.0), at_rest);
        // 0.01 of sqrt(4 / (1 / 16)).
        hermite.bodies().iter().for_each(|body| assert!((body.step - 0.08).abs() < 1e-12, "{}", body.step));
    }
}
