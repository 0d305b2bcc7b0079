//! Tests of bodies with softenings of their own, more different ones than there may be groups, against
//! plain double loops.

use crate::body::{length, vector};
use crate::groups::MOST_GROUPS;
use kyoho_core::{Order, Precision, TreeAccuracy};
use kyoho_engine::Setup;

use super::group_tests::{Plain, Table, advance, assert_as_plain, bodies};
use super::tests::{ALL, body, cluster, evolve};
use super::*;

const FEELS_ALL: Table = &|_, _| true;
const CHOICES: Choices = Choices {
    eta: 0.01,
    softening: 0.1,
    gravity: 0.0,
    criterion: crate::plan::StepCriterion::Usual,
    dt_max: 0.0,
    dt_min: 0.0,
    time: 0.0,
    approach_distance: 0.0,
    subsystem_radius: 0.0,
    speed_of_light: 0.0,
    on_collision: OnCollision::End,
};

/// Bodies in one group, each with a softening that no other one has.
fn softened(count: usize) -> Vec<Plain> {
    let mut plain = bodies(count);
    for (place, body) in plain.iter_mut().enumerate() {
        (body.group, body.softening) = (0, 0.05 + 0.3 * ((place * 7) % count) as f64 / count as f64);
    }
    plain
}

fn given(name: i64, plain: &Plain) -> (i64, Change) {
    let change = body(name, plain.mass, plain.at[0], plain.at[1]).1;
    (name, Change { softening: Some(plain.softening), ..change })
}

fn all_given(plain: &[Plain]) -> Vec<(i64, Change)> {
    (0..).zip(plain).map(|(name, plain)| given(name, plain)).collect()
}

/// A cluster of bodies with softenings of their own.
fn of_each(order: Order, dt_max: f64, plain: &[Plain]) -> Cluster {
    let mut cluster = cluster(order, Choices { dt_max, ..CHOICES });
    cluster.add(&all_given(plain)).unwrap();
    assert_eq!(cluster.groups().count(), 1);
    cluster
}

#[test]
fn bodies_with_softenings_of_their_own_move_as_by_double_loops() {
    let start = softened(20);
    let mut plain = start.clone();
    advance(&mut plain, FEELS_ALL, 1.0, 500);
    for (order, dt_max) in ALL {
        let mut cluster = of_each(order, dt_max, &start);
        for (place, plain) in start.iter().enumerate() {
            assert_eq!(cluster.groups().softening_of(cluster.groups().member(place)), plain.softening);
        }
        let before = cluster.energies().unwrap().total();
        evolve(&mut cluster, 0.3);
        evolve(&mut cluster, 1.0);
        let error = if order == Order::Second { 2e-5 } else { 2e-7 };
        assert_as_plain(&mut cluster, &plain, FEELS_ALL, error, &format!("{order:?}"));
        let drift = (cluster.energies().unwrap().total() / before - 1.0).abs();
        assert!(drift < 1e-5, "{order:?}: {drift:e}");
        // Blocks are of some bodies, and massless ones are no sources.
        let Counts { steps, block_steps, interactions, .. } = cluster.counts();
        assert_eq!(steps < 20 * block_steps, order != Order::Second, "{order:?}");
        assert!(interactions >= 16 * steps && interactions < 22 * (steps + 80), "{order:?}: {interactions} {steps}");
    }
}

#[test]
fn block_steps_are_as_good_as_one_step_of_all() {
    let start = softened(20);
    for order in [Order::Fourth, Order::Sixth, Order::Eighth] {
        let [blocks, one] = [0.0, 1.0 / 2048.0].map(|dt| {
            let mut cluster = cluster(order, Choices { dt_max: dt, dt_min: dt, ..CHOICES });
            cluster.add(&all_given(&start)).unwrap();
            evolve(&mut cluster, 0.5);
            assert_eq!(cluster.counts().steps == 20 * cluster.counts().block_steps, dt > 0.0);
            cluster
        });
        for (body, other) in blocks.bodies().iter().zip(one.bodies()) {
            let apart = length(&vector(|k| body.position[k] - other.position[k]));
            assert!(apart < 1e-7, "{order:?}: {apart:e}");
        }
    }
}

