//! Memory of large arrays that is kept from call to call, since the system clears fresh memory page
//! by page, which takes a tenth of the time of a tree.

use std::any::Any;
use std::fmt;
use std::mem::take;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Result, memory};

/// Memory for the arrays of the next call.
#[derive(Default, Clone)]
pub struct BufferPool(Arc<Mutex<Arrays>>);

/// Arrays that are not in use.
#[derive(Default)]
struct Arrays {
    /// Those that the call before has used.
    kept: Vec<Array>,
    /// Those that were given back in this call.
    given_back: Vec<Array>,
}

/// The memory of an array of some kind of items.
struct Array {
    bytes: usize,
    items: Box<dyn Any + Send>,
}

impl Array {
    /// Returns how many of these items it has room for, if its items are of this kind.
    fn room<T: 'static>(&self) -> Option<usize> {
        self.items.downcast_ref::<Vec<T>>().map(Vec::capacity)
    }
}

/// An array whose memory goes back to its [`BufferPool`].
pub struct Pooled<T: Copy + Send + 'static> {
    items: Vec<T>,
    pool: BufferPool,
}

impl BufferPool {
    /// Begins a call, and frees what the last one has not used.
    pub fn begin(&self) {
        let mut arrays = self.arrays();
        arrays.kept = take(&mut arrays.given_back);
    }

    /// Returns the bytes that are kept.
    pub fn bytes(&self) -> usize {
        let arrays = self.arrays();
        arrays.kept.iter().chain(&arrays.given_back).map(|array| array.bytes).sum()
    }

    /// Returns an empty array with room for this many items.
    pub fn room<T: Copy + Send + 'static>(&self, count: usize, what: &'static str) -> Result<Pooled<T>> {
        let mut array = self.take(count, what)?;
        array.items.clear();
        Ok(array)
    }

    /// Returns an array of this many equal items.
    pub fn filled<T: Copy + Send + 'static>(&self, count: usize, item: T, what: &'static str) -> Result<Pooled<T>> {
        let mut array = self.room(count, what)?;
        array.items.resize(count, item);
        Ok(array)
    }

    /// Returns an array of this many items that are still to be written: some are `item`, and others
    /// are those of an older array.
    pub fn unwritten<T: Copy + Send + 'static>(&self, count: usize, item: T, what: &'static str) -> Result<Pooled<T>> {
        let mut array = self.take(count, what)?;
        array.items.resize(count, item);
        Ok(array)
    }

    /// Collects the items of an iterator of known length.
    pub fn collected<T: Copy + Send + 'static>(
        &self,
        items: impl ExactSizeIterator<Item = T>,
        what: &'static str,
    ) -> Result<Pooled<T>> {
        let mut array = self.room(items.len(), what)?;
        array.items.extend(items);
        Ok(array)
    }

    /// Returns the smallest array that has room for this many items, with its old items, or an empty
    /// new one with some more room, so that it is large enough for the next call too.
    fn take<T: Copy + Send + 'static>(&self, count: usize, what: &'static str) -> Result<Pooled<T>> {
        let mut arrays = self.arrays();
        let Arrays { kept, given_back } = &mut *arrays;
        let smallest = |arrays: &[Array]| {
            let rooms = arrays.iter().enumerate().filter_map(|(place, array)| Some((array.room::<T>()?, place)));
            rooms.filter(|(room, _)| *room >= count).min()
        };
        let found = match (smallest(kept), smallest(given_back)) {
            (Some((room, place)), other) if other.is_none_or(|(other, _)| room <= other) => {
                Some(kept.swap_remove(place))
            }
            (_, other) => other.map(|(_, place)| given_back.swap_remove(place)),
        };
        drop(arrays);
        let items = match found.and_then(|array| array.items.downcast::<Vec<T>>().ok()) {
            Some(array) => *array,
            None => memory::room(count + count / 16, what)?,
        };
        Ok(Pooled { items, pool: self.clone() })
    }

    fn arrays(&self) -> MutexGuard<'_, Arrays> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Copy + Send + 'static> Drop for Pooled<T> {
    fn drop(&mut self) {
        if self.items.capacity() > 0 {
            let items = take(&mut self.items);
            let array = Array { bytes: items.capacity() * size_of::<T>(), items: Box::new(items) };
            // Without memory for the list this array's own is given back to the system.
            let _ = memory::push(&mut self.pool.arrays().given_back, array, "arrays of a pool");
        }
    }
}

