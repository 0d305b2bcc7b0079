//! Tests of `cluster`.

use crate::body::Vector;
use crate::encounters::EncounterKind;
use kyoho_core::{Order, Precision};
use kyoho_engine::Setup;

use super::*;

pub fn cluster(order: Order, choices: Choices) -> Cluster {
    let setup = Setup::on_cpu(order, Precision::Double);
    Cluster::new(System::new(&setup).unwrap(), choices).unwrap()
}

pub fn body(identifier: i64, mass: f64, position: Vector, velocity: Vector) -> (i64, Change) {
    let change = Change { mass: Some(mass), position: Some(position), velocity: Some(velocity), ..Change::default() };
    (identifier, change)
}

/// Two bodies on a circle with period 2 pi, and a third one far away.
pub fn circle() -> [(i64, Change); 3] {
    [
        body(7, 0.5, [0.5, 0.0, 0.0], [0.0, 0.5, 0.0]),
        body(3, 0.5, [-0.5, 0.0, 0.0], [0.0, -0.5, 0.0]),
        body(5, 0.0, [1e3, 0.0, 0.0], [0.0; 3]),
    ]
}

pub fn evolve(cluster: &mut Cluster, to: f64) -> Evolution {
    cluster.evolve(to, None, &mut |_, _| true).unwrap()
}

pub const ALL: [(Order, f64); 4] =
    [(Order::Second, 1e-3), (Order::Fourth, 0.0), (Order::Sixth, 0.0), (Order::Eighth, 0.0)];

#[test]
fn bodies_reach_any_time_on_their_orbit() {
    for (order, dt_max) in ALL {
        let mut cluster = cluster(order, Choices { dt_max, ..Choices::default() });
        cluster.add(&circle()).unwrap();
        for to in [0.1, 0.37, 1.0, 2.5] {
            let Evolution { end, block_steps, .. } = evolve(&mut cluster, to);
            assert!(end == EvolutionEnd::Time && block_steps > 0 && cluster.time() == to, "{order:?}");
            let position = cluster.bodies()[0].position;
            let error = length2(&[position[0] - 0.5 * to.cos(), position[1] - 0.5 * to.sin(), position[2]]);
            assert!(error < 1e-8, "{order:?} at {to}: {error:e}");
        }
    }
}

fn length2(vector: &Vector) -> f64 {
    vector.iter().map(|component| component * component).sum()
}

#[test]
fn a_block_in_each_call_comes_to_the_end_as_soon() {
    let mut random = crate::tests::random();
    let mut vector = || [random() - 0.5, random() - 0.5, random() - 0.5];
    let bodies: Vec<_> = (0..24).map(|number| body(number, 1.0 / 24.0, vector(), vector())).collect();
    for (order, dt_max) in ALL {
        let start = || {
            let mut cluster = cluster(order, Choices { dt_max, softening: 0.1, ..Choices::default() });
            cluster.add(&bodies).unwrap();
            cluster
        };
        let at_once = evolve(&mut start(), 0.3).block_steps;
        let (mut cluster, mut calls) = (start(), 0);
        let before = cluster.energies().unwrap().total();
        while cluster.time() < 0.3 {
            cluster.evolve(0.3, None, &mut |_, _| false).unwrap();
            calls += 1;
            assert!(calls <= 2 * at_once, "{order:?}: {} after {calls} calls", cluster.time());
        }
        let error = (cluster.energies().unwrap().total() / before - 1.0).abs();
        assert!(error < 1e-5, "{order:?}: {error:e}");
    }
}

#[test]
fn where_an_evolution_is_stopped_all_bodies_meet_and_go_on() {
    for (order, dt_max) in ALL {
        let mut cluster = cluster(order, Choices { dt_max, eta: 0.01, ..Choices::default() });
        cluster.add(&circle()).unwrap();
        let stopped = cluster.evolve(2.0, None, &mut |time, _| time < 0.7).unwrap();
        assert_eq!(stopped.end, EvolutionEnd::Caller);
        let time = cluster.time();
        assert!((0.7..2.0).contains(&time), "{order:?}: {time}");
        let error = |cluster: &Cluster| {
            let position = cluster.bodies()[1].position;
            let time = cluster.time();
            length2(&[position[0] + 0.5 * time.cos(), position[1] + 0.5 * time.sin(), position[2]])
        };
        assert!(error(&cluster) < 1e-8, "{order:?}: {:e}", error(&cluster));
        let limited = cluster.evolve(2.0, Some(3), &mut |_, _| true).unwrap();
        assert!(limited.end == EvolutionEnd::BlockSteps && limited.block_steps >= 3, "{limited:?}");
        assert_eq!(evolve(&mut cluster, 2.0).end, EvolutionEnd::Time);
        assert!(error(&cluster) < 1e-8, "{order:?}: {:e}", error(&cluster));
    }
}

