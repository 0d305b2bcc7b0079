//! The device on a driver that does and fails as it is told. Its kernels sum nothing: they put what tells a sink from
//! another where the sums of that sink go, and say that they are done.

use std::cell::Cell;
use std::ffi::c_void;
use std::ops::Range;

use super::device::CudaDevice;
use super::driver::fake::{self, state};
use super::driver::{Context, Driver};
use crate::backend::gpu::pack::ROW;
use crate::backend::gpu::step::Step;
use crate::backend::{self, Backend, Device, DeviceOptions, Machine, cpu::Level};
use crate::catalogue::{CATALOGUE, Descriptor, Order, Precision, descriptor};
use crate::error::{Error, Result, ResultCode};
use crate::system::slices::{SLICES, slices_of_device};
use crate::system::{Block, Parts, Record, Setup, Sink, Source, Sources, System};

const LAUNCH_FAILED: i32 = 719;
const OUT_OF_MEMORY: i32 = 2;

/// The number of the output `k` of a sink in a set of slices.
fn output(index: i32, set: usize, k: usize) -> f64 {
    f64::from(index) * 1000.0 + set as f64 * 10.0 + k as f64
}

thread_local! {
    static OUTPUTS: Cell<usize> = const { Cell::new(0) };
}

/// What kernels do here.
fn kernel(name: &str, parameters: *mut *mut c_void) {
    // SAFETY: the device gives each kernel parameters of these types, and memory that is the host's here.
    unsafe {
        let number = |place: usize| **parameters.add(place).cast::<*const u64>();
        let count = |place: usize| **parameters.add(place).cast::<*const i32>() as usize;
        if name == "fetch" {
            let (from, to, rows) = (number(7), number(8), count(9));
            if !fake::has(from, rows * ROW) || !fake::has(to, rows * ROW) {
                return;
            }
            std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, rows * ROW);
        }
        let (indices, first) = match name {
            "end_block" => (6, 11),
            name if name.ends_with("_fe") => (7, 13),
            _ => return,
        };
        let step = **parameters.cast::<*const Step>();
        let indices = number(indices) as *const i32;
        let [sums, distances, nearest, flag] = [0, 1, 2, 3].map(|place| number(first + place));
        let outputs = OUTPUTS.get();
        let sets = if step.adds_slices == 1 { 1 } else { step.slices as usize };
        let rows = (sets - 1) * step.stride as usize + step.ni as usize;
        let has_room =
            [(sums, 8 * outputs), (distances, 8), (nearest, 4)].map(|(to, bytes)| fake::has(to, rows * bytes));
        if has_room.contains(&false) || !fake::has(flag, 4) {
            return;
        }
        for set in 0..sets {
            for sink in 0..step.ni as usize {
                let (row, index) = (set * step.stride as usize + sink, *indices.add(sink));
                (0..outputs).for_each(|k| *(sums as *mut f64).add(row * outputs + k) = output(index, set, k));
                *(distances as *mut f64).add(row) = output(index, set, 8);
                *(nearest as *mut i32).add(row) = index + set as i32;
            }
        }
        *(flag as *mut u32) = step.sequence;
    }
}

/// Lets kernels do their work from here on.
fn with_kernels(descriptor: &Descriptor) {
    OUTPUTS.set(descriptor.outputs);
    state(|state| state.kernel = Some(kernel));
}

fn options(descriptor: &'static Descriptor, slices: Vec<usize>) -> DeviceOptions {
    DeviceOptions { descriptor, slices, threads: 1, level: Level::Portable, shape: None }
}

fn open(driver: &'static Driver, options: &DeviceOptions) -> Result<CudaDevice> {
    CudaDevice::on(Context::of(driver, 0)?, options.clone())
}

fn source(number: usize) -> Source {
    let place = number as f64;
    Source::from_derivatives(number as i32, 1.0, 0.0, [[place, 1.0, 2.0], [0.5; 3], [0.0; 3], [0.0; 3]])
}

fn sources(descriptor: &Descriptor, count: usize) -> Sources {
    let mut sources = Sources::new(descriptor.taylor);
    (0..count).for_each(|number| sources.write(number, &source(number)).unwrap());
    sources
}

fn block(ni: usize, nj: usize) -> Block {
    let sink = |number: usize| Sink {
        index: number as i32 - 3,
        softening2: 0.0,
        radius2: 1.0,
        derivatives: [[number as f64; 3], [0.0; 3]],
    };
    Block { sinks: (0..ni).map(sink).collect(), skip_own_index: true, time: 1.0, nj, mass_factor: 1.0 }
}

