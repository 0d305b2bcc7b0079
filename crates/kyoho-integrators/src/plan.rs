//! The parameters of an integration. Every snapshot has them, so that a resumed run goes on as it
//! would have.

use kyoho_core::error::shown;
use kyoho_core::{Order, Precision, TreeAccuracy};

/// The shortest step as a fraction of the interval. Shorter ones could not be added to times
/// exactly.
pub const SHORTEST: f64 = 1.0 / (1u64 << 50) as f64;

/// The shortest interval. Of steps in a shorter one the highest powers of a scheme would be zero.
pub const SHORTEST_INTERVAL: f64 = 1e-30;

/// The criterion of the length of steps in orders 6 and 8. Other orders have one criterion.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StepCriterion {
    /// The average in order 6 if forces are less precise than double, because their highest
    /// derivatives are noise, and otherwise that of the order.
    #[default]
    Usual = 0,
    /// That of the order (Nitadori & Makino 2008, New Astronomy 13, 498).
    Order = 1,
    /// The average of that of the order and that of order 4 (Aarseth 1985, in Multiple Time Scales,
    /// Academic Press, 377), of the derivatives that order 4 would find.
    Average = 2,
}

impl StepCriterion {
    /// All criteria.
    pub const ALL: [StepCriterion; 3] = [StepCriterion::Usual, StepCriterion::Order, StepCriterion::Average];

    /// Returns the name, which is the same in every interface.
    pub fn name(self) -> &'static str {
        match self {
            StepCriterion::Usual => "usual",
            StepCriterion::Order => "order",
            StepCriterion::Average => "average",
        }
    }

    /// Returns the criterion of this name.
    pub fn from_name(name: &str) -> Option<StepCriterion> {
        StepCriterion::ALL.into_iter().find(|criterion| criterion.name() == name)
    }

    /// Returns the criterion with this number.
    pub fn from_number(number: i32) -> Option<StepCriterion> {
        StepCriterion::ALL.into_iter().find(|criterion| *criterion as i32 == number)
    }

    /// Whether it is the average with that of order 4, of forces of an order and a precision.
    pub fn averages(self, order: Order, precision: Precision) -> bool {
        match self {
            StepCriterion::Usual => order == Order::Sixth && precision < Precision::Double,
            StepCriterion::Order => false,
            StepCriterion::Average => order > Order::Fourth,
        }
    }

    /// Whether the integrator of an order can have it.
    pub fn suits(self, order: Order) -> bool {
        self != StepCriterion::Average || order > Order::Fourth
    }
}

/// The usual accuracy parameter of the fourth-order criterion if it is averaged with that of a
/// higher order.
pub const ETA4: f64 = 0.01;

/// Returns the usual accuracy parameter of an order, whose criterion may be averaged with that of
/// order 4. In order 4 the criterion takes its square root. `docs/accuracy.md` has the errors and the
/// numbers of steps from which these were chosen.
pub fn usual_eta(order: Order, averages: bool) -> f64 {
    match order {
        Order::Second | Order::Fourth => 0.02,
        Order::Sixth if !averages => 0.2,
        Order::Sixth | Order::Eighth => 0.3,
    }
}

/// Returns how often `part` goes into `all` if that is a whole number up to rounding.
pub fn whole(all: f64, part: f64) -> Option<u64> {
    let count = (all / part).round();
    let fits = (1.0..=1e12).contains(&count) && (count * part / all - 1.0).abs() < 1e-9;
    fits.then_some(count as u64)
}

/// Returns the largest power of two that is not above a positive number.
#[inline]
pub fn power_of_two(number: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    f64::from_bits(number.to_bits() & EXPONENT)
}

/// The parameters of an integration.
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
    /// The criterion of the time steps.
    pub criterion: StepCriterion,
    /// The accuracy parameter of the time steps. Its meaning depends on the order.
    pub eta: f64,
    /// The accuracy parameter of the fourth-order criterion if it is averaged with that of a higher
    /// order.
    pub eta4: f64,
    /// The shared step of the leapfrog; it is shortened where an interval is no whole number of
    /// steps. It is zero in a Hermite run.
    pub step: f64,
    /// The longest individual step.
    pub longest: f64,
    /// The shortest individual step.
    pub shortest: f64,
    /// The time between two meetings of all bodies, at which energies and snapshots are taken.
    pub interval: f64,
    /// The accuracy of forces by a tree, if the leapfrog has them.
    pub tree: Option<TreeAccuracy>,
}

impl Plan {
    /// Whether the criterion of the time steps is averaged with that of fourth order.
    pub fn averages(&self) -> bool {
        self.criterion.averages(self.order, self.precision)
    }

    /// Returns the options `--accuracy` and `--theta` of the tree, of which 0 stands for none.
    pub fn tree_options(&self) -> [f64; 2] {
        match self.tree {
            None | Some(TreeAccuracy::Stackless { .. }) => [0.0; 2],
            Some(TreeAccuracy::Error(error)) => [error, 0.0],
            Some(TreeAccuracy::Theta(theta)) => [0.0, theta],
        }
    }

    /// Describes the tree in words, if there is one.
    pub fn tree_name(&self) -> Option<String> {
        self.tree.map(|tree| match tree {
            TreeAccuracy::Error(error) => format!("a tree of accuracy {}", shown(error)),
            TreeAccuracy::Theta(theta) => format!("a tree of theta {}", shown(theta)),
            TreeAccuracy::Stackless { theta, .. } => format!("a stackless walk of theta {}", shown(theta)),
        })
    }

    /// Whether a wanted step is shorter than the shortest.
    pub fn is_limited(&self, wanted: f64) -> bool {
        wanted < self.shortest
    }

    /// Returns a wanted step within the limits.
    pub fn allowed(&self, wanted: f64) -> f64 {
        wanted.clamp(self.shortest, self.longest)
    }

    /// Returns the step for a body that wants this one, as a fraction of the interval. It is a
    /// power of two, up to one.
    pub fn fraction(&self, wanted: f64) -> f64 {
        power_of_two(wanted / self.interval).clamp(SHORTEST, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_are_no_binary_fractions_count_as_whole() {
        assert_eq!(whole(1.0, 0.1), Some(10));
        assert_eq!(whole(0.3, 0.1), Some(3));
        assert_eq!(whole(1.0, 0.3), None);
        assert_eq!(whole(0.1, 0.3), None);
    }
}
