//! Lists of cells.

use std::ops::Deref;

use kyoho_core::{Result, memory};

const WHAT: &str = "lists of cells";

/// A list of the numbers of cells. Memory that it had once is not cleared before it is written
/// again, as lists are made for each cell and most of their room is not used.
#[derive(Default)]
pub struct CellList {
    memory: Vec<u32>,
    count: usize,
}

impl CellList {
    /// Makes a list of these cells.
    pub fn of(cells: &[u32]) -> Result<CellList> {
        Ok(CellList { memory: memory::collected(cells.iter().copied(), WHAT)?, count: cells.len() })
    }

    /// Forgets all cells.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Returns places for this many cells more, which have old numbers.
    pub fn room(&mut self, more: usize) -> Result<&mut [u32]> {
        let end = self.count + more;
        memory::lengthen(&mut self.memory, end, WHAT, || 0)?;
        Ok(&mut self.memory[self.count..end])
    }

    /// Takes this many cells, which were written to [`CellList::room`].
    pub fn take(&mut self, more: usize) {
        self.count += more;
        debug_assert!(self.count <= self.memory.len());
    }

    /// Keeps the cells from a place on that are wanted.
    pub fn retain_from(&mut self, first: usize, mut is_wanted: impl FnMut(u32) -> Result<bool>) -> Result<()> {
        let mut end = first;
        for place in first..self.count {
            let cell = self.memory[place];
            if is_wanted(cell)? {
                self.memory[end] = cell;
                end += 1;
            }
        }
        self.count = end;
        Ok(())
    }
}

impl Deref for CellList {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.memory[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_cells_that_it_took_and_that_are_wanted() {
        let mut list = CellList::of(&[3, 1, 4]).unwrap();
        list.room(5).unwrap()[..2].copy_from_slice(&[1, 5]);
        list.take(2);
        assert_eq!(*list, [3, 1, 4, 1, 5]);
        list.retain_from(1, |cell| Ok(cell > 1)).unwrap();
        assert_eq!(*list, [3, 4, 5]);
        list.clear();
        assert!(list.is_empty());
        list.room(1).unwrap()[0] = 9;
        list.take(1);
        assert_eq!(*list, [9]);
    }
}
