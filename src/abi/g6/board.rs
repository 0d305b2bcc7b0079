//! The one logical board of a process. The number that a call carries has no effect.

use std::ffi::c_int;

use crate::abi::arrays::Output;
use crate::abi::diagnostics::{Failure, Outcome};
use crate::abi::opening::{self, Interface, Opened};
use crate::abi::refused::Refused;
use crate::config::{DeviceChoice, Settings};
use kyoho_core::records::Numbers;
use kyoho_core::sinks::NumberedSinks;
use kyoho_core::{Error, Nearest, Order, Precision, Result, Scope, Source};
use kyoho_hal::lock::{Guard, Lock};

const INTERFACE: Interface = Interface {
    name: "g6",
    order: Order::Fourth,
    scope: Scope::Full,
    precision: Precision::Mixed,
    opener: "g6_open",
    with_others: "with other devices than those that are open; call g6_close first",
};

/// The state of the last force calculation.
enum Pending {
    Nothing,
    Started { sinks: usize },
    Failed,
    Ended,
}

/// The system behind the interface, and what went wrong with it.
pub struct Board {
    opened: Opened,
    refused: Refused,
    time_is_refused: bool,
    pending: Pending,
    softening2: f64,
    npipes: Option<usize>,
    /// Whether the environment gave no block size, and a line has reported the reason.
    npipes_failed: bool,
}

static BOARD: Lock<Board> = Lock::new(Board::new());

/// Locks the board of the process for one call.
#[inline]
pub fn board() -> Guard<'static, Board> {
    let mut board = BOARD.lock();
    if board.take_poison() {
        board.opened.poison();
    }
    board
}

/// The arrays that the end of a force calculation fills, one row for each sink.
#[derive(Clone, Copy)]
pub struct Results {
    /// Accelerations.
    pub acceleration: Output<[f64; 3]>,
    /// Jerks.
    pub jerk: Output<[f64; 3]>,
    /// Potentials.
    pub potential: Output<f64>,
    /// Indices of the nearest sources.
    pub nearest: Option<Output<c_int>>,
    /// Softened distances of the nearest sources.
    pub nearest_distance: Option<Output<f32>>,
}

impl Results {
    /// Fills all arrays with values that nobody can take for a force.
    pub fn fail(&self) {
        self.acceleration.fill([f64::NAN; 3]);
        self.jerk.fill([f64::NAN; 3]);
        self.potential.fill(f64::NAN);
        self.nearest.inspect(|nearest| nearest.fill(NO_NEIGHBOUR));
        self.nearest_distance.inspect(|distance| distance.fill(f32::NAN));
    }

    fn require(&self) -> Result<()> {
        self.acceleration.require()?;
        self.jerk.require()?;
        self.potential.require()?;
        self.nearest.map_or(Ok(()), |nearest| nearest.require())?;
        self.nearest_distance.map_or(Ok(()), |distance| distance.require())
    }
}

/// The block size if the environment is wrong. It fits into every caller's arrays.
pub const NPIPES_OF_BROKEN: usize = 1;

/// The index of the nearest neighbour where there is none. Clients take a negative one for broken
/// hardware.
const NO_NEIGHBOUR: c_int = 0;

impl Board {
    const fn new() -> Board {
        Board {
            opened: Opened::new(INTERFACE),
            refused: Refused::new(),
            time_is_refused: false,
            pending: Pending::Nothing,
            softening2: 0.0,
            npipes: None,
            npipes_failed: false,
        }
    }

    /// Opens the board if it is not open yet. `devices` overrules the environment.
    pub fn open(&mut self, function: &'static str, devices: Option<&DeviceChoice>) -> Outcome<()> {
        if self.opened.is_in_forked_child() || self.opened.is_poisoned() {
            *self = Board::new();
        }
        self.opened.open(function, devices)
    }

    /// Forgets all sources and gives the devices back.
    pub fn close(&mut self) {
        if let Some(system) = self.opened.if_open() {
            opening::closed("g6", system);
        }
        *self = Board::new();
    }

    /// Forgets the force calculation under way, or the neighbour lists of the last one. The sources stay.
    pub fn reset(&mut self) -> Outcome<()> {
        self.opened.check()?;
        self.pending = Pending::Nothing;
        if let Some(system) = self.opened.if_open() {
            system.abandon();
        }
        Ok(())
    }

    /// The largest number of sinks that callers should pass at once.
    pub fn npipes(&mut self) -> Outcome<usize> {
        if let Some(npipes) = self.npipes {
            return Ok(npipes);
        }
        // The environment is read again because it may have been corrected, but its error is
        // reported once.
        let is_reported = std::mem::replace(&mut self.npipes_failed, true);
        let failure = |error: Error| if is_reported { Failure::AlreadyReported } else { error.into() };
        let settings = Settings::from_environment().map_err(failure)?;
        self.npipes = Some(settings.npipes);
        Ok(settings.npipes)
    }

