//! Laws of `kyoho run`.

mod common;

use common::{folder, kyoho};
use serde_json::Value;

/// Runs with words that may have spaces, and returns the report or the error.
fn run(arguments: &[&str]) -> Result<Value, String> {
    let output = kyoho().args(["run", "--backend", "cpu", "--json"]).args(arguments).output().expect("it starts");
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).expect("a report")),
        false => Err(String::from_utf8(output.stderr).expect("a text").trim_end().into()),
    }
}

fn example(path: &str) -> String {
    format!("{}/../../examples/{path}", env!("CARGO_MANIFEST_DIR"))
}

const PLUMMER: [&str; 8] = ["--plummer", "32", "--eps", "0.1", "--t-end", "0.3", "--interval", "0.1"];

#[test]
fn bodies_with_a_law_of_pairs_conserve_their_energy() {
    let yukawa = format!("{},strength=0.5,length=0.5,eps=0.1", example("laws/yukawa.pair"));
    for order in [&["--order", "2", "--dt", "0.005"][..], &["--order", "4"], &["--order", "8"]] {
        let law = ["--law", yukawa.as_str(), "--precision", "double"];
        let report = run(&[&PLUMMER[..], &law, order].concat()).unwrap();
        assert_eq!(report["laws"][0], "yukawa");
        let without = run(&[&PLUMMER[..], order].concat()).unwrap();
        let potential = |of: &Value| of["energies"][0]["potential"].as_f64().unwrap();
        assert!(potential(&report) < 1.05 * potential(&without), "{report}");
        assert!(report["energies"][3]["relative_error"].as_f64().unwrap().abs() < 1e-4, "{report}");
    }
}

#[test]
fn a_resumed_run_has_its_laws_and_the_same_bits() {
    let folder = folder("laws-resumed");
    let [drag, post_newtonian] = [
        format!("{},rate=0.5,radius=0.2", example("laws/drag.pair")),
        format!("{},light=50", example("laws/post_newtonian.pair")),
    ];
    for (format, extension) in [("text", "txt"), ("hdf5", "h5")] {
        for order in [&["--order", "2", "--dt", "0.01"][..], &["--order", "6"]] {
            let to = folder.join(format!("{format}-{}", order[1])).display().to_string();
            let laws = ["--law", &drag, "--law", &post_newtonian, "--field", "plummer,mass=1,radius=2"];
            let output = ["--output", to.as_str(), "--format", format];
            let whole = run(&[&PLUMMER[..], &laws, order, &output].concat()).unwrap();
            let from = format!("{to}/snapshot-000001.{extension}");
            let part = run(&["--resume", &from, "--t-end", "0.3"]).unwrap();
            assert_eq!(part["laws"], whole["laws"]);
            assert_eq!(part["final_energy"], whole["final_energy"], "{order:?} {format}");
            // Other laws, or none, begin anew.
            let other = run(&["--resume", &from, "--t-end", "0.3", "--law", "none"]).unwrap();
            assert!(other["laws"].as_array().unwrap().is_empty(), "{other}");
            assert_eq!(other["energies"][0]["relative_error"].as_f64(), Some(0.0), "{other}");
        }
    }
}

#[test]
fn a_wrong_law_is_named() {
    let refused = |law: &str, more: &[&str]| run(&[&["--plummer", "8", "--law", law][..], more].concat()).unwrap_err();
    assert!(refused("none.pair", &[]).contains("none.pair"));
    let drag = example("laws/drag.pair");
    assert!(refused(&drag, &[]).contains("the parameter 'rate' of the law 'drag' is 'not given'; allowed: one number"));
    assert!(refused(&format!("{drag},rate=x,radius=1"), &[]).contains("allowed: a file, and ,NAME=NUMBERS"));
    assert!(refused(&format!("{drag},centre=x"), &[]).contains("allowed: no centre, which fields have"));
    let both = refused(&format!("{drag},rate=1,radius=1"), &["--subsystems"]);
    assert!(both.contains("--law is given with subsystems; allowed: without subsystems"), "{both}");
    let bar = example("fields/bar.pair");
    assert!(refused(&bar, &[]).contains("no section j; allowed: a section j: without sources the text is a field"));
    // Of several texts the wrong one is told, with lines and columns as the file has them.
    let wrong = folder("laws-wrong").join("wrong.pair").display().to_string();
    for (text, place) in [
        ("pear x\n", "line 1, column 1"),
        ("  \u{a0}pear x", "line 1, column 4"),
        ("\n\r\n   pear x\n\n", "line 3, column 4"),
        ("\n\npair x\n  pear\n", "line 4, column 3"),
    ] {
        std::fs::write(&wrong, text).unwrap();
        let said = refused(&format!("{drag},rate=1,radius=1"), &["--law", &wrong]);
        assert!(said.starts_with(&format!("kyoho: {wrong}: {place}: ")), "{said}");
    }
}
