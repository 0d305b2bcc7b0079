//! The library's own interface, `kyoho_*`: whole arrays a call, opaque handles, numbered results.
//!
//! [`system`] makes, describes and frees systems, with the choices in [`options`]. [`sources`]
//! writes sources; `communicators` has the ranks of a system; [`block`] computes forces, and [`lists`] those of groups of sinks and of
//! batches, all from the caller's [`structures`], whose arrays [`rows`] reads and writes.
//! [`pairs`] compiles and runs pair interactions that users write. [`integrators`] advances bodies,
//! and [`few_body`] systems of few; [`models`] makes bodies.
//! [`interactions`] lists what can be computed, and [`log`] passes the log to the caller. The
//! documentation of each entry point is that of the C header, which is made from these files. It is
//! also the contract that makes the calls safe: every pointer is null if the documentation allows
//! it, or points to as many elements as it says.

// One contract, written above, makes every entry point safe, and their documentation is read in C.
#![allow(clippy::missing_safety_doc)]

pub mod block;
pub mod communicators;
pub mod few_body;
mod host_copies;
pub mod integrators;
pub mod interactions;
pub mod lists;
pub mod log;
pub mod models;
pub mod options;
mod pair_rows;
mod pair_runs;
pub mod pairs;
pub mod rows;
pub mod sources;
pub mod structures;
pub mod system;
pub mod trees;

use std::cell::RefCell;
use std::ffi::CString;

use kyoho_core::{Error, Result, ResultCode};
use kyoho_engine::System;
use kyoho_ranks::RankedSystem;

use self::system::kyoho_system;
use super::boundary::{c_text, protect};
use super::floating_point::in_the_usual_environment;
use super::handles::Handles;

// These numbers come from the caller and may have any value, so they are no enumerations of Rust.

/// The number of a [`Precision`](kyoho_core::Precision).
#[allow(non_camel_case_types)]
pub type kyoho_precision = i32;
/// The number of a [`Scope`](kyoho_core::Scope).
#[allow(non_camel_case_types)]
pub type kyoho_scope = i32;
/// The number of a [`Backend`](kyoho_hal::Backend).
#[allow(non_camel_case_types)]
pub type kyoho_backend = i32;

/// The number of a [`Memory`](structures::Memory).
#[allow(non_camel_case_types)]
pub type kyoho_memory = i32;
/// The number of an [`Exclusion`](structures::Exclusion).
#[allow(non_camel_case_types)]
pub type kyoho_exclusion = i32;
/// The number of a [`NeighbourCriterion`](kyoho_core::NeighbourCriterion).
#[allow(non_camel_case_types)]
pub type kyoho_neighbour_criterion = i32;
/// The number of an [`EvolutionEnd`](kyoho_integrators::cluster::EvolutionEnd).
#[allow(non_camel_case_types)]
pub type kyoho_evolution_end = i32;
/// The number of a [`FewBodyEnd`](few_body::FewBodyEnd).
#[allow(non_camel_case_types)]
pub type kyoho_few_body_end = i32;
/// The number of an [`OnCollision`](kyoho_integrators::cluster::OnCollision).
#[allow(non_camel_case_types)]
pub type kyoho_on_collision = i32;
/// The number of a [`StepCriterion`](kyoho_integrators::plan::StepCriterion).
#[allow(non_camel_case_types)]
pub type kyoho_step_criterion = i32;
/// The number of a [`LogLevel`](structures::LogLevel).
#[allow(non_camel_case_types)]
pub type kyoho_log_level = i32;

/// The number of a [`NumberType`](structures::NumberType).
#[allow(non_camel_case_types)]
pub type kyoho_number_type = i32;

static SYSTEMS: Handles<RankedSystem> = Handles::new("the system");