    /// Writes a source, given by its index and the bits of its numbers, if that can be done soon, and
    /// returns whether it was.
    #[inline(always)]
    pub fn record_numbers(&mut self, address: usize, index: i32, numbers: Numbers) -> bool {
        // A closure would get the numbers through memory.
        match self.opened.if_open() {
            Some(system) if self.refused.is_empty() => system.record_numbers(address, index, numbers),
            _ => false,
        }
    }

    /// Writes a source. If it is refused, every force that needs its address fails until it is
    /// written again.
    pub fn set_source(&mut self, address: usize, source: Result<&Source>) -> Outcome<()> {
        let written = match source {
            Ok(source) => self.opened.system().and_then(|system| Ok(system.set_source(address, source)?)),
            Err(error) => Err(error.into()),
        };
        match written {
            Ok(()) => self.refused.accept(address..address + 1),
            Err(_) => self.refused.refuse(address..address + 1),
        }
        written
    }

    /// Sets the time to which sources are predicted. If it is refused, every force fails until
    /// another is set.
    pub fn set_time(&mut self, time: Result<f64>) -> Outcome<()> {
        let set = time.map_err(Failure::from).and_then(|time| {
            self.opened.system()?.set_time(time)?;
            Ok(())
        });
        self.time_is_refused = set.is_err();
        set
    }

    /// Begins the force on `ni` sinks.
    pub fn begin(&mut self, nj: usize, softening2: f64, ni: usize, sinks: &impl NumberedSinks) -> Outcome<()> {
        self.reset()?;
        self.softening2 = softening2;
        self.pending = Pending::Failed;
        self.opened.system()?;
        if self.time_is_refused {
            return Err(Failure::Refused("the time".into()));
        }
        if let Some(address) = self.refused.below(nj) {
            return Err(Failure::Refused(format!("the source at address {address}")));
        }
        self.opened.system()?.start_numbered(nj, true, ni, sinks)?;
        self.pending = Pending::Started { sinks: ni };
        Ok(())
    }

    /// Notes that the force calculation of this call failed before the board began it.
    pub fn fail(&mut self) {
        self.pending = Pending::Failed;
        if let Some(system) = self.opened.if_open() {
            system.abandon();
        }
    }

