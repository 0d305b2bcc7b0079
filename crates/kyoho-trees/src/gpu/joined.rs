//! Cells and bodies that came from other ranks, joined to the tree of a GPU: they stand behind its own.

use kyoho_core::{Result, memory};
use kyoho_hal::gpu::Gpu;
use kyoho_laws::expansion::MAX_COMPONENTS;
use kyoho_laws::indices::{components, powers};
use kyoho_laws::simd::expansions::{CellRecord, Number};

use super::builder::Tree;
use super::constants::{CHILDREN, MOST_COUNTED, MOST_RADIUS, plain_terms, record};
use super::transfers::{Transfers, made, made_rows};
use crate::cells::Cell;
use crate::cpu::{Extent, Joined, Passes};
use crate::criterion::MOST_NEAR;
use crate::cube::Cube;

/// The bodies that a thread takes at a time.
const PIECE: usize = 1 << 12;
/// Radii grow by this, more than rounding takes away.
const MARGIN: f64 = 1e-6;
/// The name of cells in errors about memory.
const WHAT: &str = "cells of other ranks";

/// What leads from the units of a tree on a CPU, whose origin is the caller's, to those of one on a GPU,
/// whose origin is the corner of its cube. The units of masses are the same.
pub struct Units {
    /// The corner of the cube, in the caller's units.
    low: [f64; 3],
    /// The factors of the caller's lengths on the CPU and on the GPU.
    cpu: f64,
    gpu: f64,
    /// The factors of moments of each degree that lead from the GPU's to the CPU's, and back.
    to_cpu: [f64; DEGREES],
    to_gpu: [f64; DEGREES],
}

impl Units {
    /// Returns those of trees in a cube, with the CPU's factor of lengths.
    pub fn new(cube: &Cube, softening2: f64, cpu: f64) -> Units {
        let gpu = cube.gpu_factor(softening2);
        let powers = |of: f64| std::array::from_fn(|degree| of.powi(degree as i32));
        Units { low: cube.low, cpu, gpu, to_cpu: powers(1.0 / (gpu / cpu)), to_gpu: powers(gpu / cpu) }
    }

    /// Returns how many of the GPU's lengths one of the CPU's is.
    fn ratio(&self) -> f64 {
        self.gpu / self.cpu
    }

    /// Returns the centre and the radius of a cell of the GPU as the CPU has them.
    fn place(&self, place: &[f32; 8]) -> ([f64; 3], f64) {
        let [x, y, z, radius, a, b, c, _] = place.map(f64::from);
        let highs = [x, y, z];
        let lows = [a, b, c];
        let center = |k: usize| ((highs[k] + lows[k]) / self.gpu + self.low[k]) * self.cpu;
        (std::array::from_fn(center), radius / self.ratio() * (1.0 + MARGIN))
    }

    /// Returns the record of a cell of sources of the GPU. `reach` are the words of a `CellReach`.
    pub fn record<E: Number>(&self, place: &[f32; 8], reach: [u32; 4]) -> CellRecord<E> {
        let (center, radius) = self.place(place);
        let high = center.map(E::from_f64);
        let is_leaf = reach[3] & 0xffff == 0;
        let rho = f64::from(f32::from_bits(reach[1]));
        CellRecord {
            center: high,
            mass: E::from_f64(f64::from(place[7])),
            center_low: std::array::from_fn(|k| E::from_f64(center[k] - high[k].to_f64())),
            radius: E::from_f64(radius),
            reach: E::from_f64(rho / self.ratio() * (1.0 + MARGIN)),
            opening: E::from_f64(if is_leaf { -1.0 } else { radius }),
            softening2: E::from_f64(0.0),
            spread: E::from_f64(0.0),
        }
    }

    /// Returns the extent of a cell of sinks of the GPU.
    pub fn extent(&self, place: &[f32; 8]) -> Extent {
        let (center, radius) = self.place(place);
        Extent { center, radius, ..Extent::default() }
    }

    /// Writes the moments of a cell of the GPU, which have a record.
    pub fn moments<E: Number>(&self, order: usize, from: &[f32], moments: &mut [E]) {
        for (place, moment) in moments.iter_mut().enumerate().take(components(order)) {
            let Some(term) = term_of(place) else { continue };
            let halves = term.checked_sub(plain_terms(order));
            let value = match halves {
                None => from[3 + term],
                Some(half) => {
                    let bits = from[3 + plain_terms(order) + half / 2].to_bits();
                    f32::from_bits(if half % 2 == 0 { bits << 16 } else { bits & 0xffff_0000 })
                }
            };
            *moment = E::from_f64(f64::from(value) * self.to_cpu[DEGREE_AT[place]]);
        }
    }

    /// Returns an acceleration of the GPU as the CPU has it.
    pub fn acceleration(&self, acceleration: f32) -> f64 {
        f64::from(acceleration) * self.ratio() * self.ratio()
    }

