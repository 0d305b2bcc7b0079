//! States of integrators, from which others go on.

use std::os::raw::c_void;
use std::ptr;

use crate::abi::boundary::{self, required};
use kyoho_core::{Error, ResultCode};

use super::{call_on, kyoho_integrator};

/// Writes the state of an integrator: its bodies with their identifiers, radii and time, the steps
/// and derivatives with which the next evolution goes on, its fields, laws and groups. `state` has
/// room for `room` bytes, and may be NULL if there is none; `needed`, which may be NULL, receives
/// the bytes of the state.
///
/// An integrator of the same order that is given these bytes by `kyoho_integrator_set_state` goes on
/// with the same bits, if it was made with the same options, on the same kind of device, by the
/// same version of the library. Choices and counts are no part of a state.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (a negative room),
/// KYOHO_BAD_OPTION (a field that is a function), KYOHO_BUFFER_TOO_SMALL, after which nothing was
/// written but `needed`, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_state(
    integrator: *mut kyoho_integrator,
    state: *mut c_void,
    room: i64,
    needed: *mut i64,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let size = cluster.state_size();
        // SAFETY: null or room for a number.
        unsafe { boundary::write(needed, size as i64) };
        let bad = |_| Error::BadCount { what: "room", value: room, allowed: "0 or more".into() };
        let room = usize::try_from(room).map_err(bad)?;
        if room < size {
            return Err(Error::BufferTooSmall { what: "the room for the state", needed: size, room });
        }
        let (to, bytes) = (required("state", state)?, cluster.state()?);
        // SAFETY: the caller's room, which no memory of the library overlaps.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) };
        Ok(())
    })
}

/// Goes on from a state of `size` bytes, which `kyoho_integrator_state` gave, in place of the
/// bodies, fields and laws that the integrator has. What was made with it stays: its options and
/// its counts.
///
/// Errors, after which nothing was changed: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT
/// (a negative size), KYOHO_BAD_OPTION (bytes that are no state, or that of another order),
/// KYOHO_NOT_FINITE, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_set_state(
    integrator: *mut kyoho_integrator,
    state: *const c_void,
    size: i64,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let bad = |_| Error::BadCount { what: "size", value: size, allowed: "0 or more".into() };
        let size = usize::try_from(size).map_err(bad)?;
        let state = required("state", state.cast_mut())?;
        // SAFETY: the caller's promise of so many bytes.
        cluster.set_state(unsafe { std::slice::from_raw_parts(state.cast(), size) })
    })
}
