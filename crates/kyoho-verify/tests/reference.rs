//! The slow and obvious sums are what their definitions say, and the suite misses none of its checks.

#[path = "reference/forces.rs"]
mod forces;
#[path = "reference/regular.rs"]
mod regular;

use kyoho_laws::catalogue::CATALOGUE;
use kyoho_verify::{CHECKS, shapes_without_a_block};

#[test]
fn checks_have_names_of_their_own() {
    let mut names: Vec<_> = CHECKS.iter().map(|check| check.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CHECKS.len());
}

#[test]
fn every_shape_fits_some_block() {
    for entry in CATALOGUE.iter() {
        let none = shapes_without_a_block(entry);
        assert!(none.is_empty(), "{none:?} in order {:?} {:?}", entry.order, entry.precision);
    }
}
