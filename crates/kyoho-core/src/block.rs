//! A block of sinks, and the sums that its devices hand in.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::memory::{self, Paged};
use super::{InteractionLists, Result, SLICE_GROUPS, Sinks, TreeBlock, Units};

/// The number of vectors that a sink can have: position, velocity, acceleration, jerk.
pub const MAX_DERIVATIVES: usize = 4;

/// A sink (i-particle): where, and how, the force is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sink {
    /// Sources with this index exert no force on it and are no neighbours of it.
    pub index: i32,
    /// The squared softening length of its pairs.
    pub softening2: f64,
    /// The squared radius of its neighbour list; zero for none. In
    /// [`Scope::Regular`](crate::Scope::Regular) it enters the rule of [`NeighbourCriterion`].
    pub radius2: f64,
    /// The regular time step, over which a source that comes near is a neighbour. Other scopes
    /// ignore it.
    pub step: f64,
    /// Position, velocity, acceleration and jerk at the time of the block, as far as the order
    /// needs them.
    pub derivatives: [[f64; 3]; MAX_DERIVATIVES],
}

impl Sink {
    /// A sink at rest at the origin, with nothing asked of it.
    pub const NOTHING: Sink =
        Sink { index: 0, softening2: 0.0, radius2: 0.0, step: 0.0, derivatives: [[0.0; 3]; MAX_DERIVATIVES] };
}

/// The rule by which a source is a neighbour of a sink in a system of regular forces. With `r` and
/// `v` the differences of positions and velocities, source minus sink, it compares the smaller of
/// `|r|^2` and `|r + step v|^2`.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NeighbourCriterion {
    /// It is below `radii2` times the mass of the source: heavy sources are neighbours from further
    /// off.
    #[default]
    ByMass = 1,
    /// It is below `radii2`, whatever the source.
    Plain = 2,
}

/// The conversion of the sinks of a block into the units of pairs.
#[derive(Debug, Clone, Copy)]
pub struct SinkUnits {
    /// The factor of squared softenings.
    pub distance2: f64,
    /// The factors of positions, velocities, ...
    pub derivatives: [f64; MAX_DERIVATIVES],
    /// The factor of squared radii that multiply masses in the neighbour criterion, or zero.
    pub by_mass: f64,
    /// The factor of squared radii that stand alone in the neighbour criterion, or zero.
    pub plain: f64,
    /// The factor of steps.
    pub time: f64,
}

impl SinkUnits {
    /// Returns the sink in the units of pairs.
    #[inline(always)]
    pub fn scaled(&self, sink: &Sink) -> Sink {
        let derivatives = std::array::from_fn(|derivative| self.derivative(sink, derivative));
        Sink { softening2: self.softening2(sink), derivatives, ..*sink }
    }

    /// Returns the sink's squared softening in the units of pairs.
    #[inline(always)]
    pub fn softening2(&self, sink: &Sink) -> f64 {
        sink.softening2 * self.distance2
    }

    /// Returns the sink's position, velocity, acceleration or jerk in the units of pairs.
    #[inline(always)]
    pub fn derivative(&self, sink: &Sink, derivative: usize) -> [f64; 3] {
        sink.derivatives[derivative].map(|component| component * self.derivatives[derivative])
    }

    /// Returns the numbers of the neighbour criterion, which a pair of the regular force needs
    /// beside the vectors of the sink: `by_mass`, `plain` and the step, in the units of pairs. A
    /// source is a neighbour within a squared distance of `by_mass` times its mass plus `plain`;
    /// one of the two is zero.
    #[inline(always)]
    pub fn criterion(&self, sink: &Sink) -> [f64; 3] {
        let radius2 = sink.radius2.max(0.0);
        [radius2 * self.by_mass, radius2 * self.plain, sink.step * self.time]
    }
}

