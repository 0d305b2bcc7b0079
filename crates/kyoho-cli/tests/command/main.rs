//! The `kyoho` command as its users run it: real inputs with known answers, and its errors.

mod bench;
#[path = "../common/mod.rs"]
mod common;
mod errors;
mod examples;
mod files;
mod hdf5;
mod info;
mod integrators;
mod pairs;
mod resuming;
mod trees;

use std::path::Path;

use serde_json::Value;

use common::run;

/// Returns the JSON that a successful run prints.
fn json(arguments: &str) -> Value {
    let output = run(&format!("{arguments} --json"));
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the output is JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Returns the one line of stderr of a call that must fail with an exit code and print nothing
/// else.
fn failure(code: i32, arguments: &str) -> String {
    let output = run(arguments);
    let error = String::from_utf8(output.stderr).expect("errors are text");
    assert_eq!(output.status.code(), Some(code), "{arguments}: {error}");
    assert!(output.stdout.is_empty(), "{arguments}: {}", String::from_utf8_lossy(&output.stdout));
    error.trim_end().to_string()
}

/// Returns the rows of numbers of an input or a snapshot.
fn rows(path: &Path) -> Vec<Vec<f64>> {
    let text = std::fs::read_to_string(path).expect("the file is there");
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("")).filter(|line| !line.trim().is_empty());
    lines.map(|line| line.split_whitespace().map(|word| word.parse().expect("a number")).collect()).collect()
}

/// Returns the position of one row relative to another.
fn separation(row: &[f64], from: &[f64]) -> [f64; 3] {
    [row[1] - from[1], row[2] - from[2], row[3] - from[3]]
}

fn length(vector: [f64; 3]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}
