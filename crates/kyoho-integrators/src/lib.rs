//! Integrators: bodies that advance under their own gravity, by Hermite schemes with block time
//! steps or by a leapfrog with a shared step.
//!
//! [`of`] makes the [`Integrator`] of a [`Plan`], which knows bodies by their places. A
//! [`Cluster`](cluster::Cluster) knows them by identifiers, and bodies come and go between calls.

pub mod body;
pub mod cluster;
pub mod encounters;
pub mod energy;
pub mod fields;
mod group_sums;
pub mod groups;
mod hermite;
pub mod laws;
mod leapfrog;
mod numbering;
pub mod plan;
mod softened;
pub mod subsystems;
mod sweeps;
pub mod unit_systems;

use std::fmt::Display;

use kyoho_core::{Forces, Result};
use kyoho_engine::TreeErrors;
use kyoho_ranks::SharedSystem;

use body::{Body, Vector};
use encounters::{Encounter, Encounters};
use fields::Fields;
use groups::Groups;
use hermite::{Hermite, Scheme};
use laws::Laws;
use leapfrog::Leapfrog;
use plan::Plan;
use subsystems::{Subsystem, SubsystemRules};

/// The closest approach of two bodies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Approach<Name = usize> {
    /// Their distance, softening not included.
    pub distance: f64,
    /// The time since the start of the interval.
    pub time: f64,
    /// The places of the two bodies among all, from 0, the lower one first; or their identifiers in that
    /// order.
    pub bodies: [Name; 2],
}

/// A close passage of two bodies after which they had another energy than before, or in which steps
/// were too long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnergyJump {
    /// The places of the two bodies among all, from 0, the lower one first.
    pub bodies: [usize; 2],
    /// The time since the start of the interval at which they were nearest.
    pub time: f64,
    /// Their distance then, softening not included.
    pub distance: f64,
    /// The shortest step that one of them took.
    pub step: f64,
    /// How many steps should have been shorter than the shortest.
    pub limited_steps: u64,
    /// The change of their energy, that of their motion round each other.
    pub energy: f64,
}

impl EnergyJump {
    /// Says what happened, of so many in all and of bodies with these names.
    pub fn text(&self, all: u64, [one, other]: [impl Display; 2]) -> String {
        let EnergyJump { time, distance, step, limited_steps, energy, .. } = *self;
        let limited = match limited_steps {
            0 => String::new(),
            steps => format!(" ({steps} steps were limited)"),
        };
        format!(
            "close passages that changed an energy: {all}; the last one of bodies {one} and {other} at time {time:e}, \
             at a distance of {distance:e}, by {energy:e} in steps down to {step:e}{limited}: take a smaller eta, a \
             shorter dt_min or softening"
        )
    }
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
    /// Close passages of two bodies that changed their energy; see [`EnergyJump`].
    pub energy_jumps: u64,
}

/// Whether to go on after a block step, from the fraction of the interval that is done and the
/// number of block steps so far. An error is that of the advance.
pub type GoOn<'a> = dyn FnMut(f64, u64) -> Result<bool> + 'a;

/// Something that advances bodies from one meeting to the next.
pub trait Integrator {
    /// Advances all bodies by one interval, or until `go_on` refuses or bodies encounter each
    /// other. Then too all bodies meet.
    fn advance(&mut self, go_on: &mut GoOn) -> Result<Option<Approach>>;

    /// Returns the fraction of the last interval at which the bodies are, also after an error.
    fn reached(&self) -> f64;

    /// Returns the bodies, which are all at one time.
    fn bodies(&self) -> &[Body];

    /// Returns the bodies, which may be changed; then [`Integrator::start`] has to follow.
    fn bodies_mut(&mut self) -> &mut Vec<Body>;

    /// Computes the forces of bodies that were changed. Those without a step, and those whose forces
    /// are others than they were, get first steps. After an error they are as before.
    fn start(&mut self) -> Result<()>;

    /// Goes on with other bodies, which have the steps and derivatives that they had where an
    /// integrator of this order left them, and with their subsystems and the radius of these if it has
    /// subsystems. On an error it keeps its own.
    fn resume(&mut self, bodies: Vec<Body>, subsystems: Vec<Subsystem>, radius: f64) -> Result<()>;

    /// Goes on by another plan of the same order, gravity, softening and tree.
    fn set_plan(&mut self, plan: Plan);

    /// Groups the bodies from now on, each of which feels some groups alone and has their softening;
    /// `None` lets all feel all others with that of the plan. Then [`Integrator::start`] has to follow.
    fn set_groups(&mut self, groups: Option<Groups>) -> Result<()>;

    /// Looks for encounters of bodies from now on, if there is something to look for.
    fn watch(&mut self, encounters: Option<Encounters>);

    /// Returns the fields that act on the bodies.
    fn fields(&self) -> &Fields;

    /// Returns the fields, to which others may be added; then [`Integrator::start`] has to follow.
    /// The time at their start belongs to the next interval.
    fn fields_mut(&mut self) -> &mut Fields;

