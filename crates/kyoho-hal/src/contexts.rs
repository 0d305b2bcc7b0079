//! The working contexts of this process. They are kept because making one takes longer than most
//! work that is done with it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A driver's context on a device, which everything that uses the device shares.
pub trait Context {
    /// The number of the device.
    fn number(&self) -> usize;

    /// Whether a call on it failed. The device may still work in another context.
    fn has_failed(&self) -> bool;
}

/// Contexts of one driver.
pub struct Contexts<C>(Mutex<Vec<Arc<C>>>);

impl<C: Context> Contexts<C> {
    /// Makes an empty collection, for a static.
    pub const fn none() -> Contexts<C> {
        Contexts(Mutex::new(Vec::new()))
    }

    /// Returns the context of a device if one is kept and works.
    pub fn get(&self, number: usize) -> Option<Arc<C>> {
        working(&mut self.lock(), number)
    }

    /// Keeps a new context and returns it, or the one that another thread kept first: there is one
    /// for each device.
    pub fn keep(&self, made: Arc<C>) -> Arc<C> {
        // Contexts of several devices are made at the same time, so the lock was not held
        // meanwhile.
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

/// Returns the kept context of a device if it works.
fn working<C: Context>(kept: &mut Vec<Arc<C>>, number: usize) -> Option<Arc<C>> {
    kept.retain(|context| !context.has_failed());
    kept.iter().find(|context| context.number() == number).cloned()
}
