//! Systems whose motion is known: from formulae, from papers, or from another start.

use std::f64::consts::{PI, TAU};

use kyoho_core::ResultCode;
use kyoho_hal::threads::Threads;

use crate::vector::{Vector, add_scaled, difference, dot, norm, scaled, sum};
use crate::{End, Machine, Options, Perturbation, Perturbers, System, Terms, evolve, evolve_all, kepler};

fn energy(system: &System) -> f64 {
    let System { masses, positions, velocities, .. } = system;
    let mut energy = 0.0;
    for body in 0..masses.len() {
        energy += 0.5 * masses[body] * dot(velocities[body], velocities[body]);
        for other in 0..body {
            energy -= masses[body] * masses[other] / norm(difference(positions[body], positions[other]));
        }
    }
    energy
}

/// Two bodies of these masses at the apocentre of an ellipse of semi-major axis 1, around the origin.
fn binary(masses: [f64; 2], eccentricity: f64) -> System {
    let total = masses[0] + masses[1];
    let separation = [1.0 + eccentricity, 0.0, 0.0];
    let velocity = [0.0, (total * (1.0 - eccentricity) / (1.0 + eccentricity)).sqrt(), 0.0];
    let parts = [-masses[1] / total, masses[0] / total];
    System {
        masses: masses.to_vec(),
        positions: parts.map(|part| scaled(part, separation)).to_vec(),
        velocities: parts.map(|part| scaled(part, velocity)).to_vec(),
        radii: Vec::new(),
    }
}

/// C. Burrau's problem of 1913: masses 3, 4, 5 at rest at the corners of a triangle.
fn pythagorean() -> System {
    System {
        masses: vec![3.0, 4.0, 5.0],
        positions: vec![[1.0, 3.0, 0.0], [-2.0, -1.0, 0.0], [1.0, -1.0, 0.0]],
        velocities: vec![[0.0; 3]; 3],
        radii: Vec::new(),
    }
}

fn with_time(time: f64) -> Options {
    Options { time, ..Options::default() }
}

/// Something that acts on nothing, which makes the integrator move two bodies too.
struct Nothing;

impl Perturbation for Nothing {
    fn add(&self, _: f64, _: &[Vector], _: &[Vector], _: &mut [Vector]) {}
}

#[test]
fn two_bodies_return_after_ten_thousand_orbits() {
    for eccentricity in [0.0, 0.5, 0.9, 0.9999] {
        let start = binary([0.6, 0.4], eccentricity);
        let mut system = start.clone();
        let outcome = evolve(&mut system, &with_time(1e4 * TAU), None).unwrap();
        assert_eq!(outcome.end, End::Time);
        let error = (energy(&system) / energy(&start) - 1.0).abs();
        assert!(error < 1e-12, "e = {eccentricity}: energy {error:e}");
        // Near the apocentre a place is off by the error of the phase.
        let phase = norm(difference(system.positions[0], start.positions[0])) / start.positions[0][0].abs();
        assert!(phase < 1e-8, "e = {eccentricity}: phase {phase:e}");
        assert!((outcome.binaries[0].orbit.eccentricity - eccentricity).abs() < 1e-9);
    }
}

#[test]
fn the_integrator_keeps_an_ellipse_of_any_eccentricity() {
    for eccentricity in [0.0, 0.9, 0.9999] {
        let start = binary([0.6, 0.4], eccentricity);
        let mut system = start.clone();
        evolve(&mut system, &with_time(100.0 * TAU), Some(&Nothing)).unwrap();
        let error = (energy(&system) / energy(&start) - 1.0).abs();
        assert!(error < 1e-12, "e = {eccentricity}: energy {error:e}");
        let phase = norm(difference(system.positions[0], start.positions[0]));
        assert!(phase < 1e-8, "e = {eccentricity}: phase {phase:e}");
    }
}

