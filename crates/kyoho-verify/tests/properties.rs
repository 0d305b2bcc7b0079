//! Random calls on a system and on a small model of the interface, which must give the same
//! results.

mod fakes;

use fakes::{At, Fakes, How};
use proptest::prelude::*;

use kyoho::{Setup, System};
use kyoho_core::Level;
use kyoho_core::{Forces, Interaction, Partition, Precision, Result, ResultCode, Sink, Source};
use kyoho_devices::ThisMachine;
use kyoho_hal::Backend;
use kyoho_laws::catalogue::CATALOGUE;
use kyoho_methods::Machine;
use kyoho_verify::models::{Random, grid};
use kyoho_verify::{Findings, PlainBatch, PlainLists, Selection, Target, Twin, targets};

/// A call on the interface.
#[derive(Debug, Clone)]
enum Call {
    /// Writes a source at an address.
    SetSource { address: usize, seed: u64 },
    /// Writes several sources, at addresses with a step between them.
    SetSources { first: usize, step: usize, count: usize, seed: u64 },
    /// Sets the time in ticks.
    SetTime(i32),
    /// Takes sources as they were written, until the next time.
    SetUnpredicted,
    /// Computes the forces of a block.
    Force(Block),
    /// Writes sources, and perhaps sets a time, between start and wait.
    StartAndWrite { block: Block, address: usize, count: usize, time: Option<i32>, seed: u64 },
    /// Computes the forces on groups of sinks, and writes sources before it waits for them.
    ForceGroups { groups: Groups, address: usize, count: usize },
    /// Computes the forces in systems of as many bodies.
    ForceBatch { sizes: Vec<usize>, seed: u64 },
    /// Makes the neighbour lists of the last block.
    Lists,
    /// Reads predicted sources from an address on.
    Predicted(usize),
    /// Reads sources from an address on, as they were written.
    Sources(usize),
    /// Moves the system to this many devices.
    Move(usize),
    /// Makes a mistake, which must be rejected and change nothing.
    Wrong(Mistake),
}

#[derive(Debug, Clone)]
struct Block {
    nj: usize,
    skip_own_index: bool,
    ni: usize,
    seed: u64,
}

/// Groups of sinks with lists of sources.
#[derive(Debug, Clone)]
struct Groups {
    form: Form,
    /// The number of sinks of each group, and the length of its list.
    sizes: Vec<(usize, usize)>,
    skip_own_index: bool,
    seed: u64,
}

/// The form of the lists of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Ranges,
    Addresses,
    Own,
}

impl Groups {
    /// Makes the lists of sources of a system that has some below this address.
    fn lists(&self, end: usize) -> PlainLists {
        let mut random = Random::new(self.seed);
        let sizes = self.sizes.iter().copied();
        match self.form {
            Form::Ranges => {
                let mut range = |length: usize| {
                    let first = random.below(end);
                    first..end.min(first + length)
                };
                PlainLists::of_ranges(&sizes.map(|(ni, length)| (ni, range(length))).collect::<Vec<_>>())
            }
            Form::Addresses => {
                // The rounding of many equal terms would add up.
                let mut list = |length: usize| {
                    let (first, step) = (random.below(end), 1 + random.below(4));
                    (0..length.min(2 * end)).map(|place| (first + step * place) % end).collect()
                };
                PlainLists::of_addresses(&sizes.map(|(ni, length)| (ni, list(length))).collect::<Vec<_>>())
            }
            Form::Own => {
                let mut list = |length: usize| sources(random.bits(), length);
                PlainLists::of_sources(&sizes.map(|(ni, length)| (ni, list(length))).collect::<Vec<_>>())
            }
        }
    }

    fn sinks(&self) -> Vec<Sink> {
        sinks(self.seed, self.sizes.iter().map(|(ni, _)| ni).sum())
    }
}

#[derive(Debug, Clone, Copy)]
enum Mistake {
    Position,
    Mass,
    Time,
    Sink,
    Wait,
    Offset,
    Address,
    OwnSource,
    Batch,
}

