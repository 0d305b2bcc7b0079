//! The device on the first OpenCL device of this machine, with a driver whose calls fail on demand.

use std::sync::Arc;

use kyoho_core::Level;
use kyoho_core::{
    Assignment, Block, Error, Interaction, MAX_DERIVATIVES, Nearest, NeighbourCriterion, Order, PartialSums, Partition,
    Precision, Records, Result, ResultCode, Sink, Sinks, Source, Sources, Units, Updates, records,
};
use kyoho_hal::opencl::hooks;
use kyoho_hal::opencl::{Context, OpenCl, forget};
use kyoho_laws::catalogue::interaction;
use kyoho_methods::{CompanionDevices, Device, DeviceOptions};

use super::GpuDevice;

type OpenClDevice = GpuDevice<OpenCl>;

fn options() -> DeviceOptions {
    let interaction = interaction(Order::Fourth, Precision::Mixed).unwrap();
    DeviceOptions {
        interaction,
        softenings: false,
        threads: 1,
        level: Level::Portable,
        shape: None,
        companions: CompanionDevices::default(),
    }
}

/// Opens a device.
fn open(context: &Arc<Context>) -> Result<OpenClDevice> {
    GpuDevice::open(OpenCl::on(context.clone()), options())
}

fn source(number: usize) -> Source {
    let place = number as f64;
    let position = [place.sin(), (1.7 * place).cos(), (0.3 * place).sin()];
    Source::from_derivatives(number as i32, 1.0, 0.0, [position, [0.5, 0.1, place.cos()], [0.0; 3], [0.0; 3]])
}

