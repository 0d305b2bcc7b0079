//! Tests of groups of bodies, against plain double loops.

use crate::body::{Vector, length, vector};
use crate::groups::MOST_GROUPS;
use kyoho_core::{Order, TreeAccuracy};

use super::tests::{ALL, body, cluster, evolve};
use super::*;

/// A body of the double loops: its mass, its softening, and its group.
#[derive(Debug, Clone, Copy)]
pub struct Plain {
    pub mass: f64,
    pub softening: f64,
    pub group: usize,
    pub at: [Vector; 2],
}

/// Which group feels which, in the double loops.
pub type Table<'a> = &'a dyn Fn(usize, usize) -> bool;

/// Returns the acceleration of each body and its potential.
pub fn forces(bodies: &[Plain], feels: Table) -> Vec<(f64, Vector)> {
    let of = |one: usize| {
        let mut sums = (0.0, [0.0; 3]);
        for (other, source) in bodies.iter().enumerate() {
            if other != one && feels(bodies[one].group, source.group) {
                let apart = vector(|k| source.at[0][k] - bodies[one].at[0][k]);
                let softening2 = (bodies[one].softening.powi(2) + source.softening.powi(2)) / 2.0;
                let distance = (length(&apart).powi(2) + softening2).sqrt();
                sums.0 -= source.mass / distance;
                sums.1 = vector(|k| sums.1[k] + source.mass * apart[k] / distance.powi(3));
            }
        }
        sums
    };
    (0..bodies.len()).map(of).collect()
}

/// Advances bodies by steps of Runge and Kutta.
pub fn advance(bodies: &mut [Plain], feels: Table, time: f64, steps: usize) {
    let step = time / steps as f64;
    for _ in 0..steps {
        let start: Vec<[Vector; 2]> = bodies.iter().map(|body| body.at).collect();
        let mut sums = start.clone();
        for (part, next) in [(6.0, 0.5), (3.0, 0.5), (3.0, 1.0), (6.0, 0.0)] {
            let slopes: Vec<[Vector; 2]> =
                bodies.iter().zip(forces(bodies, feels)).map(|(body, force)| [body.at[1], force.1]).collect();
            for (place, slope) in slopes.iter().enumerate() {
                for half in 0..2 {
                    sums[place][half] = vector(|k| sums[place][half][k] + step / part * slope[half][k]);
                    bodies[place].at[half] = vector(|k| start[place][half][k] + next * step * slope[half][k]);
                }
            }
        }
        bodies.iter_mut().zip(sums).for_each(|(body, sum)| body.at = sum);
    }
}

/// Returns kinetic and potential energy: pairs of which one feels the other count once.
fn energy(bodies: &[Plain], feels: Table) -> [f64; 2] {
    let mut sums = [0.0; 2];
    for (one, body) in bodies.iter().enumerate() {
        sums[0] += body.mass * length(&body.at[1]).powi(2) / 2.0;
        for other in &bodies[..one] {
            if feels(body.group, other.group) || feels(other.group, body.group) {
                let softening2 = (body.softening.powi(2) + other.softening.powi(2)) / 2.0;
                let apart = length(&vector(|k| body.at[0][k] - other.at[0][k]));
                sums[1] -= body.mass * other.mass / (apart.powi(2) + softening2).sqrt();
            }
        }
    }
    sums
}

const SOFTENINGS: [f64; 3] = [0.1, 0.3, 0.05];

/// Bodies of random places in three groups; some have no mass.
pub fn bodies(count: usize) -> Vec<Plain> {
    let mut random = crate::tests::random();
    let mut vector = |size: f64| -> Vector { std::array::from_fn(|_| size * (random() - 0.5)) };
    let body = |number: usize| {
        let group = number % 3;
        let mass = if number % 5 == 4 { 0.0 } else { 1.0 / count as f64 };
        Plain { mass, softening: SOFTENINGS[group], group, at: [vector(2.0), vector(1.0)] }
    };
    (0..count).map(body).collect()
}

