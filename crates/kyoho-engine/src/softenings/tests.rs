//! Tests of sources that have softenings.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kyoho_core::{
    Assignment, Block, Error, Order, PartialSums, Precision, Result, Scope, Sink, SinkOrder, Source, Sources,
    TreeAccuracy, Updates,
};
use kyoho_hal::{Backend, DeviceDescription};
use kyoho_methods::{Device, DeviceOptions, Machine};

use crate::tests::setup;
use crate::{Setup, System};

fn at(x: f64) -> Source {
    Source::from_derivatives(x as i32, 1.0, 0.0, [[x, 0.0, 0.0]])
}

fn pull(system: &mut System, softening2: f64) -> f64 {
    system.force(2, true, [Sink { softening2, ..Sink::NOTHING }]).unwrap().acceleration(0)[0]
}

#[test]
fn the_squared_softening_of_a_pair_is_the_mean_of_both() {
    let mut system = System::new(&setup()).unwrap();
    let said = system.set_softened_source(0, &at(2.0), 8.0).unwrap_err().to_string();
    assert!(said.contains("a softening in a system that is not prepared for such"), "{said}");
    system.prepare_softenings(true, 0).unwrap();
    system.set_softened_source(0, &at(2.0), 8.0).unwrap();
    assert_eq!(pull(&mut system, 2.0), 2.0 / 27.0);
    system.set_softened_source(0, &at(2.0), 0.0).unwrap();
    assert_eq!(pull(&mut system, 0.0), 0.25);
    // A source that is written without one has none.
    system.set_source(1, &at(3.0)).unwrap();
    assert!((pull(&mut system, 0.0) - (0.25 + 1.0 / 9.0)).abs() < 1e-15);
}

#[test]
fn sources_of_both_kinds_replace_one_another_as_a_whole() {
    let mut system = System::new(&setup()).unwrap();
    system.set_source(0, &at(2.0)).unwrap();
    system.set_source(1, &at(4.0)).unwrap();
    let before = pull(&mut system, 0.5);
    let said = system.prepare_softenings(true, 1).unwrap_err().to_string();
    assert!(said.contains("softening of sources is 'given, and other sources have none'"), "{said}");
    assert_eq!(pull(&mut system, 0.5), before);
    system.prepare_softenings(true, 2).unwrap();
    assert_eq!((pull(&mut system, 0.5), system.statistics().sources), (0.0, 0));
    system.set_softened_source(1, &at(2.0), 10.0).unwrap();
    assert_eq!(pull(&mut system, 0.0), 2.0 / 27.0);
    let said = system.prepare_softenings(false, 1).unwrap_err().to_string();
    assert!(said.contains("'not given, and other sources have one'; allowed: one for each source"), "{said}");
    system.prepare_softenings(false, 2).unwrap();
    system.set_source(0, &at(2.0)).unwrap();
    system.set_source(1, &at(4.0)).unwrap();
    assert_eq!(pull(&mut system, 0.5), before);
}

#[test]
fn neighbours_are_those_of_the_last_block_whatever_is_written_then() {
    let mut system = System::new(&setup()).unwrap();
    system.set_source(0, &at(2.0)).unwrap();
    system.force(1, true, [Sink { radius2: 9.0, ..Sink::NOTHING }]).unwrap();
    system.prepare_softenings(true, 1).unwrap();
    system.set_softened_source(0, &at(7.0), 0.0).unwrap();
    assert_eq!(system.neighbours(0).unwrap(), [2]);
    system.force(1, true, [Sink { radius2: 50.0, ..Sink::NOTHING }]).unwrap();
    system.set_softened_source(0, &at(8.0), 1.0).unwrap();
    assert_eq!(system.neighbours(0).unwrap(), [7]);
    assert_eq!(system.force(1, true, [Sink::NOTHING]).unwrap().nearest(0).unwrap().index, 8);
}

