//! Systems over ranks: processes that each have some of the sources and sinks of one system.
//!
//! A rank has a [`System`] with its own sources. The sinks of a block go to all ranks, each sums its
//! own sources on all of them, and a rank gets the sums on its own sinks back and adds them, in the
//! order in which the sums of several devices are added. By a tree, in `trees`, copies of sources and
//! sinks go to `domains` instead, and forces come back. Of `interaction_lists` a rank gets the groups
//! that have some of its sources. Nothing here knows how ranks speak: that is the [`Communicator`],
//! which callers give, or for tests the threads of one process.
//!
//! A [`Team`] are ranks that do the same work. Its [`SharedSystem`] has the sources of one process, which
//! all ranks know and of which each sums its share, or bodies that each rank keeps for itself.
//!
//! Every call that needs all ranks begins with an `agreement`, in which each rank says whether it
//! can take part. So all end it with the same error, and none waits for one that gave up.

mod agreement;
mod block;
mod dealing;
mod domains;
mod exchange;
mod exclusion;
mod gathering;
mod interaction_lists;
mod neighbours;
mod own_bodies;
mod pieces;
mod shared;
mod team;
#[cfg(feature = "testing")]
pub mod threads;
mod trees;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use kyoho_core::{
    BufferPool, Error, Forces, Interaction, InteractionLists, NeighbourCriterion, Result, Sinks, Sums, TreeAccuracy,
};
use kyoho_engine::{DomainOn, System};
use kyoho_hal::threads::Threads;
use kyoho_trees::cpu::domain::DomainForces;

use agreement::{Agreement, Call};
pub use agreement::{Complaint, complaint, digest};
use block::{Buffers, PIECE, RankBlock, not_over_ranks};
use interaction_lists::SharedLists;
use neighbours::RankLists;
pub use shared::SharedSystem;
pub use team::Team;

/// The ranks of a system, and how this one speaks with them. All ranks call the same functions in
/// the same order.
pub trait Communicator: Send {
    /// Returns the number of this rank, from 0 on.
    fn rank(&self) -> usize;

    /// Returns the number of ranks.
    fn size(&self) -> usize;

    /// Returns the most bytes that a call may send or receive in all.
    fn most_bytes(&self) -> usize {
        1 << 30
    }

    /// Gives all ranks the bytes of each, in the order of ranks. `counts` has the bytes of each rank,
    /// which all know.
    fn all_gather(&mut self, sent: &[u8], received: &mut [u8], counts: &[usize]) -> Result<()>;

    /// Gives each rank some bytes of every other. `sent` has those for each rank, in the order of
    /// ranks, and `received` those from each; the counts are their bytes.
    fn all_to_all(
        &mut self,
        sent: &[u8],
        sent_counts: &[usize],
        received: &mut [u8],
        received_counts: &[usize],
    ) -> Result<()>;

    /// Ends the work of all ranks, as this one cannot go on and others would wait for it.
    fn abort(&self);
}

/// What a rank asks of a block, beside its own sinks.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Only addresses of its own sources below this take part.
    pub nj: usize,
    /// Whether sources with a sink's index are left out.
    pub skip_own_index: bool,
    /// The rule by which sources are neighbours in systems of regular forces.
    pub neighbour_criterion: NeighbourCriterion,
    /// Whether some of its sinks have a radius.
    pub radius: bool,
}

/// A system of sources of one process, or of one rank among several.
pub struct RankedSystem {
    system: System,
    ranks: Option<Ranks>,
}

/// The other ranks of a system.
struct Ranks {
    communicator: Box<dyn Communicator>,
    agreement: Agreement,
    /// The sinks of this rank.
    own: Sinks,
    block: Option<RankBlock>,
    /// The pairs of sinks and sources of all ranks in the last block.
    pairs: u64,
    buffers: Buffers,
    lists: RankLists,
    shared_lists: SharedLists,
    /// The accuracy of forces by a tree, if blocks of many pairs take one. This rank's system has none.
    tree: Option<TreeAccuracy>,
    /// What this rank does of them, and where.
    domain: Option<(Box<dyn DomainForces>, DomainOn)>,
    /// Memory for what ranks exchange of them.
    pool: BufferPool,
    /// The failure of the communicator, after which nothing can be exchanged any more.
    lost: Option<Error>,
}

impl From<System> for RankedSystem {
    fn from(system: System) -> RankedSystem {
        RankedSystem { system, ranks: None }
    }
}

impl RankedSystem {
    /// Makes one system of those that were made on each rank, or returns on all ranks the error of
    /// the first on which that failed. All have to be of the same order, precision and scope, and of
    /// the same version of the library.
    pub fn over(communicator: Box<dyn Communicator>, made: Result<System>) -> Result<RankedSystem> {
        let size = communicator.size();
        let room = Agreement::new(size).and_then(|agreement| Ok((agreement, Buffers::new(size)?)));
        let (agreement, buffers) = room.inspect_err(|_| communicator.abort())?;
        let (own, lists, shared_lists) = (Sinks::default(), RankLists::default(), SharedLists::default());
        let (tree, domain, pool, lost) = (None, None, BufferPool::default(), None);
        let mut ranks = Ranks {
            communicator,
            agreement,
            own,
            block: None,
            pairs: 0,
            buffers,
            lists,
            shared_lists,
            tree,
            domain,
            pool,
            lost,
        };
        let made = made.and_then(|mut system| {
            block::require_kind(&system)?;
            ranks.tree = system.tree();
            ranks.buffers.threads = Threads::for_copies(system.setup().threads);
            ranks.require_tree_of_ranks(&system)?;
            system.set_tree(None)?;
            Ok(system)
        });
        let told = made.as_ref().map(|system| agreement::of_system(system, &*ranks.communicator));
        ranks.agree(Call::Create, told.map_err(Clone::clone))?;
        ranks.agreement.require_equal_systems()?;
        ranks.agree(Call::Tree, Ok([0, 0, 0, 0, trees::told(ranks.tree)]))?;
        ranks.require_same_tree()?;
        Ok(RankedSystem { system: made?, ranks: Some(ranks) })
    }

