//! The forces of the bodies of a tree on cells of sinks.
//!
//! [`Forces`] has the memory for them. So many sinks as have room for their lists are a `turn`,
//! whose kernels get their `arguments` by name; `profile` counts interactions.

mod arguments;
mod profile;
mod turn;

use std::ops::Range;

use super::builder::Tree;
use super::clock::Clock;
use super::constants::{LANES, LEVELS_OF_SINKS, MOST_OF_PART, MOST_WORDS, SELECT_THREADS};
use super::kernels::{Expansions, SinkKernels};
use super::own::{Chosen, Own};
use crate::criterion::Criterion;
use kyoho_core::{Error, Result};
use kyoho_hal::gpu::{Address, Gpu};
use kyoho_hal::grow_buffer::GrowBuffer;

/// The number of levels, and of groups as one more.
const ALL_LEVELS: usize = LEVELS_OF_SINKS + 1;
/// The numbers that the host reads: of words, of the sinks of each level, and the ends of the share.
const REPORTED: usize = 1 + ALL_LEVELS + 2;
/// The levels of the walk, with the one before each.
const WALKED: [usize; 3] = [0, 1, LEVELS_OF_SINKS];
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

impl Share {
    /// Returns a piece of it, of so many that are about as large.
    fn piece(&self, piece: usize, pieces: usize) -> Share {
        let border =
            |piece: usize| self.begin + ((self.end - self.begin) as u64 * piece as u64 / pieces as u64) as usize;
        Share { begin: border(piece), end: border(piece + 1), ..*self }
    }
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

impl Asked {
    /// Asks for the forces on all sinks, in place of what is there.
    pub fn new((order, criterion): (usize, Criterion), (softening2, mass_factor): (f64, f64), skip_own: bool) -> Asked {
        Asked { order, criterion, softening2, mass_factor, skip_own, adds: false, share: None }
    }
}

/// The sinks that forces are on.
pub enum ForcesOn<'a, G: Gpu> {
    /// All sources.
    All,
    /// All sources, each of which leaves out some.
    AllBut(Own<Address<G>>),
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

/// The kernels of sinks, and those of expansions.
type AllKernels<'a, G> = (&'a mut SinkKernels<G>, &'a mut Expansions<G>);

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

    /// Returns the acceleration of each sink by the first pass, in their sorted order.
    pub(super) fn accelerations(&self) -> &GrowBuffer<G> {
        &self.accelerations
    }

    /// Returns of each cell of sinks how many groups it is: one, one for each body, or none.
    pub(super) fn groups(&self) -> &GrowBuffer<G> {
        &self.groups
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
        // SAFETY: the caller's promise.
        let sums = |forces: &mut Self, turn: &Turn<G>, (sink_kernels, kernels): AllKernels<G>| unsafe {
            let pieces = forces.pieces_of(&turn.share);
            let mut summed = 0..0;
            for piece in 0..pieces {
                let turn = &Turn { share: turn.share.piece(piece, pieces), done: summed.len(), ..*turn };
                let report = forces.first_pass(turn, sink_kernels)?;
                forces.second_pass(turn, (sink_kernels, kernels), &report)?;
                summed = if piece == 0 { report.sinks } else { summed.start..report.sinks.end };
            }
            Ok(summed)
        };
        self.turn((gpu, queue), (tree, sinks), asked, to, sums).map(Option::unwrap_or_default)
    }

    /// Makes the first pass for all sinks, for which the second one has other cells of sources.
    ///
    /// # Safety
    /// As for [`Forces::sum`].
    pub unsafe fn first(
        &mut self,
        on: (&G, &G::Queue),
        tree: &mut Tree<G>,
        sinks: &ForcesOn<G>,
        asked: &Asked,
    ) -> Result<()> {
        let (to, sinks) = (tree.frame(), (tree, sinks));
        // SAFETY: the caller's promise.
        let first = |forces: &mut Self, turn: &Turn<G>, (kernels, _): AllKernels<G>| unsafe {
            let pieces = forces.pieces_of(&turn.share);
            for piece in 0..pieces {
                forces.first_pass(&Turn { share: turn.share.piece(piece, pieces), ..*turn }, kernels)?;
            }
            Ok(())
        };
        self.turn(on, sinks, asked, to, first).map(|_| ())
    }

