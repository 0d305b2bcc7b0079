//! Forces by a tree, against direct sums.

use std::sync::Arc;

use kyoho_core::{BufferPool, Interaction, Level, Order, Precision, Result};
use kyoho_hal::threads::Threads;
use kyoho_laws::catalogue::interaction;
use kyoho_laws::simd::expansions::Number;
use kyoho_laws::simd::kernel::{Kernel, kernel_32, kernel_64};
use kyoho_trees::LEAF;
use kyoho_trees::accuracy::Effort;
use kyoho_trees::cpu::{Counts, Octree, Points, Settings, TreeSums};
use kyoho_trees::criterion::Criterion;
use rayon::prelude::*;

#[path = "trees/models.rs"]
#[allow(dead_code, reason = "another test uses the rest")]
mod models;
use models::Random;

/// Bodies of a model.
#[derive(Default, Clone)]
struct Bodies {
    positions: Vec<[f64; 3]>,
    masses: Vec<f64>,
    indices: Vec<i32>,
}

impl Bodies {
    fn new(positions: Vec<[f64; 3]>) -> Bodies {
        let count = positions.len();
        Bodies { positions, masses: vec![1.0 / count as f64; count], indices: (0..count as i32).collect() }
    }

    fn points(&self) -> Points<'_> {
        Points { positions: &self.positions, masses: &self.masses, indices: &self.indices, softenings2: &[] }
    }
}

fn times(vector: [f64; 3], factor: f64) -> [f64; 3] {
    vector.map(|component| component * factor)
}

fn plummer(count: usize) -> Bodies {
    Bodies::new(models::plummer(count).positions)
}

fn uniform(count: usize) -> Bodies {
    Bodies::new(models::uniform(count).positions)
}

fn hernquist(count: usize) -> Bodies {
    Bodies::new(models::hernquist(count).positions)
}

fn clumps(count: usize) -> Bodies {
    Bodies::new(models::clumps(count).positions)
}

fn cosmological() -> Bodies {
    Bodies::new(models::cosmological(0).positions)
}

/// The numbers that a precision is computed in.
trait Near: Number {
    fn kernel(level: Level, interaction: &Interaction) -> Box<dyn Kernel<Self>>;
}
impl Near for f32 {
    fn kernel(level: Level, interaction: &Interaction) -> Box<dyn Kernel<f32>> {
        kernel_32(level, interaction).unwrap()
    }
}
impl Near for f64 {
    fn kernel(level: Level, interaction: &Interaction) -> Box<dyn Kernel<f64>> {
        kernel_64(level, interaction).unwrap()
    }
}

fn sum_with<E: Near>(
    interaction: &Arc<Interaction>,
    sources: &Bodies,
    sinks: &Bodies,
    settings: &Settings,
    threads: usize,
) -> Result<(Vec<[f64; 4]>, Counts)> {
    let kernel = E::kernel(settings.level, interaction);
    let threads = Threads::new(threads);
    let tree = TreeSums { kernel: &*kernel, interaction, threads: &threads, pool: &BufferPool::default() };
    let mut forces = vec![[f64::NAN; 4]; sinks.positions.len()];
    let counts = tree.sum(sources.points(), sinks.points(), settings, &mut forces)?;
    Ok((forces, counts))
}

fn sum(
    precision: Precision,
    sources: &Bodies,
    sinks: &Bodies,
    settings: &Settings,
    threads: usize,
) -> Result<(Vec<[f64; 4]>, Counts)> {
    let interaction = interaction(Order::Second, precision).unwrap();
    match precision {
        Precision::Double => sum_with::<f64>(&interaction, sources, sinks, settings, threads),
        _ => sum_with::<f32>(&interaction, sources, sinks, settings, threads),
    }
}

/// Returns the direct sum on each sink of some numbers.
fn direct(sources: &Bodies, sinks: &Bodies, numbers: &[usize], softening2: f64) -> Vec<[f64; 4]> {
    let of_sink = |sink: &usize| {
        let mut sums = [0.0; 4];
        for source in 0..sources.positions.len() {
            let r: [f64; 3] = std::array::from_fn(|k| sources.positions[source][k] - sinks.positions[*sink][k]);
            let s2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + softening2;
            if sources.indices[source] != sinks.indices[*sink] && s2 > 0.0 {
                let potential = sources.masses[source] / s2.sqrt();
                sums[0] -= potential;
                (0..3).for_each(|k| sums[1 + k] += potential / s2 * r[k]);
            }
        }
        sums
    };
    numbers.par_iter().map(of_sink).collect()
}

