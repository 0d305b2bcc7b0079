//! Spheres of uniform density, in virial balance and at rest.

use crate::Star;
use crate::isolated::{Isolated, VIRIAL};
use crate::random::Random;
use kyoho_integrators::energy::Energy;

/// The sphere whose velocities have as much energy as in virial equilibrium. As a star's velocity
/// does not depend on its place, the sphere is not stationary.
pub const UNIFORM_SPHERE: Isolated<'static> = Isolated {
    title: "Uniform sphere",
    name: "uniform-sphere",
    bodies: "the bodies of the uniform sphere",
    state: "kinetic energy 1/4",
    draw: &|random: &mut Random| {
        let position = random.in_ball(1.2);
        // The mean square of points in a ball is 3/5 of its radius squared.
        Star { position, velocity: random.in_ball((5.0f64 / 6.0).sqrt()) }
    },
    energy: VIRIAL,
};

/// The sphere at rest.
pub const COLD_COLLAPSE: Isolated<'static> = Isolated {
    title: "Cold uniform sphere",
    name: "cold-collapse",
    bodies: "the bodies of the cold collapse",
    state: "at rest",
    draw: &|random: &mut Random| Star { position: random.in_ball(2.4), velocity: [0.0; 3] },
    energy: Energy { kinetic: 0.0, potential: -0.25, field: 0.0 },
};

#[cfg(test)]
mod tests {
    use super::*;
    use kyoho_integrators::body::length;

    #[test]
    fn every_layer_has_the_same_density() {
        let n = 20_000;
        for (model, radius) in [(&UNIFORM_SPHERE, 1.2), (&COLD_COLLAPSE, 2.4)] {
            let stars = model.stars(n, &mut Random(3), &mut |_| ()).unwrap();
            assert!(stars.iter().all(|star| length(&star.position) <= radius));
            for fraction in [0.1f64, 0.5, 0.9] {
                let within = |star: &&Star| length(&star.position) < radius * fraction.cbrt();
                let count = stars.iter().filter(within).count() as f64;
                let deviation = 3.0 * (fraction * (1.0 - fraction) / n as f64).sqrt();
                assert!((count / n as f64 - fraction).abs() < deviation, "{fraction}: {count}");
            }
        }
        assert!(
            COLD_COLLAPSE.stars(100, &mut Random(1), &mut |_| ()).unwrap().iter().all(|star| star.velocity == [0.0; 3])
        );
    }
}