/// Waits for a block and looks whether each sink has its own sums.
fn wait(device: &mut CudaDevice, options: &DeviceOptions, block: &Block) -> Result<()> {
    let (outputs, nearest) = (options.descriptor.outputs, options.descriptor.nearest);
    let whole = options.slices.len() == SLICES;
    let mut parts = Parts::new(outputs, nearest);
    parts.reset(block.sinks.len(), !whole)?;
    device.wait(&mut parts)?;
    for (set, slice) in options.slices.iter().enumerate().take(if whole { 1 } else { SLICES }) {
        let sums = if whole { parts.whole_again() } else { parts.slice_again(*slice) };
        assert_eq!(sums.values.len(), outputs * block.sinks.len());
        for (sink, values) in block.sinks.iter().zip(sums.values.chunks(outputs)) {
            let expected: Vec<f64> = (0..outputs).map(|k| output(sink.index, set, k)).collect();
            assert_eq!(values, expected, "sink {} of set {set}", sink.index);
        }
        assert_eq!(sums.nearest.len(), if nearest { block.sinks.len() } else { 0 });
        for (sink, found) in block.sinks.iter().zip(&sums.nearest) {
            assert_eq!((found.index, found.distance2), (sink.index + set as i32, output(sink.index, set, 8)));
        }
    }
    Ok(())
}

#[test]
fn each_sink_gets_its_own_sums_in_blocks_of_every_size_and_on_every_share_of_slices() {
    for descriptor in CATALOGUE {
        with_kernels(descriptor);
        let sources = sources(descriptor, 3000);
        for (device, devices) in [(0, 1), (1, 3), (23, 24)] {
            let options = options(descriptor, slices_of_device(device, devices));
            let mut device = open(fake::driver(), &options).unwrap();
            for ni in [1, 7, 300, 1000, 5000, 9000, 20_000, 3] {
                let block = block(ni, 3000);
                device.start(&sources, &[], &block).unwrap();
                wait(&mut device, &options, &block).unwrap();
            }
        }
    }
    assert!(state(|state| state.live.is_empty() && state.contexts == 0));
}

#[test]
fn sums_are_handed_over_piece_by_piece() {
    let descriptor = descriptor(Order::Fourth, Precision::Double).unwrap();
    with_kernels(descriptor);
    let sources = sources(descriptor, 3000);
    let mut device = open(fake::driver(), &options(descriptor, slices_of_device(0, 1))).unwrap();
    for ni in [1, 5000, 20_000, 0] {
        let block = block(ni, 3000);
        device.start(&sources, &[], &block).unwrap();
        let mut parts = Parts::new(descriptor.outputs, descriptor.nearest);
        parts.reset(ni, false).unwrap();
        let mut done = 0;
        loop {
            let now = device.wait_more(&mut parts, done).unwrap();
            for sink in done..now {
                let found = &parts.whole_again().values[sink * descriptor.outputs..][..descriptor.outputs];
                assert_eq!(found[0], output(block.sinks[sink].index, 0, 0));
            }
            assert!(now > done || now == ni);
            done = now;
            if done >= ni {
                break;
            }
        }
    }
}

#[test]
fn a_device_that_ends_without_a_word_is_a_defect_and_not_the_end() {
    let descriptor = descriptor(Order::Fourth, Precision::Mixed).unwrap();
    let options = options(descriptor, slices_of_device(0, 1));
    let sources = sources(descriptor, 1000);
    let mut device = open(fake::driver(), &options).unwrap();
    let block = block(40, 1000);
    device.start(&sources, &[], &block).unwrap();
    let mut parts = Parts::new(descriptor.outputs, true);
    parts.reset(40, false).unwrap();
    let error = device.wait(&mut parts).unwrap_err();
    assert!(matches!(&error, Error::Internal { what } if what.contains("without saying so")), "{error}");
    with_kernels(descriptor);
    device.start(&sources, &[], &block).unwrap();
    wait(&mut device, &options, &block).unwrap();
}

#[test]
fn a_block_that_was_not_waited_for_to_its_end_is_waited_for_when_the_next_one_begins() {
    let descriptor = descriptor(Order::Fourth, Precision::Double).unwrap();
    with_kernels(descriptor);
    let options = options(descriptor, slices_of_device(0, 1));
    let mut sources = sources(descriptor, 3000);
    let mut device = open(fake::driver(), &options).unwrap();
    let (large, small) = (block(20_000, 3000), block(40, 3000));
    device.start(&sources, &[], &large).unwrap();
    sources.forget_written();
    let mut parts = Parts::new(descriptor.outputs, descriptor.nearest);
    parts.reset(20_000, false).unwrap();
    assert!(device.wait_more(&mut parts, 0).unwrap() < 20_000);
    state(|state| state.calls.clear());
    device.start(&sources, &[], &small).unwrap();
    let calls = state(|state| state.calls.clone());
    assert_eq!(calls[1..3], ["cuStreamSynchronize"; 2], "{calls:?}");
    wait(&mut device, &options, &small).unwrap();
}

