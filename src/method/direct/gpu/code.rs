//! The GPU code of each interaction: images for CUDA, and source with definitions for OpenCL.

use crate::data::{Error, Interaction, Precision, Result};
use crate::hal::gpu::{Code, Gpu};

/// The packs of `kernels/generated/`, by name.
static PACKS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/packs.rs"));

/// The source of the kernels, for OpenCL.
const SOURCE: &str = include_str!(concat!(env!("OUT_DIR"), "/direct.cl"));

/// Loads the kernels of these names for an interaction.
pub fn load<G: Gpu>(gpu: &G, interaction: &Interaction, kernels: &[&str]) -> Result<Vec<G::Kernel>> {
    let unit = unit(interaction);
    let (_, pack) = PACKS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(|| Error::Internal { what: format!("there is no GPU code {unit}") })?;
    let defines = defines(interaction);
    gpu.load(&Code { name: &interaction.name(), pack, source: SOURCE, defines: &defines }, kernels)
}

/// Returns the name of the translation unit of an interaction, and of its pack.
pub fn unit(interaction: &Interaction) -> String {
    let scope = if interaction.is_regular() { "regular_" } else { "" };
    format!("order{}_{scope}{}", interaction.order as i32, interaction.precision.name())
}

/// Returns the definitions that make the kernels those of an interaction.
pub fn defines(interaction: &Interaction) -> Vec<(String, i64)> {
    let precision = match interaction.precision {
        Precision::Single => 1,
        Precision::Mixed => 2,
        Precision::Double | Precision::Quad => 3,
    };
    let numbers = [
        ("ORDER", interaction.order as i64),
        ("PRECISION", precision),
        ("REGULAR", i64::from(interaction.is_regular())),
    ];
    numbers.into_iter().map(|(name, number)| (name.to_owned(), number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::catalogue::CATALOGUE;

    #[test]
    fn each_entry_of_the_catalogue_has_a_pack_and_nothing_else_has() {
        let mut units: Vec<String> = CATALOGUE.iter().map(|entry| unit(entry)).collect();
        units.sort();
        let packs: Vec<&str> = PACKS.iter().map(|(name, _)| *name).collect();
        assert_eq!(units, packs);
    }
}
