//! The energies of the bodies.

use crate::abi::boundary::{self, required};
use kyoho_core::ResultCode;

use super::{call_on, kyoho_integrator};

/// Computes the kinetic energy of the bodies and their potential energy, in which each pair counts
/// once and softening is included; in double precision, and in order 2 by the tree if there is one.
/// The potential energies in fields and by laws are part of it: `kyoho_integrator_field_energy` and
/// `kyoho_integrator_law_energy` have these alone. The sum is conserved where nothing depends on
/// time or velocities and each body that acts is acted upon. Both pointers may be NULL.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NOT_FINITE (in a field or by a law), KYOHO_OUT_OF_RANGE,
/// KYOHO_NO_BACKEND, KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_energies(
    integrator: *mut kyoho_integrator,
    kinetic: *mut f64,
    potential: *mut f64,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let energy = cluster.energies()?;
        // SAFETY: null or room for a number.
        unsafe {
            boundary::write(kinetic, energy.kinetic);
            boundary::write(potential, energy.potential + energy.field);
        }
        Ok(())
    })
}

/// Computes the potential energy of the bodies in fields: the sum of each mass times the potential
/// there. Fields whose text has an acceleration alone have none.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_NOT_FINITE, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_field_energy(
    integrator: *mut kyoho_integrator,
    energy: *mut f64,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let energy = required("energy", energy)?;
        // SAFETY: room for a number.
        unsafe { boundary::write(energy, cluster.field_energy()?) };
        Ok(())
    })
}
