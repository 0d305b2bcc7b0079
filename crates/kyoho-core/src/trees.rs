//! What callers ask of forces by a tree.

use super::error::shown;
use super::{Error, Result};

/// How accurate forces by a tree are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TreeAccuracy {
    /// The error of an acceleration, relative to it or to half of the sum of the sizes of all pulls,
    /// whichever is more: half of the sinks have at most this, and 99 of 100 at most five times as
    /// much.
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

/// A phase of forces by a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreePhase {
    /// Bodies are sorted.
    Sort,
    /// Cells are made, on CPUs in the same phase as bodies are sorted.
    Cells,
    /// The moments of cells are summed.
    Moments,
    /// A coarse walk finds how large accelerations are.
    FirstPass,
    /// Pairs of cells are tested; on CPUs, and without a stack, they are summed too.
    Walk,
    /// Accepted expansions are added.
    Expansions,
    /// Pairs of bodies are summed.
    NearSums,
}

impl TreePhase {
    /// All, in their order.
    pub const ALL: [TreePhase; 7] = [
        TreePhase::Sort,
        TreePhase::Cells,
        TreePhase::Moments,
        TreePhase::FirstPass,
        TreePhase::Walk,
        TreePhase::Expansions,
        TreePhase::NearSums,
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            TreePhase::Sort => "sort",
            TreePhase::Cells => "cells",
            TreePhase::Moments => "moments",
            TreePhase::FirstPass => "first pass",
            TreePhase::Walk => "walk",
            TreePhase::Expansions => "expansions",
            TreePhase::NearSums => "near sums",
        }
    }
}

/// The seconds and the interactions of forces by a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TreeProfile {
    /// The seconds of each phase.
    pub seconds: [f64; TreePhase::ALL.len()],
    /// The pairs of a sink and a source that were summed.
    pub near: u64,
    /// The pairs of a sink and an expansion, or a cell as a point, that acts on it. A walk without a
    /// stack counts bodies here too.
    pub far: u64,
}

impl TreeProfile {
    /// Adds another.
    pub fn add(&mut self, other: &TreeProfile) {
        self.seconds.iter_mut().zip(other.seconds).for_each(|(sum, seconds)| *sum += seconds);
        self.near += other.near;
        self.far += other.far;
    }

    /// Returns the seconds of a phase.
    pub fn seconds_of(&self, phase: TreePhase) -> f64 {
        self.seconds[phase as usize]
    }
}

/// What a block asks of a tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreeBlock {
    /// The accuracy.
    pub accuracy: TreeAccuracy,
    /// The squared softening of all sinks; 0 where sources have softenings, and sinks their own.
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
