//! Direct sums over the near cells of a group of sinks.

use std::ops::Range;

use kyoho_core::{CHUNK, IndexRange, Result, memory};
use kyoho_laws::lanes::MAX_LANES;
use kyoho_laws::simd::expansions::Number;
use kyoho_laws::simd::tile::{Group, LaneSums, Tile};
use kyoho_methods::cpu::lanes::{Summation, in_groups};

use super::second_pass::{Scratch, Walk};
use super::sources::Sources;
use super::sums::OF_NO_SINK;

/// The sources of a tile; the places behind them are overwritten.
const SOURCES_OF_TILE: usize = CHUNK - MAX_LANES;
/// The most sinks whose near sums are made at a time.
const SINKS_AT_ONCE: usize = 256;

impl<E: Number, const TERMS: usize> Walk<'_, '_, E, TERMS> {
    /// Makes the forces of a group: its local expansion, and the sums over the cells of a list.
    /// Returns the number of pairs.
    pub(super) fn near(
        &self,
        sinks: Range<usize>,
        (center, radius, softening2): ([f64; 3], f64, f64),
        local: &[E; TERMS],
        cells: &[u32],
        scratch: &mut Scratch<E>,
        out: &mut [[f64; 4]],
    ) -> Result<u64> {
        let Scratch { lanes, lane_sums, tile, sums, ranges, points, rows, positions, .. } = scratch;
        let (kernel, interaction) = (self.with.kernel, self.with.interaction);
        let tile = match tile {
            Some(tile) => tile,
            none => none.insert(Tile::new(kernel.rows())?),
        };
        let sources = self.list_sources(cells, ranges, points)?;
        let units = self.sources.units.units;
        let mut first = sinks.start;
        while first < sinks.end {
            let end = sinks.end.min(first + SINKS_AT_ONCE);
            let count = end - first;
            for k in 0..3 {
                positions[k].clear();
                memory::reserve(&mut positions[k], count, "sinks")?;
                positions[k].extend(self.positions[k][first..end].iter().map(|x| x - center[k]));
            }
            let places = &self.places[first..end];
            let group = |members: Range<usize>| {
                let positions = std::array::from_fn(|k| &positions[k][members.clone()]);
                let (places, limbs) = (&places[members.clone()], kernel.limbs());
                match self.softenings.are_own() {
                    false => Group::at_rest(positions, places, |_| self.softening2, limbs),
                    true => {
                        let of_sink = |sink: usize| self.softenings.of_body(first + members.start + sink);
                        Group::at_rest(positions, places, of_sink, limbs)
                    }
                }
            };
            lanes.pack_groups(count, in_groups(count, kernel.lanes()), kernel.lanes(), group)?;
            let summation = Summation::new(kernel, lanes, interaction, units, true);
            let packed = summation.units(0..lanes.units.len());
            memory::lengthen(lane_sums, packed.len(), "sums by lane", LaneSums::new)?;
            lane_sums[..packed.len()].iter_mut().for_each(|sums| sums.clear(interaction.n_outputs));
            let flush = |tile: &mut Tile<E>, count: usize| {
                tile.close(count, |_| true, true);
                packed.iter().zip(&mut *lane_sums).for_each(|(unit, sums)| summation.sum(unit, tile, sums));
                tile.range = IndexRange::EMPTY;
            };
            self.in_tiles((ranges, points), center, tile, flush);
            sums.reserve(count, interaction.n_outputs, false)?;
            sums.reset(count, interaction.n_outputs, false);
            summation.add(packed, &lane_sums[..packed.len()], (sums, 0));
            // A lone sink is in the centre, where nothing of its own pull is left: its position is the centre
            // before that was rounded.
            let radius = if sinks.len() == 1 { 0.0 } else { radius };
            self.add_values(local, positions, rows, (first, radius, softening2))?;
            for sink in 0..count {
                let row = &mut out[first - sinks.start + sink];
                for k in 0..4 {
                    let far = rows[4 + k][sink].to_f64() * units.sum_unit(k);
                    row[k] = sums.values[sink * 4 + k] + if k == 0 { -far } else { far };
                }
                self.leave_out(first + sink, ranges, row);
            }
            first = end;
        }
        Ok((sources * sinks.len()) as u64)
    }

