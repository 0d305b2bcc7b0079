//! Subsystems of `kyoho run`: close bodies move together, and snapshots keep the digits of their motion.

mod common;

use std::path::{Path, PathBuf};

use common::{folder, run};
use serde_json::Value;

/// Runs, and returns the report or the error.
fn report(options: &str) -> Result<Value, String> {
    let output = run(&format!("run --backend cpu --json {options}"));
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).expect("a report")),
        false => Err(String::from_utf8(output.stderr).expect("a text").trim_end().into()),
    }
}

const COUNT: usize = 32;
const ECCENTRICITY: f64 = 0.6;

/// Writes bodies on a ring that turns, the first of which is a binary of this semi-major axis, and
/// returns the path.
fn ring(folder: &Path, semi_major_axis: f64) -> PathBuf {
    let mass = 1.0 / COUNT as f64;
    let mut lines = String::new();
    for place in 0..COUNT {
        let (sine, cosine) = (place as f64 * std::f64::consts::TAU / COUNT as f64).sin_cos();
        let height = 0.2 * (3.0 * place as f64).sin();
        let far = semi_major_axis * (1.0 + ECCENTRICITY);
        let speed = (mass / semi_major_axis * (1.0 - ECCENTRICITY) / (1.0 + ECCENTRICITY)).sqrt();
        let parts = if place == 0 { &[(0.5, 0.5), (0.5, -0.5)][..] } else { &[(1.0, 0.0)] };
        for (part, side) in parts {
            let [x, vz] = [cosine + side * far, side * speed];
            lines += &format!("{} {x} {sine} {height} {} {} {vz}\n", part * mass, -0.6 * sine, 0.6 * cosine);
        }
    }
    let path = folder.join(format!("ring-{semi_major_axis:e}.txt"));
    std::fs::write(&path, lines).expect("a file");
    path
}

