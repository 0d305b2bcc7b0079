//! The `kyoho` command as its users run it: real inputs with known answers, and its errors.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use kyoho_core::Interaction;
use kyoho_laws::catalogue::CATALOGUE;
use serde_json::Value;

use common::{folder, kyoho, run};

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

fn example(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("examples").join(name)
}

/// Returns the position of one row relative to another.
fn separation(row: &[f64], from: &[f64]) -> [f64; 3] {
    [row[1] - from[1], row[2] - from[2], row[3] - from[3]]
}

fn length(vector: [f64; 3]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

// Real inputs.

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

// The integrators.

#[test]
fn a_resumed_run_has_the_same_bits() {
    let orders = [
        "--order 4 --eta 0.02 --precision mixed",
        "--order 2 --dt 0.01 --precision double",
        "--backend cpu --order 6 --precision mixed --eta4 0.02",
        "--backend cpu --order 8",
    ];
    for (place, order) in orders.iter().enumerate() {
        let (whole, part) = (folder(&format!("whole-{place}")), folder(&format!("part-{place}")));
        let settings = format!("--plummer 100 --seed 4 --eps 0.02 --interval 0.1 {order}");
        let uninterrupted = json(&format!("run {settings} --t-end 0.5 --output {}", whole.display()));
        json(&format!("run {settings} --t-end 0.2 --output {}", part.display()));
        // The snapshot has the settings, but not the number of threads, which has no effect on the
        // results.
        let resumed = json(&format!(
            "run --resume {} --t-end 0.5 --threads 3 --output {} {}",
            part.join("snapshot-000002.txt").display(),
            part.display(),
            if order.contains("cpu") { "--backend cpu" } else { "" }
        ));
        for quantity in ["initial_energy", "final_energy", "relative_error"] {
            let bits = |report: &Value| number(&report[quantity]).to_bits();
            assert_eq!(bits(&uninterrupted), bits(&resumed), "{quantity}: {order}");
        }
        let last = "snapshot-000005.txt";
        assert_eq!(rows(&whole.join(last)), rows(&part.join(last)), "{order}");
        assert_eq!(rows(&whole.join(last)).len(), 100);
    }
}

/// Returns the lines of a run's table.
fn table(output: Output) -> Vec<String> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().skip_while(|line| !line.trim_start().starts_with("time "));
    lines.skip(1).take_while(|line| !line.starts_with("initial")).map(String::from).collect()
}

#[test]
fn an_interrupted_run_prints_the_same_lines_and_writes_the_same_files() {
    // Sums of these intervals are rounded.
    let settings = "--plummer 20 --seed 4 --eps 0.02 --backend cpu --interval 0.01";
    for (format, extension) in [("text", "txt"), ("hdf5", "h5")] {
        let (whole, part) = (folder(&format!("uninterrupted-{format}")), folder(&format!("interrupted-{format}")));
        let lines = table(run(&format!("run {settings} --t-end 0.06 --format {format} --output {}", whole.display())));
        table(run(&format!("run {settings} --t-end 0.02 --format {format} --output {}", part.display())));
        for (number, end) in [(2, "0.03"), (3, "0.06")] {
            let snapshot = part.join(format!("snapshot-{number:06}.{extension}"));
            let resume = format!("run --resume {} --t-end {end} --backend cpu", snapshot.display());
            let resumed = table(run(&format!("{resume} --format {format} --output {}", part.display())));
            assert_eq!(resumed, lines[number..][..resumed.len()]);
        }
        for number in 0..=6 {
            let [whole, part] = [&whole, &part]
                .map(|folder| std::fs::read(folder.join(format!("snapshot-{number:06}.{extension}"))).unwrap());
            assert!(whole == part, "snapshot {number} in {format} has other bytes");
        }
    }
    // With another interval, times are counted from the time of the change.
    let (whole, part) = (folder("changed"), folder("changed-interrupted"));
    let first = whole.with_file_name("uninterrupted-text").join("snapshot-000003.txt");
    let resume = |from: &Path, end: &str, folder: &Path| {
        let from = format!("run --resume {} --backend cpu --interval 0.007", from.display());
        table(run(&format!("{from} --t-end {end} --output {}", folder.display())))
    };
    let lines = resume(&first, "0.065", &whole);
    resume(&first, "0.044", &part);
    assert_eq!(resume(&part.join("snapshot-000005.txt"), "0.065", &part), lines[2..]);
    let [whole, part] = [whole, part].map(|folder| std::fs::read(folder.join("snapshot-000008.txt")).unwrap());
    assert!(whole == part);
}

