//! Integrators are made from the caller's options.

use std::ptr;

use crate::abi::boundary::{self, protect, required};
use crate::abi::opening;
use kyoho_core::{Result, ResultCode, Scope};
use kyoho_engine::System;
use kyoho_integrators::cluster::{Choices, Cluster, OnCollision};
use kyoho_integrators::plan::StepCriterion;

use super::super::structures::{bad_field, empty, kyoho_integrator_options, kyoho_options, read, require_unused};
use super::super::{call, communicators, options};
use super::{INTEGRATORS, kyoho_integrator};

/// Makes an integrator without bodies. `options` choose the order, the precision, the backend and
/// its devices as for systems, of full forces; in order 2 also the tree. Both may be NULL, which
/// leaves everything open: order 4 in double precision.
///
/// `integrator` receives the handle, NULL on an error. Give it back with `kyoho_integrator_free`.
///
/// With a communicator all ranks call this, with the same options, and the error of one is that of
/// all. Each rank then has all bodies: all add, set and remove the same ones, and they share the
/// sums of the forces, by direct sums alone. From then on `kyoho_integrator_evolve`,
/// `kyoho_integrator_energies`, and `kyoho_integrator_get_bodies` where forces or nearest bodies are
/// wanted, are calls of all ranks, and all others of one.
///
/// Errors: as `kyoho_system_create`, and KYOHO_BAD_OPTION also for a field of `integrator_options`
/// whose value is not allowed, and for the scope of regular forces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_create(
    options: *const kyoho_options,
    integrator_options: *const kyoho_integrator_options,
    integrator: *mut *mut kyoho_integrator,
) -> ResultCode {
    call(|| {
        // SAFETY: null or room for a pointer.
        unsafe { boundary::write(integrator, ptr::null_mut()) };
        // SAFETY: null or a structure.
        let communicator = unsafe { communicators::of_options(options) }?;
        // Whatever is wrong here, even a panic, the other ranks are told of it.
        let made = protect(|| {
            required("integrator", integrator)?;
            // SAFETY: null or structures.
            unsafe { open(options, integrator_options) }
        });
        let cluster = match communicator {
            None => made.and_then(|(system, choices)| Cluster::new(system, choices))?,
            Some(communicator) => Cluster::over(Box::new(communicator), made)?,
        };
        let handle = INTEGRATORS.insert(cluster)?;
        // SAFETY: room for a pointer. The handle is a number that no one follows as a pointer.
        unsafe { boundary::write(integrator, ptr::without_provenance_mut(handle)) };
        Ok(())
    })
}

/// Makes the system of an integrator, and reads its choices.
///
/// # Safety
/// The options are null or structures.
unsafe fn open(
    options: *const kyoho_options,
    integrator_options: *const kyoho_integrator_options,
) -> Result<(System, Choices)> {
    let given = if integrator_options.is_null() {
        empty()
    } else {
        // SAFETY: not null, hence a structure.
        unsafe { read("integrator_options", integrator_options) }?
    };
    let criterion = StepCriterion::from_number(given.criterion).ok_or_else(|| {
        let allowed = "0 (usual), 1 (order), 2 (average, in orders 6 and 8)";
        bad_field("kyoho_integrator_options.criterion", given.criterion, allowed)
    })?;
    let on_collision = OnCollision::from_number(given.on_collision)
        .ok_or_else(|| bad_field("kyoho_integrator_options.on_collision", given.on_collision, "0 (end), 1 (merge)"))?;
    require_unused("kyoho_integrator_options", given.reserved)?;
    // SAFETY: null or a structure.
    let (setup, because) = unsafe { options::setup(options, None) }?;
    // SAFETY: null or a structure.
    let tree = unsafe { options::tree(options) }?;
    if setup.scope != Scope::Full {
        return Err(bad_field("kyoho_options.scope", setup.scope as i32, "0 (full), 1 (full) for an integrator"));
    }
    let kyoho_integrator_options { softening, gravity, eta, dt_max, dt_min, .. } = given;
    let kyoho_integrator_options { time, approach_distance, subsystem_radius, speed_of_light, .. } = given;
    let steps = Choices { criterion, eta, dt_max, dt_min, ..Choices::default() };
    let close = Choices { approach_distance, subsystem_radius, speed_of_light, on_collision, ..steps };
    let choices = Choices { softening, gravity, time, ..close };
    choices.check(setup.order)?;
    let mut system = opening::system("kyoho_integrator_create", &setup, &because)?;
    system.set_tree(tree)?;
    Ok((system, choices))
}
