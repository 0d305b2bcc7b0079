//! Devices that fail, a change of devices, and blocks that the CPU takes over.

mod fakes;

use std::sync::Mutex;

use fakes::{At, Fakes, How, order_4_double};

use kyoho::{Setup, System};
use kyoho_core::Level;
use kyoho_core::{Forces, Precision, Result, ResultCode, Scope, Sink, Source};
use kyoho_hal::Backend;
use kyoho_methods::{Device, DeviceOptions, Machine};
use kyoho_verify::models::{grid, plummer, sinks_of};
use kyoho_verify::{Findings, Target, Twin};

/// Returns a plain target of order 4 in double, on a backend of fakes.
fn target(backend: Backend, devices: &[usize]) -> Target {
    Target { setup: Setup { backend, devices: devices.to_vec(), threads: 1, ..order_4_double() } }
}

fn automatic(mut target: Target) -> Target {
    target.setup.fall_back = true;
    target
}

fn with_crossover(mut target: Target, pairs: Option<u64>) -> Target {
    target.setup.crossover = pairs;
    target
}

/// Returns sinks of which some have neighbours.
fn sinks(sources: &[Source], count: usize) -> Vec<Sink> {
    let mut sinks = sinks_of(&sources[..count], 0.01);
    sinks.iter_mut().step_by(2).for_each(|sink| sink.radius2 = 4.0);
    sinks
}

fn backend_of(system: &System) -> Backend {
    system.devices()[0].backend
}

fn code<T>(result: Result<T>) -> Option<ResultCode> {
    result.err().map(|error| error.code())
}

/// Runs two blocks with writes between and during them, and lists.
fn steps(twin: &mut Twin, sources: &[Source], findings: &mut Findings) -> Result<()> {
    let sinks = sinks(sources, 12);
    for step in 0..2 {
        twin.set_time(f64::from(step) / 8.0)?;
        twin.start(sources.len(), true, &sinks)?;
        (0..30).try_for_each(|k| twin.set_source(7 * k + step as usize, &sources[k]))?;
        twin.finish(findings, "a block")?;
        twin.set_source(3, &sources[9])?;
        twin.compare_lists(findings, "its lists")?;
        (0..20).try_for_each(|k| twin.set_source(5 * k, &sources[k + 30]))?;
    }
    twin.compare_predicted(findings, 0..sources.len())
}

#[test]
fn another_backend_goes_on_where_nobody_chose() {
    let sources = grid(1, 700);
    for at in [At::Open, At::Register, At::Start, At::Wait, At::Neighbours] {
        for how in [How::Breaks, How::RunsOutOfMemory] {
            for (failures, last) in [(1, Backend::OpenCl), (2, Backend::Cpu)] {
                for count in 0..4 {
                    let fakes = Fakes::new(50);
                    // The second failure is the first call of the next backend.
                    (0..failures).for_each(|failure| fakes.fail(at, count + failure, how));
                    let target = automatic(target(Backend::Cuda, &[0]));
                    let mut findings = Findings::default();
                    let mut twin = Twin::on(fakes.machine(), &target).unwrap();
                    sources.iter().enumerate().for_each(|(k, source)| twin.set_source(k, source).unwrap());
                    steps(&mut twin, &sources, &mut findings).unwrap();
                    steps(&mut twin, &sources, &mut findings).unwrap();
                    assert!(findings.passed(), "{at:?} {how:?} {count}: {:#?}", findings.failures());
                    // The system is opened once, and registers two buffers then.
                    let opened_once = at == At::Open && count >= 1 || at == At::Register && count >= 2;
                    if failures == 1 && !opened_once {
                        assert_eq!(backend_of(&twin.system), last, "{at:?} {how:?} {count}");
                    }
                    assert_eq!(twin.system.statistics().blocks, 4);
                    let open = twin.system.devices().len();
                    assert_eq!(fakes.notes().open, open, "what failed was given back");
                }
            }
        }
    }
}

