//! Tests of collisions between the ends of steps.

use kyoho_core::{Order, Precision};

use super::tests::{body, cluster};
use super::*;
use crate::body::{Vector, length, vector};
use crate::encounters::EncounterKind;

/// The sum of the radii of two bodies.
const REACH: f64 = 4e-3;

/// An order with its longest step, and whether a tree gives the forces.
const ALL: [(Order, f64, bool); 5] = [
    (Order::Second, 1.0 / 128.0, false),
    (Order::Second, 1.0 / 128.0, true),
    (Order::Fourth, 0.0, false),
    (Order::Sixth, 0.0, false),
    (Order::Eighth, 0.0, false),
];

fn made((order, dt_max, by_tree): (Order, f64, bool), eta: f64) -> Cluster {
    let mut system = System::new(&Setup::on_cpu(order, Precision::Double)).unwrap();
    system.set_tree(by_tree.then_some(TreeAccuracy::Error(1e-4))).unwrap();
    Cluster::new(system, Choices { dt_max, eta, ..Choices::default() }).unwrap()
}

/// Two bodies without mass round a star, which at a time will be at this distance, the least one.
fn debris(distance: f64, time: f64, random: &mut impl FnMut() -> f64) -> [(i64, Change); 3] {
    let mut direction = || {
        let found = vector(|_| random() - 0.5);
        let size = length(&found);
        found.map(|component| component / size)
    };
    let across = |a: &Vector, b: &Vector| vector(|k| a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3]);
    let place = direction();
    let mut velocity = |speed: f64| {
        let found = across(&place, &direction());
        let size = length(&found);
        found.map(|component| component * speed / size)
    };
    let velocities = [velocity(0.8), velocity(1.1)];
    let aside = across(&place, &vector(|k| velocities[1][k] - velocities[0][k]));
    let aside = aside.map(|component| component / length(&aside));
    // They come from there on the same way back.
    let mut back = cluster(Order::Eighth, Choices { eta: 0.1, ..Choices::default() });
    let star = body(0, 1.0, [0.0; 3], [0.0; 3]);
    let at = |side: f64| vector(|k| place[k] + 0.5 * side * distance * aside[k]);
    back.add(&[star, body(1, 0.0, at(-1.0), velocities[0]), body(2, 0.0, at(1.0), velocities[1])]).unwrap();
    back.evolve(time, None, &mut |_, _| true).unwrap();
    let start = |identifier: i64| {
        let found = back.bodies()[identifier as usize];
        let (_, change) = body(identifier, 0.0, found.position, found.velocity.map(|component| -component));
        (identifier, Change { radius: Some(0.5 * REACH), ..change })
    };
    [star, start(1), start(2)]
}

/// Evolves to a time and returns the end. All meet at the end of the block step after another time too,
/// if there is one.
fn evolve(cluster: &mut Cluster, to: f64, meeting: Option<f64>) -> EvolutionEnd {
    let end = cluster.evolve(to, None, &mut |time, _| meeting.is_none_or(|meeting| time < meeting)).unwrap().end;
    if end == EvolutionEnd::Caller { cluster.evolve(to, None, &mut |_, _| true).unwrap().end } else { end }
}

#[test]
fn small_bodies_that_meet_are_found_at_any_phase_of_their_steps() {
    let mut random = crate::tests::random();
    for number in 0..60 {
        let (time, part) = (0.3 + 1.5 * random(), [0.0, 0.3, 0.7, 1.3, 2.0][number % 5]);
        let meeting = (number % 3 != 0).then_some(time - 0.1 * random());
        let bodies = debris(part * REACH, time, &mut random);
        for kind in ALL {
            let mut cluster = made(kind, 0.0);
            cluster.add(&bodies).unwrap();
            let end = evolve(&mut cluster, time + 0.3, meeting);
            let what = format!("{kind:?}, number {number}: {:?}", cluster.encounters());
            if part > 1.0 {
                assert!(end == EvolutionEnd::Time && cluster.encounters().is_empty(), "{what}");
                continue;
            }
            let [found] = cluster.encounters() else { panic!("{what}") };
            assert!(end == EvolutionEnd::Encounter && found.kind == EncounterKind::Collision, "{what}");
            // A step may end while they are still nearing each other.
            let is_near = found.distance > (part - 0.1) * REACH && found.distance < REACH;
            assert!(found.bodies == [1, 2] && is_near, "{what}");
            assert!((found.time - time).abs() < 0.02 && cluster.time() >= found.time, "{what} {time}");
        }
    }
}

