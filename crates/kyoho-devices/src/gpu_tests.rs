//! The device on fake GPUs that fail on demand, with and without mapped memory of the host. Their
//! kernels sum nothing: they put a number of each sink where the sums of that sink go, and report
//! that they are done.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use kyoho_core::memory::Pages;
use kyoho_core::{
    Assignment, Block, Error, Interaction, NeighbourCriterion, Order, PartialSums, Partition, Precision, RecordLine,
    Records, Result, ResultCode, Sinks, Sources, Units, Updates, records,
};
use kyoho_hal::fake::Shared;
use kyoho_laws::catalogue::{interaction, with_kernels};
use kyoho_methods::Device;

use super::fake::{FakeDevice, Letters, kernel, open, output, script, sinks, source};

/// A kind of GPU: whether its kernels reach memory of the host, and whether its work is late.
type Kind = (bool, bool);

/// The kinds of GPUs. A GPU whose work is late is the last, as its script stays so.
const KINDS: [Kind; 3] = [(true, false), (false, false), (false, true)];

/// Lets the work of devices of a script be late, if it is to be, in the same order each time.
fn be_late(script: &Shared, (_, is_late): Kind) {
    if is_late {
        script.get().schedule.be_late(7);
    }
}

fn sources(interaction: &Interaction, count: usize) -> Sources {
    let mut sources = Sources::new(interaction.n_coefficients);
    (0..count).for_each(|number| sources.write(number, &source(number)).unwrap());
    sources
}

fn block(interaction: &Interaction, ni: usize, nj: usize) -> Block {
    Block {
        sinks: Sinks::of(interaction, sinks(ni)).unwrap(),
        skip_own_index: true,
        time: 1.0,
        low_time: 0.0,
        low_sinks: Sinks::default(),
        predicts: true,
        nj,
        units: Units::CALLERS,
        neighbour_criterion: NeighbourCriterion::ByMass,
        lists: None,
        in_parts: false,
        sinks_on_device: false,
        tree: None,
    }
}

/// Returns the records of the first sources, each of one line.
fn record_lines(interaction: &Interaction, count: u32) -> Vec<RecordLine> {
    records::lines(interaction.n_coefficients, (0..count).map(|number| (number, source(number as usize))))
}

/// Returns memory in pages that begins with these lines.
fn in_pages(lines: &[RecordLine]) -> Pages {
    let mut pages = Pages::new(size_of_val(lines), "records").unwrap();
    pages.as_mut_slice()[..lines.len()].copy_from_slice(lines);
    pages
}

/// Begins a block of which the device has an assignment.
fn start(
    device: &mut FakeDevice,
    sources: &Sources,
    fresh: Records,
    block: &Block,
    assignment: &Assignment,
) -> Result<()> {
    device.start(&Updates { fresh, ..Updates::of(sources) }, block, assignment)
}

/// Returns the assignment of a whole block.
fn whole(block: &Block) -> Assignment {
    Assignment::whole(block.sinks.len())
}

/// Makes room for the sums of a block.
fn partial_sums(interaction: &Interaction, block: &Block, sets: usize) -> PartialSums {
    let mut partial_sums = PartialSums::new(interaction.n_outputs, interaction.nearest);
    partial_sums.reset(block.sinks.len(), sets).unwrap();
    partial_sums
}

/// Waits for an assignment of a block to its end and looks whether each sink has its own sums, and
/// others are left alone.
fn wait(device: &mut FakeDevice, interaction: &Arc<Interaction>, block: &Block, assignment: &Assignment) -> Result<()> {
    let n_outputs = interaction.n_outputs;
    let mut partial_sums = partial_sums(interaction, block, assignment.sets);
    partial_sums.set(assignment.set).values.fill(-1.0);
    let mut done = 0;
    loop {
        let now = device.wait_more(&mut partial_sums, done)?;
        assert!(now > done || now == assignment.sinks.len());
        let sums = partial_sums.set(assignment.set);
        for (sink, place) in (assignment.sinks.start + done..assignment.sinks.start + now)
            .map(|place| (block.sinks.all().get(place), place))
        {
            let expected: Vec<f64> = (0..n_outputs).map(|k| output(sink.index, assignment.set, k)).collect();
            assert_eq!(
                &sums.values[place * n_outputs..][..n_outputs],
                expected,
                "sink {} of {assignment:?}",
                sink.index
            );
            if interaction.nearest {
                let (index, distance2) = (sink.index + assignment.set as i32, output(sink.index, assignment.set, 8));
                assert_eq!((sums.nearest[place].index, sums.nearest[place].distance2), (index, distance2));
            }
        }
        done = now;
        if done >= assignment.sinks.len() {
            break;
        }
    }
    let sums = partial_sums.set(assignment.set);
    let others = (0..block.sinks.len()).filter(|place| !assignment.sinks.contains(place));
    others.for_each(|place| assert_eq!(sums.values[place * n_outputs], -1.0, "sink {place} is not of {assignment:?}"));
    Ok(())
}

