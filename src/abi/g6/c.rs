//! The C form of each function: scalars by value. The documentation here is that of `include/g6.h`.
//!
//! What is promised of the caller's arrays stands in each function's documentation; none may be freed or too short.

#![allow(clippy::missing_safety_doc, reason = "the documentation is the header's, for C")]
#![allow(clippy::too_many_arguments, unused_variables, reason = "the arguments are those of the GRAPE-6 interface")]

use std::ffi::c_int;

use crate::data::{Source, padded};

use super::calls::{self, ResultArrays, SinkArrays, vector};

/// Opens the board: the devices of this process that the environment names, one unless it asks for more.
///
/// All calls of a process act on one board, so `cid` may be anything. An open board stays as it is. Any other function
/// opens the board too, if it needs one. Returns 0, or non-zero if the environment or `sapporo2.config` asks for what
/// cannot be had; then every force is NaN until the board is opened again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_open(cid: c_int) -> c_int {
    calls::open()
}

/// Opens the board with some devices. `ndev` > 0: those in `list`; 0: all; < 0: the first -`ndev`.
///
/// On the CPU the list has no effect. Returns non-zero if the board is open with other devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_open_special(ndev: c_int, list: *mut c_int) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::open_special("g6_open_special", ndev, list) }
}

/// As `g6_open_special`; `nmax`, the number of sources to make room for, is not needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_open_special2(ndev: c_int, list: *mut c_int, nmax: c_int) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::open_special("g6_open_special2", ndev, list) }
}

/// Closes the board: forgets all sources and frees memory and devices. A closed board may be closed again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_close(cid: c_int) -> c_int {
    calls::close()
}

/// Forgets a force calculation under way. The sources stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_reset(cid: c_int) -> c_int {
    calls::reset("g6_reset")
}

/// The same as `g6_reset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_reset_fofpga(cid: c_int) -> c_int {
    calls::reset("g6_reset_fofpga")
}

/// The same as `g6_reset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_reinitialize(cid: c_int) -> c_int {
    calls::reset("g6_reinitialize")
}

/// The largest number of sinks that callers should pass in one call: 16384, or what `KYOHO_NPIPES` says.
///
/// It can be asked for before the board is opened and after it is closed. It is 1 as long as the environment is broken.
/// More sinks than that are computed too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_npipes() -> c_int {
    calls::npipes()
}

/// Does nothing: numbers are floating-point, and time needs no unit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_set_tunit(unit: f64) -> c_int {
    0
}

/// Does nothing: numbers are floating-point, and length needs no unit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_set_xunit(unit: f64) -> c_int {
    0
}

/// Sets the time to which the sources are predicted by the force calculations that follow; 0 until it is set.
///
/// A time that is not finite is refused, and the forces are NaN until another is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_set_ti(cid: c_int, ti: f64) -> c_int {
    calls::set_time(Ok(ti))
}

/// Writes the source (j-particle) at `address`, 0 or more, in place of what was there.
///
/// `index` is its name: sinks with the same index do not feel it. `tj` is the time of its state: `mass`, position `x`,
/// velocity `v`, acceleration / 2 `a2`, jerk / 6 `j6`, three numbers each. `dtj` and `k18` are not used and never
/// read. The next `g6calc_firsthalf` is the first to see it. Addresses may come in any order, with gaps, and without
/// limit. Returns non-zero if a pointer is null, a number is not finite or too large for the precision, or the address
/// is negative. As long as the source at an address below `nj` was refused and not written again, forces are NaN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_set_j_particle(
    cid: c_int,
    address: c_int,
    index: c_int,
    tj: f64,
    dtj: f64,
    mass: f64,
    k18: *mut f64,
    j6: *mut f64,
    a2: *mut f64,
    v: *mut f64,
    x: *mut f64,
) -> c_int {
    // SAFETY: the caller passes null or pointers that can be read.
    unsafe {
        let source = || {
            Ok(Source {
                index,
                mass,
                time: tj,
                coefficients: padded([vector("x", x)?, vector("v", v)?, vector("a2", a2)?, vector("j6", j6)?]),
            })
        };
        calls::set_source("g6_set_j_particle", Ok(address), source)
    }
}