#[test]
fn hyperbolas_and_straight_falls_are_solved_forth_and_back() {
    for velocity in [[0.0, 0.0, 0.0], [1.0, 0.5, 0.2], [-3.0, 1e-3, 0.0], [0.0, 5.0, 0.0]] {
        let from = ([1.0, 0.5, -0.3], velocity);
        for time in [1e-6, 0.1, 0.9, 30.0] {
            let Some((place, speed)) = kepler::advance(1.3, from.0, from.1, time) else { continue };
            let before = kepler::energy(1.3, from.0, from.1);
            let scale = 1.3 / norm(place) + before.abs();
            assert!((kepler::energy(1.3, place, speed) - before).abs() < 1e-12 * scale);
            let back = kepler::advance(1.3, place, speed, -time).unwrap();
            let error = norm(difference(back.0, from.0)) / norm(place).max(1.0);
            assert!(error < 1e-9, "{velocity:?} {time}: {error:e}");
        }
    }
}

#[test]
fn the_pythagorean_triple_ends_with_the_known_binary() {
    let mut system = pythagorean();
    let before = energy(&system);
    let outcome = evolve(&mut system, &with_time(70.0), None).unwrap();
    assert_eq!((outcome.end, outcome.time), (End::Time, 70.0));
    // In time itself, without regularisation, it is three times as many.
    assert!(outcome.steps < 700, "{outcome:?}");
    let error = (energy(&system) / before - 1.0).abs();
    assert!(error < 1e-12, "{error:e}");
    let [binary] = &outcome.binaries[..] else { panic!("{:?}", outcome.binaries) };
    assert_eq!(binary.members, [vec![1], vec![2]]);
    assert!((binary.orbit.semi_major_axis - 0.5525).abs() < 1e-4, "{binary:?}");
    assert!((binary.orbit.eccentricity - 0.9887).abs() < 1e-4, "{binary:?}");
}

#[test]
fn a_system_ends_where_a_part_of_it_leaves() {
    let mut system = pythagorean();
    let options = Options { stop_at_escape: Some(5.0), ..with_time(1e3) };
    let outcome = evolve(&mut system, &options, None).unwrap();
    assert!(matches!(outcome.end, End::Escape | End::Exchange), "{outcome:?}");
    assert!(outcome.time > 50.0 && outcome.time < 100.0, "{outcome:?}");
}

#[test]
fn bodies_that_all_fly_apart_are_no_exchange() {
    let mut system = binary([0.6, 0.4], 0.5);
    let [x, y, z] = system.positions[0];
    system.masses.push(5.0);
    system.positions.push([x + 0.1, y + 10.0, z]);
    system.velocities.push([0.0, -20.0, 0.0]);
    let outcome = evolve(&mut system, &Options { stop_at_escape: Some(5.0), ..with_time(100.0) }, None).unwrap();
    assert!(outcome.binaries.is_empty() && outcome.end == End::Escape, "{outcome:?}");
    // For a moment all three are unbound, but still near enough to bind one another.
    let corners = [0.0, 1.0, 2.0].map(|corner: f64| (corner * TAU / 3.0).sin_cos());
    let mut system = System {
        masses: vec![1.0; 3],
        positions: corners.map(|(y, x)| [x, y, 0.0]).to_vec(),
        velocities: corners.map(|(y, x)| [1.2 * x, 1.2 * y, 0.0]).to_vec(),
        radii: Vec::new(),
    };
    system.velocities[0][2] = 0.9;
    for distance in [3.0, 20.0, 1000.0] {
        let mut system = system.clone();
        let outcome = evolve(&mut system, &Options { stop_at_escape: Some(distance), ..with_time(1e9) }, None).unwrap();
        assert!(matches!(outcome.end, End::Escape | End::Exchange), "{outcome:?}");
        for (one, other) in [(0, 1), (0, 2), (1, 2)].into_iter().filter(|_| outcome.binaries.is_empty()) {
            let far = norm(difference(system.positions[one], system.positions[other]));
            let speed = norm(difference(system.velocities[one], system.velocities[other]));
            assert!(far * speed * speed > 2.0 * distance, "{distance}: {far} {speed}");
        }
    }
}

