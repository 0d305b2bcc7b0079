//! Sinks that are made from their numbers, so many that several threads make them.

mod fakes;

use fakes::{At, Fakes, How, order_4_double};

use kyoho::{Setup, System};
use kyoho_core::{Forces, Partition, Precision, ResultCode, Sink};
use kyoho_hal::Backend;
use kyoho_verify::models::{plummer, sinks_of};

const SINKS: usize = 50_000;
const SOURCES: usize = 20;

/// Makes a system with all sources on a device that is not the CPU.
fn system(threads: usize) -> System {
    let setup = Setup { backend: Backend::Cuda, devices: vec![0], threads, ..order_4_double() };
    let mut system = System::on(Fakes::new(100).machine(), &setup).unwrap();
    plummer(SOURCES).iter().enumerate().for_each(|(k, source)| system.set_source(k, source).unwrap());
    system
}

/// Returns a sink. Only the last one wants neighbours.
fn sinks() -> Vec<Sink> {
    let mut sinks = sinks_of(&plummer(SINKS), 0.01);
    sinks[SINKS - 1].radius2 = 100.0;
    sinks
}

fn bits(forces: Forces) -> Vec<[u64; 7]> {
    forces.rows::<7>().map(|row| row.map(f64::to_bits)).collect()
}

#[test]
fn a_block_is_the_same_whoever_makes_its_sinks() {
    let sinks = sinks();
    let mut one_by_one = system(1);
    for threads in [1, 2, 5, 40] {
        let mut system = system(threads);
        for count in [0, 3, SINKS, 5, 8191, 8192, 8193, SINKS - 1, SINKS] {
            system.start_from_fn(SOURCES, true, count, |number| sinks[number]).unwrap();
            let found = bits(system.wait().unwrap());
            let expected = bits(one_by_one.force(SOURCES, true, sinks[..count].iter().copied()).unwrap());
            assert!(found == expected && found.len() == count, "{count} sinks, {threads} threads");
        }
        // The last sink's own index is left out of its list, and no source has it.
        assert_eq!(system.neighbours(SINKS - 1).unwrap().len(), SOURCES, "{threads} threads");
        assert_eq!(system.statistics().sinks, one_by_one.statistics().sinks);
        one_by_one = self::system(1);
    }
}

#[test]
fn the_first_wrong_sink_is_named_and_the_last_block_stays() {
    let good = sinks();
    for threads in [1, 2, 5] {
        let mut system = system(threads);
        system.start_from_fn(SOURCES, true, SINKS, |number| good[number]).unwrap();
        system.wait().unwrap();
        let mut wrong = good.clone();
        wrong[41_000].derivatives[0][1] = f64::NAN;
        wrong[32_999].softening2 = -1.0;
        let error = system.start_from_fn(SOURCES, true, SINKS, |number| wrong[number]).unwrap_err();
        assert_eq!(error.code(), ResultCode::OutOfRange);
        assert!(error.to_string().contains("sink 32999"), "{threads} threads: {error}");
        assert_eq!(system.wait().map(|_| ()).unwrap_err().code(), ResultCode::CallOrder);
        assert_eq!(system.neighbours(SINKS - 1).unwrap().len(), SOURCES, "{threads} threads");
        // The error of a sink belongs to its block only.
        system.start_from_fn(SOURCES, true, 32_999, |number| wrong[number]).unwrap();
        assert_eq!(system.wait().unwrap().len(), 32_999);
    }
}

/// Partitions of a block among devices.
const PARTITIONS: [Partition; 3] =
    [Partition::WHOLE, Partition { ranges: 3, sets: 1 }, Partition { ranges: 2, sets: 2 }];

/// Makes a system as [`system`] does, on as many devices as a partition has.
fn partitioned(partition: Partition, threads: usize, precision: Precision) -> (Fakes, System) {
    let fakes = Fakes::new(100).with_devices(partition.devices());
    let devices = (0..partition.devices()).collect();
    let setup = Setup {
        backend: Backend::Cuda,
        devices,
        threads,
        partition: Some(partition),
        precision,
        fall_back: true,
        ..order_4_double()
    };
    let mut system = System::on(fakes.machine(), &setup).unwrap();
    plummer(SOURCES).iter().enumerate().for_each(|(k, source)| system.set_source(k, source).unwrap());
    (fakes, system)
}

