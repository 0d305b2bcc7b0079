//! Yebisu's interface, as Sapporo2 has it and as Yebisu first had it. `include/yebisu.h`, where the
//! names have no prefix, is made from this file.
//!
//! The documentation of each function says how long the caller's arrays have to be. None may be
//! shorter, or freed during the call.

#![allow(clippy::missing_safety_doc, reason = "the documentation is the header's, for C")]
#![allow(clippy::too_many_arguments, unused_variables, reason = "the arguments are those of Yebisu's interface")]

use std::ffi::c_int;
use std::mem::offset_of;

use crate::abi::arrays::{self, Input, Output};
use crate::abi::diagnostics::{FAILED, answer_or};
use kyoho_core::{Error, Nearest, Result, Sink, padded};

use super::board::{Predicted, PredictionTarget, Softening, Summed, board};
use super::calls::{self, NO_SOURCE, SourceArguments};

/// A predicted body: a source as it was picked up, or a sink.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predictor {
    /// Position.
    pub pos: [f64; 3],
    /// Velocity.
    pub vel: [f64; 3],
    /// Acceleration.
    pub acc: [f64; 3],
    /// Mass. The mass of a sink is not used.
    pub mass: f64,
    /// The name, which is an integer. A fraction is cut off.
    pub id: f64,
    /// Squared softening.
    pub eps2: f64,
}

/// The force on a sink.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Force {
    /// Acceleration, which is sum m r / s^3.
    pub acc: [f64; 3],
    /// Jerk, the derivative of the acceleration in time.
    pub jrk: [f64; 3],
    /// Snap, the derivative of the jerk in time.
    pub snp: [f64; 3],
    /// Minus the potential, which is +sum m / s.
    pub phi: f64,
    /// The id of the nearest source, or -1 if there is none.
    pub nnb_id: c_int,
    /// The r^2 of the nearest source, without softening. It is infinite if there is none.
    pub nnb_r2: f32,
}

const _: () = assert!(size_of::<Predictor>() == 96 && offset_of!(Predictor, eps2) == 88);
const _: () = assert!(size_of::<Force>() == 88 && offset_of!(Force, nnb_r2) == 84);

/// Opens the board with the devices that the environment names. It is one device unless the
/// environment asks for more.
///
/// `n`, the number of sources to make room for, is not needed. An open board stays as it is, with
/// its sources. Any other function opens the board too, if it needs one. Returns 0, or non-zero if
/// the environment or `sapporo2.config` asks for something that is not there. Then every force is
/// NaN until the board is initialized again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_yebisu_initialize(n: c_int) -> c_int {
    calls::initialize()
}

/// Opens the board with the devices in `list` if `ndev` > 0, with all devices if `ndev` = 0, or
/// with the first -`ndev` devices if `ndev` < 0.
///
/// On the CPU the list has no effect. Returns non-zero if the board is open with other devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_yebisu_initialize_special(ndev: c_int, list: *mut c_int) -> c_int {
    // SAFETY: the caller passes null or a pointer to as many numbers.
    unsafe { calls::initialize_special(ndev, list) }
}

/// Writes the source (j-particle) at `addr`, 0 or more, in place of what was there.
///
/// `id` is the name of the source: sinks with the same id do not feel it. `time` is the time of its
/// state. The state is `mass`, the position `pos`, and the plain derivatives of the position:
/// velocity `vel`, acceleration `acc`, jerk `jrk`, snap `snp` and crackle `crk`, with three numbers
/// each and not divided by any factor. `eps2`, the squared softening of the source, may be any
/// number and is used by `calc_force_on_predictors_epsj` alone. The next force is the first that
/// sees the source. Addresses may come in any order, with gaps, and without limit. Returns non-zero
/// if a pointer is null, if another number is not finite or too large for the precision, or if the
/// address is negative. If the source at an address below `nj` was refused, forces are NaN until it
/// is written again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_yebisu_set_jp_2(
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
    // SAFETY: the caller passes null or pointers to three numbers.
    unsafe { write("set_jp_2", addr, [pos, vel, acc, jrk, snp, crk], mass, time, id, eps2) }
}

