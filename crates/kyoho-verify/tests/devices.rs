//! Several devices: the partition of a block among them, the data that each receives, and the
//! others' work when one fails.

mod fakes;

use fakes::{At, Fakes, How, order_4_double};

use kyoho::{Setup, System};
use kyoho_core::{Assignment, Partition, Result, ResultCode, Sink, Source};
use kyoho_hal::Backend;
use kyoho_verify::models::{grid, sinks_of};
use kyoho_verify::{Findings, Target, Twin};

/// Returns a target of order 4 in double on some CUDA devices of fakes.
fn target(devices: &[usize], partition: Option<Partition>) -> Target {
    Target {
        setup: Setup { backend: Backend::Cuda, devices: devices.to_vec(), partition, threads: 1, ..order_4_double() },
    }
}

fn sinks(sources: &[Source], count: usize) -> Vec<Sink> {
    let mut sinks = sinks_of(&sources[..count], 0.01);
    sinks.iter_mut().step_by(3).for_each(|sink| sink.radius2 = 4.0);
    sinks
}

fn twin(fakes: &Fakes, target: &Target, sources: &[Source]) -> Twin {
    let mut twin = Twin::on(fakes.machine(), target).unwrap();
    sources.iter().enumerate().for_each(|(k, source)| twin.set_source(k, source).unwrap());
    twin
}

/// Returns the assignments of the last block by device. An idle device has no sinks.
fn assignments(fakes: &Fakes) -> Vec<(usize, Assignment)> {
    let mut assignments = std::mem::take(&mut fakes.notes().assignments);
    assignments.sort_by_key(|(number, _)| *number);
    assignments
}

#[test]
fn few_sinks_go_to_one_device_and_many_to_all() {
    let sources = grid(1, 2000);
    let fakes = Fakes::new(100).with_devices(4);
    let mut twin = twin(&fakes, &target(&[0, 1, 2, 3], None), &sources);
    let mut findings = Findings::default();
    for (ni, expected, seconds) in [
        (12, Partition::WHOLE, 12 * 24),
        // With two ranges a device would have up to 24 sinks. With three devices the cost is 16 *
        // 24 + 400.
        (40, Partition { ranges: 1, sets: 2 }, 40 * 12 + 200),
        (400, Partition { ranges: 4, sets: 1 }, 104 * 24 + 600),
    ] {
        twin.compare(&mut findings, "a block", 2000, true, &sinks(&sources, ni)).unwrap();
        let found = assignments(&fakes);
        let parties = if expected.devices() == 1 { 1 } else { 4 };
        let wanted: Vec<_> = (0..parties).map(|place| (place, expected.assignment(place, ni))).collect();
        assert_eq!(found, wanted, "{ni} sinks");
        assert!(twin.system.estimate(ni, 2000).unwrap() <= seconds as f64);
    }
    assert!(findings.passed(), "{:#?}", findings.failures());
}

#[test]
fn every_partition_gives_the_forces() {
    let sources = grid(2, 7000);
    for partition in Partition::among(9) {
        let fakes = Fakes::new(100).with_devices(9).with_pieces_of(7);
        let mut twin = twin(&fakes, &target(&[0, 1, 2, 3, 4, 5, 6, 7, 8], Some(partition)), &sources);
        let mut findings = Findings::default();
        for ni in [0, 1, 5, 40] {
            twin.compare(&mut findings, "a block", 7000, true, &sinks(&sources, ni)).unwrap();
            twin.compare_lists(&mut findings, "its lists").unwrap();
            let busy = assignments(&fakes).iter().filter(|(_, assignment)| !assignment.sinks.is_empty()).count();
            assert!(busy <= partition.devices() && (busy > 0 || ni == 0), "{partition:?}");
        }
        assert!(findings.passed(), "{partition:?}: {:#?}", findings.failures());
    }
}

