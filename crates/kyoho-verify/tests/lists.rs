//! Forces on groups of sinks, each with its own sources, and of many systems at once.

mod fakes;

use fakes::{At, Fakes, How, order_4_double};

use kyoho::{Setup, System};
use kyoho_core::{Assignment, Forces, Partition, Result, ResultCode, Sink, Source};
use kyoho_engine::lists::{Division, GivenBodies, GivenLists, GivenSources, SourceDivision};
use kyoho_hal::Backend;
use kyoho_verify::models::{at, grid, sink_at, sinks_of};
use kyoho_verify::{Findings, PlainBatch, PlainLists, PlainSources, Target, Twin, hand_over_sinks};

/// Makes a system of order 4 in double on the CPU, with sources of mass 1 at some places on a line,
/// whose indices are their addresses.
fn on_a_line(places: &[f64]) -> System {
    let mut system = System::new(&order_4_double()).unwrap();
    for (address, x) in places.iter().enumerate() {
        system.set_source(address, &at(address as i32, [*x, 0.0, 0.0])).unwrap();
    }
    system
}

/// Returns a sink on that line.
fn sink(index: i32, x: f64) -> Sink {
    sink_at(index, [x, 0.0, 0.0], 0.0)
}

/// Returns the potentials and the accelerations along the line.
fn found(forces: Forces) -> Vec<[f64; 2]> {
    (0..forces.len()).map(|sink| [forces.potential(sink), forces.acceleration(sink)[0]]).collect()
}

#[test]
fn on_a_group_act_the_sources_in_its_range_of_addresses() {
    let mut system = on_a_line(&[0.0, 1.0, 2.0, 4.0]);
    // The first group has two sinks and two sources, the second one sink and all sources, of which
    // one is the sink itself.
    let sinks = [sink(-1, 3.0), sink(-2, 8.0), sink(1, 1.0)];
    let sink_offsets = [0, 2, 3];
    let (first_addresses, counts) = ([2, 0], [2, 4]);
    let given = GivenLists {
        groups: 2,
        division: Division::Host {
            sinks: &|number| sink_offsets[number],
            sources: SourceDivision::Ranges(&|group| [first_addresses[group], counts[group]]),
        },
        sources: GivenSources::Ranges,
    };
    hand_over_sinks(&sinks, |sinks| system.start_lists(true, sinks, &given)).unwrap();
    let forces = system.wait().unwrap();
    assert_eq!(forces.nearest(1).map(|nearest| nearest.index), Some(3));
    let expected = [
        [-1.0 - 1.0, -1.0 + 1.0],
        [-1.0 / 6.0 - 1.0 / 4.0, -1.0 / 36.0 - 1.0 / 16.0],
        [-1.0 - 1.0 - 1.0 / 3.0, -1.0 + 1.0 + 1.0 / 9.0],
    ];
    for (found, expected) in found(forces).iter().zip(expected) {
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-15), "{found:?}");
    }
}

#[test]
fn a_source_acts_as_often_as_its_address_is_in_a_list() {
    let mut system = on_a_line(&[0.0, 1.0, 2.0, 4.0]);
    // Nothing was ever written to the address 4.
    system.set_source(5, &at(5, [-1.0, 0.0, 0.0])).unwrap();
    let addresses = [2, 4, 2, 0, 5];
    let (sink_offsets, source_offsets) = ([0, 1, 2], [0, 3, 5]);
    let given = GivenLists {
        groups: 2,
        division: Division::Host {
            sinks: &|number| sink_offsets[number],
            sources: SourceDivision::Offsets(&|number| source_offsets[number]),
        },
        sources: GivenSources::Addresses(&|first, to| to.copy_from_slice(&addresses[first..][..to.len()])),
    };
    let sinks = [sink(-1, 0.0); 2];
    hand_over_sinks(&sinks, |sinks| system.start_lists(true, sinks, &given)).unwrap();
    // The second sink is where its first source is; without softening the two do not feel each
    // other.
    assert_eq!(found(system.wait().unwrap()), [[-1.0, 0.5], [-1.0, -1.0]]);
}