/// A cluster of three groups with these bodies, which have their places as identifiers.
fn grouped(order: Order, dt_max: f64, bodies: &[Plain], feels: Table) -> Cluster {
    let mut cluster = cluster(order, Choices { dt_max, eta: 0.01, softening: SOFTENINGS[0], ..Choices::default() });
    assert_eq!([1, 2].map(|group| cluster.add_group(SOFTENINGS[group]).unwrap()), [1, 2]);
    for group in 0..3 {
        (0..3).for_each(|other| cluster.set_feels(group, other, feels(group as usize, other as usize)).unwrap());
    }
    cluster.add(&bodies.iter().enumerate().map(given).collect::<Vec<_>>()).unwrap();
    cluster
}

fn given((number, plain): (usize, &Plain)) -> (i64, Change) {
    let (identifier, change) = body(number as i64, plain.mass, plain.at[0], plain.at[1]);
    (identifier, Change { group: Some(plain.group as i32), ..change })
}

/// Asserts that forces, energies and places are those of double loops.
pub fn assert_as_plain(cluster: &mut Cluster, plain: &[Plain], feels: Table, error: f64, what: &str) {
    for (place, (body, plain)) in cluster.bodies().iter().zip(plain).enumerate() {
        let apart = length(&vector(|k| body.position[k] - plain.at[0][k]));
        assert!(apart < error, "{what}: body {place} is {apart:e} away");
    }
    let now: Vec<Plain> = plain
        .iter()
        .zip(cluster.bodies())
        .map(|(plain, body)| Plain { at: [body.position, body.velocity], ..*plain })
        .collect();
    let places: Vec<usize> = (0..plain.len()).collect();
    let found = cluster.forces(&places).unwrap();
    for (place, (found, expected)) in found.iter().zip(forces(&now, feels)).enumerate() {
        let difference = length(&vector(|k| found.1[k] - expected.1[k])) + (found.0 - expected.0).abs();
        assert!(difference < 1e-12, "{what}: the forces on body {place} are {difference:e} off");
    }
    let Energy { kinetic, potential, .. } = cluster.energies().unwrap();
    let expected = energy(&now, feels);
    let difference = (kinetic - expected[0]).abs() + (potential - expected[1]).abs();
    assert!(difference < 1e-13, "{what}: energies are {difference:e} off");
}

#[test]
fn bodies_of_groups_move_as_by_double_loops() {
    let tables: [(&str, Table); 3] = [
        ("all", &|_, _| true),
        ("one-sided", &|own, other| other <= own),
        ("apart", &|own, other| own == other && own != 2),
    ];
    for (name, feels) in tables {
        let mut plain = bodies(20);
        let start = plain.clone();
        advance(&mut plain, feels, 1.0, 500);
        for (order, dt_max) in ALL {
            let what = format!("{order:?}, {name}");
            let mut cluster = grouped(order, dt_max, &start, feels);
            let before = cluster.energies().unwrap().total();
            evolve(&mut cluster, 0.3);
            evolve(&mut cluster, 1.0);
            let error = if order == Order::Second { 2e-5 } else { 2e-7 };
            assert_as_plain(&mut cluster, &plain, feels, error, &what);
            let drift = (cluster.energies().unwrap().total() / before - 1.0).abs();
            assert!(name == "one-sided" || drift < 1e-5, "{what}: {drift:e}");
        }
    }
}

#[test]
fn a_group_that_does_not_feel_another_one_moves_as_if_that_were_not_there() {
    let all = bodies(30);
    let alone: Vec<Plain> = all.iter().filter(|body| body.group != 1).copied().collect();
    let feels: Table = &|own, other| own == 1 || other != 1;
    for (order, dt_max) in ALL {
        let mut clusters = [&all, &alone].map(|bodies| grouped(order, 10.0 * dt_max, bodies, feels));
        for time in [0.2, 0.7] {
            for cluster in &mut clusters {
                evolve(cluster, time);
            }
            let of = |cluster: &Cluster| -> Vec<Body> {
                let bodies = cluster.bodies().iter().enumerate();
                bodies.filter(|(place, _)| cluster.groups().of(*place) != 1).map(|(_, body)| *body).collect()
            };
            assert_eq!(of(&clusters[0]), of(&clusters[1]), "{order:?} at {time}");
        }
    }
}

