//! Built programs, kept on disk for other processes. No function here fails: if a program cannot be
//! kept, it is built each time.
//!
//! A program runs with the rights of whoever loads it. So none is loaded that another user may have
//! written, and nothing is kept where others may write.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

/// The first bytes of a file. Another layout has other ones.
const MAGIC: &[u8; 8] = b"KyohoCL1";
/// The bytes before the program: the magic number, the key, the length, the checksum.
const HEADER: usize = 8 + 32 + 8 + 32;
/// The largest number of files that are kept.
const FILES: usize = 64;
/// The beginning and the end of the names of files.
const NAME: (&str, &str) = ("opencl-", ".bin");
/// The end of the names of files that are being written.
const UNFINISHED: &str = ".part";

/// The key that tells a program from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// Returns the key of a program that is determined by all these strings.
    pub fn of(parts: &[&str]) -> Key {
        let mut hash = Sha256::new();
        for part in parts {
            // The lengths are hashed too, so that the strings `ab`, `c` and `a`, `bc` have
            // different keys.
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
    /// Returns a folder that keeps nothing.
    pub fn none() -> Folder {
        Folder { path: None }
    }

    /// Returns the folder that variables name: `KYOHO_CACHE_DIR`, which means none if it is empty,
    /// else `kyoho` in `XDG_CACHE_HOME`, else `.cache/kyoho` in `HOME`, else none.
    pub fn from(variable: &dyn Fn(&str) -> Option<OsString>) -> Folder {
        if let Some(path) = variable("KYOHO_CACHE_DIR") {
            return Folder { path: (!path.is_empty()).then(|| PathBuf::from(path)) };
        }
        // The XDG standard ignores relative paths, because the working directory of a program
        // changes.
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        Folder { path: caches.map(|path| path.join("kyoho")) }
    }

    /// Whether programs are kept at all.
    pub fn is_there(&self) -> bool {
        self.path.is_some()
    }

    /// Returns the program of this key if it is there and whole. A file that is damaged, belongs to
    /// another program, or may be another user's, is removed.
    pub fn load(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.file(key)?;
        if !is_own_folder(self.path.as_ref()?) {
            return None;
        }
        // Nothing is waited for, and no link is followed, which others may have put there.
        let opened = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(&path);
        let mut file = match opened {
            Ok(file) => file,
            Err(error) => {
                if error.raw_os_error() == Some(libc::ELOOP) {
                    self.remove(key);
                }
                return None;
            }
        };
        match read(&mut file, key) {
            Ok(program) => {
                // The files used last are kept, or those written last if the time cannot be set.
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

    /// Keeps a program if possible.
    pub fn store(&self, key: &Key, program: &[u8]) {
        let (Some(folder), Some(path)) = (&self.path, self.file(key)) else { return };
        match DirBuilder::new().recursive(true).mode(0o700).create(folder) {
            Ok(()) if is_own_folder(folder) => (),
            Ok(()) => return,
            Err(error) => return log::debug!("{} cannot be made: {error}", folder.display()),
        }
        match write(&path, key, program) {
            Ok(()) => log::debug!("{} has {} bytes of program", path.display(), program.len()),
            Err(error) => log::debug!("{} cannot be written: {error}", path.display()),
        }
        remove_oldest(folder);
    }

    /// Removes a program if possible.
    pub fn remove(&self, key: &Key) {
        if let Some(path) = self.file(key)
            && let Err(error) = std::fs::remove_file(&path)
        {
            log::debug!("{} cannot be removed: {error}", path.display());
        }
    }

    /// Returns the path of the file with the program of a key.
    fn file(&self, key: &Key) -> Option<PathBuf> {
        let hex: String = key.0[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        Some(self.path.as_ref()?.join(format!("{}{hex}{}", NAME.0, NAME.1)))
    }
}

/// Returns the header of the file with this program.
fn header(key: &Key, program: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(MAGIC);
    header[8..40].copy_from_slice(&key.0);
    header[40..48].copy_from_slice(&(program.len() as u64).to_le_bytes());
    header[48..].copy_from_slice(&Sha256::digest(program));
    header
}

/// Whether only this user, and root, may put programs into a folder.
fn is_own_folder(folder: &Path) -> bool {
    match std::fs::metadata(folder).map(|found| foreign(&found)) {
        Ok(None) => true,
        Ok(Some(reason)) => {
            log::warn!("no OpenCL program is kept in {}: {reason}", folder.display());
            false
        }
        // It is not there.
        Err(_) => false,
    }
}

/// Returns the reason why others than this user, and root, may have written something.
fn foreign(found: &Metadata) -> Option<String> {
    // SAFETY: it returns a number.
    let user = unsafe { libc::geteuid() };
    let (owner, mode) = (found.uid(), found.mode() & 0o7777);
    if ![0, user].contains(&owner) {
        return Some(format!("it is user {owner}'s; allowed: user {user}'s"));
    }
    // In a folder such as /tmp others may make files, but not exchange those of this user.
    let is_shared = found.is_dir() && mode & libc::S_ISVTX != 0;
    let others = mode & 0o022 != 0 && !is_shared;
    others.then(|| format!("others may write to it, by mode {mode:o}; allowed: modes such as 700"))
}

/// Returns the program of a file, or the defect of the file.
fn read(file: &mut File, key: &Key) -> Result<Vec<u8>, String> {
    let found = file.metadata().map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is no regular file".into());
    }
    if let Some(reason) = foreign(&found) {
        return Err(reason);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let Some((found, program)) = bytes.split_at_checked(HEADER) else { return Err("it is too short".into()) };
    if *found != header(key, program) {
        return Err("it is damaged, or of another program".into());
    }
    bytes.drain(..HEADER);
    Ok(bytes)
}

/// Writes a file under another name first, so that no reader finds an incomplete one.
fn write(path: &Path, key: &Key, program: &[u8]) -> std::io::Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    // Processes of several machines may use the folder, and the time tells those with one process
    // id apart.
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let (process, number) = (std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed));
    let unfinished = path.with_extension(format!("{process}-{number}-{since:x}{UNFINISHED}"));
    // Whatever the umask is, others may not write to it.
    let file = File::options().write(true).create_new(true).mode(0o644).open(&unfinished);
    let written = file.and_then(|mut file| {
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

/// Removes the oldest files of this library beyond those that are kept, including unfinished ones.
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use super::*;

    /// A path that belongs to one test and is removed at its end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("kyoho-cache-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Scratch(path)
        }

        /// Returns a folder that does not exist yet.
        fn folder(&self) -> Folder {
            Folder { path: Some(self.0.join("deep/programs")) }
        }

        /// Returns the files of that folder.
        fn files(&self) -> Vec<PathBuf> {
            fs::read_dir(self.0.join("deep/programs")).unwrap().map(|entry| entry.unwrap().path()).collect()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn named(variables: &[(&str, &str)]) -> Option<PathBuf> {
        Folder::from(&|name| variables.iter().find(|(found, _)| *found == name).map(|(_, value)| value.into())).path
    }

    #[test]
    fn the_folder_is_the_one_that_variables_name() {
        let (own, xdg, home) = (("KYOHO_CACHE_DIR", "/own"), ("XDG_CACHE_HOME", "/xdg"), ("HOME", "/home/user"));
        assert_eq!(named(&[own, xdg, home]), Some("/own".into()));
        assert_eq!(named(&[xdg, home]), Some("/xdg/kyoho".into()));
        assert_eq!(named(&[home]), Some("/home/user/.cache/kyoho".into()));
        assert_eq!(named(&[("XDG_CACHE_HOME", "relative"), home]), Some("/home/user/.cache/kyoho".into()));
        assert_eq!(named(&[("XDG_CACHE_HOME", ""), ("HOME", "")]), None);
        assert_eq!(named(&[]), None);
        assert_eq!(named(&[("KYOHO_CACHE_DIR", ""), xdg, home]), None, "empty, it switches the cache off");
    }

    #[test]
    fn a_program_comes_back_as_it_was_kept() {
        let scratch = Scratch::new("whole");
        let (folder, key, other) = (scratch.folder(), Key::of(&["one"]), Key::of(&["other"]));
        assert_eq!(folder.load(&key), None);
        for program in [&b"a program"[..], b"", &[7; 100_000]] {
            folder.store(&key, program);
            assert_eq!(folder.load(&key).as_deref(), Some(program));
        }
        assert_eq!(folder.load(&other), None);
        let [file] = &scratch.files()[..] else { panic!("{:?}", scratch.files()) };
        let name = file.file_name().unwrap().to_str().unwrap();
        let hex = name.strip_prefix("opencl-").and_then(|name| name.strip_suffix(".bin")).unwrap();
        assert!(hex.len() == 32 && hex.bytes().all(|letter| letter.is_ascii_hexdigit()), "{name}");
        let mode = fs::metadata(scratch.0.join("deep/programs")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "others could put programs there");
        folder.remove(&key);
        assert_eq!(folder.load(&key), None);
    }

    /// Sets the mode of a file or a folder.
    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_others_may_have_written_is_not_loaded() {
        let scratch = Scratch::new("foreign");
        let (folder, key) = (scratch.folder(), Key::of(&["one"]));
        let path = folder.file(&key).unwrap();
        for mode in [0o620, 0o602, 0o666] {
            folder.store(&key, b"a program");
            set_mode(&path, mode);
            assert_eq!(folder.load(&key), None, "mode {mode:o}");
            assert!(!path.exists(), "mode {mode:o}");
        }
        folder.store(&key, b"a program");
        let elsewhere = scratch.0.join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert_eq!(folder.load(&key), None, "a link");
        assert!(fs::symlink_metadata(&path).is_err() && elsewhere.exists());
        folder.store(&key, b"a program");
        // SAFETY: it returns a number.
        if unsafe { libc::geteuid() } == 0 {
            std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
            assert_eq!(folder.load(&key), None, "another user's");
            assert!(!path.exists());
        } else {
            eprintln!("not tested, as only root gives files to others: a file of another user");
        }
    }

    #[test]
    fn a_folder_that_others_may_write_to_keeps_nothing() {
        let scratch = Scratch::new("shared");
        let (folder, key) = (scratch.folder(), Key::of(&["one"]));
        folder.store(&key, b"a program");
        let path = scratch.0.join("deep/programs");
        for mode in [0o777, 0o770, 0o702] {
            set_mode(&path, mode);
            assert_eq!(folder.load(&key), None, "mode {mode:o}");
            folder.store(&Key::of(&["other"]), b"a program");
            assert_eq!(scratch.files().len(), 1, "mode {mode:o}");
        }
        for mode in [0o1777, 0o755] {
            set_mode(&path, mode);
            assert_eq!(folder.load(&key).as_deref(), Some(&b"a program"[..]), "mode {mode:o}");
        }
        // SAFETY: it returns a number.
        if unsafe { libc::geteuid() } == 0 {
            std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
            assert_eq!(folder.load(&key), None, "another user's");
        } else {
            eprintln!("not tested, as only root gives files to others: a folder of another user");
        }
    }

    #[test]
    fn a_fifo_in_the_place_of_a_program_is_not_waited_for() {
        let scratch = Scratch::new("fifo");
        let (folder, key) = (scratch.folder(), Key::of(&["one"]));
        folder.store(&key, b"a program");
        let path = folder.file(&key).unwrap();
        fs::remove_file(&path).unwrap();
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the path ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let (sender, found) = std::sync::mpsc::channel();
        let loading = folder.clone();
        std::thread::spawn(move || sender.send(loading.load(&key)));
        let found = found.recv_timeout(Duration::from_secs(60));
        assert_eq!(found.expect("it does not wait"), None);
        folder.store(&key, b"a program");
        assert_eq!(folder.load(&key).as_deref(), Some(&b"a program"[..]));
    }

    #[test]
    fn every_part_of_a_key_counts_and_stays_where_it_is() {
        let keys = [&["a", "bc"][..], &["ab", "c"], &["a", "bd"], &["a", "bc", ""], &["abc"]].map(Key::of);
        for (place, key) in keys.iter().enumerate() {
            assert!(!keys[..place].contains(key), "{place}");
        }
        assert_eq!(Key::of(&["a", "bc"]), keys[0]);
    }

    #[test]
    fn files_that_are_damaged_or_foreign_are_removed_and_made_again() {
        let scratch = Scratch::new("damaged");
        let (folder, key, program) = (scratch.folder(), Key::of(&["one"]), [5u8; 300]);
        folder.store(&key, &program);
        let path = folder.file(&key).unwrap();
        let whole = fs::read(&path).unwrap();
        let cut = (0..whole.len()).step_by(7).map(|length| whole[..length].to_vec());
        let flipped = (0..whole.len()).step_by(5).map(|place| {
            let mut bytes = whole.clone();
            bytes[place] ^= 1;
            bytes
        });
        let longer = [whole.clone(), vec![0]].concat();
        folder.store(&Key::of(&["other"]), &program);
        let foreign = fs::read(folder.file(&Key::of(&["other"])).unwrap()).unwrap();
        for damaged in cut.chain(flipped).chain([longer, foreign]) {
            fs::write(&path, &damaged).unwrap();
            assert_eq!(folder.load(&key), None, "{} bytes", damaged.len());
            assert!(!path.exists());
            folder.store(&key, &program);
            assert_eq!(folder.load(&key).as_deref(), Some(&program[..]));
        }
    }

    #[test]
    fn who_reads_while_others_write_finds_a_whole_program_or_none() {
        let scratch = Scratch::new("race");
        let (folder, key) = (scratch.folder(), Key::of(&["one"]));
        std::thread::scope(|scope| {
            for writer in 1..=8u8 {
                let folder = &folder;
                scope.spawn(move || {
                    for turn in 0..25 {
                        folder.store(&key, &vec![writer; 20_000 * writer as usize]);
                        if let Some(found) = folder.load(&key) {
                            assert_eq!(found.len(), 20_000 * found[0] as usize);
                            assert!(found.iter().all(|byte| *byte == found[0]));
                        }
                        if turn % 10 == 9 {
                            folder.remove(&key);
                        }
                    }
                });
            }
        });
        folder.store(&key, b"last");
        assert_eq!(folder.load(&key).as_deref(), Some(&b"last"[..]));
        assert_eq!(scratch.files().len(), 1, "nothing half-written is left");
    }

    #[test]
    fn folders_that_take_nothing_are_harmless() {
        let scratch = Scratch::new("unwritable");
        let (file, key) = (scratch.0.join("file"), Key::of(&["one"]));
        fs::write(&file, "no folder").unwrap();
        for path in [None, Some(file.clone()), Some(file.join("below")), Some("/proc/kyoho".into())] {
            let folder = Folder { path };
            folder.store(&key, b"a program");
            assert_eq!(folder.load(&key), None);
            folder.remove(&key);
        }
        assert_eq!(fs::read(&file).unwrap(), b"no folder");
    }

    #[test]
    fn the_files_used_last_stay() {
        let scratch = Scratch::new("many");
        let folder = scratch.folder();
        let keys: Vec<Key> = (0..FILES + 3).map(|number| Key::of(&[&number.to_string()])).collect();
        let (early, late) = keys.split_at(FILES);
        for (number, key) in early.iter().enumerate() {
            folder.store(key, b"a program");
            let file = File::open(folder.file(key).unwrap()).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1000 + number as u64)).unwrap();
        }
        let foreign = scratch.0.join("deep/programs/notes.txt");
        fs::write(&foreign, "the user's").unwrap();
        File::open(&foreign).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(folder.load(&early[0]).is_some(), "the oldest is used, and counts as new");
        late.iter().for_each(|key| folder.store(key, b"a program"));
        let kept: Vec<bool> = keys.iter().map(|key| folder.file(key).unwrap().exists()).collect();
        let expected: Vec<bool> = (0..keys.len()).map(|number| !(1..=late.len()).contains(&number)).collect();
        assert_eq!(kept, expected);
        assert!(foreign.exists());
    }
}