/// Does as `set_jp_2` does, with the mass after the address. Yebisu first had this name and this
/// order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_yebisu_set_jp(
    addr: c_int,
    mass: f64,
    pos: *mut f64,
    vel: *mut f64,
    acc: *mut f64,
    jrk: *mut f64,
    snp: *mut f64,
    crk: *mut f64,
    time: f64,
    id: c_int,
    eps2: f64,
) -> c_int {
    // SAFETY: the caller passes null or pointers to three numbers.
    unsafe { write("set_jp", addr, [pos, vel, acc, jrk, snp, crk], mass, time, id, eps2) }
}

/// # Safety
/// Each of the derivatives is null or has three numbers.
unsafe fn write(
    function: &'static str,
    address: c_int,
    derivatives: [*mut f64; 6],
    mass: f64,
    time: f64,
    index: c_int,
    softening2: f64,
) -> c_int {
    let derivatives = derivatives.map(|first| first.cast_const());
    // SAFETY: the caller's promise.
    unsafe { calls::set_source(function, address, SourceArguments { derivatives, mass, time, index, softening2 }) }
}

/// Lets the forces that follow predict all sources to `time`, from all of their derivatives.
///
/// `nj` must not be negative and has no other effect: a force predicts the sources that it needs,
/// also those that are written after this call. A time that is not finite is refused, and the
/// forces are NaN until another is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_yebisu_predict_all(time: f64, nj: c_int) -> c_int {
    calls::set_prediction_target("predict_all", PredictionTarget::At(time), nj)
}

/// Lets the forces that follow take all sources as they were written, whatever their times.
///
/// Forces do so too before `predict_all` is first called. `time` is not used. `nj` must not be
/// negative and has no other effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_yebisu_no_predict_all(time: f64, nj: c_int) -> c_int {
    calls::set_prediction_target("no_predict_all", PredictionTarget::AsWritten, nj)
}

/// Writes the source at `addr` as the next force would have it, predicted or not.
///
/// If no source was written at the address or it was refused, returns non-zero and writes NaN and
/// the id -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_yebisu_pick_up_predictor_2(addr: c_int, pred: *mut Predictor) -> c_int {
    // SAFETY: the caller passes null or a pointer to a predictor.
    unsafe { pick_up("pick_up_predictor_2", addr, pred) }
}

/// Does as `pick_up_predictor_2` does. Yebisu first had this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_yebisu_pick_up_predictor(addr: c_int, pred: *mut Predictor) -> c_int {
    // SAFETY: the caller passes null or a pointer to a predictor.
    unsafe { pick_up("pick_up_predictor", addr, pred) }
}

/// # Safety
/// The pointer is null or points to room for a predictor.
unsafe fn pick_up(function: &'static str, address: c_int, predictor: *mut Predictor) -> c_int {
    // SAFETY: the caller's promise.
    let output = unsafe { Output::new("pred", predictor, 1) };
    let failed = || {
        let ([pos, vel, acc], mass, eps2) = ([[f64::NAN; 3]; 3], f64::NAN, f64::NAN);
        output.fill(Predictor { pos, vel, acc, mass, id: f64::from(NO_SOURCE), eps2 });
    };
    let give = |source: Predicted| {
        output.require()?;
        let [pos, vel, acc] = source.derivatives;
        let (id, mass, eps2) = (f64::from(source.index), source.mass, source.softening2);
        output.fill(Predictor { pos, vel, acc, mass, id, eps2 });
        Ok(())
    };
    calls::pick_up(function, address, give, failed)
}

