//! A system and a small model of the interface, side by side.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Mutex;

use crate::accuracy::{Errors, measure};
use crate::findings::Findings;
use crate::lists::{PlainBatch, PlainLists};
use crate::reference::real::norm;
use crate::reference::{
    DoubleDouble, Force, Predicted, Real, force, is_left_out, least_distance2, neighbours, predict, predict_one, reach2,
};
use crate::target::Target;
use kyoho_core::{MAX_DERIVATIVES, NeighbourCriterion, Order, Result, Scope, Sink, Source};
use kyoho_devices::ThisMachine;
use kyoho_engine::System;
use kyoho_methods::Machine;

/// A slow model of the promises of the interface: sources at addresses, a time, and the last block.
#[derive(Debug)]
pub struct Model {
    order: Order,
    scope: Scope,
    neighbour_criterion: NeighbourCriterion,
    sources: BTreeMap<usize, Source>,
    time: f64,
    /// Whether sources are predicted to the time. Otherwise they are taken as they were written.
    predicts: bool,
    block: Block,
}

#[derive(Debug, Default)]
struct Block {
    /// The groups of sinks, which follow one another. Without interaction lists all sinks are one.
    groups: Vec<Group>,
    sinks: Vec<Sink>,
    skip_own_index: bool,
    neighbour_criterion: NeighbourCriterion,
}

/// Consecutive sinks and the sources that act on them.
#[derive(Debug)]
struct Group {
    sinks: Range<usize>,
    predicted: Vec<Predicted<DoubleDouble>>,
}

impl Block {
    /// Returns the sources that act on a sink.
    fn predicted(&self, sink: usize) -> &[Predicted<DoubleDouble>] {
        let group = self.groups.partition_point(|group| group.sinks.end <= sink);
        &self.groups[group].predicted
    }
}

/// The possible change of a distance by rounding: see [`Target::rounding`] and
/// [`Target::coordinate_rounding`].
#[derive(Debug, Clone, Copy)]
struct Blur {
    terms: f64,
    coordinates: f64,
}

/// Forces of blocks, by the numbers of these.
static REMEMBERED: Mutex<BTreeMap<u64, Vec<Force<DoubleDouble>>>> = Mutex::new(BTreeMap::new());
/// The most blocks that are remembered, some ten thousand bytes each.
const MOST_REMEMBERED: usize = 1 << 12;

/// Returns the forces of the block with a number, which are summed once: most targets are given the
/// same blocks, and these sums take most of the time of the checks.
fn remembered(number: u64, sum: impl FnOnce() -> Vec<Force<DoubleDouble>>) -> Vec<Force<DoubleDouble>> {
    let locked = || REMEMBERED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(forces) = locked().get(&number) {
        return forces.clone();
    }
    let forces = sum();
    let mut all = locked();
    if all.len() >= MOST_REMEMBERED {
        all.clear();
    }
    all.insert(number, forces.clone());
    forces
}

fn hash_numbers(numbers: impl IntoIterator<Item = f64>, hasher: &mut DefaultHasher) {
    numbers.into_iter().for_each(|number| number.to_bits().hash(hasher));
}

impl Model {
    /// Makes a model without sources, at time 0.
    pub fn new(order: Order, scope: Scope) -> Model {
        let (sources, block) = (BTreeMap::new(), Block::default());
        Model {
            order,
            scope,
            neighbour_criterion: NeighbourCriterion::default(),
            sources,
            time: 0.0,
            predicts: true,
            block,
        }
    }

    /// Sets the neighbour criterion of the next blocks.
    pub fn set_neighbour_criterion(&mut self, neighbour_criterion: NeighbourCriterion) {
        self.neighbour_criterion = neighbour_criterion;
    }

    /// Writes the source at an address.
    pub fn set_source(&mut self, address: usize, source: &Source) {
        self.sources.insert(address, *source);
    }

    /// Sets the time of the next blocks.
    pub fn set_time(&mut self, time: f64) {
        (self.time, self.predicts) = (time, true);
    }

    /// Takes the sources of the next blocks as they were written, until a time is set.
    pub fn set_unpredicted(&mut self) {
        self.predicts = false;
    }

