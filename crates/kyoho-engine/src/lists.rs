//! Interaction lists as the caller gives them, checked and copied.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Pod;

use kyoho_core::memory;
use kyoho_core::{
    AddressTable, Bodies, BodyColumns, DeviceArray, DeviceBodies, DeviceGroups, Error, GroupTable, Interaction,
    InteractionLists, ListedSources, Result, SinkGroup,
};
use kyoho_hal::threads::Threads;
use kyoho_laws::simd::stream;

/// Copies the items of an array of the caller from a place on.
pub type Column<'a, T> = &'a (dyn Fn(usize, &mut [T]) + Sync);
/// Returns an offset by its number.
pub type Offsets<'a> = &'a (dyn Fn(usize) -> i64 + Sync);

/// The lists of a call, as the caller has them.
pub struct GivenLists<'a> {
    /// The number of groups.
    pub groups: usize,
    /// Which sinks and sources each group has.
    pub division: Division<'a>,
    /// The sources.
    pub sources: GivenSources<'a>,
}

/// Which sinks and sources the groups have.
#[derive(Clone, Copy)]
pub enum Division<'a> {
    /// By arrays of the host.
    Host {
        /// The first sink of each group, and behind the last group the number of all sinks.
        sinks: Offsets<'a>,
        /// The places of its sources.
        sources: SourceDivision<'a>,
    },
    /// By arrays on a device.
    Device(DeviceGroups),
}

/// Which sources the groups have.
#[derive(Clone, Copy)]
pub enum SourceDivision<'a> {
    /// Consecutive addresses of the system: the first, and how many, of each group.
    Ranges(&'a (dyn Fn(usize) -> [i32; 2] + Sync)),
    /// The first place of each list, and behind the last list the number of all places.
    Offsets(Offsets<'a>),
}

/// The sources of groups, as the caller has them.
#[derive(Clone, Copy)]
#[expect(clippy::large_enum_variant, reason = "a call has one")]
pub enum GivenSources<'a> {
    /// Ranges of addresses of the system.
    Ranges,
    /// Addresses of the system, list after list.
    Addresses(Column<'a, i32>),
    /// Addresses of the system, list after list, in memory of the device, where the groups are too.
    AddressesOnDevice(DeviceArray),
    /// Sources that the system does not keep, list after list.
    Own(GivenBodies<'a>),
}

/// Sinks or sources of a call, quantity after quantity.
#[derive(Clone, Copy, Default)]
pub struct GivenBodies<'a> {
    /// The number of bodies.
    pub count: usize,
    /// Their quantities. Sources have positions and masses at least, sinks positions. The engine
    /// reads no `radii2` and no `steps`.
    pub columns: GivenColumns<'a>,
    /// The squared softening of sinks that are not given one each.
    pub softening2: f64,
    /// Their arrays on the device, in place of `columns`, if they lie there.
    pub on_device: Option<DeviceBodies>,
}

/// Quantities of the caller's bodies: vectors have three numbers each.
pub type GivenColumns<'a> = BodyColumns<Column<'a, f64>, Column<'a, i32>>;

/// The bytes that a thread copies at a time: they are still near when it checks them.
const BYTES_OF_JOB: usize = 96 << 10;
/// From this many bytes on, what is copied for devices goes past the caches.
const MANY_BYTES: usize = 1 << 20;

/// Checks the groups of a call that the host has. `end` is the end of the addresses of the system's
/// sources.
pub fn make_groups(
    lists: &mut InteractionLists,
    given: &GivenLists,
    (sinks, is_batch): (usize, bool),
    end: usize,
    threads: &Threads,
) -> Result<()> {
    let names = if is_batch { ("the offset", "bodies") } else { ("the sink offset", "sinks") };
    let mut pages = std::mem::take(&mut lists.groups).pages;
    pages.grow(given.groups.saturating_mul(size_of::<SinkGroup>()), "interaction lists")?;
    lists.groups.pages = pages;
    groups(&mut lists.groups, given, (sinks, end), names, threads)
}

/// Makes room for what a call gives, whose groups are made.
pub fn prepare(
    lists: &mut InteractionLists,
    given: &GivenLists,
    (sinks, is_batch): (&GivenBodies, bool),
    interaction: &Interaction,
) -> Result<()> {
    lists.is_batch = is_batch;
    let sources = lists.sources_of(&(0..lists.groups.len())).end;
    let of_sinks = std::mem::take(&mut lists.sinks);
    lists.sinks = bodies(of_sinks.pages, sinks, interaction.n_derivatives)?;
    let mut pages = match std::mem::take(&mut lists.sources) {
        ListedSources::Ranges => Default::default(),
        ListedSources::Addresses(table) => table.pages,
        ListedSources::Own(own) => own.pages,
    };
    match &given.sources {
        // The memory is not kept: few callers change the form of their lists.
        GivenSources::Ranges => (),
        GivenSources::Addresses(_) => {
            pages.grow(sources * size_of::<i32>(), "interaction lists")?;
            lists.sources = ListedSources::Addresses(AddressTable { pages, count: sources, on_device: None });
        }
        GivenSources::AddressesOnDevice(addresses) => {
            let on_device = Some(*addresses);
            lists.sources = ListedSources::Addresses(AddressTable { pages, count: sources, on_device });
        }
        GivenSources::Own(own) => {
            lists.sources = ListedSources::Own(bodies(pages, own, interaction.n_coefficients)?);
        }
    }
    Ok(())
}

/// Makes room for bodies with this many vectors.
fn bodies(mut pages: memory::Pages, given: &GivenBodies, vectors: usize) -> Result<Bodies> {
    let GivenBodies { count, softening2, on_device, mut columns } = *given;
    columns.derivatives[vectors..].fill(None);
    (columns.radii2, columns.steps) = (None, None);
    let (columns, bytes) = columns.lay_out(count);
    pages.grow(bytes, "interaction lists")?;
    Ok(Bodies { pages, count, columns, softening2, on_device })
}

/// A part of a column that one thread copies and checks at a time.
struct Job<'a> {
    to: &'a mut [u8],
    /// The number of the first item.
    first: usize,
    kind: Kind<'a>,
}

