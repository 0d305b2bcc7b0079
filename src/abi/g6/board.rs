//! The one logical board of a process. The number that a call carries has no effect.

use std::ffi::c_int;

use crate::abi::arrays::Output;
use crate::abi::diagnostics::{Failure, Outcome};
use crate::abi::lock::{Guard, Lock};
use crate::abi::opening::{self, Interface, Opened};
use crate::abi::refused::Refused;
use crate::config::{DeviceChoice, Settings};
use crate::data::records::Numbers;
use crate::data::sinks::NumberedSinks;
use crate::data::{Error, Nearest, Order, Precision, Result, Scope, Source};

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
    BOARD.lock()
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
        if self.opened.is_in_forked_child() {
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

    /// Forgets the force calculation under way. The sources stay.
    pub fn reset(&mut self) {
        self.pending = Pending::Nothing;
        if let Some(system) = self.opened.if_open() {
            system.abandon();
        }
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
        self.reset();
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
            let wanted = forces.len().min(ni.saturating_sub(first));
            let rows = || forces.rows::<7>().take(wanted);
            results.acceleration.set_from(first, rows().map(|[_, x, y, z, ..]| [*x, *y, *z]));
            results.jerk.set_from(first, rows().map(|[_, _, _, _, x, y, z]| [*x, *y, *z]));
            results.potential.set_from(first, rows().map(|[potential, ..]| *potential));
            let nearest = forces.nearest_sources().iter().take(wanted);
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
        match self.pending {
            Pending::Ended => Ok(()),
            _ if self.opened.is_broken() => Err(Failure::AlreadyReported),
            _ => Err(Error::CallOrder { call: function, when: "before a force calculation was ended" }.into()),
        }
    }
}
