//! Systems over ranks, which are threads here, against systems of one process.

mod common;

use kyoho_core::sinks::FromFn;
use kyoho_core::{
    Error, Forces, Nearest, NeighbourCriterion, Order, Precision, Result, ResultCode, Scope, Sink, Source, TreeAccuracy,
};
use kyoho_engine::{Setup, System};
use kyoho_ranks::threads::{Manners, ThreadRank, on_ranks};
use kyoho_ranks::{Asked, RankedSystem};

use common::require_same_error;

type Kind = (Order, Precision, Scope);

/// A body as a source, with its address, and as a sink.
type Body = (usize, Source, Sink);

/// The sources and sinks of a rank.
type Share = (Vec<Body>, Vec<Sink>);

const FULL: Kind = (Order::Fourth, Precision::Double, Scope::Full);

/// What a rank, or one process, finds: numbers of all its sinks, nearest sources, neighbour lists.
#[derive(Debug, Default, Clone, PartialEq)]
struct Found {
    values: Vec<f64>,
    nearest: Vec<Nearest>,
    lists: Vec<Vec<i32>>,
}

impl Found {
    fn of(forces: &Forces) -> Found {
        Found { values: forces.values.to_vec(), nearest: forces.nearest.to_vec(), lists: Vec::new() }
    }

    fn and(mut self, other: Found) -> Found {
        self.values.extend(other.values);
        self.nearest.extend(other.nearest);
        self.lists.extend(other.lists);
        self
    }
}

fn system(kind: Kind) -> System {
    let (order, precision, scope) = kind;
    System::new(&Setup { threads: 1, scope, ..Setup::on_cpu(order, precision) }).unwrap()
}

/// Bodies whose numbers look random, at addresses from 0 on.
fn bodies(count: usize) -> Vec<Body> {
    let mut state = 12_345_u64;
    let mut number = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    let body = |address: usize| {
        let mut vectors = [[0.0; 3]; 8];
        vectors[..3].iter_mut().flatten().for_each(|component| *component = number());
        let mass = 1.0 + number();
        let index = address as i32;
        let source = Source { index, mass, time: 0.0, coefficients: vectors };
        let derivatives = [vectors[0], vectors[1], vectors[2], [0.0; 3]];
        // The radius of every other sink takes in some neighbours.
        let radius2 = if address.is_multiple_of(2) { 0.02 } else { 0.0 };
        (address, source, Sink { index, softening2: 1e-4, radius2, step: 0.01, derivatives })
    };
    (0..count).map(body).collect()
}

fn write(system: &mut System, sources: &[Body]) {
    sources.iter().for_each(|(address, source, _)| system.set_source(*address, source).unwrap());
    system.set_time(0.0).unwrap();
}

fn asked(nj: usize, radius: bool) -> Asked {
    Asked { nj, skip_own_index: true, neighbour_criterion: NeighbourCriterion::ByMass, radius }
}

/// Starts a block of some sinks.
fn start(system: &mut RankedSystem, nj: usize, sinks: &[Sink]) -> Result<()> {
    system.start(|system, into| {
        let scan = system.copy_sinks(into, sinks.len(), &FromFn(|number| sinks[number]))?;
        Ok(asked(nj, scan.radius))
    })
}

fn force(system: &mut RankedSystem, nj: usize, sinks: &[Sink]) -> Result<Found> {
    start(system, nj, sinks)?;
    let mut found = Found::default();
    system.wait(Ok(()), |forces| found = Found::of(&forces))?;
    if system.own().interaction().has_lists() {
        found.lists = (0..sinks.len()).map(|sink| system.neighbours(sink).unwrap().to_vec()).collect();
    }
    Ok(found)
}

fn sinks(bodies: &[Body]) -> Vec<Sink> {
    bodies.iter().map(|(.., sink)| *sink).collect()
}

fn nj(bodies: &[Body]) -> usize {
    bodies.iter().map(|(address, ..)| address + 1).max().unwrap_or(0)
}

/// Returns what one process finds.
fn alone(kind: Kind, sources: &[Body], sinks: &[Sink]) -> Found {
    let mut system = system(kind);
    write(&mut system, sources);
    force_alone(&mut system, nj(sources), sinks)
}