/// The relative errors of accelerations: the median, the 90th and the 99th percentile and the
/// worst.
fn errors(found: &[[f64; 4]], numbers: &[usize], expected: &[[f64; 4]]) -> [f64; 4] {
    let error = |(sink, expected): (&usize, &[f64; 4])| {
        let difference = (1..4).map(|k| (found[*sink][k] - expected[k]).powi(2)).sum::<f64>().sqrt();
        difference / (1..4).map(|k| expected[k].powi(2)).sum::<f64>().sqrt()
    };
    let mut all: Vec<f64> = numbers.iter().zip(expected).map(error).collect();
    all.sort_by(f64::total_cmp);
    [0.5, 0.9, 0.99, 1.0].map(|part| all[((all.len() as f64 * part) as usize).min(all.len() - 1)])
}

fn settings(effort: Effort, softening2: f64) -> Settings {
    let criterion = Criterion::Error { tolerance: effort.tolerance };
    Settings { order: effort.order, criterion, softening2, skip_own_index: true, level: Level::best() }
}

/// Returns settings for an accuracy.
fn accurate(accuracy: f64, softening2: f64) -> Settings {
    settings(Effort::of(accuracy), softening2)
}

/// The forces on some sinks, and their numbers.
struct Expected {
    numbers: Vec<usize>,
    forces: Vec<[f64; 4]>,
}

impl Expected {
    fn of(sources: &Bodies, sinks: &Bodies, softening2: f64) -> Expected {
        let stride = (sinks.positions.len() / 2000).max(1);
        let numbers: Vec<usize> = (0..sinks.positions.len()).step_by(stride).collect();
        let forces = direct(sources, sinks, &numbers, softening2);
        Expected { numbers, forces }
    }
}

/// Asserts that forces are as accurate as was asked for: the median of the errors is at most
/// `accuracy`, and the 99th percentile at most five times that.
#[track_caller]
fn assert_accurate(what: &str, found: &[[f64; 4]], Expected { numbers, forces }: &Expected, accuracy: f64) {
    let wrong = found.iter().position(|force| !force.iter().all(|number| number.is_finite()));
    assert_eq!(wrong, None, "{what}: a sink whose force is no number, asked for {accuracy:.0e}");
    let [median, _, most, _] = errors(found, numbers, forces);
    assert!(
        median <= accuracy && most <= 5.0 * accuracy,
        "{what}: median {median:.1e}, 99 in 100 {most:.1e}, asked for {accuracy:.0e}"
    );
    let of_potential = |(sink, expected): (&usize, &[f64; 4])| (found[*sink][0] / expected[0] - 1.0).abs();
    let worst = numbers.iter().zip(forces).map(of_potential).fold(0.0, f64::max);
    assert!(worst <= 10.0 * accuracy, "{what}: the worst potential is off by {worst:.1e}, asked for {accuracy:.0e}");
}

/// Asserts that forces are exact to `tolerance` of the largest, whatever cancels in them.
#[track_caller]
fn assert_near(what: &str, found: &[[f64; 4]], (sources, sinks): (&Bodies, &Bodies), softening2: f64, tolerance: f64) {
    let numbers: Vec<usize> = (0..sinks.positions.len()).collect();
    let expected = direct(sources, sinks, &numbers, softening2);
    for (k, range) in [(0, 0..1), (1, 1..4)] {
        let size = |force: &[f64; 4]| force[range.clone()].iter().map(|x| x * x).sum::<f64>().sqrt();
        // Where the sums are zero, the rounding of their terms is seen.
        let mass: f64 = sources.masses.iter().map(|mass| mass.abs()).sum();
        let own = if softening2 > 0.0 { 1e-3 * mass / softening2.sqrt() } else { 0.0 };
        let potential = expected.iter().map(|force| 1e-6 * force[0].abs()).fold(own, f64::max);
        let largest = expected.iter().map(size).fold(potential, f64::max);
        for (sink, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let difference = std::array::from_fn(|k| found[k] - expected[k]);
            let error = size(&difference);
            assert!(error <= tolerance * largest, "{what}, sink {sink}, number {k}: {found:?} is not {expected:?}");
        }
    }
}

const PRECISIONS: [Precision; 3] = [Precision::Single, Precision::Mixed, Precision::Double];

#[test]
fn forces_are_as_accurate_as_was_asked_for_in_every_precision_with_and_without_softening() {
    let bodies = plummer(5000);
    for softening in [0.0, 1e-2, 0.5] {
        let softening2 = softening * softening;
        let expected = Expected::of(&bodies, &bodies, softening2);
        for precision in PRECISIONS {
            for accuracy in [1e-2, 1e-3, 1e-4] {
                let (found, _) = sum(precision, &bodies, &bodies, &accurate(accuracy, softening2), 2).unwrap();
                let what = format!("{} precision, softening {softening}", precision.name());
                assert_accurate(&what, &found, &expected, accuracy);
            }
        }
    }
}

