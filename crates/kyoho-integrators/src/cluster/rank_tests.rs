//! Clusters over ranks, which are threads here, against clusters of one process.

use kyoho_core::{Order, Precision, Result, ResultCode};
use kyoho_engine::{Setup, System};
use kyoho_ranks::threads::{self, Manners, ThreadRank};

use super::*;
use crate::body::Vector;
use crate::plan::StepCriterion;
use crate::tests::random;

const SOFTENED: Choices = Choices {
    softening: 0.01,
    gravity: 0.0,
    criterion: StepCriterion::Usual,
    eta: 0.0,
    dt_max: 1.0 / 64.0,
    dt_min: 0.0,
    time: 0.0,
    approach_distance: 0.0,
    subsystem_radius: 0.0,
    speed_of_light: 0.0,
    on_collision: OnCollision::End,
};

fn system(order: Order, precision: Precision) -> System {
    System::new(&Setup { threads: 1, ..Setup::on_cpu(order, precision) }).unwrap()
}

/// Adds bodies whose numbers look random, as many as several chunks of addresses have. Some have no mass.
fn with_bodies(mut cluster: Cluster, count: i64) -> Cluster {
    let mut number = random();
    let mut body = |identifier: i64| {
        let mut vector = || Some(std::array::from_fn(|_| number() - 0.5));
        let mass = if identifier % 10 == 3 { 0.0 } else { 1.0 / count as f64 };
        let (position, velocity) = (vector(), vector().map(|velocity| velocity.map(|x| 0.3 * x)));
        (identifier, Change { mass: Some(mass), position, velocity, ..Change::default() })
    };
    let bodies: Vec<_> = (0..count).map(&mut body).collect();
    cluster.add(&bodies).unwrap();
    cluster
}

/// Runs the same work on all ranks, and returns what each finds.
fn on_ranks<T: Send>(size: usize, manners: Manners, work: impl Fn(ThreadRank) -> T + Sync) -> Vec<T> {
    threads::on_ranks(size, manners, |_, rank| work(rank))
}

fn over(communicator: ThreadRank, order: Order, precision: Precision, choices: Choices) -> Cluster {
    Cluster::over(Box::new(communicator), Ok((system(order, precision), choices))).unwrap()
}

/// What an integration finds: the state, the counts, and what is asked of the bodies at its end.
#[derive(Debug, PartialEq)]
struct Found {
    state: Vec<u8>,
    counts: Counts,
    evolution: Evolution,
    energy: Energy,
    forces: Vec<(f64, Vector)>,
    nearest: Vec<Option<(usize, f64)>>,
}

fn evolved(mut cluster: Cluster, to: f64) -> Found {
    cluster.evolve(0.5 * to, None, &mut |_, _| true).unwrap();
    // Fewer bodies than before have other addresses.
    cluster.remove(&[5, 17]).unwrap();
    let evolution = cluster.evolve_if(to, None, None).unwrap();
    let (state, counts, energy) = (cluster.state().unwrap(), cluster.counts(), cluster.energies().unwrap());
    let places = [0, 300, 40];
    let (forces, nearest) = (cluster.forces(&places).unwrap(), cluster.nearest(&places).unwrap());
    Found { state, counts, evolution, energy, forces, nearest }
}

/// Chunks of addresses have 256, so that two ranks have two or three of them, and four have one or none.
const COUNT: i64 = 700;

#[test]
fn two_four_and_eight_ranks_give_the_bits_of_one_process() {
    let kinds = [
        (Order::Second, Precision::Double),
        (Order::Fourth, Precision::Mixed),
        (Order::Sixth, Precision::Double),
        (Order::Eighth, Precision::Double),
    ];
    for (order, precision) in kinds {
        let to = 1.0 / 64.0;
        let choices = if order == Order::Second { Choices { dt_max: to / 4.0, ..SOFTENED } } else { SOFTENED };
        let expected = evolved(with_bodies(Cluster::new(system(order, precision), choices).unwrap(), COUNT), to);
        for size in [1, 2, 4, 8] {
            let late = Manners { is_late: size == 2, ..Manners::default() };
            let found =
                on_ranks(size, late, |rank| evolved(with_bodies(over(rank, order, precision, choices), COUNT), to));
            for found in found {
                assert!(found == expected, "order {order:?} on {size} ranks");
            }
        }
    }
}

