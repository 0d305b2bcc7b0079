//! A system and a small model of the interface, side by side.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::accuracy::{Errors, measure};
use crate::findings::Findings;
use crate::reference::real::norm;
use crate::reference::{
    DoubleDouble, Force, Predicted, Real, force, is_left_out, least_distance2, neighbours, predict, predict_one, reach2,
};
use crate::target::Target;
use kyoho::data::{MAX_DERIVATIVES, NeighbourCriterion, Order, Result, Scope, Sink, Source};
use kyoho::engine::System;
use kyoho::method::{Machine, ThisMachine};

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
    predicted: Vec<Predicted<DoubleDouble>>,
    sinks: Vec<Sink>,
    skip_own_index: bool,
    neighbour_criterion: NeighbourCriterion,
}

/// The possible change of a distance by rounding: see [`Target::rounding`] and
/// [`Target::coordinate_rounding`].
#[derive(Debug, Clone, Copy)]
struct Blur {
    terms: f64,
    coordinates: f64,
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
        let predicted = |(_, source): (_, &Source)| predict_one(self.order, source, self.target(source));
        let predicted = self.sources.range(..nj).map(predicted).collect();
        self.block =
            Block { predicted, sinks: sinks.to_vec(), skip_own_index, neighbour_criterion: self.neighbour_criterion };
    }

    /// Returns the forces of the block that was started last.
    pub fn forces(&self) -> Vec<Force<DoubleDouble>> {
        let Block { predicted, sinks, skip_own_index, neighbour_criterion } = &self.block;
        let of_sink = |sink: &Sink| match self.scope {
            Scope::Full => force(self.order, predicted, *skip_own_index, sink),
            Scope::Regular => {
                let counts = |source: &&Predicted<DoubleDouble>| !is_left_out(*source, sink, *neighbour_criterion);
                let counted: Vec<_> = predicted.iter().filter(counts).copied().collect();
                force(self.order, &counted, *skip_own_index, sink)
            }
        };
        sinks.iter().map(of_sink).collect()
    }

    /// Returns the force on a sink of all sources but its neighbours. For sources on the boundary
    /// the list says whether they are neighbours. If it cannot, because a neighbour has the index
    /// of one of them, any force is right.
    fn force_without(&self, sink: &Sink, list: &[i32], blur: Blur) -> Force<DoubleDouble> {
        let Block { predicted, skip_own_index, .. } = &self.block;
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
        let Block { predicted, sinks, skip_own_index, .. } = &self.block;
        let sink = &sinks[sink];
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

/// The allowed error of a sum in units of rounding of its terms' absolute values. A pair has about
/// a dozen steps, and a tile sums up to 64 of them in a lane.
const UNITS: f64 = 16.0;

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
                for (number, sink) in self.model.block.sinks.iter().enumerate() {
                    expected.push(self.model.force_without(sink, self.system.neighbours(number)?, blur));
                }
                expected
            }
        };
        let Block { predicted, sinks, .. } = &self.model.block;
        let computed = self.system.forces()?;
        if computed.len() != sinks.len() {
            // Rows that are missing or superfluous count as wrong nearest sources.
            return Ok(Errors { wrong_nearest: computed.len().abs_diff(sinks.len()), ..Errors::default() });
        }
        Ok(measure(&self.target, computed, &expected, predicted, sinks, |force, quantity| {
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
        let errors = self.wait()?;
        for (quantity, error) in errors.quantities() {
            findings.measure(&format!("{what}: units of rounding of the {quantity}"), error.worst, UNITS);
        }
        findings.expect(errors.wrong_nearest == 0, || {
            format!("{what}: expected the nearest source of each sink, found {} wrong", errors.wrong_nearest)
        });
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
