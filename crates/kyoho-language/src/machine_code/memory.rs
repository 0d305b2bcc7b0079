//! Memory for machine code, which is written first and executed then, never both.

use std::ffi::c_void;
use std::io;

/// Code in memory.
#[derive(Debug)]
pub struct Executable {
    base: *mut c_void,
    length: usize,
}

// SAFETY: the memory is never written after it was made.
unsafe impl Send for Executable {}
// SAFETY: as above.
unsafe impl Sync for Executable {}

impl Executable {
    /// Copies code to memory that may be executed. Some systems do not allow that to a process.
    pub fn new(code: &[u8]) -> io::Result<Executable> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at a place of the system's choice.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), code.len(), protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = Executable { base, length: code.len() };
        // SAFETY: the mapping is new, at least as long as the code, and may be written.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), base.cast(), code.len()) };
        // SAFETY: the mapping is this one, whole.
        if unsafe { libc::mprotect(base, code.len(), libc::PROT_READ | libc::PROT_EXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(memory)
    }

    /// The first byte of the code.
    pub fn base(&self) -> *const c_void {
        self.base
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one, and nobody executes it without a reference.
        unsafe { libc::munmap(self.base, self.length) };
    }
}
