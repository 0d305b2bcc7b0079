//! The addresses whose source was refused. Every force that needs one fails until it is written
//! again.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of addresses, kept as ranges that neither overlap nor touch.
#[derive(Debug, Default)]
pub struct Refused {
    /// The end of each range by its start.
    ends: BTreeMap<usize, usize>,
}

impl Refused {
    /// Makes an empty set.
    pub const fn new() -> Refused {
        Refused { ends: BTreeMap::new() }
    }

    /// Whether no source was refused.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Notes that the sources at these addresses were refused.
    pub fn refuse(&mut self, mut addresses: Range<usize>) {
        if addresses.is_empty() {
            return;
        }
        while let Some((start, end)) = self.last_before(addresses.end + 1).filter(|(_, end)| *end >= addresses.start) {
            self.ends.remove(&start);
            addresses = addresses.start.min(start)..addresses.end.max(end);
        }
        self.ends.insert(addresses.start, addresses.end);
    }

    /// Notes that the sources at these addresses were written.
    pub fn accept(&mut self, addresses: Range<usize>) {
        if self.ends.is_empty() || addresses.is_empty() {
            return;
        }
        while let Some((start, end)) = self.last_before(addresses.end).filter(|(_, end)| *end > addresses.start) {
            self.ends.remove(&start);
            if end > addresses.end {
                self.ends.insert(addresses.end, end);
            }
            if start < addresses.start {
                self.ends.insert(start, addresses.start);
            }
        }
    }

    /// Whether the source at an address was refused.
    pub fn contains(&self, address: usize) -> bool {
        self.last_before(address + 1).is_some_and(|(_, end)| end > address)
    }

    /// Returns the lowest refused address, if it is below `nj`.
    pub fn below(&self, nj: usize) -> Option<usize> {
        self.ends.keys().next().copied().filter(|start| *start < nj)
    }

    fn last_before(&self, address: usize) -> Option<(usize, usize)> {
        self.ends.range(..address).next_back().map(|(start, end)| (*start, *end))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_set_of_addresses_that_were_refused_last(
            calls in proptest::collection::vec((any::<bool>(), 0usize..40, 0usize..12), 0..40)
        ) {
            let (mut refused, mut model) = (Refused::new(), BTreeSet::new());
            for (refuse, start, length) in calls {
                let range = start..start + length;
                if refuse {
                    refused.refuse(range.clone());
                    model.extend(range);
                } else {
                    refused.accept(range.clone());
                    model.retain(|address| !range.contains(address));
                }
                let held: BTreeSet<usize> = refused.ends.iter().flat_map(|(start, end)| *start..*end).collect();
                prop_assert_eq!(&held, &model);
                for nj in 0..60 {
                    prop_assert_eq!(refused.contains(nj), model.contains(&nj));
                    prop_assert_eq!(refused.below(nj), model.range(..nj).next().copied());
                }
            }
        }
    }
}