impl<T: Copy + Send + 'static> Default for Pooled<T> {
    fn default() -> Pooled<T> {
        Vec::new().into()
    }
}

impl<T: Copy + Send + 'static> From<Vec<T>> for Pooled<T> {
    fn from(items: Vec<T>) -> Pooled<T> {
        Pooled { items, pool: BufferPool::default() }
    }
}

impl<T: Copy + Send + 'static> Deref for Pooled<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.items
    }
}

impl<T: Copy + Send + 'static> DerefMut for Pooled<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.items
    }
}

impl<T: Copy + Send + fmt::Debug + 'static> fmt::Debug for Pooled<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.items.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHAT: &str = "items";

    #[test]
    fn an_array_has_the_memory_of_the_smallest_that_has_room_for_it() {
        let pool = BufferPool::default();
        let of_call = |counts: [usize; 3]| {
            pool.begin();
            let arrays = counts.map(|count| pool.filled(count, 1.5, WHAT).unwrap());
            assert!(arrays.iter().zip(counts).all(|(array, count)| array[..] == vec![1.5; count]));
            arrays.each_ref().map(|array| array.as_ptr())
        };
        let [a, b, c] = of_call([1000, 100, 10]);
        assert_eq!(of_call([9, 990, 99]), [c, a, b]);
        assert_eq!(of_call([1000, 100, 10]), [a, b, c]);
        // Other items than these numbers do not fit, and arrays that are too small are no use.
        let integers = pool.filled(10, 3, WHAT).unwrap();
        assert_eq!(integers[..], [3; 10]);
        assert_eq!(pool.filled(5000, 2.5, WHAT).unwrap()[..], [2.5; 5000]);
    }

    #[test]
    fn memory_that_a_call_did_not_use_is_freed() {
        let pool = BufferPool::default();
        let counts = |pool: &BufferPool| {
            let arrays = pool.arrays();
            (arrays.kept.len(), arrays.given_back.len())
        };
        let bytes_of = |count: usize| (count + count / 16) * size_of::<f64>();
        drop([pool.filled(1000, 1.0, WHAT).unwrap(), pool.filled(1000, 1.0, WHAT).unwrap()]);
        pool.begin();
        assert_eq!((counts(&pool), pool.bytes()), ((2, 0), 2 * bytes_of(1000)));
        drop(pool.room::<f64>(500, WHAT).unwrap());
        pool.begin();
        assert_eq!((counts(&pool), pool.bytes()), ((1, 0), bytes_of(1000)));
        // What was given back in a call serves it again.
        let first = pool.filled(1000, 1.0, WHAT).unwrap().as_ptr();
        assert_eq!(pool.unwritten(1000, 2.0, WHAT).unwrap().as_ptr(), first);
        assert_eq!(counts(&pool), (0, 1));
    }

    #[test]
    fn items_that_are_still_to_be_written_are_as_many_as_were_asked_for() {
        let pool = BufferPool::default();
        drop(pool.filled(100, 1, WHAT).unwrap());
        assert_eq!(pool.unwritten(70, 2, WHAT).unwrap()[..], [1; 70]);
        assert_eq!(pool.unwritten(90, 2, WHAT).unwrap().len(), 90);
        assert_eq!(pool.collected(0..90, WHAT).unwrap()[..], (0..90).collect::<Vec<_>>());
        assert!(pool.room::<i32>(90, WHAT).unwrap().is_empty());
    }
}
