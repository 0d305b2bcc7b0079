//! The GPU code of each interaction: images for CUDA, and source with definitions for OpenCL.

use crate::data::{Error, Interaction, Result};
use crate::hal::gpu::{Code, Gpu};

use super::constants::{defines, unit};

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
