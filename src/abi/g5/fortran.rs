//! The Fortran form of each function: one underscore, every argument a pointer.
//!
//! The names with MC are spelt in both ways: as C programs call them, and in lower case as Fortran compilers do.

#![allow(clippy::missing_safety_doc, reason = "the documentation is the header's, for C")]
#![allow(non_snake_case, unused_variables, reason = "the names and arguments are those of the GRAPE-5 interface")]

use std::ffi::c_int;

use crate::abi::arrays::scalar;

use super::board::Place;
use super::calls::{self, ResultArrays, SinkArrays, place};

/// The Fortran form of `g5_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_open_() -> c_int {
    calls::open()
}

/// The Fortran form of `g5_close`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_close_() -> c_int {
    calls::close()
}

/// The Fortran form of `g5_get_number_of_pipelines`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_get_number_of_pipelines_() -> c_int {
    calls::pipelines()
}

/// The Fortran form of `g5_get_number_of_real_pipelines`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_get_number_of_real_pipelines_() -> c_int {
    calls::pipelines()
}

/// The Fortran form of `g5_get_jmemsize`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_get_jmemsize_() -> c_int {
    calls::JMEMSIZE
}

/// The Fortran form of `g5_get_pcibus_freq`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_get_pcibus_freq_() -> c_int {
    0
}

/// The Fortran form of `g5_set_range`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_range_(xmin: *mut f64, xmax: *mut f64, mmin: *mut f64) -> c_int {
    0
}

/// The Fortran form of `g5_set_n`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_n_(n: *mut c_int) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_n("g5_set_n", Ok(Place::Alone), scalar("n", n)) }
}

/// The Fortran form of `g5_set_nMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_nMC_(devid: *mut c_int, n: *mut c_int) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_n("g5_set_nMC", place(scalar("devid", devid)), scalar("n", n)) }
}

/// The Fortran form of `g5_set_nMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_nmc_(devid: *mut c_int, n: *mut c_int) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_n("g5_set_nMC", place(scalar("devid", devid)), scalar("n", n)) }
}

/// The Fortran form of `g5_set_xmj`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_xmj_(adr: *mut c_int, nj: *mut c_int, xj: *mut [f64; 3], mj: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_sources("g5_set_xmj", Ok(Place::Alone), scalar("adr", adr), scalar("nj", nj), mj, xj) }
}

/// The Fortran form of `g5_set_xmjMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_xmjMC_(
    devid: *mut c_int,
    adr: *mut c_int,
    nj: *mut c_int,
    xj: *mut [f64; 3],
    mj: *mut f64,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::set_sources("g5_set_xmjMC", place(scalar("devid", devid)), scalar("adr", adr), scalar("nj", nj), mj, xj)
    }
}

/// The Fortran form of `g5_set_xmjMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_xmjmc_(
    devid: *mut c_int,
    adr: *mut c_int,
    nj: *mut c_int,
    xj: *mut [f64; 3],
    mj: *mut f64,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::set_sources("g5_set_xmjMC", place(scalar("devid", devid)), scalar("adr", adr), scalar("nj", nj), mj, xj)
    }
}

/// The Fortran form of `g5_set_jp`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_jp_(adr: *mut c_int, nj: *mut c_int, mj: *mut f64, xj: *mut [f64; 3]) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_sources("g5_set_jp", Ok(Place::Alone), scalar("adr", adr), scalar("nj", nj), mj, xj) }
}

/// The Fortran form of `g5_set_jpMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_jpMC_(
    devid: *mut c_int,
    adr: *mut c_int,
    nj: *mut c_int,
    mj: *mut f64,
    xj: *mut [f64; 3],
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::set_sources("g5_set_jpMC", place(scalar("devid", devid)), scalar("adr", adr), scalar("nj", nj), mj, xj)
    }
}

