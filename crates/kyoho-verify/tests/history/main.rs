//! Results do not depend on what was called before: after any sequence of calls, forces, neighbours
//! and predictions have the bits of a fresh system that was given the same sources at once.
//!
//! `PROPTEST_CASES` sets the number of sequences, for long runs.

mod calls;
#[path = "../../../../tests/common/mod.rs"]
mod common;
#[path = "../fakes/mod.rs"]
mod fakes;
#[path = "../late/mod.rs"]
mod late;
mod play;
mod sources_and_sinks;

use std::process::Command;

use calls::{Begun, Call, Change, DEVICES, End, Form, call, target};
use common::pocl::by_opencl;
use fakes::Fakes;
use late::LateMachine;
use play::{bits, outcome, play, play_on};
use proptest::prelude::*;

use kyoho::{Setup, System};
use kyoho_core::{Level, Order, Partition, Precision, Source};
use kyoho_devices::ThisMachine;
use kyoho_hal::Backend;
use kyoho_verify::models::sink_at;
use kyoho_verify::{PlainLists, Selection, Target, targets};

/// Returns the configuration of tests with this many sequences.
fn sequences(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = asked.unwrap_or(cases);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 4000, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(sequences(60))]

    #[test]
    fn on_the_cpu(
        target in target(Backend::Cpu, true),
        calls in prop::collection::vec(call(), 1..20),
    ) {
        let found = play(&|| Box::new(ThisMachine), &target, &calls);
        prop_assert!(found.is_empty(), "{target}: {found:#?}");
    }

    #[test]
    fn on_devices_with_a_copy_of_the_sources(
        target in target(Backend::Cpu, false),
        records in 1..5000usize,
        crossover in prop_oneof![Just(0), Just(20_000u64)],
        calls in prop::collection::vec(call(), 1..20),
    ) {
        let setup = Setup { backend: Backend::Cuda, crossover: Some(crossover), ..target.setup };
        let target = Target { setup };
        let fakes = Fakes::new(records).with_devices(DEVICES);
        let found = play(&|| fakes.machine(), &target, &calls);
        prop_assert!(found.is_empty(), "{target}: {found:#?}");
    }
}

