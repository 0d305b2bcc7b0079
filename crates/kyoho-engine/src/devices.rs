//! The devices of a system: which of them compute a block, and which go on when some fail.

mod opening;
mod parts;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use kyoho_core::memory::Pages;
use kyoho_core::{
    Assignment, Block, Error, FoundNeighbours, Interaction, InteractionLists, Neighbourhoods, PartialSums, Partition,
    Result, Sources, Sums, TreeProfile,
};
use kyoho_hal::threads::Threads;
use kyoho_hal::{Backend, DeviceDescription};
use kyoho_methods::block_steps::BlockSteps;
use kyoho_methods::device_arrays::DeviceArrays;
use kyoho_methods::{Device, Machine};

use super::Setup;
use super::journal::UpdateJournal;
use super::partitions::{self, Partitions};
use parts::{Part, Round, is_copied_longer};

/// The devices that sum the forces of a system's sources, and the CPU where it takes over small
/// blocks.
pub struct Devices {
    machine: Box<dyn Machine>,
    interaction: Arc<Interaction>,
    /// The setup that they have now.
    setup: Setup,
    /// The devices; there are none where the last change failed.
    all: Vec<Box<dyn Device>>,
    /// Whether sources have softenings.
    softened: bool,
    /// Threads that open them and begin blocks on them, the caller's included.
    threads: Threads,
    take_records: bool,
    partitions: Partitions,
    /// The CPU in place of other devices, once it was needed.
    host: Vec<Box<dyn Device>>,
    /// Whether the last block is the CPU's.
    on_host: bool,
    /// How many callers use the devices at a time; 0 for one that is no part of an ensemble.
    sharers: usize,
    /// Whether the last block was begun on what is open now, and did not fail since.
    knows_block: bool,
    partial_sums: PartialSums,
    progress: Progress,
    /// The numbers of devices that failed at the last block.
    failed: Vec<usize>,
    /// The reason why there are none: the last failure of those that were left.
    lost: Option<Error>,
}

/// The number of pairs of a sink and a source that one device searches for neighbours before
/// another is awake.
const PAIRS_OF_LISTS: usize = 1 << 24;

/// The factor by which the memory of records may grow, where more is written for each block.
const MOST_GROWTH: usize = 32;
/// Copies a part of a block from the caller's arrays: the sinks and sources of some groups of its
/// interaction lists, or some sinks.
pub type CopyPart<'a> = &'a mut dyn FnMut(&mut Block, &Range<usize>) -> Result<()>;
/// The reason why a block could not be begun.
pub enum NotStarted {
    /// A device failed.
    Failed(Error),
    /// The caller's lists or sinks are not as they should be.
    Refused(Error),
}

impl NotStarted {
    /// Returns the error.
    pub fn into_error(self) -> Error {
        match self {
            NotStarted::Failed(error) | NotStarted::Refused(error) => error,
        }
    }
}

impl From<Error> for NotStarted {
    fn from(error: Error) -> NotStarted {
        NotStarted::Failed(error)
    }
}

/// How far the devices are with a block.
#[derive(Debug, Default)]
struct Progress {
    /// The assignments of the devices that have a part.
    assignments: Vec<Assignment>,
    /// The number of sinks that each has handed in.
    done: Vec<usize>,
    /// Whether each has ended its part; one without sinks ends a part too.
    ended: Vec<bool>,
    /// The number of sinks of each range that were handed over.
    handed_over: Vec<usize>,
    /// The ranges that are not handed over to their end.
    ranges: VecDeque<usize>,
    /// The places of the devices that have no sinks.
    idle: Range<usize>,
    sets: usize,
}

impl Progress {
    /// Begins a block of `ni` sinks with a partition, in which this many devices have a part.
    fn begin(&mut self, partition: Partition, parties: usize, ni: usize) {
        self.assignments.clear();
        self.assignments.extend((0..parties).map(|place| partition.assignment(place, ni)));
        self.done.clear();
        self.done.resize(parties, 0);
        self.ended.clear();
        self.ended.resize(parties, false);
        self.handed_over.clear();
        self.handed_over.resize(partition.ranges, 0);
        self.ranges.clear();
        self.ranges.extend(0..partition.ranges);
        self.idle = partition.devices()..parties;
        self.sets = partition.sets;
    }
}

