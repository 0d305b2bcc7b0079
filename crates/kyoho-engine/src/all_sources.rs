//! The forces of all sources on one another.

use kyoho_core::sinks::{FromFn, SinkScan};
use kyoho_core::{Error, Interaction, Result, Sink, Sinks, Source, TreeAccuracy, TreeBlock, memory, padded};
use kyoho_hal::Backend;
use kyoho_laws::double_double::Double;
use kyoho_laws::simd::predict;

use super::checks::{check_sink, check_sinks};
use super::staging::{KeptSinks, SourcesAt};
use super::{QuadSink, SinkPlace, System, sinks};

impl System {
    /// Begins the forces of the sources at addresses below `nj` on one another, predicted to the
    /// system's time: sinks are these sources, in the order of their addresses, each of which
    /// leaves out those with its index. They have this squared softening, which is 0 where sources
    /// have their own, and no radius. It is an error where no source was written to one of the
    /// addresses.
    ///
    /// Forces have the bits of [`System::start`] on such sinks. Where a device has the sources and
    /// sums by a tree, nothing is sent and compared, nor where the CPU does.
    pub fn start_all(&mut self, nj: usize, softening2: f64) -> Result<()> {
        self.require_no_block("start_all")?;
        self.check_sinks_of_all(softening2)?;
        if self.interaction.has_low_limbs() {
            return self.start_all_in_limbs(nj, softening2);
        }
        if let Some(accuracy) = self.tree_of_all_on_device(nj) {
            return self.start_tree_of_all(nj, softening2, accuracy);
        }
        if self.sources_at() != SourcesAt::DeviceAndCopies(nj) {
            self.bring_all(nj)?;
            if let Some(accuracy) = self.tree_of_all_on_cpu(nj) {
                return self.start_tree_of_all(nj, softening2, accuracy);
            }
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        let made = self.make_sinks_of_all(&mut candidates, nj, softening2);
        self.candidates = candidates;
        self.start_candidates(nj, true, made?, SinkPlace::Host)
    }

    /// Makes sinks of the sources at addresses below `nj`, as [`System::start_all`] does.
    pub fn sinks_of_all(&mut self, into: &mut Sinks, nj: usize, softening2: f64) -> Result<SinkScan> {
        self.check_sinks_of_all(softening2)?;
        if self.sources_at() != SourcesAt::DeviceAndCopies(nj) {
            self.bring_all(nj)?;
        }
        let scan = self.make_sinks_of_all(into, nj, softening2)?;
        if !scan.good {
            check_sinks(&self.interaction, into)?;
        }
        Ok(scan)
    }

    /// Fails unless sources can be sinks with this squared softening.
    fn check_sinks_of_all(&self, softening2: f64) -> Result<()> {
        // One sink stands for all, also where there are none.
        check_sink(&self.interaction, ("sink", 0), &Sink { softening2, ..Sink::NOTHING })?;
        self.check_softening_of_all(softening2)
    }

    /// Brings the host's copy of all sources up to date. There has to be one at each address below
    /// `nj`.
    fn bring_all(&mut self, nj: usize) -> Result<()> {
        if self.last_block_is_needed() {
            self.make_lists(None)?;
        }
        self.fetch_sources()?;
        self.journal.flush_to_host()?;
        self.journal.write_back_sent()?;
        let sources = self.journal.sources();
        if sources.has_all_below(nj) {
            return Ok(());
        }
        Err(missing(nj, (0..nj).find(|address| !sources.is_set(*address))))
    }

    /// Makes sinks of the sources of the host's copy, or of the copies that it has sent.
    fn make_sinks_of_all(&self, into: &mut Sinks, nj: usize, softening2: f64) -> Result<SinkScan> {
        let (interaction, threads) = (&*self.interaction, &self.threads);
        if self.sources_at() == SourcesAt::DeviceAndCopies(nj) {
            let copies = self.staged_sources.bodies();
            let sink = FromFn(|number| Sink { softening2, ..copies.sink(number) });
            return sinks::make(into, nj, &sink, interaction, threads);
        }
        let (sources, time, predicts) = (self.journal.sources(), self.time, self.predicts);
        let has_own = sources.has_softenings();
        let softening2 = |address: usize| if has_own { sources.softening2(address)[0] } else { softening2 };
        let sink = FromFn(|address| {
            let source = sources.read(address).unwrap_or_default();
            let step = if predicts { time - source.time } else { 0.0 };
            sink_of(&source, interaction, step, softening2(address))
        });
        let body = FromFn(|address| {
            let body = sources.body(address).unwrap_or_default();
            let softening2 = softening2(address);
            Sink { index: body.index, softening2, derivatives: padded([body.position]), ..Sink::NOTHING }
        });
        // Nothing of a source moves where its position alone is kept.
        match interaction.n_coefficients {
            1 => sinks::make(into, nj, &body, interaction, threads),
            _ => sinks::make(into, nj, &sink, interaction, threads),
        }
    }

    /// Returns the accuracy of the forces by a tree where the first device has all sources and the
    /// host has none.
    fn tree_of_all_on_device(&mut self, nj: usize) -> Option<TreeAccuracy> {
        let accuracy = self.tree_of_all(nj).filter(|_| self.journal.sources().on_device() == nj)?;
        (self.first_has_all() && self.devices.arrays(0).is_some()).then_some(accuracy)
    }

    /// Returns the accuracy of the forces by a tree where the CPU sums them, and the sources are
    /// all that there are.
    fn tree_of_all_on_cpu(&self, nj: usize) -> Option<TreeAccuracy> {
        let is_here = self.setup().backend == Backend::Cpu && self.journal.sources().count() == nj;
        self.tree_of_all(nj).filter(|_| is_here)
    }

    /// Returns the accuracy of the forces of all sources by a tree, if they are summed by one.
    fn tree_of_all(&self, nj: usize) -> Option<TreeAccuracy> {
        self.tree_of_pairs((nj as u64).saturating_mul(nj as u64)).filter(|_| nj > 0)
    }

    /// Begins the forces by a tree on the sources themselves, of which no sinks are made.
    fn start_tree_of_all(&mut self, nj: usize, softening2: f64, accuracy: TreeAccuracy) -> Result<()> {
        let scan = self.scan_of_all(softening2);
        self.kept_sinks = KeptSinks::Sources(softening2);
        self.candidates.make_room(nj, &self.interaction)?;
        let tree = TreeBlock { accuracy, softening2, are_sources: Some(true) };
        self.start_candidates(nj, true, scan, SinkPlace::Device(Some(tree)))
    }

    /// Does as [`System::start_all`] does in numbers of two doubles.
    fn start_all_in_limbs(&mut self, nj: usize, softening2: f64) -> Result<()> {
        let predicted = self.quad_predicted(0..nj)?;
        let has_own = self.has_softenings();
        let sources = self.journal.each(0..nj, |source, supplement| (source.index, supplement.softening2))?;
        let all = predicted.into_iter().zip(&sources).enumerate();
        let mut sinks = memory::room(nj, "sinks")?;
        for (address, (derivatives, source)) in all {
            let (Some(derivatives), Some((index, [high, low]))) = (derivatives, source) else {
                return Err(missing(nj, Some(address)));
            };
            let softening2 = if has_own { Double { high: *high, low: *low } } else { Double::from_limb(softening2) };
            sinks.push(QuadSink { index: *index, softening2, radius2: Double::ZERO, derivatives });
        }
        self.start_quad(nj, true, sinks)
    }
}

/// Returns a source as a sink, predicted over a step.
pub(super) fn sink_of(source: &Source, interaction: &Interaction, step: f64, softening2: f64) -> Sink {
    let derivatives = predict::derivatives(source, interaction, step);
    Sink { index: source.index, softening2, derivatives, ..Sink::NOTHING }
}

/// The error where no source was written to an address.
fn missing(nj: usize, address: Option<usize>) -> Error {
    let first = address.unwrap_or(nj);
    let allowed = format!("0 to {first}, as no source was written to address {first}");
    Error::BadCount { what: "the number of sources whose forces on one another are wanted", value: nj as i64, allowed }
}