#[test]
fn collisions_in_one_step_are_told_once_each() {
    for kind in ALL {
        let mut cluster = made(kind, 0.0);
        let small = |identifier: i64, x: f64, y: f64, speed: [f64; 2]| {
            let (_, change) = body(identifier, 0.0, [x, y, 0.0], [speed[0], speed[1], 0.0]);
            (identifier, Change { radius: Some(1e-6), ..change })
        };
        // Three meet in one place, two in another one, and one meets a body without a radius.
        cluster.add(&[small(1, -0.497, 0.0, [1.0, 0.0]), small(2, 0.497, 0.0, [-1.0, 0.0])]).unwrap();
        cluster.add(&[small(3, 0.0, 0.497, [0.0, -1.0])]).unwrap();
        cluster.add(&[small(4, 7.0, -0.497, [0.0, 1.0]), small(5, 7.0, 0.497, [0.0, -1.0])]).unwrap();
        cluster.add(&[body(6, 0.0, [-9.0, 0.0, 0.0], [0.0; 3]), small(7, -9.0, 0.497, [0.0, -1.0])]).unwrap();
        // Two without a radius meet too.
        cluster
            .add(&[body(8, 0.0, [30.0, 0.0, 0.0], [0.0; 3]), body(9, 0.0, [30.0, 0.497, 0.0], [0.0, -1.0, 0.0])])
            .unwrap();
        assert_eq!(evolve(&mut cluster, 1.0, None), EvolutionEnd::Encounter);
        let pairs: Vec<[i64; 2]> = cluster.encounters().iter().map(|found| found.bodies).collect();
        assert_eq!(pairs, [[1, 2], [1, 3], [2, 3], [4, 5], [6, 7]], "{kind:?}");
        for found in cluster.encounters() {
            assert!(found.distance < 1e-9 && (found.time - 0.497).abs() < 1e-5, "{kind:?}: {found:?}");
        }
        assert_eq!(evolve(&mut cluster, 2.0, None), EvolutionEnd::Time, "{kind:?}: {:?}", cluster.encounters());
    }
}

#[test]
fn bodies_without_mass_that_may_collide_cost_nothing_as_sources() {
    for (order, dt_max, _) in [ALL[0], ALL[2], ALL[4]] {
        let mut random = crate::tests::random();
        let all: Vec<(i64, Change)> = (0..60)
            .map(|number| {
                let mass = if number % 6 == 0 { 0.1 } else { 0.0 };
                let (_, change) = body(number, mass, vector(|_| 4.0 * random() - 2.0), [0.0; 3]);
                (number, Change { radius: Some(1e-7), ..change })
            })
            .collect();
        let mut cluster = cluster(order, Choices { dt_max, softening: 0.1, ..Choices::default() });
        cluster.add(&all).unwrap();
        assert_eq!(evolve(&mut cluster, 0.125, None), EvolutionEnd::Time);
        let Counts { steps, interactions, .. } = cluster.counts();
        assert!(interactions <= 10 * (steps + 120), "{order:?}: {interactions} pairs of {steps} steps");
    }
}

#[test]
fn bodies_that_collide_before_an_evolution_is_ended_are_found() {
    for (order, dt_max, _) in ALL {
        let mut cluster = cluster(order, Choices { dt_max, ..Choices::default() });
        // A pair in short steps, and two others in a step of the whole time.
        let pair = |identifier: i64, side: f64| body(identifier, 0.5, [side, 0.0, 0.0], [0.0, 0.5 * side, 0.0]);
        let small = |identifier: i64, side: f64| {
            let (_, change) = body(identifier, 0.0, [1e6 - 0.497 * side, 0.0, 0.0], [side, 0.0, 0.0]);
            (identifier, Change { radius: Some(1e-6), ..change })
        };
        cluster.add(&[pair(0, 0.1), pair(1, -0.1), small(2, 1.0), small(3, -1.0)]).unwrap();
        let evolution = cluster.evolve(1.0, None, &mut |time, _| time < 0.6).unwrap();
        assert_eq!(evolution.end, EvolutionEnd::Encounter, "{order:?}");
        let [found] = cluster.encounters() else { panic!("{order:?}: {:?}", cluster.encounters()) };
        assert!(found.bodies == [2, 3] && (found.time - 0.497).abs() < 1e-5, "{order:?}: {found:?}");
    }
}
