//! The sources of a tree: bodies in sorted order, and the records and moments of cells.

use std::sync::Mutex;

use bytemuck::{Pod, Zeroable};

use crate::cells::Cell;
use crate::criterion::Criterion;
use crate::cube::{Cube, LEVELS, LOWEST_EXPONENT, exponent_of, power_of_two};
use kyoho_core::{BufferPool, Error, Pooled, Precision, Result, Units, memory};
use kyoho_hal::threads::Threads;
use kyoho_laws::indices::{factorial, place};
use kyoho_laws::lanes::MAX_LANES;
use kyoho_laws::simd::expansions::{CellRecord, Expansions, Number};

use super::octree::Octree;
use super::sums::Points;

/// The number of cells that a thread takes at a time.
const CELLS_OF_TASK: usize = 256;
/// The number of masses that a thread looks at at a time.
const MASSES_OF_TASK: usize = 1 << 15;
/// Cells of at most this many bodies get the smallest radius that holds these; larger ones get one
/// that holds the spheres of their children.
const BODIES_OF_RADIUS: u32 = 128;
/// The levels below the cube down to which the leaves of most bodies may be on GPUs.
const DEEPEST_ON_GPUS: i32 = 36;
/// The diagonal of a cube over its side.
const SQRT_3: f64 = 1.7320508075688772;

/// The units of a tree: powers of two of the caller's, in which cells of most bodies have a size of
/// about one.
#[derive(Debug, Clone, Copy)]
pub struct TreeUnits {
    /// The units.
    pub units: Units,
    /// The factor of lengths.
    pub length: f64,
    /// The factor of masses.
    pub mass: f64,
    /// The least squared distance at which expansions of orders up to 4 are used.
    pub least2: f64,
    /// The largest radius of a cell whose expansion is used.
    pub largest: f64,
    /// Whether some cell is so small that the rounding of its centre is seen beside its extent.
    pub has_tiny_cells: bool,
}

/// The numbers of levels that the octants of cells may be deep: the sides are normal numbers.
const MOST_LEVELS: usize = 2300;
/// The rounding of a centre over the extent of a cell from which on dipoles are carried, as a binary
/// exponent.
const SEEN: i32 = -20;

/// A body may be so many powers of two of a leaf's size away that the squares, cubes and masses of these
/// distances are numbers of 32 bits.
const REACH_OF_32_BITS: i32 = 60;

/// The unit of length may be so many powers of two above that of most bodies. Beyond this the pulls of near
/// ones would be no numbers.
const COARSER: i32 = 20;

/// A sink may be so many powers of two of a leaf's size away that the pulls on it are numbers of 32 bits.
const FARTHEST_SINK: i32 = 40;

/// The largest mass in the units of a tree has this binary exponent; see
/// [`kyoho_core::Bounds::SINGLE`].
const LARGEST_MASS: i32 = -18;

/// What the units of a tree follow from. Ranks join theirs.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub struct Spread {
    /// The bodies.
    bodies: u64,
    /// The largest distance of a border of the cube from the origin, along an axis.
    farthest: f64,
    /// The largest magnitude of a mass.
    largest_mass: f64,
    /// The binary exponent of the side of the octants in which the leaves of most bodies are.
    side: i32,
    /// That of the smallest octant of several bodies.
    least_side: i32,
    /// 1 if some mass is negative, else 0.
    pub has_negative: u64,
}

impl Spread {
    /// Returns what the units of a tree of bodies follow from.
    pub fn new(tree: &Octree, masses: &[f64], threads: &Threads) -> Result<Spread> {
        // The octants in which the leaves of most bodies are.
        let mut bodies = [0_u64; MOST_LEVELS];
        let mut deepest = None;
        for cell in tree.cells.iter() {
            for child in &tree.cells[cell.child_range()] {
                if child.is_leaf() {
                    bodies[usize::from(cell.depth) + 1] += u64::from(child.bodies);
                }
            }
            if cell.bodies > 1 {
                deepest = deepest.max(Some(i32::from(cell.depth)));
            }
        }
        let all: u64 = bodies.iter().sum();
        let mut deeper = 0;
        let median = (0..bodies.len()).find(|depth| {
            deeper += bodies[*depth];
            2 * deeper >= all.max(1)
        });
        let mut of_masses = memory::filled(masses.len().div_ceil(MASSES_OF_TASK), (0.0_f64, false), "masses")?;
        threads.each(masses.chunks(MASSES_OF_TASK).zip(&mut of_masses), |(masses, found)| {
            *found = masses.iter().fold((0.0, false), |(most, is), mass| (most.max(mass.abs()), is | (*mass < 0.0)));
        });
        let least_side = deepest.map_or(i32::MAX, |depth| tree.cube.exponent - depth);
        Ok(Spread {
            bodies: masses.len() as u64,
            farthest: tree.cube.farthest(),
            largest_mass: of_masses.iter().fold(0.0, |most: f64, found| most.max(found.0)),
            side: tree.cube.exponent - median.unwrap_or(0) as i32,
            least_side,
            has_negative: u64::from(of_masses.iter().any(|found| found.1)),
        })
    }

