//! Where the sinks of a rank are, as other ranks hear of it.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use kyoho_core::{Result, memory};
use kyoho_hal::threads::Threads;
use kyoho_laws::simd::expansions::Number;

use super::essential::Region;
use super::passes::Passes;
use super::sums::Points;

/// A region has at least about so many sinks on average, where there are more than [`FEW_REGIONS`].
const SINKS_OF_REGION: usize = 64;
const FEW_REGIONS: usize = 256;
/// The name of regions in errors about memory.
const WHAT: &str = "regions of sinks";

/// A cell of sinks, or one sink of a leaf.
struct Part {
    /// The largest is divided first: its radius times the root of the number of its sinks.
    size: f64,
    cell: usize,
    region: Region,
}

impl PartialEq for Part {
    fn eq(&self, other: &Part) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Part) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Part {
    fn cmp(&self, other: &Part) -> Ordering {
        self.size.total_cmp(&other.size).then(other.cell.cmp(&self.cell))
    }
}

impl<E: Number> Passes<E> {
    /// Returns about so many regions at most, which hold all sinks. Before the first pass they have no
    /// bounds.
    ///
    /// Each group is in one region. In the first pass cells that are closed for the sinks of a leaf one
    /// by one stand for their own leaves where the leaf is near.
    pub fn regions(&self, most: usize, is_first: bool, sinks: &Points, threads: &Threads) -> Result<Vec<Region>> {
        let tree = self.sinks().0;
        if self.extents.is_empty() {
            return Ok(Vec::new());
        }
        let most = most.min((sinks.positions.len() / SINKS_OF_REGION).max(FEW_REGIONS));
        let radii = self.radii_of_all_below(sinks, threads)?;
        let groups = self.radii_of_groups(is_first, threads)?;
        let tolerance = if is_first { 0.0 } else { self.settings.tolerance() };
        let part = |cell: usize| {
            let (extent, radius) = (&self.extents[cell], radii[cell]);
            let bound = tolerance * extent.least;
            let region = Region { center: extent.center, radius, bound, group: groups[cell] };
            // A group is tested as a whole.
            let is_whole = !is_first && extent.is_group;
            let size = if is_whole { 0.0 } else { radius * f64::from(tree.cells[cell].bodies).sqrt() };
            Part { size, cell, region }
        };
        let mut parts = BinaryHeap::from(memory::room(most + 2 * crate::LEAF, WHAT)?);
        parts.push(part(0));
        while let Some(largest) = parts.peek() {
            if largest.size <= 0.0 || parts.len() >= most {
                break;
            }
            let cell = largest.cell;
            parts.pop();
            if tree.cells[cell].is_leaf() {
                parts.extend(tree.cells[cell].body_range().map(|sink| {
                    let least = self.acceleration(sink).max(self.extents[cell].floor);
                    let center = self.position(sinks, sink);
                    let bound = if is_first { 0.0 } else { tolerance * least };
                    Part { size: 0.0, cell, region: Region { center, radius: 0.0, bound, group: 0.0 } }
                }));
            } else {
                parts.extend(tree.cells[cell].child_range().map(part));
            }
        }
        memory::collected(parts.into_iter().map(|part| part.region), WHAT)
    }

    /// Returns for each cell of sinks the largest radius of a group in it, if groups sum cells that are no
    /// leaves, and there are groups yet.
    fn radii_of_groups(&self, is_first: bool, threads: &Threads) -> Result<Vec<f64>> {
        if is_first || self.settings.is_by_angle() {
            return memory::filled(self.extents.len(), 0.0_f64, WHAT);
        }
        self.sinks().0.upward(threads, WHAT, |number, of_children| {
            let extent = &self.extents[number];
            if extent.is_group { extent.radius } else { of_children.iter().copied().fold(0.0, f64::max) }
        })
    }

    /// Returns the position of the sink at a place of their tree, in its units.
    fn position(&self, sinks: &Points, place: usize) -> [f64; 3] {
        let body = self.sinks().0.order[place] as usize;
        sinks.positions[body].map(|coordinate| coordinate * self.sources.units.length)
    }

    /// Returns for each cell of sinks the radius of a sphere around its middle that holds those of all
    /// cells below it.
    fn radii_of_all_below(&self, sinks: &Points, threads: &Threads) -> Result<Vec<f64>> {
        let tree = self.sinks().0;
        let distance = |a: [f64; 3], b: [f64; 3]| (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum::<f64>().sqrt();
        tree.upward(threads, WHAT, |number, radii: &[f64]| {
            let (extent, cell) = (&self.extents[number], &tree.cells[number]);
            let children = self.extents[cell.child_range()].iter().zip(radii);
            let of_children =
                children.map(|(child, radius)| distance(extent.center, child.center) + radius).fold(0.0, f64::max);
            let of_sinks = if extent.radius < f64::INFINITY {
                extent.radius
            } else if cell.is_leaf() {
                let of_sink = |sink: usize| distance(extent.center, self.position(sinks, sink));
                cell.body_range().map(of_sink).fold(0.0, f64::max)
            } else {
                0.0
            };
            of_children.max(of_sinks) * (1.0 + 1e-6)
        })
    }
}
