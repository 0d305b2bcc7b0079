//! The cells of all ranks side by side: those that others sent behind the own ones.

use crate::cells::Cell;
use kyoho_core::{Result, memory};
use kyoho_laws::lanes::MAX_LANES;
use kyoho_laws::simd::expansions::Number;

use super::essential::{NO_INDEX, Parts, record_of};
use super::passes::Passes;
use super::sources::Sources;

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