    /// Returns the time to which a source is predicted.
    fn target(&self, source: &Source) -> f64 {
        if self.predicts { self.time } else { source.time }
    }

    /// Returns the source at an address as it was written.
    pub fn source(&self, address: usize) -> Option<&Source> {
        self.sources.get(&address)
    }

    /// Returns the end of the addresses that were written.
    pub fn end(&self) -> usize {
        self.sources.last_key_value().map_or(0, |(address, _)| address + 1)
    }

    /// Returns position, velocity, ... of the source at an address, at the time that was set last
    /// or as they were written.
    pub fn predicted(&self, address: usize) -> Option<[[f64; 3]; MAX_DERIVATIVES]> {
        let source = self.source(address)?;
        let predicted = predict::<DoubleDouble>(self.order, source, self.target(source));
        Some(predicted.map(|vector| vector.map(DoubleDouble::to_f64)))
    }

    /// Starts a block with the sources below nj as they are at this call, predicted, and with the
    /// sinks.
    pub fn start(&mut self, nj: usize, skip_own_index: bool, sinks: &[Sink]) {
        let predicted = self.sources.range(..nj).map(|(_, source)| self.predict(source)).collect();
        let groups = vec![Group { sinks: 0..sinks.len(), predicted }];
        self.start_groups(groups, skip_own_index, sinks.to_vec());
    }

    /// Starts the forces on groups of sinks, each with the sources of its list as they are at this
    /// call, predicted.
    pub fn start_lists(&mut self, lists: &PlainLists, skip_own_index: bool, sinks: &[Sink]) {
        let group = |number: usize| {
            let sources = lists.sources_of(number, |address| self.source(address).copied());
            Group {
                sinks: lists.sinks_of(number),
                predicted: sources.iter().map(|source| self.predict(source)).collect(),
            }
        };
        let groups = (0..lists.groups()).map(group).collect();
        self.start_groups(groups, skip_own_index, sinks.to_vec());
    }

    /// Starts the forces on the bodies of many systems, predicted, each of the others of its
    /// system.
    pub fn start_batch(&mut self, batch: &PlainBatch) {
        let predicted: Vec<_> = batch.bodies.iter().map(|body| self.predict(body)).collect();
        let sink = |(body, softening2): (&Predicted<DoubleDouble>, &f64)| Sink {
            index: body.index,
            softening2: *softening2,
            radius2: 0.0,
            step: 0.0,
            derivatives: body.derivatives.map(|vector| vector.map(DoubleDouble::to_f64)),
        };
        let sinks = predicted.iter().zip(&batch.softening2).map(sink).collect();
        let of_system = |system: usize| {
            let bodies = batch.bodies_of(system);
            Group { sinks: bodies.clone(), predicted: predicted[bodies].to_vec() }
        };
        let groups = (0..batch.systems()).map(of_system).collect();
        self.start_groups(groups, true, sinks);
    }

    fn start_groups(&mut self, groups: Vec<Group>, skip_own_index: bool, sinks: Vec<Sink>) {
        self.block = Block { groups, sinks, skip_own_index, neighbour_criterion: self.neighbour_criterion };
    }

    /// Returns a source as the next block sees it.
    fn predict(&self, source: &Source) -> Predicted<DoubleDouble> {
        predict_one(self.order, source, self.target(source))
    }

    /// Returns the forces of the block that was started last.
    pub fn forces(&self) -> Vec<Force<DoubleDouble>> {
        remembered(self.number_of_block(), || self.sum())
    }

    /// Returns a number for all that the forces of the block depend on, another one for each block.
    fn number_of_block(&self) -> u64 {
        let Block { groups, sinks, skip_own_index, neighbour_criterion } = &self.block;
        let mut hasher = DefaultHasher::new();
        (self.order as i32, self.scope.name(), skip_own_index, *neighbour_criterion as i32).hash(&mut hasher);
        for Group { sinks, predicted } in groups {
            (sinks, predicted.len()).hash(&mut hasher);
            for Predicted { index, mass, derivatives } in predicted {
                index.hash(&mut hasher);
                let numbers = derivatives.as_flattened().iter().flat_map(|number| [number.high, number.low]);
                hash_numbers(numbers.chain([*mass]), &mut hasher);
            }
        }
        for Sink { index, softening2, radius2, step, derivatives } in sinks {
            index.hash(&mut hasher);
            let numbers = derivatives.as_flattened().iter().copied();
            hash_numbers(numbers.chain([*softening2, *radius2, *step]), &mut hasher);
        }
        hasher.finish()
    }

