//! Allocation of memory that grows with what the caller gives. Where there is none, the error says
//! what it was for, and how much was asked for.
//!
//! Allocations that are small whatever the caller gives, such as the message of an error, are made
//! as usual.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytemuck::{Pod, Zeroable};

use super::{Error, Result};

/// Returns an empty vector with room for this many items.
pub fn room<T>(count: usize, what: &'static str) -> Result<Vec<T>> {
    let mut items = Vec::new();
    items.try_reserve_exact(count).map_err(|_| none::<T>(count, what))?;
    Ok(items)
}

/// Returns a vector of this many equal items.
pub fn filled<T: Clone>(count: usize, item: T, what: &'static str) -> Result<Vec<T>> {
    let mut items = room(count, what)?;
    items.resize(count, item);
    Ok(items)
}

/// Makes room for this many more items.
#[inline]
pub fn reserve<T>(items: &mut Vec<T>, more: usize, what: &'static str) -> Result<()> {
    match items.try_reserve(more) {
        Ok(()) => Ok(()),
        Err(_) => Err(none::<T>(items.len().saturating_add(more), what)),
    }
}

/// Appends an item.
#[inline]
pub fn push<T>(items: &mut Vec<T>, item: T, what: &'static str) -> Result<()> {
    reserve(items, 1, what)?;
    items.push(item);
    Ok(())
}

/// Appends a text.
pub fn append(text: &mut String, more: &str, what: &'static str) -> Result<()> {
    text.try_reserve(more.len()).map_err(|_| none::<u8>(text.len().saturating_add(more.len()), what))?;
    text.push_str(more);
    Ok(())
}

/// A text that is written piece by piece. Where there is no memory for a piece, [`Text::take`] says
/// so.
#[derive(Debug)]
pub struct Text {
    text: String,
    what: &'static str,
    lost: Option<Error>,
}

impl Text {
    /// Begins a text, of which an error says what it was for.
    pub fn new(what: &'static str) -> Text {
        Text { text: String::new(), what, lost: None }
    }

    /// Appends a piece.
    pub fn push(&mut self, more: &str) {
        if self.lost.is_none() {
            self.lost = append(&mut self.text, more, self.what).err();
        }
    }

    /// Appends another, and leaves that empty.
    pub fn join(&mut self, other: &mut Text) {
        match other.take() {
            Ok(more) => self.push(&more),
            Err(error) => self.lost = Some(error),
        }
    }

    /// Returns what was written, and leaves an empty text.
    pub fn take(&mut self) -> Result<String> {
        let text = std::mem::take(&mut self.text);
        self.lost.take().map_or(Ok(text), Err)
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.push(more);
        Ok(())
    }
}

/// Appends an entry to a map.
pub fn insert<K: Eq + Hash, V>(map: &mut HashMap<K, V>, (key, value): (K, V), what: &'static str) -> Result<()> {
    reserve_entry(map, what)?;
    map.insert(key, value);
    Ok(())
}

/// Makes room for one more entry of a map.
pub fn reserve_entry<K: Eq + Hash, V>(map: &mut HashMap<K, V>, what: &'static str) -> Result<()> {
    map.try_reserve(1).map_err(|_| none::<(K, V)>(map.len() + 1, what))
}

/// Appends new items until there are `count`.
pub fn lengthen<T>(items: &mut Vec<T>, count: usize, what: &'static str, new: impl FnMut() -> T) -> Result<()> {
    if count > items.len() {
        reserve(items, count - items.len(), what)?;
        items.resize_with(count, new);
    }
    Ok(())
}

/// Collects the items of an iterator.
pub fn collected<T>(items: impl IntoIterator<Item = T>, what: &'static str) -> Result<Vec<T>> {
    let items = items.into_iter();
    let mut all = room(items.size_hint().0, what)?;
    for item in items {
        push(&mut all, item, what)?;
    }
    Ok(all)
}

/// The unit in which the system provides memory, and devices make it fast to read.
pub const PAGE: usize = 4096;

#[repr(C, align(4096))]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Page([u8; PAGE]);

/// Returns a key by which memory knows a device: another one at each call.
pub fn device_key() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What keeps memory page-locked for a device, until it is dropped.
pub trait PageLock: Send + Sync {
    /// Whether the device is gone, and with it the lock.
    fn has_ended(&self) -> bool;
}

/// Memory in whole pages, which devices may page-lock: each lock belongs to the memory and goes right
/// before it. It is zero at first.
#[derive(Default)]
pub struct Pages {
    /// The locks, by the keys of their devices.
    locks: Mutex<Vec<(u64, Box<dyn PageLock>)>>,
    pages: Box<[Page]>,
}

