use super::*;
use crate::{Options, Perturbation, System, Terms, evolve};

/// A tide that does not change: T x for each body.
struct Tide(Tensor);

impl Perturbation for Tide {
    fn add(&self, _: f64, positions: &[Vector], _: &[Vector], accelerations: &mut [Vector]) {
        for (position, acceleration) in positions.iter().zip(accelerations) {
            add_scaled(acceleration, 1.0, applied(&self.0, *position));
        }
    }
}

/// The tide of a body of this mass at a place.
fn tide_of(mass: f64, [x, y, z]: Vector) -> Tensor {
    let square = x * x + y * y + z * z;
    let factor = mass / (square * square.sqrt());
    let of = |one: f64, other: f64, diagonal: f64| factor * (3.0 * one * other / square - diagonal);
    [of(x, x, 1.0), of(y, y, 1.0), of(z, z, 1.0), of(x, y, 0.0), of(x, z, 0.0), of(y, z, 0.0)]
}

/// A binary of mass 1 and semi-major axis 1 at some phase, as separation and velocity.
fn orbit(e: f64, anomaly: f64) -> (Vector, Vector) {
    let j = (1.0 - e * e).sqrt();
    let eccentricity = [0.6 * e, 0.0, 0.8 * e];
    let momentum = [-0.8 * 0.6 * j, 0.8 * j, 0.6 * 0.6 * j];
    Ellipse { eccentricity, momentum, semi_major_axis: 1.0, anomaly }.state(1.0)
}

fn energy_in((separation, velocity): (Vector, Vector), tide: &Tensor) -> f64 {
    crate::kepler::energy(1.0, separation, velocity) - 0.5 * dot(separation, applied(tide, separation))
}

#[test]
fn without_a_tide_the_orbit_is_keplers() {
    for e in [1e-13, 1e-9, 0.3, 0.99] {
        let start = orbit(e, 0.7);
        let (place, speed) = advance(1.0, start, 123.4, |_| [0.0; 6], None).0;
        let (expected, expected_speed) = crate::kepler::advance(1.0, start.0, start.1, 123.4).unwrap();
        let error = norm(difference(place, expected)) + norm(difference(speed, expected_speed));
        assert!(error < 1e-10 / (1.0 - e), "e = {e}: {error:e}");
    }
}

#[test]
fn the_averaged_orbit_turns_as_the_integrated_one() {
    let tide = tide_of(1e-6, [0.6, -0.3, 0.5]);
    let strength = strength(1.0, orbit(0.7, 0.0).0, orbit(0.7, 0.0).1, &tide);
    for e in [0.1, 0.7, 0.95] {
        let (separation, velocity) = orbit(e, 1.9);
        let mut system = System {
            masses: vec![0.25, 0.75],
            positions: vec![scaled(-0.75, separation), scaled(0.25, separation)],
            velocities: vec![scaled(-0.75, velocity), scaled(0.25, velocity)],
            radii: Vec::new(),
        };
        let time = 1000.25 * std::f64::consts::TAU;
        evolve(&mut system, &Options { time, ..Options::default() }, Some(&Tide(tide))).unwrap();
        let place = difference(system.positions[1], system.positions[0]);
        let speed = difference(system.velocities[1], system.velocities[0]);
        let (expected, found) =
            (Ellipse::of(1.0, place, speed), advance(1.0, (separation, velocity), time, |_| tide, None).0);
        let found = Ellipse::of(1.0, found.0, found.1);
        let before = Ellipse::of(1.0, separation, velocity);
        for (name, of) in [("e", 0), ("j", 1)] {
            let vector = |ellipse: &Ellipse| [ellipse.eccentricity, ellipse.momentum][of];
            let turned = norm(difference(vector(&expected), vector(&before)));
            let error = norm(difference(vector(&found), vector(&expected)));
            assert!(turned > 100.0 * strength, "{name}: {turned:e}");
            assert!(error < 20.0 * strength, "e = {e}, {name}: {error:e} of {turned:e}");
        }
    }
}

#[test]
fn the_averaged_motion_is_the_same_in_all_units_of_length() {
    let (tide, relativity) = (tide_of(1e-6, [0.6, -0.3, 0.5]), Relativity::new([0.25, 0.75], 1e3));
    let (start, time) = (orbit(0.7, 1.9), 1000.25 * std::f64::consts::TAU);
    for terms in [None, Some(&relativity)] {
        let expected = advance(1.0, start, time, |_| tide, terms);
        for power in [-20, 6, 30] {
            // Times go with the power 3/2 of lengths, so that masses stay.
            let [length, unit] = [4.0_f64, 8.0].map(|base| base.powi(power));
            let relativity = Relativity::new([0.25, 0.75], 1e3 * length / unit);
            let scaled_state = |(place, speed): (Vector, Vector)| (scaled(length, place), scaled(length / unit, speed));
            let tide = tide.map(|value| value / (unit * unit));
            let terms = terms.map(|_| &relativity);
            let (found, passed) = advance(1.0, scaled_state(start), time * unit, |_| tide, terms);
            assert_eq!((found, passed), (scaled_state(expected.0), expected.1 * unit), "4^{power}");
        }
    }
}

