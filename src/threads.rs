//! Threads that share the tasks of a call; the caller's own is one of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

/// The caller's thread and some helpers, which all systems with the same number of threads share.
pub struct Threads {
    count: usize,
    /// The process that the helpers live in: a fork of it has none.
    process: u32,
    helpers: Option<Arc<ThreadPool>>,
}

/// Looks at the helpers before the caller's thread sleeps: waking it takes longer than they mostly do.
const SPINS: usize = 2000;

/// The helpers of each process and number; a fork finds none of its parent's.
type Pools = HashMap<(u32, usize), Weak<ThreadPool>>;

static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

impl Threads {
    /// This many threads, the caller's included.
    pub fn new(count: usize) -> Result<Threads> {
        let helpers = match count {
            0 | 1 => None,
            _ => Some(pool(count - 1)?),
        };
        Ok(Threads { count, process: std::process::id(), helpers })
    }

    /// The caller's thread alone.
    pub fn alone() -> Threads {
        Threads { count: 1, process: std::process::id(), helpers: None }
    }

    /// The number of threads.
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
        let has_helpers = items.len() > 1 && self.process == std::process::id();
        let helpers = self.helpers.as_deref().filter(|_| has_helpers);
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
            lock(scratch).push(own);
        };
        let working = AtomicUsize::new(wanted - 1);
        match helpers {
            None => worker(),
            Some(pool) => pool.in_place_scope(|scope| {
                for _ in 1..wanted {
                    scope.spawn(|_| {
                        worker();
                        working.fetch_sub(1, Ordering::Release);
                    });
                }
                worker();
                for _ in 0..SPINS {
                    if working.load(Ordering::Acquire) == 0 {
                        break;
                    }
                    std::hint::spin_loop();
                }
            }),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pool(helpers: usize) -> Result<Arc<ThreadPool>> {
    let mut pools = lock(&POOLS);
    let pools = pools.get_or_insert_default();
    let key = (std::process::id(), helpers);
    if let Some(pool) = pools.get(&key).and_then(Weak::upgrade) {
        return Ok(pool);
    }
    let pool =
        ThreadPoolBuilder::new().num_threads(helpers).thread_name(|number| format!("kyoho-{number}")).build().map_err(
            |error| Error::DeviceFailed {
                device: "cpu".into(),
                reason: format!("{helpers} threads could not be started: {error}"),
            },
        )?;
    let pool = Arc::new(pool);
    pools.insert(key, Arc::downgrade(&pool));
    Ok(pool)
}
