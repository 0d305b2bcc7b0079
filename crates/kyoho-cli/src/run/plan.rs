//! What rules an integration: kept in every snapshot, so that a resumed run goes on as it would have.

use crate::run::hermite::power_of_two;
use crate::run::options::SHORTEST;
use kyoho::data::{Order, Precision};

/// What rules an integration.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// 4, 6, 8: Hermite with block steps; 2: leapfrog with a shared step.
    pub order: Order,
    /// The precision of the forces.
    pub precision: Precision,
    /// The gravitational constant, in the units of the bodies.
    pub gravity: f64,
    /// The softening length.
    pub softening: f64,
    /// The accuracy parameter of the time steps; what it means depends on the order.
    pub eta: f64,
    /// That of the fourth-order criterion where a higher one is averaged with it.
    pub eta4: f64,
    /// The shared step of the leapfrog; zero in a Hermite run.
    pub step: f64,
    /// The longest individual step.
    pub longest: f64,
    /// The shortest individual step.
    pub shortest: f64,
    /// All bodies meet whenever this much time has passed: energies and snapshots are taken then.
    pub interval: f64,
}

impl Plan {
    /// Whether the criterion of the time steps is averaged with that of fourth order: the highest derivatives that
    /// forces of less than 64 bits leave are noise.
    pub fn averages(&self) -> bool {
        self.order == Order::Sixth && self.precision < Precision::Double
    }
    /// The step, as a fraction of the interval, of a body that wants this one: a power of two, up
    /// to one.
    pub fn fraction(&self, wanted: f64) -> f64 {
        power_of_two(wanted / self.interval).clamp(SHORTEST, 1.0)
    }
}
