//! The choice of the precision of forces.

use crate::failure::{Failure, Result};
use crate::machine::named;
use kyoho::config::Settings;
use kyoho_core::{Order, Precision};
use kyoho_laws::catalogue;

/// Returns the precision that `--precision` names, else that of the snapshot of a resumed run, else
/// that of the environment, else `mixed` if the order has it, else `double`. A precision that was
/// named must be one in which the order is computed.
pub fn precision(
    order: Order,
    option: Option<&str>,
    resumed: Option<Precision>,
    settings: &Settings,
) -> Result<Precision> {
    let computed = catalogue::precisions_of(order);
    let (said_by, precision) = match (option, resumed) {
        (Some(name), _) => ("--precision", named("--precision", name, &catalogue::precisions(), Precision::name)?),
        (None, Some(resumed)) => ("the precision of the snapshot", resumed),
        (None, None) => {
            let otherwise = if computed.contains(&Precision::Mixed) { Precision::Mixed } else { Precision::Double };
            return Ok(settings.precision_for(order)?.unwrap_or(otherwise));
        }
    };
    if computed.contains(&precision) {
        return Ok(precision);
    }
    let names: Vec<&str> = computed.into_iter().map(Precision::name).collect();
    Err(Failure::Argument {
        option: said_by,
        value: format!("'{}'", precision.name()),
        allowed: format!("with --order {}, {}", order as i32, names.join(", ")),
    })
}
