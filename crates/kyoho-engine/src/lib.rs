//! The engine: a caller's system of sources, free of any backend.
//!
//! A write goes to the `journal`, which knows where each is. `start` begins a block: it checks the
//! sinks and chooses who computes, `devices` partitions the block among devices, and `parts` lets them
//! begin while further sinks are copied. `wait` hands the forces over, or lets others compute them
//! where a device failed. [`lists`], `trees`, `neighbours` and [`quad`] are other questions to a
//! system; `device_arrays`, `staging` and [`moving`] keep bodies on a device.

mod all_sources;
mod block_steps;
mod checks;
mod device_arrays;
mod devices;
#[cfg(test)]
mod gpu_failures;
mod journal;
pub mod lists;
pub mod moving;
mod neighbours;
mod partitions;
mod parts;
pub mod quad;
mod setup;
mod sinks;
mod softenings;
mod sources;
mod staging;
mod start;
mod tree_neighbours;
mod trees;
mod wait;

use std::sync::Arc;

use kyoho_core::records::Numbers;
use kyoho_core::{
    Block, DeviceForces, Error, Interaction, InteractionLists, MAX_DERIVATIVES, NeighbourCriterion, NeighbourTable,
    Result, Sinks, Source, Sums, Supplement, TreeAccuracy, TreeBlock,
};
use kyoho_devices::ThisMachine;
use kyoho_hal::DeviceDescription;
use kyoho_hal::threads::Threads;
use kyoho_laws::catalogue;
use kyoho_laws::double_double::DoubleDouble;
use kyoho_laws::simd::predict;
use kyoho_methods::Machine;

use checks::is_good_source;
use devices::Devices;
use journal::{STAGED, UpdateJournal};
use neighbours::Lists;
use setup::{check_devices, check_interaction};
use staging::{KeptSinks, Staged};

pub use kyoho_devices::DomainOn;
pub use quad::{QuadForce, QuadSink, QuadSource};
pub use setup::{Setup, Statistics, Stepper};
pub use trees::{TreeErrors, percentile};

/// Where the numbers of the sinks of the next block are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum SinkPlace {
    /// Here.
    Host,
    /// On the device alone, with what is asked of a tree. Those of a tree that are the sources are
    /// where these are.
    Device(Option<TreeBlock>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    Started,
    Done,
}

/// A set of sources and the devices that sum their forces.
pub struct System {
    interaction: Arc<Interaction>,
    devices: Devices,
    /// Devices may read it until they are dropped, before it is.
    journal: UpdateJournal,
    time: f64,
    /// The low limb of the time.
    low_time: f64,
    /// Whether sources are predicted to the time; otherwise they are as they were written.
    predicts: bool,
    neighbour_criterion: NeighbourCriterion,
    block: Block,
    /// Sinks of a block to come, until all are found good: a block that is rejected leaves the last
    /// one as it was.
    candidates: Sinks,
    /// The low limbs of the candidates' numbers, where they have some.
    low_candidates: Sinks,
    /// Threads that copy sinks, the caller's included.
    threads: Threads,
    /// Whether the units of a block in parts turned out to depend on its sinks.
    units_of_sinks: bool,
    /// The sources, if they are on a device and no arrays of the caller there.
    staged_sources: Staged,
    /// Memory for the next ones.
    spare_sources: Staged,
    /// Copies of the sinks of the last block, if the device took them from there.
    staged_sinks: Staged,
    kept_sinks: KeptSinks,
    /// Bodies that the device moves.
    moving: Staged,
    /// Memory for copies of callers' arrays on devices.
    copies: Vec<Vec<u8>>,
    stage: Stage,
    sums: Sums,
    /// Whether the sums are those of the last block, which were not written to a device alone.
    has_sums: bool,
    lists: Lists,
    /// Whether some sink of the last block has a radius, so that there are neighbours to be found.
    lists_wanted: bool,
    statistics: Statistics,
    /// The end of the addresses that were written.
    end: usize,
    /// The addresses that [`System::keep_sources_below`] kept last.
    kept: usize,
    /// The accuracy of forces by a tree, if blocks of many pairs take one.
    tree: Option<TreeAccuracy>,
    /// The number of pairs from which on they do, if not that of the devices.
    tree_crossover: Option<u64>,
    /// Interaction lists of a block to come; they keep the memory of those of earlier ones.
    candidate_lists: InteractionLists,
    /// The arrays on a device in which a call leaves its forces.
    receiving: Option<DeviceForces>,
    /// The sources within the radii of sinks that were found last.
    neighbours: NeighbourTable,
}

