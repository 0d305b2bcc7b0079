//! Interaction lists over ranks, which are threads here, against lists of one process.

mod common;

use kyoho_core::{Error, MAX_DERIVATIVES, Nearest, Order, Precision, Result, ResultCode, Sink, Source};
use kyoho_engine::lists::{Division, GivenBodies, GivenColumns, GivenLists, GivenSources, SourceDivision};
use kyoho_engine::{Setup, System};
use kyoho_ranks::RankedSystem;
use kyoho_ranks::threads::{Manners, ThreadRank, on_ranks};

use common::require_same_error;

/// The lists of a call: the sinks of each group, and its sources as addresses, or as a first one and
/// a count.
#[derive(Debug, Clone, Default)]
struct Lists {
    sinks: Vec<Sink>,
    groups: Vec<usize>,
    sources: Vec<Vec<i32>>,
    by_ranges: bool,
}

impl Lists {
    /// Hands the lists over as callers have them.
    fn give<R>(&self, take: impl FnOnce(&GivenBodies, &GivenLists) -> R) -> R {
        let vectors: [Vec<f64>; MAX_DERIVATIVES] =
            std::array::from_fn(|k| self.sinks.iter().flat_map(|sink| sink.derivatives[k]).collect());
        let vectors = vectors
            .each_ref()
            .map(|v| move |first: usize, to: &mut [f64]| to.copy_from_slice(&v[3 * first..][..to.len()]));
        let indices = |first: usize, to: &mut [i32]| {
            to.iter_mut().zip(&self.sinks[first..]).for_each(|(index, sink)| *index = sink.index);
        };
        let mut columns = GivenColumns { indices: Some(&indices), ..GivenColumns::default() };
        columns.derivatives.iter_mut().zip(&vectors).for_each(|(column, vector)| *column = Some(vector));
        let bodies = GivenBodies { count: self.sinks.len(), columns, softening2: 1e-4, on_device: None };
        let sinks = |number: usize| self.groups[..number].iter().sum::<usize>() as i64;
        let offsets = |number: usize| self.sources[..number].iter().map(Vec::len).sum::<usize>() as i64;
        let ranges = |group: usize| [self.sources[group][0], self.sources[group][1]];
        let all: Vec<i32> = self.sources.iter().flatten().copied().collect();
        let addresses = |first: usize, to: &mut [i32]| to.copy_from_slice(&all[first..][..to.len()]);
        let (sources, given) = match self.by_ranges {
            true => (SourceDivision::Ranges(&ranges), GivenSources::Ranges),
            false => (SourceDivision::Offsets(&offsets), GivenSources::Addresses(&addresses)),
        };
        let division = Division::Host { sinks: &sinks, sources };
        take(&bodies, &GivenLists { groups: self.groups.len(), division, sources: given })
    }
}

fn sink(index: i32, derivatives: [[f64; 3]; MAX_DERIVATIVES]) -> Sink {
    Sink { index, softening2: 1e-4, radius2: 0.0, step: 0.0, derivatives }
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }

    fn vector(&mut self) -> [f64; 3] {
        [0; 3].map(|_: i32| self.below(1 << 20) as f64 / f64::from(1 << 20) - 0.5)
    }

    fn lists(&mut self, end: usize, by_ranges: bool) -> Lists {
        let mut lists = Lists { by_ranges, ..Lists::default() };
        for _ in 0..self.below(9) {
            let sinks = self.below(4);
            lists.groups.push(sinks);
            for _ in 0..sinks {
                let derivatives = [self.vector(), self.vector(), self.vector(), [0.0; 3]];
                lists.sinks.push(sink(self.below(end) as i32, derivatives));
            }
            lists.sources.push(match by_ranges {
                true => {
                    let first = self.below(end);
                    vec![first as i32, self.below(end - first + 1) as i32]
                }
                false => (0..self.below(20)).map(|_| self.below(end) as i32).collect(),
            });
        }
        lists
    }

    fn source(&mut self, index: usize) -> Source {
        let mut coefficients = [[0.0; 3]; 8];
        coefficients[..3].fill_with(|| self.vector());
        Source { index: index as i32, mass: 1.0 + self.below(8) as f64, time: 0.0, coefficients }
    }
}

fn system(order: Order) -> System {
    System::new(&Setup { threads: 1, ..Setup::on_cpu(order, Precision::Double) }).unwrap()
}

/// The sums on sinks and their nearest sources.
type Found = (Vec<f64>, Vec<Nearest>);

fn alone(order: Order, sources: &[(usize, Source)], lists: &Lists) -> Found {
    let mut system = system(order);
    sources.iter().for_each(|(address, source)| system.set_source(*address, source).unwrap());
    lists.give(|sinks, given| system.start_lists(true, sinks, given)).unwrap();
    let forces = system.wait().unwrap();
    (forces.values.to_vec(), forces.nearest.to_vec())
}

fn start(system: &mut RankedSystem, lists: &Lists) -> Result<()> {
    system.start_lists(|system, end, into| {
        lists.give(|sinks, given| system.copy_lists(into, sinks, given, end))?;
        Ok(true)
    })
}

fn force(system: &mut RankedSystem, lists: &Lists) -> Result<Found> {
    start(system, lists)?;
    let mut found = Found::default();
    system.wait(Ok(()), |forces| found = (forces.values.to_vec(), forces.nearest.to_vec()))?;
    Ok(found)
}

/// Sources with their addresses.
type Sources = Vec<(usize, Source)>;

