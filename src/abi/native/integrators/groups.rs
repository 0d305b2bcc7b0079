//! Groups of bodies with a softening of their own, which feel some groups.

use crate::abi::arrays::{self, Output};
use crate::abi::boundary::{self, required};
use kyoho_core::{Error, ResultCode};

use super::super::structures::bad_field;
use super::{call_on, kyoho_integrator};

/// Adds a group of bodies with this softening length. It feels all groups, itself too, and all feel
/// it, until `kyoho_integrator_set_feels`. `group` receives its number. Group 0, that of bodies for
/// which none is given, is always there and has the softening of the integrator's options. The
/// squared softening of a pair is the mean of those of both bodies.
///
/// Each group costs a sum of its own in every step. A GPU makes the block steps of up to four groups
/// with bodies that all feel all; those of others are the host's. There are at most 16.
///
/// Errors, after which no group was added: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION
/// (a softening below 0 or not finite, more than 16 groups, or an integrator with subsystems).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_add_group(
    integrator: *mut kyoho_integrator,
    softening: f64,
    group: *mut i32,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let number = required("group", group)?;
        let added = cluster.add_group(softening)? as i32;
        // SAFETY: room for a number.
        unsafe { boundary::write(number, added) };
        Ok(())
    })
}

/// Lets the bodies of a group feel those of another one, or of the same, from now on, or not where
/// `feels` is 0. It need not be mutual, but without reaction the energy is not conserved. The next
/// evolution begins with new forces of all bodies.
///
/// A pair of which one body feels the other counts once in the potential energy. Bodies that do not
/// feel one another have no approach, but they collide.
///
/// Errors, after which nothing was changed: KYOHO_BAD_HANDLE, KYOHO_BAD_OPTION (a group that there
/// is not, `feels` that is neither 0 nor 1, or an integrator with subsystems).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_set_feels(
    integrator: *mut kyoho_integrator,
    group: i32,
    other: i32,
    feels: i32,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let feels = match feels {
            0 => false,
            1 => true,
            _ => return Err(bad_field("feels", feels, "0 (no), 1 (yes)")),
        };
        cluster.set_feels(group.into(), other.into(), feels)
    })
}

/// Describes a group: its softening length, and in `feels` whether it feels each group, 1 or 0, from
/// group 0 on. `feels` has room for `capacity` numbers, at least `kyoho_integration.group_count`.
/// Both pointers may be NULL.
///
/// Errors, after which nothing was written: KYOHO_BAD_HANDLE, KYOHO_BAD_COUNT (a negative capacity),
/// KYOHO_BAD_OPTION (a group that there is not), KYOHO_BUFFER_TOO_SMALL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_group(
    integrator: *mut kyoho_integrator,
    group: i32,
    softening: *mut f64,
    capacity: i32,
    feels: *mut i32,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let groups = cluster.groups();
        let (group, room) = (groups.check("the group", group.into())?, arrays::count("capacity", capacity)?);
        if !feels.is_null() && room < groups.count() {
            return Err(Error::BufferTooSmall { what: "the array of feels", needed: groups.count(), room });
        }
        // SAFETY: null or room for a number.
        unsafe { boundary::write(softening, groups.softening(group)) };
        if !feels.is_null() {
            // SAFETY: the array has room for `capacity`, by the caller's promise.
            let to = unsafe { Output::new("feels", feels, groups.count()) };
            to.set_from(0, (0..groups.count()).map(|other| i32::from(groups.feels(group, other))));
        }
        Ok(())
    })
}
