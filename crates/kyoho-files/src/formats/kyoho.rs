//! Kyoho's HDF5: datasets `masses` (N), `positions` and `velocities` (N, 3), a dataset `eps` (N) if bodies
//! have softenings of their own, and an attribute `units` if it has some.

use std::path::Path;

use crate::names::SOFTENINGS;
use crate::{Bodies, Content, Error, Result};

const DATASETS: [&str; 3] = ["masses", "positions", "velocities"];

pub fn is_it(content: &Content, _: &Path) -> bool {
    content.as_hdf5().is_some_and(|file| DATASETS.iter().any(|name| file.has_dataset(name)))
}

pub fn read(content: &Content) -> Result<Bodies> {
    let file = content.as_hdf5().ok_or_else(|| Error::file("it is not HDF5"))?;
    let masses = file.numbers(DATASETS[0], 1, None)?;
    let count = Some(masses.len());
    let (positions, velocities) = (file.rows(DATASETS[1], count)?, file.rows(DATASETS[2], count)?);
    let softenings = SOFTENINGS.iter().find(|name| file.has_dataset(name));
    let softenings = softenings.map(|name| file.numbers(name, 1, count)).transpose()?;
    Ok(Bodies { masses, positions, velocities, softenings, units: file.attribute_text("", "units") })
}
