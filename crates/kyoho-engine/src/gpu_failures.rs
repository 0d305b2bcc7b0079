//! A system on a GPU that fails on demand.

use std::ops::Range;

use crate::lists::{Division, GivenBodies, SourceDivision};
use crate::moving::MovingBody;
use crate::{Setup, System};
use kyoho_core::Level;
use kyoho_core::sinks::FromFn;
use kyoho_core::{Error, Order, Partition, Precision, Result, ResultCode, Scope, Sink, Source, TreeAccuracy, padded};
use kyoho_devices::ThisMachine;
use kyoho_devices::fake::{open, output, script, sinks, source};
use kyoho_hal::Backend;
use kyoho_hal::fake::Shared;
use kyoho_laws::catalogue::interaction;
use kyoho_methods::device_arrays::Motion;
use kyoho_methods::{Device, DeviceOptions, Machine};

/// A machine with one GPU, which is a fake, and the CPU of this one. If the fake works late, its
/// kernels reach no memory of the host, and one thread begins blocks.
struct FakeMachine(Shared);

impl Machine for FakeMachine {
    fn devices(&self, backend: Backend) -> Result<usize> {
        match backend {
            Backend::Cuda => Ok(1),
            other => ThisMachine.devices(other),
        }
    }

    fn open(&self, backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
        match backend {
            Backend::Cuda => {
                let is_late = self.0.get().schedule.is_late();
                Ok(Box::new(open(&self.0, !is_late, &options.interaction)?))
            }
            other => kyoho_devices::open(other, number, options),
        }
    }

    fn threads(&self, devices: usize) -> usize {
        if self.0.get().schedule.is_late() { 1 } else { devices }
    }
}

fn setup(backend: Backend, fall_back: bool) -> Setup {
    Setup {
        order: Order::Fourth,
        precision: Precision::Double,
        scope: Scope::Full,
        backend,
        devices: vec![0],
        threads: 1,
        level: Level::Portable,
        shape: None,
        partition: None,
        crossover: Some(0),
        block_steps: None,
        fall_back,
    }
}

fn write_all(system: &mut System, numbers: Range<usize>) {
    numbers.for_each(|number| system.set_source(number, &source(number)).unwrap());
}

/// Returns the first output of each sink of a block of a system, which may fail.
fn potentials(system: &mut System, ni: usize, nj: usize) -> Result<Vec<f64>> {
    let forces = system.force(nj, true, sinks(ni))?;
    Ok((0..ni).map(|sink| forces.potential(sink)).collect())
}

/// Returns the first output of each sink of a block of a system on the CPU with this many sources.
fn potentials_of_cpu(ni: usize, nj: usize) -> Vec<f64> {
    let mut system = System::new(&setup(Backend::Cpu, false)).unwrap();
    write_all(&mut system, 0..nj);
    potentials(&mut system, ni, nj).unwrap()
}

#[test]
fn assignments_on_one_device_give_records_back_when_none_is_at_work() {
    let script = script(&interaction(Order::Fourth, Precision::Double).unwrap());
    let three_times = Setup { devices: vec![0, 0, 0], ..setup(Backend::Cuda, false) };
    let mut system = System::on(Box::new(FakeMachine(script.clone())), &three_times).unwrap();
    write_all(&mut system, 0..3000);
    system.start(3000, true, sinks(40)).unwrap();
    script.get().calls.clear();
    drop(system);
    let calls = script.get().calls.clone();
    // The first device registered the memory for all, and goes last.
    let given_back = calls.iter().rposition(|call| *call == "unregister").unwrap();
    let waited = calls.iter().rposition(|call| *call == "synchronize").unwrap();
    assert!(waited < given_back, "{calls:?}");
    assert!(script.get().is_clean());
}

#[test]
fn without_memory_for_more_sources_the_system_keeps_all_and_goes_on_where_it_is_moved_to_or_there_is_memory() {
    let script = script(&interaction(Order::Fourth, Precision::Double).unwrap());
    let mut system = System::on(Box::new(FakeMachine(script.clone())), &setup(Backend::Cuda, false)).unwrap();
    write_all(&mut system, 0..300);
    let of_gpu: Vec<f64> = sinks(40).map(|sink| output(sink.index, 0, 0)).collect();
    assert_eq!(potentials(&mut system, 40, 300).unwrap(), of_gpu);
    write_all(&mut system, 300..3000);
    script.get().has_no_memory = true;
    for _ in 0..2 {
        let error = potentials(&mut system, 40, 3000).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { what: "sources", .. }), "{error}");
        assert_eq!(system.statistics().sources, 3000);
    }
    system.move_to(&setup(Backend::Cpu, false)).unwrap();
    assert_eq!(potentials(&mut system, 40, 3000).unwrap(), potentials_of_cpu(40, 3000));
    let error = system.move_to(&setup(Backend::Cuda, false)).unwrap_err();
    assert_eq!(error.code(), ResultCode::OutOfMemory);
    assert_eq!(potentials(&mut system, 40, 3000).unwrap(), potentials_of_cpu(40, 3000));
    script.get().has_no_memory = false;
    system.move_to(&setup(Backend::Cuda, false)).unwrap();
    assert_eq!(potentials(&mut system, 40, 3000).unwrap(), of_gpu);
    drop(system);
    assert!(script.get().is_clean());
}

