//! The lock of boards that are locked for every body of every step.
//!
//! A mutex takes an atomic exchange to lock, which waits until all earlier stores have reached the
//! cache: more than half of the time of writing a source. As programs use a board from one thread,
//! this lock belongs to the first thread that takes it, which from then on only notes that it is
//! inside. When another thread comes, it takes that right away, has the system make the note of the
//! first one visible (`membarrier`), and waits until it is outside. From then on the lock is a
//! common one.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::thread::{panicking, sleep};
use std::time::Duration;

use crate::sync::{AtomicBool, AtomicUsize, fence_of_owner, spin_loop, yield_now};

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
    #[cfg(not(loom))]
    pub const fn new(value: T) -> Lock<T> {
        let [is_inside, is_held, is_poisoned] = [const { AtomicBool::new(false) }; 3];
        Lock { owner: AtomicUsize::new(NOBODY), is_inside, is_held, is_poisoned, value: UnsafeCell::new(value) }
    }

    /// Makes a lock that nobody holds.
    #[cfg(loom)]
    pub fn new(value: T) -> Lock<T> {
        let [is_inside, is_held, is_poisoned] = std::array::from_fn(|_| AtomicBool::new(false));
        Lock { owner: AtomicUsize::new(NOBODY), is_inside, is_held, is_poisoned, value: UnsafeCell::new(value) }
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
            fence_of_owner(Ordering::SeqCst);
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
                give_back(&self.is_held);
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

/// Lets another thread hold the lock.
#[inline]
fn give_back(is_held: &AtomicBool) {
    if cfg!(loom) {
        // There an exchange may miss what was stored, but not what another one has put there.
        is_held.swap(false, Ordering::Release);
    } else {
        is_held.store(false, Ordering::Release);
    }
}

/// Waits until something holds that another thread brings about.
fn wait_until(holds: impl Fn() -> bool) {
    let mut looks = 0_u32;
    while !holds() {
        looks = looks.saturating_add(1);
        match looks {
            _ if cfg!(loom) => yield_now(),
            0..100 => spin_loop(),
            100..200 => yield_now(),
            // The other thread is in a force calculation.
            _ => sleep(Duration::from_micros(50)),
        }
    }
}

/// Returns a number that no other thread has, neither [`NOBODY`] nor [`EVERYBODY`].
#[cfg(not(loom))]
#[inline]
fn this_thread() -> usize {
    // SAFETY: the call needs nothing.
    unsafe { libc::pthread_self() as usize }
}

#[cfg(loom)]
fn this_thread() -> usize {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    loom::thread::current().id().hash(&mut hasher);
    hasher.finish() as usize >> 1 | 1
}

#[cfg(loom)]
fn order_all_threads() -> bool {
    fence_of_owner(Ordering::SeqCst);
    true
}

/// Has the system order the stores of all threads of this process before their later loads, and
/// returns whether it can.
#[cfg(not(loom))]
fn order_all_threads() -> bool {
    const EXPEDITED: libc::c_long = 1 << 3;
    const REGISTER: libc::c_long = 1 << 4;
    // SAFETY: the call reaches no memory of this process.
    let ask = |command: libc::c_long| unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } == 0;
    // Miri knows no such call.
    !cfg!(miri) && ask(REGISTER) && ask(EXPEDITED)
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
        if self.is_owner {
            self.lock.is_inside.store(false, Ordering::Release);
        } else {
            give_back(&self.lock.is_held);
        }
    }
}

#[cfg(all(test, not(loom)))]
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

/// Every order in which threads may go on (`make loom`).
#[cfg(all(test, loom))]
mod loom_models {
    use loom::cell::UnsafeCell;
    use loom::thread;

    use super::*;
    use crate::sync::Arc;

    /// Lets threads, each of which takes the lock so often, add to a value that two may not touch.
    fn tries(takes: &'static [usize], changes: usize) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(changes);
        model.check(move || {
            let sum = Arc::new(Lock::new(UnsafeCell::new(0)));
            let add = |sum: &Lock<UnsafeCell<usize>>, times: usize| {
                (0..times).for_each(|_| {
                    let sum = sum.lock();
                    // SAFETY: loom tells of two threads that are here at a time.
                    sum.with_mut(|sum| unsafe { *sum += 1 });
                });
            };
            let begin = |times: usize| {
                let sum = sum.clone();
                thread::spawn(move || add(&sum, times))
            };
            let others: Vec<_> = takes[1..].iter().map(|times| begin(*times)).collect();
            add(&sum, takes[0]);
            others.into_iter().for_each(|other| other.join().unwrap());
            // SAFETY: no other thread is left.
            let all = sum.lock().with(|sum| unsafe { *sum });
            assert_eq!(all, takes.iter().sum::<usize>());
        });
    }

    #[test]
    fn loom_another_thread_comes_to_the_owner() {
        tries(&[2, 2], 3);
    }
}
