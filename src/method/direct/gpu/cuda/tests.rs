//! The device on a driver that does and fails as it is told. Its kernels sum nothing: they put what tells a sink from
//! another where the sums of that sink go, and say that they are done.

use std::cell::Cell;
use std::ffi::c_void;
use std::ops::Range;

use crate::data::{
    Block, Deal, Descriptor, Error, Line, Order, Parts, Precision, Reach, Records, Result, ResultCode, SLICES, Scope,
    Share, Sink, Source, Sources, Units, Updates, padded, records,
};
use crate::engine::{Setup, System};
use crate::hal::Backend;
use crate::hal::cuda::fake::{self, state};
use crate::hal::cuda::{Context, Driver};
use crate::law::catalogue::{CATALOGUE, descriptor};
use crate::method::direct::gpu::GpuDevice;
use crate::method::direct::gpu::pack::{self, ROW};
use crate::method::direct::gpu::step::Step;
use crate::method::{self, Device, DeviceOptions, Machine, ThisMachine};
use crate::simd::Level;

use super::device::{self, Cuda};

type CudaDevice = GpuDevice<Cuda>;

const LAUNCH_FAILED: i32 = 719;
const OUT_OF_MEMORY: i32 = 2;

/// The number of the output `k` of a sink with a set of slices.
fn output(index: i32, set: usize, k: usize) -> f64 {
    f64::from(index) * 1000.0 + set as f64 * 10.0 + k as f64
}

thread_local! {
    static DESCRIPTOR: Cell<Option<&'static Descriptor>> = const { Cell::new(None) };
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
        let [rows, results, flag] = match name {
            "end_block" => [5, 10, 11],
            name if name.ends_with("_fe") => [6, 11, 12],
            _ => return,
        }
        .map(number);
        let step = **parameters.cast::<*const Step>();
        let descriptor = DESCRIPTOR.get().unwrap();
        let (outputs, stride) = (descriptor.outputs as u64, step.stride as u64);
        let (sinks, set) = (step.ni as usize, step.first_slice as usize);
        let rows = rows + step.sinks_from as u64 * ROW as u64;
        let results = results + 8 * step.results_from as u64;
        let distances = results + 8 * outputs * stride;
        let (sums, nearest) = (results, distances + 8 * stride);
        let indices = rows + pack::sink_rows(descriptor) as u64 * stride * ROW as u64;
        assert_eq!(step.slices as usize, SLICES / step.slice_step as usize);
        let end = if descriptor.nearest { nearest + 4 * stride } else { distances };
        if !fake::has(results, (end - results) as usize) || !fake::has(indices, 4 * sinks) || !fake::has(flag, 4) {
            return;
        }
        let (indices, outputs) = (indices as *const i32, outputs as usize);
        for sink in 0..sinks {
            let index = *indices.add(sink);
            (0..outputs).for_each(|k| *(sums as *mut f64).add(sink * outputs + k) = output(index, set, k));
            if descriptor.nearest {
                *(distances as *mut f64).add(sink) = output(index, set, 8);
                *(nearest as *mut i32).add(sink) = index + set as i32;
            }
        }
        *(flag as *mut u32) = step.sequence;
    }
}

/// Lets kernels do their work from here on.
fn with_kernels(descriptor: &'static Descriptor) {
    DESCRIPTOR.set(Some(descriptor));
    state(|state| state.kernel = Some(kernel));
}

fn options(descriptor: &'static Descriptor) -> DeviceOptions {
    DeviceOptions { descriptor, threads: 1, level: Level::Portable, shape: None }
}

fn open(driver: &'static Driver, options: &DeviceOptions) -> Result<CudaDevice> {
    device::on(Context::of(driver, 0)?, options.clone())
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
        step: 0.0,
        derivatives: padded([[number as f64; 3]]),
    };
    Block {
        sinks: (0..ni).map(sink).collect(),
        skip_own_index: true,
        time: 1.0,
        predicts: true,
        nj,
        units: Units::CALLERS,
        reach: Reach::ByMass,
    }
}

/// Records of the first sources, each of one line.
fn log(descriptor: &Descriptor, count: u32) -> Vec<Line> {
    records::lines(descriptor.taylor, (0..count).map(|number| (number, source(number as usize))))
}

/// Begins a block of which the device has a share.
fn start(device: &mut CudaDevice, sources: &Sources, fresh: Records, block: &Block, share: &Share) -> Result<()> {
    device.start(&Updates { fresh, ..Updates::of(sources) }, block, share)
}