#[test]
fn groups_of_bodies_have_the_bits_of_one_process() {
    for order in [Order::Second, Order::Fourth] {
        let to = 1.0 / 64.0;
        let choices = if order == Order::Second { Choices { dt_max: to / 4.0, ..SOFTENED } } else { SOFTENED };
        let in_groups = |cluster| {
            let mut cluster = with_bodies(cluster, COUNT);
            let group = cluster.add_group(0.05).unwrap();
            let change = |identifier| (identifier, Change { group: Some(group as i32), ..Change::default() });
            cluster.change(&(0..COUNT).step_by(3).map(change).collect::<Vec<_>>()).unwrap();
            cluster.set_feels(0, group as i64, false).unwrap();
            cluster
        };
        let expected = evolved(in_groups(Cluster::new(system(order, Precision::Double), choices).unwrap()), to);
        let each = |cluster| {
            let mut cluster = with_bodies(cluster, COUNT);
            let softening = |identifier: i64| Some(0.01 + identifier as f64 / 4096.0);
            let change = |identifier| (identifier, Change { softening: softening(identifier), ..Change::default() });
            cluster.change(&(0..COUNT).map(change).collect::<Vec<_>>()).unwrap();
            cluster
        };
        let of_each = evolved(each(Cluster::new(system(order, Precision::Double), choices).unwrap()), to);
        let run = |rank| evolved(each(over(rank, order, Precision::Double, choices)), to);
        for found in on_ranks(2, Manners::default(), run) {
            assert!(found == of_each, "order {order:?} with softenings of bodies");
        }
        for size in [1, 2] {
            let run = |rank| evolved(in_groups(over(rank, order, Precision::Double, choices)), to);
            for found in on_ranks(size, Manners::default(), run) {
                assert!(found == expected, "order {order:?} on {size} ranks");
            }
        }
    }
}

#[test]
fn any_number_of_ranks_is_as_accurate_as_one_process_and_all_have_the_same_bits() {
    for (order, size) in [(Order::Second, 3), (Order::Fourth, 7), (Order::Sixth, 3)] {
        let to = 1.0 / 64.0;
        let choices = if order == Order::Second { Choices { dt_max: to / 4.0, ..SOFTENED } } else { SOFTENED };
        let run = |cluster| {
            let mut cluster = with_bodies(cluster, COUNT);
            cluster.evolve_if(to, None, None).unwrap();
            (cluster.bodies().to_vec(), cluster.energies().unwrap())
        };
        let (expected, energy) = run(Cluster::new(system(order, Precision::Double), choices).unwrap());
        let short = Manners { most_bytes: 5000, ..Manners::default() };
        let all = on_ranks(size, short, |rank| run(over(rank, order, Precision::Double, choices)));
        assert!(all.iter().all(|found| *found == all[0]));
        for (body, expected) in all[0].0.iter().zip(&expected) {
            for k in 0..3 {
                assert!((body.position[k] - expected.position[k]).abs() < 1e-13);
                assert!((body.velocity[k] - expected.velocity[k]).abs() < 1e-12);
            }
        }
        assert!((all[0].1.total() - energy.total()).abs() < 1e-13);
    }
}

/// Returns a body that moves towards another one.
fn falling(cluster: &mut Cluster) {
    let body = |identifier: i64, x: f64| {
        let velocity = Some([-0.5 * x, 0.0, 0.0]);
        (
            identifier,
            Change {
                mass: Some(1.0),
                position: Some([x, 1e-3, 0.0]),
                velocity,
                radius: Some(0.05),
                ..Change::default()
            },
        )
    };
    cluster.add(&[body(8, 1.0), body(9, -1.0)]).unwrap();
}

#[test]
fn encounters_and_subsystems_are_those_of_one_process() {
    let at_once = Choices { approach_distance: 0.3, dt_max: 1.0 / 32.0, softening: 0.0, ..SOFTENED };
    let inside = Choices { subsystem_radius: 0.2, ..Choices { approach_distance: 0.0, ..at_once } };
    for (order, choices) in [(Order::Second, at_once), (Order::Fourth, at_once), (Order::Fourth, inside)] {
        let run = |mut cluster: Cluster| {
            falling(&mut cluster);
            let evolution = cluster.evolve_if(2.0, None, None).unwrap();
            (evolution, cluster.encounters().to_vec(), cluster.state().unwrap())
        };
        let expected = run(Cluster::new(system(order, Precision::Double), choices).unwrap());
        assert_eq!((expected.0.end, expected.1.len()), (EvolutionEnd::Encounter, 1));
        for found in on_ranks(2, Manners::default(), |rank| run(over(rank, order, Precision::Double, choices))) {
            assert!(found == expected, "{order:?}");
        }
    }
}

