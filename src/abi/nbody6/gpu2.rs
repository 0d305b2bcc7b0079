//! The functions that NBODY6 calls. `include/nbody6.h`, where the names have no prefix, is made
//! from this file.
//!
//! The documentation of each function says how long the caller's arrays have to be. None may be
//! shorter, or freed during the call.

#![allow(clippy::missing_safety_doc, reason = "the documentation is the header's, for C")]
#![allow(clippy::too_many_arguments, unused_variables, reason = "the arguments are those of NBODY6's interface")]

use std::ffi::c_int;

use kyoho_core::NeighbourCriterion;

use super::calls::{self, Places, RegularArguments};

/// Opens the board, as `gpunb_open_` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_nbody6_gpunb_devinit_() -> c_int {
    calls::open("gpunb_devinit")
}

/// Opens the board with the devices that the environment names. It is one device unless the
/// environment asks for more.
///
/// `nbmax`, the most bodies that will be sent, is not needed and never read: there may be any
/// number of bodies. An open board stays as it is, with its sources. Any other function opens the
/// board too, if it needs one. Returns 0, or non-zero if the environment or `sapporo2.config` asks
/// for something that is not there. Then every force is NaN until the board is opened again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_nbody6_gpunb_open_(nbmax: *mut c_int) -> c_int {
    calls::open("gpunb_open")
}

/// Forgets the sources and frees all memory and devices. A closed board may be closed again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_nbody6_gpunb_close_() -> c_int {
    calls::close()
}

/// Replaces all sources (j-particles) by `nj` others with the masses `m`, the positions `x` and the
/// velocities `v`.
///
/// They have the addresses 0 to `nj` - 1, by which `gpunb_regf_` names them. They are not
/// predicted: the next forces take them as they are. Returns non-zero if a pointer is null, if `nj`
/// is negative, or if a number is not finite or too large for the precision. Then forces are NaN
/// until other sources are sent.
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

/// Computes the regular forces on `ni` sinks (i-particles). They are the forces of all sources that
/// were sent, without the sink's neighbours.
///
/// Each sink has a position `xi`, a velocity `vi`, a squared radius `h2` and a regular step `dtr`.
/// Any number of sinks can be passed. With r and v the differences of position and velocity, source
/// less sink, a source of mass m is a neighbour if the smaller of r^2 and (r + dtr v)^2 is less
/// than m `h2`, so that a heavier source is a neighbour from further away. A sink that is a source
/// with mass is its own neighbour. There is no softening. Another source at the sink's place that
/// is no neighbour, because it has no mass or the sink no radius, adds nothing. The sums over the
/// other sources are:
///
/// - `acc` = sum m r / r^3, and `jrk` is its derivative in time
/// - `pot` = +sum m / r
///
/// `list` has `lmax` integers for each sink, which is list(lmax,ni) in Fortran: the number of the
/// sink's neighbours, and their addresses, which ascend. If there are more than `nbmax` neighbours,
/// or more than `lmax` - 1, only their number is written, with a minus sign. The forces are right
/// in that case too. Results are written, not added, and nothing is written beyond `ni` rows. The
/// other results may overlap one another or any array of sinks, but `list` must not overlap any
/// array.
///
/// With `ni` = 0 nothing happens. Returns 0, or non-zero on an error. Then all forces are NaN, and
/// the lists have the addresses 0 and 1, as far as there is room and there are such sources: with
/// two neighbours, NBODY6 does not repeat the call with another radius.
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

/// Computes the potentials `pot` = +sum m / r at the places of all `n` bodies, which have the
/// masses `m` and the positions `x`.
///
/// Pairs without distance add nothing, and so a body adds nothing to its own potential. The sources
/// of `gpunb_send_` have no effect on the potentials and stay. With `n` = 0 nothing happens.
/// Returns 0, or non-zero on an error. Then all potentials are NaN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_nbody6_gpupot_(n: *mut c_int, m: *mut f64, x: *mut [f64; 3], pot: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::potentials(Places::All, n, m, x, pot) }
}
