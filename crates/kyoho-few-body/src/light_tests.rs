//! Systems with bodies of no mass, or of next to none, whose paths are those of single bodies.

use crate::vector::{Vector, difference, norm, scaled, sum};
use crate::{End, Options, Perturbation, Perturbers, System, evolve, kepler};

fn with_time(time: f64) -> Options {
    Options { time, max_steps: 3000, ..Options::default() }
}

/// Three bodies of which two meet, and one that flies by; none has a mass.
fn without_masses() -> System {
    System {
        masses: vec![0.0; 3],
        positions: vec![[0.3, -0.2, 1.0], [1.3, -0.2, 1.0], [5.0, 4.0, -7.0]],
        velocities: vec![[0.1, 0.2, 0.3], [-0.9, 0.2, 0.3], [-0.5, 0.0, 0.7]],
        radii: vec![0.1, 0.05, 0.0],
    }
}

/// Returns how far a system is from where it would be on straight lines after a time.
fn from_straight(start: &System, end: &System, time: f64) -> f64 {
    let bodies = start.positions.iter().zip(&start.velocities).zip(&end.positions);
    bodies.map(|((&from, &velocity), &to)| norm(difference(to, sum(from, scaled(time, velocity))))).fold(0.0, f64::max)
}

#[test]
fn bodies_without_mass_move_on_straight_lines_and_touch_where_these_meet() {
    let start = without_masses();
    for time in [0.0, 0.7, 10.0] {
        let mut system = start.clone();
        let outcome = evolve(&mut system, &with_time(time), None).unwrap();
        assert_eq!((outcome.end, outcome.time), (End::Time, time));
        assert!(from_straight(&start, &system, time) < 1e-13, "{time}: {system:?}");
        assert!(start.velocities.iter().zip(&system.velocities).all(|(one, two)| norm(difference(*one, *two)) < 1e-14));
    }
    let mut system = start.clone();
    let options = Options { stop_at_collision: true, ..with_time(10.0) };
    let outcome = evolve(&mut system, &options, None).unwrap();
    assert_eq!(outcome.end, End::Collision([0, 1]));
    assert!((outcome.time - 0.85).abs() < 1e-9, "{outcome:?}");
    assert!(from_straight(&start, &system, outcome.time) < 1e-13, "{system:?}");
}

#[test]
fn bodies_without_mass_are_pulled_from_outside() {
    struct Uniform(Vector);
    impl Perturbation for Uniform {
        fn add(&self, _: f64, _: &[Vector], _: &[Vector], accelerations: &mut [Vector]) {
            accelerations.iter_mut().for_each(|acceleration| *acceleration = sum(*acceleration, self.0));
        }
    }
    let pull = [0.3, -0.1, 0.2];
    for count in 1..=3 {
        let mut start = without_masses();
        start.masses.truncate(count);
        start.positions.truncate(count);
        start.velocities.truncate(count);
        start.radii.truncate(count);
        let mut system = start.clone();
        evolve(&mut system, &with_time(2.0), Some(&Uniform(pull))).unwrap();
        system.positions.iter_mut().for_each(|place| *place = difference(*place, scaled(2.0, pull)));
        assert!(from_straight(&start, &system, 2.0) < 1e-12, "{count}: {system:?}");
    }
}

/// A heavy body after or before light ones, which are on flat orbits around it.
fn heavy_with_moons(heavy: f64, light: f64, is_first: bool) -> System {
    let mut system = System::default();
    let mut push = |mass: f64, position: Vector, velocity: Vector| {
        system.masses.push(mass);
        system.positions.push(position);
        system.velocities.push(velocity);
    };
    if is_first {
        push(heavy, [0.0; 3], [0.0; 3]);
    }
    for (turn, radius) in [(0.3f64, 1.0f64), (2.0, 1.6), (4.5, 2.56)] {
        let (sin, cos) = turn.sin_cos();
        let speed = (0.9 * heavy / radius).sqrt();
        push(light, [radius * cos, radius * sin, 0.003 * radius], [-speed * sin, speed * cos, 0.002 * speed]);
    }
    if !is_first {
        push(heavy, [0.0; 3], [0.0; 3]);
    }
    system
}

