//! The forces of the bodies of a tree on cells of sinks.

use std::ops::Range;

use bytemuck::bytes_of;

use super::builder::{Expansions, SinkKernels, Tree, launch, launch_after_copies, scan};
use super::clock::Clock;
use super::constants::{
    LANES, LEVELS_OF_SINKS, MOST_OF_PART, MOST_WORDS, OWN_LISTED, SELECT_THREADS, SHIFT_THREADS, VALUE_THREADS,
};
use super::own::{Chosen, Own};
use crate::cells::Cell;
use crate::criterion::{CUT, Criterion, variation};
use kyoho_core::{Error, Result, TreePhase, TreeProfile};
use kyoho_hal::gpu::{Address, Argument, DeviceMemory, Event, Gpu, HostMemory, Place};
use kyoho_hal::grow_buffer::GrowBuffer;
use kyoho_laws::indices::components;

/// The number of levels, and of groups as one more.
const ALL_LEVELS: usize = LEVELS_OF_SINKS + 1;
/// The numbers that the host reads: of words, of the sinks of each level, and the ends of the share.
const REPORTED: usize = 1 + ALL_LEVELS + 2;
/// The levels of the walk, with the one before each.
const WALKED: [usize; 3] = [0, 1, LEVELS_OF_SINKS];
/// The most thread blocks for sinks whose number only the device knows.
const MOST_BLOCKS: usize = 1 << 15;
/// Thread blocks for sinks whose number is not known: one for so many bodies in each level, since
/// blocks without a sink take time, too, but no fewer than these.
const BODIES_OF_SINKS: [usize; LEVELS_OF_SINKS] = [256, 64, 8];
/// The fewest such thread blocks.
const LEAST_BLOCKS: usize = 1 << 10;
/// The most thread blocks that look for bodies alone among groups.
const MOST_LOOKING: usize = 1 << 13;
/// The most thread blocks that join the parts of groups.
const MOST_JOINING: usize = 1 << 11;
/// Words of lists for a sink, at first.
const WORDS: usize = 24;
/// About so many sinks have lists at a time, since these take nearly as much memory as all else of a
/// tree: more sinks are divided into equal shares of three quarters to one and a half of it.
const SINKS_AT_A_TIME: usize = 1 << 23;
/// Words of lists of every call.
const LEAST_WORDS: usize = 1 << 16;

/// Returns the number of parts of groups' lists that there may be in so many words: all but the last
/// of a list are longer than this.
fn parts_of(words: usize) -> usize {
    2 * words.div_ceil(MOST_OF_PART - LANES)
}

/// A share of the sinks: the cells of level 0 that begin at some places of the sorted bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The first of these places.
    pub begin: usize,
    /// The end of these places.
    pub end: usize,
    /// Whether the forces come in the order of the sorted bodies, those of the share alone, or else
    /// to the numbers of the sinks.
    pub is_sorted: bool,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// The order of expansions.
    pub order: usize,
    /// The acceptance of expansions.
    pub criterion: Criterion,
    /// The squared softening.
    pub softening2: f64,
    /// The factor of masses that the tree has.
    pub mass_factor: f64,
    /// Whether a source exerts no force on itself, where the sinks are the sources.
    pub skip_own: bool,
    /// Whether the forces are added to what is there.
    pub adds: bool,
    /// The sinks, if they are not all.
    pub share: Option<Share>,
}

/// The sinks that forces are on.
pub enum ForcesOn<'a, G: Gpu> {
    /// All sources.
    All,
    /// Some of the sources.
    Some(Chosen<'a, G>),
    /// Sinks beside the sources, which have a tree of their own.
    SeparateSinks {
        /// Their tree, in the units of that of the sources.
        tree: &'a Tree<G>,
        /// The sources that they leave out.
        own: Own<Address<G>>,
    },
}