impl System {
    /// Makes a system without sources, at time zero, on this machine.
    pub fn new(setup: &Setup) -> Result<System> {
        System::on(Box::new(ThisMachine), setup)
    }

    /// Makes a system on the devices of another machine.
    pub fn on(machine: Box<dyn Machine>, setup: &Setup) -> Result<System> {
        let kind = (setup.order, setup.precision, setup.scope);
        let interaction = catalogue::interaction_of(setup.order, setup.precision, setup.scope)
            .ok_or_else(|| catalogue::unsupported(setup.backend.name(), kind))?;
        System::with_interaction(machine, interaction, setup)
    }

    /// Makes a system with an interaction that need not be of the catalogue. Its order, precision
    /// and scope, in place of the setup's, choose the law, so its counts have to be the law's.
    pub fn with_interaction(machine: Box<dyn Machine>, interaction: Arc<Interaction>, setup: &Setup) -> Result<System> {
        check_interaction(&interaction, setup.backend)?;
        let Interaction { order, precision, scope, .. } = *interaction;
        let setup = &Setup { order, precision, scope, ..setup.clone() };
        check_devices(setup)?;
        let threads = Threads::for_copies(setup.threads);
        let mut journal = UpdateJournal::new(&interaction, false, threads.clone())?;
        let devices = Devices::open(machine, interaction.clone(), setup, &mut journal)?;
        Ok(System {
            interaction,
            journal,
            devices,
            time: 0.0,
            low_time: 0.0,
            predicts: true,
            neighbour_criterion: NeighbourCriterion::default(),
            block: Block::default(),
            candidates: Sinks::default(),
            low_candidates: Sinks::default(),
            threads,
            units_of_sinks: false,
            staged_sources: Staged::default(),
            spare_sources: Staged::default(),
            staged_sinks: Staged::default(),
            kept_sinks: KeptSinks::Nowhere,
            moving: Staged::default(),
            stage: Stage::Idle,
            sums: Sums::default(),
            has_sums: false,
            lists: Lists::default(),
            lists_wanted: false,
            statistics: Statistics::default(),
            end: 0,
            kept: 0,
            tree: None,
            tree_crossover: None,
            neighbours: NeighbourTable::default(),
            candidate_lists: InteractionLists::default(),
            copies: Vec::new(),
            receiving: None,
        })
    }

    /// Returns the interaction that the system computes.
    #[inline]
    pub fn interaction(&self) -> &Arc<Interaction> {
        &self.interaction
    }

    /// Returns its setup; after a device failed, with the backend and the devices that went on.
    #[inline]
    pub fn setup(&self) -> &Setup {
        self.devices.setup()
    }

    /// Sets [`Setup::crossover`].
    pub fn set_crossover(&mut self, pairs: Option<u64>) {
        self.devices.set_crossover(pairs);
    }

    /// Returns how many systems use the devices at a time, 0 for one that is no part of an ensemble.
    pub fn sharers(&self) -> usize {
        self.devices.sharers()
    }

    /// Takes one of this many shares of the devices from now on, as so many systems use them at a time; 0
    /// for one that is no part of an ensemble. Bits do not depend on the number, but a GPU makes the block
    /// steps of fewer bodies in an ensemble than otherwise.
    pub fn share_devices(&mut self, sharers: usize) {
        self.devices.share(sharers);
    }

    /// Goes on with other devices, or with the same ones opened anew, of the same order, precision
    /// and scope. Sources, time and counts are kept; the last block is forgotten. If these cannot
    /// be had, the system goes on with the former ones.
    pub fn move_to(&mut self, setup: &Setup) -> Result<()> {
        self.require_no_block("move")?;
        let Interaction { order, precision, scope, .. } = *self.interaction;
        if (setup.order, setup.precision, setup.scope) != (order, precision, scope) {
            return Err(Error::BadOption {
                name: "the interaction of the setup that the system is moved to".into(),
                value: kyoho_core::name_of(setup.order, setup.precision, setup.scope),
                allowed: self.interaction.name(),
            });
        }
        check_devices(setup)?;
        let threads = Threads::for_copies(setup.threads);
        self.fetch_sources()?;
        self.moving.is_current = false;
        self.stage = Stage::Idle;
        self.lists.reset();
        self.journal.flush_to_host()?;
        self.journal.all_is_written();
        self.devices.change(setup, &mut self.journal)?;
        self.journal.set_threads(threads.clone());
        self.threads = threads;
        Ok(())
    }

