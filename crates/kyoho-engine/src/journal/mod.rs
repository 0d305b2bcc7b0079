//! The update journal, which knows where each write of a source is, from the caller's call until
//! every device has it.
//!
//! The host's copy ([`Sources`]) is the truth that devices copy from. A write is in one of these
//! states:
//!
//! ```text
//!                      the last block still needs the sources as they were
//!   written --------------------------------------------------------> staged
//!      |  |                                                              |
//!      |  | the devices take no records, the record buffer is full,      | the next block begins
//!      |  | or the host's copy has no such chunk                         v
//!      |  +-------------------------------------------------------> listed
//!      |                                                              ^  |
//!      |  the devices take records               flushed to the host  |  | a block begins
//!      +------------------> recorded ---------------------------------+  v
//!                              |  ^                               known to its devices
//!               a block begins |  | written again                        ^
//!                              v  |                                      |
//!                            sent: devices read the record --------------+
//!                              |
//!                              | the first device computes the block alone
//!                              v
//!                            missed by the others, until they next have a part
//! ```
//!
//! A recorded write is *applied* to the host's copy after it is sent, as a rule, while the devices
//! work, or before, where the CPU computes the block. A listed write is in the host's copy, and its
//! address in the list of those that devices have to fetch. Devices that missed writes without
//! records compare all chunks with the host's copy.
//! Many sources that replace all others go to the host's copy by several threads, and devices
//! compare all chunks too.

mod recorded;
mod update_buffer;
mod write_back;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use kyoho_core::memory::Pages;
use kyoho_core::records::{self, Numbers, lines_of_record};
use kyoho_core::units::Census;
use kyoho_core::{Interaction, Records, Result, Source, Sources, Supplement, Updates, Written, memory};
use kyoho_hal::threads::Threads;

use recorded::Recorded;
use update_buffer::UpdateBuffer;
use write_back::are_near;

/// The host's copy of the sources, and the writes that are not yet everywhere.
pub struct UpdateJournal {
    sources: Sources,
    /// Writes that no buffer could take while the last block may still need the sources as they
    /// were. No address is recorded too.
    staged: Vec<(u32, Source)>,
    /// What staged writes have beside their records, if sources have something.
    staged_supplements: Vec<Supplement>,
    /// Records for devices that take them, which may read them until they are given back.
    recorded: Option<Recorded>,
    /// Records of the blocks that the first device computed alone, for the others.
    missed: Option<UpdateBuffer>,
    /// Whether the devices but the first had no part in the last blocks.
    lag: Option<Lag>,
    /// Threads that write many sources.
    threads: Threads,
}

/// The lag of devices that had no part in the last blocks: they do not know the records that they
/// missed.
#[derive(Debug, Clone, Copy, Default)]
struct Lag {
    /// Whether more was written than the records that they missed.
    everything: bool,
}

/// Memory for records.
pub struct RecordRoom {
    recorded: Recorded,
    missed: Option<UpdateBuffer>,
}

impl RecordRoom {
    /// Iterates over its memory.
    pub fn memory(&self) -> impl Iterator<Item = &Pages> {
        memory_of(Some(&self.recorded), self.missed.as_ref())
    }
}

fn memory_of<'a>(recorded: Option<&'a Recorded>, missed: Option<&'a UpdateBuffer>) -> impl Iterator<Item = &'a Pages> {
    recorded.into_iter().flat_map(Recorded::buffers).chain(missed.map(UpdateBuffer::pages))
}

/// Returns memory for the records that all of these devices but the first miss.
fn missed(records: usize, n_coefficients: usize, devices: usize) -> Result<Option<UpdateBuffer>> {
    match devices {
        0 | 1 => Ok(None),
        _ => UpdateBuffer::new(records, lines_of_record(n_coefficients)).map(Some),
    }
}

/// The updates of a block: for the first device, and for the others.
pub struct BlockUpdates<'a> {
    first: Updates<'a>,
    others: Updates<'a>,
}

impl<'a> BlockUpdates<'a> {
    /// Returns the updates for the device at a place.
    pub fn of(&self, place: usize) -> Updates<'a> {
        if place == 0 { self.first } else { self.others }
    }
}

impl UpdateJournal {
    /// Makes a journal without sources of an interaction, which will have softenings or not.
    pub fn new(interaction: &Interaction, softenings: bool, threads: Threads) -> Result<UpdateJournal> {
        let low_limbs = interaction.has_low_limbs();
        Ok(UpdateJournal {
            sources: Sources::with_supplements(interaction.n_coefficients, low_limbs, softenings)?,
            staged: Vec::new(),
            staged_supplements: Vec::new(),
            recorded: None,
            missed: None,
            lag: None,
            threads,
        })
    }

