//! Functions for the pictures of all subcommands.

use std::ops::Range;
use std::path::Path;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

use crate::failure::{Failure, Result};
use crate::file;

/// Tests whether a picture of this name can be drawn.
pub fn check(path: &Path) -> Result<()> {
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg")) {
        return Ok(());
    }
    Err(Failure::Argument {
        option: "--plot",
        value: path.display().to_string(),
        allowed: "names that end in .svg".into(),
    })
}

/// Tests whether a picture can be written to this path. It is called before hours of work, so that
/// they are not lost.
pub fn try_path(path: &Path) -> Result<()> {
    check(path)?;
    file::try_writing(path).map_err(|error| Failure::file(path, error))
}

/// Returns the whole decades, at least one, that hold all of these positive numbers, or `None`
/// without any number.
pub fn decades(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (lowest, highest) = numbers.fold(None, |range, number| {
        let (lowest, highest) = range.unwrap_or((number, number));
        Some((number.min(lowest), number.max(highest)))
    })?;
    let lowest = lowest.log10().floor();
    Some((10f64.powf(lowest), 10f64.powf(highest.log10().ceil().max(lowest + 1.0))))
}

/// The most labels of an axis.
const LABELS: usize = 11;

/// A logarithmic axis, with labels at powers of its base or, on one or two decades, at 1, 2 and 5
/// times these.
pub struct Logarithmic {
    /// Its ends.
    pub ends: (f64, f64),
    /// The base: 2 or 10.
    pub base: f64,
}

impl Logarithmic {
    /// Returns the numbers at these multiples of powers of the base, as far as they are on the axis.
    fn multiples(&self, of: &[f64]) -> Vec<f64> {
        // The ends are powers, but for their rounding.
        let [lowest, highest] = [self.ends.0 * (1.0 - 1e-9), self.ends.1 * (1.0 + 1e-9)];
        let [first, last] = [lowest, highest].map(|end| end.log(self.base).floor() as i32);
        let all = (first..=last).flat_map(|power| of.iter().map(move |factor| factor * self.base.powi(power)));
        all.filter(|number| (lowest..=highest).contains(number)).collect()
    }

    /// Returns the numbers with labels.
    fn labels(&self) -> Vec<f64> {
        let powers = self.multiples(&[1.0]);
        if self.base == 10.0 && powers.len() <= 3 {
            return self.multiples(&[1.0, 2.0, 5.0]);
        }
        let step = powers.len().div_ceil(LABELS);
        powers.into_iter().step_by(step).collect()
    }
}

impl Ranged for Logarithmic {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let part = (value / self.ends.0).ln() / (self.ends.1 / self.ends.0).ln();
        first + (f64::from(last - first) * part).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let is_fine = self.base == 10.0 && self.multiples(&[1.0]).len() <= LABELS;
        match hint.weight().allow_light_points() {
            true if is_fine => self.multiples(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]),
            true => self.multiples(&[1.0]),
            false => self.labels(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.ends.0..self.ends.1
    }
}

/// Returns the label of a number on an axis. Powers of ten are not exact in double, and single has
/// fewer digits than their error.
pub fn label(number: &f64) -> String {
    let number = *number as f32;
    if (1e-3..1e8).contains(&number) { number.to_string() } else { format!("{number:e}") }
}

/// Returns the size of the letters of a title, with which it fits above a picture.
pub fn title_size(title: &str, width: u32) -> f64 {
    (1.8 * f64::from(width) / title.chars().count().max(1) as f64).min(18.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_decades_hold_the_numbers() {
        assert_eq!(decades([3e-9, 2e-12, 4e-7].into_iter()), Some((1e-12, 1e-6)));
        assert_eq!(decades([3e-9].into_iter()), Some((1e-9, 1e-8)));
        assert_eq!(decades([1.0].into_iter()), Some((1.0, 10.0)));
        assert_eq!(decades(std::iter::empty()), None);
    }

    #[test]
    fn labels_are_round_numbers_with_the_ends_of_decades() {
        let labels = |ends: (f64, f64), base: f64| -> Vec<String> {
            Logarithmic { ends, base }.labels().iter().map(label).collect()
        };
        assert_eq!(labels((1e3, 1e4), 10.0), ["1000", "2000", "5000", "10000"]);
        assert_eq!(labels((1e-5, 1e-3), 10.0), ["1e-5", "2e-5", "5e-5", "1e-4", "2e-4", "5e-4", "0.001"]);
        assert_eq!(labels((1e-16, 1e-13), 10.0), ["1e-16", "1e-15", "1e-14", "1e-13"]);
        assert_eq!(labels((1e-3, 1e12), 10.0), ["0.001", "0.1", "10", "1000", "100000", "10000000", "1e9", "1e11"]);
        assert_eq!(labels((0.84, 4.76), 2.0), ["1", "2", "4"]);
        assert!(labels((200.0, 1e9), 2.0).len() <= LABELS);
        let axis = Logarithmic { ends: (1.0, 100.0), base: 10.0 };
        assert_eq!([1.0, 10.0, 100.0].map(|number| axis.map(&number, (500, 100))), [500, 300, 100]);
    }

    #[test]
    fn only_svg_is_drawn() {
        assert!(check(Path::new("energy.svg")).is_ok() && check(Path::new("energy.SVG")).is_ok());
        let error = check(Path::new("energy.png")).unwrap_err().to_string();
        assert!(error.contains("energy.png") && error.contains(".svg"), "{error}");
    }
}
