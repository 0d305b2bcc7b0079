//! Files that are read, and files that are written completely or not at all.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Result, Write};
use std::path::{Path, PathBuf};

use kyoho_core::Error;

use crate::failure::Failure;

/// Links that are followed, as many as Linux follows.
const MOST_LINKS: usize = 40;

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

/// Makes a field or a law of the text of a file, without the blanks around it. Errors in the text
/// name the file, and places as it has them.
pub fn of_text<T>(
    text: &str,
    path: &Path,
    make: impl FnOnce(&str) -> kyoho_core::Result<T>,
) -> crate::failure::Result<T> {
    let begun = text.trim_start();
    let blanks = &text[..text.len() - begun.len()];
    let lines_before = blanks.matches('\n').count() as u32;
    let columns_before = blanks.chars().rev().take_while(|blank| *blank != '\n').count() as u32;
    make(begun.trim_end()).map_err(|mut error| {
        if let Error::BadText { line: line @ 1.., column, .. } = &mut error {
            *column += if *line == 1 { columns_before } else { 0 };
            *line += lines_before;
        }
        Failure::in_text(path, error)
    })
}

/// Writes a file so that its name always stands for all of the old content or all of the new, even
/// if the machine stops: the new content is on the disk before it gets the name. Pipes and devices
/// get the content, and a link stays one to the file that is replaced.
pub fn replace(path: &Path, content: &[u8]) -> Result<()> {
    replace_by(path, |file| file.write_all(content))
}

/// Writes a file like [`replace`], with content that a function writes.
pub fn replace_by(path: &Path, content: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return content(&mut OpenOptions::new().write(true).open(path)?);
    }
    let path = &linked(path)?;
    // No other process has this name.
    let mut partial = path.as_os_str().to_os_string();
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = PathBuf::from(partial);
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

/// Returns the path of the file that a path, which may be a link, stands for.
fn linked(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    // Its error says that the links have no end.
    std::fs::canonicalize(path)
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

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_what_is_no_file_gets_the_content() {
        let folder = folder("links");
        let (first, second, there) = (folder.join("first"), folder.join("second"), folder.join("in/stars.txt"));
        std::fs::create_dir(folder.join("in")).unwrap();
        std::os::unix::fs::symlink("second", &first).unwrap();
        std::os::unix::fs::symlink("in/stars.txt", &second).unwrap();
        for content in ["new", "newer"] {
            replace(&first, content.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&there).unwrap(), content);
            assert!([&first, &second].into_iter().all(|link| link.is_symlink()));
        }
        std::os::unix::fs::symlink("itself", folder.join("itself")).unwrap();
        assert!(replace(&folder.join("itself"), b"new").is_err());
        let (mut reader, writer) = std::io::pipe().unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer)));
        replace(&path, b"new").unwrap();
        drop(writer);
        let mut found = String::new();
        reader.read_to_string(&mut found).unwrap();
        assert_eq!(found, "new");
        replace(Path::new("/dev/null"), b"new").unwrap();
        std::fs::write(folder.join("stars.partial"), "mine").unwrap();
        replace(&folder.join("stars.txt"), b"new").unwrap();
        assert_eq!(std::fs::read(folder.join("stars.partial")).unwrap(), b"mine");
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