/// Sources of each rank, some addresses of which are left out, all with the addresses that they have
/// among all, and the end of these.
fn shares(random: &mut Random, size: usize) -> (Vec<Sources>, Sources, usize) {
    let (mut shares, mut all, mut end) = (vec![Vec::new(); size], Vec::new(), 0);
    for (rank, share) in shares.iter_mut().enumerate() {
        // The second rank has none.
        let count = if rank == 1 { 0 } else { 1 + random.below(40) };
        for address in 0..count {
            if address + 1 == count || random.below(5) > 0 {
                let source = random.source(end + address);
                share.push((address, source));
                all.push((end + address, source));
            }
        }
        end += count;
    }
    (shares, all, end)
}

fn over(communicator: ThreadRank, order: Order, sources: &[(usize, Source)]) -> RankedSystem {
    let mut system = RankedSystem::over(Box::new(communicator), Ok(system(order))).unwrap();
    sources.iter().for_each(|(address, source)| system.own().set_source(*address, source).unwrap());
    system
}

#[test]
fn ranks_find_what_one_process_finds() {
    let mut random = Random(7);
    for (case, order) in Order::ALL.into_iter().cycle().take(24).enumerate() {
        let size = [1, 2, 3, 7][case / 2 % 4];
        let (shares, all, end) = shares(&mut random, size);
        let by_ranges = [true, false, case % 3 == 0];
        // Some calls have ranges on all ranks, some on none, some on a few.
        let calls: Vec<Vec<Lists>> = (0..3)
            .map(|call| (0..size).map(|rank| random.lists(end, by_ranges[call] ^ (call == 2 && rank == 0))).collect())
            .collect();
        let late = Manners { most_bytes: [1 << 30, 64, 1000][case % 3], is_late: case % 5 == 4, fails_at: None };
        let found = on_ranks(size, late, |rank, communicator| {
            let mut system = over(communicator, order, &shares[rank]);
            calls.iter().map(|lists| force(&mut system, &lists[rank]).unwrap()).collect::<Vec<_>>()
        });
        for (call, lists) in calls.iter().enumerate() {
            for (rank, lists) in lists.iter().enumerate() {
                let (values, nearest) = alone(order, &all, lists);
                assert_eq!(found[rank][call].1, nearest, "{order:?}, {size} ranks");
                let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
                for (found, expected) in found[rank][call].0.iter().zip(&values) {
                    assert!((found - expected).abs() <= 1e-13 * largest, "{found} for {expected}");
                    assert!(size > 1 || found.to_bits() == expected.to_bits());
                }
                assert_eq!(found[rank][call].0.len(), values.len());
            }
        }
    }
}

#[test]
fn a_wrong_list_of_one_rank_is_an_error_of_all_and_the_next_call_works() {
    let mut random = Random(3);
    let (shares, all, end) = shares(&mut random, 3);
    let sink = sink(-1, [[0.1, 0.2, 0.3], [0.0; 3], [0.0; 3], [0.0; 3]]);
    let right = Lists { sinks: vec![sink], groups: vec![1], sources: vec![vec![0, end as i32 - 1]], by_ranges: false };
    let mut beyond = right.clone();
    beyond.sources[0][1] = end as i32;
    let mut no_number = right.clone();
    no_number.sinks[0].derivatives[0][1] = f64::NAN;
    for (wrong, code, words) in [
        (&beyond, ResultCode::BadAddress, format!("{end}")),
        (&no_number, ResultCode::NotFinite, "the position of sink 0 is NaN".into()),
    ] {
        let found = on_ranks(3, Manners::default(), |rank, communicator| {
            let mut system = over(communicator, Order::Fourth, &shares[rank]);
            let refused = start(&mut system, if rank == 2 { wrong } else { &right });
            (refused, force(&mut system, &right).unwrap())
        });
        let refused: Vec<_> = found.iter().map(|found| found.0.clone()).collect();
        require_same_error(&refused, 2, code, &words);
        let expected = alone(Order::Fourth, &all, &right);
        assert!(found.iter().all(|(_, found)| found.1 == expected.1));
    }
    let errors = on_ranks(2, Manners::default(), |rank, communicator| {
        let mut system = over(communicator, Order::Fourth, &[]);
        system.start_lists(|_, _, _| Ok(rank == 0))
    });
    require_same_error(&errors, 1, ResultCode::BadOption, "none is left out");
    let errors = on_ranks(2, Manners::default(), |_, communicator| {
        let mut system = over(communicator, Order::Fourth, &[]);
        start(&mut system, &Lists::default()).unwrap();
        let other = start(&mut system, &Lists::default());
        system.wait(Ok(()), |forces| assert!(forces.is_empty())).unwrap();
        other
    });
    require_same_error(&errors, 0, ResultCode::CallOrder, "while a block is under way");
}

/// Whichever exchange fails, on whichever rank: all ranks return, now and from then on.
#[test]
fn no_rank_waits_for_one_that_failed() {
    let mut random = Random(5);
    let (shares, _, end) = shares(&mut random, 3);
    let lists: Vec<Lists> = (0..3).map(|_| random.lists(end, false)).collect();
    for fails_at in 2..12 {
        let found = on_ranks(3, Manners::default(), |rank, mut communicator| {
            communicator.manners.fails_at = (rank == 1).then_some(fails_at);
            let mut system = over(communicator, Order::Fourth, &shares[rank]);
            let first = force(&mut system, &lists[rank]);
            first.and(force(&mut system, &lists[rank])).map(|_| ())
        });
        let errors: Vec<&Error> = found.iter().filter_map(|found| found.as_ref().err()).collect();
        assert!(!errors.is_empty(), "{fails_at}");
        errors.iter().for_each(|error| assert_eq!(error.code(), ResultCode::CommunicatorFailed, "{error}"));
    }
}
