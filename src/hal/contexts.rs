//! The contexts of this process that work: making one takes longer than most that is done with it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a driver gives of a device, for everything that uses the device.
pub trait Context {
    /// The number of the device.
    fn number(&self) -> usize;

    /// Whether a call on it failed: the device may work in another.
    fn has_failed(&self) -> bool;
}

/// Contexts of one driver.
pub struct Contexts<C>(Mutex<Vec<Arc<C>>>);

impl<C: Context> Contexts<C> {
    /// None yet; for a static.
    pub const fn none() -> Contexts<C> {
        Contexts(Mutex::new(Vec::new()))
    }

    /// The context of a device that is kept and works.
    pub fn get(&self, number: usize) -> Option<Arc<C>> {
        working(&mut self.lock(), number)
    }

    /// Keeps one that was made, unless another thread was faster: a device has one alone. The one that is kept.
    pub fn keep(&self, made: Arc<C>) -> Arc<C> {
        // The lock was not held while it was made: contexts of several devices are made at a time.
        let mut kept = self.lock();
        working(&mut kept, made.number()).unwrap_or_else(|| {
            kept.push(made.clone());
            made
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<C>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The context of a device among those that are kept, if it works.
fn working<C: Context>(kept: &mut Vec<Arc<C>>, number: usize) -> Option<Arc<C>> {
    kept.retain(|context| !context.has_failed());
    kept.iter().find(|context| context.number() == number).cloned()
}