    /// Returns the largest squared softening by which units are chosen where bodies have several: the
    /// square of 2^12 times the side of the octants of most bodies.
    pub fn largest_softening2(&self) -> f64 {
        power_of_two(2 * (self.side + 12))
    }

    /// Whether 32 bits hold the distances and moments of trees in a cube, as on GPUs: no mass is negative,
    /// and most bodies are in leaves that are not too small beside the cube.
    pub fn is_for_gpus(&self, cube: &Cube) -> bool {
        self.has_negative == 0 && self.side >= cube.exponent - DEEPEST_ON_GPUS
    }

    /// Returns the error that a body is too far away beside the distances of most.
    pub fn too_wide(&self, precision: Precision) -> Error {
        let (what, precision) = ("the farthest coordinate of a source of the tree".into(), precision.name());
        let most = power_of_two(self.side + 2 + REACH_OF_32_BITS + COARSER);
        let allowed = format!("up to {most:e}, as most sources are close to others, or precision double");
        Error::OutOfRange { what, value: self.farthest, precision, allowed }
    }

    /// Returns that of a domain in the cube of all ranks, whose size counts where the own bodies are in one
    /// point.
    pub fn of_domain(self, cube: &Cube) -> Spread {
        if self.side > LOWEST_EXPONENT {
            return self;
        }
        let side = if cube.exponent > LOWEST_EXPONENT { cube.exponent } else { exponent_of(self.farthest) };
        Spread { side, least_side: i32::MAX, ..self }
    }

    /// Returns what the units of the trees of several ranks follow from. It sorts them.
    pub fn joined(spreads: &mut [Spread]) -> Spread {
        spreads.sort_unstable_by_key(|spread| -spread.side);
        let bodies: u64 = spreads.iter().map(|spread| spread.bodies).sum();
        let mut smaller = 0;
        let median = spreads.iter().find(|spread| {
            smaller += spread.bodies;
            2 * smaller >= bodies.max(1)
        });
        let none = Spread { least_side: i32::MAX, ..Spread::zeroed() };
        let side = median.map_or(0, |spread| spread.side);
        spreads.iter().filter(|spread| spread.bodies > 0).fold(Spread { bodies, side, ..none }, |all, spread| Spread {
            farthest: all.farthest.max(spread.farthest),
            largest_mass: all.largest_mass.max(spread.largest_mass),
            least_side: all.least_side.min(spread.least_side),
            has_negative: all.has_negative | spread.has_negative,
            ..all
        })
    }
}

impl TreeUnits {
    /// Whether numbers hold the distances of most bodies of a tree beside that of the farthest one, and the
    /// pulls on the farthest sink; those of 64 bits do.
    pub fn hold<E: Number>(spread: &Spread, softening2: f64, farthest_sink: f64) -> bool {
        let (fine, coarse) = Self::lengths::<E>(spread, softening2);
        size_of::<E>() == 8 || coarse - fine <= COARSER && exponent_of(farthest_sink) - fine <= FARTHEST_SINK
    }

    /// Returns the binary exponents of the unit of length that most bodies want, and of the least one for
    /// which all coordinates are in range.
    fn lengths<E: Number>(spread: &Spread, softening2: f64) -> (i32, i32) {
        let reach = if size_of::<E>() == 4 { REACH_OF_32_BITS } else { 150 };
        let softening = exponent_of(softening2) / 2;
        ((spread.side + 2).max(softening - 8), exponent_of(spread.farthest) - reach)
    }

