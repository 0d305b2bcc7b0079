//! The list of what can be computed.

use std::ffi::CString;
use std::sync::Arc;
use std::sync::OnceLock;

use kyoho_core::{Error, Interaction, Result, ResultCode};
use kyoho_laws::catalogue::CATALOGUE;

use super::call;
use super::structures::{self, kyoho_interaction};

/// Returns the descriptions of the catalogue, in its order.
fn descriptions() -> &'static [CString] {
    static DESCRIPTIONS: OnceLock<Vec<CString>> = OnceLock::new();
    let text = |entry: &Arc<Interaction>| CString::new(&*entry.documentation).unwrap_or_default();
    DESCRIPTIONS.get_or_init(|| CATALOGUE.iter().map(text).collect())
}

/// Returns the structure that describes the interaction of a system.
pub fn interaction_of(interaction: &Interaction) -> Result<kyoho_interaction> {
    let kind = |entry: &Interaction| (entry.order, entry.precision, entry.scope);
    let number = CATALOGUE.iter().position(|entry| kind(entry) == kind(interaction));
    let description = number.and_then(|number| descriptions().get(number));
    let description = description.ok_or_else(|| Error::Internal { what: "an interaction is in no list".into() })?;
    Ok(kyoho_interaction {
        order: interaction.order as i32,
        precision: interaction.precision as i32,
        scope: interaction.scope as i32,
        n_coefficients: interaction.n_coefficients as i32,
        n_derivatives: interaction.n_derivatives as i32,
        n_outputs: interaction.n_outputs as i32,
        has_nearest: interaction.nearest.into(),
        has_neighbours: interaction.has_lists().into(),
        flops_per_pair: interaction.flops_per_pair as i32,
        tolerance: interaction.tolerance,
        description: description.as_ptr(),
        ..structures::empty()
    })
}

/// The number of interactions that can be computed: orders, each in some precisions and scopes. All
/// backends compute all of them.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_interaction_count() -> i32 {
    CATALOGUE.len() as i32
}

/// Describes one of the interactions that can be computed. `number` counts from 0.
///
/// Errors: KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (there are fewer), KYOHO_BAD_OPTION (a
/// `structure_size` that is not allowed).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_interaction_describe(number: i32, interaction: *mut kyoho_interaction) -> ResultCode {
    call(|| {
        let entry = usize::try_from(number).ok().and_then(|number| CATALOGUE.get(number));
        let entry = entry.ok_or_else(|| Error::BadCount {
            what: "the number of the interaction",
            value: number.into(),
            allowed: format!("0 to {}", CATALOGUE.len() - 1),
        })?;
        // SAFETY: null or a structure.
        unsafe { structures::write("interaction", interaction, interaction_of(entry)?) }
    })
}
