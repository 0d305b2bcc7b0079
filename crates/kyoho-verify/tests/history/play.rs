//! Plays the calls on a system, and compares with fresh ones.

use std::collections::BTreeMap;

use kyoho::{QuadForce, QuadSource, Setup, System};
use kyoho_core::{Error, Forces, Order, Precision, Result, Source, TreeAccuracy};
use kyoho_methods::Machine;
use kyoho_verify::models::Random;
use kyoho_verify::{PlainBatch, PlainLists, Target};

use crate::calls::{Begun, Call, Change, End};
use crate::late::{self, LateMachine, Vectors};
use crate::sources_and_sinks::{
    TICK, criterion, derived, lists_of, quad_sink, quad_source, sinks, sinks_in_arrays, sources,
};

/// The most sinks of a block in two doubles.
const MOST_IN_LIMBS: usize = 40;

/// What a source was written as.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::large_enum_variant, reason = "a test has few")]
enum Written {
    Plain(Source),
    InLimbs(QuadSource),
}

/// The bits that a call gave, or the words of its error.
pub type Outcome = std::result::Result<Vec<Vec<u64>>, String>;

pub fn outcome<T>(result: Result<T>, bits: impl FnOnce(T) -> Vec<Vec<u64>>) -> Outcome {
    result.map(bits).map_err(|error| error.to_string())
}

pub fn bits(forces: Forces) -> Vec<Vec<u64>> {
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
pub fn play(machine: &dyn Fn() -> Box<dyn Machine>, target: &Target, calls: &[Call]) -> Vec<String> {
    play_on(machine, None, target, calls)
}

/// Does so on a machine on whose devices callers may have memory.
pub fn play_on(
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