#[test]
fn bodies_come_go_and_change_by_their_identifiers() {
    let mut cluster = cluster(Order::Fourth, Choices::default());
    cluster.add(&circle()).unwrap();
    let again = cluster.add(&[body(9, 1.0, [1.0; 3], [0.0; 3]), body(3, 1.0, [2.0; 3], [0.0; 3])]).unwrap_err();
    assert!(again.to_string().contains("body 1 to be added is '3'"), "{again}");
    assert!(cluster.place(9).is_err() && cluster.identifiers() == [7, 3, 5]);
    cluster.remove(&[3]).unwrap();
    assert_eq!((cluster.identifiers(), cluster.place(5).unwrap()), (&[7, 5][..], 1));
    cluster.change(&[(5, Change { velocity: Some([0.0, 2.0, 0.0]), ..Change::default() })]).unwrap();
    evolve(&mut cluster, 0.5);
    // Nothing acts on a body alone, and the other one is too far.
    assert_eq!(cluster.bodies()[0].position, [0.5, 0.25, 0.0]);
    assert!((cluster.bodies()[1].position[1] - 1.0).abs() < 1e-6);
    for wrong in [Change { mass: Some(-1.0), ..Change::default() }, Change { radius: Some(-1.0), ..Change::default() }]
    {
        assert!(cluster.change(&[(7, wrong)]).unwrap_err().to_string().contains("of body 7 is '-1'"));
    }
    assert!(cluster.remove(&[7, 8]).is_err() && cluster.identifiers() == [7, 5]);
    cluster.remove(&[7, 5]).unwrap();
    assert_eq!(evolve(&mut cluster, 1.5).block_steps, 0);
    assert_eq!(cluster.time(), 1.5);
}

#[test]
fn collisions_and_approaches_end_an_evolution() {
    for (order, dt_max) in ALL {
        let choices = Choices { dt_max, eta: 0.01, ..Choices::default() };
        // They fall towards each other from rest, over a distance of 1.
        let falling =
            [(1.0, 2), (-1.0, 4)].map(|(side, identifier)| body(identifier, 0.5, [0.5 * side, 0.0, 0.0], [0.0; 3]));
        let radius = |radius: f64| Change { radius: Some(radius), ..Change::default() };
        let mut colliding = cluster(order, choices);
        colliding.add(&falling).unwrap();
        // The third one does not collide. It leaves the smaller one, from within the larger
        // radius.
        colliding.add(&[body(6, 0.0, [-0.7, 0.0, 0.0], [-9.0, 0.0, 0.0])]).unwrap();
        colliding.change(&[(2, radius(0.3)), (4, radius(0.1))]).unwrap();
        let evolution = evolve(&mut colliding, 10.0);
        let [found] = colliding.encounters() else { panic!("{order:?}: {:?}", colliding.encounters()) };
        assert!(
            evolution.end == EvolutionEnd::Encounter
                && found.kind == EncounterKind::Collision
                && found.bodies == [2, 4]
        );
        let apart = colliding.bodies()[0].position[0] - colliding.bodies()[1].position[0];
        assert!(apart < 0.4 && apart > 0.3 && (found.distance - apart).abs() < 1e-3, "{order:?}: {apart} {found:?}");
        colliding.remove(&[4]).unwrap();
        assert!(colliding.encounters().is_empty());

        let mut approaching = cluster(order, Choices { approach_distance: 0.2, ..choices });
        approaching.add(&falling).unwrap();
        assert_eq!(evolve(&mut approaching, 10.0).end, EvolutionEnd::Encounter);
        let [found] = approaching.encounters() else { panic!("{order:?}") };
        assert!(found.kind == EncounterKind::Approach && found.distance < 0.2 && found.distance > 0.1, "{found:?}");
        let now = approaching.time();
        assert_eq!(evolve(&mut approaching, now).end, EvolutionEnd::Time);
        assert!(approaching.encounters().is_empty());
    }
}

