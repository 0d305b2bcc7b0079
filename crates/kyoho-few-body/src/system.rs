//! The bodies of one system, and the checks of their numbers.

use kyoho_core::error::shown;
use kyoho_core::{Error, Result, memory};

use crate::hierarchy::{Binary, Hierarchy};
use crate::options::{LARGEST, LEAST, MOST_BODIES, Options};
use crate::vector::{Vector, difference, dot, norm};

/// Bodies of one system.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct System {
    /// Masses, 0 or above.
    pub masses: Vec<f64>,
    /// Positions.
    pub positions: Vec<Vector>,
    /// Velocities.
    pub velocities: Vec<Vector>,
    /// Radii, 0 or above; empty for points.
    pub radii: Vec<f64>,
}

impl System {
    /// Checks the numbers of a system that is to be evolved with these options. In messages the number of
    /// the first body is `first`.
    pub fn check(&self, options: &Options, first: usize) -> Result<()> {
        self.check_counts()?;
        let System { masses, positions, velocities, radii } = self;
        for body in 0..masses.len() {
            let of = |name: &str| format!("the {name} of body {}", first + body);
            for (name, vector) in [("position", positions[body]), ("velocity", velocities[body])] {
                for value in vector {
                    within(|| of(name), value, -LARGEST..=LARGEST)?;
                }
            }
            within(|| of("mass"), masses[body], 0.0..=f64::MAX)?;
            if masses[body] > 0.0 {
                let name = || format!("the gravitational constant times {}", of("mass"));
                within(name, options.gravity * masses[body], LEAST..=LARGEST)?;
            }
            within(|| of("radius"), radii.get(body).copied().unwrap_or(0.0), 0.0..=LARGEST)?;
            let distance = |other: usize| norm(difference(positions[other], positions[body]));
            if let Some(other) = (0..body).find(|&other| distance(other) < LEAST) {
                let name = format!("the distance of bodies {} and {}", first + other, first + body);
                return Err(bad(name, distance(other), format!("{LEAST:e} and above")));
            }
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<()> {
        let System { masses, positions, velocities, radii } = self;
        let count = masses.len();
        let wrong = |name: &str, value: usize, allowed: String| {
            Err(Error::BadOption { name: name.to_owned(), value: value.to_string(), allowed })
        };
        if count > MOST_BODIES {
            return wrong("the number of bodies", count, format!("at most {MOST_BODIES}"));
        }
        for (name, value) in [("positions", positions.len()), ("velocities", velocities.len())] {
            if value != count {
                return wrong(&format!("the number of {name}"), value, format!("{count}, the number of masses"));
            }
        }
        if !radii.is_empty() && radii.len() != count {
            return wrong("the number of radii", radii.len(), format!("0 or {count}, the number of masses"));
        }
        Ok(())
    }

    /// Returns the masses times this gravitational constant.
    pub(crate) fn masses_by(&self, gravity: f64) -> Result<Vec<f64>> {
        memory::collected(self.masses.iter().map(|mass| gravity * mass), "masses")
    }

    /// Returns the bound pairs, and pairs of pairs, innermost first, with this gravitational constant.
    pub fn binaries(&self, gravity: f64) -> Result<Vec<Binary>> {
        Ok(Hierarchy::of(&self.masses_by(gravity)?, &self.positions, &self.velocities)?.binaries)
    }

    /// Returns the energy in the frame of the centre of mass, with this gravitational constant.
    pub fn energy(&self, gravity: f64) -> f64 {
        let System { masses, positions, velocities, .. } = self;
        let total: f64 = masses.iter().sum();
        let mut energy = 0.0;
        for one in 0..masses.len() {
            for other in 0..one {
                let velocity = difference(velocities[one], velocities[other]);
                let motion = if total > 0.0 { 0.5 * dot(velocity, velocity) / total } else { 0.0 };
                let distance = norm(difference(positions[one], positions[other]));
                energy += masses[one] * masses[other] * (motion - gravity / distance);
            }
        }
        energy
    }
}

/// Checks a number of a body.
fn within(name: impl Fn() -> String, value: f64, allowed: std::ops::RangeInclusive<f64>) -> Result<()> {
    if !value.is_finite() {
        return Err(Error::NotFinite { what: name(), value });
    }
    if allowed.contains(&value) {
        return Ok(());
    }
    let words = match (*allowed.start(), *allowed.end()) {
        (0.0, f64::MAX) => "0 and above".into(),
        (least, most) => format!("{least:e} to {most:e}"),
    };
    Err(bad(name(), value, words))
}

fn bad(name: String, value: f64, allowed: String) -> Error {
    Error::BadOption { name, value: shown(value), allowed }
}
