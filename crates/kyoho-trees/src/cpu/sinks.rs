//! What the walk needs of cells of sinks: where they are, and how large their accelerations are at
//! least.

use crate::GROUP;
use crate::cells::Cell;
use crate::criterion::{FLOOR, is_even};
use kyoho_core::{BufferPool, Pooled, Result};
use kyoho_hal::threads::Threads;
use kyoho_laws::simd::expansions::Number;

use super::octree::Octree;
use super::sources::TreeUnits;
use super::sums::sorted;

/// The number of cells that a thread takes at a time.
const CELLS_OF_TASK: usize = 256;
/// A cell of sinks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extent {
    /// The middle of the box around the sinks.
    pub center: [f64; 3],
    /// The distance of the farthest sink from it.
    pub radius: f64,
    /// The least acceleration of a sink, by the first pass.
    pub least: f64,
    /// For a leaf: accelerations of its sinks count as at least this.
    pub floor: f64,
    /// The largest derivative of the acceleration by distant sources.
    pub tide: f64,
    /// Whether its sinks share their list of near sources.
    pub is_group: bool,
    /// Whether each sink of a leaf is walked for alone.
    pub is_split: bool,
}

/// The softenings of sinks, in the units of the tree of sources, where each body has its own: halves
/// of squares, which are 0 where pairs have one.
#[derive(Default)]
pub struct Softenings {
    /// Those of sinks in sorted order.
    of_bodies: Pooled<f64>,
    /// The least and the largest of each cell.
    of_cells: Vec<[f64; 2]>,
}

impl Softenings {
    /// Sorts those of the sinks of a tree, in units of this factor, and finds those of its cells.
    pub fn new(
        tree: &Octree,
        (threads, pool): (&Threads, &BufferPool),
        (softenings2, factor): (&[f64], f64),
    ) -> Result<Softenings> {
        let of_bodies = sorted(&tree.order, (threads, pool), (softenings2, factor))?;
        let none = [f64::INFINITY, 0.0];
        let of_cells = tree.upward(threads, "cells of sinks", |number, of_children: &[[f64; 2]]| {
            let cell = &tree.cells[number];
            match cell.is_leaf() {
                true => of_bodies[cell.body_range()].iter().fold(none, |all, one| with(all, [*one; 2])),
                false => of_children.iter().fold(none, |all, child| with(all, *child)),
            }
        })?;
        Ok(Softenings { of_bodies, of_cells })
    }

    /// Leaves cells without expansions whose softenings differ so much that powers of them may be out
    /// of range.
    pub fn refuse_wide(&self, extents: &mut [Extent], units: &TreeUnits) {
        for (extent, [least, largest]) in extents.iter_mut().zip(&self.of_cells) {
            if (0.5 * (largest - least)).sqrt() > units.largest {
                extent.radius = f64::INFINITY;
            }
        }
    }

    /// Whether each body has its own.
    pub fn are_own(&self) -> bool {
        !self.of_bodies.is_empty()
    }

    /// Returns that of a sink.
    pub fn of_body(&self, sink: usize) -> f64 {
        if self.are_own() { self.of_bodies[sink] } else { 0.0 }
    }

    /// Returns the middle of those of a cell, and the largest difference from it.
    pub fn middle(&self, cell: usize) -> [f64; 2] {
        let [least, largest] = self.of_cell(cell);
        [0.5 * (least + largest), 0.5 * (largest - least)]
    }

    /// Returns the largest of those of a cell, by which accelerations are least, and the largest
    /// difference from it.
    pub fn largest(&self, cell: usize) -> [f64; 2] {
        let [least, largest] = self.of_cell(cell);
        [largest, largest - least]
    }

    fn of_cell(&self, cell: usize) -> [f64; 2] {
        if self.are_own() { self.of_cells[cell] } else { [0.0; 2] }
    }
}

/// Returns the least and the largest of two pairs of both.
fn with(all: [f64; 2], others: [f64; 2]) -> [f64; 2] {
    [all[0].min(others[0]), all[1].max(others[1])]
}

