//! The slow and obvious sums with which every test compares.
//!
//! Each formula stands once, in [`forces`], for any [`Real`] number: for `f64`, and for
//! [`DoubleDouble`] with its 32 digits, against which the errors of every precision are measured.
//! Nothing here is used by the backends.

pub mod double_double;
pub mod forces;
pub mod real;
pub mod regular;

pub use double_double::DoubleDouble;
pub use forces::{Force, Predicted, Scale, force, neighbours, predict, predict_all, predict_one};
pub use real::Real;
pub use regular::{is_left_out, least_distance2, reach2};
