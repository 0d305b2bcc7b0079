//! Tests of `sources`.

use super::*;

fn listed(sources: &Sources, stamp: u64) -> Option<Vec<u32>> {
    match sources.written_since(stamp) {
        Written::Addresses(addresses) => Some(addresses.to_vec()),
        Written::Many => None,
    }
}

#[test]
fn addresses_are_listed_since_the_last_time_they_were_forgotten() {
    let mut sources = Sources::new(1);
    sources.write(3, &Source::default()).unwrap();
    let first = sources.stamp();
    sources.forget_written();
    assert_eq!(listed(&sources, first), Some(vec![]));
    sources.write(7, &Source::default()).unwrap();
    assert_eq!(listed(&sources, first), Some(vec![7]));
    sources.forget_written();
    assert_eq!(listed(&sources, first), None, "7 is forgotten");
    let second = sources.stamp();
    sources.write_back(3, &Source::default()).unwrap();
    assert_eq!(listed(&sources, second), None, "3 is in no list");
    assert_eq!(listed(&sources, sources.stamp()), Some(vec![]));
    // A device that has the sources of before has none of the new ones.
    assert_eq!(listed(&sources.successor().unwrap(), sources.stamp()), None);
}