#[test]
fn bodies_that_fall_into_each_other_without_softening_are_named() {
    for (order, dt_max) in &ALL[1..] {
        let mut cluster = cluster(*order, Choices { dt_max: *dt_max, ..Choices::default() });
        cluster.add(&[body(1, 1e-9, [50.0, 0.0, 0.0], [0.0; 3])]).unwrap();
        cluster.add(&[1.0, -1.0].map(|side| body(8 + side as i64, 0.5, [0.5 * side, 0.01, 0.0], [0.0; 3]))).unwrap();
        let before = cluster.energies().unwrap().total();
        assert_eq!(cluster.energy_jump(), None);
        // They meet at pi / sqrt(8).
        for to in [1.0, 2.0] {
            evolve(&mut cluster, to);
        }
        let change = cluster.energies().unwrap().total() - before;
        let Some((identifiers, jump)) = cluster.energy_jump() else { panic!("{order:?}: {change:e}") };
        assert!(identifiers == [9, 7] && (jump.time - 1.11).abs() < 0.01, "{order:?}: {identifiers:?} {jump:?}");
        assert!(jump.energy.abs() > 10.0 && jump.distance < 1e-3, "{order:?}: {jump:?} {change:e}");
        assert!(cluster.counts().energy_jumps >= 1);
    }
}

#[test]
fn a_large_body_collides_beyond_the_nearest_one() {
    for (order, dt_max) in ALL {
        let mut cluster = cluster(order, Choices { dt_max, softening: 0.1, ..Choices::default() });
        // Each of the small ones is nearer to the other than to the large one.
        let small = |identifier: i64, x: f64| body(identifier, 0.0, [x, 0.0, 0.0], [0.0; 3]);
        let large = Change { radius: Some(1.0), ..body(0, 1e-9, [0.0; 3], [0.0; 3]).1 };
        cluster.add(&[small(1, 0.95), small(2, 1.05), (0, large)]).unwrap();
        assert_eq!(evolve(&mut cluster, 0.01).end, EvolutionEnd::Encounter);
        let found: Vec<[i64; 2]> = cluster.encounters().iter().map(|found| found.bodies).collect();
        assert_eq!(found, [[1, 0]], "{order:?}");
    }
}

#[test]
fn energies_are_kept() {
    let mut cluster = cluster(Order::Sixth, Choices { softening: 0.1, gravity: 2.0, ..Choices::default() });
    cluster.add(&circle()).unwrap();
    let before = cluster.energies().unwrap();
    assert!((before.potential + 0.5 / 1.01f64.sqrt()).abs() < 1e-14 && before.kinetic == 0.125);
    evolve(&mut cluster, 1.0);
    assert!((cluster.energies().unwrap().total() / before.total() - 1.0).abs() < 1e-8);
}

#[test]
fn what_cannot_be_done_is_an_error() {
    let mut cluster = cluster(Order::Fourth, Choices { time: 1.0, ..Choices::default() });
    cluster.add(&circle()).unwrap();
    for to in [0.5, f64::NAN] {
        assert!(cluster.evolve(to, None, &mut |_, _| true).unwrap_err().to_string().contains("the time to evolve to"));
    }
    cluster.add(&[body(8, 1.0, [0.5, 0.0, 0.0], [0.0; 3])]).unwrap();
    let error = cluster.evolve(2.0, None, &mut |_, _| true).unwrap_err();
    assert!(error.to_string().contains("bodies 7 and 8 have the same position"), "{error}");
    // It can be mended.
    cluster.remove(&[8]).unwrap();
    assert_eq!(evolve(&mut cluster, 2.0).end, EvolutionEnd::Time);
    let setup = Setup::on_cpu(Order::Second, Precision::Double);
    let error = Cluster::new(System::new(&setup).unwrap(), Choices::default()).err().unwrap().to_string();
    assert!(error.starts_with("dt_max is '0'"), "{error}");
}

