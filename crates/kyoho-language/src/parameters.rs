//! The parameters of texts that act on bodies: those that callers give by names, and those that an
//! integrator knows.

use kyoho_core::error::shown;
use kyoho_core::{Error, Result, memory};

use super::fault::{Checked, Fault, Place, WHAT, listed};
use super::list::PairProgram;
use super::types::{Scalar, Type};

/// Where the value of a parameter comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The time.
    Time,
    /// The gravitational constant.
    Gravity,
    /// The caller's numbers, from this one on.
    Number(usize),
}

/// The parameters that no caller gives.
const OF_INTEGRATOR: [(&str, Origin); 2] = [("time", Origin::Time), ("gravity", Origin::Gravity)];

/// The parameters of a text.
#[derive(Debug, Clone)]
pub struct Parameters {
    /// What has them, as in "the field 'plummer'".
    whose: String,
    /// The names and widths of those that the caller gives.
    given: Vec<(String, usize)>,
    /// For each one of the text where its value comes from.
    origins: Vec<Origin>,
}

impl Parameters {
    /// Returns those of a program, which is of a kind such as a field.
    pub fn of(program: &PairProgram, kind: &str) -> Result<Parameters> {
        let (mut given, mut origins, mut count) = (Vec::new(), Vec::new(), 0);
        for parameter in &program.parameters {
            let known = OF_INTEGRATOR.into_iter().find(|(name, _)| *name == parameter.name);
            memory::push(&mut origins, known.map_or(Origin::Number(count), |(_, origin)| origin), WHAT)?;
            if known.is_none() {
                memory::push(&mut given, (parameter.name.clone(), parameter.of.width), WHAT)?;
                count += parameter.of.width;
            }
        }
        Ok(Parameters { whose: format!("the {kind} '{}'", program.name), given, origins })
    }

    /// Returns the names and widths of those that the caller gives.
    pub fn given(&self) -> &[(String, usize)] {
        &self.given
    }

    /// Returns for each parameter of the text where its value comes from.
    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }

    /// Returns the number of the caller's numbers.
    pub fn count(&self) -> usize {
        self.given.iter().map(|(_, width)| width).sum()
    }

    /// Returns the parameters that the caller gives with their numbers.
    pub fn with<'a>(&'a self, numbers: &'a [f64]) -> impl Iterator<Item = (&'a str, &'a [f64])> {
        self.given.iter().scan(0, |first, (name, width)| {
            *first += width;
            Some((name.as_str(), &numbers[*first - width..*first]))
        })
    }

    /// Returns the names of those that the caller gives, with spaces between them.
    pub fn names(&self) -> Result<String> {
        let mut names = String::new();
        for (name, _) in &self.given {
            memory::append(&mut names, name, WHAT)?;
            memory::append(&mut names, " ", WHAT)?;
        }
        Ok(names)
    }

    /// Returns the numbers of all parameters in their order, from names with spaces between them and
    /// the numbers of all of these, one after another.
    pub fn listed_numbers(&self, names: &str, numbers: &[f64]) -> Result<Vec<f64>> {
        let mut rest = numbers;
        let mut given: Vec<(&str, &[f64])> = Vec::new();
        for name in names.split_whitespace() {
            let width = self.given.iter().find(|(known, _)| known == name).map_or(1, |(_, width)| *width);
            let (own, others) = rest.split_at(width.min(rest.len()));
            memory::push(&mut given, (name, own), WHAT)?;
            rest = others;
        }
        let found = self.numbers(&given)?;
        if rest.is_empty() { Ok(found) } else { Err(self.wrong_count(numbers.len())) }
    }

    fn wrong_count(&self, count: usize) -> Error {
        let what = format!("the count of the numbers of {}", self.whose);
        Error::BadList { what, value: count as i64, allowed: self.count().to_string() }
    }

    /// Returns the numbers of all parameters in their order, from the caller's by their names.
    pub fn numbers(&self, given: &[(&str, &[f64])]) -> Result<Vec<f64>> {
        let wrong = |name: String, value: String, allowed: String| Error::BadOption { name, value, allowed };
        let known = || listed(self.given.iter().map(|(name, _)| name));
        for (place, (name, _)) in given.iter().enumerate() {
            let of = format!("a parameter of {}", self.whose);
            if !self.given.iter().any(|(known, _)| known == name) {
                return Err(wrong(of, (*name).into(), known()));
            }
            if given[..place].iter().any(|(before, _)| before == name) {
                return Err(wrong(of, (*name).into(), "each parameter once".into()));
            }
        }
        let mut numbers = memory::room(self.count(), WHAT)?;
        for (name, width) in &self.given {
            let of = format!("the parameter '{name}' of {}", self.whose);
            let allowed = if *width == 1 { "one number".into() } else { format!("{width} numbers") };
            let Some((_, given)) = given.iter().find(|(given, _)| given == name) else {
                return Err(wrong(of, "not given".into(), allowed));
            };
            if given.len() != *width {
                return Err(wrong(of, format!("{} numbers", given.len()), allowed));
            }
            if let Some(value) = given.iter().find(|value| !value.is_finite()) {
                return Err(wrong(of, shown(*value), "finite numbers".into()));
            }
            numbers.extend_from_slice(given);
        }
        Ok(numbers)
    }
}

/// Returns an error unless the parameters of a program, which is of a kind such as a field, are
/// numbers and vectors of `f64`, and none has a name that is reserved.
pub fn check(program: &PairProgram, kind: &str, reserved: &[&str]) -> Checked<()> {
    let is_allowed = |name: &str, of: Type| {
        !reserved.contains(&name)
            && of.scalar == Scalar::F64
            && (of.width == 1 || OF_INTEGRATOR.iter().all(|(given, _)| *given != name))
    };
    let mut parameters = program.parameters.iter();
    let wrong = parameters.find(|wrong| !wrong.extents.is_empty() || !is_allowed(&wrong.name, wrong.of));
    wrong.map_or(Ok(()), |wrong| {
        let found = format!("the parameter '{}' of a {kind}", wrong.name);
        let allowed = format!(
            "numbers and vectors of f64; time and gravity are one number each, and no parameter has the name {}",
            listed(reserved)
        );
        Err(Fault::new(Place { line: 1, column: 1 }, found, allowed))
    })
}
