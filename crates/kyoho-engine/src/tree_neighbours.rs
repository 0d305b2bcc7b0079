//! The sources within a radius of sinks, found by a tree.

use kyoho_core::{BufferPool, NeighbourTable, Neighbourhoods, Result, Sink, memory};
use kyoho_trees::bodies::Bodies;
use kyoho_trees::cpu::NeighbourTree;
use kyoho_trees::neighbours::{WHAT, table};

use super::System;
use super::checks::check_sink;

impl System {
    /// Finds the sources at addresses below `nj` with `|r|^2 < radius2` of each sink, softening not
    /// included; with `skip_own_index` without those that have the sink's index. The table stays
    /// until the next call. It is the same on every machine: double precision decides.
    ///
    /// Only systems of order 2 have trees.
    pub fn find_neighbours(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        sinks: impl IntoIterator<Item = Sink>,
    ) -> Result<&NeighbourTable> {
        self.require_no_block("find_neighbours")?;
        self.require_order_of_trees()?;
        let (mut positions, mut radii2, mut indices) = (Vec::new(), Vec::new(), Vec::new());
        for (number, sink) in sinks.into_iter().enumerate() {
            check_sink(&self.interaction, ("sink", number), &sink)?;
            memory::push(&mut positions, sink.derivatives[0], WHAT)?;
            memory::push(&mut radii2, sink.radius2, WHAT)?;
            memory::push(&mut indices, sink.index, WHAT)?;
        }
        let asked = Neighbourhoods { positions: &positions, radii2: &radii2 };
        // Trees are made of the host's copy.
        self.fetch_sources()?;
        self.journal.flush_to_host()?;
        let pairs = (positions.len() as u64).saturating_mul(nj as u64);
        let by_device = pairs >= self.tree_crossover();
        let sources = self.journal.sources();
        let found = if by_device { self.devices.find_neighbours(sources, nj, asked)? } else { None };
        let push = |sink: usize, address: u32, list: &mut Vec<i32>| {
            let is_own = skip_own_index && sources.index_of(address as usize) == Some(indices[sink]);
            if is_own { Ok(()) } else { memory::push(list, address.cast_signed(), WHAT) }
        };
        self.neighbours = match found {
            Some(found) => table(positions.len(), &self.threads, |sink, list| {
                let places = found.starts[sink] as usize..found.starts[sink + 1] as usize;
                found.addresses[places].iter().try_for_each(|address| push(sink, *address, list))
            })?,
            None => {
                let bodies = Bodies::sources(sources, nj, (&self.threads, &BufferPool::default()))?;
                let tree = NeighbourTree::new(&bodies.positions, &self.threads)?;
                table(positions.len(), &self.threads, |sink, list| {
                    tree.each(positions[sink], radii2[sink], |body| push(sink, bodies.addresses[body as usize], list))
                })?
            }
        };
        Ok(&self.neighbours)
    }

    /// Returns what [`System::find_neighbours`] found last.
    pub fn found_neighbours(&self) -> &NeighbourTable {
        &self.neighbours
    }
}

#[cfg(test)]
mod tests {
    use kyoho_core::{Order, Source};

    use super::super::Setup;
    use super::super::tests::setup;
    use super::*;

    #[test]
    fn neighbours_are_the_sources_within_the_radius_with_other_indices() {
        let mut system = System::new(&Setup { order: Order::Second, ..setup() }).unwrap();
        let at = |address: usize| [(address * address % 89) as f64, address as f64 * 0.25, 0.0];
        // Each fifth address has no source, and two of each ten have one index.
        let written: Vec<usize> = (0..400).filter(|address| address % 5 != 3).collect();
        let index = |address: usize| (address / 2) as i32;
        for address in &written {
            let source = Source::from_derivatives(index(*address), 1.0, 0.0, [at(*address)]);
            system.set_source(*address, &source).unwrap();
        }
        for (nj, skips) in [(400, true), (400, false), (117, true), (0, false)] {
            let radius2 = |address: usize| (address % 7) as f64 * 40.0;
            let sink = |address: usize| Sink {
                index: index(address),
                radius2: radius2(address),
                derivatives: [at(address), [0.0; 3], [0.0; 3], [0.0; 3]],
                ..Sink::NOTHING
            };
            let table = system.find_neighbours(nj, skips, (0..400).map(sink)).unwrap();
            for address in 0..400 {
                let is = |other: &usize| {
                    let r2: f64 = (0..3).map(|k| (at(*other)[k] - at(address)[k]).powi(2)).sum();
                    *other < nj && r2 < radius2(address) && !(skips && index(*other) == index(address))
                };
                let expected: Vec<i32> = written.iter().filter(|other| is(other)).map(|other| *other as i32).collect();
                assert_eq!(table.of(address), expected, "sink {address} of {nj} addresses");
            }
        }
    }

    #[test]
    fn wrong_sinks_and_other_orders_are_refused() {
        let mut system = System::new(&Setup { order: Order::Second, ..setup() }).unwrap();
        let wrong = Sink { radius2: f64::NAN, ..Sink::NOTHING };
        let error = system.find_neighbours(1, false, [Sink::NOTHING, wrong]).unwrap_err().to_string();
        assert!(error.contains("the squared radius of sink 1"), "{error}");
        let error = System::new(&setup()).unwrap().find_neighbours(1, false, [Sink::NOTHING]).unwrap_err();
        assert!(error.to_string().contains("it computes: order 2"), "{error}");
    }
}