#[test]
fn every_kind_of_model_has_the_accuracy_that_was_asked_for() {
    let models = [
        ("Plummer", plummer(10_000), 1e-4),
        ("Hernquist", hernquist(10_000), 1e-4),
        ("uniform", uniform(10_000), 1e-4),
        ("clumps", clumps(10_000), 1e-4),
        ("clumps, softened", clumps(10_000), 0.011),
        ("cosmological sphere", cosmological(), 0.025),
    ];
    for (name, bodies, softening) in models {
        let softening2 = softening * softening;
        let expected = Expected::of(&bodies, &bodies, softening2);
        for accuracy in [1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6] {
            let precision = if accuracy < 1e-5 { Precision::Double } else { Precision::Single };
            let (found, _) = sum(precision, &bodies, &bodies, &accurate(accuracy, softening2), 2).unwrap();
            assert_accurate(name, &found, &expected, accuracy);
        }
    }
}

#[test]
fn sinks_may_be_any_points() {
    let sources = plummer(10_000);
    let mut random = Random(3);
    let mut sinks = Bodies::new((0..3000).map(|_| times(random.direction(), 4.0 * random.uniform())).collect());
    // Some are far outside, some are sources, and no two others have an index of a source.
    sinks.positions.iter_mut().take(100).for_each(|position| *position = times(*position, 1000.0));
    sinks.indices.iter_mut().for_each(|index| *index = -1);
    for sink in (100..1000).chain(2000..2500) {
        (sinks.positions[sink], sinks.indices[sink]) = (sources.positions[3 * sink], sources.indices[3 * sink]);
    }
    let expected = Expected::of(&sources, &sinks, 1e-4);
    for precision in PRECISIONS {
        let (found, _) = sum(precision, &sources, &sinks, &accurate(1e-3, 1e-4), 2).unwrap();
        assert_accurate(precision.name(), &found, &expected, 1e-3);
    }
    for size in [1e16, 1e25] {
        let far =
            Bodies { positions: sinks.positions.iter().map(|sink| times(*sink, size)).collect(), ..sinks.clone() };
        for precision in [Precision::Double, Precision::Mixed] {
            let (found, _) = sum(precision, &sources, &far, &accurate(1e-3, 1e-4), 2).unwrap();
            assert_accurate("far away", &found, &Expected::of(&sources, &far, 1e-4), 1e-3);
        }
    }
    let part = Bodies {
        positions: sources.positions[..500].to_vec(),
        masses: vec![],
        indices: sources.indices[..500].to_vec(),
    };
    let (found, _) = sum(Precision::Double, &sources, &part, &accurate(1e-3, 0.0), 2).unwrap();
    assert_accurate("a part of the sources", &found, &Expected::of(&sources, &part, 0.0), 1e-3);
}

#[test]
fn a_source_exerts_no_force_on_the_sink_that_has_its_index_wherever_both_are() {
    let mut sources = plummer(3000);
    sources.masses[7] = 5.0;
    sources.indices.iter_mut().for_each(|index| *index = 3 * (2999 - *index) - 100);
    // The sinks are elsewhere, so that their own sources are in expansions.
    let mut sinks = sources.clone();
    sinks.positions.iter_mut().for_each(|position| *position = [position[0] + 1.0, position[2], -position[1]]);
    for softening2 in [1e-6, 4.0] {
        for sinks in [&sources, &sinks] {
            let (found, _) = sum(Precision::Double, &sources, sinks, &accurate(1e-4, softening2), 1).unwrap();
            assert_near("own index", &found, (&sources, sinks), softening2, 1e-3);
        }
        let nobody = Bodies { indices: vec![-1000; 3000], ..sources.clone() };
        let all = Settings { skip_own_index: false, ..accurate(1e-4, softening2) };
        let (found, _) = sum(Precision::Double, &sources, &sources, &all, 1).unwrap();
        assert_near("all sources", &found, (&sources, &nobody), softening2, 1e-3);
    }
}