#[test]
fn sinks_are_handed_over_as_the_devices_come_to_them() {
    let sources = grid(3, 600);
    let fakes = Fakes::new(100).with_pieces_of(16);
    let partition = Partition { ranges: 2, sets: 1 };
    let mut system = System::on(fakes.machine(), &target(&[0, 1], Some(partition)).setup).unwrap();
    sources.iter().enumerate().for_each(|(k, source)| system.set_source(k, source).unwrap());
    system.start(600, true, sinks(&sources, 64)).unwrap();
    let mut found = Vec::new();
    system.wait_each(|first, forces| found.push((first, forces.len()))).unwrap();
    assert_eq!(found, [(0, 16), (32, 16), (16, 16), (48, 16)]);
}

#[test]
fn a_device_without_an_assignment_gets_later_what_it_missed() {
    let sources = grid(4, 900);
    let fakes = Fakes::new(200).with_devices(3);
    let mut twin = twin(&fakes, &target(&[0, 1, 2], None), &sources);
    let mut findings = Findings::default();
    let (few, many) = (sinks(&sources, 2), sinks(&sources, 120));
    twin.compare(&mut findings, "the first", 900, true, &many).unwrap();
    let told = |fakes: &Fakes| {
        let notes = fakes.notes();
        (notes.records, notes.missed, notes.fetched)
    };
    let (records, _, fetched) = told(&fakes);
    for step in 0..4 {
        (0..10).for_each(|k| twin.set_source(3 * k + step % 2, &sources[k + step]).unwrap());
        twin.compare(&mut findings, "a small one", 900, true, &few).unwrap();
    }
    assert_eq!(told(&fakes), (records + 40, 0, fetched), "the first device has each record");
    twin.set_source(0, &sources[50]).unwrap();
    twin.compare(&mut findings, "a large one", 900, true, &many).unwrap();
    let (others, fresh) = (2 * 20, 3);
    assert_eq!(told(&fakes), (records + 40 + others + fresh, others, fetched), "each address once, and what is new");
    twin.compare(&mut findings, "another", 900, true, &many).unwrap();
    assert_eq!(told(&fakes).1, others, "nobody missed anything since");
    assert!(findings.passed(), "{:#?}", findings.failures());
}

#[test]
fn a_device_that_missed_more_than_records_tell_looks_at_all_sources() {
    let sources = grid(5, 1500);
    let fakes = Fakes::new(64);
    let mut twin = twin(&fakes, &target(&[0, 1], None), &sources[..900]);
    let mut findings = Findings::default();
    let (few, many) = (sinks(&sources, 2), sinks(&sources, 120));
    twin.compare(&mut findings, "the first", 900, true, &many).unwrap();
    for step in 0..30 {
        // The device reads records at first, then a source of a new chunk comes, and then more
        // sources than the journal keeps.
        (0..5).for_each(|k| twin.set_source(40 * k + step, &sources[k + step]).unwrap());
        if step % 5 == 3 {
            twin.set_source(900 + 10 * step, &sources[900]).unwrap();
        }
        if step % 7 == 5 {
            (0..100).for_each(|k| twin.set_source(8 * k, &sources[k + 2 * step]).unwrap());
        }
        let sinks = if step % 4 == 3 { &many } else { &few };
        twin.compare(&mut findings, &format!("block {step}"), 1500, true, sinks).unwrap();
    }
    assert!(findings.passed(), "{:#?}", findings.failures());
}

#[test]
fn what_others_miss_is_sent_before_there_is_no_room_for_it() {
    let sources = grid(6, 3000);
    let fakes = Fakes::new(64);
    let mut twin = twin(&fakes, &target(&[0, 1], None), &sources);
    let mut findings = Findings::default();
    let few = sinks(&sources, 2);
    twin.compare(&mut findings, "the first", 3000, true, &sinks(&sources, 120)).unwrap();
    let fetched = fakes.notes().fetched;
    assignments(&fakes);
    for step in 0..20 {
        (0..10).for_each(|k| twin.set_source(10 * step + k, &sources[k]).unwrap());
        twin.compare(&mut findings, "a small one", 3000, true, &few).unwrap();
    }
    let idle =
        assignments(&fakes).iter().filter(|(number, assignment)| *number == 1 && assignment.sinks.is_empty()).count();
    assert_eq!(idle, 2, "of 200 records 64 are kept, and the next 10 come with them");
    assert_eq!(fakes.notes().fetched, fetched, "records tell all");
    twin.compare(&mut findings, "the last", 3000, true, &sinks(&sources, 120)).unwrap();
    assert!(findings.passed(), "{:#?}", findings.failures());
}

