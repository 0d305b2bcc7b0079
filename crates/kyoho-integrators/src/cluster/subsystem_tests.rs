//! Tests of clusters whose close bodies move together.

use crate::body::{Vector, length, vector};
use crate::encounters::EncounterKind;
use crate::plan::StepCriterion;
use kyoho_core::{Order, Precision, ResultCode};
use kyoho_engine::Setup;
use kyoho_few_body::{Options, System as FewBodies};

use super::tests::{body, cluster, evolve};
use super::*;

const WITH: Choices = Choices {
    subsystem_radius: f64::INFINITY,
    softening: 0.0,
    gravity: 0.0,
    criterion: StepCriterion::Usual,
    eta: 0.0,
    dt_max: 0.0,
    dt_min: 0.0,
    time: 0.0,
    approach_distance: 0.0,
    speed_of_light: 0.0,
    on_collision: OnCollision::End,
};

/// Bodies on a ring that turns, one of which is a binary of this semi-major axis.
fn ring(semi_major_axis: f64, eccentricity: f64) -> Vec<(i64, Change)> {
    const COUNT: usize = 24;
    let mass = 1.0 / COUNT as f64;
    let mut bodies = Vec::new();
    for place in 0..COUNT {
        let (sine, cosine) = (place as f64 * std::f64::consts::TAU / COUNT as f64).sin_cos();
        let height = 0.2 * (3.0 * place as f64).sin();
        let (position, velocity) = ([cosine, sine, height], [-0.6 * sine, 0.6 * cosine, 0.0]);
        if place != 0 {
            bodies.push(body(100 + place as i64, mass, position, velocity));
            continue;
        }
        let far = semi_major_axis * (1.0 + eccentricity);
        let speed = (mass / semi_major_axis * (1.0 - eccentricity) / (1.0 + eccentricity)).sqrt();
        for (name, side) in [(7, 0.5), (9, -0.5)] {
            let position = [position[0] + side * far, position[1], position[2]];
            let velocity = [velocity[0], velocity[1], velocity[2] + side * speed];
            bodies.push(body(name, 0.5 * mass, position, velocity));
        }
    }
    bodies
}

fn with_ring(order: Order, semi_major_axis: f64, eccentricity: f64) -> Cluster {
    let mut cluster = cluster(order, WITH);
    cluster.add(&ring(semi_major_axis, eccentricity)).unwrap();
    cluster
}

#[test]
fn a_binary_has_names_and_an_orbit() {
    for order in [Order::Fourth, Order::Sixth, Order::Eighth] {
        let mut cluster = with_ring(order, 1e-5, 0.6);
        let made = evolve(&mut cluster, 0.25);
        assert!(made.block_steps < 2000, "{made:?}");
        let binaries = cluster.binaries().unwrap();
        assert_eq!(binaries.len(), 1);
        let names = binaries[0].members.each_ref().map(|members| cluster.identifiers()[members[0]]);
        assert_eq!(names, [7, 9]);
        let orbit = binaries[0].orbit;
        assert!((orbit.semi_major_axis / 1e-5 - 1.0).abs() < 1e-6 && (orbit.eccentricity - 0.6).abs() < 1e-4);
    }
}

#[test]
fn rounding_in_many_steps_of_a_binary_does_not_add_up() {
    for (small, periods) in [0.3, 0.017, 1e-7].into_iter().flat_map(|small| [(small, 0.4), (small, 3.3)]) {
        let mut cluster = cluster(Order::Fourth, Choices { subsystem_radius: 0.1, ..WITH });
        let (whole, axis, eccentricity) = (0.7, 1e-3f64, 0.6);
        let masses = [1.0 - small, small].map(|part| whole * part);
        let speed = (whole * (1.0 - eccentricity) / (1.0 + eccentricity) / axis).sqrt();
        for row in [0, 1] {
            let part = [-small, 1.0 - small][row];
            let far = part * axis * (1.0 + eccentricity);
            cluster.add(&[body(row as i64, masses[row], [far, 0.0, 0.0], [0.0, 0.0, part * speed])]).unwrap();
        }
        let step = periods * std::f64::consts::TAU * (axis.powi(3) / whole).sqrt();
        let orbit = |cluster: &Cluster| cluster.binaries().unwrap()[0].orbit;
        evolve(&mut cluster, step);
        let before = orbit(&cluster);
        for turn in 2..10_000 {
            evolve(&mut cluster, f64::from(turn) * step);
        }
        let after = orbit(&cluster);
        let errors = [after.semi_major_axis / axis, before.semi_major_axis / axis].map(|part| part - 1.0);
        assert!((errors[1] - errors[0]).abs() < 8e-13, "{small:e} {periods}: {errors:?}");
    }
}