impl Devices {
    /// Opens the devices of a setup, and makes room for records if they take them.
    pub fn open(
        machine: Box<dyn Machine>,
        interaction: Arc<Interaction>,
        setup: &Setup,
        journal: &mut UpdateJournal,
    ) -> Result<Devices> {
        let mut devices = Devices {
            machine,
            interaction: interaction.clone(),
            setup: setup.clone(),
            all: Vec::new(),
            softened: false,
            threads: Threads::alone(),
            take_records: false,
            partitions: Partitions::default(),
            host: Vec::new(),
            on_host: false,
            sharers: 0,
            knows_block: false,
            partial_sums: PartialSums::new(interaction.n_sums(), interaction.nearest),
            progress: Progress::default(),
            failed: Vec::new(),
            lost: None,
        };
        devices.open_or_fall_back(setup.clone(), setup.fall_back, journal)?;
        Ok(devices)
    }

    /// Returns the setup that they have now.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Returns how many callers use the devices at a time, 0 for one that is no part of an ensemble.
    pub fn sharers(&self) -> usize {
        self.sharers
    }

    /// Takes one of this many shares of each device from now on.
    pub fn share(&mut self, sharers: usize) {
        self.sharers = sharers;
        self.all.iter_mut().for_each(|device| device.share(sharers));
    }

    /// Sets the pairs below which the CPU takes over.
    pub fn set_crossover(&mut self, pairs: Option<u64>) {
        self.setup.crossover = pairs;
    }

    /// Whether they sum by texts of the language of pairs: numbers of two doubles, and pairs that have
    /// softenings of both bodies.
    pub fn sum_by_texts(&self) -> bool {
        self.softened || self.interaction.has_low_limbs()
    }

    /// Whether they take records.
    pub fn take_records(&self) -> bool {
        self.take_records
    }

    /// Returns their descriptions.
    pub fn describe(&self) -> Vec<DeviceDescription> {
        self.all.iter().map(|device| device.describe()).collect()
    }

    /// Returns the seconds that a block takes by their models, if all have one.
    pub fn estimate(&self, ni: usize, nj: usize) -> Option<f64> {
        partitions::fastest(&self.all, ni, nj).map(|(seconds, _)| seconds)
    }

    /// Returns the bytes of host memory in use.
    pub fn bytes(&self) -> usize {
        self.all.iter().chain(&self.host).map(|device| device.bytes()).sum::<usize>()
    }

    /// Makes room for more records if more are written for each block. Without such room, what is
    /// written is fetched from the host's copy, which takes longer. No block is under way.
    pub fn make_room(&mut self, journal: &mut UpdateJournal) -> Result<()> {
        let most = MOST_GROWTH * self.machine.records();
        let Some(room) = journal.wanted_room(most, self.all.len()) else { return Ok(()) };
        let warn = |error| log::warn!("there is no room for more records of sources: {error}");
        let room = match room {
            Ok(room) => room,
            Err(error) => {
                warn(error);
                return Ok(());
            }
        };
        journal.flush_to_host()?;
        let mut lock = |memory: &Pages| self.all.iter_mut().try_for_each(|device| device.lock(memory));
        let locked = room.memory().try_for_each(&mut lock);
        match locked {
            Ok(()) => journal.exchange_room(room),
            Err(error) => warn(error),
        }
        Ok(())
    }

    /// Chooses whether the CPU computes the next block in place of other devices, by the number of
    /// its pairs alone, and returns that. Forces on groups of sinks are the CPU's only where a
    /// crossover was set, as they must not depend on how many groups a call has.
    pub fn choose(&mut self, pairs: u64, in_groups: bool) -> Result<bool> {
        let own = self.all.first().filter(|_| !in_groups).map_or(0, |device| device.crossover());
        let crossover = self.setup.crossover.unwrap_or(own);
        let on_host = self.setup.backend != Backend::Cpu && pairs < crossover;
        if on_host && self.host.is_empty() {
            self.host.push(self.machine.open(Backend::Cpu, 0, self.options(&self.setup, &[]))?);
        }
        self.on_host = on_host;
        Ok(on_host)
    }

