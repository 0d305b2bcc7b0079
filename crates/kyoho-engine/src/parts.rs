//! Blocks of which devices sum the first part while further ones are copied from the caller's
//! arrays: those with interaction lists, and those of many sinks.

use std::ops::Range;

use kyoho_core::sinks::{NumberedSinks, SinkScan};
use kyoho_core::{Block, Error, Interaction, InteractionLists, ListedSources, MAX_DERIVATIVES, Result, Sinks};
use kyoho_hal::Backend;

use super::checks::{check_listed_sink, check_listed_source, check_sinks};
use super::device_arrays::{ListChecks, Listed};
use super::devices::{CopyPart, NotStarted};
use super::lists::{self, Checked, Division, GivenBodies, GivenLists};
use super::{Stage, System, sinks};

/// Blocks of fewer sinks are copied as a whole, in less time than parts of them are begun.
const IN_PARTS: usize = 1 << 13;

/// Fails where a body of lists is not as it should be.
fn check_listed(interaction: &Interaction, lists: &InteractionLists, body: Checked) -> Result<()> {
    let is_batch = lists.is_batch;
    match (body, &lists.sources) {
        (Checked::Sink(number), _) => check_listed_sink(interaction, (is_batch, number), &lists.sinks.sink(number)),
        (Checked::Source(number), ListedSources::Own(own)) => {
            check_listed_source(interaction, (is_batch, number), &own.source(number))
        }
        (Checked::Source(_), _) => Ok(()),
    }
}

impl System {
    /// Fails unless it can sum the forces of interaction lists.
    fn require_lists(&self) -> Result<()> {
        let interaction = &self.interaction;
        if interaction.is_regular() || interaction.has_low_limbs() {
            return Err(Error::Unsupported {
                backend: self.setup().backend.name(),
                forces: format!("interaction lists of {}", interaction.name()),
                allowed: "full forces in single, mixed, double".into(),
            });
        }
        self.refuse_softenings("interaction lists and batches")
    }

    /// Checks and copies the lists of a call in memory of the host, whose addresses are below `end` and
    /// need not be those of this system.
    pub fn copy_lists(
        &self,
        lists: &mut InteractionLists,
        sinks: &GivenBodies,
        given: &GivenLists,
        end: usize,
    ) -> Result<()> {
        self.require_lists()?;
        let (interaction, threads) = (&*self.interaction, &self.threads);
        lists::make_groups(lists, given, (sinks.count, false), end, threads)?;
        lists::prepare(lists, given, (sinks, false), interaction)?;
        let all = 0..lists.groups.len();
        let check = |lists: &InteractionLists, body: Checked| check_listed(interaction, lists, body);
        lists::copy(lists, given, (sinks, end), (&all, false), interaction, threads, check)
    }

    /// Checks and copies the lists of a call and begins its forces.
    pub(super) fn start_given(
        &mut self,
        skip_own_index: bool,
        (sinks, is_batch): (&GivenBodies, bool),
        given: &GivenLists,
    ) -> Result<()> {
        self.require_no_block("start")?;
        let interaction = self.interaction.clone();
        self.require_lists()?;
        let end = self.end;
        // A device checks what lies there while the host's groups are made. Whatever is wrong, it is
        // waited for.
        let mut checks = ListChecks::default();
        let begun = self.begin_checks_of_lists((sinks, is_batch), given, &mut checks);
        let made = match given.division {
            Division::Host { .. } => {
                let sinks = (sinks.count, is_batch);
                lists::make_groups(&mut self.candidate_lists, given, sinks, end, &self.threads)
            }
            Division::Device(_) => Ok(()),
        };
        let found = self.finish_checks(&checks);
        made.and(begun)?;
        let mut found = found?;
        if let Division::Device(groups) = &given.division {
            if matches!(found, Some((Listed::Groups, ..))) {
                return self.wrong_groups(groups, given, is_batch);
            }
            self.take_groups(groups.count)?;
        }
        lists::prepare(&mut self.candidate_lists, given, (sinks, is_batch), &interaction)?;
        found = found.or(self.check_all_addresses(&mut checks)?);
        self.check_lists_on_device(is_batch, found)?;
        self.receive_forces(sinks, given, &mut checks)?;
        let pairs = self.candidate_lists.pairs();
        let on_host = self.choose(pairs, self.candidate_lists.is_on_device(), true)?;
        let check = |lists: &InteractionLists, body: Checked| check_listed(&interaction, lists, body);
        let threads = self.threads.clone();
        let for_device = !on_host && self.setup().backend != Backend::Cpu;
        let copy = |lists: &mut InteractionLists, groups: &Range<usize>| {
            lists::copy(lists, given, (sinks, end), (groups, for_device), &interaction, &threads, check)
        };
        // The lists come to devices while further ones are copied, unless the neighbour lists of
        // the last block may still be wanted if these turn out to be wrong.
        let keeps_last = self.stage == Stage::Done && self.lists_wanted;
        let groups = 0..self.candidate_lists.groups.len();
        let mut outcome = if keeps_last { copy(&mut self.candidate_lists, &groups) } else { Ok(()) };
        if outcome.is_ok() {
            let mut copy_part = |block: &mut Block, groups: &Range<usize>| match &mut block.lists {
                Some(lists) => copy(lists, groups),
                None => Ok(()),
            };
            let copy_part: Option<CopyPart> = if keeps_last { None } else { Some(&mut copy_part) };
            // The forces of a group do not depend on the sinks of others.
            let mut block = self.next_block(end, skip_own_index, on_host)?;
            block.lists = Some(std::mem::take(&mut self.candidate_lists));
            outcome = self.begin_in_parts(&mut block, copy_part);
            // The memory of sinks and lists is kept for the next ones.
            self.candidate_lists = block.lists.unwrap_or_default();
            if outcome.is_ok() {
                std::mem::swap(&mut self.block.sinks, &mut block.sinks);
            }
        }
        outcome
    }

