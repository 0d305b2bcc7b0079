//! What every backend must do in every order, precision, scope and instruction set, as a suite of named checks.
//!
//! `cargo test` and `kyoho verify` run the same [`CHECKS`] for the same [`targets`]. A check computes something with a
//! [`System`](kyoho::System), compares it with [`crate::reference`], and notes what it found in [`Findings`].

mod accuracy;
mod checks;
mod findings;
pub mod models;
pub mod reference;
mod target;
mod twin;

use std::panic::{AssertUnwindSafe, catch_unwind};

use kyoho::data::Result;

pub use accuracy::{Errors, Limits, Problem, Spread, measure, pair_problem, plummer_problem};
pub use checks::CHECKS;
pub use findings::{Findings, Measured};
pub use target::{Selection, Target, targets};
pub use twin::{Model, Twin};

/// One promise of the library and how it is checked.
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// What is promised.
    pub promise: &'static str,
    /// What it needs of the target.
    pub needs: Needs,
    /// Computes, compares and notes; an error of the library is a failure.
    pub run: fn(&Target, &mut Findings) -> Result<()>,
}

/// What a check needs of a target to say something of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: it is for every target.
    Nothing,
    /// That it finds nearest neighbours.
    Nearest,
    /// That neighbour lists can be had of it.
    Lists,
    /// That it leaves neighbours out of forces.
    Regular,
}

/// A check that was run on a target.
pub struct Outcome {
    /// The check.
    pub check: &'static Check,
    /// What was found.
    pub findings: Findings,
}

impl Check {
    /// Whether the check says something of this target.
    pub fn applies_to(&self, target: &Target) -> bool {
        let interaction = target.interaction();
        match self.needs {
            Needs::Nothing => true,
            Needs::Nearest => interaction.nearest,
            Needs::Lists => interaction.has_lists(),
            Needs::Regular => interaction.is_regular(),
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

/// Runs every check that applies to a target.
pub fn run(target: &Target) -> Vec<Outcome> {
    CHECKS.iter().filter(|check| check.applies_to(target)).map(|check| check.outcome(target)).collect()
}