/// Writes a source of which only the mass and the position matter; it rests there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_set_j_particle_mxonly(
    cid: c_int,
    address: c_int,
    index: c_int,
    mass: f64,
    x: *mut f64,
) -> c_int {
    // SAFETY: the caller passes null or pointers that can be read.
    unsafe {
        let source = || Ok(calls::at_rest(index, mass, vector("x", x)?));
        calls::set_source("g6_set_j_particle_mxonly", Ok(address), source)
    }
}

/// Does nothing: sources are always gathered and sent together.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_initialize_jp_buffer(cid: c_int, size: c_int) -> c_int {
    0
}

/// Does nothing: the next force calculation sees all sources that were written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_flush_jp_buffer(cid: c_int) -> c_int {
    0
}

/// Begins the forces of the sources at the addresses below `nj` on `ni` sinks (i-particles).
///
/// The sources are predicted to the time of `g6_set_ti`; addresses that were never written count as nothing. Each sink
/// has an `index`, a position `xi` and a velocity `vi` at that time, and the squared radius `h2` of its neighbour
/// list, 0 for none; they are copied. Sources with the sink's index are left out, others at its place give no
/// acceleration. `eps2` is the squared softening of all. `aold`, `jold` and `phiold` are not used and never read. A
/// force calculation that was not ended is forgotten. With `ni` = 0 nothing happens. Returns 0, or non-zero on an
/// error; then the results will be NaN. Where one of the arrays begins among the rows of another, they are shorter than
/// `ni`, which is an error that says how many rows there is room for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6calc_firsthalf(
    cid: c_int,
    nj: c_int,
    ni: c_int,
    index: *mut c_int,
    xi: *mut [f64; 3],
    vi: *mut [f64; 3],
    aold: *mut [f64; 3],
    jold: *mut [f64; 3],
    phiold: *mut f64,
    eps2: f64,
    h2: *mut f64,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::first_half(Ok(nj), Ok(ni), SinkArrays { index, position: xi, velocity: vi, radius2: h2 }, Ok(eps2))
    }
}

/// Ends the force calculation: writes acceleration, jerk and potential of its first `ni` sinks.
///
/// With r = xj - xi, v = vj - vi, s2 = r^2 + eps2: `acc` = sum m r / s2^(3/2), `jerk` = sum m (v / s2^(3/2) - 3 (r.v)
/// r / s2^(5/2)), `pot` = -sum m / s2^(1/2). `acc`, `jerk` and `pot` may overlap one another or any array of
/// `g6calc_firsthalf`; the other arguments are not read. Returns 0. On an error, or without `g6calc_firsthalf`,
/// returns non-zero and writes NaN to all `ni` rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6calc_lasthalf(
    cid: c_int,
    nj: c_int,
    ni: c_int,
    index: *mut c_int,
    xi: *mut [f64; 3],
    vi: *mut [f64; 3],
    eps2: f64,
    h2: *mut f64,
    acc: *mut [f64; 3],
    jerk: *mut [f64; 3],
    pot: *mut f64,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::last_half(
            "g6calc_lasthalf",
            Ok(ni),
            ResultArrays { acceleration: acc, jerk, potential: pot, nearest: None, nearest_distance: None },
        )
    }
}

/// As `g6calc_lasthalf`, and writes to `nn` the index of each sink's nearest source, 0 where there is none.
///
/// The nearest has the least distance without softening among the sources that have not the sink's index.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6calc_lasthalf2(
    cid: c_int,
    nj: c_int,
    ni: c_int,
    index: *mut c_int,
    xi: *mut [f64; 3],
    vi: *mut [f64; 3],
    eps2: f64,
    h2: *mut f64,
    acc: *mut [f64; 3],
    jerk: *mut [f64; 3],
    pot: *mut f64,
    nn: *mut c_int,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::last_half(
            "g6calc_lasthalf2",
            Ok(ni),
            ResultArrays { acceleration: acc, jerk, potential: pot, nearest: Some(nn), nearest_distance: None },
        )
    }
}