#[test]
fn the_next_backend_has_the_bits_that_it_always_has() {
    let sources = grid(2, 600);
    let bits = |setup: &Setup, fail: Option<At>| -> Vec<u64> {
        let fakes = Fakes::new(50);
        let mut system = System::on(fakes.machine(), setup).unwrap();
        sources.iter().enumerate().for_each(|(k, source)| system.set_source(k, source).unwrap());
        fail.iter().for_each(|at| fakes.fail(*at, 0, How::Breaks));
        system.start(600, true, sinks(&sources, 40)).unwrap();
        system.set_source(0, &sources[5]).unwrap();
        let forces = system.wait().unwrap();
        bits_of(forces)
    };
    let setup = automatic(target(Backend::Cuda, &[0])).setup;
    let plain = bits(&target(Backend::Cpu, &[0]).setup, None);
    for at in [At::Start, At::Wait] {
        assert_eq!(bits(&setup, Some(at)), plain, "{at:?}");
    }
}

fn bits_of(forces: Forces) -> Vec<u64> {
    let row = |k: usize| [forces.acceleration(k), forces.jerk(k), [forces.potential(k); 3]];
    (0..forces.len()).flat_map(row).flatten().map(f64::to_bits).collect()
}

#[test]
fn a_device_without_memory_for_more_is_left() {
    let sources = grid(3, 2000);
    let fakes = Fakes::new(50).with_memory_for(4);
    let mut twin = Twin::on(fakes.machine(), &automatic(target(Backend::Cuda, &[0]))).unwrap();
    let mut findings = Findings::default();
    for (k, source) in sources.iter().enumerate() {
        twin.set_source(k, source).unwrap();
        if (k + 1) % 500 == 0 {
            twin.compare(&mut findings, "a block", k + 1, true, &sinks(&sources, 20)).unwrap();
        }
    }
    assert!(findings.passed(), "{:#?}", findings.failures());
    let computed: Vec<Backend> = fakes.notes().started.iter().map(|(backend, ..)| *backend).collect();
    use Backend::{Cpu, Cuda, OpenCl};
    assert_eq!(computed, [Cuda, Cuda, Cuda, OpenCl, Cpu, Cpu], "1024 sources fit, 1500 do not");
}

#[test]
fn a_device_that_was_asked_for_fails_with_its_error_and_nothing_is_lost() {
    let sources = grid(4, 700);
    for at in [At::Start, At::Wait, At::Neighbours] {
        for (how, expected) in
            [(How::Breaks, ResultCode::DeviceFailed), (How::RunsOutOfMemory, ResultCode::OutOfMemory)]
        {
            let fakes = Fakes::new(50);
            let mut findings = Findings::default();
            let mut twin = Twin::on(fakes.machine(), &target(Backend::Cuda, &[0])).unwrap();
            sources.iter().enumerate().for_each(|(k, source)| twin.set_source(k, source).unwrap());
            steps(&mut twin, &sources, &mut findings).unwrap();
            twin.set_source(1, &sources[8]).unwrap();
            fakes.fail(at, 0, how);
            let error = steps(&mut twin, &sources, &mut findings).unwrap_err();
            assert_eq!(error.code(), expected);
            if how == How::Breaks {
                assert_eq!(error.to_string(), format!("device fake failed: {at:?} was told to fail"));
            }
            assert_eq!(code(twin.system.wait()), Some(ResultCode::CallOrder));
            steps(&mut twin, &sources, &mut findings).unwrap();
            assert!(findings.passed(), "{at:?}: {:#?}", findings.failures());
            assert_eq!(backend_of(&twin.system), Backend::Cuda);
        }
    }
    for at in [At::Open, At::Register] {
        let fakes = Fakes::new(50);
        fakes.fail(at, 1, How::Breaks);
        let made = System::on(fakes.machine(), &target(Backend::Cuda, &[0, 1]).setup);
        assert_eq!(code(made), Some(ResultCode::DeviceFailed));
        assert_eq!(fakes.notes().open, 0);
    }
}

