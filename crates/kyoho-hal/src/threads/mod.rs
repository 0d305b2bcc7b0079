//! Threads that share the tasks of a call. The caller's thread is one of them.
//!
//! The helpers are not a pool of rayon's. If the caller's thread is a worker of such a pool, it
//! takes up other jobs of the caller while it waits, and these may wait for something that it
//! holds. A process that cannot start threads still computes.

mod job_queue;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use super::forks;
use job_queue::JobQueue;

/// The caller's thread and some helpers. All systems with the same number of threads share the
/// helpers.
#[derive(Clone)]
pub struct Threads {
    count: usize,
    helpers: Option<Arc<Helpers>>,
}

/// The most items that a thread takes at a time. Where items are small and many, threads that take
/// one wait for one another longer than they work.
const MOST_TAKEN: usize = 8;
/// The number of shares in which a thread would take its part of the items that are left. Shares
/// become smaller towards the end, so that all threads end together.
const SHARES: usize = 4;

/// The helpers of each process and number of threads. A fork finds none of its parent's.
type Known = HashMap<(u32, usize), Weak<Helpers>>;

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

/// The most threads that copy; more would wait for the memory's bandwidth.
const COPIERS: usize = 12;

impl Threads {
    /// Starts threads that copy, at most this many.
    pub fn for_copies(most: usize) -> Threads {
        Threads::new(most.min(COPIERS))
    }

    /// Starts this many threads, the caller's included, or as many of them as can be started.
    pub fn new(count: usize) -> Threads {
        let helpers = match count {
            0 | 1 => None,
            _ => helpers(count - 1),
        };
        Threads { count, helpers }
    }

    /// Uses the caller's thread alone.
    pub fn alone() -> Threads {
        Threads { count: 1, helpers: None }
    }

    /// Returns the number of threads that were asked for.
    pub fn count(&self) -> usize {
        self.count.max(1)
    }

    /// Calls `work` for each item on some thread. The results must not depend on which.
    pub fn each<T>(&self, items: impl ExactSizeIterator<Item = T> + Send, work: impl Fn(T) + Sync) {
        self.run(items, &Mutex::new(Vec::new()), || (), |item, ()| work(item));
    }

    /// Whether all items pass a test. Once one has not, others are no longer tested.
    pub fn all<T>(&self, items: impl ExactSizeIterator<Item = T> + Send, test: impl Fn(T) -> bool + Sync) -> bool {
        let pass = AtomicBool::new(true);
        self.each(items, |item| {
            if pass.load(Ordering::Relaxed) && !test(item) {
                pass.store(false, Ordering::Relaxed);
            }
        });
        pass.into_inner()
    }

    /// Calls `work` for each item as [`Threads::each`] does. A thread keeps one `scratch` while it
    /// works.
    pub fn run<T, S: Send>(
        &self,
        items: impl ExactSizeIterator<Item = T> + Send,
        scratch: &Mutex<Vec<S>>,
        new_scratch: impl Fn() -> S + Sync,
        work: impl Fn(T, &mut S) + Sync,
    ) {
        let wanted = items.len().clamp(1, self.count());
        let queue = Mutex::new(items);
        let worker = || {
            let kept = lock(scratch).pop();
            let mut own = kept.unwrap_or_else(&new_scratch);
            let mut taken = [const { None }; MOST_TAKEN];
            // Loops without adapters, as the compiler writes this for every kind of work.
            loop {
                let mut queue = lock(&queue);
                let count = (queue.len() / (SHARES * wanted)).clamp(1, MOST_TAKEN);
                for place in &mut taken[..count] {
                    *place = queue.next();
                }
                drop(queue);
                let mut is_done = true;
                for place in &mut taken[..count] {
                    let Some(item) = place.take() else { break };
                    is_done = false;
                    work(item, &mut own);
                }
                if is_done {
                    break;
                }
            }
            let mut all = lock(scratch);
            // Scratch that cannot be kept for want of memory is made again.
            if all.try_reserve(1).is_ok() {
                all.push(own);
            }
        };
        match self.helpers.as_deref().filter(|helpers| wanted > 1 && helpers.are_here()) {
            None => worker(),
            Some(helpers) => helpers.queue.share(wanted - 1, &worker),
        }
    }
}