#[test]
fn bodies_without_mass_act_on_nothing_and_cost_nothing_as_sources() {
    let mut random = crate::tests::random();
    let mut vector = |size: f64| -> Vector { std::array::from_fn(|_| size * (random() - 0.5)) };
    let all: Vec<(i64, Change)> =
        (0..45).map(|number| body(number, if number % 3 == 1 { 0.1 } else { 0.0 }, vector(2.0), vector(0.5))).collect();
    let with_mass: Vec<(i64, Change)> = all.iter().copied().filter(|(_, change)| change.mass != Some(0.0)).collect();
    for (order, dt_max) in ALL {
        let choices =
            Choices { dt_max: if dt_max > 0.0 { 1.0 / 64.0 } else { 0.0 }, softening: 0.1, ..Choices::default() };
        let run = |bodies: &[(i64, Change)], choices: Choices| {
            let mut cluster = cluster(order, choices);
            cluster.add(bodies).unwrap();
            evolve(&mut cluster, 0.25);
            // Masses come and go.
            let changes = [(1, 0.0), (4, 0.05)]
                .map(|(identifier, mass)| (identifier, Change { mass: Some(mass), ..Change::default() }));
            cluster.change(&changes).unwrap();
            evolve(&mut cluster, 0.5);
            cluster
        };
        let (mut found, mut alone) = (run(&all, choices), run(&with_mass, choices));
        for (place, identifier) in alone.identifiers().iter().enumerate() {
            let motion = |cluster: &Cluster, place: usize| cluster.bodies()[place].motion();
            let [one, other] = [motion(&found, found.place(*identifier).unwrap()), motion(&alone, place)];
            let differs = |k: usize| (one.as_flattened()[k] - other.as_flattened()[k]).abs() > 1e-13;
            assert!(!(0..9).any(differs), "{order:?}: body {identifier}");
        }
        let [energy, expected] = [&mut found, &mut alone].map(|cluster| cluster.energies().unwrap().total());
        assert!((energy - expected).abs() < 1e-14, "{order:?}: {energy} {expected}");
        // Bodies that have an approach are sources, all of them.
        let mut whole = run(&all, Choices { approach_distance: 1e-9, ..choices });
        for (body, expected) in found.bodies().iter().zip(whole.bodies()) {
            let error = (0..3).map(|k| (body.position[k] - expected.position[k]).abs()).fold(0.0, f64::max);
            assert!(error < 1e-9, "{order:?}: {error:e}");
        }
        let (pairs, of_all) = (found.counts().interactions, whole.counts().interactions);
        assert!(3 * pairs <= of_all, "{order:?}: {pairs} of {of_all} pairs");
        assert!((whole.energies().unwrap().total() / found.energies().unwrap().total() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn the_nearest_of_bodies_are_named_where_some_have_no_mass() {
    let mut cluster = cluster(Order::Fourth, Choices::default());
    cluster.add(&[body(1, 0.0, [5.0, 0.0, 0.0], [0.0; 3]), body(2, 0.0, [9.0, 0.0, 0.0], [0.0; 3])]).unwrap();
    // Bodies without mass may be in one place, but not where one with mass is.
    cluster.add(&[body(3, 0.0, [9.0, 0.0, 0.0], [0.0; 3]), body(4, 1.0, [0.0; 3], [0.0; 3])]).unwrap();
    let approach = evolve(&mut cluster, 0.1).approach.unwrap();
    assert_eq!(approach.bodies, [1, 4]);
    assert!(approach.distance > 4.9 && approach.distance < 5.0, "{approach:?}");
    cluster.add(&[body(5, 0.0, cluster.bodies()[3].position, [0.0; 3])]).unwrap();
    let error = cluster.evolve(1.0, None, &mut |_, _| true).unwrap_err().to_string();
    assert!(error.contains("bodies 5 and 4 have the same position"), "{error}");
    // Without any mass all move on straight lines.
    cluster.remove(&[4, 5]).unwrap();
    cluster.change(&[(1, Change { velocity: Some([1.0, 0.0, 0.0]), ..Change::default() })]).unwrap();
    let before = cluster.bodies()[0].position[0];
    evolve(&mut cluster, 2.1);
    assert!((cluster.bodies()[0].position[0] - before - 2.0).abs() < 1e-12);
}

#[test]
fn forces_and_nearest_bodies_are_those_of_the_textbook() {
    for (order, dt_max) in ALL {
        let mut cluster = cluster(order, Choices { dt_max, gravity: 2.0, softening: 3.0, ..Choices::default() });
        cluster.add(&[body(1, 5.0, [0.0; 3], [0.0; 3]), body(2, 0.0, [1.0, 0.0, 0.0], [0.0; 3])]).unwrap();
        cluster.add(&[body(3, 7.0, [4.0, 0.0, 0.0], [0.0; 3])]).unwrap();
        // Distances 4 and 3, and a softening of 3.
        let near = 1.0 / 18f64.sqrt();
        let first = (-2.0 * 7.0 / 5.0, [2.0 * 7.0 * 4.0 / 125.0, 0.0, 0.0]);
        let second =
            (-2.0 * (5.0 / 10f64.sqrt() + 7.0 * near), [2.0 * (21.0 * near.powi(3) - 5.0 / 10f64.powf(1.5)), 0.0, 0.0]);
        let same = |found: &[(f64, Vector)], expected: &[(f64, Vector)]| {
            for ((potential, acceleration), (p, a)) in found.iter().zip(expected) {
                assert!((potential - p).abs() < 1e-14 && (acceleration[0] - a[0]).abs() < 1e-14, "{found:?}");
            }
            assert_eq!(found.len(), expected.len());
        };
        same(&cluster.forces(&[1, 0]).unwrap(), &[second, first]);
        assert_eq!(cluster.nearest(&[0, 1, 2]).unwrap(), [Some((1, 1.0)), Some((0, 1.0)), Some((1, 3.0))]);
        // A field adds its part.

        cluster.add_field("point_mass", &[("mass", &[3.0])]).unwrap();
        same(&cluster.forces(&[1]).unwrap(), &[(second.0 - 6.0, [second.1[0] - 6.0, 0.0, 0.0])]);
        cluster.remove(&[1, 3]).unwrap();
        assert_eq!(cluster.nearest(&[0]).unwrap(), [None]);
        same(&cluster.forces(&[0]).unwrap(), &[(-6.0, [-6.0, 0.0, 0.0])]);
    }
}

#[test]
fn the_longest_step_may_be_as_short_as_the_units_of_time_are_long() {
    for order in [Order::Second, Order::Fourth] {
        let unit = 2.0_f64.powi(-60);
        let mut cluster = cluster(order, Choices { dt_max: unit / 2.0, ..Choices::default() });
        let at = |side: f64| [side * unit, 0.0, 0.0];
        cluster.add(&[body(1, unit, at(1.0), [0.0; 3]), body(2, unit, at(-1.0), [0.0; 3])]).unwrap();
        let end = cluster.evolve(unit, None, &mut |_, _| true).unwrap().end;
        assert_eq!(end, EvolutionEnd::Time, "{order:?}");
    }
}

#[test]
fn times_that_no_step_reaches_are_refused_and_others_are_made() {
    for order in [Order::Second, Order::Fourth, Order::Sixth, Order::Eighth] {
        let dt_max = if order == Order::Second { 1.0 / 256.0 } else { 0.0 };
        let mut cluster = cluster(order, Choices { dt_max, ..Choices::default() });
        cluster.add(&circle()).unwrap();
        for time in [1e-300, 1e-60, 1e-31] {
            let error = cluster.evolve(time, None, &mut |_, _| true).unwrap_err().to_string();
            assert!(error.contains("from 0 on, the time of the bodies, and 1e-30 later"), "{order:?}: {error}");
        }
        assert_eq!(
            (evolve(&mut cluster, 0.0).block_steps, evolve(&mut cluster, 1e-30).block_steps),
            (0, 1),
            "{order:?}"
        );
        evolve(&mut cluster, 1e-29);
        evolve(&mut cluster, 1.0);
        let position = cluster.bodies()[0].position;
        let off = (position[0] - 0.5 * 1.0f64.cos()).hypot(position[1] - 0.5 * 1.0f64.sin());
        assert!(off < if order == Order::Second { 1e-2 } else { 1e-5 }, "{order:?}: {off:e}");
    }
}
