//! Interaction lists: groups of sinks, each with sources of its own.

use std::ops::{Deref, Range};

use bytemuck::{Pod, Zeroable};

use super::memory::Pages;
use super::{
    BodyColumns, DeviceArray, DeviceBodies, DeviceForces, Interaction, MAX_COEFFICIENTS, MAX_DERIVATIVES, Sink, Source,
    Units,
};

/// A group of consecutive sinks, and the sources that act on them.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct SinkGroup {
    /// The place of the first of its sources, which [`ListedSources`] gives a meaning.
    pub first_source: u64,
    /// The number of its sources.
    pub sources: u32,
    /// The number of its sinks.
    pub sinks: u32,
    /// The first of its sinks.
    pub first_sink: u32,
    /// 0; it fills the structure.
    pub reserved: u32,
}

impl SinkGroup {
    /// Returns the numbers of its sinks.
    #[inline]
    pub fn sink_range(&self) -> Range<usize> {
        let first = self.first_sink as usize;
        first..first + self.sinks as usize
    }

    /// Returns the places of its sources.
    #[inline]
    pub fn source_range(&self) -> Range<usize> {
        let first = self.first_source as usize;
        first..first + self.sources as usize
    }

    /// Returns the number of pairs of a sink and a source.
    #[inline]
    pub fn pairs(&self) -> u64 {
        u64::from(self.sinks) * u64::from(self.sources)
    }
}

/// Groups of sinks, in memory that devices may page-lock, or on a device alone.
#[derive(Debug, Clone, Default)]
pub struct GroupTable {
    /// The groups.
    pub pages: Pages,
    /// How many there are.
    pub count: usize,
    /// The number of pairs of a sink and a source of its group.
    pub pairs: u64,
    /// The number of all sources of groups that a device has made, and keeps.
    pub on_device: Option<usize>,
}

impl GroupTable {
    /// Returns the number of groups.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a device has made them. Then they are not here.
    #[inline]
    pub fn is_on_device(&self) -> bool {
        self.on_device.is_some()
    }

    /// Returns its memory.
    #[inline]
    pub fn memory(&self) -> &[u8] {
        self.pages.as_slice()
    }
}

impl Deref for GroupTable {
    type Target = [SinkGroup];

    fn deref(&self) -> &[SinkGroup] {
        let here = if self.is_on_device() { 0 } else { self.count };
        bytemuck::cast_slice(&self.pages.as_slice::<u8>()[..here * size_of::<SinkGroup>()])
    }
}

/// The places that the sources of groups are counted by.
#[derive(Debug, Clone, Default)]
#[expect(clippy::large_enum_variant, reason = "a block has one")]
pub enum ListedSources {
    /// Addresses of the system.
    #[default]
    Ranges,
    /// Places in this table of addresses of the system.
    Addresses(AddressTable),
    /// Numbers of sources that came with the call.
    Own(Bodies),
}

impl ListedSources {
    /// Returns the memory of what came with the call, if anything did.
    #[inline]
    pub fn pages(&self) -> Option<&Pages> {
        match self {
            ListedSources::Ranges => None,
            ListedSources::Addresses(table) => Some(&table.pages),
            ListedSources::Own(own) => Some(&own.pages),
        }
    }

    /// Returns the sources that came with the call, if there are such.
    #[inline]
    pub fn own(&self) -> Option<&Bodies> {
        match self {
            ListedSources::Own(own) => Some(own),
            ListedSources::Ranges | ListedSources::Addresses(_) => None,
        }
    }
}

/// Addresses of sources, list after list.
#[derive(Debug, Clone, Default)]
pub struct AddressTable {
    /// The addresses.
    pub pages: Pages,
    /// How many there are.
    pub count: usize,
    /// The array of the caller on the device, where the addresses are in place of the host's
    /// memory.
    pub on_device: Option<DeviceArray>,
}

impl AddressTable {
    /// Returns the array of the caller on the device, if the addresses lie there.
    #[inline]
    pub fn on_device(&self) -> Option<&DeviceArray> {
        self.on_device.as_ref()
    }

    /// Returns the addresses, which are not on the device.
    #[inline]
    pub fn addresses(&self) -> &[i32] {
        &self.pages.as_slice()[..self.count]
    }
}

