//! Systems of units by the names of their units, and the gravitational constant in them.

use kyoho_core::{Error, Result};

/// The gravitational constant in SI units (CODATA 2018).
const GRAVITY: f64 = 6.674_30e-11;
const AU: f64 = 149_597_870_700.0;
const PARSEC: f64 = AU * 648_000.0 / std::f64::consts::PI;
const YEAR: f64 = 365.25 * 86_400.0;

/// Lengths in metres. Those of the Sun and the planets are nominal (IAU 2015, resolution B3).
const LENGTHS: [(&str, f64); 12] = [
    ("m", 1.0),
    ("cm", 0.01),
    ("km", 1e3),
    ("AU", AU),
    ("au", AU),
    ("pc", PARSEC),
    ("kpc", 1e3 * PARSEC),
    ("Mpc", 1e6 * PARSEC),
    ("ly", 9_460_730_472_580_800.0),
    ("Rsun", 6.957e8),
    ("Rjup", 7.1492e7),
    ("Rearth", 6.3781e6),
];

/// Masses in kilograms. Those of the Sun and the planets are nominal products with the gravitational
/// constant (IAU 2015, resolution B3), which are known better than either, over that constant.
const MASSES: [(&str, f64); 5] = [
    ("kg", 1.0),
    ("g", 1e-3),
    ("Msun", 1.327_124_4e20 / GRAVITY),
    ("Mjup", 1.266_865_3e17 / GRAVITY),
    ("Mearth", 3.986_004e14 / GRAVITY),
];

/// Times in seconds.
const TIMES: [(&str, f64); 7] = [
    ("s", 1.0),
    ("h", 3600.0),
    ("day", 86_400.0),
    ("yr", YEAR),
    ("kyr", 1e3 * YEAR),
    ("Myr", 1e6 * YEAR),
    ("Gyr", 1e9 * YEAR),
];

/// The sizes of the units of a system, in SI units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitSystem {
    /// That of lengths.
    pub length: f64,
    /// That of masses.
    pub mass: f64,
    /// That of speeds.
    pub speed: f64,
}

impl UnitSystem {
    /// Returns a system by the names of its units: `SI`, or a length, a mass and a time or a speed,
    /// such as `pc Msun Myr` or `kpc 1e10Msun km/s`. Each may have a number before it.
    pub fn parse(units: &str) -> Result<UnitSystem> {
        let system = UnitSystem::of_words(units).filter(|system| system.gravitational_constant().is_normal());
        system.ok_or_else(|| Error::BadOption {
            name: "units".into(),
            value: units.into(),
            allowed: format!(
                "SI, or a length ({}), a mass ({}) and a time ({}) or a speed such as km/s, with spaces between them; \
                 each may have a number before it, as 1e10Msun",
                names(&LENGTHS),
                names(&MASSES),
                names(&TIMES)
            ),
        })
    }

    fn of_words(units: &str) -> Option<UnitSystem> {
        let is_si = units.trim() == "SI";
        let words: Vec<&str> = if is_si { vec!["m", "kg", "s"] } else { units.split_whitespace().collect() };
        let [length, mass, last] = words[..] else { return None };
        let (length, mass) = (size(length, &LENGTHS)?, size(mass, &MASSES)?);
        let speed = match last.split_once('/') {
            Some((above, below)) => size(above, &LENGTHS)? / size(below, &TIMES)?,
            None => length / size(last, &TIMES)?,
        };
        Some(UnitSystem { length, mass, speed })
    }

    /// Returns the number in this system of one with its unit, such as `20AU`.
    pub fn number(&self, word: &str, kind: Kind) -> Option<f64> {
        match kind {
            Kind::Length => size(word, &LENGTHS).map(|size| size / self.length),
            Kind::Mass => size(word, &MASSES).map(|size| size / self.mass),
            Kind::Speed => {
                let (above, below) = word.split_once('/')?;
                Some(size(above, &LENGTHS)? / size(below, &TIMES)? / self.speed)
            }
        }
    }

    /// Returns the gravitational constant in these units.
    pub fn gravitational_constant(self) -> f64 {
        GRAVITY * self.mass / self.length / (self.speed * self.speed)
    }
}

/// What a number with a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A length.
    Length,
    /// A mass.
    Mass,
    /// A length over a time.
    Speed,
}

/// Returns the gravitational constant in a system of units, as [`UnitSystem::parse`] takes it.
pub fn gravitational_constant(units: &str) -> Result<f64> {
    UnitSystem::parse(units).map(UnitSystem::gravitational_constant)
}

fn names(units: &[(&str, f64)]) -> String {
    units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// Returns the size of a unit with or without a number before it.
fn size(word: &str, units: &[(&str, f64)]) -> Option<f64> {
    units.iter().find_map(|(name, size)| {
        let number = word.strip_suffix(name)?;
        let factor = if number.is_empty() { 1.0 } else { number.parse().ok()? };
        Some(factor * size).filter(|size: &f64| *size > 0.0 && size.is_finite())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constant_has_the_numbers_of_the_trade() {
        let four_pi2 = 4.0 * std::f64::consts::PI.powi(2);
        for (units, expected, error) in [
            ("SI", 6.6743e-11, 1e-15),
            ("m kg s", 6.6743e-11, 1e-15),
            ("cm g s", 6.6743e-8, 1e-14),
            // Gauss's year is longer than Julian's.
            ("AU Msun yr", four_pi2, 1e-4),
            ("au Msun day", 0.017_202_098_95f64.powi(2), 1e-7),
            ("pc Msun km/s", 4.300_917_27e-3, 1e-9),
            ("kpc Msun km/s", 4.300_917_27e-6, 1e-9),
            ("kpc 1e10Msun km/s", 43_009.172_7, 1e-9),
            ("pc Msun Myr", 4.498_502_15e-3, 1e-8),
            ("pc  Msun 2.5pc/Myr", 4.498_502_15e-3 / 6.25, 1e-8),
            ("1e3pc 1e10Msun km/s", 43_009.172_7, 1e-9),
        ] {
            let found = gravitational_constant(units).unwrap();
            assert!((found / expected - 1.0).abs() < error, "{units}: {found:e} in place of {expected:e}");
        }
    }

    #[test]
    fn numbers_with_units_are_those_of_the_system() {
        let system = UnitSystem::parse("pc Msun Myr").unwrap();
        for (word, kind, expected) in [
            ("206264.806247AU", Kind::Length, 1.0),
            ("pc", Kind::Length, 1.0),
            ("1000Mjup", Kind::Mass, 0.954_594_2),
            ("2km/s", Kind::Speed, 2.045_424),
        ] {
            let found = system.number(word, kind).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-6, "{word}: {found}");
        }
        assert!(
            ["1", "1Msun", "-1AU", "xpc", "1pc/Myr"].iter().all(|word| system.number(word, Kind::Length).is_none())
        );
    }

    #[test]
    fn other_words_are_refused_with_what_is_allowed() {
        for units in
            ["", "pc", "pc Msun", "Msun pc Myr", "pc Msun Myr s", "pc Msun furlong", "xpc Msun Myr", "-1pc Msun s"]
        {
            let error = gravitational_constant(units).unwrap_err().to_string();
            assert!(
                error.contains(&format!("units is '{units}'; allowed: SI, or a length (m, cm, km, AU,")),
                "{error}"
            );
        }
        assert!(gravitational_constant("1e-300pc Msun Myr").is_err());
    }
}