fn force_alone(system: &mut System, nj: usize, sinks: &[Sink]) -> Found {
    let mut found = Found::of(&system.force(nj, true, sinks.iter().copied()).unwrap());
    if system.interaction().has_lists() {
        found.lists = (0..sinks.len()).map(|sink| system.neighbours(sink).unwrap().to_vec()).collect();
    }
    found
}

fn over(communicator: ThreadRank, kind: Kind) -> RankedSystem {
    RankedSystem::over(Box::new(communicator), Ok(system(kind))).unwrap()
}

/// Returns what all ranks find together, each with its share of sources and of sinks.
fn together(kind: Kind, manners: Manners, shares: &[Share], nj_of: impl Fn(&[Body]) -> usize + Sync) -> Found {
    together_with(write, kind, manners, shares, nj_of)
}

/// Does as [`together`] does, with sources that a function writes.
fn together_with(
    write: fn(&mut System, &[Body]),
    kind: Kind,
    manners: Manners,
    shares: &[Share],
    nj_of: impl Fn(&[Body]) -> usize + Sync,
) -> Found {
    let found = on_ranks(shares.len(), manners, |rank, communicator| {
        let mut system = over(communicator, kind);
        let (sources, sinks) = &shares[rank];
        write(system.own(), sources);
        force(&mut system, nj_of(sources), sinks).unwrap()
    });
    found.into_iter().fold(Found::default(), Found::and)
}

fn require_near(found: &Found, expected: &Found, tolerance: f64) {
    assert_eq!(found.values.len(), expected.values.len());
    let largest = expected.values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    for (value, expected) in found.values.iter().zip(&expected.values) {
        assert!((value - expected).abs() <= tolerance * largest, "{value} for {expected}");
    }
    assert_eq!((&found.nearest, &found.lists), (&expected.nearest, &expected.lists));
}

/// Shares bodies out: to ranks in turn, so that the last rank has neither sources nor sinks, with
/// addresses of each rank's own; sinks go to other ranks than their sources.
fn dealt(bodies: &[Body], size: usize) -> Vec<Share> {
    let mut shares = vec![(Vec::new(), Vec::new()); size];
    let busy = if size > 2 { size - 1 } else { size };
    for (number, (_, source, sink)) in bodies.iter().enumerate() {
        let sources: &mut Vec<Body> = &mut shares[number % busy].0;
        sources.push((sources.len(), *source, *sink));
        // The order of the sinks stays.
        shares[number * busy / bodies.len()].1.push(*sink);
    }
    shares
}

#[test]
fn ranks_find_what_one_process_finds() {
    let bodies = bodies(700);
    for order in Order::ALL {
        let kind = (order, Precision::Double, Scope::Full);
        let expected = alone(kind, &bodies, &sinks(&bodies));
        if order != Order::Second {
            assert!(expected.lists.iter().any(|list| list.len() > 3));
        }
        for size in [1, 2, 3, 7] {
            require_near(&together(kind, Manners::default(), &dealt(&bodies, size), nj), &expected, 1e-13);
        }
    }
}

#[test]
fn regular_forces_and_their_lists_are_those_of_one_process() {
    let bodies = bodies(400);
    let kind = (Order::Fourth, Precision::Double, Scope::Regular);
    let expected = alone(kind, &bodies, &sinks(&bodies));
    assert!(expected.lists.iter().any(|list| !list.is_empty()));
    require_near(&together(kind, Manners::default(), &dealt(&bodies, 3), nj), &expected, 1e-13);
}

/// A rank with whole sets of slices, at the addresses of one process.
fn by_slices(bodies: &[Body], size: usize) -> Vec<Share> {
    let sources = |rank| bodies.iter().filter(|(address, ..)| address / 256 % size == rank).copied().collect();
    let cut = |rank| bodies.len() * rank / size;
    (0..size).map(|rank| (sources(rank), sinks(&bodies[cut(rank)..cut(rank + 1)]))).collect()
}

#[test]
fn two_four_and_eight_ranks_give_the_bits_of_one() {
    // More than 24 chunks, and an end within one.
    let bodies = bodies(27 * 256 + 100);
    for precision in [Precision::Single, Precision::Mixed, Precision::Double] {
        let kind = (Order::Fourth, precision, Scope::Full);
        // Few sinks, for the time; every 97th body.
        let few: Vec<Body> = bodies.iter().step_by(97).copied().collect();
        let expected = alone(kind, &bodies, &sinks(&few));
        for size in [2, 4, 8] {
            let mut shares = by_slices(&bodies, size);
            let cut = |rank: usize| few.len() * rank / size;
            (0..size).for_each(|rank| shares[rank].1 = sinks(&few[cut(rank)..cut(rank + 1)]));
            let found = together(kind, Manners::default(), &shares, |_| bodies.len());
            assert!(found == expected, "{size} ranks in {}", precision.name());
        }
    }
}

