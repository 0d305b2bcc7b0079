//! Tests of clusters in fields.

use std::f64::consts::TAU;

use kyoho_core::Order;

use super::tests::{ALL, body, circle, cluster, evolve};
use super::*;
use crate::body::{Vector, length, vector};
use crate::fields::{Centre, FieldQuestion, FieldValue, Parameters};

const TURNING: &str = "pair turning
i vel: vec3<f64>
param rate: f64, time: f64
result acceleration: vec3<f64> sum
body
  acceleration += vec3(cos(rate * time), sin(rate * time), 0) - 0.1 * i.vel
";

fn point_mass(order: Order, dt_max: f64) -> Cluster {
    let mut cluster = cluster(order, Choices { dt_max, eta: 0.02, gravity: 2.0, ..Choices::default() });
    cluster.add_field("point_mass", &[("mass", &[0.5])]).unwrap();
    cluster
}

/// Bodies without mass, of which the first one is on an ellipse of eccentricity 1/2 and period 2 pi.
fn ellipse() -> [(i64, Change); 2] {
    [
        body(4, 0.0, [1.5, 0.0, 0.0], [0.0, 1.0 / 3.0f64.sqrt(), 0.0]),
        body(9, 0.0, [0.0, 30.0, 0.0], [1.0 / 30.0f64.sqrt(), 0.0, 0.0]),
    ]
}

/// Returns where Kepler's ellipse is at a time after the apocentre.
fn kepler(time: f64) -> Vector {
    let mean = time + 0.5 * TAU;
    let anomaly = (0..50).fold(mean, |e, _| e - (e - 0.5 * e.sin() - mean) / (1.0 - 0.5 * e.cos()));
    [-(anomaly.cos() - 0.5), -(0.75f64.sqrt() * anomaly.sin()), 0.0]
}

#[test]
fn a_body_in_the_field_of_a_point_follows_kepler() {
    for (order, dt_max) in ALL {
        let mut cluster = point_mass(order, dt_max);
        cluster.add(&ellipse()).unwrap();
        for time in [0.7, 3.0, TAU] {
            evolve(&mut cluster, time);
            let (found, expected) = (cluster.bodies()[0].position, kepler(time));
            let error = length(&vector(|k| found[k] - expected[k]));
            assert!(error < 1e-4, "{order:?} at {time}: {error:e}");
        }
    }
}

#[test]
fn a_lone_body_conserves_its_energy_in_each_static_field() {
    let fields: [(&str, &Parameters); 6] = [
        ("king", &[("w0", &[5.0]), ("mass", &[1.0]), ("radius", &[0.2])]),
        ("hernquist", &[("mass", &[1.0]), ("radius", &[0.5])]),
        ("nfw", &[("mass", &[3.0]), ("radius", &[0.5])]),
        ("miyamoto_nagai", &[("mass", &[1.0]), ("radius", &[0.5]), ("height", &[0.1])]),
        ("milky_way_2014", &[("radius", &[1.0]), ("speed", &[1.0])]),
        ("solar_tide", &[("oort_a", &[0.75]), ("oort_b", &[-0.25]), ("density", &[0.1])]),
    ];
    for (name, parameters) in fields {
        let mut cluster = cluster(Order::Sixth, Choices { eta: 0.05, ..Choices::default() });
        cluster.add_field(name, parameters).unwrap();
        cluster.add(&[body(0, 2.0, [0.9, 0.1, 0.2], [0.1, 0.8, 0.3])]).unwrap();
        let before = cluster.energies().unwrap();
        assert!(before.field != 0.0 && before.potential == 0.0);
        evolve(&mut cluster, 3.0);
        let after = cluster.energies().unwrap();
        let error = (after.total() - before.total()).abs();
        assert!(error < 1e-6 && after.kinetic != before.kinetic, "{name}: {error:e}");
    }
}