/// All of a block.
fn whole(block: &Block) -> Share {
    Share::whole(block.sinks.len())
}

/// Room for the sums of a block.
fn parts(descriptor: &Descriptor, block: &Block, sets: usize) -> Parts {
    let mut parts = Parts::new(descriptor.outputs, descriptor.nearest);
    parts.reset(block.sinks.len(), sets).unwrap();
    parts
}

/// Waits for a share of a block to its end and looks whether each sink has its own sums, and others are left alone.
fn wait(device: &mut CudaDevice, descriptor: &'static Descriptor, block: &Block, share: &Share) -> Result<()> {
    let outputs = descriptor.outputs;
    let mut parts = parts(descriptor, block, share.sets);
    parts.set(share.set).values.fill(-1.0);
    let mut done = 0;
    loop {
        let now = device.wait_more(&mut parts, done)?;
        assert!(now > done || now == share.sinks.len());
        let sums = parts.set(share.set);
        for (sink, place) in
            (share.sinks.start + done..share.sinks.start + now).map(|place| (block.sinks.all().get(place), place))
        {
            let expected: Vec<f64> = (0..outputs).map(|k| output(sink.index, share.set, k)).collect();
            assert_eq!(&sums.values[place * outputs..][..outputs], expected, "sink {} of {share:?}", sink.index);
            if descriptor.nearest {
                let (index, distance2) = (sink.index + share.set as i32, output(sink.index, share.set, 8));
                assert_eq!((sums.nearest[place].index, sums.nearest[place].distance2), (index, distance2));
            }
        }
        done = now;
        if done >= share.sinks.len() {
            break;
        }
    }
    let sums = parts.set(share.set);
    let others = (0..block.sinks.len()).filter(|place| !share.sinks.contains(place));
    others.for_each(|place| assert_eq!(sums.values[place * outputs], -1.0, "sink {place} is not of {share:?}"));
    Ok(())
}

#[test]
fn each_sink_gets_its_own_sums_in_blocks_of_every_size_and_on_every_share() {
    for descriptor in CATALOGUE {
        with_kernels(descriptor);
        let sources = sources(descriptor, 3000);
        for deal in [Deal::WHOLE, Deal { ranges: 3, sets: 1 }, Deal { ranges: 1, sets: 2 }, Deal { ranges: 2, sets: 8 }]
        {
            let mut device = open(fake::driver(), &options(descriptor)).unwrap();
            for place in 0..deal.devices() + 1 {
                for ni in [1, 7, 300, 1000, 5000, 20_000, 3, 0] {
                    let block = block(ni, 3000);
                    let share = deal.share(place, ni);
                    start(&mut device, &sources, Records::NONE, &block, &share).unwrap();
                    wait(&mut device, descriptor, &block, &share).unwrap();
                }
            }
        }
    }
    assert!(state(|state| state.live.is_empty() && state.contexts == 0));
}

#[test]
fn a_block_without_sources_has_sums_of_zero() {
    let descriptor = descriptor(Order::Fourth, Precision::Double).unwrap();
    with_kernels(descriptor);
    let mut device = open(fake::driver(), &options(descriptor)).unwrap();
    let (block, sources) = (block(9, 100), Sources::new(descriptor.taylor));
    start(&mut device, &sources, Records::NONE, &block, &whole(&block)).unwrap();
    let mut parts = parts(descriptor, &block, 1);
    parts.set(0).values.fill(-1.0);
    assert_eq!(device.wait_more(&mut parts, 0).unwrap(), 9);
    assert!(parts.merged().values.iter().all(|value| *value == 0.0));
    assert!(parts.merged().nearest.iter().all(|nearest| nearest.distance2 == f64::INFINITY));
}

#[test]
fn records_that_were_missed_come_before_fresh_ones_and_are_waited_for_without_sinks() {
    let descriptor = descriptor(Order::Fourth, Precision::Double).unwrap();
    with_kernels(descriptor);
    let sources = sources(descriptor, 3000);
    let log = log(descriptor, 20);
    for (place, launched, waited) in [(0, 3, 0), (1, 2, 1)] {
        let mut device = open(fake::driver(), &options(descriptor)).unwrap();
        device.register(&log).unwrap();
        let block = block(3, 3000);
        let share = Deal::WHOLE.share(place, 3);
        start(&mut device, &sources, Records::NONE, &block, &share).unwrap();
        let mut parts = parts(descriptor, &block, 1);
        device.wait_more(&mut parts, 0).unwrap();
        state(|state| state.calls.clear());
        let [missed, fresh] = Records::new(&log, 1).split_at(12);
        let updates = Updates { missed, fresh, ..Updates::of(&sources) };
        device.start(&updates, &block, &share).unwrap();
        device.wait_more(&mut parts, 0).unwrap();
        let calls = state(|state| state.calls.clone());
        let count = |name: &str| calls.iter().filter(|call| call.starts_with(name)).count();
        // With sinks few records are copied with them.
        assert_eq!(count("cuLaunchKernel") + count("cuMemcpyHtoDAsync"), launched, "{calls:?}");
        assert_eq!(count("cuStreamSynchronize"), waited, "{calls:?}");
    }
}

