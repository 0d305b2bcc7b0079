//! The HDF5 of AMUSE in its versions 1 and 2: states of a set of particles, of which the last is read.
//! Each dataset has its unit as an attribute, in the form of an expression.

use std::path::Path;

use kyoho_core::error::shortened;
use kyoho_core::memory;

use crate::hdf5::Hdf5;
use crate::names::{AMUSE_ATTRIBUTES, AMUSE_SETS};
use crate::{Bodies, Content, Error, Result};

pub fn is_it(content: &Content, _: &Path) -> Result<bool> {
    let Some(file) = content.as_hdf5() else { return Ok(false) };
    Ok(last_state(file)?.is_some())
}

/// Returns the group of the last state.
fn last_state(file: &Hdf5) -> Result<Option<String>> {
    let is_number = |name: &String| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    for set in AMUSE_SETS {
        if let Some(last) = file.groups(set)?.into_iter().rfind(is_number) {
            return Ok(Some(format!("{set}/{last}")));
        }
    }
    Ok(None)
}

pub fn read(content: &Content) -> Result<Bodies> {
    let file = content.as_hdf5().ok_or_else(|| Error::file("it is not HDF5"))?;
    let state = last_state(file)?.ok_or_else(|| Error::file("it has no particles of AMUSE"))?;
    let path = |place: usize| format!("{state}/attributes/{}", AMUSE_ATTRIBUTES[place]);
    let masses = file.numbers(&path(0), 1, None)?;
    let count = Some(masses.len());
    let mass = unit(file, &path(0), [0, 1, 0])?;
    let vectors = |first: usize, powers: [i32; 3]| -> Result<(Vec<[f64; 3]>, Unit)> {
        let mut rows = memory::filled(masses.len(), [0.0; 3], "bodies")?;
        let first_unit = unit(file, &path(first), powers)?;
        for axis in 0..3 {
            let found = unit(file, &path(first + axis), powers)?;
            if found.is_generic != first_unit.is_generic {
                return Err(mixed(&path(first + axis)));
            }
            let factor = found.factor / first_unit.factor;
            for (row, number) in rows.iter_mut().zip(file.numbers(&path(first + axis), 1, count)?) {
                row[axis] = if factor == 1.0 { number } else { number * factor };
            }
        }
        Ok((rows, first_unit))
    };
    let (positions, length) = vectors(1, [1, 0, 0])?;
    let (velocities, speed) = vectors(4, [1, 0, -1])?;
    if [length.is_generic, speed.is_generic] != [mass.is_generic; 2] {
        return Err(mixed(&path(0)));
    }
    let units = || format!("{:e}m {:e}kg {:e}m/s", length.factor, mass.factor, speed.factor);
    let units = (!mass.is_generic).then(units);
    if mass.is_generic && [mass.factor, length.factor, speed.factor] != [1.0; 3] {
        return Err(Error::file(
            "its N-body units have factors; allowed: those of nbody_system themselves, or SI units",
        ));
    }
    Ok(Bodies { masses, positions, velocities, softenings: None, units })
}

fn mixed(path: &str) -> Error {
    Error::file(format!(
        "the dataset '{path}': its units are of another kind than others; allowed: all N-body, or none"
    ))
}

/// The unit of a dataset.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Unit {
    /// Its size in SI units, or in those of an N-body system.
    factor: f64,
    /// The powers of a length, a mass and a time.
    powers: [i32; 3],
    /// Whether it is one of an N-body system.
    is_generic: bool,
}

/// Returns the unit of a dataset, which must have these powers of a length, a mass and a time.
fn unit(file: &Hdf5, path: &str, powers: [i32; 3]) -> Result<Unit> {
    let failed = |reason: String| Error::file(format!("the dataset '{path}': {reason}"));
    let text = file.attribute_text(path, "units")?.ok_or_else(|| failed("it has no attribute 'units'".into()))?;
    let found = Parser { rest: text.as_bytes() }.unit();
    found.filter(|unit| unit.powers == powers && unit.factor.is_normal() && unit.factor > 0.0).ok_or_else(|| {
        let kind = AMUSE_KINDS[usize::from(powers[1] == 0) + usize::from(powers[2] != 0)];
        failed(format!("its unit is '{}'; allowed: units of {kind}", shortened(&text)))
    })
}

/// The kinds of quantities in the order of masses, lengths and speeds.
const AMUSE_KINDS: [&str; 3] = ["a mass", "a length", "a speed"];