impl Pages {
    /// Allocates at least this many bytes.
    pub fn new(bytes: usize, what: &'static str) -> Result<Pages> {
        let no_memory = |()| Error::OutOfMemory { what, bytes };
        let pages = bytemuck::try_zeroed_slice_box(bytes.div_ceil(PAGE)).map_err(no_memory)?;
        Ok(Pages { locks: Mutex::default(), pages })
    }

    /// Returns its size in bytes.
    pub fn bytes(&self) -> usize {
        self.pages.len() * PAGE
    }

    /// Returns where it is, without a look at what it has: devices may be writing there.
    #[inline]
    pub fn as_ptr(&self) -> *const [u8] {
        std::ptr::slice_from_raw_parts((&raw const *self.pages).cast(), self.bytes())
    }

    /// Returns where it is, to write to.
    fn as_mut_ptr(&mut self) -> *mut u8 {
        (&raw mut *self.pages).cast()
    }

    /// Returns all of it as items of a kind.
    #[inline]
    pub fn as_slice<T: Pod>(&self) -> &[T] {
        bytemuck::cast_slice(&self.pages)
    }

    /// Returns all of it as items of a kind, which may be written.
    #[inline]
    pub fn as_mut_slice<T: Pod>(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.pages)
    }

    /// Replaces it by larger memory, of at least twice its size, if it has fewer bytes than this. What
    /// it had is lost.
    pub fn grow(&mut self, bytes: usize, what: &'static str) -> Result<()> {
        if bytes > self.bytes() {
            *self = Pages::new(bytes.max(2 * self.bytes()), what)?;
        }
        Ok(())
    }

    /// Whether there is a lock for the device of this key.
    pub fn is_locked_for(&self, device: u64) -> bool {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|(of, _)| *of == device)
    }

    /// Keeps a lock for the device of this key as long as the memory is there. Without memory for the
    /// table of locks, it ends now.
    pub fn keep_lock(&self, device: u64, lock: Box<dyn PageLock>) {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|(_, lock)| !lock.has_ended());
        if locks.try_reserve(1).is_ok() {
            locks.push((device, lock));
        }
    }
}

impl Clone for Pages {
    fn clone(&self) -> Pages {
        Pages { locks: Mutex::default(), pages: self.pages.clone() }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // A panic takes away what stands in its way, while a device may still read it.
        if std::thread::panicking() {
            Box::leak(std::mem::take(&mut self.pages));
            std::mem::forget(std::mem::take(&mut self.locks));
        }
        // Who registered the memory first unregisters it, after all others have waited for their work.
        let locks = self.locks.get_mut().unwrap_or_else(PoisonError::into_inner);
        while locks.pop().is_some() {}
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{} bytes", self.bytes())
    }
}

/// Numbers in whole pages, which a device may page-lock.
pub struct Paged<T> {
    pages: Pages,
    count: usize,
    kind: PhantomData<T>,
}

impl<T: Pod> Paged<T> {
    /// Returns the place of these numbers, for a device to write to, and their bytes. The device
    /// may be writing others.
    pub fn place(&mut self, numbers: Range<usize>) -> (*mut u8, usize) {
        assert!(numbers.start <= numbers.end && numbers.end <= self.count);
        let first = self.pages.as_mut_ptr().wrapping_add(numbers.start * size_of::<T>());
        (first, numbers.len() * size_of::<T>())
    }

    /// Returns its memory.
    pub fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Whether there is room for this many.
    fn has_room(&self, count: usize) -> bool {
        count <= self.pages.bytes() / size_of::<T>()
    }

    /// Makes room for this many. Where there was less, the memory is another one, and what it had is
    /// lost.
    pub fn make_room(&mut self, count: usize, what: &'static str) -> Result<()> {
        if !self.has_room(count) {
            // More than before by a part, as there may often be a few more.
            let bytes = count.saturating_mul(size_of::<T>()).max(self.pages.bytes() / 4 * 5);
            self.count = 0;
            self.pages = Pages::default();
            self.pages = Pages::new(bytes, what)?;
        }
        Ok(())
    }

    /// Makes it as long as this, for which room was made. New items are still to be written.
    pub fn set_length(&mut self, count: usize) {
        assert!(self.has_room(count), "room was made");
        self.count = count;
    }
}

impl<T> Default for Paged<T> {
    fn default() -> Paged<T> {
        Paged { pages: Pages::default(), count: 0, kind: PhantomData }
    }
}

impl<T> Clone for Paged<T> {
    fn clone(&self) -> Paged<T> {
        Paged { pages: self.pages.clone(), ..*self }
    }
}