/// Memory for the forces of trees.
pub struct Forces<G: Gpu> {
    /// The kernels of sinks, once they were needed.
    sink_kernels: Option<SinkKernels<G>>,
    sinks: GrowBuffer<G>,
    numbers: GrowBuffer<G>,
    sink_counts: GrowBuffer<G>,
    counts: GrowBuffer<G>,
    totals: GrowBuffer<G>,
    fields: GrowBuffer<G>,
    field_heads: GrowBuffer<G>,
    far_heads: GrowBuffer<G>,
    near_heads: GrowBuffer<G>,
    lists: GrowBuffer<G>,
    /// The number of words of lists, then of parts.
    used: GrowBuffer<G>,
    /// Of each part of a group's list of near cells the group and the segment.
    parts: GrowBuffer<G>,
    accelerations: GrowBuffer<G>,
    /// Tides over accelerations.
    ratios: GrowBuffer<G>,
    alike: GrowBuffer<G>,
    groups: GrowBuffer<G>,
    locals: GrowBuffer<G>,
    /// The sums by expansions for the sinks of the call, in the order of the sorted bodies.
    far_sums: GrowBuffer<G>,
    report: G::HostMemory,
    /// Words of lists that there is room for.
    room: usize,
    /// Groups that there is room for.
    room_of_groups: usize,
    /// The most words of lists.
    pub(super) most_words: usize,
    /// See [`SINKS_AT_A_TIME`].
    pub(super) sinks_at_a_time: usize,
    pub(super) clock: Clock,
}

/// The forces that are summed at a time.
struct Turn<'a, G: Gpu> {
    on: (&'a G, &'a G::Queue),
    tree: &'a Tree<G>,
    of_sinks: &'a Tree<G>,
    own: Own<Address<G>>,
    /// The sinks in their tree, if they are not all.
    chosen: Option<&'a Chosen<'a, G>>,
    asked: &'a Asked,
    /// The order of the kernels of expansions that are loaded.
    order: usize,
    /// The sinks, some of those that are asked for.
    share: Share,
    /// The number of sinks of the turns before.
    done: usize,
    to: Address<G>,
}

/// What the sums need room for.
struct Needed {
    /// Words of lists.
    words: usize,
    /// Groups.
    groups: usize,
    /// The sorted bodies whose forces these are.
    sinks: Range<usize>,
}

impl<G: Gpu> Forces<G> {
    /// Makes memory without room.
    pub fn new(gpu: &G) -> Result<Forces<G>> {
        let room = || GrowBuffer::new(gpu, "trees");
        Ok(Forces {
            sink_kernels: None,
            sinks: room()?,
            numbers: room()?,
            sink_counts: room()?,
            counts: room()?,
            totals: room()?,
            fields: room()?,
            field_heads: room()?,
            far_heads: room()?,
            near_heads: room()?,
            lists: room()?,
            used: room()?,
            parts: room()?,
            accelerations: room()?,
            ratios: room()?,
            alike: room()?,
            groups: room()?,
            locals: room()?,
            far_sums: room()?,
            report: gpu.allocate_host(4 * REPORTED, "trees")?,
            room: 0,
            room_of_groups: 0,
            most_words: MOST_WORDS,
            sinks_at_a_time: SINKS_AT_A_TIME,
            clock: Clock::default(),
        })
    }

