//! How accurate forces by trees are, over models of many kinds.

use kyoho::{Backend, Level, Setup, Source, System};
use kyoho_core::{Order, Precision, TreeAccuracy};
use rayon::prelude::*;
use std::process::Command;

#[path = "../../../tests/common/mod.rs"]
mod common;
use common::pocl::by_opencl;

#[path = "trees/models.rs"]
mod models;
use models::{Bodies, MODELS, Model};

/// The sizes that an error is relative to: of the force, and the sum of the sizes of the pulls.
#[derive(Clone, Copy, Default)]
struct Reference {
    force: [f64; 4],
    sizes: f64,
}

/// Returns the sums of all pulls on some bodies, in double precision.
fn direct(bodies: &Bodies, numbers: &[usize], softening2: f64) -> Vec<Reference> {
    let of_sink = |sink: &usize| {
        let mut sums = Reference::default();
        let at = bodies.positions[*sink];
        for (source, position) in bodies.positions.iter().enumerate() {
            let r: [f64; 3] = std::array::from_fn(|k| position[k] - at[k]);
            let r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
            let s2 = r2 + softening2;
            if source != *sink && s2 > 0.0 {
                let potential = bodies.masses[source] / s2.sqrt();
                sums.force[0] -= potential;
                (0..3).for_each(|k| sums.force[1 + k] += potential / s2 * r[k]);
                sums.sizes += potential.abs() / s2 * r2.sqrt();
            }
        }
        sums
    };
    numbers.par_iter().map(of_sink).collect()
}

/// What computes, and in which precision.
type Machine = (Backend, Precision);

fn system(bodies: &Bodies, (backend, precision): Machine, accuracy: f64) -> System {
    let setup = Setup {
        order: Order::Second,
        precision,
        scope: kyoho::Scope::Full,
        backend,
        devices: vec![0],
        threads: 1,
        level: Level::best(),
        shape: None,
        partition: None,
        crossover: Some(0),
        block_steps: None,
        fall_back: false,
    };
    let mut system = System::new(&setup).unwrap();
    let source = |k: usize| Source::from_derivatives(k as i32, bodies.masses[k], 0.0, [bodies.positions[k]]);
    system.set_sources(bodies.positions.len(), source).unwrap();
    system.set_tree(Some(TreeAccuracy::Error(accuracy))).unwrap();
    system.set_tree_crossover(Some(0));
    system
}

fn forces(bodies: &Bodies, machine: Machine, (accuracy, softening2): (f64, f64)) -> (Vec<[f64; 4]>, f64, f64) {
    let mut system = system(bodies, machine, accuracy);
    let count = bodies.positions.len();
    system.start_all(count, softening2).unwrap();
    let found = system.wait().unwrap();
    let forces = (0..count)
        .map(|k| {
            let [x, y, z] = found.acceleration(k);
            [found.potential(k), x, y, z]
        })
        .collect();
    let profile = system.profile_trees(false);
    (forces, profile.near as f64 / count as f64, profile.far as f64 / count as f64)
}

/// The median, the 99th percentile and the largest.
fn percentiles(mut errors: Vec<f64>) -> [f64; 3] {
    errors.sort_by(f64::total_cmp);
    [0.5, 0.99, 1.0].map(|part| errors[((errors.len() as f64 * part) as usize).min(errors.len() - 1)])
}

/// Returns the errors of the accelerations of some bodies beside the size of each, beside that or half
/// of the sum of the sizes of the pulls, whichever is more, and beside that sum.
fn errors(found: &[[f64; 4]], numbers: &[usize], expected: &[Reference]) -> Vec<[f64; 3]> {
    let error = |(number, expected): (&usize, &Reference)| {
        let size = |part: &dyn Fn(usize) -> f64| (1..4).map(|k| part(k).powi(2)).sum::<f64>().sqrt();
        let difference = size(&|k| found[*number][k] - expected.force[k]);
        let [net, sizes] = [size(&|k| expected.force[k]), expected.sizes];
        [difference / net, difference / net.max(0.5 * sizes), difference / sizes]
    };
    numbers.iter().zip(expected).map(error).collect()
}

/// Asserts that half of the errors are at most the accuracy, and 99 in 100 five times as much,
/// beside the acceleration or half of the sum of the sizes of the pulls, whichever is more.
#[track_caller]
fn assert_accurate(what: &str, found: &[[f64; 4]], (numbers, expected): (&[usize], &[Reference]), accuracy: f64) {
    let errors = errors(found, numbers, expected);
    let [median, rare, _] = percentiles(errors.into_iter().map(|[_, error, _]| error).collect());
    assert!(
        median <= accuracy && rare <= 5.0 * accuracy,
        "{what}: median {median:.1e}, 99 in 100 {rare:.1e}, asked for {accuracy:.0e}"
    );
}