/// Prepares a system for sources with softenings, and writes some. Each has one that follows from
/// its mass.
fn write_softened(system: &mut System, sources: &[Body]) {
    system.prepare_softenings(true, 0).unwrap();
    for (address, source, _) in sources {
        system.set_softened_source(*address, source, 0.01 * source.mass).unwrap();
    }
}

/// Orders and precisions of systems whose sources have softenings, and the errors of their sums.
const SOFTENED: [(Kind, f64); 2] =
    [((Order::Second, Precision::Single, Scope::Full), 1e-6), ((Order::Fourth, Precision::Double, Scope::Full), 1e-13)];

#[test]
fn sources_have_their_softenings_on_all_ranks() {
    let bodies = bodies(1500);
    for (kind, tolerance) in SOFTENED {
        let mut one = system(kind);
        write_softened(&mut one, &bodies);
        let expected = force_alone(&mut one, bodies.len(), &sinks(&bodies));
        for size in [2, 3, 8] {
            let found = together_with(write_softened, kind, Manners::default(), &dealt(&bodies, size), nj);
            require_near(&found, &expected, tolerance);
        }
    }
}

#[test]
fn the_sources_of_all_ranks_feel_one_another_with_their_softenings() {
    let bodies = bodies(700);
    for (kind, tolerance) in SOFTENED {
        let mut one = system(kind);
        write_softened(&mut one, &bodies);
        one.start_all(bodies.len(), 0.0).unwrap();
        let expected = Found::of(&one.wait().unwrap());
        let parts = [&bodies[..400], &bodies[400..], &[]];
        let found = on_ranks(3, Manners::default(), |rank, communicator| {
            let mut system = over(communicator, kind);
            let own = parts[rank].iter().enumerate().map(|(address, (_, source, sink))| (address, *source, *sink));
            let own: Vec<Body> = own.collect();
            if !own.is_empty() {
                write_softened(system.own(), &own);
            }
            let mut start = |softening2: f64| {
                system.start(|system, into| {
                    system.sinks_of_all(into, own.len(), softening2)?;
                    Ok(asked(own.len(), false))
                })
            };
            let refused = start(0.5).unwrap_err().to_string();
            assert!(refused.contains("rank 0: the squared softening of sources that have softenings is '5e-1'"));
            start(0.0).unwrap();
            let mut found = Found::default();
            system.wait(Ok(()), |forces| found = Found::of(&forces)).unwrap();
            found
        });
        require_near(&found.into_iter().fold(Found::default(), Found::and), &expected, tolerance);
    }
}

#[test]
fn sources_of_all_ranks_have_softenings_or_none_has() {
    let bodies = bodies(90);
    let errors = on_ranks(4, Manners::default(), |rank, communicator| {
        let mut system = over(communicator, FULL);
        // The first rank has no sources, and may be of either kind.
        match rank {
            0 => (),
            1 => write(system.own(), &bodies[..30]),
            _ => write_softened(system.own(), &bodies[..30]),
        }
        let refused = start(&mut system, 30, &sinks(&bodies[..rank]));
        if rank == 1 {
            system.own().prepare_softenings(true, 30).unwrap();
            write_softened(system.own(), &bodies[..30]);
        }
        assert_eq!(force(&mut system, 30, &sinks(&bodies[..rank])).unwrap().nearest.len(), rank);
        refused
    });
    let words = "the squared softening of sources is 'given'; allowed: 'not given', as on rank 1";
    require_same_error(&errors, 2, ResultCode::BadOption, words);
}