    /// Returns the number of pairs from which on a tree is faster than all of them.
    pub fn tree_crossover(&self) -> u64 {
        let at_work = if self.on_host { &self.host } else { &self.all };
        at_work.first().map_or(u64::MAX, |device| device.tree_crossover())
    }

    /// Measures the phases of forces by a tree, as [`crate::System::profile_trees`] says.
    pub fn profile_trees(&mut self, wanted: bool) -> TreeProfile {
        let at_work = if self.on_host { &mut self.host } else { &mut self.all };
        let trees = at_work.first_mut().and_then(|device| device.trees());
        trees.map_or_else(TreeProfile::default, |trees| trees.profile(wanted))
    }

    /// Whether the last block is the CPU's, in place of other devices.
    pub fn on_host(&self) -> bool {
        self.on_host
    }

    /// Begins a block, with the records of the journal or from the host's copy alone. `copy` copies
    /// parts of it, if they are not copied yet. After an error none is at work, and all parts are
    /// copied unless that failed.
    pub fn start(
        &mut self,
        journal: &mut UpdateJournal,
        with_records: bool,
        block: &mut Block,
        copy: Option<CopyPart>,
    ) -> std::result::Result<(), NotStarted> {
        let (ni, nj, by_texts) = (block.count(), block.nj, self.sum_by_texts());
        let at_work = if self.on_host { &mut self.host } else { &mut self.all };
        let all = at_work.len();
        if all == 0 {
            return Err(NotStarted::Failed(self.lost.clone().unwrap_or(Error::CallOrder {
                call: "start",
                when: "on a system without devices, as none could be opened when they were last changed; move it to others",
            })));
        }
        let has_lists = block.lists.as_ref().is_some_and(InteractionLists::is_on_device);
        let is_on_first = has_lists || block.is_on_device() || journal.sources().on_device() > 0;
        let partition = match self.setup.partition.filter(|partition| partition.devices() <= all) {
            // The others have not all bodies.
            _ if is_on_first => Partition::WHOLE,
            None if block.lists.as_ref().is_some_and(is_copied_longer) => Partition::WHOLE,
            // Groups are not divided among devices.
            _ if block.lists.is_some() => Partition { ranges: all, sets: 1 },
            // The first one shares the cells of sinks out itself.
            _ if block.tree.is_some() => Partition::WHOLE,
            // They do not share slices, and sums of two limbs are not added here.
            _ if by_texts => Partition { ranges: all, sets: 1 },
            Some(partition) => partition,
            None => self.partitions.choose(at_work, ni, nj),
        };
        let parties = if self.on_host { 1 } else { journal.parties(partition.devices(), all, with_records) };
        self.failed.clear();
        self.knows_block = false;
        self.progress.begin(partition, parties, ni);
        let rounds = match &block.lists {
            Some(lists) => self.divide_lists(lists, partition.ranges),
            None if block.in_parts => self.divide_sinks(partition),
            None => Vec::new(),
        };
        self.partial_sums.reset(ni, partition.sets)?;
        let updates = journal.updates(parties, with_records);
        let mut outcomes: Vec<Result<()>> = vec![Ok(()); parties];
        let at_work = if self.on_host { &mut self.host } else { &mut self.all };
        let work = at_work.iter_mut().zip(&self.progress.assignments).zip(&mut outcomes).enumerate();
        let of_threads: &Block = block;
        self.threads.each(work, |(place, ((device, assignment), outcome))| {
            *outcome = device.start(&updates.of(place), of_threads, assignment);
        });
        let begun = self.note(outcomes);
        if begun.is_ok() && !self.on_host {
            journal.keep_for_others(parties, all, with_records);
        }
        self.start_parts(block, rounds, begun, copy).inspect_err(|_| self.drain())?;
        self.knows_block = true;
        Ok(())
    }

