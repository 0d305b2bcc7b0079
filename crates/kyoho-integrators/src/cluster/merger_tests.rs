//! Tests of bodies that become one: by relativity, and where they collide.

use kyoho_core::{Order, ResultCode};
use kyoho_engine::Setup;

use super::tests::{body, cluster, evolve};
use super::*;
use crate::body::{Vector, length, vector};
use crate::encounters::EncounterKind;

/// Close bodies move together, with relativistic terms at this speed of light.
fn with_light(speed_of_light: f64) -> Choices {
    Choices { subsystem_radius: 0.1, speed_of_light, ..Choices::default() }
}

const MASSES: [f64; 2] = [0.4, 0.6];

/// A binary of mass 1 at its apocentre, in a frame that moves. Its circles are those of the first
/// relativistic order.
fn binary(semi_major_axis: f64, eccentricity: f64, light: f64) -> [(i64, Change); 2] {
    let far = semi_major_axis * (1.0 + eccentricity);
    let first = (3.0 - MASSES[0] * MASSES[1]) / (semi_major_axis * light * light);
    let speed = ((1.0 - first) * (1.0 - eccentricity) / (1.0 + eccentricity) / semi_major_axis).sqrt();
    [0, 1].map(|which| {
        let part = [-MASSES[1], MASSES[0]][which];
        body(10 + which as i64, MASSES[which], [1.0 + part * far, 2.0, 3.0], [0.1, part * speed, 0.2])
    })
}

/// P. C. Peters, Physical Review 136 (1964) B1224, equation 5.10: the time to the merger of a circle.
fn peters(axis: f64, light: f64) -> f64 {
    5.0 / 256.0 * axis.powi(4) * light.powi(5) / (MASSES[0] * MASSES[1])
}

/// The sum of masses, and that of momenta.
fn sums(cluster: &Cluster) -> (f64, Vector) {
    let bodies = cluster.bodies();
    let momentum = vector(|k| bodies.iter().map(|body| body.mass * body.velocity[k]).sum());
    (bodies.iter().map(|body| body.mass).sum(), momentum)
}

fn near(one: (f64, Vector), other: (f64, Vector)) -> bool {
    (one.0 - other.0).abs() < 1e-14 && length(&vector(|k| one.1[k] - other.1[k])) < 1e-13
}

#[test]
fn a_lone_binary_decays_and_merges_when_peters_says() {
    let light = 1000.0;
    let mut lone = cluster(Order::Fourth, with_light(light));
    // First by the averaged orbit, and orbit by orbit for the last thousandth of the time.
    let axis = 1.0 / (3e-4 * light * light);
    lone.add(&binary(axis, 0.0, light)).unwrap();
    let before = sums(&lone);
    let whole = peters(axis, light);
    for part in [0.25, 0.5] {
        evolve(&mut lone, part * whole);
        let orbit = lone.binaries().unwrap()[0].orbit;
        assert!((orbit.semi_major_axis / axis / (1.0 - part).powf(0.25) - 1.0).abs() < 1e-2, "{part}: {orbit:?}");
    }
    let made = lone.evolve(1.25 * whole, None, &mut |_, _| true).unwrap();
    assert_eq!(made.end, EvolutionEnd::Encounter);
    let [merger] = lone.encounters() else { panic!("{:?}", lone.encounters()) };
    assert!(merger.kind == EncounterKind::Merger && merger.bodies == [10, 11], "{merger:?}");
    assert!((merger.time / whole - 1.0).abs() < 1e-2, "{}", merger.time / whole);
    assert!((merger.distance * light * light / 6.0 - 1.0).abs() < 1e-6, "{merger:?}");
    // The heavier one has all.
    assert_eq!(lone.identifiers(), [11]);
    assert!(near(sums(&lone), before), "{:?} {before:?}", sums(&lone));
    evolve(&mut lone, 2.0 * whole);
    assert!((lone.bodies()[0].position[0] - (1.0 + 0.2 * whole)).abs() < 1e-9 * whole);
}

