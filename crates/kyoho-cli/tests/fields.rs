//! Fields of `kyoho run`.

mod common;

use std::path::Path;

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

fn error(report: &Value, place: usize) -> f64 {
    report["energies"][place]["relative_error"].as_f64().expect("a number")
}

const PUSH: &str = "pair push # with a remark
i pos: vec3<f64>
param strength: vec3<f64>, rate: f64, time: f64
result acceleration: vec3<f64> sum
body
  acceleration += strength * cos(rate * time)
";

/// A body without mass on a circle of period 2 pi round a point, and another one.
fn bodies(folder: &Path) -> String {
    let path = folder.join("bodies.txt");
    std::fs::write(&path, "1e-9 1 0 0 0 1 0\n1e-9 0 4 0 0.5 0 0\n").expect("a file");
    path.display().to_string()
}

#[test]
fn bodies_in_a_field_conserve_their_energy() {
    let folder = folder("circle");
    let bodies = bodies(&folder);
    for order in [&["--order", "2", "--dt", "0.01"][..], &["--order", "4"], &["--order", "8"]] {
        let field = ["--field", "point_mass,mass=1", "--t-end", "0.5", "--interval", "0.25", "--precision", "double"];
        let report = run(&[&[bodies.as_str()], &field[..], order].concat()).unwrap();
        assert_eq!(report["fields"][0], "point_mass");
        let potential = report["energies"][0]["potential"].as_f64().unwrap();
        assert!((potential + 1.25e-9).abs() < 1e-15, "{report}");
        assert!(error(&report, 2).abs() < 1e-5, "{report}");
    }
}

#[test]
fn a_resumed_run_has_its_fields_and_the_same_bits() {
    let folder = folder("resumed");
    let push = folder.join("push of a name.pair");
    std::fs::write(&push, PUSH).expect("a file");
    let push = format!("{},strength=0,0,0.1,rate=0.7", push.display());
    let bodies = bodies(&folder);
    for (format, extension) in [("text", "txt"), ("hdf5", "h5")] {
        for order in [&["--order", "2", "--dt", "0.01"][..], &["--order", "6"]] {
            let to = folder.join(format!("{format}-{}", order[1]));
            let all = ["--field", "plummer,radius=0.5,mass=2", "--field", &push, "--interval", "0.1"];
            let start = [&[bodies.as_str(), "--t-end", "0.3"], &all[..], order].concat();
            let whole = run(&[&start[..], &["--output", &to.display().to_string(), "--format", format]].concat());
            let from = to.join(format!("snapshot-000001.{extension}")).display().to_string();
            let part = run(&["--resume", &from, "--t-end", "0.3"]).unwrap();
            let whole = whole.unwrap();
            assert_eq!(part["fields"], whole["fields"]);
            assert_eq!(part["final_energy"], whole["final_energy"], "{order:?} {format}");
            // Other fields, or none, begin anew.
            let other = run(&["--resume", &from, "--t-end", "0.3", "--field", "none"]).unwrap();
            assert!(other["fields"].as_array().unwrap().is_empty() && error(&other, 0) == 0.0, "{other}");
        }
    }
}