#[test]
fn a_group_that_feels_itself_alone_is_as_a_cluster_of_its_own() {
    let mut all = bodies(30);
    all.iter_mut().for_each(|body| body.mass = 1.0 / 30.0);
    let own: Vec<Plain> = all.iter().filter(|body| body.group == 0).copied().collect();
    for (order, dt_max) in ALL {
        let mut both = grouped(order, 10.0 * dt_max, &all, &|own, other| own != 0 || other == 0);
        let choices = Choices { dt_max: 10.0 * dt_max, eta: 0.01, softening: SOFTENINGS[0], ..Choices::default() };
        let mut alone = cluster(order, choices);
        alone.add(&own.iter().enumerate().map(given).collect::<Vec<_>>()).unwrap();
        for time in [0.2, 0.7] {
            for cluster in [&mut both, &mut alone] {
                evolve(cluster, time);
            }
            let of_group = both.bodies().iter().step_by(3).copied().collect::<Vec<Body>>();
            assert_eq!(of_group, alone.bodies(), "{order:?} at {time}");
        }
    }
}

#[test]
fn groups_without_a_difference_are_one_to_the_last_bit() {
    for (order, dt_max) in ALL {
        let plain = bodies(20);
        let (softening, dt_max) = (0.1, 10.0 * dt_max);
        let mut clusters = [softening, softening, 0.0, 0.1 + 1e-17]
            .map(|softening| cluster(order, Choices { dt_max, eta: 0.01, softening, ..Choices::default() }));
        let second = clusters[1].add_group(softening).unwrap() as i32;
        let with = |make: &dyn Fn(usize, Change) -> Change| -> Vec<(i64, Change)> {
            let plain = plain.iter().enumerate();
            plain.map(|(number, body)| (number as i64, make(number, given((0, body)).1))).collect()
        };
        let in_one = |change: Change| Change { group: None, ..change };
        clusters[0].add(&with(&|_, change| in_one(change))).unwrap();
        clusters[1].add(&with(&|place, change| Change { group: Some(second * (place as i32 % 2)), ..change })).unwrap();
        clusters[2].add(&with(&|_, change| Change { softening: Some(softening), ..in_one(change) })).unwrap();
        assert_eq!(clusters[2].groups().count(), 2);
        // And nearly so where sums are made for each group.
        let [apart, other] = [0.1 * (1.0 + 1e-15), 0.2].map(|softening| clusters[3].add_group(softening).unwrap());
        clusters[3].set_feels(other as i64, 0, false).unwrap();
        let group = |place: usize| Some(apart as i32 * (place as i32 % 2));
        clusters[3].add(&with(&|place, change| Change { group: group(place), ..change })).unwrap();
        for time in [0.2, 0.5] {
            for cluster in &mut clusters {
                evolve(cluster, time);
            }
            let [one, same, moved, rounded] = &mut clusters;
            assert_eq!(one.bodies(), same.bodies(), "{order:?}");
            assert_eq!(one.bodies(), moved.bodies(), "{order:?}");
            assert_eq!(one.energies().unwrap(), moved.energies().unwrap());
            assert_ne!(one.bodies(), rounded.bodies(), "{order:?}");
            for (body, other) in one.bodies().iter().zip(rounded.bodies()) {
                let apart = length(&vector(|k| body.position[k] - other.position[k]));
                assert!(apart < 1e-10, "{order:?}: {apart:e}");
            }
        }
    }
}