/// To give page-locked memory back a driver waits for its device.
#[test]
fn memory_of_lists_that_are_not_used_any_more_goes_before_a_block_in_parts_begins() {
    let wanted = Selection { backend: Some(Backend::Cpu), order: Some(Order::Second), ..Selection::default() };
    let wanted = Selection { precision: Some(Precision::Single), level: Some(Level::best()), ..wanted };
    let setup = Setup { backend: Backend::Cuda, ..targets(&wanted).remove(0).setup };
    let groups = |sinks| Begun::Groups { form: Form::Ranges, sizes: vec![(sinks, 0)], skip_own_index: false, seed: 0 };
    let large = Begun::Block { nj: 0, skip_own_index: false, ni: 8192, seed: 0 };
    let call = |begun| Call::Forces { begun, changes: Vec::new(), end: End::Wait };
    let fakes = Fakes::new(1).with_devices(DEVICES);
    let found = play(&|| fakes.machine(), &Target { setup }, &[groups(0), groups(1), large].map(call));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn sources_written_while_a_block_is_under_way_have_a_part_in_the_units_of_the_next_lists() {
    for (order, precision) in [(Order::Fourth, Precision::Mixed), (Order::Second, Precision::Single)] {
        let wanted = Selection { backend: Some(Backend::Cpu), order: Some(order), ..Selection::default() };
        let wanted = Selection { precision: Some(precision), level: Some(Level::best()), ..wanted };
        let setup = targets(&wanted).remove(0).setup;
        let sources = |size: f64, mass: f64| {
            let mut all = [Source { mass, ..Source::default() }; 4];
            let places = [[size, 0.0, 0.0], [0.0, size, 0.0], [0.0, 0.0, -size], [size, size, size]];
            all.iter_mut().zip(places).for_each(|(source, place)| source.coefficients[0] = place);
            all
        };
        let sinks = [sink_at(-1, [0.0; 3], 0.0)];
        let lists = PlainLists::of_ranges(&[(1, 0..4)]);
        let forces = |system: &mut System| {
            lists.start(system, false, &sinks).unwrap();
            outcome(system.wait(), bits)
        };
        for (size, mass) in [(1e10, 1e-10), (1e-12, 1e20)] {
            let (before, after) = (sources(1.0, 1.0), sources(size, mass));
            let mut fresh = System::new(&setup).unwrap();
            fresh.set_sources(4, |address| after[address]).unwrap();
            let mut system = System::new(&setup).unwrap();
            system.set_sources(4, |address| before[address]).unwrap();
            system.start(4, false, sinks).unwrap();
            system.set_sources(4, |address| after[address]).unwrap();
            system.wait().unwrap();
            assert_eq!(forces(&mut system), forces(&mut fresh), "{order:?}, {precision:?}, size {size:e}");
        }
    }
}

/// Trees of all sources and of those below an address, where the caller wrote sources at large
/// addresses first, without and with a gap.
fn trees_of_sources_in_any_order() -> Vec<Call> {
    let write = |first, count| {
        let change = Change::Some { first, step: 2, count, together: false, seed: 1_874_085_129_164_271_689 };
        Call::Change(change)
    };
    let forces = |nj| {
        let begun = Begun::Block { nj, skip_own_index: nj % 2 == 0, ni: 5, seed: 3 };
        Call::Forces { begun, changes: Vec::new(), end: End::Wait }
    };
    let mut calls = vec![Call::Tree(Some(1e-3))];
    for (first, count) in [(2048, 300), (512, 200), (0, 700)] {
        calls.push(write(first, count));
        calls.extend([1, 300, 513, 600, 2049, 2500, 4000].map(forces));
    }
    calls.push(Call::Find { nj: 2500, ni: 10, skip_own_index: false, seed: 7 });
    calls
}

/// Sources that lie on a device and are written twice while a block is under way.
fn written_twice() -> Vec<Call> {
    let of = |nj, changes| {
        let begun = Begun::Block { nj, skip_own_index: false, ni: nj, seed: 0 };
        Call::Forces { begun, changes, end: End::Wait }
    };
    let write = |seed| Change::All { count: 1, seed };
    vec![Call::Change(Change::OnDevice { count: 3, seed: 0 }), of(0, vec![write(0), write(1)]), of(3, Vec::new())]
}

/// Forces in arrays on the first of several devices, of which others have summed some: of groups, and
/// of sinks that are too few for the tree. What the seeds leave is 1 after division by 2 and by 3.
fn left_on_the_first() -> Vec<Call> {
    let of = |begun| Call::Forces { begun, changes: Vec::new(), end: End::Wait };
    let groups = |sizes| of(Begun::Groups { form: Form::Own, sizes, skip_own_index: true, seed: 7 });
    vec![
        Call::Move(3),
        Call::Tree(Some(1e-3)),
        Call::Change(Change::Some { first: 0, step: 1, count: 600, together: true, seed: 5 }),
        groups(vec![(3, 98)]),
        groups(vec![(3, 98), (5, 60), (0, 9), (4, 20)]),
        of(Begun::Block { nj: 600, skip_own_index: true, ni: 40, seed: 7 }),
    ]
}

/// Returns the target of the least arithmetic on a backend.
fn of_single_order_2(backend: Backend) -> Target {
    let wanted = Selection { backend: Some(backend), order: Some(Order::Second), ..Selection::default() };
    let target = targets(&Selection { precision: Some(Precision::Single), ..wanted }).remove(0);
    // No block is the CPU's.
    Target { setup: Setup { crossover: Some(0), ..target.setup } }
}

/// The same by OpenCL, in a process that sees PoCL, whose device is named several times.
#[test]
fn by_opencl_on_pocl() {
    const INSIDE: &str = "KYOHO_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_none() {
        let mut command = by_opencl(Command::new(std::env::current_exe().unwrap()), &[(INSIDE, "1")]);
        common::succeed(command.args(["by_opencl_on_pocl", "--exact", "--nocapture", "--test-threads=1"]));
        return;
    }
    let found = play(&|| Box::new(ThisMachine), &of_single_order_2(Backend::OpenCl), &trees_of_sources_in_any_order());
    assert!(found.is_empty(), "{found:#?}");
    let calls = prop::collection::vec(call(), 1..20);
    let mut runner = proptest::test_runner::TestRunner::new(sequences(12));
    let outcome = runner.run(&(target(Backend::OpenCl, false), calls), |(target, calls)| {
        let found = play(&|| Box::new(ThisMachine), &target, &calls);
        prop_assert!(found.is_empty(), "{target}: {found:#?}");
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

/// The same on GPUs whose work is late, with arrays of callers in their memory: they are PoCL's too,
/// and count as CUDA's.
#[test]
fn on_devices_whose_work_is_late() {
    const INSIDE: &str = "KYOHO_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_none() {
        let mut command = by_opencl(Command::new(std::env::current_exe().unwrap()), &[(INSIDE, "1")]);
        common::succeed(command.args(["on_devices_whose_work_is_late", "--exact", "--nocapture", "--test-threads=1"]));
        return;
    }
    let late = LateMachine::new(DEVICES).expect("PoCL has a device");
    let single = of_single_order_2(Backend::OpenCl);
    // With a partition blocks and lists are divided among devices however few they are.
    let partition = Some(Partition { ranges: 3, sets: 1 });
    let single = Target { setup: Setup { backend: Backend::Cuda, partition, ..single.setup } };
    for calls in [written_twice(), left_on_the_first()] {
        let found = play_on(&|| Box::new(late.clone()), Some(&late), &single, &calls);
        assert!(found.is_empty(), "{found:#?}");
    }
    let calls = prop::collection::vec(call(), 1..20);
    let mut runner = proptest::test_runner::TestRunner::new(sequences(12));
    let outcome = runner.run(&(target(Backend::OpenCl, false), calls), |(target, calls)| {
        let target = Target { setup: Setup { backend: Backend::Cuda, ..target.setup } };
        let late = LateMachine::new(DEVICES).expect("PoCL has a device");
        let mut found = play_on(&|| Box::new(late.clone()), Some(&late), &target, &calls);
        found.extend(late.faults());
        prop_assert!(found.is_empty(), "{target}: {found:#?}");
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

/// A library that lacks one of its waits for results gives other ones, fails, or touches memory that
/// work uses. Trees are left out: they try again where what a GPU reports makes no sense.
#[test]
fn each_wait_that_is_left_out_is_found() {
    const WAIT: &str = "KYOHO_TEST_WAIT";
    if let Some(wait) = std::env::var_os(WAIT) {
        let late = LateMachine::new(1).expect("PoCL has a device");
        late.leave_out(wait.into_string().unwrap().parse().unwrap());
        let single = of_single_order_2(Backend::OpenCl);
        let single = Target { setup: Setup { backend: Backend::Cuda, ..single.setup } };
        let mut calls = left_on_the_first();
        calls.retain(|call| !matches!(call, Call::Tree(_)));
        calls.extend(written_twice());
        let found = play_on(&|| Box::new(late.clone()), Some(&late), &single, &calls);
        assert!(found.is_empty() && late.faults().is_empty(), "{found:?}");
        println!("waits: {}", late.waits());
        return;
    }
    // Each in a process of its own, as work may then touch memory that is gone. Returns the number of its
    // waits, if it found nothing. Threads of the host work meanwhile: a history may have one wait less
    // than another, as they let the bytes come before.
    let waits_without = |wait: u64| {
        let mut command = by_opencl(Command::new(std::env::current_exe().unwrap()), &[(WAIT, &wait.to_string())]);
        let done = command.args(["each_wait_that_is_left_out_is_found", "--exact", "--nocapture"]).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        let waits = said.lines().find_map(|line| line.strip_prefix("waits: ")?.parse::<u64>().ok());
        waits.ok_or_else(|| format!("{said} {}", String::from_utf8_lossy(&done.stderr)))
    };
    let waits = waits_without(u64::MAX).unwrap_or_else(|said| panic!("{said}"));
    assert!(waits > 5, "{waits}");
    let is_unseen = |wait: &u64| waits_without(*wait).is_ok_and(|waits| waits > *wait);
    let unseen: Vec<u64> = (0..waits).filter(is_unseen).collect();
    assert!(unseen.is_empty(), "of {waits} waits these do not matter: {unseen:?}");
}