/// Copies numbers from a place on.
fn copy<T: Copy>(from: &[T], first: usize, to: &mut [T]) {
    to.copy_from_slice(&from[first..][..to.len()]);
}

#[test]
fn sources_may_come_with_the_call() {
    let mut system = on_a_line(&[]);
    let (masses, times) = ([1.0, 2.0, 4.0], [0.0, 0.0, 1.0]);
    let positions = [1.0, 0.0, 0.0, -2.0, 0.0, 0.0, 6.0, 0.0, 0.0];
    let velocities = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -2.0, 0.0, 0.0];
    let (positions, velocities) = (
        |first: usize, to: &mut [f64]| copy(&positions, 3 * first, to),
        |first: usize, to: &mut [f64]| copy(&velocities, 3 * first, to),
    );
    let (masses, times) = (
        |first: usize, to: &mut [f64]| copy(&masses, first, to),
        |first: usize, to: &mut [f64]| copy(&times, first, to),
    );
    let mut sources = GivenBodies { count: 3, ..GivenBodies::default() };
    sources.columns.derivatives[..2].copy_from_slice(&[Some(&positions), Some(&velocities)]);
    sources.columns.masses = Some(&masses);
    sources.columns.times = Some(&times);
    let source_offsets = [0, 1, 3];
    let given = GivenLists {
        groups: 2,
        division: Division::Host {
            sinks: &|number| number as i64,
            sources: SourceDivision::Offsets(&|number| source_offsets[number]),
        },
        sources: GivenSources::Own(sources),
    };
    // At the time 3 the last source is at 2. Without indices a source has its number, so that the
    // second sink does not feel the source 1.
    system.set_time(3.0).unwrap();
    let sinks = [sink(10, 0.0), sink(1, 0.0)];
    hand_over_sinks(&sinks, |sinks| system.start_lists(true, sinks, &given)).unwrap();
    assert_eq!(found(system.wait().unwrap()), [[-1.0, 1.0], [-2.0, 1.0]]);
    assert_eq!(system.statistics().sources, 0, "they are not kept");
}

#[test]
fn the_bodies_of_a_batch_feel_the_others_of_their_system() {
    let mut system = on_a_line(&[0.5; 10]);
    let masses = [1.0, 4.0, 8.0, 1.0, 1.0, 1.0];
    let positions = [0.0, 2.0, 2.0, 0.0, 1.0, 3.0].map(|x| [x, 0.0, 0.0]);
    let positions = |first: usize, to: &mut [f64]| copy(positions.as_flattened(), 3 * first, to);
    let masses = |first: usize, to: &mut [f64]| copy(&masses, first, to);
    // Systems of two, one and three bodies; the last body has a softening length of 2.
    let offsets = [0, 2, 3, 6];
    let softening2 = [0.0, 0.0, 0.0, 0.0, 0.0, 4.0];
    let softening2 = |first: usize, to: &mut [f64]| copy(&softening2, first, to);
    let mut bodies = GivenBodies { count: 6, ..GivenBodies::default() };
    bodies.columns.derivatives[0] = Some(&positions);
    bodies.columns.masses = Some(&masses);
    bodies.columns.softening2 = Some(&softening2);
    let offsets = |number| offsets[number];
    let division = Division::Host { sinks: &offsets, sources: SourceDivision::Offsets(&offsets) };
    system.start_batch(3, division, &bodies).unwrap();
    let forces = found(system.wait().unwrap());
    assert_eq!(forces[..3], [[-2.0, 1.0], [-0.5, -0.25], [0.0, 0.0]]);
    assert_eq!(forces[4], [-1.5, -0.75]);
    let expected = [-1.0 / 8f64.sqrt() - 1.0 / 13f64.sqrt(), -2.0 / 8f64.powf(1.5) - 3.0 / 13f64.powf(1.5)];
    assert!(forces[5].iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-15), "{forces:?}");
}

