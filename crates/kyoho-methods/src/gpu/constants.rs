//! The numbers that the library and `kernels/` share and that belong to one interaction: [`defines`],
//! which `kernels/generated/units.json` lists for
//! CUDA and OpenCL's compilers get as options.

use kyoho_core::records::{RECORD_WORDS, index_word, lines_of_record};
use kyoho_core::{CHUNK, Interaction, Precision, sinks};

use super::pack;
use super::shapes::SHAPES;
use super::tuning::{self, LIST_THREADS};

/// Returns the name of the translation unit of an interaction, and of its pack of compiled code.
pub fn unit(interaction: &Interaction) -> String {
    let scope = if interaction.is_regular() { "regular_" } else { "" };
    format!("order{}_{scope}{}", interaction.order as i32, interaction.precision.name())
}

/// Returns the name of the translation unit of the interaction lists of an interaction.
pub fn unit_of_lists(interaction: &Interaction) -> String {
    format!("lists_{}", unit(interaction))
}

/// Returns the definitions that make the kernels of interaction lists those of an interaction.
pub fn defines_of_lists(interaction: &Interaction) -> Vec<(String, i64)> {
    let list = tuning::of(interaction).list(interaction);
    let mut defines = common(interaction);
    defines.extend(
        [("SINKS", list.sinks), ("RESIDENT", list.resident), ("TILE", list.tile), ("UNROLLED", list.unrolled)]
            .map(|(name, number)| (format!("LIST_{name}"), number as i64)),
    );
    defines.push(("ITEM_SINK_BITS".into(), i64::from((LIST_THREADS * list.sinks).ilog2())));
    defines
}

/// Returns the name of the translation unit of the block steps of an interaction, of bodies in up to so many
/// groups.
pub fn unit_of_steps(interaction: &Interaction, groups: usize) -> String {
    format!("{}_{}", if groups > 1 { "group_steps" } else { "steps" }, unit(interaction))
}

/// Returns the definitions of that unit.
pub fn defines_of_steps(interaction: &Interaction, groups: usize) -> Vec<(String, i64)> {
    let mut defines = defines(interaction);
    defines.push(("GROUPS_OF_KERNELS".into(), groups as i64));
    defines
}

/// Returns the definitions that make the kernels of direct sums those of an interaction.
pub fn defines(interaction: &Interaction) -> Vec<(String, i64)> {
    let tuning = tuning::of(interaction);
    let number = |count: usize| count as i64;
    let mut defines = common(interaction);
    defines.push(("END_RESIDENT".into(), number(tuning.end_resident)));
    defines.push(("WAITS_FOR_BLOCKS".into(), i64::from(tuning::has_waiting_kernel(interaction))));
    for (place, shape) in SHAPES.iter().enumerate() {
        defines.extend(
            [
                ("SINKS", number(tuning.sinks[place])),
                ("ACCUMULATORS", number(shape.accumulators(interaction))),
                ("RESIDENT", number(tuning.resident[place])),
                ("UNROLLED", number(tuning.unrolled[place])),
                ("AHEAD", i64::from(tuning.loads_ahead[place])),
            ]
            .map(|(name, number)| (format!("{name}_{place}"), number)),
        );
    }
    defines
}

/// Returns the definitions of an interaction that all kernels need.
fn common(interaction: &Interaction) -> Vec<(String, i64)> {
    let number = |count: usize| count as i64;
    let is = |precision: Precision| i64::from(interaction.precision == precision);
    let words = RECORD_WORDS * lines_of_record(interaction.n_coefficients);
    [
        ("IS_DOUBLE", is(Precision::Double)),
        ("IS_MIXED", is(Precision::Mixed)),
        ("REGULAR", i64::from(interaction.is_regular())),
        ("NEAREST", i64::from(interaction.nearest)),
        ("N_COEFFICIENTS", number(interaction.n_coefficients)),
        ("N_DERIVATIVES", number(interaction.n_derivatives)),
        ("N_OUTPUTS", number(interaction.n_outputs)),
        ("SOURCE_ROWS", number(pack::chunk_numbers(interaction) / CHUNK)),
        ("ROWS", number(pack::rows(interaction))),
        ("SINK_NUMBERS", number(sinks::width(interaction))),
        ("RECORD_WORDS", number(words)),
        ("INDEX_WORD", number(index_word(words))),
    ]
    .map(|(name, number)| (name.to_owned(), number))
    .into()
}
