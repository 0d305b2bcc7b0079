//! Tests of changes between evolutions.

use kyoho_core::Order;

use super::tests::{body, cluster, evolve};
use super::*;
use crate::body::Vector;

const BODIES: i64 = 48;

/// Bodies of random places and velocities in a ball.
fn ball() -> Vec<(i64, Change)> {
    let mut random = crate::tests::random();
    let mut vector = |size: f64| -> Vector { std::array::from_fn(|_| size * (random() - 0.5)) };
    (0..BODIES).map(|number| body(number, 1.0 / BODIES as f64, vector(2.0), vector(1.0))).collect()
}

/// Returns the steps of bodies and the sum of the errors of the energy of a run in which masses are
/// multiplied by a factor before each interval, and velocities are kicked.
fn run(order: Order, factor: f64, kick: f64) -> (u64, f64) {
    let mut cluster = cluster(order, Choices { softening: 0.05, ..Choices::default() });
    cluster.add(&ball()).unwrap();
    evolve(&mut cluster, 0.25);
    let (start, mut errors) = (cluster.counts().steps, 0.0);
    for number in 1..=16 {
        let changes: Vec<(i64, Change)> = cluster
            .identifiers()
            .iter()
            .zip(cluster.bodies())
            .filter(|_| factor != 1.0 || kick != 0.0)
            .map(|(identifier, body)| {
                let velocity = (kick != 0.0).then_some(body.velocity.map(|component| component * (1.0 + kick)));
                (*identifier, Change { mass: Some(factor * body.mass), velocity, ..Change::default() })
            })
            .collect();
        cluster.change(&changes).unwrap();
        let before = cluster.energies().unwrap().total();
        evolve(&mut cluster, 0.25 + f64::from(number) / 16.0);
        errors += (cluster.energies().unwrap().total() / before - 1.0).abs();
    }
    (cluster.counts().steps - start, errors)
}

#[test]
fn small_changes_of_masses_and_velocities_leave_steps_as_they_are() {
    for order in [Order::Fourth, Order::Sixth, Order::Eighth] {
        let (steps, error) = run(order, 1.0, 0.0);
        for (factor, kick) in [(0.999, 0.0), (1.0, 1e-4)] {
            let (with, error_with) = run(order, factor, kick);
            assert!(20 * with <= 21 * steps, "{order:?}: {with} steps, {steps} without changes");
            let most = 4.0 * error + 1e-10;
            assert!(error_with < most, "{order:?}: {error_with:e}, {error:e} without changes");
        }
    }
}

#[test]
fn bodies_whose_forces_are_others_get_first_steps() {
    for order in [Order::Fourth, Order::Sixth, Order::Eighth] {
        let pair = |mass: f64, identifier: i64, side: f64| {
            body(identifier, mass, [0.5 * side, 0.0, 0.0], [0.0, 0.5 * side, 0.0])
        };
        let mut changed = cluster(order, Choices::default());
        changed.add(&[pair(0.5, 0, 1.0), pair(0.5, 1, -1.0)]).unwrap();
        evolve(&mut changed, 1.0);
        // The orbit becomes an ellipse with a hundredth of the period.
        let heavy = Change { mass: Some(5e3), ..Change::default() };
        changed.change(&[(1, heavy)]).unwrap();
        let light = changed.bodies()[0];
        let own = |cluster: &Cluster| {
            let [one, other] = [cluster.bodies()[0], cluster.bodies()[1]];
            let apart: Vector = std::array::from_fn(|k| one.position[k] - other.position[k]);
            let speed: Vector = std::array::from_fn(|k| one.velocity[k] - other.velocity[k]);
            0.5 * crate::body::length(&speed).powi(2) - 5000.5 / crate::body::length(&apart)
        };
        let (energy, now) = (own(&changed), changed.time());
        evolve(&mut changed, now + 2e-3);
        assert!(changed.bodies()[0].step < light.step / 8.0, "{order:?}");
        let error = (own(&changed) / energy - 1.0).abs();
        assert!(error < 1e-4, "{order:?}: {error:e}");
    }
}

#[test]
fn bodies_that_stay_keep_their_steps_when_light_ones_come_and_go() {
    let choices = Choices { softening: 0.05, ..Choices::default() };
    let steps = |changes: bool| {
        let mut cluster = cluster(Order::Fourth, choices);
        cluster.add(&ball()).unwrap();
        cluster.add(&[body(100, 1e-9, [40.0, 0.0, 0.0], [0.0; 3])]).unwrap();
        evolve(&mut cluster, 0.25);
        let before = cluster.counts().steps;
        if changes {
            cluster.remove(&[100]).unwrap();
            cluster.add(&[body(101, 1e-9, [0.0, 40.0, 0.0], [0.0; 3])]).unwrap();
        }
        evolve(&mut cluster, 0.5);
        cluster.counts().steps - before
    };
    let (alone, changed) = (steps(false), steps(true));
    assert!(changed <= alone + 16, "{changed} steps, {alone} without changes");
}

/// The momentum of all bodies.
fn momentum(cluster: &Cluster) -> Vector {
    let parts = cluster.bodies().iter().map(|body| body.velocity.map(|component| body.mass * component));
    parts.fold([0.0; 3], |sum, part| std::array::from_fn(|k| sum[k] + part[k]))
}

#[test]
fn steps_that_were_cut_short_leave_those_that_follow_right() {
    for order in [Order::Fourth, Order::Sixth, Order::Eighth] {
        for on_collision in [OnCollision::End, OnCollision::Merge] {
            let merges = on_collision == OnCollision::Merge;
            let mut cluster = cluster(order, Choices { softening: 0.01, on_collision, ..Choices::default() });
            // Two bodies in one place have much shorter steps than the others, whose steps they cut.
            let mut bodies = ball()[..10].to_vec();
            bodies[1].1.position = bodies[0].1.position;
            bodies[..2].iter_mut().for_each(|(_, change)| change.radius = merges.then_some(0.002));
            cluster.add(&bodies).unwrap();
            let before = momentum(&cluster);
            cluster.evolve(0.25, Some(1), &mut |_, _| true).unwrap();
            evolve(&mut cluster, 0.25);
            assert_eq!(cluster.bodies().len(), if merges { 9 } else { 10 }, "{order:?}");
            let after = momentum(&cluster);
            let error = (0..3).map(|k| (after[k] - before[k]).abs()).fold(0.0, f64::max);
            assert!(error < 1e-8, "{order:?}, merges {merges}: {error:e}");
        }
    }
}