#[test]
fn any_input_has_right_forces() {
    let mut random = Random(11);
    let line = Bodies::new((0..2000).map(|k| [k as f64 * k as f64, 0.0, 0.0]).collect());
    let mut pairs = plummer(1000);
    for body in 0..500 {
        pairs.positions[500 + body] = pairs.positions[body];
    }
    let mut point = Bodies::new(vec![[3.0, 4.0, 5.0]; 700]);
    let mut point_beside = point.clone();
    point_beside.positions[9] = [3.0, 4.0, 5.0 + 1e-9];
    point_beside.positions[10] = [-300.0, 4.0, 5.0];
    point.masses[3] = 2.0;
    let mut heavy = plummer(2000);
    heavy.masses.iter_mut().skip(1).for_each(|mass| *mass = 0.0);
    let mut signs = plummer(3000);
    signs.masses.iter_mut().step_by(2).for_each(|mass| *mass = -*mass);
    let mut far = plummer(2000);
    far.positions[77] = [1e9, -1e9, 3.0];
    far.positions[78] = [-1e12, 0.0, 0.0];
    let mut lost = plummer(2000);
    lost.positions[77] = [1e40, 2.0, 0.0];
    let mut decades = plummer(2000);
    let mut size = 1e-20;
    for position in &mut decades.positions {
        *position = times(random.direction(), size);
        size *= 1.045;
    }
    // Clusters in clusters, each a billionth of the one that it is in, around a star of it.
    let mut nested = plummer(1500);
    for body in 0..1000 {
        let (center, size) = if body < 500 { ([0.3, 0.2, -0.1], 1e-9) } else { ([0.3 + 1e-9, 0.2, -0.1], 1e-12) };
        nested.positions[body] = std::array::from_fn(|k| center[k] + size * nested.positions[body][k]);
    }
    let away = Bodies::new((0..2000).map(|_| std::array::from_fn(|k| 1e6 + k as f64 + random.uniform())).collect());
    let mut massless = plummer(500);
    massless.masses.fill(0.0);
    let scaled = |factor: f64, mass: f64| {
        let mut bodies = plummer(1000);
        bodies.positions.iter_mut().for_each(|position| *position = times(*position, factor));
        bodies.masses.iter_mut().for_each(|of_body| *of_body *= mass);
        bodies
    };
    let inputs = [
        ("a line", &line),
        ("coincident pairs", &pairs),
        ("one point", &point),
        ("one point and two bodies", &point_beside),
        ("one mass", &heavy),
        ("both signs", &signs),
        ("lost bodies", &far),
        ("a body without end away", &lost),
        ("all distances", &decades),
        ("clusters in clusters", &nested),
        ("far from the origin", &away),
        ("no mass", &massless),
        ("metres and kilograms", &scaled(3e16, 2e35)),
        ("very small units", &scaled(1e-40, 1e-40)),
        ("one body", &plummer(1)),
        ("two bodies", &plummer(2)),
        ("seventeen bodies", &plummer(17)),
    ];
    for (name, bodies) in inputs {
        for softening in [0.0, 0.1] {
            let size = bodies.positions.iter().flatten().fold(0.0_f64, |size, x| size.max(x.abs()));
            let softening2 =
                (softening * if name == "very small units" || name.starts_with("metres") { size } else { 1.0 }).powi(2);
            // Pulls at the smallest of all distances are too large for 32 bits.
            let precisions = [Precision::Double, Precision::Mixed];
            for precision in precisions.into_iter().take(if name == "all distances" { 1 } else { 2 }) {
                let (found, _) = sum(precision, bodies, bodies, &accurate(1e-4, softening2), 2).unwrap();
                assert_near(
                    &format!("{name}, {}, softening {softening}", precision.name()),
                    &found,
                    (bodies, bodies),
                    softening2,
                    1e-3,
                );
            }
        }
    }
}

#[test]
fn without_sources_there_is_no_force_and_without_sinks_there_is_none_to_find() {
    let (none, bodies) = (Bodies::default(), plummer(10));
    assert_eq!(sum(Precision::Single, &none, &bodies, &accurate(1e-3, 0.0), 2).unwrap().0, [[0.0; 4]; 10]);
    assert!(sum(Precision::Single, &bodies, &none, &accurate(1e-3, 0.0), 2).unwrap().0.is_empty());
    assert!(sum(Precision::Single, &none, &none, &accurate(1e-3, 0.0), 2).unwrap().0.is_empty());
}

#[test]
fn forces_have_the_same_bits_on_any_number_of_threads() {
    let (bodies, sinks) = (clumps(30_000), plummer(5000));
    for precision in PRECISIONS {
        for sinks in [&bodies, &sinks] {
            let (once, _) = sum(precision, &bodies, sinks, &accurate(1e-2, 1e-6), 1).unwrap();
            for threads in [2, 5] {
                let (again, _) = sum(precision, &bodies, sinks, &accurate(1e-2, 1e-6), threads).unwrap();
                assert!(once == again, "{} precision, {threads} threads", precision.name());
            }
        }
    }
}

