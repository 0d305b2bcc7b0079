//! Handles: numbers that stand for things the library holds. Every number that a caller may pass is
//! safe.
//!
//! A handle is the number of a slot and a tag. The tag is made of a generation that changes whenever
//! the slot is emptied, so that a handle that was freed never finds the thing that came after it,
//! and of a key of the process, so that a number that another process has kept, or a fork has made,
//! names nothing here. Slots are never moved and never freed, so that finding one takes no lock.
//!
//! A fork has the things of its parent under the parent's handles, but for those that another call
//! had when the process forked: that call never ends there.
//!
//! A panic in a call on a thing may have left it half changed. It is poisoned: all later calls on it
//! are refused, but it can be removed.

use std::collections::hash_map::RandomState;
use std::ffi::CString;
use std::hash::BuildHasher;
use std::os::raw::c_char;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::SystemTime;

use kyoho_core::{Error, Result, memory};
use kyoho_hal::forks;

use super::boundary::{c_text, caught};

/// The number of slots of the first bucket. Each further bucket has twice as many.
const FIRST_BUCKET: usize = 64;
/// The number of buckets. Together they hold a thousand million slots.
const BUCKETS: usize = 24;
/// A handle has the slot's number in its lower half and the tag in its upper half.
const HALF: u32 = usize::BITS / 2;
const LOWER: usize = usize::MAX >> HALF;

/// The place of a thing.
struct Slot<T> {
    content: Mutex<Content<T>>,
    /// Whether a thread that this process has not got holds the lock, since a fork.
    is_lost: AtomicBool,
}

struct Content<T> {
    /// Never zero, so that no handle is null and no small number is a handle.
    tag: usize,
    /// How often the slot was used.
    generation: usize,
    held: Option<T>,
    /// The text of the last error of a call on the thing.
    last_error: CString,
    is_poisoned: bool,
}

type Bucket<T> = OnceLock<Box<[Slot<T>]>>;

/// Things that are found by handles, from any thread; each thing serves one caller at a time.
pub struct Handles<T> {
    /// A thing, in the words of errors.
    thing: &'static str,
    buckets: [Bucket<T>; BUCKETS],
    numbers: Mutex<Numbers>,
    /// The number of forks for which slots with lost locks were looked for.
    forks: AtomicU32,
}

/// The numbers of slots, which are locked for moments that no fork interrupts.
struct Numbers {
    /// The process that last added a thing, and its key.
    process: u32,
    key: usize,
    /// The numbers below this one were given out.
    used: usize,
    /// The numbers that were given back. It has room for all that were given out.
    free: Vec<usize>,
}

impl<T> Handles<T> {
    /// Makes a table that holds nothing yet. `thing` is what it will hold, in the words of errors.
    pub const fn new(thing: &'static str) -> Handles<T> {
        Handles {
            thing,
            buckets: [const { OnceLock::new() }; BUCKETS],
            numbers: Mutex::new(Numbers { process: 0, key: 0, used: 0, free: Vec::new() }),
            forks: AtomicU32::new(0),
        }
    }

