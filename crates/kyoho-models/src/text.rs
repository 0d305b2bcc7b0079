//! The words of a model's text: `NAME,KEY=NUMBER,KEY=NUMBER`.

use kyoho_core::{Error, Result};
use kyoho_integrators::unit_systems::{Kind, UnitSystem};

/// The name of a part of a model in errors, and its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Word<'a> {
    /// What it is, such as `the model`.
    pub what: &'static str,
    /// Its name, which may be empty.
    pub name: &'a str,
    /// What stands after the name.
    pub parameters: &'a str,
}

/// What errors show as the value of a parameter that is missing.
pub const NOT_GIVEN: &str = "not given";

/// What a parameter is: a plain number, or one that may have a unit.
pub type Parameter = (&'static str, Option<Kind>);

impl<'a> Word<'a> {
    /// Takes a word apart.
    pub fn new(what: &'static str, word: &'a str) -> Word<'a> {
        let (name, parameters) = word.split_once(',').unwrap_or((word, ""));
        Word { what, name, parameters }
    }

    /// Returns the numbers of the parameters that the word has, in the order of `all`.
    pub fn numbers<const N: usize>(&self, all: [Parameter; N], units: Option<&UnitSystem>) -> Result<[Option<f64>; N]> {
        let mut numbers = [None; N];
        for part in self.parameters.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, word) = part.split_once('=').unwrap_or((part, ""));
            let Some(place) = all.iter().position(|(known, _)| *known == name.trim()) else {
                let allowed = all.map(|(known, _)| known).join(", ");
                return Err(self.bad_name(name, allowed));
            };
            if numbers[place].is_some() {
                return Err(self.bad_name(name, "each parameter once".into()));
            }
            let (name, kind) = all[place];
            numbers[place] = Some(self.number(name, word.trim(), kind, units)?);
        }
        Ok(numbers)
    }

    fn number(&self, name: &str, word: &str, kind: Option<Kind>, units: Option<&UnitSystem>) -> Result<f64> {
        let plain = word.parse().ok().filter(|number: &f64| number.is_finite());
        let found = plain.or_else(|| units?.number(word, kind?));
        found.ok_or_else(|| {
            let example = match (kind, units) {
                (Some(Kind::Length), Some(_)) => ", or one with its unit such as 20AU",
                (Some(Kind::Mass), Some(_)) => ", or one with its unit such as 1e4Msun",
                (Some(Kind::Speed), Some(_)) => ", or one with its unit such as 2km/s",
                (Some(_), None) => "; with units also one with its unit",
                (None, _) => "",
            };
            self.wrong(name, word.into(), format!("a number{example}"))
        })
    }

    /// Returns the error of a parameter whose value is not allowed.
    pub fn wrong(&self, parameter: &str, value: String, allowed: String) -> Error {
        Error::BadOption { name: format!("the parameter '{parameter}' of {}", self.shown()), value, allowed }
    }

    /// Returns the number of a parameter that has to be given.
    pub fn given(&self, parameter: &str, number: Option<f64>, allowed: &str) -> Result<f64> {
        number.ok_or_else(|| self.wrong(parameter, NOT_GIVEN.into(), allowed.into()))
    }

    fn bad_name(&self, name: &str, allowed: String) -> Error {
        Error::BadOption { name: format!("a parameter of {}", self.shown()), value: name.into(), allowed }
    }

    fn shown(&self) -> String {
        if self.name.is_empty() { self.what.into() } else { format!("{} '{}'", self.what, self.name) }
    }
}
