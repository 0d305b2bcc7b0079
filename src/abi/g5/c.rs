//! The C form of each function: scalars by value. The documentation here is that of `include/g5.h`.
//!
//! What is promised of the caller's arrays stands in each function's documentation; none may be freed or too short.

#![allow(clippy::missing_safety_doc, reason = "the documentation is the header's, for C")]
#![allow(non_snake_case, unused_variables, reason = "the names and arguments are those of the GRAPE-5 interface")]

use std::ffi::c_int;

use super::board::Place;
use super::calls::{self, ResultArrays, SinkArrays};

/// Opens the interface: checks that the environment asks for what can be had. Any other function opens it too.
///
/// Returns 0, or non-zero if boards cannot be made; then every force is NaN until it is opened again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_open() -> c_int {
    calls::open()
}

/// Opens the interface with some devices. `ndev` > 0: those in `list`; 0: all; < 0: the first -`ndev`.
///
/// On the CPU the list has no effect. Returns non-zero if boards are in use with other devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_open_special(ndev: c_int, list: *mut c_int) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::open_special(ndev, list) }
}

/// Closes the interface: all boards forget their sources and sinks. A closed interface may be closed again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_close() -> c_int {
    calls::close()
}

/// The largest number of sinks that callers should pass to `g5_set_xi`: 256, or `KYOHO_NPIPES` if that is less.
///
/// More are computed too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_get_number_of_pipelines() -> c_int {
    calls::pipelines()
}

/// The same as `g5_get_number_of_pipelines`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_get_number_of_real_pipelines() -> c_int {
    calls::pipelines()
}

/// The number of sources that callers should make room for, 65536. More can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_get_jmemsize() -> c_int {
    calls::JMEMSIZE
}

/// Always 0: there is no bus.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_get_pcibus_freq() -> c_int {
    0
}

/// Does nothing: numbers are floating-point and need no range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_range(xmin: f64, xmax: f64, mmin: f64) -> c_int {
    0
}

/// Sets the number of sources that act, those at the addresses below `n`. It must be set before a force is computed.
///
/// Sources may be written before or after. Addresses that were never written count as nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_n(n: c_int) -> c_int {
    calls::set_n("g5_set_n", Ok(Place::Alone), Ok(n))
}

/// The same as `g5_set_n` for board `devid`, any number from 0 on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_nMC(devid: c_int, n: c_int) -> c_int {
    calls::set_n("g5_set_nMC", Ok(Place::OneOfMany(devid)), Ok(n))
}

/// Writes the sources at the addresses `adr` to `adr + nj - 1`: positions and masses.
///
/// They are read from the rows of `xj` and `mj` with the same numbers: from `xj[adr]` on, not from `xj[0]`. Returns
/// non-zero if a pointer is null, a number is not finite or too large for the precision, or a number is negative. As
/// long as the source at an address below n was refused and not written again, forces are NaN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_xmj(adr: c_int, nj: c_int, xj: *mut [f64; 3], mj: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_sources("g5_set_xmj", Ok(Place::Alone), Ok(adr), Ok(nj), mj, xj) }
}

/// The same as `g5_set_xmj` for board `devid`, any number from 0 on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_xmjMC(devid: c_int, adr: c_int, nj: c_int, xj: *mut [f64; 3], mj: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_sources("g5_set_xmjMC", Ok(Place::OneOfMany(devid)), Ok(adr), Ok(nj), mj, xj) }
}

/// As `g5_set_xmj`, with the masses before the positions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_jp(adr: c_int, nj: c_int, mj: *mut f64, xj: *mut [f64; 3]) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_sources("g5_set_jp", Ok(Place::Alone), Ok(adr), Ok(nj), mj, xj) }
}

/// The same as `g5_set_jp` for board `devid`, any number from 0 on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_jpMC(devid: c_int, adr: c_int, nj: c_int, mj: *mut f64, xj: *mut [f64; 3]) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_sources("g5_set_jpMC", Ok(Place::OneOfMany(devid)), Ok(adr), Ok(nj), mj, xj) }
}

/// Sets the softening length, not squared, of all sinks on all boards that have none of their own; 0 until it is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_eps_to_all(eps: f64) -> c_int {
    calls::set_common_softening2("g5_set_eps_to_all", || Ok(eps * eps))
}

/// As `g5_set_eps_to_all`, with the squared length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_eps2_to_all(eps2: f64) -> c_int {
    calls::set_common_softening2("g5_set_eps2_to_all", || Ok(eps2))
}

/// Sets the softening lengths, not squared, of the first `ni` of the sinks that `g5_set_xi` set, one for each.
///
/// The next `g5_set_xi` forgets them. If they are refused, forces are NaN until they or the sinks are set again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_eps(ni: c_int, eps: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_softening("g5_set_eps", Ok(Place::Alone), Ok(ni), eps) }
}