/// Returns a Python that has h5py: the machine's, or else one made from PyPI's packages, which
/// stays for later runs. Returns none if `KYOHO_SKIP_AMUSE=1` says that they cannot be fetched.
fn python_with_h5py() -> Option<PathBuf> {
    let has_h5py = |python: &Path| {
        let mut python = Command::new(python);
        python.args(["-c", "import h5py"]).output().is_ok_and(|output| output.status.success())
    };
    if has_h5py(Path::new("python3")) {
        return Some("python3".into());
    }
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("h5py");
    let python = environment.join("bin/python");
    if has_h5py(&python) {
        return Some(python);
    }
    if std::env::var_os("KYOHO_SKIP_AMUSE").is_some_and(|value| value == "1") {
        eprintln!("KYOHO_SKIP_AMUSE=1: snapshots were not read by h5py");
        return None;
    }
    let succeed = |command: &mut Command| {
        let output = command.output().expect("python3 is there");
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    // Debian's Python cannot put pip into an environment, but its own pip can install into one.
    succeed(Command::new("python3").args(["-m", "venv", "--clear", "--without-pip"]).arg(&environment));
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--python"]).arg(&python).args(["install", "--quiet", "--disable-pip-version-check"]);
    succeed(pip.args(["--timeout", "30", "h5py==3.16.0"]));
    Some(python)
}

#[test]
fn h5py_reads_snapshots_and_writes_inputs() {
    let Some(python) = python_with_h5py() else { return };
    let folder = folder("h5py");
    let python = |script: &str| {
        let output = Command::new(&python).current_dir(&folder).args(["-c", script]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for format in ["text", "hdf5"] {
        let settings = format!("--backend cpu --order 6 --eps 0.1 --t-end 0.25 --format {format}");
        json(&format!("run --plummer 20 {settings} --output {}", folder.join(format).display()));
    }
    let text = rows(&folder.join("text/snapshot-000016.txt"));
    let read = python(
        "import h5py\n\
         with h5py.File('hdf5/snapshot-000016.h5', 'r') as file:\n\
         \x20   assert file.attrs['time'] == 0.25 and file.attrs['precision'] == b'mixed'\n\
         \x20   vectors = ['positions', 'velocities', 'accelerations', 'jerks', 'snaps', 'crackles']\n\
         \x20   assert sorted(file) == sorted(vectors + ['masses', 'steps'])\n\
         \x20   for body in range(file.attrs['bodies']):\n\
         \x20       row = [file['masses'][body], *[x for name in vectors for x in file[name][body]], file['steps'][body]]\n\
         \x20       print(*[repr(float(x)) for x in row])\n",
    );
    let read: Vec<Vec<f64>> =
        read.lines().map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect();
    assert_eq!(read, text);
    // Bodies of subsystems stand around centres of mass.
    let binary = "0.5 0 0 0 0 0 0\n0.5 1e-4 0 0 0 100 0\n0.1 1 0 0 0 1 0\n";
    std::fs::write(folder.join("binary.txt"), binary).unwrap();
    let input = folder.join("binary.txt").display().to_string();
    let to = folder.join("close").display().to_string();
    json(&format!("run {input} --backend cpu --subsystems 0.001 --t-end 0.1 --format hdf5 --output {to}"));
    python(
        "import h5py\n\
         with h5py.File('close/snapshot-000016.h5', 'r') as file:\n\
         \x20   assert file.attrs['subsystems'] == 1 and file.attrs['subsystem-radius'] == 0.001\n\
         \x20   assert file['subsystem_sizes'][:].tolist() == [2] and file['subsystem_masses'][0] == 1\n\
         \x20   assert file['subsystem_members'][:].tolist() == [1, 2]\n\
         \x20   for name in ['positions', 'velocities']:\n\
         \x20       around = file['subsystem_' + name][0] + file['subsystem_member_' + name][:]\n\
         \x20       assert (around == file[name][:2]).all()\n",
    );
    // Numbers of more bodies stand in several chunks, and sizes of chunks in one byte or in two.
    for bodies in [255, 256, 70_000] {
        run(&format!("model random {bodies} --format hdf5 --output {}", folder.join("many.h5").display()));
        let shapes = python(
            "import h5py\n\
             with h5py.File('many.h5', 'r') as file:\n\
             \x20   print(*[file[name][:].shape for name in ['masses', 'positions', 'velocities']])\n",
        );
        assert_eq!(shapes.trim(), format!("({bodies},) ({bodies}, 3) ({bodies}, 3)"));
    }
    // A file that h5py writes is an input if it has a mass, a position and a velocity for each
    // body.
    python(
        "import h5py\n\
         with h5py.File('model.h5', 'w') as file:\n\
         \x20   file['masses'] = [1.0, 1.0]\n\
         \x20   file['positions'] = [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]\n\
         \x20   file.create_dataset('velocities', data=[[0, 0.5, 0], [0, -0.5, 0]], dtype='f4', compression=None)\n",
    );
    std::fs::write(folder.join("model.txt"), "1 1 0 0 0 0.5 0\n1 -1 0 0 0 -0.5 0\n").unwrap();
    let [hdf5, text] = ["model.h5", "model.txt"].map(|input| {
        json(&format!("run {} --backend cpu --precision double", folder.join(input).display()))["energies"].clone()
    });
    assert_eq!(hdf5, text);
}

#[test]
fn a_run_resumed_with_other_forces_begins_anew() {
    let folder = folder("other-forces");
    let settings = "--interval 0.1 --precision double";
    json(&format!(
        "run --plummer 100 --seed 4 --eps 0.02 --order 2 --dt 0.01 {settings} --t-end 0.1 --output {}",
        folder.display()
    ));
    let resume = format!("run --resume {} --t-end 0.2 {settings}", folder.join("snapshot-000001.txt").display());
    // The leapfrog's snapshot has no jerks, and its steps do not suit a Hermite scheme.
    let hermite = json(&format!("{resume} --order 4"));
    let error = |report: &Value, place: usize| number(&report["energies"][place]["relative_error"]);
    assert!((error(&hermite, 1) - error(&hermite, 0)).abs() < 1e-7, "{hermite}");
    // A change of the softening does not count as an error of the integration.
    let softer = json(&format!("{resume} --order 4 --eps 0.1"));
    assert_eq!(error(&softer, 0), 0.0);
    assert!(error(&softer, 1).abs() < 1e-7, "{softer}");
}

#[test]
fn close_passages_that_change_an_energy_are_told() {
    let bodies = folder("radial").join("radial.txt");
    // The first body is far away, and the others fall towards each other from rest.
    std::fs::write(&bodies, "1e-9 50 0 0 0 0 0\n0.5 0.5 0.1 0 0 0 0\n0.5 -0.5 0.1 0 0 0 0\n").expect("a file");
    let arguments = format!("run {} --backend cpu --precision double --interval 1", bodies.display());
    assert_eq!(number(&json(&format!("{arguments} --t-end 1"))["energy_jumps"]), 0.0);
    let report = json(&format!("{arguments} --t-end 2"));
    let jump = &report["last_energy_jump"];
    assert!(number(&report["energy_jumps"]) >= 1.0 && jump["bodies"] == serde_json::json!([2, 3]), "{report}");
    assert!((number(&jump["time"]) - 1.11).abs() < 0.01 && number(&jump["energy"]).abs() > 10.0, "{jump}");
    let text = run(&format!("{arguments} --t-end 2"));
    let text = String::from_utf8(text.stdout).expect("text");
    assert!(text.contains("warning         close passages that changed an energy: "), "{text}");
    assert!(text.contains("; the last one of bodies 2 and 3 at time 1.11"), "{text}");
}

#[test]
fn the_accuracy_parameter_goes_with_the_order() {
    let folder = folder("accuracy-parameter");
    let settings = "--backend cpu --precision double";
    json(&format!("run --plummer 32 --eps 0.1 --eta 0.03 --t-end 0.1 {settings} --output {}", folder.display()));
    let resume = format!("run --resume {} --t-end 0.2 --backend cpu", folder.join("snapshot-000016.txt").display());
    for (order, eta) in [
        ("--order 4", 0.03),
        ("--order 6", 0.2),
        ("--order 6 --criterion average", 0.3),
        ("--order 8", 0.3),
        ("--order 8 --eta 0.2", 0.2),
    ] {
        assert_eq!(number(&json(&format!("{resume} {order}"))["eta"]), eta, "{order}");
    }
    // The report has the parameter of the averaged criterion if there is one.
    assert_eq!(json(&resume)["eta4"], Value::Null);
    assert_eq!(number(&json(&format!("{resume} --order 6 --precision mixed"))["eta4"]), 0.01);
}

#[test]
fn a_criterion_that_was_chosen_stays_with_the_order_in_every_precision() {
    let folder = folder("criterion");
    let settings = "--backend cpu --plummer 32 --eps 0.1 --t-end 0.125 --interval 0.0625";
    let report = |more: &str| json(&format!("run {settings} {more} --overwrite --output {}", folder.display()));
    let averaged = report("--order 6 --precision double --criterion average --eta4 0.02");
    assert_eq!(number(&averaged["eta4"]), 0.02);
    let resume = format!("run --resume {} --t-end 0.25 --backend cpu", folder.join("snapshot-000002.txt").display());
    assert_eq!(number(&json(&resume)["eta4"]), 0.02);
    assert_eq!(json(&format!("{resume} --criterion order"))["eta4"], Value::Null);
    assert_eq!(json(&format!("{resume} --order 8"))["eta4"], Value::Null);
    // The criterion of order 4 wants longer steps here.
    let own = report("--order 6 --precision double");
    assert!(number(&own["steps"]) > number(&averaged["steps"]), "{own} {averaged}");
    assert_eq!(own["steps"], report("--order 6 --precision double --criterion order")["steps"]);
    let mixed = ["usual", "average"].map(|name| report(&format!("--order 6 --criterion {name}"))["steps"].clone());
    assert_eq!(mixed[0], mixed[1]);
}

#[test]
fn half_the_step_has_the_error_that_the_order_promises() {
    let picture = folder("converge").join("errors.svg");
    let report = json(&format!("converge --backend cpu --plot {}", picture.display()));
    let rows = report.as_array().expect("an array of rows");
    assert_eq!(rows.len(), 3 * 7);
    for (rows, order) in rows.chunks(7).zip([4.0, 6.0, 8.0]) {
        assert!(rows.iter().all(|row| number(&row["order"]) == order));
        assert!(rows[0]["slope"].is_null());
        // The two longest steps are still too long for the slope, and below 1e-14 rounding
        // dominates.
        let slopes: Vec<f64> = rows[2..].iter().filter_map(|row| row["slope"].as_f64()).collect();
        let mean = slopes.iter().sum::<f64>() / slopes.len() as f64;
        assert!(slopes.len() >= 2 && (mean - order).abs() < 0.5, "{order}: {slopes:?}");
        assert!(number(&rows[6]["relative_error"]) < 1e-11);
    }
    let svg = std::fs::read_to_string(&picture).expect("the picture is there");
    // The picture has the points, and one more for each order in the legend.
    assert_eq!(svg.matches("<circle").count(), 3 * 7 + 3);

    let table = String::from_utf8(run("converge --backend cpu --order 6 --n 16 --halvings 2").stdout).unwrap();
    let steps = table.lines().skip(2).map(|line| line.split_whitespace().nth(1).unwrap());
    assert_eq!(steps.collect::<Vec<_>>(), ["0.125", "0.0625", "0.03125"], "{table}");
}

#[test]
fn the_leapfrog_is_of_second_order_in_the_shared_step() {
    let error = |step: f64| {
        let report = json(&format!(
            "run --plummer 64 --eps 0.2 --order 2 --dt {step} --precision double --t-end 1 --interval 1"
        ));
        assert_eq!(number(&report["block_steps"]), (1.0 / step).round());
        assert_eq!(number(&report["steps"]), 64.0 * (1.0 / step).round());
        assert_eq!(report["closest_approach"], Value::Null);
        number(&report["relative_error"]).abs()
    };
    let ratio = error(1.0 / 64.0) / error(1.0 / 128.0);
    assert!((3.5..4.5).contains(&ratio), "{ratio}");
}

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

#[test]
fn gravity_and_time_go_together() {
    // Four times the gravity from the same start at twice the speed gives the same motion in half
    // the time.
    let folder = folder("gravity");
    let (slow, fast) = (folder.join("slow.txt"), folder.join("fast.txt"));
    std::fs::write(&slow, "1 1 0 0 0 0.4 0\n1 -1 0 0 0 -0.4 0\n").expect("the folder takes files");
    std::fs::write(&fast, "1 1 0 0 0 0.8 0\n1 -1 0 0 0 -0.8 0\n").expect("the folder takes files");
    let settings = format!("--precision double --overwrite --output {}", folder.display());
    json(&format!("run {} --t-end 2 --interval 2 {settings}", slow.display()));
    let of_slow = rows(&folder.join("snapshot-000001.txt"));
    json(&format!("run {} --t-end 1 --interval 1 --G 4 {settings}", fast.display()));
    let of_fast = rows(&folder.join("snapshot-000001.txt"));
    for (slow, fast) in of_slow.iter().zip(&of_fast) {
        assert!(length(separation(slow, fast)) < 1e-14, "{slow:?} {fast:?}");
    }
}

#[test]
fn one_body_moves_straight() {
    let folder = folder("one");
    let input = folder.join("one.txt");
    std::fs::write(&input, "2 0 0 0 1 2 3\n").expect("the folder takes files");
    let report = json(&format!("run {} --t-end 4 --interval 4 --output {}", input.display(), folder.display()));
    assert_eq!(number(&report["final_energy"]), 14.0);
    assert_eq!(rows(&folder.join("snapshot-000001.txt"))[0][1..4], [4.0, 8.0, 12.0]);
}

#[test]
fn the_energy_error_is_drawn() {
    let picture = folder("plot").join("energy.svg");
    let report = json(&format!("run --plummer 16 --eps 0.1 --precision double --plot {}", picture.display()));
    let svg = std::fs::read_to_string(&picture).expect("the picture is there");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    // The picture has a point for each of the sixteen intervals and the line that joins them. The
    // error of the start is zero and has no place on a logarithmic axis.
    let energies = report["energies"].as_array().expect("an array of energies");
    let others = energies.iter().filter(|row| number(&row["relative_error"]) != 0.0).count();
    assert!(energies.len() == 17 && (1..17).contains(&others));
    assert_eq!(svg.matches("<circle").count(), others);
    assert!(svg.contains("<polyline") && svg.contains("|E - E0|"));
}

// The output of the other subcommands.

#[test]
fn info_says_what_would_be_used_and_why() {
    let output = kyoho().arg("info").env("KYOHO_THREADS", "3").env("KYOHO_PRECISION", "double").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for part in [
        "3 (from KYOHO_THREADS)",
        "double (from KYOHO_PRECISION)",
        "backend cpu: 1 device",
        "backend cuda",
        "backend opencl",
        "available: portable",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains("unknown"), "{text}");
    let output = kyoho().arg("info").env("KYOHO_DEVICE", "1").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = "unknown    KYOHO_DEVICE is set, which nothing reads; the nearest name is KYOHO_DEVICES";
    assert!(text.contains(line), "{text}");
    let output = kyoho().args(["info", "--level", "portable", "--backend", "cpu"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("CPU level  portable") && text.contains("cpu (as was asked for)"), "{text}");
}

/// A page is printed completely or not at all: an error is printed alone.
#[test]
fn info_refuses_what_is_not_there_before_it_prints() {
    let error = failure(1, "info --backend cpu --devices 0,7");
    assert_eq!(error, "kyoho: --devices is 'device 7 of backend cpu'; allowed: devices 0 to 0");
}

/// A user who asks for a missing backend gets the reason and not another backend.
#[test]
fn an_absent_backend_is_an_error_that_says_why() {
    let drivers = folder("no_drivers");
    for (backend, reasons) in
        [("cuda", ["the driver", "cuInit"]), ("opencl", ["the loader's library", "no OpenCL driver is installed"])]
    {
        for arguments in ["info", "run --plummer 10 --t-end 0.125"] {
            // If there are devices, the variable hides them.
            let mut command = kyoho();
            command.args(arguments.split_whitespace()).env("KYOHO_BACKEND", backend);
            command.env("CUDA_VISIBLE_DEVICES", "").env("OCL_ICD_VENDORS", &drivers);
            let output = command.output().unwrap();
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{error}");
            assert!(output.stdout.is_empty() && error.trim_end().lines().count() == 1, "{error}");
            let reason = error.strip_prefix(&format!("kyoho: there is no backend '{backend}' here: "));
            let known = reason.is_some_and(|reason| reasons.iter().any(|known| reason.starts_with(known)));
            assert!(known, "{arguments}: {error}");
        }
    }
}

#[test]
fn bench_measures_every_kind_of_work() {
    let report = json("bench --n 300 --ni 1,64,1000 --order 2 --precision double --threads 1 --seconds 0.001");
    let rows = report.as_array().expect("an array of rows");
    let works: Vec<&str> = rows.iter().map(|row| row["work"].as_str().unwrap()).collect();
    // A block of 1000 sinks needs more than 300 sources.
    let expected = ["n_times_n", "block_step", "block_step", "one_sink", "one_sink_predicted", "set_source"];
    assert_eq!(works, expected);
    for row in &rows[..5] {
        let rate = number(&row["ni"]) * number(&row["nj"]) / number(&row["seconds"]);
        assert!((number(&row["interactions_per_second"]) / rate - 1.0).abs() < 1e-12, "{row}");
        assert!((number(&row["flops_per_second"]) / (38.0 * rate) - 1.0).abs() < 1e-12, "{row}");
        assert!(number(&row["calls"]) >= 3.0);
    }
    let report = json("bench --regular --n 300 --ni 8 --threads 1 --seconds 0.001");
    let regular = report.as_array().expect("an array of rows").iter().filter(|row| row["scope"] == "regular");
    let works: Vec<&str> = regular.map(|row| row["work"].as_str().unwrap()).collect();
    let expected = ["n_times_n", "block_step", "block_step_lists", "one_sink", "one_sink_predicted", "set_source"];
    assert_eq!(works, expected);
    let table = run("bench --n 100 --ni 1 --seconds 0.001");
    let table = String::from_utf8(table.stdout).unwrap();
    let (interactions, flops) = (table.find("Gint/s").unwrap(), table.find("TFLOPS").unwrap());
    assert!(interactions < flops && table.contains("ns a source"), "{table}");
}

/// Returns the columns of the rows of a sweep's table: nj, ni, microseconds, Gint/s, the cost
/// model's microseconds.
fn sweep_rows(table: &str) -> Vec<Vec<&str>> {
    let lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.filter(|words| words.len() == 5 && words[0].parse::<usize>().is_ok()).collect()
}

#[test]
fn a_sweep_doubles_the_sinks_up_to_all_sources_and_draws_the_speeds() {
    let picture = folder("sweep").join("speed.svg");
    let arguments = format!(
        "bench --sweep --backend cpu --n 1,40,300 --order 2 --precision double --threads 1 --seconds 0.001 --plot {}",
        picture.display()
    );
    let sinks = [&[1][..], &[1, 2, 4, 8, 16, 32, 40], &[1, 2, 4, 8, 16, 32, 64, 128, 256, 300]];
    let expected: Vec<(usize, usize)> =
        [1, 40, 300].iter().zip(sinks).flat_map(|(nj, sinks)| sinks.iter().map(|ni| (*nj, *ni))).collect();

    let output = run(&arguments);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{table}");
    let rows = sweep_rows(&table);
    let found: Vec<(usize, usize)> =
        rows.iter().map(|row| (row[0].parse().unwrap(), row[1].parse().unwrap())).collect();
    assert_eq!(found, expected, "{table}");
    for row in &rows {
        let [nj, ni, microseconds, speed] = [0, 1, 2, 3].map(|column| row[column].parse::<f64>().unwrap());
        let (pairs, digit) = (nj * ni / microseconds / 1e3, 0.5e-4 + nj * ni / microseconds.powi(2) / 1e3 * 0.5e-3);
        assert!((speed - pairs).abs() <= 1.01 * digit && row[4] == "-", "{row:?}");
    }
    assert!(table.contains("order 2, double") && table.contains("1 thread"), "{table}");
    assert!(table.trim_end().ends_with(&format!("plot: {}", picture.display())), "{table}");
    let svg = std::fs::read_to_string(&picture).expect("the picture is there");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    // The picture has the points, and one more for each number of sources in the legend.
    assert_eq!(svg.matches("<circle").count(), expected.len() + 3);
    for text in ["order 2, double", "nj = 1", "nj = 40", "nj = 300"] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(!svg.contains("model"), "the CPU has none");

    let report = json(&arguments);
    let rows = report.as_array().expect("an array of rows");
    let found: Vec<(usize, usize)> =
        rows.iter().map(|row| (number(&row["nj"]) as usize, number(&row["ni"]) as usize)).collect();
    assert_eq!(found, expected);
    for row in rows {
        assert!(row["work"] == "block_step" && row["model_seconds"].is_null() && row["threads"] == 1, "{row}");
    }
}

#[test]
fn a_sweep_says_what_would_take_too_long_and_draws_where_it_is() {
    let folder = folder("sweep_limit");
    std::fs::write(folder.join("kyoho-bench.svg"), "an older picture").unwrap();
    let arguments = "bench --sweep --backend cpu --n 100,200 --seconds 0.001 --limit 1e-12";
    let sweep = |more: &[&str]| {
        let output = kyoho().current_dir(&folder).args(arguments.split_whitespace()).args(more).output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(output.status.success(), "{stderr}");
        (stdout, stderr)
    };
    let (table, errors) = sweep(&[]);
    assert_eq!(sweep_rows(&table).len(), 2, "{table}");
    for nj in [100, 200] {
        assert!(table.contains(&format!("left out: {nj} sources with 2 sinks and more")), "{table}");
    }
    assert_eq!(errors, "");
    let svg = std::fs::read_to_string(folder.join("kyoho-bench.svg")).unwrap();
    assert_eq!(svg.matches("<circle").count(), 2 + 2);
    // Remarks that are no rows go to stderr.
    let (report, errors) = sweep(&["--json"]);
    let report: Value = serde_json::from_str(&report).expect("the output is JSON");
    assert_eq!(report.as_array().map(Vec::len), Some(2));
    assert_eq!(errors.lines().filter(|line| line.starts_with("kyoho: left out: ")).count(), 2, "{errors}");
}

/// Returns the lines of a table of speed-ups: work, ni, nj, devices, microseconds and the speed-up.
fn speedup_lines(table: &str) -> Vec<(String, Vec<f64>)> {
    let lines = table.lines().filter_map(|line| {
        let work = ["N x N", "block step"].into_iter().find(|work| line.starts_with(work))?;
        let numbers = line[work.len()..].split_whitespace().map(|word| word.parse().expect("a number"));
        Some((work.to_string(), numbers.collect()))
    });
    lines.collect()
}

#[test]
fn a_speedup_measures_more_and_more_devices_and_compares_them_with_one() {
    let picture = folder("speedup").join("gain.svg");
    let arguments = format!(
        "bench --speedup --backend cpu --devices 0,0,0 --n 300,40 --ni 1,16,100,1000 --threads 1 --seconds 0.001 --plot {}",
        picture.display()
    );
    // Block steps use the largest number of sources, which is below 1000 sinks.
    let expected = [("N x N", 40, 40), ("N x N", 300, 300)].into_iter();
    let expected: Vec<_> = expected.chain([1, 16, 100].map(|ni| ("block step", ni, 300))).collect();

    let output = run(&arguments);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{table}");
    let lines = speedup_lines(&table);
    assert_eq!(lines.len(), 3 * expected.len(), "{table}");
    for (lines, (work, ni, nj)) in lines.chunks(3).zip(&expected) {
        let on_one = lines[0].1[3];
        for ((found, numbers), devices) in lines.iter().zip([1.0, 2.0, 3.0]) {
            assert_eq!((found.as_str(), &numbers[..3]), (*work, &[*ni as f64, *nj as f64, devices][..]), "{table}");
            // Three digits of each number are printed.
            let (microseconds, speedup) = (numbers[3], numbers[4]);
            let ratio = on_one / microseconds;
            let digits = 0.6e-3 * (1.0 + (1.0 + ratio) / microseconds);
            assert!((speedup - ratio).abs() <= digits, "{work}: {numbers:?}");
        }
    }
    let last: Vec<&str> = table.trim_end().lines().rev().take(2).collect();
    assert_eq!(last[0], format!("plot: {}", picture.display()));
    assert!(last[1].contains("compared") && last[1].ends_with("the same bits on 1, 2, 3 devices"), "{table}");

    // The picture has a curve of two points for each number of devices but one, and its place in
    // the legend.
    let svg = std::fs::read_to_string(&picture).expect("the picture is there");
    assert_eq!(svg.matches("<circle").count(), 2 * (2 + 1));
    for text in ["order 4, mixed", "2 devices", "3 devices", "ideal: 2", "ideal: 3"] {
        assert!(svg.contains(text), "{text}");
    }

    let report = json(&format!("{arguments} --order 2 --precision single"));
    let rows = report.as_array().expect("an array of rows");
    assert_eq!(rows.len(), 3 * expected.len());
    for (line, (work, ni, nj)) in rows.chunks(3).zip(&expected) {
        let name = if *work == "N x N" { "n_times_n" } else { "block_step" };
        for (row, devices) in line.iter().zip([&[0][..], &[0, 0], &[0, 0, 0]]) {
            assert_eq!(row["devices"], serde_json::json!(devices));
            assert!(row["work"] == name && row["ni"] == *ni && row["nj"] == *nj, "{row}");
            assert!(row["order"] == 2 && number(&row["calls"]) >= 3.0, "{row}");
            let ratio = number(&line[0]["seconds"]) / number(&row["seconds"]);
            assert!((number(&row["speedup"]) / ratio - 1.0).abs() < 1e-12, "{row}");
        }
    }
}

#[test]
fn a_speedup_says_what_would_take_too_long() {
    let folder = folder("speedup_limit");
    let picture = folder.join("kyoho-speedup.svg");
    let speedup = |more: &str| {
        let arguments = format!("bench --speedup --backend cpu --devices 0,0 --n 50,60 --ni 4 --seconds 0.001 {more}");
        let output = kyoho().current_dir(&folder).args(arguments.split_whitespace()).output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(output.status.success(), "{stderr}");
        (stdout, stderr)
    };
    let regular_neighbours =
        ["N x N of ni = 50, nj = 50", "N x N of ni = 60, nj = 60", "block step of ni = 4, nj = 60"];
    let (table, errors) = speedup("--limit 1e-12");
    for row in regular_neighbours {
        assert!(table.contains(&format!("left out: {row}; a row would take ")), "{table}");
    }
    // Rows that were not measured were not compared, and there is nothing to draw.
    assert!(table.contains("no plot") && !table.contains("compared") && !picture.exists(), "{table}");
    assert!(speedup_lines(&table).is_empty() && errors.is_empty(), "{table}{errors}");
    // Remarks that are no rows go to stderr.
    let (report, errors) = speedup("--limit 1e-12 --json");
    assert_eq!(serde_json::from_str::<Value>(&report).expect("the output is JSON"), serde_json::json!([]));
    assert_eq!(errors.lines().filter(|line| line.starts_with("kyoho: left out: ")).count(), 3, "{errors}");

    let (table, _) = speedup("");
    assert!(speedup_lines(&table).len() == 2 * 3 && picture.exists(), "{table}");
}

#[test]
fn bench_of_trees_has_their_times_and_errors_beside_direct_sums_and_draws_both() {
    let folder = folder("bench_trees");
    let picture = folder.join("trees.svg");
    let arguments = format!(
        "bench --tree --backend cpu --n 400,900 --accuracy 1e-3,0.01 --seconds 0.001 --threads 1 --plot {}",
        picture.display()
    );
    let rows = json(&arguments);
    let rows = rows.as_array().expect("an array of rows");
    assert_eq!(rows.len(), 2 * 2 * 3);
    // Fewer digits come first.
    let expected = [(400, 1e-2), (400, 1e-3), (900, 1e-2), (900, 1e-3)];
    for (rows, (n, accuracy)) in rows.chunks(3).zip(expected) {
        let works: Vec<&str> = rows.iter().map(|row| row["work"].as_str().unwrap()).collect();
        assert_eq!(works, ["tree", "tree_sources_stay", "n_times_n"]);
        let direct = &rows[2];
        for row in rows {
            assert!(row["ni"] == n && row["nj"] == n && row["order"] == 2 && row["precision"] == "single", "{row}");
            assert!(number(&row["calls"]) >= 3.0, "{row}");
        }
        for row in &rows[..2] {
            assert_eq!(number(&row["accuracy"]), accuracy);
            let [median, most] = ["error_median", "error_percentile_99"].map(|error| number(&row[error]));
            // Bodies so few are summed by a tree too.
            assert!(0.0 < median && median <= accuracy && median < most && most <= 5.0 * accuracy, "{row}");
            let ratio = number(&direct["seconds"]) / number(&row["seconds"]);
            assert!((number(&row["of_direct"]) / ratio - 1.0).abs() < 1e-12, "{row}");
            assert_eq!(row["interactions_per_second"], Value::Null);
        }
        assert_eq!((&direct["accuracy"], &direct["of_direct"]), (&Value::Null, &Value::Null));
    }
    let output = run(&arguments);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{table}");
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[2].join(" "), "N accuracy median 99 % tree, ms stays, ms direct, ms ratio");
    for (line, (n, accuracy)) in lines[3..7].iter().zip(expected) {
        assert_eq!((line.len(), line[0].parse(), line[1].parse()), (8, Ok(n), Ok(accuracy)), "{table}");
    }
    let of_errors = folder.join("trees-error.svg");
    assert_eq!(table.lines().last(), Some(&*format!("plots: {}, {}", picture.display(), of_errors.display())));
    let [times, errors] = [&picture, &of_errors].map(|path| std::fs::read_to_string(path).expect("it is drawn"));
    // Each curve has two points, and a place in the legend.
    assert_eq!((times.matches("<circle").count(), errors.matches("<circle").count()), (3 * 3, 2 * 3));
    for (svg, texts) in [
        (&times, ["tree, accuracy 1e-2", "tree, accuracy 1e-3", "direct sums", "seconds"]),
        (&errors, ["N = 400", "N = 900", "median relative error", "0.001"]),
    ] {
        assert!(texts.iter().all(|text| svg.contains(text)), "{texts:?}");
    }
}

#[test]
fn bench_of_trees_takes_angles_and_walks_and_shows_the_phases_of_a_call() {
    let picture = folder("bench_walks").join("trees.svg");
    let bench = |options: &str| {
        format!(
            "bench --tree --backend cpu --n 600 --seconds 0.001 --threads 1 --phases --plot {} {options}",
            picture.display()
        )
    };
    let rows = |options: &str| json(&bench(options)).as_array().expect("an array of rows").clone();
    let stackless = rows("--walk stackless --theta 0.4,0.8");
    let errors = |theta: usize| number(&stackless[3 * theta]["error_median"]);
    assert!(errors(0) > 2.0 * errors(1) && errors(1) > 1e-5, "{} {}", errors(0), errors(1));
    for (rows, theta) in stackless.chunks(3).zip([0.8, 0.4]) {
        let [whole, stays, direct] = rows else { panic!("three rows of an angle") };
        for row in [whole, stays] {
            assert!(row["walk"] == "stackless" && row["theta"] == theta && row["accuracy"] == Value::Null, "{row}");
        }
        let phases = whole["phase_seconds"].as_object().expect("seconds by phase");
        let names: Vec<&str> = phases.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["cells", "expansions", "first pass", "moments", "near sums", "rest", "sort", "walk"],
            "{whole}"
        );
        assert!(number(&phases["walk"]) > 0.0 && number(&phases["sort"]) > 0.0 && number(&phases["first pass"]) == 0.0);
        assert!(number(&whole["interactions_per_sink"]) < 600.0, "{whole}");
        assert_eq!((&direct["walk"], &direct["phase_seconds"]), (&Value::Null, &Value::Null));
    }
    let unsorted = rows("--walk stackless-unsorted --theta 0.4");
    for quantity in ["error_median", "interactions_per_sink"] {
        assert_eq!(unsorted[0][quantity], stackless[3][quantity], "{quantity}");
    }
    let cells = &rows("--theta 0.8")[0];
    assert!(cells["walk"] == "cells" && number(&cells["phase_seconds"]["first pass"]) > 0.0, "{cells}");
    let table = String::from_utf8(run(&bench("--walk stackless")).stdout).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[2].contains("theta") && lines[3].contains(" 0.6 "), "{table}");
    let phases = lines[4..lines.len() - 1].join(" ");
    assert!(phases.contains("milliseconds: sort") && phases.ends_with("interactions a sink"), "{table}");
    assert!(std::fs::read_to_string(&picture).unwrap().contains("stackless walk, theta 0.6"));
}

#[test]
fn bench_of_all_has_every_order_precision_and_scope_on_one_thread_and_on_all() {
    let report = json("bench --all --backend cpu --n 20 --ni 4 --threads 2 --seconds 0.0001");
    let mut found: Vec<String> = report
        .as_array()
        .expect("an array of rows")
        .iter()
        .filter(|row| row["work"] == "block_step")
        .map(|row| {
            let [precision, scope] = ["precision", "scope"].map(|name| row[name].as_str().unwrap());
            format!("{} {precision} {scope} {}", row["order"], row["threads"])
        })
        .collect();
    found.sort();
    let name =
        |entry: &Arc<Interaction>| format!("{} {} {}", entry.order as i32, entry.precision.name(), entry.scope.name());
    let mut expected: Vec<String> =
        CATALOGUE.iter().map(name).flat_map(|name| [1, 2].map(|threads| format!("{name} {threads}"))).collect();
    expected.sort();
    assert_eq!(found, expected);
}

/// Checks the rows of groups in a report, behind each of which stands the row N x N that it is
/// compared with, and returns their numbers of groups, sinks and sources.
fn rows_of_groups(report: &Value, work: &[&str]) -> Vec<[u64; 3]> {
    let rows = report.as_array().expect("an array of rows");
    assert_eq!(rows.len(), 2 * work.len());
    let shape = |pair: &[Value], work: &str| {
        let [row, n_times_n] = pair else { panic!("{pair:?}") };
        assert!(row["work"] == work && n_times_n["work"] == "n_times_n", "{pair:?}");
        assert!(number(&row["calls"]) >= 3.0 && number(&n_times_n["calls"]) >= 3.0, "{pair:?}");
        assert!(n_times_n["groups"].is_null() && n_times_n["of_n_times_n"].is_null(), "{n_times_n}");
        let near = |found: &Value, expected: f64| (number(found) / expected - 1.0).abs() < 1e-12;
        let groups_per_second = number(&row["groups"]) / number(&row["seconds"]);
        let rate = groups_per_second * number(&row["ni"]) * number(&row["nj"]);
        assert!(near(&row["groups_per_second"], groups_per_second), "{row}");
        assert!(near(&row["interactions_per_second"], rate), "{row}");
        assert!(near(&row["of_n_times_n"], rate / number(&n_times_n["interactions_per_second"])), "{pair:?}");
        for name in ["backend", "devices", "order", "precision", "threads", "level"] {
            assert_eq!(row[name], n_times_n[name]);
        }
        ["groups", "ni", "nj"].map(|name| row[name].as_u64().expect("a count"))
    };
    rows.chunks(2).zip(work).map(|(pair, work)| shape(pair, work)).collect()
}

#[test]
fn bench_of_lists_compares_every_form_of_lists_with_as_many_pairs_n_times_n() {
    let arguments = "bench --lists --groups 2 --backend cpu --seconds 0.001";
    let report = json(arguments);
    let works = ["lists_of_addresses", "lists_of_addresses", "lists_of_own_sources", "lists_of_ranges"];
    let expected = [[2, 256, 4000], [2, 32, 500], [2, 256, 3000], [2, 256, 4000]];
    assert_eq!(rows_of_groups(&report, &works), expected);
    for (n_times_n, [groups, sinks, sources]) in report.as_array().unwrap().iter().skip(1).step_by(2).zip(expected) {
        let n = ((groups * sinks * sources) as f64).sqrt().round();
        assert_eq!([number(&n_times_n["ni"]), number(&n_times_n["nj"])], [n; 2]);
    }
    assert!(report[0]["order"] == 2 && report[0]["precision"] == "single", "{}", report[0]);
    let report = json(&format!("{arguments} --order 6 --threads 1"));
    assert_eq!(rows_of_groups(&report, &works), expected);
    assert!(report[0]["precision"] == "mixed" && report[0]["threads"] == 1, "{}", report[0]);

    let table = String::from_utf8(run(arguments).stdout).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines.len() == 2 + 4 && lines[0].contains("order 2, single"), "{table}");
    let names = ["lists of addresses", "lists of addresses", "lists of own sources", "ranges of addresses"];
    for ((line, name), [groups, sinks, sources]) in lines[2..].iter().zip(names).zip(expected) {
        let numbers = line.strip_prefix(name).expect("the name of the work").split_whitespace();
        let numbers: Vec<f64> = numbers.map(|word| word.parse().expect("a number")).collect();
        assert_eq!(numbers.len(), 7, "{line}");
        assert_eq!(numbers[..3], [groups, sinks, sources].map(|count| count as f64));
    }
}