#[test]
fn all_ranks_end_at_the_step_after_which_one_refuses() {
    let ends = on_ranks(3, Manners::default(), |rank| {
        let refuses = ranked(&rank) == 1;
        let mut cluster = with_bodies(over(rank, Order::Fourth, Precision::Double, SOFTENED), COUNT);
        let mut go_on = |_: f64, made: u64| !refuses || made < 5;
        // The others have no function that could refuse.
        let given: Option<&mut dyn FnMut(f64, u64) -> bool> = if refuses { Some(&mut go_on) } else { None };
        let evolution = cluster.evolve_if(1.0, None, given).unwrap();
        (evolution, cluster.time(), cluster.state().unwrap())
    });
    assert_eq!((ends[0].0.end, ends[0].0.block_steps), (EvolutionEnd::Caller, 5 + 1));
    assert!(ends.iter().all(|end| *end == ends[0]));
}

fn ranked(rank: &ThreadRank) -> usize {
    kyoho_ranks::Communicator::rank(rank)
}

#[test]
fn ranks_have_the_same_laws_and_the_bits_of_one_process() {
    const PULL: &str = "pair pull\ni pos: vec3<f64>\nj pos: vec3<f64>, mass: f64\nparam strength: f64
result potential: f64 sum\nbody\n  potential += strength * j.mass * norm2(j.pos - i.pos)\n";
    let with_law = |mut cluster: Cluster, strength: f64| {
        cluster.add_law(PULL, "strength", &[strength], [0, 0]).unwrap();
        cluster
    };
    let end = |mut cluster: Cluster| {
        cluster.evolve_if(1.0 / 128.0, None, None).unwrap();
        (cluster.state().unwrap(), cluster.energies().unwrap(), cluster.forces(&[0, 40]).unwrap())
    };
    let one = Cluster::new(system(Order::Fourth, Precision::Double), SOFTENED).unwrap();
    let expected = end(with_law(with_bodies(one, COUNT), 0.5));
    let on_rank = |rank| with_bodies(over(rank, Order::Fourth, Precision::Double, SOFTENED), COUNT);
    let found = on_ranks(3, Manners::default(), |rank| end(with_law(on_rank(rank), 0.5)));
    assert!(found.iter().all(|found| *found == expected));
    let errors = on_ranks(3, Manners::default(), |rank| {
        let strength = if ranked(&rank) == 1 { 0.25 } else { 0.5 };
        let evolution = with_law(on_rank(rank), strength).evolve_if(0.1, None, None);
        evolution.unwrap_err().to_string()
    });
    assert!(errors.iter().all(|error| error.contains("the mark of the bodies is")), "{errors:?}");
}

#[test]
fn an_error_on_one_rank_ends_the_call_on_all_with_its_text() {
    let found = on_ranks(3, Manners::default(), |rank| {
        let number = ranked(&rank);
        let mut cluster = with_bodies(over(rank, Order::Fourth, Precision::Double, SOFTENED), COUNT);
        let mut errors = Vec::new();
        let mut note = |outcome: Result<()>| {
            let error = outcome.unwrap_err();
            errors.push((error.code(), error.to_string()));
        };
        // Other bodies, another time, no number, and what the caller could not read.
        let moved = [(3, Change { position: Some([9.0; 3]), ..Change::default() })];
        let mut other = with_bodies(Cluster::new(system(Order::Fourth, Precision::Double), SOFTENED).unwrap(), COUNT);
        other.change(&moved).unwrap();
        let before = cluster.state().unwrap();
        if number == 2 {
            cluster.change(&moved).unwrap();
        }
        note(cluster.evolve_if(0.1, None, None).map(drop));
        cluster.set_state(&before).unwrap();
        note(cluster.evolve_if(if number == 1 { 0.2 } else { 0.1 }, None, None).map(drop));
        if number == 1 {
            note(Err(cluster.refuse(Error::NullArgument { argument: "bodies" })));
        } else {
            note(cluster.energies().map(drop));
        }
        // An error of all ranks is that of one process.
        note(cluster.evolve_if(-1.0, None, None).map(drop));
        // The next call works.
        cluster.evolve_if(1.0 / 128.0, None, None).unwrap();
        (errors, cluster.state().unwrap())
    });
    assert!(found.iter().all(|rank| *rank == found[0]));
    let texts: Vec<&str> = found[0].0.iter().map(|(_, text)| text.as_str()).collect();
    assert!(texts[0].starts_with("rank 2: the mark of the bodies is"), "{}", texts[0]);
    assert!(texts[1].starts_with("rank 1: the mark of the arguments is"), "{}", texts[1]);
    assert_eq!(texts[2], "rank 1: bodies is null");
    assert_eq!(texts[3], "the time to evolve to is '-1'; allowed: from 0 on, the time of the bodies");
    assert_eq!(found[0].0[2].0, ResultCode::NullArgument);
}

