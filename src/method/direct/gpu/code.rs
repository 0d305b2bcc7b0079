//! The GPU code of each interaction: images for CUDA, and source with definitions for OpenCL.

use crate::data::{Descriptor, Error, Precision, Result};
use crate::hal::gpu::{Code, Gpu};

/// The packs of `kernels/generated/`, by name.
static PACKS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/packs.rs"));

/// The source of the kernels, for OpenCL.
const SOURCE: &str = include_str!(concat!(env!("OUT_DIR"), "/direct.cl"));

/// Loads the kernels of these names for an interaction.
pub fn load<G: Gpu>(gpu: &G, descriptor: &Descriptor, kernels: &[&str]) -> Result<Vec<G::Kernel>> {
    let unit = unit(descriptor);
    let (_, pack) = PACKS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(|| Error::Internal { what: format!("there is no GPU code {unit}") })?;
    let defines = defines(descriptor);
    gpu.load(&Code { name: &descriptor.name(), pack, source: SOURCE, defines: &defines }, kernels)
}

/// Returns the name of the translation unit of an interaction, and of its pack.
pub fn unit(descriptor: &Descriptor) -> String {
    let scope = if descriptor.is_regular() { "regular_" } else { "" };
    format!("order{}_{scope}{}", descriptor.order as i32, descriptor.precision.name())
}

/// Returns the definitions that make the kernels those of an interaction.
pub fn defines(descriptor: &Descriptor) -> Vec<(String, i64)> {
    let precision = match descriptor.precision {
        Precision::Single => 1,
        Precision::Mixed => 2,
        Precision::Double | Precision::Quad => 3,
    };
    let numbers =
        [("ORDER", descriptor.order as i64), ("PRECISION", precision), ("REGULAR", i64::from(descriptor.is_regular()))];
    numbers.into_iter().map(|(name, number)| (name.to_owned(), number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::catalogue::CATALOGUE;

    #[test]
    fn each_entry_of_the_catalogue_has_a_pack_and_nothing_else_has() {
        let mut units: Vec<String> = CATALOGUE.iter().map(unit).collect();
        units.sort();
        let packs: Vec<&str> = PACKS.iter().map(|(name, _)| *name).collect();
        assert_eq!(units, packs);
    }
}