/// The Fortran form of `g5_set_jpMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_jpmc_(
    devid: *mut c_int,
    adr: *mut c_int,
    nj: *mut c_int,
    mj: *mut f64,
    xj: *mut [f64; 3],
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::set_sources("g5_set_jpMC", place(scalar("devid", devid)), scalar("adr", adr), scalar("nj", nj), mj, xj)
    }
}

/// The Fortran form of `g5_set_eps_to_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_eps_to_all_(eps: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_common_softening2("g5_set_eps_to_all", || scalar("eps", eps).map(|eps| eps * eps)) }
}

/// The Fortran form of `g5_set_eps2_to_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_eps2_to_all_(eps2: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_common_softening2("g5_set_eps2_to_all", || scalar("eps2", eps2)) }
}

/// The Fortran form of `g5_set_eps`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_eps_(ni: *mut c_int, eps: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_softening("g5_set_eps", Ok(Place::Alone), scalar("ni", ni), eps) }
}

/// The Fortran form of `g5_set_epsMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_epsMC_(devid: *mut c_int, ni: *mut c_int, eps: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_softening("g5_set_epsMC", place(scalar("devid", devid)), scalar("ni", ni), eps) }
}

/// The Fortran form of `g5_set_epsMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_epsmc_(devid: *mut c_int, ni: *mut c_int, eps: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::set_softening("g5_set_epsMC", place(scalar("devid", devid)), scalar("ni", ni), eps) }
}

/// The Fortran form of `g5_set_xi`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_xi_(ni: *mut c_int, xi: *mut [f64; 3]) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::set_sinks("g5_set_xi", Ok(Place::Alone), scalar("ni", ni), SinkArrays { position: xi, softening2: None })
    }
}

/// The Fortran form of `g5_set_xiMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_xiMC_(devid: *mut c_int, ni: *mut c_int, xi: *mut [f64; 3]) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::set_sinks(
            "g5_set_xiMC",
            place(scalar("devid", devid)),
            scalar("ni", ni),
            SinkArrays { position: xi, softening2: None },
        )
    }
}

/// The Fortran form of `g5_set_xiMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_ximc_(devid: *mut c_int, ni: *mut c_int, xi: *mut [f64; 3]) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::set_sinks(
            "g5_set_xiMC",
            place(scalar("devid", devid)),
            scalar("ni", ni),
            SinkArrays { position: xi, softening2: None },
        )
    }
}

/// The Fortran form of `g5_set_xei`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_xei_(ni: *mut c_int, xi: *mut [f64; 3], eps2: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::set_sinks(
            "g5_set_xei",
            Ok(Place::Alone),
            scalar("ni", ni),
            SinkArrays { position: xi, softening2: Some(eps2) },
        )
    }
}

/// The Fortran form of `g5_set_xeiMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_xeiMC_(devid: *mut c_int, ni: *mut c_int, xi: *mut [f64; 3], eps2: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::set_sinks(
            "g5_set_xeiMC",
            place(scalar("devid", devid)),
            scalar("ni", ni),
            SinkArrays { position: xi, softening2: Some(eps2) },
        )
    }
}

/// The Fortran form of `g5_set_xeiMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_set_xeimc_(devid: *mut c_int, ni: *mut c_int, xi: *mut [f64; 3], eps2: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::set_sinks(
            "g5_set_xeiMC",
            place(scalar("devid", devid)),
            scalar("ni", ni),
            SinkArrays { position: xi, softening2: Some(eps2) },
        )
    }
}

/// The Fortran form of `g5_run`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_run_() -> c_int {
    calls::run("g5_run", Ok(Place::Alone))
}

/// The Fortran form of `g5_runMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_runMC_(devid: *mut c_int) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::run("g5_runMC", place(scalar("devid", devid))) }
}

/// The Fortran form of `g5_runMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_runmc_(devid: *mut c_int) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { calls::run("g5_runMC", place(scalar("devid", devid))) }
}

/// The Fortran form of `g5_get_force`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_get_force_(ni: *mut c_int, a: *mut [f64; 3], p: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::force(
            "g5_get_force",
            Ok(Place::Alone),
            scalar("ni", ni),
            None,
            ResultArrays { acceleration: a, potential: p },
        )
    }
}