/// Draws indices. Few are different, so that sinks have the indices of sources, and some are
/// extreme.
fn index(random: &mut Random) -> i32 {
    match random.below(20) {
        0 => [i32::MIN, i32::MAX, -1, 1 << 24, (1 << 24) + 1][random.below(5)],
        _ => random.below(60) as i32,
    }
}

/// The number of ticks in a unit of time. Doubles hold the seventh power of a difference of times.
const TICK: f64 = 1.0 / 16.0;

/// Draws times of systems in ticks.
fn time() -> impl Strategy<Value = i32> {
    -16..32i32
}

/// Draws sources with every term of the series, on a grid, so that doubles hold their predictions
/// exactly.
fn sources(seed: u64, count: usize) -> Vec<Source> {
    let mut random = Random::new(seed);
    let mut sources = grid(seed, count);
    for source in &mut sources {
        source.index = index(&mut random);
        source.time = random.below(32) as f64 * TICK;
        // Over up to three units of time the terms have similar sizes.
        for (coefficient, limit) in source.coefficients[2..].iter_mut().zip([2, 4, 16, 64, 256, 512]) {
            *coefficient = random.grid_vector(1.0 / f64::from(limit));
        }
        if random.below(10) == 0 {
            source.mass = 0.0;
        }
    }
    sources
}

fn sinks(seed: u64, count: usize) -> Vec<Sink> {
    let mut random = Random::new(seed);
    let sink = |_| Sink {
        index: index(&mut random),
        softening2: [0.0, 1.0 / 1024.0, 1.0][random.below(3)],
        radius2: [0.0, 1.0, 9.0, 1e4][random.below(4)],
        step: [0.0, 0.25, 2.0][random.below(3)],
        derivatives: [4.0, 1.0, 1.0, 2.0].map(|limit| random.grid_vector(limit)),
    };
    (0..count).map(sink).collect()
}

fn address() -> impl Strategy<Value = usize> {
    prop_oneof![0..20usize, 0..600usize, 0..9000usize]
}

fn block() -> impl Strategy<Value = Block> {
    let ni = prop_oneof![0..4usize, 0..40usize, Just(64usize)];
    (prop_oneof![address(), Just(20_000usize)], prop::bool::weighted(0.8), ni, any::<u64>())
        .prop_map(|(nj, skip_own_index, ni, seed)| Block { nj, skip_own_index, ni, seed })
}

fn groups() -> impl Strategy<Value = Groups> {
    let form = prop::sample::select(vec![Form::Ranges, Form::Addresses, Form::Own]);
    let ni = prop_oneof![4 => 0..5usize, 1 => 0..40usize];
    let length = prop_oneof![4 => 0..40usize, 1 => 0..600usize];
    (form, prop::collection::vec((ni, length), 0..6), prop::bool::weighted(0.8), any::<u64>())
        .prop_map(|(form, sizes, skip_own_index, seed)| Groups { form, sizes, skip_own_index, seed })
}

fn call() -> impl Strategy<Value = Call> {
    let mistake = prop_oneof![
        Just(Mistake::Position),
        Just(Mistake::Mass),
        Just(Mistake::Time),
        Just(Mistake::Sink),
        Just(Mistake::Wait),
        Just(Mistake::Offset),
        Just(Mistake::Address),
        Just(Mistake::OwnSource),
        Just(Mistake::Batch),
    ];
    prop_oneof![
        3 => (address(), any::<u64>()).prop_map(|(address, seed)| Call::SetSource { address, seed }),
        3 => (address(), 1..40usize, 1..150usize, any::<u64>())
            .prop_map(|(first, step, count, seed)| Call::SetSources { first, step, count, seed }),
        2 => time().prop_map(Call::SetTime),
        1 => Just(Call::SetUnpredicted),
        4 => block().prop_map(Call::Force),
        2 => (block(), address(), 0..30usize, prop::option::of(time()), any::<u64>())
            .prop_map(|(block, address, count, time, seed)| Call::StartAndWrite { block, address, count, time, seed }),
        3 => (groups(), address(), 0..30usize)
            .prop_map(|(groups, address, count)| Call::ForceGroups { groups, address, count }),
        1 => (prop::collection::vec(0..9usize, 0..6), any::<u64>())
            .prop_map(|(sizes, seed)| Call::ForceBatch { sizes, seed }),
        2 => Just(Call::Lists),
        1 => address().prop_map(Call::Predicted),
        1 => address().prop_map(Call::Sources),
        1 => (1..=DEVICES).prop_map(Call::Move),
        1 => mistake.prop_map(Call::Wrong),
    ]
}

