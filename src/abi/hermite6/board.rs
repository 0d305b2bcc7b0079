//! The one board of a process, which has a system of order 6 and the softenings of its sources.

use std::sync::LazyLock;

use crate::abi::diagnostics::{Failure, Outcome};
use crate::abi::opening::{Interface, Opened};
use crate::abi::refused::Refused;
use crate::config::DeviceChoice;
use kyoho_core::{Error, Nearest, Order, Precision, Result, Scope, Sink, Source};
use kyoho_engine::{QuadSource, System};
use kyoho_hal::lock::{Guard, Lock};
use kyoho_laws::double_double::DoubleDouble;

use super::groups::Groups;
use super::softenings::Softenings;

const INTERFACE: Interface = Interface {
    name: "hermite6",
    order: Order::Sixth,
    scope: Scope::Full,
    precision: Precision::Double,
    opener: "initialize",
    with_others: "with other devices than those that are open; ask for the same devices",
};

/// The sums of a system of order 6 for a sink: potential, acceleration, jerk, snap.
pub type Summed = [f64; 10];

/// The times of the sources of the next force.
#[derive(Debug, Clone, Copy)]
pub enum PredictionTarget {
    /// Each source stays at its own time, as it was written.
    AsWritten,
    /// All sources are predicted to this time.
    At(f64),
    /// The last target was refused, so that there is none.
    Refused,
}

impl PredictionTarget {
    /// Sets the target of a system.
    pub fn set(self, system: &mut System) -> Outcome<()> {
        match self {
            PredictionTarget::AsWritten => system.set_unpredicted(),
            PredictionTarget::At(time) => system.set_time(time)?,
            PredictionTarget::Refused => return Err(Failure::Refused("the time of the prediction".into())),
        }
        Ok(())
    }
}

/// The softening of the pairs of a force.
#[derive(Clone, Copy)]
pub enum Softening {
    /// The softening of the sink.
    OfSinks,
    /// The softening of the source. The softening of the sink is not used.
    OfSources,
}

/// A source as a caller gives it, none of whose derivatives is divided.
#[derive(Debug, Clone, Copy)]
pub struct GivenSource {
    /// Its name.
    pub index: i32,
    /// Its mass.
    pub mass: f64,
    /// The time of its state.
    pub time: f64,
    /// Position, velocity, acceleration, jerk, snap, crackle.
    pub derivatives: [[f64; 3]; 6],
}

impl GivenSource {
    /// Writes it at an address of a system, which divides its derivatives in its own numbers.
    pub fn write(&self, system: &mut System, address: usize) -> Result<()> {
        let GivenSource { index, mass, time, derivatives } = *self;
        if system.interaction().has_low_limbs() {
            let mass = DoubleDouble::from_limb(mass);
            return system.set_quad_source(address, &QuadSource::from_derivatives(index, mass, time, derivatives));
        }
        system.set_source(address, &Source::from_derivatives(index, mass, time, derivatives))
    }
}

/// A source as the next force would have it.
pub struct Predicted {
    /// Its name.
    pub index: i32,
    /// Its mass.
    pub mass: f64,
    /// Its squared softening length as it was written, usable or not.
    pub softening2: f64,
    /// Position, velocity, acceleration.
    pub derivatives: [[f64; 3]; 3],
}

/// The system behind the interfaces, and what went wrong with it.
pub struct Board {
    opened: Opened,
    refused: Refused,
    target: PredictionTarget,
    softenings: Softenings,
    groups: Groups,
}

/// The largest squared softening that forces can be computed with.
fn largest_softening2(system: &System) -> f64 {
    system.interaction().bounds.position.powi(2)
}

static BOARD: LazyLock<Lock<Board>> = LazyLock::new(|| Lock::new(Board::new()));

/// Locks the board of the process for one call.
pub fn board() -> Guard<'static, Board> {
    let mut board = BOARD.lock();
    if board.take_poison() {
        board.opened.poison();
    }
    board
}

impl Board {
    fn new() -> Board {
        Board {
            opened: Opened::new(INTERFACE),
            refused: Refused::new(),
            target: PredictionTarget::AsWritten,
            softenings: Softenings::default(),
            groups: Groups::default(),
        }
    }

    /// Opens the board if it is not open yet. `devices` overrules the environment.
    pub fn open(&mut self, function: &'static str, devices: Option<&DeviceChoice>) -> Outcome<()> {
        if self.opened.is_in_forked_child() {
            // The systems of the groups must not be dropped in a fork either.
            std::mem::forget(std::mem::replace(self, Board::new()));
        } else if self.opened.is_poisoned() {
            *self = Board::new();
        }
        self.opened.open(function, devices)
    }

    /// Writes a source and its squared softening. If the source is refused, every force that needs
    /// its address fails until it is written again. If only the softening is unusable, the forces
    /// that are softened by the sources fail.
    pub fn set_source(&mut self, address: usize, source: Result<GivenSource>, softening2: f64) -> Outcome<()> {
        let written = source.map_err(Failure::from).and_then(|source| self.write(address, &source, softening2));
        match written {
            Ok(()) => self.refused.accept(address..address + 1),
            Err(_) => self.refused.refuse(address..address + 1),
        }
        written
    }

