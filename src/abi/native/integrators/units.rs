//! The gravitational constant in systems of units.

use std::os::raw::c_char;

use crate::abi::boundary::{self, required};
use kyoho_core::{Error, ResultCode};
use kyoho_integrators::unit_systems::gravitational_constant;

use super::super::call;

/// Writes the gravitational constant in a system of units, which `kyoho_integrator_options.gravity`
/// takes. `units` is "SI", or has a length, a mass and a time or a speed with spaces between them,
/// such as "pc Msun Myr" or "kpc 1e10Msun km/s"; docs/units.md has all.
///
/// Errors: KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a unit that is not known).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_gravitational_constant(units: *const c_char, gravity: *mut f64) -> ResultCode {
    call(|| {
        // SAFETY: null or a text.
        let units = unsafe { boundary::long_text(units, "the names of units") }?;
        let units = units.ok_or(Error::NullArgument { argument: "units" })?;
        let gravity = required("gravity", gravity)?;
        // SAFETY: room for a number.
        unsafe { boundary::write(gravity, gravitational_constant(&units)?) };
        Ok(())
    })
}