#[test]
fn a_system_moves_to_other_devices_and_goes_on() {
    let sources = grid(5, 900);
    let fakes = Fakes::new(50);
    let mut findings = Findings::default();
    let mut twin = Twin::on(fakes.machine(), &target(Backend::Cuda, &[0])).unwrap();
    sources.iter().enumerate().for_each(|(k, source)| twin.set_source(k, source).unwrap());
    let others = [
        target(Backend::Cuda, &[1, 0, 1]),
        target(Backend::Cpu, &[0]),
        target(Backend::OpenCl, &[0]),
        target(Backend::OpenCl, &[0]),
        target(Backend::Cpu, &[0, 0]),
        target(Backend::Cuda, &[0]),
    ];
    for other in others {
        steps(&mut twin, &sources, &mut findings).unwrap();
        // Some writes are in the journal and some are staged behind it when the system moves.
        twin.start(900, true, &sinks(&sources, 10)).unwrap();
        assert_eq!(code(twin.system.move_to(&other.setup)), Some(ResultCode::CallOrder));
        (0..120).for_each(|k| twin.set_source(1000 - k, &sources[k]).unwrap());
        twin.finish(&mut findings, "before the move").unwrap();
        let before = twin.system.statistics();
        twin.system.move_to(&other.setup).unwrap();
        let after = twin.system.statistics();
        assert_eq!((after.sources, after.writes, after.blocks), (before.sources, before.writes, before.blocks));
        assert_eq!(code(twin.system.neighbours(0)), Some(ResultCode::CallOrder), "the last block is forgotten");
        assert_eq!((backend_of(&twin.system), fakes.notes().open), (other.setup.backend, other.setup.devices.len()));
    }
    steps(&mut twin, &sources, &mut findings).unwrap();
    assert!(findings.passed(), "{:#?}", findings.failures());
}

#[test]
fn a_move_that_fails_leaves_the_system_on_its_devices_or_on_none() {
    let sources = grid(6, 300);
    let fakes = Fakes::new(50);
    let mut findings = Findings::default();
    let mut twin = Twin::on(fakes.machine(), &target(Backend::Cuda, &[0])).unwrap();
    sources.iter().enumerate().for_each(|(k, source)| twin.set_source(k, source).unwrap());
    let other = target(Backend::OpenCl, &[0]).setup;

    fakes.fail(At::Open, 0, How::Breaks);
    assert_eq!(code(twin.system.move_to(&other)), Some(ResultCode::DeviceFailed));
    assert_eq!(backend_of(&twin.system), Backend::Cuda);
    steps(&mut twin, &sources, &mut findings).unwrap();

    fakes.fail(At::Register, 0, How::Breaks);
    fakes.fail(At::Open, 1, How::Breaks);
    assert_eq!(code(twin.system.move_to(&other)), Some(ResultCode::DeviceFailed));
    twin.set_source(5, &sources[6]).unwrap();
    let error = twin.system.force(300, true, sinks(&sources, 3)).map(|_| ()).unwrap_err();
    assert!(error.code() == ResultCode::CallOrder && error.to_string().contains("without devices"), "{error}");
    twin.system.move_to(&other).unwrap();
    steps(&mut twin, &sources, &mut findings).unwrap();

    let wrong = Setup { precision: Precision::Single, ..other };
    let error = twin.system.move_to(&wrong).unwrap_err();
    assert!(error.to_string().contains("order 4 single") && error.to_string().contains("order 4 double"), "{error}");
    let error =
        twin.system.move_to(&Setup { precision: Precision::Double, scope: Scope::Regular, ..wrong }).unwrap_err();
    assert!(error.to_string().contains("order 4 regular double"), "{error}");
    assert!(findings.passed(), "{:#?}", findings.failures());
}

#[test]
fn a_device_is_waited_for_to_its_end_when_the_force_on_one_of_its_first_sinks_overflows() {
    let sources = grid(12, 300);
    let fakes = Fakes::new(50).with_pieces_of(16);
    let mut twin = Twin::on(fakes.machine(), &target(Backend::Cuda, &[0])).unwrap();
    let mut findings = Findings::default();
    sources.iter().enumerate().for_each(|(k, source)| twin.set_source(k, source).unwrap());
    let mut near = sinks(&sources, 100);
    let heavy = Source::from_derivatives(-7, 1e300, 0.0, [[1e-150, 0.0, 0.0], [0.0; 3], [0.0; 3], [0.0; 3]]);
    near[3] = Sink { softening2: 0.0, derivatives: [[0.0; 3]; 4], ..near[3] };
    twin.system.set_source(9, &heavy).unwrap();
    assert_eq!(code(twin.system.force(300, true, near)), Some(ResultCode::OutOfRange));
    twin.set_source(9, &sources[9]).unwrap();
    twin.compare(&mut findings, "the block after it", 300, true, &sinks(&sources, 100)).unwrap();
    assert!(findings.passed(), "{:#?}", findings.failures());
}

