//! Systems of few bodies whose close encounters and hard binaries would stop a Hermite scheme:
//! algorithmic regularisation, so that two bodies follow their exact path at any eccentricity.
//!
//! [`evolve`] moves one [`System`] as [`Options`] ask, [`evolve_all`] many, on threads or on GPUs. Two
//! bodies alone move as Kepler says. Others are joined by shortest links, whose vectors a leapfrog
//! advances in a time of its own; leapfrogs with more and more steps are extrapolated to steps of no
//! length. A [`Perturbation`] is all that a system knows of what lies outside it. Two bound bodies that
//! others pull little may move by the elements of their orbit ([`perturbed`], [`averaged`]).

pub mod averaged;
mod crossing;
mod ensemble;
mod evolve;
mod extrapolation;
pub mod gpu;
mod hierarchy;
pub mod kepler;
#[cfg(test)]
mod light_tests;
mod links;
mod motion;
mod options;
mod perturbation;
pub mod perturbed;
mod post_newtonian;
mod run;
mod system;
#[cfg(test)]
mod tests;
mod vector;

pub use ensemble::{FEWEST_ON_DEVICES, Machine, evolve_all};
pub use evolve::{End, Outcome, evolve};
pub use hierarchy::Binary;
pub use kepler::Orbit;
pub use options::{LARGEST, LARGEST_TOLERANCE, LEAST, LEAST_TOLERANCE, MOST_BODIES, Options};
pub use perturbation::{Perturbation, Perturbers};
pub use post_newtonian::Terms;
pub use system::System;
