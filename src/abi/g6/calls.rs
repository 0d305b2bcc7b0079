//! The work of the functions, for all of their forms.

use std::ffi::c_int;
use std::ops::Range;

use crate::abi::arrays::{self, Input, Output};
use crate::abi::boundary;
use crate::abi::diagnostics::{FAILED, answer, answer_or};
use crate::abi::opening;
use crate::config::Settings;
use kyoho_core::sinks::NumberedSinks;
use kyoho_core::{Error, Result, Sink, Source, padded, records};

use super::board::{NPIPES_OF_BROKEN, Results, board};

/// Opens the board.
pub fn open() -> c_int {
    answer("g6_open", || board().open("g6_open", None).map(|()| 0), FAILED)
}

/// Opens the board with the devices that the caller names.
///
/// # Safety
/// For a positive `count`, `list` is null or has that many numbers.
pub unsafe fn open_special(function: &'static str, count: c_int, list: *const c_int) -> c_int {
    let body = || {
        // SAFETY: the caller's promise.
        let devices = unsafe { opening::device_choice(function, count, list)? };
        board().open(function, Some(&devices)).map(|()| 0)
    };
    answer(function, body, FAILED)
}

/// Closes the board.
pub fn close() -> c_int {
    answer(
        "g6_close",
        || {
            board().close();
            Ok(0)
        },
        FAILED,
    )
}

/// Forgets the force calculation under way.
pub fn reset(function: &'static str) -> c_int {
    answer(
        function,
        || {
            board().reset()?;
            Ok(0)
        },
        FAILED,
    )
}

/// Returns the block size. If the environment is wrong it is 1, which fits into every caller's
/// arrays.
pub fn npipes() -> c_int {
    answer("g6_npipes", || Ok(board().npipes()? as c_int), NPIPES_OF_BROKEN as c_int)
}

/// Returns the number of devices of the backend that would be used, or 0 if the environment is
/// wrong.
pub fn device_count() -> c_int {
    let body = || {
        let backend = Settings::from_environment()?.chosen_backend()?;
        Ok(backend.devices()?.len().max(1) as c_int)
    };
    answer("get_device_count", body, 0)
}

/// Sets the time to which sources are predicted.
pub fn set_time(time: Result<f64>) -> c_int {
    answer("g6_set_ti", || board().set_time(time).map(|()| 0), FAILED)
}

/// The address of a source, and its numbers: index, mass, time, and the Taylor coefficients.
pub type Written = (c_int, c_int, f64, f64, [[f64; 3]; 4]);

/// Writes a source. `read` reads it from the caller's memory.
#[inline(always)]
pub fn set_source(function: &'static str, address: Result<c_int>, read: impl Fn() -> Result<Written>) -> c_int {
    // Programs call this for every body of every step. So most are written in integers alone,
    // whatever the floating-point environment, and go from the caller's memory to the record through
    // registers.
    let recorded = || {
        let (address, index, mass, time, coefficients) = read()?;
        let numbers = records::numbers(mass, time, coefficients);
        Ok(address >= 0 && board().record_numbers(address as usize, index, numbers))
    };
    if boundary::protect(recorded) == Ok(true) {
        return 0;
    }
    set_source_of_board(function, address, read())
}

#[cold]
fn set_source_of_board(function: &'static str, address: Result<c_int>, written: Result<Written>) -> c_int {
    let body = || {
        let address = address.and_then(arrays::address)?;
        let source = written.map(|(_, index, mass, time, coefficients)| Source {
            index,
            mass,
            time,
            coefficients: padded(coefficients),
        });
        board().set_source(address, source.as_ref().map_err(Error::clone)).map(|()| 0)
    };
    answer(function, body, FAILED)
}

/// Reads a vector of the caller.
///
/// # Safety
/// Unless null, three numbers can be read.
#[inline(always)]
pub unsafe fn vector(argument: &'static str, first: *const f64) -> Result<[f64; 3]> {
    // SAFETY: the caller's promise.
    unsafe { arrays::scalar(argument, first.cast()) }
}

/// The arrays that describe sinks.
pub struct SinkArrays {
    /// Their indices.
    pub index: *const c_int,
    /// Their positions.
    pub xi: *const [f64; 3],
    /// Their velocities.
    pub vi: *const [f64; 3],
    /// The squared radii of their neighbour lists.
    pub h2: *const f64,
}

/// The caller's sinks.
struct SinkInputs {
    index: Input<c_int>,
    position: Input<[f64; 3]>,
    velocity: Input<[f64; 3]>,
    radius2: Input<f64>,
    softening2: f64,
}

impl NumberedSinks for SinkInputs {
    #[inline(always)]
    fn sink(&self, number: usize) -> Sink {
        Sink {
            index: self.index.get(number),
            softening2: self.softening2,
            radius2: self.radius2.get(number),
            step: 0.0,
            derivatives: padded([self.position.get(number), self.velocity.get(number)]),
        }
    }
}

