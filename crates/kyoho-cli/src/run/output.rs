//! The folder of a run's snapshots.

use std::ffi::OsString;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{Builder, JoinHandle};

use crate::failure::{Failure, Result};
use crate::file;
use crate::run::snapshot::{Format, Snapshot};
use kyoho_integrators::body::Body;

/// The folder for snapshots, if there is one. The bodies move on while a snapshot of them is written.
pub struct Output {
    folder: Option<PathBuf>,
    format: Format,
    /// Snapshots of other runs, which are removed before the first one is written.
    old: Vec<PathBuf>,
    written: Vec<PathBuf>,
    under_way: Option<JoinHandle<Result<()>>>,
}

/// What the name of a snapshot begins with; its number follows.
const NAME: &str = "snapshot-";

/// Returns the number of a snapshot of this name.
fn number_of(path: &Path) -> Option<u64> {
    let extension = path.extension()?;
    Format::ALL.iter().find(|format| extension == format.extension())?;
    let number = path.file_stem()?.to_str()?.strip_prefix(NAME)?;
    (number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit())).then(|| number.parse().ok())?
}

/// Returns the name of the folder that snapshots of a file get among those of others: its name without the
/// ending or, of a snapshot, that of its folder.
pub fn name_among_others(path: &Path) -> OsString {
    let folder = || path.canonicalize().ok()?.parent()?.file_name().map(OsString::from);
    let of_folder = number_of(path).and_then(|_| folder());
    of_folder.unwrap_or_else(|| path.file_stem().unwrap_or_default().into())
}

/// Returns the snapshots in a folder that do not belong to the run, by their numbers: all of them
/// or, if the run goes on from one of the folder, those after it.
fn others(folder: &Path, resumed: Option<(&Path, u64)>) -> std::io::Result<Vec<PathBuf>> {
    let here = folder.canonicalize()?;
    let of_this_folder = |(path, _): &(&Path, u64)| {
        path.canonicalize().is_ok_and(|path| path.parent().is_some_and(|parent| parent == here))
    };
    let last = resumed.filter(of_this_folder).map(|(_, number)| number);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = folder.join(entry?.file_name());
        if let Some(number) = number_of(&path).filter(|number| last.is_none_or(|last| *number > last)) {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

impl Output {
    /// Makes the folder, if there is one, and tests whether files can be written there. Snapshots of
    /// other runs in it are an error unless they may be removed. `resumed` is the snapshot that the
    /// run goes on from, and its number.
    pub fn new(
        folder: Option<&Path>,
        format: Format,
        overwrite: bool,
        resumed: Option<(&Path, u64)>,
    ) -> Result<Output> {
        let mut old = Vec::new();
        if let Some(folder) = folder {
            let failed = |error| Failure::file(folder, error);
            file::try_folder(folder).map_err(failed)?;
            old = others(folder, resumed).map_err(failed)?;
        }
        if let (Some(folder), [first, rest @ ..], false) = (folder, &old[..], overwrite) {
            let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let to = rest.last().map_or(String::new(), |last| format!(" to {} ({} files)", name(last), old.len()));
            return Err(Failure::Argument {
                option: "--output",
                value: format!("{}, which has {}{to}", folder.display(), name(first)),
                allowed: "a folder without them, or --overwrite, which removes them".into(),
            });
        }
        Ok(Output { folder: folder.map(PathBuf::from), format, old, written: Vec::new(), under_way: None })
    }

    /// Begins to write a snapshot of the bodies of a meeting, when the last one is written. Where
    /// there is no memory for a copy of them, or no thread, it writes the snapshot itself.
    pub fn write(&mut self, meeting: &Snapshot<'static>, bodies: &[Body]) -> Result<()> {
        let format = self.format;
        let Some(path) = self.next(meeting.number)? else { return Ok(()) };
        let mut copied = Vec::new();
        if copied.try_reserve_exact(bodies.len()).is_ok() {
            copied.extend_from_slice(bodies);
            let snapshot = Snapshot { bodies: copied.into(), ..meeting.clone() };
            let to = path.clone();
            let begun = Builder::new().name("kyoho-snapshot".into()).spawn(move || snapshot.write(&to, format));
            self.under_way = begun.ok();
        }
        if self.under_way.is_none() {
            Snapshot { bodies: bodies.into(), ..meeting.clone() }.write(&path, format)?;
        }
        self.written.push(path);
        Ok(())
    }

    /// Writes the snapshot of a number by a function that gets its path, when the last one is written.
    pub fn write_by(&mut self, number: u64, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let Some(path) = self.next(number)? else { return Ok(()) };
        write(&path)?;
        self.written.push(path);
        Ok(())
    }

    /// Waits until the last snapshot is written, and returns the path of that of a number.
    fn next(&mut self, number: u64) -> Result<Option<PathBuf>> {
        self.finish()?;
        for path in std::mem::take(&mut self.old) {
            std::fs::remove_file(&path).map_err(|error| Failure::file(&path, error))?;
        }
        let name = format!("{NAME}{number:06}.{}", self.format.extension());
        Ok(self.folder.as_ref().map(|folder| folder.join(name)))
    }

    /// Waits until the last snapshot is written.
    fn finish(&mut self) -> Result<()> {
        match self.under_way.take() {
            Some(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            None => Ok(()),
        }
    }

    /// Ends the output and returns the snapshots that were written.
    pub fn end(mut self) -> Result<Vec<PathBuf>> {
        self.finish()?;
        Ok(std::mem::take(&mut self.written))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // A run that failed leaves the snapshots that it had begun. Their errors would come second.
        if let Some(thread) = self.under_way.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_snapshots_have_six_digits_and_more() {
        let numbers = ["snapshot-000012.txt", "a/snapshot-000000.h5", "snapshot-1234567.txt"].map(Path::new);
        assert_eq!(numbers.map(number_of), [Some(12), Some(0), Some(1234567)]);
        for other in ["snapshot-12.txt", "snapshot-000012.png", "snapshot-00001x.txt", "shot-000012.txt", "snapshot-"] {
            assert_eq!(number_of(Path::new(other)), None, "{other}");
        }
    }
}
