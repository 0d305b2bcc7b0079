//! Runs whose forces are summed by a tree.

use serde_json::Value;

use crate::common::{folder, run};
use crate::{json, number};

/// Forces of as many pairs are summed by a tree on the CPU; of fewer, they are direct sums.
const BODIES_OF_TREES: usize = 4096;

/// Returns the arguments of a short leapfrog of this many bodies.
fn leapfrog(bodies: usize, t_end: f64) -> String {
    let model = format!("--plummer {bodies} --eps 0.02 --order 2 --dt 0.0625 --interval 0.0625");
    format!("run --backend cpu {model} --precision single --t-end {t_end}")
}

#[test]
fn a_leapfrog_by_a_tree_has_the_energies_of_direct_sums_as_far_as_its_accuracy_says() {
    let run = |options: &str| json(&format!("{} {options}", leapfrog(BODIES_OF_TREES, 0.125)));
    let direct = run("");
    assert_eq!((&direct["accuracy"], &direct["sums_by_tree"]), (&Value::Null, &Value::Bool(false)));
    for (setting, value, accuracy) in [("accuracy", 1e-3, 1e-3), ("accuracy", 1e-4, 1e-4), ("theta", 0.6, 1e-3)] {
        let options = format!("--{setting} {value}");
        let by_tree = run(&options);
        assert_eq!(number(&by_tree[setting]), value);
        assert_eq!(by_tree["sums_by_tree"], true);
        assert_eq!(by_tree["interactions"], direct["interactions"]);
        let rows = |report: &Value| report["energies"].as_array().unwrap().clone();
        for (found, expected) in rows(&by_tree).iter().zip(&rows(&direct)) {
            for quantity in ["kinetic", "potential", "total"] {
                let [found, expected] = [found, expected].map(|row| number(&row[quantity]));
                assert!((found / expected - 1.0).abs() <= accuracy, "{options}, {quantity}: {found}, not {expected}");
            }
            assert_ne!(found["potential"], expected["potential"], "{options}");
            assert_eq!(found["tree_error"], Value::Null);
        }
    }
}

#[test]
fn the_tree_goes_with_a_run_that_is_resumed_and_an_option_takes_its_place() {
    let (whole, part) = (folder("tree-whole"), folder("tree-part"));
    let uninterrupted =
        json(&format!("{} --accuracy 1e-3 --output {}", leapfrog(BODIES_OF_TREES, 0.1875), whole.display()));
    json(&format!("{} --accuracy 1e-3 --output {}", leapfrog(BODIES_OF_TREES, 0.0625), part.display()));
    let resume = |options: &str| {
        let from = part.join("snapshot-000001.txt");
        json(&format!("run --backend cpu --resume {} --t-end 0.1875 {options}", from.display()))
    };
    let resumed = resume("");
    assert_eq!(resumed["accuracy"], 1e-3);
    assert_eq!(resumed["final_energy"], uninterrupted["final_energy"]);
    let other = resume("--theta 0.7");
    assert_eq!((&other["accuracy"], &other["theta"]), (&Value::Null, &serde_json::json!(0.7)));
    for direct in [resume("--accuracy 0"), resume("--order 4 --dt-min 0.0625 --dt 0")] {
        assert_eq!((&direct["accuracy"], &direct["sums_by_tree"]), (&Value::Null, &Value::Bool(false)));
    }
}

#[test]
fn the_errors_of_the_tree_are_reported_at_the_start_and_after_each_interval() {
    for accuracy in [1e-2, 1e-4] {
        let options = format!("--accuracy {accuracy} --report-error");
        let report = json(&format!("{} {options}", leapfrog(BODIES_OF_TREES, 0.125)));
        let rows = report["energies"].as_array().unwrap();
        assert_eq!(rows.len(), 3);
        for row in rows {
            let of = |part: &str| number(&row["tree_error"][part]);
            let [median, most, more, worst] = ["median", "percentile_90", "percentile_99", "worst"].map(of);
            assert!(0.0 < median && median <= accuracy && more <= 5.0 * accuracy, "{row}");
            assert!(median <= most && most <= more && more <= worst, "{row}");
        }
        // The measurements are no part of the run.
        assert_eq!(number(&report["interactions"]), 3.0 * (BODIES_OF_TREES as f64).powi(2));
    }
    let text = |bodies: usize| {
        let output = run(&format!("{} --accuracy 1e-3 --report-error", leapfrog(bodies, 0.0625)));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let by_tree = text(BODIES_OF_TREES);
    assert!(by_tree.lines().next().unwrap().ends_with(", a tree of accuracy 0.001"), "{by_tree}");
    assert!(by_tree.lines().nth(2).unwrap().ends_with("error of tree: median       90 %       99 %      worst"));
    assert_eq!(by_tree.lines().nth(4).unwrap().split_whitespace().count(), 3 + 4, "{by_tree}");
    assert!(!by_tree.contains("Gint/s"), "{by_tree}");
    let direct = text(100);
    assert!(direct.contains("forces are direct sums: 100 x 100 pairs are fewer than 16777216"), "{direct}");
    // Against sums in double precision direct sums have the errors of theirs.
    let rows = direct.lines().skip_while(|line| !line.contains("error of tree")).skip(1).take(2);
    let errors = rows.flat_map(|line| line.split_whitespace().rev().take(4));
    let errors: Vec<f64> = errors.map(|error| error.parse().unwrap()).collect();
    assert_eq!(errors.len(), 2 * 4, "{direct}");
    assert!(errors.iter().all(|error| (1e-9..1e-5).contains(error)), "{direct}");
}