#[test]
fn bodies_end_where_they_touch() {
    for eccentricity in [0.9, 0.999_999] {
        let mut system = binary([0.6, 0.4], eccentricity);
        system.radii = vec![0.15, 0.05];
        let options = Options { stop_at_collision: true, ..with_time(100.0) };
        let outcome = evolve(&mut system, &options, None).unwrap();
        assert_eq!(outcome.end, End::Collision([0, 1]));
        let distance = norm(difference(system.positions[1], system.positions[0]));
        assert!((distance - 0.2).abs() < 1e-9, "{distance}");
        // From the apocentre to r = 1 - e cos E.
        let anomaly = ((1.0 - 0.2) / eccentricity).acos();
        let time = PI - (anomaly - eccentricity * anomaly.sin());
        assert!((outcome.time - time).abs() < 1e-8, "{} {time}", outcome.time);
    }
    // Those that overlap and part go on.
    let mut system = System {
        masses: vec![0.5, 0.5],
        positions: vec![[-0.1, 0.0, 0.0], [0.1, 0.0, 0.0]],
        velocities: vec![[-10.0, 0.0, 0.0], [10.0, 0.0, 0.0]],
        radii: vec![0.2, 0.2],
    };
    let options = Options { stop_at_collision: true, ..with_time(1.0) };
    assert_eq!(evolve(&mut system, &options, None).unwrap().end, End::Time);
    // Those that pass one another farther off go on.
    let mut system = binary([0.6, 0.4], 0.5);
    system.radii = vec![0.2, 0.2];
    let options = Options { stop_at_collision: true, ..with_time(20.0) };
    assert_eq!(evolve(&mut system, &options, None).unwrap().end, End::Time);
}

/// Two bodies of mass 0.5 on an ellipse of semi-major axis 1, at an eccentric anomaly, with radii that sum
/// up to a distance.
fn on_ellipse(eccentricity: f64, anomaly: f64, touch: f64) -> System {
    let (sine, cosine) = anomaly.sin_cos();
    let across = (1.0 - eccentricity * eccentricity).sqrt();
    let rate = 1.0 / (1.0 - eccentricity * cosine);
    let separation = [cosine - eccentricity, across * sine, 0.0];
    let velocity = [-rate * sine, rate * across * cosine, 0.0];
    System {
        masses: vec![0.5; 2],
        positions: [-0.5, 0.5].map(|part| scaled(part, separation)).to_vec(),
        velocities: [-0.5, 0.5].map(|part| scaled(part, velocity)).to_vec(),
        radii: vec![0.5 * touch; 2],
    }
}

#[test]
fn bodies_end_where_they_touch_at_any_tolerance() {
    for tolerance in [1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-14] {
        for (eccentricity, start) in [0.7, 0.99, 0.9999, 0.99999].into_iter().flat_map(|e| (1..12).map(move |k| (e, k)))
        {
            let touch = 1.5 * (1.0 - eccentricity);
            let anomaly = 0.5 * f64::from(start);
            // Where errors of steps are as large as the pericentre, bodies may miss one another.
            if 1.0 - eccentricity * anomaly.cos() < touch || tolerance > 0.01 * (1.0 - eccentricity) {
                continue;
            }
            let mut system = on_ellipse(eccentricity, anomaly, touch);
            let options = Options { stop_at_collision: true, tolerance, ..with_time(1.2 * TAU) };
            let outcome = evolve(&mut system, &options, None).unwrap();
            let time = |anomaly: f64| anomaly - eccentricity * anomaly.sin();
            let expected = TAU - time(((1.0 - touch) / eccentricity).acos()) - time(anomaly);
            assert_eq!(outcome.end, End::Collision([0, 1]), "{tolerance:e}, {eccentricity} from {anomaly}");
            assert!((outcome.time - expected).abs() < 0.05, "{} {expected}", outcome.time);
        }
    }
}