#[test]
fn a_hard_binary_takes_few_steps_and_keeps_its_orbit() {
    let ring = ring(&folder("hard"), 1e-5).display().to_string();
    for order in [4, 6, 8] {
        let options = format!("{ring} --order {order} --precision double --t-end 0.25 --interval 0.125");
        let report = report(&format!("{options} --subsystems --eta 0.003")).unwrap();
        // The binary makes 1e5 turns and more.
        let number = |value: &Value| value.as_f64().unwrap();
        assert!(number(&report["block_steps"]) < 2000.0, "{report}");
        assert!(number(&report["largest_relative_error"]) < 1e-9, "{report}");
        assert_eq!(report["binaries"], 1);
        let tightest = &report["tightest_binary"];
        assert_eq!(tightest["members"], serde_json::json!([[1], [2]]));
        assert!((number(&tightest["semi_major_axis"]) / 1e-5 - 1.0).abs() < 1e-6, "{tightest}");
        assert!((number(&tightest["eccentricity"]) - ECCENTRICITY).abs() < 1e-4, "{tightest}");
        let period = std::f64::consts::TAU * (1e-15 * COUNT as f64).sqrt();
        assert!((number(&tightest["period"]) / period - 1.0).abs() < 1e-6, "{tightest}");
    }
    let text = String::from_utf8(run(&format!("run {ring} --backend cpu --subsystems 1e-4 --t-end 0.01")).stdout);
    let text = text.unwrap();
    assert!(text.contains("\nbinaries        1 in subsystems, which form within 1.000e-4\n"), "{text}");
    assert!(text.contains("\ntightest        1 and 2: a = 1.00000"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_resumed_run_has_the_same_bits() {
    let folder = folder("resumed");
    // The first has no averaged orbit, but steps along it.
    for (order, semi_major_axis) in [(4, 1e-3), (6, 1e-6), (8, 1e-4)] {
        let ring = ring(&folder, semi_major_axis).display().to_string();
        for (format, extension) in [("text", "txt"), ("hdf5", "h5")] {
            let whole = folder.join(format!("whole-{order}-{format}"));
            let part = folder.join(format!("part-{order}-{format}"));
            let options = format!("--order {order} --subsystems --interval 0.0625 --t-end 0.25 --format {format}");
            let of_whole = report(&format!("{ring} {options} --output {}", whole.display())).unwrap();
            assert_eq!(of_whole["binaries"], 1);
            let from = whole.join(format!("snapshot-000002.{extension}"));
            let resumed = format!("--resume {} --t-end 0.25", from.display());
            for more in ["", "--subsystems"] {
                let to = format!("--overwrite --output {}", part.display());
                let of_part = report(&format!("{resumed} {to} {more}")).unwrap();
                assert_eq!(of_part["final_energy"], of_whole["final_energy"]);
                assert_eq!(of_part["tightest_binary"], of_whole["tightest_binary"]);
                let last = format!("snapshot-000004.{extension}");
                let [whole, part] = [&whole, &part].map(|folder| std::fs::read(folder.join(&last)).unwrap());
                assert!(whole == part, "order {order} {format} {more}");
            }
            // In another order the forces begin anew, but the orbit keeps digits that places do not have.
            let other = if order == 4 { 6 } else { 4 };
            let other = report(&format!("--resume {} --order {other} --t-end 0.1875", from.display())).unwrap();
            let axis = |report: &Value| report["tightest_binary"]["semi_major_axis"].as_f64().unwrap();
            let difference = (axis(&other) / axis(&of_whole) - 1.0).abs();
            assert!(difference < if semi_major_axis == 1e-6 { 1e-13 } else { 1e-6 }, "{difference:e}");
        }
    }
}

/// Subsystems that form, part and are under way at the snapshot.
#[test]
fn a_resumed_run_has_the_same_bits_where_subsystems_come_and_go() {
    let folder = folder("come-and-go");
    for order in [4, 6, 8] {
        let [whole, part] = ["whole", "part"].map(|name| folder.join(format!("{name}-{order}")));
        let options = format!("--plummer 64 --seed 3 --order {order} --subsystems 0.05 --t-end 0.5 --interval 0.125");
        report(&format!("{options} --output {}", whole.display())).unwrap();
        let from = whole.join("snapshot-000002.txt");
        let text = std::fs::read_to_string(&from).unwrap();
        assert!(text.contains("\n# subsystems 3\n"), "{order}");
        let resumed = format!("--resume {} --t-end 0.5 --threads 1 --output {}", from.display(), part.display());
        report(&resumed).unwrap();
        let [whole, part] = [whole, part].map(|folder| std::fs::read(folder.join("snapshot-000004.txt")).unwrap());
        assert!(whole == part, "order {order}");
    }
}

#[test]
fn subsystems_are_for_hermite_schemes_without_softening() {
    let refused = |options: &str| report(&format!("--plummer 8 {options}")).unwrap_err();
    let softened = refused("--eps 0.1 --subsystems");
    let expected = "kyoho: --subsystems is given with --eps 0.1; allowed: with --order 4, 6 or 8 and --eps 0; in other \
                    runs --subsystems 0";
    assert_eq!(softened, expected);
    let leapfrog = refused("--order 2 --dt 0.01 --subsystems 0.001");
    assert_eq!(leapfrog, expected.replace("--eps 0.1;", "order 2;"));
    for wrong in ["-1", "nan"] {
        let error = refused(&format!("--subsystems {wrong}")).to_lowercase();
        assert!(error.contains(&format!("--subsystems is {wrong}; allowed: numbers from zero")), "{error}");
    }
    let many = report("--plummer 128 --subsystems 10").unwrap_err();
    let expected = "kyoho: --subsystems is 10; allowed: less: 128 bodies come together within it, at most 100 can";
    assert_eq!(many, expected);
    let file = refused("--subsystems stars.txt");
    assert!(file.contains("allowed: numbers, such as 0.01 or 1e-3; a file stands before --subsystems"), "{file}");
    let folder = folder("refused");
    let ring = ring(&folder, 1e-3).display().to_string();
    let to = folder.join("snapshots");
    report(&format!("{ring} --subsystems --t-end 0.125 --interval 0.125 --output {}", to.display())).unwrap();
    let resume = format!("--resume {}/snapshot-000001.txt --t-end 0.25", to.display());
    let of_snapshot = report(&format!("{resume} --eps 0.1")).unwrap_err();
    assert!(of_snapshot.contains("--subsystems is in the snapshot with --eps 0.1; allowed"), "{of_snapshot}");
    assert!(report(&format!("{resume} --eps 0.1 --subsystems 0")).unwrap()["binaries"].is_null());
}

/// Writes a binary that soon merges before two bodies far from it, and returns the path.
fn merging(folder: &Path) -> PathBuf {
    let lines = "0.4 4.8e-5 0 0 0 66 0\n0.6 -3.2e-5 0 0 0 -44 0\n1e-3 1 0 0 0 1 0\n1e-3 0 2 0 -0.7 0 0\n";
    let path = folder.join("merging.txt");
    std::fs::write(&path, lines).expect("a file");
    path
}

#[test]
fn two_bodies_merge_and_the_run_goes_on() {
    let folder = folder("merging");
    let bodies = merging(&folder).display().to_string();
    let to = |name: &str| folder.join(name).display().to_string();
    let runs =
        [(4, "1e-3", "text", "txt"), (6, "1e-3", "hdf5", "h5"), (8, "1e-3", "text", "txt"), (6, "", "text", "txt")];
    for (order, radius, format, extension) in runs {
        let options = format!("--order {order} --t-end 0.015625 --interval 0.001953125 --format {format} --overwrite");
        let with = format!("{bodies} {options} --speed-of-light 1000 --subsystems {radius} --output");
        let of_whole = report(&format!("{with} {}", to("whole"))).unwrap();
        let mergers = of_whole["mergers"].as_array().unwrap();
        assert_eq!((mergers.len(), of_whole["speed_of_light"].as_f64()), (1, Some(1000.0)));
        // The heavier one stays.
        assert_eq!(mergers[0]["bodies"], serde_json::json!([2, 1]));
        let number = |name: &str| mergers[0][name].as_f64().unwrap();
        assert!(number("time") > 0.002 && number("time") < 0.005, "{mergers:?}");
        assert!((number("distance") / 6e-6 - 1.0).abs() < 1e-6, "{mergers:?}");
        // From before it and from after it.
        for from in [1, 4] {
            let from = format!("{}/snapshot-00000{from}.{extension}", to("whole"));
            let part = report(&format!("--resume {from} {options} --output {}", to("part"))).unwrap();
            assert_eq!(part["final_energy"], of_whole["final_energy"]);
            let last = format!("snapshot-000008.{extension}");
            let [whole, part] = ["whole", "part"].map(|name| std::fs::read(folder.join(name).join(&last)).unwrap());
            assert!(whole == part, "order {order} {from}");
            if format == "text" {
                let text = String::from_utf8(whole).unwrap();
                assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 3);
                assert!(text.contains("\n# speed-of-light 1000\n"), "{text}");
                // A radius that is chosen is chosen anew for the bodies that are left.
                let first = std::fs::read_to_string(folder.join("whole/snapshot-000001.txt")).unwrap();
                let radii = [&first, &text].map(|text| text.lines().find(|line| line.contains("-radius ")).unwrap());
                assert_eq!(radii[0] == radii[1], !radius.is_empty(), "{radii:?}");
            }
        }
    }
    let options = "--subsystems 1e-3 --speed-of-light 1000 --t-end 0.01 --backend cpu";
    let text = String::from_utf8(run(&format!("run {bodies} {options}")).stdout).unwrap();
    assert!(text.contains("\nmergers         1, the last of bodies 2 and 1 at time 0.00"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_speed_of_light_is_positive_and_that_of_subsystems() {
    for wrong in ["0", "-1", "nan", "inf"] {
        let error = report(&format!("--plummer 8 --subsystems --speed-of-light {wrong}")).unwrap_err();
        assert!(
            error.to_lowercase().contains(&format!("--speed-of-light is {wrong}; allowed: above 0, at")),
            "{error}"
        );
    }
    let error = report("--plummer 8 --speed-of-light 100").unwrap_err();
    assert!(error.contains("--speed-of-light is given without --subsystems; allowed: with these"), "{error}");
}

#[test]
fn masses_that_no_subsystem_can_have_are_refused_before_a_run() {
    let path = folder("masses").join("stars.txt");
    std::fs::write(&path, "1 0 0 0 0 0 0\n1e-80 0.01 0 0 0 10 0\n1 9 0 0 0 0 0\n").expect("a file");
    let with = report(&format!("{} --t-end 0.01 --subsystems", path.display())).unwrap_err();
    assert!(with.contains("the gravitational constant times the mass of body 2 is"), "{with}");
    assert!(with.contains("1e-75 to 1e75, or a mass of 0"), "{with}");
    report(&format!("{} --t-end 0.01 --eps 0.01", path.display())).unwrap();
}