/// The kind of a column, with the limit of its items.
#[derive(Clone, Copy)]
enum Kind<'a> {
    /// Numbers between two limits, so many to a body.
    Reals(Column<'a, f64>, usize, [f64; 2]),
    /// Indices.
    Integers(Column<'a, i32>),
    /// Addresses below an end.
    Addresses(Column<'a, i32>, usize),
}

impl Kind<'_> {
    /// Returns the bytes of a body.
    fn width(&self) -> usize {
        match self {
            Kind::Reals(_, width, _) => 8 * width,
            _ => 4,
        }
    }
}

impl Job<'_> {
    /// Copies the items, past the caches or not, and returns whether all of them are good at first
    /// sight.
    fn run(self, streams: bool) -> bool {
        let (to, first) = (self.to, self.first);
        match self.kind {
            Kind::Reals(from, width, [lowest, highest]) => {
                // Without a branch, so that vectors are compared at a time.
                let are_good = |values: &[f64]| {
                    values.iter().fold(true, |all, value| all & (*value >= lowest) & (*value <= highest))
                };
                copy_items(to, (from, first, width), streams, are_good)
            }
            Kind::Integers(from) => copy_items(to, (from, first, 1), streams, |_| true),
            Kind::Addresses(from, end) => {
                let last = i32::try_from(end).map_or(i32::MAX, |end| end - 1);
                let are_good = |addresses: &[i32]| {
                    // One of these is negative if the address is, or is larger than the last one.
                    let signs = addresses.iter().fold(0, |all, address| all | address | last.wrapping_sub(*address));
                    signs >= 0
                };
                copy_items(to, (from, first, 1), streams, are_good)
            }
        }
    }
}

/// The numbers that go past the caches at a time: whole rows, and whole lines of the caches.
const STREAMED: usize = 1008;