#[test]
fn bodies_that_overlap_and_part_touch_where_they_come_back() {
    let mut count = 0;
    for (eccentricity, part, start) in
        [0.1, 0.45, 0.6].into_iter().flat_map(|e| (0..6).flat_map(move |k| (0..6).map(move |l| (e, k, l))))
    {
        // They overlap from the pericentre on: up to a distance, or everywhere.
        let touch = 1.0 - eccentricity + eccentricity * (0.1 + 0.4 * f64::from(part));
        let anomaly = 0.05 + 0.3 * f64::from(start);
        if 1.0 - eccentricity * anomaly.cos() > 0.99 * touch {
            continue;
        }
        let back = if touch < 1.0 + eccentricity { TAU - ((1.0 - touch) / eccentricity).acos() } else { PI };
        let time = |anomaly: f64| anomaly - eccentricity * anomaly.sin();
        let mut system = on_ellipse(eccentricity, anomaly, touch);
        let outcome = evolve(&mut system, &Options { stop_at_collision: true, ..with_time(20.0) }, None).unwrap();
        assert_eq!(outcome.end, End::Collision([0, 1]), "{eccentricity} {touch} {anomaly}");
        let expected = time(back) - time(anomaly);
        assert!((outcome.time - expected).abs() < 1e-7, "{eccentricity} {touch}: {} {expected}", outcome.time);
        count += 1;
    }
    assert!(count > 60, "{count}");
}

#[test]
fn a_passing_perturber_acts_as_in_a_plain_scheme() {
    let pair = binary([0.6, 0.4], 0.3);
    let perturber = Perturbers {
        time: 0.0,
        masses: vec![0.2],
        positions: vec![[0.0, 3.0, 0.0]],
        velocities: vec![[50.0, 0.0, 0.0]],
    };
    let mut alone = pair.clone();
    evolve(&mut alone, &with_time(3.0), Some(&perturber)).unwrap();
    // The reference is a plain leapfrog with many steps.
    let mut system = pair;
    let steps = 60_000;
    let step = 3.0 / f64::from(steps);
    let accelerations = |system: &System, time: f64| {
        let [one, other] = [0, 1].map(|body| system.positions[body]);
        let separation = difference(other, one);
        let cube = dot(separation, separation).powf(1.5);
        let mut found = vec![scaled(0.4 / cube, separation), scaled(-0.6 / cube, separation)];
        perturber.add(time, &system.positions, &system.velocities, &mut found);
        found
    };
    for at in 0..steps {
        for body in 0..2 {
            system.positions[body] = sum(system.positions[body], scaled(0.5 * step, system.velocities[body]));
        }
        let found = accelerations(&system, (f64::from(at) + 0.5) * step);
        for (body, acceleration) in found.into_iter().enumerate() {
            system.velocities[body] = sum(system.velocities[body], scaled(step, acceleration));
            system.positions[body] = sum(system.positions[body], scaled(0.5 * step, system.velocities[body]));
        }
    }
    for body in 0..2 {
        let error = norm(difference(system.positions[body], alone.positions[body]));
        assert!(error < 1e-7, "{error:e}");
    }
}

/// A tide that is the same all the time and in all directions.
struct Tide(f64);

impl Perturbation for Tide {
    fn add(&self, _: f64, positions: &[Vector], _: &[Vector], accelerations: &mut [Vector]) {
        for (acceleration, position) in accelerations.iter_mut().zip(positions) {
            add_scaled(acceleration, self.0, *position);
        }
    }
}