/// Returns a system of 60 sources, sinks, and lists of two groups of 3 and 5 of these.
fn two_groups() -> (System, Vec<Sink>, PlainLists) {
    let sources = grid(1, 60);
    let mut system = System::new(&order_4_double()).unwrap();
    sources.iter().enumerate().for_each(|(k, source)| system.set_source(k, source).unwrap());
    (system, sinks_of(&sources[..8], 0.0), PlainLists::of_addresses(&[(3, vec![9, 8]), (5, vec![1, 2, 30])]))
}

#[test]
fn an_error_names_what_was_wrong_and_what_is_allowed() {
    let (mut system, sinks, lists) = two_groups();
    let sink_offsets = |offsets: [i64; 3]| PlainLists { sink_offsets: offsets.into(), ..lists.clone() };
    let source_offsets = |offsets: [i64; 3]| PlainLists { source_offsets: offsets.into(), ..lists.clone() };
    let addresses =
        |addresses: [i32; 5]| PlainLists { sources: PlainSources::Addresses(addresses.into()), ..lists.clone() };
    let range = |range: [i32; 2]| PlainLists { sources: PlainSources::Ranges(vec![[0, 60], range]), ..lists.clone() };
    for (lists, code, words) in [
        (sink_offsets([1, 3, 8]), ResultCode::BadCount, "the sink offset 0 is 1; allowed: 0"),
        (
            sink_offsets([0, 9, 8]),
            ResultCode::BadCount,
            "the sink offset 1 is 9; allowed: 0 (the offset before it) to 8",
        ),
        (
            sink_offsets([0, 3, 2]),
            ResultCode::BadCount,
            "the sink offset 2 is 2; allowed: 3 (the offset before it) to 8",
        ),
        (sink_offsets([0, 3, 7]), ResultCode::BadCount, "is 7; allowed: 8, the number of sinks"),
        (source_offsets([-1, 2, 5]), ResultCode::BadCount, "the source offset 0 is -1; allowed: 0"),
        (
            source_offsets([0, 2, 1]),
            ResultCode::BadCount,
            "the source offset 2 is 1; allowed: 2 (the offset before it) to",
        ),
        (
            addresses([9, 8, 1, 60, -5]),
            ResultCode::BadAddress,
            "address 1 of group 1 is 60; allowed: 0 to 59 (the highest that was written)",
        ),
        (addresses([9, -8, 1, 60, 30]), ResultCode::BadAddress, "address 1 of group 0 is -8; allowed: 0 to 59"),
        (range([0, -1]), ResultCode::BadCount, "the source count of group 1 is -1; allowed: 0 to 2147483647"),
        (range([-1, 2]), ResultCode::BadAddress, "the first address of group 1 is -1; allowed: 0 to 59"),
        (range([58, 3]), ResultCode::BadAddress, "the last address of group 1 is 60; allowed: 0 to 59"),
    ] {
        let error = lists.start(&mut system, true, &sinks).unwrap_err();
        assert_eq!(error.code(), code);
        assert!(error.to_string().contains(words), "{error}, expected: {words}");
    }
    let mut empty = System::new(&order_4_double()).unwrap();
    let error = lists.start(&mut empty, true, &sinks).unwrap_err();
    assert_eq!(error.to_string(), "address 0 of group 0 is 9; allowed: none, as no source was written");
}

