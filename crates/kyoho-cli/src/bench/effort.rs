//! How long is measured, and where remarks about it go.

use std::fmt;

use crate::failure::{Failure, Result};
use kyoho_core::error::shown;

/// How long is measured.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// The seconds for a row.
    pub seconds: f64,
    /// The most seconds for a row; one that would take longer is left out.
    pub limit: f64,
    /// Whether the rows are printed as JSON.
    pub json: bool,
}

impl Effort {
    /// Fails unless the times have a meaning.
    pub fn check(&self) -> Result<()> {
        for (option, value) in [("--seconds", self.seconds), ("--limit", self.limit)] {
            if !(value > 0.0 && value.is_finite()) {
                let allowed = "finite numbers above zero".into();
                return Err(Failure::Argument { option, value: shown(value), allowed });
            }
        }
        Ok(())
    }

    /// Prints a remark, which is no row, among the lines of a table, or on stderr beside JSON.
    pub fn note(&self, text: &str) -> Result<()> {
        if self.json {
            eprintln!("kyoho: {text}");
        } else {
            out!("{text}")?;
        }
        Ok(())
    }

    /// Whether a row is left out because it would take too long. If so, a remark says which.
    pub fn is_left_out(&self, foreseen: f64, row: fmt::Arguments) -> Result<bool> {
        let limit = self.limit;
        if foreseen > limit {
            self.note(&format!("left out: {row}; a row would take {foreseen:.2e} s, the --limit is {limit} s"))?;
        }
        Ok(foreseen > limit)
    }
}
