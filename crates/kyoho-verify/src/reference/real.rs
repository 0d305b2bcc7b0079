//! The operations that the sums need of a number.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A real number of some precision.
pub trait Real:
    Copy
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Converts a double exactly.
    fn from_f64(value: f64) -> Self;
    /// Returns the nearest double.
    fn to_f64(self) -> f64;
    /// Returns the square root of a number that is not negative.
    fn sqrt(self) -> Self;
}

impl Real for f64 {
    fn from_f64(value: f64) -> f64 {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn sqrt(self) -> f64 {
        self.sqrt()
    }
}

/// Returns the scalar product of two vectors.
pub fn dot<R: Real>(a: [R; 3], b: [R; 3]) -> R {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns the length of a vector as a double.
pub fn norm<R: Real>(vector: [R; 3]) -> f64 {
    let vector = vector.map(R::to_f64);
    let [x, y, z] = vector;
    // Plain squares would overflow for forces beyond 1e154.
    match x.abs().max(y.abs()).max(z.abs()) {
        largest if largest > 0.0 && largest.is_finite() => {
            let scaled = vector.map(|component| component / largest);
            largest * dot(scaled, scaled).sqrt()
        }
        _ => dot(vector, vector).sqrt(),
    }
}