/// Copies items of a column from a row on, of this many numbers each, and returns whether all of
/// them are good.
fn copy_items<T: Pod>(
    to: &mut [u8],
    (from, first, width): (Column<T>, usize, usize),
    streams: bool,
    are_good: impl Fn(&[T]) -> bool,
) -> bool {
    let to: &mut [T] = bytemuck::cast_slice_mut(to);
    if !streams {
        from(first, to);
        return are_good(to);
    }
    let (mut some, mut good) = ([T::zeroed(); STREAMED], true);
    for (number, to) in to.chunks_mut(STREAMED).enumerate() {
        let some = &mut some[..to.len()];
        from(first + number * (STREAMED / width), some);
        good &= are_good(some);
        stream::copy(to, some);
    }
    stream::finish();
    good
}

/// Divides bytes that a column has, those of some bodies, into jobs, and returns the bytes behind
/// them.
fn jobs<'a>(
    (memory, start): (&'a mut [u8], usize),
    (column, bodies): (usize, &Range<usize>),
    kind: Kind<'a>,
    all: &mut Vec<Job<'a>>,
) -> Result<(&'a mut [u8], usize)> {
    let width = kind.width();
    let bytes = column + width * bodies.start..column + width * bodies.end;
    let (_, rest) = memory.split_at_mut(bytes.start - start);
    let (mine, rest) = rest.split_at_mut(bytes.len());
    let items = BYTES_OF_JOB / width;
    for (number, to) in mine.chunks_mut(items * width).enumerate() {
        memory::push(all, Job { to, first: bodies.start + number * items, kind }, "pieces of lists")?;
    }
    Ok((rest, bytes.end))
}

/// Divides the quantities of some bodies into jobs.
fn jobs_of_bodies<'a>(
    bodies: &'a mut Bodies,
    some: &Range<usize>,
    given: &GivenBodies<'a>,
    interaction: &Interaction,
    all: &mut Vec<Job<'a>>,
) -> Result<()> {
    let (bounds, from) = (interaction.bounds, &given.columns);
    let kinds = BodyColumns {
        derivatives: std::array::from_fn(|k| {
            let largest = if k == 0 { bounds.position } else { f64::MAX };
            from.derivatives[k].map(|from| Kind::Reals(from, 3, [-largest, largest]))
        }),
        masses: from.masses.map(|from| Kind::Reals(from, 1, [-bounds.mass, bounds.mass])),
        softening2: from.softening2.map(|from| Kind::Reals(from, 1, [0.0, largest_softening2(interaction)])),
        times: from.times.map(|from| Kind::Reals(from, 1, [-f64::MAX, f64::MAX])),
        indices: from.indices.map(Kind::Integers),
        ..BodyColumns::NONE
    };
    let mut rest = (bodies.pages.as_mut_slice::<u8>(), 0);
    for (column, kind) in bodies.columns.zip(kinds).given() {
        rest = jobs(rest, (column, some), kind, all)?;
    }
    Ok(())
}

/// Copies the sinks and sources of some groups, for a device or the CPU. `check` fails where a body
/// is not as it should be: the sink of a number, or the source of a number that came with the call.
pub fn copy(
    lists: &mut InteractionLists,
    given: &GivenLists,
    (sinks, end): (&GivenBodies, usize),
    (some, for_device): (&Range<usize>, bool),
    interaction: &Interaction,
    threads: &Threads,
    check: impl Fn(&InteractionLists, Checked) -> Result<()>,
) -> Result<()> {
    let (sink_range, source_range) = (lists.sinks_of(some), lists.sources_of(some));
    let mut all = Vec::new();
    jobs_of_bodies(&mut lists.sinks, &sink_range, sinks, interaction, &mut all)?;
    match (&mut lists.sources, &given.sources) {
        (ListedSources::Addresses(table), GivenSources::Addresses(addresses)) => {
            let memory = (table.pages.as_mut_slice::<u8>(), 0);
            jobs(memory, (0, &source_range), Kind::Addresses(*addresses, end), &mut all)?;
        }
        (ListedSources::Own(own), GivenSources::Own(given)) => {
            jobs_of_bodies(own, &source_range, given, interaction, &mut all)?;
        }
        _ => (),
    }
    // What lies on the device was checked there.
    let has_each = sinks.columns.softening2.is_some() || sinks.on_device.is_some();
    let good = AtomicBool::new(has_each || (0.0..=largest_softening2(interaction)).contains(&sinks.softening2));
    let streams = for_device && all.iter().map(|job| job.to.len()).sum::<usize>() >= MANY_BYTES;
    threads.each(all.into_iter(), |job| {
        if !job.run(streams) {
            good.store(false, Ordering::Relaxed);
        }
    });
    if good.into_inner() {
        return Ok(());
    }
    if lists.sinks.on_device().is_none() {
        sink_range.into_iter().try_for_each(|sink| check(lists, Checked::Sink(sink)))?;
    }
    match &lists.sources {
        ListedSources::Ranges => Ok(()),
        ListedSources::Addresses(table) if table.on_device().is_some() => Ok(()),
        ListedSources::Own(own) if own.on_device().is_some() => Ok(()),
        ListedSources::Addresses(table) => {
            let is_bad = |place: &usize| table.addresses()[*place].cast_unsigned() as usize >= end;
            match source_range.into_iter().find(is_bad) {
                Some(place) => Err(bad_address(&lists.groups, place, table.addresses()[place], end)),
                None => Ok(()),
            }
        }
        ListedSources::Own(_) => source_range.into_iter().try_for_each(|source| check(lists, Checked::Source(source))),
    }
}