    /// Copies the parts of a block and begins their sums, unless the devices have failed.
    fn start_parts(
        &mut self,
        block: &mut Block,
        rounds: Vec<Round>,
        mut begun: Result<()>,
        mut copy: Option<CopyPart>,
    ) -> std::result::Result<(), NotStarted> {
        for round in rounds {
            if let Some(copy) = &mut copy {
                round.iter().try_for_each(|(part, _)| copy(block, part)).map_err(NotStarted::Refused)?;
            }
            if begun.is_ok() {
                begun = self.sum_parts(block, &round);
            }
        }
        begun.map_err(NotStarted::Failed)
    }

    /// Begins the sums of parts, each by a thread of its own.
    fn sum_parts(&mut self, block: &Block, round: &[Part]) -> Result<()> {
        let at_work = if self.on_host { &mut self.host } else { &mut self.all };
        let mut outcomes: Vec<Result<()>> = vec![Ok(()); at_work.len()];
        let devices = at_work.iter_mut().zip(&mut outcomes).enumerate();
        let work: Vec<_> = devices
            .filter_map(|(place, (device, outcome))| {
                let (part, _) = round.iter().find(|(part, places)| places.contains(&place) && !part.is_empty())?;
                Some((device, part, outcome))
            })
            .collect();
        self.threads.each(work.into_iter(), |(device, part, outcome)| *outcome = device.sum_part(block, part.clone()));
        self.note(outcomes)
    }

    /// Notes which devices failed, and returns the first failure.
    fn note(&mut self, outcomes: Vec<Result<()>>) -> Result<()> {
        if !self.on_host {
            let failed = outcomes.iter().zip(&self.setup.devices).filter(|(outcome, _)| outcome.is_err());
            self.failed.extend(failed.map(|(_, number)| *number));
        }
        outcomes.into_iter().collect()
    }

    /// Waits for the sums of more sinks and returns which; `None` when all were handed in. After an
    /// error none is at work.
    pub fn wait_more(&mut self) -> Result<Option<Range<usize>>> {
        let more = self.next_sinks();
        if more.is_err() {
            self.knows_block = false;
            self.drain();
        }
        more
    }

    fn next_sinks(&mut self) -> Result<Option<Range<usize>>> {
        while let Some(range) = self.progress.ranges.pop_front() {
            let places = range * self.progress.sets..(range + 1) * self.progress.sets;
            let sinks = self.progress.assignments[places.start].sinks.clone();
            for place in places.clone() {
                self.advance(place)?;
            }
            let done = self.progress.done[places].iter().copied().min().unwrap_or(0);
            let before = std::mem::replace(&mut self.progress.handed_over[range], done);
            if done < sinks.len() {
                self.progress.ranges.push_back(range);
            }
            let more = sinks.start + before..sinks.start + done;
            if !more.is_empty() {
                self.partial_sums.merge(more.clone());
                return Ok(Some(more));
            }
        }
        self.wait_for_idle()?;
        Ok(None)
    }

    /// Waits for more sinks of one device.
    fn advance(&mut self, place: usize) -> Result<()> {
        let Progress { assignments, done, ended, .. } = &mut self.progress;
        let (done, ended, all) = (&mut done[place], &mut ended[place], assignments[place].sinks.len());
        if *ended {
            return Ok(());
        }
        let at_work = if self.on_host { &mut self.host } else { &mut self.all };
        match at_work[place].wait_more(&mut self.partial_sums, *done) {
            Ok(now) => {
                (*done, *ended) = (now, now == all);
                Ok(())
            }
            Err(error) => {
                if !self.on_host {
                    self.failed.push(self.setup.devices[place]);
                }
                // The device has given up the block.
                (*done, *ended) = (all, true);
                Err(error)
            }
        }
    }

    /// Waits until no device is at work, whatever errors come.
    pub fn drain(&mut self) {
        let at_work = if self.on_host { &mut self.host } else { &mut self.all };
        let Progress { assignments, done, ended, .. } = &mut self.progress;
        for (place, device) in at_work.iter_mut().enumerate().take(ended.len()) {
            while !ended[place] {
                let more = device.wait_more(&mut self.partial_sums, done[place]);
                let now = more.ok().filter(|now| (done[place] + 1..assignments[place].sinks.len()).contains(now));
                (done[place], ended[place]) = (now.unwrap_or(done[place]), now.is_none());
            }
        }
        self.progress.ranges.clear();
        self.progress.idle = 0..0;
    }

