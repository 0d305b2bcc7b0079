//! Results do not depend on what was called before: after any sequence of calls, forces, neighbours
//! and predictions have the bits of a fresh system that was given the same sources at once.
//!
//! `PROPTEST_CASES` sets the number of sequences, for long runs.

#[path = "../../../tests/common/mod.rs"]
mod common;
mod fakes;
mod late;

use std::collections::BTreeMap;
use std::process::Command;

use common::pocl::by_opencl;
use fakes::Fakes;
use late::{LateMachine, MOST, Vectors};
use proptest::prelude::*;

use kyoho::{QuadForce, QuadSink, QuadSource, Setup, System};
use kyoho_core::Level;
use kyoho_core::{
    Error, Forces, MAX_COEFFICIENTS, NeighbourCriterion, Order, Partition, Precision, Result, Sink, Source,
    TreeAccuracy,
};
use kyoho_devices::ThisMachine;
use kyoho_hal::Backend;
use kyoho_laws::double_double::{Double, DoubleDouble};
use kyoho_methods::Machine;
use kyoho_verify::models::{Random, sink_at};
use kyoho_verify::{PlainBatch, PlainLists, Selection, Target, targets};

/// A change of what the next block sees.
#[derive(Debug, Clone)]
enum Change {
    /// Writes the source at an address.
    One { address: usize, seed: u64 },
    /// Writes several sources, at addresses with a step between them, together or one by one.
    Some { first: usize, step: usize, count: usize, together: bool, seed: u64 },
    /// Writes the sources at the addresses from 0 on.
    All { count: usize, seed: u64 },
    /// Replaces all sources by those in arrays of the caller on the device.
    OnDevice { count: usize, seed: u64 },
    /// Sets the time in ticks.
    Time(i32),
    /// Takes sources as they were written, until the next time.
    Unpredicted,
}

/// What is begun.
#[derive(Debug, Clone)]
enum Begun {
    /// The forces on sinks.
    Block { nj: usize, skip_own_index: bool, ni: usize, seed: u64 },
    /// The forces on sinks in arrays of the caller on the device, where some are left too.
    OnDevice { nj: usize, skip_own_index: bool, ni: usize, seed: u64 },
    /// The forces of sources on one another.
    All { nj: usize, softening2: f64 },
    /// The forces on groups of as many sinks with lists as long as this.
    Groups { form: Form, sizes: Vec<(usize, usize)>, skip_own_index: bool, seed: u64 },
    /// The forces in systems of as many bodies.
    Batch { sizes: Vec<usize>, seed: u64 },
}

/// The form of interaction lists.
#[derive(Debug, Clone, Copy)]
enum Form {
    Ranges,
    Addresses,
    Own,
}

/// How a block ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Wait,
    Abandon,
    Forget,
    /// The system is closed, and another one goes on.
    Close,
}

#[derive(Debug, Clone)]
enum Call {
    Change(Change),
    /// Begins a block, makes changes while it is under way, and ends it.
    Forces {
        begun: Begun,
        changes: Vec<Change>,
        end: End,
    },
    /// Asks for the neighbours of a sink of the last block.
    Neighbours(usize),
    /// Asks for the sources within the radii of sinks.
    Find {
        nj: usize,
        ni: usize,
        skip_own_index: bool,
        seed: u64,
    },
    /// Reads sources from an address on, as they were written and predicted.
    Read(usize),
    /// Sums by a tree of this accuracy, or directly.
    Tree(Option<f64>),
    /// Moves the system to as many devices.
    Move(usize),
    /// Begins blocks that are refused.
    Wrong(u64),
}

/// The powers of ten of the sizes of sources and sinks, which are far apart.
const POWERS: [i32; 4] = [0, 0, -12, 10];

/// The length of a tick.
const TICK: f64 = 1.0 / 16.0;

/// Draws the sources of one call, mostly of one size.
fn sources(seed: u64, count: usize) -> Vec<Source> {
    let mut random = Random::new(seed);
    let (length, mass) = (POWERS[random.below(4)], [0, 0, -10, 20][random.below(4)]);
    let source = |_| {
        let odd = random.below(40) == 0;
        let length = 10f64.powi(if odd { POWERS[random.below(4)] } else { length });
        let mut coefficients = [[0.0; 3]; MAX_COEFFICIENTS];
        for coefficient in coefficients.iter_mut().take(1 + random.below(MAX_COEFFICIENTS)) {
            *coefficient = random.direction().map(|component| component * length);
        }
        let index = random.below(60) as i32;
        Source { index, mass: random.unit() * 10f64.powi(mass), time: random.below(8) as f64 * TICK, coefficients }
    };
    (0..count).map(source).collect()
}