/// Returns the largest squared softening of sinks.
pub(super) fn largest_softening2(interaction: &Interaction) -> f64 {
    interaction.bounds.position * interaction.bounds.position
}

/// A body of a call that is checked.
#[derive(Debug, Clone, Copy)]
pub enum Checked {
    /// The sink of a number.
    Sink(usize),
    /// The source of a number.
    Source(usize),
}

fn bad_offset(what: &str, number: usize, value: i64, allowed: String) -> Error {
    Error::BadList { what: format!("{what} {number}"), value, allowed }
}

/// Returns the error that the last offset is not the number of what the offsets divide.
fn bad_last_offset(what: &str, number: usize, value: i64, (count, of): (usize, &str)) -> Error {
    Error::BadList {
        what: format!("{what} {number}, the last,"),
        value,
        allowed: format!("{count}, the number of {of}"),
    }
}

/// The fewest groups that a thread checks at a time, and the most jobs.
const GROUPS_OF_JOB: usize = 1 << 10;
/// See [`GROUPS_OF_JOB`].
const JOBS_OF_GROUPS: usize = 64;

/// The offsets of a call, the ends of what they divide, and the names of an offset of sinks and of
/// sinks.
struct Places<'a> {
    sink_offset: Offsets<'a>,
    of_sources: SourceDivision<'a>,
    sinks: usize,
    end: usize,
    names: (&'a str, &'a str),
}

/// Checks the offsets and makes the groups. The names are those of an offset of sinks and of sinks.
fn groups(
    table: &mut GroupTable,
    given: &GivenLists,
    (sinks, end): (usize, usize),
    names: (&str, &str),
    threads: &Threads,
) -> Result<()> {
    (table.count, table.pairs) = (0, 0);
    // The numbers of sinks have 32 bits.
    if sinks > i32::MAX as usize {
        let allowed = format!("0 to {}", i32::MAX);
        return Err(Error::BadCount { what: "the number of sinks", value: sinks as i64, allowed });
    }
    let bytes = given.groups * size_of::<SinkGroup>();
    let groups: &mut [SinkGroup] = bytemuck::cast_slice_mut(&mut table.pages.as_mut_slice::<u8>()[..bytes]);
    let Division::Host { sinks: sink_offset, sources: of_sources } = given.division else {
        return Err(Error::Internal { what: "the host has no offsets of groups".into() });
    };
    let source_at = |number: usize| match of_sources {
        SourceDivision::Ranges(_) => 0,
        SourceDivision::Offsets(offset) => offset(number),
    };
    let (first_sink, first_source) = (sink_offset(0), source_at(0));
    if first_sink != 0 {
        return Err(bad_offset(names.0, 0, first_sink, "0".into()));
    }
    if first_source != 0 {
        return Err(bad_offset("the source offset", 0, first_source, "0".into()));
    }
    let places = Places { sink_offset, of_sources, sinks, end, names };
    let groups_of_job = given.groups.div_ceil(JOBS_OF_GROUPS).max(GROUPS_OF_JOB);
    let jobs = groups.chunks_mut(groups_of_job).enumerate();
    let mut pairs: Vec<Result<u64>> = memory::filled(jobs.len(), Ok(0), "pieces of lists")?;
    threads.each(jobs.zip(&mut pairs), |((job, groups), pairs)| *pairs = places.fill(job * groups_of_job, groups));
    let pairs = pairs.into_iter().try_fold(0, |all, some| Ok(all + some?))?;
    let (last_sink, last_source) = (sink_offset(given.groups), source_at(given.groups));
    if last_sink != sinks as i64 {
        return Err(bad_last_offset(names.0, given.groups, last_sink, (sinks, names.1)));
    }
    if let GivenSources::Own(own) = &given.sources
        && last_source != own.count as i64
    {
        return Err(bad_last_offset("the source offset", given.groups, last_source, (own.count, "sources")));
    }
    (table.count, table.pairs) = (given.groups, pairs);
    Ok(())
}

