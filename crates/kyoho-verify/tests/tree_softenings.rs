//! Forces by a tree of bodies each of which has its own softening, against direct sums.

use kyoho::{Backend, Level, Setup, Sink, Source, System};
use kyoho_core::{Order, Precision, TreeAccuracy, padded};
use rayon::prelude::*;

#[path = "trees/models.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod models;
use models::{Bodies, Random};

/// Bodies of a model with their squared softenings.
struct Softened {
    bodies: Bodies,
    softenings2: Vec<f64>,
}

impl Softened {
    fn new(bodies: Bodies, softening: impl FnMut(usize) -> f64) -> Softened {
        let softenings2 = (0..bodies.positions.len()).map(softening).map(|length| length * length).collect();
        Softened { bodies, softenings2 }
    }

    fn count(&self) -> usize {
        self.softenings2.len()
    }

    /// Returns a body as a sink.
    fn sink(&self, number: usize) -> Sink {
        Sink {
            index: number as i32,
            softening2: self.softenings2[number],
            derivatives: padded([self.bodies.positions[number]]),
            ..Sink::NOTHING
        }
    }

    fn system(&self, setup: &Setup, accuracy: TreeAccuracy) -> System {
        let mut system = System::new(setup).unwrap();
        system.prepare_softenings(true, 0).unwrap();
        for (number, softening2) in self.softenings2.iter().enumerate() {
            let source = Source::from_derivatives(
                number as i32,
                self.bodies.masses[number],
                0.0,
                [self.bodies.positions[number]],
            );
            system.set_softened_source(number, &source, *softening2).unwrap();
        }
        system.set_tree(Some(accuracy)).unwrap();
        system.set_tree_crossover(Some(0));
        system
    }

    /// Returns the force on a sink, and the sum of the sizes of the pulls.
    fn direct(&self, sink: &Sink) -> ([f64; 4], f64) {
        let (mut sums, mut sizes) = ([0.0; 4], 0.0);
        for (number, position) in self.bodies.positions.iter().enumerate() {
            let r: [f64; 3] = std::array::from_fn(|k| position[k] - sink.derivatives[0][k]);
            let r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
            let s2 = r2 + 0.5 * (self.softenings2[number] + sink.softening2);
            if number as i32 != sink.index && s2 > 0.0 {
                let potential = self.bodies.masses[number] / s2.sqrt();
                sums[0] -= potential;
                (0..3).for_each(|k| sums[1 + k] += potential / s2 * r[k]);
                sizes += potential.abs() / s2 * r2.sqrt();
            }
        }
        (sums, sizes)
    }
}

fn setup(precision: Precision) -> Setup {
    Setup { crossover: Some(0), ..Setup::on_cpu(Order::Second, precision) }
}

/// Returns the forces on sinks by a tree.
fn forces(system: &mut System, count: usize, sinks: &[Sink]) -> Vec<[f64; 4]> {
    let forces = system.force(count, true, sinks.iter().copied()).unwrap();
    let of_sink = |sink: usize| {
        let [x, y, z] = forces.acceleration(sink);
        [forces.potential(sink), x, y, z]
    };
    (0..sinks.len()).map(of_sink).collect()
}

/// Asserts that half of the errors are at most the accuracy, and 99 in 100 five times as much,
/// beside the acceleration or half of the sum of the sizes of the pulls, whichever is more.
#[track_caller]
fn assert_accurate(what: &str, of: &Softened, (sinks, found): (&[Sink], &[[f64; 4]]), accuracy: f64) {
    let stride = (sinks.len() / 400).max(1);
    let sampled: Vec<usize> = (0..sinks.len()).step_by(stride).collect();
    let error = |number: &usize| {
        let (expected, sizes) = of.direct(&sinks[*number]);
        let length = |part: &dyn Fn(usize) -> f64| (1..4).map(|k| part(k).powi(2)).sum::<f64>().sqrt();
        let potential = (found[*number][0] / expected[0] - 1.0).abs();
        let difference = length(&|k| found[*number][k] - expected[k]);
        let error = if difference == 0.0 { 0.0 } else { difference / length(&|k| expected[k]).max(0.5 * sizes) };
        (error, if expected[0] == 0.0 { found[*number][0].abs() } else { potential })
    };
    let (mut errors, potentials): (Vec<f64>, Vec<f64>) = sampled.par_iter().map(error).unzip();
    errors.sort_by(f64::total_cmp);
    let [median, rare] = [50, 99].map(|part| errors[(errors.len() - 1) * part / 100]);
    assert!(
        median <= accuracy && rare <= 5.0 * accuracy,
        "{what}: median {median:.1e}, 99 in 100 {rare:.1e}, asked for {accuracy:.0e}"
    );
    let worst = potentials.into_iter().fold(0.0, f64::max);
    assert!(worst <= 10.0 * accuracy, "{what}: the worst potential is off by {worst:.1e}, asked for {accuracy:.0e}");
}