/// Draws sources with their derivatives, as arrays have them.
fn derived(seed: u64, count: usize) -> Vec<(Source, Vectors)> {
    let of = |source: Source| {
        let vectors = source.coefficients;
        (Source::from_derivatives::<MAX_COEFFICIENTS>(source.index, source.mass, source.time, vectors), vectors)
    };
    sources(seed, count).into_iter().map(of).collect()
}

/// Draws sinks for arrays on a device: each with its softening, which is returned as `true`, or with
/// one for all.
fn sinks_in_arrays(seed: u64, count: usize, has_tree: bool) -> (Vec<Sink>, bool) {
    let is_each = seed.is_multiple_of(2);
    (sinks(seed, count, has_tree || !is_each), is_each)
}

/// Returns a number of which the low limb is not zero.
fn in_limbs(high: f64) -> DoubleDouble {
    Double { high, low: high * 1.7e-17 }
}

fn quad_source(source: &Source) -> QuadSource {
    QuadSource {
        index: source.index,
        mass: in_limbs(source.mass),
        time: Double::from_limb(source.time),
        derivatives: source.coefficients.map(|vector| vector.map(in_limbs)),
    }
}

/// Draws sinks of one size, with one softening if a tree needs that.
fn sinks(seed: u64, count: usize, is_uniform: bool) -> Vec<Sink> {
    let mut random = Random::new(seed);
    let length = 10f64.powi(POWERS[random.below(4)]);
    let softening2 = [0.0, length * length][random.below(2)];
    let sink = |_| Sink {
        index: random.below(60) as i32,
        softening2: if is_uniform { softening2 } else { [0.0, 1.0, length * length][random.below(3)] },
        radius2: [0.0, 1.0, length * length][random.below(3)],
        step: [0.0, 0.25][random.below(2)],
        derivatives: std::array::from_fn(|_| random.direction().map(|component| component * length)),
    };
    (0..count).map(sink).collect()
}

fn quad_sink(sink: &Sink) -> QuadSink {
    QuadSink {
        index: sink.index,
        softening2: in_limbs(sink.softening2),
        radius2: in_limbs(sink.radius2),
        derivatives: sink.derivatives.map(|vector| vector.map(in_limbs)),
    }
}

fn address() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..20usize, 2 => 0..600usize, 1 => 0..9000usize]
}

/// Draws how many sources a call writes: some are enough for records by several threads or for a
/// device that reads them as they are, few for those that replace the host's copy.
fn written() -> impl Strategy<Value = usize> {
    prop_oneof![30 => 0..20usize, 20 => 0..600usize, 6 => 4096..5000usize, 1 => 65_536..66_000usize]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (address(), any::<u64>()).prop_map(|(address, seed)| Change::One { address, seed }),
        3 => (address(), 1..5usize, 0..700usize, any::<bool>(), any::<u64>()).prop_map(
            |(first, step, count, together, seed)| Change::Some { first, step, count, together, seed }
        ),
        4 => (written(), any::<u64>()).prop_map(|(count, seed)| Change::All { count, seed }),
        2 => (written(), any::<u64>())
            .prop_map(|(count, seed)| Change::OnDevice { count: count.min(MOST), seed }),
        2 => (-16..32i32).prop_map(Change::Time),
        1 => Just(Change::Unpredicted),
    ]
}

