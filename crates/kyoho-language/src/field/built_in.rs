//! The texts of fields that have names.

/// A field that the library has by its name.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// The name.
    pub name: &'static str,
    /// The text.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal,)*) => {
        [$(BuiltIn { name: $name, text: include_str!(concat!($name, ".pair")) },)*]
    };
}

/// All of them.
pub const BUILT_IN: [BuiltIn; 11] = built_in![
    "point_mass",
    "plummer",
    "hernquist",
    "nfw",
    "miyamoto_nagai",
    "logarithmic_halo",
    "power_law_cutoff",
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