#[test]
fn masses_that_no_subsystem_can_have_are_refused() {
    let name = "the gravitational constant times the mass of body";
    for (mass, gravity, is_right) in
        [(1e-74, 1.0, true), (1e-76, 1.0, false), (1e76, 1.0, false), (1e-60, 1e-20, false), (0.0, 1e-20, true)]
    {
        let mut cluster = cluster(Order::Fourth, Choices { gravity, ..WITH });
        let others = [body(3, 1.0, [0.0; 3], [0.0; 3]), body(5, 1.0, [9.0, 0.0, 0.0], [0.0; 3])];
        cluster.add(&others).unwrap();
        cluster.add(&[body(41, mass, [0.01, 0.0, 0.0], [0.0, 1.0, 0.0])]).unwrap();
        let found = cluster.evolve(1e-3, None, &mut |_, _| true);
        assert_eq!(found.is_ok(), is_right, "{mass:e} {gravity:e} {found:?}");
        if let Err(error) = found {
            let text = error.to_string();
            assert!(text.contains(&format!("{name} 41 is")) && text.contains("1e-75 to 1e75"), "{text}");
            // Without subsystems there is no such limit, and a mass in the limits mends it.
            let change = Change { mass: Some(1e-10), ..Change::default() };
            cluster.change(&[(41, change)]).unwrap();
            cluster.evolve(1e-3, None, &mut |_, _| true).unwrap();
        }
    }
}

#[test]
fn a_state_goes_on_with_the_same_bits_and_bodies_may_change() {
    for (order, semi_major_axis) in [(Order::Fourth, 1e-3), (Order::Sixth, 1e-6), (Order::Eighth, 1e-4)] {
        let mut first = with_ring(order, semi_major_axis, 0.6);
        evolve(&mut first, 0.125);
        let mut second = cluster(order, WITH);
        second.set_state(&first.state().unwrap()).unwrap();
        assert_eq!(second.state().unwrap(), first.state().unwrap());
        assert_eq!(second.energies().unwrap(), first.energies().unwrap());
        for cluster in [&mut first, &mut second] {
            evolve(cluster, 0.25);
            cluster.change(&[(110, Change { mass: Some(0.04), ..Change::default() })]).unwrap();
            evolve(cluster, 0.375);
        }
        assert_eq!(second.state().unwrap(), first.state().unwrap(), "{order:?}");
        assert_eq!(second.binaries().unwrap(), first.binaries().unwrap());
        assert_eq!(first.binaries().unwrap().len(), 1);
    }
}

#[test]
fn a_state_after_changes_of_members_goes_on_with_the_same_bits() {
    let masses = |seven: f64, nine: f64| [(7, seven), (9, nine)].map(|(name, mass)| (name, Some(mass), None));
    let half = 0.5 / 24.0;
    let changes = [masses(1.2 * half, half), masses(1.2 * half, 0.8 * half), masses(0.0, half)];
    let faster = [(7, None, Some([-0.01, 0.6, 0.3])), (9, None, None)];
    for order in [Order::Fourth, Order::Eighth] {
        for change in changes.into_iter().chain([faster]) {
            let mut first = with_ring(order, 1e-3, 0.6);
            evolve(&mut first, 0.125);
            let change = change.map(|(name, mass, velocity)| (name, Change { mass, velocity, ..Change::default() }));
            first.change(&change).unwrap();
            let mut second = cluster(order, WITH);
            let state = first.state().unwrap();
            assert_eq!(state.len(), first.state_size());
            second.set_state(&state).unwrap();
            assert_eq!(second.state().unwrap(), state);
            assert_eq!(second.energies().unwrap(), first.energies().unwrap());
            assert_eq!(second.binaries().unwrap(), first.binaries().unwrap());
            for cluster in [&mut first, &mut second] {
                evolve(cluster, 0.1875);
            }
            assert_eq!(second.state().unwrap(), first.state().unwrap(), "{order:?} {change:?}");
        }
    }
}

