//! Forces by a tree over ranks, which are threads here, against the tree of one process and against
//! direct sums.

mod common;

use kyoho_core::sinks::FromFn;
use kyoho_core::{NeighbourCriterion, Order, Precision, Result, ResultCode, Sink, Source, TreeAccuracy, padded};
use kyoho_engine::{Setup, System};
use kyoho_hal::Backend;
use kyoho_ranks::threads::{Manners, on_ranks};
use kyoho_ranks::{Asked, RankedSystem};

use common::require_same_error;

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

/// The ranks that have a GPU, or a device of OpenCL.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Gpus {
    None,
    OfAll,
    OfEverySecond,
}

/// Returns a backend that is programmed like a GPU and has a device.
fn backend_of_gpus() -> Option<Backend> {
    [Backend::Cuda, Backend::OpenCl].into_iter().find(|backend| backend.devices().is_ok_and(|all| !all.is_empty()))
}

impl Gpus {
    /// Returns those that there can be on this machine.
    fn to_try() -> Vec<Gpus> {
        let all = [Gpus::None, Gpus::OfAll, Gpus::OfEverySecond];
        all[..if backend_of_gpus().is_some() { 3 } else { 1 }].to_vec()
    }

    fn backend(self, rank: usize) -> Backend {
        match (self, backend_of_gpus()) {
            (Gpus::OfAll, Some(backend)) => backend,
            (Gpus::OfEverySecond, Some(backend)) if rank % 2 == 1 => backend,
            _ => Backend::Cpu,
        }
    }
}

fn system(precision: Precision, tree: Option<TreeAccuracy>) -> System {
    system_on(Backend::Cpu, precision, tree)
}