fn block(ni: usize, nj: usize) -> Block {
    let sink = |number: usize| Sink {
        index: number as i32,
        softening2: 1e-4,
        radius2: 0.04,
        step: 0.0,
        derivatives: {
            let Source { coefficients, .. } = source(number);
            let mut derivatives = [[0.0; 3]; MAX_DERIVATIVES];
            derivatives.copy_from_slice(&coefficients[..MAX_DERIVATIVES]);
            derivatives
        },
    };
    Block {
        sinks: Sinks::of(&options().interaction, (0..ni).map(sink)).unwrap(),
        skip_own_index: true,
        time: 0.25,
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

/// The answer of a device: the bits of the sums, and the nearest source, of each sink.
#[derive(Debug, PartialEq)]
struct Answer {
    sums: Vec<u64>,
    nearest: Vec<Nearest>,
    lists: Vec<Vec<i32>>,
}

/// Computes an assignment of a block.
fn compute(
    device: &mut OpenClDevice,
    sources: &Sources,
    fresh: Records,
    block: &Block,
    assignment: &Assignment,
) -> Result<Answer> {
    let Interaction { n_outputs, nearest, .. } = *device.options().interaction;
    let mut partial_sums = PartialSums::new(n_outputs, nearest);
    partial_sums.reset(block.sinks.len(), assignment.sets).unwrap();
    device.start(&Updates { fresh, ..Updates::of(sources) }, block, assignment)?;
    let mut done = 0;
    while done < assignment.sinks.len() {
        done = device.wait_more(&mut partial_sums, done)?;
    }
    let sums = partial_sums.set(assignment.set);
    Ok(Answer {
        sums: sums.values.iter().map(|value| value.to_bits()).collect(),
        nearest: sums.nearest.to_vec(),
        lists: Vec::new(),
    })
}

/// Asks for everything that a device is asked for: it is opened, and computes while its sources and
/// blocks grow. Returns the device, if there is one, its answers, and whether it came to the end.
fn ask_for_everything(context: &Arc<Context>, partition: Partition) -> (Option<OpenClDevice>, Vec<Answer>, Result<()>) {
    let mut answers = Vec::new();
    let mut device = match open(context) {
        Ok(device) => device,
        Err(error) => return (None, answers, Err(error)),
    };
    let mut work = || -> Result<()> {
        let n_coefficients = options().interaction.n_coefficients;
        let lines = records::lines(n_coefficients, (0..600).map(|number| (number, source(number as usize + 7))));
        let mut sources = Sources::new(options().interaction.n_coefficients);
        // The last one is of several pieces.
        for (ni, count) in [(1, 700), (40, 900), (6200, 900)] {
            (0..count).for_each(|number| sources.write(number, &source(number)).unwrap());
            let block = block(ni, count);
            answers.push(compute(
                &mut device,
                &sources,
                Records::new(&lines[..ni.min(lines.len())], 1),
                &block,
                &partition.assignment(0, ni),
            )?);
            sources.forget_written();
        }
        // A chunk that is far away, and more lists than a batch has.
        sources.write(100_000, &source(100_000)).unwrap();
        let block = block(300, 200_000);
        let mut answer = compute(&mut device, &sources, Records::NONE, &block, &partition.assignment(0, 300))?;
        answer.lists.resize(300, Vec::new());
        device.neighbours(&sources, &block, 0..300, &mut answer.lists)?;
        answer.lists.iter_mut().for_each(|list| list.sort_unstable());
        answers.push(answer);
        Ok(())
    };
    let outcome = work();
    (Some(device), answers, outcome)
}

/// Returns the answer of a device whose sources all count as written.
fn answer_anew(device: &mut OpenClDevice) -> Result<Answer> {
    let mut sources = Sources::new(options().interaction.n_coefficients);
    (0..900).for_each(|number| sources.write(number, &source(number)).unwrap());
    sources.all_is_written();
    let block = block(40, 900);
    compute(device, &sources, Records::NONE, &block, &Assignment::whole(40))
}

#[test]
fn a_fork_is_told_so_and_does_not_touch_memory_that_it_has_not() {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(status: i32) -> !;
    }
    let Some(context) = hooks::hooked_gpu() else { return };
    let mut device = open(&context).unwrap();
    let mut sources = Sources::new(options().interaction.n_coefficients);
    (0..900).for_each(|number| sources.write(number, &source(number)).unwrap());
    let block = block(40, 900);
    // SAFETY: the child calls nothing that needs the threads it has lost, and leaves by `_exit`.
    let child = unsafe { fork() };
    assert!(child >= 0);
    if child == 0 {
        let is_told = |error: Error| error.to_string().contains("forked from one that uses OpenCL");
        let told = compute(&mut device, &sources, Records::NONE, &block, &Assignment::whole(40)).is_err_and(is_told)
            && device.neighbours(&sources, &block, 0..1, &mut [Vec::new()]).is_err_and(is_told);
        drop((device, context));
        // SAFETY: the child ends here.
        unsafe { _exit(if told { 0 } else { 1 }) };
    }
    let mut status = -1;
    // SAFETY: the pointer is to a local variable.
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child found other than it should");
}

#[test]
fn whatever_call_fails_is_an_error_and_nothing_is_lost() {
    fail_each_call_in_turn(Partition::WHOLE, false);
    fail_each_call_in_turn(Partition { ranges: 1, sets: 2 }, true);
}

/// Fails each call, alone or with all that come after it. Of more than two of a name in a row, such as
/// those that set arguments, it is the first and the last, but for `KYOHO_TEST_SWEEP=1`.
fn fail_each_call_in_turn(partition: Partition, for_ever: bool) {
    let before = hooks::live();
    let Some(context) = hooks::hooked_context() else { return };
    hooks::fail(0..0);
    let (device, expected, outcome) = ask_for_everything(&context, partition);
    let calls = hooks::calls();
    outcome.unwrap();
    assert!(!calls.contains(&"clGetProgramInfo"), "a CPU's program, which is not kept, is read: {calls:?}");
    assert!(calls.len() > 150 && expected[3].lists.iter().any(|list| list.len() > 3), "{calls:?}");
    let expected_anew = answer_anew(&mut device.unwrap()).unwrap();
    forget(&context);
    drop(context);
    assert_eq!(hooks::live(), before, "given back");
    let is_swept = std::env::var_os("KYOHO_TEST_SWEEP").is_some_and(|value| value == "1");
    let is_amid =
        |place: usize| place > 0 && [place - 1, place + 1].iter().all(|at| calls.get(*at) == Some(&calls[place]));
    let wanted: Vec<usize> = (0..calls.len()).filter(|place| is_swept || !is_amid(*place)).collect();
    for &place in wanted.iter().step_by(if for_ever { 11 } else { 1 }) {
        let failing = calls[place];
        let Some(context) = hooks::hooked_context() else { return };
        hooks::fail(place..if for_ever { usize::MAX } else { place + 1 });
        let (device, answers, outcome) = ask_for_everything(&context, partition);
        hooks::fail(0..0);
        let expected_code =
            if failing == "clCreateBuffer" { ResultCode::OutOfMemory } else { ResultCode::DeviceFailed };
        match outcome.map_err(|error| (error.code(), error)) {
            // The first failure did no harm, and then a call for memory may have come.
            Err((ResultCode::OutOfMemory, _)) if for_ever && hooks::gives_back(failing) => {}
            Err((code, error)) => assert_eq!(code, expected_code, "call {place}, {failing}: {error}"),
            Ok(()) => assert!(hooks::gives_back(failing) && !for_ever, "call {place}, {failing}: no error"),
        }
        assert!(answers == expected[..answers.len()], "call {place}, {failing}: other forces");
        // The device, whatever it knows, computes again, and so does one that could not be opened.
        let mut device = device.unwrap_or_else(|| open(&context).unwrap());
        assert_eq!(answer_anew(&mut device).unwrap(), expected_anew, "call {place}, {failing}");
        drop(device);
        forget(&context);
        drop(context);
        assert_eq!(hooks::live(), before, "call {place}, {failing}: not given back");
    }
}
