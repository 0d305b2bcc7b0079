//! What is asked of an evolution, and its checks.

use kyoho_core::{Error, Result};

use crate::post_newtonian::Terms;

/// The most bodies of one system.
pub const MOST_BODIES: usize = 100;
/// The smallest tolerance; below it rounding is larger.
pub const LEAST_TOLERANCE: f64 = 1e-14;
/// The largest tolerance.
pub const LARGEST_TOLERANCE: f64 = 1e-3;

/// The largest coordinate, velocity, radius, time, speed of light and mass times the gravitational
/// constant; the powers of them that sums have stay far below the largest double.
pub const LARGEST: f64 = 1e75;
/// The least distance of two bodies, and the least mass times the gravitational constant that is not 0.
pub const LEAST: f64 = 1e-75;

/// How far systems are integrated, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The gravitational constant.
    pub gravity: f64,
    /// How long the systems evolve, 0 to 1e75.
    pub time: f64,
    /// The largest error of each extrapolated step, relative to separations and velocities.
    pub tolerance: f64,
    /// The most extrapolated steps of a system; one that needs more ends where it is.
    pub max_steps: u64,
    /// The speed of light, and the relativistic terms that it brings. Two bodies that come nearer than
    /// 6 G M / c^2 then end a system as a merger.
    pub speed_of_light: Option<(f64, Terms)>,
    /// Whether a system ends where two bodies touch: where they are nearer than the sum of their radii.
    pub stop_at_collision: bool,
    /// Whether a system ends where a part of it has left: it is unbound, moves away, and is farther
    /// from the rest than this many times the larger of the two; or all parts fly apart, this many
    /// times farther than G (m1 + m2) / v^2.
    pub stop_at_escape: Option<f64>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            gravity: 1.0,
            time: 0.0,
            tolerance: LEAST_TOLERANCE,
            max_steps: 100_000_000,
            speed_of_light: None,
            stop_at_collision: false,
            stop_at_escape: None,
        }
    }
}

impl Options {
    /// Checks all numbers.
    pub fn check(&self) -> Result<()> {
        let positive = |option: &'static str, value: f64| {
            let allowed = || format!("above 0, at most {LARGEST:e}");
            if value > 0.0 && value <= LARGEST { Ok(()) } else { Err(bad(option, value, allowed())) }
        };
        positive("the gravitational constant", self.gravity)?;
        if !(0.0..=LARGEST).contains(&self.time) {
            return Err(bad("the time", self.time, format!("0 to {LARGEST:e}")));
        }
        if !(LEAST_TOLERANCE..=LARGEST_TOLERANCE).contains(&self.tolerance) {
            let allowed = format!("{LEAST_TOLERANCE:e} to {LARGEST_TOLERANCE:e}");
            return Err(bad("the tolerance", self.tolerance, allowed));
        }
        if let Some((speed, _)) = self.speed_of_light {
            positive("the speed of light", speed)?;
        }
        if let Some(distance) = self.stop_at_escape {
            positive("the distance of escapes", distance)?;
        }
        Ok(())
    }
}

fn bad(option: &str, value: f64, allowed: String) -> Error {
    Error::BadOption { name: option.to_owned(), value: format!("{value:e}"), allowed }
}
