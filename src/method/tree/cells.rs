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
    /// How many levels deep the smallest octant is that holds its bodies.
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
