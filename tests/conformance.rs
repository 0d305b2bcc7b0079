//! The conformance suite on everything that this machine has.

use kyoho::catalogue::CATALOGUE;
use kyoho::conformance::{CHECKS, Selection, run, targets};
use kyoho::{Order, Precision, Scope};

/// Runs the suite for the whole forces of one order and precision; the tests of a file run side by side.
fn conforms(order: Order, precision: Precision) {
    conforms_in(order, precision, Scope::Whole);
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

/// Runs `kyoho verify`.
#[cfg(feature = "command")]
fn verify(arguments: &[&str]) -> std::process::Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_kyoho"));
    command.arg("verify").args(arguments).output().expect("the command runs")
}

#[cfg(feature = "command")]
#[test]
fn the_command_runs_the_suite_and_says_so() {
    let choice = ["--order", "4", "--precision", "double", "--level", "portable", "--bodies", "64", "--json"];
    let output = verify(&choice);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    assert_eq!(report["passed"], true);
    let row = &report["rows"][0];
    assert!(row["checks"].as_u64().expect("a count") >= CHECKS.len() as u64);
    assert!(row["errors"]["acceleration"]["worst"].as_f64().expect("a number") < 5e-15);
}

#[cfg(feature = "command")]
#[test]
fn the_command_says_what_it_cannot_verify() {
    for (arguments, told) in
        [(["--order", "3"], "allowed: 2, 4, 6, 8"), (["--level", "sse"], "portable"), (["--backend", "abacus"], "cpu")]
    {
        let output = verify(&arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains(told), "{arguments:?}: {message}");
    }
}