/// The sinks of one force call and the sources that act on them.
#[derive(Debug, Default)]
pub struct Block {
    /// The sinks.
    pub sinks: Sinks,
    /// The low limbs of the sinks' numbers in [`Precision::Quad`](crate::Precision::Quad), where the
    /// caller gave some; else there are none here.
    pub low_sinks: Sinks,
    /// Whether sources with the sink's index are left out.
    pub skip_own_index: bool,
    /// The time to which sources are predicted.
    pub time: f64,
    /// The low limb of the time.
    pub low_time: f64,
    /// Whether sources are predicted to `time`; otherwise they are as they were written.
    pub predicts: bool,
    /// Only addresses below this take part.
    pub nj: usize,
    /// The units in which devices compute pairs, so that products stay in the range of their
    /// numbers. They change no bit of a sum that stays in the range without them.
    pub units: Units,
    /// The rule by which a source is a neighbour, where neighbours are left out of the sums.
    pub neighbour_criterion: NeighbourCriterion,
    /// Whether the sinks are copied after the block was started, part after part: from the first of
    /// each assignment on. There is room for all of them here.
    pub in_parts: bool,
    /// Whether the sinks are on the device alone, which took them from arrays of the caller, or are
    /// the sources, of which none were made. There is room for them here.
    pub sinks_on_device: bool,
    /// What is asked of a tree; without it all pairs are summed.
    pub tree: Option<TreeBlock>,
    /// The sources of each group of sinks; without lists all sources below nj act on every sink.
    pub lists: Option<InteractionLists>,
}

impl Block {
    /// Returns the number of sinks.
    #[inline]
    pub fn count(&self) -> usize {
        self.lists.as_ref().map_or(self.sinks.len(), |lists| lists.sinks.len())
    }

    /// Returns the number of pairs of a sink and an address whose source acts on it.
    #[inline]
    pub fn pairs(&self) -> u64 {
        match &self.lists {
            Some(lists) => lists.pairs(),
            None => (self.sinks.len() as u64).saturating_mul(self.nj as u64),
        }
    }

    /// Whether its forces stay on the device until they are asked for, as the sinks lie there.
    #[inline]
    pub fn is_on_device(&self) -> bool {
        self.lists.as_ref().map_or(self.sinks_on_device, |lists| lists.sinks.on_device.is_some())
    }

    /// Returns the conversion of its sinks into the units of pairs.
    #[inline]
    pub fn sink_units(&self) -> SinkUnits {
        self.units_of_sinks(self.units)
    }

    /// Returns the conversion of sinks into some units, by the block's neighbour criterion.
    #[inline]
    pub fn units_of_sinks(&self, units: Units) -> SinkUnits {
        let distance2 = units.distance2_factor();
        let (by_mass, plain) = match self.neighbour_criterion {
            NeighbourCriterion::ByMass => (distance2 / units.mass_factor(), 0.0),
            NeighbourCriterion::Plain => (0.0, distance2),
        };
        let derivatives = std::array::from_fn(|derivative| units.derivative_factor(derivative));
        SinkUnits { distance2, derivatives, by_mass, plain, time: units.time_factor() }
    }
}

/// The nearest source of a sink. Devices hand it in as these bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub struct Nearest {
    /// The squared distance without softening; infinite where there is no source.
    pub distance2: f64,
    /// The source's index; meaningless where there is no source.
    pub index: i32,
    /// It fills the structure, with whatever a device has there.
    rest: i32,
}

impl PartialEq for Nearest {
    fn eq(&self, other: &Nearest) -> bool {
        (self.distance2, self.index) == (other.distance2, other.index)
    }
}

impl Nearest {
    /// The nearest source where there is none.
    pub const NONE: Nearest = Nearest::new(f64::INFINITY, 0);

    /// Makes it of the squared distance of a source and its index.
    #[inline]
    pub const fn new(distance2: f64, index: i32) -> Nearest {
        Nearest { distance2, index, rest: 0 }
    }

    /// Keeps the nearer of the two sources; of equally near ones the earlier.
    #[inline]
    pub fn update(&mut self, other: Nearest) {
        if other.distance2 < self.distance2 {
            *self = other;
        }
    }
}

/// Sums over some sources, with a row for each sink: potential, acceleration, jerk, ... Devices may
/// page-lock their memory, and copy what they have found to it.
#[derive(Debug, Default, Clone)]
pub struct Sums {
    /// [`Interaction::n_sums`](super::Interaction::n_sums) numbers for each sink.
    pub values: Paged<f64>,
    /// The nearest source of each sink, where the order finds one.
    pub nearest: Paged<Nearest>,
}