    /// Makes the second pass after [`Forces::first`] for the same sinks, whose forces come to `to`.
    ///
    /// # Safety
    /// As for [`Forces::sum`].
    pub unsafe fn second(
        &mut self,
        on: (&G, &G::Queue),
        tree: &mut Tree<G>,
        sinks: &ForcesOn<G>,
        asked: &Asked,
        to: Address<G>,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        let second = |forces: &mut Self, turn: &Turn<G>, (sink_kernels, kernels): AllKernels<G>| unsafe {
            let pieces = forces.pieces_of(&turn.share);
            for piece in 0..pieces {
                let turn = &Turn { share: turn.share.piece(piece, pieces), ..*turn };
                let report = forces.select_again(turn, sink_kernels)?;
                forces.second_pass(turn, (sink_kernels, kernels), &report)?;
            }
            Ok(())
        };
        self.turn(on, (tree, sinks), asked, to, second).map(|_| ())
    }

    /// Calls `work` with a turn of all sinks that are asked for, for which there is room, and all kernels,
    /// and returns what it does; `None` without sinks.
    fn turn<T>(
        &mut self,
        on: (&G, &G::Queue),
        (tree, sinks): (&mut Tree<G>, &ForcesOn<G>),
        asked: &Asked,
        to: Address<G>,
        work: impl FnOnce(&mut Self, &Turn<G>, AllKernels<G>) -> Result<T>,
    ) -> Result<Option<T>> {
        let of_itself = if asked.skip_own { Own::Itself } else { Own::None };
        let (others, own, chosen) = match sinks {
            ForcesOn::All => (None, of_itself, None),
            ForcesOn::AllBut(own) => (None, *own, None),
            ForcesOn::Some(chosen) => (None, of_itself, Some(chosen)),
            ForcesOn::SeparateSinks { tree, own } => (Some(*tree), *own, None),
        };
        let count = others.map_or(tree.bodies, |sinks| sinks.bodies);
        if count == 0 {
            return Ok(None);
        }
        let missing = || Error::Internal { what: "the moments of a tree were not summed".into() };
        let mut sink_kernels = self.sink_kernels.take().map_or_else(|| SinkKernels::new(on.0), Ok)?;
        let (order, mut kernels) = tree.expansions.take().ok_or_else(missing)?;
        let of_sinks = others.unwrap_or(tree);
        let share = asked.share.unwrap_or(Share { begin: 0, end: count, is_sorted: false });
        let made = self.make_room(on.0, (of_sinks.cells(), count), &share).and_then(|()| {
            let turn = Turn { on, tree, of_sinks, own, chosen, asked, order, share, done: 0, to };
            work(self, &turn, (&mut sink_kernels, &mut kernels))
        });
        tree.expansions = Some((order, kernels));
        self.sink_kernels = Some(sink_kernels);
        made.map(Some)
    }

    /// Returns in how many pieces the forces on a share are summed.
    fn pieces_of(&self, share: &Share) -> usize {
        let halves = share.end - share.begin + self.sinks_at_a_time / 2;
        (halves / self.sinks_at_a_time).max(1)
    }

    /// Makes room for so many cells and bodies of sinks, of which there is a share.
    fn make_room(&mut self, gpu: &G, (cells, count): (usize, usize), share: &Share) -> Result<()> {
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
        let of_piece = (share.end - share.begin).div_ceil(self.pieces_of(share));
        let words = (WORDS * of_piece + LEAST_WORDS).min(self.most_words);
        if self.room < words {
            // Shares of several devices differ a little from one call to the next.
            let more = if self.room > 0 { words / 8 } else { 0 };
            self.make_room_for_words(gpu, (words + more).min(self.most_words))?;
        }
        Ok(())
    }

    /// Makes room for lists. There is none if memory is refused.
    fn make_room_for_words(&mut self, gpu: &G, words: usize) -> Result<()> {
        self.room = 0;
        self.lists.ensure_capacity(gpu, 4 * words)?;
        self.room = words;
        Ok(())
    }
}