#[test]
fn every_instruction_set_is_accurate() {
    let bodies = plummer(5000);
    let expected = Expected::of(&bodies, &bodies, 1e-4);
    for level in Level::available() {
        for precision in PRECISIONS {
            for accuracy in [1e-2, 1e-3, 1e-4, 1e-5] {
                let settings = Settings { level, ..accurate(accuracy, 1e-4) };
                let (found, _) = sum(precision, &bodies, &bodies, &settings, 2).unwrap();
                assert_accurate(&format!("{}, {}", level.name(), precision.name()), &found, &expected, accuracy);
            }
        }
    }
}

#[test]
fn an_opening_angle_may_be_asked_for_instead_of_an_accuracy() {
    let bodies = plummer(10_000);
    let all: Vec<usize> = (0..bodies.positions.len()).step_by(5).collect();
    let expected = direct(&bodies, &bodies, &all, 1e-4);
    let mut last = 1.0;
    for (theta, most) in [(1.0, 0.1), (0.6, 0.03), (0.3, 3e-3)] {
        let settings = Settings { criterion: Criterion::Angle { theta }, ..accurate(1e-3, 1e-4) };
        let (found, _) = sum(Precision::Double, &bodies, &bodies, &settings, 2).unwrap();
        let errors = errors(&found, &all, &expected);
        assert!(errors[0] < 0.5 * last && errors[2] < most, "theta {theta}: {errors:?}");
        last = errors[0];
    }
}

#[test]
fn only_bodies_in_one_point_are_more_than_a_leaf_has() {
    let plain = plummer(3000).positions;
    let mut heaps = plain.clone();
    heaps[..2000].iter_mut().enumerate().for_each(|(k, at)| *at = plain[k % 3]);
    let mut rounded = plain.clone();
    let beside = |k: usize| std::array::from_fn(|axis| plain[0][axis] * (1.0 + f64::EPSILON * (k % 100) as f64));
    rounded[..2000].iter_mut().enumerate().for_each(|(k, at)| *at = beside(k));
    let mut nested = plain.clone();
    nested.iter_mut().enumerate().for_each(|(k, at)| *at = times(*at, 10_f64.powi(-20 * (k % 13) as i32)));
    let mut escaped = plain.clone();
    (escaped[5], escaped[6]) = ([-1e15, 3.0, 1e14], [1e100, 0.0, -1e90]);
    for (name, positions) in [("heaps", heaps), ("rounded", rounded), ("nested", nested), ("escaped", escaped)] {
        let tree = Octree::new(&positions, &Threads::new(2), &BufferPool::default()).unwrap();
        let mut order = tree.order.to_vec();
        order.sort_unstable();
        assert!(order.into_iter().eq(0..3000), "{name}: each body once");
        let ends: Vec<usize> = tree.generations.iter().map(|generation| generation.end).collect();
        let starts = tree.generations.iter().map(|generation| generation.start);
        assert!(starts.eq([0].into_iter().chain(ends.iter().copied()).take(ends.len())), "{name}: generations");
        assert_eq!(ends.last(), Some(&tree.cells.len()), "{name}");
        for (number, cell) in tree.cells.iter().enumerate() {
            let bodies = &tree.order[cell.body_range()];
            let first = positions[bodies[0] as usize];
            if cell.is_leaf() {
                let are_together = bodies.iter().all(|body| positions[*body as usize] == first);
                assert!(bodies.len() <= LEAF || are_together, "{name}: {cell:?}");
                continue;
            }
            let children = &tree.cells[cell.child_range()];
            assert!(children.len() > 1 && cell.child_range().start > number, "{name}: {cell:?}");
            let mut end = cell.first_body;
            for child in children {
                assert!(child.first_body == end && child.depth > cell.depth, "{name}: {child:?} of {cell:?}");
                end += child.bodies;
            }
            assert_eq!(end, cell.first_body + cell.bodies, "{name}: {cell:?}");
            // No octant holds bodies that are farther apart than it is long, but for their rounding.
            let side = tree.cube.side(cell.depth.into()) * (1.0 + 1e-9) + 1e-3 * tree.cube.side(42);
            let apart =
                |body: &u32| (0..3).map(|k| (positions[*body as usize][k] - first[k]).abs()).fold(0.0, f64::max);
            let most = bodies.iter().map(apart).fold(0.0, f64::max);
            assert!(most <= side, "{name}: {most:e} in {cell:?} of the side {side:e}");
        }
    }
}
