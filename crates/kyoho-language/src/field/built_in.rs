//! The texts of fields that have names.

use kyoho_core::Result;

use super::{king, power_law_cutoff};

/// A function that makes a text from the numbers of all parameters.
pub type Maker = fn(&[f64]) -> Result<String>;

/// A field that the library has by its name.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// The name.
    pub name: &'static str,
    /// The text.
    pub text: &'static str,
    /// What makes the text that is evaluated from the numbers of all parameters, where these have to be
    /// known, or looked at. Then `text` may have no more than the parameters.
    pub made: Option<Maker>,
}

macro_rules! built_in {
    ($($name:literal $(made by $made:expr)?,)*) => {
        [$(BuiltIn { name: $name, text: include_str!(concat!($name, ".pair")), made: made!($($made)?) },)*]
    };
}

macro_rules! made {
    () => {
        None
    };
    ($made:expr) => {
        Some($made)
    };
}

/// All of them.
pub const BUILT_IN: [BuiltIn; 12] = built_in![
    "point_mass",
    "plummer",
    "hernquist",
    "nfw",
    "miyamoto_nagai",
    "king" made by king::text,
    "logarithmic_halo",
    "power_law_cutoff" made by power_law_cutoff::text,
    "milky_way_2014",
    "solar_tide",
    "tidal_tensor",
    "chandrasekhar_friction",
];

impl BuiltIn {
    /// Returns the field with a name.
    pub fn from_name(name: &str) -> Option<BuiltIn> {
        BUILT_IN.into_iter().find(|field| field.name == name)
    }
}

#[cfg(test)]
mod tests;