fn system_on(backend: Backend, precision: Precision, tree: Option<TreeAccuracy>) -> System {
    let setup = Setup { threads: 1, backend, crossover: Some(0), ..Setup::on_cpu(Order::Second, precision) };
    let mut system = System::new(&setup).unwrap();
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

fn asked(nj: usize) -> Asked {
    Asked { nj, skip_own_index: true, neighbour_criterion: NeighbourCriterion::ByMass, radius: false }
}

fn start(system: &mut RankedSystem, nj: usize, sinks: &[Body]) -> Result<()> {
    system.start(|system, into| {
        let scan = system.copy_sinks(into, sinks.len(), &FromFn(|number: usize| sinks[number].sink()))?;
        assert!(!scan.radius);
        Ok(asked(nj))
    })
}

fn force(system: &mut RankedSystem, nj: usize, sinks: &[Body]) -> Result<Found> {
    start(system, nj, sinks)?;
    let mut forces = Vec::new();
    system.wait(Ok(()), |of_sinks| forces = found(of_sinks.values))?;
    Ok(forces)
}

/// Returns what all ranks find together, each with its share of sources and sinks.
fn together(tree: TreeAccuracy, precision: Precision, manners: Manners, shares: &[Share]) -> Found {
    together_on(Gpus::None, tree, precision, manners, shares)
}

fn together_on(gpus: Gpus, tree: TreeAccuracy, precision: Precision, manners: Manners, shares: &[Share]) -> Found {
    let found = on_ranks(shares.len(), manners, |rank, communicator| {
        let made = Ok(system_on(gpus.backend(rank), precision, Some(tree)));
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

/// The sum of the sizes of all pulls on each sink.
fn pulls(sources: &[Body], sinks: &[Body]) -> Vec<f64> {
    let of_pair = |sink: &Body, source: &Body| {
        let r2: f64 = (0..3).map(|k| (source.position[k] - sink.position[k]).powi(2)).sum();
        source.mass.abs() * r2.sqrt() / (r2 + SOFTENING2).powf(1.5)
    };
    let others =
        |sink: &Body| sources.iter().filter(|source| source.index != sink.index).map(|of| of_pair(sink, of)).sum();
    sinks.iter().map(others).collect()
}

/// Deals bodies to ranks in turn; each has its sources for sinks.
fn dealt(bodies: &[Body], size: usize) -> Vec<Share> {
    let of_rank = |rank: usize| -> Vec<Body> { bodies.iter().skip(rank).step_by(size).copied().collect() };
    (0..size).map(|rank| (of_rank(rank), of_rank(rank))).collect()
}

fn all(shares: &[Share]) -> Share {
    let sources = shares.iter().flat_map(|(sources, _)| sources).copied().collect();
    (sources, shares.iter().flat_map(|(_, sinks)| sinks).copied().collect())
}

/// Checks that ranks have the accuracy that was asked for: half of the sinks at least that, and 99 of
/// 100 five times as much; and little more than one process has.
fn require_accuracy(name: &str, precision: Precision, accuracy: f64, shares: &[Share]) {
    let tree = TreeAccuracy::Error(accuracy);
    let (sources, sinks) = all(shares);
    let exact = alone(None, Precision::Double, &sources, &sinks);
    let pulls = pulls(&sources, &sinks);
    let of_one = errors(&alone(Some(tree), precision, &sources, &sinks), &exact, &pulls);
    for gpus in Gpus::to_try() {
        let of_ranks = errors(&together_on(gpus, tree, precision, Manners::default(), shares), &exact, &pulls);
        for (percent, bound) in [(50, accuracy), (99, 5.0 * accuracy)] {
            let [of_one, of_ranks] = [&of_one, &of_ranks].map(|errors| errors[(errors.len() - 1) * percent / 100]);
            let allowed = bound.min(2.0 * of_one + 0.2 * bound);
            let by = format!("{name} on {} ranks, GPUs {gpus:?}", shares.len());
            assert!(of_ranks <= allowed, "{by}: {percent} of 100 at {of_ranks:e}, of one {of_one:e}");
        }
    }
}

#[test]
fn forces_of_ranks_have_the_accuracy_of_one_process() {
    let bodies = plummer(2000, [0.0; 3], &mut Random(1));
    for (precision, accuracy) in [(Precision::Double, 1e-2), (Precision::Mixed, 1e-3), (Precision::Double, 1e-5)] {
        for size in [2, 7] {
            require_accuracy("a model of Plummer", precision, accuracy, &dealt(&bodies, size));
        }
    }
}

#[test]
fn an_angle_opens_the_cells_of_all_ranks() {
    let bodies = plummer(3000, [0.0; 3], &mut Random(2));
    let (tree, shares) = (TreeAccuracy::Theta(0.5), dealt(&bodies, 5));
    let (sources, sinks) = all(&shares);
    let exact = alone(None, Precision::Double, &sources, &sinks);
    let pulls = pulls(&sources, &sinks);
    let of_one = errors(&alone(Some(tree), Precision::Double, &sources, &sinks), &exact, &pulls);
    for gpus in Gpus::to_try() {
        let found = together_on(gpus, tree, Precision::Double, Manners::default(), &shares);
        let of_ranks = errors(&found, &exact, &pulls);
        for percent in [50, 99] {
            let [of_one, of_ranks] = [&of_one, &of_ranks].map(|errors| errors[errors.len() * percent / 100]);
            assert!(of_ranks > 0.0 && of_ranks < 1.5 * of_one, "GPUs {gpus:?}: {of_ranks:e} {of_one:e}");
        }
    }
}

/// Shares in which bodies, sources and sinks are anywhere.
fn odd_shares(random: &mut Random) -> Vec<(&'static str, Vec<Share>)> {
    let one = plummer(1500, [0.0; 3], random);
    let mut two = plummer(700, [-3000.0, 0.0, 10.0], random);
    two.extend(plummer(700, [5000.0, 1.0, 0.0], random).iter().map(|body| Body { index: body.index + 700, ..*body }));
    let mut with_empty = dealt(&one, 2);
    with_empty.insert(1, Share::default());
    let mut on_one = vec![Share::default(); 3];
    on_one[2] = (one.clone(), one.clone());
    // The sinks are no sources, and are on ranks without sources.
    let others = plummer(500, [0.5, 0.0, 0.0], random);
    let others: Vec<Body> = others.iter().map(|body| Body { index: body.index + 10_000, ..*body }).collect();
    let apart =
        vec![(one[..700].to_vec(), vec![]), (vec![], others.clone()), (one[700..].to_vec(), vec![]), (vec![], vec![])];
    // Sources and sinks with the same index are far from one another, on other ranks.
    let moved: Vec<Body> = one.iter().rev().zip(&one).map(|(from, to)| Body { index: to.index, ..*from }).collect();
    let exchanged = vec![(one.clone(), moved[..100].to_vec()), (vec![], moved[100..].to_vec()), (vec![], vec![])];
    // Each index is that of a source on every rank.
    let mut repeated = dealt(&one, 3);
    for (sources, sinks) in &mut repeated {
        let number = |bodies: &mut Vec<Body>| bodies.iter_mut().zip(0..).for_each(|(body, index)| body.index = index);
        number(sources);
        number(sinks);
    }
    let mut outlier = one.clone();
    outlier[3].position = [1e7, -2e7, 3e6];
    vec![
        ("two clusters far apart", dealt(&two, 3)),
        ("a rank without bodies", with_empty),
        ("all bodies on one rank", on_one),
        ("sinks that are no sources", apart),
        ("indices that were exchanged", exchanged),
        ("indices on all ranks", repeated),
        ("a body far outside", dealt(&outlier, 4)),
    ]
}

#[test]
fn bodies_may_be_anywhere() {
    for (name, shares) in odd_shares(&mut Random(3)) {
        require_accuracy(name, Precision::Double, 1e-3, &shares);
        require_accuracy(name, Precision::Mixed, 1e-2, &shares);
    }
}

const PRECISIONS: [Precision; 2] = [Precision::Double, Precision::Mixed];

/// Checks all forces against direct sums, to a part of the largest number.
fn require_near(name: &str, tolerance: f64, shares: &[Share]) {
    let (sources, sinks) = all(shares);
    let exact = alone(None, Precision::Double, &sources, &sinks);
    let largest = exact.iter().flatten().fold(1e-300, |most: f64, value| most.max(value.abs()));
    for (gpus, precision) in Gpus::to_try().into_iter().flat_map(|gpus| PRECISIONS.map(|precision| (gpus, precision))) {
        let found = together_on(gpus, TreeAccuracy::Error(1e-3), precision, Manners::default(), shares);
        // GPUs and `mixed` have 32 bits of a distance, and GPUs other groups of sinks.
        let tolerance = match tolerance {
            on_cpus if gpus == Gpus::None && precision == Precision::Double => on_cpus,
            0.0 => 0.0,
            for_pairs if for_pairs > 1e-9 => 1e-3,
            _ => 1e-6,
        };
        for (found, exact) in found.iter().flatten().zip(exact.iter().flatten()) {
            let difference = (found - exact).abs();
            assert!(difference <= tolerance * largest, "{name}, GPUs {gpus:?}, {precision:?}: {found:e} for {exact:e}");
        }
    }
}

#[test]
fn few_bodies_and_bodies_in_one_point_are_summed_too() {
    let at = |index: i32, position: [f64; 3]| Body { index, mass: 0.5 + f64::from(index), position };
    let point: Vec<Body> = (0..200).map(|index| at(index, [1.0, 2.0, 3.0])).collect();
    let beside = vec![at(500, [1.5, 2.0, 3.0]), at(501, [1.0, 2.0, 3.0])];
    let nothing: Share = Default::default();
    for size in [1, 2, 3, 7] {
        let mut single = vec![nothing.clone(); size];
        single[size / 2] = (vec![at(1, [0.0; 3])], vec![at(1, [0.0; 3])]);
        require_near("a single body", 1e-13, &single);
        single[0].1 = beside.clone();
        require_near("a single source", 1e-5, &single);
        let mut in_point = dealt(&point, size);
        require_near("bodies in one point", 1e-13, &in_point);
        in_point[size - 1].1.extend(beside.clone());
        in_point[0].0.extend([at(700, [1.25, 2.5, 3.0])]);
        require_near("bodies in one point and beside it", 1e-5, &in_point);
        require_near("no bodies at all", 0.0, &vec![nothing.clone(); size]);
        let mut sinks_alone = vec![nothing.clone(); size];
        sinks_alone[0].1 = beside.clone();
        require_near("sinks without sources", 0.0, &sinks_alone);
    }
}

#[test]
fn one_rank_has_the_bits_of_one_process() {
    let bodies = plummer(2500, [0.0; 3], &mut Random(4));
    let tree = TreeAccuracy::Error(1e-3);
    for precision in [Precision::Single, Precision::Mixed, Precision::Double] {
        let expected = alone(Some(tree), precision, &bodies, &bodies[..2000]);
        let shares = [(bodies.clone(), bodies[..2000].to_vec())];
        assert!(together(tree, precision, Manners::default(), &shares) == expected, "{}", precision.name());
    }
}

/// Many sources that replace all others are sent to a GPU when they are written.
#[test]
fn sources_that_were_written_at_once_have_the_forces_of_those_written_one_by_one() {
    let shares = dealt(&plummer(9000, [0.0; 3], &mut Random(8)), 2);
    let tree = TreeAccuracy::Error(1e-2);
    for gpus in Gpus::to_try() {
        let expected = together_on(gpus, tree, Precision::Mixed, Manners::default(), &shares);
        let found = on_ranks(2, Manners::default(), |rank, communicator| {
            let made = Ok(system_on(gpus.backend(rank), Precision::Mixed, Some(tree)));
            let mut system = RankedSystem::over(Box::new(communicator), made).unwrap();
            system.own().set_tree_crossover(Some(0));
            let sources = &shares[rank].0;
            system.own().set_sources(sources.len(), |address| sources[address].source()).unwrap();
            let started = system.start(|system, into| {
                system.sinks_of_all(into, sources.len(), SOFTENING2)?;
                Ok(asked(sources.len()))
            });
            started.unwrap();
            let mut forces = Vec::new();
            system.wait(Ok(()), |of_sinks| forces = crate::found(of_sinks.values)).unwrap();
            forces
        });
        assert!(found.concat() == expected, "GPUs {gpus:?}");
    }
}

#[test]
fn late_ranks_and_short_messages_change_no_bit() {
    let shares = dealt(&plummer(400, [0.0; 3], &mut Random(5)), 3);
    let tree = TreeAccuracy::Error(1e-2);
    let expected = together(tree, Precision::Mixed, Manners::default(), &shares);
    for most_bytes in [100, 20_000] {
        let manners = Manners { most_bytes, is_late: true, fails_at: None };
        assert!(together(tree, Precision::Mixed, manners, &shares) == expected, "{most_bytes}");
    }
}

/// Sources are written, moved and removed at random, also between the start and the end of a block;
/// each block has the forces of the sources as they were at its start.
#[test]
fn blocks_have_the_sources_of_their_start() {
    const RANKS: usize = 3;
    const BLOCKS: usize = 8;
    let mut random = Random(6);
    let mut sources: Vec<Vec<Body>> =
        dealt(&plummer(600, [0.0; 3], &mut random), RANKS).into_iter().map(|share| share.0).collect();
    let change = |sources: &mut [Vec<Body>], random: &mut Random| -> Vec<(usize, usize, Body)> {
        let writes = (0..random.below(40)).map(|_| {
            let rank = random.below(RANKS);
            let address = random.below(sources[rank].len());
            let mut body = sources[rank][address];
            match random.below(3) {
                0 => body.mass = 0.0,
                1 => body.position = random.direction(),
                _ => (body.mass, body.position) = (random.next(), random.direction().map(|x| 3.0 * x)),
            }
            sources[rank][address] = body;
            (rank, address, body)
        });
        writes.collect()
    };
    let mut script = Vec::new();
    let first = sources.clone();
    for _ in 0..BLOCKS {
        let before = change(&mut sources, &mut random);
        let sinks: Vec<Vec<Body>> = (0..RANKS)
            .map(|_| {
                let count = random.below(300);
                (0..count)
                    .map(|_| {
                        let rank = random.below(RANKS);
                        sources[rank][random.below(sources[rank].len())]
                    })
                    .collect()
            })
            .collect();
        let at_start = sources.clone();
        let meanwhile = change(&mut sources, &mut random);
        script.push((before, sinks, at_start, meanwhile));
    }
    for gpus in Gpus::to_try() {
        require_blocks(gpus, &first, &script);
    }
}

/// The writes before a block, each to a rank and an address; the sinks of each rank; the sources at its
/// start; the writes between its start and its end.
type ScriptedBlock = (Vec<(usize, usize, Body)>, Vec<Vec<Body>>, Vec<Vec<Body>>, Vec<(usize, usize, Body)>);

/// Checks the forces of blocks of ranks with these first sources.
fn require_blocks(gpus: Gpus, first: &[Vec<Body>], script: &[ScriptedBlock]) {
    let found = on_ranks(first.len(), Manners::default(), |rank, communicator| {
        let tree = TreeAccuracy::Error(1e-4);
        let made = Ok(system_on(gpus.backend(rank), Precision::Double, Some(tree)));
        let mut system = RankedSystem::over(Box::new(communicator), made).unwrap();
        write(system.own(), &first[rank]);
        let blocks = script.iter().map(|(before, sinks, _, meanwhile)| {
            let write = |system: &mut RankedSystem, writes: &[(usize, usize, Body)]| {
                for (_, address, body) in writes.iter().filter(|(of, ..)| *of == rank) {
                    system.own().set_source(*address, &body.source()).unwrap();
                }
            };
            write(&mut system, before);
            start(&mut system, first[rank].len(), &sinks[rank]).unwrap();
            write(&mut system, meanwhile);
            let mut forces = Vec::new();
            system.wait(Ok(()), |of_sinks| forces = found(of_sinks.values)).unwrap();
            forces
        });
        blocks.collect::<Vec<Found>>()
    });
    for (block, (_, sinks, at_start, _)) in script.iter().enumerate() {
        let (sources, sinks) = (at_start.concat(), sinks.concat());
        let exact = alone(None, Precision::Double, &sources, &sinks);
        let of_block: Vec<Found> = found.iter().map(|of_rank| of_rank[block].clone()).collect();
        let errors = errors(&of_block.concat(), &exact, &pulls(&sources, &sinks));
        assert!(errors.last().is_none_or(|worst| *worst < 5e-3), "GPUs {gpus:?}, block {block}: {errors:?}");
    }
}

#[test]
fn options_and_softenings_that_differ_are_errors_of_a_rank() {
    let shares = dealt(&plummer(300, [0.0; 3], &mut Random(7)), 3);
    let over = |communicator, tree| RankedSystem::over(Box::new(communicator), Ok(system(Precision::Double, tree)));
    let errors = on_ranks(3, Manners::default(), |rank, communicator| {
        let accuracy = if rank == 2 { 1e-3 } else { 1e-2 };
        over(communicator, Some(TreeAccuracy::Error(accuracy))).map(drop)
    });
    require_same_error(
        &errors,
        2,
        ResultCode::BadOption,
        "rank 2: the tree is 'accuracy 0.001'; allowed: 'accuracy 0.01'",
    );
    let errors = on_ranks(3, Manners::default(), |rank, communicator| {
        over(communicator, if rank == 0 { Some(TreeAccuracy::Theta(0.5)) } else { None }).map(drop)
    });
    require_same_error(&errors, 1, ResultCode::BadOption, "rank 1: the tree is 'none'; allowed: 'theta 0.5'");
    let found = on_ranks(3, Manners::default(), |rank, communicator| {
        let tree = TreeAccuracy::Error(1e-2);
        let mut system = over(communicator, Some(tree)).unwrap();
        let (sources, sinks) = &shares[rank];
        write(system.own(), sources);
        system.set_tree(Some(TreeAccuracy::Theta(if rank == 1 { 0.25 } else { 0.5 }))).unwrap();
        let of_tree = start(&mut system, sources.len(), sinks);
        system.set_tree(Some(tree)).unwrap();
        let of_softening = system.start(|system, into| {
            let sink = |number: usize| {
                let softening2 = if rank == 1 && number == 7 { 0.25 } else { SOFTENING2 };
                Sink { softening2, ..sinks[number].sink() }
            };
            system.copy_sinks(into, sinks.len(), &FromFn(sink))?;
            Ok(asked(sources.len()))
        });
        let of_number = system.start(|system, into| {
            let softening2 = if rank == 2 { f64::NAN } else { SOFTENING2 };
            system.copy_sinks(into, 1, &FromFn(|_| Sink { softening2, ..sinks[0].sink() }))?;
            Ok(asked(sources.len()))
        });
        ([of_tree, of_softening, of_number], force(&mut system, sources.len(), sinks))
    });
    let of_ranks = |call: usize| -> Vec<Result<()>> { found.iter().map(|(errors, _)| errors[call].clone()).collect() };
    require_same_error(&of_ranks(0), 1, ResultCode::BadOption, "rank 1: the tree is 'theta 0.25'");
    let words =
        "rank 1: the squared softening of sink 7 with a tree is '2.5e-1'; allowed: that of sink 0 of rank 0, 1e-6";
    require_same_error(&of_ranks(1), 1, ResultCode::BadOption, words);
    require_same_error(&of_ranks(2), 2, ResultCode::NotFinite, "rank 2: the squared softening");
    assert!(found.iter().all(|(_, forces)| forces.is_ok()), "the next call works");
}

#[test]
fn small_blocks_are_summed_directly() {
    let bodies = plummer(300, [0.0; 3], &mut Random(8));
    let shares = dealt(&bodies, 2);
    let found = on_ranks(2, Manners::default(), |rank, communicator| {
        let made = system(Precision::Double, Some(TreeAccuracy::Error(1e-2)));
        let mut system = RankedSystem::over(Box::new(communicator), Ok(made)).unwrap();
        // The largest number of all ranks counts.
        system.own().set_tree_crossover(Some(if rank == 0 { 0 } else { 300 * 300 + 1 }));
        let (sources, sinks) = &shares[rank];
        write(system.own(), sources);
        force(&mut system, sources.len(), sinks).unwrap()
    });
    let (sources, sinks) = all(&shares);
    let exact = alone(None, Precision::Double, &sources, &sinks);
    let worst = errors(&found.concat(), &exact, &pulls(&sources, &sinks)).pop();
    assert!(worst.unwrap() < 1e-13, "{worst:?}");
}

/// Whichever exchange fails, on whichever rank: all ranks return, now and from then on.
#[test]
fn no_rank_waits_for_one_that_failed() {
    let shares = dealt(&plummer(200, [0.0; 3], &mut Random(9)), 3);
    for fails_at in 0..80 {
        let found = on_ranks(3, Manners::default(), |rank, mut communicator| {
            communicator.manners.fails_at = (rank == fails_at % 3).then_some(fails_at);
            let made = system(Precision::Mixed, Some(TreeAccuracy::Error(1e-2)));
            let mut system = RankedSystem::over(Box::new(communicator), Ok(made))?;
            write(system.own(), &shares[rank].0);
            let first = force(&mut system, shares[rank].0.len(), &shares[rank].1);
            let again = force(&mut system, shares[rank].0.len(), &shares[rank].1);
            assert!(first.is_ok() || again.is_err());
            first.and(again).map(drop)
        });
        let errors = found.iter().filter_map(|found| found.as_ref().err());
        errors.clone().for_each(|error| assert_eq!(error.code(), ResultCode::CommunicatorFailed, "{error}"));
        assert!(errors.count() > 0, "exchange {fails_at}");
    }
}
