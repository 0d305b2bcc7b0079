//! The squared softening lengths of the sources, which a system does not keep.

use std::collections::{BTreeMap, BTreeSet};

use crate::abi::refused::Refused;
use kyoho_core::{Result, memory};

/// The key of the sources of one squared softening. The keys of usable softenings ascend with them.
pub fn key(softening2: f64) -> u64 {
    // A negative zero gets the key of zero.
    (softening2 + 0.0).to_bits()
}

/// The number of addresses whose softenings lie side by side.
const PAGE: usize = 4096;

/// The squared softening length of each source that was written.
#[derive(Debug, Default)]
pub struct Softenings {
    /// The softenings by address, as they were written. It is NaN where there was no source.
    pages: Vec<Option<Box<[f64; PAGE]>>>,
    /// The number of sources that have each usable value, by the key of the value.
    counts: BTreeMap<u64, usize>,
    /// The addresses of the sources whose softening is not usable.
    unusable: Refused,
}

impl Softenings {
    /// Returns the softening of the source at an address, if one was written and it is not NaN.
    pub fn get(&self, address: usize) -> Option<f64> {
        let softening2 = self.pages.get(address / PAGE)?.as_ref()?[address % PAGE];
        (!softening2.is_nan()).then_some(softening2)
    }

    /// Sets the softening of the source at an address and returns the one before. An unusable one
    /// is kept, but is no value for the sums.
    pub fn set(&mut self, address: usize, softening2: f64, usable: bool) -> Result<Option<f64>> {
        let before = self.get(address);
        if before == Some(softening2) {
            return Ok(before);
        }
        self.page(address / PAGE)?[address % PAGE] = softening2;
        if usable {
            *self.counts.entry(key(softening2)).or_default() += 1;
            self.unusable.accept(address..address + 1);
        } else {
            self.unusable.refuse(address..address + 1);
        }
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
        const WHAT: &str = "softenings of sources";
        memory::lengthen(&mut self.pages, number + 1, WHAT, || None)?;
        match &mut self.pages[number] {
            Some(page) => Ok(page),
            none => {
                let page = bytemuck::try_zeroed_box();
                let mut page: Box<[f64; PAGE]> = page.map_err(|()| memory::none::<f64>(PAGE, WHAT))?;
                page.fill(f64::NAN);
                Ok(none.insert(page))
            }
        }
    }

    /// Returns the lowest address of a source whose softening is not usable, if it is below `nj`.
    pub fn unusable_below(&self, nj: usize) -> Option<usize> {
        self.unusable.below(nj)
    }

    /// The usable values, which ascend.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.counts.keys().map(|key| f64::from_bits(*key))
    }

    /// Returns the different usable values of the sources at addresses below `nj`, which ascend.
    pub fn values_below(&self, nj: usize) -> Result<Vec<f64>> {
        let pages = self.pages.iter().zip((0..nj).step_by(PAGE));
        let below = pages.filter_map(|(page, first)| Some(&page.as_ref()?[..PAGE.min(nj - first)]));
        let usable = below.flatten().map(|value| key(*value)).filter(|key| self.counts.contains_key(key));
        let different: BTreeSet<u64> = usable.collect();
        memory::collected(different.into_iter().map(f64::from_bits), "softenings of sources")
    }

    /// Returns the addresses of the sources that have a value, which ascend.
    pub fn addresses(&self, softening2: f64) -> Result<Vec<usize>> {
        let pages = self.pages.iter().enumerate().filter_map(|(number, page)| Some((number * PAGE, page.as_ref()?)));
        let all =
            pages.flat_map(|(first, page)| page.iter().enumerate().map(move |(place, value)| (first + place, value)));
        let own = all.filter(|(_, value)| **value == softening2).map(|(address, _)| address);
        memory::collected(own, "addresses of sources")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_there_as_long_as_a_source_has_it() {
        let mut softenings = Softenings::default();
        assert_eq!((softenings.get(3), softenings.values().count()), (None, 0));
        assert_eq!(softenings.set(3, 0.5, true), Ok(None));
        assert_eq!(softenings.set(1, 0.25, true), Ok(None));
        assert_eq!(softenings.set(9, 0.5, true), Ok(None));
        assert_eq!(softenings.values().collect::<Vec<_>>(), [0.25, 0.5]);
        assert_eq!(softenings.addresses(0.5).unwrap(), [3, 9]);
        assert_eq!(softenings.set(3, 0.25, true), Ok(Some(0.5)));
        assert_eq!(softenings.set(9, 0.25, true), Ok(Some(0.5)));
        assert_eq!(softenings.values().collect::<Vec<_>>(), [0.25]);
        assert_eq!(softenings.addresses(0.25).unwrap(), [1, 3, 9]);
    }

    #[test]
    fn values_below_an_address_are_those_that_its_sources_have() {
        let mut softenings = Softenings::default();
        let given = [(0, 0.5), (1, -1.0), (2, 0.25), (3, 0.5), (PAGE, 2.0), (3 * PAGE + 1, 0.125)];
        for (address, value) in given {
            softenings.set(address, value, value >= 0.0).unwrap();
        }
        let below = |nj: usize| softenings.values_below(nj).unwrap();
        assert_eq!([below(0), below(1), below(2)], [vec![], vec![0.5], vec![0.5]]);
        assert_eq!([below(3), below(PAGE)], [[0.25, 0.5], [0.25, 0.5]]);
        assert_eq!(below(PAGE + 1), [0.25, 0.5, 2.0]);
        assert_eq!([below(3 * PAGE + 1), below(3 * PAGE + 2)], [vec![0.25, 0.5, 2.0], vec![0.125, 0.25, 0.5, 2.0]]);
        assert_eq!(below(usize::MAX).len(), 4);
    }

    #[test]
    fn a_negative_zero_is_a_zero() {
        let mut softenings = Softenings::default();
        softenings.set(0, -0.0, true).unwrap();
        softenings.set(1, 0.0, true).unwrap();
        assert_eq!(softenings.values().count(), 1);
        assert_eq!(softenings.addresses(0.0).unwrap(), [0, 1]);
        assert_eq!(softenings.set(0, 0.0, true), Ok(Some(0.0)));
        assert_eq!(softenings.values().count(), 1);
    }

    #[test]
    fn what_cannot_be_used_is_kept_and_no_value() {
        let mut softenings = Softenings::default();
        softenings.set(2, 0.5, true).unwrap();
        for unusable in [-1.0, f64::INFINITY, f64::NAN] {
            let before = softenings.get(2);
            assert_eq!(softenings.set(2, unusable, false), Ok(before));
            assert_eq!(softenings.get(2), Some(unusable).filter(|value| !value.is_nan()));
            assert_eq!(
                (softenings.values().count(), softenings.unusable_below(2), softenings.unusable_below(3)),
                (0, None, Some(2))
            );
        }
        assert_eq!(softenings.set(2, 0.25, true), Ok(None));
        assert_eq!((softenings.values().count(), softenings.unusable_below(3)), (1, None));
    }
}