    /// Returns the units for a tree of sources.
    pub fn new<E: Number>(spread: &Spread, softening2: f64) -> TreeUnits {
        // Derivatives of the order 4, moments of the order 6 and sums of 2^31 bodies stay in range.
        // Higher orders have a least distance of their own in single precision (`least_s2`).
        // A centre, of two numbers of 32 bits or one of 64, is rounded to so many digits.
        let (low, high, digits) = if size_of::<E>() == 4 { (-11, 14, 48) } else { (-100, 100, 53) };
        let farthest = exponent_of(spread.farthest);
        let (fine, coarse) = Self::lengths::<E>(spread, softening2);
        let length = -fine.max(coarse);
        let mass = if spread.largest_mass > 0.0 { LARGEST_MASS - exponent_of(spread.largest_mass) } else { 0 };
        let units = Units { mass, length, speed: 0 };
        TreeUnits {
            units,
            length: power_of_two(length),
            mass: power_of_two(mass),
            least2: power_of_two(2 * low),
            largest: power_of_two(high),
            has_tiny_cells: spread.least_side < farthest - digits - SEEN,
        }
    }
}

/// Bodies in sorted order, and the records and moments of cells.
pub struct Sources<E: Number> {
    /// The tree.
    pub tree: Octree,
    /// The units.
    pub units: TreeUnits,
    /// Whether some mass is negative.
    pub has_negative: bool,
    /// The coordinates, in the units of the tree, and `MAX_LANES` numbers behind them. Without bodies
    /// where a device has these.
    pub positions: [Pooled<f64>; 3],
    /// The masses, in the units of the tree, and `MAX_LANES` zeros.
    pub masses: Pooled<f64>,
    /// Half of the squared softening of each body, in the units of the tree, and `MAX_LANES` zeros,
    /// where each body has its own; else empty.
    pub softenings2: Pooled<f64>,
    /// The record of each cell.
    pub records: Pooled<CellRecord<E>>,
    /// The moments of each cell, and a row of zeros.
    pub moments: Pooled<E>,
}

/// The numbers of a cell that only its parent needs.
#[derive(Clone, Copy, Default)]
struct Summary {
    center: [f64; 3],
    mass: f64,
    radius: f64,
    reach: f64,
    softening: CellSoftening,
}

/// The softenings of the bodies of a cell, as halves of squares; 0 where pairs have one.
#[derive(Clone, Copy, Default)]
struct CellSoftening {
    /// The mean, weighted by `|m|`.
    mean: f64,
    /// The mean square of the difference from that, weighted as well.
    variance: f64,
    least: f64,
    largest: f64,
}

impl CellSoftening {
    /// Returns those of bodies, or of cells, with their weights, of which the sum is 1.
    fn of(parts: impl Iterator<Item = (f64, CellSoftening)> + Clone) -> CellSoftening {
        let (mut least, mut largest, mut mean) = (f64::INFINITY, 0.0_f64, 0.0);
        for (weight, part) in parts.clone() {
            least = least.min(part.least);
            largest = largest.max(part.largest);
            mean += weight * part.mean;
        }
        // Of equal ones the mean need not be the same to the last digit.
        let mean = mean.clamp(least, largest);
        let variance = parts.map(|(weight, part)| weight * (part.variance + (part.mean - mean).powi(2))).sum();
        CellSoftening { mean, variance, least, largest }
    }

    fn of_body(softening2: f64) -> CellSoftening {
        CellSoftening { mean: softening2, variance: 0.0, least: softening2, largest: softening2 }
    }

    /// Returns the largest difference from the mean.
    fn spread(&self) -> f64 {
        (self.largest - self.mean).max(self.mean - self.least)
    }

    /// Returns an upper bound of `(sum |m| |e|^(p/2) / M)^(1/p)` for an order `p`, where `e` is the
    /// difference of a body from the mean.
    fn reach(&self, order: usize) -> f64 {
        match order {
            _ if self.variance == 0.0 => 0.0,
            0..4 => self.variance.sqrt().sqrt(),
            _ => root(self.spread().powf((order - 4) as f64 / 2.0) * self.variance, order),
        }
    }
}

impl<E: Number> Sources<E> {
    /// Makes those of a tree, without the bodies.
    pub fn new(tree: Octree, units: TreeUnits, has_negative: bool) -> Sources<E> {
        let (positions, masses, softenings2) = Default::default();
        let (records, moments) = Default::default();
        Sources { tree, units, has_negative, positions, masses, softenings2, records, moments }
    }

