//! Handles: numbers that stand for things the library holds. Every number that a caller may pass is
//! safe.
//!
//! A handle is the number of a slot and a generation that changes whenever the slot is emptied, so
//! that a handle that was freed never finds the thing that came after it. Slots are never moved and
//! never freed, so that finding one takes no lock.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::data::{Error, Result, memory};

/// The number of slots of the first bucket. Each further bucket has twice as many.
const FIRST_BUCKET: usize = 64;
/// The number of buckets. Together they hold a thousand million slots.
const BUCKETS: usize = 24;
/// A handle has the slot's number in its lower half and the generation in its upper half.
const HALF: u32 = usize::BITS / 2;
const LOWER: usize = usize::MAX >> HALF;

struct Slot<T> {
    /// Never zero, so that no handle is null and no small number is a handle.
    generation: usize,
    held: Option<T>,
}

type Bucket<T> = OnceLock<Box<[Mutex<Slot<T>>]>>;

/// Things that are found by handles, from any thread; each thing serves one caller at a time.
pub struct Handles<T> {
    buckets: [Bucket<T>; BUCKETS],
    numbers: Mutex<Numbers>,
}

/// The numbers of slots.
struct Numbers {
    /// The numbers below this one were given out.
    used: usize,
    /// The numbers that were given back. It has room for all that were given out.
    free: Vec<usize>,
}

impl<T> Handles<T> {
    /// Makes a table that holds nothing yet.
    pub const fn new() -> Handles<T> {
        Handles {
            buckets: [const { OnceLock::new() }; BUCKETS],
            numbers: Mutex::new(Numbers { used: 0, free: Vec::new() }),
        }
    }

    /// Adds a thing and returns its handle.
    pub fn insert(&self, thing: T) -> Result<usize> {
        let mut numbers = lock(&self.numbers);
        let number = match numbers.free.pop() {
            Some(number) => number,
            None => self.one_more(&mut numbers)?,
        };
        drop(numbers);
        let (bucket, place) = position(number);
        let slots =
            self.buckets[bucket].get().ok_or_else(|| Error::Internal { what: "a handle has no slot".into() })?;
        let mut slot = lock(&slots[place]);
        slot.held = Some(thing);
        Ok(slot.generation << HALF | number)
    }

    /// Returns the number of a slot that was never used, and makes room for it.
    fn one_more(&self, numbers: &mut Numbers) -> Result<usize> {
        let number = numbers.used;
        let (bucket, _) = position(number);
        let slots = (number <= LOWER).then(|| self.buckets.get(bucket)).flatten().ok_or_else(|| Error::BadCount {
            what: "the number of systems",
            value: number as i64,
            allowed: "fewer; free systems that are no longer needed".into(),
        })?;
        memory::reserve(&mut numbers.free, number + 1, "the table of handles")?;
        if slots.get().is_none() {
            let empty = (0..FIRST_BUCKET << bucket).map(|_| Mutex::new(Slot { generation: 1, held: None }));
            // Only the holder of the lock on the numbers makes slots, so that there are none yet.
            let _ = slots.set(memory::collected(empty, "handles")?.into_boxed_slice());
        }
        numbers.used += 1;
        Ok(number)
    }

    /// Runs an action on the thing of a handle. No other action on that thing runs meanwhile.
    pub fn with<R>(&self, handle: usize, action: impl FnOnce(&mut T) -> R) -> Result<R> {
        let mut slot = self.slot(handle)?;
        slot.held.as_mut().map(action).ok_or(Error::BadHandle { handle })
    }

    /// Removes a thing and returns it. Its handle finds nothing from now on.
    pub fn remove(&self, handle: usize) -> Result<T> {
        let mut slot = self.slot(handle)?;
        let thing = slot.held.take().ok_or(Error::BadHandle { handle })?;
        slot.generation += 1;
        // A slot whose generations are used up is not used again.
        if slot.generation <= LOWER {
            lock(&self.numbers).free.push(handle & LOWER);
        }
        Ok(thing)
    }

    fn slot(&self, handle: usize) -> Result<MutexGuard<'_, Slot<T>>> {
        let (bucket, place) = position(handle & LOWER);
        let slots = self.buckets.get(bucket).and_then(OnceLock::get);
        let slot = slots.map(|slots| lock(&slots[place]));
        slot.filter(|slot| slot.generation == handle >> HALF).ok_or(Error::BadHandle { handle })
    }
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Handles::new()
    }
}

/// The bucket of a slot, and the place of the slot in it.
fn position(number: usize) -> (usize, usize) {
    let bucket = (number / FIRST_BUCKET + 1).ilog2() as usize;
    (bucket, number - FIRST_BUCKET * ((1 << bucket) - 1))
}

/// Locks a mutex, also after a panic: a defect in one call need not spoil the next.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_fill_the_buckets_one_after_another() {
        let mut expected = (0, 0);
        for number in 0..10 * FIRST_BUCKET {
            assert_eq!(position(number), expected);
            expected.1 += 1;
            if expected.1 == FIRST_BUCKET << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }

    #[test]
    fn a_handle_finds_its_thing_until_it_is_removed() {
        let handles = Handles::new();
        let all: Vec<usize> = (0..500).map(|thing| handles.insert(thing).unwrap()).collect();
        for (thing, handle) in all.iter().enumerate() {
            assert_eq!(handles.with(*handle, |held| *held), Ok(thing));
        }
        assert_eq!(handles.remove(all[7]), Ok(7));
        assert_eq!(handles.remove(all[7]), Err(Error::BadHandle { handle: all[7] }));
        let new = handles.insert(1000).unwrap();
        assert_eq!(new & LOWER, all[7] & LOWER, "the slot is used again");
        assert_eq!(handles.with(new, |held| *held), Ok(1000));
        assert!(handles.with(all[7], |_| ()).is_err(), "by another handle");
    }

    #[test]
    fn no_other_number_is_a_handle() {
        let handles = Handles::new();
        let handle = handles.insert(()).unwrap();
        for number in [0, 1, 64, LOWER, usize::MAX, handle + 1, handle ^ (1 << HALF), handle | LOWER] {
            assert!(handles.with(number, |_| ()).is_err(), "{number:#x}");
        }
    }
}