#[test]
fn an_error_in_a_batch_names_its_bodies() {
    let mut system = System::new(&order_4_double()).unwrap();
    let start = |system: &mut System, offsets: &[i64], mass: f64| {
        let masses = |_: usize, to: &mut [f64]| to.fill(mass);
        let positions = |_: usize, to: &mut [f64]| to.fill(0.5);
        let mut bodies = GivenBodies { count: 4, ..GivenBodies::default() };
        bodies.columns.derivatives[0] = Some(&positions);
        bodies.columns.masses = Some(&masses);
        let offset = |number: usize| offsets[number];
        let division = Division::Host { sinks: &offset, sources: SourceDivision::Offsets(&offset) };
        let error = system.start_batch(offsets.len() - 1, division, &bodies).unwrap_err();
        error.to_string()
    };
    let allowed = "allowed: 2 (the offset before it) to 4 (the number of bodies)";
    assert_eq!(start(&mut system, &[0, 2, 1, 4], 1.0), format!("the offset 2 is 1; {allowed}"));
    let last = "the offset 2, the last, is 3; allowed: 4, the number of bodies";
    assert_eq!(start(&mut system, &[0, 2, 3], 1.0), last);
    assert_eq!(start(&mut system, &[0, 4], f64::NAN), "the mass of body 0 is NaN; allowed: finite numbers");
}

#[test]
fn more_sinks_than_there_are_numbers_for_are_an_error() {
    let (mut system, sinks, _) = two_groups();
    for count in [1 << 31, 1 << 32, 1 << 40] {
        let division =
            Division::Host { sinks: &|number| number as i64 * count, sources: SourceDivision::Ranges(&|_| [0, 1]) };
        let given = GivenLists { groups: 1, division, sources: GivenSources::Ranges };
        let many =
            |sinks: &GivenBodies| system.start_lists(true, &GivenBodies { count: count as usize, ..*sinks }, &given);
        let error = hand_over_sinks(&sinks, many).unwrap_err();
        assert_eq!(error.to_string(), format!("the number of sinks is {count}; allowed: 0 to 2147483647"));
        assert_eq!(error.code(), ResultCode::BadCount);
    }
}

#[test]
fn the_pairs_of_lists_are_counted() {
    let (mut system, sinks, lists) = two_groups();
    lists.start(&mut system, true, &sinks).unwrap();
    system.wait().unwrap();
    let counts = system.statistics();
    assert_eq!((counts.blocks, counts.sinks, counts.interactions), (1, 8, 3 * 2 + 5 * 3));
}

/// Returns a target of order 4 in double on some CUDA devices of fakes, among which the groups are
/// divided however few they are.
fn on_fakes(devices: &[usize], fall_back: bool) -> Target {
    let (devices, partition) = (devices.to_vec(), Some(Partition { ranges: devices.len(), sets: 1 }));
    let setup = Setup { backend: Backend::Cuda, devices, partition, crossover: None, fall_back, ..order_4_double() };
    Target { setup }
}

fn twin(fakes: &Fakes, target: &Target, sources: &[Source]) -> Twin {
    let mut twin = Twin::on(fakes.machine(), target).unwrap();
    sources.iter().enumerate().for_each(|(k, source)| twin.set_source(k, source).unwrap());
    twin
}

/// Returns lists in each form, of 40 sinks in groups of different sizes.
fn forms(sources: &[Source]) -> [PlainLists; 3] {
    let groups = [(3, 0..500), (0, 7..30), (17, 20..90), (1, 0..0), (19, 100..160)];
    [
        PlainLists::of_ranges(&groups),
        PlainLists::of_addresses(&groups.clone().map(|(ni, range)| (ni, range.rev().step_by(2).collect()))),
        PlainLists::of_sources(&groups.clone().map(|(ni, range)| (ni, sources[range].to_vec()))),
    ]
}

/// Computes lists in each form and a batch, with writes meanwhile, between a block and another.
fn steps(twin: &mut Twin, sources: &[Source], findings: &mut Findings) -> Result<()> {
    let sinks = sinks_of(&sources[..40], 0.01);
    twin.compare(findings, "a block before", 500, true, &sinks[..8])?;
    for (step, lists) in forms(sources).into_iter().enumerate() {
        twin.set_time(step as f64 / 8.0)?;
        twin.start_lists(&lists, true, &sinks)?;
        (0..30).try_for_each(|k| twin.set_source(7 * k + step, &sources[k]))?;
        twin.finish(findings, "lists")?;
        (0..20).try_for_each(|k| twin.set_source(5 * k, &sources[k + 30]))?;
    }
    twin.start_batch(&PlainBatch::of(&[30, 2, 3].map(|count| sources[..count].to_vec()), 0.01))?;
    twin.finish(findings, "a batch")?;
    twin.compare(findings, "a block after", 500, true, &sinks[..8])
}