#[test]
fn one_body_that_hardly_moves_comes_to_its_time() {
    for (place, speed, tide) in [(1e-3, 1e-20, 1e-9), (1e-3, 0.0, 1.0), (1e-3, -1e-6, 1e-3), (0.0, 1e-22, 1.0)] {
        let mut system = System {
            masses: vec![1.0],
            positions: vec![[place, 0.0, 0.0]],
            velocities: vec![[speed; 3]],
            radii: vec![],
        };
        let options = Options { tolerance: 1e-13, max_steps: 100, ..with_time(1.0) };
        let outcome = evolve(&mut system, &options, Some(&Tide(tide))).unwrap();
        let rate = tide.sqrt();
        let expected = place * rate.cosh() + speed * rate.sinh() / rate;
        let found = system.positions[0][0];
        assert!(outcome.end == End::Time && outcome.leapfrog_steps < 1000, "{place:e} {speed:e} {tide:e}: {outcome:?}");
        assert!((found - expected).abs() <= 1e-13 * expected.abs(), "{found:e} {expected:e}");
    }
}

#[test]
fn massless_bodies_move_as_in_the_field_of_the_others() {
    // A planet without mass on an eccentric orbit around a star, and a second one.
    let kepler = |eccentricity: f64| {
        let speed = ((1.0 - eccentricity) / (1.0 + eccentricity)).sqrt();
        ([1.0 + eccentricity, 0.0, 0.0], [0.0, speed, 0.0])
    };
    let [one, other] = [kepler(0.99), kepler(0.2)];
    let mut system = System {
        masses: vec![1.0, 0.0, 0.0],
        positions: vec![[0.0; 3], one.0, other.0],
        velocities: vec![[0.0; 3], one.1, other.1],
        radii: Vec::new(),
    };
    evolve(&mut system, &with_time(10.0 * TAU), None).unwrap();
    for (body, start) in [(1, one), (2, other)] {
        let error = norm(difference(system.positions[body], start.0));
        assert!(error < 1e-10, "body {body}: {error:e}");
    }
    assert!(norm(system.positions[0]) < 1e-12);
}

#[test]
fn planets_keep_the_energy() {
    let circle = |radius: f64| ([radius, 0.0, 0.0], [0.0, 1.0 / radius.sqrt(), 0.0]);
    let [one, other] = [circle(1.0), circle(1.7)];
    let mut system = System {
        masses: vec![1.0, 1e-6, 1e-6],
        positions: vec![[0.0; 3], one.0, other.0],
        velocities: vec![[0.0; 3], one.1, other.1],
        radii: Vec::new(),
    };
    let before = energy(&system);
    evolve(&mut system, &with_time(100.0 * TAU), None).unwrap();
    let error = (energy(&system) / before - 1.0).abs();
    assert!(error < 1e-11, "{error:e}");
}

#[test]
fn an_inclined_companion_drives_kozai_cycles() {
    // A planet around a star, and another star on a circle of radius 15 that is inclined by 75 degrees.
    let (inclination, radius): (f64, f64) = (75f64.to_radians(), 15.0);
    let speed = (2.0 / radius).sqrt();
    let mut system = System {
        masses: vec![1.0, 1e-9, 1.0],
        positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [radius, 0.0, 0.0]],
        velocities: vec![[0.0; 3], [0.0, 1.0, 0.0], [0.0, speed * inclination.cos(), speed * inclination.sin()]],
        radii: Vec::new(),
    };
    let options = Options { tolerance: 1e-11, ..with_time(50.0) };
    let mut largest = 0.0f64;
    for _ in 0..600 {
        let outcome = evolve(&mut system, &options, None).unwrap();
        assert_eq!(outcome.binaries[0].members, [vec![0], vec![1]]);
        largest = largest.max(outcome.binaries[0].orbit.eccentricity);
    }
    // Y. Kozai, Astronomical Journal 67 (1962) 591: the largest eccentricity of orbits that begin as circles.
    let expected = (1.0 - 5.0 / 3.0 * inclination.cos().powi(2)).sqrt();
    assert!((largest - expected).abs() < 0.02, "{largest} {expected}");
}