/// Asserts that a model has the accuracies that are asked for, with each of its softenings.
fn assert_model_is_accurate(Model { name, make, softenings }: &Model, backend: Backend, accuracies: &[f64]) {
    let bodies = make(4000);
    let count = bodies.positions.len();
    let numbers: Vec<usize> = (0..count).step_by(count / 400).collect();
    for softening in *softenings {
        let softening2 = softening * softening;
        let expected = direct(&bodies, &numbers, softening2);
        for accuracy in accuracies {
            let (found, ..) = forces(&bodies, (backend, Precision::Mixed), (*accuracy, softening2));
            let what = format!("{name}, softening {softening}");
            assert_accurate(&what, &found, (&numbers, &expected), *accuracy);
        }
    }
}

#[test]
fn every_model_has_the_accuracy_that_was_asked_for() {
    for model in &MODELS {
        assert_model_is_accurate(model, Backend::Cpu, &[1e-2, 1e-3, 1e-4, 1e-5]);
    }
}

/// The models with the largest errors, in a process that sees PoCL.
#[test]
fn the_worst_models_have_the_accuracy_on_pocl() {
    const INSIDE: &str = "KYOHO_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_none() {
        let mut command = by_opencl(Command::new(std::env::current_exe().unwrap()), &[(INSIDE, "1")]);
        command.args(["the_worst_models_have_the_accuracy_on_pocl", "--exact", "--nocapture", "--test-threads=1"]);
        common::succeed(&mut command);
        return;
    }
    for model in MODELS.iter().filter(|model| WORST.contains(&model.name)) {
        assert_model_is_accurate(model, Backend::OpenCl, &[1e-2, 1e-4]);
    }
}

/// The models with the largest errors over their accuracies.
const WORST: [&str; 2] = ["cusp of r^-2.9", "Hernquist"];

#[test]
fn close_pairs_have_the_accuracy_that_was_asked_for_in_every_precision() {
    let accuracy = 1e-4;
    for separation in [1e-5, 1e-7, 1e-9] {
        let bodies = models::pairs(6000, separation);
        let numbers: Vec<usize> = (0..6000).step_by(11).collect();
        for softening2 in [0.0, separation * separation] {
            let expected = direct(&bodies, &numbers, softening2);
            for precision in [Precision::Single, Precision::Mixed, Precision::Double] {
                let (found, ..) = forces(&bodies, (Backend::Cpu, precision), (accuracy, softening2));
                let what = format!("{}, {separation:e} apart", precision.name());
                assert_accurate(&what, &found, (&numbers, &expected), accuracy);
                let [found, right] = [
                    numbers.iter().map(|number| found[*number][0]).sum::<f64>(),
                    expected.iter().map(|expected| expected.force[0]).sum(),
                ];
                assert!((found / right - 1.0).abs() < accuracy, "{what}: a potential energy of {found}, not {right}");
            }
        }
    }
}

/// Prints the errors and counts of all models, over their accuracies.
#[test]
#[ignore = "a survey by hand"]
fn survey() {
    let get = |name: &str, default: &str| std::env::var(name).unwrap_or(default.into());
    let count: usize = get("N", "20000").parse().unwrap();
    let samples: usize = get("SAMPLES", "1000").parse().unwrap();
    let precision = Precision::from_name(&get("PRECISION", "mixed")).unwrap();
    let (only, backend) = (get("MODEL", ""), Backend::from_name(&get("BACKEND", "cpu")).unwrap());
    let accuracies: Vec<f64> =
        get("ACCURACIES", "1e-2 1e-3 1e-4 1e-5").split_whitespace().map(|a| a.parse().unwrap()).collect();
    println!("Median, 99th percentile and largest error over the accuracy, beside the size of the acceleration,");
    println!("beside that or half of the sum of the sizes of pulls, and beside this sum; then pairs and expansions");
    println!("of a body, and seconds.");
    for Model { name, make, softenings } in MODELS.iter().filter(|model| model.name.contains(&only)) {
        let bodies = make(count);
        let count = bodies.positions.len();
        let numbers: Vec<usize> = (0..count).step_by((count / samples).max(1)).collect();
        for softening in *softenings {
            let softening2 = softening * softening;
            let expected = direct(&bodies, &numbers, softening2);
            for accuracy in &accuracies {
                let before = seconds();
                let (found, near, far) = forces(&bodies, (backend, precision), (*accuracy, softening2));
                let seconds = seconds() - before;
                let all = errors(&found, &numbers, &expected);
                let of = |kind: usize| percentiles(all.iter().map(|errors| errors[kind] / accuracy).collect());
                let shown = |kind: usize| of(kind).map(|error| format!("{error:8.2}")).join(" ");
                println!(
                    "{name:28} {softening:7.0e} {accuracy:7.0e} | {} | {} | {} | {near:6.0} {far:6.1} {seconds:6.3}",
                    shown(0),
                    shown(1),
                    shown(2)
                );
            }
        }
    }
}

/// Returns the CPU time of the process.
fn seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is there to be written.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
