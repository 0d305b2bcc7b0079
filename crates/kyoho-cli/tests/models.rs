//! `kyoho model` as its users run it.

mod common;

use std::path::Path;

use common::{folder, run};

/// Returns what a successful call prints.
fn printed(arguments: &str) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("models are text")
}

/// Returns the bodies of a text.
fn rows(text: &str) -> Vec<Vec<f64>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(' ').map(|word| word.parse().expect("a number")).collect()).collect()
}

/// Returns the comments of a text.
fn comments(text: &str) -> Vec<&str> {
    text.lines().map_while(|line| line.strip_prefix("# ")).collect()
}

/// Models in standard N-body units with their kinetic energies.
const ISOLATED: [(&str, f64); 4] =
    [("plummer", 0.25), ("hernquist", 0.25), ("uniform-sphere", 0.25), ("cold-collapse", 0.0)];

#[test]
fn every_model_has_a_seed_and_comes_as_lines() {
    for (name, kinetic) in ISOLATED {
        let model = |seed: u32| printed(&format!("model {name} 300 --seed {seed} --backend cpu"));
        let text = model(3);
        assert!(text == model(3) && text != model(4), "{name}");
        let comments = comments(&text);
        assert!(comments[0].contains("of 300 bodies, seed 3") && comments[0].contains(name), "{}", comments[0]);
        assert_eq!(comments.last(), Some(&"mass x y z vx vy vz"));
        let rows = rows(&text);
        assert_eq!(rows.len(), 300);
        assert!(rows.iter().all(|row| row.len() == 7 && row[0] == 1.0 / 300.0));
        let found: f64 = rows.iter().map(|row| 0.5 * row[0] * row[4..].iter().map(|v| v * v).sum::<f64>()).sum();
        assert!((found - kinetic).abs() < 1e-13, "{name}: {found}");
    }
}

#[test]
fn the_short_form_makes_the_same_plummer_model() {
    let model = |form: &str| printed(&format!("{form} 50 --seed 2 --backend cpu"));
    assert_eq!(model("plummer"), model("model plummer"));
}

#[test]
fn a_file_has_the_model_in_either_format_and_its_description_is_printed() {
    let folder = folder("formats");
    let text = printed("model hernquist 100 --backend cpu");
    let energies = ["text", "hdf5"].map(|format| {
        let path = folder.join(format);
        let described =
            printed(&format!("model hernquist 100 --backend cpu --format {format} --output {}", path.display()));
        assert!(described.lines().eq(comments(&text)[..2].iter().copied()), "{described}");
        let run =
            printed(&format!("run {} --backend cpu --eps 0.1 --t-end 0.125 --interval 0.125 --json", path.display()));
        let report: serde_json::Value = serde_json::from_str(&run).expect("the report is JSON");
        report["energies"].clone()
    });
    assert_eq!(energies[0], energies[1]);
    assert_eq!(std::fs::read_to_string(folder.join("text")).unwrap(), text);
}

#[test]
fn wrong_arguments_exit_with_2_and_name_what_is_allowed() {
    for (arguments, parts) in [
        ("model", ["Usage", "plummer"]),
        ("model king 10", ["king", "subcommand"]),
        ("model plummer 1", ["1", "2.."]),
        ("model hernquist 10 --format fits", ["--format is 'fits'", "text, hdf5"]),
        ("model hernquist 10 --format hdf5", ["--format is 'hdf5'", "with --output FILE"]),
    ] {
        let output = run(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{arguments}: {error}");
        assert!(parts.iter().all(|part| error.contains(part)), "{arguments}: {error}");
    }
}

#[test]
fn where_nothing_can_be_written_nothing_is_made() {
    let path = folder("unwritable").join("nowhere/model.txt");
    let output = run(&format!("model plummer 10 --output {}", path.display()));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.contains("nowhere/model.txt: "), "{error}");
}

#[test]
fn a_cosmological_sphere_leads_to_a_run() {
    let folder = folder("sphere");
    let (text, hdf5) = (folder.join("sphere.txt"), folder.join("sphere.h5"));
    let model = "model cosmological-sphere --grid 8 --seed 5";
    let described = printed(&format!("{model} --output {}", text.display()));
    let printed_again = printed(model);
    assert_eq!(rows(&std::fs::read_to_string(&text).unwrap()), rows(&printed_again));
    assert!(printed(&format!("{model} --format hdf5 --output {}", hdf5.display())).contains("sphere.h5 --order 2"));
    // The last line ends with the run to redshift 0; this one ends after a snapshot.
    let command = described.lines().last().unwrap().split("kyoho run ").nth(1).unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    let interval = words[words.iter().position(|word| *word == "--interval").unwrap() + 1];
    let end = words.iter().position(|word| *word == "--t-end").unwrap() + 1;
    let run = |file: &Path| {
        let mut words = words.clone();
        (words[0], words[end]) = (file.to_str().unwrap(), interval);
        let report = printed(&format!("run {} --backend cpu --json", words.join(" ")));
        let report: serde_json::Value = serde_json::from_str(&report).expect("the report is JSON");
        report["energies"].clone()
    };
    assert_eq!(run(&text), run(&hdf5));
}

/// The critical density is 2.77537e11 solar masses times h^2 in a cubic Mpc.
#[test]
fn a_cosmological_sphere_has_the_mass_of_the_mean_density() {
    let rows = rows(&printed("model cosmological-sphere --grid 32 --radius 10 --hubble 1"));
    let mass: f64 = rows.iter().map(|row| row[0]).sum();
    let expected = 27.7537 * 4.0 / 3.0 * std::f64::consts::PI * 1000.0;
    assert!((mass / expected - 1.0).abs() < 0.01, "{mass} {expected}");
}

#[test]
fn options_of_a_sphere_that_have_no_meaning_are_refused() {
    for (options, parts) in [
        ("--grid 3", ["3", "4..=1024"]),
        ("--grid 1025", ["1025", "4..=1024"]),
        ("--radius 0", ["--radius is 0", "1 to 10000"]),
        ("--radius nan", ["--radius is NaN", "1 to 10000"]),
        ("--redshift -1", ["--redshift is -1", "0.01 to 1000"]),
        ("--omega-m 1.1", ["--omega-m is 1.1", "0.05 to 1"]),
        ("--omega-b 0.3 --omega-m 0.3", ["--omega-b is 0.3", "to below --omega-m, which is 0.3"]),
        ("--omega-b -0.1", ["--omega-b is -0.1", "from zero"]),
        ("--hubble 70", ["--hubble is 70", "0.2 to 1.5"]),
        ("--spectral-index 2", ["--spectral-index is 2", "0.5 to 1.5"]),
        ("--sigma8 -1", ["--sigma8 is -1", "0 to 5"]),
        ("--omega-lambda 0.7", ["--omega-lambda", "unexpected"]),
        ("--format hdf5", ["--format is 'hdf5'", "with --output FILE"]),
    ] {
        let output = run(&format!("model cosmological-sphere {options}"));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{options}: {error}");
        assert!(parts.iter().all(|part| error.contains(part)), "{options}: {error}");
    }
}