#[test]
fn each_sink_gets_its_own_sums_in_blocks_of_every_size_and_with_every_assignment() {
    for interaction in with_kernels() {
        for kind in KINDS {
            let (script, sources) = (script(interaction), sources(interaction, 3000));
            be_late(&script, kind);
            for partition in [
                Partition::WHOLE,
                Partition { ranges: 3, sets: 1 },
                Partition { ranges: 1, sets: 2 },
                Partition { ranges: 2, sets: 8 },
            ] {
                let mut device = open(&script, kind.0, interaction).unwrap();
                for place in 0..partition.devices() + 1 {
                    for ni in [1, 7, 300, 1000, 5000, 20_000, 3, 0] {
                        let block = block(interaction, ni, 3000);
                        let assignment = partition.assignment(place, ni);
                        start(&mut device, &sources, Records::NONE, &block, &assignment).unwrap();
                        wait(&mut device, interaction, &block, &assignment).unwrap();
                    }
                }
            }
            assert!(script.get().is_clean());
        }
    }
}

#[test]
fn sinks_that_come_in_parts_get_their_own_sums_and_a_block_may_be_given_up_between_parts() {
    let interaction = interaction(Order::Fourth, Precision::Mixed).unwrap();
    let (script, sources, lines) = (script(&interaction), sources(&interaction, 3000), record_lines(&interaction, 200));
    for kind in KINDS {
        be_late(&script, kind);
        let mut device = open(&script, kind.0, &interaction).unwrap();
        for partition in [Partition::WHOLE, Partition { ranges: 3, sets: 1 }, Partition { ranges: 2, sets: 8 }] {
            for (place, ni) in (0..partition.devices()).zip([9000, 20_000, 2500, 8192, 1].into_iter().cycle()) {
                let block = Block { in_parts: true, ..block(&interaction, ni, 3000) };
                let assignment = partition.assignment(place, ni);
                let Assignment { sinks, .. } = assignment.clone();
                let part = |from: usize, to: usize| sinks.end.min(sinks.start + from)..sinks.end.min(sinks.start + to);
                let start = |device: &mut FakeDevice| {
                    start(device, &sources, Records::new(&lines, 1), &block, &assignment).unwrap();
                    device.sum_part(&block, part(0, 2000)).unwrap();
                };
                start(&mut device);
                device.sum_part(&block, part(2000, 7000)).unwrap();
                device.sum_part(&block, part(7000, ni)).unwrap();
                wait(&mut device, &interaction, &block, &assignment).unwrap();
                start(&mut device);
                let mut partial_sums = partial_sums(&interaction, &block, assignment.sets);
                let mut done = 0;
                while done < sinks.len() {
                    done = device.wait_more(&mut partial_sums, done).unwrap();
                }
            }
        }
    }
    assert!(script.get().is_clean());
}

/// Computes a block of three sinks.
fn small_block(device: &mut FakeDevice, interaction: &Arc<Interaction>, sources: &Sources) {
    let block = block(interaction, 3, 3000);
    start(device, sources, Records::NONE, &block, &whole(&block)).unwrap();
    wait(device, interaction, &block, &whole(&block)).unwrap();
}

/// Opens a device on which all small blocks count as close, whatever else the machine does.
fn open_patient(script: &Shared, interaction: &Arc<Interaction>) -> FakeDevice {
    let mut device = open(script, true, interaction).unwrap();
    device.direct.kernels.waiting.as_mut().expect("kernels of this GPU can wait").closeness = Duration::MAX;
    script.get().calls.clear();
    device
}

