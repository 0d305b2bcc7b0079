//! The examples and models with known answers.

use std::path::{Path, PathBuf};

use crate::common::{folder, run};
use crate::{json, length, number, rows, separation};

fn example(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("examples").join(name)
}

/// Szebehely & Peters (1967): bodies 2 and 3 (masses 4 and 5) come closest near t = 15.83, to 4e-4.
/// After t = 60 body 1 (mass 3) escapes and leaves them as a binary. Digits beyond those of the
/// paper come from an extrapolation (Gragg, Bulirsch, Stoer) in quadruple precision: distance
/// 4.13825e-4; at t = 60, body 1 at (0.743808, 1.939948).
#[test]
fn the_pythagorean_problem_ends_in_a_binary_and_an_escaper() {
    let folder = folder("pythagorean");
    let report = json(&format!(
        "run examples/pythagorean.txt --t-end 80 --interval 1 --eta 2e-5 --precision double --output {}",
        folder.display()
    ));
    assert!(number(&report["largest_relative_error"]) < 1e-8, "{}", report["largest_relative_error"]);

    let closest = &report["closest_approach"];
    assert_eq!(closest["bodies"], serde_json::json!([2, 3]));
    assert!((number(&closest["time"]) - 15.8299).abs() < 1e-4, "{closest}");
    assert!((number(&closest["distance"]) - 4.13825e-4).abs() < 1e-9, "{closest}");

    let at = |time: u32| rows(&folder.join(format!("snapshot-{time:06}.txt")));
    let first = &at(60)[0];
    assert!((first[1] - 0.743808).abs() < 0.01 && (first[2] - 1.939948).abs() < 0.02, "{first:?}");

    let bodies = at(80);
    let pair = |row: &[f64], from: &[f64]| {
        let velocity = length([row[4] - from[4], row[5] - from[5], row[6] - from[6]]);
        0.5 * velocity.powi(2) - (row[0] + from[0]) / length(separation(row, from))
    };
    // The energy of the relative motion of 2 and 3 is negative, so they are bound.
    assert!(pair(&bodies[1], &bodies[2]) < -5.0);
    // For body 1 and the centre of mass of the others the energy is positive, and it moves away.
    let mut centre = vec![9.0];
    centre.extend((1..7).map(|k| (4.0 * bodies[1][k] + 5.0 * bodies[2][k]) / 9.0));
    assert!(pair(&bodies[0], &centre) > 0.1);
    let away: f64 = (1..4).map(|k| (bodies[0][k] - centre[k]) * (bodies[0][k + 3] - centre[k + 3])).sum();
    assert!(away > 0.0 && length(separation(&bodies[0], &centre)) > 40.0);
}

/// Returns the angle, in degrees from 0 to 360, by which a planet has gone round the Sun between
/// two sets of bodies.
fn swept(planet: usize, from: &[Vec<f64>], to: &[Vec<f64>]) -> f64 {
    let longitude = |bodies: &[Vec<f64>]| {
        let [x, y, _] = separation(&bodies[planet], &bodies[0]);
        y.atan2(x).to_degrees()
    };
    (longitude(to) - longitude(from)).rem_euclid(360.0)
}

/// A planet: its row, its period in days by Kepler's third law for the elements that the file was
/// made from, and the largest angle, in degrees, by which the other planets may push it from its
/// place by that law (Saturn moves Jupiter by a third of a degree).
const PERIODS: [(&str, usize, f64, f64); 3] = [
    ("Mercury", 1, 87.9694586371, 0.02),
    ("Earth and Moon", 3, 365.2577730706, 0.05),
    ("Jupiter", 5, 4332.6916873977, 0.35),
];

/// Integrates a file of the Sun and planets in SI units for some days, and returns the bodies at
/// the end.
fn planets_after(days: f64, input: &Path, precision: &str, folder: &Path) -> Vec<Vec<f64>> {
    let seconds = days * 86400.0;
    let report = json(&format!(
        "run {} --G 6.6743e-11 --eta 0.001 --precision {precision} --t-end {seconds} --interval {seconds} \
         --overwrite --output {}",
        input.display(),
        folder.display()
    ));
    assert!(number(&report["largest_relative_error"]) < 1e-7, "{report}");
    let bodies = rows(&folder.join("snapshot-000001.txt"));
    assert!(bodies.iter().flatten().all(|number| number.is_finite()));
    bodies
}

