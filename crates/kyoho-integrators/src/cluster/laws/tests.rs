//! Tests of clusters with laws.

use kyoho_core::Order;

use super::super::tests::{ALL, body, circle, cluster, evolve};
use super::super::{Change, Choices, Cluster};
use crate::body::{Vector, length, vector};

const GRAVITY: &str = "pair gravity
i pos: vec3<f64>
j pos: vec3<f64>, mass: f64
param gravity: f64
result potential: f64 sum
body
  potential -= gravity * j.mass * rsqrt(norm2(j.pos - i.pos))
";

/// The acceleration of first post-Newtonian order of two bodies (Einstein, Infeld & Hoffmann 1938, Annals
/// of Mathematics 39, 65).
const POST_NEWTONIAN: &str = "pair post_newtonian
i pos: vec3<f64>, vel: vec3<f64>, mass: f64
j pos: vec3<f64>, vel: vec3<f64>, mass: f64
param gravity: f64, light: f64
result acceleration: vec3<f64> sum
body
  d = i.pos - j.pos
  r = sqrt(norm2(d))
  n = d / r
  nj = dot(n, j.vel)
  along = gravity * (5 * i.mass + 4 * j.mass) / r - norm2(i.vel) + 4 * dot(i.vel, j.vel) - 2 * norm2(j.vel) + 1.5 * nj^2
  across = dot(n, 4 * i.vel - 3 * j.vel)
  acceleration += gravity * j.mass / (r^2 * light^2) * (along * n + across * (i.vel - j.vel))
";

const DRAG: &str = "pair drag
i vel: vec3<f64>
j vel: vec3<f64>, mass: f64
param rate: f64
result acceleration: vec3<f64> sum
body
  acceleration += rate * j.mass * (j.vel - i.vel)
";

/// Bodies at random places, with random masses and small velocities.
fn swarm(count: usize) -> Vec<(i64, Change)> {
    let mut random = crate::tests::random();
    let mut numbers = || [random() - 0.5, random() - 0.5, random() - 0.5];
    let one = |number: usize| {
        let (position, velocity) = (numbers(), numbers());
        body(10 + number as i64, (1 + number % 3) as f64 / count as f64, position, velocity)
    };
    (0..count).map(one).collect()
}

/// A cluster of the swarm, whose gravity is softened, or ends if it is not `pulled`.
fn of_swarm(order: Order, dt_max: f64, is_pulled: bool) -> Cluster {
    let choices =
        Choices { softening: 0.2, dt_max: if dt_max == 0.0 { 1.0 / 64.0 } else { dt_max }, ..Choices::default() };
    let mut cluster = cluster(order, choices);
    cluster.add(&swarm(20)).unwrap();
    if !is_pulled {
        cluster.set_feels(0, 0, false).unwrap();
    }
    cluster
}

fn difference(one: &Cluster, other: &Cluster) -> f64 {
    let pairs = one.bodies().iter().zip(other.bodies());
    pairs.map(|(one, other)| length(&vector(|k| one.position[k] - other.position[k]))).fold(0.0, f64::max)
}

#[test]
fn gravity_that_is_written_as_a_law_is_the_built_in_one() {
    let softened = GRAVITY
        .replace("norm2(j.pos - i.pos)", "norm2(j.pos - i.pos) + eps^2")
        .replace("gravity: f64", "gravity: f64, eps: f64");
    for (order, dt_max) in ALL {
        let mut built_in = of_swarm(order, dt_max, true);
        let mut written = of_swarm(order, dt_max, false);
        written.add_law(&softened, "eps", &[0.2], [0, 0]).unwrap();
        let [one, other] = [&mut built_in, &mut written].map(|cluster| {
            evolve(cluster, 0.25);
            cluster.energies().unwrap().total()
        });
        assert!((one - other).abs() < 1e-8, "{order:?}: {one} and {other}");
        let error = difference(&built_in, &written);
        assert!(error < 1e-8, "{order:?}: {error:e}");
        let places: Vec<usize> = (0..20).collect();
        let [one, other] = [&mut built_in, &mut written].map(|cluster| cluster.forces(&places).unwrap());
        for ((one, pull), (other, written)) in one.iter().zip(&other) {
            assert!((one - other).abs() < 1e-7, "{order:?}: {one} and {other}");
            assert!(length(&vector(|k| pull[k] - written[k])) < 1e-6, "{order:?}: {pull:?} and {written:?}");
        }
    }
}