#[test]
fn sinks_that_come_in_parts_are_those_of_one_block() {
    let sinks = sinks_of(&plummer(SINKS), 0.01);
    for partition in PARTITIONS {
        let (fakes, mut system) = partitioned(partition, 2, Precision::Double);
        for count in [8191, 8192, SINKS] {
            fakes.notes().assignments.clear();
            system.start_from_fn(SOURCES, true, count, |number| sinks[number]).unwrap();
            let found = bits(system.wait().unwrap());
            let begun = fakes.notes().assignments.len();
            assert_eq!(begun, partition.devices());
            let expected = bits(system.force(SOURCES, true, sinks[..count].iter().copied()).unwrap());
            assert!(found == expected, "{count} sinks, {partition:?}");
        }
    }
}

#[test]
fn a_wrong_sink_of_a_later_part_is_named_and_the_last_forces_stay() {
    let good = sinks_of(&plummer(SINKS), 0.01);
    for partition in PARTITIONS {
        let (_, mut system) = partitioned(partition, 2, Precision::Double);
        system.start_from_fn(SOURCES, true, SINKS, |number| good[number]).unwrap();
        let before = bits(system.wait().unwrap());
        let mut wrong = good.clone();
        // A part of the second range is copied before all parts of the first one.
        wrong[25_500].derivatives[0][1] = f64::NAN;
        wrong[16_000].softening2 = -1.0;
        let error = system.start_from_fn(SOURCES, true, SINKS, |number| wrong[number]).unwrap_err();
        assert!(error.to_string().contains("sink 16000"), "{partition:?}: {error}");
        assert!(bits(system.forces().unwrap()) == before);
        assert_eq!(system.wait().map(|_| ()).unwrap_err().code(), ResultCode::CallOrder);
        system.set_source(3, &plummer(SOURCES)[4]).unwrap();
        system.start_from_fn(SOURCES, true, SINKS, |number| good[number]).unwrap();
        let found = bits(system.wait().unwrap());
        assert!(found != before);
        assert!(found == bits(system.force(SOURCES, true, good.iter().copied()).unwrap()), "{partition:?}");
    }
}

#[test]
fn a_sink_so_far_out_that_units_follow_from_it_begins_the_block_anew() {
    let mut sinks = sinks_of(&plummer(SINKS), 0.01);
    sinks[40_000].derivatives[0] = [1e9, -1e5, 3.0];
    for partition in PARTITIONS {
        let (fakes, mut system) = partitioned(partition, 2, Precision::Mixed);
        for starts in [2, 1] {
            fakes.notes().assignments.clear();
            system.start_from_fn(SOURCES, true, SINKS, |number| sinks[number]).unwrap();
            let found = bits(system.wait().unwrap());
            let begun = fakes.notes().assignments.len();
            assert_eq!(begun, starts * partition.devices());
            assert!(found == bits(system.force(SOURCES, true, sinks.iter().copied()).unwrap()), "{partition:?}");
        }
    }
}

#[test]
fn a_device_that_fails_at_any_part_of_a_block_is_replaced() {
    let sinks = sinks_of(&plummer(SINKS), 0.01);
    for partition in PARTITIONS {
        let (_, mut system) = partitioned(partition, 1, Precision::Double);
        let expected = bits(system.force(SOURCES, true, sinks.iter().copied()).unwrap());
        for at in [At::Start, At::Part, At::Wait] {
            for count in 0..4 {
                let (fakes, mut system) = partitioned(partition, 2, Precision::Double);
                fakes.fail(at, count, How::Breaks);
                for _ in 0..2 {
                    system.start_from_fn(SOURCES, true, SINKS, |number| sinks[number]).unwrap();
                    assert!(bits(system.wait().unwrap()) == expected, "{at:?} {count}, {partition:?}");
                }
            }
        }
    }
}

#[test]
fn a_block_under_way_is_not_disturbed() {
    let sinks = sinks();
    let mut system = system(2);
    system.start_from_fn(SOURCES, true, SINKS, |number| sinks[number]).unwrap();
    let again = system.start_from_fn(SOURCES, true, SINKS, |_| unreachable!("no sink is asked for"));
    assert_eq!(again.unwrap_err().code(), ResultCode::CallOrder);
    assert_eq!(system.wait().unwrap().len(), SINKS);
}