#[test]
fn a_field_that_turns_and_brakes_is_that_of_its_formula() {
    // v' = e^(i t) - v / 10 has the solution v = c e^(i t) - c e^(-t / 10), with c = 1 / (i + 1/10).
    let (real, imaginary) = (0.1 / 1.01, -1.0 / 1.01);
    let expected = |time: f64| {
        let (s, c) = time.sin_cos();
        let faded = (-0.1 * time).exp();
        [real * c - imaginary * s - real * faded, real * s + imaginary * c - imaginary * faded]
    };
    let errors = |order: Order, dt_max: f64, eta: f64| {
        let mut cluster = cluster(order, Choices { dt_max, eta, ..Choices::default() });
        cluster.add_field(TURNING, &[("rate", &[1.0])]).unwrap();
        cluster.add(&[body(0, 0.0, [0.0; 3], [0.0; 3])]).unwrap();
        evolve(&mut cluster, 1.0);
        evolve(&mut cluster, 3.0);
        let velocity = cluster.bodies()[0].velocity;
        let expected = expected(3.0);
        (velocity[0] - expected[0]).hypot(velocity[1] - expected[1])
    };
    for (order, _) in &ALL[1..] {
        let error = errors(*order, 1.0 / 64.0, 1e-3);
        let allowed = if *order == Order::Fourth { 1e-6 } else { 1e-9 };
        assert!(error < allowed, "{order:?}: {error:e}");
    }
    // The leapfrog keeps its order where accelerations depend on velocities.
    let ratio = errors(Order::Second, 1.0 / 64.0, 0.0) / errors(Order::Second, 1.0 / 128.0, 0.0);
    assert!((ratio - 4.0).abs() < 0.2, "{ratio}");
}

#[test]
fn a_heavy_body_falls_into_an_isothermal_sphere_as_friction_says() {
    // A circle shrinks by r dr/dt = -0.4276 G m log(L) / v, with 0.4276 = erf(1) - 2 / (e sqrt(pi))
    // (Binney & Tremaine 2008, section 8.1).
    let (mass, logarithm, speed) = (5e-4, 5.0, 1.0);
    for (order, dt_max) in [(Order::Second, 0.02), (Order::Fourth, 0.0), (Order::Eighth, 0.0)] {
        let mut cluster = cluster(order, Choices { dt_max, gravity: 2.0, ..Choices::default() });
        cluster
            .add_field("logarithmic_halo", &[("speed", &[speed]), ("core", &[0.0]), ("flattening", &[1.0])])
            .unwrap();
        let friction: &Parameters =
            &[("mass", &[mass]), ("coulomb_logarithm", &[logarithm]), ("speed", &[speed]), ("core", &[0.0])];
        cluster.add_field("chandrasekhar_friction", friction).unwrap();
        cluster.add(&[body(0, mass, [1.0, 0.0, 0.0], [0.0, speed, 0.0])]).unwrap();
        let rate = 2.0 * 0.427_593_3 * 2.0 * mass * logarithm / speed;
        for part in [0.25, 0.75] {
            evolve(&mut cluster, part / rate);
            let r2 = length(&cluster.bodies()[0].position).powi(2);
            assert!((r2 - (1.0 - part)).abs() < 0.01, "{order:?}: {r2}");
        }
    }
}

