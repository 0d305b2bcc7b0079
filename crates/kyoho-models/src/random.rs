//! Random numbers that are the same on every machine.

use std::f64::consts::PI;

use kyoho_integrators::body::Vector;

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

    /// Returns a point of a ball round the origin.
    pub fn in_ball(&mut self, largest: f64) -> Vector {
        let radius = largest * self.uniform().cbrt();
        self.direction().map(|component| radius * component)
    }

    /// Returns two independent numbers of the normal distribution of mean 0 and variance 1 (Box &
    /// Muller 1958, Annals of Mathematical Statistics 29, 610).
    pub fn normal(&mut self) -> [f64; 2] {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let (sine, cosine) = (2.0 * PI * self.uniform()).sin_cos();
        [radius * cosine, radius * sine]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_have_their_moments() {
        let mut random = Random(4);
        let n = 50_000;
        let (mut moments, mut product) = ([0.0; 4], 0.0);
        for _ in 0..n {
            let pair = random.normal();
            product += pair[0] * pair[1] / n as f64;
            for number in pair {
                (0..4).for_each(|power| moments[power] += number.powi(power as i32 + 1) / (2 * n) as f64);
            }
        }
        // The limits are four standard deviations of the means.
        let deviation = |variance: f64| 4.0 * (variance / (2 * n) as f64).sqrt();
        for (power, (mean, variance)) in [(0.0, 1.0), (1.0, 2.0), (0.0, 15.0), (3.0, 96.0)].into_iter().enumerate() {
            assert!((moments[power] - mean).abs() < deviation(variance), "{moments:?}");
        }
        assert!(product.abs() < deviation(2.0), "{product}");
    }
}