    /// Takes other threads.
    pub fn set_threads(&mut self, threads: Threads) {
        self.threads = threads;
    }

    /// Returns the host's copy, which stays as it was when the last block began as long as that
    /// block may need it.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Returns how many addresses hold a source.
    pub fn count(&self) -> usize {
        let unapplied = self.recorded.iter().flat_map(Recorded::unapplied);
        let new = (self.staged.iter().map(|(address, _)| *address).chain(unapplied))
            .filter(|address| !self.sources.is_set(*address as usize));
        self.sources.count() + distinct(new)
    }

    /// Returns the bytes in use.
    pub fn bytes(&self) -> usize {
        let recorded = self.recorded.as_ref().map_or(0, Recorded::bytes);
        let missed = self.missed.as_ref().map_or(0, UpdateBuffer::bytes);
        self.sources.bytes() + recorded + missed + self.staged.capacity() * size_of::<(u32, Source)>()
    }

    /// Whether writes may be recorded.
    #[inline(always)]
    pub fn takes_records(&self) -> bool {
        self.recorded.is_some()
    }

    /// Records a write for devices that take records. Where that cannot be, it returns false, and
    /// the write has to be staged or applied.
    #[inline]
    pub fn record(&mut self, address: usize, source: &Source) -> bool {
        let Some(recorded) = &mut self.recorded else { return false };
        let is_taken = recorded.take(address, source, &self.sources);
        if is_taken {
            self.sources.count_sizes(
                address,
                Census::sizes_of(source.mass, &source.coefficients[..self.sources.n_coefficients()]),
            );
        }
        is_taken
    }

    /// Records a write as [`UpdateJournal::record`] does, of a source with four coefficients.
    #[inline(always)]
    pub fn record_numbers(&mut self, address: usize, index: i32, numbers: Numbers) -> bool {
        let Some(recorded) = &mut self.recorded else { return false };
        let Some([line]) = recorded.place(address, &self.sources) else { return false };
        line.set(address as u32, index, numbers);
        let [_, mass, x, y, z, vx, vy, vz, ..] = numbers.map(f64::from_bits);
        // The velocity is zero where the order keeps none.
        self.sources.count_sizes(address, Census::sizes_of(mass, &[[x, y, z], [vx, vy, vz]]));
        true
    }

    /// Records writes to addresses as [`UpdateJournal::record`] does, by several threads.
    /// `source_at` returns the source for the address at a place, or `None` if it is not good. It
    /// records all of them or none, and then returns false: also where an address is named twice or
    /// was recorded before, and where one thread is sooner done.
    pub fn record_all(
        &mut self,
        addresses: impl ExactSizeIterator<Item = usize>,
        source_at: &(impl Fn(usize) -> Option<Source> + Sync),
    ) -> Result<bool> {
        let UpdateJournal { sources, recorded, threads, .. } = self;
        let Some(recorded) = recorded.as_mut().filter(|_| !are_near(sources)) else { return Ok(false) };
        let mut resized = memory::filled(addresses.len().div_ceil(64), 0u64, "the sizes of sources")?;
        let Some((addresses, lines)) = recorded.places(addresses, sources) else { return Ok(false) };
        let (count, n_coefficients) = (addresses.len(), sources.n_coefficients());
        let sizes_of = |source: &Source| Census::sizes_of(source.mass, &source.coefficients[..n_coefficients]);
        let lines_of_record = lines_of_record(n_coefficients);
        let are_good = AtomicBool::new(true);
        let jobs = lines.chunks_mut(OF_JOB * lines_of_record).zip(resized.chunks_mut(OF_JOB / 64));
        threads.each(jobs.zip(addresses.chunks(OF_JOB)).enumerate(), |(job, ((lines, resized), addresses))| {
            let records = lines.chunks_exact_mut(lines_of_record).zip(addresses).enumerate();
            for (place, (record, address)) in records {
                let Some(source) = source_at(job * OF_JOB + place) else {
                    are_good.store(false, Ordering::Relaxed);
                    return;
                };
                records::write(record, *address, &source);
                let is_resized = sources.sizes(*address as usize) != Some(sizes_of(&source));
                resized[place / 64] |= u64::from(is_resized) << (place % 64);
            }
        });
        if !are_good.into_inner() {
            recorded.withdraw(count);
            return Ok(false);
        }
        // Few change their size.
        for place in (0..count).filter(|place| resized[place / 64] >> (place % 64) & 1 == 1) {
            let record = recorded.fresh().get(recorded.fresh().len() - count + place);
            sources.count_sizes(record.address() as usize, sizes_of(&record.source()));
        }
        Ok(true)
    }