#[test]
fn a_centre_is_read_from_a_file_and_resumed() {
    let folder = folder("centre");
    let bodies = bodies(&folder);
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let line = write("line.txt", "# time x y z\n0 0 0 0\n1 0.5 1 0 # a node\n");
    let curve = write("curve.txt", "0,0,0,0,0.5,1,0\n1;0.5;1;0;0.5;1;0\n");
    for (format, extension) in [("text", "txt"), ("hdf5", "h5")] {
        let mut ends = Vec::new();
        for path in [&line, &curve] {
            let field = format!("plummer,centre={path},radius=0.5,mass=2");
            let to = folder.join(format!("{format}-{}", ends.len()));
            let all = [&bodies, "--field", &field, "--interval", "0.1", "--t-end", "0.3", "--format", format];
            let whole = run(&[&all[..], &["--output", &to.display().to_string()]].concat()).unwrap();
            let from = to.join(format!("snapshot-000001.{extension}")).display().to_string();
            let part = run(&["--resume", &from, "--t-end", "0.3"]).unwrap();
            assert_eq!(part["final_energy"], whole["final_energy"], "{format}");
            ends.push(whole["final_energy"].as_f64().unwrap());
            let beyond = run(&["--resume", &from, "--t-end", "2"]).unwrap_err();
            assert!(
                beyond.contains("of the field 'plummer' is '2'; allowed: 0 to 1, the times of its nodes"),
                "{beyond}"
            );
        }
        // Both are the same straight line, and no other than a centre at rest.
        assert!((ends[0] / ends[1] - 1.0).abs() < 1e-12, "{ends:?}");
        let rests = run(&[&bodies, "--field", "plummer,radius=0.5,mass=2", "--t-end", "0.3"]).unwrap();
        assert!((ends[0] / rests["final_energy"].as_f64().unwrap() - 1.0).abs() > 1e-3);
    }
    let refused = |name: &str, text: &str| {
        let field = format!("point_mass,mass=1,centre={}", write(name, text));
        run(&[&bodies, "--field", &field]).unwrap_err()
    };
    assert!(refused("words.txt", "0 0 0\n").contains("line 1: it has 3 words; allowed: 4 numbers"));
    assert!(refused("mixed.txt", "0 0 0 0\n1 0 0 0 0 0 0\n").contains("line 2: it has 7 words"));
    assert!(refused("one.txt", "0 0 0 0\n").contains("one.txt: the nodes of a field's centre is '1 times'"));
}

#[test]
fn units_give_the_gravitational_constant() {
    let folder = folder("units");
    let bodies = bodies(&folder);
    let energy = |more: &[&str]| {
        let field = [bodies.as_str(), "--field", "plummer,mass=1,radius=0.5", "--t-end", "0.1"];
        run(&[&field[..], more].concat()).map(|report| report["energies"][0]["potential"].as_f64().unwrap())
    };
    let [named, number] =
        [&["--units", "kpc 1e10Msun km/s"][..], &["--G", "43009.1727"]].map(|more| energy(more).unwrap());
    assert!((named / number - 1.0).abs() < 1e-9, "{named} {number}");
    assert!(energy(&["--units", "kpc"]).unwrap_err().contains("--units is 'kpc'; allowed: SI, or a length (m, cm"));
    assert!(energy(&["--units", "SI", "--G", "2"]).unwrap_err().contains("cannot be used with"));
}

#[test]
fn a_wrong_field_is_named() {
    let folder = folder("wrong");
    let bodies = bodies(&folder);
    let refused = |field: &str| run(&[&bodies, "--field", field]).unwrap_err();
    let unknown = refused("plumer,mass=1");
    assert!(unknown.contains("--field is 'plumer'; allowed: a file, or point_mass, plummer, hernquist"), "{unknown}");
    assert!(refused("plummer,mass=1").contains("the parameter 'radius' of the field 'plummer' is 'not given'"));
    assert!(refused("plummer,mass=x,radius=1").contains("--field is 'plummer,mass=x,radius=1'; allowed: a name or"));
    let text = folder.join("half.pair");
    std::fs::write(&text, "pair half\ni pos: vec3<f64>\nresult potential: f64 sum\nbody\n  potential += i.x\n")
        .unwrap();
    let said = refused(&text.display().to_string());
    assert!(said.contains("half.pair: line 5, column 16: "), "{said}");
}

#[test]
fn a_body_that_a_field_gives_no_number_is_named_as_reports_name_it() {
    let folder = folder("pole");
    let pole = folder.join("pole.pair");
    let text =
        "pair pole\ni pos: vec3<f64>\nresult acceleration: vec3<f64> sum\nbody\n  acceleration += i.pos / i.pos.x\n";
    std::fs::write(&pole, text).expect("a file");
    let error = run(&[&bodies(&folder), "--field", &pole.display().to_string(), "--t-end", "0.1"]).unwrap_err();
    assert!(error.contains("the acceleration of body 2 in the field 'pole' is NaN"), "{error}");
}