/// The angle by which the pericentre of a binary turns in so many orbits.
fn turned(start: &System, end: &System) -> f64 {
    let towards = |system: &System| {
        let separation = difference(system.positions[1], system.positions[0]);
        let velocity = difference(system.velocities[1], system.velocities[0]);
        let momentum = crate::vector::cross(separation, velocity);
        let total = system.masses.iter().sum::<f64>();
        let along = difference(
            scaled(1.0 / total, crate::vector::cross(velocity, momentum)),
            scaled(1.0 / norm(separation), separation),
        );
        along[1].atan2(along[0])
    };
    (towards(end) - towards(start)).rem_euclid(TAU)
}

#[test]
fn the_first_relativistic_term_turns_the_ellipse() {
    let eccentricity = 0.6;
    let start = binary([0.6, 0.4], eccentricity);
    let mut system = start.clone();
    let speed_of_light = 1e3;
    let terms = Terms { first: true, second: false, decay: false, decay_correction: false };
    let orbits = 200.0;
    let options = Options { speed_of_light: Some((speed_of_light, terms)), ..with_time(orbits * TAU) };
    evolve(&mut system, &options, None).unwrap();
    // 6 pi G M / (a (1 - e^2) c^2) in each orbit.
    let expected = orbits * 6.0 * PI / ((1.0 - eccentricity * eccentricity) * speed_of_light * speed_of_light);
    let ratio = turned(&start, &system) / expected;
    assert!((ratio - 1.0).abs() < 1e-4, "{ratio}");
}

#[test]
fn gravitational_waves_shrink_an_orbit_as_peters_says() {
    let eccentricity: f64 = 0.6;
    let start = binary([0.6, 0.4], eccentricity);
    let mut system = start.clone();
    let speed_of_light: f64 = 200.0;
    let terms = Terms { first: false, second: false, decay: true, decay_correction: false };
    let time = 300.0 * TAU;
    let options = Options { speed_of_light: Some((speed_of_light, terms)), ..with_time(time) };
    let outcome = evolve(&mut system, &options, None).unwrap();
    // P. C. Peters, Physical Review 136 (1964) B1224, equation 5.6.
    let e2 = eccentricity * eccentricity;
    let shape = (1.0 + 73.0 / 24.0 * e2 + 37.0 / 96.0 * e2 * e2) / (1.0 - e2).powf(3.5);
    let rate = 64.0 / 5.0 * 0.6 * 0.4 * shape / speed_of_light.powi(5);
    let shrunk = 1.0 - outcome.binaries[0].orbit.semi_major_axis;
    let ratio = shrunk / (rate * time);
    assert!((ratio - 1.0).abs() < 1e-2, "{ratio}");
}

#[test]
fn an_ensemble_has_the_bits_of_its_systems_on_any_number_of_threads() {
    let start: Vec<System> = (0..20)
        .map(|at| {
            let mut system = pythagorean();
            system.positions[0][2] = 0.01 * f64::from(at);
            system
        })
        .collect();
    let options = with_time(20.0);
    let mut alone = start.clone();
    let outcomes: Vec<_> = alone.iter_mut().map(|system| evolve(system, &options, None).unwrap()).collect();
    for threads in [1, 3] {
        let mut systems = start.clone();
        assert_eq!(evolve_all(&mut systems, &options, &Machine::cpu(Threads::new(threads))).unwrap(), outcomes);
        assert_eq!(systems, alone);
    }
}

#[test]
fn a_system_that_needs_more_steps_keeps_its_state() {
    let mut system = pythagorean();
    let options = Options { max_steps: 20, ..with_time(70.0) };
    let outcome = evolve(&mut system, &options, None).unwrap();
    assert_eq!((outcome.end, outcome.steps), (End::Steps, 20));
    assert!(outcome.time > 0.0 && outcome.time < 70.0);
    // Going on from there is going on.
    evolve(&mut system, &with_time(70.0 - outcome.time), None).unwrap();
    let mut whole = pythagorean();
    evolve(&mut whole, &with_time(70.0), None).unwrap();
    assert!(norm(difference(whole.positions[0], system.positions[0])) < 1e-3);
}

