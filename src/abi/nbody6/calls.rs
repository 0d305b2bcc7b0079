//! The work of the functions of both interfaces.

use std::ffi::c_int;

use crate::abi::arrays::{self, Input, Output, scalar};
use crate::abi::diagnostics::{FAILED, answer, answer_or};
use kyoho_core::{Error, NeighbourCriterion, Result, Sink, padded};

use super::board::{Bodies, board};

/// Opens the board.
pub fn open(function: &'static str) -> c_int {
    answer(function, || board().open(function).map(|()| 0), FAILED)
}

/// Closes the board.
pub fn close() -> c_int {
    let body = || {
        board().close();
        Ok(0)
    };
    answer("gpunb_close", body, FAILED)
}

/// Reads a count that Fortran passes.
///
/// # Safety
/// Unless null, the pointer can be read.
unsafe fn count(name: &'static str, pointer: *const c_int) -> Result<usize> {
    // SAFETY: the caller's promise.
    unsafe { scalar(name, pointer) }.and_then(|value| arrays::count(name, value))
}

/// Replaces the sources of regular forces.
///
/// # Safety
/// Each pointer is null or points to a count or to as many items.
pub unsafe fn send(nj: *const c_int, m: *const f64, x: *const [f64; 3], v: *const [f64; 3]) -> c_int {
    // SAFETY: the caller's promise.
    let bodies = || unsafe {
        let nj = count("nj", nj)?;
        let (masses, positions) = (Input::new("m", m, nj)?, Input::new("x", x, nj)?);
        Ok(Bodies { masses, positions, velocities: Some(Input::new("v", v, nj)?) })
    };
    answer("gpunb_send", || board().send(bodies()).map(|()| 0), FAILED)
}

/// The arguments of `gpunb_regf`, which are all pointers.
pub struct RegularArguments {
    /// The number of sinks.
    pub ni: *const c_int,
    /// Squared radii of their neighbourhoods.
    pub h2: *const f64,
    /// Their regular steps.
    pub dtr: *const f64,
    /// Their positions.
    pub xi: *const [f64; 3],
    /// Their velocities.
    pub vi: *const [f64; 3],
    /// The array for accelerations.
    pub acc: *mut [f64; 3],
    /// The array for jerks.
    pub jrk: *mut [f64; 3],
    /// The array for potentials.
    pub pot: *mut f64,
    /// The length of a row of `list`.
    pub lmax: *const c_int,
    /// The most neighbours that a row may have.
    pub nbmax: *const c_int,
    /// The array for the lists of neighbours.
    pub list: *mut c_int,
}

/// The caller's array for the lists of neighbours. It has a row for each sink, with their number
/// and their addresses.
struct Lists {
    items: Output<c_int>,
    rows: usize,
    /// The length of a row.
    row: usize,
    /// The most neighbours that fit into a row.
    room: usize,
}

impl Lists {
    /// Writes the list of a sink. If it is too long, only its length is written, with a minus sign.
    fn take(&self, sink: usize, neighbours: &[i32]) {
        let first = sink * self.row;
        let length = neighbours.len() as c_int;
        if neighbours.len() > self.room {
            return self.items.set(first, -length);
        }
        self.items.set(first, length);
        neighbours.iter().enumerate().for_each(|(place, address)| self.items.set(first + 1 + place, *address));
    }

    /// Writes lists for a call that failed, each with the first two of the sources that were sent.
    /// They end the caller's search for radii, which would else go on for ever: callers repeat a
    /// block with a smaller radius if a list is too long and, when a run begins, with a larger one
    /// if a list has fewer than two neighbours.
    fn fail(&self, sent: usize) {
        let neighbours = &[0, 1][..sent.min(self.room).min(2)];
        (0..self.rows).for_each(|sink| self.take(sink, neighbours));
    }
}