    /// Sums the forces of the sources of a tree, whose moments of this order were summed, on its own
    /// bodies, some of them, or those of another tree that was built in its units. The potential and the
    /// acceleration of each sink come to the place of its number in `to`, as doubles, or where its
    /// share says. Returns which of the sorted bodies these are.
    ///
    /// # Safety
    /// `to` has four doubles for each place of the sinks. No memory is freed or used otherwise
    /// until this returns.
    pub unsafe fn sum(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        tree: &mut Tree<G>,
        sinks: &ForcesOn<G>,
        asked: &Asked,
        to: Address<G>,
    ) -> Result<Range<usize>> {
        let on = (gpu, queue);
        let of_itself = if asked.skip_own { Own::Itself } else { Own::None };
        let (others, own, chosen) = match sinks {
            ForcesOn::All => (None, of_itself, None),
            ForcesOn::Some(chosen) => (None, of_itself, Some(chosen)),
            ForcesOn::SeparateSinks { tree, own } => (Some(*tree), *own, None),
        };
        let count = others.map_or(tree.bodies, |sinks| sinks.bodies);
        if count == 0 {
            return Ok(0..0);
        }
        let missing = || Error::Internal { what: "the moments of a tree were not summed".into() };
        let mut sink_kernels = self.sink_kernels.take().map_or_else(|| SinkKernels::new(gpu), Ok)?;
        let (loaded, mut kernels) = tree.expansions.take().ok_or_else(missing)?;
        let tree_of_sinks = others.unwrap_or(tree);
        let cells = tree_of_sinks.cells();
        let tiles = cells.div_ceil(SELECT_THREADS);
        self.room_of_groups = self.room_of_groups.max(cells);
        self.numbers.ensure_capacity(gpu, LEVELS_OF_SINKS * cells * 4)?;
        self.sink_counts.ensure_capacity(gpu, (ALL_LEVELS + 2) * 4)?;
        self.counts.ensure_capacity(gpu, LEVELS_OF_SINKS * tiles * 4)?;
        self.totals.ensure_capacity(gpu, LEVELS_OF_SINKS * 4)?;
        self.fields.ensure_capacity(gpu, (LEVELS_OF_SINKS - 1) * cells * 36)?;
        self.field_heads.ensure_capacity(gpu, (LEVELS_OF_SINKS - 1) * cells * 4)?;
        self.used.ensure_capacity(gpu, 8)?;
        self.accelerations.ensure_capacity(gpu, 4 * count)?;
        self.ratios.ensure_capacity(gpu, 4 * count)?;
        self.alike.ensure_capacity(gpu, 4 * cells)?;
        self.groups.ensure_capacity(gpu, 4 * cells)?;
        let share = asked.share.unwrap_or(Share { begin: 0, end: count, is_sorted: false });
        let of_share = share.end - share.begin;
        let pieces = ((of_share + self.sinks_at_a_time / 2) / self.sinks_at_a_time).max(1);
        let words = (WORDS * of_share.div_ceil(pieces) + LEAST_WORDS).min(self.most_words);
        if self.room < words {
            self.make_room_for_words(gpu, words)?;
        }
        let border = |piece: usize| share.begin + (of_share as u64 * piece as u64 / pieces as u64) as usize;
        let mut sum_piece = |summed: Range<usize>, piece: usize| {
            let share = Share { begin: border(piece), end: border(piece + 1), ..share };
            let (tree, of_sinks) = (&*tree, tree_of_sinks);
            let turn = Turn { on, tree, of_sinks, own, chosen, asked, order: loaded, share, done: summed.len(), to };
            // SAFETY: the caller's promise.
            let sinks = unsafe { self.sum_share(&turn, (&mut sink_kernels, &mut kernels))? };
            Ok(if piece == 0 { sinks } else { summed.start..sinks.end })
        };
        let outcome = (0..pieces).try_fold(0..0, &mut sum_piece);
        tree.expansions = Some((loaded, kernels));
        self.sink_kernels = Some(sink_kernels);
        outcome
    }

    /// Makes room for lists. There is none if memory is refused.
    fn make_room_for_words(&mut self, gpu: &G, words: usize) -> Result<()> {
        self.room = 0;
        self.lists.ensure_capacity(gpu, 4 * words)?;
        self.room = words;
        Ok(())
    }

    /// Sums the forces of a turn. Returns which of the sorted bodies these are.
    ///
    /// # Safety
    /// As for [`Forces::sum`].
    unsafe fn sum_share(
        &mut self,
        turn: &Turn<G>,
        (sink_kernels, kernels): (&mut SinkKernels<G>, &mut Expansions<G>),
    ) -> Result<Range<usize>> {
        let gpu = turn.on.0;
        loop {
            let sinks = LEVELS_OF_SINKS * turn.of_sinks.cells() + self.room_of_groups;
            for (room, bytes) in [(&mut self.sinks, 16), (&mut self.far_heads, 4), (&mut self.near_heads, 4)] {
                room.ensure_capacity(gpu, bytes * sinks)?;
            }
            self.parts.ensure_capacity(gpu, 8 * parts_of(self.room))?;
            // SAFETY: the caller's promise; there is room for so many cells and bodies.
            let Needed { words, groups, sinks } = unsafe { self.begin(turn, (sink_kernels, kernels))? };
            if groups > self.room_of_groups {
                self.room_of_groups = groups + groups / 4;
            } else if words > self.most_words {
                let (what, most) = ("the number of words of a tree's lists on one GPU", self.most_words);
                let allowed = format!("0 to {most}: call for fewer sinks at a time, or less accuracy");
                return Err(Error::BadCount { what, value: words as i64, allowed });
            } else if words > self.room {
                self.make_room_for_words(gpu, (words + words / 4).min(self.most_words))?;
            } else {
                return Ok(sinks);
            }
        }
    }