#[test]
fn smaller_steps_have_smaller_errors_by_the_order() {
    // The drag reads velocities, of which the predicted ones have errors of an order less.
    for (order, expected) in [(Order::Fourth, 2.8), (Order::Sixth, 4.7)] {
        let after = |step: f64| {
            let choices = Choices { dt_max: step, eta: 1e3, gravity: 1.0, ..Choices::default() };
            let mut cluster = cluster(order, choices);
            cluster.add(&circle()).unwrap();
            cluster.add_law(DRAG, "rate", &[0.3], [0, 0]).unwrap();
            evolve(&mut cluster, 1.0);
            cluster
        };
        let reference = after(1.0 / 512.0);
        let [coarse, fine] = [1.0 / 16.0, 1.0 / 32.0].map(|step| difference(&after(step), &reference));
        let found = (coarse / fine).log2();
        assert!(found > expected, "{order:?}: {coarse:e} and {fine:e}, of order {found}");
    }
}

#[test]
fn drag_between_bodies_is_that_of_its_formula() {
    for (order, dt_max) in ALL {
        let mut cluster =
            cluster(order, Choices { dt_max: if dt_max == 0.0 { 0.02 } else { 1e-3 }, ..Choices::default() });
        cluster.set_feels(0, 0, false).unwrap();
        let bodies = [body(1, 1.0, [0.0; 3], [1.0, 0.0, 0.0]), body(2, 3.0, [5.0, 0.0, 0.0], [-1.0, 0.5, 0.0])];
        cluster.add(&bodies).unwrap();
        cluster.add_law(DRAG, "rate", &[0.25], [0, 0]).unwrap();
        evolve(&mut cluster, 2.0);
        // The difference of the velocities decays with rate times the sum of the masses.
        let [one, other] = [0, 1].map(|place| cluster.bodies()[place].velocity);
        let expected = [2.0, -0.5, 0.0].map(|x| x * (-2.0f64).exp());
        let error = length(&vector(|k| one[k] - other[k] - expected[k]));
        assert!(error < 1e-6, "{order:?}: {error:e}");
        let momentum = length(&vector(|k| one[k] + 3.0 * other[k] - [-2.0, 1.5, 0.0][k]));
        assert!(momentum < 1e-12, "{order:?}: {momentum:e}");
    }
}

#[test]
fn post_newtonian_terms_turn_an_orbit() {
    let (masses, eccentricity, light) = ([0.75, 0.25], 0.5f64, 100.0f64);
    let speed = ((1.0 - eccentricity) / (1.0 + eccentricity)).sqrt();
    for order in [Order::Fourth, Order::Sixth, Order::Eighth] {
        let eta = if order == Order::Fourth { 0.002 } else { 0.05 };
        let mut cluster = cluster(order, Choices { eta, ..Choices::default() });
        let apart = |mass: f64| (vector(|k| [mass * 1.5, 0.0, 0.0][k]), vector(|k| [0.0, mass * speed, 0.0][k]));
        let (near, far) = (apart(masses[1]), apart(-masses[0]));
        cluster.add(&[body(1, masses[0], near.0, near.1), body(2, masses[1], far.0, far.1)]).unwrap();
        cluster.add_law(POST_NEWTONIAN, "light", &[light], [0, 0]).unwrap();
        let angle = |cluster: &Cluster| {
            let [one, other] = [0, 1].map(|place| cluster.bodies()[place]);
            let x: Vector = vector(|k| one.position[k] - other.position[k]);
            let v: Vector = vector(|k| one.velocity[k] - other.velocity[k]);
            let r = length(&x);
            let (v2, along) = (length(&v).powi(2), (0..3).map(|k| x[k] * v[k]).sum::<f64>());
            let pericentre: Vector = vector(|k| (v2 - 1.0 / r) * x[k] - along * v[k]);
            pericentre[1].atan2(pericentre[0])
        };
        let before = angle(&cluster);
        let orbits = 4.0;
        evolve(&mut cluster, std::f64::consts::TAU * orbits);
        // 6 pi G M / (a c^2 (1 - e^2)) an orbit. The period of the orbit is longer by terms of the same
        // order, and the angle in it returns to where it was.
        let expected = orbits * 6.0 * std::f64::consts::PI / (light * light * (1.0 - eccentricity.powi(2)));
        let turned = (angle(&cluster) - before).rem_euclid(std::f64::consts::TAU);
        assert!((turned / expected - 1.0).abs() < 0.02, "{order:?}: {turned} in place of {expected}");
    }
}