#[test]
fn where_more_is_written_for_each_block_than_there_is_room_for_the_room_grows_if_the_devices_let_it() {
    let sources = grid(6, 3000);
    for (devices, registers) in [(vec![0], true), (vec![0, 1], true), (vec![0, 1], false)] {
        let fakes = Fakes::new(64);
        let mut twin = twin(&fakes, &target(&devices, None), &sources);
        let mut findings = Findings::default();
        if !registers {
            devices.iter().for_each(|device| fakes.break_device(At::Register, *device));
        }
        let mut has_fetched = Vec::new();
        for step in 0..5 {
            let before = fakes.notes().fetched;
            (0..200).for_each(|k| twin.set_source(3 * k + step, &sources[k]).unwrap());
            twin.compare(&mut findings, "a block", 3000, true, &sinks(&sources, 120)).unwrap();
            has_fetched.push(fakes.notes().fetched != before);
        }
        // The first block has all sources. Once the room has grown, records tell all.
        assert_eq!(has_fetched, [true, true, !registers, !registers, !registers], "{devices:?}");
        assert!(findings.passed(), "{:#?}", findings.failures());
    }
}

/// Returns the bits of the forces of some blocks, and the devices at the end. A device fails before
/// one of the blocks.
fn play(fakes: &Fakes, setup: &Setup, fail: impl Fn(usize)) -> Result<(Vec<u64>, Vec<usize>)> {
    let sources = grid(7, 3000);
    let mut system = System::on(fakes.machine(), setup)?;
    sources.iter().enumerate().try_for_each(|(k, source)| system.set_source(k, source))?;
    let mut bits = Vec::new();
    for step in 0..4 {
        fail(step);
        system.set_time(step as f64 / 8.0)?;
        (0..20).try_for_each(|k| system.set_source(9 * k + step, &sources[k]))?;
        system.start(3000, true, sinks(&sources, 40))?;
        (0..20).try_for_each(|k| system.set_source(11 * k + step, &sources[k + 9]))?;
        let forces = system.wait()?;
        for sink in 0..40 {
            bits.extend(forces.acceleration(sink).map(f64::to_bits));
            bits.push(forces.nearest(sink).map_or(0, |nearest| nearest.index as u64));
        }
        let list = system.neighbours(3)?.to_vec();
        bits.extend(list.into_iter().map(|index| index as u64));
    }
    Ok((bits, system.setup().devices.clone()))
}

#[test]
fn a_device_that_fails_drops_out_and_the_others_give_the_same_bits() {
    let partition = Some(Partition { ranges: 1, sets: 2 });
    let setup = target(&[0, 1, 2], partition).setup;
    let (plain, devices) = play(&Fakes::new(50).with_devices(3), &setup, |_| ()).unwrap();
    assert_eq!(devices, [0, 1, 2]);
    for at in [At::Start, At::Wait, At::Neighbours] {
        // The last device has no sinks, but may make lists.
        for broken in [0, 1, 2] {
            let fakes = Fakes::new(50).with_devices(3);
            let fail = |step| {
                if step == 2 {
                    fakes.break_device(at, broken)
                }
            };
            let (found, left) = play(&fakes, &setup, fail).unwrap();
            let others: Vec<usize> = (0..3).filter(|number| *number != broken).collect();
            assert_eq!((found == plain, left), (true, others), "{at:?} on device {broken}");
        }
    }
}

