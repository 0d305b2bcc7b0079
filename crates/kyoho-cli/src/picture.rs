//! Functions for the pictures of all subcommands.

use std::path::Path;

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
    fn only_svg_is_drawn() {
        assert!(check(Path::new("energy.svg")).is_ok() && check(Path::new("energy.SVG")).is_ok());
        let error = check(Path::new("energy.png")).unwrap_err().to_string();
        assert!(error.contains("energy.png") && error.contains(".svg"), "{error}");
    }
}