#[test]
fn trees_over_ranks_take_no_softenings_of_sources() {
    let bodies = bodies(60);
    let errors = on_ranks(2, Manners::default(), |rank, communicator| {
        let mut system = over(communicator, (Order::Second, Precision::Double, Scope::Full));
        if rank == 1 {
            write_softened(system.own(), &bodies);
        }
        system.set_tree(Some(TreeAccuracy::Theta(0.5))).unwrap();
        let refused = start(&mut system, 60, &[]);
        system.set_tree(None).unwrap();
        force(&mut system, 60, &sinks(&bodies[..9])).unwrap();
        refused
    });
    let words = "trees over ranks with softenings of sources; it computes: full forces by direct sums";
    require_same_error(&errors, 1, ResultCode::Unsupported, words);
}

#[test]
fn late_ranks_and_short_messages_change_no_bit() {
    let bodies = bodies(300);
    let shares = dealt(&bodies, 3);
    let expected = together(FULL, Manners::default(), &shares, nj);
    for most_bytes in [1, 1000, 20_000] {
        let manners = Manners { most_bytes, is_late: true, fails_at: None };
        assert!(together(FULL, manners, &shares, nj) == expected, "{most_bytes}");
    }
}

#[test]
fn several_threads_of_a_rank_add_the_sums_on_many_sinks() {
    let (bodies, kind) = (bodies(9000), FULL);
    let sources = &bodies[..60];
    let expected = alone(kind, sources, &sinks(&bodies));
    let shares = [&bodies[..8500], &bodies[8500..]];
    let found = on_ranks(2, Manners::default(), |rank, communicator| {
        let made = System::new(&Setup { threads: 3, ..Setup::on_cpu(kind.0, kind.1) });
        let mut system = RankedSystem::over(Box::new(communicator), made).unwrap();
        write(system.own(), &sources[30 * rank..30 * (rank + 1)]);
        force(&mut system, 60, &sinks(shares[rank])).unwrap()
    });
    let all = found.into_iter().fold(Found::default(), Found::and);
    require_near(&all, &expected, 1e-13);
    assert!(all.nearest == expected.nearest);
}

/// Shares of 60 sources on three ranks, and of so many sinks that ranks exchange their sums in pieces.
fn in_pieces() -> (Vec<Body>, Vec<Share>) {
    let mut bodies = bodies(80_000);
    bodies.iter_mut().for_each(|(.., sink)| sink.radius2 = 0.0);
    let cuts = [0, 0, 55_000, 80_000];
    let shares =
        (0..3).map(|rank| (bodies[20 * rank..20 * (rank + 1)].to_vec(), sinks(&bodies[cuts[rank]..cuts[rank + 1]])));
    let shares = shares.collect();
    (bodies, shares)
}

#[test]
fn ranks_exchange_sums_on_many_sinks_in_pieces() {
    let (bodies, shares) = in_pieces();
    let sources = &bodies[..60];
    let expected = alone(FULL, sources, &sinks(&bodies));
    let found = together(FULL, Manners::default(), &shares, |_| 60);
    assert_eq!(found.nearest, expected.nearest);
    require_near(&found, &Found { lists: found.lists.clone(), ..expected.clone() }, 1e-13);
    let late = Manners { most_bytes: 1 << 20, is_late: true, fails_at: None };
    assert!(together(FULL, late, &shares, |_| 60) == found);
    // The sums of one rank alone have its bits, whichever piece a sink is in.
    let mut of_one = shares;
    of_one.iter_mut().for_each(|(sources, _)| sources.clear());
    of_one[1].0 = sources.to_vec();
    let found = together(FULL, Manners::default(), &of_one, <[Body]>::len);
    assert!((found.values, found.nearest) == (expected.values, expected.nearest));
}

#[test]
fn an_error_in_a_piece_is_that_of_all_ranks_and_names_the_sink() {
    let (_, mut shares) = in_pieces();
    let near = shares[2].0[3].1.coefficients[0];
    shares[2].0[3].1.mass = 1e300;
    // The second rank has the first 55000 sinks.
    shares[2].1[24_000].derivatives[0] = near.map(|component| component + 1e-9);
    shares[2].1[24_000].softening2 = 0.0;
    let errors = on_ranks(3, Manners::default(), |rank, communicator| {
        let mut system = over(communicator, FULL);
        write(system.own(), &shares[rank].0);
        let failed = force(&mut system, 60, &shares[rank].1);
        force(&mut system, 60, &shares[rank].1[..10.min(shares[rank].1.len())]).unwrap();
        failed.map(|_| ())
    });
    require_same_error(&errors, 2, ResultCode::OutOfRange, "a sum on sink 79000 of all ranks is");
}

