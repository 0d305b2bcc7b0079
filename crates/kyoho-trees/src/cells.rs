//! The cells of a tree: octants that hold ranges of the sorted bodies.
//!
//! Bodies are sorted by the high words of their keys, and by the low words too where more than
//! [`LEAF`] of all bodies have one high word; otherwise all low words count as zero.
//! Bodies of equal keys stay in the order in which they were given.
//!
//! The first cell is the root, which holds all bodies. A cell with more bodies than a leaf may
//! have, whose keys are not all the same, is divided into the octants of the smallest octant that
//! holds them all; so it has at least two children, and octants with a single octant inside are no
//! cells. Cells stand generation by generation, the children of a cell next to each other in the
//! order of their keys, and these in the order of their parents.
//!
//! Bodies whose keys are the same are a leaf however many they are. On CPUs those that are more than
//! [`LEAF`] and not in one point are divided again, by keys in a cube around them alone, so that many
//! bodies of a leaf are always in one point: the cells of such a division are further generations
//! behind all others. On GPUs the cube is one around most bodies where some are 2^30 times as far out,
//! whose keys are those of its border.

use bytemuck::{Pod, Zeroable};

use super::cube::Key;
use super::{LEAF, cube::LEVELS};

/// A cell of a tree.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Cell {
    /// The first of its bodies, in sorted order.
    pub first_body: u32,
    /// The number of its bodies.
    pub bodies: u32,
    /// The first of its children; zero for a leaf.
    pub first_child: u32,
    /// The number of its children; zero for a leaf.
    pub children: u16,
    /// How many levels deep the smallest octant is that holds its bodies. Octants of more than
    /// [`LEVELS`] levels are those of cubes around bodies that keys do not tell apart.
    pub depth: u16,
}

impl Cell {
    /// Makes a cell without children of bodies the first and the last of which have these keys.
    pub fn new(first_body: u32, bodies: u32, first: Key, last: Key) -> Cell {
        Cell { first_body, bodies, first_child: 0, children: 0, depth: first.common_depth(last) as u16 }
    }

    /// Whether it has to be divided.
    pub fn is_divided(&self) -> bool {
        self.bodies as usize > LEAF && u32::from(self.depth) < LEVELS
    }

    /// Whether its bodies agree in all levels of keys, are more than a leaf may have, and are not in
    /// one point. `place` returns where a body is.
    pub fn is_divided_by_places(&self, place: impl Fn(usize) -> [f64; 3]) -> bool {
        let bodies = self.bodies as usize;
        self.is_leaf() && bodies > LEAF && (1..bodies).any(|body| place(body) != place(0))
    }

    /// Whether it is a leaf of so many bodies that they are in one point, where they act on others as
    /// one body of all their mass.
    pub fn is_point(&self) -> bool {
        self.is_leaf() && self.bodies as usize > LEAF
    }

    /// Whether it has no children.
    pub fn is_leaf(&self) -> bool {
        self.children == 0
    }

    /// Returns its bodies, in sorted order.
    pub fn body_range(&self) -> std::ops::Range<usize> {
        self.first_body as usize..self.first_body as usize + self.bodies as usize
    }

    /// Returns its children.
    pub fn child_range(&self) -> std::ops::Range<usize> {
        self.first_child as usize..self.first_child as usize + usize::from(self.children)
    }
}
