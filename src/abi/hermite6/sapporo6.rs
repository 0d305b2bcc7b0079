//! Sapporo2's interface of order 6. `include/sapporo6.h`, where the names have no prefix, is made
//! from this file.
//!
//! The documentation of each function says how long the caller's arrays have to be. None may be
//! shorter, or freed during the call.

#![allow(clippy::missing_safety_doc, reason = "the documentation is the header's, for C")]
#![allow(clippy::too_many_arguments, unused_variables, reason = "the arguments are those of Sapporo2's interface")]
#![allow(non_snake_case, reason = "the names of the arguments are those of Sapporo2's interface")]

use std::ffi::c_int;

use crate::abi::arrays::{self, Input, Output};
use crate::abi::diagnostics::{FAILED, answer_or};
use kyoho_core::{Nearest, Result, Sink, padded};

use super::board::{Predicted, PredictionTarget, Softening, Summed, board};
use super::calls::{self, NO_SOURCE, SourceArguments};

/// Opens the board with the devices that the environment names. It is one device unless the
/// environment asks for more.
///
/// An open board stays as it is, with its sources. Any other function opens the board too, if it
/// needs one. Returns 0, or non-zero if the environment or `sapporo2.config` asks for something
/// that is not there. Then every force is NaN until the board is initialized again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_sapporo6_initialize() -> c_int {
    calls::initialize()
}

/// Opens the board with the devices in `list` if `ndev` > 0, with all devices if `ndev` = 0, or
/// with the first -`ndev` devices if `ndev` < 0.
///
/// On the CPU the list has no effect. Returns non-zero if the board is open with other devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_sapporo6_initialize_special(ndev: c_int, list: *mut c_int) -> c_int {
    // SAFETY: the caller passes null or a pointer to as many numbers.
    unsafe { calls::initialize_special(ndev, list) }
}

/// Writes the source (j-particle) at `addr`, 0 or more, in place of what was there.
///
/// `id` is the name of the source: sinks with the same id do not feel it. `time` is the time of its
/// state. The state is `mass`, the position `pos`, and the plain derivatives of the position:
/// velocity `vel`, acceleration `acc`, jerk `jrk`, snap `snp` and crackle `crk`, with three numbers
/// each and not divided by any factor. `eps2`, the squared softening of the source, may be any
/// number and is kept for `pick_up_predictor_2`: pairs are softened by the sink. The next force is
/// the first that sees the source. Addresses may come in any order, with gaps, and without limit.
/// Returns non-zero if a pointer is null, if another number is not finite or too large for the
/// precision, or if the address is negative. If the source at an address below `nj` was refused,
/// forces are NaN until it is written again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_sapporo6_set_j_particle(
    addr: c_int,
    pos: *mut f64,
    vel: *mut f64,
    acc: *mut f64,
    jrk: *mut f64,
    snp: *mut f64,
    crk: *mut f64,
    mass: f64,
    time: f64,
    id: c_int,
    eps2: f64,
) -> c_int {
    let derivatives = [pos.cast_const(), vel, acc, jrk, snp, crk];
    let source = SourceArguments { derivatives, mass, time, index: id, softening2: eps2 };
    // SAFETY: the caller passes null or pointers to three numbers.
    unsafe { calls::set_source("set_j_particle", addr, source) }
}

/// Lets the forces that follow predict all sources to `time`, from all of their derivatives.
///
/// `nj` must not be negative and has no other effect: a force predicts the sources that it needs,
/// also those that are written after this call. A time that is not finite is refused, and the
/// forces are NaN until another is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_sapporo6_predict_all(time: f64, nj: c_int) -> c_int {
    calls::set_prediction_target("predict_all", PredictionTarget::At(time), nj)
}

/// Lets the forces that follow take all sources as they were written, whatever their times.
///
/// Forces do so too before `predict_all` is first called. `time` is not used. `nj` must not be
/// negative and has no other effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_sapporo6_no_predict_all(time: f64, nj: c_int) -> c_int {
    calls::set_prediction_target("no_predict_all", PredictionTarget::AsWritten, nj)
}

/// Writes the source at `addr` as the next force would have it: `id`, `mass`, `eps2`, and the
/// position `pos`, the velocity `vel` and the acceleration `acc`, predicted or not.
///
/// Any of the pointers may be null. If no source was written at the address or it was refused,
/// returns non-zero and writes NaN and the id -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_sapporo6_pick_up_predictor_2(
    addr: c_int,
    id: *mut c_int,
    mass: *mut f64,
    eps2: *mut f64,
    pos: *mut f64,
    vel: *mut f64,
    acc: *mut f64,
) -> c_int {
    // SAFETY: the caller passes null or pointers that can be written, the last three to three
    // numbers.
    let (id, scalars, vectors) = unsafe {
        (
            Output::new("id", id, 1),
            [Output::new("mass", mass, 1), Output::new("eps2", eps2, 1)],
            [("pos", pos), ("vel", vel), ("acc", acc)]
                .map(|(name, first)| Output::<[f64; 3]>::new(name, first.cast(), 1)),
        )
    };
    let give = |source: Predicted| {
        id.fill(source.index);
        scalars[0].fill(source.mass);
        scalars[1].fill(source.softening2);
        vectors.iter().zip(source.derivatives).for_each(|(output, vector)| output.fill(vector));
        Ok(())
    };
    let failed = || {
        id.fill(NO_SOURCE);
        scalars.iter().for_each(|output| output.fill(f64::NAN));
        vectors.iter().for_each(|output| output.fill([f64::NAN; 3]));
    };
    calls::pick_up("pick_up_predictor_2", addr, give, failed)
}