    /// Lists the bodies of near cells as ranges, and the cells whose bodies are in one point, and
    /// returns the number of sources.
    fn list_sources(&self, cells: &[u32], ranges: &mut Vec<Range<usize>>, points: &mut Vec<u32>) -> Result<usize> {
        // Cells that follow one another are one range. Bodies in one point are one source.
        ranges.clear();
        points.clear();
        for number in cells {
            let cell = &self.sources.tree.cells[*number as usize];
            if self.sources.is_one_body(*number as usize) {
                memory::push(points, *number, "near cells")?;
                continue;
            }
            let range = cell.body_range();
            match ranges.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => memory::push(ranges, range, "near cells")?,
            }
        }
        Ok(ranges.iter().map(|range| range.len()).sum::<usize>() + points.len())
    }

    /// Gathers sources into tiles, relative to a centre. `flush` gets each tile with the number of
    /// its sources.
    fn in_tiles(
        &self,
        (ranges, points): (&[Range<usize>], &[u32]),
        center: [f64; 3],
        tile: &mut Tile<E>,
        mut flush: impl FnMut(&mut Tile<E>, usize),
    ) {
        let Sources { positions: [x, y, z], masses, .. } = self.sources;
        let bodies = [&x[..], &y[..], &z[..], &masses[..]];
        let mut filled = 0;
        tile.range = IndexRange::EMPTY;
        for range in ranges {
            let mut range = range.clone();
            while !range.is_empty() {
                let count = range.len().min(SOURCES_OF_TILE - filled);
                let some = (range.start, count);
                self.expansions.gather(bodies, some, center, self.with.kernel.limbs(), (tile, filled));
                self.fill_softenings(tile, (filled, some));
                if let Some(alike) = self.alike {
                    let firsts = &alike.firsts[range.start..range.start + count];
                    tile.indices_mut()[filled..filled + count].copy_from_slice(firsts);
                    tile.range = firsts.iter().fold(tile.range, |range, first| range.with(*first));
                }
                filled += count;
                range.start += count;
                if filled == SOURCES_OF_TILE {
                    flush(tile, filled);
                    filled = 0;
                }
            }
        }
        for number in points {
            if filled == SOURCES_OF_TILE {
                flush(tile, filled);
                filled = 0;
            }
            self.gather_point(*number, center, (tile, filled));
            filled += 1;
        }
        if filled > 0 {
            flush(tile, filled);
        }
    }

    /// Puts the softenings of `some` bodies into a tile, where each body has its own.
    fn fill_softenings(&self, tile: &mut Tile<E>, (filled, (first, count)): (usize, (usize, usize))) {
        if !self.softenings.are_own() {
            return;
        }
        let row = (self.with.kernel.rows() - 1) * CHUNK + filled;
        let softenings2 = &self.sources.softenings2[first..first + count];
        tile.rows_mut()[row..].iter_mut().zip(softenings2).for_each(|(to, of_body)| *to = E::from_f64(*of_body));
    }

    /// Puts all bodies of a cell, which are in one point, into a tile as one source, which no sink
    /// leaves out: its own one is taken out of the sums.
    fn gather_point(&self, number: u32, center: [f64; 3], (tile, place): (&mut Tile<E>, usize)) {
        let Sources { positions: [x, y, z], masses, moments, tree, .. } = self.sources;
        let first = tree.cells[number as usize].first_body as usize;
        let (bodies, limbs) = ([&x[..], &y[..], &z[..], &masses[..]], self.with.kernel.limbs());
        self.expansions.gather(bodies, (first, 1), center, limbs, (tile, place));
        self.fill_softenings(tile, (place, (first, 1)));
        tile.rows_mut()[place] = moments[number as usize * self.expansions.stride()];
        tile.indices_mut()[place] = OF_NO_SINK;
    }

    /// Makes the values of a local expansion of a radius and a softening for sinks from the first on, at
    /// positions relative to its centre.
    fn add_values(
        &self,
        local: &[E; TERMS],
        positions: &[Vec<f64>; 3],
        rows: &mut [Vec<E>; 8],
        (first, radius, softening2): (usize, f64, f64),
    ) -> Result<()> {
        let count = positions[0].len();
        let padded = count.next_multiple_of(MAX_LANES);
        let zero = E::from_f64(0.0);
        for row in rows.iter_mut() {
            row.clear();
            memory::lengthen(row, padded, "sinks", || zero)?;
        }
        if radius < f64::INFINITY {
            for (row, positions) in rows.iter_mut().zip(positions).filter(|_| radius > 0.0) {
                row.iter_mut().zip(positions).for_each(|(to, position)| *to = E::from_f64(*position));
            }
            if self.softenings.are_own() {
                let difference = |sink: usize| E::from_f64(self.softenings.of_body(first + sink) - softening2);
                rows[3].iter_mut().zip(0..count).for_each(|(to, sink)| *to = difference(sink));
            }
            let [x, y, z, softenings2, a, b, c, d] = rows;
            let values = [&mut a[..], &mut b[..], &mut c[..], &mut d[..]];
            self.expansions.values(local, [&x[..], &y[..], &z[..], &softenings2[..]], values);
        }
        Ok(())
    }

    /// Takes the sources that exert no force on a sink out of the sums, where they were part of
    /// expansions.
    fn leave_out(&self, sink: usize, ranges: &[Range<usize>], row: &mut [f64; 4]) {
        let units = self.sources.units.units;
        let mut place = self.places[sink];
        while let Ok(source) = usize::try_from(place) {
            place = self.alike.map_or(-1, |alike| alike.nexts[source]);
            if ranges.iter().any(|range| range.contains(&source)) {
                continue;
            }
            let r: [f64; 3] = std::array::from_fn(|k| self.sources.positions[k][source] - self.positions[k][sink]);
            let softening2 = match self.softenings.are_own() {
                false => self.softening2,
                true => self.softenings.of_body(sink) + self.sources.softenings2[source],
            };
            let s2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + softening2;
            if s2 > 0.0 {
                let inverse = 1.0 / s2.sqrt();
                let potential = self.sources.masses[source] * inverse;
                row[0] += potential * units.sum_unit(0);
                for k in 0..3 {
                    row[1 + k] -= potential * inverse * inverse * r[k] * units.sum_unit(1 + k);
                }
            }
        }
    }
}