    /// Sums the forces of a turn, if there is room, and returns what is needed.
    unsafe fn begin(
        &mut self,
        turn: &Turn<G>,
        (sink_kernels, kernels): (&mut SinkKernels<G>, &mut Expansions<G>),
    ) -> Result<Needed> {
        let Turn { on, tree, of_sinks, own, chosen, asked, order, share, done, to } = *turn;
        let (gpu, queue) = on;
        let (cells, room) = (of_sinks.cells(), of_sinks.cells());
        let tiles = cells.div_ceil(SELECT_THREADS);
        let (memories, kind_of_own) = own.arguments(self.used.0.address());
        let [owns, own_firsts, own_nexts] = memories.map(Argument::Memory);
        // Groups need the ratios no more when forces are summed.
        let (own_kind, seen) = (Argument::Bytes(bytes_of(&kind_of_own)), self.ratios.at());
        let (adds, are_some) = (i32::from(asked.adds), i32::from(chosen.is_some()));
        let (numbers_of_sinks, chosen_cells) = match chosen {
            Some(chosen) => (chosen.numbers.at(), chosen.cells.at()),
            None => (Argument::Memory(of_sinks.sorted_numbers()), self.used.at()),
        };
        let bodies = of_sinks.bodies;
        let (is_sorted, done) = (i32::from(share.is_sorted), done as u32);
        let borders = [share.begin, share.end, bodies].map(|place| place as u32);
        let [begin, end, bodies] = borders.each_ref().map(|place| Argument::Bytes(bytes_of(place)));
        let (tolerance, cut, varies) = match asked.criterion {
            Criterion::Error { tolerance } => (tolerance, CUT, variation(tolerance, order)),
            Criterion::Angle { theta } => (0.0, CUT * theta.min(1.0), theta / 2.0),
        };
        let by_angle = i32::from(matches!(asked.criterion, Criterion::Angle { .. }));
        let limits = [tolerance, cut * cut, varies].map(|limit| limit as f32);
        let [tolerance, cut2, variation] = limits.each_ref().map(|limit| Argument::Bytes(bytes_of(limit)));
        let rooms = [room, self.room_of_groups, self.room, parts_of(self.room)].map(|room| room as u32);
        let [room_, room_of_groups, list_room, room_of_parts] =
            rooms.each_ref().map(|room| Argument::Bytes(bytes_of(room)));
        let softening2 = Argument::Bytes(bytes_of(&asked.softening2));
        let frame = tree.cube.at();
        let (sink_cells, parents, leaves) = (of_sinks.cells.at(), of_sinks.parents.at(), of_sinks.leaves.at());
        let (sink_places, places, reaches) = (of_sinks.places.at(), tree.places.at(), tree.reaches.at());
        let (found, groups, alike) = (of_sinks.found.at(), self.groups.at(), self.alike.at());
        let (sinks, numbers, sink_counts) = (self.sinks.at(), self.numbers.at(), self.sink_counts.at());
        let (counts, totals, accelerations) = (self.counts.at(), self.totals.at(), self.accelerations.at());
        let (lists, used, parts) = (self.lists.at(), self.used.at(), self.parts.at());
        let (sink_highs, sink_lows, ratios) = (of_sinks.high.at(), of_sinks.low.at(), self.ratios.at());
        let [far_heads, near_heads] = [&self.far_heads, &self.near_heads].map(GrowBuffer::at);
        let [fields, field_heads] = [&self.fields, &self.field_heads].map(GrowBuffer::at);
        let level_numbers: [i32; ALL_LEVELS] = std::array::from_fn(|level| level as i32);
        let level_of = |level: usize| Argument::Bytes(bytes_of(&level_numbers[level]));
        self.clock.begin(on)?;
        // SAFETY: the caller's promise.
        unsafe {
            gpu.zero(queue, &self.used.0, 8)?;
            let select = |of_groups: i32, kernels: &mut SinkKernels<G>| {
                let (is, rows) = (of_groups, if of_groups != 0 { 1 } else { LEVELS_OF_SINKS });
                let [are_some, is] = [&are_some, &is].map(|choice| Argument::Bytes(bytes_of(choice)));
                let arguments = [
                    sink_cells,
                    parents,
                    leaves,
                    groups,
                    numbers_of_sinks,
                    chosen_cells,
                    counts,
                    found,
                    begin,
                    end,
                    bodies,
                    are_some,
                    is,
                ];
                launch_after_copies(on, &mut kernels.count_sinks, (tiles, SELECT_THREADS), &arguments)?;
                scan(on, &mut kernels.scan_rows, (counts, totals), rows, tiles)?;
                let arguments = [
                    sink_cells,
                    parents,
                    leaves,
                    groups,
                    numbers_of_sinks,
                    chosen_cells,
                    counts,
                    totals,
                    sinks,
                    numbers,
                    sink_counts,
                    found,
                    begin,
                    end,
                    bodies,
                    room_,
                    room_of_groups,
                    are_some,
                    is,
                ];
                launch(on, &mut kernels.place_sinks, (tiles, SELECT_THREADS), &arguments)
            };
            select(0, sink_kernels)?;
            let find_fields = |level: usize, blocks: usize, kernels: &mut SinkKernels<G>| {
                let arguments = [
                    sink_cells,
                    leaves,
                    sink_highs,
                    sink_lows,
                    sink_places,
                    places,
                    reaches,
                    sinks,
                    numbers,
                    sink_counts,
                    fields,
                    field_heads,
                    lists,
                    used,
                    accelerations,
                    ratios,
                    frame,
                    softening2,
                    room_,
                    list_room,
                    level_of(level),
                ];
                launch(on, &mut kernels.find_fields, (blocks, LANES), &arguments)
            };
            // No level has more cells with a sink than there are sinks.
            let most = chosen.map_or(cells, |chosen| chosen.most.min(cells));
            for (level, bodies) in BODIES_OF_SINKS.into_iter().enumerate() {
                let blocks = ((share.end - share.begin) / bodies).clamp(LEAST_BLOCKS.min(most), MOST_BLOCKS.min(most));
                find_fields(level, blocks, sink_kernels)?;
            }
            let shape = (tiles, SELECT_THREADS);
            let arguments = [sink_cells, sink_places, ratios, alike, found, variation];
            launch(on, &mut sink_kernels.find_groups, shape, &arguments)?;
            let arguments = [sink_cells, parents, alike, groups, found];
            launch(on, &mut sink_kernels.choose_groups, shape, &arguments)?;
            select(1, sink_kernels)?;
            let (of_fields, sink_counts_, sinks_) = self.report(on)?;
            let groups_ = sink_counts_[LEVELS_OF_SINKS] as usize;
            let needed = Needed { words: of_fields, groups: groups_, sinks: sinks_ };
            if needed.words > self.room || needed.groups > self.room_of_groups {
                return Ok(needed);
            }
            let blocks = |level: usize| (sink_counts_[level] as usize).clamp(1, MOST_BLOCKS);
            find_fields(LEVELS_OF_SINKS, blocks(LEVELS_OF_SINKS).min(MOST_LOOKING), sink_kernels)?;
            self.clock.end(on, TreePhase::FirstPass)?;
            gpu.zero(queue, &self.used.0, 8)?;
            let all: usize = WALKED.iter().map(|level| sink_counts_[*level] as usize).sum();
            self.locals.ensure_capacity(gpu, all * 4 * components(order).next_multiple_of(4))?;
            let locals = self.locals.at();
            for level in WALKED {
                let arguments = [
                    sink_places,
                    sink_highs,
                    sink_lows,
                    numbers_of_sinks,
                    places,
                    reaches,
                    sinks,
                    numbers,
                    sink_counts,
                    far_heads,
                    near_heads,
                    lists,
                    used,
                    parts,
                    accelerations,
                    frame,
                    softening2,
                    tolerance,
                    cut2,
                    Argument::Bytes(bytes_of(&by_angle)),
                    room_,
                    list_room,
                    room_of_parts,
                    level_of(level),
                ];
                launch_after_copies(on, &mut kernels.find_interactions, (blocks(level), LANES), &arguments)?;
            }
            if asked.adds {
                // Forces are added once, by lists that are complete.
                let (words, ..) = self.report(on)?;
                if words > self.room {
                    return Ok(Needed { words, ..needed });
                }
            }
            self.clock.end(on, TreePhase::Walk)?;
            let all = WALKED.iter().map(|level| blocks(*level)).sum();
            let arguments = [
                sink_places,
                sink_highs,
                sink_lows,
                places,
                tree.moments.at(),
                sinks,
                sink_counts,
                far_heads,
                lists,
                locals,
                frame,
                softening2,
                room_,
            ];
            launch(on, &mut kernels.add_far, (all, LANES), &arguments)?;
            for level in &WALKED[1..] {
                let level_ = level_of(*level);
                let arguments =
                    [sink_places, sink_highs, sink_lows, sinks, numbers, sink_counts, locals, room_, level_];
                let shape = (blocks(*level).div_ceil(SHIFT_THREADS), SHIFT_THREADS);
                launch(on, &mut kernels.shift_locals, shape, &arguments)?;
            }
            let (to, mass_factor) = (Argument::Memory(to), Argument::Bytes(bytes_of(&asked.mass_factor)));
            let choices = [adds, is_sorted];
            let [adds, is_sorted] = choices.each_ref().map(|choice| Argument::Bytes(bytes_of(choice)));
            let done = Argument::Bytes(bytes_of(&done));
            self.far_sums.ensure_capacity(gpu, 16 * needed.sinks.len())?;
            let far_sums = self.far_sums.at();
            let arguments =
                [sink_places, sink_highs, sink_lows, numbers_of_sinks, sinks, sink_counts, locals, far_sums, room_];
            let shape = (blocks(LEVELS_OF_SINKS).div_ceil(VALUE_THREADS / LANES), VALUE_THREADS);
            launch(on, &mut kernels.find_forces, shape, &arguments)?;
            self.clock.end(on, TreePhase::Expansions)?;
            let arguments = [
                tree.cells.at(),
                places,
                sink_places,
                sink_highs,
                sink_lows,
                numbers_of_sinks,
                tree.high.at(),
                tree.low.at(),
                sinks,
                sink_counts,
                near_heads,
                lists,
                used,
                parts,
                far_sums,
                to,
                frame,
                softening2,
                mass_factor,
                room_,
                room_of_parts,
                adds,
                is_sorted,
                done,
                owns,
                own_firsts,
                seen,
                own_kind,
            ];
            // Its longest parts come first. Were they put into the gaps that the kernel before leaves,
            // few multiprocessors would have most of them.
            launch_after_copies(on, &mut sink_kernels.add_near, (blocks(LEVELS_OF_SINKS), LANES), &arguments)?;
            let arguments = [
                sink_highs,
                numbers_of_sinks,
                sinks,
                sink_counts,
                near_heads,
                lists,
                used,
                parts,
                far_sums,
                to,
                frame,
                softening2,
                mass_factor,
                room_,
                room_of_parts,
                adds,
                is_sorted,
                done,
                seen,
                own_kind,
            ];
            let shape = (blocks(LEVELS_OF_SINKS).min(MOST_JOINING), LANES);
            launch(on, &mut sink_kernels.join_parts, shape, &arguments)?;
            if kind_of_own >= OWN_LISTED {
                let arguments = [
                    tree.cells.at(),
                    places,
                    sink_highs,
                    sink_lows,
                    numbers_of_sinks,
                    tree.high.at(),
                    tree.low.at(),
                    sinks,
                    sink_counts,
                    near_heads,
                    lists,
                    to,
                    frame,
                    softening2,
                    mass_factor,
                    room_,
                    owns,
                    own_nexts,
                    seen,
                    own_kind,
                ];
                launch(on, &mut sink_kernels.leave_out_far, (blocks(LEVELS_OF_SINKS), LANES), &arguments)?;
            }
            let (words, ..) = self.report(on)?;
            self.clock.end(on, TreePhase::NearSums)?;
            if self.clock.is_wanted() && words <= self.room {
                self.count(on, (tree, chosen), (words, room, &sink_counts_))?;
            }
            Ok(Needed { words, ..needed })
        }
    }

    /// Counts the interactions in lists of so many words, of sinks of which there are so many in each
    /// level.
    fn count(
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

    /// Waits for the number of words of lists, those of the sinks of each level, and the sorted bodies
    /// that these are.
    fn report(&mut self, (gpu, queue): (&G, &G::Queue)) -> Result<(usize, [u32; ALL_LEVELS], Range<usize>)> {
        let to = self.report.as_mut_ptr();
        // SAFETY: the memories are that long, and the copies are waited for.
        unsafe {
            gpu.copy(queue, Place::Device(&self.used.0, 0), Place::Host(to), 4)?;
            let to = Place::Host(to.wrapping_add(4));
            gpu.copy(queue, Place::Device(&self.sink_counts.0, 0), to, 4 * (REPORTED - 1))?;
        }
        gpu.record(queue)?.wait()?;
        // SAFETY: the copies have ended.
        let found = unsafe { self.report.part::<u32>(0..REPORTED) };
        let [begin, end] = [1, 2].map(|k| found[ALL_LEVELS + k] as usize);
        Ok((found[0] as usize, std::array::from_fn(|level| found[1 + level]), begin..end))
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
