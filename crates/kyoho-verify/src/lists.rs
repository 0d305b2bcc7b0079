//! Interaction lists and batches in plain vectors, as callers have them.

use std::ops::Range;

use kyoho_core::{BodyColumns, Result, Sink, Source};
use kyoho_engine::System;
use kyoho_engine::lists::{Division, GivenBodies, GivenLists, GivenSources, SourceDivision};

/// Groups of consecutive sinks, and the sources of each.
#[derive(Debug, Clone)]
pub struct PlainLists {
    /// The first sink of each group and, behind the last group, the number of sinks.
    pub sink_offsets: Vec<i64>,
    /// The first place of each list and, behind the last list, the number of places; empty where
    /// the sources are ranges.
    pub source_offsets: Vec<i64>,
    /// The sources of each group.
    pub sources: PlainSources,
}

/// The sources of each group, in one of the three forms of the interface.
#[derive(Debug, Clone)]
pub enum PlainSources {
    /// The first address and the number of addresses of each group.
    Ranges(Vec<[i32; 2]>),
    /// Addresses, list after list.
    Addresses(Vec<i32>),
    /// Sources of the call, list after list.
    Own(Vec<Source>),
}

/// Systems of bodies whose forces on each other are computed in one call.
#[derive(Debug, Clone)]
pub struct PlainBatch {
    /// The first body of each system and, behind the last system, the number of bodies.
    pub offsets: Vec<i64>,
    /// The bodies, system after system.
    pub bodies: Vec<Source>,
    /// The squared softening length of each body.
    pub softening2: Vec<f64>,
}

/// Returns the first place of each of some lists and, behind the last list, the number of places.
fn offsets_of(lengths: impl Iterator<Item = usize>) -> Vec<i64> {
    let mut offsets = vec![0];
    let mut end = 0;
    offsets.extend(lengths.map(|length| {
        end += length as i64;
        end
    }));
    offsets
}

/// Returns the places of a list.
fn places(offsets: &[i64], number: usize) -> Range<usize> {
    offsets[number] as usize..offsets[number + 1] as usize
}

impl PlainLists {
    /// Makes groups of as many sinks, each with the sources at some consecutive addresses.
    pub fn of_ranges(groups: &[(usize, Range<usize>)]) -> PlainLists {
        let range = |(_, range): &(usize, Range<usize>)| [range.start as i32, range.len() as i32];
        PlainLists {
            sink_offsets: offsets_of(groups.iter().map(|(sinks, _)| *sinks)),
            source_offsets: Vec::new(),
            sources: PlainSources::Ranges(groups.iter().map(range).collect()),
        }
    }

    /// Makes groups of as many sinks, each with the sources at some addresses.
    pub fn of_addresses(groups: &[(usize, Vec<usize>)]) -> PlainLists {
        PlainLists {
            sink_offsets: offsets_of(groups.iter().map(|(sinks, _)| *sinks)),
            source_offsets: offsets_of(groups.iter().map(|(_, list)| list.len())),
            sources: PlainSources::Addresses(
                groups.iter().flat_map(|(_, list)| list).map(|address| *address as i32).collect(),
            ),
        }
    }

    /// Makes groups of as many sinks, each with sources that come with the call.
    pub fn of_sources(groups: &[(usize, Vec<Source>)]) -> PlainLists {
        PlainLists {
            sink_offsets: offsets_of(groups.iter().map(|(sinks, _)| *sinks)),
            source_offsets: offsets_of(groups.iter().map(|(_, list)| list.len())),
            sources: PlainSources::Own(groups.iter().flat_map(|(_, list)| list).copied().collect()),
        }
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> usize {
        self.sink_offsets.len() - 1
    }

    /// Returns the number of sinks of all groups.
    pub fn sinks(&self) -> usize {
        self.sink_offsets.last().map_or(0, |sinks| *sinks as usize)
    }

    /// Returns the sinks of a group.
    pub fn sinks_of(&self, group: usize) -> Range<usize> {
        places(&self.sink_offsets, group)
    }

    /// Returns the sources of a group. `written` returns the source at an address of the system.
    pub fn sources_of(&self, group: usize, written: impl Fn(usize) -> Option<Source>) -> Vec<Source> {
        match &self.sources {
            PlainSources::Ranges(ranges) => {
                let [first, count] = ranges[group].map(|number| number as usize);
                (first..first + count).filter_map(written).collect()
            }
            PlainSources::Addresses(addresses) => {
                let list = &addresses[places(&self.source_offsets, group)];
                list.iter().filter_map(|address| written(*address as usize)).collect()
            }
            PlainSources::Own(sources) => sources[places(&self.source_offsets, group)].to_vec(),
        }
    }

    /// Returns the groups of these numbers.
    pub fn picked(&self, groups: &[usize]) -> PlainLists {
        let list = |group: usize| places(&self.source_offsets, group);
        let offsets =
            |places: &dyn Fn(usize) -> Range<usize>| offsets_of(groups.iter().map(|group| places(*group).len()));
        let sources = match &self.sources {
            PlainSources::Ranges(ranges) => PlainSources::Ranges(groups.iter().map(|group| ranges[*group]).collect()),
            PlainSources::Addresses(addresses) => {
                PlainSources::Addresses(groups.iter().flat_map(|group| &addresses[list(*group)]).copied().collect())
            }
            PlainSources::Own(sources) => {
                PlainSources::Own(groups.iter().flat_map(|group| &sources[list(*group)]).copied().collect())
            }
        };
        let has_lists = !self.source_offsets.is_empty();
        PlainLists {
            sink_offsets: offsets(&|group| self.sinks_of(group)),
            source_offsets: if has_lists { offsets(&list) } else { Vec::new() },
            sources,
        }
    }

    /// Starts the forces on the groups, as [`System::start_lists`] does.
    pub fn start(&self, system: &mut System, skip_own_index: bool, sinks: &[Sink]) -> Result<()> {
        let offsets = SourceDivision::Offsets(&|number: usize| self.source_offsets[number]);
        let mut start = |division: SourceDivision, sources: GivenSources| {
            let division = Division::Host { sinks: &|number: usize| self.sink_offsets[number], sources: division };
            let given = GivenLists { groups: self.groups(), division, sources };
            hand_over_sinks(sinks, |sinks| system.start_lists(skip_own_index, sinks, &given))
        };
        match &self.sources {
            PlainSources::Ranges(ranges) => start(SourceDivision::Ranges(&|group| ranges[group]), GivenSources::Ranges),
            PlainSources::Addresses(addresses) => {
                start(offsets, GivenSources::Addresses(&|first, to| copy(addresses, first, to)))
            }
            PlainSources::Own(sources) => {
                Columns::of(sources).hand_over(|sources| start(offsets, GivenSources::Own(sources)))
            }
        }
    }
}

/// Hands over sinks as [`System::start_lists`] takes them.
pub fn hand_over_sinks<R>(sinks: &[Sink], take: impl FnOnce(&GivenBodies) -> R) -> R {
    Columns::of_sinks(sinks).hand_over(|sinks| take(&sinks))
}

impl PlainBatch {
    /// Makes a batch of systems with one softening for all.
    pub fn of(systems: &[Vec<Source>], softening2: f64) -> PlainBatch {
        let bodies: Vec<Source> = systems.iter().flatten().copied().collect();
        PlainBatch {
            offsets: offsets_of(systems.iter().map(Vec::len)),
            softening2: vec![softening2; bodies.len()],
            bodies,
        }
    }

