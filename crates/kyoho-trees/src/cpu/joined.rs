//! The cells of all ranks side by side: those that others sent behind the own ones.

use crate::cells::Cell;
use kyoho_core::{Result, memory};
use kyoho_hal::threads::Threads;
use kyoho_laws::lanes::MAX_LANES;
use kyoho_laws::simd::expansions::Number;

use super::essential::{NO_INDEX, OF_BODY, Parts, record_of};
use super::passes::Passes;

/// The bodies that a thread takes at a time.
const PIECE: usize = 1 << 12;
/// The name of cells in errors about memory.
const WHAT: &str = "cells of other ranks";
/// That of bodies.
const BODIES: &str = "bodies of other ranks";

/// The bodies of other ranks, whose places follow those of the own ones.
#[derive(Default)]
pub struct Joined<'m> {
    /// Coordinates, mass and index of each, in parts.
    pub bodies: Vec<&'m [[u64; OF_BODY]]>,
    /// The indices and places of those that have indices, if these are wanted.
    pub indices: Vec<(i32, i32)>,
}

impl Joined<'_> {
    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.bodies.iter().map(|bodies| bodies.len()).sum()
    }
}

impl<E: Number> Passes<E> {
    /// Puts the cells of other ranks beside those of this one, with their moments if these have a
    /// stride. Returns the bodies that came, and sources that stand in no cell.
    pub fn join<'m>(
        &mut self,
        messages: impl Iterator<Item = &'m [u64]>,
        stride: usize,
        alone: &'m [[u64; OF_BODY]],
        with_indices: bool,
    ) -> Result<Joined<'m>> {
        let mut joined = Joined::default();
        let mut next_body = self.sources.tree.order.len();
        let mut add_bodies = |bodies: &'m [[u64; OF_BODY]]| -> Result<u32> {
            let first = next_body;
            next_body += bodies.len();
            memory::push(&mut joined.bodies, bodies, BODIES)?;
            if with_indices {
                memory::reserve(&mut joined.indices, bodies.len(), BODIES)?;
                let indices = bodies.iter().map(|body| body[4]).zip(first as i32..);
                let indices = indices.filter(|(index, _)| *index != NO_INDEX);
                joined.indices.extend(indices.map(|(index, at)| (index as u32 as i32, at)));
            }
            Ok(first as u32)
        };
        let (sources, roots) = (&mut self.sources, &mut self.roots);
        let (tree, records, moments) = (&mut sources.tree, &mut sources.records, &mut sources.moments);
        if stride > 0 {
            moments.truncate(tree.cells.len() * stride);
        }
        for message in messages.filter(|message| !message.is_empty()) {
            let Parts { cells, records: rows, moments: of_cells, bodies } = Parts::<E>::of(message, stride)?;
            let (first_cell, first_body) = (tree.cells.len() as u32, add_bodies(bodies)?);
            memory::push(roots, first_cell, WHAT)?;
            memory::reserve(&mut tree.cells, cells.len(), WHAT)?;
            memory::reserve(records, rows.len(), WHAT)?;
            memory::reserve(moments, of_cells.len() + stride, "moments of cells of other ranks")?;
            tree.cells.extend(cells.iter().map(|cell| Cell {
                first_body: cell.first_body + first_body,
                first_child: if cell.is_leaf() { 0 } else { cell.first_child + first_cell },
                ..*cell
            }));
            records.extend(rows.iter().map(|row| record_of(*row)));
            moments.extend_from_slice(of_cells);
        }
        add_bodies(alone)?;
        let end = moments.len() + stride;
        memory::lengthen(moments, end, WHAT, || E::from_f64(0.0))?;
        Ok(joined)
    }

    /// Puts the bodies of other ranks behind the own ones.
    pub fn join_bodies(&mut self, joined: &Joined, threads: &Threads) -> Result<()> {
        let (own, [x, y, z], masses) =
            (self.sources.tree.order.len(), &mut self.sources.positions, &mut self.sources.masses);
        for (word, column) in [x, y, z, masses].into_iter().enumerate() {
            column.truncate(own);
            // The numbers behind the last body have room too.
            memory::reserve(column, joined.count() + MAX_LANES, BODIES)?;
            for bodies in &joined.bodies {
                let first = column.len();
                column.resize(first + bodies.len(), 0.0);
                threads.each(column[first..].chunks_mut(PIECE).zip(bodies.chunks(PIECE)), |(column, bodies)| {
                    column.iter_mut().zip(bodies).for_each(|(to, body)| *to = f64::from_bits(body[word]));
                });
            }
            let end = column.len() + MAX_LANES;
            column.resize(end, 0.0);
        }
        Ok(())
    }

    /// Takes away the cells that [`Passes::join`] has put beside the first ones.
    pub fn keep_cells(&mut self, count: usize) {
        self.sources.tree.cells.truncate(count);
        self.sources.records.truncate(count);
        self.roots.retain(|root| (*root as usize) < count);
    }
}
