//! The squared softening lengths of the sources, which a system does not keep.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// The number by which sources of one squared softening, 0 or more, are told from others. It is the greater the greater
/// that is.
pub fn key(softening2: f64) -> u64 {
    // A negative zero is a zero.
    (softening2 + 0.0).to_bits()
}

/// Addresses whose softenings lie side by side.
const PAGE: usize = 4096;

/// The squared softening length of each source that was written.
#[derive(Debug, Default)]
pub struct Softenings {
    /// By address; no number where no source was written.
    pages: Vec<Option<Box<[f64; PAGE]>>>,
    /// How many sources have each value, by its key.
    counts: BTreeMap<u64, usize>,
}

impl Softenings {
    /// That of the source at an address, if one was written.
    pub fn get(&self, address: usize) -> Option<f64> {
        let softening2 = self.pages.get(address / PAGE)?.as_ref()?[address % PAGE];
        (!softening2.is_nan()).then_some(softening2)
    }

    /// Sets that of the source at an address, 0 or more; gives back what it was.
    pub fn set(&mut self, address: usize, softening2: f64) -> Result<Option<f64>> {
        let before = self.get(address);
        if before == Some(softening2) {
            return Ok(before);
        }
        self.page(address / PAGE)?[address % PAGE] = softening2;
        *self.counts.entry(key(softening2)).or_default() += 1;
        if let Some(before) = before.map(key)
            && let Some(count) = self.counts.get_mut(&before)
        {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&before);
            }
        }
        Ok(before)
    }

    fn page(&mut self, number: usize) -> Result<&mut [f64; PAGE]> {
        let no_memory =
            || Error::OutOfMemory { what: "softenings of sources", bytes: (number + 1) * size_of::<usize>() };
        if number >= self.pages.len() {
            self.pages.try_reserve(number + 1 - self.pages.len()).map_err(|_| no_memory())?;
            self.pages.resize_with(number + 1, || None);
        }
        match &mut self.pages[number] {
            Some(page) => Ok(page),
            none => {
                let mut page: Box<[f64; PAGE]> = bytemuck::try_zeroed_box().map_err(|()| no_memory())?;
                page.fill(f64::NAN);
                Ok(none.insert(page))
            }
        }
    }

    /// How many different values there are.
    pub fn distinct(&self) -> usize {
        self.counts.len()
    }

    /// The different values, ascending.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.counts.keys().map(|key| f64::from_bits(*key))
    }

    /// The addresses of the sources that have a value, ascending.
    pub fn addresses(&self, softening2: f64) -> Vec<usize> {
        let pages = self.pages.iter().enumerate().filter_map(|(number, page)| Some((number * PAGE, page.as_ref()?)));
        let all =
            pages.flat_map(|(first, page)| page.iter().enumerate().map(move |(place, value)| (first + place, value)));
        all.filter(|(_, value)| **value == softening2).map(|(address, _)| address).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_there_as_long_as_a_source_has_it() {
        let mut softenings = Softenings::default();
        assert_eq!((softenings.get(3), softenings.distinct()), (None, 0));
        assert_eq!(softenings.set(3, 0.5), Ok(None));
        assert_eq!(softenings.set(1, 0.25), Ok(None));
        assert_eq!(softenings.set(9, 0.5), Ok(None));
        assert_eq!(softenings.values().collect::<Vec<_>>(), [0.25, 0.5]);
        assert_eq!(softenings.addresses(0.5), [3, 9]);
        assert_eq!(softenings.set(3, 0.25), Ok(Some(0.5)));
        assert_eq!(softenings.set(9, 0.25), Ok(Some(0.5)));
        assert_eq!(softenings.values().collect::<Vec<_>>(), [0.25]);
        assert_eq!(softenings.addresses(0.25), [1, 3, 9]);
    }

    #[test]
    fn a_negative_zero_is_a_zero() {
        let mut softenings = Softenings::default();
        softenings.set(0, -0.0).unwrap();
        softenings.set(1, 0.0).unwrap();
        assert_eq!(softenings.distinct(), 1);
        assert_eq!(softenings.addresses(0.0), [0, 1]);
        assert_eq!(softenings.set(0, 0.0), Ok(Some(0.0)));
        assert_eq!(softenings.distinct(), 1);
    }
}
