//! Random numbers that are the same on every machine.

use std::f64::consts::PI;

use crate::body::Vector;

/// The generator SplitMix64 (Steele, Lea & Flood 2014, OOPSLA, 453).
pub struct Random(pub u64);

impl Random {
    /// Returns a number between 0 and 1, excluding both.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        ((bits >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Returns a point of the unit sphere.
    pub fn direction(&mut self) -> Vector {
        let z = 2.0 * self.uniform() - 1.0;
        let (sine, cosine) = (2.0 * PI * self.uniform()).sin_cos();
        let equator = (1.0 - z * z).sqrt();
        [equator * cosine, equator * sine, z]
    }
}