fn failure() -> impl Strategy<Value = (At, How)> {
    let at = prop::sample::select(vec![At::Open, At::Register, At::Start, At::Part, At::Wait, At::Neighbours]);
    (at, prop::sample::select(vec![How::Breaks, How::RunsOutOfMemory]))
}

/// Draws any order, precision and level of this machine, on some threads and devices.
fn target() -> impl Strategy<Value = Target> {
    // Numbers of two doubles take long, and are computed alike at every level.
    let is_quick = |Target { setup }: &Target| {
        setup.precision != Precision::Quad || setup.backend == Backend::Cpu && setup.level == Level::best()
    };
    let plain: Vec<Target> =
        targets(&Selection::default()).into_iter().filter(|target| target.is_of_one() && is_quick(target)).collect();
    (prop::sample::select(plain), 1..4usize, 1..=DEVICES)
        .prop_map(|(target, threads, devices)| target.with(threads, &vec![0; devices]))
}

/// Whether a target computes the forces of interaction lists.
fn takes_lists(target: &Target) -> bool {
    let interaction = target.interaction();
    !interaction.is_regular() && !interaction.has_low_limbs()
}

/// The number of devices of the fakes.
const DEVICES: usize = 6;

/// Draws a partition of blocks among several devices. Mostly it is left to the cost models.
fn partition() -> impl Strategy<Value = Option<Partition>> {
    prop::option::weighted(0.3, prop::sample::select(Partition::among(DEVICES).collect::<Vec<_>>()))
}

/// Returns the target on as many fakes.
fn on_fakes(target: Target, partition: Option<Partition>) -> Target {
    let devices = (0..target.setup.devices.len()).collect();
    Target { setup: Setup { backend: Backend::Cuda, devices, partition, ..target.setup } }
}

/// A twin, and whether its last block can still make lists.
struct Play {
    twin: Twin,
    findings: Findings,
    lists: bool,
}

impl Play {
    fn on(machine: Box<dyn Machine>, target: &Target) -> Result<Play> {
        Ok(Play { twin: Twin::on(machine, target)?, findings: Findings::default(), lists: false })
    }

    fn write(&mut self, first: usize, step: usize, count: usize, seed: u64) -> Result<()> {
        let sources = sources(seed, count);
        sources.iter().enumerate().try_for_each(|(place, source)| self.twin.set_source(first + step * place, source))
    }