impl Sums {
    /// Reserves memory for the sums of this many sinks. Where there was less, those that were there
    /// are lost.
    #[inline]
    pub fn reserve(&mut self, sinks: usize, n_outputs: usize, nearest: bool) -> Result<()> {
        self.values.make_room(sinks.saturating_mul(n_outputs), "sums")?;
        self.nearest.make_room(if nearest { sinks } else { 0 }, "nearest sources")
    }

    /// Resets to the sums of this many sinks, for which there is memory, over no source.
    #[inline]
    pub fn reset(&mut self, sinks: usize, n_outputs: usize, nearest: bool) {
        self.resize(sinks, n_outputs, nearest);
        self.values.fill(0.0);
        self.nearest.fill(Nearest::NONE);
    }

    /// Makes them those of this many sinks, for which there is memory. Numbers are still to be
    /// written.
    #[inline]
    pub fn resize(&mut self, sinks: usize, n_outputs: usize, nearest: bool) {
        self.values.set_length(sinks * n_outputs);
        self.nearest.set_length(if nearest { sinks } else { 0 });
    }

    /// Adds some rows of sums over further sources to as many rows from `first` on.
    #[inline]
    pub fn add(&mut self, first: usize, other: &Sums, rows: Range<usize>, n_outputs: usize) {
        let terms = &other.values[rows.start * n_outputs..rows.end * n_outputs];
        self.values[first * n_outputs..].iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        let nearest = self.nearest.get_mut(first..).unwrap_or_default();
        let candidates = other.nearest.get(rows).unwrap_or_default();
        nearest.iter_mut().zip(candidates).for_each(|(nearest, candidate)| nearest.update(*candidate));
    }
}

/// Adds some rows of several sets of sums, whose number is a power of two, in a binary tree: the
/// second half of the sets is added to the first half, set by set, until the first set holds all.
#[inline]
pub fn add_in_pairs(sets: &mut [Sums], rows: Range<usize>, n_outputs: usize) {
    join_in_pairs(sets, |sum, term| sum.add(rows.start, term, rows.clone(), n_outputs));
}

/// Joins sums, whose number is a power of two, in a binary tree: the second half to the first one,
/// until the first sum has all.
#[inline(always)]
pub fn join_in_pairs<T>(sums: &mut [T], mut join: impl FnMut(&mut T, &T)) {
    let mut half = sums.len() / 2;
    while half > 0 {
        let (left, right) = sums[..2 * half].split_at_mut(half);
        left.iter_mut().zip(right).for_each(|(sum, term)| join(sum, term));
        half /= 2;
    }
}

/// Returns the order in which [`join_in_pairs`] joins this many sums, as pairs of places: the second
/// sum is added to the first. Where the count is no power of two, those that are missing to the
/// next one are sums of nothing.
pub fn joins_in_pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count.next_power_of_two().ilog2()).rev().flat_map(move |bit| {
        let half = 1 << bit;
        (half..count.min(2 * half)).map(move |place| (place - half, place))
    })
}

/// The partial sums that the devices of a block hand in: rows for all sinks, once for each set of
/// slices.
#[derive(Debug)]
pub struct PartialSums {
    sinks: usize,
    n_outputs: usize,
    nearest: bool,
    sets: Vec<Sums>,
}

impl PartialSums {
    /// Makes empty partial sums with `n_outputs` numbers for each sink, and with nearest sources if
    /// `nearest` is set.
    #[inline]
    pub fn new(n_outputs: usize, nearest: bool) -> PartialSums {
        PartialSums { sinks: 0, n_outputs, nearest, sets: vec![Sums::default()] }
    }

    /// Makes room for a block of this many sinks and this many sets of slices; the numbers are
    /// still to be written.
    #[inline]
    pub fn reset(&mut self, sinks: usize, sets: usize) -> Result<()> {
        debug_assert!(sets.is_power_of_two() && sets <= SLICE_GROUPS);
        self.sinks = sinks;
        self.sets.truncate(sets.max(1));
        memory::lengthen(&mut self.sets, sets, "sums", Sums::default)?;
        for set in &mut self.sets {
            set.reserve(sinks, self.n_outputs, self.nearest)?;
            set.resize(sinks, self.n_outputs, self.nearest);
        }
        Ok(())
    }

    /// The number of sinks of the block.
    #[inline]
    pub fn sinks(&self) -> usize {
        self.sinks
    }

