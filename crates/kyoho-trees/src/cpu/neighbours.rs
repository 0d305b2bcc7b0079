//! The sources within a radius of points, by a walk through a tree without a stack.

use crate::neighbours::WHAT;
use kyoho_core::{BufferPool, Result, memory};
use kyoho_hal::threads::Threads;

use super::octree::{NO_CELL, Octree};

/// The number of cells whose boxes a thread makes at a time.
const CELLS_OF_TASK: usize = 256;

/// A box with all bodies of a cell.
#[derive(Clone, Copy)]
struct Bounds {
    low: [f64; 3],
    high: [f64; 3],
}

impl Bounds {
    const NOTHING: Bounds = Bounds { low: [f64::INFINITY; 3], high: [f64::NEG_INFINITY; 3] };

    fn with(self, other: Bounds) -> Bounds {
        Bounds {
            low: std::array::from_fn(|k| self.low[k].min(other.low[k])),
            high: std::array::from_fn(|k| self.high[k].max(other.high[k])),
        }
    }

    /// Returns the squared distance of a point. It is not above that of any body, rounding
    /// included, since each operation is monotonous.
    fn distance2(&self, point: [f64; 3]) -> f64 {
        let apart = |k: usize| (self.low[k] - point[k]).max(point[k] - self.high[k]).max(0.0);
        squared([apart(0), apart(1), apart(2)])
    }
}

/// A tree of sources in which neighbours are looked for.
pub struct NeighbourTree {
    tree: Octree,
    /// The positions in the order of the tree.
    positions: Vec<[f64; 3]>,
    bounds: Vec<Bounds>,
    /// The cell that follows all that is below each cell.
    nexts: Vec<u32>,
}

impl NeighbourTree {
    /// Makes the tree of some positions.
    pub fn new(positions: &[[f64; 3]], threads: &Threads) -> Result<NeighbourTree> {
        let tree = Octree::new(positions, threads, &BufferPool::default())?;
        let sorted = memory::collected(tree.order.iter().map(|body| positions[*body as usize]), WHAT)?;
        let mut bounds = memory::filled(tree.cells.len(), Bounds::NOTHING, WHAT)?;
        let tasks = tree.cells.chunks(CELLS_OF_TASK).zip(bounds.chunks_mut(CELLS_OF_TASK));
        threads.each(tasks, |(cells, bounds)| {
            for (cell, bounds) in cells.iter().zip(bounds).filter(|(cell, _)| cell.is_leaf()) {
                let of_bodies = sorted[cell.body_range()].iter().map(|at| Bounds { low: *at, high: *at });
                *bounds = of_bodies.fold(Bounds::NOTHING, Bounds::with);
            }
        });
        let nexts = tree.nexts()?;
        // Children stand behind their parents.
        for (number, cell) in tree.cells.iter().enumerate().rev().filter(|(_, cell)| !cell.is_leaf()) {
            bounds[number] = bounds[cell.child_range()].iter().copied().fold(Bounds::NOTHING, Bounds::with);
        }
        Ok(NeighbourTree { tree, positions: sorted, bounds, nexts })
    }

    /// Calls `take` with the number of each source with |r|^2 < radius2 of a point.
    pub fn each(&self, point: [f64; 3], radius2: f64, mut take: impl FnMut(u32) -> Result<()>) -> Result<()> {
        let mut at = if self.tree.cells.is_empty() { NO_CELL } else { 0 };
        while at != NO_CELL {
            let cell = &self.tree.cells[at as usize];
            // The comparison is false where a distance is no number.
            let is_beyond = self.bounds[at as usize].distance2(point) >= radius2;
            if !is_beyond && cell.is_leaf() {
                for place in cell.body_range() {
                    let source = self.positions[place];
                    if squared(std::array::from_fn(|k| source[k] - point[k])) < radius2 {
                        take(self.tree.order[place])?;
                    }
                }
            }
            at = if is_beyond || cell.is_leaf() { self.nexts[at as usize] } else { cell.first_child };
        }
        Ok(())
    }
}

/// Returns the sum of squares, in the order in which GPUs add.
fn squared([x, y, z]: [f64; 3]) -> f64 {
    x * x + y * y + z * z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_those_of_all_pairs_up_to_the_last_bit_of_a_distance() {
        let threads = Threads::new(2);
        let at = |k: u32| f64::from(k * k % 97) * 0.125;
        let positions: Vec<[f64; 3]> = (0..700).map(|k| [at(k), at(k + 31), at(3 * k)]).collect();
        let tree = NeighbourTree::new(&positions, &threads).unwrap();
        for (number, point) in positions.iter().enumerate().step_by(23) {
            let other = positions[(number + 350) % 700];
            let border: f64 = squared(std::array::from_fn(|k| other[k] - point[k]));
            for radius2 in [0.0, 1e-300, 0.5, border, border.next_up(), f64::MAX] {
                let mut found = Vec::new();
                tree.each(*point, radius2, |source| memory::push(&mut found, source, WHAT)).unwrap();
                found.sort_unstable();
                let is = |source: &u32| {
                    squared(std::array::from_fn(|k| positions[*source as usize][k] - point[k])) < radius2
                };
                assert_eq!(found, (0..700).filter(is).collect::<Vec<_>>(), "sink {number}, radius2 {radius2:e}");
            }
        }
    }

    #[test]
    fn a_tree_without_sources_has_none() {
        let tree = NeighbourTree::new(&[], &Threads::alone()).unwrap();
        tree.each([0.0; 3], f64::MAX, |_| panic!("there is no source")).unwrap();
    }
}
