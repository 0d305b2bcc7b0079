//! What belongs to one process. A fork inherits its parent's memory without the threads and the devices behind it.

use std::mem::ManuallyDrop;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::data::{Error, Result};

/// The forks between this process and the first that held something. Asking the system who this is takes longer than
/// writing a source does.
static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// A thing that serves the process that made it and no fork of that. In a fork it is left where it lies: giving it back
/// would wait for threads and drivers that are not there.
pub struct Owned<T> {
    thing: ManuallyDrop<T>,
    process: u32,
    forks: u32,
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.is_in_forked_child() {
            // SAFETY: this is the end of the thing's owner, which alone drops it.
            unsafe { ManuallyDrop::drop(&mut self.thing) };
        }
    }
}

impl<T> Owned<T> {
    /// A thing of this process.
    pub fn new(thing: T) -> Owned<T> {
        static COUNTING: Once = Once::new();
        COUNTING.call_once(|| {
            // It fails where there is no memory for an entry; forks are then not seen.
            // SAFETY: the function adds to a number, which may be done between fork and exec.
            unsafe { libc::pthread_atfork(None, None, Some(count_fork)) };
        });
        Owned { thing: ManuallyDrop::new(thing), process: std::process::id(), forks: FORKS.load(Ordering::Relaxed) }
    }

    /// Whether this process is a fork of the one that made it.
    pub fn is_in_forked_child(&self) -> bool {
        self.forks != FORKS.load(Ordering::Relaxed)
    }

    /// The thing; in a fork an error, in which `opener` is the call that makes one there.
    pub fn get(&mut self, opener: &'static str) -> Result<&mut T> {
        match self.is_in_forked_child() {
            false => Ok(&mut self.thing),
            true => Err(Error::Forked { process: std::process::id(), parent: self.process, opener }),
        }
    }
}

/// The name of this host, as far as the system tells.
pub fn host() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: the room is as long as is said; the last byte stays zero.
    let told = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) } == 0;
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    match told && end > 0 {
        true => String::from_utf8_lossy(&name[..end]).into_owned(),
        false => "an unnamed host".into(),
    }
}
