//! The cells of all ranks as one tree: those that others sent stand beside the own ones, and joint
//! cells above the roots of all.
//!
//! Without joint cells a sink far from all domains would accept each root by itself, and the errors of
//! these have one sign: their sum would be as many tolerances as there are ranks.

use crate::cells::Cell;
use crate::criterion::Criterion;
use kyoho_core::{Result, memory};
use kyoho_laws::lanes::MAX_LANES;
use kyoho_laws::simd::expansions::{MAX_CHILDREN, Number};

use super::essential::{NO_INDEX, Parts, record_of_numbers};
use super::passes::Passes;
use super::sources::{Sources, length, record_of, rounded};

/// The name of cells in errors about memory.
const WHAT: &str = "cells of other ranks";

impl<E: Number> Passes<E> {
    /// Puts the cells of other ranks beside those of this one, with their moments if these have a
    /// stride, and sources that stand in no cell. Returns the indices and places of sources that came.
    pub fn join<'m>(
        &mut self,
        messages: impl Iterator<Item = &'m [u64]>,
        (rank, stride): (usize, usize),
        alone: &[[u64; 5]],
    ) -> Result<Vec<(i32, i32)>> {
        let mut foreign = Vec::new();
        let Sources { tree, records, moments, positions: [x, y, z], masses, .. } = &mut self.sources;
        let own = masses.len() - MAX_LANES;
        if stride > 0 {
            moments.truncate(tree.cells.len() * stride);
        }
        [&mut *x, &mut *y, &mut *z, &mut *masses].into_iter().for_each(|column| column.truncate(own));
        let mut add_bodies = |bodies: &[[u64; 5]]| -> Result<u32> {
            let first = masses.len();
            for column in [&mut *x, &mut *y, &mut *z, &mut *masses] {
                memory::reserve(column, bodies.len() + MAX_LANES, "bodies of other ranks")?;
            }
            memory::reserve(&mut foreign, bodies.len(), "bodies of other ranks")?;
            for (place, body) in bodies.iter().enumerate() {
                let [a, b, c, mass, index] = *body;
                let columns = [&mut *x, &mut *y, &mut *z, &mut *masses];
                columns.into_iter().zip([a, b, c, mass]).for_each(|(column, bits)| column.push(f64::from_bits(bits)));
                if index != NO_INDEX {
                    foreign.push((index as u32 as i32, (first + place) as i32));
                }
            }
            Ok(first as u32)
        };
        let has_own = !self.roots.is_empty();
        self.roots.clear();
        for (number, message) in messages.enumerate() {
            if number == rank && has_own {
                memory::push(&mut self.roots, 0, WHAT)?;
            }
            if message.is_empty() {
                continue;
            }
            let Parts { cells, records: rows, moments: of_cells, bodies } = Parts::<E>::of(message, stride)?;
            let (first_cell, first_body) = (tree.cells.len() as u32, add_bodies(bodies)?);
            memory::push(&mut self.roots, first_cell, WHAT)?;
            memory::reserve(&mut tree.cells, cells.len(), WHAT)?;
            memory::reserve(records, rows.len(), WHAT)?;
            memory::reserve(moments, of_cells.len() + stride, "moments of cells of other ranks")?;
            tree.cells.extend(cells.iter().map(|cell| Cell {
                first_body: cell.first_body + first_body,
                first_child: if cell.is_leaf() { 0 } else { cell.first_child + first_cell },
                ..*cell
            }));
            records.extend(rows.iter().map(|row| record_of_numbers(*row)));
            moments.extend_from_slice(of_cells);
        }
        add_bodies(alone)?;
        for column in [x, y, z, masses] {
            let end = column.len() + MAX_LANES;
            memory::lengthen(column, end, "bodies of other ranks", || 0.0)?;
        }
        self.join_roots(stride)?;
        let moments = &mut self.sources.moments;
        let end = moments.len() + stride;
        memory::lengthen(moments, end, WHAT, || E::from_f64(0.0))?;
        Ok(foreign)
    }

    /// Puts joint cells above all roots, until there is one.
    fn join_roots(&mut self, stride: usize) -> Result<()> {
        let mut first = self.sources.tree.cells.len();
        if self.roots.len() < 2 {
            return Ok(());
        }
        // Children stand side by side.
        for place in 0..self.roots.len() {
            let root = self.roots[place] as usize;
            let Sources { tree, records, moments, .. } = &mut self.sources;
            let (cell, record) = (tree.cells[root], records[root]);
            memory::push(&mut tree.cells, cell, WHAT)?;
            memory::push(records, record, WHAT)?;
            memory::reserve(moments, stride, WHAT)?;
            moments.extend_from_within(root * stride..(root + 1) * stride);
        }
        while self.sources.tree.cells.len() - first > 1 {
            let end = self.sources.tree.cells.len();
            let (count, parents) = (end - first, (end - first).div_ceil(MAX_CHILDREN));
            for parent in 0..parents {
                let begin = |parent: usize| first + count * parent / parents;
                self.add_joint(begin(parent)..begin(parent + 1), stride)?;
            }
            first = end;
        }
        self.roots.clear();
        self.roots.push(first as u32);
        Ok(())
    }

    /// Adds the cell that joins others.
    fn add_joint(&mut self, children: std::ops::Range<usize>, stride: usize) -> Result<()> {
        let Sources { records, moments, .. } = &mut self.sources;
        let of = &records[children.clone()];
        let center_of = |k: usize, child: usize| of[child].center[k].to_f64() + of[child].center_low[k].to_f64();
        let mass: f64 = of.iter().map(|child| child.mass.to_f64()).sum();
        let weight = |child: usize| if mass > 0.0 { of[child].mass.to_f64() / mass } else { 1.0 / of.len() as f64 };
        let mean = |k: usize| (0..of.len()).map(|child| weight(child) * center_of(k, child)).sum::<f64>();
        let center = rounded::<E>([mean(0), mean(1), mean(2)]);
        let mut shifts = [[E::from_f64(0.0); MAX_LANES]; 3];
        let mut radius = 0.0_f64;
        for (child, record) in of.iter().enumerate() {
            let distance: [f64; 3] = std::array::from_fn(|k| center[k] - center_of(k, child));
            (0..3).for_each(|k| shifts[k][child] = E::from_f64(distance[k]));
            radius = radius.max(length(distance) + record.radius.to_f64());
        }
        let mut reach = radius;
        if stride > 0 {
            let end = moments.len() + stride;
            memory::lengthen(moments, end, WHAT, || E::from_f64(0.0))?;
            let (all, joint) = moments.split_at_mut(end - stride);
            let of_children = &all[children.start * stride..children.end * stride];
            self.expansions.moments_of_children(of_children, &shifts, children.len(), joint);
            let joint = &self.sources.moments[end - stride..];
            reach = self.sources.reach(self.expansions.order(), (radius, mass), joint);
        }
        if let Criterion::Angle { theta } = self.settings.criterion {
            reach = 2.0 * radius / theta;
        }
        let Sources { tree, records, units, .. } = &mut self.sources;
        let opening = radius * (1.0 + 1e-6);
        let radius = if opening > units.largest { f64::INFINITY } else { opening };
        let record = record_of(center, mass, [radius, reach * (1.0 + 1e-6), opening]);
        let (first_child, count) = (children.start as u32, children.len() as u16);
        // Groups open what has many bodies, as this is no range of bodies.
        let cell = Cell { first_body: 0, bodies: u32::MAX, first_child, children: count, depth: 0 };
        memory::push(&mut tree.cells, cell, WHAT)?;
        memory::push(records, record, WHAT)
    }

    /// Takes away the cells that [`Passes::join`] has put beside the first ones.
    pub fn keep_cells(&mut self, count: usize) {
        self.sources.tree.cells.truncate(count);
        self.sources.records.truncate(count);
        self.roots.clear();
        self.roots.extend((0..1).take(count));
    }
}