    /// Returns the work of a device on arrays of callers, if callers can have such.
    pub fn arrays(&mut self, number: usize) -> Option<&mut dyn DeviceArrays> {
        self.all.get_mut(number)?.arrays()
    }

    /// Returns the block steps of the first device, if it makes some.
    pub fn block_steps(&mut self) -> Option<&mut dyn BlockSteps> {
        self.all.first_mut()?.block_steps()
    }

    /// Whether the first device sums the forces on this many sinks, all of the block, alone.
    pub fn first_sums_all(&self, sinks: usize) -> bool {
        self.progress.assignments.first().is_some_and(|first| first.sinks == (0..sinks) && first.sets == 1)
    }

    /// Ends a block of which the first device has written the forces itself. Others may have its
    /// records, and are waited for.
    pub fn end_block_of_first(&mut self) -> Result<()> {
        self.progress.ranges.clear();
        self.progress.ended[0] = true;
        self.wait_for_idle()
    }

    /// Waits for the devices that have no sinks.
    fn wait_for_idle(&mut self) -> Result<()> {
        while let Some(place) = self.progress.idle.next() {
            self.advance(place)?;
        }
        Ok(())
    }

    /// Returns the sums of the sinks that were handed in so far.
    pub fn so_far(&self) -> &Sums {
        self.partial_sums.merged()
    }

    /// Takes the sums of all sinks.
    pub fn take_all(&mut self, into: &mut Sums) {
        self.partial_sums.take(into);
    }

    /// Whether there are devices that know the sources as they were for the last block, which did
    /// not fail then.
    pub fn know_block(&self) -> bool {
        self.knows_block
    }

    /// Returns the number of sinks whose lists are made together.
    pub fn lists_at_once(&self) -> usize {
        let at_work = if self.on_host { &self.host } else { &self.all };
        at_work.iter().map(|device| device.lists_at_once()).min().unwrap_or(1)
    }

    /// Appends to `found` the neighbours of some sinks of the last block, as [`Device::neighbours`]
    /// does. Where they are many, each device that knows the block has some of the sinks.
    pub fn neighbours(
        &mut self,
        sources: &Sources,
        block: &Block,
        sinks: Range<usize>,
        found: &mut [Vec<i32>],
    ) -> Result<()> {
        let at_work = if self.on_host { &mut self.host } else { &mut self.all };
        let knowing = at_work.len().min(self.progress.assignments.len());
        if !self.knows_block || knowing == 0 {
            return Err(Error::Internal { what: "no device knows the last block".into() });
        }
        let pairs = sinks.len().saturating_mul(block.nj);
        let parties = match self.setup.partition {
            Some(_) => knowing,
            None => knowing.min(pairs / PAIRS_OF_LISTS).max(1),
        };
        let each = sinks.len().div_ceil(parties).max(1);
        let mut outcomes: Vec<Result<()>> = vec![Ok(()); parties];
        let work = at_work.iter_mut().zip(found.chunks_mut(each)).zip(&mut outcomes).enumerate();
        self.threads.each(work, |(place, ((device, found), outcome))| {
            let first = sinks.start + place * each;
            *outcome = device.neighbours(sources, block, first..first + found.len(), found);
        });
        self.note(outcomes)
    }

    /// Finds the sources within the radii of some points by the first device, where it can; a
    /// failed one cannot.
    pub fn find_neighbours(
        &mut self,
        sources: &Sources,
        nj: usize,
        asked: Neighbourhoods,
    ) -> Result<Option<FoundNeighbours>> {
        let Some(trees) = self.all.first_mut().and_then(|device| device.trees()) else { return Ok(None) };
        match trees.find_neighbours(sources, nj, asked) {
            Err(error) if self.setup.fall_back && error.is_of_device() => {
                log::warn!("neighbours are looked for on the CPU: {error}");
                Ok(None)
            }
            found => found,
        }
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        self.close();
    }
}