#[test]
fn a_state_goes_on_with_the_same_bits_and_has_its_fields() {
    for (order, dt_max) in ALL {
        let begin = || {
            let mut first = point_mass(order, dt_max);
            first.add_field(TURNING, &[("rate", &[0.5])]).unwrap();
            first.add_field("king", &[("w0", &[4.0]), ("mass", &[0.02]), ("radius", &[3.0])]).unwrap();
            for velocities in [None, Some(&[[0.1; 3], [0.0; 3]][..])] {
                let centre = Centre::new(&[0.0, 1.0], &[[2.0; 3], [-2.0; 3]], velocities).unwrap();
                first.add_moving_field("plummer", &[("mass", &[0.1]), ("radius", &[0.5])], centre).unwrap();
            }
            first.add(&circle().map(|(number, change)| (number, Change { mass: Some(1e-3), ..change }))).unwrap();
            evolve(&mut first, 0.3);
            first
        };
        let mut first = begin();
        let state = first.state().unwrap();
        assert_eq!(state.len(), first.state_size());
        let mut second = cluster(order, Choices { dt_max, eta: 0.02, gravity: 2.0, ..Choices::default() });
        second.add_field("plummer", &[("mass", &[1.0]), ("radius", &[1.0])]).unwrap();
        second.set_state(&state).unwrap();
        assert!(second.fields() == first.fields());
        evolve(&mut first, 0.7);
        evolve(&mut second, 0.7);
        assert_eq!(first.bodies(), second.bodies(), "{order:?}");
        assert_eq!(first.energies().unwrap(), second.energies().unwrap());
        for damaged in [&state[..state.len() - 8], &[&state[..], &[0; 8]].concat()] {
            assert!(second.set_state(damaged).unwrap_err().to_string().starts_with("the state"), "{order:?}");
        }
        assert!(second.fields() == first.fields());
    }
}

#[test]
fn a_centre_that_moves_is_a_text_with_the_time() {
    const MOVING: &str = "pair moving
i pos: vec3<f64>, vel: vec3<f64>
param mass: f64, time: f64, gravity: f64
result potential: f64 sum
       acceleration: vec3<f64> sum
body
  p = i.pos - vec3(time, 0.5 * time^2, 0.1 * time^3)
  v = i.vel - vec3(f64(1), time, 0.3 * time^2)
  acceleration -= gravity * mass * rsqrt(norm2(p) + 1)^3 * p + 0.1 * v
  potential -= gravity * mass * rsqrt(norm2(p) + 1)
";
    let resting = MOVING.replace(" - vec3(time, 0.5 * time^2, 0.1 * time^3)", "");
    let resting = resting.replace(" - vec3(f64(1), time, 0.3 * time^2)", "");
    let (times, positions): (Vec<f64>, Vec<Vector>) =
        [0.0f64, 0.5, 1.5, 2.0].map(|t| (t, [t, 0.5 * t * t, 0.1 * t.powi(3)])).into_iter().unzip();
    let velocities: Vec<Vector> = times.iter().map(|t| [1.0, *t, 0.3 * t * t]).collect();
    for (order, dt_max) in ALL {
        // One body, and as many as are evaluated together.
        for count in [1, 5] {
            let bodies: Vec<_> = (0..count)
                .map(|number: i32| body(number.into(), 1e-9, [0.3 + f64::from(number), 1.0, 0.2], [0.5, 0.1, 0.0]))
                .collect();
            let begin = || {
                let mut cluster = cluster(order, Choices { dt_max, gravity: 2.0, ..Choices::default() });
                cluster.add(&bodies).unwrap();
                cluster
            };
            let (mut found, mut expected) = (begin(), begin());
            let centre = Centre::new(&times, &positions, Some(&velocities)).unwrap();
            found.add_moving_field(&resting, &[("mass", &[1.5])], centre).unwrap();
            expected.add_field(MOVING, &[("mass", &[1.5])]).unwrap();
            evolve(&mut found, 2.0);
            evolve(&mut expected, 2.0);
            for (found, expected) in found.bodies().iter().zip(expected.bodies()) {
                let error = length(&vector(|k| found.position[k] - expected.position[k]));
                assert!(error < 1e-11, "{order:?}: {error:e}");
            }
            let [one, other] = [&mut found, &mut expected].map(|cluster| cluster.field_energy().unwrap());
            assert!((one / other - 1.0).abs() < 1e-11, "{one} {other}");
        }
    }
}