#[test]
fn more_bodies_than_three_keep_the_energy() {
    // Two binaries that meet, and a fifth body.
    let mut system = System::default();
    for (centre, drift) in [([-3.0, 0.2, 0.0], [0.5, 0.0, 0.1]), ([3.0, 0.0, 0.3], [-0.5, 0.1, 0.0])] {
        let pair = binary([0.6, 0.4], 0.8);
        system.masses.extend(&pair.masses);
        system.positions.extend(pair.positions.iter().map(|&position| sum(scaled(0.1, position), centre)));
        system.velocities.extend(pair.velocities.iter().map(|&velocity| sum(scaled(10f64.sqrt(), velocity), drift)));
    }
    system.masses.push(0.5);
    system.positions.push([0.0, 2.0, 0.0]);
    system.velocities.push([0.0, -0.1, 0.0]);
    let before = energy(&system);
    let outcome = evolve(&mut system, &with_time(20.0), None).unwrap();
    assert_eq!(outcome.end, End::Time);
    let error = (energy(&system) / before - 1.0).abs();
    assert!(error < 1e-10, "{error:e}");
}

#[test]
fn empty_systems_and_single_bodies_are_systems() {
    let options = with_time(2.0);
    let outcome = evolve(&mut System::default(), &options, None).unwrap();
    assert_eq!((outcome.end, outcome.time), (End::Time, 2.0));
    for mass in [0.0, 1.0] {
        let mut system = System {
            masses: vec![mass],
            positions: vec![[1.0, 2.0, 3.0]],
            velocities: vec![[0.5, 0.0, -1.0]],
            radii: Vec::new(),
        };
        evolve(&mut system, &options, None).unwrap();
        assert_eq!(system.positions[0], [2.0, 2.0, 1.0]);
    }
    // Bodies without mass do not feel one another.
    let mut system = binary([0.5, 0.5], 0.5);
    system.masses = vec![0.0, 0.0];
    let places = system.positions.clone();
    let speeds = system.velocities.clone();
    evolve(&mut system, &options, None).unwrap();
    assert_eq!(system.positions[1], sum(places[1], scaled(2.0, speeds[1])));
}

#[test]
fn two_bodies_merge_at_the_innermost_stable_orbit() {
    let mut system = binary([0.6, 0.4], 0.0);
    for (position, velocity) in system.positions.iter_mut().zip(&mut system.velocities) {
        *position = scaled(0.1, *position);
        *velocity = scaled(0.1f64.powf(-0.5), *velocity);
    }
    let decay = Terms { first: false, second: false, ..Terms::USUAL };
    let options = Options { speed_of_light: Some((10.0, decay)), ..with_time(10.0) };
    let outcome = evolve(&mut system, &options, None).unwrap();
    assert_eq!(outcome.end, End::Merger([0, 1]));
    let distance = norm(difference(system.positions[1], system.positions[0]));
    assert!((distance - 0.06).abs() < 1e-9, "{distance}");
    // Peters 1964, of circles: a^4 falls by 256 m1 m2 (m1 + m2) / (5 c^5) in a unit of time.
    let time = (0.1f64.powi(4) - 0.06f64.powi(4)) * 1e5 * 5.0 / (256.0 * 0.24);
    assert!((outcome.time / time - 1.0).abs() < 0.2, "{} {time}", outcome.time);
    // Who begins nearer merges at once.
    let options = Options { speed_of_light: Some((3.0, Terms::USUAL)), ..with_time(10.0) };
    let outcome = evolve(&mut system, &options, None).unwrap();
    assert_eq!((outcome.end, outcome.time), (End::Merger([0, 1]), 0.0));
    // Larger radii collide.
    let mut system = binary([0.6, 0.4], 0.9);
    system.radii = vec![0.1, 0.1];
    let options = Options { speed_of_light: Some((10.0, Terms::USUAL)), stop_at_collision: true, ..with_time(100.0) };
    assert_eq!(evolve(&mut system, &options, None).unwrap().end, End::Collision([0, 1]));
}

