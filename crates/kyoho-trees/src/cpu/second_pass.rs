//! The second pass: near sums, and the expansions of cells that are accepted.

use std::ops::Range;

use kyoho_core::{Pooled, Result, Sums, memory};
use kyoho_laws::lanes::MAX_LANES;
use kyoho_laws::simd::expansions::{Expansions, MAX_CHILDREN, Number, Tests};
use kyoho_laws::simd::tile::{LaneSums, Tile};
use kyoho_methods::cpu::lanes::SinkLanes;

use super::cell_list::CellList;
use super::octree::Octree;
use super::sinks::{Extent, Softenings};
use super::sources::Sources;
use super::sums::{Alike, Counts, TreeSums};
use super::walk::{self, Handed, Pass, Sorting, sink_cell};
use crate::criterion::MOST_NEAR;

/// The memory that a thread sums in.
pub struct Scratch<E> {
    pub counts: Counts,
    pub sorting: Sorting,
    pub lanes: SinkLanes<E>,
    pub lane_sums: Vec<LaneSums<E>>,
    pub tile: Option<Tile<E>>,
    pub sums: Sums,
    /// The cells that are left to direct sums of one sink.
    pub kept: CellList,
    /// The bodies of near cells.
    pub ranges: Vec<Range<usize>>,
    /// Near cells whose bodies are in one point.
    pub points: Vec<u32>,
    /// Positions and softenings of sinks, and the values of the local expansion.
    pub rows: [Vec<E>; 8],
    pub positions: [Vec<f64>; 3],
}

impl<E: Number> Default for Scratch<E> {
    fn default() -> Scratch<E> {
        Scratch {
            counts: Counts::default(),
            sorting: Sorting::default(),
            lanes: SinkLanes::default(),
            lane_sums: Vec::new(),
            tile: None,
            sums: Sums::default(),
            kept: CellList::default(),
            ranges: Vec::new(),
            points: Vec::new(),
            rows: Default::default(),
            positions: Default::default(),
        }
    }
}

/// The sums over near sources and accepted expansions, by local expansions of so many numbers.
pub struct Walk<'a, 'b, E: Number, const TERMS: usize> {
    pub with: &'a TreeSums<'b, E>,
    pub sources: &'a Sources<E>,
    pub expansions: &'a dyn Expansions<E>,
    pub tree: &'a Octree,
    pub extents: &'a [Extent],
    /// The coordinates of sinks, in the units of the tree of sources.
    pub positions: &'a [Pooled<f64>; 3],
    /// For each sink the place of the source that is left out.
    pub places: &'a [i32],
    pub alike: Option<&'a Alike>,
    pub tests: Tests<E>,
    /// The acceleration of each sink by the first pass, or of its leaf.
    pub accelerations: &'a [[f64; 2]],
    pub tolerance: f64,
    /// The squared softening of all pairs; 0 where each body has its own.
    pub softening2: f64,
    pub softenings: &'a Softenings,
}

impl<E: Number, const TERMS: usize> Pass for Walk<'_, '_, E, TERMS> {
    type State = [E; TERMS];
    type Out = [f64; 4];
    type Scratch = Scratch<E>;

    fn first(&self) -> [E; TERMS] {
        [E::from_f64(0.0); TERMS]
    }

