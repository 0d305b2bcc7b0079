//! The conformance suite on all devices of this machine.

use kyoho::data::{Order, Precision, Scope};
use kyoho::law::catalogue::CATALOGUE;
use kyoho_verify::{CHECKS, Selection, run, targets};

/// Runs the suite for the full forces of one order and precision. The tests of a file run side by
/// side.
fn conforms(order: Order, precision: Precision) {
    conforms_in(order, precision, Scope::Full);
}

/// Runs the suite for one entry of the catalogue.
fn conforms_in(order: Order, precision: Precision, scope: Scope) {
    let (order, precision, scope) = (Some(order), Some(precision), Some(scope));
    let selection = Selection { order, precision, scope, ..Selection::default() };
    let targets = targets(&selection);
    assert!(!targets.is_empty(), "nothing on this machine computes {order:?} {precision:?} {scope:?}");
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
fn order_6_mixed_conforms() {
    conforms(Order::Sixth, Precision::Mixed);
}

#[test]
fn order_6_double_conforms() {
    conforms(Order::Sixth, Precision::Double);
}

#[test]
fn order_8_double_conforms() {
    conforms(Order::Eighth, Precision::Double);
}

#[test]
fn order_4_regular_mixed_conforms() {
    conforms_in(Order::Fourth, Precision::Mixed, Scope::Regular);
}

#[test]
fn order_4_regular_double_conforms() {
    conforms_in(Order::Fourth, Precision::Double, Scope::Regular);
}

#[test]
fn the_tests_of_this_file_cover_the_catalogue() {
    assert_eq!(CATALOGUE.len(), 11);
}

#[test]
fn checks_have_names_of_their_own() {
    let mut names: Vec<_> = CHECKS.iter().map(|check| check.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CHECKS.len());
}