#[test]
fn a_state_with_a_damaged_subsystem_is_refused() {
    let mut first = with_ring(Order::Sixth, 1e-3, 0.6);
    evolve(&mut first, 0.125);
    let state = first.state().unwrap();
    // The number of members stands before the other words of the subsystem, and those of the only group.
    let count = state.len() / 8 - (28 + 2 * 8) - 2;
    assert_eq!(state[8 * count..][..8], 2_u64.to_le_bytes());
    for members in [0, 1, 3, 1 << 40, u64::MAX / 8, u64::MAX / 8 - 1, u64::MAX] {
        let mut damaged = state.clone();
        damaged[8 * count..][..8].copy_from_slice(&members.to_le_bytes());
        let error = cluster(Order::Sixth, WITH).set_state(&damaged).unwrap_err();
        assert_eq!(error.code(), ResultCode::BadOption, "{members} members: {error}");
    }
}

#[test]
fn changes_elsewhere_leave_a_binary_the_digits_of_its_orbit() {
    let mut cluster = with_ring(Order::Sixth, 1e-6, 0.6);
    evolve(&mut cluster, 0.0625);
    let before = cluster.binaries().unwrap()[0].orbit.semi_major_axis;
    for turn in 0..8 {
        cluster.change(&[(110, Change { mass: Some(0.04 + 1e-3 * f64::from(turn)), ..Change::default() })]).unwrap();
        evolve(&mut cluster, 0.0625 + 1e-3 * f64::from(turn + 1));
    }
    // Places of bodies have no more than ten digits of such a distance.
    let after = cluster.binaries().unwrap()[0].orbit.semi_major_axis;
    assert!((after / before - 1.0).abs() < 1e-12, "{before:e} {after:e}");
}

#[test]
fn bodies_collide_inside_a_subsystem() {
    // At pericentre the bodies are 4e-4, 4e-6 from one another.
    for semi_major_axis in [1e-3, 1e-5] {
        for (part, collides) in [(0.5, true), (0.3, false)] {
            let mut cluster = with_ring(Order::Sixth, semi_major_axis, 0.6);
            let radius = 0.4 * semi_major_axis * part * 1.1;
            let change = Change { radius: Some(radius), ..Change::default() };
            cluster.change(&[(7, change), (9, change)]).unwrap();
            let made = evolve(&mut cluster, 0.25);
            assert_eq!(made.end == EvolutionEnd::Encounter, collides, "{semi_major_axis:e} {part}: {made:?}");
            if collides {
                let encounter = cluster.encounters()[0];
                assert_eq!(encounter.kind, EncounterKind::Collision);
                assert_eq!(encounter.bodies, [7, 9]);
                assert!(encounter.distance <= 2.0 * radius && encounter.time <= cluster.time());
            }
        }
    }
}

