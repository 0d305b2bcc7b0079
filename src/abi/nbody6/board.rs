//! The one board of a process: a system for regular forces, and one for potentials.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::arrays::Input;
use crate::abi::opening::{self, Interface, Opened};
use crate::abi::speech::{Failure, Outcome};
use crate::data::{Error, NeighbourCriterion, Order, Precision, Result, Scope, Sink, Source, padded};

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

/// No function of the interfaces names devices.
const NEVER: &str = "with other devices than those that are open";

/// Bodies as callers give them: the sources of a force.
pub struct Bodies {
    /// Their masses.
    pub masses: Input<f64>,
    /// Their positions, as many.
    pub positions: Input<[f64; 3]>,
    /// Their velocities, as many, if the force needs them.
    pub velocities: Option<Input<[f64; 3]>>,
}

impl Bodies {
    /// How many they are.
    pub fn count(&self) -> usize {
        self.masses.count()
    }

    /// The source at an address: the body of this row, whose index is the address.
    fn source(&self, address: usize) -> Source {
        let velocity = self.velocities.map_or([0.0; 3], |velocities| velocities.get(address));
        let coefficients = padded([self.positions.get(address), velocity]);
        Source { index: address as i32, mass: self.masses.get(address), time: 0.0, coefficients }
    }
}

/// What the last `gpunb_send` sent.
#[derive(Debug, Clone, Copy)]
enum Sent {
    Nothing,
    /// So many sources, of which something was refused: none can be used.
    Refused(usize),
    /// So many sources.
    All(usize),
}

/// The systems behind the interfaces, and what was sent to the first.
pub struct Board {
    regular: Opened,
    potentials: Opened,
    sent: Sent,
}

static BOARD: Mutex<Board> = Mutex::new(Board::new());

/// The process's board, for one call.
pub fn board() -> MutexGuard<'static, Board> {
    BOARD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Board {
    const fn new() -> Board {
        Board { regular: Opened::new(REGULAR), potentials: Opened::new(POTENTIALS), sent: Sent::Nothing }
    }

    /// Opens the system for regular forces, if it is not open yet.
    pub fn open(&mut self, function: &'static str) -> Outcome<()> {
        if self.regular.is_in_forked_child() {
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

    /// Replaces the sources of regular forces. If one is refused all are, until others are sent.
    pub fn send(&mut self, bodies: Result<Bodies>) -> Outcome<()> {
        self.sent = Sent::Refused(bodies.as_ref().map_or(0, Bodies::count));
        let (bodies, system) = (bodies?, self.regular.system()?);
        // Lists that nobody reads again would keep the sources that they are of.
        system.forget_block();
        system.set_unpredicted();
        for address in 0..bodies.count() {
            system.set_source(address, &bodies.source(address))?;
        }
        self.sent = Sent::All(bodies.count());
        Ok(())
    }

    /// How many sources were last sent, refused or not.
    pub fn sent(&self) -> usize {
        match self.sent {
            Sent::Nothing => 0,
            Sent::Refused(count) | Sent::All(count) => count,
        }
    }

    /// The regular forces on `ni` sinks. `take` gets the number of each with potential, acceleration and jerk; after
    /// that `list` gets each with the addresses of its neighbours, which ascend.
    pub fn regular_forces(
        &mut self,
        neighbour_criterion: NeighbourCriterion,
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
        system.set_neighbour_criterion(neighbour_criterion);
        system.start_from_fn(nj, false, ni, sink)?;
        system.wait_each(|first, forces| {
            forces.rows().enumerate().for_each(|(number, summed)| take(first + number, summed));
        })?;
        for sink in 0..ni {
            list(sink, system.neighbours(sink)?);
        }
        Ok(())
    }

    /// The potentials of all bodies at the places of some of them; `take` gets each with its number among these.
    pub fn potentials(
        &mut self,
        bodies: &Bodies,
        sinks: Range<usize>,
        mut take: impl FnMut(usize, f64),
    ) -> Outcome<()> {
        // All sources are sent with each call: a fork has nothing to lose.
        if self.potentials.is_in_forked_child() {
            self.potentials = Opened::new(POTENTIALS);
        }
        let system = self.potentials.system()?;
        system.abandon();
        for address in 0..bodies.count() {
            system.set_source(address, &bodies.source(address))?;
        }
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
