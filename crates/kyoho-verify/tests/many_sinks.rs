//! Sinks that are made from their numbers, so many that several threads make them.

mod fakes;

use fakes::{Fakes, order_4_double};

use kyoho::data::{Forces, ResultCode, Sink};
use kyoho::hal::Backend;
use kyoho::{Setup, System};
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

#[test]
fn a_block_under_way_is_not_disturbed() {
    let sinks = sinks();
    let mut system = system(2);
    system.start_from_fn(SOURCES, true, SINKS, |number| sinks[number]).unwrap();
    let again = system.start_from_fn(SOURCES, true, SINKS, |_| unreachable!("no sink is asked for"));
    assert_eq!(again.unwrap_err().code(), ResultCode::CallOrder);
    assert_eq!(system.wait().unwrap().len(), SINKS);
}