#[test]
fn an_evolution_beyond_the_nodes_of_a_centre_does_not_begin() {
    for (order, dt_max) in ALL {
        let mut cluster = cluster(order, Choices { dt_max, ..Choices::default() });
        cluster.add(&ellipse()).unwrap();
        let centre = Centre::new(&[0.0, 1.0], &[[0.0; 3], [1.0; 3]], None).unwrap();
        cluster.add_moving_field("plummer", &[("mass", &[1.0]), ("radius", &[1.0])], centre).unwrap();
        let before = cluster.bodies().to_vec();
        let error = cluster.evolve(1.5, None, &mut |_, _| true).unwrap_err().to_string();
        assert!(error.contains("of the field 'plummer' is '1.5'; allowed: 0 to 1"), "{error}");
        assert!(cluster.bodies() == before && cluster.time() == 0.0);
        evolve(&mut cluster, 1.0);
    }
}

/// The field of a point of mass 1 / 2 and the gravitational constant 2, and a drag.
fn point_and_drag(question: &FieldQuestion, values: &mut [f64]) -> i32 {
    for (place, position) in question.positions.iter().enumerate() {
        let velocity = question.velocities[place];
        let r = length(position);
        match question.value {
            FieldValue::Potential => values[place] = -1.0 / r,
            FieldValue::Acceleration => {
                (0..3).for_each(|k| values[3 * place + k] = -position[k] / r.powi(3) - 0.1 * velocity[k]);
            }
            FieldValue::Jerk => {
                let along = 3.0 * (0..3).map(|k| position[k] * velocity[k]).sum::<f64>() / (r * r);
                let pull = |k: usize| -(velocity[k] - along * position[k]) / r.powi(3);
                (0..3).for_each(|k| values[3 * place + k] = pull(k) - 0.1 * question.accelerations[place][k]);
            }
        }
    }
    0
}

#[test]
fn a_function_is_a_field_in_the_orders_that_need_no_more_than_it_gives() {
    const DRAG: &str = "pair drag
i vel: vec3<f64>
result acceleration: vec3<f64> sum
body
  acceleration -= 0.1 * i.vel
";
    for (order, dt_max) in ALL {
        let choices = Choices { dt_max, eta: 0.02, gravity: 2.0, ..Choices::default() };
        let mut found = cluster(order, choices);
        let added = found.add_field_function(Box::new(point_and_drag), true);
        if order > Order::Fourth {
            let error = added.unwrap_err().to_string();
            assert!(error.contains(&format!("is '{}'; allowed: 2 and 4", order as i32)), "{error}");
            continue;
        }
        let mut expected = point_mass(order, dt_max);
        for cluster in [&mut found, &mut expected] {
            cluster.add_field(TURNING, &[("rate", &[0.5])]).unwrap();
            cluster.add(&ellipse().map(|(number, change)| (number, Change { mass: Some(1e-3), ..change }))).unwrap();
        }
        expected.add_field(DRAG, &[]).unwrap();
        for cluster in [&mut found, &mut expected] {
            evolve(cluster, 3.0);
        }
        for (found, expected) in found.bodies().iter().zip(expected.bodies()) {
            let error = length(&vector(|k| found.position[k] - expected.position[k]));
            assert!(error < 1e-12, "{order:?}: {error:e}");
        }
        let [one, other] = [&mut found, &mut expected].map(|cluster| cluster.field_energy().unwrap());
        assert!((one / other - 1.0).abs() < 1e-12, "{one} {other}");
        let error = found.state().unwrap_err().to_string();
        assert!(error.contains("'a function'; allowed: built-in fields and texts"), "{error}");
        // What it has not is an error, and so is what is not finite.
        found.add_field_function(Box::new(|_, _| 3), false).unwrap();
        let error = found.evolve(4.0, None, &mut |_, _| true).unwrap_err().to_string();
        assert!(error.contains("the result of a field's function is '3'; allowed: 0"), "{error}");
        expected.add_field_function(Box::new(|_, _| 0), true).unwrap();
        let error = expected.evolve(4.0, None, &mut |_, _| true).unwrap_err().to_string();
        assert!(error.contains("the acceleration of body 4 in the field 'function' is NaN"), "{error}");
        assert!(expected.energies().unwrap_err().to_string().contains("the potential of body 4"));
    }
}

