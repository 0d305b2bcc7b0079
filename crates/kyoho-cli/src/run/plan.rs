//! The parameters of an integration. Every snapshot has them, so that a resumed run goes on as it
//! would have.

use crate::run::hermite::power_of_two;
use crate::run::options::SHORTEST;
use kyoho::data::error::shown;
use kyoho::data::{Order, Precision, TreeAccuracy};

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
    /// The accuracy parameter of the time steps. Its meaning depends on the order.
    pub eta: f64,
    /// The accuracy parameter of the fourth-order criterion if it is averaged with that of a higher
    /// order.
    pub eta4: f64,
    /// The shared step of the leapfrog. It is zero in a Hermite run.
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
    /// Whether the criterion of the time steps is averaged with that of fourth order. It is if
    /// forces are less precise than double, because their highest derivatives are noise.
    pub fn averages(&self) -> bool {
        self.order == Order::Sixth && self.precision < Precision::Double
    }

    /// Returns the options `--accuracy` and `--theta` of the tree, of which 0 stands for none.
    pub fn tree_options(&self) -> [f64; 2] {
        match self.tree {
            None => [0.0; 2],
            Some(TreeAccuracy::Error(error)) => [error, 0.0],
            Some(TreeAccuracy::Theta(theta)) => [0.0, theta],
        }
    }

    /// Describes the tree in words, if there is one.
    pub fn tree_name(&self) -> Option<String> {
        self.tree.map(|tree| match tree {
            TreeAccuracy::Error(error) => format!("a tree of accuracy {}", shown(error)),
            TreeAccuracy::Theta(theta) => format!("a tree of theta {}", shown(theta)),
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