#[test]
fn wherever_a_device_fails_for_ever_the_cpu_goes_on_with_all_sources_if_nobody_chose() {
    let script = script(&interaction(Order::Fourth, Precision::Double).unwrap());
    let expected = potentials_of_cpu(40, 900);
    // One block step after another until the device fails at the call of this number in a step of
    // its own.
    for place in (0..).step_by(3) {
        let mut system = System::on(Box::new(FakeMachine(script.clone())), &setup(Backend::Cuda, true)).unwrap();
        write_all(&mut system, 0..300);
        potentials(&mut system, 40, 300).unwrap();
        write_all(&mut system, 100..600);
        script.get().calls.clear();
        script.get().failing = Some(place..usize::MAX);
        system.start(600, true, sinks(40)).unwrap();
        write_all(&mut system, 600..900);
        let has_failed = |system: &System| system.setup().backend == Backend::Cpu;
        let found: Vec<f64> = {
            let forces = system.wait().unwrap();
            (0..40).map(|sink| forces.potential(sink)).collect()
        };
        let in_step = has_failed(&system);
        let of_gpu: Vec<f64> = sinks(40).map(|sink| output(sink.index, 0, 0)).collect();
        assert_eq!(found, if in_step { potentials_of_cpu(40, 600) } else { of_gpu }, "call {place}");
        assert_eq!(potentials(&mut system, 40, 900).unwrap() == expected, has_failed(&system), "call {place}");
        script.get().failing = None;
        drop(system);
        assert!(script.get().is_clean());
        if !in_step {
            assert!(place > 5, "{place} calls");
            return;
        }
    }
}

/// Makes a system of order 2 that sums by trees, on the CPU or on a fake that the CPU may replace.
fn system_of_trees(script: &Shared, backend: Backend) -> System {
    let setup = Setup {
        order: Order::Second,
        precision: Precision::Single,
        threads: 2,
        ..setup(backend, backend == Backend::Cuda)
    };
    let mut system = System::on(Box::new(FakeMachine(script.clone())), &setup).unwrap();
    system.set_tree(Some(TreeAccuracy::Error(1e-2))).unwrap();
    system.set_tree_crossover(Some(1 << 20));
    system
}

/// The position of a body.
type PositionOf = fn(usize) -> [f64; 3];

/// Returns the first outputs of the forces of many sources on as many sinks, or on one another, and on
/// three sinks.
fn potentials_of_all(system: &mut System, sources: PositionOf, sinks: Option<PositionOf>) -> [Vec<f64>; 2] {
    const COUNT: usize = 9000;
    let source = |number: usize| Source::from_derivatives(number as i32, 1.0, 0.0, [sources(number)]);
    let derivatives = |number: usize| padded([sinks.unwrap_or(sources)(number)]);
    let sink = |number| Sink { index: -1, softening2: 0.1, derivatives: derivatives(number), ..Sink::NOTHING };
    system.set_sources(COUNT, source).unwrap();
    [COUNT, 3].map(|count| {
        match sinks {
            None if count == COUNT => system.start_all(COUNT, 0.1).unwrap(),
            _ => system.start_from_fn(COUNT, false, count, sink).unwrap(),
        }
        let forces = system.wait().unwrap();
        (0..count).map(|number| forces.potential(number)).collect()
    })
}

#[test]
fn wherever_a_device_fails_the_cpu_goes_on_with_sources_and_sinks_that_only_the_device_had_packed() {
    let script = script(&interaction(Order::Second, Precision::Single).unwrap());
    let before: PositionOf = |number| [number as f64, 0.0, 1.0];
    let after: PositionOf = |number| [(number % 311) as f64, (number % 7) as f64, number as f64 * 0.001];
    let moved: PositionOf = |number| [(number % 311) as f64, (number % 7) as f64, number as f64 * 0.002];
    for sinks in [Some(after), Some(moved), None] {
        let expected = potentials_of_all(&mut system_of_trees(&script, Backend::Cpu), after, sinks);
        for place in [0, 9, 30] {
            let mut system = system_of_trees(&script, Backend::Cuda);
            // The fake makes direct sums, of which it has sources that are replaced, and no trees.
            system.set_tree(None).unwrap();
            potentials_of_all(&mut system, before, Some(before));
            system.set_tree(Some(TreeAccuracy::Error(1e-2))).unwrap();
            script.get().calls.clear();
            script.get().failing = Some(place..usize::MAX);
            let found = potentials_of_all(&mut system, after, sinks);
            assert_eq!(system.setup().backend, Backend::Cpu);
            assert_eq!(found[1], expected[1], "call {place}");
            assert!(found[0] == expected[0], "call {place}");
            script.get().failing = None;
            drop(system);
            assert!(script.get().is_clean());
        }
    }
}

