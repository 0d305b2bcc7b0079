//! Forks of the process. A fork has its parent's memory, but none of its threads: what another
//! thread was about to change stays half changed there, and what it has locked stays locked.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The number of forks between this process and the first that asked. It is counted because asking
/// the system for the process takes longer than writing a source does.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Held by a thread that no fork may interrupt, and by one that forks.
static GATE: Gate = Gate(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));

/// A mutex that a forked child may unlock too.
struct Gate(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex of POSIX serves all threads, and is reached through its functions alone.
unsafe impl Sync for Gate {}

impl Gate {
    fn close(&self) {
        // SAFETY: the mutex is initialised and is never destroyed or moved.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
    }

    fn open(&self) {
        // SAFETY: as above, and this thread, or the one that it is a fork of, has locked it.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

#[cfg_attr(miri, expect(dead_code, reason = "Miri knows no forks"))]
extern "C" fn before_fork() {
    GATE.close();
}

#[cfg_attr(miri, expect(dead_code, reason = "Miri knows no forks"))]
extern "C" fn in_parent() {
    GATE.open();
}

#[cfg_attr(miri, expect(dead_code, reason = "Miri knows no forks"))]
extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    GATE.open();
}

/// Returns a number that is another one in each fork of a process than in the process, from the
/// first call of it on.
#[inline]
pub fn count() -> u32 {
    static IS_WATCHED: AtomicBool = AtomicBool::new(false);
    if !IS_WATCHED.load(Ordering::Relaxed) && !IS_WATCHED.swap(true, Ordering::Relaxed) {
        // It fails where there is no memory for an entry, and then forks are not seen. Miri knows no
        // forks.
        #[cfg(not(miri))]
        // SAFETY: the functions lock and unlock a mutex and add to a number, and call nothing else.
        unsafe {
            libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child))
        };
    }
    FORKS.load(Ordering::Relaxed)
}

/// Runs a short section that a fork by another thread waits for. The section may not fork, nor call
/// back into the caller's program.
pub fn hold_off<R>(section: impl FnOnce() -> R) -> R {
    /// Ends the section, also after a panic.
    struct Closed;
    impl Drop for Closed {
        fn drop(&mut self) {
            GATE.open();
        }
    }
    count();
    GATE.close();
    let _closed = Closed;
    section()
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    /// Forks, and returns the status of a child that ends with what `work` returns.
    fn in_fork(work: impl FnOnce() -> i32) -> i32 {
        // SAFETY: the child ends at once.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: a child that waits for ever is ended, and no destructor runs in it.
            unsafe {
                libc::alarm(20);
                libc::_exit(work());
            }
        }
        let mut status = -1;
        // SAFETY: the child is one of this process.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        status
    }

    #[test]
    fn a_fork_is_counted_and_waits_for_sections_of_other_threads() {
        let before = count();
        let is_inside = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..200 {
                    hold_off(|| {
                        is_inside.store(true, Ordering::SeqCst);
                        std::thread::sleep(std::time::Duration::from_micros(100));
                        is_inside.store(false, Ordering::SeqCst);
                    });
                }
            });
            for _ in 0..20 {
                let status = in_fork(|| {
                    let is_cut = is_inside.load(Ordering::SeqCst);
                    i32::from(is_cut || count() == before || hold_off(|| 7) != 7)
                });
                assert_eq!(status, 0);
            }
        });
        assert_eq!(count(), before);
    }
}
