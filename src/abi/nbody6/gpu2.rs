//! The functions that NBODY6 calls. The documentation here is that of `include/nbody6.h`, where the names have no
//! prefix.
//!
//! What is promised of the caller's arrays stands in each function's documentation; none may be freed or too short.

#![allow(clippy::missing_safety_doc, reason = "the documentation is the header's, for C")]
#![allow(clippy::too_many_arguments, unused_variables, reason = "the arguments are those of NBODY6's interface")]

use std::ffi::c_int;

use crate::data::NeighbourCriterion;

use super::calls::{self, Places, RegularArguments};

/// Opens the board, as `gpunb_open_` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_nbody6_gpunb_devinit_() -> c_int {
    calls::open("gpunb_devinit")
}

/// Opens the board: the devices of this process that the environment names, one unless it asks for more.
///
/// `nbmax`, the most bodies that will be sent, is not needed and never read: there may be any number. An open board
/// stays as it is, with its sources. Any other function opens what it needs, too. Returns 0, or non-zero if the
/// environment or `sapporo2.config` asks for what cannot be had; then every force is NaN until the board is opened
/// again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_nbody6_gpunb_open_(nbmax: *mut c_int) -> c_int {
    calls::open("gpunb_open")
}

/// Forgets the sources and frees everything. A board that is closed may be closed again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_nbody6_gpunb_close_() -> c_int {
    calls::close()
}

/// Replaces all sources (j-particles) by `nj` others: masses `m`, positions `x`, velocities `v`.
///
/// They have the addresses 0 to `nj` - 1, by which `gpunb_regf_` names them, and are not predicted: the next forces
/// take them as they are. Returns non-zero if a pointer is null, `nj` is negative, or a number is not finite or too
/// large for the precision; then forces are NaN until other sources are sent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_nbody6_gpunb_send_(
    nj: *mut c_int,
    m: *mut f64,
    x: *mut [f64; 3],
    v: *mut [f64; 3],
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::send(nj, m, x, v) }
}

/// The regular forces on `ni` sinks (i-particles): of all sources that were sent, without the sink's neighbours.
///
/// Each sink has a position `xi`, a velocity `vi`, a squared radius `h2` and a regular step `dtr`. Any number of them
/// can be passed. With r and v the differences of position and velocity, source less sink, a source of mass m is a
/// neighbour if the smaller of r^2 and (r + dtr v)^2 is less than m `h2`: of two alike the heavier is a neighbour from
/// further off. A sink that is a source with mass is its own neighbour. There is no softening; other sources at the
/// sink's place, if they are no neighbours for want of mass or radius, give nothing. Of the sources that are left:
///
/// - `acc` = sum m r / r^3; `jrk`: its derivative in time
/// - `pot` = +sum m / r
///
/// `list` has `lmax` integers for each sink, list(lmax,ni) in Fortran: the number of its neighbours, and their
/// addresses, which ascend. Of more than `nbmax` neighbours, or more than `lmax` - 1, the number alone is written, with
/// a minus sign; the forces are right all the same. Results are written, not added, and nothing beyond `ni` rows. They
/// may overlap one another or any array of sinks; `list` overlaps none.
///
/// With `ni` = 0 nothing happens. Returns 0, or non-zero on an error; then all forces are NaN, and the lists have the
/// addresses 0 and 1, as far as there is room and there are such sources. Two neighbours are what NBODY6 does not
/// answer by repeating the call with another radius.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_nbody6_gpunb_regf_(
    ni: *mut c_int,
    h2: *mut f64,
    dtr: *mut f64,
    xi: *mut [f64; 3],
    vi: *mut [f64; 3],
    acc: *mut [f64; 3],
    jrk: *mut [f64; 3],
    pot: *mut f64,
    lmax: *mut c_int,
    nbmax: *mut c_int,
    list: *mut c_int,
) -> c_int {
    let arguments = RegularArguments { ni, h2, dtr, xi, vi, acc, jrk, pot, lmax, nbmax, list };
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::regular_forces(arguments, Ok(NeighbourCriterion::ByMass)) }
}

/// The potentials `pot` = +sum m / r at the places of all of `n` bodies with masses `m` and positions `x`.
///
/// Pairs at no distance give nothing, and so a body itself. What `gpunb_send_` sent has no part in it and stays. With
/// `n` = 0 nothing happens. Returns 0, or non-zero on an error; then all potentials are NaN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_nbody6_gpupot_(n: *mut c_int, m: *mut f64, x: *mut [f64; 3], pot: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::potentials(Places::All, n, m, x, pot) }
}