#[test]
fn a_device_that_ends_without_a_word_is_a_defect_and_not_the_end() {
    let descriptor = descriptor(Order::Fourth, Precision::Mixed).unwrap();
    let sources = sources(descriptor, 1000);
    let mut device = open(fake::driver(), &options(descriptor)).unwrap();
    let block = block(40, 1000);
    start(&mut device, &sources, Records::NONE, &block, &whole(&block)).unwrap();
    let error = device.wait_more(&mut parts(descriptor, &block, 1), 0).unwrap_err();
    assert!(matches!(&error, Error::Internal { what } if what.contains("without saying so")), "{error}");
    with_kernels(descriptor);
    start(&mut device, &sources, Records::NONE, &block, &whole(&block)).unwrap();
    wait(&mut device, descriptor, &block, &whole(&block)).unwrap();
}

#[test]
fn a_block_that_was_not_waited_for_to_its_end_is_waited_for_when_the_next_one_begins() {
    let descriptor = descriptor(Order::Fourth, Precision::Double).unwrap();
    with_kernels(descriptor);
    let mut sources = sources(descriptor, 3000);
    let mut device = open(fake::driver(), &options(descriptor)).unwrap();
    let (large, small) = (block(20_000, 3000), block(40, 3000));
    start(&mut device, &sources, Records::NONE, &large, &whole(&large)).unwrap();
    sources.forget_written();
    assert!(device.wait_more(&mut parts(descriptor, &large, 1), 0).unwrap() < 20_000);
    state(|state| state.calls.clear());
    start(&mut device, &sources, Records::NONE, &small, &whole(&small)).unwrap();
    let calls = state(|state| state.calls.clone());
    assert_eq!(calls[2..4], ["cuStreamSynchronize"; 2], "{calls:?}");
    wait(&mut device, descriptor, &small, &whole(&small)).unwrap();
}

