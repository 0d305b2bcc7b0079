//! Systems over ranks of which one has a device that fails.

mod fakes;

use std::thread;

use fakes::{At, Fakes, How, order_4_double};

use kyoho::{Setup, System};
use kyoho_core::sinks::FromFn;
use kyoho_core::{Error, NeighbourCriterion, Order, Result, ResultCode, Sink, SinkOrder, Source, TreeAccuracy};
use kyoho_hal::Backend;
use kyoho_ranks::threads::{Manners, ThreadRank, on_ranks};
use kyoho_ranks::{Asked, RankedSystem};
use kyoho_verify::models::{grid, sinks_of};

const RANKS: usize = 3;

/// The numbers of the forces on the sinks of a rank, and its neighbour lists.
type Found = Result<(Vec<f64>, Vec<Vec<i32>>)>;

fn setup(fall_back: bool) -> Setup {
    Setup { backend: Backend::Cuda, devices: vec![0], threads: 1, fall_back, ..order_4_double() }
}

/// Returns sinks with neighbours.
fn sinks(sources: &[Source]) -> Vec<Sink> {
    let mut sinks = sinks_of(&sources[..12], 0.01);
    sinks.iter_mut().for_each(|sink| sink.radius2 = 4.0);
    sinks
}

fn start(system: &mut RankedSystem, nj: usize, sinks: &[Sink]) -> Result<()> {
    system.start(|system, into| {
        let scan = system.copy_sinks(into, sinks.len(), &FromFn(|number| sinks[number]))?;
        let neighbour_criterion = NeighbourCriterion::default();
        Ok(Asked { nj, skip_own_index: true, neighbour_criterion, radius: scan.radius })
    })
}

fn force(system: &mut RankedSystem, nj: usize, sinks: &[Sink]) -> Found {
    start(system, nj, sinks)?;
    let mut values = Vec::new();
    system.wait(Ok(()), |forces| values = forces.values.to_vec())?;
    let lists = (0..sinks.len()).map(|sink| system.neighbours(sink).map(<[i32]>::to_vec)).collect::<Result<_>>()?;
    Ok((values, lists))
}

