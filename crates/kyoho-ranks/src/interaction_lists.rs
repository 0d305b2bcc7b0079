//! Forces of interaction lists over ranks. Their addresses are those of all sources: the first rank's,
//! up to the highest that was written, then the second's and so on. The part of a group whose sources
//! another rank has goes there with the group's sinks, and the sums come back and are added, in the
//! order of ranks.

use kyoho_core::{Error, Interaction, InteractionLists, ListedSources, Nearest, Result, memory};
use kyoho_engine::System;
use kyoho_engine::lists::{Division, GivenBodies, GivenColumns, GivenLists, GivenSources, SourceDivision};
use kyoho_trees::cpu::domain::RankWords;

use crate::Ranks;
use crate::agreement::Call;
use crate::block::{BlockKind, RankBlock, put_rows, width_of};

/// The name of what ranks exchange in errors about memory.
const WHAT: &str = "interaction lists of other ranks";

/// The interaction lists of this rank, and what it does of those of others.
#[derive(Default)]
pub struct SharedLists {
    given: InteractionLists,
    /// What this rank asks of each.
    requests: Vec<Request>,
    /// The sinks that it asks of each, and that each asks of it.
    asked: Vec<usize>,
    served: Vec<usize>,
    /// The most sinks that any rank asks of another.
    most: usize,
    /// Whether the sums of a group are those of some rank already.
    has_sums: Vec<bool>,
}

/// What a rank asks of another.
#[derive(Default)]
struct Request {
    parts: Vec<Part>,
    /// The addresses of the sources of all parts, or the first of each if they are ranges.
    addresses: Vec<i32>,
}

/// The part of a group whose sources one rank has.
#[derive(Debug, Clone, Copy)]
struct Part {
    group: usize,
    /// The number of its sources.
    sources: u32,
}

impl Request {
    fn push(&mut self, group: usize, sources: u32, first: i32) -> Result<()> {
        memory::push(&mut self.addresses, first, WHAT)?;
        memory::push(&mut self.parts, Part { group, sources }, WHAT)
    }

    /// Adds a source to the last part, if that is of its group, or to a new one.
    fn push_source(&mut self, group: usize, address: i32) -> Result<()> {
        match self.parts.last_mut() {
            Some(part) if part.group == group => {
                part.sources += 1;
                memory::push(&mut self.addresses, address, WHAT)
            }
            _ => self.push(group, 1, address),
        }
    }
}

/// Divides lists among the ranks that have their sources. `first` has the first address of each rank
/// and the end of all.
fn requests(given: &InteractionLists, first: &[usize], by_ranges: bool) -> Result<Vec<Request>> {
    let mut all = memory::collected((1..first.len()).map(|_| Request::default()), WHAT)?;
    let owner_of = |address: usize| first.partition_point(|first| *first <= address) - 1;
    let groups = given.groups.iter().enumerate().filter(|(_, group)| group.sinks > 0);
    for (number, group) in groups {
        let places = group.source_range();
        if by_ranges {
            let mut begin = places.start;
            while begin < places.end {
                let owner = owner_of(begin);
                let end = places.end.min(first[owner + 1]);
                all[owner].push(number, (end - begin) as u32, (begin - first[owner]) as i32)?;
                begin = end;
            }
            continue;
        }
        for place in places {
            let address = match &given.sources {
                ListedSources::Addresses(table) => table.addresses()[place] as usize,
                _ => place,
            };
            let owner = owner_of(address);
            all[owner].push_source(number, (address - first[owner]) as i32)?;
        }
    }
    Ok(all)
}

/// The words of a sink: its index, its squared softening, its vectors.
fn words_of_sink(interaction: &Interaction) -> usize {
    2 + 3 * interaction.n_derivatives
}