thread_local! {
    /// The text of the last failing call of this thread.
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Runs an entry point that belongs to no system.
fn call(body: impl FnOnce() -> Result<()>) -> ResultCode {
    in_the_usual_environment(|| match protect(body) {
        Ok(()) => ResultCode::Ok,
        Err(error) => {
            // The caller's logger may panic.
            let _ = protect(|| {
                remember(&error);
                Ok(())
            });
            error.code()
        }
    })
}

/// Runs an entry point on a system, or on this rank's part of it. The text of its error stays with
/// the system.
fn call_on(system: *mut kyoho_system, body: impl FnOnce(&mut System) -> Result<()>) -> ResultCode {
    call_on_ranks(system, |system| body(system.own()))
}

/// Runs an entry point on a system that has to be of this process alone. `work` says what it does.
fn call_on_one(
    system: *mut kyoho_system,
    work: &'static str,
    body: impl FnOnce(&mut System) -> Result<()>,
) -> ResultCode {
    call_on_ranks(system, |system| body(system.alone(work)?))
}

/// Runs an entry point on a system that may be over ranks.
fn call_on_ranks(system: *mut kyoho_system, body: impl FnOnce(&mut RankedSystem) -> Result<()>) -> ResultCode {
    call(|| SYSTEMS.with(system.addr(), body))
}

fn remember(error: &Error) {
    ::log::debug!("{error}");
    // A thread that is being torn down has no last error any more.
    let _ = LAST_ERROR.try_with(|last| *last.borrow_mut() = c_text(error));
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::ptr;

    use crate::abi::panicking::{At, Told};
    use kyoho_core::{Order, Precision, Scope};

    use super::block::{kyoho_system_force, kyoho_system_neighbours, kyoho_system_start, kyoho_system_wait};
    use super::sources::{kyoho_system_predict, kyoho_system_set_sources, kyoho_system_set_time};
    use super::structures::{empty, kyoho_forces, kyoho_sinks, kyoho_sources};
    use super::system::{
        kyoho_system_device_count, kyoho_system_free, kyoho_system_last_error, kyoho_system_move,
        kyoho_system_set_crossover, kyoho_system_statistics,
    };
    use super::*;

    #[test]
    fn a_system_on_which_a_call_panicked_can_only_be_freed() {
        for at in [At::Start, At::Wait, At::Neighbours] {
            let told = Told::default();
            let (_, made) = told.system(Order::Fourth, Precision::Double, Scope::Full);
            let handle = SYSTEMS.insert(made.into()).unwrap();
            let system: *mut kyoho_system = ptr::without_provenance_mut(handle);
            let (masses, positions, indices, radii2) = ([1.0; 2], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0], [0, 1], [4.0; 2]);
            let (mut sources, mut sinks): (kyoho_sources, kyoho_sinks) = (empty(), empty());
            (sources.count, sources.masses.data, sources.positions.data) = (2, masses.as_ptr(), positions.as_ptr());
            (sinks.count, sinks.indices.data, sinks.positions.data) = (2, indices.as_ptr(), positions.as_ptr());
            (sinks.velocities.data, sinks.radii2.data) = (positions.as_ptr(), radii2.as_ptr());
            let (forces, mut list, mut count): (kyoho_forces, _, _) = (empty(), [0; 2], 0);
            // SAFETY: the structures have arrays of as many rows as they say.
            unsafe {
                assert_eq!(kyoho_system_set_sources(system, &raw const sources), ResultCode::Ok);
                told.panic_at(at);
                let forces = (&raw const sinks, &raw const forces);
                let mut calls = || {
                    let force = kyoho_system_force(system, 2, forces.0, forces.1);
                    let list = (list.as_mut_ptr(), &raw mut count);
                    if force == ResultCode::Ok { kyoho_system_neighbours(system, 0, 2, list.0, list.1) } else { force }
                };
                assert_eq!(calls(), ResultCode::Internal, "{at:?}");
                let words = || CStr::from_ptr(kyoho_system_last_error(system)).to_str().unwrap();
                assert!(words().contains("was told to panic"), "{}", words());
                told.panic_at(At::Nowhere);
                let before = told.calls();
                for refused in [
                    calls(),
                    kyoho_system_start(system, 2, forces.0),
                    kyoho_system_wait(system, forces.1),
                    kyoho_system_neighbours(system, 0, 2, list.as_mut_ptr(), &raw mut count),
                    kyoho_system_set_sources(system, &raw const sources),
                    kyoho_system_set_time(system, 0.5),
                    kyoho_system_predict(system, 0, 2, &empty()),
                    kyoho_system_set_crossover(system, 0),
                    kyoho_system_move(system, ptr::null()),
                    kyoho_system_device_count(system, &raw mut count),
                    kyoho_system_statistics(system, &mut empty()),
                ] {
                    assert_eq!(refused, ResultCode::Poisoned, "{at:?}");
                    assert!(words().contains("an earlier call on the system; allowed: to free it"), "{}", words());
                }
                assert_eq!((told.calls(), told.open()), (before, 1), "the device was left alone");
            }
            assert_eq!(kyoho_system_free(system), ResultCode::Ok);
            assert_eq!(told.open(), 0, "the device was given back");
            assert_eq!(kyoho_system_free(system), ResultCode::BadHandle);
        }
    }
}
