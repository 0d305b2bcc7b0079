//! How a device computes blocks: in which cut, and in which of its launch shapes.

use crate::catalogue::Descriptor;
use crate::system::slices::SLICES;

use super::cut::{self, Cut};
use super::model::{self, Costs, Work};
use super::shapes::{SHAPES, Shape, WIDE_SHAPES};

/// The family of kernels that a device runs, and what it takes to choose among them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Plan {
    /// Groups of many threads, as GPUs have them (`kernels/unit.h`): by the model, with the constants of the device.
    Groups(Costs),
    /// One thread a group, with sinks in the lanes of a vector, for CPUs (`kernels/unit_wide.h`).
    Wide {
        /// Lanes of a vector.
        width: usize,
    },
}

/// Groups of threads that keep every CPU busy. It is part of the order of addition.
const GROUPS_WANTED: usize = 1024;
/// Sinks that stand for a group of threads where blocks are cut for vectors, whose width must not matter.
const SINKS_OF_GROUP: usize = 16;

impl Plan {
    /// The launch shapes.
    pub fn shapes(&self) -> &'static [Shape] {
        match self {
            Plan::Groups(_) => &SHAPES,
            Plan::Wide { .. } => &WIDE_SHAPES,
        }
    }

    /// Sinks of a group of threads of a shape.
    pub fn group_sinks(&self, shape: usize, descriptor: &Descriptor) -> usize {
        let sinks = self.shapes()[shape].group_sinks(descriptor);
        match self {
            Plan::Groups(_) => sinks,
            Plan::Wide { width } => width * sinks,
        }
    }

    /// Sinks that a group of threads ends at a time: `END_SINKS` in `kernels/parts.h` and `kernels/wide_parts.h`.
    pub fn end_sinks(&self) -> usize {
        match self {
            Plan::Groups(_) => model::END_SINKS,
            Plan::Wide { width } => *width,
        }
    }

    /// The cut of a block of `ni` sinks and so many chunks.
    pub fn cut(&self, descriptor: &'static Descriptor, ni: usize, chunks: usize) -> Cut {
        match self {
            Plan::Groups(_) => cut::cut(descriptor, ni, chunks),
            Plan::Wide { .. } => {
                let groups = SLICES * cut::rounded(ni).div_ceil(SINKS_OF_GROUP);
                let parts = GROUPS_WANTED.div_ceil(groups).min(chunks.div_ceil(SLICES)).max(1);
                Cut { strands: WIDE_SHAPES[0].strands(descriptor), parts }
            }
        }
    }

    /// The shape for some work, and its seconds where there is a model: the one that is `wanted` if it fits.
    pub fn shape(&self, work: Work, wanted: Option<usize>) -> (Option<f64>, usize) {
        let wanted = match self {
            Plan::Groups(_) => wanted,
            Plan::Wide { .. } => wanted.and_then(|number| number.checked_sub(SHAPES.len())),
        };
        let fits = |shape: &usize| {
            self.shapes().get(*shape).is_some_and(|shape| shape.strands(work.descriptor) == work.cut.strands)
        };
        match (self, wanted.filter(fits)) {
            (Plan::Groups(costs), Some(shape)) => (Some(model::seconds(costs, shape, work)), shape),
            (Plan::Groups(costs), None) => {
                cut::fastest(costs, work).map_or((Some(f64::INFINITY), 0), |(seconds, shape)| (Some(seconds), shape))
            }
            (Plan::Wide { .. }, Some(shape)) => (None, shape),
            (Plan::Wide { width }, None) => (None, usize::from(work.ni > *width)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{CATALOGUE, Order, Precision, descriptor};

    fn work(cut: Cut, ni: usize) -> Work {
        let descriptor = descriptor(Order::Fourth, Precision::Mixed).unwrap();
        Work { descriptor, cut, ni, chunks: 64, slices: SLICES, predicted: true }
    }

    #[test]
    fn the_cut_for_vectors_does_not_depend_on_their_width() {
        for descriptor in CATALOGUE {
            for ni in [1, 7, 100, 5000] {
                for chunks in [1, 30, 5000] {
                    let cuts = [2, 4, 8, 16].map(|width| Plan::Wide { width }.cut(descriptor, ni, chunks));
                    assert!(cuts.iter().all(|cut| *cut == cuts[0]), "{ni} {chunks}: {cuts:?}");
                    assert!((1..=chunks.div_ceil(SLICES)).contains(&cuts[0].parts), "{ni} {chunks}: {cuts:?}");
                }
            }
        }
    }

    #[test]
    fn a_shape_that_is_wanted_is_taken_where_it_fits() {
        let descriptor = work(Cut { strands: 4, parts: 1 }, 1).descriptor;
        let groups = Plan::Groups(Costs::nominal(descriptor));
        assert_eq!(groups.shape(work(Cut { strands: 32, parts: 1 }, 9), Some(1)).1, 1);
        assert_ne!(groups.shape(work(Cut { strands: 4, parts: 1 }, 9), Some(1)).1, 1);
        let wide = Plan::Wide { width: 8 };
        let cut = wide.cut(descriptor, 9, 64);
        assert_eq!([Some(8), Some(9), Some(1), None].map(|wanted| wide.shape(work(cut, 9), wanted).1), [0, 1, 1, 1]);
        assert_eq!([8, 9].map(|ni| wide.shape(work(cut, ni), None).1), [0, 1]);
    }
}