#[test]
fn small_blocks_are_the_cpus_and_large_ones_are_not() {
    let sources = grid(7, 1000);
    // The crossover is that of the setup, or else of the device.
    for (own, chosen, pairs) in [(20_000, None, 20_000), (5, Some(20_000), 20_000), (u64::MAX, Some(0), 0)] {
        let play = || {
            let fakes = Fakes::new(60).with_crossover(own);
            let target = with_crossover(target(Backend::Cuda, &[0]), chosen);
            let mut findings = Findings::default();
            let mut twin = Twin::on(fakes.machine(), &target).unwrap();
            sources.iter().enumerate().for_each(|(k, source)| twin.set_source(k, source).unwrap());
            let mut bits = Vec::new();
            let blocks = [(1, 1000), (19, 1000), (20, 1000), (40, 500), (40, 499), (3, 1000), (30, 1000), (2, 1000)];
            for (step, (ni, nj)) in blocks.into_iter().cycle().take(40).enumerate() {
                twin.set_time(step as f64 / 32.0).unwrap();
                twin.start(nj, true, &sinks(&sources, ni)).unwrap();
                (0..9).for_each(|k| twin.set_source((31 * step + 5 * k) % 1100, &sources[k + step]).unwrap());
                twin.finish(&mut findings, "a block").unwrap();
                if step % 3 == 0 {
                    twin.compare_lists(&mut findings, "its lists").unwrap();
                }
                (0..9).for_each(|k| twin.set_source((17 * step + 3 * k) % 1000, &sources[2 * k + step]).unwrap());
                bits.push(bits_of(twin.system.force(nj, true, sinks(&sources, ni)).unwrap()));
            }
            assert!(findings.passed(), "{:#?}", findings.failures());
            let notes = fakes.notes();
            for (backend, ni, nj) in &notes.started {
                let expected = if ((ni * nj) as u64) < pairs { Backend::Cpu } else { Backend::Cuda };
                assert_eq!(*backend, expected, "{ni} sinks, {nj} sources");
            }
            (bits, notes.started.clone(), notes.records)
        };
        let first = play();
        assert_eq!(play(), first, "the same from run to run");
    }
}

#[test]
fn records_wait_for_the_device_while_the_cpu_computes() {
    let sources = grid(8, 500);
    let fakes = Fakes::new(100).with_crossover(1000);
    let target = with_crossover(target(Backend::Cuda, &[0]), None);
    let mut twin = Twin::on(fakes.machine(), &target).unwrap();
    let mut findings = Findings::default();
    sources.iter().enumerate().for_each(|(k, source)| twin.set_source(k, source).unwrap());
    let (small, large) = (sinks(&sources, 1), sinks(&sources, 20));
    twin.compare(&mut findings, "the first", 500, true, &large).unwrap();
    let told = || {
        let notes = fakes.notes();
        (notes.records, notes.fetched)
    };
    let (sent, fetched) = told();
    for step in 0..5 {
        (0..20).for_each(|k| twin.set_source(4 * k + step, &sources[k + step]).unwrap());
        twin.compare(&mut findings, "a small one", 500, true, &small).unwrap();
    }
    assert_eq!(told(), (sent, fetched));
    twin.compare(&mut findings, "a large one", 500, true, &large).unwrap();
    assert_eq!(told(), (sent + 81, fetched), "one record of each address");
    // These are more sources than the journal keeps, so the device fetches from the host.
    (0..150).for_each(|k| twin.set_source(3 * k, &sources[k]).unwrap());
    twin.compare(&mut findings, "a small one", 500, true, &small).unwrap();
    (0..10).for_each(|k| twin.set_source(40 * k, &sources[k + 9]).unwrap());
    twin.compare(&mut findings, "the last", 500, true, &large).unwrap();
    assert_eq!(told(), (sent + 91, (fetched.0 + 150, fetched.1)));
    assert!(findings.passed(), "{:#?}", findings.failures());
}