/// Returns the middle and the radius of each cell of a tree whose sorted bodies have these
/// coordinates, in the units of the tree of sources.
pub fn extents<E: Number>(
    tree: &Octree,
    positions: &[Pooled<f64>; 3],
    units: &TreeUnits,
    (threads, pool): (&Threads, &BufferPool),
) -> Result<Pooled<Extent>> {
    let mut all = pool.unwritten(tree.cells.len(), Extent::default(), "cells of sinks")?;
    let mut boxes = pool.unwritten(tree.cells.len(), ([0.0; 3], [0.0; 3]), "cells of sinks")?;
    for generation in tree.generations.iter().rev() {
        let (above, below) = all.split_at_mut(generation.end);
        let (boxes_above, boxes_below) = boxes.split_at_mut(generation.end);
        let (below, boxes_below) = (&*below, &*boxes_below);
        let tasks = tree.cells[generation.clone()]
            .chunks(CELLS_OF_TASK)
            .zip(above[generation.start..].chunks_mut(CELLS_OF_TASK))
            .zip(boxes_above[generation.start..].chunks_mut(CELLS_OF_TASK));
        threads.each(tasks, |((cells, extents), boxes)| {
            for (cell, (extent, bounds)) in cells.iter().zip(extents.iter_mut().zip(boxes)) {
                *extent = Extent::default();
                if cell.is_leaf() {
                    *bounds = box_of_bodies(cell, positions);
                } else {
                    let children = cell.child_range();
                    let of_children = &boxes_below[children.start - generation.end..children.end - generation.end];
                    *bounds = of_children.iter().copied().reduce(united).unwrap_or_default();
                }
                let (low, high) = *bounds;
                let center = std::array::from_fn(|k| low[k] + (high[k] - low[k]) * 0.5);
                // Rounded as the walk has it.
                let center = center.map(|coordinate: f64| {
                    let high = E::from_f64(coordinate).to_f64();
                    high + E::from_f64(coordinate - high).to_f64()
                });
                extent.center = center;
                if cell.is_leaf() || cell.bodies as usize <= 4 * GROUP {
                    extent.radius = radius_of_bodies(cell, positions, center);
                } else {
                    let of_child = |child: &Extent| distance(child.center, center) + child.radius;
                    let children = cell.child_range();
                    let of_children = &below[children.start - generation.end..children.end - generation.end];
                    let of_box = distance(center, high).max(distance(center, low));
                    extent.radius = of_children.iter().map(of_child).fold(0.0, f64::max).min(of_box);
                }
                extent.radius *= 1.0 + 1e-6;
                if extent.radius > units.largest {
                    extent.radius = f64::INFINITY;
                }
            }
        });
    }
    Ok(all)
}

/// Brings the accelerations of sinks up to all cells, and decides which are groups.
pub fn set_accelerations(
    tree: &Octree,
    extents: &mut [Extent],
    accelerations: &[[f64; 2]],
    variation: f64,
    threads: &Threads,
) {
    for generation in tree.generations.iter().rev() {
        let (above, below) = extents.split_at_mut(generation.end);
        let below = &*below;
        let extents = above[generation.start..].chunks_mut(CELLS_OF_TASK);
        threads.each(tree.cells[generation.clone()].chunks(CELLS_OF_TASK).zip(extents), |(cells, extents)| {
            for (cell, extent) in cells.iter().zip(extents) {
                let (mut least, mut tide) = (f64::INFINITY, 0.0_f64);
                if cell.is_leaf() {
                    for [acceleration, of_leaf] in &accelerations[cell.body_range()] {
                        least = least.min(*acceleration);
                        tide = *of_leaf;
                    }
                    extent.floor = FLOOR * tide * extent.radius.min(f64::MAX);
                    least = least.max(extent.floor);
                } else {
                    let children = cell.child_range();
                    for child in &below[children.start - generation.end..children.end - generation.end] {
                        least = least.min(child.least);
                        tide = tide.max(child.tide);
                    }
                }
                (extent.least, extent.tide) = (least, tide);
                let is_even = is_even(extent.radius, tide, least, variation);
                extent.is_split = cell.is_leaf() && cell.bodies > 1 && !is_even;
                extent.is_group = !extent.is_split && (cell.is_leaf() || is_even && cell.bodies as usize <= GROUP);
            }
        });
    }
}

/// Returns the distance of two points.
fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum::<f64>().sqrt()
}

fn box_of_bodies(cell: &Cell, positions: &[Pooled<f64>; 3]) -> ([f64; 3], [f64; 3]) {
    let of_axis = |k: usize| {
        positions[k][cell.body_range()].iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), coordinate| {
            (if *coordinate < low { *coordinate } else { low }, if *coordinate > high { *coordinate } else { high })
        })
    };
    let axes = [of_axis(0), of_axis(1), of_axis(2)];
    (axes.map(|(low, _)| low), axes.map(|(_, high)| high))
}

fn united(a: ([f64; 3], [f64; 3]), b: ([f64; 3], [f64; 3])) -> ([f64; 3], [f64; 3]) {
    (std::array::from_fn(|k| a.0[k].min(b.0[k])), std::array::from_fn(|k| a.1[k].max(b.1[k])))
}

fn radius_of_bodies(cell: &Cell, positions: &[Pooled<f64>; 3], center: [f64; 3]) -> f64 {
    let [x, y, z] = positions;
    let distance2 = |body: usize| {
        let distance = [x[body] - center[0], y[body] - center[1], z[body] - center[2]];
        distance[0] * distance[0] + distance[1] * distance[1] + distance[2] * distance[2]
    };
    cell.body_range().map(distance2).fold(0.0, f64::max).sqrt()
}