/// Softenings whose logarithms are even over a factor of 100 up to a length, in random order.
fn of_all_sizes(most: f64) -> impl FnMut(usize) -> f64 {
    let mut random = Random(5);
    move |_| most * 100.0_f64.powf(random.uniform() - 1.0)
}

/// Two kinds of bodies in random order.
fn of_two_kinds(most: f64) -> impl FnMut(usize) -> f64 {
    let mut random = Random(6);
    move |_| if random.uniform() < 0.5 { most } else { 0.01 * most }
}

#[test]
fn every_kind_of_model_has_the_accuracy_that_was_asked_for() {
    const COUNT: usize = 4000;
    type Make = fn(usize) -> Bodies;
    let models: [(&str, Make, f64); 4] = [
        ("Plummer", models::plummer, 0.05),
        ("Hernquist", models::hernquist, 0.05),
        ("clumps", models::clumps, 0.02),
        ("uniform", models::uniform, 0.1),
    ];
    for (name, make, most) in models {
        for most in [most, 5.0 * most] {
            let all = Softened::new(make(COUNT), of_all_sizes(most));
            let two = Softened::new(make(COUNT), of_two_kinds(most));
            for (kind, softened) in [("all sizes", all), ("two kinds", two)] {
                let sinks: Vec<Sink> = (0..softened.count()).map(|number| softened.sink(number)).collect();
                for accuracy in [1e-2, 1e-3, 1e-4, 1e-5] {
                    let precision = if accuracy < 1e-4 { Precision::Double } else { Precision::Single };
                    let mut system = softened.system(&setup(precision), TreeAccuracy::Error(accuracy));
                    let found = forces(&mut system, softened.count(), &sinks);
                    let what = format!("{name}, {kind} up to {most}");
                    assert_accurate(&what, &softened, (&sinks, &found), accuracy);
                }
            }
        }
    }
}

#[test]
fn a_tree_of_one_softening_is_that_of_many_equal_ones() {
    let softened = Softened::new(models::plummer(6000), |_| 0.1);
    let mut one = System::new(&setup(Precision::Double)).unwrap();
    let source =
        |k: usize| Source::from_derivatives(k as i32, softened.bodies.masses[k], 0.0, [softened.bodies.positions[k]]);
    one.set_sources(6000, source).unwrap();
    one.set_tree(Some(TreeAccuracy::Error(1e-3))).unwrap();
    one.set_tree_crossover(Some(0));
    one.start_all(6000, softened.softenings2[0]).unwrap();
    let expected: Vec<[f64; 3]> = {
        let forces = one.wait().unwrap();
        (0..6000).map(|sink| forces.acceleration(sink)).collect()
    };
    let mut each = softened.system(&setup(Precision::Double), TreeAccuracy::Error(1e-3));
    each.start_all(6000, 0.0).unwrap();
    let forces = each.wait().unwrap();
    for (sink, expected) in expected.iter().enumerate() {
        // They differ by rounding alone.
        for (found, expected) in forces.acceleration(sink).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "sink {sink}");
        }
    }
    let [of_one, of_each] = [one.profile_trees(false), each.profile_trees(false)];
    assert_eq!((of_one.near, of_one.far), (of_each.near, of_each.far));
}

#[test]
fn sinks_may_be_any_points_with_any_softenings() {
    let softened = Softened::new(models::plummer(8000), of_all_sizes(0.2));
    let mut random = Random(3);
    for precision in [Precision::Single, Precision::Mixed, Precision::Double] {
        let mut system = softened.system(&setup(precision), TreeAccuracy::Error(1e-3));
        // Some sources with their softenings or others, and points that are none, some far outside.
        let sinks: Vec<Sink> = (0..2000)
            .map(|number| {
                let body = softened.sink(3 * number);
                let softening2 = (0.3 * random.uniform()).powi(2);
                let size = if number % 50 == 0 { 4000.0 } else { 4.0 };
                let place = random.direction().map(|x| size * random.uniform() * x);
                match number % 3 {
                    0 => body,
                    1 => Sink { softening2, ..body },
                    _ => Sink { index: -1, softening2, derivatives: padded([place]), ..Sink::NOTHING },
                }
            })
            .collect();
        let found = forces(&mut system, 8000, &sinks);
        assert_accurate(precision.name(), &softened, (&sinks, &found), 1e-3);
        // The sources at their places, with other softenings, are sinks like any.
        let softer: Vec<Sink> = (0..8000).map(|number| Sink { softening2: 0.04, ..softened.sink(number) }).collect();
        let found = forces(&mut system, 8000, &softer);
        assert_accurate("other softenings at the places of all sources", &softened, (&softer, &found), 1e-3);
        // Some of the sources act.
        let few = Softened { bodies: cut(&softened.bodies, 3000), softenings2: softened.softenings2[..3000].to_vec() };
        let found = forces(&mut system, 3000, &sinks);
        assert_accurate("some of the sources", &few, (&sinks, &found), 1e-3);
        assert!(forces(&mut system, 8000, &[]).is_empty());
    }
}