    /// Returns the sums in which the devices that have this set of slices put those of their sinks.
    /// They write every number.
    #[inline]
    pub fn set(&mut self, set: usize) -> &mut Sums {
        &mut self.sets[set]
    }

    /// Adds the sets for some sinks, after all were handed in, in the order of slice groups; then
    /// the first set holds the sums.
    #[inline]
    pub fn merge(&mut self, sinks: Range<usize>) {
        add_in_pairs(&mut self.sets, sinks, self.n_outputs);
    }

    /// Returns the sums, which are complete for the sinks that were merged.
    #[inline]
    pub fn merged(&self) -> &Sums {
        &self.sets[0]
    }

    /// Moves the sums to `into`, and keeps the memory that was there to be overwritten.
    #[inline]
    pub fn take(&mut self, into: &mut Sums) {
        std::mem::swap(&mut self.sets[0], into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(seed: usize, sinks: usize) -> Sums {
        let number = |k: usize| ((seed * 7919 + k * 104_729) % 1009) as f64 / 997.0 - 0.5;
        let nearest = |sink: usize| Nearest::new(((seed + sink) % 3) as f64, seed as i32);
        let mut sums = Sums::default();
        sums.reserve(sinks, 4, true).unwrap();
        sums.reset(sinks, 4, true);
        sums.values.iter_mut().enumerate().for_each(|(k, value)| *value = number(k));
        sums.nearest.iter_mut().enumerate().for_each(|(sink, found)| *found = nearest(sink));
        sums
    }

    /// Returns the sums of all slices, merged from this many sets of slices.
    fn merged(sets: usize, sinks: usize) -> Sums {
        let mut partial_sums = PartialSums::new(4, true);
        partial_sums.reset(sinks, sets).unwrap();
        for set in 0..sets {
            let mut slice_groups: Vec<Sums> = Vec::new();
            for slice_group in (set..SLICE_GROUPS).step_by(sets) {
                let mut sum = Sums::default();
                sum.reserve(sinks, 4, true).unwrap();
                sum.reset(sinks, 4, true);
                (slice_group..super::super::partition::SLICES)
                    .step_by(SLICE_GROUPS)
                    .for_each(|slice| sum.add(0, &sums(slice, sinks), 0..sinks, 4));
                slice_groups.push(sum);
            }
            add_in_pairs(&mut slice_groups, 0..sinks, 4);
            *partial_sums.set(set) = slice_groups.swap_remove(0);
        }
        partial_sums.merge(0..sinks);
        partial_sums.merged().clone()
    }

    #[test]
    fn any_number_of_sets_gives_the_same_bits_and_the_same_nearest_source() {
        let whole = merged(1, 20);
        for sets in [2, 4, 8] {
            let found = merged(sets, 20);
            assert_eq!(found.values[..], whole.values[..], "{sets} sets");
            assert_eq!(found.nearest[..], whole.nearest[..], "{sets} sets");
        }
    }

    #[test]
    fn places_are_joined_as_sums_are() {
        for count in 0..=17_usize {
            let mut sums: Vec<String> = (0..count).map(|place| place.to_string()).collect();
            for (sum, term) in joins_in_pairs(count) {
                sums[sum] = format!("({} {})", sums[sum], sums[term]);
            }
            let mut padded: Vec<String> = (0..count.next_power_of_two()).map(|place| place.to_string()).collect();
            padded[count..].iter_mut().for_each(String::clear);
            join_in_pairs(&mut padded, |sum, term| {
                if !term.is_empty() {
                    *sum = format!("({sum} {term})");
                }
            });
            assert_eq!(sums.first(), padded.first().filter(|_| count > 0), "{count}");
        }
    }

    #[test]
    fn sinks_are_merged_as_they_come() {
        let mut partial_sums = PartialSums::new(1, false);
        partial_sums.reset(3, 2).unwrap();
        partial_sums.set(0).values.copy_from_slice(&[1.0, 2.0, 3.0]);
        partial_sums.set(1).values.copy_from_slice(&[10.0, 20.0, 30.0]);
        partial_sums.merge(1..3);
        assert_eq!(partial_sums.merged().values[..], [1.0, 22.0, 33.0]);
        partial_sums.merge(0..1);
        assert_eq!(partial_sums.merged().values[..], [11.0, 22.0, 33.0]);
    }
}