    /// Adds a thing and returns its handle.
    pub fn insert(&self, thing: T) -> Result<usize> {
        self.look_for_lost();
        let (number, key) = forks::hold_off(|| {
            let mut numbers = lock(&self.numbers);
            let number = match numbers.free.pop() {
                Some(number) => number,
                None => self.one_more(&mut numbers)?,
            };
            Ok((number, numbers.key_of_process()))
        })?;
        let (bucket, place) = position(number);
        let slots =
            self.buckets[bucket].get().ok_or_else(|| Error::Internal { what: "a handle has no slot".into() })?;
        let mut content = lock(&slots[place].content);
        // Different generations have different tags under one key.
        content.generation += 1;
        content.tag = (content.generation ^ key) & LOWER;
        if content.tag == 0 {
            content.generation += 1;
            content.tag = (content.generation ^ key) & LOWER;
        }
        (content.held, content.last_error, content.is_poisoned) = (Some(thing), CString::default(), false);
        Ok(content.tag << HALF | number)
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
            let nothing =
                || Content { tag: 0, generation: 0, held: None, last_error: CString::default(), is_poisoned: false };
            let slot = || Slot { content: Mutex::new(nothing()), is_lost: AtomicBool::new(false) };
            let empty = (0..FIRST_BUCKET << bucket).map(|_| slot());
            // Only the holder of the lock on the numbers makes slots, so that there are none yet.
            let _ = slots.set(memory::collected(empty, "handles")?.into_boxed_slice());
        }
        numbers.used += 1;
        Ok(number)
    }

    /// Runs an action on the thing of a handle, and keeps the text of its error. No other action on
    /// that thing runs meanwhile. After one that panicked, all others are refused.
    pub fn with<R>(&self, handle: usize, action: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let mut content = self.content(handle)?;
        let Content { held, last_error, is_poisoned, .. } = &mut *content;
        let held = held.as_mut().ok_or(Error::BadHandle { handle })?;
        let outcome = if *is_poisoned {
            Err(Error::Poisoned { thing: self.thing, allowed: "to free it, and to make another" })
        } else {
            caught(|| action(held)).unwrap_or_else(|defect| {
                *is_poisoned = true;
                Err(defect)
            })
        };
        outcome.inspect_err(|error| *last_error = c_text(error))
    }

    /// Returns the text of the last error of an action on the thing of a handle. It stays until the
    /// next one.
    pub fn last_error(&self, handle: usize) -> Result<*const c_char> {
        let content = self.content(handle)?;
        content.held.as_ref().map(|_| content.last_error.as_ptr()).ok_or(Error::BadHandle { handle })
    }

    /// Removes a thing and returns it, and whether it is poisoned. Its handle finds nothing from now
    /// on.
    pub fn remove(&self, handle: usize) -> Result<(T, bool)> {
        let mut content = self.content(handle)?;
        let thing = content.held.take().ok_or(Error::BadHandle { handle })?;
        let is_poisoned = content.is_poisoned;
        content.tag = 0;
        // A slot whose generations are used up is not used again.
        let is_used_up = content.generation >= LOWER - 1;
        drop(content);
        if !is_used_up {
            forks::hold_off(|| lock(&self.numbers).free.push(handle & LOWER));
        }
        Ok((thing, is_poisoned))
    }

    fn content(&self, handle: usize) -> Result<MutexGuard<'_, Content<T>>> {
        self.look_for_lost();
        let (bucket, place) = position(handle & LOWER);
        let slots = self.buckets.get(bucket).and_then(OnceLock::get);
        let slot = slots.map(|slots| &slots[place]).ok_or(Error::BadHandle { handle })?;
        if slot.is_lost.load(Ordering::Relaxed) {
            return Err(Error::LostInFork { handle, process: std::process::id() });
        }
        let content = lock(&slot.content);
        if content.tag != 0 && content.tag == handle >> HALF { Ok(content) } else { Err(Error::BadHandle { handle }) }
    }

    /// In a fork, notes which slots are locked by threads of the parent, before any is used.
    fn look_for_lost(&self) {
        let forks = forks::count();
        if self.forks.load(Ordering::Acquire) == forks {
            return;
        }
        forks::hold_off(|| {
            if self.forks.load(Ordering::Acquire) == forks {
                return;
            }
            for slot in self.buckets.iter().filter_map(OnceLock::get).flatten() {
                if matches!(slot.content.try_lock(), Err(TryLockError::WouldBlock)) {
                    slot.is_lost.store(true, Ordering::Relaxed);
                }
            }
            self.forks.store(forks, Ordering::Release);
        });
    }
}

impl Numbers {
    /// The key of this process, which another process, and a fork of this one, has not got.
    fn key_of_process(&mut self) -> usize {
        let process = std::process::id();
        if self.process != process {
            // A fork inherits the state of its parent's source of random numbers.
            self.key = RandomState::new().hash_one((process, SystemTime::now())) as usize & LOWER;
            self.process = process;
        }
        self.key
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
        let handles = Handles::new("a number");
        let all: Vec<usize> = (0..500).map(|thing| handles.insert(thing).unwrap()).collect();
        for (thing, handle) in all.iter().enumerate() {
            assert_eq!(handles.with(*handle, |held| Ok(*held)), Ok(thing));
        }
        assert_eq!(handles.remove(all[7]), Ok((7, false)));
        assert_eq!(handles.remove(all[7]), Err(Error::BadHandle { handle: all[7] }));
        let new = handles.insert(1000).unwrap();
        assert_eq!(new & LOWER, all[7] & LOWER, "the slot is used again");
        assert_eq!(handles.with(new, |held| Ok(*held)), Ok(1000));
        assert!(handles.with(all[7], |_| Ok(())).is_err(), "by another handle");
    }