#[test]
fn shares_of_one_device_register_records_once_and_give_them_back_when_none_is_at_work() {
    with_kernels(descriptor(Order::Fourth, Precision::Double).unwrap());
    let shares = Setup { devices: vec![0, 0, 0], ..setup(Backend::Cuda, false) };
    let mut system = System::on(Box::new(FakeMachine(fake::driver())), &shares).unwrap();
    write_all(&mut system, 0..3000);
    system.start(3000, true, block(40, 3000).sinks).unwrap();
    state(|state| state.calls.clear());
    drop(system);
    let calls = state(|state| state.calls.clone());
    let given_back = calls.iter().position(|call| *call == "cuMemHostUnregister").unwrap();
    let waited = calls.iter().rposition(|call| *call == "cuStreamSynchronize").unwrap();
    assert!(waited < given_back, "{calls:?}");
    assert!(state(|state| state.live.is_empty() && state.contexts == 0));
}

/// Everything that a device is asked for: it is opened, has its log registered, and computes while its sources and
/// blocks grow. Gives back the device, if there is one, and how far it came.
fn ask_for_everything(
    driver: &'static Driver,
    options: &DeviceOptions,
    log: &[Record],
) -> (Option<CudaDevice>, Result<()>) {
    let mut device = match open(driver, options) {
        Ok(device) => device,
        Err(error) => return (None, Err(error)),
    };
    let mut work = || -> Result<()> {
        device.register(log)?;
        let mut sources = sources(options.descriptor, 700);
        for (ni, count) in [(1, 700), (40, 3000), (5000, 3000), (9000, 3000)] {
            (700..count).for_each(|number| sources.write(number, &source(number)).unwrap());
            let block = block(ni, count);
            device.start(&sources, &log[..ni.min(log.len())], &block)?;
            wait(&mut device, options, &block)?;
            sources.forget_written();
        }
        // A chunk that is far away.
        sources.write(100_000, &source(100_000)).unwrap();
        let block = block(300, 200_000);
        device.start(&sources, &[], &block)?;
        wait(&mut device, options, &block)?;
        let mut found = vec![Vec::new(); 300];
        device.neighbours(&sources, &block, 0..300, &mut found)
    };
    let outcome = work();
    (Some(device), outcome)
}

/// Whether it does no harm, and is no error, if a call of this name fails: it gives something back.
fn gives_back(call: &str) -> bool {
    ["Free", "Destroy", "Unregister", "Release", "Unload"].iter().any(|word| call.contains(word))
}

#[test]
fn whatever_call_fails_is_an_error_and_nothing_is_lost() {
    let descriptor = descriptor(Order::Fourth, Precision::Mixed).unwrap();
    let log: Vec<Record> = (0..600).map(|number| Record::new(number, &source(number as usize))).collect();
    with_kernels(descriptor);
    fail_each_call_in_turn(&options(descriptor, slices_of_device(0, 1)), &log, false);
    fail_each_call_in_turn(&options(descriptor, slices_of_device(1, 2)), &log, true);
}

/// Fails each call, alone or with all that come after it.
fn fail_each_call_in_turn(options: &DeviceOptions, log: &[Record], for_ever: bool) {
    let driver = fake::driver();
    state(|state| state.calls.clear());
    let (device, outcome) = ask_for_everything(driver, options, log);
    let calls = state(|state| state.calls.clone());
    outcome.unwrap();
    drop(device);
    assert!(calls.len() > 150, "{calls:?}");
    for place in (0..calls.len()).step_by(if for_ever { 11 } else { 1 }) {
        let failing = calls[place];
        let asks_for_memory = ["cuMemAlloc_v2", "cuMemHostAlloc", "cuMemHostRegister_v2"].contains(&failing);
        let code = if asks_for_memory { OUT_OF_MEMORY } else { LAUNCH_FAILED };
        state(|state| {
            state.calls.clear();
            let end = if for_ever { usize::MAX } else { place + 1 };
            state.failing = Some((place..end, code));
        });
        let (device, outcome) = ask_for_everything(driver, options, log);
        let harmless = gives_back(failing) || failing == "cuCtxSetCurrent";
        let expected = if asks_for_memory { ResultCode::OutOfMemory } else { ResultCode::DeviceFailed };
        state(|state| state.failing = None);
        match &outcome {
            Err(error) => assert_eq!(error.code(), expected, "call {place}, {failing}: {error}"),
            // A context that cannot be bound while something is given back is no error.
            Ok(()) => assert!(harmless && !for_ever, "call {place}, {failing}: no error"),
        }
        // The device, whatever it knows, computes again.
        if let Some(mut device) = device {
            let mut sources = sources(options.descriptor, 3000);
            sources.all_is_written();
            for ni in [40, 9000] {
                let block = block(ni, 3000);
                device.start(&sources, &[], &block).unwrap();
                wait(&mut device, options, &block).unwrap();
            }
        }
        state(|state| {
            let all = state.live.is_empty() && state.contexts == 0;
            assert!(all || harmless || for_ever, "call {place}, {failing}: not given back");
            state.live.clear();
            state.contexts = 0;
        });
    }
}