    /// Stages a write until the next block, with what it has beside its record.
    pub fn stage(&mut self, address: usize, source: &Source, supplement: &Supplement) -> Result<()> {
        if self.sources.has_supplements() {
            memory::push(&mut self.staged_supplements, *supplement, "staged sources")?;
        }
        let staged = memory::push(&mut self.staged, (address as u32, *source), "staged sources");
        staged.inspect_err(|_| self.staged_supplements.truncate(self.staged.len()))
    }

    /// Leaves all sources to a device, which took others in their place, at this many addresses,
    /// and counted their sizes. What was written was flushed to the host before.
    pub fn leave_to_device(&mut self, addresses: usize, census: Census) {
        self.sources.leave_to_device(addresses, census);
        self.recorded.iter_mut().for_each(Recorded::forget_chunks);
    }

    /// Replaces all sources by what `replace` writes to the host's copy, after all that was written
    /// before is there. Devices will compare all chunks.
    pub fn replace_all(&mut self, replace: impl FnOnce(&mut Sources) -> Result<()>) -> Result<()> {
        self.recorded.iter_mut().for_each(Recorded::forget_chunks);
        replace(&mut self.sources)
    }

    /// Takes the sources back from a device: `fetch` writes each to a copy. If that fails they are
    /// still the device's.
    pub fn take_from_device(&mut self, fetch: impl FnOnce(&mut Sources) -> Result<()>) -> Result<()> {
        let mut copy = self.sources.successor()?;
        fetch(&mut copy)?;
        copy.all_is_written();
        self.sources = copy;
        Ok(())
    }

    /// Returns how many writes are staged.
    pub fn staged(&self) -> usize {
        self.staged.len()
    }

    /// Writes to the host's copy, from which devices will fetch it, after all that was written
    /// before, with what it has beside its record.
    #[inline]
    pub fn write_to_host(&mut self, address: usize, source: &Source, supplement: &Supplement) -> Result<()> {
        if self.recorded.as_ref().is_some_and(Recorded::is_open) || !self.staged.is_empty() {
            self.flush_to_host()?;
        }
        self.sources.write_with(address, source, supplement)
    }

    /// Brings the host's copy up to date; devices will fetch from it what was written.
    pub fn flush_to_host(&mut self) -> Result<()> {
        if let Some(recorded) = &mut self.recorded {
            recorded.flush_to_host(&mut self.sources, &self.threads)?;
        }
        for (place, (address, source)) in self.staged.iter().enumerate() {
            let supplement = self.staged_supplements.get(place).copied().unwrap_or_default();
            self.sources.write_with(*address as usize, source, &supplement)?;
        }
        if !self.staged.is_empty() {
            self.staged.clear();
            self.staged.shrink_to(STAGED);
            self.staged_supplements = Vec::new();
        }
        Ok(())
    }

    /// Brings the host's copy to the sources of the last block, for those that compute it again.
    pub fn write_back_sent(&mut self) -> Result<()> {
        match &mut self.recorded {
            Some(recorded) => recorded.write_back_sent(&mut self.sources, &self.threads),
            None => Ok(()),
        }
    }

    /// Counts all sources as written, for devices that have fetched nothing yet.
    pub fn all_is_written(&mut self) {
        self.sources.all_is_written();
    }

    /// Makes room for this many records, which this many devices will read, unless there is.
    pub fn make_room(&mut self, records: usize, devices: usize) -> Result<()> {
        let n_coefficients = self.sources.n_coefficients();
        if self.recorded.is_none() {
            self.recorded = Some(Recorded::new(records, n_coefficients)?);
        }
        self.missed = missed(records, n_coefficients, devices)?;
        Ok(())
    }

    /// Returns room for more records, which this many devices will read, where more are written for
    /// each block than there is room for, up to `most`. It is asked once for each block.
    pub fn wanted_room(&mut self, most: usize, devices: usize) -> Option<Result<RecordRoom>> {
        let recorded = self.recorded.as_mut().filter(|recorded| recorded.capacity() < most)?;
        if !recorded.is_crowded() {
            return None;
        }
        let records = self.sources.count().next_power_of_two().min(most);
        let n_coefficients = self.sources.n_coefficients();
        (records > recorded.capacity()).then(|| {
            let missed = missed(records, n_coefficients, devices)?;
            Ok(RecordRoom { recorded: Recorded::new(records, n_coefficients)?, missed })
        })
    }