/// Threads that sleep until a call wants help. They end when the last owner drops them.
struct Helpers {
    /// The process that they run in. A fork of it has none.
    process: u32,
    queue: Arc<JobQueue>,
}

impl Helpers {
    /// Whether they run in this process.
    fn are_here(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        // In a fork the lock may be held by a thread that does not exist there.
        if self.are_here() {
            self.queue.close();
        }
    }
}

/// Returns known helpers or starts new ones. Returns none if no thread can be started.
fn helpers(count: usize) -> Option<Arc<Helpers>> {
    // A fork that found the table locked would wait for it for ever.
    let (helpers, refused) = forks::hold_off(|| known_helpers(count));
    if let Some((started, error)) = refused {
        log::warn!(
            "{started} of {count} helper threads could be started ({error}): these and the caller's thread compute"
        );
    }
    helpers
}

/// Returns what [`helpers`] does, and where not all could be started, how many were and why.
fn known_helpers(count: usize) -> (Option<Arc<Helpers>>, Option<(usize, std::io::Error)>) {
    let mut known = lock(&KNOWN);
    let known = known.get_or_insert_default();
    let process = std::process::id();
    if let Some(helpers) = known.get(&(process, count)).and_then(Weak::upgrade) {
        return (Some(helpers), None);
    }
    let queue = Arc::new(JobQueue::default());
    let start = |number: usize| {
        let queue = Arc::clone(&queue);
        thread::Builder::new().name(format!("kyoho-{number}")).spawn(move || queue.help()).map(drop)
    };
    let refused = (0..count).find_map(|number| Some((number, start(number).err()?)));
    if refused.as_ref().is_some_and(|(started, _)| *started == 0) {
        return (None, refused);
    }
    let helpers = Arc::new(Helpers { process, queue });
    known.insert((process, count), Arc::downgrade(&helpers));
    (Some(helpers), refused)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn each_item_is_done_once_whoever_does_it() {
        let threads = [Threads::alone(), Threads::new(1), Threads::new(2), Threads::new(5)];
        for (threads, items) in threads.iter().flat_map(|threads| [0, 1, 3, 200].map(|items| (threads, items))) {
            let done: Vec<AtomicU32> = (0..items).map(|_| AtomicU32::new(0)).collect();
            threads.each(done.iter(), |item| {
                item.fetch_add(1, Ordering::Relaxed);
            });
            assert!(done.iter().all(|item| item.load(Ordering::Relaxed) == 1), "{} threads", threads.count());
        }
    }

    #[test]
    fn all_items_pass_unless_one_does_not() {
        for threads in [Threads::alone(), Threads::new(5)] {
            assert!(threads.all(0..0, |_| false));
            for bad in 0..=200 {
                assert_eq!(threads.all(0..200, |item| item != bad), bad == 200);
            }
        }
    }

    #[test]
    fn as_many_threads_work_as_are_wanted() {
        let (threads, meeting) = (Threads::new(3), Barrier::new(3));
        // No thread goes on before all three have come.
        threads.each(0..3, |_| {
            meeting.wait();
        });
    }

    #[test]
    fn helpers_may_share_work_of_their_own_with_helpers_that_are_all_busy() {
        let threads = Threads::new(3);
        let done = AtomicU32::new(0);
        threads.each(0..3, |_| {
            threads.each(0..3, |_| {
                done.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert_eq!(done.into_inner(), 9);
    }

    #[test]
    fn several_callers_share_the_same_helpers() {
        let (threads, done) = (Threads::new(3), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        Threads::new(3).each(0..5, |_| {
                            done.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(done.into_inner(), 4 * 200 * 5);
        drop(threads);
    }

    #[test]
    fn a_panic_of_any_thread_is_the_callers_once_all_have_ended() {
        let threads = Threads::new(3);
        for bad in 0..3 {
            let meeting = Barrier::new(3);
            let ended = AtomicU32::new(0);
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                threads.each(0..3, |item| {
                    meeting.wait();
                    assert!(item != bad, "item {item}");
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            }));
            let words = outcome.unwrap_err().downcast::<String>().unwrap();
            assert_eq!(*words, format!("item {bad}"));
            assert_eq!(ended.into_inner(), 2);
        }
    }
}