impl<T: Pod> Deref for Paged<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &bytemuck::cast_slice(&self.pages.pages)[..self.count]
    }
}

impl<T: Pod> DerefMut for Paged<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.pages.pages)[..self.count]
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Paged<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

/// Returns the error that there is no memory for this many items.
#[cold]
pub fn none<T>(count: usize, what: &'static str) -> Error {
    Error::OutOfMemory { what, bytes: count.saturating_mul(size_of::<T>()) }
}

/// A value in memory of its own, like a `Box`, whose allocation can fail.
#[derive(Debug)]
pub struct Boxed<T>(Box<[T; 1]>);

impl<T> Boxed<T> {
    /// Moves a value to memory of its own.
    pub fn new(value: T, what: &'static str) -> Result<Boxed<T>> {
        let mut one = room(1, what)?;
        one.push(value);
        // A vector without spare room is converted in place.
        match <Box<[T; 1]>>::try_from(one.into_boxed_slice()) {
            Ok(boxed) => Ok(Boxed(boxed)),
            Err(_) => Err(Error::Internal { what: "a vector of one value does not have one value".into() }),
        }
    }
}

impl<T> Boxed<T> {
    /// Returns the memory as an array of the value.
    pub fn into_array(self) -> Box<[T; 1]> {
        self.0
    }
}

impl<T: 'static> Boxed<T> {
    /// Keeps the value for as long as the process lives.
    pub fn leak(self) -> &'static mut T {
        let [value] = Box::leak(self.0);
        value
    }
}

impl<T> Deref for Boxed<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0[0]
    }
}

impl<T> DerefMut for Boxed<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0[0]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const MANY: usize = usize::MAX / 16;

    #[test]
    fn what_cannot_be_had_is_named_with_its_size() {
        let expected = Error::OutOfMemory { what: "numbers", bytes: 8 * (MANY + 1) };
        let mut numbers = vec![7u64];
        assert_eq!(reserve(&mut numbers, MANY, "numbers"), Err(expected.clone()));
        assert_eq!(lengthen(&mut numbers, MANY + 1, "numbers", || 0), Err(expected.clone()));
        assert_eq!(collected(std::iter::repeat_n(7u64, MANY + 1), "numbers"), Err(expected.clone()));
        assert_eq!(filled(MANY + 1, 7u64, "numbers"), Err(expected));
        assert_eq!(reserve(&mut numbers, usize::MAX, "numbers").unwrap_err().to_string().split(": ").count(), 2);
        assert_eq!(numbers, [7]);
    }

    impl PageLock for Arc<()> {
        fn has_ended(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_lock_goes_with_the_memory_that_it_was_made_for() {
        let locks = Arc::new(());
        let mut numbers = Paged::<f64>::default();
        numbers.make_room(3, "numbers").unwrap();
        numbers.set_length(3);
        numbers.copy_from_slice(&[1.0, 2.0, 3.0]);
        numbers.pages().keep_lock(7, Box::new(locks.clone()));
        assert!(numbers.pages().is_locked_for(7) && !numbers.pages().is_locked_for(8));
        let copy = numbers.clone();
        numbers.make_room(PAGE / 8, "numbers").unwrap();
        assert_eq!((&numbers[..], Arc::strong_count(&locks)), (&[1.0, 2.0, 3.0][..], 2));
        numbers.make_room(PAGE / 8 + 1, "numbers").unwrap();
        assert_eq!((numbers.len(), Arc::strong_count(&locks)), (0, 1));
        assert!(!numbers.pages().is_locked_for(7) && !copy.pages().is_locked_for(7));
        assert_eq!(copy[..], [1.0, 2.0, 3.0]);
        assert!(numbers.make_room(MANY, "numbers").is_err() && numbers.is_empty());
    }

    #[test]
    fn what_can_be_had_is_there() {
        let mut numbers = collected([1, 2].into_iter().filter(|_| true), "numbers").unwrap();
        push(&mut numbers, 3, "numbers").unwrap();
        lengthen(&mut numbers, 5, "numbers", || 0).unwrap();
        lengthen(&mut numbers, 1, "numbers", || 9).unwrap();
        assert_eq!(numbers, [1, 2, 3, 0, 0]);
        assert_eq!(filled(2, 7, "numbers").unwrap(), [7, 7]);
        let mut boxed = Boxed::new(numbers, "numbers").unwrap();
        boxed.push(4);
        assert_eq!(boxed.len(), 6);
        assert_eq!(size_of::<Option<Boxed<u64>>>(), size_of::<usize>());
    }
}