#[test]
fn damaged_states_and_wrong_choices_are_refused() {
    let mut first = with_ring(Order::Sixth, 1e-3, 0.6);
    evolve(&mut first, 0.0625);
    let state = first.state().unwrap();
    let mut second = cluster(Order::Sixth, WITH);
    for cut in 1..40 {
        assert!(second.set_state(&state[..state.len() - 8 * cut]).is_err(), "{cut}");
    }
    // The place of the last member and its mass, with six numbers between, before the two words of a group.
    let [place, mass] = [10, 3].map(|words| state.len() - words * 8);
    let places = [0u64, 1 << 40, u64::MAX].map(|wrong| (place, wrong));
    let masses = [-1.0, f64::NAN, f64::INFINITY].map(|wrong| (mass, f64::to_bits(wrong)));
    for (at, wrong) in places.into_iter().chain(masses) {
        let mut damaged = state.clone();
        damaged[at..at + 8].copy_from_slice(&wrong.to_le_bytes());
        assert!(second.set_state(&damaged).is_err(), "{at} {wrong}");
    }
    let mut without = cluster(Order::Sixth, Choices::default());
    let error = without.set_state(&state).unwrap_err();
    assert!(error.to_string().contains("subsystems"), "{error}");
    second.set_state(&state).unwrap();
    for choices in [Choices { subsystem_radius: -1.0, ..WITH }, Choices { softening: 0.1, ..WITH }] {
        let setup = Setup::on_cpu(Order::Sixth, Precision::Double);
        let error = Cluster::new(System::new(&setup).unwrap(), choices).err().unwrap();
        assert_eq!(error.code(), ResultCode::BadOption, "{error}");
    }
    let setup = Setup::on_cpu(Order::Second, Precision::Double);
    let error = Cluster::new(System::new(&setup).unwrap(), Choices { dt_max: 0.1, ..WITH }).err().unwrap();
    assert!(error.to_string().contains("orders 4, 6 and 8"), "{error}");
}

#[test]
fn more_bodies_than_a_subsystem_has_are_refused_by_the_radius() {
    let mut cluster = cluster(Order::Fourth, Choices { subsystem_radius: 10.0, ..WITH });
    let bodies: Vec<_> = (0..101)
        .map(|place| {
            let (sine, cosine) = (0.05 * f64::from(place)).sin_cos();
            body(place.into(), 0.01, [cosine, sine, 0.01 * f64::from(place)], [-0.1 * cosine, -0.1 * sine, 0.0])
        })
        .collect();
    cluster.add(&bodies).unwrap();
    let error = cluster.evolve(0.1, None, &mut |_, _| true).unwrap_err().to_string();
    assert!(error.contains("subsystem_radius") && error.contains("101 bodies"), "{error}");
}

#[test]
fn an_evolution_that_fails_leaves_bodies_where_they_were() {
    let mut cluster = with_ring(Order::Sixth, 1e-3, 0.6);
    let late = "pair late\ni pos: vec3<f64>\nparam time: f64\nresult acceleration: vec3<f64> sum\nbody\n  \
                acceleration += select(time < 0.2, f64(0), sqrt(0.1 - time)) * i.pos\n";
    cluster.add_field(late, &[]).unwrap();
    evolve(&mut cluster, 0.0625);
    let before = cluster.state().unwrap();
    cluster.evolve(0.25, None, &mut |_, _| true).unwrap_err();
    assert_eq!(cluster.state().unwrap(), before);
    evolve(&mut cluster, 0.125);
    assert_eq!(cluster.binaries().unwrap().len(), 1);
}

