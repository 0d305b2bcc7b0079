//! Forces by a tree over ranks: copies of sources and sinks go to the rank whose domain they are in,
//! each rank makes the tree of its domain, and gets from all others the cells and bodies that its
//! sinks need. Forces go back to the ranks of the sinks.

use kyoho_core::forces::check_finite;
use kyoho_core::{Error, Interaction, Pooled, Result, ResultCode, TreeAccuracy, TreeBlock, memory};
use kyoho_engine::System;
use kyoho_trees::bodies::Bodies;
use kyoho_trees::cpu::Spread;
use kyoho_trees::cpu::domain::{DomainForces, RankWords};
use kyoho_trees::cpu::essential::Region;

use crate::agreement::{Call, Told};
use crate::block::PIECE;
use crate::dealing::{InDomain, packed_forces, put_forces};
use crate::domains::{Domains, Own};
use crate::{Asked, Ranks};

/// The bytes of a word.
const WORD: usize = size_of::<u64>();
/// About the most regions of the sinks of a rank, and of all ranks.
const MOST_REGIONS: usize = 1 << 14;
const ALL_REGIONS: usize = 1 << 18;
/// The name of what ranks exchange in errors about memory.
const WHAT: &str = "words of other ranks";

/// Returns the accuracy of a tree as ranks tell it: 0 for none, negative for an angle.
pub fn told(tree: Option<TreeAccuracy>) -> u64 {
    match tree {
        None => 0,
        Some(TreeAccuracy::Error(error)) => error.to_bits(),
        Some(TreeAccuracy::Theta(theta)) => (-theta).to_bits(),
        Some(TreeAccuracy::Stackless { theta, .. }) => (-1e3 - theta).to_bits(),
    }
}

/// Returns what a rank told as words.
fn shown(told: u64) -> String {
    match f64::from_bits(told) {
        0.0 => "none".into(),
        error if error > 0.0 => format!("accuracy {error}"),
        theta => format!("theta {}", -theta),
    }
}

impl Ranks {
    /// Fails unless the forces of a system can be summed by the tree that is asked for, if one is.
    pub fn require_tree_of_ranks(&self, system: &System) -> Result<()> {
        if self.tree.is_some() && system.has_softenings() {
            return Err(system.no_softenings("trees over ranks"));
        }
        if !matches!(self.tree, Some(TreeAccuracy::Stackless { .. })) {
            return Ok(());
        }
        Err(Error::Unsupported {
            backend: system.setup().backend.name(),
            forces: "walks without a stack over ranks".into(),
            allowed: "another tree over ranks, or such walks in one process".into(),
        })
    }

    /// Fails unless all ranks have told the same accuracy of a tree.
    pub fn require_same_tree(&self) -> Result<()> {
        self.agreement.require_same(4, "the tree", shown)
    }

    /// Returns what the block that all ranks begin asks of a tree, if they sum it by one together.
    pub fn tree_of_block(&mut self, system: &System) -> Result<Option<TreeBlock>> {
        let Some(accuracy) = self.tree else { return Ok(None) };
        let sinks = self.own.all();
        let at = |number: usize| sinks.with::<1, false>(number).softening2;
        let first = if sinks.is_empty() { 0.0 } else { at(0) };
        let is_one = self.buffers.threads.all((0..sinks.len()).step_by(PIECE), |piece| {
            (piece..sinks.len().min(piece + PIECE)).all(|number| at(number) == first)
        });
        let other = if is_one { None } else { (0..sinks.len()).find(|number| at(*number) != first) };
        let other = other.unwrap_or(0);
        let softening2 = if sinks.is_empty() { first } else { at(other) };
        let told = [system.tree_crossover_of_ranks(), first.to_bits(), softening2.to_bits(), other as u64, 0];
        self.agree(Call::Tree, Ok(told))?;
        let crossover = self.agreement.told().map(|told| told[0]).max().unwrap_or(0);
        if self.pairs < crossover {
            return Ok(None);
        }
        self.softening_of_all().map(|softening2| Some(TreeBlock { accuracy, softening2, are_sources: None }))
    }

    /// Fails if some force of a tree is not finite.
    pub fn check_forces_of_tree(&self, interaction: &Interaction) -> Result<()> {
        let (count, sums) = (self.own.len(), &self.buffers.sums);
        let are_good = self.buffers.threads.all((0..count).step_by(PIECE), |first| {
            check_finite(sums, first..count.min(first + PIECE), interaction).is_ok()
        });
        if are_good { Ok(()) } else { check_finite(sums, 0..count, interaction) }
    }