/// The caller's arrays for results, one row for each sink.
struct Results {
    acceleration: Output<[f64; 3]>,
    jerk: Output<[f64; 3]>,
    snap: Output<[f64; 3]>,
    crackle: Output<[f64; 3]>,
    potential: Output<f64>,
    nearest: Output<c_int>,
    nearest_distance2: Output<f64>,
}

impl Results {
    fn require(&self) -> Result<()> {
        self.acceleration.require()?;
        self.jerk.require()?;
        self.snap.require()?;
        self.potential.require()
    }

    fn take(&self, sink: usize, summed: &Summed, nearest: Option<Nearest>, softening2: f64) {
        let [acceleration, jerk, snap] = calls::vectors(summed);
        self.acceleration.set(sink, acceleration);
        self.jerk.set(sink, jerk);
        self.snap.set(sink, snap);
        self.crackle.set(sink, [0.0; 3]);
        self.potential.set(sink, summed[0]);
        self.nearest.set(sink, nearest.map_or(NO_SOURCE, |found| found.index));
        let distance2 = nearest.map_or(f64::INFINITY, |found| found.distance2);
        self.nearest_distance2.set(sink, distance2 + softening2);
    }

    /// Fills all arrays with values that nobody can take for a force.
    fn fail(&self) {
        [self.acceleration, self.jerk, self.snap, self.crackle].iter().for_each(|output| output.fill([f64::NAN; 3]));
        [self.potential, self.nearest_distance2].iter().for_each(|output| output.fill(f64::NAN));
        self.nearest.fill(NO_SOURCE);
    }
}

/// Computes the forces of the sources at the addresses below `nj` on `ni` sinks (i-particles). The
/// sources are predicted or not, as was last asked for.
///
/// Each sink has an id in `ids`, a position `pos`, a velocity `vel`, an acceleration `acc`, and a
/// squared softening `eps2` of its own. Any number of sinks can be passed. A source with the sink's
/// id is not summed. Another source at the sink's place gives no acceleration if the sink has no
/// softening. Addresses that were never written add nothing. `mass` is not used and never read.
/// With r, v, a the differences of position, velocity and acceleration, source less sink, and
/// s2 = r^2 + eps2:
///
/// - `accNew` = sum m r / s2^(3/2)
/// - `jrkNew` and `snpNew` are the first and second derivative of `accNew` in time, `crkNew` is 0
/// - `phi` = -sum m / s2^(1/2)
///
/// `nnb` is the id of the nearest source and `nnb_r2` its r^2 + eps2. They are -1 and infinity if
/// there is none. Results are written, not added. They may overlap one another or any array of
/// sinks. `crkNew`, `nnb` and `nnb_r2` may be null. With `ni` = 0 nothing happens. Returns 0, or
/// non-zero on an error. Then all rows are NaN, and -1 in `nnb`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_sapporo6_calc_force_on_predictors(
    ni: c_int,
    nj: c_int,
    ids: *mut c_int,
    pos: *mut [f64; 3],
    vel: *mut [f64; 3],
    acc: *mut [f64; 3],
    mass: *mut f64,
    eps2: *mut f64,
    accNew: *mut [f64; 3],
    jrkNew: *mut [f64; 3],
    snpNew: *mut [f64; 3],
    crkNew: *mut [f64; 3],
    phi: *mut f64,
    nnb: *mut c_int,
    nnb_r2: *mut f64,
) -> c_int {
    let function = "calc_force_on_predictors";
    calls::with_rows(function, ni, |ni| {
        // SAFETY: the caller passes null or pointers to arrays of the documented length.
        let results = unsafe {
            Results {
                acceleration: Output::new("accNew", accNew, ni),
                jerk: Output::new("jrkNew", jrkNew, ni),
                snap: Output::new("snpNew", snpNew, ni),
                crackle: Output::new("crkNew", crkNew, ni),
                potential: Output::new("phi", phi, ni),
                nearest: Output::new("nnb", nnb, ni),
                nearest_distance2: Output::new("nnb_r2", nnb_r2, ni),
            }
        };
        let body = || {
            let nj = arrays::count("nj", nj)?;
            // SAFETY: the caller passes null or pointers to arrays of the documented length.
            let (ids, pos, vel, acc, eps2) = unsafe {
                (
                    Input::new("ids", ids, ni)?,
                    Input::new("pos", pos, ni)?,
                    Input::new("vel", vel, ni)?,
                    Input::new("acc", acc, ni)?,
                    Input::new("eps2", eps2, ni)?,
                )
            };
            results.require()?;
            let softening2 = calls::copied(&eps2)?;
            let sink = |sink| Sink {
                index: ids.get(sink),
                softening2: softening2[sink],
                radius2: 0.0,
                step: 0.0,
                derivatives: padded([pos.get(sink), vel.get(sink), acc.get(sink)]),
            };
            let take = |sink: usize, summed: &Summed, nearest| results.take(sink, summed, nearest, softening2[sink]);
            board().force(Softening::OfSinks, nj, ni, sink, take).map(|()| 0)
        };
        answer_or(function, body, FAILED, || results.fail())
    })
}