impl Places<'_> {
    /// Makes the groups from a number on, and returns the number of their pairs.
    fn fill(&self, first: usize, groups: &mut [SinkGroup]) -> Result<u64> {
        let Places { sink_offset, of_sources, sinks, end, names: (of_sinks, are_sinks) } = *self;
        let mut pairs = 0;
        let mut sink = sink_offset(first);
        let mut source = if let SourceDivision::Offsets(offset) = of_sources { offset(first) } else { 0 };
        for (number, group) in (first..).zip(groups) {
            let next_sink = sink_offset(number + 1);
            if next_sink < sink || next_sink > sinks as i64 {
                let allowed = format!("{sink} (the offset before it) to {sinks} (the number of {are_sinks})");
                return Err(bad_offset(of_sinks, number + 1, next_sink, allowed));
            }
            let (first, count) = match of_sources {
                SourceDivision::Ranges(ranges) => range_of_group(number, ranges(number), end)?,
                SourceDivision::Offsets(offset) => {
                    let next = offset(number + 1);
                    if next < source || next.saturating_sub(source) > i64::from(i32::MAX) {
                        let most = source.saturating_add(i64::from(i32::MAX));
                        let allowed = format!("{source} (the offset before it) to {most}");
                        return Err(bad_offset("the source offset", number + 1, next, allowed));
                    }
                    let count = next - source;
                    (std::mem::replace(&mut source, next), count)
                }
            };
            *group = SinkGroup {
                first_source: first as u64,
                sources: count as u32,
                sinks: (next_sink - sink) as u32,
                first_sink: sink as u32,
                reserved: 0,
            };
            pairs += group.pairs();
            sink = next_sink;
        }
        Ok(pairs)
    }
}

/// Checks the range of addresses of a group.
fn range_of_group(number: usize, [first, count]: [i32; 2], end: usize) -> Result<(i64, i64)> {
    if count < 0 {
        return Err(bad_offset("the source count of group", number, count.into(), format!("0 to {}", i32::MAX)));
    }
    let last = i64::from(first) + i64::from(count);
    if count > 0 && (first < 0 || last > end as i64) {
        let (bad, what) = if first < 0 { (i64::from(first), "first") } else { (last - 1, "last") };
        return Err(Error::BadListedAddress {
            what: format!("the {what} address of group {number}"),
            address: bad,
            end,
        });
    }
    Ok((if count > 0 { first.into() } else { 0 }, count.into()))
}

fn bad_address(groups: &[SinkGroup], place: usize, address: i32, end: usize) -> Error {
    let group = groups.partition_point(|group| group.source_range().end <= place);
    let first = groups.get(group).map_or(0, |group| group.first_source as usize);
    bad_address_of_group((group, place - first), address, end)
}

/// Returns the error that an address of a group, of these numbers, is beyond the sources.
pub(super) fn bad_address_of_group((group, number): (usize, usize), address: i32, end: usize) -> Error {
    Error::BadListedAddress { what: format!("address {number} of group {group}"), address: address.into(), end }
}