    /// Returns the number of systems.
    pub fn systems(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the numbers of the bodies of a system.
    pub fn bodies_of(&self, system: usize) -> Range<usize> {
        places(&self.offsets, system)
    }

    /// Starts the forces, as [`System::start_batch`] does.
    pub fn start(&self, system: &mut System) -> Result<()> {
        Columns::of(&self.bodies).hand_over(|bodies| {
            let softening2 = |first: usize, to: &mut [f64]| copy(&self.softening2, first, to);
            let mut bodies = bodies;
            bodies.columns.softening2 = Some(&softening2);
            let offsets = |number| self.offsets[number];
            let division = Division::Host { sinks: &offsets, sources: SourceDivision::Offsets(&offsets) };
            system.start_batch(self.systems(), division, &bodies)
        })
    }
}

/// The quantities of sinks or sources, one behind the other. Those that say nothing are left out,
/// as a caller may do.
struct Columns {
    count: usize,
    columns: BodyColumns<Vec<f64>, Vec<i32>>,
}

impl Columns {
    fn of(sources: &[Source]) -> Columns {
        let mut factorial = 1.0;
        let derivatives = std::array::from_fn(|k| {
            factorial *= k.max(1) as f64;
            let components = sources.iter().flat_map(|source| source.coefficients[k]);
            let column: Vec<f64> = components.map(|component| component * factorial).collect();
            (k == 0 || column.iter().any(|component| *component != 0.0)).then_some(column)
        });
        let times: Vec<f64> = sources.iter().map(|source| source.time).collect();
        let indices: Vec<i32> = sources.iter().map(|source| source.index).collect();
        let columns = BodyColumns {
            derivatives,
            masses: Some(sources.iter().map(|source| source.mass).collect()),
            times: times.iter().any(|time| *time != 0.0).then_some(times),
            indices: indices.iter().zip(0..).any(|(index, number)| *index != number).then_some(indices),
            ..BodyColumns::NONE
        };
        Columns { count: sources.len(), columns }
    }

    fn of_sinks(sinks: &[Sink]) -> Columns {
        let derivatives = std::array::from_fn(|k| {
            let column: Vec<f64> =
                sinks.iter().flat_map(|sink| sink.derivatives.get(k).copied().unwrap_or_default()).collect();
            (k == 0 || column.iter().any(|component| *component != 0.0)).then_some(column)
        });
        let columns = BodyColumns {
            derivatives,
            softening2: Some(sinks.iter().map(|sink| sink.softening2).collect()),
            indices: Some(sinks.iter().map(|sink| sink.index).collect()),
            ..BodyColumns::NONE
        };
        Columns { count: sinks.len(), columns }
    }

    fn hand_over<R>(&self, take: impl FnOnce(GivenBodies) -> R) -> R {
        let of_columns = self.columns.as_ref().map(
            |column| move |first: usize, to: &mut [f64]| copy(column, first, to),
            |column| move |first: usize, to: &mut [i32]| copy(column, first, to),
            |column| move |first: usize, to: &mut [f64]| copy(column, 3 * first, to),
        );
        let columns = of_columns.as_ref().map(|copy| copy as _, |copy| copy as _, |copy| copy as _);
        take(GivenBodies { count: self.count, columns, ..GivenBodies::default() })
    }
}

fn copy<T: Copy>(from: &[T], first: usize, to: &mut [T]) {
    to.copy_from_slice(&from[first..][..to.len()]);
}