/// Sinks or sources of a call, quantity after quantity as the caller gave them.
#[derive(Debug, Clone, Default)]
pub struct Bodies {
    /// The numbers of the bodies.
    pub pages: Pages,
    /// How many bodies there are.
    pub count: usize,
    /// The byte at which each quantity begins.
    pub columns: BodyColumns<usize>,
    /// The squared softening of sinks that were not given one each.
    pub softening2: f64,
    /// The arrays of the caller on the device, where the bodies are in place of the host's memory.
    pub on_device: Option<DeviceBodies>,
}

impl Bodies {
    /// Returns the number of bodies.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns where the quantities are.
    #[inline]
    pub fn columns(&self) -> &BodyColumns<usize> {
        &self.columns
    }

    /// Returns the arrays of the caller on the device, if the bodies lie there.
    #[inline]
    pub fn on_device(&self) -> Option<&DeviceBodies> {
        self.on_device.as_ref()
    }

    /// Returns the quantities as arrays of this name in a copy of the memory, counted from its start.
    pub fn arrays(&self, name: &'static str) -> BodyColumns<DeviceArray> {
        let array =
            |(place, width): (usize, usize)| DeviceArray { name, address: place as u64, stride: width as i64, width };
        self.columns.with_widths().map(array, array, array)
    }

    /// Returns the memory of all quantities.
    #[inline]
    pub fn memory(&self) -> &[u8] {
        self.pages.as_slice()
    }

    /// Returns the source of a number. Without times it is 0, without indices the number.
    #[inline]
    pub fn source(&self, number: usize) -> Source {
        let time = self.columns.times.map_or(0.0, |column| self.real(column, number));
        let mass = self.mass(number);
        let derivatives = std::array::from_fn(|k| self.vector(k, number));
        Source::from_derivatives::<MAX_COEFFICIENTS>(self.index(number), mass, time, derivatives)
    }

    /// Returns the sink of a number.
    #[inline]
    pub fn sink(&self, number: usize) -> Sink {
        let derivatives = std::array::from_fn(|k| self.vector(k, number));
        Sink { index: self.index(number), softening2: self.softening2(number), radius2: 0.0, step: 0.0, derivatives }
    }

    /// Returns the squared softening of the sink of a number.
    #[inline]
    pub fn softening2(&self, number: usize) -> f64 {
        self.columns.softening2.map_or(self.softening2, |column| self.real(column, number))
    }

    /// Returns the squared softening of sinks that were not given one each.
    #[inline]
    pub fn common_softening2(&self) -> f64 {
        self.softening2
    }

    /// Returns the mass of the body of a number.
    #[inline]
    pub fn mass(&self, number: usize) -> f64 {
        self.columns.masses.map_or(0.0, |column| self.real(column, number))
    }

    /// Returns the index of the body of a number.
    #[inline]
    pub fn index(&self, number: usize) -> i32 {
        self.columns.indices.map_or(number as i32, |column| self.pages.as_slice::<i32>()[column / 4 + number])
    }

    fn real(&self, column: usize, number: usize) -> f64 {
        self.pages.as_slice::<f64>()[column / 8 + number]
    }

    /// Returns the position, or a derivative of it, of the body of a number.
    #[inline]
    pub fn vector(&self, k: usize, number: usize) -> [f64; 3] {
        let Some(column) = self.columns.derivatives[k] else { return [0.0; 3] };
        let first = column / 8 + 3 * number;
        let row = &self.pages.as_slice::<f64>()[first..first + 3];
        [row[0], row[1], row[2]]
    }

    /// Returns the largest magnitudes of the masses and of the components of each vector of some of
    /// them.
    fn largest(&self, bodies: Range<usize>) -> (f64, [f64; MAX_DERIVATIVES]) {
        let reals = self.pages.as_slice::<f64>();
        let column = |column: Option<usize>, width: usize| {
            column.map_or(0.0, |column| {
                largest(&reals[column / 8 + width * bodies.start..column / 8 + width * bodies.end])
            })
        };
        (column(self.columns.masses, 1), std::array::from_fn(|k| column(self.columns.derivatives[k], 3)))
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, value| if value.abs() > largest { value.abs() } else { largest })
}

/// The lists of a call: groups of sinks that follow one another, each with its sources.
#[derive(Debug, Clone, Default)]
pub struct InteractionLists {
    /// The groups, in the order of their sinks, which are all sinks of the call.
    pub groups: GroupTable,
    /// The sinks. Where they are the sources, they have only a softening.
    pub sinks: Bodies,
    /// Whether the sources that came with the call are the sinks too.
    pub is_batch: bool,
    /// Where the sources are.
    pub sources: ListedSources,
    /// Arrays that receive the forces as they are summed, if the device that has the groups is to
    /// keep them nowhere else.
    pub forces: Option<DeviceForces>,
}

