//! The engine: sources, block steps, neighbours and devices, free of any backend.

mod all_sources;
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
mod sinks;
mod sources;
mod staging;
mod tree_neighbours;
mod trees;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kyoho_core::Level;
use kyoho_core::forces::check_finite;
use kyoho_core::records::Numbers;
use kyoho_core::sinks::{FromFn, NumberedSinks, SinkScan};
use kyoho_core::{
    Block, DeviceBodies, DeviceForces, Error, Forces, Interaction, InteractionLists, MAX_COEFFICIENTS, MAX_DERIVATIVES,
    NeighbourCriterion, NeighbourTable, Order, Partition, Precision, Result, SLICE_GROUPS, Scope, Sink, Sinks, Source,
    Sums, TreeAccuracy, TreeBlock,
};
use kyoho_devices::ThisMachine;
use kyoho_hal::threads::Threads;
use kyoho_hal::{Backend, DeviceDescription};
use kyoho_laws::catalogue;
use kyoho_laws::double_double::DoubleDouble;
use kyoho_laws::simd::predict;
use kyoho_methods::Machine;
use kyoho_methods::gpu::shapes::ForcedShape;

use checks::{check_sinks, is_good_source};
use devices::{CopyPart, Devices, NotStarted};
use journal::{STAGED, UpdateJournal};
use lists::{Division, GivenBodies, GivenLists, GivenSources};
use neighbours::Lists;
use staging::{KeptSinks, Staged};

pub use quad::{QuadForce, QuadSink, QuadSource};
pub use trees::TreeErrors;

/// The setup of a system; `config::Settings` makes one from the environment.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The order of the forces.
    pub order: Order,
    /// The precision of the forces.
    pub precision: Precision,
    /// The sources that the forces are of.
    pub scope: Scope,
    /// The backend that computes the forces.
    pub backend: Backend,
    /// The numbers, in the backend's list, of the devices among which blocks are partitioned; one
    /// may be named twice.
    pub devices: Vec<usize>,
    /// The number of threads of the CPU backend, of which some copy the sinks of large blocks for
    /// every backend.
    pub threads: usize,
    /// The instruction set of the CPU backend.
    pub level: Level,
    /// The launch shape that a GPU takes, for tests and measurements; otherwise the device's model
    /// chooses.
    pub shape: Option<ForcedShape>,
    /// The partition of each block among the devices if there are enough, for tests; otherwise
    /// their models choose.
    pub partition: Option<Partition>,
    /// The number of pairs (sinks times nj) below which the CPU computes a block though the backend
    /// is another: 0 for never, `None` for the number of the device's model.
    pub crossover: Option<u64>,
    /// Whether the next backend that works goes on when a device fails. Without it the failure is
    /// the caller's.
    pub fall_back: bool,
}

impl Setup {
    /// Returns the setup of a system for full forces on all processors of the host.
    pub fn on_cpu(order: Order, precision: Precision) -> Setup {
        Setup {
            order,
            precision,
            scope: Scope::Full,
            backend: Backend::Cpu,
            devices: vec![0],
            threads: std::thread::available_parallelism().map_or(1, |count| count.get()),
            level: Level::best(),
            shape: None,
            partition: None,
            crossover: None,
            fall_back: false,
        }
    }
}