    #[test]
    fn handles_of_two_processes_differ_and_a_slot_repeats_none() {
        let (here, there) = (Handles::new("a number"), Handles::new("a number"));
        let (first, second) = (here.insert(()).unwrap(), there.insert(()).unwrap());
        assert_eq!(first & LOWER, second & LOWER);
        assert_ne!(first, second, "two tables have keys of their own, as two processes have");
        assert!(there.with(first, |()| Ok(())).is_err());
        // As in a fork, which goes on with the slots of its parent.
        here.remove(first).unwrap();
        let of_parent = here.insert(()).unwrap();
        here.remove(of_parent).unwrap();
        lock(&here.numbers).process = 0;
        let of_fork = here.insert(()).unwrap();
        assert!(of_fork & LOWER == first & LOWER && of_fork != first && of_fork != of_parent);
        assert!(here.with(of_fork, |()| Ok(())).is_ok() && here.with(of_parent, |()| Ok(())).is_err());
    }

    #[test]
    fn a_fork_is_told_that_a_call_was_under_way() {
        let handles: Handles<i32> = Handles::new("a number");
        let (busy, idle) = (handles.insert(1).unwrap(), handles.insert(2).unwrap());
        // The lock is held as by a thread that the fork has not got.
        handles
            .with(busy, |_| {
                handles.forks.store(forks::count().wrapping_sub(1), Ordering::Relaxed);
                assert!(
                    matches!(handles.with(busy, |_| Ok(())), Err(Error::LostInFork { handle, .. }) if handle == busy)
                );
                assert!(handles.remove(busy).is_err());
                assert_eq!(handles.with(idle, |held| Ok(*held)), Ok(2));
                Ok(())
            })
            .unwrap();
    }

    #[test]
    fn no_other_number_is_a_handle() {
        let handles = Handles::new("a number");
        let handle = handles.insert(()).unwrap();
        for number in [0, 1, 64, LOWER, usize::MAX, handle + 1, handle ^ (1 << HALF), handle | LOWER] {
            assert!(handles.with(number, |_| Ok(())).is_err(), "{number:#x}");
        }
    }
    #[test]
    fn after_a_panic_a_thing_can_only_be_removed() {
        let handles = Handles::new("a number");
        let (bad, good) = (handles.insert(7).unwrap(), handles.insert(8).unwrap());
        let text = |handle| {
            let text = handles.last_error(handle).unwrap();
            // SAFETY: no other action is run meanwhile.
            unsafe { std::ffi::CStr::from_ptr(text) }.to_str().unwrap().to_string()
        };
        let defect = Error::Internal { what: "of a test".into() };
        assert_eq!(handles.with(bad, |_| -> Result<()> { panic!("of a test") }), Err(defect));
        assert_eq!(text(bad), "a defect of kyoho: of a test");
        for _ in 0..2 {
            let refused = handles.with(bad, |_| -> Result<()> { unreachable!("it is poisoned") }).unwrap_err();
            assert_eq!((refused.code(), refused.to_string()), (kyoho_core::ResultCode::Poisoned, text(bad)));
        }
        assert!(text(bad).contains("an earlier call on a number; allowed: to free it"), "{}", text(bad));
        assert_eq!(handles.with(good, |held| Ok(*held)), Ok(8));
        assert_eq!(handles.remove(bad), Ok((7, true)));
        assert_eq!(handles.with(bad, |held| Ok(*held)), Err(Error::BadHandle { handle: bad }));
        let new = handles.insert(9).unwrap();
        assert_eq!((new & LOWER, handles.with(new, |held| Ok(*held))), (bad & LOWER, Ok(9)));
        assert_eq!(handles.remove(new), Ok((9, false)));
    }
}