#[test]
fn writes_between_start_and_wait_change_the_next_block_alone() {
    let mut system = System::new(&setup()).unwrap();
    let said = "the first write of sources that have softenings, or of others after these, was called while";
    system.set_source(0, &at(2.0)).unwrap();
    system.start(1, true, [Sink::NOTHING]).unwrap();
    let error = system.prepare_softenings(true, 1).unwrap_err().to_string();
    assert!(error.starts_with(said), "{error}");
    assert_eq!(system.wait().unwrap().acceleration(0)[0], 0.25);
    system.prepare_softenings(true, 1).unwrap();
    system.set_softened_source(0, &at(2.0), 10.0).unwrap();
    system.start(1, true, [Sink::NOTHING]).unwrap();
    system.set_softened_source(0, &at(2.0), 0.0).unwrap();
    assert_eq!(system.wait().unwrap().acceleration(0)[0], 2.0 / 27.0);
    assert_eq!(pull(&mut system, 0.0), 0.25);
}

#[test]
fn all_sources_feel_one_another_with_the_softenings_that_they_have() {
    for (order, precision) in [(Order::Second, Precision::Single), (Order::Sixth, Precision::Quad)] {
        let mut system = System::new(&Setup { order, precision, ..setup() }).unwrap();
        system.prepare_softenings(true, 0).unwrap();
        for (address, softening2) in [(0, 2.0), (1, 8.0)] {
            let source = at(2.0 * address as f64);
            system.set_softened_source(address, &source, softening2).unwrap();
        }
        system.start_all(2, 0.0).unwrap();
        let forces = system.wait().unwrap();
        for (sink, sign) in [(0, 1.0), (1, -1.0)] {
            assert_eq!(forces.acceleration(sink)[0], sign * 2.0 / 27.0, "{order:?}");
            assert_eq!(forces.potential(sink), -1.0 / 3.0);
        }
        let said = system.start_all(2, 0.5).unwrap_err().to_string();
        assert!(said.contains("sources that have softenings is '5e-1'; allowed: 0, as each has its own"), "{said}");
    }
}

#[test]
fn what_is_not_done_with_softenings_is_refused() {
    let regular = Setup { scope: Scope::Regular, ..setup() };
    let said = System::new(&regular).unwrap().prepare_softenings(true, 0).unwrap_err().to_string();
    assert!(said.contains("order 4 regular double with softenings of sources"), "{said}");
    let by_walk = Some(TreeAccuracy::Stackless { theta: 0.5, sinks: SinkOrder::Given });
    let second = Setup { order: Order::Second, ..setup() };
    let mut system = System::new(&second).unwrap();
    system.set_tree(by_walk).unwrap();
    let said = system.prepare_softenings(true, 0).unwrap_err().to_string();
    let expected = "walks without a stack with softenings of sources; it computes: full forces by direct sums";
    assert!(said.contains(expected), "{said}");
    system.set_tree(None).unwrap();
    system.prepare_softenings(true, 0).unwrap();
    let said = system.set_tree(by_walk).unwrap_err().to_string();
    assert!(said.contains("walks without a stack with softenings of sources"), "{said}");
    for (softening2, said) in
        [(-1.0, "address 3 is -1,"), (f64::NAN, "address 3 is NaN"), (1e301, "address 3 is 1e301")]
    {
        let error = system.set_softened_source(3, &at(1.0), softening2).unwrap_err().to_string();
        assert!(error.contains("the squared softening of the source at") && error.contains(said), "{error}");
    }
    assert_eq!(system.statistics().sources, 0);
}

#[test]
fn a_system_that_moves_to_other_devices_keeps_its_softenings() {
    let mut system = System::new(&setup()).unwrap();
    system.prepare_softenings(true, 0).unwrap();
    system.set_softened_source(0, &at(2.0), 10.0).unwrap();
    system.move_to(&Setup { devices: vec![0, 0, 0], ..setup() }).unwrap();
    assert_eq!((system.devices().len(), pull(&mut system, 0.0)), (3, 2.0 / 27.0));
    let sinks = || (0..7).map(|number| Sink { softening2: f64::from(number), ..Sink::NOTHING });
    let of_three: Vec<_> = system.force(1, true, sinks()).unwrap().values.to_vec();
    system.move_to(&setup()).unwrap();
    assert_eq!(system.force(1, true, sinks()).unwrap().values, of_three);
}

