//! The interface and the records of all integrators.

use crate::body::Body;
use crate::failure::Result;
use crate::run::hermite::{Hermite, Scheme};
use crate::run::leapfrog::Leapfrog;
use crate::run::plan::Plan;
use kyoho::System;
use kyoho::data::Forces;
use kyoho::engine::TreeErrors;

/// The closest approach of two bodies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Approach {
    /// Their distance, softening not included.
    pub distance: f64,
    /// The time since the start of the interval.
    pub time: f64,
    /// The places of the two bodies among all, from 0, the lower one first.
    pub bodies: [usize; 2],
}

/// Counts of an integrator's work.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    /// Steps of single bodies.
    pub steps: u64,
    /// Blocks of bodies that stepped together.
    pub block_steps: u64,
    /// Steps that should have been shorter than the shortest.
    pub limited_steps: u64,
    /// Pairs of the force calls.
    pub interactions: u64,
}

/// Something that advances bodies from one meeting to the next.
pub trait Integrator {
    /// Advances all bodies by one interval. `progress` receives the fraction that is done and the
    /// number of block steps so far.
    fn advance(&mut self, progress: &mut dyn FnMut(f64, u64)) -> Result<Option<Approach>>;

    /// Returns the bodies, all at the end of the last interval.
    fn bodies(&self) -> &[Body];

    /// Returns the errors of the accelerations by a tree of the bodies where they are now, against
    /// direct sums on up to this many of them; `None` without a tree.
    fn tree_errors(&mut self, _samples: usize) -> Result<Option<TreeErrors>> {
        Ok(None)
    }

    /// Returns the counts of the work so far.
    fn counts(&self) -> Counts;
}

/// Makes the integrator of a plan's order.
pub fn of(system: System, plan: &Plan, bodies: Vec<Body>) -> Result<Box<dyn Integrator>> {
    Ok(match Scheme::of(plan.order) {
        Some(scheme) => Box::new(Hermite::new(system, plan.clone(), scheme, bodies)?),
        None => Box::new(Leapfrog::new(system, plan.clone(), bodies)?),
    })
}

/// Returns the closest approach so far, including those of a block, whose sink `k` is the body
/// `members[k]`.
pub fn closest(so_far: Option<Approach>, time: f64, members: &[usize], forces: &Forces) -> Option<Approach> {
    let distances2 = || (0..members.len()).filter_map(|sink| Some((sink, forces.nearest(sink)?.distance2)));
    let least = distances2().fold(f64::INFINITY, |least, (_, distance2)| least.min(distance2));
    let distance = least.sqrt();
    if so_far.is_some_and(|approach| approach.distance <= distance) {
        return so_far;
    }
    // Squares that differ may have one root, and then the first sink counts.
    let (sink, _) = distances2().find(|(_, distance2)| distance2.sqrt() == distance)?;
    let (body, other) = (members[sink], forces.nearest(sink)?.index as usize);
    Some(Approach { distance, time, bodies: [other.min(body), other.max(body)] })
}
