//! Forces by a tree over ranks, which are threads here, against the tree of one process and against
//! direct sums.

use std::sync::Mutex;

use kyoho_core::sinks::FromFn;
use kyoho_core::{NeighbourCriterion, Order, Precision, Result, Sink, Source, TreeAccuracy, padded};
use kyoho_engine::{Setup, System};
use kyoho_ranks::threads::{Manners, ThreadRank};
use kyoho_ranks::{Asked, RankedSystem};

const SOFTENING2: f64 = 1e-6;

/// A mass in a place, with an index.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Body {
    index: i32,
    mass: f64,
    position: [f64; 3],
}

impl Body {
    fn source(&self) -> Source {
        Source::from_derivatives(self.index, self.mass, 0.0, [self.position])
    }

    fn sink(&self) -> Sink {
        Sink { index: self.index, softening2: SOFTENING2, derivatives: padded([self.position]), ..Sink::NOTHING }
    }
}

/// A rank's sources, and its sinks.
type Share = (Vec<Body>, Vec<Body>);

/// A potential and an acceleration for each sink.
type Found = Vec<[f64; 4]>;

/// Numbers that look random, from 0 to 1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, count: usize) -> usize {
        ((self.next() * count as f64) as usize).min(count - 1)
    }

    fn direction(&mut self) -> [f64; 3] {
        let (z, turn) = (2.0 * self.next() - 1.0, std::f64::consts::TAU * self.next());
        let across = (1.0 - z * z).sqrt();
        [across * turn.cos(), across * turn.sin(), z]
    }
}

/// A model of Plummer around a centre.
fn plummer(count: usize, center: [f64; 3], random: &mut Random) -> Vec<Body> {
    let body = |number: usize| {
        let radius = 1.0 / ((random.next() * 0.999 + 1e-9).powf(-2.0 / 3.0) - 1.0).sqrt();
        let direction = random.direction();
        let position = std::array::from_fn(|k| center[k] + radius * direction[k]);
        Body { index: number as i32, mass: 1.0 / count as f64, position }
    };
    (0..count).map(body).collect()
}

fn system(precision: Precision, tree: Option<TreeAccuracy>) -> System {
    let mut system = System::new(&Setup { threads: 1, ..Setup::on_cpu(Order::Second, precision) }).unwrap();
    system.set_tree(tree).unwrap();
    system.set_tree_crossover(Some(0));
    system
}

fn write(system: &mut System, sources: &[Body]) {
    sources.iter().enumerate().for_each(|(address, body)| system.set_source(address, &body.source()).unwrap());
}

fn found(values: &[f64]) -> Found {
    values.as_chunks().0.to_vec()
}

fn alone(tree: Option<TreeAccuracy>, precision: Precision, sources: &[Body], sinks: &[Body]) -> Found {
    let mut system = system(precision, tree);
    write(&mut system, sources);
    found(system.force(sources.len(), true, sinks.iter().map(Body::sink)).unwrap().values)
}

fn start(system: &mut RankedSystem, nj: usize, sinks: &[Body]) -> Result<()> {
    system.start(|system, into| {
        let scan = system.copy_sinks(into, sinks.len(), &FromFn(|number: usize| sinks[number].sink()))?;
        let neighbour_criterion = NeighbourCriterion::ByMass;
        Ok(Asked { nj, skip_own_index: true, neighbour_criterion, radius: scan.radius })
    })
}

fn force(system: &mut RankedSystem, nj: usize, sinks: &[Body]) -> Result<Found> {
    start(system, nj, sinks)?;
    let mut forces = Vec::new();
    system.wait(Ok(()), |of_sinks| forces = found(of_sinks.values))?;
    Ok(forces)
}

