//! The cells of all ranks side by side: those that others sent behind the own ones.

use crate::cells::Cell;
use kyoho_core::{Result, memory};
use kyoho_hal::threads::Threads;
use kyoho_laws::lanes::MAX_LANES;
use kyoho_laws::simd::expansions::Number;

use super::essential::{NO_INDEX, Parts, record_of};
use super::passes::Passes;
use super::sources::Sources;

/// The bodies that a thread takes at a time.
const PIECE: usize = 1 << 12;
/// The name of cells in errors about memory.
const WHAT: &str = "cells of other ranks";

impl<E: Number> Passes<E> {
    /// Puts the cells of other ranks beside those of this one, with their moments if these have a
    /// stride, and sources that stand in no cell. Returns the indices and places of sources that came.
    pub fn join<'m>(
        &mut self,
        messages: impl Iterator<Item = &'m [u64]>,
        stride: usize,
        alone: &[[u64; 5]],
        threads: &Threads,
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
            for (word, column) in [&mut *x, &mut *y, &mut *z, &mut *masses].into_iter().enumerate() {
                // The numbers behind the last body have room too.
                memory::reserve(column, bodies.len() + MAX_LANES, "bodies of other ranks")?;
                column.resize(first + bodies.len(), 0.0);
                threads.each(column[first..].chunks_mut(PIECE).zip(bodies.chunks(PIECE)), |(column, bodies)| {
                    column.iter_mut().zip(bodies).for_each(|(to, body)| *to = f64::from_bits(body[word]));
                });
            }
            memory::reserve(&mut foreign, bodies.len(), "bodies of other ranks")?;
            let indices = bodies.iter().map(|body| body[4]).zip(first as i32..);
            foreign
                .extend(indices.filter(|(index, _)| *index != NO_INDEX).map(|(index, at)| (index as u32 as i32, at)));
            Ok(first as u32)
        };
        for message in messages.filter(|message| !message.is_empty()) {
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
            records.extend(rows.iter().map(|row| record_of(*row)));
            moments.extend_from_slice(of_cells);
        }
        add_bodies(alone)?;
        for column in [x, y, z, masses] {
            let end = column.len() + MAX_LANES;
            memory::lengthen(column, end, "bodies of other ranks", || 0.0)?;
        }
        let moments = &mut self.sources.moments;
        let end = moments.len() + stride;
        memory::lengthen(moments, end, WHAT, || E::from_f64(0.0))?;
        Ok(foreign)
    }

    /// Takes away the cells that [`Passes::join`] has put beside the first ones.
    pub fn keep_cells(&mut self, count: usize) {
        self.sources.tree.cells.truncate(count);
        self.sources.records.truncate(count);
        self.roots.retain(|root| (*root as usize) < count);
    }
}