#[test]
fn laws_act_on_some_groups_by_others() {
    let mut random = crate::tests::random();
    for (order, dt_max) in ALL {
        let mut cluster = cluster(order, Choices { dt_max, softening: 0.1, ..Choices::default() });
        let second = cluster.add_group(0.1).unwrap() as i32;
        let mut bodies = swarm(12);
        for (number, (_, change)) in bodies.iter_mut().enumerate() {
            change.group = Some(if number % 3 == 0 { 0 } else { second });
        }
        cluster.add(&bodies).unwrap();
        for (on, by) in [(0, 0), (0b01, 0b10), (0b10, 0b10), (0b11, 0b01)] {
            cluster.add_law(GRAVITY, "", &[], [on, by]).unwrap();
        }
        evolve(&mut cluster, 0.01 + 0.01 * random());
        // A plain sum of the laws, beside the gravity of a cluster without any.
        let mut plain = super::super::tests::cluster(order, Choices { dt_max, softening: 0.1, ..Choices::default() });
        let moved = cluster.bodies().iter().enumerate();
        let moved: Vec<_> = moved.map(|(place, of)| body(place as i64, of.mass, of.position, of.velocity)).collect();
        plain.add(&moved).unwrap();
        let places: Vec<usize> = (0..12).collect();
        let (found, expected) = (cluster.forces(&places).unwrap(), plain.forces(&places).unwrap());
        let group = |place: usize| u32::from(!place.is_multiple_of(3));
        let acts = |on: u32, by: u32, one: usize, other: usize| {
            (on == 0 || on >> group(one) & 1 == 1) && (by == 0 || by >> group(other) & 1 == 1)
        };
        let mut energy = 0.0;
        for one in 0..12 {
            let (mut potential, mut pull) = expected[one];
            for other in (0..12).filter(|other| *other != one) {
                let (at, of) = (plain.bodies()[one], plain.bodies()[other]);
                let d: Vector = vector(|k| of.position[k] - at.position[k]);
                for (on, by) in [(0, 0), (0b01, 0b10), (0b10, 0b10), (0b11, 0b01)] {
                    if acts(on, by, one, other) {
                        potential -= of.mass / length(&d);
                        pull = vector(|k| pull[k] + of.mass * d[k] / length(&d).powi(3));
                        let part = if acts(on, by, other, one) { 0.5 } else { 1.0 };
                        energy -= part * at.mass * of.mass / length(&d);
                    }
                }
            }
            let size = length(&pull);
            assert!((found[one].0 / potential - 1.0).abs() < 1e-7, "{order:?}: {} and {potential}", found[one].0);
            assert!(length(&vector(|k| found[one].1[k] - pull[k])) < 1e-6 * size, "{order:?}: {found:?} and {pull:?}");
        }
        let of_laws = cluster.law_energy().unwrap();
        assert!((of_laws / energy - 1.0).abs() < 1e-12, "{order:?}: {of_laws} and {energy}");
        let both = cluster.energies().unwrap().potential - plain.energies().unwrap().potential;
        assert!((both / energy - 1.0).abs() < 1e-6, "{order:?}: {both} and {energy}");
    }
}

#[test]
fn bodies_without_mass_feel_laws_and_make_none() {
    for (order, dt_max) in ALL {
        let mut cluster = cluster(order, Choices { dt_max, ..Choices::default() });
        cluster.set_feels(0, 0, false).unwrap();
        cluster
            .add(&[body(1, 2.0, [0.0; 3], [0.0; 3]), body(2, 0.0, [1.0, 0.0, 0.0], [0.0, 2.0f64.sqrt(), 0.0])])
            .unwrap();
        cluster.add_law(GRAVITY, "", &[], [0, 0]).unwrap();
        evolve(&mut cluster, 1.0);
        let [heavy, light] = [0, 1].map(|place| cluster.bodies()[place]);
        assert_eq!((heavy.position, heavy.velocity), ([0.0; 3], [0.0; 3]), "{order:?}");
        let angle = 2.0f64.sqrt();
        let error = length(&vector(|k| light.position[k] - [angle.cos(), angle.sin(), 0.0][k]));
        assert!(error < 1e-4, "{order:?}: {error:e}");
    }
}