/// Returns the number of launches.
fn launches(script: &Shared) -> usize {
    script.get().calls.iter().filter(|call| **call == "launch").count()
}

#[test]
fn small_blocks_that_follow_one_another_closely_need_no_launches() {
    let interaction = interaction(Order::Fourth, Precision::Mixed).unwrap();
    let (script, sources) = (script(&interaction), sources(&interaction, 3000));
    // A kernel that waits runs beside the host until it gets a letter without words.
    let (running, of_kernel) = (Arc::new(Mutex::new(Vec::new())), interaction.clone());
    let begun = running.clone();
    script.get().is_busy = true;
    script.get().kernel = Some(Box::new(move |script, name, arguments| {
        if name != "wait_for_blocks" {
            return kernel(script, &of_kernel, name, arguments);
        }
        let number = |place: usize| u64::from_ne_bytes(arguments[place][..8].try_into().unwrap());
        let turn = u32::from_ne_bytes(arguments[2][..4].try_into().unwrap());
        let mut letters = Letters { place: number(0), results: number(13), flag: number(14), turn };
        let interaction = of_kernel.clone();
        let of_thread = thread::spawn(move || {
            while letters.heard() != Some(0) {
                if letters.read(&interaction) {
                    letters.turn = letters.turn.wrapping_add(1);
                }
                thread::yield_now();
            }
        });
        begun.lock().unwrap().push(of_thread);
    }));
    let mut device = open_patient(&script, &interaction);
    (0..5).for_each(|_| small_block(&mut device, &interaction, &sources));
    let begun = launches(&script);
    (0..100).for_each(|_| small_block(&mut device, &interaction, &sources));
    assert_eq!((begun, launches(&script)), (5, 5));
    // What others ask meanwhile does not take a block from the kernel.
    let small = block(&interaction, 2, 3000);
    start(&mut device, &sources, Records::NONE, &small, &whole(&small)).unwrap();
    assert!(device.arrays().is_some());
    wait(&mut device, &interaction, &small, &whole(&small)).unwrap();
    assert_eq!(launches(&script), 5);
    // A large block ends the kernel.
    let large = block(&interaction, 5000, 3000);
    start(&mut device, &sources, Records::NONE, &large, &whole(&large)).unwrap();
    assert_eq!(running.lock().unwrap().len(), 1);
    let end = || running.lock().unwrap().drain(..).for_each(|kernel| kernel.join().unwrap());
    end();
    wait(&mut device, &interaction, &large, &whole(&large)).unwrap();
    // A block that is not waited for is given up, and the kernel with it.
    (0..10).for_each(|_| small_block(&mut device, &interaction, &sources));
    start(&mut device, &sources, Records::NONE, &small, &whole(&small)).unwrap();
    small_block(&mut device, &interaction, &sources);
    end();
    drop(device);
    assert!(script.get().is_clean());
}

#[test]
fn a_kernel_that_ended_before_a_block_came_is_launched_again() {
    let interaction = interaction(Order::Fourth, Precision::Mixed).unwrap();
    let (script, sources) = (script(&interaction), sources(&interaction, 3000));
    let (launched, of_kernel) = (Arc::new(AtomicU32::new(0)), interaction.clone());
    let count = launched.clone();
    script.get().kernel = Some(Box::new(move |script, name, arguments| {
        count.fetch_add(u32::from(name == "wait_for_blocks"), Ordering::Relaxed);
        // It waits for no second letter.
        kernel(script, &of_kernel, name, arguments);
    }));
    let mut device = open_patient(&script, &interaction);
    (0..20).for_each(|_| small_block(&mut device, &interaction, &sources));
    assert_eq!(launched.load(Ordering::Relaxed), 16);
}