    /// Ends the force calculation and writes the results of the first `ni` of its sinks.
    pub fn finish(&mut self, function: &'static str, ni: usize, results: &Results) -> Outcome<()> {
        self.opened.check()?;
        let sinks = match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Started { sinks } => sinks,
            Pending::Failed => return Err(Failure::AlreadyReported),
            Pending::Nothing | Pending::Ended => {
                return Err(Error::CallOrder { call: function, when: "without g6calc_firsthalf" }.into());
            }
        };
        if ni > sinks {
            let allowed = format!("0 to {sinks}, the sinks of g6calc_firsthalf");
            return Err(Error::BadCount { what: "ni", value: ni as i64, allowed }.into());
        }
        results.require()?;
        let softening2 = self.softening2;
        self.opened.system()?.wait_each(|first, forces| {
            let rows = || forces.rows::<7>();
            results.acceleration.set_from(first, rows().map(|[_, x, y, z, ..]| [*x, *y, *z]));
            results.jerk.set_from(first, rows().map(|[_, _, _, _, x, y, z]| [*x, *y, *z]));
            results.potential.set_from(first, rows().map(|[potential, ..]| *potential));
            let nearest = forces.nearest_sources().iter();
            if let Some(indices) = results.nearest {
                let index = |found: &Nearest| if found.distance2.is_finite() { found.index } else { NO_NEIGHBOUR };
                indices.set_from(first, nearest.clone().map(index));
            }
            if let Some(distances) = results.nearest_distance {
                distances.set_from(first, nearest.map(|found| (found.distance2 + softening2).sqrt() as f32));
            }
        })?;
        self.pending = Pending::Ended;
        Ok(())
    }

    /// Returns the neighbours of one sink of the last force calculation that was ended.
    pub fn neighbours(&mut self, sink: c_int) -> Outcome<&[i32]> {
        let negative = |_| Error::BadCount { what: "ipipe", value: i64::from(sink), allowed: "0 to ni - 1".into() };
        let sink = usize::try_from(sink).map_err(negative)?;
        Ok(self.opened.system()?.neighbours(sink)?)
    }

    /// Returns an error unless there are neighbour lists.
    pub fn require_lists(&self, function: &'static str) -> Outcome<()> {
        self.opened.check()?;
        match self.pending {
            Pending::Ended => Ok(()),
            _ if self.opened.is_broken() => Err(Failure::AlreadyReported),
            _ => Err(Error::CallOrder { call: function, when: "before a force calculation was ended" }.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use crate::abi::g6::functions::*;
    use crate::abi::panicking::{At, Told};

    use super::*;

    /// There is one board, so one test at a time.
    static ALONE: Mutex<()> = Mutex::new(());

    /// Fewer sinks may be fetched than were begun, however many devices share them.
    #[test]
    fn forces_on_the_first_sinks_are_those_of_all_on_any_number_of_devices() {
        const NI: usize = 80;
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let told = Told::default();
        for devices in 1..4 {
            let kind = (Order::Fourth, Precision::Double, Scope::Full);
            board().opened = Opened::with(INTERFACE, told.system_on(devices, kind));
            let (mut zero, mut v, mut jerk, mut h2) = ([0.0; 3], [[0.0; 3]; NI], [[0.0; 3]; NI], [0.0; NI]);
            let zero = zero.as_mut_ptr();
            let mut x: [[f64; 3]; NI] = std::array::from_fn(|sink| [1.0 + sink as f64, 0.0, 0.0]);
            let mut index: [c_int; NI] = std::array::from_fn(|sink| 7 + sink as c_int);
            // SAFETY: the arrays have three numbers.
            assert_eq!(unsafe { g6_set_j_particle(0, 0, 1, 0.0, 0.1, 2.0, zero, zero, zero, zero, zero) }, 0);
            for fetched in [5, NI, 0, 1, 79] {
                let (mut acc, mut pot, mut nn, mut rnn) = ([[7.5; 3]; NI], [7.5; NI], [-9; NI], [7.5f32; NI]);
                let (i, x, v, h2) = (index.as_mut_ptr(), x.as_mut_ptr(), v.as_mut_ptr(), h2.as_mut_ptr());
                let (a, j, p) = (acc.as_mut_ptr(), jerk.as_mut_ptr(), pot.as_mut_ptr());
                let (nearest, distance, ni) = (nn.as_mut_ptr(), rnn.as_mut_ptr(), fetched as c_int);
                // SAFETY: the arrays have as many rows.
                let codes = unsafe {
                    let first = g6calc_firsthalf(0, 1, NI as c_int, i, x, v, v, v, p, 0.0, h2);
                    [first, g6calc_lasthalf2p(0, 1, ni, i, x, v, 0.0, h2, a, j, p, nearest, distance)]
                };
                assert_eq!(codes, [0; 2], "{fetched} on {devices} devices");
                for sink in 0..NI {
                    let r = 1.0 + sink as f64;
                    let is_wanted = sink < fetched;
                    assert_eq!(pot[sink], if is_wanted { -2.0 / r } else { 7.5 }, "{fetched} on {devices} devices");
                    assert_eq!(nn[sink], if is_wanted { 1 } else { -9 });
                    assert_eq!(rnn[sink], if is_wanted { r as f32 } else { 7.5 });
                }
            }
        }
        board().close();
    }

    #[test]
    fn a_board_on_which_a_call_panicked_fails_until_it_is_opened_again() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut x, mut v, mut index, mut h2) = ([[1.0, 0.0, 0.0]], [[0.0; 3]], [7], [9.0]);
        let (mut acc, mut jerk, mut pot) = ([[0.0; 3]], [[0.0; 3]], [0.0]);
        let mut force = || {
            let (x, v, zero) = (x.as_mut_ptr(), v.as_mut_ptr(), [[0.0; 3]].as_mut_ptr());
            let (i, h2, out) = (index.as_mut_ptr(), h2.as_mut_ptr(), pot.as_mut_ptr());
            // SAFETY: the arrays have a row.
            let codes = unsafe {
                let first = g6calc_firsthalf(0, 1, 1, i, x, v, zero, zero, out, 0.0, h2);
                [first, g6calc_lasthalf(0, 1, 1, i, x, v, 0.0, h2, acc.as_mut_ptr(), jerk.as_mut_ptr(), out)]
            };
            (codes, pot[0])
        };
        let write = || {
            let mut zero = [0.0; 3];
            let zero = zero.as_mut_ptr();
            // SAFETY: the arrays have a row.
            unsafe { g6_set_j_particle(0, 0, 1, 0.0, 0.1, 2.0, zero, zero, zero, zero, zero) }
        };
        for (at, closes) in [(At::Start, false), (At::Wait, true)] {
            let told = Told::default();
            board().opened = Opened::with(INTERFACE, told.system(Order::Fourth, Precision::Double, Scope::Full));
            assert_eq!((write(), force()), (0, ([0; 2], -2.0)));
            told.panic_at(at);
            let (codes, potential) = force();
            assert!(codes[1] != 0 && potential.is_nan(), "{at:?}");
            told.panic_at(At::Nowhere);
            let before = told.calls();
            // SAFETY: the calls have no pointers.
            let refused = unsafe { [write(), g6_set_ti(0, 0.5), g6_reset(0), g6_read_neighbour_list(0)] };
            assert!(refused.iter().all(|code| *code != 0), "{refused:?}");
            let (codes, potential) = force();
            assert!(codes.iter().all(|code| *code != 0) && potential.is_nan(), "{codes:?}");
            assert!(matches!(board().set_time(Ok(0.5)), Err(Failure::Library(Error::Poisoned { .. }))));
            assert_eq!((told.calls(), told.open()), (before, 1), "the device was left alone");
            // SAFETY: the calls have no pointers.
            unsafe {
                assert!(!closes || g6_close(0) == 0);
                assert_eq!((g6_open(0), told.open()), (0, 0), "the device was given back");
            }
            assert_eq!((write(), force()), (0, ([0; 2], -2.0)));
        }
    }
}