#[test]
fn softenings_that_hardly_differ_are_as_one_up_to_rounding() {
    for (order, dt_max) in ALL {
        let mut plain = softened(20);
        let dt_max = 10.0 * dt_max;
        (0..).zip(&mut plain).for_each(|(place, body)| body.softening = 0.1 * (1.0 + f64::EPSILON * f64::from(place)));
        let mut nearly = of_each(order, dt_max, &plain);
        let mut one = cluster(order, Choices { dt_max, ..CHOICES });
        let equal: Vec<Plain> = plain.iter().map(|body| Plain { softening: 0.1, ..*body }).collect();
        one.add(&all_given(&equal)).unwrap();
        // Equal softenings of their own are one to the last bit.
        let mut own = of_each(order, dt_max, &plain);
        let softening = |name: i64| (name, Change { softening: Some(0.1), ..Change::default() });
        let others = (0..20).map(|place| Plain { softening: 1.0 + f64::from(place), ..plain[0] });
        own.add(&(100..).zip(others).map(|(name, plain)| given(name, &plain)).collect::<Vec<_>>()).unwrap();
        own.change(&(0..20).map(softening).collect::<Vec<_>>()).unwrap();
        own.remove(&(100..120).collect::<Vec<_>>()).unwrap();
        for time in [0.2, 0.5] {
            for cluster in [&mut nearly, &mut one, &mut own] {
                evolve(cluster, time);
            }
        }
        assert_eq!(own.bodies(), one.bodies(), "{order:?}");
        assert_eq!(own.energies().unwrap(), one.energies().unwrap());
        for (body, other) in nearly.bodies().iter().zip(one.bodies()) {
            let apart = length(&vector(|k| body.position[k] - other.position[k]));
            assert!(apart < 1e-10, "{order:?}: {apart:e}");
        }
    }
}

#[test]
fn any_calls_give_the_forces_of_double_loops() {
    for (seed, (order, dt_max)) in ALL.into_iter().cycle().take(8).enumerate() {
        let mut random = crate::tests::random();
        (0..97 * seed).for_each(|_| assert!(random() < 1.0));
        let mut below = |limit: usize| (random() * limit as f64) as usize;
        let mut plain = softened(22);
        let mut names: Vec<i64> = (0..22).collect();
        let mut cluster = of_each(order, 10.0 * dt_max, &plain);
        let group = cluster.add_group(0.05).unwrap();
        let mut felt = true;
        for round in 0..20 {
            let place = below(plain.len());
            let named = names[place];
            match below(6) {
                0 => {
                    felt = !felt;
                    cluster.set_feels(group as i64, 0, felt).unwrap();
                }
                1 if plain.len() > 18 => {
                    cluster.remove(&[named]).unwrap();
                    plain.remove(place);
                    names.remove(place);
                }
                2 => {
                    // As many different ones as make groups no more.
                    let more = (0..MOST_GROUPS).map(|_| Plain { softening: 1e-3 * below(500) as f64, ..plain[place] });
                    let mut more: Vec<Plain> = more.collect();
                    for (number, body) in more.iter_mut().enumerate() {
                        (body.softening, body.mass) = (body.softening + 1e-6 * number as f64, body.mass / 32.0);
                        body.group = 0;
                        body.at[0][0] += 0.2 + 0.1 * number as f64;
                    }
                    if felt {
                        let added: Vec<_> =
                            (1000 * (round + 1)..).zip(&more).map(|(name, body)| given(name, body)).collect();
                        names.extend(added.iter().map(|(name, _)| *name));
                        cluster.add(&added).unwrap();
                        plain.extend(more);
                    } else {
                        let error = cluster.add(&[given(-1, &more[0]), given(-1, &more[0])]).unwrap_err().to_string();
                        assert!(error.contains("that no other body has"), "{error}");
                    }
                }
                3 => {
                    (plain[place].group, plain[place].softening) = (group, 0.05);
                    let change = Change { group: Some(group as i32), ..Change::default() };
                    cluster.change(&[(named, change)]).unwrap();
                }
                4 => {
                    plain[place].mass = 0.1 * below(3) as f64;
                    let change = Change { mass: Some(plain[place].mass), ..Change::default() };
                    cluster.change(&[(named, change)]).unwrap();
                }
                _ => cluster = resumed(&mut cluster, order, 10.0 * dt_max),
            }
            // The bodies' groups are those of the cluster, whose rule the tests of groups check.
            for (place, body) in plain.iter_mut().enumerate() {
                body.group = usize::from(cluster.groups().of(place) == group);
            }
            let time = cluster.time() + 1.0 / 64.0;
            evolve(&mut cluster, time);
            for (plain, body) in plain.iter_mut().zip(cluster.bodies()) {
                plain.at = [body.position, body.velocity];
            }
            let what = format!("{order:?} {seed} {round}");
            let feels: Table = &|own, other| felt || own == other || own == 0;
            assert_as_plain(&mut cluster, &plain, feels, 1e-9, &what);
        }
    }
}

