//! Numbers on the command line. Counts are whole numbers as digits, or as `1e6` and `1.5e3`.

use std::ops::RangeBounds;

/// The largest whole number below which all are exact in double.
const EXACT: f64 = 9007199254740992.0;

/// Returns the parser of an option that takes the counts of a range.
pub fn count<T: TryFrom<u64>>(
    range: impl RangeBounds<u64> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |word| {
        let found = parsed(word).filter(|number| range.contains(number));
        found.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            let bounds = (range.start_bound(), range.end_bound());
            format!("allowed: {}", allowed::<T>(bounds))
        })
    }
}

/// Parses the value of an option that takes any number.
pub fn number(word: &str) -> Result<f64, String> {
    word.parse().map_err(|_| "allowed: numbers, such as 0.01 or 1e-3".into())
}

/// Parses an order. Which ones are there depends on what they are for.
pub fn order(word: &str) -> Result<i32, String> {
    word.parse().map_err(|_| "allowed: 2, 4, 6, 8".into())
}

/// Returns the whole number that a word means.
fn parsed(word: &str) -> Option<u64> {
    if let Ok(number) = word.parse() {
        return Some(number);
    }
    let number = word.parse::<f64>().ok()?;
    ((0.0..=EXACT).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}

/// Describes the numbers of a range.
fn allowed<T: TryFrom<u64>>((from, to): (std::ops::Bound<&u64>, std::ops::Bound<&u64>)) -> String {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let least = match from {
        Included(least) => *least,
        Excluded(below) => below + 1,
        Unbounded => 0,
    };
    // Without a bound it is that of the type.
    let largest = |bits: u32| u64::MAX >> (64 - bits);
    let of_type = || [64, 32, 16, 8].into_iter().map(largest).find(|most| T::try_from(*most).is_ok());
    let most = match to {
        Included(most) => *most,
        Excluded(above) => above - 1,
        Unbounded => of_type().unwrap_or(u64::MAX),
    };
    let example = if (least..=most).contains(&1000) { ", such as 1000 or 1e3" } else { "" };
    format!("whole numbers from {least} to {most}{example}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_may_have_an_exponent_and_must_be_whole() {
        let parse = count::<u32>(2..=1 << 30);
        for (word, number) in [("2", 2), ("1e3", 1000), ("1E3", 1000), ("1.5e3", 1500), ("1073741824", 1 << 30)] {
            assert_eq!(parse(word), Ok(number), "{word}");
        }
        for word in ["1", "", "-1e3", "1e-3", "2.5", "1e10", "nan", "inf", "many", "1e400", "2e", "0x10"] {
            let expected = "allowed: whole numbers from 2 to 1073741824, such as 1000 or 1e3";
            assert_eq!(parse(word), Err(expected.into()), "{word}");
        }
        assert_eq!(count::<u8>(3..=4)("5"), Err("allowed: whole numbers from 3 to 4".into()));
        assert_eq!(count::<u64>(..)("18446744073709551615"), Ok(u64::MAX));
        let too_large = count::<u16>(1..)("1e5").unwrap_err();
        assert!(too_large.ends_with("whole numbers from 1 to 65535, such as 1000 or 1e3"), "{too_large}");
    }
}