    /// Takes other room for records in the place of that of which nothing is left after
    /// [`UpdateJournal::flush_to_host`]. No block is under way.
    pub fn exchange_room(&mut self, room: RecordRoom) {
        // Devices that lag have missed what was kept for them.
        self.lag.iter_mut().for_each(|lag| lag.everything = true);
        (self.missed, self.recorded) = (room.missed, Some(room.recorded));
    }

    /// Iterates over the memory that devices read records from.
    pub fn memory(&self) -> impl Iterator<Item = &Pages> {
        memory_of(self.recorded.as_ref(), self.missed.as_ref())
    }

    /// Forgets the devices after they were given back: nothing reads records any more, and none
    /// lags.
    pub fn forget_devices(&mut self) {
        (self.lag, self.missed) = (None, None);
    }

    /// Brings whatever the next block must see into the host's copy, unless it is recorded for
    /// devices that take records. The CPU in place of other devices computes from the host's copy
    /// alone.
    pub fn prepare(&mut self, takes_records: bool, on_host: bool) -> Result<()> {
        if !self.staged.is_empty() || !takes_records {
            self.flush_to_host()?;
        }
        if !takes_records {
            self.recorded = None;
        }
        if self.is_listed() || self.lag.is_some_and(|lag| lag.everything) {
            // Devices fetch from the host's copy.
            self.write_back_sent()?;
        }
        match &mut self.recorded {
            Some(recorded) if on_host => recorded.write_back_current(&mut self.sources, &self.threads),
            _ => Ok(()),
        }
    }

    /// Returns how many of `all` devices are told of a block that occupies this many. The first can
    /// compute alone as long as the records that the others miss can be kept for them.
    pub fn parties(&self, occupied: usize, all: usize, with_records: bool) -> usize {
        match (occupied, &self.missed) {
            (1, Some(missed)) if missed.has_room(self.fresh(with_records).len()) => 1,
            (1, None) => 1,
            _ => all,
        }
    }

    /// Returns the updates that this many devices need before a block; without records, those of
    /// the host's copy alone.
    pub fn updates(&self, parties: usize, with_records: bool) -> BlockUpdates<'_> {
        let (sources, fresh) = (&self.sources, self.fresh(with_records));
        let lag = self.lag.filter(|_| parties > 1);
        let everything = lag.is_some_and(|lag| lag.everything || self.is_listed());
        let missed = match (&self.missed, lag) {
            (Some(missed), Some(_)) if !everything => missed.records(),
            _ => Records::NONE,
        };
        let first = Updates { sources, everything: false, missed: Records::NONE, fresh };
        BlockUpdates { first, others: Updates { everything, missed, ..first } }
    }

    /// Keeps what the other devices will have to know, after a block was begun on this many of
    /// `all` devices with its updates.
    pub fn keep_for_others(&mut self, parties: usize, all: usize, with_records: bool) {
        if all < 2 {
            return;
        }
        if parties > 1 {
            self.lag = None;
            // Devices may still read the records, but not the next ones before this block has
            // ended.
            self.missed.iter_mut().for_each(UpdateBuffer::clear);
            return;
        }
        let is_listed = self.is_listed();
        let lag = self.lag.get_or_insert_default();
        lag.everything |= is_listed;
        let recorded = self.recorded.as_ref().filter(|_| with_records);
        if let (Some(missed), false) = (&mut self.missed, lag.everything) {
            let fresh = recorded.map_or(Records::NONE, Recorded::fresh);
            lag.everything = !fresh.iter().all(|record| missed.take(record));
        }
    }

    /// Notes that the devices of a block have fetched what was listed.
    pub fn fetched(&mut self) {
        self.sources.forget_written();
    }

    /// Notes that the records of a block were sent: the next ones go elsewhere. The host's copy
    /// follows later.
    pub fn rotate_buffers(&mut self) -> Result<()> {
        match &mut self.recorded {
            Some(recorded) => recorded.rotate_buffers(&mut self.sources, &self.threads),
            None => Ok(()),
        }
    }

    /// Lets writes be recorded again, after the CPU has begun a block in place of the devices.
    pub fn resume_recording(&mut self) {
        self.recorded.iter_mut().for_each(Recorded::resume);
    }

    /// Applies a function to the latest sources at some addresses, and to what they have beside their
    /// records, and returns its results; `None` where no source was written.
    pub fn each<T>(
        &mut self,
        addresses: impl IntoIterator<Item = usize>,
        make: impl Fn(Source, Supplement) -> T,
    ) -> Result<Vec<Option<T>>> {
        self.write_back_sent()?;
        let mut staged: HashMap<u32, usize> = HashMap::new();
        let count = self.staged.len();
        staged.try_reserve(count).map_err(|_| memory::none::<(u32, usize)>(count, "the table of staged sources"))?;
        staged.extend(self.staged.iter().enumerate().map(|(place, (address, _))| (*address, place)));
        let n_coefficients = self.sources.n_coefficients();
        let mut latest = |address: usize| {
            let staged = staged.get(&(address as u32)).copied();
            let recorded = || self.recorded.as_mut()?.read(address);
            let staged_source = staged.map(|place| self.staged[place].1);
            let mut source = staged_source.or_else(recorded).or_else(|| self.sources.read(address))?;
            source.coefficients[n_coefficients..].fill([0.0; 3]);
            let supplement = staged.and_then(|place| self.staged_supplements.get(place).copied());
            Some(make(source, supplement.unwrap_or_else(|| self.sources.supplement(address))))
        };
        memory::collected(addresses.into_iter().map(&mut latest), "copies of sources")
    }

    fn fresh(&self, with_records: bool) -> Records<'_> {
        self.recorded.as_ref().filter(|_| with_records).map_or(Records::NONE, Recorded::fresh)
    }

    fn is_listed(&self) -> bool {
        !matches!(self.sources.written(), Written::Addresses([]))
    }
}

