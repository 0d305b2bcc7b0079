//! The bodies that a run begins with, from a file in any format that `kyoho-files` reads.

use std::path::Path;

use crate::failure::{Failure, Result};
use kyoho_core::memory;
use kyoho_files::Bodies;
use kyoho_integrators::body::Body;
use kyoho_integrators::unit_systems::UnitSystem;

pub use kyoho_files::rows::{fill, numbers, rows, words};

/// The bodies of a file, and their units if it tells some.
pub struct Input {
    /// The bodies.
    pub bodies: Vec<Body>,
    /// Their softening lengths, if they have some of their own.
    pub softenings: Option<Vec<f64>>,
    /// The units: a text, and their sizes.
    pub units: Option<(String, UnitSystem)>,
}

impl Input {
    /// Converts the bodies to units. Those of a file that tells none are in them already.
    pub fn convert(&mut self, to: UnitSystem) {
        let Some((_, from)) = &self.units else { return };
        let [length, mass, speed] = [from.length / to.length, from.mass / to.mass, from.speed / to.speed];
        for body in &mut self.bodies {
            body.mass *= mass;
            body.position = body.position.map(|coordinate| coordinate * length);
            body.velocity = body.velocity.map(|component| component * speed);
        }
        self.softenings.iter_mut().flatten().for_each(|softening| *softening *= length);
    }
}

/// Reads the bodies from the bytes of a file.
pub fn from_bytes(content: Vec<u8>, path: &Path) -> Result<Input> {
    let failed = |error| Failure::in_file(path, error);
    let found = kyoho_files::read(content, path).map_err(failed)?;
    let Bodies { masses, positions, velocities, softenings, units } = found;
    let system = |text: String| match UnitSystem::parse(&text) {
        Ok(system) => Ok((text, system)),
        Err(error) => Err(Failure::file(path, error)),
    };
    let units = units.map(system).transpose()?;
    let vectors = positions.into_iter().zip(velocities);
    let bodies =
        masses.into_iter().zip(vectors).map(|(mass, (position, velocity))| Body::new(mass, position, velocity));
    Ok(Input { bodies: memory::collected(bodies, "bodies")?, softenings, units })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_converted_from_the_units_of_their_file() {
        let text = "# units pc Msun km/s\n2 1 0 0 0 0.5 0\n";
        let mut input = from_bytes(text.into(), Path::new("stars")).unwrap();
        input.convert(UnitSystem::parse("SI").unwrap());
        let [body] = input.bodies[..] else { panic!("one body") };
        let expected = [2.0 * 1.327_124_4e20 / 6.674_3e-11, 3.085_677_581_491_367e16, 500.0];
        for (found, expected) in [body.mass, body.position[0], body.velocity[1]].into_iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 1e-15, "{found} in place of {expected}");
        }
        let error =
            from_bytes(b"# units pc Msun furlong\n2 1 0 0 0 0.5 0\n".to_vec(), Path::new("stars")).err().unwrap();
        assert!(
            error.to_string().starts_with("stars: units is 'pc Msun furlong'; allowed: SI, or a length"),
            "{error}"
        );
    }
}