/// The same as `g6calc_lasthalf`: neighbour lists can be had after any of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6calc_lasthalfn(
    cid: c_int,
    nj: c_int,
    ni: c_int,
    index: *mut c_int,
    xi: *mut [f64; 3],
    vi: *mut [f64; 3],
    eps2: f64,
    h2: *mut f64,
    acc: *mut [f64; 3],
    jerk: *mut [f64; 3],
    pot: *mut f64,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::last_half(
            "g6calc_lasthalfn",
            Ok(ni),
            ResultArrays { acceleration: acc, jerk, potential: pot, nearest: None, nearest_distance: None },
        )
    }
}

/// The same as `g6calc_lasthalf2`: neighbour lists can be had after any of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6calc_lasthalf2n(
    cid: c_int,
    nj: c_int,
    ni: c_int,
    index: *mut c_int,
    xi: *mut [f64; 3],
    vi: *mut [f64; 3],
    eps2: f64,
    h2: *mut f64,
    acc: *mut [f64; 3],
    jerk: *mut [f64; 3],
    pot: *mut f64,
    nn: *mut c_int,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::last_half(
            "g6calc_lasthalf2n",
            Ok(ni),
            ResultArrays { acceleration: acc, jerk, potential: pot, nearest: Some(nn), nearest_distance: None },
        )
    }
}

/// As `g6calc_lasthalf2`, and writes to `rnn` the distance sqrt(r^2 + eps2) of the nearest, infinite if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6calc_lasthalf2p(
    cid: c_int,
    nj: c_int,
    ni: c_int,
    index: *mut c_int,
    xi: *mut [f64; 3],
    vi: *mut [f64; 3],
    eps2: f64,
    h2: *mut f64,
    acc: *mut [f64; 3],
    jerk: *mut [f64; 3],
    pot: *mut f64,
    nn: *mut c_int,
    rnn: *mut f32,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::last_half(
            "g6calc_lasthalf2p",
            Ok(ni),
            ResultArrays { acceleration: acc, jerk, potential: pot, nearest: Some(nn), nearest_distance: Some(rnn) },
        )
    }
}

/// The same as `g6calc_lasthalf2p`: neighbour lists can be had after any of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6calc_lasthalf2np(
    cid: c_int,
    nj: c_int,
    ni: c_int,
    index: *mut c_int,
    xi: *mut [f64; 3],
    vi: *mut [f64; 3],
    eps2: f64,
    h2: *mut f64,
    acc: *mut [f64; 3],
    jerk: *mut [f64; 3],
    pot: *mut f64,
    nn: *mut c_int,
    rnn: *mut f32,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::last_half(
            "g6calc_lasthalf2np",
            Ok(ni),
            ResultArrays { acceleration: acc, jerk, potential: pot, nearest: Some(nn), nearest_distance: Some(rnn) },
        )
    }
}

/// Says whether the neighbour lists of the last force calculation can be had: 0, or negative before one was ended.
///
/// Lists have no limit, so there is never an overflow. Sources written since the force calculation do not change them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_read_neighbour_list(cid: c_int) -> c_int {
    calls::read_neighbour_list()
}

/// Copies the neighbour list of sink `ipipe`, counted from 0, of the last force calculation to `nbl`, its length to
/// `nblen`.
///
/// It has the indices of the sources with r^2 < h2, softening not included and the sink's own index left out,
/// ascending and each once. Returns 0; 1 if it is longer than `maxlength`, then its first `maxlength` entries are
/// written and `nblen` is `maxlength`; negative on an error, with `nblen` = 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_get_neighbour_list(
    cid: c_int,
    ipipe: c_int,
    maxlength: c_int,
    nblen: *mut c_int,
    nbl: *mut c_int,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::neighbour_list(Ok(ipipe), Ok(maxlength), nblen, nbl) }
}

/// Does nothing: lists are always sorted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_set_neighbour_list_sort_mode(mode: c_int) -> c_int {
    0
}

/// Always 1: lists are sorted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_get_neighbour_list_sort_mode() -> c_int {
    1
}

/// Does nothing: floating-point sums need no test for overflow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_set_overflow_flag_test_mode(aflag: c_int, jflag: c_int, pflag: c_int) -> c_int {
    0
}

/// The number of devices of the backend that `g6_open` would use, at least 1; 0 if the environment is broken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn get_device_count() -> c_int {
    calls::device_count()
}
