//! Formulas for one number or for several at a time, with equal results.

use std::ops::{Add, Mul, Sub};

/// How many numbers are computed at a time.
pub const LANES: usize = 8;

/// A number, or [`LANES`] of them.
pub trait Number: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    fn of(value: f64) -> Self;
    fn inverse(self) -> Self;
    fn root(self) -> Self;
}

impl Number for f64 {
    fn of(value: f64) -> f64 {
        value
    }

    fn inverse(self) -> f64 {
        1.0 / self
    }

    fn root(self) -> f64 {
        self.sqrt()
    }
}

/// Numbers that are computed together, in vectors where the compiler inlines all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lanes(pub [f64; LANES]);

impl Lanes {
    pub const ZERO: Lanes = Lanes([0.0; LANES]);

    /// Returns the sum of all.
    pub fn sum(&self) -> f64 {
        self.0.iter().sum()
    }
}

impl Add for Lanes {
    type Output = Lanes;

    #[inline(always)]
    fn add(mut self, other: Lanes) -> Lanes {
        for lane in 0..LANES {
            self.0[lane] += other.0[lane];
        }
        self
    }
}

impl Sub for Lanes {
    type Output = Lanes;

    #[inline(always)]
    fn sub(mut self, other: Lanes) -> Lanes {
        for lane in 0..LANES {
            self.0[lane] -= other.0[lane];
        }
        self
    }
}

impl Mul for Lanes {
    type Output = Lanes;

    #[inline(always)]
    fn mul(mut self, other: Lanes) -> Lanes {
        for lane in 0..LANES {
            self.0[lane] *= other.0[lane];
        }
        self
    }
}

impl Number for Lanes {
    #[inline(always)]
    fn of(value: f64) -> Lanes {
        Lanes([value; LANES])
    }

    #[inline(always)]
    fn inverse(mut self) -> Lanes {
        for value in &mut self.0 {
            *value = 1.0 / *value;
        }
        self
    }

    #[inline(always)]
    fn root(mut self) -> Lanes {
        for value in &mut self.0 {
            *value = value.sqrt();
        }
        self
    }
}
