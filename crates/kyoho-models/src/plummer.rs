//! Plummer models in standard N-body units (Aarseth, Henon & Wielen 1974, Astronomy & Astrophysics
//! 37, 183).

use std::f64::consts::PI;

use crate::Star;
use crate::isolated::{Isolated, VIRIAL, body, centre};
use crate::random::Random;
use kyoho_core::Result;
use kyoho_core::memory::room;
use kyoho_integrators::body::Body;
use kyoho_integrators::energy::Energies;

/// The Plummer model.
pub const PLUMMER: Isolated<'static> = Isolated {
    title: "Plummer model",
    name: "plummer",
    bodies: "the bodies of the Plummer model",
    state: "virial equilibrium",
    draw: &draw,
    energy: VIRIAL,
};

/// Returns the bodies of a standard model, see [`Isolated::standard`].
pub fn standard(n: usize, seed: u64, energies: &mut Energies) -> Result<Vec<Body>> {
    // The memory is allocated first, because an error after the work would waste it.
    let mut bodies = room(n, PLUMMER.bodies)?;
    bodies.extend(PLUMMER.standard(n, seed, energies)?.iter().map(|star| body(star, 1.0, n)));
    Ok(bodies)
}

/// Returns a model whose energies are those of [`standard`] on average.
pub fn model(n: usize, seed: u64) -> Result<Vec<Body>> {
    let mut stars = PLUMMER.stars(n, &mut Random(seed), &mut |_| ())?;
    centre(&mut stars, &[]);
    Ok(stars.iter().map(|star| body(star, 1.0, n)).collect())
}

/// Draws a body of a standard model.
fn draw(random: &mut Random) -> Star {
    // This Plummer radius makes the mean energy -1/4.
    drawn(random, 3.0 * PI / 16.0, 1.0, FARTHEST)
}

/// Draws a body of a model with this Plummer radius and total mass, without bodies beyond so many
/// Plummer radii.
pub fn drawn(random: &mut Random, scale: f64, mass: f64, farthest: f64) -> Star {
    let radius = radius(random, farthest);
    let position = random.direction();
    let speed = speed(random, radius);
    let velocity = random.direction();
    Star {
        position: position.map(|component| scale * radius * component),
        velocity: velocity.map(|component| speed * (mass / scale).sqrt() * component),
    }
}

/// The largest radius of a standard model in Plummer radii. A larger one, which one body in 600
/// has, is drawn again, because a few far bodies would dominate the scale.
const FARTHEST: f64 = 30.0;

/// Draws the radius inside which a random fraction of the mass lies, in Plummer radii.
fn radius(random: &mut Random, farthest: f64) -> f64 {
    loop {
        let radius = (random.uniform().powf(-2.0 / 3.0) - 1.0).sqrt().recip();
        if radius < farthest {
            return radius;
        }
    }
}

/// Draws a speed at a radius: a fraction q of the escape speed with density q^2 (1 - q^2)^(7/2), by
/// rejection.
fn speed(random: &mut Random, radius: f64) -> f64 {
    let escape = 2f64.sqrt() * (1.0 + radius * radius).powf(-0.25);
    loop {
        let (fraction, height) = (random.uniform(), 0.1 * random.uniform());
        if height < fraction.powi(2) * (1.0 - fraction.powi(2)).powf(3.5) {
            return fraction * escape;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kyoho_integrators::body::length;

    #[test]
    fn half_of_the_mass_lies_within_the_half_mass_radius() {
        let n = 20_000;
        // The half-mass radius of an untruncated model is (2^(2/3) - 1)^(-1/2) Plummer radii of 3
        // pi / 16.
        let half = (2f64.powf(2.0 / 3.0) - 1.0).powf(-0.5) * 3.0 * PI / 16.0;
        let inside = model(n, 5).unwrap().iter().filter(|body| length(&body.position) < half).count();
        // The limit is three standard deviations of a binomial count.
        assert!((inside as f64 / n as f64 - 0.5).abs() < 3.0 * (0.25 / n as f64).sqrt(), "{inside}");
    }

    /// The mass within a radius of x Plummer radii is x^3 / (1 + x^2)^(3/2), and the mean square of a
    /// velocity's component 1 / (6 sqrt(1 + x^2)).
    #[test]
    fn mass_and_velocity_dispersion_are_those_of_the_formulas() {
        let (n, mut random) = (50_000, Random(6));
        let stars: Vec<Star> = (0..n).map(|_| drawn(&mut random, 1.0, 1.0, FARTHEST)).collect();
        let farthest = (1.0 + FARTHEST.powi(-2)).powf(-1.5);
        for x in [0.3f64, 0.8, 1.5, 5.0] {
            let mass = (1.0 + x.powi(-2)).powf(-1.5) / farthest;
            let count = stars.iter().filter(|star| length(&star.position) < x).count() as f64;
            assert!((count / n as f64 - mass).abs() < 3.5 * (mass * (1.0 - mass) / n as f64).sqrt(), "{x}: {count}");
            let near = stars.iter().filter(|star| (length(&star.position) / x - 1.0).abs() < 0.05);
            let squares: Vec<f64> = near.map(|star| length(&star.velocity).powi(2) / 3.0).collect();
            let mean = squares.iter().sum::<f64>() / squares.len() as f64;
            let expected = 1.0 / (6.0 * (1.0 + x * x).sqrt());
            assert!((mean / expected - 1.0).abs() < 4.0 / (squares.len() as f64).sqrt(), "{x}: {mean} {expected}");
        }
    }
}
