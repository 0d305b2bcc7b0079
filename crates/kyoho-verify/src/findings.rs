//! What a check notes.

/// An error that was measured, and the largest that is allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// What the error is of.
    pub quantity: String,
    /// The largest that was seen.
    pub value: f64,
    /// The largest that is allowed.
    pub limit: f64,
}

/// What a check found.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    measured: Vec<Measured>,
    failures: Vec<String>,
}

/// Failures that are told; one cause can have thousands.
const TOLD: usize = 5;

impl Findings {
    /// Notes that something is wrong: what was expected and what was seen.
    pub fn fail(&mut self, what: String) {
        if self.failures.len() < TOLD {
            self.failures.push(what);
        }
    }

    /// Notes a failure unless a condition holds.
    pub fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.fail(what());
        }
    }

    /// Notes a failure unless two things are equal.
    pub fn expect_equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, found: T, expected: T) {
        self.expect(found == expected, || format!("{what}: expected {expected:?}, found {found:?}"));
    }

    /// Notes an error that was measured; a failure if it is above its limit or no number.
    pub fn measure(&mut self, quantity: &str, value: f64, limit: f64) {
        let within = value <= limit;
        self.expect(within, || format!("{quantity}: expected at most {limit:.2e}, found {value:.2e}"));
        match self.measured.iter_mut().find(|measured| measured.quantity == quantity) {
            Some(measured) if value / limit > measured.value / measured.limit => {
                (measured.value, measured.limit) = (value, limit);
            }
            Some(_) => (),
            None => self.measured.push(Measured { quantity: quantity.into(), value, limit }),
        }
    }

    /// Whether nothing is wrong.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    /// What is wrong.
    pub fn failures(&self) -> &[String] {
        &self.failures
    }

    /// The largest errors by quantity.
    pub fn measured(&self) -> &[Measured] {
        &self.measured
    }
}
