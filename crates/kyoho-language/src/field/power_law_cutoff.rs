//! The field of a power law with a cutoff, whose formulas hold for some exponents.

use kyoho_core::error::shown;
use kyoho_core::{Error, Result};

/// Returns the text of the field from the numbers of its parameters, of which the second is `exponent`.
pub fn text(numbers: &[f64]) -> Result<String> {
    let exponent = numbers[1];
    if !(0.0..2.0).contains(&exponent) {
        return Err(Error::BadOption {
            name: "the exponent of power_law_cutoff".into(),
            value: shown(exponent),
            allowed: "from 0 to below 2".into(),
        });
    }
    Ok(include_str!("power_law_cutoff.pair").into())
}
