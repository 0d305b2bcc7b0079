//! The one board of a process, which has a system for regular forces and one for potentials.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use crate::abi::arrays::Input;
use crate::abi::diagnostics::{Failure, Outcome};
use crate::abi::opening::{self, Interface, Opened};
use kyoho_core::{Error, NeighbourCriterion, Order, Precision, Result, Scope, Sink, Source, padded};

const REGULAR: Interface = Interface {
    name: "gpunb",
    order: Order::Fourth,
    scope: Scope::Regular,
    precision: Precision::Mixed,
    opener: "gpunb_open",
    with_others: NEVER,
};

const POTENTIALS: Interface =
    Interface { name: "gpupot", order: Order::Second, scope: Scope::Full, opener: "gpupot", ..REGULAR };

/// The complaint about other devices. It never appears, because no function of the interfaces names
/// devices.
const NEVER: &str = "with other devices than those that are open";

/// The bodies of a caller, which are the sources of a force.
pub struct Bodies {
    /// Their masses.
    pub masses: Input<f64>,
    /// Their positions, as many as there are masses.
    pub positions: Input<[f64; 3]>,
    /// Their velocities, as many as there are masses, if the force needs them.
    pub velocities: Option<Input<[f64; 3]>>,
}

impl Bodies {
    /// The number of bodies.
    pub fn count(&self) -> usize {
        self.masses.count()
    }

    /// Returns the source at an address. It is the body of the row with this number, which is also
    /// its index.
    fn source(&self, address: usize) -> Source {
        let velocity = self.velocities.map_or([0.0; 3], |velocities| velocities.get(address));
        let coefficients = padded([self.positions.get(address), velocity]);
        Source { index: address as i32, mass: self.masses.get(address), time: 0.0, coefficients }
    }
}

/// The outcome of the last `gpunb_send`.
#[derive(Debug, Clone, Copy)]
enum Sent {
    Nothing,
    /// This many sources were sent, but one was refused, so that none can be used.
    Refused(usize),
    /// This many sources were sent.
    All(usize),
}

/// The systems behind the interfaces, and the state of the sources for regular forces.
pub struct Board {
    regular: Opened,
    potentials: Opened,
    sent: Sent,
}

static BOARD: Mutex<Board> = Mutex::new(Board::new());

/// Locks the board of the process for one call.
pub fn board() -> MutexGuard<'static, Board> {
    BOARD.lock().unwrap_or_else(|panicked| {
        BOARD.clear_poison();
        let mut board = panicked.into_inner();
        board.regular.poison();
        board.potentials.poison();
        board
    })
}

impl Board {
    const fn new() -> Board {
        Board { regular: Opened::new(REGULAR), potentials: Opened::new(POTENTIALS), sent: Sent::Nothing }
    }

    /// Opens the system for regular forces if it is not open yet.
    pub fn open(&mut self, function: &'static str) -> Outcome<()> {
        if self.regular.is_in_forked_child() || self.regular.is_poisoned() {
            *self = Board::new();
        }
        self.regular.open(function, None)
    }

    /// Forgets all sources and gives the devices back.
    pub fn close(&mut self) {
        for (interface, opened) in [(REGULAR, &mut self.regular), (POTENTIALS, &mut self.potentials)] {
            if let Some(system) = opened.if_open() {
                opening::closed(interface.name, system);
            }
        }
        *self = Board::new();
    }

    /// Replaces the sources of regular forces. If one is refused, none can be used until others are
    /// sent.
    pub fn send(&mut self, bodies: Result<Bodies>) -> Outcome<()> {
        self.sent = Sent::Refused(bodies.as_ref().map_or(0, Bodies::count));
        let (bodies, system) = (bodies?, self.regular.system()?);
        // The old neighbour lists, which nobody reads again, would keep a copy of the old sources.
        system.forget_block();
        system.set_unpredicted();
        for address in 0..bodies.count() {
            system.set_source(address, &bodies.source(address))?;
        }
        system.keep_sources_below(bodies.count())?;
        self.sent = Sent::All(bodies.count());
        Ok(())
    }

    /// The number of sources that were last sent, refused or not.
    pub fn sent(&self) -> usize {
        match self.sent {
            Sent::Nothing => 0,
            Sent::Refused(count) | Sent::All(count) => count,
        }
    }

    /// Computes the regular forces on `ni` sinks. `take` gets the number of each sink with its
    /// potential, acceleration and jerk. After that `list` gets the number of each sink with the
    /// addresses of its regular neighbours, which ascend.
    pub fn regular_forces(
        &mut self,
        criterion: NeighbourCriterion,
        ni: usize,
        sink: impl Fn(usize) -> Sink + Sync,
        mut take: impl FnMut(usize, &[f64; 7]),
        mut list: impl FnMut(usize, &[i32]),
    ) -> Outcome<()> {
        let system = self.regular.system()?;
        let nj = match self.sent {
            Sent::Nothing => {
                return Err(Error::CallOrder { call: "gpunb_regf", when: "before gpunb_send sent sources" }.into());
            }
            Sent::Refused(_) => return Err(Failure::Refused("a source of gpunb_send".into())),
            Sent::All(count) => count,
        };
        system.abandon();
        system.set_neighbour_criterion(criterion);
        system.start_from_fn(nj, false, ni, sink)?;
        system.wait_each(|first, forces| {
            forces.rows().enumerate().for_each(|(number, summed)| take(first + number, summed));
        })?;
        for sink in 0..ni {
            list(sink, system.neighbours(sink)?);
        }
        Ok(())
    }

