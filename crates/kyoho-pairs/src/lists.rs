//! Lists: groups of sinks, each with the sources that act on it.

use std::ops::Range;

use kyoho_core::{Error, Result, SinkGroup, memory};

/// Groups of consecutive sinks, each with its sources.
#[derive(Debug, Clone, Default)]
pub struct PairLists {
    groups: Vec<SinkGroup>,
    /// The addresses of sources, list after list; without them the sources of a group follow one
    /// another.
    addresses: Option<Vec<u32>>,
}

/// The sources of the groups, as a caller gives them.
pub enum ListedPairs<'a> {
    /// The first address, and how many, of each group.
    Ranges(&'a dyn Fn(usize) -> [i32; 2]),
    /// The first place of each list and, behind the last, the number of all places; and addresses.
    Addresses(&'a dyn Fn(usize) -> i64, &'a dyn Fn(usize) -> i32),
}

fn bad(what: String, value: i64, allowed: impl Into<String>) -> Error {
    Error::BadList { what, value, allowed: allowed.into() }
}

/// Checks an offset against the one before it.
fn offset(name: &str, number: usize, before: i64, value: i64) -> Result<i64> {
    let what = || format!("{name}[{number}]");
    match number {
        0 if value != 0 => Err(bad(what(), value, "0")),
        _ if value < before => Err(bad(what(), value, format!("at least {before}, the one before it"))),
        _ => Ok(value),
    }
}

impl PairLists {
    /// Takes so many groups. `sink_offsets` has the first sink of each and, behind the last, the
    /// number of all.
    pub fn new(groups: usize, sink_offsets: &dyn Fn(usize) -> i64, sources: &ListedPairs) -> Result<PairLists> {
        let what = "the lists of pairs";
        let mut made: Vec<SinkGroup> = memory::room(groups, what)?;
        let (mut sink, mut place) = (offset("sink_offsets", 0, 0, sink_offsets(0))?, 0);
        if let ListedPairs::Addresses(offsets, _) = sources {
            offset("source_offsets", 0, 0, offsets(0))?;
        }
        for group in 0..groups {
            let end = offset("sink_offsets", group + 1, sink, sink_offsets(group + 1))?;
            let (first_source, sources) = match sources {
                ListedPairs::Ranges(ranges) => {
                    let [first, count] = ranges(group);
                    let names = [("first_addresses", first), ("source_counts", count)];
                    if let Some((name, value)) = names.into_iter().find(|(_, value)| *value < 0) {
                        return Err(bad(format!("{name}[{group}]"), value.into(), "0 or more"));
                    }
                    (first as u64, count as u32)
                }
                ListedPairs::Addresses(offsets, _) => {
                    let next = offset("source_offsets", group + 1, place, offsets(group + 1))?;
                    let first = std::mem::replace(&mut place, next);
                    let count = u32::try_from(next - first).map_err(|_| {
                        bad(format!("the length of list {group}"), next - first, format!("0 to {}", u32::MAX))
                    })?;
                    (first as u64, count)
                }
            };
            made.push(SinkGroup {
                first_source,
                sources,
                sinks: (end - sink) as u32,
                first_sink: sink as u32,
                reserved: 0,
            });
            sink = end;
        }
        let addresses = match sources {
            ListedPairs::Ranges(_) => None,
            ListedPairs::Addresses(_, address) => {
                let mut addresses = memory::room(place as usize, what)?;
                for place in 0..place as usize {
                    let given = address(place);
                    let known = u32::try_from(given);
                    addresses.push(known.map_err(|_| bad(format!("addresses[{place}]"), given.into(), "0 or more"))?);
                }
                Some(addresses)
            }
        };
        Ok(PairLists { groups: made, addresses })
    }

    /// The number of sinks of all groups.
    pub fn sinks(&self) -> usize {
        self.groups.last().map_or(0, |group| group.sink_range().end)
    }

    /// Fails unless all sources are below a number.
    pub(super) fn check(&self, sources: usize) -> Result<()> {
        let is_beyond = |address: u64| address >= sources as u64;
        let allowed = || format!("below {sources}, the number of sources");
        match &self.addresses {
            Some(addresses) => match addresses.iter().position(|address| is_beyond((*address).into())) {
                Some(place) => Err(bad(format!("addresses[{place}]"), addresses[place].into(), allowed())),
                None => Ok(()),
            },
            None => {
                let ends = |group: &SinkGroup| group.source_range().end > sources && group.sources > 0;
                match self.groups.iter().position(ends) {
                    Some(group) => {
                        let end = self.groups[group].source_range().end as i64 - 1;
                        Err(bad(format!("the last address of group {group}"), end, allowed()))
                    }
                    None => Ok(()),
                }
            }
        }
    }

    /// The groups.
    pub(super) fn groups(&self) -> &[SinkGroup] {
        &self.groups
    }

    /// The addresses of some places, if there are lists of addresses.
    pub(super) fn addresses(&self, places: Range<usize>) -> Option<&[u32]> {
        self.addresses.as_deref().map(|addresses| &addresses[places])
    }

    /// The address of the source at a place.
    #[inline]
    pub(super) fn address(&self, place: usize) -> usize {
        self.addresses.as_ref().map_or(place, |addresses| addresses[place] as usize)
    }
}
