//! Arrays of callers in the memory of the device that computes: they are read and written there.

use kyoho_core::{Error, Result};
use kyoho_language::types::{Scalar, Type};

use super::{MAX_BODIES, PairKernel};

/// An array of a caller in the memory of a CUDA device: rows of numbers of a field or a result.
#[derive(Debug, Clone, Copy)]
pub struct DeviceRows {
    /// The address of the first row.
    pub address: u64,
    /// The bytes from one row to the next.
    pub stride: u64,
    /// The number of rows.
    pub count: usize,
    /// The number of the device.
    pub device: i32,
    /// The driver's number of the caller's stream; 0 is the default one.
    pub stream: u64,
}

impl DeviceRows {
    /// Returns the number of bytes from the first row to the end of the last one, for rows of this
    /// type.
    pub fn bytes(&self, of: Type) -> usize {
        let width = of.scalar.size() * of.width;
        (self.count.saturating_sub(1)).saturating_mul(self.stride as usize).saturating_add(width)
    }
}

impl PairKernel {
    /// Gives the numbers of a field in the memory of the device that computes. They are read there
    /// by each run. Their type has to be that of the field, and no table may be indexed by them.
    /// Where the numbers of sinks lie so, results stay on the device until they are asked for.
    pub fn set_on_device(&mut self, name: &str, scalar: Scalar, rows: DeviceRows) -> Result<()> {
        let (side, number, field) = self.field(name)?;
        let of = field.of;
        require_type(name, scalar, of.scalar)?;
        if rows.count > MAX_BODIES {
            let allowed = format!("0 to {MAX_BODIES}");
            return Err(Error::BadList { what: format!("the length of {name}"), value: rows.count as i64, allowed });
        }
        if self.pairs.checks.iter().any(|check| (check.side, check.field) == (side, number)) {
            return Err(Error::BadOption {
                name: format!("the memory of {name}, which indexes a table,"),
                value: "a device's".into(),
                allowed: "that of the host".into(),
            });
        }
        self.sums.check_rows(name, &rows, of)?;
        self.fields[side as usize][number] = None;
        self.on_device[side as usize][number] = Some(rows);
        self.note_changes(side, None);
        Ok(())
    }

    /// Writes a result of the last run to an array in the memory of the device that computed it.
    pub fn result_on_device(&mut self, name: &str, scalar: Scalar, rows: DeviceRows) -> Result<()> {
        let number = self.result_number(name)?;
        let of = self.results[number].of();
        require_type(name, scalar, of.scalar)?;
        let sinks = self.results[number].count();
        if rows.count != sinks {
            let what = format!("the length of {name}");
            return Err(Error::BadList { what, value: rows.count as i64, allowed: sinks.to_string() });
        }
        self.sums.check_rows(name, &rows, of)?;
        self.sums.write_result(number, of, &rows)
    }
}

/// Fails unless numbers on a device have the type that is wanted there.
fn require_type(name: &str, scalar: Scalar, wanted: Scalar) -> Result<()> {
    if scalar == wanted {
        return Ok(());
    }
    Err(Error::BadOption {
        name: format!("the type of {name} on a device"),
        value: scalar.name().into(),
        allowed: wanted.name().into(),
    })
}
