//! Programs that were built, kept on disk for other processes. Nothing here fails: where nothing can be kept, the
//! text is built each time.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

/// What files begin with; another layout has another one.
const MAGIC: &[u8; 8] = b"KyohoCL1";
/// Bytes before the program: the magic, the key, the length, the checksum.
const HEADER: usize = 8 + 32 + 8 + 32;
/// Files that are kept at most.
const FILES: usize = 64;
/// What names of files begin and end with.
const NAME: (&str, &str) = ("opencl-", ".bin");
/// The end of the names of files that are being written.
const UNFINISHED: &str = ".part";

/// What tells a program from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// The key of a program that all these make what it is.
    pub fn of(parts: &[&str]) -> Key {
        let mut hash = Sha256::new();
        for part in parts {
            // With their lengths, so that nothing moves from one to the next unseen.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Key(hash.finalize().into())
    }
}

/// The folder where programs are kept, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    path: Option<PathBuf>,
}

impl Folder {
    /// The folder that variables name: `KYOHO_CACHE_DIR`, which is none where it is empty, else `kyoho` in
    /// `XDG_CACHE_HOME`, else `.cache/kyoho` in `HOME`, else none.
    pub fn from(variable: &dyn Fn(&str) -> Option<OsString>) -> Folder {
        if let Some(path) = variable("KYOHO_CACHE_DIR") {
            return Folder { path: (!path.is_empty()).then(|| PathBuf::from(path)) };
        }
        // Relative ones mean nothing: so the XDG standard, and the directory that a program runs in changes.
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        Folder { path: caches.map(|path| path.join("kyoho")) }
    }

    /// The program of this key, if it is there and whole. A file that is neither is removed.
    pub fn load(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.file(key)?;
        let mut file = File::open(&path).ok()?;
        match read(&mut file, key) {
            Ok(program) => {
                // The files used last are kept; where the time cannot be set, those written last are.
                let _ = file.set_modified(SystemTime::now());
                Some(program)
            }
            Err(reason) => {
                log::debug!("{} is not used: {reason}", path.display());
                self.remove(key);
                None
            }
        }
    }

    /// Keeps a program, if that can be done.
    pub fn store(&self, key: &Key, program: &[u8]) {
        let (Some(folder), Some(path)) = (&self.path, self.file(key)) else { return };
        match write(folder, &path, key, program) {
            Ok(()) => log::debug!("{} has {} bytes of program", path.display(), program.len()),
            Err(error) => log::debug!("{} cannot be written: {error}", path.display()),
        }
        remove_oldest(folder);
    }

    /// Forgets a program, if that can be done.
    pub fn remove(&self, key: &Key) {
        if let Some(path) = self.file(key)
            && let Err(error) = std::fs::remove_file(&path)
        {
            log::debug!("{} cannot be removed: {error}", path.display());
        }
    }

    /// Where the program of a key is.
    fn file(&self, key: &Key) -> Option<PathBuf> {
        let hex: String = key.0[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        Some(self.path.as_ref()?.join(format!("{}{hex}{}", NAME.0, NAME.1)))
    }
}

/// What a file begins with that has this program.
fn header(key: &Key, program: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(MAGIC);
    header[8..40].copy_from_slice(&key.0);
    header[40..48].copy_from_slice(&(program.len() as u64).to_le_bytes());
    header[48..].copy_from_slice(&Sha256::digest(program));
    header
}

/// The program of a file, or what is wrong with the file.
fn read(file: &mut File, key: &Key) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let Some((found, program)) = bytes.split_at_checked(HEADER) else { return Err("it is too short".into()) };
    if *found != header(key, program) {
        return Err("it is damaged, or of another program".into());
    }
    bytes.drain(..HEADER);
    Ok(bytes)
}

/// Writes a file under another name first, so that no reader finds half of one.
fn write(folder: &Path, path: &Path, key: &Key, program: &[u8]) -> std::io::Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // Processes of other machines may share the folder: the time tells those of one number apart.
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let (process, number) = (std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed));
    let unfinished = path.with_extension(format!("{process}-{number}-{since:x}{UNFINISHED}"));
    let written = File::create_new(&unfinished).and_then(|mut file| {
        file.write_all(&header(key, program))?;
        file.write_all(program)?;
        drop(file);
        std::fs::rename(&unfinished, path)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    written
}

/// Removes files of this library beyond those that are kept: what was left half-written first, then the oldest.
fn remove_oldest(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let is_ours = name.starts_with(NAME.0) && (name.ends_with(NAME.1) || name.ends_with(UNFINISHED));
            is_ours.then_some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    files.sort();
    let beyond = files.len().saturating_sub(FILES);
    for (_, path) in &files[..beyond] {
        let _ = std::fs::remove_file(path);
    }
}
