//! `kyoho model` as its users run it.

mod common;

use std::path::Path;

use common::{folder, kyoho, run};
use kyoho::config::Settings;
use kyoho_core::{Order, Precision};
use kyoho_hal::Backend;
use kyoho_models::{Recipe, Star};

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
const ISOLATED: [(&str, f64); 6] = [
    ("plummer", 0.25),
    ("hernquist", 0.25),
    ("king --w0 3", 0.25),
    ("king --w0 9.5", 0.25),
    ("uniform-sphere", 0.25),
    ("cold-collapse", 0.0),
];

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

/// As the library makes it, which C, Fortran and Python call.
#[test]
fn a_seed_has_the_bits_that_the_library_gives() {
    for (options, text, units) in [
        ("plummer", "plummer", None),
        ("king --w0 4.5 --mass 3 --radius 0.1", "king,w0=4.5,mass=3,radius=0.1", None),
        (
            "hernquist --masses kroupa,least=0.2,most=9 --binaries fraction=0.4,least=5AU,most=0.001 --radius 2",
            "hernquist,radius=2 kroupa,least=0.2,most=9 binaries,fraction=0.4,least=5AU,most=0.001",
            Some("pc Msun Myr"),
        ),
    ] {
        let command = format!("model {options} 200 --seed 9 --backend cpu");
        let mut words: Vec<&str> = command.split(' ').collect();
        words.extend(units.into_iter().flat_map(|units| ["--units", units]));
        let output = kyoho().args(&words).output().expect("the command starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let settings = Settings { backend: Some(Backend::Cpu), ..Settings::from_environment().unwrap() };
        let setup = settings.setup(Order::Second, Precision::Double).unwrap();
        let made = Recipe::parse(text, units).unwrap().make(200, 9, &setup, &mut |_| ()).unwrap();
        let expected = made.masses.iter().zip(&made.stars).map(|(mass, star)| {
            let Star { position: [x, y, z], velocity: [vx, vy, vz] } = *star;
            vec![*mass, x, y, z, vx, vy, vz]
        });
        let found = String::from_utf8(output.stdout).unwrap();
        assert!(rows(&found).into_iter().eq(expected), "{options}");
        let described = comments(&found);
        assert!(described[0].contains(&options[..options.len().min(40)]), "{}", described[0]);
        let pairs = if units.is_some() { "57 binaries, the first 114 bodies." } else { "" };
        assert!(described[1].contains(pairs), "{}", described[1]);
        let told = units.map(|units| format!("units {units}"));
        assert!(told.is_none_or(|told| described[2].ends_with(&told)), "{}", described[2]);
    }
}

#[test]
fn two_clusters_come_from_files() {
    let folder = folder("two_clusters");
    let [first, second, both] = ["first.txt", "second.h5", "both.txt"].map(|name| folder.join(name));
    printed(&format!("model plummer 60 --mass 3 --backend cpu --output {}", first.display()));
    printed(&format!("model king 40 --seed 2 --backend cpu --format hdf5 --output {}", second.display()));
    let files = format!("{} {}", first.display(), second.display());
    let orbit = "--separation 8 --eccentricity 1 --pericentre 0.5";
    let described = printed(&format!("model two-clusters {files} {orbit} --output {}", both.display()));
    assert!(described.starts_with("Two clusters of 60 and 40 bodies, made by"), "{described}");
    let text = std::fs::read_to_string(&both).unwrap();
    let rows = rows(&text);
    let centre = |part: std::ops::Range<usize>, column: usize| {
        rows[part.clone()].iter().map(|row| row[0] * row[column]).sum::<f64>()
            / rows[part].iter().map(|row| row[0]).sum::<f64>()
    };
    let apart = |column: usize| centre(60..100, column) - centre(0..60, column);
    assert!((apart(1) - 8.0).abs() < 1e-13 && apart(2).abs() < 1e-13, "{} {}", apart(1), apart(2));
    // The angular momentum of a parabola, with G times the mass of 4.
    assert!((8.0 * apart(5) - (2.0f64 * 4.0 * 0.5).sqrt()).abs() < 1e-12, "{}", apart(5));
    assert!((0.5 * (apart(4).powi(2) + apart(5).powi(2)) - 4.0 / 8.0).abs() < 1e-12);
    for (options, parts) in [
        ("--separation 0 --speed 1", ["--separation is '0'", "lengths above 0"]),
        ("--separation 8", ["--speed is not given", "a speed, or eccentricity"]),
        ("--separation 8 --speed 1,impact=2", ["--speed is '1,impact=2'", "a number"]),
        ("--separation 8 --speed 1AU", ["--speed is '1AU'", "with units also one with its unit"]),
        ("--separation 8 --speed 1 --units pc", ["--units is 'pc'", "SI, or a length"]),
    ] {
        let output = run(&format!("model two-clusters {files} {options}"));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{options}: {error}");
        assert!(parts.iter().all(|part| error.contains(part)), "{options}: {error}");
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
        ("model emperor 10", ["emperor", "subcommand"]),
        ("model plummer 1", ["1", "from 2"]),
        ("model king 10 --w0 0", ["--w0 is 0", "0.1 to 12"]),
        ("model plummer 10 --masses salpeter", ["--masses is 'salpeter'", "allowed: kroupa"]),
        ("model plummer 10 --masses kroupa,least=5,most=2", ["--masses is most=2", "above least, which is 5"]),
        ("model plummer 10 --binaries fraction=0.5", ["--binaries is least not given", "smallest semi-major axis"]),
        ("model plummer 10 --binaries size=5", ["--binaries is size", "fraction, least, most"]),
        ("model plummer 2 --binaries fraction=1,least=1,most=2", ["N is 2", "3 or more"]),
        ("model plummer 10 --mass=-1", ["--mass is -1", "numbers above 0"]),
        ("model plummer 10 --mass 1,radius=2", ["--mass is '1,radius=2'", "a number"]),
        ("model plummer 10 --units SI --mass 1", ["--radius is not given", "the virial radius"]),
        ("model plummer 10 --units parsec", ["--units is parsec", "SI, or a length"]),
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

/// Models whose first lines have a run by direct sums, with their smallest numbers of bodies here.
const OF_ARTICLES: [(&str, usize); 4] =
    [("figure-eight 30", 30), ("figure-eight 40 --galaxies 4", 40), ("cartwheel 36", 36), ("random 20", 20)];

#[test]
fn models_of_articles_have_a_seed_and_lead_to_a_run_in_either_format() {
    let folder = folder("articles");
    for (model, n) in OF_ARTICLES {
        let model = format!("model {model}");
        let (text, hdf5) = (folder.join("model.txt"), folder.join("model.h5"));
        let described = printed(&format!("{model} --output {}", text.display()));
        let again = printed(&model);
        let rows = rows(&again);
        assert!(rows.len() == n && rows.iter().all(|row| row.len() == 7 && row[0] == rows[0][0]), "{model}");
        assert_eq!(self::rows(&std::fs::read_to_string(&text).unwrap()), rows);
        assert_ne!(self::rows(&printed(&format!("{model} --seed 2"))), rows);
        printed(&format!("{model} --format hdf5 --output {}", hdf5.display()));
        let command = described.lines().last().unwrap().split("kyoho run ").nth(1).unwrap();
        let words: Vec<&str> = command.split(' ').collect();
        let after = |option: &str| words.iter().position(|word| *word == option).unwrap() + 1;
        let run = |file: &Path| {
            let mut words = words.clone();
            (words[0], words[after("--t-end")]) = (file.to_str().unwrap(), words[after("--interval")]);
            let report = printed(&format!("run {} --backend cpu --json", words.join(" ")));
            let report: serde_json::Value = serde_json::from_str(&report).expect("the report is JSON");
            report["energies"].clone()
        };
        assert_eq!(run(&text), run(&hdf5), "{model}");
    }
}

/// Integrates a model with a leapfrog and returns its bodies at the start and at the end.
fn integrated(name: &str, model: &str, options: &str, end: f64) -> [Vec<Vec<f64>>; 2] {
    let folder = folder(name);
    let file = folder.join("model.txt");
    printed(&format!("model {model} --output {}", file.display()));
    let (file, snapshots) = (file.display(), folder.display());
    let run = format!("run {file} --order 2 --precision single --backend cpu {options} --t-end {end} --interval {end}");
    printed(&format!("{run} --output {snapshots}"));
    ["model.txt", "snapshot-000001.txt"].map(|name| {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let bodies =
            text.lines().filter(|line| line.split(' ').filter_map(|word| word.parse::<f64>().ok()).count() >= 7);
        bodies.map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect()
    })
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Returns the median place of bodies, which few strays do not move.
fn centre(bodies: &[Vec<f64>]) -> [f64; 3] {
    [1, 2, 3].map(|k| median(bodies.iter().map(|body| body[k])))
}

/// The paths are 26 and 33 long. On the super-eight each galaxy is at the place of the one opposite
/// after half a period. Galaxies of few bodies lose some, and so leave the path by more than those
/// of many.
#[test]
fn galaxies_stay_whole_and_follow_their_path() {
    for (galaxies, n, end, turned) in [(3, 400, 64.0, 0), (4, 200, 32.0, 2)] {
        let model = format!("figure-eight {} --galaxies {galaxies}", galaxies * n);
        let [start, end] = integrated(&format!("eight-{galaxies}"), &model, "--eps 0.1 --dt 0.015625", end);
        let of = |bodies: &[Vec<f64>], galaxy: usize| bodies[galaxy * n..(galaxy + 1) * n].to_vec();
        for galaxy in 0..galaxies {
            let (expected, bodies) = (centre(&of(&start, (galaxy + turned) % galaxies)), of(&end, galaxy));
            let found = centre(&bodies);
            let distance = |place: &[f64]| (0..3).map(|k| (place[k] - found[k]).powi(2)).sum::<f64>().sqrt();
            let error = distance(&expected);
            assert!(error < 4.0, "galaxy {galaxy} of {galaxies}: {found:?} in place of {expected:?}");
            let inside = bodies.iter().filter(|body| distance(&body[1..4]) < 2.0).count();
            assert!(inside > n * 4 / 5, "galaxy {galaxy} of {galaxies}: {inside} of {n} bodies");
        }
    }
}

/// The distances of bodies from the axis of a disk, in order.
fn radii(disk: &[Vec<f64>]) -> Vec<f64> {
    let [x, y, _] = centre(disk);
    let mut radii: Vec<f64> = disk.iter().map(|body| (body[1] - x).hypot(body[2] - y)).collect();
    radii.sort_by(f64::total_cmp);
    radii
}

/// A body at the half-mass radius goes round in 12 time units. Few bodies heat a disk more than
/// many.
#[test]
fn a_disk_without_intruder_stays_a_disk_for_a_revolution() {
    let [start, end] = integrated("disk", "cartwheel 5400 --without-intruder", "--eps 0.01 --dt 0.03125", 12.0);
    assert_eq!(start.len(), 4500);
    let (start, end) = (&start[..1500], &end[..1500]);
    let (before, after) = (radii(start), radii(end));
    for part in [375, 750, 1125] {
        let ratio = after[part] / before[part];
        assert!((ratio - 1.0).abs() < 0.15, "{part} of 1500: {ratio}");
    }
    let thickness = |disk: &[Vec<f64>]| {
        let [.., z] = centre(disk);
        median(disk.iter().map(|body| (body[3] - z).abs()))
    };
    assert!(thickness(start) < 0.07 && thickness(end) < 0.12, "{} {}", thickness(start), thickness(end));
    let [x, y, _] = centre(end);
    let bar = |trigonometric: fn(f64) -> f64| {
        end.iter().map(|body| trigonometric(2.0 * (body[2] - y).atan2(body[1] - x))).sum::<f64>() / 1500.0
    };
    assert!(bar(f64::cos).hypot(bar(f64::sin)) < 0.15);
}

/// The bodies of the disk go outwards into the ring, behind which few are left. At the start the
/// density falls outwards; of so few bodies it varies by a tenth from run to run.
#[test]
fn an_intruder_makes_a_ring() {
    let [start, end] = integrated("ring", "cartwheel 2700", "--eps 0.01 --dt 0.015625", 8.0);
    let density = |bodies: &[Vec<f64>], from: f64, to: f64| {
        let count = radii(&bodies[..750]).iter().filter(|radius| (from..to).contains(*radius)).count();
        count as f64 / (to * to - from * from)
    };
    let (gap, ring, outside) = ((0.75, 1.5), (1.75, 2.75), (3.5, 4.5));
    let of = |bodies: &[Vec<f64>], (from, to)| density(bodies, from, to);
    assert!(of(&start, gap) > 1.5 * of(&start, ring), "{} {}", of(&start, gap), of(&start, ring));
    assert!(of(&end, ring) > 0.8 * of(&end, gap), "{} {}", of(&end, ring), of(&end, gap));
    assert!(of(&end, gap) < 0.75 * of(&start, gap), "{} {}", of(&end, gap), of(&start, gap));
    assert!(of(&end, ring) > 1.5 * of(&start, ring) && of(&end, ring) > 4.0 * of(&end, outside));
}

#[test]
fn numbers_of_bodies_that_parts_cannot_share_are_refused() {
    for (arguments, parts) in [
        ("figure-eight 100", ["N is 100", "multiples of the 3 galaxies"]),
        ("figure-eight 30 --galaxies 4", ["N is 30", "multiples of the 4 galaxies"]),
        ("figure-eight 30 --galaxies 5", ["5", "from 3 to 4"]),
        ("cartwheel 100", ["N is 100", "multiples of 18"]),
        ("random 1", ["1", "from 2"]),
        ("random 10 --format hdf5", ["--format is 'hdf5'", "with --output FILE"]),
    ] {
        let output = run(&format!("model {arguments}"));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{arguments}: {error}");
        assert!(parts.iter().all(|part| error.contains(part)), "{arguments}: {error}");
    }
}

#[test]
fn options_of_a_sphere_that_have_no_meaning_are_refused() {
    for (options, parts) in [
        ("--grid 3", ["3", "4 to 1024"]),
        ("--grid 1025", ["1025", "4 to 1024"]),
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
