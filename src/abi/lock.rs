//! The lock of boards that are locked for every body of every step.
//!
//! A mutex takes an atomic exchange to lock, which waits until all earlier stores have reached the
//! cache: more than half of the time of writing a source. As programs use a board from one thread,
//! this lock belongs to the first thread that takes it, which from then on only notes that it is
//! inside. When another thread comes, it takes that right away, has the system make the note of the
//! first one visible (`membarrier`), and waits until it is outside. From then on the lock is a
//! common one.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};
use std::thread::{panicking, sleep, yield_now};
use std::time::Duration;

/// A value that one thread has at a time. Another one that wants it looks again and again, soon at
/// longer intervals. After a panic of one that has it, the next one is told.
pub struct Lock<T> {
    /// The thread that need not hold it, [`NOBODY`] as long as no thread has taken it, or
    /// [`EVERYBODY`] after more than one has.
    owner: AtomicUsize,
    /// Whether the owner is inside.
    is_inside: AtomicBool,
    /// Whether another thread holds it.
    is_held: AtomicBool,
    /// Whether a thread panicked while it had the value, and none was told. Then there is no owner.
    is_poisoned: AtomicBool,
    value: UnsafeCell<T>,
}

const NOBODY: usize = 0;
const EVERYBODY: usize = usize::MAX;

// SAFETY: the value is reached through a guard alone, and only one thread has a guard at a time: the
// owner is waited for by those that hold the lock, and is no owner while another one holds it.
unsafe impl<T: Send> Sync for Lock<T> {}

/// The value, until this is dropped.
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
    is_owner: bool,
    /// Whether the thread panicked before.
    is_panicking: bool,
}

impl<T> Lock<T> {
    /// Makes a lock that nobody holds.
    pub const fn new(value: T) -> Lock<T> {
        Lock {
            owner: AtomicUsize::new(NOBODY),
            is_inside: AtomicBool::new(false),
            is_held: AtomicBool::new(false),
            is_poisoned: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits until no other thread has the value.
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        let (this, is_panicking) = (this_thread(), panicking());
        // An owner that is inside already, as in a function that the library calls back, waits for
        // ever, as it would for a mutex.
        if self.owner.load(Ordering::Relaxed) == this && !self.is_inside.load(Ordering::Relaxed) {
            self.is_inside.store(true, Ordering::Relaxed);
            // The processor may still look before the note is seen by others: those that take the
            // right away have the system order the two.
            compiler_fence(Ordering::SeqCst);
            if self.owner.load(Ordering::Relaxed) == this {
                return Guard { lock: self, is_owner: true, is_panicking };
            }
            self.is_inside.store(false, Ordering::Release);
        }
        Guard { lock: self, is_owner: self.hold(this), is_panicking }
    }

    /// Waits for the lock, and returns whether this thread has it as its owner.
    #[cold]
    fn hold(&self, this: usize) -> bool {
        wait_until(|| !self.is_held.swap(true, Ordering::Acquire));
        match self.owner.load(Ordering::Relaxed) {
            NOBODY if order_all_threads() => {
                self.is_inside.store(true, Ordering::Relaxed);
                self.owner.store(this, Ordering::Relaxed);
                self.is_held.store(false, Ordering::Release);
                return true;
            }
            NOBODY => self.owner.store(EVERYBODY, Ordering::Relaxed),
            EVERYBODY => (),
            _ => {
                self.owner.store(EVERYBODY, Ordering::SeqCst);
                if !order_all_threads() {
                    // Stores are seen within nanoseconds.
                    sleep(Duration::from_millis(1));
                }
                wait_until(|| !self.is_inside.load(Ordering::Acquire));
            }
        }
        false
    }
}

/// Waits until something holds that another thread brings about.
fn wait_until(holds: impl Fn() -> bool) {
    let mut looks = 0_u32;
    while !holds() {
        looks = looks.saturating_add(1);
        match looks {
            0..100 => spin_loop(),
            100..200 => yield_now(),
            // The other thread is in a force calculation.
            _ => sleep(Duration::from_micros(50)),
        }
    }
}

/// Returns a number that no other thread has, neither [`NOBODY`] nor [`EVERYBODY`].
#[inline]
fn this_thread() -> usize {
    // SAFETY: the call needs nothing.
    unsafe { libc::pthread_self() as usize }
}

/// Has the system order the stores of all threads of this process before their later loads, and
/// returns whether it can.
fn order_all_threads() -> bool {
    const EXPEDITED: libc::c_long = 1 << 3;
    const REGISTER: libc::c_long = 1 << 4;
    // SAFETY: the call reaches no memory of this process.
    let ask = |command: libc::c_long| unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } == 0;
    ask(REGISTER) && ask(EXPEDITED)
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the only one.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the only one.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Guard<'_, T> {
    /// Whether a thread panicked while it had the value, and none was told yet.
    #[inline]
    pub fn take_poison(&mut self) -> bool {
        // There was no owner since.
        !self.is_owner && self.lock.is_poisoned.swap(false, Ordering::Relaxed)
    }

    /// Notes that this thread panicked while it had the value.
    #[cold]
    fn poison(&self) {
        self.lock.is_poisoned.store(true, Ordering::Relaxed);
        // Whoever takes the lock next looks at that, this thread too.
        self.lock.owner.store(EVERYBODY, Ordering::Relaxed);
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if panicking() && !self.is_panicking {
            self.poison();
        }
        let note = if self.is_owner { &self.lock.is_inside } else { &self.lock.is_held };
        note.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_has_the_value_at_a_time() {
        // The first thread owns each lock when the others come.
        for _ in 0..20 {
            let sum = Lock::new(0_u64);
            std::thread::scope(|scope| {
                for late in 0..4 {
                    let sum = &sum;
                    scope.spawn(move || {
                        sleep(Duration::from_micros(300 * late));
                        (0..10_000).for_each(|_| *sum.lock() += 1);
                    });
                }
            });
            assert_eq!(*sum.lock(), 40_000);
        }
    }

    #[test]
    fn the_next_one_is_told_of_a_panic() {
        let value = Lock::new(7);
        for by_another in [false, true, false] {
            assert!(!value.lock().take_poison());
            let panics = || {
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    let _value = value.lock();
                    panic!("a defect");
                }));
                assert!(outcome.is_err());
            };
            if by_another {
                std::thread::scope(|scope| scope.spawn(panics).join().unwrap())
            } else {
                panics()
            }
            let mut guard = value.lock();
            assert!(guard.take_poison() && !guard.take_poison());
            assert_eq!(*guard, 7);
        }
    }
}