/// Between a change and the next evolution energies and binaries are those of the bodies as they are.
#[test]
fn changes_are_in_the_energies_and_the_binaries_at_once() {
    for order in [Order::Fourth, Order::Eighth] {
        let change = |body: Change| -> Cluster {
            let mut cluster = with_ring(order, 1e-3, 0.6);
            evolve(&mut cluster, 0.01);
            cluster.change(&[(9, body)]).unwrap();
            cluster
        };
        let moved = Change { velocity: Some([0.0; 3]), ..Change::default() };
        let lighter = Change { mass: Some(0.01), ..Change::default() };
        let removed = |name: i64| -> Cluster {
            let mut cluster = change(Change::default());
            cluster.remove(&[name]).unwrap();
            cluster
        };
        for (mut cluster, binaries) in
            [(change(moved), 0), (change(lighter), 1), (removed(7), 0), (removed(9), 0), (removed(101), 1)]
        {
            let mut plain = Energies::new(&cluster.setup.clone(), 1.0, 0.0).unwrap();
            let expected = plain.of(cluster.bodies()).unwrap();
            let found = cluster.energies().unwrap();
            assert!((found.kinetic / expected.kinetic - 1.0).abs() < 1e-9, "{found:?} {expected:?}");
            assert!((found.potential / expected.potential - 1.0).abs() < 1e-9, "{found:?} {expected:?}");
            let names = |place: usize| cluster.identifiers()[place];
            let found = cluster.binaries().unwrap();
            assert_eq!(found.len(), binaries);
            assert!(found.iter().flat_map(|binary| binary.members.iter().flatten()).all(|place| names(*place) < 10));
            evolve(&mut cluster, 0.02);
        }
        // Bodies before a binary are removed: it is still found by its names.
        let mut cluster = cluster(order, WITH);
        let mut bodies = ring(1e-3, 0.6);
        bodies.reverse();
        cluster.add(&bodies).unwrap();
        evolve(&mut cluster, 0.01);
        cluster.remove(&[101, 110]).unwrap();
        let found = cluster.binaries().unwrap();
        let names = found[0].members.iter().flatten().map(|place| cluster.identifiers()[*place]);
        assert_eq!(names.collect::<Vec<_>>(), [9, 7]);
        cluster.energies().unwrap();
        evolve(&mut cluster, 0.02);
    }
}

#[test]
fn energies_have_the_pairs_of_members_of_near_subsystems() {
    let speed = (0.1f64 / 1e-3).sqrt();
    let mut bodies = Vec::new();
    for (number, x) in [(0, 0.0), (2, 0.012), (4, 0.03)] {
        for (next, side) in [(0, 0.5), (1, -0.5)] {
            let position = [x + side * 0.8e-3, side * 0.6e-3, 0.1 * x];
            bodies.push(body(number + next, 0.05, position, [0.0, 0.0, side * speed]));
        }
    }
    bodies.push(body(6, 0.01, [0.4, 0.1, 0.0], [0.0; 3]));
    let mut cluster = cluster(Order::Sixth, Choices { subsystem_radius: 1e-3, ..WITH });
    cluster.add(&bodies).unwrap();
    evolve(&mut cluster, 1e-6);
    assert_eq!(cluster.subsystems().0.len(), 3);
    let found = cluster.energies().unwrap();
    let all = cluster.bodies();
    let mut potential = 0.0;
    for (place, one) in all.iter().enumerate() {
        for other in &all[..place] {
            let distance = length(&vector(|k| one.position[k] - other.position[k]));
            potential -= one.mass * other.mass / distance;
        }
    }
    let kinetic: f64 = all.iter().map(|body| 0.5 * body.mass * length(&body.velocity).powi(2)).sum();
    assert!((found.potential / potential - 1.0).abs() < 1e-12, "{} {potential}", found.potential);
    assert!((found.kinetic / kinetic - 1.0).abs() < 1e-12, "{} {kinetic}", found.kinetic);
}

/// A subsystem of one heavy body and light ones, around which there are others.
#[test]
fn a_planet_with_light_moons_in_the_tide_of_a_star_comes_to_its_time() {
    for (order, light) in [(Order::Fourth, 0.0), (Order::Sixth, 0.0), (Order::Sixth, 1e-30), (Order::Eighth, 1e-14)] {
        let planet = 2e-4f64;
        // The planet is no first member, so that links begin with a moon.
        let mut bodies = vec![body(0, 1.0, [0.0; 3], [0.0; 3])];
        for (name, distance) in [(1, 0.006), (2, 0.0096), (3, -0.01536)] {
            let speed = f64::copysign((planet / f64::abs(distance)).sqrt(), distance);
            bodies.push(body(name, light, [1.0 + distance, 0.0, 0.001], [0.0, 1.0 + speed, 0.0]));
        }
        bodies.push(body(4, planet, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]));
        let mut cluster = cluster(order, Choices { subsystem_radius: 0.06, ..WITH });
        cluster.add(&bodies).unwrap();
        evolve(&mut cluster, 0.5);
        assert_eq!(cluster.subsystems().0.len(), 1, "{order:?}");
        let of = |of: fn(&Change) -> Vector| bodies.iter().map(|(_, change)| of(change)).collect();
        let mut all = FewBodies {
            masses: bodies.iter().map(|(_, change)| change.mass.unwrap()).collect(),
            positions: of(|change| change.position.unwrap()),
            velocities: of(|change| change.velocity.unwrap()),
            radii: Vec::new(),
        };
        kyoho_few_body::evolve(&mut all, &Options { time: 0.5, ..Options::default() }, None).unwrap();
        for (found, expected) in cluster.bodies().iter().zip(&all.positions) {
            let error = length(&vector(|k| found.position[k] - expected[k]));
            assert!(error < 1e-6, "{order:?} {light:e}: {error:e}");
        }
    }
}

