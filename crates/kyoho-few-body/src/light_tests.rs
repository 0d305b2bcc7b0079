//! Systems with bodies of no mass, or of next to none, whose paths are those of single bodies.

use crate::vector::{Vector, difference, norm, scaled, sum};
use crate::{End, Options, Perturbation, System, evolve};

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