    /// Returns a point of the CPU as what 32 bits hold of it, with some number behind it, and what they
    /// round off, with another.
    fn split(&self, point: [f64; 3], [of_high, of_low]: [f64; 2]) -> [f32; 8] {
        let at: [f64; 3] = std::array::from_fn(|k| (point[k] / self.cpu - self.low[k]) * self.gpu);
        let high = at.map(|coordinate| coordinate as f32);
        let low: [f32; 3] = std::array::from_fn(|k| (at[k] - f64::from(high[k])) as f32);
        [high[0], high[1], high[2], of_high as f32, low[0], low[1], low[2], of_low as f32]
    }

    /// Returns a `CellPlace` of a record.
    fn of_record<E: Number>(&self, record: &CellRecord<E>) -> [f32; 8] {
        let center = std::array::from_fn(|k| record.center[k].to_f64() + record.center_low[k].to_f64());
        let radius = record.radius.to_f64() * self.ratio();
        let radius = if radius <= MOST_RADIUS { radius } else { f64::INFINITY };
        self.split(center, [radius, record.mass.to_f64()])
    }

    /// Writes the GPU's record of the moments of a cell whose centre is at a place.
    fn write_moments<E: Number>(&self, order: usize, place: &[f32; 8], moments: &[E], to: &mut [f32]) {
        let plain = plain_terms(order);
        to.fill(0.0);
        to[..3].copy_from_slice(&place[..3]);
        for (place, moment) in moments.iter().enumerate().take(components(order)) {
            let Some(term) = term_of(place) else { continue };
            let value = (moment.to_f64() * self.to_gpu[DEGREE_AT[place]]) as f32;
            match term.checked_sub(plain) {
                None => to[3 + term] = value,
                Some(half) => {
                    let word = &mut to[3 + plain + half / 2];
                    let bits = upper_half(value) << (16 * (half % 2));
                    *word = f32::from_bits(word.to_bits() | bits);
                }
            }
        }
    }
}

/// Returns the place of a component among the terms of a GPU's moments, which have none of degree 1.
fn term_of(place: usize) -> Option<usize> {
    match place {
        0 => Some(0),
        1..=3 => None,
        place => Some(place - 3),
    }
}

/// The degree of the component at each place.
const DEGREE_AT: [usize; MAX_COMPONENTS] = {
    let (mut degrees, mut place) = ([0; MAX_COMPONENTS], 0);
    while place < MAX_COMPONENTS {
        let [x, y, z] = powers(place);
        (degrees[place], place) = (x + y + z, place + 1);
    }
    degrees
};
/// One more than the highest of them.
const DEGREES: usize = DEGREE_AT[MAX_COMPONENTS - 1] + 1;

/// Returns the upper 16 bits of a number to the nearest, as `upper_half` of `kernels/tree/moments.h`.
fn upper_half(value: f32) -> u32 {
    let bits = value.to_bits();
    (bits + 0x7fff + (bits >> 16 & 1)) >> 16
}

/// Returns the words of a `CellReach` with this `rho`.
fn reach(rho: f32, cell: &Cell) -> [u32; 4] {
    // Groups open cells of many bodies, of which some have come as one.
    let is_opened = cell.bodies > MOST_NEAR && !cell.is_leaf();
    let bodies = if is_opened { MOST_COUNTED as u32 } else { cell.bodies };
    [0, rho.to_bits(), cell.first_child, u32::from(cell.children) | bodies << 16]
}

/// Cells as the GPU has them.
#[derive(Default)]
struct Rows {
    cells: Vec<Cell>,
    places: Vec<[f32; 8]>,
    reaches: Vec<[u32; 4]>,
    moments: Vec<f32>,
}

impl Rows {
    /// Puts cells above roots, so that there is one root in the end, and returns its number. `first` is
    /// the number of the first row, `of` returns the rows of a root.
    fn join_roots(
        &mut self,
        roots: &[u32],
        (first, length): (usize, usize),
        of: impl Fn(usize) -> (Cell, [f32; 8], [u32; 4]),
    ) -> Result<u32> {
        // The children of a cell stand side by side, so that the roots are repeated here.
        let mut below = first + self.cells.len()..first + self.cells.len() + roots.len();
        for root in roots {
            let (cell, place, reach) = of(*root as usize);
            self.push(cell, place, reach)?;
        }
        while below.len() > 1 {
            let begin = first + self.cells.len();
            for child in below.clone().step_by(CHILDREN) {
                let children = (below.end - child).min(CHILDREN) as u16;
                let cell = Cell { first_child: child as u32, children, bodies: u32::MAX, ..Cell::default() };
                // Never accepted, and opened by all.
                let place = [0.0, 0.0, 0.0, f32::INFINITY, 0.0, 0.0, 0.0, 0.0];
                self.push(cell, place, reach(0.0, &cell))?;
            }
            below = begin..first + self.cells.len();
        }
        memory::lengthen(&mut self.moments, self.cells.len() * length, WHAT, || 0.0)?;
        Ok(below.start as u32)
    }

