//! How a block begins, and begins again where a device failed.

use kyoho_core::sinks::{FromFn, NumberedSinks, SinkScan};
use kyoho_core::{BodyColumns, Error, InteractionLists, Result, Sink};

use crate::checks::check_sinks;
use crate::devices::{CopyPart, NotStarted};
use crate::lists::{Division, GivenBodies, GivenLists, GivenSources};
use crate::staging::SourcesAt;
use crate::{SinkPlace, Stage, System, sinks};

impl System {
    /// Begins the forces on some sinks of the sources at addresses below `nj`, predicted to the
    /// time that was set last, or as they were written after [`System::set_unpredicted`].
    ///
    /// With `skip_own_index`, a sink does not feel sources that have its index. The sinks are
    /// copied. An error in one of them names the first, and leaves the last block as it was.
    pub fn start(&mut self, nj: usize, skip_own_index: bool, sinks: impl IntoIterator<Item = Sink>) -> Result<()> {
        self.require_no_block("start")?;
        let scan = self.candidates.collect(sinks.into_iter(), &self.interaction)?;
        self.start_candidates(nj, skip_own_index, scan, SinkPlace::Host)
    }

    /// Begins the forces on `count` sinks as [`System::start`] does, each made from its number.
    /// Where they are many, several threads make them in any order, up to twelve of
    /// [`Setup::threads`](crate::Setup::threads).
    pub fn start_from_fn(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        count: usize,
        sink: impl Fn(usize) -> Sink + Sync,
    ) -> Result<()> {
        self.start_from_dyn(nj, skip_own_index, count, &sink)
    }

    /// See [`System::start_from_fn`], whose callers have a closure each.
    fn start_from_dyn(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        count: usize,
        sink: &(dyn Fn(usize) -> Sink + Sync),
    ) -> Result<()> {
        self.start_numbered(nj, skip_own_index, count, &FromFn(sink))
    }

    /// Begins the forces on `count` sinks as [`System::start_from_fn`] does.
    pub fn start_numbered(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        count: usize,
        given: &impl NumberedSinks,
    ) -> Result<()> {
        self.require_no_block("start")?;
        if self.start_staged(nj, skip_own_index, count, given)? {
            return Ok(());
        }
        if self.start_in_parts(nj, skip_own_index, count, given)? {
            return Ok(());
        }
        let scan = sinks::make(&mut self.candidates, count, given, &self.interaction, &self.threads)?;
        self.start_candidates(nj, skip_own_index, scan, SinkPlace::Host)
    }

    /// Begins the forces on sinks in groups: on a group act the sources of its interaction list
    /// alone. Otherwise as [`System::start`]: the time, the prediction and the exclusion of sources
    /// by index are those of blocks, and [`System::wait_each`] waits for the forces. There are no
    /// neighbour lists of them.
    ///
    /// Lists and sinks are copied. A wrong offset, an address beyond the highest that was written,
    /// or a number of a body that is not finite or too large is an error that leaves the last block
    /// as it was.
    pub fn start_lists(&mut self, skip_own_index: bool, sinks: &GivenBodies, given: &GivenLists) -> Result<()> {
        self.start_given(skip_own_index, (sinks, false), given)
    }

    /// Begins the forces on the bodies of many systems, which are not kept among the sources: on
    /// each act the other bodies of its system, those with another index. `division` says which
    /// bodies are those of a system, as sinks and as sources. Otherwise as [`System::start_lists`].
    pub fn start_batch(&mut self, systems: usize, division: Division, bodies: &GivenBodies) -> Result<()> {
        // Of the sinks only the softening is theirs.
        let (mut sinks, mut own) = (*bodies, *bodies);
        sinks.columns = BodyColumns { softening2: bodies.columns.softening2, ..BodyColumns::NONE };
        own.columns.softening2 = None;
        if let Some(sinks) = &mut sinks.on_device {
            sinks.columns = BodyColumns { softening2: sinks.columns.softening2, ..BodyColumns::NONE };
        }
        if let Some(own) = &mut own.on_device {
            own.columns.softening2 = None;
        }
        let given = GivenLists { groups: systems, division, sources: GivenSources::Own(own) };
        self.start_given(true, (&sinks, true), &given)
    }

    /// Chooses whether the CPU computes the next block in place of the devices. It computes none of
    /// the caller's sources or sinks on a device.
    pub(super) fn choose(&mut self, pairs: u64, is_on_device: bool, in_groups: bool) -> Result<bool> {
        let sources_at = self.sources_at();
        let is_on_device = is_on_device || matches!(sources_at, SourcesAt::Device(_));
        let on_host = self.devices.choose(if is_on_device { u64::MAX } else { pairs }, in_groups)?;
        if sources_at != SourcesAt::Host && (on_host || !self.first_has_all()) {
            self.fetch_sources()?;
        }
        Ok(on_host)
    }

