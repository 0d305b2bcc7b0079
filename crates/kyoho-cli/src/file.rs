//! Files that are read, and files that are written completely or not at all.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Result, Write};
use std::path::Path;

use crate::failure::Failure;

/// The mark at the beginning of a text that some editors write.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether a path means the standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reads a file, or the standard input if the path is `-`.
pub fn read(path: &Path) -> crate::failure::Result<Vec<u8>> {
    let read = || {
        if !is_standard_input(path) {
            return std::fs::read(path);
        }
        let mut content = Vec::new();
        std::io::stdin().lock().read_to_end(&mut content).map(|_| content)
    };
    let mut content = read().map_err(|error| Failure::file(path, error))?;
    if content.starts_with(BYTE_ORDER_MARK) {
        content.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(content)
}

/// Returns the text of a file's bytes.
pub fn text(content: Vec<u8>, path: &Path) -> crate::failure::Result<String> {
    kyoho_files::text(content).map_err(|error| Failure::in_file(path, error))
}

/// Writes a file so that its name always stands for all of the old content or all of the new, even
/// if the machine stops: the new content is on the disk before it gets the name.
pub fn replace(path: &Path, content: &[u8]) -> Result<()> {
    replace_by(path, |file| file.write_all(content))
}

/// Writes a file like [`replace`], with content that a function writes.
pub fn replace_by(path: &Path, content: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let partial = path.with_extension("partial");
    let written = write(&partial, content).and_then(|()| std::fs::rename(&partial, path));
    if written.is_err() {
        // If this fails too, the first error says more.
        let _ = std::fs::remove_file(&partial);
        return written;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some file systems cannot synchronise folders.
        Err(error) if !matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Err(error),
        _ => Ok(()),
    }
}

fn write(path: &Path, content: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let mut file = File::create(path)?;
    content(&mut file)?;
    file.sync_all()
}

/// Tests whether a file of this name can be written. Existing content stays.
pub fn try_writing(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            OpenOptions::new().write(true).create_new(true).open(path)?;
            std::fs::remove_file(path)
        }
        Err(error) => Err(error),
        Ok(found) if found.is_file() || found.is_dir() => OpenOptions::new().append(true).open(path).map(|_| ()),
        // Opening a pipe may wait for ever, so it is not tried.
        Ok(_) => Ok(()),
    }
}

/// Tests whether files can be written in a folder, which is made if it does not exist.
pub fn try_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    try_writing(&folder.join("kyoho.partial"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_at_the_beginning_is_no_part_of_a_text_and_a_wrong_byte_has_its_line() {
        let path = folder("read").join("stars.txt");
        std::fs::write(&path, b"\xef\xbb\xbf1 2\n").unwrap();
        assert_eq!(read(&path).unwrap(), b"1 2\n");
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
        let error = |content: &[u8]| text(content.to_vec(), Path::new("stars")).unwrap_err().to_string();
        assert_eq!(error(b"1\n\xff\n"), "stars, line 2: it has a byte that is not text; allowed: UTF-8");
        assert_eq!(error(b"\xff\xfe1\0"), "stars: it is a text in UTF-16; allowed: UTF-8");
    }

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("kyoho-file-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_that_cannot_be_replaced_leaves_nothing_behind() {
        let folder = folder("replace");
        let path = folder.join("snapshot.txt");
        replace(&path, b"old").unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        std::fs::create_dir(folder.join("taken.txt")).unwrap();
        assert!(replace(&folder.join("taken.txt"), b"new").is_err());
        let mut left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["snapshot.txt", "taken.txt"]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_trial_leaves_everything_as_it_was() {
        let folder = folder("trial");
        let path = folder.join("energy.svg");
        try_writing(&path).unwrap();
        assert!(!path.exists());
        std::fs::write(&path, "old").unwrap();
        try_writing(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert!(try_writing(&folder).is_err() && try_writing(&folder.join("nowhere/energy.svg")).is_err());
        assert!(try_folder(&path).is_err() && try_folder(&folder.join("a/b")).is_ok());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
