//! Integrators: bodies that come, go, change and evolve.
//!
//! `creation` makes them. `bodies`, `groups`, `fields` and `laws` have what moves and acts, and
//! `evolution` advances it, and `ensembles` several at the same time; `encounters` and `energies` tell
//! what came of that. `states` lets other integrators go on, and `units` has constants. Here are the
//! handles of all.

mod bodies;
mod creation;
mod encounters;
mod energies;
mod ensembles;
mod evolution;
mod fields;
mod groups;
mod laws;
mod states;
mod units;

use std::os::raw::c_char;

use crate::abi::handles::Handles;
use kyoho_core::{Error, Result, ResultCode};
use kyoho_integrators::Counts;
use kyoho_integrators::cluster::Cluster;

use super::call;
use super::structures::{self, empty, kyoho_integration};
use super::system::kyoho_last_error;

pub use bodies::*;
pub use creation::*;
pub use encounters::*;
pub use energies::*;
pub use ensembles::*;
pub use evolution::*;
pub use fields::*;
pub use groups::*;
pub use laws::*;
pub use states::*;
pub use units::*;

/// Bodies at one time, and the integrator that advances them: by a Hermite scheme of order 4, 6 or
/// 8 with block time steps, or by a leapfrog with a shared step, of order 2. As with systems, a
/// pointer to it is a handle that the library looks up, and it points to nothing.
///
/// Several threads may use several of them at once; calls on one wait for one another.
#[allow(non_camel_case_types)]
pub struct kyoho_integrator;

static INTEGRATORS: Handles<Cluster> = Handles::new("the integrator");

/// Runs an entry point on an integrator. The text of its error stays with it.
fn call_on(integrator: *mut kyoho_integrator, body: impl FnOnce(&mut Cluster) -> Result<()>) -> ResultCode {
    call(|| INTEGRATORS.with(integrator.addr(), body).map_err(of_integrator))
}

/// Returns the error of a handle that is no integrator.
fn of_integrator(error: Error) -> Error {
    match error {
        Error::BadHandle { handle } => Error::BadIntegratorHandle { handle },
        other => other,
    }
}

/// Describes an integrator: its bodies, their time, and counts of its work.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a `structure_size` that is not
/// allowed).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_describe(
    integrator: *mut kyoho_integrator,
    integration: *mut kyoho_integration,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let Counts { steps, block_steps, limited_steps, interactions, energy_jumps } = cluster.counts();
        let mut found = kyoho_integration {
            body_count: cluster.identifiers().len() as i32,
            time: cluster.time(),
            steps,
            block_steps,
            limited_steps,
            interactions,
            energy_jumps,
            group_count: cluster.groups().count() as i64,
            ..empty()
        };
        if let Some(([first, second], jump)) = cluster.energy_jump() {
            (found.jump_first, found.jump_second) = (first, second);
            (found.jump_time, found.jump_distance, found.jump_step) = (jump.time, jump.distance, jump.step);
            (found.jump_energy, found.jump_limited_steps) = (jump.energy, jump.limited_steps);
        }
        // SAFETY: null or a structure.
        unsafe { structures::write("integration", integration, found) }
    })
}

/// The text of the last failing call on an integrator, as `kyoho_system_last_error` has it for
/// systems.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_integrator_last_error(integrator: *mut kyoho_integrator) -> *const c_char {
    INTEGRATORS.last_error(integrator.addr()).unwrap_or_else(|_| kyoho_last_error())
}

/// Frees an integrator; its handle is none from then on. A call that is under way on it is waited
/// for.
///
/// Errors: KYOHO_BAD_HANDLE, also for NULL and for one that was freed before.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_integrator_free(integrator: *mut kyoho_integrator) -> ResultCode {
    call(|| INTEGRATORS.remove(integrator.addr()).map(drop).map_err(of_integrator))
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use crate::abi::panicking::{At, Told};
    use kyoho_core::{Order, Precision, Scope};
    use kyoho_integrators::cluster::Choices;

    use super::super::structures::{kyoho_bodies, kyoho_evolution};
    use super::*;

    #[test]
    fn an_integrator_on_which_a_call_panicked_can_only_be_freed() {
        let told = Told::default();
        let (_, system) = told.system(Order::Fourth, Precision::Double, Scope::Full);
        let choices = Choices { softening: 0.1, ..Choices::default() };
        let handle = INTEGRATORS.insert(Cluster::new(system, choices).unwrap()).unwrap();
        let integrator: *mut kyoho_integrator = ptr::without_provenance_mut(handle);
        let (identifiers, masses, positions) = ([3i64, 4], [1.0; 2], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        let mut bodies: kyoho_bodies = empty();
        (bodies.count, bodies.identifiers.data) = (2, identifiers.as_ptr());
        (bodies.masses.data, bodies.positions.data) = (masses.as_ptr(), positions.as_ptr());
        let mut evolution: kyoho_evolution = empty();
        // SAFETY: the structures have arrays of as many rows as they say.
        unsafe {
            assert_eq!(kyoho_integrator_add_bodies(integrator, &raw const bodies), ResultCode::Ok);
            told.panic_at(At::Wait);
            let mut evolve = || kyoho_integrator_evolve(integrator, 0.1, ptr::null(), &raw mut evolution);
            assert_eq!(evolve(), ResultCode::Internal);
            told.panic_at(At::Nowhere);
            for refused in [
                evolve(),
                kyoho_integrator_set_bodies(integrator, &raw const bodies),
                kyoho_integrator_remove_bodies(integrator, 1, identifiers.as_ptr()),
                kyoho_integrator_energies(integrator, ptr::null_mut(), ptr::null_mut()),
            ] {
                assert_eq!(refused, ResultCode::Poisoned);
            }
        }
        assert_eq!((told.open(), kyoho_integrator_free(integrator), told.open()), (1, ResultCode::Ok, 0));
        assert_eq!(kyoho_integrator_free(integrator), ResultCode::BadHandle);
    }
}