/// The same as `g5_set_eps` for board `devid`, any number from 0 on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_epsMC(devid: c_int, ni: c_int, eps: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_softening("g5_set_epsMC", Ok(Place::OneOfMany(devid)), Ok(ni), eps) }
}

/// Sets the positions of `ni` sinks, which are copied. They have the common softening.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_xi(ni: c_int, xi: *mut [f64; 3]) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_sinks("g5_set_xi", Ok(Place::Alone), Ok(ni), SinkArrays { position: xi, softening2: None }) }
}

/// The same as `g5_set_xi` for board `devid`, any number from 0 on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_xiMC(devid: c_int, ni: c_int, xi: *mut [f64; 3]) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::set_sinks(
            "g5_set_xiMC",
            Ok(Place::OneOfMany(devid)),
            Ok(ni),
            SinkArrays { position: xi, softening2: None },
        )
    }
}

/// As `g5_set_xi`, with a squared softening length for each sink.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_xei(ni: c_int, xi: *mut [f64; 3], eps2: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::set_sinks("g5_set_xei", Ok(Place::Alone), Ok(ni), SinkArrays { position: xi, softening2: Some(eps2) })
    }
}

/// The same as `g5_set_xei` for board `devid`, any number from 0 on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_xeiMC(devid: c_int, ni: c_int, xi: *mut [f64; 3], eps2: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::set_sinks(
            "g5_set_xeiMC",
            Ok(Place::OneOfMany(devid)),
            Ok(ni),
            SinkArrays { position: xi, softening2: Some(eps2) },
        )
    }
}

/// Begins the force on the sinks. Sources that are written before `g5_get_force` do not change it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_run() -> c_int {
    calls::run("g5_run", Ok(Place::Alone))
}

/// The same as `g5_run` for board `devid`, any number from 0 on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_runMC(devid: c_int) -> c_int {
    calls::run("g5_runMC", Ok(Place::OneOfMany(devid)))
}

/// Ends the force calculation and writes acceleration and potential of the first `ni` sinks; it may be called again.
///
/// With r = xj - xi and s2 = r^2 + eps^2, `a` = sum m r / s2^(3/2), `p` = +sum m / s2^(1/2). A source at the sink's
/// place adds m / eps to `p`, without softening nothing. Returns 0. On an error, or without `g5_run`, returns non-zero
/// and writes NaN to all `ni` rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_get_force(ni: c_int, a: *mut [f64; 3], p: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::force("g5_get_force", Ok(Place::Alone), Ok(ni), None, ResultArrays { acceleration: a, potential: p })
    }
}

/// The same as `g5_get_force` for board `devid`, any number from 0 on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_get_forceMC(devid: c_int, ni: c_int, a: *mut [f64; 3], p: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::force(
            "g5_get_forceMC",
            Ok(Place::OneOfMany(devid)),
            Ok(ni),
            None,
            ResultArrays { acceleration: a, potential: p },
        )
    }
}

/// `g5_set_xi`, `g5_run` and `g5_get_force` in one, for any number of sinks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_calculate_force_on_x(x: *mut [f64; 3], a: *mut [f64; 3], p: *mut f64, ni: c_int) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::force(
            "g5_calculate_force_on_x",
            Ok(Place::Alone),
            Ok(ni),
            Some(SinkArrays { position: x, softening2: None }),
            ResultArrays { acceleration: a, potential: p },
        )
    }
}

/// The same as `g5_calculate_force_on_x` for board `devid`, any number from 0 on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_calculate_force_on_xMC(
    devid: c_int,
    x: *mut [f64; 3],
    a: *mut [f64; 3],
    p: *mut f64,
    ni: c_int,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::force(
            "g5_calculate_force_on_xMC",
            Ok(Place::OneOfMany(devid)),
            Ok(ni),
            Some(SinkArrays { position: x, softening2: None }),
            ResultArrays { acceleration: a, potential: p },
        )
    }
}

/// `g5_set_xei`, `g5_run` and `g5_get_force` in one, for any number of sinks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_calculate_force_on_xe(
    x: *mut [f64; 3],
    eps2: *mut f64,
    a: *mut [f64; 3],
    p: *mut f64,
    ni: c_int,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::force(
            "g5_calculate_force_on_xe",
            Ok(Place::Alone),
            Ok(ni),
            Some(SinkArrays { position: x, softening2: Some(eps2) }),
            ResultArrays { acceleration: a, potential: p },
        )
    }
}

/// The same as `g5_calculate_force_on_xe` for board `devid`, any number from 0 on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_calculate_force_on_xeMC(
    devid: c_int,
    x: *mut [f64; 3],
    eps2: *mut f64,
    a: *mut [f64; 3],
    p: *mut f64,
    ni: c_int,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::force(
            "g5_calculate_force_on_xeMC",
            Ok(Place::OneOfMany(devid)),
            Ok(ni),
            Some(SinkArrays { position: x, softening2: Some(eps2) }),
            ResultArrays { acceleration: a, potential: p },
        )
    }
}