#[test]
fn blocks_of_other_sizes_follow_one_another() {
    let bodies = bodies(200);
    let counts = [3_usize, 0, 200, 1, 77];
    let expected = counts.map(|count| alone(FULL, &bodies, &sinks(&bodies[..count])));
    let found = on_ranks(3, Manners::default(), |rank, communicator| {
        let mut system = over(communicator, FULL);
        write(system.own(), &dealt(&bodies, 3)[rank].0);
        counts.map(|count| {
            let own = &dealt(&bodies[..count], 3)[rank].1;
            force(&mut system, 200, own).unwrap()
        })
    });
    for (number, expected) in expected.iter().enumerate() {
        let all = found.iter().fold(Found::default(), |all, of_rank| all.and(of_rank[number].clone()));
        require_near(&all, expected, 1e-13);
    }
}

#[test]
fn a_wrong_argument_on_one_rank_ends_the_call_on_all_and_the_next_one_works() {
    let bodies = bodies(50);
    let shares = dealt(&bodies, 3);
    let expected = alone(FULL, &bodies, &sinks(&bodies));
    let found = on_ranks(3, Manners::default(), |rank, communicator| {
        let mut system = over(communicator, FULL);
        let (sources, sinks) = &shares[rank];
        write(system.own(), sources);
        let mut wrong = sinks.clone();
        if rank == 1 {
            wrong[2].derivatives[1][0] = f64::NAN;
        }
        let of_sink = start(&mut system, nj(sources), &wrong);
        start(&mut system, nj(sources), sinks).unwrap();
        let ready = if rank == 2 { Err(Error::NullArgument { argument: "forces" }) } else { Ok(()) };
        let of_forces = system.wait(ready, |_| panic!("no forces are written"));
        (of_sink, of_forces, force(&mut system, nj(sources), sinks).unwrap())
    });
    let of_sinks: Vec<_> = found.iter().map(|found| found.0.clone()).collect();
    require_same_error(&of_sinks, 1, ResultCode::NotFinite, "rank 1: the velocity of sink 2 is NaN");
    let of_forces: Vec<_> = found.iter().map(|found| found.1.clone()).collect();
    require_same_error(&of_forces, 2, ResultCode::NullArgument, "rank 2: forces is null");
    let all = found.into_iter().fold(Found::default(), |all, (.., found)| all.and(found));
    require_near(&all, &expected, 1e-13);
}

#[test]
fn what_has_to_be_equal_is_refused_where_it_is_not() {
    let errors = on_ranks(3, Manners::default(), |rank, communicator| {
        let order = if rank == 2 { Order::Sixth } else { Order::Fourth };
        let made = Ok(system((order, Precision::Double, Scope::Full)));
        RankedSystem::over(Box::new(communicator), made).map(|_| ())
    });
    require_same_error(&errors, 2, ResultCode::BadOption, "the order of the system is '6'; allowed: '4'");
    let errors = on_ranks(2, Manners::default(), |rank, communicator| {
        let failed = Error::DeviceFailed { device: "GPU".into(), reason: "it is hot".into() };
        let made = if rank == 1 { Err(failed) } else { Ok(system(FULL)) };
        RankedSystem::over(Box::new(communicator), made).map(|_| ())
    });
    require_same_error(&errors, 1, ResultCode::DeviceFailed, "rank 1: device GPU failed: it is hot");
    let errors = on_ranks(2, Manners::default(), |rank, communicator| {
        let mut system = over(communicator, FULL);
        system.own().set_time(rank as f64).unwrap();
        start(&mut system, 0, &[])
    });
    require_same_error(&errors, 1, ResultCode::BadOption, "the time is '1'; allowed: '0', as on rank 0");
    let zeros = on_ranks(2, Manners::default(), |rank, communicator| {
        let mut system = over(communicator, FULL);
        system.own().set_time(if rank == 0 { 0.0 } else { -0.0 }).unwrap();
        force(&mut system, 0, &[])
    });
    assert!(zeros.iter().all(Result::is_ok), "zeros of both signs are one time: {zeros:?}");
    let errors = on_ranks(2, Manners::default(), |rank, communicator| {
        let mut system = over(communicator, FULL);
        system.start(|_, _| Ok(Asked { skip_own_index: rank == 0, ..asked(0, false) }))
    });
    require_same_error(&errors, 1, ResultCode::BadOption, "none is left out");
}