    /// Returns descriptions of the devices that it computes on.
    pub fn devices(&self) -> Vec<DeviceDescription> {
        self.devices.describe()
    }

    /// Returns the seconds that a block of `ni` sinks and `nj` sources takes on the devices by
    /// their models, if all have one.
    pub fn estimate(&self, ni: usize, nj: usize) -> Option<f64> {
        self.devices.estimate(ni, nj)
    }

    /// Returns the counts since the system was made.
    pub fn statistics(&self) -> Statistics {
        let staged = [&self.staged_sources, &self.spare_sources, &self.staged_sinks, &self.moving];
        let staged: usize = staged.iter().map(|staged| staged.bodies().memory().len()).sum();
        Statistics {
            sources: self.journal.count() as u64,
            bytes: (self.journal.bytes() + self.devices.bytes() + self.lists.bytes() + staged) as u64,
            ..self.statistics
        }
    }

    /// Returns the end of the addresses that were written.
    pub fn end_of_sources(&self) -> usize {
        self.end
    }

    /// Writes the source at an address, replacing what was there; the next block is the first to
    /// see it.
    #[inline]
    pub fn set_source(&mut self, address: usize, source: &Source) -> Result<()> {
        if address > i32::MAX as usize || !is_good_source(&self.interaction, source) {
            self.check_source(address, source)?;
        }
        if !self.journal.record(address, source) {
            self.write(address, source, &Supplement::default())?;
        }
        self.end = self.end.max(address + 1);
        self.statistics.writes += 1;
        Ok(())
    }

    /// Writes a source as [`System::set_source`] does, given by its index and the bits of its
    /// numbers, if devices take it as a record and it is good at first sight; else it does nothing
    /// and returns false. The order has to keep at most four coefficients, and those that it does
    /// not keep have to be zero. It computes in integers alone.
    #[inline(always)]
    pub fn record_numbers(&mut self, address: usize, index: i32, numbers: Numbers) -> bool {
        let is_recorded = self.journal.takes_records()
            && self.are_good_numbers(address, numbers)
            && self.journal.record_numbers(address, index, numbers);
        self.statistics.writes += u64::from(is_recorded);
        self.end = self.end.max(if is_recorded { address + 1 } else { 0 });
        is_recorded
    }

    /// Empties the addresses from `count` on, after a caller wrote others than before, and to those
    /// below `count` alone. What was there acts on no sink and on no choice of units any more.
    pub fn keep_sources_below(&mut self, count: usize) -> Result<()> {
        let before = self.kept;
        self.kept = before.max(count);
        (count..before).try_for_each(|address| self.set_source(address, &Source::default()))?;
        self.kept = count;
        Ok(())
    }

    /// Writes a source that could not be recorded, with what it has beside its record.
    fn write(&mut self, address: usize, source: &Source, supplement: &Supplement) -> Result<()> {
        if self.journal.sources().on_device() > 0 {
            self.fetch_sources()?;
            // The host's copy has its chunk now. What is staged may not be recorded later: of one address
            // what is staged would count as the last.
            if self.journal.record(address, source) {
                return Ok(());
            }
        }
        let is_much = self.journal.staged() >= STAGED.max(self.journal.sources().count() / 8);
        if is_much && self.stage == Stage::Done && self.lists_wanted {
            self.make_lists(None)?;
        }
        if self.last_block_is_needed() {
            self.journal.stage(address, source, supplement)
        } else {
            self.journal.write_to_host(address, source, supplement)
        }
    }

    /// Sets the time to which the sources of the next blocks are predicted; nothing moves until
    /// then.
    pub fn set_time(&mut self, time: f64) -> Result<()> {
        if !time.is_finite() {
            return Err(Error::NotFinite { what: "the time".into(), value: time });
        }
        (self.time, self.low_time, self.predicts) = (time, 0.0, true);
        Ok(())
    }

    /// Takes the sources of the next blocks as they were written, whatever their times, until a
    /// time is set.
    pub fn set_unpredicted(&mut self) {
        self.predicts = false;
    }

    /// Sets the rule by which sources are neighbours that the next blocks leave out, in
    /// [`Scope::Regular`](kyoho_core::Scope::Regular). It is [`NeighbourCriterion::ByMass`] until it is set. Other scopes
    /// ignore it.
    pub fn set_neighbour_criterion(&mut self, neighbour_criterion: NeighbourCriterion) {
        self.neighbour_criterion = neighbour_criterion;
    }

