//! Steps that bodies keep where others, or their own masses and velocities, were changed.
//!
//! A step that was chosen from derivatives goes on being right where a change has hardly changed
//! these. First steps are much shorter, because they lack the highest derivatives.

use kyoho_core::{Result, memory};

use crate::body::{Body, DERIVATIVES, Vector, length, vector};
use crate::plan::Plan;

use super::scheme::Scheme;

/// A body keeps its step where its acceleration has changed by at most this part.
const KEPT: f64 = 0.1;

/// And where each higher derivative has changed, over the step, by at most this part of the
/// acceleration. Steps are some tenths of the time in which accelerations change.
const KEPT_HIGHER: f64 = 0.02;

/// The steps and derivatives of bodies before a change.
pub struct Kept {
    all: Vec<(f64, [Vector; DERIVATIVES])>,
}

impl Kept {
    /// Remembers those of bodies, by their numbers. New ones have a step of 0.
    pub fn of<'a>(bodies: impl ExactSizeIterator<Item = &'a Body>) -> Result<Kept> {
        let all = memory::collected(bodies.map(|body| (body.step, body.derivatives)), "the steps of bodies")?;
        Ok(Kept { all })
    }

    /// Chooses the step of a body that has new derivatives, and the first step by these. If the
    /// derivatives are nearly as before, it keeps the step that it had. Otherwise it gets the first
    /// step, which is no longer than the one that it had. Returns whether the first step was limited.
    pub fn choose(&self, number: usize, body: &mut Body, scheme: &Scheme, plan: &Plan) -> bool {
        let (step, before) = &self.all[number];
        let change = |n: usize| length(&vector(|k| body.derivatives[n][k] - before[n][k]));
        let had = length(&before[0]);
        let is_as_before = |n: usize| step.powi(n as i32) * change(n) <= KEPT_HIGHER * had;
        if *step > 0.0 && change(0) <= KEPT * had && (1..scheme.given()).all(is_as_before) {
            body.step = *step;
            return false;
        }
        // Derivatives that no force gives are of the time before the change.
        body.derivatives[scheme.given()..].fill([0.0; 3]);
        let is_limited = plan.is_limited(body.step);
        body.step = plan.allowed(if *step > 0.0 { body.step.min(*step) } else { body.step });
        is_limited
    }
}