impl InteractionLists {
    /// Whether it keeps memory that was used before.
    #[inline]
    pub fn has_memory(&self) -> bool {
        let of_sources = self.sources.pages().map_or(0, Pages::bytes);
        self.groups.pages.bytes() + self.sinks.pages.bytes() + of_sources > 0
    }

    /// Returns the sinks of some groups, of all if a device has these.
    #[inline]
    pub fn sinks_of(&self, groups: &Range<usize>) -> Range<usize> {
        if self.groups.is_on_device() {
            return 0..self.sinks.len();
        }
        let first = |group: usize| self.groups.get(group).map_or(self.sinks.len(), |group| group.first_sink as usize);
        first(groups.start)..first(groups.end)
    }

    /// Returns the places of the sources of some groups, where these follow one another, of all if a
    /// device has the groups.
    #[inline]
    pub fn sources_of(&self, groups: &Range<usize>) -> Range<usize> {
        if let Some(sources) = self.groups.on_device {
            return 0..sources;
        }
        let some = &self.groups[groups.clone()];
        let end = some.last().map_or(0, |group| group.source_range().end);
        some.first().map_or(0, |group| group.first_source as usize)..end
    }

    /// Returns the bytes that came with the call for the sources of some groups.
    #[inline]
    pub fn bytes_of_sources(&self, groups: &Range<usize>) -> u64 {
        let of_source = match &self.sources {
            ListedSources::Ranges => return 0,
            ListedSources::Addresses(table) if table.on_device.is_some() => 0,
            ListedSources::Addresses(_) => size_of::<i32>(),
            ListedSources::Own(own) => own.columns.with_widths().given().map(|(_, width)| width).sum(),
        };
        (self.sources_of(groups).len() * of_source) as u64
    }

    /// Whether some of it lies on the device alone.
    #[inline]
    pub fn is_on_device(&self) -> bool {
        let of_sources = match &self.sources {
            ListedSources::Ranges => false,
            ListedSources::Addresses(table) => table.on_device.is_some(),
            ListedSources::Own(own) => own.on_device.is_some(),
        };
        of_sources || self.sinks.on_device.is_some() || self.groups.is_on_device()
    }

    /// Returns the number of pairs of a sink and a source of its group.
    #[inline]
    pub fn pairs(&self) -> u64 {
        self.groups.pairs
    }

    /// Divides groups into this many ranges of about as many pairs.
    pub fn divided(&self, groups: Range<usize>, count: usize) -> Vec<Range<usize>> {
        if count == 1 {
            return vec![groups];
        }
        let all: u64 = self.groups[groups.clone()].iter().map(SinkGroup::pairs).sum();
        let (mut ranges, mut first, mut pairs) = (Vec::new(), groups.start, 0);
        for number in 1..=count {
            let wanted = (all as f64 * number as f64 / count as f64) as u64;
            let mut end = first;
            while end < groups.end && (number == count || pairs + self.groups[end].pairs() / 2 <= wanted) {
                pairs += self.groups[end].pairs();
                end += 1;
            }
            ranges.push(first..end);
            first = end;
        }
        ranges
    }

    /// Divides groups into this many ranges of about as many sinks, without a look at all of them.
    /// Those that a device has stay together.
    #[inline]
    pub fn in_pieces(&self, groups: Range<usize>, count: usize) -> impl Iterator<Item = Range<usize>> {
        let count = if self.groups.is_on_device() { 1 } else { count };
        let sinks = self.sinks_of(&groups);
        let mut first = groups.start;
        (1..=count).map(move |number| {
            let wanted = sinks.start + sinks.len() * number / count;
            let is_before = |group: &SinkGroup| group.sink_range().end <= wanted;
            let end_of = |first: usize| first + self.groups[first..groups.end].partition_point(is_before);
            let range = first..if number == count { groups.end } else { end_of(first) };
            first = range.end;
            range
        })
    }

    /// Returns the units of a group whose sources came with the call. They follow from its bodies
    /// alone.
    #[inline]
    pub fn units(&self, group: &SinkGroup, interaction: &Interaction) -> Units {
        let ListedSources::Own(own) = &self.sources else { return Units::CALLERS };
        let (mass, of_sources) = own.largest(group.source_range());
        let of_sinks = if self.is_batch { of_sources } else { self.sinks.largest(group.sink_range()).1 };
        Units::of_group(mass, &of_sources, &of_sinks, &interaction.bounds, interaction.n_derivatives)
    }
}