/// Writes what this rank asks of each as words: the number of parts and of addresses, the sinks and
/// sources of each part, the addresses, and the sinks.
fn packed(requests: &[Request], given: &InteractionLists, interaction: &Interaction) -> Result<RankWords> {
    let sinks_of = |part: &Part| given.groups[part.group].sink_range();
    let mut parts = memory::room(requests.len(), WHAT)?;
    for request in requests {
        let sinks: usize = request.parts.iter().map(|part| sinks_of(part).len()).sum();
        let addresses = request.addresses.len().div_ceil(2);
        let mut words = memory::room(2 + request.parts.len() + addresses + sinks * words_of_sink(interaction), WHAT)?;
        words.extend([request.parts.len() as u64, request.addresses.len() as u64]);
        words.extend(request.parts.iter().map(|part| (sinks_of(part).len() as u64) << 32 | u64::from(part.sources)));
        words.extend(request.addresses.chunks(2).map(|pair| {
            let second = pair.get(1).copied().unwrap_or(0);
            u64::from(pair[0].cast_unsigned()) | u64::from(second.cast_unsigned()) << 32
        }));
        for sink in request.parts.iter().flat_map(sinks_of) {
            let sink = given.sinks.sink(sink);
            words.extend([u64::from(sink.index.cast_unsigned()), sink.softening2.to_bits()]);
            let vectors = sink.derivatives[..interaction.n_derivatives].iter().flatten();
            words.extend(vectors.map(|component| component.to_bits()));
        }
        parts.push(words);
    }
    RankWords::of(&parts)
}

/// What all ranks ask of this one.
#[derive(Default)]
struct Served {
    /// The sinks and sources of each group.
    groups: Vec<[u32; 2]>,
    addresses: Vec<i32>,
    indices: Vec<i32>,
    softening2: Vec<f64>,
    vectors: [Vec<f64>; kyoho_core::MAX_DERIVATIVES],
    /// The sinks of each rank.
    of_ranks: Vec<usize>,
}

impl Served {
    fn of(words: &RankWords, interaction: &Interaction) -> Result<Served> {
        let mut served = Served::default();
        memory::reserve(&mut served.of_ranks, words.counts.len(), WHAT)?;
        for words in words.each() {
            served.take(words, interaction)?;
        }
        Ok(served)
    }

    /// Takes what one rank asks.
    fn take(&mut self, words: &[u64], interaction: &Interaction) -> Result<()> {
        let (head, words) = words.split_at(2);
        let (groups, words) = words.split_at(head[0] as usize);
        let (addresses, sinks) = words.split_at((head[1] as usize).div_ceil(2));
        let width = words_of_sink(interaction);
        let count = sinks.len() / width;
        memory::reserve(&mut self.groups, groups.len(), WHAT)?;
        memory::reserve(&mut self.addresses, 2 * addresses.len(), WHAT)?;
        memory::reserve(&mut self.indices, count, WHAT)?;
        memory::reserve(&mut self.softening2, count, WHAT)?;
        let vectors = &mut self.vectors[..interaction.n_derivatives];
        vectors.iter_mut().try_for_each(|vector| memory::reserve(vector, 3 * count, WHAT))?;
        self.groups.extend(groups.iter().map(|group| [(group >> 32) as u32, *group as u32]));
        let before = self.addresses.len();
        self.addresses.extend(addresses.iter().flat_map(|pair| [*pair as i32, (pair >> 32) as i32]));
        self.addresses.truncate(before + head[1] as usize);
        for sink in sinks.chunks_exact(width) {
            self.indices.push(sink[0] as i32);
            self.softening2.push(f64::from_bits(sink[1]));
            for (vector, words) in vectors.iter_mut().zip(sink[2..].chunks_exact(3)) {
                vector.extend(words.iter().map(|word| f64::from_bits(*word)));
            }
        }
        self.of_ranks.push(count);
        Ok(())
    }