    fn write(&mut self, address: usize, source: &GivenSource, softening2: f64) -> Outcome<()> {
        let system = self.opened.system()?;
        let usable = (0.0..=largest_softening2(system)).contains(&softening2);
        source.write(system, address)?;
        let before = self.softenings.set(address, softening2, usable)?;
        self.groups.write(address, source, before, softening2);
        Ok(())
    }

    /// Sets the times of the sources of the next forces. If the target is refused, every force
    /// fails until another is set.
    pub fn set_prediction_target(&mut self, target: Result<PredictionTarget>) -> Outcome<()> {
        self.target = PredictionTarget::Refused;
        let target = target?;
        target.set(self.opened.system()?)?;
        self.target = target;
        Ok(())
    }

    /// Returns the source at an address as the next force would have it.
    pub fn predicted(&mut self, address: usize) -> Outcome<Predicted> {
        self.opened.system()?;
        if self.refused.contains(address) {
            return Err(Failure::Refused(format!("the source at address {address}")));
        }
        let softening2 = self.softenings.get(address).unwrap_or(f64::NAN);
        let system = self.opened.system()?;
        self.target.set(system)?;
        let predicted = system.predicted([address])?.pop().flatten();
        match (system.sources([address])?.pop().flatten(), predicted) {
            (Some(source), Some([x, v, a, _])) => {
                Ok(Predicted { index: source.index, mass: source.mass, softening2, derivatives: [x, v, a] })
            }
            _ => {
                let allowed = "addresses that a source was written to".into();
                Err(Error::BadCount { what: "addr", value: address as i64, allowed }.into())
            }
        }
    }

    /// Computes the forces of the sources below `nj` on `ni` sinks. `take` gets each sink's number,
    /// sums and nearest source.
    pub fn force(
        &mut self,
        softening: Softening,
        nj: usize,
        ni: usize,
        sink: impl Fn(usize) -> Sink + Sync,
        mut take: impl FnMut(usize, &Summed, Option<Nearest>),
    ) -> Outcome<()> {
        self.require_sources(nj)?;
        let system = self.opened.system()?;
        match softening {
            Softening::OfSinks => {
                system.abandon();
                system.start_from_fn(nj, true, ni, sink)?;
                system.wait_each(|first, forces| {
                    for (number, summed) in forces.rows().enumerate() {
                        take(first + number, summed, forces.nearest(number));
                    }
                })?;
            }
            Softening::OfSources => {
                if let Some(address) = self.softenings.unusable_below(nj) {
                    return Err(Error::BadOption {
                        name: format!("eps2 of the source at address {address}"),
                        value: self.softenings.get(address).unwrap_or(f64::NAN).to_string(),
                        allowed: format!("0 to {:e}", largest_softening2(system)),
                    }
                    .into());
                }
                let sums = self.groups.sum(system, &self.softenings, self.target, nj, ni, sink)?;
                for (number, sum) in sums.iter().enumerate() {
                    take(number, &sum.values, Some(sum.nearest).filter(|nearest| nearest.distance2.is_finite()));
                }
            }
        }
        Ok(())
    }

    /// Returns an error unless the sources below `nj` and their times are known. It opens the
    /// board.
    fn require_sources(&mut self, nj: usize) -> Outcome<()> {
        self.target.set(self.opened.system()?)?;
        match self.refused.below(nj) {
            Some(address) => Err(Failure::Refused(format!("the source at address {address}"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::abi::hermite6::yebisu::*;
    use crate::abi::panicking::{At, Told};

    use super::*;

    #[test]
    fn a_board_on_which_a_call_panicked_fails_until_it_is_opened_again() {
        let mut sink = Predictor { pos: [1.0, 0.0, 0.0], vel: [0.0; 3], acc: [0.0; 3], mass: 0.0, id: 7.0, eps2: 0.0 };
        let mut found = Force { acc: [0.0; 3], jrk: [0.0; 3], snp: [0.0; 3], phi: 0.0, nnb_id: 0, nnb_r2: 0.0 };
        // SAFETY: the arrays have a row.
        let mut force =
            || unsafe { (kyoho_yebisu_calc_force_on_predictors(1, &raw mut sink, &raw mut found, 1), found.phi) };
        let write = || {
            let mut zero = [0.0; 3];
            let zero = zero.as_mut_ptr();
            // SAFETY: the arrays have a row.
            unsafe { kyoho_yebisu_set_jp_2(0, zero, zero, zero, zero, zero, zero, 2.0, 0.0, 1, 0.0) }
        };
        let told = Told::default();
        board().opened = Opened::with(INTERFACE, told.system(Order::Sixth, Precision::Double, Scope::Full));
        assert_eq!((write(), force()), (0, (0, 2.0)));
        told.panic_at(At::Wait);
        assert!(force().1.is_nan());
        told.panic_at(At::Nowhere);
        let before = told.calls();
        let (code, potential) = force();
        assert!(write() != 0 && code != 0 && potential.is_nan());
        assert_eq!((told.calls(), told.open()), (before, 1), "the device was left alone");
        // SAFETY: the call has no pointers.
        unsafe { assert_eq!((kyoho_yebisu_initialize(0), told.open()), (0, 0), "the device was given back") };
        assert_eq!((write(), force()), (0, (0, 2.0)));
    }
}
