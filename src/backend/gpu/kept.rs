//! The contexts of this process that work: making one takes longer than most that is done with it.

use std::sync::{Arc, Mutex, PoisonError};

/// What a driver gives of a device, for everything that uses the device.
pub trait Context {
    /// The number of the device.
    fn number(&self) -> usize;

    /// Whether a call on it failed: the device may work in another.
    fn has_failed(&self) -> bool;
}

/// Contexts of one driver.
pub struct Kept<C>(Mutex<Vec<Arc<C>>>);

impl<C: Context> Kept<C> {
    /// None yet; for a static.
    pub const fn none() -> Kept<C> {
        Kept(Mutex::new(Vec::new()))
    }

    /// The context of a device that is kept and works.
    pub fn get(&self, number: usize) -> Option<Arc<C>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|context| !context.has_failed());
        kept.iter().find(|context| context.number() == number).cloned()
    }

    /// Keeps one that was made, unless another thread was faster; the one that is kept.
    pub fn keep(&self, made: Arc<C>) -> Arc<C> {
        // Without the lock while it was made: contexts of several devices are made at a time.
        let made_meanwhile = self.get(made.number());
        made_meanwhile.unwrap_or_else(|| {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(made.clone());
            made
        })
    }
}
