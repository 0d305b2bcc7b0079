//! Checks of fields that many structures have, and their errors.

use kyoho_core::{DevicePlace, Error, Interaction, Result};

use super::{Memory, NumberType, kyoho_cuda};
use crate::abi::native::rows::Real;

/// Returns the error for a field whose value is not allowed.
pub fn bad_field(field: &str, value: impl ToString, allowed: impl Into<String>) -> Error {
    Error::BadOption { name: field.into(), value: value.to_string(), allowed: allowed.into() }
}

/// Returns an error unless the arrays of a structure lie in memory of the host. `field` is the name
/// of the field that says so.
pub fn require_host(field: &str, memory: i32) -> Result<()> {
    if memory == Memory::Host as i32 {
        return Ok(());
    }
    Err(bad_field(field, memory, "0 (KYOHO_MEMORY_HOST)"))
}

/// Fails if the last field of a structure of this name, which has no meaning yet, is given a number.
pub fn require_unused(name: &str, reserved: i32) -> Result<()> {
    if reserved == 0 { Ok(()) } else { Err(bad_field(&format!("{name}.reserved"), reserved, "0")) }
}

/// Whether the real numbers of a structure's arrays are two doubles each. `name` is the structure's,
/// `reserved` its last field.
pub fn is_in_limbs(name: &str, number_type: i32, reserved: i32, interaction: &Interaction) -> Result<bool> {
    const F64: i32 = NumberType::F64 as i32;
    const DD: i32 = NumberType::Dd as i32;
    require_unused(name, reserved)?;
    match number_type {
        0 | F64 => Ok(false),
        DD if interaction.has_low_limbs() => Ok(true),
        other => {
            let more = if interaction.has_low_limbs() { ", 4 (DD)" } else { "; 4 (DD) in precision quad alone" };
            Err(bad_field(&format!("{name}.number_type"), other, format!("0, 2 (F64){more}")))
        }
    }
}

/// Fails unless the real numbers of a structure's arrays are of a type. See [`is_in_limbs`].
pub fn require_type<T: Real>(name: &str, number_type: i32, reserved: i32, interaction: &Interaction) -> Result<()> {
    if is_in_limbs(name, number_type, reserved, interaction)? == T::IN_LIMBS {
        return Ok(());
    }
    Err(bad_field(&format!("{name}.number_type"), number_type, "0, 2 (F64) in this call"))
}

/// Returns where the arrays of a structure of this name lie, if it is on a device.
pub fn place_of(name: &'static str, memory: i32, cuda: &kyoho_cuda) -> Result<Option<DevicePlace>> {
    const HOST: i32 = Memory::Host as i32;
    const CUDA: i32 = Memory::Cuda as i32;
    match memory {
        HOST => Ok(None),
        CUDA if cuda.reserved != 0 => Err(bad_field(&format!("{name}.cuda.reserved"), cuda.reserved, "0")),
        CUDA => Ok(Some(DevicePlace { name, device: cuda.device, stream: cuda.stream.addr() as u64 })),
        other => Err(bad_field(&format!("{name}.memory"), other, "0 (KYOHO_MEMORY_HOST), 1 (KYOHO_MEMORY_CUDA)")),
    }
}
