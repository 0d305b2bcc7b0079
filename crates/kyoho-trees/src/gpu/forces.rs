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
            // Shares of several devices differ a little from one call to the next.
            let more = if self.room > 0 { words / 8 } else { 0 };
            self.make_room_for_words(gpu, (words + more).min(self.most_words))?;
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
}