    /// Puts the bodies into the order of the tree, unless they are.
    pub fn gather(&mut self, points: &Points, on: (&Threads, &BufferPool)) -> Result<()> {
        if self.masses.is_empty() {
            let [x, y, z, masses] = super::sums::gathered(&self.tree.order, on, |body| self.scaled(points, body))?;
            (self.positions, self.masses) = ([x, y, z], masses);
        }
        Ok(())
    }

    /// Returns the coordinates and the mass of a body in the units of the tree.
    fn scaled(&self, points: &Points, body: usize) -> [f64; 4] {
        let [x, y, z] = points.positions[body].map(|coordinate| coordinate * self.units.length);
        [x, y, z, points.masses[body] * self.units.mass]
    }

    /// Whether the bodies of a cell, which are many, are in one point and have one softening, so that
    /// they act on others as one body of all their mass.
    pub fn is_one_body(&self, cell: usize) -> bool {
        self.tree.cells[cell].is_point() && self.records[cell].spread.to_f64() == 0.0
    }

    /// Returns the coordinates and the mass of the body at a place of the tree, which is one of some
    /// points.
    pub fn body(&self, points: &Points, place: usize) -> [f64; 4] {
        if self.masses.is_empty() {
            return self.scaled(points, self.tree.order[place] as usize);
        }
        let [x, y, z] = &self.positions;
        [x[place], y[place], z[place], self.masses[place]]
    }