/// A binary that soon merges, two bodies around it, and some farther away.
fn with_others(order: Order, choices: Choices) -> Cluster {
    let light = choices.speed_of_light;
    let mut cluster = cluster(order, choices);
    cluster.add(&binary(50.0 / (light * light), 0.3, light)).unwrap();
    for (number, distance) in [(1, 0.03f64), (2, 0.8), (3, 1.5)] {
        let (sine, cosine) = f64::from(number).sin_cos();
        let speed = (1.0 / distance).sqrt();
        let place = [1.0 + distance * cosine, 2.0 + distance * sine, 3.0];
        cluster.add(&[body(i64::from(number), 0.01, place, [0.1 - speed * sine, speed * cosine, 0.2])]).unwrap();
    }
    cluster
}

#[test]
fn bodies_merge_in_a_cluster_which_goes_on_if_it_is_to() {
    let goes_on = OnCollision::Merge;
    for (order, on_collision) in [(Order::Fourth, OnCollision::End), (Order::Sixth, goes_on), (Order::Eighth, goes_on)]
    {
        let choices = Choices { on_collision, ..with_light(300.0) };
        let mut one = with_others(order, choices);
        let before = sums(&one);
        let made = evolve(&mut one, 0.125);
        let [merger] = one.encounters() else { panic!("{order:?}: {:?}", one.encounters()) };
        assert!(merger.kind == EncounterKind::Merger && merger.bodies == [10, 11], "{merger:?}");
        assert!(merger.time > 0.0 && merger.time <= one.time(), "{merger:?} {}", one.time());
        assert_eq!(made.end == EvolutionEnd::Time, on_collision == goes_on, "{made:?}");
        assert_eq!(one.time() == 0.125, on_collision == goes_on, "{}", one.time());
        assert_eq!(one.identifiers(), [11, 1, 2, 3]);
        let (mass, momentum) = sums(&one);
        let change = length(&vector(|k| momentum[k] - before.1[k]));
        // Their steps lose as much of it without a merger.
        assert!((mass - before.0).abs() < 1e-14 && change < 1e-4, "{order:?}: {change:e}");
        // From a state it goes on with the same bits, and the body around the merged ones stays.
        let mut other = cluster(order, choices);
        other.set_state(&one.state().unwrap()).unwrap();
        let energy = one.energies().unwrap().total();
        for cluster in [&mut one, &mut other] {
            evolve(cluster, 0.25);
        }
        assert!(one.state().unwrap() == other.state().unwrap(), "{order:?}");
        // Relativistic terms take part of the energy along the orbit of the body around the merged ones.
        assert!((one.energies().unwrap().total() / energy - 1.0).abs() < 1e-3);
        let binaries = one.binaries().unwrap();
        assert!((binaries[0].orbit.semi_major_axis / 0.03 - 1.0).abs() < 0.1, "{binaries:?}");
    }
}

#[test]
fn a_state_with_relativistic_terms_goes_on_with_the_same_bits() {
    // Orbit by orbit, and by the averaged orbit.
    for (part, order) in [(300.0, Order::Fourth), (1e4, Order::Sixth)] {
        let choices = with_light(1000.0);
        let mut first = cluster(order, choices);
        first.add(&binary(part * 1e-6, 0.5, 1000.0)).unwrap();
        first.add(&[body(1, 0.1, [2.0, 2.0, 3.0], [0.1, 1.0, 0.2])]).unwrap();
        evolve(&mut first, 0.01);
        let mut second = cluster(order, choices);
        second.set_state(&first.state().unwrap()).unwrap();
        for cluster in [&mut first, &mut second] {
            evolve(cluster, 0.02);
        }
        assert_eq!(first.state().unwrap(), second.state().unwrap());
        assert_eq!(first.binaries().unwrap().len(), 1);
    }
}