/// Computes the regular forces on some sinks, and the lists of their neighbours.
///
/// # Safety
/// Each pointer is null or points to an array as the documentation of `gpunb_regf` has it.
pub unsafe fn regular_forces(arguments: RegularArguments, criterion: Result<NeighbourCriterion>) -> c_int {
    let function = "gpunb_regf";
    let RegularArguments { ni, h2, dtr, xi, vi, acc, jrk, pot, lmax, nbmax, list } = arguments;
    // SAFETY: the caller's promise, also for the blocks below.
    let (ni, lmax, nbmax) = unsafe { (count("ni", ni), count("lmax", lmax), count("nbmax", nbmax)) };
    let Ok(ni @ 1..) = ni else { return answer(function, || Ok(ni.map(|_| 0)?), FAILED) };
    let row = lmax.as_ref().map_or(0, |lmax| *lmax);
    let room = nbmax.as_ref().map_or(0, |nbmax| (*nbmax).min(row.saturating_sub(1)));
    // SAFETY: the caller's promise.
    let (acceleration, jerk, potential, items) = unsafe {
        (
            Output::new("acc", acc, ni),
            Output::new("jrk", jrk, ni),
            Output::new("pot", pot, ni),
            Output::new("list", list, ni.saturating_mul(row)),
        )
    };
    // There are no rows if their length is unknown.
    let lists = Lists { items, rows: if row > 0 { ni } else { 0 }, row, room };
    let body = || {
        if lmax? == 0 {
            return Err(Error::BadCount { what: "lmax", value: 0, allowed: format!("1 to {}", c_int::MAX) }.into());
        }
        nbmax?;
        acceleration.require()?;
        jerk.require()?;
        potential.require()?;
        lists.items.require()?;
        // SAFETY: the caller's promise.
        let (radius2, step, position, velocity) = unsafe {
            (
                Input::new("h2", h2, ni)?,
                Input::new("dtr", dtr, ni)?,
                Input::new("xi", xi, ni)?,
                Input::new("vi", vi, ni)?,
            )
        };
        let sink = |sink| Sink {
            index: 0,
            softening2: 0.0,
            radius2: radius2.get(sink),
            step: step.get(sink),
            derivatives: padded([position.get(sink), velocity.get(sink)]),
        };
        let take = |sink, [p, ax, ay, az, jx, jy, jz]: &[f64; 7]| {
            acceleration.set(sink, [*ax, *ay, *az]);
            jerk.set(sink, [*jx, *jy, *jz]);
            potential.set(sink, -p);
        };
        board().regular_forces(criterion?, ni, sink, take, |sink, neighbours| lists.take(sink, neighbours)).map(|()| 0)
    };
    let failed = || {
        [acceleration, jerk].iter().for_each(|output| output.fill([f64::NAN; 3]));
        potential.fill(f64::NAN);
        lists.fail(board().sent());
    };
    answer_or(function, body, FAILED, failed)
}

/// The bodies at whose places potentials are wanted.
pub enum Places {
    /// All of them.
    All,
    /// `ni` bodies from the one with number `istart` on, counted from 1.
    Some { istart: *const c_int, ni: *const c_int },
}

/// Computes the potentials at the places of some of `n` bodies.
///
/// # Safety
/// Each pointer is null or points to an array as the documentation of `gpupot` has it.
pub unsafe fn potentials(places: Places, n: *const c_int, m: *const f64, x: *const [f64; 3], pot: *mut f64) -> c_int {
    let function = "gpupot";
    // SAFETY: the caller's promise, also for the blocks below.
    let n = unsafe { count("n", n) };
    let (istart, ni) = match places {
        Places::All => (Ok(1), n.clone()),
        // SAFETY: the caller's promise.
        Places::Some { istart, ni } => unsafe { (scalar("istart", istart), count("ni", ni)) },
    };
    let Ok(ni @ 1..) = ni else { return answer(function, || Ok(ni.map(|_| 0)?), FAILED) };
    // SAFETY: the caller's promise.
    let potential = unsafe { Output::new("pot", pot, ni) };
    let body = || {
        let n = n?;
        let first = first_place(istart?, ni, n)?;
        // SAFETY: the caller's promise.
        let (masses, positions) = unsafe { (Input::new("m", m, n)?, Input::new("x", x, n)?) };
        potential.require()?;
        let bodies = Bodies { masses, positions, velocities: None };
        board().potentials(&bodies, first..first + ni, |sink, value| potential.set(sink, -value)).map(|()| 0)
    };
    answer_or(function, body, FAILED, || potential.fill(f64::NAN))
}

/// Returns the row of the first of `ni` bodies among `n`.
fn first_place(istart: c_int, ni: usize, n: usize) -> Result<usize> {
    let bad = |what, value, allowed| Err(Error::BadCount { what, value, allowed });
    match usize::try_from(istart) {
        _ if ni > n => bad("ni", ni as i64, format!("0 to {n}, the number of bodies")),
        Ok(istart) if (1..=n - ni + 1).contains(&istart) => Ok(istart - 1),
        _ => bad("istart", i64::from(istart), format!("1 to {}", n - ni + 1)),
    }
}
