//! Systems from a text: a line for each body, and a blank line between systems; or one system from HDF5.

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::file;
use crate::run::input::{Input, fill, from_bytes, words};
use kyoho_core::error::shown;
use kyoho_core::memory;
use kyoho_few_body::System;
use kyoho_integrators::unit_systems::UnitSystem;

/// The units of a file: a text, and their sizes.
pub type Units = (String, UnitSystem);

/// The numbers of a line.
const NAMES: &str = "mass x y z vx vy vz, and a radius if bodies have one";

/// Reads the systems of a file, and its units if it tells some. A file in HDF5 is one system, whose bodies
/// have no radii.
pub fn read(path: &Path) -> Result<(Vec<System>, Option<Units>)> {
    let content = file::read(path)?;
    if !kyoho_files::content::is_hdf5(&content) {
        let text = file::text(content, path)?;
        return Ok((systems(&text, path)?, units(&text, path)?));
    }
    let Input { bodies, units, .. } = from_bytes(content, path)?;
    let mut system = System::default();
    for body in bodies {
        memory::push(&mut system.masses, body.mass, "bodies")?;
        memory::push(&mut system.positions, body.position, "bodies")?;
        memory::push(&mut system.velocities, body.velocity, "bodies")?;
        memory::push(&mut system.radii, 0.0, "bodies")?;
    }
    Ok((vec![system], units))
}

/// Returns the units that comments before the first body tell, the last ones of several.
fn units(text: &str, path: &Path) -> Result<Option<Units>> {
    let is_before_all = |row: &&str| row.trim().is_empty() || row.trim_start().starts_with('#');
    let comments = text.lines().take_while(is_before_all).map(|row| row.trim_start().trim_start_matches('#').trim());
    let Some(units) = comments.filter_map(kyoho_files::units_of).last() else { return Ok(None) };
    let system = UnitSystem::parse(units).map_err(|error| Failure::file(path, error))?;
    Ok(Some((units.into(), system)))
}

/// Reads systems. Text after a `#` is a comment, and a line with nothing else does not end a system.
pub fn systems(text: &str, path: &Path) -> Result<Vec<System>> {
    let mut systems = Vec::new();
    let mut system = System::default();
    for (line, row) in (1..).zip(text.lines()) {
        if row.trim().is_empty() {
            finish(&mut system, &mut systems)?;
            continue;
        }
        let row = row.split('#').next().unwrap_or_default().trim();
        if !row.is_empty() {
            body(row, &mut system).map_err(|reason| Failure::Line { path: path.into(), line, reason })?;
        }
    }
    finish(&mut system, &mut systems)?;
    if systems.is_empty() { Err(Failure::file(path, "there are no bodies in it")) } else { Ok(systems) }
}

/// Puts a system that has bodies to the others.
fn finish(system: &mut System, systems: &mut Vec<System>) -> Result<()> {
    if !system.masses.is_empty() {
        memory::push(systems, std::mem::take(system), "systems")?;
    }
    Ok(())
}

/// Adds the body of a line.
fn body(row: &str, system: &mut System) -> std::result::Result<(), String> {
    let mut numbers = [0.0; 8];
    let count = if words(row).len() == 8 { 8 } else { 7 };
    fill(&mut numbers[..count], row, NAMES)?;
    let [mass, x, y, z, vx, vy, vz, radius] = numbers;
    for (name, value) in [("mass", mass), ("radius", radius)] {
        if value < 0.0 {
            return Err(format!("the {name} is {}; allowed: zero and above", shown(value)));
        }
    }
    system.masses.push(mass);
    system.positions.push([x, y, z]);
    system.velocities.push([vx, vy, vz]);
    system.radii.push(radius);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_divide_systems_and_comments_do_not() {
        let text = "# two\n1 0 0 0 0 0 0\n# still the first\n1,1,0,0,0,1d0,0,0.5 # a radius\n\n\n2 0 0 0 0 0 0\n";
        let systems = systems(text, Path::new("systems")).unwrap();
        assert_eq!(systems.len(), 2);
        assert_eq!(systems[0].masses, [1.0, 1.0]);
        assert_eq!((systems[0].velocities[1], systems[0].radii[1]), ([0.0, 1.0, 0.0], 0.5));
        assert_eq!(systems[1].masses, [2.0]);
    }

    #[test]
    fn a_comment_before_the_bodies_tells_the_units() {
        let units_of = |text: &str| units(text, Path::new("systems"));
        let (text, system) = units_of("\n# a planet\n#units AU Msun yr\n1 0 0 0 0 0 0\n").unwrap().unwrap();
        let around_the_sun = 4.0 * std::f64::consts::PI.powi(2);
        assert!(text == "AU Msun yr" && (system.gravitational_constant() / around_the_sun - 1.0).abs() < 1e-3);
        assert!(units_of("1 0 0 0 0 0 0\n# units AU Msun yr\n").unwrap().is_none());
        assert!(units_of("# units AU Msun furlong\n").unwrap_err().to_string().contains("furlong"));
    }

    #[test]
    fn lines_that_are_no_bodies_are_named() {
        for (text, words) in [
            ("1 2 3", ["line 1", "3 words"]),
            ("\n-1 0 0 0 0 0 0", ["line 2", "the mass is -1"]),
            ("1 0 0 0 0 0 0 -2", ["line 1", "the radius is -2"]),
            ("# nothing\n", ["systems", "no bodies"]),
        ] {
            let error = systems(text, Path::new("systems")).unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
    }
}