#[test]
fn a_field_that_is_added_later_acts_from_then_on() {
    for (order, dt_max) in ALL {
        let mut cluster = cluster(order, Choices { dt_max, ..Choices::default() });
        cluster.add(&[body(3, 1e-9, [1.0, 0.0, 0.0], [0.0; 3]), body(8, 1e-9, [-1.0, 0.0, 0.0], [0.0; 3])]).unwrap();
        evolve(&mut cluster, 1.0);
        cluster
            .add_field("tidal_tensor", &["xx", "yy", "zz", "xy", "xz", "yz"].map(|name| (name, &[-1.0][..])))
            .unwrap();
        evolve(&mut cluster, 1.5);
        // The acceleration is minus one in all directions times the sum of the coordinates.
        let expected = 1.0 - (1.0 - (0.5 * 3.0f64.sqrt()).cos()) / 3.0;
        let found = cluster.bodies()[0].position[0];
        assert!((found - expected).abs() < 1e-6, "{order:?}: {found} {expected}");
        let shallow = cluster.add_field("king", &[("w0", &[0.0]), ("mass", &[0.2]), ("radius", &[0.3])]);
        assert!(shallow.unwrap_err().to_string().contains("w0 of King's model is '0'; allowed: 0.1 to 12"));
        let unknown = cluster.add_field("nothing", &[]).unwrap_err().to_string();
        assert!(unknown.contains("'nothing'") && cluster.fields().len() == 1, "{unknown}");
    }
}

#[test]
fn an_acceleration_that_is_not_finite_names_the_body_by_its_identifier() {
    for (order, dt_max) in ALL {
        let mut cluster = point_mass(order, dt_max);
        cluster.add(&ellipse()).unwrap();
        cluster.add(&[body(77, 1.0, [0.0; 3], [0.0; 3])]).unwrap();
        let error = cluster.evolve(1.0, None, &mut |_, _| true).unwrap_err().to_string();
        assert!(error.contains("of body 77 in the field 'point_mass' is NaN"), "{error}");
        let error = cluster.energies().unwrap_err().to_string();
        assert!(error.contains("the potential of body 77 in the field 'point_mass' is -inf"), "{error}");
        cluster.remove(&[77]).unwrap();
        assert_eq!(evolve(&mut cluster, 0.1).end, EvolutionEnd::Time);
        // On the way too.
        cluster
            .add_field(
                "pair late\ni pos: vec3<f64>\nparam time: f64\nresult acceleration: vec3<f64> sum\nbody\n  \
                           acceleration += select(time < 0.2, f64(0), sqrt(0.1 - time)) * i.pos\n",
                &[],
            )
            .unwrap();
        let before = cluster.bodies()[0].position;
        let error = cluster.evolve(1.0, None, &mut |_, _| true).unwrap_err();
        assert!(error.to_string().contains("of body 4 in the field 'late' is NaN"), "{error}");
        let after = cluster.bodies()[0].position;
        let is_near = length(&vector(|k| after[k] - before[k])) < 0.1;
        assert!(is_near && (0.1..0.2001).contains(&cluster.time()), "{order:?} {}", cluster.time());
    }
}

/// Adds bodies to a cluster in a field, one after another if they are to come `late`, and returns where they
/// are at a time.
fn after(mut cluster: Cluster, bodies: &[(i64, Change)], is_late: bool, time: f64) -> Vec<Vector> {
    if is_late {
        cluster.add(&[body(99, 0.0, [0.4, 0.9, 0.0], [0.5, 0.1, 0.0])]).unwrap();
    }
    evolve(&mut cluster, 0.125);
    cluster.add(bodies).unwrap();
    evolve(&mut cluster, 0.125 + time);
    let skipped = cluster.bodies().len() - bodies.len();
    cluster.bodies()[skipped..].iter().map(|body| body.position).collect()
}