    /// Returns the energy of the bodies in the fields at a time.
    fn field_energy(&mut self, time: f64) -> Result<f64>;

    /// Returns the laws between bodies beside their gravity.
    fn laws(&self) -> &Laws;

    /// Returns the laws, to which others may be added; then [`Integrator::start`] has to follow. The time
    /// at their start belongs to the next interval.
    fn laws_mut(&mut self) -> &mut Laws;

    /// Returns the energy of the bodies by laws at a time.
    fn law_energy(&mut self, time: f64) -> Result<f64>;

    /// Returns the potentials and accelerations of the bodies at some places by laws at a time.
    fn law_forces(&mut self, places: &[usize], time: f64) -> Result<Vec<(f64, Vector)>>;

    /// Returns the encounters that ended the last interval.
    fn encounters(&self) -> &[Encounter];

    /// Lets close bodies move together as subsystems; then [`Integrator::start`] has to follow. `None` ends
    /// that. With a speed of light two bodies that merge end an interval: the heavier one has their mass
    /// and momentum then, and the other one, without mass, has to be removed.
    ///
    /// # Errors
    /// With softening, and in order 2.
    fn set_subsystems(&mut self, rules: Option<SubsystemRules>) -> Result<()>;

    /// Whether close bodies move together as subsystems.
    fn has_subsystems(&self) -> bool {
        false
    }

    /// Returns the subsystems, of bodies by their places, and the distance at which they form.
    fn subsystems(&self) -> (&[Subsystem], f64) {
        (&[], 0.0)
    }

    /// Goes on without the subsystems of bodies that were removed. `places` has the new place of each body
    /// that stays.
    fn keep_subsystems(&mut self, places: &[Option<usize>]) {
        let _ = places;
    }

    /// Returns the last of the close passages of the last interval that changed an energy. The
    /// leapfrog, whose step is the caller's, looks for none.
    fn energy_jump(&self) -> Option<EnergyJump> {
        None
    }

    /// Returns the errors of the accelerations by a tree of the bodies where they are now, against
    /// direct sums on up to this many of them; `None` without a tree.
    fn tree_errors(&mut self, _samples: usize) -> Result<Option<TreeErrors>> {
        Ok(None)
    }

    /// Returns the counts of the work so far.
    fn counts(&self) -> Counts;

    /// Takes one of this many shares of the devices from now on, as so many integrators use them at the
    /// same time; 0 for one that is no part of an ensemble. See [`kyoho_engine::System::share_devices`].
    fn share_devices(&mut self, sharers: usize);

    /// Returns how many of the block steps a device made by itself.
    fn block_steps_of_device(&self) -> u64 {
        0
    }
}

/// Makes the integrator of a plan's order. All ranks that share its system call the same of it, with the
/// same bodies, and advance these alike.
pub fn of(system: impl Into<SharedSystem>, plan: &Plan, bodies: Vec<Body>) -> Result<Box<dyn Integrator + Send>> {
    in_fields(system, plan, bodies, Fields::default())
}

/// Makes the integrator of a plan's order for bodies in fields.
pub fn in_fields(
    system: impl Into<SharedSystem>,
    plan: &Plan,
    bodies: Vec<Body>,
    fields: Fields,
) -> Result<Box<dyn Integrator + Send>> {
    let (plan, bodies) = (plan.clone(), (bodies, fields));
    Ok(match Scheme::of(plan.order) {
        Some(scheme) => kyoho_hal::boxed(Hermite::new(system, plan, scheme, bodies)?, "an integrator")?,
        None => kyoho_hal::boxed(Leapfrog::new(system, plan, bodies)?, "an integrator")?,
    })
}

/// Returns the closest approach among the members of a block at a time, whose sink `k` is the body
/// `members[k]`, if it is closer than the closest one so far.
fn closer(so_far: Option<Approach>, time: f64, members: &[usize], forces: &Forces) -> Option<Approach> {
    let distances2 = || (0..members.len()).filter_map(|sink| Some((sink, forces.nearest(sink)?.distance2)));
    let least = distances2().fold(f64::INFINITY, |least, (_, distance2)| least.min(distance2));
    let distance = least.sqrt();
    if so_far.is_some_and(|approach| approach.distance <= distance) {
        return None;
    }
    // Squares that differ may have one root, and then the first sink counts.
    let (sink, _) = distances2().find(|(_, distance2)| distance2.sqrt() == distance)?;
    let (body, other) = (members[sink], forces.nearest(sink)?.index as usize);
    Some(Approach { distance, time, bodies: [other.min(body), other.max(body)] })
}

#[cfg(test)]
mod tests {
    /// Returns numbers between 0 and 1 that are the same on every machine.
    pub fn random() -> impl FnMut() -> f64 {
        let mut state = 7u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 12) as f64 + 0.5) / (1u64 << 52) as f64
        }
    }
}
