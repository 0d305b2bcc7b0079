//! The work of the functions, for all of their forms.

use std::ffi::c_int;

use crate::abi::arrays::{self, Input, Output};
use crate::abi::diagnostics::{FAILED, answer, answer_or};
use crate::abi::opening;
use crate::config::Settings;
use kyoho_core::{Error, Result};

use super::board::{self, Place, SinkInputs, board};

/// The most sinks that callers should pass at once. It is small because some clients fill all of
/// them and have arrays of that size on the stack.
const PIPELINES: usize = 256;

/// The number of sources that clients make arrays for, on the stack too. The library takes more.
pub const JMEMSIZE: c_int = 65536;

/// Opens the interface.
pub fn open() -> c_int {
    answer("g5_open", || board::open("g5_open", None).map(|()| 0), FAILED)
}

/// Opens the interface with the devices that the caller names.
///
/// # Safety
/// For a positive `count`, `list` is null or has that many numbers.
pub unsafe fn open_special(count: c_int, list: *const c_int) -> c_int {
    let function = "g5_open_special";
    let body = || {
        // SAFETY: the caller's promise.
        let devices = unsafe { opening::device_choice(function, count, list)? };
        board::open(function, Some(devices)).map(|()| 0)
    };
    answer(function, body, FAILED)
}

/// Closes the interface.
pub fn close() -> c_int {
    let body = || {
        board::close();
        Ok(0)
    };
    answer("g5_close", body, FAILED)
}

/// Returns the number of pipelines. If the environment is wrong it is 1, which fits into every
/// caller's arrays.
pub fn pipelines() -> c_int {
    let body = || Ok(Settings::from_environment()?.npipes.min(PIPELINES) as c_int);
    answer("g5_get_number_of_pipelines", body, 1)
}

/// Returns the board with the number that a caller gives.
pub fn one_of_many(number: Result<c_int>) -> Result<Place> {
    number.map(Place::OneOfMany)
}

/// Sets the number of addresses that act.
pub fn set_n(function: &'static str, place: Result<Place>, nj: Result<c_int>) -> c_int {
    let body = || board(place?)?.set_nj(nj.and_then(|nj| arrays::count("n", nj))).map(|()| 0);
    answer(function, body, FAILED)
}

/// Writes sources at the addresses from `address` on. The rows of the arrays have the numbers of
/// the addresses.
///
/// # Safety
/// Each of the arrays is null or has the rows from `address` to `address + count - 1`.
pub unsafe fn set_sources(
    function: &'static str,
    place: Result<Place>,
    address: Result<c_int>,
    count: Result<c_int>,
    mass: *const f64,
    position: *const [f64; 3],
) -> c_int {
    let body = || {
        let place = place?;
        let first = arrays::address(address?)?;
        let count = arrays::count("nj", count?)?;
        // SAFETY: the caller's promise. Nothing before the first row is read.
        let sources = unsafe {
            let mass = if mass.is_null() { mass } else { mass.wrapping_add(first) };
            let position = if position.is_null() { position } else { position.wrapping_add(first) };
            Input::new("mj", mass, count).and_then(|mass| Ok((mass, Input::new("xj", position, count)?)))
        };
        board(place)?.set_sources(place, first..first + count, sources).map(|()| 0)
    };
    answer(function, body, FAILED)
}

/// Sets the softening of all sinks that have none of their own.
pub fn set_common_softening2(function: &'static str, softening2: impl FnOnce() -> Result<f64>) -> c_int {
    answer(function, || board::set_common_softening2(softening2()).map(|()| 0), FAILED)
}

/// Sets the opening angle of the tree by which later forces are summed; 0 for direct sums.
pub fn set_theta(function: &'static str, theta: impl FnOnce() -> Result<f64>) -> c_int {
    answer(function, || board::set_theta(theta()).map(|()| 0), FAILED)
}

