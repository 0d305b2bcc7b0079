//! The structures of integrators.

use std::os::raw::c_void;

use super::{
    kyoho_const_integers, kyoho_const_long_integers, kyoho_const_reals, kyoho_integers, kyoho_long_integers,
    kyoho_reals,
};
use crate::abi::native::{kyoho_evolution_end, kyoho_on_collision, kyoho_step_criterion};

/// How an integrator advances bodies. Begin with KYOHO_INTEGRATOR_OPTIONS_INIT, which leaves
/// everything open, and set what you decide.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_integrator_options {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The criterion of the time steps, of `kyoho_step_criterion`.
    pub criterion: kyoho_step_criterion,
    /// The softening length, that of group 0.
    pub softening: f64,
    /// The gravitational constant in the units of the bodies. 0: 1.
    pub gravity: f64,
    /// The accuracy parameter of the time steps. 0: 0.02 in order 4, whose criterion takes its
    /// square root, 0.2 in order 6 and 0.3 where its criterion is averaged with that of order 4, 0.3
    /// in order 8. Order 2 has none.
    pub eta: f64,
    /// The longest step of a body; 0: no limit. Order 2 needs it: it is the step that all bodies
    /// share, which is shortened where a time is no whole number of steps away.
    pub dt_max: f64,
    /// The shortest step of a body, at least 2^-50 of the time to which bodies evolve in a call.
    pub dt_min: f64,
    /// The time at the start.
    pub time: f64,
    /// The distance below which two bodies have an approach, which ends an evolution; softening is
    /// not included. 0: approaches end none.
    pub approach_distance: f64,
    /// The distance below which bodies form subsystems: binaries, triples and close encounters move
    /// by regularised motion, and all others see their centre of mass and what is beyond it.
    /// INFINITY: one that is chosen from the `N` bodies with mass whenever bodies were changed,
    /// `r / (2 N)` with the radius `r` of the inner half of them, or of all up to nine; of more than
    /// 1024 it is 0.005 `r` over the cube root of `N`. 0: none form. Without softening, in orders 4,
    /// 6 and 8.
    pub subsystem_radius: f64,
    /// The speed of light, in the units of the bodies: those of a subsystem pull one another with
    /// the post-Newtonian terms of the orders 1, 2 and 2.5. Two that come nearer than 6 G M / c^2
    /// become one, which is an encounter: the heavier one, or that which was added earlier, has
    /// their mass, momentum and volume, and the other one is removed. 0: without such terms, which
    /// no other bodies have.
    pub speed_of_light: f64,
    /// What becomes of bodies that collide, of `kyoho_on_collision`. With KYOHO_ON_COLLISION_MERGE
    /// they become one in the same way, and evolutions go on after that and after mergers by
    /// relativity.
    pub on_collision: kyoho_on_collision,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
}

/// Bodies to add to an integrator, or to change there. Begin with KYOHO_BODIES_INIT, and set what
/// you have. Each array has an element, or a row of 3 numbers, for every body.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_bodies {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The number of bodies, 0 or more.
    pub count: i32,
    /// Your names for the bodies, each different; they are required.
    pub identifiers: kyoho_const_long_integers,
    /// The masses; required for bodies that are added.
    pub masses: kyoho_const_reals,
    /// The positions, in rows; required for bodies that are added.
    pub positions: kyoho_const_reals,
    /// The velocities, in rows; without them bodies that are added are at rest.
    pub velocities: kyoho_const_reals,
    /// The radii: two bodies that are nearer than the sum of theirs collide, at any time in a step,
    /// which ends an evolution at the end of that block step, or makes them one there, see
    /// `kyoho_on_collision`. Two without a radius never collide.
    /// Without them those of bodies that are added are 0.
    pub radii: kyoho_const_reals,
    /// The groups, see `kyoho_integrator_add_group`; without them bodies that are added are of group
    /// 0.
    pub groups: kyoho_const_integers,
    /// In place of groups, the softening lengths: each body goes to the first group that has its
    /// own, feels all groups and is felt by all. If there is none, one is made. Where that would
    /// make more than 16, none is made, and bodies have their softenings in the first such group.
    pub softenings: kyoho_const_reals,
}

/// The places where bodies of an integrator are written to. Begin with KYOHO_BODY_STATES_INIT, and
/// set what you want. Each array has an element, or a row of 3 numbers, for every body.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_body_states {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The number of bodies, 0 or more.
    pub count: i32,
    /// The identifiers of the bodies that are wanted. Without them: the first `count` bodies, in
    /// the order of `kyoho_integrator_identifiers`.
    pub identifiers: kyoho_const_long_integers,
    /// The masses.
    pub masses: kyoho_reals,
    /// The positions, in rows.
    pub positions: kyoho_reals,
    /// The velocities, in rows.
    pub velocities: kyoho_reals,
    /// The radii.
    pub radii: kyoho_reals,
    /// The accelerations by all other bodies, laws and fields, in rows, in double precision; in
    /// order 2 by the tree if there is one. A force on these bodies is computed for them.
    pub accelerations: kyoho_reals,
    /// The potentials, from the same force.
    pub potentials: kyoho_reals,
    /// The identifiers of the nearest of all other bodies, softening not included; that of the body
    /// itself where there is no other. A sum over all pairs is made for them, also with a tree.
    pub nearest: kyoho_long_integers,
    /// The distances of these; infinite where there is no other body.
    pub nearest_distances: kyoho_reals,
    /// The groups.
    pub groups: kyoho_integers,
    /// The softening lengths: their own, or those of the groups.
    pub softenings: kyoho_reals,
}

