//! The initial conditions of NBODY6 and its relatives, `dat.10` or `fort.10`: lines of seven numbers,
//! behind which Fortran reads nothing.

use std::path::Path;

use super::text;
use crate::{Bodies, Content, Result};

pub fn is_it(content: &Content, path: &Path) -> Result<bool> {
    Ok(content.as_text().is_some() && path.extension().is_some_and(|extension| extension == "10"))
}

pub fn read(content: &Content) -> Result<Bodies> {
    text::parse(content.as_text().unwrap_or_default(), true)
}
