//! Locally essential trees: the cells and bodies of this rank that the sinks of another one need
//! (Salmon 1991, thesis, California Institute of Technology).
//!
//! The other rank tells where its sinks are, as spheres that hold some of its cells of sinks each.
//! A cell of sources is *closed* if its expansion will be accepted for all cells of sinks in all
//! spheres: it goes without what is in it. Others go with their children or, if they are leaves, with
//! their bodies. The receiver puts such a tree beside its own, and walks from both roots. There a
//! closed cell is a leaf with one body in its centre, which is never summed directly: a cell that a
//! group of sinks may sum directly, as it is smaller than the group and has few bodies, goes with all
//! that is in it.

use bytemuck::{Pod, Zeroable};

use crate::cells::Cell;
use kyoho_core::{Error, Result, memory};
use kyoho_hal::threads::Threads;
use kyoho_laws::simd::expansions::{CellRecord, Number};

use super::passes::Limits;
use super::sources::Sources;
use super::sums::{Points, Settings};
use crate::criterion::{MOST_NEAR, MOST_PARTS};

/// What rounding may take away at most, and more.
const MARGIN: f64 = 1e-4;
/// The name of messages in errors about memory.
const WHAT: &str = "cells for other ranks";
/// The parts of a generation of cells for each thread, and the most cells of one.
const PARTS: usize = 8;
const CELLS_OF_PART: usize = 256;
/// Stands for the index of what is no source of its own.
pub const NO_INDEX: u64 = u64::MAX;
/// The bytes of a word of a message.
const WORD: usize = size_of::<u64>();
/// The words of a body: coordinates, mass, index.
pub const OF_BODY: usize = 5;
/// The cells that a thread writes at a time.
const PIECE: usize = 1 << 10;

/// A sphere that holds cells of sinks, in the units of the tree.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
pub struct Region {
    /// The centre.
    pub center: [f64; 3],
    /// The radius.
    pub radius: f64,
    /// The least tolerance times acceleration of a sink.
    pub bound: f64,
    /// The largest radius of a group of sinks that sums smaller cells directly; 0 without such.
    pub group: f64,
}

/// The test of cells of sources for all cells of sinks within a region.
#[derive(Debug, Clone, Copy)]
pub enum Test {
    /// By distances alone, as in the first pass.
    Distance,
    /// By an angle too.
    Angle,
    /// By the error of an order too.
    Error {
        /// The order.
        order: i32,
    },
}

impl Test {
    /// Returns the test of the second pass.
    pub fn of(settings: &Settings) -> Test {
        if settings.is_by_angle() { Test::Angle } else { Test::Error { order: settings.order as i32 } }
    }

    /// Whether the expansion of a cell will be accepted for all cells of sinks in a region: for each
    /// sphere of a radius up to that of the region whose centre is away from its middle by at most
    /// the difference of both.
    pub fn is_sure<E: Number>(self, record: &CellRecord<E>, region: &Region, limits: &Limits) -> bool {
        let Region { center, radius, bound, .. } = *region;
        let distance2: f64 = (0..3)
            .map(|k| record.center[k].to_f64() + record.center_low[k].to_f64() - center[k])
            .map(|distance| distance * distance)
            .sum();
        let s = (distance2 + limits.softening2).sqrt();
        let (its_radius, reach) = (record.radius.to_f64(), record.reach.to_f64());
        // A sphere that is smaller by some length is nearer by no more than that.
        let nearest = s - radius;
        let is_far = (its_radius + radius) * (1.0 + MARGIN) < limits.cut * s;
        if !(is_far && nearest > 0.0 && nearest * nearest > limits.least2 * (1.0 + MARGIN)) {
            return false;
        }
        let sum4 = (its_radius + radius).powi(4) * (1.0 + MARGIN);
        let is_in_range =
            (s + radius).powi(2) * (1.0 + MARGIN) < limits.most2 || sum4 < limits.far_sum4 * nearest * nearest;
        if !is_in_range {
            return false;
        }
        match self {
            Test::Distance => true,
            Test::Angle => (reach + radius) * (1.0 + MARGIN) < distance2.sqrt(),
            Test::Error { order } => {
                let power = f64::from(order);
                // The radius at which `((reach + r) / s)^p / s^2` is largest, with `s = nearest + r`.
                let worst = ((power * nearest - (power + 2.0) * reach) / 2.0).clamp(0.0, radius);
                let s = nearest + worst;
                let error = record.mass.to_f64() * ((reach + worst) / s).powi(order) / (s * s);
                8.0 * most_weight(its_radius, radius) * error * (1.0 + MARGIN) <= bound
            }
        }
    }
}

