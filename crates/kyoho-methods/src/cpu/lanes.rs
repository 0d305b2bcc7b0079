//! Sinks in the lanes of vectors, and the sums of their loops over tiles.

use std::ops::Range;

use kyoho_core::{Interaction, Nearest, Result, SinkSlice, SinkUnits, Sums, Units, memory};
use kyoho_laws::lanes::{Element, MAX_LANES};
use kyoho_laws::pair::MAX_OUTPUTS;
use kyoho_laws::simd::kernel::Kernel;
use kyoho_laws::simd::sum::guard;
use kyoho_laws::simd::tile::{Group, LaneSums, Tile};

/// The layout of the lanes of a loop.
#[derive(Clone, Copy)]
enum LaneLayout {
    /// Each lane has a sink of a group.
    Sinks,
    /// Each lane has a source, for this sink of a group.
    Sources(usize),
}

/// The sinks that one loop over the sources serves: a group, or one sink of a group.
#[derive(Clone, Copy)]
pub struct Unit {
    group: usize,
    layout: LaneLayout,
    /// The first of the sinks, among those that were packed.
    pub first_sink: usize,
    /// The number of sinks.
    pub sinks: usize,
}

/// Returns how many of the first of `sinks` sinks have a lane each; for the others sources are in
/// the lanes.
pub fn in_groups(sinks: usize, lanes: usize) -> usize {
    let rest = sinks % lanes;
    sinks - if rest * 4 > lanes * 3 { 0 } else { rest }
}

/// Sinks in the lanes of vectors.
pub struct SinkLanes<E> {
    groups: Vec<Group<E>>,
    /// The units of the loops, in the order of their sinks.
    pub units: Vec<Unit>,
}

impl<E> Default for SinkLanes<E> {
    fn default() -> SinkLanes<E> {
        SinkLanes { groups: Vec::new(), units: Vec::new() }
    }
}

impl<E: Element> SinkLanes<E> {
    /// Packs sinks, of which the first `together` have a lane each, in the place of those that were
    /// there.
    pub fn pack(
        &mut self,
        sinks: SinkSlice,
        together: usize,
        kernel: &dyn Kernel<E>,
        units: &SinkUnits,
        is_regular: bool,
    ) -> Result<()> {
        let group =
            |members| Group::new(sinks.range(members), kernel.n_derivatives(), kernel.limbs(), units, is_regular);
        self.pack_groups(sinks.len(), together, kernel.lanes(), group)
    }

    /// Packs groups of up to `lanes` of some sinks, as [`SinkLanes::pack`] does.
    pub fn pack_groups(
        &mut self,
        sinks: usize,
        together: usize,
        lanes: usize,
        group_of: impl Fn(Range<usize>) -> Group<E>,
    ) -> Result<()> {
        self.groups.clear();
        self.units.clear();
        let groups = sinks.div_ceil(lanes) + 1;
        memory::reserve(&mut self.groups, groups, "groups of sinks")?;
        memory::reserve(&mut self.units, groups + lanes, "the table of groups")?;
        let starts = (0..together).step_by(lanes).chain((together..sinks).step_by(lanes));
        for (group, start) in starts.enumerate() {
            let end = if start < together { together } else { sinks };
            let members = start..end.min(start + lanes);
            self.groups.push(group_of(members.clone()));
            let first_sink = self.units.last().map_or(0, |unit| unit.first_sink + unit.sinks);
            if first_sink < together {
                self.units.push(Unit { group, layout: LaneLayout::Sinks, first_sink, sinks: members.len() });
            } else {
                self.units.extend((0..members.len()).map(|lane| Unit {
                    group,
                    layout: LaneLayout::Sources(lane),
                    first_sink: first_sink + lane,
                    sinks: 1,
                }));
            }
        }
        Ok(())
    }
}

/// The data that all sums of a block share.
pub struct Summation<'a, E> {
    kernel: &'a dyn Kernel<E>,
    lanes: &'a SinkLanes<E>,
    /// The number of sums of a sink.
    pub n_outputs: usize,
    /// Whether nearest sources are found.
    pub nearest: bool,
    skip_own_index: bool,
    /// The factors that bring sums back to the caller's units.
    sum_units: [f64; MAX_OUTPUTS],
    /// The factor that brings squared distances back to the caller's units.
    distance2_unit: f64,
}

impl<'a, E: Element> Summation<'a, E> {
    /// Makes what the sums of the packed sinks of a block share.
    pub fn new(
        kernel: &'a dyn Kernel<E>,
        lanes: &'a SinkLanes<E>,
        interaction: &Interaction,
        units: Units,
        skip_own_index: bool,
    ) -> Summation<'a, E> {
        Summation {
            kernel,
            lanes,
            n_outputs: interaction.n_outputs,
            nearest: interaction.nearest,
            skip_own_index,
            sum_units: std::array::from_fn(|output| units.sum_unit(output)),
            distance2_unit: units.distance2_unit(),
        }
    }

    /// Returns some of the units.
    pub fn units(&self, units: Range<usize>) -> &'a [Unit] {
        &self.lanes.units[units]
    }

    /// Adds a tile to the sums of a unit.
    pub fn sum(&self, unit: &Unit, tile: &Tile<E>, sums: &mut LaneSums<E>) {
        let group = &self.lanes.groups[unit.group];
        let guard = if self.skip_own_index && tile.range.meets(&group.range) {
            guard::INDEX
        } else if group.unsoftened {
            guard::DISTANCE
        } else {
            guard::NONE
        };
        match unit.layout {
            LaneLayout::Sinks => self.kernel.sum_sinks_in_lanes(guard, tile, group, sums),
            LaneLayout::Sources(lane) => self.kernel.sum_sources_in_lanes(guard, tile, group, lane, sums),
        }
    }

    /// Adds the lanes of some units to the sums of their sinks, a row for each from `first` on.
    pub fn add(&self, units: &[Unit], lane_sums: &[LaneSums<E>], (sums, first): (&mut Sums, usize)) {
        let add = |row: &mut [f64], sum_of: &dyn Fn(&[f64; MAX_LANES]) -> f64, lanes: &LaneSums<E>| {
            let terms = lanes.values.iter().zip(&self.sum_units);
            row.iter_mut().zip(terms).for_each(|(sum, (values, unit))| *sum += sum_of(values) * unit);
        };
        let nearest = |lanes: &LaneSums<E>, lane: usize| {
            let Nearest { distance2, index, .. } = lanes.nearest(lane);
            Nearest::new(distance2 * self.distance2_unit, index)
        };
        let mut sink = first;
        for (unit, lanes) in units.iter().zip(lane_sums) {
            match unit.layout {
                LaneLayout::Sinks => {
                    for lane in 0..unit.sinks {
                        let row = &mut sums.values[(sink + lane) * self.n_outputs..][..self.n_outputs];
                        add(row, &|values| values[lane], lanes);
                        if self.nearest {
                            sums.nearest[sink + lane].update(nearest(lanes, lane));
                        }
                    }
                }
                LaneLayout::Sources(_) => {
                    let row = &mut sums.values[sink * self.n_outputs..][..self.n_outputs];
                    add(row, &|values| across(*values), lanes);
                    if self.nearest {
                        (0..self.kernel.lanes()).for_each(|lane| sums.nearest[sink].update(nearest(lanes, lane)));
                    }
                }
            }
            sink += unit.sinks;
        }
    }
}

/// Returns the sum over lanes, whose second half is added to the first until one is left.
fn across<const N: usize>(mut lanes: [f64; N]) -> f64 {
    let mut half = N / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}