fn moving() -> Motion {
    Motion { kicks: [0.0, 0.5], drift: 1.0, begins: true }
}

#[test]
fn bodies_that_a_device_moves_are_lost_with_the_device() {
    let script = script(&interaction(Order::Second, Precision::Single).unwrap());
    let (mut system, motion) = (system_of_trees(&script, Backend::Cuda), moving());
    let body = |number: usize| MovingBody {
        mass: 1.0,
        position: [number as f64, 0.0, 0.0],
        velocity: [0.0; 3],
        acceleration: [0.0; 3],
    };
    assert!(system.keep_moving(5000, body).unwrap());
    assert!(system.move_bodies(&motion, None).unwrap());
    assert_eq!(system.moved().unwrap().unwrap()(4999), body(4999));
    // The same device, opened anew, has nothing of what the former one had.
    let setup = system.setup().clone();
    system.move_to(&setup).unwrap();
    assert!(!system.move_bodies(&motion, None).unwrap());
    assert!(system.moved().unwrap().is_none());
    drop(system);
    assert!(script.get().is_clean());
}

/// Begins the forces on the bodies of two systems, which is work for two devices: they copy from
/// memory that one of them has page-locked.
fn start_batch(system: &mut System) -> Result<()> {
    const BODIES: usize = 4000;
    let ones = |_: usize, to: &mut [f64]| to.fill(1.0);
    let numbers = |first: usize, to: &mut [f64]| (first..).zip(to).for_each(|(number, to)| *to = number as f64);
    let mut bodies = GivenBodies { count: BODIES, ..GivenBodies::default() };
    bodies.columns.masses = Some(&ones);
    bodies.columns.derivatives[..2].copy_from_slice(&[Some(&numbers), Some(&ones)]);
    let offset = |system: usize| (system * BODIES / 2) as i64;
    let division = Division::Host { sinks: &offset, sources: SourceDivision::Offsets(&offset) };
    system.start_batch(2, division, &bodies)
}

#[test]
fn wherever_a_call_fails_no_memory_goes_that_another_device_reads() {
    let script = script(&interaction(Order::Fourth, Precision::Double).unwrap());
    script.get().schedule.be_late(3);
    let partition = Some(Partition { ranges: 2, sets: 1 });
    // In each round another call fails while the block is begun, and in the first one none. Where
    // the first device cannot page-lock memory, the second one has done it.
    let mut begun = 0;
    for failing in (0..).map(|place: usize| place.checked_sub(1)) {
        let setup =
            Setup { devices: vec![0, 0], partition, ..setup(Backend::Cuda, failing.is_some_and(|n| n % 2 == 0)) };
        let mut system = System::on(Box::new(FakeMachine(script.clone())), &setup).unwrap();
        write_all(&mut system, 0..3000);
        script.get().calls.clear();
        script.get().failing = failing.map(|place| place..place + 1);
        let started = start_batch(&mut system);
        begun += usize::from(started.is_ok());
        let calls = script.get().calls.len();
        script.get().failing = None;
        drop(system);
        assert_eq!(script.get().schedule.take_faults(), [""; 0], "call {failing:?} failed");
        assert!(script.get().is_clean(), "call {failing:?} failed");
        if failing.is_some_and(|place| place >= calls) {
            break;
        }
    }
    assert!(begun > 3, "{begun}");
}

#[test]
fn copies_of_which_nothing_was_made_end_before_their_memory_is_used_again() {
    let script = script(&interaction(Order::Second, Precision::Single).unwrap());
    script.get().schedule.be_late(3);
    let source = |shift: f64| {
        move |number: usize| Source::from_derivatives(number as i32, 1.0, 0.0, [[number as f64, shift, 1.0]])
    };
    let mut system = system_of_trees(&script, Backend::Cuda);
    system.set_sources(9000, source(0.0)).unwrap();
    // Sinks the last of which is not good, so that all copies before it are of no use.
    for count in [5000, 5001, 8000] {
        let sink = |number: usize| Sink {
            softening2: if number == count - 1 { f64::NAN } else { 0.1 },
            derivatives: padded([[number as f64, count as f64, 1.0]]),
            ..Sink::NOTHING
        };
        for skips_own_index in [true, false] {
            assert!(!system.start_staged(9000, skips_own_index, count, &FromFn(sink)).unwrap());
            assert_eq!(script.get().schedule.take_faults(), [""; 0], "{count} sinks");
        }
    }
    // Sources of which a copy cannot be begun.
    for place in 0..8 {
        script.get().calls.clear();
        script.get().failing = Some(place..place + 1);
        let _ = system.set_sources(9000, source(place as f64));
        script.get().failing = None;
        for count in [9000, 20000 + 4000 * place] {
            let _ = system.set_sources(count, source(0.5 + place as f64));
            assert_eq!(script.get().schedule.take_faults(), [""; 0], "call {place} failed");
        }
    }
    drop(system);
    assert_eq!(script.get().schedule.take_faults(), [""; 0]);
    assert!(script.get().is_clean());
}
