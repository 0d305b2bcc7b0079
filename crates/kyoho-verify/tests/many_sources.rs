//! Sources that are written for a block, so many that several threads write them.

mod fakes;

use fakes::{Fakes, order_4_double};

use kyoho::{Setup, System};
use kyoho_core::{Precision, Source};
use kyoho_hal::Backend;
use kyoho_verify::models::{plummer, sinks_of};

const SOURCES: usize = 6000;
/// The records that there is room for.
const ROOM: usize = 4000;
const SINKS: usize = 10;

/// Makes a system with all sources on a device that is not the CPU.
fn system(threads: usize, sources: &[Source]) -> System {
    let precision = Precision::Mixed;
    let setup = Setup { backend: Backend::Cuda, devices: vec![0], threads, precision, ..order_4_double() };
    let mut system = System::on(Fakes::new(ROOM).machine(), &setup).unwrap();
    sources.iter().enumerate().for_each(|(address, source)| system.set_source(address, source).unwrap());
    block(&mut system, sources);
    system
}

/// Computes a block, and returns the bits of its forces.
fn block(system: &mut System, sources: &[Source]) -> Vec<[u64; 7]> {
    let forces = system.force(SOURCES, true, sinks_of(&sources[..SINKS], 0.01)).unwrap();
    forces.rows::<7>().map(|row| row.map(f64::to_bits)).collect()
}

/// Returns different addresses in no order.
fn addresses(count: usize, round: usize) -> Vec<usize> {
    (0..count).map(|place| (place * 4001 + 77 * round) % SOURCES).collect()
}

/// Returns the source that a round writes to an address. It is far larger than others of the round
/// now and then, which changes the units of the block.
fn source(sources: &[Source], address: usize, round: usize) -> Source {
    let mut source = sources[(address + round) % SOURCES];
    let factor = if (address + round).is_multiple_of(97) { 1e3 } else { 1.0 + round as f64 };
    source.coefficients[0] = source.coefficients[0].map(|component| factor * component);
    source
}

/// Asserts that two systems have the sources and the counts, and give the same bits.
fn assert_same(one: &mut System, other: &mut System, sources: &[Source], what: &str) {
    assert_eq!(block(one, sources), block(other, sources), "{what}");
    assert_eq!(one.sources(0..SOURCES).unwrap(), other.sources(0..SOURCES).unwrap(), "{what}");
    let counts = [one, other].map(|system| (system.statistics().sources, system.statistics().writes));
    assert_eq!(counts[0], counts[1], "{what}");
}

#[test]
fn sources_that_several_threads_write_are_those_that_one_writes() {
    let sources = plummer(SOURCES);
    for threads in [1, 2, 5, 40] {
        let (mut at_once, mut one_by_one) = (system(threads, &sources), system(1, &sources));
        for (round, count) in [512, ROOM, 513, 2, 3000, 1, ROOM, 700].into_iter().enumerate() {
            let addresses = addresses(count, round);
            let are_recorded = at_once
                .record_sources(count, |place| addresses[place], |place| source(&sources, addresses[place], round))
                .unwrap();
            assert_eq!(are_recorded, count >= 512, "{count} sources, {threads} threads");
            for address in addresses {
                let source = source(&sources, address, round);
                one_by_one.set_source(address, &source).unwrap();
                if !are_recorded {
                    at_once.set_source(address, &source).unwrap();
                }
            }
            // Every other time the next records are written before the host's copy is read.
            match round % 2 {
                0 => assert_same(&mut at_once, &mut one_by_one, &sources, &format!("{count} sources")),
                _ => assert_eq!(block(&mut at_once, &sources), block(&mut one_by_one, &sources), "{count} sources"),
            }
        }
    }
}

#[test]
fn all_are_written_or_none() {
    let sources = plummer(SOURCES);
    let (mut system, mut expected) = (system(3, &sources), system(3, &sources));
    let good = addresses(1000, 1);
    let with = |place: usize, address: usize| {
        let mut addresses = good.clone();
        addresses[place] = address;
        addresses
    };
    let not_a_number = Source { mass: f64::NAN, ..sources[0] };
    let mut is_written = |addresses: &[usize], wrong: usize| {
        let source_at = |place| if place == wrong { not_a_number } else { source(&sources, addresses[place], 5) };
        system.record_sources(addresses.len(), |place| addresses[place], source_at).unwrap()
    };
    const NONE: usize = usize::MAX;
    assert!(!is_written(&good, 999), "one is not good");
    assert!(!is_written(&with(900, good[3]), NONE), "an address is named twice");
    assert!(!is_written(&with(900, SOURCES + 1000), NONE), "an address is of no chunk that is there");
    assert!(!is_written(&with(900, usize::MAX), NONE), "there is no such address");
    assert!(!is_written(&addresses(ROOM + 1000, 0), NONE), "there is no room for so many");
    assert_same(&mut system, &mut expected, &sources, "nothing was written");
    system.set_source(good[7], &sources[1]).unwrap();
    let are_recorded =
        system.record_sources(good.len(), |place| good[place], |place| source(&sources, good[place], 5)).unwrap();
    assert!(!are_recorded, "an address was written before");
    expected.set_source(good[7], &sources[1]).unwrap();
    assert_same(&mut system, &mut expected, &sources, "one was written");
}