#[test]
fn a_block_without_sources_has_sums_of_zero() {
    let interaction = interaction(Order::Fourth, Precision::Double).unwrap();
    for kind in KINDS {
        let script = script(&interaction);
        be_late(&script, kind);
        let mut device = open(&script, kind.0, &interaction).unwrap();
        let (block, sources) = (block(&interaction, 9, 100), Sources::new(interaction.n_coefficients));
        start(&mut device, &sources, Records::NONE, &block, &whole(&block)).unwrap();
        let mut partial_sums = partial_sums(&interaction, &block, 1);
        partial_sums.set(0).values.fill(-1.0);
        assert_eq!(device.wait_more(&mut partial_sums, 0).unwrap(), 9);
        assert!(partial_sums.merged().values.iter().all(|value| *value == 0.0));
        assert!(partial_sums.merged().nearest.iter().all(|nearest| nearest.distance2 == f64::INFINITY));
    }
}

#[test]
fn records_that_were_missed_come_before_fresh_ones_and_are_waited_for_without_sinks() {
    let interaction = interaction(Order::Fourth, Precision::Double).unwrap();
    let sources = sources(&interaction, 3000);
    let pages = in_pages(&record_lines(&interaction, 20));
    let lines = &pages.as_slice()[..20];
    for (place, launched, waited) in [(0, 3, 0), (1, 2, 1)] {
        let script = script(&interaction);
        let mut device = open(&script, true, &interaction).unwrap();
        device.lock(&pages).unwrap();
        let block = block(&interaction, 3, 3000);
        let assignment = Partition::WHOLE.assignment(place, 3);
        start(&mut device, &sources, Records::NONE, &block, &assignment).unwrap();
        let mut partial_sums = partial_sums(&interaction, &block, 1);
        device.wait_more(&mut partial_sums, 0).unwrap();
        script.get().calls.clear();
        let [missed, fresh] = Records::new(lines, 1).split_at(12);
        let updates = Updates { missed, fresh, ..Updates::of(&sources) };
        device.start(&updates, &block, &assignment).unwrap();
        device.wait_more(&mut partial_sums, 0).unwrap();
        let calls = script.get().calls.clone();
        let count = |names: &[&str]| calls.iter().filter(|call| names.contains(call)).count();
        // With sinks few records are copied with them.
        assert_eq!(count(&["launch", "copy"]), launched, "{calls:?}");
        assert_eq!(count(&["synchronize"]), waited, "{calls:?}");
    }
}

#[test]
fn a_device_that_ends_a_block_without_saying_so_is_an_error_and_can_go_on() {
    let interaction = interaction(Order::Fourth, Precision::Mixed).unwrap();
    let sources = sources(&interaction, 1000);
    let (script, silent) = (script(&interaction), Shared::default());
    let mut device = open(&silent, true, &interaction).unwrap();
    let block = block(&interaction, 40, 1000);
    start(&mut device, &sources, Records::NONE, &block, &whole(&block)).unwrap();
    let error = device.wait_more(&mut partial_sums(&interaction, &block, 1), 0).unwrap_err();
    assert!(matches!(&error, Error::Internal { what } if what.contains("without saying so")), "{error}");
    silent.get().kernel = script.get().kernel.take();
    start(&mut device, &sources, Records::NONE, &block, &whole(&block)).unwrap();
    wait(&mut device, &interaction, &block, &whole(&block)).unwrap();
}

#[test]
fn a_block_that_was_not_waited_for_to_its_end_is_waited_for_when_the_next_one_begins() {
    let interaction = interaction(Order::Fourth, Precision::Double).unwrap();
    for kind in KINDS {
        let script = script(&interaction);
        be_late(&script, kind);
        let mut sources = sources(&interaction, 3000);
        let mut device = open(&script, kind.0, &interaction).unwrap();
        let (large, small) = (block(&interaction, 20_000, 3000), block(&interaction, 40, 3000));
        start(&mut device, &sources, Records::NONE, &large, &whole(&large)).unwrap();
        sources.forget_written();
        assert!(device.wait_more(&mut partial_sums(&interaction, &large, 1), 0).unwrap() < 20_000);
        script.get().calls.clear();
        start(&mut device, &sources, Records::NONE, &small, &whole(&small)).unwrap();
        let calls = script.get().calls.clone();
        assert!(calls.iter().take_while(|call| **call == "synchronize").count() >= device.on.queues.len(), "{calls:?}");
        wait(&mut device, &interaction, &small, &whole(&small)).unwrap();
    }
}