#[test]
fn shares_of_one_device_register_records_once_and_give_them_back_when_none_is_at_work() {
    with_kernels(descriptor(Order::Fourth, Precision::Double).unwrap());
    let shares = Setup { devices: vec![0, 0, 0], ..setup(Backend::Cuda, false) };
    let mut system = System::on(Box::new(FakeMachine(fake::driver())), &shares).unwrap();
    write_all(&mut system, 0..3000);
    system.start(3000, true, block(40, 3000).sinks.all().iter()).unwrap();
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
    descriptor: &'static Descriptor,
    deal: Deal,
    log: &[Line],
) -> (Option<CudaDevice>, Result<()>) {
    let mut device = match open(driver, &options(descriptor)) {
        Ok(device) => device,
        Err(error) => return (None, Err(error)),
    };
    let mut work = || -> Result<()> {
        device.register(log)?;
        let mut sources = sources(descriptor, 700);
        for (ni, count) in [(1, 700), (40, 3000), (5000, 3000), (9000, 3000)] {
            (700..count).for_each(|number| sources.write(number, &source(number)).unwrap());
            let block = block(ni, count);
            let share = deal.share(0, ni);
            start(&mut device, &sources, Records::new(&log[..ni.min(log.len())], 1), &block, &share)?;
            wait(&mut device, descriptor, &block, &share)?;
            sources.forget_written();
        }
        // A chunk that is far away.
        sources.write(100_000, &source(100_000)).unwrap();
        let block = block(300, 200_000);
        let share = deal.share(0, 300);
        start(&mut device, &sources, Records::NONE, &block, &share)?;
        wait(&mut device, descriptor, &block, &share)?;
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
fn the_callers_context_is_current_after_each_call() {
    const OF_CALLER: usize = 77;
    let descriptor = descriptor(Order::Fourth, Precision::Double).unwrap();
    with_kernels(descriptor);
    let context = Context::of(fake::driver(), 0).unwrap();
    let mut device = device::on(context, options(descriptor)).unwrap();
    let set = || state(|state| state.current = OF_CALLER);
    let is_set = |call: &str| assert_eq!(state(|state| state.current), OF_CALLER, "after {call}");
    let (sources, block) = (sources(descriptor, 3000), block(40, 3000));
    let log = log(descriptor, 1);
    set();
    device.register(&log).unwrap();
    is_set("register");
    start(&mut device, &sources, Records::new(&log, 1), &block, &whole(&block)).unwrap();
    is_set("start");
    wait(&mut device, descriptor, &block, &whole(&block)).unwrap();
    is_set("wait_more");
    device.neighbours(&sources, &block, 0..40, &mut vec![Vec::new(); 40]).unwrap();
    is_set("neighbours");
    drop(device);
    is_set("drop");
}

#[test]
fn whatever_call_fails_is_an_error_and_nothing_is_lost() {
    let descriptor = descriptor(Order::Fourth, Precision::Mixed).unwrap();
    let log = log(descriptor, 600);
    with_kernels(descriptor);
    fail_each_call_in_turn(descriptor, Deal::WHOLE, &log, false);
    fail_each_call_in_turn(descriptor, Deal { ranges: 1, sets: 2 }, &log, true);
}

/// Fails each call, alone or with all that come after it.
fn fail_each_call_in_turn(descriptor: &'static Descriptor, deal: Deal, log: &[Line], for_ever: bool) {
    let driver = fake::driver();
    // The first one may be measured.
    drop(open(driver, &options(descriptor)).unwrap());
    state(|state| state.calls.clear());
    let (device, outcome) = ask_for_everything(driver, descriptor, deal, log);
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
        let (device, outcome) = ask_for_everything(driver, descriptor, deal, log);
        let harmless = gives_back(failing) || ["cuCtxSetCurrent", "cuCtxGetCurrent"].contains(&failing);
        let expected = if asks_for_memory { ResultCode::OutOfMemory } else { ResultCode::DeviceFailed };
        state(|state| state.failing = None);
        match &outcome {
            Err(error) => assert_eq!(error.code(), expected, "call {place}, {failing}: {error}"),
            // A context that cannot be bound while something is given back is no error.
            Ok(()) => assert!(harmless && !for_ever, "call {place}, {failing}: no error"),
        }
        // The device, whatever it knows, computes again.
        if let Some(mut device) = device {
            let mut sources = sources(descriptor, 3000);
            sources.all_is_written();
            for ni in [40, 9000] {
                let block = block(ni, 3000);
                start(&mut device, &sources, Records::NONE, &block, &whole(&block)).unwrap();
                wait(&mut device, descriptor, &block, &whole(&block)).unwrap();
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
            other => ThisMachine.devices(other),
        }
    }

    /// Each thread has a fake of its own.
    fn threads(&self, _: usize) -> usize {
        1
    }

    fn open(&self, backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
        match backend {
            Backend::Cuda => Ok(Box::new(open(self.0, &options)?)),
            other => method::open(other, number, options),
        }
    }
}

fn setup(backend: Backend, fall_back: bool) -> Setup {
    Setup {
        order: Order::Fourth,
        precision: Precision::Double,
        scope: Scope::Whole,
        backend,
        devices: vec![0],
        threads: 1,
        level: Level::Portable,
        shape: None,
        deal: None,
        crossover: Some(0),
        fall_back,
    }
}

fn write_all(system: &mut System, numbers: Range<usize>) {
    numbers.for_each(|number| system.set_source(number, &source(number)).unwrap());
}

/// The first output of each sink of a block of a system, which may fail.
fn potentials(system: &mut System, ni: usize, nj: usize) -> Result<Vec<f64>> {
    let forces = system.force(nj, true, block(ni, nj).sinks.all().iter())?;
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
    let of_gpu: Vec<f64> = block(40, 300).sinks.all().iter().map(|sink| output(sink.index, 0, 0)).collect();
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
        system.start(600, true, block(40, 600).sinks.all().iter()).unwrap();
        write_all(&mut system, 600..900);
        let has_failed = |system: &System| system.setup().backend == Backend::Cpu;
        let found: Vec<f64> = {
            let forces = system.wait().unwrap();
            (0..40).map(|sink| forces.potential(sink)).collect()
        };
        let in_step = has_failed(&system);
        let of_gpu: Vec<f64> = block(40, 600).sinks.all().iter().map(|sink| output(sink.index, 0, 0)).collect();
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
