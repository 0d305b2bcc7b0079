//! Universes of matter alone: their expansion, the growth of structure in them, and the spectrum of
//! their fluctuations.
//!
//! Lengths are in Mpc, times in Gyr, masses in 1e10 solar masses.

use std::f64::consts::{E, PI};

/// A Mpc in metres.
const MEGAPARSEC: f64 = 3.085_677_581_491_367e22;

/// A Gyr of 365.25e9 days in seconds.
const GIGAYEAR: f64 = 365.25e9 * 86400.0;

/// The gravitational constant, from that times the mass of the Sun (IAU 2015 Resolution B3), which
/// is known better.
pub const GRAVITY: f64 = 1.327_124_4e20 * 1e10 * GIGAYEAR * GIGAYEAR / (MEGAPARSEC * MEGAPARSEC * MEGAPARSEC);

/// A Mpc/Gyr in km/s.
pub const SPEED: f64 = MEGAPARSEC / GIGAYEAR / 1e3;

/// The temperature of the microwave background in units of 2.7 K (Fixsen 2009, Astrophysical
/// Journal 707, 916).
const TEMPERATURE: f64 = 2.7255 / 2.7;

/// A universe of matter alone, with curvature if its density is not the critical one. The densities
/// are in units of that.
#[derive(Debug, Clone, Copy)]
pub struct Cosmology {
    /// The density of all matter.
    pub omega_m: f64,
    /// The density of baryons.
    pub omega_b: f64,
    /// Hubble's constant in units of 100 km/s/Mpc.
    pub h: f64,
    /// The spectral index of the primordial fluctuations.
    pub index: f64,
    /// The root mean square of the linear fluctuations today in spheres of 8 / h Mpc.
    pub sigma8: f64,
}

impl Cosmology {
    /// Returns Hubble's constant today.
    fn hubble_today(&self) -> f64 {
        100.0 * self.h / SPEED
    }

    /// Returns Hubble's rate at a scale factor, by Friedmann's equation.
    pub fn hubble(&self, a: f64) -> f64 {
        self.hubble_today() * self.expansion2(a).sqrt()
    }

    /// Returns the square of Hubble's rate in units of that today.
    fn expansion2(&self, a: f64) -> f64 {
        self.omega_m / a.powi(3) + (1.0 - self.omega_m) / a.powi(2)
    }

    /// Returns the time since the beginning at a scale factor.
    pub fn age(&self, a: f64) -> f64 {
        // The integral of 1 / (a H) over a, where a is the square of the variable.
        let rate = |root: f64| 2.0 * root.powi(2) / (self.omega_m + (1.0 - self.omega_m) * root.powi(2)).sqrt();
        integral(rate, 0.0, a.sqrt(), 1000) / self.hubble_today()
    }

    /// Returns the factor by which linear fluctuations at a scale factor are smaller than today.
    pub fn growth(&self, a: f64) -> f64 {
        let factor = |a: f64| self.expansion2(a).sqrt() * self.growth_integral(a);
        factor(a) / factor(1.0)
    }

    /// Returns the logarithmic derivative of the growth to the scale factor.
    pub fn growth_rate(&self, a: f64) -> f64 {
        let curvature = 1.0 - self.omega_m;
        let decay = (1.5 * self.omega_m / a.powi(3) + curvature / a.powi(2)) / self.expansion2(a);
        a * (a / (self.omega_m + curvature * a)).powf(1.5) / self.growth_integral(a) - decay
    }

    /// Returns the integral of `(a H)^-3` over the scale factor, with Hubble's rate in units of
    /// that today (Heath 1977, Monthly Notices of the Royal Astronomical Society 179, 351).
    fn growth_integral(&self, a: f64) -> f64 {
        let term = |root: f64| 2.0 * root.powi(4) / (self.omega_m + (1.0 - self.omega_m) * root.powi(2)).powf(1.5);
        integral(term, 0.0, a.sqrt(), 1000)
    }