/// A machine with one GPU, which is the fake, and the CPU of this one.
struct FakeMachine(&'static Driver);

impl Machine for FakeMachine {
    fn devices(&self, backend: Backend) -> Result<usize> {
        match backend {
            Backend::Cuda => Ok(1),
            other => Ok(other.devices()?.len()),
        }
    }

    fn open(&self, backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
        match backend {
            Backend::Cuda => Ok(Box::new(open(self.0, &options)?)),
            other => backend::open(other, number, options),
        }
    }
}

fn setup(backend: Backend, fall_back: bool) -> Setup {
    Setup {
        order: Order::Fourth,
        precision: Precision::Double,
        backend,
        devices: vec![0],
        threads: 1,
        level: Level::Portable,
        shape: None,
        crossover: Some(0),
        fall_back,
    }
}

fn write_all(system: &mut System, numbers: Range<usize>) {
    numbers.for_each(|number| system.set_source(number, &source(number)).unwrap());
}

/// The first output of each sink of a block of a system, which may fail.
fn potentials(system: &mut System, ni: usize, nj: usize) -> Result<Vec<f64>> {
    let forces = system.force(nj, true, block(ni, nj).sinks)?;
    Ok((0..ni).map(|sink| forces.potential(sink)).collect())
}

/// The same of a system on the CPU, with so many sources.
fn potentials_of_cpu(ni: usize, nj: usize) -> Vec<f64> {
    let mut system = System::new(&setup(Backend::Cpu, false)).unwrap();
    write_all(&mut system, 0..nj);
    potentials(&mut system, ni, nj).unwrap()
}

#[test]
fn without_memory_for_more_sources_the_system_keeps_all_and_goes_on_where_it_is_moved_to_or_there_is_memory() {
    with_kernels(descriptor(Order::Fourth, Precision::Double).unwrap());
    let mut system = System::on(Box::new(FakeMachine(fake::driver())), &setup(Backend::Cuda, false)).unwrap();
    write_all(&mut system, 0..300);
    let of_gpu: Vec<f64> = block(40, 300).sinks.iter().map(|sink| output(sink.index, 0, 0)).collect();
    assert_eq!(potentials(&mut system, 40, 300).unwrap(), of_gpu);
    write_all(&mut system, 300..3000);
    fake::fail("cuMemAlloc_v2", OUT_OF_MEMORY);
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
    fake::fail("cuMemAlloc_v2", 0);
    system.move_to(&setup(Backend::Cuda, false)).unwrap();
    assert_eq!(potentials(&mut system, 40, 3000).unwrap(), of_gpu);
    drop(system);
    assert!(state(|state| state.live.is_empty() && state.contexts == 0));
}

#[test]
fn wherever_a_device_fails_for_ever_the_cpu_goes_on_with_all_sources_if_nobody_chose() {
    with_kernels(descriptor(Order::Fourth, Precision::Double).unwrap());
    let expected = potentials_of_cpu(40, 900);
    let driver = fake::driver();
    // One block step after another until the device fails at the call of this number in a step of its own.
    for place in (0..).step_by(3) {
        let mut system = System::on(Box::new(FakeMachine(driver)), &setup(Backend::Cuda, true)).unwrap();
        write_all(&mut system, 0..300);
        potentials(&mut system, 40, 300).unwrap();
        write_all(&mut system, 100..600);
        state(|state| {
            state.calls.clear();
            state.failing = Some((place..usize::MAX, LAUNCH_FAILED));
        });
        system.start(600, true, block(40, 600).sinks).unwrap();
        write_all(&mut system, 600..900);
        let has_failed = |system: &System| system.setup().backend == Backend::Cpu;
        let found: Vec<f64> = {
            let forces = system.wait().unwrap();
            (0..40).map(|sink| forces.potential(sink)).collect()
        };
        let in_step = has_failed(&system);
        let of_gpu: Vec<f64> = block(40, 600).sinks.iter().map(|sink| output(sink.index, 0, 0)).collect();
        assert_eq!(found, if in_step { potentials_of_cpu(40, 600) } else { of_gpu }, "call {place}");
        assert_eq!(potentials(&mut system, 40, 900).unwrap() == expected, has_failed(&system), "call {place}");
        state(|state| state.failing = None);
        drop(system);
        state(|state| {
            state.live.clear();
            state.contexts = 0;
        });
        if !in_step {
            assert!(place > 5, "{place} calls");
            return;
        }
    }
}