#[test]
fn more_sources_than_records_are_fetched() {
    let count = 40_000;
    let sources = grid(9, count);
    let fakes = Fakes::new(1 << 15);
    let mut twin = Twin::on(fakes.machine(), &target(Backend::Cuda, &[0])).unwrap();
    let mut findings = Findings::default();
    for step in 0..3 {
        (0..count).for_each(|k| twin.set_source(k, &sources[(k + step) % count]).unwrap());
        twin.start(count, true, &sinks(&sources, 2)).unwrap();
        (0..count).step_by(2).for_each(|k| twin.set_source(k, &sources[k]).unwrap());
        twin.finish(&mut findings, "a block").unwrap();
        assert_eq!(twin.system.statistics().sources, count as u64);
    }
    assert!(findings.passed(), "{:#?}", findings.failures());
}

/// A logger that keeps all lines.
struct Log(Mutex<Vec<String>>);

static LOG: Log = Log(Mutex::new(Vec::new()));

impl log::Log for Log {
    fn enabled(&self, metadata: &log::Metadata) -> bool {
        metadata.level() <= log::Level::Warn
    }

    fn log(&self, record: &log::Record) {
        self.0.lock().unwrap().push(record.args().to_string());
    }

    fn flush(&self) {}
}

#[test]
fn the_log_says_who_failed_and_who_goes_on() {
    log::set_logger(&LOG).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
    let sources = grid(10, 50);
    let fakes = Fakes::new(50);
    let mut system = System::on(fakes.machine(), &automatic(target(Backend::Cuda, &[0])).setup).unwrap();
    system.set_source(0, &sources[0]).unwrap();
    fakes.fail(At::Wait, 0, How::Breaks);
    fakes.fail(At::Register, 0, How::RunsOutOfMemory);
    system.force(50, true, sinks(&sources, 3)).unwrap();
    let said = LOG.0.lock().unwrap().clone();
    for line in [
        "backend cuda failed: device fake failed: Wait was told to fail; backend opencl goes on",
        "backend opencl failed: no memory for a fake's copy: 1 bytes; backend cpu goes on",
    ] {
        assert!(said.iter().any(|text| text == line), "{said:#?}");
    }
}

/// A machine whose CUDA devices give other bits than the devices that take over, if the CPU has
/// several levels.
struct OfOtherBits(Fakes);

impl Machine for OfOtherBits {
    fn devices(&self, backend: Backend) -> Result<usize> {
        self.0.devices(backend)
    }

    fn open(&self, backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
        let level = if backend == Backend::Cuda { Level::Portable } else { Level::best() };
        self.0.open(backend, number, DeviceOptions { level, ..options })
    }

    fn records(&self) -> usize {
        self.0.records()
    }
}

#[test]
fn lists_of_a_regular_force_that_another_device_would_choose_otherwise_are_an_error_and_the_next_block_is_computed() {
    let sources = plummer(500);
    let setup = Setup { scope: Scope::Regular, ..automatic(target(Backend::Cuda, &[0])).setup };
    let target = Target { setup };
    let sinks = target.sinks_of(&sources[..20], 0.0);
    for (is_alike, at) in [(true, At::Neighbours), (false, At::Neighbours), (false, At::Wait)] {
        let fakes = Fakes::new(50);
        let machine: Box<dyn Machine> = if is_alike { fakes.machine() } else { Box::new(OfOtherBits(fakes.clone())) };
        let mut twin = Twin::on(machine, &target).unwrap();
        sources.iter().enumerate().for_each(|(k, source)| twin.set_source(k, source).unwrap());
        fakes.fail(at, 0, How::Breaks);
        twin.system.force(500, true, sinks.iter().copied()).unwrap();
        let list = twin.system.neighbours(3).map(<[i32]>::to_vec);
        // A device that fails before it has handed over its forces leaves no bits that others could
        // contradict.
        let fails = at == At::Neighbours && !is_alike && Level::best() != Level::Portable;
        assert_eq!(code(list), fails.then_some(ResultCode::DeviceFailed), "{at:?}, alike: {is_alike}");
        assert_eq!(code(twin.system.forces().map(|_| ())), fails.then_some(ResultCode::CallOrder));
        let mut findings = Findings::default();
        twin.compare(&mut findings, "the next block", 500, true, &sinks).unwrap();
        assert!(findings.passed(), "{:#?}", findings.failures());
        assert_ne!(backend_of(&twin.system), Backend::Cuda);
    }
}