#[test]
fn several_devices_share_whole_groups_of_about_as_many_pairs() {
    let sources = grid(2, 600);
    let groups: Vec<_> = (0..60).map(|group| (1 + group % 7, group..group + 20 + 5 * (group % 13))).collect();
    let lists = PlainLists::of_ranges(&groups);
    let sinks = sinks_of(&sources[..lists.sinks()], 0.01);
    let pairs = |group: usize| lists.sinks_of(group).len() * groups[group].1.len();
    let all: usize = (0..60).map(pairs).sum();
    let fakes = Fakes::new(100).with_devices(4);
    let mut findings = Findings::default();
    let mut twin = twin(&fakes, &on_fakes(&[0, 1, 2, 3], false), &sources);
    twin.start_lists(&lists, true, &sinks).unwrap();
    twin.finish(&mut findings, "60 groups").unwrap();
    let mut assignments = std::mem::take(&mut fakes.notes().assignments);
    assignments.sort_by_key(|(device, _)| *device);
    let mut first = 0;
    for (device, Assignment { sinks, set, sets }) in assignments {
        assert_eq!((sinks.start, set, sets), (first, 0, 1), "device {device}");
        let has = |group: &usize| sinks.contains(&lists.sinks_of(*group).start);
        let own: usize = (0..60).filter(has).map(pairs).sum();
        assert!((0.2..0.3).contains(&(own as f64 / all as f64)), "device {device}: {own} pairs of {all}");
        assert!((0..60).any(|group| lists.sinks_of(group).end == sinks.end), "device {device}: {sinks:?}");
        first = sinks.end;
    }
    assert_eq!(first, lists.sinks());
    // One device has the only group, and the others have no sinks.
    twin.start_lists(&PlainLists::of_ranges(&[(9, 0..600)]), true, &sinks[..9]).unwrap();
    twin.finish(&mut findings, "one group").unwrap();
    let busy = fakes.notes().assignments.iter().filter(|(_, assignment)| !assignment.sinks.is_empty()).count();
    assert_eq!(busy, 1);
    assert!(findings.passed(), "{:#?}", findings.failures());
}

#[test]
fn lists_that_are_copied_longer_than_they_are_summed_are_one_devices() {
    let sources = grid(2, 600);
    let fakes = Fakes::new(100).with_devices(2);
    let mut target = on_fakes(&[0, 1], false);
    target.setup.partition = None;
    let mut findings = Findings::default();
    let mut twin = twin(&fakes, &target, &sources);
    for (sources_of_group, expected) in [(20, 1), (600, 2)] {
        let groups: Vec<_> = (0..4).map(|_| (64, 0..sources_of_group)).collect();
        fakes.notes().assignments.clear();
        twin.start_lists(&PlainLists::of_ranges(&groups), true, &sinks_of(&sources[..256], 0.01)).unwrap();
        twin.finish(&mut findings, "4 groups").unwrap();
        let busy = fakes.notes().assignments.iter().filter(|(_, assignment)| !assignment.sinks.is_empty()).count();
        assert_eq!(busy, expected, "{sources_of_group} sources of a group");
    }
    assert!(findings.passed(), "{:#?}", findings.failures());
}