/// A machine with two GPUs that compute as the CPU does. As many of the next sums as it says are lost.
struct Failing(Arc<AtomicUsize>);

struct FailingDevice(Box<dyn Device>, Arc<AtomicUsize>);

impl Machine for Failing {
    fn devices(&self, backend: Backend) -> Result<usize> {
        Ok(if backend == Backend::OpenCl { 0 } else { 2 })
    }

    fn open(&self, backend: Backend, _: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
        let device = kyoho_devices::open(Backend::Cpu, 0, options)?;
        Ok(if backend == Backend::Cpu { device } else { Box::new(FailingDevice(device, self.0.clone())) })
    }
}

impl Device for FailingDevice {
    fn describe(&self) -> DeviceDescription {
        self.0.describe()
    }

    fn start(&mut self, updates: &Updates, block: &Block, assignment: &Assignment) -> Result<()> {
        self.0.start(updates, block, assignment)
    }

    fn wait_more(&mut self, partial_sums: &mut PartialSums, done: usize) -> Result<usize> {
        match self.1.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
            Ok(_) => Err(Error::DeviceFailed { device: "a GPU".into(), reason: "it was told to fail".into() }),
            Err(_) => self.0.wait_more(partial_sums, done),
        }
    }

    fn neighbours(&mut self, of: &Sources, block: &Block, sinks: Range<usize>, found: &mut [Vec<i32>]) -> Result<()> {
        self.0.neighbours(of, block, sinks, found)
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

#[test]
fn forces_have_the_same_bits_whichever_device_fails() {
    for order in Order::ALL {
        let failures = Arc::new(AtomicUsize::new(0));
        let devices = Setup { order, backend: Backend::Cuda, devices: vec![0, 1], fall_back: true, ..setup() };
        let mut system = System::on(Box::new(Failing(failures.clone())), &devices).unwrap();
        system.prepare_softenings(true, 0).unwrap();
        let write = |system: &mut System, address: usize, moved: f64| {
            let at = |k: usize| (address as f64 * [0.37, 0.61, 0.83][k] + moved).sin();
            let vectors = [0, 1, 2].map(|k| [at(k), at((k + 1) % 3), at((k + 2) % 3)]);
            let source = Source::from_derivatives(address as i32, 0.01, 0.0, vectors);
            system.set_softened_source(address, &source, 1e-3 * (address % 5) as f64).unwrap();
        };
        (0..300).for_each(|address| write(&mut system, address, 0.0));
        let sinks = || (0..9).map(|sink| Sink { index: sink, softening2: 1e-3 * f64::from(sink), ..Sink::NOTHING });
        system.set_time(0.25).unwrap();
        let expected: Vec<f64> = system.force(300, true, sinks()).unwrap().values.to_vec();
        for left in [Backend::Cuda, Backend::Cpu] {
            failures.store(1, Ordering::Relaxed);
            system.start(300, true, sinks()).unwrap();
            // The block that is computed again does not see what is written now.
            write(&mut system, 17, 0.5);
            assert_eq!(system.wait().unwrap().values, expected, "{order:?} {left:?}");
            write(&mut system, 17, 0.0);
            assert_eq!((system.devices().len(), system.setup().backend), (1, left));
        }
    }
}

#[test]
fn devices_that_cannot_be_had_leave_the_sources_as_they_were() {
    struct OfNoTexts;
    impl Machine for OfNoTexts {
        fn devices(&self, _: Backend) -> Result<usize> {
            Ok(1)
        }

        fn open(&self, _: Backend, _: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
            match options.softenings {
                true => Err(Error::DeviceFailed { device: "a GPU".into(), reason: "it has no doubles".into() }),
                false => kyoho_devices::open(Backend::Cpu, 0, options),
            }
        }
    }
    let mut system = System::on(Box::new(OfNoTexts), &setup()).unwrap();
    system.set_source(0, &at(2.0)).unwrap();
    let said = system.prepare_softenings(true, 1).unwrap_err().to_string();
    assert!(said.contains("it has no doubles") && !system.has_softenings(), "{said}");
    assert_eq!(pull(&mut system, 0.0), 0.25);
}
