//! The conformance suite on everything that this machine has.

use kyoho::catalogue::CATALOGUE;
use kyoho::conformance::{CHECKS, Selection, run, targets};
use kyoho::{Order, Precision};

/// Runs the suite for one order and precision; the tests of a file run side by side.
fn conforms(order: Order, precision: Precision) {
    let selection = Selection { order: Some(order), precision: Some(precision), ..Selection::default() };
    let targets = targets(&selection);
    assert!(!targets.is_empty(), "nothing on this machine computes order {order:?} in {precision:?}");
    let mut failures = Vec::new();
    for target in targets {
        for outcome in run(&target) {
            let told = outcome.findings.failures().iter();
            failures.extend(told.map(|failure| format!("{target}: {}: {failure}", outcome.check.name)));
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn order_2_single_conforms() {
    conforms(Order::Second, Precision::Single);
}

#[test]
fn order_2_mixed_conforms() {
    conforms(Order::Second, Precision::Mixed);
}

#[test]
fn order_2_double_conforms() {
    conforms(Order::Second, Precision::Double);
}

#[test]
fn order_4_single_conforms() {
    conforms(Order::Fourth, Precision::Single);
}

#[test]
fn order_4_mixed_conforms() {
    conforms(Order::Fourth, Precision::Mixed);
}

#[test]
fn order_4_double_conforms() {
    conforms(Order::Fourth, Precision::Double);
}

#[test]
fn the_tests_of_this_file_cover_the_catalogue() {
    assert_eq!(CATALOGUE.len(), 6);
}

#[test]
fn checks_have_names_of_their_own() {
    let mut names: Vec<_> = CHECKS.iter().map(|check| check.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CHECKS.len());
}
