//! Laws between bodies beside their gravity.

use std::os::raw::c_char;

use crate::abi::arrays::{self, Input};
use crate::abi::boundary::{self, required};
use kyoho_core::{Error, ResultCode, memory};

use super::{call_on, kyoho_integrator};

/// Adds a law between bodies beside their gravity, from now on; several add up. `law` is a text of
/// the language of pairs (docs/laws.md), which ends with a zero. `names` has the names of its
/// parameters with spaces between them, and `numbers` the `count` numbers of all of these, one
/// after another. Both may be NULL for a law without parameters.
///
/// It acts on the bodies of the groups whose bits are set in `on` (1 for group 0, 2 for group 1, 4
/// for group 2), by bodies of those in `by`; 0 stands for all groups. The next evolution begins
/// with new forces of all bodies. The host makes the block steps then, and asks a GPU for the sums.
///
/// Errors, after which no law was added: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_TEXT,
/// KYOHO_BAD_OPTION (a parameter that is missing or that the law has not, a number that is not
/// finite, a group that there is not, or an integrator with subsystems), KYOHO_BAD_COUNT,
/// KYOHO_NO_BACKEND, KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_add_law(
    integrator: *mut kyoho_integrator,
    law: *const c_char,
    names: *const c_char,
    count: i32,
    numbers: *const f64,
    on: i32,
    by: i32,
) -> ResultCode {
    call_on(integrator, |cluster| {
        // SAFETY: null or a text.
        let law = unsafe { boundary::long_text(law, "the text of a law") }?;
        let law = law.ok_or(Error::NullArgument { argument: "law" })?;
        // SAFETY: null or a text.
        let names = unsafe { boundary::long_text(names, "the names of a law") }?.unwrap_or_default();
        let count = arrays::count("count", count)?;
        // SAFETY: an array of so many.
        let given = unsafe { Input::new("numbers", numbers, count) }?;
        let numbers = memory::collected(given.items(), "the numbers of a law")?;
        cluster.add_law(&law, &names, &numbers, [on, by].map(i32::cast_unsigned))
    })
}

/// Computes the energy of the bodies by laws: each mass times its potential, in which a pair counts
/// once, whether both or one of the two act. It is part of the potential energy of
/// `kyoho_integrator_energies`. Laws that are written as an acceleration alone give none.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_NOT_FINITE (by a law),
/// KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_law_energy(
    integrator: *mut kyoho_integrator,
    energy: *mut f64,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let energy = required("energy", energy)?;
        let found = cluster.law_energy()?;
        // SAFETY: room for a number.
        unsafe { boundary::write(energy, found) };
        Ok(())
    })
}
