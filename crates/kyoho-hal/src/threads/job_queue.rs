//! The queue in which calls and helpers find one another.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use crate::sync::{Arc, AtomicUsize, Condvar, Mutex, MutexGuard, spin_loop, yield_now};

/// How often the caller's thread checks the helpers before it sleeps, because waking it mostly
/// takes longer than they do.
const SPINS: usize = if cfg!(loom) { 1 } else { 2000 };
/// How often a helper checks for another call before it sleeps, because the next block often
/// follows soon.
const LOOKS: usize = if cfg!(loom) { 1 } else { 32 };

/// The place where calls that want help wait for helpers.
#[derive(Default)]
pub struct JobQueue {
    state: Mutex<State>,
    /// Signals that a call was put down or that the helpers have to end.
    news: Condvar,
    /// Signals that the last helper of some call has left it.
    left: Condvar,
    /// The number of calls that are down, which can be read without the lock.
    calls: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// Calls, with the number of helpers that each can still take.
    calls: Vec<(Arc<Call>, usize)>,
    /// The number of helpers that sleep.
    asleep: usize,
    /// The number of callers that sleep.
    waiting: usize,
    closed: bool,
}

/// The work of the threads of a call.
struct Call {
    /// The work of each thread. It no longer exists when the call has ended.
    work: &'static (dyn Fn() + Sync),
    /// The number of helpers that work on it.
    inside: AtomicUsize,
    /// The panic of one of them.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl JobQueue {
    /// Does the work in the caller's thread and in up to this many helpers, as far as they come
    /// before it is done.
    pub fn share(&self, helpers: usize, work: &(dyn Fn() + Sync)) {
        // SAFETY: helpers call it only between entering and leaving the call. Before this function
        // ends, also by a panic, the call is taken back, so that no helper enters any more and all
        // have left.
        let work_of_helpers = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(work) };
        let call = Arc::new(Call { work: work_of_helpers, inside: AtomicUsize::new(0), panic: Mutex::new(None) });
        self.submit(&call, helpers);
        let own = catch_unwind(AssertUnwindSafe(work));
        self.retire(&call);
        let of_helper = lock(&call.panic).take();
        if let Some(panic) = own.err().or(of_helper) {
            resume_unwind(panic);
        }
    }

    /// Lets the helpers end when they have nothing to do.
    pub fn close(&self) {
        lock(&self.state).closed = true;
        self.news.notify_all();
    }

    fn submit(&self, call: &Arc<Call>, helpers: usize) {
        let mut state = lock(&self.state);
        state.calls.push((Arc::clone(call), helpers));
        self.calls.store(state.calls.len(), Ordering::Relaxed);
        let asleep = state.asleep;
        drop(state);
        if helpers < asleep {
            (0..helpers).for_each(|_| self.news.notify_one());
        } else if asleep > 0 {
            self.news.notify_all();
        }
    }

    /// Lets no more helpers enter a call, and waits for those that have entered.
    fn retire(&self, call: &Arc<Call>) {
        let mut state = lock(&self.state);
        state.calls.retain(|(other, _)| !Arc::ptr_eq(other, call));
        self.calls.store(state.calls.len(), Ordering::Relaxed);
        drop(state);
        for _ in 0..SPINS {
            if call.inside.load(Ordering::Acquire) == 0 {
                return;
            }
            spin_loop();
        }
        let mut state = lock(&self.state);
        state.waiting += 1;
        while call.inside.load(Ordering::Acquire) > 0 {
            state = wait(&self.left, state);
        }
        state.waiting -= 1;
    }

    /// Helps with calls until the helpers have to end.
    pub fn help(&self) {
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
                    yield_now();
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

    /// Helps with a call that this helper has entered, and leaves it.
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

/// Every order in which threads may go on (`make loom`).
#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use crate::sync::AtomicBool;

    /// Lets callers share work with helpers, up to so many changes of the thread that goes on.
    fn tries(callers: usize, helpers: usize, changes: usize) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(changes);
        model.check(move || {
            let queue = Arc::new(JobQueue::default());
            let of_helpers: Vec<_> = (0..helpers)
                .map(|_| {
                    let queue = queue.clone();
                    loom::thread::spawn(move || queue.help())
                })
                .collect();
            let call = move |queue: &JobQueue| {
                let (done, has_ended) = (AtomicUsize::new(0), AtomicBool::new(false));
                queue.share(helpers, &|| {
                    assert!(!has_ended.load(Ordering::Relaxed), "work of a call that has ended");
                    done.fetch_add(1, Ordering::Relaxed);
                });
                has_ended.store(true, Ordering::Relaxed);
                assert!((1..=helpers + 1).contains(&done.load(Ordering::Relaxed)));
            };
            let others: Vec<_> = (1..callers)
                .map(|_| {
                    let queue = queue.clone();
                    loom::thread::spawn(move || call(&queue))
                })
                .collect();
            call(&queue);
            others.into_iter().for_each(|caller| caller.join().unwrap());
            queue.close();
            of_helpers.into_iter().for_each(|helper| helper.join().unwrap());
        });
    }

    #[test]
    fn loom_one_caller_and_two_helpers() {
        tries(1, 2, 2);
    }

    #[test]
    fn loom_two_callers_and_a_helper() {
        tries(2, 1, 2);
    }
}