    fn push(&mut self, cell: Cell, place: [f32; 8], reach: [u32; 4]) -> Result<()> {
        memory::push(&mut self.cells, cell, WHAT)?;
        memory::push(&mut self.places, place, WHAT)?;
        memory::push(&mut self.reaches, reach, WHAT)
    }
}

impl<G: Gpu> Tree<G> {
    /// Puts the cells behind the own ones that were joined to those of passes, with their moments and
    /// bodies for the second pass. Those of an earlier call go.
    pub(super) fn join<E: Number>(
        &mut self,
        transfers: &mut Transfers<G>,
        units: &Units,
        passes: &Passes<E>,
        bodies: Option<&Joined>,
    ) -> Result<()> {
        let (on, host) = (transfers.on(), transfers.host);
        let (own, order, sources) = (self.cells(), passes.settings.order, &passes.sources);
        let stride = passes.expansions.stride();
        let (cells, records, length) = (&sources.tree.cells, &sources.records, record(order));
        self.root = 0;
        if passes.roots.len() > 1 {
            let place = |cell: usize| units.of_record(&records[cell]);
            let reach = |cell: usize| reach((records[cell].reach.to_f64() * units.ratio()) as f32, &cells[cell]);
            let count = cells.len() - own;
            let mut above = Rows::default();
            let of = |cell: usize| (cells[cell], place(cell), reach(cell));
            let root = above.join_roots(&passes.roots, (cells.len(), length), of)?;
            let all = cells.len() + above.cells.len();
            self.cells.extend(on, own * size_of::<Cell>(), all * size_of::<Cell>())?;
            self.places.extend(on, own * 32, all * 32)?;
            self.reaches.extend(on, own * 16, all * 16)?;
            transfers.send(&self.cells.0, own * size_of::<Cell>(), &cells[own..])?;
            transfers.send(&self.cells.0, cells.len() * size_of::<Cell>(), &above.cells)?;
            transfers.send(&self.places.0, own * 32, &made(host, count, [0.0; 8], |number| place(own + number))?)?;
            transfers.send(&self.places.0, cells.len() * 32, &above.places)?;
            transfers.send(&self.reaches.0, own * 16, &made(host, count, [0; 4], |number| reach(own + number))?)?;
            transfers.send(&self.reaches.0, cells.len() * 16, &above.reaches)?;
            if bodies.is_some() {
                let moments_of = |cell: usize, to: &mut [f32]| {
                    units.write_moments(order, &place(cell), &sources.moments[cell * stride..][..stride], to);
                };
                self.moments.extend(on, own * length * 4, all * length * 4)?;
                let moments = made_rows(host, (own..cells.len(), length), 0.0, moments_of)?;
                transfers.send(&self.moments.0, own * length * 4, &moments)?;
                for (row, root) in above.moments.chunks_exact_mut(length).zip(&passes.roots) {
                    moments_of(*root as usize, row);
                }
                transfers.send(&self.moments.0, cells.len() * length * 4, &above.moments)?;
            }
            self.root = root;
        }
        bodies.map_or(Ok(()), |bodies| self.join_bodies(transfers, units, bodies))
    }

    /// Puts the bodies of other ranks behind the own ones.
    fn join_bodies(&mut self, transfers: &mut Transfers<G>, units: &Units, joined: &Joined) -> Result<()> {
        let (own, count, (threads, pool)) = (self.bodies, joined.count(), transfers.host);
        if count == 0 {
            return Ok(());
        }
        let mut high = pool.unwritten(count, [0.0_f32; 4], WHAT)?;
        let mut low = pool.unwritten(count, [0.0_f32; 4], WHAT)?;
        let (mut rest_of_high, mut rest_of_low) = (&mut high[..], &mut low[..]);
        let mut jobs = Vec::new();
        for bodies in joined.bodies.iter().flat_map(|bodies| bodies.chunks(PIECE)) {
            let high = rest_of_high.split_off_mut(..bodies.len()).unwrap_or_default();
            let low = rest_of_low.split_off_mut(..bodies.len()).unwrap_or_default();
            memory::push(&mut jobs, (bodies, high, low), WHAT)?;
        }
        threads.each(jobs.into_iter(), |(bodies, high, low)| {
            for ([x, y, z, mass, _], (high, low)) in bodies.iter().zip(high.iter_mut().zip(low)) {
                let [x, y, z, mass] = [x, y, z, mass].map(|bits| f64::from_bits(*bits));
                let row = units.split([x, y, z], [mass, 0.0]);
                (*high, *low) = (std::array::from_fn(|k| row[k]), std::array::from_fn(|k| row[4 + k]));
            }
        });
        for (memory, rows) in [(&mut self.high, &high), (&mut self.low, &low)] {
            memory.extend(transfers.on(), own * 16, (own + count) * 16)?;
            transfers.send(&memory.0, own * 16, rows)?;
        }
        Ok(())
    }
}