/// Returns the most that the error of a cell of a radius counts for cells of sinks up to another one.
fn most_weight(its_radius: f64, radius: f64) -> f64 {
    if radius <= its_radius {
        return 1.0;
    }
    let part = its_radius.max(radius / MOST_PARTS);
    (radius * radius / ((its_radius + radius) * part)).max(1.0)
}

/// A cell that another rank gets.
struct Chosen {
    cell: u32,
    /// The first of its children among those that are chosen, and their number.
    first_child: u32,
    children: u16,
    /// Whether it goes with all that is in it, as a group may sum it directly.
    is_whole: bool,
    /// Whether it goes without what is in it.
    is_closed: bool,
    /// Its bodies among those that go.
    first_body: u32,
    bodies: u32,
}

/// The cells of this rank that another one gets.
#[derive(Default)]
pub struct Essential {
    chosen: Vec<Chosen>,
    /// Those without children, in the order of their bodies.
    leaves: Vec<u32>,
    /// The places of bodies that go, in their order.
    pub ranges: Vec<std::ops::Range<u32>>,
}

/// Cells of a generation that a thread has looked at.
#[derive(Default)]
struct LookedAt {
    /// For each whether it is closed, and whether it goes with all that is in it.
    found: Vec<[bool; 2]>,
    /// The regions for which cells are not accepted whose children are looked at, of each that many.
    lists: Vec<u32>,
    ends: Vec<usize>,
}

/// What decides which cells go.
struct Choice<'a, E: Number> {
    sources: &'a Sources<E>,
    regions: &'a [Region],
    test: Test,
    limits: &'a Limits,
}

impl<E: Number> Choice<'_, E> {
    /// Looks at some cells, each with the regions for which its parent is not accepted.
    fn look<'l>(&self, chosen: &[Chosen], list: impl Fn(usize) -> &'l [u32]) -> Result<LookedAt> {
        let mut all = LookedAt::default();
        memory::reserve(&mut all.found, chosen.len(), WHAT)?;
        memory::reserve(&mut all.ends, chosen.len(), WHAT)?;
        for (number, Chosen { cell, is_whole, .. }) in chosen.iter().enumerate() {
            let (cell, record) = (&self.sources.tree.cells[*cell as usize], &self.sources.records[*cell as usize]);
            let (list, first) = (list(number), all.lists.len());
            memory::reserve(&mut all.lists, list.len(), WHAT)?;
            let is_sure = |place: &&u32| self.test.is_sure(record, &self.regions[**place as usize], self.limits);
            all.lists.extend(list.iter().filter(|place| !is_sure(place)));
            let undecided = &all.lists[first..];
            let is_closed = !is_whole && undecided.is_empty();
            let is_summed = |place: &u32| record.radius.to_f64() < self.regions[*place as usize].group;
            let is_open = !(is_closed || cell.is_leaf());
            let is_whole = is_open && (*is_whole || cell.bodies <= MOST_NEAR && undecided.iter().any(is_summed));
            if !is_open || is_whole {
                all.lists.truncate(first);
            }
            all.found.push([is_closed, is_whole]);
            all.ends.push(all.lists.len());
        }
        Ok(all)
    }
}