#[test]
fn light_bodies_around_a_heavy_one_follow_kepler_wherever_it_stands() {
    // Masses whose products with their inverses are 1 or not quite.
    for heavy in [1.0, 0.7, 49.0, 3e-4] {
        for light in [0.0, 1e-30, 1e-20] {
            for is_first in [true, false] {
                let start = heavy_with_moons(heavy, light * heavy, is_first);
                let mut system = start.clone();
                let time = 40.0 / f64::sqrt(heavy);
                let options = Options { max_steps: 3000, ..with_time(time) };
                let outcome = evolve(&mut system, &options, None).unwrap();
                assert_eq!(outcome.end, End::Time, "{heavy} {light:e} {is_first}: {outcome:?}");
                let star = if is_first { 0 } else { 3 };
                for moon in (0..4).filter(|body| *body != star) {
                    let (place, velocity) = (start.positions[moon], start.velocities[moon]);
                    let (expected, _) = kepler::advance(heavy, place, velocity, time).unwrap();
                    let found = difference(system.positions[moon], system.positions[star]);
                    let error = norm(difference(found, expected));
                    assert!(error < 1e-9, "{heavy} {light:e} {is_first} {moon}: {error:e}");
                }
            }
        }
    }
}

#[test]
fn light_bodies_around_a_heavy_one_come_to_their_time_where_others_pull() {
    // Far away, so that each moon's orbit is nearly its own, and near, where a plain system of all is the
    // same.
    for heavy in [1.0, 0.7, 2e-4] {
        for light in [0.0, 1e-30, 1e-14] {
            for is_first in [true, false] {
                let start = heavy_with_moons(heavy, light * heavy, is_first);
                let star = if is_first { 0 } else { 3 };
                let perturber = Perturbers {
                    time: 0.0,
                    masses: vec![1e3 * heavy],
                    positions: vec![[300.0, 100.0, 50.0]],
                    velocities: vec![[0.0; 3]],
                };
                let options = Options { max_steps: 3000, tolerance: 1e-13, ..with_time(20.0 / f64::sqrt(heavy)) };
                let mut system = start.clone();
                let outcome = evolve(&mut system, &options, Some(&perturber)).unwrap();
                assert_eq!(outcome.end, End::Time, "{heavy} {light:e} {is_first}: {outcome:?}");
                // Each moon alone, as a body with no other moon in its system.
                for moon in (0..4).filter(|body| *body != star) {
                    let rows = |rows: &[Vector]| vec![rows[star], rows[moon]];
                    let mut alone = System {
                        masses: vec![heavy, 0.0],
                        positions: rows(&start.positions),
                        velocities: rows(&start.velocities),
                        radii: Vec::new(),
                    };
                    evolve(&mut alone, &options, Some(&perturber)).unwrap();
                    for (body, expected) in [star, moon].into_iter().zip(&alone.positions) {
                        let error = norm(difference(system.positions[body], *expected));
                        assert!(error < 1e-8, "{heavy} {light:e} {is_first} {moon}: {error:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn bodies_of_any_mass_fall_on_a_star_and_come_back() {
    // Another body makes the orbits miss the star by 1e-14 of their size to 1e-16.
    for turn in 0..12 {
        let (sine, cosine) = (0.3 + 0.5 * f64::from(turn)).sin_cos();
        let far = 2.0 + 0.2 * f64::from(turn);
        let after = |mass: f64| {
            let mut system = System {
                masses: vec![1.0, mass, 1e-3],
                positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [far * cosine, far * sine, 0.3]],
                velocities: vec![[0.0; 3], [0.0; 3], [0.1, 0.4 * cosine, -0.4 * sine]],
                radii: Vec::new(),
            };
            evolve(&mut system, &with_time(1.9), None).unwrap();
            norm(difference(system.positions[1], system.positions[0]))
        };
        let expected = after(1e-6);
        for mass in [0.0, 1e-20, 1e-15, 1e-10] {
            let error = (after(mass) - expected).abs();
            assert!(error < 5e-3, "{turn}: a mass of {mass:e} is {error:e} off");
        }
    }
}