    /// Returns the sources and devices of this rank. What is asked of them concerns no other rank.
    pub fn own(&mut self) -> &mut System {
        &mut self.system
    }

    /// Does [`System::set_tree`]. All ranks have to do it alike: the next block tells.
    pub fn set_tree(&mut self, tree: Option<TreeAccuracy>) -> Result<()> {
        let Some(ranks) = &mut self.ranks else { return self.system.set_tree(tree) };
        if tree.is_some() {
            self.system.require_order_of_trees()?;
        }
        ranks.tree = tree;
        Ok(())
    }

    /// Returns the system, which must not be over ranks, for work that is of one process alone.
    pub fn alone(&mut self, work: &str) -> Result<&mut System> {
        if self.ranks.is_none() { Ok(&mut self.system) } else { Err(not_over_ranks(&self.system, work)) }
    }

    /// Ends the system, and returns what this rank had of it.
    pub fn into_own(self) -> System {
        self.system
    }

    /// Whether it is over ranks.
    pub fn is_over_ranks(&self) -> bool {
        self.ranks.is_some()
    }

    /// Begins a block of the sinks of all ranks. `own` copies those of this rank, and returns what it
    /// asks of them. All ranks call this, also those without sinks.
    ///
    /// An error on one rank is that of all. If a device fails here, [`RankedSystem::wait`] tells.
    pub fn start(&mut self, own: impl FnOnce(&mut System, &mut Sinks) -> Result<Asked>) -> Result<()> {
        self.together(|system, ranks| ranks.start(system, own))
    }

    /// Begins the forces of the interaction lists of all ranks. The addresses in them are those of all
    /// sources: the first rank's, up to the highest that was written, then the second's and so on.
    /// `own` gets the end of all, copies the lists of this rank, and returns whether they leave out
    /// sources with a sink's index. All ranks call this, also those without sinks, and
    /// [`RankedSystem::wait`].
    pub fn start_lists(
        &mut self,
        own: impl FnOnce(&mut System, usize, &mut InteractionLists) -> Result<bool>,
    ) -> Result<()> {
        self.together(|system, ranks| ranks.start_lists(system, own))
    }

    /// Waits for the forces of the block and calls `take` with those on this rank's sinks. All ranks
    /// call this. An error on one rank, also one of `ready`, is that of all, and ends the block.
    pub fn wait(&mut self, ready: Result<()>, take: impl FnOnce(Forces)) -> Result<()> {
        self.wait_for_sums(ready, |sums, count, interaction, _| take(Forces::of(sums, 0..count, interaction)))
    }

    /// Does as [`RankedSystem::wait`] does, but calls `write` for all sinks piece by piece, with the number
    /// of the first one; on several threads, if they may write the forces on so many sinks.
    pub fn wait_on_threads(
        &mut self,
        ready: Result<()>,
        may_share: impl FnOnce(usize) -> bool,
        write: impl Fn(usize, Forces) + Sync,
    ) -> Result<()> {
        self.wait_for_sums(ready, |sums, count, interaction, threads| {
            let write = |first: usize| {
                let sinks = first..count.min(first + PIECE);
                write(first, Forces::of(sums, sinks, interaction));
            };
            let alone = Threads::alone();
            let threads = if may_share(count) { threads } else { &alone };
            threads.each((0..count).step_by(PIECE), write);
        })
    }

    fn wait_for_sums(
        &mut self,
        ready: Result<()>,
        take: impl FnOnce(&Sums, usize, &Interaction, &Threads),
    ) -> Result<()> {
        self.together(|system, ranks| {
            let interaction = system.interaction().clone();
            let take = |sums: &Sums, count: usize, threads: &Threads| take(sums, count, &interaction, threads);
            let waited = ranks.wait(system, ready, take);
            // Lists of all sinks are made by now, if any, so that no sources are kept for them.
            system.forget_block();
            waited
        })
    }

    /// Returns the neighbours of one of this rank's sinks of the last block among the sources of all
    /// ranks, as [`System::neighbours`] does. They are here, so that no other rank is asked.
    pub fn neighbours(&mut self, sink: usize) -> Result<&[i32]> {
        match &self.ranks {
            None => self.system.neighbours(sink),
            Some(ranks) => ranks.lists.list(sink, self.system.interaction()),
        }
    }

    /// Runs work that all ranks do. If this one panics in it, the others are told to end.
    fn together<T>(&mut self, work: impl FnOnce(&mut System, &mut Ranks) -> Result<T>) -> Result<T> {
        let RankedSystem { system, ranks } = self;
        let Some(ranks) = ranks else {
            return Err(Error::Internal { what: "ranks were asked for in a system without any".into() });
        };
        catch_unwind(AssertUnwindSafe(|| work(system, ranks))).unwrap_or_else(|panic| {
            ranks.communicator.abort();
            resume_unwind(panic)
        })
    }
}