impl Essential {
    /// Chooses the cells for sinks in some regions, by several threads.
    pub fn new<E: Number>(
        sources: &Sources<E>,
        regions: &[Region],
        test: Test,
        limits: &Limits,
        threads: &Threads,
    ) -> Result<Essential> {
        let mut essential = Essential::default();
        if regions.is_empty() || sources.tree.cells.is_empty() {
            return Ok(essential);
        }
        let chosen = &mut essential.chosen;
        let new = |cell: u32, is_whole: bool| Chosen {
            cell,
            first_child: 0,
            children: 0,
            is_closed: false,
            is_whole,
            first_body: 0,
            bodies: 0,
        };
        memory::push(chosen, new(0, false), WHAT)?;
        let choice = Choice { sources, regions, test, limits };
        // For each cell of a generation the regions for which its parent is not accepted: a range of the
        // lists of a part of the generation before.
        let all = LookedAt { lists: memory::collected(0..regions.len() as u32, WHAT)?, ..LookedAt::default() };
        let mut before = memory::collected([all], WHAT)?;
        let mut list_of = memory::filled(1, (0, 0..regions.len()), WHAT)?;
        let mut begin = 0;
        while begin < chosen.len() {
            let end = chosen.len();
            let of_part = ((end - begin) / (PARTS * threads.count())).clamp(1, CELLS_OF_PART);
            let parts = chosen[begin..].chunks(of_part).zip(list_of.chunks(of_part));
            let mut looked_at = memory::collected(parts.clone().map(|_| Ok(LookedAt::default())), WHAT)?;
            threads.each(looked_at.iter_mut().zip(parts), |(looked_at, (chosen, list_of))| {
                *looked_at = choice.look(chosen, |number| {
                    let (part, range) = &list_of[number];
                    &before[*part].lists[range.clone()]
                });
            });
            let (mut number, mut next_list_of) = (begin, Vec::new());
            let mut next = memory::room(looked_at.len(), WHAT)?;
            for (part, looked_at) in looked_at.into_iter().enumerate() {
                let looked_at = looked_at?;
                let mut first = 0;
                for ([is_closed, is_whole], end) in looked_at.found.iter().zip(&looked_at.ends) {
                    let cell = &sources.tree.cells[chosen[number].cell as usize];
                    chosen[number].is_closed = *is_closed;
                    if !(*is_closed || cell.is_leaf()) {
                        (chosen[number].first_child, chosen[number].children) = (chosen.len() as u32, cell.children);
                        for child in cell.child_range() {
                            memory::push(chosen, new(child as u32, *is_whole), WHAT)?;
                            memory::push(&mut next_list_of, (part, first..*end), WHAT)?;
                        }
                    }
                    (first, number) = (*end, number + 1);
                }
                next.push(looked_at);
            }
            (before, list_of, begin) = (next, next_list_of, end);
        }
        essential.place_bodies(&sources.tree.cells)?;
        Ok(essential)
    }

    /// Finds which bodies go, and where they are in the message.
    fn place_bodies(&mut self, cells: &[Cell]) -> Result<()> {
        let Essential { chosen, ranges, leaves: sorted } = self;
        let leaves = (0..chosen.len() as u32).filter(|number| chosen[*number as usize].children == 0);
        let mut leaves = memory::collected(leaves, WHAT)?;
        let cell_of = |chosen: &Chosen| cells[chosen.cell as usize];
        leaves.sort_unstable_by_key(|number| cell_of(&chosen[*number as usize]).first_body);
        let mut bodies = 0;
        for number in &leaves {
            let chosen = &mut chosen[*number as usize];
            let cell = cell_of(chosen);
            // Bodies in one point are one body, and one body goes itself.
            chosen.is_closed = cell.is_point() || chosen.is_closed && cell.bodies > 1;
            (chosen.first_body, chosen.bodies) = (bodies, if chosen.is_closed { 1 } else { cell.bodies });
            bodies += chosen.bodies;
            if !chosen.is_closed {
                let range = cell.first_body..cell.first_body + cell.bodies;
                match ranges.last_mut() {
                    Some(last) if last.end == range.start => last.end = range.end,
                    _ => memory::push(ranges, range, WHAT)?,
                }
            }
        }
        *sorted = leaves;
        // Children stand behind their parents.
        for number in (0..chosen.len()).rev() {
            let Chosen { first_child, children, .. } = chosen[number];
            if children == 0 {
                continue;
            }
            let children = &chosen[first_child as usize..][..usize::from(children)];
            let (first_body, bodies) = (children[0].first_body, children.iter().map(|child| child.bodies).sum());
            (chosen[number].first_body, chosen[number].bodies) = (first_body, bodies);
        }
        Ok(())
    }