    fn call(&mut self, target: &Target, call: &Call) -> Result<()> {
        match call {
            Call::SetSource { address, seed } => self.write(*address, 1, 1, *seed),
            Call::SetSources { first, step, count, seed } => self.write(*first, *step, *count, *seed),
            Call::SetTime(time) => self.twin.set_time(f64::from(*time) * TICK),
            Call::SetUnpredicted => {
                self.twin.set_unpredicted();
                Ok(())
            }
            Call::Force(block) => {
                self.start(target, block)?;
                self.twin.finish(&mut self.findings, "a block")
            }
            Call::StartAndWrite { block, address, count, time, seed } => {
                self.start(target, block)?;
                self.write(*address, 3, *count, *seed)?;
                time.map_or(Ok(()), |time| self.twin.set_time(f64::from(time) * TICK))?;
                self.twin.finish(&mut self.findings, "a block with writes before wait")
            }
            Call::ForceGroups { groups, address, count } => {
                let lists = groups.lists(self.twin.model.end());
                if !takes_lists(target) {
                    let started = lists.start(&mut self.twin.system, groups.skip_own_index, &groups.sinks());
                    self.findings
                        .expect(started.is_err(), || "regular forces on groups, or those of two doubles".into());
                    return Ok(());
                }
                self.twin.start_lists(&lists, groups.skip_own_index, &groups.sinks())?;
                self.lists = false;
                self.write(*address, 3, *count, groups.seed)?;
                self.twin.finish(&mut self.findings, "groups")
            }
            Call::ForceBatch { sizes, seed } => {
                let mut random = Random::new(*seed);
                let systems: Vec<_> = sizes.iter().map(|count| sources(random.bits(), *count)).collect();
                let mut batch = PlainBatch::of(&systems, 0.0);
                batch.softening2.iter_mut().for_each(|softening2| *softening2 = random.below(3) as f64 / 16.0);
                if !takes_lists(target) {
                    let started = batch.start(&mut self.twin.system);
                    self.findings
                        .expect(started.is_err(), || "regular forces in a batch, or those of two doubles".into());
                    return Ok(());
                }
                self.twin.start_batch(&batch)?;
                self.lists = false;
                self.twin.finish(&mut self.findings, "a batch")
            }
            Call::Lists if self.lists => self.twin.compare_lists(&mut self.findings, "lists"),
            Call::Lists => {
                self.findings.expect(self.twin.system.neighbours(0).is_err(), || "lists of no block".into());
                Ok(())
            }
            Call::Predicted(first) => self.twin.compare_predicted(&mut self.findings, *first..first + 20),
            Call::Sources(first) => self.twin.compare_sources(&mut self.findings, *first..first + 20),
            Call::Move(count) => {
                self.lists = false;
                // Real devices, if there are any, are named more than once. There are as many fakes
                // as needed.
                let there = target.setup.backend.visible().map_or(DEVICES, |visible| visible.alike);
                let devices = (0..*count).map(|number| number % there).collect();
                self.twin.system.move_to(&Setup { devices, ..target.setup.clone() })
            }
            Call::Wrong(mistake) => {
                let rejected = self.is_rejected(*mistake);
                self.findings.expect(rejected, || format!("{mistake:?} was not rejected"));
                Ok(())
            }
        }
    }

    /// Makes a call on devices that may fail, and forgets the lists of a block that the devices
    /// forgot.
    fn call_that_may_fail(&mut self, target: &Target, call: &Call) {
        let Err(error) = self.call(target, call) else { return };
        // Without a device there are no blocks until the system is moved to one, and no lists of a
        // block that failed.
        let allowed = [ResultCode::DeviceFailed, ResultCode::OutOfMemory, ResultCode::Internal, ResultCode::CallOrder];
        self.findings.expect(allowed.contains(&error.code()), || format!("{call:?}: {error}"));
        if !matches!(call, Call::Lists) {
            // Regular forces are compared once the lists are made. The block stays even if they
            // cannot be made.
            self.lists &= self.twin.system.forces().is_ok();
        }
    }

    fn start(&mut self, target: &Target, block: &Block) -> Result<()> {
        self.lists = target.interaction().has_lists() && block.ni > 0;
        self.twin.start(block.nj, block.skip_own_index, &sinks(block.seed, block.ni))
    }

