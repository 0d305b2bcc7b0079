//! The HDF5 of Gadget 2 to 4, SWIFT and AREPO: groups of bodies by their types, and a header.
//!
//! Their cosmological runs have comoving coordinates, and no gravity without expansion continues them:
//! such files are refused.

use std::path::Path;

use kyoho_core::error::shown;
use kyoho_core::memory;

use crate::hdf5::Hdf5;
use crate::names::*;
use crate::{Bodies, Content, Error, Result};

pub fn is_it(content: &Content, _: &Path) -> Result<bool> {
    let Some(file) = content.as_hdf5() else { return Ok(false) };
    for name in GADGET_TYPES {
        if file.has_group(name)? {
            return Ok(true);
        }
    }
    Ok(false)
}

pub fn read(content: &Content) -> Result<Bodies> {
    let file = content.as_hdf5().ok_or_else(|| Error::file("it is not HDF5"))?;
    let files = file.attribute_number("Header", "NumFilesPerSnapshot")?.unwrap_or(1.0);
    if files > 1.0 {
        return Err(Error::file(format!("it is one of {files} files of a snapshot; allowed: snapshots in one file")));
    }
    check_is_not_cosmological(file)?;
    let mut bodies = Bodies::default();
    let mut units = None;
    let of_header = |name: &str| file.attribute_numbers("Header", name);
    let (table, told) = (of_header("MassTable")?, of_header("NumPart_ThisFile")?);
    for (place, name) in GADGET_TYPES.into_iter().enumerate() {
        let of_type = |numbers: &Option<Vec<f64>>| numbers.as_ref().and_then(|numbers| numbers.get(place).copied());
        let (mass, told) = (of_type(&table).unwrap_or(0.0), of_type(&told));
        if !file.has_group(name)? {
            match told {
                Some(told) if told > 0.0 => return Err(absent(name, told)),
                _ => continue,
            }
        }
        let masses = dataset(file, name, GADGET_MASSES)?;
        let Some(positions) = dataset(file, name, GADGET_POSITIONS)? else {
            if mass == 0.0 && masses.is_none() {
                // Tracers of AREPO have neither a mass nor a place.
                continue;
            }
            return Err(missing(name, GADGET_POSITIONS));
        };
        let rows = file.rows::<3>(&positions, None)?;
        if let Some(told) = told.filter(|told| *told != rows.len() as f64) {
            let found = format!("the dataset '{positions}' has {} rows", rows.len());
            return Err(Error::file(format!("{found}; allowed: {told}, as NumPart_ThisFile of its header tells")));
        }
        let count = Some(rows.len());
        let velocities = dataset(file, name, GADGET_VELOCITIES)?.ok_or_else(|| missing(name, GADGET_VELOCITIES))?;
        append(&mut bodies.velocities, file.rows(&velocities, count)?)?;
        append(
            &mut bodies.masses,
            match masses {
                Some(masses) => file.numbers(&masses, 1, count)?,
                None if mass.is_finite() && mass != 0.0 => memory::filled(rows.len(), mass, "masses")?,
                None if rows.is_empty() => Vec::new(),
                None => {
                    let reason = format!("the group '{name}' has no masses; allowed: {}", GADGET_MASSES.join(", "));
                    return Err(Error::file(format!("{reason} in it, or a mass in Header/MassTable")));
                }
            },
        )?;
        append(&mut bodies.positions, rows)?;
        if units.is_none() {
            units = Some(units_of(file, &positions)?);
        }
    }
    bodies.units = units.flatten();
    Ok(bodies)
}

/// Returns the path of the first of these datasets that a group has.
fn dataset(file: &Hdf5, group: &str, names: &[&str]) -> Result<Option<String>> {
    file.first_dataset(names.iter().map(|name| format!("{group}/{name}")))
}

fn absent(group: &str, told: f64) -> Error {
    Error::file(format!(
        "its header tells of {told} bodies of '{group}', which is not there; allowed: groups in the file itself, \
         no links to others"
    ))
}

fn missing(group: &str, names: &[&str]) -> Error {
    Error::file(format!("the group '{group}' has no dataset {}", names.join(" or ")))
}

fn append<T>(all: &mut Vec<T>, mut more: Vec<T>) -> Result<()> {
    memory::reserve(all, more.len(), "bodies")?;
    all.append(&mut more);
    Ok(())
}

/// Fails if the run is a cosmological one. Where a file does not say so, the time of one is the scale
/// factor that belongs to its redshift.
fn check_is_not_cosmological(file: &Hdf5) -> Result<()> {
    let of_header = |name| file.attribute_number("Header", name);
    let told = file.first_attribute(GADGET_COSMOLOGICAL)?;
    let (time, redshift, omega) = (of_header("Time")?, of_header("Redshift")?, of_header("Omega0")?);
    let is_cosmological = match (told, time, redshift) {
        (Some(told), ..) => told != 0.0,
        (None, Some(time), Some(redshift)) => {
            let has_matter = omega.is_some_and(|omega| omega > 0.0);
            (time * (1.0 + redshift) - 1.0).abs() < 1e-5 && (redshift != 0.0 || has_matter)
        }
        _ => false,
    };
    if !is_cosmological {
        return Ok(());
    }
    let scale = redshift.map_or("unknown".into(), |redshift| shown(1.0 / (1.0 + redshift)));
    Err(Error::file(format!(
        "it is of a cosmological run in comoving coordinates, with the scale factor {scale}; allowed: runs without \
         expansion, or a copy in physical coordinates whose velocities include Hubble's flow"
    )))
}

/// Returns the units, if the file tells them. Those of Gadget and AREPO are divided by Hubble's
/// constant, by the power that the dataset of positions tells or else as usual.
fn units_of(file: &Hdf5, positions: &str) -> Result<Option<String>> {
    let mut found = None;
    for [group, length, mass, last, unit] in GADGET_UNITS {
        let number = |name| file.attribute_number(group, name);
        if let (Some(length), Some(mass), Some(last)) = (number(length)?, number(mass)?, number(last)?) {
            found = Some(([length, mass, last], *unit));
            break;
        }
    }
    let Some(([length, mass, last], unit)) = found else { return Ok(None) };
    let hubble = file.first_attribute(GADGET_HUBBLE)?.unwrap_or(1.0);
    let power = file.attribute_number(positions, "h_scaling")?.unwrap_or(-1.0);
    let factor = if unit == "s" || hubble <= 0.0 { 1.0 } else { hubble.powf(power) };
    let units = [length * factor, mass * factor, last];
    if let Some(wrong) = units.iter().find(|size| !(size.is_normal() && **size > 0.0)) {
        return Err(Error::file(format!("one of its units is {}; allowed: finite numbers above zero", shown(*wrong))));
    }
    Ok(Some(format!("{:e}cm {:e}g {:e}{unit}", units[0], units[1], units[2])))
}