    /// Whether a body at a place goes.
    pub fn has(&self, place: u32) -> bool {
        let after = self.ranges.partition_point(|range| range.end <= place);
        self.ranges.get(after).is_some_and(|range| range.contains(&place))
    }

    /// Returns the words of the message: that for the first pass has no use for moments, which then have
    /// the stride 0, and bodies.
    pub fn words<E: Number>(&self, stride: usize) -> usize {
        let Some(root) = self.chosen.first() else { return 0 };
        let bodies = if stride > 0 { root.bodies as usize } else { 0 };
        let of_cell = size_of::<Cell>() + (RECORD + stride) * size_of::<E>();
        2 + self.chosen.len() * of_cell / WORD + bodies * OF_BODY
    }

    /// Writes the message into so many words. Of the sources the tree is made of `points`.
    pub fn write<E: Number>(
        &self,
        (sources, points): (&Sources<E>, &Points),
        stride: usize,
        (words, threads): (&mut [u64], &Threads),
    ) -> Result<()> {
        let Some(root) = self.chosen.first() else { return Ok(()) };
        let bodies = if stride > 0 { root.bodies as usize } else { 0 };
        let (head, mut rest) = words.split_at_mut(2);
        head.copy_from_slice(&[self.chosen.len() as u64, bodies as u64]);
        self.rows(&mut rest, threads, |chosen, to: &mut [Cell]| {
            let of = &sources.tree.cells[chosen.cell as usize];
            to[0] = Cell {
                first_body: chosen.first_body,
                // Groups open those of many bodies.
                bodies: if of.bodies > MOST_NEAR && !of.is_leaf() { of.bodies } else { chosen.bodies },
                first_child: chosen.first_child,
                children: chosen.children,
                depth: 0,
            };
        });
        self.rows(&mut rest, threads, |chosen, to: &mut [[E; RECORD]]| {
            let mut record = sources.records[chosen.cell as usize];
            if chosen.children == 0 {
                record.opening = E::from_f64(-1.0);
            }
            to[0] = numbers_of(&record);
        });
        if stride == 0 {
            return Ok(());
        }
        let moments = rest.split_at_mut(self.chosen.len() * stride * size_of::<E>() / WORD);
        let (moments, bodies) = (bytemuck::cast_slice_mut::<u64, E>(moments.0), moments.1);
        threads.each(moments.chunks_mut(PIECE * stride).zip(self.chosen.chunks(PIECE)), |(moments, chosen)| {
            for (to, chosen) in moments.chunks_exact_mut(stride).zip(chosen) {
                to.copy_from_slice(&sources.moments[chosen.cell as usize * stride..][..stride]);
            }
        });
        self.write_bodies((sources, points), stride, (bodies.as_chunks_mut().0, threads))
    }

    /// Writes an item for each cell at the begin of words.
    fn rows<T: Pod + Send>(&self, rest: &mut &mut [u64], threads: &Threads, write: impl Fn(&Chosen, &mut [T]) + Sync) {
        let words = rest.split_off_mut(..self.chosen.len() * size_of::<T>() / WORD).unwrap_or_default();
        let rows = bytemuck::cast_slice_mut::<u64, T>(words);
        threads.each(rows.chunks_mut(PIECE).zip(self.chosen.chunks(PIECE)), |(rows, chosen)| {
            rows.chunks_exact_mut(1).zip(chosen).for_each(|(row, chosen)| write(chosen, row));
        });
    }