/// Returns a cluster that goes on from the state of this one, after both have moved in one way.
fn resumed(cluster: &mut Cluster, order: Order, dt_max: f64) -> Cluster {
    let bytes = cluster.state().unwrap();
    assert_eq!(bytes.len(), cluster.state_size());
    let mut other = of_each(order, dt_max, &softened(20));
    other.set_state(&bytes).unwrap();
    assert_eq!(other.groups(), cluster.groups());
    let time = cluster.time() + 1.0 / 128.0;
    for cluster in [&mut *cluster, &mut other] {
        evolve(cluster, time);
    }
    assert_eq!(other.bodies(), cluster.bodies(), "{order:?}");
    other
}

#[test]
fn groups_are_made_as_long_as_there_is_room_for_all_of_a_call() {
    let with = |name: i64, softening: f64| given(name, &Plain { softening, ..softened(20)[name as usize % 20] });
    let mut cluster = cluster(Order::Fourth, CHOICES);
    cluster.add(&[with(0, 0.1), with(1, 0.2), with(2, 0.3)]).unwrap();
    cluster.add(&(3..19).map(|name| with(name, 0.1 * (name + 1) as f64)).collect::<Vec<_>>()).unwrap();
    cluster.add(&[with(19, 0.2), with(20, 9.0)]).unwrap();
    let groups = cluster.groups();
    let members: Vec<_> = (0..21).map(|place| groups.member(place)).collect();
    assert_eq!(groups.count(), 4);
    assert_eq!([0, 1, 2, 3, 19, 20].map(|place: usize| members[place].group), [0, 1, 2, 0, 1, 3]);
    let own: Vec<usize> = (0..21).filter(|place| members[*place].own_softening.is_some()).collect();
    assert_eq!(own, (3..19).collect::<Vec<_>>());
    // A group takes the place of a softening.
    cluster.change(&[(5, Change { group: Some(0), ..Change::default() })]).unwrap();
    assert_eq!(cluster.groups().softening_of(cluster.groups().member(5)), 0.1);
}