/// A function that is told how far an evolution has come, and that returns 0 to go on and anything
/// else to end it, see `kyoho_evolve_options`.
pub type kyoho_progress_callback =
    Option<unsafe extern "C" fn(context: *mut c_void, time: f64, block_steps: u64) -> i32>;

/// A function that gives a field, see `kyoho_integrator_add_field_function`. It writes to `values`
/// what `value` (a `kyoho_field_value`) says, three numbers for each of `count` bodies, of
/// potentials one, and returns 0; anything else ends the call with an error. Rows of three numbers
/// have the positions, the velocities and, for jerks, the accelerations by all forces; else these
/// are NULL.
pub type kyoho_field_function = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        value: i32,
        time: f64,
        count: i32,
        positions: *const f64,
        velocities: *const f64,
        accelerations: *const f64,
        values: *mut f64,
    ) -> i32,
>;

/// The events that end an evolution before its time. Begin with KYOHO_EVOLVE_OPTIONS_INIT.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_evolve_options {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
    /// The number of block steps after which it ends; one more may bring all bodies to one time. 0:
    /// none.
    pub block_steps: i64,
    /// A function that is called after block steps with `context`, the time, and the number of
    /// block steps of this call; anything but 0 ends the evolution. It must return, so that it may
    /// neither throw an exception nor jump, and it must not call functions on this integrator.
    /// NULL: none.
    pub progress: kyoho_progress_callback,
    /// The argument that `progress` gets.
    pub context: *mut c_void,
    /// The seconds that pass at least between two calls of `progress`. 0: it is called after every
    /// block step.
    pub progress_seconds: f64,
}

/// An evolution that has ended. Begin with KYOHO_EVOLUTION_INIT.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_evolution {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The reason, of `kyoho_evolution_end`.
    pub end: kyoho_evolution_end,
    /// The time of the bodies. With KYOHO_EVOLUTION_END_TIME it is that of the call.
    pub time: f64,
    /// The number of block steps.
    pub block_steps: u64,
    /// The number of encounters that ended it, or after which two bodies were one, see
    /// `kyoho_integrator_encounters`.
    pub encounter_count: i32,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
    /// The identifier of one of the bodies of the closest approach.
    pub approach_first: i64,
    /// The identifier of the other one.
    pub approach_second: i64,
    /// The distance of the closest approach of two bodies, at the ends of block steps, softening
    /// not included. Infinite if there was none, and in order 2, which finds none.
    pub approach_distance: f64,
    /// The time of the closest approach.
    pub approach_time: f64,
}

/// The places where the encounters of an evolution are written to. Begin with
/// KYOHO_ENCOUNTERS_INIT, and set what you want. Each array has an element for every encounter.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_encounters {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The number of encounters for which there is room.
    pub capacity: i32,
    /// The reason of each, of `kyoho_encounter_kind`.
    pub kinds: kyoho_integers,
    /// The identifier of one of the bodies, the one that was added earlier. Where they have become
    /// one, one of the two identifiers has no body any more.
    pub first: kyoho_long_integers,
    /// The identifier of the other one.
    pub second: kyoho_long_integers,
    /// The distance of each. That of a collision is the least one in the step at whose end it was
    /// noticed, that of an approach the one at that end, and that of a merger the one at which they
    /// merged.
    pub distances: kyoho_reals,
    /// The time at which they had this distance.
    pub times: kyoho_reals,
}

/// The places where the binaries of an integrator's subsystems are written to. Begin with
/// KYOHO_BINARIES_INIT, and set what you want. Each array has an element for every binary. The two
/// parts of a binary are bodies, or binaries before it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_binaries {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The number of binaries for which there is room.
    pub capacity: i32,
    /// The identifier of the body of the first part, or of that of its bodies that was added first.
    pub first: kyoho_long_integers,
    /// See `first`, of the second part.
    pub second: kyoho_long_integers,
    /// The number of bodies of the first part.
    pub first_counts: kyoho_integers,
    /// The number of bodies of the second part.
    pub second_counts: kyoho_integers,
    /// The semi-major axes of the orbits of both parts around one another.
    pub semi_major_axes: kyoho_reals,
    /// Their eccentricities.
    pub eccentricities: kyoho_reals,
    /// Their periods.
    pub periods: kyoho_reals,
}

/// The bodies of an integrator and its work since it was made. Begin with KYOHO_INTEGRATION_INIT.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_integration {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The number of bodies.
    pub body_count: i32,
    /// The time of the bodies.
    pub time: f64,
    /// Steps of single bodies.
    pub steps: u64,
    /// Blocks of bodies that stepped together.
    pub block_steps: u64,
    /// Steps that should have been shorter than the shortest.
    pub limited_steps: u64,
    /// Pairs whose forces were computed.
    pub interactions: u64,
    /// Close passages of two bodies after which their energy, that of their motion round each other,
    /// was another one by more than a hundredth, or in which steps should have been shorter than
    /// the shortest. The errors of the steps have changed it then: a smaller `eta`, a shorter
    /// `dt_min` or softening helps. Order 2 looks for none.
    pub energy_jumps: u64,
    /// The identifiers of the two bodies of the last one.
    pub jump_first: i64,
    /// See `jump_first`.
    pub jump_second: i64,
    /// The time at which they were nearest.
    pub jump_time: f64,
    /// Their distance then, softening not included.
    pub jump_distance: f64,
    /// The shortest step that one of them took.
    pub jump_step: f64,
    /// The change of their energy.
    pub jump_energy: f64,
    /// How many of their steps should have been shorter than the shortest.
    pub jump_limited_steps: u64,
    /// The number of groups.
    pub group_count: i64,
}