    /// Sums the forces of the block.
    fn sum(&self) -> Vec<Force<DoubleDouble>> {
        let Block { sinks, skip_own_index, neighbour_criterion, .. } = &self.block;
        let of_sink = |(number, sink): (usize, &Sink)| {
            let predicted = self.block.predicted(number);
            match self.scope {
                Scope::Full => force(self.order, predicted, *skip_own_index, sink),
                Scope::Regular => {
                    let counts = |source: &&Predicted<DoubleDouble>| !is_left_out(*source, sink, *neighbour_criterion);
                    let counted: Vec<_> = predicted.iter().filter(counts).copied().collect();
                    force(self.order, &counted, *skip_own_index, sink)
                }
            }
        };
        sinks.iter().enumerate().map(of_sink).collect()
    }

    /// Returns the force on a sink of all sources but its neighbours. For sources on the boundary
    /// the list says whether they are neighbours. If it cannot, because a neighbour has the index
    /// of one of them, any force is right.
    fn force_without(&self, number: usize, list: &[i32], blur: Blur) -> Force<DoubleDouble> {
        let Block { sinks, skip_own_index, .. } = &self.block;
        let (sink, predicted) = (&sinks[number], self.block.predicted(number));
        let (mut counted, mut listed, mut on_boundary) = (Vec::new(), Vec::new(), Vec::new());
        for source in predicted {
            match self.is_left_out(source, sink, blur) {
                Some(false) => counted.push(*source),
                Some(true) => listed.push(source.index),
                None => on_boundary.push(source),
            }
        }
        let is_ambiguous = |source: &&Predicted<DoubleDouble>| {
            let same = on_boundary.iter().filter(|other| other.index == source.index).count();
            list.binary_search(&source.index).is_ok() && (same > 1 || listed.contains(&source.index))
        };
        let is_known = !on_boundary.iter().any(is_ambiguous);
        let outside = on_boundary.iter().filter(|source| list.binary_search(&source.index).is_err());
        counted.extend(outside.map(|source| **source));
        let mut force = force(self.order, &counted, *skip_own_index, sink);
        if !is_known {
            force.scale.terms = [f64::INFINITY; 5];
        }
        force
    }

    /// Whether the regular force of a sink of the block leaves a source out, or `None` if rounding
    /// decides.
    fn is_left_out(&self, source: &Predicted<DoubleDouble>, sink: &Sink, blur: Blur) -> Option<bool> {
        if reach2(source, sink, self.block.neighbour_criterion) <= DoubleDouble::from_f64(0.0) {
            return Some(false);
        }
        let of_both = |k: usize| norm(source.derivatives[k]) + norm(sink.derivatives[k]);
        let distance = least_distance2(source, sink).sqrt().to_f64();
        let neighbour_criterion = reach2(source, sink, self.block.neighbour_criterion).sqrt().to_f64();
        let of_terms = blur.terms * (distance + neighbour_criterion + sink.step.abs() * of_both(1));
        let off = 8.0 * (of_terms + blur.coordinates * of_both(0));
        ((distance - neighbour_criterion).abs() > off).then_some(distance < neighbour_criterion)
    }

    /// Returns the neighbours of a sink of that block.
    pub fn neighbours(&self, sink: usize) -> Vec<i32> {
        let [surely, _] = self.neighbours_of(sink, Blur { terms: 0.0, coordinates: 0.0 });
        surely
    }