#[test]
fn bench_of_batches_compares_systems_with_as_many_pairs_as_the_largest_have() {
    let arguments = "bench --batch --n 3,20 --systems 5 --backend cpu --seconds 0.001";
    let report = json(arguments);
    let expected = [[5, 3, 3], [5, 20, 20]];
    assert_eq!(rows_of_groups(&report, &["batch"; 2]), expected);
    assert!([1, 3].iter().all(|row| report[*row]["nj"] == 45), "{report}");
    assert!(report[0]["order"] == 4 && report[0]["precision"] == "double", "{}", report[0]);
    assert_eq!(rows_of_groups(&json(&format!("{arguments} --order 8")), &["batch"; 2]), expected);

    let table = String::from_utf8(run(arguments).stdout).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines.len() == 2 + 2 && lines[0].contains("order 4, double"), "{table}");
    for (line, [systems, bodies, _]) in lines[2..].iter().zip(expected) {
        let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        assert_eq!(numbers.len(), 7, "{line}");
        assert_eq!(numbers[..2], [systems, bodies].map(|count| count as f64));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = kyoho().args(["plummer", "20000"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

// Error messages.

#[test]
fn a_wrong_line_is_reported_with_its_number_and_nothing_runs() {
    let folder = folder("wrong");
    let (input, output) = (folder.join("stars.txt"), folder.join("snapshots"));
    std::fs::write(&input, "# two\n1 0 0 0 0 0 0\n\n1 1 0 0 0 x 0\n").unwrap();
    let error = failure(1, &format!("run {} --output {}", input.display(), output.display()));
    assert_eq!(error, format!("kyoho: {}, line 4: 'x' is not a finite number", input.display()));
    assert!(!output.exists());
}

#[test]
fn bodies_in_one_place_need_softening() {
    let input = folder("same").join("same.txt");
    std::fs::write(&input, "1 0 0 0 0 0 0\n1 5 0 0 0 0 0\n1 0 0 0 0 0 0\n").unwrap();
    let error = failure(1, &format!("run {} --json", input.display()));
    assert!(error.contains("bodies 1 and 3 have the same position") && error.contains("--eps"), "{error}");
    json(&format!("run {} --eps 0.5", input.display()));
}

#[test]
fn snapshots_that_are_none_are_refused() {
    let error = failure(1, "run --resume examples/pythagorean.txt");
    assert!(error.contains("pythagorean.txt: it is not a snapshot"), "{error}");
    assert!(failure(1, "run --resume nowhere.txt").contains("nowhere.txt"));
    assert!(failure(1, "run nowhere.txt").contains("nowhere.txt"));
}

#[test]
fn damaged_snapshots_are_refused() {
    let folder = folder("damaged");
    for (format, extension) in [("text", "txt"), ("hdf5", "h5")] {
        let settings = format!("--backend cpu --t-end 0.1 --interval 0.1 --format {format}");
        json(&format!("run --plummer 8 --eps 0.1 {settings} --overwrite --output {}", folder.display()));
        let whole = std::fs::read(folder.join(format!("snapshot-000001.{extension}"))).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() - 40] ^= 1;
        for (content, reason) in [(&whole[..whole.len() - 3], "truncated"), (&flipped, "bytes")] {
            let path = folder.join("damaged");
            std::fs::write(&path, content).unwrap();
            let error = failure(1, &format!("run --resume {} --t-end 1 --backend cpu", path.display()));
            assert!(error.contains("/damaged") && error.contains(reason), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}

#[test]
fn where_nothing_can_be_written_nothing_runs() {
    let folder = folder("unwritable");
    let file = folder.join("file");
    std::fs::write(&file, "").unwrap();
    for arguments in [
        format!("run --plummer 8 --plot {}/nowhere/energy.svg", folder.display()),
        format!("run --plummer 8 --output {}/snapshots", file.display()),
        format!("converge --n 8 --plot {}/nowhere/errors.svg", folder.display()),
        format!("bench --sweep --n 8 --plot {}/nowhere/speed.svg", folder.display()),
    ] {
        let error = failure(1, &format!("{arguments} --backend cpu"));
        assert!(error.contains(folder.to_str().unwrap()), "{error}");
    }
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["file"]);
}

#[test]
fn a_snapshot_that_does_not_fit_leaves_nothing_behind() {
    let folder = folder("full");
    // The files have up to a block of 512 or 1024 bytes.
    let script = format!(
        "trap '' XFSZ; ulimit -f 1; exec {} run --plummer 100 --eps 0.1 --backend cpu --output {}",
        env!("CARGO_BIN_EXE_kyoho"),
        folder.display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.contains("snapshot-000000.txt: "), "{error}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_model_that_does_not_fit_into_memory_is_an_error_that_says_how_large_it_is() {
    for (arguments, bytes) in [("plummer 1073741824", 48u64 << 30), ("run --plummer 1073741824", 208 << 30)] {
        let script = format!("ulimit -v 8000000; exec {} {arguments} --backend cpu", env!("CARGO_BIN_EXE_kyoho"));
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        let expected = format!("kyoho: no memory for the bodies of the Plummer model: {bytes} bytes\n");
        assert_eq!((output.status.code(), error), (Some(1), expected));
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

#[test]
fn messages_are_short_and_name_what_helps() {
    let input = folder("messages").join("stars.txt");
    std::fs::write(&input, "1e300 0 0 0 0 0 0\n1e300 1e-20 0 0 0 0 0\n").unwrap();
    let error = failure_of(run(&format!("run {} --precision double --backend cpu", input.display())));
    assert!(error.ends_with("too large for precision double; allowed: units in which no sum overflows"), "{error}");
    let error = failure_of(kyoho().arg("info").env("KYOHO_THREADS", "7".repeat(120_000)).output().unwrap());
    assert!(error.contains("... (120000 bytes in all)'; allowed: 1 to 4096") && error.len() < 500, "{error}");
    let error = failure_of(kyoho().args(["info", "--devices", &"x".repeat(100_000)]).output().unwrap());
    assert!(error.contains("... (100000 bytes in all)") && error.len() < 500, "{error}");
    let help = String::from_utf8(run("verify --help").stdout).unwrap();
    assert!(help.contains("Only this order: 2, 4, 6, 8"), "{help}");
}

/// Returns the line of stderr of a call that must fail.
fn failure_of(output: Output) -> String {
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap().trim_end().into()
}

#[test]
fn wrong_arguments_exit_with_2_and_name_what_is_allowed() {
    for (arguments, parts) in [
        ("run", ["--plummer", "--resume"]),
        ("run --plummer 10 examples/planets.txt", ["--plummer", "cannot be used with"]),
        ("run --plummer 1", ["--plummer", "from 2 to"]),
        ("run --plummer 10 --precision float", ["--precision is 'float'", "single, mixed, double, quad"]),
        ("run --plummer 10 --order 3", ["--order is 3", "2, 4, 6, 8"]),
        ("run --plummer 10 --order 8 --precision mixed", ["--precision is 'mixed'", "with --order 8, double, quad"]),
        (
            "run --plummer 10 --order 6 --precision single",
            ["--precision is 'single'", "with --order 6, mixed, double, quad"],
        ),
        ("run --plummer 10 --order 6 --eta4 0", ["--eta4 is 0", "above zero"]),
        ("run --plummer 10 --criterion average", ["--criterion is 'average'", "average with --order 6 or 8"]),
        ("run --plummer 10 --criterion aarseth", ["--criterion is 'aarseth'", "usual, order, average"]),
        ("converge --order 4,2", ["--order is 2", "4, 6, 8"]),
        ("converge --order 4,6,4", ["--order is 4 more than once", "4, 6, 8, each once"]),
        ("converge --eps 0", ["--eps is 0", "above zero"]),
        ("converge --steps 12", ["--steps is 12", "powers of two"]),
        ("converge --plot errors.png", ["errors.png", ".svg"]),
        ("run --plummer 10 --t-end -1", ["--t-end is -1", "after 0"]),
        ("run --plummer 10 --t-end nan", ["--t-end is NaN", "after 0"]),
        ("run --plummer 10 --interval 0.3", ["--interval is 0.3", "whole number"]),
        ("run --plummer 10 --eta 0", ["--eta is 0", "above zero"]),
        ("run --plummer 10 --eps -1", ["--eps is -1", "from zero"]),
        ("run --plummer 10 --order 2", ["--dt is not given", "whole number"]),
        ("run --plummer 10 --order 2 --dt 0.3", ["--dt is 0.3", "whole number"]),
        ("run --plummer 10 --order 2 --dt 0", ["--dt is 0;", "above zero"]),
        ("run --plummer 10 --order 2 --dt 1e-300", ["--dt is 1e-300;", "whole number"]),
        ("run --plummer 10 --accuracy 1e-3", ["--accuracy is 0.001", "0 with --order 4, other values with --order 2"]),
        ("run --plummer 10 --order 8 --theta 0.5", ["--theta is 0.5", "0 with --order 8, other values with --order 2"]),
        ("run --plummer 10 --order 2 --accuracy 0.1", ["--accuracy is 0.1", "0 for direct sums, or 1e-6 to 0.01"]),
        ("run --plummer 10 --order 2 --accuracy nan", ["--accuracy is NaN", "0 for direct sums, or 1e-6 to 0.01"]),
        ("run --plummer 10 --order 2 --theta -0.5", ["--theta is -0.5", "0 for direct sums, or 0.1 to 1.5"]),
        ("run --plummer 10 --order 2 --theta 1 --accuracy 1e-3", ["--theta is 1", "0 where --accuracy is given too"]),
        ("run --plummer 10 --report-error", ["--report-error is given without a tree", "with --accuracy or --theta"]),
        (
            "run --plummer 10 --order 2 --dt 0.0625 --theta 0 --report-error",
            ["--report-error is given without a tree", "with --accuracy or --theta"],
        ),
        ("run --plummer 10 --t-end 1e-300", ["--interval is 6.25e-302;", "from 2."]),
        ("run --plummer 10 --output nowhere --format fits", ["--format is 'fits'", "text, hdf5"]),
        ("run --plummer 10 --format hdf5", ["required", "--output"]),
        ("run --plummer 10 --dt-max 0.01 --dt-min 0.02", ["--dt-min is 0.02", "--dt-max"]),
        ("run --plummer 10 --plot energy.png", ["energy.png", ".svg"]),
        ("run --plummer 10 --backend gpu", ["--backend is 'gpu'", "cuda"]),
        ("run --plummer 10 --devices some", ["--devices is some", "all"]),
        ("run --plummer 10 --threads 0", ["--threads", "from 1 to 4096"]),
        ("info --level sse", ["--level is 'sse'", "portable"]),
        ("bench --order 5", ["--order is 5", "2, 4, 6, 8"]),
        ("bench --order 6 --precision single", ["--precision is 'single'", "with --order 6, mixed, double, quad"]),
        ("bench --order 6 --regular", ["--regular is with --order 6, mixed", "order 4"]),
        ("bench --seconds 0", ["--seconds is 0", "above zero"]),
        ("bench --sweep --limit 0", ["--limit is 0", "above zero"]),
        ("bench --sweep --plot speed.png", ["speed.png", ".svg"]),
        ("bench --plot speed.svg", ["required", "--sweep"]),
        ("bench --all --sweep", ["--all", "cannot be used with"]),
        ("bench --all --speedup", ["--all", "cannot be used with"]),
        ("bench --sweep --speedup", ["--sweep", "cannot be used with"]),
        ("bench --limit 1", ["required", "--speedup"]),
        ("bench --speedup --backend cpu", ["--devices is not given, and backend cpu has one device", "two or more"]),
        ("bench --speedup --backend cpu --devices 1", ["--devices is 1, one device of backend cpu", "two or more"]),
        ("bench --speedup --backend cpu --devices 0,0 --plot gain.png", ["gain.png", ".svg"]),
        ("bench --tree --order 4", ["--order is 4", "2 with --tree"]),
        ("bench --tree --accuracy 0.1", ["--accuracy is 0.1", "1e-6 to 0.01"]),
        ("bench --tree --accuracy 0", ["--accuracy is 0", "1e-6 to 0.01"]),
        ("bench --accuracy 1e-3", ["required", "--tree"]),
        ("bench --theta 0.5", ["required", "--tree"]),
        ("bench --tree --theta 2", ["--theta is 2", "0.1 to 1.5"]),
        ("bench --tree --walk deep", ["--walk is 'deep'", "cells, stackless, stackless-unsorted"]),
        ("bench --tree --walk stackless --accuracy 1e-3", ["--accuracy is given", "--theta with --walk stackless"]),
        ("bench --tree --sweep", ["--sweep", "cannot be used with"]),
        ("bench --tree --lists", ["--lists", "cannot be used with"]),
        ("bench --tree --ni 4", ["--ni", "cannot be used with"]),
        ("bench --tree --plot trees.png", ["trees.png", ".svg"]),
        ("bench --lists --batch", ["--lists", "cannot be used with"]),
        ("bench --lists --sweep", ["--sweep", "cannot be used with"]),
        ("bench --batch --speedup", ["--speedup", "cannot be used with"]),
        ("bench --all --lists", ["--all", "cannot be used with"]),
        ("bench --batch --regular", ["--regular", "cannot be used with"]),
        ("bench --lists --n 100", ["--n", "cannot be used with"]),
        ("bench --batch --ni 4", ["--ni", "cannot be used with"]),
        ("bench --groups 4", ["required", "--lists"]),
        ("bench --systems 4", ["required", "--batch"]),
        (
            "bench --lists --order 6 --precision single",
            ["--precision is 'single'", "with --order 6, mixed, double, quad"],
        ),
        (
            "bench --batch --backend cpu --systems 1000000",
            ["--systems is 1000000, of 4096 bodies each", "up to 268435456 bodies in all"],
        ),
        ("tune", ["tune", "help"]),
    ] {
        let error = failure(2, arguments);
        assert!(parts.iter().all(|part| error.contains(part)), "{arguments}: {error}");
    }
}

/// Each order has its own default precision, but a precision that was asked for is not replaced.
#[test]
fn the_precision_must_be_one_that_the_order_is_computed_in() {
    let folder = folder("precision");
    let said = |arguments: &str, precision: &str| {
        let output = kyoho().args(arguments.split_whitespace()).env("KYOHO_PRECISION", precision).output().unwrap();
        let code = output.status.code();
        (code, String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let plummer = "run --backend cpu --plummer 8 --eps 0.1 --t-end 0.1 --interval 0.1";
    let bench = "bench --backend cpu --n 16 --ni 1 --seconds 0.001";
    for (order, wrong, allowed) in [(6, "single", "mixed, double, quad"), (8, "mixed", "double, quad")] {
        for subcommand in [plummer, bench] {
            let (code, printed, error) = said(&format!("{subcommand} --order {order}"), wrong);
            assert_eq!((code, printed.as_str()), (Some(1), ""), "{subcommand} {order}");
            let expected = format!("KYOHO_PRECISION is '{wrong}'; allowed: {allowed} for a system of order {order}");
            assert!(error.contains(&expected), "{error}");
            let (code, printed, _) = said(&format!("{subcommand} --order {order} --precision double --json"), wrong);
            assert!(code == Some(0) && printed.contains("\"double\""), "{printed}");
        }
    }
    assert_eq!(json(&format!("{plummer} --output {}", folder.display()))["precision"], "mixed");
    assert_eq!(json(&format!("{plummer} --order 8"))["precision"], "double");
    let resume = format!("run --resume {} --t-end 0.2", folder.join("snapshot-000001.txt").display());
    let error = failure(2, &format!("{resume} --order 8"));
    assert!(
        error.contains("the precision of the snapshot is 'mixed'; allowed: with --order 8, double, quad"),
        "{error}"
    );
    let (code, printed, error) = said(&format!("{resume} --order 6 --json"), "single");
    assert!(code == Some(0) && printed.contains("\"mixed\""), "{error}");
}

#[test]
fn what_the_library_refuses_is_one_line() {
    let output = kyoho().arg("info").env("KYOHO_THREADS", "many").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("kyoho: KYOHO_THREADS is 'many'; allowed: ") && error.trim_end().lines().count() == 1);
}

/// A model in HDF5, whose datasets a text names, has the potential of the model's text.
#[test]
fn pair_reads_datasets_of_hdf5() {
    let folder = folder("pair-hdf5");
    let path = |name: &str| folder.join(name).display().to_string();
    std::fs::write(
        path("p.pair"),
        "pair p\ni positions: vec3<f64>\nj positions: vec3<f64>, masses: f64\nresult pot: f64 sum\nbody\n\
         r2 = norm2(i.positions - j.positions)\nskip if r2 == 0\npot += j.masses / sqrt(r2)\n",
    )
    .unwrap();
    let model = run("model plummer 50").stdout;
    let rows = String::from_utf8(model).unwrap();
    let rows = rows.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(' ').collect::<Vec<_>>());
    let table = |columns: &dyn Fn(&[&str]) -> Vec<String>| {
        rows.clone().map(|row| columns(&row).join(" ") + "\n").collect::<String>()
    };
    let some = |row: &[&str], places: &[usize]| places.iter().map(|place| row[*place].to_string()).collect();
    std::fs::write(path("i.txt"), table(&|row| some(row, &[1, 2, 3]))).unwrap();
    std::fs::write(path("j.txt"), table(&|row| some(row, &[1, 2, 3, 0]))).unwrap();
    let [text, hdf5] = ["p.pair", "m.h5"].map(path);
    run(&format!("model plummer 50 --format hdf5 --output {hdf5}"));
    let of_text = run(&format!("pair run {text} --i {} --j {}", path("i.txt"), path("j.txt"))).stdout;
    let of_hdf5 = run(&format!("pair run {text} --i {hdf5} --j {hdf5}")).stdout;
    assert_eq!(of_hdf5, of_text);
    assert_eq!(of_text.iter().filter(|byte| **byte == b'\n').count(), 51);

    let wide = path("wide.pair");
    std::fs::write(&wide, "pair p\ni masses: vec2<f64>\nresult n: u32 count\nbody\nn count= i.masses.x > 0\n").unwrap();
    let error = failure(1, &format!("pair run {wide} --i {hdf5} --sources 1"));
    assert!(error.contains("the dataset 'masses': its shape is [50]; allowed: [N, 2]"), "{error}");
    std::fs::write(&wide, "pair p\ni weights: f64\nresult n: u32 count\nbody\nn count= i.weights > 0\n").unwrap();
    let error = failure(1, &format!("pair run {wide} --i {hdf5} --sources 1"));
    assert!(error.contains("the dataset 'weights': "), "{error}");
}

/// Two charges at a distance of 2 in a text of one's own, and what is wrong with a text or a table.
#[test]
fn pair_runs_a_text_on_columns() {
    let folder = folder("pair");
    let file = |name: &str, content: &str| {
        let path = folder.join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let text = file(
        "p.pair",
        "pair p\ni x: f64\nj x: f64, q: f64\nparam k: f64\nresult pot: f64 sum\nbody\npot += k * j.q / abs(i.x - j.x)\n",
    );
    let (sinks, sources) = (file("i.txt", "# x\n1\n2\n"), file("j.txt", "3 4\n5 1\n"));
    let output = run(&format!("pair run {text} --i {sinks} --j {sources} --param k=2"));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed, "# pot\n4.5e0\n8.666666666666666e0\n");
    let explained = String::from_utf8(run(&format!("pair explain --dd {text}")).stdout).unwrap();
    assert!(explained.contains("once a source:\n") && explained.contains(" = k * j.q : dd"), "{explained}");
    assert!(
        explained.trim_end().ends_with(" pairs a second on one H200, bound by its units for doubles"),
        "{explained}"
    );

    let wrong = file("wrong.pair", "pair p\nresult pot: f64 sum\nbody\npot += q\n");
    assert!(failure(1, &format!("pair explain {wrong}")).contains("line 4, column 8: there is no 'q'; allowed: "));
    let short = file("short.txt", "3 4\n5\n");
    let error = failure(1, &format!("pair run {text} --i {sinks} --j {short} --param k=2"));
    assert!(error.contains("short.txt, line 2: 1 numbers; allowed: 2"), "{error}");
    let error = failure(1, &format!("pair run {text} --i {sinks} --j {sources}"));
    assert!(error.contains("the parameter k is not there"), "{error}");
}