/// Begins a force calculation; returns 0, or non-zero on an error.
///
/// # Safety
/// Each of the arrays is null or has `ni` rows.
pub unsafe fn first_half(nj: Result<c_int>, ni: Result<c_int>, arrays: SinkArrays, softening2: Result<f64>) -> c_int {
    if ni == Ok(0) {
        return 0;
    }
    let body = || {
        let nj = arrays::count("nj", nj?)?;
        let ni = arrays::count("ni", ni?)?;
        let softening2 = softening2?;
        // SAFETY: the caller's promise.
        let (index, position, velocity, radius2) = unsafe {
            (
                Input::new("index", arrays.index, ni)?,
                Input::new("xi", arrays.xi, ni)?,
                Input::new("vi", arrays.vi, ni)?,
                Input::new("h2", arrays.h2, ni)?,
            )
        };
        require_room(
            ni,
            &[("index", index.bytes()), ("xi", position.bytes()), ("vi", velocity.bytes()), ("h2", radius2.bytes())],
        )?;
        let sinks = SinkInputs { index, position, velocity, radius2, softening2 };
        board().begin(nj, softening2, ni, &sinks).map(|()| 0)
    };
    answer_or("g6calc_firsthalf", body, FAILED, || board().fail())
}

/// Returns an error if one array of `ni` rows begins inside another. A caller with arrays of a
/// fixed length was then told of more pipes than they have room for, and has written one array over
/// the other. Two arrays that begin at the same place are one array.
fn require_room(ni: usize, arrays: &[(&str, Range<usize>)]) -> Result<()> {
    let pairs = arrays.iter().flat_map(|long| arrays.iter().map(move |inside| (long, inside)));
    let rooms = pairs.filter(|((_, long), (_, inside))| long.start < inside.start && inside.start < long.end);
    let rooms = rooms.map(|((long, bytes), (inside, start))| {
        let row = (bytes.len() / ni).max(1);
        ((start.start - bytes.start) / row, *long, *inside)
    });
    match rooms.filter(|(room, ..)| *room > 0).min() {
        Some((room, long, inside)) => {
            let allowed = format!("0 to {room}, after which {inside} begins inside {long}; set KYOHO_NPIPES={room}");
            Err(Error::BadCount { what: "ni", value: ni as i64, allowed })
        }
        None => Ok(()),
    }
}

/// The caller's arrays for results.
pub struct ResultArrays {
    /// Accelerations.
    pub acc: *mut [f64; 3],
    /// Jerks.
    pub jerk: *mut [f64; 3],
    /// Potentials.
    pub pot: *mut f64,
    /// Indices of the nearest sources, if the caller wants them.
    pub nn: Option<*mut c_int>,
    /// Softened distances of the nearest sources, if the caller wants them.
    pub rnn: Option<*mut f32>,
}

/// Ends a force calculation.
///
/// # Safety
/// Each of the arrays is null or has `ni` rows.
pub unsafe fn last_half(function: &'static str, ni: Result<c_int>, arrays: ResultArrays) -> c_int {
    let rows = ni.clone().and_then(|ni| arrays::count("ni", ni));
    let Ok(1..) = rows else {
        return answer(function, || Ok(rows.map(|_| 0)?), FAILED);
    };
    let count = rows.unwrap_or(0);
    // SAFETY: the caller's promise.
    let results = unsafe {
        Results {
            acceleration: Output::new("acc", arrays.acc, count),
            jerk: Output::new("jerk", arrays.jerk, count),
            potential: Output::new("pot", arrays.pot, count),
            nearest: arrays.nn.map(|first| Output::new("nn", first, count)),
            nearest_distance: arrays.rnn.map(|first| Output::new("rnn", first, count)),
        }
    };
    let body = || board().finish(function, count, &results).map(|()| 0);
    answer_or(function, body, FAILED, || results.fail())
}

/// Returns 0 if there are neighbour lists.
pub fn read_neighbour_list() -> c_int {
    let function = "g6_read_neighbour_list";
    answer(function, || board().require_lists(function).map(|()| 0), FAILED)
}

/// Copies one neighbour list. Returns 1 if it is longer than `capacity`.
///
/// # Safety
/// `length` is null or can be written, `list` is null or has room for `capacity` numbers.
pub unsafe fn neighbour_list(
    sink: Result<c_int>,
    capacity: Result<c_int>,
    length: *mut c_int,
    list: *mut c_int,
) -> c_int {
    let function = "g6_get_neighbour_list";
    // SAFETY: the caller's promise.
    let length = unsafe { Output::new("nblen", length, 1) };
    let body = || {
        length.require()?;
        let sink = sink?;
        let capacity = arrays::count("maxlength", capacity?)?;
        // SAFETY: the caller's promise.
        let list = unsafe { Output::new("nbl", list, capacity) };
        list.require()?;
        let mut board = board();
        board.require_lists(function)?;
        let neighbours = board.neighbours(sink)?;
        let copied = neighbours.len().min(capacity);
        (0..copied).for_each(|place| list.set(place, neighbours[place]));
        length.set(0, copied as c_int);
        Ok(c_int::from(neighbours.len() > capacity))
    };
    answer_or(function, body, FAILED, || length.fill(0))
}
