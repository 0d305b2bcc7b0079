//! The leapfrog and energies over ranks that keep bodies for themselves, which are threads here, against
//! one process.

use kyoho_core::{Order, Precision, TreeAccuracy};
use kyoho_engine::{Setup, System};
use kyoho_ranks::Team;
use kyoho_ranks::threads::{Manners, on_ranks};

use super::*;
use crate::body::length;
use crate::energy::{Energies, Energy};
use crate::fields::Field;
use crate::plan::StepCriterion;
use crate::tests::random;

const COUNT: usize = 300;
const STEPS: u64 = 2;
const SOFTENING: f64 = 0.02;

fn plan(tree: Option<TreeAccuracy>) -> Plan {
    Plan {
        order: Order::Second,
        precision: Precision::Double,
        gravity: 2.0,
        softening: SOFTENING,
        eta: 0.0,
        criterion: StepCriterion::Usual,
        eta4: 0.0,
        step: 1.0 / 64.0,
        longest: 1.0,
        shortest: 1.0,
        interval: STEPS as f64 / 64.0,
        tree,
    }
}

fn setup() -> Setup {
    Setup { threads: 1, ..Setup::on_cpu(Order::Second, Precision::Double) }
}

/// Returns a system in which all forces are by the tree of a plan, if it has one.
fn system(plan: &Plan) -> System {
    let mut system = System::new(&setup()).unwrap();
    system.set_tree(plan.tree).unwrap();
    system.set_tree_crossover(Some(0));
    system
}

/// Returns bodies whose numbers look random, some of them without mass.
fn bodies() -> Vec<Body> {
    let mut number = random();
    let mut vector = |scale: f64| std::array::from_fn(|_| scale * (number() - 0.5));
    let body = |place: usize| {
        let mass = if place % 10 == 3 { 0.0 } else { 1.0 / COUNT as f64 };
        Body::new(mass, vector(1.0), vector(0.5))
    };
    (0..COUNT).map(body).collect()
}

/// Divides bodies at some places.
fn divided(bodies: &[Body], at: &[usize]) -> Vec<Vec<Body>> {
    let ends = at.iter().copied().chain([bodies.len()]);
    ends.scan(0, |begin, end| Some(bodies[std::mem::replace(begin, end)..end].to_vec())).collect()
}

/// What an integration finds: all bodies at its end, the energies before and after, and the counts.
#[derive(Debug, PartialEq)]
struct Found {
    bodies: Vec<Body>,
    energies: [Energy; 2],
    counts: Counts,
}

/// The softening of bodies at odd places, if there are groups.
const OTHER: f64 = 0.1;

/// Evolves the bodies of a rank, of which the first has this number, or of a process.
fn evolved(team: Option<&Team>, plan: &Plan, own: Vec<Body>, (first, in_groups): (usize, bool)) -> Result<Found> {
    let count = own.len();
    let mut energies = match team {
        Some(team) => Energies::of_own_bodies((team, count), &setup(), plan.gravity, plan.softening)?,
        None => Energies::new(&setup(), plan.gravity, plan.softening)?,
    };
    let system = match team {
        Some(team) => SharedSystem::of_own_bodies(team, system(plan), count)?,
        None => system(plan).into(),
    };
    let mut groups = Groups::one(plan.softening);
    groups.add(OTHER)?;
    (first..first + count).for_each(|place| groups.push(crate::groups::Member::of(place % 2)));
    let mut fields = Fields::new(plan.gravity, 1);
    let parameters: [(&str, &[f64]); 2] = [("mass", &[1.0]), ("radius", &[2.0])];
    fields.replace(vec![Field::new("plummer", &parameters, plan.order, setup().level)?]);
    let mut leapfrog = Leapfrog::new(system, plan.clone(), (own, fields))?;
    if in_groups {
        leapfrog.set_groups(Some(groups.copied()?))?;
        leapfrog.start()?;
    }
    let mut energy = |leapfrog: &mut Leapfrog, time: f64| -> Result<Energy> {
        let bodies = leapfrog.bodies();
        let of_gravity = if in_groups { energies.of_groups(bodies, &groups)? } else { energies.of(bodies)? };
        Ok(Energy { field: leapfrog.field_energy(time)?, ..of_gravity })
    };
    let before = energy(&mut leapfrog, 0.0)?;
    leapfrog.advance(&mut |_, _| Ok(true))?;
    let after = energy(&mut leapfrog, plan.interval)?;
    Ok(Found { bodies: leapfrog.bodies().to_vec(), energies: [before, after], counts: leapfrog.counts() })
}