    /// Writes five words for each body: coordinates, mass, index.
    fn write_bodies<E: Number>(
        &self,
        (sources, points): (&Sources<E>, &Points),
        stride: usize,
        (mut rows, threads): (&mut [[u64; OF_BODY]], &Threads),
    ) -> Result<()> {
        let mut parts = memory::room(self.leaves.len().div_ceil(PIECE), WHAT)?;
        for leaves in self.leaves.chunks(PIECE) {
            let count = leaves.iter().map(|number| self.chosen[*number as usize].bodies as usize).sum();
            parts.push((leaves, rows.split_off_mut(..count).unwrap_or_default()));
        }
        threads.each(parts.into_iter(), |(leaves, rows)| {
            let mut rows = rows.iter_mut();
            for number in leaves {
                let Chosen { cell: number, is_closed, .. } = self.chosen[*number as usize];
                let (number, cell) = (number as usize, &sources.tree.cells[number as usize]);
                if is_closed {
                    let record = &sources.records[number];
                    let center = |k: usize| record.center[k].to_f64() + record.center_low[k].to_f64();
                    let [x, y, z] = match cell.is_point() {
                        true => *sources.body(points, cell.first_body as usize).first_chunk().unwrap_or(&[0.0; 3]),
                        false => [center(0), center(1), center(2)],
                    };
                    let mass = sources.moments[number * stride].to_f64();
                    let [x, y, z, mass] = [x, y, z, mass].map(f64::to_bits);
                    rows.by_ref().take(1).for_each(|row| *row = [x, y, z, mass, NO_INDEX]);
                } else {
                    for (place, row) in cell.body_range().zip(&mut rows) {
                        let [x, y, z, mass] = sources.body(points, place).map(f64::to_bits);
                        let index = points.indices[sources.tree.order[place] as usize];
                        *row = [x, y, z, mass, u64::from(index as u32)];
                    }
                }
            }
        });
        Ok(())
    }
}

/// The numbers of a record.
const RECORD: usize = 12;

fn numbers_of<E: Number>(record: &CellRecord<E>) -> [E; RECORD] {
    let CellRecord { center: [x, y, z], mass, center_low: [a, b, c], radius, reach, opening, softening2: d, spread: e } =
        *record;
    [x, y, z, mass, a, b, c, radius, reach, opening, d, e]
}

/// Returns the record of these numbers.
pub fn record_of<E: Number>([x, y, z, mass, a, b, c, radius, reach, opening, d, e]: [E; RECORD]) -> CellRecord<E> {
    CellRecord { center: [x, y, z], mass, center_low: [a, b, c], radius, reach, opening, softening2: d, spread: e }
}

/// A message that is read from its begin on.
struct Reader<'a>(&'a [u64]);

impl<'a> Reader<'a> {
    /// Takes so many items, which are whole words.
    fn take<T: Pod>(&mut self, count: usize) -> Result<&'a [T]> {
        let words = (count * size_of::<T>()).div_ceil(WORD);
        let (taken, rest) = self.0.split_at_checked(words).ok_or_else(broken)?;
        self.0 = rest;
        bytemuck::try_cast_slice(taken).map_err(|_| broken())
    }
}

fn broken() -> Error {
    Error::Internal { what: "cells of another rank were cut".into() }
}

/// What a message has.
pub struct Parts<'a, E> {
    /// The cells.
    pub cells: &'a [Cell],
    /// Their records.
    pub records: &'a [[E; RECORD]],
    /// Their moments, if any.
    pub moments: &'a [E],
    /// Coordinates, mass and index of bodies.
    pub bodies: &'a [[u64; OF_BODY]],
}

impl<'a, E: Number> Parts<'a, E> {
    /// Reads a message. Moments have a stride, or there are none.
    pub fn of(message: &'a [u64], stride: usize) -> Result<Parts<'a, E>> {
        let mut reader = Reader(message);
        let header: &[u64] = reader.take(2)?;
        let (cells, bodies) = (header[0] as usize, header[1] as usize);
        Ok(Parts {
            cells: reader.take(cells)?,
            records: reader.take(cells)?,
            moments: if stride > 0 { reader.take(cells * stride)? } else { &[] },
            bodies: reader.take(bodies)?,
        })
    }
}
