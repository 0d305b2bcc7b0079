//! The system of a team in which each rank keeps bodies that no other one has: its sources, and sinks
//! that feel those of all ranks. Bodies have numbers in the order of ranks.

use kyoho_core::sinks::FromFn;
use kyoho_core::{Error, Forces, NeighbourCriterion, Result, Sink, Source, TreeAccuracy};
use kyoho_engine::System;

use crate::team::Team;
use crate::{Asked, Communicator, RankedSystem, Ranks};

/// What a rank has of such a system beside its own sources.
pub struct OwnBodies {
    team: Team,
    ranks: Ranks,
    /// The number of this rank's first body, and of the bodies of all ranks.
    first: usize,
    all: usize,
    interactions: u64,
    has_sums: bool,
}

/// The bodies of all ranks must have indices of their own.
const MOST: usize = i32::MAX as usize;

/// Returns a source of a rank with the index that it has among those of all, as the rank's first body has
/// this one.
pub fn numbered(source: Source, first: usize) -> Source {
    Source { index: source.index + first as i32, ..source }
}

impl OwnBodies {
    /// Makes the system of ranks that keep some bodies each, this one so many, of their systems without
    /// sources.
    pub fn over(team: &Team, system: System, count: usize) -> Result<(System, OwnBodies)> {
        let counts = team.numbers([count as u64])?;
        let all: usize = counts.iter().map(|[count]| *count as usize).sum();
        if all > MOST {
            let allowed = "up to 2147483647 on all ranks".into();
            return Err(Error::BadCount { what: "the number of bodies", value: all as i64, allowed });
        }
        let first = counts[..team.rank()].iter().map(|[count]| *count as usize).sum();
        let RankedSystem { system, ranks } = RankedSystem::over(Box::new(OfTeam(team.clone())), Ok(system))?;
        let ranks = ranks.ok_or_else(|| Error::Internal { what: "a system over ranks has none".into() })?;
        Ok((system, OwnBodies { team: team.clone(), ranks, first, all, interactions: 0, has_sums: false }))
    }

    /// Returns the ranks.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// Returns the number of this rank's first body.
    pub fn first(&self) -> usize {
        self.first
    }

    /// Returns the number of the bodies of all ranks.
    pub fn all(&self) -> usize {
        self.all
    }

    /// Returns the pairs of sinks and sources of all ranks so far.
    pub fn interactions(&self) -> u64 {
        self.interactions
    }

    /// Returns the accuracy of forces by a tree.
    pub fn tree(&self) -> Option<TreeAccuracy> {
        self.ranks.tree
    }

    /// Does [`System::set_tree`]. All ranks have to do it alike.
    pub fn set_tree(&mut self, system: &System, tree: Option<TreeAccuracy>) -> Result<()> {
        if tree.is_some() {
            system.require_order_of_trees()?;
        }
        self.ranks.tree = tree;
        Ok(())
    }

    /// Starts a block of the sinks of all ranks, also of one without any.
    pub fn start(
        &mut self,
        system: &mut System,
        (nj, skip_own_index): (usize, bool),
        count: usize,
        sink: impl Fn(usize) -> Sink + Sync,
    ) -> Result<()> {
        self.has_sums = false;
        let first = self.first as i32;
        let numbered = FromFn(|number: usize| {
            let sink = sink(number);
            Sink { index: sink.index + first, ..sink }
        });
        let started = self.ranks.start(system, |system, into| {
            let scan = system.copy_sinks(into, count, &numbered)?;
            Ok(Asked { nj, skip_own_index, neighbour_criterion: NeighbourCriterion::default(), radius: scan.radius })
        });
        self.note(started)?;
        self.interactions = self.interactions.saturating_add(self.ranks.pairs);
        Ok(())
    }

    /// Waits for the forces on this rank's sinks.
    pub fn wait(&mut self, system: &mut System) -> Result<()> {
        let waited = self.ranks.wait(system, Ok(()), |_, _, _| ());
        system.forget_block();
        self.note(waited)?;
        self.has_sums = true;
        Ok(())
    }

    /// Returns the forces of the last block once more.
    pub fn forces<'a>(&'a self, system: &'a System) -> Result<Forces<'a>> {
        if self.has_sums {
            return Ok(Forces::of(&self.ranks.buffers.sums, 0..self.ranks.own.len(), system.interaction()));
        }
        Err(Error::CallOrder { call: "forces", when: "before those of a block were waited for" })
    }

    /// Notes an error, which is that of all ranks, so that none tells another of it again.
    fn note<T>(&self, outcome: Result<T>) -> Result<T> {
        self.team.state().note(outcome)
    }
}

/// Speaks with the ranks of a team.
struct OfTeam(Team);

impl Communicator for OfTeam {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn most_bytes(&self) -> usize {
        self.0.state().communicator.most_bytes()
    }

    fn all_gather(&mut self, sent: &[u8], received: &mut [u8], counts: &[usize]) -> Result<()> {
        self.0.state().communicator.all_gather(sent, received, counts)
    }

    fn all_to_all(
        &mut self,
        sent: &[u8],
        sent_counts: &[usize],
        received: &mut [u8],
        received_counts: &[usize],
    ) -> Result<()> {
        self.0.state().communicator.all_to_all(sent, sent_counts, received, received_counts)
    }

    fn abort(&self) {
        self.0.state().communicator.abort();
    }
}