#[test]
fn neighbour_lists_are_made_by_all_that_know_the_block_or_by_the_first() {
    let sources = grid(10, 2000);
    let partition = Some(Partition { ranges: 3, sets: 1 });
    for (partition, expected) in [(partition, vec![(0, 0..14), (1, 14..28), (2, 28..40)]), (None, vec![(0, 0..40)])] {
        let fakes = Fakes::new(50).with_devices(3);
        let mut twin = twin(&fakes, &target(&[0, 1, 2], partition), &sources);
        let mut findings = Findings::default();
        twin.compare(&mut findings, "a block", 2000, true, &sinks(&sources, 40)).unwrap();
        twin.compare_lists(&mut findings, "its lists").unwrap();
        assert!(findings.passed(), "{:#?}", findings.failures());
        let mut lists = std::mem::take(&mut fakes.notes().lists);
        lists.sort_by_key(|(number, _)| *number);
        assert_eq!(lists, expected);
    }
}

#[test]
fn one_device_after_another_drops_out_and_the_last_ones_error_is_the_callers() {
    let setup = target(&[0, 1, 2], None).setup;
    let fakes = Fakes::new(50).with_devices(3);
    let fail = |step: usize| {
        if step > 0 {
            fakes.break_device(At::Wait, step - 1)
        }
    };
    let error = play(&fakes, &setup, fail).unwrap_err();
    assert_eq!(error.code(), ResultCode::DeviceFailed);
    let fakes = Fakes::new(50).with_devices(3);
    let fail = |step: usize| {
        if step > 0 {
            fakes.break_device(At::Wait, step - 1)
        }
    };
    let (_, devices) = play(&fakes, &Setup { fall_back: true, ..setup }, fail).unwrap();
    assert_eq!(devices, [0], "the next backend's");
}

#[test]
fn lists_come_from_no_device_that_does_not_know_the_block() {
    let sources = grid(9, 600);
    for at in [At::Start, At::Wait] {
        let fakes = Fakes::new(50);
        let mut twin = twin(&fakes, &target(&[0, 1], None), &sources);
        let mut findings = Findings::default();
        twin.compare(&mut findings, "a block", 600, true, &sinks(&sources, 12)).unwrap();
        fakes.break_device(At::Neighbours, 0);
        fakes.fail(at, 0, How::Breaks);
        let code = |twin: &mut Twin| twin.system.neighbours(0).unwrap_err().code();
        assert_eq!(code(&mut twin), ResultCode::DeviceFailed, "the first device has none, and the second cannot begin");
        assert_eq!(code(&mut twin), ResultCode::CallOrder, "{at:?}: the block is lost");
        twin.compare(&mut findings, "the same block", 600, true, &sinks(&sources, 12)).unwrap();
        twin.compare_lists(&mut findings, "its lists").unwrap();
        assert!(findings.passed(), "{:#?}", findings.failures());
    }
}

#[test]
fn a_partition_that_leaves_out_slices_or_sinks_is_an_error() {
    let fakes = Fakes::new(50).with_devices(6);
    for (ranges, sets) in [(0, 1), (1, 0), (2, 3), (1, 16)] {
        let setup = target(&[0, 1, 2, 3, 4, 5], Some(Partition { ranges, sets })).setup;
        let error = System::on(fakes.machine(), &setup).map(|_| ()).unwrap_err();
        assert_eq!(error.code(), ResultCode::BadOption, "{error}");
        assert!(error.to_string().contains(&format!("{ranges} ranges of sinks, {sets} sets of slices")), "{error}");
    }
    assert_eq!(fakes.notes().open, 0);
}

#[test]
fn the_next_backend_has_each_of_its_devices_once() {
    let setup = Setup { fall_back: true, ..target(&[0, 1], None).setup };
    let fakes = Fakes::new(50);
    (0..2).for_each(|number| fakes.break_device(At::Open, number));
    let system = System::on(fakes.machine(), &setup).unwrap();
    assert_eq!((system.setup().backend, system.setup().devices.clone()), (Backend::OpenCl, vec![0]));
}

