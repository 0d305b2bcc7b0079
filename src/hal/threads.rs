//! Threads that share the tasks of a call; the caller's own is one of them.
//!
//! Helpers are no pool of rayon's: a thread of the caller's that is a worker of such a pool would,
//! while it waits, take up other jobs of the caller's, and these may wait for what it holds.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

/// The caller's thread and some helpers, which all systems with the same number of threads assignment.
pub struct Threads {
    count: usize,
    helpers: Option<Arc<Helpers>>,
}

/// Looks at the helpers before the caller's thread sleeps: waking it takes longer than they
/// mostly do.
const SPINS: usize = 2000;
/// Looks for another call before a helper sleeps, since the next block is often near.
const LOOKS: usize = 32;

/// The helpers of each process and number; a fork finds none of its parent's.
type Known = HashMap<(u32, usize), Weak<Helpers>>;

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

impl Threads {
    /// This many threads, the caller's included, or as many of them as can be started.
    pub fn new(count: usize) -> Threads {
        let helpers = match count {
            0 | 1 => None,
            _ => helpers(count - 1),
        };
        Threads { count, helpers }
    }

    /// The caller's thread alone.
    pub fn alone() -> Threads {
        Threads { count: 1, helpers: None }
    }

    /// The number of threads that were asked for.
    pub fn count(&self) -> usize {
        self.count.max(1)
    }

    /// Hands each item to some thread. Which one must not matter.
    pub fn each<T>(&self, items: impl ExactSizeIterator<Item = T> + Send, work: impl Fn(T) + Sync) {
        self.run(items, &Mutex::new(Vec::new()), || (), |item, ()| work(item));
    }

    /// The same; a thread keeps one `scratch` while it works.
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
            loop {
                let next = lock(&queue).next();
                match next {
                    Some(item) => work(item, &mut own),
                    None => break,
                }
            }
            let mut all = lock(scratch);
            // What cannot be kept for want of memory is made again. There is room where the caller made it.
            if all.try_reserve(1).is_ok() {
                all.push(own);
            }
        };
        match self.helpers.as_deref().filter(|helpers| wanted > 1 && helpers.are_here()) {
            None => worker(),
            Some(helpers) => helpers.desk.assignment(wanted - 1, &worker),
        }
    }
}

/// Threads that sleep until a call wants help; they end when nobody has them any more.
struct Helpers {
    /// The process that they live in: a fork of it has none.
    process: u32,
    desk: Arc<Desk>,
}

impl Helpers {
    /// Whether they live in this process.
    fn are_here(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        // In a fork the lock may be held by a thread that is not there.
        if self.are_here() {
            lock(&self.desk.state).closed = true;
            self.desk.news.notify_all();
        }
    }
}

/// Helpers that are known, or new ones. None if no thread can be started.
fn helpers(count: usize) -> Option<Arc<Helpers>> {
    let mut known = lock(&KNOWN);
    let known = known.get_or_insert_default();
    let process = std::process::id();
    if let Some(helpers) = known.get(&(process, count)).and_then(Weak::upgrade) {
        return Some(helpers);
    }
    let desk = Arc::new(Desk::default());
    let start = |number: usize| {
        let desk = Arc::clone(&desk);
        thread::Builder::new().name(format!("kyoho-{number}")).spawn(move || desk.help()).map(drop)
    };
    let refused = (0..count).find_map(|number| Some((number, start(number).err()?)));
    if let Some((started, error)) = &refused {
        log::warn!(
            "{started} of {count} helper threads could be started ({error}): these and the caller's thread compute"
        );
    }
    if refused.is_some_and(|(started, _)| started == 0) {
        return None;
    }
    let helpers = Arc::new(Helpers { process, desk });
    known.insert((process, count), Arc::downgrade(&helpers));
    Some(helpers)
}

/// Where calls that want help are put down.
#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    /// A call was put down, or the helpers are to end.
    news: Condvar,
    /// The last helper of some call left it.
    left: Condvar,
    /// Calls that are down, to be looked at without the lock.
    calls: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// Calls, and how many more helpers each takes.
    calls: Vec<(Arc<Call>, usize)>,
    /// Helpers that sleep, and callers that do.
    asleep: usize,
    waiting: usize,
    closed: bool,
}

/// What the threads of a call do.
struct Call {
    /// What each of them does; it is not there any more when the call has ended.
    work: &'static (dyn Fn() + Sync),
    /// Helpers that are at it.
    inside: AtomicUsize,
    /// The panic of one of them.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Desk {
    /// Does the work in the caller's thread and in up to so many helpers, as far as they come
    /// before it is done.
    fn assignment(&self, helpers: usize, work: &(dyn Fn() + Sync)) {
        // SAFETY: helpers call it only between entering and leaving the call. Before this function
        // ends, also by a panic, the call is taken back, so that none enters any more, and all have
        // left.
        let work_of_helpers = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(work) };
        let call = Arc::new(Call { work: work_of_helpers, inside: AtomicUsize::new(0), panic: Mutex::new(None) });
        self.put_down(&call, helpers);
        let own = catch_unwind(AssertUnwindSafe(work));
        self.take_back(&call);
        let of_helper = lock(&call.panic).take();
        if let Some(panic) = own.err().or(of_helper) {
            resume_unwind(panic);
        }
    }

    fn put_down(&self, call: &Arc<Call>, helpers: usize) {
        let mut state = lock(&self.state);
        state.calls.push((Arc::clone(call), helpers));
        self.calls.store(state.calls.len(), Ordering::Relaxed);
        let asleep = state.asleep;
        drop(state);
        match helpers < asleep {
            true => (0..helpers).for_each(|_| self.news.notify_one()),
            false if asleep > 0 => self.news.notify_all(),
            false => (),
        }
    }

    /// Lets no more helpers enter a call and waits for those that did.
    fn take_back(&self, call: &Arc<Call>) {
        let mut state = lock(&self.state);
        state.calls.retain(|(other, _)| !Arc::ptr_eq(other, call));
        self.calls.store(state.calls.len(), Ordering::Relaxed);
        drop(state);
        for _ in 0..SPINS {
            if call.inside.load(Ordering::Acquire) == 0 {
                return;
            }
            std::hint::spin_loop();
        }
        let mut state = lock(&self.state);
        state.waiting += 1;
        while call.inside.load(Ordering::Acquire) > 0 {
            state = wait(&self.left, state);
        }
        state.waiting -= 1;
    }

    /// What a helper does all its life.
    fn help(&self) {
        let mut state = lock(&self.state);
        loop {
            if let Some((call, places)) = state.calls.iter_mut().find(|(_, places)| *places > 0) {
                *places -= 1;
                let call = Arc::clone(call);
                call.inside.fetch_add(1, Ordering::Relaxed);
                drop(state);
                self.work_at(&call);
                for _ in 0..LOOKS {
                    if self.calls.load(Ordering::Relaxed) > 0 {
                        break;
                    }
                    thread::yield_now();
                }
                state = lock(&self.state);
            } else if state.closed {
                return;
            } else {
                state.asleep += 1;
                state = wait(&self.news, state);
                state.asleep -= 1;
            }
        }
    }

    /// Helps with a call that was entered, and leaves it.
    fn work_at(&self, call: &Call) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(call.work)) {
            *lock(&call.panic) = Some(panic);
        }
        if call.inside.fetch_sub(1, Ordering::Release) == 1 && lock(&self.state).waiting > 0 {
            self.left.notify_all();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU32;

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
    fn as_many_threads_work_as_are_wanted() {
        let (threads, meeting) = (Threads::new(3), Barrier::new(3));
        // Nobody goes on before all three are there.
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