#[test]
fn bodies_that_collide_become_one_in_all_orders() {
    for (order, dt_max) in
        [(Order::Second, 1.0 / 64.0), (Order::Fourth, 0.0), (Order::Sixth, 0.0), (Order::Eighth, 0.0)]
    {
        let mut cluster = cluster(order, Choices { dt_max, on_collision: OnCollision::Merge, ..Choices::default() });
        let ball = |identifier: i64, mass: f64, x: f64, y: f64, speed: [f64; 2]| {
            let (_, change) = body(identifier, mass, [x, y, 0.0], [speed[0], speed[1], 0.1]);
            (identifier, Change { radius: Some(1e-3), ..change })
        };
        // Three meet in one place, and two in another one.
        cluster.add(&[ball(5, 1e-9, -0.497, 0.0, [1.0, 0.0]), ball(6, 3e-9, 0.497, 0.0, [-1.0, 0.0])]).unwrap();
        cluster.add(&[ball(7, 3e-9, 0.0, 0.497, [0.0, -1.0])]).unwrap();
        cluster.add(&[ball(8, 0.0, 7.0, -0.7, [0.0, 1.0]), ball(9, 0.0, 7.0, 0.7, [0.0, -1.0])]).unwrap();
        let before = sums(&cluster);
        let made = evolve(&mut cluster, 1.0);
        assert!(made.end == EvolutionEnd::Time && cluster.time() == 1.0, "{order:?}: {made:?}");
        assert_eq!(cluster.identifiers(), [6, 8]);
        assert!(near(sums(&cluster), before), "{order:?}");
        let pairs: Vec<[i64; 2]> = cluster.encounters().iter().map(|found| found.bodies).collect();
        assert!(cluster.encounters().iter().all(|found| found.kind == EncounterKind::Collision));
        assert!(pairs.contains(&[5, 7]) && pairs.contains(&[8, 9]), "{order:?}: {pairs:?}");
        for (radius, count) in cluster.radii().iter().zip([3.0f64, 2.0]) {
            assert!((radius / 1e-3 - count.cbrt()).abs() < 1e-12);
        }
        assert!(length(&cluster.bodies()[1].velocity) < 0.11);
        cluster.add(&[ball(1, 0.0, -8.0, 0.0, [0.0; 2])]).unwrap();
        assert!(cluster.encounters().is_empty());
    }
}

#[test]
fn evolutions_with_mergers_end_where_else_they_would() {
    let choices = Choices { on_collision: OnCollision::Merge, ..with_light(300.0) };
    let mut whole = with_others(Order::Fourth, choices);
    let blocks = evolve(&mut whole, 0.125).block_steps;
    let mut cluster = with_others(Order::Fourth, choices);
    let made = cluster.evolve(0.125, Some(blocks - 1), &mut |_, _| true).unwrap();
    assert!(made.end == EvolutionEnd::BlockSteps && made.block_steps >= blocks - 1, "{made:?} {blocks}");
    let mut cluster = with_others(Order::Fourth, choices);
    let mut told = Vec::new();
    let made = cluster.evolve(0.125, None, &mut |time, steps| {
        told.push((time, steps));
        steps < blocks - 1
    });
    assert_eq!(made.unwrap().end, EvolutionEnd::Caller, "{told:?}");
    assert!(cluster.time() < 0.125 && cluster.encounters().len() == 1, "{}", cluster.time());
    assert!(told.is_sorted_by(|one, other| one.0 <= other.0 && one.1 < other.1), "{told:?}");
    // An approach ends it all the same.
    let mut cluster = with_others(Order::Fourth, Choices { approach_distance: 0.7, ..choices });
    assert_eq!(evolve(&mut cluster, 0.5).end, EvolutionEnd::Encounter);
}

#[test]
fn speeds_of_light_that_mean_nothing_are_refused() {
    let refused = |choices: Choices| {
        let setup = Setup::on_cpu(Order::Fourth, kyoho_core::Precision::Double);
        let error = Cluster::new(System::new(&setup).unwrap(), choices).err().unwrap();
        assert_eq!(error.code(), ResultCode::BadOption, "{error}");
        error.to_string()
    };
    for light in [-1.0, f64::NAN, f64::INFINITY, 1e76] {
        let text = refused(with_light(light));
        assert!(text.contains("speed_of_light") && text.contains("above 0, at most 1e75"), "{text}");
    }
    let text = refused(Choices { speed_of_light: 100.0, ..Choices::default() });
    assert!(text.contains("without subsystems, whose bodies alone have relativistic terms"), "{text}");
}

#[test]
fn merged_bodies_have_the_volume_of_both_whatever_their_size() {
    let two = 2.0f64.cbrt();
    for radius in [1e300, 1e103, 1.0, 1e-109, 1e-300] {
        let found = mergers::radius_of_all([radius; 2].into_iter());
        assert!((found / radius / two - 1.0).abs() < 1e-15, "{radius:e}: {found:e}");
    }
    assert_eq!(mergers::radius_of_all([0.0, 3.0].into_iter()), 3.0);
    assert_eq!(mergers::radius_of_all([0.0, 0.0].into_iter()), 0.0);
    assert_eq!(mergers::radius_of_all([f64::MAX; 3].into_iter()), f64::MAX);
}
