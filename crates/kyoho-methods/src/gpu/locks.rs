//! Registrations of memory that others own and free.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Shared<R> = Arc<Mutex<Option<R>>>;

/// The registrations of a device. Each ends with the memory, whose owner keeps its [`Lock`], or with
/// the device, whichever is first.
pub struct Locks<R>(Vec<Shared<R>>);

/// The end of a registration for the owner of the memory, who drops it before the memory.
pub struct Lock<R>(Shared<R>);

impl<R> Locks<R> {
    /// Makes a device's registrations, of which there are none yet.
    pub const fn none() -> Locks<R> {
        Locks(Vec::new())
    }

    /// Adds a registration; without room for it, it ends now.
    pub fn add(&mut self, registration: R) -> Option<Lock<R>> {
        self.0.retain(|shared| Arc::strong_count(shared) > 1);
        self.0.try_reserve(1).ok()?;
        let shared = Arc::new(Mutex::new(Some(registration)));
        self.0.push(shared.clone());
        Some(Lock(shared))
    }
}

impl<R> Drop for Locks<R> {
    fn drop(&mut self) {
        self.0.iter().for_each(end);
    }
}

impl<R> Drop for Lock<R> {
    fn drop(&mut self) {
        end(&self.0);
    }
}

/// Ends a registration, if it has not ended. The other side waits for that, and then finds none.
fn end<R>(shared: &Shared<R>) {
    let mut registration: MutexGuard<Option<R>> = shared.lock().unwrap_or_else(PoisonError::into_inner);
    *registration = None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_ends_once_with_the_memory_or_with_the_device() {
        let counted = Arc::new(());
        let mut locks = Locks::none();
        let first = locks.add(counted.clone()).unwrap();
        drop(first);
        assert_eq!(Arc::strong_count(&counted), 1);
        let second = locks.add(counted.clone()).unwrap();
        assert_eq!((locks.0.len(), Arc::strong_count(&counted)), (1, 2));
        drop(locks);
        assert_eq!(Arc::strong_count(&counted), 1);
        drop(second);
    }
}