#[test]
fn the_energy_of_the_orbit_and_in_the_tide_is_constant() {
    let tide = tide_of(1e-6, [0.6, -0.3, 0.5]);
    let mut state = orbit(0.7, 1.9);
    let start = energy_in(state, &tide);
    let of_orbit = crate::kepler::energy(1.0, state.0, state.1);
    let (mut largest, mut of_orbits) = (0.0f64, 0.0f64);
    for _ in 0..200 {
        state = advance(1.0, state, 1234.5, |_| tide, None).0;
        largest = largest.max((energy_in(state, &tide) - start).abs());
        of_orbits = of_orbits.max((crate::kepler::energy(1.0, state.0, state.1) - of_orbit).abs());
    }
    assert!(of_orbits > 1e-6 && largest < 3e-11, "{of_orbits:e} {largest:e}");
}

/// Two bodies of a quarter and three quarters of the mass.
fn system((separation, velocity): (Vector, Vector)) -> System {
    System {
        masses: vec![0.25, 0.75],
        positions: vec![scaled(-0.75, separation), scaled(0.25, separation)],
        velocities: vec![scaled(-0.75, velocity), scaled(0.25, velocity)],
        radii: Vec::new(),
    }
}

#[test]
fn the_averaged_orbit_turns_and_decays_by_relativity_as_the_integrated_one() {
    for (e, light, tide) in [(0.05, 60.0, 0.0), (0.6, 60.0, 0.0), (0.6, 100.0, 1e-4), (0.9, 200.0, 0.0)] {
        let tide = tide_of(tide, [6.0, -3.0, 5.0]);
        let start = orbit(e, 1.9);
        let mut integrated = system(start);
        let time = 300.0 * std::f64::consts::TAU;
        let options = Options { time, speed_of_light: Some((light, Terms::USUAL)), ..Options::default() };
        evolve(&mut integrated, &options, Some(&Tide(tide))).unwrap();
        let between = |rows: &[Vector]| difference(rows[1], rows[0]);
        let expected = (between(&integrated.positions), between(&integrated.velocities));
        let relativity = Relativity::new([0.25, 0.75], light);
        let (found, passed) = advance(1.0, start, time, |_| tide, Some(&relativity));
        assert_eq!(passed, time);
        let energy = |state: (Vector, Vector)| energy_in((state.0, relativity.newtonian(state.0, state.1)), &tide);
        let lost = [expected, found].map(|end| energy(start) - energy(end));
        let [before, expected, found] = [start, expected, found].map(|state| Ellipse::of(1.0, state.0, state.1));
        let angle = |orbit: &Ellipse| {
            let [one, other] = [before.eccentricity, orbit.eccentricity];
            dot(scaled(1.0 / norm(before.momentum), before.momentum), cross(one, other)).atan2(dot(one, other))
        };
        assert!((angle(&expected) - angle(&found)).abs() < 0.03, "e = {e}: {} {}", angle(&expected), angle(&found));
        // The energy of the first order varies along the orbit by the second one.
        let second = (1.0 / (light * light * (1.0 - e * e))).powi(2);
        assert!((lost[1] - lost[0]).abs() < 0.005 * lost[0] + 30.0 * second, "e = {e}: {lost:?} {second:e}");
    }
}

#[test]
fn turns_of_the_averaged_orbit_take_no_energy_where_waves_take_none() {
    for e in [1e-9, 0.3, 0.8] {
        let relativity = Relativity::new([0.5, 0.5], 1e4);
        let energy = |state: (Vector, Vector)| energy_in((state.0, relativity.newtonian(state.0, state.1)), &[0.0; 6]);
        let start = orbit(e, 0.4);
        let mut state = start;
        for turn in 0..1000 {
            state = advance(1.0, state, 10.0 + f64::from(turn), |_| [0.0; 6], Some(&relativity)).0;
        }
        assert!((energy(state) / energy(start) - 1.0).abs() < 1e-11, "e = {e}");
    }
}

#[test]
fn an_averaged_orbit_decays_as_peters_says_until_it_is_strong() {
    let relativity = Relativity::new([0.5, 0.5], 100.0);
    let strong: f64 = 1e-4 / 5e-3;
    // a^4 falls by this in a unit of time, with equal masses.
    let rate = 256.0 / 5.0 * 0.25 / 1e10;
    let (state, passed) = advance(1.0, orbit(1e-9, 0.0), 2.0 / rate, |_| [0.0; 6], Some(&relativity));
    assert!((passed * rate / (1.0 - strong.powi(4)) - 1.0).abs() < 1e-2, "{passed:e} {:e}", 1.0 / rate);
    let axis = Ellipse::of(1.0, state.0, state.1).semi_major_axis;
    assert!((axis / strong - 1.0).abs() < 0.05, "{axis}");
}