#[test]
fn a_saved_cluster_goes_on_with_its_laws_and_the_same_bits() {
    for (order, dt_max) in ALL {
        let mut first = of_swarm(order, dt_max, true);
        first.add_group(0.3).unwrap();
        first.add_law(POST_NEWTONIAN, "light", &[30.0], [0, 0]).unwrap();
        first.add_law(DRAG, "rate", &[0.1], [0b01, 0b11]).unwrap();
        evolve(&mut first, 0.1);
        let state = first.state().unwrap();
        assert_eq!(state.len(), first.state_size());
        let mut second = of_swarm(order, dt_max, true);
        second.add_law(GRAVITY, "", &[], [0, 0]).unwrap();
        second.set_state(&state).unwrap();
        assert_eq!(second.laws(), first.laws());
        for cluster in [&mut first, &mut second] {
            evolve(cluster, 0.2);
        }
        assert_eq!(second.bodies(), first.bodies(), "{order:?}");
        // A state that was cut, or whose groups of laws are none, changes nothing.
        for damaged in [&state[..state.len() - 8], &state[..state.len() / 2]] {
            assert!(second.set_state(damaged).unwrap_err().to_string().starts_with("the state"), "{order:?}");
        }
        assert_eq!(second.laws(), first.laws());
    }
}

#[test]
fn what_a_law_cannot_say_is_an_error_that_names_it() {
    let mut cluster = of_swarm(Order::Fourth, 0.0, true);
    let mut error = |text: &str, names: &str, numbers: &[f64], groups: [u32; 2]| {
        cluster.add_law(text, names, numbers, groups).unwrap_err().to_string()
    };
    let names = "a parameter of the law 'gravity' is 'rate'; allowed: none, as none is declared";
    assert_eq!(error(GRAVITY, "rate", &[1.0], [0, 0]), names);
    let group = "a group on which a law acts is '1'; allowed: 0 to 0, the groups that there are";
    assert_eq!(error(GRAVITY, "", &[], [0b10, 0]), group);
    assert!(error("pair", "", &[], [0, 0]).contains("line 1"));
    assert!(cluster.laws().is_empty());
    // Two bodies in one place: the softened gravity has a value, the law has none.
    cluster.add_law(GRAVITY, "", &[], [0, 0]).unwrap();
    let before = cluster.bodies().to_vec();
    let place = before[3].position;
    cluster.add(&[body(99, 1.0, place, [0.0; 3])]).unwrap();
    let error = cluster.evolve(0.1, None, &mut |_, _| true).unwrap_err().to_string();
    assert!(error.contains("of body 13 by the law 'gravity' is NaN; allowed: finite numbers"), "{error}");
    cluster.remove(&[99]).unwrap();
    evolve(&mut cluster, 0.01);
    let choices = Choices { subsystem_radius: f64::INFINITY, ..Choices::default() };
    let mut with_subsystems = super::super::tests::cluster(Order::Fourth, choices);
    let error = with_subsystems.add_law(GRAVITY, "", &[], [0, 0]).unwrap_err().to_string();
    assert!(error.contains("the number of laws with subsystems is '1'; allowed: 0"), "{error}");
    let error = with_subsystems.set_state(&cluster.state().unwrap()).unwrap_err().to_string();
    assert!(error.contains("the number of laws with subsystems is '1'; allowed: 0"), "{error}");
}

#[test]
fn bodies_without_mass_feel_laws_and_are_no_sources_in_any_order() {
    for (order, dt_max) in ALL {
        let with = |more: usize| {
            let mut cluster = of_swarm(order, dt_max, false);
            cluster.add_law(GRAVITY, "", &[], [0, 0]).unwrap();
            let mut others = swarm(20 + more);
            others.drain(..20);
            others.iter_mut().for_each(|(_, change)| change.mass = Some(0.0));
            cluster.add(&others).unwrap();
            evolve(&mut cluster, 1.0 / 64.0);
            assert_eq!(cluster.integrator.laws().sources(0)[0], Some(20), "{order:?}");
            let (energy, pulls) = (cluster.law_energy().unwrap(), cluster.forces(&[0, 19 + more]).unwrap());
            assert_eq!(cluster.integrator.laws().sources(0), [Some(20); 2], "{order:?}");
            (energy, pulls)
        };
        let [(energy, pulls), (same, more)] = [with(0), with(3)];
        assert!((energy - same).abs() < 1e-9 * energy.abs(), "{order:?}: {energy} {same}");
        assert!((pulls[0].0 / more[0].0 - 1.0).abs() < 1e-9, "{order:?}: {pulls:?} {more:?}");
        assert!(more[1].0 < -1.0 && length(&more[1].1) > 0.1, "{order:?}: {more:?}");
    }
}
