//! Bodies with softenings of their own in `kyoho run`, from a column `eps`.

mod common;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use common::{folder, run};
use kyoho::{Setup, System};
use kyoho_core::{Order, Precision};
use kyoho_integrators::cluster::{Change, Choices, Cluster};
use serde_json::Value;

/// Runs, and returns the report or the error.
fn report(options: &str) -> Result<Value, String> {
    let output = run(&format!("run --backend cpu --json {options}"));
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).expect("a report")),
        false => Err(String::from_utf8(output.stderr).expect("a text").trim_end().into()),
    }
}

const COUNT: usize = 40;
const STEP: f64 = 1.0 / 64.0;

/// Returns mass, place and speed of a body.
fn body(number: usize) -> [f64; 7] {
    let wave = |factor: f64| (factor * (number + 1) as f64).sin();
    [1.0 / COUNT as f64, wave(1.7), wave(2.9), wave(0.83), 0.3 * wave(3.1), 0.3 * wave(1.3), 0.3 * wave(0.37)]
}

/// Some bodies have a softening that no other body before them has.
fn softening(number: usize) -> f64 {
    if number % 3 == 1 { 0.05 } else { 0.2 }
}

/// Writes bodies with these softenings as a CSV, and returns the path.
fn csv(folder: &Path, name: &str, softening: impl Fn(usize) -> f64) -> PathBuf {
    let mut lines = String::from("id,x,y,z,eps,vx,vy,vz,m\n");
    for number in 0..COUNT {
        let ([mass, x, y, z, vx, vy, vz], eps) = (body(number), softening(number));
        writeln!(lines, "{number},{x:e},{y:e},{z:e},{eps:e},{vx:e},{vy:e},{vz:e},{mass:e}").unwrap();
    }
    let path = folder.join(name);
    std::fs::write(&path, lines).unwrap();
    path
}

fn options(order: Order) -> String {
    let dt = if order == Order::Second { format!("--dt {STEP}") } else { String::new() };
    format!("--order {} {dt} --precision double --t-end 0.5 --interval 0.125", order as i32)
}

/// Returns the numbers of the bodies in a text.
fn rows(path: &Path) -> Vec<Vec<f64>> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| row.split(' ').map(|word| word.parse().unwrap()).collect()).collect()
}

/// Returns a setting of a snapshot.
fn setting(path: &Path, name: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let name = format!("# {name} ");
    text.lines().find_map(|line| line.strip_prefix(&name)).unwrap_or_else(|| panic!("no {name} in {text}")).into()
}

#[test]
fn bodies_with_softenings_move_as_those_of_a_cluster() {
    let folder = folder("cluster");
    // In the second file later bodies have the softening of the run, whose group comes first.
    let of_few = |number| if number < 5 { 0.1 } else { 0.0 };
    let of_each = |number| (number % 32) as f64 / 64.0;
    let files = [
        ("two", softening as fn(usize) -> f64, vec![0.2, 0.05]),
        ("zero", of_few, vec![0.0, 0.1]),
        ("many", of_each, (0..32).map(of_each).collect()),
    ];
    for (name, soft, groups) in files {
        let path = csv(&folder, name, soft);
        for order in [Order::Second, Order::Fourth, Order::Sixth, Order::Eighth] {
            let setup = Setup::on_cpu(order, Precision::Double);
            let dt_max = if order == Order::Second { STEP } else { 0.0 };
            let choices = Choices { dt_max, ..Choices::default() };
            let mut cluster = Cluster::new(System::new(&setup).unwrap(), choices).unwrap();
            let change = |number: usize| {
                let [mass, x, y, z, vx, vy, vz] = body(number);
                let (position, velocity) = (Some([x, y, z]), Some([vx, vy, vz]));
                let softening = Some(soft(number));
                (number as i64, Change { mass: Some(mass), position, velocity, softening, ..Change::default() })
            };
            cluster.add(&(0..COUNT).map(change).collect::<Vec<_>>()).unwrap();
            let before = cluster.energies().unwrap().total();
            for number in 1..=4 {
                cluster.evolve(0.125 * f64::from(number), None, &mut |_, _| true).unwrap();
            }
            let to = folder.join(format!("{name}-{}", order as i32));
            let run = format!("{} {} --output {}", path.display(), options(order), to.display());
            let found = report(&run).unwrap();
            let last = to.join("snapshot-000004.txt");
            assert_eq!(setting(&last, "initial_energy").parse(), Ok(before), "{order:?}");
            let after = cluster.energies().unwrap().total();
            assert!((found["final_energy"].as_f64().unwrap() / after - 1.0).abs() < 1e-14, "{order:?}");
            assert_eq!(found["steps"], cluster.counts().steps);
            assert_eq!(found["eps"], Value::Null);
            assert_eq!(found["softenings"], serde_json::json!(groups));
            for (number, (row, body)) in rows(&last).iter().zip(cluster.bodies()).enumerate() {
                assert_eq!(row[1..7], [body.position, body.velocity].concat(), "body {number} in {order:?}");
                assert_eq!(row.last(), Some(&soft(number)));
            }
        }
    }
}

#[test]
fn a_resumed_run_has_the_same_bits() {
    goes_on_with_the_same_bits(&folder("resumed"), softening);
}

#[test]
fn a_resumed_run_has_the_same_bits_with_a_softening_of_each_body() {
    goes_on_with_the_same_bits(&folder("resumed-many"), |number| 0.1 + number as f64 / 64.0);
}

