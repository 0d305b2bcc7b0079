//! The Fortran form of each function: one underscore, every argument a pointer.
//!
//! Arguments that are not used are never read, so that callers may pass null or pointers to another type there.

#![allow(clippy::missing_safety_doc, reason = "the documentation is the header's, for C")]
#![allow(clippy::too_many_arguments, unused_variables, reason = "the arguments are those of the GRAPE-6 interface")]

use std::ffi::{c_int, c_void};

use crate::abi::arrays::scalar;
use crate::data::{Source, padded};

use super::calls::{self, ResultArrays, SinkArrays, vector};

/// The Fortran form of `g6_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_open_(cid: *mut c_int) -> c_int {
    calls::open()
}

/// The Fortran form of `g6_close`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_close_(cid: *mut c_int) -> c_int {
    calls::close()
}

/// The Fortran form of `g6_reset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_reset_(cid: *mut c_int) -> c_int {
    calls::reset("g6_reset")
}

/// The Fortran form of `g6_reset_fofpga`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_reset_fofpga_(cid: *mut c_int) -> c_int {
    calls::reset("g6_reset_fofpga")
}

/// The Fortran form of `g6_reinitialize`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_reinitialize_(cid: *mut c_int) -> c_int {
    calls::reset("g6_reinitialize")
}

/// The Fortran form of `g6_npipes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_npipes_() -> c_int {
    calls::npipes()
}

/// The Fortran form of `g6_set_tunit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_set_tunit_(unit: *mut c_void) -> c_int {
    0
}

/// The Fortran form of `g6_set_xunit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_set_xunit_(unit: *mut c_void) -> c_int {
    0
}

/// The Fortran form of `g6_set_ti`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_set_ti_(cid: *mut c_int, ti: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_time(scalar("ti", ti)) }
}

/// The Fortran form of `g6_set_j_particle`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_set_j_particle_(
    cid: *mut c_int,
    address: *mut c_int,
    index: *mut c_int,
    tj: *mut f64,
    dtj: *mut f64,
    mass: *mut f64,
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
                index: scalar("index", index)?,
                mass: scalar("mass", mass)?,
                time: scalar("tj", tj)?,
                coefficients: padded([vector("x", x)?, vector("v", v)?, vector("a2", a2)?, vector("j6", j6)?]),
            })
        };
        calls::set_source("g6_set_j_particle", scalar("address", address), source)
    }
}

/// The Fortran form of `g6_set_j_particle_mxonly`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_set_j_particle_mxonly_(
    cid: *mut c_int,
    address: *mut c_int,
    index: *mut c_int,
    mass: *mut f64,
    x: *mut f64,
) -> c_int {
    // SAFETY: the caller passes null or pointers that can be read.
    unsafe {
        let source = || Ok(calls::at_rest(scalar("index", index)?, scalar("mass", mass)?, vector("x", x)?));
        calls::set_source("g6_set_j_particle_mxonly", scalar("address", address), source)
    }
}

/// The Fortran form of `g6_initialize_jp_buffer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_initialize_jp_buffer_(cid: *mut c_int, size: *mut c_int) -> c_int {
    0
}

/// The Fortran form of `g6_flush_jp_buffer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_flush_jp_buffer_(cid: *mut c_int) -> c_int {
    0
}

/// The Fortran form of `g6calc_firsthalf`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6calc_firsthalf_(
    cid: *mut c_int,
    nj: *mut c_int,
    ni: *mut c_int,
    index: *mut c_int,
    xi: *mut [f64; 3],
    vi: *mut [f64; 3],
    aold: *mut [f64; 3],
    jold: *mut [f64; 3],
    phiold: *mut f64,
    eps2: *mut f64,
    h2: *mut f64,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::first_half(
            scalar("nj", nj),
            scalar("ni", ni),
            SinkArrays { index, position: xi, velocity: vi, radius2: h2 },
            scalar("eps2", eps2),
        )
    }
}

/// The Fortran form of `g6calc_lasthalf`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6calc_lasthalf_(
    cid: *mut c_int,
    nj: *mut c_int,
    ni: *mut c_int,
    index: *mut c_int,
    xi: *mut [f64; 3],
    vi: *mut [f64; 3],
    eps2: *mut f64,
    h2: *mut f64,
    acc: *mut [f64; 3],
    jerk: *mut [f64; 3],
    pot: *mut f64,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::last_half(
            "g6calc_lasthalf",
            scalar("ni", ni),
            ResultArrays { acceleration: acc, jerk, potential: pot, nearest: None, nearest_distance: None },
        )
    }
}