    /// Makes the records and moments of all cells.
    pub fn expand(
        &mut self,
        expansions: &dyn Expansions<E>,
        criterion: Criterion,
        positions: &[[f64; 3]],
        (threads, pool): (&Threads, &BufferPool),
    ) -> Result<()> {
        let (count, stride) = (self.tree.cells.len(), expansions.stride());
        let zero = E::from_f64(0.0);
        let mut records = pool.unwritten(count, CellRecord::default(), "the cells of a tree")?;
        let mut moments = pool.unwritten((count + 1) * stride, zero, "the moments of cells")?;
        moments[count * stride..].fill(zero);
        let mut summaries = pool.unwritten(count, Summary::default(), "the cells of a tree")?;
        let shared = Upward { sources: self, expansions, criterion, bodies: positions };
        // With room for that of all threads, none is lost.
        let scratch = Mutex::new(memory::room(threads.count(), "the bodies of a leaf")?);
        for generation in self.tree.generations.iter().rev() {
            // Children stand behind their parents' generation.
            let (above, below) = moments.split_at_mut(generation.end * stride);
            let (summaries_above, summaries_below) = summaries.split_at_mut(generation.end);
            let (below, summaries_below) = (&*below, &*summaries_below);
            let cells = &self.tree.cells[generation.clone()];
            let tasks = cells
                .chunks(CELLS_OF_TASK)
                .zip(records[generation.clone()].chunks_mut(CELLS_OF_TASK))
                .zip(above[generation.start * stride..].chunks_mut(CELLS_OF_TASK * stride))
                .zip(summaries_above[generation.start..].chunks_mut(CELLS_OF_TASK));
            threads.run(tasks, &scratch, Scratch::default, |(((cells, records), moments), summaries), scratch| {
                let numbers = records.iter_mut().zip(moments.chunks_exact_mut(stride)).zip(summaries);
                for (cell, ((record, moments), summary)) in cells.iter().zip(numbers) {
                    moments.fill(zero);
                    *summary = if cell.is_leaf() {
                        shared.leaf(cell, moments, scratch)
                    } else {
                        let children = cell.child_range();
                        let (first, end) = (children.start - generation.end, children.end - generation.end);
                        shared.parent(cell, &summaries_below[first..end], &below[first * stride..end * stride], moments)
                    };
                    *record = shared.record(cell, summary);
                }
            });
        }
        let failed = lock(&scratch).iter().any(|scratch| scratch.failed);
        (self.records, self.moments) = (records, moments);
        if failed { Err(memory::none::<[E; 4]>(self.masses.len(), "the bodies of a leaf")) } else { Ok(()) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The memory that a thread works in: the bodies of a leaf, quantity after quantity.
#[derive(Default)]
struct Scratch<E> {
    rows: [Vec<E>; 5],
    failed: bool,
}

/// The data that all cells are made of.
struct Upward<'a, E: Number> {
    sources: &'a Sources<E>,
    expansions: &'a dyn Expansions<E>,
    criterion: Criterion,
    bodies: &'a [[f64; 3]],
}

impl<E: Number> Upward<'_, E> {
    /// Returns a center as the numbers of a record have it.
    fn rounded(center: [f64; 3]) -> [f64; 3] {
        center.map(|coordinate| {
            let high = E::from_f64(coordinate).to_f64();
            high + E::from_f64(coordinate - high).to_f64()
        })
    }

    /// Makes the moments of a leaf.
    fn leaf(&self, cell: &Cell, moments: &mut [E], scratch: &mut Scratch<E>) -> Summary {
        let Sources { positions: [x, y, z], masses, softenings2, .. } = self.sources;
        let mut bodies = cell.body_range();
        let mut masses = &masses[bodies.clone()];
        let mass: f64 = masses.iter().map(|mass| mass.abs()).sum();
        let softening = match softenings2.get(bodies.clone()) {
            None => CellSoftening::default(),
            Some(softenings2) => {
                let part = |mass_of: f64| if mass > 0.0 { mass_of.abs() / mass } else { 1.0 / f64::from(cell.bodies) };
                let parts = masses.iter().zip(softenings2);
                CellSoftening::of(parts.map(|(mass_of, of_body)| (part(*mass_of), CellSoftening::of_body(*of_body))))
            }
        };
        // Bodies in one point are one body, if they have one softening.
        let of_point = [masses.iter().sum()];
        if cell.is_point() && softening.spread() == 0.0 {
            masses = &of_point;
            bodies.end = bodies.start + 1;
        }
        let (x, y, z) = (&x[bodies.clone()], &y[bodies.clone()], &z[bodies.clone()]);
        let count = bodies.len();
        let size: f64 = masses.iter().map(|mass| mass.abs()).sum();
        let weight = |body: usize| if size > 0.0 { masses[body].abs() / size } else { 1.0 / count as f64 };
        // From the first body, so that the centre of bodies in one place is that place.
        let mut offset = [0.0; 3];
        for body in 1..count {
            let weight = weight(body);
            offset[0] += weight * (x[body] - x[0]);
            offset[1] += weight * (y[body] - y[0]);
            offset[2] += weight * (z[body] - z[0]);
        }
        let center = Self::rounded([x[0] + offset[0], y[0] + offset[1], z[0] + offset[2]]);
        let padded = count.next_multiple_of(MAX_LANES);
        let zero = E::from_f64(0.0);
        for row in &mut scratch.rows {
            row.clear();
            if memory::lengthen(row, padded, "the bodies of a leaf", || zero).is_err() {
                scratch.failed = true;
                return Summary::default();
            }
        }
        let (power, mut reach, mut radius2) = (self.expansions.order() as i32, 0.0, 0.0_f64);
        let [of_masses, of_x, of_y, of_z, of_softenings] = &mut scratch.rows;
        for body in 0..count {
            let distance = [x[body] - center[0], y[body] - center[1], z[body] - center[2]];
            of_masses[body] = E::from_f64(masses[body]);
            of_x[body] = E::from_f64(distance[0]);
            of_y[body] = E::from_f64(distance[1]);
            of_z[body] = E::from_f64(distance[2]);
            if !softenings2.is_empty() {
                of_softenings[body] = E::from_f64(softenings2[bodies.start + body] - softening.mean);
            }
            let y2 = distance[0] * distance[0] + distance[1] * distance[1] + distance[2] * distance[2];
            radius2 = radius2.max(y2);
            let halves = y2.powi(power / 2);
            reach += weight(body) * if power % 2 == 0 { halves } else { halves * y2.sqrt() };
        }
        self.expansions.moments_of_bodies(of_masses, [of_x, of_y, of_z, of_softenings], moments);
        let radius = radius2.sqrt();
        let reach = if reach > 0.0 { root(reach, power as usize).min(radius) } else { radius };
        Summary { center, mass, radius, reach, softening }
    }

    /// Makes the moments of a cell that has children.
    fn parent(&self, cell: &Cell, children: &[Summary], of_children: &[E], moments: &mut [E]) -> Summary {
        let mass: f64 = children.iter().map(|child| child.mass).sum();
        let mut center = [0.0; 3];
        let numbers = self.sources.tree.cells[cell.child_range()].iter().map(|child| f64::from(child.bodies));
        let weights = children.iter().zip(numbers).map(|(child, bodies)| match mass > 0.0 {
            true => child.mass / mass,
            false => bodies / f64::from(cell.bodies),
        });
        for (child, weight) in children.iter().zip(weights.clone()) {
            center.iter_mut().zip(child.center).for_each(|(sum, coordinate)| *sum += weight * coordinate);
        }
        let center = Self::rounded(center);
        let softening = match self.sources.softenings2.is_empty() {
            true => CellSoftening::default(),
            false => CellSoftening::of(weights.zip(children.iter().map(|child| child.softening))),
        };
        let mut shifts = [[E::from_f64(0.0); MAX_LANES]; 4];
        let mut radius = 0.0_f64;
        for (place, child) in children.iter().enumerate() {
            let distance: [f64; 3] = std::array::from_fn(|k| center[k] - child.center[k]);
            (0..3).for_each(|k| shifts[k][place] = E::from_f64(distance[k]));
            shifts[3][place] = E::from_f64(child.softening.mean - softening.mean);
            radius = radius.max(length(distance) + child.radius);
        }
        if cell.bodies <= BODIES_OF_RADIUS {
            let [x, y, z] = &self.sources.positions;
            let distance2 = |body: usize| {
                let distance = [x[body] - center[0], y[body] - center[1], z[body] - center[2]];
                distance[0] * distance[0] + distance[1] * distance[1] + distance[2] * distance[2]
            };
            radius = radius.min(cell.body_range().map(distance2).fold(0.0, f64::max).sqrt());
        }
        self.expansions.moments_of_children(of_children, &shifts, children.len(), moments);
        Summary { center, mass, radius, reach: self.reach(radius, mass, moments), softening }
    }

    /// Returns the radius `rho` of the criterion, from the traces of moments.
    fn reach(&self, radius: f64, mass: f64, moments: &[E]) -> f64 {
        // Only without negative masses are moments sums of magnitudes.
        if self.sources.has_negative || mass <= 0.0 {
            return radius;
        }
        let order = self.expansions.order();
        let half = order / 2;
        let mut trace = 0.0;
        for a in 0..=half {
            for b in 0..=half - a {
                let c = half - a - b;
                let count = factorial([half, 0, 0]) / factorial([a, b, c]);
                let component = [2 * a, 2 * b, 2 * c];
                trace += count * factorial(component) * moments[place(component)].to_f64();
            }
        }
        let sum = if order % 2 == 0 { trace } else { trace * radius };
        root((sum / mass).max(0.0), order).min(radius)
    }

    /// Returns the record of a cell.
    fn record(&self, cell: &Cell, summary: &Summary) -> CellRecord<E> {
        let Summary { center, mass, radius, reach, softening } = *summary;
        let units = &self.sources.units;
        let reach = match self.criterion {
            Criterion::Error { .. } => reach + softening.reach(self.expansions.order()),
            Criterion::Angle { theta } if cell.bodies > 1 => {
                let cube = &self.sources.tree.cube;
                let first = self.bodies[self.sources.tree.order[cell.first_body as usize] as usize];
                let depth = u32::from(cell.depth);
                let side = cube.side(depth) * units.length;
                let spread = softening.spread().sqrt();
                let offset = if depth > LEVELS {
                    side * SQRT_3 / 2.0
                } else {
                    let middle = cube.middle(cube.key(first), depth);
                    length(std::array::from_fn(|k| center[k] - middle[k] * units.length))
                };
                (side + spread) / theta + offset
            }
            Criterion::Angle { .. } => 0.0,
        };
        let high = center.map(E::from_f64);
        let low = std::array::from_fn(|k| E::from_f64(center[k] - high[k].to_f64()));
        let spread = softening.spread();
        // A little more than rounding takes away.
        let radius = (radius + spread.sqrt()) * (1.0 + 1e-6);
        CellRecord {
            center: high,
            mass: E::from_f64(mass),
            center_low: low,
            radius: if radius > units.largest { E::INFINITY } else { E::from_f64(radius) },
            reach: E::from_f64(reach * (1.0 + 1e-6)),
            opening: if cell.is_leaf() { E::from_f64(-1.0) } else { E::from_f64(radius) },
            softening2: E::from_f64(softening.mean),
            spread: E::from_f64(spread),
        }
    }
}

/// Returns the root of a degree.
fn root(number: f64, degree: usize) -> f64 {
    match degree {
        4 => number.sqrt().sqrt(),
        degree => number.powf(1.0 / degree as f64),
    }
}

fn length(vector: [f64; 3]) -> f64 {
    vector.iter().map(|component| component * component).sum::<f64>().sqrt()
}