/// Reads an expression of AMUSE: products of numbers, of units such as
/// `system.get('S.I.').base('length')`, of their powers, and of such products in parentheses.
struct Parser<'a> {
    rest: &'a [u8],
}

/// The most parentheses within one another.
const DEEPEST: usize = 32;

impl Parser<'_> {
    /// Returns the unit, if all of the text is one.
    fn unit(mut self) -> Option<Unit> {
        let unit = self.product(0)?;
        self.skip_spaces();
        self.rest.is_empty().then_some(unit)
    }

    fn product(&mut self, depth: usize) -> Option<Unit> {
        let mut product = self.power(depth)?;
        loop {
            let sign = if self.takes("*") {
                1
            } else if self.takes("/") {
                -1
            } else {
                return Some(product);
            };
            let next = self.power(depth)?;
            product.factor *= next.factor.powi(sign);
            for (power, more) in product.powers.iter_mut().zip(next.powers) {
                *power = power.checked_add(more.checked_mul(sign)?)?;
            }
            product.is_generic |= next.is_generic;
        }
    }

    fn power(&mut self, depth: usize) -> Option<Unit> {
        let mut unit = self.item(depth)?;
        if self.takes("**") {
            let power = self.number()?;
            if power.fract() != 0.0 || power.abs() > 16.0 {
                return None;
            }
            let power = power as i32;
            unit.factor = unit.factor.powi(power);
            for of_unit in &mut unit.powers {
                *of_unit = of_unit.checked_mul(power)?;
            }
        }
        Some(unit)
    }

    fn item(&mut self, depth: usize) -> Option<Unit> {
        if self.takes("(") {
            let inner = if depth < DEEPEST { self.product(depth + 1)? } else { return None };
            return self.takes(")").then_some(inner);
        }
        if !self.takes("system.get(") {
            return self.number().map(|factor| Unit { factor, powers: [0; 3], is_generic: false });
        }
        let is_generic = if self.takes("'generic'") {
            true
        } else if self.takes("'S.I.'") {
            false
        } else {
            return None;
        };
        if !self.takes(").base(") {
            return None;
        }
        let place = ["'length'", "'mass'", "'time'"].iter().position(|name| self.takes(name))?;
        let mut powers = [0; 3];
        powers[place] = 1;
        self.takes(")").then_some(Unit { factor: 1.0, powers, is_generic })
    }

    fn number(&mut self) -> Option<f64> {
        self.skip_spaces();
        let is_of_number = |place: usize, byte: u8| {
            let after_exponent = place > 0 && matches!(self.rest[place - 1], b'e' | b'E');
            byte.is_ascii_digit()
                || matches!(byte, b'.' | b'e' | b'E')
                || matches!(byte, b'+' | b'-') && (place == 0 || after_exponent)
        };
        let end = self.rest.iter().enumerate().position(|(place, byte)| !is_of_number(place, *byte));
        let (number, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        str::from_utf8(number).ok()?.parse().ok()
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// Whether a word comes next, which is then taken. A single star is no beginning of a power.
    fn takes(&mut self, word: &str) -> bool {
        self.skip_spaces();
        let Some(rest) = self.rest.strip_prefix(word.as_bytes()) else { return false };
        if word == "*" && rest.starts_with(b"*") {
            return false;
        }
        self.rest = rest;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_of_units_are_products_of_powers() {
        let unit = |text: &str| Parser { rest: text.as_bytes() }.unit();
        let speed = "((1000.0 * system.get('S.I.').base('length')) * (system.get('S.I.').base('time')**-1))";
        assert_eq!(unit(speed), Some(Unit { factor: 1e3, powers: [1, 0, -1], is_generic: false }));
        let other = "1.5e+3*system.get('generic').base('length') / (2 * system.get('generic').base('time'))**2";
        assert_eq!(unit(other), Some(Unit { factor: 375.0, powers: [1, 0, -2], is_generic: true }));
        for wrong in ["", "(", "1 *", "system.get('S.I.').base('thermodynamic temperature')", "1)", "2 ** 0.5", "x"] {
            assert_eq!(unit(wrong), None, "{wrong}");
        }
        assert_eq!(unit(&"(".repeat(100_000)), None);
        assert_eq!(unit(&format!("{}1{}", "(".repeat(30), ")".repeat(30))).unwrap().factor, 1.0);
    }
}
