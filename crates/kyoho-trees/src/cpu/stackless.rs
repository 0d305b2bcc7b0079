//! Forces by a walk without a stack for each sink, in which cells are points: that of Nakasato
//! (2009, Oct-tree Method on GPU), here in double precision.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::bodies::Bodies;
use kyoho_core::{BufferPool, Result, SinkOrder, TreePhase, TreeProfile, memory};
use kyoho_hal::threads::Threads;

use super::octree::{NO_CELL, Octree};

/// The number of sinks that a thread takes at a time.
const PIECE: usize = 1 << 8;
/// The name of the tree in errors about memory.
const WHAT: &str = "a tree";

/// How forces are summed.
#[derive(Debug, Clone, Copy)]
pub struct Walk {
    /// The opening angle.
    pub theta: f64,
    /// The order in which threads take the sinks.
    pub sinks: SinkOrder,
    /// The squared softening.
    pub softening2: f64,
    /// Whether a source exerts no force on the sink that has its index.
    pub skip_own_index: bool,
}

/// A point with a mass.
#[derive(Debug, Clone, Copy, Default)]
struct Point {
    position: [f64; 3],
    mass: f64,
}

/// A tree whose cells are points, for the masses of one sign.
struct Points<'a> {
    tree: &'a Octree,
    nexts: &'a [u32],
    /// The bodies in the order of the tree.
    bodies: Vec<Point>,
    cells: Vec<Point>,
    /// For each cell the square of the distance from which on it is a point.
    reaches2: Vec<f64>,
}

/// Returns the point of some points: their mass at their centre of mass, or in their middle.
fn joined(points: impl Iterator<Item = (Point, f64)> + Clone) -> Point {
    let mass: f64 = points.clone().map(|(point, _)| point.mass).sum();
    let count: f64 = points.clone().map(|(_, count)| count).sum();
    let mut position = [0.0; 3];
    for (point, count_of) in points {
        let weight = if mass > 0.0 { point.mass / mass } else { count_of / count };
        (0..3).for_each(|k| position[k] += weight * point.position[k]);
    }
    Point { position, mass }
}

impl Points<'_> {
    fn new<'a>(
        (tree, nexts): (&'a Octree, &'a [u32]),
        (sources, sign): (&Bodies, f64),
        theta: f64,
    ) -> Result<Points<'a>> {
        let body = |body: &u32| {
            let body = *body as usize;
            Point { position: sources.positions[body], mass: (sign * sources.masses[body]).max(0.0) }
        };
        let bodies: Vec<Point> = memory::collected(tree.order.iter().map(body), WHAT)?;
        let mut cells = memory::filled(tree.cells.len(), Point::default(), WHAT)?;
        // Children stand behind their parents.
        for (number, cell) in tree.cells.iter().enumerate().rev() {
            cells[number] = if cell.is_leaf() {
                joined(bodies[cell.body_range()].iter().map(|body| (*body, 1.0)))
            } else {
                joined(cell.child_range().map(|child| (cells[child], f64::from(tree.cells[child].bodies))))
            };
        }
        let reach2 = |depth: u16| (tree.cube.side(depth.into()) / theta).powi(2);
        let reaches2 = memory::collected(tree.cells.iter().map(|cell| reach2(cell.depth)), WHAT)?;
        Ok(Points { tree, nexts, bodies, cells, reaches2 })
    }

    /// Adds the force on a sink, and returns the number of points of which it is the sum. One source
    /// may be left out.
    fn add(&self, (at, own): ([f64; 3], Option<u32>), (softening2, sign): (f64, f64), force: &mut [f64; 4]) -> u64 {
        let apart = |point: &Point| -> ([f64; 3], f64) {
            let r: [f64; 3] = std::array::from_fn(|k| point.position[k] - at[k]);
            (r, r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
        };
        let mut add = |(r, r2): ([f64; 3], f64), mass: f64| {
            let s2 = r2 + softening2;
            if s2 > 0.0 {
                let depth = sign * mass / s2.sqrt();
                force[0] -= depth;
                (0..3).for_each(|k| force[1 + k] += depth / s2 * r[k]);
            }
        };
        let (mut points, mut at) = (0, 0);
        while at != NO_CELL {
            let (number, cell) = (at as usize, &self.tree.cells[at as usize]);
            let from_cell = apart(&self.cells[number]);
            let is_point = self.reaches2[number] < from_cell.1;
            if is_point {
                add(from_cell, self.cells[number].mass);
                points += 1;
            } else if cell.is_leaf() {
                let range: Range<usize> = cell.body_range();
                points += range.len() as u64;
                for (body, source) in self.bodies[range.clone()].iter().zip(&self.tree.order[range]) {
                    if own != Some(*source) {
                        add(apart(body), body.mass);
                    }
                }
            }
            at = if is_point || cell.is_leaf() { self.nexts[number] } else { cell.first_child };
        }
        points
    }
}

/// Returns the potential and the acceleration of each sink.
pub fn sum(sources: &Bodies, sinks: &Bodies, walk: &Walk, threads: &Threads) -> Result<(Vec<[f64; 4]>, TreeProfile)> {
    let count = sinks.positions.len();
    let mut forces = memory::filled(count, [0.0; 4], "forces")?;
    if sources.positions.is_empty() {
        return Ok((forces, TreeProfile::default()));
    }
    let mut profile = TreeProfile::default();
    let mut began = Instant::now();
    let mut end = |phase: TreePhase| {
        profile.seconds[phase as usize] += began.elapsed().as_secs_f64();
        began = Instant::now();
    };
    let pool = BufferPool::default();
    let tree = Octree::new(&sources.positions, threads, &pool)?;
    let nexts = tree.nexts()?;
    let are_sources = sources.positions[..] == sinks.positions[..] && sources.indices[..] == sinks.indices[..];
    let order = match walk.sinks {
        SinkOrder::Given => pool.collected(0..count as u32, WHAT)?,
        SinkOrder::Morton if are_sources => pool.collected(tree.order.iter().copied(), WHAT)?,
        SinkOrder::Morton => Octree::new(&sinks.positions, threads, &pool)?.order,
    };
    end(TreePhase::Sort);
    let points = AtomicU64::new(0);
    let mut sorted = memory::filled(count, [0.0; 4], "forces")?;
    for sign in [1.0, -1.0] {
        if sign < 0.0 && sources.masses.iter().all(|mass| *mass >= 0.0) {
            break;
        }
        let tree = Points::new((&tree, &nexts), (sources, sign), walk.theta)?;
        end(TreePhase::Moments);
        threads.each(order.chunks(PIECE).zip(sorted.chunks_mut(PIECE)), |(order, forces)| {
            let of_sink = |(sink, force): (&u32, &mut [f64; 4])| {
                let own = Some(*sink).filter(|_| are_sources && walk.skip_own_index);
                tree.add((sinks.positions[*sink as usize], own), (walk.softening2, sign), force)
            };
            points.fetch_add(order.iter().zip(forces).map(of_sink).sum(), Ordering::Relaxed);
        });
        end(TreePhase::Walk);
    }
    order.iter().zip(sorted).for_each(|(sink, force)| forces[*sink as usize] = force);
    if walk.skip_own_index && !are_sources {
        sources.leave_out_own(sinks, walk.softening2, forces.as_flattened_mut())?;
    }
    profile.far = points.into_inner();
    Ok((forces, profile))
}