    pub(super) fn require_no_block(&self, call: &'static str) -> Result<()> {
        match self.stage {
            Stage::Started => Err(Error::CallOrder { call, when: "while a block is under way; wait for it first" }),
            _ => Ok(()),
        }
    }

    /// Begins the block of the candidates.
    pub(super) fn start_candidates(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        scan: SinkScan,
        place: SinkPlace,
    ) -> Result<()> {
        if !scan.good {
            check_sinks(&self.interaction, &self.candidates)?;
        }
        let pairs = (self.candidates.len() as u64).saturating_mul(nj as u64);
        let on_device = place != SinkPlace::Host;
        let tree = match place {
            SinkPlace::Host => self.tree_of_candidates(pairs, &scan)?,
            SinkPlace::Device(tree) => tree,
        };
        let on_host = self.choose(pairs, on_device, false)?;
        self.stage = Stage::Idle;
        self.lists.reset();
        self.block.tree = tree;
        if let Some(tree) = &mut self.block.tree {
            let of_device = self.journal.sources().on_device();
            if of_device > 0 && !on_device {
                tree.are_sources = Some(false);
                if self.candidates.len() == nj.min(of_device) {
                    // They may be the sources. The host compares them.
                    tree.are_sources = None;
                    self.fetch_sources()?;
                }
            }
            self.journal.flush_to_host()?;
        }
        self.devices.make_room(&mut self.journal)?;
        self.journal.prepare(self.devices.take_records(), on_host)?;
        std::mem::swap(&mut self.block.sinks, &mut self.candidates);
        self.block.low_sinks = std::mem::take(&mut self.low_candidates);
        if let Some(lists) = self.block.lists.take() {
            self.keep_lists_memory(lists);
        }
        self.lists_wanted = scan.radius && self.interaction.has_lists();
        (self.block.in_parts, self.block.sinks_on_device) = (false, on_device);
        self.block.skip_own_index = skip_own_index;
        (self.block.time, self.block.low_time) = (self.time, self.low_time);
        self.block.predicts = self.predicts;
        self.block.nj = nj;
        self.block.neighbour_criterion = self.neighbour_criterion;
        self.block.units = self.journal.sources().units(&scan.largest, &self.interaction);
        self.begin(None).map_err(NotStarted::into_error)?;
        self.stage = Stage::Started;
        Ok(())
    }

    /// Keeps the memory of lists that are not used any more for the next ones, unless there is other.
    pub(super) fn keep_lists_memory(&mut self, lists: InteractionLists) {
        if !self.candidate_lists.has_memory() {
            self.candidate_lists = lists;
        }
    }

    /// Starts the block on the devices. `copy` copies parts of it, if they are not copied yet.
    pub(super) fn begin(&mut self, copy: Option<CopyPart>) -> std::result::Result<(), NotStarted> {
        if self.devices.on_host() {
            let begun = self.devices.start(&mut self.journal, false, &mut self.block, copy);
            self.journal.resume_recording();
            return begun;
        }
        match self.devices.start(&mut self.journal, true, &mut self.block, copy) {
            Ok(()) => (),
            Err(refused @ NotStarted::Refused(_)) => {
                // A device may have failed too, before it was waited for to its end.
                self.journal.flush_to_host()?;
                self.journal.write_back_sent()?;
                self.journal.all_is_written();
                return Err(refused);
            }
            Err(NotStarted::Failed(error)) => {
                // Some devices may have the latest writes and some not.
                self.journal.flush_to_host()?;
                self.start_elsewhere(error)?;
            }
        }
        self.journal.fetched();
        Ok(self.journal.rotate_buffers()?)
    }

    /// Starts the last block again after a failure, on the devices that are left or on others, from
    /// the host's copy, which is as it was when the block began. Gives the error back where no
    /// others are to be had.
    pub(super) fn start_elsewhere(&mut self, mut error: Error) -> Result<()> {
        self.journal.write_back_sent()?;
        self.moving.is_current = false;
        self.block.in_parts = false;
        if self.fetch_block().is_err() {
            return Err(error);
        }
        loop {
            if !self.devices.on_host() {
                self.journal.all_is_written();
            }
            self.devices.fall_back(error, &mut self.journal)?;
            match self.devices.start(&mut self.journal, false, &mut self.block, None) {
                Ok(()) => break,
                Err(next) => error = next.into_error(),
            }
        }
        self.journal.fetched();
        Ok(())
    }

    /// Starts the last block again as [`System::start_elsewhere`] does, and computes it to its end.
    pub(super) fn compute_elsewhere(&mut self, error: Error) -> Result<()> {
        self.start_elsewhere(error)?;
        loop {
            match self.devices.wait_more() {
                Ok(Some(_)) => (),
                Ok(None) => break,
                Err(error) => self.start_elsewhere(error)?,
            }
        }
        self.devices.take_all(&mut self.sums);
        Ok(())
    }
}