fn begun() -> impl Strategy<Value = Begun> {
    let form = prop::sample::select(vec![Form::Ranges, Form::Addresses, Form::Own]);
    let ni = prop_oneof![8 => 0..4usize, 8 => 0..40usize, 1 => 8192..8300usize];
    let of_block = ni.clone();
    prop_oneof![
        4 => (prop_oneof![address(), Just(70_000usize)], any::<bool>(), ni, any::<u64>()).prop_map(
            |(nj, skip_own_index, ni, seed)| Begun::Block { nj, skip_own_index, ni, seed }
        ),
        3 => (prop_oneof![address(), Just(70_000usize)], any::<bool>(), of_block, any::<u64>()).prop_map(
            |(nj, skip_own_index, ni, seed)| Begun::OnDevice { nj, skip_own_index, ni, seed }
        ),
        1 => (0..700usize, prop::sample::select(vec![0.0, 1.0]))
            .prop_map(|(nj, softening2)| Begun::All { nj, softening2 }),
        4 => (form, prop::collection::vec((0..9usize, 0..100usize), 0..6), any::<bool>(), any::<u64>()).prop_map(
            |(form, sizes, skip_own_index, seed)| Begun::Groups { form, sizes, skip_own_index, seed }
        ),
        1 => (prop::collection::vec(0..9usize, 0..6), any::<u64>())
            .prop_map(|(sizes, seed)| Begun::Batch { sizes, seed }),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let others = [End::Abandon, End::Forget, End::Close].map(Just);
    let end = prop_oneof![8 => Just(End::Wait), 3 => prop::strategy::Union::new(others)];
    prop_oneof![
        6 => change().prop_map(Call::Change),
        8 => (begun(), prop::collection::vec(change(), 0..3), end)
            .prop_map(|(begun, changes, end)| Call::Forces { begun, changes, end }),
        3 => (0..40usize).prop_map(Call::Neighbours),
        1 => (address(), 0..20usize, any::<bool>(), any::<u64>())
            .prop_map(|(nj, ni, skip_own_index, seed)| Call::Find { nj, ni, skip_own_index, seed }),
        1 => address().prop_map(Call::Read),
        1 => prop::sample::select(vec![None, Some(1e-3)]).prop_map(Call::Tree),
        1 => (1..=DEVICES).prop_map(Call::Move),
        1 => any::<u64>().prop_map(Call::Wrong),
    ]
}

/// The most sinks of a block in two doubles.
const MOST_IN_LIMBS: usize = 40;

/// The most devices.
const DEVICES: usize = 3;

/// Draws any order, precision and scope on a backend, at the best instruction set.
fn target(backend: Backend, with_limbs: bool) -> impl Strategy<Value = Target> {
    let selection = Selection { backend: Some(backend), ..Selection::default() };
    let is_wanted = |target: &Target| {
        let setup = &target.setup;
        target.is_of_one()
            && (backend != Backend::Cpu || setup.level == Level::best())
            && (with_limbs || setup.precision != Precision::Quad)
    };
    let all: Vec<Target> = targets(&selection).into_iter().filter(is_wanted).collect();
    let partition = prop::option::weighted(0.5, prop::sample::select(Partition::among(DEVICES).collect::<Vec<_>>()));
    (prop::sample::select(all), 1..3usize, 1..=DEVICES, partition).prop_map(|(target, threads, devices, partition)| {
        let target = target.with(threads, &vec![0; devices]);
        Target { setup: Setup { partition, ..target.setup } }
    })
}

/// What a source was written as.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::large_enum_variant, reason = "a test has few")]
enum Written {
    Plain(Source),
    InLimbs(QuadSource),
}

/// The bits that a call gave, or the words of its error.
type Outcome = std::result::Result<Vec<Vec<u64>>, String>;

fn outcome<T>(result: Result<T>, bits: impl FnOnce(T) -> Vec<Vec<u64>>) -> Outcome {
    result.map(bits).map_err(|error| error.to_string())
}

fn bits(forces: Forces) -> Vec<Vec<u64>> {
    let numbers = |sink: usize| {
        let force = QuadForce::of(&forces, sink);
        let sums = [force.potential].into_iter().chain(force.derivatives.into_iter().flatten());
        let nearest = force.nearest.map(|(distance2, index)| [distance2.high.to_bits(), index as u64]);
        sums.flat_map(|sum| [sum.high.to_bits(), sum.low.to_bits()]).chain(nearest.into_iter().flatten()).collect()
    };
    (0..forces.len()).map(numbers).collect()
}

/// Whether a system takes no arrays on devices.
fn is_refused<T>(outcome: &Result<T>) -> bool {
    matches!(outcome, Err(Error::BadOption { name, .. }) if name.ends_with(".memory"))
}

/// A system, and what a fresh one is to be given.
struct Play<'a> {
    machine: &'a dyn Fn() -> Box<dyn Machine>,
    setup: Setup,
    system: System,
    written: BTreeMap<usize, Written>,
    time: Option<i32>,
    tree: Option<f64>,
    /// The neighbours of the last block that a fresh system finds, if it was waited for.
    neighbours: Option<Vec<Vec<i32>>>,
    /// The machine, if callers have memory on its devices.
    late: Option<LateMachine>,
    /// Whether the system has refused its arrays.
    has_refused: bool,
    found: Vec<String>,
}