#[test]
fn any_calls_give_the_forces_of_double_loops() {
    for (seed, (order, dt_max)) in ALL.into_iter().cycle().take(12).enumerate() {
        let mut random = crate::tests::random();
        for _ in 0..97 * seed {
            random();
        }
        let mut below = |limit: usize| (random() * limit as f64) as usize;
        let mut plain = bodies(12);
        let mut identifiers: Vec<i64> = (0..12).collect();
        let mut table = [[true; MOST_GROUPS]; MOST_GROUPS];
        let mut cluster = grouped(order, 10.0 * dt_max, &plain, &|_, _| true);
        let mut softenings = SOFTENINGS.to_vec();
        for round in 0..24 {
            let place = below(plain.len());
            let named = identifiers[place];
            match below(7) {
                0 if softenings.len() < 6 => {
                    softenings.push(0.01 * (1 + below(40)) as f64);
                    let group = cluster.add_group(softenings[softenings.len() - 1]).unwrap();
                    assert_eq!(group, softenings.len() - 1);
                }
                1 => {
                    let [own, other] = [below(softenings.len()), below(softenings.len())];
                    table[own][other] = below(2) == 0;
                    cluster.set_feels(own as i64, other as i64, table[own][other]).unwrap();
                }
                2 if plain.len() > 4 => {
                    cluster.remove(&[named]).unwrap();
                    plain.remove(place);
                    identifiers.remove(place);
                }
                3 => {
                    let group = below(softenings.len());
                    let added = Plain { group, softening: softenings[group], ..bodies(100)[below(100)] };
                    let name = 100 + round as i64;
                    cluster.add(&[(name, given((0, &added)).1)]).unwrap();
                    plain.push(added);
                    identifiers.push(name);
                }
                4 => {
                    let group = below(softenings.len());
                    (plain[place].group, plain[place].softening) = (group, softenings[group]);
                    let change = Change { group: Some(group as i32), ..Change::default() };
                    cluster.change(&[(named, change)]).unwrap();
                }
                5 => {
                    plain[place].mass = 0.1 * below(3) as f64;
                    let change = Change { mass: Some(plain[place].mass), ..Change::default() };
                    cluster.change(&[(named, change)]).unwrap();
                }
                _ => {
                    let bytes = cluster.state().unwrap();
                    assert_eq!(bytes.len(), cluster.state_size());
                    let mut other = grouped(order, 10.0 * dt_max, &[], &|_, _| false);
                    other.set_state(&bytes).unwrap();
                    assert_eq!(other.groups(), cluster.groups());
                    let time = cluster.time() + 1.0 / 128.0;
                    for cluster in [&mut cluster, &mut other] {
                        evolve(cluster, time);
                    }
                    assert_eq!(other.bodies(), cluster.bodies(), "{order:?} {seed}");
                    cluster = other;
                }
            }
            let time = cluster.time() + 1.0 / 64.0;
            evolve(&mut cluster, time);
            for (plain, body) in plain.iter_mut().zip(cluster.bodies()) {
                plain.at = [body.position, body.velocity];
            }
            let what = format!("{order:?} {seed} {round}");
            assert_as_plain(&mut cluster, &plain, &|own, other| table[own][other], 1e-9, &what);
            // The accelerations by which the next step begins.
            let feels: Table = &|own, other| table[own][other];
            for (place, (body, (_, expected))) in cluster.bodies().iter().zip(forces(&plain, feels)).enumerate() {
                let difference = length(&vector(|k| body.derivatives[0][k] - expected[k]));
                assert!(difference < 1e-4, "{what}: body {place}: {difference:e}");
            }
        }
    }
}

#[test]
fn a_softening_of_a_body_makes_a_group_and_finds_it_again() {
    let mut cluster = cluster(Order::Fourth, Choices { softening: 0.5, ..Choices::default() });
    let with = |name: i64, softening: f64| {
        let (identifier, change) = body(name, 1.0, [name as f64, 0.0, 0.0], [0.0; 3]);
        (identifier, Change { softening: Some(softening), ..change })
    };
    cluster.add(&[with(0, 0.5), with(1, 0.25), with(2, 0.125), with(3, 0.25)]).unwrap();
    let groups = |cluster: &Cluster| -> Vec<usize> {
        (0..cluster.bodies().len()).map(|place| cluster.groups().of(place)).collect()
    };
    assert_eq!(groups(&cluster), [0, 1, 2, 1]);
    cluster.change(&[(3, Change { softening: Some(0.125), ..Change::default() })]).unwrap();
    assert_eq!(groups(&cluster), [0, 1, 2, 2]);
    // Bodies with wrong ones change nothing.
    let both = Change { group: Some(1), ..with(9, 0.25).1 };
    for (wrong, told) in [
        (vec![with(9, -1.0)], "the softening of body 9 is '-1'"),
        (vec![with(9, f64::INFINITY)], "the softening of body 9"),
        (vec![(9, both)], "the softening of body 9 is 'given beside a group'"),
        (vec![(9, Change { softening: None, group: Some(3), ..both })], "the group of body 9 is '3'; allowed: 0 to 2"),
    ] {
        let error = cluster.add(&wrong).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
        assert_eq!((cluster.groups().count(), cluster.bodies().len()), (3, 4));
    }
    assert!(cluster.set_feels(3, 0, true).is_err() && cluster.set_feels(0, -1, true).is_err());
}

