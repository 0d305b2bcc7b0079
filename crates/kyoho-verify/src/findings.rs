//! The findings of a check.

/// An error that was measured, and the largest that is allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The quantity whose error was measured.
    pub quantity: String,
    /// The largest error that was found.
    pub value: f64,
    /// The largest error that is allowed.
    pub limit: f64,
}

/// The findings of a check.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    measured: Vec<Measured>,
    failures: Vec<String>,
}

/// The largest number of failures that are kept, because one cause can have thousands.
const TOLD: usize = 5;

impl Findings {
    /// Notes a failure, with the expected and the found values.
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

    /// Notes an error that was measured. It is a failure if it is above its limit or NaN.
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

    /// Whether there is no failure.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    /// Returns the failures.
    pub fn failures(&self) -> &[String] {
        &self.failures
    }

    /// Returns the largest errors by quantity.
    pub fn measured(&self) -> &[Measured] {
        &self.measured
    }
}