/// Computes the forces of the sources at the addresses below `nj` on `ni` sinks (i-particles). The
/// sources are predicted or not, as was last asked for.
///
/// Each pair is softened by the `eps2` of its sink: s^2 = r^2 + eps2. Any number of sinks can be
/// passed. A source with the sink's id is not summed. Another source at the sink's place gives no
/// acceleration if the sink has no softening. Addresses that were never written add nothing.
/// Results are written, not added. With `ni` = 0 nothing happens. Returns 0, or non-zero on an
/// error. Then all forces are NaN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_yebisu_calc_force_on_predictors(
    ni: c_int,
    pred: *mut Predictor,
    force: *mut Force,
    nj: c_int,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { forces("calc_force_on_predictors", Softening::OfSinks, ni, pred, force, nj) }
}

/// Does as `calc_force_on_predictors` does, but each pair is softened by its source, with the
/// `eps2` of `set_jp_2`. The `eps2` of the sinks is not used.
///
/// It is an error if the `eps2` of a source below `nj` is negative, not finite or too large for the
/// precision.
///
/// The sources may have up to 16 different values of `eps2`. If they have more than one, each value
/// has memory of its own from the first call on, and may take as long as a whole force on a GPU.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_yebisu_calc_force_on_predictors_epsj(
    ni: c_int,
    pred: *mut Predictor,
    force: *mut Force,
    nj: c_int,
) -> c_int {
    // SAFETY: the caller passes null or pointers to arrays of the documented length.
    unsafe { forces("calc_force_on_predictors_epsj", Softening::OfSources, ni, pred, force, nj) }
}

/// # Safety
/// Each of the arrays is null or has `ni` items.
unsafe fn forces(
    function: &'static str,
    softening: Softening,
    ni: c_int,
    sinks: *const Predictor,
    results: *mut Force,
    nj: c_int,
) -> c_int {
    calls::with_rows(function, ni, |ni| {
        // SAFETY: the caller's promise.
        let output = unsafe { Output::new("force", results, ni) };
        let body = || {
            let nj = arrays::count("nj", nj)?;
            // SAFETY: the caller's promise.
            let sinks = unsafe { Input::new("pred", sinks, ni)? };
            output.require()?;
            (0..ni).try_for_each(|sink| index(sink, sinks.get(sink).id).map(|_| ()))?;
            let sink = |number| {
                let Predictor { pos, vel, acc, id, eps2, .. } = sinks.get(number);
                Sink {
                    index: id as i32,
                    softening2: eps2,
                    radius2: 0.0,
                    step: 0.0,
                    derivatives: padded([pos, vel, acc]),
                }
            };
            let take = |sink, summed: &Summed, nearest| output.set(sink, result(summed, nearest));
            board().force(softening, nj, ni, sink, take).map(|()| 0)
        };
        answer_or(function, body, FAILED, || output.fill(FAILURE))
    })
}

/// Returns the index of a sink with this id.
fn index(sink: usize, id: f64) -> Result<i32> {
    if id > f64::from(i32::MIN) - 1.0 && id < f64::from(i32::MAX) + 1.0 {
        return Ok(id as i32);
    }
    Err(Error::BadOption {
        name: format!("id of sink {sink}"),
        value: id.to_string(),
        allowed: format!("{} to {}", i32::MIN, i32::MAX),
    })
}

/// The result of a force that failed: no number can be taken for a force.
const FAILURE: Force = {
    let none = [f64::NAN; 3];
    Force { acc: none, jrk: none, snp: none, phi: f64::NAN, nnb_id: NO_SOURCE, nnb_r2: f32::NAN }
};

fn result(summed: &Summed, nearest: Option<Nearest>) -> Force {
    let [acc, jrk, snp] = calls::vectors(summed);
    let (nnb_id, nnb_r2) = nearest.map_or((NO_SOURCE, f32::INFINITY), |found| (found.index, found.distance2 as f32));
    Force { acc, jrk, snp, phi: -summed[0], nnb_id, nnb_r2 }
}