#[test]
fn softenings_that_are_wrong_are_refused_among_many() {
    let start = softened(20);
    let mut empty = cluster(Order::Fourth, CHOICES);
    for (wrong, said) in [
        (-0.5, "the softening of body 7 is '-0.5'; allowed: numbers from 0"),
        (f64::NAN, "the softening of body 7 is 'nan'; allowed: numbers from 0"),
        (f64::INFINITY, "the softening of body 7 is inf"),
    ] {
        let mut given = all_given(&start);
        given[7].1.softening = Some(wrong);
        let error = empty.add(&given).unwrap_err().to_string();
        assert!(error.to_lowercase().contains(said), "{error}");
        assert_eq!((empty.bodies().len(), empty.groups().count()), (0, 1));
    }
    // No group feels all and is felt by all.
    empty.set_feels(0, 0, false).unwrap();
    let error = empty.add(&all_given(&start)).unwrap_err().to_string();
    assert!(error.contains("the number of groups that feel all and that all feel is '0'; allowed: from 1"), "{error}");
    let own = of_each(Order::Sixth, 0.0, &start).state().unwrap();
    let mut close = cluster(Order::Sixth, Choices { softening: 0.0, subsystem_radius: 0.01, ..CHOICES });
    let error = close.add(&all_given(&start)).unwrap_err().to_string();
    assert!(error.contains("the number of groups is '17'; allowed: up to 16"), "{error}");
    let error = close.set_state(&own).unwrap_err().to_string();
    assert!(error.contains("the softenings of bodies in the state is 'of their own'"), "{error}");
}

#[test]
fn bodies_with_softenings_of_their_own_have_one_tree() {
    let start = softened(200);
    let moved = |tree: Option<TreeAccuracy>| {
        let mut system = System::new(&Setup::on_cpu(Order::Second, Precision::Double)).unwrap();
        system.set_tree(tree).unwrap();
        system.set_tree_crossover(Some(0));
        let mut cluster = Cluster::new(system, Choices { dt_max: 1e-3, ..CHOICES }).unwrap();
        cluster.add(&all_given(&start)).unwrap();
        assert_eq!(cluster.groups().count(), 1);
        evolve(&mut cluster, 0.125);
        cluster
    };
    let (tree, direct) = (moved(Some(TreeAccuracy::Error(1e-4))), moved(None));
    assert_ne!(tree.bodies(), direct.bodies(), "no tree was used");
    for (one, other) in tree.bodies().iter().zip(direct.bodies()) {
        let apart = length(&vector(|k| one.position[k] - other.position[k]));
        assert!(apart < 1e-4, "{apart:e}");
    }
}

#[test]
fn two_bodies_in_one_place_are_named_if_they_are_not_softened() {
    let mut plain = softened(20);
    for place in [4, 11] {
        (plain[place].at[0], plain[place].softening, plain[place].mass) = ([0.3; 3], 0.0, 0.05);
    }
    let mut one = cluster(Order::Fourth, CHOICES);
    one.add(&all_given(&plain)).unwrap();
    let error = one.evolve(0.1, None, &mut |_, _| true).unwrap_err();
    assert!(matches!(error, Error::SamePlace { bodies: [4, 11] } | Error::SamePlace { bodies: [11, 4] }), "{error}");
    one.change(&[(4, Change { softening: Some(0.07), ..Change::default() })]).unwrap();
    evolve(&mut one, 0.1);
}

#[test]
fn numbers_of_two_doubles_and_less_precise_ones_have_the_forces_of_doubles() {
    let start = softened(20);
    let moved = |precision: Precision| {
        let setup = Setup::on_cpu(Order::Fourth, precision);
        let mut cluster = Cluster::new(System::new(&setup).unwrap(), CHOICES).unwrap();
        cluster.add(&all_given(&start)).unwrap();
        evolve(&mut cluster, 0.125);
        cluster
    };
    let expected = moved(Precision::Double);
    assert_eq!(moved(Precision::Mixed).bodies(), expected.bodies());
    let quad = moved(Precision::Quad);
    assert_ne!(quad.bodies(), expected.bodies());
    for (body, other) in quad.bodies().iter().zip(expected.bodies()) {
        let apart = length(&vector(|k| body.position[k] - other.position[k]));
        assert!(apart < 1e-13, "{apart:e}");
    }
}
