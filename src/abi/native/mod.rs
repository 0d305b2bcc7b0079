//! The library's own interface, `kyoho_*`: whole arrays a call, opaque handles, numbered results.
//!
//! [`system`] makes, describes and frees systems, with the choices in [`options`]. [`sources`]
//! writes sources; [`block`] computes forces, and [`lists`] those of groups of sinks and of
//! batches, all from the caller's [`structures`], whose arrays [`rows`] reads and writes.
//! [`pairs`] compiles and runs pair interactions that users write. [`integrators`] advances bodies.
//! [`interactions`] lists what can be computed, and [`log`] passes the log to the caller. The
//! documentation of each entry point is that of the C header, which is made from these files. It is
//! also the contract that makes the calls safe: every pointer is null if the documentation allows
//! it, or points to as many elements as it says.

// One contract, written above, makes every entry point safe, and their documentation is read in C.
#![allow(clippy::missing_safety_doc)]

pub mod block;
pub mod integrators;
pub mod interactions;
pub mod lists;
pub mod log;
pub mod options;
mod pair_runs;
pub mod pairs;
pub mod rows;
pub mod sources;
pub mod structures;
pub mod system;
pub mod trees;

use std::cell::RefCell;
use std::ffi::CString;

use crate::data::{Error, Result, ResultCode};
use crate::engine::System;

use self::system::kyoho_system;
use super::boundary::protect;
use super::floating_point::in_the_usual_environment;
use super::handles::Handles;

// These numbers come from the caller and may have any value, so they are no enumerations of Rust.

/// The number of a [`Precision`](crate::data::Precision).
#[allow(non_camel_case_types)]
pub type kyoho_precision = i32;
/// The number of a [`Scope`](crate::data::Scope).
#[allow(non_camel_case_types)]
pub type kyoho_scope = i32;
/// The number of a [`Backend`](crate::hal::Backend).
#[allow(non_camel_case_types)]
pub type kyoho_backend = i32;

/// The number of a [`Memory`](structures::Memory).
#[allow(non_camel_case_types)]
pub type kyoho_memory = i32;
/// The number of an [`Exclusion`](structures::Exclusion).
#[allow(non_camel_case_types)]
pub type kyoho_exclusion = i32;
/// The number of a [`NeighbourCriterion`](crate::data::NeighbourCriterion).
#[allow(non_camel_case_types)]
pub type kyoho_neighbour_criterion = i32;
/// The number of an [`EvolutionEnd`](crate::integrator::cluster::EvolutionEnd).
#[allow(non_camel_case_types)]
pub type kyoho_evolution_end = i32;
/// The number of a [`StepCriterion`](crate::integrator::plan::StepCriterion).
#[allow(non_camel_case_types)]
pub type kyoho_step_criterion = i32;
/// The number of a [`LogLevel`](structures::LogLevel).
#[allow(non_camel_case_types)]
pub type kyoho_log_level = i32;

/// The number of a [`NumberType`](structures::NumberType).
#[allow(non_camel_case_types)]
pub type kyoho_number_type = i32;

/// The object behind a handle.
struct Held {
    system: System,
    last_error: CString,
}

static SYSTEMS: Handles<Held> = Handles::new();

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

/// Runs an entry point on a system. The text of its error stays with the system.
fn call_on(system: *mut kyoho_system, body: impl FnOnce(&mut System) -> Result<()>) -> ResultCode {
    call(|| {
        SYSTEMS.with(system.addr(), |held| {
            let outcome = protect(|| body(&mut held.system));
            outcome.inspect_err(|error| held.last_error = c_text(error))
        })?
    })
}

fn remember(error: &Error) {
    ::log::debug!("{error}");
    // A thread that is being torn down has no last error any more.
    let _ = LAST_ERROR.try_with(|last| *last.borrow_mut() = c_text(error));
}

fn c_text(error: &Error) -> CString {
    let mut bytes = error.to_string().into_bytes();
    bytes.retain(|byte| *byte != 0);
    CString::new(bytes).unwrap_or_default()
}
