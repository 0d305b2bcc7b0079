//! Kyoho's HDF5: datasets `masses` (N), `positions` and `velocities` (N, 3), a dataset `eps` (N) if bodies
//! have softenings of their own, and an attribute `units` if it has some.

use std::path::Path;

use crate::names::SOFTENINGS;
use crate::{Bodies, Content, Error, Result};

const DATASETS: [&str; 3] = ["masses", "positions", "velocities"];

pub fn is_it(content: &Content, _: &Path) -> Result<bool> {
    let Some(file) = content.as_hdf5() else { return Ok(false) };
    Ok(file.first_dataset(DATASETS.map(String::from))?.is_some())
}

pub fn read(content: &Content) -> Result<Bodies> {
    let file = content.as_hdf5().ok_or_else(|| Error::file("it is not HDF5"))?;
    let masses = file.numbers(DATASETS[0], 1, None)?;
    let count = Some(masses.len());
    let (positions, velocities) = (file.rows(DATASETS[1], count)?, file.rows(DATASETS[2], count)?);
    let softenings = file.first_dataset(SOFTENINGS.iter().map(|name| name.to_string()))?;
    let softenings = softenings.map(|name| file.numbers(&name, 1, count)).transpose()?;
    Ok(Bodies { masses, positions, velocities, softenings, units: file.attribute_text("", "units")? })
}