/// Asks for everything that a device is asked for: it is opened, has the memory of records
/// registered, and computes while its sources and blocks grow. Returns the device, if there is one,
/// and the first error, if any.
fn ask_for_everything(
    (script, kind): (&Shared, Kind),
    interaction: &Arc<Interaction>,
    partition: Partition,
    lines: &[RecordLine],
) -> (Option<FakeDevice>, Result<()>) {
    be_late(script, kind);
    let mut device = match open(script, kind.0, interaction) {
        Ok(device) => device,
        Err(error) => return (None, Err(error)),
    };
    let mut work = || -> Result<()> {
        let pages = in_pages(lines);
        device.lock(&pages)?;
        let lines = &pages.as_slice()[..lines.len()];
        let mut sources = sources(interaction, 700);
        for (ni, count) in [(1, 700), (40, 3000), (5000, 3000), (9000, 3000)] {
            (700..count).for_each(|number| sources.write(number, &source(number)).unwrap());
            let block = block(interaction, ni, count);
            let assignment = partition.assignment(0, ni);
            start(&mut device, &sources, Records::new(&lines[..ni.min(lines.len())], 1), &block, &assignment)?;
            wait(&mut device, interaction, &block, &assignment)?;
            sources.forget_written();
        }
        // A chunk that is far away.
        sources.write(100_000, &source(100_000)).unwrap();
        let block = block(interaction, 300, 200_000);
        let assignment = partition.assignment(0, 300);
        start(&mut device, &sources, Records::NONE, &block, &assignment)?;
        wait(&mut device, interaction, &block, &assignment)?;
        let mut found = vec![Vec::new(); 300];
        device.neighbours(&sources, &block, 0..300, &mut found)
    };
    let outcome = work();
    (Some(device), outcome)
}

#[test]
fn whatever_call_fails_is_an_error_and_nothing_is_lost() {
    let interaction = interaction(Order::Fourth, Precision::Mixed).unwrap();
    let lines = record_lines(&interaction, 600);
    for kind in KINDS {
        fail_each_call_in_turn(kind, &interaction, Partition::WHOLE, &lines, false);
        fail_each_call_in_turn(kind, &interaction, Partition { ranges: 1, sets: 2 }, &lines, true);
    }
}

/// Fails each call, alone or with all that come after it.
fn fail_each_call_in_turn(
    kind: Kind,
    interaction: &Arc<Interaction>,
    partition: Partition,
    lines: &[RecordLine],
    for_ever: bool,
) {
    let script = script(interaction);
    let on = (&script, kind);
    // The first one may be measured.
    drop(open(&script, kind.0, interaction).unwrap());
    script.get().calls.clear();
    let (device, outcome) = ask_for_everything(on, interaction, partition, lines);
    let calls = script.get().calls.clone();
    outcome.unwrap();
    drop(device);
    assert!(calls.len() > 80, "{calls:?}");
    for place in (0..calls.len()).step_by(if for_ever { 11 } else { 1 }) {
        let failing = calls[place];
        let asks_for_memory = ["allocate", "allocate_host", "register"].contains(&failing);
        let end = if for_ever { usize::MAX } else { place + 1 };
        script.get().calls.clear();
        script.get().failing = Some(place..end);
        let (device, outcome) = ask_for_everything(on, interaction, partition, lines);
        script.get().failing = None;
        let expected = if asks_for_memory { ResultCode::OutOfMemory } else { ResultCode::DeviceFailed };
        match &outcome {
            Err(error) => assert_eq!(error.code(), expected, "call {place}, {failing}: {error}"),
            // Sinks that are not registered only take longer.
            Ok(()) => assert!(["register", "unregister"].contains(&failing), "call {place}, {failing}: no error"),
        }
        // The device, whatever it knows, computes again.
        if let Some(mut device) = device {
            let mut sources = sources(interaction, 3000);
            sources.all_is_written();
            for ni in [40, 9000] {
                let block = block(interaction, ni, 3000);
                start(&mut device, &sources, Records::NONE, &block, &whole(&block)).unwrap();
                wait(&mut device, interaction, &block, &whole(&block)).unwrap();
            }
        }
        assert!(script.get().is_clean(), "call {place}, {failing}: not given back");
    }
}