/// Sets the time or none, and what is asked of trees.
fn prepare(system: &mut System, time: Option<i32>, tree: Option<f64>) -> Result<()> {
    match time {
        Some(ticks) => system.set_time(f64::from(ticks) * TICK)?,
        None => system.set_unpredicted(),
    }
    system.set_tree_crossover(Some(0));
    system.set_tree(tree.map(TreeAccuracy::Error))
}

/// Draws which sources are neighbours.
fn criterion(seed: u64) -> NeighbourCriterion {
    if seed.is_multiple_of(3) { NeighbourCriterion::Plain } else { NeighbourCriterion::ByMass }
}

/// Draws lists for groups of as many sinks and sources, for a system that has sources below this
/// address.
fn lists_of(form: Form, sizes: &[(usize, usize)], seed: u64, end: usize) -> PlainLists {
    let (mut random, sizes) = (Random::new(seed), sizes.iter().copied());
    match form {
        Form::Ranges => {
            let mut range = |length: usize| {
                let first = random.below(end);
                first..end.min(first + length)
            };
            PlainLists::of_ranges(&sizes.map(|(ni, length)| (ni, range(length))).collect::<Vec<_>>())
        }
        Form::Addresses => {
            let mut list = |length: usize| (0..length.min(2 * end)).map(|_| random.below(end)).collect::<Vec<_>>();
            PlainLists::of_addresses(&sizes.map(|(ni, length)| (ni, list(length))).collect::<Vec<_>>())
        }
        Form::Own => {
            let mut list = |length: usize| sources(random.bits(), length);
            PlainLists::of_sources(&sizes.map(|(ni, length)| (ni, list(length))).collect::<Vec<_>>())
        }
    }
}

/// Begins a block on a system that has sources below this address.
fn begin(system: &mut System, begun: &Begun, end: usize) -> Result<()> {
    let in_limbs = system.interaction().has_low_limbs();
    match begun {
        Begun::Block { nj, skip_own_index, ni, seed } => {
            // Pairs in two doubles take a hundred times as long as others, and come in no parts.
            let ni = if in_limbs { (*ni).min(MOST_IN_LIMBS) } else { *ni };
            let sinks = sinks(*seed, ni, system.tree().is_some());
            if in_limbs && seed % 2 == 0 {
                return system.start_quad(*nj, *skip_own_index, sinks.iter().map(quad_sink));
            }
            system.set_neighbour_criterion(criterion(*seed));
            system.start_from_fn(*nj, *skip_own_index, sinks.len(), |number| sinks[number])
        }
        Begun::OnDevice { nj, skip_own_index, ni, seed } => {
            let (sinks, _) = sinks_in_arrays(*seed, *ni, system.tree().is_some());
            system.set_neighbour_criterion(criterion(*seed));
            system.start_from_fn(*nj, *skip_own_index, sinks.len(), |number| sinks[number])
        }
        Begun::All { nj, softening2 } => system.start_all((*nj).min(end), *softening2),
        Begun::Groups { form, sizes, skip_own_index, seed } => {
            let lists = lists_of(*form, sizes, *seed, end);
            lists.start(system, *skip_own_index, &sinks(*seed, lists.sinks(), false))
        }
        Begun::Batch { sizes, seed } => {
            let mut random = Random::new(*seed);
            let systems: Vec<_> = sizes.iter().map(|count| sources(random.bits(), *count)).collect();
            PlainBatch::of(&systems, 0.25).start(system)
        }
    }
}

