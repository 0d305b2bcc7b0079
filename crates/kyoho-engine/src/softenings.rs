//! Sources that have softenings: the squared softening of a pair is the mean of those of its source
//! and its sink. Other sources have none, and a pair has that of its sink.
//!
//! All sources of a system have softenings or none has. Pairs with softenings of both are summed by
//! texts of the language of pairs, for which the devices are opened anew.

use kyoho_core::{Error, Result, Source, Supplement, TreeAccuracy};

use crate::System;
use crate::checks::check_softening2;
use crate::journal::UpdateJournal;
use crate::staging::Staged;

impl System {
    /// Whether sources have softenings.
    #[inline]
    pub fn has_softenings(&self) -> bool {
        self.journal.sources().has_softenings()
    }

    /// Prepares for sources that have softenings, or that have none, of which the next ones are to
    /// replace those at the addresses below `replaced`. Where the sources were of the other kind all
    /// have to be replaced: they are forgotten.
    pub fn prepare_softenings(&mut self, given: bool, replaced: usize) -> Result<()> {
        if given == self.has_softenings() {
            return Ok(());
        }
        if replaced < self.end {
            let (value, allowed) = match given {
                true => ("given, and other sources have none", "none, or one for all sources, which then replace all"),
                false => ("not given, and other sources have one", "one for each source"),
            };
            let name = "the squared softening of sources".into();
            return Err(Error::BadOption { name, value: value.into(), allowed: allowed.into() });
        }
        if given {
            self.require_softenable()?;
        }
        self.require_no_block("the first write of sources that have softenings, or of others after these,")?;
        if self.last_block_is_needed() {
            self.make_lists(None)?;
        }
        self.fetch_sources()?;
        self.forget_moving();
        self.journal.flush_to_host()?;
        self.journal.write_back_sent()?;
        self.journal.all_is_written();
        let mut journal = UpdateJournal::new(&self.interaction, given, self.threads.clone())?;
        (self.staged_sources, self.spare_sources, self.staged_sinks) = Default::default();
        self.moving = Staged::default();
        self.devices.soften(given, &mut self.journal, &mut journal)?;
        self.journal = journal;
        (self.end, self.kept) = (0, 0);
        Ok(())
    }

    /// Writes a source that has this squared softening as [`System::set_source`] does. The system has
    /// to be prepared for softenings.
    pub fn set_softened_source(&mut self, address: usize, source: &Source, softening2: f64) -> Result<()> {
        self.write_checked(address, source, &Supplement { softening2: [softening2, 0.0], ..Supplement::default() })
    }

    /// Fails unless [`System::set_softened_source`] would take this squared softening at an address.
    pub fn check_softening_of_source(&self, address: usize, softening2: f64) -> Result<()> {
        let name = || format!("the squared softening of the source at address {address}");
        check_softening2(&self.interaction, name, softening2)
    }

    /// Fails if a squared softening is given for all sources, and each has its own.
    pub(super) fn check_softening_of_all(&self, softening2: f64) -> Result<()> {
        if softening2 == 0.0 || !self.has_softenings() {
            return Ok(());
        }
        Err(Error::BadOption {
            name: "the squared softening of sources that have softenings".into(),
            value: format!("{softening2:e}"),
            allowed: "0, as each has its own".into(),
        })
    }

    /// Fails if sources have softenings. `work` says what is not done with such.
    pub(super) fn refuse_softenings(&self, work: &str) -> Result<()> {
        if self.has_softenings() { Err(self.no_softenings(work)) } else { Ok(()) }
    }

    /// Fails unless sources may have softenings.
    fn require_softenable(&self) -> Result<()> {
        if self.interaction.is_regular() {
            return Err(self.no_softenings(&self.interaction.name()));
        }
        self.require_softened_tree(self.tree)
    }

    /// Fails unless forces by a tree with this accuracy may be those of sources with softenings.
    pub(super) fn require_softened_tree(&self, tree: Option<TreeAccuracy>) -> Result<()> {
        let is_plain = matches!(tree, Some(TreeAccuracy::Stackless { .. }));
        if is_plain { Err(self.no_softenings("walks without a stack")) } else { Ok(()) }
    }

    /// The error where some work is not done on sources that have softenings.
    pub fn no_softenings(&self, work: &str) -> Error {
        Error::Unsupported {
            backend: self.setup().backend.name(),
            forces: format!("{work} with softenings of sources"),
            allowed: "full forces by direct sums on arrays of the host, in one process also by trees; else \
                      softenings of sinks alone"
                .into(),
        }
    }
}

#[cfg(test)]
mod tests;