    /// Returns the neighbours of a sink that no rounding can change, and those that some rounding
    /// makes neighbours.
    fn neighbours_of(&self, sink: usize, blur: Blur) -> [Vec<i32>; 2] {
        let Block { sinks, skip_own_index, .. } = &self.block;
        let (predicted, sink) = (self.block.predicted(sink), &sinks[sink]);
        match self.scope {
            // Lists of these precisions are made in double.
            Scope::Full => [-1e-12, 1e-12].map(|off| {
                let off = if blur.terms == 0.0 { 0.0 } else { off };
                neighbours(predicted, *skip_own_index, &Sink { radius2: sink.radius2 * (1.0 + off), ..*sink })
            }),
            Scope::Regular => [false, true].map(|if_rounding_decides| {
                let is_other = |source: &&Predicted<_>| !(*skip_own_index && source.index == sink.index);
                let is_one =
                    |source: &&Predicted<_>| self.is_left_out(source, sink, blur).unwrap_or(if_rounding_decides);
                let mut found: Vec<i32> =
                    predicted.iter().filter(is_other).filter(is_one).map(|source| source.index).collect();
                found.sort_unstable();
                found.dedup();
                found
            }),
        }
    }
}

/// A system and its model, which get the same calls and must give the same results.
pub struct Twin {
    target: Target,
    /// The system.
    pub system: System,
    /// The model.
    pub model: Model,
}

impl Twin {
    /// Makes both without sources, at time 0.
    pub fn new(target: &Target) -> Result<Twin> {
        Twin::on(Box::new(ThisMachine), target)
    }

    /// Makes both, with the system on the devices of another machine.
    pub fn on(machine: Box<dyn Machine>, target: &Target) -> Result<Twin> {
        let system = System::on(machine, &target.setup)?;
        Ok(Twin { target: target.clone(), system, model: Model::new(target.setup.order, target.setup.scope) })
    }

    /// Makes both with these sources at the addresses 0, 1, ...
    pub fn with(target: &Target, sources: &[Source]) -> Result<Twin> {
        let mut twin = Twin::new(target)?;
        sources.iter().enumerate().try_for_each(|(address, source)| twin.set_source(address, source))?;
        Ok(twin)
    }

    /// Writes the source at an address of both.
    pub fn set_source(&mut self, address: usize, source: &Source) -> Result<()> {
        self.system.set_source(address, source)?;
        self.model.set_source(address, source);
        Ok(())
    }

    /// Sets the time of both.
    pub fn set_time(&mut self, time: f64) -> Result<()> {
        self.system.set_time(time)?;
        self.model.set_time(time);
        Ok(())
    }

    /// Takes the sources of the next blocks of both as they were written, until a time is set.
    pub fn set_unpredicted(&mut self) {
        self.system.set_unpredicted();
        self.model.set_unpredicted();
    }

    /// Sets the neighbour criterion of the next blocks of both.
    pub fn set_neighbour_criterion(&mut self, neighbour_criterion: NeighbourCriterion) {
        self.system.set_neighbour_criterion(neighbour_criterion);
        self.model.set_neighbour_criterion(neighbour_criterion);
    }

    /// Starts a block on both.
    pub fn start(&mut self, nj: usize, skip_own_index: bool, sinks: &[Sink]) -> Result<()> {
        self.system.start(nj, skip_own_index, sinks.iter().copied())?;
        self.model.start(nj, skip_own_index, sinks);
        Ok(())
    }

    /// Starts the forces on groups of sinks on both.
    pub fn start_lists(&mut self, lists: &PlainLists, skip_own_index: bool, sinks: &[Sink]) -> Result<()> {
        lists.start(&mut self.system, skip_own_index, sinks)?;
        self.model.start_lists(lists, skip_own_index, sinks);
        Ok(())
    }

    /// Starts the forces of a batch on both.
    pub fn start_batch(&mut self, batch: &PlainBatch) -> Result<()> {
        batch.start(&mut self.system)?;
        self.model.start_batch(batch);
        Ok(())
    }

