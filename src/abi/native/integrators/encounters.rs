//! Binaries of the subsystems, and the encounters that ended an evolution.

use crate::abi::arrays;
use crate::abi::boundary::{self, required};
use kyoho_core::{Error, ResultCode};

use super::super::rows::{Rows, put};
use super::super::structures::{kyoho_binaries, kyoho_encounters, read};
use super::{call_on, kyoho_integrator};

/// Writes how many binaries the subsystems of an integrator have: bound pairs of bodies, and of
/// pairs.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_binary_count(
    integrator: *mut kyoho_integrator,
    count: *mut i32,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let count = required("count", count)?;
        // SAFETY: room for a number.
        unsafe { boundary::write(count, 0) };
        let binaries = cluster.binaries()?.len() as i32;
        // SAFETY: as above.
        unsafe { boundary::write(count, binaries) };
        Ok(())
    })
}

/// Writes the binaries of the subsystems, innermost first in each.
///
/// Errors, after which nothing was written: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT,
/// KYOHO_BAD_OPTION (a stride that is not allowed), KYOHO_BUFFER_TOO_SMALL, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_binaries(
    integrator: *mut kyoho_integrator,
    binaries: *const kyoho_binaries,
) -> ResultCode {
    call_on(integrator, |cluster| {
        // SAFETY: null or a structure.
        let wanted = unsafe { read("binaries", binaries) }?;
        let room = arrays::count("kyoho_binaries.capacity", wanted.capacity)?;
        let found = cluster.binaries()?;
        if room < found.len() {
            return Err(Error::BufferTooSmall { what: "the arrays of binaries", needed: found.len(), room });
        }
        let first: Option<Rows<i64, 1>> = Rows::optional("kyoho_binaries.first", wanted.first)?;
        let second: Option<Rows<i64, 1>> = Rows::optional("kyoho_binaries.second", wanted.second)?;
        let first_counts: Option<Rows<i32, 1>> = Rows::optional("kyoho_binaries.first_counts", wanted.first_counts)?;
        let second_counts: Option<Rows<i32, 1>> = Rows::optional("kyoho_binaries.second_counts", wanted.second_counts)?;
        let semi_major_axes: Option<Rows<f64, 1>> =
            Rows::optional("kyoho_binaries.semi_major_axes", wanted.semi_major_axes)?;
        let eccentricities: Option<Rows<f64, 1>> =
            Rows::optional("kyoho_binaries.eccentricities", wanted.eccentricities)?;
        let periods: Option<Rows<f64, 1>> = Rows::optional("kyoho_binaries.periods", wanted.periods)?;
        for (row, binary) in found.iter().enumerate() {
            let [one, other] = binary.members.each_ref();
            // SAFETY: the arrays have more than `row` elements.
            unsafe {
                put(first, row, [cluster.identifiers()[one[0]]]);
                put(second, row, [cluster.identifiers()[other[0]]]);
                put(first_counts, row, [one.len() as i32]);
                put(second_counts, row, [other.len() as i32]);
                put(semi_major_axes, row, [binary.orbit.semi_major_axis]);
                put(eccentricities, row, [binary.orbit.eccentricity]);
                put(periods, row, [binary.orbit.period]);
            }
        }
        Ok(())
    })
}

/// Writes the encounters of the last evolution, until bodies are added, changed or removed: those
/// that ended it, and those after which two bodies were one.
///
/// Errors, after which nothing was written: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT,
/// KYOHO_BAD_OPTION (a stride that is not allowed), KYOHO_BUFFER_TOO_SMALL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_encounters(
    integrator: *mut kyoho_integrator,
    encounters: *const kyoho_encounters,
) -> ResultCode {
    call_on(integrator, |cluster| {
        // SAFETY: null or a structure.
        let wanted = unsafe { read("encounters", encounters) }?;
        let room = arrays::count("kyoho_encounters.capacity", wanted.capacity)?;
        let found = cluster.encounters();
        if room < found.len() {
            return Err(Error::BufferTooSmall { what: "the arrays of encounters", needed: found.len(), room });
        }
        let kinds: Option<Rows<i32, 1>> = Rows::optional("kyoho_encounters.kinds", wanted.kinds)?;
        let first: Option<Rows<i64, 1>> = Rows::optional("kyoho_encounters.first", wanted.first)?;
        let second: Option<Rows<i64, 1>> = Rows::optional("kyoho_encounters.second", wanted.second)?;
        let distances: Option<Rows<f64, 1>> = Rows::optional("kyoho_encounters.distances", wanted.distances)?;
        let times: Option<Rows<f64, 1>> = Rows::optional("kyoho_encounters.times", wanted.times)?;
        for (row, encounter) in found.iter().enumerate() {
            let [one, other] = encounter.bodies;
            // SAFETY: the arrays have more than `row` elements.
            unsafe {
                put(kinds, row, [encounter.kind as i32]);
                put(first, row, [one]);
                put(second, row, [other]);
                put(distances, row, [encounter.distance]);
                put(times, row, [encounter.time]);
            }
        }
        Ok(())
    })
}