/// The number of staged writes for which memory is kept. With more than these, or an eighth of all,
/// the lists that they wait for are made.
pub const STAGED: usize = 1 << 13;

/// The number of records that a thread writes at a time.
const OF_JOB: usize = 1 << 8;

/// Returns how many different addresses there are among some. They are counted one range at a time,
/// which takes no memory.
fn distinct(addresses: impl Iterator<Item = u32> + Clone) -> usize {
    const RANGE: u64 = 1 << 18;
    let (mut count, mut end) = (0, 0);
    while let Some(first) = addresses.clone().map(u64::from).filter(|address| *address >= end).min() {
        end = first + RANGE;
        let mut seen = [0u64; RANGE as usize / 64];
        for address in addresses.clone().map(u64::from).filter(|address| (first..end).contains(address)) {
            seen[(address - first) as usize / 64] |= 1 << ((address - first) % 64);
        }
        count += seen.iter().map(|word| word.count_ones() as usize).sum::<usize>();
    }
    count
}

#[cfg(test)]
mod tests {
    use kyoho_core::{MAX_DERIVATIVES, Order, Precision, Scope};
    use kyoho_laws::catalogue;

    use super::*;

    #[test]
    fn sources_recorded_together_have_the_units_of_those_recorded_one_by_one() {
        const SOURCES: usize = 5000;
        let interaction = catalogue::interaction_of(Order::Fourth, Precision::Mixed, Scope::Full).unwrap();
        let source = |size: f64| Source::from_derivatives(1, size, 0.0, [[size; 3]; 4]);
        let journal = || {
            let mut journal = UpdateJournal::new(&interaction, false, Threads::for_copies(3)).unwrap();
            (0..SOURCES)
                .for_each(|address| journal.write_to_host(address, &source(1.0), &Supplement::default()).unwrap());
            journal.make_room(SOURCES, 1).unwrap();
            journal
        };
        let (mut together, mut one_by_one) = (journal(), journal());
        let units = |journal: &UpdateJournal| journal.sources().units(&[1.0; MAX_DERIVATIVES], &interaction);
        let before = units(&together);
        let addresses = || (0..2000).map(|place| 7 * place % SOURCES);
        assert!(together.record_all(addresses(), &|_| Some(source(1e9))).unwrap());
        addresses().for_each(|address| assert!(one_by_one.record(address, &source(1e9))));
        assert_eq!(units(&together), units(&one_by_one));
        assert_ne!(units(&together), before);
    }

    #[test]
    fn addresses_are_counted_once_wherever_they_lie() {
        for addresses in [vec![], vec![7], vec![7, 7, 8], vec![u32::MAX, 0, 1 << 18, (1 << 18) - 1, 0, u32::MAX]] {
            let expected: std::collections::HashSet<u32> = addresses.iter().copied().collect();
            assert_eq!(distinct(addresses.iter().copied()), expected.len(), "{addresses:?}");
        }
    }
}