    /// Computes the potentials of all bodies at the places of some of them. `take` gets each
    /// potential with the number of the body among these.
    pub fn potentials(
        &mut self,
        bodies: &Bodies,
        sinks: Range<usize>,
        mut take: impl FnMut(usize, f64),
    ) -> Outcome<()> {
        // Each call sends all sources, so that a fork can open a system of its own unasked.
        if self.potentials.is_in_forked_child() {
            self.potentials = Opened::new(POTENTIALS);
        }
        let system = self.potentials.system()?;
        system.abandon();
        for address in 0..bodies.count() {
            system.set_source(address, &bodies.source(address))?;
        }
        system.keep_sources_below(bodies.count())?;
        let sink = |number| {
            let position = bodies.positions.get(sinks.start + number);
            Sink { index: 0, softening2: 0.0, radius2: 0.0, step: 0.0, derivatives: padded([position]) }
        };
        system.start_from_fn(bodies.count(), false, sinks.len(), sink)?;
        system.wait_each(|first, forces| {
            (0..forces.len()).for_each(|number| take(first + number, forces.potential(number)));
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::abi::nbody6::gpu2::*;
    use crate::abi::panicking::{At, Told};

    use super::*;

    fn potential(board: &mut Board, masses: &[f64], positions: &[[f64; 3]]) -> f64 {
        // SAFETY: the arrays have as many rows.
        let (masses, positions) = unsafe {
            let positions = Input::new("x", positions.as_ptr(), positions.len()).unwrap();
            (Input::new("m", masses.as_ptr(), masses.len()).unwrap(), positions)
        };
        let mut found = f64::NAN;
        let bodies = Bodies { masses, positions, velocities: None };
        board.potentials(&bodies, 0..1, |_, potential| found = potential).unwrap();
        found
    }

    #[test]
    fn bodies_of_an_earlier_call_have_no_part_in_a_later_one() {
        let (masses, positions) = ([1e-30, 3e-30], [[0.0, 1e-25, 0.0], [3e-25, 0.0, 7e-26]]);
        let mut far = Board::new();
        assert!(potential(&mut far, &[1e38; 40], &[[1e25, 0.0, 3e24]; 40]) <= 0.0);
        let found = potential(&mut far, &masses, &positions);
        assert_eq!(found, potential(&mut Board::new(), &masses, &positions));
    }

    #[test]
    fn a_board_on_which_a_call_panicked_fails_until_it_is_opened_again() {
        let (mut count, mut m, mut x, mut v) = (1, [2.0], [[0.0; 3]], [[0.0; 3]]);
        // SAFETY: the arrays have a row.
        let mut send =
            || unsafe { kyoho_nbody6_gpunb_send_(&raw mut count, m.as_mut_ptr(), x.as_mut_ptr(), v.as_mut_ptr()) };
        let force = || {
            let (mut ni, mut zero, mut far, mut step) = (1, [[0.0; 3]], [[1.0, 0.0, 0.0]], [0.1]);
            let (mut acc, mut jerk, mut pot, mut list) = ([[0.0; 3]], [[0.0; 3]], [0.0], [0; 4]);
            let (mut row, mut most, mut h2) = (4, 3, [1e-9]);
            // SAFETY: the arrays have a row.
            let code = unsafe {
                kyoho_nbody6_gpunb_regf_(
                    &raw mut ni,
                    h2.as_mut_ptr(),
                    step.as_mut_ptr(),
                    far.as_mut_ptr(),
                    zero.as_mut_ptr(),
                    acc.as_mut_ptr(),
                    jerk.as_mut_ptr(),
                    pot.as_mut_ptr(),
                    &raw mut row,
                    &raw mut most,
                    list.as_mut_ptr(),
                )
            };
            (code, pot[0])
        };
        let told = Told::default();
        board().regular = Opened::with(REGULAR, told.system(Order::Fourth, Precision::Double, Scope::Regular));
        assert_eq!((send(), force()), (0, (0, 2.0)));
        told.panic_at(At::Wait);
        assert_ne!(force().0, 0);
        told.panic_at(At::Nowhere);
        let before = told.calls();
        assert_ne!((send(), force().0), (0, 0));
        assert_eq!((told.calls(), told.open()), (before, 1), "the device was left alone");
        // SAFETY: the pointer is to a number.
        unsafe { assert_eq!((kyoho_nbody6_gpunb_open_(&mut 10), told.open()), (0, 0)) };
        assert_eq!((send(), force()), (0, (0, 2.0)));
    }
}
