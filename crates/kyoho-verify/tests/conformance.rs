//! The conformance suite on all devices of this machine: one test for each entry of the catalogue.

use std::sync::Arc;

use kyoho_core::{Interaction, Level, Order, Precision};
use kyoho_engine::Setup;
use kyoho_hal::Backend;
use kyoho_laws::catalogue::CATALOGUE;
use kyoho_verify::{CHECKS, Check, Needs, Selection, Target, targets};
use libtest_mimic::{Arguments, Failed, Trial};

/// Whether all is tried that `kyoho verify` tries (`make test-all` does).
fn tries_all() -> bool {
    std::env::var_os("KYOHO_TEST_SWEEP").is_some_and(|value| value == "1")
}

/// Whether an entry is tried on several devices of OpenCL: one of each order and scope, as partitions
/// of blocks know no precision, and two of order 2, of which one has trees and one has written pairs.
fn is_example(entry: &Interaction) -> bool {
    matches!(
        (entry.order, entry.precision),
        (Order::Second, Precision::Single | Precision::Double)
            | (Order::Fourth | Order::Sixth, Precision::Mixed)
            | (Order::Eighth, _)
    )
}

/// Whether a target is tried. Threads and devices of CPUs share no code with instruction sets, so that
/// all numbers of them are tried at the best set, and the plain case at all sets. Laws in two doubles
/// take long, and the same code runs those of all orders, so that one order tries all ways.
fn is_tried(target: &Target, entry: &Interaction) -> bool {
    let Setup { backend, level, threads, ref devices, .. } = target.setup;
    let is_plain = threads == 1 && devices.len() == 1;
    match backend {
        _ if tries_all() => true,
        Backend::Cpu if entry.has_low_limbs() && entry.order != Order::Fourth => is_plain && level == Level::best(),
        _ if is_plain => true,
        Backend::Cpu => level == Level::best(),
        Backend::OpenCl => is_example(entry),
        Backend::Cuda => true,
    }
}

/// Whether a check is run on a target. A CPU that is programmed by OpenCL takes seconds to compile a
/// kernel: what is a program of its own in each order and precision is tried in all precisions of one
/// order, and in one precision of all.
fn is_run(check: &Check, target: &Target, entry: &Interaction) -> bool {
    if tries_all() || target.setup.backend != Backend::OpenCl {
        return true;
    }
    match check.needs {
        // Kernels of two doubles are made of one text.
        _ if entry.has_low_limbs() => {
            let is_of_quad = matches!(check.needs, Needs::Quad | Needs::QuadLists);
            entry.order == Order::Second || is_of_quad && entry.order == Order::Eighth
        }
        Needs::Softenings => entry.order == Order::Second || entry.precision == Precision::Double,
        Needs::BlockSteps => entry.order == Order::Fourth || entry.precision == Precision::Double,
        _ => true,
    }
}

/// Runs the suite for one entry.
fn conforms(entry: &Interaction) -> Result<(), Failed> {
    let (order, precision, scope) = (Some(entry.order), Some(entry.precision), Some(entry.scope));
    let targets = targets(&Selection { order, precision, scope, ..Selection::default() });
    if targets.is_empty() {
        return Err("nothing on this machine computes it".into());
    }
    let mut failures = Vec::new();
    for target in targets.iter().filter(|target| is_tried(target, entry)) {
        for check in CHECKS.iter().filter(|check| check.applies_to(target) && is_run(check, target, entry)) {
            let findings = check.outcome(target).findings;
            failures.extend(findings.failures().iter().map(|failure| format!("{target}: {}: {failure}", check.name)));
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