#[test]
fn subsystems_know_no_groups() {
    let choices = Choices { subsystem_radius: 0.01, ..Choices::default() };
    let mut cluster = cluster(Order::Sixth, choices);
    for error in [
        cluster.add_group(0.0).unwrap_err(),
        cluster.set_feels(0, 0, false).unwrap_err(),
        cluster.add(&[(0, Change { softening: Some(0.1), ..body(0, 1.0, [0.0; 3], [0.0; 3]).1 })]).unwrap_err(),
    ] {
        assert!(error.to_string().contains("the number of groups with subsystems"), "{error}");
    }
    cluster.add(&[(0, Change { softening: Some(0.0), ..body(0, 1.0, [0.0; 3], [0.0; 3]).1 })]).unwrap();
    assert!(evolve(&mut cluster, 1.0).block_steps > 0 && cluster.groups().count() == 1);
}

#[test]
fn each_group_has_a_tree() {
    let plain = bodies(3000);
    let setup = Setup::on_cpu(Order::Second, kyoho_core::Precision::Double);
    let choices = Choices { dt_max: 0.01, softening: SOFTENINGS[0], ..Choices::default() };
    let feels: Table = &|own, other| own != 2 || other == 2;
    let moved = |tree: Option<TreeAccuracy>| {
        let mut system = System::new(&setup).unwrap();
        system.set_tree(tree).unwrap();
        system.set_tree_crossover(Some(0));
        let mut cluster = Cluster::new(system, choices).unwrap();
        SOFTENINGS[1..].iter().for_each(|softening| assert!(cluster.add_group(*softening).is_ok()));
        for group in 0..3 {
            (0..3).for_each(|other| cluster.set_feels(group, other, feels(group as usize, other as usize)).unwrap());
        }
        cluster.add(&plain.iter().enumerate().map(given).collect::<Vec<_>>()).unwrap();
        evolve(&mut cluster, 0.05);
        cluster
    };
    let (tree, direct) = (moved(Some(TreeAccuracy::Theta(0.3))), moved(None));
    assert_ne!(tree.bodies(), direct.bodies(), "no tree was used");
    for (one, other) in tree.bodies().iter().zip(direct.bodies()) {
        let apart = length(&vector(|k| one.velocity[k] - other.velocity[k]));
        assert!(apart < 1e-4, "{apart:e}");
    }
}

#[test]
fn approaches_are_of_bodies_of_which_one_feels_the_other() {
    for (order, dt_max) in ALL {
        for (table, expected) in [([true, true], true), ([true, false], true), ([false, false], false)] {
            let choices = Choices { dt_max, approach_distance: 0.1, ..Choices::default() };
            let mut cluster = cluster(order, choices);
            cluster.add_group(0.2).unwrap();
            cluster.set_feels(1, 0, table[0]).unwrap();
            cluster.set_feels(0, 1, table[1]).unwrap();
            let of = |name: i64, group: i32| {
                let side = name as f64 - 0.5;
                let change = body(name, 1e-6, [side, 0.05, 0.0], [-side, 0.0, 0.0]).1;
                (name, Change { group: Some(group), ..change })
            };
            cluster.add(&[of(0, 0), of(1, 1)]).unwrap();
            let end = evolve(&mut cluster, 2.0).end;
            assert_eq!(end == EvolutionEnd::Encounter, expected, "{order:?} {table:?}");
        }
    }
}