#[test]
fn lone_bodies_at_rest_in_a_field_begin_with_steps_of_its_lengths() {
    let start = |speed: f64| {
        [
            body(1, 0.0, [1.0, 0.2, 0.0], [0.0, speed, 0.0]),
            body(2, 0.0, [-0.1, 0.3, 0.2], [speed, 0.0, 0.0]),
            body(3, 0.0, [30.0, -20.0, 0.0], [0.0, 0.0, speed]),
            body(4, 0.0, [0.0; 3], [0.0; 3]),
        ]
    };
    let plummer =
        |cluster: &mut Cluster| cluster.add_field("plummer", &[("mass", &[1.0]), ("radius", &[0.5])]).unwrap();
    for speed in [0.0, 1e-6, 1e-3] {
        let bodies = start(speed);
        // Short steps from the start.
        let mut fine = cluster(Order::Eighth, Choices { dt_max: 1.0 / 256.0, ..Choices::default() });
        plummer(&mut fine);
        let expected = after(fine, &bodies, false, 2.0);
        for order in [Order::Fourth, Order::Sixth, Order::Eighth] {
            for is_late in [false, true] {
                let mut made = cluster(
                    order,
                    Choices { eta: if order == Order::Fourth { 0.01 } else { 0.1 }, ..Choices::default() },
                );
                plummer(&mut made);
                let found = after(made, &bodies, is_late, 2.0);
                for (found, expected) in found.iter().zip(&expected) {
                    let error = length(&vector(|k| found[k] - expected[k]));
                    assert!(error < 1e-4, "{order:?} {speed:e} {is_late}: {error:e} {found:?} {expected:?}");
                }
            }
        }
    }
}

/// Plummer's sphere of mass 1 and radius 1/2.
fn sphere(question: &FieldQuestion, values: &mut [f64]) -> i32 {
    for (place, position) in question.positions.iter().enumerate() {
        let velocity = question.velocities[place];
        let dot = |one: &Vector, other: &Vector| (0..3).map(|k| one[k] * other[k]).sum::<f64>();
        let r2 = dot(position, position) + 0.25;
        let along = 3.0 * dot(position, &velocity) / r2;
        match question.value {
            FieldValue::Potential => values[place] = -1.0 / r2.sqrt(),
            FieldValue::Acceleration => (0..3).for_each(|k| values[3 * place + k] = -position[k] / r2.powf(1.5)),
            FieldValue::Jerk => {
                (0..3).for_each(|k| values[3 * place + k] = -(velocity[k] - along * position[k]) / r2.powf(1.5));
            }
        }
    }
    0
}

#[test]
fn lone_bodies_at_rest_begin_with_steps_of_the_lengths_of_laws_and_functions() {
    const LAW: &str = "pair sphere
i pos: vec3<f64>
j pos: vec3<f64>, mass: f64
result acceleration: vec3<f64> sum
body
  d = j.pos - i.pos
  acceleration += j.mass * d * rsqrt(norm2(d) + 0.25)^3
";
    let rests = [body(1, 0.0, [1.0, 0.2, 0.0], [0.0; 3])];
    for order in [Order::Fourth, Order::Sixth, Order::Eighth] {
        let choices = Choices { dt_max: 1.0 / 256.0, ..Choices::default() };
        let mut field = cluster(order, choices);
        field.add_field("plummer", &[("mass", &[1.0]), ("radius", &[0.5])]).unwrap();
        let expected = after(field, &rests, false, 2.0);
        let near = |found: &[Vector]| {
            let error = length(&vector(|k| found[0][k] - expected[0][k]));
            assert!(error < 1e-3, "{order:?}: {error:e}");
        };
        let mut laws = cluster(order, Choices::default());
        laws.set_feels(0, 0, false).unwrap();
        laws.add_law(LAW, "", &[], [0, 0]).unwrap();
        laws.add(&[body(7, 1.0, [0.0; 3], [0.0; 3])]).unwrap();
        near(&after(laws, &rests, false, 2.0));
        if order == Order::Fourth {
            let mut functions = cluster(order, Choices::default());
            functions.add_field_function(Box::new(sphere), true).unwrap();
            near(&after(functions, &rests, false, 2.0));
        }
    }
}