    fn is_rejected(&mut self, mistake: Mistake) -> bool {
        let mut source = sources(1, 1)[0];
        let mut block = sinks(1, 20);
        let system = &mut self.twin.system;
        match mistake {
            Mistake::Position => {
                source.coefficients[0][1] = f64::INFINITY;
                system.set_source(3, &source).is_err()
            }
            Mistake::Mass => {
                source.mass = f64::NAN;
                system.set_source(3, &source).is_err()
            }
            Mistake::Time => system.set_time(f64::NAN).is_err(),
            Mistake::Sink => {
                block[13].softening2 = -1.0;
                system.start(100, true, block).is_err()
            }
            Mistake::Wait => system.wait().is_err(),
            Mistake::Offset => {
                let mut lists = PlainLists::of_ranges(&[(7, 0..0), (13, 0..0)]);
                lists.sink_offsets[1] = 21;
                lists.start(system, true, &block).is_err()
            }
            Mistake::Address => {
                let lists = PlainLists::of_addresses(&[(20, vec![self.twin.model.end()])]);
                lists.start(system, true, &block).is_err()
            }
            Mistake::OwnSource => {
                source.coefficients[0][2] = f64::NAN;
                PlainLists::of_sources(&[(20, vec![source])]).start(system, true, &block).is_err()
            }
            Mistake::Batch => {
                let mut batch = PlainBatch::of(&[vec![source; 3]], 0.0);
                batch.offsets[1] = 2;
                batch.start(system).is_err()
            }
        }
    }
}

fn play(machine: Box<dyn Machine>, target: &Target, calls: &[Call]) -> Result<Findings> {
    let mut play = Play::on(machine, target)?;
    calls.iter().try_for_each(|call| play.call(target, call))?;
    Ok(play.findings)
}

/// Makes a system with some sources, at a time.
fn system(target: &Target, written: &[Source], time: i32) -> Result<System> {
    let mut system = System::new(&target.setup)?;
    for (address, source) in written.iter().enumerate() {
        system.set_source(address, source)?;
    }
    system.set_time(f64::from(time) * TICK)?;
    Ok(system)
}

/// Returns every bit of the forces on a block.
fn bits(target: &Target, written: &[Source], time: i32, block: &Block) -> Result<Vec<Vec<u64>>> {
    let mut system = system(target, written, time)?;
    Ok(bits_of(system.force(block.nj, block.skip_own_index, sinks(block.seed, block.ni))?))
}