#[test]
fn a_block_that_fails_is_ended_on_all_devices_and_those_that_stay_compute_the_next() {
    let sources = grid(10, 900);
    for at in [At::Start, At::Wait] {
        for count in 0..2 {
            let fakes = Fakes::new(50).with_devices(4);
            let mut twin = twin(&fakes, &target(&[0, 1, 2, 3], Some(Partition { ranges: 1, sets: 2 })), &sources);
            let mut findings = Findings::default();
            twin.compare(&mut findings, "a block", 900, true, &sinks(&sources, 40)).unwrap();
            fakes.fail(at, count, How::HasADefect);
            twin.set_source(3, &sources[8]).unwrap();
            let error = twin.compare(&mut findings, "one that fails", 900, true, &sinks(&sources, 40)).unwrap_err();
            assert_eq!(error.code(), ResultCode::Internal, "{at:?}");
            assert_eq!(twin.system.setup().devices, [0, 1, 2, 3], "nobody drops out");
            twin.compare(&mut findings, "the next", 900, true, &sinks(&sources, 120)).unwrap();
            twin.compare_lists(&mut findings, "its lists").unwrap();
            assert!(findings.passed(), "{at:?}: {:#?}", findings.failures());
        }
    }
}

#[test]
fn a_system_whose_devices_all_failed_says_why_until_it_is_moved() {
    let sources = grid(9, 2000);
    let fakes = Fakes::new(50);
    let target = target(&[0, 1], Some(Partition { ranges: 2, sets: 1 }));
    let mut twin = twin(&fakes, &target, &sources);
    // All devices fail, as when a failing kernel ends the driver for the whole process.
    [At::Wait, At::Open].into_iter().for_each(|at| (0..2).for_each(|number| fakes.break_device(at, number)));
    for _ in 0..2 {
        let error = twin.system.force(2000, true, sinks(&sources, 40)).map(|_| ()).unwrap_err();
        assert_eq!(error.code(), ResultCode::DeviceFailed, "{error}");
        twin.set_source(7, &sources[8]).unwrap();
    }
    let cpu = Setup { backend: Backend::Cpu, devices: vec![0], ..target.setup };
    twin.system.move_to(&cpu).unwrap();
    let mut findings = Findings::default();
    twin.compare(&mut findings, "a block", 2000, true, &sinks(&sources, 40)).unwrap();
    assert!(findings.passed(), "{:#?}", findings.failures());
}

#[test]
fn a_device_without_memory_drops_out() {
    let sources = grid(8, 2000);
    let fakes = Fakes::new(50);
    let mut twin = twin(&fakes, &target(&[0, 1], Some(Partition { ranges: 2, sets: 1 })), &sources);
    let mut findings = Findings::default();
    fakes.fail(At::Wait, 1, How::RunsOutOfMemory);
    twin.compare(&mut findings, "a block", 2000, true, &sinks(&sources, 40)).unwrap();
    assert_eq!(twin.system.setup().devices.len(), 1);
    twin.compare(&mut findings, "the next", 2000, true, &sinks(&sources, 40)).unwrap();
    assert!(findings.passed(), "{:#?}", findings.failures());
}

#[test]
fn a_device_that_cannot_be_opened_is_an_error_where_it_was_asked_for_and_left_out_where_not() {
    let setup = target(&[0, 1, 2], None).setup;
    for at in [At::Open, At::Register] {
        let fakes = Fakes::new(50).with_devices(3);
        fakes.break_device(at, 1);
        let error = System::on(fakes.machine(), &setup).map(|_| ()).unwrap_err();
        assert_eq!(error.code(), ResultCode::DeviceFailed);
        assert_eq!(fakes.notes().open, 0);
        let system = System::on(fakes.machine(), &Setup { fall_back: true, ..setup.clone() }).unwrap();
        assert_eq!((system.setup().devices.clone(), system.setup().backend), (vec![0, 2], Backend::Cuda));
    }
}