/// Evolves the bodies of all ranks.
fn by_ranks(shares: &[Vec<Body>], plan: &Plan, in_groups: bool, manners: Manners) -> Vec<Result<Found>> {
    on_ranks(shares.len(), manners, |rank, communicator| {
        let team = Team::new(Box::new(communicator)).unwrap();
        let first = shares[..rank].iter().map(Vec::len).sum();
        team.together(|| evolved(Some(&team), plan, shares[rank].clone(), (first, in_groups)))
    })
}

/// Returns what all ranks found, each of which has the energies and counts of all.
fn joined(found: Vec<Result<Found>>) -> Found {
    let mut found = found.into_iter().map(Result::unwrap);
    let mut all = found.next().unwrap();
    for of_rank in found {
        assert_eq!((of_rank.energies, of_rank.counts), (all.energies, all.counts));
        all.bodies.extend(of_rank.bodies);
    }
    all
}

/// The places at which bodies are divided: evenly, with a rank that has none, with all on one rank.
const DIVISIONS: [&[usize]; 4] = [&[150], &[50, 50], &[0, 0, 300], &[25, 50, 100, 150, 200, 299]];

fn require_near(found: &Found, expected: &Found, error: f64, name: &str) {
    assert_eq!(found.counts, expected.counts, "{name}");
    assert_eq!(found.bodies.len(), expected.bodies.len());
    for (found, expected) in found.bodies.iter().zip(&expected.bodies) {
        let difference = vector(|k| found.position[k] - expected.position[k]);
        assert!(length(&difference) <= error && found.mass == expected.mass, "{name}: {found:?} {expected:?}");
    }
    for (found, expected) in found.energies.iter().zip(&expected.energies) {
        for (found, expected) in
            [(found.kinetic, expected.kinetic), (found.potential, expected.potential), (found.field, expected.field)]
        {
            assert!((found - expected).abs() <= error * expected.abs(), "{name}: {found:e} {expected:e}");
        }
    }
}

#[test]
fn bodies_that_stay_on_their_ranks_move_as_those_of_one_process() {
    for (tree, error) in [(None, 1e-12), (Some(TreeAccuracy::Error(1e-4)), 1e-5)] {
        let plan = plan(tree);
        for in_groups in [false, true] {
            let expected = evolved(None, &plan, bodies(), (0, in_groups)).unwrap();
            assert_eq!(expected.counts.steps, STEPS * COUNT as u64);
            for at in DIVISIONS {
                let found = joined(by_ranks(&divided(&bodies(), at), &plan, in_groups, Manners::default()));
                require_near(&found, &expected, error, &format!("{tree:?} {in_groups} {at:?}"));
            }
        }
    }
}

#[test]
fn a_run_of_the_same_shares_has_the_same_bits_however_late_ranks_are() {
    let (plan, shares) = (plan(Some(TreeAccuracy::Theta(0.6))), divided(&bodies(), &[100, 200]));
    let first = joined(by_ranks(&shares, &plan, false, Manners::default()));
    let late = Manners { is_late: true, most_bytes: 1 << 12, ..Manners::default() };
    assert_eq!(joined(by_ranks(&shares, &plan, false, late)), first);
}

#[test]
fn one_rank_has_the_bits_of_one_process() {
    let plan = plan(Some(TreeAccuracy::Theta(0.6)));
    let expected = evolved(None, &plan, bodies(), (0, false)).unwrap();
    assert_eq!(joined(by_ranks(&[bodies()], &plan, false, Manners::default())), expected);
}

#[test]
fn an_error_on_one_rank_ends_all_and_names_the_body_of_all() {
    let mut wrong = bodies();
    wrong[225].position[1] = f64::NAN;
    let plan = plan(Some(TreeAccuracy::Theta(0.6)));
    for found in by_ranks(&divided(&wrong, &[100, 200]), &plan, false, Manners::default()) {
        let error = found.unwrap_err().to_string();
        assert!(error.starts_with("rank 2: ") && error.contains("body 225"), "{error}");
    }
    for fails_at in [3, 20, 60] {
        let broken = Manners { fails_at: Some(fails_at), ..Manners::default() };
        for found in by_ranks(&divided(&bodies(), &[100, 200]), &plan, false, broken) {
            assert!(matches!(found, Err(Error::CommunicatorFailed { .. })), "{found:?}");
        }
    }
}