#[test]
fn devices_that_are_left_and_other_backends_go_on_with_lists() {
    let sources = grid(3, 600);
    for at in [At::Start, At::Part, At::Wait] {
        for devices in [vec![0], vec![0, 1]] {
            for count in 0..8 {
                let fakes = Fakes::new(50).with_pieces_of(8);
                let mut findings = Findings::default();
                let mut twin = twin(&fakes, &on_fakes(&devices, true), &sources);
                fakes.fail(at, count, How::Breaks);
                fakes.fail(at, count + 3, How::RunsOutOfMemory);
                steps(&mut twin, &sources, &mut findings).unwrap();
                steps(&mut twin, &sources, &mut findings).unwrap();
                assert!(findings.passed(), "{at:?} {count} {devices:?}: {:#?}", findings.failures());
                assert_eq!(twin.system.statistics().blocks, 12);
                assert_eq!(fakes.notes().open, twin.system.devices().len());
            }
        }
    }
}

#[test]
fn a_device_that_was_asked_for_fails_with_its_error_and_nothing_is_lost() {
    let sources = grid(4, 600);
    for at in [At::Start, At::Part, At::Wait] {
        for how in [How::Breaks, How::HasADefect] {
            // Each step starts six times, of which four have groups.
            for count in 0..if at == At::Part { 4 } else { 6 } {
                let fakes = Fakes::new(50);
                let mut findings = Findings::default();
                let mut twin = twin(&fakes, &on_fakes(&[0], false), &sources);
                fakes.fail(at, count, how);
                let error = steps(&mut twin, &sources, &mut findings).unwrap_err();
                let expected = if how == How::Breaks { ResultCode::DeviceFailed } else { ResultCode::Internal };
                assert_eq!(error.code(), expected);
                assert_eq!(twin.system.wait().map(|_| ()).unwrap_err().code(), ResultCode::CallOrder);
                steps(&mut twin, &sources, &mut findings).unwrap();
                assert!(findings.passed(), "{at:?} {how:?} {count}: {:#?}", findings.failures());
            }
        }
    }
}

#[test]
fn the_cpu_takes_over_lists_of_few_pairs_where_a_crossover_was_set() {
    let sources = grid(5, 600);
    let sinks = sinks_of(&sources[..100], 0.01);
    let fakes = Fakes::new(50).with_crossover(1000);
    let mut findings = Findings::default();
    // The device's own crossover does not matter: it would make the bits of a group those of the
    // whole call.
    let mut target = on_fakes(&[0], false);
    let mut twin = self::twin(&fakes, &target, &sources);
    twin.start_lists(&PlainLists::of_ranges(&[(100, 0..2)]), true, &sinks).unwrap();
    twin.finish(&mut findings, "a group").unwrap();
    assert_eq!(fakes.notes().started.pop().unwrap().0, Backend::Cuda);
    target.setup.crossover = Some(1000);
    let mut twin = self::twin(&fakes, &target, &sources);
    // The pairs are those of sinks with sources of their lists, however many sources there are.
    for (groups, backend) in [
        ([(99, 0..10), (1, 0..9)], Backend::Cpu),
        ([(99, 0..10), (1, 0..10)], Backend::Cuda),
        ([(90, 0..0), (10, 0..600)], Backend::Cuda),
        ([(99, 0..2), (1, 0..600)], Backend::Cpu),
    ] {
        twin.set_source(3, &sources[backend as usize]).unwrap();
        twin.start_lists(&PlainLists::of_ranges(&groups), true, &sinks).unwrap();
        twin.finish(&mut findings, "two groups").unwrap();
        let started = fakes.notes().started.pop().unwrap();
        assert_eq!(started.0, backend, "{groups:?}");
    }
    assert!(findings.passed(), "{:#?}", findings.failures());
}