#[test]
fn numbers_at_their_limits_end_and_stay_finite() {
    let large = System {
        masses: vec![1e75, 1e-75, 0.0],
        positions: vec![[-1e75, 0.0, 0.0], [1e75, 0.0, 0.0], [0.0, 1e-70, 0.0]],
        velocities: vec![[1e75, 0.0, 0.0], [0.0, -1e75, 1e75], [0.0; 3]],
        radii: Vec::new(),
    };
    for count in [2, 3] {
        for time in [1e-75, 1.0, 1e75] {
            let mut system = large.clone();
            system.masses.truncate(count);
            system.positions.truncate(count);
            system.velocities.truncate(count);
            evolve(&mut system, &Options { max_steps: 1000, ..with_time(time) }, None).unwrap();
            let numbers = system.positions.iter().chain(&system.velocities).flatten();
            assert!(numbers.clone().all(|number| number.is_finite()), "{system:?}");
        }
    }
    assert_eq!(kepler::advance(2.0, [1.0, 0.0, 0.0], [1e200, 0.0, 0.0], 1.0), None);
}

#[test]
fn numbers_that_are_not_allowed_are_named_with_their_system() {
    let error = |system: System, options: Options| {
        let mut systems = [pythagorean(), system];
        let error = evolve_all(&mut systems, &options, &Machine::cpu(Threads::alone())).unwrap_err();
        assert_eq!(systems[0], pythagorean());
        error
    };
    let with = |change: fn(&mut System)| {
        let mut system = pythagorean();
        change(&mut system);
        error(system, with_time(1.0))
    };
    assert_eq!(with(|system| system.positions[1][2] = f64::NAN).code(), ResultCode::NotFinite);
    let negative = with(|system| system.masses[2] = -1.0).to_string();
    assert!(negative.contains("the mass of body 2 of system 1 is '-1'"), "{negative}");
    let named: [(fn(&mut System), _); 7] = [
        (|system| system.positions[1] = system.positions[0], "the distance of bodies 0 and 1 of system 1 is '0'"),
        (
            |system| system.positions = vec![[0.0; 3], [1e-80; 3], [1.0; 3]],
            "the distance of bodies 0 and 1 of system 1",
        ),
        (|system| system.velocities[1] = [0.0, 1e200, 0.0], "the velocity of body 1 of system 1 is '1e200'"),
        (|system| system.masses[0] = 1e300, "the gravitational constant times the mass of body 0 of system 1"),
        (|system| system.velocities.truncate(2), "the number of velocities of system 1 is '2'; allowed: 3"),
        (|system| system.masses = vec![1.0; 101], "the number of bodies of system 1 is '101'; allowed: at most 100"),
        (|system| system.radii = vec![-1.0, 0.0, 0.0], "the radius of body 0 of system 1 is '-1'"),
    ];
    for (change, words) in named {
        let error = with(change);
        assert!(error.code() == ResultCode::BadOption && error.to_string().contains(words), "{error}");
    }
    let product = error(pythagorean(), Options { gravity: 1e75, ..with_time(1.0) }).to_string();
    assert!(product.contains("the gravitational constant times the mass of body 0"), "{product}");
    for tolerance in [0.0, 1e-15, 0.1, f64::NAN] {
        let options = Options { tolerance, ..with_time(1.0) };
        let text = error(pythagorean(), options).to_string();
        assert!(text.contains("the tolerance"), "{text}");
    }
    for time in [-1.0, 1e76, f64::INFINITY] {
        assert!(error(pythagorean(), with_time(time)).to_string().contains("the time"));
    }
}