/// Counts since a system was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Addresses that hold a source.
    pub sources: u64,
    /// Sources written, each time counted.
    pub writes: u64,
    /// Blocks whose forces were computed.
    pub blocks: u64,
    /// Sinks of those blocks.
    pub sinks: u64,
    /// Pairs of a sink and an address below nj.
    pub interactions: u64,
    /// Bytes of host memory in use.
    pub bytes: u64,
}

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
        let mut journal = UpdateJournal::new(&interaction, threads.clone())?;
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
            receiving: None,
        })
    }

    /// Returns the interaction that the system computes.
    pub fn interaction(&self) -> &Arc<Interaction> {
        &self.interaction
    }

    /// Returns its setup; after a device failed, with the backend and the devices that went on.
    pub fn setup(&self) -> &Setup {
        self.devices.setup()
    }

    /// Sets [`Setup::crossover`].
    pub fn set_crossover(&mut self, pairs: Option<u64>) {
        self.devices.set_crossover(pairs);
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

    /// Writes the source at an address, replacing what was there; the next block is the first to
    /// see it.
    #[inline]
    pub fn set_source(&mut self, address: usize, source: &Source) -> Result<()> {
        if address > i32::MAX as usize || !is_good_source(&self.interaction, source) {
            self.check_source(address, source)?;
        }
        if !self.journal.record(address, source) {
            self.write(address, source, &Source::default())?;
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

    /// Writes a source that could not be recorded, with the low limbs of its numbers if they have
    /// such.
    fn write(&mut self, address: usize, source: &Source, low: &Source) -> Result<()> {
        self.fetch_sources()?;
        let is_much = self.journal.staged() >= STAGED.max(self.journal.sources().count() / 8);
        if is_much && self.stage == Stage::Done && self.lists_wanted {
            self.make_lists(None)?;
        }
        if self.last_block_is_needed() {
            self.journal.stage(address, source, low)
        } else {
            self.journal.write_to_host(address, source, low)
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
    /// [`Scope::Regular`]. It is [`NeighbourCriterion::ByMass`] until it is set. Other scopes
    /// ignore it.
    pub fn set_neighbour_criterion(&mut self, neighbour_criterion: NeighbourCriterion) {
        self.neighbour_criterion = neighbour_criterion;
    }

    /// Returns the time that was set last.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Begins the forces on some sinks of the sources at addresses below `nj`, predicted to the
    /// time that was set last, or as they were written after [`System::set_unpredicted`].
    ///
    /// With `skip_own_index`, a sink does not feel sources that have its index. The sinks are
    /// copied. An error in one of them names the first, and leaves the last block as it was.
    pub fn start(&mut self, nj: usize, skip_own_index: bool, sinks: impl IntoIterator<Item = Sink>) -> Result<()> {
        self.require_no_block("start")?;
        let scan = self.candidates.collect(sinks.into_iter(), &self.interaction)?;
        self.start_candidates(nj, skip_own_index, scan, SinkPlace::Host)
    }

    /// Begins the forces on `count` sinks as [`System::start`] does, each made from its number.
    /// Where they are many, several threads make them in any order, up to twelve of
    /// [`Setup::threads`].
    pub fn start_from_fn(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        count: usize,
        sink: impl Fn(usize) -> Sink + Sync,
    ) -> Result<()> {
        self.start_numbered(nj, skip_own_index, count, &FromFn(sink))
    }

    /// Begins the forces on `count` sinks as [`System::start_from_fn`] does.
    pub fn start_numbered(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        count: usize,
        given: &impl NumberedSinks,
    ) -> Result<()> {
        self.require_no_block("start")?;
        if self.start_staged(nj, skip_own_index, count, given)? {
            return Ok(());
        }
        if self.start_in_parts(nj, skip_own_index, count, given)? {
            return Ok(());
        }
        let scan = sinks::make(&mut self.candidates, count, given, &self.interaction, &self.threads)?;
        self.start_candidates(nj, skip_own_index, scan, SinkPlace::Host)
    }

    /// Begins the forces on sinks in groups: on a group act the sources of its interaction list
    /// alone. Otherwise as [`System::start`]: the time, the prediction and the exclusion of sources
    /// by index are those of blocks, and [`System::wait_each`] waits for the forces. There are no
    /// neighbour lists of them.
    ///
    /// Lists and sinks are copied. A wrong offset, an address beyond the highest that was written,
    /// or a number of a body that is not finite or too large is an error that leaves the last block
    /// as it was.
    pub fn start_lists(&mut self, skip_own_index: bool, sinks: &GivenBodies, given: &GivenLists) -> Result<()> {
        self.start_given(skip_own_index, (sinks, false), given)
    }

    /// Begins the forces on the bodies of many systems, which are not kept among the sources: on
    /// each act the other bodies of its system, those with another index. `division` says which
    /// bodies are those of a system, as sinks and as sources. Otherwise as [`System::start_lists`].
    pub fn start_batch(&mut self, systems: usize, division: Division, bodies: &GivenBodies) -> Result<()> {
        // Of the sinks only the softening is theirs.
        let of_sinks = |of: DeviceBodies| DeviceBodies { softening2: of.softening2, ..DeviceBodies::nothing(of.place) };
        let of_sources = |of: DeviceBodies| DeviceBodies { softening2: None, ..of };
        let sinks = GivenBodies {
            masses: None,
            derivatives: [None; MAX_COEFFICIENTS],
            times: None,
            indices: None,
            on_device: bodies.on_device.map(of_sinks),
            ..*bodies
        };
        let own = GivenBodies { on_device: bodies.on_device.map(of_sources), ..*bodies };
        let given = GivenLists { groups: systems, division, sources: GivenSources::Own(own) };
        self.start_given(true, (&sinks, true), &given)
    }

    /// Chooses whether the CPU computes the next block in place of the devices. It computes none of
    /// the caller's sources or sinks on a device.
    fn choose(&mut self, pairs: u64, is_on_device: bool, in_groups: bool) -> Result<bool> {
        let has_sources = self.journal.sources().on_device() > 0;
        let is_on_device = is_on_device || has_sources && !self.staged_sources.is_current;
        let on_host = self.devices.choose(if is_on_device { u64::MAX } else { pairs }, in_groups)?;
        if has_sources && (on_host || !self.first_has_all()) {
            self.fetch_sources()?;
        }
        Ok(on_host)
    }

    fn require_no_block(&self, call: &'static str) -> Result<()> {
        match self.stage {
            Stage::Started => Err(Error::CallOrder { call, when: "while a block is under way; wait for it first" }),
            _ => Ok(()),
        }
    }

    /// Begins the block of the candidates.
    fn start_candidates(&mut self, nj: usize, skip_own_index: bool, scan: SinkScan, place: SinkPlace) -> Result<()> {
        for memory in self.candidates.take_outgrown() {
            self.devices.unregister(memory.as_slice())?;
        }
        if !scan.good {
            check_sinks(&self.interaction, &self.candidates)?;
        }
        let pairs = (self.candidates.len() as u64).saturating_mul(nj as u64);
        let on_device = place != SinkPlace::Host;
        let tree = match place {
            SinkPlace::Host => self.tree_of_candidates(pairs, &scan)?,
            SinkPlace::Device(tree) => tree,
        };
        let on_host = self.choose(pairs, on_device, false)?;
        self.stage = Stage::Idle;
        self.lists.reset();
        self.block.tree = tree;
        if let Some(tree) = &mut self.block.tree {
            let of_device = self.journal.sources().on_device();
            if of_device > 0 && !on_device {
                tree.are_sources = Some(false);
                if self.candidates.len() == nj.min(of_device) {
                    // They may be the sources. The host compares them.
                    tree.are_sources = None;
                    self.fetch_sources()?;
                }
            }
            self.journal.flush_to_host()?;
        }
        self.devices.make_room(&mut self.journal)?;
        self.journal.prepare(self.devices.take_records(), on_host)?;
        std::mem::swap(&mut self.block.sinks, &mut self.candidates);
        self.block.low_sinks = std::mem::take(&mut self.low_candidates);
        if let Some(lists) = self.block.lists.take() {
            // Their memory is kept for the next ones.
            self.spare_lists(lists)?;
        }
        self.lists_wanted = scan.radius && self.interaction.has_lists();
        (self.block.in_parts, self.block.sinks_on_device) = (false, on_device);
        self.block.skip_own_index = skip_own_index;
        (self.block.time, self.block.low_time) = (self.time, self.low_time);
        self.block.predicts = self.predicts;
        self.block.nj = nj;
        self.block.neighbour_criterion = self.neighbour_criterion;
        self.block.units = self.journal.sources().units(&scan.largest, &self.interaction);
        self.begin(None).map_err(NotStarted::into_error)?;
        self.stage = Stage::Started;
        Ok(())
    }

    /// Keeps the memory of lists that are not used any more.
    fn spare_lists(&mut self, lists: InteractionLists) -> Result<()> {
        if !self.candidate_lists.has_memory() {
            self.candidate_lists = lists;
            return Ok(());
        }
        // Devices may not have been asked for the end of a block without sinks, or of a refused one.
        self.devices.drain();
        lists.memory().try_for_each(|memory| self.devices.unregister(memory))
    }

    /// Starts the block on the devices. `copy` copies parts of it, if they are not copied yet.
    fn begin(&mut self, copy: Option<CopyPart>) -> std::result::Result<(), NotStarted> {
        if self.devices.on_host() {
            let begun = self.devices.start(&mut self.journal, false, &mut self.block, copy);
            self.journal.resume_recording();
            return begun;
        }
        match self.devices.start(&mut self.journal, true, &mut self.block, copy) {
            Ok(()) => (),
            Err(refused @ NotStarted::Refused(_)) => {
                // A device may have failed too, before it was waited for to its end.
                self.journal.flush_to_host()?;
                self.journal.write_back_sent()?;
                self.journal.all_is_written();
                return Err(refused);
            }
            Err(NotStarted::Failed(error)) => {
                // Some devices may have the latest writes and some not.
                self.journal.flush_to_host()?;
                self.start_elsewhere(error)?;
            }
        }
        self.journal.fetched();
        Ok(self.journal.rotate_buffers()?)
    }

    /// Starts the last block again after a failure, on the devices that are left or on others, from
    /// the host's copy, which is as it was when the block began. Gives the error back where no
    /// others are to be had.
    fn start_elsewhere(&mut self, mut error: Error) -> Result<()> {
        self.journal.write_back_sent()?;
        self.moving.is_current = false;
        self.block.in_parts = false;
        if self.fetch_block().is_err() {
            return Err(error);
        }
        loop {
            if !self.devices.on_host() {
                self.journal.all_is_written();
            }
            self.devices.fall_back(error, &mut self.journal)?;
            match self.devices.start(&mut self.journal, false, &mut self.block, None) {
                Ok(()) => break,
                Err(next) => error = next.into_error(),
            }
        }
        self.journal.fetched();
        Ok(())
    }

    /// Starts the last block again as [`System::start_elsewhere`] does, and computes it to its end.
    fn compute_elsewhere(&mut self, error: Error) -> Result<()> {
        self.start_elsewhere(error)?;
        loop {
            match self.devices.wait_more() {
                Ok(Some(_)) => (),
                Ok(None) => break,
                Err(error) => self.start_elsewhere(error)?,
            }
        }
        self.devices.take_all(&mut self.sums);
        Ok(())
    }

    /// Waits for the forces of the block that was started.
    pub fn wait(&mut self) -> Result<Forces<'_>> {
        self.wait_each(|_, _| ())?;
        self.forces()
    }

    /// Returns the forces of the last block once more, until another is started.
    pub fn forces(&self) -> Result<Forces<'_>> {
        match self.stage {
            Stage::Done if self.has_sums => {
                Ok(Forces { interaction: &self.interaction, values: &self.sums.values, nearest: &self.sums.nearest })
            }
            Stage::Done => Err(Error::CallOrder { call: "forces", when: "after they were written to a device alone" }),
            _ => Err(Error::CallOrder { call: "forces", when: "before those of a block were waited for" }),
        }
    }

    /// Waits for the forces and hands them over as they come, with the number of the first sink: a
    /// device may still be at work on further ones. Some are handed over again if a device fails,
    /// and none of them holds if an error is returned.
    pub fn wait_each(&mut self, mut take: impl FnMut(usize, Forces)) -> Result<()> {
        self.wait_for_all(|system, sums, sinks| {
            system.hand_over_if_finite(sums, sinks.clone(), |_, _| ())?;
            take(sinks.start, Forces::of(sums, sinks, &system.interaction));
            Ok(())
        })
    }

    /// Waits for the forces as [`System::wait_each`] does. Where they are many, several threads
    /// take some each, up to twelve of [`Setup::threads`].
    pub fn wait_each_on_threads(&mut self, take: impl Fn(usize, Forces) + Sync) -> Result<()> {
        self.wait_for_all(|system, sums, sinks| system.hand_over_if_finite(sums, sinks, &take))
    }

    /// Returns the number of sinks of the last block.
    pub fn sinks(&self) -> usize {
        self.block.count()
    }

    /// Waits for the forces and calls `take` with the sums of further sinks, of which none may be
    /// infinite or no number.
    fn wait_for_all(&mut self, mut take: impl FnMut(&System, &Sums, Range<usize>) -> Result<()>) -> Result<()> {
        if self.stage != Stage::Started {
            return Err(Error::CallOrder { call: "wait", when: "without start" });
        }
        self.stage = Stage::Idle;
        if self.block.lists.as_mut().is_some_and(|lists| lists.forces.take().is_some()) {
            // The device has given the forces to arrays of the caller, and kept none.
            self.devices.start(&mut self.journal, false, &mut self.block, None).map_err(NotStarted::into_error)?;
            self.journal.fetched();
        }
        let count = self.block.count();
        let mut finite = Ok(());
        let handed_over = loop {
            match self.devices.wait_more() {
                // Whatever came of the first sinks, the devices are waited for to their end.
                Ok(Some(sinks)) => {
                    let sums = self.devices.so_far();
                    finite = finite.and_then(|()| take(self, sums, sinks));
                }
                Ok(None) => {
                    self.devices.take_all(&mut self.sums);
                    break Ok(());
                }
                Err(error) => break Err(error),
            }
        };
        match handed_over {
            Ok(()) => finite?,
            Err(error) => {
                self.compute_elsewhere(error)?;
                take(self, &self.sums, 0..count)?;
            }
        }
        (self.stage, self.has_sums) = (Stage::Done, true);
        self.count_block();
        Ok(())
    }

    /// Counts the block whose forces were waited for.
    fn count_block(&mut self) {
        self.statistics.blocks += 1;
        self.statistics.sinks += self.block.count() as u64;
        self.statistics.interactions += self.block.pairs();
    }

    /// Hands over the forces on these sinks if all sums are finite, else it fails and names the first
    /// sink with one that is not. Of many sinks several threads hand over those that they have found
    /// to be finite, while the numbers are in their caches.
    fn hand_over_if_finite(&self, sums: &Sums, sinks: Range<usize>, take: impl Fn(usize, Forces) + Sync) -> Result<()> {
        let interaction = &*self.interaction;
        let hand_over = |piece: Range<usize>| {
            check_finite(sums, piece.clone(), interaction)?;
            take(piece.start, Forces::of(sums, piece, interaction));
            Ok(())
        };
        if sinks.len() < MANY_FORCES {
            return hand_over(sinks);
        }
        let good = AtomicBool::new(true);
        self.threads.each(pieces(sinks.clone()), |piece| {
            if hand_over(piece).is_err() {
                good.store(false, Ordering::Relaxed);
            }
        });
        if good.into_inner() { Ok(()) } else { check_finite(sums, sinks, interaction) }
    }

    /// Waits for a block that was started, if any, and forgets it.
    pub fn abandon(&mut self) {
        if self.stage == Stage::Started {
            let _ = self.wait();
            self.stage = Stage::Idle;
        }
    }

    /// Abandons a block that was started, and forgets the last one: its lists cannot be had any
    /// more, and sources are not kept for them.
    pub fn forget_block(&mut self) {
        self.abandon();
        self.stage = Stage::Idle;
    }

    /// Starts a block and waits for its forces.
    pub fn force(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        sinks: impl IntoIterator<Item = Sink>,
    ) -> Result<Forces<'_>> {
        self.start(nj, skip_own_index, sinks)?;
        self.wait()
    }

    /// Returns the neighbours of one sink of the last block: the indices of the sources with `|r|^2
    /// < radius2`, without softening, in ascending order, each once. Sources written since do not
    /// matter.
    ///
    /// In [`Scope::Regular`] they are exactly the sources that the forces of the block leave out.
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

/// The most devices of a system, more than a host has.
const MAX_DEVICES: usize = 64;

/// Fewer forces are handed over sooner than other threads are awake.
const MANY_FORCES: usize = 1 << 13;
/// The number of sinks whose forces a thread hands over at a time.
const FORCES_OF_PIECE: usize = 1 << 11;

/// Divides sinks among threads.
fn pieces(sinks: Range<usize>) -> impl ExactSizeIterator<Item = Range<usize>> + Send {
    let (count, end) = (sinks.len().div_ceil(FORCES_OF_PIECE), sinks.end);
    (0..count).map(move |piece| {
        let first = sinks.start + piece * FORCES_OF_PIECE;
        first..end.min(first + FORCES_OF_PIECE)
    })
}

/// Fails unless there is a law for an interaction and its counts are those of the law.
fn check_interaction(interaction: &Interaction, backend: Backend) -> Result<()> {
    let Interaction { order, precision, scope, .. } = *interaction;
    let law = catalogue::interaction_of(order, precision, scope)
        .ok_or_else(|| catalogue::unsupported(backend.name(), (order, precision, scope)))?;
    let counts = |of: &Interaction| (of.n_coefficients, of.n_derivatives, of.n_outputs, of.nearest);
    if counts(interaction) == counts(&law) {
        return Ok(());
    }
    Err(Error::BadOption {
        name: format!("n_coefficients, n_derivatives, n_outputs, nearest of {}", law.name()),
        value: format!("{:?}", counts(interaction)),
        allowed: format!("{:?}", counts(&law)),
    })
}

fn check_devices(setup: &Setup) -> Result<()> {
    if let Some(Partition { ranges, sets }) = setup.partition
        && !((1..=MAX_DEVICES).contains(&ranges) && sets <= SLICE_GROUPS && sets.is_power_of_two())
    {
        return Err(Error::BadOption {
            name: "the partition".into(),
            value: format!("{ranges} ranges of sinks, {sets} sets of slices"),
            allowed: format!("1 to {MAX_DEVICES} ranges; 1, 2, 4 or 8 sets"),
        });
    }
    match setup.devices.len() {
        1..=MAX_DEVICES => Ok(()),
        count => Err(Error::BadCount {
            what: "the number of devices",
            value: count as i64,
            allowed: format!("1 to {MAX_DEVICES}"),
        }),
    }
}

#[cfg(test)]
mod tests;