#[test]
fn subsystems_are_the_same_in_all_units_of_length() {
    for order in [Order::Fourth, Order::Sixth, Order::Eighth] {
        // One moves by its averaged orbit, the other in step with the bodies near it.
        for semi_major_axis in [1e-6, 2e-3] {
            let moved = |length: f64, unit: f64| -> Vec<[f64; 6]> {
                let mut cluster = cluster(order, WITH);
                let mut bodies = ring(semi_major_axis, 0.6);
                // A body that passes the binary near by.
                bodies.push(body(50, 1e-3, [1.02, -0.05, 0.0], [0.0, 1.0, 0.0]));
                for (_, change) in &mut bodies {
                    change.position = change.position.map(|place| place.map(|x| length * x));
                    change.velocity = change.velocity.map(|speed| speed.map(|v| length / unit * v));
                }
                cluster.add(&bodies).unwrap();
                evolve(&mut cluster, 0.125 * unit);
                assert_eq!(cluster.binaries().unwrap().len(), 1);
                let row = |body: &Body| {
                    let ([x, y, z], [u, v, w]) = (body.position, body.velocity);
                    [x, y, z].map(|x| x / length).into_iter().chain([u, v, w].map(|v| v / (length / unit)))
                };
                let rows = cluster.bodies().iter().map(|body| row(body).collect::<Vec<f64>>().try_into().unwrap());
                rows.collect()
            };
            let expected = moved(1.0, 1.0);
            for power in [-15, 9, 20] {
                let [length, unit] = [4.0_f64, 8.0].map(|base| base.powi(power));
                assert!(moved(length, unit) == expected, "{order:?}, {semi_major_axis}, 4^{power}");
            }
        }
    }
}