/// Returns every bit of the force on each sink.
fn bits_of(forces: Forces) -> Vec<Vec<u64>> {
    let numbers = |sink: usize| {
        let derivatives = [forces.acceleration(sink), forces.jerk(sink), forces.snap(sink), forces.crackle(sink)];
        let nearest = forces.nearest(sink).map_or([0, 0], |found| [found.distance2.to_bits(), found.index as u64]);
        let sums = [forces.potential(sink)].into_iter().chain(derivatives.into_iter().flatten());
        sums.map(f64::to_bits).chain(nearest).collect::<Vec<_>>()
    };
    (0..forces.len()).map(numbers).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_calls_gives_what_the_model_gives(
        target in target(),
        calls in prop::collection::vec(call(), 1..25),
    ) {
        let findings = play(Box::new(ThisMachine), &target, &calls).expect("calls that are right succeed");
        prop_assert!(findings.passed(), "{target}: {:#?}", findings.failures());
    }

    #[test]
    fn devices_with_a_copy_of_the_sources_receive_all_they_need(
        target in target(),
        partition in partition(),
        records in 1..200usize,
        calls in prop::collection::vec(call(), 1..25),
    ) {
        let target = on_fakes(target, partition);
        let machine = Fakes::new(records).with_devices(DEVICES).machine();
        let findings = play(machine, &target, &calls).expect("calls that are right succeed");
        prop_assert!(findings.passed(), "{target}: {:#?}", findings.failures());
    }

    #[test]
    fn devices_that_fail_and_blocks_that_the_cpu_takes_over_change_no_result(
        target in target(),
        partition in partition(),
        records in 1..200usize,
        chunks in prop_oneof![0..12usize, Just(usize::MAX)],
        crossover in prop_oneof![Just(0), Just(20_000u64), Just(u64::MAX)],
        failures in prop::collection::vec((failure(), 0..9usize), 0..3),
        calls in prop::collection::vec(call(), 1..25),
    ) {
        let setup = on_fakes(target, partition).setup;
        let target = Target { setup: Setup { crossover: Some(crossover), fall_back: true, ..setup } };
        let fakes = Fakes::new(records).with_devices(DEVICES).with_memory_for(chunks);
        failures.iter().for_each(|((at, how), count)| fakes.fail(*at, *count, *how));
        let findings = play(fakes.machine(), &target, &calls).expect("the CPU goes on");
        prop_assert!(findings.passed(), "{target}: {:#?}", findings.failures());
        prop_assert_eq!(fakes.notes().open, 0);
    }

    #[test]
    fn an_error_of_a_device_is_the_callers_where_it_was_chosen_and_nothing_is_lost(
        target in target(),
        partition in partition(),
        records in 1..200usize,
        crossover in prop_oneof![Just(0), Just(20_000u64)],
        failures in prop::collection::vec((failure(), prop::bool::weighted(0.3), 0..9usize), 0..8),
        calls in prop::collection::vec(call(), 1..25),
    ) {
        let setup = on_fakes(target, partition).setup;
        let target = Target { setup: Setup { crossover: Some(crossover), ..setup } };
        let fakes = Fakes::new(records).with_devices(DEVICES);
        let mut play = Play::on(fakes.machine(), &target).expect("nothing fails yet");
        for ((at, how), is_defect, count) in failures {
            fakes.fail(at, count, if is_defect { How::HasADefect } else { how });
        }
        for call in &calls {
            play.call_that_may_fail(&target, call);
        }
        prop_assert!(play.findings.passed(), "{target}: {:#?}", play.findings.failures());
        drop(play);
        prop_assert_eq!(fakes.notes().open, 0);
    }

    #[test]
    fn threads_and_devices_never_change_a_bit(
        target in target(),
        count in 0..3000usize,
        seed in any::<u64>(),
        time in time(),
        block in block(),
        partition in partition(),
    ) {
        let written = sources(seed, count);
        let plain = bits(&target.with(1, &[0]), &written, time, &block).expect("a good block");
        let target = Target { setup: Setup { partition, ..target.setup } };
        prop_assert_eq!(bits(&target, &written, time, &block).expect("a good block"), plain);
    }

    #[test]
    fn what_stands_beside_a_group_never_changes_a_bit_of_its_forces(
        target in target().prop_filter("takes lists", takes_lists),
        count in 0..3000usize,
        seed in any::<u64>(),
        time in time(),
        groups in groups(),
    ) {
        let written = sources(seed, count);
        let lists = groups.lists(count);
        let sinks = groups.sinks();
        let of = |target: &Target, lists: &PlainLists, sinks: &[Sink]| {
            let mut system = system(target, &written, time)?;
            lists.start(&mut system, groups.skip_own_index, sinks)?;
            system.wait().map(bits_of)
        };
        let mut alone = Vec::new();
        for group in 0..lists.groups() {
            let range = lists.sinks_of(group);
            alone.push(of(&target.with(1, &[0]), &lists.picked(&[group]), &sinks[range]).expect("a good group"));
        }
        let mut order: Vec<usize> = (0..lists.groups()).rev().collect();
        order.rotate_left(seed as usize % lists.groups().max(1));
        let expected: Vec<_> = order.iter().flat_map(|group| alone[*group].clone()).collect();
        let sinks: Vec<Sink> = order.iter().flat_map(|group| &sinks[lists.sinks_of(*group)]).copied().collect();
        let found = of(&target, &lists.picked(&order), &sinks).expect("good groups");
        let other = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        prop_assert_eq!((other, found.len()), (None, expected.len()), "the first sink with other bits, in {:?}", order);
    }
}

#[test]
fn every_order_precision_and_level_of_this_machine_is_drawn() {
    let setups: Vec<Setup> = targets(&Selection::default()).into_iter().map(|target| target.setup).collect();
    let drawn = |wanted: &dyn Fn(&Setup) -> bool| setups.iter().any(wanted);
    assert!(Level::available().all(|level| drawn(&|setup| setup.level == level)));
    let is = |setup: &Setup, entry: &Interaction| (setup.order, setup.precision) == (entry.order, entry.precision);
    assert!(CATALOGUE.iter().all(|entry| drawn(&|setup| is(setup, entry))));
}