    /// Returns the squared softening of the sinks of all ranks, which has to be one.
    fn softening_of_all(&self) -> Result<f64> {
        let counts = self.buffers.counts.iter();
        let mut with_sinks = self.agreement.told().enumerate().zip(counts).filter(|(_, count)| **count > 0);
        let Some(((first_rank, told), _)) = with_sinks.clone().next() else { return Ok(0.0) };
        let (bits, softening2) = (told[1], f64::from_bits(told[1]));
        let other = with_sinks.find(|((_, told), _)| told[1] != bits || told[2] != bits);
        other.map_or(Ok(softening2), |((rank, told), _)| {
            let (sink, value) = if told[1] != bits { (0, told[1]) } else { (told[3], told[2]) };
            let value = f64::from_bits(value);
            let text = format!(
                "the squared softening of sink {sink} with a tree is '{value:e}'; allowed: that of sink 0 of rank \
                 {first_rank}, {softening2:e}"
            );
            Err(Error::OfRank { rank, code: ResultCode::BadOption, text })
        })
    }

    /// Sums the forces of a block by a tree. All ranks call this.
    pub fn sum_by_tree(&mut self, system: &mut System, asked: &Asked, of_tree: TreeBlock) -> Result<()> {
        self.pool.begin();
        let on = system.domain_on();
        let made = match self.domain.take() {
            Some((domain, before)) if before == on => Ok(domain),
            _ => system.domain(),
        };
        let pool = self.pool.clone();
        let own = made.and_then(|domain| {
            let (sources, threads) = (system.bodies_below(asked.nj, &pool)?, &self.buffers.threads);
            let sinks = match sources.are_sinks(self.own.all(), asked.skip_own_index, threads) {
                true => None,
                false => Some(Bodies::sinks(self.own.all(), false, (threads, &pool))?),
            };
            Ok(Own { domain, sources, sinks })
        });
        let (domains, own) = Domains::of_ranks(self, own)?;
        self.domain = Some((self.sum_in_domains(&domains, own, of_tree, asked.skip_own_index)?, on));
        let pairs = (self.buffers.total() as u64).saturating_mul(asked.nj as u64);
        system.count_block_of_domain(self.buffers.total(), pairs);
        Ok(())
    }

    /// Sends bodies to their domains and forces back, and returns the work of this rank for the next
    /// block.
    fn sum_in_domains(
        &mut self,
        domains: &Domains,
        mut own: Own,
        of_tree: TreeBlock,
        skip_own_index: bool,
    ) -> Result<Box<dyn DomainForces>> {
        let (of, pool) = ((self.communicator.rank(), self.communicator.size()), self.pool.clone());
        let threads = self.buffers.threads.clone();
        let owners = domains.owners(&mut own, (&threads, &pool));
        let sent = owners.as_ref().map_err(Clone::clone).and_then(|owners| owners.packed(&own, of, (&threads, &pool)));
        let came = self.swap(sent)?;
        let owners = owners?;
        let in_domain = owners.domain(&own, (of.0, &came), (&threads, &pool));
        let Own { mut domain, sources, sinks } = own;
        drop((came, sources, sinks));
        let begun = in_domain.and_then(|InDomain { sources, sinks, sinks_of }| {
            let is_distinct = domains.has_distinct_indices;
            Ok((domain.begin((sources, sinks), &domains.cube, of_tree, (skip_own_index, is_distinct))?, sinks_of))
        });
        let finds_own = of.1 == 1 || domains.sinks_are_sources && domains.has_distinct_indices;
        let leaves_out = skip_own_index && !finds_own;
        let (forces, sinks_of) = self.sum_in_domain(&mut *domain, begun, leaves_out)?;
        domain.end();
        let begin: usize = sinks_of[..of.0].iter().sum();
        let own_forces = begin..begin + sinks_of[of.0];
        let sent = packed_forces(&forces, (of.0, &sinks_of), own_forces.clone(), (&threads, &pool));
        let came = self.swap(sent)?;
        let sums = &mut self.buffers.sums;
        let placed = sums.reserve(self.own.len(), 4, false).and_then(|()| {
            sums.resize(self.own.len(), 4, false);
            put_forces(owners.of_sinks(), (of.0, &forces[own_forces], &came), &mut sums.values, &threads)
        });
        self.agree(Call::Room, placed.map(|()| [0; 5]))?;
        Ok(domain)
    }

