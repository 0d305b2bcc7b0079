//! Page-locks of memory that others own and free.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kyoho_core::memory::PageLock;

/// The state of a lock.
enum State<R> {
    /// The memory is registered.
    Locked(R),
    /// It could not be registered, which only costs time.
    Refused,
    /// The memory or the device is gone.
    Ended,
}

type Shared<R> = Arc<Mutex<State<R>>>;

/// The page-locks of a device. Each ends with the memory, whose owner keeps its [`Lock`], or with the
/// device, whichever is first.
pub struct Locks<R>(Vec<(Range<usize>, Shared<R>)>);

/// The end of a page-lock for the owner of the memory, who drops it before the memory.
pub struct Lock<R>(Shared<R>);

impl<R> Locks<R> {
    /// Makes a device's locks, of which there are none yet.
    pub const fn none() -> Locks<R> {
        Locks(Vec::new())
    }

    /// Adds the lock of memory at these addresses, if it could be registered. Without room for it, it
    /// ends now.
    pub fn add(&mut self, memory: Range<usize>, registration: Option<R>) -> Option<Lock<R>> {
        self.0.retain(|(_, shared)| Arc::strong_count(shared) > 1);
        self.0.try_reserve(1).ok()?;
        let shared = Arc::new(Mutex::new(registration.map_or(State::Refused, State::Locked)));
        self.0.push((memory, shared.clone()));
        Some(Lock(shared))
    }

    /// Returns what a function makes of the lock of the memory that has this address, and of the bytes
    /// of it before the address.
    pub fn of<T>(&self, address: usize, make: impl Fn(&R, usize) -> T) -> Option<T> {
        let mut here = self.0.iter().filter(|(memory, _)| memory.contains(&address));
        here.find_map(|(memory, shared)| match &*state(shared) {
            State::Locked(registration) => Some(make(registration, address - memory.start)),
            State::Refused | State::Ended => None,
        })
    }
}

impl<R> Drop for Locks<R> {
    fn drop(&mut self) {
        self.0.iter().for_each(|(_, shared)| *state(shared) = State::Ended);
    }
}

impl<R> Drop for Lock<R> {
    fn drop(&mut self) {
        *state(&self.0) = State::Ended;
    }
}

impl<R: Send> PageLock for Lock<R> {
    fn has_ended(&self) -> bool {
        matches!(*state(&self.0), State::Ended)
    }
}

/// Returns the state of a lock. Whoever ends it waits for that while the other side looks.
fn state<R>(shared: &Shared<R>) -> MutexGuard<'_, State<R>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_ends_once_with_the_memory_or_with_the_device() {
        let counted = Arc::new(());
        let mut locks = Locks::none();
        let first = locks.add(0..8, Some(counted.clone())).unwrap();
        drop(first);
        assert_eq!(Arc::strong_count(&counted), 1);
        let second = locks.add(0..8, Some(counted.clone())).unwrap();
        assert_eq!((locks.0.len(), Arc::strong_count(&counted)), (1, 2));
        assert_eq!((locks.of(5, |_, before| before), locks.of(8, |_, before| before)), (Some(5), None));
        assert!(!second.has_ended());
        drop(locks);
        assert_eq!(Arc::strong_count(&counted), 1);
        assert!(second.has_ended());
        drop(second);
    }
}