    /// Waits for the block and compares the forces. The errors are in units of the possible
    /// rounding.
    pub fn wait(&mut self) -> Result<Errors> {
        let blur @ Blur { terms, coordinates } = self.blur();
        self.system.wait()?;
        let expected = match self.model.scope {
            Scope::Full => self.model.forces(),
            // The system decides whether a source on the boundary is a neighbour, but list and
            // force have to agree.
            Scope::Regular => {
                let mut expected = Vec::new();
                for number in 0..self.model.block.sinks.len() {
                    expected.push(self.model.force_without(number, self.system.neighbours(number)?, blur));
                }
                expected
            }
        };
        let block @ Block { sinks, .. } = &self.model.block;
        let computed = self.system.forces()?;
        if computed.len() != sinks.len() {
            // Rows that are missing or superfluous count as wrong nearest sources.
            return Ok(Errors { wrong_nearest: computed.len().abs_diff(sinks.len()), ..Errors::default() });
        }
        let predicted = |sink| block.predicted(sink);
        Ok(measure(&self.target, computed, expected.iter().enumerate(), predicted, sinks, |force, quantity| {
            terms * force.scale.terms[quantity] + coordinates * force.scale.coordinates[quantity]
        }))
    }

    fn blur(&self) -> Blur {
        Blur { terms: self.target.rounding(), coordinates: self.target.coordinate_rounding() }
    }

    /// Computes the forces of a block and notes where the two differ.
    pub fn compare(
        &mut self,
        findings: &mut Findings,
        what: &str,
        nj: usize,
        skip_own_index: bool,
        sinks: &[Sink],
    ) -> Result<()> {
        self.start(nj, skip_own_index, sinks)?;
        self.finish(findings, what)
    }

    /// Waits for a block that was started and notes where the two differ.
    pub fn finish(&mut self, findings: &mut Findings, what: &str) -> Result<()> {
        self.wait()?.note_in_units_of_rounding(findings, what);
        match self.model.scope {
            Scope::Full => Ok(()),
            Scope::Regular => self.compare_lists(findings, what),
        }
    }

    /// Compares sources as they were written, with zeros for the coefficients that the order does
    /// not keep.
    pub fn compare_sources(&mut self, findings: &mut Findings, addresses: Range<usize>) -> Result<()> {
        let kept = self.target.interaction().n_coefficients;
        for (address, found) in addresses.clone().zip(self.system.sources(addresses)?) {
            let mut expected = self.model.source(address).copied();
            expected.iter_mut().for_each(|source| source.coefficients[kept..].fill([0.0; 3]));
            findings.expect_equal(&format!("the source written to address {address}"), found, expected);
        }
        Ok(())
    }

    /// Compares predicted sources to the last bit. It is for sources whose predictions doubles hold
    /// exactly.
    pub fn compare_predicted(&mut self, findings: &mut Findings, addresses: Range<usize>) -> Result<()> {
        let vectors = self.target.interaction().n_derivatives;
        let first = |predicted: [[f64; 3]; MAX_DERIVATIVES]| predicted[..vectors].to_vec();
        for (address, found) in addresses.clone().zip(self.system.predicted(addresses)?) {
            let expected = self.model.predicted(address).map(first);
            findings.expect_equal(&format!("the source predicted at address {address}"), found.map(first), expected);
        }
        Ok(())
    }

    /// Compares the neighbour lists of the last block. A list may have sources or not that are on
    /// the boundary to the last bits.
    pub fn compare_lists(&mut self, findings: &mut Findings, what: &str) -> Result<()> {
        let blur = self.blur();
        for sink in 0..self.model.block.sinks.len() {
            let found = self.system.neighbours(sink)?;
            let [surely, perhaps] = self.model.neighbours_of(sink, blur);
            let sorted = found.windows(2).all(|pair| pair[0] < pair[1]);
            let missing = surely.iter().find(|index| found.binary_search(index).is_err());
            let stray = found.iter().find(|index| perhaps.binary_search(index).is_err());
            findings.expect(sorted && missing.is_none() && stray.is_none(), || {
                format!(
                    "{what}: expected {} neighbours of sink {sink}, ascending, each once; found {}{}{}{}",
                    surely.len(),
                    found.len(),
                    if sorted { "" } else { ", not ascending" },
                    missing.map_or(String::new(), |index| format!(", without {index}")),
                    stray.map_or(String::new(), |index| format!(", with {index}")),
                )
            });
        }
        Ok(())
    }
}
