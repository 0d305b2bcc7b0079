//! What the pictures of the subcommands have in common.

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::file;

/// Whether a picture of this name can be drawn.
pub fn check(path: &Path) -> Result<()> {
    match path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg")) {
        true => Ok(()),
        false => Err(Failure::Argument {
            option: "--plot",
            value: path.display().to_string(),
            allowed: "names that end in .svg".into(),
        }),
    }
}

/// Whether a picture can be written to this path: better known before hours of work than after
/// them.
pub fn try_path(path: &Path) -> Result<()> {
    check(path)?;
    file::try_writing(path).map_err(|error| Failure::file(path, error))
}

/// The whole decades, at least one, that hold all of these positive numbers; `None` without any.
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
