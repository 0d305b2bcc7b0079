//! Things that belong to one process. A fork inherits its parent's memory without the threads and
//! the devices behind it.

use std::mem::ManuallyDrop;

use kyoho_core::{Error, Result};
use kyoho_hal::forks;

/// A thing that serves the process that made it, and no fork of that process. A fork never drops
/// it, since that would wait for threads and drivers that the fork does not have.
pub struct Owned<T> {
    thing: ManuallyDrop<T>,
    process: u32,
    forks: u32,
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.is_in_forked_child() {
            // SAFETY: only this function drops the thing, and it runs once.
            unsafe { ManuallyDrop::drop(&mut self.thing) };
        }
    }
}

impl<T> Owned<T> {
    /// Makes a thing one of this process.
    pub fn new(thing: T) -> Owned<T> {
        Owned { thing: ManuallyDrop::new(thing), process: std::process::id(), forks: forks::count() }
    }

    /// Whether this process is a fork of the one that made the thing.
    pub fn is_in_forked_child(&self) -> bool {
        self.forks != forks::count()
    }

    /// Returns the thing, or in a fork an error that names `opener` as the call that makes one
    /// there.
    pub fn get(&mut self, opener: &'static str) -> Result<&mut T> {
        if self.is_in_forked_child() {
            return Err(Error::Forked { process: std::process::id(), parent: self.process, opener });
        }
        Ok(&mut self.thing)
    }
}

/// The name of this host, if the system tells it.
pub fn host() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: the array has more bytes than the call may write.
    let is_known = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) } == 0;
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    if is_known && end > 0 { String::from_utf8_lossy(&name[..end]).into_owned() } else { "an unnamed host".into() }
}
