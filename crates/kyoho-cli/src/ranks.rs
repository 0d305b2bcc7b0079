//! Commands that the ranks of a communicator do together: the first one alone reads files, writes and
//! prints.

use std::cell::Cell;
use std::path::Path;

use kyoho_core::{Error, ResultCode};
use kyoho_integrators::body::{Body, mark, mark_of_text};
use kyoho_ranks::{Communicator, Complaint, Team};

use crate::failure::{Failure, Result};
use crate::file;

/// The ranks that do a command together, or this process alone.
#[derive(Clone, Copy, Default)]
pub struct Ranks<'a> {
    team: Option<&'a Team>,
}

impl<'a> Ranks<'a> {
    /// Returns the ranks, if there are others.
    pub fn team(self) -> Option<&'a Team> {
        self.team
    }

    /// Whether this one reads, writes and prints.
    pub fn is_first(self) -> bool {
        self.team.is_none_or(|team| team.rank() == 0)
    }

    /// Reads a file as [`file::read`] does, for all ranks.
    pub fn read(self, path: &Path) -> Result<Vec<u8>> {
        let own = if self.is_first() { file::read(path)? } else { Vec::new() };
        self.team.map_or(Ok(own.clone()), |team| Ok(team.of_first(own)?))
    }

    /// Whether there is a file where the first rank looks.
    pub fn has_file(self, path: &Path) -> Result<bool> {
        let is_there = self.is_first() && path.exists();
        self.team.map_or(Ok(is_there), |team| Ok(team.is_on_any(is_there)?))
    }

    /// Fails on all ranks unless all begin with the same: what a text describes, and bodies.
    pub fn require_same(self, described: &str, bodies: &[Body]) -> Result<()> {
        let Some(team) = self.team else { return Ok(()) };
        let marks = [("the mark of the run", mark_of_text(described)), ("the mark of the bodies", mark(bodies))];
        Ok(team.require_same(&marks)?)
    }
}

/// Does work that all ranks do, and returns the exit status of this one, which is that of all. The first
/// rank tells of a failure.
pub fn together(communicator: Box<dyn Communicator>, work: impl FnOnce(Ranks) -> Result<()>) -> u8 {
    let team = match Team::new(communicator) {
        Ok(team) => team,
        Err(error) => return told(&error.into()),
    };
    let is_closed = Cell::new(false);
    let tell = |failure: &Failure| -> Complaint {
        is_closed.set(failure.is_closed_output());
        let code = if failure.exit_code() == 2 { ResultCode::BadOption } else { ResultCode::Internal };
        (code, failure.to_string())
    };
    match team.together_with(tell, || work(Ranks { team: Some(&team) })) {
        Ok(()) => 0,
        // A reader that closes the output early has seen enough.
        Err(_) if is_closed.get() => 0,
        Err(failure) if team.rank() == 0 => told(&failure),
        Err(failure) => status(&failure),
    }
}

fn status(failure: &Failure) -> u8 {
    match failure {
        Failure::Library(Error::OfRank { code: ResultCode::BadOption, .. }) => 2,
        _ => failure.exit_code(),
    }
}

/// Prints a failure, and returns the exit status. What happened on the first rank, which reads and
/// writes for all, happened to all.
fn told(failure: &Failure) -> u8 {
    match failure {
        Failure::Library(Error::OfRank { rank: 0, text, .. }) => eprintln!("kyoho: {text}"),
        other => eprintln!("kyoho: {other}"),
    }
    status(failure)
}