/// Sets softening lengths, not squared, of the first sinks.
///
/// # Safety
/// The array is null or has `ni` numbers.
pub unsafe fn set_softening(
    function: &'static str,
    place: Result<Place>,
    ni: Result<c_int>,
    softening: *const f64,
) -> c_int {
    let body = || {
        let mut board = board(place?)?;
        let ni = ni.and_then(|ni| arrays::count("ni", ni)).and_then(|ni| {
            if ni > board.sinks() {
                let allowed = format!("0 to {}, the sinks of the last g5_set_xi", board.sinks());
                return Err(Error::BadCount { what: "ni", value: ni as i64, allowed });
            }
            Ok(ni)
        });
        // SAFETY: the caller's promise.
        let softening = ni.and_then(|ni| unsafe { Input::new("eps", softening, ni) });
        let squares = softening.as_ref().map(|array| array.items().map(|softening| softening * softening));
        board.set_softening2(squares.map_err(Error::clone)).map(|()| 0)
    };
    answer(function, body, FAILED)
}

/// The arrays that describe sinks.
#[derive(Clone, Copy)]
pub struct SinkArrays {
    /// Their positions.
    pub x: *const [f64; 3],
    /// Their squared softening lengths, if they have their own.
    pub eps2: Option<*mut f64>,
}

impl SinkArrays {
    /// # Safety
    /// Each of the arrays is null or has `ni` rows.
    unsafe fn inputs(self, ni: usize) -> Result<SinkInputs> {
        // SAFETY: the caller's promise.
        unsafe {
            let softening2 = self.eps2.map(|first| Input::new("eps2", first, ni)).transpose()?;
            Ok((Input::new("x", self.x, ni)?, softening2))
        }
    }
}

/// Sets the sinks.
///
/// # Safety
/// Each of the arrays is null or has `ni` rows.
pub unsafe fn set_sinks(function: &'static str, place: Result<Place>, ni: Result<c_int>, arrays: SinkArrays) -> c_int {
    let body = || {
        let mut board = board(place?)?;
        let ni = ni.and_then(|ni| arrays::count("ni", ni));
        // SAFETY: the caller's promise.
        board.set_sinks(ni.and_then(|ni| unsafe { arrays.inputs(ni) })).map(|()| 0)
    };
    answer(function, body, FAILED)
}

/// Begins the force on the sinks.
pub fn run(function: &'static str, place: Result<Place>) -> c_int {
    let body = || {
        let place = place?;
        board(place)?.begin(function, place).map(|()| 0)
    };
    answer(function, body, FAILED)
}

/// The caller's arrays for results.
#[derive(Clone, Copy)]
pub struct ResultArrays {
    /// Accelerations.
    pub a: *mut [f64; 3],
    /// Potentials.
    pub p: *mut f64,
}

/// Ends the force on the sinks that were set before. If `sinks` are given, sets them and computes
/// the whole force.
///
/// # Safety
/// Each of the arrays is null or has `ni` rows.
pub unsafe fn force(
    function: &'static str,
    place: Result<Place>,
    ni: Result<c_int>,
    sinks: Option<SinkArrays>,
    results: ResultArrays,
) -> c_int {
    let rows = ni.and_then(|ni| arrays::count("ni", ni));
    let Ok(1..) = rows else {
        return answer(function, || Ok(rows.map(|_| 0)?), FAILED);
    };
    let ni = rows.unwrap_or(0);
    // SAFETY: the caller's promise.
    let (acceleration, potential) = unsafe { (Output::new("a", results.a, ni), Output::new("p", results.p, ni)) };
    let body = || {
        let place = place?;
        let mut board = board(place)?;
        if let Some(sinks) = sinks {
            // SAFETY: the caller's promise.
            board.set_sinks(unsafe { sinks.inputs(ni) })?;
            board.begin(function, place)?;
        }
        board.finish(function, ni, acceleration, potential).map(|()| 0)
    };
    let failed = || {
        acceleration.fill([f64::NAN; 3]);
        potential.fill(f64::NAN);
    };
    answer_or(function, body, FAILED, failed)
}