/// The Fortran form of `g5_get_forceMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_get_forceMC_(devid: *mut c_int, ni: *mut c_int, a: *mut [f64; 3], p: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::force(
            "g5_get_forceMC",
            place(scalar("devid", devid)),
            scalar("ni", ni),
            None,
            ResultArrays { acceleration: a, potential: p },
        )
    }
}

/// The Fortran form of `g5_get_forceMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_get_forcemc_(devid: *mut c_int, ni: *mut c_int, a: *mut [f64; 3], p: *mut f64) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::force(
            "g5_get_forceMC",
            place(scalar("devid", devid)),
            scalar("ni", ni),
            None,
            ResultArrays { acceleration: a, potential: p },
        )
    }
}

/// The Fortran form of `g5_calculate_force_on_x`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_calculate_force_on_x_(
    x: *mut [f64; 3],
    a: *mut [f64; 3],
    p: *mut f64,
    ni: *mut c_int,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::force(
            "g5_calculate_force_on_x",
            Ok(Place::Alone),
            scalar("ni", ni),
            Some(SinkArrays { position: x, softening2: None }),
            ResultArrays { acceleration: a, potential: p },
        )
    }
}

/// The Fortran form of `g5_calculate_force_on_xMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_calculate_force_on_xMC_(
    devid: *mut c_int,
    x: *mut [f64; 3],
    a: *mut [f64; 3],
    p: *mut f64,
    ni: *mut c_int,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::force(
            "g5_calculate_force_on_xMC",
            place(scalar("devid", devid)),
            scalar("ni", ni),
            Some(SinkArrays { position: x, softening2: None }),
            ResultArrays { acceleration: a, potential: p },
        )
    }
}

/// The Fortran form of `g5_calculate_force_on_xMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_calculate_force_on_xmc_(
    devid: *mut c_int,
    x: *mut [f64; 3],
    a: *mut [f64; 3],
    p: *mut f64,
    ni: *mut c_int,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::force(
            "g5_calculate_force_on_xMC",
            place(scalar("devid", devid)),
            scalar("ni", ni),
            Some(SinkArrays { position: x, softening2: None }),
            ResultArrays { acceleration: a, potential: p },
        )
    }
}

/// The Fortran form of `g5_calculate_force_on_xe`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_calculate_force_on_xe_(
    x: *mut [f64; 3],
    eps2: *mut f64,
    a: *mut [f64; 3],
    p: *mut f64,
    ni: *mut c_int,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::force(
            "g5_calculate_force_on_xe",
            Ok(Place::Alone),
            scalar("ni", ni),
            Some(SinkArrays { position: x, softening2: Some(eps2) }),
            ResultArrays { acceleration: a, potential: p },
        )
    }
}

/// The Fortran form of `g5_calculate_force_on_xeMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_calculate_force_on_xeMC_(
    devid: *mut c_int,
    x: *mut [f64; 3],
    eps2: *mut f64,
    a: *mut [f64; 3],
    p: *mut f64,
    ni: *mut c_int,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::force(
            "g5_calculate_force_on_xeMC",
            place(scalar("devid", devid)),
            scalar("ni", ni),
            Some(SinkArrays { position: x, softening2: Some(eps2) }),
            ResultArrays { acceleration: a, potential: p },
        )
    }
}

/// The Fortran form of `g5_calculate_force_on_xeMC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g5_calculate_force_on_xemc_(
    devid: *mut c_int,
    x: *mut [f64; 3],
    eps2: *mut f64,
    a: *mut [f64; 3],
    p: *mut f64,
    ni: *mut c_int,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe {
        calls::force(
            "g5_calculate_force_on_xeMC",
            place(scalar("devid", devid)),
            scalar("ni", ni),
            Some(SinkArrays { position: x, softening2: Some(eps2) }),
            ResultArrays { acceleration: a, potential: p },
        )
    }
}