#[test]
fn devices_give_back_the_memory_of_lists_before_it_is_freed() {
    let sources = grid(6, 600);
    let sinks = sinks_of(&sources[..3], 0.01);
    let fakes = Fakes::new(50);
    let mut system = System::on(fakes.machine(), &on_fakes(&[0], false).setup).unwrap();
    sources.iter().enumerate().for_each(|(k, source)| system.set_source(k, source).unwrap());
    // Lists grow, and their memory with them, and blocks without lists come between.
    for step in 0..24 {
        let length = 1000 << (step / 2);
        let addresses: Vec<usize> = (0..length).map(|place| place % 600).collect();
        match step % 5 {
            0..3 => PlainLists::of_addresses(&[(3, addresses)]).start(&mut system, true, &sinks).unwrap(),
            3 => PlainLists::of_ranges(&[(3, 0..600)]).start(&mut system, true, &sinks).unwrap(),
            _ => system.start(600, true, sinks.iter().copied()).unwrap(),
        }
        system.wait().unwrap();
    }
    // Two memories are for records, two for the sinks of blocks, two for the sinks of lists, and two
    // for the lists: of a block, and of one to come.
    let locked = fakes.notes().locked;
    assert!(locked <= 8, "{locked} memories are page-locked");
}

#[test]
fn no_neighbours_are_looked_for_after_forces_on_lists_however_much_is_written() {
    let sources = grid(7, 10_000);
    let mut sinks = sinks_of(&sources[..3], 0.01);
    sinks.iter_mut().for_each(|sink| sink.radius2 = 4.0);
    let fakes = Fakes::new(50);
    let mut findings = Findings::default();
    let mut twin = twin(&fakes, &on_fakes(&[0], false), &sources);
    twin.start_lists(&PlainLists::of_ranges(&[(3, 0..600)]), true, &sinks).unwrap();
    // These are more than are staged until the sources of the last block are not needed any more.
    sources.iter().rev().enumerate().for_each(|(k, source)| twin.set_source(k, source).unwrap());
    twin.finish(&mut findings, "lists").unwrap();
    twin.set_source(20_000, &sources[3]).unwrap();
    let searched = fakes.notes().lists.len();
    assert_eq!(searched, 0);
    assert_eq!(twin.system.neighbours(0).unwrap_err().code(), ResultCode::CallOrder);
    twin.compare(&mut findings, "the block after it", 600, true, &sinks).unwrap();
    assert!(findings.passed(), "{:#?}", findings.failures());
}

#[test]
fn of_many_lists_that_several_threads_copy_the_first_wrong_number_is_named() {
    let sources = grid(8, 1000);
    let sinks = sinks_of(&sources[..4], 0.01);
    for threads in [1, 3] {
        let mut system = System::new(&Setup { threads, ..order_4_double() }).unwrap();
        sources.iter().enumerate().for_each(|(k, source)| system.set_source(k, source).unwrap());
        for wrong in [[0, 39_999], [16_383, 16_384], [16_384, 35_000]] {
            let mut addresses: Vec<usize> = (0..40_000).map(|place| place % 1000).collect();
            let mut own: Vec<Source> = addresses.iter().map(|address| sources[*address]).collect();
            for place in wrong {
                addresses[place] = 1000 + place;
                own[place].mass = f64::INFINITY;
            }
            let (group, number) = (wrong[0] / 10_000, wrong[0] % 10_000);
            let lists: Vec<_> = addresses.chunks(10_000).map(|list| (1, list.to_vec())).collect();
            let error = PlainLists::of_addresses(&lists).start(&mut system, true, &sinks).unwrap_err().to_string();
            let named = format!("address {number} of group {group} is {}; ", 1000 + wrong[0]);
            assert!(error.starts_with(&named), "{threads} threads: {error}");
            let lists: Vec<_> = own.chunks(10_000).map(|list| (1, list.to_vec())).collect();
            let error = PlainLists::of_sources(&lists).start(&mut system, true, &sinks).unwrap_err().to_string();
            assert!(error.contains(&format!("the mass of source {} of ", wrong[0])), "{threads} threads: {error}");
            let error = PlainBatch::of(&[own], 0.01).start(&mut system).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the mass of body {} is inf", wrong[0])), "{threads} threads: {error}");
        }
    }
}
