//! The interactions of a call, counted where somebody wants to know them.

use super::super::builder::Tree;
use super::super::constants::LEVELS_OF_SINKS;
use super::super::own::Chosen;
use super::{ALL_LEVELS, Forces, WALKED};
use crate::cells::Cell;
use kyoho_core::{Result, TreeProfile};
use kyoho_hal::gpu::Gpu;

impl<G: Gpu> Forces<G> {
    /// Counts the interactions in lists of so many words, of sinks of which there are so many in each
    /// level.
    pub(super) fn count(
        &mut self,
        on: (&G, &G::Queue),
        (tree, chosen): (&Tree<G>, Option<&Chosen<G>>),
        (words, room, of_levels): (usize, usize, &[u32; ALL_LEVELS]),
    ) -> Result<()> {
        let places = LEVELS_OF_SINKS * room + self.room_of_groups;
        let lists = Lists {
            cells: tree.copied(on, &tree.cells, tree.cells())?,
            places: tree.copied(on, &tree.places, tree.cells())?,
            words: tree.copied(on, &self.lists, words)?,
            sinks: tree.copied(on, &self.sinks, places)?,
            far_heads: tree.copied(on, &self.far_heads, places)?,
            near_heads: tree.copied(on, &self.near_heads, places)?,
            numbers: chosen.map(|chosen| tree.copied(on, chosen.numbers, tree.bodies)).transpose()?,
        };
        lists.count(room, of_levels, &mut self.clock.profile);
        Ok(())
    }
}

/// The lists of a call, copied to the host.
struct Lists {
    cells: Vec<Cell>,
    /// Of each cell the centre, of which the fourth number is the radius, and what it rounds off.
    places: Vec<[f32; 8]>,
    words: Vec<u32>,
    /// Of each sink its cell, the cell around it, its first body and the number of its bodies.
    sinks: Vec<[u32; 4]>,
    far_heads: Vec<u32>,
    near_heads: Vec<u32>,
    /// Of each body its number among sinks, or the largest number if it is none, where not all are.
    numbers: Option<Vec<u32>>,
}

impl Lists {
    /// Returns the number of sinks among some bodies.
    fn sinks_among(&self, first: u32, bodies: u32) -> u64 {
        let is_sink = |number: &&u32| **number != u32::MAX;
        let of_some = |numbers: &Vec<u32>| numbers[first as usize..][..bodies as usize].iter().filter(is_sink).count();
        self.numbers.as_ref().map_or(bodies.into(), |numbers| of_some(numbers) as u64)
    }

    /// Returns the sum of a number of each entry of a list.
    fn sum(&self, head: u32, number: &dyn Fn(u32) -> u64) -> u64 {
        let (mut segment, mut sum) = (head as usize, 0);
        while segment < self.words.len() {
            let entries = &self.words[segment + 2..][..self.words[segment] as usize];
            sum += entries.iter().map(|cell| number(*cell)).sum::<u64>();
            segment = self.words[segment + 1] as usize;
        }
        sum
    }

    /// Adds the interactions of sinks, of which each level has room for so many, and so many are
    /// there.
    fn count(&self, room: usize, of_levels: &[u32; ALL_LEVELS], profile: &mut TreeProfile) {
        for level in WALKED {
            for place in (level * room..).take(of_levels[level] as usize) {
                let [_, _, first, bodies] = self.sinks[place];
                let sinks = self.sinks_among(first, bodies);
                profile.far += sinks * self.sum(self.far_heads[place], &|_| 1);
                if level == LEVELS_OF_SINKS {
                    // Bodies in one point are one source.
                    let of_cell = |cell: u32| match (self.cells[cell as usize], self.places[cell as usize][3]) {
                        (cell, 0.0) if cell.is_point() => 1,
                        (cell, _) => u64::from(cell.bodies),
                    };
                    profile.near += sinks * self.sum(self.near_heads[place], &of_cell);
                }
            }
        }
    }
}
