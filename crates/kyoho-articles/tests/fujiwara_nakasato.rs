//! `kyoho-figures fujiwara-nakasato` as its users run it, with few bodies.

mod common;

use std::path::{Path, PathBuf};

use common::{folder, run};
use serde_json::Value;

/// Runs the command with 1/25 of the article's bodies and returns what it prints.
fn printed(folder: &Path, options: &str) -> String {
    let figures = format!("fujiwara-nakasato --fewer 25 --n 256,512 --backend cpu {options}");
    let output = run(&format!("{figures} --output {}", folder.display()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the output is text")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn the_figures_have_their_rows_a_ring_and_pictures() {
    let folder = folder("figures");
    let report: Value = serde_json::from_str(&printed(&folder, "--json")).expect("the report is JSON");
    assert!(report["command"].as_str().unwrap().starts_with("kyoho-figures fujiwara-nakasato --fewer 25"));
    let expected = [
        ("figure-eight-3", 300, 7500),
        ("figure-eight-4", 400, 10_000),
        ("cartwheel", 720, 18_000),
        ("random", 4000, 100_000),
    ];
    let models = report["models"].as_array().unwrap();
    assert_eq!(models.len(), expected.len());
    for (row, (model, n, theirs)) in models.iter().zip(expected) {
        assert_eq!((&row["model"], &row["n"], &row["theirs"]["n"]), (&model.into(), &n.into(), &theirs.into()));
        // Each of the 100 steps sums all pairs once.
        assert_eq!((row["steps"].as_u64(), row["interactions"].as_u64()), (Some(100), Some(100 * n * n)));
        let [before, after] = ["energy_before", "energy_after"].map(|name| number(&row[name]));
        assert!(before < 0.0 && (after / before - 1.0).abs() < 0.01, "{model}: {before} {after}");
        assert!(number(&row["force_seconds"]) > 0.0 && number(&row["steps_seconds"]) > 0.0);
    }
    for (speed, n) in report["speeds"].as_array().unwrap().iter().zip([256.0, 512.0]) {
        let pairs = number(&speed["flops_per_second"]) * number(&speed["seconds"]) / 38.0;
        assert!((pairs / (n * n) - 1.0).abs() < 1e-12, "{n}: {pairs}");
    }
    let ring = &report["ring"];
    assert_eq!(number(&ring["time"]), 8.0);
    assert!(number(&ring["radius"]) > 1.5 && number(&ring["radius"]) < 3.5 && number(&ring["growth"]) > 2.0, "{ring}");

    let pictures: Vec<PathBuf> = serde_json::from_value(report["pictures"].clone()).unwrap();
    assert_eq!(pictures.len(), 2 * expected.len() + 3);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), pictures.len());
    for path in &pictures {
        let content = std::fs::read(path).unwrap();
        let is_svg = path.extension().is_some_and(|extension| extension == "svg");
        assert!(content.starts_with(if is_svg { b"<svg" } else { b"\x89PNG" }), "{}", path.display());
    }
    let [before, after] = ["before", "after"]
        .map(|time| std::fs::read(folder.join(format!("fujiwara-nakasato-figure-eight-3-{time}.png"))).unwrap());
    assert_ne!(before, after);
}

#[test]
fn the_tables_stand_beside_the_numbers_of_the_article() {
    let folder = folder("tables");
    let text = printed(&folder, "");
    for (model, theirs) in [
        ("figure-eight-3 | 300", "7500 | 0.009 s | 0.68 s | 5.6 s"),
        ("figure-eight-4 | 400", "10000 | 0.011 s | 0.92 s | 9.7 s"),
        ("cartwheel | 720", "18000 | 0.029 s | 2.43 s | 32 s"),
        ("random | 4000", "100000 | 0.5 s | 55 s | 971 s"),
    ] {
        let row = text.lines().find(|line| line.starts_with(&format!("| {model} |"))).expect("a row of the model");
        assert!(row.ends_with(&format!("| {theirs} |")), "{row}");
    }
    assert!(text.contains("theirs: 990 GFLOPS with 226304 bodies, 2 s; 38 operations a pair"), "{text}");
    assert!(text.contains("ring at time 8: radius "), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("picture: ")).count(), 11);
}

#[test]
fn a_folder_that_cannot_be_made_is_named_before_any_work() {
    let folder = folder("taken");
    std::fs::write(folder.join("file"), "").unwrap();
    let output = run(&format!("fujiwara-nakasato --backend cpu --output {}", folder.join("file").display()));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && output.stdout.is_empty() && error.contains("taken/file: "), "{error}");
}
