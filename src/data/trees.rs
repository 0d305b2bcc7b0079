//! What callers ask of forces by a tree.

use super::error::shown;
use super::{Error, Result};

/// How accurate forces by a tree are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TreeAccuracy {
    /// The relative error of an acceleration: half of the sinks have at most this, and 99 of 100 at
    /// most five times as much.
    Error(f64),
    /// The opening angle: an expansion stands for the sources of a cell of side `l` whose centre is
    /// the distance `s` from its middle where its distance from the sinks is at least `l / theta +
    /// s`.
    Theta(f64),
    /// A walk without a stack for each sink, in which a cell of side `l` whose centre of mass is the
    /// distance `d` away counts as a point where `l < theta d`. It is a reference for tests and
    /// measurements, which no interface for callers offers.
    Stackless {
        /// The opening angle.
        theta: f64,
        /// The order in which threads take the sinks.
        sinks: SinkOrder,
    },
}

/// The order in which threads take sinks, which changes no force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SinkOrder {
    /// That of the caller.
    Given,
    /// Morton order, in which sinks that follow one another are near each other.
    Morton,
}

/// What a block asks of a tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreeBlock {
    /// The accuracy.
    pub accuracy: TreeAccuracy,
    /// The squared softening of all sinks.
    pub softening2: f64,
    /// Whether the sinks are the sources in their order, with their indices if these say which
    /// sources are left out; where it is not known, devices compare them.
    pub are_sources: Option<bool>,
}

impl TreeAccuracy {
    /// The least and the largest error that can be asked for.
    pub const ERRORS: [f64; 2] = [1e-6, 1e-2];
    /// The least and the largest opening angle.
    pub const THETAS: [f64; 2] = [0.1, 1.5];

    /// Returns what an error and an opening angle ask for, of which 0 stands for none; `None` if
    /// both are 0. Their names are those of the caller.
    pub fn of(error: (&str, f64), theta: (&str, f64)) -> Result<Option<TreeAccuracy>> {
        let within = |(name, value): (&str, f64), [lowest, highest]: [f64; 2]| {
            if (lowest..=highest).contains(&value) {
                return Ok(value);
            }
            let allowed = format!("0 for direct sums, or {} to {}", shown(lowest), shown(highest));
            Err(Error::BadOption { name: name.into(), value: shown(value), allowed })
        };
        match (error.1, theta.1) {
            (0.0, 0.0) => Ok(None),
            (_, 0.0) => Ok(Some(TreeAccuracy::Error(within(error, TreeAccuracy::ERRORS)?))),
            (0.0, _) => Ok(Some(TreeAccuracy::Theta(within(theta, TreeAccuracy::THETAS)?))),
            _ => Err(Error::BadOption {
                name: theta.0.into(),
                value: shown(theta.1),
                allowed: format!("0 where {} is given too", error.0),
            }),
        }
    }
}
