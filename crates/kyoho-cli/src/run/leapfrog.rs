//! The leapfrog with a shared step: kick, drift, kick.

use rayon::prelude::*;

use crate::body::{Body, vector};
use crate::failure::Result;
use crate::run::integrator::{Approach, Counts, Integrator};
use crate::run::plan::Plan;
use kyoho::System;
use kyoho::data::{Order, Sink, memory};
use kyoho::engine::TreeErrors;

/// The leapfrog integrator.
pub struct Leapfrog {
    system: System,
    plan: Plan,
    bodies: Vec<Body>,
    counts: Counts,
    /// The pairs of measurements of errors, which are no part of the run.
    measured: u64,
}

impl Leapfrog {
    /// Makes an integrator of these bodies. The plan's step must divide its interval.
    pub fn new(system: System, plan: Plan, bodies: Vec<Body>) -> Result<Leapfrog> {
        let mut leapfrog = Leapfrog { system, plan, bodies, counts: Counts::default(), measured: 0 };
        leapfrog.accelerate()?;
        Ok(leapfrog)
    }

    /// Computes the accelerations at the bodies' present places.
    fn accelerate(&mut self) -> Result<()> {
        let (bodies, gravity) = (&self.bodies, self.plan.gravity);
        let source = |number: usize| bodies[number].source(Order::Second, number, gravity, 0.0);
        self.system.set_sources(bodies.len(), source)?;
        let (count, softening) = (bodies.len(), self.plan.softening);
        self.system.start_from_fn(count, true, count, |number| bodies[number].sink(number, softening))?;
        let forces = self.system.wait()?;
        each_of(&mut self.bodies, |number, body| {
            body.derivatives[0] = forces.acceleration(number);
            body.step = self.plan.step;
        });
        Ok(())
    }

    fn kick(&mut self, time: f64) {
        each_of(&mut self.bodies, |_, body| {
            body.velocity = vector(|k| body.velocity[k] + time * body.derivatives[0][k]);
        });
    }

    fn drift(&mut self, time: f64) {
        each_of(&mut self.bodies, |_, body| {
            body.position = vector(|k| body.position[k] + time * body.velocity[k]);
        });
    }
}

/// The fewest bodies that a thread takes at a time.
const BODIES_OF_JOB: usize = 1 << 12;

/// Calls a function for each body, with its number, on several threads where they are many.
fn each_of(bodies: &mut [Body], change: impl Fn(usize, &mut Body) + Sync) {
    let all = bodies.par_iter_mut().enumerate().with_min_len(BODIES_OF_JOB);
    all.for_each(|(number, body)| change(number, body));
}

/// Returns all bodies as sinks.
fn sinks(bodies: &[Body], softening: f64) -> impl ExactSizeIterator<Item = Sink> {
    bodies.iter().enumerate().map(move |(number, body)| body.sink(number, softening))
}

impl Integrator for Leapfrog {
    fn advance(&mut self, progress: &mut dyn FnMut(f64, u64)) -> Result<Option<Approach>> {
        let steps = (self.plan.interval / self.plan.step).round() as u64;
        // The given step may miss the interval by a rounding error, so it is computed from the
        // number of steps.
        let step = self.plan.interval / steps as f64;
        for done in 1..=steps {
            self.kick(0.5 * step);
            self.drift(step);
            self.accelerate()?;
            self.kick(0.5 * step);
            self.counts.steps += self.bodies.len() as u64;
            self.counts.block_steps += 1;
            progress(done as f64 / steps as f64, self.counts.block_steps);
        }
        Ok(None)
    }

    fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    fn tree_errors(&mut self, samples: usize) -> Result<Option<TreeErrors>> {
        if self.plan.tree.is_none() {
            return Ok(None);
        }
        let before = self.system.statistics().interactions;
        let all = memory::collected(sinks(&self.bodies, self.plan.softening), "sinks")?;
        // The sources are where the last accelerations were computed, as the bodies are.
        let errors = self.system.tree_errors(self.bodies.len(), true, &all, samples)?;
        self.measured += self.system.statistics().interactions - before;
        Ok(Some(errors))
    }

    fn counts(&self) -> Counts {
        Counts { interactions: self.system.statistics().interactions - self.measured, ..self.counts }
    }
}

#[cfg(test)]
mod tests {
    use crate::body::length;
    use kyoho::config::Settings;
    use kyoho::data::{Order, Precision};

    use super::*;

    fn integrator(step: f64) -> Leapfrog {
        let plan = Plan {
            order: Order::Second,
            precision: Precision::Double,
            gravity: 1.0,
            softening: 0.0,
            eta: 0.0,
            eta4: 0.0,
            step,
            longest: step,
            shortest: step,
            interval: 1.0,
            tree: None,
        };
        let setup = Settings::from_environment().unwrap().setup(plan.order, plan.precision).unwrap();
        let body = |side: f64| Body::new(0.5, [0.5 * side, 0.0, 0.0], [0.0, 0.5 * side, 0.0]);
        Leapfrog::new(System::new(&setup).unwrap(), plan, vec![body(1.0), body(-1.0)]).unwrap()
    }

    #[test]
    fn half_the_step_has_a_quarter_of_the_error() {
        let error = |step: f64| {
            let mut leapfrog = integrator(step);
            leapfrog.advance(&mut |_, _| ()).unwrap();
            let position = leapfrog.bodies()[0].position;
            length(&[position[0] - 0.5 * 1f64.cos(), position[1] - 0.5 * 1f64.sin(), position[2]])
        };
        let ratio = error(1.0 / 64.0) / error(1.0 / 128.0);
        assert!((ratio - 4.0).abs() < 0.1, "{ratio}");
    }

    #[test]
    fn a_step_that_is_no_binary_fraction_still_ends_with_the_interval() {
        let mut leapfrog = integrator(0.1);
        leapfrog.advance(&mut |_, _| ()).unwrap();
        assert_eq!(leapfrog.counts().block_steps, 10);
        assert_eq!(leapfrog.counts().interactions, 11 * 4);
    }
}
