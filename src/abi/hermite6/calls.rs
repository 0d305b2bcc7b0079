//! The work of the functions of both interfaces.

use std::ffi::c_int;

use crate::abi::arrays::{self, Input};
use crate::abi::diagnostics::{FAILED, answer, answer_or};
use crate::abi::opening;
use kyoho_core::{Result, memory};

use super::board::{GivenSource, Predicted, PredictionTarget, Summed, board};

/// The id of the nearest source where there is none.
pub const NO_SOURCE: c_int = -1;

/// Opens the board.
pub fn initialize() -> c_int {
    answer("initialize", || board().open("initialize", None).map(|()| 0), FAILED)
}

/// Opens the board with the devices that the caller names.
///
/// # Safety
/// For a positive `count`, `list` is null or has that many numbers.
pub unsafe fn initialize_special(count: c_int, list: *const c_int) -> c_int {
    let function = "initialize_special";
    let body = || {
        // SAFETY: the caller's promise.
        let devices = unsafe { opening::device_choice(function, count, list)? };
        board().open(function, Some(&devices)).map(|()| 0)
    };
    answer(function, body, FAILED)
}

/// The arguments that describe a source. Its state has the plain derivatives of its position.
pub struct SourceArguments {
    /// Position, velocity, acceleration, jerk, snap, crackle.
    pub derivatives: [*const f64; 6],
    /// Its mass.
    pub mass: f64,
    /// The time of its state.
    pub time: f64,
    /// Its name.
    pub index: c_int,
    /// Its squared softening length.
    pub softening2: f64,
}

/// The names of the derivatives, in both interfaces.
const DERIVATIVES: [&str; 6] = ["pos", "vel", "acc", "jrk", "snp", "crk"];

impl SourceArguments {
    /// # Safety
    /// Each of the derivatives is null or has three numbers.
    unsafe fn source(&self) -> Result<GivenSource> {
        let mut derivatives = [[0.0; 3]; 6];
        for ((vector, first), name) in derivatives.iter_mut().zip(self.derivatives).zip(DERIVATIVES) {
            // SAFETY: the caller's promise.
            *vector = unsafe { arrays::scalar(name, first.cast())? };
        }
        Ok(GivenSource { index: self.index, mass: self.mass, time: self.time, derivatives })
    }
}

/// Writes a source at an address.
///
/// # Safety
/// Each of its derivatives is null or has three numbers.
pub unsafe fn set_source(function: &'static str, address: c_int, source: SourceArguments) -> c_int {
    let body = || {
        let address = arrays::address(address)?;
        // SAFETY: the caller's promise.
        let state = unsafe { source.source() };
        board().set_source(address, state, source.softening2).map(|()| 0)
    };
    answer(function, body, FAILED)
}

/// Sets the times of the sources of the next forces. The number of sources, which the interfaces
/// ask for, is checked and else not used, because a force predicts the sources that it needs.
pub fn set_prediction_target(function: &'static str, target: PredictionTarget, nj: c_int) -> c_int {
    let body = || {
        let target = arrays::count("nj", nj).map(|_| target);
        board().set_prediction_target(target).map(|()| 0)
    };
    answer(function, body, FAILED)
}

/// Gives the caller the source at an address as the next force would have it. `failed` writes the
/// values for no source.
pub fn pick_up(
    function: &'static str,
    address: c_int,
    give: impl FnOnce(Predicted) -> Result<()>,
    failed: impl FnOnce(),
) -> c_int {
    let body = || {
        let predicted = board().predicted(arrays::address(address)?)?;
        give(predicted)?;
        Ok(0)
    };
    answer_or(function, body, FAILED, failed)
}

/// Returns the vectors among the sums: acceleration, jerk, snap.
pub fn vectors(summed: &Summed) -> [[f64; 3]; 3] {
    let [_, vectors @ ..] = summed;
    let (vectors, _) = vectors.as_chunks();
    [vectors[0], vectors[1], vectors[2]]
}

/// Makes a call with `ni` rows. If `ni` is 0 or negative, nothing is read or written.
pub fn with_rows(function: &'static str, ni: c_int, call: impl FnOnce(usize) -> c_int) -> c_int {
    match arrays::count("ni", ni) {
        Ok(0) => 0,
        Ok(ni) => call(ni),
        Err(error) => answer(function, || Err(error.into()), FAILED),
    }
}

/// Copies the items of an array that results may overwrite before they are last needed.
pub fn copied(array: &Input<f64>) -> Result<Vec<f64>> {
    memory::collected(array.items(), "the softenings of the sinks")
}