fn goes_on_with_the_same_bits(folder: &Path, softening: fn(usize) -> f64) {
    let path = csv(folder, "stars", softening);
    for order in [Order::Second, Order::Fourth, Order::Sixth] {
        for (format, extension) in [("text", "txt"), ("hdf5", "h5")] {
            let [whole, part, new] =
                ["whole", "part", "new"].map(|name| folder.join(format!("{name}-{}-{format}", order as i32)));
            let options = format!("{} --format {format}", options(order));
            report(&format!("{} {options} --output {}", path.display(), whole.display())).unwrap();
            let snapshot = |number: usize| format!("snapshot-{number:06}.{extension}");
            let from = whole.join(snapshot(2));
            let to = format!("--format {format} --output {}", part.display());
            report(&format!("--resume {} --t-end 0.5 {to}", from.display())).unwrap();
            // A snapshot as the input of a new run has the softenings too.
            let first = whole.join(snapshot(0));
            report(&format!("{} {options} --output {}", first.display(), new.display())).unwrap();
            let [whole, part, new] = [whole, part, new].map(|to| std::fs::read(to.join(snapshot(4))).unwrap());
            assert!(whole == part && whole == new, "order {order:?} {format}");
        }
    }
    let from = folder.join("whole-4-text/snapshot-000002.txt").display().to_string();
    // The forces of another order begin anew, with the same softenings.
    assert!(report(&format!("--resume {from} --order 6")).unwrap()["softenings"].is_array());
    let error = report(&format!("--resume {from} --eps 0.1")).unwrap_err();
    assert!(error.starts_with("kyoho: --eps is 0.1; allowed: no --eps with bodies that have"), "{error}");
}

#[test]
fn a_column_of_one_softening_is_that_of_the_option() {
    let folder = folder("one");
    let path = csv(&folder, "one", |_| 0.1);
    let text = std::fs::read_to_string(&path).unwrap().replace("eps", "other");
    std::fs::write(folder.join("without"), text).unwrap();
    for order in [Order::Second, Order::Fourth] {
        let to = |name: &str| folder.join(format!("{name}-{}", order as i32));
        let run = |name: &str, more: &str| {
            let output = format!("--output {}", to(name).display());
            report(&format!("{} {} {output} {more}", folder.join(name).display(), options(order))).unwrap()
        };
        let [with, without] = [run("one", ""), run("without", "--eps 0.1")];
        assert_eq!((&with["eps"], &with["final_energy"]), (&without["eps"], &without["final_energy"]));
        let [with, without] = ["one", "without"].map(|name| rows(&to(name).join("snapshot-000004.txt")));
        for (mut with, without) in with.into_iter().zip(without) {
            assert_eq!(with.pop(), Some(0.1));
            assert_eq!(with, without);
        }
        let resumed = to("one").join("snapshot-000002.txt");
        assert_eq!(report(&format!("--resume {} --t-end 0.375", resumed.display())).unwrap()["eps"], 0.1);
    }
}

#[test]
fn softenings_are_in_the_units_of_their_file() {
    let folder = folder("units");
    let lines = "# units pc Msun km/s\n# m x y z vx vy vz eps\n1 0 0 0 0 0 0 0.5\n1 1 0 0 0 0.01 0 0.25\n";
    std::fs::write(folder.join("pc"), lines).unwrap();
    let options = "--t-end 1e-3 --interval 1e-3";
    let found = report(&format!("{} --units SI {options}", folder.join("pc").display())).unwrap();
    let expected = [0.5, 0.25].map(|length| length * 3.085_677_581_491_367e16);
    for (found, expected) in found["softenings"].as_array().unwrap().iter().zip(expected) {
        assert!((found.as_f64().unwrap() / expected - 1.0).abs() < 1e-15, "{found}");
    }
    let of_text = run(&format!("run {} --backend cpu {options}", folder.join("pc").display())).stdout;
    let of_text = String::from_utf8(of_text).unwrap();
    assert!(of_text.starts_with("2 bodies, Hermite 4, precision mixed, eps 0.25 to 0.5, eta"), "{of_text}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = folder("refused");
    let path = csv(&folder, "stars", softening).display().to_string();
    let refused = |options: &str| report(options).unwrap_err();
    assert_eq!(
        refused(&format!("{path} --eps 0.1")),
        "kyoho: --eps is 0.1; allowed: no --eps with bodies that have softenings of their own, in a column eps"
    );
    let subsystems = refused(&format!("{path} --subsystems"));
    let expected = "kyoho: --subsystems is given with several softenings; allowed: with --order 4, 6 or 8 and --eps 0";
    assert!(subsystems.starts_with(expected), "{subsystems}");
    let errors = refused(&format!("{path} --order 2 --dt {STEP} --accuracy 1e-3 --report-error"));
    assert_eq!(
        errors,
        "kyoho: --report-error is given with several softenings; allowed: with one softening of all bodies"
    );
    let negative = csv(&folder, "negative", |number| if number == 1 { -1.0 } else { 0.1 }).display().to_string();
    let expected = format!("kyoho: {negative}, line 3: the softening is -1; allowed: zero and above");
    assert_eq!(refused(&negative), expected);
}

#[test]
fn bodies_with_a_tree_have_any_number_of_softenings() {
    let folder = folder("trees");
    let tree = format!("--order 2 --dt {STEP} --accuracy 1e-3 --t-end {STEP} --interval {STEP}");
    for different in [16, 17] {
        let path = csv(&folder, &different.to_string(), |number| (number % different) as f64 + 0.5);
        report(&format!("{} {tree}", path.display())).unwrap();
    }
}