#[test]
fn calls_in_another_order_end_on_all_ranks() {
    let errors = on_ranks(3, Manners::default(), |rank, communicator| {
        let mut system = over(communicator, FULL);
        if rank == 1 { system.wait(Ok(()), |_| ()) } else { start(&mut system, 0, &[]) }
    });
    require_same_error(&errors, 1, ResultCode::CallOrder, "rank 1: it waits for a block where rank 0 starts a block");
    let errors = on_ranks(2, Manners::default(), |_, communicator| over(communicator, FULL).wait(Ok(()), |_| ()));
    require_same_error(&errors, 0, ResultCode::CallOrder, "wait was called without start");
    let (_, shares) = in_pieces();
    let errors = on_ranks(3, Manners::default(), |rank, communicator| {
        let mut system = over(communicator, FULL);
        write(system.own(), &shares[rank].0);
        start(&mut system, 60, &shares[rank].1).unwrap();
        let other = if rank == 1 { start(&mut system, 0, &[]) } else { system.wait(Ok(()), |_| ()) };
        // The block of the others has ended.
        let _ = system.wait(Ok(()), |_| ());
        force(&mut system, 60, &shares[rank].1[..7.min(shares[rank].1.len())]).unwrap();
        other
    });
    require_same_error(&errors, 1, ResultCode::CallOrder, "rank 1: it starts a block where rank 0 waits for a block");
}

/// Whichever exchange fails, on whichever rank: all ranks return, now and from then on.
#[test]
fn no_rank_waits_for_one_that_failed_or_left() {
    let bodies = bodies(40);
    let few = dealt(&bodies, 3);
    let (_, many) = in_pieces();
    let mut outcomes = Vec::new();
    for (shares, fails_at) in (0..9).map(|number| (&few, number)).chain((4..12).map(|number| (&many, number))) {
        let found = on_ranks(3, Manners::default(), |rank, mut communicator| {
            communicator.manners.fails_at = (rank == 1).then_some(fails_at);
            let made = RankedSystem::over(Box::new(communicator), Ok(system(FULL)));
            let mut system = made?;
            write(system.own(), &shares[rank].0);
            let first = force(&mut system, nj(&shares[rank].0), &shares[rank].1);
            let again = force(&mut system, nj(&shares[rank].0), &shares[rank].1);
            assert!(first.is_ok() || again.is_err());
            first.and(again).map(|_| ())
        });
        outcomes.push(found.iter().any(Result::is_err));
        let errors = found.iter().filter_map(|found| found.as_ref().err());
        errors.for_each(|error| assert_eq!(error.code(), ResultCode::CommunicatorFailed, "{error}"));
    }
    assert!(outcomes.iter().all(|failed| *failed));
    let found = on_ranks(3, Manners::default(), |rank, communicator| {
        let mut system = over(communicator, FULL);
        if rank == 2 { Ok(Found::default()) } else { force(&mut system, 0, &[]) }
    });
    assert_eq!(found.iter().filter(|found| found.is_err()).count(), 2);
}

#[test]
fn a_rank_that_panics_ends_the_work_of_all() {
    let aborted = on_ranks(2, Manners::default(), |rank, communicator| {
        let aborts = communicator.aborts();
        let mut system = over(communicator, FULL);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            system.start(|_, _| if rank == 1 { panic!("of a test") } else { Ok(asked(0, false)) })
        }));
        assert!(!matches!(caught, Ok(Ok(()))));
        // The other rank has not left yet, or it was aborted first.
        (rank == 0) | aborts()
    });
    assert_eq!(aborted, [true, true]);
}

#[test]
fn quad_and_lists_over_ranks_are_refused() {
    let errors = on_ranks(2, Manners::default(), |_, communicator| {
        let made = Ok(system((Order::Fourth, Precision::Quad, Scope::Full)));
        RankedSystem::over(Box::new(communicator), made).map(|_| ())
    });
    require_same_error(&errors, 0, ResultCode::Unsupported, "over ranks");
    let refused = on_ranks(1, Manners::default(), |_, communicator| {
        over(communicator, FULL).alone("interaction lists").map(|_| ()).unwrap_err().to_string()
    });
    assert!(refused[0].contains("interaction lists over ranks"), "{refused:?}");
}