    /// Returns the mean density of a comoving volume.
    pub fn density(&self) -> f64 {
        3.0 * self.omega_m * self.hubble_today().powi(2) / (8.0 * PI * GRAVITY)
    }

    /// Returns the transfer function of cold dark matter and baryons without acoustic oscillations
    /// (Eisenstein & Hu 1998, Astrophysical Journal 496, 605, eqs. 26 and 28 to 31).
    fn transfer(&self, k: f64) -> f64 {
        let [matter, baryons] = [self.omega_m, self.omega_b].map(|omega| omega * self.h * self.h);
        let fraction = self.omega_b / self.omega_m;
        let horizon = 44.5 * (9.83 / matter).ln() / (1.0 + 10.0 * baryons.powf(0.75)).sqrt();
        let alpha = 1.0 - 0.328 * (431.0 * matter).ln() * fraction + 0.38 * (22.3 * matter).ln() * fraction.powi(2);
        let shape = self.omega_m * self.h * (alpha + (1.0 - alpha) / (1.0 + (0.43 * k * horizon).powi(4)));
        let q = k / self.h * TEMPERATURE.powi(2) / shape;
        let logarithm = (2.0 * E + 1.8 * q).ln();
        logarithm / (logarithm + (14.2 + 731.0 / (1.0 + 62.5 * q)) * q * q)
    }
}

/// The power spectrum of the linear fluctuations today.
pub struct Spectrum {
    cosmology: Cosmology,
    amplitude: f64,
}

impl Spectrum {
    /// Makes the spectrum with the amplitude that the universe's `sigma8` asks for.
    pub fn new(cosmology: Cosmology) -> Spectrum {
        let unit = Spectrum { cosmology, amplitude: 1.0 };
        Spectrum { amplitude: cosmology.sigma8.powi(2) / unit.variance(8.0 / cosmology.h), cosmology }
    }

    /// Returns the power at a wave number, in Mpc^3.
    pub fn power(&self, k: f64) -> f64 {
        self.amplitude * k.powf(self.cosmology.index) * self.cosmology.transfer(k).powi(2)
    }

    /// Returns the variance of the mean density in spheres of a radius.
    fn variance(&self, radius: f64) -> f64 {
        let window = |x: f64| 3.0 * (x.sin() - x * x.cos()) / x.powi(3);
        let term = |logarithm: f64| {
            let k = logarithm.exp();
            k.powi(3) * self.power(k) * window(k * radius).powi(2) / (2.0 * PI * PI)
        };
        integral(term, (1e-4 / radius).ln(), (200.0 / radius).ln(), 4000)
    }
}

