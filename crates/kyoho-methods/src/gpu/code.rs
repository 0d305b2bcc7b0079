//! The GPU code of each interaction: images for CUDA, and source with definitions for OpenCL.

use kyoho_core::{Interaction, Result};
use kyoho_hal::gpu::{Code, Gpu, Images};

use super::constants::{defines, defines_of_lists, defines_of_steps, unit, unit_of_lists, unit_of_steps};

/// The packs of `kernels/generated/`.
static PACKS: &[&[u8]] = include!(concat!(env!("OUT_DIR"), "/packs.rs"));

/// The source of the kernels, for OpenCL.
const SOURCE: &str = include_str!(concat!(env!("OUT_DIR"), "/direct.cl"));

/// The source of the kernels of interaction lists, for OpenCL.
const SOURCE_OF_LISTS: &str = include_str!(concat!(env!("OUT_DIR"), "/lists.cl"));

/// The source of the kernels of arrays of callers, for OpenCL.
const SOURCE_OF_ARRAYS: &str = include_str!(concat!(env!("OUT_DIR"), "/arrays.cl"));

/// The source of the kernels of block steps, for OpenCL.
const SOURCE_OF_STEPS: &str = include_str!(concat!(env!("OUT_DIR"), "/steps.cl"));

/// The source of the kernels of trees, for OpenCL.
pub const SOURCE_OF_TREES: &str = include_str!(concat!(env!("OUT_DIR"), "/tree.cl"));

/// The source of the kernels of expansions of an order, for OpenCL.
pub const SOURCE_OF_EXPANSIONS: &str = include_str!(concat!(env!("OUT_DIR"), "/expansions.cl"));

/// The source of the kernel of systems of few bodies, for OpenCL.
pub const SOURCE_OF_FEW_BODIES: &str = include_str!(concat!(env!("OUT_DIR"), "/few_body.cl"));

/// Loads the kernels of these names for an interaction.
pub fn load<G: Gpu>(gpu: &G, interaction: &Interaction, kernels: &[&str]) -> Result<Vec<G::Kernel>> {
    let defines = defines(interaction);
    load_unit(gpu, (&interaction.name(), &unit(interaction)), (SOURCE, &defines), kernels)
}

/// Loads the kernels of these names for the interaction lists of an interaction.
pub fn load_lists<G: Gpu>(gpu: &G, interaction: &Interaction, kernels: &[&str]) -> Result<Vec<G::Kernel>> {
    let (name, defines) = (format!("lists of {}", interaction.name()), defines_of_lists(interaction));
    load_unit(gpu, (&name, &unit_of_lists(interaction)), (SOURCE_OF_LISTS, &defines), kernels)
}

/// Loads the kernels of these names for the block steps of an interaction, of bodies in up to so many groups.
pub fn load_steps<G: Gpu>(
    gpu: &G,
    (interaction, groups): (&Interaction, usize),
    kernels: &[&str],
) -> Result<Vec<G::Kernel>> {
    let name = format!("block steps of {}", interaction.name());
    let defines = defines_of_steps(interaction, groups);
    load_unit(gpu, (&name, &unit_of_steps(interaction, groups)), (SOURCE_OF_STEPS, &defines), kernels)
}

/// Loads the kernels of these names for arrays of callers.
pub fn load_arrays<G: Gpu>(gpu: &G, kernels: &[&str]) -> Result<Vec<G::Kernel>> {
    load_unit(gpu, ("arrays of callers", "arrays"), (SOURCE_OF_ARRAYS, &[]), kernels)
}

/// Loads the kernels of these names from a unit, of which OpenCL's compilers get the source.
pub fn load_unit<G: Gpu>(
    gpu: &G,
    (name, unit): (&str, &str),
    (source, defines): (&str, &[(String, i64)]),
    kernels: &[&str],
) -> Result<Vec<G::Kernel>> {
    gpu.load(&Code { name, images: Images::Packed { packs: PACKS, unit }, source, defines }, kernels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kyoho_core::Order;
    use kyoho_hal::cuda::units;
    use kyoho_laws::catalogue::with_kernels;

    use crate::block_steps::MOST_GROUPS;

    #[test]
    fn each_entry_of_the_catalogue_has_its_code_and_nothing_else_has() {
        let mut expected: Vec<String> = with_kernels().map(|entry| unit(entry)).collect();
        let full = with_kernels().filter(|entry| !entry.is_regular());
        expected.extend(full.map(|entry| unit_of_lists(entry)));
        expected.push("arrays".into());
        let steps = with_kernels().filter(|entry| !entry.is_regular() && entry.order > Order::Second);
        expected.extend(steps.flat_map(|entry| [1, MOST_GROUPS].map(|groups| unit_of_steps(entry, groups))));
        expected.sort();
        let mut found = units(PACKS);
        found.retain(|name| !name.starts_with("tree") && !name.starts_with("few_body"));
        assert_eq!(expected, found);
    }
}