    fn visit(
        &self,
        cell: usize,
        state: &[E; TERMS],
        list: &[u32],
        (kept, states): &mut Handed<[E; TERMS]>,
        scratch: &mut Scratch<E>,
        out: &mut [[f64; 4]],
    ) -> Result<bool> {
        let (extent, of_cell) = (&self.extents[cell], &self.tree.cells[cell]);
        let opens_all = extent.is_group && self.tests.by_angle;
        let (at, bound) = ((extent.center, extent.radius), self.tolerance * extent.least);
        let sink = sink_cell(at, self.softenings.middle(cell), bound, opens_all);
        let test = walk::test(self.expansions, &self.sources.records, &self.tests, &sink);
        let most = if extent.is_group && !opens_all { MOST_NEAR } else { u32::MAX };
        scratch.sorting.sort(&self.sources.tree.cells, (list, most), kept, test)?;
        let accepted = &scratch.sorting.accepted;
        let mut local = *state;
        let Sources { records, moments, .. } = self.sources;
        if !accepted.is_empty() {
            self.expansions.add_far(records, moments, accepted, &sink, self.tests.softening2, &mut local);
        }
        let far = accepted.len() as u64 * u64::from(of_cell.bodies);
        let mut counts = Counts { far, ..Counts::default() };
        let sinks = of_cell.body_range();
        if extent.is_group {
            let at = (extent.center, extent.radius, self.softenings.middle(cell)[0]);
            counts.near = self.near(sinks, at, &local, kept, scratch, out)?;
        } else if extent.is_split {
            self.split(cell, &local, kept, scratch, out, &mut counts)?;
        } else {
            memory::lengthen(states, MAX_CHILDREN, "local expansions", || self.first())?;
            let of_child = |child: usize| (self.extents[child].center, self.softenings.middle(child)[0]);
            self.hand_down(&local, cell, of_cell.child_range().map(of_child), states);
        }
        scratch.counts.add(&counts);
        Ok(!extent.is_group && !extent.is_split)
    }
}

impl<E: Number, const TERMS: usize> Walk<'_, '_, E, TERMS> {
    /// Shifts the local expansion of a cell to other centres and softenings. A cell that is too large
    /// for one hands none down.
    fn hand_down(
        &self,
        local: &[E; TERMS],
        cell: usize,
        centers: impl ExactSizeIterator<Item = ([f64; 3], f64)>,
        shifted: &mut [[E; TERMS]],
    ) {
        let (extent, softening2) = (&self.extents[cell], self.softenings.middle(cell)[0]);
        if extent.radius < f64::INFINITY {
            let count = centers.len();
            let mut shifts = [[E::from_f64(0.0); MAX_LANES]; 4];
            for (place, (to, of_child)) in centers.enumerate() {
                (0..3).for_each(|k| shifts[k][place] = E::from_f64(to[k] - extent.center[k]));
                shifts[3][place] = E::from_f64(of_child - softening2);
            }
            self.expansions.shift(local, &shifts, count, shifted.as_flattened_mut());
        } else {
            shifted.fill(self.first());
        }
    }

    /// Makes the forces of the sinks of a leaf one by one.
    fn split(
        &self,
        cell: usize,
        local: &[E; TERMS],
        list: &[u32],
        scratch: &mut Scratch<E>,
        out: &mut [[f64; 4]],
        counts: &mut Counts,
    ) -> Result<()> {
        let extent = &self.extents[cell];
        let all = self.tree.cells[cell].body_range();
        let mut kept = std::mem::take(&mut scratch.kept);
        let mut first = all.start;
        while first < all.end {
            let some = first..all.end.min(first + MAX_CHILDREN);
            let center = |sink: usize| [self.positions[0][sink], self.positions[1][sink], self.positions[2][sink]];
            let mut locals = [[E::from_f64(0.0); TERMS]; MAX_CHILDREN];
            let of_sink = |sink: usize| (center(sink), self.softenings.of_body(sink));
            self.hand_down(local, cell, some.clone().map(of_sink), &mut locals);
            for (sink, local) in some.clone().zip(&mut locals) {
                let least = self.accelerations[sink][0].max(extent.floor);
                let softening = [self.softenings.of_body(sink), 0.0];
                let of_sink = sink_cell((center(sink), 0.0), softening, self.tolerance * least, true);
                let test = walk::test(self.expansions, &self.sources.records, &self.tests, &of_sink);
                scratch.sorting.sort(&self.sources.tree.cells, (list, u32::MAX), &mut kept, test)?;
                let accepted = &scratch.sorting.accepted;
                counts.far += accepted.len() as u64;
                if !accepted.is_empty() {
                    let Sources { records, moments, .. } = self.sources;
                    self.expansions.add_far(records, moments, accepted, &of_sink, self.tests.softening2, local);
                }
                let out = &mut out[sink - all.start..][..1];
                let at = (center(sink), 0.0, self.softenings.of_body(sink));
                counts.near += self.near(sink..sink + 1, at, local, &kept, scratch, out)?;
            }
            first = some.end;
        }
        scratch.kept = kept;
        Ok(())
    }
}
