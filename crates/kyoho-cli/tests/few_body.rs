//! `kyoho few-body`: systems in, reports and systems out.

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::folder;
use serde_json::Value;

/// Burrau's problem of three bodies.
const PYTHAGOREAN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/pythagorean.txt");

fn run(file: &Path, options: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kyoho"));
    command.arg("few-body").arg(file).args(options.split_whitespace()).output().expect("the command")
}

fn json(file: &Path, options: &str) -> Value {
    let output = run(file, &format!("{options} --json"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn the_report_names_the_end_and_the_binaries() {
    let report = json(Path::new(PYTHAGOREAN), "--time 1000 --stop escape");
    let [system] = &report.as_array().unwrap()[..] else { panic!("{report}") };
    assert_eq!(system["end"], "escape");
    assert!(system["energy_error"].as_f64().unwrap().abs() < 1e-12);
    assert_eq!(system["binaries"][0]["members"], serde_json::json!([[2], [3]]));
    assert!((system["binaries"][0]["semi_major_axis"].as_f64().unwrap() - 0.5525).abs() < 1e-3);
    let table = String::from_utf8(run(Path::new(PYTHAGOREAN), "--time 70").stdout).unwrap();
    assert!(table.lines().all(|line| line.len() <= 80), "{table}");
    assert!(table.contains("2 and 3: a = 0.55"), "{table}");
}

#[test]
fn an_ensemble_that_goes_on_from_its_output_arrives_where_one_run_does() {
    let folder = folder("few-body");
    let input = folder.join("systems.txt");
    // A binary whose bodies touch, a lone body, and a planet without mass.
    let text = "0.5 -1 0 0 0 -0.1 0 0.1\n0.5 1 0 0 0 0.1 0 0.1\n\n\
                1 0 0 0 1 2 3\n\n1 0 0 0 0 0 0\n0 1 0 0 0 1 0\n0 0 3 0 -0.5 0 0\n";
    std::fs::write(&input, text).unwrap();
    let half = folder.join("half.txt");
    let first = json(&input, &format!("--time 0.5 --stop collision --output {}", half.display()));
    assert!(first.as_array().unwrap().iter().all(|system| system["end"] == "time"), "{first}");
    let [end, whole] = ["end.txt", "whole.txt"].map(|name| folder.join(name));
    let second = json(&half, &format!("--time 3.5 --stop collision --output {}", end.display()));
    let at_once = json(&input, &format!("--time 4 --stop collision --output {}", whole.display()));
    assert_eq!(second[0]["end"], "collision");
    assert_eq!(second[0]["touching"], serde_json::json!([1, 2]));
    let passed = second[0]["time"].as_f64().unwrap() + 0.5;
    assert!((passed - at_once[0]["time"].as_f64().unwrap()).abs() < 1e-9, "{second} {at_once}");
    let numbers = |path: &Path| -> Vec<f64> {
        let text = std::fs::read_to_string(path).unwrap();
        text.split_whitespace().map(|word| word.parse().unwrap()).collect()
    };
    let (found, expected) = (numbers(&end), numbers(&whole));
    assert_eq!(found.len(), 8 * 6);
    assert!(found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-8), "{found:?}");
}

#[test]
fn a_text_tells_its_units_and_so_the_gravitational_constant() {
    let folder = folder("few-body-units");
    let [input, output] = ["planet.txt", "end.txt"].map(|name| folder.join(name));
    std::fs::write(&input, "# units AU Msun yr\n1 0 0 0 0 0 0\n3e-6 1 0 0 0 6.283185307 0\n").unwrap();
    let report = json(&input, &format!("--time 1 --output {}", output.display()));
    let period = report[0]["binaries"][0]["period"].as_f64().unwrap();
    assert!((period - 1.0).abs() < 1e-3, "{report}");
    assert!(std::fs::read_to_string(&output).unwrap().starts_with("# units AU Msun yr\n"));
    assert_eq!(json(&input, "--time 1 --G 1")[0]["binaries"], serde_json::json!([]));
    std::fs::write(&input, "# units AU Msun furlong\n1 0 0 0 0 0 0\n").unwrap();
    let error = String::from_utf8(run(&input, "--time 1").stderr).unwrap();
    assert!(error.contains("furlong"), "{error}");
}

#[test]
fn what_is_not_allowed_is_named() {
    let folder = folder("few-body-wrong");
    let same = folder.join("same.txt");
    std::fs::write(&same, "1 0 0 0 0 0 0\n1 0 0 0 1 0 0\n").unwrap();
    let many = folder.join("many.txt");
    std::fs::write(&many, (0..101).map(|body| format!("1 {body} 0 0 0 0 0\n")).collect::<String>()).unwrap();
    let pythagorean = Path::new(PYTHAGOREAN);
    for (file, options, words) in [
        (pythagorean, "--time=-1", ["--time is -1", "0 to 1e75"]),
        (pythagorean, "--time 1 --tolerance 1", ["--tolerance is 1", "1e-14 to 1e-3"]),
        (pythagorean, "--time 1 --speed-of-light 100 --terms 3", ["--terms is 3", "1, 2, 2.5, 3.5"]),
        (pythagorean, "--time 1 --speed-of-light 0", ["--speed-of-light is 0", "above zero"]),
        (&same, "--time 1", ["system 1", "the distance of bodies 1 and 2 is '0'"]),
        (&many, "--time 1", ["the number of bodies is '101'", "at most 100"]),
        (Path::new("/nowhere"), "--time 1", ["/nowhere", "No such file"]),
    ] {
        let output = run(file, options);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{options}: {error}");
        assert!(words.iter().all(|word| error.contains(word)), "{options}: {error}");
    }
}