    /// Begins the forces.
    fn start(&self, system: &mut System, (by_ranges, skip_own_index): (bool, bool)) -> Result<()> {
        let groups = self.groups.len();
        let mut sinks = memory::room(groups + 1, WHAT)?;
        let mut sources = memory::room(groups + 1, WHAT)?;
        let mut ends = [0_i64; 2];
        for [of_sinks, of_sources] in &self.groups {
            sinks.push(ends[0]);
            sources.push(ends[1]);
            ends = [ends[0] + i64::from(*of_sinks), ends[1] + i64::from(*of_sources)];
        }
        sinks.push(ends[0]);
        sources.push(ends[1]);
        let vectors = self
            .vectors
            .each_ref()
            .map(|vector| move |first: usize, to: &mut [f64]| to.copy_from_slice(&vector[3 * first..][..to.len()]));
        let softening2 = |first: usize, to: &mut [f64]| to.copy_from_slice(&self.softening2[first..][..to.len()]);
        let indices = |first: usize, to: &mut [i32]| to.copy_from_slice(&self.indices[first..][..to.len()]);
        let mut columns = GivenColumns { softening2: Some(&softening2), indices: Some(&indices), ..Default::default() };
        for (column, vector) in columns.derivatives.iter_mut().zip(&vectors) {
            *column = Some(vector);
        }
        let bodies = GivenBodies { count: self.indices.len(), columns, ..GivenBodies::default() };
        let (of_sinks, of_sources) = (|number: usize| sinks[number], |number: usize| sources[number]);
        let ranges = |group: usize| [self.addresses[group], self.groups[group][1] as i32];
        let addresses = |first: usize, to: &mut [i32]| to.copy_from_slice(&self.addresses[first..][..to.len()]);
        let (divided, given) = match by_ranges {
            true => (SourceDivision::Ranges(&ranges), GivenSources::Ranges),
            false => (SourceDivision::Offsets(&of_sources), GivenSources::Addresses(&addresses)),
        };
        let division = Division::Host { sinks: &of_sinks, sources: divided };
        system.start_lists(skip_own_index, &bodies, &GivenLists { groups, division, sources: given })
    }
}

impl Ranks {
    /// Begins the forces of the interaction lists of all ranks, as
    /// [`RankedSystem::start_lists`](crate::RankedSystem) says.
    pub fn start_lists(
        &mut self,
        system: &mut System,
        own: impl FnOnce(&mut System, usize, &mut InteractionLists) -> Result<bool>,
    ) -> Result<()> {
        self.pool.begin();
        let free = self.require_no_block();
        let time = system.time() + 0.0;
        self.agree(Call::StartLists, free.map(|()| [system.end_of_sources() as u64, time.to_bits(), 0, 0, 0]))?;
        self.agreement.require_same(1, "the time", |bits| f64::from_bits(bits).to_string())?;
        let ends = self.agreement.told().scan(0, |end, told| {
            *end += told[0] as usize;
            Some(*end)
        });
        let first = memory::collected(std::iter::once(0).chain(ends), WHAT);
        let copied = first.and_then(|first| {
            let end = first.last().copied().unwrap_or(0);
            Ok((own(system, end, &mut self.shared_lists.given)?, first))
        });
        let has_ranges = matches!(self.shared_lists.given.sources, ListedSources::Ranges);
        let has_ranges = has_ranges || self.shared_lists.given.groups.is_empty();
        let told = copied.as_ref().map(|(skip, _)| [u64::from(*skip), u64::from(has_ranges), 0, 0, 0]);
        self.agree(Call::Room, told.map_err(Clone::clone))?;
        self.agreement.require_same(0, "the exclusion", |skips| {
            if skips == 1 { "sources with a sink's index are left out" } else { "none is left out" }.into()
        })?;
        let by_ranges = self.agreement.told().all(|told| told[1] == 1);
        let (skip_own_index, first) = copied?;
        let SharedLists { given, .. } = &self.shared_lists;
        let packed = requests(given, &first, by_ranges)
            .and_then(|requests| Ok((packed(&requests, given, system.interaction())?, requests)));
        let (words, requests) = packed.map_or_else(|error| (Err(error), Vec::new()), |(words, of)| (Ok(words), of));
        self.shared_lists.requests = requests;
        let came = self.swap(words)?;
        let served = Served::of(&came, system.interaction());
        drop(came);
        let room = self.room_of_lists(served.as_ref().map_err(Clone::clone), system.interaction());
        self.agree(Call::Room, room.map(|most| [most as u64, 0, 0, 0, 0]))?;
        let most = self.agreement.told().map(|told| told[0] as usize).max().unwrap_or(0);
        let width = width_of(system.interaction()) * size_of::<f64>();
        let room = self.buffers.messages.make_room(&*self.communicator, width, most);
        self.agree(Call::Room, room.map(|()| [0; 5]))?;
        self.shared_lists.most = most;
        self.lists.forget();
        let started = served.and_then(|served| served.start(system, (by_ranges, skip_own_index)));
        self.block = Some(RankBlock { failed: started.err(), radius: false, kind: BlockKind::Lists });
        Ok(())
    }