#[test]
fn masses_may_change_where_a_member_without_mass_was_added_first() {
    let mut cluster = cluster(Order::Sixth, Choices { subsystem_radius: 1e-2, ..WITH });
    let bodies = [
        body(1, 0.0, [1e-3, 0.0, 0.0], [0.0, 30.0, 0.0]),
        body(2, 1.0, [0.0; 3], [0.0; 3]),
        body(3, 0.1, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
        body(4, 0.2, [2e-3, 1e-3, 0.0], [0.0, 10.0, 0.0]),
    ];
    cluster.add(&bodies).unwrap();
    evolve(&mut cluster, 0.001);
    cluster.change(&[(2, Change { mass: Some(1.1), ..Change::default() })]).unwrap();
    let expected = Energies::new(&cluster.setup.clone(), 1.0, 0.0).unwrap().of(cluster.bodies()).unwrap();
    let found = cluster.energies().unwrap();
    assert!((found.kinetic / expected.kinetic - 1.0).abs() < 1e-12, "{found:?} {expected:?}");
    assert!((found.potential / expected.potential - 1.0).abs() < 1e-12, "{found:?} {expected:?}");
    // A body that loses its mass changes the numbers of others, whose distances keep their digits.
    let axis = |cluster: &mut Cluster| cluster.binaries().unwrap()[0].orbit.semi_major_axis;
    let mut cluster = self::cluster(Order::Sixth, WITH);
    cluster
        .add(&[body(1, 0.5, [1.0, 0.0, 0.0], [0.0; 3]), body(2, 0.5, [1.0 + 1e-9, 0.0, 0.0], [0.0, 3e4, 0.0])])
        .unwrap();
    cluster.add(&[body(3, 1e-9, [-1.0, 0.0, 0.0], [0.0; 3]), body(4, 1e-9, [0.0, 5.0, 0.0], [0.0; 3])]).unwrap();
    evolve(&mut cluster, 0.01);
    cluster.change(&[(1, Change { mass: Some(0.0), ..Change::default() })]).unwrap();
    let before = axis(&mut cluster);
    evolve(&mut cluster, 0.01 + 1e-15);
    assert!((axis(&mut cluster) / before - 1.0).abs() < 1e-12, "{before:e}");
}

#[test]
fn members_in_one_place_are_an_error_that_names_them() {
    for (order, mass) in [(Order::Fourth, 0.1), (Order::Sixth, 0.1), (Order::Eighth, 0.0)] {
        let mut cluster = cluster(order, Choices { subsystem_radius: 1e-2, ..WITH });
        let twin = |name: i64| body(name, mass, [1e-3, 0.0, 0.0], [0.0, 31.0, 0.0]);
        let far = body(10, 1.0, [1.0, 1.0, 1.0], [0.0; 3]);
        cluster.add(&[body(9, 0.0, [-1.0; 3], [0.0; 3]), far, body(30, 1.0, [0.0; 3], [0.0; 3])]).unwrap();
        cluster.add(&[twin(40), twin(50)]).unwrap();
        let error = cluster.evolve(1e-3, None, &mut |_, _| true).unwrap_err();
        assert!(error.to_string().contains("bodies 40 and 50 have the same position"), "{order:?}: {error}");
    }
}

#[test]
fn large_bodies_that_pass_a_binary_touch_its_members() {
    let collision = |order: Order, radius: f64, radii: [f64; 3], speed: f64| {
        let mut cluster = cluster(order, Choices { subsystem_radius: radius, ..WITH });
        let around = 0.5 * 1e-3_f64.sqrt().recip();
        let mut bodies = [
            body(1, 0.5, [5e-4, 0.0, 0.0], [0.0, around, 0.0]),
            body(2, 0.5, [-5e-4, 0.0, 0.0], [0.0, -around, 0.0]),
            body(3, 1e-6, [0.3, 0.01, 0.0], [-speed, 0.0, 0.0]),
        ];
        bodies.iter_mut().zip(radii).for_each(|((_, body), radius)| body.radius = Some(radius));
        cluster.add(&bodies).unwrap();
        let end = cluster.evolve(0.6 / speed, None, &mut |_, _| true).unwrap().end;
        (end == EvolutionEnd::Encounter).then(|| cluster.encounters()[0])
    };
    let (with, without) = (1e-3, 0.0);
    for order in [Order::Fourth, Order::Sixth, Order::Eighth] {
        for radii in [[0.0, 0.0, 0.02], [0.0, 4e-4, 0.012]] {
            for speed in [100.0, 20.0] {
                let of = format!("{order:?} {radii:?} {speed}");
                let found = collision(order, with, radii, speed).unwrap_or_else(|| panic!("{of}: none"));
                let expected = collision(order, without, radii, speed).unwrap();
                // Where members are in their orbit, a step may hide; and what is told is the least distance
                // in a step.
                let way = speed * (found.time - expected.time).abs();
                let sizes = found.bodies.map(|name| radii[name as usize - 1]);
                assert!(found.kind == EncounterKind::Collision && way < 0.02, "{of}: {found:?} {expected:?}");
                assert!(found.bodies[0] < 3 && found.bodies[1] == 3, "{of}: {found:?}");
                assert!(found.distance <= sizes[0] + sizes[1], "{of}: {found:?}");
            }
        }
        assert_eq!(collision(order, with, [0.0, 0.0, 8e-3], 100.0), None);
    }
}

/// Two bodies on a circle of this separation, and a third, if it has a mass, ten times as far away.
fn tight(separation: f64, third: f64) -> Vec<(i64, Change)> {
    let mass = 0.5 + third;
    let (half, wide) = (0.5 * (0.5 / separation).sqrt(), (mass / (10.0 * separation)).sqrt());
    let away = |part: f64| ([part * 10.0 * separation, 0.0, 0.0], [0.0, part * wide, 0.0]);
    let (centre, velocity) = away(-third / mass);
    let of_pair = |name: i64, side: f64| {
        let position = [centre[0] + 0.5 * side * separation, 0.0, 0.0];
        body(name, 0.25, position, [0.0, velocity[1] + side * half, 0.0])
    };
    let (position, velocity) = away(0.5 / mass);
    let mut bodies = vec![of_pair(1, 1.0), of_pair(2, -1.0)];
    bodies.extend((third > 0.0).then(|| body(3, third, position, velocity)));
    bodies
}

/// The force of a hard binary or a tight triple on a body far away has derivatives of their periods, which
/// are far below the body's steps.
#[test]
fn tight_bodies_move_others_far_away_by_their_mass() {
    for order in [Order::Fourth, Order::Sixth, Order::Eighth] {
        // Steps of order 8 do not see a binary that is far away, which therefore has to be a subsystem.
        let radius = if order == Order::Eighth { 2e-3 } else { 0.0 };
        for (separation, third, subsystem_radius) in [(1e-3, 0.05, 0.02), (1e-4, 0.05, 2e-3), (1e-4, 0.0, radius)] {
            let mut cluster = cluster(order, Choices { subsystem_radius, ..WITH });
            cluster.add(&tight(separation, third)).unwrap();
            cluster.add(&[body(4, 0.45, [2.0, 0.0, 0.0], [0.0, 0.7, 0.0])]).unwrap();
            evolve(&mut cluster, 0.01);
            let gained = (0.5 + third) / 4.0 * 0.01;
            let velocity = cluster.bodies().iter().find(|body| body.mass == 0.45).unwrap().velocity;
            // It has come 0.007 far in y.
            let error = length(&[velocity[0] + gained, velocity[1] - 0.7 + 0.25 * gained * 0.007, velocity[2]]);
            assert!(error < 1e-7, "{order:?}, {separation:e}, {third}: {error:e}");
        }
    }
}

#[test]
fn members_that_overlap_collide_whether_they_approach_or_part() {
    for order in [Order::Fourth, Order::Sixth, Order::Eighth] {
        for (speed, on_collision) in [(-2.0, OnCollision::End), (2.0, OnCollision::End), (2.0, OnCollision::Merge)] {
            let mut cluster = cluster(order, Choices { subsystem_radius: 0.05, on_collision, ..WITH });
            let mut bodies = [
                body(1, 0.5, [-0.01, 0.0, 0.0], [-speed, 0.0, 0.0]),
                body(2, 0.5, [0.01, 0.0, 0.0], [speed, 0.0, 0.0]),
                body(3, 1e-3, [3.0, 0.0, 0.0], [0.0, 0.5, 0.0]),
            ];
            bodies[..2].iter_mut().for_each(|(_, body)| body.radius = Some(0.02));
            cluster.add(&bodies).unwrap();
            let made = evolve(&mut cluster, 1e-3);
            let [found] = cluster.encounters() else { panic!("{order:?} {speed}: {:?}", cluster.encounters()) };
            assert_eq!((found.kind, found.bodies), (EncounterKind::Collision, [1, 2]), "{order:?} {speed}");
            assert!(found.distance <= 0.02 && found.time == 0.0, "{order:?} {speed}: {found:?}");
            let merges = on_collision == OnCollision::Merge;
            assert_eq!(cluster.bodies().len(), if merges { 2 } else { 3 });
            assert_eq!(made.end == EvolutionEnd::Encounter, !merges, "{order:?} {speed}");
        }
    }
}