/// Returns the degrees by which a planet misses a full turn.
fn missed(planet: usize, start: &[Vec<f64>], end: &[Vec<f64>]) -> f64 {
    (swept(planet, start, end) + 180.0).rem_euclid(360.0) - 180.0
}

#[test]
fn planets_keep_their_periods() {
    let folder = folder("planets");
    let start = rows(&example("planets.txt"));
    for (name, planet, days, limit) in PERIODS {
        let double = planets_after(days, &example("planets.txt"), "double", &folder);
        let error = missed(planet, &start, &double);
        assert!(error.abs() < limit, "{name}: {error}");
        let mixed = planets_after(days, &example("planets.txt"), "mixed", &folder);
        assert!(swept(planet, &double, &mixed).min(swept(planet, &mixed, &double)) < 1e-3, "{name}");
    }
}

#[test]
fn a_planet_alone_with_the_sun_keeps_its_period_to_a_thousandth_of_a_degree() {
    let folder = folder("planet-alone");
    let lines = std::fs::read_to_string(example("planets.txt")).expect("the example is there");
    let lines: Vec<&str> = lines.lines().filter(|line| !line.starts_with('#')).collect();
    for (name, planet, days, _) in PERIODS {
        let input = folder.join("alone.txt");
        std::fs::write(&input, [lines[0], lines[planet]].join("\n")).expect("the folder takes files");
        let end = planets_after(days, &input, "double", &folder);
        let error = missed(1, &rows(&input), &end);
        assert!(error.abs() < 1e-3, "{name}: {error}");
    }
}

/// Mercury in its perihelion, 0.3075 astronomical units from the Sun, is the closest pair in a
/// Mercury year.
#[test]
fn nearest_neighbours_are_right_where_all_are_far() {
    for precision in ["mixed", "double"] {
        let days = 87.97 * 86400.0;
        let report = json(&format!(
            "run examples/planets.txt --G 6.6743e-11 --eta 0.002 --precision {precision} --t-end {days} --interval {days}"
        ));
        let closest = &report["closest_approach"];
        assert_eq!(closest["bodies"], serde_json::json!([1, 2]), "{precision}");
        assert!((number(&closest["distance"]) / (0.387099 * (1.0 - 0.205636) * 149597870700.0) - 1.0).abs() < 1e-3);
    }
}

#[test]
fn a_plummer_model_keeps_its_energy() {
    for (options, limit) in [
        ("--precision mixed --eta 0.02", 1e-6),
        ("--precision double --eta 0.01", 1e-7),
        ("--order 6 --precision mixed", 1e-8),
        ("--order 6 --precision double", 1e-10),
        ("--order 8", 1e-10),
    ] {
        let report = json(&format!("run examples/plummer1024.txt --backend cpu --t-end 1 --eps 0.01 {options}"));
        assert!(number(&report["largest_relative_error"]) < limit, "{options}: {}", report["largest_relative_error"]);
        assert!((number(&report["initial_energy"]) + 0.25).abs() < 1e-3);
        let (steps, blocks) = (number(&report["steps"]), number(&report["block_steps"]));
        assert!(steps > 1024.0 * 16.0 && number(&report["interactions"]) >= 1024.0 * steps);
        for (mean, sum) in [("average_block", steps), ("seconds_per_block_step", number(&report["seconds"]))] {
            assert!((number(&report[mean]) * blocks / sum - 1.0).abs() < 1e-12, "{mean}: {report}");
        }
    }
}

#[test]
fn the_plummer_example_is_what_the_command_makes() {
    let folder = folder("plummer");
    let made = folder.join("plummer.txt");
    let output = run("plummer 1024 --seed 1");
    std::fs::write(&made, output.stdout).expect("the folder takes files");
    let (committed, made) = (rows(&example("plummer1024.txt")), rows(&made));
    assert_eq!((committed.len(), made.len()), (1024, 1024));
    // Mathematical libraries may differ in the last bits.
    for (a, b) in committed.iter().flatten().zip(made.iter().flatten()) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
}

/// With more than 65536 bodies the pairs are not summed.
#[test]
fn a_large_model_is_made_at_once_and_a_seed_names_it() {
    let model = |seed: u32| {
        let output = run(&format!("plummer 200000 --seed {seed}"));
        assert!(output.status.success());
        output.stdout
    };
    let first = model(3);
    assert!(first == model(3) && first != model(4));
    assert_eq!(first.iter().filter(|byte| **byte == b'\n').count(), 200_003);
}