    /// Begins the forces on many sinks of the host, whose first ones come to the devices while
    /// further ones are copied; does nothing and returns false where that gains nothing, or where the
    /// neighbour lists of the last block may still be wanted if these turn out to be wrong.
    pub(super) fn start_in_parts(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        count: usize,
        given: &impl NumberedSinks,
    ) -> Result<bool> {
        let interaction = self.interaction.clone();
        let keeps_last = self.stage == Stage::Done && self.lists_wanted;
        let is_of_device = self.setup().backend != Backend::Cpu && !self.devices.sum_by_texts();
        if count < IN_PARTS || !is_of_device || keeps_last || self.units_of_sinks {
            return Ok(false);
        }
        let pairs = (count as u64).saturating_mul(nj as u64);
        let on_host = self.choose(pairs, false, false)?;
        if on_host || self.tree_of_pairs(pairs).is_some() {
            return Ok(false);
        }
        self.candidates.make_room(count, &interaction)?;
        let mut block = self.next_block(nj, skip_own_index, false)?;
        block.sinks = std::mem::take(&mut self.candidates);
        block.in_parts = true;
        let threads = self.threads.clone();
        let mut scan = SinkScan::NOTHING;
        let mut copy = |block: &mut Block, part: &Range<usize>| {
            let of_part = sinks::make_some(&mut block.sinks, part.clone(), given, &interaction, &threads)?;
            scan = scan.and(of_part);
            if !of_part.good {
                // The first wrong sink may be one of another part, which is not copied yet.
                sinks::make_some(&mut block.sinks, 0..count, given, &interaction, &threads)?;
                check_sinks(&interaction, &block.sinks)?;
            }
            Ok(())
        };
        if self.block.lists.is_some() {
            // Those of the last block take their place. Once the block is under way, a driver would
            // wait for it before it gives page-locked memory back.
            self.candidate_lists = InteractionLists::default();
        }
        let outcome = self.begin_in_parts(&mut block, Some(&mut copy));
        // The memory of sinks and lists is kept for the next ones.
        self.candidates = block.sinks;
        if let Some(lists) = block.lists {
            self.candidate_lists = lists;
        }
        outcome?;
        self.lists_wanted = scan.radius && interaction.has_lists();
        let units = self.journal.sources().units(&scan.largest, &interaction);
        if units != self.block.units {
            // Some sinks are so far out that the units follow from them: all begins anew.
            self.units_of_sinks = true;
            self.devices.drain();
            (self.block.in_parts, self.block.units, self.stage) = (false, units, Stage::Idle);
            self.journal.prepare(self.devices.take_records(), false)?;
            self.begin(None).map_err(NotStarted::into_error)?;
            self.stage = Stage::Started;
        }
        Ok(true)
    }

    /// Returns the next block without sinks and lists, in the units of the sources, after all that
    /// was written is among these.
    fn next_block(&mut self, nj: usize, skip_own_index: bool, on_host: bool) -> Result<Block> {
        self.devices.make_room(&mut self.journal)?;
        self.journal.prepare(self.devices.take_records(), on_host)?;
        Ok(Block {
            skip_own_index,
            time: self.time,
            low_time: self.low_time,
            predicts: self.predicts,
            nj,
            neighbour_criterion: self.neighbour_criterion,
            units: self.journal.sources().units(&[0.0; MAX_DERIVATIVES], &self.interaction),
            lists: None,
            sinks: Sinks::default(),
            low_sinks: Sinks::default(),
            in_parts: false,
            sinks_on_device: false,
            tree: None,
        })
    }

    /// Begins a block, of which `copy` copies parts, if they are not copied yet, and leaves the last
    /// one in its place. After an error it leaves the block there, and if that was refused, the last
    /// one is as it was.
    fn begin_in_parts(&mut self, block: &mut Block, copy: Option<CopyPart>) -> Result<()> {
        std::mem::swap(&mut self.block, block);
        let stage = std::mem::replace(&mut self.stage, Stage::Idle);
        match self.begin(copy) {
            Ok(()) => {
                self.lists.reset();
                self.lists_wanted = false;
                self.stage = Stage::Started;
                Ok(())
            }
            Err(not_started) => {
                std::mem::swap(&mut self.block, block);
                if matches!(not_started, NotStarted::Refused(_)) {
                    self.stage = stage;
                }
                Err(not_started.into_error())
            }
        }
    }
}