/// The Fortran form of `g6calc_lasthalf2`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6calc_lasthalf2_(
    cid: *mut c_int,
    nj: *mut c_int,
    ni: *mut c_int,
    index: *mut c_int,
    xi: *mut [f64; 3],
    vi: *mut [f64; 3],
    eps2: *mut f64,
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
            scalar("ni", ni),
            ResultArrays { acceleration: acc, jerk, potential: pot, nearest: Some(nn), nearest_distance: None },
        )
    }
}

/// The Fortran form of `g6calc_lasthalfn`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6calc_lasthalfn_(
    cid: *mut c_int,
    nj: *mut c_int,
    ni: *mut c_int,
    index: *mut c_int,
    xi: *mut [f64; 3],
    vi: *mut [f64; 3],
    eps2: *mut f64,
    h2: *mut f64,
    acc: *mut [f64; 3],
    jerk: *mut [f64; 3],
    pot: *mut f64,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::last_half(
            "g6calc_lasthalfn",
            scalar("ni", ni),
            ResultArrays { acceleration: acc, jerk, potential: pot, nearest: None, nearest_distance: None },
        )
    }
}

/// The Fortran form of `g6calc_lasthalf2n`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6calc_lasthalf2n_(
    cid: *mut c_int,
    nj: *mut c_int,
    ni: *mut c_int,
    index: *mut c_int,
    xi: *mut [f64; 3],
    vi: *mut [f64; 3],
    eps2: *mut f64,
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
            scalar("ni", ni),
            ResultArrays { acceleration: acc, jerk, potential: pot, nearest: Some(nn), nearest_distance: None },
        )
    }
}

/// The Fortran form of `g6calc_lasthalf2p`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6calc_lasthalf2p_(
    cid: *mut c_int,
    nj: *mut c_int,
    ni: *mut c_int,
    index: *mut c_int,
    xi: *mut [f64; 3],
    vi: *mut [f64; 3],
    eps2: *mut f64,
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
            scalar("ni", ni),
            ResultArrays { acceleration: acc, jerk, potential: pot, nearest: Some(nn), nearest_distance: Some(rnn) },
        )
    }
}

/// The Fortran form of `g6calc_lasthalf2np`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6calc_lasthalf2np_(
    cid: *mut c_int,
    nj: *mut c_int,
    ni: *mut c_int,
    index: *mut c_int,
    xi: *mut [f64; 3],
    vi: *mut [f64; 3],
    eps2: *mut f64,
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
            scalar("ni", ni),
            ResultArrays { acceleration: acc, jerk, potential: pot, nearest: Some(nn), nearest_distance: Some(rnn) },
        )
    }
}

/// The Fortran form of `g6_read_neighbour_list`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_read_neighbour_list_(cid: *mut c_int) -> c_int {
    calls::read_neighbour_list()
}

/// The Fortran form of `g6_get_neighbour_list`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_get_neighbour_list_(
    cid: *mut c_int,
    ipipe: *mut c_int,
    maxlength: *mut c_int,
    nblen: *mut c_int,
    nbl: *mut c_int,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::neighbour_list(scalar("ipipe", ipipe), scalar("maxlength", maxlength), nblen, nbl) }
}

/// The Fortran form of `g6_set_neighbour_list_sort_mode`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_set_neighbour_list_sort_mode_(mode: *mut c_int) -> c_int {
    0
}

/// The Fortran form of `g6_get_neighbour_list_sort_mode`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_get_neighbour_list_sort_mode_() -> c_int {
    1
}

/// The Fortran form of `g6_set_overflow_flag_test_mode`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_set_overflow_flag_test_mode_(
    aflag: *mut c_int,
    jflag: *mut c_int,
    pflag: *mut c_int,
) -> c_int {
    0
}

/// As `g6_read_neighbour_list_`, under the name that old versions of kira call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g6_read_neighbour_list_old_(cid: *mut c_int) -> c_int {
    calls::read_neighbour_list()
}