    /// Makes room for the sums of the lists, and returns the most sinks that a rank asks of this one.
    fn room_of_lists(&mut self, served: Result<&Served>, interaction: &Interaction) -> Result<usize> {
        let served = served?;
        let SharedLists { given, requests, asked, served: of_ranks, has_sums, .. } = &mut self.shared_lists;
        let sinks = |request: &Request| request.parts.iter().map(|part| given.groups[part.group].sinks as usize).sum();
        *asked = memory::collected(requests.iter().map(sinks), WHAT)?;
        *has_sums = memory::filled(given.groups.len(), false, WHAT)?;
        *of_ranks = memory::collected(served.of_ranks.iter().copied(), WHAT)?;
        let width = width_of(interaction);
        self.buffers.sent.make_room(of_ranks.iter().sum::<usize>().saturating_mul(width), "sums for other ranks")?;
        self.buffers.received.make_room(asked.iter().sum::<usize>().saturating_mul(width), "sums of other ranks")?;
        self.buffers.sums.reserve(given.sinks.len(), interaction.n_sums(), interaction.nearest)?;
        Ok(of_ranks.iter().copied().max().unwrap_or(0))
    }

    /// Waits for the sums of this rank's sources and puts them in rows.
    pub fn wait_for_lists(&mut self, system: &mut System, failed: Option<Error>) -> Result<()> {
        failed.map_or(Ok(()), Err)?;
        let forces = system.wait()?;
        let interaction = forces.interaction;
        self.buffers.sent.set_length(forces.len() * width_of(interaction));
        put_rows(&mut self.buffers.sent, &forces, &self.buffers.threads);
        let Some(place) = self.too_large(forces.values) else { return Ok(()) };
        let mut left = place / interaction.n_sums();
        let rank = self.shared_lists.served.iter().position(|sinks| {
            let is_here = left < *sinks;
            left -= if is_here { 0 } else { *sinks };
            is_here
        });
        let what = format!("a sum on a sink of rank {}", rank.unwrap_or(0));
        Err(self.refuse_sum(what, forces.values[place], interaction))
    }

    /// Gives each rank the sums on its sinks, and adds them.
    pub fn exchange_lists_sums(&mut self, interaction: &Interaction) -> Result<()> {
        let (width, n_sums) = (width_of(interaction), interaction.n_sums());
        let Ranks { communicator, buffers, shared_lists, .. } = self;
        let SharedLists { given, requests, asked, served, most, has_sums } = shared_lists;
        buffers.received.set_length(asked.iter().sum::<usize>() * width);
        let sent = (bytemuck::cast_slice(&buffers.sent), &served[..]);
        let to = (bytemuck::cast_slice_mut(&mut buffers.received), &asked[..]);
        buffers.messages.all_to_all(&mut **communicator, sent, to, width * size_of::<f64>(), *most)?;
        let sums = &mut buffers.sums;
        sums.resize(given.sinks.len(), n_sums, interaction.nearest);
        sums.values.fill(0.0);
        sums.nearest.fill(Nearest::NONE);
        let mut rows = buffers.received.chunks_exact(width);
        for part in requests.iter().flat_map(|request| &request.parts) {
            let adds = std::mem::replace(&mut has_sums[part.group], true);
            for (sink, row) in given.groups[part.group].sink_range().zip(&mut rows) {
                let values = &mut sums.values[sink * n_sums..(sink + 1) * n_sums];
                let terms = values.iter_mut().zip(row);
                // The first ones keep the signs of zeros.
                terms.for_each(|(sum, term)| *sum = if adds { *sum + term } else { *term });
                if let [distance2, index] = row[n_sums..] {
                    sums.nearest[sink].update(Nearest::new(distance2, index as i32));
                }
            }
        }
        Ok(())
    }

    /// Returns the number of sinks of this rank's lists.
    pub fn sinks_of_lists(&self) -> usize {
        self.shared_lists.given.sinks.len()
    }
}