    /// Returns the time that was set last.
    #[inline]
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Returns the neighbours of one sink of the last block: the indices of the sources with `|r|^2
    /// < radius2`, without softening, in ascending order, each once. Sources written since do not
    /// matter.
    ///
    /// In [`Scope::Regular`](kyoho_core::Scope::Regular) they are exactly the sources that the forces of the block leave out.
    /// If a device fails, and those that go on would leave out others, it is an error, and the
    /// block has to be started again.
    pub fn neighbours(&mut self, sink: usize) -> Result<&[i32]> {
        if self.stage != Stage::Done {
            return Err(Error::CallOrder { call: "neighbours", when: "before the forces of a block were waited for" });
        }
        if !self.interaction.has_lists() {
            return Err(Error::CallOrder {
                call: "neighbours",
                when: "in a system of order 2, which finds none; allowed: orders 4, 6, 8",
            });
        }
        if self.block.lists.is_some() {
            return Err(Error::CallOrder {
                call: "neighbours",
                when: "after forces on interaction lists, which have none; allowed: after those of a block",
            });
        }
        if sink >= self.block.sinks.len() {
            return Err(Error::BadCount {
                what: "the number of the sink",
                value: sink as i64,
                allowed: format!("0 to {} (the last block's sinks)", self.block.sinks.len() as i64 - 1),
            });
        }
        if !self.lists_wanted {
            return Ok(&[]);
        }
        self.make_lists(Some(sink))?;
        Ok(self.lists.list(sink))
    }

    /// Makes the neighbour list of one sink of the last block, or of all.
    fn make_lists(&mut self, sink: Option<usize>) -> Result<()> {
        self.fetch_sinks()?;
        loop {
            let made = match sink {
                Some(sink) => self.lists.prepare(sink, &mut self.devices, self.journal.sources(), &self.block),
                None => self.lists.complete(&mut self.devices, self.journal.sources(), &self.block),
            };
            match made {
                Ok(()) => return Ok(()),
                Err(error) => {
                    let before = std::mem::take(&mut self.sums);
                    if let Err(error) = self.compute_elsewhere(error.clone()) {
                        self.sums = before;
                        // Devices that were opened since and failed at the block too know nothing
                        // of it.
                        if !self.devices.know_block() {
                            self.stage = Stage::Idle;
                        }
                        return Err(error);
                    }
                    // The caller has the forces of other devices, which may have left out other
                    // sources.
                    if self.interaction.is_regular() && before.values[..] != self.sums.values[..] {
                        self.stage = Stage::Idle;
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Returns the derivatives (position, velocity, ..., not divided) of the sources at some
    /// addresses, predicted to the time that was set last, or as they were written after
    /// [`System::set_unpredicted`]; `None` where no source was written.
    pub fn predicted(
        &mut self,
        addresses: impl IntoIterator<Item = usize>,
    ) -> Result<Vec<Option<[[f64; 3]; MAX_DERIVATIVES]>>> {
        if self.interaction.has_low_limbs() {
            // The high limb is the nearest double.
            let nearest = |vectors: [[DoubleDouble; 3]; MAX_DERIVATIVES]| vectors.map(|vector| vector.map(|x| x.high));
            let predicted = self.quad_predicted(addresses)?.into_iter().map(|source| source.map(nearest));
            return kyoho_core::memory::collected(predicted, "predicted sources");
        }
        self.fetch_sources()?;
        let (interaction, time, predicts) = (self.interaction.clone(), self.time, self.predicts);
        let predicted = |source: Source, _| {
            let step = if predicts { time - source.time } else { 0.0 };
            predict::derivatives(&source, &interaction, step)
        };
        self.journal.each(addresses, predicted)
    }

    /// Returns the sources at some addresses as they were written, with zeros for the coefficients
    /// that the order does not keep; `None` where no source was written.
    pub fn sources(&mut self, addresses: impl IntoIterator<Item = usize>) -> Result<Vec<Option<Source>>> {
        self.fetch_sources()?;
        self.journal.each(addresses, |source, _| source)
    }

    fn last_block_is_needed(&self) -> bool {
        match self.stage {
            Stage::Idle => false,
            Stage::Started => true,
            Stage::Done => self.lists_wanted && !self.lists.are_complete(&self.block),
        }
    }
}

#[cfg(test)]
mod tests;