#[test]
fn a_rank_that_fails_in_a_step_ends_it_on_all() {
    // The function of a field fails in a call on one rank, of first forces or later; the caller may be asked
    // whether to go on.
    for (asks, failing) in [(false, 20), (true, 20), (false, 1), (false, 2)] {
        let found = on_ranks(2, Manners::default(), |rank| {
            let fails = ranked(&rank) == 1;
            let mut cluster = with_bodies(over(rank, Order::Fourth, Precision::Double, SOFTENED), COUNT);
            let mut calls = 0;
            let field = move |_: &crate::fields::FieldQuestion, values: &mut [f64]| {
                calls += 1;
                values.fill(0.0);
                i32::from(fails && calls == failing)
            };
            cluster.add_field_function(Box::new(field), false).unwrap();
            let before = (cluster.time(), cluster.bodies()[5].position);
            let mut go_on = |_: f64, _: u64| true;
            let given: Option<&mut dyn FnMut(f64, u64) -> bool> = if asks { Some(&mut go_on) } else { None };
            let error = cluster.evolve_if(1.0, None, given).unwrap_err();
            assert_eq!((cluster.time(), cluster.bodies()[5].position), before, "{asks} {failing}");
            // The next call works.
            cluster.evolve_if(1.0 / 128.0, None, None).unwrap();
            (error.code(), error.to_string(), cluster.bodies().iter().map(|body| body.position).collect::<Vec<_>>())
        });
        assert_eq!(found[0], found[1]);
        assert!(found[0].1.starts_with("rank 1: "), "{}", found[0].1);
    }
}

#[test]
fn what_is_not_over_ranks_is_refused() {
    let found = on_ranks(2, Manners::default(), |rank| {
        let mut system = system(Order::Second, Precision::Double);
        system.set_tree(Some(TreeAccuracy::Error(1e-3))).unwrap();
        let choices = Choices { dt_max: 0.1, ..SOFTENED };
        Cluster::over(Box::new(rank), Ok((system, choices))).err().unwrap().to_string()
    });
    assert!(found[0].contains("integration by a tree over ranks"), "{}", found[0]);
    let lost = on_ranks(2, Manners { fails_at: Some(9), ..Manners::default() }, |rank| {
        let mut cluster = with_bodies(over(rank, Order::Fourth, Precision::Double, SOFTENED), COUNT);
        [0, 1].map(|_| cluster.evolve_if(1.0, None, None).unwrap_err().code())
    });
    assert_eq!(lost, [[ResultCode::CommunicatorFailed; 2]; 2]);
}

#[test]
fn a_rank_that_takes_back_its_own_change_goes_on_with_the_others() {
    let found = on_ranks(2, Manners::default(), |rank| {
        let number = ranked(&rank);
        let mut cluster = with_bodies(over(rank, Order::Fourth, Precision::Double, SOFTENED), COUNT);
        cluster.evolve_if(1.0 / 128.0, None, None).unwrap();
        let mass = cluster.bodies()[3].mass;
        let change = |mass| [(3, Change { mass: Some(mass), ..Change::default() })];
        if number == 1 {
            cluster.change(&change(mass + 1.0)).unwrap();
        }
        let error = cluster.evolve_if(1.0 / 64.0, None, None).unwrap_err().to_string();
        if number == 1 {
            cluster.change(&change(mass)).unwrap();
        }
        cluster.evolve_if(1.0 / 64.0, None, None).unwrap();
        (error, cluster.state().unwrap())
    });
    assert_eq!(found[0], found[1]);
    assert!(found[0].0.starts_with("rank 1: the mark of the bodies is"), "{}", found[0].0);
}