fn cut(bodies: &Bodies, count: usize) -> Bodies {
    Bodies { positions: bodies.positions[..count].to_vec(), masses: bodies.masses[..count].to_vec() }
}

#[test]
fn opening_angles_and_all_instruction_sets_sum_the_same_forces() {
    let softened = Softened::new(models::hernquist(4000), of_two_kinds(0.1));
    let sinks: Vec<Sink> = (0..4000).map(|number| softened.sink(number)).collect();
    for (theta, accuracy) in [(0.3, 1e-4), (0.5, 1e-3), (0.8, 1e-2)] {
        let mut system = softened.system(&setup(Precision::Mixed), TreeAccuracy::Theta(theta));
        let found = forces(&mut system, 4000, &sinks);
        assert_accurate(&format!("theta {theta}"), &softened, (&sinks, &found), accuracy);
    }
    for level in [Level::Portable, Level::Avx2, Level::Avx512].into_iter().filter(|level| level.is_available()) {
        for precision in [Precision::Mixed, Precision::Double] {
            let setup = Setup { level, ..setup(precision) };
            for accuracy in [1e-2, 3e-3, 1e-3, 1e-4, 1e-5]
                .into_iter()
                .filter(|accuracy| *accuracy >= 1e-4 || precision == Precision::Double)
            {
                let mut system = softened.system(&setup, TreeAccuracy::Error(accuracy));
                let found = forces(&mut system, 4000, &sinks);
                assert_accurate(&format!("{level:?} {}", precision.name()), &softened, (&sinks, &found), accuracy);
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads_and_devices() {
    let softened = Softened::new(models::clumps(5000), of_all_sizes(0.1));
    let found = [(1, vec![0]), (3, vec![0]), (2, vec![0, 0, 0])].map(|(threads, devices)| {
        let setup = Setup { threads, devices, ..setup(Precision::Mixed) };
        let mut system = softened.system(&setup, TreeAccuracy::Error(1e-3));
        system.start_all(softened.count(), 0.0).unwrap();
        system.wait().unwrap().values.to_vec()
    });
    assert!(found[1..].iter().all(|bits| *bits == found[0]));
}

/// A call with any numbers: clusters in clusters, points with many bodies, masses of both signs or
/// none, and softenings of any size or none.
fn random_bodies(random: &mut Random) -> Softened {
    let count = (400.0 * random.uniform().powi(2)) as usize;
    let mut positions: Vec<[f64; 3]> = Vec::new();
    for _ in 0..count {
        let size = 10.0_f64.powf(-8.0 * random.uniform() * random.uniform());
        let around = match positions.get((random.uniform() * 2.0 * (count as f64)) as usize) {
            Some(other) => *other,
            None => [0.0; 3],
        };
        let away = if random.uniform() < 0.3 { 0.0 } else { size };
        let direction = random.direction();
        positions.push(std::array::from_fn(|k| around[k] + away * direction[k]));
    }
    let has_negative = random.uniform() < 0.2;
    let mass = |random: &mut Random| match random.uniform() {
        part if part < 0.1 => 0.0,
        part if part < 0.5 && has_negative => -random.uniform(),
        _ => random.uniform(),
    };
    let masses = (0..count).map(|_| mass(random)).collect();
    let kind = random.uniform();
    let softening = |_| match random.uniform() {
        _ if kind < 0.1 => 0.3,
        part if part < 0.2 => 0.0,
        part if part < 0.25 && kind > 0.8 => 1e6,
        _ => 10.0_f64.powf(-6.0 * random.uniform()),
    };
    let softenings2 = (0..count).map(softening).map(|length: f64| length * length).collect();
    Softened { bodies: Bodies { positions, masses }, softenings2 }
}

#[test]
fn any_bodies_have_the_forces_of_plain_sums() {
    let rounds = std::env::var("KYOHO_TEST_ROUNDS").map_or(60, |rounds| rounds.parse().unwrap());
    let mut random = Random(11);
    for round in 0..rounds {
        let softened = random_bodies(&mut random);
        let count = softened.count();
        let own = random.uniform() < 0.5;
        let sinks: Vec<Sink> = (0..count)
            .map(|number| match own {
                true => softened.sink(number),
                false => Sink { softening2: random.uniform().powi(8), ..softened.sink(number) },
            })
            .collect();
        let mut system = softened.system(&setup(Precision::Double), TreeAccuracy::Error(1e-4));
        let found = forces(&mut system, count, &sinks);
        let expected: Vec<([f64; 4], f64)> = sinks.iter().map(|sink| softened.direct(sink)).collect();
        let largest = expected.iter().map(|(_, sizes)| *sizes).fold(0.0, f64::max);
        for (sink, (found, (expected, sizes))) in found.iter().zip(&expected).enumerate() {
            let difference = (1..4).map(|k| (found[k] - expected[k]).powi(2)).sum::<f64>().sqrt();
            // The promise is of most sinks: no error is large beside the pulls.
            let bound = 1e-2 * sizes + 1e-12 * largest;
            assert!(difference <= bound, "round {round}, sink {sink} of {count}: {found:?} is not {expected:?}");
        }
    }
}

#[test]
fn few_bodies_and_many_in_one_point_have_the_forces_of_plain_sums() {
    let point = |count: usize, softening: fn(usize) -> f64| {
        let mut positions = vec![[3.0, 4.0, 5.0]; count];
        positions.extend((count > 2).then_some([3.0, 4.0, 6.0]));
        let masses = (0..positions.len()).map(|body| 1.0 + body as f64 % 3.0).collect();
        Softened::new(Bodies { positions, masses }, softening)
    };
    type Case = (usize, fn(usize) -> f64);
    let cases: [Case; 6] = [
        (0, |_| 0.0),
        (1, |_| 0.5),
        (2, |body| body as f64),
        (700, |_| 0.25),
        (700, |body| 0.01 * (body % 10) as f64),
        (700, |body| if body % 2 == 0 { 0.0 } else { 1e9 }),
    ];
    for (case, (count, softening)) in cases.into_iter().enumerate() {
        let softened = point(count, softening);
        let count = softened.count();
        let sinks: Vec<Sink> = (0..count).map(|number| softened.sink(number)).collect();
        for precision in [Precision::Mixed, Precision::Double] {
            let mut system = softened.system(&setup(precision), TreeAccuracy::Error(1e-4));
            let found = forces(&mut system, count, &sinks);
            for (sink, found) in found.iter().enumerate() {
                let (expected, sizes) = softened.direct(&sinks[sink]);
                let difference = (1..4).map(|k| (found[k] - expected[k]).powi(2)).sum::<f64>().sqrt();
                let of_potential = (found[0] - expected[0]).abs();
                assert!(
                    difference <= 1e-5 * sizes && of_potential <= 1e-5 * expected[0].abs(),
                    "case {case}, sink {sink}: {found:?} is not {expected:?}"
                );
            }
        }
    }
}

#[test]
fn errors_that_a_system_measures_are_those_against_direct_sums() {
    let softened = Softened::new(models::plummer(3000), of_all_sizes(0.2));
    let sinks: Vec<Sink> = (0..3000).map(|number| softened.sink(number)).collect();
    let mut system = softened.system(&setup(Precision::Mixed), TreeAccuracy::Error(1e-3));
    let errors = system.tree_errors(3000, true, &sinks, 500).unwrap();
    assert!(errors.median > 0.0 && errors.median < 1e-3 && errors.worst < 2e-2, "{errors:?}");
    // Of ten sinks nine are not 99 of 100.
    let of_ten = system.tree_errors(3000, true, &sinks, 10).unwrap();
    assert!(of_ten.percentile_90 < of_ten.worst && of_ten.percentile_99 == of_ten.worst, "{of_ten:?}");
    system.set_tree_crossover(Some(u64::MAX));
    let errors = system.tree_errors(3000, true, &sinks, 500).unwrap();
    assert!(errors.worst < 1e-13, "{errors:?}");
}

#[test]
fn sources_that_change_have_their_new_softenings_in_the_next_tree() {
    let mut softened = Softened::new(models::plummer(3000), of_all_sizes(0.2));
    let mut system = softened.system(&setup(Precision::Mixed), TreeAccuracy::Error(1e-3));
    let sinks = |softened: &Softened| (0..3000).map(|number| softened.sink(number)).collect::<Vec<_>>();
    let before = forces(&mut system, 3000, &sinks(&softened));
    for number in (0..3000).step_by(7) {
        softened.softenings2[number] = 0.25;
        let at = softened.bodies.positions[number];
        let source = Source::from_derivatives(number as i32, softened.bodies.masses[number], 0.0, [at]);
        system.set_softened_source(number, &source, 0.25).unwrap();
    }
    let sinks = sinks(&softened);
    let found = forces(&mut system, 3000, &sinks);
    assert_ne!(found, before);
    assert_accurate("new softenings", &softened, (&sinks, &found), 1e-3);
    assert_eq!(system.setup().backend, Backend::Cpu);
}