/// Runs two blocks on ranks, in the first of which a device of rank 1 fails; where that is the
/// caller's failure, its devices are opened anew in between. Returns what each rank has of both.
fn two_blocks(fakes: &Fakes, fall_back: bool) -> Vec<(Found, Found)> {
    let sources = grid(1, 300);
    let all = sinks(&sources);
    let rank = |rank: usize, communicator: ThreadRank| {
        let machine = if rank == 1 { fakes.clone() } else { Fakes::new(50) };
        let made = System::on(Box::new(machine), &setup(fall_back));
        let mut system = RankedSystem::over(Box::new(communicator), made).unwrap();
        let own: Vec<Source> = sources.iter().skip(rank).step_by(RANKS).copied().collect();
        own.iter().enumerate().for_each(|(address, source)| system.own().set_source(address, source).unwrap());
        let own_sinks = &all[4 * rank..4 * rank + 4];
        let first = force(&mut system, own.len(), own_sinks);
        if rank == 1 && !fall_back {
            system.own().move_to(&setup(fall_back)).unwrap();
        }
        (first, force(&mut system, own.len(), own_sinks))
    };
    thread::scope(|scope| {
        let ranks = ThreadRank::all(RANKS).into_iter().enumerate();
        let threads: Vec<_> =
            ranks.map(|(number, communicator)| scope.spawn(move || rank(number, communicator))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn a_device_that_fails_on_one_rank_ends_the_block_on_all_and_the_next_one_works() {
    let expected = two_blocks(&Fakes::new(50), false);
    for at in [At::Start, At::Wait, At::Neighbours] {
        for how in [How::Breaks, How::RunsOutOfMemory] {
            let fakes = Fakes::new(50);
            fakes.fail(at, 0, how);
            let found = two_blocks(&fakes, false);
            let code = if how == How::Breaks { ResultCode::DeviceFailed } else { ResultCode::OutOfMemory };
            for ((first, second), (_, expected)) in found.iter().zip(&expected) {
                let error = first.as_ref().unwrap_err();
                assert!(matches!(error, Error::OfRank { rank: 1, .. }) && error.code() == code, "{at:?}: {error}");
                assert_eq!(second, expected, "{at:?} {how:?}");
            }
        }
    }
}

#[test]
fn where_another_backend_goes_on_no_rank_sees_a_failure() {
    let expected = two_blocks(&Fakes::new(50), false);
    for at in [At::Start, At::Wait, At::Neighbours] {
        let fakes = Fakes::new(50);
        fakes.fail(at, 0, How::Breaks);
        for (found, expected) in two_blocks(&fakes, true).into_iter().zip(&expected) {
            assert_eq!(found, *expected, "{at:?}");
        }
    }
}

/// Returns the forces of each rank on so many sinks that ranks exchange them in pieces. A device of
/// rank 1 has what `fakes` says.
fn many_sinks(fakes: &Fakes, devices: &[usize], fall_back: bool) -> Vec<Result<Vec<f64>>> {
    let sources = grid(1, 6);
    let sinks: Vec<Sink> = sinks_of(&sources, 0.01).into_iter().cycle().take(22_000).collect();
    on_ranks(3, Manners::default(), |rank, communicator| {
        let machine = if rank == 1 { fakes.clone() } else { Fakes::new(50) };
        let made = System::on(Box::new(machine), &Setup { devices: devices.to_vec(), ..setup(fall_back) });
        let mut system = RankedSystem::over(Box::new(communicator), made).unwrap();
        system.own().set_source(0, &sources[rank]).unwrap();
        start(&mut system, 1, &sinks)?;
        let mut values = Vec::new();
        system.wait(Ok(()), |forces| values = forces.values.to_vec())?;
        Ok(values)
    })
}

#[test]
fn a_device_that_fails_after_some_pieces_were_exchanged_changes_no_force() {
    let expected = many_sinks(&Fakes::new(50), &[0], false);
    assert!(expected.iter().all(Result::is_ok));
    // Several devices hand in their ranges of sinks by turns.
    for devices in [&[0][..], &[0, 1]] {
        assert!(many_sinks(&Fakes::new(50).with_pieces_of(1 << 13), devices, false) == expected, "{devices:?}");
    }
    for at in [At::Part, At::Wait] {
        for number in [0, 2, 4] {
            let fakes = Fakes::new(50).with_pieces_of(1 << 13);
            fakes.fail(at, number, How::Breaks);
            assert!(many_sinks(&fakes, &[0, 1], true) == expected, "{at:?} {number}");
        }
    }
}

#[test]
fn walks_without_a_stack_are_refused_over_ranks_and_the_next_block_works() {
    let rank = |rank: usize, communicator: ThreadRank| {
        let setup = Setup { order: Order::Second, backend: Backend::Cpu, ..setup(false) };
        let made = System::on(Box::new(Fakes::new(50)), &setup);
        let mut system = RankedSystem::over(Box::new(communicator), made).unwrap();
        let walk = TreeAccuracy::Stackless { theta: 0.5, sinks: SinkOrder::Given };
        system.set_tree((rank == 1).then_some(walk)).unwrap();
        let refused = start(&mut system, 0, &[]).unwrap_err();
        assert!(matches!(refused, Error::OfRank { rank: 1, .. }), "{refused}");
        assert_eq!(refused.code(), ResultCode::Unsupported, "{refused}");
        assert!(refused.to_string().contains("walks without a stack over ranks"), "{refused}");
        system.set_tree(None).unwrap();
        start(&mut system, 0, &[]).unwrap();
        system.wait(Ok(()), |forces| assert!(forces.is_empty())).unwrap();
    };
    thread::scope(|scope| {
        for (number, communicator) in ThreadRank::all(2).into_iter().enumerate() {
            let rank = &rank;
            scope.spawn(move || rank(number, communicator));
        }
    });
}
