//! Models of star clusters.
//!
//! A [`Recipe`] is the text of a model: a profile, of which [`Isolated`](isolated::Isolated) draws
//! bodies in standard N-body units, and what changes their masses and makes binaries of them.
//! [`two_clusters`] puts two sets of bodies on an orbit round each other.

pub mod binaries;
pub mod hernquist;
pub mod isolated;
pub mod king;
pub mod kroupa;
pub mod plummer;
pub mod random;
pub mod recipe;
mod text;
pub mod two_clusters;
pub mod uniform_sphere;

pub use recipe::{Model, Recipe};
pub use text::NOT_GIVEN;

use kyoho_integrators::body::{Vector, vector};

/// The motion of a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Star {
    /// The position.
    pub position: Vector,
    /// The velocity.
    pub velocity: Vector,
}

impl Star {
    /// Moves a body of a model in the origin to the place and the velocity of another.
    pub fn shift(&mut self, origin: &Star) {
        self.position = vector(|k| self.position[k] + origin.position[k]);
        self.velocity = vector(|k| self.velocity[k] + origin.velocity[k]);
    }
}
