//! Hernquist models (Hernquist 1990, Astrophysical Journal 356, 359) with isotropic velocities.

use crate::Star;
use crate::isolated::{Isolated, VIRIAL};
use crate::random::Random;

/// The Hernquist model.
pub const HERNQUIST: Isolated<'static> = Isolated {
    title: "Hernquist model",
    name: "hernquist",
    bodies: "the bodies of the Hernquist model",
    state: "virial equilibrium",
    draw: &draw,
    energy: VIRIAL,
};

/// The scale radius, which makes the mean potential energy -1/2.
const SCALE: f64 = 1.0 / 3.0;

/// The largest radius in scale radii. A larger one, which one body in 150 has, is drawn again,
/// because a few far bodies would dominate the scale.
const FARTHEST: f64 = 300.0;

fn draw(random: &mut Random) -> Star {
    let radius = radius(random);
    let position = random.direction();
    let speed = speed(random, radius);
    let velocity = random.direction();
    Star {
        position: position.map(|component| SCALE * radius * component),
        velocity: velocity.map(|component| speed / SCALE.sqrt() * component),
    }
}

/// Draws the radius inside which a random fraction of the mass lies, in scale radii.
fn radius(random: &mut Random) -> f64 {
    loop {
        let root = random.uniform().sqrt();
        let radius = root / (1.0 - root);
        if radius < FARTHEST {
            return radius;
        }
    }
}

/// Draws a speed at a radius.
///
/// A fraction `x` of the escape speed has the density `x^2 f`, where the distribution function (eq.
/// 17) is `f = (1 - q^2)^(-5/2) g(q)` with `q^2 = s (1 - x^2)` and `s = 1 / (1 + radius)`. The
/// first factor with `x^2` has an integral that can be inverted, `(x^2 / (1 - s + s x^2))^(3/2)`;
/// the second, which grows with `q`, decides about rejection.
fn speed(random: &mut Random, radius: f64) -> f64 {
    let s = 1.0 / (1.0 + radius);
    let highest = g(s.sqrt());
    loop {
        let power = random.uniform().powf(2.0 / 3.0);
        let fraction2 = (1.0 - s) * power / (1.0 - s * power);
        if random.uniform() * highest < g((s * (1.0 - fraction2)).sqrt()) {
            return (2.0 * s * fraction2).sqrt();
        }
    }
}

/// Returns `3 asin q + q (1 - q^2)^(1/2) (1 - 2 q^2) (8 q^4 - 8 q^2 - 3)`, the last factor of the
/// distribution function, by multiples of the angle whose sine is `q`.
fn g(q: f64) -> f64 {
    let angle = q.asin();
    3.0 * angle - (4.0 * angle).sin() + (8.0 * angle).sin() / 8.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use kyoho_integrators::body::length;

    #[test]
    fn the_factor_of_the_distribution_function_is_that_of_the_article() {
        for q in [0.2f64, 0.5, 0.7, 0.99] {
            let root = (1.0 - q * q).sqrt();
            let expected = 3.0 * q.asin() + q * root * (1.0 - 2.0 * q * q) * (8.0 * q.powi(4) - 8.0 * q * q - 3.0);
            assert!((g(q) - expected).abs() < 1e-13, "{q}: {} {expected}", g(q));
        }
    }

    /// The mass within a radius is that of eq. 3 of the article, and the velocity dispersion that
    /// of eq. 10.
    #[test]
    fn mass_and_velocity_dispersion_are_those_of_the_article() {
        let n = 200_000;
        let stars = HERNQUIST.stars(n, &mut Random(5), &mut |_| ()).unwrap();
        let radius = |star: &Star| length(&star.position) / SCALE;
        for (within, mass) in [(0.1, 0.1f64 * 0.1 / 1.21), (1.0, 0.25), (1.0 + 2f64.sqrt(), 0.5), (9.0, 0.81)] {
            // The rejected radii leave more for those inside.
            let mass = mass * (1.0 + 1.0 / FARTHEST).powi(2);
            let count = stars.iter().filter(|star| radius(star) < within).count();
            let deviation = 3.0 * (mass * (1.0 - mass) / n as f64).sqrt();
            assert!((count as f64 / n as f64 - mass).abs() < deviation, "{within}: {count}");
        }
        for r in [0.05f64, 0.3, 1.0, 5.0] {
            let shell: Vec<f64> = stars
                .iter()
                .filter(|star| (radius(star) / r - 1.0).abs() < 0.05)
                .map(|star| length(&star.velocity).powi(2) * SCALE / 3.0)
                .collect();
            let mean = shell.iter().sum::<f64>() / shell.len() as f64;
            let expected = (12.0 * r * (r + 1.0).powi(3) * ((r + 1.0) / r).ln()
                - r / (r + 1.0) * (25.0 + 52.0 * r + 42.0 * r * r + 12.0 * r.powi(3)))
                / 12.0;
            // A speed squared varies by about its mean; the limit is four standard deviations.
            let deviation = 4.0 / (shell.len() as f64).sqrt();
            assert!((mean / expected - 1.0).abs() < deviation, "{r}: {mean} {expected} of {}", shell.len());
        }
    }
}
