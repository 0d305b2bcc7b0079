//! The first pass, which finds how large accelerations are.

use kyoho_core::{Pooled, Result, memory};
use kyoho_laws::simd::expansions::{Expansions, Field, MAX_CHILDREN, Number, Sorted, Tests};

use super::octree::Octree;
use super::sinks::{Extent, Softenings};
use super::sources::Sources;
use super::walk::{Handed, Pass, Sorting, sink_cell};
use crate::criterion;

/// The first pass: accelerations to about a tenth, at the middles of the leaves of sinks.
pub struct Coarse<'a, E: Number> {
    pub sources: &'a Sources<E>,
    pub expansions: &'a dyn Expansions<E>,
    pub tree: &'a Octree,
    pub extents: &'a [Extent],
    /// The coordinates of sinks, in the units of the tree of sources.
    pub positions: &'a [Pooled<f64>; 3],
    pub softenings: &'a Softenings,
    pub tests: Tests<E>,
    pub variation: f64,
}

impl<E: Number> Pass for Coarse<'_, E> {
    type State = Field;
    type Out = [f64; 2];
    type Scratch = Sorting;

    fn first(&self) -> Field {
        Field::default()
    }

    fn visit(
        &self,
        cell: usize,
        state: &Field,
        list: &[u32],
        (kept, states): &mut Handed<Field>,
        sorting: &mut Sorting,
        out: &mut [[f64; 2]],
    ) -> Result<bool> {
        let (extent, of_cell) = (&self.extents[cell], &self.tree.cells[cell]);
        let sink = sink_cell((extent.center, extent.radius), self.softenings.largest(cell), 0.0, of_cell.is_leaf());
        let mut field = *state;
        let test = |list: &[u32], sorted: Sorted| {
            let lists = [sorted.opened, sorted.kept];
            let [opened, kept] =
                self.expansions.add_coarse(&self.sources.records, list, &sink, &self.tests, lists, &mut field);
            [0, opened, kept]
        };
        sorting.sort(&self.sources.tree.cells, (list, u32::MAX), kept, test)?;
        if of_cell.is_leaf() {
            let [acceleration, tide] = field.sizes();
            out.fill([acceleration, tide]);
            if of_cell.bodies > 1 && !criterion::is_even(extent.radius, tide, acceleration, self.variation) {
                // The accelerations of its sinks differ.
                for (out, sink) in out.iter_mut().zip(of_cell.body_range()) {
                    let position = std::array::from_fn(|k| self.positions[k][sink]);
                    let of_sink = sink_cell((position, 0.0), [self.softenings.of_body(sink), 0.0], 0.0, true);
                    let mut field = state.shifted(extent.center, position);
                    let test = |list: &[u32], sorted: Sorted| {
                        let lists = [sorted.opened, sorted.kept];
                        let records = &self.sources.records;
                        let [opened, kept] =
                            self.expansions.add_coarse(records, list, &of_sink, &self.tests, lists, &mut field);
                        [0, opened, kept]
                    };
                    sorting.sort(&self.sources.tree.cells, (list, u32::MAX), kept, test)?;
                    out[0] = field.sizes()[0];
                }
            }
            return Ok(false);
        }
        memory::lengthen(states, MAX_CHILDREN, "fields", Field::default)?;
        for (child, state) in of_cell.child_range().zip(states) {
            *state = field.shifted(extent.center, self.extents[child].center);
        }
        Ok(true)
    }
}