/// Returns the integral of a smooth function by Simpson's rule with an even number of steps.
fn integral(function: impl Fn(f64) -> f64, from: f64, to: f64, steps: usize) -> f64 {
    let step = (to - from) / steps as f64;
    let weight = |place: usize| match place {
        0 => 1.0,
        place if place == steps => 1.0,
        place => 2.0 + 2.0 * (place % 2) as f64,
    };
    (0..=steps).map(|place| weight(place) * function(from + place as f64 * step)).sum::<f64>() * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRITICAL: Cosmology = Cosmology { omega_m: 1.0, omega_b: 0.05, h: 0.5, index: 1.0, sigma8: 0.51 };
    const OPEN: Cosmology = Cosmology { omega_m: 0.3, omega_b: 0.05, h: 0.7, index: 0.95, sigma8: 0.85 };

    fn are_near(found: f64, expected: f64, limit: f64) {
        assert!((found / expected - 1.0).abs() < limit, "{found} {expected}");
    }

    #[test]
    fn units_are_those_of_astronomy() {
        // Values of the Particle Data Group's tables.
        are_near(1.0 / (100.0 / SPEED), 9.777_922, 1e-6);
        are_near(GRAVITY * SPEED * SPEED, 43.009, 1e-4);
        are_near(Cosmology { h: 1.0, ..CRITICAL }.density(), 27.7537, 1e-4);
    }

    #[test]
    fn the_universe_of_critical_density_grows_as_its_scale_factor() {
        for a in [0.02, 0.1, 0.5, 1.0] {
            are_near(CRITICAL.age(a), 2.0 / 3.0 / CRITICAL.hubble(1.0) * a.powf(1.5), 1e-11);
            are_near(CRITICAL.growth(a), a, 1e-11);
            are_near(CRITICAL.growth_rate(a), 1.0, 1e-11);
        }
    }

    /// Peebles (1980, The Large-Scale Structure of the Universe, eqs. 11.16 and 13.10) has closed
    /// forms for open universes.
    #[test]
    fn the_open_universe_has_the_age_and_the_growth_of_the_textbook() {
        let curvature = 1.0 - OPEN.omega_m;
        let age = 1.0 / curvature - 0.5 * OPEN.omega_m / curvature.powf(1.5) * (2.0 / OPEN.omega_m - 1.0).acosh();
        are_near(OPEN.age(1.0) * OPEN.hubble(1.0), age, 1e-10);
        let factor = |a: f64| {
            let x = a * curvature / OPEN.omega_m;
            1.0 + 3.0 / x + 3.0 * ((1.0 + x) / x.powi(3)).sqrt() * ((1.0 + x).sqrt() - x.sqrt()).ln()
        };
        for a in [0.1, 0.3, 0.7] {
            are_near(OPEN.growth(a), factor(a) / factor(1.0), 1e-10);
        }
    }

    /// `D'' + 2 H D' = 4 pi G rho D`, with the derivatives to the time.
    #[test]
    fn a_plane_wave_grows_by_the_linear_equation() {
        for cosmology in [CRITICAL, OPEN] {
            for a in [0.02, 0.2, 0.9] {
                let slope = |a: f64| cosmology.growth_rate(a) * cosmology.hubble(a) * cosmology.growth(a);
                let hubble = cosmology.hubble(a);
                let second = (slope(1.0001 * a) - slope(0.9999 * a)) / 0.0002 * hubble;
                let pull = 4.0 * PI * GRAVITY * cosmology.density() / a.powi(3) * cosmology.growth(a);
                are_near(second + 2.0 * hubble * slope(a), pull, 1e-6);
            }
        }
    }

    /// The values were computed from the equations of the article by another program.
    #[test]
    fn the_transfer_function_is_that_of_the_article() {
        let values = [
            [0.9999286739559458, 0.8217745693580216, 0.19134816214249015, 0.007863817118757005, 0.00015801406887339724],
            [0.9997972011719634, 0.6945415187101659, 0.08427812171916016, 0.0025259039784017944, 4.572893056461495e-05],
        ];
        for (cosmology, values) in [CRITICAL, OPEN].into_iter().zip(values) {
            for (k, value) in [1e-4, 0.01, 0.1, 1.0, 10.0].into_iter().zip(values) {
                are_near(cosmology.transfer(k), value, 1e-9);
            }
        }
    }

    #[test]
    fn the_spectrum_has_its_amplitude_and_its_index() {
        for cosmology in [CRITICAL, OPEN] {
            let spectrum = Spectrum::new(cosmology);
            are_near(spectrum.variance(8.0 / cosmology.h).sqrt(), cosmology.sigma8, 1e-12);
            // The transfer function is 1 for long waves.
            are_near(spectrum.power(2e-6) / spectrum.power(1e-6), 2f64.powf(cosmology.index), 1e-4);
            // Larger spheres have smaller fluctuations.
            assert!(spectrum.variance(45.0) < spectrum.variance(20.0));
        }
    }

    #[test]
    fn integrals_of_cubic_functions_are_exact() {
        assert!((integral(|x| x.powi(3) + 1.0, -1.0, 3.0, 4) - 24.0).abs() < 1e-13);
    }
}