    /// Returns the forces on the sinks of this rank's domain, and how many are of each rank.
    fn sum_in_domain(
        &mut self,
        domain: &mut dyn DomainForces,
        begun: Result<(Spread, Vec<usize>)>,
        leaves_out: bool,
    ) -> Result<(Pooled<[f64; 4]>, Vec<usize>)> {
        let rank = self.communicator.rank();
        let told = begun.as_ref().map(|(spread, _)| bytemuck::cast::<Spread, Told>(*spread));
        self.agree(Call::Tree, told.map_err(Clone::clone))?;
        let (_, sinks_of) = begun?;
        let most = MOST_REGIONS.min(ALL_REGIONS / self.communicator.size()).max(1);
        let spreads = self.agreement.told().map(|told| bytemuck::cast_slice::<u64, Spread>(told)[0]);
        let spreads = memory::collected(spreads, WHAT);
        let regions = spreads.and_then(|mut all| domain.expand(&Spread::joined(&mut all), most));
        let regions = self.gather(regions.and_then(|regions| words_of(&regions)))?;
        let cells = regions_of(&regions).and_then(|regions| domain.cells_for_first(rank, &regions));
        let cells = self.swap(cells)?;
        let regions = domain.first(&cells, most);
        drop(cells);
        let regions = self.gather(regions.and_then(|regions| words_of(&regions)))?;
        let cells = regions_of(&regions).and_then(|regions| domain.cells_for_second(rank, &regions));
        drop(regions);
        let cells = self.swap(cells)?;
        let alone = if leaves_out { self.sources_left_out(domain)? } else { RankWords::default() };
        let forces = domain.second(&cells, bytemuck::cast_slice(&alone.words));
        self.agree(Call::Tree, forces.as_ref().map(|_| [0; 5]).map_err(Clone::clone))?;
        Ok((forces?, sinks_of))
    }

    /// Gives each rank the words that every other has for it.
    pub fn swap(&mut self, own: Result<RankWords>) -> Result<RankWords> {
        let size = self.communicator.size();
        let room = own.and_then(|sent| {
            let counts = memory::collected(sent.counts.iter().map(|count| *count as u64), WHAT)?;
            let received: Vec<u64> = memory::filled(size, 0, WHAT)?;
            let ones = memory::filled(size, 1, WHAT)?;
            self.buffers.messages.make_room(&*self.communicator, WORD, 1)?;
            Ok((sent, counts, received, ones))
        });
        let most = room.as_ref().map(|(sent, ..)| sent.counts.iter().copied().max().unwrap_or(0) as u64);
        self.agree(Call::Tree, most.map(|most| [most, 0, 0, 0, 0]).map_err(Clone::clone))?;
        let (sent, counts, mut of_ranks, ones) = room?;
        let most = self.agreement.told().map(|told| told[0] as usize).max().unwrap_or(0);
        let from = (bytemuck::cast_slice(&counts), &ones[..]);
        let to = (bytemuck::cast_slice_mut(&mut of_ranks), &ones[..]);
        let exchanged = self.buffers.messages.all_to_all(&mut *self.communicator, from, to, WORD, 1);
        self.note(exchanged)?;
        let room = self.room_for_words(&of_ranks, most);
        self.agree(Call::Room, room.as_ref().map(|_| [0; 5]).map_err(Clone::clone))?;
        let mut received = room?;
        let RankWords { words, counts } = &mut received;
        let from = (bytemuck::cast_slice(&sent.words), &sent.counts[..]);
        let to = (bytemuck::cast_slice_mut(words), &counts[..]);
        let exchanged = self.buffers.messages.all_to_all(&mut *self.communicator, from, to, WORD, most);
        self.note(exchanged)?;
        Ok(received)
    }

    /// Gives all ranks the words of each.
    pub fn gather(&mut self, own: Result<Vec<u64>>) -> Result<RankWords> {
        let told = own.as_ref().map(|words| [words.len() as u64, 0, 0, 0, 0]);
        self.agree(Call::Tree, told.map_err(Clone::clone))?;
        let own = own?;
        let counts = memory::collected(self.agreement.told().map(|told| told[0]), WHAT);
        let room = counts.and_then(|counts| {
            let most = counts.iter().copied().max().unwrap_or(0) as usize;
            self.room_for_words(&counts, most)
        });
        self.agree(Call::Room, room.as_ref().map(|_| [0; 5]).map_err(Clone::clone))?;
        let mut gathered = room?;
        let rows = (bytemuck::cast_slice(&own), bytemuck::cast_slice_mut(&mut gathered.words));
        let exchanged = self.buffers.messages.all_gather(&mut *self.communicator, rows, &gathered.counts, WORD);
        self.note(exchanged)?;
        Ok(gathered)
    }

    fn room_for_words(&mut self, of_ranks: &[u64], most: usize) -> Result<RankWords> {
        let counts = memory::collected(of_ranks.iter().map(|count| *count as usize), WHAT)?;
        self.buffers.messages.make_room(&*self.communicator, WORD, most)?;
        Ok(RankWords { words: self.pool.unwritten(counts.iter().sum(), 0, WHAT)?, counts })
    }
}

/// Returns items as words.
fn words_of<T: bytemuck::NoUninit>(items: &[T]) -> Result<Vec<u64>> {
    memory::collected(bytemuck::cast_slice::<T, u64>(items).iter().copied(), WHAT)
}

/// Returns the regions of each rank.
fn regions_of(words: &RankWords) -> Result<Vec<&[Region]>> {
    memory::collected(words.each().map(bytemuck::cast_slice), WHAT)
}
