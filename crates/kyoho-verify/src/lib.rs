//! The promises that every backend must keep in every order, precision, scope and instruction set,
//! as a suite of named checks.
//!
//! `cargo test` and `kyoho verify` run the same [`CHECKS`] for the same [`targets`]. A check
//! computes something with a [`System`](kyoho::System), compares it with [`crate::reference`], and
//! writes its findings to [`Findings`].

mod accuracy;
mod checks;
mod findings;
mod lists;
pub mod models;
pub mod reference;
mod target;
mod twin;

use std::panic::{AssertUnwindSafe, catch_unwind};

use kyoho_core::{Order, Precision, Result};
use kyoho_hal::Backend;

pub use accuracy::{Errors, Limits, Problem, Spread, measure, pair_problem, plummer_problem};
pub use checks::{CHECKS, shapes_without_a_block};
pub use findings::{Findings, Measured};
pub use lists::{PlainBatch, PlainLists, PlainSources, hand_over_sinks};
pub use target::{Selection, Target, targets};
pub use twin::{Model, Twin};

/// One promise of the library, and its check.
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// The promise.
    pub promise: &'static str,
    /// The ability that the check needs of the target.
    pub needs: Needs,
    /// Computes, compares and notes. An error of the library is a failure.
    pub run: fn(&Target, &mut Findings) -> Result<()>,
}

/// The ability that a check needs of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing. The check applies to every target.
    Nothing,
    /// The target finds nearest neighbours.
    Nearest,
    /// The target makes neighbour lists.
    Lists,
    /// The target leaves neighbours out of forces.
    Regular,
    /// The target takes interaction lists: full forces, but for numbers of two doubles.
    Full,
    /// The target is one GPU, which can make the block steps of integrators.
    BlockSteps,
    /// The target takes sources with softenings.
    Softenings,
    /// The target computes in numbers of two doubles.
    Quad,
    /// The target computes so and makes neighbour lists.
    QuadLists,
    /// The target sums forces by trees.
    Trees,
    /// The target sums forces by trees in a way that no other one does.
    OwnTrees,
    /// The target sums forces by trees in a way of its own on a GPU.
    TreesOfGpu,
    /// The target is the one of its devices and instruction set for which work is checked that has
    /// precisions of its own: pair interactions that users write, and systems of few bodies.
    OwnPrecisions,
}

/// A check that was run on a target.
pub struct Outcome {
    /// The check.
    pub check: &'static Check,
    /// The findings of the check.
    pub findings: Findings,
}

impl Check {
    /// Whether the check applies to this target.
    pub fn applies_to(&self, target: &Target) -> bool {
        let interaction = target.interaction();
        match self.needs {
            Needs::Nothing => true,
            Needs::Nearest => interaction.nearest,
            Needs::Lists => interaction.has_lists(),
            Needs::Regular => interaction.is_regular(),
            Needs::Full => !interaction.is_regular() && !interaction.has_low_limbs(),
            Needs::BlockSteps => {
                // By PoCL several devices would take as long again.
                let is_gpu = match target.setup.backend {
                    Backend::Cpu => false,
                    Backend::Cuda => true,
                    Backend::OpenCl => target.setup.devices.len() == 1,
                };
                is_gpu && interaction.has_lists() && !interaction.is_regular() && !interaction.has_low_limbs()
            }
            Needs::Softenings => !interaction.is_regular(),
            Needs::Quad => interaction.has_low_limbs(),
            Needs::QuadLists => interaction.has_low_limbs() && interaction.has_lists(),
            Needs::Trees => target.has_trees(),
            Needs::OwnTrees => target.has_trees_of_its_own(),
            Needs::TreesOfGpu => target.has_trees_of_its_own() && target.setup.backend != Backend::Cpu,
            Needs::OwnPrecisions => interaction.order == Order::Second && target.setup.precision == Precision::Double,
        }
    }

    /// Runs the check.
    pub fn outcome(&'static self, target: &Target) -> Outcome {
        let mut findings = Findings::default();
        match catch_unwind(AssertUnwindSafe(|| (self.run)(target, &mut findings))) {
            Ok(Ok(())) => (),
            Ok(Err(error)) => findings.fail(format!("no error was expected; got: {error}")),
            Err(_) => findings.fail("no panic was expected; got one".into()),
        }
        Outcome { check: self, findings }
    }
}

/// Runs every check that applies to a target and has these words in its name.
pub fn run(target: &Target, words: &str) -> Vec<Outcome> {
    let checks = CHECKS.iter().filter(|check| check.applies_to(target) && check.name.contains(words));
    checks.map(|check| check.outcome(target)).collect()
}
