//! The conformance suite on all devices of this machine: one test for each entry of the catalogue.

use std::sync::Arc;

use kyoho_core::{Interaction, Order};
use kyoho_hal::Backend;
use kyoho_laws::catalogue::CATALOGUE;
use kyoho_verify::{Selection, run, targets};
use libtest_mimic::{Arguments, Failed, Trial};

/// Runs the suite for one entry.
fn conforms(entry: &Interaction) -> Result<(), Failed> {
    let (order, precision, scope) = (Some(entry.order), Some(entry.precision), Some(entry.scope));
    let targets = targets(&Selection { order, precision, scope, ..Selection::default() });
    if targets.is_empty() {
        return Err("nothing on this machine computes it".into());
    }
    let mut failures = Vec::new();
    for target in targets {
        // A CPU that is programmed by OpenCL takes long for numbers of two doubles, whose kernels are
        // made of one text: there the lowest order has all checks, and `kyoho verify` for all.
        let has_all = target.setup.backend != Backend::OpenCl || !entry.has_low_limbs() || entry.order == Order::Second;
        for outcome in run(&target, if has_all { "" } else { "quad" }) {
            let found = outcome.findings.failures().iter();
            failures.extend(found.map(|failure| format!("{target}: {}: {failure}", outcome.check.name)));
        }
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(format!("{} failures:\n{}", failures.len(), failures.join("\n")).into())
    }
}

/// Returns the name of an entry's test.
fn name(entry: &Interaction) -> String {
    format!("order_{}_{}_{}_conforms", entry.order as i32, entry.precision.name(), entry.scope.name())
}

fn main() {
    let test = |entry: &Arc<Interaction>| {
        let entry = entry.clone();
        Trial::test(name(&entry), move || conforms(&entry))
    };
    libtest_mimic::run(&Arguments::from_args(), CATALOGUE.iter().map(test).collect()).exit();
}