/// Runs the same work on all ranks, each with a thread of its own, and returns what each finds.
fn on_ranks<T: Send>(size: usize, manners: Manners, work: impl Fn(usize, ThreadRank) -> T + Sync) -> Vec<T> {
    let found: Mutex<Vec<(usize, T)>> = Mutex::default();
    std::thread::scope(|scope| {
        for (rank, mut communicator) in ThreadRank::all(size).into_iter().enumerate() {
            communicator.manners = manners;
            let (work, found) = (&work, &found);
            scope.spawn(move || {
                let result = work(rank, communicator);
                found.lock().unwrap().push((rank, result));
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, result)| result).collect()
}

/// Returns what all ranks find together, each with its share of sources and sinks.
fn together(tree: TreeAccuracy, precision: Precision, manners: Manners, shares: &[Share]) -> Found {
    let found = on_ranks(shares.len(), manners, |rank, communicator| {
        let made = Ok(system(precision, Some(tree)));
        let mut system = RankedSystem::over(Box::new(communicator), made).unwrap();
        system.own().set_tree_crossover(Some(0));
        let (sources, sinks) = &shares[rank];
        write(system.own(), sources);
        force(&mut system, sources.len(), sinks).unwrap()
    });
    found.concat()
}

/// The errors of accelerations, sorted: relative to each or to half of the sum of all pulls,
/// whichever is more.
fn errors(found: &Found, exact: &Found, pulls: &[f64]) -> Vec<f64> {
    let size = |vector: [f64; 3]| vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    let of_sink = |((found, exact), pulls): ((&[f64; 4], &[f64; 4]), &f64)| {
        let difference = std::array::from_fn(|k| found[1 + k] - exact[1 + k]);
        size(difference) / size([exact[1], exact[2], exact[3]]).max(pulls / 2.0)
    };
    assert_eq!(found.len(), exact.len());
    let mut errors: Vec<f64> = found.iter().zip(exact).zip(pulls).map(of_sink).collect();
    errors.sort_by(f64::total_cmp);
    errors
}

fn pulls(sources: &[Body], sinks: &[Body]) -> Vec<f64> {
    let of_pair = |sink: &Body, source: &Body| {
        let r2: f64 = (0..3).map(|k| (source.position[k] - sink.position[k]).powi(2)).sum();
        source.mass.abs() * r2.sqrt() / (r2 + SOFTENING2).powf(1.5)
    };
    let of_sink = |sink| {
        sources.iter().filter(|source| source.index != Body::index(sink)).map(|source| of_pair(sink, source)).sum()
    };
    sinks.iter().map(of_sink).collect()
}

impl Body {
    fn index(&self) -> i32 {
        self.index
    }
}

/// Deals bodies to ranks in turn, or as blocks.
fn dealt(bodies: &[Body], size: usize) -> Vec<Share> {
    let of_rank = |rank: usize| -> Vec<Body> { bodies.iter().skip(rank).step_by(size).copied().collect() };
    (0..size).map(|rank| (of_rank(rank), of_rank(rank))).collect()
}

fn all(shares: &[Share]) -> Share {
    let sources = shares.iter().flat_map(|(sources, _)| sources).copied().collect();
    (sources, shares.iter().flat_map(|(_, sinks)| sinks).copied().collect())
}

#[test]
fn forces_of_ranks_have_the_accuracy_of_one_process() {
    let bodies = plummer(4000, [0.0; 3], &mut Random(1));
    for accuracy in [1e-2, 1e-3, 1e-5] {
        let tree = TreeAccuracy::Error(accuracy);
        for size in [1, 2, 3, 7] {
            let shares = dealt(&bodies, size);
            let (sources, sinks) = all(&shares);
            let exact = alone(None, Precision::Double, &sources, &sinks);
            let pulls = pulls(&sources, &sinks);
            let of_one = errors(&alone(Some(tree), Precision::Double, &sources, &sinks), &exact, &pulls);
            let of_ranks = errors(&together(tree, Precision::Double, Manners::default(), &shares), &exact, &pulls);
            let at = |errors: &[f64], part: f64| errors[(errors.len() as f64 * part) as usize];
            println!(
                "{accuracy:e} {size}: one {:.2e} {:.2e} {:.2e} ranks {:.2e} {:.2e} {:.2e}",
                at(&of_one, 0.5),
                at(&of_one, 0.99),
                of_one.last().unwrap(),
                at(&of_ranks, 0.5),
                at(&of_ranks, 0.99),
                of_ranks.last().unwrap()
            );
            assert!(at(&of_ranks, 0.5) <= accuracy && at(&of_ranks, 0.99) <= 5.0 * accuracy);
        }
    }
}