impl<'a> Play<'a> {
    fn new(machine: &'a dyn Fn() -> Box<dyn Machine>, target: &Target) -> Result<Play<'a>> {
        let mut system = System::on(machine(), &target.setup)?;
        prepare(&mut system, Some(0), None)?;
        let (written, neighbours, found) = (BTreeMap::new(), None, Vec::new());
        let setup = target.setup.clone();
        Ok(Play {
            machine,
            setup,
            system,
            written,
            time: Some(0),
            tree: None,
            neighbours,
            late: None,
            has_refused: false,
            found,
        })
    }

    fn in_limbs(&self) -> bool {
        self.setup.precision == Precision::Quad
    }

    /// Makes a system on one device that is given all sources at once.
    fn fresh(&self) -> Result<System> {
        let devices = self.setup.devices[..1].to_vec();
        self.made(&Setup { devices, threads: 1, partition: None, ..self.setup.clone() })
    }

    /// Makes a system that is given all sources at once.
    fn made(&self, setup: &Setup) -> Result<System> {
        let mut system = System::on((self.machine)(), setup)?;
        let is_packed = self.written.keys().copied().eq(0..self.written.len());
        let all: Vec<Source> = self
            .written
            .values()
            .map(|written| match written {
                Written::Plain(source) => *source,
                Written::InLimbs(_) => Source::default(),
            })
            .collect();
        if is_packed && !self.in_limbs() {
            system.set_sources(all.len(), |address| all[address])?;
        } else {
            for (address, written) in &self.written {
                match written {
                    Written::Plain(source) => system.set_source(*address, source)?,
                    Written::InLimbs(source) => system.set_quad_source(*address, source)?,
                }
            }
        }
        prepare(&mut system, self.time, self.tree)?;
        Ok(system)
    }

    fn change(&mut self, change: &Change) -> Result<()> {
        let (places, written, seed) = match *change {
            Change::One { address, seed } => (vec![address], sources(seed, 1), seed),
            Change::Some { first, step, count, seed, .. } => {
                ((0..count).map(|place| first + step * place).collect(), sources(seed, count), seed)
            }
            Change::All { count, seed } => ((0..count).collect(), sources(seed, count), seed),
            Change::OnDevice { count, seed } => return self.take_from_device(&derived(seed, count)),
            Change::Time(ticks) => {
                self.time = Some(ticks);
                return self.system.set_time(f64::from(ticks) * TICK);
            }
            Change::Unpredicted => {
                self.time = None;
                self.system.set_unpredicted();
                return Ok(());
            }
        };
        if self.in_limbs() && seed % 2 == 0 {
            for (address, source) in places.iter().zip(&written) {
                let source = quad_source(source);
                self.system.set_quad_source(*address, &source)?;
                self.written.insert(*address, Written::InLimbs(source));
            }
            return Ok(());
        }
        let is_written = match change {
            Change::All { count, .. } => self.system.set_sources(*count, |address| written[address]).map(|()| true)?,
            Change::Some { count, together: true, .. } => {
                self.system.record_sources(*count, |place| places[place], |place| written[place])?
            }
            _ => false,
        };
        for (address, source) in places.iter().zip(&written) {
            if !is_written {
                self.system.set_source(*address, source)?;
            }
            self.written.insert(*address, Written::Plain(*source));
        }
        Ok(())
    }

    /// Lets the device take sources from arrays of the caller, or writes them where it takes none.
    fn take_from_device(&mut self, derived: &[(Source, Vectors)]) -> Result<()> {
        let interaction = self.system.interaction().clone();
        let is_taken = match &self.late {
            Some(late) => {
                let sources = late.put_sources(derived, &interaction)?;
                // Several devices without a tree refuse arrays.
                let taken = self.system.set_sources_on_device(&sources, derived.len());
                self.has_refused |= is_refused(&taken);
                if is_refused(&taken) { false } else { taken? }
            }
            None => false,
        };
        if !is_taken {
            self.system.set_sources(derived.len(), |address| derived[address].0)?;
        }
        let all = derived.iter().enumerate();
        self.written.extend(all.map(|(address, (source, _))| (address, Written::Plain(*source))));
        Ok(())
    }

    /// Begins a block, of which sinks and lists may lie on the device.
    fn begin(&mut self, begun: &Begun, end: usize) -> Result<()> {
        let Some(late) = &self.late else { return begin(&mut self.system, begun, end) };
        let (interaction, has_tree) = (self.system.interaction().clone(), self.system.tree().is_some());
        let started = match begun {
            Begun::OnDevice { nj, skip_own_index, ni, seed } => {
                let (sinks, is_each) = sinks_in_arrays(*seed, *ni, has_tree);
                let bodies = late.put_sinks(&sinks, is_each, &interaction)?;
                self.system.set_neighbour_criterion(criterion(*seed));
                let softening2 = if is_each { 0.0 } else { sinks.first().map_or(0.0, |sink| sink.softening2) };
                self.system.start_on_device(*nj, *skip_own_index, (&bodies, sinks.len()), softening2)
            }
            Begun::Groups { form, sizes, skip_own_index, seed } if seed % 2 == 0 && !sizes.is_empty() => {
                let lists = lists_of(*form, sizes, *seed, end);
                let in_arrays = late.put_lists(&lists, &sinks(*seed, lists.sinks(), false), &interaction)?;
                in_arrays.start(&mut self.system, *skip_own_index)
            }
            _ => return begin(&mut self.system, begun, end),
        };
        self.has_refused |= is_refused(&started);
        if is_refused(&started) { begin(&mut self.system, begun, end) } else { started }
    }

    /// Waits for a block, of which the forces may be left on the device.
    fn wait(&mut self, begun: &Begun, count: usize) -> Result<Vec<Vec<u64>>> {
        let leaves = match begun {
            Begun::Block { seed, .. }
            | Begun::OnDevice { seed, .. }
            | Begun::Groups { seed, .. }
            | Begun::Batch { seed, .. } => seed % 3 > 0,
            Begun::All { nj, .. } => nj % 3 > 0,
        };
        let Some(late) = self.late.as_ref().filter(|_| leaves) else { return self.system.wait().map(bits) };
        let interaction = self.system.interaction().clone();
        let waited = self.system.wait_on_device(&late.forces(&interaction));
        self.has_refused |= is_refused(&waited);
        if is_refused(&waited) {
            return self.system.wait().map(bits);
        }
        waited?;
        let bits = |force: late::LeftForce| {
            let sums = [force.potential].into_iter().chain(force.vectors);
            let nearest = force.nearest.map(|(distance2, index)| [distance2.to_bits(), index as u64]);
            sums.flat_map(|sum| [sum.to_bits(), 0]).chain(nearest.into_iter().flatten()).collect()
        };
        Ok(late.read_forces(count, &interaction)?.into_iter().map(bits).collect())
    }

    fn end(&self) -> usize {
        self.written.last_key_value().map_or(0, |(address, _)| address + 1)
    }

    fn compare(&mut self, found: Outcome, expected: Outcome, what: &dyn std::fmt::Debug) {
        if found == expected {
            return;
        }
        let describe = |outcome: &Outcome| match outcome {
            Err(error) => error.clone(),
            Ok(rows) => format!("{} rows", rows.len()),
        };
        let other = match (&found, &expected) {
            (Ok(found), Ok(expected)) => found.iter().zip(expected).position(|(found, expected)| found != expected),
            _ => None,
        };
        let values = |outcome: &Outcome| {
            let row = outcome.as_ref().ok().zip(other).and_then(|(rows, row)| rows.get(row));
            row.map(|row| row.iter().map(|bits| f64::from_bits(*bits)).collect::<Vec<_>>())
        };
        self.found.push(format!(
            "{what:?}: {}, a fresh system {}; the first other row is {other:?}: {:?}, {:?}",
            describe(&found),
            describe(&expected),
            values(&found),
            values(&expected),
        ));
    }

    fn forces(&mut self, begun: &Begun, changes: &[Change], end: End) -> Result<()> {
        let mut fresh = self.fresh()?;
        let addresses = self.end();
        let expected = begin(&mut fresh, begun, addresses).and_then(|()| fresh.wait().map(bits));
        let started = self.begin(begun, addresses);
        if started.is_ok() {
            self.neighbours = None;
            changes.iter().try_for_each(|change| self.change(change))?;
        }
        match end {
            End::Abandon => self.system.abandon(),
            End::Forget => self.system.forget_block(),
            End::Close => self.system = self.made(&self.setup)?,
            End::Wait => {
                let count = expected.as_ref().map_or(0, Vec::len);
                let found = started.and_then(|()| self.wait(begun, count));
                let has_lists = matches!(begun, Begun::Block { .. } | Begun::OnDevice { .. } | Begun::All { .. });
                if found.is_ok() && has_lists {
                    let count = expected.as_ref().map_or(0, Vec::len);
                    let lists = (0..count).map(|sink| fresh.neighbours(sink).map(<[i32]>::to_vec));
                    self.neighbours = lists.collect::<Result<_>>().ok();
                }
                self.compare(outcome(found, |bits| bits), outcome(expected, |bits| bits), begun);
            }
        }
        if end != End::Wait {
            self.neighbours = None;
        }
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<()> {
        match call {
            Call::Change(change) => self.change(change)?,
            Call::Forces { begun, changes, end } => self.forces(begun, changes, *end)?,
            Call::Neighbours(sink) => {
                let Some(lists) = &self.neighbours else { return Ok(()) };
                let Some(expected) = lists.get(*sink).cloned() else { return Ok(()) };
                let found = self.system.neighbours(*sink).map(<[i32]>::to_vec);
                if found != Ok(expected.clone()) {
                    self.found.push(format!("neighbours of {sink}: {found:?}, of a fresh system {expected:?}"));
                }
            }
            Call::Find { nj, ni, skip_own_index, seed } => {
                let sinks = sinks(*seed, *ni, false);
                let find = |system: &mut System| {
                    let table = system.find_neighbours(*nj, *skip_own_index, sinks.iter().copied());
                    table.map(|table| (0..sinks.len()).map(|sink| table.of(sink).to_vec()).collect::<Vec<_>>())
                };
                let (found, expected) = (find(&mut self.system), find(&mut self.fresh()?));
                if found != expected {
                    self.found.push(format!("{call:?}: {found:?}, of a fresh system {expected:?}"));
                }
            }
            Call::Read(first) => {
                let read = |system: &mut System| -> Result<_> {
                    Ok((system.sources(*first..first + 20)?, system.predicted(*first..first + 20)?))
                };
                let (found, expected) = (read(&mut self.system)?, read(&mut self.fresh()?)?);
                if found != expected {
                    self.found.push(format!("{call:?}: {found:?}, of a fresh system {expected:?}"));
                }
            }
            Call::Tree(accuracy) => {
                if self.setup.order == Order::Second && !self.in_limbs() {
                    self.tree = *accuracy;
                    prepare(&mut self.system, self.time, self.tree)?;
                }
            }
            Call::Move(count) => {
                let first = self.setup.devices[0];
                self.system.move_to(&Setup { devices: vec![first; *count], ..self.setup.clone() })?;
                self.neighbours = None;
            }
            Call::Wrong(seed) => self.wrong(*seed),
        }
        Ok(())
    }

    /// Begins blocks that are refused, which change nothing.
    fn wrong(&mut self, seed: u64) {
        let mut wrong = sinks(seed, 20, true);
        wrong[13].softening2 = -1.0;
        let mut sources = sources(seed, 5);
        sources[3].mass = f64::NAN;
        let refused = match seed % 4 {
            0 => self.system.start(100, true, wrong).is_err(),
            1 => PlainLists::of_addresses(&[(20, vec![self.end()])])
                .start(&mut self.system, true, &sinks(seed, 20, true))
                .is_err(),
            2 => {
                PlainLists::of_sources(&[(20, sources)]).start(&mut self.system, true, &sinks(seed, 20, true)).is_err()
            }
            _ => self.system.set_sources(5, |address| sources[address]).is_err(),
        };
        if !refused {
            self.found.push(format!("wrong call {} was not refused", seed % 4));
        }
    }
}

/// Makes the calls, and returns the results that are not those of a fresh system.
fn play(machine: &dyn Fn() -> Box<dyn Machine>, target: &Target, calls: &[Call]) -> Vec<String> {
    play_on(machine, None, target, calls)
}

/// Does so on a machine on whose devices callers may have memory.
fn play_on(
    machine: &dyn Fn() -> Box<dyn Machine>,
    late: Option<&LateMachine>,
    target: &Target,
    calls: &[Call],
) -> Vec<String> {
    let mut play = Play::new(machine, target).expect("a system");
    play.late = late.cloned();
    for call in calls {
        play.call(call).unwrap_or_else(|error| panic!("{call:?}: {error}"));
    }
    let is_moved = calls.iter().any(|call| matches!(call, Call::Move(devices) if *devices > 1));
    if play.has_refused && target.setup.devices.len() == 1 && !is_moved {
        play.found.push("one device refused arrays in its memory".into());
    }
    play.found
}

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
