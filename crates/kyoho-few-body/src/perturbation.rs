//! What acts on a group from outside. This trait is all that a group and its surroundings know of one
//! another.

use crate::vector::{Vector, add_scaled, difference, dot};

/// Accelerations of a group's bodies by what does not belong to it.
pub trait Perturbation: Sync {
    /// Adds the accelerations at `time` of bodies at these positions and with these velocities, in the
    /// frame in which the bodies were given.
    fn add(&self, time: f64, positions: &[Vector], velocities: &[Vector], accelerations: &mut [Vector]);

    /// Whether the accelerations depend on the velocities.
    fn needs_velocities(&self) -> bool {
        false
    }
}

/// Bodies outside a group that move on straight lines, each from its place at one time.
#[derive(Debug, Clone, Default)]
pub struct Perturbers {
    /// The time of the positions.
    pub time: f64,
    /// The gravitational constant times the masses.
    pub masses: Vec<f64>,
    /// Positions at `time`.
    pub positions: Vec<Vector>,
    /// Velocities at `time`.
    pub velocities: Vec<Vector>,
}

impl Perturbation for Perturbers {
    fn add(&self, time: f64, positions: &[Vector], _velocities: &[Vector], accelerations: &mut [Vector]) {
        let passed = time - self.time;
        for ((&mass, &from), &velocity) in self.masses.iter().zip(&self.positions).zip(&self.velocities) {
            let place: Vector = std::array::from_fn(|axis| from[axis] + passed * velocity[axis]);
            for (&position, acceleration) in positions.iter().zip(accelerations.iter_mut()) {
                let separation = difference(place, position);
                let square = dot(separation, separation);
                add_scaled(acceleration, mass / (square * square.sqrt()), separation);
            }
        }
    }
}
